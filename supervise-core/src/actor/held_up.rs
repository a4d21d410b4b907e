//! Finds code that waits for an actor which, in turn, waits for that code to return. The awaited actor is a
//! suspended sibling, a suspended sibling of an actor above, an actor below such a sibling, or an actor above that
//! restarts or stops.
//!
//! ```text
//!   reader ──send, ask──► parser       declared in this order: parser, reader
//!     ▲  its code, or that  │ suspended
//!     │  of its children    │
//!     └── restarts before ──┘          that code cannot get room or an answer before it has returned
//! ```
//!
//! 1. Only the code of an actor that is suspended, or that is to restart or stop, pays for this: its cell announces each poll
//!    ([`is_polled`]).
//! 2. The parent knows which of its children go on after which, and the sibling knows whether it has come to rest. If that code does not
//!    wait in vain yet, both wake it when that may have changed ([`Waiting`]). So does an actor above.
//! 3. No lock is held while another one is taken, or while code is woken.
//!
//! Rule 14.8.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::pin::pin;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context as TaskContext, Poll, Waker};

use tokio::task::coop::consume_budget;

use crate::actor::actor_ref::{ActorRef, AnyActorRef};
use crate::actor::cell::{AnyCell, Core};
use crate::actor::request::AskError;
use crate::base::Uid;
use crate::supervision::ChildId;

thread_local! {
    /// What the waker of the last code wakes that was polled on this thread and may hold others up. The entry stays when that code has
    /// returned: [`is_in_vain`] asks the parent, which knows whether it still applies. Null before the first.
    static POLLED: Cell<*const ()> = const { Cell::new(ptr::null()) };
    static LINE: RefCell<Line> = const { RefCell::new(Line { of: None, above: Vec::new() }) };
}

/// The actor whose code was polled last, and all actors above it.
struct Line {
    /// Keeps the cell's allocation, so that no other cell gets its address.
    of: Option<Weak<dyn AnyCell>>,
    /// The actor and all above it, each by its id under its parent and the uid of that parent.
    above: Vec<(ChildId, Uid)>,
}

/// Notes that code of `me`, which is suspended or is to restart or stop, is about to be polled and may hold others up. The code's waker
/// wakes `me`.
#[cold]
pub(crate) fn is_polled(me: &Arc<dyn AnyCell>) {
    let noted = LINE.try_with(|line| {
        let mut line = line.borrow_mut();
        line.above.clear();
        let mut actor = me.core();
        while let Some(parent) = &actor.parent {
            line.above.push((actor.id, parent.uid()));
            actor = parent.core();
        }
        line.of.replace(Arc::downgrade(me))
    });
    // The thread-local is missing only while the thread ends.
    if let Ok(before) = noted {
        drop(before);
        POLLED.set(Arc::as_ptr(me).cast());
    }
}

/// What code waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// Room in a mailbox. A suspended actor does not make room.
    Room,
    /// An answer. An actor that is suspended may still answer the message that it is handling.
    Answer,
}

/// Whether this thread has polled code that may hold others up.
#[inline]
pub(crate) fn is_possible() -> bool {
    !POLLED.get().is_null()
}

/// Whether the code that `waiting` wakes waits in vain for `to`, which goes on only after that code has returned.
#[inline]
pub(crate) fn waits_in_vain(to: &Core, awaited: Awaited, waiting: &Waker) -> bool {
    is_possible() && waiting.data() == POLLED.get() && is_in_vain(to, awaited)
}

/// Polls the code that `waiting` wakes once more, if it may hold others up. An ask whose first poll does not check
/// whether it waits in vain calls this.
#[cold]
pub(crate) fn look_again(waiting: &Waker) {
    if is_possible() && waiting.data() == POLLED.get() {
        waiting.wake_by_ref();
    }
}

/// Completes with the error if the code asks `to` in vain. It consumes budget first: code that asks in a loop then yields, so that its
/// stop timeout can end it.
pub(crate) fn poll_ask_in_vain<A>(to: &ActorRef<A>, cx: &mut TaskContext<'_>) -> Poll<AskError> {
    if waits_in_vain(to.core(), Awaited::Answer, cx.waker()) {
        pin!(consume_budget()).poll(cx).map(|()| AskError::HeldUp(Box::new(to.path())))
    } else {
        Poll::Pending
    }
}

