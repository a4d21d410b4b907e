//! Z: how many restarts are granted, and when.

use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{Backoff, Event, Outcome, Strategy};

use super::{failing, restarting};
use crate::fixture::{Boom, PingPong, always_restart, child, fail, keeper, keeping, ms, secs};

/// Rule 7.2.
#[supervise::test]
async fn z_01_an_all_for_one_limit_counts_every_child(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper(system, Strategy::all_for_one().max_retries(3));
    let mut children = Vec::new();
    for name in ["a", "b", "c"] {
        children.push(child(&keeper, name, PingPong::factory(&probe.handle())).await);
    }
    for culprit in [0, 0, 1] {
        assert_eq!(failing(system, &children[culprit]).await, restarting(3));
    }
    assert_eq!(failing(system, &children[2]).await, Outcome::LimitReached { children: 3 });
    assert!(children.iter().all(|child| child.actor_ref().has_ended()));
}

/// Rule 7.2.
#[supervise::test]
async fn z_02_a_newcomer_shares_the_fate_of_its_worn_out_siblings(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper(system, Strategy::all_for_one().max_retries(3));
    let old = child(&keeper, "old", PingPong::factory(&probe.handle())).await;
    for _ in 0..3 {
        assert_eq!(failing(system, &old).await, restarting(1));
    }
    let new = child(&keeper, "new", PingPong::factory(&probe.handle())).await;
    assert_eq!(failing(system, &new).await, Outcome::LimitReached { children: 2 });
    assert!(old.actor_ref().has_ended() && new.actor_ref().has_ended());
}

/// Rule 7.3.
#[supervise::test]
async fn z_04_a_window_opens_at_a_failure_and_includes_its_end(system: &TestSystem) {
    for (name, retries, times, last_restarts) in [
        ("reopened", 2, &[0, 900, 1050, 1100][..], true),
        ("within", 2, &[0, 400, 900], false),
        ("at-the-end", 1, &[0, 1000], false),
        ("past-the-end", 1, &[0, 1001], true),
    ] {
        let probe = system.probe();
        let strategy = Strategy::one_for_one().max_retries(retries).within(ms(1000));
        let keeper = system.spawn_with(name, keeping(strategy, always_restart)).unwrap();
        let actor = child(&keeper, "child", PingPong::factory(&probe.handle())).await;
        let mut before = 0;
        for (at, time) in times.iter().enumerate() {
            system.advance(ms(time - before)).await;
            before = *time;
            let restarts = failing(system, &actor).await == restarting(1);
            assert_eq!(restarts, at + 1 < times.len() || last_restarts, "{name} at {time} ms");
        }
    }
}

/// Rule 7.7.
#[supervise::test]
async fn z_05_statistics_survive_the_parent_s_restart_with_the_child(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper(system, Strategy::one_for_one().max_retries(2));
    let actor = child(&keeper, "child", PingPong::factory(&probe.handle())).await;
    assert_eq!(failing(system, &actor).await, restarting(1));
    fail(&keeper, "own");
    system.expect_restarts(&keeper, 1).await;
    assert_eq!(failing(system, &actor).await, restarting(1));
    assert_eq!(failing(system, &actor).await, Outcome::LimitReached { children: 1 });
    let again = child(&keeper, "child", PingPong::factory(&probe.handle())).await;
    for _ in 0..2 {
        assert_eq!(failing(system, &again).await, restarting(1), "a new incarnation starts at zero");
    }
    assert_eq!(failing(system, &again).await, Outcome::LimitReached { children: 1 });
}

/// Fails as soon as it runs.
#[actor]
struct Hopeless;

#[actor]
impl Hopeless {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) {
        ctx.me().fail().tell().expect("it runs");
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }
}

/// Rule 7.9.
#[supervise::test]
async fn z_40_a_linear_backoff_starts_anew_past_its_window(system: &TestSystem) {
    for (name, window, expected) in
        [("two", secs(2), vec![1, 2, 1, 2, 1]), ("ten", secs(10), vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2])]
    {
        let strategy = Strategy::one_for_one().backoff(Backoff::linear(window, secs(1)));
        let keeper = system.spawn_with(name, keeping(strategy, always_restart)).unwrap();
        let actor = child(&keeper, "hopeless", || Hopeless).await;
        for seconds in expected {
            let decided = system.expect_decision(&actor).await;
            let delay = Some(secs(seconds));
            assert_eq!(decided.outcome, Outcome::Restarting { children: 1, delay }, "{name}");
            system.advance(secs(seconds)).await;
        }
        keeper.actor_ref().stop();
        system.take_all(|event| matches!(event, Event::Decided { .. })).await;
    }
}
