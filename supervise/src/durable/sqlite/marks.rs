//! The file beside the store that says what was under way when the process died.
//!
//! It is written without waiting for the disk, so it survives the death of the process, and perhaps that of the machine.
//! It is a row of slots of 32 bytes: three numbers, the slot's own number, and a checksum.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use supervise_core::durable::{Marks, QueueId, Seq};

/// The bytes of a slot.
const SIZE: usize = 32;
const SLOT: u64 = SIZE as u64;
/// The magic number, the store's number, the format.
const HEADER: u64 = 0;
/// The process that has the store, and its epoch.
const OWNER: u64 = 1;
/// The highest commit that is durable.
const COMMIT: u64 = 2;
/// Two slots for each queue begin here: what is being handled, and the number of the next message.
const QUEUES: u64 = 4;
/// Queues for which the file grows at a time.
const STEP: u64 = 1024;
const MAGIC: u64 = u64::from_le_bytes(*b"svmarks1");
const FORMAT: u64 = 1;

/// What a slot says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// It was never written.
    Empty,
    Says([u64; 3]),
    Damaged,
}

/// What handlers of one queue were doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Delivery {
    /// The message under way, or 0.
    pub(super) begun: u64,
    pub(super) handled: u64,
    /// The epoch of the process that wrote it.
    pub(super) epoch: u64,
}

#[derive(Debug)]
pub(super) struct MarksFile {
    file: File,
    epoch: u64,
    has_failed: AtomicBool,
}

impl MarksFile {
    /// Opens the file, or creates it empty.
    pub(super) fn open(path: &Path, epoch: u64) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        Ok(Self { file, epoch, has_failed: AtomicBool::new(false) })
    }

    /// Writes the slots of a new process, and waits for the disk. The commit is written last: without it, the
    /// marks count as missing.
    pub(super) fn begin(&self, store: u64, commit: u64) -> io::Result<()> {
        self.put(HEADER, [MAGIC, store, FORMAT])?;
        self.put(OWNER, [std::process::id().into(), self.epoch, 0])?;
        self.put(COMMIT, [commit, self.epoch, 0])?;
        self.sync()
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Makes room for a queue, so that its marks never need any.
    pub(super) fn grow(&self, queue: QueueId) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        if length >= (QUEUES + 2 * (u64::from(queue.0) + 1)) * SLOT {
            return Ok(());
        }
        let wanted = (QUEUES + 2 * (u64::from(queue.0) / STEP + 1) * STEP) * SLOT;
        let zeros = vec![0; usize::try_from(wanted - length).unwrap_or(0)];
        write_at(&self.file, &zeros, length)
    }

    /// Notes that a commit is durable.
    pub(super) fn committed(&self, commit: u64) {
        self.note(COMMIT, [commit, self.epoch, 0]);
    }

    /// Notes the number of the queue's next message.
    pub(super) fn appended(&self, queue: QueueId, next: u64) {
        self.note(QUEUES + 2 * u64::from(queue.0) + 1, [next, self.epoch, 0]);
    }

    /// Clears a slot whose content must not be used.
    pub(super) fn clear(&self, queue: QueueId) {
        let of_queue = QUEUES + 2 * u64::from(queue.0);
        for slot in [of_queue, of_queue + 1] {
            self.keep(write_at(&self.file, &[0; SIZE], slot * SLOT));
        }
    }

    /// Whether a mark could not be written since the store was opened.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    fn note(&self, slot: u64, says: [u64; 3]) {
        self.keep(self.put(slot, says));
    }

    fn keep(&self, written: io::Result<()>) {
        if written.is_err() {
            self.has_failed.store(true, Ordering::Relaxed);
        }
    }

    fn put(&self, slot: u64, says: [u64; 3]) -> io::Result<()> {
        write_at(&self.file, &encode(slot, says), slot * SLOT)
    }
}

impl Marks for MarksFile {
    fn begun(&self, queue: QueueId, seq: Seq, handled: Seq) {
        self.note(QUEUES + 2 * u64::from(queue.0), [seq.0, handled.0, self.epoch]);
    }

    fn idle(&self, queue: QueueId, handled: Seq) {
        self.note(QUEUES + 2 * u64::from(queue.0), [0, handled.0, self.epoch]);
    }
}

