//! A server that is killed in the midst of everything. `SUPERVISE_KILLS` says how often.
//!
//! Rules 27.1, 27.13 and 27.19.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use supervise::durable::{
    Appended, CommitError, Group, JetStreamStore, MessageStore, Owner, QueueId, Room, Seq, StoreError,
    StoreErrorKind,
};

use crate::server::Server;
use crate::{Desk, LEASE, append, claims, handled, store};

/// How often the server is killed.
fn rounds() -> u64 {
    std::env::var("SUPERVISE_KILLS").map_or(40, |rounds| rounds.parse().expect("a number"))
}

/// What the owner of a queue knows.
#[derive(Default)]
struct Ledger {
    /// The numbers that were given out.
    last: u64,
    /// What waits, by its place in the queue.
    waits: BTreeMap<u64, u64>,
    /// What was handled, and the store has said so.
    left: BTreeSet<u64>,
}

impl Ledger {
    /// Sends and handles until the server is gone. Returns what may have left the queue.
    async fn work(&mut self, desk: &mut Desk) -> BTreeSet<u64> {
        loop {
            for _ in 0..=self.last % 3 {
                self.last += 1;
                let group = vec![append(desk.queue, self.last, None)];
                match desk.commit(group).await {
                    Ok(answers) => {
                        let Appended::Stored(seq) = answers[0] else { panic!("{answers:?}") };
                        self.waits.insert(seq.0, self.last);
                    }
                    Err(CommitError::Full(text)) => panic!("there is room: {text}"),
                    Err(CommitError::Unknown(_)) => return BTreeSet::new(),
                }
            }
            // Everything, or everything but the first or the last one.
            let (from, less) =
                [(0, 0), (1, 0), (0, 1), (0, 0)][usize::try_from(self.last % 4).unwrap_or_default()];
            let most = self.waits.len().saturating_sub(from + less);
            let leave: Vec<u64> = self.waits.keys().copied().skip(from).take(most).collect();
            if desk.commit(leave.iter().map(|seq| handled(desk.queue, *seq)).collect()).await.is_err() {
                return leave.iter().map(|seq| self.waits[seq]).collect();
            }
            self.left.extend(leave.iter().filter_map(|seq| self.waits.remove(seq)));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dur_44_a_server_that_is_killed_while_messages_leave_their_queue_loses_nothing() {
    let Some(mut server) = Server::start() else { return };
    // What is on its way when the server is killed waits for the whole timeout.
    let mut store = store(&server.url()).accept_timeout(Duration::from_millis(300));
    store.open(&Owner::new("shop")).await.expect("the server runs");
    let queue = store.claim("orders").await.expect("the queue is free").queue;
    let mut desk = Desk { store, queue };
    let mut ledger = Ledger::default();
    for round in 0..rounds() {
        let kill = async {
            tokio::time::sleep(Duration::from_millis(round * 7 % 40)).await;
            server.kill();
        };
        let (unsure, ()) = tokio::join!(ledger.work(&mut desk), kill);
        server.start_again();
        let claimed = claims(&mut desk.store).await;
        assert!(claimed.is_ok(), "round {round}: {claimed:?}");
        let room = Room { messages: usize::MAX, bytes: usize::MAX };
        let page = desk.store.page(desk.queue, Seq(0), room).await.expect("the queue is ours");
        let body = |body: &[u8]| body.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let found: BTreeMap<u64, u64> = page.iter().map(|stored| (stored.seq.0, body(&stored.body))).collect();
        let numbers: BTreeSet<u64> = found.values().copied().collect();
        let lost: Vec<u64> = ledger
            .waits
            .values()
            .copied()
            .filter(|number| !numbers.contains(number) && !unsure.contains(number))
            .collect();
        assert!(lost.is_empty(), "round {round}: accepted and lost: {lost:?}");
        let again: Vec<u64> = numbers.intersection(&ledger.left).copied().collect();
        assert!(again.is_empty(), "round {round}: handled, and waiting again: {again:?}");
        // nats-server 2.9.10 may count a message that it has deleted, if it was killed meanwhile.
        let counted = claimed.map_or(0, |claim| claim.waiting);
        assert!(counted >= found.len() as u64, "round {round}: {counted} wait of {}", found.len());
        ledger.waits = found;
    }
    assert!(ledger.left.len() as u64 > rounds(), "{} have left", ledger.left.len());
}

/// What two nodes know that share a queue.
#[derive(Default)]
struct Common {
    last: u64,
    accepted: BTreeSet<u64>,
    /// What was handled, and the store has said so.
    left: BTreeSet<u64>,
    /// What was handled, and the store has not said so.
    unsure: BTreeSet<u64>,
}

/// A node, and what it has in hand: numbers by their places.
struct Node {
    store: JetStreamStore,
    queue: QueueId,
    in_hand: BTreeMap<Seq, u64>,
    common: Arc<Mutex<Common>>,
}

impl Node {
    async fn new(server: &Server, common: &Arc<Mutex<Common>>) -> Self {
        // The nodes live, so none of them loses what it holds.
        let store = JetStreamStore::new(server.url()).lease(LEASE * 30).accept_timeout(Duration::from_millis(300));
        let mut node = Self { store, queue: QueueId(0), in_hand: BTreeMap::new(), common: Arc::clone(common) };
        node.comes_back().await;
        node
    }

    fn common(&self) -> MutexGuard<'_, Common> {
        self.common.lock().expect("nobody panics with it")
    }

    async fn comes_back(&mut self) {
        let deadline = tokio::time::Instant::now() + LEASE * 20;
        loop {
            let opened = self.store.open(&Owner::new("shop")).await.map(drop);
            let shared = match opened {
                Ok(()) => self.store.shared().expect("it can share").share("orders").await,
                Err(error) => Err(error),
            };
            match shared {
                Ok(claim) => break self.queue = claim.queue,
                Err(error) => {
                    let may_wait = error.kind == StoreErrorKind::Broken && tokio::time::Instant::now() < deadline;
                    assert!(may_wait, "{error}");
                    tokio::time::sleep(LEASE / 50).await;
                }
            }
        }
    }

    async fn take(&mut self, messages: usize) -> Result<u64, StoreError> {
        let in_hand: BTreeSet<Seq> = self.in_hand.keys().copied().collect();
        let room = Room { messages, bytes: usize::MAX };
        let taken = self.store.shared().expect("it can share").take(self.queue, &in_hand, room, true).await?;
        for message in taken.messages {
            let number = message.body.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            assert!(!self.common().left.contains(&number), "{number} was handled, and comes again");
            assert_eq!(message.crashes, 0, "nobody has died");
            self.in_hand.insert(message.seq, number);
        }
        Ok(taken.waiting)
    }

    async fn works(&mut self, seed: u64) {
        let mut random = seed;
        let mut random = move |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from((random >> 33) % below).expect("it is small")
        };
        loop {
            for _ in 0..random(3) {
                let number = {
                    let mut common = self.common();
                    common.last += 1;
                    common.last
                };
                let group = Group { changes: vec![append(self.queue, number, None)] };
                if self.store.commit(&group).await.is_err() {
                    return;
                }
                self.common().accepted.insert(number);
            }
            let room = random(4);
            if self.take(room).await.is_err() {
                return;
            }
            let (first, most) = (random(3), random(5));
            let leave: BTreeMap<Seq, u64> = match random(3) {
                0 => std::mem::take(&mut self.in_hand),
                _ => self.in_hand.iter().skip(first).take(most).map(|(seq, number)| (*seq, *number)).collect(),
            };
            self.in_hand.retain(|seq, _| !leave.contains_key(seq));
            self.common().unsure.extend(leave.values());
            let changes = leave.keys().map(|seq| handled(self.queue, seq.0)).collect();
            if self.store.commit(&Group { changes }).await.is_err() {
                return;
            }
            let mut common = self.common();
            for number in leave.values() {
                common.unsure.remove(number);
                common.left.insert(*number);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dur_45_a_server_that_is_killed_under_nodes_that_share_loses_nothing_that_was_accepted() {
    let Some(mut server) = Server::start() else { return };
    let common: Arc<Mutex<Common>> = Arc::default();
    let (mut one, mut other) = (Node::new(&server, &common).await, Node::new(&server, &common).await);
    for round in 0..rounds() {
        let left = || common.lock().expect("nobody panics with it").left.len();
        let before = left();
        let kill = async {
            tokio::time::sleep(Duration::from_millis(round * 7 % 60)).await;
            // On a busy machine nothing may have left until then. In every second round something has, unless the server does not answer.
            let until = tokio::time::Instant::now() + LEASE * 5;
            while round % 2 == 1 && left() == before && tokio::time::Instant::now() < until {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            server.kill();
        };
        tokio::join!(one.works(round * 2), other.works(round * 2 + 1), kill);
        server.start_again();
        for node in [&mut one, &mut other] {
            node.comes_back().await;
            node.in_hand.clear();
        }
        // The first one takes what it has held and what nobody holds, and the other one what it has held.
        one.take(10_000).await.expect("the server runs");
        let waiting = other.take(10_000).await.expect("the server runs");
        let found: Vec<u64> = one.in_hand.values().chain(other.in_hand.values()).copied().collect();
        let found_once: BTreeSet<u64> = found.iter().copied().collect();
        assert_eq!(found.len(), found_once.len(), "round {round}: two nodes have the same message");
        // nats-server 2.9.10 may go on counting a message that it was deleting when it was killed.
        assert!(waiting >= found.len() as u64, "round {round}: {waiting} wait, and there are {}", found.len());
        let common = one.common();
        let lost: Vec<&u64> = common
            .accepted
            .iter()
            .filter(|number| {
                !found_once.contains(number) && !common.left.contains(number) && !common.unsure.contains(number)
            })
            .collect();
        assert!(lost.is_empty(), "round {round}: accepted and lost: {lost:?}");
    }
    let left = one.common().left.len() as u64;
    assert!(left >= rounds() / 2, "{left} have left");
}
