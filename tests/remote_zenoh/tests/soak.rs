//! Tells, sends and asks over links whose nodes are killed, stopped and started again, and an account of each message. It runs for ten
//! seconds, or for as many as `SOAK_SECONDS` says.
//!
//! Each node prints what it handles, and what was printed survives the process. So in the end it is known of each message that a sender
//! gave to a ref whether it was handled, and of each answer whether it is true.
//!
//! Rules 26.1, 26.2, 26.3, 26.6 and 26.11.

mod there;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use supervise::remote::Node;
use supervise::zenoh::Zenoh;
use supervise::{ActorSystem, Answer, AskError, DeadLetterReason, Event, Interest, SendErrorReason};
use supervise_remote_zenoh::{Ledger, LedgerRef, PATIENCE};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::there::{There, soon};

/// How many nodes are killed, and how many senders send to each of them.
const NODES: usize = 3;
const SENDERS: u64 = 4;

/// The window of a node that sets none, and the least that a message takes of it.
const WINDOW: u64 = 1 << 20;
const MESSAGE: u64 = 32;

/// What one sender has given to one ref.
#[derive(Default)]
struct Account {
    /// The numbers of the messages, in their order.
    given: Vec<u64>,
    /// What became of the asks.
    answers: BTreeMap<u64, Result<u64, AskError>>,
    /// The ref has seen no verdict.
    is_open: bool,
}

impl Account {
    /// Sends and asks once more, behind all that was sent before. Returns whether the answer came.
    async fn close(&mut self, ledger: &LedgerRef, sender: u64, mut number: u64) -> bool {
        loop {
            number += 1;
            if ledger.enter(sender, number).send().await.is_err() {
                return false;
            }
            self.given.push(number);
            number += 1;
            match ledger.enter(sender, number).ask() {
                Ok(answer) => {
                    self.given.push(number);
                    let answer = answer.await;
                    let is_ok = answer.is_ok();
                    self.answers.insert(number, answer);
                    return is_ok;
                }
                Err(error) if error.reason() == SendErrorReason::MailboxFull => {}
                Err(_) => return false,
            }
        }
    }
}

/// What one node has handled: the numbers of each sender, in their order.
type Entries = Arc<Mutex<BTreeMap<u64, Vec<u64>>>>;

struct Shared {
    node: Node,
    path: String,
    is_over: Arc<AtomicBool>,
    numbers: Arc<AtomicU64>,
}

/// Random numbers that repeat for a seed (`xorshift64*`).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % limit
    }
}

impl Shared {
    async fn find(&self) -> LedgerRef {
        loop {
            if let Ok(found) = self.node.find::<Ledger>(&self.path).await {
                return found;
            }
        }
    }

    /// Sends through one ref after the other, until the soak is over. A sender of its own for each ref, so that it is known what went
    /// through which.
    async fn send(self, seed: u64) -> Vec<(u64, Account)> {
        let (mut chance, mut accounts) = (Chance(seed), Vec::new());
        loop {
            let (ledger, sender) = (self.find().await, self.numbers.fetch_add(1, SeqCst));
            let mut account = Account::default();
            let mut asked: Vec<(u64, Answer<u64>)> = Vec::new();
            let mut number = 0;
            let open = loop {
                if self.is_over.load(SeqCst) {
                    break true;
                }
                number += 1;
                let message = ledger.enter(sender, number);
                let given = match chance.below(8) {
                    0..4 => message.send().await.map_err(|error| error.reason()),
                    4..6 => message.tell().map_err(|error| error.reason()),
                    _ => message.ask().map(|answer| asked.push((number, answer))).map_err(|error| error.reason()),
                };
                match given {
                    Ok(()) => account.given.push(number),
                    Err(SendErrorReason::MailboxFull) => tokio::task::yield_now().await,
                    Err(SendErrorReason::Unreachable) => break false,
                    Err(other) => panic!("{other:?}"),
                }
                if asked.len() > 100 {
                    for (number, answer) in asked.drain(..) {
                        account.answers.insert(number, soon(answer).await);
                    }
                }
            };
            for (number, answer) in asked {
                account.answers.insert(number, soon(answer).await);
            }
            account.is_open = open && soon(account.close(&ledger, sender, number)).await;
            accounts.push((sender, account));
            if open {
                return accounts;
            }
        }
    }
}

/// Reads what a node prints, until its process is gone.
async fn read(
    mut there: There,
    entries: Entries,
    mut orders: tokio::sync::mpsc::UnboundedReceiver<Order>,
    done: UnboundedSender<()>,
) {
    let mut is_ending = false;
    loop {
        tokio::select! {
            line = there.line() => {
                let Some(line) = line else { break };
                let Some(entry) = line.strip_prefix("entry ") else { continue };
                let (sender, number) = entry.split_once(' ').expect("two numbers");
                let mut entries = entries.lock().unwrap();
                entries.entry(sender.parse().unwrap()).or_default().push(number.parse().unwrap());
            }
            order = orders.recv(), if !is_ending => match order {
                Some(Order::Signal(signal)) => there.signal(signal),
                None => {
                    is_ending = true;
                    there.close();
                }
            },
        }
    }
    drop(done);
}

enum Order {
    Signal(&'static str),
}

/// A node whose output is being read.
struct Reading {
    address: String,
    orders: UnboundedSender<Order>,
    done: tokio::sync::mpsc::UnboundedReceiver<()>,
}

impl Reading {
    async fn new(address: &str, seed: &str, entries: &Entries) -> Self {
        let there = There::new(address, &[seed]).await;
        let address = there.address.clone();
        let (orders, ordered) = unbounded_channel();
        let (ends, done) = unbounded_channel();
        tokio::spawn(read(there, Arc::clone(entries), ordered, ends));
        Self { address, orders, done }
    }

