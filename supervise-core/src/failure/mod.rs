//! A failure: the error or panic of a handler, a hook, a factory or a decider, or another reason for which an actor
//! failed.
//!
//! It keeps the user's error unchanged, so that a table can match on its type and a guard can look inside. Of earlier
//! failed restarts it keeps only the original failure and a count. [`supervision`](crate::supervision) decides what
//! happens after a failure.
//!
//! Rule 2.1.

mod during;
mod text;

use std::any::Any;
use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, OnceLock};

pub use self::during::During;
use crate::base::{ActorPath, Payload, UserValue};
use crate::supervision;

#[cfg(feature = "tracing")]
pub(crate) use self::text::one_line;
pub(crate) use self::text::{cut, debug_in_one_line, fmt_in_one_line, text_of, with_text};

/// Why an actor failed. It is cheap to clone, and all clones share the cause.
///
/// It is one wide pointer and one allocation, because every report, answer and event carries a failure.
#[derive(Clone)]
pub struct Failure(Arc<Known<dyn Reason>>);

/// A cause, and the actor where it occurred.
struct Known<C: ?Sized> {
    /// The path of the actor that failed first. Set when its supervisor escalates the failure.
    origin: OnceLock<ActorPath>,
    /// The code that failed. Set when the failure leaves that code, before anybody else gets the failure.
    during: Option<During>,
    cause: C,
}

/// When a failure happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// While the actor handled a message or a system message.
    Running,
    /// In the factory or `pre_start` of an actor that had not started yet.
    Initialization,
    /// In the factory or `post_restart` of a restart.
    PostRestart,
}

/// What kind of thing went wrong. [`Stage`] says when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// User code returned an error.
    Error,
    /// User code panicked. Its state may be half-updated.
    Panic,
    /// The actor was killed.
    Killed,
    /// A watched actor ended, and this actor has no handler for its end.
    DeathPact,
    /// Nothing failed: an operator restarted the actor
    /// (rule [23.8](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-23.8)).
    ByHand,
}

