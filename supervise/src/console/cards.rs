//! The cards: which card an actor gets, what it says, and in which order the cards come.
//!
//! Rule 22.3.

use std::collections::HashMap;
use std::time::Duration;

use supervise_core::{NodeState, Outcome};

use super::failing::Failing;
use super::history::{Fall, History, Losing};
use super::marks::Mark;
use super::sight::{Budget, Sight, Time};
use super::waits::{Behind, Waits};
use super::words::{Count, Span, and_others, count, outcome, reason, short_type, so_many};

/// An actor is stuck if it waits in the same message for this long and other messages wait.
const STUCK: Duration = Duration::from_secs(5);
/// How long actors wait for each other before that counts as a deadlock.
const DEADLOCK: Duration = Duration::from_secs(1);
/// An actor blocks a thread if its handler runs for this long without being at an await point.
const BLOCKS: Duration = Duration::from_secs(1);
/// How long a start, and an end, may take.
const SLOW_START: Duration = Duration::from_secs(5);
const SLOW_END: Duration = Duration::from_secs(10);
/// An actor falls behind if this many messages wait and more at each look, or if one waits for this long.
const MANY_WAIT: usize = 1_000;
const LONG_WAIT: Duration = Duration::from_secs(10);
const GROWS: u32 = 3;
/// How many groups of similar actors get cards.
const GROUPS: usize = 256;
/// How many cards there are.
pub(super) const MOST_CARDS: usize = 16;

/// What is wrong, the worst kind first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Deadlock,
    BlocksThread,
    Stuck,
    BranchDown,
    RestartLoop,
    MessagesLost,
    FallingBehind,
    SlowStart,
    SlowEnd,
    NearLimit,
}

impl Kind {
    /// The title on the page.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Deadlock => "Deadlock",
            Self::BlocksThread => "Blocks a thread",
            Self::Stuck => "Stuck",
            Self::BranchDown => "Branch down",
            Self::RestartLoop => "Restart loop",
            Self::FallingBehind => "Falling behind",
            Self::SlowStart => "Slow to start",
            Self::SlowEnd => "Slow to end",
            Self::MessagesLost => "Messages lost",
            Self::NearLimit => "Near its limit",
        }
    }

    /// The name in the JSON.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Deadlock => "deadlock",
            Self::BlocksThread => "blocks",
            Self::Stuck => "stuck",
            Self::BranchDown => "down",
            Self::RestartLoop => "loop",
            Self::FallingBehind => "behind",
            Self::SlowStart => "start",
            Self::SlowEnd => "end",
            Self::MessagesLost => "lost",
            Self::NearLimit => "limit",
        }
    }
}

/// Something that needs attention.
#[derive(Debug, Clone)]
pub(super) struct Card {
    pub(super) kind: Kind,
    /// How many actors it is about.
    pub(super) actors: usize,
    /// The path of the actor, or of the worst of several.
    pub(super) path: String,
    pub(super) actor_type: String,
    /// Identifies the card from one look to the next, together with its kind.
    #[cfg_attr(
        not(feature = "tracing"),
        expect(dead_code, reason = "only the log compares the cards of two looks")
    )]
    pub(super) subject: String,
    /// Since when the actor has the problem, if that is known.
    pub(super) since: Option<Time>,
    /// Sentences with the numbers that matter. They contain no text of the user.
    pub(super) says: String,
    /// The text of the failure, if there is one.
    pub(super) cause: Option<String>,
    /// How many messages it holds up, or how often it happened.
    pub(super) weight: u64,
}

