//! The faults, and what is measured.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::piece::{PATIENCE, Piece};
use crate::store::{Mode, Store, is_poison};

const CLIENTS: u64 = 32;
const PAUSE: Duration = Duration::from_millis(4);
const CALM: Duration = Duration::from_millis(1500);
const FAULT: Duration = Duration::from_secs(1);
/// After a fault, so long a failure is not held against the piece.
const AFTERMATH: Duration = Duration::from_millis(700);

/// One order.
struct Entry {
    order: u64,
    began: Instant,
    took: Duration,
    written: bool,
    /// It was answered at all.
    answered: bool,
}

pub(crate) struct Measured {
    written: usize,
    lost: usize,
    innocent: usize,
    unanswered: usize,
    recoveries: Vec<Option<Duration>>,
    refused_at_once: usize,
    stop: Duration,
    dropped_at_stop: usize,
    memory: u64,
}

impl Measured {
    pub(crate) const HEADINGS: [&str; 8] = [
        "written",
        "written, not in the store",
        "failed while the store was well",
        "never answered",
        "first success after down / hung / refusing (ms)",
        "refused at once while hung",
        "stop (ms); orders it dropped",
        "memory (KiB)",
    ];
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let recoveries: Vec<_> = self
            .recoveries
            .iter()
            .map(|time| time.map_or("never".to_owned(), |time| time.as_millis().to_string()))
            .collect();
        let Self { written, lost, innocent, unanswered, refused_at_once, dropped_at_stop, memory, .. } = self;
        let (recoveries, stop) = (recoveries.join(" / "), self.stop.as_millis());
        write!(
            f,
            "{written} | {lost} | {innocent} | {unanswered} | {recoveries} | {refused_at_once} | {stop}; {dropped_at_stop} | {memory}"
        )
    }
}

type Book = Arc<Mutex<Vec<Entry>>>;

async fn write<P: Piece>(piece: &P, order: u64, book: &Book) {
    let began = Instant::now();
    let answer = timeout(PATIENCE * 2, piece.write(order)).await;
    let entry =
        Entry { order, began, took: began.elapsed(), answered: answer.is_ok(), written: answer.unwrap_or(false) };
    book.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
}

pub(crate) async fn run<P: Piece>() -> Result<Measured, Box<dyn std::error::Error>> {
    let store = Store::start().await?;
    let piece = P::start(store.address).await;
    let book = Book::default();
    let numbers = Arc::new(AtomicU64::new(1));
    let stopped = Arc::new(AtomicBool::new(false));
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (piece, book, numbers, stopped) = (piece.clone(), book.clone(), numbers.clone(), stopped.clone());
        clients.spawn(async move {
            while !stopped.load(Ordering::Relaxed) {
                write(&piece, numbers.fetch_add(1, Ordering::Relaxed), &book).await;
                sleep(PAUSE).await;
            }
        });
    }
    let began = Instant::now();
    sleep(CALM).await;
    let mut faults = Vec::new();
    let mut rush = JoinSet::new();
    for mode in [Mode::Down, Mode::Hung, Mode::Broken] {
        let hurt = Instant::now();
        store.set(mode);
        if mode == Mode::Hung {
            for _ in 0..200 {
                let (piece, book, order) = (piece.clone(), book.clone(), numbers.fetch_add(1, Ordering::Relaxed));
                rush.spawn(async move { write(&piece, order, &book).await });
            }
        }
        sleep(FAULT).await;
        store.set(Mode::Well);
        faults.push((mode, hurt, Instant::now()));
        sleep(CALM).await;
    }
    rush.join_all().await;
    // Orders that are there before the stop are to be written.
    store.set(Mode::Slow);
    let before_stop = Instant::now();
    let mut last = JoinSet::new();
    for _ in 0..20 {
        let (piece, book, order) = (piece.clone(), book.clone(), numbers.fetch_add(1, Ordering::Relaxed));
        last.spawn(async move { write(&piece, order, &book).await });
    }
    sleep(Duration::from_millis(1)).await;
    let stop = Instant::now();
    timeout(PATIENCE * 3, piece.stop()).await.map_err(|_| "it does not stop")?;
    let stop_took = stop.elapsed();
    last.join_all().await;
    stopped.store(true, Ordering::Relaxed);
    clients.join_all().await;

    let rows: HashMap<u64, usize> = store.rows();
    let entries = std::mem::take(&mut *book.lock().unwrap_or_else(PoisonError::into_inner));
    let well = |entry: &Entry| {
        let end = entry.began + entry.took;
        entry.began > began
            && end < before_stop
            && faults.iter().all(|(_, hurt, healed)| end < *hurt || entry.began > *healed + AFTERMATH)
    };
    let failed_innocently = |entry: &&Entry| !entry.written && !is_poison(entry.order) && well(entry);
    let first_success = |healed: Instant| {
        let successes = entries.iter().filter(|entry| entry.written).map(|entry| entry.began + entry.took);
        successes.filter(|at| *at >= healed).min().map(|at| at - healed)
    };
    let in_time: HashSet<u64> = entries
        .iter()
        .filter(|entry| entry.began >= before_stop && entry.began < stop)
        .map(|entry| entry.order)
        .collect();
    Ok(Measured {
        written: entries.iter().filter(|entry| entry.written).count(),
        lost: entries.iter().filter(|entry| entry.written && !rows.contains_key(&entry.order)).count(),
        innocent: entries.iter().filter(failed_innocently).count(),
        unanswered: entries.iter().filter(|entry| !entry.answered).count(),
        recoveries: faults.iter().map(|(_, _, healed)| first_success(*healed)).collect(),
        refused_at_once: entries
            .iter()
            .filter(|entry| {
                let hung = faults
                    .iter()
                    .any(|(mode, hurt, healed)| *mode == Mode::Hung && (*hurt..*healed).contains(&entry.began));
                hung && !entry.written && entry.took < Duration::from_millis(50)
            })
            .count(),
        stop: stop_took,
        dropped_at_stop: entries
            .iter()
            .filter(|entry| in_time.contains(&entry.order) && !entry.written && !is_poison(entry.order))
            .count(),
        memory: peak_kib(),
    })
}

/// The most memory that this process has occupied.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()).and_then(|kib| kib.parse().ok()).unwrap_or(0)
}
