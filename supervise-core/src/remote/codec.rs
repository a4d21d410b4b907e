//! Writing messages into bytes, and reading them. Values are `MessagePack` with named fields.
//!
//! Rules 26.6 and 26.7.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::{fmt, mem};

use rmp_serde::decode::ReadRefReader;
use serde::de::value::Error as MissingField;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, Visitor};
use serde::{Deserialize, Serialize, forward_to_deserialize_any};

use super::association::Number;
use super::link::Link;
use super::node::NodeCore;
use super::wire::WireError;
use crate::actor::{Answer, AskError, Envelope, ErasedSlot, ReplySlot, ReplyTo, answer, is_abandoned};
use crate::base::{contained, drop_contained, is_shallow};
use crate::observe::DeadLetterReason;

/// A value that can travel to another node: an argument or a reply of a handler of a `remote` actor.
///
/// Every type with `serde`'s traits can.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot travel to another machine: `serde::Serialize` or `serde::Deserialize` is missing",
    label = "messages and replies of a `remote` actor travel",
    note = "for a type of your own, derive both: `#[derive(serde::Serialize, serde::Deserialize)]`; for a type of another crate, take one that serde knows, such as `SystemTime` for `Instant`, or a type of your own",
    note = "or keep the handler on its machine: `#[handler(local)]`",
    note = "the ref of an actor travels if the actor is `remote` too: `#[actor(remote)]` in place of `#[actor]` above its impl block"
)]
pub trait Travels: Serialize + DeserializeOwned + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + Send + 'static> Travels for T {}

/// How values of one type are written and read.
pub struct Codec<T> {
    write: fn(&mut Vec<u8>, &T) -> Result<(), Unsendable>,
    read: fn(&mut Reader<'_>) -> Result<T, Undecodable>,
    missing: fn() -> Result<T, Undecodable>,
    answered: fn(Arc<dyn ErasedSlot>, &[u8]),
    reply_to: fn(Asked) -> ReplyTo<T>,
}

/// How values of this type are written and read.
pub fn codec<T: Travels>() -> Codec<T> {
    Codec {
        write: |to, value| write(to, value),
        read: |reader| T::deserialize(reader).map_err(|_| Undecodable::Argument),
        missing: || T::deserialize(Missing).map_err(|_| Undecodable::Argument),
        answered: answered::<T>,
        reply_to: Asked::reply_to::<T>,
    }
}

impl<T> fmt::Debug for Codec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Codec").finish_non_exhaustive()
    }
}

type Reader<'a> = rmp_serde::Deserializer<ReadRefReader<'a, [u8]>>;

/// Why a message could not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the message cannot travel to another node")]
pub struct Unsendable;

/// Why a message could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Undecodable {
    /// There is no such handler.
    #[error("no handler of this name")]
    UnknownMessage,
    /// An argument is missing or cannot be read.
    #[error("an argument cannot be read")]
    Argument,
}

impl From<Undecodable> for DeadLetterReason {
    fn from(why: Undecodable) -> Self {
        match why {
            Undecodable::UnknownMessage => Self::UnknownMessage,
            Undecodable::Argument => Self::Undecodable,
        }
    }
}

/// A handler that other nodes know, with the names of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteHandler {
    /// Its name.
    pub name: &'static str,
    /// The name that dead letters give to its messages.
    pub message: &'static str,
    /// The names of its arguments, in the order in which they are written.
    pub arguments: &'static [&'static str],
}

/// A message that is being written.
#[derive(Default)]
pub struct Outgoing {
    pub(super) handler: &'static str,
    pub(super) body: Vec<u8>,
    pub(super) reply: Option<Pending>,
}

impl Outgoing {
    /// Begins a message for the handler of this name, whose reply goes to `slot`. Its arguments follow, in the order of the
    /// [contract](super::RemoteActor::CONTRACT).
    pub fn begin<T>(&mut self, handler: &'static str, slot: ReplySlot, codec: Codec<T>) {
        self.handler = handler;
        self.reply = slot.into_erased().map(|slot| Pending::new(slot, codec.answered));
    }

    /// As [`begin`](Self::begin), for a message that has a [`ReplyTo`].
    pub fn begin_for<T: Send + 'static>(&mut self, handler: &'static str, reply: ReplyTo<T>, codec: Codec<T>) {
        self.handler = handler;
        self.reply = reply.erase().map(|slot| Pending::new(slot, codec.answered));
    }

    /// Writes the message of another actor, after some arguments of the caller.
    pub(crate) fn wrap(
        &mut self,
        message: impl FnOnce(&mut Self) -> Result<(), Unsendable>,
        arguments: impl FnOnce(&mut Self) -> Result<(), Unsendable>,
    ) -> Result<(), Unsendable> {
        let mut inner = Self::default();
        let written = message(&mut inner);
        let Self { handler, body, reply } = inner;
        // Even if something could not be written: then the asker learns of it.
        (self.handler, self.reply) = (handler, reply);
        written?;
        arguments(self)?;
        self.body.extend(body);
        Ok(())
    }

    /// Refuses a message that is not part of the contract with other nodes.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn refuse(&mut self, slot: ReplySlot) -> Result<(), Unsendable> {
        self.reply = slot.into_erased().map(|slot| Pending::new(slot, answered::<()>));
        Err(Unsendable)
    }

    /// Writes an argument.
    ///
    /// # Errors
    ///
    /// If its `Serialize` fails.
    pub fn argument<T>(&mut self, value: &T, codec: Codec<T>) -> Result<(), Unsendable> {
        (codec.write)(&mut self.body, value)
    }
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing").field("bytes", &self.body.len()).finish_non_exhaustive()
    }
}

