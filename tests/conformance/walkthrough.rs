//! DOC: the walk-throughs of Akka's documentation.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{Directive, HowEnded, Outcome};

use crate::fixture::secs;
use crate::log::Log;

#[derive(Debug, thiserror::Error)]
enum Mistake {
    #[error("division by zero")]
    Arithmetic,
    #[error("nothing there")]
    NullPointer,
    #[error("not like that")]
    IllegalArgument,
    #[error("crash")]
    Other,
}

/// Holds a number, and makes the mistake it is told to make.
#[actor]
struct Worker {
    state: i32,
}

#[actor]
impl Worker {
    #[handler]
    fn set(&mut self, state: i32) {
        self.state = state;
    }

    #[handler]
    fn get(&self) -> i32 {
        self.state
    }

    #[handler]
    fn make(&mut self, mistake: Mistake) -> Result<(), Mistake> {
        Err(mistake)
    }
}

#[actor]
#[supervise(
    one_for_one(max_retries = 10, within = "60s"),
    on(Mistake::Arithmetic) = Resume,
    on(Mistake::NullPointer) = Restart,
    on(Mistake::IllegalArgument) = Stop,
    on(Mistake::Other) = Escalate,
)]
struct Stopping;

#[actor]
impl Stopping {
    #[handler]
    fn worker(&mut self, ctx: &mut Context<Self>) -> Reply<Result<WorkerRef, SpawnError>> {
        Reply(ctx.spawn_anonymous(|| Worker { state: 0 }))
    }
}

/// Like `Stopping`, but its children survive its restart.
#[actor]
#[supervise(
    one_for_one(max_retries = 10, within = "60s"),
    on(Mistake::Arithmetic) = Resume,
    on(Mistake::NullPointer) = Restart,
    on(Mistake::IllegalArgument) = Stop,
    on(Mistake::Other) = Escalate,
)]
struct Keeping;

#[actor]
impl Keeping {
    #[handler]
    fn worker(&mut self, ctx: &mut Context<Self>) -> Reply<Result<WorkerRef, SpawnError>> {
        Reply(ctx.spawn_anonymous(|| Worker { state: 0 }))
    }

    #[pre_restart]
    fn keep_children(&mut self) {}
}

/// Rule 3.4.
#[supervise::test]
async fn doc_01_resume_keeps_the_state(system: &TestSystem) {
    let log = Log::open();
    let supervisor = system.spawn("supervisor", || Stopping).unwrap();
    let worker = supervisor.worker().await.unwrap().unwrap();
    worker.set(42).await.unwrap();
    assert_eq!(worker.get().await.unwrap(), 42);
    worker.make(Mistake::Arithmetic).tell().unwrap();
    assert_eq!(worker.get().await.unwrap(), 42);
    assert_eq!((log.warnings().len(), log.errors().len()), (1, 0));
    assert_eq!(system.expect_decision(&worker).await.directive, Directive::Resume);
}

/// Rule 4.1.
#[supervise::test]
async fn doc_02_restart_loses_the_state(system: &TestSystem) {
    let log = Log::open();
    let supervisor = system.spawn("supervisor", || Stopping).unwrap();
    let worker = supervisor.worker().await.unwrap().unwrap();
    worker.set(42).await.unwrap();
    worker.make(Mistake::NullPointer).tell().unwrap();
    assert_eq!(worker.get().await.unwrap(), 0);
    assert_eq!((log.warnings().len(), log.errors().len()), (0, 1));
    system.expect_restarts(&worker, 1).await;
}

/// The step between the two: a failure for which the table says `Stop`. Rule 3.5.
#[supervise::test]
async fn doc_03_stop_ends_the_worker(system: &TestSystem) {
    let supervisor = system.spawn("supervisor", || Stopping).unwrap();
    let worker = supervisor.worker().await.unwrap().unwrap();
    worker.make(Mistake::IllegalArgument).tell().unwrap();
    system.expect_terminated(&worker).await;
    assert_eq!(system.expect_decision(&worker).await.outcome, Outcome::Stopped { children: 1 });
}

