//! How many messages per second a whole system accepts and handles with `SqliteStore`: senders, the writer, the store and an actor.
//!
//! ```text
//! cargo bench -p supervise-tests-durable-sqlite --bench system
//! cargo bench -p supervise-tests-durable-sqlite --bench system -- FOLDER     on another disk
//! ```
//!
//! Each producer is a task that waits until its message is accepted before it sends the next one. Three things take turns: a bare SQLite
//! loop with a group for as many producers, a system that only accepts, and a system whose actor also handles. The figures are the medians of the rounds and of their
//! own ratios: absolute figures depend on the load of the machine.

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::{bare, median};
use rusqlite::Connection;
use supervise::Props;
use supervise::durable::SqliteStore;
use supervise::prelude::*;
use tokio::task::JoinSet;

const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_millis(500);
const BODY: usize = 100;
const BACKLOG: u64 = 1_000_000;
/// Senders that fill the backlog.
const MANY: u32 = 4096;

#[actor(mailbox = durable(capacity = 100_000_000))]
struct Orders {
    handled: Arc<AtomicU64>,
}

#[actor]
impl Orders {
    #[handler]
    fn place(&mut self, order: String) {
        drop(order);
        self.handled.fetch_add(1, Ordering::Relaxed);
    }
}

fn main() {
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let folder =
        folder.map_or_else(std::env::temp_dir, PathBuf::from).join(format!("system-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder can be written");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("it starts");
    println!(
        "per second, {BODY} bytes each | bare SQLite |  accepted | x SQLite | and handled | x accepted (load {})",
        load()
    );
    for producers in [1, 64, 4096] {
        runtime.block_on(rates(&folder, producers));
    }
    runtime.block_on(drain(&folder));
    std::fs::remove_dir_all(folder).expect("it is there");
}

fn start(path: &Path) -> ActorSystem {
    ActorSystem::builder("bench").store(SqliteStore::new(path)).start().expect("the name is valid")
}

fn spawn(system: &ActorSystem, handled: &Arc<AtomicU64>) -> OrdersRef {
    let handled = Arc::clone(handled);
    let props = Props::new(move || Orders { handled: Arc::clone(&handled) }).queue("orders");
    system.spawn_with("orders", props).expect("the name is free")
}

fn body() -> String {
    "x".repeat(BODY)
}

/// Lets producers send until the round is over. Returns how many messages were accepted.
async fn produce<F: Future<Output = ()> + Send + 'static>(
    producers: u32,
    send: impl Fn() -> F + Clone + Send + 'static,
) -> u64 {
    let over = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    for _ in 0..producers {
        let (over, send) = (Arc::clone(&over), send.clone());
        tasks.spawn(async move {
            let mut accepted = 0_u64;
            while !over.load(Ordering::Relaxed) {
                send().await;
                accepted += 1;
            }
            accepted
        });
    }
    tokio::time::sleep(ROUND).await;
    over.store(true, Ordering::Relaxed);
    tasks.join_all().await.into_iter().sum()
}

async fn rates(folder: &Path, producers: u32) {
    let bare = bare(&folder.join(format!("bare-{producers}")));
    let mut first = 1_i64;
    let accepts = start(&folder.join(format!("accepts-{producers}")));
    let sender = accepts.store().sender::<Orders>("orders");
    let consumer = start(&folder.join(format!("consumer-{producers}")));
    let handled = Arc::new(AtomicU64::new(0));
    let orders = spawn(&consumer, &handled);
    accepts.store().ready().await.expect("it opens");
    consumer.store().ready().await.expect("it opens");
    let (mut bares, mut accepting, mut handling) = (Vec::new(), Vec::new(), Vec::new());
    let mut total = 0;
    for _ in 0..ROUNDS {
        let (began, mut groups) = (Instant::now(), 0_u32);
        while began.elapsed() < ROUND {
            group(&bare, producers, &mut first);
            groups += 1;
        }
        bares.push(f64::from(groups) * f64::from(producers) / began.elapsed().as_secs_f64());

        let (began, sender) = (Instant::now(), sender.clone());
        let accepted = produce(producers, move || {
            let sender = sender.clone();
            async move { sender.accepted(OrdersMessage::Place { order: body() }).await.expect("there is room") }
        });
        let accepted = accepted.await;
        accepting.push(rate(accepted, began));

        let (began, orders) = (Instant::now(), orders.clone());
        let accepted = produce(producers, move || {
            let orders = orders.clone();
            async move { orders.place(body()).accepted().await.expect("there is room") }
        });
        let accepted = accepted.await;
        total += accepted;
        until(&handled, total).await;
        handling.push(rate(accepted, began));
    }
    let ratio = |these: &[f64], those: &[f64]| {
        median(these.iter().zip(those).map(|(these, those)| these / those).collect())
    };
    let (of_bare, of_accepted) = (ratio(&accepting, &bares), ratio(&handling, &accepting));
    println!(
        "{producers:>4} producers             | {:>11.0} | {:>9.0} | {of_bare:>8.2} | {:>11.0} | {of_accepted:>8.2}",
        median(bares),
        median(accepting),
        median(handling)
    );
    accepts.terminate().await;
    consumer.terminate().await;
}

async fn until(handled: &AtomicU64, total: u64) {
    while handled.load(Ordering::Relaxed) < total {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// One group of the bare loop: it stores a message for each producer, and forgets those of the group before.
fn group(bare: &Connection, producers: u32, first: &mut i64) {
    let mut insert = bare.prepare("INSERT INTO message (body) VALUES (?)").expect("the table is there");
    let mut forget = bare.prepare("DELETE FROM message WHERE id BETWEEN ? AND ?").expect("the table is there");
    let body = body();
    bare.execute_batch("BEGIN IMMEDIATE").expect("it is ours");
    for _ in 0..producers {
        insert.execute([&body]).expect("there is room");
    }
    forget.execute([*first - i64::from(producers), *first - 1]).expect("it is there");
    *first += i64::from(producers);
    bare.execute_batch("COMMIT").expect("there is room");
}

/// Fills a backlog, starts an actor, and waits until it has handled everything.
async fn drain(folder: &Path) {
    let system = start(&folder.join("backlog"));
    let sender = system.store().sender::<Orders>("orders");
    let left = Arc::new(AtomicU64::new(BACKLOG));
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..MANY {
        let (left, sender) = (Arc::clone(&left), sender.clone());
        tasks.spawn(async move {
            let takes = |left: u64| left.checked_sub(1);
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, takes).is_ok() {
                sender.accepted(OrdersMessage::Place { order: body() }).await.expect("there is room");
            }
        });
    }
    tasks.join_all().await;
    let accepting = rate(BACKLOG, began);
    let handled = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    let _orders = spawn(&system, &handled);
    until(&handled, BACKLOG).await;
    let draining = rate(BACKLOG, began);
    println!(
        "{BACKLOG} messages: accepted with {MANY} producers {accepting:.0} per second, then handled {draining:.0} per second: x {:.2} (load {})",
        draining / accepting,
        load()
    );
    system.terminate().await;
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn rate(messages: u64, began: Instant) -> f64 {
    messages as f64 / began.elapsed().as_secs_f64()
}

/// The load of the machine in the last minute.
fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}
