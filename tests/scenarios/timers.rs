//! Keyed timers and the receive timeout.
//!
//! Rules 15.1, 15.2.

use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};

#[derive(Debug, thiserror::Error)]
#[error("broken")]
struct Broken;

const SECOND: Duration = Duration::from_secs(1);

/// Sets timers, and reports which messages came.
#[actor]
struct Clock {
    ticks: ProbeHandle<u32>,
}

#[actor]
impl Clock {
    #[handler]
    fn once(&mut self, key: &'static str, after: Duration, number: u32, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.start_timer(key, after, me.tick(number));
    }

    #[handler]
    fn every(&mut self, key: &'static str, interval: Duration, number: u32, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.start_periodic_timer(key, interval, move || me.tick(number).into_message());
    }

    #[handler]
    fn cancel(&mut self, key: &'static str, ctx: &mut Context<Self>) {
        ctx.cancel_timer(key);
    }

    #[handler]
    fn is_active(&self, key: &'static str, ctx: &mut Context<Self>) -> bool {
        ctx.is_timer_active(key)
    }

    /// Replaces or cancels a timer that is due already: its message is on its way.
    #[handler]
    async fn outlast(&mut self, busy: Duration, replacement: Option<u32>, ctx: &mut Context<Self>) {
        tokio::time::sleep(busy).await;
        match replacement {
            Some(number) => {
                let me = ctx.me();
                ctx.start_timer("key", SECOND, me.tick(number));
            }
            None => ctx.cancel_timer("key"),
        }
    }

