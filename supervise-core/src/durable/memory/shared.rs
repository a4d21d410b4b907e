//! Queues that several processes own together.
//!
//! Rule 27.19.

use std::collections::BTreeSet;

use super::{MemoryStore, ready};
use crate::durable::shares::Wish;
use crate::durable::store::{
    Claim, QueueId, Room, Seq, SharedQueues, StoreError, StoreErrorKind, StoreFuture, Taken,
};

impl SharedQueues for MemoryStore {
    fn share<'a>(&'a mut self, queue: &'a str) -> StoreFuture<'a, Result<Claim, StoreError>> {
        let mut disk = self.disk();
        let process = disk.process;
        let id = disk.id(queue).unwrap_or_else(|| disk.create(queue));
        let refused = StoreError::new(StoreErrorKind::Refused, "too many queues");
        let Some(queue) = disk.queue(id) else { return ready(Err(refused)) };
        let was_shared = queue.bury(process);
        if queue.shares.members().is_empty() {
            let handled = queue.mark.handled;
            queue.waiting.retain(|seq, _| *seq > handled);
            // An owner alone may have died with this message under way.
            let begun = queue.mark.begun.filter(|_| !was_shared);
            let first = queue.waiting.keys().next().copied().unwrap_or(queue.last.next());
            let begun = begun.filter(|begun| queue.waiting.contains_key(begun));
            let charged = queue.waiting.values().map(|stored| (stored.seq, stored.crashes));
            queue.shares.begin(first, charged, begun);
            queue.mark.begun = None;
        }
        let was_ours = queue.shares.join(&process);
        queue.fence += u64::from(!was_ours);
        ready(Ok(Claim {
            queue: id,
            waiting: queue.waiting.len() as u64,
            last: queue.last,
            handled: Seq(0),
            begun: None,
            may_have_begun: queue.may_have_begun,
            fence: queue.fence,
            was_ours,
        }))
    }

    fn take<'a>(
        &'a mut self,
        queue: QueueId,
        in_hand: &'a BTreeSet<Seq>,
        room: Room,
        may_try: bool,
    ) -> StoreFuture<'a, Result<Taken, StoreError>> {
        let mut disk = self.disk();
        let process = disk.process;
        let member = disk.queue(queue).filter(|queue| queue.shares.members().contains_key(&process));
        let Some(queue) = member else {
            let text = "this process does not share the queue any more";
            return ready(Err(StoreError::new(StoreErrorKind::Claimed, text)));
        };
        // No process holds a number whose message is gone.
        let first = queue.waiting.keys().next().copied().unwrap_or(queue.last.next());
        let wish = Wish { in_hand, room: room.messages, may_try, first, last: queue.last };
        let given = queue.shares.take(&process, wish);
        let gone = given.iter().filter(|seq| !queue.waiting.contains_key(seq)).copied().collect();
        queue.shares.ended(&process, &gone);
        let messages = given.iter().filter_map(|seq| queue.waiting.get(seq));
        let messages = messages.map(|stored| queue.delivered(stored)).collect();
        let taken = Taken {
            messages,
            passed: queue.shares.passed(),
            has_more: given.len() == room.messages || !gone.is_empty(),
            has_suspects: queue.shares.has_suspects(&process, &(in_hand | &given)),
            waiting: queue.waiting.len() as u64,
            fence: queue.fence,
        };
        drop(disk);
        ready(Ok(taken))
    }
}
