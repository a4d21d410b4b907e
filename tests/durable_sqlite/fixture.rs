//! A store in a folder of its own, and short ways to use it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use supervise::durable::{
    Append, Appended, Change, Claim, CommitError, Group, MessageId, MessageStore, Opened, Owner, Quarantined,
    QueueId, QueueRow, Room, Seq, SqliteStore, StoreError, Stored,
};

/// A folder that is removed at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Where there is a disk in memory, a sync takes no time.
        let memory = PathBuf::from("/dev/shm");
        let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let path = parent.join(format!("supervise-durable-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the folder can be created");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The path of a store in it.
    pub(crate) fn store(&self) -> PathBuf {
        self.0.join("shop.mailbox")
    }

    /// The path of a file beside the store.
    pub(crate) fn beside(&self, ending: &str) -> PathBuf {
        self.0.join(format!("shop.mailbox{ending}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is in a temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A store whose reserve takes no time to write.
pub(crate) fn small(path: impl AsRef<Path>) -> SqliteStore {
    SqliteStore::new(path).reserve(4096)
}

/// Room for everything.
pub(crate) const ALL: Room = Room { messages: usize::MAX, bytes: usize::MAX };

/// An open store.
pub(crate) struct Desk {
    pub(crate) store: SqliteStore,
    pub(crate) opened: Opened,
}

impl Desk {
    pub(crate) async fn open(path: impl AsRef<Path>) -> Self {
        Self::try_open(small(path)).await.unwrap_or_else(|error| panic!("it does not open: {error}"))
    }

    pub(crate) async fn try_open(mut store: SqliteStore) -> Result<Self, StoreError> {
        let opened = store.open(&Owner::new("test")).await?;
        Ok(Self { store, opened })
    }

    pub(crate) async fn claim(&mut self, queue: &str) -> Claim {
        self.store.claim(queue).await.expect("the queue is free")
    }

    pub(crate) async fn commit(&mut self, changes: impl IntoIterator<Item = Change>) -> Vec<Appended> {
        self.try_commit(changes).await.expect("the group is durable")
    }

    pub(crate) async fn try_commit(
        &mut self,
        changes: impl IntoIterator<Item = Change>,
    ) -> Result<Vec<Appended>, CommitError> {
        self.store.commit(&Group { changes: changes.into_iter().collect() }).await
    }

    pub(crate) async fn all(&mut self, queue: QueueId) -> Vec<Stored> {
        self.try_all(queue).await.expect("the queue can be read")
    }

    pub(crate) async fn try_all(&mut self, queue: QueueId) -> Result<Vec<Stored>, StoreError> {
        self.store.page(queue, Seq(0), ALL).await
    }

    pub(crate) async fn numbers(&mut self, queue: QueueId) -> Vec<u64> {
        self.all(queue).await.iter().map(|stored| stored.seq.0).collect()
    }

    pub(crate) async fn queues(&mut self) -> Vec<QueueRow> {
        self.store.queues().await.expect("the queues can be listed")
    }

    pub(crate) async fn quarantined(&mut self, queue: &str) -> Vec<Quarantined> {
        self.store.quarantined(queue, Seq(0), ALL).await.expect("the quarantine can be listed")
    }

    pub(crate) async fn close(self) {
        Box::new(self.store).close().await.expect("it closes");
    }
}

pub(crate) fn append(queue: QueueId, body: &[u8]) -> Change {
    keyed(queue, body, None)
}

pub(crate) fn keyed(queue: QueueId, body: &[u8], key: Option<&str>) -> Change {
    let (kind, key) = ("order".into(), key.map(str::to_owned));
    Change::Append(Append { queue, kind, body: Arc::from(body), accepted_at: moment(), key })
}

pub(crate) fn handled(queue: QueueId, seq: u64) -> Change {
    Change::Handled(id(queue, seq))
}

pub(crate) fn id(queue: QueueId, seq: u64) -> MessageId {
    MessageId { queue, seq: Seq(seq) }
}

pub(crate) fn moment() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000)
}

/// Copies the files of a store.
pub(crate) fn copy(from: &Path, to: &Path) {
    for ending in ["", "-wal", "-marks"] {
        let file = |path: &Path| PathBuf::from(format!("{}{ending}", path.display()));
        match std::fs::copy(file(from), file(to)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let _ = std::fs::remove_file(file(to));
            }
            other => drop(other.expect("the file can be copied")),
        }
    }
}
