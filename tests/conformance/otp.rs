//! OTP: the behaviour of Erlang/OTP's supervisors, as far as strategies and limits can express it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{Count, Directive, Event, HowEnded, OnLimit, Outcome, Props, Stage as When, Strategy, Window};

use crate::fixture::{
    Boom, KeeperRef, PingPong, PingPongRef, Witness, always_restart, any_child, as_in_akka, child, how_ended,
    keeper, keeper_deciding, keeper_under, keeping, ms, names_of_children, secs, within,
};
use crate::log::Log;

/// A supervisor as in OTP. It counts the restarts of all its children together, and gives up when the limit is
/// reached. Its parent then stops it.
async fn supervisor(system: &TestSystem, strategy: Strategy, intensity: u32) -> KeeperRef {
    let top = keeper_deciding(system, Strategy::one_for_one(), |_| Directive::Stop);
    let strategy = strategy
        .max_retries(intensity)
        .within(secs(5))
        .window(Window::Sliding)
        .count(Count::Supervisor)
        .on_limit(OnLimit::Escalate);
    keeper_under(&top, "supervisor", keeping(strategy, always_restart)).await
}

async fn kill(system: &TestSystem, actor: &PingPongRef) -> Outcome {
    actor.actor_ref().kill();
    system.expect_decision(actor).await.outcome
}

async fn gives_up(system: &TestSystem, supervisor: &KeeperRef) {
    system.expect_terminated(supervisor).await;
    assert_eq!(system.expect_decision(supervisor).await.outcome, Outcome::Stopped { children: 1 });
}

/// Rule 6.3.
#[supervise::test]
async fn otp_01_a_supervisor_without_children_starts_and_stops(system: &TestSystem) {
    let supervisor = supervisor(system, Strategy::one_for_one(), 1).await;
    assert!(names_of_children(&supervisor).await.is_empty());
    supervisor.actor_ref().stop();
    assert_eq!(how_ended(system, &supervisor).await, HowEnded::Graceful);
}

/// Cannot be a supervisor.
#[actor]
struct Misfit;

#[actor]
impl Misfit {
    #[pre_start]
    fn start(&mut self) -> Result<(), Boom> {
        Err(Boom("init failed"))
    }
}

/// Rule 5.1.
#[supervise::test]
async fn otp_08_a_supervisor_whose_start_fails_is_not_there(system: &TestSystem) {
    let keeper = keeper_deciding(system, Strategy::one_for_one(), as_in_akka);
    let misfit = child(&keeper, "misfit", || Misfit).await;
    system.expect_terminated(&misfit).await;
    let decision = system.expect_decision(&misfit).await;
    assert_eq!(decision.failure.stage(), When::Initialization);
    assert_eq!(decision.failure.downcast_ref(), Some(&Boom("init failed")));
}

/// Rule 5.2.
#[supervise::test]
async fn otp_09_a_child_whose_start_fails_is_not_kept(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper_deciding(system, Strategy::one_for_one(), as_in_akka);
    let failed = child(&keeper, "child", || Err::<PingPong, _>(Boom("no"))).await;
    let anonymous = within(&keeper, |ctx| ctx.spawn_anonymous(|| Err::<PingPong, _>(Boom("no"))).unwrap()).await;
    system.expect_terminated(&failed).await;
    system.expect_terminated(&anonymous).await;
    assert!(names_of_children(&keeper).await.is_empty());
    let second = child(&keeper, "child", PingPong::factory(&probe.handle())).await;
    assert_eq!(second.ping().await.unwrap(), "pong");
    system.expect_decision(&failed).await;
    system.expect_decision(&anonymous).await;
}

