//! Actors that many cases share. An actor that only one case needs is next to that case.

use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{
    AnyActorRef, Built, ChildInfo, DecidedBy, Directive, EscalationsDecidedBy, Event,
    HandlersOfOneImplBlockDecidedBy, HowEnded, NeverFails, Props, RefOf, Strategy, SupervisedBy, Unchecked,
    default_decider,
};
use tokio::sync::oneshot;

/// The failure of most children here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Boom(pub(crate) &'static str);

/// Something to do on an actor's own turn.
pub(crate) type Job<A> = Box<dyn FnOnce(&mut Context<A>) -> Result<(), Boom> + Send>;

/// A supervisor whose strategy is chosen at run time, and which keeps its children when it is restarted.
#[actor]
#[derive(Clone)]
pub(crate) struct Keeper {
    report: Option<(String, ProbeHandle<String>)>,
}

impl Keeper {
    pub(crate) fn new() -> Self {
        Self { report: None }
    }

    /// A supervisor that reports what its hooks do.
    pub(crate) fn reporting(name: &str, probe: &ProbeHandle<String>) -> Self {
        Self { report: Some((name.to_owned(), probe.clone())) }
    }

    fn report(&self, what: &str) {
        if let Some((name, probe)) = &self.report {
            probe.note(format!("{name} {what}"));
        }
    }
}

#[actor]
impl Keeper {
    #[handler]
    fn perform(&mut self, job: Job<Self>, ctx: &mut Context<Self>) -> Result<(), Boom> {
        job(ctx)
    }

    #[pre_restart]
    fn keep_children(&mut self, cause: &Failure) {
        self.report(&format!("is replaced for {cause}"));
    }

    #[post_restart]
    fn back(&mut self) {
        self.report("is back");
    }

    #[post_stop]
    fn stopped(&mut self) {
        self.report("stops");
    }

    #[watch]
    fn gone(&mut self, gone: Terminated) {
        self.report(&format!("sees {} gone", gone.path().name()));
    }
}

/// An actor with the default hooks, which reports when it starts and stops. It can have children too.
#[actor]
pub(crate) struct Witness {
    name: String,
    slow: Duration,
    probe: ProbeHandle<String>,
}

impl Witness {
    pub(crate) fn new(name: &str, probe: &ProbeHandle<String>) -> Self {
        Self { name: name.to_owned(), slow: Duration::ZERO, probe: probe.clone() }
    }

    /// One that needs this long to stop.
    pub(crate) fn slow(name: &str, slow: Duration, probe: &ProbeHandle<String>) -> Self {
        Self { slow, ..Self::new(name, probe) }
    }
}

#[actor]
impl Witness {
    #[handler]
    fn perform(&mut self, job: Job<Self>, ctx: &mut Context<Self>) -> Result<(), Boom> {
        job(ctx)
    }

    #[pre_start]
    fn started(&mut self) {
        self.probe.note(format!("{} starts", self.name));
    }

    #[post_stop]
    async fn stopped(&mut self) {
        if !self.slow.is_zero() {
            tokio::time::sleep(self.slow).await;
        }
        self.probe.note(format!("{} stops", self.name));
    }

    #[watch]
    fn gone(&mut self, gone: Terminated) {
        self.probe.note(format!("{} sees {} gone", self.name, gone.path().name()));
    }
}

/// Answers pings, counts, and fails when told to. Reports the failure for which it is restarted.
#[actor]
pub(crate) struct PingPong {
    count: u32,
    probe: ProbeHandle<String>,
}

impl PingPong {
    pub(crate) fn new(probe: &ProbeHandle<String>) -> Self {
        Self { count: 0, probe: probe.clone() }
    }

    /// A factory of them.
    pub(crate) fn factory(probe: &ProbeHandle<String>) -> impl FnMut() -> Self + Send + 'static {
        let probe = probe.clone();
        move || Self::new(&probe)
    }
}

#[actor]
impl PingPong {
    #[handler]
    fn ping(&mut self) -> &'static str {
        self.probe.note("ping".to_owned());
        "pong"
    }

    /// How often this instance was asked to count.
    #[handler]
    fn count(&mut self) -> u32 {
        self.count += 1;
        self.count
    }

    #[handler]
    fn die(&mut self, why: &'static str) -> Result<(), Boom> {
        Err(Boom(why))
    }

    #[handler]
    fn panic(&mut self, why: &'static str) {
        panic!("{why}");
    }

    #[post_restart]
    fn restarted(&mut self, cause: &Failure) {
        self.probe.note(format!("restarted for {cause}"));
    }

    #[post_stop]
    fn stopped(&mut self) {
        self.probe.note("stopped".to_owned());
    }

    #[pre_restart]
    fn replaced(&mut self) {}
}

