//! RTO: the receive timeout. LIF-15..17: what a restart does to timers.

use std::time::Duration;

use supervise::Strategy;
use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};

use crate::fixture::{Boom, always_restart, child, keeper_deciding, ms, secs};

/// Reports when no message has come for a while.
#[actor]
struct Listener {
    said: ProbeHandle<Said>,
    /// What else it does when no message has come.
    when_idle: WhenIdle,
}

#[derive(Debug, PartialEq, Eq)]
enum Said {
    /// No message has come for this long.
    Idle(Duration),
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WhenIdle {
    GoOn,
    TurnOff,
    Whisper,
}

impl Listener {
    fn factory(said: ProbeHandle<Said>, when_idle: WhenIdle) -> impl FnMut() -> Self + Send + 'static {
        move || Self { said: said.clone(), when_idle }
    }
}

#[actor]
impl Listener {
    #[handler]
    fn listen(&mut self, patience: Duration, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.set_receive_timeout(patience, move || me.idle(patience).into_message());
    }

    #[handler]
    fn idle(
        &mut self,
        patience: Duration,
        ctx: &mut Context<Self>,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        self.said.note(Said::Idle(patience));
        match self.when_idle {
            WhenIdle::GoOn => {}
            WhenIdle::TurnOff => ctx.cancel_receive_timeout(),
            WhenIdle::Whisper => ctx.me().whisper().tell()?,
        }
        Ok(())
    }

    #[handler]
    fn shout(&mut self) {}

    #[handler(not_influencing)]
    fn whisper(&mut self) {}

    /// Changes the timeout although it does not count as activity.
    #[handler(not_influencing)]
    fn change(&mut self, patience: Option<Duration>, ctx: &mut Context<Self>) {
        match patience {
            Some(patience) => self.listen(patience, ctx),
            None => ctx.cancel_receive_timeout(),
        }
    }

    #[handler]
    fn whisper_every(&mut self, interval: Duration, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.start_periodic_timer("whisper", interval, move || me.whisper().into_message());
    }

    #[handler]
    fn shout_every(&mut self, interval: Duration, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.start_periodic_timer("shout", interval, move || me.shout().into_message());
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("as told"))
    }

    #[handler]
    fn listen_and_leave(&mut self, patience: Duration, ctx: &mut Context<Self>) {
        self.listen(patience, ctx);
        ctx.stop_self();
    }

    #[post_stop]
    fn left(&mut self) {
        self.said.note(Said::Stopped);
    }
}

fn listener(system: &TestSystem, said: ProbeHandle<Said>, when_idle: WhenIdle) -> ListenerRef {
    system.spawn("listener", Listener::factory(said, when_idle)).unwrap()
}

/// Rule 15.2.
#[supervise::test]
async fn rto_01_looking_an_actor_up_and_marked_messages_do_not_count(system: &TestSystem) {
    let said = system.probe();
    let listener = listener(system, said.handle(), WhenIdle::TurnOff);
    assert!(Listener::is_activity(&listener.shout().into_message()));
    assert!(Listener::is_activity(&listener.idle(secs(1)).into_message()));
    assert!(!Listener::is_activity(&listener.whisper().into_message()));
    listener.listen(secs(10)).await.unwrap();
    system.advance(secs(9)).await;
    assert!(system.find("/user/listener").is_some());
    assert_eq!(system.select("/user/*").unwrap().identify().len(), 1);
    listener.whisper().await.unwrap();
    system.advance(secs(1)).await;
    assert_eq!(said.all().await, [Said::Idle(secs(10))]);
}

/// Rule 15.2.
#[supervise::test]
async fn rto_02_silence_brings_one_timeout(system: &TestSystem) {
    let said = system.probe();
    let listener = listener(system, said.handle(), WhenIdle::GoOn);
    listener.listen(ms(500)).await.unwrap();
    system.advance(ms(499)).await;
    said.expect_none().await;
    system.advance(ms(2)).await;
    assert_eq!(said.all().await.len(), 1);
}

