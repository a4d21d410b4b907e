//! `#[handler(redeliver = N)]`: a failed message is tried again after the restart, and then put aside for good.
//!
//! Rule 4.8.

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{AskError, DeadLetterReason, Event, Outcome};

#[derive(Debug, thiserror::Error)]
#[error("attempt {0} failed")]
struct Attempt(u32);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Tried(u32),
    Done(u32),
    /// What `pre_restart` was given.
    Failing(Option<WorkerMessage>),
}

/// Fails each `job` as often as its argument says. Attempts are counted by the factory's clock, for all lives.
#[actor]
struct Worker {
    life: u32,
    ready: bool,
    seen: ProbeHandle<Seen>,
}

#[actor(message(derive(Clone, PartialEq, Eq)))]
impl Worker {
    #[handler(redeliver = 2)]
    fn job(&mut self, failures: u32) -> Result<u32, Attempt> {
        self.seen.note(Seen::Tried(self.life));
        if self.life <= failures { Err(Attempt(self.life)) } else { Ok(self.life) }
    }

    #[handler(redeliver = 1)]
    fn picky(&mut self) -> Result<(), Attempt> {
        self.seen.note(Seen::Tried(self.life));
        if self.life == 1 { Err(Attempt(1)) } else { Ok(()) }
    }

    #[handler]
    fn fragile(&mut self) -> Result<(), Attempt> {
        Err(Attempt(self.life))
    }

    #[handler]
    fn done(&mut self, who: u32) {
        self.seen.note(Seen::Done(who));
    }

    #[handler]
    fn prepare(&mut self) {
        self.ready = true;
    }

    #[stash_while]
    fn not_ready(&self, message: &WorkerMessage) -> bool {
        !self.ready && matches!(message, WorkerMessage::Picky)
    }

    #[pre_restart]
    fn before(&mut self, message: Option<WorkerMessage>) {
        self.seen.note(Seen::Failing(message));
    }
}

fn worker(seen: ProbeHandle<Seen>) -> impl FnMut() -> Worker + Send + 'static {
    let mut life = 0;
    move || {
        life += 1;
        // Ready in its first life only, so that a retry may reach an actor that is not ready.
        Worker { life, ready: life == 1, seen: seen.clone() }
    }
}

#[supervise::test]
async fn a_failed_message_is_tried_again_before_the_rest(system: &TestSystem) {
    let seen = system.probe();
    let worker = system.spawn("worker", worker(seen.handle())).unwrap();
    worker.job(2).tell().unwrap();
    worker.done(9).tell().unwrap();
    let expected = [
        Seen::Tried(1),
        Seen::Failing(Some(WorkerMessage::Job { failures: 2 })),
        Seen::Tried(2),
        Seen::Failing(Some(WorkerMessage::Job { failures: 2 })),
        Seen::Tried(3),
        Seen::Done(9),
    ];
    assert_eq!(seen.all().await, expected);
    system.expect_restarts(&worker, 2).await;
}

#[supervise::test]
async fn the_asker_learns_of_the_first_failure_and_the_retry_answers_nobody(system: &TestSystem) {
    let seen = system.probe();
    let worker = system.spawn("worker", worker(seen.handle())).unwrap();
    let answer = worker.job(1).await;
    assert!(matches!(answer, Err(AskError::Failed(_))), "{answer:?}");
    assert_eq!(
        seen.all().await,
        [Seen::Tried(1), Seen::Failing(Some(WorkerMessage::Job { failures: 1 })), Seen::Tried(2)]
    );
    system.expect_restarts(&worker, 1).await;
}

#[supervise::test]
async fn a_message_that_fails_too_often_is_quarantined_with_its_history(system: &TestSystem) {
    let seen = system.probe();
    let worker = system.spawn("worker", worker(seen.handle())).unwrap();
    worker.job(u32::MAX).tell().unwrap();
    worker.done(9).tell().unwrap();
    assert_eq!(seen.fish_for(|seen| matches!(seen, Seen::Done(_)).then_some(seen)).await, Seen::Done(9));
    system.expect_restarts(&worker, 3).await;
    let letter = system.expect_dead_letter(&worker).await;
    assert_eq!((letter.message, letter.reason), ("Job", DeadLetterReason::Quarantined));
    let history: Vec<u32> =
        letter.failures.iter().filter_map(|failure| Some(failure.downcast_ref::<Attempt>()?.0)).collect();
    assert_eq!(history, [1, 2, 3]);
}

#[supervise::test]
async fn pre_restart_gets_the_failed_message_even_for_the_last_time(system: &TestSystem) {
    let seen = system.probe();
    let worker = system.spawn("worker", worker(seen.handle())).unwrap();
    worker.job(u32::MAX).tell().unwrap();
    let failing: Vec<Seen> =
        seen.all().await.into_iter().filter(|seen| matches!(seen, Seen::Failing(_))).collect();
    assert_eq!(failing, vec![Seen::Failing(Some(WorkerMessage::Job { failures: u32::MAX })); 3]);
    system.expect_restarts(&worker, 3).await;
    system.expect_dead_letter(&worker).await;
}

