//! Messages in quarantine.

use std::collections::BTreeSet;
use std::time::SystemTime;

use async_nats::jetstream::message::PublishMessage;
use supervise_core::durable::{Fate, MessageId, Quarantined, Room, Seq, StoreError, StoreErrorKind, Stored};

use super::open::Open;
use super::read::last_number;
use super::{Result, record};

impl Open {
    pub(super) async fn confine(&mut self, id: MessageId, fate: Fate, failures: Vec<String>) -> Result<()> {
        if self.owns(id.queue).await?
            && let Some(message) = self.waiting(id).await?
        {
            let message = Stored { failures, ..message };
            let payload = record::encode_confined(&message, fate, SystemTime::now());
            self.put(&of_quarantine(id), payload).await?;
            self.remove(id.queue, BTreeSet::from([id.seq.0])).await?;
        }
        Ok(())
    }

    /// If the message is in quarantine, takes it out of its queue. Returns whether it is.
    pub(super) async fn finish_quarantine_of(&mut self, id: MessageId) -> Result<bool> {
        let is_confined = self.confined(id).await?.is_some();
        if is_confined {
            self.take_out(id.queue, BTreeSet::from([id.seq.0])).await?;
        }
        Ok(is_confined)
    }

    async fn confined(&self, id: MessageId) -> Result<Option<Stored>> {
        let found = self.last(&self.quarantine, &of_quarantine(id)).await?;
        Ok(found.map(|(payload, _)| record::decode_confined(id.seq.0, &payload).0))
    }

    pub(super) async fn retry(&mut self, id: MessageId) -> Result<()> {
        let Some(message) = self.confined(id).await? else { return Ok(()) };
        let message = PublishMessage::build()
            .payload(record::encode(&message.kind, message.accepted_at, &message.body))
            .message_id(format!("retry-{id}"));
        let Some(ack) = self.publish_record(&format!("q.{}", id.queue.0), message).await? else { return Ok(()) };
        if !ack.duplicate {
            self.note_assigned(id.queue, ack.sequence)?;
        }
        self.forget(&self.quarantine, &of_quarantine(id)).await?;
        // The queue may belong to another node.
        self.notify(id.queue, ack.sequence).await;
        Ok(())
    }

    pub(super) async fn quarantined(&mut self, name: &str, after: Seq, room: Room) -> Result<Vec<Quarantined>> {
        if self.by_name(name).is_none() {
            self.read_names().await?;
        }
        let Some(queue) = self.by_name(name) else {
            let text = format!("the message store on NATS: there is no queue {name}");
            return Err(StoreError::new(StoreErrorKind::Refused, text));
        };
        let subjects = self.confined_subjects(&format!("quarantine.{}.*", queue.0)).await?;
        let numbers: BTreeSet<u64> = subjects.iter().filter_map(|subject| last_number(subject)).collect();
        let (mut page, mut bytes) = (Vec::new(), 0_usize);
        for number in numbers.range(after.0.saturating_add(1)..) {
            if page.len() >= room.messages {
                break;
            }
            let id = MessageId { queue, seq: Seq(*number) };
            // Somebody may have discarded it in the meantime.
            let Some((payload, _)) = self.last(&self.quarantine, &of_quarantine(id)).await? else { continue };
            let (message, fate, since) = record::decode_confined(*number, &payload);
            bytes = bytes.saturating_add(message.body.len());
            if bytes > room.bytes && !page.is_empty() {
                break;
            }
            page.push(Quarantined { id, fate, since, message });
        }
        Ok(page)
    }
}

pub(super) fn of_quarantine(id: MessageId) -> String {
    format!("quarantine.{}.{}", id.queue.0, id.seq.0)
}
