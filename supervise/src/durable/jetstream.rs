//! Messages on a NATS server with JetStream.

mod claim;
mod commit;
mod handled;
mod lease;
mod names;
mod open;
mod quarantine;
mod read;
mod record;
mod rename;
mod reserve;
mod servers;
mod shared;
mod shares;
mod tally;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_nats::ConnectOptions;
use supervise_core::durable::{
    Appended, Arrived, Claim, CommitError, Group, KEYS_ARE_KEPT, MessageStore, Opened, Owner, Quarantined,
    QueueId, QueueRow, Room, Seq, SharedQueues, StoreError, StoreErrorKind, StoreFuture, Stored,
};

use self::names::Known;
use self::open::Open;

/// How long an owner has a queue without renewing it.
const LEASE: Duration = Duration::from_secs(10);
/// How long the server may take to accept.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(5);

/// A [`MessageStore`] on a NATS server with JetStream, for systems of the same name on many nodes.
///
/// A message is accepted when its stream has acknowledged it. With one server that survives the end of the server's process, but a
/// power cut only with `sync_interval: always`.
///
/// One node at a time owns a queue. It holds a lease and renews it. If the node dies, another node takes the queue when nobody has
/// renewed the lease for its whole length, and the first message of the queue is charged a crash. A node that cannot renew its
/// lease starts no further messages. The message that it is handling may then run on two nodes at once, and
/// [`Delivery::fence`](crate::durable::Delivery::fence) orders the two runs.
///
/// # Sharing
///
/// With `mailbox = durable(shared)`, many nodes handle the messages of a queue at the same time. A record on the server says which node
/// holds which messages. If a node has not renewed its lease for the whole length of the lease, everything that it held is charged a crash and
/// goes to the other nodes.
///
/// While the server has no room and the reserve is spent, that record cannot be written. Nodes handle the messages that they hold, which makes
/// room for more. A node that holds nothing, or that starts then, gets messages only when somebody has made room: by raising the server's
/// limit, or by discarding messages in quarantine.
///
/// # Clusters
///
/// Give [`new`](Self::new) the servers of the cluster, and say with [`replicas`](Self::replicas) how many of them store each message. When one of
/// them dies, the messages that are being sent get `Unknown`, and the store is opened again when the others have elected a leader, after some
/// seconds. As long as that server is down, nats-server 2.9 may still look for messages on it: then the store fails after 5 s and is opened
/// again, until the request reaches a server that runs. Nothing that was accepted is lost.
///
/// # Differences from a file
///
/// A group is not stored as a whole: if the server fails in its midst, its first changes may be durable. What was handled since
/// the last group is handled again after a crash. A key is known for ten minutes after it was accepted, however long its message waits;
/// a server that was started again knows only the keys of messages that wait.
///
/// # Loss
///
/// The server may have lost messages that it has acknowledged to this process: it came back with an older disk or without one, or somebody has
/// deleted a stream or restored it from an older backup. Then the queue cannot be claimed
/// ([`StoreErrorKind::Damaged`](crate::durable::StoreErrorKind::Damaged)) until the disk is restored or the process ends. A process that starts
/// afterwards cannot know that. If only the names of the queues were lost, with `SV_<system>_STATE`, the store does not open while a queue has
/// messages, and makes no queue whose stream is there and has had messages.
///
/// If somebody deletes messages from a stream, or purges it, the store fails once with an error that says how many are missing, an event names
/// the first thousand of those that were purged, and the queue goes on with the others. The numbers of queues are random, so that no
/// [`MessageId`](crate::durable::MessageId) is given twice.
///
/// # Size
///
/// A message may be about 12 kB smaller than the server's `max_payload`, so that it can be quarantined with its failures. A larger
/// one is refused alone, as `NotEncodable`; one for which the server has no room, as `Full`. If another program has published a larger message and
/// it is quarantined, its last bytes are left out, and its failures say how many they were.
///
/// Each system keeps one message of that size on the server as a reserve, of 8 MB at most. When the server is full, the store deletes the
/// reserve, so that it can note which messages have failed and who owns a queue. When there is room again, the store puts it back.
///
/// # Security
///
/// Whoever may publish to the subjects `sv.<system>.>` of the server can send messages to your actors, and whoever may read its streams can read
/// them. Give the service an account or a user of its own. With a URL `nats://..`, the connection is encrypted only if the server demands it: for a
/// server on another machine write `tls://..`, or set [`root_certificates`](Self::root_certificates). If one URL begins with `tls`, all connections
/// are encrypted. A user and a password, or a token, may be in the URL: `tls://user:password@host` or `tls://token@host`. In them, write
/// special characters percent-encoded, such as `%40` for `@`. All servers of a list get the same login, so one URL with it is enough.
/// [`client_certificate`](Self::client_certificate) and [`credentials`](Self::credentials) are the other ways to log in.
///
/// # Server
///
/// Version 2.9 or newer. For each queue there is a stream `SV_<system>_Q<number>`, and for each system `SV_<system>_STATE`,
/// `SV_<system>_LEASE` and `SV_<system>_QUARANTINE`. The last message of a queue's stream stays there after it was handled, because a
/// server that is killed may forget where an empty stream was. The server counts it; [`Store::queues`](crate::durable::Store::queues) does not.
/// A server that was killed may also bring back messages that had left the queue. Then `Store::queues` counts them as waiting until the owner of
/// the queue has deleted them again.
///
/// You may limit the streams of queues, as long as `discard` stays `new`. If nothing waits and a limit leaves no room beside the last message,
/// the store deletes that message when the next one arrives.
///
/// If a stream is configured so that it may lose messages or forget keys too early, for example with a `max_age`, with another `retention` or
/// with a `duplicate_window` shorter than ten minutes, its queue cannot be claimed until you have configured the stream anew. An owner notices
/// this when it next acknowledges messages or reads a page, and loses the queue. The store does not open if `SV_<system>_STATE` or
/// `SV_<system>_QUARANTINE` may lose messages or has a `max_msg_size` less than the server's `max_payload`, if one of these two or
/// `SV_<system>_LEASE` has a `max_msgs_per_subject` other than 1, or if a limit makes the last one lose leases.
pub struct JetStreamStore {
    url: String,
    security: Security,
    replicas: usize,
    lease: Duration,
    accept_timeout: Duration,
    /// Tells this process from others.
    token: String,
    arrived: Option<Arrived>,
    /// What earlier connections knew.
    known: BTreeMap<QueueId, Known>,
    open: Option<Open>,
}