/// Appends a value.
pub(super) fn write<T: Serialize + ?Sized>(to: &mut Vec<u8>, value: &T) -> Result<(), Unsendable> {
    let mut serializer = rmp_serde::Serializer::new(to).with_struct_map();
    value.serialize(&mut serializer).map_err(|_| Unsendable)
}

/// The bytes of a value.
pub(crate) fn message_pack<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, Unsendable> {
    let mut bytes = Vec::new();
    write(&mut bytes, value).map(|()| bytes)
}

/// Reads a value that takes all the bytes.
pub(super) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Undecodable> {
    if is_shallow(bytes) {
        rmp_serde::from_slice(bytes).map_err(|_| Undecodable::Argument)
    } else {
        Err(Undecodable::Argument)
    }
}

/// A message that is being read.
pub struct Arguments<'a> {
    names: &'a [String],
    next: usize,
    reader: Reader<'a>,
    asked: Option<Asked>,
}

impl<'a> Arguments<'a> {
    pub(super) fn new(names: &'a [String], body: &'a [u8], asked: Option<Asked>) -> Self {
        let reader = rmp_serde::Deserializer::from_read_ref(body);
        Self { names, next: 0, reader, asked }
    }

    /// The name of the next argument. [`read`](Self::read) or [`skip`](Self::skip) follows.
    pub fn next_name(&mut self) -> Option<&'a str> {
        let name = self.names.get(self.next)?;
        self.next += 1;
        Some(name)
    }

    /// Reads an argument.
    ///
    /// # Errors
    ///
    /// If its `Deserialize` fails.
    pub fn read<T>(&mut self, codec: Codec<T>) -> Result<T, Undecodable> {
        (codec.read)(&mut self.reader)
    }

    /// Skips an argument that this node does not know.
    ///
    /// # Errors
    ///
    /// If it is not `MessagePack`.
    pub fn skip(&mut self) -> Result<(), Undecodable> {
        IgnoredAny::deserialize(&mut self.reader).map(|_| ()).map_err(|_| Undecodable::Argument)
    }

    /// The argument, or what stands for an argument that the sender did not write: `None` for an `Option`.
    ///
    /// # Errors
    ///
    /// If nothing stands for it.
    pub fn given<T>(value: Option<T>, codec: Codec<T>) -> Result<T, Undecodable> {
        value.map_or_else(codec.missing, Ok)
    }

    /// The message with its asker.
    pub fn envelope<M, T: Send + 'static>(&mut self, message: M, codec: Codec<T>) -> Envelope<M> {
        let mut envelope = Envelope::from(message);
        if let Some(asked) = self.asked.take() {
            envelope.attach((codec.reply_to)(asked));
        }
        envelope
    }

    /// Where the reply goes, for a message that has a [`ReplyTo`].
    pub fn reply_to<T>(&mut self, codec: Codec<T>) -> ReplyTo<T> {
        self.asked.take().map_or(ReplyTo::nowhere(), codec.reply_to)
    }

    /// The asker, if no message took it.
    pub(super) fn into_asked(self) -> Option<Asked> {
        self.asked
    }
}

impl fmt::Debug for Arguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arguments").field("names", &self.names).finish_non_exhaustive()
    }
}

/// An argument that the sender did not write.
struct Missing;

