//! The frame of a service that runs under faults: its command line, the processes that it starts, their files, and
//! the ledger of what was proven.

pub mod ledger;
#[cfg(unix)]
pub mod process;
pub mod scratch;
pub mod settings;

use std::error::Error;
use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use tokio::signal;

pub use self::ledger::Ledger;
pub use self::scratch::Scratch;
pub use self::settings::{Program, Setting, Values};

/// The exit code if the ledger is wrong.
pub const WRONG: u8 = 1;
/// The exit code if there was nothing to prove, for example because the command line is wrong.
pub const NOTHING_RUN: u8 = 2;
/// The exit code if a part is not installed.
pub const MISSING: u8 = 3;
/// The exit code after Ctrl-C or SIGTERM.
pub const INTERRUPTED: u8 = 130;

/// What `--help` says about the exit codes of a program with a ledger.
const LEDGER_CODES: &str = "\
Exit codes: 0 the ledger is right; 1 it is not; 2 there was nothing to prove, for example
because the command line is wrong; 3 a part is not installed.";

/// What `--help` says about the exit codes of a program without a ledger.
const SHOW_CODES: &str =
    "Exit codes: 0 it ran to its end; 2 it did not, for example because the command line is wrong.";

/// A part that the service needs is not installed.
#[derive(Debug, thiserror::Error)]
#[error("{what} is not installed: {install}")]
pub struct Missing {
    /// The part.
    pub what: &'static str,
    /// The command that installs it.
    pub install: &'static str,
}

/// Reads the arguments, does the work, and prints the ledger. The exit code is 0 if the ledger is right, [`WRONG`] if it is not, and
/// [`NOTHING_RUN`], [`MISSING`] or [`INTERRUPTED`] if there is none. An interrupt drops the work, and with it what it started.
pub async fn run<W, L>(program: &Program, arguments: impl IntoIterator<Item = OsString>, work: W) -> ExitCode
where
    W: FnOnce(Values) -> L,
    L: Future<Output = Result<Ledger, Box<dyn Error>>>,
{
    let values = match read(program, arguments, LEDGER_CODES) {
        Ok(values) => values,
        Err(code) => return code,
    };
    let done = tokio::select! {
        done = work(values) => done,
        signal = interrupt() => {
            eprintln!("error: interrupted by {signal}");
            return ExitCode::from(INTERRUPTED);
        }
    };
    match done {
        Ok(ledger) => {
            say(&format!("\n{ledger}"));
            if ledger.is_right() { ExitCode::SUCCESS } else { ExitCode::from(WRONG) }
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(if error.is::<Missing>() { MISSING } else { NOTHING_RUN })
        }
    }
}

/// Like [`run`], for a program that shows something and proves nothing.
pub async fn show<W, D>(program: &Program, arguments: impl IntoIterator<Item = OsString>, work: W) -> ExitCode
where
    W: FnOnce(Values) -> D,
    D: Future<Output = Result<(), Box<dyn Error>>>,
{
    match read(program, arguments, SHOW_CODES) {
        Ok(values) => match work(values).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::from(NOTHING_RUN)
            }
        },
        Err(code) => code,
    }
}

/// Reads the arguments. The error is the exit code after `--help` or a mistake.
fn read(
    program: &Program,
    arguments: impl IntoIterator<Item = OsString>,
    exit_codes: &str,
) -> Result<Values, ExitCode> {
    match program.parse(arguments) {
        Ok(Some(values)) => Ok(values),
        Ok(None) => {
            say(&format!("{}\n{exit_codes}", program.usage()));
            Err(ExitCode::SUCCESS)
        }
        Err(error) => {
            eprintln!("error: {error}. `--help` lists the options");
            Err(ExitCode::from(NOTHING_RUN))
        }
    }
}

/// Waits for Ctrl-C or SIGTERM, and returns its name.
pub async fn interrupt() -> &'static str {
    tokio::select! {
        Ok(()) = signal::ctrl_c() => "Ctrl-C",
        Some(()) = terminated() => "SIGTERM",
        else => std::future::pending().await,
    }
}

#[cfg(unix)]
async fn terminated() -> Option<()> {
    signal::unix::signal(signal::unix::SignalKind::terminate()).ok()?.recv().await
}

/// Windows has no SIGTERM.
#[cfg(not(unix))]
async fn terminated() -> Option<()> {
    std::future::pending().await
}

/// The beginning of the panic message of a bug that a service has on purpose.
pub const BUG: &str = "a bug that";

/// Keeps panics that begin with [`BUG`] off standard error. Others are reported as usual.
pub fn hide_bugs() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.payload().downcast_ref::<&str>().is_some_and(|text| text.starts_with(BUG)) {
            usual(panic);
        }
    }));
}

/// Writes a line to standard output. The reader may have closed it; that must not cause a panic.
pub fn say(text: &str) {
    let _closed = writeln!(std::io::stdout(), "{}", text.trim_end_matches('\n'));
}
