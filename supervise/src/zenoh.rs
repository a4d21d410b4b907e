//! Connects nodes over TCP or TLS, with [Zenoh](https://zenoh.io) (feature `zenoh`, experimental).
//!
//! ```no_run
//! use supervise::ActorSystem;
//! use supervise::remote::Node;
//! use supervise::zenoh::Zenoh;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let system = ActorSystem::new("shop");
//! let engine = Zenoh::listen("10.0.0.7:7000")
//!     .seeds(["10.0.0.8:7000", "10.0.0.9:7000"])
//!     .mutual_tls("mesh/ca.pem", "mesh/node.pem", "mesh/node.key");
//! let node = Node::builder(&system).join(engine).await?;
//! # Ok(())
//! # }
//! ```
//!
//! A node connects to its seeds, learns from them of their peers, and connects to those too. A seed need not be there yet. A
//! connection that breaks is made again by the side that has the other one as a seed, so name two or three seeds that all nodes
//! share, the seeds included.
//!
//! A node announces itself by a liveliness token, `sv/@/system@host:port/incarnation`, and gets its packets at
//! `sv/system@host:port`, each with the sender's `system@host:port` attached. Nothing else of Zenoh is used, and no multicast.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use ::zenoh::Wait as _;
use ::zenoh::bytes::ZBytes;
use ::zenoh::liveliness::LivelinessToken;
use ::zenoh::pubsub::Publisher;
use ::zenoh::qos::CongestionControl;
use ::zenoh::sample::{Sample, SampleKind};
use supervise_core::remote::{BoxFuture, Inbox, NodeId, Transport, TransportError};
use tokio::sync::oneshot;

use crate::percent::decoded;

/// How many packets may wait for the engine's thread. Each peer's window bounds their bytes.
const QUEUE: usize = 4096;

/// An engine that connects a node with others over TCP, or over TLS.
///
/// Zenoh blocks the thread that sends while a connection is full, so it is called on one thread, which begins when the node joins and
/// ends when it leaves. Only while hardly anything is under way to a peer, packets for it are sent on the threads that make them, because a
/// change of threads takes longer than the call. Zenoh's own threads take care of the connections. A peer that stops reading holds up that
/// thread only if it leaves more unread than the buffers of the connection take, and for five seconds at most: then Zenoh closes
/// the connection.
///
/// Zenoh gives a peer up when it was silent for 10 seconds, so a longer [`patience`](supervise_core::remote::NodeBuilder::patience)
/// has no effect.
pub struct Zenoh {
    listen: String,
    reachable_at: Option<String>,
    seeds: Vec<String>,
    security: Security,
    running: Mutex<Option<Running>>,
}

enum Security {
    /// Plain TCP, on loopback alone.
    Loopback,
    Plaintext,
    Mutual(Identity),
}

struct Identity {
    authority: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
}

struct Running {
    outbound: Arc<Outbound>,
    packets: SyncSender<(NodeId, Vec<u8>)>,
    /// Resolves when the engine's thread has closed everything.
    closed: oneshot::Receiver<()>,
}

/// What sends packets.
struct Outbound {
    /// The engine's thread takes it out, because a session must not be dropped on a thread of a current-thread runtime.
    open: RwLock<Option<Open>>,
    /// This node, which is attached to each packet.
    me: ZBytes,
    /// How many packets wait for the engine's thread.
    waiting: AtomicUsize,
}

struct Open {
    session: ::zenoh::Session,
    /// With a publisher, Zenoh sends a number instead of the key, and knows the way. This takes a third of the time.
    publishers: Mutex<HashMap<NodeId, Arc<Publisher<'static>>>>,
}

/// How many publishers are kept. A peer that comes back has the same one.
const PUBLISHERS: usize = 4096;

impl Outbound {
    fn put(&self, to: &NodeId, packet: Vec<u8>) {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        let publisher = open.as_ref().and_then(|open| open.publisher(to));
        // A packet that is lost ends the association, at the peer, where it is missing.
        let _sent = publisher.map(|publisher| publisher.put(packet).attachment(self.me.clone()).wait());
    }

    /// Closes the session.
    fn close(&self) {
        let open = self.open.write().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Open { session, publishers }) = open {
            drop(publishers);
            // An error means that it was closed already.
            let _closed = session.close().wait();
        }
    }
}

