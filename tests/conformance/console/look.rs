//! A look at each actor.

use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{During, Glimpse, NodeState, Outcome};

use crate::fixture::{Boom, ms, secs};

#[actor]
#[supervise(all_for_one(max_retries = 3, within = "60s", backoff(min = "4s", max = "8s")), on(_) = Restart)]
struct Desk;

#[actor]
impl Desk {
    #[handler]
    fn seat(&mut self, name: &'static str, ctx: &mut Context<Self>) -> Result<ClerkRef, SpawnError> {
        ctx.spawn(name, || Clerk)
    }
}

#[actor]
struct Clerk;

#[actor]
impl Clerk {
    #[handler]
    fn stamp(&mut self) -> Result<(), Boom> {
        Err(Boom("no ink"))
    }

    #[handler]
    async fn think(&mut self) {
        tokio::time::sleep(secs(1)).await;
    }
}

fn clerk(system: &TestSystem, name: &str) -> Glimpse {
    let mut found = None;
    system.look(|glimpse| {
        if glimpse.actor().name() == name {
            found = Some(glimpse.clone());
        }
    });
    found.expect("it is there")
}

/// Rule 10.8.
#[supervise::test]
async fn con_06_con_12_con_13_con_14_a_look_shows_handler_budget_countdown_and_restarts(system: &TestSystem) {
    let desk = system.spawn("desk", || Desk).unwrap();
    let (one, two) = (desk.seat("one").await.unwrap(), desk.seat("two").await.unwrap());
    two.think().tell().unwrap();
    system.settle().await;
    let thinking = clerk(system, "two");
    assert!(thinking.is_parked() && thinking.is_handling());
    assert_eq!((thinking.handler(), thinking.pushed(), thinking.waiting()), (Some("think"), 1, 0));
    system.advance(secs(1)).await;
    assert!(!clerk(system, "two").is_handling());

    one.stamp().tell().unwrap();
    system.advance(secs(1)).await;
    let (first, second) = (clerk(system, "one"), clerk(system, "two"));
    assert_eq!((first.state(), second.state()), (NodeState::Failed, NodeState::Suspended));
    assert_eq!(first.due(), second.due(), "a group round ends for all at once");
    let due = first.due().expect("it waits");
    let standing = first.standing().expect("there is a limit");
    assert_eq!((standing.used, standing.of, first.attempt(), first.restarts()), (1, 3, 1, 0));
    let last = first.last_failure().expect("it failed");
    assert_eq!((&*last.text, last.during, last.rule), ("no ink", Some(During::Handler("stamp")), Some("_")));
    assert!(matches!(last.outcome, Outcome::Restarting { children: 2, delay: Some(_) }));

    system.advance(secs(3)).await;
    let back = clerk(system, "one");
    assert_eq!((back.state(), back.restarts(), back.due()), (NodeState::Running, 1, None));
    assert!(due >= secs(5) && due < secs(6), "{due:?}");
    system.advance(secs(61)).await;
    assert_eq!(
        clerk(system, "one").standing().map(|standing| standing.used),
        Some(0),
        "it decays without a failure"
    );
    system.allow_failures();
}

/// CON-13: the countdown ends when the actors restart, and all actors of a group restart together. Rule 10.8.
#[supervise::test]
async fn con_13_the_countdown_ends_when_the_group_restarts(system: &TestSystem) {
    system.allow_failures();
    let desk = system.spawn("desk", || Desk).unwrap();
    let (one, two) = (desk.seat("one").await.unwrap(), desk.seat("two").await.unwrap());
    for (failing, round) in [(&one, 1), (&two, 2), (&one, 3)] {
        failing.stamp().tell().unwrap();
        system.settle().await;
        let due = clerk(system, "one").due().expect("it waits");
        system.advance(due.saturating_sub(system.uptime() + ms(1))).await;
        for name in ["one", "two"] {
            let waits = clerk(system, name);
            assert_eq!((waits.due(), waits.restarts()), (Some(due), round - 1), "{name} in round {round}");
        }
        // Tokio's timers round up to a millisecond.
        system.advance(ms(2)).await;
        for name in ["one", "two"] {
            let back = clerk(system, name);
            let found = (back.state(), back.due(), back.restarts());
            assert_eq!(found, (NodeState::Running, None, round), "{name} in round {round}");
        }
    }
}
