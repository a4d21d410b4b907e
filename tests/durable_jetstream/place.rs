//! A store whose system has the name of its place, so that one server serves all places.

use supervise::durable::{
    Appended, Claim, CommitError, Group, JetStreamStore, MessageStore, Opened, Owner, Quarantined, QueueId,
    QueueRow, Room, Seq, SharedQueues, StoreError, StoreFuture, Stored,
};

pub(crate) struct Place {
    store: JetStreamStore,
    owner: Owner,
}

impl Place {
    pub(crate) fn new(name: &str, store: JetStreamStore) -> Self {
        Self { store, owner: Owner::new(name) }
    }
}

impl MessageStore for Place {
    fn open<'a>(&'a mut self, _: &'a Owner) -> StoreFuture<'a, Result<Opened, StoreError>> {
        self.store.open(&self.owner)
    }

    fn claim<'a>(&'a mut self, queue: &'a str) -> StoreFuture<'a, Result<Claim, StoreError>> {
        self.store.claim(queue)
    }

    fn commit<'a>(&'a mut self, group: &'a Group) -> StoreFuture<'a, Result<Vec<Appended>, CommitError>> {
        self.store.commit(group)
    }

    fn page(
        &mut self,
        queue: QueueId,
        after: Seq,
        room: Room,
    ) -> StoreFuture<'_, Result<Vec<Stored>, StoreError>> {
        self.store.page(queue, after, room)
    }

    fn queues(&mut self) -> StoreFuture<'_, Result<Vec<QueueRow>, StoreError>> {
        self.store.queues()
    }

    fn quarantined<'a>(
        &'a mut self,
        queue: &'a str,
        after: Seq,
        room: Room,
    ) -> StoreFuture<'a, Result<Vec<Quarantined>, StoreError>> {
        self.store.quarantined(queue, after, room)
    }

    fn shared(&mut self) -> Option<&mut dyn SharedQueues> {
        self.store.shared()
    }

    fn close(self: Box<Self>) -> StoreFuture<'static, Result<(), StoreError>> {
        Box::new(self.store).close()
    }
}
