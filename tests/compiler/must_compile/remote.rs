use std::net::TcpStream;

use supervise::remote::{Node, Transport};
use supervise::{ActorSystem, Reply, ReplyTo, actor};

#[derive(serde::Serialize, serde::Deserialize)]
struct Match {
    goals: (u8, u8),
}

#[derive(Debug, thiserror::Error)]
#[error("no such match")]
struct NotFound;

#[actor]
struct Listener;

#[actor(remote)]
impl Listener {
    #[handler]
    fn hear(&mut self, text: String) {
        let _ = text;
    }
}

#[actor(mailbox = bounded(100))]
struct Feed {
    listeners: Vec<ListenerRef>,
    waiting: Vec<ReplyTo<u8>>,
}

#[actor(remote = "shop.Feed", message(name = FeedCommand))]
impl Feed {
    #[handler]
    async fn fetch(&mut self, id: u64) -> Result<Match, NotFound> {
        if id == 0 { Err(NotFound) } else { Ok(Match { goals: (1, 0) }) }
    }

    #[handler]
    fn subscribe(&mut self, r#type: Option<u8>, who: ListenerRef) -> Option<ListenerRef> {
        let _ = r#type;
        self.listeners.push(who.clone());
        Some(who)
    }

    /// The names of generated code.
    #[handler]
    fn named(&mut self, name: u8, message: u8, reply: u8, out: u8, arguments: u8, handler: u8) -> u8 {
        name + message + reply + out + arguments + handler
    }

    #[handler]
    fn later(&mut self, reply: ReplyTo<u8>) {
        self.waiting.push(reply);
    }

    #[handler]
    fn odd(&self) -> Reply<Result<u8, String>> {
        Reply(Ok(1))
    }

    #[handler(batch = 10)]
    fn many(&mut self, numbers: Vec<u32>) -> Vec<u64> {
        numbers.into_iter().map(u64::from).collect()
    }

    #[handler(local)]
    fn attach(&mut self, socket: TcpStream) -> Box<dyn FnOnce() + Send> {
        drop(socket);
        Box::new(|| {})
    }

    #[cfg(any())]
    #[handler]
    fn nowhere(&mut self, nothing: Nothing) {}
}

async fn join(system: &ActorSystem, engine: impl Transport) -> Result<FeedRef, Box<dyn std::error::Error>> {
    let node = Node::builder(system).serve::<Feed>().mesh("shop").join(engine).await?;
    let feed = node.find::<Feed>("supervise://shop@10.0.0.7:7000/user/feed").await?;
    let _all: Vec<FeedRef> = node.listing::<Feed>("feeds").now();
    Ok(feed)
}

pub(super) fn main() {
    let _ = |system: ActorSystem| async move { join(&system, Engine).await };
}

struct Engine;

impl Transport for Engine {
    fn address(&self) -> String {
        "10.0.0.7:7000".to_owned()
    }

    fn open(
        &self,
        _: &supervise::remote::NodeId,
        _: u64,
        _: supervise::remote::Inbox,
    ) -> supervise::remote::BoxFuture<'_, Result<(), supervise::remote::TransportError>> {
        Box::pin(async { Ok(()) })
    }

    fn send(&self, _: &supervise::remote::NodeId, packet: Vec<u8>) -> Result<(), Vec<u8>> {
        Err(packet)
    }

    fn close(&self) -> supervise::remote::BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}
