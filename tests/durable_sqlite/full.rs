//! A disk without room.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use supervise::durable::{Appended, Change, CommitError, Fate, MessageStore, QueueId, Room, Seq, SqliteStore};

use crate::fixture::{Desk, Folder, append, handled, id};

const BODY: usize = 60_000;

/// A small disk in memory.
struct Disk {
    folder: Folder,
}

impl Disk {
    /// `None` if this user may not mount it.
    fn mount() -> Option<Self> {
        let folder = Folder::new();
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", "size=40m", "tmpfs"]).arg(folder.path());
        if command.output().is_ok_and(|done| done.status.success()) {
            return Some(Self { folder });
        }
        println!("skipped: a small disk can be mounted by root only");
        None
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn store(&self) -> PathBuf {
        self.folder.store()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("--lazy").arg(self.folder.path()).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "the disk can be unmounted");
    }
}

async fn open(disk: &Disk) -> Desk {
    Desk::try_open(SqliteStore::new(disk.store())).await.expect("it opens")
}

fn four(queue: QueueId) -> [Change; 4] {
    [(); 4].map(|()| append(queue, &vec![7; BODY]))
}

/// Stores messages until there is no room, and returns how many there are.
async fn fill(desk: &mut Desk, queue: QueueId) -> u64 {
    let mut stored = 0;
    loop {
        match desk.try_commit(four(queue)).await {
            Ok(answers) => stored += answers.len() as u64,
            Err(CommitError::Full(_)) => return stored,
            Err(error) => panic!("after {stored}: {error}"),
        }
    }
}

#[tokio::test]
async fn dur_27_with_a_full_disk_messages_are_handled_and_then_accepted_again() {
    let Some(mount) = Disk::mount() else { return };
    let mut desk = open(&mount).await;
    let queue = desk.claim("orders").await.queue;
    let stored = fill(&mut desk, queue).await;
    assert!(stored > 300, "{stored} of {BODY} bytes fill 40 MB");
    assert!(matches!(desk.try_commit(four(queue)).await, Err(CommitError::Full(_))), "it stays full");
    assert_eq!(desk.numbers(queue).await.len() as u64, stored, "a refused group leaves nothing");

    // One by one: each is a group of its own.
    for seq in 1..=stored / 2 {
        desk.commit([handled(queue, seq)]).await;
    }
    desk.commit([Change::Charged { id: id(queue, stored), attempts: 1, crashes: 0, failures: vec!["x".into()] }])
        .await;
    let answers = desk.commit(four(queue)).await;
    assert_eq!(answers.len(), 4, "there is room again");
    // A process that dies with a full disk opens again.
    let more = fill(&mut desk, queue).await;
    drop(desk);
    let mut desk = open(&mount).await;
    let claim = desk.claim("orders").await;
    assert_eq!(claim.waiting, stored - stored / 2 + 4 + more);
    for seq in claim.handled.0 + 1..=claim.last.0 {
        desk.commit([handled(queue, seq)]).await;
    }
    assert_eq!(desk.numbers(queue).await, [0_u64; 0]);
    assert!(matches!(desk.commit(four(queue)).await[..], [Appended::Stored(_), ..]));
    desk.close().await;
}

#[tokio::test]
async fn dur_27_when_somebody_else_fills_the_disk_messages_are_handled_until_there_is_room() {
    let Some(mount) = Disk::mount() else { return };
    let mut desk = open(&mount).await;
    let queue = desk.claim("orders").await.queue;
    desk.commit((0..1000).map(|_| append(queue, &[7; 1000]))).await;
    let other = mount.path().join("somebody's");
    let mut file = fs::File::create(&other).expect("there is room");
    while file.write_all(&[1; 4096]).is_ok() {}
    drop(file);

    let mut refused = 0;
    for seq in 1..=1000 {
        desk.commit([handled(queue, seq)]).await;
        if let Err(error) = desk.try_commit(four(queue)).await {
            assert!(matches!(error, CommitError::Full(_)), "{error}");
            refused += 1;
        }
    }
    assert!(refused > 900, "{refused} groups were refused");
    fs::remove_file(other).expect("it is there");
    // The store looks for room every second.
    let deadline = Instant::now() + Duration::from_secs(10);
    while desk.try_commit(four(queue)).await.is_err() {
        assert!(Instant::now() < deadline, "there is room again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    desk.close().await;
}

/// A batch fails. Its failures are stored together, beside the bodies of its messages, which take more room than the reserve has.
#[tokio::test]
async fn with_a_full_disk_the_failures_of_a_large_batch_are_stored() {
    let Some(mount) = Disk::mount() else { return };
    let mut desk = open(&mount).await;
    let queue = desk.claim("orders").await.queue;
    let stored = fill(&mut desk, queue).await;
    let charged = |seq| Change::Charged {
        id: id(queue, seq),
        attempts: 1,
        crashes: 0,
        failures: vec!["the batch has failed".to_owned()],
    };
    desk.commit((1..=stored).map(charged)).await;
    let page = desk.store.page(queue, Seq(0), Room { messages: 1000, bytes: 100 << 20 }).await;
    let attempts: Vec<u32> = page.expect("it can be read").iter().map(|message| message.attempts).collect();
    assert_eq!(attempts, vec![1; attempts.len()]);
    assert_eq!(attempts.len() as u64, stored);
    let confined = |seq| Change::Quarantine { id: id(queue, seq), fate: Fate::Failed, failures: Vec::new() };
    desk.commit((1..=stored).map(confined)).await;
    assert_eq!(desk.numbers(queue).await, [0_u64; 0]);
    desk.close().await;
}
