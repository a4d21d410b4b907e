//! The store behind the sessions. It notices what a version does wrong.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::yield_now;

/// A number that makes its session panic.
pub const POISON: u64 = u64::MAX;

/// Told when a session begins to end, with what lets it go on.
type Gate = mpsc::UnboundedSender<(u64, oneshot::Sender<()>)>;

/// Keeps the numbers of each key. A session opens its key when it starts, and closes it when it ends.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    entries: Vec<Entry>,
    live: watch::Sender<usize>,
    opened: AtomicUsize,
    /// How often a key had two sessions at once.
    overlaps: AtomicUsize,
    gate: Mutex<Option<Gate>>,
    /// While it is paused, no number is appended.
    paused: watch::Sender<bool>,
}

#[derive(Debug)]
struct Entry {
    numbers: Mutex<Vec<u64>>,
    is_open: AtomicBool,
}

impl Store {
    pub fn new(keys: usize) -> Self {
        let entry = || Entry { numbers: Mutex::new(Vec::with_capacity(8)), is_open: AtomicBool::new(false) };
        let inner = Inner {
            entries: std::iter::repeat_with(entry).take(keys).collect(),
            live: watch::Sender::new(0),
            opened: AtomicUsize::new(0),
            overlaps: AtomicUsize::new(0),
            gate: Mutex::new(None),
            paused: watch::Sender::new(false),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Opens a key, for the session that has it from now on.
    pub async fn open(&self, key: u64) -> Lease {
        let entry = self.entry(key);
        if entry.is_open.swap(true, SeqCst) {
            self.inner.overlaps.fetch_add(1, SeqCst);
        }
        self.inner.opened.fetch_add(1, SeqCst);
        self.inner.live.send_modify(|live| *live += 1);
        let lease = Lease { store: self.clone(), key, count: 0 };
        // Stands for a read from a database.
        yield_now().await;
        lease
    }

    fn entry(&self, key: u64) -> &Entry {
        &self.inner.entries[usize::try_from(key).unwrap_or(usize::MAX)]
    }

    pub fn numbers(&self, key: u64) -> Vec<u64> {
        self.entry(key).numbers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn overlaps(&self) -> usize {
        self.inner.overlaps.load(SeqCst)
    }

    /// How many sessions there have been.
    pub fn opened(&self) -> usize {
        self.inner.opened.load(SeqCst)
    }

    /// The number of sessions that have not ended.
    pub fn live(&self) -> watch::Receiver<usize> {
        self.inner.live.subscribe()
    }

    pub fn pause(&self, paused: bool) {
        self.inner.paused.send_replace(paused);
    }

    pub fn set_gate(&self, gate: Option<Gate>) {
        *self.inner.gate.lock().unwrap_or_else(PoisonError::into_inner) = gate;
    }
}

/// A session's hold of its key. Dropping it gives the key up, but a session that ends in order closes it.
#[derive(Debug)]
pub struct Lease {
    store: Store,
    key: u64,
    count: usize,
}

impl Lease {
    /// # Panics
    ///
    /// If the number is poison.
    pub async fn append(&mut self, number: u64) {
        assert!(number != POISON, "a poisoned number");
        if *self.store.inner.paused.borrow() {
            let mut paused = self.store.inner.paused.subscribe();
            let _never_closed = paused.wait_for(|paused| !paused).await;
        }
        self.store.entry(self.key).numbers.lock().unwrap_or_else(PoisonError::into_inner).push(number);
        self.count += 1;
        // Stands for a write to a database.
        yield_now().await;
    }

    /// How many numbers this session has appended.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Gives the key up in order.
    pub async fn close(self) {
        let gate = self.store.inner.gate.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(gate) = gate {
            let (go_on, may_go_on) = oneshot::channel();
            let _nobody_asks = gate.send((self.key, go_on));
            let _at_once = may_go_on.await;
        }
        yield_now().await;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.store.entry(self.key).is_open.store(false, SeqCst);
        self.store.inner.live.send_modify(|live| *live -= 1);
    }
}
