mod bounds;
mod branches;
mod failures;
mod limits;
mod lines;
mod loops;
mod outages;
mod waiting;

use supervise_core::{DeadLetterReason, During, NodeState, Outcome};

use super::super::cards::{Card, Kind};
use super::super::sight::{Budget, Counts, Endless, GivenUp, Loss, Replacement, Takes};
use super::super::text::text;
use super::super::wish::Wish;
use super::*;

const STOPPED: Outcome = Outcome::Stopped { children: 1 };

fn delayed(seconds: u64) -> Outcome {
    Outcome::Restarting { children: 1, delay: Some(secs(seconds)) }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// An actor at rest.
fn at(depth: usize, name: &'static str, key: u64) -> Sight<'static> {
    Sight {
        key,
        depth,
        name,
        actor_type: "shop::Actor",
        state: NodeState::Running,
        handling: false,
        parked: false,
        handler: Some("serve"),
        pushed: 0,
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
    }
}

fn look(collector: &mut Collector, seconds: u64, actors: &[Sight<'_>]) -> View {
    look_for(collector, &mut Listing::default(), seconds, actors)
}

fn look_for(collector: &mut Collector, listing: &mut Listing, seconds: u64, actors: &[Sight<'_>]) -> View {
    let mut look = collector.look(secs(seconds), std::slice::from_mut(listing));
    look.see(&at(0, "", 1));
    look.see(&at(1, "user", 2));
    for actor in actors {
        look.see(actor);
    }
    look.close()
}

/// 6000 actors have failed, which is more than are remembered, and each has one restart left.
fn clerks_near_their_limits(collector: &mut Collector, within: u64) -> Vec<Sight<'static>> {
    let keys = 100..6_100;
    for key in keys.clone() {
        failed(collector, 1, Decision { used: Some((4, 5)), ..decision("/user/clerk", key, restarting()) });
    }
    let budget = Budget {
        used: 4,
        of: 5,
        within: Some(secs(within)),
        counts: Counts::All,
        takes: Takes::Nobody,
        rule: None,
        anew_at: Some(secs(within + 1)),
        slides: false,
    };
    keys.map(|key| Sight { budget: Some(budget), ..at(2, "clerk", key) }).collect()
}

fn kinds(view: &View) -> Vec<(Kind, &str)> {
    view.cards.iter().map(|card| (card.kind, &*card.path)).collect()
}

fn decision(child: &str, key: u64, outcome: Outcome) -> Decision {
    Decision {
        key,
        child: child.to_owned(),
        child_type: "shop::Actor",
        supervisor_type: "shop::Desk",
        supervisor_key: 5,
        supervisor: child.rsplit_once('/').map_or("/", |(above, _)| above).to_owned(),
        text: "refused".to_owned(),
        origin: None,
        during: None,
        rule: Some("io::Error"),
        outcome,
        attempt: 1,
        used: Some((1, 5)),
        replaced: None,
    }
}

fn restarting() -> Outcome {
    Outcome::Restarting { children: 1, delay: None }
}

fn failed(collector: &mut Collector, seconds: u64, decision: Decision) {
    collector.happened(Happening::Failed(decision), secs(seconds));
}

fn lose(collector: &mut Collector, at: Duration, recipient: &str, message: &'static str) {
    let loss = Loss {
        recipient: recipient.to_owned(),
        sender: Some("/user/till".to_owned()),
        message,
        reason: DeadLetterReason::Stopped,
    };
    collector.happened(Happening::Lost(loss), at);
}

/// CON-27: each card's facts are in the text, and no line is longer than 80 columns.
#[test]
fn con_27_the_text_has_what_the_cards_have() {
    let mut collector = Collector::default();
    for second in 1..=3 {
        failed(
            &mut collector,
            second,
            decision("/user/gateway-with-a-long-name-that-somebody-chose", 7, restarting()),
        );
    }
    failed(&mut collector, 3, decision("/user/reports", 8, Outcome::LimitReached { children: 2 }));
    (0..20).for_each(|n| lose(&mut collector, secs(n), "/user/reports", "Track"));
    let gateway = at(2, "gateway-with-a-long-name-that-somebody-chose", 7);
    let stuck = Sight { handling: true, parked: true, pushed: 42, waiting: 41, ..at(2, "conn-2", 9) };
    look(&mut collector, 4, &[gateway.clone(), stuck.clone()]);
    let view = look(&mut collector, 20, &[gateway, stuck]);
    let text = text("shop", &view, Duration::ZERO);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(view.cards.len(), 4, "{text}");
    for card in &view.cards {
        for fact in [card.kind.title(), &card.path, &card.tell(view.now), card.cause.as_deref().unwrap_or("")] {
            assert!(words(&text).contains(&words(fact)), "{fact}\n{text}");
        }
    }
    let order: Vec<_> = view.cards.iter().map(|card| card.kind).collect();
    assert_eq!(order, [Kind::Stuck, Kind::BranchDown, Kind::RestartLoop, Kind::MessagesLost]);
}
