//! Tables whose values come from the supervisor's own settings: limits, windows and backoffs that are known when an instance starts.
//!
//! Rule 7.12.

use std::fmt::{self, Display};
use std::time::Duration;

use crate::supervision::{Backoff, Directive, Strategy};

/// The values of a table for one instance of a supervisor, as [`Supervisor::configure`](crate::Supervisor::configure) resolves
/// them.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration {
    strategy: Strategy,
    answers: Box<[Directive]>,
}

impl Configuration {
    /// A strategy, and the directives that depend on the instance.
    pub fn new(strategy: Strategy, answers: impl IntoIterator<Item = Directive>) -> Self {
        Self { strategy, answers: answers.into_iter().collect() }
    }

    /// The strategy, in place of [`Supervisor::STRATEGY`](crate::Supervisor::STRATEGY). Its `auto_shutdown` stays that of the type.
    pub fn strategy(&self) -> &Strategy {
        &self.strategy
    }

    /// The directive of this number, counted from 0 in the order given to [`new`](Self::new).
    ///
    /// # Panics
    /// If `number` is not the number of one of the directives.
    pub fn answer(&self, number: usize) -> Directive {
        self.answers[number]
    }
}

/// A value in a supervisor's table, which was computed when the supervisor started, is not allowed there. The supervisor cannot start
/// with it (rule [7.12](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-7.12)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidSettings {
    setting: &'static str,
    value: String,
    reason: &'static str,
}

impl InvalidSettings {
    /// The setting as the attribute writes it, what its value is, and what it must be.
    pub fn new(setting: &'static str, value: impl Display, reason: &'static str) -> Self {
        Self { setting, value: value.to_string(), reason }
    }

    /// The setting, as the attribute writes it.
    pub fn setting(&self) -> &'static str {
        self.setting
    }
}

impl Display for InvalidSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { setting, value, reason } = self;
        write!(f, "`{setting}` is {value}, but {reason}")
    }
}

impl std::error::Error for InvalidSettings {}

/// A duration that must not be zero.
///
/// # Errors
///
/// If it is zero.
pub fn positive(setting: &'static str, value: Duration) -> Result<Duration, InvalidSettings> {
    if value.is_zero() {
        return Err(InvalidSettings::new(setting, "0 s", "a duration here must be longer than zero"));
    }
    Ok(value)
}

/// A share between 0.0 and 1.0.
///
/// # Errors
///
/// If it is outside this range.
pub fn share(setting: &'static str, value: f64) -> Result<f64, InvalidSettings> {
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    Err(InvalidSettings::new(setting, value, "the jitter is a share of the delay, between 0.0 and 1.0"))
}

/// A backoff that doubles.
///
/// # Errors
///
/// If `min` is zero or longer than `max`.
pub fn exponential(setting: &'static str, min: Duration, max: Duration) -> Result<Backoff, InvalidSettings> {
    if min.is_zero() || min > max {
        let value = format_args!("from {min:?} to {max:?}").to_string();
        let reason = "its `min` must be longer than zero and at most as long as its `max`";
        return Err(InvalidSettings::new(setting, value, reason));
    }
    Ok(Backoff::exponential(min, max))
}

/// A backoff that gives a child up.
///
/// # Errors
///
/// If `limit` is not longer than its longest delay and its quiet time.
pub fn give_up_after(
    setting: &'static str,
    backoff: Backoff,
    limit: Duration,
) -> Result<Backoff, InvalidSettings> {
    if backoff.may_give_up_after(limit) {
        return Ok(backoff.give_up_after(limit));
    }
    let value = format_args!("one that gives up after {limit:?}").to_string();
    let reason = "its `give_up_after` must be longer than its `max` and its `reset_after`";
    Err(InvalidSettings::new(setting, value, reason))
}

/// A backoff that grows by the same step.
///
/// # Errors
///
/// If either is zero.
pub fn linear(setting: &'static str, window: Duration, initial: Duration) -> Result<Backoff, InvalidSettings> {
    Ok(Backoff::linear(positive(setting, window)?, positive(setting, initial)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZERO: Duration = Duration::ZERO;
    const LONG: Duration = Duration::MAX;

    #[test]
    fn what_is_not_allowed_is_an_error_that_names_setting_and_value() {
        let of = |result: Result<Backoff, InvalidSettings>| result.unwrap_err().to_string();
        assert_eq!(
            positive("within = self.window", ZERO).unwrap_err().to_string(),
            "`within = self.window` is 0 s, but a duration here must be longer than zero"
        );
        for value in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert_eq!(share("jitter = self.jitter", value).unwrap_err().setting(), "jitter = self.jitter");
        }
        let second = Duration::from_secs(1);
        for (min, max) in [(ZERO, second), (2 * second, second), (LONG, second), (ZERO, ZERO)] {
            assert!(of(exponential("backoff(..)", min, max)).contains("at most as long as its `max`"));
        }
        let delays = Backoff::exponential(second, second).reset_after(2 * second);
        for limit in [ZERO, second, 2 * second] {
            assert!(of(give_up_after("backoff(..)", delays, limit)).contains("must be longer than its `max`"));
        }
        assert_eq!(give_up_after("x", delays, 3 * second), Ok(delays.give_up_after(3 * second)));
        assert!(of(linear("linear_backoff(..)", ZERO, second)).contains("longer than zero"));
        assert!(of(linear("linear_backoff(..)", second, ZERO)).contains("longer than zero"));
    }

    #[test]
    fn the_ends_of_what_is_allowed_are_allowed() {
        assert_eq!(positive("x", Duration::from_nanos(1)), Ok(Duration::from_nanos(1)));
        assert_eq!((share("x", 0.0), share("x", 1.0)), (Ok(0.0), Ok(1.0)));
        assert_eq!(exponential("x", LONG, LONG), Ok(Backoff::exponential(LONG, LONG)));
        assert_eq!(linear("x", LONG, LONG), Ok(Backoff::linear(LONG, LONG)));
    }
}
