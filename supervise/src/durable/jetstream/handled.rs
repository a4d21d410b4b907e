//! Takes messages that have left a queue out of its stream.
//!
//! They are deleted one by one, and the last message of a stream stays there. If nats-server is killed while it purges a stream, it
//! may lose messages that it has acknowledged, and it may forget the last number of a stream without messages (seen with 2.9.10; the
//! server's changes 6778, 7627 and 7676 mend parts of it). A record says that the message that stays was handled.

use std::collections::BTreeSet;

use async_nats::datetime::DateTime;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::stream::{DeleteMessageErrorKind, State, Stream};
use bytes::Bytes;
use supervise_core::durable::{QueueId, Seq, StoreErrorKind};
use tokio::task::JoinSet;

use super::names::{Looked, Queue, Sight};
use super::open::Open;
use super::read::found;
use super::shared::of_shared;
use super::{Result, broken};

/// How many requests are under way at a time. The server works them off one by one, so behind too many others one would take too long.
const AT_ONCE: usize = 64;

/// The message that was handled and stays in its stream, because it is the last one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Kept {
    /// 0 if there is none.
    pub(super) number: u64,
    /// The number of the record.
    revision: u64,
    /// The stream when the message was its last one.
    sight: Sight,
}

/// What waits in a stream.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Waiting {
    /// The first message, or the next one that arrives.
    pub(super) first: Seq,
    /// The last number that the stream has assigned.
    pub(super) last: Seq,
    pub(super) messages: u64,
}

impl Waiting {
    /// `kept` was handled and stays in the stream.
    pub(super) fn of(state: &State, kept: Option<u64>) -> Self {
        let last = state.last_sequence;
        let first = match state.first_sequence {
            _ if state.messages == 0 => last + 1,
            first if kept == Some(first) => first + 1,
            first => first,
        };
        Self { first: Seq(first), last: Seq(last), messages: state.messages - u64::from(kept.is_some()) }
    }
}

impl Open {
    /// Deletes messages that have left their queue, but for the last message of the stream.
    pub(super) async fn take_out(&mut self, id: QueueId, mut numbers: BTreeSet<u64>) -> Result<()> {
        let highest = numbers.last().copied().unwrap_or_default();
        // Somebody may have made the stream anew, or restored an older one. Then these numbers are those of other messages.
        let state = self.stream_state(id).await?;
        self.check_complete(id, &state).await?;
        let last = self.known.get(&id).map_or(0, |known| known.last);
        if highest >= last {
            if self.keep(id, highest).await? {
                numbers.remove(&highest);
            }
        } else {
            self.release_kept(id, last).await?;
        }
        let Some(stream) = self.queues.get(&id).map(|queue| queue.stream.clone()) else { return Ok(()) };
        let delete = |number| {
            let stream = stream.clone();
            async move { delete(&stream, number).await }
        };
        few_at_once(numbers.into_iter().map(delete)).await?;
        self.check_still_fit(id, &state)
    }

