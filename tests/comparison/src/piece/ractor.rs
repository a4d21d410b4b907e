//! With ractor. A mailbox ends with its actor, and has no bound. So the supervisor keeps the orders that wait, gives the writer one at a
//! time, and starts the next writer when one has failed.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent, call_t};

use super::{PATIENCE, Piece, ROOM, longer};
use crate::store::Connection;

struct Writer {
    desk: ActorRef<DeskMessage>,
}

impl Actor for Writer {
    type Msg = (u64, RpcReplyPort<bool>);
    type State = Connection;
    type Arguments = SocketAddr;

    async fn pre_start(
        &self,
        _: ActorRef<Self::Msg>,
        store: SocketAddr,
    ) -> Result<Connection, ActorProcessingErr> {
        Ok(Connection::open(store).await?)
    }

    async fn handle(
        &self,
        _: ActorRef<Self::Msg>,
        (order, reply): Self::Msg,
        connection: &mut Connection,
    ) -> Result<(), ActorProcessingErr> {
        connection.write(order).await?;
        reply.send(true).ok();
        self.desk.cast(DeskMessage::Free)?;
        Ok(())
    }
}

struct Desk;

enum DeskMessage {
    Write(u64, RpcReplyPort<bool>),
    Free,
    Connect,
    Stop,
}

struct DeskState {
    store: SocketAddr,
    waiting: VecDeque<(u64, RpcReplyPort<bool>)>,
    writer: Option<ActorRef<(u64, RpcReplyPort<bool>)>>,
    busy: bool,
    delay: Option<Duration>,
    stopping: bool,
}

impl DeskState {
    fn go_on(&mut self, me: &ActorRef<DeskMessage>) -> Result<(), ActorProcessingErr> {
        let Some(writer) = self.writer.as_ref().filter(|_| !self.busy) else { return Ok(()) };
        self.waiting.retain(|(_, reply)| !reply.is_closed());
        match self.waiting.pop_front() {
            Some(order) => {
                self.busy = true;
                writer.cast(order)?;
            }
            None if self.stopping => {
                writer.stop(None);
                me.stop(None);
            }
            None => {}
        }
        Ok(())
    }

    fn later(&mut self, me: &ActorRef<DeskMessage>) {
        let delay = longer(self.delay);
        me.send_after(delay, || DeskMessage::Connect);
        self.delay = Some(delay);
    }
}

impl Actor for Desk {
    type Msg = DeskMessage;
    type State = DeskState;
    type Arguments = SocketAddr;

    async fn pre_start(
        &self,
        me: ActorRef<DeskMessage>,
        store: SocketAddr,
    ) -> Result<DeskState, ActorProcessingErr> {
        me.cast(DeskMessage::Connect)?;
        let waiting = VecDeque::new();
        Ok(DeskState { store, waiting, writer: None, busy: false, delay: None, stopping: false })
    }

    async fn handle(
        &self,
        me: ActorRef<DeskMessage>,
        message: DeskMessage,
        state: &mut DeskState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            DeskMessage::Write(order, reply) if state.waiting.len() < ROOM && !state.stopping => {
                state.waiting.push_back((order, reply));
            }
            DeskMessage::Write(_, reply) => reply.send(false)?,
            DeskMessage::Free => {
                state.busy = false;
                state.delay = None;
            }
            DeskMessage::Connect => {
                let writer = Writer { desk: me.clone() };
                match Writer::spawn_linked(None, writer, state.store, me.get_cell()).await {
                    Ok((writer, _)) => state.writer = Some(writer),
                    Err(_) => state.later(&me),
                }
            }
            DeskMessage::Stop => state.stopping = true,
        }
        state.go_on(&me)
    }

    async fn handle_supervisor_evt(
        &self,
        me: ActorRef<DeskMessage>,
        event: SupervisionEvent,
        state: &mut DeskState,
    ) -> Result<(), ActorProcessingErr> {
        if let SupervisionEvent::ActorFailed(_, error) = event {
            (state.writer, state.busy) = (None, false);
            if error.is::<io::Error>() {
                state.later(&me);
            } else {
                me.cast(DeskMessage::Connect)?;
            }
        }
        Ok(())
    }
}

#[derive(Clone)]
pub(crate) struct Writers {
    desk: ActorRef<DeskMessage>,
}

impl Piece for Writers {
    async fn start(store: SocketAddr) -> Self {
        let (desk, _) = Desk::spawn(None, Desk, store).await.expect("it starts");
        Self { desk }
    }

    async fn write(&self, order: u64) -> bool {
        call_t!(self.desk, |reply| DeskMessage::Write(order, reply), 2000).unwrap_or(false)
    }

    async fn stop(self) {
        self.desk.cast(DeskMessage::Stop).ok();
        self.desk.get_cell().wait(Some(PATIENCE)).await.ok();
    }
}
