//! One owner for each queue: a lease that the node renews, and that ends by itself when the node does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use async_nats::jetstream::Context;
use async_nats::jetstream::context::PublishError;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{LastRawMessageErrorKind, Stream};
use bytes::Bytes;
use supervise_core::durable::{Arrived, Marks, QueueId, Seq};
use tokio::task::AbortHandle;

use super::commit::is_changed;

/// A lease that this process holds, as long as it can renew it.
pub(super) struct Lease {
    state: Arc<Mutex<State>>,
    renewal: AbortHandle,
}

struct State {
    /// The number of the last renewal. Only a process that knows it can renew the lease.
    revision: u64,
    /// Until then, no other process can have the lease.
    until: Until,
    /// The server does not have the lease any more.
    has_ended: bool,
}

/// A moment on two clocks: the first may stand still while the machine sleeps, and somebody may set the second.
#[derive(Debug, Clone, Copy)]
struct Until(Instant, SystemTime);

impl Until {
    fn after(length: Duration) -> Self {
        Self(Instant::now() + length, SystemTime::now() + length)
    }

    /// Whether one of the clocks says so. If somebody sets the second one back, the first one still counts; if somebody sets it
    /// ahead, the lease ends early, which is safe.
    fn is_over(self, now: Instant, time: SystemTime) -> bool {
        now >= self.0 || time >= self.1
    }
}

/// Why the lease was not taken: another process has it, or the attempt failed.
pub(super) enum NotTaken {
    HasAnOwner,
    Failed(String),
}

/// A lease, and where it stands.
#[derive(Clone)]
pub(super) struct Terms {
    pub(super) context: Context,
    pub(super) stream: Stream,
    pub(super) subject: String,
    /// This process.
    pub(super) owner: String,
    pub(super) length: Duration,
}

impl Terms {
    /// Puts a message with the owner's name under the lease's subject. The server forgets it after the lease's length.
    async fn put(&self, owner: &str, after: u64) -> Result<u64, NotTaken> {
        let message = PublishMessage::build()
            .payload(Bytes::copy_from_slice(owner.as_bytes()))
            .expected_last_subject_sequence(after);
        let failed = |error: PublishError| {
            if is_changed(&error) { NotTaken::HasAnOwner } else { NotTaken::Failed(error.to_string()) }
        };
        let ack = self.context.send_publish(self.subject.clone(), message).await.map_err(failed)?;
        Ok(ack.await.map_err(failed)?.sequence)
    }

    /// The number of our own renewal, if it is the last one: its acknowledgement was lost.
    pub(super) async fn own(&self) -> Result<Option<u64>, String> {
        match self.stream.get_last_raw_message_by_subject(&self.subject).await {
            Ok(last) => Ok((last.payload == self.owner.as_bytes()).then_some(last.sequence)),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// What an owner checks whenever it renews: whether other nodes have put messages into its queue.
pub(super) struct Watch {
    pub(super) queue: QueueId,
    pub(super) stream: Stream<()>,
    pub(super) arrived: Option<Arrived>,
}

impl Watch {
    /// The lease is lost, and perhaps the queue.
    fn lost(&self) {
        if let Some(arrived) = &self.arrived {
            arrived(self.queue, Seq(0));
        }
    }

    async fn look(&self) {
        if let Some(arrived) = &self.arrived
            && let Ok(info) = self.stream.get_info().await
        {
            arrived(self.queue, Seq(info.state.last_sequence));
        }
    }
}

impl Lease {
    /// Takes the lease if no process has it, or if its last revision is `after`, which was our own or a released one.
    pub(super) async fn take(terms: Terms, after: u64, watch: Watch) -> Result<Self, NotTaken> {
        let until = Until::after(terms.length);
        let revision = terms.put(&terms.owner, after).await?;
        let state = Arc::new(Mutex::new(State { revision, until, has_ended: false }));
        let renewal = tokio::spawn(renew(terms, watch, Arc::clone(&state)));
        Ok(Self { state, renewal: renewal.abort_handle() })
    }

    /// Whether no other process can have the lease now.
    pub(super) fn holds(&self) -> bool {
        holds(&self.state)
    }

    /// Releases the lease, so that any process can take it.
    pub(super) async fn release(self, terms: Terms) -> Result<(), String> {
        self.renewal.abort();
        let mut after = lock(&self.state).revision;
        loop {
            if !self.holds() {
                return Ok(());
            }
            match terms.put("", after).await {
                Ok(_) => return Ok(()),
                Err(NotTaken::Failed(text)) => return Err(text),
                // A renewal was on its way.
                Err(NotTaken::HasAnOwner) => match terms.own().await? {
                    Some(own) => after = own,
                    None => return Ok(()),
                },
            }
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn holds(state: &Mutex<State>) -> bool {
    let state = lock(state);
    let (until, has_ended) = (state.until, state.has_ended);
    drop(state);
    !has_ended && !until.is_over(Instant::now(), SystemTime::now())
}

/// Renews a lease until another process has it.
async fn renew(terms: Terms, watch: Watch, state: Arc<Mutex<State>>) {
    loop {
        tokio::time::sleep(terms.length / 3).await;
        let until = Until::after(terms.length);
        let after = lock(&state).revision;
        match terms.put(&terms.owner, after).await {
            Ok(revision) => {
                *lock(&state) = State { revision, until, has_ended: false };
                watch.look().await;
            }
            // Perhaps the renewal is our own, and its acknowledgement was lost. The next renewal shows until when the lease holds.
            Err(NotTaken::HasAnOwner) => match terms.own().await {
                Ok(Some(own)) => lock(&state).revision = own,
                // The server has forgotten the lease, so another process may take it from now on.
                Ok(None) => {
                    lock(&state).has_ended = true;
                    return watch.lost();
                }
                Err(_) => {}
            },
            Err(NotTaken::Failed(_)) => {}
        }
    }
}

/// The leases that this process holds. The server knows which messages have left a queue; this is recorded nowhere else.
#[derive(Default)]
pub(super) struct Leases(Mutex<HashMap<QueueId, Arc<Mutex<State>>>>);

impl Leases {
    pub(super) fn hold(&self, queue: QueueId, lease: &Lease) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(queue, Arc::clone(&lease.state));
    }

    /// Whether this process has held the lease of a queue and has not lost it.
    pub(super) fn has(&self, queue: QueueId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&queue)
    }

    pub(super) fn lose(&self, queue: QueueId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&queue);
    }
}

impl Marks for Leases {
    fn begun(&self, _: QueueId, _: Seq, _: Seq) {}

    fn idle(&self, _: QueueId, _: Seq) {}

    fn owns(&self, queue: QueueId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&queue).is_some_and(|state| holds(state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_never_makes_a_lease_longer() {
        let (now, time) = (Instant::now(), SystemTime::now());
        let (length, hours) = (Duration::from_secs(10), Duration::from_secs(5 * 3600));
        let until = Until(now + length, time + length);
        assert!(!until.is_over(now, time));
        assert!(!until.is_over(now, time - hours), "set back: it still holds");
        assert!(until.is_over(now + length, time - hours), "set back: and no longer than its length");
        assert!(until.is_over(now, time + hours), "set ahead");
        assert!(
            until.is_over(now + length / 2, time + length),
            "the machine has slept, and the first clock with it"
        );
    }
}
