//! Does the store on a NATS server keep what it has accepted?
//!
//! Each test starts Debian's `nats-server` on a free port, with a folder of its own. Where it is not installed the tests say that
//! they were skipped.

mod attack;
mod busy;
mod cluster;
mod fixture;
mod kept;
mod kills;
mod members;
mod names;
mod nodes;
mod place;
mod proxy;
mod quarantine;
mod security;
mod server;
mod settings;
mod shared;
mod storms;

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use supervise::durable::{
    Append, Appended, Change, Claim, CommitError, Group, JetStreamStore, MessageId, MessageStore, Opened, Owner,
    QueueId, Room, Seq, StoreError, StoreErrorKind, check,
};

use crate::place::Place;
use crate::server::Server;

/// How long a queue stays with its owner after the owner's process has died.
const LEASE: Duration = Duration::from_secs(1);
/// The URL of the server that a child uses.
const URL: &str = "SUPERVISE_NATS";

fn store(url: &str) -> JetStreamStore {
    JetStreamStore::new(url).lease(LEASE).accept_timeout(Duration::from_secs(2))
}

/// A store with one queue.
struct Desk {
    store: JetStreamStore,
    queue: QueueId,
}

async fn opened(url: &str) -> (JetStreamStore, Opened) {
    let mut store = store(url);
    let opened = store.open(&Owner::new("shop")).await.expect("the server runs");
    (store, opened)
}

impl Desk {
    async fn new(url: &str) -> Self {
        let (mut store, _) = opened(url).await;
        let queue = claims(&mut store).await.expect("the queue is free").queue;
        Self { store, queue }
    }

    async fn commit(&mut self, changes: Vec<Change>) -> Result<Vec<Appended>, CommitError> {
        self.store.commit(&Group { changes }).await
    }

    async fn bodies(&mut self) -> Vec<u64> {
        let room = Room { messages: usize::MAX, bytes: usize::MAX };
        let page = self.store.page(self.queue, Seq(0), room).await.expect("the queue is ours");
        page.iter()
            .map(|message| message.body.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)))
            .collect()
    }
}

/// The stream of the only queue.
async fn stream_of_only_queue(server: &Server) -> String {
    use tokio_stream::StreamExt;
    let context = server.context().await;
    let names: Vec<_> = context.stream_names().collect().await;
    let names = names.into_iter().map(|name| name.expect("the server runs"));
    names.into_iter().find(|name| name.contains("_Q") && !name.contains("QUARANTINE")).expect("there is a queue")
}

/// Opens and claims until it works, as the runtime does.
async fn claims(store: &mut JetStreamStore) -> Result<Claim, StoreError> {
    let deadline = tokio::time::Instant::now() + LEASE * 20;
    loop {
        let claimed = store.claim("orders").await;
        match &claimed {
            Err(error)
                if matches!(error.kind, StoreErrorKind::Claimed | StoreErrorKind::Broken)
                    && tokio::time::Instant::now() < deadline =>
            {
                if error.kind == StoreErrorKind::Broken {
                    let _again = store.open(&Owner::new("shop")).await;
                }
                tokio::time::sleep(LEASE / 10).await;
            }
            _ => return claimed,
        }
    }
}

fn append(queue: QueueId, number: u64, key: Option<String>) -> Change {
    let body = Arc::from(number.to_le_bytes());
    Change::Append(Append { queue, kind: "order".into(), body, accepted_at: SystemTime::now(), key })
}

fn large(queue: QueueId, bytes: usize) -> Change {
    let body = Arc::from(vec![7; bytes]);
    Change::Append(Append { queue, kind: "order".into(), body, accepted_at: SystemTime::now(), key: None })
}

fn handled(queue: QueueId, seq: u64) -> Change {
    Change::Handled(MessageId { queue, seq: Seq(seq) })
}

#[tokio::test]
async fn the_store_on_nats_keeps_the_contract() {
    let Some(server) = Server::start() else { return };
    Box::pin(check(|place| Place::new(place, store(&server.url())))).await;
}

#[tokio::test]
async fn dur_42_another_node_goes_on_after_the_lease_in_order_and_the_head_is_charged() {
    let Some(server) = Server::start() else { return };
    let mut first = Desk::new(&server.url()).await;
    let queue = first.queue;
    first.commit((1..=5).map(|number| append(queue, number, None)).collect()).await.expect("the server runs");
    first.commit(vec![handled(queue, 1)]).await.expect("the server runs");
    // While the owner lives, nobody else gets the queue.
    let (mut second, _) = opened(&server.url()).await;
    let error = second.claim("orders").await.expect_err("the queue has an owner");
    assert_eq!(error.kind, StoreErrorKind::Claimed, "{error}");
    drop(first);
    let claim = claims(&mut second).await.expect("the lease ends");
    assert_eq!((claim.handled, claim.waiting, claim.begun), (Seq(1), 4, Some(Seq(2))));
    assert_eq!(claim.may_have_begun, Seq(5), "nobody knows which of them were handled since the last group");
    let mut second = Desk { store: second, queue };
    assert_eq!(second.bodies().await, [2, 3, 4, 5]);
    // It leaves before it has handled them.
    second.commit(vec![append(queue, 6, None)]).await.expect("the server runs");
    Box::new(second.store).close().await.expect("the server runs");
    let (mut third, _) = opened(&server.url()).await;
    let claim = third.claim("orders").await.expect("nobody has it");
    assert_eq!((claim.begun, claim.may_have_begun), (None, Seq(5)));
    Box::new(third).close().await.expect("the server runs");
    // Nor does anybody know it when the queue is shared.
    let (mut fourth, _) = opened(&server.url()).await;
    let shared = fourth.shared().expect("it can share queues").share("orders").await.expect("nobody has it");
    assert_eq!(shared.may_have_begun, Seq(5));
}

