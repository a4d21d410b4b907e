//! The table, in Markdown: `raw` in figures, the others in multiples of it.

use std::collections::HashMap;

use crate::framework::Flavour;
use crate::measure::Summary;
use crate::options::RunOptions;
use crate::run::Cell;
use crate::scale::Scale;
use crate::workload::{Unit, Workload};

pub fn markdown(options: &RunOptions, frameworks: &[&str], figures: &HashMap<Cell, Summary>) -> String {
    let scale = if options.quick { Scale::QUICK } else { Scale::FULL };
    let mut lines = vec![
        format!(
            "Medians of {} processes per cell, run in turn; `mt / ct`: 2 worker threads / 1 thread. `raw` in the",
            options.rounds
        ),
        "unit of the row, the others as multiples of it.".to_owned(),
        String::new(),
    ];
    let (raw, others) = frameworks.split_first().expect("`raw` always runs");
    lines.push(format!("| workload | {raw} | {} |", others.join(" | ")));
    lines.push(format!("|---|---|{}", "---|".repeat(others.len())));
    for &workload in &options.workloads {
        let absolute = pair(workload, |flavour| {
            Some(figure(workload.unit(), figures.get(&(workload, raw, flavour.name()))?.median))
        });
        let ratios: Vec<_> = others
            .iter()
            .map(|&other| {
                pair(workload, |flavour| {
                    let other = figures.get(&(workload, other, flavour.name()))?.median;
                    Some(ratio(other / figures.get(&(workload, raw, flavour.name()))?.median))
                })
            })
            .collect();
        lines.push(format!("| {} | {absolute} | {} |", workload.title(&scale), ratios.join(" | ")));
    }
    lines.extend([String::new(), versions(frameworks), String::new()]);
    lines.push("The same in figures, with the lowest and the highest of each cell:".to_owned());
    lines.push(String::new());
    lines.push(format!("| workload | | {} |", frameworks.join(" | ")));
    lines.push(format!("|---|---|{}", "---|".repeat(frameworks.len())));
    for &workload in &options.workloads {
        for &flavour in workload.flavours() {
            let spreads: Vec<_> = frameworks
                .iter()
                .map(|&framework| {
                    let summary = figures.get(&(workload, framework, flavour.name()));
                    summary.map_or_else(|| "–".to_owned(), |&summary| spread(workload.unit(), summary))
                })
                .collect();
            if spreads.iter().any(|spread| spread != "–") {
                lines.push(format!(
                    "| {} | {} | {} |",
                    workload.title(&scale),
                    flavour.name(),
                    spreads.join(" | ")
                ));
            }
        }
    }
    lines.join("\n") + "\n"
}

/// `mt / ct`, or one figure if the workload has only one flavour.
fn pair(workload: Workload, cell: impl Fn(Flavour) -> Option<String>) -> String {
    let cells = workload.flavours().iter().map(|&flavour| cell(flavour).unwrap_or_else(|| "–".to_owned()));
    let cells: Vec<_> = cells.collect();
    if cells.iter().all(|cell| cell == "–") { "–".to_owned() } else { cells.join(" / ") }
}

fn spread(unit: Unit, Summary { median, min, max }: Summary) -> String {
    format!("{} ({}..{})", figure(unit, median), figure(unit, min), figure(unit, max))
}

pub fn figure(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Milliseconds => format!("{value:.2}"),
        Unit::Nanoseconds | Unit::Bytes if value < 10.0 => format!("{value:.1}"),
        Unit::Nanoseconds | Unit::Bytes => format!("{value:.0}"),
    }
}

pub fn ratio(ratio: f64) -> String {
    match ratio {
        ..10.0 => format!("{ratio:.2}"),
        ..100.0 => format!("{ratio:.1}"),
        _ => format!("{ratio:.0}"),
    }
}

/// The versions that were measured, as the lock file has them.
fn versions(frameworks: &[&str]) -> String {
    let lock = include_str!("../Cargo.lock");
    let version = |package: &str| {
        let entry =
            lock.split("[[package]]").find(|entry| entry.contains(&format!("\nname = \"{package}\"\n")))?;
        entry.split("version = \"").nth(1)?.split('"').next()
    };
    let packages =
        ["tokio"].iter().chain(frameworks).filter_map(|&package| Some(format!("{package} {}", version(package)?)));
    format!("({}.)", packages.collect::<Vec<_>>().join(", "))
}