/// Whether the code that was polled last waits in vain for `to`.
#[cold]
fn is_in_vain(to: &Core, awaited: Awaited) -> bool {
    // The message of an ask may have moved to a successor of `to`.
    let successor = to.successors().and_then(|seat| seat.present());
    let to = successor.as_ref().map_or(to, |successor| successor.core());
    let below = |parent: Uid| LINE.try_with(|line| child_of(parent, &line.borrow().above)).ok().flatten();
    if let Some(child) = below(to.uid) {
        let waits_for_child = || {
            let protocol = to.protocol();
            protocol.goes_on_after(child) && (awaited == Awaited::Room || !protocol.runs_code())
        };
        // If `to` had no children when it stopped itself, it handles no message of the children that it has now.
        // Otherwise it may begin to restart or to stop, or its hook may return, while this is noted.
        return waits_for_child() || !is_noted_by(to) || waits_for_child();
    }
    // Finds `later`: the actor that is `to` or above `to`, and has a sibling that runs the code or is above the
    // actor that runs it.
    let mut later = to;
    let (parent, sibling) = loop {
        let Some(parent) = later.parent.as_ref().map(AnyActorRef::core) else { return false };
        if parent.protocol().has_asked_to_stop(later.id) {
            // `later` ends, and `to` with it, whatever the siblings do.
            return false;
        }
        match below(parent.uid) {
            Some(sibling) => break (parent, sibling),
            None => later = parent,
        }
    };
    let waits_for_sibling = || {
        let supervisor = parent.protocol();
        let restarts = supervisor.restarts_after(later.id, sibling);
        let goes_on_after =
            restarts || supervisor.stops_after(later.id, sibling) || supervisor.survives_after(later.id, sibling);
        // A suspension may still be on its way.
        let surely_suspended = restarts || supervisor.suspensions() > 0;
        drop(supervisor);
        if !goes_on_after || !(surely_suspended || later.protocol().suspensions() > 0) {
            return false;
        }
        let protocol = to.protocol();
        // If `to` is below `later`, it is suspended after `later`, and may handle another message before that.
        let is_suspended = to.uid == later.uid || protocol.suspensions() > 0;
        is_suspended && (awaited == Awaited::Room || !protocol.runs_code())
    };
    // The parent may decide, and the sibling may come to rest, while this is noted.
    waits_for_sibling() || (is_noted_by(parent) && is_noted_by(to) && waits_for_sibling())
}

/// Lets `actor` wake the code that was polled last when that code may wait in vain. Returns whether it will.
fn is_noted_by(actor: &Core) -> bool {
    let code = LINE.try_with(|line| line.borrow().of.clone()).ok().flatten();
    code.is_some_and(|code| actor.note_waiting(code))
}

/// The child of `parent` that the code belongs to, or that is above it.
fn child_of(parent: Uid, line: &[(ChildId, Uid)]) -> Option<ChildId> {
    line.iter().find(|(_, of)| *of == parent).map(|(id, _)| *id)
}

/// The code that waits for an actor or for a child of it. It is polled again when it may wait in vain: when the actor comes to rest, is
/// told to stop, stops a child, or has decided about a group of children.
#[derive(Default)]
pub(crate) struct Waiting(Mutex<Entries>);

/// An entry may stay when its code has returned. But there are never more than twice as many as there are actors that still live.
#[derive(Default)]
struct Entries {
    /// The cells of the code by their addresses, each with its place in the order.
    cells: HashMap<usize, (u64, Weak<dyn AnyCell>)>,
    next: u64,
}

impl Waiting {
    pub(crate) fn note(&self, code: Weak<dyn AnyCell>) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Entries { cells, next } = &mut *entries;
        if cells.len() == cells.capacity() {
            cells.retain(|_, (_, code)| code.strong_count() > 0);
            let left = cells.len();
            cells.reserve(left);
        }
        *next += 1;
        cells.insert(code.as_ptr().addr(), (*next, code));
    }

    #[cold]
    pub(crate) fn wake(&self) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.cells.is_empty() {
            return;
        }
        let cells = std::mem::take(&mut entries.cells);
        drop(entries);
        let mut waiting: Vec<_> = cells.into_values().collect();
        waiting.sort_unstable_by_key(|(place, _)| *place);
        waiting.iter().filter_map(|(_, code)| code.upgrade()).for_each(|code| code.wake());
    }
}
