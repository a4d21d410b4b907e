//! Refs: how actors are reached. A ref outlives restarts; after the actor's end it reaches nobody.

use std::any::{Any, TypeId};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;

use tokio::task::coop::consume_budget;

use crate::actor::Actor;
use crate::cell::{AnyCell, Cell, CellProtocol, Core, Effects, System, with_effects};
use crate::dead_letter::DeadLetterReason;
use crate::dispatch::Task;
use crate::mailbox::{Control, Pushed};
use crate::path::{ActorPath, Uid};
use crate::request::{AskError, SendError, SendErrorReason, drop_because};
use crate::supervision::Effect;

/// A ref to an actor of type `A`. Cheap to clone; dropping it stops nobody.
///
/// Equal are refs to the same incarnation. `#[actor]` wraps it into the actor's own ref type with a method for each
/// handler; what every ref can do is here.
pub struct ActorRef<A> {
    any: AnyActorRef,
    /// The type of the actor behind `any`, or of one that it stands in for. No bound stands here, so that a mistake in an actor is told where it is and
    /// not wherever its ref is named.
    actor: PhantomData<fn() -> A>,
}

impl<A> ActorRef<A> {
    /// Where the actor stands.
    pub fn path(&self) -> ActorPath {
        self.any.path()
    }

    /// Which incarnation it is.
    pub fn uid(&self) -> Uid {
        self.any.uid()
    }

    /// The same ref without its type.
    pub fn to_any(&self) -> AnyActorRef {
        self.any.clone()
    }

    /// Requests the stop of the actor: it finishes its current message, then stops its children, then itself.
    pub fn stop(&self) {
        self.any.stop();
    }

    /// Lets the actor stop when it has handled what was sent before.
    pub fn poison(&self) {
        self.any.poison();
    }

    /// Lets the actor fail with [`Killed`](crate::FailureKind::Killed) when it has handled what was sent before.
    pub fn kill(&self) {
        self.any.kill();
    }

    /// Whether the actor has ended.
    pub fn has_ended(&self) -> bool {
        self.any.has_ended()
    }
}

impl<A> ActorRef<A> {
    pub(crate) fn core(&self) -> &Core {
        self.any.core()
    }

    /// The cell behind it, of no type.
    pub(crate) fn any_cell(&self) -> &Arc<dyn AnyCell> {
        &self.any.0
    }
}

impl<A: Actor> ActorRef<A> {
    pub(crate) fn new(cell: Arc<Cell<A::Message>>) -> Self {
        Self { any: AnyActorRef(cell), actor: PhantomData }
    }

    fn cell(&self) -> &Cell<A::Message> {
        let cell: &dyn Any = &*self.any.0;
        match cell.downcast_ref() {
            Some(cell) => cell,
            None => unreachable!("made of a cell with these messages"),
        }
    }

    /// Sends a message by hand; the methods of a generated ref make requests instead.
    ///
    /// # Errors
    ///
    /// Gives the message back when the actor has stopped, or its bounded mailbox is full and refuses.
    pub fn tell(&self, message: A::Message) -> Result<(), SendError<A::Message>> {
        self.push(message)
    }

    /// The ref of another actor type that takes the same messages. It reaches this actor.
    pub(crate) fn as_ref_of<B: Actor<Message = A::Message>>(&self) -> ActorRef<B> {
        ActorRef { any: self.any.clone(), actor: PhantomData }
    }

    /// How many messages wait or are being handled. A hint: others send and handle meanwhile.
    pub(crate) fn pending(&self) -> usize {
        self.cell().mailbox.pending()
    }

    #[inline]
    pub(crate) fn push(&self, message: A::Message) -> Result<(), SendError<A::Message>> {
        match self.cell().mailbox.push(message) {
            Pushed::Taken(None) => Ok(()),
            Pushed::Taken(task) => {
                self.core().run(task);
                Ok(())
            }
            refused => self.refused(refused),
        }
    }

    /// Like `push`, and if the actor is idle it has its turn before this returns.
    pub(crate) fn push_inline(&self, message: A::Message) -> Result<(), SendError<A::Message>> {
        match self.cell().mailbox.push(message) {
            Pushed::Taken(Some(task)) => {
                self.core().system.dispatcher().run_here(task, &self.core().system);
                Ok(())
            }
            pushed => self.refused(pushed),
        }
    }

    #[cold]
    fn refused(&self, pushed: Pushed<A::Message, Task>) -> Result<(), SendError<A::Message>> {
        match pushed {
            Pushed::Taken(_) => Ok(()),
            Pushed::Full(message) => Err(SendError::new(message, SendErrorReason::MailboxFull)),
            Pushed::Closed(message) => {
                self.core().dead_letter(A::message_name(&message), DeadLetterReason::Stopped);
                Err(SendError::new(message, SendErrorReason::Stopped))
            }
            Pushed::Displaced(message) => {
                self.core().dead_letter(A::message_name(&message), DeadLetterReason::MailboxFull);
                drop_because(AskError::MailboxFull, message);
                Ok(())
            }
        }
    }

