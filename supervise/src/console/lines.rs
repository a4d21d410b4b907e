//! Lines of the log about what no single event tells: an actor that is stuck, falls behind, is near its limit.
//!
//! Rule 22.10.

use std::fmt::{self, Display, Formatter};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tracing::{info, warn};

use super::cards::{Card, Kind, name};
use super::collector::View;
use super::places::is_of_place;
use super::sight::Time;
use super::words::{Span, at_least, some_of_at_least};

/// The target of all lines of this crate.
const TARGET: &str = "supervise";

/// How long after a line no other line about the same card begins.
const QUIET: Duration = Duration::from_secs(60);
/// How long after its first line a problem that lasts has another one. Each further time is twice as long as the one before.
const REMIND: Duration = Duration::from_secs(2 * 60);
/// The longest time between two lines about a problem that lasts.
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// What is newer than this has just begun.
const JUST_NOW: Duration = Duration::from_secs(1);
/// How many unwell actors a line names.
const WHO: usize = 8;
/// How many cards are remembered.
const MOST: usize = 256;

/// The cards that have had a line.
#[derive(Debug, Default)]
pub(super) struct Lines(Vec<Told>);

#[derive(Debug)]
struct Told {
    kind: Kind,
    subject: String,
    /// The actor of the last line.
    path: String,
    /// The actor of the card at the last look, and when its problem began.
    last: String,
    since: Time,
    /// Whether other actors had the problem too.
    others: bool,
    /// The time of the last line.
    at: Time,
    /// How long after that it has another line.
    next: Duration,
    /// Whether the problem lasts: no line has said that it is over.
    is_on: bool,
    /// When the card went, if it has.
    went: Option<Time>,
}

/// A line of the log.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// The problem has lasted for `lasts`. `again`: there was a line about it and this actor.
    Is { kind: Kind, path: &'a str, actors: usize, at_least: bool, says: String, lasts: Duration, again: bool },
    /// `has_ended`: a failure has ended the actor in the meantime. `others`: others had the same problem before.
    Over { kind: Kind, path: String, after: Duration, has_ended: bool, others: bool },
}

impl Lines {
    /// Returns the lines to be written after a look.
    pub(super) fn after<'a>(&mut self, view: &'a View) -> Vec<Line<'a>> {
        let View { cards, hidden, more_cards, now, .. } = view;
        let now = *now;
        let mut lines: Vec<Line<'a>> = Vec::new();
        for told in self.0.iter_mut().filter(|told| told.is_on) {
            let is_hidden = hidden.iter().any(|(kind, subject)| told.kind == *kind && told.subject == *subject);
            if is_hidden || cards.iter().any(|card| told.is_about(card)) {
                // What comes back is another problem, although no line has said that the former one was over.
                told.is_on = told.went.take().is_none();
                continue;
            }
            if *more_cards > 0 {
                continue;
            }
            let went = *told.went.get_or_insert(now);
            // The card may have gone because its actors are forgotten.
            if !view.doubtful.contains(&told.kind) {
                told.is_on = false;
                if begins_elsewhere(told.kind) {
                    continue;
                }
                let after = went.saturating_sub(told.since);
                // The end of the recipient does not end the loss of messages to it.
                let has_ended = told.kind != Kind::MessagesLost
                    && !is_of_place(&told.subject)
                    && view
                        .ends
                        .iter()
                        .any(|(at, end)| *at >= told.since && end.child == told.last && end.replaced.is_none());
                let (kind, path, others) = (told.kind, told.last.clone(), told.others);
                lines.push(Line::Over { kind, path, after, has_ended, others });
            }
        }
        self.0.retain(|told| told.is_on || now.saturating_sub(told.at) < QUIET);
        self.make_room(cards);
        for card in cards {
            let Card { kind, path, actors, at_least, .. } = card;
            let mut known = self.0.iter_mut().find(|told| told.is_about(card));
            if let Some(told) = &mut known {
                told.follow(card);
            }
            let (since, of_same) = match known {
                Some(told) if told.is_on && now.saturating_sub(told.at) >= told.next => {
                    (told.at, told.next) = (now, (told.next * 2).min(LONGEST));
                    let of_same = told.path == *path;
                    path.clone_into(&mut told.path);
                    (told.since, Some(of_same))
                }
                None => {
                    let (subject, path, last) = (card.subject.clone(), path.clone(), path.clone());
                    let (since, at, next, others) = (card.since.unwrap_or(now), now, REMIND, *actors > 1);
                    self.0.push(Told {
                        kind: *kind,
                        subject,
                        path,
                        last,
                        since,
                        others,
                        at,
                        next,
                        is_on: true,
                        went: None,
                    });
                    (since, None)
                }
                Some(_) => continue,
            };
            if of_same.is_none() && begins_elsewhere(*kind) {
                continue;
            }
            let again = of_same == Some(true) && !begins_elsewhere(*kind);
            let lasts = now.saturating_sub(since);
            let (actors, at_least) = (*actors, *at_least);
            lines.push(Line::Is { kind: *kind, path, actors, at_least, says: card.tell(now), lasts, again });
        }
        lines
    }

    /// Forgets those that had a line longest ago, so that there is room for all cards of this look.
    fn make_room(&mut self, cards: &[Card]) {
        let excess = (self.0.len() + cards.len()).saturating_sub(MOST);
        if excess > 0 {
            self.0.sort_by_key(|told| (cards.iter().any(|card| told.is_about(card)), told.at));
            self.0.drain(..excess);
        }
    }
}

