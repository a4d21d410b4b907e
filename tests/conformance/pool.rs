//! OTP-36 and on, and the pool's own rules: workers of one template behind one ref.
//!
//! Rules 13.8, 13.9.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use supervise::pattern::{BackoffSupervisor, Blueprint, Pool, PoolProps, PoolRef, TooManyReplacements};
use supervise::prelude::*;
use supervise::testkit::{self, ProbeHandle, TestProbe, TestSystem};
use supervise::{
    AutoShutdown, Backoff, ChildInfo, Count, Directive, Event, FailureKind, HowEnded, OnLimit, Outcome, Props,
    RestartType, StoppingTable, Strategy,
};
use tokio::time::Instant;

use crate::fixture::{Keeper, within};

#[derive(Debug, thiserror::Error)]
#[error("broken")]
struct Broken;

/// Knows its number, which is that of its instance.
#[actor]
struct Worker {
    number: u32,
    probe: ProbeHandle<u32>,
}

#[actor]
impl Worker {
    /// Tells the probe who works.
    #[handler]
    fn work(&self) -> u32 {
        self.probe.note(self.number);
        self.number
    }

    #[handler]
    fn path(&self, ctx: &mut Context<Self>) -> ActorPath {
        ctx.path()
    }

    #[handler]
    fn fail(&self) -> Result<(), Broken> {
        Err(Broken)
    }

    #[handler]
    fn finish(&self, ctx: &mut Context<Self>) {
        ctx.stop_self();
    }

