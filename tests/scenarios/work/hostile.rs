//! Futures, streams and closures that misbehave, and runtimes that are shut down while work runs.
//!
//! Rules 6.6, 11.2, 17.1 and 17.5.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;

use tokio::runtime::{Builder, Runtime};

use super::streams::{Endless, FromChannel};
use super::*;

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "dropped");
    }
}

struct BombStream(Bomb);

impl futures_core::Stream for BombStream {
    type Item = Bomb;

    fn poll_next(self: std::pin::Pin<&mut Self>, _: &mut std::task::Context<'_>) -> Poll<Option<Bomb>> {
        Poll::Ready(Some(Bomb))
    }
}

/// Rule 11.2.
#[supervise::test]
async fn a_destructor_that_panics_changes_nothing(system: &TestSystem) {
    let (rig, seen) = rig(system).await;
    rig.with(Box::new(|ctx| {
        for _ in 0..3 {
            let (bomb, message_bomb) = (Bomb, Bomb);
            ctx.pipe(
                async move {
                    let _bomb = bomb;
                    pending::<()>().await;
                },
                move |me, ()| {
                    let _bomb = &message_bomb;
                    me.over()
                },
            );
            let bomb = Bomb;
            // Its output waits when the actor fails.
            ctx.pipe(async move { bomb }, |me, _: Bomb| me.over());
            let stream = BombStream(Bomb);
            ctx.attach(stream, |me, _: Bomb| me.over());
        }
    }))
    .tell()
    .unwrap();
    rig.busy_then_fail(SECOND).tell().unwrap();
    system.advance(2 * SECOND).await;
    system.expect_restarts(&rig, 1).await;
    assert_eq!(seen.all().await, [Seen::PreRestart(1), Seen::Built(2)]);
    rig.got(1).await.unwrap();
    rig.actor_ref().stop();
    system.expect_terminated(&rig).await;
}

/// Rules 11.2 and 17.5: a value that the work owns may use the actor and the system when it is dropped.
#[supervise::test]
async fn a_future_may_use_its_actor_when_it_is_dropped(system: &TestSystem) {
    struct Tells(RigRef);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.got(9).tell().unwrap();
            assert!(!self.0.actor_ref().has_ended());
        }
    }
    let (rig, seen) = rig(system).await;
    rig.with(Box::new(|ctx| {
        let tells = Tells(ctx.me());
        ctx.pipe(
            async move {
                let _tells = tells;
                pending::<()>().await;
            },
            |me, ()| me.over(),
        );
    }))
    .await
    .unwrap();
    rig.busy_then_fail(Duration::ZERO).tell().unwrap();
    system.expect_restarts(&rig, 1).await;
    assert_eq!(seen.all().await, [Seen::PreRestart(1), Seen::Built(2), Seen::Got(2, 9)]);
}

/// Rules 1.9 and 17.6: an actor that starts work for ever uses a bounded amount of memory, and stops when it
/// is told to.
#[supervise::test]
async fn an_actor_that_pipes_to_itself_for_ever_can_be_stopped(system: &TestSystem) {
    #[actor]
    struct Loop {
        turns: u32,
    }
    #[actor]
    impl Loop {
        #[handler]
        fn again(&mut self, ctx: &mut Context<Self>) {
            self.turns += 1;
            ctx.pipe(async {}, |me, ()| me.again());
        }
        #[handler]
        fn look(&self, ctx: &mut Context<Self>) -> (u32, usize) {
            (self.turns, ctx.running_work())
        }
    }
    let looping = system.spawn("looping", || Loop { turns: 0 }).unwrap();
    looping.again().await.unwrap();
    loop {
        let (turns, running) = looping.look().await.unwrap();
        assert_eq!(running, 1);
        if turns > 1_000 {
            break;
        }
        tokio::task::yield_now().await;
    }
    looping.actor_ref().stop();
    system.expect_terminated(&looping).await;
}