/// Rule 7.2.
#[supervise::test]
async fn otp_28_one_for_one_counts_for_the_supervisor(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = supervisor(system, Strategy::one_for_one(), 2).await;
    let first = child(&supervisor, "first", PingPong::factory(&probe.handle())).await;
    let second = child(&supervisor, "second", PingPong::factory(&probe.handle())).await;
    assert_eq!((first.count().await.unwrap(), second.count().await.unwrap()), (1, 1));
    assert_eq!(kill(system, &first).await, Outcome::Restarting { children: 1, delay: None });
    assert_eq!((first.count().await.unwrap(), second.count().await.unwrap()), (1, 2));
    assert_eq!(names_of_children(&supervisor).await.len(), 2);
    assert_eq!(kill(system, &second).await, Outcome::Restarting { children: 1, delay: None });
    assert_eq!(kill(system, &first).await, Outcome::LimitEscalated);
    gives_up(system, &supervisor).await;
    assert!(first.actor_ref().has_ended() && second.actor_ref().has_ended());
}

/// Starts once, and never again.
fn once_only(probe: &ProbeHandle<String>) -> impl FnMut() -> Result<PingPong, Boom> + Send + 'static {
    let mut made = PingPong::factory(probe);
    let mut starts = 0;
    move || {
        starts += 1;
        if starts == 1 { Ok(made()) } else { Err(Boom("restart error")) }
    }
}

/// A child that never comes back makes its supervisor give up, and a healthy one goes with it.
async fn escalation(system: &TestSystem, strategy: Strategy) {
    let probe = system.probe();
    let supervisor = supervisor(system, strategy, 4).await;
    let broken = child(&supervisor, "broken", once_only(&probe.handle())).await;
    let healthy = child(&supervisor, "healthy", PingPong::factory(&probe.handle())).await;
    broken.actor_ref().kill();
    gives_up(system, &supervisor).await;
    assert!(broken.actor_ref().has_ended() && healthy.actor_ref().has_ended());
    let path = broken.actor_ref().path();
    let decided = system.take_all(|event| matches!(event, Event::Decided { child, .. } if *child == path)).await;
    assert_eq!(decided.len(), 5, "one death and four failed restarts");
}

/// Rule 7.6.
#[supervise::test]
async fn otp_29_one_for_one_gives_up_when_a_child_does_not_come_back(system: &TestSystem) {
    escalation(system, Strategy::one_for_one()).await;
}

/// Rule 7.1.
#[supervise::test]
async fn otp_30_one_for_all_replaces_both(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = supervisor(system, Strategy::all_for_one(), 2).await;
    let first = child(&supervisor, "first", PingPong::factory(&probe.handle())).await;
    let second = child(&supervisor, "second", PingPong::factory(&probe.handle())).await;
    assert_eq!((first.count().await.unwrap(), second.count().await.unwrap()), (1, 1));
    assert_eq!(kill(system, &first).await, Outcome::Restarting { children: 2, delay: None });
    assert_eq!((first.count().await.unwrap(), second.count().await.unwrap()), (1, 1), "both are new");
    assert_eq!(kill(system, &second).await, Outcome::Restarting { children: 2, delay: None });
    assert_eq!(kill(system, &first).await, Outcome::LimitEscalated);
    gives_up(system, &supervisor).await;
}

/// Rule 7.6.
#[supervise::test]
async fn otp_31_one_for_all_gives_up_when_a_child_does_not_come_back(system: &TestSystem) {
    escalation(system, Strategy::all_for_one()).await;
}

/// Rule 7.1.
#[supervise::test]
async fn otp_32_a_sibling_that_does_not_come_back_takes_the_others_along_again(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = supervisor(system, Strategy::all_for_one(), 4).await;
    let first = child(&supervisor, "first", PingPong::factory(&probe.handle())).await;
    let broken = Arc::new(AtomicBool::new(false));
    let second = child(&supervisor, "second", {
        let broken = Arc::clone(&broken);
        let mut made = PingPong::factory(&probe.handle());
        move || if broken.swap(false, Ordering::SeqCst) { Err(Boom("not yet")) } else { Ok(made()) }
    })
    .await;
    system.settle().await;
    broken.store(true, Ordering::SeqCst);
    first.actor_ref().kill();
    system.settle().await;
    assert_eq!((first.count().await.unwrap(), second.count().await.unwrap()), (1, 1));
    system.expect_restarts(&first, 2).await;
    system.expect_restarts(&second, 1).await;
}

