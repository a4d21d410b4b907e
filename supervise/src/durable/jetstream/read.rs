//! Reading streams.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::{self, Stream};
use bytes::Bytes;
use supervise_core::durable::{MessageId, QueueId, Room, Seq, StoreError, StoreErrorKind, Stored};
use tokio::time::timeout;
use tokio_stream::StreamExt;

use super::open::Open;
use super::{Result, broken, record};

/// How many messages are requested at a time, at first and at most. Each request doubles the number, because the sizes are not known.
const BATCH: (usize, usize) = (8, 256);

/// How long the server may take to send the next message.
const PATIENCE: Duration = Duration::from_secs(5);

/// After how long without a message the server is asked what it still has.
const GLANCE: Duration = Duration::from_millis(250);

impl Open {
    pub(super) async fn page(&mut self, id: QueueId, after: Seq, room: Room) -> Result<Vec<Stored>> {
        let owns = self.owns(id).await?;
        if owns {
            self.check_untouched(id).await?;
        }
        let Some(queue) = self.queues.get(&id) else { return Ok(Vec::new()) };
        let charges = match &queue.owned {
            Some(owned) if owns => &owned.charges,
            _ => {
                let text = format!("the queue {} belongs to another process", queue.name);
                return Err(StoreError::new(StoreErrorKind::Claimed, text));
            }
        };
        let mut page: Vec<Stored> = Vec::new();
        let mut bytes = 0_usize;
        let from = DeliverPolicy::ByStartSequence { start_sequence: after.0 + 1 };
        let kept = queue.kept.number;
        // The server may count messages behind the last one that have left the stream, and wait for them.
        let last = self.known.get(&id).map_or(0, |known| known.looked);
        let which = pull::Config { deliver_policy: from, ..pull::Config::default() };
        read(&queue.stream, which, room.messages, |_, seq, payload| {
            let may_have_more = seq < last;
            if seq == kept {
                return may_have_more;
            }
            let charge = charges.get(&seq).cloned().unwrap_or_default();
            let message = record::decode(seq, &payload, charge);
            bytes = bytes.saturating_add(message.body.len());
            let has_room = page.is_empty() || (page.len() < room.messages && bytes <= room.bytes);
            if has_room {
                page.push(message);
            }
            has_room && page.len() < room.messages && may_have_more
        })
        .await?;
        Ok(page)
    }

    /// The message if it waits.
    pub(super) async fn waiting(&mut self, id: MessageId) -> Result<Option<Stored>> {
        let Some(queue) = self.queues.get_mut(&id.queue) else { return Ok(None) };
        if queue.kept.number == id.seq.0 {
            return Ok(None);
        }
        let charge = queue.charges().and_then(|charges| charges.get(&id.seq.0)).cloned().unwrap_or_default();
        let found = raw(&queue.stream, id.seq).await?;
        Ok(found.map(|payload| record::decode(id.seq.0, &payload, charge)))
    }
}

/// The payload of one message, if the stream has it.
pub(super) async fn raw<I>(stream: &Stream<I>, seq: Seq) -> Result<Option<Bytes>> {
    Ok(found(stream, seq).await?.map(|message| message.payload))
}

/// One message, if the stream has it.
pub(super) async fn found<I>(stream: &Stream<I>, seq: Seq) -> Result<Option<StreamMessage>> {
    match stream.get_raw_message(seq.0).await {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == stream::RawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(broken(error)),
    }
}

/// Reads messages of a stream until `take` has enough, about `most`: subject, number and payload of each. Fails if some of them were lost on their
/// way, because the server does not send a message twice.
pub(super) async fn read<I>(
    stream: &Stream<I>,
    which: pull::Config,
    most: usize,
    mut take: impl FnMut(String, u64, Bytes) -> bool,
) -> Result<()> {
    let config = pull::Config {
        ack_policy: AckPolicy::None,
        memory_storage: true,
        inactive_threshold: Duration::from_secs(30),
        ..which
    };
    let mut consumer = stream.create_consumer(config).await.map_err(broken)?;
    let mut left = consumer.cached_info().num_pending;
    let mut size = BATCH.0.min(most.max(1));
    let mut received = 0;
    'batches: while left > 0 {
        let mut batch = consumer.fetch().max_messages(size).messages().await.map_err(broken)?;
        size = (size * 2).min(BATCH.1);
        let mut is_empty = true;
        let mut waited = Duration::ZERO;
        loop {
            let next = timeout(GLANCE, batch.next()).await;
            if let Ok(Some(message)) = next {
                let message = message.map_err(broken)?;
                let info = message.info().map_err(broken)?;
                received += 1;
                if info.consumer_sequence != received {
                    return Err(broken("a message was lost on its way from the server"));
                }
                (is_empty, waited, left) = (false, Duration::ZERO, info.pending);
                let seq = info.stream_sequence;
                if !take(message.subject.to_string(), seq, message.payload.clone()) {
                    break 'batches;
                }
                continue;
            }
            let has_ended = next.is_ok();
            if has_ended && !is_empty {
                break;
            }
            // Somebody has deleted what was left, or the server is slow. nats-server 2.9.10 may also count messages that it has deleted, and wait
            // for them for ever.
            let now = consumer.info().await.map_err(broken)?;
            if now.delivered.consumer_sequence == received && now.num_pending < left {
                left = now.num_pending;
                break;
            }
            waited += GLANCE;
            if has_ended || waited >= PATIENCE {
                return Err(broken("the message store on NATS has sent less than it has"));
            }
        }
    }
    // If that fails, the consumer ends by itself when it gets no request for a while.
    let _ = stream.delete_consumer(&consumer.cached_info().name).await;
    Ok(())
}

/// The last message of each subject, with its number, which is at least `start_sequence`.
pub(super) async fn last_messages(
    stream: &Stream,
    filter: String,
    start_sequence: u64,
) -> Result<Vec<(String, Bytes, u64)>> {
    let mut found = Vec::new();
    let deliver_policy = DeliverPolicy::ByStartSequence { start_sequence };
    let which = pull::Config { filter_subject: filter, deliver_policy, ..pull::Config::default() };
    read(stream, which, usize::MAX, |subject, seq, payload| {
        found.push((subject, payload, seq));
        true
    })
    .await?;
    Ok(found)
}

/// The messages from a number on. The server does not send what is in them.
pub(super) fn numbers_from(start_sequence: u64) -> pull::Config {
    let deliver_policy = DeliverPolicy::ByStartSequence { start_sequence };
    pull::Config { deliver_policy, headers_only: true, ..pull::Config::default() }
}

/// The numbers of messages. The server does not send what is in them.
pub(super) async fn numbers(stream: &Stream, filter: String) -> Result<Vec<u64>> {
    let mut found = Vec::new();
    let which = pull::Config { filter_subject: filter, ..numbers_from(1) };
    read(stream, which, usize::MAX, |_, seq, _| {
        found.push(seq);
        true
    })
    .await?;
    Ok(found)
}

/// The subjects of the messages that a stream has.
pub(super) async fn subjects(stream: &Stream, filter: String) -> Result<Vec<String>> {
    let mut subjects = stream.info_with_subjects(filter).await.map_err(broken)?;
    let mut found = Vec::new();
    while let Some(subject) = subjects.next().await {
        found.push(subject.map_err(broken)?.0);
    }
    Ok(found)
}

/// The number at the end of a subject.
pub(super) fn last_number(subject: &str) -> Option<u64> {
    subject.rsplit('.').next()?.parse().ok()
}
