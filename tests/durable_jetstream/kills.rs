//! A server that is killed in the midst of everything. `SUPERVISE_KILLS` says how often.
//!
//! Rules 27.1 and 27.13.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use supervise::durable::{Appended, CommitError, MessageStore, Owner, Room, Seq};

use crate::server::Server;
use crate::{Desk, append, claims, handled, store};

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
    let rounds = std::env::var("SUPERVISE_KILLS").map_or(40, |rounds| rounds.parse().expect("a number"));
    for round in 0..rounds {
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
        assert_eq!(claimed.map(|claim| claim.waiting).ok(), Some(found.len() as u64), "round {round}");
        ledger.waits = found;
    }
    assert!(ledger.left.len() as u64 > rounds, "{} have left", ledger.left.len());
}
