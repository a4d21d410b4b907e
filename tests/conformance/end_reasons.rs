//! END: why an actor ended, and what its askers get.

use std::time::Duration;

use supervise::pattern::BackoffSupervisor;
use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestProbe, TestSystem};
use supervise::{AnyActorRef, Backoff, Directive, EndReason, HowEnded, Props, Stage, Strategy};

use crate::fixture::{
    Boom, Witness, WitnessRef, always_escalate, always_restart, child, fail, keeper, keeper_deciding,
    keeper_under, keeping, secs, within,
};

/// Notes how and why the actors ended that it watches.
#[actor]
struct Mourner {
    news: ProbeHandle<(HowEnded, EndReason)>,
}

#[actor]
impl Mourner {
    #[handler]
    fn watch(&mut self, subject: AnyActorRef, ctx: &mut Context<Self>) {
        ctx.watch_any(&subject);
    }

    #[watch]
    fn gone(&mut self, gone: Terminated) {
        self.news.note((gone.how(), gone.reason()));
    }
}

async fn mourner_of<R: TypedRef>(system: &TestSystem, actor: &R) -> TestProbe<(HowEnded, EndReason)> {
    let news = system.probe();
    let handle = news.handle();
    let mourner = system.spawn_anonymous(move || Mourner { news: handle.clone() }).unwrap();
    mourner.watch(actor.actor_ref().to_any()).await.unwrap();
    news
}

/// Why an actor ended, in words. Its ref says the same as the notification of its end.
async fn why<R: TypedRef>(system: &TestSystem, actor: &R) -> String {
    let news = mourner_of(system, actor).await;
    let (_, told) = news.next().await;
    let asked = actor.actor_ref().end_reason().expect("it has ended");
    assert_eq!(told.to_string(), asked.to_string());
    asked.to_string()
}

/// Does what it is told, and answers.
#[actor]
struct Worker;

#[actor]
impl Worker {
    #[handler]
    async fn work(&mut self, time: Duration, result: Result<(), Boom>) -> Result<(), Boom> {
        tokio::time::sleep(time).await;
        result
    }

    #[handler]
    fn end(&mut self, ctx: &mut Context<Self>) {
        ctx.stop_self();
    }

    #[handler]
    fn end_by_its_ref(&mut self, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.stop(&me);
    }

    #[handler]
    fn passivate(&mut self, ctx: &mut Context<Self>) {
        ctx.passivate();
    }

    #[handler]
    async fn end_and_wait_for_it(&mut self, ctx: &mut Context<Self>) {
        ctx.stop_self();
        ctx.stopping().await;
    }

    /// It is told to stop first.
    #[handler]
    async fn end_when_told_to(&mut self, ctx: &mut Context<Self>) {
        ctx.stopping().await;
        ctx.stop_self();
    }
}

/// Ends with its significant child.
#[actor]
#[supervise(one_for_one(auto_shutdown = any_significant), on(Boom) = Stop)]
struct Office {
    #[child(|_| || Worker, significant)]
    worker: Child<Worker>,
}

#[actor]
impl Office {
    #[handler]
    fn worker(&self) -> WorkerRef {
        self.worker.actor()
    }
}

/// Rule 8.8.
#[supervise::test]
async fn end_01_an_actor_stops_itself(system: &TestSystem) {
    system.allow_dead_letters();
    let tell: [fn(&WorkerRef); 4] = [
        |worker| worker.end().tell().unwrap(),
        |worker| worker.end_by_its_ref().tell().unwrap(),
        |worker| worker.passivate().tell().unwrap(),
        |worker| worker.end_and_wait_for_it().tell().unwrap(),
    ];
    for tell in tell {
        let worker = system.spawn_anonymous(|| Worker).unwrap();
        assert!(worker.actor_ref().end_reason().is_none(), "it lives");
        tell(&worker);
        assert_eq!(why(system, &worker).await, "it stopped itself");
        assert!(matches!(worker.work(secs(0), Ok(())).await, Err(AskError::Stopped)));
    }
    let task = system.spawn_anonymous(|| supervise::Task::new(async {})).unwrap();
    assert_eq!(why(system, &task).await, "it stopped itself");
    let office = system.spawn("office", || Office { worker: Child::default() }).unwrap();
    office.worker().await.unwrap().end().tell().unwrap();
    assert_eq!(why(system, &office).await, "it stopped itself", "its significant child has ended");
}

