//! The arguments of a message as bytes: a map from their names to their values, in `MessagePack`.
//!
//! The names make a stored message independent of the order of the arguments, and let a later release add arguments: a missing one is
//! decoded like `nil`, so an `Option` is `None`.
//!
//! Rule 27.12.

use std::fmt::Display;
use std::io::Cursor;

use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::base::{DEPTH, is_shallow};

/// The `nil` of `MessagePack`.
const NIL: &[u8] = &[0xc0];

/// A message could not be encoded or decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CodecError(String);

impl CodecError {
    pub(crate) fn of(argument: &str, error: impl Display) -> Self {
        Self(format!("`{argument}`: {error}"))
    }

    fn too_deep() -> Self {
        Self(format!("it is nested more than {DEPTH} levels deep"))
    }
}

/// Arguments that are being encoded.
#[derive(Debug)]
pub struct Encoder(Vec<u8>);

impl Encoder {
    /// A message with this many arguments.
    ///
    /// # Panics
    ///
    /// Never: a handler has fewer than 2³² arguments.
    pub fn new(arguments: usize) -> Self {
        let mut bytes = Vec::with_capacity(64);
        // A map of up to 15 entries is one byte.
        if let Ok(few @ ..16) = u8::try_from(arguments) {
            bytes.push(0x80 | few);
        } else {
            let many = u32::try_from(arguments).expect("a handler has fewer than 2³² arguments");
            bytes.push(0xdf);
            bytes.extend(many.to_be_bytes());
        }
        Self(bytes)
    }

    /// Adds an argument.
    ///
    /// # Errors
    ///
    /// That of the argument's `Serialize`.
    pub fn add<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), CodecError> {
        let mut serializer = rmp_serde::Serializer::new(&mut self.0).with_struct_map();
        name.serialize(&mut serializer).map_err(|error| CodecError::of(name, error))?;
        value.serialize(&mut serializer).map_err(|error| CodecError::of(name, error))
    }
}

/// A message as it is stored.
#[derive(Debug)]
pub struct Encoded {
    pub(crate) kind: &'static str,
    pub(crate) body: Vec<u8>,
}

impl Encoded {
    /// The message of the handler that is stored under `kind`.
    pub fn new(kind: &'static str, arguments: Encoder) -> Self {
        Self { kind, body: arguments.0 }
    }

    /// The message, if it can be decoded without too much stack.
    pub(crate) fn checked(self) -> Result<Self, CodecError> {
        if is_deep(&self.body) { Err(CodecError::too_deep()) } else { Ok(self) }
    }
}

/// Arguments that are being decoded.
#[derive(Debug)]
pub struct Decoder<'a>(Vec<(String, &'a [u8])>);

impl<'a> Decoder<'a> {
    /// Splits the map into its arguments.
    pub(crate) fn new(body: &'a [u8]) -> Result<Self, CodecError> {
        if is_deep(body) {
            return Err(CodecError::too_deep());
        }
        let (arguments, mut rest) = header(body).ok_or_else(|| CodecError("not a map of arguments".to_owned()))?;
        let mut fields = Vec::new();
        for _ in 0..arguments {
            let (name, after) = first::<String>(rest)?;
            let (IgnoredAny, next) = first(after)?;
            fields.push((name, &after[..after.len() - next.len()]));
            rest = next;
        }
        Ok(Self(fields))
    }

    /// Decodes an argument.
    ///
    /// # Errors
    ///
    /// That of the argument's `Deserialize`.
    pub fn take<T: DeserializeOwned>(&self, name: &str) -> Result<T, CodecError> {
        match self.0.iter().find(|(field, _)| field == name) {
            Some((_, value)) => rmp_serde::from_slice(value).map_err(|error| CodecError::of(name, error)),
            None => rmp_serde::from_slice(NIL).map_err(|_| CodecError::of(name, "the argument is missing")),
        }
    }
}

/// Whether it could take too much stack to decode this. A few bytes cannot, and most messages have few.
pub(super) fn is_deep(body: &[u8]) -> bool {
    body.len() > DEPTH && !is_shallow(body)
}

/// How many entries the map has, and the bytes behind its header.
fn header(body: &[u8]) -> Option<(u32, &[u8])> {
    match body.split_first()? {
        (few @ 0x80..=0x8f, rest) => Some((u32::from(few & 0x0f), rest)),
        (0xdf, rest) => {
            let (many, rest) = rest.split_first_chunk::<4>()?;
            Some((u32::from_be_bytes(*many), rest))
        }
        _ => None,
    }
}

/// The first value, and the bytes behind it.
fn first<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, &[u8]), CodecError> {
    let mut deserializer = rmp_serde::Deserializer::new(Cursor::new(bytes));
    let value = T::deserialize(&mut deserializer)
        .map_err(|error| CodecError(format!("not a map of arguments: {error}")))?;
    let at = usize::try_from(deserializer.position()).unwrap_or(bytes.len());
    Ok((value, bytes.get(at..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_found_by_their_names() {
        let mut encoder = Encoder::new(2);
        encoder.add("first", &vec![1_u8, 2]).expect("numbers can be encoded");
        encoder.add("second", "text").expect("a text can be encoded");
        let bytes = encoder.0;
        let decoder = Decoder::new(&bytes).expect("a map");
        assert_eq!(decoder.take::<String>("second").as_deref(), Ok("text"));
        assert_eq!(decoder.take::<Vec<u8>>("first"), Ok(vec![1, 2]));
        assert_eq!(decoder.take::<Option<u8>>("third"), Ok(None));
        let missing = decoder.take::<u8>("third").expect_err("it is not there");
        assert_eq!(missing.to_string(), "`third`: the argument is missing");
        assert!(decoder.take::<u8>("second").is_err());
    }

    #[test]
    fn what_is_nested_too_deep_is_neither_encoded_nor_decoded() {
        let nested = |levels: usize| {
            let mut body = vec![0x81, 0xa1, b'a'];
            body.extend(vec![0x91; levels]);
            body.push(0xc0);
            body
        };
        for (levels, is_read) in [(DEPTH - 1, true), (DEPTH, false), (1_000_000, false)] {
            let body = nested(levels);
            assert_eq!(Decoder::new(&body).is_ok(), is_read, "{levels} levels");
            assert_eq!(Encoded::new("a", Encoder(body)).checked().is_ok(), is_read, "{levels} levels");
        }
    }

    #[test]
    fn what_is_not_a_map_is_an_error() {
        for bytes in [&[][..], &[0xc0], &[0x81], &[0x81, 0xa1], &[0xdf, 0, 0], &[0x81, 0xa1, b'a']] {
            assert!(Decoder::new(bytes).is_err(), "{bytes:?}");
        }
    }
}
