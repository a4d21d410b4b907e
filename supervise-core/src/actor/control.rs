//! What the runtime itself puts among an actor's messages.

use super::actor_ref::AnyActorRef;
use super::actor_timers::Generation;
use super::cell::{System, Visit};
use super::dispatch::Task;
use super::work::WorkId;
use crate::mailbox::Mailbox;

/// The mailbox of an actor that takes messages `M`.
pub(crate) type ActorMailbox<M> = Mailbox<M, Control, System, Task>;

/// What the runtime itself puts among an actor's messages.
#[derive(Debug)]
pub(crate) enum Control {
    /// The news of a watched actor's end.
    Terminated(AnyActorRef),
    /// Stop, after what was sent before.
    PoisonPill,
    /// Fail with `Killed`, after what was sent before.
    Kill,
    /// A timer of the actor's own is due.
    Tick(Generation),
    /// A future, a stream or a blocking closure of the actor's own has come to something.
    Outcome(WorkId),
    /// Code of the runtime's own, for a pattern.
    Visit(Visit),
}
