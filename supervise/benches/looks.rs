//! What a look of the console costs, and how soon a console answers under pressure. `docs::console` has the figures.
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

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match &arguments[..] {
        [] => Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(async {
            looks().await?;
            failures().await?;
            blocked().await
        }),
        [flag] if flag == "--instructions" => instructions(),
        // One thread, so that two runs differ only in their looks.
        [what, looks] => Builder::new_current_thread().enable_all().build()?.block_on(some(what, looks.parse()?)),
        _ => Err("usage: looks [--instructions | core LOOKS | console LOOKS]".into()),
    }
}

/// A system whose actors are children of one.
async fn large() -> Result<ActorSystem, Box<dyn Error>> {
    let system = ActorSystem::new("looks");
    drop(system.spawn("parent", || Parent)?.fill(ACTORS).await?);
    let mut running = 0;
    while running < ACTORS {
        tokio::task::yield_now().await;
        running = 0;
        system.look(|glimpse| running += usize::from(glimpse.state() == NodeState::Running));
    }
    Ok(system)
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

/// CON-03, CON-04.
async fn looks() -> Result<(), Box<dyn Error>> {
    let system = large().await?;
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
    Ok(())
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
        slowest = slowest.max(read(address)?.0);
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
    let began = Instant::now();
    let (mut slowest, mut names_it) = (Duration::ZERO, false);
    while !names_it {
        let (took, text) = read(address)?;
        slowest = slowest.max(took);
        names_it = text.contains("`block`");
    }
    println!(
        "all workers blocked: the slowest read {slowest:?}, the handler is named after {:?}",
        began.elapsed()
    );
    drop(gates);
    system.terminate().await;
    Ok(())
}

/// How long the console takes to answer, and what it answers. The caller's thread is not a worker.
fn read(address: SocketAddr) -> std::io::Result<(Duration, String)> {
    let began = Instant::now();
    let mut socket = TcpStream::connect(address)?;
    socket.write_all(b"GET /text HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut text = String::new();
    socket.read_to_string(&mut text)?;
    Ok((began.elapsed(), text))
}

async fn some(what: &str, looks: usize) -> Result<(), Box<dyn Error>> {
    let system = large().await?;
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
    for what in ["core", "console"] {
        let [two, four] = ["2", "4"].map(|looks| counted(what, looks));
        println!("{what}: {} instructions for each actor", (four? - two?) / 2 / ACTORS as u64);
    }
    Ok(())
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
