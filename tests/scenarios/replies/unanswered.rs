//! Rules 19.3 and 19.4: a slot is dropped.

use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::TestSystem;

use super::{Down, Orders, OrdersRef};

fn is_down(answer: &Result<u32, AskError>) -> bool {
    matches!(answer, Err(AskError::Failed(failure)) if failure.downcast_ref::<Down>().is_some())
}

async fn with_three_waiting(system: &TestSystem) -> (OrdersRef, Vec<supervise::Answer<u32>>) {
    let orders = system.spawn("orders", Orders::default).unwrap();
    let asked = (0..3).map(|order| orders.place(order).ask().unwrap()).collect();
    assert_eq!(orders.waiting().await.unwrap(), 3);
    (orders, asked)
}

/// Rule 19.3.
#[supervise::test]
async fn the_asker_of_a_dropped_slot_learns_that_nobody_answers(system: &TestSystem) {
    let orders = system.spawn("orders", Orders::default).unwrap();
    let told = orders.forget().await;
    assert!(matches!(told, Err(AskError::Unanswered)), "{told:?}");
    // Before the handler has returned.
    let told = orders.forget_soon().await;
    assert!(matches!(told, Err(AskError::Unanswered)), "{told:?}");
}

/// Rule 19.3.
#[supervise::test]
async fn the_asker_of_a_handler_that_fails_learns_of_the_failure(system: &TestSystem) {
    let orders = system.spawn("orders", Orders::default).unwrap();
    let told = orders.try_to().await;
    assert!(is_down(&told), "{told:?}");
    assert_eq!(orders.try_now(false).await.unwrap(), 1);
    // In an inline turn.
    let told = orders.try_now(true).await;
    assert!(is_down(&told), "{told:?}");
    // In a worker's turn.
    let told = orders.try_now(true).ask().unwrap().await;
    assert!(is_down(&told), "{told:?}");
    system.expect_restarts(&orders, 3).await;
}

/// Rule 19.3.
#[supervise::test]
async fn the_askers_of_a_batch_learn_of_its_failure(system: &TestSystem) {
    for wait in [true, false] {
        let (orders, asked) = with_three_waiting(system).await;
        if wait {
            assert!(orders.flush(true).await.is_err());
        } else {
            assert!(orders.flush_now(true).await.is_err());
        }
        for ask in asked {
            let told = ask.await;
            assert!(is_down(&told), "{told:?}");
        }
        system.expect_restarts(&orders, 1).await;
        // A handler that only drops them has not failed.
        let asked = orders.place(1).ask().unwrap();
        assert_eq!(orders.flush_now(false).await.unwrap(), 1);
        assert!(matches!(asked.await, Err(AskError::Unanswered)));
        orders.actor_ref().stop();
        system.ended(&orders).await;
    }
}

/// Rule 19.4.
#[supervise::test]
async fn a_failing_actor_answers_the_slots_in_its_state_with_the_cause(system: &TestSystem) {
    let (orders, asked) = with_three_waiting(system).await;
    assert!(orders.fail().await.is_err());
    for ask in asked {
        let told = ask.await;
        assert!(is_down(&told), "{told:?}");
    }
    system.expect_restarts(&orders, 1).await;
    let asked = orders.place(1).ask().unwrap();
    assert!(orders.panic().await.is_err());
    let told = asked.await;
    assert!(
        matches!(&told, Err(AskError::Failed(failure)) if failure.to_string().contains("told to")),
        "{told:?}"
    );
    system.expect_restarts(&orders, 1).await;
    // Nothing of the earlier failures is left.
    let asked = orders.place(1).ask().unwrap();
    orders.actor_ref().poison();
    let told = asked.await;
    assert!(matches!(told, Err(AskError::Stopped)), "{told:?}");
}

/// Rules 11.2 and 19.4.
#[supervise::test]
async fn a_destructor_that_panics_hides_no_asker(system: &TestSystem) {
    let (orders, asked) = with_three_waiting(system).await;
    orders.arm().await.unwrap();
    assert!(orders.fail().await.is_err());
    for ask in asked {
        let told = ask.await;
        assert!(is_down(&told), "{told:?}");
    }
    system.expect_restarts(&orders, 1).await;
}

