//! What one writes by hand without a framework: a spawned loop over tokio's mpsc, an enum message, a `oneshot` per ask.
//!
//! No names, no tree, no watch. A lone worker is restarted in its own task: a factory for `Err`, `catch_unwind` for
//! panics. If many workers must be restarted, a parent keeps them in a `JoinSet`. A failed one returns its receiver, and
//! its successor takes it over. All-for-one aborts all of them, waits, and spawns all again.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};

use super::{Cause, Flavour, Framework, Group, Node, Parcel, Probe};

#[derive(Debug)]
pub struct Raw;

#[derive(Debug, Clone)]
pub struct Counter {
    unbounded: mpsc::UnboundedSender<CounterMessage>,
    /// The sender of a counter with a bounded channel. Such a counter has no unbounded one.
    bounded: Option<mpsc::Sender<CounterMessage>>,
}

#[derive(Debug)]
enum CounterMessage {
    Add(u64),
    Total(oneshot::Sender<u64>),
    Fail(Cause),
}

#[derive(Debug, thiserror::Error)]
#[error("as told")]
struct AsTold;

#[derive(Debug, Default)]
struct CounterState {
    total: u64,
}

impl CounterState {
    fn handle(&mut self, message: CounterMessage) -> Result<(), AsTold> {
        match message {
            CounterMessage::Add(amount) => self.total += amount,
            // An asker may have given up.
            CounterMessage::Total(reply) => drop(reply.send(self.total)),
            CounterMessage::Fail(Cause::Error) => return Err(AsTold),
            CounterMessage::Fail(Cause::Panic) => panic!("as told"),
        }
        Ok(())
    }
}

impl Framework for Raw {
    const NAME: &'static str = "raw";

    fn start(_: Flavour) -> Self {
        Self
    }

    type Counter = Counter;

    async fn counter(&self) -> Counter {
        Counter { unbounded: spawn_counter(), bounded: None }
    }

    async fn bounded_counter(&self, capacity: usize) -> Counter {
        let (bounded, mut inbox) = mpsc::channel(capacity);
        tokio::spawn(async move {
            let mut state = CounterState::default();
            while let Some(message) = inbox.recv().await {
                if state.handle(message).is_err() {
                    break;
                }
            }
        });
        let (unbounded, _nobody) = mpsc::unbounded_channel();
        Counter { unbounded, bounded: Some(bounded) }
    }

    async fn add(counter: &Counter, amount: u64) {
        counter.unbounded.send(CounterMessage::Add(amount)).expect("a counter that runs");
    }

    async fn add_when_room(counter: &Counter, amount: u64) {
        let bounded = counter.bounded.as_ref().expect("a counter with a bounded channel");
        bounded.send(CounterMessage::Add(amount)).await.expect("a counter that runs");
    }

    async fn total(counter: &Counter) -> u64 {
        let (reply, answer) = oneshot::channel();
        let ask = CounterMessage::Total(reply);
        match &counter.bounded {
            None => counter.unbounded.send(ask).expect("a counter that runs"),
            Some(bounded) => bounded.send(ask).await.expect("a counter that runs"),
        }
        answer.await.expect("a counter that answers")
    }

    type Store = mpsc::UnboundedSender<StoreMessage>;

    async fn stores(&self, count: usize) -> Vec<Self::Store> {
        let spawn = |_| {
            let (sender, inbox) = mpsc::unbounded_channel();
            tokio::spawn(store(inbox));
            sender
        };
        (0..count).map(spawn).collect()
    }

    async fn put(store: &Self::Store, parcel: Parcel) {
        store.send(StoreMessage::Put(parcel)).expect("a store that runs");
    }

    async fn put_and_total(store: &Self::Store, parcel: Parcel) -> u64 {
        let (reply, answer) = oneshot::channel();
        store.send(StoreMessage::PutAndTotal(parcel, reply)).expect("a store that runs");
        answer.await.expect("a store that answers")
    }

    /// The asker that waits for the sum.
    type Editor = mpsc::UnboundedSender<oneshot::Sender<u64>>;

    async fn editor(&self, children: usize) -> Self::Editor {
        let (sender, inbox) = mpsc::unbounded_channel();
        tokio::spawn(editor(children, inbox));
        sender
    }