/// Rules 1.5, 8.8.
#[supervise::test]
async fn end_02_somebody_stops_an_actor(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let probe = system.probe();
    let keeper = keeper(system, Strategy::all_for_one().max_retries(0));
    let stopped = "it was stopped";
    // By a ref.
    for stop in [|worker: &WorkerRef| worker.actor_ref().stop(), |worker: &WorkerRef| worker.actor_ref().poison()]
    {
        let worker = child(&keeper, "worker", || Worker).await;
        stop(&worker);
        assert!(matches!(worker.work(secs(0), Ok(())).await, Err(AskError::Stopped)));
        assert_eq!(why(system, &worker).await, stopped);
        within(&keeper, |_| ()).await;
    }
    // By its parent, although it then stops itself too.
    let worker = child(&keeper, "worker", || Worker).await;
    worker.end_when_told_to().tell().unwrap();
    let told = worker.clone();
    within(&keeper, move |ctx| ctx.stop(&told)).await;
    assert_eq!(why(system, &worker).await, stopped);
    // With a sibling that failed.
    let (one, two) = (child(&keeper, "one", || Worker).await, child(&keeper, "two", || Worker).await);
    one.work(secs(0), Err(Boom("too often"))).await.unwrap_err();
    assert_eq!(why(system, &two).await, stopped);
    assert_eq!(why(system, &one).await, "it failed, and the restart limit was reached: too often");
    // With its parent, which is restarted, or stopped.
    let parent = system
        .spawn("parent", {
            let handle = probe.handle();
            move || Witness::new("parent", &handle)
        })
        .unwrap();
    let first = child(&parent, "child", || Worker).await;
    fail(&parent, "for once");
    assert_eq!(why(system, &first).await, stopped);
    let second = child(&parent, "child", || Worker).await;
    parent.actor_ref().stop();
    assert_eq!(why(system, &second).await, stopped);
    assert_eq!(why(system, &parent).await, stopped);
}

/// The asker of the failing message gets the failure. The others get the error that the actor has ended
/// because of it. Rules 1.5, 8.8.
#[supervise::test]
async fn end_03_a_decision_stops_an_actor_that_failed(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let keeper = keeper_deciding(system, Strategy::one_for_one(), |_| Directive::Stop);
    let worker = child(&keeper, "worker", || Worker).await;
    let news = mourner_of(system, &worker).await;
    let failing = worker.work(secs(1), Err(Boom("broken"))).ask().unwrap();
    let waiting = worker.work(secs(0), Ok(())).ask().unwrap();
    assert!(matches!(failing.await, Err(AskError::Failed(_))));
    let error = waiting.await.unwrap_err();
    assert!(
        matches!(&error, AskError::StoppedByFailure(failure) if failure.downcast_ref() == Some(&Boom("broken")))
    );
    assert!(error.has_stopped());
    assert_eq!(error.to_string(), "the actor stopped before it answered, because of a failure in `work`: broken");
    let late = worker.work(secs(0), Ok(())).await.unwrap_err();
    assert_eq!(late.failure().unwrap().downcast_ref(), Some(&Boom("broken")));
    let (how, reason) = news.next().await;
    assert_eq!(how, HowEnded::Graceful);
    assert!(matches!(&reason, EndReason::Failed(failure) if failure.downcast_ref() == Some(&Boom("broken"))));
    // Also for actors that watch it only now.
    let (how, reason) = mourner_of(system, &worker).await.next().await;
    assert_eq!((how, reason.to_string()), (HowEnded::AlreadyGone, "it failed: broken".to_owned()));
}

/// Rules 1.5, 8.8.
#[supervise::test]
async fn end_04_the_limit_is_reached(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let keeper = keeper(system, Strategy::one_for_one().max_retries(1));
    let worker = child(&keeper, "worker", || Worker).await;
    worker.work(secs(0), Err(Boom("once"))).await.unwrap_err();
    let failing = worker.work(secs(1), Err(Boom("twice"))).ask().unwrap();
    let waiting = worker.work(secs(0), Ok(())).ask().unwrap();
    failing.await.unwrap_err();
    assert!(matches!(waiting.await, Err(AskError::StoppedByFailure(failure)) if failure.to_string() == "twice"));
    let reason = worker.actor_ref().end_reason().unwrap();
    assert!(matches!(&reason, EndReason::LimitReached(failure) if failure.to_string() == "twice"), "{reason}");
}

