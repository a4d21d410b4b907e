//! One actor as text, in 80 columns: what the page's panel shows of it.
//!
//! Rule 22.4.

use std::time::Duration;

use supervise_core::NodeState;

use super::super::cards::{Card, Kind, Moment, at_limit, used};
use super::super::collector::View;
use super::super::detail::{Above, Detail, Policy, Waiting};
use super::super::past::fallen;
use super::super::rows::Row;
use super::super::sight::Time;
use super::super::words::{Count, Span, count, short_type, so_many};
use super::{ENDED, FAILURES, LAST, Lines, advice, failures, seen, since_and_why, system_at};

/// How many rules of a table are shown.
const RULES: usize = 40;

/// What a look found of the actor at `path`. `detail` is `None` if no actor is there.
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
        let is_told = |kind| view.cards.iter().any(|card| card.path == path && card.kind == kind);
        let ill = detail.row.kind.filter(|&kind| !is_told(kind));
        out.fill("    ", "    ", &does(&detail.row, ill, view.now));
    } else {
        out.fill("", "  ", &format!("There is no actor at {path}."));
        if !view.ends.iter().any(|(_, end)| end.child == path) {
            out.fill(
                "",
                "  ",
                "If there was one and it ended without a failure, the console has no record of it.",
            );
        }
        if path != "/user" && !path.starts_with("/user/") {
            out.fill("", "  ", "The actors of the program are below /user.");
        }
    }
    cards(&mut out, view, path);
    if let Some(detail) = detail {
        facts(&mut out, view.now, detail);
    }
    failures(&mut out, ENDED, view, &view.ends, Some(path));
    failures(&mut out, LAST, view, &view.failures, Some(path));
    out.0
}

/// The cards about an actor, and those of this actor and of branches right below it that are down.
fn cards(out: &mut Lines, view: &View, path: &str) {
    let own = view.cards.iter().filter(|card| card.path == path && card.kind != Kind::BranchDown);
    let is_its = |down: &str| down == path || down.rsplit_once('/').is_some_and(|(above, _)| above == path);
    let falls = view.falls.iter().rev().filter(|fall| fall.is_harm() && is_its(fall.down())).take(FAILURES);
    let cards: Vec<Card> = own.cloned().chain(falls.map(fallen)).collect();
    for card in &cards {
        let whom = if card.path == path { String::new() } else { format!(", {}", card.path) };
        out.fill("    ", "    ", &format!("{}{whom}: {}", card.title(), card.tell(view.now)));
        since_and_why(out, view, card);
    }
    advice(out, &cards);
}

