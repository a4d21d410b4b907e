//! A queue gets another name, or is discarded. Other processes may use it at the same time.

use std::error::Error as _;
use std::time::Duration;

use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream;
use bytes::Bytes;
use supervise_core::durable::{QueueId, StoreError, StoreErrorKind};

use super::claim::{of_begun, of_owner};
use super::handled::of_handled;
use super::names::{Looked, of_name, of_queue};
use super::open::Open;
use super::shared::of_shared;
use super::{Result, broken};

/// A number that no stream reaches.
const NO_SEQUENCE: u64 = i64::MAX as u64;

/// How many times the store asks whether the server has stored what it has taken, and how long it waits between two times.
const ASKS: (u32, Duration) = (100, Duration::from_millis(20));

/// What the stream of a queue has as its subject while the queue is about to be deleted. Nobody sends messages there.
pub(super) fn of_fence(id: QueueId) -> String {
    format!("fence.{}", id.0)
}

impl Open {
    pub(super) async fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        self.read_names().await?;
        let Some(id) = self.by_name(from) else { return Ok(()) };
        // A queue whose name is empty is a discarded one.
        if to.is_empty() || from == to || !self.free(to, id).await? {
            return Ok(());
        }
        self.give_name(id, to).await?;
        // Another process may have made a queue of this name in the meantime, or given the name to one. Who was faster does not matter: at least
        // one of them sees the other's name.
        if !self.free(to, id).await? {
            self.give_name(id, from).await?;
        }
        Ok(())
    }

    /// Discards other queues of this name. Returns `false` if one of them is used.
    async fn free(&mut self, name: &str, but: QueueId) -> Result<bool> {
        self.read_names().await?;
        let named: Vec<QueueId> =
            self.queues.iter().filter(|(_, queue)| queue.name == name).map(|(id, _)| *id).collect();
        for other in named.into_iter().filter(|id| *id != but) {
            if !self.discard_unused(other).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn give_name(&mut self, id: QueueId, name: &str) -> Result<()> {
        self.put(&of_name(id), Bytes::copy_from_slice(name.as_bytes())).await?;
        if let Some(queue) = self.queues.get_mut(&id) {
            name.clone_into(&mut queue.name);
        }
        Ok(())
    }

    /// Discards a queue that has neither messages nor an owner. Returns whether it had none.
    pub(super) async fn discard_unused(&mut self, id: QueueId) -> Result<bool> {
        if self.is_used(id).await? {
            return Ok(false);
        }
        // Somebody may send to the queue at any moment.
        let is_there = self.set_fence(id, true).await?;
        if self.is_used(id).await? {
            if is_there {
                self.set_fence(id, false).await?;
            }
            return Ok(false);
        }
        self.discard(id).await?;
        Ok(true)
    }

    /// The queue keeps its name until the rest is gone, so that somebody can discard it again if that fails in its midst.
    pub(super) async fn discard(&mut self, id: QueueId) -> Result<()> {
        if let Err(error) = self.context.delete_stream(self.stream_name(id)).await
            && !self.stream_state(id).await.is_err_and(|error| error.kind == StoreErrorKind::Damaged)
        {
            return Err(broken(error));
        }
        self.forget_all(&self.state, &format!("state.charge.{}.*", id.0)).await?;
        self.forget(&self.state, &of_shared(id)).await?;
        self.forget(&self.state, &of_begun(id)).await?;
        self.forget(&self.state, &of_owner(id)).await?;
        self.forget(&self.state, &of_handled(id)).await?;
        self.forget_all(&self.quarantine, &format!("quarantine.{}.*", id.0)).await?;
        self.put(&of_name(id), Bytes::new()).await?;
        self.queues.remove(&id);
        self.known.remove(&id);
        Ok(())
    }

    /// Whether a queue has messages, or another process owns it. The owner is asked for last: see [`lift_fence`](Self::lift_fence).
    pub(super) async fn is_used(&mut self, id: QueueId) -> Result<bool> {
        let row = self.row(id).await?;
        Ok(row.is_some_and(|row| row.waiting > 0 || row.quarantined > 0 || row.owner.is_some()))
    }

    /// Fails if a process that claims a queue cannot use its stream. Returns whether a rename was interrupted before it saw that the queue has
    /// messages. Then the claim undoes what the rename has done.
    pub(super) async fn check_open(&mut self, id: QueueId, state: &Looked) -> Result<bool> {
        if state.unfit.is_none() && state.is_fenced && self.is_used(id).await? {
            return Ok(true);
        }
        self.check_fit(id, state).map(|()| false)
    }

    /// A rename was interrupted before it saw that the queue has messages. If another process is in the midst of it after all, it does not discard the
    /// queue: it looks for messages first, and then for an owner, which is this process now.
    pub(super) async fn lift_fence(&mut self, id: QueueId) -> Result<()> {
        let (_, state) = self.look(id).await?;
        if self.check_open(id, &state).await? {
            self.set_fence(id, false).await?;
        }
        Ok(())
    }

    /// With a fence, the stream of a queue has another subject, so it accepts no message, and what it has accepted before can be seen. Returns
    /// whether the server has the stream.
    async fn set_fence(&self, id: QueueId, is_fenced: bool) -> Result<bool> {
        let is_gone = |error: &StoreError| error.kind == StoreErrorKind::Damaged;
        let set = match self.look(id).await {
            Ok((stream, _)) => self.set_fence_of(id, &stream, is_fenced).await,
            Err(error) => Err(error),
        };
        match set {
            Ok(()) => Ok(true),
            // Another process may have discarded the queue in the meantime.
            Err(error) if is_gone(&error) || self.look(id).await.is_err_and(|error| is_gone(&error)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn set_fence_of(&self, id: QueueId, stream: &stream::Stream, is_fenced: bool) -> Result<()> {
        let fence = self.subject(&of_fence(id));
        let subject = if is_fenced { fence.clone() } else { self.subject(&of_queue(id)) };
        let config = stream::Config { subjects: vec![subject], ..stream.cached_info().config.clone() };
        self.context.update_stream(config).await.map_err(broken)?;
        if is_fenced { self.wait_for_earlier(id, fence).await } else { Ok(()) }
    }

    /// Waits until the server has stored what had arrived before the fence. To find out, it sends a message that the server must refuse. A server takes
    /// messages into a stream one by one, so it has stored the earlier ones when it refuses this one. But if the stream has replicas, a newer server
    /// may refuse it as soon as it knows the numbers of the earlier ones.
    async fn wait_for_earlier(&self, id: QueueId, fence: String) -> Result<()> {
        for _ in 0..ASKS.0 {
            let message = PublishMessage::build().expected_last_sequence(NO_SEQUENCE);
            let sent = self.context.send_publish(fence.clone(), message).await.map_err(broken)?;
            let refused = match sent.await {
                Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => error,
                Err(error) => return Err(broken(error)),
                Ok(_) => return Err(broken("the server has stored what it was to refuse")),
            };
            let text = refused.source().map(ToString::to_string).unwrap_or_default();
            if self.look(id).await?.1.last_sequence >= last_number_in(&text) {
                return Ok(());
            }
            tokio::time::sleep(ASKS.1).await;
        }
        Err(broken("the server does not store what it has taken"))
    }
}

/// The last number in `wrong last sequence: 5 (code 400, error code 10071)`. 0 if the server does not say it.
fn last_number_in(text: &str) -> u64 {
    let number = text.split_once("sequence: ").and_then(|(_, rest)| rest.split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}
