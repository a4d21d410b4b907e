//! The guardians `/`, `/user` and `/system`: actors that only supervise. [`system`](super::system) describes how they
//! end together. The same type also serves as the watcher for code outside the tree, because each further actor type
//! would add a runner to every program.
//!
//! Rules 6.7, 9.1 and 9.2.

#[cfg(feature = "remote")]
use std::future::poll_fn;
#[cfg(feature = "remote")]
use std::pin::pin;
#[cfg(feature = "remote")]
use std::task::Poll;
#[cfg(feature = "remote")]
use std::time::Duration;

use tokio::sync::oneshot;

use crate::actor::actor_ref::{ActorRef, AnyActorRef};
use crate::actor::context::Context;
use crate::actor::death_watch::Terminated;
use crate::actor::definition::{Actor, Supervisor};
use crate::failure::Failure;
use crate::supervision::HowEnded;

/// Stops when the actor that it watches has ended. A guardian keeps its children when it is restarted.
#[derive(Debug)]
pub(crate) enum Guardian {
    User,
    /// Waits for the termination hooks before it stops.
    System {
        user: AnyActorRef,
    },
    Root {
        system: AnyActorRef,
    },
    /// Not a guardian: reports through `tell` how the actor that it watches ended.
    Watcher {
        tell: Option<oneshot::Sender<HowEnded>>,
        /// How long it waited before it watched again, when its last watch was refused.
        #[cfg(feature = "remote")]
        pause: Duration,
    },
}

/// How long a watcher whose watch was refused waits before it watches again. Each pause is twice the one before.
#[cfg(feature = "remote")]
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

impl Guardian {
    /// Tells code outside the tree how the actor that it watches ended.
    pub(crate) fn watcher(tell: Option<oneshot::Sender<HowEnded>>) -> Self {
        Self::Watcher {
            tell,
            #[cfg(feature = "remote")]
            pause: Duration::ZERO,
        }
    }
}

/// The message type of an actor that takes no messages.
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
            Self::User | Self::Watcher { .. } => {}
            Self::System { user: watched } | Self::Root { system: watched } => ctx.watch_unchecked(watched),
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

    async fn terminated(&mut self, gone: Terminated, ctx: &mut Context<Self>) -> Result<(), Failure> {
        #[cfg(feature = "remote")]
        if gone.how() == HowEnded::TooManyWatches
            && let Self::Watcher { pause, .. } = self
        {
            // The actor lives. There may be room for this watch later.
            *pause = (*pause * 2).clamp(PAUSES.0, PAUSES.1);
            let (mut stopping, mut sleep) = (pin!(ctx.stopping()), pin!(tokio::time::sleep(*pause)));
            poll_fn(|cx| {
                let is_over = stopping.as_mut().poll(cx).is_ready() || sleep.as_mut().poll(cx).is_ready();
                if is_over { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            ctx.watch_unchecked(gone.subject());
            return Ok(());
        }
        match self {
            Self::System { .. } => ctx.system().core().termination().call_hooks().await,
            Self::User | Self::Root { .. } => {}
            // An error means that the receiver no longer waits.
            Self::Watcher { tell, .. } => drop(tell.take().map(|tell| tell.send(gone.how()))),
        }
        ctx.stop_self();
        Ok(())
    }
}
