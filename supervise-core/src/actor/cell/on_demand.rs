//! What few cells need: waiters for the stop request, the seat of a child that has a key, the path of an actor that is often named,
//! and the reason of the cell's end.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use super::{AnyCell, AnySeat, Core};
use crate::actor::actor_ref::AnyActorRef;
use crate::actor::end_reason::EndReason;
use crate::actor::held_up::Waiting;
use crate::actor::waits_for::Waits;
use crate::base::ActorPath;

/// What few actors need. Allocated when the first of it is needed.
pub(super) enum OnDemand {
    /// The actor has stopped itself, and needs nothing else: it has no children. No box, because many actors that live for one task end like
    /// this.
    StoppedItself,
    Boxed(Box<Rare>),
}

/// See [`OnDemand::Boxed`].
#[derive(Default)]
pub(super) struct Rare {
    /// For futures that wait for the stop request.
    stopping: Notify,
    /// The seat, if the actor is a child that has a key.
    seat: OnceLock<Arc<dyn AnySeat>>,
    waits: Waits,
    /// The code of actors below, and of siblings and actors below these, that may wait in vain (rule 14.8).
    waiting: Waiting,
    /// The queue of a durable mailbox.
    #[cfg(feature = "durable")]
    outlet: OnceLock<Arc<crate::durable::Outlet>>,
    /// How long asks of this actor wait, if the actor sets a limit.
    ask_timeout: OnceLock<Duration>,
    /// Whether messages for this cell, which is closed, go to the current occupant of its seat.
    forwards: AtomicBool,
    /// How many messages are in the stash.
    #[cfg(any(feature = "observe", feature = "timing"))]
    stashed: AtomicUsize,
    /// How many futures and blocking closures run for a child that has a key.
    answers_due: AtomicUsize,
    /// The path, once a decision about this actor or by it was told.
    path: OnceLock<ActorPath>,
    /// Why the actor ends. `None` means that it does not end, or that it is stopped by request.
    end: Mutex<Option<End>>,
}

/// Why an actor ends, while it may still live.
enum End {
    /// Its failure was escalated. The actor lives on if a supervisor above resumes or restarts it.
    Escalated(EndReason),
    /// It ends. The first reason stays.
    Sure(EndReason),
}

impl Rare {
    /// Notes a reason, unless there is already one that stays. The replaced reason is dropped outside the
    /// lock.
    fn note(&self, new: Option<End>) {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let old = match *end {
            Some(End::Sure(_)) => new,
            Some(End::Escalated(_)) | None => std::mem::replace(&mut *end, new),
        };
        drop(end);
        drop(old);
    }

    fn reason(&self) -> Option<EndReason> {
        match &*self.end.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(End::Escalated(reason) | End::Sure(reason)) => Some(reason.clone()),
            None => None,
        }
    }
}

/// Why the actor ends. Rule 8.8.
impl Core {
    /// Why the actor has ended.
    pub(crate) fn end_reason(&self) -> EndReason {
        match self.on_demand.get() {
            None => EndReason::Stopped,
            Some(OnDemand::StoppedItself) => EndReason::StoppedItself,
            Some(OnDemand::Boxed(rare)) => rare.reason().unwrap_or(EndReason::Stopped),
        }
    }

    /// Notes that the actor ends for this reason, unless it already ends for another.
    #[cold]
    pub(crate) fn ends_because(&self, reason: EndReason) {
        self.note_end(End::Sure(reason));
    }

    /// Notes that the actor stops itself, unless it was told to stop before.
    pub(crate) fn stops_itself(&self) {
        let protocol = self.protocol();
        if protocol.is_stopping() {
            return;
        }
        let has_children = protocol.children().next().is_some();
        drop(protocol);
        let needed = || if has_children { OnDemand::Boxed(Box::default()) } else { OnDemand::StoppedItself };
        if let OnDemand::Boxed(rare) = self.on_demand.get_or_init(needed) {
            rare.note(Some(End::Sure(EndReason::StoppedItself)));
        }
    }

