//! The last failures, for the tree and the console. Only their texts are kept, so a user's error does not stay
//! alive.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use crate::base::Uid;
use crate::failure::During;
use crate::supervision::Outcome;

/// The last failure of an actor, as its supervisor received it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastFailure {
    /// The error and its causes, at most 512 bytes.
    pub text: Arc<str>,
    /// Which code failed, if any did.
    pub during: Option<During>,
    /// What followed.
    pub outcome: Outcome,
    /// The rule that matched: see [`Event::Decided`](crate::Event::Decided).
    pub rule: Option<&'static str>,
}

/// The longest text that is kept, in bytes.
pub(super) const LONGEST: usize = 512;

/// How many actors' last failures are kept.
const MOST: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Recent {
    last: HashMap<Uid, Known, BuildHasherDefault<Uids>>,
    /// The actors that failed. The one that is forgotten next comes first, unless it has failed again.
    order: VecDeque<Uid>,
}

#[derive(Debug)]
struct Known {
    failure: LastFailure,
    /// Whether the failure has a line above the debug level.
    has_line: bool,
    /// Whether it has failed again since it got its place in the order.
    again: bool,
}

/// Hashes uids, which are random already.
#[derive(Debug, Default)]
struct Uids(u64);

impl Hasher for Uids {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, uid: u64) {
        self.0 = uid;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Recent {
    /// Returns the text, which is shared with the last failure of the actor if that had the same one.
    pub(super) fn keep(
        &mut self,
        actor: Uid,
        text: &str,
        during: Option<During>,
        outcome: Outcome,
        rule: Option<&'static str>,
        has_line: bool,
    ) -> Arc<str> {
        match self.last.entry(actor) {
            Entry::Occupied(mut known) => {
                let known = known.get_mut();
                (known.has_line, known.again) = (has_line, true);
                let failure = &mut known.failure;
                if *failure.text != *text {
                    failure.text = text.into();
                }
                (failure.during, failure.outcome, failure.rule) = (during, outcome, rule);
                Arc::clone(&failure.text)
            }
            Entry::Vacant(place) => {
                let text: Arc<str> = text.into();
                let failure = LastFailure { text: Arc::clone(&text), during, outcome, rule };
                place.insert(Known { failure, has_line, again: false });
                self.begin(actor);
                text
            }
        }
    }

    /// Gives an actor its place in the order. If there are too many, forgets the first one that has not failed again.
    fn begin(&mut self, actor: Uid) {
        while self.order.len() >= MOST
            && let Some(first) = self.order.pop_front()
        {
            match self.last.get_mut(&first) {
                Some(known) if known.again => {
                    known.again = false;
                    self.order.push_back(first);
                }
                _ => drop(self.last.remove(&first)),
            }
        }
        self.order.push_back(actor);
    }

    pub(super) fn of(&self, actor: Uid) -> Option<&LastFailure> {
        self.last.get(&actor).map(|known| &known.failure)
    }

    /// Whether the last failure of an actor has a line above the debug level.
    pub(super) fn has_line(&self, actor: Uid) -> Option<bool> {
        self.last.get(&actor).map(|known| known.has_line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_number_of_failures_is_kept() {
        let mut recent = Recent::default();
        let mut keep = |actor| drop(recent.keep(actor, "boom", None, Outcome::Resumed, None, true));
        let [first, second] = [Uid::random(), Uid::random()];
        keep(first);
        keep(second);
        // It failed first, but not longest ago.
        keep(first);
        (2..=MOST).for_each(|_| keep(Uid::random()));
        assert!(recent.of(first).is_some() && recent.of(second).is_none());
        assert_eq!((recent.last.len(), recent.order.len()), (MOST, MOST));
        // If all have failed again, the one that fails now is not forgotten for that.
        let all: Vec<Uid> = recent.order.iter().copied().collect();
        for actor in all {
            drop(recent.keep(actor, "boom", None, Outcome::Resumed, None, true));
        }
        let new = Uid::random();
        recent.keep(new, "boom", None, Outcome::Resumed, None, true);
        assert!(recent.of(new).is_some());
        assert_eq!((recent.last.len(), recent.order.len()), (MOST, MOST));
    }

    #[test]
    fn a_text_that_comes_again_is_shared() {
        let mut recent = Recent::default();
        let actor = Uid::random();
        let mut keep = |text, outcome| recent.keep(actor, text, None, outcome, None, true);
        let first = keep("boom", Outcome::Resumed);
        let again = keep("boom", Outcome::Escalated);
        assert!(Arc::ptr_eq(&first, &again));
        assert_eq!(&*keep("bang", Outcome::Resumed), "bang");
        assert_eq!(&*first, "boom");
        let last = recent.of(actor).expect("a failure");
        assert_eq!((&*last.text, last.outcome), ("bang", Outcome::Resumed));
    }
}
