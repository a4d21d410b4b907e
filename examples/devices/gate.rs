//! Accepts connections and supervises a session for each.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use supervise::FailureKind;
use supervise::prelude::*;
use tokio::net::{TcpSocket, TcpStream};
use tokio_stream::wrappers::TcpListenerStream;

use crate::protocol::FrameError;
use crate::registry::RegistryRef;
use crate::session::{Session, SessionError};

/// How many connections may wait to be accepted when all devices come back at once. `TcpListener::bind` lets only
/// 1024 wait; the others try again after seconds.
const BACKLOG: u32 = 4096;

/// A connection cannot be made again from here, so a session that fails is stopped. The device comes back by itself.
#[actor]
#[supervise(one_for_one, on(_) = Stop)]
pub(crate) struct Gate {
    registry: RegistryRef,
    port: u16,
    most: usize,
    address: Option<SocketAddr>,
    traffic: Traffic,
}

/// How many connections came, and how they ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traffic {
    pub(crate) accepted: usize,
    pub(crate) refused: usize,
    pub(crate) ended: BTreeMap<&'static str, usize>,
}

impl Traffic {
    pub(crate) fn open(&self) -> usize {
        self.accepted - self.ended.values().sum::<usize>()
    }

    pub(crate) fn ended(&self, how: &str) -> usize {
        self.ended.get(how).copied().unwrap_or(0)
    }
}

impl Gate {
    pub(crate) fn new(registry: RegistryRef, port: u16, most: usize) -> Self {
        Self { registry, port, most, address: None, traffic: Traffic::default() }
    }
}

#[actor]
impl Gate {
    #[pre_start]
    fn bind(&mut self, ctx: &mut Context<Self>) -> io::Result<()> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind((Ipv4Addr::LOCALHOST, self.port).into())?;
        let listener = socket.listen(BACKLOG)?;
        self.address = Some(listener.local_addr()?);
        ctx.attach(TcpListenerStream::new(listener), GateRef::accepted);
        Ok(())
    }

    /// An error of `accept` must not end the other connections, so it is not a failure.
    #[handler]
    async fn accepted(
        &mut self,
        socket: io::Result<TcpStream>,
        ctx: &mut Context<Self>,
    ) -> Result<(), SpawnError> {
        let Ok(socket) = socket else {
            // The process has no free file descriptor. One may become free.
            tokio::time::sleep(Duration::from_millis(50)).await;
            return Ok(());
        };
        if self.traffic.open() >= self.most {
            self.traffic.refused += 1;
            return Ok(());
        }
        self.traffic.accepted += 1;
        let session = Session::new(socket, self.registry.clone());
        let session = ctx.spawn_once(format!("session-{}", self.traffic.accepted), session)?;
        ctx.watch(&session);
        Ok(())
    }

    #[watch]
    fn ended(&mut self, gone: Terminated<Session>) {
        *self.traffic.ended.entry(how(gone.reason().failure())).or_default() += 1;
    }

    #[handler]
    fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    #[handler]
    fn traffic(&self) -> Traffic {
        self.traffic.clone()
    }
}

fn how(failure: Option<&Failure>) -> &'static str {
    let Some(failure) = failure else { return "closed or replaced" };
    let frame = failure.downcast_ref().map(|error| match error {
        FrameError::Broken(_) => "broken off",
        FrameError::Length(_) | FrameError::Kind(_) | FrameError::Checksum => "bad frame",
    });
    let session = failure.downcast_ref().map(|error| match error {
        SessionError::Silent => "silent",
        SessionError::Deaf => "deaf",
        SessionError::Unexpected(_) => "unexpected frame",
        SessionError::Broken(_) => "broken off",
        SessionError::Device(_) => "no answer from the device's actor",
        SessionError::Refused(_) => "refused",
    });
    let panic = matches!(failure.kind(), FailureKind::Panic).then_some("panicked");
    frame.or(session).or(panic).unwrap_or("otherwise")
}
