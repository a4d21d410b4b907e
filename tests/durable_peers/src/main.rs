//! How many messages per second durable mailboxes accept, beside bare SQLite, apalis and yaque.
//!
//! ```text
//! cd tests/durable_peers && cargo run --release
//! cd tests/durable_peers && cargo run --release -- FOLDER     on another disk
//! ```
//!
//! Each producer is a task that waits until its message is stored before it sends the next one. The sides take turns, and the figures are
//! the medians of the rounds, the best rounds, and the medians of the rounds' own ratios: absolute figures depend on the load of the machine.

mod sides;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use self::sides::{Apalis, Bare, Side, Supervise, Yaque};

const ROUNDS: usize = 9;
const ROUND: Duration = Duration::from_millis(500);
const BODY: usize = 100;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let folder = std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = folder.join(format!("peers-{}", std::process::id()));
    println!(
        "Messages accepted per second, {BODY} bytes each: median; best round. In brackets, how many times as many `supervise` accepts.\n"
    );
    println!(
        "| producers | supervise | bare SQLite, a group for all | apalis, synced | apalis, as it sets itself up, not synced | yaque, not synced |"
    );
    println!("|---|---|---|---|---|---|");
    for producers in [1, 64, 4096] {
        row(&folder.join(producers.to_string()), producers).await;
    }
    println!("\nLoad {} on {} cores.", load(), std::thread::available_parallelism().map_or(0, usize::from));
    std::fs::remove_dir_all(folder).expect("it is there");
}

async fn row(folder: &Path, producers: u32) {
    std::fs::create_dir_all(folder).expect("the folder can be written");
    let supervise = Supervise::start(&folder.join("supervise")).await;
    let mut bare = Bare::create(&folder.join("bare"));
    let synced = Apalis::create(&folder.join("synced"), true).await;
    let set_up = Apalis::create(&folder.join("set-up"), false).await;
    let yaque = Yaque::create(&folder.join("yaque"));
    let mut figures: [Vec<f64>; 5] = Default::default();
    for _ in 0..ROUNDS {
        let round = [
            rate(producers, &supervise).await,
            bare_rate(producers, &mut bare),
            rate(producers, &synced).await,
            rate(producers, &set_up).await,
            rate(producers, &yaque).await,
        ];
        figures.iter_mut().zip(round).for_each(|(figures, figure)| figures.push(figure));
    }
    supervise.end().await;
    let [ours, theirs @ ..] = figures;
    let theirs = theirs.map(|theirs| {
        let times = median(ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect());
        format!("{} ({times:.2})", figure(theirs))
    });
    println!("| {producers} | {} | {} |", figure(ours), theirs.join(" | "));
}

/// How many messages per second these producers store.
async fn rate<S: Side>(producers: u32, side: &S) -> f64 {
    let over = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    let began = Instant::now();
    for _ in 0..producers {
        let (over, mut side) = (Arc::clone(&over), side.clone());
        tasks.spawn(async move {
            let mut stored = 0_u32;
            while !over.load(Ordering::Relaxed) {
                side.store("x".repeat(BODY)).await;
                stored += 1;
            }
            stored
        });
    }
    tokio::time::sleep(ROUND).await;
    over.store(true, Ordering::Relaxed);
    let stored: u32 = tasks.join_all().await.into_iter().sum();
    f64::from(stored) / began.elapsed().as_secs_f64()
}

/// How many messages per second one thread stores, with a group for as many producers.
fn bare_rate(producers: u32, bare: &mut Bare) -> f64 {
    let (began, mut groups) = (Instant::now(), 0_u32);
    while began.elapsed() < ROUND {
        bare.group(producers, &"x".repeat(BODY));
        groups += 1;
    }
    f64::from(groups) * f64::from(producers) / began.elapsed().as_secs_f64()
}

/// The median and the best round, which neighbours on the machine disturb least.
fn figure(figures: Vec<f64>) -> String {
    let best = figures.iter().copied().fold(0.0, f64::max);
    format!("{:.0}; {best:.0}", median(figures))
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
