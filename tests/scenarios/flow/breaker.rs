//! The circuit breaker.
//!
//! Rules 23.6, 23.7.

use std::time::Duration;

use supervise::pattern::{CircuitBreaker, CircuitBreakerRef};
use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestProbe, TestSystem};
use supervise::{AskError, Backoff, CircuitOpen, DeadLetterReason};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
#[error("no connection")]
struct Down;

#[supervise(one_for_one, on(Down) = Restart, on(InitializationFailed) = Restart, on(_) = Stop)]
struct Retrying;

/// Fails with 0, waits with numbers above 1000.
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

    #[handler]
    fn end(&mut self, ctx: &mut Context<Self>) {
        ctx.stop_self();
    }
}

fn spawn(system: &TestSystem, failures: u32) -> (CircuitBreakerRef<Database>, TestProbe<u32>) {
    system.allow_failures();
    let seen = system.probe();
    let handle = seen.handle();
    let breaker = CircuitBreaker::around(
        "database",
        move || Database { seen: handle.clone() },
        Backoff::exponential(SECOND * 10, SECOND * 60),
    )
    .after_failures(failures)
    .supervised_by::<Retrying>();
    (system.spawn_with("breaker", breaker.props()).unwrap(), seen)
}

fn refused(answer: Result<u32, AskError>) -> Duration {
    match answer {
        Err(AskError::CircuitOpen(open)) => {
            let CircuitOpen { breaker, retry_after, .. } = *open;
            assert_eq!(breaker.to_string(), "supervise://test/user/breaker");
            retry_after
        }
        other => panic!("{other:?}"),
    }
}

#[supervise::test]
async fn while_the_child_waits_asks_are_refused_and_told_until_when(system: &TestSystem) {
    let (breaker, seen) = spawn(system, 1);
    assert_eq!(breaker.query(1).await.unwrap(), 1);
    assert_eq!(breaker.actor_ref().refuses_for().await.unwrap(), None);
    assert!(matches!(breaker.query(0).await, Err(AskError::Failed(_))));
    system.advance(SECOND * 4).await;
    assert_eq!(refused(breaker.query(2).await), SECOND * 6);
    assert_eq!(breaker.actor_ref().refuses_for().await.unwrap(), Some(SECOND * 6));
    // A message that is told is a dead letter.
    breaker.query(3).tell().unwrap();
    assert_eq!(system.expect_dead_letter(&*breaker).await.reason, DeadLetterReason::CircuitOpen);
    system.advance(SECOND * 6).await;
    assert_eq!(breaker.query(4).await.unwrap(), 4);
    assert_eq!(breaker.query(5).await.unwrap(), 5);
    assert_eq!(seen.all().await, [1, 0, 4, 5]);
}

#[supervise::test]
async fn after_the_delay_one_message_is_tried(system: &TestSystem) {
    let (breaker, seen) = spawn(system, 1);
    assert!(breaker.query(0).await.is_err());
    system.advance(SECOND * 10).await;
    // The message that the breaker tries takes a second, and no other is let through.
    let tried = breaker.query(1001).ask().unwrap();
    system.settle().await;
    assert_eq!(refused(breaker.query(1).await), Duration::ZERO);
    system.advance(SECOND).await;
    assert_eq!(tried.await.unwrap(), 1001);
    assert_eq!(breaker.query(2).await.unwrap(), 2);
    // A message that fails opens the breaker again, for longer.
    assert!(breaker.query(0).await.is_err());
    system.advance(SECOND * 20).await;
    assert!(matches!(breaker.query(0).await, Err(AskError::Failed(_))));
    assert_eq!(refused(breaker.query(3).await), SECOND * 40);
    assert_eq!(seen.all().await, [0, 1001, 2, 0, 0]);
}

#[supervise::test]
async fn several_failures_in_a_row_open_it(system: &TestSystem) {
    let (breaker, seen) = spawn(system, 3);
    for _ in 0..2 {
        assert!(matches!(breaker.query(0).await, Err(AskError::Failed(_))));
        assert_eq!(breaker.query(1).await.unwrap(), 1);
    }
    assert!(matches!(breaker.query(0).await, Err(AskError::Failed(_))));
    assert!(refused(breaker.query(1).await) > Duration::ZERO);
    assert_eq!(seen.all().await, [0, 1, 0, 1, 0]);
}

#[supervise::test]
async fn ten_thousand_askers_cost_the_child_one_failure(system: &TestSystem) {
    let (breaker, seen) = spawn(system, 1);
    let asked: Vec<_> = (0..10_000).map(|_| breaker.query(0).ask().unwrap()).collect();
    let (mut failed, mut refusals) = (0, 0);
    for answer in asked {
        match answer.await {
            Err(AskError::Failed(_)) => failed += 1,
            answer => {
                assert_eq!(refused(answer), SECOND * 10);
                refusals += 1;
            }
        }
    }
    assert_eq!((failed, refusals), (1, 9_999));
    assert_eq!(seen.all().await, [0]);
}

#[supervise::test]
async fn it_ends_with_its_child_and_its_child_with_it(system: &TestSystem) {
    let (breaker, _seen) = spawn(system, 1);
    breaker.end().await.unwrap();
    system.expect_terminated(&breaker).await;
    let other = system.spawn_with("other", {
        let seen = system.probe().handle();
        CircuitBreaker::around(
            "database",
            move || Database { seen: seen.clone() },
            Backoff::exponential(SECOND, SECOND),
        )
        .supervised_by::<Retrying>()
        .props()
    });
    let other = other.unwrap();
    let waits = other.query(1001).ask().unwrap();
    system.settle().await;
    system.stop(&other);
    // The child finishes its message.
    system.advance(SECOND).await;
    assert_eq!(waits.await.unwrap(), 1001);
    system.expect_terminated(&other).await;
}

#[actor]
#[supervise(on(_) = Restart)]
struct Shop {
    seen: ProbeHandle<u32>,
    #[child(|this| {
        let seen = this.seen.clone();
        let delays = Backoff::exponential(SECOND * 10, SECOND * 60);
        CircuitBreaker::around("database", move || Database { seen: seen.clone() }, delays)
            .supervised_by::<Retrying>()
            .props()
    })]
    database: Child<CircuitBreaker<Database>>,
}

#[actor]
impl Shop {
    #[handler]
    fn query(&self, number: u32, reply: ReplyTo<u32>) {
        self.database.actor().query(number).reply_to(reply);
    }
}

/// Rule 14.7.
#[supervise::test]
async fn a_breaker_may_be_a_declared_child(system: &TestSystem) {
    system.allow_failures();
    let seen = system.probe();
    let handle = seen.handle();
    let shop = system.spawn("shop", move || Shop { seen: handle.clone(), database: Child::default() }).unwrap();
    assert_eq!(shop.query(1).await.unwrap(), 1);
    assert!(matches!(shop.query(0).await, Err(AskError::Failed(_))));
    assert!(matches!(shop.query(2).await, Err(AskError::CircuitOpen(_))));
    system.advance(SECOND * 10).await;
    assert_eq!(shop.query(3).await.unwrap(), 3);
    assert_eq!(seen.all().await, [1, 0, 3]);
    assert!(system.find("/user/shop/database/database").is_some());
}
