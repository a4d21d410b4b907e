//! Draining loses nothing: a pool's workers and keyed children handle the messages that they were sent before.
//!
//! Rules 13.10, 18.11 and 23.4.

use std::time::Duration;

use supervise::pattern::{BackoffSupervisor, Pool};
use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestProbe, TestSystem};
use supervise::{AskError, Backoff, EndReason, HowEnded, RestartType};

const MINUTE: Duration = Duration::from_secs(60);

#[actor]
#[derive(Clone)]
struct Clerk {
    key: u32,
    probe: ProbeHandle<u32>,
}

#[actor]
impl Clerk {
    #[handler]
    async fn work(&mut self, order: u32) -> u32 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.probe.note(order);
        order
    }

    #[handler]
    fn fail(&mut self) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Other.into())
    }

    #[handler]
    fn passivate(&mut self, ctx: &mut Context<Self>) {
        ctx.passivate();
    }

    #[handler]
    fn key(&self) -> u32 {
        self.key
    }
}

fn clerk(system: &TestSystem) -> (TestProbe<u32>, Clerk) {
    let probe = system.probe();
    let handle = probe.handle();
    (probe, Clerk { key: 0, probe: handle })
}

#[supervise::test]
async fn a_pool_that_is_drained_drains_its_workers(system: &TestSystem) {
    for restart in [RestartType::Permanent, RestartType::Transient, RestartType::Temporary] {
        let (probe, clerk) = clerk(system);
        let pool = Pool::round_robin(3, move || clerk.clone()).restart(restart);
        let pool = system.spawn_with("pool", pool.props()).unwrap();
        let answers: Vec<_> = (0..12).map(|order| pool.work(order).ask().unwrap()).collect();
        assert_eq!(system.graceful_drain(&pool, MINUTE).await, Ok(HowEnded::Graceful), "{restart:?}");
        let mut orders = probe.all().await;
        orders.sort_unstable();
        assert_eq!(orders, (0..12).collect::<Vec<_>>(), "{restart:?}");
        for answer in answers {
            answer.await.unwrap();
        }
        assert!(matches!(pool.work(13).await, Err(AskError::Stopped)));
        assert!(matches!(pool.actor_ref().end_reason(), Some(EndReason::Stopped)), "somebody asked for it");
        system.expect_dead_letter(&pool).await;
    }
}

/// Workers that a resize has let go finish too, and a worker that fails goes on.
#[supervise::test]
async fn a_pool_waits_for_all_its_workers(system: &TestSystem) {
    system.allow_failures();
    let (probe, clerk) = clerk(system);
    let pool = Pool::round_robin(4, move || clerk.clone()).restart(RestartType::Permanent);
    let pool = system.spawn_with("pool", pool.props()).unwrap();
    for order in 0..12 {
        pool.work(order).tell().unwrap();
    }
    pool.fail().tell().unwrap();
    pool.work(12).tell().unwrap();
    pool.actor_ref().resize(1);
    pool.actor_ref().stop_when_drained();
    pool.actor_ref().resize(3);
    pool.actor_ref().stop_when_drained();
    assert_eq!(system.graceful_drain(&pool, MINUTE).await, Ok(HowEnded::Graceful));
    let mut orders = probe.all().await;
    orders.sort_unstable();
    assert_eq!(orders, (0..13).collect::<Vec<_>>());
}

/// A pool that is restarted has lost the messages of its workers. It still drains to its end.
#[supervise::test]
async fn a_pool_that_restarts_while_it_drains_ends(system: &TestSystem) {
    system.allow_failures();
    let (probe, clerk) = clerk(system);
    let pool =
        Pool::round_robin(2, move || clerk.clone()).decider_unchecked(|_| Some(supervise::Directive::Escalate));
    let pool = system.spawn_with("pool", pool.props()).unwrap();
    pool.work(1).tell().unwrap();
    pool.work(2).tell().unwrap();
    pool.fail().tell().unwrap();
    assert_eq!(system.graceful_drain(&pool, MINUTE).await, Ok(HowEnded::Graceful));
    assert_eq!(probe.all().await, [1, 2], "the second worker's handler has finished");
}

#[supervise::test]
async fn a_pool_without_work_ends_at_once_and_a_stop_does_not_wait(system: &TestSystem) {
    let (_probe, clerk) = clerk(system);
    let make = || {
        let clerk = clerk.clone();
        Pool::round_robin(2, move || clerk.clone())
    };
    let idle = system.spawn_with("idle", make().props()).unwrap();
    assert_eq!(system.graceful_drain(&idle, MINUTE).await, Ok(HowEnded::Graceful));
    let busy = system.spawn_with("busy", make().props()).unwrap();
    for order in 0..20 {
        busy.work(order).tell().unwrap();
    }
    let late = system.graceful_drain(&busy, Duration::from_secs(2)).await;
    assert!(late.is_err(), "it goes on");
    busy.actor_ref().stop();
    assert_eq!(system.graceful_stop(&busy, Duration::from_secs(2)).await, Ok(HowEnded::Graceful));
    system.take_all(|event| matches!(event, supervise::Event::DeadLetter(_))).await;
}

