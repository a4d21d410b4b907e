//! Messages on a NATS server with JetStream.

mod lease;
mod record;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::context::PublishAckFuture;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{self, DeleteMessageErrorKind, Stream};
use async_nats::jetstream::{self, Context, ErrorCode};
use bytes::Bytes;
use supervise_core::durable::{
    Append, Appended, Change, Claim, CommitError, Ended, Fate, Group, Marks, MessageId, MessageStore, Opened,
    Owner, Quarantined, QueueId, QueueRow, Room, Seq, StoreError, StoreErrorKind, StoreFuture, Stored,
};
use tokio_stream::StreamExt;

use self::lease::{Lease, Taken};
use self::record::{Charge, Fields, Record};

/// How long an owner has a queue without renewing it.
const LEASE: Duration = Duration::from_secs(10);
/// How long the server may take to accept.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the server knows a key.
const KEYS_ARE_KEPT: Duration = Duration::from_secs(120);
/// How many messages are asked for at a time.
const BATCH: usize = 256;

/// A [`MessageStore`] on a NATS server with JetStream, for systems of the same name on many nodes.
///
/// A message is accepted when its stream has acknowledged it. With one server that survives the end of the server's process, but a
/// power cut only with `sync_interval: always`.
///
/// One node at a time owns a queue, by a lease that it renews. If the node dies, the next one waits until the lease has ended, and
/// the first message of the queue is charged a crash. A node that cannot renew its lease reads no further messages; the one under
/// way may then run on two nodes at once, and [`Delivery::fence`](crate::durable::Delivery::fence) orders them.
///
/// # Differences from a file
///
/// A group is not stored as a whole: if the server fails in its midst, its first changes may be durable. What was handled since
/// the last group is handled again after a crash. A key is known for two minutes after it was accepted.
///
/// # Server
///
/// Version 2.9 or newer. For each queue there is a stream `SV_<system>_Q<number>`, and for each system `SV_<system>_STATE`,
/// `SV_<system>_LEASE` and `SV_<system>_QUARANTINE`.
pub struct JetStreamStore {
    url: String,
    replicas: usize,
    lease: Duration,
    accept_timeout: Duration,
    /// Tells this process from others.
    token: String,
    open: Option<Open>,
}

impl JetStreamStore {
    /// The store on the server at `url`, such as `nats://127.0.0.1:4222`. The actor system connects when it starts.
    pub fn new(url: impl Into<String>) -> Self {
        let now = record::millis(SystemTime::now());
        let token = format!("{}-{now}-{}", std::process::id(), next_number());
        let (replicas, lease, accept_timeout) = (1, LEASE, ACCEPT_TIMEOUT);
        Self { url: url.into(), replicas, lease, accept_timeout, token, open: None }
    }

    /// On how many servers of a cluster each message is stored, 1 unless said otherwise. Streams that exist are not changed.
    pub fn replicas(mut self, replicas: usize) -> Self {
        self.replicas = replicas;
        self
    }

    /// How long a node owns a queue after it has died, 10 s unless said otherwise. The same on all nodes.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
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

/// Tells the stores of one process apart, and their connections.
fn next_number() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

impl fmt::Debug for JetStreamStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JetStreamStore").field("url", &self.url).finish_non_exhaustive()
    }
}

fn broken(text: impl fmt::Display) -> StoreError {
    StoreError::new(StoreErrorKind::Broken, text.to_string())
}

type Result<T, E = StoreError> = std::result::Result<T, E>;

/// The connection, and what this process knows.
struct Open {
    context: Context,
    /// The system's name as NATS allows it.
    system: String,
    settings: Settings,
    state: Stream,
    quarantine: Stream,
    queues: BTreeMap<QueueId, Queue>,
    /// Tells this connection from the earlier ones of the process, whose messages the server may still know.
    connection: u64,
    sent: u64,
}

