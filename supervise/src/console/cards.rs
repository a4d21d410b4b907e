//! The cards: which card an actor gets, what it says, and in which order the cards come.
//!
//! Rule 22.3.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use supervise_core::{During, Outcome};

use super::ailments::is_near_limit;
use super::backlogs::Backlog;
use super::below::{Goes, Way};
use super::failing::Failing;
use super::history::History;
use super::marks::Mark;
use super::past::{down, lost};
use super::sight::{Budget, Counts, Decision, Sight, Takes, Time};
use super::waits::{Behind, Waits};
use super::words::{Count, Ordinal, Span, count, outcome, short_type, so_many};

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

    /// The name in the JSON.
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

/// After this long in one message, the card of an actor that falls behind names the handler.
const LONG: Duration = Duration::from_secs(1);

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
    pub(super) fn hide(&mut self, kind: Kind, sight: &Sight<'_>, failing: Option<&Failing>) {
        if self.hidden.len() < GROUPS {
            self.hidden.insert((kind, sight.actor_type, code(kind, sight, failing)));
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
        let code = code(kind, sight, known.failing);
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
            card.goes = sight.budget.filter(|_| fails).map(|budget| Goes {
                key: sight.key,
                supervisor: known.above,
                path: path.to_owned(),
                takes: budget.takes,
            });
            card.weight = weight;
        }
        card.goes.as_ref().map(|goes| [goes.key, goes.supervisor])
    }

    /// All cards, the worst one first: by kind, then by how much it holds up, then the older one.
    pub(super) fn play(
        self,
        history: &History,
        waits: &Waits,
        backlogs: &[Backlog],
        way: &Way,
        threads: Option<Card>,
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
        cards.extend(down(&history.falls));
        cards.extend(lost(history, now));
        cards.extend(threads);
        cards.extend(waits.circles.iter().filter_map(|circle| deadlock(circle, waits)));
        cards.sort_by(|a, b| {
            let rank = |card: &Card| (card.kind, !card.near_limit, Reverse(card.order()), card.since);
            rank(a).cmp(&rank(b)).then_with(|| a.path.cmp(&b.path))
        });
        if let Some(card) = cards.iter_mut().find(|card| card.kind == Kind::FallingBehind) {
            card.says += &also_behind(backlogs, &card.path, now);
        }
        cards
    }
}

/// The handler or hook that cards of this kind are about.
fn code(kind: Kind, sight: &Sight<'_>, failing: Option<&Failing>) -> Option<&'static str> {
    match kind {
        Kind::RestartLoop => failing.and_then(|failing| failing.decision.during.map(During::name)),
        Kind::Stuck | Kind::BlocksThread => sight.handler,
        _ => None,
    }
}

fn subject(actor_type: &str, code: Option<&str>) -> String {
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

/// How many messages it holds up, or how often it happened.
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
        Kind::RestartLoop => Some(failing?.first),
        Kind::NearLimit => Some(failing?.last),
        Kind::Deadlock | Kind::BranchDown | Kind::MessagesLost | Kind::ShortOfThreads => None,
    }
}

fn says(kind: Kind, sight: &Sight<'_>, known: &Known<'_>) -> String {
    let now = known.now;
    let mark = known.mark;
    let handler = sight.handler.map_or_else(|| "In a handler".to_owned(), |name| format!("In `{name}`"));
    match kind {
        Kind::BlocksThread => format!(
            "{handler}, not at an `.await`: it blocks a thread. {}{}.",
            waits_behind(sight.waiting),
            oldest(mark, now)
        ),
        Kind::Stuck => format!(
            "{handler}: it waits at an `.await` and holds no thread. {}{}.{}",
            waits_behind(sight.waiting),
            oldest(mark, now),
            chain(&known.waits.behind(sight.key), sight.waiting, now)
        ),
        Kind::FallingBehind => {
            let room = sight.capacity.map_or_else(String::new, |room| format!(" (room for {})", count(room)));
            let inside =
                mark.and_then(|mark| mark.message_since).filter(|since| now.saturating_sub(*since) >= LONG);
            format!(
                "{}{room}{}.{}{}",
                wait(sight.waiting),
                oldest(mark, now),
                if mark.is_some_and(|mark| mark.grew > 0) { " More at each look." } else { "" },
                inside.map_or_else(String::new, |since| format!(
                    " {handler} for {}.",
                    Span(now.saturating_sub(since))
                ))
            )
        }
        Kind::SlowStart => {
            format!("It is starting. {}{}.", waits_behind(sight.waiting), oldest(mark, now))
        }
        Kind::SlowEnd => {
            let last = sight.handler.map_or_else(String::new, |name| format!(", last in `{name}`"));
            format!("It is stopping{last}. {}{}.", waits_behind(sight.waiting), oldest(mark, now))
        }
        Kind::RestartLoop => {
            let says = known.failing.map_or_else(String::new, |failing| restart_loop(failing, sight, known));
            says + &mailbox(sight, known)
        }
        Kind::NearLimit => {
            let says = sight.budget.map_or_else(String::new, |budget| near_limit(budget, sight, known));
            says + &mailbox(sight, known)
        }
        Kind::Deadlock | Kind::BranchDown | Kind::MessagesLost | Kind::ShortOfThreads => String::new(),
    }
}

