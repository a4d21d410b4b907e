//! INI: creation, and failures in it.

use supervise::prelude::*;
use supervise::testkit::{self, TestSystem};
use supervise::{Directive, Event, FailureKind, Outcome, Stage, StoppingTable, Strategy};
use tokio::sync::mpsc;

use crate::fixture::{Boom, Witness, as_in_akka, child, keeper_deciding, within};

/// Fails to start in its first life.
#[actor]
struct LateStarter {
    life: u32,
}

#[actor]
impl LateStarter {
    #[pre_start]
    fn start(&mut self) -> Result<(), Boom> {
        if self.life == 0 { Err(Boom("not in the first life")) } else { Ok(()) }
    }

    #[handler]
    fn ping(&self) -> &'static str {
        "pong"
    }
}

#[actor]
#[supervise(on(InitializationFailed) = Restart, on(_) = Stop)]
struct Patient {
    child: Option<LateStarterRef>,
}

#[actor]
impl Patient {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let mut life = 0;
        self.child = Some(ctx.spawn("child", move || {
            life += 1;
            LateStarter { life: life - 1 }
        })?);
        Ok(())
    }

    #[handler]
    async fn ping(&mut self) -> Reply<Result<&'static str, AskError>> {
        match &self.child {
            Some(child) => Reply(child.ping().await),
            None => Reply(Err(AskError::Stopped)),
        }
    }
}

/// Rules 5.1, 5.2.
#[supervise::test]
async fn ini_01_a_failing_pre_start_is_supervised(system: &TestSystem) {
    let patient = system.spawn("patient", || Patient { child: None }).unwrap();
    assert_eq!(patient.ping().await.unwrap().unwrap(), "pong");
    let decided = system.take_all(|event| matches!(event, Event::Decided { .. })).await;
    assert!(
        matches!(&decided[..], [Event::Decided { failure, directive: Directive::Restart, .. }]
            if failure.stage() == Stage::Initialization),
        "{decided:?}"
    );
}

/// Makes an inner actor with its own factory's outcome in `pre_start`, then starts or not.
#[actor]
#[supervise(on(_) = Stop)]
struct Outer {
    inner: Fate,
    own: Fate,
}

/// The outcome of a factory or hook.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Fine,
    Fails,
    Panics,
}

impl Fate {
    fn happen(self, why: &'static str) -> Result<(), Boom> {
        match self {
            Self::Fine => Ok(()),
            Self::Fails => Err(Boom(why)),
            Self::Panics => panic!("{why}"),
        }
    }
}

#[actor]
struct Inner;

#[actor]
impl Inner {
    #[handler]
    fn ping(&self) -> &'static str {
        "pong"
    }
}

#[actor]
impl Outer {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) -> Result<(), Boom> {
        let inner = self.inner;
        ctx.spawn("inner", move || inner.happen("inner").map(|()| Inner)).expect("the name is free");
        self.own.happen("outer")
    }

    #[handler]
    fn inner(&self, ctx: &mut Context<Self>) -> Option<InnerRef> {
        ctx.child("inner")?.downcast::<Inner>().map(InnerRef::from)
    }
}

