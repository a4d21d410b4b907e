//! What every store must do, as programs that run.

mod shared;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::{
    Append, Appended, Change, Claim, Ended, Fate, Group, MessageId, MessageStore, Opened, Owner, Quarantined,
    QueueId, QueueRow, Room, Seq, StoreError, StoreErrorKind, Stored,
};

/// Checks that an engine keeps the contract of [`MessageStore`], and that of [`SharedQueues`](super::SharedQueues) if it has it.
///
/// `make` gives a store that is not open over the data of a place. It is called again for the same place, to open what an
/// earlier store left there; at first a place is empty. An earlier store was closed, or dropped as if its process had died.
///
/// # Panics
///
/// Panics with the name of the case and what was expected if the engine breaks the contract.
pub async fn check<S: MessageStore>(make: impl FnMut(&str) -> S) {
    let mut bench = Bench { make };
    bench.numbers_and_contents().await;
    bench.pages().await;
    bench.handled().await;
    bench.charged().await;
    bench.quarantine().await;
    bench.retry_and_discard().await;
    bench.names().await;
    bench.claims().await;
    bench.keys().await;
    bench.one_group_in_order().await;
    bench.unknown_ids().await;
    bench.ends().await;
    bench.reopened_by_the_same_process().await;
    bench.many().await;
    bench.shared().await;
}

struct Bench<F> {
    make: F,
}

/// An open store.
struct Desk<S> {
    store: S,
    opened: Opened,
}

impl<F: FnMut(&str) -> S, S: MessageStore> Bench<F> {
    async fn open(&mut self, place: &str) -> Desk<S> {
        let mut store = (self.make)(place);
        let owner = Owner::new("check");
        let opened = store.open(&owner).await.unwrap_or_else(|error| panic!("{place}: it does not open: {error}"));
        assert_eq!(opened.missing, [], "{place}: nothing is missing");
        Desk { store, opened }
    }

    /// The process dies, and the next one opens the store.
    async fn die(&mut self, place: &str, desk: Desk<S>) -> Desk<S> {
        drop(desk);
        self.open(place).await
    }

    /// The process ends cleanly, and the next one opens the store.
    async fn reopen(&mut self, place: &str, desk: Desk<S>) -> Desk<S> {
        desk.close(place).await;
        self.open(place).await
    }

    async fn numbers_and_contents(&mut self) {
        let place = "numbers";
        let mut desk = self.open(place).await;
        let (a, b) = (desk.claim("a").await.queue, desk.claim("b").await.queue);
        assert_ne!(a, b, "{place}: each queue has a number of its own");
        let answers = desk
            .commit([
                append(a, "one", b"1"),
                append(b, "one", b""),
                append(a, "two", &[0xff; 10_000]),
                append(a, "", b"3"),
            ])
            .await;
        let expected = [1, 1, 2, 3].map(|number| Appended::Stored(Seq(number)));
        assert_eq!(answers, expected, "{place}: numbers start at 1 and leave nothing out");
        let written = desk.all(a).await;
        assert_eq!(written.len(), 3, "{place}: {written:?}");
        assert_eq!(written[0], message(1, "one", b"1"), "{place}: what was stored comes back");
        assert_eq!(written[1], message(2, "two", &[0xff; 10_000]), "{place}: also a long body");
        for dies in [true, false] {
            desk = if dies { self.die(place, desk).await } else { self.reopen(place, desk).await };
            let (a, b) = (desk.claim("a").await, desk.claim("b").await);
            assert_eq!((a.waiting, b.waiting), (3, 1), "{place}: the count survives");
            assert_eq!((a.last, b.last), (Seq(3), Seq(1)), "{place}: and the last number");
            assert_eq!(desk.all(a.queue).await, written, "{place}: messages survive (the process died: {dies})");
            assert_eq!(desk.all(b.queue).await, [message(1, "one", b"")], "{place}: queues are apart");
        }
        let (a, b) = (desk.queue("a").await.queue, desk.queue("b").await.queue);
        let answers = desk.commit([append(b, "x", b""), append(a, "y", b"")]).await;
        let expected = [Appended::Stored(Seq(2)), Appended::Stored(Seq(4))];
        assert_eq!(answers, expected, "{place}: numbers go on after reopening");
        desk.close(place).await;
    }

