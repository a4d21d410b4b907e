//! The reply slot of an ask.
//!
//! Rules 1.5, 1.7, 19.1, 19.3 and 19.8.

mod batch;
mod verdict;

use std::any::{Any, type_name};
use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::mem::{ManuallyDrop, needs_drop};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};

use crate::actor::actor_ref::ActorRef;
use crate::actor::dispatch;
use crate::actor::held_up;
use crate::actor::request::AskError;
use crate::actor::waits_for::{self, Asking, Tie, Wait};
use crate::base::{ActorPath, drop_contained};

pub(crate) use self::batch::BatchSlot;
pub(in crate::actor) use self::verdict::Dropped;
use self::verdict::Verdict;
pub(crate) use self::verdict::{begin, beside, dropping, settle};

/// A future of the reply to a message that has already been sent.
///
/// # Cancel safety
///
/// If it is dropped, the handler still runs and its reply is dropped.
#[must_use = "futures do nothing unless awaited"]
pub struct Answer<T> {
    /// `None` once the reply has been returned.
    slot: Option<Arc<Slot<T>>>,
    wait: Wait,
}

impl<T> Answer<T> {
    /// The ask is about to be sent to `to`, and its asker awaits this. The error is a circle of asks.
    #[inline]
    pub(crate) fn is_awaited<A>(&mut self, to: &ActorRef<A>) -> Result<(), Box<[ActorPath]>> {
        if self.slot.as_ref().is_some_and(|slot| slot.tie.is_known()) { self.begin(to) } else { Ok(()) }
    }

    /// Most asks are not recorded.
    #[cold]
    #[inline(never)]
    fn begin<A>(&mut self, to: &ActorRef<A>) -> Result<(), Box<[ActorPath]>> {
        if let Some(slot) = &self.slot {
            self.wait = slot.tie.begin(|| to.to_any())?;
        }
        Ok(())
    }

    /// Takes the reply without a lock, if nobody else has the slot any more.
    #[inline]
    fn take(&mut self) -> Option<Result<T, AskError>> {
        let slot = self.slot.take_if(|slot| is_abandoned(slot)).and_then(Arc::into_inner)?;
        slot.into_answer().map_err(|slot| self.slot = Some(Arc::new(slot))).ok()
    }
}

impl<T> Answer<T> {
    /// Goes on waiting, unless `to` cannot answer before the code that asks has returned.
    ///
    /// Rule 14.8.
    #[inline]
    pub(crate) fn poll_unless_held_up<A>(
        &mut self,
        to: &ActorRef<A>,
        cx: &mut TaskContext<'_>,
    ) -> Poll<Result<T, AskError>> {
        if held_up::is_possible() { self.poll_held_up(to, cx) } else { Pin::new(self).poll(cx) }
    }

    #[cold]
    #[inline(never)]
    fn poll_held_up<A>(&mut self, to: &ActorRef<A>, cx: &mut TaskContext<'_>) -> Poll<Result<T, AskError>> {
        let polled = Pin::new(self).poll(cx);
        if polled.is_pending() { held_up::poll_ask_in_vain(to, cx).map(Err) } else { polled }
    }
}

impl<T> Future for Answer<T> {
    type Output = Result<T, AskError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let polled = match (self.take(), &self.slot) {
            (Some(answer), _) => Poll::Ready(answer),
            (None, Some(slot)) => slot.poll(cx),
            (None, None) => panic!("an ask was polled after it had completed"),
        };
        if polled.is_ready() {
            self.slot = None;
            self.wait.end();
        }
        polled
    }
}

impl<T> fmt::Debug for Answer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").finish_non_exhaustive()
    }
}

/// A reply that never counts as a failure: a handler that returns `Reply<Result<T, E>>` replies with the `Ok` or the
/// `Err`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply<T>(pub T);

