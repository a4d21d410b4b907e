//! Reading streams.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::stream::{self, Stream};
use bytes::Bytes;
use supervise_core::durable::{MessageId, QueueId, Room, Seq, Stored};
use tokio_stream::StreamExt;

use super::open::Open;
use super::{BATCH, Result, broken, record};

impl Open {
    pub(super) async fn page(&mut self, id: QueueId, after: Seq, room: Room) -> Result<Vec<Stored>> {
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

    /// The message if it waits.
    pub(super) async fn waiting(&self, id: MessageId) -> Result<Option<Stored>> {
        let Some(queue) = self.queues.get(&id.queue) else { return Ok(None) };
        let charges = queue.owned.as_ref().map(|owned| &owned.charges);
        let charge = charges.and_then(|charges| charges.get(&id.seq.0)).cloned().unwrap_or_default();
        match queue.stream.get_raw_message(id.seq.0).await {
            Ok(found) => Ok(Some(record::decode(id.seq.0, &found.payload, charge))),
            Err(error) if error.kind() == stream::RawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(broken(error)),
        }
    }
}

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
pub(super) async fn last_messages(stream: &Stream, filter: String) -> Result<Vec<(String, Bytes, u64)>> {
    let mut found = Vec::new();
    read(stream, filter, DeliverPolicy::All, |subject, seq, payload| {
        found.push((subject, payload, seq));
        true
    })
    .await?;
    Ok(found)
}

/// The number at the end of a subject.
pub(super) fn last_number(subject: &str) -> Option<u64> {
    subject.rsplit('.').next()?.parse().ok()
}
