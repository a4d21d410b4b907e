//! Nodes that share a queue, and whose handlers take longer than a lease.
//!
//! Rules 27.13, 27.17 and 27.19.

use std::sync::Arc;

use supervise::durable::JetStreamStore;
use supervise::prelude::*;
use supervise::{AskError, Props};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::fixture::{LONG, Log, OPEN, node, open, shut};
use crate::server::Server;
use crate::{LEASE, store};

#[actor(mailbox = durable(shared, window = 1, capacity = 20))]
struct Slow {
    node: &'static str,
    log: Log,
    gate: Arc<Semaphore>,
}

#[actor]
impl Slow {
    #[handler]
    async fn work(&mut self, number: u32, bytes: Vec<u8>, ctx: &mut Context<Self>) -> &'static str {
        drop(bytes);
        self.log.push(self.node, number, ctx);
        self.gate.acquire().await.expect("nobody closes it").forget();
        self.node
    }
}

fn spawn(system: &ActorSystem, node: &'static str, log: &Log, gate: &Arc<Semaphore>) -> SlowRef {
    let (log, gate) = (log.clone(), Arc::clone(gate));
    let props = Props::new(move || Slow { node, log: log.clone(), gate: Arc::clone(&gate) }).queue("work");
    system.spawn_with(node, props).expect("the queue is shared")
}

async fn accept(worker: &SlowRef, numbers: impl IntoIterator<Item = u32>) {
    for number in numbers {
        let accepted = timeout(LONG, worker.work(number, Vec::new()).accepted()).await;
        accepted.expect("there is room").expect("the server runs");
    }
}

/// A node whose lease is long enough for the server to be started again.
fn patient(url: &str) -> ActorSystem {
    let store: JetStreamStore = store(url).lease(LEASE * 5);
    ActorSystem::builder("shop").store(store).start().expect("the name is valid")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dur_45_what_a_busy_node_holds_stays_with_it_when_the_server_is_started_again() {
    let Some(mut server) = Server::start() else { return };
    let (log, busy, open) = (Log::default(), shut(), open());
    let (first, second) = (patient(&server.url()), patient(&server.url()));
    let worker = spawn(&first, "busy", &log, &busy);
    accept(&worker, [1]).await;
    log.until("it has begun", |log| log.numbers() == [1]).await;
    let other = spawn(&second, "idle", &log, &open);
    accept(&other, [2]).await;
    log.until("the other one works", |log| log.of("idle") == [2]).await;
    server.kill();
    server.start_again();
    // The busy node sends nothing, and its handler takes longer than its lease.
    for number in 3..40 {
        let _again =
            crate::fixture::insist(number, |key| other.work(number, Vec::new()).key(key).accepted()).await;
        sleep(LEASE / 2).await;
    }
    assert_eq!(log.numbers().iter().filter(|number| **number == 1).count(), 1, "{:?}", log.all());
    busy.add_permits(OPEN);
    accept(&worker, [50]).await;
    log.until("both work", |log| log.numbers().contains(&50)).await;
    sleep(LEASE).await;
    assert_eq!(log.numbers().iter().filter(|number| **number == 1).count(), 1, "{:?}", log.all());
    first.terminate().await;
    second.terminate().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dur_45_an_asker_whose_message_another_node_has_does_not_wait_until_the_queue_is_empty() {
    let Some(server) = Server::start() else { return };
    let (log, one, other) = (Log::default(), shut(), shut());
    let (first, second) = (node(&server.url()), node(&server.url()));
    let a = spawn(&first, "a", &log, &one);
    accept(&a, [1]).await;
    log.until("it has begun", |log| log.of("a") == [1]).await;
    let waits = a.clone();
    let asked = tokio::spawn(async move { waits.work(2, Vec::new()).await });
    spawn(&second, "b", &log, &other);
    log.until("the other one has it", |log| log.of("b") == [2]).await;
    other.add_permits(1);
    accept(&a, 3..10).await;
    log.until("the other one goes on", |log| log.of("b").len() == 2).await;
    // Both are busy with other messages, and more wait.
    one.add_permits(1);
    log.until("the first one goes on", |log| log.of("a").len() == 2).await;
    let answer = timeout(LEASE * 5, asked).await.expect("it is told").expect("no panic");
    assert!(matches!(answer, Err(AskError::Unanswered)), "{answer:?}");
    one.add_permits(OPEN);
    other.add_permits(OPEN);
    first.terminate().await;
    second.terminate().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dur_45_a_sender_at_a_busy_node_gets_the_room_that_others_make() {
    let Some(server) = Server::start() else { return };
    let (log, busy, open) = (Log::default(), shut(), open());
    let (first, second) = (node(&server.url()), node(&server.url()));
    let worker = spawn(&first, "busy", &log, &busy);
    accept(&worker, 0..20).await;
    assert!(worker.work(20, Vec::new()).tell().is_err(), "there is no room");
    spawn(&second, "idle", &log, &open);
    accept(&worker, 20..40).await;
    log.until("the other one handles them", |log| log.of("idle").len() == 39).await;
    assert_eq!(log.of("busy").len(), 1);
    busy.add_permits(OPEN);
    first.terminate().await;
    second.terminate().await;
}

/// The server has no room for a message, nor for a longer record. Leases are renewed all the same. They are long, because a node that has none for
/// want of a processor gets no message before somebody has made room.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dur_45_a_full_server_is_emptied_by_the_nodes_that_share_its_queue() {
    let Some(server) = Server::configured("jetstream { max_file_store: 3MB }") else { return };
    let (log, gate) = (Log::default(), shut());
    let (first, second) = (patient(&server.url()), patient(&server.url()));
    let worker = spawn(&first, "a", &log, &gate);
    let mut stored = 0;
    while worker.work(stored, vec![7; 200_000]).accepted().await.is_ok() {
        stored += 1;
    }
    assert!(stored > 5, "{stored}");
    spawn(&second, "b", &log, &gate);
    sleep(LEASE * 7).await;
    gate.add_permits(OPEN);
    log.until("all are handled", |log| log.numbers().len() >= usize::try_from(stored).expect("it is small")).await;
    worker.work(100, vec![7; 200_000]).accepted().await.expect("there is room again");
    first.terminate().await;
    second.terminate().await;
}

/// Nodes that begin at the same time create the same streams, and the server may tell one of them that their subjects overlap.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dur_45_nodes_that_create_the_streams_at_the_same_time_all_accept() {
    let Some(server) = Server::start() else { return };
    for round in 0..20 {
        let (log, open) = (Log::default(), open());
        let systems: Vec<_> = (0..6)
            .map(|_| {
                let store: JetStreamStore = store(&server.url()).lease(LEASE * 5);
                ActorSystem::builder(format!("shop-{round}")).store(store).start().expect("the name is valid")
            })
            .collect();
        let workers: Vec<_> = systems.iter().map(|system| spawn(system, "open", &log, &open)).collect();
        let mut accepting = tokio::task::JoinSet::new();
        for (worker, number) in workers.into_iter().zip(0..) {
            accepting.spawn(async move { accept(&worker, [number]).await });
        }
        accepting.join_all().await;
        for system in systems {
            system.terminate().await;
        }
    }
}
