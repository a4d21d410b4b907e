//! A span of `tracing` for each message that is handled. Feature `spans`.
//!
//! Rules 25.1, 25.2, 25.3 and 25.4. [`docs::spans`](crate::docs::spans) says what the span has, and how OpenTelemetry shows it.

use std::fmt;

use supervise_core::ActorSystem;
use tracing::Level;

/// The spans of a system's messages, before they are on.
///
/// ```
/// use supervise::prelude::*;
/// use supervise::spans::Spans;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let system = ActorSystem::new("shop");
/// Spans::of(&system).start();
/// # system.terminate().await;
/// # }
/// ```
///
/// Before `start`, and while no subscriber enables the target `supervise::message` at their level, no span is made
/// (rule [25.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-25.4)).
#[must_use = "there are no spans before it is started"]
pub struct Spans {
    system: ActorSystem,
    level: Level,
    asks_as_children: bool,
}

impl Spans {
    /// The spans of this system's messages, of the level `TRACE`.
    pub fn of(system: &ActorSystem) -> Self {
        Self { system: system.clone(), level: Level::TRACE, asks_as_children: false }
    }

    /// Gives the spans this level.
    pub fn level(self, level: Level) -> Self {
        Self { level, ..self }
    }

    /// Makes the span of a message that was asked a child of the span in which it was asked, for viewers that show
    /// no links. The span of a told message is still a root, and so is that of a batch of several messages (rule
    /// [25.1](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-25.1)).
    pub fn asks_as_children(self) -> Self {
        Self { asks_as_children: true, ..self }
    }

    /// From now on, each message that an actor of the system handles has a span.
    pub fn start(self) {
        self.system.start_spans(self.level, self.asks_as_children);
    }
}

impl fmt::Debug for Spans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spans")
            .field("system", &self.system)
            .field("level", &self.level)
            .field("asks_as_children", &self.asks_as_children)
            .finish()
    }
}