impl Failure {
    /// Makes a failure from an error. It keeps the error's `source()` chain.
    pub fn new<E: Error + Send + Sync + 'static>(error: E) -> Self {
        Self::typed(error, E::source)
    }

    /// Makes a failure from a value that converts into a boxed error, such as `anyhow::Error` or a `String`.
    pub fn other<E>(error: E) -> Self
    where
        E: fmt::Display + Into<Box<dyn Error + Send + Sync>> + Send + Sync + 'static,
    {
        Self::typed(error, |_| None)
    }

    /// Makes a failure from a value that can be seen as an error, such as a boxed error.
    pub(crate) fn error_like<E>(error: E) -> Self
    where
        E: fmt::Display + AsRef<dyn Error + Send + Sync> + Send + Sync + 'static,
    {
        Self::typed(error, |error| error.as_ref().source())
    }

    fn typed<E: fmt::Display + Send + Sync + 'static>(error: E, source: SourceOf<E>) -> Self {
        Self::of(Typed { error: UserValue::new(error), source })
    }

    fn of(cause: impl Reason + 'static) -> Self {
        Self(Arc::new(Known { origin: OnceLock::new(), during: None, cause }))
    }

    /// Makes a failure from a caught panic's payload.
    pub(crate) fn panic(payload: Payload) -> Self {
        let text = match payload.into_inner().downcast::<&'static str>() {
            Ok(text) => Cow::Borrowed(*text),
            Err(payload) => match payload.downcast::<String>() {
                Ok(text) => Cow::Owned(*text),
                Err(payload) => {
                    drop(UserValue::new(payload));
                    Cow::Borrowed("a panic without a text")
                }
            },
        };
        Self::of(Panicked(text))
    }

    /// The failure of an actor that was killed.
    pub fn killed() -> Self {
        Self::of(Killed)
    }

    /// The failure of an actor that watched `subject` and has no handler for its end.
    pub fn death_pact(subject: ActorPath) -> Self {
        Self::of(DeathPact(subject))
    }

    /// The cause of a restart that `by` asked for.
    pub(crate) fn by_hand(by: &str) -> Self {
        Self::of(ByHand(by.into()))
    }

    /// This failure with the stage `Initialization`.
    pub(crate) fn at_initialization(self) -> Self {
        Self::of(Staged { stage: Stage::Initialization, cause: self.bare(), restarts: None })
    }

    /// This failure with the stage `PostRestart`. `last` is the failure for which the restart was made.
    pub(crate) fn at_restart(self, last: Self) -> Self {
        let (original, before) = match last.restarts() {
            Some(restarts) => (restarts.original.clone(), restarts.failed),
            None => (last, 0),
        };
        let restarts = FailedRestarts { original, failed: before.saturating_add(1) };
        Self::of(Staged { stage: Stage::PostRestart, cause: self.bare(), restarts: Some(restarts) })
    }

    /// The failure without its stage, so that stages never nest, however often a failure is passed on.
    fn bare(self) -> Self {
        match self.0.cause.staged() {
            Some(staged) => staged.cause.clone(),
            None => self,
        }
    }

    fn restarts(&self) -> Option<&FailedRestarts> {
        self.0.cause.staged()?.restarts.as_ref()
    }

    /// When the failure happened.
    pub fn stage(&self) -> Stage {
        self.0.cause.staged().map_or(Stage::Running, |staged| staged.stage)
    }

    /// What kind of thing went wrong.
    pub fn kind(&self) -> FailureKind {
        self.root().cause.kind()
    }

    /// Whether the failure left the actor without an instance: a start or a restart failed.
    pub fn is_initialization(&self) -> bool {
        self.0.cause.staged().is_some()
    }

    /// The failure for which the failed restart was made. If several restarts have failed in a row, it is the failure
    /// before the first of them. The failures in between are not kept, but [counted](Self::failed_restarts).
    pub fn original(&self) -> &Self {
        self.restarts().map_or(self, |restarts| &restarts.original)
    }

    /// How many restarts have failed in a row since the [`original`](Self::original), including this one. Zero if the
    /// failure did not happen in a restart.
    /// Rule [4.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-4.6).
    pub fn failed_restarts(&self) -> u32 {
        self.restarts().map_or(0, |restarts| restarts.failed)
    }

    /// The user's error, if it is an `E`.
    pub fn downcast_ref<E: 'static>(&self) -> Option<&E> {
        self.root().cause.error()?.downcast_ref()
    }

    /// The name of the error's type, or, if there is no error, of the kind of failure.
    pub fn type_name(&self) -> &'static str {
        self.root().cause.type_name()
    }

    /// Whether both are clones of one failure. Their stages may differ.
    pub fn is_same(&self, other: &Self) -> bool {
        let (mine, theirs): (*const Known<dyn Reason>, *const Known<dyn Reason>) = (self.root(), other.root());
        std::ptr::addr_eq(mine, theirs)
    }

    /// The path of the actor that failed first, if its supervisor escalated the failure. Look there when a branch of
    /// the tree or the whole system went down.
    pub fn origin(&self) -> Option<&ActorPath> {
        self.root().origin.get()
    }

    /// Which code failed. `None` if none did: the actor was killed, broke a death pact, or its stash was full.
    ///
    /// If an actor returns a failure that it was told of, this is the code that failed first.
    pub fn during(&self) -> Option<During> {
        self.root().during
    }

    /// Notes the code that failed. If other code passes the failure on, the first code stays.
    pub(crate) fn left(mut self, during: Option<During>) -> Self {
        if let Some(mine) = Arc::get_mut(&mut self.0)
            && mine.during.is_none()
        {
            mine.during = during;
        }
        self
    }

    /// Notes the origin, when the supervisor escalates the failure. Later escalations do not overwrite it.
    pub(crate) fn escalated(&self, failed: impl FnOnce() -> ActorPath) {
        self.root().origin.get_or_init(failed);
    }

    /// The failure without its stage.
    fn root(&self) -> &Known<dyn Reason> {
        match self.0.cause.staged() {
            Some(staged) => &staged.cause.0,
            None => &self.0,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root().cause.display(f)
    }
}

/// In one line, because this is what `main` prints when it returns a failure. `{:#?}` shows its parts.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            f.write_str(&text_of(self))?;
            return self.origin().map_or(Ok(()), |origin| write!(f, " (in {origin})"));
        }
        let mut text = f.debug_struct("Failure");
        text.field("kind", &format_args!("{}", self.type_name()))
            .field("stage", &self.stage())
            .field("message", &format_args!("{}", text_of(self)));
        if let Some(origin) = self.origin() {
            text.field("origin", &format_args!("{origin}"));
        }
        text.finish_non_exhaustive()
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.root().cause.source()
    }
}