/// Where a message's reply goes: to the asker's slot, or nowhere if the message was told.
///
/// A handler that answers later takes it as a parameter instead of returning the reply. It keeps the slot in the actor's
/// state, moves it into a task, or hands it on with [`Request::reply_to`](crate::Request::reply_to):
///
/// ```
/// # use supervise_core::ReplyTo;
/// struct Orders { waiting: Vec<(u32, ReplyTo<bool>)> }
///
/// impl Orders {
///     // `#[handler]`, for `orders.place(7).await`
///     fn place(&mut self, order: u32, reply: ReplyTo<bool>) {
///         self.waiting.push((order, reply));
///     }
/// }
/// ```
///
/// If it is dropped without a reply, the asker gets an error that says why. If a failing actor drops it, that
/// is [`AskError::Failed`](crate::AskError::Failed) with the failure. If an actor that ends drops it, that is
/// [`AskError::Stopped`](crate::AskError::Stopped). Otherwise it is
/// [`AskError::Unanswered`](crate::AskError::Unanswered).
/// Rules [19.1](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-19.1) to
/// [19.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-19.4).
#[must_use = "the asker waits for an answer: write `reply.answer(value);` with a value of the type in `ReplyTo<..>` (it returns nothing), or keep the slot in a field of the actor to answer later"]
pub struct ReplyTo<T>(Option<Arc<Slot<T>>>);

impl<T> ReplyTo<T> {
    /// The empty slot of a message that is told, not asked.
    pub const fn nowhere() -> Self {
        Self(None)
    }

    /// Whether the message was asked. Also `true` if the asker has given up in the meantime.
    pub const fn is_asked(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the message was asked and its asker no longer waits: the timeout has passed, or the future of the
    /// ask was dropped. This does not change back. A message that was told has no asker who could give up. Rule
    /// [19.8](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-19.8).
    pub fn is_abandoned(&self) -> bool {
        self.0.as_ref().is_some_and(is_abandoned)
    }
}

/// Whether the asker of this slot has gone. The asker and the actor each hold one reference, so one is left then.
pub(crate) fn is_abandoned<S: ?Sized>(slot: &Arc<S>) -> bool {
    Arc::strong_count(slot) == 1
}

impl<T: Send + 'static> ReplyTo<T> {
    /// Makes a slot and the future of its reply.
    pub(crate) fn asked() -> (Self, Answer<T>) {
        Self::asked_by(None, false)
    }

    pub(crate) fn asked_by(asker: Option<Waker>, is_patient: bool) -> (Self, Answer<T>) {
        Self::of(asker, is_patient, Asking::default())
    }

    #[inline]
    pub(crate) fn of(asker: Option<Waker>, is_patient: bool, asking: Asking) -> (Self, Answer<T>) {
        let slot = Slot::new(asker, is_patient, asking);
        (Self(Some(Arc::clone(&slot))), Answer { slot: Some(slot), wait: Wait::default() })
    }

    /// Sends the reply to the asker, if there is one. If the asker has given up, the reply is dropped.
    #[rustfmt::skip] // rustc quotes the line with its comment
    pub fn answer(mut self, value: T) { // the value has the type in `ReplyTo<..>`; a slot takes one answer
        match self.0.take() {
            Some(slot) => slot.put(Ok(value)),
            None => drop_contained(value),
        }
    }

    /// From now on, the asker waits for the next delivery of a message that fails. Rule 19.5.
    #[cold]
    pub(crate) fn becomes_patient(&self) {
        if let Some(slot) = &self.0 {
            slot.becomes_patient();
        }
    }

    pub(crate) fn erase(mut self) -> Option<Arc<dyn ErasedSlot>> {
        let slot = self.0.take()?;
        slot.tie.seen();
        Some(slot)
    }
}

impl<T> Drop for ReplyTo<T> {
    fn drop(&mut self) {
        if let Some(slot) = self.0.take() {
            slot.dropped();
        }
    }
}

