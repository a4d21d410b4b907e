//! Rule 19.10: an ask that waits for room in a bounded mailbox, and then for its reply.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use supervise::Props;
use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestProbe, TestSystem};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Has room for one.
#[actor(mailbox = bounded(1))]
struct Safe {
    gate: Arc<Notify>,
    seen: ProbeHandle<u32>,
    other: Option<SafeRef>,
    is_mended: Arc<AtomicBool>,
}

#[derive(Debug, thiserror::Error)]
#[error("the lock is broken")]
struct Broken;

#[actor]
impl Safe {
    /// Keeps the actor busy until the gate opens.
    #[handler]
    async fn hold(&mut self) {
        self.gate.notified().await;
    }

    #[handler]
    fn put(&mut self, what: u32) -> u32 {
        self.seen.note(what);
        what * 10
    }

    #[handler]
    async fn put_slowly(&mut self, what: u32) -> u32 {
        tokio::time::sleep(Duration::from_secs(2)).await;
        self.seen.note(what);
        what * 10
    }

    #[handler(inline)]
    fn put_inline(&mut self, what: u32) -> u32 {
        what * 10
    }

    /// Fails at the first delivery only.
    #[handler(redeliver = 1)]
    fn put_again(&mut self, what: u32) -> Result<u32, Broken> {
        if self.is_mended.swap(true, Ordering::SeqCst) { Ok(what * 10) } else { Err(Broken) }
    }

    #[handler]
    fn break_down(&mut self) -> Result<(), Broken> {
        Err(Broken)
    }

    #[handler]
    async fn put_into_itself(&mut self, ctx: &mut Context<Self>) -> Reply<Result<u32, String>> {
        Reply(ctx.me().put(1).when_room().await.map_err(|error| error.to_string()))
    }

    #[handler]
    fn know(&mut self, other: SafeRef) {
        self.other = Some(other);
    }

    /// Waits until the gate opens, and then asks the other one.
    #[handler]
    async fn hold_and_put_there(&mut self) -> Reply<Result<u32, String>> {
        self.gate.notified().await;
        self.put_there().await
    }

    #[handler]
    async fn put_there(&mut self) -> Reply<Result<u32, String>> {
        match &self.other {
            Some(other) => Reply(other.put(7).when_room().await.map_err(|error| error.to_string())),
            None => Reply(Ok(0)),
        }
    }
}

struct World {
    gate: Arc<Notify>,
    safe: SafeRef,
    seen: TestProbe<u32>,
}

fn factory(gate: &Arc<Notify>, seen: ProbeHandle<u32>) -> impl Fn() -> Safe + Send + Sync + 'static {
    let (gate, is_mended) = (Arc::clone(gate), Arc::default());
    move || Safe { gate: Arc::clone(&gate), seen: seen.clone(), other: None, is_mended: Arc::clone(&is_mended) }
}

fn spawn(system: &TestSystem, name: &str) -> World {
    let (gate, seen) = (Arc::new(Notify::new()), system.probe());
    let safe = system.spawn(name, factory(&gate, seen.handle())).unwrap();
    World { gate, safe, seen }
}

/// A safe that holds, with a message that takes all its room.
async fn full(system: &TestSystem) -> World {
    let world = spawn(system, "safe");
    world.safe.hold().tell().unwrap();
    system.settle().await;
    world.safe.put(0).tell().unwrap();
    assert!(matches!(world.safe.put(1).await, Err(AskError::MailboxFull)));
    world
}

fn put(safe: &SafeRef, what: u32) -> JoinHandle<Result<u32, AskError>> {
    let safe = safe.clone();
    tokio::spawn(async move { safe.put(what).when_room().await })
}

/// Rule 19.10.
#[supervise::test]
async fn an_ask_waits_for_room_and_then_for_the_reply(system: &TestSystem) {
    let World { gate, safe, seen } = full(system).await;
    let asked: Vec<_> = (1..4).map(|what| put(&safe, what)).collect();
    system.settle().await;
    assert!(!asked.iter().any(JoinHandle::is_finished), "there is no room");
    gate.notify_one();
    for (what, asked) in (1..).zip(asked) {
        assert_eq!(asked.await.unwrap().unwrap(), what * 10);
    }
    assert_eq!(seen.all().await, [0, 1, 2, 3]);
    // Where there is room, it is like any ask.
    assert_eq!(safe.put(4).when_room().await.unwrap(), 40);
    assert_eq!(safe.put_inline(5).when_room().await.unwrap(), 50);
}

/// Rule 19.10.
#[supervise::test]
async fn an_ask_that_is_dropped_while_it_waits_for_room_leaves_nothing(system: &TestSystem) {
    let World { gate, safe, seen } = full(system).await;
    let (gives_up, stays) = (put(&safe, 1), put(&safe, 2));
    system.settle().await;
    gives_up.abort();
    assert!(gives_up.await.unwrap_err().is_cancelled());
    gate.notify_one();
    assert_eq!(stays.await.unwrap().unwrap(), 20);
    system.settle().await;
    assert_eq!(seen.all().await, [0, 2]);
    // It is not even sent before its first poll.
    drop(safe.put(3).when_room());
    drop(safe.put(3).when_room().into_future());
    seen.expect_none().await;
}

