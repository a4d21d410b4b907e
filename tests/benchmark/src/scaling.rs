//! Whether the cost of operations depends on the number of actors, on the number of siblings, or on the depth in the tree.
//! For `supervise` alone, on one thread, each point in a process of its own.
//!
//! Writes `results/scaling.csv` and `results/scaling.svg`.

use std::error::Error;
use std::fmt::Write;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use supervise::prelude::*;

use crate::framework::{Flavour, Framework, Probe, supervise::Supervise};
use crate::measure::{Stopwatch, Summary, nanoseconds_per};
use crate::plot;
use crate::process;

/// What grows along the axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// Actors in the system, a hundred under each parent.
    Actors,
    /// Children under one parent.
    Children,
    /// Generations, one actor in each.
    Depth,
}

impl Axis {
    pub const ALL: [Self; 3] = [Self::Actors, Self::Children, Self::Depth];

    pub fn name(self) -> &'static str {
        match self {
            Self::Actors => "actors",
            Self::Children => "children",
            Self::Depth => "depth",
        }
    }

    fn points(self) -> &'static [usize] {
        match self {
            Self::Actors => &[10, 100, 1_000, 10_000, 100_000, 1_000_000],
            Self::Children | Self::Depth => &[1, 10, 100, 1_000, 10_000],
        }
    }
}

/// What is measured at each point, in this order.
pub const COSTS: [&str; 8] = [
    "spawn all (per actor)",
    "tell one actor",
    "ask another actor each time",
    "spawn one more",
    "restart one",
    "stop one",
    "watch one, stop it, be told",
    "stop all (per actor)",
];

#[derive(Debug, thiserror::Error)]
#[error("as told")]
pub struct AsTold;

#[derive(Debug, Clone)]
pub struct Probes {
    started: Arc<Probe>,
    ended: Arc<Probe>,
    told: Arc<Probe>,
}

impl Probes {
    fn new() -> Self {
        Self { started: Probe::new(usize::MAX), ended: Probe::new(usize::MAX), told: Probe::new(0) }
    }
}

#[actor]
#[supervise(one_for_one, on(AsTold) = Restart, on(SpawnError) = Stop)]
pub struct Member {
    total: u64,
    probes: Probes,
}

impl Member {
    fn new(probes: &Probes) -> Self {
        Self { total: 0, probes: probes.clone() }
    }
}

#[actor]
impl Member {
    #[pre_start]
    fn count_start(&mut self) {
        self.probes.started.hit();
    }

    #[post_stop]
    fn count_end(&mut self) {
        self.probes.ended.hit();
    }

    #[handler]
    fn hire(&mut self, children: usize, ctx: &mut Context<Self>) -> Result<Vec<MemberRef>, SpawnError> {
        (0..children)
            .map(|_| {
                let probes = self.probes.clone();
                ctx.spawn_anonymous(move || Self::new(&probes))
            })
            .collect()
    }

    #[handler]
    fn add(&mut self, amount: u64) {
        self.total += amount;
    }

    #[handler]
    fn total(&self) -> u64 {
        self.total
    }

    #[handler]
    fn fail(&mut self) -> Result<(), AsTold> {
        Err(AsTold)
    }
}

#[actor]
pub struct Watcher {
    told: Arc<Probe>,
}

#[actor]
impl Watcher {
    #[handler]
    fn watch(&mut self, members: Vec<MemberRef>, ctx: &mut Context<Self>) {
        for member in &members {
            ctx.watch(member);
        }
    }

    #[watch]
    fn gone(&mut self, _: Terminated<Member>) {
        self.told.hit();
    }
}

/// The actors of one point.
struct World {
    root: MemberRef,
    /// The parent that gets more children.
    parent: MemberRef,
    /// The actors that are asked in turn. The last one is also told and restarted.
    members: Vec<MemberRef>,
    size: usize,
}

