//! Functions for generated tables whose values come from constants or from the supervisor's settings.

use std::time::Duration;

use crate::failure::Failure;

pub use crate::actor::configuration::{exponential, give_up_after, linear, positive, share};

/// A duration that must not be zero.
#[track_caller]
pub const fn constant_length(value: Duration) -> Duration {
    assert!(
        !value.is_zero(),
        "this duration must be longer than zero: give the constant a longer one, such as `Duration::from_secs(60)`"
    );
    value
}

/// A share between 0.0 and 1.0.
#[track_caller]
pub const fn constant_share(value: f64) -> f64 {
    assert!(value >= 0.0 && value <= 1.0, "the jitter is a share of the delay, between 0.0 and 1.0");
    value
}

/// The error if a table takes its values from the instance, and there is no instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this table takes values from the supervisor's instance: call `rule_by` with what `configure` returns")]
pub struct NeedsConfiguration;

/// See [`NeedsConfiguration`].
pub fn needs_configuration() -> Failure {
    Failure::new(NeedsConfiguration)
}
