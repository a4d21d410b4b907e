//! What an operator does to one actor of a running system.
//!
//! Rules 22.7 and 23.8.

use std::error::Error;
use std::fmt;

use crate::actor::{ActorSystem, AnyActorRef};
use crate::failure::Failure;
use crate::observe::Intervention;
use crate::supervision::SystemMessage;

/// Why nothing was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InterventionRefused {
    /// The actor is `/`, `/user`, `/system` or below `/system`.
    OfRuntime,
    /// The actor has ended, is stopping, belongs to another system, or has restarted since it was looked at.
    Changed,
    /// A temporary child never restarts
    /// (rule [14.2](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-14.2)).
    NeverRestarts,
    /// It does not wait for a delayed restart.
    NotWaiting,
}

impl fmt::Display for InterventionRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OfRuntime => "the runtime's own actors are left alone",
            Self::Changed => "the actor has changed since it was looked at",
            Self::NeverRestarts => "the actor is a temporary child, which never restarts",
            Self::NotWaiting => "the actor does not wait for a restart",
        })
    }
}

impl Error for InterventionRefused {}

impl ActorSystem {
    /// Does something to one actor, as an operator who looked at it and saw that it had been restarted `restarts` times
    /// ([`Glimpse::restarts`](crate::Glimpse::restarts)). `by` names the operator in the log, in
    /// [`Event::Intervened`](crate::Event::Intervened), and in the cause of a restart.
    ///
    /// It does not wait until it is done. If the actor restarts or ends in the meantime, it is not restarted once more. A stop
    /// also stops the instance that has replaced the one that was looked at
    /// (rules [22.7](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-22.7) and
    /// [23.8](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-23.8)).
    ///
    /// # Errors
    ///
    /// If the actor belongs to the runtime, has changed since it was looked at, never restarts, or does not wait for a restart that should
    /// happen now. Nothing is done then.
    pub fn intervene(
        &self,
        actor: &AnyActorRef,
        restarts: u32,
        what: Intervention,
        by: &str,
    ) -> Result<(), InterventionRefused> {
        let core = actor.core();
        let parent = self.supervisor_of(actor)?;
        if actor.has_ended() {
            return Err(InterventionRefused::Changed);
        }
        {
            let supervisor = parent.core().protocol();
            if supervisor.awaits_end_of(core.id)
                || supervisor.child(core.id) != Some(actor)
                || supervisor.restarts_in_all(core.id) != restarts
            {
                return Err(InterventionRefused::Changed);
            }
            if what == Intervention::Restart && supervisor.never_restarts(core.id) {
                return Err(InterventionRefused::NeverRestarts);
            }
            if what == Intervention::RestartNow && supervisor.due(core.id).is_none() {
                return Err(InterventionRefused::NotWaiting);
            }
        }
        self.core().observer().intervened(actor.path(), actor.uid(), what, by);
        match what {
            Intervention::Restart => {
                let cause = Failure::by_hand(by);
                parent.send_system(SystemMessage::RestartByHand { child: core.id, cause, restarts });
            }
            Intervention::RestartNow => actor.retry_now(),
            Intervention::ResetBackoff => parent.send_system(SystemMessage::ResetBackoff(core.id)),
            Intervention::Stop => actor.stop(),
        }
        Ok(())
    }

    /// The supervisor of one of the program's own actors.
    fn supervisor_of<'a>(&self, actor: &'a AnyActorRef) -> Result<&'a AnyActorRef, InterventionRefused> {
        let above = |actor: &'a AnyActorRef| actor.core().parent.as_ref();
        let supervisor = above(actor).ok_or(InterventionRefused::OfRuntime)?;
        let (mut top, mut guardian) = (actor, supervisor);
        while let Some(next) = above(guardian) {
            (top, guardian) = (guardian, next);
        }
        if *guardian != self.core().root() {
            return Err(InterventionRefused::Changed);
        }
        // Below `/` there are `/user` and `/system`.
        if top == actor || top.name() != "user" {
            return Err(InterventionRefused::OfRuntime);
        }
        Ok(supervisor)
    }
}
