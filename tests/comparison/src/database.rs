//! A small database server, its driver, and the faults that the harness causes.
//!
//! The server is a process of its own. It writes the number of each order to a file, its table, and then answers. So a server that was
//! killed loses nothing that it has confirmed. A line of the protocol is a number and `ok` or `rejected`; the first line of a connection
//! is `hello`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// How long the driver waits for a connection, and for the answer to a statement.
const PATIENCE: Duration = Duration::from_millis(300);

/// An order that a customer has placed.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    pub number: u64,
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Good,
    /// The database rejects it.
    Rejected,
    /// The driver has a bug: it panics.
    Poison,
}

#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// The connection is broken. Nobody knows whether the database has executed the statement.
    #[error("the connection is gone: {0}")]
    Disconnected(#[from] io::Error),
    /// The database has rejected the statement, and the connection goes on.
    #[error("the database has rejected the order")]
    Rejected,
}

/// One connection to the database: the driver that all versions use.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// # Errors
    ///
    /// If the server is not there, or does not answer in time.
    pub async fn open(server: SocketAddr) -> Result<Self, DbError> {
        within(async {
            let stream = TcpStream::connect(server).await?;
            stream.set_nodelay(true)?;
            let mut connection = Self { stream: BufReader::new(stream) };
            connection.call("hello\n").await?;
            Ok(connection)
        })
        .await
    }

    /// # Panics
    ///
    /// If the order is poison.
    pub async fn insert(&mut self, order: Order) -> Result<(), DbError> {
        assert!(order.kind != Kind::Poison, "a bug in the driver");
        let statement = format!("{} {}\n", order.number, if order.kind == Kind::Good { "ok" } else { "rejected" });
        within(self.call(&statement)).await
    }

    async fn call(&mut self, line: &str) -> Result<(), DbError> {
        self.stream.write_all(line.as_bytes()).await?;
        let mut answer = String::new();
        self.stream.read_line(&mut answer).await?;
        match answer.as_str() {
            "ok\n" => Ok(()),
            "rejected\n" => Err(DbError::Rejected),
            _ => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        }
    }
}

async fn within<T>(work: impl Future<Output = Result<T, DbError>>) -> Result<T, DbError> {
    timeout(PATIENCE, work).await.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()))
}

/// The server as the harness sees it.
pub struct Database {
    table: PathBuf,
    address: SocketAddr,
    server: Option<Child>,
}

impl Database {
    /// Starts a server with an empty table, and waits until it listens.
    pub async fn start(name: &str) -> io::Result<Self> {
        let table = std::env::temp_dir().join(format!("supervise-comparison-{}-{name}", std::process::id()));
        File::create(&table)?;
        let mut database = Self { table, address: (Ipv4Addr::LOCALHOST, 0).into(), server: None };
        database.bring_back().await?;
        Ok(database)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Kills the server. Its connections break, and connecting is refused.
    pub async fn kill(&mut self) -> io::Result<()> {
        let Some(mut server) = self.server.take() else { return Ok(()) };
        server.kill().await
    }

    /// Starts the server again, with the table that it had, and waits until it listens.
    pub async fn bring_back(&mut self) -> io::Result<()> {
        let mut server = Command::new(std::env::current_exe()?)
            .arg("database")
            .arg(self.address.port().to_string())
            .arg(&self.table)
            // The server ends when this end of the pipe is closed.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = server.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
        let mut port = String::new();
        BufReader::new(stdout).read_line(&mut port).await?;
        self.address.set_port(port.trim().parse().map_err(io::Error::other)?);
        self.server = Some(server);
        Ok(())
    }

    /// Makes the server hang: connections stay open, and nothing answers.
    pub fn hang(&self) -> io::Result<()> {
        self.signal(Signal::STOP)
    }

    pub fn go_on(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        let id = self.server.as_ref().and_then(Child::id).and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok(kill_process(id.ok_or_else(|| io::Error::other("there is no server"))?, signal)?)
    }

    /// Ends the server and returns the orders in its table.
    pub async fn rows(mut self) -> io::Result<Vec<u64>> {
        self.kill().await?;
        let table = fs::read_to_string(&self.table)?;
        fs::remove_file(&self.table)?;
        table.lines().map(|line| line.parse().map_err(io::Error::other)).collect()
    }
}

/// The program of the server.
pub fn serve(port: u16, table: &Path) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        println!("{}", listener.local_addr()?.port());
        let mut harness_is_gone = [0];
        let mut stdin = tokio::io::stdin();
        let harness_is_gone = stdin.read(&mut harness_is_gone);
        tokio::pin!(harness_is_gone);
        loop {
            let accepted = tokio::select! {
                _ = &mut harness_is_gone => return Ok(()),
                accepted = listener.accept() => accepted,
            };
            let (stream, _) = accepted?;
            stream.set_nodelay(true)?;
            let table = OpenOptions::new().append(true).open(table)?;
            tokio::spawn(talk(stream, table));
        }
    })
}

async fn talk(mut stream: TcpStream, table: File) -> io::Result<()> {
    let (reads, mut writes) = stream.split();
    let mut statements: Lines<_> = BufReader::new(reads).lines();
    while let Some(statement) = statements.next_line().await? {
        let answer: &[u8] = match statement.split_once(' ') {
            Some((_, "rejected")) => b"rejected\n",
            Some((number, _)) => {
                (&table).write_all(format!("{number}\n").as_bytes())?;
                b"ok\n"
            }
            None => b"ok\n",
        };
        writes.write_all(answer).await?;
    }
    Ok(())
}
