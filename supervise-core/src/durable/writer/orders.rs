//! What a [`Store`](crate::durable::Store) is asked for: lists of queues and quarantines, retries, discards, new names.
//!
//! Rules 27.11 and 27.15.

use tokio::sync::oneshot;

use super::super::inbox::{Order, Reply};
use super::keep::PAGE_OF_QUARANTINE;
use super::{Change, QueueId, QueueRow, Room, StoreError, StoreErrorKind, Writer, commit};

impl Writer {
    pub(super) async fn order(&mut self, order: Order) {
        self.flush().await;
        // Names may change.
        self.numbers.clear();
        match order {
            Order::Queues(reply) => answer(reply, self.rows().await),
            Order::Quarantined(queue, after, reply) => {
                answer(reply, self.store.quarantined(&queue, after, PAGE_OF_QUARANTINE).await);
            }
            Order::Retry(id, reply) => {
                self.group.add(Change::Retry(id), commit::Then::Answer(reply));
                self.commit().await;
                self.find_retried(id.queue).await;
            }
            Order::Discard(id, reply) => self.group.add(Change::Discard(id), commit::Then::Answer(reply)),
            Order::Rename(from, to, reply) => answer(reply, self.rename(from, to).await),
            Order::DiscardQueue(queue, reply) => match self.refuses_discard(&queue).await {
                Some(error) => answer(reply, Err(error)),
                None => self.group.add(Change::DiscardQueue(queue), commit::Then::Answer(reply)),
            },
            Order::Ready(reply) => answer(reply, Ok(())),
        }
    }

    /// A retry was stored. If there was such a message, it is now the last one of its queue.
    async fn find_retried(&mut self, queue: QueueId) {
        let Some(entry) = self.queues.values().find(|entry| entry.id == queue) else { return };
        if entry.outlet.settings.shared {
            return self.look_at(queue);
        }
        let (number, last) = (entry.outlet.term(), entry.outlet.queue().last());
        let page = match self.store.page(queue, last, Room { messages: 1, bytes: 1 }).await {
            Ok(page) => page,
            // It is found when the store is opened again.
            Err(error) => return self.outage(error.to_string()).await,
        };
        if let (Some(retried), Some(entry)) = (page.first(), self.queues.get(&number)) {
            entry.outlet.queue().note_retried(retried.seq);
            entry.outlet.set_waiting(1);
            self.hungry.insert(number);
        }
    }

    async fn rename(&mut self, from: String, to: String) -> Result<(), StoreError> {
        if let Some(error) = self.refuses_rename(&from, &to).await {
            return Err(error);
        }
        let (reply, mut stored) = oneshot::channel();
        self.group.add(Change::Rename { from: from.clone(), to: to.clone() }, commit::Then::Answer(reply));
        self.commit().await;
        // At the end of the system, a group that has failed is not stored again.
        let closed = |_| StoreError::new(StoreErrorKind::Broken, "the store is closed");
        stored.try_recv().map_err(closed)??;
        // The store renames nothing if another process has just used the new name.
        if from != to && self.rows().await?.iter().any(|row| row.name == from) {
            let text = format!("the queue `{to}` has just got messages or an owner: handle or discard them first");
            return Err(StoreError::new(StoreErrorKind::Refused, text));
        }
        Ok(())
    }

    /// The error if a queue cannot get another name.
    async fn refuses_rename(&mut self, from: &str, to: &str) -> Option<StoreError> {
        let rows = match self.rows().await {
            Ok(rows) => rows,
            Err(error) => return Some(error),
        };
        if let Some(error) = self.owned(&rows, &[from, to]) {
            return Some(error);
        }
        let refused = |text| Some(StoreError::new(StoreErrorKind::Refused, text));
        if to.is_empty() {
            return refused(format!("the queue `{from}` cannot get an empty name"));
        }
        if rows.iter().all(|row| row.name != from) {
            return refused(format!("there is no queue `{from}`"));
        }
        let taken = rows.iter().find(|row| row.name == to)?;
        if taken.waiting > 0 || taken.quarantined > 0 {
            return refused(format!("the queue `{to}` has messages: handle or discard them first"));
        }
        None
    }

    /// The error if a queue cannot be discarded.
    async fn refuses_discard(&mut self, queue: &str) -> Option<StoreError> {
        let rows = match self.rows().await {
            Ok(rows) => rows,
            Err(error) => return Some(error),
        };
        let is_unknown = || rows.iter().all(|row| row.name != queue);
        let unknown = || StoreError::new(StoreErrorKind::Refused, format!("there is no queue `{queue}`"));
        self.owned(&rows, &[queue]).or_else(|| is_unknown().then(unknown))
    }

    /// The queues, with the owners in this system.
    pub(super) async fn rows(&mut self) -> Result<Vec<QueueRow>, StoreError> {
        let mut rows = self.store.queues().await?;
        for row in &mut rows {
            if let Some(entry) = self.queues.values().find(|entry| entry.id == row.queue) {
                row.owner = Some(entry.outlet.owner.to_string());
            }
        }
        Ok(rows)
    }

    /// The error if one of these queues has an owner. A queue that was claimed and never used may have no row.
    fn owned(&self, rows: &[QueueRow], names: &[&str]) -> Option<StoreError> {
        let here = self.queues.values().find(|entry| names.contains(&&*entry.outlet.name));
        let here = here.map(|entry| (entry.outlet.name.to_string(), entry.outlet.owner.to_string()));
        let elsewhere = || {
            let row = rows.iter().find(|row| row.owner.is_some() && names.contains(&&*row.name))?;
            Some((row.name.clone(), row.owner.clone()?))
        };
        let (name, owner) = here.or_else(elsewhere)?;
        let text = format!("the queue `{name}` belongs to {owner}: stop it first");
        Some(StoreError::new(StoreErrorKind::Claimed, text))
    }
}

pub(super) fn answer<T>(reply: Reply<T>, result: Result<T, StoreError>) {
    let _gone = reply.send(result);
}
