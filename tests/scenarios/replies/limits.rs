//! Rule 19.6: how long an ask waits if it sets no limit itself.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{self, TestSystem};
use supervise::{MailboxKind, Overflow, Props};
use tokio::time::Instant;

use super::Orders;

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Answers after this many seconds.
#[actor(ask_timeout = "3s")]
struct Slow;

#[actor]
impl Slow {
    #[handler]
    async fn after(&mut self, seconds: u64) -> u64 {
        tokio::time::sleep(secs(seconds)).await;
        seconds
    }
}

/// How long the ask waited, and the text of its error.
async fn waited<T: std::fmt::Debug>(ask: impl IntoFuture<Output = Result<T, AskError>>) -> (Duration, String) {
    let begun = Instant::now();
    match ask.await {
        Err(AskError::Timeout(late)) => {
            assert_eq!(late.limit(), begun.elapsed());
            (begun.elapsed(), late.to_string())
        }
        other => panic!("{other:?}"),
    }
}

/// Rule 19.6.
#[supervise::test]
async fn an_actor_limits_its_asks(system: &TestSystem) {
    let slow = system.spawn("slow", || Slow).unwrap();
    assert_eq!(slow.after(2).await.unwrap(), 2);
    assert_eq!(waited(slow.after(8)).await.0, secs(3));
    // The asker's own limit counts, a shorter and a longer one. The handler of the ask before still runs for five seconds.
    assert_eq!(waited(slow.after(1).timeout(secs(1))).await.0, secs(1));
    assert_eq!(slow.after(4).timeout(secs(60)).await.unwrap(), 4);
    // The limit of the props takes precedence over that of the type.
    let props = Props::new(|| Slow).ask_timeout(secs(10));
    let other = system.spawn_with("other", props).unwrap();
    assert_eq!(other.after(9).await.unwrap(), 9);
    assert_eq!(waited(other.after(11)).await.0, secs(10));
    let kind = MailboxKind::Bounded { capacity: 1, overflow: Overflow::Fail };
    let bounded = system.spawn_with("bounded", Props::new(|| Slow).mailbox(kind)).unwrap();
    assert_eq!(waited(bounded.after(8)).await.0, secs(3));
    bounded.after(1).tell().unwrap();
    assert!(matches!(bounded.after(8).await, Err(AskError::MailboxFull)));
    bounded.actor_ref().stop();
    system.ended(&bounded).await;
    assert!(matches!(bounded.after(8).await, Err(AskError::Stopped)));
    system.allow_dead_letters();
}

/// Rule 19.6.
#[test]
fn a_system_limits_the_asks_of_its_actors() {
    let settings = ActorSystem::builder("limited").ask_timeout(secs(7));
    testkit::run_with(settings, async |system| {
        let orders = system.spawn("orders", Orders::default).unwrap();
        assert_eq!(orders.waiting().await.unwrap(), 0);
        assert_eq!(orders.try_now(false).await.unwrap(), 1);
        assert_eq!(waited(orders.place(1)).await.0, secs(7));
        assert_eq!(waited(orders.place(1).retried()).await.0, secs(7));
        assert_eq!(waited(orders.place(1).timeout(secs(8))).await.0, secs(8));
        let slow = system.spawn("slow", || Slow).unwrap();
        assert_eq!(waited(slow.after(20)).await.0, secs(3));
    });
}

/// Rule 19.6.
#[supervise::test]
async fn the_error_says_who_was_asked_what_and_what_it_did(system: &TestSystem) {
    let orders = system.spawn("orders", Orders::default).unwrap();
    let leaked = waited(orders.leak().timeout(secs(1))).await.1;
    assert_eq!(
        leaked,
        "no answer to `Leak` from supervise://test/user/orders within 1s: it is idle, and somebody holds the reply slot"
    );
    let hangs = waited(orders.hang().timeout(secs(1))).await.1;
    assert!(hangs.ends_with("within 1s: it is handling a message"), "{hangs}");
    let waits = waited(orders.waiting().timeout(secs(1))).await.1;
    assert!(waits.ends_with("within 1s: 2 messages wait or are being handled"), "{waits}");
    orders.actor_ref().stop();
    let stops = waited(orders.waiting().timeout(secs(1))).await.1;
    assert!(stops.ends_with("within 1s: it is stopping"), "{stops}");
}

/// Wakes a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Rule 19.6: a limit of the actor or the system requires nothing else from the asker.
#[test]
fn an_ask_with_a_limit_may_be_awaited_outside_a_runtime() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let inside = runtime.enter();
    let system = ActorSystem::builder("outside").ask_timeout(secs(7)).start().unwrap();
    drop(inside);
    let orders = system.spawn("orders", Orders::default).unwrap();
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = TaskContext::from_waker(&waker);
    let mut ask = pin!(orders.waiting().into_future());
    let answer = loop {
        match ask.as_mut().poll(&mut cx) {
            Poll::Ready(answer) => break answer,
            Poll::Pending => thread::park(),
        }
    };
    assert_eq!(answer.unwrap(), 0);
    // The clock ends with the runtime, and nobody holds the slot any more.
    let mut lost = pin!(orders.leak().into_future());
    assert!(lost.as_mut().poll(&mut cx).is_pending());
    runtime.block_on(orders.waiting().into_future()).unwrap();
    drop(runtime);
    let lost = lost.as_mut().poll(&mut cx);
    assert!(matches!(lost, Poll::Ready(Err(AskError::Stopped))), "{lost:?}");
}
