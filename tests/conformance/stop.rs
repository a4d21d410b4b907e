//! KIL: poison, kill and graceful stop.

use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{Directive, Event, FailureKind, HowEnded, Props, Strategy};

use crate::fixture::{Keeper, PingPong, always_restart, how_ended, keeper_deciding, keeper_under, kept, ms, secs};

/// Rule 6.5.
#[supervise::test]
async fn kil_01_a_poison_pill_stops_after_what_was_sent_before(system: &TestSystem) {
    let probe = system.probe();
    let actor = system.spawn("actor", PingPong::factory(&probe.handle())).unwrap();
    let answers = [actor.count().ask().unwrap(), actor.count().ask().unwrap()];
    actor.actor_ref().poison();
    let late = actor.count().ask().unwrap();
    system.expect_terminated(&actor).await;
    let [first, second] = answers;
    assert_eq!((first.await.unwrap(), second.await.unwrap()), (1, 2));
    assert!(matches!(late.await, Err(AskError::Stopped)));
    system.expect_dead_letter(&actor).await;
}

/// Rule 6.5.
#[supervise::test]
async fn kil_02_a_killed_actor_is_restarted_where_the_table_says_so(system: &TestSystem) {
    let probe = system.probe();
    let strategy = Strategy::one_for_one().max_retries(2).within(secs(1));
    let boss = keeper_deciding(system, strategy, always_restart);
    let child = kept(Keeper::reporting("child", &probe.handle()), Strategy::one_for_one(), always_restart);
    let child = keeper_under(&boss, "child", child).await;
    child.actor_ref().kill();
    assert_eq!(probe.all().await, ["child is replaced for killed", "child is back"]);
    system.expect_restarts(&child, 1).await;
}

/// Rule 6.7.
#[supervise::test]
async fn kil_04_a_graceful_stop_of_an_ended_actor_completes_at_once(system: &TestSystem) {
    let probe = system.probe();
    let actor = system.spawn("actor", PingPong::factory(&probe.handle())).unwrap();
    assert_eq!(system.graceful_stop(&actor, secs(5)).await, Ok(HowEnded::Graceful));
    assert_eq!(probe.all().await, ["stopped"], "what its hook did has happened");
    let begun = tokio::time::Instant::now();
    assert_eq!(system.graceful_stop(&actor, secs(5)).await, Ok(HowEnded::AlreadyGone));
    assert_eq!(begun.elapsed(), ms(0));
}

/// Handles one message for ten seconds.
#[actor]
struct Busy;

#[actor]
impl Busy {
    #[handler]
    async fn work(&mut self) -> &'static str {
        tokio::time::sleep(secs(10)).await;
        "done"
    }
}

/// Rule 6.7.
#[supervise::test]
async fn kil_05_a_graceful_stop_that_takes_too_long_gives_up_and_does_no_harm(system: &TestSystem) {
    let busy = system.spawn_with("busy", Props::new(|| Busy).stop_timeout(secs(60))).unwrap();
    let work = busy.work().ask().unwrap();
    system.settle().await;
    let error = system.graceful_stop(&busy, secs(1)).await.unwrap_err();
    assert_eq!((error.actor, error.within), (busy.actor_ref().path(), secs(1)));
    assert!(!busy.actor_ref().has_ended());
    assert_eq!(work.await.unwrap(), "done");
    assert_eq!(how_ended(system, &busy).await, HowEnded::Graceful);
}

/// Rule 9.1.
#[supervise::test]
async fn kil_07_killing_the_user_guardian_ends_the_system(system: &TestSystem) {
    let log = crate::log::Log::open();
    let probe = system.probe();
    let actor = system.spawn("actor", PingPong::factory(&probe.handle())).unwrap();
    system.user_guardian().kill();
    assert_eq!(system.when_terminated().await.unwrap_err().kind(), FailureKind::Killed);
    assert!(actor.actor_ref().has_ended());
    assert_eq!(probe.all().await, ["stopped"]);
    let errors = log.errors();
    assert!(matches!(&errors[..], [error] if error.contains("killed")), "{errors:?}");
    let user = system.user_guardian().path();
    let decided = system.take_all(|event| matches!(event, Event::Decided { child, .. } if *child == user)).await;
    assert!(matches!(decided[..], [Event::Decided { directive: Directive::Stop, .. }]), "{decided:?}");
}
