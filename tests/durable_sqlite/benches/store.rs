//! How many messages per second `SqliteStore` accepts, in comparison with one file that is synced and with a bare
//! SQLite loop with the same groups.
//!
//! ```text
//! cargo bench -p supervise-tests-durable-sqlite
//! cargo bench -p supervise-tests-durable-sqlite -- FOLDER     on another disk
//! ```
//!
//! A closed loop: all producers hand one message over, the group is stored, all are told, and so on. The three take turns, and the
//! figures are the medians of the rounds and of their own ratios: absolute figures depend on the load of the machine.

mod common;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use common::{bare, median};
use supervise::durable::{Append, Change, Group, MessageId, MessageStore, Owner, QueueId, Room, Seq, SqliteStore};

const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(400);
const BODY: usize = 100;
const BACKLOG: u32 = 1_000_000;

fn main() {
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let folder =
        folder.map_or_else(std::env::temp_dir, PathBuf::from).join(format!("bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder can be written");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime starts");
    println!("accepted per second, {BODY} bytes each  |   floor |  SQLite |   store | x floor | x SQLite");
    for producers in [1, 64, 4096] {
        runtime.block_on(accepting(&folder, producers));
    }
    runtime.block_on(backlog(&folder));
    mark(&folder, &runtime);
    std::fs::remove_dir_all(folder).expect("it is there");
}

/// Groups for a while. Returns messages per second.
async fn rate(producers: u32, mut group: impl AsyncFnMut()) -> f64 {
    let (began, mut groups) = (Instant::now(), 0_u32);
    while began.elapsed() < ROUND {
        group().await;
        groups += 1;
    }
    f64::from(groups) * f64::from(producers) / began.elapsed().as_secs_f64()
}

async fn accepting(folder: &Path, producers: u32) {
    let body: Arc<[u8]> = (0..BODY).map(|_| fastrand::u8(..)).collect();
    let mut file = File::create(folder.join("floor")).expect("it can be written");
    let bare = bare(&folder.join(format!("bare-{producers}")));
    let mut insert = bare.prepare("INSERT INTO message (body) VALUES (?)").expect("the table is there");
    let mut forget = bare.prepare("DELETE FROM message WHERE id BETWEEN ? AND ?").expect("the table is there");
    let (mut store, queue) = open(&folder.join(format!("store-{producers}"))).await;
    let (mut floors, mut bares, mut stores) = (Vec::new(), Vec::new(), Vec::new());
    let mut total = (0_i64, 0_u64);
    let count = u64::from(producers);
    for _ in 0..ROUNDS {
        let lines = body.repeat(producers as usize);
        floors.push(
            rate(producers, async || {
                file.write_all(&lines).and_then(|()| file.sync_data()).expect("there is room");
            })
            .await,
        );
        bares.push(
            rate(producers, async || {
                bare.execute_batch("BEGIN IMMEDIATE").expect("it is ours");
                for _ in 0..producers {
                    insert.execute([&*body]).expect("there is room");
                }
                // What the group before has stored is handled.
                forget.execute([total.0 + 1 - i64::from(producers), total.0]).expect("it is there");
                total.0 += i64::from(producers);
                bare.execute_batch("COMMIT").expect("there is room");
            })
            .await,
        );
        stores.push(
            rate(producers, async || {
                let mut changes: Vec<_> = (0..producers).map(|_| append(queue, &body)).collect();
                let handled = (total.1 + 1).saturating_sub(count).max(1)..=total.1;
                changes.extend(handled.map(|seq| Change::Handled(MessageId { queue, seq: Seq(seq) })));
                total.1 += count;
                store.commit(&Group { changes }).await.expect("there is room");
            })
            .await,
        );
    }
    let ratios = |over: &[f64]| median(stores.iter().zip(over).map(|(store, other)| store / other).collect());
    let (of_floor, of_bare) = (ratios(&floors), ratios(&bares));
    println!(
        "{producers:>4} producers                          | {:>7.0} | {:>7.0} | {:>7.0} | {of_floor:>7.2} | {of_bare:>7.2}",
        median(floors),
        median(bares),
        median(stores)
    );
}

async fn open(path: &Path) -> (SqliteStore, QueueId) {
    let mut store = SqliteStore::new(path);
    store.open(&Owner::new("bench")).await.expect("it opens");
    let queue = store.claim("orders").await.expect("the queue is free").queue;
    (store, queue)
}

fn append(queue: QueueId, body: &Arc<[u8]>) -> Change {
    let (kind, body, accepted_at) = ("order".into(), Arc::clone(body), SystemTime::now());
    Change::Append(Append { queue, kind, body, accepted_at, key: None })
}

/// Opens a store in which a million messages wait, after its process has died.
async fn backlog(folder: &Path) {
    let path = folder.join("backlog");
    let body: Arc<[u8]> = vec![7; BODY].into();
    let (mut store, queue) = open(&path).await;
    let fill = async |store: &mut SqliteStore, from: u64, to: u64| {
        for start in (from..to).step_by(4096) {
            let changes = (start..to.min(start + 4096)).map(|_| append(queue, &body)).collect();
            store.commit(&Group { changes }).await.expect("there is room");
        }
    };
    fill(&mut store, 0, 1000).await;
    let before = resident();
    fill(&mut store, 1000, BACKLOG.into()).await;
    let grown = resident().saturating_sub(before);
    drop(store);
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let (mut store, _) = open(&path).await;
        let page = store.page(queue, Seq(0), Room { messages: 1024, bytes: 1 << 20 }).await;
        times.push(began.elapsed().as_secs_f64() * 1000.0);
        assert_eq!(page.expect("it is whole").len(), 1024);
    }
    println!(
        "{BACKLOG} waiting: opened after a death, with its first page, in {:.1} ms; resident memory has grown by {} kB",
        median(times),
        grown / 1024
    );
    let (mut store, _) = open(&path).await;
    let began = Instant::now();
    let mut after = Seq(0);
    loop {
        let page = store.page(queue, after, Room { messages: 1024, bytes: 1 << 20 }).await.expect("it is whole");
        let Some(last) = page.last() else { break };
        after = last.seq;
        let handled = page.iter().map(|message| Change::Handled(MessageId { queue, seq: message.seq }));
        store.commit(&Group { changes: handled.collect() }).await.expect("there is room");
    }
    println!(
        "{BACKLOG} read in pages of 1024 and handled: {:.0} per second",
        f64::from(BACKLOG) / began.elapsed().as_secs_f64()
    );
}

/// The cost of the mark before each handler.
fn mark(folder: &Path, runtime: &tokio::runtime::Runtime) {
    let mut store = SqliteStore::new(folder.join("marks"));
    let opened = runtime.block_on(store.open(&Owner::new("bench"))).expect("it opens");
    let queue = runtime.block_on(store.claim("orders")).expect("the queue is free").queue;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        for seq in 1..=10_000 {
            opened.marks.begun(queue, Seq(seq), Seq(seq - 1));
        }
        times.push(began.elapsed().as_secs_f64() * 1e6 / 10_000.0);
    }
    println!("a mark: {:.2} us", median(times));
}

/// The resident memory of this process in bytes, 0 where Linux does not tell it.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default() * 1024
}