#[supervise::test]
async fn a_message_without_redelivery_is_dropped_and_not_shown_to_pre_restart(system: &TestSystem) {
    let seen = system.probe();
    let worker = system.spawn("worker", worker(seen.handle())).unwrap();
    worker.fragile().tell().unwrap();
    worker.done(9).tell().unwrap();
    assert_eq!(seen.all().await, [Seen::Failing(None), Seen::Done(9)]);
    system.expect_restarts(&worker, 1).await;
}

#[supervise::test]
async fn a_retry_waits_while_the_new_instance_would_set_it_aside(system: &TestSystem) {
    let seen = system.probe();
    let worker = system.spawn("worker", worker(seen.handle())).unwrap();
    worker.picky().tell().unwrap();
    worker.done(1).tell().unwrap();
    assert_eq!(seen.all().await, [Seen::Tried(1), Seen::Failing(Some(WorkerMessage::Picky)), Seen::Done(1)]);
    worker.prepare().tell().unwrap();
    worker.done(2).tell().unwrap();
    assert_eq!(seen.all().await, [Seen::Tried(2), Seen::Done(2)]);
    system.expect_restarts(&worker, 1).await;
}

/// Skips a message that fails.
#[actor]
#[supervise(on(Attempt) = Resume)]
struct Forgiving;

#[actor]
impl Forgiving {
    #[handler]
    fn open(&mut self, seen: ProbeHandle<Seen>, ctx: &mut Context<Self>) -> Result<WorkerRef, SpawnError> {
        ctx.spawn("worker", worker(seen))
    }
}

#[supervise::test]
async fn a_resumed_actor_does_not_see_its_failed_message_again(system: &TestSystem) {
    let seen = system.probe();
    let parent = system.spawn("parent", || Forgiving).unwrap();
    let worker = parent.open(seen.handle()).await.unwrap();
    worker.job(u32::MAX).tell().unwrap();
    worker.done(9).tell().unwrap();
    assert_eq!(seen.all().await, [Seen::Tried(1), Seen::Done(9)]);
    system.expect_decision(&worker).await;
}

/// Stops a child that fails.
#[actor]
#[supervise(on(Attempt) = Stop)]
struct Strict;

#[actor]
impl Strict {
    #[handler]
    fn open(&mut self, seen: ProbeHandle<Seen>, ctx: &mut Context<Self>) -> Result<WorkerRef, SpawnError> {
        ctx.spawn("worker", worker(seen))
    }
}

#[supervise::test]
async fn a_stopped_actor_puts_its_failed_message_into_quarantine(system: &TestSystem) {
    let seen = system.probe();
    let parent = system.spawn("parent", || Strict).unwrap();
    let worker = parent.open(seen.handle()).await.unwrap();
    worker.job(u32::MAX).tell().unwrap();
    system.expect_terminated(&worker).await;
    system.expect_decision(&worker).await;
    let letter = system.expect_dead_letter(&worker).await;
    assert_eq!((letter.reason, letter.failures.len()), (DeadLetterReason::Quarantined, 1));
}

/// Resumes a child that fails.
#[actor]
#[supervise(on(Attempt) = Resume)]
struct Lenient;

#[actor]
impl Lenient {
    #[handler]
    fn open(&mut self, seen: ProbeHandle<Seen>, ctx: &mut Context<Self>) -> Result<WorkerRef, SpawnError> {
        ctx.spawn("worker", worker(seen))
    }

    #[handler]
    fn close(&mut self, worker: WorkerRef, ctx: &mut Context<Self>) {
        ctx.stop(&worker);
    }
}

#[supervise::test]
async fn a_resume_drops_the_failed_message_also_of_an_actor_that_is_stopped_at_once(system: &TestSystem) {
    let seen = system.probe();
    let parent = system.spawn("parent", || Lenient).unwrap();
    let worker = parent.open(seen.handle()).await.unwrap();
    worker.job(u32::MAX).tell().unwrap();
    parent.close(worker.clone()).tell().unwrap();
    assert_eq!(system.expect_decision(&worker).await.outcome, Outcome::Resumed);
    system.expect_terminated(&worker).await;
    let letters = system.take_all(|event| matches!(event, Event::DeadLetter(_))).await;
    assert!(letters.is_empty(), "{letters:?}");
}

/// Rules 4.8, 10.1.
#[supervise::test]
async fn of_many_deliveries_the_first_and_the_last_failures_are_kept(system: &TestSystem) {
    #[actor]
    struct Stubborn {
        life: u32,
    }

    #[actor]
    impl Stubborn {
        #[handler(redeliver = 99)]
        fn job(&mut self) -> Result<(), Attempt> {
            Err(Attempt(self.life))
        }
    }

    system.allow_failures();
    let mut life = 0;
    let stubborn = system.spawn("stubborn", move || {
        life += 1;
        Stubborn { life }
    });
    let stubborn = stubborn.unwrap();
    stubborn.job().tell().unwrap();
    let letter = system.expect_dead_letter(&stubborn).await;
    assert_eq!((letter.reason, letter.deliveries), (DeadLetterReason::Quarantined, 100));
    let kept: Vec<_> =
        letter.failures.iter().map(|failure| failure.downcast_ref::<Attempt>().unwrap().0).collect();
    assert_eq!(kept, std::iter::once(1).chain(86..=100).collect::<Vec<_>>());
}
