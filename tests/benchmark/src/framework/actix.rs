//! actix: `do_send`, `send`, `Supervisor`. Its actors live on the thread they are made on. On one thread they share it with the workload;
//! for two, they live on an arbiter of their own, a ring, stores and an editor's children on two of them, and workloads that
//! spawn thousands of actors are left out, because all of them would be on one thread anyway.
//!
//! No tree: nodes stop their children and wait for them, siblings are restarted through a parent that tells them. A panic
//! ends its thread, and nothing restarts it. A sender cannot wait for room without waiting for the answer, so a sender
//! that finds a mailbox full yields and tries again.

use std::sync::Arc;

use actix::prelude::{
    Actor, ActorContext, Addr, Arbiter, Context, Handler, Message, ResponseFuture, SendError, Supervised,
    Supervisor, System,
};
use tokio::sync::mpsc;

use super::{Cause, Flavour, Framework, Group, Node, Parcel, Probe};
use crate::workload::Workload;

#[derive(Debug)]
pub struct Actix {
    /// Empty on one thread.
    arbiters: Vec<Arbiter>,
}

impl Actix {
    /// Starts an actor, on several threads on the arbiter that `share` of all come before.
    fn start_actor<A>(&self, share: f64, factory: impl FnOnce(&mut Context<A>) -> A + Send + 'static) -> Addr<A>
    where
        A: Actor<Context = Context<A>>,
    {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a length is an index"
        )]
        let index = (share * self.arbiters.len() as f64) as usize;
        match self.arbiters.get(index) {
            Some(arbiter) => A::start_in_arbiter(&arbiter.handle(), factory),
            None => A::create(factory),
        }
    }
}

/// The mailbox of `do_send` has no bound.
pub struct Counter {
    total: u64,
    capacity: Option<usize>,
}

impl Actor for Counter {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        if let Some(capacity) = self.capacity {
            ctx.set_mailbox_capacity(capacity);
        }
    }
}

#[derive(Message)]
#[rtype(result = "()")]
pub struct Add(u64);

impl Handler<Add> for Counter {
    type Result = ();

    fn handle(&mut self, Add(amount): Add, _: &mut Context<Self>) {
        self.total += amount;
    }
}

#[derive(Message)]
#[rtype(result = "u64")]
pub struct Total;

impl Handler<Total> for Counter {
    type Result = u64;

    fn handle(&mut self, _: Total, _: &mut Context<Self>) -> u64 {
        self.total
    }
}

pub struct Store {
    total: u64,
}

impl Actor for Store {
    type Context = Context<Self>;
}

#[derive(Message)]
#[rtype(result = "()")]
pub struct Put(Parcel);

impl Handler<Put> for Store {
    type Result = ();

    fn handle(&mut self, Put(parcel): Put, _: &mut Context<Self>) {
        self.total += parcel.iter().sum::<u64>();
    }
}

#[derive(Message)]
#[rtype(result = "u64")]
pub struct PutAndTotal(Parcel);

impl Handler<PutAndTotal> for Store {
    type Result = u64;

    fn handle(&mut self, PutAndTotal(parcel): PutAndTotal, _: &mut Context<Self>) -> u64 {
        self.total += parcel.iter().sum::<u64>();
        self.total
    }
}

pub struct Editor {
    children: Vec<Addr<Counter>>,
}

impl Actor for Editor {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Context<Self>) {
        for child in &self.children {
            child.do_send(Add(1));
        }
    }
}

#[derive(Message)]
#[rtype(result = "u64")]
pub struct Gather;

impl Handler<Gather> for Editor {
    type Result = ResponseFuture<u64>;

    fn handle(&mut self, _: Gather, _: &mut Context<Self>) -> ResponseFuture<u64> {
        let answers: Vec<_> = self.children.iter().map(|child| child.send(Total)).collect();
        Box::pin(async move {
            let mut total = 0;
            for answer in answers {
                total += answer.await.expect("a child that answers");
            }
            total
        })
    }
}

/// A counter that fails when it is told to. Its supervisor restarts it.
pub struct Child {
    total: u64,
    index: usize,
    starts: Arc<Probe>,
    /// Gets the index of this child when it fails, if its siblings must restart too.
    parent: Option<Addr<Parent>>,
}

impl Actor for Child {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Context<Self>) {
        self.starts.hit();
    }
}

impl Supervised for Child {
    fn restarting(&mut self, _: &mut Context<Self>) {
        self.total = 0;
    }
}

impl Handler<Total> for Child {
    type Result = u64;

