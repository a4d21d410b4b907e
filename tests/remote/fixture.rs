//! Systems that have joined one network, and the actors of the tests.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use supervise::remote::memory::Network;
use supervise::remote::{Node, NodeBuilder};
use supervise::{ActorSystem, Context, DeadLetter, Event, Events, HowEnded, Interest, ReplyTo, Terminated, actor};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A system and its node.
pub(crate) struct Place {
    pub(crate) system: ActorSystem,
    pub(crate) node: Node,
    letters: Events,
}

impl Place {
    /// A system `name` at the address `name:1`, which serves the actors of the tests.
    pub(crate) async fn new(network: &Network, name: &str) -> Self {
        Self::with(network, name, |builder| builder).await
    }

    pub(crate) async fn with(
        network: &Network,
        name: &str,
        settings: impl FnOnce(NodeBuilder) -> NodeBuilder,
    ) -> Self {
        Self::bare(network, name, |builder| settings(builder.serve::<Listener>().serve::<Tight>())).await
    }

    /// As `with`, but it serves echoes alone.
    pub(crate) async fn bare(
        network: &Network,
        name: &str,
        settings: impl FnOnce(NodeBuilder) -> NodeBuilder,
    ) -> Self {
        let system = ActorSystem::new(name);
        let builder = Node::builder(&system).serve::<Echo>();
        let node = settings(builder).join(network.transport(&format!("{name}:1"))).await.expect("it joins");
        let letters = system.events().subscribe_to(Interest::DEAD_LETTERS);
        Self { system, node, letters }
    }

    /// The path of an actor at this place.
    pub(crate) fn path(&self, name: &str) -> String {
        format!("supervise://{}/user/{name}", self.node.id())
    }

    /// Spawns an `Echo` here, and finds it from another place.
    pub(crate) async fn echo(&self, name: &str, from: &Self) -> EchoRef {
        self.system.spawn(name, Echo::default).unwrap();
        soon(from.node.find::<Echo>(self.path(name))).await.unwrap()
    }

    /// The dead letters since the last call.
    pub(crate) fn dead_letters(&mut self) -> Vec<DeadLetter> {
        std::iter::from_fn(|| self.letters.try_recv())
            .filter_map(|event| match event {
                Event::DeadLetter(letter) => Some(letter),
                _ => None,
            })
            .collect()
    }
}

/// Two places that know each other.
pub(crate) async fn two(network: &Network) -> (Place, Place) {
    let places = (Place::new(network, "here").await, Place::new(network, "there").await);
    settle().await;
    places
}

/// What must happen within a minute of the paused clock.
pub(crate) async fn soon<T>(what: impl IntoFuture<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), what.into_future()).await.expect("it happens within a minute")
}

/// Waits until nothing more is under way.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_secs(2)).await;
}

/// The values that actors have sent until now.
pub(crate) fn drain<T>(told: &mut UnboundedReceiver<T>) -> Vec<T> {
    std::iter::from_fn(|| told.try_recv().ok()).collect()
}

/// A value whose `Serialize` or `Deserialize` does not work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Picky {
    Fine,
    CannotBeWritten,
    PanicsWhenWritten,
    PanicsWhenRead,
}

impl Serialize for Picky {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fine => serializer.serialize_u8(0),
            Self::PanicsWhenRead => serializer.serialize_u8(1),
            Self::CannotBeWritten => Err(serde::ser::Error::custom("as told")),
            Self::PanicsWhenWritten => panic!("as told"),
        }
    }
}

impl<'de> Deserialize<'de> for Picky {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        assert_eq!(u8::deserialize(deserializer)?, 0, "as told");
        Ok(Self::Fine)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the {0} is broken")]
pub(crate) struct Oops(pub(crate) String);

/// Cannot travel.
#[derive(Debug)]
pub(crate) struct Socket;

/// Gives back what it gets, and keeps what it is told.
#[derive(Default)]
#[actor]
pub(crate) struct Echo {
    told: Vec<u64>,
    held: Vec<ReplyTo<u64>>,
    got: Vec<ListenerRef>,
}

#[actor(remote)]
impl Echo {
    #[handler]
    fn echo(&mut self, text: String) -> String {
        text
    }

    #[handler]
    fn text(&mut self, length: usize) -> String {
        "a".repeat(length)
    }

    #[handler]
    fn note(&mut self, number: u64) {
        self.told.push(number);
    }

    #[handler]
    fn noted(&mut self) -> Vec<u64> {
        self.told.clone()
    }

    #[handler]
    fn fail(&mut self, what: String) -> Result<(), Oops> {
        Err(Oops(what))
    }

    #[handler]
    async fn sleep(&mut self, seconds: u64) -> u64 {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        seconds
    }

    /// Never answers, or only when it ends.
    #[handler]
    fn hold(&mut self, reply: ReplyTo<u64>) {
        self.held.push(reply);
    }

