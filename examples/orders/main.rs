//! An intake for orders that is killed ten times, and loses none.
//!
//! ```text
//! cargo run -p supervise-example-orders --example orders                          the demonstration
//! cargo run -p supervise-example-orders --example orders -- --keep                the same; its store stays in a folder
//! cargo run -p supervise-example-orders --example orders -- quarantined FOLDER    what is in quarantine there
//! cargo run -p supervise-example-orders --example orders -- retry FOLDER ID       returns one of them to the queue; or `discard`
//! ```
//!
//! The demonstration starts the intake as a process of its own, which accepts orders over TCP. A client sends orders, and sends
//! an order again, with the same key, if it does not hear that it was accepted. Meanwhile the intake is killed with SIGKILL at
//! random moments and started again. At the end the ledger must come out even: each accepted order was handled or is in
//! quarantine.

mod intake;
mod ledger;

use std::error::Error;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use supervise::durable::MessageId;
use supervise_examples::service::{INTERRUPTED, NOTHING_RUN, Scratch, interrupt, say};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use crate::ledger::Ledger;

/// How many orders the client sends.
const ORDERS: u32 = 3000;
/// How often the intake is killed.
const KILLS: u32 = 10;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const COMMAND: &str = "cargo run -p supervise-example-orders --example orders";
const USAGE: &str = "\
Kills an intake for orders ten times, and shows that none was lost.

Usage: cargo run -p supervise-example-orders --example orders [-- --keep | COMMAND]

  --keep                 leaves the store behind, and says where it is
  quarantined FOLDER     lists the messages in quarantine there
  retry FOLDER ID        returns one of them to the queue
  discard FOLDER ID      discards one of them
  --help                 prints this text

Exit codes: 0 if no order was lost, or the command succeeded; 1 if an order was lost, or no message has this ID;
2 if the command line is wrong, or the command failed.";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    run(&arguments.collect::<Vec<_>>()).await.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(NOTHING_RUN)
    })
}

async fn run(arguments: &[String]) -> Result<ExitCode> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => until_interrupted(false).await,
        ["--keep"] => until_interrupted(true).await,
        ["--help" | "-h", ..] => {
            say(USAGE);
            Ok(ExitCode::SUCCESS)
        }
        ["intake", folder] => intake::run(Path::new(folder)).await.map(|()| ExitCode::SUCCESS),
        ["quarantined", folder] => quarantined(Path::new(folder)).await.map(|()| ExitCode::SUCCESS),
        [what @ ("retry" | "discard"), folder, id] => decide(Path::new(folder), what, id).await,
        [option, ..] if option.starts_with('-') && option != "--keep" => {
            Err(format!("unknown option `{option}`. `--help` lists the options").into())
        }
        _ => Err("expected `--keep`, `quarantined FOLDER`, `retry FOLDER ID` or `discard FOLDER ID`".into()),
    }
}

