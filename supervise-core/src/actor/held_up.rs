//! Finds code that waits for a suspended sibling, which in turn waits for the return of that code.
//!
//! ```text
//!   reader ──send, ask──► parser       declared in this order: parser, reader
//!     ▲  its code waits     │ suspended
//!     └── restarts before ──┘          the reader's code cannot get room or an answer before it has returned
//! ```
//!
//! 1. Only the code of an actor that is suspended, or that is to restart or stop, pays for this: its cell announces each poll
//!    ([`is_polled`]).
//! 2. The parent knows which of its children go on after which, and the sibling knows whether it has come to rest. If it has not, it
//!    wakes the waiting code when it has.
//! 3. No lock is held while another one is taken, or while code is woken.
//!
//! Rule 14.8.

use std::cell::Cell;
use std::task::Waker;

use crate::actor::cell::Core;
use crate::base::Uid;
use crate::supervision::ChildId;

thread_local! {
    /// The last code polled on this thread that may hold siblings up. The entry stays when that code has returned: [`is_in_vain`] asks the
    /// parent, which knows whether it still applies.
    static POLLED: Cell<Option<Polled>> = const { Cell::new(None) };
}

/// The code of an actor that is suspended, or that is to restart or stop.
#[derive(Debug, Clone, Copy)]
struct Polled {
    /// What its waker wakes.
    cell: *const (),
    id: ChildId,
    parent: Uid,
}

/// Notes that code of `me` is about to be polled and may hold siblings up. The code's waker wakes `cell`.
#[cold]
pub(crate) fn is_polled(cell: *const (), me: &Core) {
    if let Some(parent) = &me.parent {
        POLLED.set(Some(Polled { cell, id: me.id, parent: parent.uid() }));
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

/// Whether this thread has polled code that may hold siblings up.
#[inline]
pub(crate) fn is_possible() -> bool {
    POLLED.get().is_some()
}

/// Whether the code that `waiting` wakes waits in vain for `to`, which goes on only after that code has returned.
#[inline]
pub(crate) fn waits_in_vain(to: &Core, awaited: Awaited, waiting: &Waker) -> bool {
    POLLED.get().is_some_and(|code| waiting.data() == code.cell && is_in_vain(code, to, awaited, waiting))
}

#[cold]
fn is_in_vain(code: Polled, to: &Core, awaited: Awaited, waiting: &Waker) -> bool {
    let Some(parent) = &to.parent else { return false };
    if parent.uid() != code.parent {
        return false;
    }
    let supervisor = parent.core().protocol();
    let restarts = supervisor.restarts_after(to.id, code.id);
    let stops = supervisor.stops_after(to.id, code.id);
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
