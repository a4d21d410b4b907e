//! Streams that an actor is attached to.
//!
//! Rules 17.1, 17.3, 17.4.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context as TaskContext, Poll};

use futures_core::Stream;

use super::*;

/// The items of a channel, as a stream.
pub(super) struct FromChannel<T>(pub(super) mpsc::UnboundedReceiver<T>);

impl<T> Stream for FromChannel<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<T>> {
        self.0.poll_recv(cx)
    }
}

/// Is always ready, and counts its items.
pub(super) struct Endless(pub(super) Arc<AtomicU32>);

impl Stream for Endless {
    type Item = u32;

    fn poll_next(self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<Option<u32>> {
        Poll::Ready(Some(self.0.fetch_add(1, Ordering::Relaxed)))
    }
}

/// Yields numbers, and panics at one of them.
struct Panicking(u32);

impl Stream for Panicking {
    type Item = u32;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<Option<u32>> {
        assert!(self.0 < 3, "stream");
        self.0 += 1;
        Poll::Ready(Some(self.0))
    }
}

fn attach(items: mpsc::UnboundedReceiver<u32>) -> Step {
    Box::new(move |ctx| {
        let items = ctx.attach(FromChannel(items), RigRef::got);
        ctx.at_end(items, RigRef::over);
    })
}

/// Rule 17.4.
#[supervise::test]
async fn items_are_messages_and_so_is_the_end(system: &TestSystem) {
    let (rig, seen) = rig(system).await;
    let (items, stream) = mpsc::unbounded_channel();
    rig.with(attach(stream)).await.unwrap();
    for number in 0..100 {
        items.send(number).unwrap();
    }
    let expected: Vec<_> = (0..100).map(|number| Seen::Got(1, number)).collect();
    system.settle().await;
    assert_eq!(seen.all().await, expected);
    assert_eq!(rig.running().await.unwrap(), 1);
    items.send(100).unwrap();
    drop(items);
    system.settle().await;
    assert_eq!(seen.all().await, [Seen::Got(1, 100), Seen::End(1)]);
    assert_eq!(rig.running().await.unwrap(), 0);
    // Without `at_end`, nothing comes at the end.
    let (items, stream) = mpsc::unbounded_channel();
    rig.with(Box::new(|ctx| _ = ctx.attach(FromChannel(stream), RigRef::got))).await.unwrap();
    drop(items);
    system.settle().await;
    assert_eq!(seen.all().await, []);
}

/// A reader of a connection, which is restarted when the connection is lost, as in a service.
#[actor]
struct Reader {
    life: u32,
    connect: ProbeHandle<mpsc::UnboundedSender<Result<u32, Broken>>>,
    seen: ProbeHandle<Seen>,
}

#[derive(Debug, thiserror::Error)]
#[error("the connection is lost")]
struct Lost;

#[actor]
impl Reader {
    #[pre_start]
    fn connect(&mut self, ctx: &mut Context<Self>) {
        let (connection, items) = mpsc::unbounded_channel();
        self.connect.note(connection);
        let items = ctx.try_attach(FromChannel(items), ReaderRef::line);
        ctx.at_end(items, ReaderRef::lost);
    }

    #[handler]
    fn line(&mut self, number: u32) {
        self.seen.note(Seen::Got(self.life, number));
    }

    #[handler]
    fn lost(&mut self) -> Result<(), Lost> {
        self.seen.note(Seen::End(self.life));
        Err(Lost)
    }

