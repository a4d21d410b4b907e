//! One piece of a service, written with `supervise`, its peers and plain tokio, and put through the same faults.
//!
//! ```text
//! cargo run --manifest-path tests/comparison/Cargo.toml
//! ```

mod drill;
mod piece;
mod store;

use std::process::{Command, ExitCode};

use crate::drill::Measured;
use crate::piece::{actix, kameo, ractor, raw, supervise};

/// Each piece runs in a process of its own, so that its memory can be told.
const PIECES: [(&str, &str); 5] = [
    ("tokio by hand", include_str!("piece/raw.rs")),
    ("supervise", include_str!("piece/supervise.rs")),
    ("ractor", include_str!("piece/ractor.rs")),
    ("kameo", include_str!("piece/kameo.rs")),
    ("actix", include_str!("piece/actix.rs")),
];

fn main() -> ExitCode {
    let argument = std::env::args().nth(1);
    let result = match argument.as_deref() {
        None => table(),
        Some(name) if PIECES.iter().any(|(piece, _)| *piece == name) => measure(name),
        Some(other) => {
            Err(format!("unknown piece `{other}`: expected nothing, or one of {:?}", PIECES.map(|(name, _)| name))
                .into())
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn measure(name: &str) -> Outcome {
    // The bug that some orders bring to light.
    std::panic::set_hook(Box::new(|_| {}));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let measured = runtime.block_on(async {
        match name {
            "supervise" => drill::run::<supervise::Writers>().await,
            "ractor" => drill::run::<ractor::Writers>().await,
            "kameo" => drill::run::<kameo::Writers>().await,
            "actix" => drill::run::<actix::Writers>().await,
            _ => drill::run::<raw::Writers>().await,
        }
    })?;
    println!("{measured}");
    Ok(())
}

fn table() -> Outcome {
    println!("| | lines | {} |", Measured::HEADINGS.join(" | "));
    println!("|---{}|", "|---:".repeat(Measured::HEADINGS.len() + 1));
    for (name, source) in PIECES {
        let output = Command::new(std::env::current_exe()?).arg(name).output()?;
        if !output.status.success() {
            return Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim()).into());
        }
        println!("| {name} | {} | {} |", lines(source), String::from_utf8(output.stdout)?.trim());
    }
    Ok(())
}

/// Lines of code: without empty lines, comments and imports.
fn lines(source: &str) -> usize {
    let mut imports = false;
    let code = source.lines().map(str::trim).filter(|line| {
        let import = imports || line.starts_with("use ");
        imports = import && !line.ends_with(';');
        !import && !line.is_empty() && !line.starts_with("//")
    });
    code.count()
}
