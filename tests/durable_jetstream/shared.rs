//! Nodes that share one queue.
//!
//! Rules 27.6 and 27.19.

use std::collections::BTreeSet;
use std::io::BufReader;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use supervise::Props;
use supervise::durable::AcceptError;
use supervise::prelude::*;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::fixture::{self, Begun, LONG, Log, OPEN, node, open, shut};
use crate::server::Server;
use crate::settings::configure;
use crate::{LEASE, URL, said, signal, store, stream_of_only_queue};

/// How many messages a node holds at a time.
const WINDOW: usize = 4;

#[actor(mailbox = durable(shared, window = 4))]
struct Worker {
    node: &'static str,
    log: Log,
    gate: Arc<Semaphore>,
}

#[actor]
impl Worker {
    #[handler]
    async fn work(&mut self, number: u32, ctx: &mut Context<Self>) -> &'static str {
        self.log.push(self.node, number, ctx);
        println!("fence {}", ctx.delivery().map_or(0, |delivery| delivery.fence()));
        println!("begun {number}");
        self.gate.acquire().await.expect("nobody closes it").forget();
        self.node
    }
}

/// The same queue, without others.
#[actor(mailbox = durable)]
struct Alone;

#[actor]
impl Alone {
    #[handler]
    fn work(&mut self, number: u32) -> u32 {
        number
    }
}

fn spawn(system: &ActorSystem, node: &'static str, log: &Log, gate: &Arc<Semaphore>) -> WorkerRef {
    let (log, gate) = (log.clone(), Arc::clone(gate));
    let props = Props::new(move || Worker { node, log: log.clone(), gate: Arc::clone(&gate) }).queue("work");
    system.spawn_with(node, props).expect("the queue is shared")
}

/// Sends until it is accepted. Returns whether it was sent more than once.
async fn insist(worker: &WorkerRef, number: u32) -> bool {
    fixture::insist(number, |key| worker.work(number).key(key).accepted()).await
}

/// A node in a process of its own. Its handler waits until its pipe is closed.
fn child(url: &str) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().expect("this test is a file"))
        .args(["--exact", "shared::a_child_shares_the_queue", "--nocapture"])
        .env(URL, url)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let says = BufReader::new(child.stdout.take().expect("it is piped"));
    (child, says)
}

/// The child process. Outside that process, this test does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_shares_the_queue() {
    let Ok(url) = std::env::var(URL) else { return };
    let system = node(&url);
    let gate = shut();
    let log = Log::default();
    let worker = spawn(&system, "child", &log, &gate);
    let closed = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()));
    closed.await.expect("no panic").expect("the parent closes it");
    gate.add_permits(OPEN);
    // By now, the child knows that it holds nothing any more, and goes on with new messages.
    insist(&worker, 1000).await;
    loop {
        match worker.work(1001).await {
            Ok(_) => break,
            Err(_) => tokio::time::sleep(LEASE / 10).await,
        }
    }
    system.terminate().await;
    // New messages may be with the parent.
    println!("old {}", log.numbers().into_iter().filter(|number| *number < 1000).count());
}

#[tokio::test]
async fn dur_47_when_a_node_is_killed_the_other_goes_on_with_what_it_held_and_all_of_that_is_charged() {
    let Some(server) = Server::start() else { return };
    let (log, gate) = (Log::default(), open());
    let system = node(&server.url());
    let sender = system.store().sender::<Worker>("work");
    for number in 1..=40 {
        sender.accepted(WorkerMessage::Work { number }).await.expect("the server runs");
    }
    let (mut child, mut says) = child(&server.url());
    let fence = said(&mut says, "fence");
    said(&mut says, "begun");
    spawn(&system, "parent", &log, &gate);
    log.until("the parent has all others", |log| log.all().len() >= 40 - WINDOW).await;
    tokio::time::sleep(LEASE * 2).await;
    assert_eq!(log.all().len(), 40 - WINDOW, "the child lives, and keeps what it holds");
    child.kill().expect("it can be killed");
    child.wait().expect("it has ended");
    log.until("the parent goes on", |log| log.all().len() >= 40).await;
    tokio::time::sleep(LEASE).await;
    assert_eq!(log.sorted(), (1..=40).collect::<Vec<_>>(), "each of them once, and none is lost");
    let charged: Vec<Begun> = log.all().into_iter().filter(|begun| begun.delivery.after_crash()).collect();
    assert_eq!(charged.len(), WINDOW, "{charged:?}");
    assert!(charged.iter().all(|begun| begun.delivery.fence() > fence), "{charged:?} are newer than {fence}");
    system.terminate().await;
}

