//! What generated tables call whose values come from constants or from the supervisor's settings.

use crate::actor::SupervisionTable;
use crate::actor::configuration::assert_no_settings;
use crate::failure::Failure;
use crate::supervision::Strategy;

pub use crate::actor::configuration::{exponential, linear, positive, share};

/// The strategy of a shared table. Does not compile for a table that only its own actor can use.
pub const fn shared_strategy<T: SupervisionTable>() -> Strategy {
    assert_no_settings(T::CONFIGURED);
    T::STRATEGY
}

/// The answer of a table that takes values from an instance, where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this table takes values from the supervisor's instance: call `decide_by` with what `configure` returns")]
pub struct NeedsConfiguration;

/// See [`NeedsConfiguration`].
pub fn needs_configuration() -> Failure {
    Failure::new(NeedsConfiguration)
}
