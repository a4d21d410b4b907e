//! The settings of a `#[child]` field: data only.

use std::time::Duration;

/// When a declared child comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RestartType {
    /// After a failure, if the table says so. A normal end is final.
    #[default]
    Transient,
    /// After a failure, if the table says so, and after a normal end. In the second case it comes back as a new
    /// incarnation, which counts against the limit like a restart. A requested stop is final.
    Permanent,
    /// Never. A `Restart` by the table, or because of a sibling's failure, stops it.
    Temporary,
}

/// One declared child, apart from how it is built.
///
/// ```
/// # extern crate supervise_core as supervise;
/// use std::time::Duration;
/// use supervise::{ChildSpec, RestartType};
///
/// const READER: ChildSpec =
///     ChildSpec::new("reader").restart(RestartType::Permanent).stop_timeout(Duration::from_secs(2));
/// assert_eq!(READER.name, "reader");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ChildSpec {
    /// Its name. No other child of the same parent can have it, even while this child is down.
    pub name: &'static str,
    /// When it comes back.
    pub restart: RestartType,
    /// How long its handlers and hooks may continue after a stop request. `None`: the time that its type declares.
    pub stop_timeout: Option<Duration>,
    /// Whether its end may stop its parent, depending on the parent's `auto_shutdown`.
    pub significant: bool,
}

impl ChildSpec {
    /// Makes the spec of a transient child that is not significant.
    pub const fn new(name: &'static str) -> Self {
        Self { name, restart: RestartType::Transient, stop_timeout: None, significant: false }
    }

    /// Sets when it comes back.
    pub const fn restart(mut self, restart: RestartType) -> Self {
        self.restart = restart;
        self
    }

    /// Sets how long its handlers and hooks may continue after a stop request.
    pub const fn stop_timeout(mut self, stop_timeout: Duration) -> Self {
        self.stop_timeout = Some(stop_timeout);
        self
    }

    /// Makes its end stop its parent, depending on the parent's `auto_shutdown`.
    pub const fn significant(mut self) -> Self {
        self.significant = true;
        self
    }
}