/// Rule 15.2.
#[supervise::test]
async fn rto_03_it_carries_what_was_set(system: &TestSystem) {
    let said = system.probe();
    let listener = listener(system, said.handle(), WhenIdle::TurnOff);
    listener.listen(secs(60)).await.unwrap();
    listener.listen(ms(500)).await.unwrap();
    system.advance(secs(120)).await;
    assert_eq!(said.all().await, [Said::Idle(ms(500))], "the last setting, and it alone");
}

/// Rule 15.2.
#[supervise::test]
async fn rto_04_messages_put_it_off(system: &TestSystem) {
    let said = system.probe();
    let listener = listener(system, said.handle(), WhenIdle::TurnOff);
    listener.listen(secs(1)).await.unwrap();
    for _ in 0..100 {
        system.advance(ms(100)).await;
        listener.shout().tell().unwrap();
    }
    system.advance(ms(500)).await;
    said.expect_none().await;
    system.advance(ms(500)).await;
    assert_eq!(said.all().await, [Said::Idle(secs(1))]);
}

/// Rule 15.2.
#[supervise::test]
async fn rto_04_so_do_the_actor_s_own_timers(system: &TestSystem) {
    let said = system.probe();
    let listener = listener(system, said.handle(), WhenIdle::TurnOff);
    listener.listen(secs(1)).await.unwrap();
    listener.shout_every(ms(900)).await.unwrap();
    system.advance(secs(60)).await;
    said.expect_none().await;
}

/// Rule 15.2.
#[supervise::test]
async fn rto_05_it_can_be_turned_off_when_it_comes(system: &TestSystem) {
    let said = system.probe();
    let listener = listener(system, said.handle(), WhenIdle::TurnOff);
    listener.listen(ms(500)).await.unwrap();
    system.advance(secs(60)).await;
    assert_eq!(said.all().await, [Said::Idle(ms(500))]);
    listener.shout().await.unwrap();
    system.advance(secs(60)).await;
    said.expect_none().await;
}

/// Rule 15.2.
#[supervise::test]
async fn rto_06_it_does_not_come_unasked(system: &TestSystem) {
    let said = system.probe();
    let listener = listener(system, said.handle(), WhenIdle::GoOn);
    listener.shout().await.unwrap();
    system.advance(secs(60)).await;
    said.expect_none().await;
}

/// Rule 15.2.
#[supervise::test]
async fn rto_07_marked_messages_do_not_put_it_off(system: &TestSystem) {
    let said = system.probe();
    let listener = listener(system, said.handle(), WhenIdle::TurnOff);
    listener.listen(secs(1)).await.unwrap();
    for _ in 0..9 {
        system.advance(ms(100)).await;
        listener.whisper().tell().unwrap();
    }
    said.expect_none().await;
    system.advance(ms(100)).await;
    assert_eq!(said.all().await, [Said::Idle(secs(1))]);
}

/// Rule 15.2.
#[supervise::test]
async fn rto_07_but_what_their_handler_sets_holds(system: &TestSystem) {
    let said = system.probe();
    let listener = listener(system, said.handle(), WhenIdle::TurnOff);
    listener.listen(secs(1)).await.unwrap();
    listener.change(Some(secs(5))).await.unwrap();
    system.advance(secs(4)).await;
    said.expect_none().await;
    system.advance(secs(1)).await;
    assert_eq!(said.all().await, [Said::Idle(secs(5))]);
    listener.listen(secs(1)).await.unwrap();
    listener.change(None).await.unwrap();
    system.advance(secs(60)).await;
    said.expect_none().await;
}

/// Rule 15.2.
#[supervise::test]
async fn rto_08_it_comes_again_although_it_sends_marked_messages(system: &TestSystem) {
    let said = system.probe();
    let listener = listener(system, said.handle(), WhenIdle::Whisper);
    listener.listen(secs(1)).await.unwrap();
    system.advance(ms(3500)).await;
    assert_eq!(said.all().await.len(), 3);
}

/// Rule 15.2.
#[supervise::test]
async fn rto_09_and_although_a_timer_sends_them(system: &TestSystem) {
    let said = system.probe();
    let listener = listener(system, said.handle(), WhenIdle::GoOn);
    listener.whisper_every(ms(100)).await.unwrap();
    listener.listen(secs(1)).await.unwrap();
    system.advance(ms(3500)).await;
    assert_eq!(said.all().await.len(), 3);
}