    #[handler]
    async fn busy(&mut self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    #[handler]
    fn idle_after(&mut self, after: Duration, number: u32, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.set_receive_timeout(after, move || me.tick(number).into_message());
    }

    #[handler]
    fn never_idle(&mut self, ctx: &mut Context<Self>) {
        ctx.cancel_receive_timeout();
    }

    #[handler]
    fn poke(&mut self) {}

    #[handler(not_influencing)]
    fn peek(&self) {}

    #[handler]
    fn tick(&mut self, number: u32) {
        self.ticks.note(number);
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Broken> {
        Err(Broken)
    }
}

fn clock(ticks: ProbeHandle<u32>) -> impl FnMut() -> Clock + Send + 'static {
    move || Clock { ticks: ticks.clone() }
}

/// Resumes its clock after a failure.
#[actor]
#[supervise(on(Broken) = Resume)]
struct Forgiving;

#[actor]
impl Forgiving {
    #[handler]
    fn open(&mut self, ticks: ProbeHandle<u32>, ctx: &mut Context<Self>) -> Result<ClockRef, SpawnError> {
        ctx.spawn("clock", clock(ticks))
    }
}

#[supervise::test]
async fn a_timer_comes_once_and_on_time(system: &TestSystem) {
    let ticks = system.probe();
    let clock = system.spawn("clock", clock(ticks.handle())).unwrap();
    clock.once("key", 10 * SECOND, 1).await.unwrap();
    assert!(clock.is_active("key").await.unwrap());
    system.advance(9 * SECOND).await;
    assert!(ticks.all().await.is_empty());
    system.advance(SECOND).await;
    assert_eq!(ticks.all().await, [1]);
    assert!(!clock.is_active("key").await.unwrap());
    system.advance(60 * SECOND).await;
    assert!(ticks.all().await.is_empty());
}

#[supervise::test]
async fn a_periodic_timer_keeps_its_beat(system: &TestSystem) {
    let ticks = system.probe();
    let clock = system.spawn("clock", clock(ticks.handle())).unwrap();
    clock.every("key", SECOND, 1).await.unwrap();
    system.advance(SECOND * 7 / 2).await;
    assert_eq!(ticks.all().await, [1; 3]);
    clock.cancel("key").await.unwrap();
    system.advance(10 * SECOND).await;
    assert!(ticks.all().await.is_empty());
}

#[supervise::test]
async fn ticks_do_not_pile_up_behind_a_slow_handler(system: &TestSystem) {
    let ticks = system.probe();
    let clock = system.spawn("clock", clock(ticks.handle())).unwrap();
    clock.every("key", SECOND, 1).await.unwrap();
    clock.busy(SECOND * 21 / 2).await.unwrap();
    let late = ticks.all().await.len();
    assert!((1..=2).contains(&late), "{late} ticks at once");
    system.advance(5 * SECOND).await;
    assert_eq!(ticks.all().await, [1; 5]);
}

#[supervise::test]
async fn a_timer_of_the_same_key_replaces_the_first(system: &TestSystem) {
    let ticks = system.probe();
    let clock = system.spawn("clock", clock(ticks.handle())).unwrap();
    clock.once("key", SECOND, 1).await.unwrap();
    clock.once("key", 2 * SECOND, 2).await.unwrap();
    clock.once("other", 3 * SECOND, 3).await.unwrap();
    system.advance(10 * SECOND).await;
    assert_eq!(ticks.all().await, [2, 3]);
}

#[supervise::test]
async fn a_message_on_its_way_is_not_delivered_once_its_timer_is_cancelled_or_replaced(system: &TestSystem) {
    let ticks = system.probe();
    let clock = system.spawn("clock", clock(ticks.handle())).unwrap();
    clock.once("key", SECOND, 1).await.unwrap();
    clock.outlast(5 * SECOND, None).await.unwrap();
    system.advance(10 * SECOND).await;
    assert!(ticks.all().await.is_empty());
    clock.once("key", SECOND, 2).await.unwrap();
    clock.outlast(5 * SECOND, Some(3)).await.unwrap();
    system.advance(10 * SECOND).await;
    assert_eq!(ticks.all().await, [3]);
}

#[supervise::test]
async fn timers_are_gone_after_a_restart(system: &TestSystem) {
    let ticks = system.probe();
    let clock = system.spawn("clock", clock(ticks.handle())).unwrap();
    clock.once("once", 2 * SECOND, 1).await.unwrap();
    clock.every("every", SECOND, 2).await.unwrap();
    clock.fail().tell().unwrap();
    system.advance(10 * SECOND).await;
    assert!(ticks.all().await.is_empty());
    assert!(!clock.is_active("every").await.unwrap());
    system.expect_restarts(&clock, 1).await;
}

#[supervise::test]
async fn resume_keeps_timers_and_the_receive_timeout(system: &TestSystem) {
    let ticks = system.probe();
    let parent = system.spawn("parent", || Forgiving).unwrap();
    let clock = parent.open(ticks.handle()).await.unwrap();
    clock.once("once", 2 * SECOND, 1).await.unwrap();
    clock.idle_after(3 * SECOND, 9).await.unwrap();
    clock.fail().tell().unwrap();
    system.expect_decision(&clock).await;
    system.advance(2 * SECOND).await;
    assert_eq!(ticks.all().await, [1]);
    system.advance(3 * SECOND).await;
    assert_eq!(ticks.all().await, [9]);
}

#[supervise::test]
async fn nothing_ticks_after_a_stop(system: &TestSystem) {
    let ticks = system.probe();
    let clock = system.spawn("clock", clock(ticks.handle())).unwrap();
    clock.every("key", SECOND, 1).await.unwrap();
    clock.idle_after(SECOND, 2).await.unwrap();
    system.stop(&clock);
    system.expect_terminated(&clock).await;
    system.advance(10 * SECOND).await;
    assert!(ticks.all().await.is_empty());
}

#[supervise::test]
async fn the_receive_timeout_comes_after_silence_and_again(system: &TestSystem) {
    let ticks = system.probe();
    let clock = system.spawn("clock", clock(ticks.handle())).unwrap();
    clock.idle_after(10 * SECOND, 1).await.unwrap();
    system.advance(9 * SECOND).await;
    clock.poke().await.unwrap();
    system.advance(9 * SECOND).await;
    assert!(ticks.all().await.is_empty());
    system.advance(SECOND).await;
    assert_eq!(ticks.all().await, [1]);
    system.advance(10 * SECOND).await;
    assert_eq!(ticks.all().await, [1]);
    clock.never_idle().await.unwrap();
    system.advance(60 * SECOND).await;
    assert!(ticks.all().await.is_empty());
}

/// A receive timeout of zero counts as one millisecond, so it does not fire without a pause.
#[supervise::test]
async fn a_receive_timeout_of_nothing_is_a_millisecond(system: &TestSystem) {
    let ticks = system.probe();
    let clock = system.spawn("clock", clock(ticks.handle())).unwrap();
    clock.idle_after(Duration::ZERO, 1).await.unwrap();
    system.advance(Duration::from_millis(10)).await;
    assert_eq!(ticks.all().await, [1; 10]);
}

#[supervise::test]
async fn a_message_that_is_not_influencing_does_not_put_the_receive_timeout_off(system: &TestSystem) {
    let ticks = system.probe();
    let clock = system.spawn("clock", clock(ticks.handle())).unwrap();
    clock.idle_after(10 * SECOND, 1).await.unwrap();
    system.advance(9 * SECOND).await;
    clock.peek().await.unwrap();
    system.advance(SECOND).await;
    assert_eq!(ticks.all().await, [1]);
}

#[supervise::test]
async fn the_receive_timeout_survives_a_restart_and_counts_from_there(system: &TestSystem) {
    let ticks = system.probe();
    let clock = system.spawn("clock", clock(ticks.handle())).unwrap();
    clock.idle_after(10 * SECOND, 1).await.unwrap();
    system.advance(9 * SECOND).await;
    clock.fail().tell().unwrap();
    system.advance(9 * SECOND).await;
    assert!(ticks.all().await.is_empty());
    system.advance(SECOND).await;
    assert_eq!(ticks.all().await, [1]);
    system.expect_restarts(&clock, 1).await;
}

#[supervise::test]
async fn a_timer_that_is_due_while_a_handler_waits_comes_after_what_waits_by_then(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let clock = system.spawn("clock", move || Clock { ticks: handle.clone() }).unwrap();
    clock.once("key", SECOND, 1).await.unwrap();
    clock.busy(3 * SECOND).tell().unwrap();
    system.advance(2 * SECOND).await;
    clock.tick(2).tell().unwrap();
    system.advance(2 * SECOND).await;
    assert_eq!(probe.all().await, [2, 1], "it was due a second before the message was sent");
}
