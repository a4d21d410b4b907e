//! Dependencies that are down for a while, and how a service starts and ends.
//!
//! Rules 3.3, 5.3, 7.8, 9.2, 13.3, 13.4 and 18.7.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use supervise::pattern::{BackoffSupervisor, CircuitBreaker};
use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{AskError, Backoff, Event, HowEnded, Outcome};

const HOUR: Duration = Duration::from_secs(3600);

/// A database that can be down.
#[derive(Clone, Default)]
struct Database {
    is_up: Arc<AtomicBool>,
    attempts: Arc<AtomicU32>,
}

impl Database {
    fn set(&self, is_up: bool) {
        self.is_up.store(is_up, Ordering::Relaxed);
    }

    fn open(&self) -> io::Result<()> {
        self.attempts.fetch_add(1, Ordering::Relaxed);
        if self.is_up.load(Ordering::Relaxed) { Ok(()) } else { Err(io::ErrorKind::ConnectionRefused.into()) }
    }
}

#[actor]
struct Connection {
    database: Database,
}

#[actor]
impl Connection {
    #[pre_start]
    fn connect(&mut self) -> io::Result<()> {
        self.database.open()
    }

    #[handler]
    fn query(&self) -> io::Result<u32> {
        self.database.open().map(|()| 1)
    }
}

/// Has no table.
#[actor]
struct Service {
    database: Database,
    by_key: Children<u32, Connection>,
}

#[actor]
impl Service {
    #[pre_start]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let database = self.database.clone();
        self.by_key =
            Children::of(move |_: &u32| Connection { database: database.clone() }).spawn(ctx, "by-key")?;
        Ok(())
    }

    #[handler]
    fn connect(&mut self, ctx: &mut Context<Self>) -> Result<ConnectionRef, SpawnError> {
        let database = self.database.clone();
        ctx.spawn("connection", move || Connection { database: database.clone() })
    }

    /// One more level of actors without a table.
    #[handler]
    fn below(&mut self, ctx: &mut Context<Self>) -> Result<ServiceRef, SpawnError> {
        ctx.spawn("below", service(&self.database))
    }

    #[handler]
    fn by_key(&self) -> Children<u32, Connection> {
        self.by_key.clone()
    }
}

fn service(database: &Database) -> impl FnMut() -> Service + Send + 'static + use<> {
    let database = database.clone();
    move || Service { database: database.clone(), by_key: Children::default() }
}

