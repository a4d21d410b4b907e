//! CFG: tables whose values come from the supervisor's settings, and limits of single rules.
//!
//! Rules 7.11, 7.12.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{self, TestSystem};
use supervise::{Event, InvalidSettings, Outcome, Tree};

use crate::fixture::{ms, secs};

#[derive(Debug, thiserror::Error)]
#[error("the database is gone")]
struct Db;

#[actor]
struct Worker;

#[actor]
impl Worker {
    #[handler]
    fn lose_db(&mut self) -> Result<(), Db> {
        Err(Db)
    }

    #[handler]
    fn lose_file(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::NotFound.into())
    }
}

#[derive(Debug, Clone, Copy)]
struct Settings {
    retries: u32,
    window: Duration,
    min: Duration,
    max: Duration,
    jitter: f64,
    of_db: u32,
    panics: bool,
}

const SETTINGS: Settings = Settings {
    retries: 2,
    window: Duration::from_secs(60),
    min: Duration::from_secs(1),
    max: Duration::from_secs(8),
    jitter: 0.0,
    of_db: 1,
    panics: false,
};

/// What a service reads its settings from.
#[derive(Clone)]
struct Config(Arc<Mutex<Settings>>);

impl Config {
    fn new(settings: Settings) -> Self {
        Self(Arc::new(Mutex::new(settings)))
    }

    fn get(&self) -> MutexGuard<'_, Settings> {
        self.0.lock().unwrap()
    }
}

impl Settings {
    fn retries(&self) -> u32 {
        assert!(!self.panics, "as told");
        self.retries
    }
}

const OFTEN: u32 = 5;

/// Everything comes from its settings.
#[actor]
#[supervise(
    one_for_one(max_retries = self.settings.retries(), within = self.settings.window),
    on(Db) = Restart(max_retries = self.settings.of_db, within = "10s"),
    on(io::Error) = Restart(backoff(min = self.settings.min, max = self.settings.max, jitter = self.settings.jitter)),
)]
struct Service {
    settings: Settings,
    worker: Option<WorkerRef>,
}

impl Service {
    fn factory(config: &Config) -> impl FnMut() -> Self + Send + 'static + use<> {
        let config = config.clone();
        move || Self { settings: *config.get(), worker: None }
    }
}

#[actor]
impl Service {
    #[pre_start]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        // One that survived a restart stays.
        if ctx.child("worker").is_none() {
            self.worker = Some(ctx.spawn("worker", || Worker)?);
        }
        Ok(())
    }

    #[pre_restart]
    fn keep_the_children(&mut self) {}

    #[handler]
    fn worker(&self) -> Option<WorkerRef> {
        self.worker.clone()
    }

    #[handler]
    fn crash(&mut self) {
        panic!("as told");
    }
}

async fn start(system: &TestSystem, config: &Config) -> (ServiceRef, WorkerRef) {
    let service = system.spawn("service", Service::factory(config)).unwrap();
    let worker = service.worker().await.unwrap().expect("it has started");
    (service, worker)
}

async fn after_db(system: &TestSystem, worker: &WorkerRef) -> Outcome {
    worker.lose_db().tell().unwrap();
    system.expect_decision(worker).await.outcome
}

async fn after_file(system: &TestSystem, worker: &WorkerRef) -> Outcome {
    worker.lose_file().tell().unwrap();
    system.expect_decision(worker).await.outcome
}

const AT_ONCE: Outcome = Outcome::Restarting { children: 1, delay: None };
const REFUSED: Outcome = Outcome::LimitReached { children: 1 };

fn after(delay: Duration) -> Outcome {
    Outcome::Restarting { children: 1, delay: Some(delay) }
}

/// Rule 7.12.
#[supervise::test]
async fn cfg_01_the_settings_of_a_supervisor_are_the_values_of_its_table(system: &TestSystem) {
    for retries in [0, 1, 3] {
        let config = Config::new(Settings { retries, of_db: u32::MAX, ..SETTINGS });
        let (service, worker) = start(system, &config).await;
        for _ in 0..retries {
            assert_eq!(after_db(system, &worker).await, AT_ONCE);
        }
        assert_eq!(after_db(system, &worker).await, REFUSED, "{retries} restarts were granted");
        service.actor_ref().stop();
        system.ended(&service).await;
    }
}

