//! The cards of actors that wait for each other in a circle.
//!
//! Rule 22.9.

use super::super::waits::Waits;
use super::super::words::{count, some_of};
use super::says::{WAY, name, wait, ways};
use super::{Card, GROUPS, Kind};

/// How many circles have a card of their own. If there are more, the others share one.
const OWN: usize = 8;
/// How many circles are named on the card that they share.
const NAMED: usize = 3;
/// The subject of the card that several circles share.
const OTHERS: &str = "others";

/// The cards of all circles.
pub(super) fn cards(waits: &Waits) -> Vec<Card> {
    let mut cards: Vec<Card> = waits.circles.iter().filter_map(|circle| card(circle, waits)).collect();
    // No card is shared by one circle.
    if cards.len() > OWN + 1 {
        cards.sort_by(|a, b| a.rank().cmp(&b.rank()));
        let others = cards.split_off(OWN);
        cards.extend(shared(&others));
    }
    cards
}

/// The subjects of all cards that the circles may have. The circles that share a card change from look to look; a
/// circle that moves from one card to another is not over.
pub(in super::super) fn subjects(waits: &Waits) -> Vec<(Kind, String)> {
    let own = waits.circles.iter().filter_map(|circle| Some(waits.get(*circle.first()?)?.path.to_string()));
    let others = (!waits.circles.is_empty()).then(|| OTHERS.to_owned());
    own.take(GROUPS).chain(others).map(|subject| (Kind::Deadlock, subject)).collect()
}

/// Counts circles that have no card of their own, and says where to find them. The worst one comes first.
fn shared(others: &[Card]) -> Option<Card> {
    let first = others.first()?;
    let actors = others.iter().map(|card| card.actors).sum();
    let named = some_of(others.iter().map(|card| &*card.path), NAMED, others.len());
    let says = format!(
        "{} more deadlocks, of {} actors. They are those of {named}. In the list of actors, the word Deadlock stands \
         beside each of these actors.",
        count(others.len()),
        count(actors),
    );
    Some(Card { actors, subject: OTHERS.to_owned(), says, ..first.clone() })
}

/// The card of actors that wait for each other.
fn card(circle: &[u64], waits: &Waits) -> Option<Card> {
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
    let unnamed = links.len().saturating_sub(WAY);
    let handlers = links[unnamed..].iter().filter_map(|link| Some(format!("`{}`", link.handler?)));
    let handlers = (unnamed > 0).then(|| "…".to_owned()).into_iter().chain(handlers).collect::<Vec<_>>();
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
        at_least: false,
        goes: None,
    })
}
