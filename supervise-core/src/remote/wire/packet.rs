//! Packets and their frames as bytes.

use serde::{Deserialize, Serialize};

use super::bytes;
use super::told::Told;
use crate::remote::association::{Body, Frame, Greeting, Packet};
use crate::remote::codec::read;

const HELLO: u8 = 1;
const WELCOME: u8 = 2;
const FRAMES: u8 = 3;
const GOODBYE: u8 = 4;

#[derive(Serialize, Deserialize)]
struct WireGreeting {
    versions: (u16, u16),
    mesh: String,
    uid: u64,
    numbers: Vec<u64>,
}

impl WireGreeting {
    fn bytes(from: &Greeting, numbers: &[u64]) -> Vec<u8> {
        let Greeting { versions, mesh, uid } = from.clone();
        bytes(&Self { versions, mesh, uid, numbers: numbers.to_vec() })
    }

    fn split(self) -> (Greeting, Vec<u64>) {
        (Greeting { versions: self.versions, mesh: self.mesh, uid: self.uid }, self.numbers)
    }
}

/// A packet as bytes.
pub(in crate::remote) fn encode(packet: &Packet) -> Vec<u8> {
    let mut out = Vec::new();
    match packet {
        Packet::Hello { from, mine } => {
            out.push(HELLO);
            out.extend(WireGreeting::bytes(from, &[*mine]));
        }
        Packet::Welcome { from, yours, mine } => {
            out.push(WELCOME);
            out.extend(WireGreeting::bytes(from, &[*yours, *mine]));
        }
        Packet::Goodbye { to, from } => {
            out.push(GOODBYE);
            number(&mut out, *to);
            number(&mut out, *from);
        }
        Packet::Frames { to, from, sequence, acknowledged, frames } => {
            let size: u64 = frames.iter().map(Frame::size).sum();
            out.reserve(usize::try_from(size).unwrap_or(0) + 64);
            out.push(FRAMES);
            for head in [*to, *from, *sequence, *acknowledged] {
                number(&mut out, head);
            }
            for one in frames {
                frame(&mut out, one);
            }
        }
    }
    out
}

/// Reads a packet. `None`: the bytes are not a packet, or the packet has a later version, or its frames count more than `limit` bytes.
pub(in crate::remote) fn decode(bytes: &[u8], limit: u64) -> Option<Packet> {
    let (&kind, rest) = bytes.split_first()?;
    let mut rest = Reader(rest);
    Some(match kind {
        HELLO => {
            let (from, numbers) = read::<WireGreeting>(rest.0).ok()?.split();
            Packet::Hello { from, mine: *numbers.first()? }
        }
        WELCOME => {
            let (from, numbers) = read::<WireGreeting>(rest.0).ok()?.split();
            Packet::Welcome { from, yours: *numbers.first()?, mine: *numbers.get(1)? }
        }
        GOODBYE => Packet::Goodbye { to: rest.number()?, from: rest.number()? },
        FRAMES => {
            let (to, from) = (rest.number()?, rest.number()?);
            let (sequence, acknowledged) = (rest.number()?, rest.number()?);
            let (mut frames, mut size) = (Vec::new(), 0);
            while !rest.0.is_empty() {
                size += rest.frame(&mut frames)?;
                if size > limit {
                    return None;
                }
            }
            Packet::Frames { to, from, sequence, acknowledged, frames }
        }
        _ => return None,
    })
}

const TELL: u8 = 1;
const ASK: u8 = 2;
const ANSWER: u8 = 3;
const WATCH: u8 = 4;
const UNWATCH: u8 = 5;
const ENDED: u8 = 6;
const NOTE: u8 = 7;
const PAUSE: u8 = 8;
const RESUME: u8 = 9;
const NOT_WATCHED: u8 = 10;

/// A frame: its kind, its length, its numbers, its body. A kind that is not known can be skipped. Uids are random, so all numbers take
/// eight bytes.
fn frame(out: &mut Vec<u8>, frame: &Frame) {
    match frame {
        Frame::Tell { to, body, .. } => put(out, TELL, [*to], body),
        Frame::Ask { to, ask, body } => put(out, ASK, [*to, *ask], body),
        Frame::Answer { ask, body } => put(out, ANSWER, [*ask], body),
        Frame::Watch { subject, watcher, body } => put(out, WATCH, [*subject, *watcher], body),
        Frame::Unwatch { subject, watcher } => put(out, UNWATCH, [*subject, *watcher], &[]),
        Frame::Ended { subject, watcher, body } => put(out, ENDED, [*subject, *watcher], body),
        Frame::Note(body) => put(out, NOTE, [], body),
        Frame::Pause { to } => put(out, PAUSE, [*to], &[]),
        Frame::Resume { to } => put(out, RESUME, [*to], &[]),
        Frame::NotWatched { subject, watcher } => put(out, NOT_WATCHED, [*subject, *watcher], &[]),
    }
}

#[inline]
fn put<const N: usize>(out: &mut Vec<u8>, kind: u8, numbers: [u64; N], body: &[u8]) {
    out.push(kind);
    number(out, (8 * N + body.len()) as u64);
    for one in numbers {
        out.extend_from_slice(&one.to_le_bytes());
    }
    out.extend_from_slice(body);
}

pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    #[inline]
    pub(super) fn number(&mut self) -> Option<u64> {
        match self.0.split_first() {
            Some((&byte @ ..0x80, rest)) => {
                self.0 = rest;
                Some(u64::from(byte))
            }
            _ => self.long_number(),
        }
    }

    fn long_number(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0_u64, 0);
        for (at, &byte) in self.0.iter().enumerate().take(10) {
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                self.0 = &self.0[at + 1..];
                return Some(value);
            }
            shift += 7;
        }
        None
    }

    /// A number that takes eight bytes.
    fn id(&mut self) -> Option<u64> {
        let (id, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*id))
    }

    pub(super) fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    /// Reads the next frame, and adds it if its kind is known. Returns how many bytes of the window it takes. `None`: it is cut off.
    fn frame(&mut self, frames: &mut Vec<Frame>) -> Option<u64> {
        let (&kind, rest) = self.0.split_first()?;
        self.0 = rest;
        let length = self.number()?;
        let mut inside = Reader(self.take(length)?);
        let frame = match kind {
            TELL => {
                let (to, count) = (inside.id()?, Told::count(inside.0)?);
                Frame::Tell { to, count, body: inside.rest() }
            }
            ASK => Frame::Ask { to: inside.id()?, ask: inside.id()?, body: inside.rest() },
            ANSWER => Frame::Answer { ask: inside.id()?, body: inside.rest() },
            WATCH => Frame::Watch { subject: inside.id()?, watcher: inside.id()?, body: inside.rest() },
            UNWATCH => Frame::Unwatch { subject: inside.id()?, watcher: inside.id()? },
            ENDED => Frame::Ended { subject: inside.id()?, watcher: inside.id()?, body: inside.rest() },
            NOTE => Frame::Note(inside.rest()),
            PAUSE => Frame::Pause { to: inside.id()? },
            RESUME => Frame::Resume { to: inside.id()? },
            NOT_WATCHED => Frame::NotWatched { subject: inside.id()?, watcher: inside.id()? },
            _ => return Some(0),
        };
        let size = frame.size();
        frames.push(frame);
        Some(size)
    }

    #[inline]
    fn rest(&mut self) -> Body {
        Body::from(std::mem::take(&mut self.0))
    }
}

/// Appends a number, seven bits in each byte.
#[inline]
pub(in crate::remote) fn number(out: &mut Vec<u8>, value: u64) {
    match u8::try_from(value) {
        Ok(byte @ ..0x80) => out.push(byte),
        _ => long_number(out, value),
    }
}

fn long_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(u8::try_from(value & 0x7f).unwrap_or(0) | 0x80);
        value >>= 7;
    }
    out.push(u8::try_from(value).unwrap_or(0));
}

/// Takes a number from the front.
pub(in crate::remote) fn take_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut reader = Reader(bytes);
    Some((reader.number()?, reader.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::association::VERSIONS;

    fn packets() -> Vec<Packet> {
        let from = Greeting { versions: VERSIONS, mesh: "m".to_owned(), uid: u64::MAX };
        let frames = vec![
            Frame::Tell { to: 1, count: 2, body: vec![2, 1, 2, 0].into() },
            Frame::Ask { to: 0, ask: u64::MAX, body: Body::default() },
            Frame::Answer { ask: 300, body: vec![0; 300].into() },
            Frame::Watch { subject: 7, watcher: 8, body: vec![9].into() },
            Frame::Unwatch { subject: 7, watcher: 8 },
            Frame::Ended { subject: 7, watcher: 8, body: vec![9].into() },
            Frame::Note(vec![1].into()),
            Frame::Pause { to: u64::MAX },
            Frame::Resume { to: 7 },
            Frame::NotWatched { subject: 7, watcher: 8 },
        ];
        vec![
            Packet::Hello { from: from.clone(), mine: 5 },
            Packet::Welcome { from, yours: 5, mine: 6 },
            Packet::Frames { to: 5, from: 6, sequence: 0, acknowledged: u64::MAX, frames },
            Packet::Goodbye { to: 5, from: 6 },
        ]
    }

    #[test]
    fn a_packet_survives_its_bytes() {
        for packet in packets() {
            assert_eq!(decode(&encode(&packet), u64::MAX), Some(packet));
        }
    }

    /// A frame counts in the window at least what it takes on the wire.
    #[test]
    fn a_frame_takes_no_more_than_it_counts() {
        for packet in packets() {
            let Packet::Frames { frames, .. } = packet else { continue };
            for one in frames {
                let mut out = Vec::new();
                frame(&mut out, &one);
                assert!(out.len() as u64 <= one.size(), "{one:?} takes {}", out.len());
            }
        }
    }

    #[test]
    fn a_frame_of_a_later_version_is_skipped() {
        let known = Packet::Frames {
            to: 1,
            from: 2,
            sequence: 0,
            acknowledged: 0,
            frames: vec![Frame::Note(vec![7].into())],
        };
        let mut bytes =
            encode(&Packet::Frames { to: 1, from: 2, sequence: 0, acknowledged: 0, frames: Vec::new() });
        bytes.extend([99, 3, 1, 2, 3]);
        frame(&mut bytes, &Frame::Note(vec![7].into()));
        assert_eq!(decode(&bytes, u64::MAX), Some(known));
    }

    /// Noise is refused, and never makes a packet larger than itself.
    #[test]
    fn noise_is_no_packet() {
        let mut random = fastrand::Rng::with_seed(7);
        let valid: Vec<Vec<u8>> = packets().iter().map(encode).collect();
        for _ in 0..20_000 {
            let mut bytes = valid[random.usize(..valid.len())].clone();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            bytes.truncate(random.usize(1..=bytes.len()));
            if let Some(Packet::Frames { frames, .. }) = decode(&bytes, u64::MAX) {
                let heads = frames.iter().map(|frame| match frame {
                    Frame::Tell { count, .. } => u64::from(*count),
                    _ => 1,
                });
                let held = frames.iter().map(Frame::size).sum::<u64>() - Frame::HEAD * heads.sum::<u64>();
                assert!(held <= bytes.len() as u64);
            }
        }
    }
}