/// Rule 7.12.
#[supervise::test]
async fn cfg_02_backoffs_come_from_settings_too(system: &TestSystem) {
    let config = Config::new(Settings { retries: u32::MAX, min: ms(300), max: ms(500), ..SETTINGS });
    let (_service, worker) = start(system, &config).await;
    for delay in [300, 500, 500] {
        assert_eq!(after_file(system, &worker).await, after(ms(delay)));
        system.advance(ms(delay)).await;
    }
}

/// A child's count survives its parent's restart (rule 7.7), and the new limit applies to it.
///
/// Rule 7.12.
#[supervise::test]
async fn cfg_03_a_restart_resolves_the_values_anew(system: &TestSystem) {
    let config = Config::new(Settings { of_db: 9, ..SETTINGS });
    let (service, worker) = start(system, &config).await;
    assert_eq!(after_db(system, &worker).await, AT_ONCE);
    config.get().retries = 9;
    assert_eq!(after_db(system, &worker).await, AT_ONCE, "the second of two");
    service.crash().tell().unwrap();
    system.expect_restarts(&service, 1).await;
    system.allow_failures();
    for _ in 2..9 {
        assert_eq!(after_db(system, &worker).await, AT_ONCE, "of nine");
    }
    assert_eq!(after_db(system, &worker).await, REFUSED);
}

/// Rule 7.12.
#[supervise::test]
async fn cfg_04_a_value_that_is_not_allowed_fails_the_start(system: &TestSystem) {
    let cases = [
        (
            Settings { window: Duration::ZERO, ..SETTINGS },
            "`within = self.settings.window` is 0 s, but a duration here must be longer than zero",
        ),
        (Settings { min: Duration::ZERO, ..SETTINGS }, "must be longer than zero"),
        (Settings { min: secs(9), ..SETTINGS }, "is from 9s to 8s, but its `min`"),
        (Settings { jitter: 1.5, ..SETTINGS }, "`jitter = self.settings.jitter` is 1.5, but"),
        (Settings { jitter: f64::NAN, ..SETTINGS }, "is NaN, but"),
    ];
    for (settings, said) in cases {
        let service = system.spawn("service", Service::factory(&Config::new(settings))).unwrap();
        let decision = system.expect_decision(&service).await;
        assert!(decision.failure.is_initialization());
        assert!(decision.failure.downcast_ref::<InvalidSettings>().is_some(), "{:?}", decision.failure);
        assert!(decision.failure.to_string().contains(said), "{}", decision.failure);
        // `/user` would try again.
        service.actor_ref().stop();
        system.ended(&service).await;
    }
}

/// Rules 7.12, 11.1.
#[supervise::test]
async fn cfg_05_settings_that_panic_fail_the_start(system: &TestSystem) {
    let config = Config::new(Settings { panics: true, ..SETTINGS });
    let service = system.spawn("service", Service::factory(&config)).unwrap();
    let decision = system.expect_decision(&service).await;
    assert!(
        decision.failure.is_initialization() && decision.failure.to_string().contains("as told"),
        "{:?}",
        decision.failure
    );
    service.actor_ref().stop();
    system.ended(&service).await;
}

#[supervise::supervise(on(_) = Restart(backoff(min = "1s", max = "1s")))]
struct Patient;

/// Rule 7.12.
#[test]
fn cfg_06_settings_that_became_invalid_fail_the_restart_until_they_are_mended() {
    testkit::run_with(ActorSystem::builder("town").supervised_by::<Patient>(), async |system| {
        let config = Config::new(SETTINGS);
        let (service, worker) = start(system, &config).await;
        config.get().window = Duration::ZERO;
        service.crash().tell().unwrap();
        system.advance(secs(5)).await;
        assert!(!service.actor_ref().has_ended());
        config.get().window = secs(60);
        system.advance(secs(2)).await;
        assert!(!worker.actor_ref().has_ended());
        system.allow_failures();
        assert_eq!(after_db(system, &worker).await, AT_ONCE);
    });
}

