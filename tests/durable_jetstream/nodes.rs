//! Systems of one name on several nodes, whose wires and server fail under their actors.
//!
//! Rules 27.4, 27.6, 27.11 and 27.13.

use std::sync::Arc;
use std::time::Duration;

use supervise::Props;
use supervise::durable::{AcceptError, MessageStore, StoreErrorKind};
use supervise::prelude::*;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::LEASE;
use crate::fixture::{self, LONG, Log, OPEN, node, open, shut};
use crate::proxy::{Passes, Proxy};
use crate::server::Server;

#[derive(Debug, thiserror::Error)]
#[error("number 13")]
struct Thirteen;

#[actor(mailbox = durable(window = 64, redeliver = 0))]
struct Counter {
    node: &'static str,
    log: Log,
    gate: Arc<Semaphore>,
}

#[actor]
impl Counter {
    #[handler]
    async fn count(&mut self, number: u32, ctx: &mut Context<Self>) -> Result<u32, Thirteen> {
        self.log.push(self.node, number, ctx);
        self.gate.acquire().await.expect("nobody closes it").forget();
        if number == 13 && self.log.numbers().iter().filter(|seen| **seen == 13).count() == 1 {
            return Err(Thirteen);
        }
        Ok(number)
    }
}

/// An actor of the queue `name` on a node.
fn spawn(system: &ActorSystem, name: &str, node: &'static str, log: &Log, gate: &Arc<Semaphore>) -> CounterRef {
    let (log, gate) = (log.clone(), Arc::clone(gate));
    let props = Props::new(move || Counter { node, log: log.clone(), gate: Arc::clone(&gate) });
    system.spawn_with(name, props).expect("the name is free")
}

/// A node with a runtime of its own, which can die.
fn mortal(url: &str, start: impl FnOnce(&ActorSystem) -> CounterRef) -> (Runtime, ActorSystem, CounterRef) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("there is a thread");
    let (system, counter) = {
        let _inside = runtime.enter();
        let system = node(url);
        let counter = start(&system);
        (system, counter)
    };
    (runtime, system, counter)
}

/// Sends until it is accepted. Returns whether it was sent more than once.
async fn insist(counter: &CounterRef, number: u32) -> bool {
    fixture::insist(number, |key| counter.count(number).key(key).accepted()).await
}

#[tokio::test]
async fn another_node_that_waits_takes_a_queue_over_when_its_owner_dies() {
    let Some(server) = Server::start() else { return };
    let (log, shut, open) = (Log::default(), shut(), open());
    let (runtime, _system, first) = mortal(&server.url(), |system| spawn(system, "counter", "a", &log, &shut));
    for number in 1..=5 {
        insist(&first, number).await;
    }
    let second = node(&server.url());
    let waits = spawn(&second, "counter", "b", &log, &open);
    let own = spawn(&second, "own", "b's own", &log, &open);
    assert_eq!(timeout(LONG, own.count(1)).await.expect("it does not wait").ok(), Some(1), "its own queues work");
    log.until("the first one has begun", |log| log.of("a") == [1]).await;
    assert!(matches!(waits.count(6).accepted().await, Err(AcceptError::StoreDown(_))), "it has no queue");
    runtime.shutdown_background();
    log.until("the second one goes on", |log| log.of("b").len() == 5).await;
    insist(&waits, 6).await;
    log.until("the second one goes on", |log| log.of("b").len() == 6).await;
    assert_eq!((log.of("a"), log.of("b")), (vec![1], (1..=6).collect()));
    second.terminate().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_without_its_server_begins_nothing_that_another_node_has() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    let (log, gate, open) = (Log::default(), shut(), open());
    let first = node(&proxy.url());
    let cut_off = spawn(&first, "counter", "a", &log, &gate);
    let own = spawn(&first, "own", "a's own", &log, &open);
    for number in 1..=9 {
        insist(&cut_off, number).await;
    }
    insist(&own, 100).await;
    log.until("the first one has begun", |log| log.of("a") == [1] && log.of("a's own") == [100]).await;
    proxy.lets(Passes::Nothing);
    let second = node(&server.url());
    let next = spawn(&second, "counter", "b", &log, &open);
    log.until("the second one goes on", |log| log.of("b").len() == 9).await;
    // The handler of the first one comes back, and eight messages wait in its lane.
    gate.add_permits(OPEN);
    insist(&next, 10).await;
    log.until("the second one goes on", |log| log.of("b").len() == 10).await;
    tokio::time::sleep(LEASE).await;
    assert_eq!(log.of("a"), [1], "it owns nothing");
    proxy.lets(Passes::Both);
    // Its own queue goes on, and its late changes have no effect.
    insist(&own, 101).await;
    log.until("its own queue goes on", |log| log.of("a's own") == [100, 101]).await;
    tokio::time::sleep(LEASE * 2).await;
    insist(&own, 102).await;
    insist(&next, 11).await;
    log.until("the second one goes on", |log| log.of("b").len() == 11).await;
    // It takes the queue back when the second one leaves.
    second.terminate().await;
    insist(&cut_off, 12).await;
    log.until("the first one goes on", |log| log.of("a").len() == 2).await;
    assert_eq!((log.of("a"), log.of("b")), (vec![1, 12], (1..=11).collect()));
    first.terminate().await;
}

