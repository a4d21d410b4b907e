//! kameo's remote actors over libp2p: TCP with Noise, which cannot be switched off, and a name in its distributed hash table. A tell waits
//! for the acknowledgement of the server's node (`send_ack`): without it, messages have no order, and those beyond the limit of concurrent
//! streams are lost.

use std::ops::ControlFlow;
use std::time::Duration;

use kameo::actor::{ActorId, RemoteActorRef, Spawn, WeakActorRef};
use kameo::error::{ActorStopReason, Infallible};
use kameo::message::{Context, Message};
use kameo::remote::{Behaviour, messaging};
use kameo::{Actor, RemoteActor, remote_message};
use libp2p::futures::StreamExt as _;
use libp2p::swarm::SwarmEvent;
use libp2p::{Multiaddr, SwarmBuilder, noise, tcp, yamux};
use serde::{Deserialize, Serialize};
use supervise_remote_benchmark::{Client, Outcome, Role, Told, free_address, role, run};
use tokio::io::AsyncReadExt as _;
use tokio::sync::oneshot;

const NAME: &str = "counter";

#[derive(Default, Actor, RemoteActor)]
struct Counter {
    told: Told,
}

#[derive(Serialize, Deserialize)]
struct Successor(u64);

#[derive(Serialize, Deserialize)]
struct Add(u64);

#[derive(Serialize, Deserialize)]
struct GetTold;

#[remote_message]
impl Message<Successor> for Counter {
    type Reply = u64;

    async fn handle(&mut self, message: Successor, _: &mut Context<Self, u64>) -> u64 {
        message.0 + 1
    }
}

#[remote_message]
impl Message<Add> for Counter {
    type Reply = ();

    async fn handle(&mut self, message: Add, _: &mut Context<Self, ()>) {
        self.told.add(message.0);
    }
}

#[remote_message]
impl Message<GetTold> for Counter {
    type Reply = (u64, u64);

    async fn handle(&mut self, _: GetTold, _: &mut Context<Self, (u64, u64)>) -> (u64, u64) {
        self.told.get()
    }
}

/// Joins the server's node, or listens at an address.
fn join(listen: &str, server: Option<&str>) -> Outcome<()> {
    let multiaddress = |address: &str| -> Outcome<Multiaddr> {
        let (ip, port) = address.split_once(':').ok_or("an address has a port")?;
        Ok(format!("/ip4/{ip}/tcp/{port}").parse()?)
    };
    let mut swarm = SwarmBuilder::with_new_identity()
        .with_tokio()
        .with_tcp(tcp::Config::default(), noise::Config::new, yamux::Config::default)?
        .with_behaviour(|key| Behaviour::new(key.public().to_peer_id(), messaging::Config::default()))?
        .with_swarm_config(|config| config.with_idle_connection_timeout(Duration::from_secs(60)))
        .build();
    swarm.behaviour().try_init_global()?;
    swarm.listen_on(multiaddress(listen)?)?;
    if let Some(server) = server {
        swarm.dial(multiaddress(server)?)?;
    }
    tokio::spawn(async move {
        loop {
            if let SwarmEvent::ConnectionEstablished { peer_id, endpoint, .. } = swarm.select_next_some().await {
                // Without mDNS, the hash table learns the address here.
                swarm.add_peer_address(peer_id, endpoint.get_remote_address().clone());
            }
        }
    });
    Ok(())
}

async fn server() -> Outcome<()> {
    let address = free_address()?;
    join(&address, None)?;
    let counter = Counter::spawn(Counter::default());
    counter.register(NAME).await?;
    println!("ready {address}");
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    Ok(())
}

#[derive(RemoteActor)]
struct Watcher {
    gone: Option<oneshot::Sender<()>>,
}

impl Actor for Watcher {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(watcher: Self, _: kameo::actor::ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(watcher)
    }

    async fn on_link_died(
        &mut self,
        _: WeakActorRef<Self>,
        _: ActorId,
        _: ActorStopReason,
    ) -> Result<ControlFlow<ActorStopReason>, Infallible> {
        if let Some(gone) = self.gone.take() {
            // An error means that nobody waits.
            let _nobody = gone.send(());
        }
        Ok(ControlFlow::Continue(()))
    }
}

struct Remote(RemoteActorRef<Counter>);

impl Client for Remote {
    async fn ask(&self, number: u64) -> Outcome<u64> {
        Ok(self.0.ask(&Successor(number)).await?)
    }

    async fn tell(&self, number: u64) -> Outcome<()> {
        Ok(self.0.tell(&Add(number)).send_ack().await?)
    }

    async fn told(&self) -> Outcome<(u64, u64)> {
        Ok(self.0.ask(&GetTold).await?)
    }

    async fn watch(&self) -> Outcome<impl Future<Output = ()> + Send> {
        let (gone, told) = oneshot::channel();
        let watcher = Watcher::spawn(Watcher { gone: Some(gone) });
        watcher.link_remote(&self.0).await?;
        Ok(async move {
            let _ended = told.await;
            drop(watcher);
        })
    }
}

async fn client(server: &str) -> Outcome<()> {
    join(&free_address()?, Some(server))?;
    let counter = loop {
        if let Some(counter) = RemoteActorRef::<Counter>::lookup(NAME).await? {
            break counter;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    run(Remote(counter)).await
}

#[tokio::main]
async fn main() -> Outcome<()> {
    match role()? {
        Role::Server => server().await,
        Role::Client(address) => client(&address).await,
        Role::Own(..) => Err("nothing of its own".into()),
    }
}