    async fn pages(&mut self) {
        let place = "pages";
        let mut desk = self.open(place).await;
        let queue = desk.claim("a").await.queue;
        assert_eq!(desk.page(queue, 0, 10, 1000).await, [], "{place}: an empty queue has no page");
        desk.commit((0..10).map(|_| append(queue, "m", &[7; 100]))).await;
        assert_eq!(desk.page(queue, 0, 3, 10_000).await, [1, 2, 3], "{place}: no more messages than asked for");
        assert_eq!(desk.page(queue, 3, 3, 10_000).await, [4, 5, 6], "{place}: a page starts after the number");
        assert_eq!(desk.page(queue, 8, 10, 10_000).await, [9, 10], "{place}: the last page may be short");
        assert_eq!(desk.page(queue, 10, 10, 10_000).await, [], "{place}: nothing after the end");
        assert_eq!(desk.page(queue, 0, 10, 250).await, [1, 2], "{place}: no more bytes than asked for");
        assert_eq!(desk.page(queue, 0, 10, 1).await, [1], "{place}: the first message comes whatever its size");
        desk.commit([Change::Handled(id(queue, 2)), Change::Handled(id(queue, 3))]).await;
        assert_eq!(desk.page(queue, 0, 3, 10_000).await, [1, 4, 5], "{place}: handled messages are left out");
        desk.close(place).await;
    }

    async fn handled(&mut self) {
        let place = "handled";
        let mut desk = self.open(place).await;
        let queue = desk.claim("a").await.queue;
        desk.commit((0..6).map(|_| append(queue, "m", b"x"))).await;
        desk.commit([Change::Handled(id(queue, 1)), Change::Handled(id(queue, 4)), Change::Handled(id(queue, 2))])
            .await;
        for dies in [true, false] {
            desk = if dies { self.die(place, desk).await } else { self.reopen(place, desk).await };
            let claim = desk.claim("a").await;
            assert_eq!(claim.waiting, 3, "{place}: handled messages do not wait");
            assert!(claim.handled <= Seq(2), "{place}: message 3 has not been handled: {claim:?}");
            let rest = desk.page(queue, claim.handled.0, 10, 1000).await;
            assert_eq!(rest, [3, 5, 6], "{place}: handled messages are gone (the process died: {dies})");
        }
        desk.commit([3, 5, 6].map(|number| Change::Handled(id(queue, number)))).await;
        desk = self.reopen(place, desk).await;
        assert_eq!(desk.claim("a").await.waiting, 0, "{place}: an emptied queue stays empty");
        let answers = desk.commit([append(queue, "m", b"x")]).await;
        assert_eq!(answers, [Appended::Stored(Seq(7))], "{place}: no number is given twice");
        desk.close(place).await;
    }

    async fn charged(&mut self) {
        let place = "charged";
        let mut desk = self.open(place).await;
        let queue = desk.claim("a").await.queue;
        desk.commit((0..3).map(|_| append(queue, "m", b"x"))).await;
        let failures = vec!["no route".to_owned(), "still \u{1f4a5}".to_owned()];
        let charge = Change::Charged { id: id(queue, 1), attempts: 2, crashes: 1, failures: failures.clone() };
        desk.commit([charge]).await;
        desk = self.die(place, desk).await;
        desk.claim("a").await;
        let expected = Stored { attempts: 2, crashes: 1, failures, ..message(1, "m", b"x") };
        assert_eq!(desk.all(queue).await[0], expected, "{place}: a charge is in place and survives");
        desk.commit([Change::Charged { id: id(queue, 1), attempts: 3, crashes: 0, failures: Vec::new() }]).await;
        desk = self.reopen(place, desk).await;
        desk.claim("a").await;
        let first = desk.all(queue).await.swap_remove(0);
        let expected = Stored { attempts: 3, ..message(1, "m", b"x") };
        assert_eq!(first, expected, "{place}: the last charge is the one that counts");
        assert_eq!(numbers(&desk.all(queue).await), [1, 2, 3], "{place}: a charged message keeps its place");
        desk.close(place).await;
    }