#[tokio::test]
async fn dur_48_a_node_that_was_stopped_for_longer_than_its_lease_begins_nothing_that_it_held() {
    let Some(server) = Server::start() else { return };
    let (log, gate) = (Log::default(), open());
    let system = node(&server.url());
    let sender = system.store().sender::<Worker>("work");
    for number in 1..=6 {
        sender.accepted(WorkerMessage::Work { number }).await.expect("the server runs");
    }
    let (mut child, mut says) = child(&server.url());
    said(&mut says, "begun");
    signal(child.id(), "STOP");
    spawn(&system, "parent", &log, &gate);
    log.until("the parent has everything", |log| log.all().len() >= 6).await;
    signal(child.id(), "CONT");
    drop(child.stdin.take());
    let begun = said(&mut says, "old");
    assert!(child.wait().expect("it has ended").success());
    assert_eq!(begun, 1, "the child held four messages, and begins none of the others");
    assert_eq!(log.sorted().into_iter().filter(|number| *number < 1000).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    system.terminate().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dur_45_nodes_share_the_work_and_one_that_leaves_is_not_charged() {
    let Some(server) = Server::start() else { return };
    let (log, shut) = (Log::default(), shut());
    let (first, second) = (node(&server.url()), node(&server.url()));
    let (a, b) = (spawn(&first, "a", &log, &shut), spawn(&second, "b", &log, &shut));
    for number in 1..=20 {
        insist(if number % 2 == 0 { &a } else { &b }, number).await;
    }
    log.until("both have begun", |log| log.all().len() >= 2).await;
    let rows = first.store().queues().await.expect("the server runs");
    assert_eq!(rows.len(), 1, "{rows:?}");
    // A third node wants the queue alone.
    let third = node(&server.url());
    let alone = third.spawn_with("alone", Props::new(|| Alone).queue("work")).expect("the name is free");
    let refused = alone.work(0).accepted().await.expect_err("the queue is shared");
    assert!(matches!(&refused, AcceptError::StoreDown(_)), "{refused}");
    shut.add_permits(10);
    log.until("they go on", |log| log.all().len() >= 12).await;
    let leaves = tokio::spawn(async move { first.terminate().await });
    shut.add_permits(OPEN);
    leaves.await.expect("no panic");
    log.until("the rest is handled", |log| log.all().len() >= 20).await;
    tokio::time::sleep(LEASE).await;
    assert_eq!(log.sorted(), (1..=20).collect::<Vec<_>>(), "each of them once");
    let by: BTreeSet<&str> = log.all().iter().map(|begun| begun.by).collect();
    assert_eq!(by, BTreeSet::from(["a", "b"]));
    assert!(log.all().iter().all(|begun| !begun.delivery.after_crash()), "nobody has died");
    assert_eq!(b.work(21).await.ok(), Some("b"), "an asker gets its answer");
    second.terminate().await;
    // Now nobody shares it.
    timeout(LONG, async {
        while alone.work(22).accepted().await.is_err() {
            tokio::time::sleep(LEASE / 10).await;
        }
    })
    .await
    .expect("the third node gets the queue");
    third.terminate().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dur_45_a_server_that_is_killed_under_nodes_that_share_loses_and_repeats_nothing() {
    let Some(mut server) = Server::start() else { return };
    let (log, gate) = (Log::default(), open());
    // A node opens its store again after 1 s, and then after 2 s. Its lease is longer, so it keeps what it holds.
    let patient = || {
        let store = store(&server.url()).lease(LEASE * 15);
        ActorSystem::builder("shop").store(store).start().expect("the name is valid")
    };
    let (first, second) = (patient(), patient());
    let (a, b) = (spawn(&first, "a", &log, &gate), spawn(&second, "b", &log, &gate));
    let sending = tokio::spawn(async move {
        let mut sent_again = Vec::new();
        for number in 0..300 {
            if insist(if number % 2 == 0 { &a } else { &b }, number).await {
                sent_again.push(number);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        sent_again
    });
    for pause in [0, 300, 1500] {
        let wanted = log.all().len() + 20;
        log.until("they go on", |log| log.all().len() >= wanted).await;
        server.kill();
        tokio::time::sleep(Duration::from_millis(pause)).await;
        server.start_again();
    }
    let sent_again = sending.await.expect("all are accepted");
    timeout(LONG, async {
        while log.numbers().into_iter().collect::<BTreeSet<_>>().len() < 300 {
            tokio::time::sleep(LEASE / 10).await;
        }
    })
    .await
    .expect("nothing is lost");
    let mut seen = BTreeSet::new();
    let repeated: Vec<_> =
        log.numbers().into_iter().filter(|number| !seen.insert(*number) && !sent_again.contains(number)).collect();
    let twice: Vec<Begun> = log.all().into_iter().filter(|begun| repeated.contains(&begun.number)).collect();
    assert!(twice.is_empty(), "nobody died, and nobody sent these twice: {twice:?}");
    first.terminate().await;
    second.terminate().await;
}

/// The stream of the queue cannot be used for a while, so nobody owns the queue, and nobody keeps the acknowledgement.
#[tokio::test]
async fn what_was_begun_before_a_shared_queue_was_lost_comes_again_as_after_a_crash() {
    let Some(server) = Server::start() else { return };
    let (log, gate) = (Log::default(), shut());
    let system = node(&server.url());
    let worker = spawn(&system, "one", &log, &gate);
    insist(&worker, 1).await;
    log.until("it begins", |log| log.numbers() == [1]).await;
    let stream = stream_of_only_queue(&server).await;
    configure(&server, &stream, |config| config.max_age = Duration::from_secs(3600)).await;
    let is_down = async || matches!(worker.work(2).accepted().await, Err(AcceptError::StoreDown(_)));
    let opened_again = async {
        while !is_down().await {}
        while system.store().queues().await.is_err() {}
    };
    timeout(LONG, opened_again).await.expect("the store works for other queues");
    assert!(is_down().await, "it has lost the queue");
    gate.add_permits(OPEN);
    configure(&server, &stream, |config| config.max_age = Duration::ZERO).await;
    let again = |log: &Log| log.all().into_iter().filter(|begun| begun.number == 1).nth(1);
    log.until("it comes again", |log| again(log).is_some()).await;
    let delivery = again(&log).expect("it has come").delivery;
    assert!(delivery.after_crash(), "it was begun before: {delivery:?}");
    system.terminate().await;
}