#[tokio::test]
async fn dur_43_an_owner_that_was_stopped_for_longer_than_its_lease_begins_nothing_more() {
    let Some(server) = Server::start() else { return };
    let mut child = Command::new(std::env::current_exe().expect("this test is a file"))
        .args(["--exact", "a_child_reads_its_queue", "--nocapture"])
        .env(URL, server.url())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut says = std::io::BufReader::new(child.stdout.take().expect("it is piped"));
    let fence = said(&mut says, "fence");
    signal(child.id(), "STOP");
    let (mut store, _) = opened(&server.url()).await;
    let claim = claims(&mut store).await.expect("the lease ends");
    assert!(claim.fence > fence, "{} is newer than {fence}", claim.fence);
    assert_eq!(claim.begun, Some(Seq(1)));
    signal(child.id(), "CONT");
    drop(child.stdin.take());
    assert_eq!(said(&mut says, "refused"), 2, "it may neither read nor begin");
    assert!(child.wait().expect("it has ended").success());
    let mut desk = Desk { store, queue: claim.queue };
    assert_eq!(desk.bodies().await, [1, 2, 3], "its late words have changed nothing");
}

/// Waits until the child prints `word`, and returns the number after it.
fn said(says: &mut impl std::io::BufRead, word: &str) -> u64 {
    loop {
        let mut line = String::new();
        assert!(says.read_line(&mut line).expect("it speaks UTF-8") > 0, "the child has ended");
        if let Some((_, number)) = line.split_once(&format!("{word} ")) {
            return number.trim().parse().expect("a number");
        }
    }
}

fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "{pid} gets {name}");
}

/// The child process of `dur_43`. Outside that process, this test does nothing.
#[tokio::test]
async fn a_child_reads_its_queue() {
    let Ok(url) = std::env::var(URL) else { return };
    let (mut store, opened) = opened(&url).await;
    let claim = store.claim("orders").await.expect("the queue is free");
    let mut desk = Desk { store, queue: claim.queue };
    let queue = claim.queue;
    desk.commit((1..=3).map(|number| append(queue, number, None)).collect()).await.expect("the server runs");
    println!("fence {}", claim.fence);
    // Waits until the parent closes the pipe.
    let mut nothing = String::new();
    std::io::stdin().read_line(&mut nothing).expect("the parent closes it");
    let page = desk.store.page(queue, Seq(0), Room { messages: 1, bytes: 1 }).await;
    let begins = opened.marks.owns(queue);
    // The result does not matter, because this changes nothing.
    let _late = desk.commit(vec![handled(queue, 1)]).await;
    println!("refused {}", u8::from(page.is_err()) + u8::from(!begins));
}

#[tokio::test]
async fn dur_44_a_server_that_is_killed_loses_nothing_that_was_accepted() {
    let Some(mut server) = Server::start() else { return };
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    let (mut accepted, mut failed) = (Vec::new(), 0);
    for round in 0..3_u64 {
        for number in round * 20..round * 20 + 20 {
            if number % 20 == 10 {
                server.kill();
            }
            if number % 20 == 12 {
                server.start_again();
            }
            loop {
                let group = vec![append(queue, number, Some(format!("order-{number}")))];
                match desk.commit(group).await {
                    Ok(_) => {
                        accepted.push(number);
                        break;
                    }
                    Err(CommitError::Full(text)) => panic!("there is room: {text}"),
                    // The outcome is unknown. The runtime would open the store again, and the client may send this
                    // number again.
                    Err(CommitError::Unknown(_)) => failed += 1,
                }
                if !server.runs() {
                    break;
                }
                reopen(&mut desk).await;
            }
        }
    }
    assert!(failed >= 3, "{failed} groups have failed while the server was down");
    reopen(&mut desk).await;
    let found = desk.bodies().await;
    assert!(found.is_sorted(), "in order: {found:?}");
    let lost: Vec<_> = accepted.iter().filter(|number| !found.contains(number)).collect();
    assert!(lost.is_empty(), "accepted and lost: {lost:?}");
    assert!(accepted.len() > 50, "{accepted:?}");
}

async fn reopen(desk: &mut Desk) {
    loop {
        if desk.store.open(&Owner::new("shop")).await.is_ok() && desk.store.claim("orders").await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
