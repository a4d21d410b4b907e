//! Storing a group.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as _;
use std::fmt::{self, Write as _};

use async_nats::jetstream::context::{PublishAckFuture, PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::{Error, ErrorCode};
use supervise_core::durable::{Append, Appended, Change, CommitError, Group, MessageId, QueueId, Seq};

use super::Result;
use super::names::{Queue, content_of, of_charge, of_queue};
use super::open::Open;
use super::quarantine::of_quarantine;
use super::record::{self, Charge, Record};

/// How many messages may be on their way to the server at a time. Its client waits for ever if there are too many.
const ON_THEIR_WAY: usize = 1024;

/// A message that was published, or that is never published.
enum Sent<'a> {
    Waits { ack: PublishAckFuture, append: &'a Append, content: u64 },
    TooLarge,
}

impl Open {
    pub(super) async fn commit(&mut self, group: &Group) -> Result<Vec<Appended>, CommitError> {
        let mut answers = Vec::new();
        let mut sent = Vec::new();
        let mut handled = BTreeMap::<QueueId, BTreeSet<u64>>::new();
        for change in &group.changes {
            match change {
                Change::Append(append) => {
                    if sent.len() >= ON_THEIR_WAY {
                        self.settle(&mut answers, &mut sent).await?;
                    }
                    sent.push(self.publish(append).await?);
                }
                Change::Handled(id) => drop(handled.entry(id.queue).or_default().insert(id.seq.0)),
                other => {
                    // Earlier changes take effect first. A queue that is released has no acknowledgements left.
                    self.settle(&mut answers, &mut sent).await?;
                    self.remove_all(&mut handled).await?;
                    self.change(other).await.map_err(unknown)?;
                }
            }
        }
        self.settle(&mut answers, &mut sent).await?;
        self.remove_all(&mut handled).await?;
        // If the server has just failed, the next request says so.
        let _later = self.fill_reserve().await;
        Ok(answers)
    }

    /// The server's answers to the messages that were published, in their order.
    async fn settle(&mut self, answers: &mut Vec<Appended>, sent: &mut Vec<Sent<'_>>) -> Result<(), CommitError> {
        let mut full = BTreeMap::<QueueId, Vec<(usize, &Append)>>::new();
        let mut stored = BTreeMap::new();
        for sent in sent.drain(..) {
            let Sent::Waits { ack, append, content } = sent else {
                answers.push(Appended::TooLarge);
                continue;
            };
            let answer = self.settle_one(ack, append, content).await?;
            match answer {
                Appended::Full => full.entry(append.queue).or_default().push((answers.len(), append)),
                Appended::Stored(seq) => {
                    stored.insert(append.queue, seq);
                    // What was refused before it keeps its order, and is not sent again.
                    full.remove(&append.queue);
                }
                _ => {}
            }
            answers.push(answer);
        }
        for (queue, refused) in full {
            // If the server has just failed, the next request says so.
            if !self.make_room(queue).await.unwrap_or_default() {
                continue;
            }
            for (at, append) in refused {
                let Sent::Waits { ack, append, content } = self.publish(append).await? else { break };
                let answer = self.settle_one(ack, append, content).await?;
                let Appended::Stored(seq) = answer else { break };
                stored.insert(queue, seq);
                answers[at] = answer;
            }
        }
        for (queue, last) in stored {
            if self.queues.get(&queue).is_some_and(|queue| queue.owned.is_none()) {
                self.notify(queue, last.0).await;
            }
        }
        Ok(())
    }

    /// The server's answer to a message that was published.
    async fn settle_one(
        &mut self,
        ack: PublishAckFuture,
        append: &Append,
        content: u64,
    ) -> Result<Appended, CommitError> {
        Ok(match ack.await {
            Ok(ack) if append.key.is_some() && ack.duplicate => Appended::Known,
            Ok(ack) => {
                self.note_assigned(append.queue, ack.sequence, content).map_err(unknown)?;
                Appended::Stored(Seq(ack.sequence))
            }
            Err(error) if is_full(&error) => {
                self.reserve.may_be_spent();
                Appended::Full
            }
            // Somebody has limited the size of this queue's messages.
            Err(error) if is_one_of(&error, &[ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM]) => Appended::TooLarge,
            Err(error) => return Err(unknown(error)),
        })
    }

    async fn publish<'a>(&self, append: &'a Append) -> Result<Sent<'a>, CommitError> {
        let payload = record::encode_append(append);
        let mut message = PublishMessage::build();
        let mut size = payload.len();
        if let Some(key) = &append.key {
            let id = plain(key);
            size += id.len();
            message = message.message_id(id);
        }
        if size > self.largest {
            return Ok(Sent::TooLarge);
        }
        let subject = self.subject(&of_queue(append.queue));
        let content = content_of(&payload);
        match self.context.send_publish(subject, message.payload(payload)).await {
            Ok(ack) => Ok(Sent::Waits { ack, append, content }),
            Err(error) if error.kind() == PublishErrorKind::MaxPayloadExceeded => Ok(Sent::TooLarge),
            Err(error) => Err(unknown(error)),
        }
    }

    async fn change(&mut self, change: &Change) -> Result<()> {
        match change {
            Change::Append(_) | Change::Handled(_) => {}
            Change::Charged { id, attempts, crashes, failures } => {
                let failures = failures.clone();
                self.charge(*id, Charge { attempts: *attempts, crashes: *crashes, failures }).await?;
            }
            Change::Quarantine { id, fate, failures } => self.confine(*id, *fate, failures.clone()).await?,
            Change::Retry(id) => self.retry(*id).await?,
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

    async fn charge(&mut self, id: MessageId, charge: Charge) -> Result<()> {
        if !self.owns(id.queue).await? || self.waiting(id).await?.is_none() {
            return Ok(());
        }
        let subject = of_charge(id.queue, id.seq.0);
        self.put(&subject, charge.encode(Record::default()).end()).await?;
        if let Some(charges) = self.queues.get_mut(&id.queue).and_then(Queue::charges) {
            charges.insert(id.seq.0, charge);
        }
        Ok(())
    }

    async fn remove_all(&mut self, handled: &mut BTreeMap<QueueId, BTreeSet<u64>>) -> Result<(), CommitError> {
        for (queue, numbers) in std::mem::take(handled) {
            self.remove(queue, numbers).await.map_err(unknown)?;
        }
        Ok(())
    }

    /// Takes messages out of a queue. If the queue was lost, its next owner decides about them.
    pub(super) async fn remove(&mut self, id: QueueId, numbers: BTreeSet<u64>) -> Result<()> {
        if !self.owns(id).await? {
            return Ok(());
        }
        let Some(queue) = self.queues.get_mut(&id) else { return Ok(()) };
        let Some(owned) = &mut queue.owned else { return self.remove_shared(id, numbers).await };
        let charged: Vec<u64> =
            numbers.iter().copied().filter(|number| owned.charges.remove(number).is_some()).collect();
        owned.tally.leave(&numbers);
        let is_long = owned.tally.is_long();
        self.take_out(id, numbers).await?;
        if is_long {
            self.check_untouched(id).await?;
        }
        for number in charged {
            self.forget(&self.state, &of_charge(id, number)).await?;
        }
        Ok(())
    }
}

/// A key in the form that a header allows.
fn plain(key: &str) -> String {
    let mut id = String::from("key-");
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' {
            id.push(char::from(byte));
        } else {
            let _infallible = write!(id, "_{byte:02x}");
        }
    }
    id
}

/// Whether the server has no room for a message.
pub(super) fn is_full(error: &PublishError) -> bool {
    const FULL: [ErrorCode; 4] = [
        ErrorCode::STREAM_STORE_FAILED,
        ErrorCode::INSUFFICIENT_RESOURCES,
        ErrorCode::STORAGE_RESOURCES_EXCEEDED,
        ErrorCode::ACCOUNT_RESOURCES_EXCEEDED,
    ];
    is_one_of(error, &FULL)
}

/// Whether another process has changed a record, or is changing it: newer servers say so before the other change is stored, if the stream has
/// replicas.
pub(super) fn is_changed(error: &PublishError) -> bool {
    error.kind() == PublishErrorKind::WrongLastSequence
        || is_one_of(error, &[ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT])
}

fn is_one_of(error: &PublishError, codes: &[ErrorCode]) -> bool {
    let source = error.source().and_then(|source| source.downcast_ref::<Error>());
    source.is_some_and(|error| codes.contains(&error.error_code()))
}

fn unknown(error: impl fmt::Display) -> CommitError {
    CommitError::Unknown(format!("the message store on NATS: {error}"))
}
