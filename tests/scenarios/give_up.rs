//! A limit as time: a child that goes on failing is given up.
//!
//! Rule 7.13.

use std::time::Duration;

use supervise::pattern::{BackoffSupervisor, CircuitBreaker};
use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{
    Backoff, ChildInfo, Directive, EndReason, Event, Failure, InvalidSettings, OnLimit, Props, Strategy, TypedRef,
};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

#[derive(Debug, thiserror::Error)]
#[error("the database is down")]
struct Down;

/// Cannot start.
#[actor]
struct Client;

#[actor]
impl Client {
    #[pre_start]
    fn connect(&mut self) -> Result<(), Down> {
        Err(Down)
    }

    #[handler]
    fn query(&mut self) {}
}

/// Fails when it is told to.
#[actor]
struct Reader;

#[actor]
impl Reader {
    #[handler]
    fn read(&mut self) -> Result<(), Down> {
        Err(Down)
    }
}

#[actor]
#[supervise(
    one_for_one(on_limit = Escalate),
    on(InitializationFailed) = Restart(backoff(min = "1s", max = "30s", give_up_after = "10m")),
    on(_) = Restart,
)]
struct Patient;

#[actor]
impl Patient {
    #[handler]
    fn add(&mut self, ctx: &mut Context<Self>) -> Result<ClientRef, SpawnError> {
        ctx.spawn("client", || Client)
    }
}

/// How long it took until the actor was given up, and for how long the event says that it had been failing.
async fn given_up<R: TypedRef>(system: &TestSystem, actor: &R, begun: Instant) -> (Duration, Option<Duration>) {
    let ended = tokio::time::timeout(60 * MINUTE, system.ended(actor)).await;
    ended.expect("it is given up");
    let took = begun.elapsed();
    let after = system
        .expect("a limit", |event| match event {
            Event::LimitReached { gave_up_after, .. } => Some(*gave_up_after),
            _ => None,
        })
        .await;
    (took, after)
}

/// Rule 7.13.
#[supervise::test]
async fn a_child_is_given_up_when_it_has_been_failing_for_too_long(system: &TestSystem) {
    system.allow_failures();
    let patient = system.spawn("patient", || Patient).unwrap();
    let begun = Instant::now();
    let client = patient.add().await.unwrap();
    let (took, limit) = given_up(system, &client, begun).await;
    assert_eq!(limit, Some(10 * MINUTE));
    // The first failure after ten minutes: the delays are 1, 2, 4, 8, 16 s, and then 30 s each. With `on_limit = Escalate` the child
    // ends when its parent restarts, 100 ms later.
    assert_eq!(took, Duration::from_secs(31 + 19 * 30) + Duration::from_millis(100));
    assert!(matches!(client.actor_ref().end_reason(), Some(EndReason::LimitReached(_))));
}

/// Rule 7.13: a quiet time ends the streak.
#[supervise::test]
async fn a_child_that_works_between_its_failures_is_not_given_up(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let delays = Backoff::exponential(SECOND, 8 * SECOND).give_up_after(MINUTE);
    let reader =
        system.spawn_with("keeper", BackoffSupervisor::on_failure("reader", || Reader, delays).props()).unwrap();
    for _failure in 0..20 {
        let failed = reader.read().await.unwrap_err();
        assert!(failed.failure().is_some(), "{failed:?}");
        system.advance(20 * SECOND).await;
    }
    // Now it fails again and again.
    let begun = Instant::now();
    while !reader.actor_ref().has_ended() {
        let _down_or_failed = reader.read().await;
        system.advance(SECOND).await;
        assert!(begun.elapsed() < 2 * MINUTE, "it is never given up");
    }
    assert!(begun.elapsed() >= MINUTE);
    assert!(matches!(reader.actor_ref().end_reason(), Some(EndReason::LimitReached(_))));
}

/// Rules 7.13 and 23.6.
#[supervise::test]
async fn the_child_of_a_circuit_breaker_is_given_up(system: &TestSystem) {
    system.allow_failures();
    let delays = Backoff::exponential(SECOND, 8 * SECOND).give_up_after(MINUTE);
    let begun = Instant::now();
    let props = CircuitBreaker::around("client", || Client, delays).supervised_by::<Retry>().props();
    let client = system.spawn_with("breaker", props).unwrap();
    let (took, limit) = given_up(system, &client, begun).await;
    assert_eq!((took, limit), (Duration::from_secs(1 + 2 + 4 + 7 * 8), Some(MINUTE)));
}

#[supervise(one_for_one, on(_) = Restart)]
struct Retry;

/// Rule 7.13: both limits are asked.
#[supervise::test]
async fn the_tighter_limit_decides(system: &TestSystem) {
    system.allow_failures();
    let backoff = Backoff::exponential(SECOND, SECOND).give_up_after(MINUTE);
    for (retries, expected) in [(5, (5 * SECOND, None)), (1000, (MINUTE, Some(MINUTE)))] {
        let strategy = Strategy::one_for_one().max_retries(retries).backoff(backoff).on_limit(OnLimit::Stop);
        let restart = |_: &Failure, _: &ChildInfo| Ok(Directive::Restart);
        let props = Props::new(|| Owner).supervision_unchecked(strategy, restart);
        let owner = system.spawn_with(format!("owner-{retries}"), props).unwrap();
        let begun = Instant::now();
        let client = owner.add().await.unwrap();
        assert_eq!(given_up(system, &client, begun).await, expected);
    }
}

#[actor]
#[supervise(one_for_one, on(_) = Restart)]
struct Owner;

#[actor]
impl Owner {
    #[handler]
    fn add(&mut self, ctx: &mut Context<Self>) -> Result<ClientRef, SpawnError> {
        ctx.spawn("client", || Client)
    }
}

/// Takes its limit from its settings.
#[actor]
#[supervise(one_for_one(backoff(min = 1s, max = 8s, give_up_after = self.patience)), on(_) = Restart)]
struct Configured {
    patience: Duration,
}

#[actor]
impl Configured {
    #[handler]
    fn add(&mut self, ctx: &mut Context<Self>) -> Result<ClientRef, SpawnError> {
        ctx.spawn("client", || Client)
    }
}

/// Rules 7.12 and 7.13.
#[supervise::test]
async fn the_time_may_come_from_the_settings(system: &TestSystem) {
    system.allow_failures();
    let owner = system.spawn("owner", || Configured { patience: MINUTE }).unwrap();
    let begun = Instant::now();
    let client = owner.add().await.unwrap();
    assert_eq!(given_up(system, &client, begun).await, (Duration::from_secs(1 + 2 + 4 + 7 * 8), Some(MINUTE)));
    let wrong = system.spawn("wrong", || Configured { patience: 8 * SECOND }).unwrap();
    let failure = system.expect_decision(&wrong).await.failure;
    let invalid = failure.downcast_ref::<InvalidSettings>().expect("invalid settings");
    let text = invalid.to_string();
    assert!(text.contains("give_up_after = self.patience") && text.contains("gives up after 8s"), "{text}");
}