/// An actor is an ordinary value, so there is no forbidden place to build one; what remains of the rule is that a
/// failing factory or start is a failure of that level alone, said once, with its cause, and leaves nothing behind.
/// Rule 5.1.
#[supervise::test]
async fn ini_02_failing_creations_at_two_levels_are_told_apart(system: &TestSystem) {
    use Fate::{Fails, Fine, Panics};
    let keeper = keeper_deciding(system, Strategy::one_for_one(), as_in_akka);
    for inner in [Fine, Fails, Panics] {
        for factory in [Fine, Fails, Panics] {
            for own in [Fine, Fails, Panics] {
                let outer =
                    child(&keeper, "outer", move || factory.happen("factory").map(|()| Outer { inner, own }))
                        .await;
                system.settle().await;
                let what = format!("inner {inner:?}, factory {factory:?}, own {own:?}");
                let starts = factory == Fine && own == Fine;
                assert_eq!(outer.actor_ref().has_ended(), !starts, "{what}");
                let decided = system.take_all(|event| matches!(event, Event::Decided { .. })).await;
                // If the outer actor ends, the failure of the inner one is dropped.
                let expected = usize::from(!starts) + usize::from(starts && inner != Fine);
                assert_eq!(decided.len(), expected, "{what}: {decided:?}");
                for event in &decided {
                    let Event::Decided { failure, child, .. } = event else { continue };
                    assert_eq!(failure.stage(), Stage::Initialization, "{what}");
                    let (at, why) = match child.name() {
                        "inner" => (inner, "inner"),
                        _ if factory != Fine => (factory, "factory"),
                        _ => (own, "outer"),
                    };
                    match at {
                        Panics => assert_eq!(failure.kind(), FailureKind::Panic, "{what}"),
                        _ => assert_eq!(failure.downcast_ref(), Some(&Boom(why)), "{what}"),
                    }
                }
                if starts {
                    let child = outer.inner().await.unwrap();
                    match child {
                        Some(child) => assert_eq!(child.ping().await.unwrap(), "pong", "{what}"),
                        None => assert_ne!(inner, Fine, "{what}"),
                    }
                    outer.actor_ref().stop();
                }
                system.settle().await;
            }
        }
    }
}

/// Under a table that says so: without one, it is tried again (rule 9.1).
/// Rule 5.1.
#[test]
fn ini_04_a_top_level_actor_that_cannot_be_made_ends() {
    testkit::run_with(ActorSystem::builder("test").supervised_by::<StoppingTable>(), async |system| {
        let log = crate::log::Log::open();
        let probe = system.probe();
        let handle = probe.handle();
        let watcher = system.spawn("watcher", move || Witness::new("watcher", &handle)).unwrap();
        let broken = system.spawn("broken", || Err::<Inner, _>(Boom("no mailbox for you"))).unwrap();
        let other = broken.clone();
        within(&watcher, move |ctx| ctx.watch(&other)).await;
        assert_eq!(probe.all().await, ["watcher starts", "watcher sees broken gone"]);
        assert_eq!(log.errors().len(), 1, "{:?}", log.errors());
        let decision = system.expect_decision(&broken).await;
        assert_eq!((decision.failure.stage(), decision.directive), (Stage::Initialization, Directive::Stop));
        assert_eq!(decision.failure.downcast_ref(), Some(&Boom("no mailbox for you")));
    });
}

/// Tries to spawn a child with an invalid name.
#[actor]
struct Misconfigured;

#[actor]
impl Misconfigured {
    #[handler]
    fn spawn(&mut self, name: &'static str, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        ctx.spawn(name, || Inner).map(drop)
    }
}

/// Rule 5.1.
#[supervise::test]
async fn ini_05_a_child_that_cannot_be_made_is_the_parent_s_failure(system: &TestSystem) {
    let top =
        keeper_deciding(system, Strategy::one_for_one(), |failure| match failure.downcast_ref::<SpawnError>() {
            Some(SpawnError::InvalidName { .. }) => Directive::Resume,
            Some(SpawnError::NameTaken { .. }) => Directive::Restart,
            _ => Directive::Stop,
        });
    let middle = child(&top, "middle", || Misconfigured).await;
    assert!(matches!(middle.spawn("not a name").await, Err(AskError::Failed(_))));
    assert_eq!(system.expect_decision(&middle).await.outcome, Outcome::Resumed);
    middle.spawn("taken").await.unwrap();
    assert!(matches!(middle.spawn("taken").await, Err(AskError::Failed(_))));
    let decision = system.expect_decision(&middle).await;
    assert_eq!((decision.failure.stage(), decision.directive), (Stage::Running, Directive::Restart));
    middle.spawn("taken").await.unwrap();
}

/// Makes another actor while it starts, and asks it for others.
#[actor]
struct Nesting {
    inner: Option<InnerRef>,
}

#[actor]
impl Nesting {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        self.inner = Some(ctx.spawn("inner", || Inner)?);
        Ok(())
    }

    #[handler]
    fn inner(&self) -> Option<InnerRef> {
        self.inner.clone()
    }

    #[handler]
    async fn relay(&self) -> Reply<Result<&'static str, AskError>> {
        match &self.inner {
            Some(inner) => Reply(inner.ping().await),
            None => Reply(Err(AskError::Stopped)),
        }
    }
}

