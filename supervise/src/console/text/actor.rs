//! One actor as text, in 80 columns: what the page's panel shows of it.
//!
//! Rule 22.4.

use std::time::Duration;

use super::super::cards::{Kind, Moment};
use super::super::collector::View;
use super::super::detail::{Above, Detail, Policy, Waiting};
use super::super::rows::Row;
use super::super::sight::{Budget, Decision, Takes, Time};
use super::super::words::{Count, Rate, Span, count, outcome, short_type, so_many, state};
use super::{FAILURES, Lines, lasts, seen, system_at, when};

/// How many rules of a table are shown.
const RULES: usize = 40;

/// What a look found of the actor at `path`. `None`: it found no actor there.
pub(in super::super) fn actor(
    system: &str,
    view: &View,
    age: Duration,
    path: &str,
    detail: Option<&Detail>,
) -> String {
    let mut out = Lines::default();
    out.fill("", "  ", &system_at(system, view));
    seen(&mut out, view, age);
    out.blank();
    if let Some(detail) = detail {
        let Row { actor_type, .. } = &detail.row;
        out.fill("", "    ", &format!("{path}  {}", short_type(actor_type)));
        out.fill("    ", "    ", &does(&detail.row, view.now));
    } else {
        out.fill("", "  ", &format!("No actor is at {path}."));
        if path != "/user" && !path.starts_with("/user/") {
            out.fill("", "  ", "The actors of the program are below /user.");
        }
    }
    cards(&mut out, view, path);
    if let Some(detail) = detail {
        facts(&mut out, view.now, detail);
    }
    failures(&mut out, "Ended in the last hour, for a failure:", view, &view.ends, path);
    failures(&mut out, "Last failures:", view, &view.failures, path);
    out.0
}

/// The cards about an actor, and about a branch below it that is down.
fn cards(out: &mut Lines, view: &View, path: &str) {
    for card in &view.cards {
        let is_its_branch =
            || card.kind == Kind::BranchDown && card.path.rsplit_once('/').is_some_and(|(above, _)| above == path);
        let whom = match &*card.path {
            own if own == path => "",
            branch if is_its_branch() => branch,
            _ => continue,
        };
        let colon = if whom.is_empty() { "" } else { ", " };
        out.fill("    ", "    ", &format!("{}{colon}{whom}: {}", card.title(), card.tell(view.now)));
        if let Some(since) = card.since {
            out.fill("    ", "    ", &lasts(view, since));
        }
        if let Some(cause) = &card.cause {
            out.fill("    ", "    ", &format!("Why: {cause}"));
        }
    }
}

/// What else is known of an actor that runs.
fn facts(out: &mut Lines, now: Time, detail: &Detail) {
    let Detail { row, capacity, pushed, last_handler, above, decides, matched, waits_for, below, askers, .. } =
        detail;
    out.blank();
    let oldest = row.oldest.map_or_else(String::new, |oldest| format!(", the oldest for about {}", Span(oldest)));
    let room = capacity.map_or_else(|| "no bound".to_owned(), |room| format!("room for {}", count(room)));
    let stash = if row.stashed > 0 { format!("; {} stashed", count(row.stashed)) } else { String::new() };
    let waiting = if row.waiting == 1 { "waits" } else { "wait" };
    out.fact("Mailbox", &format!("{} {waiting}{oldest}; {room}{stash}", so_many(row.waiting, "message")));
    let rate = row.per_second.map_or_else(String::new, |rate| format!(", {} per s", Rate(rate)));
    let last = match last_handler {
        Some(handler) => format!("; the last in `{handler}`"),
        None if row.restarts > 0 => "; nothing since its restart".to_owned(),
        None => String::new(),
    };
    let handled = u64::from(*pushed).saturating_sub(row.waiting);
    out.fact("Handled", &format!("{}{rate}{last}", so_many(handled, "message")));
    out.fact("Restarts", &Count(row.restarts).to_string());
    if let Some(budget) = row.budget {
        out.fact("Limit", &limit(budget));
    }
    if let Some(anew) = row.budget.and_then(Moment::of) {
        out.fact("", &anew.tell(now));
    }
    let (actors, messages) = *below;
    if actors > 0 {
        let messages = so_many(messages as u64, "waiting message");
        out.fact("Below it", &format!("{}, with {messages}", so_many(actors as u64, "actor")));
    }
    waiting_list(out, "Waits for:", waits_for.iter().map(|waiting| (1, waiting)), now);
    waiting_list(out, "Actors that wait for it:", askers.iter().map(|(away, waiting)| (*away, waiting)), now);
    if let Some((nearest, farther)) = above.split_first() {
        policy(out, &format!("{} decides about it:", nearest.path), &nearest.decides, *matched);
        if !farther.is_empty() {
            out.blank();
            out.fill("", "", "If that escalates, these decide, by their last rule:");
        }
        for Above { path, decides } in farther {
            let rule = decides.rules.last().unwrap_or(&decides.strategy);
            out.fill("  ", "      ", &format!("{path}: {rule}"));
        }
    }
    if actors > 0 {
        policy(out, "It decides about its children:", decides, None);
    }
}