/// The actors that wait for it: `41 actors wait for its answer: order → ledger → conn-2.`
///
/// `own`: how many of the messages wait in its own mailbox.
fn chain(behind: &Behind, own: usize, now: Time) -> String {
    let actors = match behind.actors {
        0 => return String::new(),
        1 => "1 actor waits".to_owned(),
        more => format!("{} actors wait", count(more)),
    };
    let them = if behind.actors == 1 { "it" } else { "them" };
    let messages = match behind.messages.saturating_sub(own) {
        0 => String::new(),
        more => format!(" {} behind {them}{}.", wait(more), for_about(behind.oldest, now)),
    };
    format!(" {actors} for its answer: {}.{messages}", ways(behind.chain.iter().map(|path| &**path)))
}

/// The last elements of paths, at most five of them.
fn ways<'a>(paths: impl DoubleEndedIterator<Item = &'a str> + ExactSizeIterator) -> String {
    let more = paths.len().saturating_sub(5);
    let names: Vec<&str> = paths.skip(more).map(name).collect();
    let before = if more > 0 { "… → " } else { "" };
    format!("{before}{}", names.join(" → "))
}

pub(super) fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The card of actors that wait for each other.
fn deadlock(circle: &[u64], waits: &Waits) -> Option<Card> {
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
        "{way} → {}: each waits for the answer of the next one, in {}. {}.{others}",
        name(&first.path),
        handlers.join(", "),
        if messages == 0 {
            "Their mailboxes are empty".to_owned()
        } else {
            wait(messages) + " in their mailboxes"
        }
    );
    Some(Card {
        kind: Kind::Deadlock,
        actors: links.len(),
        path: first.path.to_string(),
        actor_type: "actors".to_owned(),
        subject: first.path.to_string(),
        since: Some(since),
        says,
        moments: Vec::new(),
        cause: None,
        weight: (messages + behind) as u64,
        near_limit: false,
        goes: None,
    })
}

fn waits_behind(waiting: usize) -> String {
    match waiting {
        0 => "Its mailbox is empty".to_owned(),
        more => wait(more) + " behind it",
    }
}

fn oldest(mark: Option<&Mark>, now: Time) -> String {
    for_about(mark.and_then(|mark| mark.oldest(now)).map(|age| now.saturating_sub(age.at_least)), now)
}

/// How old the oldest of several messages is, if that is known: `, the oldest for about 7 min`.
fn for_about(arrived: Option<Time>, now: Time) -> String {
    match arrived.map(|arrived| now.saturating_sub(arrived)) {
        Some(age) if age > Duration::ZERO => format!(", the oldest for about {}", Span(age)),
        _ => String::new(),
    }
}

/// `432 messages wait`.
fn wait(waiting: usize) -> String {
    let verb = if waiting == 1 { "waits" } else { "wait" };
    format!("{} {verb}", so_many(waiting as u64, "message"))
}

/// The mailbox of an actor that falls behind and whose card is about something worse.
fn mailbox(sight: &Sight<'_>, known: &Known<'_>) -> String {
    match known.behind_since {
        Some(_) => format!(" {}{}.", wait(sight.waiting), oldest(known.mark, known.now)),
        None => String::new(),
    }
}

/// The mailboxes with the oldest messages, other than that of the card: ` Other mailboxes that fall behind: gateway (432 messages, the oldest
/// for about 7 min).`
fn also_behind(backlogs: &[Backlog], but: &str, now: Time) -> String {
    let others: Vec<String> = backlogs
        .iter()
        .filter(|backlog| backlog.path != but)
        .map(|backlog| format!("{} ({})", name(&backlog.path), backlog.tell(now)))
        .collect();
    if others.is_empty() {
        String::new()
    } else {
        format!(" Other mailboxes that fall behind: {}.", others.join(", "))
    }
}

