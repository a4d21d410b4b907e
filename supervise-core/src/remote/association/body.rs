//! The bytes of a frame.

use std::fmt;
use std::ops::Deref;

/// How many bytes are kept without memory of their own. Most messages are this short.
const SHORT: usize = 30;

/// The bytes of a frame. Short ones take no memory of their own.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Body(Bytes);

/// What fits into `Short` is never `Long`, and its further bytes are 0, so that equal bodies are equal values.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Bytes {
    Short { length: u8, bytes: [u8; SHORT] },
    Long(Vec<u8>),
}

impl Body {
    /// Two parts, one behind the other.
    #[inline]
    pub(in crate::remote) fn joined(first: &[u8], second: &[u8]) -> Self {
        let length = first.len() + second.len();
        match u8::try_from(length) {
            Ok(short) if length <= SHORT => {
                let mut bytes = [0; SHORT];
                bytes[..first.len()].copy_from_slice(first);
                bytes[first.len()..length].copy_from_slice(second);
                Self(Bytes::Short { length: short, bytes })
            }
            _ => Self(Bytes::Long([first, second].concat())),
        }
    }
}

impl Deref for Body {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Short { length, bytes } => &bytes[..usize::from(*length)],
            Bytes::Long(bytes) => bytes,
        }
    }
}

impl Default for Body {
    fn default() -> Self {
        Self::from(&[][..])
    }
}

impl From<&[u8]> for Body {
    #[inline]
    fn from(bytes: &[u8]) -> Self {
        Self::joined(bytes, &[])
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        if bytes.len() <= SHORT { Self::from(&bytes[..]) } else { Self(Bytes::Long(bytes)) }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::{Body, SHORT};

    #[test]
    fn a_body_has_the_bytes_of_both_parts() {
        let bytes: Vec<u8> = (1..=100).collect();
        for length in [0, 1, SHORT - 1, SHORT, SHORT + 1, 100] {
            let whole = &bytes[..length];
            assert_eq!(*Body::from(whole.to_vec()), *whole);
            for (first, second) in (0..=length).map(|middle| whole.split_at(middle)) {
                assert_eq!(
                    Body::joined(first, second),
                    Body::from(whole.to_vec()),
                    "{} and {}",
                    first.len(),
                    second.len()
                );
            }
        }
    }
}
