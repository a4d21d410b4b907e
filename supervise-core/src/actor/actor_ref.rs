//! Refs, the handles through which others reach an actor. A ref survives restarts. After the actor's end, messages to
//! it become dead letters.

mod any;

use std::fmt;
use std::future::{Future, poll_fn};
use std::hash::{Hash, Hasher};
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::task::{Poll, Waker, ready};

use tokio::task::coop::consume_budget;

pub use self::any::AnyActorRef;
use crate::actor::cell::{AnyCell, Cell, Core, NoOccupant, System, TypedCell};
use crate::actor::control::{ActorMailbox, Control};
use crate::actor::definition::Actor;
use crate::actor::dispatch::Task;
use crate::actor::end_reason::EndReason;
use crate::actor::envelope::MessageFor;
use crate::actor::held_up::{self, Awaited};
use crate::actor::request::{AskError, SendError, SendErrorReason};
#[cfg(feature = "durable")]
use crate::actor::stored;
use crate::base::{ActorPath, Uid};
use crate::mailbox::{Lane, Pushed, SendGuard, SendersToWake};
use crate::observe::{DeadLetterReason, Lost};

/// When an actor was active, since somebody last looked.
pub(crate) enum LastActive {
    /// It has a message, or waits for an answer.
    Now,
    /// It is idle now, and has handled a message that counts.
    SinceTheLastLook,
    None,
}

/// A ref to an actor of type `A`. It is cheap to clone, and dropping it does not stop the actor.
///
/// This type has only the methods that all refs share. To call the handlers of an actor `Clock`, write `ClockRef` as the
/// type of a field or a parameter, not `ActorRef<Clock>`: `#[actor]` generates `ClockRef` around this type, with a method
/// for each handler.
///
/// Two refs are equal if they point to the same incarnation.
pub struct ActorRef<A> {
    /// The cell of the actor, or of a pattern that stands in for it. `A` has no bound, so that rustc reports a mistake
    /// in an actor at the actor, and not at each place that names its ref.
    cell: Arc<dyn TypedCell<A>>,
}

impl<A> ActorRef<A> {
    /// The actor's path.
    pub fn path(&self) -> ActorPath {
        self.core().path()
    }

    /// The uid of the actor's incarnation.
    pub fn uid(&self) -> Uid {
        self.core().uid
    }

    /// Whether the actor lives in this process. The actors of other nodes do not (feature `remote`). For those, `Ok` of a
    /// tell says only that the message is queued here.
    pub fn is_local(&self) -> bool {
        self.core().is_local()
    }

    /// The same ref, without its actor's type.
    pub fn to_any(&self) -> AnyActorRef {
        AnyActorRef(Arc::clone(&self.cell) as _)
    }

    /// Requests the stop of the actor: it finishes its current message, then stops its children, then itself. This is a
    /// stop by request, even if the actor uses its own ref: a permanent child is not replaced
    /// (rule [14.2](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-14.2)).
    pub fn stop(&self) {
        self.to_any().stop();
    }

    /// Stops the actor after it has handled all earlier messages. Like [`stop`](Self::stop), this is a stop by request.
    pub fn poison(&self) {
        self.to_any().poison();
    }

    /// Stops the actor when it has handled the messages that wait, and refuses further messages: a sender is told at once that
    /// the actor has stopped. In contrast, after [`poison`](Self::poison) the actor accepts messages until its end, and they
    /// become dead letters. If a timer is due or the outcome of a future arrives in the meantime, the actor handles it if it
    /// comes before the last waiting message. Like [`stop`](Self::stop), this is a stop by request
    /// (rule [23.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-23.4)).
    ///
    /// A [pattern](crate::pattern) has handled a message when it has passed it on. So its children may have waiting
    /// messages when they stop, and these become dead letters, as after `stop`.
    pub fn stop_when_drained(&self) {
        self.to_any().stop_when_drained();
    }

    /// Ends the delay after which this actor would be restarted, and restarts it now. Does nothing if the actor does not wait
    /// for a restart. Under a group strategy, the siblings that wait for the same restart are restarted too. The restart was
    /// counted when it was decided, and happens once: the limit and the next delay are as if the actor had waited
    /// (rule [23.5](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-23.5)).
    pub fn retry_now(&self) {
        self.to_any().retry_now();
    }

    /// Makes the actor fail with [`Killed`](crate::FailureKind::Killed) after it has handled all earlier messages.
    pub fn kill(&self) {
        self.to_any().kill();
    }