    #[handler]
    async fn busy_then_fail(&mut self) -> Result<(), Broken> {
        tokio::time::sleep(SECOND).await;
        Err(Broken)
    }
}

/// Rules 17.1 and 17.3: the message that the old connection is lost waits behind a handler that fails for another reason.
/// It must not fail the instance with the new connection.
#[supervise::test]
async fn the_loss_of_the_old_connection_does_not_reach_the_new_instance(system: &TestSystem) {
    let (seen, connections) = (system.probe(), system.probe());
    let (handle, connect) = (seen.handle(), connections.handle());
    let mut life = 0;
    let reader = system
        .spawn("reader", move || {
            life += 1;
            Reader { life, connect: connect.clone(), seen: handle.clone() }
        })
        .unwrap();
    let first = connections.next().await;
    first.send(Ok(1)).unwrap();
    seen.expect(Seen::Got(1, 1)).await;
    reader.busy_then_fail().tell().unwrap();
    system.settle().await;
    first.send(Ok(2)).unwrap();
    first.send(Err(Broken)).unwrap();
    drop(first);
    system.advance(SECOND).await;
    system.expect_restarts(&reader, 1).await;
    let second = connections.next().await;
    second.send(Ok(3)).unwrap();
    system.settle().await;
    assert_eq!(seen.all().await, [Seen::Got(2, 3)]);

    // The loss of its own connection does reach it, and the next instance makes another.
    drop(second);
    system.settle().await;
    system.expect_restarts(&reader, 1).await;
    assert_eq!(seen.all().await, [Seen::End(2)]);
    connections.next().await.send(Err(Broken)).unwrap();
    let failure = system.expect_decision(&reader).await.failure;
    assert_eq!(failure.downcast_ref(), Some(&Broken));
    let fourth = connections.next().await;
    fourth.send(Ok(4)).unwrap();
    system.settle().await;
    assert_eq!(seen.all().await, [Seen::Got(4, 4)]);
    reader.actor_ref().stop();
    system.expect_terminated(&reader).await;
    assert!(fourth.is_closed(), "nobody reads any more");
}

/// Rules 3.4, 17.3.
#[supervise::test]
async fn after_a_resume_a_stream_goes_on(system: &TestSystem) {
    let (rig, seen) = forgiven(system).await;
    let (items, stream) = mpsc::unbounded_channel();
    rig.with(Box::new(|ctx| {
        ctx.try_attach(FromChannel(stream), |me, number: u32| {
            assert_ne!(number, 2, "as told");
            me.got(number)
        });
    }))
    .await
    .unwrap();
    for item in [Ok(1), Err(Broken), Ok(2), Ok(3)] {
        items.send(item).unwrap();
    }
    system.settle().await;
    assert_eq!(seen.all().await, [Seen::Got(1, 1), Seen::Got(1, 3)]);
    assert_eq!(system.expect_decision(&rig).await.failure.downcast_ref(), Some(&Broken));
    assert_eq!(system.expect_decision(&rig).await.failure.kind(), FailureKind::Panic);
}

/// Rules 11.1, 17.3 and 17.4.
#[supervise::test]
async fn a_stream_that_panics_has_ended(system: &TestSystem) {
    let (rig, seen) = forgiven(system).await;
    rig.with(Box::new(|ctx| {
        let items = ctx.attach(Panicking(0), RigRef::got);
        ctx.at_end(items, RigRef::over);
    }))
    .await
    .unwrap();
    system.settle().await;
    assert_eq!(seen.all().await, [Seen::Got(1, 1), Seen::Got(1, 2), Seen::Got(1, 3), Seen::End(1)]);
    assert_eq!(system.expect_decision(&rig).await.failure.to_string(), "panicked: stream");
    assert_eq!(rig.running().await.unwrap(), 0);
}

/// Rule 17.4.
#[supervise::test]
async fn sixteen_items_wait_at_most(system: &TestSystem) {
    let (rig, seen) = rig(system).await;
    let given = Arc::new(AtomicU32::new(0));
    let stream = Endless(Arc::clone(&given));
    let endless = rig
        .start(Box::new(|ctx| {
            let mut left = 100;
            ctx.attach(stream, move |me, number| {
                left -= 1;
                if left == 0 { me.over() } else { me.got(number) }
            })
        }))
        .tell();
    endless.unwrap();
    rig.busy(SECOND).tell().unwrap();
    system.settle().await;
    assert_eq!(given.load(Ordering::Relaxed), 16);
    rig.with(Box::new(Context::stop_self)).tell().unwrap();
    system.advance(SECOND).await;
    system.expect_terminated(&rig).await;
    assert!(given.load(Ordering::Relaxed) < 200, "it ran on: {given:?}");
    drop(seen);
}

/// Rules 1.9, 17.4 and 17.5: others have their turns meanwhile, and a stop ends it.
#[supervise::test]
async fn a_stream_that_is_always_ready_never_holds_up_others(system: &TestSystem) {
    let (rig, seen) = rig(system).await;
    let given = Arc::new(AtomicU32::new(0));
    let stream = Endless(Arc::clone(&given));
    rig.with(Box::new(|ctx| _ = ctx.attach(stream, RigRef::got))).await.unwrap();
    for _ in 0..10 {
        rig.over().await.unwrap();
    }
    rig.actor_ref().stop();
    system.expect_terminated(&rig).await;
    let given_then = given.load(Ordering::Relaxed);
    assert!(given_then > 0);
    system.advance(SECOND).await;
    assert_eq!(given.load(Ordering::Relaxed), given_then);
    let mut last = None;
    for got in seen.all().await {
        if let Seen::Got(1, number) = got {
            assert!(last.is_none_or(|last| last + 1 == number), "{last:?} then {number}");
            last = Some(number);
        }
    }
}

/// Rule 17.6.
#[supervise::test]
async fn ten_thousand_streams_at_once(system: &TestSystem) {
    let (rig, seen) = rig(system).await;
    let (senders, streams): (Vec<_>, Vec<_>) = (0..10_000).map(|_| mpsc::unbounded_channel()).unzip();
    rig.with(Box::new(move |ctx| {
        for stream in streams {
            attach(stream)(ctx);
        }
    }))
    .await
    .unwrap();
    for sender in &senders {
        sender.send(1).unwrap();
    }
    system.settle().await;
    assert_eq!(seen.all().await.len(), 10_000);
    drop(senders);
    system.settle().await;
    assert_eq!(seen.all().await, vec![Seen::End(1); 10_000]);
    assert_eq!(rig.running().await.unwrap(), 0);
}