/// The marks that earlier processes left.
#[derive(Debug)]
pub(super) struct EarlierMarks {
    bytes: Vec<u8>,
}

impl EarlierMarks {
    /// `None` if there is no such file, or if the process that created it died before it had written the first three slots.
    pub(super) fn read(path: &Path) -> io::Result<Option<Self>> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(Some(Self { bytes }).filter(|marks| marks.slot(COMMIT) != Slot::Empty)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The number of the store that the marks belong to. `None` if that cannot be said.
    pub(super) fn store(&self) -> Option<u64> {
        match self.slot(HEADER) {
            Slot::Says([MAGIC, store, FORMAT]) => Some(store),
            _ => None,
        }
    }

    pub(super) fn pid(&self) -> Option<u32> {
        match self.slot(OWNER) {
            Slot::Says([pid, ..]) => u32::try_from(pid).ok(),
            _ => None,
        }
    }

    /// The highest commit that was durable, and its epoch.
    pub(super) fn commit(&self) -> Option<(u64, u64)> {
        match self.slot(COMMIT) {
            Slot::Says([commit, epoch, _]) => Some((commit, epoch)),
            _ => None,
        }
    }

    /// What was under way. `Err` if the slot is damaged.
    pub(super) fn delivery(&self, queue: QueueId) -> Result<Option<Delivery>, ()> {
        match self.slot(QUEUES + 2 * u64::from(queue.0)) {
            Slot::Empty => Ok(None),
            Slot::Says([begun, handled, epoch]) => Ok(Some(Delivery { begun, handled, epoch })),
            Slot::Damaged => Err(()),
        }
    }

    /// The number of the next message, of each queue that ever had one.
    pub(super) fn appended(&self) -> impl Iterator<Item = (QueueId, u64)> {
        let queues = (self.bytes.len() as u64 / SLOT).saturating_sub(QUEUES) / 2;
        (0..u32::try_from(queues).unwrap_or(u32::MAX)).filter_map(|queue| {
            match self.slot(QUEUES + 2 * u64::from(queue) + 1) {
                Slot::Says([next, ..]) => Some((QueueId(queue), next)),
                Slot::Empty | Slot::Damaged => None,
            }
        })
    }

    fn slot(&self, number: u64) -> Slot {
        let start = usize::try_from(number * SLOT).unwrap_or(usize::MAX);
        let Some(bytes) = self.bytes.get(start..).and_then(|rest| rest.first_chunk()) else { return Slot::Empty };
        decode(number, bytes)
    }
}

fn encode(slot: u64, says: [u64; 3]) -> [u8; SIZE] {
    let mut bytes = [0; SIZE];
    for (place, number) in bytes.chunks_exact_mut(8).zip(says) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    bytes[24..28].copy_from_slice(&number_of(slot));
    let sum = crc32fast::hash(&bytes[..28]);
    bytes[28..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn decode(slot: u64, bytes: &[u8; SIZE]) -> Slot {
    if bytes.iter().all(|&byte| byte == 0) {
        return Slot::Empty;
    }
    let number = |place: usize| bytes[place * 8..].first_chunk().map_or(0, |part| u64::from_le_bytes(*part));
    let says = [number(0), number(1), number(2)];
    if encode(slot, says) == *bytes { Slot::Says(says) } else { Slot::Damaged }
}

/// A slot at a place other than its own counts as damaged. Its own number is never 0, so its bytes are never all 0.
fn number_of(slot: u64) -> [u8; 4] {
    u32::try_from(slot + 1).unwrap_or(u32::MAX).to_le_bytes()
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
fn write_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = std::os::windows::fs::FileExt::seek_write(file, bytes, offset)?;
        bytes = &bytes[written..];
        offset += written as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_says_what_was_written_or_that_it_is_damaged() {
        let bytes = encode(6, [1, 2, u64::MAX]);
        assert_eq!(decode(6, &bytes), Slot::Says([1, 2, u64::MAX]));
        assert_eq!(decode(7, &bytes), Slot::Damaged, "at another place");
        assert_eq!(decode(6, &[0; 32]), Slot::Empty);
        for bit in 0..256 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(6, &flipped), Slot::Damaged, "bit {bit}");
        }
    }
}
