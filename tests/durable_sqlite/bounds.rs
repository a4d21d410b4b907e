//! How many messages are in memory.
//!
//! Rule 27.17. `DURABLE_WAITING` says how many wait: 200 000 unless it is set. The case names a million, which takes about 20 s on an idle machine.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use serde::{Deserialize, Deserializer, Serialize};
use supervise::prelude::*;
use tokio::sync::Notify;

use crate::child::Child;
use crate::fixture::{Folder, small};

/// How many numbers there are, and how many there were at most.
static NUMBERS: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug, Serialize)]
struct Number(u64);

impl Number {
    fn new(number: u64) -> Self {
        MOST.fetch_max(NUMBERS.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        Self(number)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        u64::deserialize(from).map(Self::new)
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        NUMBERS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How many bytes of this process are in memory. On systems without `/proc`, it is 0.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).map_or(0, |pages| pages * 4096)
}

/// What the second system handles.
struct Seen {
    many: u64,
    next: AtomicU64,
    most_bytes: AtomicUsize,
    all: Notify,
}

/// Expects all numbers in their order, unless it is to wait with the first.
#[actor(mailbox = durable(window = 1024))]
struct Counter {
    waits: bool,
    seen: Arc<Seen>,
}

#[actor]
impl Counter {
    #[handler]
    async fn count(&mut self, number: Number) {
        if self.waits {
            std::future::pending::<()>().await;
        }
        assert_eq!(number.0, self.seen.next.fetch_add(1, Ordering::Relaxed), "in order");
        if number.0.is_multiple_of(1000) {
            self.seen.most_bytes.fetch_max(resident(), Ordering::Relaxed);
        }
        if number.0 == self.seen.many - 1 {
            self.seen.all.notify_one();
        }
    }
}

#[test]
fn dur_32_very_many_wait_and_a_window_of_them_is_in_memory() {
    let folder = Folder::new();
    // Other tests of this process would use memory too.
    assert!(Child::start("bounds", &folder.store()).ended_well(), "it says why");
}

/// The child.
pub(crate) async fn work(path: &Path) {
    let many = std::env::var("DURABLE_WAITING").map_or(200_000, |many| many.parse().expect("a number"));
    let (next, most_bytes) = (AtomicU64::new(0), AtomicUsize::new(0));
    let seen = Arc::new(Seen { many, next, most_bytes, all: Notify::new() });
    let start = |waits| {
        let system = ActorSystem::builder("shop").store(small(path)).start().expect("the name is valid");
        let seen = Arc::clone(&seen);
        let counter = system.spawn("counter", move || Counter { waits, seen: Arc::clone(&seen) });
        (system, counter.expect("the names of the actor and the queue are free"))
    };
    let (first, counter) = start(true);
    for number in 0..many {
        let request = counter.count(Number::new(number));
        if number % 10_000 == 0 {
            request.accepted().await.expect("the store works");
        } else {
            request.tell().expect("there is room");
        }
    }
    first.terminate().await;
    assert_eq!(NUMBERS.load(Ordering::Relaxed), 0);

    MOST.store(0, Ordering::Relaxed);
    let before = resident();
    let (second, _counter) = start(false);
    seen.all.notified().await;
    second.terminate().await;
    assert_eq!(seen.next.load(Ordering::Relaxed), many);
    assert!((1..=1024).contains(&MOST.load(Ordering::Relaxed)), "{MOST:?} numbers at a time");
    let more = seen.most_bytes.load(Ordering::Relaxed).saturating_sub(before);
    assert!(more < 16 << 20, "{more} bytes more");
}
