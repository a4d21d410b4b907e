//! The circuit breaker beside escalations, failures at once, redelivery, and a crowd of askers.
//!
//! Rules 7.10, 23.6, 23.7.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use supervise::pattern::{CircuitBreaker, CircuitBreakerRef};
use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{AskError, Backoff};
use tokio::sync::Notify;
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
#[error("no connection")]
struct Down;

#[supervise(one_for_one, on(Down) = Restart, on(_) = Stop)]
struct Retrying;

#[supervise(one_for_one, on(_) = Escalate)]
struct Escalating;

#[supervise(one_for_one(max_retries = 1, on_limit = Escalate), on(_) = Restart)]
struct Twice;

/// Fails with 0, takes a second for numbers above 1000.
#[actor]
struct Database {
    seen: ProbeHandle<u32>,
}

#[actor]
impl Database {
    #[handler]
    async fn query(&mut self, number: u32) -> Result<u32, Down> {
        self.seen.note(number);
        if number > 1000 {
            tokio::time::sleep(SECOND).await;
        }
        if number == 0 { Err(Down) } else { Ok(number) }
    }
}

fn delays() -> Backoff {
    Backoff::exponential(SECOND * 10, SECOND * 60)
}

fn retry_after(answer: Result<u32, AskError>) -> Duration {
    match answer {
        Err(AskError::CircuitOpen(open)) => open.retry_after,
        other => panic!("{other:?}"),
    }
}

