//! Nodes that come, leave and die while one of them stays and messages are sent.
//!
//! Rules 27.6 and 27.19.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use supervise::Props;
use supervise::durable::Fate;
use supervise::prelude::*;
use tokio::runtime::Runtime;
use tokio::time::sleep;

use crate::fixture::{self, Begun, Log, node};
use crate::server::Server;
use crate::{LEASE, store};

#[derive(Debug, thiserror::Error)]
#[error("number {0}")]
struct Poison(u32);

/// The number of the message that fails whenever it is handled.
const POISON: u32 = 50;

/// The nodes do not agree on how often a message that failed is delivered again.
#[actor(mailbox = durable(shared, window = 4, crashes = 100, redeliver = 2))]
struct Passing {
    node: &'static str,
    log: Log,
}

#[actor]
impl Passing {
    #[handler]
    async fn work(&mut self, number: u32, ctx: &mut Context<Self>) -> Result<(), Poison> {
        self.log.push(self.node, number, ctx);
        sleep(Duration::from_millis(20)).await;
        if number == POISON { Err(Poison(number)) } else { Ok(()) }
    }
}

#[actor(mailbox = durable(shared, window = 4, crashes = 100))]
struct Steady {
    log: Log,
}

#[actor]
impl Steady {
    #[handler]
    async fn work(&mut self, number: u32, ctx: &mut Context<Self>) -> Result<(), Poison> {
        self.log.push("steady", number, ctx);
        sleep(Duration::from_millis(20)).await;
        if number == POISON { Err(Poison(number)) } else { Ok(()) }
    }
}

fn spawn(system: &ActorSystem, node: &'static str, log: &Log) -> PassingRef {
    let log = log.clone();
    let props = Props::new(move || Passing { node, log: log.clone() }).queue("work");
    system.spawn_with("passing", props).expect("the queue is shared")
}

/// A node that dies when its runtime is dropped.
fn mortal(url: &str, log: &Log) -> Runtime {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("there is a thread");
    let _inside = runtime.enter();
    let system = ActorSystem::builder("shop").store(store(url)).start().expect("the name is valid");
    spawn(&system, "mortal", log);
    runtime
}

/// How many messages are sent.
const SENT: u32 = 400;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dur_47_a_healthy_node_goes_on_beside_nodes_that_leave_and_die_in_a_loop() {
    let Some(server) = Server::start() else { return };
    let log = Log::default();
    let healthy = node(&server.url());
    let inner = log.clone();
    let props = Props::new(move || Steady { log: inner.clone() }).queue("work");
    let steady = healthy.spawn_with("steady", props).expect("the queue is shared");
    let sender = steady.clone();
    let sending = tokio::spawn(async move {
        for number in 0..SENT {
            // Each key is given to both of them.
            fixture::insist(number, |key| sender.work(number).key(key).accepted()).await;
            sleep(Duration::from_millis(10)).await;
        }
    });
    for round in 0..6 {
        let dies = mortal(&server.url(), &log);
        let leaves = node(&server.url());
        let other = spawn(&leaves, "leaves", &log);
        let first = round * SENT / 6;
        for number in first..first + 20 {
            fixture::insist(number, |key| other.work(number).key(key).accepted()).await;
        }
        sleep(LEASE / 2).await;
        dies.shutdown_background();
        leaves.terminate().await;
    }
    sending.await.expect("all are accepted");
    log.until("all are handled", |log| {
        let numbers: BTreeSet<u32> = log.numbers().into_iter().collect();
        numbers.len() == usize::try_from(SENT).expect("it is small")
    })
    .await;
    // Messages of those that died come last.
    sleep(LEASE * 4).await;
    let mut by_number = BTreeMap::<u32, Vec<Begun>>::new();
    log.all().into_iter().for_each(|begun| by_number.entry(begun.number).or_default().push(begun));
    for (number, begun) in &by_number {
        let again: Vec<&Begun> = begun.iter().skip(1).collect();
        let known = |begun: &&Begun| begun.delivery.after_crash() || begun.delivery.attempt() > 1;
        assert!(again.iter().all(known), "{number} is handled again as if it were new: {begun:?}");
        assert!(begun.iter().all(|other| other.delivery.id() == begun[0].delivery.id()), "{number}: {begun:?}");
    }
    let poisoned = &by_number[&POISON];
    let attempts: Vec<u32> = poisoned.iter().map(|begun| begun.delivery.attempt()).collect();
    // `redeliver` is 2 at some nodes and 3 at one.
    let most = attempts.last().is_some_and(|last| (3..=4).contains(last));
    assert!(attempts.is_sorted() && most, "attempts count at all nodes together: {attempts:?}");
    let quarantined = healthy.store().quarantined("work").await.expect("the server runs");
    let confined: Vec<_> = quarantined.iter().map(|quarantined| quarantined.fate).collect();
    assert_eq!(confined, [Fate::Failed], "{quarantined:?}");
    let rows = healthy.store().queues().await.expect("the server runs");
    assert_eq!(rows[0].waiting, 0, "{rows:?}");
    healthy.terminate().await;
}
