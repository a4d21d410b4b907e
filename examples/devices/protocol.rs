//! The frames: a length of two bytes, a kind, a body, and a checksum over kind and body.

use std::io;

use tokio_util::bytes::{Buf, BufMut, BytesMut};
use tokio_util::codec::{Decoder, Encoder};

/// The longest frame, without its length field, in bytes.
const LONGEST: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frame {
    /// The first frame of a device.
    Hello { device: u32 },
    /// The server's answer: the last reading that it has of this device.
    Welcome { last: u32 },
    /// Readings are numbered from 1.
    Reading { number: u32, value: i32 },
    /// The server has counted this reading.
    Counted { number: u32 },
    /// Nothing to report.
    Heartbeat,
}

/// Bytes that are not a frame.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("a frame of {0} bytes")]
    Length(usize),
    #[error("a frame of the unknown kind {0}")]
    Kind(u8),
    #[error("a frame with a wrong checksum")]
    Checksum,
    #[error("the connection broke: {0}")]
    Broken(#[from] io::Error),
}

#[derive(Debug)]
pub(crate) struct Codec;

impl Decoder for Codec {
    type Item = Frame;
    type Error = FrameError;

    fn decode(&mut self, bytes: &mut BytesMut) -> Result<Option<Frame>, FrameError> {
        let Some(length) = bytes.first_chunk().map(|length| usize::from(u16::from_be_bytes(*length))) else {
            return Ok(None);
        };
        if !(2..=LONGEST).contains(&length) {
            return Err(FrameError::Length(length));
        }
        if bytes.len() < 2 + length {
            return Ok(None);
        }
        let mut frame = bytes.split_to(2 + length).split_off(2);
        let checksum = frame.split_off(length - 1)[0];
        if checksum != sum(&frame) {
            return Err(FrameError::Checksum);
        }
        let kind = frame.get_u8();
        let of_length = |body: usize| if frame.len() == body { Ok(()) } else { Err(FrameError::Length(length)) };
        Ok(Some(match kind {
            0 => of_length(0).map(|()| Frame::Heartbeat)?,
            1 => of_length(4).map(|()| Frame::Hello { device: frame.get_u32() })?,
            2 => of_length(4).map(|()| Frame::Welcome { last: frame.get_u32() })?,
            3 => of_length(8).map(|()| Frame::Reading { number: frame.get_u32(), value: frame.get_i32() })?,
            4 => of_length(4).map(|()| Frame::Counted { number: frame.get_u32() })?,
            unknown => return Err(FrameError::Kind(unknown)),
        }))
    }
}

impl Encoder<Frame> for Codec {
    type Error = io::Error;

    fn encode(&mut self, frame: Frame, bytes: &mut BytesMut) -> io::Result<()> {
        let start = bytes.len();
        bytes.put_u16(0);
        match frame {
            Frame::Heartbeat => bytes.put_u8(0),
            Frame::Hello { device } => {
                bytes.put_u8(1);
                bytes.put_u32(device);
            }
            Frame::Welcome { last } => {
                bytes.put_u8(2);
                bytes.put_u32(last);
            }
            Frame::Reading { number, value } => {
                bytes.put_u8(3);
                bytes.put_u32(number);
                bytes.put_i32(value);
            }
            Frame::Counted { number } => {
                bytes.put_u8(4);
                bytes.put_u32(number);
            }
        }
        let checksum = sum(&bytes[start + 2..]);
        bytes.put_u8(checksum);
        let length = u16::try_from(bytes.len() - start - 2).map_err(io::Error::other)?;
        bytes[start..start + 2].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }
}

fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0x55, |sum, byte| sum.rotate_left(1) ^ byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES: [Frame; 5] = [
        Frame::Heartbeat,
        Frame::Hello { device: 7 },
        Frame::Welcome { last: u32::MAX },
        Frame::Reading { number: 3, value: -40 },
        Frame::Counted { number: 3 },
    ];

    fn encoded(frames: &[Frame]) -> BytesMut {
        let mut bytes = BytesMut::new();
        for frame in frames {
            Codec.encode(*frame, &mut bytes).unwrap();
        }
        bytes
    }

    #[test]
    fn frames_come_out_as_they_went_in_however_they_are_cut() {
        let mut received = BytesMut::new();
        let mut frames = Vec::new();
        for byte in encoded(&FRAMES) {
            received.put_u8(byte);
            frames.extend(Codec.decode(&mut received).unwrap());
        }
        assert_eq!(frames, FRAMES);
    }

    #[test]
    fn no_changed_byte_goes_unnoticed() {
        let good = encoded(&[Frame::Reading { number: 3, value: -40 }]);
        for at in 2..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                assert!(Codec.decode(&mut bad).is_err(), "byte {at}, bit {bit}");
            }
        }
    }

    #[test]
    fn what_is_not_a_frame_is_named() {
        let decode = |bytes: &[u8]| Codec.decode(&mut BytesMut::from(bytes)).unwrap_err().to_string();
        assert_eq!(decode(&[0xff, 0xff]), "a frame of 65535 bytes");
        assert_eq!(decode(&[0, 0]), "a frame of 0 bytes");
        assert_eq!(decode(&[0, 2, 9, sum(&[9])]), "a frame of the unknown kind 9");
        assert_eq!(decode(&[0, 2, 1, sum(&[1])]), "a frame of 2 bytes");
    }
}
