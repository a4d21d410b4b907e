//! How the last process ended, and what the marks say about it.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use supervise::durable::{Appended, Change, Ended, Fate, Seq, StoreError, StoreErrorKind};

use crate::fixture::{Desk, Folder, append, copy, handled, id, keyed, small};

#[tokio::test]
async fn dur_03_what_was_handled_after_the_last_group_is_not_handled_again_when_the_process_dies() {
    let folder = Folder::new();
    let mut desk = Desk::open(folder.store()).await;
    let queue = desk.claim("orders").await.queue;
    desk.commit((0..5).map(|_| append(queue, b"x"))).await;
    desk.opened.marks.begun(queue, Seq(1), Seq(0));
    desk.opened.marks.begun(queue, Seq(4), Seq(3));
    drop(desk);
    let mut desk = Desk::open(folder.store()).await;
    assert_eq!(desk.opened.ended, Ended::ProcessDied);
    let claim = desk.claim("orders").await;
    assert_eq!((claim.handled, claim.begun, claim.waiting), (Seq(3), Some(Seq(4)), 2));
    assert_eq!(desk.numbers(queue).await, [4, 5]);
}

#[tokio::test]
async fn dur_04_what_was_handled_after_the_last_group_is_handled_again_when_the_power_fails() {
    let folder = Folder::new();
    let mut desk = Desk::open(folder.store()).await;
    let queue = desk.claim("orders").await.queue;
    desk.commit((0..5).map(|_| append(queue, b"x"))).await;
    // These marks are on disk, the next ones are not.
    desk.opened.marks.begun(queue, Seq(2), Seq(1));
    let on_disk = std::fs::read(folder.beside("-marks")).expect("they are there");
    desk.opened.marks.begun(queue, Seq(4), Seq(3));
    desk.commit([append(queue, b"x")]).await;
    drop(desk);
    std::fs::write(folder.beside("-marks"), on_disk).expect("they can be written");
    let mut desk = Desk::try_open(small(folder.store()).boot("the next one")).await.expect("it opens");
    assert_eq!(desk.opened.ended, Ended::MachineStopped);
    let claim = desk.claim("orders").await;
    assert_eq!((claim.handled, claim.begun), (Seq(1), None), "what the marks know is true, and not all there is");
    assert_eq!(desk.numbers(queue).await, [2, 3, 4, 5, 6]);
}

#[tokio::test]
async fn marks_that_the_power_cut_has_spoilt_are_not_believed() {
    for spoil in [|bytes: &mut Vec<u8>| bytes.fill(0xa5), |bytes: &mut Vec<u8>| bytes.fill(0), Vec::clear] {
        let folder = Folder::new();
        let mut desk = Desk::open(folder.store()).await;
        let queue = desk.claim("orders").await.queue;
        desk.commit((0..3).map(|_| append(queue, b"x"))).await;
        desk.opened.marks.begun(queue, Seq(3), Seq(2));
        drop(desk);
        let mut bytes = std::fs::read(folder.beside("-marks")).expect("they are there");
        spoil(&mut bytes);
        std::fs::write(folder.beside("-marks"), bytes).expect("they can be written");
        // Within one boot of the machine, only a fault of the disk can cause this.
        let error = Desk::try_open(small(folder.store())).await.err().expect("it is damage");
        assert_eq!(error.kind, StoreErrorKind::Damaged, "{error}");
        let mut desk = Desk::try_open(small(folder.store()).boot("the next one")).await.expect("it opens");
        assert_eq!(desk.numbers(queue).await, [1, 2, 3]);
        // They are good again.
        desk.claim("orders").await;
        desk.opened.marks.begun(queue, Seq(2), Seq(1));
        drop(desk);
        let mut desk = Desk::try_open(small(folder.store()).boot("the next one")).await.expect("it opens");
        assert_eq!(desk.claim("orders").await.begun, Some(Seq(2)));
    }
}

#[tokio::test]
async fn a_new_store_opens_if_its_first_process_died_while_it_wrote_the_marks() {
    let folder = Folder::new();
    let mut desk = Desk::open(folder.store()).await;
    let queue = desk.claim("orders").await.queue;
    desk.commit([append(queue, b"x")]).await;
    desk.close().await;
    let marks = fs::read(folder.beside("-marks")).expect("they are there");
    // The first two of the three slots that a process writes, one after the other.
    for written in [0, 32, 64] {
        let other = Folder::new();
        copy(&folder.store(), &other.store());
        fs::write(other.beside("-marks"), &marks[..written]).expect("it can be written");
        let mut desk = Desk::open(other.store()).await;
        assert_eq!((desk.opened.ended, desk.numbers(queue).await), (Ended::Cleanly, vec![1]), "{written} bytes");
        desk.close().await;
    }
}