/// Rule 19.4.
#[supervise::test]
async fn a_stop_that_was_decided_gives_its_cause_and_any_other_none(system: &TestSystem) {
    let parent = system.spawn("stopping", || Stopping { orders: None }).unwrap();
    let orders = parent.orders().await.unwrap();
    let asked = orders.place(1).ask().unwrap();
    assert!(orders.fail().await.is_err());
    let told = asked.await;
    assert!(is_down(&told), "{told:?}");
    system.ended(&orders).await;
    system.allow_failures();
}

/// Stops a child that fails.
#[actor]
#[supervise(one_for_one, on(Down) = Stop)]
struct Stopping {
    orders: Option<OrdersRef>,
}

#[actor]
impl Stopping {
    #[handler]
    fn orders(&mut self, ctx: &mut Context<Self>) -> Result<OrdersRef, SpawnError> {
        let orders = ctx.spawn("orders", Orders::default)?;
        Ok(self.orders.insert(orders).clone())
    }
}

/// Rule 19.4.
#[supervise::test]
async fn a_resume_keeps_the_slots(system: &TestSystem) {
    let parent = system.spawn("resuming", || Resuming).unwrap();
    let orders = parent.orders().await.unwrap();
    let asked = orders.place(1).ask().unwrap();
    assert!(orders.fail().await.is_err());
    orders.flush(false).await.unwrap();
    assert_eq!(asked.await.unwrap(), 2);
    // The failure is over.
    let asked = orders.place(1).ask().unwrap();
    assert!(orders.fail().await.is_err());
    assert_eq!(orders.waiting().await.unwrap(), 1);
    orders.actor_ref().stop();
    assert!(matches!(asked.await, Err(AskError::Stopped)));
    system.allow_failures();
}

/// Resumes a child that fails.
#[actor]
#[supervise(one_for_one, on(Down) = Resume)]
struct Resuming;

#[actor]
impl Resuming {
    #[handler]
    fn orders(&mut self, ctx: &mut Context<Self>) -> Result<OrdersRef, SpawnError> {
        ctx.spawn("orders", Orders::default)
    }
}

/// Rule 19.4.
#[supervise::test]
async fn a_handler_that_is_aborted_frees_the_askers(system: &TestSystem) {
    let orders = system.spawn("orders", Orders::default).unwrap();
    let asked = orders.place(1).ask().unwrap();
    let hangs = orders.hang().ask().unwrap();
    system.settle().await;
    orders.actor_ref().stop();
    system.advance(Duration::from_secs(5)).await;
    assert!(matches!(hangs.await, Err(AskError::Stopped)));
    assert!(matches!(asked.await, Err(AskError::Stopped)));
}

/// Rule 19.4.
#[supervise::test]
async fn a_million_held_slots_are_told(system: &TestSystem) {
    let orders = system.spawn("orders", Orders::default).unwrap();
    let many = if cfg!(debug_assertions) { 50_000 } else { 1_000_000 };
    let asked: Vec<_> = (0..many).map(|order| orders.place_now(order).ask().unwrap()).collect();
    assert_eq!(orders.waiting().await.unwrap(), many as usize);
    assert!(orders.fail().await.is_err());
    for ask in asked {
        assert!(is_down(&ask.await));
    }
    system.allow_failures();
}

/// A runtime that goes away drops the slots too.
#[test]
fn a_runtime_that_goes_away_frees_the_askers() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (asked, hangs) = runtime.block_on(async {
        let system = ActorSystem::new("short");
        let orders = system.spawn("orders", Orders::default).unwrap();
        let asked = orders.place(1).ask().unwrap();
        assert_eq!(orders.waiting().await.unwrap(), 1);
        let hangs = orders.hang().ask().unwrap();
        tokio::task::yield_now().await;
        (asked, hangs)
    });
    drop(runtime);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        assert!(matches!(asked.await, Err(AskError::Stopped)));
        assert!(matches!(hangs.await, Err(AskError::Stopped)));
    });
}
