//! Messages of senders that do not own the queue.
//!
//! Rules 27.11 and 27.17.

use std::sync::Arc;

use super::super::inbox::HandedOver;
use super::super::store::Seq;
use super::{AcceptError, Change, QueueId, StoreError, StoreErrorKind, Writer, commit};

/// After this many messages, the writer looks up again how full a queue is.
const KNOWN: u64 = 1000;

const FULL: &str = "its queue holds as many as its mailbox has capacity for";

impl Writer {
    pub(super) async fn send_to(&mut self, mut message: HandedOver) {
        let name = Arc::clone(&message.outlet.name);
        // In most cases, no actor of this process owns the queue.
        let owner = self.queues.values().find(|entry| entry.outlet.name == name);
        if let Some(entry) = owner {
            if entry.outlet.take_room() {
                message.owner = Some(Arc::clone(&entry.outlet));
                return self.group.append(entry.id, message);
            }
            return self.refuse_sent(message, &AcceptError::Full(FULL.into()));
        }
        match self.number_of(&name, message.outlet.settings.capacity).await {
            Ok(Some(queue)) => self.group.append(queue, message),
            Ok(None) => self.refuse_sent(message, &AcceptError::Full(FULL.into())),
            Err(error) => {
                let text = error.to_string();
                self.refuse_sent(message, &AcceptError::StoreDown(text.as_str().into()));
                if error.kind == StoreErrorKind::Broken {
                    self.outage(text).await;
                }
            }
        }
    }

    fn refuse_sent(&self, message: HandedOver, why: &AcceptError) {
        self.inbox.give_room(message.bytes());
        message.refuse(why);
    }

    /// The number of a queue without an owner in this process. The queue is created if there is none. `None` if it is full.
    async fn number_of(&mut self, name: &Arc<str>, capacity: u64) -> Result<Option<QueueId>, StoreError> {
        if let Some((queue, room @ 1..)) = self.numbers.get_mut(name) {
            *room -= 1;
            return Ok(Some(*queue));
        }
        let (queue, waiting) = match self.store.queue(name).await? {
            Some(row) => (row.queue, row.waiting),
            None => match self.store.claim(name).await {
                Ok(claim) => {
                    self.group.add(Change::Release(claim.queue), commit::Then::Nothing);
                    (claim.queue, claim.waiting)
                }
                // An owner has created the queue in the meantime.
                Err(error) if error.kind == StoreErrorKind::Claimed => {
                    self.store.queue(name).await?.map(|row| (row.queue, row.waiting)).ok_or(error)?
                }
                Err(error) => return Err(error),
            },
        };
        // The messages that were sent before, and that the store does not have yet, count as well.
        let waiting = waiting + self.group.messages_for(queue);
        let Some(room) = capacity.checked_sub(waiting + 1) else { return Ok(None) };
        self.numbers.insert(Arc::clone(name), (queue, room.min(KNOWN)));
        Ok(Some(queue))
    }

    /// The message of a sender is durable. If its queue has an owner here, the message is read when its turn comes.
    pub(super) fn sent(&mut self, seq: Seq, message: HandedOver) {
        message.outlet.give_room();
        drop(message.held.stored());
        let Some(owner) = message.owner else { return };
        let term = owner.term();
        if self.queues.contains_key(&term) {
            // The message has its room already.
            let _counted = owner.queue().note_assigned(seq);
            self.hungry.insert(term);
            if owner.settings.shared
                && let Some(id) = self.queues.get(&term).map(|entry| entry.id)
            {
                self.look_at(id);
            }
        }
    }
}
