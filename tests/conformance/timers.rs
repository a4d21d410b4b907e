//! RTO: the receive timeout. LIF-15 to LIF-17: timers across restarts.

use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestProbe, TestSystem};

use crate::fixture::{Boom, ms, secs};

/// Notes when it heard nothing for a while.
#[actor]
struct Idler {
    turns_off: bool,
    keeps_talking: bool,
    timeouts: ProbeHandle<Duration>,
}

#[actor]
impl Idler {
    #[handler]
    fn set(&mut self, after: Duration, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.set_receive_timeout(after, move || me.timeout(after).into_message());
    }

    #[handler]
    fn timeout(&mut self, after: Duration, ctx: &mut Context<Self>) {
        self.timeouts.note(after);
        if self.turns_off {
            ctx.cancel_receive_timeout();
        }
        if self.keeps_talking {
            ctx.me().transparent().tell().expect("it runs");
        }
    }

    #[handler]
    fn tick(&mut self) {}

    #[handler(not_influencing)]
    fn transparent(&mut self) {}

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }

    #[handler(not_influencing)]
    fn every(&mut self, interval: Duration, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.start_periodic_timer("transparent", interval, move || me.transparent().into_message());
    }
}

fn idler(system: &TestSystem) -> (IdlerRef, TestProbe<Duration>) {
    idler_like(system, |timeouts| Idler { turns_off: false, keeps_talking: false, timeouts })
}

fn idler_like(
    system: &TestSystem,
    make: impl Fn(ProbeHandle<Duration>) -> Idler + Send + 'static,
) -> (IdlerRef, TestProbe<Duration>) {
    let timeouts = system.probe();
    let handle = timeouts.handle();
    (system.spawn("idler", move || make(handle.clone())).unwrap(), timeouts)
}

#[supervise::test]
async fn rto_01_rto_07_only_some_messages_put_it_off(system: &TestSystem) {
    for influencing in [true, false] {
        let (idler, timeouts) = idler(system);
        idler.set(secs(1)).await.unwrap();
        for _ in 0..12 {
            system.advance(ms(100)).await;
            if influencing { idler.tick().tell().unwrap() } else { idler.transparent().tell().unwrap() }
        }
        assert_eq!(timeouts.all().await.len(), usize::from(!influencing));
        system.stop(&idler);
        system.expect_terminated(&idler).await;
    }
}

#[supervise::test]
async fn rto_02_rto_03_it_comes_once_with_what_was_asked_for(system: &TestSystem) {
    let (idler, timeouts) = idler(system);
    idler.set(ms(500)).await.unwrap();
    system.advance(ms(499)).await;
    assert_eq!(timeouts.all().await, []);
    system.advance(ms(1)).await;
    assert_eq!(timeouts.all().await, [ms(500)]);
}

#[supervise::test]
async fn rto_04_it_is_put_off_by_each_message(system: &TestSystem) {
    let (idler, timeouts) = idler(system);
    idler.set(secs(1)).await.unwrap();
    for _ in 0..100 {
        idler.tick().tell().unwrap();
    }
    system.advance(ms(500)).await;
    idler.tick().await.unwrap();
    system.advance(ms(999)).await;
    assert_eq!(timeouts.all().await, []);
    system.advance(ms(1)).await;
    assert_eq!(timeouts.all().await.len(), 1);
}

#[supervise::test]
async fn rto_05_it_can_be_turned_off_where_it_is_handled(system: &TestSystem) {
    let (idler, timeouts) =
        idler_like(system, |timeouts| Idler { turns_off: true, keeps_talking: false, timeouts });
    idler.set(ms(500)).await.unwrap();
    idler.tick().await.unwrap();
    system.advance(secs(5)).await;
    assert_eq!(timeouts.all().await.len(), 1);
}

#[supervise::test]
async fn rto_06_nobody_gets_it_who_did_not_ask(system: &TestSystem) {
    let (idler, timeouts) = idler(system);
    idler.tick().await.unwrap();
    system.advance(secs(60)).await;
    assert_eq!(timeouts.all().await, []);
}

#[supervise::test]
async fn rto_08_it_comes_again_while_only_transparent_messages_do(system: &TestSystem) {
    let (idler, timeouts) =
        idler_like(system, |timeouts| Idler { turns_off: false, keeps_talking: true, timeouts });
    idler.set(secs(1)).await.unwrap();
    system.advance(secs(3)).await;
    assert_eq!(timeouts.all().await.len(), 3);
}

#[supervise::test]
async fn rto_09_it_comes_while_a_timer_sends_transparent_messages(system: &TestSystem) {
    let (idler, timeouts) = idler(system);
    idler.set(secs(1)).await.unwrap();
    idler.every(ms(100)).await.unwrap();
    system.advance(secs(3)).await;
    assert_eq!(timeouts.all().await.len(), 3);
}

/// Asks for a receive timeout only when it is restarted, and reports the stations of its life.
#[actor]
struct Restless {
    life: u32,
    probe: ProbeHandle<&'static str>,
}

