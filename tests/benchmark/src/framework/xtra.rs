//! xtra: `send(..).detach()` to tell, `send` to ask. It has no supervision and no tree: a task runs the actor on its mailbox in
//! a loop, with `catch_unwind` around it if it may panic. All-for-one has a parent task that stops all the others. A tree's
//! nodes stop their children and wait for them.
//!
//! It does not keep the order of messages.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::mpsc;
use xtra::{Actor, Address, Context, Handler, Mailbox};

use super::{Cause, Flavour, Framework, Group, Node, Parcel, Probe};

#[derive(Debug)]
pub struct Xtra;

pub struct Counter {
    total: u64,
}

/// Whether the counter must be made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Failed,
    Unused,
}

impl Actor for Counter {
    type Stop = ();

    async fn stopped(self) {}
}

pub struct Add(u64);

impl Handler<Add> for Counter {
    type Return = ();

    async fn handle(&mut self, Add(amount): Add, _: &mut Context<Self>) {
        self.total += amount;
    }
}

pub struct Total;

impl Handler<Total> for Counter {
    type Return = u64;

    async fn handle(&mut self, _: Total, _: &mut Context<Self>) -> u64 {
        self.total
    }
}

pub struct Store {
    total: u64,
}

impl Actor for Store {
    type Stop = ();

    async fn stopped(self) {}
}

pub struct Put(Parcel);

impl Handler<Put> for Store {
    type Return = ();

    async fn handle(&mut self, Put(parcel): Put, _: &mut Context<Self>) {
        self.total += parcel.iter().sum::<u64>();
    }
}

pub struct PutAndTotal(Parcel);

impl Handler<PutAndTotal> for Store {
    type Return = u64;

    async fn handle(&mut self, PutAndTotal(parcel): PutAndTotal, _: &mut Context<Self>) -> u64 {
        self.total += parcel.iter().sum::<u64>();
        self.total
    }
}

pub struct Editor {
    children: Vec<Address<Counter>>,
}

impl Actor for Editor {
    type Stop = ();

    async fn started(&mut self, _: &Mailbox<Self>) -> Result<(), ()> {
        for child in &self.children {
            drop(child.send(Add(1)).detach().await.expect("a child that runs"));
        }
        Ok(())
    }

    async fn stopped(self) {}
}

pub struct Gather;

impl Handler<Gather> for Editor {
    type Return = u64;

    async fn handle(&mut self, _: Gather, _: &mut Context<Self>) -> u64 {
        let mut answers = Vec::with_capacity(self.children.len());
        for child in &self.children {
            answers.push(child.send(Total).detach().await.expect("a child that runs"));
        }
        let mut total = 0;
        for answer in answers {
            total += answer.await.expect("a child that answers");
        }
        total
    }
}

/// A counter that fails when it is told to. Its task then creates it again.
pub struct Child {
    counter: Counter,
    /// Gets the index of this child when it fails, if its siblings must restart too.
    failures: Option<mpsc::UnboundedSender<usize>>,
    index: usize,
    failed: bool,
}

impl Actor for Child {
    type Stop = Ended;

    async fn stopped(self) -> Ended {
        if self.failed { Ended::Failed } else { Ended::Unused }
    }
}

impl Handler<Total> for Child {
    type Return = u64;

    async fn handle(&mut self, _: Total, _: &mut Context<Self>) -> u64 {
        self.counter.total
    }
}

pub struct Fail(Cause);

impl Handler<Fail> for Child {
    type Return = ();

    async fn handle(&mut self, Fail(cause): Fail, ctx: &mut Context<Self>) {
        match cause {
            Cause::Error => {
                self.failed = true;
                ctx.stop_self();
                if let Some(failures) = &self.failures {
                    failures.send(self.index).expect("a parent that runs");
                }
            }
            Cause::Panic => panic!("as told"),
        }
    }
}

/// A sibling has failed.
pub struct Restart;

impl Handler<Restart> for Child {
    type Return = ();

    async fn handle(&mut self, _: Restart, ctx: &mut Context<Self>) {
        self.failed = true;
        ctx.stop_self();
    }
}

pub struct Runner {
    next: Option<Address<Runner>>,
    done: mpsc::UnboundedSender<()>,
}

impl Actor for Runner {
    type Stop = ();

    async fn stopped(self) {}
}

pub struct Follow(Address<Runner>);

impl Handler<Follow> for Runner {
    type Return = ();

    async fn handle(&mut self, Follow(next): Follow, _: &mut Context<Self>) {
        self.next = Some(next);
    }
}

pub struct Run(u64);

impl Handler<Run> for Runner {
    type Return = ();

    async fn handle(&mut self, Run(hops): Run, _: &mut Context<Self>) {
        // If either call fails, the ring is ending.
        match &self.next {
            Some(next) if hops > 0 => drop(next.send(Run(hops - 1)).detach().await),
            _ => drop(self.done.send(())),
        }
    }
}

pub struct TreeNode {
    node: Node,
    children: Vec<Address<TreeNode>>,
}

impl TreeNode {
    fn spawn(node: Node) -> Address<Self> {
        xtra::spawn_tokio(Self { node, children: Vec::new() }, Mailbox::unbounded())
    }
}

impl Actor for TreeNode {
    type Stop = ();

