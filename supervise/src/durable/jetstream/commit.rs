//! Storing a group.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::PublishAckFuture;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{DeleteMessageErrorKind, Stream};
use supervise_core::durable::{Append, Appended, Change, CommitError, Group, MessageId, QueueId, Seq};

use super::open::Open;
use super::quarantine::of_quarantine;
use super::record::{self, Charge, Record};
use super::{Result, broken};

impl Open {
    /// The answers of messages that were published, in their order.
    pub(super) async fn settle(
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

    pub(super) async fn commit(&mut self, group: &Group) -> Result<Vec<Appended>, CommitError> {
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

    pub(super) async fn publish(&mut self, append: &Append) -> Result<PublishAckFuture, CommitError> {
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

    pub(super) async fn change(&mut self, change: &Change) -> Result<()> {
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

    pub(super) async fn charge(&mut self, id: MessageId, charge: Charge) -> Result<()> {
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

    /// Deletes messages of a queue: those at its head together.
    pub(super) async fn remove(&mut self, id: QueueId, numbers: BTreeSet<u64>) -> Result<()> {
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