    /// How many askers wait for an answer of `hold`.
    #[handler]
    fn waiting(&mut self) -> usize {
        self.held.iter().filter(|reply| !reply.is_abandoned()).count()
    }

    #[handler]
    fn bytes(&mut self, bytes: Vec<u8>) -> usize {
        self.told.push(bytes.len() as u64);
        bytes.len()
    }

    #[handler]
    fn picky(&mut self, value: Picky) {
        assert_eq!(value, Picky::Fine);
    }

    /// The names of generated code.
    #[handler]
    fn sum(&mut self, name: u8, message: u8, reply: u8, out: u8, arguments: u8, handler: u8) -> u8 {
        name + message + reply + out + arguments + handler
    }

    #[handler(local)]
    fn attach(&mut self, socket: Socket) {
        let _ = socket;
    }

    /// Tells the listener this many numbers, and then ends.
    #[handler]
    fn count_and_end(&mut self, listener: ListenerRef, to: u64, ctx: &mut Context<Self>) {
        (0..to).for_each(|number| listener.hear(number).tell().unwrap());
        ctx.stop_self();
    }

    #[handler]
    fn take(&mut self, listener: ListenerRef) -> bool {
        let is_local = listener.actor_ref().is_local();
        self.got.push(listener);
        is_local
    }

    #[handler]
    fn tell_taken(&mut self, number: u64) -> bool {
        self.got.iter().all(|listener| listener.hear(number).tell().is_ok())
    }

    #[handler]
    fn give_back(&mut self) -> Option<ListenerRef> {
        self.got.last().cloned()
    }

    #[handler]
    async fn pass_on(&mut self, to: EchoRef) -> bool {
        let listener = self.got.last().cloned().expect("it has one");
        to.take(listener).await.expect("it is taken")
    }
}

/// Notes what it hears, and which of the actors that it watches have ended.
#[actor]
pub(crate) struct Listener {
    log: UnboundedSender<Heard>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Heard {
    Number(u64),
    Gone(String, HowEnded),
}

pub(crate) fn listener(place: &Place, name: &str) -> (ListenerRef, UnboundedReceiver<Heard>) {
    let (log, heard) = unbounded_channel();
    (place.system.spawn(name, move || Listener { log: log.clone() }).unwrap(), heard)
}

#[actor(remote)]
impl Listener {
    #[handler]
    fn hear(&mut self, number: u64) {
        self.log.send(Heard::Number(number)).unwrap();
    }

    #[handler]
    fn watch(&mut self, who: EchoRef, ctx: &mut Context<Self>) {
        ctx.watch(&who);
    }

    #[handler]
    fn watch_listener(&mut self, who: ListenerRef, ctx: &mut Context<Self>) {
        ctx.watch_any(&who.actor_ref().to_any());
    }

    #[handler]
    fn unwatch(&mut self, who: EchoRef, ctx: &mut Context<Self>) {
        ctx.unwatch(&who);
    }

    #[watch]
    fn gone(&mut self, gone: Terminated) {
        let name = gone.path().name().to_owned();
        let _over = self.log.send(Heard::Gone(name, gone.how()));
    }

    #[watch]
    fn echo_gone(&mut self, gone: Terminated<Echo>) {
        let name = gone.path().name().to_owned();
        let _over = self.log.send(Heard::Gone(name, gone.how()));
    }
}

/// As a listener, but its type is not known to other nodes.
#[actor]
pub(crate) struct Guard {
    log: UnboundedSender<Heard>,
}

pub(crate) fn guard(place: &Place, name: &str) -> (GuardRef, UnboundedReceiver<Heard>) {
    let (log, heard) = unbounded_channel();
    (place.system.spawn(name, move || Guard { log: log.clone() }).unwrap(), heard)
}

#[actor]
impl Guard {
    #[handler]
    fn watch(&mut self, who: EchoRef, ctx: &mut Context<Self>) {
        ctx.watch(&who);
    }

    #[watch]
    fn gone(&mut self, gone: Terminated<Echo>) {
        let name = gone.path().name().to_owned();
        let _over = self.log.send(Heard::Gone(name, gone.how()));
    }
}

/// Dies with an echo.
#[actor]
pub(crate) struct Bound;

#[actor]
impl Bound {
    #[handler]
    fn to(&mut self, echo: EchoRef, ctx: &mut Context<Self>) {
        ctx.death_pact(&echo);
    }
}

/// Has room for two messages.
#[derive(Default)]
#[actor(mailbox = bounded(2))]
pub(crate) struct Tight {
    told: Vec<u64>,
}

#[actor(remote)]
impl Tight {
    #[handler]
    fn put(&mut self, number: u64, padding: String) {
        let _ = padding;
        self.told.push(number);
    }

    #[handler]
    async fn sleep(&mut self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    #[handler]
    fn all(&mut self) -> Vec<u64> {
        self.told.clone()
    }
}
