//! One supervision table in several places: an actor, a pool, a backoff supervisor, one actor among others, and the guardian.
//! Rule 3.8.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use supervise::pattern::{BackoffSupervisor, Pool, TooManyReplacements};
use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{Backoff, DeciderTable, Event, Props, SupervisionTable};

#[derive(Debug, thiserror::Error)]
#[error("the disk is full")]
struct DiskFull;

#[derive(Debug, thiserror::Error)]
#[error("the row is damaged")]
struct Damaged;

/// Restarts a writer whose disk is full, and resumes one with a damaged row.
#[supervise(all_for_one(max_retries = 2, within = "1m"), on(DiskFull) = Restart, on(Damaged) = Resume)]
struct Storage;

/// Decides everything.
#[supervise(on(Damaged) = Stop, on(_) = Restart)]
struct Everything;

/// Decides like the default table.
#[supervise(on(_) = Default)]
struct Usual;

#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Started,
    Stopped,
}

#[actor]
struct Writer {
    probe: ProbeHandle<Seen>,
    rows: u32,
}

#[actor]
impl Writer {
    #[pre_start]
    fn started(&mut self) {
        self.probe.note(Seen::Started);
    }

    #[post_stop]
    fn stopped(&mut self) {
        self.probe.note(Seen::Stopped);
    }

    #[handler]
    fn write(&mut self) -> u32 {
        self.rows += 1;
        self.rows
    }

    #[handler]
    fn fill(&mut self) -> Result<(), DiskFull> {
        Err(DiskFull)
    }

    #[handler]
    fn damage(&mut self) -> Result<(), Damaged> {
        Err(Damaged)
    }
}

fn writer(probe: &ProbeHandle<Seen>) -> impl Fn() -> Writer + Send + Sync + use<> {
    let probe = probe.clone();
    move || Writer { probe: probe.clone(), rows: 0 }
}

#[actor]
#[supervise(table = Storage)]
struct Database {
    probe: ProbeHandle<Seen>,
    #[child(|this| { let writer = writer(&this.probe); move || writer() })]
    first: Child<Writer>,
    #[child(|this| { let writer = writer(&this.probe); move || writer() })]
    second: Child<Writer>,
}

#[actor]
impl Database {
    #[handler]
    fn writers(&self) -> (WriterRef, WriterRef) {
        (self.first.actor(), self.second.actor())
    }
}

#[supervise::test]
async fn an_actor_uses_the_table_of_another_type(system: &TestSystem) {
    system.allow_failures();
    let probe = system.probe();
    let handle = probe.handle();
    let database = move || Database { probe: handle.clone(), first: Child::default(), second: Child::default() };
    let database = system.spawn("database", database).unwrap();
    let (first, second) = database.writers().await.unwrap();
    probe.expect(Seen::Started).await;
    probe.expect(Seen::Started).await;
    assert_eq!((first.write().await.unwrap(), second.write().await.unwrap()), (1, 1));
    first.damage().tell().unwrap();
    assert_eq!(first.write().await.unwrap(), 2, "it was resumed");
    first.fill().tell().unwrap();
    assert_eq!((first.write().await.unwrap(), second.write().await.unwrap()), (1, 1), "both were restarted");
    let tree = system.tree();
    let node = tree.nodes().find(|node| node.name() == "database").expect("it runs");
    assert!(matches!(node.table(), DeciderTable::Rules(rules) if rules.len() == 2));
    assert_eq!(node.strategy(), Storage::STRATEGY);
}

#[supervise::test]
async fn a_pool_uses_a_table(system: &TestSystem) {
    system.allow_failures();
    let probe = system.probe();
    let pool = Pool::round_robin(1, writer(&probe.handle())).supervised_by::<Storage>().props();
    let pool = system.spawn_with("pool", pool).unwrap();
    probe.expect(Seen::Started).await;
    assert_eq!(pool.write().await.unwrap(), 1);
    pool.damage().tell().unwrap();
    assert_eq!(pool.write().await.unwrap(), 2, "it was resumed");
    for _ in 0..2 {
        pool.fill().tell().unwrap();
        probe.expect(Seen::Stopped).await;
        probe.expect(Seen::Started).await;
    }
    pool.fill().tell().unwrap();
    probe.expect(Seen::Stopped).await;
    system.expect_terminated(&pool).await;
}

#[supervise::test]
async fn a_backoff_supervisor_uses_a_table(system: &TestSystem) {
    system.allow_failures();
    let probe = system.probe();
    let delays = Backoff::exponential(Duration::from_secs(1), Duration::from_secs(10));
    let writer =
        BackoffSupervisor::on_failure("writer", writer(&probe.handle()), delays).supervised_by::<Storage>();
    let writer = system.spawn_with("supervisor", writer.props()).unwrap();
    probe.expect(Seen::Started).await;
    writer.damage().tell().unwrap();
    assert_eq!(writer.write().await.unwrap(), 1, "it was resumed");
    writer.fill().tell().unwrap();
    probe.expect(Seen::Stopped).await;
    assert!(writer.actor_ref().current_child().await.unwrap().is_none(), "it waits");
    system.advance(Duration::from_secs(1)).await;
    probe.expect(Seen::Started).await;
}