/// Rules 1.5 and 19.10.
#[supervise::test]
async fn an_ask_that_waits_for_room_is_told_of_the_end(system: &TestSystem) {
    let World { gate, safe, .. } = full(system).await;
    let asked = put(&safe, 1);
    system.settle().await;
    safe.actor_ref().stop();
    gate.notify_one();
    assert!(matches!(asked.await.unwrap(), Err(AskError::Stopped)));
    assert!(matches!(safe.put(2).when_room().await, Err(AskError::Stopped)));
    system.allow_dead_letters();
}

/// Rules 19.5 and 19.10.
#[supervise::test]
async fn an_ask_that_waits_for_room_hears_of_its_failure_or_waits_for_the_next_delivery(system: &TestSystem) {
    let World { gate, safe, .. } = full(system).await;
    let asked = tokio::spawn({
        let safe = safe.clone();
        async move { (safe.break_down().when_room().await, safe.put_again(3).retried().when_room().await) }
    });
    system.settle().await;
    gate.notify_one();
    let (failed, retried) = asked.await.unwrap();
    assert!(matches!(failed, Err(AskError::Failed(_))), "{failed:?}");
    assert_eq!(retried.unwrap(), 30);
    system.allow_failures();
}

/// Rules 19.6 and 19.10.
#[supervise::test]
async fn a_limit_counts_the_wait_for_room_and_the_wait_for_the_reply(system: &TestSystem) {
    let World { gate, safe, seen } = full(system).await;
    let begun = Instant::now();
    let late = safe.put(1).when_room().timeout(Duration::from_secs(1)).await.unwrap_err();
    assert!(late.to_string().starts_with("no answer to `Put` from supervise://"), "{late}");
    assert_eq!(begun.elapsed(), Duration::from_secs(1));

    // Two seconds until there is room, and two until the reply.
    let opens = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(2)).await;
        gate.notify_one();
    });
    let begun = Instant::now();
    let late = safe.put_slowly(2).when_room().timeout(Duration::from_secs(3)).await;
    assert!(matches!(late, Err(AskError::Timeout(_))), "{late:?}");
    assert_eq!(begun.elapsed(), Duration::from_secs(3));
    opens.await.unwrap();
    assert_eq!(safe.put_slowly(3).when_room().timeout(Duration::from_secs(4)).await.unwrap(), 30);
    // The second message was sent before its time was over. The first was not.
    assert_eq!(seen.all().await, [0, 2, 3]);
}

/// Rules 19.6 and 19.10.
#[supervise::test]
async fn the_limit_of_the_actor_counts_both_waits(system: &TestSystem) {
    let props = Props::new(factory(&Arc::default(), system.probe().handle())).ask_timeout(Duration::from_secs(5));
    let safe = system.spawn_with("limited", props).unwrap();
    safe.hold().tell().unwrap();
    system.settle().await;
    safe.put(0).tell().unwrap();
    let begun = Instant::now();
    let late = safe.put(1).when_room().await;
    assert!(matches!(late, Err(AskError::Timeout(_))), "{late:?}");
    assert_eq!(begun.elapsed(), Duration::from_secs(5));
}

/// Rules 1.5 and 19.10.
#[supervise::test]
async fn a_handler_that_waits_for_room_in_its_own_mailbox_is_told_at_once(system: &TestSystem) {
    let safe = spawn(system, "safe").safe;
    let asked = safe.put_into_itself().ask().unwrap();
    system.settle().await;
    let told = asked.await.unwrap().unwrap_err();
    assert!(told.contains("asked itself"), "{told}");
}

/// Rules 19.7 and 19.10.
#[supervise::test]
async fn a_circle_through_an_actor_that_waits_for_room_is_told(system: &TestSystem) {
    let (one, other) = (spawn(system, "one"), spawn(system, "other"));
    one.safe.know(other.safe.clone()).await.unwrap();
    other.safe.know(one.safe.clone()).await.unwrap();
    // The other one is busy and full. The first one waits for room in it.
    let first = other.safe.hold_and_put_there().ask().unwrap();
    system.settle().await;
    other.safe.put(1).tell().unwrap();
    let second = one.safe.put_there().ask().unwrap();
    system.settle().await;
    // Now the other one asks the first.
    other.gate.notify_one();
    let told = first.await.unwrap().unwrap_err();
    assert!(told.starts_with("a circle of asks: "), "{told}");
    assert_eq!(second.await.unwrap(), Ok(70));
    assert_eq!(other.seen.all().await, [1, 7]);
}
