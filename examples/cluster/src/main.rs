//! A World Cup on three nodes that are killed and come back.
//!
//! ```text
//! cargo run --manifest-path examples/cluster/Cargo.toml
//! ```
//!
//! The command is the desk. It starts three nodes as processes of their own, connected by Zenoh over TCP on 127.0.0.1. The 48 games are
//! sharded: each is an actor on one of the nodes. The desk sends goals all the time, by tell and by ask, while nodes are killed with
//! SIGKILL and restarted. The ledger at the end says what became of the goals. Told goals may be lost with a node. Asked
//! goals are sent again until there is an answer, so none of them is lost, and a few are handled twice. No told goal is handled twice, and none is lost
//! after the last kill. If any of this does not hold, the command fails.

mod games;

use std::error::Error;
use std::io::Write as _;
use std::net::TcpListener;
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use supervise::prelude::*;
use supervise::remote::Node;
use supervise::sharded::Sharded;
use supervise::zenoh::Zenoh;
use supervise::{Event, Events, Interest};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use crate::games::{GAMES, Game, Ledger, LedgerRef, Stadium};

/// How often a node is killed.
const KILLS: usize = 6;
/// How many goals are told after the last kill, when all nodes are back. None of them may be lost.
const LATE: u64 = 1000;
/// The numbers of goals that are told while nodes are killed start at 0, those of late goals start here.
const FIRST_LATE: u64 = 1 << 31;
/// The numbers of asked goals start here.
const ASKED: u64 = 1 << 32;
/// How many goals are asked at the same time.
const ASKERS: u64 = 8;
/// How long a node may be silent. A killed one is known much sooner, because its connection closes.
const PATIENCE: Duration = Duration::from_secs(5);

const USAGE: &str = "\
Plays a World Cup on three nodes that are killed and come back.

Usage: cargo run --manifest-path examples/cluster/Cargo.toml [-- --help]

Exit codes: 0 the ledger is right; 1 it is not; 2 the command line is wrong, or a part failed.";

/// The exit code if nothing was proven.
const NOTHING_RUN: u8 = 2;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    let arguments: Vec<String> = arguments.collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = match arguments[..] {
        [] => desk().await,
        ["--help" | "-h", ..] => {
            // The reader may have closed it.
            let _closed = writeln!(std::io::stdout(), "{USAGE}");
            Ok(true)
        }
        ["node", name, address, seed] => node(name, address, seed).await.map(|()| true),
        [unknown, ..] => Err(format!("unknown option `{unknown}`. `--help` lists the options").into()),
    };
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(NOTHING_RUN)
        }
    }
}

/// A node, which plays games until its input ends.
async fn node(name: &str, address: &str, seed: &str) -> Result<()> {
    let system = ActorSystem::new(name);
    Node::builder(&system).patience(PATIENCE).join(Zenoh::listen(address).seeds([seed])).await?;
    let stadium = system.spawn("stadium", Stadium::node)?;
    stadium.games().await?;
    println!("ready");
    let mut rest = Vec::new();
    tokio::io::stdin().read_to_end(&mut rest).await?;
    system.terminate().await;
    Ok(())
}

/// A process that plays games.
struct Process {
    name: &'static str,
    address: String,
    child: Child,
}

impl Process {
    async fn start(name: &'static str, address: String, seed: &str) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["node", name, &address, seed])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().ok_or("its output is piped")?;
        let first = BufReader::new(stdout).lines().next_line().await?;
        first.ok_or_else(|| format!("the node {name} has ended before it was ready"))?;
        Ok(Self { name, address, child })
    }
}

