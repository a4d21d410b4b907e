//! With `supervise`.

use std::io;
use std::net::SocketAddr;

use supervise::prelude::*;

use super::{LONGEST, PATIENCE, Piece, SHORTEST};
use crate::store::Connection;

/// Without a delay after a panic: the bug of one order is no reason to wait.
#[supervise(on(io::Error) = Restart(backoff(min = SHORTEST, max = LONGEST)), on(_) = Restart)]
struct Top;

#[actor(mailbox = bounded(64))]
struct Writer {
    store: SocketAddr,
    connection: Option<Connection>,
}

#[actor]
impl Writer {
    #[pre_start]
    async fn connect(&mut self) -> io::Result<()> {
        self.connection = Some(Connection::open(self.store).await?);
        Ok(())
    }

    #[handler(skip_abandoned)]
    async fn write(&mut self, order: u64) -> io::Result<()> {
        self.connection.as_mut().ok_or(io::ErrorKind::NotConnected)?.write(order).await
    }
}

#[derive(Clone)]
pub(crate) struct Writers {
    system: ActorSystem,
    writer: WriterRef,
}

impl Piece for Writers {
    async fn start(store: SocketAddr) -> Self {
        let system = ActorSystem::builder("orders").supervised_by::<Top>().start().expect("a runtime");
        let writer = system.spawn("writer", move || Writer { store, connection: None }).expect("a valid name");
        Self { system, writer }
    }

    async fn write(&self, order: u64) -> bool {
        self.writer.write(order).timeout(PATIENCE).await.is_ok()
    }

    async fn stop(self) {
        self.system.graceful_drain(&self.writer, PATIENCE).await.ok();
        self.system.terminate().await;
    }
}
