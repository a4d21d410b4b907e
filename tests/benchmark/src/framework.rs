//! What a workload requires of a framework, so that each workload is written once for all of them.
//!
//! If a framework lacks a feature, its file contains the least that a user would write by hand instead, and says so.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use crate::workload::Workload;

#[cfg(feature = "peers")]
pub mod actix;
#[cfg(feature = "peers")]
pub mod kameo;
#[cfg(feature = "peers")]
pub mod ractor;
pub mod raw;
pub mod supervise;
#[cfg(feature = "peers")]
pub mod xtra;

/// The runtime a workload runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// Two worker threads.
    MultiThread,
    /// One thread.
    CurrentThread,
}

impl Flavour {
    pub const ALL: [Self; 2] = [Self::MultiThread, Self::CurrentThread];

    pub fn name(self) -> &'static str {
        match self {
            Self::MultiThread => "mt",
            Self::CurrentThread => "ct",
        }
    }
}

/// Why a child fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    Error,
    Panic,
}

/// Which children are restarted when one fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    OneForOne,
    AllForOne,
}

/// A message of 64 bytes.
pub type Parcel = [u64; 8];

/// An actor framework, or the hand-written loop.
///
/// Five kinds of actors do all the work. A *counter* adds up the numbers that it is told. A *store* does the same with larger
/// messages. A *runner* passes a number round a ring. A *node* has children and does nothing. An *editor* asks its children,
/// which are counters.
pub trait Framework: Send + Sync + Sized + 'static {
    const NAME: &'static str;

    /// Whether the messages of one sender are handled in order.
    const KEEPS_ORDER: bool = true;

    /// Whether an actor's children have ended before it does.
    const CHILDREN_END_FIRST: bool = true;

    /// Whether the workload makes sense for this framework on this runtime.
    fn supports(workload: Workload, flavour: Flavour) -> bool {
        let _ = (workload, flavour);
        true
    }

    /// Runs `work` on a runtime of its own, as a task, as actors do.
    fn block_on<T: Send + 'static>(flavour: Flavour, work: impl Future<Output = T> + Send + 'static) -> T {
        let runtime = match flavour {
            Flavour::MultiThread => Builder::new_multi_thread().worker_threads(2).enable_all().build(),
            Flavour::CurrentThread => Builder::new_current_thread().enable_all().build(),
        };
        let runtime = runtime.expect("a runtime");
        runtime.block_on(runtime.spawn(work)).expect("a workload that does not panic")
    }

    /// Starts the framework. Called on the runtime of the workload.
    fn start(flavour: Flavour) -> Self;

    /// How a counter is reached.
    type Counter: Clone + Send + Sync + 'static;

    /// A counter with an unbounded mailbox.
    fn counter(&self) -> impl Future<Output = Self::Counter> + Send;

    /// A counter whose mailbox holds `capacity` messages.
    fn bounded_counter(&self, capacity: usize) -> impl Future<Output = Self::Counter> + Send;

    /// Tells a counter with an unbounded mailbox to add `amount`.
    fn add(counter: &Self::Counter, amount: u64) -> impl Future<Output = ()> + Send;

    /// The same for a bounded mailbox: waits for room.
    fn add_when_room(counter: &Self::Counter, amount: u64) -> impl Future<Output = ()> + Send;

    /// Asks a counter for its sum.
    fn total(counter: &Self::Counter) -> impl Future<Output = u64> + Send;

    /// The same by a handler that the asker may run itself, if the framework has such a feature.
    fn total_inline(counter: &Self::Counter) -> impl Future<Output = u64> + Send {
        Self::total(counter)
    }

    /// How a store is reached.
    type Store: Clone + Send + Sync + 'static;

    /// Stores with unbounded mailboxes.
    fn stores(&self, count: usize) -> impl Future<Output = Vec<Self::Store>> + Send;

    /// Tells a store to add up what is in a parcel.
    fn put(store: &Self::Store, parcel: Parcel) -> impl Future<Output = ()> + Send;

    /// Asks a store to do so, and for its sum.
    fn put_and_total(store: &Self::Store, parcel: Parcel) -> impl Future<Output = u64> + Send;

    /// How an editor is reached.
    type Editor: Send + Sync + 'static;

    /// An editor whose children it has told to add 1.
    fn editor(&self, children: usize) -> impl Future<Output = Self::Editor> + Send;

    /// Asks an editor, which asks all its children at once, for the sum of their sums.
    fn gather(editor: &Self::Editor) -> impl Future<Output = u64> + Send;

    /// How a runner is reached.
    type Runner: Send + Sync + 'static;

    /// A ring of runners. The runner that gets zero reports on `done`.
    fn ring(&self, runners: usize, done: UnboundedSender<()>) -> impl Future<Output = Self::Runner> + Send;

    /// Sends a number into the ring: each runner passes one less to the next.
    fn run(runner: &Self::Runner, hops: u64) -> impl Future<Output = ()> + Send;

    /// What keeps a tree of nodes alive.
    type Tree: Send + 'static;

    /// Spawns `root`, which spawns its children when it starts, and so on.
    fn tree(&self, root: Node) -> impl Future<Output = Self::Tree> + Send;

    /// Stops a tree's root, and with it all of the tree.
    fn stop(tree: &mut Self::Tree) -> impl Future<Output = ()> + Send;

    type Family: Family;

    /// A supervisor with `children` counters, which report their starts to `starts`.
    fn family(
        &self,
        children: usize,
        group: Group,
        starts: &Arc<Probe>,
    ) -> impl Future<Output = Self::Family> + Send;
}

