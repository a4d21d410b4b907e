//! A failure: what left a handler, a hook, a factory or a decider instead of success.
//!
//! Keeps the user's value as it was thrown, so that a table can match on its type and a guard can look inside.
//! What is done about a failure is not decided here but in [`supervision`](crate::supervision).

use std::any::Any;
use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::path::ActorPath;

/// Why an actor failed. Cheap to clone; all clones share the cause.
#[derive(Clone)]
pub struct Failure {
    stage: Stage,
    root: Root,
    /// What a restart was for, when the restart itself failed.
    original: Option<Arc<Failure>>,
}

/// When a failure happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// While a message or a system message was handled.
    Running,
    /// In the factory or `pre_start` of an actor that had not started yet.
    Initialization,
    /// In the factory or `post_restart` of a restart.
    PostRestart,
}

/// What kind of thing went wrong, apart from when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// User code returned an error.
    Error,
    /// User code panicked. Its state may be half-updated.
    Panic,
    /// Somebody killed the actor.
    Killed,
    /// A watched actor ended, and this actor does not handle that.
    DeathPact,
}

#[derive(Clone)]
enum Root {
    Error(Arc<dyn ErasedError>),
    Panic(Arc<Cow<'static, str>>),
    Killed,
    DeathPact(ActorPath),
}

impl Failure {
    /// A failure from an error. Its `source()` chain is kept.
    pub fn new<E: Error + Send + Sync + 'static>(error: E) -> Self {
        Self::typed(error, E::source)
    }

    /// A failure from anything that converts into a boxed error, such as `anyhow::Error` or a `String`.
    pub fn other<E>(error: E) -> Self
    where
        E: fmt::Display + Into<Box<dyn Error + Send + Sync>> + Send + Sync + 'static,
    {
        Self::typed(error, |_| None)
    }

    /// A failure from something that can be seen as an error, such as a boxed error.
    pub(crate) fn error_like<E>(error: E) -> Self
    where
        E: fmt::Display + AsRef<dyn Error + Send + Sync> + Send + Sync + 'static,
    {
        Self::typed(error, |error| error.as_ref().source())
    }

    fn typed<E: fmt::Display + Send + Sync + 'static>(error: E, source: SourceOf<E>) -> Self {
        Self::from_root(Root::Error(Arc::new(Typed { error, source })))
    }

    /// A failure from a caught panic's payload.
    pub(crate) fn panic(payload: Box<dyn Any + Send>) -> Self {
        let text = match payload.downcast::<&'static str>() {
            Ok(text) => Cow::Borrowed(*text),
            Err(payload) => match payload.downcast::<String>() {
                Ok(text) => Cow::Owned(*text),
                Err(payload) => {
                    crate::unwind::drop_quietly(payload);
                    Cow::Borrowed("a panic without a text")
                }
            },
        };
        Self::from_root(Root::Panic(Arc::new(text)))
    }

    /// The failure of an actor that somebody killed.
    pub fn killed() -> Self {
        Self::from_root(Root::Killed)
    }

    /// The failure of an actor that watched `subject` and has no handler for its end.
    pub fn death_pact(subject: ActorPath) -> Self {
        Self::from_root(Root::DeathPact(subject))
    }

    fn from_root(root: Root) -> Self {
        Self { stage: Stage::Running, root, original: None }
    }

    /// This failure as one that kept its actor from starting.
    pub(crate) fn at_initialization(mut self) -> Self {
        self.stage = Stage::Initialization;
        self
    }

    /// This failure as one that broke a restart, which was for `original`.
    pub(crate) fn at_restart(mut self, original: Self) -> Self {
        self.stage = Stage::PostRestart;
        self.original = Some(Arc::new(original));
        self
    }

    /// When it happened.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// What kind of thing went wrong.
    pub fn kind(&self) -> FailureKind {
        match self.root {
            Root::Error(_) => FailureKind::Error,
            Root::Panic(_) => FailureKind::Panic,
            Root::Killed => FailureKind::Killed,
            Root::DeathPact(_) => FailureKind::DeathPact,
        }
    }

    /// Whether the actor has no usable instance because of this: it failed to start, or to start again.
    pub fn is_initialization(&self) -> bool {
        self.stage != Stage::Running
    }

    /// What the restart that failed was for, back to the first failure of the chain.
    pub fn original(&self) -> &Self {
        let mut failure = self;
        while let Some(original) = &failure.original {
            failure = original;
        }
        failure
    }

    /// The user's error, if it is an `E`.
    pub fn downcast_ref<E: 'static>(&self) -> Option<&E> {
        match &self.root {
            Root::Error(error) => error.value().downcast_ref(),
            Root::Panic(_) | Root::Killed | Root::DeathPact(_) => None,
        }
    }

    /// The name of the error's type, or of the kind of failure.
    pub fn type_name(&self) -> &'static str {
        match &self.root {
            Root::Error(error) => error.type_name(),
            Root::Panic(_) => "Panic",
            Root::Killed => "Killed",
            Root::DeathPact(_) => "DeathPact",
        }
    }

    /// Whether both are clones of one failure.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.root, &other.root) {
            (Root::Error(a), Root::Error(b)) => std::ptr::addr_eq(Arc::as_ptr(a), Arc::as_ptr(b)),
            (Root::Panic(a), Root::Panic(b)) => Arc::ptr_eq(a, b),
            (Root::Killed, Root::Killed) => true,
            (Root::DeathPact(a), Root::DeathPact(b)) => a == b,
            _ => false,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.root {
            Root::Error(error) => error.display(f),
            Root::Panic(text) => write!(f, "panicked: {text}"),
            Root::Killed => f.write_str("killed"),
            Root::DeathPact(subject) => {
                write!(f, "death pact: {subject} ended and its end is not handled")
            }
        }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("kind", &format_args!("{}", self.type_name()))
            .field("stage", &self.stage)
            .field("message", &format_args!("{self}"))
            .finish_non_exhaustive()
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.root {
            Root::Error(error) => error.source(),
            Root::Panic(_) | Root::Killed | Root::DeathPact(_) => None,
        }
    }
}

type SourceOf<E> = fn(&E) -> Option<&(dyn Error + 'static)>;

struct Typed<E> {
    error: E,
    source: SourceOf<E>,
}

/// A user's error value behind one pointer.
trait ErasedError: Send + Sync {
    fn value(&self) -> &dyn Any;
    fn display(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
    fn source(&self) -> Option<&(dyn Error + 'static)>;
    fn type_name(&self) -> &'static str;
}

impl<E: fmt::Display + Send + Sync + 'static> ErasedError for Typed<E> {
    fn value(&self) -> &dyn Any {
        &self.error
    }

    fn display(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }

    fn source(&self) -> Option<&(dyn Error + 'static)> {
        (self.source)(&self.error)
    }

    fn type_name(&self) -> &'static str {
        std::any::type_name::<E>()
    }
}
