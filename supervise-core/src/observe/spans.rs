//! A span for each message that is handled. Feature `spans`.
//!
//! The span of a message is a root, which follows from the span in which it was sent. A child would nest without end along a chain of
//! messages, and would outlive its parent.
//!
//! 1. A subscriber is user code. A panic of it is contained, and it is not called under a lock.
//!
//! Rules 25.1, 25.2, 25.3 and 25.4.

use std::cell::LazyCell;
use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use tracing::field::Empty;
use tracing::level_filters::LevelFilter;
use tracing::{Level, Metadata, Span};
use tracing_core::callsite::DefaultCallsite;
use tracing_core::{Kind, metadata};

use crate::base::{ActorPath, contained};

const TARGET: &str = "supervise::message";
const NAME: &str = "message";
/// Those that [`new`] gives the span: a filter that is asked beforehand must see the same.
const FIELDS: &[&str] = &[
    "actor.path",
    "actor.type",
    "handler",
    "messaging.operation.type",
    "error.type",
    "otel.name",
    "otel.kind",
    "otel.status_code",
];
const LEVELS: [Level; 5] = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE];

/// The span in which a message was sent.
pub(crate) struct Origin(Box<Span>);

/// A subscriber is told that it is dropped.
impl Drop for Origin {
    fn drop(&mut self) {
        let span = std::mem::replace(&mut *self.0, Span::none());
        let _panicked = contained(|| drop(span));
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Origin").finish_non_exhaustive()
    }
}

/// What is known of a message before it is handled.
pub(crate) struct About {
    pub(crate) path: ActorPath,
    pub(crate) actor_type: &'static str,
    pub(crate) handler: &'static str,
}

impl About {
    /// The last part of the actor's type, without parameters, and the handler.
    fn name(&self) -> String {
        let path = self.actor_type.split('<').next().unwrap_or_default();
        format!("{}::{}", path.rsplit("::").next().unwrap_or_default(), self.handler)
    }
}

/// Whether the messages of a system have spans, and of which level.
#[derive(Debug, Default)]
pub(super) struct Spans(AtomicU8);

/// Calls the same macro with each level, because the level of a span is part of its place in the code.
macro_rules! at_level {
    ($level:expr, $make:ident) => {
        match $level {
            Level::ERROR => $make!(Level::ERROR),
            Level::WARN => $make!(Level::WARN),
            Level::INFO => $make!(Level::INFO),
            Level::DEBUG => $make!(Level::DEBUG),
            Level::TRACE => $make!(Level::TRACE),
        }
    };
}

impl Spans {
    pub(super) fn start(&self, level: Level) {
        let place = LEVELS.iter().position(|it| *it == level).map_or(0, |place| place + 1);
        self.0.store(u8::try_from(place).unwrap_or(0), Ordering::Relaxed);
    }

    fn level(&self) -> Option<Level> {
        let place = usize::from(self.0.load(Ordering::Relaxed));
        LEVELS.get(place.checked_sub(1)?).copied()
    }

    /// The span that is current, for a message that is about to be sent.
    #[inline]
    pub(super) fn origin(&self) -> Option<Origin> {
        self.level().and_then(current)
    }

    /// The span of a message.
    #[inline]
    pub(super) fn begin(
        &self,
        about: impl FnOnce() -> About,
        origins: impl Iterator<Item = Origin>,
    ) -> Option<Span> {
        self.level().and_then(|level| make(level, about, origins))
    }
}

#[cold]
fn current(level: Level) -> Option<Origin> {
    let span = contained(|| is_possible(level).then(Span::current)).ok().flatten()?;
    (!span.is_none()).then(|| Origin(Box::new(span)))
}

/// Whether a subscriber may enable the span. It knows from when the subscribers were installed, and asks none of them now: a subscriber
/// with filters for single layers keeps the answer for the span that comes next, and there is none at the sender.
fn is_possible(level: Level) -> bool {
    macro_rules! is_possible {
        ($level:expr) => {{
            static PLACE: DefaultCallsite = DefaultCallsite::new(&METADATA);
            static METADATA: Metadata<'static> = metadata! {
                name: NAME,
                target: TARGET,
                level: $level,
                fields: FIELDS,
                callsite: &PLACE,
                kind: Kind::SPAN,
            };
            !PLACE.interest().is_never()
        }};
    }
    level <= LevelFilter::current() && at_level!(level, is_possible)
}

#[cold]
fn make(level: Level, about: impl FnOnce() -> About, origins: impl Iterator<Item = Origin>) -> Option<Span> {
    let span = contained(|| new(level, &LazyCell::new(about))).ok()?;
    for origin in origins {
        let _panicked = contained(|| span.follows_from(origin.0.id()).id());
    }
    Some(span).filter(|span| !span.is_disabled())
}

/// It asks `about` only if a subscriber enables the span.
fn new<F: FnOnce() -> About>(level: Level, about: &LazyCell<About, F>) -> Span {
    macro_rules! new {
        ($level:expr) => {
            tracing::span!(
                target: TARGET,
                parent: None,
                $level,
                NAME,
                actor.path = about.path.local(),
                actor.type = about.actor_type,
                handler = about.handler,
                messaging.operation.type = "process",
                error.type = Empty,
                otel.name = about.name(),
                otel.kind = "consumer",
                otel.status_code = Empty,
            )
        };
    }
    at_level!(level, new)
}

/// The span of a message has come to its end.
#[cold]
pub(crate) fn end(span: Span, error: Option<&str>) {
    let _panicked = contained(|| {
        if let Some(error) = error {
            span.record("error.type", error);
            span.record("otel.status_code", "ERROR");
        }
        drop(span);
    });
}

/// The span is current as long as this lives. Unlike the guard of `tracing`, it contains panics.
pub(crate) struct Inside<'a>(&'a Span);

impl<'a> Inside<'a> {
    pub(crate) fn enter(span: &'a Span) -> Self {
        let _panicked = contained(|| span.with_subscriber(|(id, subscriber)| subscriber.enter(id)));
        Self(span)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let _panicked = contained(|| self.0.with_subscriber(|(id, subscriber)| subscriber.exit(id)));
    }
}