impl<'de> Deserializer<'de> for Missing {
    type Error = MissingField;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, MissingField> {
        Err(serde::de::Error::custom("an argument is missing"))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, MissingField> {
        visitor.visit_none()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

// ---- answers -----------------------------------------------------------------------------------------------------

/// An asker here that waits for an answer of another node. If it is dropped, the asker is told that the connection is lost.
pub(super) struct Pending {
    slot: Option<Arc<dyn ErasedSlot>>,
    answer: fn(Arc<dyn ErasedSlot>, &[u8]),
}

impl Pending {
    pub(super) fn new(slot: Arc<dyn ErasedSlot>, answer: fn(Arc<dyn ErasedSlot>, &[u8])) -> Self {
        Self { slot: Some(slot), answer }
    }

    /// The answer has come. Runs user code, which is contained.
    pub(super) fn answer(mut self, body: &[u8]) {
        if let Some(slot) = self.slot.take() {
            (self.answer)(slot, body);
        }
    }

    pub(super) fn fail(mut self, why: AskError) {
        if let Some(slot) = self.slot.take() {
            slot.fail(why);
        }
    }

    /// Whether the asker waits no more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.slot.as_ref().is_none_or(is_abandoned)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            slot.fail(AskError::ConnectionLost);
        }
    }
}

const OK: u8 = 0;
const ERROR: u8 = 1;

/// The answer to an ask has come.
pub(super) fn answered<T: Travels>(slot: Arc<dyn ErasedSlot>, body: &[u8]) {
    match body.split_first() {
        Some((&OK, value)) => match contained(|| read::<T>(value)) {
            Ok(Ok(value)) => answer(slot, value),
            // It was handled.
            Ok(Err(_)) => slot.fail(AskError::Unanswered),
            Err(payload) => {
                drop_contained(payload);
                slot.fail(AskError::Unanswered);
            }
        },
        Some((&ERROR, error)) => {
            slot.fail(read::<WireError>(error).map_or(AskError::Unanswered, WireError::into_ask_error));
        }
        _ => slot.fail(AskError::Unanswered),
    }
}

/// An answer that is written.
pub(super) fn ok<T: Serialize>(value: &T) -> Result<Vec<u8>, Unsendable> {
    let mut body = vec![OK];
    write(&mut body, value).map(|()| body)
}

/// An error that is written.
pub(super) fn error(why: &AskError) -> Vec<u8> {
    let mut body = vec![ERROR];
    // Its parts are numbers and texts.
    let _always = write(&mut body, &WireError::from(why));
    body
}

/// An asker of another node.
pub(super) struct Asked {
    pub(super) link: Arc<Link>,
    pub(super) mine: Number,
    pub(super) ask: u64,
}

impl Asked {
    fn reply_to<T: Travels>(self) -> ReplyTo<T> {
        let (link, mine, ask) = (Arc::clone(&self.link), self.mine, self.ask);
        let answering = Arc::new(Answering { asked: self, answer: Mutex::new(None) });
        let (reply, answer) = ReplyTo::<T>::asked_by(Some(Waker::from(Arc::clone(&answering))), false);
        *answering.answer() = Some(answer);
        link.answering(mine, ask, answering);
        reply
    }

    /// Answers without a handler.
    pub(super) fn fail(self, why: &AskError) {
        self.link.answer(self.mine, self.ask, error(why));
    }
}

/// Waits for the answer of an actor here, and sends it.
struct Answering<T> {
    asked: Asked,
    /// Taken out when there is nobody to answer any more.
    answer: Mutex<Option<Answer<T>>>,
}

impl<T> Answering<T> {
    fn answer(&self) -> std::sync::MutexGuard<'_, Option<Answer<T>>> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Travels> Wake for Answering<T> {
    fn wake(self: Arc<Self>) {
        let waker = Waker::from(Arc::clone(&self));
        let mut waits = self.answer();
        // Polling it runs no user code.
        let polled =
            waits.as_mut().map(|answer| std::pin::Pin::new(answer).poll(&mut TaskContext::from_waker(&waker)));
        let Some(Poll::Ready(answer)) = polled else { return };
        let done = waits.take();
        drop(waits);
        drop(done);
        let Asked { link, mine, ask } = &self.asked;
        let body = match answer {
            Ok(value) => {
                let written = contained(|| scope(&link.node(), || ok(&value)));
                drop_contained(value);
                match written {
                    Ok(Ok(body)) if body.len() <= link.max_message() => body,
                    Ok(_) => error(&AskError::Unanswered),
                    Err(payload) => {
                        drop_contained(payload);
                        error(&AskError::Unanswered)
                    }
                }
            }
            Err(why) => error(&why),
        };
        link.answer(*mine, *ask, body);
    }
}

/// Something that waits for the answer to an ask of another node.
pub(super) trait Abandon: Send + Sync {
    /// Nobody waits for the answer any more.
    fn abandon(&self);
}

impl<T: Send> Abandon for Answering<T> {
    fn abandon(&self) {
        let answer = self.answer().take();
        drop(answer);
    }
}

// ---- the node whose messages are read and written -------------------------------------------------------------------

thread_local! {
    static HERE: RefCell<Option<Arc<NodeCore>>> = const { RefCell::new(None) };
}

/// Runs code that reads or writes a message of this node, in which there may be refs.
pub(super) fn scope<T>(node: &Arc<NodeCore>, code: impl FnOnce() -> T) -> T {
    struct Restore(Option<Arc<NodeCore>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            let outer = self.0.take();
            let _inner = HERE.with(|here| mem::replace(&mut *here.borrow_mut(), outer));
        }
    }
    let _restore = Restore(HERE.with(|here| here.borrow_mut().replace(Arc::clone(node))));
    code()
}

/// The node whose message is read or written on this thread.
pub(super) fn here() -> Option<Arc<NodeCore>> {
    HERE.with(|here| here.borrow().clone())
}
