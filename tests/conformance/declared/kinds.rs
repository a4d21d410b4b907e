//! Children of other kinds on fields: pools, backoff supervisors, keyed children. CFG: our own cases.

use std::io;
use std::time::Duration;

use supervise::pattern::{BackoffSupervisor, Pool, TooManyReplacements};
use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{Backoff, Tree};

use crate::fixture::secs;

/// Notes its starts and its ends under its name.
#[actor]
struct Hand {
    name: String,
    steps: ProbeHandle<String>,
    handled: u32,
}

impl Hand {
    fn new(name: &str, steps: &ProbeHandle<String>) -> Self {
        Self { name: name.to_owned(), steps: steps.clone(), handled: 0 }
    }

    fn note(&self, what: &str) {
        self.steps.note(format!("{} {what}", self.name));
    }
}

#[actor]
impl Hand {
    #[pre_start]
    fn begin(&mut self) {
        self.note("starts");
    }

    #[post_stop]
    fn end(&mut self) {
        self.note("ends");
    }

    #[handler]
    fn work(&mut self) -> u32 {
        self.handled += 1;
        self.handled
    }

    #[handler]
    fn fail(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::Other.into())
    }
}

#[derive(Clone)]
struct Settings {
    steps: ProbeHandle<String>,
    workers: usize,
    idle: Duration,
}

#[supervise(one_for_one(max_retries = 3), on(io::Error) = Restart)]
struct Works;

#[actor]
#[supervise(rest_for_one, on(io::Error) = Restart, on(TooManyReplacements) = Restart, on(_) = Restart)]
struct Factory {
    settings: Settings,
    #[child(|this| { let steps = this.settings.steps.clone(); move || Hand::new("first", &steps) })]
    first: Child<Hand>,
    #[child(
        |this| {
            let steps = this.settings.steps.clone();
            Pool::round_robin(this.settings.workers, move || Hand::new("pool", &steps)).supervised_by::<Works>().props()
        },
        restart = permanent,
    )]
    pool: Child<Pool<Hand>>,
    #[child(|this| {
        let (steps, delays) = (this.settings.steps.clone(), Backoff::exponential(secs(1), secs(8)));
        BackoffSupervisor::on_failure("db", move || Hand::new("db", &steps), delays).props()
    })]
    db: Child<BackoffSupervisor<Hand>>,
    #[child(
        |this| { let steps = this.settings.steps.clone(); move |key: &u64| Hand::new(&key.to_string(), &steps) },
        idle = self.settings.idle,
    )]
    sessions: Children<u64, Hand>,
}

impl Factory {
    fn of(settings: &Settings) -> impl FnMut() -> Self + Send + 'static + use<> {
        let settings = settings.clone();
        move || Self {
            settings: settings.clone(),
            first: Child::default(),
            pool: Child::default(),
            db: Child::default(),
            sessions: Children::default(),
        }
    }
}

/// The children of a factory.
struct Parts {
    first: HandRef,
    pool: HandRef,
    db: HandRef,
    sessions: Children<u64, Hand>,
}

#[actor]
impl Factory {
    #[handler]
    fn parts(&self) -> Parts {
        let (pool, db) = (self.pool.actor(), self.db.actor());
        Parts {
            first: self.first.actor(),
            pool: HandRef::clone(&pool),
            db: HandRef::clone(&db),
            sessions: self.sessions.clone(),
        }
    }

    #[handler]
    fn crash(&mut self) {
        panic!("as told");
    }
}

fn settings(system: &TestSystem, workers: usize) -> (Settings, supervise::testkit::TestProbe<String>) {
    let probe = system.probe();
    (Settings { steps: probe.handle(), workers, idle: secs(60) }, probe)
}

/// Rules 13.1, 14.1, 14.4, 14.7.
#[supervise::test]
async fn cfg_20_patterns_and_keyed_children_are_declared_children(system: &TestSystem) {
    let (settings, steps) = settings(system, 2);
    let factory = system.spawn("factory", Factory::of(&settings)).unwrap();
    let parts = factory.parts().await.unwrap();
    for _ in 0..2 {
        assert_eq!(parts.pool.work().await.unwrap(), 1, "a worker each");
    }
    assert_eq!(parts.pool.work().await.unwrap(), 2);
    assert_eq!(parts.db.work().await.unwrap(), 1);
    assert_eq!(parts.sessions.get_or_spawn(42).unwrap().work().await.unwrap(), 1);
    assert_eq!(parts.sessions.path().local(), "/user/factory/sessions");
    assert_eq!(steps.all().await, ["first starts", "pool starts", "pool starts", "db starts", "42 starts"]);
    factory.actor_ref().stop();
    system.ended(&factory).await;
    assert_eq!(steps.all().await, ["42 ends", "db ends", "pool ends", "pool ends", "first ends"]);
}

/// Rules 7.1, 14.3.
#[supervise::test]
async fn cfg_21_a_group_restart_reaches_them_in_their_order(system: &TestSystem) {
    let (settings, steps) = settings(system, 1);
    let factory = system.spawn("factory", Factory::of(&settings)).unwrap();
    let parts = factory.parts().await.unwrap();
    parts.sessions.get_or_spawn(7).unwrap().work().await.unwrap();
    steps.all().await;
    parts.first.fail().tell().unwrap();
    system.expect_decision(&parts.first).await;
    system.settle().await;
    assert_eq!(
        steps.all().await,
        ["7 ends", "db ends", "pool ends", "first ends", "first starts", "pool starts", "db starts"]
    );
    // The handle is that of the same instance of the owner.
    assert_eq!(parts.sessions.get_or_spawn(7).unwrap().work().await.unwrap(), 1);
    assert_eq!(parts.pool.work().await.unwrap(), 1);
}

