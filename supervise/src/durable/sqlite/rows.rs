//! How messages are written into rows: numbers, times, failures and checksums.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use crc32fast::Hasher;
use rusqlite::Row;
use rusqlite::types::ValueRef;
use supervise_core::durable::{MessageId, QueueId, Seq, Stored};

/// The highest number of a message in its queue. The other bits of a row's number are the number of the queue.
pub(super) const HIGHEST_SEQ: u64 = (1 << SEQ_BITS) - 1;
/// The highest number of a queue.
pub(super) const HIGHEST_QUEUE: u32 = (1 << (63 - SEQ_BITS)) - 1;

const SEQ_BITS: u32 = 40;

/// The row number of a message, by which the messages of a queue stand together and in order.
pub(super) fn row_number(queue: QueueId, seq: u64) -> i64 {
    (i64::from(queue.0) << SEQ_BITS) | seq.min(HIGHEST_SEQ).cast_signed()
}

pub(super) fn message_id(row: i64) -> MessageId {
    let row = row.cast_unsigned();
    let queue = u32::try_from(row >> SEQ_BITS).unwrap_or(u32::MAX);
    MessageId { queue: QueueId(queue), seq: Seq(row & HIGHEST_SEQ) }
}

/// Milliseconds since 1970.
pub(super) fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

pub(super) fn time(millis: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(millis.max(0).cast_unsigned())
}

/// A checksum over fields, each with its length, so that a byte cannot wander from one to the next.
#[derive(Default)]
pub(super) struct Sum(Hasher);

impl Sum {
    pub(super) fn number(mut self, number: i64) -> Self {
        self.0.update(&number.to_le_bytes());
        self
    }

    pub(super) fn bytes(self, bytes: &[u8]) -> Self {
        let mut summed = self.number(i64::try_from(bytes.len()).unwrap_or(i64::MAX));
        summed.0.update(bytes);
        summed
    }

    pub(super) fn end(self) -> i64 {
        i64::from(self.0.finalize())
    }
}

/// A row of `message` or `quarantine`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MessageRow {
    pub(super) id: i64,
    pub(super) kind: String,
    pub(super) accepted_at: i64,
    pub(super) key: Option<String>,
    pub(super) attempts: u32,
    pub(super) crashes: u32,
    pub(super) failures: Option<Vec<u8>>,
    pub(super) body: Vec<u8>,
    pub(super) is_damaged: bool,
}

/// What [`MessageRow::read`] reads, in its order. The body is last, because a long one lies on pages of its own.
pub(super) const COLUMNS: &str = "id, kind, accepted_at, key, attempts, crashes, failures, sum, body";

impl MessageRow {
    /// Reads [`COLUMNS`] from the column `first` on. A value of the wrong type is damage too.
    pub(super) fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        let id = row.get(first)?;
        let whole = (|| {
            let read = Self {
                id,
                kind: row.get(first + 1)?,
                accepted_at: row.get(first + 2)?,
                key: row.get(first + 3)?,
                attempts: row.get(first + 4)?,
                crashes: row.get(first + 5)?,
                failures: row.get(first + 6)?,
                body: row.get(first + 8)?,
                is_damaged: false,
            };
            let sum: i64 = row.get(first + 7)?;
            let is_damaged = sum != read.sum_of_contents();
            rusqlite::Result::Ok(Self { is_damaged, ..read })
        })();
        match whole {
            Ok(read) => Ok(read),
            Err(error) if is_about_a_value(&error) => Self::salvaged(row, first),
            Err(error) => Err(error),
        }
    }

    /// What can be read of a row that has a value of the wrong type.
    fn salvaged(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        let bytes = |column: usize| row.get_ref(column).map(bytes_of);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Self {
            kind: bytes(first + 1)?.map(text).unwrap_or_default(),
            accepted_at: row.get(first + 2).unwrap_or_default(),
            key: bytes(first + 3)?.map(text),
            attempts: row.get(first + 4).unwrap_or_default(),
            crashes: row.get(first + 5).unwrap_or_default(),
            failures: bytes(first + 6)?.map(<[u8]>::to_vec),
            body: bytes(first + 8)?.unwrap_or_default().to_vec(),
            ..Self::lost(row.get(first)?)
        })
    }

    /// Stands for a message of which nothing is left.
    pub(super) fn lost(id: i64) -> Self {
        Self {
            id,
            kind: String::new(),
            accepted_at: 0,
            key: None,
            attempts: 0,
            crashes: 0,
            failures: None,
            body: Vec::new(),
            is_damaged: true,
        }
    }

    /// The checksum to be stored. That of a damaged message stays wrong, so that writing it again does not make it whole.
    pub(super) fn sum(&self) -> i64 {
        self.sum_of_contents() ^ i64::from(self.is_damaged)
    }

    fn sum_of_contents(&self) -> i64 {
        let (at, key, failures) = (self.accepted_at, self.key.as_deref(), self.failures.as_deref());
        sum_of_message(self.id, &self.kind, at, key, (self.attempts, self.crashes), failures, &self.body)
    }

    pub(super) fn into_stored(self) -> Stored {
        let (failures, are_whole) = decode_failures(self.failures.as_deref());
        Stored {
            seq: message_id(self.id).seq,
            kind: self.kind,
            body: self.body.into(),
            accepted_at: time(self.accepted_at),
            attempts: self.attempts,
            crashes: self.crashes,
            failures,
            is_damaged: self.is_damaged || !are_whole,
        }
    }
}