    fn handle(&mut self, _: Total, _: &mut Context<Self>) -> u64 {
        self.total
    }
}

#[derive(Message)]
#[rtype(result = "()")]
pub struct Fail;

impl Handler<Fail> for Child {
    type Result = ();

    fn handle(&mut self, _: Fail, ctx: &mut Context<Self>) {
        ctx.stop();
        if let Some(parent) = &self.parent {
            parent.do_send(Failed(self.index));
        }
    }
}

/// A sibling has failed.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Restart;

impl Handler<Restart> for Child {
    type Result = ();

    fn handle(&mut self, _: Restart, ctx: &mut Context<Self>) {
        ctx.stop();
    }
}

/// Restarts all its children when one fails.
#[derive(Default)]
pub struct Parent {
    children: Vec<Addr<Child>>,
}

impl Actor for Parent {
    type Context = Context<Self>;
}

#[derive(Message)]
#[rtype(result = "()")]
pub struct Adopt(Vec<Addr<Child>>);

impl Handler<Adopt> for Parent {
    type Result = ();

    fn handle(&mut self, Adopt(children): Adopt, _: &mut Context<Self>) {
        self.children = children;
    }
}

#[derive(Message)]
#[rtype(result = "()")]
pub struct Failed(usize);

impl Handler<Failed> for Parent {
    type Result = ();

    fn handle(&mut self, Failed(failed): Failed, _: &mut Context<Self>) {
        for (index, child) in self.children.iter().enumerate() {
            if index != failed {
                child.do_send(Restart);
            }
        }
    }
}

pub struct Runner {
    next: Option<Addr<Runner>>,
    done: mpsc::UnboundedSender<()>,
}

impl Actor for Runner {
    type Context = Context<Self>;
}

#[derive(Message)]
#[rtype(result = "()")]
pub struct Follow(Addr<Runner>);

impl Handler<Follow> for Runner {
    type Result = ();

    fn handle(&mut self, Follow(next): Follow, _: &mut Context<Self>) {
        self.next = Some(next);
    }
}

#[derive(Message)]
#[rtype(result = "()")]
pub struct Run(u64);

impl Handler<Run> for Runner {
    type Result = ();

    fn handle(&mut self, Run(hops): Run, _: &mut Context<Self>) {
        match &self.next {
            Some(next) if hops > 0 => next.do_send(Run(hops - 1)),
            // If this fails, the ring is ending.
            _ => drop(self.done.send(())),
        }
    }
}

pub struct TreeNode {
    node: Node,
    children: Vec<Addr<TreeNode>>,
    parent: Option<Addr<TreeNode>>,
    /// Children that have not ended.
    left: usize,
}

impl TreeNode {
    fn new(node: Node, parent: Option<Addr<Self>>) -> Self {
        let left = node.children();
        Self { node, children: Vec::with_capacity(left), parent, left }
    }

    fn end(&self, ctx: &mut Context<Self>) {
        self.node.ended();
        ctx.stop();
        if let Some(parent) = &self.parent {
            parent.do_send(ChildEnded);
        }
    }
}

impl Actor for TreeNode {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        use actix::AsyncContext;
        for _ in 0..self.node.children() {
            self.children.push(Self::new(self.node.child(), Some(ctx.address())).start());
        }
        self.node.started();
    }
}

#[derive(Message)]
#[rtype(result = "()")]
pub struct Stop;

impl Handler<Stop> for TreeNode {
    type Result = ();

    fn handle(&mut self, _: Stop, ctx: &mut Context<Self>) {
        if self.children.is_empty() {
            self.end(ctx);
        }
        for child in &self.children {
            child.do_send(Stop);
        }
    }
}

#[derive(Message)]
#[rtype(result = "()")]
pub struct ChildEnded;

impl Handler<ChildEnded> for TreeNode {
    type Result = ();

    fn handle(&mut self, _: ChildEnded, ctx: &mut Context<Self>) {
        self.left -= 1;
        if self.left == 0 {
            self.end(ctx);
        }
    }
}

impl Framework for Actix {
    const NAME: &'static str = "actix";

    fn supports(workload: Workload, flavour: Flavour) -> bool {
        match workload {
            Workload::RestartByPanic => false,
            Workload::SpawnWide
            | Workload::SpawnTree
            | Workload::RestartAmongMany
            | Workload::AllForOne
            | Workload::StopTree => flavour == Flavour::CurrentThread,
            _ => true,
        }
    }

