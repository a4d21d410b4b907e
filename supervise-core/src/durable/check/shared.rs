//! What a store must do whose queues several processes share.
//!
//! Rule 27.19.

use std::collections::BTreeSet;

use super::{Bench, CLAIM_AGAIN, CLAIMS, Desk, append, id, numbers, told};
use crate::durable::{
    Change, Claim, Fate, MessageStore, QueueId, Room, Seq, StoreError, StoreErrorKind, Stored, Taken,
};

impl<F: FnMut(&str) -> S, S: MessageStore> Bench<F> {
    /// The cases of a store that can share queues.
    pub(super) async fn shared(&mut self) {
        let place = "shared";
        let mut desk = self.open(place).await;
        let can_share = desk.store.shared().is_some();
        desk.close(place).await;
        if can_share {
            self.taken().await;
            self.left_and_given_back().await;
            self.died_with_messages().await;
            self.alone_before_and_after().await;
        }
    }

    async fn taken(&mut self) {
        let place = "taken";
        let mut desk = self.open(place).await;
        let claim = desk.share("a").await;
        let queue = claim.queue;
        assert_eq!((claim.waiting, claim.last, claim.was_ours), (0, Seq(0), false), "{place}: the queue is new");
        desk.commit((0..6).map(|_| append(queue, "m", b"x"))).await;
        let claim = desk.share("a").await;
        assert_eq!(
            (claim.queue, claim.waiting, claim.was_ours),
            (queue, 6, true),
            "{place}: it is an owner already"
        );
        let taken = desk.take(queue, &[], 2, true).await;
        assert_eq!(numbers(&taken.messages), [1, 2], "{place}: no more messages than there is room for");
        assert!(taken.has_more && !taken.has_suspects && taken.waiting == 6, "{place}: four more wait: {taken:?}");
        let taken = desk.take(queue, &[1, 2], 0, true).await;
        assert_eq!((taken.messages.len(), taken.waiting), (0, 6), "{place}: no room, and the same count");
        let taken = desk.take(queue, &[1, 2], 2, true).await;
        assert_eq!(numbers(&taken.messages), [3, 4], "{place}: what is in hand does not come again");
        let taken = desk.take(queue, &[1, 3, 4], 10, true).await;
        assert_eq!(numbers(&taken.messages), [2, 5, 6], "{place}: what is not in hand any more comes again");
        assert_eq!((taken.has_more, taken.passed), (false, Seq(6)), "{place}: this process holds everything");
        desk.close(place).await;
    }

    async fn left_and_given_back(&mut self) {
        let place = "left";
        let mut desk = self.open(place).await;
        let claim = desk.share("a").await;
        let queue = claim.queue;
        desk.commit((0..6).map(|_| append(queue, "m", b"x"))).await;
        desk.take(queue, &[], 10, true).await;
        let failures = vec!["no route".to_owned()];
        desk.commit([
            Change::Charged { id: id(queue, 1), attempts: 2, crashes: 0, failures: failures.clone() },
            Change::Handled(id(queue, 2)),
            Change::Quarantine { id: id(queue, 3), fate: Fate::Failed, failures: failures.clone() },
        ])
        .await;
        let taken = desk.take(queue, &[4, 5, 6], 10, true).await;
        assert_eq!(numbers(&taken.messages), [1], "{place}: the others have left the queue");
        assert_eq!((taken.messages[0].attempts, &taken.messages[0].failures), (2, &failures), "{place}");
        assert_eq!((taken.waiting, desk.quarantined("a").await.len()), (4, 1), "{place}: they are not counted");
        desk.commit([Change::Release(queue)]).await;
        let error = desk.try_take(queue, &[], 10, true).await.expect_err("it has left the queue");
        assert_eq!(error.kind, StoreErrorKind::Claimed, "{place}: {error}");
        for dies in [false, true] {
            let next = desk.share("a").await;
            assert!(!next.was_ours && next.fence > claim.fence, "{place}: it has left the queue: {next:?}");
            let taken = desk.take(queue, &[], 10, true).await;
            assert_eq!(numbers(&taken.messages), [1, 4, 5, 6], "{place}: what it held waits");
            assert_eq!(taken.messages[0].attempts, 2, "{place}: attempts are kept");
            assert!(taken.messages.iter().all(|stored| stored.crashes == 0), "{place}: nobody died: {taken:?}");
            desk.commit([Change::Release(queue)]).await;
            desk = if dies { self.die(place, desk).await } else { self.reopen(place, desk).await };
        }
        desk.close(place).await;
    }