/// What a text or a blob has in it.
fn bytes_of(value: ValueRef<'_>) -> Option<&[u8]> {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => None,
    }
}

fn is_about_a_value(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    matches!(
        error,
        FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..)
    )
}

/// The checksum of a message. `charges` are its attempts and crashes.
pub(super) fn sum_of_message(
    id: i64,
    kind: &str,
    accepted_at: i64,
    key: Option<&str>,
    charges: (u32, u32),
    failures: Option<&[u8]>,
    body: &[u8],
) -> i64 {
    Sum::default()
        .number(id)
        .bytes(kind.as_bytes())
        .number(accepted_at)
        .number(i64::from(key.is_some()))
        .bytes(key.unwrap_or_default().as_bytes())
        .number(charges.0.into())
        .number(charges.1.into())
        .bytes(failures.unwrap_or_default())
        .bytes(body)
        .end()
}

/// Each text with its length. `None` for no texts.
pub(super) fn encode_failures(failures: &[String]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for failure in failures {
        let length = u32::try_from(failure.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&failure.as_bytes()[..length as usize]);
    }
    (!bytes.is_empty()).then_some(bytes)
}

/// The texts, and whether that was all.
fn decode_failures(bytes: Option<&[u8]>) -> (Vec<String>, bool) {
    let mut rest = bytes.unwrap_or_default();
    let mut failures = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk() {
        let Some((text, after)) = after.split_at_checked(u32::from_le_bytes(*length) as usize) else { break };
        failures.push(String::from_utf8_lossy(text).into_owned());
        rest = after;
    }
    (failures, rest.is_empty())
}

/// Numbers as runs of neighbours: the first and the last of each.
pub(super) fn encode_numbers(numbers: &BTreeSet<u64>) -> Vec<u8> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    runs.iter().flat_map(|(first, last)| [first.to_le_bytes(), last.to_le_bytes()].concat()).collect()
}

pub(super) fn decode_numbers(bytes: &[u8]) -> BTreeSet<u64> {
    let number = |half: &[u8]| half.try_into().map_or(0, u64::from_le_bytes);
    bytes.chunks_exact(16).flat_map(|run| number(&run[..8])..=number(&run[8..])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_number_gives_queue_and_message_back() {
        for (queue, seq) in [(0, 1), (1, HIGHEST_SEQ), (HIGHEST_QUEUE, 7)] {
            let row = row_number(QueueId(queue), seq);
            assert!(row > 0, "rows are in order: {row}");
            assert_eq!(message_id(row), MessageId { queue: QueueId(queue), seq: Seq(seq) });
        }
    }

    #[test]
    fn texts_and_numbers_come_back() {
        let failures = ["a".to_owned(), String::new(), "\u{1f980}".to_owned()];
        let encoded = encode_failures(&failures).expect("there are some");
        assert_eq!(decode_failures(Some(&encoded)), (failures.to_vec(), true));
        assert!(!decode_failures(Some(&encoded[..encoded.len() - 1])).1, "cut off");
        let numbers = BTreeSet::from([1, 2, 3, 7, 9, 10]);
        assert_eq!(encode_numbers(&numbers).len(), 3 * 16);
        assert_eq!(decode_numbers(&encode_numbers(&numbers)), numbers);
    }

    #[test]
    fn a_damaged_message_stays_damaged_when_it_is_written_again() {
        let lost = MessageRow::lost(5);
        assert_ne!(lost.sum(), lost.sum_of_contents());
        let whole = MessageRow { is_damaged: false, ..lost };
        assert_eq!(whole.sum(), whole.sum_of_contents());
    }
}
