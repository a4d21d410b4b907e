//! Measures what a look of the console costs, and how soon a console answers under load. `docs::console` has the
//! figures. The benchmark fails if a figure exceeds its limit.
//!
//! ```sh
//! cargo bench -p supervise-actors --features console --bench looks
//! cargo bench -p supervise-actors --features console --bench looks -- --instructions  # if valgrind is installed
//! ```

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use supervise::NodeState;
use supervise::console::Console;
use supervise::prelude::*;
use tokio::runtime::Builder;

const ACTORS: usize = 100_000;
const RUNS: usize = 7;
/// How many children are read while their parent is locked.
const SLICE: usize = 1_024;
/// How many actors fail, and how often each.
const FAILING: usize = 100;
const FAILURES: usize = 1_000;
/// How often the console is read, at least, while all workers are blocked.
const LEAST: usize = 25;

/// How long a parent of many children may be locked at a time. CON-03.
const LOCKED: Duration = Duration::from_millis(1);
/// How soon a console answers while all workers are blocked. CON-05.
const ANSWERED: Duration = Duration::from_millis(100);
/// How soon one actor of many is found by its name. CON-25.
const FOUND: Duration = Duration::from_millis(200);
/// How much of a processor the console's thread may take, in thousandths: while nobody reads, and while somebody does. CON-04.
const SHARES: [u128; 2] = [5, 20];
/// How long one such measurement takes, and how many there are at most.
const WHILE: Duration = Duration::from_secs(30);
const ATTEMPTS: usize = 3;
/// How many actors get a message twenty times a second during the measurement.
const BUSY: usize = 1_000;
/// How many instructions a look may take for each actor, at most: of core, and of the console.
const INSTRUCTIONS: [(&str, u64); 2] = [("core", 460), ("console", 1_380)];

#[actor]
#[supervise(on(std::io::Error) = Resume)]
struct Parent;

#[actor]
impl Parent {
    #[handler]
    fn fill(&mut self, children: usize, ctx: &mut Context<Self>) -> Result<Vec<ChildRef>, SpawnError> {
        (0..children).map(|_| ctx.spawn_anonymous(|| Child)).collect()
    }
}

#[actor]
struct Child;

#[actor]
impl Child {
    #[handler]
    fn fail(&mut self) -> Result<(), std::io::Error> {
        Err(std::io::Error::other("as told"))
    }

    #[handler]
    fn rest(&mut self) {}

    /// Blocks its thread until the other end is dropped.
    #[handler(sensitive)]
    fn block(&mut self, until: Gate) {
        let _closed = until.0.recv();
    }
}

struct Gate(mpsc::Receiver<()>);

/// Fails if a figure exceeds its limit. Other work of the machine may delay a single run, so times are medians.
fn limit<T: PartialOrd + std::fmt::Debug>(what: &str, figure: &T, limit: &T) -> Result<(), Box<dyn Error>> {
    if figure > limit { Err(format!("{what}: {figure:?} exceeds the limit, {limit:?}").into()) } else { Ok(()) }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match &arguments[..] {
        [] => Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(async {
            let results = [looks().await, searches().await, shares().await, failures().await, blocked().await];
            let wrong: Vec<String> =
                results.into_iter().filter_map(Result::err).map(|error| error.to_string()).collect();
            if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ").into()) }
        }),
        [flag] if flag == "--instructions" => instructions(),
        // One thread, so that two runs differ only in their looks.
        [what, looks] => Builder::new_current_thread().enable_all().build()?.block_on(some(what, looks.parse()?)),
        _ => Err("usage: looks [--instructions | core LOOKS | console LOOKS]".into()),
    }
}

/// A system whose actors are children of one, and some of them.
async fn large() -> Result<(ActorSystem, Vec<ChildRef>), Box<dyn Error>> {
    let system = ActorSystem::new("looks");
    let mut children = system.spawn("parent", || Parent)?.fill(ACTORS).await?;
    children.truncate(BUSY);
    let mut running = 0;
    while running < ACTORS {
        tokio::task::yield_now().await;
        running = 0;
        system.look(|glimpse| running += usize::from(glimpse.state() == NodeState::Running));
    }
    Ok((system, children))
}

