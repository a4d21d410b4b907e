//! The name of an actor under its parent.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// The name of an actor, unique under its parent. Cheap to clone. Dereferences to `str`.
#[derive(Clone)]
pub struct ActorName(Repr);

/// As large as an `Arc<str>`. Most made-up names are stored inline and need no allocation.
#[derive(Clone)]
enum Repr {
    Shared(Arc<str>),
    /// Padded with zeros.
    MadeUp([u8; INLINE]),
}

const INLINE: usize = 8;

const _: () = assert!(size_of::<ActorName>() == size_of::<Arc<str>>(), "every actor stores a name");

/// The first character of made-up names. Other names must not begin with it.
pub(crate) const RESERVED: char = '$';

/// Each digit stands for six bits.
const DIGITS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+~";

impl ActorName {
    /// The name made up for a number: `$a`, `$b`, …, `$ab`, …
    pub(crate) fn made_up(number: u64) -> Self {
        // The dollar sign, and as many digits as 64 bits need.
        let (mut name, mut length, mut rest) = ([0; 12], 1, number);
        name[0] = b'$';
        loop {
            name[length] = DIGITS[usize::try_from(rest % 64).unwrap_or(0)];
            length += 1;
            rest /= 64;
            if rest == 0 {
                break;
            }
        }
        Self(match name.first_chunk() {
            Some(short) if length <= INLINE => Repr::MadeUp(*short),
            _ => Repr::Shared(Arc::from(ascii(&name[..length]))),
        })
    }

    /// Whether the system made up the name.
    pub(crate) fn is_made_up(&self) -> bool {
        match &self.0 {
            Repr::MadeUp(_) => true,
            Repr::Shared(name) => name.starts_with(RESERVED),
        }
    }

    /// The number for which the system may have made up this name with [`made_up`](Self::made_up), if there is one.
    pub(crate) fn number_of(name: &str) -> Option<u64> {
        name.strip_prefix(RESERVED)?.bytes().rev().try_fold(0_u64, |number, digit| {
            let digit = DIGITS.iter().position(|known| *known == digit)?;
            number.checked_mul(64)?.checked_add(u64::try_from(digit).ok()?)
        })
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Repr::Shared(name) => name,
            Repr::MadeUp(name) => {
                let length = name.iter().position(|byte| *byte == 0).unwrap_or(INLINE);
                ascii(&name[..length])
            }
        }
    }
}

fn ascii(name: &[u8]) -> &str {
    match std::str::from_utf8(name) {
        Ok(name) => name,
        Err(_) => unreachable!("a dollar sign and digits are ASCII"),
    }
}

impl From<&str> for ActorName {
    fn from(name: &str) -> Self {
        Self(Repr::Shared(Arc::from(name)))
    }
}

impl Deref for ActorName {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for ActorName {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Borrow<str> for ActorName {
    fn borrow(&self) -> &str {
        self
    }
}

impl PartialEq for ActorName {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for ActorName {}

impl PartialEq<str> for ActorName {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for ActorName {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

/// Hashes like a `str`, because a name can be borrowed as one.
impl Hash for ActorName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Debug for ActorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for ActorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_up_name_tells_its_number() {
        let many = (0..if cfg!(miri) { 100 } else { 10_000 }).chain([64_u64.pow(7) - 1, 64_u64.pow(7), u64::MAX]);
        let names: Vec<_> = many.map(|number| (number, ActorName::made_up(number))).collect();
        for (number, name) in &names {
            assert_eq!(ActorName::number_of(name), Some(*number), "{name}");
        }
        assert_eq!([0, 1, 64].map(ActorName::made_up), ["$a", "$b", "$ab"]);
        assert_eq!(names.last().unwrap().1.len(), 12);
    }

    #[test]
    fn other_names_tell_none() {
        for name in ["", "a", "a$b", "$ ", "$-", "$~~~~~~~~~~~", "$aaaaaaaaaaaa~"] {
            assert_eq!(ActorName::number_of(name), None, "{name}");
        }
    }

    #[test]
    fn it_is_what_it_was_made_of() {
        for name in ["", "worker", "$a", "eightbyt"] {
            assert_eq!(ActorName::from(name), name);
            assert_eq!(format!("{:>10}|{0:?}", ActorName::from(name)), format!("{name:>10}|{name:?}"));
        }
        assert_eq!(ActorName::from("$a"), ActorName::made_up(0));
    }
}
