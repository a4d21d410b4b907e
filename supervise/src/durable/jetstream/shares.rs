//! The record of a shared queue as bytes.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use supervise_core::durable::Seq;
use supervise_core::durable::shares::Shares;

use super::record::{Fields, Record};

fn numbers<'a>(seqs: impl IntoIterator<Item = &'a Seq>) -> Vec<u8> {
    seqs.into_iter().flat_map(|seq| seq.0.to_le_bytes()).collect()
}

fn seqs(bytes: &[u8]) -> BTreeSet<Seq> {
    bytes.as_chunks().0.iter().map(|bytes| Seq(u64::from_le_bytes(*bytes))).collect()
}

pub(super) fn encode(shares: &Shares<String>) -> Bytes {
    let mut record = Record::default().number(shares.next().0).bytes(&numbers(shares.free()));
    record = record.number(shares.charged().len() as u64);
    for (seq, crashes) in shares.charged() {
        record = record.number(seq.0).number((*crashes).into());
    }
    for (member, held) in shares.members() {
        record = record.bytes(member.as_bytes()).bytes(&numbers(held));
    }
    record.end()
}

pub(super) fn decode(payload: &[u8]) -> Option<Shares<String>> {
    let mut fields = Fields(payload);
    let next = Seq(fields.number()?);
    let free = seqs(fields.next()?);
    let mut crashes = BTreeMap::new();
    for _ in 0..fields.number()? {
        crashes.insert(Seq(fields.number()?), u32::try_from(fields.number()?).ok()?);
    }
    let mut held = BTreeMap::new();
    while let Some(member) = fields.next() {
        held.insert(String::from_utf8(member.to_vec()).ok()?, seqs(fields.next()?));
    }
    Some(Shares::from_parts(next, free, held, crashes))
}

#[cfg(test)]
mod tests {
    use supervise_core::durable::shares::Wish;

    use super::*;

    #[test]
    fn a_record_comes_back_as_it_was() {
        let (a, b) = ("a".to_owned(), "b".to_owned());
        let mut shares = Shares::default();
        assert_eq!(decode(&encode(&shares)), Some(shares.clone()));
        shares.join(&a);
        shares.join(&b);
        let wish = Wish { in_hand: &BTreeSet::new(), room: 3, may_try: true, first: Seq(1), last: Seq(9) };
        assert_eq!(shares.take(&a, wish).len() + shares.take(&b, wish).len(), 6);
        shares.died(&a);
        assert_eq!(decode(&encode(&shares)), Some(shares));
        assert_eq!(decode(b"nonsense"), None);
    }
}
