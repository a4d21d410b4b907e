//! `ractor_cluster`: the server's actor is in a process group, of which the client's node learns when they connect. Its queues are
//! unbounded, so a tell never waits.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Mutex;
use std::time::Duration;

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent, call, pg};
use ractor_cluster::{NodeServer, NodeServerMessage, RactorClusterMessage, RactorMessage, client_connect};
use supervise_remote_benchmark::{Client, Outcome, Role, Told, free_address, role, run};
use tokio::io::AsyncReadExt as _;
use tokio::sync::oneshot;

const GROUP: &str = "counters";

#[derive(RactorClusterMessage)]
enum Message {
    #[rpc]
    Successor(u64, RpcReplyPort<u64>),
    Add(u64),
    #[rpc]
    Told(RpcReplyPort<Vec<u64>>),
}

struct Counter;

impl Actor for Counter {
    type Msg = Message;
    type State = Told;
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Message>, (): ()) -> Result<Told, ActorProcessingErr> {
        Ok(Told::default())
    }

    async fn handle(
        &self,
        _: ActorRef<Message>,
        message: Message,
        told: &mut Told,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Successor(number, reply) => reply.send(number + 1)?,
            Message::Add(number) => told.add(number),
            Message::Told(reply) => reply.send(vec![told.get().0, told.get().1])?,
        }
        Ok(())
    }
}

async fn node(name: &str, port: u16) -> Outcome<ActorRef<NodeServerMessage>> {
    let server = NodeServer::new(port, "cookie".to_owned(), name.to_owned(), "localhost".to_owned(), None, None);
    let server = server.with_listen_addr(IpAddr::V4(Ipv4Addr::LOCALHOST));
    Ok(Actor::spawn(None, server, ()).await?.0)
}

async fn server() -> Outcome<()> {
    let address = free_address()?;
    let port = address.rsplit(':').next().unwrap_or_default().parse()?;
    let _node = node("server", port).await?;
    let (counter, _) = Actor::spawn(None, Counter, ()).await?;
    pg::join(GROUP.to_owned(), vec![counter.get_cell()]);
    println!("ready {address}");
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    Ok(())
}

#[derive(RactorMessage)]
struct Nothing;

/// Hears when the counter leaves its group.
struct Watcher;

impl Actor for Watcher {
    type Msg = Nothing;
    type State = Option<oneshot::Sender<()>>;
    type Arguments = oneshot::Sender<()>;

    async fn pre_start(
        &self,
        myself: ActorRef<Nothing>,
        gone: oneshot::Sender<()>,
    ) -> Result<Self::State, ActorProcessingErr> {
        pg::monitor(GROUP.to_owned(), myself.get_cell());
        Ok(Some(gone))
    }

    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<Nothing>,
        event: SupervisionEvent,
        gone: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        if let SupervisionEvent::ProcessGroupChanged(pg::GroupChangeMessage::Leave(..)) = event
            && let Some(gone) = gone.take()
        {
            // An error means that nobody waits.
            let _nobody = gone.send(());
        }
        Ok(())
    }
}

struct Remote {
    counter: ActorRef<Message>,
    watcher: Mutex<Option<ActorCell>>,
}

impl Client for Remote {
    async fn ask(&self, number: u64) -> Outcome<u64> {
        Ok(call!(self.counter, Message::Successor, number)?)
    }

    async fn tell(&self, number: u64) -> Outcome<()> {
        Ok(self.counter.cast(Message::Add(number))?)
    }

    async fn told(&self) -> Outcome<(u64, u64)> {
        match call!(self.counter, Message::Told)?[..] {
            [count, sum] => Ok((count, sum)),
            _ => Err("no count and sum".into()),
        }
    }

    async fn watch(&self) -> Outcome<impl Future<Output = ()> + Send> {
        let (gone, told) = oneshot::channel();
        let (watcher, _) = Actor::spawn(None, Watcher, gone).await?;
        *self.watcher.lock().map_err(|_| "poisoned")? = Some(watcher.get_cell());
        Ok(async move { drop(told.await) })
    }
}

async fn client(server: &str) -> Outcome<()> {
    let node = node("client", 0).await?;
    client_connect(&node, server).await?;
    let counter = loop {
        if let Some(counter) = pg::get_members(&GROUP.to_owned()).into_iter().next() {
            break counter.into();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    run(Remote { counter, watcher: Mutex::default() }).await
}

#[tokio::main]
async fn main() -> Outcome<()> {
    match role()? {
        Role::Server => server().await,
        Role::Client(address) => client(&address).await,
        Role::Own(..) => Err("nothing of its own".into()),
    }
}
