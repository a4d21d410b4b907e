//! The cards: which card an actor gets, and in which order the cards come. [`says`] writes their sentences.
//!
//! Rule 22.3.

mod deadlocks;
mod says;

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use self::says::{also_behind, moments, says};
use super::ailments::is_near_limit;
use super::backlogs::Backlog;
use super::below::{Goes, Way};
use super::failing::Failing;
use super::marks::Mark;
use super::sight::{Budget, Decision, Sight, Time};
use super::waits::Waits;
use super::words::{Span, at_least, short_type};

pub(super) use self::deadlocks::subjects as deadlocked;
pub(super) use self::says::{above, at_limit, name, used};

/// For how many groups of similar actors cards are made.
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
    ShortOfThreads,
    MessagesLost,
    FallingBehind,
    SlowStart,
    SlowEnd,
    NearLimit,
}

impl Kind {
    /// What may be wrong with a single actor.
    pub(super) const OF_ACTORS: [Self; 8] = [
        Self::SlowStart,
        Self::SlowEnd,
        Self::BlocksThread,
        Self::Deadlock,
        Self::Stuck,
        Self::RestartLoop,
        Self::FallingBehind,
        Self::NearLimit,
    ];

    /// The title on the page.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Deadlock => "Deadlock",
            Self::BlocksThread => "Blocks a thread",
            Self::Stuck => "Stuck",
            Self::BranchDown => "Branch down",
            Self::RestartLoop => "Restart loop",
            Self::ShortOfThreads => "Short of threads",
            Self::FallingBehind => "Falling behind",
            Self::SlowStart => "Slow to start",
            Self::SlowEnd => "Slow to end",
            Self::MessagesLost => "Messages lost",
            Self::NearLimit => "Near its limit",
        }
    }

    /// What to do about it, as in the documentation.
    pub(super) fn advice(self) -> &'static str {
        match self {
            Self::Deadlock => {
                "Let one of them answer without waiting: reply later (`ReplyTo`), tell instead of ask, or give the ask a timeout."
            }
            Self::BlocksThread => {
                "Look at the handler that the card names. Move blocking calls and long computations to `ctx.blocking` or `spawn_blocking`."
            }
            Self::Stuck => {
                "Find out what the handler that the card names waits for: a lock, a socket, or an actor that the console cannot see, perhaps one of those that are listed below the cards. Give the call a timeout. A restart by hand drops the handler after the stop timeout."
            }
            Self::BranchDown => {
                "Fix the cause that the card shows, then spawn the branch again or restart the program. If the limit was too tight, change `max_retries` and `within`."
            }
            Self::RestartLoop => {
                "Fix the cause that the card shows. If a service is unavailable, use a backoff, so that the actor does not retry all the time. To make the next try at once, use \"Restart now\" on the actor, or restart the backoff supervisor that waits to replace it."
            }
            Self::ShortOfThreads => {
                "Move blocking calls and long computations to `ctx.blocking` or `spawn_blocking`, or give the runtime more threads."
            }
            Self::FallingBehind => {
                "Spread the work over a pool, make the handler faster, or bound the mailbox to slow the senders down."
            }
            Self::SlowStart | Self::SlowEnd => {
                "Give the hook a timeout. If an actor ends slowly although it has a stop timeout, it blocks a thread."
            }
            Self::MessagesLost => {
                "If the recipient has ended, find out who still uses its ref. If a backoff supervisor waits to replace its child, see its restart loop. If its mailbox is full, it falls behind."
            }
            Self::NearLimit => {
                "This is a warning: look at the actor's last failures, and fix their cause before the limit is reached. The card counts down to the moment at which the count starts anew."
            }
        }
    }

    /// Where the documentation says more about it. The address fits into a line of the text.
    pub(super) fn link(self) -> String {
        format!("https://docs.rs/supervise-actors/latest/supervise/docs/console/#{}", self.word())
    }

    /// The name in the JSON, and the anchor in the documentation.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Deadlock => "deadlock",
            Self::BlocksThread => "blocks",
            Self::Stuck => "stuck",
            Self::BranchDown => "down",
            Self::RestartLoop => "loop",
            Self::ShortOfThreads => "threads",
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
    /// Whether it may be about more actors, because not all of them are remembered.
    pub(super) at_least: bool,
    /// The path of the actor, or of the worst of several.
    pub(super) path: String,
    pub(super) actor_type: String,
    /// Identifies the card from one look to the next, together with its kind.
    pub(super) subject: String,
    /// The time since which the actor has had the problem, if that is known.
    pub(super) since: Option<Time>,
    /// Sentences with the numbers that matter, other than `since` and `moments`. They contain no text of the user.
    pub(super) says: String,
    /// What happened last, and what is still to come.
    pub(super) moments: Vec<Moment>,
    /// The text of the failure, if there is one.
    pub(super) cause: Option<String>,
    /// How many messages are held up, or how often it happened, for the worst of the actors. Of two cards of one kind, the heavier one comes
    /// first. See [`Card::order`].
    pub(super) weight: u64,
    /// Whether the actor is near its limit, although the card is about something worse.
    pub(super) near_limit: bool,
    /// If the card is about a limit: the actors whose end or failure at the limit takes others along.
    pub(super) goes: Option<Goes>,
}

