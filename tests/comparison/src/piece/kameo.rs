//! With kameo. An error of a handler is an answer and not a failure, so the handler forgets the connection and the next message
//! connects. A panic is a failure, after which the parent restarts the writer. Asks that the restart meets come back to be sent again.

use std::net::SocketAddr;
use std::time::Duration;

use kameo::actor::{Actor, ActorRef, Spawn};
use kameo::error::{Infallible, SendError};
use kameo::mailbox;
use kameo::message::{Context, Message};
use kameo::supervision::RestartPolicy;
use tokio::time::sleep;

use super::{PATIENCE, Piece, ROOM, longer};
use crate::store::Connection;

struct Parent;

impl Actor for Parent {
    type Args = ();
    type Error = Infallible;

    async fn on_start((): (), _: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(Self)
    }
}

struct Writer {
    store: SocketAddr,
    connection: Option<Connection>,
    /// How long to wait before the next attempt, after a failure.
    delay: Option<Duration>,
}

impl Actor for Writer {
    type Args = SocketAddr;
    type Error = Infallible;

    async fn on_start(store: SocketAddr, _: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(Self { store, connection: None, delay: None })
    }
}

struct Write(u64);

impl Message<Write> for Writer {
    type Reply = bool;

    async fn handle(&mut self, Write(order): Write, _: &mut Context<Self, bool>) -> bool {
        let connection = loop {
            if let Some(connection) = &mut self.connection {
                break connection;
            }
            sleep(self.delay.unwrap_or_default()).await;
            self.connection = Connection::open(self.store).await.ok();
            if self.connection.is_none() {
                self.delay = Some(longer(self.delay));
            }
        };
        let written = connection.write(order).await.is_ok();
        if written {
            self.delay = None;
        } else {
            (self.connection, self.delay) = (None, Some(longer(self.delay)));
        }
        written
    }
}

#[derive(Clone)]
pub(crate) struct Writers {
    parent: ActorRef<Parent>,
    writer: ActorRef<Writer>,
}

impl Piece for Writers {
    async fn start(store: SocketAddr) -> Self {
        let parent = Parent::spawn(());
        // A permanent writer would also restart when it is stopped.
        let writer = Writer::supervise(&parent, store).restart_policy(RestartPolicy::Transient);
        let writer = writer.restart_limit(u32::MAX, Duration::from_secs(1));
        let writer = writer.spawn_with_mailbox(mailbox::bounded(ROOM)).await;
        Self { parent, writer }
    }

    async fn write(&self, order: u64) -> bool {
        loop {
            match self.writer.ask(Write(order)).reply_timeout(PATIENCE).try_send().await {
                Err(SendError::ActorRestarting(_)) => tokio::task::yield_now().await,
                answer => return answer.unwrap_or(false),
            }
        }
    }

    async fn stop(self) {
        self.writer.stop_gracefully().await.ok();
        self.writer.wait_for_shutdown().await;
        self.parent.stop_gracefully().await.ok();
        self.parent.wait_for_shutdown().await;
    }
}
