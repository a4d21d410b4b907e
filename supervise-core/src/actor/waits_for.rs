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

pub(crate) use self::kept::{Tie, Wait, Waits, during};

/// Whether this build records which actor waits for which.
pub(crate) const KNOWN: bool = cfg!(any(debug_assertions, feature = "testkit", feature = "observe"));

#[cfg(any(debug_assertions, feature = "testkit", feature = "observe"))]
mod kept {
    use std::cell::Cell;
    use std::collections::HashSet;
    use std::mem::ManuallyDrop;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, OnceLock, PoisonError, Weak};

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

    /// The cell whose turn it is, if it is the one that `asker` wakes.
    #[inline]
    fn current(asker: &Waker) -> Option<Arc<dyn AnyCell>> {
        CURRENT.with(|current| {
            let cell = current.take()?;
            let asking = (asker.data() == Arc::as_ptr(&cell).cast()).then(|| Arc::clone(&cell));
            current.set(Some(cell));
            asking
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

    /// What a reply slot knows of the code that awaits it.
    #[derive(Default)]
    pub(crate) struct Tie {
        /// Whether the slot is in an envelope. If it is in a message of another kind, this module cannot follow
        /// it.
        is_seen: AtomicBool,
        edge: OnceLock<Arc<Edge>>,
    }

    impl Tie {
        /// Notes that the slot is in an envelope.
        pub(crate) fn seen(&self) {
            self.is_seen.store(true, Ordering::Relaxed);
        }

        /// A handler of `cell` has begun with the message.
        pub(crate) fn handled_by(&self, cell: impl FnOnce() -> AnyActorRef) {
            if let Some(edge) = self.edge.get() {
                edge.lead_to(Some(Arc::downgrade(&cell().0)));
            }
        }

        /// The handler has taken the slot, or the ask is answered, though its asker has not had a turn since.
        pub(crate) fn leads_nowhere(&self) {
            if let Some(edge) = self.edge.get() {
                edge.lead_to(None);
            }
        }

        /// Code that `asker` wakes is about to ask `to`.
        pub(crate) fn begin(
            &self,
            to: impl FnOnce() -> AnyActorRef,
            asker: &Waker,
        ) -> Result<Wait, Box<[ActorPath]>> {
            match current(asker) {
                Some(from) => self.begin_of(from, to()),
                None => Ok(Wait::default()),
            }
        }

        /// `from` is about to ask `to`.
        fn begin_of(&self, from: Arc<dyn AnyCell>, to: AnyActorRef) -> Result<Wait, Box<[ActorPath]>> {
            let is_seen = self.is_seen.load(Ordering::Relaxed);
            let end = is_seen.then(|| Arc::downgrade(&to.0));
            let edge = Arc::new(Edge { from: Arc::downgrade(&from), to: Mutex::new(end) });
            if !from.core().waits().is_some_and(|waits| waits.enter(&edge)) {
                return Ok(Wait::default());
            }
            let wait = Wait::of(Arc::clone(&edge));
            if REFUSED
                && is_seen
                && let Some(circle) = circle(&AnyActorRef(from), &to)
            {
                return Err(circle);
            }
            let _first = self.edge.set(edge);
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

        /// Notes that the answer has come.
        #[inline]
        pub(crate) fn end(&mut self) {
            if self.0.is_some() {
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
        pub(crate) fn begin(&self, _: impl FnOnce() -> AnyActorRef, _: &Waker) -> Result<Wait, Box<[ActorPath]>> {
            Ok(Wait)
        }
    }

    #[derive(Default)]
    pub(crate) struct Wait;

    impl Wait {
        #[inline]
        pub(crate) fn end(&mut self) {}
    }
}
