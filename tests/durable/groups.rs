//! Messages of many senders are stored together.
//!
//! Rule 27.17.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use supervise::durable::{
    Appended, Claim, CommitError, Group, MemoryStore, MessageStore, Opened, Owner, Quarantined, QueueId, QueueRow,
    Room, Seq, StoreError, StoreFuture, Stored,
};
use supervise::prelude::*;
use tokio::task::{JoinSet, yield_now};

#[actor(mailbox = durable(capacity = 10_000))]
struct Crowded;

#[actor]
impl Crowded {
    #[handler]
    fn count(&mut self, number: u32) -> u32 {
        number
    }
}

/// A store in memory that counts its groups, and takes some time for each.
#[derive(Default)]
struct Counting {
    memory: MemoryStore,
    groups: Arc<AtomicUsize>,
}

impl MessageStore for Counting {
    fn open<'a>(&'a mut self, owner: &'a Owner) -> StoreFuture<'a, Result<Opened, StoreError>> {
        self.memory.open(owner)
    }

    fn claim<'a>(&'a mut self, queue: &'a str) -> StoreFuture<'a, Result<Claim, StoreError>> {
        self.memory.claim(queue)
    }

    fn commit<'a>(&'a mut self, group: &'a Group) -> StoreFuture<'a, Result<Vec<Appended>, CommitError>> {
        Box::pin(async move {
            self.groups.fetch_add(1, Ordering::Relaxed);
            for _ in 0..SENDERS {
                yield_now().await;
            }
            self.memory.commit(group).await
        })
    }

    fn page(
        &mut self,
        queue: QueueId,
        after: Seq,
        room: Room,
    ) -> StoreFuture<'_, Result<Vec<Stored>, StoreError>> {
        self.memory.page(queue, after, room)
    }

    fn queues(&mut self) -> StoreFuture<'_, Result<Vec<QueueRow>, StoreError>> {
        self.memory.queues()
    }

    fn quarantined<'a>(
        &'a mut self,
        queue: &'a str,
        after: Seq,
        room: Room,
    ) -> StoreFuture<'a, Result<Vec<Quarantined>, StoreError>> {
        self.memory.quarantined(queue, after, room)
    }

    fn close(self: Box<Self>) -> StoreFuture<'static, Result<(), StoreError>> {
        Box::new(self.memory).close()
    }
}

const SENDERS: u32 = 64;

/// Reads a page more slowly than an actor with a window of 8 handles half of the window, so that the actor wants
/// the next page whenever one has been read.
#[derive(Clone, Default)]
struct Leisurely(MemoryStore);

impl MessageStore for Leisurely {
    fn open<'a>(&'a mut self, owner: &'a Owner) -> StoreFuture<'a, Result<Opened, StoreError>> {
        self.0.open(owner)
    }

    fn claim<'a>(&'a mut self, queue: &'a str) -> StoreFuture<'a, Result<Claim, StoreError>> {
        self.0.claim(queue)
    }

    fn commit<'a>(&'a mut self, group: &'a Group) -> StoreFuture<'a, Result<Vec<Appended>, CommitError>> {
        self.0.commit(group)
    }

    fn page(
        &mut self,
        queue: QueueId,
        after: Seq,
        room: Room,
    ) -> StoreFuture<'_, Result<Vec<Stored>, StoreError>> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(6)).await;
            self.0.page(queue, after, room).await
        })
    }

    fn queues(&mut self) -> StoreFuture<'_, Result<Vec<QueueRow>, StoreError>> {
        self.0.queues()
    }

    fn quarantined<'a>(
        &'a mut self,
        queue: &'a str,
        after: Seq,
        room: Room,
    ) -> StoreFuture<'a, Result<Vec<Quarantined>, StoreError>> {
        self.0.quarantined(queue, after, room)
    }

    fn close(self: Box<Self>) -> StoreFuture<'static, Result<(), StoreError>> {
        Box::new(self.0).close()
    }
}

/// Takes a millisecond for each message.
#[actor(mailbox = durable(window = 8))]
struct Busy;

#[actor]
impl Busy {
    #[handler]
    async fn count(&mut self, number: u32) {
        let _ = number;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn messages_are_accepted_while_a_queue_has_pages_to_read() {
    let system = ActorSystem::builder("shop").store(Leisurely::default()).start().expect("the name is valid");
    let (busy, other) = (system.store().sender::<Busy>("/user/busy"), system.store().sender::<Crowded>("other"));
    other.accepted(CrowdedMessage::Count { number: 0 }).await.expect("there is room");
    for number in 0..2000 {
        busy.accepted(BusyMessage::Count { number }).await.expect("there is room");
    }
    system.spawn("busy", || Busy).expect("the name is free");
    tokio::time::sleep(Duration::from_millis(100)).await;
    for number in 0..20 {
        let began = tokio::time::Instant::now();
        other.accepted(CrowdedMessage::Count { number }).await.expect("there is room");
        assert!(began.elapsed() < Duration::from_millis(20), "{:?}", began.elapsed());
        tokio::time::sleep(Duration::from_millis(7)).await;
    }
    system.terminate().await;
}

/// In how many groups the messages are stored that `senders` send, each `messages` one after the other.
async fn groups(senders: u32, messages: u32) -> usize {
    let store = Counting::default();
    let groups = Arc::clone(&store.groups);
    let system = ActorSystem::builder("shop").store(store).start().expect("the name is valid");
    system.store().ready().await.expect("it opens");
    let sender = system.store().sender::<Crowded>("crowded");
    let mut tasks = JoinSet::new();
    for number in 0..senders {
        let sender = sender.clone();
        tasks.spawn(async move {
            for _ in 0..messages {
                sender.accepted(CrowdedMessage::Count { number }).await.expect("there is room");
            }
        });
    }
    tasks.join_all().await;
    system.terminate().await;
    groups.load(Ordering::Relaxed)
}

#[tokio::test]
async fn the_store_is_not_asked_for_room_in_the_midst_of_a_group() {
    assert_eq!(groups(3000, 1).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn senders_that_take_turns_share_their_groups() {
    const MESSAGES: u32 = 15;
    // On the worker like everything else, so that no second thread decides who takes turns with whom.
    let groups = tokio::spawn(groups(SENDERS, MESSAGES)).await.unwrap();
    assert!(groups < 2 * MESSAGES as usize, "{MESSAGES} messages of each sender, in {groups} groups");
}
