//! Encoding and decoding the messages of actors whose mailbox may be durable.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Copy, CopyOf};
use crate::actor::{Durable, Envelope, ReplySlot};
pub use crate::durable::fields::{CodecError, Decoder, Encoded, Encoder};

/// The place for the ticket of a stored message.
pub fn slot<M>(message: &mut Envelope<M>) -> &mut ReplySlot {
    message.slot()
}

/// Whether a message is stored and has its ticket.
pub fn is_stored<M>(message: &Envelope<M>) -> bool {
    message.is_stored()
}

/// Tells rustc whether the mailbox of `A` is durable. Used as `(&&Kind::<A>::NEW).__kind()`.
#[derive(Debug)]
pub struct Kind<A>(PhantomData<fn() -> A>);

impl<A> Kind<A> {
    /// The only one.
    pub const NEW: Self = Self(PhantomData);
}

/// The mailbox is durable. Found first.
pub trait StoredKind {
    /// What messages of a durable mailbox need.
    fn __kind(&self) -> InStore;
}

impl<A: Durable> StoredKind for &Kind<A> {
    fn __kind(&self) -> InStore {
        InStore
    }
}

/// The mailbox is in memory.
pub trait MemoryKind {
    /// What messages in memory need.
    fn __kind(&self) -> InMemory;
}

impl<A> MemoryKind for Kind<A> {
    fn __kind(&self) -> InMemory {
        InMemory
    }
}

/// An argument of a stored handler.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored: `serde::Serialize` or `serde::Deserialize` is missing",
    label = "a durable mailbox stores every argument",
    note = "for a type of your own, derive both: `#[derive(serde::Serialize, serde::Deserialize)]`; or write `#[handler(transient)]`, and the message is not stored"
)]
pub trait Storable: Serialize + DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> Storable for T {}

/// How an argument is encoded and decoded.
#[derive(Debug)]
pub struct Argument<T> {
    encode: fn(&mut Encoder, &str, &T) -> Result<(), CodecError>,
    decode: fn(&Decoder<'_>, &str) -> Result<T, CodecError>,
}

impl<T> Argument<T> {
    /// Encodes an argument.
    ///
    /// # Errors
    ///
    /// That of its `Serialize`.
    pub fn encode(&self, out: &mut Encoder, name: &str, value: &T) -> Result<(), CodecError> {
        (self.encode)(out, name, value)
    }

    /// Decodes an argument.
    ///
    /// # Errors
    ///
    /// That of its `Deserialize`.
    pub fn decode(&self, from: &Decoder<'_>, name: &str) -> Result<T, CodecError> {
        (self.decode)(from, name)
    }
}

/// The mailbox is durable: arguments are encoded.
#[derive(Debug, Clone, Copy)]
pub struct InStore;

impl InStore {
    /// `true`
    pub const fn is_stored(self) -> bool {
        true
    }

    /// How an argument is encoded and decoded.
    pub const fn argument<T: Storable>(self) -> Argument<T> {
        Argument { encode: |out, name, value| out.add(name, value), decode: |from, name| from.take(name) }
    }

    /// `None`: a stored message is decoded once more for another delivery.
    pub fn copy<T>(self, value: &T) -> Option<T> {
        let _ = value;
        None
    }
}

/// The mailbox is in memory: nothing is encoded.
#[derive(Debug, Clone, Copy)]
pub struct InMemory;

impl InMemory {
    /// `false`
    pub const fn is_stored(self) -> bool {
        false
    }

    /// Never used.
    pub const fn argument<T>(self) -> Argument<T> {
        Argument {
            encode: |_, _, _| Ok(()),
            decode: |_, name| Err(CodecError::of(name, "the mailbox is in memory")),
        }
    }

    /// Clones an argument for another delivery.
    pub fn copy<T>(self, value: &T) -> Option<T>
    where
        Copy: CopyOf<T>,
    {
        Some(Copy::of(value))
    }
}

/// The kind of a mailbox whose handlers may be `inline`.
#[diagnostic::on_unimplemented(
    message = "a stored handler cannot be `inline`",
    label = "a durable mailbox stores the message first",
    note = "remove `inline`; or write `#[handler(inline, transient)]`, and the message is not stored"
)]
pub trait MayBeInline {}

impl MayBeInline for InMemory {}

/// Requires that handlers may be inline. rustc reports the error at the word.
pub fn may_be_inline<K: MayBeInline>(_: K) {}
