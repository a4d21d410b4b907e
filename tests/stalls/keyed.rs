//! Very many keyed children that end with their owner.
//!
//! Rule 1.9.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use supervise::prelude::*;
use supervise::testkit;

/// Counts the keys that are dropped.
#[derive(Clone)]
struct Key(u32, Arc<AtomicUsize>);

impl Drop for Key {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Key {}

impl std::hash::Hash for Key {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[actor]
struct Session;

#[actor]
impl Session {
    #[handler]
    fn ping(&self) {}
}

#[actor]
struct Shop {
    #[child(|_| |_: &Key| Session, idle = "10m")]
    sessions: Children<Key, Session>,
}

#[actor]
impl Shop {
    #[handler]
    fn sessions(&self) -> Children<Key, Session> {
        self.sessions.clone()
    }
}

/// Very many keys are not dropped in one piece: other tasks have their turns in between.
#[test]
fn z_1_9_the_end_of_many_keyed_children_is_done_in_slices() {
    const KEYS: u32 = 20_000;
    testkit::run(async |system| {
        let shop = system.spawn("shop", || Shop { sessions: Children::default() }).unwrap();
        let sessions = shop.sessions().await.unwrap();
        let dropped = Arc::new(AtomicUsize::new(0));
        for key in 0..KEYS {
            sessions.get_or_spawn(Key(key, Arc::clone(&dropped))).unwrap();
        }
        system.settle().await;
        let (most, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let other = tokio::spawn({
            let (dropped, most, over) = (Arc::clone(&dropped), Arc::clone(&most), Arc::clone(&over));
            async move {
                let mut last = dropped.load(Ordering::Relaxed);
                while !over.load(Ordering::Relaxed) {
                    let now = dropped.load(Ordering::Relaxed);
                    most.fetch_max(now - last, Ordering::Relaxed);
                    last = now;
                    tokio::task::yield_now().await;
                }
            }
        });
        shop.actor_ref().stop();
        system.expect_terminated(&shop).await;
        over.store(true, Ordering::Relaxed);
        other.await.unwrap();
        drop(sessions);
        assert_eq!(dropped.load(Ordering::Relaxed), KEYS as usize, "every key is dropped");
        let most = most.load(Ordering::Relaxed);
        assert!(most <= 4096, "{most} keys were dropped in one piece");
    });
}