    fn signal(&self, signal: &'static str) {
        self.orders.send(Order::Signal(signal)).expect("it runs");
    }

    /// Waits until its process is gone and its output was read.
    async fn gone(mut self) {
        soon(self.done.recv()).await;
    }
}

#[derive(Debug, Default)]
struct Totals {
    refs: usize,
    given: usize,
    handled: usize,
    answered: usize,
    not_delivered: usize,
    perhaps: usize,
    lost: usize,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_is_accounted_for_while_nodes_are_killed() {
    let seconds = std::env::var("SOAK_SECONDS").map_or(10, |text| text.parse().expect("a number of seconds"));
    let system = ActorSystem::new("here");
    let node = Node::builder(&system).patience(PATIENCE).join(Zenoh::listen("127.0.0.1:0")).await.unwrap();
    let mut letters = system.events().subscribe_to(Interest::DEAD_LETTERS);
    let unsent = tokio::spawn(async move {
        let (mut unsent, mut others) = (0, Vec::new());
        while let Ok(Some(event)) = tokio::time::timeout(Duration::from_secs(3600), letters.recv()).await {
            if let Event::DeadLetter(letter) = event {
                match letter.reason {
                    DeadLetterReason::Unreachable => unsent += 1,
                    _ => others.push(letter),
                }
            }
        }
        (unsent, others)
    });
    let (is_over, numbers, entries) =
        (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(1)), Entries::default());
    let (mut nodes, mut senders) = (Vec::new(), Vec::new());
    for number in 0..NODES {
        let there = Reading::new("127.0.0.1:0", node.id().address(), &entries).await;
        for seed in 0..SENDERS {
            let (is_over, numbers) = (Arc::clone(&is_over), Arc::clone(&numbers));
            let path = format!("supervise://there@{}/user/ledger", there.address);
            let shared = Shared { node: node.clone(), path, is_over, numbers };
            senders.push(tokio::spawn(shared.send(1 + seed + SENDERS * number as u64)));
        }
        nodes.push(there);
    }
    let (began, mut chance) = (Instant::now(), Chance(18));
    let (mut kills, mut stops) = (0_u64, 0_u64);
    while began.elapsed() < Duration::from_secs(seconds) {
        tokio::time::sleep(Duration::from_millis(200 + chance.below(1000))).await;
        let which = usize::try_from(chance.below(NODES as u64)).unwrap();
        if chance.below(4) == 0 {
            stops += 1;
            nodes[which].signal("STOP");
            // Sometimes for less than the patience of its peers.
            tokio::time::sleep(PATIENCE / 2 * u32::try_from(1 + chance.below(3)).unwrap()).await;
            nodes[which].signal("CONT");
        } else {
            kills += 1;
            let there = nodes.swap_remove(which);
            let address = there.address.clone();
            there.signal("KILL");
            there.gone().await;
            nodes.push(Reading::new(&address, node.id().address(), &entries).await);
        }
    }
    is_over.store(true, SeqCst);
    let mut accounts = Vec::new();
    for sender in senders {
        accounts.extend(soon(sender).await.unwrap());
    }
    for there in nodes {
        let Reading { orders, mut done, .. } = there;
        drop(orders);
        soon(done.recv()).await;
    }
    soon(system.terminate()).await;
    drop((node, system));
    let (unsent, others) = soon(unsent).await.unwrap();
    assert!(others.is_empty(), "{others:?}");
    let entries = entries.lock().unwrap();
    let mut totals = Totals { refs: accounts.len(), ..Totals::default() };
    for (sender, Account { given, answers, is_open }) in &accounts {
        let nothing = Vec::new();
        let handled = entries.get(sender).unwrap_or(&nothing);
        // Rule 26.1.
        let other = handled.iter().zip(given).position(|(handled, given)| handled != given);
        assert_eq!(other, None, "sender {sender}: a message is missing, or was handled twice");
        assert!(handled.len() <= given.len(), "sender {sender}: more was handled than sent");
        if *is_open {
            assert_eq!(handled.len(), given.len(), "sender {sender} met no verdict");
        }
        for (number, answer) in answers {
            let is_handled = handled.last().is_some_and(|last| number <= last);
            match answer {
                Ok(answer) => assert!(answer == number && is_handled, "{sender} {number}"),
                Err(AskError::Undeliverable) => {
                    assert!(!is_handled, "{sender} {number}: a retry would not be safe");
                }
                Err(AskError::ConnectionLost) => totals.perhaps += 1,
                Err(other) => panic!("{other:?}"),
            }
            totals.answered += usize::from(answer.is_ok());
            totals.not_delivered += usize::from(matches!(answer, Err(AskError::Undeliverable)));
        }
        totals.given += given.len();
        totals.handled += handled.len();
        totals.lost += given.len() - handled.len();
    }
    eprintln!("{kills} kills, {stops} stops, {unsent} dead letters: {totals:?}");
    // What was neither handled nor a dead letter was under way, or on its node, at a verdict.
    let verdicts = kills + stops;
    let under_way = (totals.lost as u64).saturating_sub(unsent);
    assert!(under_way <= verdicts * (WINDOW / MESSAGE + 2 * 64), "{under_way} messages were lost without a trace");
    assert!(totals.refs > NODES * usize::try_from(SENDERS).unwrap(), "nobody needed a new ref");
    assert!(kills > 0 && totals.answered > 0 && totals.handled > 1000);
}
