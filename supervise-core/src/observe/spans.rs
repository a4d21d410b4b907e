//! A span for each message that is handled. Feature `spans`.
//!
//! The span of a message is a root, which follows from the span in which it was sent. A child would nest without end along a chain of
//! messages, and would outlive its parent. Only the span of an ask may be a child, where the program wishes that.
//!
//! 1. A subscriber is user code. A panic of it is contained, and it is not called under a lock.
//!
//! Rules 25.1, 25.2, 25.3 and 25.4.

use std::cell::LazyCell;
use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use tracing::field::Empty;
use tracing::level_filters::LevelFilter;
use tracing::{Id, Level, Metadata, Span};
use tracing_core::callsite::DefaultCallsite;
use tracing_core::{Kind, metadata};

use crate::base::{ActorPath, contained};

const TARGET: &str = "supervise::message";
const NAME: &str = "message";
/// The fields that [`new`] gives the span, so that a filter that is asked beforehand sees the same fields.
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
pub(crate) struct Origin(Box<Sender>);

struct Sender {
    span: Span,
    /// Whether the sender waits for an answer.
    asks: bool,
}

/// Contained, because dropping a span calls the subscriber.
impl Drop for Origin {
    fn drop(&mut self) {
        let span = std::mem::replace(&mut self.0.span, Span::none());
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

/// Whether the messages of a system have spans, of which level, and whether the spans of asks are [`CHILDREN`].
#[derive(Debug, Default)]
pub(super) struct Spans(AtomicU8);

const CHILDREN: u8 = 0x80;

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
    pub(super) fn start(&self, level: Level, asks_as_children: bool) {
        let place = LEVELS.iter().position(|it| *it == level).map_or(0, |place| place + 1);
        let children = if asks_as_children { CHILDREN } else { 0 };
        self.0.store(u8::try_from(place).unwrap_or(0) | children, Ordering::Relaxed);
    }

    fn asks_as_children(&self) -> bool {
        self.0.load(Ordering::Relaxed) & CHILDREN != 0
    }

    fn level(&self) -> Option<Level> {
        let place = usize::from(self.0.load(Ordering::Relaxed) & !CHILDREN);
        LEVELS.get(place.checked_sub(1)?).copied()
    }

    /// The span that is current, for a message that is about to be sent.
    #[inline]
    pub(super) fn origin(&self, asks: bool) -> Option<Origin> {
        self.level().and_then(|level| current(level, asks))
    }

    /// The span of a message.
    #[inline]
    pub(super) fn begin(
        &self,
        about: impl FnOnce() -> About,
        origins: impl Iterator<Item = Origin>,
    ) -> Option<Span> {
        self.level().and_then(|level| make(level, self.asks_as_children(), about, origins))
    }
}

#[cold]
fn current(level: Level, asks: bool) -> Option<Origin> {
    let span = contained(|| is_possible(level).then(Span::current)).ok().flatten()?;
    (!span.is_none()).then(|| Origin(Box::new(Sender { span, asks })))
}

/// Whether a subscriber may enable the span. This uses what the subscribers said when they were installed, and
/// asks none of them now: a subscriber with filters for single layers would keep its answer for the next span, and
/// the sender makes no span.
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
fn make(
    level: Level,
    asks_as_children: bool,
    about: impl FnOnce() -> About,
    mut origins: impl Iterator<Item = Origin>,
) -> Option<Span> {
    let (first, second) = (origins.next(), origins.next());
    // A batch has several askers, and a span has one parent.
    let is_child = asks_as_children && second.is_none();
    let parent = first.as_ref().filter(|origin| is_child && origin.0.asks).and_then(|origin| origin.0.span.id());
    let follows = parent.is_none();
    let span = contained(|| new(level, parent, &LazyCell::new(about))).ok()?;
    for origin in first.into_iter().chain(second).chain(origins).filter(|_| follows) {
        let _panicked = contained(|| span.follows_from(origin.0.span.id()).id());
    }
    Some(span).filter(|span| !span.is_disabled())
}

/// Makes the span. Evaluates `about` only if a subscriber enables the span.
fn new<F: FnOnce() -> About>(level: Level, parent: Option<Id>, about: &LazyCell<About, F>) -> Span {
    macro_rules! new {
        ($level:expr) => {
            tracing::span!(
                target: TARGET,
                parent: parent,
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

/// Ends the span of a message.
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
