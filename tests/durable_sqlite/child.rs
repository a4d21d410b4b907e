//! A process that can be killed: this one, started again.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};

const ROLE: &str = "SUPERVISE_DURABLE_ROLE";
const PLACE: &str = "SUPERVISE_DURABLE_PLACE";
/// The beginning of each line of the child, which distinguishes it from lines of the test harness.
const SAYS: &str = "> ";

pub(crate) struct Child {
    process: std::process::Child,
    lines: BufReader<ChildStdout>,
}

impl Child {
    /// Starts the child that plays a role with the store at `path`.
    pub(crate) fn start(role: &str, path: &Path) -> Self {
        Self::spawn(&mut Self::command(role, path))
    }

    /// How the child is started.
    pub(crate) fn command(role: &str, path: &Path) -> Command {
        let mut command = Command::new(std::env::current_exe().expect("this test is a file"));
        command.args(["--exact", "child::a_child_plays_its_role", "--nocapture"]);
        command.env(ROLE, role).env(PLACE, path);
        command
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let lines = BufReader::new(process.stdout.take().expect("it is piped"));
        Self { process, lines }
    }

    /// The next line of the child. `None`: the child has ended.
    pub(crate) fn line(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            let read = self.lines.read_line(&mut line).expect("the child speaks UTF-8");
            if read == 0 {
                return None;
            }
            // A line that a kill has cut off does not count. Text of the harness may come before the line.
            let said = line.strip_suffix('\n').and_then(|line| line.split_once(SAYS));
            if let Some((_, said)) = said {
                return Some(said.to_owned());
            }
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Kills it with SIGKILL, if it has not ended.
    pub(crate) fn kill(&mut self) {
        self.process.kill().expect("it can be killed");
        self.process.wait().expect("it has ended");
    }

    /// Waits for its end.
    pub(crate) fn ended_well(&mut self) -> bool {
        self.process.wait().expect("it has ended").success()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It fails only if the child has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Says a line to the parent, in one write.
pub(crate) fn say(line: impl std::fmt::Display) {
    let mut stdout = std::io::stdout();
    stdout
        .write_all(format!("{SAYS}{line}\n").as_bytes())
        .and_then(|()| stdout.flush())
        .expect("the parent listens");
}

#[test]
fn a_child_plays_its_role() {
    let (Some(role), Some(place)) = (std::env::var_os(ROLE), std::env::var_os(PLACE)) else {
        // The parent: there is nothing to do.
        return;
    };
    let place = PathBuf::from(place);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime starts");
    runtime.block_on(async {
        match role.to_str() {
            Some("bounds") => crate::bounds::work(&place).await,
            Some("hold") => crate::lock::hold(&place).await,
            Some("work") => crate::kill::work(&place).await,
            Some("rig") => crate::rig::work(&place).await,
            Some("sync") => crate::sync::work(&place).await,
            other => panic!("nobody plays {other:?}"),
        }
    });
}
