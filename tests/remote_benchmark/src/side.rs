//! The processes of a side.

use std::env;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use supervise_remote_benchmark::{Outcome, free_address};

/// How long a command may take.
const PATIENT: Duration = Duration::from_secs(60);

/// A framework, in programs of its own.
pub(crate) struct Side {
    pub(crate) name: &'static str,
    /// Its program is `side-` and this.
    program: &'static str,
    is_current_thread: bool,
    /// A column's head.
    pub(crate) title: &'static str,
    /// By how much its counts are divided, so that each cell takes less than a second.
    pub(crate) slower: u64,
}

const MULTI: Side = Side { name: "", program: "", is_current_thread: false, title: "", slower: 1 };

pub(crate) const SIDES: [Side; 6] = [
    Side { name: "zenoh", program: "zenoh", title: "raw Zenoh", ..MULTI },
    Side { name: "supervise", program: "supervise", title: "supervise", ..MULTI },
    Side { name: "supervise-ct", program: "supervise", is_current_thread: true, title: "supervise, ct", ..MULTI },
    Side { name: "erlang", title: "Erlang", slower: 2, ..MULTI },
    Side { name: "kameo", program: "kameo", title: "kameo", slower: 10, ..MULTI },
    Side { name: "ractor", program: "ractor", title: "ractor_cluster", slower: 2, ..MULTI },
];

impl Side {
    /// Whether it can run.
    pub(crate) fn missing(&self) -> Result<(), String> {
        if self.name == "erlang" {
            return erlang().map_err(|error| format!("`erlc` does not compile it: {error}"));
        }
        let program = self.program();
        if program.exists() { Ok(()) } else { Err(format!("`{}` was not built", program.display())) }
    }

    /// Whether its instructions are counted. Erlang compiles while it runs.
    pub(crate) fn is_counted(&self) -> bool {
        self.name != "erlang" && !self.is_current_thread
    }

    pub(crate) fn program(&self) -> PathBuf {
        env::current_exe().unwrap_or_default().with_file_name(format!("side-{}", self.program))
    }

    /// The program and its arguments. `address`: where the server is, for a client.
    fn command(&self, address: Option<&str>, is_impatient: bool) -> Outcome<Vec<OsString>> {
        if self.name == "erlang" {
            return erlang_command(address, is_impatient);
        }
        let mut command = vec![self.program().into_os_string()];
        match address {
            None => command.push("server".into()),
            Some(address) => command.extend(["client".into(), address.into()]),
        }
        command.extend(self.is_current_thread.then(|| "ct".into()));
        command.extend(is_impatient.then(|| "impatient".into()));
        Ok(command)
    }
}

/// The folder of Erlang's side.
fn erlang_folder() -> Outcome<PathBuf> {
    Ok(env::current_exe()?.with_file_name("side-erlang"))
}

/// Compiles Erlang's side.
fn erlang() -> Outcome<()> {
    let folder = erlang_folder()?;
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("side.erl"), include_str!("sides/side.erl"))?;
    let compiled = Command::new("erlc").arg("-o").arg(&folder).arg(folder.join("side.erl")).output()?;
    if compiled.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&compiled.stdout).into_owned().into())
    }
}

/// Erlang without its daemon: both nodes are told the server's port.
fn erlang_command(address: Option<&str>, is_impatient: bool) -> Outcome<Vec<OsString>> {
    let is_server = address.is_none();
    let address = match address {
        Some(address) => address.to_owned(),
        None => free_address()?,
    };
    let port = address.rsplit(':').next().unwrap_or_default();
    let name = if is_server { format!("server{port}@127.0.0.1") } else { format!("client{port}@127.0.0.1") };
    let eval = if is_server {
        format!("side:server(\"{address}\").")
    } else {
        format!("side:client('server{port}@127.0.0.1').")
    };
    let mut command: Vec<OsString> = vec!["erl".into(), "-noshell".into(), "-pa".into(), erlang_folder()?.into()];
    command.extend(["-name", &name, "-setcookie", "benchmark", "-start_epmd", "false"].map(OsString::from));
    command
        .extend(["-erl_epmd_port", port, "-kernel", "inet_dist_use_interface", "{127,0,0,1}"].map(OsString::from));
    command.extend(["-kernel", "net_ticktime", if is_impatient { "2" } else { "10" }].map(OsString::from));
    if !is_server {
        command.extend(["-dist_listen", "false"].map(OsString::from));
    }
    command.extend(["-eval", &eval].map(OsString::from));
    Ok(command)
}

/// A process of a side, which is killed when this is dropped.
pub(crate) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<(Instant, String)>,
}

impl Process {
    fn start(wrap: &[OsString], command: &[OsString]) -> Outcome<Self> {
        let mut all = wrap.iter().chain(command);
        let mut start = Command::new(all.next().ok_or("a command has a program")?);
        let mut child = start.args(all).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = BufReader::new(child.stdout.take().ok_or("it has an output")?);
        let (lines, received) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if lines.send((Instant::now(), line)).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Ok(Self { child, input, lines: received })
    }

    fn write(&mut self, line: &str) -> Outcome<()> {
        let input = self.input.as_mut().ok_or("its input is closed")?;
        Ok(writeln!(input, "{line}")?)
    }

    fn line(&self, within: Duration) -> Outcome<(Instant, String)> {
        let line = self.lines.recv_timeout(within);
        line.map_err(|_| "the process has ended, or gave no answer in time".into())
    }

    /// Sends SIGKILL.
    pub(crate) fn kill(&mut self) -> Outcome<()> {
        Ok(self.child.kill()?)
    }

    /// Lets it end, and waits for that.
    pub(crate) fn end(mut self) -> Outcome<()> {
        drop(self.input.take());
        let start = Instant::now();
        while self.child.try_wait()?.is_none() {
            if start.elapsed() > PATIENT {
                return Err("the process does not end".into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended if there is an error.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A server and its client.
pub(crate) struct Running {
    pub(crate) server: Process,
    pub(crate) client: Process,
}

impl Running {
    pub(crate) fn start(side: &Side, is_impatient: bool) -> Outcome<Self> {
        Self::start_in(side, is_impatient, [&[], &[]])
    }

    /// Starts both as the arguments of other commands.
    pub(crate) fn start_in(side: &Side, is_impatient: bool, wraps: [&[OsString]; 2]) -> Outcome<Self> {
        let server = Process::start(wraps[0], &side.command(None, is_impatient)?)?;
        let ready = server.line(PATIENT)?.1;
        let address = ready.strip_prefix("ready ").ok_or(format!("the server says `{ready}`"))?;
        let client = Process::start(wraps[1], &side.command(Some(address), is_impatient)?)?;
        client.line(PATIENT)?;
        Ok(Self { server, client })
    }

    /// Gives the client a command, and returns the number that it prints.
    pub(crate) fn value(&mut self, command: &str) -> Outcome<f64> {
        self.client.write(command)?;
        Ok(self.client.line(PATIENT)?.1.parse()?)
    }

    /// Lets the client watch the server.
    pub(crate) fn watch(&mut self) -> Outcome<()> {
        self.client.write("watch")?;
        self.client.line(PATIENT).map(drop)
    }

    /// When the client was told that the server is gone. `None`: not within this time.
    pub(crate) fn told(&self, within: Duration) -> Option<Instant> {
        self.client.line(within).ok().map(|(at, _)| at)
    }

    /// Sends the server SIGSTOP.
    pub(crate) fn stop(&self) -> Outcome<()> {
        let pid = Pid::from_child(&self.server.child);
        Ok(kill_process(pid, Signal::STOP)?)
    }
}
