//! ractor: `cast`, `call`, `spawn_linked`. It does not restart actors, so a parent's `handle_supervisor_evt` spawns the
//! successor and tells its ref to everybody who needs it. A stop does not end the children, so `post_stop` stops them and
//! waits.
//!
//! Its mailboxes are unbounded. The workload that asks many at once makes the reply ports itself, because `multi_call` spawns a
//! task for each answer.

use std::collections::HashMap;
use std::sync::Arc;

use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};
use tokio::sync::{mpsc, oneshot};

use super::{Cause, Flavour, Framework, Group, Node, Parcel, Probe};
use crate::workload::Workload;

#[derive(Debug)]
pub struct Ractor;

#[derive(Debug, thiserror::Error)]
#[error("as told")]
struct AsTold;

pub struct Counter;

pub enum CounterMessage {
    Add(u64),
    Total(RpcReplyPort<u64>),
    Fail(Cause),
}

impl Actor for Counter {
    type Msg = CounterMessage;
    type State = u64;
    type Arguments = Arc<Probe>;

    async fn pre_start(&self, _: ActorRef<CounterMessage>, starts: Arc<Probe>) -> Result<u64, ActorProcessingErr> {
        starts.hit();
        Ok(0)
    }

    async fn handle(
        &self,
        _: ActorRef<CounterMessage>,
        message: CounterMessage,
        total: &mut u64,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            CounterMessage::Add(amount) => *total += amount,
            CounterMessage::Total(reply) => reply.send(*total)?,
            CounterMessage::Fail(Cause::Error) => return Err(AsTold.into()),
            CounterMessage::Fail(Cause::Panic) => panic!("as told"),
        }
        Ok(())
    }
}

pub struct Store;

pub enum StoreMessage {
    Put(Parcel),
    PutAndTotal(Parcel, RpcReplyPort<u64>),
}

impl Actor for Store {
    type Msg = StoreMessage;
    type State = u64;
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<StoreMessage>, (): ()) -> Result<u64, ActorProcessingErr> {
        Ok(0)
    }

    async fn handle(
        &self,
        _: ActorRef<StoreMessage>,
        message: StoreMessage,
        total: &mut u64,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            StoreMessage::Put(parcel) => *total += parcel.iter().sum::<u64>(),
            StoreMessage::PutAndTotal(parcel, reply) => {
                *total += parcel.iter().sum::<u64>();
                reply.send(*total)?;
            }
        }
        Ok(())
    }
}

pub struct Editor;

impl Actor for Editor {
    type Msg = RpcReplyPort<u64>;
    type State = Vec<ActorRef<CounterMessage>>;
    type Arguments = usize;

    async fn pre_start(
        &self,
        me: ActorRef<RpcReplyPort<u64>>,
        children: usize,
    ) -> Result<Self::State, ActorProcessingErr> {
        let mut hired = Vec::with_capacity(children);
        for _ in 0..children {
            let starts = Probe::new(1);
            let (child, _) = Counter::spawn_linked(None, Counter, starts, me.get_cell()).await?;
            child.cast(CounterMessage::Add(1))?;
            hired.push(child);
        }
        Ok(hired)
    }

    async fn handle(
        &self,
        _: ActorRef<RpcReplyPort<u64>>,
        gathered: RpcReplyPort<u64>,
        children: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let mut answers = Vec::with_capacity(children.len());
        for child in children.iter() {
            let (reply, answer) = oneshot::channel();
            child.cast(CounterMessage::Total(reply.into()))?;
            answers.push(answer);
        }
        let mut total = 0;
        for answer in answers {
            total += answer.await?;
        }
        gathered.send(total)?;
        Ok(())
    }
}

pub struct Runner {
    done: mpsc::UnboundedSender<()>,
}

pub enum RunnerMessage {
    Follow(ActorRef<RunnerMessage>),
    Run(u64),
}

impl Actor for Runner {
    type Msg = RunnerMessage;
    type State = Option<ActorRef<RunnerMessage>>;
    type Arguments = Option<ActorRef<RunnerMessage>>;