/// Rules 3.3, 5.3.
#[supervise::test]
async fn a_child_that_cannot_start_is_tried_again_until_it_starts(system: &TestSystem) {
    system.allow_failures();
    let database = Database::default();
    let service = system.spawn("service", service(&database)).unwrap();
    let connection = service.below().await.unwrap().connect().await.unwrap();
    let waiting = connection.query().ask().unwrap();
    let delays: Vec<_> = {
        let mut delays = Vec::new();
        for _ in 0..9 {
            let Outcome::Restarting { delay, .. } = system.expect_decision(&connection).await.outcome else {
                panic!("it is stopped")
            };
            delays.push(delay.expect("it is delayed").as_millis());
            system.advance(Duration::from_secs(10)).await;
        }
        delays
    };
    assert_eq!(delays, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
    system.advance(HOUR).await;
    assert!(!connection.actor_ref().has_ended());
    assert!(database.attempts.load(Ordering::Relaxed) < 400, "the attempts are delayed");
    database.set(true);
    assert_eq!(waiting.await.unwrap(), 1, "its messages have waited");
}

/// Rules 3.3, 4.6.
#[supervise::test]
async fn a_child_that_has_run_and_cannot_restart_is_tried_again(system: &TestSystem) {
    system.allow_failures();
    let database = Database::default();
    database.set(true);
    let service = system.spawn("service", service(&database)).unwrap();
    let connection = service.connect().await.unwrap();
    assert_eq!(connection.query().await.unwrap(), 1);
    database.set(false);
    assert!(matches!(connection.query().await, Err(AskError::Failed(_))));
    system.advance(HOUR).await;
    assert!(!connection.actor_ref().has_ended());
    database.set(true);
    assert_eq!(connection.query().await.unwrap(), 1);
}

/// An actor that was killed or broke a death pact stays down, because somebody asked for that.
///
/// Rule 3.3.
#[supervise::test]
async fn what_is_killed_stays_down(system: &TestSystem) {
    let database = Database::default();
    database.set(true);
    let service = system.spawn("service", service(&database)).unwrap();
    let connection = service.connect().await.unwrap();
    connection.actor_ref().kill();
    assert_eq!(system.expect_decision(&connection).await.outcome, Outcome::Stopped { children: 1 });
    system.expect_terminated(&connection).await;
}

/// Rule 18.7.
#[supervise::test]
async fn a_keyed_child_that_cannot_start_leaves_its_key_free_for_the_next_attempt(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let database = Database::default();
    let service = system.spawn("service", service(&database)).unwrap();
    let by_key = service.by_key().await.unwrap();
    let first = by_key.get_or_spawn(7).unwrap();
    let error = first.query().await.unwrap_err();
    assert!(matches!(error, AskError::StoppedByFailure(_)), "its asker hears at once: {error}");
    system.settle().await;
    assert_eq!(by_key.len(), 0);
    database.set(true);
    let second = by_key.get_or_spawn(7).unwrap();
    assert_eq!(second.query().await.unwrap(), 1);
    // After the child has run once, it comes back like any other child.
    database.set(false);
    assert!(second.query().await.is_err());
    system.advance(HOUR).await;
    database.set(true);
    assert_eq!(second.query().await.unwrap(), 1);
    assert_eq!(by_key.get(&7), Some(second));
}

/// Rules 13.3, 13.4, 23.6.
#[supervise::test]
async fn patterns_keep_what_their_rules_say_about_failed_starts(system: &TestSystem) {
    system.allow_failures();
    let database = Database::default();
    let template = || {
        let database = database.clone();
        move || Connection { database: database.clone() }
    };
    let delays = || Backoff::exponential(Duration::from_secs(1), Duration::from_secs(60));
    let on_stop = BackoffSupervisor::on_stop("db", template(), delays());
    let on_stop = system.spawn_with("on-stop", on_stop.props()).unwrap();
    let on_failure = BackoffSupervisor::on_failure("db", template(), delays());
    let on_failure = system.spawn_with("on-failure", on_failure.props()).unwrap();
    let breaker =
        system.spawn_with("breaker", CircuitBreaker::around("db", template(), delays()).props()).unwrap();
    assert_eq!(system.ended(&on_failure).await, HowEnded::Graceful);
    system.advance(HOUR).await;
    assert!(!on_stop.actor_ref().has_ended() && !breaker.actor_ref().has_ended());
    let attempts = database.attempts.load(Ordering::Relaxed);
    assert!(attempts < 200, "each waits for its own delays: {attempts}");
    database.set(true);
    system.advance(Duration::from_secs(60)).await;
    assert_eq!(on_stop.query().await.unwrap(), 1);
    assert_eq!(breaker.query().await.unwrap(), 1);
    let limits = system.take_all(|event| matches!(event, Event::LimitReached { .. })).await;
    assert!(limits.is_empty(), "{limits:?}");
}

/// Opens its connection, and loses it three seconds later.
#[actor]
struct Flapping;

#[actor]
impl Flapping {
    #[pre_start]
    fn connect(&mut self, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.start_timer("lost", Duration::from_secs(3), me.lose());
    }

    #[handler]
    fn lose(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::ConnectionReset.into())
    }
}

#[actor]
#[supervise(on(io::Error) = Restart(backoff(min = "1s", max = "60s")), on(_) = Escalate)]
struct Net {
    #[child(|_| || Flapping)]
    line: Child<Flapping>,
}

#[actor]
impl Net {
    #[handler]
    fn line(&self) -> FlappingRef {
        self.line.actor()
    }

    /// Ends the system from within.
    #[handler]
    async fn end(&self, ctx: &mut Context<Self>) -> bool {
        ctx.system().terminate().await;
        true
    }
}

/// The actor runs for longer than the shortest delay, but that does not count as a quiet time.
///
/// Rule 7.8.
#[supervise::test]
async fn a_delay_grows_for_a_child_that_fails_some_time_after_each_start(system: &TestSystem) {
    let net = system.spawn("net", || Net { line: Child::default() }).unwrap();
    let line = net.line().await.unwrap();
    for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
        system.advance(Duration::from_secs(3)).await;
        let delay = Duration::from_secs(seconds);
        let outcome = system.expect_decision(&line).await.outcome;
        assert_eq!(outcome, Outcome::Restarting { children: 1, delay: Some(delay) });
        system.advance(delay).await;
    }
}

/// Rule 9.2.
#[supervise::test]
async fn a_handler_that_ends_its_system_is_not_aborted(system: &TestSystem) {
    let net = system.spawn("net", || Net { line: Child::default() }).unwrap();
    let begun = tokio::time::Instant::now();
    assert!(net.end().await.unwrap());
    assert!(system.when_terminated().await.is_ok());
    assert!(begun.elapsed() < Duration::from_secs(5), "it did not wait for the stop timeout");
}
