//! How many instructions a told number takes, counted by Valgrind.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use supervise_remote_benchmark::Outcome;

use crate::side::{Running, Side};
use crate::table::{Row, Samples};

/// Two numbers of told numbers. Their difference leaves out what a process does once.
const FEW: u64 = 10_000;
const MANY: u64 = 40_000;

/// Adds the instructions of each side's processes, and of `supervise` without an engine.
pub(crate) fn count(sides: &[&'static Side], samples: &mut Samples) -> Outcome<()> {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    if !version.is_ok_and(|status| status.success()) {
        println!("skipped: instructions: `valgrind` does not run");
        return Ok(());
    }
    let folder = std::env::temp_dir().join(format!("remote-benchmark-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    for side in sides.iter().filter(|side| side.is_counted()) {
        samples.add(Row::Instructions, side, each(|count| both(side, count, &folder))?);
        if side.name == "supervise" {
            samples.alone = Some(each(|count| own(side, "alone", count, &folder))?);
            samples.codec = Some(each(|count| own(side, "codec", count, &folder))?);
        }
    }
    Ok(std::fs::remove_dir_all(folder)?)
}

/// The instructions of one of many.
fn each(count: impl Fn(u64) -> Outcome<u64>) -> Outcome<f64> {
    let difference = count(MANY)?.checked_sub(count(FEW)?).ok_or("more numbers took fewer instructions")?;
    Ok(difference as f64 / (MANY - FEW) as f64)
}

/// The instructions of both processes of a side, if so many numbers are told.
fn both(side: &Side, count: u64, folder: &Path) -> Outcome<u64> {
    let files = ["server", "client"].map(|role| folder.join(role));
    let wraps = files.each_ref().map(|file| valgrind(file));
    let mut pair = Running::start_in(side, false, wraps.each_ref().map(|wrap| &wrap[..]))?;
    pair.value(&format!("tell {count}"))?;
    let Running { server, client } = pair;
    client.end()?;
    server.end()?;
    Ok(counted(&files[0])? + counted(&files[1])?)
}

/// The instructions of a side's own command.
fn own(side: &Side, command: &str, count: u64, folder: &Path) -> Outcome<u64> {
    let file = folder.join(command);
    let mut wrap = valgrind(&file).into_iter();
    let program = wrap.next().ok_or("a command has a program")?;
    let status =
        Command::new(program).args(wrap).arg(side.program()).args([command, &count.to_string()]).status()?;
    if status.success() { counted(&file) } else { Err(format!("`{command}` fails").into()) }
}

fn valgrind(file: &Path) -> [OsString; 4] {
    let mut out = OsString::from("--callgrind-out-file=");
    out.push(file);
    ["valgrind".into(), "-q".into(), "--tool=callgrind".into(), out]
}

fn counted(file: &PathBuf) -> Outcome<u64> {
    let text = std::fs::read_to_string(file)?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
    Ok(total.ok_or("callgrind says no total")?.trim().parse()?)
}