#[derive(Clone)]
struct Settings {
    replicas: usize,
    lease: Duration,
    token: String,
}

struct Queue {
    name: String,
    stream: Stream,
    owned: Option<Owned>,
}

/// What the owner of a queue knows.
struct Owned {
    lease: Lease,
    /// All before it have left the queue.
    first: u64,
    /// What has left it before its turn.
    gone: BTreeSet<u64>,
    charges: HashMap<u64, Charge>,
}

impl Open {
    async fn connect(store: &JetStreamStore, system: &str) -> Result<Self> {
        let options = async_nats::ConnectOptions::new().request_timeout(Some(store.accept_timeout));
        let client = options.connect(&store.url).await.map_err(broken)?;
        let mut context = jetstream::new(client);
        context.set_timeout(store.accept_timeout);
        let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
        let system: String = system.chars().map(plain).collect();
        let settings = Settings { replicas: store.replicas, lease: store.lease, token: store.token.clone() };
        let config = |name: &str, age| stream::Config {
            name: format!("SV_{system}_{name}"),
            subjects: vec![format!("sv.{system}.{}.>", name.to_lowercase())],
            max_messages_per_subject: 1,
            max_age: age,
            // NATS wants it no longer than messages live.
            duplicate_window: if age.is_zero() { KEYS_ARE_KEPT } else { age },
            num_replicas: settings.replicas,
            ..stream::Config::default()
        };
        let state = context.get_or_create_stream(config("STATE", Duration::ZERO)).await.map_err(broken)?;
        let quarantine =
            context.get_or_create_stream(config("QUARANTINE", Duration::ZERO)).await.map_err(broken)?;
        context.get_or_create_stream(config("LEASE", settings.lease)).await.map_err(broken)?;
        let mut open = Self {
            context,
            system,
            settings,
            state,
            quarantine,
            queues: BTreeMap::new(),
            connection: next_number(),
            sent: 0,
        };
        open.read_names().await?;
        Ok(open)
    }

    fn subject(&self, of: &str) -> String {
        format!("sv.{}.{of}", self.system)
    }

    /// Learns which queues there are. Other nodes make some.
    async fn read_names(&mut self) -> Result<()> {
        let names = last_messages(&self.state, self.subject("state.queue.*")).await?;
        for (subject, payload, _) in names {
            let Some(id) = last_number(&subject).and_then(|number| u32::try_from(number).ok()).map(QueueId) else {
                continue;
            };
            let name = String::from_utf8_lossy(&payload).into_owned();
            match self.queues.get_mut(&id) {
                // A discarded queue has no name. Its number stays taken.
                _ if name.is_empty() => drop(self.queues.remove(&id)),
                Some(queue) => queue.name = name,
                None => {
                    let stream = self.stream_of(id).await?;
                    self.queues.insert(id, Queue { name, stream, owned: None });
                }
            }
        }
        Ok(())
    }

    async fn stream_of(&self, id: QueueId) -> Result<Stream> {
        let config = stream::Config {
            name: format!("SV_{}_Q{}", self.system, id.0),
            subjects: vec![self.subject(&format!("q.{}", id.0))],
            duplicate_window: KEYS_ARE_KEPT,
            discard: stream::DiscardPolicy::New,
            num_replicas: self.settings.replicas,
            ..stream::Config::default()
        };
        self.context.get_or_create_stream(config).await.map_err(broken)
    }

    fn by_name(&self, name: &str) -> Option<QueueId> {
        self.queues.iter().find(|(_, queue)| queue.name == name).map(|(id, _)| *id)
    }

    /// Puts a message under a subject and waits until it is durable.
    async fn put(&self, subject: &str, payload: Bytes) -> Result<u64> {
        let ack = self.context.publish(self.subject(subject), payload).await.map_err(broken)?;
        Ok(ack.await.map_err(broken)?.sequence)
    }

