//! What the card of an actor says.
//!
//! Rule 22.3.

use std::time::Duration;

use supervise_core::{During, Outcome};

use super::super::backlogs::Backlog;
use super::super::failing::Failing;
use super::super::marks::Mark;
use super::super::sight::{Budget, Counts, Sight, Takes, Time};
use super::super::waits::Behind;
use super::super::words::{Count, Ordinal, Span, code, count, outcome, so_many};
use super::{Kind, Known, Moment, was_nearer};

/// After this long in one message, the card of an actor that falls behind names the handler.
const LONG: Duration = Duration::from_secs(1);

pub(super) fn says(kind: Kind, sight: &Sight<'_>, known: &Known<'_>) -> String {
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
            let unknown = || {
                let failed = so_many(u64::from(sight.attempt), "time");
                format!("Failed {failed} in a row. {} decides.", known.supervisor)
            };
            let says = known.failing.map_or_else(unknown, |failing| restart_loop(failing, sight, known));
            says + &mailbox(sight, known)
        }
        Kind::NearLimit => {
            let says = sight.budget.map_or_else(String::new, |budget| near_limit(budget, sight, known));
            says + &mailbox(sight, known)
        }
        Kind::Deadlock | Kind::BranchDown | Kind::MessagesLost | Kind::ShortOfThreads => String::new(),
    }
}

/// The actors that wait for it: `42 actors wait for its answer, such as order → ledger → conn-2. 40 messages wait in their mailboxes.`
///
/// `own`: how many of the messages wait in its own mailbox.
fn chain(behind: &Behind, own: usize, now: Time) -> String {
    let actors = match behind.actors {
        0 => return String::new(),
        1 => "1 actor waits".to_owned(),
        more => format!("{} actors wait", count(more)),
    };
    let theirs = if behind.actors == 1 { "that actor's mailbox" } else { "their mailboxes" };
    let such_as = if behind.actors < behind.chain.len() { ":" } else { ", such as" };
    let messages = match behind.messages.saturating_sub(own) {
        0 => String::new(),
        more => format!(" {} in {theirs}{}.", wait(more), for_about(behind.oldest, now)),
    };
    format!(" {actors} for its answer{such_as} {}.{messages}", ways(behind.chain.iter().map(|path| &**path)))
}

/// How many actors of a way are named.
pub(super) const WAY: usize = 5;

/// The last elements of paths, at most [`WAY`] of them.
pub(super) fn ways<'a>(paths: impl DoubleEndedIterator<Item = &'a str> + ExactSizeIterator) -> String {
    let more = paths.len().saturating_sub(WAY);
    let names: Vec<&str> = paths.skip(more).map(name).collect();
    let before = if more > 0 { "… → " } else { "" };
    format!("{before}{}", names.join(" → "))
}

pub(in super::super) fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

fn waits_behind(waiting: usize) -> String {
    match waiting {
        0 => "Its mailbox is empty".to_owned(),
        more => wait(more) + " behind it",
    }
}

fn oldest(mark: Option<&Mark>, now: Time) -> String {
    for_about(mark.and_then(|mark| mark.oldest(now)).map(|age| now.saturating_sub(age.about)), now)
}

/// How old the oldest of several messages is, if that is known: `, the oldest for about 7 min`.
fn for_about(arrived: Option<Time>, now: Time) -> String {
    match arrived.map(|arrived| now.saturating_sub(arrived)) {
        Some(age) if age > Duration::ZERO => format!(", the oldest for about {}", Span(age)),
        _ => String::new(),
    }
}

/// `432 messages wait`.
pub(super) fn wait(waiting: usize) -> String {
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
pub(super) fn also_behind(backlogs: &[Backlog], but: &str, now: Time) -> String {
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
    let failed = match (*failures, code(decision)) {
        (1, None) => "Failed".to_owned(),
        (1, Some(code)) => format!("Failed in {code}"),
        (more, None) => format!("Failed {} times within {within}", Count(more)),
        (more, Some(code)) => format!("Failed {} times within {within}, the last time in {code}", Count(more)),
    };
    let rule = decision.rule.map_or_else(String::new, |rule| format!(", rule `{rule}`"));
    let in_a_row = match failing.next_try(sight) {
        Some(_) => format!(" That was its {} failure in a row.", Ordinal(failing.attempt(sight))),
        None => String::new(),
    };
    let delayed = matches!(decision.outcome, Outcome::Restarting { delay: Some(_), .. });
    let then = match (sight.budget, sight.endless) {
        (Some(budget), _) => format!(" {}", near_limit(budget, sight, known)),
        (None, Some(endless)) if endless.delays || !delayed => {
            " No limit: this rule restarts it each time.".to_owned()
        }
        (None, _) => String::new(),
    };
    // The message of an escalated failure was for another actor.
    let message = match decision.during.filter(|_| decision.origin.is_none()) {
        Some(During::Handler(_)) if sight.may_repeat => " The message that failed may be delivered again.",
        Some(During::Handler(_)) => " The message that failed is not delivered again.",
        _ => "",
    };
    let decided = outcome(decision.outcome);
    format!("{failed}.{message} {} decides{rule}: {decided}.{in_a_row}{then}", known.supervisor)
}

/// What is used of a limit: `4 of 5 restarts in 1 min used`, `1 of the 2 restarts that rule `Boom` allows in 1 min are used`.
pub(in super::super) fn used(budget: Budget, supervisor: &str) -> String {
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
pub(in super::super) fn at_limit(budget: Budget) -> &'static str {
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
    if let Some(within) = budget.within.filter(|_| was_nearer(sight, known)) {
        let within = Span(within);
        return format!(
            "{used_up} now. It was near this limit before, and counts as near it until it has not failed for {within}."
        );
    }
    if budget.used == 0 {
        return format!("{used_up} now.");
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
        1 => format!("{used_up}. One restart is left. The failure after it {then}."),
        more => format!("{used_up}. {more} restarts are left. The failure after them {then}."),
    }
}

/// What else happened, or is still to come, for an actor that fails.
pub(super) fn moments(kind: Kind, sight: &Sight<'_>, failing: Option<&Failing>) -> Vec<Moment> {
    let next = failing.map_or(sight.due, |failing| failing.next_try(sight));
    let next = next.map(Moment::next_try);
    let of_loop = next.or(failing.map(|failing| Moment::last(failing.last))).filter(|_| kind == Kind::RestartLoop);
    let fails = matches!(kind, Kind::RestartLoop | Kind::NearLimit);
    of_loop.into_iter().chain(sight.budget.filter(|_| fails).and_then(Moment::of)).collect()
}

/// The path of the supervisor of this actor.
pub(in super::super) fn above(path: &str) -> &str {
    path.rsplit_once('/').map_or("/", |(above, _)| if above.is_empty() { "/" } else { above })
}
