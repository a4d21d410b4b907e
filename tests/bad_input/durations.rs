//! Durations of zero and of the maximum.

use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{Backoff, Directive, HowEnded, Props, Strategy};

use crate::Modest;

const MINUTE: Duration = Duration::from_secs(60);

const EXTREMES: [Duration; 3] = [Duration::ZERO, Duration::from_nanos(1), Duration::MAX];

#[supervise::test]
async fn an_ask_waits_for_no_time_or_for_ever(system: &TestSystem) {
    let actor = system.spawn("actor", Modest::new).unwrap();
    assert_eq!(actor.count().timeout(Duration::MAX).await.unwrap(), 1);
    let hung = actor.hang().timeout(Duration::ZERO).await;
    assert!(matches!(&hung, Err(AskError::Timeout(late)) if late.limit() == Duration::ZERO), "{hung:?}");
    system.settle().await;
    assert_eq!(system.graceful_stop(&actor, MINUTE).await, Ok(HowEnded::Aborted));
}

#[supervise::test]
async fn a_stop_may_wait_for_no_time(system: &TestSystem) {
    for (at, stop_timeout) in [Duration::ZERO, Duration::from_nanos(1)].into_iter().enumerate() {
        let props = Props::new(Modest::new).stop_timeout(stop_timeout);
        let actor = system.spawn_with(format!("actor-{at}"), props).unwrap();
        let hung = actor.hang().ask().unwrap();
        system.settle().await;
        assert_eq!(system.graceful_stop(&actor, MINUTE).await, Ok(HowEnded::Aborted));
        assert!(matches!(hung.await, Err(AskError::Stopped)));
    }
}

#[supervise::test]
async fn a_stop_may_wait_for_ever(system: &TestSystem) {
    let actor = system.spawn_with("actor", Props::new(Modest::new).stop_timeout(Duration::MAX)).unwrap();
    let nap = actor.nap(10 * MINUTE).ask().unwrap();
    system.settle().await;
    assert_eq!(system.graceful_stop(&actor, 20 * MINUTE).await, Ok(HowEnded::Graceful));
    nap.await.unwrap();
}

#[supervise::test]
async fn a_graceful_stop_waits_for_no_time_or_for_ever(system: &TestSystem) {
    for (at, within) in EXTREMES.into_iter().enumerate() {
        let actor = system.spawn(format!("actor-{at}"), Modest::new).unwrap();
        match system.graceful_stop(&actor, within).await {
            Ok(how) => assert_eq!(how, HowEnded::Graceful),
            Err(error) => assert_eq!(error.within, within),
        }
        system.ended(&actor).await;
    }
}

/// Sets the timers it is told to.
#[actor]
struct Clock {
    ticks: u64,
}

#[actor]
impl Clock {
    #[handler]
    fn once(&mut self, after: Duration, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.start_timer("once", after, me.tick());
    }

    #[handler]
    fn every(&mut self, interval: Duration, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.start_periodic_timer("every", interval, move || me.tick().into_message());
    }

    #[handler]
    fn idle(&mut self, after: Duration, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.set_receive_timeout(after, move || me.tick().into_message());
    }

    #[handler]
    fn tick(&mut self, ctx: &mut Context<Self>) {
        self.ticks += 1;
        if self.ticks.is_multiple_of(10) {
            ctx.cancel_timer("every");
            ctx.cancel_receive_timeout();
        }
    }

    #[handler]
    fn ticks(&self) -> u64 {
        self.ticks
    }
}

async fn set_all_timers(system: &TestSystem, name: &str, time: Duration) -> u64 {
    let clock = system.spawn(name, || Clock { ticks: 0 }).unwrap();
    for request in [clock.once(time), clock.every(time), clock.idle(time)] {
        request.await.unwrap();
    }
    system.advance(Duration::from_secs(1)).await;
    let ticks = clock.ticks().timeout(MINUTE).await.unwrap();
    assert_eq!(system.graceful_stop(&clock, MINUTE).await, Ok(HowEnded::Graceful));
    ticks
}