/// Something that happened, or is still to come. The page counts on between two looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    /// What happens then: `The next try comes`, `The last one was`.
    pub(super) what: &'static str,
    pub(super) at: Time,
    pub(super) is_past: bool,
}

impl Moment {
    /// When fewer restarts are used of this limit, if nothing fails until then.
    pub(super) fn of(budget: Budget) -> Option<Self> {
        let what = if budget.slides { "The oldest restart stops counting" } else { "The count starts anew" };
        budget.anew_at.map(|at| Self::soon(what, at))
    }

    pub(super) fn soon(what: &'static str, at: Time) -> Self {
        Self { what, at, is_past: false }
    }

    pub(super) fn next_try(at: Time) -> Self {
        Self::soon("The next try comes", at)
    }

    /// The last failure, or the last message that was lost.
    pub(super) fn last(at: Time) -> Self {
        Self { what: "The last one was", at, is_past: true }
    }

    /// `The next try comes in 3 s.`, `The last one was 3 s ago.`
    pub(super) fn tell(self, now: Time) -> String {
        let Self { what, at, is_past } = self;
        match at.saturating_sub(now) {
            _ if is_past => format!("{what} {} ago.", Span(now.saturating_sub(at))),
            Duration::ZERO => format!("{what} now."),
            left => format!("{what} in {}.", Span(left)),
        }
    }
}

impl Card {
    /// The sentences, and those about the moments.
    pub(super) fn tell(&self, now: Time) -> String {
        let moments = self.moments.iter().map(|moment| format!(" {}", moment.tell(now)));
        std::iter::once(self.says.clone()).chain(moments).collect()
    }

    /// Cards are ordered by powers of ten, so that two whose numbers grow do not change places at every look. Of branches that are down, the
    /// weight is the time.
    fn order(&self) -> u64 {
        match self.kind {
            Kind::BranchDown => self.weight,
            _ => self.weight.checked_ilog10().map_or(0, |tens| u64::from(tens) + 1),
        }
    }

    /// The place of the card among others: the worst kind first, then how much it holds up, then the older one.
    fn rank(&self) -> impl Ord + '_ {
        (self.kind, !self.near_limit, Reverse(self.order()), self.since, &*self.path)
    }

    /// How many actors it is about, if it is about several: `40`, `at least 64`.
    pub(super) fn several(&self) -> Option<String> {
        (self.actors > 1).then(|| at_least(self.actors, self.at_least))
    }

    pub(super) fn title(&self) -> String {
        let limit = if self.near_limit { ", near its limit" } else { "" };
        format!("{}{limit}", self.kind.title())
    }
}

