//! Records which actor waits for which, that is, the asks that the code of actors awaits. A circle of such asks is reported,
//! so that it does not hang.
//!
//! ```text
//!   a's handler awaits b ──► Edge { from: a, to: b } ──► in a's list, and in the slot of the ask
//!   b's handler awaits a ──► the walk from a along the edges finds b: a circle
//! ```
//!
//! 1. An edge leads to the actor that has the message: in its mailbox, or in the handler that has it now. If the handler takes
//!    its reply slot, the answer may come from anywhere, so the edge then leads nowhere. So does the edge of an ask that has
//!    been answered. No edge outlives the code that began it.
//! 2. An ask records its edge before it follows the edges of others. So if two asks close a circle at the same time, at least
//!    one of them finds it.
//! 3. No lock is held while another one is taken, or around user code.
//!
//! All this exists only in builds with debug assertions or with the feature `testkit` or `observe`. In other builds, the types
//! and their methods are empty. With `observe` alone, no ask is refused, and a look finds the circle.
//!
//! Rule 19.7.

use std::sync::Arc;
use std::task::Waker;

use crate::actor::actor_ref::AnyActorRef;
use crate::actor::cell::AnyCell;
use crate::base::ActorPath;

pub(crate) use self::kept::{Asking, Tie, Wait, Waits, asked_by, during, whose_turn};

/// Whether this build records which actor waits for which.
pub(crate) const KNOWN: bool = cfg!(any(debug_assertions, feature = "testkit", feature = "observe"));