/// Says who it is, and cannot start.
#[actor]
struct Stillborn {
    refs: ProbeHandle<StillbornRef>,
}

#[actor]
impl Stillborn {
    #[pre_start]
    async fn start(&mut self, ctx: &mut Context<Self>) -> Result<(), Boom> {
        self.refs.note(ctx.me());
        tokio::time::sleep(secs(1)).await;
        Err(Boom("no database"))
    }

    #[handler]
    fn ping(&self) {}
}

/// Cannot start without its child.
#[actor]
#[supervise(one_for_one, on(_) = Escalate)]
struct Shop {
    refs: ProbeHandle<StillbornRef>,
    #[child(|this| { let refs = this.refs.clone(); move || Stillborn { refs: refs.clone() } })]
    database: Child<Stillborn>,
}

#[actor]
impl Shop {
    #[handler]
    fn open(&self) {}
}

async fn cannot_start(system: &TestSystem, actor: StillbornRef) {
    let waiting = actor.ping().ask().unwrap();
    let error = waiting.await.unwrap_err();
    assert!(matches!(&error, AskError::StoppedByFailure(failure) if failure.stage() == Stage::Initialization));
    let late = actor.ping().await.unwrap_err();
    assert_eq!(late.failure().unwrap().downcast_ref(), Some(&Boom("no database")));
    assert_eq!(why(system, &actor).await, "it could not start: no database");
}

/// Alone, and as a declared child, without which its parent cannot start either.
/// Rules 1.5, 8.8, 14.1.
#[supervise::test]
async fn end_05_an_actor_cannot_start(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let probe = system.probe();
    let refs = probe.handle();
    let keeper = keeper_deciding(system, Strategy::one_for_one(), |_| Directive::Stop);
    let alone = child(&keeper, "alone", move || Stillborn { refs: refs.clone() }).await;
    cannot_start(system, probe.next().await).await;
    assert!(alone.actor_ref().has_ended());
    let refs = probe.handle();
    let shop = child(&keeper, "shop", move || Shop { refs: refs.clone(), database: Child::default() }).await;
    let customer = shop.open().ask().unwrap();
    cannot_start(system, probe.next().await).await;
    assert!(matches!(customer.await, Err(AskError::StoppedByFailure(_))));
    assert_eq!(why(system, &shop).await, "it could not start: no database");
}

/// The actor that failed, the actors that escalated the failure, and one that had nothing to do with it.
/// Rules 3.6, 8.8.
#[supervise::test]
async fn end_06_an_escalation_ends_the_branch(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let top = keeper_deciding(system, Strategy::one_for_one(), |_| Directive::Stop);
    let middle = keeper_under(&top, "middle", keeping(Strategy::one_for_one(), always_escalate)).await;
    let low = keeper_under(&middle, "low", keeping(Strategy::one_for_one(), always_escalate)).await;
    let (bad, good) = (child(&low, "bad", || Worker).await, child(&low, "good", || Worker).await);
    let failing = bad.work(secs(1), Err(Boom("flood"))).ask().unwrap();
    let waiting = bad.work(secs(0), Ok(())).ask().unwrap();
    let other = good.work(secs(100), Ok(())).ask().unwrap();
    failing.await.unwrap_err();
    assert!(matches!(waiting.await, Err(AskError::StoppedByFailure(_))));
    assert!(matches!(other.await, Err(AskError::Stopped)));
    let flood = "it failed: flood";
    assert_eq!(why(system, &bad).await, flood);
    assert_eq!(why(system, &low).await, flood);
    assert_eq!(why(system, &middle).await, flood);
    assert_eq!(why(system, &good).await, "it was stopped");
    assert!(top.actor_ref().end_reason().is_none());
    let origin = middle.actor_ref().end_reason().unwrap().failure().unwrap().origin().cloned();
    assert_eq!(origin, Some(bad.actor_ref().path()));
}

/// A failure that was answered by a resume or a restart is no longer the reason. Rule 8.8.
#[supervise::test]
async fn end_06_a_failure_that_was_answered_is_not_the_reason(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    for answer in [Directive::Resume, Directive::Restart] {
        let top = system
            .spawn_with(
                format!("top_{answer:?}").to_lowercase(),
                keeping(Strategy::one_for_one(), move |_| answer),
            )
            .unwrap();
        let low = keeper_under(&top, "low", keeping(Strategy::one_for_one(), always_escalate)).await;
        let bad = child(&low, "bad", || Worker).await;
        bad.work(secs(0), Err(Boom("once"))).await.unwrap_err();
        bad.work(secs(0), Ok(())).await.unwrap();
        bad.actor_ref().stop();
        assert_eq!(why(system, &bad).await, "it was stopped");
        low.actor_ref().stop();
        assert_eq!(why(system, &low).await, "it was stopped");
    }
}