    async fn gather(editor: &Self::Editor) -> u64 {
        let (reply, answer) = oneshot::channel();
        editor.send(reply).expect("an editor that runs");
        answer.await.expect("an editor that answers")
    }

    type Runner = mpsc::UnboundedSender<u64>;

    async fn ring(&self, runners: usize, done: mpsc::UnboundedSender<()>) -> Self::Runner {
        let (first, first_inbox) = mpsc::unbounded_channel();
        let mut next = first.clone();
        for _ in 1..runners {
            let (sender, inbox) = mpsc::unbounded_channel();
            tokio::spawn(runner(inbox, next, done.clone()));
            next = sender;
        }
        tokio::spawn(runner(first_inbox, next, done));
        first
    }

    async fn run(runner: &Self::Runner, hops: u64) {
        runner.send(hops).expect("a runner that runs");
    }

    type Tree = NodeHandle;

    async fn tree(&self, root: Node) -> NodeHandle {
        spawn_node(root)
    }

    async fn stop(tree: &mut NodeHandle) {
        tree.stop();
    }

    type Family = Family;

    async fn family(&self, children: usize, group: Group, starts: &Arc<Probe>) -> Family {
        let (tell, told) = mpsc::unbounded_channel();
        match group {
            Group::OneForOne if children == 1 => tokio::spawn(lone_worker(tell, Arc::clone(starts))),
            Group::OneForOne => tokio::spawn(one_for_one(children, tell, Arc::clone(starts))),
            Group::AllForOne => tokio::spawn(all_for_one(children, tell, Arc::clone(starts))),
        };
        let mut family = Family { children: Vec::new(), told, outdated: true, group };
        family.update().await;
        family
    }
}

fn spawn_counter() -> mpsc::UnboundedSender<CounterMessage> {
    let (sender, mut inbox) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut state = CounterState::default();
        while let Some(message) = inbox.recv().await {
            if state.handle(message).is_err() {
                break;
            }
        }
    });
    sender
}

#[derive(Debug)]
pub enum StoreMessage {
    Put(Parcel),
    PutAndTotal(Parcel, oneshot::Sender<u64>),
}

async fn store(mut inbox: mpsc::UnboundedReceiver<StoreMessage>) {
    let mut total = 0;
    while let Some(message) = inbox.recv().await {
        match message {
            StoreMessage::Put(parcel) => total += parcel.iter().sum::<u64>(),
            StoreMessage::PutAndTotal(parcel, reply) => {
                total += parcel.iter().sum::<u64>();
                // An asker may have given up.
                let _answered = reply.send(total);
            }
        }
    }
}

async fn editor(children: usize, mut inbox: mpsc::UnboundedReceiver<oneshot::Sender<u64>>) {
    let children: Vec<_> = (0..children).map(|_| spawn_counter()).collect();
    for child in &children {
        child.send(CounterMessage::Add(1)).expect("a child that runs");
    }
    while let Some(gathered) = inbox.recv().await {
        let mut answers = Vec::with_capacity(children.len());
        for child in &children {
            let (reply, answer) = oneshot::channel();
            child.send(CounterMessage::Total(reply)).expect("a child that runs");
            answers.push(answer);
        }
        let mut total = 0;
        for answer in answers {
            total += answer.await.expect("a child that answers");
        }
        // An asker may have given up.
        let _answered = gathered.send(total);
    }
}

async fn runner(
    mut inbox: mpsc::UnboundedReceiver<u64>,
    next: mpsc::UnboundedSender<u64>,
    done: mpsc::UnboundedSender<()>,
) {
    while let Some(hops) = inbox.recv().await {
        // If this fails, the ring is being dropped.
        match hops {
            0 => drop(done.send(())),
            _ => drop(next.send(hops - 1)),
        }
    }
}

enum NodeMessage {
    Stop,
}

/// What a parent keeps of a child.
#[derive(Debug)]
pub struct NodeHandle {
    sender: mpsc::UnboundedSender<NodeMessage>,
    task: JoinHandle<()>,
}