    async fn quarantine(&mut self) {
        let place = "quarantine";
        let mut desk = self.open(place).await;
        let queue = desk.claim("a").await.queue;
        desk.commit((0..4).map(|_| append(queue, "m", b"x"))).await;
        desk.commit([Change::Charged { id: id(queue, 2), attempts: 1, crashes: 2, failures: vec!["a".into()] }])
            .await;
        let failures = vec!["a".to_owned(), "b".to_owned()];
        desk.commit([Change::Quarantine { id: id(queue, 2), fate: Fate::Failed, failures: failures.clone() }])
            .await;
        for (number, fate) in [(1, Fate::Undecodable), (4, Fate::CrashedTheProcess)] {
            desk.commit([Change::Quarantine { id: id(queue, number), fate, failures: Vec::new() }]).await;
        }
        for dies in [true, false] {
            desk = if dies { self.die(place, desk).await } else { self.reopen(place, desk).await };
            assert_eq!(desk.claim("a").await.waiting, 1, "{place}: a quarantined message does not wait");
            assert_eq!(numbers(&desk.all(queue).await), [3], "{place}: it is not in its queue");
            let mut listed = desk.quarantined("a").await;
            let order: Vec<_> = listed.iter().map(|one| (one.id, one.fate)).collect();
            let expected = [(1, Fate::Undecodable), (2, Fate::Failed), (4, Fate::CrashedTheProcess)];
            let expected = expected.map(|(number, fate)| (id(queue, number), fate));
            assert_eq!(order, expected, "{place}: listed with its fate, in the order of numbers (died: {dies})");
            let second = listed.swap_remove(1).message;
            let whole = Stored { attempts: 1, crashes: 2, failures: failures.clone(), ..message(2, "m", b"x") };
            assert_eq!(second, whole, "{place}: it is kept whole");
            for (after, room, expected) in [(0, (2, 1000), &[1, 2][..]), (1, (9, 1), &[2]), (4, (9, 9), &[])] {
                let room = Room { messages: room.0, bytes: room.1 };
                let page = told(desk.store.quarantined("a", Seq(after), room).await);
                let page: Vec<_> = page.iter().map(|one| one.id.seq.0).collect();
                assert_eq!(page, expected, "{place}: a page after {after}, with {room:?}");
            }
            let row = desk.queue("a").await;
            assert_eq!((row.waiting, row.quarantined), (1, 3), "{place}: {row:?}");
        }
        desk.close(place).await;
    }

    async fn retry_and_discard(&mut self) {
        let place = "retry";
        let mut desk = self.open(place).await;
        let queue = desk.claim("a").await.queue;
        desk.commit((0..4).map(|number| append(queue, "m", &[number]))).await;
        desk.commit([Change::Charged { id: id(queue, 1), attempts: 4, crashes: 1, failures: vec!["a".into()] }])
            .await;
        let quarantine =
            |number| Change::Quarantine { id: id(queue, number), fate: Fate::Failed, failures: vec!["a".into()] };
        desk.commit([quarantine(1), quarantine(2), quarantine(3)]).await;
        desk.commit([Change::Retry(id(queue, 1)), Change::Discard(id(queue, 3))]).await;
        for dies in [true, false] {
            desk = if dies { self.die(place, desk).await } else { self.reopen(place, desk).await };
            desk.claim("a").await;
            let waiting = desk.all(queue).await;
            let expected = [message(4, "m", &[3]), message(5, "m", &[0])];
            assert_eq!(waiting, expected, "{place}: a retried message goes last, attempts anew (died: {dies})");
            let listed: Vec<_> = desk.quarantined("a").await.iter().map(|one| one.id.seq.0).collect();
            assert_eq!(listed, [2], "{place}: a discarded message is gone (died: {dies})");
        }
        let answers = desk.commit([append(queue, "m", b"x")]).await;
        assert_eq!(answers, [Appended::Stored(Seq(6))], "{place}: the retried message has the number 5");
        desk.close(place).await;
    }