impl Open {
    /// The publisher of the packets for a peer. `None`: the session is closed.
    fn publisher(&self, to: &NodeId) -> Option<Arc<Publisher<'static>>> {
        let mut publishers = self.publishers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = publishers.get(to) {
            return Some(Arc::clone(known));
        }
        if publishers.len() >= PUBLISHERS {
            publishers.clear();
        }
        let publisher = self.session.declare_publisher(format!("sv/{}", chunk(to)));
        let publisher = Arc::new(publisher.congestion_control(CongestionControl::Block).wait().ok()?);
        publishers.insert(to.clone(), Arc::clone(&publisher));
        Some(publisher)
    }
}

impl Zenoh {
    /// An engine that listens at this address, such as `10.0.0.7:7000`. If the port is 0, the operating system names one now that is
    /// free, and [`address`](Transport::address) tells it. Another process may take that port before the node joins; then `join` fails.
    ///
    /// Beyond loopback, an engine opens only with [`mutual_tls`](Self::mutual_tls) or [`plaintext`](Self::plaintext). This holds for the
    /// seeds too.
    pub fn listen(address: impl Into<String>) -> Self {
        let listen = free_port(address.into());
        Self {
            listen,
            reachable_at: None,
            seeds: Vec::new(),
            security: Security::Loopback,
            running: Mutex::default(),
        }
    }

    /// Sets the address that is part of this node's name, such as `10.0.0.7:7000` or `shop-1.internal:7000`. A node that listens at
    /// all addresses, `0.0.0.0` or `[::]`, needs it. The default is the address at which it listens.
    pub fn reachable_at(mut self, address: impl Into<String>) -> Self {
        self.reachable_at = Some(address.into());
        self
    }

    /// Sets the addresses of the nodes to connect to first. Those that are not there are tried again, every two seconds at most.
    pub fn seeds(mut self, seeds: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.seeds = seeds.into_iter().map(Into::into).collect();
        self
    }

    /// Listens and connects beyond loopback without TLS. Every program that reaches the port can read, forge and send messages.
    pub fn plaintext(mut self) -> Self {
        self.security = Security::Plaintext;
        self
    }

    /// Speaks TLS, and only with peers whose certificates this authority has signed. The three files are PEM: the certificate of the
    /// authority, the certificate of this node with the name or address at which peers reach it, and its private key.
    pub fn mutual_tls(
        mut self,
        authority: impl AsRef<Path>,
        certificate: impl AsRef<Path>,
        key: impl AsRef<Path>,
    ) -> Self {
        let [authority, certificate, key] =
            [authority.as_ref(), certificate.as_ref(), key.as_ref()].map(Path::to_owned);
        self.security = Security::Mutual(Identity { authority, certificate, key });
        self
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Zenoh's settings, or why it must not be opened.
    fn config(&self, largest_packet: u64) -> Result<::zenoh::Config, TransportError> {
        if host(&self.listen).1.is_some_and(|ip| ip.is_unspecified()) && self.reachable_at.is_none() {
            let why = format!("no peer reaches a node at `{}`: say with `reachable_at` where it is", self.listen);
            return Err(TransportError(why));
        }
        let beyond = [&self.listen].into_iter().chain(&self.seeds).find(|address| !is_loopback(address));
        if let (Security::Loopback, Some(beyond)) = (&self.security, beyond) {
            let why = format!(
                "`{beyond}` is not a loopback address: use `mutual_tls`, or `plaintext` in a network that you trust"
            );
            return Err(TransportError(why));
        }
        let protocol = if matches!(self.security, Security::Mutual(_)) { "tls" } else { "tcp" };
        let seeds: Vec<String> = self.seeds.iter().map(|seed| quoted(&format!("{protocol}/{seed}"))).collect();
        let mut settings = vec![
            ("mode", quoted("peer")),
            ("listen/endpoints", format!("[{}]", quoted(&format!("{protocol}/{}", self.listen)))),
            // A peer may name addresses of others, which must not be reached in plain text either.
            ("transport/link/protocols", format!("[{}]", quoted(protocol))),
            ("connect/endpoints", format!("[{}]", seeds.join(","))),
            (
                "connect/retry",
                "{ period_init_ms: 250, period_max_ms: 2000, period_increase_factor: 2 }".to_owned(),
            ),
            // Zenoh puts a packet together from its fragments before anybody sees it, for each peer and priority. The name of the sender and
            // Zenoh's own head are part of it.
            ("transport/link/rx/max_message_size", largest_packet.saturating_add(4096).min(1 << 30).to_string()),
            ("scouting/multicast/enabled", "false".to_owned()),
            ("scouting/gossip/enabled", "true".to_owned()),
        ];
        if let Security::Mutual(identity) = &self.security {
            let file = |path: &Path| quoted(&path.to_string_lossy());
            settings.extend([
                ("transport/link/tls/enable_mtls", "true".to_owned()),
                ("transport/link/tls/root_ca_certificate", file(&identity.authority)),
                ("transport/link/tls/listen_certificate", file(&identity.certificate)),
                ("transport/link/tls/listen_private_key", file(&identity.key)),
                ("transport/link/tls/connect_certificate", file(&identity.certificate)),
                ("transport/link/tls/connect_private_key", file(&identity.key)),
            ]);
        }
        let mut config = ::zenoh::Config::default();
        for (setting, value) in settings {
            config.insert_json5(setting, &value).map_err(failed)?;
        }
        Ok(config)
    }
}

impl Transport for Zenoh {
    fn address(&self) -> String {
        self.reachable_at.as_ref().unwrap_or(&self.listen).clone()
    }

