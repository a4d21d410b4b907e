//! The database that all pieces write to, and the connection that all of them use.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// After so long without an answer, the store counts as gone.
const PATIENCE: Duration = Duration::from_millis(300);

/// How long a slow store takes for an order.
const SLOW: Duration = Duration::from_millis(10);

/// Whether an order brings a bug to light.
pub(crate) fn is_poison(order: u64) -> bool {
    order % 200 == 13
}

/// A connection to the store.
#[derive(Debug)]
pub(crate) struct Connection(BufStream<TcpStream>);

impl Connection {
    pub(crate) async fn open(store: SocketAddr) -> io::Result<Self> {
        Ok(Self(BufStream::new(timeout(PATIENCE, TcpStream::connect(store)).await??)))
    }

    /// Returns when the order is in the store. After an error the connection is of no use.
    ///
    /// # Panics
    ///
    /// If the order is poison.
    pub(crate) async fn write(&mut self, order: u64) -> io::Result<()> {
        assert!(!is_poison(order), "a bug that some orders bring to light");
        let mut answer = String::new();
        timeout(PATIENCE, async {
            self.0.write_all(format!("{order}\n").as_bytes()).await?;
            self.0.flush().await?;
            self.0.read_line(&mut answer).await
        })
        .await??;
        if answer == "ok\n" { Ok(()) } else { Err(io::Error::other("refused")) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Well,
    /// It takes its time.
    Slow,
    /// Nothing listens, and all connections are closed.
    Down,
    /// It takes orders, and neither writes nor answers.
    Hung,
    /// It refuses.
    Broken,
}

#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) address: SocketAddr,
    mode: watch::Sender<Mode>,
    rows: Arc<Mutex<HashMap<u64, usize>>>,
}

impl Store {
    pub(crate) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (mode, modes) = watch::channel(Mode::Well);
        let rows = Arc::default();
        tokio::spawn(serve(listener, address, modes, Arc::clone(&rows)));
        Ok(Self { address, mode, rows })
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }

    /// How often each order was written.
    pub(crate) fn rows(&self) -> HashMap<u64, usize> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn serve(
    listener: TcpListener,
    address: SocketAddr,
    mut modes: watch::Receiver<Mode>,
    rows: Arc<Mutex<HashMap<u64, usize>>>,
) {
    let mut listener = Some(listener);
    let mut clients = JoinSet::new();
    loop {
        let mode = *modes.borrow_and_update();
        if mode == Mode::Down {
            listener = None;
            clients.shutdown().await;
        } else if listener.is_none() {
            listener = TcpListener::bind(address).await.ok();
        }
        tokio::select! {
            Some(Ok((stream, _))) = async { Some(listener.as_ref()?.accept().await) } => {
                clients.spawn(attend(stream, modes.clone(), Arc::clone(&rows)));
            }
            changed = modes.changed() => if changed.is_err() { return },
            () = sleep(Duration::from_millis(5)), if listener.is_none() => {}
        }
    }
}

async fn attend(stream: TcpStream, mut modes: watch::Receiver<Mode>, rows: Arc<Mutex<HashMap<u64, usize>>>) {
    let mut stream = BufStream::new(stream);
    let mut line = String::new();
    while let Ok(1..) = stream.read_line(&mut line).await {
        let order = line.trim().parse().unwrap_or_default();
        line.clear();
        let mode = *modes.borrow_and_update();
        let answer = match mode {
            Mode::Well | Mode::Slow => {
                if mode == Mode::Slow {
                    sleep(SLOW).await;
                }
                *rows.lock().unwrap_or_else(PoisonError::into_inner).entry(order).or_default() += 1;
                "ok\n"
            }
            Mode::Broken | Mode::Down => "no\n",
            Mode::Hung => {
                let _changed = modes.changed().await;
                return;
            }
        };
        if stream.write_all(answer.as_bytes()).await.is_err() || stream.flush().await.is_err() {
            return;
        }
    }
}
