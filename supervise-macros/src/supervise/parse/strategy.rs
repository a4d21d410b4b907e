//! Strategies and backoffs: `one_for_one(max_retries = 10, within = "60s")`.

use std::time::Duration;

use proc_macro2::{Group, Ident, Span, TokenTree};
use syn::parse::{Parse, ParseStream};
use syn::{LitFloat, LitInt};

use crate::duration::{positive, spoken};
use crate::errors::Errors;
use crate::grammar::arguments::{ExponentialArguments, LinearArguments, RestartArguments, StrategyArguments};
use crate::grammar::words::{Growth, LogLevel, Part, Scope};
use crate::grammar::{Argument, Arguments, Word};
use crate::settings::{self, Setting, word, written};
use crate::spelling::unknown;
use crate::supervise::model::{Backoff, Log, Reset, Strategy};

/// The names of a strategy's arguments.
pub(super) const WORDS: &[&str] = StrategyArguments::WORDS;

/// The old name of `linear_backoff`.
const RENAMED: &str = "exponential_backoff";

/// Reads `one_for_one` or `one_for_one(..)`.
pub(super) fn strategy(scope: Scope, setting: &Setting, errors: &mut Errors) -> syn::Result<Strategy> {
    if setting.value.is_some() {
        let message =
            format!("a strategy takes its arguments in parentheses: write `{}(max_retries = 10)`", scope.word());
        return Err(setting.error(message));
    }
    let mut arguments = StrategyArguments::default();
    for argument in &settings::parse(setting.arguments.clone().unwrap_or_default(), errors) {
        if !arguments.set(argument, errors) {
            errors.add(stray(scope, argument));
        }
    }
    Ok(Strategy { scope, arguments, text: written(setting.tokens()) })
}

/// The error for a setting that is not an argument of a strategy.
fn stray(scope: Scope, argument: &Setting) -> syn::Error {
    let name = argument.name.to_string();
    if Part::named(&name).is_some() {
        return argument.error(format!(
            "this belongs beside the strategy, not in its parentheses: write `{}, {}`",
            scope.word(),
            written(argument.tokens())
        ));
    }
    if ExponentialArguments::WORDS.contains(&name.as_str()) {
        let message =
            format!("`{name}` is an argument of a backoff: write `backoff(min = \"100ms\", max = \"10s\")`");
        return syn::Error::new(argument.span(), message);
    }
    unknown(StrategyArguments::KIND, &argument.name, StrategyArguments::WORDS)
}

/// Whether `name` is the name of a backoff.
pub(super) fn is_backoff(name: &str) -> bool {
    RestartArguments::WORDS.contains(&name)
}

/// Reads `max_retries = 10`.
pub(crate) fn max_retries(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<u32> {
    const EXPECTED: &str =
        "expected the number of restarts, such as `10`; without `max_retries` there is no limit";
    let number = |input: ParseStream<'_>| {
        let span = input.span();
        if input.peek(syn::Ident) {
            let message =
                "expected the number of restarts, such as `10`: the attribute cannot see the value of a constant";
            return Err(syn::Error::new(span, message));
        }
        input.parse::<LitInt>().map_err(|_| syn::Error::new(span, EXPECTED))
    };
    let number = setting.value(number, example)?;
    if number.base10_digits().starts_with('-') {
        return Err(syn::Error::new(number.span(), EXPECTED));
    }
    number
        .base10_parse()
        .map_err(|_| syn::Error::new(number.span(), format!("at most {} restarts can be granted", u32::MAX)))
}

/// The level that depends on how many failures there were in a row.
const BY_ATTEMPT: &str = "by_attempt";

/// Reads `log = warn` or `log = by_attempt(3)`.
pub(crate) fn log(setting: &Setting, example: &'static str, errors: &mut Errors) -> syn::Result<Log> {
    if let Some(value) = &setting.value
        && let Some(TokenTree::Ident(name)) = value.clone().into_iter().next()
        && name == BY_ATTEMPT
    {
        return setting.value(by_attempt, "log = by_attempt(3)").map(Log::ByAttempt);
    }
    match word(setting, example, errors)? {
        LogLevel::Off => Ok(Log::Off),
        level => Ok(Log::At(level)),
    }
}