    fn block_on<T: Send + 'static>(_: Flavour, work: impl Future<Output = T> + Send + 'static) -> T {
        let system = System::new();
        system.block_on(async { actix::spawn(work).await.expect("a workload that does not panic") })
    }

    fn start(flavour: Flavour) -> Self {
        let arbiters = match flavour {
            Flavour::MultiThread => vec![Arbiter::new(), Arbiter::new()],
            Flavour::CurrentThread => Vec::new(),
        };
        Self { arbiters }
    }

    type Counter = Addr<Counter>;

    async fn counter(&self) -> Addr<Counter> {
        self.start_actor(0.0, |_| Counter { total: 0, capacity: None })
    }

    async fn bounded_counter(&self, capacity: usize) -> Addr<Counter> {
        self.start_actor(0.0, move |_| Counter { total: 0, capacity: Some(capacity) })
    }

    async fn add(counter: &Addr<Counter>, amount: u64) {
        counter.do_send(Add(amount));
    }

    async fn add_when_room(counter: &Addr<Counter>, amount: u64) {
        let mut refused = Add(amount);
        loop {
            match counter.try_send(refused) {
                Ok(()) => return,
                Err(SendError::Full(message)) => refused = message,
                Err(SendError::Closed(_)) => panic!("the counter has stopped"),
            }
            tokio::task::yield_now().await;
        }
    }

    async fn total(counter: &Addr<Counter>) -> u64 {
        counter.send(Total).await.expect("a counter that answers")
    }

    type Store = Addr<Store>;

    async fn stores(&self, count: usize) -> Vec<Addr<Store>> {
        let spawn = |index| self.start_actor(index as f64 / count as f64, |_| Store { total: 0 });
        (0..count).map(spawn).collect()
    }

    async fn put(store: &Addr<Store>, parcel: Parcel) {
        store.do_send(Put(parcel));
    }

    async fn put_and_total(store: &Addr<Store>, parcel: Parcel) -> u64 {
        store.send(PutAndTotal(parcel)).await.expect("a store that answers")
    }

    type Editor = Addr<Editor>;

    async fn editor(&self, children: usize) -> Addr<Editor> {
        let spawn = |index| {
            let share = index as f64 / children as f64;
            self.start_actor(share, |_| Counter { total: 0, capacity: None })
        };
        let children = (0..children).map(spawn).collect();
        self.start_actor(0.0, |_| Editor { children })
    }

    async fn gather(editor: &Addr<Editor>) -> u64 {
        editor.send(Gather).await.expect("an editor that answers")
    }

    type Runner = Addr<Runner>;

    async fn ring(&self, runners: usize, done: mpsc::UnboundedSender<()>) -> Addr<Runner> {
        let spawn = |next, share| {
            let done = done.clone();
            self.start_actor(share, move |_| Runner { next, done })
        };
        let first = spawn(None, 0.0);
        let mut next = first.clone();
        for index in 1..runners {
            next = spawn(Some(next), index as f64 / runners as f64);
        }
        first.send(Follow(next)).await.expect("a runner that runs");
        first
    }

    async fn run(runner: &Addr<Runner>, hops: u64) {
        runner.do_send(Run(hops));
    }

    type Tree = Addr<TreeNode>;

    async fn tree(&self, root: Node) -> Addr<TreeNode> {
        self.start_actor(0.0, move |_| TreeNode::new(root, None))
    }

    async fn stop(tree: &mut Addr<TreeNode>) {
        tree.do_send(Stop);
    }

    type Family = Vec<Addr<Child>>;

    async fn family(&self, children: usize, group: Group, starts: &Arc<Probe>) -> Vec<Addr<Child>> {
        let parent = match group {
            Group::OneForOne => None,
            Group::AllForOne => Some(self.start_actor(0.0, |_| Parent::default())),
        };
        let family: Vec<_> = (0..children)
            .map(|index| {
                let (starts, parent) = (Arc::clone(starts), parent.clone());
                let factory = move |_: &mut Context<Child>| Child { total: 0, index, starts, parent };
                match self.arbiters.first() {
                    Some(arbiter) => Supervisor::start_in_arbiter(&arbiter.handle(), factory),
                    None => Supervisor::start(factory),
                }
            })
            .collect();
        if let Some(parent) = parent {
            parent.send(Adopt(family.clone())).await.expect("a parent that runs");
        }
        family
    }
}

impl super::Family for Vec<Addr<Child>> {
    async fn fail(&mut self, child: usize, cause: Cause) {
        assert_eq!(cause, Cause::Error, "nobody restarts after a panic");
        self[child].do_send(Fail);
    }

    async fn total(&mut self, child: usize) -> u64 {
        self[child].send(Total).await.expect("a child that answers")
    }
}
