//! The command line.

use crate::framework::Flavour;
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