/// Rule 3.6.
#[supervise::test]
async fn doc_04_an_escalated_failure_kills_the_worker_with_its_supervisor(system: &TestSystem) {
    let log = Log::open();
    let supervisor = system.spawn("supervisor", || Stopping).unwrap();
    let worker = supervisor.worker().await.unwrap().unwrap();
    let (ended, _) = tokio::join!(system.ended(&worker), async {
        system.settle().await;
        worker.make(Mistake::Other).await
    });
    assert_eq!(ended, HowEnded::Graceful, "it was seen to end");
    let cause = system.expect_escalated(&worker).await;
    let above = system.expect_decision(&supervisor).await;
    assert_eq!(above.directive, Directive::Restart);
    assert!(above.failure.is_same(&cause));
    let errors = log.errors();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].contains("/user "), "said where it was decided: {errors:?}");
    assert!(supervisor.worker().await.unwrap().is_ok());
}

/// Rule 4.3.
#[supervise::test]
async fn doc_05_an_escalated_failure_restarts_the_worker_that_is_kept(system: &TestSystem) {
    let supervisor = system.spawn("supervisor", || Keeping).unwrap();
    let worker = supervisor.worker().await.unwrap().unwrap();
    worker.set(23).await.unwrap();
    assert_eq!(worker.get().await.unwrap(), 23);
    worker.make(Mistake::Other).tell().unwrap();
    assert_eq!(worker.get().await.unwrap(), 0);
    system.expect_restarts(&worker, 1).await;
    system.expect_restarts(&supervisor, 1).await;
}

// ---- DOC-07: a counter that stays available while its storage fails ----------------------------------------------

type Database = Arc<Mutex<BTreeMap<&'static str, u64>>>;

const KEY: &str = "clicks";
const TOTAL: u64 = 51;

#[derive(Debug, thiserror::Error)]
#[error("the database refuses {0}")]
struct StorageError(u64);

#[derive(Debug, thiserror::Error)]
#[error("the counter service is unavailable")]
struct ServiceUnavailable;

/// Saves to a database that refuses the values 11 to 14.
#[actor]
struct Storage {
    database: Database,
}

#[actor]
impl Storage {
    #[handler]
    fn store(&mut self, value: u64) -> Result<(), StorageError> {
        if (11..=14).contains(&value) {
            return Err(StorageError(value));
        }
        self.database.lock().unwrap().insert(KEY, value);
        Ok(())
    }

    #[handler]
    fn load(&self) -> u64 {
        self.database.lock().unwrap().get(KEY).copied().unwrap_or(0)
    }
}

/// Keeps the count, and passes it on while there is a storage.
#[actor]
struct Counter {
    count: u64,
    storage: Option<StorageRef>,
}

#[actor]
impl Counter {
    #[handler]
    fn use_storage(&mut self, storage: Option<StorageRef>) {
        self.storage = storage;
        self.store();
    }

    #[handler]
    fn increment(&mut self, by: u64) {
        self.count += by;
        self.store();
    }

    #[handler]
    fn count(&self) -> u64 {
        self.count
    }

    fn store(&self) {
        if let Some(storage) = &self.storage {
            // If the storage has ended, the service reports that it is unavailable.
            let _gone = storage.store(self.count).tell();
        }
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "5s"), on(StorageError) = Restart)]
struct CounterService {
    database: Database,
    storages: ProbeHandle<StorageRef>,
    counter: Option<CounterRef>,
}

#[actor]
impl CounterService {
    #[pre_start]
    async fn connect(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let storage = self.new_storage(ctx)?;
        let Ok(count) = storage.load().await else { return Ok(()) };
        let counter = ctx.spawn("counter", move || Counter { count, storage: None })?;
        counter.use_storage(Some(storage)).tell().expect("just made");
        self.counter = Some(counter);
        Ok(())
    }

    fn new_storage(&self, ctx: &mut Context<Self>) -> Result<StorageRef, SpawnError> {
        let database = Arc::clone(&self.database);
        let storage = ctx.spawn("storage", move || Storage { database: Arc::clone(&database) })?;
        ctx.watch(&storage);
        self.storages.note(storage.clone());
        Ok(storage)
    }