    async fn forget(&self, stream: &Stream, subject: &str) -> Result<()> {
        stream.purge().filter(self.subject(subject)).await.map_err(broken)?;
        Ok(())
    }

    async fn queue_named(&mut self, name: &str) -> Result<QueueId> {
        loop {
            self.read_names().await?;
            if let Some(id) = self.by_name(name) {
                return Ok(id);
            }
            // The first node that takes the number makes the queue.
            let known = last_messages(&self.state, self.subject("state.queue.*")).await?;
            let next = known.iter().filter_map(|(subject, ..)| last_number(subject)).max().unwrap_or(0) + 1;
            let message = PublishMessage::build()
                .payload(Bytes::copy_from_slice(name.as_bytes()))
                .expected_last_subject_sequence(0);
            let sent = self.context.send_publish(self.subject(&format!("state.queue.{next}")), message).await;
            match sent.map_err(broken)?.await {
                Err(error) if error.kind() != jetstream::context::PublishErrorKind::WrongLastSequence => {
                    return Err(broken(error));
                }
                _ => {}
            }
        }
    }

    async fn claim(&mut self, name: &str) -> Result<Claim> {
        let id = self.queue_named(name).await?;
        let (lease, fence) = self.take_lease(id, name).await?;
        let owner = format!("state.owner.{}", id.0);
        let before = self.state.get_last_raw_message_by_subject(&self.subject(&owner)).await;
        let died =
            before.is_ok_and(|owner| !owner.payload.is_empty() && owner.payload != self.settings.token.as_bytes());
        self.put(&owner, Bytes::copy_from_slice(self.settings.token.as_bytes())).await?;

        let charges = last_messages(&self.state, self.subject(&format!("state.charge.{}.*", id.0))).await?;
        let charges = charges.into_iter().filter_map(|(subject, payload, _)| {
            Some((last_number(&subject)?, Charge::decode(&mut Fields(&payload))))
        });
        let charges = charges.collect();
        let queue = self.queues.get_mut(&id).ok_or_else(|| broken("the queue is gone"))?;
        let state = queue.stream.get_info().await.map_err(broken)?.state;
        let first = if state.messages == 0 { state.last_sequence + 1 } else { state.first_sequence };
        queue.owned = Some(Owned { lease, first, gone: BTreeSet::new(), charges });
        Ok(Claim {
            queue: id,
            waiting: state.messages,
            last: Seq(state.last_sequence),
            handled: Seq(first - 1),
            begun: (died && state.messages > 0).then_some(Seq(first)),
            fence,
        })
    }

    /// Waits until the lease of an owner who has died has ended.
    async fn take_lease(&mut self, id: QueueId, name: &str) -> Result<(Lease, u64)> {
        let of = self.subject(&format!("lease.{}", id.0));
        let leases = self.context.get_stream(format!("SV_{}_LEASE", self.system)).await.map_err(broken)?;
        if let Some(queue) = self.queues.get_mut(&id) {
            queue.owned = None;
        }
        let deadline = tokio::time::Instant::now() + self.settings.lease * 2;
        let mut holder = None;
        loop {
            let present = leases.get_last_raw_message_by_subject(&of).await.ok();
            let own = present.as_ref().filter(|held| held.payload == self.settings.token.as_bytes());
            let after = own.map_or(0, |held| held.sequence);
            match Lease::take(&self.context, of.clone(), &self.settings.token, after, self.settings.lease).await {
                Ok(taken) => return Ok(taken),
                Err(Taken::Failed(text)) => return Err(broken(text)),
                Err(Taken::Yes) => {}
            }
            let seen = present.map(|held| held.sequence);
            let renews = holder.is_some() && seen.is_some() && seen != holder;
            if renews || tokio::time::Instant::now() > deadline {
                let text = format!("the queue {name} has an owner on another node");
                return Err(StoreError::new(StoreErrorKind::Claimed, text));
            }
            holder = seen;
            tokio::time::sleep(self.settings.lease / 2).await;
        }
    }

