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
    last: HashMap<Uid, LastFailure, BuildHasherDefault<Uids>>,
    /// The actors that failed, the first one first.
    failed: VecDeque<Uid>,
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
    ) -> Arc<str> {
        match self.last.entry(actor) {
            Entry::Occupied(mut last) => {
                let last = last.get_mut();
                if *last.text != *text {
                    last.text = text.into();
                }
                (last.during, last.outcome, last.rule) = (during, outcome, rule);
                Arc::clone(&last.text)
            }
            Entry::Vacant(place) => {
                let text: Arc<str> = text.into();
                place.insert(LastFailure { text: Arc::clone(&text), during, outcome, rule });
                self.begin(actor);
                text
            }
        }
    }

    fn begin(&mut self, actor: Uid) {
        self.failed.push_back(actor);
        if self.failed.len() > MOST
            && let Some(oldest) = self.failed.pop_front()
        {
            self.last.remove(&oldest);
        }
    }

    pub(super) fn of(&self, actor: Uid) -> Option<&LastFailure> {
        self.last.get(&actor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_number_of_failures_is_kept() {
        let mut recent = Recent::default();
        let mut keep = |actor| drop(recent.keep(actor, "boom", None, Outcome::Resumed, None));
        let first = Uid::random();
        keep(first);
        keep(first);
        (1..MOST).for_each(|_| keep(Uid::random()));
        assert!(recent.of(first).is_some());
        recent.keep(Uid::random(), "boom", None, Outcome::Resumed, None);
        assert_eq!((recent.of(first), recent.last.len(), recent.failed.len()), (None, MOST, MOST));
    }

    #[test]
    fn a_text_that_comes_again_is_shared() {
        let mut recent = Recent::default();
        let actor = Uid::random();
        let mut keep = |text, outcome| recent.keep(actor, text, None, outcome, None);
        let first = keep("boom", Outcome::Resumed);
        let again = keep("boom", Outcome::Escalated);
        assert!(Arc::ptr_eq(&first, &again));
        assert_eq!(&*keep("bang", Outcome::Resumed), "bang");
        assert_eq!(&*first, "boom");
        let last = recent.of(actor).expect("a failure");
        assert_eq!((&*last.text, last.outcome), ("bang", Outcome::Resumed));
    }
}
