//! Batches of messages and replies whose destructors panic.
//!
//! Rules 11.2, 23.2 and 23.3.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use supervise::prelude::*;
use supervise::testkit::{self, TestSystem};
use supervise::{AskError, EndReason};

/// Panics when it is dropped.
#[derive(Debug)]
struct Bomb(Arc<AtomicU32>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        assert!(std::thread::panicking(), "a bomb");
    }
}

/// Has a bomb too.
#[derive(Debug, thiserror::Error)]
#[error("the disk is full")]
struct DiskFull(Bomb);

#[actor]
struct Writer {
    blown: Arc<AtomicU32>,
}

#[actor]
impl Writer {
    /// Keeps the bombs from being dropped within the handler, unless it fails: then it fails with the first.
    #[handler(batch = 10)]
    fn write(&mut self, mut bombs: Vec<Bomb>) -> Result<(), DiskFull> {
        if bombs.len() == 3 {
            let first = bombs.remove(0);
            std::mem::forget(bombs);
            return Err(DiskFull(first));
        }
        std::mem::forget(bombs);
        Ok(())
    }

    /// Makes each asker a bomb.
    #[handler(batch = 10)]
    fn make(&mut self, orders: Vec<u32>) -> Vec<Bomb> {
        orders.into_iter().map(|_| Bomb(Arc::clone(&self.blown))).collect()
    }

    #[handler]
    async fn hang(&mut self) {
        std::future::pending::<()>().await;
    }

    #[handler]
    fn greet(&mut self) {}
}

fn spawn(system: &TestSystem) -> (WriterRef, Arc<AtomicU32>) {
    system.allow_failures();
    system.allow_dead_letters();
    let blown = Arc::new(AtomicU32::new(0));
    let handle = Arc::clone(&blown);
    (system.spawn("writer", move || Writer { blown: Arc::clone(&handle) }).unwrap(), blown)
}

#[supervise::test]
async fn messages_that_blow_up_cost_nobody_an_answer(system: &TestSystem) {
    let (writer, blown) = spawn(system);
    let bomb = || Bomb(Arc::clone(&blown));
    let asked = [(); 3].map(|()| writer.write(bomb()).ask().unwrap());
    for answer in asked {
        // The error is dropped with the last answer.
        let answer = answer.await;
        assert!(matches!(&answer, Err(AskError::Failed(_))), "{answer:?}");
        drop(answer);
    }
    system.expect_restarts(&writer, 1).await;
    writer.greet().await.unwrap();
    assert_eq!(testkit::suspensions(&writer), 0);
    // Those that wait at the end become dead letters, each contained.
    writer.hang().tell().unwrap();
    system.settle().await;
    let before = blown.load(Ordering::Relaxed);
    let asked = [(); 5].map(|()| writer.write(bomb()).ask().unwrap());
    writer.actor_ref().stop();
    for answer in asked {
        assert!(matches!(answer.await, Err(AskError::Stopped)));
    }
    system.expect_terminated(&writer).await;
    assert_eq!(blown.load(Ordering::Relaxed) - before, 5);
    assert!(matches!(writer.actor_ref().end_reason(), Some(EndReason::Stopped)));
}

#[supervise::test]
async fn replies_that_blow_up_are_contained(system: &TestSystem) {
    let (writer, blown) = spawn(system);
    drop([(); 3].map(|()| writer.make(1).ask().unwrap()));
    let kept = writer.make(2).ask().unwrap();
    std::mem::forget(kept.await.unwrap());
    system.settle().await;
    assert_eq!(blown.load(Ordering::Relaxed), 3);
    writer.greet().await.unwrap();
    assert_eq!(testkit::suspensions(&writer), 0);
}

#[supervise(one_for_one, on(_) = Stop)]
struct Stopping;

/// The failure of a `Terminated` is the last thing that holds the error.
#[actor]
#[supervise(table = Stopping)]
struct Mourner {
    ended: u32,
}

#[actor]
impl Mourner {
    #[handler]
    fn spawn(&mut self, blown: Arc<AtomicU32>, ctx: &mut Context<Self>) -> Result<WriterRef, SpawnError> {
        let writer = ctx.spawn_anonymous(move || Writer { blown: Arc::clone(&blown) })?;
        ctx.watch(&writer);
        Ok(writer)
    }

    #[watch]
    fn gone(&mut self, gone: Terminated) {
        assert!(matches!(gone.reason(), EndReason::Failed(_)));
        self.ended += 1;
    }

    #[handler]
    fn ended(&mut self) -> u32 {
        self.ended
    }
}

#[supervise::test]
async fn the_failure_of_an_end_may_blow_up(system: &TestSystem) {
    system.allow_failures();
    let blown = Arc::new(AtomicU32::new(0));
    let mourner = system.spawn("mourner", || Mourner { ended: 0 }).unwrap();
    for ends in 1..=3 {
        let writer = mourner.spawn(Arc::clone(&blown)).await.unwrap();
        for _ in 0..3 {
            writer.write(Bomb(Arc::clone(&blown))).tell().unwrap();
        }
        drop(writer);
        system.settle().await;
        assert_eq!(mourner.ended().await.unwrap(), ends);
    }
    // The test's own events hold the failures until here.
    drop(system.take_all(|_| true).await);
    assert_eq!(blown.load(Ordering::Relaxed), 3);
    assert_eq!(mourner.ended().await.unwrap(), 3);
}