/// The error for the asker of a dropped slot. `somebody` says whether there still is an asker.
fn unanswered(somebody: bool) -> Dropped {
    ANSWERED.set(ANSWERED.get() || somebody);
    match WHY_DROPPED.with(|why| why.take()) {
        Some(why) => Dropped::Answer(why),
        None => verdict::dropped(),
    }
}

/// Drops a slot whose reply type is erased.
#[cold]
pub(crate) fn drop_unanswered(slot: &Arc<dyn ErasedSlot>) {
    #[cfg(feature = "durable")]
    if let Some(ticketed) = slot.ticketed() {
        // Dropping the ticket gives the message back; dropping the asker's slot tells the asker.
        let (ticket, asker) = ticketed.take();
        drop(crate::actor::envelope::ReplySlot::from(asker));
        return drop(ticket);
    }
    slot.give_up(unanswered(!is_abandoned(slot)));
}

thread_local! {
    /// The reason why this thread is dropping a message. Empty outside [`drop_because`]. `ManuallyDrop`, because other
    /// thread-locals may drop messages when the thread ends.
    static WHY_DROPPED: ManuallyDrop<Cell<Option<AskError>>> = const { ManuallyDrop::new(Cell::new(None)) };
    /// Whether an asker waited for the reply to a message that this thread dropped.
    static ANSWERED: Cell<bool> = const { Cell::new(false) };
}

/// Drops a message that its actor will not handle, and tells its asker why (rule 1.5). Returns whether an asker waited.
pub(crate) fn drop_because<M>(why: AskError, message: M) -> bool {
    let outer = (WHY_DROPPED.with(|now| now.replace(Some(why))), ANSWERED.replace(false));
    drop_contained(message);
    WHY_DROPPED.with(|why| why.set(outer.0));
    ANSWERED.replace(outer.1)
}

impl<T> fmt::Debug for ReplyTo<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "ReplyTo(asker)" } else { "ReplyTo(nobody)" })
    }
}

/// What the asker and the actor share for one ask.
pub(crate) struct Slot<T> {
    state: Mutex<SlotState<T>>,
    tie: Tie,
}

enum SlotState<T> {
    Empty(Option<Waker>),
    /// Like `Empty`, with an asker who waits for the next delivery of a message that fails. Most askers do not, and pay
    /// nothing for it.
    Patient(Option<Waker>),
    /// Dropped by code that has not returned yet, so that nobody knows whether it fails. The flag says
    /// whether the asker is patient.
    Dropped(Arc<Verdict>, bool),
    Full(Result<T, AskError>),
    Taken,
}

impl<T> Slot<T> {
    fn new(asker: Option<Waker>, is_patient: bool, asking: Asking) -> Arc<Self> {
        let state = if is_patient { SlotState::Patient(asker) } else { SlotState::Empty(asker) };
        Arc::new(Self { state: Mutex::new(state), tie: Tie::new(asking) })
    }