/// Rule 5.4.
#[supervise::test]
async fn otp_36_made_up_names_are_children_like_any_other(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = supervisor(system, Strategy::one_for_one(), 2).await;
    let mut children = Vec::new();
    for _ in 0..2 {
        let factory = PingPong::factory(&probe.handle());
        children.push(within(&supervisor, move |ctx| ctx.spawn_anonymous(factory).unwrap()).await);
    }
    assert_eq!(kill(system, &children[0]).await, Outcome::Restarting { children: 1, delay: None });
    assert_eq!(kill(system, &children[1]).await, Outcome::Restarting { children: 1, delay: None });
    assert_eq!(names_of_children(&supervisor).await.len(), 2);
    assert_eq!(kill(system, &children[0]).await, Outcome::LimitEscalated);
    gives_up(system, &supervisor).await;
}

/// Rule 6.2.
#[supervise::test]
async fn otp_38_dynamic_children_stop_at_the_same_time_each_within_its_own(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = supervisor(system, Strategy::one_for_one(), 1).await;
    let mut children = Vec::new();
    for slow in [1, 1, 5] {
        let handle = probe.handle();
        let props = Props::new(move || Witness::slow("child", secs(slow), &handle)).stop_timeout(secs(2));
        let name = format!("child-{}", children.len());
        children.push(within(&supervisor, move |ctx| ctx.spawn_with(name, props).unwrap()).await);
    }
    system.settle().await;
    let begun = tokio::time::Instant::now();
    supervisor.actor_ref().stop();
    system.expect_terminated(&supervisor).await;
    assert_eq!(begun.elapsed(), secs(2));
    let mut how = Vec::new();
    for child in &children {
        how.push(how_ended(system, child).await);
    }
    assert_eq!(how, [HowEnded::Graceful, HowEnded::Graceful, HowEnded::Aborted]);
}

/// Rule 6.3.
#[supervise::test]
async fn otp_40_a_child_that_ended_holds_nothing(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper_deciding(system, Strategy::one_for_one(), |_| Directive::Stop);
    let big = Arc::new(vec![0_u8; 1 << 20]);
    let argument = Arc::clone(&big);
    let mut made = PingPong::factory(&probe.handle());
    let temporary = child(&keeper, "temporary", move || {
        assert_eq!(argument.len(), 1 << 20);
        made()
    })
    .await;
    assert_eq!(Arc::strong_count(&big), 2);
    assert_eq!(kill(system, &temporary).await, Outcome::Stopped { children: 1 });
    assert_eq!(Arc::strong_count(&big), 1);
}

/// Rule 7.6.
#[supervise::test]
async fn otp_41_dynamic_children_give_up_too(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = supervisor(system, Strategy::one_for_one(), 4).await;
    let factory = once_only(&probe.handle());
    let broken = within(&supervisor, move |ctx| ctx.spawn_anonymous(factory).unwrap()).await;
    broken.actor_ref().kill();
    gives_up(system, &supervisor).await;
    let path = broken.actor_ref().path();
    let decided = system.take_all(|event| matches!(event, Event::Decided { child, .. } if *child == path)).await;
    assert_eq!(decided.len(), 5);
}

/// Starts quickly for the first time; then it tries for a second and fails.
#[actor]
struct Hanging {
    life: u32,
    attempts: Arc<AtomicU32>,
}

#[actor]
impl Hanging {
    #[pre_start]
    async fn start(&mut self) -> Result<(), Boom> {
        self.attempts.fetch_add(1, Ordering::SeqCst);
        if self.life == 1 {
            return Ok(());
        }
        tokio::time::sleep(secs(1)).await;
        Err(Boom("still hanging"))
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }
}

