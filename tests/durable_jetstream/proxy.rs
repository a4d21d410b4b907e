//! A wire between one process and the server that a test can stall, one way or both, and cut.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What the wire lets pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passes {
    Both,
    /// What the server sends. What is sent to the server waits.
    Down,
    /// What is sent to the server. What the server sends waits.
    Up,
    Nothing,
}

pub(crate) struct Proxy {
    at: SocketAddr,
    passes: watch::Sender<Passes>,
    cuts: watch::Sender<u64>,
    /// How many bytes the server has sent.
    down: Arc<AtomicU64>,
    /// What is sent to the server does not pass if it contains this text, and nothing passes behind it.
    held: watch::Sender<Option<&'static str>>,
    /// Whether something is held.
    holding: watch::Sender<bool>,
    /// What the server sends comes with the second text in place of the first one, which is as long.
    changed: Arc<Mutex<Option<[&'static str; 2]>>>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    pub(crate) async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        let at = listener.local_addr().expect("it is bound");
        let (passes, cuts) = (watch::Sender::new(Passes::Both), watch::Sender::new(0));
        let down = Arc::new(AtomicU64::new(0));
        let (held, holding) = (watch::Sender::new(None), watch::Sender::new(false));
        let (holds, is_holding) = (held.clone(), holding.clone());
        let changed: Arc<Mutex<Option<[&'static str; 2]>>> = Arc::default();
        let swaps = Arc::clone(&changed);
        let (passing, cut, counted) = (passes.clone(), cuts.clone(), Arc::clone(&down));
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else { continue };
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                let is_up = |passes: &Passes| matches!(passes, Passes::Both | Passes::Up);
                let is_down = |passes: &Passes| matches!(passes, Passes::Both | Passes::Down);
                let (counted, held) = (Arc::clone(&counted), holds.clone());
                let holding = is_holding.clone();
                let changed = Arc::clone(&swaps);
                tokio::spawn(copy(
                    from_client,
                    to_server,
                    passing.subscribe(),
                    cut.subscribe(),
                    is_up,
                    async move |bytes| {
                        let text = String::from_utf8_lossy(bytes);
                        let passes = |word: Option<&str>| word.is_none_or(|word| !text.contains(word));
                        let is_held = !passes(*held.borrow());
                        if is_held {
                            holding.send_replace(true);
                            // If the proxy is gone, nothing passes any more.
                            let mut now = held.subscribe();
                            let _ended = now.wait_for(|word| passes(*word)).await;
                        }
                    },
                ));
                tokio::spawn(copy(
                    from_server,
                    to_client,
                    passing.subscribe(),
                    cut.subscribe(),
                    is_down,
                    async move |bytes| {
                        counted.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                        let changed = *changed.lock().expect("nobody panics with it");
                        if let Some([from, to]) = changed {
                            replace(bytes, from.as_bytes(), to.as_bytes());
                        }
                    },
                ));
            }
        });
        Self { at, passes, cuts, down, held, holding, changed, accepting }
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://{}", self.at)
    }

    pub(crate) fn lets(&self, passes: Passes) {
        self.passes.send_replace(passes);
    }

    /// From now on, what is sent to the server does not pass if it contains this text.
    pub(crate) fn holds(&self, text: &'static str) {
        self.held.send_replace(Some(text));
    }

    /// Waits until something is held.
    pub(crate) async fn has_held(&self) {
        self.holding.subscribe().wait_for(|holding| *holding).await.expect("the proxy is there");
    }

    /// What was held passes, and so does everything from now on.
    pub(crate) fn holds_nothing(&self) {
        self.held.send_replace(None);
        self.holding.send_replace(false);
    }

    /// From now on, what the server sends comes with `to` in place of `from`. Both are equally long.
    pub(crate) fn changes(&self, from: &'static str, to: &'static str) {
        assert_eq!(from.len(), to.len(), "the server says first how much it sends");
        *self.changed.lock().expect("nobody panics with it") = Some([from, to]);
    }

    /// From now on, what the server sends comes as it is.
    pub(crate) fn changes_nothing(&self) {
        *self.changed.lock().expect("nobody panics with it") = None;
    }

    /// Closes all connections.
    pub(crate) fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    pub(crate) fn bytes_down(&self) -> u64 {
        self.down.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    for at in 0..(bytes.len() + 1).saturating_sub(from.len()) {
        if let Some(found) = bytes.get_mut(at..at + from.len())
            && found == from
        {
            found.copy_from_slice(to);
        }
    }
}

async fn copy(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    mut passes: watch::Receiver<Passes>,
    mut cuts: watch::Receiver<u64>,
    may: fn(&Passes) -> bool,
    sees: impl AsyncFn(&mut [u8]),
) {
    let copying = async {
        let mut bytes = vec![0; 1 << 16];
        loop {
            let Ok(read @ 1..) = from.read(&mut bytes).await else { return };
            sees(&mut bytes[..read]).await;
            if passes.wait_for(may).await.is_err() || to.write_all(&bytes[..read]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = copying => {}
        _ = cuts.changed() => {}
    }
}
