//! Rule 19.5: an asker waits for the next delivery of its message.

use std::time::Duration;

use supervise::DeadLetterReason;
use supervise::prelude::*;
use supervise::testkit::TestSystem;

use super::Down;

/// Fails in its first lives.
#[actor]
struct Worker {
    life: u32,
    waiting: Vec<ReplyTo<u32>>,
}

#[actor]
impl Worker {
    /// Works in life `good`.
    #[handler(redeliver = 2)]
    fn work(&mut self, good: u32) -> Result<u32, Down> {
        if self.life < good { Err(Down) } else { Ok(self.life) }
    }

    #[handler(redeliver = 2)]
    async fn work_slowly(&mut self, good: u32) -> Result<u32, Down> {
        tokio::task::yield_now().await;
        if self.life < good { Err(Down) } else { Ok(self.life) }
    }

    /// Takes its slot.
    #[handler(redeliver = 2)]
    async fn work_later(&mut self, good: u32, reply: ReplyTo<u32>) -> Result<(), Down> {
        tokio::task::yield_now().await;
        if self.life < good {
            return Err(Down);
        }
        self.waiting.push(reply);
        Ok(())
    }

    #[handler(redeliver = 1)]
    fn panic(&mut self, good: u32) -> u32 {
        assert!(self.life >= good, "told to");
        self.life
    }

    #[handler]
    fn fragile(&mut self) -> Result<(), Down> {
        Err(Down)
    }

    #[handler(redeliver = 2)]
    async fn hang(&mut self) -> u32 {
        if self.life == 1 {
            std::future::pending::<()>().await;
        }
        self.life
    }

    #[handler]
    fn answer(&mut self) {
        for reply in self.waiting.drain(..) {
            reply.answer(self.life);
        }
    }
}

fn worker() -> impl FnMut() -> Worker + Send + 'static {
    let mut life = 0;
    move || {
        life += 1;
        Worker { life, waiting: Vec::new() }
    }
}

fn is_down(answer: &Result<u32, AskError>) -> bool {
    matches!(answer, Err(AskError::Failed(failure)) if failure.downcast_ref::<Down>().is_some())
}

/// Rules 4.8 and 19.5.
#[supervise::test]
async fn a_patient_asker_gets_the_answer_of_the_delivery_that_succeeds(system: &TestSystem) {
    let worker = system.spawn("worker", worker()).unwrap();
    assert_eq!(worker.work(2).retried().await.unwrap(), 2);
    assert_eq!(worker.work_slowly(4).retried().await.unwrap(), 4);
    assert_eq!(worker.panic(5).retried().ask().unwrap().await.unwrap(), 5);
    system.expect_restarts(&worker, 4).await;
    // Without `retried`, the asker gets the first failure.
    assert!(is_down(&worker.work(6).await));
    system.expect_restarts(&worker, 1).await;
    // A message that is told has no asker.
    worker.work(7).retried().tell().unwrap();
    system.expect_restarts(&worker, 1).await;
}

/// Hands its slot on to a worker.
#[actor]
struct Desk {
    worker: WorkerRef,
}

#[actor]
impl Desk {
    #[handler]
    fn hand_on(&mut self, good: u32, reply: ReplyTo<u32>) {
        self.worker.work(good).retried().reply_to(reply);
    }

    #[handler]
    async fn hand_on_with_room(&mut self, good: u32, reply: ReplyTo<u32>) {
        self.worker.work(good).retried().send_reply_to(reply).await;
    }

    #[handler]
    fn hand_on_once(&mut self, good: u32, reply: ReplyTo<u32>) {
        self.worker.work(good).reply_to(reply);
    }
}

/// Rules 19.2 and 19.5.
#[supervise::test]
async fn an_asker_whose_slot_is_handed_on_waits_if_the_sender_or_the_asker_says_so(system: &TestSystem) {
    let worker = system.spawn("worker", worker()).unwrap();
    let desk = {
        let worker = worker.clone();
        system.spawn("desk", move || Desk { worker: worker.clone() }).unwrap()
    };
    assert_eq!(desk.hand_on(2).await.unwrap(), 2);
    assert_eq!(desk.hand_on_with_room(3).await.unwrap(), 3);
    assert_eq!(desk.hand_on_once(4).retried().await.unwrap(), 4);
    assert!(is_down(&desk.hand_on_once(5).await));
    system.expect_restarts(&worker, 4).await;
}