    /// Stores the first answer. Wakes the asker, and drops a refused answer, outside the lock.
    fn put(&self, answer: Result<T, AskError>) {
        if waits_for::KNOWN {
            self.tie.leads_nowhere();
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let SlotState::Empty(waker) = &mut *state {
            let waker = waker.take();
            *state = SlotState::Full(answer);
            drop(state);
            if let Some(waker) = waker {
                dispatch::wake_asker(waker);
            }
        } else {
            Self::put_rarely(state, answer);
        }
    }

    #[cold]
    fn put_rarely(mut state: MutexGuard<'_, SlotState<T>>, answer: Result<T, AskError>) {
        if let SlotState::Patient(waker) = &mut *state {
            let waker = waker.take();
            *state = SlotState::Full(answer);
            drop(state);
            waker.into_iter().for_each(dispatch::wake_asker);
        } else {
            drop(state);
            drop_contained(answer);
        }
    }

    #[cold]
    fn dropped(self: Arc<Self>) {
        self.give_up(unanswered(!is_abandoned(&self)));
    }

    /// Called when the slot was dropped unanswered.
    fn give_up(&self, dropped: Dropped) {
        let verdict = match dropped {
            Dropped::Answer(why) => return self.put(Err(why)),
            Dropped::Wait(verdict) => verdict,
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_patient = matches!(*state, SlotState::Patient(_));
        if let SlotState::Empty(waker) | SlotState::Patient(waker) = &mut *state {
            let waker = waker.take();
            *state = SlotState::Dropped(Arc::clone(&verdict), is_patient);
            drop(state);
            if let Some(waker) = waker {
                verdict.awaited_by(waker);
            }
        }
    }

    #[cold]
    fn becomes_patient(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let SlotState::Empty(waker) = &mut *state {
            *state = SlotState::Patient(waker.take());
        }
    }

    /// Whether the asker waits for the next delivery of a message that fails. Takes the slot back if the handler has dropped it.
    fn waits_for_retry(&self, is_lent: bool) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &*state {
            SlotState::Patient(_) => !is_lent,
            SlotState::Dropped(_, true) => {
                // The verdict wakes the asker, which then waits here again.
                let dropped = std::mem::replace(&mut *state, SlotState::Patient(None));
                drop(state);
                drop(dropped);
                true
            }
            _ => false,
        }
    }

    /// Polls a slot that waits for a redelivery, or that was dropped. `None` if neither is true any more.
    #[cold]
    fn poll_rarely(&self, cx: &TaskContext<'_>) -> Option<Poll<Result<T, AskError>>> {
        let new = cx.waker().clone();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let verdict = match &mut *state {
            SlotState::Patient(waker) => {
                let old = waker.replace(new);
                drop(state);
                drop(old);
                return Some(Poll::Pending);
            }
            SlotState::Dropped(verdict, _) => Arc::clone(verdict),
            _ => {
                drop(state);
                return None;
            }
        };
        drop(state);
        let Poll::Ready(why) = verdict.poll(new) else { return Some(Poll::Pending) };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // The slot may have been taken back for another delivery.
        if !matches!(&*state, SlotState::Dropped(last, _) if Arc::ptr_eq(last, &verdict)) {
            return None;
        }
        let dropped = std::mem::replace(&mut *state, SlotState::Taken);
        drop(state);
        drop(dropped);
        Some(Poll::Ready(Err(why)))
    }

    /// The answer. Gives the slot back if it has none, because its verdict is open.
    #[inline]
    fn into_answer(mut self) -> Result<Result<T, AskError>, Self> {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(state, SlotState::Taken) {
            SlotState::Full(answer) => Ok(answer),
            other => {
                *state = other;
                Err(self)
            }
        }
    }

    /// Clones and drops wakers outside the lock.
    fn poll(&self, cx: &mut TaskContext<'_>) -> Poll<Result<T, AskError>> {
        let mut new = None;
        loop {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            match &mut *state {
                SlotState::Empty(Some(waker)) if waker.will_wake(cx.waker()) => return Poll::Pending,
                SlotState::Empty(waker) if new.is_some() => {
                    let old = std::mem::replace(waker, new);
                    drop(state);
                    drop(old);
                    return Poll::Pending;
                }
                SlotState::Empty(_) => {
                    drop(state);
                    // This is the first poll of an inline ask.
                    held_up::look_again(cx.waker());
                    new = Some(cx.waker().clone());
                }
                SlotState::Patient(_) | SlotState::Dropped(..) => {
                    drop(state);
                    if let Some(polled) = self.poll_rarely(cx) {
                        return polled;
                    }
                }
                SlotState::Full(_) => match std::mem::replace(&mut *state, SlotState::Taken) {
                    SlotState::Full(answer) => return Poll::Ready(answer),
                    _ => {
                        unreachable!("the slot was full a line above")
                    }
                },
                SlotState::Taken => unreachable!("whoever takes the answer lets go of the slot"),
            }
        }
    }
}

/// Drops a reply that the asker has not taken (rule 11.2).
impl<T> Drop for Slot<T> {
    fn drop(&mut self) {
        if !needs_drop::<T>() {
            return;
        }
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let SlotState::Full(Ok(_)) = state {
            drop_contained(std::mem::replace(state, SlotState::Taken));
        }
    }
}

/// A slot whose reply type is erased, so that the code that runs the handler can fail it.
pub(crate) trait ErasedSlot: Any + Send + Sync {
    fn fail(&self, error: AskError);