    fn open(&self, me: &NodeId, incarnation: u64, inbox: Inbox) -> BoxFuture<'_, Result<(), TransportError>> {
        let me = me.clone();
        Box::pin(async move {
            let config = self.config(inbox.largest_packet())?;
            let (packets, to_send) = sync_channel(QUEUE);
            let (opens, opened) = oneshot::channel();
            let (done, closed) = oneshot::channel();
            let work = move || {
                match Engine::open(config, &me, incarnation, &inbox) {
                    Ok(engine) => {
                        // An error means that nobody joins any more; then the queue is closed too.
                        let _gone = opens.send(Ok(Arc::clone(&engine.outbound)));
                        engine.run(&to_send);
                    }
                    Err(error) => drop(opens.send(Err(failed(error)))),
                }
                drop(done);
            };
            let thread = std::thread::Builder::new().name("supervise-zenoh".to_owned());
            thread.spawn(work).map_err(|error| TransportError(error.to_string()))?;
            let ended = |_| Err(TransportError("the thread of the engine panicked".to_owned()));
            let outbound = opened.await.unwrap_or_else(ended)?;
            *self.running() = Some(Running { outbound, packets, closed });
            Ok(())
        })
    }

    fn send(&self, to: &NodeId, packet: Vec<u8>) -> Result<(), Vec<u8>> {
        match &*self.running() {
            Some(running) => {
                let waiting = &running.outbound.waiting;
                waiting.fetch_add(1, Ordering::AcqRel);
                running.packets.try_send((to.clone(), packet)).map_err(|refused| {
                    waiting.fetch_sub(1, Ordering::AcqRel);
                    let (TrySendError::Full((_, packet)) | TrySendError::Disconnected((_, packet))) = refused;
                    packet
                })
            }
            None => Err(packet),
        }
    }

    /// Zenoh collects messages in a batch of 64 KiB while the connection takes no more, so it always has room for this packet.
    fn send_at_once(&self, to: &NodeId, packet: Vec<u8>) -> Result<(), Vec<u8>> {
        let outbound = self.running().as_ref().map(|running| Arc::clone(&running.outbound));
        match outbound {
            Some(outbound) if outbound.waiting.load(Ordering::Acquire) == 0 => {
                outbound.put(to, packet);
                Ok(())
            }
            _ => self.send(to, packet),
        }
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let running = self.running().take();
            if let Some(Running { packets, closed, .. }) = running {
                // The thread sends what waits, closes the session and ends.
                drop(packets);
                // It drops its half without a word.
                let _closed = closed.await;
            }
        })
    }
}

impl fmt::Debug for Zenoh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Zenoh")
            .field("address", &self.address())
            .field("seeds", &self.seeds)
            .finish_non_exhaustive()
    }
}