/// Rules 14.2, 14.6.
#[supervise::test]
async fn cfg_22_a_permanent_pool_comes_back_with_its_own_table(system: &TestSystem) {
    let (settings, steps) = settings(system, 1);
    let factory = system.spawn("factory", Factory::of(&settings)).unwrap();
    let pool = factory.parts().await.unwrap().pool;
    steps.all().await;
    // The last worker of a pool that is not permanent ends the pool.
    let worker = system.find("/user/factory/pool/worker-1").expect("the worker");
    worker.stop();
    system.settle().await;
    system.allow_failures();
    let again = factory.parts().await.unwrap().pool;
    assert_ne!(again, pool, "a new incarnation");
    again.fail().tell().unwrap();
    system.settle().await;
    assert_eq!(again.work().await.unwrap(), 1);
    let restarts = |steps: Vec<String>| steps.iter().filter(|step| *step == "pool starts").count();
    assert_eq!(restarts(steps.all().await), 2, "replaced, then restarted by the pool's own table");
}

/// Rules 18.7, 18.8, 18.9.
#[supervise::test]
async fn cfg_23_declared_keyed_children_end_with_their_owners_instance(system: &TestSystem) {
    let (settings, _steps) = settings(system, 1);
    let factory = system.spawn("factory", Factory::of(&settings)).unwrap();
    let before = factory.parts().await.unwrap().sessions;
    let session = before.get_or_spawn(1).unwrap();
    factory.crash().tell().unwrap();
    system.expect_restarts(&factory, 1).await;
    system.allow_failures();
    assert!(session.actor_ref().has_ended());
    assert!(before.is_empty() && before.get_or_spawn(1).is_err(), "an earlier handle makes none");
    let after = factory.parts().await.unwrap().sessions;
    assert_eq!(after.get_or_spawn(1).unwrap().work().await.unwrap(), 1);
}

/// Rules 18.6, 18.9.
#[supervise::test]
async fn cfg_24_the_idle_time_of_declared_keyed_children_comes_from_settings(system: &TestSystem) {
    let (settings, steps) = settings(system, 1);
    let factory = system.spawn("factory", Factory::of(&settings)).unwrap();
    let sessions = factory.parts().await.unwrap().sessions;
    sessions.get_or_spawn(1).unwrap().work().await.unwrap();
    steps.all().await;
    for _ in 0..3 {
        system.advance(secs(15)).await;
    }
    assert_eq!(sessions.len(), 1);
    for _ in 0..3 {
        system.advance(secs(15)).await;
    }
    assert_eq!((sessions.len(), steps.all().await), (0, vec!["1 ends".to_owned()]));
}

/// Keeps what it declared over its restart.
#[actor]
#[supervise(one_for_one(max_retries = self.retries), on(_) = Restart)]
struct Keeper {
    retries: u32,
    steps: ProbeHandle<String>,
    #[child(|this| { let steps = this.steps.clone(); move |key: &u64| Hand::new(&key.to_string(), &steps) })]
    sessions: Children<u64, Hand>,
}

#[actor]
impl Keeper {
    #[pre_restart]
    fn keep_the_children(&mut self) {}

    #[handler]
    fn sessions(&self) -> Children<u64, Hand> {
        self.sessions.clone()
    }

    #[handler]
    fn crash(&mut self) {
        panic!("as told");
    }
}

/// Rules 14.6, 18.9, 7.12.
#[supervise::test]
async fn cfg_25_the_parent_of_keyed_children_may_outlive_its_owners_restart(system: &TestSystem) {
    let steps = system.probe();
    let handle = steps.handle();
    let make = move || Keeper { retries: 1, steps: handle.clone(), sessions: Children::default() };
    let keeper = system.spawn("keeper", make).unwrap();
    let before = keeper.sessions().await.unwrap();
    let session = before.get_or_spawn(1).unwrap();
    session.work().await.unwrap();
    keeper.crash().tell().unwrap();
    system.expect_restarts(&keeper, 1).await;
    system.settle().await;
    system.allow_failures();
    assert!(session.actor_ref().has_ended());
    assert!(before.get_or_spawn(1).is_err(), "an earlier handle makes none");
    let after = keeper.sessions().await.unwrap();
    let session = after.get_or_spawn(1).unwrap();
    assert_eq!(session.work().await.unwrap(), 1);
    // The owner's limit is the sessions'.
    for ended in [false, true] {
        session.fail().tell().unwrap();
        system.settle().await;
        assert_eq!(session.actor_ref().has_ended(), ended);
    }
}

/// Rule 14.1.
#[test]
fn cfg_26_a_map_of_the_types_shows_them() {
    let map = Tree::declared::<Factory>().to_string();
    for name in ["first: Hand", "pool: Pool", "db: BackoffSupervisor", "sessions: Registry"] {
        assert!(map.contains(name), "`{name}` is missing:\n{map}");
    }
}
