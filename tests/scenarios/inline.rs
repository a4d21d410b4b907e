//! Handlers that an asker may run itself. Rule 1.8.

use std::future::IntoFuture;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as TaskContext, Poll, Waker};

use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{AskError, FailureKind, Request};

#[derive(Debug, thiserror::Error)]
#[error("no such thing")]
struct NoSuchThing;

#[actor]
#[derive(Default)]
struct Register {
    sum: u64,
}

#[actor]
impl Register {
    #[handler]
    fn add(&mut self, number: u64) {
        self.sum += number;
    }

    #[handler(inline)]
    fn sum(&self) -> u64 {
        self.sum
    }

    #[handler]
    fn sum_in_turn(&self) -> u64 {
        self.sum
    }

    #[handler(inline)]
    fn fail(&mut self) -> Result<(), NoSuchThing> {
        Err(NoSuchThing)
    }

    #[handler(inline)]
    fn panic(&mut self) {
        panic!("as told");
    }

    /// Where the runtime of the actor is needed.
    #[handler(inline)]
    fn spawn_task(&mut self) -> tokio::runtime::Id {
        tokio::spawn(async {});
        tokio::runtime::Handle::current().id()
    }
}

/// What an ask comes to in its first poll.
fn at_once<A: Actor, T: Send + 'static>(request: Request<'_, A, T>) -> Option<Result<T, AskError>> {
    match pin!(request.into_future()).poll(&mut TaskContext::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

#[supervise::test]
async fn an_idle_actor_answers_in_the_poll_that_asks(system: &TestSystem) {
    let register = system.spawn("register", Register::default).unwrap();
    system.settle().await;
    assert_eq!(at_once(register.sum()).unwrap().unwrap(), 0);
    assert!(at_once(register.sum_in_turn()).is_none(), "who does not say so takes a turn of its own");
}

#[supervise::test]
async fn an_inline_ask_comes_after_what_was_sent_before(system: &TestSystem) {
    let register = system.spawn("register", Register::default).unwrap();
    system.settle().await;
    register.add(1).tell().unwrap();
    register.add(2).tell().unwrap();
    assert!(at_once(register.sum()).is_none(), "the actor is not idle");
    assert_eq!(register.sum().await.unwrap(), 3);
}

#[supervise::test]
async fn an_inline_failure_is_told_to_the_asker_and_restarts_the_actor(system: &TestSystem) {
    system.allow_failures();
    let register = system.spawn("register", Register::default).unwrap();
    register.add(1).await.unwrap();
    let Some(Err(AskError::Failed(failure))) = at_once(register.fail()) else { panic!("the handler failed") };
    assert_eq!(failure.kind(), FailureKind::Error);
    system.settle().await;
    let Some(Err(AskError::Failed(failure))) = at_once(register.panic()) else { panic!("the handler panicked") };
    assert_eq!(failure.kind(), FailureKind::Panic);
    system.expect_restarts(&register, 2).await;
    assert_eq!(register.sum().await.unwrap(), 0);
}

#[supervise::test]
async fn whoever_asks_inline_again_and_again_lets_others_have_their_turn(system: &TestSystem) {
    let register = system.spawn("register", Register::default).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&over);
    let task = tokio::spawn(async move { other.store(true, Ordering::SeqCst) });
    while !over.load(Ordering::SeqCst) {
        register.sum().await.unwrap();
    }
    task.await.unwrap();
}

/// Asks the next one of a long line, inline, from within an inline handler.
#[actor]
struct Link {
    next: Option<LinkRef>,
    end: RegisterRef,
}

#[actor]
impl Link {
    #[handler(inline)]
    fn pass(&mut self) {
        match &self.next {
            Some(next) => drop(next.pass().ask().unwrap()),
            None => self.end.add(1).tell().unwrap(),
        }
    }
}

#[supervise::test]
async fn inline_asks_within_each_other_do_not_pile_up(system: &TestSystem) {
    let end = system.spawn("end", Register::default).unwrap();
    let mut next = None;
    for _ in 0..20_000 {
        let (after, end) = (next.take(), end.clone());
        next = Some(system.spawn_anonymous(move || Link { next: after.clone(), end: end.clone() }).unwrap());
    }
    system.settle().await;
    next.unwrap().pass().await.unwrap();
    system.settle().await;
    assert_eq!(end.sum().await.unwrap(), 1);
}

#[test]
fn an_inline_handler_runs_in_its_own_runtime_wherever_it_is_asked_from() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let system = runtime.block_on(async { ActorSystem::new("outside") });
    let register = system.spawn("register", Register::default).unwrap();
    // Answered, so it has started.
    let _zero = runtime.block_on(async { register.sum_in_turn().await }).unwrap();
    let id = loop {
        // On no runtime's thread; idle as soon as its last turn is over.
        if let Some(answer) = at_once(register.spawn_task()) {
            break answer.unwrap();
        }
        std::thread::yield_now();
    };
    assert_eq!(id, runtime.handle().id());
    runtime.block_on(system.terminate());
}
