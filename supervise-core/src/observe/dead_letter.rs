//! Dead letters: messages that no actor handled, and the choice of those that get a line in the log.
//!
//! Rules 10.1 and 10.4.

use std::time::Duration;

use crate::base::ActorPath;
use crate::failure::Failure;
use crate::supervision::Time;

/// A message that no actor handled successfully. The message itself has been dropped or given back to its sender.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The path of its recipient. If a selection found no actor, it is the selected path with its wildcards.
    pub recipient: ActorPath,
    /// The kind of message: the handler's variant, or the message's type.
    pub message: &'static str,
    /// Why it became a dead letter.
    pub reason: DeadLetterReason,
    /// The failures of its deliveries, if it was delivered at all. If there are more than 16: the first and the last
    /// 15.
    pub failures: Vec<Failure>,
    /// How many times it was delivered.
    pub deliveries: u32,
}

/// Why a message became a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeadLetterReason {
    /// The actor had ended, or ended with the message still in its mailbox.
    Stopped,
    /// The bounded mailbox was full, and its overflow setting drops messages.
    MailboxFull,
    /// The stash was full.
    StashFull,
    /// The message failed at its last permitted delivery (see `#[handler(redeliver = N)]`), or its actor stopped before
    /// that.
    Quarantined,
    /// A circuit breaker was open.
    CircuitOpen,
    /// A selection found no actor.
    NotFound,
}

/// A message that is about to become a [`DeadLetter`].
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) message: &'static str,
    pub(crate) reason: DeadLetterReason,
    pub(crate) failures: Vec<Failure>,
    pub(crate) deliveries: u32,
    /// Whether an asker waits for its reply. If so, the asker gets an error.
    pub(crate) answered: bool,
}

impl Lost {
    /// A message that was never delivered.
    pub(crate) fn new(message: &'static str, reason: DeadLetterReason, answered: bool) -> Self {
        Self { message, reason, failures: Vec::new(), deliveries: 0, answered }
    }
}

/// How many dead letters within one [`WINDOW`] get a line each.
pub(crate) const MOST_LINES: u32 = 10;

/// The window: it begins at the first dead letter with a line. Dead letters beyond [`MOST_LINES`] are only counted.
pub(crate) const WINDOW: Duration = Duration::from_secs(5 * 60);

/// Counts the dead letters of one system that get, or could get, a line.
#[derive(Debug, Default)]
pub(crate) struct LineCount {
    opened: Option<Time>,
    lines: u32,
    /// How many got no line.
    missed: u64,
}

/// How the log reports a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// By a line. `missed` dead letters of the previous window got no line; the log reports their number first.
    Own { missed: u64 },
    /// By the last line of this window.
    Last,
    /// Not at all: it is only counted.
    Missed,
}

impl LineCount {
    /// Counts a dead letter at `now`.
    pub(crate) fn count(&mut self, now: Time) -> Line {
        let over = self.opened.is_none_or(|opened| now.saturating_sub(opened) >= WINDOW);
        if over {
            self.opened = Some(now);
            self.lines = 0;
        } else if self.lines == MOST_LINES {
            self.miss();
            return Line::Missed;
        }
        self.lines += 1;
        if self.lines == MOST_LINES { Line::Last } else { Line::Own { missed: self.take_missed() } }
    }

    /// Counts a dead letter that gets no line in any case.
    pub(crate) fn miss(&mut self) {
        self.missed += 1;
    }

    /// Returns how many dead letters got no line since the last call.
    pub(crate) fn take_missed(&mut self) -> u64 {
        std::mem::take(&mut self.missed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_have_a_line_and_the_next_window_says_how_many_had_none() {
        let mut count = LineCount::default();
        let second = Duration::from_secs(1);
        for _ in 1..MOST_LINES {
            assert_eq!(count.count(second), Line::Own { missed: 0 });
        }
        assert_eq!(count.count(second), Line::Last);
        for _ in 0..14_374 {
            assert_eq!(count.count(WINDOW), Line::Missed);
        }
        assert_eq!(count.count(second + WINDOW), Line::Own { missed: 14_374 });
        assert_eq!(count.count(second + WINDOW), Line::Own { missed: 0 });
        assert_eq!(count.take_missed(), 0);
    }

    #[test]
    fn a_window_opens_with_its_first_dead_letter() {
        let mut count = LineCount::default();
        for minutes in 0..100 {
            assert_eq!(count.count(Duration::from_secs(60 * minutes)), Line::Own { missed: 0 }, "one a minute");
        }
    }
}