    async fn names(&mut self) {
        let place = "names";
        let mut desk = self.open(place).await;
        let old = desk.claim("old").await.queue;
        desk.commit((0..3).map(|_| append(old, "m", b"x"))).await;
        desk.commit([Change::Quarantine { id: id(old, 1), fate: Fate::Failed, failures: Vec::new() }]).await;
        desk.commit([Change::Release(old)]).await;
        let empty = desk.claim("new").await.queue;
        desk.commit([Change::Release(empty)]).await;
        desk.commit([Change::Rename { from: "old".into(), to: "new".into() }]).await;
        for dies in [true, false] {
            desk = if dies { self.die(place, desk).await } else { self.reopen(place, desk).await };
            let claim = desk.claim("new").await;
            assert_eq!(claim.waiting, 2, "{place}: the messages have gone with the name (died: {dies})");
            assert_eq!(numbers(&desk.all(claim.queue).await), [2, 3], "{place}: in their order");
            assert_eq!(desk.quarantined("new").await.len(), 1, "{place}: and so has the quarantine");
            let old =
                desk.store.quarantined("old", Seq(0), ALL).await.expect_err("nothing is left under the old name");
            assert_eq!(old.kind, StoreErrorKind::Refused, "{place}: {old}");
        }
        let names: Vec<_> = desk.queues().await.into_iter().map(|row| row.name).collect();
        assert_eq!(names, ["new"], "{place}: the old name is free");
        let queue = desk.queue("new").await.queue;
        desk.commit([Change::Release(queue)]).await;
        desk.commit([Change::DiscardQueue("new".into())]).await;
        desk = self.die(place, desk).await;
        assert_eq!(desk.queues().await, [], "{place}: a discarded queue is gone");
        let again = desk.claim("new").await;
        assert_eq!((again.waiting, again.begun), (0, None), "{place}: the next of its name is empty");
        assert_eq!(desk.quarantined("new").await, [], "{place}: with an empty quarantine");
        desk.close(place).await;
    }

    async fn claims(&mut self) {
        let place = "claims";
        let mut desk = self.open(place).await;
        let first = desk.claim("a").await;
        assert_eq!(
            (first.waiting, first.handled, first.begun),
            (0, Seq(0), None),
            "{place}: a new queue is empty"
        );
        assert_eq!(first.may_have_begun, Seq(0), "{place}: no process has died with it");
        desk.commit([append(first.queue, "m", b"x"), Change::Release(first.queue)]).await;
        let second = desk.claim("a").await;
        assert_eq!(second.queue, first.queue, "{place}: a queue keeps its number");
        assert!(second.fence > first.fence, "{place}: the fence grows with each owner: {first:?}, {second:?}");
        assert_eq!(
            (second.waiting, second.begun),
            (1, None),
            "{place}: released, nothing is under way: {second:?}"
        );
        desk = self.die(place, desk).await;
        let third = desk.claim("a").await;
        assert!(third.fence > second.fence, "{place}: the fence grows across processes: {second:?}, {third:?}");
        desk = self.reopen(place, desk).await;
        let fourth = desk.claim("a").await;
        assert!(fourth.fence > third.fence, "{place}: the fence grows across processes: {third:?}, {fourth:?}");
        // A queue that is not claimed accepts messages.
        let answers = desk.commit([Change::Release(first.queue), append(first.queue, "m", b"y")]).await;
        assert_eq!(answers, [Appended::Stored(Seq(2))], "{place}: a queue without an owner accepts");
        let row = desk.queue("a").await;
        assert_eq!((row.waiting, row.oldest), (2, Some(moment())), "{place}: a queue without an owner is listed");
        desk.close(place).await;
    }