fn restart_loop(failing: &Failing, sight: &Sight<'_>, known: &Known<'_>) -> String {
    let Failing { failures, first, last, decision, .. } = failing;
    let within = Span(last.saturating_sub(*first).max(Duration::from_secs(1)));
    let failed = match (*failures, decision.during) {
        (1, None) => "Failed".to_owned(),
        (1, Some(during)) => format!("Failed in `{during}`"),
        (more, None) => format!("Failed {} times within {within}", Count(more)),
        (more, Some(during)) => {
            format!("Failed {} times within {within}, the last time in `{during}`", Count(more))
        }
    };
    let rule = decision.rule.map_or_else(String::new, |rule| format!(", rule `{rule}`"));
    let in_a_row = match failing.next_try(sight) {
        Some(_) => format!(" That was its {} failure in a row.", Ordinal(decision.attempt)),
        None => String::new(),
    };
    let delayed = matches!(decision.outcome, Outcome::Restarting { delay: Some(_), .. });
    let then = match (sight.budget, sight.endless) {
        (Some(budget), _) => format!(" {}", near_limit(budget, sight, known)),
        (None, Some(endless)) if endless.delays || !delayed => {
            " No limit: it is tried again after each such failure.".to_owned()
        }
        (None, _) => String::new(),
    };
    format!("{failed}. {} decides{rule}: {}.{in_a_row}{then}", known.supervisor, outcome(decision.outcome))
}

/// What is used of a limit: `4 of 5 restarts in 1 min used`, `1 of the 2 restarts that rule `Boom` allows in 1 min are used`.
pub(super) fn used(budget: Budget, supervisor: &str) -> String {
    let Budget { used, of, within, counts, rule, anew_at, .. } = budget;
    let within = match (within, anew_at) {
        (Some(within), _) => format!(" in {}", Span(within)),
        (None, None) => " in its life".to_owned(),
        // The window depends on the supervisor's instance.
        (None, Some(_)) => String::new(),
    };
    let by = match counts {
        Counts::All => format!(", by all children of {supervisor} together"),
        Counts::Own | Counts::Group => String::new(),
    };
    match rule {
        Some(rule) => format!("{used} of the {of} restarts that rule `{rule}` allows{within} are used{by}"),
        None => format!("{used} of {of} restarts{within} used{by}"),
    }
}

/// What happens at the limit: `it stops`.
pub(super) fn at_limit(budget: Budget) -> &'static str {
    match budget.takes {
        Takes::Supervisor => "its supervisor fails",
        Takes::Siblings { later: false } => "it stops, and its siblings with it",
        Takes::Siblings { later: true } => "it stops, and with it the siblings that were started after it",
        Takes::Nobody => "it stops",
    }
}

/// What is used of the limit, and what follows if all of it is.
fn near_limit(budget: Budget, sight: &Sight<'_>, known: &Known<'_>) -> String {
    let (supervisor, top) = (known.supervisor, above(known.supervisor));
    let used_up = used(budget, supervisor);
    if budget.used == 0 {
        return format!("{used_up}: the count has just started anew.");
    }
    let fails = budget.takes == Takes::Supervisor;
    if known.failing.is_some_and(|failing| !failing.may_reach(budget, sight)) {
        let then = if fails {
            format!("{supervisor} would fail and {top} would decide")
        } else {
            "it would be stopped".to_owned()
        };
        return format!("{used_up}. At this pace it will not reach the limit, where {then}.");
    }
    let then = if fails { format!("makes {supervisor} fail, and {top} decides") } else { "stops it".to_owned() };
    match budget.of.saturating_sub(budget.used) {
        0 => format!("{used_up}. The next failure {then}."),
        1 => format!("{used_up}. One restart is left; after that, one more failure {then}."),
        more => format!("{used_up}. {more} restarts are left; after that, one more failure {then}."),
    }
}

/// What else happened, or is still to come, for an actor that fails.
fn moments(kind: Kind, sight: &Sight<'_>, failing: Option<&Failing>) -> Vec<Moment> {
    let of_loop = failing.filter(|_| kind == Kind::RestartLoop).map(|failing| match failing.next_try(sight) {
        Some(at) => Moment::soon("The next try comes", at),
        None => Moment::last(failing.last),
    });
    let fails = matches!(kind, Kind::RestartLoop | Kind::NearLimit);
    of_loop.into_iter().chain(sight.budget.filter(|_| fails).and_then(Moment::of)).collect()
}

/// The path of the supervisor of this actor.
fn above(path: &str) -> &str {
    path.rsplit_once('/').map_or("/", |(above, _)| if above.is_empty() { "/" } else { above })
}
