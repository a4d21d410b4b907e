//! Runs this program as a process of its own, so that each measurement begins in a fresh process.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A measurement that takes longer than this counts as hung.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs this program again and returns its output.
pub fn run_again(arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    run(&std::env::current_exe()?, arguments)
}

/// Runs a build of this program and returns its output.
pub fn run(program: &Path, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let mut process = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let began = Instant::now();
    while process.try_wait()?.is_none() {
        if began.elapsed() > LIMIT {
            process.kill()?;
            process.wait()?;
            return Err(format!("not done within {LIMIT:?}").into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = process.wait_with_output()?;
    if !output.status.success() {
        return Err(format!("ended with {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