/// Reads `by_attempt(3)`.
fn by_attempt(input: ParseStream<'_>) -> syn::Result<u32> {
    let name = Ident::parse(input)?;
    let expected = "expected how many failures in a row are warnings, such as `by_attempt(3)`";
    let number = input.parse::<Group>().ok().and_then(|group| syn::parse2::<LitInt>(group.stream()).ok());
    match number.and_then(|number| number.base10_parse().ok()) {
        Some(warnings) => Ok(warnings),
        None => Err(syn::Error::new(name.span(), expected)),
    }
}

/// Reads `backoff(..)` or `linear_backoff(..)`.
pub(crate) fn backoff(setting: &Setting, _: &'static str, errors: &mut Errors) -> syn::Result<Backoff> {
    match Growth::named(&setting.name.to_string()) {
        Some(Growth::Exponential) => exponential(setting, errors),
        Some(Growth::Linear) | None => linear(setting, errors),
    }
}

fn exponential(setting: &Setting, errors: &mut Errors) -> syn::Result<Backoff> {
    let before = errors.count();
    let arguments = setting.call("min = \"100ms\", max = \"10s\"")?;
    let arguments = ExponentialArguments::read(arguments, errors);
    let failed = errors.count() > before;
    let min = required(setting, &arguments.min, "min = \"100ms\"", failed)?;
    let max = required(setting, &arguments.max, "max = \"10s\"", failed)?;
    if min > max && !failed {
        let message = format!("`min` ({}) is longer than `max` ({})", spoken(min), spoken(max));
        return Err(setting.error(message));
    }
    Ok(Backoff::Exponential { min, max, jitter: arguments.jitter.value, reset: arguments.reset_after.value })
}

fn linear(setting: &Setting, errors: &mut Errors) -> syn::Result<Backoff> {
    let before = errors.count();
    let arguments = setting.call("window = \"10s\", initial = \"100ms\"")?;
    let arguments = LinearArguments::read(arguments, errors);
    let failed = errors.count() > before;
    let window = required(setting, &arguments.window, "window = \"10s\"", failed)?;
    let initial = required(setting, &arguments.initial, "initial = \"100ms\"", failed)?;
    let renamed = (setting.name == RENAMED).then(|| setting.name.clone());
    Ok(Backoff::Linear { window, initial, renamed })
}

/// The value of an argument without which there is no backoff. If another argument is wrong, it may be the missing one, and a
/// stand-in takes its place.
fn required(
    setting: &Setting,
    argument: &Argument<Duration>,
    example: &str,
    failed: bool,
) -> syn::Result<Duration> {
    match argument.value {
        Some(value) => Ok(value),
        None if failed => Ok(Duration::from_secs(1)),
        None => Err(syn::Error::new(setting.span(), format!("`{}` needs `{example}`", setting.name))),
    }
}

/// Reads `jitter = 0.2`.
pub(crate) fn jitter(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<f64> {
    let (value, span) = setting.value(number, example)?;
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(syn::Error::new(span, "the jitter is a share of the delay, between 0.0 and 1.0"))
    }
}

fn number(input: ParseStream<'_>) -> syn::Result<(f64, Span)> {
    let span = input.span();
    if input.peek(LitInt) {
        let number: LitInt = input.parse()?;
        return Ok((number.base10_parse()?, span));
    }
    let number: LitFloat =
        input.parse().map_err(|_| syn::Error::new(span, "expected a number between 0.0 and 1.0"))?;
    Ok((number.base10_parse()?, span))
}

/// Reads `reset_after = "1m"` or `reset_after = manual`.
pub(crate) fn reset_after(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<Reset> {
    let reset = |input: ParseStream<'_>| {
        if !input.peek(syn::Ident) {
            return positive(input).map(Reset::After);
        }
        let word = Ident::parse(input)?;
        if word == "manual" {
            Ok(Reset::Manual)
        } else {
            Err(syn::Error::new(word.span(), "expected a duration, such as `\"1m\"`, or `manual`"))
        }
    };
    setting.value(reset, example)
}