/// Rule 7.8.
#[supervise::test]
async fn otp_49_a_supervisor_stays_responsive_while_a_child_fails_to_restart(system: &TestSystem) {
    for (name, strategy) in [("one", Strategy::one_for_one()), ("rest", Strategy::rest_for_one())] {
        let probe = system.probe();
        let supervisor = system.spawn_with(name, keeping(strategy, always_restart)).unwrap();
        let earlier = child(&supervisor, "earlier", PingPong::factory(&probe.handle())).await;
        assert_eq!(earlier.count().await.unwrap(), 1);
        let attempts = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&attempts);
        let mut life = 0;
        let hanging = child(&supervisor, "hanging", move || {
            life += 1;
            Hanging { life, attempts: Arc::clone(&counted) }
        })
        .await;
        hanging.fail().tell().unwrap();
        system.advance(secs(10)).await;
        assert!(attempts.load(Ordering::SeqCst) > 3);

        let taken = within(&supervisor, |ctx| ctx.spawn("hanging", || Misfit).map(drop));
        let taken = tokio::time::timeout(ms(1), taken).await.expect("at once");
        assert!(matches!(taken, Err(SpawnError::NameTaken { .. })));
        assert_eq!(names_of_children(&supervisor).await, ["earlier", "hanging"]);
        assert_eq!(earlier.count().await.unwrap(), 2, "untouched");

        if name == "one" {
            hanging.actor_ref().stop();
            system.expect_terminated(&hanging).await;
            assert_eq!(names_of_children(&supervisor).await, ["earlier"]);
        }
        supervisor.actor_ref().stop();
        system.expect_terminated(&supervisor).await;
        assert!(hanging.actor_ref().has_ended());
        system.take_all(|event| matches!(event, Event::Decided { .. })).await;
    }
}

/// How long it takes to make this many children and to stop them all.
fn start_and_stop(children: u32) -> Duration {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let system = ActorSystem::new("scale");
        let keeper = system.spawn_with("keeper", keeping(Strategy::one_for_one(), always_restart)).unwrap();
        let begun = Instant::now();
        within(&keeper, move |ctx| {
            for _ in 0..children {
                ctx.spawn_anonymous(|| Idle).unwrap();
            }
        })
        .await;
        system.terminate().await;
        begun.elapsed()
    })
}

#[actor]
struct Idle;

#[actor]
impl Idle {}

/// Rule 6.2.
#[test]
fn otp_51_many_children_cost_in_proportion() {
    let few = (0..3).map(|_| start_and_stop(1_000)).min().unwrap_or_default();
    let many = start_and_stop(100_000);
    assert!(many <= few * 100 * 10, "1 000 children took {few:?}, 100 000 took {many:?}");
}

/// Rule 5.4.
#[supervise::test]
async fn otp_60_children_are_listed_in_start_order_until_they_are_gone(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper(system, Strategy::one_for_one());
    let slow = |name: &'static str| {
        let handle = probe.handle();
        move || Witness::slow(name, secs(1), &handle)
    };
    for name in ["c", "a", "b"] {
        child(&keeper, name, slow(name)).await;
    }
    assert_eq!(names_of_children(&keeper).await, ["c", "a", "b"]);
    assert!(any_child(&keeper, "d").await.is_none());
    let a = any_child(&keeper, "a").await.unwrap();
    a.stop();
    system.settle().await;
    assert_eq!(names_of_children(&keeper).await, ["c", "a", "b"], "it is still ending");
    system.advance(secs(1)).await;
    assert!(a.has_ended());
    assert_eq!(names_of_children(&keeper).await, ["c", "b"]);
    assert!(any_child(&keeper, "a").await.is_none());
}

/// Rule 10.2.
#[supervise::test]
async fn otp_61_a_restart_is_reported_with_supervisor_reason_and_offender(system: &TestSystem) {
    let log = Log::open();
    let probe = system.probe();
    let keeper = keeper(system, Strategy::one_for_one());
    let actor = child(&keeper, "offender", PingPong::factory(&probe.handle())).await;
    system.settle().await;
    assert!(log.all().iter().all(|record| record.level >= tracing::Level::DEBUG), "a start is no news");
    actor.die("a reason").tell().unwrap();
    system.settle().await;
    let errors = log.errors();
    let [report] = &errors[..] else { panic!("one report: {errors:?}") };
    for part in [
        "supervisor=supervise://test/user/keeper ",
        "actor=supervise://test/user/keeper/offender ",
        "outcome=\"restart\"",
        "a reason",
    ] {
        assert!(report.contains(part), "{part} in {report}");
    }
    let restarted = log.all().into_iter().filter(|record| record.text.contains("restarted")).count();
    assert_eq!(restarted, 1);
    system.expect_restarts(&actor, 1).await;
}
