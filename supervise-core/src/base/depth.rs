//! Finds how deep `MessagePack` is nested, without recursion. Reading a nested value takes stack for each level, so without this check a
//! peer or a stored message could end the process. The check also finds a length that exceeds the bytes that follow, before memory is
//! reserved for it.

/// How deep a value that is read may be nested.
pub(crate) const DEPTH: usize = 64;

/// Whether values are nested no deeper than [`DEPTH`], and none is cut off.
pub(crate) fn is_shallow(bytes: &[u8]) -> bool {
    Scanner(bytes).is_shallow()
}

/// How many bytes a value with this marker takes, if the marker says so and there is nothing inside. Otherwise 0.
static PLAIN: [u8; 256] = {
    let (mut sizes, mut marker) = ([0; 256], 0_u8);
    loop {
        sizes[marker as usize] = match marker {
            0x00..=0x7f | 0xe0..=0xff | 0xc0..=0xc3 => 1,
            0xa0..=0xbf => 1 + (marker & 0x1f),
            0xcc | 0xd0 => 2,
            0xcd | 0xd1 | 0xd4 => 3,
            0xd5 => 4,
            0xca | 0xce | 0xd2 => 5,
            0xd6 => 6,
            0xcb | 0xcf | 0xd3 => 9,
            0xd7 => 10,
            0xd8 => 18,
            _ => 0,
        };
        if marker == u8::MAX {
            break sizes;
        }
        marker += 1;
    }
};

struct Scanner<'a>(&'a [u8]);

impl Scanner<'_> {
    fn is_shallow(&mut self) -> bool {
        // Most messages are numbers and short texts, for which nothing needs to be remembered.
        while let Some(&marker) = self.0.first()
            && let size @ 1.. = PLAIN[usize::from(marker)]
        {
            let Some(rest) = self.0.get(usize::from(size)..) else { return false };
            self.0 = rest;
        }
        self.0.is_empty() || self.is_nested_shallow()
    }

    fn is_nested_shallow(&mut self) -> bool {
        // How many values each open array or map still has.
        let (mut open, mut depth) = ([0_u64; DEPTH], 0);
        while !self.0.is_empty() {
            let Some(inside) = self.value() else { return false };
            if inside > 0 {
                let Some(level) = open.get_mut(depth) else { return false };
                *level = inside;
                depth += 1;
                continue;
            }
            while depth > 0 {
                open[depth - 1] -= 1;
                if open[depth - 1] > 0 {
                    break;
                }
                depth -= 1;
            }
        }
        depth == 0
    }

    /// Skips the head of a value, and returns how many values are inside it. `None`: the value is cut off.
    fn value(&mut self) -> Option<u64> {
        let (&marker, rest) = self.0.split_first()?;
        self.0 = rest;
        let (skip, inside) = match marker {
            0x80..=0x8f => (0, 2 * u64::from(marker & 0x0f)),
            0x90..=0x9f => (0, u64::from(marker & 0x0f)),
            0xc4 | 0xd9 => (self.number(1)?, 0),
            0xc5 | 0xda => (self.number(2)?, 0),
            0xc6 | 0xdb => (self.number(4)?, 0),
            0xc7 => (self.number(1)? + 1, 0),
            0xc8 => (self.number(2)? + 1, 0),
            0xc9 => (self.number(4)? + 1, 0),
            0xdc => (0, self.number(2)?),
            0xdd => (0, self.number(4)?),
            0xde => (0, 2 * self.number(2)?),
            0xdf => (0, 2 * self.number(4)?),
            plain => (u64::from(PLAIN[usize::from(plain)]) - 1, 0),
        };
        self.take(skip)?;
        Some(inside)
    }

    fn number(&mut self, bytes: u64) -> Option<u64> {
        Some(self.take(bytes)?.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn take(&mut self, bytes: u64) -> Option<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(bytes).ok()?)?;
        self.0 = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::{DEPTH, is_shallow};

    fn write<T: Serialize>(to: &mut Vec<u8>, value: &T) -> Result<(), rmp_serde::encode::Error> {
        value.serialize(&mut rmp_serde::Serializer::new(to).with_struct_map())
    }

    #[test]
    fn values_of_every_kind_are_passed() {
        let mut bytes = Vec::new();
        let texts: Vec<String> = [0, 31, 32, 255, 256, 65_536].map(|length| "x".repeat(length)).into();
        write(&mut bytes, &texts).unwrap();
        write(&mut bytes, &(0_u8, 200_u8, 3_000_u16, 70_000_u32, u64::MAX)).unwrap();
        write(&mut bytes, &(-1_i8, -100_i8, -3_000_i16, -70_000_i32, i64::MIN, i128::MIN)).unwrap();
        write(&mut bytes, &(1.5_f32, 1.5_f64, 'c', true, Option::<()>::None)).unwrap();
        for length in [15, 16, 65_535, 65_536] {
            write(&mut bytes, &vec![vec![7_u16]; length]).unwrap();
            let map: std::collections::BTreeMap<_, _> = (0..length).map(|key| (key, Some("value"))).collect();
            write(&mut bytes, &map).unwrap();
        }
        let marked: [&[u8]; 11] = [
            &[0xc4, 1, 0],
            &[0xc5, 0, 1, 0],
            &[0xc6, 0, 0, 0, 1, 0],
            &[0xc7, 1, 5, 0],
            &[0xc8, 0, 1, 5, 0],
            &[0xc9, 0, 0, 0, 1, 5, 0],
            &[0xd4, 5, 0],
            &[0xd5, 5, 0, 0],
            &[0xd6, 5, 0, 0, 0, 0],
            &[0xd7, 5, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0xd8, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        ];
        bytes.extend(marked.concat());
        assert!(is_shallow(&bytes));
        let end = bytes.len();
        for cut in [1, 2, 3, 17] {
            assert!(!is_shallow(&bytes[..end - cut]), "{cut} bytes are missing");
        }
    }

    #[test]
    fn what_is_nested_too_deep_is_told() {
        let nested = |marker: u8, depth: usize| {
            let mut bytes = vec![marker; depth];
            bytes.extend([0xc0; 100]);
            bytes
        };
        assert!(is_shallow(&nested(0x91, DEPTH)));
        assert!(!is_shallow(&nested(0x91, DEPTH + 1)));
        assert!(!is_shallow(&vec![0x81; 1_000_000]));
        let siblings = vec![vec![vec![0_u8; 3]; 100]; 100];
        let mut bytes = Vec::new();
        write(&mut bytes, &siblings).unwrap();
        assert!(is_shallow(&bytes), "siblings do not add up");
        assert!(!is_shallow(&[0xdc, 0xff, 0xff, 0]), "65534 values are missing");
    }
}