    #[handler]
    async fn last(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

/// Workers numbered from 1 as they are made.
fn workers(probe: &TestProbe<u32>) -> impl Fn() -> Worker + Send + Sync + use<> {
    let (probe, made) = (probe.handle(), AtomicU32::new(0));
    move || Worker { number: made.fetch_add(1, Ordering::Relaxed) + 1, probe: probe.clone() }
}

fn spawn<B: Blueprint<Actor = Worker>, T>(system: &TestSystem, options: PoolProps<B, T>) -> PoolRef<Worker> {
    system.spawn_with("pool", options.props()).unwrap()
}

async fn members(pool: &PoolRef<Worker>) -> Vec<WorkerRef> {
    pool.actor_ref().workers().await.unwrap()
}

/// Kills a worker and waits for the restart that its pool decides.
async fn kill(system: &TestSystem, worker: &WorkerRef) {
    worker.actor_ref().kill();
    system.expect_restarts(worker, 1).await;
}

#[supervise::test]
async fn otp_36_the_limit_of_all_workers_together_ends_the_pool(system: &TestSystem) {
    let probe = system.probe();
    let options = Pool::round_robin(2, workers(&probe))
        .restart(RestartType::Permanent)
        .strategy(Strategy::one_for_one().max_retries(2).count(Count::Supervisor));
    let pool = spawn(system, options);
    let [one, two] = &members(&pool).await[..] else { panic!("two workers") };
    let untouched = two.work().await.unwrap();
    kill(system, one).await;
    assert_eq!(two.work().await.unwrap(), untouched);
    assert_eq!(members(&pool).await.len(), 2);
    kill(system, two).await;
    one.actor_ref().kill();
    system.expect_escalated(one).await;
    assert_eq!(system.expect_decision(&pool).await.failure.kind(), FailureKind::Killed);
    system.expect_terminated(&pool).await;
    assert!(one.actor_ref().has_ended() && two.actor_ref().has_ended());
}

#[supervise::test]
async fn otp_37_a_transient_worker_that_does_not_want_to_start_is_forgotten(system: &TestSystem) {
    /// Works in three lives, and ends at the beginning of the fourth.
    #[actor]
    struct Reluctant {
        life: u32,
    }

    #[actor]
    impl Reluctant {
        #[pre_start]
        fn start(&mut self, ctx: &mut Context<Self>) {
            if self.life == 4 {
                ctx.stop_self();
            }
        }

        #[handler]
        fn fail(&self) -> Result<(), Broken> {
            Err(Broken)
        }
    }

    let lives = AtomicU32::new(0);
    let options = Pool::round_robin(1, move || Reluctant { life: lives.fetch_add(1, Ordering::Relaxed) + 1 });
    let pool = system.spawn_with("pool", options.props()).unwrap();
    let worker = pool.actor_ref().workers().await.unwrap().remove(0);
    for _ in 0..3 {
        pool.fail().tell().unwrap();
        system.expect_restarts(&worker, 1).await;
    }
    system.expect_terminated(&worker).await;
    assert_eq!(system.expect_terminated(&pool).await, HowEnded::Graceful);
}

#[supervise::test]
async fn otp_38_workers_end_side_by_side_within_one_timeout(system: &TestSystem) {
    let probe = system.probe();
    let make = Arc::new(workers(&probe));
    let options = Pool::round_robin(3, move || {
        let make = Arc::clone(&make);
        supervise::Props::new(move || make()).stop_timeout(Duration::from_secs(2))
    });
    let pool = spawn(system, options);
    for seconds in [1, 1, 5] {
        pool.last(Duration::from_secs(seconds)).tell().unwrap();
    }
    system.settle().await;
    let begun = Instant::now();
    pool.actor_ref().stop();
    system.expect_terminated(&pool).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(2));
}

#[supervise::test]
async fn otp_40_nothing_of_a_temporary_worker_is_retained(system: &TestSystem) {
    /// Holds something big.
    #[actor]
    struct Holder {
        _big: Arc<[u8]>,
    }

    #[actor]
    impl Holder {
        #[handler]
        fn finish(&self, ctx: &mut Context<Self>) {
            ctx.stop_self();
        }
    }

    let big: Arc<[u8]> = Arc::from(vec![0; 1 << 16]);
    let args = Arc::clone(&big);
    let options = Pool::round_robin(2, move || Holder { _big: Arc::clone(&args) }).restart(RestartType::Temporary);
    let pool = system.spawn_with("pool", options.props()).unwrap();
    let kept_refs = pool.actor_ref().workers().await.unwrap();
    system.settle().await;
    assert_eq!(Arc::strong_count(&big), 4, "the test, the template, two workers");
    pool.finish().await.unwrap();
    system.expect_terminated(&kept_refs[0]).await;
    assert_eq!(Arc::strong_count(&big), 3);
    assert_eq!(pool.actor_ref().workers().await.unwrap(), kept_refs[1..]);
}

#[test]
fn otp_41_a_worker_that_cannot_be_restarted_takes_the_pool_down() {
    // The default table would restart the pool.
    let settings = ActorSystem::builder("test").supervised_by::<StoppingTable>();
    testkit::run_with(settings, async |system: &TestSystem| {
        let probe = system.probe();
        let (make, may_start) = (workers(&probe), Arc::new(AtomicBool::new(true)));
        let gate = Arc::clone(&may_start);
        let factory = move || if gate.load(Ordering::Relaxed) { Ok(make()) } else { Err(Broken) };
        let options = Pool::round_robin(2, factory)
            .restart(RestartType::Permanent)
            .strategy(Strategy::one_for_one().max_retries(4).count(Count::Supervisor));
        let pool = spawn(system, options);
        let members = members(&pool).await;
        may_start.store(false, Ordering::Relaxed);
        system.allow_failures();
        members[0].fail().tell().unwrap();
        system.expect_escalated(&members[0]).await;
        system.expect_terminated(&pool).await;
        assert!(members.iter().all(|worker| worker.actor_ref().has_ended()));
    });
}

#[supervise::test]
async fn round_robin_takes_turns(system: &TestSystem) {
    let probe = system.probe();
    let pool = spawn(system, Pool::round_robin(3, workers(&probe)));
    for _ in 0..7 {
        pool.work().tell().unwrap();
    }
    let worked = probe.all().await;
    let mut shares = BTreeMap::new();
    for number in worked {
        *shares.entry(number).or_insert(0) += 1;
    }
    assert_eq!(shares.into_values().collect::<Vec<_>>(), [3, 2, 2]);
}

#[supervise::test]
async fn an_asker_is_answered_by_the_worker(system: &TestSystem) {
    let probe = system.probe();
    let pool = spawn(system, Pool::round_robin(2, workers(&probe)));
    let mut paths = Vec::new();
    for _ in 0..2 {
        paths.push(pool.path().await.unwrap().to_string());
    }
    assert_eq!(paths, ["supervise://test/user/pool/worker-1", "supervise://test/user/pool/worker-2"]);
}

#[supervise::test]
async fn the_smallest_mailbox_is_that_of_a_worker_who_is_idle_and_well(system: &TestSystem) {
    let probe = system.probe();
    let wait = Backoff::exponential(Duration::from_secs(10), Duration::from_secs(10));
    let options =
        Pool::smallest_mailbox(3, workers(&probe)).decider_unchecked(move |_| Some(Directive::RestartAfter(wait)));
    let pool = spawn(system, options);
    let members = members(&pool).await;
    system.settle().await;
    members[0].last(Duration::from_secs(30)).tell().unwrap();
    members[1].fail().tell().unwrap();
    system.expect_decision(&members[1]).await;
    let free = members[2].work().await.unwrap();
    for _ in 0..3 {
        assert_eq!(pool.work().await.unwrap(), free);
    }
}

#[supervise::test]
async fn a_message_that_can_be_cloned_goes_to_every_worker(system: &TestSystem) {
    /// By hand, because a message with a reply slot is not `Clone`.
    struct Listener(ProbeHandle<&'static str>);

    impl Supervisor for Listener {
        type Ref = ActorRef<Self>;
    }

    impl Actor for Listener {
        type Message = &'static str;

        async fn handle(&mut self, message: &'static str, _: &mut Context<Self>) -> Result<(), Failure> {
            self.0.note(message);
            Ok(())
        }
    }

    impl<P> supervise::HandlersOfOneImplBlockDecidedBy<P> for Listener {}
    impl<P> supervise::EscalationsDecidedBy<P> for Listener {}

    let probe = system.probe();
    let handle = probe.handle();
    let pool = Pool::broadcasting(3, move || Listener(handle.clone())).props();
    let pool = system.spawn_with("pool", pool).unwrap();
    pool.tell("news").unwrap();
    assert_eq!(probe.all().await, ["news"; 3]);
}

#[supervise::test]
async fn any_request_can_be_broadcast(system: &TestSystem) {
    let probe = system.probe();
    let pool = spawn(system, Pool::round_robin(3, workers(&probe)));
    pool.actor_ref().broadcast(WorkerRef::work);
    let mut worked = probe.all().await;
    worked.sort_unstable();
    assert_eq!(worked, [1, 2, 3]);
}

#[supervise::test]
async fn a_pool_grows_and_shrinks_and_loses_nothing(system: &TestSystem) {
    let probe = system.probe();
    let pool = spawn(system, Pool::round_robin(1, workers(&probe)));
    pool.actor_ref().resize(4);
    for _ in 0..8 {
        pool.work().tell().unwrap();
    }
    pool.actor_ref().resize(2);
    let all = members(&pool).await;
    assert_eq!(all.len(), 2);
    assert_eq!(probe.all().await.len(), 8, "those that leave handle what they were sent");
    pool.actor_ref().resize(3);
    assert_eq!(members(&pool).await[..2], all, "the youngest leave");
    assert!(pool.work().await.is_ok());
}

/// A pool whose second worker is busy, has a failing message and a piece of work in its mailbox, and is no
/// longer needed.
async fn with_an_unwanted_worker<T>(
    system: &TestSystem,
    options: PoolProps<Worker, T>,
) -> (PoolRef<Worker>, [WorkerRef; 2]) {
    let pool = spawn(system, options);
    let [one, two] = &members(&pool).await[..] else { panic!("two workers") };
    two.last(Duration::from_secs(1)).tell().unwrap();
    two.fail().tell().unwrap();
    two.work().tell().unwrap();
    pool.actor_ref().resize(1);
    assert_eq!(members(&pool).await, std::slice::from_ref(one));
    (pool, [one.clone(), two.clone()])
}

/// Rule 13.9.
#[supervise::test]
async fn an_unwanted_worker_that_fails_goes_and_takes_nobody_along(system: &TestSystem) {
    let refused = Strategy::one_for_one().max_retries(0);
    let cases = [
        ("permanent", RestartType::Permanent, refused, Directive::Restart),
        ("transient", RestartType::Transient, refused.on_limit(OnLimit::Escalate), Directive::Restart),
        ("stopped", RestartType::Permanent, Strategy::all_for_one(), Directive::Stop),
        ("temporary", RestartType::Temporary, Strategy::all_for_one(), Directive::Restart),
        ("escalated", RestartType::Transient, Strategy::rest_for_one(), Directive::Escalate),
    ];
    for (case, restart, strategy, directive) in cases {
        let probe = system.probe();
        let options = Pool::round_robin(2, workers(&probe)).restart(restart).strategy(strategy);
        let options = options.decider_unchecked(move |_| Some(directive));
        let (pool, [one, two]) = with_an_unwanted_worker(system, options).await;
        system.expect_terminated(&two).await;
        let outcome = system.expect_decision(&two).await.outcome;
        assert!(
            matches!(outcome, Outcome::Stopped { children: 1 } | Outcome::LimitReached { children: 1 }),
            "{case}"
        );
        assert_eq!(system.expect_dead_letter(&two).await.message, "Work", "{case}");
        assert_eq!(members(&pool).await, [one], "{case}: the resize holds, and the other worker is the same");
        let restarts = system.take_all(|event| matches!(event, Event::Restarted { .. })).await;
        assert!(restarts.is_empty(), "{case}: {restarts:?}");
        pool.actor_ref().stop();
        system.expect_terminated(&pool).await;
    }
}

/// Rule 13.9.
#[supervise::test]
async fn an_unwanted_worker_that_restarts_does_so_alone_and_finishes_its_work(system: &TestSystem) {
    let probe = system.probe();
    let strategy = Strategy::all_for_one().max_retries(1).count(Count::Supervisor);
    let options = Pool::round_robin(2, workers(&probe)).restart(RestartType::Permanent).strategy(strategy);
    let (pool, [one, two]) = with_an_unwanted_worker(system, options).await;
    system.expect_terminated(&two).await;
    system.expect_restarts(&two, 1).await;
    system.expect_restarts(&one, 0).await;
    assert_eq!(probe.all().await.len(), 1, "it did the work it had been sent");
    // Only the workers that are still needed count against the limit.
    kill(system, &one).await;
    assert_eq!(members(&pool).await, [one]);
}

#[supervise::test]
async fn a_transient_worker_that_finished_leaves_and_the_last_one_ends_the_pool(system: &TestSystem) {
    let probe = system.probe();
    let pool = spawn(system, Pool::round_robin(2, workers(&probe)));
    let all = members(&pool).await;
    all[0].finish().await.unwrap();
    system.expect_terminated(&all[0]).await;
    assert_eq!(members(&pool).await, all[1..]);
    all[1].fail().tell().unwrap();
    system.expect_restarts(&all[1], 1).await;
    all[1].finish().await.unwrap();
    system.expect_terminated(&pool).await;
}

#[supervise::test]
async fn a_permanent_worker_is_replaced_under_its_name_however_it_ends(system: &TestSystem) {
    let probe = system.probe();
    let pool = spawn(system, Pool::round_robin(1, workers(&probe)).restart(RestartType::Permanent));
    let first = members(&pool).await.remove(0);
    first.finish().await.unwrap();
    system.expect_terminated(&first).await;
    let second = members(&pool).await.remove(0);
    assert_ne!(second, first);
    assert_eq!(second.actor_ref().path(), first.actor_ref().path());
    // The default decider would stop it.
    kill(system, &second).await;
    assert_eq!(members(&pool).await, [second]);
}

#[supervise::test]
async fn a_pool_that_replaces_too_often_fails(system: &TestSystem) {
    let probe = system.probe();
    let options = Pool::round_robin(1, workers(&probe))
        .restart(RestartType::Permanent)
        .strategy(Strategy::one_for_one().max_retries(1));
    let pool = spawn(system, options);
    pool.finish().await.unwrap();
    system.settle().await;
    pool.finish().await.unwrap();
    let decision = system.expect_decision(&pool).await;
    assert!(decision.failure.downcast_ref::<TooManyReplacements>().is_some(), "{decision:?}");
}

#[supervise::test]
async fn a_temporary_worker_is_never_restarted(system: &TestSystem) {
    let probe = system.probe();
    let pool = spawn(system, Pool::round_robin(2, workers(&probe)).restart(RestartType::Temporary));
    let all = members(&pool).await;
    all[0].fail().tell().unwrap();
    assert_eq!(system.expect_decision(&all[0]).await.directive, Directive::Stop);
    assert_eq!(members(&pool).await, all[1..]);
}

/// Restarts all its children together; one of them may fail alone.
#[actor]
#[supervise(all_for_one, on(_) = Restart)]
struct Parent {
    probe: ProbeHandle<u32>,
}

#[actor]
impl Parent {
    #[handler]
    fn sibling(&mut self, ctx: &mut Context<Self>) -> Result<WorkerRef, SpawnError> {
        let probe = self.probe.clone();
        ctx.spawn("sibling", move || Worker { number: 0, probe: probe.clone() })
    }

    #[handler]
    fn one_off(&mut self, ctx: &mut Context<Self>) -> Result<PoolRef<Worker>, SpawnError> {
        let probe = self.probe.clone();
        let pool = Pool::round_robin(1, move || Worker { number: 1, probe: probe.clone() });
        ctx.spawn_with("one-off", pool.restart(RestartType::Temporary).props())
    }
}

#[supervise::test]
async fn a_pool_of_one_keeps_a_childs_failure_from_its_siblings(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let parent = system.spawn("parent", move || Parent { probe: handle.clone() }).unwrap();
    let sibling = parent.sibling().await.unwrap();
    let one_off = parent.one_off().await.unwrap();
    let worker = members(&one_off).await.remove(0);
    one_off.fail().tell().unwrap();
    assert!(matches!(system.expect_decision(&worker).await.outcome, Outcome::Stopped { .. }));
    system.expect_terminated(&one_off).await;
    let restarts = system.take_all(|event| matches!(event, Event::Restarted { .. })).await;
    assert!(restarts.is_empty(), "{restarts:?}");
    assert_eq!(sibling.work().await.unwrap(), 0);
}

/// Rule 13.8.
#[test]
#[should_panic(expected = "a pool has no significant children: it stops when its last worker has left")]
fn an_auto_shutdown_of_a_pool_is_refused() {
    let strategy = Strategy::one_for_one().auto_shutdown(AutoShutdown::AnySignificant);
    let _refused = Pool::round_robin(1, || Err::<Worker, Broken>(Broken)).strategy(strategy);
}

#[supervise::test]
async fn patterns_nest(system: &TestSystem) {
    let probe = system.probe();
    let make = Arc::new(workers(&probe));
    let delays = Backoff::exponential(Duration::from_secs(1), Duration::from_secs(8));
    let guarded = move || {
        let make = Arc::clone(&make);
        BackoffSupervisor::on_failure("worker", move || make(), delays).props()
    };
    let pool = system.spawn_with("pool", Pool::round_robin(2, guarded).props()).unwrap();
    assert_eq!(pool.work().await.unwrap(), 1);
    let path = pool.path().await.unwrap().to_string();
    assert_eq!(path, "supervise://test/user/pool/worker-2/worker");
    let face: &WorkerRef = &pool;
    assert_eq!(face.actor_ref().to_any().downcast::<Worker>(), Some(face.actor_ref().clone()));
}

/// A restart creates all workers again, so the delayed replacements of their predecessors are cancelled.
/// Rules 5.3, 13.8.
#[supervise::test]
async fn z_a_restarted_pool_ignores_a_delayed_replacement_from_before(system: &TestSystem) {
    let probe = system.probe();
    let decide = |_: &Failure, _: &ChildInfo| Ok(Directive::Restart);
    let parent = Props::new(Keeper::new).supervision_unchecked(Strategy::one_for_one(), decide);
    let parent = system.spawn_with("parent", parent).unwrap();
    let options = Pool::round_robin(1, workers(&probe)).restart(RestartType::Permanent);
    let pool = within(&parent, |ctx| ctx.spawn_with("pool", options.props()).unwrap()).await;
    // The first replacement comes at once, the second one later.
    for _ in 0..2 {
        pool.finish().await.unwrap();
        system.settle().await;
    }
    assert!(members(&pool).await[0].actor_ref().has_ended());
    pool.actor_ref().kill();
    system.expect_restarts(&pool, 1).await;
    let all = members(&pool).await;
    system.advance(Duration::from_secs(60)).await;
    assert_eq!(members(&pool).await, all);
    let failures = system.take_all(|event| matches!(event, Event::Decided { .. })).await;
    assert!(failures.is_empty(), "{failures:?}");
}

/// Rules 5.3, 13.8.
#[supervise::test]
async fn z_55_a_pool_without_a_table_keeps_trying_to_start_its_workers(system: &TestSystem) {
    system.allow_failures();
    let probe = system.probe();
    let (make, is_up) = (workers(&probe), Arc::new(AtomicBool::new(false)));
    let database = Arc::clone(&is_up);
    let factory = move || if database.load(Ordering::Relaxed) { Ok(make()) } else { Err(Broken) };
    let pool = spawn(system, Pool::round_robin(2, factory));
    system.advance(Duration::from_secs(3600)).await;
    assert!(!pool.actor_ref().has_ended());
    let answer = pool.work().ask().unwrap();
    is_up.store(true, Ordering::Relaxed);
    assert!(answer.await.is_ok());
}
