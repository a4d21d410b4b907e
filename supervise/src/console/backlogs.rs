//! The mailboxes that fall behind, whatever else is wrong with their actors.
//!
//! Rule 22.3.

use std::collections::HashMap;
use std::sync::Arc;

use super::cards::name;
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
    /// The path of the actor for which it waits.
    waits_for: Option<Arc<str>>,
}

impl Backlog {
    /// `432 messages, the oldest for about 7 min`, `40 messages, the oldest for about 7 min; it waits for conn-2`.
    pub(super) fn tell(&self, now: Time) -> String {
        let oldest = Span(now.saturating_sub(self.oldest));
        let waits =
            self.waits_for.as_ref().map_or_else(String::new, |path| format!("; it waits for {}", name(path)));
        format!("{}, the oldest for about {oldest}{waits}", so_many(self.waiting as u64, "message"))
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
    pub(super) fn note(
        &mut self,
        before: &Self,
        sight: &Sight<'_>,
        path: &str,
        oldest: Time,
        waits_for: Option<&Arc<str>>,
    ) -> Time {
        let since = before.since.get(&sight.key).copied().unwrap_or(oldest);
        self.since.insert(sight.key, since);
        let place = self.longest.partition_point(|other| other.oldest <= oldest);
        if place < NAMED {
            self.longest.truncate(NAMED - 1);
            let (path, waits_for) = (path.to_owned(), waits_for.cloned());
            self.longest.insert(place, Backlog { path, waiting: sight.waiting, oldest, waits_for });
        }
        since
    }

    pub(super) fn longest(&self) -> &[Backlog] {
        &self.longest
    }
}