#[tokio::test]
async fn where_the_boot_is_not_known_every_unclean_end_is_the_machines() {
    let folder = Folder::new();
    let open = || Desk::try_open(small(folder.store()).boot(""));
    let mut desk = open().await.expect("it is new");
    let queue = desk.claim("orders").await.queue;
    desk.commit((0..3).map(|_| append(queue, b"x"))).await;
    desk.opened.marks.begun(queue, Seq(2), Seq(1));
    drop(desk);
    let mut desk = open().await.expect("it opens");
    assert_eq!(desk.opened.ended, Ended::MachineStopped);
    let claim = desk.claim("orders").await;
    assert_eq!(claim.begun, Some(Seq(2)), "it is charged: most likely only the process has died");
    assert_eq!(claim.may_have_begun, Seq(3));
    desk.close().await;
    assert_eq!(open().await.expect("it opens").opened.ended, Ended::Cleanly);
}

#[tokio::test]
async fn what_may_have_been_begun_is_known_until_it_is_handled() {
    let folder = Folder::new();
    let mut desk = Desk::open(folder.store()).await;
    let queue = desk.claim("orders").await.queue;
    desk.commit((0..5).map(|_| append(queue, b"x"))).await;
    desk.opened.marks.begun(queue, Seq(2), Seq(1));
    drop(desk);
    let mut desk = Desk::open(folder.store()).await;
    assert_eq!(desk.claim("orders").await.may_have_begun, Seq(2), "the process died");
    desk.close().await;
    let mut desk = Desk::open(folder.store()).await;
    assert_eq!(desk.claim("orders").await.may_have_begun, Seq(2), "after a clean end too");
    drop(desk);
    let next = || small(folder.store()).boot("the next one");
    let mut desk = Desk::try_open(next()).await.expect("it opens");
    assert_eq!(desk.claim("orders").await.may_have_begun, Seq(5), "the machine stopped");
    desk.commit([append(queue, b"x")]).await;
    drop(desk);
    let mut desk = Desk::try_open(next()).await.expect("it opens");
    assert_eq!(desk.opened.ended, Ended::ProcessDied);
    assert_eq!(desk.claim("orders").await.may_have_begun, Seq(5), "and then the process died");
    desk.close().await;
    let mut desk = Desk::try_open(next()).await.expect("it opens");
    assert_eq!(desk.claim("orders").await.may_have_begun, Seq(5), "and then it ended cleanly");
}

#[tokio::test]
async fn a_message_under_way_is_charged_once() {
    let folder = Folder::new();
    let mut desk = Desk::open(folder.store()).await;
    let queue = desk.claim("orders").await.queue;
    desk.commit((0..3).map(|_| append(queue, b"x"))).await;
    desk.opened.marks.begun(queue, Seq(1), Seq(0));
    drop(desk);
    // Processes die before they can charge it.
    for _ in 0..3 {
        let mut desk = Desk::open(folder.store()).await;
        assert_eq!(desk.claim("orders").await.begun, Some(Seq(1)));
    }
    let mut desk = Desk::open(folder.store()).await;
    desk.claim("orders").await;
    desk.commit([Change::Charged { id: id(queue, 1), attempts: 0, crashes: 1, failures: Vec::new() }]).await;
    drop(desk);
    // It was charged, and not begun again.
    let mut desk = Desk::open(folder.store()).await;
    assert_eq!(desk.claim("orders").await.begun, None);
    assert_eq!(desk.all(queue).await[0].crashes, 1);
}

#[tokio::test]
async fn dur_40_a_clean_end_charges_nobody() {
    let folder = Folder::new();
    let mut desk = Desk::open(folder.store()).await;
    let queue = desk.claim("orders").await.queue;
    desk.commit((0..100).map(|_| append(queue, b"x"))).await;
    desk.opened.marks.begun(queue, Seq(1), Seq(0));
    desk.close().await;
    assert!(!folder.beside("-wal").exists(), "the file may be moved alone");
    std::fs::remove_file(folder.beside("-marks")).expect("they are there");
    let mut desk = Desk::open(folder.store()).await;
    assert_eq!(desk.opened.ended, Ended::Cleanly);
    let claim = desk.claim("orders").await;
    assert_eq!((claim.waiting, claim.begun), (100, None));
}

/// A clock that a test sets, in seconds. Clones are the same clock.
#[derive(Clone, Default)]
struct Clock(Arc<AtomicU64>);

impl Clock {
    fn set(&self, seconds: u64) {
        self.0.store(seconds, Ordering::Relaxed);
    }