impl World {
    async fn build(system: &ActorSystem, axis: Axis, size: usize, probes: &Probes) -> Self {
        let spawn_root = probes.clone();
        let root = system.spawn("root", move || Member::new(&spawn_root)).expect("a free name");
        let hire = async |parent: &MemberRef, children| parent.hire(children).await.expect("a system that runs");
        let mut parent = root.clone();
        let mut members = Vec::with_capacity(size);
        let mut others = 1;
        match axis {
            Axis::Actors => {
                for group in hire(&root, size.div_ceil(100)).await {
                    members.extend(hire(&group, 100.min(size - members.len())).await);
                    parent = group;
                    others += 1;
                }
            }
            Axis::Children => members = hire(&root, size).await,
            Axis::Depth => {
                for _ in 0..size {
                    let child = hire(&parent, 1).await.remove(0);
                    members.push(child.clone());
                    parent = child;
                }
                // The one above has a child already.
                parent = members[size - 1].clone();
            }
        }
        Self { root, parent, members, size: size + others }
    }

    fn last(&self) -> &MemberRef {
        self.members.last().expect("at least one member")
    }
}

const BUDGET: Duration = Duration::from_millis(100);
const BATCH: usize = 10;

/// Measures all costs at one point, in nanoseconds.
async fn measure(axis: Axis, size: usize) -> [f64; 8] {
    warm_up().await;
    let probes = Probes::new();
    let system = ActorSystem::new("scaling");

    let began = Instant::now();
    let world = World::build(&system, axis, size, &probes).await;
    // Every member answers, so all have started.
    for member in &world.members {
        assert_eq!(member.total().await.expect("an answer"), 0);
    }
    let spawn_all = nanoseconds_per(began.elapsed(), world.size as u64);
    assert_eq!(probes.started.count(), world.size);

    let told = probes.told.clone();
    let watcher = system.spawn("watcher", move || Watcher { told: told.clone() }).expect("a free name");
    watcher.watch(world.members.clone()).await.expect("an answer");

    let tell = tell(world.last()).await;
    let ask = ask(&world.members).await;
    let restart = restart(world.last()).await;
    let [spawn, stop, watch] = lives(&world.parent, &watcher, &probes).await;

    let ended_before = probes.ended.count();
    let began = Instant::now();
    system.stop(&world.root);
    system.ended(&world.root).await;
    let stop_all = nanoseconds_per(began.elapsed(), world.size as u64);
    assert_eq!(probes.ended.count() - ended_before, world.size);
    [spawn_all, tell, ask, spawn, restart, stop, watch, stop_all]
}

/// Warms up, so that a small world does not pay for the first use of everything.
async fn warm_up() {
    let system = ActorSystem::new("warm-up");
    World::build(&system, Axis::Children, 1_000, &Probes::new()).await;
    system.terminate().await;
}

async fn tell(member: &MemberRef) -> f64 {
    let mut stopwatch = Stopwatch::new(BUDGET);
    let mut told = 0;
    while stopwatch.goes_on() {
        for _ in 0..256 {
            member.add(1).tell().expect("a member that runs");
        }
        told += 256;
        assert_eq!(member.total().await.expect("an answer"), told);
        stopwatch.count_to(told);
    }
    stopwatch.nanoseconds_per_operation()
}

async fn ask(members: &[MemberRef]) -> f64 {
    let mut stopwatch = Stopwatch::new(BUDGET);
    let (mut asked, mut next) = (0, 0);
    while stopwatch.goes_on() {
        for _ in 0..256 {
            members[next].total().await.expect("an answer");
            // Far from the last one.
            next = (next + 7919) % members.len();
        }
        asked += 256;
        stopwatch.count_to(asked);
    }
    stopwatch.nanoseconds_per_operation()
}

async fn restart(member: &MemberRef) -> f64 {
    let mut stopwatch = Stopwatch::new(BUDGET);
    let mut failures = 0;
    while stopwatch.goes_on() {
        for _ in 0..BATCH {
            member.fail().tell().expect("a member that runs");
            assert_eq!(member.total().await.expect("an answer"), 0);
        }
        failures += BATCH as u64;
        stopwatch.count_to(failures);
    }
    stopwatch.nanoseconds_per_operation()
}

