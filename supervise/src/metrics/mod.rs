//! Metrics of a running system, for the recorder that the program installs: Prometheus, `StatsD`, OpenTelemetry. Feature `metrics`.
//!
//! Rules 24.1, 24.2, 24.3, 24.4, 24.5 and 24.6. [`docs::metrics`](crate::docs::metrics) lists the metrics, and says what to alert on.

mod books;
mod meter;
mod paths;
mod running;
mod series;
mod times;
mod wraps;

use std::fmt;
use std::io;
use std::time::Duration;

use supervise_core::{ActorSystem, InvalidSelection, Selection};

pub use self::meter::Meter;
pub use self::running::Running;
pub use self::series::{Kind, SERIES, Series};
use self::times::Times;
pub use self::times::Timing;

/// From one look to the next, unless the program says otherwise.
const INTERVAL: Duration = Duration::from_secs(10);

/// The metrics of a system, before they are measured.
///
/// ```
/// use supervise::metrics::Metrics;
/// use supervise::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // First install a recorder of the crate `metrics`.
/// let system = ActorSystem::new("shop");
/// let metrics = Metrics::of(&system).by_path("/user/payments/*")?.start()?;
/// // ...
/// system.terminate().await;
/// metrics.ended().await;
/// # Ok(())
/// # }
/// ```
///
/// A thread of its own looks at each actor every ten seconds, and hears of failures and dead letters. It sends no message and runs no
/// code of an actor (rule [24.1](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-24.1)). Without a recorder
/// nothing is recorded and nothing fails. The thread ends with the system.
#[must_use = "it does nothing before it is started"]
pub struct Metrics {
    system: ActorSystem,
    interval: Duration,
    paths: Vec<Selection>,
    timing: Timing,
}

impl Metrics {
    /// The metrics of this system. Nothing is measured yet.
    pub fn of(system: &ActorSystem) -> Self {
        Self { system: system.clone(), interval: INTERVAL, paths: Vec::new(), timing: Timing::default() }
    }

    /// Looks this often, and not every ten seconds. A look at a large system takes long: whatever the interval is,
    /// looks take at most a two hundredth of the time.
    pub fn every(self, interval: Duration) -> Self {
        Self { interval, ..self }
    }

    /// Measures each named actor whose path matches too, in the metrics that begin with `supervise_path_`. At most 64 paths have series
    /// of their own, those that were found first; all others are `path="other"`. Patterns are those of
    /// [`ActorSystem::select`]; the last call does not replace the ones before.
    /// Rule [24.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-24.4).
    ///
    /// # Errors
    ///
    /// If the text is not a valid selection.
    pub fn by_path(mut self, pattern: impl AsRef<str>) -> Result<Self, InvalidSelection> {
        self.paths.push(self.system.select(pattern)?);
        Ok(self)
    }

    /// Times these messages, and not [one in 64](Timing::default), for `supervise_mailbox_seconds` and `supervise_handling_seconds`.
    /// Rule [24.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-24.6).
    pub fn timing(self, timing: Timing) -> Self {
        Self { timing, ..self }
    }

    /// Measures on a thread of its own, until the system ends or [`Running::stop`] is called.
    ///
    /// # Errors
    ///
    /// If the operating system makes no thread.
    pub fn start(self) -> io::Result<Running> {
        running::start(self)
    }

    /// Returns a meter that measures only when it is told to: in a test, or in a task of the program. The recorder
    /// is that of the thread that looks.
    pub fn by_hand(self) -> Meter {
        Meter::new(&self.system, self.paths, Times::new(self.timing))
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics")
            .field("system", &self.system)
            .field("every", &self.interval)
            .finish_non_exhaustive()
    }
}