/// What it does now.
fn does(row: &Row, now: Time) -> String {
    let long = row.since.map_or_else(String::new, |since| format!(" for {}", Span(now.saturating_sub(since))));
    if let Some(due) = row.due {
        let next = Moment::soon("It restarts", due).tell(now);
        return format!("Failed, {} in a row. {next}", so_many(u64::from(row.attempt), "time"));
    }
    let ill = row.kind.map_or_else(String::new, |kind| format!("{}. ", kind.title()));
    let what = match (state(row.state), row.handler, &row.waits_for) {
        ("running", Some(handler), Some(other)) => format!("In `{handler}`{long}. It waits for {other}."),
        ("running", Some(handler), None) => format!("In `{handler}`{long}."),
        ("running", None, _) if row.waiting == 0 => "Running; no message waits.".to_owned(),
        ("running", None, _) => "Running.".to_owned(),
        (state, ..) => format!("It is {state}{long}."),
    };
    ill + &what
}

/// `2 of 5 restarts in 1 min used, by rule io::Error. At the limit, it stops.`
fn limit(budget: Budget) -> String {
    let Budget { used, of, within, takes, rule, .. } = budget;
    let within = within.map_or_else(String::new, |within| format!(" in {}", Span(within)));
    let rule = rule.map_or_else(String::new, |rule| format!(", by rule `{rule}`"));
    let then = match takes {
        Takes::Supervisor => "its supervisor fails",
        Takes::Siblings { .. } => "it stops, and siblings with it",
        Takes::Nobody => "it stops",
    };
    format!("{used} of {of} restarts{within} used{rule}. At the limit, {then}.")
}

fn waiting_list<'a>(
    out: &mut Lines,
    title: &str,
    list: impl ExactSizeIterator<Item = (usize, &'a Waiting)>,
    now: Time,
) {
    if list.len() > 0 {
        out.blank();
        out.fill("", "", title);
    }
    for (away, Waiting { path, handler, since }) in list {
        let handler = handler.map_or_else(String::new, |name| format!(" in `{name}`"));
        let long = Span(now.saturating_sub(*since));
        out.fill(&"  ".repeat(away.clamp(1, 10)), "      ", &format!("{path}{handler} for {long}"));
    }
}

fn policy(out: &mut Lines, title: &str, policy: &Policy, matched: Option<usize>) {
    out.blank();
    out.fill("", "  ", &format!("{title} {}", policy.strategy));
    for (at, rule) in policy.rules.iter().take(RULES).enumerate() {
        let decided = if matched == Some(at) { "   (decided the last failure)" } else { "" };
        out.fill("  ", "      ", &format!("{}  {rule}{decided}", at + 1));
    }
}

/// The failures of one actor, the newest one first.
fn failures(out: &mut Lines, title: &str, view: &View, failures: &[(Time, Decision)], path: &str) {
    let mut own = failures.iter().rev().filter(|(_, decision)| decision.child == path).take(FAILURES).peekable();
    if own.peek().is_some() {
        out.blank();
        out.fill("", "", title);
    }
    for (at, decision) in own {
        let during = decision.during.map_or_else(String::new, |during| format!(" in `{during}`"));
        let rule = decision.rule.map_or_else(String::new, |rule| format!(", rule `{rule}`"));
        let text = if decision.text.is_empty() { String::new() } else { format!(": {}", decision.text) };
        let used = decision.used.map_or_else(String::new, |(used, of)| format!(", {used} of {of} used"));
        let end = outcome(decision.outcome);
        let line =
            format!("{} failed{during}{text}; {end}{rule} of {}{used}", when(view, *at), decision.supervisor);
        out.fill("  ", "      ", &line);
    }
}