type SourceOf<E> = fn(&E) -> Option<&(dyn Error + 'static)>;

/// What can cause a failure.
trait Reason: Send + Sync {
    fn kind(&self) -> FailureKind;
    fn type_name(&self) -> &'static str;
    fn display(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    fn error(&self) -> Option<&dyn Any> {
        None
    }

    fn source(&self) -> Option<&(dyn Error + 'static)> {
        None
    }

    fn staged(&self) -> Option<&Staged> {
        None
    }
}

struct Typed<E: 'static> {
    error: UserValue<E>,
    source: SourceOf<E>,
}

impl<E: fmt::Display + Send + Sync + 'static> Reason for Typed<E> {
    fn kind(&self) -> FailureKind {
        FailureKind::Error
    }

    fn type_name(&self) -> &'static str {
        std::any::type_name::<E>()
    }

    fn display(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&*self.error, f)
    }

    fn error(&self) -> Option<&dyn Any> {
        Some(&*self.error)
    }

    fn source(&self) -> Option<&(dyn Error + 'static)> {
        (self.source)(&self.error)
    }
}

struct Panicked(Cow<'static, str>);

impl Reason for Panicked {
    fn kind(&self) -> FailureKind {
        FailureKind::Panic
    }

    fn type_name(&self) -> &'static str {
        "Panic"
    }

    fn display(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "panicked: {}", self.0)
    }
}

struct Killed;

impl Reason for Killed {
    fn kind(&self) -> FailureKind {
        FailureKind::Killed
    }

    fn type_name(&self) -> &'static str {
        "Killed"
    }

    fn display(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("killed")
    }
}

struct DeathPact(ActorPath);

impl Reason for DeathPact {
    fn kind(&self) -> FailureKind {
        FailureKind::DeathPact
    }

    fn type_name(&self) -> &'static str {
        "DeathPact"
    }

    fn display(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "death pact: {} ended and its end is not handled", self.0)
    }
}

struct ByHand(Arc<str>);

impl Reason for ByHand {
    fn kind(&self) -> FailureKind {
        FailureKind::ByHand
    }

    fn type_name(&self) -> &'static str {
        "ByHand"
    }

    fn display(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "restarted by hand, by {}", self.0)
    }
}

/// What another node says about a failure there. The error itself stays on its node.
#[cfg(feature = "remote")]
struct Elsewhere {
    kind: FailureKind,
    text: Box<str>,
}

#[cfg(feature = "remote")]
impl Reason for Elsewhere {
    fn kind(&self) -> FailureKind {
        self.kind
    }

    fn type_name(&self) -> &'static str {
        "Elsewhere"
    }

    fn display(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(feature = "remote")]
impl Failure {
    /// The failure of an actor of another node.
    pub(crate) fn elsewhere(kind: FailureKind, stage: Stage, text: &str, origin: Option<ActorPath>) -> Self {
        let cause = Self::of(Elsewhere { kind, text: text.into() });
        if let Some(origin) = origin {
            cause.escalated(|| origin);
        }
        match stage {
            Stage::Running => cause,
            stage => Self::of(Staged { stage, cause, restarts: None }),
        }
    }
}

/// A failure that happened while there was no instance.
struct Staged {
    stage: Stage,
    /// [Bare](Failure::bare).
    cause: Failure,
    /// Set if the failure happened in a restart.
    restarts: Option<FailedRestarts>,
}

/// The restarts that have failed in a row. Its size does not depend on their number.
struct FailedRestarts {
    original: Failure,
    failed: u32,
}

impl Reason for Staged {
    fn kind(&self) -> FailureKind {
        self.cause.kind()
    }

    fn type_name(&self) -> &'static str {
        self.cause.type_name()
    }

    fn display(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.cause, f)
    }

    fn staged(&self) -> Option<&Staged> {
        Some(self)
    }
}

/// What the protocol must know about a failure.
impl supervision::Cause for Failure {
    fn at_initialization(self) -> Self {
        Failure::at_initialization(self)
    }

    fn at_restart(self, original: Self) -> Self {
        Failure::at_restart(self, original)
    }

    fn is_initialization(&self) -> bool {
        Failure::is_initialization(self)
    }

    fn is_final(&self) -> bool {
        matches!(self.kind(), FailureKind::Killed | FailureKind::DeathPact)
    }

    fn end_of_permanent() -> Self {
        Failure::new(PermanentEnded)
    }
}

/// A permanent child ended by itself, so it is replaced, and siblings of its group restart with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a permanent child ended by itself")]
pub struct PermanentEnded;

#[cfg(test)]
mod tests;
