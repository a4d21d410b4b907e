//! The cards about what happened: branches that went down, and lost messages.
//!
//! Rule 22.3.

use std::collections::VecDeque;
use std::iter;

use supervise_core::{DeadLetterReason, During, Outcome};

use super::cards::{Card, Kind, Moment, name};
use super::history::{Fall, History, Losing};
use super::sight::Time;
use super::words::{Count, and_others, count, outcome, reason, short_type, so_many, some_of};

/// A card for the branches whose actors are of one type, failed in the same code and ended in the same way. It tells of the last one.
///
/// `may_have_more`: more branches may be down than these.
pub(super) fn down(falls: &VecDeque<Fall>, may_have_more: bool) -> Vec<Card> {
    let mut cards: Vec<Card> = Vec::new();
    for fall in falls.iter().rev().filter(|fall| fall.is_harm()) {
        let subject = subject(fall);
        match cards.iter_mut().find(|card| card.subject == subject) {
            Some(card) => {
                if card.actors == 1 {
                    card.moments.extend(card.since.map(Moment::last));
                }
                card.actors += 1;
                card.at_least = may_have_more;
                card.since = Some(fall.at);
            }
            None => cards.push(Card { subject, ..fallen(fall) }),
        }
    }
    cards
}

fn subject(fall: &Fall) -> String {
    let (down_type, during, end) = fall.sort();
    format!("{down_type} {} {end}", during.map_or("", During::name))
}

/// The card of one branch that is down.
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
        None => (format!("{whom} failed too"), used),
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
    let says = if fall.gave_up {
        format!("{failed}No other actor took the place of its last child, so it stopped.")
    } else {
        format!("{failed}{way}{end}{rule}.")
    };
    Card {
        kind: Kind::BranchDown,
        actors: 1,
        subject: String::new(),
        path: fall.down().to_owned(),
        actor_type: short_type(fall.down_type),
        since: Some(fall.at),
        says,
        moments: Vec::new(),
        cause: Some(&fall.text).filter(|text| !text.is_empty()).cloned(),
        // The later end comes first.
        weight: fall.at.as_secs(),
        near_limit: false,
        at_least: false,
        goes: None,
    }
}

/// How many senders a card names.
const SENDERS: usize = 3;

/// The senders of the messages: ` Sent by /user/till and 2 more.`
fn sent_by(losing: &Losing) -> String {
    let senders = losing.senders();
    if senders.is_empty() {
        return String::new();
    }
    let all = senders.len();
    let named = senders.iter().copied().take(SENDERS);
    if losing.has_more_senders {
        let least = count(all.saturating_sub(SENDERS) + 1);
        return format!(" Sent by {} and at least {least} more.", named.collect::<Vec<_>>().join(", "));
    }
    format!(" Sent by {}.", some_of(named, SENDERS, all))
}

/// What the recipients lost that the history has dropped: ` Before that, other recipients lost 14 880.`
fn others(history: &History) -> String {
    match history.other_losses.sum() {
        0 => String::new(),
        letters => format!(" Before that, other recipients lost {}.", Count(letters)),
    }
}

/// What many recipients lose for the same reason.
type Loss = (&'static str, DeadLetterReason);

fn loss_of(losing: &Losing) -> Loss {
    (losing.mostly().0, losing.reason)
}

fn subject_of((kind, reason): Loss) -> String {
    format!("{kind} {reason:?}")
}

/// A card for each recipient that loses many messages, or for all that lose the same messages for the same reason. If each loses few,
/// one card for all of them.
pub(super) fn lost(history: &History, now: Time) -> Vec<Card> {
    let mut groups: Vec<(Loss, Vec<&Losing>)> = Vec::new();
    for losing in history.losing.iter().filter(|losing| losing.is_many(now)) {
        let loss = loss_of(losing);
        match groups.iter_mut().find(|group| group.0 == loss) {
            Some((_, alike)) => alike.push(losing),
            None => groups.push((loss, vec![losing])),
        }
    }
    if groups.is_empty() && history.loses_many(now) {
        return several(history.losing.iter(), String::new(), history, now, |letters, recipients, last| {
            let (kind, why) = (last.mostly().0, reason(last.reason));
            let others = others(history);
            format!(
                "{letters} to {recipients} recipients. The last one, `{kind}`, was for this one: {why}.{others}"
            )
        })
        .into_iter()
        .collect();
    }
    // The others no longer belong to a group, so only the card of the largest group mentions them.
    let largest = groups.iter().map(|(_, alike)| alike.len()).max().unwrap_or_default();
    let mut others = Some(others(history));
    let cards = groups.into_iter().filter_map(|(loss, alike)| match alike[..] {
        [losing] => Some(one(losing, history, now)),
        _ => several(alike.iter().copied(), subject_of(loss), history, now, |letters, recipients, last| {
            let (kind, why) = (loss.0, reason(loss.1));
            let others = others.take_if(|_| alike.len() == largest).unwrap_or_default();
            format!("{letters} to {recipients} recipients, mostly `{kind}`: {why}.{}{others}", sent_by(last))
        }),
    });
    cards.collect()
}

/// The subjects of all cards that these losses may have. Whether they share one changes from look to look, and then none of them is over.
pub(super) fn losses(history: &History, now: Time) -> Vec<(Kind, String)> {
    let many = history.losing.iter().filter(|losing| losing.is_many(now));
    let of_all = history.loses_many(now).then(String::new);
    let subjects = many.flat_map(|losing| [losing.recipient.clone(), subject_of(loss_of(losing))]);
    subjects.chain(of_all).map(|subject| (Kind::MessagesLost, subject)).collect()
}

fn one(losing: &Losing, history: &History, now: Time) -> Card {
    let (kind, share) = losing.mostly();
    let (letters, why) = (so_many(losing.letters, "dead letter"), reason(losing.reason));
    let next = history.places.next_child(&losing.recipient, now).map(Moment::next_try);
    let moments = iter::once(Moment::last(losing.last)).chain(next).collect();
    Card {
        kind: Kind::MessagesLost,
        actors: 1,
        subject: losing.recipient.clone(),
        path: losing.recipient.clone(),
        actor_type: String::new(),
        since: Some(losing.first),
        says: format!("{letters}, {share} % `{kind}`: {why}.{}", sent_by(losing)),
        moments,
        cause: None,
        weight: losing.letters,
        near_limit: false,
        at_least: false,
        goes: None,
    }
}

fn several<'a>(
    losing: impl Iterator<Item = &'a Losing> + Clone,
    subject: String,
    history: &History,
    now: Time,
    says: impl FnOnce(String, Count, &Losing) -> String,
) -> Option<Card> {
    let last = losing.clone().max_by_key(|losing| losing.last)?;
    let letters = losing.clone().map(|losing| losing.letters).sum();
    let (actors, since) = (losing.clone().count(), losing.map(|losing| losing.first).min());
    let says = says(so_many(letters, "dead letter"), count(actors), last);
    Some(Card {
        actors,
        subject,
        since,
        says,
        weight: letters,
        actor_type: "recipients".to_owned(),
        ..one(last, history, now)
    })
}