    /// The answers of messages that were published, in their order.
    async fn settle(
        answers: &mut Vec<Appended>,
        sent: &mut Vec<(PublishAckFuture, bool)>,
    ) -> Result<(), CommitError> {
        for (ack, has_key) in sent.drain(..) {
            let ack = ack.await.map_err(unknown)?;
            let is_known = has_key && ack.duplicate;
            answers.push(if is_known { Appended::Known } else { Appended::Stored(Seq(ack.sequence)) });
        }
        Ok(())
    }

    async fn commit(&mut self, group: &Group) -> Result<Vec<Appended>, CommitError> {
        let mut answers = Vec::new();
        let mut sent = Vec::new();
        let mut handled = BTreeMap::<QueueId, BTreeSet<u64>>::new();
        for change in &group.changes {
            if !matches!(change, Change::Append(_) | Change::Handled(_)) {
                Self::settle(&mut answers, &mut sent).await?;
            }
            match change {
                Change::Append(append) => sent.push((self.publish(append).await?, append.key.is_some())),
                Change::Handled(id) => drop(handled.entry(id.queue).or_default().insert(id.seq.0)),
                other => self.change(other).await.map_err(unknown)?,
            }
        }
        Self::settle(&mut answers, &mut sent).await?;
        for (queue, numbers) in handled {
            self.remove(queue, numbers).await.map_err(unknown)?;
        }
        Ok(answers)
    }

    async fn publish(&mut self, append: &Append) -> Result<PublishAckFuture, CommitError> {
        self.sent += 1;
        // One id for each message, so that a message that is sent again is not stored again.
        let id = match &append.key {
            Some(key) => format!("key-{key}"),
            None => format!("{}-{}-{}", self.settings.token, self.connection, self.sent),
        };
        let message = PublishMessage::build().payload(record::encode_append(append)).message_id(id);
        let subject = self.subject(&format!("q.{}", append.queue.0));
        self.context.send_publish(subject, message).await.map_err(unknown)
    }

    async fn change(&mut self, change: &Change) -> Result<()> {
        match change {
            Change::Append(_) | Change::Handled(_) => {}
            Change::Charged { id, attempts, crashes, failures } => {
                let failures = failures.clone();
                self.charge(*id, Charge { attempts: *attempts, crashes: *crashes, failures }).await?;
            }
            Change::Quarantine { id, fate, failures } => self.confine(*id, *fate, failures.clone()).await?,
            Change::Retry(id) => {
                if let Some(message) = self.confined(*id).await? {
                    let message = PublishMessage::build()
                        .payload(record::encode(&message.kind, message.accepted_at, &message.body))
                        .message_id(format!("retry-{id}"));
                    let subject = self.subject(&format!("q.{}", id.queue.0));
                    let ack = self.context.send_publish(subject, message).await.map_err(broken)?;
                    ack.await.map_err(broken)?;
                    self.forget(&self.quarantine, &of_quarantine(*id)).await?;
                }
            }
            Change::Discard(id) => self.forget(&self.quarantine, &of_quarantine(*id)).await?,
            Change::Rename { from, to } => self.rename(from, to).await?,
            Change::DiscardQueue(name) => {
                if let Some(id) = self.by_name(name) {
                    self.discard(id).await?;
                }
            }
            Change::Release(id) => self.release(*id).await?,
        }
        Ok(())
    }

    /// The message if it waits.
    async fn waiting(&self, id: MessageId) -> Result<Option<Stored>> {
        let Some(queue) = self.queues.get(&id.queue) else { return Ok(None) };
        let charges = queue.owned.as_ref().map(|owned| &owned.charges);
        let charge = charges.and_then(|charges| charges.get(&id.seq.0)).cloned().unwrap_or_default();
        match queue.stream.get_raw_message(id.seq.0).await {
            Ok(found) => Ok(Some(record::decode(id.seq.0, &found.payload, charge))),
            Err(error) if error.kind() == stream::RawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(broken(error)),
        }
    }

