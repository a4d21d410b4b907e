//! What tracing costs in `supervise`: built without it, without a subscriber, and with one.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::framework::Flavour;
use crate::measure::Summary;
use crate::process;
use crate::scale::Scale;
use crate::table::{figure, ratio};
use crate::workload::Workload;

/// The most frequent operations, and those that write log lines.
const WORKLOADS: [Workload; 7] = [
    Workload::Tell1,
    Workload::Ask,
    Workload::PingPong,
    Workload::SpawnWide,
    Workload::RestartByError,
    Workload::RestartByPanic,
    Workload::StopTree,
];

/// Formats events of level `INFO` and above, and throws the text away.
pub fn subscribe() {
    tracing_subscriber::fmt().with_writer(std::io::sink).init();
}

/// The command `observability`.
pub fn run(quick: bool, rounds: usize) -> Result<(), Box<dyn Error>> {
    let without = build("without-tracing", &[])?;
    let with = build("with-tracing", &["--features", "tracing"])?;
    let variants: [(&Path, &[&str]); 3] = [(&without, &[]), (&with, &[]), (&with, &["subscriber"])];
    let scale = if quick { Scale::QUICK } else { Scale::FULL };

    let cells: Vec<_> = WORKLOADS
        .iter()
        .flat_map(|&workload| workload.flavours().iter().map(move |&flavour| (workload, flavour)))
        .collect();
    let mut runs = vec![[const { Vec::new() }; 3]; cells.len()];
    for round in 1..=rounds {
        for (&(workload, flavour), runs) in cells.iter().zip(&mut runs) {
            eprint!("\rround {round} of {rounds}, {} {}          ", workload.key(), flavour.name());
            for ((program, extra), runs) in variants.iter().zip(runs) {
                let scale = if quick { "quick" } else { "full" };
                let cell = ["one", "supervise", workload.key(), flavour.name(), scale];
                runs.push(process::run(program, &[&cell[..], extra].concat())?.trim().parse::<f64>()?);
            }
        }
    }
    eprintln!();

    println!("Medians of {rounds} processes per cell; the last two columns in multiples of the first.\n");
    println!("| workload | | tracing not built in | nobody listens | subscriber at `INFO` |");
    println!("|---|---|---|---|---|");
    for ((workload, flavour), runs) in cells.into_iter().zip(runs) {
        let [without, silent, heard] =
            runs.map(|runs| Summary::of(runs).map_or(f64::NAN, |summary| summary.median));
        println!(
            "| {} | {} | {} | {} | {} |",
            workload.title(&scale),
            Flavour::name(flavour),
            figure(workload.unit(), without),
            ratio(silent / without),
            ratio(heard / without),
        );
    }
    Ok(())
}

/// Builds this program once more, beside itself, without the other frameworks.
fn build(directory: &str, features: &[&str]) -> Result<PathBuf, Box<dyn Error>> {
    let executable = std::env::current_exe()?;
    let target = executable.parent().ok_or("this program lies nowhere")?.join(directory);
    eprintln!("building {directory} …");
    let built = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--quiet", "--release", "--no-default-features", "--manifest-path"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .args(features)
        .status()?;
    if !built.success() {
        return Err(format!("the build ended with {built}").into());
    }
    Ok(target.join("release").join("supervise-benchmark"))
}