impl Told {
    fn is_about(&self, card: &Card) -> bool {
        self.kind == card.kind && self.subject == card.subject
    }

    /// Notes which actor the card tells of now.
    fn follow(&mut self, card: &Card) {
        let is_other = self.last != card.path;
        self.others |= is_other || card.actors > 1;
        // A branch may have been repaired and gone down again in the meantime.
        if is_other || begins_elsewhere(self.kind) {
            card.path.clone_into(&mut self.last);
            self.since = card.since.unwrap_or(self.since);
        }
    }
}

/// Whether the failure's own line reports the beginning. Such a problem has no visible end.
fn begins_elsewhere(kind: Kind) -> bool {
    kind == Kind::BranchDown
}

/// Writes a line, with the actors that are not well. Contains the panic of a subscriber.
pub(super) fn say(system: &str, view: &View, line: &Line<'_>) {
    let not_well = view.ill;
    let down = (view.down > 0).then_some(view.down);
    // A text rather than a `Display`, so that the log quotes it: it contains spaces.
    let who = (not_well > 0).then(|| unwell(view));
    let who = who.as_deref();
    let say = || match line {
        Line::Is { kind, path, actors, at_least: least, says, lasts, again } => {
            let (whom, problem, kind) = (whom(*kind, path), problem(*kind, *lasts, *again), kind.word());
            let others = match actors {
                0 | 1 => String::new(),
                more => format!(" (with {} like it)", at_least(more - 1, *least)),
            };
            warn!(
                target: TARGET, actor = %Full(system, path), kind, not_well, down, who,
                "{whom}{others} {problem}. {says}"
            );
        }
        Line::Over { kind, path, after, has_ended, others } => {
            let (whom, after) = (whom(*kind, path), Span(*after));
            // There is only one runtime, and all actors of a deadlock are released together.
            let is_last = *others && !matches!(kind, Kind::ShortOfThreads | Kind::Deadlock);
            let others = if is_last { " (the last of those like it)" } else { "" };
            let end = if *has_ended {
                format!("was ended by a failure, after it had been {} for {after}", state(*kind))
            } else {
                format!("{}, after {after}", end(*kind))
            };
            let kind = kind.word();
            info!(target: TARGET, actor = %Full(system, path), kind, not_well, down, who, "{whom}{others} {end}");
        }
    };
    _ = catch_unwind(AssertUnwindSafe(say));
}

/// A path as the other lines write it.
struct Full<'a>(&'a str, &'a str);

impl Display for Full<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(system, path) = self;
        // The path of an actor of another node is a whole one already.
        if path.starts_with('/') { write!(f, "supervise://{system}{path}") } else { f.write_str(path) }
    }
}

/// The paths of the first unwell actors, and how many more there are: `/user/mail/smtp, /user/stock/ledger and 3 more`.
fn unwell(view: &View) -> String {
    some_of_at_least(view.unwell.iter().map(String::as_str), WHO, view.ill, view.may_have_more_ill())
}

/// The name by which a line calls the actor.
fn whom(kind: Kind, path: &str) -> String {
    match kind {
        Kind::ShortOfThreads => "the runtime".to_owned(),
        // The recipient may have ended.
        Kind::MessagesLost => format!("messages to {}", name(path)),
        _ => name(path).to_owned(),
    }
}

/// What is wrong with an actor, and for how long: `has been stuck for 10 s`, `is still stuck after 4 min`. What has just begun is said without
/// a duration.
fn problem(kind: Kind, lasts: Duration, again: bool) -> String {
    let (is, has) = if kind == Kind::MessagesLost { ("are", "have") } else { ("is", "has") };
    let state = state(kind);
    match (again, lasts) {
        (true, lasts) => format!("{is} still {state} after {}", Span(lasts)),
        (false, lasts) if lasts < JUST_NOW => format!("{is} {state}"),
        (false, lasts) => format!("{has} been {state} for {}", Span(lasts)),
    }
}

fn state(kind: Kind) -> &'static str {
    match kind {
        Kind::Deadlock => "in a deadlock",
        Kind::BlocksThread => "blocking a thread",
        Kind::Stuck => "stuck",
        Kind::FallingBehind => "falling behind",
        Kind::SlowStart => "starting",
        Kind::SlowEnd => "stopping",
        Kind::NearLimit => "near its limit",
        Kind::RestartLoop => "in a restart loop",
        Kind::ShortOfThreads => "short of threads",
        Kind::MessagesLost => "getting lost",
        Kind::BranchDown => "down",
    }
}

/// Says which problem is over. The actor may have continued, restarted or ended.
fn end(kind: Kind) -> &'static str {
    match kind {
        Kind::Deadlock => "is no longer in a deadlock",
        Kind::BlocksThread => "no longer blocks a thread",
        Kind::Stuck => "is no longer stuck",
        Kind::FallingBehind => "no longer falls behind",
        Kind::SlowStart => "is no longer starting",
        Kind::SlowEnd => "is no longer stopping",
        // It may still fail.
        Kind::NearLimit => "no longer fails often enough to reach its limit",
        Kind::RestartLoop => "is no longer in a restart loop",
        Kind::ShortOfThreads => "is no longer short of threads",
        Kind::MessagesLost => "no longer get lost",
        Kind::BranchDown => "is no longer down",
    }
}