/// What else is known of an actor that runs.
fn facts(out: &mut Lines, now: Time, detail: &Detail) {
    let Detail {
        row, capacity, last_handler, above, decides, matched, waits_for, below, askers, all_askers, ..
    } = detail;
    out.blank();
    let oldest = row.oldest.map_or_else(String::new, |oldest| format!(", the oldest for about {}", Span(oldest)));
    let room = capacity.map_or_else(|| "no bound".to_owned(), |room| format!("room for {}", count(room)));
    let stash = if row.stashed > 0 { format!("; {} stashed", count(row.stashed)) } else { String::new() };
    let waiting = if row.waiting == 1 { "waits" } else { "wait" };
    out.fact("Mailbox", &format!("{} {waiting}{oldest}; {room}{stash}", so_many(row.waiting, "message")));
    if row.waiting > 0 && row.kind.is_none() && row.state == NodeState::Running {
        out.fact("", "It falls behind once its oldest message has waited for 10 s.");
    }
    out.fact("Last in", &last_in(*last_handler, row));
    let next = row.due.map_or_else(String::new, |due| match due.saturating_sub(now) {
        Duration::ZERO => " so far, the next one now".to_owned(),
        left => format!(" so far, the next one in {}", Span(left)),
    });
    out.fact("Restarts", &format!("{}{next}", Count(row.restarts)));
    if let (Some(budget), Some(supervisor)) = (row.budget, above.first()) {
        out.fact("Limit", &format!("{}. At the limit, {}.", used(budget, &supervisor.path), at_limit(budget)));
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
    if let Some(more) = all_askers.checked_sub(askers.len()).filter(|more| *more > 0) {
        out.fill("  ", "", &format!("And {} more.", count(more)));
    }
    if let Some((nearest, farther)) = above.split_first() {
        policy(out, &format!("{} decides about it:", nearest.path), &nearest.decides, *matched);
        if !farther.is_empty() {
            out.blank();
            out.fill("", "", "If it is escalated, these decide next:");
        }
        for Above { path, decides } in farther {
            let rules = decides.brief().join("; ");
            let rules = if rules.is_empty() { &decides.strategy } else { &rules };
            out.fill("  ", "      ", &format!("{path}: {rules}"));
        }
    }
    if actors > 0 {
        policy(out, "It decides about its children:", decides, None);
    }
}

/// The handler that it entered last.
fn last_in(handler: Option<&str>, row: &Row) -> String {
    match handler {
        Some(handler) => format!("`{handler}`"),
        None if row.restarts > 0 => "no handler since its restart".to_owned(),
        None => "no handler yet".to_owned(),
    }
}

/// What it does now. `ill` says what is wrong with it; it is `None` if a card says that.
fn does(row: &Row, ill: Option<Kind>, now: Time) -> String {
    let long = row.since.map_or_else(String::new, |since| format!(" for {}", Span(now.saturating_sub(since))));
    if let Some(due) = row.due {
        let next = Moment::soon("It restarts", due).tell(now);
        return format!("Failed, {} in a row. {next}", so_many(u64::from(row.attempt), "time"));
    }
    let ill = ill.map_or_else(String::new, |kind| format!("{}. ", kind.title()));
    let what = match (row.state, row.handler, &row.waits_for) {
        (NodeState::Running, Some(handler), Some(other)) => format!("In `{handler}`{long}. It waits for {other}."),
        (NodeState::Running, Some(handler), None) => format!("In `{handler}`{long}."),
        (NodeState::Running, None, _) if row.waiting == 0 => "Running; no message waits.".to_owned(),
        (NodeState::Running, None, _) => "Running.".to_owned(),
        (NodeState::Failed, ..) => "It has failed.".to_owned(),
        (state, ..) if row.since.is_some() => format!("It has been {state}{long}."),
        (state, ..) => format!("It is {state}."),
    };
    ill + &what
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use supervise_core::NodeState;

    use super::super::super::rows::{Shown, row_of};
    use super::super::super::sight::Sight;
    use super::*;

    /// CON-08: of many that wait for one actor, the nearest are named, and the others are counted.
    #[test]
    fn con_08_the_text_counts_who_waits() {
        let sight = Sight {
            key: 7,
            depth: 3,
            name: "conn",
            actor_type: "shop::Connection",
            state: NodeState::Running,
            handling: true,
            parked: true,
            handler: Some("query"),
            pushed: 1,
            waiting: 0,
            capacity: None,
            stashed: 0,
            waits_for: Vec::new(),
            restarts: 0,
            attempt: 0,
            budget: None,
            endless: None,
            due: None,
            may_repeat: false,
        };
        let order = |n: usize| {
            (2, Waiting { path: Arc::from(format!("/user/order-{n}")), handler: Some("place"), since: Time::ZERO })
        };
        let said = |waiting, askers: usize, all_askers| {
            let sight = Sight { waiting, ..sight.clone() };
            let detail = Detail {
                key: 7,
                row: row_of(3, &sight, "/user/conn", &Shown::default()),
                capacity: None,
                last_handler: Some("query"),
                above: Vec::new(),
                decides: Policy { strategy: "one_for_one".to_owned(), rules: Vec::new() },
                matched: None,
                waits_for: Vec::new(),
                below: (0, 0),
                askers: (0..askers).map(order).collect(),
                all_askers,
            };
            actor("shop", &View::default(), Duration::ZERO, "/user/conn", Some(&detail))
        };
        // Its mailbox is empty. A mailbox with messages is well until the oldest one has waited for 10 s.
        let rule = "It falls behind once its oldest message has waited for 10 s.";
        assert!(!said(0, 0, 0).contains(rule) && said(3, 0, 0).contains(rule));
        let many = said(0, 20, 42);
        assert!(many.contains("    /user/order-19 in `place` for 0 ms\n  And 22 more.\n"), "{many}");
        assert!(!said(0, 20, 20).contains("more"), "{}", said(0, 20, 20));
    }
}