/// What is wrong with an actor.
pub(super) fn ailment(
    sight: &Sight<'_>,
    mark: Option<&Mark>,
    failing: Option<&Failing>,
    waits: &Waits,
    now: Time,
) -> Option<Kind> {
    let lasted =
        |since: Option<Time>, long: Duration| since.is_some_and(|since| now.saturating_sub(since) >= long);
    let since = mark.map(|mark| mark.state_since);
    match sight.state {
        NodeState::Starting if failing.is_none_or(|failing| !failing.is_loop(true, now)) => {
            return lasted(since, SLOW_START).then_some(Kind::SlowStart);
        }
        NodeState::Stopping => return lasted(since, SLOW_END).then_some(Kind::SlowEnd),
        _ => {}
    }
    if let Some(mark) = mark {
        if lasted(mark.awake_since, BLOCKS) {
            return Some(Kind::BlocksThread);
        }
        if waits.is_in_circle(sight.key) && lasted(mark.message_since, DEADLOCK) {
            return Some(Kind::Deadlock);
        }
        let holds_up = sight.waiting > 0 || waits.is_awaited(sight.key);
        // The last look knows for whom the actor waits, if it found the actor in this message for long enough.
        let is_known = sight.waits_for.is_empty() || waits.get(sight.key).is_some();
        if holds_up && is_known && lasted(mark.message_since, STUCK) {
            return Some(Kind::Stuck);
        }
    }
    if failing.is_some_and(|failing| failing.is_loop(sight.due.is_some(), now)) {
        return Some(Kind::RestartLoop);
    }
    if sight.state == NodeState::Running && mark.is_some_and(|mark| falls_behind(sight, mark, now)) {
        return Some(Kind::FallingBehind);
    }
    sight.budget.filter(|budget| budget.of >= 2 && budget.used + 1 >= budget.of).map(|_| Kind::NearLimit)
}

fn falls_behind(sight: &Sight<'_>, mark: &Mark, now: Time) -> bool {
    let bound = sight.capacity.map_or(MANY_WAIT, |capacity| MANY_WAIT.min(capacity.div_ceil(5).saturating_mul(4)));
    let grows = sight.waiting >= bound.max(1) && mark.grew >= GROWS;
    let is_full = sight.capacity.is_some_and(|capacity| sight.waiting >= capacity && capacity >= 2);
    let full = is_full && mark.message_since.is_some_and(|since| now.saturating_sub(since) >= STUCK);
    grows || full || mark.oldest(now).is_some_and(|age| age.at_least >= LONG_WAIT)
}

/// The cards of one look.
#[derive(Debug, Default)]
pub(super) struct Hand {
    /// Similar actors share one card.
    groups: HashMap<(Kind, &'static str, Option<&'static str>), Card>,
    /// How many actors have a problem.
    pub(super) ill: usize,
}

impl Hand {
    /// Adds an actor that has a problem.
    pub(super) fn add(&mut self, kind: Kind, path: &str, sight: &Sight<'_>, known: &Known<'_>) {
        self.ill += 1;
        let code = match kind {
            Kind::RestartLoop => {
                known.failing.and_then(|failing| failing.decision.during.map(supervise_core::During::name))
            }
            Kind::Stuck | Kind::BlocksThread => sight.handler,
            _ => None,
        };
        let full = self.groups.len() >= GROUPS;
        let group = (kind, sight.actor_type, code);
        if full && !self.groups.contains_key(&group) {
            return;
        }
        let weight = weight(kind, sight, known);
        let card = self.groups.entry(group).or_insert_with(|| Card {
            kind,
            actors: 0,
            path: String::new(),
            actor_type: short_type(sight.actor_type),
            subject: format!("{} {}", sight.actor_type, code.unwrap_or_default()),
            since: None,
            says: String::new(),
            cause: None,
            weight: 0,
        });
        card.actors += 1;
        if card.actors == 1 || weight > card.weight {
            card.says = says(kind, sight, known);
            card.since = since(kind, known);
            card.cause = (kind == Kind::RestartLoop || kind == Kind::NearLimit)
                .then(|| known.failing.map(|failing| failing.decision.text.clone()))
                .flatten();
            path.clone_into(&mut card.path);
        }
        card.weight = card.weight.max(weight);
    }

    /// All cards, the worst one first: by kind, then by what it holds up.
    pub(super) fn play(self, history: &History, waits: &Waits, now: Time) -> Vec<Card> {
        let mut cards: Vec<Card> = self.groups.into_values().collect();
        leave_roots(&mut cards, Kind::SlowStart);
        leave_roots(&mut cards, Kind::SlowEnd);
        cards.extend(history.falls.iter().rev().filter(|fall| fall.is_harm()).map(|fall| fallen(fall, now)));
        cards.extend(lost(history, now));
        cards.extend(waits.circles.iter().filter_map(|circle| deadlock(circle, waits, now)));
        cards.sort_by(|a, b| (a.kind, b.weight, &a.path).cmp(&(b.kind, a.weight, &b.path)));
        cards
    }
}

