//! Processes that a service starts, kills and suspends. They are read from Linux's `/proc`.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Command, Stdio};

/// The id of the user that this process runs as. 0 is root.
///
/// # Errors
///
/// If there is no `/proc`.
pub fn own_uid() -> io::Result<u32> {
    Ok(fs::metadata("/proc/self")?.uid())
}

/// Sends a signal, such as `KILL` or `STOP`, to a process that has not been waited for.
///
/// # Errors
/// If the process does not exist.
pub fn signal(name: &str, pid: u32) -> io::Result<()> {
    // The standard library sends SIGKILL only. `kill` is built into every shell.
    let sent = Command::new("sh")
        .args(["-c", "kill -s \"$0\" \"$1\"", name, &pid.to_string()])
        .stderr(Stdio::null())
        .status()?;
    if sent.success() { Ok(()) } else { Err(io::Error::other(format!("SIG{name} does not reach process {pid}"))) }
}

/// The processes whose parent is `pid`.
///
/// # Errors
///
/// If there is no `/proc`.
pub fn children_of(pid: u32) -> io::Result<Vec<u32>> {
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(number) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // A process may end while we look. Its name, in parentheses, may contain anything.
        let Ok(line) = fs::read_to_string(format!("/proc/{number}/stat")) else { continue };
        let Some((_, line)) = line.rsplit_once(") ") else { continue };
        if line.split(' ').nth(1) == Some(pid.to_string().as_str()) {
            children.push(number);
        }
    }
    Ok(children)
}

/// The memory that a process occupies, in KiB. 0 if it has ended.
pub fn resident_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()).and_then(|kib| kib.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_found_stopped_and_killed() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        assert!(children_of(std::process::id()).unwrap().contains(&child.id()));
        signal("STOP", child.id()).unwrap();
        signal("KILL", child.id()).unwrap();
        assert!(!child.wait().unwrap().success());
        assert!(!children_of(std::process::id()).unwrap().contains(&child.id()));
    }
}