    /// Whether the actor has ended.
    pub fn has_ended(&self) -> bool {
        self.any().has_ended()
    }

    /// Why the actor ended, or `None` while it has not ended.
    /// Rule [8.8](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-8.8).
    pub fn end_reason(&self) -> Option<EndReason> {
        self.to_any().end_reason()
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

    pub(in crate::actor) fn mailbox(&self) -> &ActorMailbox<A::Message> {
        self.cell.mailbox()
    }

    /// Sends a message that was built by hand. It has no asker. (The methods of a generated ref make requests
    /// instead.)
    ///
    /// # Errors
    ///
    /// If the actor has stopped, or its bounded mailbox is full and refuses messages. The error holds the message.
    pub fn tell(&self, message: impl MessageFor<A>) -> Result<(), SendError<A::Message>> {
        #[cfg(feature = "durable")]
        if const { A::DURABLE.is_some() } {
            return self.tell_stored(message.into_message());
        }
        self.push(message.into_message())
    }

    /// Puts a stored message into the lane. Gives it back if the lane is closed.
    #[cfg(feature = "durable")]
    pub(crate) fn push_accepted(&self, message: A::Message) -> Result<(), A::Message> {
        let task = self.mailbox().push_accepted(message)?;
        self.core().run(task);
        Ok(())
    }

    /// Wakes the actor, which was waiting for the store.
    #[cfg(feature = "durable")]
    pub(crate) fn wake(&self) {
        self.core().run(self.mailbox().wake());
    }

    /// The same ref under another actor type with the same messages. It reaches this actor.
    pub(crate) fn as_ref_of<B: Actor<Message = A::Message>>(&self) -> ActorRef<B> {
        match self.to_any().typed() {
            Some(other) => other,
            None => unreachable!("the messages are the same"),
        }
    }

    /// When the actor was active. The next call begins a new interval.
    pub(crate) fn look(&self) -> LastActive {
        let since_the_last_look = self.mailbox().take_touched();
        if self.pending() > 0 || self.core().awaits_answer() {
            LastActive::Now
        } else if since_the_last_look {
            LastActive::SinceTheLastLook
        } else {
            LastActive::None
        }
    }

    /// Lets the actor passivate when it has handled what was sent before.
    pub(crate) fn passivate(&self) {
        // If the actor has ended, there is nothing to do.
        let _gone = self.to_any().0.push_control(Control::Passivate);
    }

    /// Closes the user lane of an actor that has ended.
    pub(crate) fn shut_user_lane(&self) -> (Lane<A::Message, Control>, SendersToWake) {
        self.mailbox().shut_user_lane()
    }

    /// Like [`tell`](Self::tell), but returns the message where a full mailbox would drop it.
    #[cfg(feature = "remote")]
    pub(crate) fn offer(&self, message: A::Message) -> Result<(), SendError<A::Message>> {
        #[cfg(feature = "durable")]
        if const { A::DURABLE.is_some() } {
            return self.tell_stored(message);
        }
        match self.enter().push(message) {
            Pushed::Displaced(newest) if !self.mailbox().displaces() => {
                Err(SendError::new(newest, SendErrorReason::MailboxFull))
            }
            pushed => self.pushed(pushed, false),
        }
    }

    /// How many messages wait or are being handled. A hint: the number may change at any time.
    pub(crate) fn pending(&self) -> usize {
        self.mailbox().pending()
    }

    /// Whether this waker wakes the actor itself, which means that the actor's own code waits.
    pub(crate) fn is_woken_by(&self, waker: &Waker) -> bool {
        waker.data() == Arc::as_ptr(&self.cell).cast()
    }

    #[inline]
    pub(crate) fn push(&self, message: A::Message) -> Result<(), SendError<A::Message>> {
        let guard = self.enter();
        self.pushed(guard.push(message), false)
    }

    /// Enters the mailbox to push one message. [`pushed`](Self::pushed) or [`pushed_inline`](Self::pushed_inline)
    /// handles the result.
    #[inline]
    pub(crate) fn enter(&self) -> SendGuard<'_, A::Message, Control, System, Task> {
        self.enter_as(false)
    }