/// Keeps only the lowest actors that start, or end, because the actors above wait for them.
fn leave_roots(cards: &mut Vec<Card>, kind: Kind) {
    let paths: Vec<String> =
        cards.iter().filter(|card| card.kind == kind).map(|card| format!("{}/", card.path)).collect();
    cards.retain(|card| {
        card.kind != kind || {
            let own = format!("{}/", card.path);
            !paths.iter().any(|path| path.len() > own.len() && path.starts_with(&own))
        }
    });
}

/// Other facts about an actor.
pub(super) struct Known<'a> {
    pub(super) mark: Option<&'a Mark>,
    pub(super) failing: Option<&'a Failing>,
    /// The supervisor's path.
    pub(super) supervisor: &'a str,
    /// Which actors waited for which at the last look.
    pub(super) waits: &'a Waits,
    pub(super) now: Time,
}

fn weight(kind: Kind, sight: &Sight<'_>, known: &Known<'_>) -> u64 {
    match kind {
        Kind::RestartLoop => known.failing.map_or(0, |failing| failing.failures),
        Kind::NearLimit => sight.budget.map_or(0, |budget| u64::from(budget.used)),
        Kind::Stuck => {
            let behind = known.waits.behind(sight.key);
            (behind.messages.max(sight.waiting) + behind.actors) as u64
        }
        _ => sight.waiting as u64,
    }
}

/// When the problem of an actor began.
fn since(kind: Kind, known: &Known<'_>) -> Option<Time> {
    let Known { mark, failing, now, .. } = *known;
    match kind {
        Kind::BlocksThread | Kind::Stuck => mark?.message_since,
        Kind::SlowStart | Kind::SlowEnd => Some(mark?.state_since),
        Kind::FallingBehind => Some(now.saturating_sub(mark?.oldest(now)?.at_least)),
        Kind::RestartLoop => Some(failing?.first),
        Kind::NearLimit => Some(failing?.last),
        Kind::Deadlock | Kind::BranchDown | Kind::MessagesLost => None,
    }
}

fn says(kind: Kind, sight: &Sight<'_>, known: &Known<'_>) -> String {
    let now = known.now;
    let ago = |since: Option<Time>| Span(now.saturating_sub(since.unwrap_or(now)));
    let mark = known.mark;
    let handler = sight.handler.map_or_else(|| "In a handler".to_owned(), |name| format!("In `{name}`"));
    match kind {
        Kind::BlocksThread => format!(
            "{handler} for {}, not at an `.await`: it blocks a thread. {}.",
            ago(mark.and_then(|mark| mark.message_since)),
            waits_behind(sight.waiting)
        ),
        Kind::Stuck => format!(
            "{handler} for {}: it waits at an `.await` and holds no thread. {}{}.{}",
            ago(mark.and_then(|mark| mark.message_since)),
            waits_behind(sight.waiting),
            oldest(mark, now),
            chain(&known.waits.behind(sight.key))
        ),
        Kind::FallingBehind => {
            let room = sight.capacity.map_or_else(String::new, |room| format!(" (room for {})", count(room)));
            format!(
                "{} wait{}{room}{}. {}.",
                so_many(sight.waiting as u64, "message"),
                if sight.waiting == 1 { "s" } else { "" },
                oldest(mark, now),
                if mark.is_some_and(|mark| mark.grew > 0) { "More at each look" } else { "Not more than before" }
            )
        }
        Kind::SlowStart => format!(
            "Starting for {}{}. {}.",
            ago(mark.map(|mark| mark.state_since)),
            in_hook(sight),
            waits_behind(sight.waiting)
        ),
        Kind::SlowEnd => format!(
            "Stopping for {}{}. {}.",
            ago(mark.map(|mark| mark.state_since)),
            in_hook(sight),
            waits_behind(sight.waiting)
        ),
        Kind::RestartLoop => known.failing.map_or_else(String::new, |failing| restart_loop(failing, sight, known)),
        Kind::NearLimit => sight.budget.map_or_else(String::new, |budget| near_limit(budget, known)),
        Kind::Deadlock | Kind::BranchDown | Kind::MessagesLost => String::new(),
    }
}

