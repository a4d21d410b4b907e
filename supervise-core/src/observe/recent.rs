//! The last failures, for the tree and the console. Only their texts are kept, so a user's error does not stay
//! alive.

use std::collections::{HashMap, VecDeque};
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
    last: HashMap<Uid, LastFailure>,
    /// The actors that failed, the first one first.
    failed: VecDeque<Uid>,
}

impl Recent {
    pub(super) fn keep(&mut self, actor: Uid, failure: LastFailure) {
        if self.last.insert(actor, failure).is_some() {
            return;
        }
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
        let failure = || LastFailure { text: "boom".into(), during: None, outcome: Outcome::Resumed, rule: None };
        let first = Uid::random();
        recent.keep(first, failure());
        recent.keep(first, failure());
        for _ in 1..MOST {
            recent.keep(Uid::random(), failure());
        }
        assert!(recent.of(first).is_some());
        recent.keep(Uid::random(), failure());
        assert_eq!((recent.of(first), recent.last.len(), recent.failed.len()), (None, MOST, MOST));
    }
}