/// A restart of the supervisor that escalated the failure stops the child for that failure, and its sibling because of the restart.
/// Rule 8.8.
#[supervise::test]
async fn end_06_a_child_ends_with_the_restart_that_its_failure_caused(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let probe = system.probe();
    let top = keeper(system, Strategy::one_for_one());
    let handle = probe.handle();
    let props = Props::new(move || Witness::new("middle", &handle))
        .supervision_unchecked(Strategy::one_for_one(), |_, _| Ok(Directive::Escalate));
    let middle: WitnessRef = within(&top, move |ctx| ctx.spawn_with("middle", props).unwrap()).await;
    let (bad, good) = (child(&middle, "bad", || Worker).await, child(&middle, "good", || Worker).await);
    bad.work(secs(0), Err(Boom("flood"))).await.unwrap_err();
    assert_eq!(why(system, &bad).await, "it failed: flood");
    assert_eq!(why(system, &good).await, "it was stopped");
    assert!(middle.actor_ref().end_reason().is_none(), "restarted");
}

/// The first request to stop is the reason. Rules 1.5, 8.8.
#[supervise::test]
async fn end_07_a_stop_comes_before_a_failure_or_a_restart(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    // It fails while it is being stopped, whatever the table says.
    for directive in [Directive::Stop, Directive::Restart, Directive::Escalate] {
        let top = system
            .spawn_with(
                format!("top_{directive:?}").to_lowercase(),
                keeping(Strategy::one_for_one(), always_restart),
            )
            .unwrap();
        let low = keeper_under(&top, "low", keeping(Strategy::one_for_one(), move |_| directive)).await;
        let worker = child(&low, "worker", || Worker).await;
        let failing = worker.work(secs(1), Err(Boom("too late"))).ask().unwrap();
        let waiting = worker.work(secs(1), Ok(())).ask().unwrap();
        system.settle().await;
        worker.actor_ref().stop();
        assert!(matches!(failing.await, Err(AskError::Failed(_))));
        assert!(matches!(waiting.await, Err(AskError::Stopped)));
        assert_eq!(why(system, &worker).await, "it was stopped", "{directive:?}");
    }
    // It is stopped while it waits for its restart.
    let patient = Strategy::one_for_one().backoff(Backoff::exponential(secs(60), secs(60)));
    let top = system.spawn_with("patient", keeping(patient, always_restart)).unwrap();
    let worker = child(&top, "worker", || Worker).await;
    worker.work(secs(0), Err(Boom("once"))).await.unwrap_err();
    let waiting = worker.work(secs(1), Ok(())).ask().unwrap();
    system.settle().await;
    worker.actor_ref().stop();
    assert!(matches!(waiting.await, Err(AskError::Stopped)));
    assert_eq!(why(system, &worker).await, "it was stopped");
}

/// If a backoff supervisor or a pool replaces a child, the reason of the child's end is its failure. If a backoff supervisor
/// gives up, the reason of its own end is the last failure. Rules 8.8, 13.4, 13.5.
#[supervise::test]
async fn end_08_the_children_of_patterns(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let backoff = Backoff::exponential(secs(1), secs(60));
    let give_up = BackoffSupervisor::on_failure("child", || Worker, backoff).max_retries(1);
    let supervisor = system.spawn_with("supervisor", give_up.props()).unwrap();
    let one = supervisor.actor_ref().current_child().await.unwrap().unwrap();
    supervisor.work(secs(0), Err(Boom("one"))).await.unwrap_err();
    assert_eq!(why(system, &one).await, "it failed: one");
    system.advance(secs(2)).await;
    supervisor.work(secs(0), Err(Boom("two"))).await.unwrap_err();
    assert_eq!(why(system, &supervisor).await, "it failed, and the restart limit was reached: two");
    assert!(matches!(supervisor.work(secs(0), Ok(())).await, Err(AskError::StoppedByFailure(_))));
    // Its child ended by itself.
    let ends = BackoffSupervisor::on_failure("child", || Worker, backoff);
    let supervisor = system.spawn_with("ends", ends.props()).unwrap();
    supervisor.end().tell().unwrap();
    assert_eq!(why(system, &supervisor).await, "it stopped itself");
    // One that could not start.
    let never = BackoffSupervisor::on_failure("child", no_worker, backoff);
    let supervisor = system.spawn_with("never", never.props()).unwrap();
    assert_eq!(why(system, &supervisor).await, "it could not start: no port");
}