/// The cards of one look.
#[derive(Debug, Default)]
pub(super) struct Hand {
    /// Similar actors share one card.
    groups: HashMap<(Kind, &'static str, Option<&'static str>), Card>,
    /// How many actors have a problem.
    pub(super) ill: usize,
    /// The paths of the first of them.
    pub(super) unwell: Vec<String>,
    /// The groups of problems that have no card, because their actors have a worse problem or are named in the card of another actor.
    hidden: HashSet<(Kind, &'static str, Option<&'static str>)>,
}

/// How many unwell actors are named.
pub(super) const MOST_UNWELL: usize = 20;

impl Hand {
    /// Counts an actor that has a problem.
    pub(super) fn count(&mut self, path: &str) {
        self.ill += 1;
        if self.unwell.len() < MOST_UNWELL {
            self.unwell.push(path.to_owned());
        }
    }

    /// Notes a problem that has no card.
    pub(super) fn hide(&mut self, kind: Kind, sight: &Sight<'_>) {
        if self.hidden.len() < GROUPS {
            self.hidden.insert((kind, sight.actor_type, code(kind, sight)));
        }
    }

    /// The subjects of the problems that have no card.
    pub(super) fn hidden(&self) -> Vec<(Kind, String)> {
        self.hidden.iter().map(|(kind, actor_type, code)| (*kind, subject(actor_type, *code))).collect()
    }

    /// Adds an actor that has a problem. Returns the keys of those actors whose descendants the card has to name.
    pub(super) fn add(
        &mut self,
        kind: Kind,
        path: &str,
        sight: &Sight<'_>,
        known: &Known<'_>,
    ) -> Option<[u64; 2]> {
        let code = code(kind, sight);
        let full = self.groups.len() >= GROUPS;
        let group = (kind, sight.actor_type, code);
        if full && !self.groups.contains_key(&group) {
            return None;
        }
        let weight = weight(kind, sight, known);
        let card = self.groups.entry(group).or_insert_with(|| Card {
            kind,
            actors: 0,
            path: String::new(),
            actor_type: short_type(sight.actor_type),
            subject: subject(sight.actor_type, code),
            since: None,
            says: String::new(),
            moments: Vec::new(),
            cause: None,
            weight: 0,
            near_limit: false,
            at_least: false,
            goes: None,
        });
        card.actors += 1;
        if card.actors == 1 || weight > card.weight {
            card.says = says(kind, sight, known);
            card.moments = moments(kind, sight, known.failing);
            card.since = since(kind, known);
            card.cause = (kind == Kind::RestartLoop || kind == Kind::NearLimit)
                .then(|| known.failing.and_then(|failing| text_of(&failing.decision)))
                .flatten();
            path.clone_into(&mut card.path);
            card.near_limit = kind == Kind::RestartLoop && is_near_limit(sight, known.failing, known.now);
            let fails = matches!(kind, Kind::RestartLoop | Kind::NearLimit);
            card.goes = sight.budget.filter(|_| fails && !was_nearer(sight, known)).map(|budget| Goes {
                key: sight.key,
                supervisor: known.above,
                path: path.to_owned(),
                takes: budget.takes,
            });
            card.weight = weight;
        }
        card.goes.as_ref().map(|goes| [goes.key, goes.supervisor])
    }

    /// All cards, the worst one first. `others` are those that are not about single actors of this look. `doubtful`: the
    /// problems that more actors may have.
    pub(super) fn play(
        self,
        others: Vec<Card>,
        waits: &Waits,
        backlogs: &[Backlog],
        way: &Way,
        doubtful: &[Kind],
        now: Time,
    ) -> Vec<Card> {
        let mut cards: Vec<Card> = self.groups.into_values().collect();
        for card in &mut cards {
            if let Some(goes) = &card.goes {
                card.says += &way.tell(goes);
            }
        }
        leave_roots(&mut cards, Kind::SlowStart);
        leave_roots(&mut cards, Kind::SlowEnd);
        cards.extend(others);
        for card in cards.iter_mut().filter(|card| doubtful.contains(&card.kind)) {
            card.at_least = card.actors > 1;
        }
        cards.extend(deadlocks::cards(waits));
        cards.sort_by(|a, b| a.rank().cmp(&b.rank()));
        if let Some(card) = cards.iter_mut().find(|card| card.kind == Kind::FallingBehind) {
            card.says += &also_behind(backlogs, &card.path, now);
        }
        cards
    }
}

