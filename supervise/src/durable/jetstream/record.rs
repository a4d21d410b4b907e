//! Messages as bytes.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use supervise_core::durable::{Append, Fate, Seq, Stored};

/// Fields, each with its length.
#[derive(Default)]
pub(super) struct Record(Vec<u8>);

impl Record {
    pub(super) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn number(self, number: u64) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    pub(super) fn end(self) -> bytes::Bytes {
        self.0.into()
    }
}

/// Reads fields in their order. `None`: the field is missing.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk()?;
        let (field, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        self.0 = rest;
        Some(field)
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        self.next()?.try_into().ok().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.next()?.to_vec()).ok()
    }
}

/// How often a message was tried, and what came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Charge {
    pub(super) attempts: u32,
    pub(super) crashes: u32,
    pub(super) failures: Vec<String>,
}

impl Charge {
    pub(super) fn encode(&self, record: Record) -> Record {
        let record = record.number(self.attempts.into()).number(self.crashes.into());
        self.failures.iter().fold(record, |record, failure| record.bytes(failure.as_bytes()))
    }

    /// Reads a charge, which extends to the end of the record.
    pub(super) fn decode(fields: &mut Fields<'_>) -> Self {
        let mut small = || fields.number().and_then(|number| u32::try_from(number).ok()).unwrap_or_default();
        let (attempts, crashes) = (small(), small());
        let failures = std::iter::from_fn(|| fields.text()).collect();
        Self { attempts, crashes, failures }
    }
}

pub(super) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn time(millis: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
}

/// A message as it stands in the stream of its queue.
pub(super) fn encode(kind: &str, accepted_at: SystemTime, body: &[u8]) -> bytes::Bytes {
    Record::default().bytes(kind.as_bytes()).number(millis(accepted_at)).bytes(body).end()
}

pub(super) fn encode_append(append: &Append) -> bytes::Bytes {
    encode(&append.kind, append.accepted_at, &append.body)
}

/// A message as it stands, or stood, in the stream of its queue.
pub(super) fn encode_stored(message: &Stored) -> bytes::Bytes {
    if message.is_damaged {
        return bytes::Bytes::copy_from_slice(&message.body);
    }
    encode(&message.kind, message.accepted_at, &message.body)
}

/// Decodes a message of a stream. A message that lacks a field, or has bytes after the last one, counts as damaged. Then its body is all that
/// stands there, so that nothing of it gets lost.
pub(super) fn decode(seq: u64, bytes: &[u8], charge: Charge) -> Stored {
    let mut fields = Fields(bytes);
    let read = (|| Some((fields.text()?, fields.number()?, fields.next()?)))().filter(|_| fields.0.is_empty());
    let is_damaged = read.is_none();
    let (kind, accepted_at, body) = read.unwrap_or((String::new(), 0, bytes));
    let Charge { attempts, crashes, failures } = charge;
    Stored {
        seq: Seq(seq),
        kind,
        body: Arc::from(body),
        accepted_at: time(accepted_at),
        attempts,
        crashes,
        failures,
        is_damaged,
    }
}

/// A message in quarantine, which takes at most `room` bytes. Only a message that another program has published can be too large for that. Its
/// last bytes are left out then, so it counts as damaged, and its last failure says how many they were.
pub(super) fn encode_confined(message: &Stored, fate: Fate, since: SystemTime, room: usize) -> bytes::Bytes {
    let body = encode_stored(message);
    let confined = encode_body(&body, message, fate, since);
    let Some(excess) = confined.len().checked_sub(room).filter(|excess| *excess > 0) else { return confined };
    let fits = body.len().saturating_sub(excess.saturating_add(CUT));
    let mut message = message.clone();
    message.failures.push(missing(body.len() - fits));
    encode_body(&body[..fits], &message, fate, since)
}

fn missing(bytes: usize) -> String {
    format!("the message is too large for the quarantine: its last {bytes} bytes are missing")
}

/// Whether a message in quarantine is the same as this message of a queue, perhaps without its last bytes.
pub(super) fn is_same(confined: &Stored, message: &Stored) -> bool {
    let message = encode_stored(message);
    message.strip_prefix(&encode_stored(confined)[..]).is_some_and(|cut| {
        cut.is_empty() || confined.failures.last().is_some_and(|failure| *failure == missing(cut.len()))
    })
}

/// How many bytes the text about missing bytes may take.
const CUT: usize = 128;

/// `body` is the message as it stands in the stream of its queue.
fn encode_body(body: &[u8], message: &Stored, fate: Fate, since: SystemTime) -> bytes::Bytes {
    let fate = match fate {
        Fate::Failed => 1,
        Fate::Undecodable => 2,
        Fate::CrashedTheProcess => 4,
        _ => 3,
    };
    let charge =
        Charge { attempts: message.attempts, crashes: message.crashes, failures: message.failures.clone() };
    charge.encode(Record::default().number(fate).number(millis(since)).bytes(body)).end()
}

pub(super) fn decode_confined(seq: u64, bytes: &[u8]) -> (Stored, Fate, SystemTime) {
    let mut fields = Fields(bytes);
    let fate = match fields.number() {
        Some(1) => Fate::Failed,
        Some(2) => Fate::Undecodable,
        Some(4) => Fate::CrashedTheProcess,
        _ => Fate::Damaged,
    };
    let since = time(fields.number().unwrap_or_default());
    let message = fields.next().unwrap_or_default();
    let mut message = decode(seq, message, Charge::decode(&mut fields));
    if message.is_damaged {
        // Nobody knows when it was accepted.
        message.accepted_at = since;
    }
    (message, fate, since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_back_from_the_quarantine_as_it_was() {
        let charge = Charge { attempts: 2, crashes: 1, failures: vec!["a".to_owned(), String::new()] };
        let at = time(1_790_000_000_123);
        let message = decode(7, &encode("order", at, b"body"), charge);
        assert!(!message.is_damaged && *message.body == *b"body" && message.accepted_at == at);
        let long = [&encode("order", at, b"body")[..], b"more"].concat();
        let damaged = [b"nonsense".to_vec(), long].map(|bytes| {
            let damaged = decode(7, &bytes, Charge::default());
            assert!(damaged.is_damaged && *damaged.body == *bytes, "{damaged:?}");
            Stored { accepted_at: at, ..damaged }
        });
        for message in damaged.into_iter().chain([message]) {
            let bytes = encode_confined(&message, Fate::CrashedTheProcess, at, 1000);
            assert_eq!(decode_confined(7, &bytes), (message, Fate::CrashedTheProcess, at));
        }
    }

    #[test]
    fn a_message_that_is_too_large_for_the_quarantine_is_cut_and_damaged() {
        let at = time(1_790_000_000_123);
        let charge = Charge { failures: vec!["a".to_owned()], ..Charge::default() };
        for bytes in [encode("order", at, &[7; 5000]).to_vec(), vec![0xff; 5000]] {
            let message = decode(7, &bytes, charge.clone());
            for room in [1000, 4000, 5000] {
                let confined = encode_confined(&message, Fate::Failed, at, room);
                assert!(confined.len() <= room, "{} > {room}", confined.len());
                let (cut, fate, _) = decode_confined(7, &confined);
                assert!(cut.is_damaged && fate == Fate::Failed && bytes.starts_with(&cut.body));
                assert!(cut.body.len() + 400 > room, "{} of {room}", cut.body.len());
                let missing = format!("{} bytes", bytes.len() - cut.body.len());
                assert!(cut.failures.last().is_some_and(|last| last.contains(&missing)), "{:?}", cut.failures);
            }
        }
    }
}
