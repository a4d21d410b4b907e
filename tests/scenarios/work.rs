//! Futures, streams and blocking closures that an actor has running.
//!
//! Rules 17.1 to 17.6. `work/tasks.rs` tests tasks as children. `work/hostile.rs` tests work that misbehaves.

mod hostile;
mod streams;
mod tasks;

use std::future::pending;
use std::sync::mpsc as blocking;
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestProbe, TestSystem};
use supervise::{Directive, FailureKind, WorkId};
use tokio::sync::{mpsc, oneshot};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("broken")]
pub(super) struct Broken;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    Built(u32),
    /// The message of a piece of work: which instance handled it, and the outcome.
    Got(u32, u32),
    /// A stream's end.
    End(u32),
    PreRestart(u32),
    PostStop(u32),
    /// A value that a piece of work owns.
    Dropped(u32),
}

/// Does what a test tells it.
#[actor]
pub(super) struct Rig {
    life: u32,
    seen: ProbeHandle<Seen>,
    begin: Option<Begin>,
}

pub(super) type Step = Box<dyn FnOnce(&mut Context<Rig>) + Send>;
type Starts = Box<dyn FnOnce(&mut Context<Rig>) -> WorkId + Send>;
type Begin = fn(u32, &mut Context<Rig>) -> Result<(), Broken>;
type QuietStep = Box<dyn FnOnce(&mut Context<Quiet>) + Send>;

#[actor]
impl Rig {
    fn factory(seen: ProbeHandle<Seen>, begin: Option<Begin>) -> impl FnMut() -> Self + Send + 'static {
        let mut life = 0;
        move || {
            life += 1;
            seen.note(Seen::Built(life));
            Self { life, seen: seen.clone(), begin }
        }
    }

    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), Broken> {
        self.begin.map_or(Ok(()), |begin| begin(self.life, ctx))
    }

    #[pre_restart]
    fn leave(&mut self) {
        self.seen.note(Seen::PreRestart(self.life));
    }

    #[post_stop]
    fn end(&mut self) {
        self.seen.note(Seen::PostStop(self.life));
    }

    #[handler]
    pub(super) fn with(&mut self, step: Step, ctx: &mut Context<Self>) {
        step(ctx);
    }

    #[handler]
    pub(super) fn start(&mut self, step: Starts, ctx: &mut Context<Self>) -> WorkId {
        step(ctx)
    }

    #[handler]
    pub(super) fn got(&mut self, number: u32) {
        self.seen.note(Seen::Got(self.life, number));
    }

    #[handler]
    pub(super) fn over(&mut self) {
        self.seen.note(Seen::End(self.life));
    }

    #[handler]
    pub(super) async fn busy(&mut self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    #[handler]
    pub(super) async fn busy_then_fail(&mut self, time: Duration) -> Result<(), Broken> {
        tokio::time::sleep(time).await;
        Err(Broken)
    }

    #[handler]
    pub(super) fn cancel(&mut self, work: WorkId, ctx: &mut Context<Self>) {
        ctx.cancel_work(work);
    }

    #[handler]
    pub(super) fn running(&self, ctx: &mut Context<Self>) -> usize {
        ctx.running_work()
    }
}

/// Resumes its rig.
#[actor]
#[supervise(on(Broken) = Resume, on(Panic) = Resume, on(_) = Stop)]
struct Forgiving;

#[actor]
impl Forgiving {
    #[handler]
    fn open(&mut self, seen: ProbeHandle<Seen>, ctx: &mut Context<Self>) -> Result<RigRef, SpawnError> {
        ctx.spawn("rig", Rig::factory(seen, None))
    }
}

/// A rig that has been built, and what it reports.
pub(super) async fn rig(system: &TestSystem) -> (RigRef, TestProbe<Seen>) {
    let seen = system.probe();
    let rig = system.spawn("rig", Rig::factory(seen.handle(), None)).unwrap();
    seen.expect(Seen::Built(1)).await;
    (rig, seen)
}

/// The same under a parent that resumes it.
pub(super) async fn forgiven(system: &TestSystem) -> (RigRef, TestProbe<Seen>) {
    let seen = system.probe();
    let rig = system.spawn("forgiving", || Forgiving).unwrap().open(seen.handle()).await.unwrap();
    seen.expect(Seen::Built(1)).await;
    (rig, seen)
}

