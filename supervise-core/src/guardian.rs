//! The guardians `/`, `/user` and `/system`: actors that only supervise. How they end together is in
//! [`system`](crate::system).
//!
//! Rules 9.1 and 9.2.

use crate::actor::{Actor, Supervisor};
use crate::actor_ref::{ActorRef, AnyActorRef};
use crate::context::Context;
use crate::death_watch::Terminated;
use crate::failure::Failure;

/// A guardian. It ends when the one it watches ends, and keeps its children whatever happens.
#[derive(Debug)]
pub(crate) enum Guardian {
    User,
    /// Waits for the termination hooks before it ends.
    System {
        user: AnyActorRef,
    },
    Root {
        system: AnyActorRef,
    },
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
        match self {
            Self::User => {}
            Self::System { user: watched } | Self::Root { system: watched } => ctx.watch_any(watched),
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
        match self {
            Self::System { .. } => ctx.system().core().termination().call_hooks().await,
            Self::User | Self::Root { .. } => {}
        }
        ctx.stop_self();
        Ok(())
    }
}
