//! How many messages per second `SqliteStore` accepts, beside apalis on the same SQLite.
//!
//! ```text
//! cd tests/durable_peers && cargo run --release
//! cd tests/durable_peers && cargo run --release -- FOLDER     on another disk
//! ```
//!
//! Each producer is a task that waits until its message is stored before it sends the next one. apalis stores each task in a transaction of
//! its own. Its `setup` turns syncing off (`synchronous = OFF`), so that a power cut loses tasks that were pushed; the first figure is that
//! of apalis with `synchronous = FULL`, which promises what `accepted()` promises. The three take turns, and the figures are the medians of the rounds and
//! of their own ratios.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use apalis::prelude::*;
use apalis_sqlite::SqliteStorage;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use supervise::ActorSystem;
use supervise::durable::SqliteStore;
use tokio::task::JoinSet;

const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(1);
const BODY: usize = 100;

/// The messages of `supervise`.
mod orders {
    use supervise::prelude::*;

    #[actor(mailbox = durable(capacity = 100_000_000))]
    pub struct Orders;

    #[actor]
    impl Orders {
        #[handler]
        fn place(&mut self, order: String) {
            drop(order);
        }
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let folder = std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = folder.join(format!("peers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder can be written");
    println!("accepted per second, {BODY} bytes each (load {})", load());
    println!("| producers | apalis, FULL | apalis, OFF | supervise | x apalis, FULL | x apalis, OFF |");
    println!("|---|---|---|---|---|---|");
    for producers in [1, 64] {
        rates(&folder, producers).await;
    }
    std::fs::remove_dir_all(folder).expect("it is there");
}

async fn rates(folder: &Path, producers: u32) {
    let full = apalis(&folder.join(format!("full-{producers}")), SqliteSynchronous::Full).await;
    let off = apalis(&folder.join(format!("off-{producers}")), SqliteSynchronous::Off).await;
    let store = SqliteStore::new(folder.join(format!("supervise-{producers}")));
    let system = ActorSystem::builder("bench").store(store).start().expect("the name is valid");
    let sender = system.store().sender::<orders::Orders>("orders");
    system.store().ready().await.expect("it opens");
    let (mut fulls, mut offs, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        for (storage, rates) in [(&full, &mut fulls), (&off, &mut offs)] {
            let storage = storage.clone();
            let push = move || {
                let mut storage = storage.clone();
                async move { storage.push(body()).await.expect("there is room") }
            };
            rates.push(rate(producers, push).await);
        }
        let sender = sender.clone();
        let accept = move || {
            let sender = sender.clone();
            async move {
                sender.accepted(orders::OrdersMessage::Place { order: body() }).await.expect("there is room");
            }
        };
        ours.push(rate(producers, accept).await);
    }
    let times = |those: &[f64]| median(ours.iter().zip(those).map(|(ours, theirs)| ours / theirs).collect());
    let (of_full, of_off) = (times(&fulls), times(&offs));
    println!(
        "| {producers} | {:.0} | {:.0} | {:.0} | {of_full:.1} | {of_off:.1} |",
        median(fulls),
        median(offs),
        median(ours)
    );
    system.terminate().await;
}

/// apalis with one connection: SQLite has one writer at a time, and more of them wait for each other.
async fn apalis(path: &Path, synchronous: SqliteSynchronous) -> SqliteStorage<String> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(synchronous);
    let pool: SqlitePool =
        SqlitePoolOptions::new().max_connections(1).connect_with(options).await.expect("it is new");
    SqliteStorage::migrations().run(&pool).await.expect("it is new");
    SqliteStorage::new(&pool)
}

async fn rate<F: Future<Output = ()> + Send + 'static>(
    producers: u32,
    send: impl Fn() -> F + Clone + Send + 'static,
) -> f64 {
    let over = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    let began = Instant::now();
    for _ in 0..producers {
        let (over, send) = (Arc::clone(&over), send.clone());
        tasks.spawn(async move {
            let mut sent = 0_u32;
            while !over.load(Ordering::Relaxed) {
                send().await;
                sent += 1;
            }
            sent
        });
    }
    tokio::time::sleep(ROUND).await;
    over.store(true, Ordering::Relaxed);
    let sent: u32 = tasks.join_all().await.into_iter().sum();
    f64::from(sent) / began.elapsed().as_secs_f64()
}

fn body() -> String {
    "x".repeat(BODY)
}

/// The load of the machine in the last minute.
fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