#[actor]
impl Restless {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) {
        if self.life > 1 {
            self.probe.note("restarting");
            let me = ctx.me();
            ctx.set_receive_timeout(ms(500), move || me.timeout().into_message());
        }
    }

    #[handler]
    fn crash(&mut self) -> Result<(), Boom> {
        self.probe.note("crashing");
        Err(Boom("boom"))
    }

    #[handler]
    fn timeout(&mut self) {
        self.probe.note("timeout");
    }

    #[post_stop]
    fn stop(&mut self) {
        self.probe.note("stopping");
    }
}

#[supervise::test]
async fn rto_14_it_is_scheduled_when_a_restart_sets_it(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let mut life = 0;
    let restless = system.spawn("restless", move || {
        life += 1;
        Restless { life, probe: handle.clone() }
    });
    let restless = restless.unwrap();
    restless.crash().tell().unwrap();
    assert_eq!(probe.all().await, ["crashing", "stopping", "restarting"]);
    system.advance(ms(499)).await;
    probe.expect_none().await;
    system.advance(ms(1)).await;
    assert_eq!(probe.all().await, ["timeout"]);
    system.expect_restarts(&restless, 1).await;
}

#[supervise::test]
async fn z_43_it_survives_a_restart_and_counts_from_there(system: &TestSystem) {
    let (idler, timeouts) = idler(system);
    idler.set(secs(1)).await.unwrap();
    system.advance(ms(900)).await;
    idler.fail().tell().unwrap();
    system.expect_restarts(&idler, 1).await;
    system.advance(ms(999)).await;
    assert_eq!(timeouts.all().await, []);
    system.advance(ms(1)).await;
    assert_eq!(timeouts.all().await, [secs(1)]);
}

/// Does not live to see its receive timeout.
#[actor]
struct Brief {
    probe: ProbeHandle<&'static str>,
}

#[actor]
impl Brief {
    #[handler]
    fn end(&mut self, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.set_receive_timeout(ms(200), move || me.timeout().into_message());
        ctx.stop_self();
    }

    #[handler]
    fn timeout(&mut self) {
        self.probe.note("timeout");
    }

    #[post_stop]
    fn stop(&mut self) {
        self.probe.note("stopped");
    }
}

#[supervise::test]
async fn rto_15_it_ends_with_its_actor(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let brief = system.spawn("brief", move || Brief { probe: handle.clone() }).unwrap();
    brief.end().tell().unwrap();
    system.advance(ms(400)).await;
    // That there is no dead letter is checked when the test ends.
    assert_eq!(probe.all().await, ["stopped"]);
}

/// Starts timers in the hooks it is told to, and notes which are active where.
#[actor]
struct Timed {
    life: u32,
    probe: ProbeHandle<(&'static str, Vec<&'static str>)>,
}

const KEYS: [&str; 3] = ["handler", "pre_restart", "post_restart"];

impl Timed {
    fn note(&self, place: &'static str, ctx: &Context<Self>) {
        self.probe.note((place, KEYS.into_iter().filter(|key| ctx.is_timer_active(key)).collect()));
    }

    fn start(key: &'static str, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.start_timer(key, secs(30 * 60), me.due(key));
    }
}

#[actor]
impl Timed {
    #[handler]
    fn arm(&mut self, ctx: &mut Context<Self>) {
        Self::start("handler", ctx);
        self.note("armed", ctx);
    }

    #[handler]
    fn look(&mut self, ctx: &mut Context<Self>) {
        self.note("running", ctx);
    }

    #[handler]
    fn due(&mut self, key: &'static str) {
        self.probe.note((key, Vec::new()));
    }

    #[handler]
    fn crash(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }

    #[pre_restart]
    fn before(&mut self, ctx: &mut Context<Self>) {
        self.note("pre_restart", ctx);
        Self::start("pre_restart", ctx);
    }

    #[post_restart]
    fn after(&mut self, ctx: &mut Context<Self>) {
        self.note("post_restart", ctx);
        if self.life > 2 {
            Self::start("post_restart", ctx);
        }
    }

    #[post_stop]
    fn stop(&mut self, ctx: &mut Context<Self>) {
        self.note("post_stop", ctx);
    }
}

/// Our hooks have nothing around them: what counts is what they and the next instance see.
#[supervise::test]
async fn lif_15_lif_16_lif_17_timers_belong_to_an_instance(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let mut life = 0;
    let timed = system.spawn("timed", move || {
        life += 1;
        Timed { life, probe: handle.clone() }
    });
    let timed = timed.unwrap();
    timed.arm().tell().unwrap();
    timed.crash().tell().unwrap();
    timed.look().tell().unwrap();
    assert_eq!(
        probe.all().await,
        [("armed", vec!["handler"]), ("pre_restart", vec![]), ("post_restart", vec![]), ("running", vec![])]
    );
    timed.crash().tell().unwrap();
    timed.look().tell().unwrap();
    assert_eq!(
        probe.all().await,
        [("pre_restart", vec![]), ("post_restart", vec![]), ("running", vec!["post_restart"])]
    );
    system.stop(&timed);
    assert_eq!(probe.all().await, [("post_stop", vec![])]);
    system.advance(secs(31 * 60)).await;
    probe.expect_none().await;
    system.expect_restarts(&timed, 2).await;
}