/// What happens to the server and the wire while messages are sent.
async fn rides_out(disturb: impl AsyncFnOnce(&mut Server, &Proxy)) -> Option<(Vec<u32>, Vec<u32>)> {
    let mut server = Server::start()?;
    let proxy = Proxy::to(server.port()).await;
    let (log, open) = (Log::default(), open());
    let system = node(&proxy.url());
    let counter = spawn(&system, "counter", "a", &log, &open);
    let sending = tokio::spawn(async move {
        let mut sent_again = Vec::new();
        for number in 100..400 {
            if insist(&counter, number).await {
                sent_again.push(number);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        sent_again
    });
    log.until("it has begun", |log| log.numbers().len() > 20).await;
    disturb(&mut server, &proxy).await;
    let sent_again = sending.await.expect("all are accepted");
    log.until("all are handled", |log| log.numbers().contains(&399)).await;
    system.terminate().await;
    let all = log.numbers();
    let lost: Vec<_> = (100..400).filter(|number| !all.contains(number)).collect();
    assert!(lost.is_empty(), "accepted and lost: {lost:?}");
    let mut firsts = Vec::new();
    let repeated: Vec<_> = all
        .into_iter()
        .filter(|number| {
            let again = firsts.contains(number);
            if !again {
                firsts.push(*number);
            }
            again
        })
        .collect();
    assert!(firsts.is_sorted(), "in order: {firsts:?}");
    Some((repeated, sent_again))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_under_its_actors_loses_and_repeats_nothing() {
    let disturb = async |server: &mut Server, _: &Proxy| {
        for pause in [0, 300, 1500] {
            server.kill();
            tokio::time::sleep(Duration::from_millis(pause)).await;
            server.start_again();
            tokio::time::sleep(Duration::from_millis(700)).await;
        }
    };
    let Some((repeated, sent_again)) = rides_out(disturb).await else { return };
    // A server that was started again knows the keys of waiting messages, and no others.
    let unasked: Vec<_> = repeated.iter().filter(|number| !sent_again.contains(number)).collect();
    assert!(unasked.is_empty(), "nobody died, and nobody sent these twice: {unasked:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stands_still_longer_than_the_lease_loses_and_repeats_nothing() {
    let disturb = async |server: &mut Server, _: &Proxy| {
        for _ in 0..2 {
            server.freeze();
            tokio::time::sleep(LEASE * 3).await;
            server.thaw();
            tokio::time::sleep(LEASE * 2).await;
        }
    };
    let Some((repeated, _)) = rides_out(disturb).await else { return };
    assert!(repeated.is_empty(), "nobody died: {repeated:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wires_that_stall_one_way_and_are_cut_lose_and_repeat_nothing() {
    let disturb = async |_: &mut Server, proxy: &Proxy| {
        for passes in [Passes::Up, Passes::Down, Passes::Nothing] {
            proxy.lets(passes);
            tokio::time::sleep(LEASE * 3).await;
            proxy.lets(Passes::Both);
            tokio::time::sleep(LEASE).await;
        }
        for _ in 0..20 {
            proxy.cut();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let Some((repeated, _)) = rides_out(disturb).await else { return };
    assert!(repeated.is_empty(), "nobody died: {repeated:?}");
}

#[tokio::test]
async fn what_another_node_retries_reaches_the_owner_of_the_queue() {
    let Some(server) = Server::start() else { return };
    let (log, open) = (Log::default(), open());
    let first = node(&server.url());
    let counter = spawn(&first, "counter", "a", &log, &open);
    insist(&counter, 13).await;
    let second = node(&server.url());
    let quarantined = timeout(LONG, async {
        loop {
            match second.store().quarantined("/user/counter").await {
                Ok(quarantined) if !quarantined.is_empty() => return quarantined,
                _ => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    });
    let quarantined = quarantined.await.expect("13 fails");
    second.store().retry(quarantined[0].id).await.expect("the server runs");
    log.until("it is handled again", |log| log.of("a") == [13, 13]).await;
    insist(&counter, 14).await;
    log.until("and so is the next one", |log| log.of("a") == [13, 13, 14]).await;
    // A queue with an owner elsewhere is neither renamed nor discarded.
    for refused in [
        second.store().discard_queue("/user/counter").await,
        second.store().rename("/user/counter", "elsewhere").await,
    ] {
        assert_eq!(refused.expect_err("it has an owner").kind, StoreErrorKind::Claimed);
    }
    insist(&counter, 15).await;
    log.until("it goes on", |log| log.of("a") == [13, 13, 14, 15]).await;
    first.terminate().await;
    second.store().discard_queue("/user/counter").await.expect("it has no owner any more");
    second.terminate().await;
}

/// Whoever reaches the server can send a notice.
#[tokio::test]
async fn a_notice_that_lies_does_not_fill_a_mailbox() {
    let Some(server) = Server::start() else { return };
    let (log, open) = (Log::default(), open());
    let first = node(&server.url());
    let counter = spawn(&first, "counter", "a", &log, &open);
    insist(&counter, 1).await;
    let queue = first.store().queues().await.expect("the server runs")[0].queue;
    let client = async_nats::connect(server.url()).await.expect("the server runs");
    for last in [u64::MAX, u64::MAX - 1] {
        let text = last.to_string().into();
        client.publish(format!("sv.shop.notice.{}", queue.0), text).await.expect("the server runs");
    }
    client.flush().await.expect("the server runs");
    for number in 2..=5 {
        insist(&counter, number).await;
    }
    log.until("all are handled", |log| log.of("a") == [1, 2, 3, 4, 5]).await;
    first.terminate().await;
}

#[tokio::test]
async fn whoever_sends_to_one_of_many_queues_does_not_ask_about_the_others() {
    let Some(server) = Server::start() else { return };
    let (mut store, _) = crate::opened(&server.url()).await;
    for number in 0..40 {
        store.claim(&format!("queue-{number}")).await.expect("nobody has it");
    }
    Box::new(store).close().await.expect("the server runs");
    let proxy = Proxy::to(server.port()).await;
    let system = node(&proxy.url());
    system.store().queues().await.expect("the server runs");
    let before = proxy.bytes_down();
    for number in 0..5 {
        let sender = system.store().sender::<Counter>(format!("queue-{number}"));
        let message = CounterMessage::Count { number: 1 };
        timeout(LONG, sender.accepted(message)).await.expect("it does not wait").expect("it is accepted");
    }
    let bytes = proxy.bytes_down() - before;
    assert!(bytes < 50_000, "{bytes} bytes for 5 messages");
    system.terminate().await;
}

/// Otherwise the store would be opened again for each message, and all other queues would wait.
#[tokio::test]
async fn whoever_sends_to_a_queue_whose_stream_is_gone_holds_up_no_other_queue() {
    let Some(server) = Server::start() else { return };
    let (log, open) = (Log::default(), open());
    let system = node(&server.url());
    let counter = spawn(&system, "counter", "a", &log, &open);
    let sender = system.store().sender::<Counter>("gone");
    let send = || timeout(LONG, sender.accepted(CounterMessage::Count { number: 1 }));
    send().await.expect("it does not wait").expect("it is accepted");
    let rows = system.store().queues().await.expect("the server runs");
    let queue = rows.iter().find(|row| row.name == "gone").expect("it was made").queue;
    let name = format!("SV_shop_Q{}", queue.0);
    server.context().await.delete_stream(&name).await.expect("it is there");
    for number in 0..5 {
        let refused = send().await.expect("it does not wait").expect_err("there is no stream");
        assert!(matches!(&refused, AcceptError::StoreDown(text) if text.contains(&name)), "{refused}");
        counter.count(number).accepted().await.expect("the others go on");
    }
    system.terminate().await;
}