    async fn keys(&mut self) {
        let place = "keys";
        let mut desk = self.open(place).await;
        let (a, b) = (desk.claim("a").await.queue, desk.claim("b").await.queue);
        let keyed = |queue, key: &str| match append(queue, "m", b"x") {
            Change::Append(append) => Change::Append(Append { key: Some(key.to_owned()), ..append }),
            other => other,
        };
        let answers = desk.commit([keyed(a, "k"), keyed(a, "k"), keyed(a, "l"), keyed(b, "k")]).await;
        let stored = |number| Appended::Stored(Seq(number));
        let expected = [stored(1), Appended::Known, stored(2), stored(1)];
        assert_eq!(answers, expected, "{place}: a key is stored once in its queue, also within one group");
        assert_eq!(desk.commit([keyed(a, "k")]).await, [Appended::Known], "{place}: known in the next group");
        desk = self.die(place, desk).await;
        desk.claim("a").await;
        assert_eq!(desk.commit([keyed(a, "k")]).await, [Appended::Known], "{place}: known after a crash");
        desk.commit([Change::Handled(id(a, 1))]).await;
        assert_eq!(desk.commit([keyed(a, "k")]).await, [Appended::Known], "{place}: known after it was handled");
        desk = self.reopen(place, desk).await;
        desk.claim("a").await;
        assert_eq!(desk.commit([keyed(a, "k")]).await, [Appended::Known], "{place}: and after reopening");
        assert_eq!(numbers(&desk.all(a).await), [2], "{place}: nothing was stored twice");
        desk.close(place).await;
    }

    async fn one_group_in_order(&mut self) {
        let place = "group";
        let mut desk = self.open(place).await;
        let queue = desk.claim("a").await.queue;
        desk.commit((0..3).map(|number| append(queue, "m", &[number]))).await;
        let answers = desk
            .commit([
                append(queue, "m", &[3]),
                Change::Handled(id(queue, 1)),
                Change::Quarantine { id: id(queue, 2), fate: Fate::Failed, failures: Vec::new() },
                Change::Retry(id(queue, 2)),
                append(queue, "m", &[5]),
                Change::Charged { id: id(queue, 6), attempts: 1, crashes: 0, failures: Vec::new() },
            ])
            .await;
        let expected = [4, 6].map(|number| Appended::Stored(Seq(number)));
        assert_eq!(answers, expected, "{place}: the changes of a group take effect in their order");
        desk = self.die(place, desk).await;
        desk.claim("a").await;
        let bodies: Vec<_> =
            desk.all(queue).await.iter().map(|one| (one.seq.0, one.body[0], one.attempts)).collect();
        assert_eq!(bodies, [(3, 2, 0), (4, 3, 0), (5, 1, 0), (6, 5, 1)], "{place}: and all of them");
        assert_eq!(desk.commit([]).await, [], "{place}: an empty group is one too");
        desk.close(place).await;
    }

