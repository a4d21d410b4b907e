//! The settings of a strategy: which children a failure affects, and how many restarts are granted. Plain data.

use std::time::Duration;

use super::backoff::Backoff;

/// Which children a directive reaches.
///
/// Rule [7.1](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The failed child alone.
    OneForOne,
    /// All children.
    AllForOne,
    /// The failed child and those started after it.
    RestForOne,
}

/// How failures are counted against `within`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// A window opens at a failure. The first failure after it has passed opens a new window, with a new count.
    Tumbling,
    /// At each failure, the failures within the last `within` are counted.
    Sliding,
}

/// What happens when a restart is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnLimit {
    /// The affected children stop, and the supervisor continues.
    Stop,
    /// The supervisor fails with the child's cause.
    Escalate,
}

/// Whose restarts a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Each child has its own count.
    Child,
    /// All children share one count. A restart of several siblings together counts once.
    Supervisor,
}

/// Whether the end of significant children ends their parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AutoShutdown {
    /// Never.
    Never,
    /// The parent stops as soon as one significant child has ended by itself.
    AnySignificant,
    /// The parent stops when a significant child ends by itself and no other significant child is left, however the
    /// others ended.
    AllSignificant,
}

/// At which level decisions are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    /// `Restart` and `Stop` as errors, `Resume` as a warning, `Escalate` not at all.
    Default,
    /// Nothing.
    Off,
    /// Every decision at this level.
    At(LogLevel),
    /// Up to this many failures of a child in a row as warnings, if the child restarts or goes on, and the others as errors. `Stop` and
    /// a limit that is reached are errors, `Escalate` is not logged.
    /// Rule [10.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-10.6).
    ByAttempt(u32),
}

/// The levels of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LogLevel {
    /// Errors.
    Error,
    /// Warnings.
    Warn,
    /// Information.
    Info,
    /// Debugging.
    Debug,
    /// Tracing.
    Trace,
}

/// The strategy of a supervisor, without its table.
///
/// ```
/// # extern crate supervise_core as supervise;
/// use std::time::Duration;
/// use supervise::Strategy;
///
/// let strategy = Strategy::one_for_one().max_retries(10).within(Duration::from_secs(60));
/// assert_eq!(strategy.limit.max_retries, Some(10));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Strategy {
    /// Which children a failure affects.
    pub scope: Scope,
    /// How many restarts are granted.
    pub limit: Limit,
    /// What happens at the limit.
    pub on_limit: OnLimit,
    /// Whose restarts are counted.
    pub count: Count,
    /// Whether significant children end their parent.
    pub auto_shutdown: AutoShutdown,
    /// The delay of every plain `Restart`.
    pub backoff: Option<Backoff>,
    /// At which level decisions are logged.
    pub log: Log,
}

/// How many restarts are granted.
///
/// If neither field is set, any number of restarts is granted. `within` alone grants one restart per window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limit {
    /// How many restarts are granted in each window, or in total if there is no window.
    pub max_retries: Option<u32>,
    /// The length of the window. Never zero.
    pub within: Option<Duration>,
    /// How the window moves.
    pub window: Window,
}

impl Limit {
    /// Any number of restarts.
    pub const UNLIMITED: Self = Self { max_retries: None, within: None, window: Window::Tumbling };

    /// The same limit, counted in windows of this length.
    #[track_caller]
    pub(crate) const fn per(self, window: Duration) -> Self {
        assert!(!window.is_zero(), "a restart window must be longer than zero");
        Self { within: Some(window), ..self }
    }

    /// Whether no restart is ever refused.
    pub const fn is_unlimited(&self) -> bool {
        self.max_retries.is_none() && self.within.is_none()
    }
}

impl Strategy {
    /// Directives reach the failed child alone.
    pub const fn one_for_one() -> Self {
        Self {
            scope: Scope::OneForOne,
            limit: Limit::UNLIMITED,
            on_limit: OnLimit::Stop,
            count: Count::Child,
            auto_shutdown: AutoShutdown::Never,
            backoff: None,
            log: Log::Default,
        }
    }

    /// Restart and Stop reach all children.
    pub const fn all_for_one() -> Self {
        Self { scope: Scope::AllForOne, ..Self::one_for_one() }
    }

    /// Restart and Stop reach the failed child and those started after it.
    pub const fn rest_for_one() -> Self {
        Self { scope: Scope::RestForOne, ..Self::one_for_one() }
    }

    /// Grants at most `retries` restarts: in each window if [`within`](Self::within) is set, otherwise in total.
    pub const fn max_retries(mut self, retries: u32) -> Self {
        self.limit.max_retries = Some(retries);
        self
    }

    /// Sets the length of the window. Without [`max_retries`](Self::max_retries), it grants one restart per window.
    ///
    /// # Panics
    ///
    /// If `window` is zero.
    #[track_caller]
    pub const fn within(mut self, window: Duration) -> Self {
        self.limit = self.limit.per(window);
        self
    }

    /// Sets how the window moves.
    pub const fn window(mut self, window: Window) -> Self {
        self.limit.window = window;
        self
    }

    /// Sets what happens when a restart is refused.
    pub const fn on_limit(mut self, on_limit: OnLimit) -> Self {
        self.on_limit = on_limit;
        self
    }

    /// Sets whose restarts are counted.
    pub const fn count(mut self, count: Count) -> Self {
        self.count = count;
        self
    }

    /// Sets whether the end of significant children ends their parent.
    pub const fn auto_shutdown(mut self, auto_shutdown: AutoShutdown) -> Self {
        self.auto_shutdown = auto_shutdown;
        self
    }

    /// Delays every plain `Restart`.
    pub const fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = Some(backoff);
        self
    }

    /// Sets at which level decisions are logged.
    pub const fn log(mut self, log: Log) -> Self {
        self.log = log;
        self
    }
}
