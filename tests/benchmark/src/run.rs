//! Runs every cell of the table in a process of its own, round by round, so that a temporary load on the machine
//! affects all cells.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;

use crate::framework::{Flavour, Framework, raw, supervise};
#[cfg(feature = "peers")]
use crate::framework::{actix, kameo, ractor, xtra};
use crate::measure::Summary;
use crate::options::RunOptions;
use crate::process;
use crate::scale::Scale;
use crate::services::{self, Services};
use crate::table;
use crate::workload::Workload;

/// A framework behind its name.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    pub name: &'static str,
    supports: fn(Workload, Flavour) -> bool,
    measure: fn(Workload, Flavour, Scale) -> f64,
}

impl Entry {
    const fn of<F: Framework>() -> Self {
        Self {
            name: F::NAME,
            supports: |workload, flavour| !workload.is_of_services() && F::supports(workload, flavour),
            measure: |workload, flavour, scale| workload.measure::<F>(flavour, scale),
        }
    }

    const fn with_services<F: Services>() -> Self {
        Self {
            name: F::NAME,
            supports: F::supports,
            measure: |workload, flavour, scale| {
                if workload.is_of_services() {
                    services::measure::<F>(workload, flavour, scale)
                } else {
                    workload.measure::<F>(flavour, scale)
                }
            },
        }
    }
}

/// All frameworks, `raw` first.
pub const FRAMEWORKS: &[Entry] = &[
    Entry::with_services::<raw::Raw>(),
    Entry::with_services::<supervise::Supervise>(),
    #[cfg(feature = "peers")]
    Entry::of::<ractor::Ractor>(),
    #[cfg(feature = "peers")]
    Entry::of::<kameo::Kameo>(),
    #[cfg(feature = "peers")]
    Entry::of::<actix::Actix>(),
    #[cfg(feature = "peers")]
    Entry::of::<xtra::Xtra>(),
];

/// Measures one cell in this process and prints the figure.
pub fn one(framework: &str, workload: Workload, flavour: Flavour, scale: Scale) -> Result<(), Box<dyn Error>> {
    let framework = FRAMEWORKS.iter().find(|entry| entry.name == framework);
    let framework = framework.ok_or("there is no such framework in this build")?;
    println!("{}", (framework.measure)(workload, flavour, scale));
    // Exits without an orderly shutdown, which would take time and measure nothing.
    std::io::stdout().flush()?;
    std::process::exit(0)
}

pub type Cell = (Workload, &'static str, &'static str);

/// The command `run`.
pub fn all(options: &RunOptions) -> Result<(), Box<dyn Error>> {
    let chosen = |entry: &&Entry| {
        options.frameworks.is_empty()
            || entry.name == "raw"
            || options.frameworks.iter().any(|name| name == entry.name)
    };
    if let Some(unknown) =
        options.frameworks.iter().find(|&name| FRAMEWORKS.iter().all(|entry| entry.name != name))
    {
        return Err(format!("there is no framework `{unknown}` in this build").into());
    }
    let frameworks: Vec<&Entry> = FRAMEWORKS.iter().filter(chosen).collect();
    let mut cells = Vec::new();
    for &workload in &options.workloads {
        for &flavour in workload.flavours() {
            // If a workload has only one flavour, it runs in that one, whichever was chosen.
            if options.flavours.contains(&flavour) || workload.flavours().len() == 1 {
                let supported = frameworks.iter().filter(|entry| (entry.supports)(workload, flavour));
                cells.extend(supported.map(|entry| (workload, entry.name, flavour.name())));
            }
        }
    }
    let mut runs: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for round in 1..=options.rounds {
        for (index, &(workload, framework, flavour)) in cells.iter().enumerate() {
            eprint!("\rround {round} of {}, {} of {}   ", options.rounds, index + 1, cells.len());
            match measure(framework, workload, flavour, options.quick) {
                Ok(figure) => runs.entry(index).or_default().push(figure),
                Err(error) => eprintln!("\r{framework}, {}, {flavour}: {error}", workload.key()),
            }
        }
    }
    eprintln!();
    let summary = |(index, &cell): (usize, &Cell)| {
        runs.get(&index).cloned().and_then(Summary::of).map(|summary| (cell, summary))
    };
    let figures = cells.iter().enumerate().filter_map(summary).collect();
    let names: Vec<_> = frameworks.iter().map(|entry| entry.name).collect();
    print!("{}", table::markdown(options, &names, &figures));
    Ok(())
}

/// Runs this program again for one cell.
fn measure(framework: &str, workload: Workload, flavour: &str, quick: bool) -> Result<f64, Box<dyn Error>> {
    let scale = if quick { "quick" } else { "full" };
    let figure = process::run_again(&["one", framework, workload.key(), flavour, scale])?;
    Ok(figure.trim().parse()?)
}