    async fn unknown_ids(&mut self) {
        let place = "unknown";
        let mut desk = self.open(place).await;
        let queue = desk.claim("a").await.queue;
        desk.commit((0..2).map(|_| append(queue, "m", b"x"))).await;
        desk.commit([Change::Handled(id(queue, 1))]).await;
        desk.commit([
            Change::Handled(id(queue, 1)),
            Change::Retry(id(queue, 1)),
            Change::Retry(id(queue, 2)),
            Change::Discard(id(queue, 2)),
            Change::Charged { id: id(queue, 1), attempts: 1, crashes: 1, failures: Vec::new() },
            Change::Rename { from: "nobody".into(), to: "somebody".into() },
            Change::DiscardQueue("nobody".into()),
        ])
        .await;
        assert_eq!(numbers(&desk.all(queue).await), [2], "{place}: what is not there is left alone");
        assert_eq!(desk.quarantined("a").await, [], "{place}: and nothing appears");
        let nobody = desk.store.quarantined("nobody", Seq(0), ALL).await.expect_err("there is no such queue");
        assert_eq!(nobody.kind, StoreErrorKind::Refused, "{place}: {nobody}");
        assert_eq!(desk.queues().await.len(), 1, "{place}: there is one queue");
        desk.close(place).await;
    }

    async fn ends(&mut self) {
        let place = "ends";
        let mut desk = self.open(place).await;
        assert_eq!(desk.opened.ended, Ended::Cleanly, "{place}: there was no store");
        let queue = desk.claim("a").await.queue;
        desk.commit((0..4).map(|_| append(queue, "m", b"x"))).await;
        desk.opened.marks.begun(queue, Seq(1), Seq(0));
        desk.opened.marks.begun(queue, Seq(2), Seq(1));
        desk.commit([Change::Handled(id(queue, 1))]).await;
        desk = self.die(place, desk).await;
        assert_ne!(desk.opened.ended, Ended::Cleanly, "{place}: the process died");
        // It dies again before the queue has an owner.
        desk = self.die(place, desk).await;
        let claim = desk.claim("a").await;
        assert_eq!(claim.begun, Some(Seq(2)), "{place}: what was under way is named until somebody was charged");
        assert!(claim.may_have_begun >= Seq(2), "{place}: and so is what may have been begun: {claim:?}");
        let waiting = desk.page(queue, claim.handled.0, 10, 1000).await;
        assert_eq!(waiting, [2, 3, 4], "{place}: and waits with the rest");
        desk.commit([Change::Charged { id: id(queue, 2), attempts: 0, crashes: 1, failures: Vec::new() }]).await;
        desk.opened.marks.begun(queue, Seq(2), Seq(1));
        desk.opened.marks.idle(queue, Seq(2));
        desk.commit([Change::Handled(id(queue, 2)), Change::Release(queue)]).await;
        desk = self.reopen(place, desk).await;
        assert_eq!(desk.opened.ended, Ended::Cleanly, "{place}: it was closed");
        let claim = desk.claim("a").await;
        assert_eq!(claim.begun, None, "{place}: nothing was under way: {claim:?}");
        assert!(
            claim.may_have_begun >= Seq(2),
            "{place}: a clean end does not change what may have begun: {claim:?}"
        );
        desk.close(place).await;
    }

    /// As after a failed sync.
    async fn reopened_by_the_same_process(&mut self) {
        let place = "again";
        let mut desk = self.open(place).await;
        let queue = desk.claim("a").await.queue;
        desk.commit((0..3).map(|_| append(queue, "m", b"x"))).await;
        desk.commit([Change::Handled(id(queue, 1))]).await;
        desk.opened = desk.store.open(&Owner::new("check")).await.expect("a store opens again");
        let claim = desk.claim("a").await;
        assert_eq!((claim.queue, claim.waiting), (queue, 2), "{place}: what was durable is there");
        assert_eq!(
            desk.commit([append(queue, "m", b"x")]).await,
            [Appended::Stored(Seq(4))],
            "{place}: it goes on"
        );
        desk.close(place).await;
    }