/// Rule 17.5: a future that asks its own actor to cancel it.
#[supervise::test]
async fn a_future_may_be_cancelled_while_it_is_polled(system: &TestSystem) {
    #[actor]
    struct Own {
        work: Option<WorkId>,
        seen: ProbeHandle<Seen>,
    }
    #[actor]
    impl Own {
        #[handler]
        fn begin(&mut self, ctx: &mut Context<Self>) {
            let (me, seen) = (ctx.me(), self.seen.clone());
            let owned = Owned(1, seen.clone());
            self.work = Some(ctx.pipe(
                async move {
                    let _owned = owned;
                    me.cancel().await.unwrap();
                    // It has not been polled since.
                    seen.note(Seen::Got(1, 1));
                    tokio::task::yield_now().await;
                    seen.note(Seen::Got(1, 2));
                },
                |me, ()| me.over(),
            ));
        }
        /// Runs within the future's own poll.
        #[handler(inline)]
        fn cancel(&mut self, ctx: &mut Context<Self>) {
            ctx.cancel_work(self.work.unwrap());
        }
        #[handler]
        fn over(&mut self) {
            self.seen.note(Seen::End(1));
        }
    }
    let seen = system.probe();
    let handle = seen.handle();
    let own = system.spawn("own", move || Own { work: None, seen: handle.clone() }).unwrap();
    own.begin().await.unwrap();
    system.settle().await;
    assert_eq!(seen.all().await, [Seen::Got(1, 1), Seen::Dropped(1)]);
}

/// Rule 17.5: on another thread, at the moment when its actor is restarted, a future finishes its poll and is dropped then.
#[test]
fn a_poll_under_way_is_let_finish() {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (drops, dropped) = blocking::channel();
    runtime.block_on(async {
        let system = ActorSystem::new("parallel");
        let quiet = system.spawn("quiet", || Quiet).unwrap();
        let (began, has_begun) = oneshot::channel();
        let (go_on, wait) = blocking::channel::<()>();
        quiet
            .with(Box::new(move |ctx| {
                let says = Says(drops);
                let mut began = Some(began);
                ctx.pipe(
                    poll_fn(move |_| {
                        let began = began.take();
                        if let Some(began) = began {
                            began.send(()).unwrap();
                            wait.recv().unwrap();
                            says.0.send("polled").unwrap();
                        } else {
                            says.0.send("polled again").unwrap();
                        }
                        Poll::<()>::Pending
                    }),
                    |me, ()| me.done(),
                );
            }))
            .await
            .unwrap();
        has_begun.await.unwrap();
        assert!(quiet.fail().await.is_err());
        // The new instance.
        quiet.done().await.unwrap();
        go_on.send(()).unwrap();
        system.terminate().await;
    });
    drop(runtime);
    assert_eq!(dropped.iter().collect::<Vec<_>>(), ["polled", "dropped"]);
}