#[cfg(any(debug_assertions, feature = "testkit", feature = "observe"))]
mod kept {
    use std::cell::Cell;
    use std::collections::HashSet;
    use std::mem::ManuallyDrop;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, PoisonError, Weak};

    use super::{ActorPath, AnyActorRef, AnyCell, Arc, Waker};

    /// Whether an ask that closes a circle is refused.
    const REFUSED: bool = cfg!(any(debug_assertions, feature = "testkit"));
    /// How many asks of one actor are known at a time.
    const KNOWN_ASKS: usize = 16;
    /// How many actors a walk visits.
    const VISITED: usize = 1_024;

    thread_local! {
        /// The cell whose turn it is. `ManuallyDrop`, because other thread-locals may run asks when the thread ends.
        static CURRENT: ManuallyDrop<Cell<Option<Arc<dyn AnyCell>>>> = const { ManuallyDrop::new(Cell::new(None)) };
    }

    /// A turn of `cell`. The turn within which it begins goes on after it. `turn` must not panic.
    #[inline]
    pub(crate) fn during<T>(cell: Arc<dyn AnyCell>, turn: impl FnOnce() -> T) -> (Arc<dyn AnyCell>, T) {
        let outer = CURRENT.with(|current| current.replace(Some(cell)));
        let value = turn();
        let Some(cell) = CURRENT.with(|current| current.replace(outer)) else {
            unreachable!("each turn within this one has put the cell back")
        };
        (cell, value)
    }

    /// The actor whose turn it is on this thread.
    pub(crate) fn whose_turn() -> Option<AnyActorRef> {
        CURRENT.with(|current| {
            let cell = current.take();
            current.set(cell.clone());
            cell.map(AnyActorRef)
        })
    }

    /// An ask that the code of an actor awaits.
    struct Edge {
        from: Weak<dyn AnyCell>,
        to: Mutex<Option<Weak<dyn AnyCell>>>,
    }

    impl Edge {
        /// Most asks have no edge.
        #[cold]
        fn lead_to(&self, cell: Option<Weak<dyn AnyCell>>) {
            let before = std::mem::replace(&mut *self.to.lock().unwrap_or_else(PoisonError::into_inner), cell);
            drop(before);
        }

        #[cold]
        #[inline(never)]
        fn follow(&self, cell: impl FnOnce() -> AnyActorRef) {
            self.lead_to(Some(Arc::downgrade(&cell().0)));
        }

        fn end(&self) -> Option<AnyActorRef> {
            let to = self.to.lock().unwrap_or_else(PoisonError::into_inner).clone();
            to?.upgrade().map(AnyActorRef)
        }
    }

    /// The asks that one actor awaits.
    #[derive(Default)]
    pub(crate) struct Waits(Mutex<Vec<Arc<Edge>>>);

    impl Waits {
        /// Whether there was room.
        fn enter(&self, edge: &Arc<Edge>) -> bool {
            let mut edges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let has_room = edges.len() < KNOWN_ASKS;
            if has_room {
                edges.push(Arc::clone(edge));
            }
            has_room
        }

        fn leave(&self, edge: &Arc<Edge>) {
            let mut edges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            edges.retain(|known| !Arc::ptr_eq(known, edge));
        }

        /// The code that awaits them is over. It may have kept some of their futures.
        pub(crate) fn forget(&self) {
            let edges = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
            drop(edges);
        }

        pub(crate) fn whom(&self) -> Vec<AnyActorRef> {
            let edges = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
            edges.iter().filter_map(|edge| edge.end()).collect()
        }
    }

    /// The record of an ask that is about to be sent. Nothing is recorded unless an actor's code awaits the ask.
    #[derive(Default)]
    pub(crate) struct Asking(Option<Arc<Edge>>);

    /// The record of an ask of the code that `asker` wakes. Its edge does not lead to an actor yet.
    #[inline]
    pub(crate) fn asked_by(asker: &Waker) -> Asking {
        match CURRENT.with(|current| current.take()) {
            Some(cell) => asked_within(cell, asker),
            None => Asking(None),
        }
    }

    /// Within the turn of `cell`, which may be that of the asker. Out of line, because most asks are not recorded.
    #[cold]
    #[inline(never)]
    fn asked_within(cell: Arc<dyn AnyCell>, asker: &Waker) -> Asking {
        let is_asker = asker.data() == Arc::as_ptr(&cell).cast();
        let edge = is_asker.then(|| Arc::new(Edge { from: Arc::downgrade(&cell), to: Mutex::new(None) }));
        CURRENT.with(|current| current.set(Some(cell)));
        Asking(edge)
    }

    /// What a reply slot knows of the code that awaits it.
    #[derive(Default)]
    pub(crate) struct Tie {
        /// Whether the slot is in an envelope. If it is in a message of another kind, this module cannot follow
        /// it.
        is_seen: AtomicBool,
        edge: Option<Arc<Edge>>,
    }

    impl Tie {
        #[inline]
        pub(crate) fn new(asking: Asking) -> Self {
            Self { is_seen: AtomicBool::new(false), edge: asking.0 }
        }

        /// Notes that the slot is in an envelope.
        pub(crate) fn seen(&self) {
            self.is_seen.store(true, Ordering::Relaxed);
        }

        /// A handler of `cell` has begun with the message.
        #[inline]
        pub(crate) fn handled_by(&self, cell: impl FnOnce() -> AnyActorRef) {
            if let Some(edge) = &self.edge {
                edge.follow(cell);
            }
        }

        /// The handler has taken the slot, or the ask is answered, though its asker has not had a turn since.
        pub(crate) fn leads_nowhere(&self) {
            if let Some(edge) = &self.edge {
                edge.lead_to(None);
            }
        }

        /// Whether an actor's code awaits the ask.
        #[inline]
        pub(crate) fn is_known(&self) -> bool {
            self.edge.is_some()
        }

        /// The ask is about to be sent to `to`. The error is a circle of asks.
        pub(crate) fn begin(&self, to: impl FnOnce() -> AnyActorRef) -> Result<Wait, Box<[ActorPath]>> {
            let Some(edge) = &self.edge else { return Ok(Wait::default()) };
            let Some(from) = edge.from.upgrade() else { return Ok(Wait::default()) };
            let to = to();
            let is_seen = self.is_seen.load(Ordering::Relaxed);
            if is_seen {
                edge.lead_to(Some(Arc::downgrade(&to.0)));
            }
            if !from.core().waits().is_some_and(|waits| waits.enter(edge)) {
                return Ok(Wait::default());
            }
            let wait = Wait::of(Arc::clone(edge));
            if REFUSED
                && is_seen
                && let Some(circle) = circle(&AnyActorRef(from), &to)
            {
                return Err(circle);
            }
            Ok(wait)
        }
    }

    /// Held while an ask is awaited. Dropping it drops the edge. Most asks have no edge, and then the drop is one
    /// comparison.
    #[derive(Default)]
    pub(crate) struct Wait(ManuallyDrop<Option<Arc<Edge>>>);

    impl Wait {
        fn of(edge: Arc<Edge>) -> Self {
            Self(ManuallyDrop::new(Some(edge)))
        }

        /// Whether an actor awaits it.
        #[inline]
        pub(crate) fn is_known(&self) -> bool {
            self.0.is_some()
        }

        /// Notes that the answer has come.
        #[inline]
        pub(crate) fn end(&mut self) {
            if self.is_known() {
                self.leave();
            }
        }

        #[cold]
        fn leave(&mut self) {
            if let Some(edge) = self.0.take()
                && let Some(from) = edge.from.upgrade()
                && let Some(waits) = from.core().waits()
            {
                waits.leave(&edge);
            }
        }
    }

    impl Drop for Wait {
        #[inline]
        fn drop(&mut self) {
            self.end();
        }
    }

    /// The actors of the circle: `asker`, `to`, and so on, up to the one that waits for `asker`.
    fn circle(asker: &AnyActorRef, to: &AnyActorRef) -> Option<Box<[ActorPath]>> {
        // Each actor with the place of the actor that waits for it.
        let mut found = vec![(asker.clone(), 0), (to.clone(), 0)];
        let mut known = HashSet::from([to.uid()]);
        let mut at = 1;
        while at < found.len() && found.len() < VISITED {
            for next in found[at].0.core().waits_for() {
                if next == *asker {
                    let mut path = Vec::new();
                    while at > 0 {
                        path.push(found[at].0.path());
                        at = found[at].1;
                    }
                    path.push(asker.path());
                    path.reverse();
                    return Some(path.into());
                }
                if known.insert(next.uid()) {
                    found.push((next, at));
                }
            }
            at += 1;
        }
        None
    }
}

