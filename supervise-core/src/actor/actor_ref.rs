//! Refs: how actors are reached. A ref outlives restarts; after the actor's end it reaches nobody.

use std::any::{Any, TypeId};
use std::cmp::Ordering;
use std::fmt;
use std::future::{Future, poll_fn};
use std::hash::{Hash, Hasher};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker, ready};

use tokio::task::coop::consume_budget;

use crate::actor::cell::{AnyCell, Cell, CellProtocol, Core, Effects, System, TypedCell, with_effects};
use crate::actor::control::{ActorMailbox, Control};
use crate::actor::definition::Actor;
use crate::actor::dispatch::Task;
use crate::actor::envelope::MessageFor;
use crate::actor::request::{AskError, SendError, SendErrorReason};
use crate::base::{ActorPath, Uid, drop_contained};
use crate::mailbox::{Lane, Pushed, SendGuard, SendersToWake};
use crate::observe::{DeadLetterReason, Lost};
use crate::supervision::{Effect, HowEnded, Marked};

/// A ref to an actor of type `A`. Cheap to clone; dropping it stops nobody.
///
/// Equal are refs to the same incarnation. `#[actor]` wraps it into the actor's own ref type with a method for each
/// handler; what every ref can do is here.
pub struct ActorRef<A> {
    /// Of the actor itself, or of one that stands in for it. No bound stands here, so that a mistake in an actor is told where
    /// it is and not wherever its ref is named.
    cell: Arc<dyn TypedCell<A>>,
}

impl<A> ActorRef<A> {
    /// Where the actor stands.
    pub fn path(&self) -> ActorPath {
        self.core().path()
    }

    /// Which incarnation it is.
    pub fn uid(&self) -> Uid {
        self.core().uid
    }

    /// The same ref without its type.
    pub fn to_any(&self) -> AnyActorRef {
        AnyActorRef(Arc::clone(&self.cell) as _)
    }

    /// Requests the stop of the actor: it finishes its current message, then stops its children, then itself. Somebody
    /// stopped it then, whoever uses the ref: a permanent child stays down (rule 14.2).
    pub fn stop(&self) {
        self.to_any().stop();
    }

    /// Lets the actor stop when it has handled what was sent before. As with [`stop`](Self::stop), somebody stopped it then.
    pub fn poison(&self) {
        self.to_any().poison();
    }

    /// Lets the actor fail with [`Killed`](crate::FailureKind::Killed) when it has handled what was sent before.
    pub fn kill(&self) {
        self.to_any().kill();
    }

    /// Whether the actor has ended.
    pub fn has_ended(&self) -> bool {
        self.any().has_ended()
    }
}

impl<A> ActorRef<A> {
    fn any(&self) -> &(dyn AnyCell + 'static) {
        &*self.cell
    }

    pub(crate) fn core(&self) -> &Core {
        self.any().core()
    }
}

impl<A: Actor> ActorRef<A> {
    pub(crate) fn new(cell: Arc<Cell<A::Message>>) -> Self {
        Self { cell }
    }

    fn mailbox(&self) -> &ActorMailbox<A::Message> {
        self.cell.mailbox()
    }

    /// Sends a message that was built by hand; the methods of a generated ref make requests instead. It has no asker.
    ///
    /// # Errors
    ///
    /// Gives the message back when the actor has stopped, or its bounded mailbox is full and refuses.
    pub fn tell(&self, message: impl MessageFor<A>) -> Result<(), SendError<A::Message>> {
        self.push(message.into_message())
    }

    /// The ref of another actor type that takes the same messages. It reaches this actor.
    pub(crate) fn as_ref_of<B: Actor<Message = A::Message>>(&self) -> ActorRef<B> {
        match self.to_any().typed() {
            Some(other) => other,
            None => unreachable!("the messages are the same"),
        }
    }

    /// Whether the actor has been active since the last look, or has anything to do.
    pub(crate) fn take_touched(&self) -> bool {
        self.mailbox().take_touched() || self.pending() > 0
    }