    async fn charge(&mut self, id: MessageId, charge: Charge) -> Result<()> {
        if self.waiting(id).await?.is_none() {
            return Ok(());
        }
        let subject = format!("state.charge.{}.{}", id.queue.0, id.seq.0);
        self.put(&subject, charge.encode(Record::default()).end()).await?;
        if let Some(owned) = self.queues.get_mut(&id.queue).and_then(|queue| queue.owned.as_mut()) {
            owned.charges.insert(id.seq.0, charge);
        }
        Ok(())
    }

    async fn confine(&mut self, id: MessageId, fate: Fate, failures: Vec<String>) -> Result<()> {
        if let Some(message) = self.waiting(id).await? {
            let message = Stored { failures, ..message };
            let payload = record::encode_confined(&message, fate, SystemTime::now());
            self.put(&of_quarantine(id), payload).await?;
            self.remove(id.queue, BTreeSet::from([id.seq.0])).await?;
        }
        Ok(())
    }

    async fn confined(&self, id: MessageId) -> Result<Option<Stored>> {
        let subject = self.subject(&of_quarantine(id));
        match self.quarantine.get_last_raw_message_by_subject(&subject).await {
            Ok(found) => Ok(Some(record::decode_confined(id.seq.0, &found.payload).0)),
            Err(error) if error.kind() == stream::LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(broken(error)),
        }
    }

    /// Deletes messages of a queue: those at its head together.
    async fn remove(&mut self, id: QueueId, numbers: BTreeSet<u64>) -> Result<()> {
        let Some(queue) = self.queues.get_mut(&id) else { return Ok(()) };
        let Some(owned) = &mut queue.owned else {
            for number in numbers {
                delete(&queue.stream, number).await?;
            }
            return Ok(());
        };
        if !owned.lease.holds() {
            return Err(broken(format!("the lease of the queue {} has ended", queue.name)));
        }
        let charged: Vec<u64> =
            numbers.iter().copied().filter(|number| owned.charges.remove(number).is_some()).collect();
        owned.gone.extend(numbers.iter().copied().filter(|number| *number >= owned.first));
        let before = owned.first;
        while owned.gone.remove(&owned.first) {
            owned.first += 1;
        }
        let first = owned.first;
        if first > before {
            queue.stream.purge().sequence(first).await.map_err(broken)?;
        }
        for number in numbers.range(first..) {
            delete(&queue.stream, *number).await?;
        }
        for number in charged {
            self.forget(&self.state, &format!("state.charge.{}.{number}", id.0)).await?;
        }
        Ok(())
    }