/// The handler that cards of this kind are about. A restart loop is that of the actor, whose failures may come from several handlers.
fn code(kind: Kind, sight: &Sight<'_>) -> Option<&'static str> {
    match kind {
        Kind::Stuck | Kind::BlocksThread => sight.handler,
        _ => None,
    }
}

pub(super) fn subject(actor_type: &str, code: Option<&str>) -> String {
    format!("{actor_type} {}", code.unwrap_or_default())
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
    /// Since when it falls behind, if it does.
    pub(super) behind_since: Option<Time>,
    pub(super) failing: Option<&'a Failing>,
    /// The supervisor's path, and its key.
    pub(super) supervisor: &'a str,
    pub(super) above: u64,
    /// Which actors waited for which at the last look.
    pub(super) waits: &'a Waits,
    pub(super) now: Time,
}

/// Whether an actor counts as near its limit only because it was near it before its last failures.
fn was_nearer(sight: &Sight<'_>, known: &Known<'_>) -> bool {
    let stays = |budget| known.failing.is_some_and(|failing| failing.stays_near(budget, known.now));
    sight.budget.is_some_and(|budget| !budget.is_near() && stays(budget))
}

/// How many messages it holds up, or how often it happened.
fn weight(kind: Kind, sight: &Sight<'_>, known: &Known<'_>) -> u64 {
    match kind {
        Kind::RestartLoop => known.failing.map_or(u64::from(sight.attempt), |failing| failing.failures),
        Kind::NearLimit => sight.budget.map_or(0, |budget| u64::from(budget.used)),
        Kind::Stuck => {
            let behind = known.waits.behind(sight.key);
            (behind.messages.max(sight.waiting) + behind.actors) as u64
        }
        _ => sight.waiting as u64,
    }
}

/// The text of a failure, unless texts are hidden.
pub(super) fn text_of(decision: &Decision) -> Option<String> {
    Some(&decision.text).filter(|text| !text.is_empty()).cloned()
}

/// When the problem of an actor began.
fn since(kind: Kind, known: &Known<'_>) -> Option<Time> {
    let Known { mark, failing, .. } = *known;
    match kind {
        Kind::BlocksThread | Kind::Stuck => mark?.message_since,
        Kind::SlowStart | Kind::SlowEnd => Some(mark?.state_since),
        Kind::FallingBehind => known.behind_since,
        Kind::RestartLoop => failing.map(Failing::looping),
        Kind::NearLimit => failing.map(Failing::near_since),
        Kind::Deadlock | Kind::BranchDown | Kind::MessagesLost | Kind::ShortOfThreads => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::COLUMNS;
    use super::*;

    #[test]
    fn the_documentation_has_advice_on_each_kind_of_card() {
        let others = [Kind::BranchDown, Kind::ShortOfThreads, Kind::MessagesLost];
        let kinds: HashSet<Kind> = Kind::OF_ACTORS.into_iter().chain(others).collect();
        assert_eq!(kinds.len(), Kind::NearLimit as usize + 1);
        for kind in kinds {
            let link = kind.link();
            assert!(link.len() + 2 <= COLUMNS, "{link}");
            let anchor = link.split_once('#').map(|(_, anchor)| format!("<a id=\"{anchor}\"></a>")).unwrap();
            let mut rows = include_str!("../../docs/console.md").lines().filter(|row| row.contains(&anchor));
            let (Some(row), None) = (rows.next(), rows.next()) else { panic!("one row has {anchor}") };
            let advice = row.trim_end_matches(" |").rsplit(" | ").next().map(|advice| advice.replace('*', ""));
            assert_eq!(advice.as_deref(), Some(kind.advice()), "{anchor}");
        }
    }
}
