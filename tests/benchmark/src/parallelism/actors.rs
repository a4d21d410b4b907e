//! The actor that every scene is made of, in `supervise` and as a hand-written loop.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use supervise::prelude::*;
use tokio::sync::{mpsc, oneshot};

use super::Stall;

pub type Job = Box<dyn FnOnce() + Send>;
pub type LongJob = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How a scene makes and reaches its actors.
pub trait Actors: Sized + Send + 'static {
    const NAME: &'static str;

    /// How an actor is reached.
    type Worker: Clone + Send + Sync + 'static;

    /// Called on the runtime of the scene.
    fn start() -> Self;

    fn worker(&self) -> Self::Worker;

    /// Tells an actor to run a job in a handler that is not `async`.
    fn run(worker: &Self::Worker, job: Job);

    /// Tells an actor to run a job in an `async` handler.
    fn run_long(worker: &Self::Worker, job: LongJob);

    /// Tells an actor to wait with its thread for `time`, to count that, and to tell itself the same again, for ever.
    fn run_forever(worker: &Self::Worker, time: Duration, count: Arc<AtomicU64>);

    /// Asks an actor, in a handler that is not `async`, how many such asks there were.
    fn ask(worker: &Self::Worker) -> impl Future<Output = u64> + Send;
}

#[derive(Debug)]
pub struct Supervised {
    system: ActorSystem,
}

#[actor]
pub struct Worker {
    asks: u64,
}

#[actor]
impl Worker {
    #[handler]
    fn run(&mut self, job: Job) {
        job();
    }

    #[handler]
    async fn run_long(&mut self, job: LongJob) {
        job.await;
    }

    #[handler]
    fn run_forever(&mut self, time: Duration, count: Arc<AtomicU64>, ctx: &mut Context<Self>) {
        Stall::Block.spend(time);
        count.fetch_add(1, Ordering::Relaxed);
        ctx.me().run_forever(time, count).tell().expect("a worker that runs");
    }

    #[handler]
    fn ask(&mut self) -> u64 {
        self.asks += 1;
        self.asks
    }
}

impl Actors for Supervised {
    const NAME: &'static str = "supervise";

    type Worker = WorkerRef;

    fn start() -> Self {
        Self { system: ActorSystem::new("parallelism") }
    }

    fn worker(&self) -> WorkerRef {
        self.system.spawn_anonymous(|| Worker { asks: 0 }).expect("a system that runs")
    }

    fn run(worker: &WorkerRef, job: Job) {
        worker.run(job).tell().expect("a worker that runs");
    }

    fn run_long(worker: &WorkerRef, job: LongJob) {
        worker.run_long(job).tell().expect("a worker that runs");
    }

    fn run_forever(worker: &WorkerRef, time: Duration, count: Arc<AtomicU64>) {
        worker.run_forever(time, count).tell().expect("a worker that runs");
    }

    async fn ask(worker: &WorkerRef) -> u64 {
        worker.ask().await.expect("a worker that answers")
    }
}

/// One task of tokio's for each actor.
#[derive(Debug)]
pub struct Raw;

pub enum Message {
    Run(Job),
    RunLong(LongJob),
    RunForever(Duration, Arc<AtomicU64>),
    Ask(oneshot::Sender<u64>),
}

impl Actors for Raw {
    const NAME: &'static str = "raw";

    type Worker = mpsc::UnboundedSender<Message>;

    fn start() -> Self {
        Self
    }

    fn worker(&self) -> Self::Worker {
        let (sender, mut inbox) = mpsc::unbounded_channel();
        let me = sender.clone();
        tokio::spawn(async move {
            let mut asks = 0;
            while let Some(message) = inbox.recv().await {
                match message {
                    Message::Run(job) => job(),
                    Message::RunLong(job) => job.await,
                    Message::RunForever(time, count) => {
                        Stall::Block.spend(time);
                        count.fetch_add(1, Ordering::Relaxed);
                        Self::run_forever(&me, time, count);
                    }
                    Message::Ask(reply) => {
                        asks += 1;
                        // An asker may have given up.
                        let _answered = reply.send(asks);
                    }
                }
            }
        });
        sender
    }

    fn run(worker: &Self::Worker, job: Job) {
        send(worker, Message::Run(job));
    }

    fn run_long(worker: &Self::Worker, job: LongJob) {
        send(worker, Message::RunLong(job));
    }

    fn run_forever(worker: &Self::Worker, time: Duration, count: Arc<AtomicU64>) {
        send(worker, Message::RunForever(time, count));
    }

    async fn ask(worker: &Self::Worker) -> u64 {
        let (reply, answer) = oneshot::channel();
        send(worker, Message::Ask(reply));
        answer.await.expect("a worker that answers")
    }
}

fn send(worker: &mpsc::UnboundedSender<Message>, message: Message) {
    assert!(worker.send(message).is_ok(), "the worker runs");
}