    async fn pre_start(
        &self,
        _: ActorRef<RunnerMessage>,
        next: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(next)
    }

    async fn handle(
        &self,
        _: ActorRef<RunnerMessage>,
        message: RunnerMessage,
        next: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match (message, &next) {
            (RunnerMessage::Follow(first), _) => *next = Some(first),
            (RunnerMessage::Run(hops), Some(next)) if hops > 0 => next.cast(RunnerMessage::Run(hops - 1))?,
            (RunnerMessage::Run(_), _) => self.done.send(())?,
        }
        Ok(())
    }
}

pub struct TreeNode;

impl Actor for TreeNode {
    type Msg = ();
    type State = Node;
    type Arguments = Node;

    async fn pre_start(&self, me: ActorRef<()>, node: Node) -> Result<Node, ActorProcessingErr> {
        for _ in 0..node.children() {
            // Boxed because it leads here again.
            let child: BoxedSpawn = Box::pin(Self::spawn_linked(None, Self, node.child(), me.get_cell()));
            child.await?;
        }
        node.started();
        Ok(node)
    }

    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<()>,
        _: SupervisionEvent,
        _: &mut Node,
    ) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn post_stop(&self, me: ActorRef<()>, node: &mut Node) -> Result<(), ActorProcessingErr> {
        if node.children() > 0 {
            me.stop_children_and_wait(None, None).await;
        }
        node.ended();
        Ok(())
    }
}

type Spawned = Result<(ActorRef<()>, tokio::task::JoinHandle<()>), ractor::SpawnErr>;
type BoxedSpawn = std::pin::Pin<Box<dyn Future<Output = Spawned> + Send>>;

pub struct Parent {
    group: Group,
    starts: Arc<Probe>,
    /// Tells the refs of new children.
    tell: mpsc::UnboundedSender<(usize, ActorRef<CounterMessage>)>,
}

pub struct ParentState {
    children: usize,
    indices: HashMap<ActorId, usize>,
}

impl Parent {
    async fn hire(
        &self,
        me: &ActorRef<()>,
        index: usize,
        indices: &mut HashMap<ActorId, usize>,
    ) -> Result<(), ActorProcessingErr> {
        let starts = Arc::clone(&self.starts);
        let (child, _) = Counter::spawn_linked(None, Counter, starts, me.get_cell()).await?;
        indices.insert(child.get_id(), index);
        self.tell.send((index, child))?;
        Ok(())
    }
}

impl Actor for Parent {
    type Msg = ();
    type State = ParentState;
    type Arguments = usize;

    async fn pre_start(&self, me: ActorRef<()>, children: usize) -> Result<ParentState, ActorProcessingErr> {
        let mut indices = HashMap::with_capacity(children);
        for index in 0..children {
            self.hire(&me, index, &mut indices).await?;
        }
        Ok(ParentState { children, indices })
    }

    async fn handle_supervisor_evt(
        &self,
        me: ActorRef<()>,
        event: SupervisionEvent,
        state: &mut ParentState,
    ) -> Result<(), ActorProcessingErr> {
        let SupervisionEvent::ActorFailed(failed, _) = event else { return Ok(()) };
        let Some(index) = state.indices.remove(&failed.get_id()) else { return Ok(()) };
        match self.group {
            Group::OneForOne => self.hire(&me, index, &mut state.indices).await?,
            Group::AllForOne => {
                me.stop_children_and_wait(None, None).await;
                state.indices.clear();
                for index in 0..state.children {
                    self.hire(&me, index, &mut state.indices).await?;
                }
            }
        }
        Ok(())
    }
}

impl Framework for Ractor {
    const NAME: &'static str = "ractor";

    fn supports(workload: Workload, _: Flavour) -> bool {
        workload != Workload::TellBounded
    }

    fn start(_: Flavour) -> Self {
        Self
    }

    type Counter = ActorRef<CounterMessage>;

    async fn counter(&self) -> Self::Counter {
        Counter::spawn(None, Counter, Probe::new(1)).await.expect("an actor that starts").0
    }

    async fn bounded_counter(&self, _: usize) -> Self::Counter {
        unreachable!("not supported")
    }