impl JetStreamStore {
    /// The store on the server at `url`, such as `nats://127.0.0.1:4222`, or on a cluster: `nats://one:4222,nats://two:4222`. The actor system
    /// connects when it starts, to any server that answers.
    pub fn new(url: impl Into<String>) -> Self {
        let now = record::millis(SystemTime::now());
        let token = format!("{}-{now}-{:016x}", std::process::id(), random());
        let (replicas, lease, accept_timeout) = (1, LEASE, ACCEPT_TIMEOUT);
        Self {
            url: url.into(),
            security: Security::default(),
            replicas,
            lease,
            accept_timeout,
            token,
            arrived: None,
            known: BTreeMap::new(),
            open: None,
        }
    }

    /// Trusts servers whose certificates these authorities have signed, in addition to those that the machine trusts, and connects with TLS
    /// only. The file has their certificates, as PEM.
    pub fn root_certificates(mut self, file: impl Into<PathBuf>) -> Self {
        self.security.authorities.push(file.into());
        self
    }

    /// Shows this certificate to the server, and connects with TLS only. The files have the certificate and its private key, as PEM.
    pub fn client_certificate(mut self, certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.security.certificate = Some((certificate.into(), key.into()));
        self
    }

    /// Logs in with a credentials file, which has the user's JWT and seed. It is read whenever the store is opened.
    pub fn credentials(mut self, file: impl Into<PathBuf>) -> Self {
        self.security.credentials = Some(file.into());
        self
    }

    /// On how many servers of a cluster each message is stored, 1 unless said otherwise. Streams that exist are not changed.
    pub fn replicas(mut self, replicas: usize) -> Self {
        self.replicas = replicas;
        self
    }

    /// Sets how long a dead node still owns its queues. The default is 10 s. The first node that starts decides for all nodes, because
    /// the server keeps the leases for that time. A lease is at least 1 s long.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease.max(Duration::from_secs(1));
        self
    }

    /// How long the server may take to accept, 5 s unless said otherwise.
    pub fn accept_timeout(mut self, timeout: Duration) -> Self {
        self.accept_timeout = timeout;
        self
    }

    fn opened(&mut self) -> Result<&mut Open, StoreError> {
        self.open.as_mut().ok_or_else(|| broken("the message store on NATS is not open"))
    }
}

