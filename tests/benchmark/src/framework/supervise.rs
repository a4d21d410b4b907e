//! `supervise` itself. Every actor has a name, a path, a parent with a table.

use std::sync::Arc;

use supervise::prelude::*;
use supervise::{MailboxKind, Overflow, Props};
use tokio::sync::mpsc;

use super::{Cause, Flavour, Framework, Group, Node, Parcel, Probe};

#[derive(Debug)]
pub struct Supervise {
    pub system: ActorSystem,
}

#[derive(Debug, thiserror::Error)]
#[error("as told")]
pub struct AsTold;

/// Adds up what it is told.
#[actor]
pub struct Counter {
    total: u64,
    starts: Arc<Probe>,
}

impl Counter {
    fn new(starts: &Arc<Probe>) -> Self {
        Self { total: 0, starts: Arc::clone(starts) }
    }
}

#[actor]
impl Counter {
    #[pre_start]
    fn count_start(&mut self) {
        self.starts.hit();
    }

    #[handler]
    fn add(&mut self, amount: u64) {
        self.total += amount;
    }

    #[handler]
    fn total(&self) -> u64 {
        self.total
    }

    #[handler(inline)]
    fn total_inline(&self) -> u64 {
        self.total
    }

    #[handler]
    fn fail(&mut self, cause: Cause) -> Result<(), AsTold> {
        match cause {
            Cause::Error => Err(AsTold),
            Cause::Panic => panic!("as told"),
        }
    }
}

/// Adds up what is in parcels.
#[actor]
pub struct Store {
    total: u64,
}

#[actor]
impl Store {
    #[handler]
    fn put(&mut self, parcel: Parcel) {
        self.total += parcel.iter().sum::<u64>();
    }

    #[handler]
    fn put_and_total(&mut self, parcel: Parcel) -> u64 {
        self.total += parcel.iter().sum::<u64>();
        self.total
    }
}

/// Asks its children.
#[actor]
pub struct Editor {
    children: Vec<CounterRef>,
}

#[actor]
impl Editor {
    #[handler]
    fn hire(&mut self, children: usize, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let starts = Probe::new(children);
        for _ in 0..children {
            let starts = Arc::clone(&starts);
            let child = ctx.spawn_anonymous(move || Counter::new(&starts))?;
            child.add(1).tell().expect("a child that runs");
            self.children.push(child);
        }
        Ok(())
    }

    #[handler]
    async fn gather(&mut self) -> u64 {
        let mut answers = Vec::with_capacity(self.children.len());
        for child in &self.children {
            answers.push(child.total().ask().expect("a child that runs"));
        }
        let mut total = 0;
        for answer in answers {
            total += answer.await.expect("a child that answers");
        }
        total
    }
}

/// Passes on what it gets.
#[actor]
pub struct Runner {
    next: Option<RunnerRef>,
    done: mpsc::UnboundedSender<()>,
}

#[actor]
impl Runner {
    #[handler]
    fn follow(&mut self, next: RunnerRef) {
        self.next = Some(next);
    }

    #[handler]
    fn run(&mut self, hops: u64) {
        // If either call fails, the ring is ending.
        match &self.next {
            Some(next) if hops > 0 => drop(next.run(hops - 1).tell()),
            _ => drop(self.done.send(())),
        }
    }
}

#[actor]
pub struct TreeNode {
    node: Node,
}

#[actor]
impl TreeNode {
    #[pre_start]
    fn populate(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        for _ in 0..self.node.children() {
            let node = self.node.child();
            ctx.spawn_anonymous(move || Self { node: node.clone() })?;
        }
        self.node.started();
        Ok(())
    }

    #[post_stop]
    fn count_end(&mut self) {
        self.node.ended();
    }
}

#[actor]
#[supervise(one_for_one, on(AsTold) = Restart, on(Panic) = Restart)]
pub struct OneForOne;

#[actor]
impl OneForOne {
    #[handler]
    fn hire(
        &mut self,
        children: usize,
        starts: Arc<Probe>,
        ctx: &mut Context<Self>,
    ) -> Result<Vec<CounterRef>, SpawnError> {
        (0..children)
            .map(|_| {
                let starts = Arc::clone(&starts);
                ctx.spawn_anonymous(move || Counter::new(&starts))
            })
            .collect()
    }
}

#[actor]
#[supervise(all_for_one, on(AsTold) = Restart, on(Panic) = Restart)]
pub struct AllForOne;

