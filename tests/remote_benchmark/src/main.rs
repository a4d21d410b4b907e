//! Measures messages between two processes, for `supervise` over Zenoh and for others: `remote-benchmark --help`.

mod instructions;
mod side;
mod table;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use side::{Running, SIDES, Side};
use supervise_remote_benchmark::Outcome;
use table::{Row, Samples};

const HELP: &str = "remote-benchmark [--rounds N] [--quick] [--side NAME].. [--row NAME].. [--help]

Each side that was built (zenoh, supervise, erlang, kameo, ractor) runs as two processes. Each row runs on all sides in turn, and
all that again in the next round, with new processes. The table shows the median of all rounds, and the lowest and the highest value.

  --rounds N    how many rounds; 5 by default
  --quick       one round with small numbers: does everything work?
  --side NAME   only this side; may be repeated
  --row NAME    only this row: ask, asks, tell, kill, stop, instructions; may be repeated";

/// How long a server that is killed or stopped is waited for.
const GIVE_UP: Duration = Duration::from_secs(20);

struct Options {
    rounds: usize,
    is_quick: bool,
    sides: Vec<String>,
    rows: Vec<String>,
}

impl Options {
    fn read() -> Outcome<Option<Self>> {
        let mut options = Self { rounds: 5, is_quick: false, sides: Vec::new(), rows: Vec::new() };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("`{argument}` needs a value"));
            match argument.as_str() {
                "--rounds" => options.rounds = value()?.parse()?,
                "--quick" => (options.is_quick, options.rounds) = (true, 1),
                "--side" => options.sides.push(value()?),
                "--row" => options.rows.push(value()?),
                "--help" => return Ok(None),
                other => return Err(format!("no option `{other}`\n\n{HELP}").into()),
            }
        }
        Ok(Some(options))
    }

    fn wants(&self, row: Row) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|wanted| wanted == row.name())
    }

    /// The sides that can run, and why the others cannot.
    fn sides(&self) -> Vec<&'static Side> {
        let wanted =
            SIDES.iter().filter(|side| self.sides.is_empty() || self.sides.iter().any(|one| one == side.name));
        wanted
            .filter(|side| {
                let missing = side.missing();
                if let Err(why) = &missing {
                    println!("skipped: {}: {why}", side.name);
                }
                missing.is_ok()
            })
            .collect()
    }
}

fn main() -> ExitCode {
    let done = match Options::read() {
        Ok(Some(options)) => measure(&options),
        Ok(None) => {
            println!("{HELP}");
            Ok(())
        }
        Err(error) => Err(error),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(options: &Options) -> Outcome<()> {
    let sides = options.sides();
    let mut samples = Samples::default();
    let start = Instant::now();
    println!("load before: {}", load());
    for round in 1..=options.rounds {
        eprintln!("round {round} of {} after {:.0?}", options.rounds, start.elapsed());
        timed_round(options, &sides, &mut samples)?;
    }
    if options.wants(Row::Stop) {
        eprintln!("SIGSTOP after {:.0?}", start.elapsed());
        stopped(&sides, &mut samples)?;
    }
    if options.wants(Row::Instructions) {
        eprintln!("instructions after {:.0?}", start.elapsed());
        // The times are worth showing even if Valgrind is too slow for a side.
        if let Err(error) = instructions::count(&sides, &mut samples) {
            println!("failed: instructions: {error}");
        }
    }
    println!("load after: {}, {:.0?}\n", load(), start.elapsed());
    print!("{}", samples.table(&sides));
    Ok(())
}

/// The times of asks and told numbers, and of a kill, of all sides.
fn timed_round(options: &Options, sides: &[&'static Side], samples: &mut Samples) -> Outcome<()> {
    let mut running = BTreeMap::new();
    for side in sides {
        running.insert(side.name, Running::start(side, false).map_err(|error| format!("{}: {error}", side.name))?);
    }
    for row in [Row::Ask, Row::Asks, Row::Tell].into_iter().filter(|row| options.wants(*row)) {
        for side in sides {
            let Some(pair) = running.get_mut(side.name) else { continue };
            let each = if options.is_quick { 10 } else { 1 };
            let (name, count) = (row.name(), (row.count() / side.slower / each).max(10));
            // The first time does not count.
            pair.value(&format!("{name} {}", (count / 4).max(1)))?;
            let value =
                pair.value(&format!("{name} {count}")).map_err(|error| format!("{}: {error}", side.name))?;
            samples.add(row, side, value);
        }
    }
    for side in sides {
        let Some(mut pair) = running.remove(side.name) else { continue };
        if options.wants(Row::Kill) {
            pair.watch()?;
            let start = Instant::now();
            pair.server.kill()?;
            samples.add_time(Row::Kill, side, pair.told(GIVE_UP).map(|at| at - start));
        }
    }
    Ok(())
}

/// Stops the servers of all sides at the same time.
fn stopped(sides: &[&'static Side], samples: &mut Samples) -> Outcome<()> {
    let mut watching = Vec::new();
    for side in sides {
        let mut pair = Running::start(side, true)?;
        pair.watch()?;
        watching.push((side, pair));
    }
    let mut stopped = Vec::new();
    for (side, pair) in watching {
        let start = Instant::now();
        pair.stop()?;
        stopped.push((side, pair, start));
    }
    for (side, pair, start) in stopped {
        let left = GIVE_UP.saturating_sub(start.elapsed());
        samples.add_time(Row::Stop, side, pair.told(left).map(|at| at - start));
    }
    Ok(())
}

fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').take(3).collect::<Vec<_>>().join(" ")
}
