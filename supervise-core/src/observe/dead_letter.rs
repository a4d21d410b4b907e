//! Messages that reached nobody, and which of them are worth a line of the log.
//!
//! Rules 10.1 and 10.4.

use std::time::Duration;

use crate::base::ActorPath;
use crate::failure::Failure;
use crate::supervision::Time;

/// A message that reached nobody. The message itself is gone, or was given back to its sender.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DeadLetter {
    /// Whom it was for. If a selection found nobody: the selected path, wildcards as they were written.
    pub recipient: ActorPath,
    /// What kind of message: the handler's variant, or the message's type.
    pub message: &'static str,
    /// Why it reached nobody.
    pub reason: DeadLetterReason,
    /// What its deliveries failed with, if it was delivered at all: of more than 16 the first and the last 15.
    pub failures: Vec<Failure>,
    /// How often it was delivered.
    pub deliveries: u32,
}

/// Why a message reached nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeadLetterReason {
    /// The actor had ended, or ended with the message still in its mailbox.
    Stopped,
    /// The bounded mailbox was full and drops messages.
    MailboxFull,
    /// The stash was full.
    StashFull,
    /// It failed as often as it may be delivered again, see `#[handler(redeliver = N)]`, or its actor stopped before that.
    Quarantined,
    /// A selection found nobody.
    NotFound,
}

/// A message on its way to become a [`DeadLetter`].
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) message: &'static str,
    pub(crate) reason: DeadLetterReason,
    pub(crate) failures: Vec<Failure>,
    pub(crate) deliveries: u32,
    /// Whether somebody waits for its answer, and is told that there is none.
    pub(crate) answered: bool,
}

impl Lost {
    /// One that was never delivered.
    pub(crate) fn new(message: &'static str, reason: DeadLetterReason, answered: bool) -> Self {
        Self { message, reason, failures: Vec::new(), deliveries: 0, answered }
    }
}

/// How many dead letters have a line each, from the first one on, within [`WINDOW`].
pub(crate) const MOST_LINES: u32 = 10;

/// How long the others are only counted.
pub(crate) const WINDOW: Duration = Duration::from_secs(5 * 60);

/// The dead letters of one system that have, or could have, a line.
#[derive(Debug, Default)]
pub(crate) struct LineCount {
    opened: Option<Time>,
    lines: u32,
    /// How many had none.
    missed: u64,
}

/// What is said of a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line. How many had none in the window before is said first.
    Own { missed: u64 },
    /// The last one in this window.
    Last,
    /// None. It is counted.
    Missed,
}

impl LineCount {
    /// Another one, at `now`.
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

    /// Another one, which has no line in any case.
    pub(crate) fn miss(&mut self) {
        self.missed += 1;
    }

    /// How many had no line, since this was asked last.
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
