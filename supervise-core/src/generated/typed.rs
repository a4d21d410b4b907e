//! The types of settings. A table passes an expression of the user through the function that is named after its setting, so that rustc
//! quotes the line of the parameter, with its comment, if the expression has another type.
//!
//! They are functions, and not impls of a trait with a message of its own, because tables are constants, and because a `.into()` in the
//! expression takes its type from here.

use std::time::Duration;

/// The setting `max_retries`.
pub const fn max_retries(
    value: u32, // `max_retries` takes a `u32`: give the field this type, or convert it here, such as `self.retries as u32`
) -> u32 {
    value
}

/// The setting `within`.
pub const fn within(
    value: Duration, // `within` takes a `std::time::Duration`: give the field this type, or convert it here, such as `Duration::from_secs(self.seconds)`
) -> Duration {
    value
}

/// The setting `window`.
pub const fn window(
    value: Duration, // `window` takes a `std::time::Duration`: give the field this type, or convert it here, such as `Duration::from_secs(self.seconds)`
) -> Duration {
    value
}

/// The setting `min`.
pub const fn min(
    value: Duration, // `min` takes a `std::time::Duration`: give the field this type, or convert it here, such as `Duration::from_secs(self.seconds)`
) -> Duration {
    value
}

/// The setting `max`.
pub const fn max(
    value: Duration, // `max` takes a `std::time::Duration`: give the field this type, or convert it here, such as `Duration::from_secs(self.seconds)`
) -> Duration {
    value
}

/// The setting `initial`.
pub const fn initial(
    value: Duration, // `initial` takes a `std::time::Duration`: give the field this type, or convert it here, such as `Duration::from_secs(self.seconds)`
) -> Duration {
    value
}

/// The setting `reset_after`.
pub const fn reset_after(
    value: Duration, // `reset_after` takes a `std::time::Duration`: give the field this type, or convert it here, such as `Duration::from_secs(self.seconds)`
) -> Duration {
    value
}

/// The setting `give_up_after`.
pub const fn give_up_after(
    value: Duration, // `give_up_after` takes a `std::time::Duration`: give the field this type, or convert it here, such as `Duration::from_secs(self.seconds)`
) -> Duration {
    value
}

/// The setting `idle`.
pub const fn idle(
    value: Duration, // `idle` takes a `std::time::Duration`: give the field this type, or convert it here, such as `Duration::from_secs(self.seconds)`
) -> Duration {
    value
}

/// The setting `jitter`.
pub const fn jitter(
    value: f64, // `jitter` takes an `f64` between 0.0 and 1.0: give the field this type, or convert it here, such as `f64::from(self.jitter)`
) -> f64 {
    value
}

/// The setting `limit`.
pub const fn limit(
    value: usize, // `limit` takes a `usize`: give the field this type, or convert it here, such as `self.children as usize`
) -> usize {
    value
}