/// The shortest of some runs.
fn best(mut run: impl FnMut() -> Duration) -> Duration {
    (0..RUNS).map(|_| run()).min().unwrap_or_default()
}

fn timed(run: impl FnOnce()) -> Duration {
    let began = Instant::now();
    run();
    began.elapsed()
}

/// CON-03.
async fn looks() -> Result<(), Box<dyn Error>> {
    let (system, _) = large().await?;
    let core = best(|| timed(|| system.look(|_| {})));
    let mut watch = Console::of(&system).by_hand();
    let console = best(|| timed(|| watch.look()));
    // No lock is held while the closure runs. The longest times from one call to the next are those of the slices, and of whatever else
    // the machine does.
    let (mut last, mut gaps) = (Instant::now(), Vec::with_capacity(2 * ACTORS));
    system.look(|_| {
        gaps.push(last.elapsed());
        last = Instant::now();
    });
    gaps.sort_unstable();
    let slice = gaps[gaps.len() - ACTORS / SLICE / 2];
    println!("{ACTORS} actors, the best of {RUNS}: a look {core:?}, a console's look {console:?}");
    println!("their parent is locked for {slice:?} at a time, the median of {}", ACTORS / SLICE);
    system.terminate().await;
    limit("the time for which a parent is locked", &slice, &LOCKED)
}

/// CON-25: one of many is found by its name.
async fn searches() -> Result<(), Box<dyn Error>> {
    let (system, _) = large().await?;
    system.spawn("gateway", || Child)?;
    let address = Console::of(&system).serve("127.0.0.1:0")?.local_addr().ok_or("it listens")?;
    let mut times = Vec::new();
    for part in ["gateway", "Gateway", "GATEWAY", "gatewa", "ateway", "atewa", "/user/gateway"] {
        // A search does not wait for earlier ones.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (took, found) = read(address, &format!("/snapshot.json?search={part}"))?;
        if !found.contains("\"path\":\"/user/gateway\"") {
            return Err(format!("{part} is not found").into());
        }
        times.push(took);
    }
    let took = median(times);
    println!("one of {ACTORS} is found in {took:?}, the median of 7 searches");
    system.terminate().await;
    limit("the time until one of many is found", &took, &FOUND)
}

/// CON-04: how much of a processor the console's thread takes.
async fn shares() -> Result<(), Box<dyn Error>> {
    let (system, children) = large().await?;
    let busy = tokio::spawn(async move {
        let mut ticks = tokio::time::interval(Duration::from_millis(50));
        while children.iter().all(|child| child.rest().tell().is_ok()) {
            ticks.tick().await;
        }
    });
    // The thread of an earlier console ends a moment after its system.
    while spent().is_some() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let address = Console::of(&system).serve("127.0.0.1:0")?.local_addr().ok_or("it listens")?;
    // A new thread has its name a moment later.
    while cfg!(target_os = "linux") && spent().is_none() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let mut exceeded = Ok(());
    for (who, share) in ["nobody reads", "a stream is open"].into_iter().zip(SHARES) {
        if who != "nobody reads" {
            let mut socket = TcpStream::connect(address)?;
            socket.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
            // It ends with the system.
            std::thread::spawn(move || std::io::copy(&mut socket, &mut std::io::sink()));
        }
        if spent().is_none() {
            println!("the share of a processor is known on Linux only");
            break;
        }
        let mut within = Ok(());
        // Other programs on the machine can only add to the time.
        for _ in 0..ATTEMPTS {
            let before = spent().ok_or("its thread has ended")?;
            tokio::time::sleep(WHILE).await;
            let took = spent().ok_or("its thread has ended")?.saturating_sub(before);
            println!("{who}: the console's thread took {took:?} in {WHILE:?}");
            let (took, most) = (took.as_micros() * 1_000, WHILE.as_micros() * share);
            within = limit(&format!("its time while {who}"), &took, &most);
            if within.is_ok() {
                break;
            }
        }
        exceeded = exceeded.and(within);
    }
    system.terminate().await;
    busy.await?;
    exceeded
}