/// A handle to a supervisor's children for code outside actors.
pub trait Family: Send + 'static {
    /// Makes a child fail.
    fn fail(&mut self, child: usize, cause: Cause) -> impl Future<Output = ()> + Send;

    /// Asks a child for its sum. After a failure: the restarted child.
    fn total(&mut self, child: usize) -> impl Future<Output = u64> + Send;
}

/// Counts what happens in many actors, and lets one task wait until it has happened often enough.
#[derive(Debug, Default)]
pub struct Probe {
    count: AtomicUsize,
    goal: AtomicUsize,
    reached: Notify,
}

impl Probe {
    /// A probe whose goal is `goal` hits.
    pub fn new(goal: usize) -> Arc<Self> {
        Arc::new(Self { goal: AtomicUsize::new(goal), ..Self::default() })
    }

    pub fn hit(&self) {
        let count = self.count.fetch_add(1, Ordering::AcqRel) + 1;
        if count == self.goal.load(Ordering::Acquire) {
            self.reached.notify_one();
        }
    }

    pub fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Sets the goal `more` hits higher. To be called before the first of them can happen.
    pub fn expect_more(&self, more: usize) {
        self.goal.fetch_add(more, Ordering::AcqRel);
    }

    /// Waits for the goal.
    pub async fn reached(&self) {
        while self.count() < self.goal.load(Ordering::Acquire) {
            self.reached.notified().await;
        }
    }
}

/// The description of a node, and what it reports.
#[derive(Debug, Clone)]
pub struct Node {
    children: usize,
    /// How many generations are below.
    depth: u32,
    is_root: bool,
    probes: Arc<TreeProbes>,
}

#[derive(Debug)]
pub struct TreeProbes {
    pub started: Arc<Probe>,
    pub ended: Arc<Probe>,
    /// How many nodes had ended when the root did.
    ended_before_root: AtomicUsize,
}

impl TreeProbes {
    pub fn ended_before_root(&self) -> usize {
        self.ended_before_root.load(Ordering::Acquire)
    }
}

impl Node {
    /// The root of a tree in which each node has `children`, over `depth` generations.
    pub fn root(children: usize, depth: u32) -> Self {
        let nodes = nodes(children, depth);
        let probes = TreeProbes {
            started: Probe::new(nodes),
            ended: Probe::new(nodes),
            ended_before_root: AtomicUsize::new(0),
        };
        Self { children, depth, is_root: true, probes: Arc::new(probes) }
    }

    pub fn probes(&self) -> Arc<TreeProbes> {
        Arc::clone(&self.probes)
    }

    /// How many children this node makes when it starts.
    pub fn children(&self) -> usize {
        if self.depth == 0 { 0 } else { self.children }
    }

    /// One of them.
    pub fn child(&self) -> Self {
        Self { children: self.children, depth: self.depth - 1, is_root: false, probes: Arc::clone(&self.probes) }
    }

    pub fn started(&self) {
        self.probes.started.hit();
    }

    pub fn ended(&self) {
        if self.is_root {
            self.probes.ended_before_root.store(self.probes.ended.count(), Ordering::Release);
        }
        self.probes.ended.hit();
    }
}

/// How many nodes a tree has.
pub fn nodes(children: usize, depth: u32) -> usize {
    (0..=depth).map(|generation| children.pow(generation)).sum()
}