/// What it costs to spawn one more child, to stop it, and to watch one that stops.
async fn lives(parent: &MemberRef, watcher: &WatcherRef, probes: &Probes) -> [f64; 3] {
    let mut costs = [Duration::ZERO; 3];
    let mut rounds = 0;
    let began = Instant::now();
    while began.elapsed() < 3 * BUDGET {
        let began = Instant::now();
        let children = hire(parent).await;
        costs[0] += began.elapsed();

        let began = Instant::now();
        for child in &children {
            child.actor_ref().stop();
        }
        // On one thread the last one has ended before the parent answers, and its name is free.
        while children.iter().any(|child| !child.actor_ref().has_ended()) {
            parent.total().await.expect("an answer");
        }
        costs[1] += began.elapsed();

        let children = hire(parent).await;
        probes.told.expect_more(BATCH);
        let began = Instant::now();
        watcher.watch(children.clone()).await.expect("an answer");
        for child in &children {
            child.actor_ref().stop();
        }
        probes.told.reached().await;
        costs[2] += began.elapsed();
        rounds += 1;
    }
    costs.map(|cost| nanoseconds_per(cost, rounds * BATCH as u64))
}

/// Children that have started.
async fn hire(parent: &MemberRef) -> Vec<MemberRef> {
    let children = parent.hire(BATCH).await.expect("a parent that runs");
    for child in &children {
        child.total().await.expect("an answer");
    }
    children
}

/// Measures one point in this process and prints the figures.
pub fn point(axis: &str, size: usize) -> Result<(), Box<dyn Error>> {
    let axis = Axis::ALL.into_iter().find(|known| known.name() == axis).ok_or("there is no such axis")?;
    let costs = Supervise::block_on(Flavour::CurrentThread, measure(axis, size));
    println!("{}", costs.map(|cost| cost.to_string()).join(" "));
    std::io::stdout().flush()?;
    // Exits without an orderly shutdown, which would take time and measure nothing.
    std::process::exit(0)
}

/// One cost along one axis.
#[derive(Debug)]
pub struct Curve {
    pub axis: Axis,
    pub cost: &'static str,
    pub points: Vec<(usize, Summary)>,
}

/// The command `scaling`.
pub fn run(rounds: usize) -> Result<(), Box<dyn Error>> {
    let mut curves = Vec::new();
    for axis in Axis::ALL {
        let mut of_axis: Vec<Curve> = COSTS.map(|cost| Curve { axis, cost, points: Vec::new() }).into();
        for &size in axis.points() {
            let mut runs: [Vec<f64>; 8] = Default::default();
            for round in 1..=rounds {
                eprint!("\r{} {size}, round {round} of {rounds}          ", axis.name());
                let figures = process::run_again(&["scaling-point", axis.name(), &size.to_string()])?;
                for (runs, figure) in runs.iter_mut().zip(figures.split_whitespace()) {
                    runs.push(figure.parse()?);
                }
            }
            for (curve, runs) in of_axis.iter_mut().zip(runs) {
                curve.points.extend(Summary::of(runs).map(|summary| (size, summary)));
            }
        }
        curves.extend(of_axis);
    }
    eprintln!();
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    std::fs::create_dir_all(&results)?;
    std::fs::write(results.join("scaling.csv"), csv(&curves))?;
    std::fs::write(results.join("scaling.svg"), plot::svg(&curves))?;
    print!("{}", markdown(&curves));
    Ok(())
}

fn csv(curves: &[Curve]) -> String {
    let mut csv = "axis,size,cost,median_ns,min_ns,max_ns\n".to_owned();
    for Curve { axis, cost, points } in curves {
        for (size, Summary { median, min, max }) in points {
            let axis = axis.name();
            // Writing to a string cannot fail.
            let _written = writeln!(csv, "{axis},{size},\"{cost}\",{median:.0},{min:.0},{max:.0}");
        }
    }
    csv
}

fn markdown(curves: &[Curve]) -> String {
    let mut table = String::new();
    for axis in Axis::ALL {
        let sizes: Vec<_> = axis.points().iter().map(usize::to_string).collect();
        let _written = writeln!(table, "| {} (ns) | {} |", axis.name(), sizes.join(" | "));
        let _written = writeln!(table, "|---|{}", "---|".repeat(sizes.len()));
        for curve in curves.iter().filter(|curve| curve.axis == axis) {
            let medians: Vec<_> =
                curve.points.iter().map(|(_, summary)| format!("{:.0}", summary.median)).collect();
            let _written = writeln!(table, "| {} | {} |", curve.cost, medians.join(" | "));
        }
        table.push('\n');
    }
    table
}