    /// Notes that the last message of a stream was handled. Returns `false` if it may be deleted.
    async fn keep(&mut self, id: QueueId, number: u64) -> Result<bool> {
        loop {
            // The record names one message only.
            self.release_kept(id, number).await?;
            let Some(kept) = self.queues.get(&id).map(|queue| queue.kept) else { return Ok(false) };
            if kept.number >= number {
                return Ok(kept.number == number);
            }
            let sight = self.known.get(&id).map(|known| known.sight).unwrap_or_default();
            let fields = [number, sight.created, sight.newest].map(u64::to_le_bytes);
            match self.put_after(&of_handled(id), Bytes::from(fields.concat()), kept.revision).await {
                Ok(Some(revision)) => self.set_kept(id, Kept { number, revision, sight }),
                // Another process shares the queue.
                Ok(None) => self.read_kept(id).await?,
                // The server has no room for a record. The message makes some.
                Err(error) if error.kind == StoreErrorKind::Refused => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }

    /// Deletes the message that was kept if it is not the last one any more.
    pub(super) async fn release_kept(&mut self, id: QueueId, last: u64) -> Result<()> {
        let Some(queue) = self.queues.get_mut(&id) else { return Ok(()) };
        if (1..last).contains(&queue.kept.number) {
            delete(&queue.stream, queue.kept.number).await?;
            queue.kept.number = 0;
        }
        Ok(())
    }

    /// If the only message of a stream was handled and stays there, deletes it, because the stream has no room for another one. Returns whether
    /// there is more room now.
    pub(super) async fn make_room(&mut self, id: QueueId) -> Result<bool> {
        self.read_kept(id).await?;
        let state = self.stream_state(id).await?;
        let kept = self.kept_in(id, &state).await?;
        let (1, Some(number), Some(queue)) = (state.messages, kept, self.queues.get(&id)) else {
            return Ok(false);
        };
        delete(&queue.stream, number).await?;
        Ok(true)
    }

    /// Which message of a stream was handled and stays there. A record of an earlier stream says nothing about this one.
    pub(super) async fn read_kept(&mut self, id: QueueId) -> Result<()> {
        let record = self.last(&self.state, &of_handled(id)).await?;
        let mut kept = record.map_or_else(Kept::default, |(payload, revision)| {
            let mut fields = payload.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
            let mut next = || fields.next().unwrap_or_default();
            Kept { number: next(), revision, sight: Sight { created: next(), newest: next() } }
        });
        let created = self.known.get(&id).map_or(0, |known| known.sight.created);
        if let Some(queue) = self.queues.get(&id)
            && !kept.sight.is_of(created)
            && !found(&queue.stream, Seq(kept.number))
                .await?
                .is_some_and(|message| kept.sight.had_last(created, message.time))
        {
            kept.number = 0;
        }
        self.set_kept(id, kept);
        Ok(())
    }

    /// The message that was kept, if it is among those that the stream counts. Somebody may have deleted it.
    pub(super) async fn kept_in(&self, id: QueueId, state: &Looked) -> Result<Option<u64>> {
        let Some(queue) = self.queues.get(&id) else { return Ok(None) };
        let Kept { number, sight, .. } = queue.kept;
        let arrived = arrived(queue, number, state).await?;
        Ok(arrived.is_some_and(|arrived| sight.had_last(state.created, arrived)).then_some(number))
    }

    /// What waits in a stream with this state.
    pub(super) async fn waiting_in(&self, id: QueueId, state: &Looked) -> Result<Waiting> {
        Ok(Waiting::of(state, self.kept_in(id, state).await?))
    }

    /// If a stream has come back from a backup that is older than the record, the record would hide a message that gets this number again, and
    /// the record of the queue's members would hide others.
    /// The record was read before the `state`.
    pub(super) async fn check_kept(&mut self, id: QueueId, state: &Looked) -> Result<()> {
        let Some(queue) = self.queues.get(&id) else { return Ok(()) };
        let kept = queue.kept;
        let is_another =
            arrived(queue, kept.number, state).await?.is_some_and(|time| kept.sight.is_not_last(time));
        if kept.number > state.last_sequence || is_another {
            // Members have held messages under the same numbers.
            self.forget(&self.state, &of_shared(id)).await?;
            delete(&self.state, kept.revision).await?;
            self.read_kept(id).await?;
        }
        Ok(())
    }

    fn set_kept(&mut self, id: QueueId, kept: Kept) {
        if let Some(queue) = self.queues.get_mut(&id) {
            queue.kept = kept;
        }
    }
}

/// When a message arrived, if it is among those that a stream with this state counts.
async fn arrived(queue: &Queue, number: u64, state: &Looked) -> Result<Option<DateTime>> {
    if state.messages == 0 || !(state.first_sequence..=state.last_sequence).contains(&number) {
        return Ok(None);
    }
    // The first message of a stream is there.
    if number == state.first_sequence {
        return Ok(Some(state.first_timestamp));
    }
    Ok(found(&queue.stream, Seq(number)).await?.map(|message| message.time))
}

/// Where the record stands that says which message was handled and stays in its stream.
pub(super) fn of_handled(id: QueueId) -> String {
    format!("state.handled.{}", id.0)
}

pub(super) async fn delete<I>(stream: &Stream<I>, number: u64) -> Result<()> {
    let Err(error) = stream.delete_message(number).await else { return Ok(()) };
    match error.kind() {
        // The message is gone already.
        DeleteMessageErrorKind::JetStream(error) if GONE.contains(&error.error_code()) => Ok(()),
        _ => Err(broken(error)),
    }
}

/// The server's error code if it has no message with this number.
const GONE: [ErrorCode; 3] =
    [ErrorCode::NO_MESSAGE_FOUND, ErrorCode::SEQUENCE_NOT_FOUND, ErrorCode::STREAM_MESSAGE_DELETE_FAILED];

/// Makes requests side by side, and returns their answers in any order.
pub(super) async fn few_at_once<T: Send + 'static>(
    requests: impl Iterator<Item = impl Future<Output = Result<T>> + Send + 'static>,
) -> Result<Vec<T>> {
    let mut under_way = JoinSet::new();
    let mut answers = Vec::new();
    for request in requests {
        if under_way.len() >= AT_ONCE
            && let Some(answer) = under_way.join_next().await
        {
            answers.push(answer.map_err(broken)??);
        }
        under_way.spawn(request);
    }
    while let Some(answer) = under_way.join_next().await {
        answers.push(answer.map_err(broken)??);
    }
    Ok(answers)
}
