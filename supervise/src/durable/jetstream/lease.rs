//! One owner for each queue: a lease that the node renews, and that ends by itself when the node does.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_nats::jetstream::Context;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::PublishMessage;
use bytes::Bytes;
use tokio::task::AbortHandle;

/// A lease that this process holds, as long as it can renew it.
pub(super) struct Lease {
    state: Arc<Mutex<State>>,
    renewal: AbortHandle,
}

struct State {
    /// The number of the last renewal. Only a process that knows it can renew the lease.
    revision: u64,
    /// Until then, no other process can have the lease.
    until: Instant,
}

/// Why the lease was not taken: another process has it, or the attempt failed.
pub(super) enum Taken {
    Yes,
    Failed(String),
}

/// Puts a message with the owner's name under the lease's subject. The server forgets it after `length`.
async fn put(context: &Context, subject: &str, owner: &str, after: u64) -> Result<u64, Taken> {
    let message = PublishMessage::build()
        .payload(Bytes::copy_from_slice(owner.as_bytes()))
        .expected_last_subject_sequence(after);
    let failed = |error: async_nats::jetstream::context::PublishError| match error.kind() {
        PublishErrorKind::WrongLastSequence => Taken::Yes,
        _ => Taken::Failed(error.to_string()),
    };
    let ack = context.send_publish(subject.to_owned(), message).await.map_err(failed)?;
    Ok(ack.await.map_err(failed)?.sequence)
}

impl Lease {
    /// Takes the lease if no process has it, or if its last revision is `after`, which is ours.
    pub(super) async fn take(
        context: &Context,
        subject: String,
        owner: &str,
        after: u64,
        length: Duration,
    ) -> Result<(Self, u64), Taken> {
        let asked = Instant::now();
        let revision = put(context, &subject, owner, after).await?;
        let state = Arc::new(Mutex::new(State { revision, until: asked + length }));
        let renewal = tokio::spawn(renew(context.clone(), subject, owner.to_owned(), length, Arc::clone(&state)));
        Ok((Self { state, renewal: renewal.abort_handle() }, revision))
    }

    /// Whether no other process can have the lease now.
    pub(super) fn holds(&self) -> bool {
        Instant::now() < lock(&self.state).until
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Renews a lease until another process has it.
async fn renew(context: Context, subject: String, owner: String, length: Duration, state: Arc<Mutex<State>>) {
    loop {
        tokio::time::sleep(length / 3).await;
        let asked = Instant::now();
        let after = lock(&state).revision;
        match put(&context, &subject, &owner, after).await {
            Ok(revision) => *lock(&state) = State { revision, until: asked + length },
            Err(Taken::Yes) => {
                // The lease may be our own, if the acknowledgement of a renewal was lost. It ends in any case.
                return;
            }
            Err(Taken::Failed(_)) => {}
        }
    }
}