/// The actors that wait for it: `41 actors wait for its answer: order → ledger → conn-2.`
fn chain(behind: &Behind) -> String {
    let wait = match behind.actors {
        0 => return String::new(),
        1 => "1 actor waits".to_owned(),
        more => format!("{} actors wait", count(more)),
    };
    format!(" {wait} for its answer: {}.", ways(behind.chain.iter().map(|path| &**path)))
}

/// The last elements of paths, at most five of them.
fn ways<'a>(paths: impl DoubleEndedIterator<Item = &'a str> + ExactSizeIterator) -> String {
    let more = paths.len().saturating_sub(5);
    let names: Vec<&str> = paths.skip(more).map(name).collect();
    let before = if more > 0 { "… → " } else { "" };
    format!("{before}{}", names.join(" → "))
}

fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The card of actors that wait for each other.
fn deadlock(circle: &[u64], waits: &Waits, now: Time) -> Option<Card> {
    let links: Vec<_> = circle.iter().filter_map(|key| waits.get(*key)).collect();
    let first = links.first()?;
    let since = links.iter().map(|link| link.since).max()?;
    let messages: usize = links.iter().map(|link| link.messages).sum();
    let way = ways(links.iter().map(|link| &*link.path).collect::<Vec<_>>().into_iter());
    let behind = waits.behind(*circle.first()?).actors.saturating_sub(links.len() - 1);
    let others = match behind {
        0 => String::new(),
        1 => " 1 other actor waits for them.".to_owned(),
        others => format!(" {} other actors wait for them.", count(others)),
    };
    let handlers = links.iter().filter_map(|link| Some(format!("`{}`", link.handler?))).collect::<Vec<_>>();
    let says = format!(
        "{way} → {}: each waits for the answer of the next one, in {}, for {}. {}.{others}",
        name(&first.path),
        handlers.join(", "),
        Span(now.saturating_sub(since)),
        if messages == 0 { "Their mailboxes are empty".to_owned() } else { waits_behind(messages) }
    );
    Some(Card {
        kind: Kind::Deadlock,
        actors: links.len(),
        path: first.path.to_string(),
        actor_type: "actors".to_owned(),
        subject: first.path.to_string(),
        since: Some(since),
        says,
        cause: None,
        weight: (messages + behind) as u64,
    })
}

fn in_hook(sight: &Sight<'_>) -> String {
    sight.handler.map_or_else(String::new, |name| format!(", last in `{name}`"))
}

fn waits_behind(waiting: usize) -> String {
    match waiting {
        0 => "Its mailbox is empty".to_owned(),
        1 => "1 message waits behind it".to_owned(),
        more => format!("{} messages wait behind it", count(more)),
    }
}

fn oldest(mark: Option<&Mark>, now: Time) -> String {
    match mark.and_then(|mark| mark.oldest(now)) {
        Some(age) if age.at_least > Duration::ZERO => format!(", the oldest for {}", Span(age.at_least)),
        _ => String::new(),
    }
}

fn restart_loop(failing: &Failing, sight: &Sight<'_>, known: &Known<'_>) -> String {
    let Failing { failures, first, last, decision, .. } = failing;
    let within = last.saturating_sub(*first).max(Duration::from_secs(1));
    let during = decision.during.map_or_else(String::new, |during| format!(" in `{during}`"));
    let rule = decision.rule.map_or_else(String::new, |rule| format!(", rule `{rule}`"));
    let next = match sight.due {
        Some(due) => format!(
            " It is failure {} in a row; next try in {}.",
            decision.attempt,
            Span(due.saturating_sub(known.now))
        ),
        None => format!(" The last one was {} ago.", Span(known.now.saturating_sub(*last))),
    };
    let delayed = matches!(decision.outcome, Outcome::Restarting { delay: Some(_), .. });
    let then = match (sight.budget, sight.endless) {
        (Some(budget), _) => format!(" {}", near_limit(budget, known)),
        (None, Some(endless)) if endless.delays || !delayed => {
            " No limit: it is tried again after each such failure.".to_owned()
        }
        (None, _) => String::new(),
    };
    format!(
        "Failed {} in {}{during}. {} decides{rule}: {}.{next}{then}",
        if *failures == 1 { "once".to_owned() } else { format!("{} times", Count(*failures)) },
        Span(within),
        known.supervisor,
        outcome(decision.outcome),
    )
}