/// Rule 7.11.
#[supervise::test]
async fn cfg_07_a_rule_has_a_limit_beside_the_strategys(system: &TestSystem) {
    let config = Config::new(Settings { retries: 3, min: ms(1), max: ms(1), ..SETTINGS });
    let (_service, worker) = start(system, &config).await;
    assert_eq!(after_db(system, &worker).await, AT_ONCE);
    assert_eq!(after_file(system, &worker).await, after(ms(1)), "the other rule has no limit of its own");
    // The window of the rule has passed.
    system.advance(secs(11)).await;
    assert_eq!(after_db(system, &worker).await, AT_ONCE);
    assert_eq!(after_db(system, &worker).await, REFUSED, "by the rule, while the strategy would grant it");
    let limit = system
        .expect("a limit", |event| match event {
            Event::LimitReached { limit, .. } => Some(*limit),
            _ => None,
        })
        .await;
    assert_eq!((limit.max_retries, limit.within), (Some(1), Some(secs(10))));
}

/// Rule 7.11.
#[supervise::test]
async fn cfg_07_a_rule_with_a_looser_limit_does_not_loosen_the_strategys(system: &TestSystem) {
    let config = Config::new(Settings { retries: 1, of_db: 5, ..SETTINGS });
    let (_service, worker) = start(system, &config).await;
    assert_eq!(after_db(system, &worker).await, AT_ONCE);
    assert_eq!(after_db(system, &worker).await, REFUSED);
    let limit = system
        .expect("a limit", |event| match event {
            Event::LimitReached { limit, .. } => Some(*limit),
            _ => None,
        })
        .await;
    assert_eq!((limit.max_retries, limit.within), (Some(1), Some(secs(60))));
}

#[actor]
#[supervise(one_for_one(max_retries = OFTEN - 3, within = WINDOW), on(_) = Restart(max_retries = OFTEN))]
struct Constant;

const WINDOW: Duration = Duration::from_secs(10);

#[actor]
impl Constant {
    #[handler]
    fn worker(&self, ctx: &mut Context<Self>) -> Result<WorkerRef, SpawnError> {
        ctx.spawn("worker", || Worker)
    }
}

/// Rules 7.3, 7.12.
#[supervise::test]
async fn cfg_08_constants_are_values_of_a_table(system: &TestSystem) {
    let constant = system.spawn("constant", || Constant).unwrap();
    let worker = constant.worker().await.unwrap();
    for _ in 0..2 {
        assert_eq!(after_file(system, &worker).await, AT_ONCE);
    }
    system.advance(WINDOW + ms(1)).await;
    for _ in 0..2 {
        assert_eq!(after_file(system, &worker).await, AT_ONCE);
    }
    assert_eq!(after_db(system, &worker).await, REFUSED);
}

/// A map of the declared tree shows the values as the attribute writes them, because it knows only the type.
///
/// Rule 7.12.
#[test]
fn cfg_09_a_map_of_the_types_shows_where_values_come_from() {
    let map = Tree::declared::<Service>().to_string();
    for said in [
        "one_for_one(max_retries = self.settings.retries(), within = self.settings.window)",
        "Db → Restart(max_retries = self.settings.of_db, within = \"10s\")",
        "io::Error → Restart(backoff(min = self.settings.min, max = self.settings.max",
    ] {
        assert!(map.contains(said), "`{said}` is missing:\n{map}");
    }
    let map = Tree::declared::<Constant>().to_string();
    assert!(map.contains("one_for_one(max_retries = 2, within = 10s)"), "{map}");
    assert!(map.contains("Restart(max_retries = 5)"), "{map}");
}

/// An owner of keyed children, which its own table supervises.
#[actor]
#[supervise(one_for_one(max_retries = self.retries), on(_) = Restart(max_retries = self.of_rule))]
struct Owner {
    retries: u32,
    of_rule: u32,
    workers: Children<u8, Worker>,
}

#[actor]
impl Owner {
    #[pre_start]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        self.workers = Children::of(|_: &u8| Worker).spawn(ctx, "workers")?;
        Ok(())
    }

    #[handler]
    fn worker(&self, key: u8) -> Result<WorkerRef, SpawnError> {
        self.workers.get_or_spawn(key)
    }
}

/// Rules 7.12, 18.7.
#[supervise::test]
async fn cfg_10_keyed_children_are_supervised_with_their_owners_values(system: &TestSystem) {
    for (retries, of_rule) in [(1, 9), (9, 1)] {
        let make = move || Owner { retries, of_rule, workers: Children::default() };
        let owner = system.spawn(format!("owner-{retries}"), make).unwrap();
        let worker = owner.worker(1).await.unwrap();
        assert_eq!(after_db(system, &worker).await, AT_ONCE);
        assert_eq!(after_db(system, &worker).await, REFUSED);
    }
}