    /// The supervisor of this actor has decided about its failure, so that it ends, unless a supervisor above resumes or restarts it.
    #[cold]
    pub(super) fn left_unanswered(&self, reason: EndReason, ends: bool) {
        // It was told to stop before it failed.
        if !self.protocol().is_stopping() {
            self.note_end(if ends { End::Sure(reason) } else { End::Escalated(reason) });
        }
    }

    /// Called when the actor is resumed or restarted.
    pub(super) fn goes_on(&self) {
        if let Some(rare) = self.rare_so_far() {
            rare.note(None);
        }
    }

    fn note_end(&self, end: End) {
        if let Some(rare) = self.rare() {
            rare.note(Some(end));
        }
    }
}

impl Core {
    fn rare_so_far(&self) -> Option<&Rare> {
        match self.on_demand.get()? {
            OnDemand::Boxed(rare) => Some(rare),
            OnDemand::StoppedItself => None,
        }
    }

    /// `None`: the actor has stopped itself.
    fn rare(&self) -> Option<&Rare> {
        match self.on_demand.get_or_init(|| OnDemand::Boxed(Box::default())) {
            OnDemand::Boxed(rare) => Some(rare),
            OnDemand::StoppedItself => None,
        }
    }

    /// The path, if it is kept.
    pub(super) fn kept_path(&self) -> Option<&ActorPath> {
        self.rare_so_far()?.path.get()
    }

    /// The path, which is kept from now on: an actor that has failed, or whose child has, is likely to be named again.
    pub(super) fn keep_path(&self) -> ActorPath {
        match self.rare() {
            Some(rare) => rare.path.get_or_init(|| self.path()).clone(),
            None => self.path(),
        }
    }

    /// Waits for the stop request of this actor.
    pub(crate) async fn stop_requested(&self) {
        // Without a notifier, the actor itself has requested its stop.
        let Some(rare) = self.rare() else { return };
        loop {
            let notified = rare.stopping.notified();
            if self.protocol().is_stopping() {
                return;
            }
            notified.await;
        }
    }

    pub(super) fn announce_stop(&self) {
        if let Some(rare) = self.rare_so_far() {
            rare.stopping.notify_waiters();
            rare.waiting.wake();
            if let Some(seat) = rare.seat.get() {
                seat.leaving(self.uid);
            }
        }
    }

    /// Before anybody can reach this cell.
    pub(super) fn take_seat(&self, seat: Arc<dyn AnySeat>) {
        if let Some(rare) = self.rare() {
            let _first = rare.seat.set(seat);
        }
    }

    /// Before anybody can reach this cell.
    #[cfg(feature = "durable")]
    pub(in crate::actor) fn take_outlet(&self, outlet: Arc<crate::durable::Outlet>) {
        if let Some(rare) = self.rare() {
            let _first = rare.outlet.set(outlet);
        }
    }

    /// The queue of a durable mailbox.
    #[cfg(feature = "durable")]
    pub(crate) fn outlet(&self) -> Option<&Arc<crate::durable::Outlet>> {
        self.rare_so_far()?.outlet.get()
    }

    /// The asks that this actor's code awaits. `None`: it has stopped itself.
    #[cfg(any(debug_assertions, feature = "testkit", feature = "observe"))]
    pub(crate) fn waits(&self) -> Option<&Waits> {
        self.rare().map(|rare| &rare.waits)
    }

    /// Notes how many messages are in the stash.
    #[cfg(any(feature = "observe", feature = "timing"))]
    pub(crate) fn note_stashed(&self, messages: usize) {
        if let Some(rare) = self.rare() {
            rare.stashed.store(messages, Ordering::Relaxed);
        }
    }

    #[cfg(not(any(feature = "observe", feature = "timing")))]
    #[expect(clippy::unused_self, reason = "only a build with `observe` or `timing` notes it")]
    #[inline]
    pub(crate) fn note_stashed(&self, _: usize) {}

