//! Limits similar lines of the log: it writes the first few in a window, and counts the others.
//!
//! Rules 10.4, 10.9 and 26.13.

use std::collections::HashMap;
use std::time::Duration;

use crate::base::{ActorPath, Uid};
use crate::supervision::{LogLevel, Time};

/// How many dead letters, and how many failures that are alike, get a line each in one window. The others are only counted.
pub(crate) const MOST_LINES: u32 = 10;

/// The window of dead letters. A window begins at the first line.
pub(crate) const OF_DEAD_LETTERS: Duration = Duration::from_secs(5 * 60);

/// The window of failures that are alike.
pub(crate) const OF_FAILURES: Duration = Duration::from_secs(1);

/// The window of lines about other nodes that are of one kind.
#[cfg(feature = "remote")]
pub(crate) const OF_NODES: Duration = Duration::from_secs(60);

/// How many kinds of failures are counted at a time. Further ones get all their lines.
const MOST_KINDS: usize = 64;

/// Counts what gets, or could get, a line.
#[derive(Debug)]
pub(crate) struct LineCount {
    window: Duration,
    opened: Option<Time>,
    lines: u32,
    /// How many got no line.
    missed: u64,
}

/// How the log reports one of those that are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// By a line. `missed` of the previous window got no line; the log reports their number first.
    Own { missed: u64 },
    /// By the last line of this window.
    Last,
    /// Not at all: it is only counted.
    Missed,
}

impl LineCount {
    pub(crate) fn new(window: Duration) -> Self {
        Self { window, opened: None, lines: 0, missed: 0 }
    }

    /// Counts one at `now`.
    pub(crate) fn count(&mut self, now: Time) -> Line {
        if self.is_over(now) {
            self.opened = Some(now);
            self.lines = 0;
        } else if self.lines == MOST_LINES {
            self.miss();
            return Line::Missed;
        }
        self.lines += 1;
        if self.lines == MOST_LINES { Line::Last } else { Line::Own { missed: self.take_missed() } }
    }

    fn is_over(&self, now: Time) -> bool {
        self.opened.is_none_or(|opened| now.saturating_sub(opened) >= self.window)
    }

    /// Counts one that gets no line in any case.
    pub(crate) fn miss(&mut self) {
        self.missed += 1;
    }

    /// Returns how many got no line since the last call.
    pub(crate) fn take_missed(&mut self) -> u64 {
        std::mem::take(&mut self.missed)
    }
}

/// How many recipients of dead letters without a line are counted separately.
const MOST_RECIPIENTS: usize = 16;

/// Counts dead letters, and the recipients of those that got no line.
#[derive(Debug)]
pub(crate) struct DeadLetterLines {
    lines: LineCount,
    missed: HashMap<Uid, (ActorPath, u64)>,
}

/// The dead letters that got no line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MissedLetters {
    pub(crate) all: u64,
    /// The recipients of most of them. The one with the most comes first.
    pub(crate) recipients: Vec<(ActorPath, u64)>,
}

impl MissedLetters {
    pub(crate) fn is_empty(&self) -> bool {
        self.all == 0
    }
}

impl Default for DeadLetterLines {
    fn default() -> Self {
        Self { lines: LineCount::new(OF_DEAD_LETTERS), missed: HashMap::new() }
    }
}

impl DeadLetterLines {
    /// Counts one at `now`. Also returns those that its line must mention.
    pub(crate) fn count(
        &mut self,
        now: Time,
        to: Option<Uid>,
        recipient: impl FnOnce() -> ActorPath,
    ) -> (Line, MissedLetters) {
        let line = self.lines.count(now);
        let missed = match line {
            Line::Missed => {
                self.note(to, recipient);
                0
            }
            Line::Own { missed } => missed,
            Line::Last => 0,
        };
        (line, self.told(missed))
    }

    /// Counts one that gets no line in any case.
    pub(crate) fn miss(&mut self, to: Option<Uid>, recipient: impl FnOnce() -> ActorPath) {
        self.lines.miss();
        self.note(to, recipient);
    }

