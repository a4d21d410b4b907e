//! The mailboxes that fall behind, whatever else is wrong with their actors.
//!
//! Rule 22.3.

use std::collections::HashMap;

use super::sight::{Sight, Time};
use super::words::{Span, so_many};

/// How many of them are named.
const NAMED: usize = 5;

/// A mailbox that falls behind.
#[derive(Debug, Clone)]
pub(super) struct Backlog {
    pub(super) path: String,
    waiting: usize,
    /// When the oldest message arrived.
    oldest: Time,
}

impl Backlog {
    /// `432 messages, the oldest for about 7 min`.
    pub(super) fn tell(&self, now: Time) -> String {
        let oldest = Span(now.saturating_sub(self.oldest));
        format!("{}, the oldest for about {oldest}", so_many(self.waiting as u64, "message"))
    }
}

/// All mailboxes that one look found to fall behind. Only busy actors have one, so their number is bounded by that of the marks.
#[derive(Debug, Default)]
pub(super) struct Backlogs {
    since: HashMap<u64, Time>,
    /// Those with the oldest messages, the oldest first.
    longest: Vec<Backlog>,
}

impl Backlogs {
    /// Notes a mailbox, and returns since when it falls behind: the arrival of the message that was the oldest one when this began.
    pub(super) fn note(&mut self, before: &Self, sight: &Sight<'_>, path: &str, oldest: Time) -> Time {
        let since = before.since.get(&sight.key).copied().unwrap_or(oldest);
        self.since.insert(sight.key, since);
        let place = self.longest.partition_point(|other| other.oldest <= oldest);
        if place < NAMED {
            self.longest.truncate(NAMED - 1);
            self.longest.insert(place, Backlog { path: path.to_owned(), waiting: sight.waiting, oldest });
        }
        since
    }

    pub(super) fn longest(&self) -> &[Backlog] {
        &self.longest
    }
}