    /// How many messages are in the stash, as far as this build knows it.
    #[cfg_attr(
        not(any(feature = "observe", feature = "timing")),
        expect(clippy::unused_self, reason = "only a build with `observe` or `timing` notes it")
    )]
    pub(crate) fn stashed(&self) -> usize {
        #[cfg(any(feature = "observe", feature = "timing"))]
        let stashed = self.rare_so_far().map_or(0, |rare| rare.stashed.load(Ordering::Relaxed));
        #[cfg(not(any(feature = "observe", feature = "timing")))]
        let stashed = 0;
        stashed
    }

    /// The code that awaited asks is over.
    #[inline]
    pub(crate) fn waits_no_more(&self) {
        if self.on_demand.get().is_some() {
            self.forget_waits();
        }
    }

    #[cold]
    #[inline(never)]
    fn forget_waits(&self) {
        if let Some(rare) = self.rare_so_far() {
            rare.waits.forget();
        }
    }

    /// The actors that this actor's code waits for, as far as this build records them.
    pub(crate) fn waits_for(&self) -> Vec<AnyActorRef> {
        self.rare_so_far().map_or_else(Vec::new, |rare| rare.waits.whom())
    }

    /// Wakes this code when it may wait in vain. Returns `false` if nothing will wake it: the actor had no
    /// children when it stopped itself, and handles no message after that.
    pub(crate) fn note_waiting(&self, code: Weak<dyn AnyCell>) -> bool {
        let Some(rare) = self.rare() else { return false };
        rare.waiting.note(code);
        true
    }

    /// Wakes the code that may wait in vain now.
    #[inline]
    pub(crate) fn wake_waiting(&self) {
        if let Some(rare) = self.rare_so_far() {
            rare.waiting.wake();
        }
    }

    /// Before anybody can reach this cell.
    pub(super) fn set_ask_timeout(&self, limit: Duration) {
        if let Some(rare) = self.rare() {
            let _first = rare.ask_timeout.set(limit);
        }
    }

    /// How long an ask waits if it sets no limit itself.
    ///
    /// Rule 19.6.
    pub(crate) fn ask_timeout(&self) -> Option<Duration> {
        let own = self.rare_so_far().and_then(|rare| rare.ask_timeout.get());
        own.copied().or(self.system.ask_timeout())
    }

    /// The seat of a child that has a key.
    pub(crate) fn seat(&self) -> Option<&Arc<dyn AnySeat>> {
        self.rare_so_far()?.seat.get()
    }

    /// The seat that this cell has left and whose next occupants get its messages.
    pub(crate) fn successors(&self) -> Option<Arc<dyn AnySeat>> {
        let rare = self.rare_so_far()?;
        if rare.forwards.load(Ordering::Acquire) { rare.seat.get().cloned() } else { None }
    }

    /// Notes that the child has begun to wait for an answer, which keeps it from being idle (rule 18.6). Only a child that has
    /// a key can be passivated. Returns whether it was noted.
    pub(crate) fn answer_is_due(&self) -> bool {
        let Some(rare) = self.rare_so_far().filter(|rare| rare.seat.get().is_some()) else { return false };
        rare.answers_due.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Undoes one call of [`answer_is_due`](Self::answer_is_due).
    pub(crate) fn answer_is_there(&self) {
        if let Some(rare) = self.rare_so_far() {
            rare.answers_due.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether the child waits for an answer.
    pub(crate) fn awaits_answer(&self) -> bool {
        self.rare_so_far().is_some_and(|rare| rare.answers_due.load(Ordering::Relaxed) > 0)
    }

    /// From now on, messages that find this cell closed go to the current occupant of its seat.
    pub(crate) fn forward(&self) {
        if let Some(rare) = self.rare_so_far() {
            rare.forwards.store(true, Ordering::Release);
        }
    }
}