/// Rule 19.5.
#[supervise::test]
async fn a_patient_asker_learns_the_last_failure(system: &TestSystem) {
    let worker = system.spawn("worker", worker()).unwrap();
    assert!(is_down(&worker.work(9).retried().await));
    system.expect_restarts(&worker, 3).await;
    assert_eq!(system.expect_dead_letter(&worker).await.reason, DeadLetterReason::Quarantined);
    // A message that is not delivered again.
    let told = worker.fragile().retried().await;
    assert!(matches!(told, Err(AskError::Failed(_))), "{told:?}");
    system.expect_restarts(&worker, 1).await;
}

/// Rule 19.5.
#[supervise::test]
async fn a_patient_asker_may_be_answered_later(system: &TestSystem) {
    let worker = system.spawn("worker", worker()).unwrap();
    let asked = worker.work_later(2).retried().ask().unwrap();
    let asking = tokio::spawn(asked);
    system.expect_restarts(&worker, 1).await;
    system.settle().await;
    assert!(!asking.is_finished(), "it has not been answered yet");
    worker.answer().await.unwrap();
    assert_eq!(asking.await.unwrap().unwrap(), 2);
    // As with any asker, it gets the failure of the instance that holds the slot.
    let asked = worker.work_later(2).retried().ask().unwrap();
    assert!(worker.fragile().await.is_err());
    assert!(is_down(&asked.await));
    system.expect_restarts(&worker, 1).await;
}

/// Rule 19.5.
#[supervise::test]
async fn a_patient_asker_outlives_an_aborted_delivery(system: &TestSystem) {
    let parent = system.spawn("pair", || Pair).unwrap();
    let (worker, other) = parent.both().await.unwrap();
    let asked = worker.hang().retried().ask().unwrap();
    let impatient = worker.work(0).ask().unwrap();
    system.settle().await;
    assert!(other.fragile().await.is_err());
    system.advance(Duration::from_secs(5)).await;
    assert_eq!(asked.await.unwrap(), 2);
    assert_eq!(impatient.await.unwrap(), 2);
    system.allow_failures();
}

/// Restarts both for one.
#[actor]
#[supervise(all_for_one, on(Down) = Restart, on(_) = Stop)]
struct Pair;

#[actor]
impl Pair {
    #[handler]
    fn both(&mut self, ctx: &mut Context<Self>) -> Result<(WorkerRef, WorkerRef), SpawnError> {
        Ok((ctx.spawn("worker", worker())?, ctx.spawn("other", worker())?))
    }
}

/// Rule 19.5.
#[supervise::test]
async fn a_patient_asker_is_told_when_there_is_no_next_delivery(system: &TestSystem) {
    let resumed = system.spawn("resuming", || Resuming).unwrap().worker().await.unwrap();
    assert!(is_down(&resumed.work(2).retried().await));
    let stopped = system.spawn("stopping", || Stopping).unwrap().worker().await.unwrap();
    assert!(is_down(&stopped.work(2).retried().await));
    system.allow_failures();
    system.allow_dead_letters();
}

#[actor]
#[supervise(on(Down) = Resume, on(_) = Stop)]
struct Resuming;

#[actor]
impl Resuming {
    #[handler]
    fn worker(&mut self, ctx: &mut Context<Self>) -> Result<WorkerRef, SpawnError> {
        ctx.spawn("worker", worker())
    }
}

#[actor]
#[supervise(on(_) = Stop)]
struct Stopping;

#[actor]
impl Stopping {
    #[handler]
    fn worker(&mut self, ctx: &mut Context<Self>) -> Result<WorkerRef, SpawnError> {
        ctx.spawn("worker", worker())
    }
}