    /// Like [`enter`](Self::enter), for a message whose sender waits for an answer.
    #[inline]
    pub(crate) fn enter_to_ask(&self) -> SendGuard<'_, A::Message, Control, System, Task> {
        self.enter_as(true)
    }

    #[inline]
    fn enter_as(&self, asks: bool) -> SendGuard<'_, A::Message, Control, System, Task> {
        #[cfg(not(feature = "spans"))]
        let _: bool = asks;
        #[cfg(feature = "spans")]
        let origin = self.origin(asks);
        let guard = self.mailbox().enter();
        #[cfg(feature = "spans")]
        let guard = guard.behind(origin);
        guard
    }

    /// The span in which a message is sent now. Called outside the mailbox's lock, because it calls a subscriber.
    #[cfg(feature = "spans")]
    fn origin(&self, asks: bool) -> Option<Control> {
        self.core().system.observer().origin(asks).map(Control::Origin)
    }

    /// Handles the result of pushing an ask. If the actor was idle, its turn runs before this returns. A mailbox that
    /// displaces messages is an exception: that turn handles the asker's own message alone, and another message may
    /// have displaced it.
    pub(crate) fn pushed_inline(&self, pushed: Pushed<A::Message, Task>) -> Result<(), SendError<A::Message>> {
        match pushed {
            Pushed::Taken(Some(task)) if !self.mailbox().displaces() => {
                self.core().system.dispatcher().run_inline(task, self.any());
                Ok(())
            }
            pushed => self.pushed(pushed, true),
        }
    }

    /// Handles the result of pushing a message that was `asked` or told.
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
                let (message, nobody) = match self.pass_to_successor(message, asked) {
                    Ok(outcome) => return outcome,
                    Err(back) => back,
                };
                let (reason, why) = self.core().why_refused(nobody);
                let lost = Lost::new(A::message_name(&message), reason, asked).at_once();
                self.core().lost(lost);
                Err(SendError::new(message, why))
            }
            Pushed::Displaced(message) => {
                let name = A::message_name(&message);
                self.core().lose(name, DeadLetterReason::MailboxFull, AskError::MailboxFull, message);
                Ok(())
            }
        }
    }

    /// The actor that gets the messages sent to this one, after this one has left its seat.
    fn successor(&self) -> Result<Self, NoOccupant> {
        self.core().successors().ok_or(NoOccupant::Gone)?.occupant()?.typed().ok_or(NoOccupant::Gone)
    }

    /// Sends a message that found this actor's mailbox closed to the successor, and gives it back if there is none.
    ///
    /// Rule 18.4.
    #[cold]
    fn pass_to_successor(
        &self,
        mut message: A::Message,
        asked: bool,
    ) -> Result<Sent<A::Message>, (A::Message, NoOccupant)> {
        let mut from = self.clone();
        loop {
            let successor = match from.successor() {
                Ok(successor) => successor,
                Err(nobody) => return Err((message, nobody)),
            };
            let pushed = successor.enter().push(message);
            match pushed {
                Pushed::Closed(back) => message = back,
                pushed => return Ok(successor.pushed(pushed, asked)),
            }
            from = successor;
        }
    }

    /// Puts a message into the lane when there is room.
    pub(crate) fn push_when_room(
        &self,
        message: A::Message,
    ) -> impl Future<Output = Result<(), SendError<A::Message>>> {
        self.clone().wait_for_room(message, false)
    }

    /// Like [`push_when_room`](Self::push_when_room), for a message whose sender waits for an answer.
    pub(crate) fn ask_when_room(
        &self,
        message: A::Message,
    ) -> impl Future<Output = Result<(), SendError<A::Message>>> {
        self.clone().wait_for_room(message, true)
    }

    /// Puts a message, which was `asked` or told, into the lane when there is room. If the message moves to a successor, it waits in that
    /// mailbox's queue for room, like any other.
    async fn wait_for_room(mut self, mut message: A::Message, asked: bool) -> Result<(), SendError<A::Message>> {
        #[cfg(feature = "spans")]
        let mut before = self.origin(asked);
        loop {
            let mut place = self.mailbox().place();
            #[cfg(feature = "spans")]
            {
                place.before = before.take();
            }
            let mut waiting = Some(std::cell::Cell::new(message));
            let placed = poll_fn(|cx| {
                // A sender that always finds room would otherwise never yield.
                ready!(pin!(consume_budget()).poll(cx));
                // Rule 14.8.
                let in_vain = || held_up::waits_in_vain(self.core(), Awaited::Room, cx.waker());
                place.poll_unless(in_vain, &mut waiting, cx)
            });
            match placed.await {
                Ok(task) => {
                    self.core().run(task);
                    return Ok(());
                }
                Err(back) if !self.mailbox().refuses_messages() => {
                    return Err(SendError::new(back, SendErrorReason::MailboxFull));
                }
                Err(back) => message = back,
            }
            #[cfg(feature = "spans")]
            {
                before = place.before.take();
            }
            drop(place);
            self = match self.successor() {
                Ok(successor) => successor,
                Err(nobody) => return Err(self.finds_nobody(message, nobody, asked)),
            };
        }
    }

    /// Puts a message into the lane or hands it over to the store when there is room. Does not wait until it is durable.
    #[cfg(feature = "remote")]
    pub(crate) async fn tell_when_room(&self, message: A::Message) -> Result<(), SendError<A::Message>> {
        #[cfg(feature = "durable")]
        if const { A::DURABLE.is_some() } {
            return stored::tell_when_room(self, message).await;
        }
        self.push_when_room(message).await
    }

    /// Puts a message into the lane when there is room, or into the store of a durable mailbox.
    ///
    /// A hand-written future, so that the message moves once: from the future into the lane.
    #[inline]
    pub(crate) fn send_when_room(
        &self,
        message: A::Message,
    ) -> impl Future<Output = Result<(), SendError<A::Message>>> {
        #[cfg(feature = "durable")]
        let mut stored = None;
        let mut place = self.mailbox().place();
        #[cfg(feature = "spans")]
        let mut is_first = true;
        let mut message = Some(std::cell::Cell::new(message));
        poll_fn(move |cx| {
            #[cfg(feature = "durable")]
            if const { A::DURABLE.is_some() } {
                return stored::poll_send(self, &mut message, &mut stored, cx);
            }
            // A sender that always finds room would otherwise never yield.
            ready!(pin!(consume_budget()).poll(cx));
            #[cfg(feature = "spans")]
            if std::mem::take(&mut is_first) {
                place.before = self.origin(false);
            }
            // Rule 14.8.
            let in_vain = || held_up::waits_in_vain(self.core(), Awaited::Room, cx.waker());
            match ready!(place.poll_unless(in_vain, &mut message, cx)) {
                Ok(task) => {
                    self.core().run(task);
                    Poll::Ready(Ok(()))
                }
                Err(back) if !self.mailbox().refuses_messages() => {
                    Poll::Ready(Err(SendError::new(back, SendErrorReason::MailboxFull)))
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

    /// Sends a message that found this actor's mailbox closed to the successor. If the successor has no room, gives the message
    /// back and wakes the sender when there may be room.
    #[cold]
    #[inline(never)]
    fn send_to_successor(
        &self,
        mut message: A::Message,
        sender: &Waker,
    ) -> Result<Result<(), SendError<A::Message>>, A::Message> {
        let mut from = self.clone();
        loop {
            let successor = match from.successor() {
                Ok(successor) => successor,
                Err(nobody) => return Ok(Err(from.finds_nobody(message, nobody, false))),
            };
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
    }

    /// The error for a message whose sender gets it back, because the actor has ended.
    fn finds_nobody(&self, message: A::Message, nobody: NoOccupant, asked: bool) -> SendError<A::Message> {
        let (reason, why) = self.core().why_refused(nobody);
        self.core().lost(Lost::new(A::message_name(&message), reason, asked).at_once());
        SendError::new(message, why)
    }
}

/// What happened to a message that was taken or refused.
type Sent<M> = Result<(), SendError<M>>;

impl<A> ActorRef<A> {
    /// A ref that does not keep the actor's cell alive.
    pub(crate) fn downgrade(&self) -> WeakActorRef<A> {
        WeakActorRef(Arc::downgrade(&self.cell))
    }
}

/// A ref that does not keep the cell of an ended actor alive, nor its system. A living actor keeps its own cell alive.
pub(crate) struct WeakActorRef<A>(Weak<dyn TypedCell<A>>);

impl<A> WeakActorRef<A> {
    /// The ref, unless the actor has ended and nothing else keeps its cell alive.
    pub(crate) fn upgrade(&self) -> Option<ActorRef<A>> {
        self.0.upgrade().map(|cell| ActorRef { cell })
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

/// A ref that knows its actor's type. `#[actor]` implements this trait for the generated ref.
pub trait TypedRef: Clone + Send + Sync + From<ActorRef<Self::Actor>> + 'static {
    // No bound here either, for the same reason as in `ActorRef`.
    /// The type of the actor that the ref points to.
    type Actor: 'static;

    /// The plain ref, with the methods that all refs share.
    fn actor_ref(&self) -> &ActorRef<Self::Actor>;
}

impl<A: 'static> TypedRef for ActorRef<A> {
    type Actor = A;

    fn actor_ref(&self) -> &ActorRef<A> {
        self
    }
}
