//! Measures who waits for whom, in scenes in which a thread is blocked, busy or not one of the runtime's threads. For
//! `supervise`, and for one tokio task per actor.

mod actors;
mod scene;
mod stranger;

use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use std::io::Write;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

use self::actors::{Actors, Raw, Supervised};
pub use self::scene::Scene;
use crate::measure::{Summary, percentile};
use crate::process;
use crate::table;

/// How a handler keeps its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stall {
    /// Sleeps, so that eight threads need not eight cores.
    Block,
    /// Computes.
    Spin,
}

impl Stall {
    fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Spin => "spin",
        }
    }

    fn spend(self, time: Duration) {
        match self {
            _ if time.is_zero() => {}
            Self::Block => std::thread::sleep(time),
            Self::Spin => {
                let began = Instant::now();
                while began.elapsed() < time {
                    black_box(());
                }
            }
        }
    }
}

/// The runtime of a scene.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// The current-thread runtime.
    Current,
    /// This many workers.
    Workers(usize),
}

impl Threads {
    fn name(self) -> String {
        match self {
            Self::Current => "ct".to_owned(),
            Self::Workers(workers) => workers.to_string(),
        }
    }

    fn count(self) -> usize {
        match self {
            Self::Current => 1,
            Self::Workers(workers) => workers,
        }
    }

    fn runtime(self) -> Runtime {
        let runtime = match self {
            Self::Current => Builder::new_current_thread().enable_all().build(),
            Self::Workers(workers) => Builder::new_multi_thread().worker_threads(workers).enable_all().build(),
        };
        runtime.expect("a runtime")
    }
}

impl std::str::FromStr for Threads {
    type Err = std::num::ParseIntError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        if name == "ct" { Ok(Self::Current) } else { Ok(Self::Workers(name.parse()?)) }
    }
}

/// How much of everything a scene does.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Times that an actor is stalled, for `stall` each.
    samples: usize,
    stall: Duration,
    /// Times that a job of `job` is told to each of some actors.
    fan_outs: usize,
    job: Duration,
    /// How long an actor blocks after it has told 100 others.
    stall_of_teller: Duration,
    /// How long asks, sleeps and echoes are timed.
    sampling: Duration,
    /// Actors that are busy beside sleeps and echoes.
    busy: usize,
    /// Turns of a long handler, at least, while asks are timed.
    long_turns: u32,
    /// Asks from within a handler.
    blocking_asks: usize,
    /// A scene that takes longer than this counts as hung.
    limit: Duration,
}

impl Extent {
    const FULL: Self = Self {
        samples: 12,
        stall: Duration::from_millis(50),
        fan_outs: 5,
        job: Duration::from_millis(200),
        stall_of_teller: Duration::from_secs(1),
        sampling: Duration::from_millis(600),
        busy: 10_000,
        long_turns: 12,
        blocking_asks: 100,
        limit: Duration::from_secs(20),
    };

    const QUICK: Self = Self {
        samples: 5,
        stall: Duration::from_millis(20),
        fan_outs: 2,
        job: Duration::from_millis(50),
        stall_of_teller: Duration::from_millis(100),
        sampling: Duration::from_millis(150),
        busy: 1_000,
        long_turns: 3,
        blocking_asks: 20,
        limit: Duration::from_secs(2),
    };

    fn of(quick: bool) -> &'static Self {
        if quick { &Self::QUICK } else { &Self::FULL }
    }
}

#[derive(Debug)]
pub struct Options {
    pub quick: bool,
    pub rounds: usize,
    /// Beginnings of keys. Empty: all.
    pub scenes: Vec<String>,
    /// Empty: all.
    pub threads: Vec<Threads>,
}

/// What a scene prints if it did not finish.
const NEVER: &str = "never";

/// Plays one scene in this process and prints its p50, p99 and longest time, in nanoseconds.
pub fn one(scene: &str, actors: &str, threads: Threads, quick: bool) -> Result<(), Box<dyn Error>> {
    let scene =
        Scene::ALL.into_iter().find(|candidate| candidate.key() == scene).ok_or("there is no such scene")?;
    let extent = Extent::of(quick);
    std::thread::spawn(|| {
        std::thread::sleep(extent.limit);
        println!("{NEVER}");
        std::process::exit(0);
    });
    // Lives until the process ends, because its shutdown would wait for handlers that never return.
    let runtime = threads.runtime();
    let mut samples = match actors {
        Raw::NAME => runtime.block_on(scene.play::<Raw>(threads, extent)),
        Supervised::NAME => runtime.block_on(scene.play::<Supervised>(threads, extent)),
        other => return Err(format!("nobody makes actors as `{other}`").into()),
    };
    samples.sort();
    let figures = [0.5, 0.99, 1.0].map(|share| percentile(&samples, share).as_nanos().to_string());
    println!("{}", figures.join(" "));
    // Exits without an orderly shutdown, because a stalled handler would block it.
    std::io::stdout().flush()?;
    std::process::exit(0)
}

