//! What a handler with `#[handler(batch = ..)]` says about its messages.

use std::num::NonZeroUsize;
use std::time::Duration;

/// How the messages of one handler are gathered, to be handled in one call
/// (rule [23.1](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-23.1)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batching {
    pub(crate) handler: u16,
    pub(crate) size: NonZeroUsize,
    pub(crate) linger: Option<Duration>,
}

impl Batching {
    /// At most `size` messages of the handler with this number are handled in one call; a size of 0 counts as 1. The number
    /// only distinguishes the actor's handlers. Gathered messages are handled as soon as no other message waits.
    pub const fn new(handler: u16, size: usize) -> Self {
        let size = match NonZeroUsize::new(size) {
            Some(size) => size,
            None => NonZeroUsize::MIN,
        };
        Self { handler, size, linger: None }
    }

    /// Waits for more messages for at most this long after the first one.
    #[must_use]
    pub const fn linger(self, linger: Duration) -> Self {
        Self { linger: Some(linger), ..self }
    }
}