    /// The path is made once for each recipient.
    fn note(&mut self, to: Option<Uid>, recipient: impl FnOnce() -> ActorPath) {
        let Some(to) = to else { return };
        if self.missed.len() < MOST_RECIPIENTS || self.missed.contains_key(&to) {
            self.missed.entry(to).or_insert_with(|| (recipient(), 0)).1 += 1;
        }
    }

    /// Returns those that got no line since the last call.
    pub(crate) fn take_missed(&mut self) -> MissedLetters {
        let missed = self.lines.take_missed();
        self.told(missed)
    }

    fn told(&mut self, all: u64) -> MissedLetters {
        if all == 0 {
            return MissedLetters { all, recipients: Vec::new() };
        }
        let mut recipients: Vec<(ActorPath, u64)> = self.missed.drain().map(|(_, missed)| missed).collect();
        recipients.sort_by(|a, b| (b.1, a.0.local()).cmp(&(a.1, b.0.local())));
        MissedLetters { all, recipients }
    }
}

/// What similar failures have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FailureGroup {
    pub(crate) supervisor: ActorPath,
    /// The type of the failure.
    pub(crate) failure: &'static str,
    /// What follows, in a word.
    pub(crate) outcome: &'static str,
    /// The level of the lines.
    pub(crate) level: LogLevel,
}

/// Counts failures of the same kind.
#[derive(Debug, Default)]
pub(crate) struct Alike(HashMap<FailureGroup, LineCount>);

impl Alike {
    pub(crate) fn count(&mut self, kind: FailureGroup, now: Time) -> Line {
        if self.0.len() >= MOST_KINDS && !self.0.contains_key(&kind) {
            return Line::Own { missed: 0 };
        }
        self.0.entry(kind).or_insert_with(|| LineCount::new(OF_FAILURES)).count(now)
    }

    /// The kinds whose window is over at `now`, or all of them, with how many failures of each got no line.
    pub(crate) fn over(&mut self, now: Option<Time>) -> Vec<(FailureGroup, u64)> {
        let over = |count: &LineCount| now.is_none_or(|now| count.is_over(now));
        let ended = self.0.extract_if(|_, count| over(count));
        ended.map(|(kind, count)| (kind, count.missed)).filter(|(_, missed)| *missed > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = OF_DEAD_LETTERS;

    #[test]
    fn ten_have_a_line_and_the_next_window_says_how_many_had_none() {
        let mut count = LineCount::new(WINDOW);
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
        let mut count = LineCount::new(WINDOW);
        for minutes in 0..100 {
            assert_eq!(count.count(Duration::from_secs(60 * minutes)), Line::Own { missed: 0 }, "one a minute");
        }
    }

    fn kind(outcome: &'static str) -> FailureGroup {
        let supervisor = "supervise://shop/user".parse().expect("a path");
        FailureGroup { supervisor, failure: "io::Error", outcome, level: LogLevel::Error }
    }

    #[test]
    fn failures_of_one_kind_are_counted_for_a_second() {
        let mut alike = Alike::default();
        let lines = |alike: &mut Alike, outcome, now: u64| {
            let count = |_| alike.count(kind(outcome), Duration::from_millis(now)) != Line::Missed;
            (0..500).map(count).filter(|has_line| *has_line).count()
        };
        assert_eq!(lines(&mut alike, "restart", 0), 10);
        assert_eq!(lines(&mut alike, "stop", 999), 10);
        assert_eq!(alike.over(Some(Duration::from_millis(999))), []);
        assert_eq!(alike.over(Some(Duration::from_millis(1000))), [(kind("restart"), 490)]);
        assert_eq!(alike.over(None), [(kind("stop"), 490)]);
        assert_eq!(alike.over(None), []);
    }

    #[test]
    fn a_bounded_number_of_kinds_is_counted() {
        let mut alike = Alike::default();
        for supervisor in 0..1000 {
            let supervisor = format!("supervise://shop/user/{supervisor}").parse().expect("a path");
            assert_eq!(
                alike.count(FailureGroup { supervisor, ..kind("stop") }, Duration::ZERO),
                Line::Own { missed: 0 }
            );
        }
        assert_eq!(alike.0.len(), MOST_KINDS);
        // Windows that are over make room.
        assert_eq!(alike.over(Some(Duration::from_secs(1))), []);
        assert_eq!(alike.0.len(), 0);
    }
}
