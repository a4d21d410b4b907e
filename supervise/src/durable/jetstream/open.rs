//! Opens a connection to the server.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::context::{
    CreateStreamError, CreateStreamErrorKind, GetStreamError, GetStreamErrorKind,
};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::publish::PublishAck;
use async_nats::jetstream::stream::{self, LastRawMessageErrorKind, StorageType, Stream};
use async_nats::jetstream::{self, Context, ErrorCode};
use async_nats::{Client, ConnectOptions};
use bytes::Bytes;
use supervise_core::durable::{Arrived, Ended, QueueId, Seq, StoreError, StoreErrorKind};
use tokio::task::AbortHandle;
use tokio_stream::StreamExt;

use super::commit::{is_changed, is_full};
use super::handled::delete;
use super::lease::Leases;
use super::names::{Known, NamesRead, Queue, first_of, stream_name, unfit};
use super::read::{last_messages, last_number, numbers};
use super::reserve::Reserve;
use super::servers::servers;
use super::{JetStreamStore, KEYS_ARE_KEPT, Result, broken};

/// How many bytes a message in quarantine may have more than in its queue: its failures, which the runtime bounds.
const CONFINED: usize = 12 << 10;

/// The connection, and what this process knows.
pub(super) struct Open {
    pub(super) client: Client,
    pub(super) context: Context,
    /// The system's name as NATS allows it.
    pub(super) system: String,
    pub(super) settings: Settings,
    pub(super) state: Stream,
    pub(super) quarantine: Stream,
    pub(super) lease: Stream,
    pub(super) leases: Arc<Leases>,
    pub(super) queues: BTreeMap<QueueId, Queue>,
    /// What this process knows of each queue, also from earlier connections.
    pub(super) known: BTreeMap<QueueId, Known>,
    pub(super) names: NamesRead,
    /// The number of the first queue.
    pub(super) base: u32,
    /// How large a message may be.
    pub(super) largest: usize,
    /// How large anything may be that the server takes.
    pub(super) most: usize,
    pub(super) reserve: Reserve,
    /// The task that listens for what other nodes put into queues.
    _notices: Option<Notices>,
}

#[derive(Clone)]
pub(super) struct Settings {
    pub(super) replicas: usize,
    pub(super) lease: Duration,
    pub(super) token: String,
    pub(super) arrived: Option<Arrived>,
}

impl Open {
    pub(super) async fn connect(store: &JetStreamStore, system: &str) -> Result<Self> {
        let options = ConnectOptions::new().request_timeout(Some(store.accept_timeout));
        let options = store.security.apply(options).await?;
        let (servers, options) = servers(&store.url, options)?;
        let client = options.connect(servers).await.map_err(broken)?;
        let mut context = jetstream::new(client.clone());
        context.set_timeout(store.accept_timeout);
        let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
        let system: String = system.chars().map(plain).collect();
        let config = |name: &str, age: Duration| stream::Config {
            name: format!("SV_{system}_{name}"),
            subjects: vec![format!("sv.{system}.{}.>", name.to_lowercase())],
            max_messages_per_subject: 1,
            max_age: age,
            // Leases are renewed even when the disk is full.
            storage: if age.is_zero() { StorageType::File } else { StorageType::Memory },
            // NATS does not accept a window that is longer than messages live.
            duplicate_window: if age.is_zero() { KEYS_ARE_KEPT } else { age },
            num_replicas: store.replicas,
            ..stream::Config::default()
        };
        let names = config("STATE", Duration::ZERO);
        // A stream that is made here would be in the way of one that somebody restores.
        if is_missing(&context, &names.name).await?
            && let Some(queue) = queue_with_messages(&context, &system).await
            && is_missing(&context, &names.name).await?
        {
            return Err(names_are_lost(&system, &queue));
        }
        let state = open_stream(&context, names).await?;
        let quarantine = open_stream(&context, config("QUARANTINE", Duration::ZERO)).await?;
        let lease = open_stream(&context, config("LEASE", store.lease)).await?;
        let most = client.server_info().max_payload;
        for stream in [&state, &quarantine, &lease] {
            if let Some(why) = unfit_for_records(&stream.cached_info().config, most) {
                let name = &stream.cached_info().config.name;
                return Err(broken(format!("the stream {name} cannot be used, because {why}: configure it anew")));
            }
        }
        let settings = Settings {
            replicas: store.replicas,
            // If another node has created the stream with another length, the server's value counts.
            lease: lease.cached_info().config.max_age,
            token: store.token.clone(),
            arrived: store.arrived.clone(),
        };
        let leases: Arc<Leases> = Arc::default();
        let notices = match &settings.arrived {
            Some(arrived) => {
                let hearing = Hearing {
                    context: context.clone(),
                    leases: Arc::clone(&leases),
                    arrived: Arc::clone(arrived),
                    told: HashMap::new(),
                };
                Some(Notices::hear(&client, &system, hearing).await?)
            }
            None => None,
        };
        let mut open = Self {
            client,
            context,
            system,
            settings,
            state,
            quarantine,
            lease,
            leases,
            queues: BTreeMap::new(),
            known: store.known.clone(),
            names: NamesRead::default(),
            base: 0,
            largest: most.saturating_sub(CONFINED).max(most / 2),
            most,
            reserve: Reserve::default(),
            _notices: notices,
        };
        open.base = open.find_base().await?;
        open.read_names().await?;
        // If the server takes too long to store it, the store goes on without it, and looks again.
        let _later = open.fill_reserve().await;
        Ok(open)
    }

