//! With actix. A panic ends the thread of its actors, so each write is a task of its own, whose end tells of a panic. An ask waits for
//! room, so a message that is to be refused at once carries its reply slot itself.

use std::net::SocketAddr;
use std::time::Duration;

use actix::prelude::{
    Actor, ActorContext, ActorFutureExt, Addr, AsyncContext, Context, Handler, Message, System, WrapFuture,
};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::{PATIENCE, Piece, ROOM, longer};
use crate::store::Connection;

struct Writer {
    store: SocketAddr,
    connection: Option<Connection>,
    /// How long to wait before the next attempt, after a failure.
    delay: Option<Duration>,
}

impl Actor for Writer {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.set_mailbox_capacity(ROOM);
    }

    fn stopped(&mut self, _: &mut Context<Self>) {
        System::current().stop();
    }
}

#[derive(Message)]
#[rtype(result = "()")]
struct Write(u64, oneshot::Sender<bool>);

async fn connect(
    store: SocketAddr,
    mut connection: Option<Connection>,
    mut delay: Option<Duration>,
) -> (Connection, Option<Duration>) {
    loop {
        if let Some(connection) = connection {
            return (connection, delay);
        }
        sleep(delay.unwrap_or_default()).await;
        connection = Connection::open(store).await.ok();
        if connection.is_none() {
            delay = Some(longer(delay));
        }
    }
}

impl Handler<Write> for Writer {
    type Result = ();

    /// The actor takes no other message before this one is done.
    fn handle(&mut self, Write(order, reply): Write, ctx: &mut Context<Self>) {
        if reply.is_closed() {
            return;
        }
        let (store, connection, delay) = (self.store, self.connection.take(), self.delay);
        let work = async move {
            let (mut connection, delay) = connect(store, connection, delay).await;
            let written = actix::spawn(async move { (connection.write(order).await.is_ok(), connection) }).await;
            match written {
                Ok((true, connection)) => {
                    let _given_up = reply.send(true);
                    (Some(connection), None)
                }
                Ok((false, _)) => (None, Some(longer(delay))),
                Err(_panicked) => (None, None),
            }
        };
        ctx.wait(work.into_actor(self).map(|(connection, delay), writer, _| {
            (writer.connection, writer.delay) = (connection, delay);
        }));
    }
}

#[derive(Message)]
#[rtype(result = "()")]
struct Stop;

impl Handler<Stop> for Writer {
    type Result = ();

    fn handle(&mut self, _: Stop, ctx: &mut Context<Self>) {
        ctx.stop();
    }
}

#[derive(Clone)]
pub(crate) struct Writers {
    writer: Addr<Writer>,
}

impl Piece for Writers {
    async fn start(store: SocketAddr) -> Self {
        let (started, writer) = oneshot::channel();
        std::thread::spawn(move || {
            let system = System::new();
            let writer = system.block_on(async move { Writer { store, connection: None, delay: None }.start() });
            started.send(writer).ok();
            system.run()
        });
        Self { writer: writer.await.expect("it starts") }
    }

    async fn write(&self, order: u64) -> bool {
        let (reply, answer) = oneshot::channel();
        if self.writer.try_send(Write(order, reply)).is_err() {
            return false;
        }
        matches!(timeout(PATIENCE, answer).await, Ok(Ok(true)))
    }

    async fn stop(self) {
        self.writer.do_send(Stop);
        let until = timeout(PATIENCE, async {
            while self.writer.connected() {
                sleep(Duration::from_millis(1)).await;
            }
        });
        let _slow = until.await;
    }
}