/// Rule 5.1.
#[supervise::test]
async fn ini_08_an_actor_made_while_another_starts_is_one_of_its_own(system: &TestSystem) {
    let outer = system.spawn("outer", || Nesting { inner: None }).unwrap();
    let inner = outer.inner().await.unwrap().unwrap();
    assert_ne!(outer.actor_ref().uid(), inner.actor_ref().uid());
    assert_eq!(inner.actor_ref().path().parent(), outer.actor_ref().path());
    assert_eq!(inner.ping().await.unwrap(), "pong");
    assert_eq!(outer.relay().await.unwrap().unwrap(), "pong");
}

/// Spawns a wave of actors, watches them, stops them, and reports when the last one has ended.
#[actor]
struct Surfer {
    left: u32,
    done: mpsc::UnboundedSender<&'static str>,
}

#[actor]
impl Surfer {
    #[handler]
    fn wave(&mut self, size: u32, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        self.left = size;
        for _ in 0..size {
            let ripple = ctx.spawn_anonymous(|| Ripple)?;
            ctx.watch(&ripple);
            ripple.end().tell().expect("just made");
        }
        Ok(())
    }

    #[watch]
    fn gone(&mut self, _: Terminated<Ripple>) {
        self.left -= 1;
        if self.left == 0 {
            self.done.send("done").expect("the test waits");
        }
    }
}

#[actor]
struct Ripple;

#[actor]
impl Ripple {
    #[handler]
    fn end(&self, ctx: &mut Context<Self>) {
        ctx.stop_self();
    }
}

/// Rule 5.1.
#[test]
fn ini_09_dsp_04_waves_of_actors_come_and_go() {
    // Nobody reads the events of this one: they are many.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let system = ActorSystem::new("waves");
        let (done, mut waves) = mpsc::unbounded_channel();
        let surfer = system.spawn("surfer", move || Surfer { left: 0, done: done.clone() }).unwrap();
        for _ in 0..3 {
            surfer.wave(50_000).await.unwrap();
            assert_eq!(waves.recv().await, Some("done"));
        }
        system.terminate().await;
    });
}

/// Cannot start.
#[actor]
struct StillBorn;

#[actor]
impl StillBorn {
    #[pre_start]
    fn start(&mut self) -> Result<(), Boom> {
        Err(Boom("still born"))
    }
}

/// Rule 5.2.
#[supervise::test]
async fn ini_11_stop_is_carried_out_when_an_actor_fails_to_start(system: &TestSystem) {
    let keeper = keeper_deciding(system, Strategy::one_for_one(), |_| Directive::Stop);
    let child = child(&keeper, "child", || StillBorn).await;
    system.expect_terminated(&child).await;
    assert_eq!(system.expect_decision(&child).await.outcome, Outcome::Stopped { children: 1 });
}

/// Has a child that cannot start, and no rule for it.
#[actor]
#[supervise(on(_) = Escalate)]
struct Helpless;

#[actor]
impl Helpless {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        ctx.spawn("child", || StillBorn).map(drop)
    }
}

/// Rule 9.1.
#[test]
fn ini_12_what_nobody_else_decides_the_guardian_does() {
    let ten = Strategy::one_for_one().max_retries(10).within(crate::fixture::secs(10));
    let settings = ActorSystem::builder("test").guardian_unchecked(ten, |_, _| Ok(Directive::Restart));
    testkit::run_with(settings, async |system: &TestSystem| {
        let helpless = system.spawn("helpless", || Helpless).unwrap();
        system.expect_terminated(&helpless).await;
        let path = helpless.actor_ref().path();
        let decided =
            system.take_all(|event| matches!(event, Event::Decided { child, .. } if *child == path)).await;
        assert_eq!(decided.len(), 11);
        for (at, event) in decided.iter().enumerate() {
            let Event::Decided { outcome, failure, .. } = event else { continue };
            assert_eq!(failure.downcast_ref(), Some(&Boom("still born")));
            let refused = matches!(outcome, Outcome::LimitReached { .. });
            assert_eq!(refused, at == 10, "failure {at}");
        }
        assert_eq!(system.take_all(|event| matches!(event, Event::Decided { .. })).await.len(), 11);
    });
}