#[actor]
struct Keeper {
    probe: ProbeHandle<Seen>,
}

#[actor]
impl Keeper {
    #[handler]
    fn keep(&mut self, ctx: &mut Context<Self>) -> WriterRef {
        let writer = writer(&self.probe);
        ctx.spawn("writer", writer).expect("the name is free")
    }
}

#[supervise::test]
async fn one_actor_uses_another_table_than_its_type(system: &TestSystem) {
    system.allow_failures();
    let probe = system.probe();
    let handle = probe.handle();
    let props = Props::new(move || Keeper { probe: handle.clone() }).supervised_by::<Everything>();
    let writer = system.spawn_with("keeper", props).unwrap().keep().await.unwrap();
    probe.expect(Seen::Started).await;
    writer.fill().tell().unwrap();
    probe.expect(Seen::Stopped).await;
    probe.expect(Seen::Started).await;
    writer.damage().tell().unwrap();
    probe.expect(Seen::Stopped).await;
    system.expect_terminated(&writer).await;
}

#[supervise::test]
async fn a_table_of_default_alone_decides_like_the_default_table(system: &TestSystem) {
    system.allow_failures();
    let probe = system.probe();
    let pool = Pool::round_robin(1, writer(&probe.handle())).supervised_by::<Usual>().props();
    let pool = system.spawn_with("pool", pool).unwrap();
    probe.expect(Seen::Started).await;
    pool.damage().tell().unwrap();
    probe.expect(Seen::Stopped).await;
    probe.expect(Seen::Started).await;
}

/// If a pool's table decides all failures of its workers, its parent only has to decide what the pool itself fails with.
/// Rule 3.9.
#[actor]
#[supervise(on(TooManyReplacements) = Stop)]
struct Strict {
    probe: ProbeHandle<Seen>,
}

#[actor]
impl Strict {
    #[handler]
    fn pool(&mut self, ctx: &mut Context<Self>) {
        let pool = Pool::round_robin(2, writer(&self.probe)).supervised_by::<Storage>();
        ctx.spawn_with("pool", pool.props()).expect("the name is free");
        ctx.spawn_with("usual", Pool::round_robin(1, writer(&self.probe)).props()).expect("the name is free");
    }
}

#[supervise::test]
async fn a_pool_that_escalates_nothing_needs_no_rule_above(system: &TestSystem) {
    system.allow_failures();
    let probe = system.probe();
    let handle = probe.handle();
    let strict = system.spawn("strict", move || Strict { probe: handle.clone() }).unwrap();
    strict.pool().await.unwrap();
    for _ in 0..3 {
        probe.expect(Seen::Started).await;
    }
}

#[tokio::test]
async fn the_guardian_uses_a_table() {
    let probe = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let system = ActorSystem::builder("shop").supervised_by::<Everything>().start().unwrap();
    let counted = std::sync::Arc::clone(&probe);
    let top = move || {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Top
    };
    let top = system.spawn("top", top).unwrap();
    assert_eq!(top.fill().await.unwrap_err().to_string(), "the actor failed: the disk is full");
    top.answer().await.unwrap();
    assert_eq!(probe.load(std::sync::atomic::Ordering::Relaxed), 2, "it was restarted");
    top.damage().tell().unwrap();
    assert!(matches!(top.answer().await, Err(AskError::StoppedByFailure(_))));
    system.terminate().await;
}

#[actor]
struct Top;

#[actor]
impl Top {
    #[handler]
    fn answer(&self) {}

    #[handler]
    fn fill(&self) -> Result<(), DiskFull> {
        Err(DiskFull)
    }

    #[handler]
    fn damage(&self) -> Result<(), Damaged> {
        Err(Damaged)
    }
}

/// Starts when the database is there.
#[actor]
struct Service {
    database: Arc<AtomicBool>,
}

#[actor]
impl Service {
    #[pre_start]
    fn connect(&mut self) -> io::Result<()> {
        if self.database.load(Ordering::Relaxed) { Ok(()) } else { Err(io::Error::other("no database")) }
    }

    #[handler]
    fn number(&self) -> u32 {
        7
    }
}

/// Rules 5.3, 9.1: nobody has said that it should end for good.
#[supervise::test]
async fn a_top_level_actor_that_cannot_start_is_tried_again(system: &TestSystem) {
    system.allow_failures();
    let database = Arc::new(AtomicBool::new(false));
    let there = Arc::clone(&database);
    let service = system.spawn("service", move || Service { database: Arc::clone(&there) }).unwrap();
    let asked = service.number().ask().unwrap();
    system.advance(Duration::from_secs(3600)).await;
    let tries = system.take_all(|event| matches!(event, Event::Decided { .. })).await.len();
    assert!((350..=370).contains(&tries), "{tries} tries, with delays from 100 ms to 10 s");
    database.store(true, Ordering::Relaxed);
    assert_eq!(asked.await.unwrap(), 7);
    // A kill is meant.
    service.actor_ref().kill();
    system.ended(&service).await;
}
