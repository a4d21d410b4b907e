//! The cards about what happened: branches that went down, and lost messages.
//!
//! Rule 22.3.

use supervise_core::Outcome;

use super::cards::{Card, Kind, Moment, magnitude, name};
use super::history::{Fall, History, Losing};
use super::sight::Time;
use super::words::{and_others, count, outcome, reason, so_many, some_of};

pub(super) fn fallen(fall: &Fall) -> Card {
    let used = fall.used.map(|(used, of)| format!("{used} of {of} restarts used"));
    // The actor that the last decision was about.
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
    let failed = fall.during.map_or_else(String::new, |during| {
        let who = if fall.passed.is_empty() { "It" } else { name(&fall.origin) };
        format!("{who} failed in `{during}`. ")
    });
    let rule = fall.rule.map_or_else(String::new, |rule| format!(", rule `{rule}`"));
    let says = format!("{failed}{way}{end}{rule}.");
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
        moments: Vec::new(),
        cause: Some(fall.text.clone()),
        // The later end comes first.
        weight: fall.at.as_secs(),
        near_limit: false,
        goes: None,
    }
}

/// The senders of the messages: ` Sent by /user/till and 2 more.`
fn sent_by(losing: &Losing) -> String {
    let senders = losing.senders();
    if senders.is_empty() {
        return String::new();
    }
    let all = senders.len();
    format!(" Sent by {}.", some_of(senders.into_iter(), 3, all))
}

pub(super) fn lost(history: &History, now: Time) -> Vec<Card> {
    let card = |path: String, actors, letters, first, last, says| Card {
        kind: Kind::MessagesLost,
        actors,
        subject: path.clone(),
        path,
        actor_type: String::new(),
        since: Some(first),
        says,
        moments: vec![Moment::last(last)],
        cause: None,
        weight: magnitude(letters),
        near_limit: false,
        goes: None,
    };
    let mut cards: Vec<Card> = history
        .losing
        .iter()
        .filter(|losing| losing.is_many(now))
        .map(|losing| {
            let (kind, share) = losing.mostly();
            let says = format!(
                "{}, {share} % `{kind}`: {}.{}",
                so_many(losing.letters, "dead letter"),
                reason(losing.reason),
                sent_by(losing)
            );
            card(losing.recipient.clone(), 1, losing.letters, losing.first, losing.last, says)
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
            "{} to {} recipients. The last one, `{kind}`, was for this one: {}.",
            so_many(letters, "dead letter"),
            count(history.losing.len()),
            reason(last.reason)
        );
        cards.push(card(last.recipient.clone(), history.losing.len(), letters, first, last.last, says));
    }
    cards
}