    async fn many(&mut self) {
        let place = "many";
        let mut desk = self.open(place).await;
        let queue = desk.claim("a").await.queue;
        for _ in 0..3 {
            desk.commit((0..700).map(|_| append(queue, "m", b"some bytes"))).await;
        }
        desk = self.die(place, desk).await;
        assert_eq!(desk.claim("a").await.waiting, 2100, "{place}: all were kept");
        let mut after = 0;
        while let Some(last) = desk.page(queue, after, 256, 1 << 20).await.last().copied() {
            assert!(last <= after + 256, "{place}: a page of at most 256 starts after {after}");
            let handled = (after + 1..=last).map(|number| Change::Handled(id(queue, number)));
            desk.commit(handled).await;
            after = last;
        }
        assert_eq!(after, 2100, "{place}: pages lead to the end");
        assert_eq!(desk.queue("a").await.waiting, 0, "{place}: all were handled");
        desk.close(place).await;
    }
}

/// How many times the check claims a queue that a dead process still owns.
const CLAIMS: u32 = 1200;

/// How long the check waits before it claims again.
const CLAIM_AGAIN: Duration = Duration::from_millis(50);

/// Room for everything.
const ALL: Room = Room { messages: 100_000, bytes: usize::MAX };

impl<S: MessageStore> Desk<S> {
    async fn claim(&mut self, queue: &str) -> Claim {
        for _ in 0..CLAIMS {
            match self.store.claim(queue).await {
                Ok(claim) => return claim,
                // The dead owner still has the queue for a while.
                Err(error) if error.kind == StoreErrorKind::Claimed => tokio::time::sleep(CLAIM_AGAIN).await,
                Err(error) => panic!("{queue} cannot be claimed: {error}"),
            }
        }
        panic!("{queue} cannot be claimed: it has an owner for too long")
    }

    async fn commit(&mut self, changes: impl IntoIterator<Item = Change>) -> Vec<Appended> {
        let group = Group { changes: changes.into_iter().collect() };
        self.store.commit(&group).await.unwrap_or_else(|error| panic!("{group:?} is not durable: {error}"))
    }

    async fn all(&mut self, queue: QueueId) -> Vec<Stored> {
        told(self.store.page(queue, Seq(0), ALL).await)
    }

    /// The numbers on a page.
    async fn page(&mut self, queue: QueueId, after: u64, messages: usize, bytes: usize) -> Vec<u64> {
        numbers(&told(self.store.page(queue, Seq(after), Room { messages, bytes }).await))
    }

    async fn queues(&mut self) -> Vec<QueueRow> {
        told(self.store.queues().await)
    }

    async fn queue(&mut self, name: &str) -> QueueRow {
        let found = self.queues().await.into_iter().find(|row| row.name == name);
        found.unwrap_or_else(|| panic!("the queue {name} is not listed"))
    }

    async fn quarantined(&mut self, queue: &str) -> Vec<Quarantined> {
        told(self.store.quarantined(queue, Seq(0), ALL).await)
    }

    async fn close(self, place: &str) {
        let closed = Box::new(self.store).close().await;
        closed.unwrap_or_else(|error| panic!("{place}: it does not close: {error}"));
    }
}

fn told<T>(answer: Result<T, StoreError>) -> T {
    answer.unwrap_or_else(|error| panic!("the store fails: {error}"))
}

fn numbers(messages: &[Stored]) -> Vec<u64> {
    messages.iter().map(|message| message.seq.0).collect()
}

const fn id(queue: QueueId, number: u64) -> MessageId {
    MessageId { queue, seq: Seq(number) }
}

/// Stores need to keep milliseconds only.
fn moment() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(1_790_000_000_123)
}

fn append(queue: QueueId, kind: &str, body: &[u8]) -> Change {
    Change::Append(Append {
        queue,
        kind: kind.to_owned().into(),
        body: Arc::from(body),
        accepted_at: moment(),
        key: None,
    })
}

/// As [`append`] stores it.
fn message(number: u64, kind: &str, body: &[u8]) -> Stored {
    Stored {
        seq: Seq(number),
        kind: kind.to_owned(),
        body: Arc::from(body),
        accepted_at: moment(),
        attempts: 0,
        crashes: 0,
        failures: Vec::new(),
        is_damaged: false,
    }
}
