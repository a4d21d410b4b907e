//! kameo: `tell().send()`, `ask`, supervised children. The mailboxes of the message workloads are unbounded; the others have
//! kameo's default, a bound of 64.
//!
//! An ask that meets an actor amid its restart is refused and sent again.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use kameo::actor::{Actor, ActorRef, Spawn, WeakActorRef};
use kameo::error::ActorStopReason;
use kameo::mailbox;
use kameo::message::{Context, Message};
use kameo::supervision::{RestartPolicy, SupervisionStrategy};
use tokio::sync::mpsc;

use super::{Cause, Flavour, Framework, Group, Node, Parcel, Probe};

#[derive(Debug)]
pub struct Kameo;

pub struct Counter {
    total: u64,
}

impl Actor for Counter {
    type Args = Arc<Probe>;
    type Error = Infallible;

    async fn on_start(starts: Arc<Probe>, _: ActorRef<Self>) -> Result<Self, Infallible> {
        starts.hit();
        Ok(Self { total: 0 })
    }
}

pub struct Add(u64);

impl Message<Add> for Counter {
    type Reply = ();

    async fn handle(&mut self, Add(amount): Add, _: &mut Context<Self, ()>) {
        self.total += amount;
    }
}

pub struct Total;

impl Message<Total> for Counter {
    type Reply = u64;

    async fn handle(&mut self, _: Total, _: &mut Context<Self, u64>) -> u64 {
        self.total
    }
}

#[derive(Debug, thiserror::Error)]
#[error("as told")]
pub struct AsTold;

pub struct Fail(Cause);

impl Message<Fail> for Counter {
    type Reply = Result<(), AsTold>;

    async fn handle(&mut self, Fail(cause): Fail, _: &mut Context<Self, Self::Reply>) -> Self::Reply {
        match cause {
            Cause::Error => Err(AsTold),
            Cause::Panic => panic!("as told"),
        }
    }
}

pub struct Store {
    total: u64,
}

impl Actor for Store {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(store: Self, _: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(store)
    }
}

pub struct Put(Parcel);

impl Message<Put> for Store {
    type Reply = ();

    async fn handle(&mut self, Put(parcel): Put, _: &mut Context<Self, ()>) {
        self.total += parcel.iter().sum::<u64>();
    }
}

pub struct PutAndTotal(Parcel);

impl Message<PutAndTotal> for Store {
    type Reply = u64;

    async fn handle(&mut self, PutAndTotal(parcel): PutAndTotal, _: &mut Context<Self, u64>) -> u64 {
        self.total += parcel.iter().sum::<u64>();
        self.total
    }
}

pub struct Editor {
    children: Vec<ActorRef<Counter>>,
}

impl Actor for Editor {
    type Args = usize;
    type Error = Infallible;

    async fn on_start(count: usize, me: ActorRef<Self>) -> Result<Self, Infallible> {
        let mut children = Vec::with_capacity(count);
        for _ in 0..count {
            let child = Counter::supervise(&me, Probe::new(1)).spawn_with_mailbox(mailbox::unbounded()).await;
            child.tell(Add(1)).send().await.expect("a child that runs");
            children.push(child);
        }
        Ok(Self { children })
    }
}

pub struct Gather;

impl Message<Gather> for Editor {
    type Reply = u64;

    async fn handle(&mut self, _: Gather, _: &mut Context<Self, u64>) -> u64 {
        let mut answers = Vec::with_capacity(self.children.len());
        for child in &self.children {
            answers.push(child.ask(Total).enqueue().await.expect("a child that runs"));
        }
        let mut total = 0;
        for answer in answers {
            total += answer.await.expect("a child that answers");
        }
        total
    }
}

pub struct Runner {
    next: Option<ActorRef<Runner>>,
    done: mpsc::UnboundedSender<()>,
}

impl Actor for Runner {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(runner: Self, _: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(runner)
    }
}

pub struct Follow(ActorRef<Runner>);

impl Message<Follow> for Runner {
    type Reply = ();

    async fn handle(&mut self, Follow(next): Follow, _: &mut Context<Self, ()>) {
        self.next = Some(next);
    }
}

pub struct Run(u64);

impl Message<Run> for Runner {
    type Reply = ();

    async fn handle(&mut self, Run(hops): Run, _: &mut Context<Self, ()>) {
        // If either call fails, the ring is ending.
        match &self.next {
            Some(next) if hops > 0 => drop(next.tell(Run(hops - 1)).send().await),
            _ => drop(self.done.send(())),
        }
    }
}

pub struct TreeNode {
    node: Node,
}

impl Actor for TreeNode {
    type Args = Node;
    type Error = Infallible;

    async fn on_start(node: Node, me: ActorRef<Self>) -> Result<Self, Infallible> {
        for _ in 0..node.children() {
            Self::supervise(&me, node.child()).restart_policy(RestartPolicy::Transient).spawn().await;
        }
        node.started();
        Ok(Self { node })
    }

    async fn on_stop(&mut self, _: WeakActorRef<Self>, _: ActorStopReason) -> Result<(), Infallible> {
        self.node.ended();
        Ok(())
    }
}

