//! Finds code that waits for a suspended sibling, or for one of an actor above, which in turn waits for the return of that code.
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
//! 2. The parent knows which of its children go on after which, and the sibling knows whether it has come to rest. If it has not, it
//!    wakes the waiting code when it has.
//! 3. No lock is held while another one is taken, or while code is woken.
//!
//! Rule 14.8.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::task::Waker;

use crate::actor::cell::Core;
use crate::base::Uid;
use crate::supervision::ChildId;

thread_local! {
    /// What the waker of the last code wakes that was polled on this thread and may hold others up. The entry stays when that code has
    /// returned: [`is_in_vain`] asks the parent, which knows whether it still applies. Null before the first.
    static POLLED: Cell<*const ()> = const { Cell::new(ptr::null()) };
    /// The actor of that code and all actors above it, each by its id under its parent and the uid of that parent.
    static LINE: RefCell<Vec<(ChildId, Uid)>> = const { RefCell::new(Vec::new()) };
}

/// Notes that code of `me`, which is suspended or is to restart or stop, is about to be polled and may hold others up. The code's waker
/// wakes `cell`.
#[cold]
pub(crate) fn is_polled(cell: *const (), me: &Core) {
    let noted = LINE.try_with(|line| {
        let mut line = line.borrow_mut();
        line.clear();
        let mut actor = me;
        while let Some(parent) = &actor.parent {
            line.push((actor.id, parent.uid()));
            actor = parent.core();
        }
    });
    // The thread-local is missing only while the thread ends.
    if noted.is_ok() {
        POLLED.set(cell);
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
    is_possible() && waiting.data() == POLLED.get() && is_in_vain(to, awaited, waiting)
}

#[cold]
fn is_in_vain(to: &Core, awaited: Awaited, waiting: &Waker) -> bool {
    let below = |parent: Uid| LINE.try_with(|line| child_of(parent, &line.borrow())).ok().flatten();
    if let Some(child) = below(to.uid) {
        let protocol = to.protocol();
        return protocol.goes_on_after(child) && !protocol.runs_code();
    }
    let Some(parent) = &to.parent else { return false };
    // The code is that of a sibling, or of an actor below one.
    let Some(sibling) = below(parent.uid()) else { return false };
    let supervisor = parent.core().protocol();
    let restarts = supervisor.restarts_after(to.id, sibling);
    let stops = supervisor.stops_after(to.id, sibling);
    // A suspension may still be on its way.
    let surely_suspended = restarts || supervisor.suspensions() > 0;
    drop(supervisor);
    let is_at_rest = || {
        let protocol = to.protocol();
        let is_suspended = surely_suspended || protocol.suspensions() > 0;
        is_suspended && (awaited == Awaited::Room || !protocol.runs_code())
    };
    // The sibling may come to rest while this is noted.
    (restarts || stops) && (is_at_rest() || (to.wakes_at_rest(waiting) && is_at_rest()))
}

/// The child of `parent` that the code belongs to, or that is above it.
fn child_of(parent: Uid, line: &[(ChildId, Uid)]) -> Option<ChildId> {
    line.iter().find(|(_, of)| *of == parent).map(|(id, _)| *id)
}
