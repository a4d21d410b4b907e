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

/// Decodes a message of a stream. A message that cannot be read counts as damaged.
pub(super) fn decode(seq: u64, bytes: &[u8], charge: Charge) -> Stored {
    let mut fields = Fields(bytes);
    let read = (|| Some((fields.text()?, fields.number()?, fields.next()?)))();
    let is_damaged = read.is_none();
    let (kind, accepted_at, body) = read.unwrap_or_default();
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

/// A message in quarantine.
pub(super) fn encode_confined(message: &Stored, fate: Fate, since: SystemTime) -> bytes::Bytes {
    let fate = match fate {
        Fate::Failed => 1,
        Fate::Undecodable => 2,
        Fate::CrashedTheProcess => 4,
        _ => 3,
    };
    let body = encode(&message.kind, message.accepted_at, &message.body);
    let charge =
        Charge { attempts: message.attempts, crashes: message.crashes, failures: message.failures.clone() };
    charge.encode(Record::default().number(fate).number(millis(since)).bytes(&body)).end()
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
    (decode(seq, message, Charge::decode(&mut fields)), fate, since)
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
        let bytes = encode_confined(&message, Fate::CrashedTheProcess, at);
        assert_eq!(decode_confined(7, &bytes), (message, Fate::CrashedTheProcess, at));
        assert!(decode(7, b"nonsense", Charge::default()).is_damaged);
    }
}