/// Sets a receive timeout only in its later lives.
#[actor]
struct OnceBitten {
    bitten: bool,
    said: ProbeHandle<&'static str>,
}

#[actor]
impl OnceBitten {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) {
        if self.bitten {
            self.said.note("restarting");
            let me = ctx.me();
            ctx.set_receive_timeout(ms(500), move || me.idle().into_message());
        } else {
            self.said.note("starting");
        }
    }

    #[handler]
    fn bite(&mut self) -> Result<(), Boom> {
        self.said.note("crashing");
        Err(Boom("ouch"))
    }

    #[handler]
    fn idle(&mut self) {
        self.said.note("idle");
    }

    #[post_stop]
    fn stop(&mut self) {
        self.said.note("stopping");
    }
}

/// Rule 4.7.
#[supervise::test]
async fn rto_14_one_that_is_set_in_a_restart_counts_from_there(system: &TestSystem) {
    let said = system.probe();
    let handle = said.handle();
    let mut bitten = false;
    let actor = system.spawn("bitten", move || OnceBitten {
        bitten: std::mem::replace(&mut bitten, true),
        said: handle.clone(),
    });
    let actor = actor.unwrap();
    system.advance(secs(10)).await;
    assert_eq!(said.all().await, ["starting"]);
    actor.bite().tell().unwrap();
    assert_eq!(said.all().await, ["crashing", "stopping", "restarting"]);
    system.advance(ms(499)).await;
    said.expect_none().await;
    system.advance(ms(2)).await;
    assert_eq!(said.all().await, ["idle"]);
    system.expect_restarts(&actor, 1).await;
}

/// Rule 4.7.
#[supervise::test]
async fn z_43_it_survives_a_restart_and_counts_from_there(system: &TestSystem) {
    let said = system.probe();
    let listener = listener(system, said.handle(), WhenIdle::TurnOff);
    listener.listen(secs(1)).await.unwrap();
    system.advance(ms(900)).await;
    listener.fail().tell().unwrap();
    system.expect_restarts(&listener, 1).await;
    said.expect(Said::Stopped).await;
    system.advance(ms(999)).await;
    said.expect_none().await;
    system.advance(ms(1)).await;
    said.expect(Said::Idle(secs(1))).await;
}

/// Rule 15.2.
#[supervise::test]
async fn rto_15_it_does_not_come_after_the_end(system: &TestSystem) {
    let said = system.probe();
    let listener = listener(system, said.handle(), WhenIdle::GoOn);
    listener.listen_and_leave(ms(200)).await.unwrap();
    assert_eq!(said.all().await, [Said::Stopped]);
    // A dead letter would fail the test.
    system.advance(ms(400)).await;
    said.expect_none().await;
}

/// Which timers are set.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    at: &'static str,
    life: u32,
    active: Vec<&'static str>,
}

/// The timers there are, by where they are set.
const TIMERS: [&str; 3] = ["message", "pre_restart", "post_restart"];

/// Sets timers wherever it can, and looks at them wherever it can.
#[actor]
struct Watchmaker {
    life: u32,
    /// The restart into this life fails after it has set its timer.
    fails_in_life: Option<u32>,
    seen: ProbeHandle<Seen>,
}

impl Watchmaker {
    fn factory(fails_in_life: Option<u32>, seen: ProbeHandle<Seen>) -> impl FnMut() -> Self + Send + 'static {
        let mut life = 0;
        move || {
            life += 1;
            Self { life, fails_in_life, seen: seen.clone() }
        }
    }

    fn look(&self, at: &'static str, ctx: &Context<Self>) {
        let active = TIMERS.into_iter().filter(|key| ctx.is_timer_active(key)).collect();
        self.seen.note(Seen { at, life: self.life, active });
    }

    fn set(key: &'static str, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.start_timer(key, secs(60), me.tick());
    }
}

#[actor]
impl Watchmaker {
    #[handler]
    fn start(&mut self, ctx: &mut Context<Self>) {
        Self::set("message", ctx);
    }