/// Tells when it is dropped.
pub(super) struct Owned(pub(super) u32, pub(super) ProbeHandle<Seen>);

impl Drop for Owned {
    fn drop(&mut self) {
        self.1.note(Seen::Dropped(self.0));
    }
}

pub(super) async fn later(after: Duration, number: u32) -> u32 {
    tokio::time::sleep(after).await;
    number
}

async fn later_broken(after: Duration) -> Result<u32, Broken> {
    tokio::time::sleep(after).await;
    Err(Broken)
}

/// Rule 17.2.
#[supervise::test]
async fn the_output_of_a_future_is_a_message(system: &TestSystem) {
    let (rig, seen) = rig(system).await;
    rig.with(Box::new(|ctx| {
        ctx.pipe(later(2 * SECOND, 2), RigRef::got);
        ctx.pipe(later(SECOND, 1), |me, number| me.got(number + 10));
        ctx.try_pipe(async { Ok::<_, Broken>(3) }, RigRef::got);
    }))
    .await
    .unwrap();
    system.settle().await;
    assert_eq!(seen.all().await, [Seen::Got(1, 3)]);
    assert_eq!(rig.running().await.unwrap(), 2);
    system.advance(2 * SECOND).await;
    assert_eq!(seen.all().await, [Seen::Got(1, 11), Seen::Got(1, 2)]);
    assert_eq!(rig.running().await.unwrap(), 0);
}

/// Rule 17.2: in its place among the messages, and while a handler waits after it.
#[supervise::test]
async fn an_output_waits_for_its_turn(system: &TestSystem) {
    let (rig, seen) = rig(system).await;
    rig.with(Box::new(|ctx| _ = ctx.pipe(later(SECOND, 2), RigRef::got))).await.unwrap();
    rig.busy(5 * SECOND).tell().unwrap();
    rig.got(1).tell().unwrap();
    system.advance(2 * SECOND).await;
    rig.got(3).tell().unwrap();
    assert_eq!(seen.all().await, []);
    system.advance(3 * SECOND).await;
    assert_eq!(seen.all().await, [1, 2, 3].map(|number| Seen::Got(1, number)));
}

/// Rule 17.2.
#[supervise::test]
async fn an_output_takes_no_room_in_a_bounded_mailbox(system: &TestSystem) {
    let seen = system.probe();
    let mailbox = supervise::MailboxKind::Bounded { capacity: 1, overflow: supervise::Overflow::Fail };
    let props = supervise::Props::new(Rig::factory(seen.handle(), None)).mailbox(mailbox);
    let rig = system.spawn_with("rig", props).unwrap();
    rig.with(Box::new(|ctx| {
        for number in 0..10 {
            ctx.pipe(later(SECOND, number), RigRef::got);
        }
    }))
    .await
    .unwrap();
    rig.busy(2 * SECOND).tell().unwrap();
    system.settle().await;
    rig.over().tell().unwrap();
    assert!(rig.over().tell().is_err(), "the mailbox is full");
    system.advance(3 * SECOND).await;
    let all = seen.all().await;
    assert_eq!(all.len(), 12, "{all:?}");
    assert_eq!(all[1], Seen::End(1));
}

/// Rules 4.2, 17.1 and 17.5.
#[supervise::test]
async fn a_restart_cancels_before_the_old_instance_is_told_and_the_new_one_is_made(system: &TestSystem) {
    let (rig, seen) = rig(system).await;
    let owned = Owned(7, seen.handle());
    rig.with(Box::new(move |ctx| {
        ctx.pipe(
            async move {
                let _owned = owned;
                tokio::time::sleep(SECOND).await;
                1
            },
            RigRef::got,
        );
        // It returns before the actor has failed.
        ctx.pipe(async { 2 }, RigRef::got);
    }))
    .tell()
    .unwrap();
    rig.busy_then_fail(Duration::ZERO).tell().unwrap();
    system.expect_restarts(&rig, 1).await;
    assert_eq!(seen.all().await, [Seen::Dropped(7), Seen::PreRestart(1), Seen::Built(2)]);
    assert_eq!(rig.running().await.unwrap(), 0);
    system.advance(10 * SECOND).await;
    assert_eq!(seen.all().await, []);
}