    /// Lets the actor passivate when it has handled what was sent before.
    pub(crate) fn passivate(&self) {
        // Nobody is there to be passivated.
        let _gone = self.to_any().0.push_control(Control::Passivate);
    }

    /// Closes the user lane of an actor that has ended.
    pub(crate) fn shut_user_lane(&self) -> (Lane<A::Message, Control>, SendersToWake) {
        self.mailbox().shut_user_lane()
    }

    /// How many messages wait or are being handled. A hint: others send and handle meanwhile.
    pub(crate) fn pending(&self) -> usize {
        self.mailbox().pending()
    }

    /// Whether this waker wakes the actor itself: then its own code is what waits.
    pub(crate) fn is_woken_by(&self, waker: &Waker) -> bool {
        waker.data() == Arc::as_ptr(&self.cell).cast()
    }

    #[inline]
    pub(crate) fn push(&self, message: A::Message) -> Result<(), SendError<A::Message>> {
        let guard = self.mailbox().enter();
        self.pushed(guard.push(message), false)
    }

    /// Where a message may be left. What became of it is for [`pushed`](Self::pushed) or [`pushed_inline`](Self::pushed_inline).
    #[inline]
    pub(crate) fn enter(&self) -> SendGuard<'_, A::Message, Control, System, Task> {
        self.mailbox().enter()
    }

    /// An ask. If the actor was idle, it has its turn before this returns: not where another message may have displaced this one,
    /// because that turn is for the asker's own message alone.
    pub(crate) fn pushed_inline(&self, pushed: Pushed<A::Message, Task>) -> Result<(), SendError<A::Message>> {
        match pushed {
            Pushed::Taken(Some(task)) if !self.mailbox().displaces() => {
                self.core().system.dispatcher().run_inline(task, &self.core().system);
                Ok(())
            }
            pushed => self.pushed(pushed, true),
        }
    }

    /// A message that was `asked` or told.
    #[inline]
    pub(crate) fn pushed(
        &self,
        pushed: Pushed<A::Message, Task>,
        asked: bool,
    ) -> Result<(), SendError<A::Message>> {
        match pushed {
            Pushed::Taken(None) => Ok(()),
            Pushed::Taken(task) => {
                self.core().run(task);
                Ok(())
            }
            refused => self.refused(refused, asked),
        }
    }

    #[cold]
    fn refused(&self, pushed: Pushed<A::Message, Task>, asked: bool) -> Result<(), SendError<A::Message>> {
        match pushed {
            Pushed::Taken(_) => Ok(()),
            Pushed::Full(message) => Err(SendError::new(message, SendErrorReason::MailboxFull)),
            Pushed::Closed(message) => {
                let message = match self.pass_to_successor(message, asked) {
                    Ok(outcome) => return outcome,
                    Err(message) => message,
                };
                let lost = Lost::new(A::message_name(&message), DeadLetterReason::Stopped, asked);
                self.core().lost(lost);
                Err(SendError::new(message, SendErrorReason::Stopped))
            }
            Pushed::Displaced(message) => {
                let name = A::message_name(&message);
                self.core().lose(name, DeadLetterReason::MailboxFull, AskError::MailboxFull, message);
                Ok(())
            }
        }
    }

    /// Whoever takes what is sent to this actor, which has left its seat.
    fn successor(&self) -> Option<Self> {
        self.core().successors()?.occupant()?.typed()
    }

    /// Sends a message that found this actor's mailbox closed to the successor, and gives it back if there is none.
    ///
    /// Rule 18.4.
    #[cold]
    fn pass_to_successor(
        &self,
        mut message: A::Message,
        asked: bool,
    ) -> Result<Result<(), SendError<A::Message>>, A::Message> {
        let mut from = self.clone();
        while let Some(successor) = from.successor() {
            let pushed = successor.enter().push(message);
            match pushed {
                Pushed::Closed(back) => message = back,
                pushed => return Ok(successor.pushed(pushed, asked)),
            }
            from = successor;
        }
        Err(message)
    }

    /// By hand, so that the message moves once: from its future into the lane.
    #[inline]
    pub(crate) fn push_when_room(
        &self,
        message: A::Message,
    ) -> impl Future<Output = Result<(), SendError<A::Message>>> {
        let mut place = self.mailbox().place();
        let mut message = Some(std::cell::Cell::new(message));
        poll_fn(move |cx| {
            // A sender that always finds room would otherwise never yield.
            ready!(pin!(consume_budget()).poll(cx));
            match ready!(place.poll(&mut message, cx)) {
                Ok(task) => {
                    self.core().run(task);
                    Poll::Ready(Ok(()))
                }
                Err(back) => match self.send_to_successor(back, cx.waker()) {
                    Ok(outcome) => Poll::Ready(outcome),
                    Err(back) => {
                        message = Some(std::cell::Cell::new(back));
                        Poll::Pending
                    }
                },
            }
        })
    }

    /// What became of a message that found this actor's mailbox closed. Given back if its successor has no room; then the sender
    /// is woken when there may be.
    #[cold]
    #[inline(never)]
    fn send_to_successor(
        &self,
        mut message: A::Message,
        sender: &Waker,
    ) -> Result<Result<(), SendError<A::Message>>, A::Message> {
        let mut from = self.clone();
        while let Some(successor) = from.successor() {
            match successor.mailbox().push_as_guest(message, sender) {
                Pushed::Taken(task) => {
                    successor.core().run(task);
                    return Ok(Ok(()));
                }
                Pushed::Full(back) => return Err(back),
                Pushed::Closed(back) | Pushed::Displaced(back) => message = back,
            }
            from = successor;
        }
        Ok(Err(from.finds_nobody(message)))
    }

    /// A message whose sender gets it back, because the actor has ended.
    fn finds_nobody(&self, message: A::Message) -> SendError<A::Message> {
        self.core().dead_letter(A::message_name(&message), DeadLetterReason::Stopped);
        SendError::new(message, SendErrorReason::Stopped)
    }
}