#[supervise::test]
async fn a_backoff_supervisor_that_is_drained_drains_its_child(system: &TestSystem) {
    let delays = || Backoff::exponential(Duration::from_secs(1), MINUTE);
    let (probe, clerk) = clerk(system);
    for on_stop in [true, false] {
        let template = {
            let clerk = clerk.clone();
            move || clerk.clone()
        };
        let props = if on_stop {
            BackoffSupervisor::on_stop("clerk", template, delays())
        } else {
            BackoffSupervisor::on_failure("clerk", template, delays())
        };
        let supervisor = system.spawn_with("supervisor", props.props()).unwrap();
        for order in 0..5 {
            supervisor.work(order).tell().unwrap();
        }
        assert_eq!(system.graceful_drain(&supervisor, MINUTE).await, Ok(HowEnded::Graceful));
        assert_eq!(probe.all().await, [0, 1, 2, 3, 4]);
        assert!(matches!(supervisor.actor_ref().end_reason(), Some(EndReason::Stopped)));
    }
}

#[actor]
struct Office {
    probe: ProbeHandle<u32>,
    clerks: Children<u32, Clerk>,
}

#[actor]
impl Office {
    #[pre_start]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let probe = self.probe.clone();
        let clerks = Children::of(move |key: &u32| Clerk { key: *key, probe: probe.clone() });
        self.clerks = clerks.idle(Duration::from_secs(20)).spawn(ctx, "clerks")?;
        Ok(())
    }

    #[handler]
    fn clerks(&self) -> Children<u32, Clerk> {
        self.clerks.clone()
    }
}

async fn office(system: &TestSystem) -> (TestProbe<u32>, Children<u32, Clerk>) {
    let probe = system.probe();
    let handle = probe.handle();
    let office =
        system.spawn("office", move || Office { probe: handle.clone(), clerks: Children::default() }).unwrap();
    let clerks = office.clerks().await.unwrap();
    (probe, clerks)
}

#[supervise::test]
async fn keyed_children_that_are_drained_handle_what_they_were_sent(system: &TestSystem) {
    let (probe, clerks) = office(system).await;
    for order in 0..30 {
        clerks.get_or_spawn(order % 3).unwrap().work(order).tell().unwrap();
    }
    assert_eq!(clerks.graceful_drain(MINUTE).await, Ok(HowEnded::Graceful));
    let mut orders = probe.all().await;
    orders.sort_unstable();
    assert_eq!(orders, (0..30).collect::<Vec<_>>());
    assert!(clerks.is_empty());
    assert!(matches!(clerks.get_or_spawn(1), Err(SpawnError::Stopping { .. })));
    assert_eq!(clerks.graceful_drain(MINUTE).await, Ok(HowEnded::AlreadyGone));
}

/// While children are drained, they take no messages, and no new children are created.
#[supervise::test]
async fn keyed_children_that_are_being_drained_take_nothing_more(system: &TestSystem) {
    let (probe, clerks) = office(system).await;
    let clerk = clerks.get_or_spawn(1).unwrap();
    let first = clerk.work(1).ask().unwrap();
    clerks.stop_when_drained();
    system.settle().await;
    assert!(matches!(clerk.key().await, Err(AskError::Stopped)));
    assert!(matches!(clerks.get_or_spawn(2), Err(SpawnError::Stopping { .. })));
    assert_eq!(first.await.unwrap(), 1);
    assert_eq!(probe.all().await, [1]);
    system.settle().await;
    assert!(clerks.is_empty());
    let lost = system.take_all(|event| matches!(event, supervise::Event::DeadLetter(_))).await;
    assert_eq!(lost.len(), 1, "{lost:?}");
}

/// Messages that wait for the successor of a passivated child were sent before the drain, so they are handled.
#[supervise::test]
async fn what_waits_for_a_successor_is_handled_too(system: &TestSystem) {
    let (probe, clerks) = office(system).await;
    let clerk = clerks.get_or_spawn(1).unwrap();
    clerk.work(1).tell().unwrap();
    clerk.passivate().tell().unwrap();
    clerk.work(2).tell().unwrap();
    clerk.work(3).tell().unwrap();
    let drained = clerks.graceful_drain(MINUTE);
    assert_eq!(drained.await, Ok(HowEnded::Graceful));
    assert_eq!(probe.all().await, [1, 2, 3]);
    assert!(clerks.is_empty());
}

/// A child that never ends does not hold up a stop.
#[supervise::test]
async fn a_drain_of_keyed_children_can_be_given_up(system: &TestSystem) {
    let (_probe, clerks) = office(system).await;
    let clerk = clerks.get_or_spawn(1).unwrap();
    for order in 0..100 {
        clerk.work(order).tell().unwrap();
    }
    assert!(clerks.graceful_drain(Duration::from_secs(3)).await.is_err());
    assert_eq!(clerks.len(), 1);
    clerks.stop();
    system.advance(Duration::from_secs(2)).await;
    assert!(clerks.is_empty());
    system.take_all(|event| matches!(event, supervise::Event::DeadLetter(_))).await;
}
