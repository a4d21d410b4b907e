//! Supervised actors compute the tables of a World Cup. They read the matches from a feed server that misbehaves.
//!
//! This shows the containment pattern: [`Standings`](standings::Standings) keeps the table and supervises its
//! [`Feed`](feed::Feed)s, which do the risky reads. At the end the program compares the table with a plain fold over the input.
//!
//! ```text
//! tournament ◄─ record        the facts, read from JSON
//! table                       the plain fold
//! server ─TCP─ connection     the feed server and its client; `protocol` is their language
//! standings ─► feed           the actors: start reading here
//! progress, supervision_log, report, options
//! ```

mod connection;
mod feed;
mod options;
mod progress;
mod protocol;
mod record;
mod report;
mod server;
mod standings;
mod supervision_log;
mod table;
mod tournament;

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use supervise::prelude::*;
use tokio::sync::watch;

use crate::options::{Command, Options, USAGE};
use crate::progress::{Display, Progress};
use crate::report::{Supervision, Tables, Verdict};
use crate::server::{FeedServer, Manners};
use crate::standings::Standings;
use crate::supervision_log::{SupervisionLog, gather};
use crate::table::{Differences, Table};
use crate::tournament::Tournament;

const INCOMPLETE: u8 = 1;
const NOTHING_TO_COMPUTE: u8 = 2;
const RECORDS_SKIPPED: u8 = 3;

/// How long the standings may take to return their table. They wait for nothing else at that time.
const TABLE_WITHIN: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> ExitCode {
    let options = match Command::parse(std::env::args_os().skip(1)) {
        Ok(Command::Run(options)) => options,
        Ok(Command::Help) => {
            print(USAGE);
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("error: {error}. `--help` lists the options");
            return ExitCode::from(NOTHING_TO_COMPUTE);
        }
    };
    run(&options).await.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(NOTHING_TO_COMPUTE)
    })
}

async fn run(options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    let tournament = match &options.path {
        Some(path) => Tournament::from_file(path)?,
        None => Tournament::shipped()?,
    };
    for record in &tournament.unreadable {
        eprintln!("{}:{record}; skipped", tournament.source);
    }
    let Options { seed, faults, feeds, .. } = options;
    print(&format!(
        "{}: {} matches, {feeds} feeds, {faults} % of the requests go wrong (seed {seed})",
        tournament.name,
        tournament.matches.len()
    ));

    let started = Instant::now();
    let computed = compute(options, &tournament).await?;
    let took = started.elapsed();

    let differences = computed.table.differences(&tournament.matches);
    print(&Tables(&computed.table).to_string());
    print(&Supervision(&computed.log).to_string());
    let verdict =
        Verdict { tournament: &tournament, differences: &differences, feeds_left: computed.feeds_left, took };
    print(&verdict.to_string());
    Ok(exit_code(&differences, &tournament))
}

/// The result of the actors' work.
struct Computed {
    table: Table,
    feeds_left: usize,
    log: SupervisionLog,
}

/// Lets the actors fetch every match from a server that misbehaves.
async fn compute(options: &Options, tournament: &Tournament) -> Result<Computed, Box<dyn Error>> {
    let manners = Manners { seed: options.seed, faults: options.faults, dies_after: options.server_dies_after };
    let server = FeedServer::start(&tournament.matches, manners).await?;
    let (address, feeds) = (server.address(), options.feeds);
    let (watchers, mut progress) = watch::channel(Progress::default());

    let system = ActorSystem::new("world-cup");
    let log = gather(&system);
    let standings = system.spawn("standings", move || Standings::new(address, feeds, watchers.clone()))?;

    let mut display = Display::new();
    // The loop also ends when the standings have ended, because the last sender ends with them.
    while progress.changed().await.is_ok() {
        let now = *progress.borrow_and_update();
        display.show(now);
        if now.finished {
            break;
        }
    }
    let feeds_left = progress.borrow().feeds;
    let table = standings.table().timeout(TABLE_WITHIN).await.unwrap_or_else(|error| {
        eprintln!("the standings have no table: {error}");
        Table::default()
    });
    system.terminate().await;
    Ok(Computed { table, feeds_left, log: log.await? })
}

fn exit_code(differences: &Differences, tournament: &Tournament) -> ExitCode {
    if !differences.is_none() {
        ExitCode::from(INCOMPLETE)
    } else if !tournament.unreadable.is_empty() {
        ExitCode::from(RECORDS_SKIPPED)
    } else {
        ExitCode::SUCCESS
    }
}

/// Writes to standard output. The reader may have closed it; that must not cause a panic.
fn print(text: &str) {
    let _ = writeln!(std::io::stdout(), "{}", text.trim_end_matches('\n'));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(seed: u64, server_dies_after: Option<u32>) -> Options {
        Options { path: None, seed, faults: 30, feeds: 4, server_dies_after }
    }

    #[tokio::test]
    async fn five_seeds_with_thirty_per_cent_faults_give_the_exact_table() {
        let tournament = Tournament::shipped().unwrap();
        for seed in 1..=5 {
            let computed = compute(&options(seed, None), &tournament).await.unwrap();
            let differences = computed.table.differences(&tournament.matches);
            assert!(differences.is_none(), "seed {seed}: {differences:?}");
            assert!(computed.log.restarts > 0, "seed {seed}: nothing was restarted");
        }
    }

    #[tokio::test]
    async fn a_server_killed_for_good_ends_in_stop_and_names_what_is_missing() {
        let tournament = Tournament::shipped().unwrap();
        let computed = compute(&options(1, Some(20)), &tournament).await.unwrap();
        assert_eq!(computed.feeds_left, 0);
        let stops: u32 = computed
            .log
            .decisions
            .iter()
            .filter(|((_, directive), _)| *directive == "Stop")
            .map(|(_, decision)| decision.times)
            .sum();
        assert_eq!(stops, 4, "{:?}", computed.log);
        let differences = computed.table.differences(&tournament.matches);
        assert!(!differences.lost.is_empty() && differences.counted_twice.is_empty(), "{differences:?}");
    }
}