#[supervise::test]
async fn timers_of_no_time_tick_and_leave_the_actor_well(system: &TestSystem) {
    assert!(set_all_timers(system, "none", Duration::ZERO).await > 0);
    assert!(set_all_timers(system, "hardly-any", Duration::from_nanos(1)).await > 0);
}

#[supervise::test]
async fn timers_of_all_time_never_tick(system: &TestSystem) {
    assert_eq!(set_all_timers(system, "all", Duration::MAX).await, 0);
}

#[derive(Debug, thiserror::Error)]
#[error("it failed")]
struct Failed;

/// Fails when told to.
#[actor]
struct Fragile;

#[actor]
impl Fragile {
    #[handler]
    fn fail(&mut self) -> Result<(), Failed> {
        Err(Failed)
    }

    #[handler]
    fn well(&self) -> bool {
        true
    }
}

/// Keeps one fragile child under a strategy given from outside.
#[actor]
#[supervise(on(_) = Restart)]
struct Keeper;

#[actor]
impl Keeper {
    #[handler]
    fn keep(&mut self, ctx: &mut Context<Self>) -> FragileRef {
        ctx.spawn("fragile", || Fragile).unwrap()
    }
}

#[supervise::test]
async fn a_backoff_of_all_time_waits_and_can_be_stopped(system: &TestSystem) {
    system.allow_failures();
    let backoff = Backoff::exponential(Duration::MAX, Duration::MAX).jitter(1.0).reset_after(Duration::MAX);
    let props = Props::new(|| Keeper)
        .supervision_unchecked(Strategy::one_for_one().backoff(backoff), |_, _| Ok(Directive::Restart));
    let keeper = system.spawn_with("keeper", props).unwrap();
    let fragile = keeper.keep().await.unwrap();
    assert!(matches!(fragile.fail().await, Err(AskError::Failed(_))));
    let waits = fragile.well().ask().unwrap();
    system.advance(MINUTE).await;
    system.stop(&fragile);
    assert!(matches!(waits.await, Err(AskError::Stopped)));
    system.expect_dead_letter(&fragile).await;
}

#[supervise::test]
async fn a_window_of_all_time_is_a_limit_for_life(system: &TestSystem) {
    system.allow_failures();
    let strategy = Strategy::one_for_one().max_retries(1).within(Duration::MAX);
    let props = Props::new(|| Keeper).supervision_unchecked(strategy, |_, _| Ok(Directive::Restart));
    let keeper = system.spawn_with("keeper", props).unwrap();
    let fragile = keeper.keep().await.unwrap();
    assert!(fragile.fail().await.is_err());
    assert!(fragile.well().await.unwrap());
    system.advance(MINUTE).await;
    assert!(fragile.fail().await.is_err());
    system.ended(&fragile).await;
}

#[test]
fn what_can_be_no_backoff_or_window_is_refused_in_words() {
    fn ignore<T>(_: T) {}
    let refused = |make: fn()| {
        let panic = std::panic::catch_unwind(make).unwrap_err();
        panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or(panic.downcast_ref::<String>().cloned())
            .unwrap()
    };
    assert_eq!(
        refused(|| ignore(Backoff::exponential(Duration::ZERO, Duration::ZERO))),
        "the shortest delay of a backoff must be longer than zero"
    );
    assert_eq!(
        refused(|| ignore(Backoff::exponential(Duration::MAX, Duration::ZERO))),
        "the shortest delay of a backoff must not be longer than the longest: write a smaller `min` or a larger `max`"
    );
    assert!(refused(|| ignore(Backoff::linear(Duration::ZERO, Duration::ZERO))).contains("longer than zero"));
    assert!(refused(|| ignore(Strategy::one_for_one().within(Duration::ZERO))).contains("longer than zero"));
}