/// What the engine's thread has.
struct Engine {
    outbound: Arc<Outbound>,
    token: LivelinessToken,
}

impl Engine {
    fn open(config: ::zenoh::Config, me: &NodeId, incarnation: u64, inbox: &Inbox) -> ::zenoh::Result<Self> {
        let session = ::zenoh::open(config).wait()?;
        let me = chunk(me);
        let packets = inbox.clone();
        // The last sender, because the next packet often has the same.
        let last = Mutex::new((Vec::new(), None));
        session
            .declare_subscriber(format!("sv/{me}"))
            .callback(move |sample| {
                let Some(sender) = sample.attachment().map(ZBytes::to_bytes) else { return };
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                if last.0 != *sender {
                    *last = (sender.to_vec(), str::from_utf8(&sender).ok().and_then(node));
                }
                let from = last.1.clone();
                drop(last);
                if let Some(from) = from {
                    packets.packet(from, sample.payload().to_bytes().into_owned());
                }
            })
            .background()
            .wait()?;
        let (peers, own) = (inbox.clone(), me.clone());
        session
            .liveliness()
            .declare_subscriber("sv/@/*/*")
            .history(true)
            .callback(move |sample| announced(&sample, &own, &peers))
            .background()
            .wait()?;
        // Last, because whoever sees it sends packets.
        let token = session.liveliness().declare_token(format!("sv/@/{me}/{incarnation}")).wait()?;
        let open = RwLock::new(Some(Open { session, publishers: Mutex::default() }));
        let outbound = Arc::new(Outbound { open, me: me.into(), waiting: AtomicUsize::new(0) });
        Ok(Self { outbound, token })
    }

    /// Sends packets until the node leaves.
    fn run(self, packets: &Receiver<(NodeId, Vec<u8>)>) {
        for (to, packet) in packets {
            self.outbound.put(&to, packet);
            self.outbound.waiting.fetch_sub(1, Ordering::AcqRel);
        }
        let _gone = self.token.undeclare().wait();
        self.outbound.close();
    }
}

/// A peer is there, or gone.
fn announced(sample: &Sample, own: &str, inbox: &Inbox) {
    let mut parts = sample.key_expr().as_str().rsplit('/');
    let (Some(incarnation), Some(name)) = (parts.next(), parts.next()) else { return };
    let (Ok(incarnation), Some(peer)) = (incarnation.parse(), node(name)) else { return };
    if name == own {
        return;
    }
    match sample.kind() {
        SampleKind::Put => inbox.appeared(peer, incarnation),
        SampleKind::Delete => inbox.vanished(peer, incarnation),
    }
}

fn failed(error: ::zenoh::Error) -> TransportError {
    TransportError(error.to_string())
}

/// A JSON5 string.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The host of an address, and its IP if it is one.
fn host(address: &str) -> (&str, Option<IpAddr>) {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    (host, host.trim_start_matches('[').trim_end_matches(']').parse().ok())
}

fn is_loopback(address: &str) -> bool {
    let (host, ip) = host(address);
    ip.map_or(host == "localhost", |ip| ip.is_loopback())
}

/// The address, with a port that is free now if its port is 0.
fn free_port(address: String) -> String {
    let Some(host) = address.strip_suffix(":0") else { return address };
    let free = TcpListener::bind(&address).and_then(|listener| listener.local_addr());
    // Without a free port, the engine says at `open` what is wrong.
    free.map_or_else(|_| address.clone(), |free: SocketAddr| format!("{host}:{}", free.port()))
}

/// A node as one part of a key: what keys do not allow is written as `%` and two digits.
fn chunk(node: &NodeId) -> String {
    let mut chunk = String::new();
    for byte in node.to_string().bytes() {
        if byte.is_ascii_alphanumeric() || b"@:.-_[]".contains(&byte) {
            chunk.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _written = write!(chunk, "%{byte:02X}");
        }
    }
    chunk
}

/// The node of a part of a key.
fn node(chunk: &str) -> Option<NodeId> {
    let text = if chunk.contains('%') { Cow::Owned(decoded(chunk)?) } else { Cow::Borrowed(chunk) };
    let (system, address) = text.split_once('@')?;
    Some(NodeId::new(system, address))
}
