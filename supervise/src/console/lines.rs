//! Lines of the log about what no single event tells: an actor that is stuck, falls behind, is near its limit.
//!
//! Rule 22.10.

use std::fmt::{self, Display, Formatter};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tracing::{info, warn};

use super::cards::{Card, Kind};
use super::sight::Time;
use super::words::{Span, count};

/// The target of all lines of this crate.
const TARGET: &str = "supervise";

/// How long after a line no other line about the same card begins.
const QUIET: Duration = Duration::from_secs(60);
/// How long after a line it is repeated, if the problem lasts.
const REMIND: Duration = Duration::from_secs(10 * 60);
/// How many cards are remembered.
const MOST: usize = 256;

/// The cards that have had a line.
#[derive(Debug, Default)]
pub(super) struct Lines(Vec<Told>);

#[derive(Debug)]
struct Told {
    kind: Kind,
    subject: String,
    path: String,
    since: Time,
    /// The time of the last line.
    at: Time,
    /// Whether the problem lasts: no line has said that it is over.
    is_on: bool,
}

/// A line of the log.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Is { kind: Kind, path: &'a str, actors: usize, says: &'a str },
    Over { kind: Kind, path: String, after: Duration },
}

impl Lines {
    /// Returns the lines to be written after a look. `is_all`: `cards` has all cards.
    pub(super) fn after<'a>(&mut self, cards: &'a [Card], is_all: bool, now: Time) -> Vec<Line<'a>> {
        let mut lines: Vec<Line<'a>> = Vec::new();
        for told in self.0.iter_mut().filter(|told| told.is_on && is_all) {
            if !cards.iter().any(|card| told.is_about(card)) {
                told.is_on = false;
                let after = now.saturating_sub(told.since);
                lines.push(Line::Over { kind: told.kind, path: told.path.clone(), after });
            }
        }
        self.0.retain(|told| told.is_on || now.saturating_sub(told.at) < QUIET);
        for card in cards.iter().filter(|card| !has_lines_already(card.kind)) {
            let Card { kind, path, actors, says, .. } = card;
            let has_room = self.0.len() < MOST;
            match self.0.iter_mut().find(|told| told.is_about(card)) {
                Some(told) if told.is_on && now.saturating_sub(told.at) >= REMIND => {
                    told.at = now;
                    path.clone_into(&mut told.path);
                }
                None if has_room => {
                    let (subject, path) = (card.subject.clone(), path.clone());
                    self.0.push(Told { kind: *kind, subject, path, since: now, at: now, is_on: true });
                }
                _ => continue,
            }
            lines.push(Line::Is { kind: *kind, path, actors: *actors, says });
        }
        lines
    }
}

impl Told {
    fn is_about(&self, card: &Card) -> bool {
        self.kind == card.kind && self.subject == card.subject
    }
}

/// Whether the log line of a failure already reports this.
fn has_lines_already(kind: Kind) -> bool {
    kind == Kind::BranchDown
}

/// Writes a line, with the number of actors that are not well. Contains the panic of a subscriber.
pub(super) fn say(system: &str, not_well: usize, line: &Line<'_>) {
    let say = || match line {
        Line::Is { kind, path, actors, says } => {
            let (problem, kind) = (problem(*kind), kind.word());
            let others = match actors {
                0 | 1 => String::new(),
                more => format!(" (and {} like it)", count(more - 1)),
            };
            warn!(
                target: TARGET, actor = %Full(system, path), kind, not_well,
                "{} {problem}{others}. {says}", name(path)
            );
        }
        Line::Over { kind, path, after } => {
            let (end, kind) = (end(*kind), kind.word());
            let path: &str = path;
            info!(
                target: TARGET, actor = %Full(system, path), kind, not_well,
                "{} {end}, after {}", name(path), Span(*after)
            );
        }
    };
    _ = catch_unwind(AssertUnwindSafe(say));
}

/// A path as the other lines write it.
struct Full<'a>(&'a str, &'a str);

impl Display for Full<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "supervise://{}{}", self.0, self.1)
    }
}

fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// What is wrong with an actor.
fn problem(kind: Kind) -> &'static str {
    match kind {
        Kind::Deadlock => "is in a deadlock",
        Kind::BlocksThread => "blocks a thread",
        Kind::Stuck => "is stuck",
        Kind::FallingBehind => "falls behind",
        Kind::SlowStart => "is slow to start",
        Kind::SlowEnd => "is slow to end",
        Kind::NearLimit => "is near its limit",
        Kind::RestartLoop => "is in a restart loop",
        Kind::MessagesLost => "loses messages",
        Kind::BranchDown => "is down",
    }
}

/// Which problem is over. The actor may have continued, restarted or ended.
fn end(kind: Kind) -> &'static str {
    match kind {
        Kind::Deadlock => "is no longer in a deadlock",
        Kind::BlocksThread => "no longer blocks a thread",
        Kind::Stuck => "is no longer stuck",
        Kind::FallingBehind => "no longer falls behind",
        Kind::SlowStart => "is no longer starting",
        Kind::SlowEnd => "is no longer stopping",
        Kind::NearLimit => "is no longer near its limit",
        Kind::RestartLoop => "is no longer in a restart loop",
        Kind::MessagesLost => "no longer loses messages",
        Kind::BranchDown => "is no longer down",
    }
}