/// How the store and its server know each other.
#[derive(Default)]
struct Security {
    authorities: Vec<PathBuf>,
    certificate: Option<(PathBuf, PathBuf)>,
    credentials: Option<PathBuf>,
}

impl Security {
    /// Adds the settings to those of a connection.
    async fn apply(&self, mut options: ConnectOptions) -> Result<ConnectOptions> {
        for authority in &self.authorities {
            options = options.add_root_certificates(authority.clone()).require_tls(true);
        }
        if let Some((certificate, key)) = &self.certificate {
            options = options.add_client_certificate(certificate.clone(), key.clone()).require_tls(true);
        }
        if let Some(file) = &self.credentials {
            let read = options.credentials_file(file).await;
            options = read.map_err(|error| broken(format_args!("the credentials {}: {error}", file.display())))?;
        }
        Ok(options)
    }
}

/// A number that no other process uses.
fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(SystemTime::now())
}

impl fmt::Debug for JetStreamStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JetStreamStore").field("url", &servers::shown(&self.url)).finish_non_exhaustive()
    }
}

fn broken(text: impl fmt::Display) -> StoreError {
    StoreError::new(StoreErrorKind::Broken, text.to_string())
}

type Result<T, E = StoreError> = std::result::Result<T, E>;

impl MessageStore for JetStreamStore {
    fn open<'a>(&'a mut self, owner: &'a Owner) -> StoreFuture<'a, Result<Opened>> {
        Box::pin(async move {
            if let Some(open) = &self.open {
                self.known.clone_from(&open.known);
                for (queue, owned) in
                    open.queues.iter().filter_map(|(id, queue)| Some((id, queue.owned.as_ref()?)))
                {
                    self.known.entry(*queue).or_default().left = owned.tally.left();
                }
                for (queue, joined) in
                    open.queues.iter().filter_map(|(id, queue)| Some((id, queue.joined.as_ref()?)))
                {
                    self.known.entry(*queue).or_default().ended.clone_from(&joined.ended);
                }
            }
            // The earlier connection goes on renewing until there is another one.
            let mut open = Open::connect(self, &owner.system).await?;
            let ended = open.ended().await?;
            // The events of this opening name them.
            open.known.values_mut().for_each(|known| known.lost.clear());
            let marks = Arc::clone(&open.leases);
            self.open = Some(open);
            let missing = self.known.iter_mut().flat_map(|(queue, known)| {
                std::mem::take(&mut known.lost).into_iter().map(|number| (*queue, Seq(number)))
            });
            Ok(Opened { ended, marks, missing: missing.collect() })
        })
    }

    fn claim<'a>(&'a mut self, queue: &'a str) -> StoreFuture<'a, Result<Claim>> {
        Box::pin(async move { self.opened()?.claim(queue).await })
    }

    fn commit<'a>(&'a mut self, group: &'a Group) -> StoreFuture<'a, Result<Vec<Appended>, CommitError>> {
        Box::pin(
            async move { self.opened().map_err(|error| CommitError::Unknown(error.text))?.commit(group).await },
        )
    }

    fn page(&mut self, queue: QueueId, after: Seq, room: Room) -> StoreFuture<'_, Result<Vec<Stored>>> {
        Box::pin(async move { self.opened()?.page(queue, after, room).await })
    }

    fn queues(&mut self) -> StoreFuture<'_, Result<Vec<QueueRow>>> {
        Box::pin(async move { self.opened()?.rows().await })
    }

    fn queue<'a>(&'a mut self, name: &'a str) -> StoreFuture<'a, Result<Option<QueueRow>>> {
        Box::pin(async move { self.opened()?.row_named(name).await })
    }

    fn quarantined<'a>(
        &'a mut self,
        queue: &'a str,
        after: Seq,
        room: Room,
    ) -> StoreFuture<'a, Result<Vec<Quarantined>>> {
        Box::pin(async move { self.opened()?.quarantined(queue, after, room).await })
    }

    fn listen(&mut self, arrived: Arrived) {
        self.arrived = Some(arrived);
    }

    fn shared(&mut self) -> Option<&mut dyn SharedQueues> {
        Some(self)
    }

    fn close(mut self: Box<Self>) -> StoreFuture<'static, Result<()>> {
        Box::pin(async move {
            let open = self.opened()?;
            let owned: Vec<QueueId> = open.queues.keys().copied().collect();
            let mut released = Ok(());
            for id in owned {
                // The next owner of each other queue need not wait for the lease.
                released = released.and(open.release(id).await);
            }
            released
        })
    }
}