    pub(crate) async fn push_when_room(&self, message: A::Message) -> Result<(), SendError<A::Message>> {
        // Who sends again and again and always finds room would never let others have their turn.
        consume_budget().await;
        let mailbox = &self.cell().mailbox;
        let pushed = match mailbox.push_if_room(message) {
            Err(message) => mailbox.push_when_room(message).await,
            pushed => pushed,
        };
        match pushed {
            Ok(task) => {
                self.core().run(task);
                Ok(())
            }
            Err(message) => {
                self.core().dead_letter(A::message_name(&message), DeadLetterReason::Stopped);
                Err(SendError::new(message, SendErrorReason::Stopped))
            }
        }
    }
}

impl<A> Clone for ActorRef<A> {
    fn clone(&self) -> Self {
        Self { any: self.any.clone(), actor: PhantomData }
    }
}

impl<A> PartialEq for ActorRef<A> {
    fn eq(&self, other: &Self) -> bool {
        self.any == other.any
    }
}

impl<A> Eq for ActorRef<A> {}

impl<A> Hash for ActorRef<A> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.any.hash(state);
    }
}

impl<A> fmt::Debug for ActorRef<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.any, f)
    }
}

impl<A> fmt::Display for ActorRef<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.any, f)
    }
}

/// A ref that knows its actor's type. `#[actor]` implements it for the generated ref.
pub trait TypedRef: Clone + Send + Sync + From<ActorRef<Self::Actor>> + 'static {
    // No bound stands here either.
    /// The type of the actor behind it.
    type Actor: 'static;

    /// What every ref can do.
    fn actor_ref(&self) -> &ActorRef<Self::Actor>;
}

impl<A: 'static> TypedRef for ActorRef<A> {
    type Actor = A;

    fn actor_ref(&self) -> &ActorRef<A> {
        self
    }
}

/// A ref to an actor of any type.
#[derive(Clone)]
pub struct AnyActorRef(pub(crate) Arc<dyn AnyCell>);

impl AnyActorRef {
    /// Where the actor stands.
    pub fn path(&self) -> ActorPath {
        self.core().path()
    }

    /// Which incarnation it is.
    pub fn uid(&self) -> Uid {
        self.core().uid
    }

    /// The actor's name under its parent.
    pub fn name(&self) -> &str {
        &self.core().name
    }

    /// The typed ref, if the actor is an `A`, or a [pattern](crate::pattern) that stands in for one.
    pub fn downcast<A: Actor>(&self) -> Option<ActorRef<A>> {
        self.core().answers_to(TypeId::of::<A>()).then(|| ActorRef { any: self.clone(), actor: PhantomData })
    }

    /// Requests the stop of the actor: it finishes its current message, then stops its children, then itself.
    pub fn stop(&self) {
        // So that the parent knows whom it waits for.
        let parent = self.core().parent.as_ref();
        if parent.is_none_or(|parent| parent.core().protocol().condemns_to_end(self.core().id)) {
            self.send_system(System::Terminate);
        }
    }

    /// Lets the actor stop when it has handled what was sent before.
    pub fn poison(&self) {
        // A poison pill that finds nobody has done its work.
        let _gone = self.0.push_control(Control::PoisonPill);
    }

    /// Lets the actor fail with [`Killed`](crate::FailureKind::Killed) when it has handled what was sent before.
    pub fn kill(&self) {
        if self.0.push_control(Control::Kill).is_err() {
            self.core().dead_letter("Kill", DeadLetterReason::Stopped);
        }
    }

    /// Whether the actor has ended.
    pub fn has_ended(&self) -> bool {
        self.0.has_ended()
    }

    pub(crate) fn core(&self) -> &Core {
        self.0.core()
    }

    /// Gives this actor's protocol a command and sends what comes of it. For commands whose effects are messages only.
    pub(crate) fn command<T>(&self, command: impl FnOnce(&mut CellProtocol, &mut Effects) -> T) -> T {
        with_effects(|effects| {
            let answer = command(&mut self.core().protocol(), effects);
            for effect in effects.drain(..) {
                match effect {
                    Effect::Send(to, message) => to.send_system(message),
                    Effect::Watch(subject) => subject.send_system(System::Watch(self.clone())),
                    Effect::Unwatch(subject) => subject.send_system(System::Unwatch(self.clone())),
                    other => unreachable!("a command has no such effect: {other:?}"),
                }
            }
            answer
        })
    }

    /// Puts a message on the system lane. Where nobody is left to read it, those who wait for an answer get it.
    pub(crate) fn send_system(&self, message: System) {
        if let Err(message) = self.0.push_system(message) {
            self.answer_for_the_dead(message);
        }
    }

    pub(crate) fn answer_for_the_dead(&self, message: System) {
        if let System::Watch(watcher) = message {
            let how = crate::supervision::HowEnded::AlreadyGone;
            watcher.send_system(System::Ended { subject: self.clone(), child: None, how });
        } else {
            crate::unwind::drop_quietly(message);
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