/// Runs the demonstration. An interrupt drops it, and with it the intake and its folder.
async fn until_interrupted(keeps: bool) -> Result<ExitCode> {
    let scratch = Scratch::new("orders")?;
    tokio::select! {
        is_even = demonstrate(scratch.path()) => {
            let is_even = is_even?;
            if keeps || !is_even {
                let folder = scratch.keep();
                say(&format!("the store is in {}", folder.display()));
                say(&format!("look at what failed: {COMMAND} -- quarantined {}", folder.display()));
            }
            Ok(if is_even { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        signal = interrupt() => {
            eprintln!("error: interrupted by {signal}");
            Ok(ExitCode::from(INTERRUPTED))
        }
    }
}

/// Returns whether the ledger comes out even.
async fn demonstrate(folder: &Path) -> Result<bool> {
    // Where the intake listens: each life has a port of its own.
    let (port, ports) = watch::channel(0);
    let client = tokio::spawn(send(ports));

    for kill in 1..=KILLS {
        let mut intake = start(folder, &port).await?;
        say(&format!("the intake accepts orders; kill {kill} of {KILLS} follows"));
        tokio::time::sleep(Duration::from_millis(fastrand::u64(50..400))).await;
        intake.kill().await?;
    }
    // The last one lives until all orders are accepted and handled.
    let mut intake = start(folder, &port).await?;
    drain(*port.borrow(), &client).await?;
    intake.wait().await?;
    client.await?;

    let ledger = Ledger::read(folder, ORDERS, intake::quarantine(folder).await?)?;
    say(&format!("{KILLS} kills, {ledger}"));
    let is_even = ledger.is_even(KILLS);
    if !is_even {
        eprintln!("error: the ledger does not come out even");
    }
    Ok(is_even)
}

/// Starts the intake, and waits until it listens.
async fn start(folder: &Path, port: &watch::Sender<u16>) -> Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("intake").arg(folder).stdout(Stdio::piped()).kill_on_drop(true);
    let mut intake = command.spawn()?;
    let stdout = intake.stdout.take().ok_or("its output is piped")?;
    let first = BufReader::new(stdout).lines().next_line().await?.ok_or("the intake has ended")?;
    port.send_replace(first.parse()?);
    Ok(intake)
}

/// Waits until the client is done, and lets the intake end when it has handled everything.
async fn drain(port: u16, client: &tokio::task::JoinHandle<()>) -> Result<()> {
    while !client.is_finished() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut line = Line::connect(port).await?;
    while line.ask("waiting").await? != "0" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    line.ask("end").await?;
    Ok(())
}

/// The client: sends each order until it hears that it was accepted.
async fn send(mut ports: watch::Receiver<u16>) {
    let mut line = None;
    for number in 1..=ORDERS {
        while accepted(&mut line, &mut ports, number).await.is_err() {
            line = None;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn accepted(line: &mut Option<Line>, ports: &mut watch::Receiver<u16>, number: u32) -> Result<()> {
    let line = if let Some(line) = line {
        line
    } else {
        let port = *ports.borrow_and_update();
        line.insert(Line::connect(port).await?)
    };
    match line.ask(&format!("order {number}")).await?.as_str() {
        "accepted" => Ok(()),
        refused => Err(refused.into()),
    }
}

/// A connection on which each line is answered by a line.
struct Line {
    answers: Lines<BufReader<OwnedReadHalf>>,
    questions: OwnedWriteHalf,
}

impl Line {
    async fn connect(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        let (answers, questions) = stream.into_split();
        Ok(Self { answers: BufReader::new(answers).lines(), questions })
    }

    async fn ask(&mut self, question: &str) -> Result<String> {
        self.questions.write_all(format!("{question}\n").as_bytes()).await?;
        Ok(self.answers.next_line().await?.ok_or("the intake has hung up")?)
    }
}

// ---- the quarantine -------------------------------------------------------------------------------------------------

async fn quarantined(folder: &Path) -> Result<()> {
    for quarantined in intake::quarantine(folder).await? {
        let message = &quarantined.message;
        let (id, kind, attempts) = (quarantined.id, &message.kind, message.attempts);
        let arguments = message.arguments();
        say(&format!("{id}  {kind} {arguments}: {:?}, attempts: {attempts}", quarantined.fate));
        for failure in &message.failures {
            say(&format!("     {failure}"));
        }
    }
    Ok(())
}

async fn decide(folder: &Path, what: &str, id: &str) -> Result<ExitCode> {
    let all = intake::quarantine(folder).await?;
    let Some(id) = all.iter().map(|quarantined| quarantined.id).find(|known| known.to_string() == id) else {
        eprintln!("error: no message in quarantine has the ID {id}");
        return Ok(ExitCode::FAILURE);
    };
    perform(folder, what, id).await?;
    Ok(ExitCode::SUCCESS)
}

async fn perform(folder: &Path, what: &str, id: MessageId) -> Result<()> {
    let system = intake::reopen(folder)?;
    if what == "retry" {
        system.store().retry(id).await?;
        say(&format!("{id} is back in the queue"));
    } else {
        system.store().discard(id).await?;
        say(&format!("{id} is discarded"));
    }
    system.terminate().await;
    Ok(())
}
