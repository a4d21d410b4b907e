//! Two pieces of a service, written with `supervise`, kameo, ractor, actix and plain tokio, under the same faults.
//!
//! `cargo run --release --manifest-path tests/comparison/Cargo.toml` runs all of them, each in a process of its own, and prints a
//! table. Names after `--` select versions. The README says what is measured.

mod database;
mod memory;
mod orders;
mod report;
mod sessions;
mod store;
mod versions;

use std::env;
use std::error::Error;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use tokio::runtime::{Builder, Runtime};

use orders::Orders;
use report::Report;
use sessions::Sessions;

/// The name of a version, and the source of its two pieces.
const VERSIONS: [(&str, &str, &str); 5] = [
    ("supervise", include_str!("versions/supervise/orders.rs"), include_str!("versions/supervise/sessions.rs")),
    ("kameo", include_str!("versions/kameo/orders.rs"), include_str!("versions/kameo/sessions.rs")),
    ("ractor", include_str!("versions/ractor/orders.rs"), include_str!("versions/ractor/sessions.rs")),
    ("actix", include_str!("versions/actix/orders.rs"), include_str!("versions/actix/sessions.rs")),
    ("tokio", include_str!("versions/tokio/orders.rs"), include_str!("versions/tokio/sessions.rs")),
];

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["database", port, table] => database::serve(port.parse()?, Path::new(table))?,
        ["version", name] => print!("{}", run_version(name)?.to_lines()),
        names => return compare(names),
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the selected versions one after another, prints the table, and judges `supervise`.
fn compare(names: &[&str]) -> Result<ExitCode, Box<dyn Error>> {
    if let Some(unknown) = names.iter().find(|name| !VERSIONS.iter().any(|version| version.0 == **name)) {
        return Err(format!(
            "there is no version `{unknown}`; there are supervise, kameo, ractor, actix and tokio"
        )
        .into());
    }
    let mut reports = Vec::new();
    for (name, orders, sessions) in VERSIONS {
        if !names.is_empty() && !names.contains(&name) {
            continue;
        }
        eprintln!("{name} …");
        let mut report = Report::default();
        report.count("lines of code", "orders", lines_of_code(orders));
        report.count("lines of code", "sessions", lines_of_code(sessions));
        let process =
            Command::new(env::current_exe()?).args(["version", name]).stderr(Stdio::inherit()).output()?;
        if !process.status.success() {
            return Err(format!("{name} did not get to its end: {}", process.status).into());
        }
        report.extend(Report::from_lines(&String::from_utf8(process.stdout)?));
        reports.push((name, report));
    }
    println!("{}", report::table(&reports));
    let ours = reports.iter().filter(|report| report.0 == "supervise");
    let faults: Vec<_> = ours.flat_map(|report| report.1.faults()).collect();
    for fault in &faults {
        eprintln!("supervise: {fault}");
    }
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Lines that are neither empty nor only a comment.
fn lines_of_code(source: &str) -> usize {
    source.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

fn run_version(name: &str) -> io::Result<Report> {
    // The panics are part of the scenes.
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.payload().downcast_ref::<&str>().copied().unwrap_or_default();
        if !text.starts_with("a bug in the driver") && !text.starts_with("a poisoned number") {
            eprintln!("{panic}");
        }
    }));
    match name {
        "supervise" => runtime()?.block_on(scenes::<versions::supervise::Shop, versions::supervise::Registry>()),
        "kameo" => runtime()?.block_on(scenes::<versions::kameo::Shop, versions::kameo::Registry>()),
        "ractor" => runtime()?.block_on(scenes::<versions::ractor::Shop, versions::ractor::Registry>()),
        // Its arbiters need a system.
        "actix" => actix::System::with_tokio_rt(|| runtime().expect("a runtime"))
            .block_on(scenes::<versions::actix::Shop, versions::actix::Registry>()),
        _ => runtime()?.block_on(scenes::<versions::tokio::Shop, versions::tokio::Registry>()),
    }
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(2).enable_all().build()
}

async fn scenes<O: Orders, S: Sessions>() -> io::Result<Report> {
    let mut report = Report::default();
    orders::run::<O>(&mut report).await?;
    sessions::run::<S>(&mut report).await;
    Ok(report)
}
