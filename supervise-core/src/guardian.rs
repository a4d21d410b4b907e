//! The guardians `/`, `/user` and `/system`: actors that only supervise. How they end together is in
//! [`system`](crate::system).

use crate::actor::{Actor, Supervisor};
use crate::actor_ref::{ActorRef, AnyActorRef};
use crate::context::Context;
use crate::death_watch::Terminated;
use crate::failure::Failure;

/// A guardian. It ends when the one it watches ends, and keeps its children whatever happens.
#[derive(Debug)]
pub(crate) struct Guardian {
    pub(crate) watched: Option<AnyActorRef>,
}

/// What an actor is told that understands nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Nothing {}

impl Supervisor for Guardian {
    type Ref = ActorRef<Self>;
}

impl Actor for Guardian {
    type Message = Nothing;

    async fn handle(&mut self, message: Nothing, _: &mut Context<Self>) -> Result<(), Failure> {
        match message {}
    }

    async fn pre_start(&mut self, ctx: &mut Context<Self>) -> Result<(), Failure> {
        if let Some(watched) = &self.watched {
            ctx.watch_any(watched);
        }
        Ok(())
    }

    async fn pre_restart(
        &mut self,
        _: &mut Context<Self>,
        _: &Failure,
        _: Option<Nothing>,
    ) -> Result<(), Failure> {
        Ok(())
    }

    async fn terminated(&mut self, _: Terminated, ctx: &mut Context<Self>) -> Result<(), Failure> {
        ctx.stop_self();
        Ok(())
    }
}