/// The handler of the breaker waits for the child, which waits for the breaker's restart.
#[supervise::test]
async fn an_escalation_restarts_the_breaker_at_once(system: &TestSystem) {
    system.allow_failures();
    let handle = system.probe().handle();
    let escalating = {
        let handle = handle.clone();
        CircuitBreaker::around("database", move || Database { seen: handle.clone() }, delays())
            .supervised_by::<Escalating>()
    };
    let breaker = system.spawn_with("escalating", escalating.props()).unwrap();
    assert_eq!(breaker.query(1).await.unwrap(), 1);
    let begun = Instant::now();
    assert!(matches!(breaker.query(0).await, Err(AskError::Failed(_))));
    assert_eq!(breaker.query(2).await.unwrap(), 2);
    assert_eq!(begun.elapsed(), Duration::ZERO);

    let limited = CircuitBreaker::around("database", move || Database { seen: handle.clone() }, delays())
        .after_failures(5)
        .supervised_by::<Twice>();
    let breaker = system.spawn_with("limited", limited.props()).unwrap();
    let begun = Instant::now();
    for _ in 0..4 {
        assert!(matches!(breaker.query(0).await, Err(AskError::Failed(_))));
        assert_eq!(breaker.query(2).await.unwrap(), 2);
    }
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[supervise(one_for_one(backoff(min = "1m", max = "1m")), on(_) = Restart)]
struct Delaying;

/// Rule 23.6: also if the table declares a delay, which is that of the open breaker then.
#[supervise::test]
async fn before_it_opens_the_child_restarts_at_once(system: &TestSystem) {
    system.allow_failures();
    let handle = system.probe().handle();
    let breaker = CircuitBreaker::around("database", move || Database { seen: handle.clone() }, delays())
        .after_failures(2)
        .supervised_by::<Delaying>();
    let breaker = system.spawn_with("breaker", breaker.props()).unwrap();
    let begun = Instant::now();
    assert!(matches!(breaker.query(0).await, Err(AskError::Failed(_))));
    assert_eq!(breaker.query(1).await.unwrap(), 1);
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert!(matches!(breaker.query(0).await, Err(AskError::Failed(_))));
    assert_eq!(retry_after(breaker.query(1).await), SECOND * 60);
}

/// Fails with its child.
#[actor]
#[supervise(one_for_one, on(Down) = Escalate, on(_) = Escalate)]
struct Front {
    seen: ProbeHandle<u32>,
    #[child(|this| { let seen = this.seen.clone(); move || Database { seen: seen.clone() } })]
    database: Child<Database>,
}

#[actor]
impl Front {
    /// The failure of the child is also this actor's own.
    #[handler]
    async fn query(&mut self, number: u32) -> Result<u32, AskError> {
        let answer = self.database.actor().query(number).await?;
        Ok(answer)
    }
}

#[supervise(one_for_one, on(_) = Restart)]
struct Always;

/// Rule 7.10: the earlier restart answers the second failure.
#[supervise::test]
async fn failures_at_once_count_once(system: &TestSystem) {
    system.allow_failures();
    let handle = system.probe().handle();
    let spawn = |name: &str, failures| -> CircuitBreakerRef<Front> {
        let handle = handle.clone();
        let front = move || Front { seen: handle.clone(), database: Child::default() };
        let breaker =
            CircuitBreaker::around("front", front, delays()).after_failures(failures).supervised_by::<Always>();
        system.spawn_with(name, breaker.props()).unwrap()
    };
    let breaker = spawn("first", 1);
    assert!(breaker.query(0).await.is_err());
    system.settle().await;
    assert_eq!(retry_after(breaker.query(1).await), SECOND * 10);
    system.advance(SECOND * 10).await;
    assert_eq!(breaker.query(1).await.unwrap(), 1);
    assert!(breaker.query(0).await.is_err());
    system.settle().await;
    assert_eq!(retry_after(breaker.query(1).await), SECOND * 20);

    let breaker = spawn("second", 2);
    assert!(breaker.query(0).await.is_err());
    assert_eq!(breaker.query(1).await.unwrap(), 1);
    assert!(breaker.query(0).await.is_err());
    system.settle().await;
    assert!(retry_after(breaker.query(1).await) > Duration::ZERO);
}

/// Fails once if it is told to. Other deliveries wait for the test, and block the thread.
#[actor]
struct Stubborn {
    failures: Arc<AtomicU32>,
    gates: Arc<[Gate; 3]>,
}

#[derive(Default)]
struct Gate {
    entered: Notify,
    opened: (Mutex<bool>, Condvar),
}

impl Gate {
    fn pass(&self) {
        self.entered.notify_one();
        let mut opened = self.opened.0.lock().unwrap();
        while !*opened {
            opened = self.opened.1.wait(opened).unwrap();
        }
    }

    fn open(&self) {
        *self.opened.0.lock().unwrap() = true;
        self.opened.1.notify_all();
    }
}

/// Lets the threads go, also if the test fails.
struct OpenAll(Arc<[Gate; 3]>);

impl Drop for OpenAll {
    fn drop(&mut self) {
        self.0.iter().for_each(Gate::open);
    }
}

#[actor]
impl Stubborn {
    #[handler(redeliver = 2)]
    fn query(&mut self, number: usize) -> Result<usize, Down> {
        if self.failures.swap(0, Ordering::Relaxed) > 0 {
            return Err(Down);
        }
        self.gates[number].pass();
        Ok(number)
    }
}

/// Rule 23.7: the breaker tries 2, so it does not close when the child has handled 1.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn an_earlier_message_that_was_handled_does_not_close_it() {
    let system = ActorSystem::new("stubborn");
    let (failures, gates) = (Arc::new(AtomicU32::new(1)), Arc::<[Gate; 3]>::default());
    let _opens = OpenAll(Arc::clone(&gates));
    let stubborn = {
        let (failures, gates) = (Arc::clone(&failures), Arc::clone(&gates));
        move || Stubborn { failures: Arc::clone(&failures), gates: Arc::clone(&gates) }
    };
    let milli = Duration::from_millis(1);
    let breaker =
        CircuitBreaker::around("child", stubborn, Backoff::exponential(milli, milli)).supervised_by::<Retrying>();
    let breaker = system.spawn_with("breaker", breaker.props()).unwrap();
    breaker.query(0).await.unwrap_err();
    gates[0].open();
    gates[0].entered.notified().await;
    // A message that the breaker tries: it fails, and its second delivery waits.
    failures.store(1, Ordering::Relaxed);
    while matches!(breaker.query(1).await, Err(AskError::CircuitOpen(_))) {
        tokio::task::yield_now().await;
    }
    gates[1].entered.notified().await;
    let asked = breaker.query(2).ask().unwrap();
    assert_eq!(breaker.actor_ref().refuses_for().await.unwrap(), Some(Duration::ZERO));
    gates[1].open();
    gates[2].entered.notified().await;
    assert_eq!(breaker.actor_ref().refuses_for().await.unwrap(), Some(Duration::ZERO), "2 is in progress");
    gates[2].open();
    assert_eq!(asked.await.unwrap(), 2);
    system.terminate().await;
}