impl<A> Clone for ActorRef<A> {
    fn clone(&self) -> Self {
        Self { cell: Arc::clone(&self.cell) }
    }
}

impl<A> PartialEq for ActorRef<A> {
    fn eq(&self, other: &Self) -> bool {
        self.core().uid == other.core().uid
    }
}

impl<A> Eq for ActorRef<A> {}

impl<A> Hash for ActorRef<A> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.core().uid.hash(state);
    }
}

impl<A> fmt::Debug for ActorRef<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.core(), f)
    }
}

impl<A> fmt::Display for ActorRef<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.core(), f)
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
        if self.core().answers_to(TypeId::of::<A>()) { self.typed() } else { None }
    }

    /// The ref of an actor type whose messages it takes.
    fn typed<A: Actor>(&self) -> Option<ActorRef<A>> {
        let cell: Arc<dyn Any + Send + Sync> = Arc::clone(&self.0) as _;
        cell.downcast::<Cell<A::Message>>().ok().map(ActorRef::new)
    }

    /// Requests the stop of the actor: it finishes its current message, then stops its children, then itself. Somebody
    /// stopped it then, whoever uses the ref: a permanent child stays down (rule 14.2).
    pub fn stop(&self) {
        if let Some(seat) = self.core().seat() {
            seat.leaving(self.uid());
        }
        // The parent notes that it waits for this child. Not by a command, whose effects would cost every stop 3 %.
        let parent = self.core().parent.as_ref();
        let marked = parent.map(|parent| parent.core().protocol().mark_stopping(self.core().id));
        if marked != Some(Marked::NotNow) {
            self.send_system(System::Terminate);
        }
    }

    /// Lets the actor stop when it has handled what was sent before. As with [`stop`](Self::stop), somebody stopped it then.
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
            let how = HowEnded::AlreadyGone;
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