    async fn started(&mut self, _: &Mailbox<Self>) -> Result<(), ()> {
        self.children.reserve_exact(self.node.children());
        for _ in 0..self.node.children() {
            self.children.push(Self::spawn(self.node.child()));
        }
        self.node.started();
        Ok(())
    }

    async fn stopped(self) {}
}

pub struct Stop;

impl Handler<Stop> for TreeNode {
    type Return = ();

    async fn handle(&mut self, _: Stop, ctx: &mut Context<Self>) {
        let mut ends = Vec::with_capacity(self.children.len());
        for child in &self.children {
            ends.push(child.send(Stop).detach().await.expect("a node that runs"));
        }
        for end in ends {
            end.await.expect("a node that stops");
        }
        self.node.ended();
        ctx.stop_self();
    }
}

impl Framework for Xtra {
    const NAME: &'static str = "xtra";
    const KEEPS_ORDER: bool = false;

    fn start(_: Flavour) -> Self {
        Self
    }

    type Counter = Address<Counter>;

    async fn counter(&self) -> Address<Counter> {
        xtra::spawn_tokio(Counter { total: 0 }, Mailbox::unbounded())
    }

    async fn bounded_counter(&self, capacity: usize) -> Address<Counter> {
        xtra::spawn_tokio(Counter { total: 0 }, Mailbox::bounded(capacity))
    }

    async fn add(counter: &Address<Counter>, amount: u64) {
        drop(counter.send(Add(amount)).detach().await.expect("a counter that runs"));
    }

    async fn add_when_room(counter: &Address<Counter>, amount: u64) {
        drop(counter.send(Add(amount)).detach().await.expect("a counter that runs"));
    }

    async fn total(counter: &Address<Counter>) -> u64 {
        counter.send(Total).await.expect("a counter that answers")
    }

    type Store = Address<Store>;

    async fn stores(&self, count: usize) -> Vec<Address<Store>> {
        (0..count).map(|_| xtra::spawn_tokio(Store { total: 0 }, Mailbox::unbounded())).collect()
    }

    async fn put(store: &Address<Store>, parcel: Parcel) {
        drop(store.send(Put(parcel)).detach().await.expect("a store that runs"));
    }

    async fn put_and_total(store: &Address<Store>, parcel: Parcel) -> u64 {
        store.send(PutAndTotal(parcel)).await.expect("a store that answers")
    }

    type Editor = Address<Editor>;

    async fn editor(&self, children: usize) -> Address<Editor> {
        let spawn = |_| xtra::spawn_tokio(Counter { total: 0 }, Mailbox::unbounded());
        xtra::spawn_tokio(Editor { children: (0..children).map(spawn).collect() }, Mailbox::unbounded())
    }

    async fn gather(editor: &Address<Editor>) -> u64 {
        editor.send(Gather).await.expect("an editor that answers")
    }

    type Runner = Address<Runner>;

    async fn ring(&self, runners: usize, done: mpsc::UnboundedSender<()>) -> Address<Runner> {
        let spawn = |next| xtra::spawn_tokio(Runner { next, done: done.clone() }, Mailbox::unbounded());
        let first = spawn(None);
        let mut next = first.clone();
        for _ in 1..runners {
            next = spawn(Some(next));
        }
        first.send(Follow(next)).await.expect("a runner that runs");
        first
    }

    async fn run(runner: &Address<Runner>, hops: u64) {
        drop(runner.send(Run(hops)).detach().await.expect("a runner that runs"));
    }

    type Tree = Address<TreeNode>;

    async fn tree(&self, root: Node) -> Address<TreeNode> {
        TreeNode::spawn(root)
    }

    async fn stop(tree: &mut Address<TreeNode>) {
        drop(tree.send(Stop).detach().await.expect("a node that runs"));
    }

    type Family = Vec<Address<Child>>;

    async fn family(&self, children: usize, group: Group, starts: &Arc<Probe>) -> Vec<Address<Child>> {
        let (failures, mut failed) = mpsc::unbounded_channel::<usize>();
        let failures = (group == Group::AllForOne).then_some(failures);
        let family: Vec<_> =
            (0..children).map(|index| spawn_child(index, failures.clone(), Arc::clone(starts))).collect();
        let siblings = family.clone();
        tokio::spawn(async move {
            while let Some(failed) = failed.recv().await {
                for (index, sibling) in siblings.iter().enumerate() {
                    if index != failed {
                        drop(sibling.send(Restart).detach().await.expect("a child that runs"));
                    }
                }
            }
        });
        family
    }
}

fn spawn_child(
    index: usize,
    failures: Option<mpsc::UnboundedSender<usize>>,
    starts: Arc<Probe>,
) -> Address<Child> {
    let (address, mailbox) = Mailbox::unbounded();
    tokio::spawn(async move {
        loop {
            starts.hit();
            let failures = failures.clone();
            let child = Child { counter: Counter { total: 0 }, failures, index, failed: false };
            let life = xtra::run(mailbox.clone(), child);
            match AssertUnwindSafe(life).catch_unwind().await {
                Ok(Ended::Failed) | Err(_) => {}
                Ok(Ended::Unused) => return,
            }
        }
    });
    address
}

impl super::Family for Vec<Address<Child>> {
    async fn fail(&mut self, child: usize, cause: Cause) {
        drop(self[child].send(Fail(cause)).detach().await.expect("a child that runs"));
    }

    async fn total(&mut self, child: usize) -> u64 {
        self[child].send(Total).await.expect("a child that answers")
    }
}