    async fn died_with_messages(&mut self) {
        let place = "died";
        let mut desk = self.open(place).await;
        let claim = desk.share("a").await;
        let queue = claim.queue;
        desk.commit((0..5).map(|_| append(queue, "m", b"x"))).await;
        assert_eq!(numbers(&desk.take(queue, &[], 3, true).await.messages), [1, 2, 3], "{place}");
        desk.commit([Change::Handled(id(queue, 1))]).await;
        desk = self.die(place, desk).await;
        let next = desk.share("a").await;
        assert!(!next.was_ours, "{place}: another process held them: {next:?}");
        let taken = desk.wait_for_suspects(queue).await;
        assert_eq!(numbers(&taken), [4, 5], "{place}: no suspect comes if none may be tried");
        let taken = desk.take(queue, &[4, 5], 10, true).await;
        assert_eq!(crashes(&taken.messages), [(2, 1)], "{place}: one suspect at a time, charged once");
        assert!(taken.has_suspects && taken.fence > claim.fence, "{place}: 3 waits: {taken:?}");
        let taken = desk.take(queue, &[2, 4, 5], 1, true).await;
        assert_eq!(crashes(&taken.messages), [(3, 1)], "{place}: everything that was held is charged");
        assert!(!taken.has_suspects, "{place}: it was the last one: {taken:?}");
        // It dies with all of them, and the messages that come then do not keep suspects waiting.
        desk = self.die(place, desk).await;
        desk.share("a").await;
        desk.commit((0..5).map(|_| append(queue, "m", b"x"))).await;
        let new = numbers(&desk.wait_for_suspects(queue).await);
        let mut all: Vec<(u64, u32)> = Vec::new();
        for _ in 0..4 {
            let in_hand: Vec<u64> = all.iter().map(|(seq, _)| *seq).chain(new.iter().copied()).collect();
            let taken = desk.take(queue, &in_hand, 1, true).await;
            all.extend(crashes(&taken.messages));
        }
        all.sort_unstable();
        assert_eq!(all, [(2, 2), (3, 2), (4, 1), (5, 1)], "{place}: one crash for each death");
        desk.close(place).await;
    }

    async fn alone_before_and_after(&mut self) {
        let place = "alone";
        let mut desk = self.open(place).await;
        let alone = desk.claim("a").await;
        let queue = alone.queue;
        desk.commit((0..4).map(|_| append(queue, "m", b"x"))).await;
        desk.opened.marks.begun(queue, Seq(1), Seq(0));
        desk.opened.marks.begun(queue, Seq(2), Seq(1));
        desk.commit([Change::Handled(id(queue, 1))]).await;
        desk = self.die(place, desk).await;
        let shared = desk.share("a").await;
        assert!(shared.fence > alone.fence && !shared.was_ours, "{place}: the queue has other owners: {shared:?}");
        let taken = desk.take(queue, &[], 10, true).await;
        assert_eq!(crashes(&taken.messages), [(2, 1), (3, 0), (4, 0)], "{place}: 2 was under way, 1 was handled");
        desk = self.die(place, desk).await;
        let alone = desk.claim("a").await;
        assert!(alone.fence > shared.fence, "{place}: {alone:?}");
        assert_eq!((alone.waiting, alone.begun), (3, None), "{place}: all that was held is charged already");
        assert_eq!(crashes(&desk.all(queue).await), [(2, 2), (3, 1), (4, 1)], "{place}: one owner sees it too");
        desk.commit([Change::Handled(id(queue, 2)), Change::Handled(id(queue, 3)), Change::Release(queue)]).await;
        desk.share("a").await;
        let taken = desk.take(queue, &[], 10, true).await;
        assert_eq!(crashes(&taken.messages), [(4, 1)], "{place}: what one owner has handled is gone");
        desk.close(place).await;
    }
}

impl<S: MessageStore> Desk<S> {
    async fn share(&mut self, queue: &str) -> Claim {
        for _ in 0..CLAIMS {
            match self.store.shared().expect("it can share").share(queue).await {
                Ok(claim) => return claim,
                // A dead owner still has the queue alone for a while.
                Err(error) if error.kind == StoreErrorKind::Claimed => tokio::time::sleep(CLAIM_AGAIN).await,
                Err(error) => panic!("{queue} cannot be shared: {error}"),
            }
        }
        panic!("{queue} cannot be shared: it has an owner for too long")
    }

    async fn try_take(
        &mut self,
        queue: QueueId,
        in_hand: &[u64],
        messages: usize,
        may_try: bool,
    ) -> Result<Taken, StoreError> {
        let in_hand: BTreeSet<Seq> = in_hand.iter().copied().map(Seq).collect();
        let room = Room { messages, bytes: usize::MAX };
        self.store.shared().expect("it can share").take(queue, &in_hand, room, may_try).await
    }

    async fn take(&mut self, queue: QueueId, in_hand: &[u64], messages: usize, may_try: bool) -> Taken {
        told(self.try_take(queue, in_hand, messages, may_try).await)
    }

    /// Takes innocent messages until the death of the last process was noticed.
    async fn wait_for_suspects(&mut self, queue: QueueId) -> Vec<Stored> {
        let mut all = Vec::new();
        for _ in 0..CLAIMS {
            let taken = self.take(queue, &numbers(&all), 10, false).await;
            all.extend(taken.messages);
            if taken.has_suspects {
                return all;
            }
            tokio::time::sleep(CLAIM_AGAIN).await;
        }
        panic!("a process that died still holds its messages")
    }
}

fn crashes(messages: &[Stored]) -> Vec<(u64, u32)> {
    messages.iter().map(|message| (message.seq.0, message.crashes)).collect()
}