impl NodeHandle {
    fn stop(&self) {
        self.sender.send(NodeMessage::Stop).expect("a node that runs");
    }
}

fn spawn_node(node: Node) -> NodeHandle {
    let (sender, mut inbox) = mpsc::unbounded_channel();
    let task = tokio::spawn(async move {
        let mut children = Vec::with_capacity(node.children());
        for _ in 0..node.children() {
            children.push(spawn_node(node.child()));
        }
        node.started();
        if let Some(NodeMessage::Stop) = inbox.recv().await {
            children.iter().for_each(NodeHandle::stop);
            for child in children.drain(..) {
                child.task.await.expect("a node that does not panic");
            }
            node.ended();
        }
    });
    NodeHandle { sender, task }
}

type Senders = Vec<mpsc::UnboundedSender<CounterMessage>>;

/// The senders of a family, kept up to date by its parent where a restart makes new ones.
#[derive(Debug)]
pub struct Family {
    children: Senders,
    told: mpsc::UnboundedReceiver<Senders>,
    outdated: bool,
    group: Group,
}

impl Family {
    async fn update(&mut self) {
        if self.outdated {
            self.children = self.told.recv().await.expect("a parent that runs");
            self.outdated = false;
        }
    }
}

impl super::Family for Family {
    async fn fail(&mut self, child: usize, cause: Cause) {
        self.update().await;
        self.children[child].send(CounterMessage::Fail(cause)).expect("a child that runs");
        self.outdated = self.group == Group::AllForOne;
    }

    async fn total(&mut self, child: usize) -> u64 {
        self.update().await;
        let (reply, answer) = oneshot::channel();
        self.children[child].send(CounterMessage::Total(reply)).expect("a child that runs");
        answer.await.expect("a child that answers")
    }
}

async fn lone_worker(tell: mpsc::UnboundedSender<Senders>, starts: Arc<Probe>) {
    let (sender, mut inbox) = mpsc::unbounded_channel();
    drop(tell.send(vec![sender]));
    let factory = || {
        starts.hit();
        CounterState::default()
    };
    let mut state = factory();
    while let Some(message) = inbox.recv().await {
        match catch_unwind(AssertUnwindSafe(|| state.handle(message))) {
            Ok(Ok(())) => {}
            Ok(Err(AsTold)) | Err(_) => state = factory(),
        }
    }
}

/// A child that ends with its first failure. `None`: nobody can reach it any more.
async fn child(
    index: usize,
    mut inbox: mpsc::UnboundedReceiver<CounterMessage>,
    starts: Arc<Probe>,
) -> ControlFlow<(), (usize, mpsc::UnboundedReceiver<CounterMessage>)> {
    starts.hit();
    let mut state = CounterState::default();
    while let Some(message) = inbox.recv().await {
        if state.handle(message).is_err() {
            return ControlFlow::Continue((index, inbox));
        }
    }
    ControlFlow::Break(())
}

async fn one_for_one(children: usize, tell: mpsc::UnboundedSender<Senders>, starts: Arc<Probe>) {
    let mut tasks = JoinSet::new();
    let mut senders = Vec::with_capacity(children);
    for index in 0..children {
        let (sender, inbox) = mpsc::unbounded_channel();
        senders.push(sender);
        tasks.spawn(child(index, inbox, Arc::clone(&starts)));
    }
    drop(tell.send(senders));
    while let Some(ended) = tasks.join_next().await {
        if let Ok(ControlFlow::Continue((index, inbox))) = ended {
            tasks.spawn(child(index, inbox, Arc::clone(&starts)));
        }
    }
}

async fn all_for_one(children: usize, tell: mpsc::UnboundedSender<Senders>, starts: Arc<Probe>) {
    let mut tasks = JoinSet::new();
    loop {
        let mut senders = Vec::with_capacity(children);
        for index in 0..children {
            let (sender, inbox) = mpsc::unbounded_channel();
            senders.push(sender);
            tasks.spawn(child(index, inbox, Arc::clone(&starts)));
        }
        if tell.send(senders).is_err() {
            return;
        }
        let Some(Ok(ControlFlow::Continue(_failed))) = tasks.join_next().await else { return };
        tasks.shutdown().await;
    }
}