fn near_limit(budget: Budget, known: &Known<'_>) -> String {
    let Budget { used, of, within, escalates, rule, anew_at, slides } = budget;
    let within = match (within, anew_at) {
        (Some(within), _) => format!(" in {}", Span(within)),
        (None, None) => " of its life".to_owned(),
        // The window depends on the supervisor's instance.
        (None, Some(_)) => String::new(),
    };
    let then = if escalates { format!("fails {}", known.supervisor) } else { "stops it".to_owned() };
    let left = of.saturating_sub(used);
    let next = match left {
        0 => format!("The next failure {then}"),
        1 => format!("One restart is left; the failure after it {then}"),
        more => format!("{more} restarts are left; the failure after them {then}"),
    };
    let rule = rule.map_or_else(String::new, |rule| format!(" by rule `{rule}`"));
    let anew = anew_at.map_or_else(String::new, |at| {
        let what = if slides { "The oldest of them stops counting" } else { "The count starts anew" };
        format!(" {what} in {}.", Span(at.saturating_sub(known.now)))
    });
    format!("{used} of {of} restarts{within} used{rule}. {next}.{anew}")
}

fn fallen(fall: &Fall, now: Time) -> Card {
    let used = fall.used.map(|(used, of)| format!("{used} of {of} restarts used"));
    // The child that the last decision was about.
    let whom = fall.passed.last().map_or("it", |top| top);
    let (end, used_before) = match &fall.end {
        Some((Outcome::LimitReached { children }, by)) => {
            let used = used.map_or_else(String::new, |used| format!(": {used}"));
            (format!("{by} stopped {whom} at the limit{}{used}", and_others(*children)), None)
        }
        Some((Outcome::Stopped { children }, by)) => {
            (format!("{by} stopped {whom}{}", and_others(*children)), used)
        }
        Some((end, by)) => (format!("{by}: {}", outcome(*end)), used),
        None => (format!("{whom} failed with it"), used),
    };
    let way = if fall.passed.is_empty() {
        String::new()
    } else {
        let at_limit = used_before.map_or_else(String::new, |used| format!(" at the limit ({used})"));
        format!("The failure was escalated{at_limit}: {} → {}. ", fall.origin, fall.passed.join(" → "))
    };
    let says = format!("{way}{end}, {} ago.", Span(now.saturating_sub(fall.at)));
    let down = match (fall.passed.last(), &fall.end) {
        (Some(top), _) => top.clone(),
        (None, _) => fall.origin.clone(),
    };
    Card {
        kind: Kind::BranchDown,
        actors: 1,
        subject: down.clone(),
        path: down,
        actor_type: String::new(),
        since: Some(fall.at),
        says,
        cause: Some(fall.text.clone()),
        // The later one first.
        weight: fall.at.as_secs(),
    }
}

fn lost(history: &History, now: Time) -> Vec<Card> {
    let card = |path: String, actors, letters, first, says| Card {
        kind: Kind::MessagesLost,
        actors,
        subject: path.clone(),
        path,
        actor_type: String::new(),
        since: Some(first),
        says,
        cause: None,
        weight: letters,
    };
    let since = |first: Time| Span(now.saturating_sub(first));
    let mut cards: Vec<Card> = history
        .losing
        .iter()
        .filter(|losing| losing.is_many(now))
        .map(|losing| {
            let (kind, share) = losing.mostly();
            let says = format!(
                "{} in the last {}, {share} % `{kind}`: {}. The last one was {} ago.",
                so_many(losing.letters, "dead letter"),
                since(losing.first),
                reason(losing.reason),
                since(losing.last)
            );
            card(losing.recipient.clone(), 1, losing.letters, losing.first, says)
        })
        .collect();
    if cards.is_empty()
        && history.loses_many(now)
        && let Some(last) = history.losing.iter().max_by_key(|losing| losing.last)
    {
        let letters = history.losing.iter().map(|losing| losing.letters).sum();
        let first = history.losing.iter().map(|losing: &Losing| losing.first).min().unwrap_or(now);
        let (kind, _) = last.mostly();
        let says = format!(
            "{} to {} recipients in the last {}. The last one, `{kind}`, was for this one: {}.",
            so_many(letters, "dead letter"),
            count(history.losing.len()),
            since(first),
            reason(last.reason)
        );
        cards.push(card(last.recipient.clone(), history.losing.len(), letters, first, says));
    }
    cards
}
