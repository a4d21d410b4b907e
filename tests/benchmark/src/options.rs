//! The command line.

use crate::framework::Flavour;
use crate::parallelism::{self, Threads};
use crate::scale::Scale;
use crate::workload::Workload;

pub const USAGE: &str = "\
usage: supervise-benchmark COMMAND

commands:
  run            every framework with every workload, as a table in Markdown
    --quick            small numbers, 2 rounds: does everything work?
    --rounds N         processes per cell (5)
    --framework NAME   only this one; may be given again. `raw` always runs, the others are told in its terms
    --workload KEY     only this one; may be given again
    --flavour mt|ct    only this one
  scaling        what things cost among up to a million actors; writes results/scaling.csv and .svg
    --rounds N         processes per point (3)
  parallelism    who waits for whom where threads are blocked or busy, beside one task per actor
    --quick            shorter scenes, 1 round
    --rounds N         processes per cell (3)
    --scene KEY        only those whose key begins so; may be given again
    --threads N|ct     only this runtime; may be given again
  fairness       what an actor whose mailbox is never empty does to others
  observability  what tracing costs: not built in, built in with nobody listening, with a subscriber
    --quick, --rounds N   as above
  help           this";

#[derive(Debug)]
pub enum Command {
    Help,
    /// One cell of the table, once, in this process.
    One {
        framework: String,
        workload: Workload,
        flavour: Flavour,
        scale: Scale,
        subscriber: bool,
    },
    Run(RunOptions),
    /// One point of the curves, once, in this process.
    ScalingPoint {
        axis: String,
        size: usize,
    },
    Scaling {
        rounds: usize,
    },
    /// One scene, once, in this process.
    Scene {
        scene: String,
        actors: String,
        threads: Threads,
        quick: bool,
    },
    Parallelism(parallelism::Options),
    Fairness,
    Observability {
        quick: bool,
        rounds: usize,
    },
}

#[derive(Debug)]
pub struct RunOptions {
    pub quick: bool,
    pub rounds: usize,
    /// Empty: all.
    pub frameworks: Vec<String>,
    pub workloads: Vec<Workload>,
    pub flavours: Vec<Flavour>,
}

pub fn parse(arguments: &[String]) -> Result<Command, String> {
    let (command, rest) = arguments.split_first().ok_or("no command")?;
    match (command.as_str(), rest) {
        ("help" | "--help" | "-h", _) => Ok(Command::Help),
        ("run", rest) => run(rest).map(Command::Run),
        ("one", [framework, workload, flavour, scale, subscriber @ ..]) => Ok(Command::One {
            framework: framework.clone(),
            workload: parse_workload(workload)?,
            flavour: parse_flavour(flavour)?,
            scale: if scale == "quick" { Scale::QUICK } else { Scale::FULL },
            subscriber: !subscriber.is_empty(),
        }),
        ("scaling-point", [axis, size]) => {
            let size = size.parse().map_err(|error| format!("{size}: {error}"))?;
            Ok(Command::ScalingPoint { axis: axis.clone(), size })
        }
        ("scaling", []) => Ok(Command::Scaling { rounds: 3 }),
        ("scaling", [flag, rounds]) if flag == "--rounds" => {
            Ok(Command::Scaling { rounds: parse_rounds(rounds)? })
        }
        ("scene", [scene, actors, threads, extent]) => Ok(Command::Scene {
            scene: scene.clone(),
            actors: actors.clone(),
            threads: parse_threads(threads)?,
            quick: extent == "quick",
        }),
        ("parallelism", rest) => parallelism(rest).map(Command::Parallelism),
        ("fairness", []) => Ok(Command::Fairness),
        ("observability", rest) => {
            let RunOptions { quick, rounds, .. } = run(rest)?;
            Ok(Command::Observability { quick, rounds })
        }
        (other, _) => Err(format!("there is no command `{other}` with these arguments")),
    }
}

fn run(arguments: &[String]) -> Result<RunOptions, String> {
    let mut options = RunOptions {
        quick: false,
        rounds: 0,
        frameworks: Vec::new(),
        workloads: Vec::new(),
        flavours: Vec::new(),
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--quick" => options.quick = true,
            "--rounds" => options.rounds = parse_rounds(value()?)?,
            "--framework" => options.frameworks.push(value()?.clone()),
            "--workload" => options.workloads.push(parse_workload(value()?)?),
            "--flavour" => options.flavours.push(parse_flavour(value()?)?),
            other => return Err(format!("`run` has no option `{other}`")),
        }
    }
    if options.rounds == 0 {
        options.rounds = if options.quick { 2 } else { 5 };
    }
    if options.workloads.is_empty() {
        options.workloads = Workload::ALL.to_vec();
    }
    if options.flavours.is_empty() {
        options.flavours = Flavour::ALL.to_vec();
    }
    Ok(options)
}

fn parallelism(arguments: &[String]) -> Result<parallelism::Options, String> {
    let mut options = parallelism::Options { quick: false, rounds: 0, scenes: Vec::new(), threads: Vec::new() };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--quick" => options.quick = true,
            "--rounds" => options.rounds = parse_rounds(value()?)?,
            "--scene" => options.scenes.push(value()?.clone()),
            "--threads" => options.threads.push(parse_threads(value()?)?),
            other => return Err(format!("`parallelism` has no option `{other}`")),
        }
    }
    if options.rounds == 0 {
        options.rounds = if options.quick { 1 } else { 3 };
    }
    Ok(options)
}

fn parse_threads(threads: &str) -> Result<Threads, String> {
    threads.parse().map_err(|error| format!("{threads}: {error}"))
}

fn parse_rounds(rounds: &str) -> Result<usize, String> {
    match rounds.parse() {
        Ok(0) => Err("--rounds: at least 1".to_owned()),
        Ok(rounds) => Ok(rounds),
        Err(error) => Err(format!("--rounds: {error}")),
    }
}

fn parse_workload(key: &str) -> Result<Workload, String> {
    Workload::ALL.into_iter().find(|workload| workload.key() == key).ok_or_else(|| {
        let keys: Vec<_> = Workload::ALL.iter().map(|workload| workload.key()).collect();
        format!("there is no workload `{key}`, there are {}", keys.join(", "))
    })
}

fn parse_flavour(name: &str) -> Result<Flavour, String> {
    let flavour = Flavour::ALL.into_iter().find(|flavour| flavour.name() == name);
    flavour.ok_or_else(|| format!("there is no flavour `{name}`, there are mt and ct"))
}
