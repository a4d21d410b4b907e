//! A peer that a test plays, and the engine over which it speaks.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::super::association::{Frame, Greeting, Number, Packet, VERSIONS};
use super::super::inbox::Inbox;
use super::super::link::Link;
use super::super::transport::{BoxFuture, NodeId, Transport, TransportError};
use super::super::wire::{Note, WireRef, bytes, decode, encode};
use super::super::{Node, NodeBuilder};
use super::{Plain, settle};
use crate::actor::ActorSystem;

/// A packet, and for whom it is.
type Sent = (NodeId, Vec<u8>);

/// An engine whose peers the test plays.
#[derive(Default)]
pub(super) struct Stage {
    inbox: Mutex<Option<UnboundedSender<Inbox>>>,
    sent: Mutex<Option<UnboundedSender<Sent>>>,
    /// `open` never returns.
    hangs: bool,
    /// How many more packets it accepts.
    room: AtomicUsize,
    /// How many of them it was to send at once.
    at_once: Arc<AtomicUsize>,
}

impl Stage {
    /// Never opens.
    pub(super) fn that_hangs() -> Self {
        Self { hangs: true, ..Self::default() }
    }
}

impl Transport for Stage {
    fn address(&self) -> String {
        "stage:1".to_owned()
    }

    fn open(&self, _: &NodeId, _: u64, inbox: Inbox) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            if self.hangs {
                std::future::pending::<()>().await;
            }
            if let Some(give) = &*self.inbox.lock().unwrap() {
                give.send(inbox).unwrap();
            }
            Ok(())
        })
    }

    fn send(&self, to: &NodeId, packet: Vec<u8>) -> Result<(), Vec<u8>> {
        if self.room.fetch_update(SeqCst, SeqCst, |room| room.checked_sub(1)).is_err() {
            return Err(packet);
        }
        if let Some(sent) = &*self.sent.lock().unwrap() {
            let _gone = sent.send((to.clone(), packet));
        }
        Ok(())
    }

    fn send_at_once(&self, to: &NodeId, packet: Vec<u8>) -> Result<(), Vec<u8>> {
        self.at_once.fetch_add(1, SeqCst);
        self.send(to, packet)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// A peer that says what the test tells it to say.
pub(super) struct Puppet {
    pub(super) me: NodeId,
    pub(super) inbox: Inbox,
    pub(super) sent: UnboundedReceiver<Sent>,
    pub(super) at_once: Arc<AtomicUsize>,
    /// The node's number.
    pub(super) to: u64,
    pub(super) sequence: u64,
}

pub(super) const MINE: u64 = 7;

impl Puppet {
    /// A node, and a peer that it has not heard of.
    pub(super) async fn new(settings: impl FnOnce(NodeBuilder) -> NodeBuilder) -> (ActorSystem, Node, Self) {
        Self::with_room(usize::MAX, settings).await
    }

    /// As `new`, with an engine that takes so many packets and no more.
    pub(super) async fn with_room(
        room: usize,
        settings: impl FnOnce(NodeBuilder) -> NodeBuilder,
    ) -> (ActorSystem, Node, Self) {
        let (give, mut inboxes) = unbounded_channel();
        let (sends, heard) = unbounded_channel();
        let at_once = Arc::<AtomicUsize>::default();
        let stage = Stage {
            inbox: Mutex::new(Some(give)),
            sent: Mutex::new(Some(sends)),
            hangs: false,
            room: AtomicUsize::new(room),
            at_once: Arc::clone(&at_once),
        };
        let system = ActorSystem::new("stage");
        let node = settings(Node::builder(&system).serve::<Plain>()).join(stage).await.unwrap();
        let inbox = inboxes.recv().await.unwrap();
        let me = NodeId::new("puppet", "puppet:1");
        (system, node, Self { me, inbox, sent: heard, at_once, to: 0, sequence: 0 })
    }

    pub(super) fn greeting() -> Greeting {
        Greeting { versions: VERSIONS, mesh: String::new(), uid: 9 }
    }

    pub(super) fn say(&self, packet: &Packet) {
        self.inbox.packet(self.me.clone(), encode(packet));
    }

    /// Begins an association.
    pub(super) async fn up(&mut self) {
        self.say(&Packet::Hello { from: Self::greeting(), mine: MINE });
        loop {
            if let Packet::Welcome { yours: MINE, mine, .. } = self.hears().await {
                self.to = mine;
                return self.say(&Packet::Welcome { from: Self::greeting(), yours: mine, mine: MINE });
            }
        }
    }

    /// Begins an association. Returns the node's link, and the node's number.
    pub(super) async fn linked(&mut self, node: &Node) -> (Arc<Link>, Number) {
        self.up().await;
        settle().await;
        let link = node.0.link_of("puppet@puppet:1").unwrap();
        let (mine, _) = link.numbers().unwrap();
        (link, mine)
    }

    /// An actor of the peer's, as the peer writes it. Without a type, if `actor` is empty.
    pub(super) fn actor(&self, uid: u64, actor: &str) -> WireRef {
        WireRef {
            node: self.me.to_string(),
            incarnation: 9,
            uid,
            path: "/user/a".to_owned(),
            actor: actor.to_owned(),
        }
    }

    /// Begins another association, whatever was said before.
    pub(super) async fn again(&mut self) {
        while self.sent.try_recv().is_ok() {}
        self.sequence = 0;
        self.up().await;
        self.frames(Vec::new());
        settle().await;
    }

    pub(super) async fn hears(&mut self) -> Packet {
        decode(&self.sent.recv().await.unwrap().1, u64::MAX).unwrap()
    }

    pub(super) fn frames(&mut self, frames: Vec<Frame>) {
        let packet = Packet::Frames { to: self.to, from: MINE, sequence: self.sequence, acknowledged: 0, frames };
        self.sequence += 1;
        self.say(&packet);
    }

    pub(super) fn note(&mut self, note: &Note) {
        self.frames(vec![Frame::Note(bytes(note).into())]);
    }
}
