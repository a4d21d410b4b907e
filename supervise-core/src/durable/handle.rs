//! What a program asks of the store of its system.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::inbox::{Inbox, Order, Reply};
use super::store::{MessageId, Quarantined, QueueRow, Seq, StoreError, StoreErrorKind};

/// The store of a system: its queues and its quarantine. See [`ActorSystem::store`](crate::ActorSystem::store).
///
/// Every method fails if the system has no store, if the store is down, and after the end of the system.
///
/// # Cancel safety
///
/// A method whose future is dropped after its first poll may take effect.
#[derive(Debug, Clone)]
pub struct Store(Option<Arc<Inbox>>);

impl Store {
    pub(crate) fn of(inbox: Option<Arc<Inbox>>) -> Self {
        Self(inbox)
    }

    /// Waits until the store is open.
    ///
    /// # Errors
    ///
    /// If it cannot be opened. The system goes on trying.
    pub async fn ready(&self) -> Result<(), StoreError> {
        self.order(Order::Ready).await
    }

    /// All queues, including those without an owner. Rule
    /// [27.11](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.11).
    ///
    /// # Errors
    ///
    /// See [`Store`].
    pub async fn queues(&self) -> Result<Vec<QueueRow>, StoreError> {
        self.order(Order::Queues).await
    }

    /// The quarantined messages of a queue, in the order of their numbers: all of them, with their bodies. Rule
    /// [27.15](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.15).
    ///
    /// # Errors
    ///
    /// Also if there is no such queue.
    pub async fn quarantined(&self, queue: impl Into<String>) -> Result<Vec<Quarantined>, StoreError> {
        let mut all = Vec::new();
        self.each_page(queue.into(), |page| all.extend(page)).await?;
        Ok(all)
    }

    /// Calls `take` with all quarantined messages of a queue, page by page.
    async fn each_page(&self, queue: String, mut take: impl FnMut(Vec<Quarantined>)) -> Result<(), StoreError> {
        let mut after = Seq(0);
        loop {
            let name = queue.clone();
            let page = self.order(|reply| Order::Quarantined(name, after, reply)).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.id.seq;
            take(page);
        }
    }

    /// Takes a message out of the quarantine and puts it last into its queue. Its attempts are counted from 1
    /// again. Completes when this is durable.
    ///
    /// # Errors
    ///
    /// See [`Store`]. It is not an error if the message is not in quarantine.
    pub async fn retry(&self, message: MessageId) -> Result<(), StoreError> {
        self.order(|reply| Order::Retry(message, reply)).await
    }

    /// Takes all messages of a queue out of the quarantine, in the order of their numbers, and returns how many they were.
    ///
    /// # Errors
    ///
    /// As [`quarantined`](Self::quarantined).
    pub async fn retry_all(&self, queue: impl Into<String>) -> Result<usize, StoreError> {
        // A message that is retried gets a new number, and may be in quarantine again before the last one is retried.
        let mut all = Vec::new();
        self.each_page(queue.into(), |page| all.extend(page.iter().map(|quarantined| quarantined.id))).await?;
        for id in &all {
            self.retry(*id).await?;
        }
        Ok(all.len())
    }

    /// Deletes a message that is in quarantine. Completes when this is durable.
    ///
    /// # Errors
    ///
    /// See [`Store`]. It is not an error if the message is not in quarantine.
    pub async fn discard(&self, message: MessageId) -> Result<(), StoreError> {
        self.order(|reply| Order::Discard(message, reply)).await
    }

    /// Gives a queue another name, for an actor that has moved. Completes when this is durable.
    ///
    /// # Errors
    ///
    /// If an actor owns `from` or `to`, if the store has no queue `from`, if `to` holds messages or has a quarantine, or if the store fails. On a store
    /// that several processes share, also if another one sends to `to` at the same time. A rename that fails may have to be repeated before `to` can
    /// be used again; the claim of `to` says so.
    pub async fn rename(&self, from: impl Into<String>, to: impl Into<String>) -> Result<(), StoreError> {
        let (from, to) = (from.into(), to.into());
        self.order(|reply| Order::Rename(from, to, reply)).await
    }

    /// Deletes a queue with its messages and its quarantine. Completes when this is durable.
    ///
    /// # Errors
    ///
    /// If there is no such queue, if an actor owns it, or if the store fails.
    pub async fn discard_queue(&self, queue: impl Into<String>) -> Result<(), StoreError> {
        let queue = queue.into();
        self.order(|reply| Order::DiscardQueue(queue, reply)).await
    }

    pub(crate) fn inbox(&self) -> Option<&Arc<Inbox>> {
        self.0.as_ref()
    }

    async fn order<T>(&self, order: impl FnOnce(Reply<T>) -> Order) -> Result<T, StoreError> {
        let Some(inbox) = &self.0 else {
            let text = "the system has no store: write `ActorSystem::builder(..).store(..)`";
            return Err(StoreError::new(StoreErrorKind::Refused, text));
        };
        let (reply, answer) = oneshot::channel();
        inbox.order(order(reply));
        let gone =
            |_| StoreError::new(StoreErrorKind::Broken, "the store is closed, because its system has ended");
        answer.await.map_err(gone)?
    }
}
