//! Three processes over TCP on loopback: a registry, a worker, and a client that starts the other two, kills the worker with SIGKILL and
//! starts it again. Ends within a few seconds, and prints what it proved.
//!
//! `cargo run --manifest-path tests/remote_zenoh/Cargo.toml --example workers`

use std::error::Error;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use supervise::prelude::*;
use supervise::remote::{FindError, Node};
use supervise::zenoh::Zenoh;
use supervise::{AskError, HowEnded, SendErrorReason};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};

type Outcome<T> = Result<T, Box<dyn Error>>;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Refused {
    NoWorker,
    TooBig,
}

#[actor]
struct Worker;

#[actor(remote)]
impl Worker {
    #[handler]
    fn square(&mut self, number: u64) -> Reply<Result<u64, Refused>> {
        Reply(number.checked_mul(number).ok_or(Refused::TooBig))
    }

    #[handler]
    async fn nap(&mut self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }
}

#[derive(Default)]
#[actor]
struct Registry {
    workers: Vec<WorkerRef>,
    lost: usize,
}

#[actor(remote)]
impl Registry {
    #[handler]
    fn enlist(&mut self, worker: WorkerRef, ctx: &mut Context<Self>) {
        ctx.watch(&worker);
        self.workers.push(worker);
    }

    #[handler]
    fn pick(&self) -> Reply<Result<WorkerRef, Refused>> {
        Reply(self.workers.first().cloned().ok_or(Refused::NoWorker))
    }

    #[handler]
    fn lost(&self) -> usize {
        self.lost
    }

    #[watch]
    fn gone(&mut self, gone: Terminated<Worker>) {
        self.lost += usize::from(gone.how() == HowEnded::Unreachable);
        self.workers.retain(|worker| !gone.is(worker.actor_ref()));
    }
}

async fn join(system: &ActorSystem, address: &str, seed: Option<&str>) -> Outcome<Node> {
    let engine = Zenoh::listen(address).seeds(seed);
    Ok(Node::builder(system).serve::<Registry>().serve::<Worker>().join(engine).await?)
}

/// A registry, or a worker if there is a seed. Ends when its input ends.
async fn part(address: &str, seed: Option<&str>) -> Outcome<()> {
    let system = ActorSystem::new(if seed.is_some() { "plant" } else { "center" });
    let node = join(&system, address, seed).await?;
    if let Some(seed) = seed {
        let worker = system.spawn("worker", || Worker)?;
        let registry = node.find::<Registry>(format!("supervise://center@{seed}/user/registry")).await?;
        registry.enlist(worker).await?;
    } else {
        system.spawn("registry", Registry::default)?;
    }
    println!("{}", node.id().address());
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    system.terminate().await;
    Ok(())
}

/// Starts a part of the program, and waits until it is ready.
async fn start(arguments: &[&str]) -> Outcome<(Child, String)> {
    let mut command = Command::new(std::env::current_exe()?);
    let command = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut process = command.spawn()?;
    let output = process.stdout.take().ok_or("it has an output")?;
    let address = BufReader::new(output).lines().next_line().await?.ok_or("it has ended")?;
    Ok((process, address))
}

async fn client() -> Outcome<()> {
    let (_center, seed) = start(&["127.0.0.1:0"]).await?;
    let (mut plant, address) = start(&["127.0.0.1:0", &seed]).await?;
    let system = ActorSystem::new("desk");
    // It knows the registry's address alone.
    let node = join(&system, "127.0.0.1:0", Some(&seed)).await?;
    let registry = node.find::<Registry>(format!("supervise://center@{seed}/user/registry")).await?;
    let worker = found(&registry).await?;
    assert_eq!(worker.square(12).await?, Ok(144));
    assert_eq!(worker.square(u64::MAX).await?, Err(Refused::TooBig));
    println!("asked a worker at {address} whose ref came in a message");

    let asked = tokio::spawn({
        let worker = worker.clone();
        async move { worker.nap(60).timeout(Duration::from_secs(60)).await }
    });
    // Messages that come through the same ref later were sent later.
    worker.square(0).tell()?;
    while node.asks_under_way() == 0 {
        tokio::task::yield_now().await;
    }
    let killed = Instant::now();
    plant.kill().await?;
    assert!(matches!(asked.await?, Err(AskError::ConnectionLost)));
    println!("kill -9: the ask that was under way failed after {:?}", killed.elapsed());
    assert_eq!(worker.square(1).tell().unwrap_err().reason(), SendErrorReason::Unreachable);
    assert!(matches!(worker.square(1).await, Err(AskError::Undeliverable)));
    while registry.lost().await? == 0 {}
    assert_eq!(registry.pick().await?.unwrap_err(), Refused::NoWorker);
    let path = format!("supervise://plant@{address}/user/worker");
    assert!(matches!(node.find::<Worker>(&path).await, Err(FindError::NoNode(_))));
    println!("the registry was told once, and no node is found there");

    let (_plant, address) = start(&[&address, &seed]).await?;
    let again = found(&registry).await?;
    assert_ne!(again, worker);
    assert_eq!(again.square(5).await?, Ok(25));
    assert_eq!(registry.lost().await?, 1);
    println!("started again at {address}: a new ref works, and the old one stays dead");
    system.terminate().await;
    Ok(())
}

/// A worker, as soon as one has enlisted and its node is known here.
async fn found(registry: &RegistryRef) -> Outcome<WorkerRef> {
    for _ in 0..200 {
        if let Ok(worker) = registry.pick().await?
            && !worker.actor_ref().has_ended()
        {
            return Ok(worker);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err("no worker has come".into())
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [] => client().await,
        [address] => part(address, None).await,
        [address, seed, ..] => part(address, Some(seed)).await,
    }
}