    /// The number of the first queue. A server that lost its disk gets another first number, so that numbers are not assigned twice.
    async fn find_base(&self) -> Result<u32> {
        loop {
            if let Some((payload, _)) = self.last(&self.state, "state.base").await? {
                let text = String::from_utf8_lossy(&payload);
                return text.parse().map_err(|_| broken(format!("the first queue has the number {text}")));
            }
            // Queues are made after the first number was noted, so another node may just have done both.
            if let Some(name) = queue_with_messages(&self.context, &self.system).await
                && self.last(&self.state, "state.base").await?.is_none()
            {
                return Err(names_are_lost(&self.system, &name));
            }
            // The first number is in the first quarter of all numbers.
            let number = super::random() % (1 << 30) + 1;
            // If another node was faster, its number counts.
            self.put_after("state.base", Bytes::from(number.to_string()), 0).await?;
        }
    }

    pub(super) fn subject(&self, of: &str) -> String {
        format!("sv.{}.{of}", self.system)
    }

    /// Puts a message under a subject and waits until it is durable.
    pub(super) async fn put(&self, subject: &str, payload: Bytes) -> Result<u64> {
        let ack = self.publish_record(subject, PublishMessage::build().payload(payload)).await?;
        Ok(ack.map_or(0, |ack| ack.sequence))
    }

    /// Puts a message under a subject if the last message there is `after`. Returns `None` if the last one is another.
    pub(super) async fn put_after(&self, subject: &str, payload: Bytes, after: u64) -> Result<Option<u64>> {
        let message = PublishMessage::build().payload(payload).expected_last_subject_sequence(after);
        Ok(self.publish_record(subject, message).await?.map(|ack| ack.sequence))
    }

    /// Publishes what this process must note, also when the server is full. Returns `None` if the last message there is not the expected one.
    pub(super) async fn publish_record(
        &self,
        subject: &str,
        message: PublishMessage,
    ) -> Result<Option<PublishAck>> {
        loop {
            let sent = self.context.send_publish(self.subject(subject), message.clone()).await.map_err(broken)?;
            match sent.await {
                Ok(ack) => return Ok(Some(ack)),
                Err(error) if is_changed(&error) => return Ok(None),
                Err(error) if is_full(&error) => {
                    if !self.spend_reserve().await? {
                        // The connection works: the store need not be opened again.
                        return Err(StoreError::new(StoreErrorKind::Refused, error.to_string()));
                    }
                }
                Err(error) => return Err(broken(error)),
            }
        }
    }

    /// The last message under a subject, and its number.
    pub(super) async fn last(&self, stream: &Stream, subject: &str) -> Result<Option<(Bytes, u64)>> {
        match stream.get_last_raw_message_by_subject(&self.subject(subject)).await {
            Ok(found) => Ok(Some((found.payload, found.sequence))),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(broken(error)),
        }
    }

    /// Deletes what stands under a subject.
    pub(super) async fn forget(&self, stream: &Stream, subject: &str) -> Result<()> {
        match self.last(stream, subject).await? {
            Some((_, number)) => delete(stream, number).await,
            None => Ok(()),
        }
    }

    /// Deletes what stands under many subjects.
    pub(super) async fn forget_all(&self, stream: &Stream, filter: &str) -> Result<()> {
        for number in numbers(stream, self.subject(filter)).await? {
            delete(stream, number).await?;
        }
        Ok(())
    }

    /// Whether a process has left a queue without releasing it.
    pub(super) async fn ended(&self) -> Result<Ended> {
        let owners = last_messages(&self.state, self.subject("state.owner.*"), 1).await?;
        let left =
            |(_, owner, _): &(String, Bytes, u64)| !owner.is_empty() && owner != self.settings.token.as_bytes();
        Ok(if owners.iter().any(left) { Ended::ProcessDied } else { Ended::Cleanly })
    }
}

/// Why a stream with this configuration cannot have the records of a system. `most` is the server's `max_payload`.
fn unfit_for_records(config: &stream::Config, most: usize) -> Option<&'static str> {
    let is_lease = config.name.ends_with("_LEASE");
    let takes = usize::try_from(config.max_message_size).unwrap_or_default();
    let has_limit = config.max_messages > 0 || config.max_bytes > 0;
    let reasons = [
        // With more, the record before one that was deleted would come back.
        (config.max_messages_per_subject != 1, "its `max_msgs_per_subject` is not 1"),
        (config.discard_new_per_subject, "it has `discard_new_per_subject`"),
        (!is_lease && (1..most).contains(&takes), "its `max_msg_size` is less than the server's `max_payload`"),
        (is_lease && config.max_age.is_zero(), "it has no `max_age`"),
        (
            is_lease && has_limit && config.discard == stream::DiscardPolicy::Old,
            "it has a limit, and `discard` is `old`",
        ),
    ];
    if is_lease { first_of(reasons) } else { unfit(config).or_else(|| first_of(reasons)) }
}