/// Fails with every third message.
#[actor]
struct Flaky {
    handled: Arc<AtomicU32>,
    failed: Arc<AtomicU32>,
}

#[actor]
impl Flaky {
    #[handler]
    async fn query(&mut self) -> Result<(), Down> {
        tokio::task::yield_now().await;
        if self.handled.fetch_add(1, Ordering::Relaxed) % 3 == 2 {
            self.failed.fetch_add(1, Ordering::Relaxed);
            return Err(Down);
        }
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_of_askers_gets_an_answer_each() {
    let system = ActorSystem::new("crowd");
    let (handled, failed) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let flaky = {
        let (handled, failed) = (Arc::clone(&handled), Arc::clone(&failed));
        move || Flaky { handled: Arc::clone(&handled), failed: Arc::clone(&failed) }
    };
    let milli = Duration::from_millis(1);
    let breaker = CircuitBreaker::around("child", flaky, Backoff::exponential(milli, milli))
        .after_failures(2)
        .supervised_by::<Retrying>();
    let breaker = system.spawn_with("breaker", breaker.props()).unwrap();
    let askers = (0..2_000).map(|_| {
        let breaker = breaker.clone();
        tokio::spawn(async move {
            let mut answers = [0; 3];
            for _ in 0..5 {
                match breaker.query().await {
                    Ok(()) => answers[0] += 1,
                    Err(AskError::Failed(_)) => answers[1] += 1,
                    Err(AskError::CircuitOpen(_)) => answers[2] += 1,
                    other => panic!("{other:?}"),
                }
            }
            answers
        })
    });
    let mut all = [0; 3];
    for asker in askers.collect::<Vec<_>>() {
        for (sum, answers) in all.iter_mut().zip(asker.await.unwrap()) {
            *sum += answers;
        }
    }
    assert_eq!(all.iter().sum::<u32>(), 10_000);
    assert_eq!(all[1], failed.load(Ordering::Relaxed));
    assert_eq!(all[0] + all[1], handled.load(Ordering::Relaxed));
    system.terminate().await;
}

/// Depends on an actor that it starts when it is told to, and that cannot start.
#[actor]
#[supervise(one_for_one, on(_) = Escalate)]
struct Dependent;

#[actor]
impl Dependent {
    #[handler]
    fn depend(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        ctx.spawn("dependency", || Unstartable).map(drop)
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Down> {
        Err(Down)
    }

    #[handler]
    fn works(&self) -> bool {
        true
    }
}

#[actor]
struct Unstartable;

#[actor]
impl Unstartable {
    #[pre_start]
    fn refuse(&mut self) -> Result<(), Down> {
        Err(Down)
    }
}

/// Rule 7.8: the child ran for longer than any delay, so a start that fails below it counts as the first failure again.
#[supervise::test]
async fn a_failed_start_below_the_child_counts_anew_after_a_quiet_time(system: &TestSystem) {
    system.allow_failures();
    let breaker = CircuitBreaker::around("dependent", || Dependent, delays());
    let breaker = system.spawn_with("breaker", breaker.props()).unwrap();
    assert!(matches!(breaker.fail().await, Err(AskError::Failed(_))));
    system.advance(SECOND * 11).await;
    assert!(breaker.works().await.unwrap());
    system.advance(SECOND * 3600).await;
    breaker.depend().await.unwrap();
    system.settle().await;
    assert!(breaker.actor_ref().refuses_for().await.unwrap().is_some_and(|wait| wait <= SECOND * 10));
}
