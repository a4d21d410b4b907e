//! The controls that the runtime puts between an actor's messages.

use super::actor_ref::AnyActorRef;
use super::actor_timers::Generation;
use super::cell::{System, Visit};
use super::dispatch::Task;
use super::work::WorkId;
use crate::mailbox::Mailbox;

/// The mailbox of an actor that takes messages `M`.
pub(crate) type ActorMailbox<M> = Mailbox<M, Control, System, Task>;

/// The controls that the runtime puts between an actor's messages.
#[derive(Debug)]
pub(crate) enum Control {
    /// The notification of a watched actor's end.
    Terminated(AnyActorRef),
    /// Stop, after all earlier messages.
    PoisonPill,
    /// Stop by itself, after all earlier messages.
    StopSelf,
    /// Stop, after all earlier messages. If the actor has a key, later messages wait for the successor.
    Passivate,
    /// Fail with `Killed`, after all earlier messages.
    Kill,
    /// One of the actor's timers is due.
    Tick(Generation),
    /// A future, a stream or a blocking closure of this actor has an outcome.
    Outcome(WorkId),
    /// The span in which the message right behind was sent.
    #[cfg(feature = "spans")]
    Origin(crate::observe::spans::Origin),
    /// Run code of this crate, for a pattern.
    Visit(Visit),
}
