//! Nodes, what their handlers have begun, and senders who do not give up.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use supervise::durable::{AcceptError, Delivery};
use supervise::prelude::*;
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

use crate::store;

/// Long enough for everything that happens in time.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// What a handler has begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begun {
    pub(crate) by: &'static str,
    pub(crate) number: u32,
    pub(crate) delivery: Delivery,
}

/// What the handlers of this process have begun, in order.
#[derive(Clone, Default)]
pub(crate) struct Log {
    begun: Arc<Mutex<Vec<Begun>>>,
    grew: Arc<Notify>,
}

impl Log {
    pub(crate) fn push<A: Actor>(&self, by: &'static str, number: u32, ctx: &Context<A>) {
        let delivery = ctx.delivery().expect("it is stored");
        self.begun.lock().expect("nobody panics with it").push(Begun { by, number, delivery });
        self.grew.notify_waiters();
    }

    pub(crate) fn all(&self) -> Vec<Begun> {
        self.begun.lock().expect("nobody panics with it").clone()
    }

    pub(crate) fn numbers(&self) -> Vec<u32> {
        self.all().iter().map(|begun| begun.number).collect()
    }

    /// The numbers in order of size.
    pub(crate) fn sorted(&self) -> Vec<u32> {
        let mut numbers = self.numbers();
        numbers.sort_unstable();
        numbers
    }

    /// What one node has begun.
    pub(crate) fn of(&self, node: &str) -> Vec<u32> {
        self.all().iter().filter(|begun| begun.by == node).map(|begun| begun.number).collect()
    }

    /// Waits until the log meets the condition.
    pub(crate) async fn until(&self, what: &str, wanted: impl Fn(&Self) -> bool) {
        let reached = timeout(LONG, async {
            loop {
                let grew = self.grew.notified();
                if wanted(self) {
                    return;
                }
                grew.await;
            }
        });
        assert!(reached.await.is_ok(), "{what}: {:?}", self.all());
    }
}

pub(crate) fn node(url: &str) -> ActorSystem {
    ActorSystem::builder("shop").store(store(url)).start().expect("the name is valid")
}

/// Handlers wait until it is opened.
pub(crate) fn shut() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(0))
}

pub(crate) const OPEN: usize = 1 << 20;

pub(crate) fn open() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(OPEN))
}

/// Sends until it is accepted, always with the same key. Returns whether it was sent more than once.
pub(crate) async fn insist<F: Future<Output = Result<(), AcceptError>>>(
    number: u32,
    accept: impl Fn(String) -> F,
) -> bool {
    let mut sent = 0;
    timeout(LONG, async {
        loop {
            sent += 1;
            match accept(format!("number-{number}")).await {
                Ok(()) => return,
                Err(AcceptError::Unknown(_) | AcceptError::StoreDown(_)) => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(other) => panic!("{number}: {other}"),
            }
        }
    })
    .await
    .expect("it is accepted in the end");
    sent > 1
}