/// How long the console's thread has run on a processor.
fn spent() -> Option<Duration> {
    let threads = std::fs::read_dir("/proc/self/task").ok()?;
    let of = |thread: &std::path::Path| {
        // Linux keeps fifteen letters of a name.
        let name = std::fs::read_to_string(thread.join("comm")).ok()?;
        let nanos = std::fs::read_to_string(thread.join("schedstat")).ok()?;
        name.starts_with("supervise-conso").then(|| nanos.split(' ').next()?.parse().ok())?
    };
    threads.filter_map(|thread| of(&thread.ok()?.path())).map(Duration::from_nanos).next()
}

/// CON-18: many failures while the console is read.
async fn failures() -> Result<(), Box<dyn Error>> {
    let system = ActorSystem::new("looks");
    let address = Console::of(&system).serve("127.0.0.1:0")?.local_addr().ok_or("it listens")?;
    let children = system.spawn("parent", || Parent)?.fill(FAILING).await?;
    let began = Instant::now();
    let failing = tokio::spawn(async move {
        for _ in 0..FAILURES {
            for child in &children {
                child.fail().tell().map_err(|_| "it has ended")?;
            }
            for child in &children {
                child.rest().await.map_err(|_| "it has ended")?;
            }
        }
        Ok::<(), &str>(())
    });
    let (mut slowest, mut reads) = (Duration::ZERO, 0);
    while !failing.is_finished() {
        slowest = slowest.max(read(address, "/text")?.0);
        reads += 1;
    }
    failing.await??;
    println!("{} failures in {:?}: {reads} reads, the slowest {slowest:?}", FAILING * FAILURES, began.elapsed());
    system.terminate().await;
    Ok(())
}

/// CON-05: all workers are blocked.
async fn blocked() -> Result<(), Box<dyn Error>> {
    let system = ActorSystem::new("looks");
    let address = Console::of(&system).serve("127.0.0.1:0")?.local_addr().ok_or("it listens")?;
    let mut gates = Vec::new();
    for name in ["one", "two"] {
        let (gate, until) = mpsc::channel();
        system.spawn(name, || Child)?.block(Gate(until)).tell()?;
        gates.push(gate);
    }
    let (mut times, mut named) = (Vec::new(), None);
    let began = Instant::now();
    while named.is_none() || times.len() < LEAST {
        let (took, text) = read(address, "/text")?;
        times.push(took);
        if named.is_none() && text.contains("`block`") {
            named = Some(began.elapsed());
        }
    }
    let (slowest, reads) = (times.iter().max().copied().unwrap_or_default(), times.len());
    let usual = median(times);
    println!("all workers blocked: {reads} reads, the median {usual:?}, the slowest {slowest:?}");
    println!("the handler that blocks is named after {:?}", named.unwrap_or_default());
    drop(gates);
    system.terminate().await;
    limit("the time to answer while all workers are blocked", &usual, &ANSWERED)
}

/// How long the console takes to answer, and what it answers. The caller's thread is not a worker.
fn read(address: SocketAddr, path: &str) -> std::io::Result<(Duration, String)> {
    let began = Instant::now();
    let mut socket = TcpStream::connect(address)?;
    socket.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut text = String::new();
    socket.read_to_string(&mut text)?;
    Ok((began.elapsed(), text))
}

async fn some(what: &str, looks: usize) -> Result<(), Box<dyn Error>> {
    let (system, _) = large().await?;
    let mut watch = Console::of(&system).by_hand();
    for _ in 0..looks {
        if what == "core" {
            system.look(|_| {});
        } else {
            watch.look();
        }
    }
    Ok(())
}

/// Counts instructions for each actor, as the difference between runs of two and of four looks.
fn instructions() -> Result<(), Box<dyn Error>> {
    let mut exceeded = Ok(());
    for (what, most) in INSTRUCTIONS {
        let [two, four] = ["2", "4"].map(|looks| counted(what, looks));
        let instructions = (four? - two?) / 2 / ACTORS as u64;
        println!("{what}: {instructions} instructions for each actor, at most {most}");
        exceeded = exceeded.and(limit(what, &instructions, &most));
    }
    exceeded
}

fn counted(what: &str, looks: &str) -> Result<u64, Box<dyn Error>> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args([what, looks])
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let total = said.lines().find_map(|line| line.split("Collected :").nth(1));
    Ok(total.ok_or("valgrind did not say a total")?.trim().parse()?)
}