    async fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        let (Some(from), taken) = (self.by_name(from), self.by_name(to)) else { return Ok(()) };
        if let Some(taken) = taken {
            let is_used = self.row(taken).await?.is_some_and(|row| row.waiting > 0 || row.quarantined > 0);
            if taken == from || is_used {
                return Ok(());
            }
            self.discard(taken).await?;
        }
        self.put(&format!("state.queue.{}", from.0), Bytes::copy_from_slice(to.as_bytes())).await?;
        if let Some(queue) = self.queues.get_mut(&from) {
            to.clone_into(&mut queue.name);
        }
        Ok(())
    }

    async fn discard(&mut self, id: QueueId) -> Result<()> {
        self.put(&format!("state.queue.{}", id.0), Bytes::new()).await?;
        self.forget(&self.state, &format!("state.charge.{}.*", id.0)).await?;
        self.forget(&self.quarantine, &format!("quarantine.{}.*", id.0)).await?;
        self.queues.remove(&id);
        self.context.delete_stream(format!("SV_{}_Q{}", self.system, id.0)).await.map_err(broken)?;
        Ok(())
    }

    /// Leaves a queue to the next owner.
    async fn release(&mut self, id: QueueId) -> Result<()> {
        let Some(queue) = self.queues.get_mut(&id) else { return Ok(()) };
        if queue.owned.take().is_some() {
            self.put(&format!("state.owner.{}", id.0), Bytes::new()).await?;
            let leases =
                self.context.get_stream_no_info(format!("SV_{}_LEASE", self.system)).await.map_err(broken)?;
            leases.purge().filter(self.subject(&format!("lease.{}", id.0))).await.map_err(broken)?;
        }
        Ok(())
    }

    async fn page(&mut self, id: QueueId, after: Seq, room: Room) -> Result<Vec<Stored>> {
        let Some(queue) = self.queues.get(&id) else { return Ok(Vec::new()) };
        let charges = match &queue.owned {
            Some(owned) if owned.lease.holds() => &owned.charges,
            _ => return Err(broken(format!("the queue {} belongs to another node", queue.name))),
        };
        let mut page: Vec<Stored> = Vec::new();
        let mut bytes = 0_usize;
        let from = DeliverPolicy::ByStartSequence { start_sequence: after.0 + 1 };
        read(&queue.stream, String::new(), from, |_, seq, payload| {
            let charge = charges.get(&seq).cloned().unwrap_or_default();
            let message = record::decode(seq, &payload, charge);
            bytes = bytes.saturating_add(message.body.len());
            let has_room = page.is_empty() || (page.len() < room.messages && bytes <= room.bytes);
            if has_room {
                page.push(message);
            }
            has_room && page.len() < room.messages
        })
        .await?;
        Ok(page)
    }

    async fn row(&self, id: QueueId) -> Result<Option<QueueRow>> {
        let Some(queue) = self.queues.get(&id) else { return Ok(None) };
        let state = queue.stream.get_info().await.map_err(broken)?.state;
        let oldest = match queue.stream.get_raw_message(state.first_sequence).await {
            Ok(found) => Some(record::decode(0, &found.payload, Charge::default()).accepted_at),
            Err(_) => None,
        };
        let filter = self.subject(&format!("quarantine.{}.*", id.0));
        let quarantined = last_messages(&self.quarantine, filter).await?.len() as u64;
        Ok(Some(QueueRow { queue: id, name: queue.name.clone(), waiting: state.messages, oldest, quarantined }))
    }

    async fn rows(&mut self) -> Result<Vec<QueueRow>> {
        self.read_names().await?;
        let mut rows = Vec::new();
        for id in self.queues.keys() {
            rows.extend(self.row(*id).await?);
        }
        Ok(rows)
    }

    async fn quarantined(&mut self, name: &str) -> Result<Vec<Quarantined>> {
        let Some(queue) = self.by_name(name) else {
            let text = format!("the message store on NATS: there is no queue {name}");
            return Err(StoreError::new(StoreErrorKind::Refused, text));
        };
        let mut found =
            last_messages(&self.quarantine, self.subject(&format!("quarantine.{}.*", queue.0))).await?;
        found.sort_by_key(|(.., revision)| *revision);
        let quarantined = found.into_iter().filter_map(|(subject, payload, _)| {
            let seq = last_number(&subject)?;
            let (message, fate, since) = record::decode_confined(seq, &payload);
            Some(Quarantined { id: MessageId { queue, seq: Seq(seq) }, fate, since, message })
        });
        Ok(quarantined.collect())
    }

    /// Whether a process has left a queue without releasing it.
    async fn ended(&self) -> Result<Ended> {
        let owners = last_messages(&self.state, self.subject("state.owner.*")).await?;
        let left =
            |(_, owner, _): &(String, Bytes, u64)| !owner.is_empty() && owner != self.settings.token.as_bytes();
        Ok(if owners.iter().any(left) { Ended::ProcessDied } else { Ended::Cleanly })
    }
}

fn of_quarantine(id: MessageId) -> String {
    format!("quarantine.{}.{}", id.queue.0, id.seq.0)
}