    #[handler]
    fn increment(&mut self, by: u64) -> Result<(), ServiceUnavailable> {
        let counter = self.counter.as_ref().ok_or(ServiceUnavailable)?;
        counter.increment(by).tell().map_err(|_| ServiceUnavailable)
    }

    #[handler]
    async fn count(&mut self) -> Result<u64, ServiceUnavailable> {
        let counter = self.counter.as_ref().ok_or(ServiceUnavailable)?;
        counter.count().await.map_err(|_| ServiceUnavailable)
    }

    #[handler]
    fn reconnect(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let storage = self.new_storage(ctx)?;
        self.tell_counter(Some(storage));
        Ok(())
    }

    fn tell_counter(&self, storage: Option<StorageRef>) {
        if let Some(counter) = &self.counter {
            counter.use_storage(storage).tell().expect("the counter never fails");
        }
    }

    #[watch]
    fn storage_gone(&mut self, _: Terminated<Storage>, ctx: &mut Context<Self>) {
        self.tell_counter(None);
        let me = ctx.me();
        tokio::spawn(async move {
            tokio::time::sleep(secs(10)).await;
            // A service that has ended needs no storage.
            let _gone = me.reconnect().tell();
        });
    }
}

/// Counts three times in a turn, and reports the progress.
#[actor]
#[supervise(one_for_one, on(ServiceUnavailable) = Stop, on(StorageError) = Stop, on(SpawnError) = Stop)]
struct Clicker {
    database: Database,
    storages: ProbeHandle<StorageRef>,
    service: Option<CounterServiceRef>,
}

#[actor]
impl Clicker {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let (database, storages) = (Arc::clone(&self.database), self.storages.clone());
        self.service = Some(ctx.spawn("service", move || CounterService {
            database: Arc::clone(&database),
            storages: storages.clone(),
            counter: None,
        })?);
        Ok(())
    }

    #[handler]
    async fn click(&mut self) -> Result<u64, ServiceUnavailable> {
        let service = self.service.as_ref().ok_or(ServiceUnavailable)?;
        for _ in 0..3 {
            service.increment(1).tell().map_err(|_| ServiceUnavailable)?;
        }
        let count = service.count().await.map_err(|_| ServiceUnavailable)?;
        Ok(100 * count / TOTAL)
    }
}

/// Rule 7.6.
#[supervise::test]
async fn doc_07_a_counter_stays_available_while_its_storage_fails(system: &TestSystem) {
    let database = Database::default();
    let storages = system.probe();
    let clicker = system.spawn("clicker", {
        let (database, storages) = (Arc::clone(&database), storages.handle());
        move || Clicker { database: Arc::clone(&database), storages: storages.clone(), service: None }
    });
    let clicker = clicker.unwrap();
    let first = storages.next().await;
    let mut stored = Vec::new();
    for second in 1..=17_u64 {
        assert_eq!(clicker.click().await.unwrap(), 100 * 3 * second / TOTAL, "the counter goes on counting");
        system.advance(secs(1)).await;
        stored.push(database.lock().unwrap().get(KEY).copied().unwrap_or(0));
        if second == 5 {
            assert!(first.actor_ref().has_ended(), "the fourth refusal within five seconds");
        }
    }
    system.expect_restarts(&first, 3).await;
    assert_eq!(system.expect_dead_letter(&first).await.message, "Store", "15 finds the storage gone");
    // Refused from 11 on, gone with 14 at the beginning of second 5, back after ten seconds.
    assert_eq!(stored, [3, 6, 9, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 42, 45, 48, 51]);
    let second = storages.next().await;
    assert_ne!(first, second);
    assert_eq!(first.actor_ref().path(), second.actor_ref().path());
    system.expect_restarts(&second, 0).await;

    // At 100 %, the listener shuts the system down.
    system.terminate().await;
    assert!(clicker.actor_ref().has_ended() && second.actor_ref().has_ended());
    assert_eq!(database.lock().unwrap()[KEY], TOTAL);
}