/// Runs the demonstration. Returns whether the ledger comes out even.
async fn desk() -> Result<bool> {
    let system = ActorSystem::new("desk");
    let mut events = system.events().subscribe_to(Interest::FAILURES);
    let mut letters = system.events().subscribe_to(Interest::DEAD_LETTERS);
    let here = free_address()?;
    Node::builder(&system).patience(PATIENCE).join(Zenoh::listen(here.clone())).await?;
    let ledger = system.spawn("ledger", Ledger::default)?;
    let stadium = system.spawn("stadium", Stadium::desk)?;
    let games = stadium.games().await?.ok_or("the stadium is open")?;

    let mut processes = Vec::new();
    for name in ["berlin", "madrid", "paris"] {
        processes.push(Process::start(name, free_address()?, &here).await?);
    }
    tokio::time::timeout(Duration::from_secs(30), games.wait_for(|nodes| nodes.len() == 3)).await?;
    println!("three nodes play {GAMES} games; {KILLS} kills follow");

    let (end, ends) = watch::channel(false);
    let told = tokio::spawn(tell(games.clone(), ledger.clone(), ends.clone()));
    let askers: Vec<_> =
        (0..ASKERS).map(|asker| tokio::spawn(ask(games.clone(), ledger.clone(), asker, ends.clone()))).collect();

    let mut slowest = Duration::ZERO;
    for _ in 0..KILLS {
        tokio::time::sleep(Duration::from_millis(fastrand::u64(400..900))).await;
        let at = fastrand::usize(..processes.len());
        let Process { name, address, mut child } = processes.swap_remove(at);
        let began = Instant::now();
        child.start_kill()?;
        let why = down(&mut events, name).await?;
        let took = began.elapsed();
        slowest = slowest.max(took);
        child.wait().await?;
        println!("{name} was killed; known after {:.1} ms ({why})", took.as_secs_f64() * 1000.0);
        tokio::time::sleep(Duration::from_millis(300)).await;
        processes.push(Process::start(name, address, &here).await?);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    end.send_replace(true);
    let told = told.await?;
    let mut asked = Asked::default();
    for asks in askers {
        asked.add(&asks.await?);
    }
    if tokio::time::timeout(Duration::from_secs(30), games.wait_for(|nodes| nodes.len() == 3)).await.is_err() {
        return Err(format!("30 s after the last kill, only {:?} take part", games.nodes()).into());
    }
    for number in FIRST_LATE..FIRST_LATE + LATE {
        games.get(fastrand::u32(..GAMES))?.goal(number, ledger.clone()).tell()?;
    }
    let late = late_goals(&ledger).await?;
    // Messages that are under way arrive.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (told_handled, told_twice) = ledger.count(0, ASKED).await?;
    let told_handled = told_handled - late;
    let (asked_handled, twice) = ledger.count(ASKED, u64::MAX).await?;
    let mut dead_letters = 0;
    while let Some(event) = letters.try_recv() {
        dead_letters += usize::from(matches!(event, Event::DeadLetter(_)));
    }
    for mut process in processes {
        drop(process.child.stdin.take());
        process.child.wait().await?;
    }
    system.terminate().await;

    let lost = usize::try_from(told)? - told_handled;
    let unanswered = usize::try_from(asked.goals)? - asked_handled;
    println!(
        "told:  {told} goals, {told_handled} handled, {lost} lost with a node ({dead_letters} dead letters at the desk)"
    );
    println!(
        "       {LATE} goals after the last kill, {late} handled; {told_twice} of all told goals handled twice"
    );
    println!(
        "asked: {} goals, {asked_handled} handled, {twice} of them twice, {unanswered} lost; {} sent again because the node was gone, {} because nobody knew",
        asked.goals, asked.undeliverable, asked.unknown
    );
    println!("a killed node was known after {:.1} ms at most", slowest.as_secs_f64() * 1000.0);
    Ok(unanswered == 0 && told_handled > 0 && told_twice == 0 && late == usize::try_from(LATE)?)
}

/// Waits until all late goals are handled, for at most ten seconds. Returns how many are.
async fn late_goals(ledger: &LedgerRef) -> Result<usize> {
    for _ in 0..100 {
        let (late, _) = ledger.count(FIRST_LATE, ASKED).await?;
        if late == usize::try_from(LATE)? {
            return Ok(late);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(ledger.count(FIRST_LATE, ASKED).await?.0)
}

/// An address on this machine that is free now.
fn free_address() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

/// Waits until a node of this name is given up, and returns the reason.
async fn down(events: &mut Events, name: &str) -> Result<&'static str> {
    while let Some(event) = events.recv().await {
        if let Event::NodeDown { node, why, .. } = event
            && node.starts_with(name)
        {
            return Ok(why);
        }
    }
    Err("the desk has ended".into())
}

/// Tells goals. Returns how many.
async fn tell(games: Sharded<u32, Game>, ledger: LedgerRef, ends: watch::Receiver<bool>) -> u64 {
    let mut number = 0;
    while !*ends.borrow() {
        for _ in 0..20 {
            let Ok(game) = games.get(fastrand::u32(..GAMES)) else { return number };
            if game.goal(number, ledger.clone()).tell().is_ok() {
                number += 1;
            }
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    number
}

/// What became of the asked goals.
#[derive(Default)]
struct Asked {
    goals: u64,
    /// How often a goal was sent again, because it was certainly not handled.
    undeliverable: u64,
    /// How often a goal was sent again, because it may have been handled.
    unknown: u64,
}

impl Asked {
    fn add(&mut self, other: &Self) {
        self.goals += other.goals;
        self.undeliverable += other.undeliverable;
        self.unknown += other.unknown;
    }
}

/// Asks one goal after another, each until there is an answer.
async fn ask(games: Sharded<u32, Game>, ledger: LedgerRef, asker: u64, ends: watch::Receiver<bool>) -> Asked {
    let mut results = Asked::default();
    while !*ends.borrow() {
        let number = ASKED + results.goals * ASKERS + asker;
        let Ok(game) = games.get(fastrand::u32(..GAMES)) else { return results };
        loop {
            match game.goal(number, ledger.clone()).timeout(Duration::from_secs(5)).await {
                Ok(_) => break,
                Err(AskError::Undeliverable | AskError::MailboxFull) => results.undeliverable += 1,
                Err(_) => results.unknown += 1,
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        results.goals += 1;
    }
    results
}