    /// Opens the store of a folder, which goes by this clock.
    async fn open(&self, folder: &Folder) -> Result<Desk, StoreError> {
        let clock = self.clone();
        let now = move || SystemTime::UNIX_EPOCH + Duration::from_secs(clock.0.load(Ordering::Relaxed));
        Desk::try_open(small(folder.store()).clock(now)).await
    }
}

#[tokio::test]
async fn dur_37_a_key_is_remembered_for_ten_minutes_after_its_message_was_handled() {
    let (folder, clock) = (Folder::new(), Clock::default());
    let mut desk = clock.open(&folder).await.expect("it is new");
    let queue = desk.claim("orders").await.queue;
    let order = || [keyed(queue, b"x", Some("order-17"))];
    assert_eq!(desk.commit(order()).await, [Appended::Stored(Seq(1))]);
    clock.set(3600);
    assert_eq!(desk.commit(order()).await, [Appended::Known], "its message waits");
    desk.commit([handled(queue, 1)]).await;
    drop(desk);
    let mut desk = clock.open(&folder).await.expect("it opens");
    clock.set(3600 + 599);
    assert_eq!(desk.commit(order()).await, [Appended::Known], "9:59 later, across a crash");
    clock.set(3600 + 600);
    assert_eq!(desk.commit(order()).await, [Appended::Stored(Seq(2))], "10 minutes later");
    // In quarantine it is remembered, discarded for 10 minutes more.
    desk.commit([Change::Quarantine { id: id(queue, 2), fate: Fate::Failed, failures: Vec::new() }]).await;
    clock.set(20_000);
    assert_eq!(desk.commit(order()).await, [Appended::Known], "in quarantine");
    desk.commit([Change::Discard(id(queue, 2))]).await;
    clock.set(20_599);
    assert_eq!(desk.commit(order()).await, [Appended::Known], "discarded 9:59 ago");
    clock.set(20_600);
    assert_eq!(desk.commit(order()).await, [Appended::Stored(Seq(3))], "discarded 10 minutes ago");
    // Expired keys are deleted.
    desk.commit([handled(queue, 3)]).await;
    clock.set(30_000);
    desk.commit([]).await;
    desk.close().await;
    let left: i64 = rusqlite::Connection::open(folder.store())
        .and_then(|file| file.query_row("SELECT count(*) FROM key", (), |row| row.get(0)))
        .expect("it can be read");
    assert_eq!(left, 0);
}

/// What was handled since the last group is known from the marks.
#[tokio::test]
async fn dur_37_a_key_is_forgotten_also_if_the_process_dies_before_the_acknowledgement_is_durable() {
    let (folder, clock) = (Folder::new(), Clock::default());
    let mut desk = clock.open(&folder).await.expect("it is new");
    let queue = desk.claim("orders").await.queue;
    let order = || [keyed(queue, b"x", Some("daily-report"))];
    assert_eq!(desk.commit(order()).await, [Appended::Stored(Seq(1))]);
    desk.opened.marks.begun(queue, Seq(1), Seq(0));
    desk.opened.marks.idle(queue, Seq(1));
    drop(desk);
    let mut desk = clock.open(&folder).await.expect("it opens");
    clock.set(599);
    assert_eq!(desk.commit(order()).await, [Appended::Known], "9:59 later");
    clock.set(600);
    assert_eq!(desk.commit(order()).await, [Appended::Stored(Seq(2))], "10 minutes later");
}

#[tokio::test]
async fn a_clock_that_is_set_by_hours_loses_reorders_and_charges_nothing() {
    const HOURS: u64 = 5 * 3600;
    let (folder, clock) = (Folder::new(), Clock::default());
    clock.set(10 * HOURS);
    let mut desk = clock.open(&folder).await.expect("it is new");
    let queue = desk.claim("orders").await.queue;
    let order = || [keyed(queue, b"x", Some("order-17"))];
    assert_eq!(desk.commit(order()).await, [Appended::Stored(Seq(1))]);
    clock.set(9 * HOURS);
    assert_eq!(desk.commit(order()).await, [Appended::Known], "set back");
    desk.commit([append(queue, b"x"), append(queue, b"x")]).await;
    desk.commit([handled(queue, 1)]).await;
    drop(desk);
    clock.set(HOURS);
    let mut desk = clock.open(&folder).await.expect("it opens");
    let claim = desk.claim("orders").await;
    assert_eq!((claim.waiting, claim.begun), (2, None));
    assert_eq!(desk.commit(order()).await, [Appended::Known], "set back further");
    clock.set(20 * HOURS);
    desk.commit([append(queue, b"x")]).await;
    assert_eq!(desk.numbers(queue).await, [2, 3, 4]);
    // Only keys are counted by this clock.
    assert_eq!(desk.commit(order()).await, [Appended::Stored(Seq(5))], "set ahead");
}