/// Rule 17.1: what is on its way when the actor fails is not delivered either.
#[supervise::test]
async fn what_is_on_its_way_does_not_reach_the_next_instance(system: &TestSystem) {
    let (rig, seen) = rig(system).await;
    let (result, closure) = blocking::channel();
    rig.with(Box::new(|ctx| {
        ctx.pipe(later(SECOND, 1), RigRef::got);
        ctx.try_pipe(later_broken(SECOND), RigRef::got);
        ctx.blocking(move || closure.recv().unwrap(), RigRef::got);
    }))
    .await
    .unwrap();
    rig.busy_then_fail(3 * SECOND).tell().unwrap();
    result.send(2).unwrap();
    system.advance(2 * SECOND).await;
    rig.got(4).tell().unwrap();
    system.advance(SECOND).await;
    system.expect_restarts(&rig, 1).await;
    assert_eq!(seen.all().await, [Seen::PreRestart(1), Seen::Built(2), Seen::Got(2, 4)]);
}

/// Rule 17.1.
#[supervise::test]
async fn a_start_that_fails_cancels_what_it_began(system: &TestSystem) {
    fn begin(life: u32, ctx: &mut Context<Rig>) -> Result<(), Broken> {
        ctx.pipe(later(SECOND, life), RigRef::got);
        if life < 3 { Err(Broken) } else { Ok(()) }
    }
    #[actor]
    #[supervise(on(Broken) = Restart)]
    struct Stubborn(ProbeHandle<Seen>);
    #[actor]
    impl Stubborn {
        #[pre_start]
        fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
            ctx.spawn("rig", Rig::factory(self.0.clone(), Some(begin))).map(drop)
        }
    }
    let seen = system.probe();
    let handle = seen.handle();
    system.allow_failures();
    let _stubborn = system.spawn("stubborn", move || Stubborn(handle.clone())).unwrap();
    system.advance(10 * SECOND).await;
    assert_eq!(seen.all().await, [Seen::Built(1), Seen::Built(2), Seen::Built(3), Seen::Got(3, 3)]);
}

/// Rules 17.1 and 17.5.
#[supervise::test]
async fn the_end_of_an_actor_cancels_before_post_stop(system: &TestSystem) {
    let (rig, seen) = rig(system).await;
    let owned = Owned(7, seen.handle());
    rig.with(Box::new(move |ctx| {
        ctx.pipe(later(SECOND, 1), RigRef::got);
        ctx.pipe(
            async move {
                let _owned = owned;
                pending::<u32>().await
            },
            RigRef::got,
        );
        // On its way, and no dead letter.
        ctx.pipe(async { 2 }, RigRef::got);
        ctx.stop_self();
    }))
    .tell()
    .unwrap();
    system.expect_terminated(&rig).await;
    assert_eq!(seen.all().await, [Seen::Dropped(7), Seen::PostStop(1)]);
    system.advance(10 * SECOND).await;
    assert_eq!(seen.all().await, []);
}

/// Rule 17.1: a hook may start work, but no instance gets its outcome.
#[supervise::test]
async fn what_a_last_hook_starts_is_cancelled_with_the_instance(system: &TestSystem) {
    #[actor]
    struct Late(ProbeHandle<Seen>);
    #[actor]
    impl Late {
        #[pre_restart]
        fn leave(&mut self, ctx: &mut Context<Self>) {
            let owned = Owned(1, self.0.clone());
            ctx.pipe(
                async move {
                    let _owned = owned;
                    pending::<()>().await;
                },
                |me, ()| me.late(),
            );
        }
        #[handler]
        fn late(&mut self) -> Result<(), Broken> {
            Err(Broken)
        }
    }
    let seen = system.probe();
    let handle = seen.handle();
    let late = system.spawn("late", move || Late(handle.clone())).unwrap();
    late.late().tell().unwrap();
    system.expect_restarts(&late, 1).await;
    assert_eq!(seen.all().await, [Seen::Dropped(1)]);
}

