//! `supervise` over Zenoh.
//!
//! `side-supervise alone N` tells N numbers in one process without Zenoh, and `side-supervise codec N` writes and reads N numbers. Their
//! instructions are counted.

mod alone;

use std::hint::black_box;
use std::time::Duration;

use supervise::AskError;
use supervise::prelude::*;
use supervise::remote::Node;
use supervise::zenoh::Zenoh;
use supervise_remote_benchmark::{Client, Outcome, Role, Told, is_current_thread, patience, role, run};
use tokio::io::AsyncReadExt as _;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

/// The server's actor.
#[derive(Default)]
#[actor]
pub(crate) struct Counter {
    told: Told,
}

#[actor(remote)]
impl Counter {
    #[handler]
    fn successor(&mut self, number: u64) -> u64 {
        number + 1
    }

    #[handler]
    fn add(&mut self, number: u64) {
        self.told.add(number);
    }

    #[handler]
    fn told(&mut self) -> (u64, u64) {
        self.told.get()
    }
}

#[actor]
struct Watcher {
    counter: CounterRef,
    gone: Option<oneshot::Sender<()>>,
}

#[actor]
impl Watcher {
    #[handler]
    fn begin(&mut self, ctx: &mut Context<Self>) {
        ctx.watch(&self.counter);
    }

    #[watch]
    fn gone(&mut self, _gone: Terminated<Counter>) {
        if let Some(gone) = self.gone.take() {
            // An error means that nobody waits.
            let _nobody = gone.send(());
        }
    }
}

/// Valgrind makes everything slow.
const FIND: Duration = Duration::from_secs(60);

async fn node(system: &ActorSystem, seed: Option<&str>) -> Outcome<Node> {
    let engine = Zenoh::listen("127.0.0.1:0").seeds(seed);
    Ok(Node::builder(system).serve::<Counter>().patience(patience()).find_timeout(FIND).join(engine).await?)
}

async fn server() -> Outcome<()> {
    let system = ActorSystem::new("there");
    let node = node(&system, None).await?;
    system.spawn("counter", Counter::default)?;
    println!("ready {}", node.id().address());
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    system.terminate().await;
    Ok(())
}

/// A client of it.
pub(crate) struct Remote {
    pub(crate) system: ActorSystem,
    pub(crate) counter: CounterRef,
}

impl Client for Remote {
    async fn ask(&self, number: u64) -> Outcome<u64> {
        Ok(self.counter.successor(number).await?)
    }

    async fn tell(&self, number: u64) -> Outcome<()> {
        Ok(self.counter.add(number).send().await?)
    }

    async fn told(&self) -> Outcome<(u64, u64)> {
        loop {
            match self.counter.told().await {
                // An ask does not wait for room in the queue of the ref.
                Err(AskError::MailboxFull) => tokio::task::yield_now().await,
                answer => return Ok(answer?),
            }
        }
    }

    async fn watch(&self) -> Outcome<impl Future<Output = ()> + Send> {
        let (gone, told) = oneshot::channel();
        let (counter, mut gone) = (self.counter.clone(), Some(gone));
        let watcher =
            self.system.spawn("watcher", move || Watcher { counter: counter.clone(), gone: gone.take() })?;
        watcher.begin().await?;
        // The answer comes after the watch.
        self.told().await?;
        Ok(async move { drop(told.await) })
    }
}

async fn client(server: &str) -> Outcome<()> {
    let system = ActorSystem::new("here");
    let node = node(&system, Some(server)).await?;
    let counter = node.find::<Counter>(format!("supervise://there@{server}/user/counter")).await?;
    run(Remote { system, counter }).await
}

/// Writes and reads so many numbers as `supervise` does.
fn codec(count: u64) -> Outcome<()> {
    let mut told = Told::default();
    for number in 0..count {
        let written = rmp_serde::to_vec_named(&black_box(number))?;
        told.add(rmp_serde::from_slice(black_box(&written))?);
    }
    black_box(told);
    Ok(())
}

fn main() -> Outcome<()> {
    let role = role()?;
    if let Role::Own(own, count) = &role
        && own == "codec"
    {
        return codec(*count);
    }
    let mut runtime = if is_current_thread() || matches!(role, Role::Own(..)) {
        Builder::new_current_thread()
    } else {
        Builder::new_multi_thread()
    };
    // The workload is a task, like the actors.
    let work = async move {
        match role {
            Role::Server => server().await,
            Role::Client(address) => client(&address).await,
            Role::Own(_, count) => alone::alone(count).await,
        }
    };
    runtime.enable_all().build()?.block_on(async { tokio::spawn(work).await? })
}