/// The error if a stream that belongs to a queue has messages, and nobody knows the name of the queue.
fn names_are_lost(system: &str, stream: &str) -> StoreError {
    let text = format!(
        "the stream {stream} has messages, and the stream SV_{system}_STATE has no names of queues: restore the newest SV_{system}_STATE, or delete {stream} to go on without them"
    );
    StoreError::new(StoreErrorKind::Damaged, text)
}

async fn is_missing(context: &Context, stream: &str) -> Result<bool> {
    match context.get_stream(stream).await {
        Ok(_) => Ok(false),
        Err(error) if is_gone(&error) => Ok(true),
        Err(error) => Err(broken(error)),
    }
}

/// Whether the server has no such stream.
pub(super) fn is_gone(error: &GetStreamError) -> bool {
    matches!(error.kind(), GetStreamErrorKind::JetStream(error) if error.error_code() == ErrorCode::STREAM_NOT_FOUND)
}

/// The name of a stream that belongs to a queue of the system and has messages. `None` also if this user may not list streams.
async fn queue_with_messages(context: &Context, system: &str) -> Option<String> {
    let prefix = format!("SV_{system}_Q");
    let mut streams = context.streams();
    while let Some(Ok(info)) = streams.next().await {
        let number = info.config.name.strip_prefix(&prefix).and_then(|number| number.parse::<u32>().ok());
        if number.is_some() && info.state.messages > 0 {
            return Some(info.config.name);
        }
    }
    None
}

/// Opens a stream, which is created if there is none.
///
/// If several nodes create it at the same time, the server may tell one of them that the subjects overlap with those of an existing
/// stream (seen with nats-server 2.9.10). That is the same stream, so it is there now.
pub(super) async fn open_stream(context: &Context, config: stream::Config) -> Result<Stream> {
    let is_overlap = |error: &CreateStreamError| match error.kind() {
        CreateStreamErrorKind::JetStream(error) => error.error_code() == ErrorCode::STREAM_SUBJECT_OVERLAP,
        _ => false,
    };
    let opened = match context.get_or_create_stream(config.clone()).await {
        Err(error) if is_overlap(&error) => context.get_or_create_stream(config).await,
        opened => opened,
    };
    opened.map_err(broken)
}

/// Listens for what other nodes put into queues, until it is dropped. A node that puts a message into a queue that it does not own announces it.
struct Notices(AbortHandle);

impl Notices {
    async fn hear(client: &Client, system: &str, mut hearing: Hearing) -> Result<Self> {
        let mut heard = client.subscribe(format!("sv.{system}.notice.*")).await.map_err(broken)?;
        let system = system.to_owned();
        let hearing = tokio::spawn(async move {
            while let Some(notice) = heard.next().await {
                let queue = last_number(&notice.subject).and_then(|number| u32::try_from(number).ok());
                let last = std::str::from_utf8(&notice.payload).ok().and_then(|text| text.parse().ok());
                if let (Some(queue), Some(last)) = (queue, last) {
                    hearing.hears(&system, QueueId(queue), last).await;
                }
            }
        });
        Ok(Self(hearing.abort_handle()))
    }
}

/// Who is told of a notice.
struct Hearing {
    context: Context,
    leases: Arc<Leases>,
    arrived: Arrived,
    /// The last number of each queue, as its stream has said.
    told: HashMap<QueueId, u64>,
}

impl Hearing {
    /// Any client of the server can send a notice, so the number comes from the stream. It is asked once for many notices.
    async fn hears(&mut self, system: &str, queue: QueueId, noticed: u64) {
        // It may name any queue.
        if !self.leases.has(queue) {
            self.told.remove(&queue);
            return;
        }
        // Somebody has left the queue.
        if noticed == 0 {
            return (self.arrived)(queue, Seq(0));
        }
        let told = self.told.entry(queue).or_default();
        if noticed > *told
            && let Ok(stream) = self.context.get_stream(stream_name(system, queue)).await
        {
            *told = stream.cached_info().state.last_sequence;
            (self.arrived)(queue, Seq(*told));
        }
    }
}

impl Drop for Notices {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Open {
    /// Tells the owner of a queue what was put into it.
    pub(super) async fn notify(&self, queue: QueueId, last: u64) {
        let subject = self.subject(&format!("notice.{}", queue.0));
        // If this gets lost, the owner looks by itself from time to time.
        let _lost = self.client.publish(subject, Bytes::from(last.to_string())).await;
    }
}