/// Rule 17.3.
#[supervise::test]
async fn an_error_is_a_failure_of_the_actor(system: &TestSystem) {
    let (rig, seen) = rig(system).await;
    rig.with(Box::new(|ctx| _ = ctx.try_pipe(later_broken(SECOND), RigRef::got))).await.unwrap();
    system.advance(SECOND).await;
    let decision = system.expect_decision(&rig).await;
    assert_eq!(decision.directive, Directive::Restart);
    assert_eq!(decision.failure.kind(), FailureKind::Error);
    assert_eq!(decision.failure.stage(), supervise::Stage::Running);
    assert_eq!(decision.failure.downcast_ref(), Some(&Broken));
    assert_eq!(seen.all().await, [Seen::PreRestart(1), Seen::Built(2)]);
    rig.with(Box::new(|ctx| _ = ctx.try_blocking(|| Err(Broken), RigRef::got))).await.unwrap();
    assert_eq!(seen.next().await, Seen::PreRestart(2));
    assert_eq!(system.expect_decision(&rig).await.failure.downcast_ref(), Some(&Broken));
}

/// Rules 11.1 and 17.3.
#[supervise::test]
async fn a_panic_is_a_failure_of_the_actor(system: &TestSystem) {
    let (rig, seen) = forgiven(system).await;
    let panics: [(&str, Step); 4] = [
        ("future", Box::new(|ctx| _ = ctx.pipe(async { panic!("future") }, RigRef::got))),
        ("closure", Box::new(|ctx| _ = ctx.blocking(|| panic!("closure"), RigRef::got))),
        (
            "message",
            Box::new(|ctx| {
                _ = ctx.pipe(async { 1 }, |_, _: u32| -> supervise::Request<'_, Rig, ()> { panic!("message") });
            }),
        ),
        (
            "message",
            Box::new(|ctx| {
                _ = ctx.blocking(|| 1, |_, _: u32| -> supervise::Request<'_, Rig, ()> { panic!("message") });
            }),
        ),
    ];
    for (what, panics) in panics {
        rig.with(panics).await.unwrap();
        rig.with(Box::new(|ctx| _ = ctx.pipe(later(SECOND, 1), RigRef::got))).await.unwrap();
        // After a resume the rest of the work goes on.
        assert_eq!(seen.next().await, Seen::Got(1, 1));
        let failure = system.expect_decision(&rig).await.failure;
        assert_eq!(failure.kind(), FailureKind::Panic);
        assert_eq!(failure.to_string(), format!("panicked: {what}"));
    }
}

/// Rules 2.2, 3.4 and 17.1: work outlives a resume, and its outcomes in the meantime are delivered afterwards.
#[supervise::test]
async fn a_resume_keeps_work_and_what_it_brought(system: &TestSystem) {
    let (rig, seen) = forgiven(system).await;
    rig.with(Box::new(|ctx| {
        ctx.pipe(later(SECOND, 1), RigRef::got);
        ctx.pipe(later(3 * SECOND, 2), RigRef::got);
    }))
    .await
    .unwrap();
    rig.busy_then_fail(2 * SECOND).tell().unwrap();
    system.advance(2 * SECOND).await;
    assert_eq!(system.expect_decision(&rig).await.directive, Directive::Resume);
    assert_eq!(seen.all().await, [Seen::Got(1, 1)]);
    system.advance(SECOND).await;
    assert_eq!(seen.all().await, [Seen::Got(1, 2)]);
}

/// Rule 17.1.
#[supervise::test]
async fn work_can_be_cancelled_even_when_its_outcome_is_on_its_way(system: &TestSystem) {
    let (rig, seen) = rig(system).await;
    let owned = Owned(7, seen.handle());
    let waiting = rig
        .start(Box::new(move |ctx| {
            ctx.pipe(
                async move {
                    let _owned = owned;
                    pending().await
                },
                RigRef::got,
            )
        }))
        .await
        .unwrap();
    let on_its_way = rig.start(Box::new(|ctx| ctx.pipe(later(SECOND, 1), RigRef::got))).await.unwrap();
    rig.busy(2 * SECOND).tell().unwrap();
    rig.cancel(on_its_way).tell().unwrap();
    rig.cancel(waiting).tell().unwrap();
    system.advance(3 * SECOND).await;
    // It was there before the request to cancel it.
    assert_eq!(seen.all().await, [Seen::Dropped(7)]);
    assert_eq!(rig.running().await.unwrap(), 0);
    rig.cancel(waiting).await.unwrap();
}

/// Rule 17.5: a stop does not wait for a closure that blocks.
#[supervise::test]
async fn a_blocking_closure_outlives_the_stop_and_what_it_comes_to_is_dropped(system: &TestSystem) {
    let (rig, seen) = rig(system).await;
    let (go_on, wait) = blocking::channel::<()>();
    let (began, has_begun) = oneshot::channel();
    let handle = seen.handle();
    rig.with(Box::new(move |ctx| {
        ctx.blocking(
            move || {
                began.send(()).unwrap();
                wait.recv().unwrap();
                Owned(7, handle)
            },
            |me, _: Owned| me.got(1),
        );
    }))
    .await
    .unwrap();
    has_begun.await.unwrap();
    rig.actor_ref().stop();
    system.expect_terminated(&rig).await;
    assert_eq!(seen.all().await, [Seen::PostStop(1)]);
    go_on.send(()).unwrap();
    assert_eq!(seen.next().await, Seen::Dropped(7));
}

/// Rule 17.5: on a pool with one thread, the second closure waits for the first.
#[test]
fn a_blocking_closure_that_has_not_begun_does_not_begin_after_the_stop() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
    let (saw, seen) = blocking::channel();
    runtime.block_on(async {
        let system = ActorSystem::new("blocked");
        let (go_on, wait) = blocking::channel::<()>();
        let (began, has_begun) = oneshot::channel();
        let quiet = system.spawn("quiet", || Quiet).unwrap();
        let says = Says(saw.clone());
        quiet
            .with(Box::new(move |ctx| {
                ctx.blocking(
                    move || {
                        began.send(()).unwrap();
                        wait.recv().unwrap();
                    },
                    |me, ()| me.done(),
                );
                ctx.blocking(move || says.0.send("began").unwrap(), |me, ()| me.done());
            }))
            .await
            .unwrap();
        has_begun.await.unwrap();
        quiet.actor_ref().stop();
        system.ended(&quiet).await;
        saw.send("ended").unwrap();
        drop(saw);
        go_on.send(()).unwrap();
        system.terminate().await;
    });
    drop(runtime);
    assert_eq!(seen.iter().collect::<Vec<_>>(), ["dropped", "ended"]);
}

/// Says when it is dropped.
pub(super) struct Says(pub(super) blocking::Sender<&'static str>);

impl Drop for Says {
    fn drop(&mut self) {
        self.0.send("dropped").unwrap();
    }
}

/// Has no probe, for tests that make their own runtimes.
#[actor]
pub(super) struct Quiet;

#[actor]
impl Quiet {
    #[handler]
    pub(super) fn with(&mut self, step: QuietStep, ctx: &mut Context<Self>) {
        step(ctx);
    }

    #[handler(inline)]
    pub(super) fn inline(&mut self, number: oneshot::Sender<u32>, ctx: &mut Context<Self>) {
        ctx.pipe(async { 1 }, move |me, got| me.answer(number, got));
    }

    #[handler]
    fn answer(&mut self, number: oneshot::Sender<u32>, got: u32) {
        number.send(got).unwrap();
    }

    #[handler]
    pub(super) fn done(&mut self) {}

    #[handler]
    pub(super) fn fail(&mut self) -> Result<(), Broken> {
        Err(Broken)
    }
}

/// Rule 17.6.
#[supervise::test]
async fn ten_thousand_futures_at_once(system: &TestSystem) {
    const MANY: u32 = 10_000;
    let (rig, seen) = rig(system).await;
    for _ in 0..2 {
        rig.with(Box::new(|ctx| {
            for number in 0..MANY {
                ctx.pipe(later(SECOND, number), RigRef::got);
            }
        }))
        .await
        .unwrap();
        assert_eq!(rig.running().await.unwrap(), 10_000);
        system.advance(SECOND).await;
        let numbers = seen.all().await.into_iter().filter(|seen| matches!(seen, Seen::Got(1, _))).count();
        assert_eq!(numbers, 10_000);
    }
    // And cancelled.
    rig.with(Box::new(|ctx| {
        for number in 0..MANY {
            ctx.pipe(later(SECOND, number), RigRef::got);
        }
    }))
    .await
    .unwrap();
    rig.actor_ref().stop();
    system.expect_terminated(&rig).await;
    system.advance(2 * SECOND).await;
    assert_eq!(seen.all().await, [Seen::PostStop(1)]);
}
