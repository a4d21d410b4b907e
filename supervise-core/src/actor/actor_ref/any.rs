//! Refs that do not know the type of their actor.

use std::any::{Any, TypeId};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::ActorRef;
use crate::actor::cell::{AnyCell, Cell, CellProtocol, Core, Effects, System, put_back, room};
use crate::actor::control::Control;
use crate::actor::definition::Actor;
use crate::actor::end_reason::EndReason;
use crate::base::{ActorPath, Uid, drop_contained};
use crate::observe::DeadLetterReason;
use crate::supervision::{Effect, HowEnded, Marked};

/// A ref to an actor of any type.
#[derive(Clone)]
pub struct AnyActorRef(pub(crate) Arc<dyn AnyCell>);

impl AnyActorRef {
    /// The actor's path.
    pub fn path(&self) -> ActorPath {
        self.core().path()
    }

    /// The uid of the actor's incarnation.
    pub fn uid(&self) -> Uid {
        self.core().uid
    }

    /// Whether the actor lives in this process, see [`ActorRef::is_local`].
    pub fn is_local(&self) -> bool {
        self.core().is_local()
    }

    /// The actor's name under its parent.
    pub fn name(&self) -> &str {
        if !self.core().is_local() {
            return self.core().name.rsplit('/').next().unwrap_or_default();
        }
        &self.core().name
    }

    /// The typed ref, if the actor is an `A`, or a [pattern](crate::pattern) that stands in for one.
    pub fn downcast<A: Actor>(&self) -> Option<ActorRef<A>> {
        if self.core().answers_to(TypeId::of::<A>()) { self.typed() } else { None }
    }

    /// The ref under an actor type `A`, if the actor takes the messages of `A`.
    pub(super) fn typed<A: Actor>(&self) -> Option<ActorRef<A>> {
        let cell: Arc<dyn Any + Send + Sync> = Arc::clone(&self.0) as _;
        cell.downcast::<Cell<A::Message>>().ok().map(ActorRef::new)
    }

    /// Requests the stop of the actor: it finishes its current message, then stops its children, then itself. This is a
    /// stop by request, even if the actor uses its own ref: a permanent child is not replaced
    /// (rule [14.2](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-14.2)).
    pub fn stop(&self) {
        if let Some(seat) = self.core().seat() {
            seat.leaving(self.uid());
        }
        // The parent notes that it waits for this child. A command would do, but its effects would make every stop 3 %
        // slower.
        let parent = self.core().parent.as_ref();
        let marked = parent.map(|parent| parent.core().protocol().mark_stopping(self.core().id));
        if marked != Some(Marked::NotNow) {
            self.send_system(System::Terminate);
            if let Some(parent) = parent {
                // Rule 14.8: a sibling may wait for this child now.
                parent.core().wake_waiting();
            }
        }
    }

    /// Stops the actor after it has handled all earlier messages. Like [`stop`](Self::stop), this is a stop by request.
    pub fn poison(&self) {
        self.behind_everything(|me| {
            // If the actor has already ended, there is nothing to do.
            let _gone = me.0.push_control(Control::PoisonPill);
        });
    }

    /// Does something behind everything that the actor was sent: the messages of a durable mailbox may not be in the lane yet.
    /// Rule 27.10.
    pub(crate) fn behind_everything(&self, act: impl FnOnce(&Self) + Send + 'static) {
        #[cfg(feature = "durable")]
        if let Some(outlet) = self.core().outlet() {
            let me = self.clone();
            return outlet.inbox.control(outlet, Box::new(move || act(&me)));
        }
        act(self);
    }

    /// Stops the actor when it has handled the messages that wait, and refuses further messages. See
    /// [`ActorRef::stop_when_drained`].
    pub fn stop_when_drained(&self) {
        self.drain_behind_everything(Control::PoisonPill);
    }

    /// Refuses messages from now on, and puts `last` behind those that were sent.
    pub(crate) fn drain_behind_everything(&self, last: Control) {
        #[cfg(feature = "durable")]
        if let Some(outlet) = self.core().outlet() {
            outlet.refuse();
        }
        self.behind_everything(|me| me.0.drain(last));
    }

    /// Ends the delay after which this actor would be restarted. See [`ActorRef::retry_now`].
    pub fn retry_now(&self) {
        if let Some(parent) = &self.core().parent {
            parent.send_system(System::RetryNow(self.core().id));
        }
    }

    /// Makes the actor fail with [`Killed`](crate::FailureKind::Killed) after it has handled all earlier messages.
    pub fn kill(&self) {
        self.behind_everything(|me| {
            if me.0.push_control(Control::Kill).is_err() {
                me.core().dead_letter("Kill", DeadLetterReason::Stopped);
            }
        });
    }

    /// Whether the actor has ended.
    pub fn has_ended(&self) -> bool {
        self.0.has_ended()
    }

    /// Why the actor ended, or `None` while it has not ended.
    /// Rule [8.8](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-8.8).
    pub fn end_reason(&self) -> Option<EndReason> {
        self.has_ended().then(|| self.core().end_reason())
    }

    pub(crate) fn core(&self) -> &Core {
        self.0.core()
    }

    /// Gives this actor's protocol a command and carries out its effects, which must all be messages.
    pub(crate) fn command<T>(&self, command: impl FnOnce(&mut CellProtocol, &mut Effects) -> T) -> T {
        let mut room = room();
        let answer = command(&mut self.core().protocol(), &mut room.effects);
        for effect in room.effects.drain(..) {
            match effect {
                Effect::Send(to, message) => to.send_system(message),
                Effect::Watch(subject) => subject.send_system(System::Watch(self.clone())),
                Effect::Unwatch(subject) => subject.send_system(System::Unwatch(self.clone())),
                other => unreachable!("a command has no such effect: {other:?}"),
            }
        }
        put_back(room);
        answer
    }

    /// Puts a message on the system lane. If the actor has ended, a watcher gets its answer here.
    pub(crate) fn send_system(&self, message: System) {
        let _waits = self.send_system_unless_undone(message);
    }

    /// Like [`send_system`](Self::send_system). Returns `false` if the message and the one that waited last have
    /// undone each other, so that the actor gets neither of them.
    pub(crate) fn send_system_unless_undone(&self, message: System) -> bool {
        match self.0.push_system(message) {
            Ok(waits) => waits,
            Err(message) => {
                self.answer_for_the_dead(message);
                true
            }
        }
    }

    pub(crate) fn answer_for_the_dead(&self, message: System) {
        if let System::Watch(watcher) = message {
            // Nobody here knows whether an actor that cannot be reached has ended.
            let is_known = !matches!(self.core().end_reason(), EndReason::Unreachable);
            let how = if is_known { HowEnded::AlreadyGone } else { HowEnded::Unreachable };
            watcher.send_system(System::Ended { subject: self.clone(), child: None, how });
        } else {
            drop_contained(message);
        }
    }
}

impl PartialEq for AnyActorRef {
    fn eq(&self, other: &Self) -> bool {
        self.uid() == other.uid()
    }
}

impl Eq for AnyActorRef {}

impl PartialOrd for AnyActorRef {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for AnyActorRef {
    fn cmp(&self, other: &Self) -> Ordering {
        self.uid().cmp(&other.uid())
    }
}

impl Hash for AnyActorRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.uid().hash(state);
    }
}

impl fmt::Debug for AnyActorRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.core(), f)
    }
}

impl fmt::Display for AnyActorRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.core(), f)
    }
}
