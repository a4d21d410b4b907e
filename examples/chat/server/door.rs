//! Lets users in. It supervises their connections.

use std::collections::BTreeMap;

use axum::extract::ws::WebSocket;
use supervise::FailureKind;
use supervise::prelude::*;

use super::member::Member;
use super::room::RoomsRef;

/// How many connections came, and how they ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traffic {
    pub(crate) entered: usize,
    pub(crate) ended: BTreeMap<&'static str, usize>,
}

/// A connection cannot be made again from here, so a member that fails is stopped. The page connects again.
#[actor]
#[supervise(one_for_one, on(_) = Stop)]
pub(crate) struct Door {
    rooms: RoomsRef,
    traffic: Traffic,
}

impl Door {
    pub(super) fn new(rooms: RoomsRef) -> Self {
        Self { rooms, traffic: Traffic::default() }
    }
}

#[actor]
impl Door {
    #[handler]
    async fn enter(
        &mut self,
        room: String,
        name: String,
        socket: WebSocket,
        ctx: &mut Context<Self>,
    ) -> Result<(), SpawnError> {
        // Without a room the connection closes, and the page tries again.
        let Ok(Ok(room)) = self.rooms.room(room).await else { return Ok(()) };
        self.traffic.entered += 1;
        let member =
            ctx.spawn_once(format!("member-{}", self.traffic.entered), Member::new(name, room, socket))?;
        ctx.watch(&member);
        Ok(())
    }

    #[watch]
    fn ended(&mut self, gone: Terminated<Member>) {
        let reason = gone.reason();
        let how = match reason.failure().map(Failure::kind) {
            Some(FailureKind::Panic) => "panicked",
            Some(_) => "broken off",
            None if reason.name() == "stopped" => "removed",
            None => "closed",
        };
        *self.traffic.ended.entry(how).or_default() += 1;
    }

    #[handler]
    fn traffic(&self) -> Traffic {
        self.traffic.clone()
    }
}
