//! The types of settings. A table passes an expression of the user through the function that is named after its setting, so that rustc
//! quotes the line of the function, with its comment, if the expression has another type.
//!
//! They are functions, and not impls of a trait with a message of its own, because tables are constants, and because a `.into()` in the
//! expression takes its type from here.

use std::time::Duration;

/// The setting `max_retries`.
pub const fn max_retries(value: u32) -> u32 { // write `10`, or declare it as `const RETRIES: u32 = 10`
    value
}

/// The setting `within`.
pub const fn within(value: Duration) -> Duration { // write `"60s"`, or declare `const TIME: Duration = Duration::from_secs(60)`
    value
}

/// The setting `window`.
pub const fn window(value: Duration) -> Duration { // write `"60s"`, or declare `const TIME: Duration = Duration::from_secs(60)`
    value
}

/// The setting `min`.
pub const fn min(value: Duration) -> Duration { // write `"60s"`, or declare `const TIME: Duration = Duration::from_secs(60)`
    value
}

/// The setting `max`.
pub const fn max(value: Duration) -> Duration { // write `"60s"`, or declare `const TIME: Duration = Duration::from_secs(60)`
    value
}

/// The setting `initial`.
pub const fn initial(value: Duration) -> Duration { // write `"60s"`, or declare `const TIME: Duration = Duration::from_secs(60)`
    value
}

/// The setting `reset_after`.
pub const fn reset_after(value: Duration) -> Duration { // write `"60s"`, or declare `const TIME: Duration = Duration::from_secs(60)`
    value
}

/// The setting `give_up_after`.
pub const fn give_up_after(value: Duration) -> Duration { // write `"60s"`, or declare `const TIME: Duration = Duration::from_secs(60)`
    value
}

/// The setting `idle`.
pub const fn idle(value: Duration) -> Duration { // write `"60s"`, or declare `const TIME: Duration = Duration::from_secs(60)`
    value
}

/// The setting `jitter`.
pub const fn jitter(value: f64) -> f64 { // give the field or the constant the type `f64`, or convert it here
    value
}

/// The setting `limit`.
pub const fn limit(value: usize) -> usize { // give the field or the constant the type `usize`, or convert it here
    value
}
