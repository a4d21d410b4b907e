//! A connection, and the queues it knows.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{self, Stream};
use async_nats::jetstream::{self, Context};
use bytes::Bytes;
use supervise_core::durable::{Ended, QueueId, QueueRow};

use super::lease::Lease;
use super::read::{last_messages, last_number};
use super::record::{self, Charge};
use super::{JetStreamStore, KEYS_ARE_KEPT, Result, broken, next_number};

/// The connection, and what this process knows.
pub(super) struct Open {
    pub(super) context: Context,
    /// The system's name as NATS allows it.
    pub(super) system: String,
    pub(super) settings: Settings,
    pub(super) state: Stream,
    pub(super) quarantine: Stream,
    pub(super) queues: BTreeMap<QueueId, Queue>,
    /// Tells this connection from the earlier ones of the process, whose messages the server may still know.
    pub(super) connection: u64,
    pub(super) sent: u64,
}

#[derive(Clone)]
pub(super) struct Settings {
    pub(super) replicas: usize,
    pub(super) lease: Duration,
    pub(super) token: String,
}

pub(super) struct Queue {
    pub(super) name: String,
    pub(super) stream: Stream,
    pub(super) owned: Option<Owned>,
}

/// What the owner of a queue knows.
pub(super) struct Owned {
    pub(super) lease: Lease,
    /// All before it have left the queue.
    pub(super) first: u64,
    /// What has left it before its turn.
    pub(super) gone: BTreeSet<u64>,
    pub(super) charges: HashMap<u64, Charge>,
}

impl Open {
    pub(super) async fn connect(store: &JetStreamStore, system: &str) -> Result<Self> {
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

    pub(super) fn subject(&self, of: &str) -> String {
        format!("sv.{}.{of}", self.system)
    }

    /// Learns which queues there are. Other nodes make some.
    pub(super) async fn read_names(&mut self) -> Result<()> {
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

    pub(super) async fn stream_of(&self, id: QueueId) -> Result<Stream> {
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

    pub(super) fn by_name(&self, name: &str) -> Option<QueueId> {
        self.queues.iter().find(|(_, queue)| queue.name == name).map(|(id, _)| *id)
    }

    /// Puts a message under a subject and waits until it is durable.
    pub(super) async fn put(&self, subject: &str, payload: Bytes) -> Result<u64> {
        let ack = self.context.publish(self.subject(subject), payload).await.map_err(broken)?;
        Ok(ack.await.map_err(broken)?.sequence)
    }

    pub(super) async fn forget(&self, stream: &Stream, subject: &str) -> Result<()> {
        stream.purge().filter(self.subject(subject)).await.map_err(broken)?;
        Ok(())
    }

    pub(super) async fn queue_named(&mut self, name: &str) -> Result<QueueId> {
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

    pub(super) async fn rename(&mut self, from: &str, to: &str) -> Result<()> {
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

    pub(super) async fn discard(&mut self, id: QueueId) -> Result<()> {
        self.put(&format!("state.queue.{}", id.0), Bytes::new()).await?;
        self.forget(&self.state, &format!("state.charge.{}.*", id.0)).await?;
        self.forget(&self.quarantine, &format!("quarantine.{}.*", id.0)).await?;
        self.queues.remove(&id);
        self.context.delete_stream(format!("SV_{}_Q{}", self.system, id.0)).await.map_err(broken)?;
        Ok(())
    }

    pub(super) async fn row(&self, id: QueueId) -> Result<Option<QueueRow>> {
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

    pub(super) async fn rows(&mut self) -> Result<Vec<QueueRow>> {
        self.read_names().await?;
        let mut rows = Vec::new();
        for id in self.queues.keys() {
            rows.extend(self.row(*id).await?);
        }
        Ok(rows)
    }

    /// Whether a process has left a queue without releasing it.
    pub(super) async fn ended(&self) -> Result<Ended> {
        let owners = last_messages(&self.state, self.subject("state.owner.*")).await?;
        let left =
            |(_, owner, _): &(String, Bytes, u64)| !owner.is_empty() && owner != self.settings.token.as_bytes();
        Ok(if owners.iter().any(left) { Ended::ProcessDied } else { Ended::Cleanly })
    }
}
