//! Messages in quarantine.

use std::collections::BTreeSet;
use std::time::SystemTime;

use async_nats::jetstream::message::PublishMessage;
use supervise_core::durable::{
    Fate, MessageId, Quarantined, QueueId, Room, Seq, StoreError, StoreErrorKind, Stored,
};

use super::handled::delete;
use super::names::{content_of, of_queue};
use super::open::Open;
use super::read::last_number;
use super::{Result, record};

/// A message whose place in quarantine another one has goes to the number that is greater by this. No stream assigns such numbers.
const ELSEWHERE: u64 = 1 << 48;

/// How many bytes the id of a retried message may take, with its header.
const ID: usize = 128;

/// The number that a message in quarantine had in its queue.
pub(super) fn before_quarantine(number: u64) -> u64 {
    number % ELSEWHERE
}

impl Open {
    pub(super) async fn confine(&mut self, id: MessageId, fate: Fate, failures: Vec<String>) -> Result<()> {
        if self.owns(id.queue).await?
            && let Some(message) = self.waiting(id).await?
        {
            let message = Stored { failures, ..message };
            let payload = record::encode_confined(&message, fate, SystemTime::now(), self.most);
            let place = self.place(id, &message).await?;
            self.put(&of_quarantine(place), payload).await?;
            self.remove(id.queue, BTreeSet::from([id.seq.0])).await?;
        }
        Ok(())
    }

    /// The place of a message in quarantine. If somebody has made its stream anew, or restored an older one, an earlier message with the same
    /// number may be in quarantine.
    async fn place(&self, mut id: MessageId, message: &Stored) -> Result<MessageId> {
        while self.confined(id).await?.is_some_and(|there| !record::is_same(&there, message)) {
            id.seq.0 += ELSEWHERE;
        }
        Ok(id)
    }

    /// The places in quarantine that have messages of a queue.
    pub(super) async fn places(&self, queue: QueueId) -> Result<Vec<u64>> {
        let subjects = self.confined_subjects(&format!("quarantine.{}.*", queue.0)).await?;
        Ok(subjects.iter().filter_map(|subject| last_number(subject)).collect())
    }

    /// Whether a message that waits is in quarantine too, in one of these places. Somebody may have discarded another message that had its number.
    pub(super) async fn is_confined(&self, id: MessageId, message: &Stored, places: &[u64]) -> Result<bool> {
        for place in places.iter().filter(|place| before_quarantine(**place) == id.seq.0) {
            let there = self.confined(MessageId { seq: Seq(*place), ..id }).await?;
            if there.is_some_and(|there| record::is_same(&there, message)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn confined(&self, id: MessageId) -> Result<Option<Stored>> {
        Ok(self.confined_at(id).await?.map(|(message, _)| message))
    }

    /// The same, and its number in the stream of the quarantine.
    async fn confined_at(&self, id: MessageId) -> Result<Option<(Stored, u64)>> {
        let found = self.last(&self.quarantine, &of_quarantine(id)).await?;
        Ok(found.map(|(payload, number)| (record::decode_confined(id.seq.0, &payload).0, number)))
    }

    pub(super) async fn retry(&mut self, id: MessageId) -> Result<()> {
        let Some((message, number)) = self.confined_at(id).await? else { return Ok(()) };
        let payload = record::encode_stored(&message);
        let content = content_of(&payload);
        let fits = payload.len() + ID <= self.most;
        let mut message = PublishMessage::build().payload(payload);
        // Only a message that another program has published can be too large for an id. It is delivered twice if this process dies right now.
        if fits {
            message = message.message_id(format!("retry-{id}"));
        }
        let subject = of_queue(id.queue);
        let ack = match self.publish_record(&subject, message.clone()).await {
            // Perhaps the stream is full of what was handled.
            Err(error) if error.kind == StoreErrorKind::Refused && self.make_room(id.queue).await? => {
                self.publish_record(&subject, message).await?
            }
            ack => ack?,
        };
        let Some(ack) = ack else { return Ok(()) };
        if !ack.duplicate {
            self.note_assigned(id.queue, ack.sequence, content)?;
        }
        // Another message may have this place now.
        delete(&self.quarantine, number).await?;
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
        let numbers: BTreeSet<u64> = self.places(queue).await?.into_iter().collect();
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