    #[handler]
    fn look_now(&mut self, ctx: &mut Context<Self>) {
        self.look("message", ctx);
    }

    #[handler]
    fn fail(&mut self, ctx: &mut Context<Self>) -> Result<(), Boom> {
        self.look("fail", ctx);
        Err(Boom("boom"))
    }

    #[handler]
    fn tick(&mut self, ctx: &mut Context<Self>) {
        self.look("tick", ctx);
    }

    #[pre_restart]
    fn before(&mut self, ctx: &mut Context<Self>) {
        self.look("pre_restart", ctx);
        Self::set("pre_restart", ctx);
    }

    #[post_restart]
    fn after(&mut self, ctx: &mut Context<Self>) -> Result<(), Boom> {
        self.look("post_restart", ctx);
        Self::set("post_restart", ctx);
        if self.fails_in_life == Some(self.life) { Err(Boom("again")) } else { Ok(()) }
    }

    #[post_stop]
    fn end(&mut self, ctx: &mut Context<Self>) {
        self.look("post_stop", ctx);
    }
}

fn seen<const N: usize>(at: &'static str, life: u32, active: [&'static str; N]) -> Seen {
    Seen { at, life, active: active.to_vec() }
}

/// Rule 4.7.
#[supervise::test]
async fn lif_15_a_timer_lasts_until_the_restart_begins(system: &TestSystem) {
    let probe = system.probe();
    let actor = system.spawn("watchmaker", Watchmaker::factory(None, probe.handle())).unwrap();
    actor.start().tell().unwrap();
    actor.fail().tell().unwrap();
    assert_eq!(
        probe.all().await,
        [seen("fail", 1, ["message"]), seen("pre_restart", 1, []), seen("post_restart", 2, [])]
    );
    system.expect_restarts(&actor, 1).await;
}

/// Rule 4.7.
#[supervise::test]
async fn lif_16_a_timer_that_pre_restart_sets_ends_with_its_instance(system: &TestSystem) {
    let probe = system.probe();
    let actor = system.spawn("watchmaker", Watchmaker::factory(None, probe.handle())).unwrap();
    actor.fail().tell().unwrap();
    actor.look_now().tell().unwrap();
    let [.., after, running] = &probe.all().await[..] else { panic!("it was restarted") };
    assert_eq!(*after, seen("post_restart", 2, []));
    assert_eq!(*running, seen("message", 2, ["post_restart"]));
    system.advance(secs(60)).await;
    assert_eq!(probe.all().await, [seen("tick", 2, [])], "one timer came");
    system.expect_restarts(&actor, 1).await;
}

/// Rule 4.7.
#[supervise::test]
async fn lif_17_a_timer_that_post_restart_sets_lasts_until_the_end(system: &TestSystem) {
    let probe = system.probe();
    let actor = system.spawn("watchmaker", Watchmaker::factory(None, probe.handle())).unwrap();
    actor.fail().tell().unwrap();
    actor.look_now().tell().unwrap();
    system.settle().await;
    system.stop(&actor);
    system.expect_terminated(&actor).await;
    let [.., running, ended] = &probe.all().await[..] else { panic!("it ran and ended") };
    assert_eq!(*running, seen("message", 2, ["post_restart"]));
    assert_eq!(*ended, seen("post_stop", 2, []));
    system.advance(secs(60)).await;
    probe.expect_none().await;
    system.expect_restarts(&actor, 1).await;
}

/// Rule 4.7.
#[supervise::test]
async fn lif_17_unless_that_post_restart_fails(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper_deciding(system, Strategy::one_for_one().max_retries(2), always_restart);
    let actor = child(&keeper, "watchmaker", Watchmaker::factory(Some(2), probe.handle())).await;
    actor.fail().tell().unwrap();
    assert_eq!(
        probe.all().await,
        [
            seen("fail", 1, []),
            seen("pre_restart", 1, []),
            seen("post_restart", 2, []),
            seen("post_restart", 3, []),
        ]
    );
    system.advance(secs(60)).await;
    assert_eq!(probe.all().await, [seen("tick", 3, [])], "that of the third life alone");
    system.allow_failures();
}
