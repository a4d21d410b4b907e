//! A `PostgreSQL` of our own, in a directory of its own, that can be killed and stopped.

use std::error::Error;
use std::fs;
use std::io;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use supervise_examples::service::Missing;
use supervise_examples::service::process::{self, children_of};
use tokio::time::sleep;
use tokio_postgres::{Client, Config, NoTls};

/// How long the database may take to start, also after it was killed.
const START: Duration = Duration::from_secs(20);

/// The database's processes. Dropping this value ends them.
#[derive(Debug)]
pub(crate) struct Postgres {
    programs: PathBuf,
    directory: PathBuf,
    user: Option<User>,
    running: Child,
}

/// `PostgreSQL` does not run as root.
#[derive(Debug, Clone, Copy)]
struct User {
    uid: u32,
    gid: u32,
}

impl Postgres {
    /// Makes a database below `scratch` and starts it.
    ///
    /// # Errors
    ///
    /// If `PostgreSQL` is not installed, or does not start.
    pub(crate) async fn start(scratch: &Path) -> Result<Self, Box<dyn Error>> {
        let programs = programs().ok_or(Missing { what: "PostgreSQL", install: "apt-get install postgresql" })?;
        let user = if process::own_uid()? == 0 { Some(User::of_postgres()?) } else { None };
        let directory = scratch.join("database");
        fs::create_dir(&directory)?;
        if let Some(User { uid, gid }) = user {
            chown(scratch, Some(uid), Some(gid))?;
            chown(&directory, Some(uid), Some(gid))?;
        }
        let made = command(&programs, "initdb", user)
            .args(["--username=intake", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--pgdata"])
            .arg(&directory)
            .output()?;
        if !made.status.success() {
            return Err(format!("initdb: {}", String::from_utf8_lossy(&made.stderr).trim()).into());
        }
        let running = postmaster(&programs, &directory, user)?;
        let mut postgres = Self { programs, directory, user, running };
        postgres.accepts().await?;
        Ok(postgres)
    }

    /// How to connect to it: by a socket in its directory, so no port can be in use.
    pub(crate) fn config(&self) -> String {
        format!("host='{}' user=intake dbname=postgres", self.directory.display())
    }

    /// A connection to look at the tables and to break them.
    pub(crate) async fn connect(&self) -> Result<Client, tokio_postgres::Error> {
        let (client, connection) = self.config().parse::<Config>()?.connect(NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// Kills all its processes at once.
    pub(crate) fn kill(&mut self) -> io::Result<()> {
        let children = children_of(self.running.id())?;
        self.running.kill()?;
        self.running.wait()?;
        for child in children {
            // Processes that watch their parent end by themselves.
            let _ended = process::signal("KILL", child);
        }
        Ok(())
    }

    /// Starts it after [`kill`](Self::kill), and waits until it accepts connections.
    pub(crate) async fn start_again(&mut self) -> io::Result<()> {
        self.running = postmaster(&self.programs, &self.directory, self.user)?;
        self.accepts().await
    }

    /// Sends a signal to all its processes, such as `STOP` or `CONT`.
    pub(crate) fn signal_all(&self, name: &str) -> io::Result<()> {
        process::signal(name, self.running.id())?;
        for child in children_of(self.running.id())? {
            let _ended = process::signal(name, child);
        }
        Ok(())
    }

    async fn accepts(&mut self) -> io::Result<()> {
        let began = Instant::now();
        while self.connect().await.is_err() {
            // After a kill it does not start before the last of its old processes has ended.
            if self.running.try_wait()?.is_some() {
                self.running = postmaster(&self.programs, &self.directory, self.user)?;
            }
            if began.elapsed() > START {
                let log = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
                let last = log.lines().last().unwrap_or("no log");
                return Err(io::Error::other(format!("PostgreSQL does not start within {START:?}: {last}")));
            }
            sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _continues = self.signal_all("CONT");
        let _killed = self.kill();
    }
}

impl User {
    fn of_postgres() -> io::Result<Self> {
        let users = fs::read_to_string("/etc/passwd")?;
        let numbers = users.lines().find_map(|line| {
            let mut fields = line.strip_prefix("postgres:")?.split(':').skip(1).map(|field| field.parse().ok());
            Some(Self { uid: fields.next()??, gid: fields.next()?? })
        });
        numbers.ok_or_else(|| io::Error::other("PostgreSQL does not run as root, and there is no user `postgres`"))
    }
}

fn postmaster(programs: &Path, directory: &Path, user: Option<User>) -> io::Result<Child> {
    let log = fs::OpenOptions::new().create(true).append(true).open(directory.join("log"))?;
    command(programs, "postgres", user)
        .arg("-D")
        .arg(directory)
        .args(["-c", "listen_addresses="])
        .arg("-c")
        .arg(format!("unix_socket_directories={}", directory.display()))
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
}

fn command(programs: &Path, name: &str, user: Option<User>) -> Command {
    let mut command = Command::new(programs.join(name));
    // A process group of its own, so that Ctrl-C reaches only this program, which then ends the database.
    command.stdin(Stdio::null()).process_group(0).current_dir("/");
    if let Some(User { uid, gid }) = user {
        command.uid(uid).gid(gid);
    }
    command
}

/// The directory with `initdb` and `postgres`: on the path, or where Debian has the newest.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut debian: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    debian.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    let mut places = std::env::split_paths(&path).chain(debian.into_iter().map(|(_, place)| place));
    places.find(|place| place.join("initdb").exists() && place.join("postgres").exists())
}