/// Rules 1.8 and 17.2: an inline handler that is asked outside any runtime.
#[test]
fn work_starts_on_the_systems_own_runtime() {
    let runtime = current_thread();
    let system = runtime.block_on(async { ActorSystem::new("inline") });
    let quiet = system.spawn("quiet", || Quiet).unwrap();
    runtime.block_on(async { quiet.done().await.unwrap() });
    let (answer, answered) = oneshot::channel();
    let mut ask = std::pin::pin!(quiet.inline(answer).into_future());
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    // The runtime does not run, so this poll runs the handler.
    assert!(std::future::Future::poll(ask.as_mut(), &mut cx).is_ready());
    assert_eq!(runtime.block_on(answered), Ok(1));
    runtime.block_on(system.terminate());
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn multi_thread() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Counts the values that exist.
struct Counted(Arc<AtomicU32>);

impl Counted {
    fn new(count: &Arc<AtomicU32>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Rules 6.6 and 17.1.
#[test]
fn a_runtime_that_goes_away_takes_all_work_along() {
    for runtime in [current_thread, multi_thread] {
        let runtime = runtime();
        let alive = Arc::new(AtomicU32::new(0));
        let system = runtime.block_on(async { ActorSystem::new("gone") });
        let quiet = system.spawn("quiet", || Quiet).unwrap();
        let (_keep, items) = mpsc::unbounded_channel::<u32>();
        runtime.block_on(async {
            let alive = Arc::clone(&alive);
            let with = quiet.with(Box::new(move |ctx| {
                for _ in 0..10 {
                    let counted = Counted::new(&alive);
                    // It holds its actor, and the actor holds it.
                    let me = ctx.me();
                    ctx.pipe(
                        async move {
                            let _counted = (counted, me);
                            pending::<()>().await;
                        },
                        |me, ()| me.done(),
                    );
                }
                let counted = Counted::new(&alive);
                ctx.attach(FromChannel(items), move |me, _| {
                    let _counted = &counted;
                    me.done()
                });
                let counted = Counted::new(&alive);
                let endless = Endless(Arc::new(AtomicU32::new(0)));
                ctx.attach(endless, move |me, _| {
                    let _counted = &counted;
                    me.done()
                });
                let counted = Counted::new(&alive);
                ctx.blocking(move || drop(counted), |me, ()| me.done());
                let counted = Counted::new(&alive);
                ctx.spawn_task("task", move || {
                    let _counted = &counted;
                    pending::<()>()
                })
                .unwrap();
            }));
            with.await.unwrap();
            quiet.done().await.unwrap();
        });
        assert!(alive.load(Ordering::SeqCst) >= 13);
        drop(runtime);
        assert_eq!(alive.load(Ordering::SeqCst), 0);
        assert!(quiet.actor_ref().has_ended());
    }
}

/// Rule 17.5: cancelled work leaves no task behind.
#[supervise::test]
async fn the_tasks_of_cancelled_work_are_gone(system: &TestSystem) {
    let (rig, _seen) = rig(system).await;
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    let (_keep, items) = mpsc::unbounded_channel();
    rig.with(Box::new(|ctx| {
        for _ in 0..100 {
            ctx.pipe(pending(), RigRef::got);
        }
        ctx.attach(FromChannel(items), RigRef::got);
    }))
    .await
    .unwrap();
    system.settle().await;
    assert_eq!(metrics.num_alive_tasks(), before + 101);
    assert!(rig.busy_then_fail(Duration::ZERO).await.is_err());
    system.expect_restarts(&rig, 1).await;
    assert_eq!(metrics.num_alive_tasks(), before);
}

/// Rules 9.2 and 17.1.
#[supervise::test]
async fn the_end_of_the_system_cancels_all_work(system: &TestSystem) {
    let seen = system.probe::<Seen>();
    let inner = ActorSystem::new("inner");
    let quiet = inner.spawn("quiet", || Quiet).unwrap();
    let handle = seen.handle();
    quiet
        .with(Box::new(move |ctx| {
            let owned = Owned(1, handle.clone());
            ctx.pipe(
                async move {
                    let _owned = owned;
                    pending::<()>().await;
                },
                |me, ()| me.done(),
            );
            ctx.spawn_task("task", move || {
                let owned = Owned(2, handle.clone());
                async move {
                    let _owned = owned;
                    pending::<()>().await;
                }
            })
            .unwrap();
        }))
        .await
        .unwrap();
    inner.terminate().await;
    assert_eq!(seen.all().await, [Seen::Dropped(2), Seen::Dropped(1)]);
}

/// Tags the work that it starts with the number of its life, and fails from time to time.
#[actor]
struct Tagged {
    life: u32,
    foreign: Arc<AtomicU32>,
    got: Arc<AtomicU32>,
}

#[actor]
impl Tagged {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) {
        let life = self.life;
        for _ in 0..8 {
            ctx.pipe(async move { life }, TaggedRef::tag);
            ctx.pipe(
                async move {
                    tokio::task::yield_now().await;
                    life
                },
                TaggedRef::tag,
            );
        }
        let (sender, items) = mpsc::unbounded_channel();
        for _ in 0..32 {
            sender.send(life).unwrap();
        }
        ctx.attach(FromChannel(items), TaggedRef::tag);
        ctx.blocking(move || life, TaggedRef::tag);
    }

    #[handler]
    fn tag(&mut self, life: u32) {
        self.got.fetch_add(1, Ordering::Relaxed);
        if life != self.life {
            self.foreign.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Broken> {
        Err(Broken)
    }
}

/// Rules 17.1 and 17.5, on several threads.
#[test]
fn no_instance_sees_what_an_earlier_one_has_started() {
    let runtime = Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    let (foreign, got) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    runtime.block_on(async {
        let system = ActorSystem::new("parallel");
        let mut life = 0;
        let counts = (Arc::clone(&foreign), Arc::clone(&got));
        let tagged = system
            .spawn("tagged", move || {
                life += 1;
                Tagged { life, foreign: Arc::clone(&counts.0), got: Arc::clone(&counts.1) }
            })
            .unwrap();
        for round in 0..500 {
            let before = got.load(Ordering::Relaxed);
            assert!(tagged.fail().await.is_err());
            // Of the 49 that come in the next life.
            while got.load(Ordering::Relaxed) < before + round % 40 {
                tokio::task::yield_now().await;
            }
        }
        system.terminate().await;
    });
    assert_eq!(foreign.load(Ordering::Relaxed), 0);
}