/// An actor that runs what it is given.
pub(crate) trait Stage: TypedRef<Actor: Actor> {
    fn give(&self, job: Job<Self::Actor>);
}

impl Stage for KeeperRef {
    fn give(&self, job: Job<Keeper>) {
        self.perform(job).tell().expect("the actor runs");
    }
}

impl Stage for WitnessRef {
    fn give(&self, job: Job<Witness>) {
        self.perform(job).tell().expect("the actor runs");
    }
}

/// Runs `work` on an actor's turn and returns its result.
pub(crate) async fn within<S: Stage, T: Send + 'static>(
    stage: &S,
    work: impl FnOnce(&mut Context<S::Actor>) -> T + Send + 'static,
) -> T {
    let (tell, told) = oneshot::channel();
    stage.give(Box::new(move |ctx| {
        // If the caller no longer waits, the result is dropped.
        let _waiting = tell.send(work(ctx));
        Ok(())
    }));
    told.await.expect("the actor did the work")
}

/// Lets an actor fail.
pub(crate) fn fail<S: Stage>(stage: &S, why: &'static str) {
    stage.give(Box::new(move |_| Err(Boom(why))));
}

/// Makes a child on its parent's turn.
pub(crate) async fn child<S, B, F>(parent: &S, name: &'static str, factory: F) -> RefOf<B::Actor>
where
    S: Stage,
    F: FnMut() -> B + Send + 'static,
    B: Built,
    B::Actor: SupervisedBy<S::Actor>,
    B::Cause: DecidedBy<S::Actor>,
{
    within(parent, move |ctx| ctx.spawn(name, factory).expect("the name is free")).await
}

/// The names of an actor's children, in start order.
pub(crate) async fn names_of_children<S: Stage>(parent: &S) -> Vec<String> {
    within(parent, |ctx| ctx.children().iter().map(|child| child.name().to_owned()).collect()).await
}

/// How an actor ended. The actor must have ended.
pub(crate) async fn how_ended<R: TypedRef>(system: &TestSystem, actor: &R) -> HowEnded {
    let path = actor.actor_ref().path();
    system
        .expect("its end", |event| match event {
            Event::Stopped { actor, how, .. } if *actor == path => Some(*how),
            _ => None,
        })
        .await
}

/// The child of this name, whatever its type.
pub(crate) async fn any_child<S: Stage>(parent: &S, name: &'static str) -> Option<AnyActorRef> {
    within(parent, move |ctx| ctx.child(name)).await
}

/// A top-level supervisor that keeps its children, under a strategy with the default table.
pub(crate) fn keeper(system: &TestSystem, strategy: Strategy) -> KeeperRef {
    keeper_deciding(system, strategy, default_decider)
}

/// A top-level supervisor that keeps its children, under a strategy and a table of its own.
pub(crate) fn keeper_deciding(
    system: &TestSystem,
    strategy: Strategy,
    decide: impl Fn(&Failure) -> Directive + Send + 'static,
) -> KeeperRef {
    system.spawn_with("keeper", keeping(strategy, decide)).expect("the first of this name")
}

/// Akka's default: as the default table, but an actor that cannot start or restart is stopped.
pub(crate) fn as_in_akka(failure: &Failure) -> Directive {
    if failure.is_initialization() { Directive::Stop } else { default_decider(failure) }
}

/// How to make such a supervisor.
pub(crate) fn keeping(
    strategy: Strategy,
    decide: impl Fn(&Failure) -> Directive + Send + 'static,
) -> Props<Keeper, NeverFails, Unchecked> {
    kept(Keeper::new(), strategy, decide)
}

/// How to make a supervisor like this one.
pub(crate) fn kept(
    keeper: Keeper,
    strategy: Strategy,
    decide: impl Fn(&Failure) -> Directive + Send + 'static,
) -> Props<Keeper, NeverFails, Unchecked> {
    Props::new(move || keeper.clone())
        .supervision_unchecked(strategy, move |failure: &Failure, _: &ChildInfo| Ok(decide(failure)))
}

/// Makes a supervisor on another one's turn.
pub(crate) async fn keeper_under<S: Stage, T>(
    parent: &S,
    name: &'static str,
    props: Props<Keeper, NeverFails, T>,
) -> KeeperRef
where
    Keeper: HandlersOfOneImplBlockDecidedBy<S::Actor>,
    T: EscalationsDecidedBy<S::Actor> + 'static,
{
    within(parent, move |ctx| ctx.spawn_with(name, props).expect("the name is free")).await
}

/// The table "restart whatever happens".
pub(crate) fn always_restart(_: &Failure) -> Directive {
    Directive::Restart
}

/// The table "an empty list of failures": nothing is decided here.
pub(crate) fn always_escalate(_: &Failure) -> Directive {
    Directive::Escalate
}

pub(crate) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