/// p50, p99 and the longest time of a scene, in nanoseconds. `None` if the scene did not finish.
type Figures = Option<[f64; 3]>;

/// Where p99 stands among them.
const P99: usize = 1;
/// A p99 of up to this multiple of raw's is good enough.
const GOAL: f64 = 1.1;

/// The command `parallelism`.
pub fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut cells = Vec::new();
    for scene in Scene::ALL {
        let chosen = |key: &String| scene.key().starts_with(key.as_str());
        if options.scenes.is_empty() || options.scenes.iter().any(chosen) {
            let threads = scene.threads().iter().copied();
            let threads =
                threads.filter(|threads| options.threads.is_empty() || options.threads.contains(threads));
            cells.extend(threads.map(|threads| (scene, threads)));
        }
    }
    if cells.is_empty() {
        let keys: Vec<_> = Scene::ALL.into_iter().map(Scene::key).collect();
        return Err(format!("there is no such scene, there are {}", keys.join(", ")).into());
    }
    let mut runs: BTreeMap<(usize, &str), Vec<Figures>> = BTreeMap::new();
    for round in 1..=options.rounds {
        for (index, &(scene, threads)) in cells.iter().enumerate() {
            eprint!("\rround {round} of {}, {} of {}   ", options.rounds, index + 1, cells.len());
            for actors in [Raw::NAME, Supervised::NAME] {
                let runs = runs.entry((index, actors)).or_default();
                // If a scene hangs once, it is not run again.
                if runs.contains(&None) {
                    continue;
                }
                match measure(scene, actors, threads, options.quick) {
                    Ok(figures) => runs.push(figures),
                    Err(error) => eprintln!("\r{actors}, {}, {}: {error}", scene.key(), threads.name()),
                }
            }
        }
    }
    eprintln!();
    println!("p50 / p99 / longest, medians of {} processes run in turn.\n", options.rounds);
    println!("| scene | threads | raw | supervise | supervise / raw |");
    println!("|---|---|---|---|---|");
    let mut kept = 0;
    for (index, &(scene, threads)) in cells.iter().enumerate() {
        let [raw, ours] = [Raw::NAME, Supervised::NAME].map(|actors| medians(&runs[&(index, actors)]));
        println!(
            "| {} | {} | {} | {} | {} |",
            scene.key(),
            threads.name(),
            show(raw),
            show(ours),
            ratios(raw, ours)
        );
        if let (Some(Some(raw)), Some(Some(ours))) = (raw, ours) {
            kept += usize::from(ours[P99] <= GOAL * raw[P99]);
        }
    }
    println!("\np99 at most {GOAL} times that of raw in {kept} of {} rows.", cells.len());
    Ok(())
}

/// Runs this program again for one scene.
fn measure(scene: Scene, actors: &str, threads: Threads, quick: bool) -> Result<Figures, Box<dyn Error>> {
    let extent = if quick { "quick" } else { "full" };
    let printed = process::run_again(&["scene", &scene.key(), actors, &threads.name(), extent])?;
    let printed = printed.lines().next().unwrap_or_default();
    if printed == NEVER {
        return Ok(None);
    }
    let figures: Vec<f64> = printed.split(' ').map(str::parse).collect::<Result<_, _>>()?;
    Ok(Some(figures.try_into().map_err(|_| "three figures are due")?))
}

/// The median of each figure. `None` of no runs: there was an error, which was told.
fn medians(runs: &[Figures]) -> Option<Figures> {
    let runs: Option<Vec<[f64; 3]>> = runs.iter().copied().collect();
    let Some(runs) = runs else { return Some(None) };
    let median = |index| Summary::of(runs.iter().map(|figures| figures[index]).collect());
    Some(Some([median(0)?.median, median(1)?.median, median(2)?.median]))
}

fn show(figures: Option<Figures>) -> String {
    match figures {
        None => "–".to_owned(),
        Some(None) => NEVER.to_owned(),
        Some(Some(figures)) => figures.map(time).join(" / "),
    }
}

fn time(nanoseconds: f64) -> String {
    let [micros, millis] = [nanoseconds / 1e3, nanoseconds / 1e6];
    match nanoseconds {
        ..10e3 => format!("{micros:.1} µs"),
        ..1e6 => format!("{micros:.0} µs"),
        ..10e6 => format!("{millis:.1} ms"),
        _ => format!("{millis:.0} ms"),
    }
}

fn ratios(raw: Option<Figures>, ours: Option<Figures>) -> String {
    match (raw, ours) {
        (Some(Some(raw)), Some(Some(ours))) => {
            [0, 1, 2].map(|index| table::ratio(ours[index] / raw[index])).join(" / ")
        }
        (None, _) | (_, None) | (Some(None), Some(None)) => "–".to_owned(),
        (Some(Some(_)), Some(None)) => "∞".to_owned(),
        (Some(None), Some(Some(_))) => "0".to_owned(),
    }
}