#[cfg(not(any(debug_assertions, feature = "testkit", feature = "observe")))]
mod kept {
    use super::{ActorPath, AnyActorRef, AnyCell, Arc, Waker};

    #[inline]
    pub(crate) fn during<T>(cell: Arc<dyn AnyCell>, turn: impl FnOnce() -> T) -> (Arc<dyn AnyCell>, T) {
        (cell, turn())
    }

    pub(crate) fn whose_turn() -> Option<AnyActorRef> {
        None
    }

    #[derive(Default)]
    pub(crate) struct Waits;

    impl Waits {
        pub(crate) fn forget(&self) {}

        pub(crate) fn whom(&self) -> Vec<AnyActorRef> {
            Vec::new()
        }
    }

    #[derive(Default)]
    pub(crate) struct Tie;

    impl Tie {
        pub(crate) fn seen(&self) {}

        pub(crate) fn handled_by(&self, _: impl FnOnce() -> AnyActorRef) {}

        pub(crate) fn leads_nowhere(&self) {}

        #[inline]
        pub(crate) fn new(_: Asking) -> Self {
            Self
        }

        #[inline]
        pub(crate) fn is_known(&self) -> bool {
            false
        }

        pub(crate) fn begin(&self, _: impl FnOnce() -> AnyActorRef) -> Result<Wait, Box<[ActorPath]>> {
            Ok(Wait)
        }
    }

    #[derive(Default)]
    pub(crate) struct Asking;

    #[inline]
    pub(crate) fn asked_by(_: &Waker) -> Asking {
        Asking
    }

    #[derive(Default)]
    pub(crate) struct Wait;

    impl Wait {
        #[inline]
        pub(crate) fn end(&mut self) {}
    }
}