    fn give_up(&self, dropped: Dropped);

    fn tie(&self) -> &Tie;

    /// Whether the asker waits for the next delivery of its message, which has failed. If the slot `is_lent` to the handler,
    /// the handler must have dropped it.
    fn waits_for_retry(&self, is_lent: bool) -> bool;

    /// The name of the reply's type.
    fn expected(&self) -> &'static str;

    /// The ticket of a stored message, if this is one, and not the slot of an asker.
    #[cfg(feature = "durable")]
    fn ticketed(&self) -> Option<&crate::actor::stored::Ticketed> {
        None
    }
}

impl dyn ErasedSlot {
    /// Whether the reply is a `T`.
    pub(crate) fn takes<T: 'static>(&self) -> bool {
        let slot: &dyn Any = self;
        slot.is::<Slot<T>>()
    }
}

impl<T: Send + 'static> ErasedSlot for Slot<T> {
    fn fail(&self, error: AskError) {
        self.put(Err(error));
    }

    fn give_up(&self, dropped: Dropped) {
        Slot::give_up(self, dropped);
    }

    fn tie(&self) -> &Tie {
        &self.tie
    }

    fn waits_for_retry(&self, is_lent: bool) -> bool {
        Slot::waits_for_retry(self, is_lent)
    }

    fn expected(&self) -> &'static str {
        type_name::<T>()
    }
}

/// The slot of an asker who waits for a `T`.
pub(crate) fn typed<T: Send + 'static>(slot: Option<Arc<dyn ErasedSlot>>) -> ReplyTo<T> {
    ReplyTo(slot.map(downcast))
}

/// Puts a reply into an erased slot.
pub(crate) fn answer<T: Send + 'static>(slot: Arc<dyn ErasedSlot>, value: T) {
    downcast(slot).put(Ok(value));
}

#[inline]
fn downcast<T: Send + 'static>(slot: Arc<dyn ErasedSlot>) -> Arc<Slot<T>> {
    let slot: Arc<dyn Any + Send + Sync> = slot;
    match slot.downcast::<Slot<T>>() {
        Ok(slot) => slot,
        Err(_) => unreachable!("a handler answers with the type its message was asked for"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::task::Wake;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// A waker that owns the reply slot of the ask that it waits for.
    struct Owner {
        _reply: ReplyTo<u32>,
    }

    impl Wake for Owner {
        fn wake(self: Arc<Self>) {}
    }

    #[test]
    fn a_waker_is_dropped_outside_the_lock() {
        let (done, over) = mpsc::channel();
        thread::spawn(move || {
            let (reply, mut answer) = ReplyTo::<u32>::asked();
            let owner = Waker::from(Arc::new(Owner { _reply: reply }));
            assert!(Pin::new(&mut answer).poll(&mut TaskContext::from_waker(&owner)).is_pending());
            drop(owner);
            // Replaces the waker, which drops the reply.
            assert!(Pin::new(&mut answer).poll(&mut TaskContext::from_waker(Waker::noop())).is_pending());
            let last = Pin::new(&mut answer).poll(&mut TaskContext::from_waker(Waker::noop()));
            assert!(matches!(last, Poll::Ready(Err(AskError::Unanswered))), "{last:?}");
            done.send(()).expect("the test listens");
        });
        over.recv_timeout(Duration::from_secs(10)).expect("the second poll does not wait for itself");
    }
}