/// One type for each strategy, because in kameo the type determines the strategy.
pub struct Parent<const ALL_FOR_ONE: bool>;

impl<const ALL_FOR_ONE: bool> Actor for Parent<ALL_FOR_ONE> {
    type Args = ();
    type Error = Infallible;

    async fn on_start((): (), _: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(Self)
    }

    fn supervision_strategy() -> SupervisionStrategy {
        if ALL_FOR_ONE { SupervisionStrategy::OneForAll } else { SupervisionStrategy::OneForOne }
    }
}

async fn family<const ALL_FOR_ONE: bool>(children: usize, starts: &Arc<Probe>) -> Family {
    let parent = Parent::<ALL_FOR_ONE>::spawn(());
    let mut hired = Vec::with_capacity(children);
    for _ in 0..children {
        let starts = Arc::clone(starts);
        let child = Counter::supervise(&parent, starts).restart_limit(u32::MAX, Duration::from_secs(1));
        hired.push(child.spawn().await);
    }
    let parent: Box<dyn Send> = Box::new(parent);
    Family { children: hired, _parent: parent }
}

/// The parent ends when nobody has its ref.
pub struct Family {
    children: Vec<ActorRef<Counter>>,
    _parent: Box<dyn Send>,
}

impl Framework for Kameo {
    const NAME: &'static str = "kameo";

    /// It waits until its children take no more messages, which is before their `on_stop`.
    const CHILDREN_END_FIRST: bool = false;

    fn start(_: Flavour) -> Self {
        Self
    }

    type Counter = ActorRef<Counter>;

    async fn counter(&self) -> ActorRef<Counter> {
        Counter::spawn_with_mailbox(Probe::new(1), mailbox::unbounded())
    }

    async fn bounded_counter(&self, capacity: usize) -> ActorRef<Counter> {
        Counter::spawn_with_mailbox(Probe::new(1), mailbox::bounded(capacity))
    }

    async fn add(counter: &ActorRef<Counter>, amount: u64) {
        counter.tell(Add(amount)).send().await.expect("a counter that runs");
    }

    async fn add_when_room(counter: &ActorRef<Counter>, amount: u64) {
        counter.tell(Add(amount)).send().await.expect("a counter that runs");
    }

    async fn total(counter: &ActorRef<Counter>) -> u64 {
        counter.ask(Total).send().await.expect("a counter that answers")
    }

    type Store = ActorRef<Store>;

    async fn stores(&self, count: usize) -> Vec<ActorRef<Store>> {
        let spawn = |_| Store::spawn_with_mailbox(Store { total: 0 }, mailbox::unbounded());
        (0..count).map(spawn).collect()
    }

    async fn put(store: &ActorRef<Store>, parcel: Parcel) {
        store.tell(Put(parcel)).send().await.expect("a store that runs");
    }

    async fn put_and_total(store: &ActorRef<Store>, parcel: Parcel) -> u64 {
        store.ask(PutAndTotal(parcel)).send().await.expect("a store that answers")
    }

    type Editor = ActorRef<Editor>;

    async fn editor(&self, children: usize) -> ActorRef<Editor> {
        Editor::spawn_with_mailbox(children, mailbox::unbounded())
    }

    async fn gather(editor: &ActorRef<Editor>) -> u64 {
        editor.ask(Gather).send().await.expect("an editor that answers")
    }

    type Runner = ActorRef<Runner>;

    async fn ring(&self, runners: usize, done: mpsc::UnboundedSender<()>) -> ActorRef<Runner> {
        let spawn = |next| Runner::spawn_with_mailbox(Runner { next, done: done.clone() }, mailbox::unbounded());
        let first = spawn(None);
        let mut next = first.clone();
        for _ in 1..runners {
            next = spawn(Some(next));
        }
        first.ask(Follow(next)).send().await.expect("a runner that runs");
        first
    }

    async fn run(runner: &ActorRef<Runner>, hops: u64) {
        runner.tell(Run(hops)).send().await.expect("a runner that runs");
    }

    type Tree = ActorRef<TreeNode>;

    async fn tree(&self, root: Node) -> ActorRef<TreeNode> {
        TreeNode::spawn(root)
    }

    async fn stop(tree: &mut ActorRef<TreeNode>) {
        tree.stop_gracefully().await.expect("a node that runs");
    }

    type Family = Family;

    async fn family(&self, children: usize, group: Group, starts: &Arc<Probe>) -> Family {
        match group {
            Group::OneForOne => family::<false>(children, starts).await,
            Group::AllForOne => family::<true>(children, starts).await,
        }
    }
}

impl super::Family for Family {
    async fn fail(&mut self, child: usize, cause: Cause) {
        self.children[child].tell(Fail(cause)).send().await.expect("a child that runs");
    }

    async fn total(&mut self, child: usize) -> u64 {
        loop {
            if let Ok(total) = self.children[child].ask(Total).send().await {
                return total;
            }
            tokio::task::yield_now().await;
        }
    }
}