#[actor]
impl AllForOne {
    #[handler]
    fn hire(
        &mut self,
        children: usize,
        starts: Arc<Probe>,
        ctx: &mut Context<Self>,
    ) -> Result<Vec<CounterRef>, SpawnError> {
        (0..children)
            .map(|_| {
                let starts = Arc::clone(&starts);
                ctx.spawn_anonymous(move || Counter::new(&starts))
            })
            .collect()
    }
}

impl Framework for Supervise {
    const NAME: &'static str = "supervise";

    fn start(_: Flavour) -> Self {
        Self { system: ActorSystem::new("benchmark") }
    }

    type Counter = CounterRef;

    async fn counter(&self) -> CounterRef {
        let starts = Probe::new(1);
        self.system.spawn("counter", move || Counter::new(&starts)).expect("a free name")
    }

    async fn bounded_counter(&self, capacity: usize) -> CounterRef {
        let starts = Probe::new(1);
        let mailbox = MailboxKind::Bounded { capacity, overflow: Overflow::Fail };
        let props = Props::new(move || Counter::new(&starts)).mailbox(mailbox);
        self.system.spawn_with("counter", props).expect("a free name")
    }

    async fn add(counter: &CounterRef, amount: u64) {
        counter.add(amount).tell().expect("a counter that runs");
    }

    async fn add_when_room(counter: &CounterRef, amount: u64) {
        counter.add(amount).send().await.expect("a counter that runs");
    }

    async fn total(counter: &CounterRef) -> u64 {
        counter.total().await.expect("a counter that answers")
    }

    async fn total_inline(counter: &CounterRef) -> u64 {
        counter.total_inline().await.expect("a counter that answers")
    }

    type Store = StoreRef;

    async fn stores(&self, count: usize) -> Vec<StoreRef> {
        let spawn = |_| self.system.spawn_anonymous(|| Store { total: 0 }).expect("a system that runs");
        (0..count).map(spawn).collect()
    }

    async fn put(store: &StoreRef, parcel: Parcel) {
        store.put(parcel).tell().expect("a store that runs");
    }

    async fn put_and_total(store: &StoreRef, parcel: Parcel) -> u64 {
        store.put_and_total(parcel).await.expect("a store that answers")
    }

    type Editor = EditorRef;

    async fn editor(&self, children: usize) -> EditorRef {
        let editor = self.system.spawn("editor", || Editor { children: Vec::new() }).expect("a free name");
        editor.hire(children).await.expect("a system that runs");
        editor
    }

    async fn gather(editor: &EditorRef) -> u64 {
        editor.gather().await.expect("an editor that answers")
    }

    type Runner = RunnerRef;

    async fn ring(&self, runners: usize, done: mpsc::UnboundedSender<()>) -> RunnerRef {
        let spawn = |next: Option<RunnerRef>| {
            let done = done.clone();
            let factory = move || Runner { next: next.clone(), done: done.clone() };
            self.system.spawn_anonymous(factory).expect("a system that runs")
        };
        let first = spawn(None);
        let mut next = first.clone();
        for _ in 1..runners {
            next = spawn(Some(next));
        }
        first.follow(next).await.expect("a runner that runs");
        first
    }

    async fn run(runner: &RunnerRef, hops: u64) {
        runner.run(hops).tell().expect("a runner that runs");
    }

    type Tree = TreeNodeRef;

    async fn tree(&self, root: Node) -> TreeNodeRef {
        self.system.spawn_anonymous(move || TreeNode { node: root.clone() }).expect("a system that runs")
    }

    async fn stop(tree: &mut TreeNodeRef) {
        tree.actor_ref().stop();
    }

    type Family = Vec<CounterRef>;

    async fn family(&self, children: usize, group: Group, starts: &Arc<Probe>) -> Vec<CounterRef> {
        let starts = Arc::clone(starts);
        let hired = match group {
            Group::OneForOne => {
                let parent = self.system.spawn("parent", || OneForOne).expect("a free name");
                parent.hire(children, starts).await
            }
            Group::AllForOne => {
                let parent = self.system.spawn("parent", || AllForOne).expect("a free name");
                parent.hire(children, starts).await
            }
        };
        hired.expect("a system that runs")
    }
}

impl super::Family for Vec<CounterRef> {
    async fn fail(&mut self, child: usize, cause: Cause) {
        self[child].fail(cause).tell().expect("a child that runs");
    }

    async fn total(&mut self, child: usize) -> u64 {
        self[child].total().await.expect("a child that answers")
    }
}