    async fn add(counter: &Self::Counter, amount: u64) {
        counter.cast(CounterMessage::Add(amount)).expect("a counter that runs");
    }

    async fn add_when_room(_: &Self::Counter, _: u64) {
        unreachable!("not supported")
    }

    async fn total(counter: &Self::Counter) -> u64 {
        counter.call(CounterMessage::Total, None).await.expect("a counter that runs").expect("an answer")
    }

    type Store = ActorRef<StoreMessage>;

    async fn stores(&self, count: usize) -> Vec<Self::Store> {
        let mut stores = Vec::with_capacity(count);
        for _ in 0..count {
            stores.push(Store::spawn(None, Store, ()).await.expect("an actor that starts").0);
        }
        stores
    }

    async fn put(store: &Self::Store, parcel: Parcel) {
        store.cast(StoreMessage::Put(parcel)).expect("a store that runs");
    }

    async fn put_and_total(store: &Self::Store, parcel: Parcel) -> u64 {
        let ask = |reply| StoreMessage::PutAndTotal(parcel, reply);
        store.call(ask, None).await.expect("a store that runs").expect("an answer")
    }

    type Editor = ActorRef<RpcReplyPort<u64>>;

    async fn editor(&self, children: usize) -> Self::Editor {
        Editor::spawn(None, Editor, children).await.expect("an actor that starts").0
    }

    async fn gather(editor: &Self::Editor) -> u64 {
        editor.call(|reply| reply, None).await.expect("an editor that runs").expect("an answer")
    }

    type Runner = ActorRef<RunnerMessage>;

    async fn ring(&self, runners: usize, done: mpsc::UnboundedSender<()>) -> Self::Runner {
        let spawn = async |next| {
            let runner = Runner { done: done.clone() };
            Runner::spawn(None, runner, next).await.expect("an actor that starts").0
        };
        let first = spawn(None).await;
        let mut next = first.clone();
        for _ in 1..runners {
            next = spawn(Some(next)).await;
        }
        first.cast(RunnerMessage::Follow(next)).expect("a runner that runs");
        first
    }

    async fn run(runner: &Self::Runner, hops: u64) {
        runner.cast(RunnerMessage::Run(hops)).expect("a runner that runs");
    }

    type Tree = ActorRef<()>;

    async fn tree(&self, root: Node) -> ActorRef<()> {
        TreeNode::spawn(None, TreeNode, root).await.expect("an actor that starts").0
    }

    async fn stop(tree: &mut ActorRef<()>) {
        tree.stop(None);
    }

    type Family = Family;

    async fn family(&self, children: usize, group: Group, starts: &Arc<Probe>) -> Family {
        let (tell, told) = mpsc::unbounded_channel();
        let parent = Parent { group, starts: Arc::clone(starts), tell };
        Parent::spawn(None, parent, children).await.expect("an actor that starts");
        let mut family = Family { children: Vec::new(), told, outdated: children, group };
        family.update().await;
        family
    }
}

/// The refs of a family, kept up to date by its parent.
pub struct Family {
    children: Vec<ActorRef<CounterMessage>>,
    told: mpsc::UnboundedReceiver<(usize, ActorRef<CounterMessage>)>,
    /// How many new refs are on their way.
    outdated: usize,
    group: Group,
}

impl Family {
    async fn update(&mut self) {
        for _ in 0..std::mem::take(&mut self.outdated) {
            let (index, child) = self.told.recv().await.expect("a parent that runs");
            if index == self.children.len() {
                self.children.push(child);
            } else {
                self.children[index] = child;
            }
        }
    }
}

impl super::Family for Family {
    async fn fail(&mut self, child: usize, cause: Cause) {
        self.update().await;
        self.children[child].cast(CounterMessage::Fail(cause)).expect("a child that runs");
        self.outdated = match self.group {
            Group::OneForOne => 1,
            Group::AllForOne => self.children.len(),
        };
    }

    async fn total(&mut self, child: usize) -> u64 {
        self.update().await;
        Ractor::total(&self.children[child]).await
    }
}