/// The number at the end of a subject.
fn last_number(subject: &str) -> Option<u64> {
    subject.rsplit('.').next()?.parse().ok()
}

fn unknown(error: impl fmt::Display) -> CommitError {
    CommitError::Unknown(format!("the message store on NATS: {error}"))
}

async fn delete(stream: &Stream, number: u64) -> Result<()> {
    let Err(error) = stream.delete_message(number).await else { return Ok(()) };
    match error.kind() {
        // It is gone already.
        DeleteMessageErrorKind::JetStream(error) if GONE.contains(&error.error_code()) => Ok(()),
        _ => Err(broken(error)),
    }
}

/// What the server says if it has no message with this number.
const GONE: [ErrorCode; 3] =
    [ErrorCode::NO_MESSAGE_FOUND, ErrorCode::SEQUENCE_NOT_FOUND, ErrorCode::STREAM_MESSAGE_DELETE_FAILED];

/// Reads a stream until `take` has enough: subject, number and payload of each message.
async fn read(
    stream: &Stream,
    filter: String,
    from: DeliverPolicy,
    mut take: impl FnMut(String, u64, Bytes) -> bool,
) -> Result<()> {
    let config = pull::Config {
        filter_subject: filter,
        deliver_policy: from,
        ack_policy: AckPolicy::None,
        memory_storage: true,
        inactive_threshold: Duration::from_secs(30),
        ..pull::Config::default()
    };
    let consumer = stream.create_consumer(config).await.map_err(broken)?;
    let mut left = consumer.cached_info().num_pending;
    'batches: while left > 0 {
        let mut batch = consumer.fetch().max_messages(BATCH).messages().await.map_err(broken)?;
        let before = left;
        while let Some(message) = batch.next().await {
            let message = message.map_err(broken)?;
            let info = message.info().map_err(broken)?;
            left = info.pending;
            let seq = info.stream_sequence;
            if !take(message.subject.to_string(), seq, message.payload.clone()) {
                break 'batches;
            }
        }
        if left == before {
            return Err(broken("the message store on NATS has sent less than it has"));
        }
    }
    // If that fails, it ends by itself when nobody asks it for a while.
    let _ = stream.delete_consumer(&consumer.cached_info().name).await;
    Ok(())
}

/// The last message of each subject, with its number.
async fn last_messages(stream: &Stream, filter: String) -> Result<Vec<(String, Bytes, u64)>> {
    let mut found = Vec::new();
    read(stream, filter, DeliverPolicy::All, |subject, seq, payload| {
        found.push((subject, payload, seq));
        true
    })
    .await?;
    Ok(found)
}

/// The server knows what has left a queue; nothing is noted elsewhere.
struct NoMarks;

impl Marks for NoMarks {
    fn begun(&self, _: QueueId, _: Seq, _: Seq) {}

    fn idle(&self, _: QueueId, _: Seq) {}
}

impl MessageStore for JetStreamStore {
    fn open<'a>(&'a mut self, owner: &'a Owner) -> StoreFuture<'a, Result<Opened>> {
        Box::pin(async move {
            self.open = None;
            let open = Open::connect(self, &owner.system).await?;
            let ended = open.ended().await?;
            self.open = Some(open);
            Ok(Opened { ended, marks: Arc::new(NoMarks), missing: Vec::new() })
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

    fn quarantined<'a>(&'a mut self, queue: &'a str) -> StoreFuture<'a, Result<Vec<Quarantined>>> {
        Box::pin(async move { self.opened()?.quarantined(queue).await })
    }

    fn close(mut self: Box<Self>) -> StoreFuture<'static, Result<()>> {
        Box::pin(async move {
            let open = self.opened()?;
            let owned: Vec<QueueId> = open.queues.keys().copied().collect();
            for id in owned {
                open.release(id).await?;
            }
            Ok(())
        })
    }
}