fn no_worker() -> Result<Worker, Boom> {
    Err(Boom("no port"))
}

/// Has one worker for each name.
#[actor]
#[supervise(on(_) = Stop)]
struct Desk {
    #[child(|_| |_: &String| Worker)]
    workers: Children<String, Worker>,
}

#[actor]
impl Desk {
    #[handler]
    fn worker(&mut self, name: String) -> WorkerRef {
        self.workers.get_or_spawn(name).unwrap()
    }
}

/// Messages through a ref to a keyed child that was passivated go to its successor; the child itself has
/// ended. Rules 8.8, 18.4, 18.5.
#[supervise::test]
async fn end_08_keyed_children(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let desk = system.spawn("desk", || Desk { workers: Children::default() }).unwrap();
    let idle = desk.worker("idle".to_owned()).await.unwrap();
    idle.passivate().tell().unwrap();
    assert_eq!(why(system, &idle).await, "it stopped itself");
    idle.work(secs(0), Ok(())).await.expect("its successor works");
    let bad = desk.worker("bad".to_owned()).await.unwrap();
    let failing = bad.work(secs(1), Err(Boom("ink"))).ask().unwrap();
    let waiting = bad.work(secs(1), Ok(())).ask().unwrap();
    failing.await.unwrap_err();
    assert!(matches!(waiting.await, Err(AskError::StoppedByFailure(failure)) if failure.to_string() == "ink"));
    assert_eq!(why(system, &bad).await, "it failed: ink");
}

/// Each of many watchers is told why, and all get the same failure. Rules 8.1, 8.8.
#[supervise::test]
async fn end_09_many_watchers(system: &TestSystem) {
    system.allow_failures();
    let keeper = keeper_deciding(system, Strategy::one_for_one(), |_| Directive::Stop);
    let worker = child(&keeper, "worker", || Worker).await;
    let news = system.probe();
    for _ in 0..1_000 {
        let handle = news.handle();
        let mourner = system.spawn_anonymous(move || Mourner { news: handle.clone() }).unwrap();
        mourner.watch(worker.actor_ref().to_any()).await.unwrap();
    }
    worker.work(secs(0), Err(Boom("gone"))).await.unwrap_err();
    let told = news.all().await;
    assert_eq!(told.len(), 1_000);
    let first = told[0].1.failure().unwrap();
    assert!(told.iter().all(|(_, reason)| reason.failure().unwrap().is_same(first)));
}

/// Watches its parent, and says who that is.
#[actor]
struct Heir {
    parent: ProbeHandle<AnyActorRef>,
    told: ProbeHandle<(HowEnded, EndReason)>,
}

#[actor]
impl Heir {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) {
        if let Some(parent) = ctx.parent() {
            ctx.watch_any(parent);
            self.parent.note(parent.clone());
        }
    }

    #[watch]
    fn gone(&mut self, gone: Terminated) {
        self.told.note((gone.how(), gone.reason()));
    }
}

/// A child ends before its parent, so it is not told of its end. Others that got the ref from it are told.
/// Rules 6.2, 8.5, 20.6.
#[supervise::test]
async fn end_10_a_parent_is_watched(system: &TestSystem) {
    let (refs, told) = (system.probe(), system.probe());
    let (parent, heard) = (refs.handle(), told.handle());
    let keeper = keeper(system, Strategy::one_for_one());
    child(&keeper, "heir", move || Heir { parent: parent.clone(), told: heard.clone() }).await;
    let parent = refs.next().await;
    assert_eq!(parent, keeper.actor_ref().to_any());
    let news = system.probe();
    let handle = news.handle();
    let mourner = system.spawn("mourner", move || Mourner { news: handle.clone() }).unwrap();
    mourner.watch(parent.clone()).await.unwrap();
    keeper.actor_ref().stop();
    let (how, reason) = news.next().await;
    assert_eq!((how, reason.to_string()), (HowEnded::Graceful, "it was stopped".to_owned()));
    assert!(told.all().await.is_empty(), "it has ended before");
}
