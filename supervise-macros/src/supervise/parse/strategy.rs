//! Strategies and backoffs: `one_for_one(max_retries = 10, within = "60s")`.

use std::time::Duration;

use proc_macro2::{Group, Ident, Span, TokenTree};
use syn::parse::{Parse, ParseStream};
use syn::{LitFloat, LitInt};

use crate::duration::spoken;
use crate::errors::Errors;
use crate::grammar::arguments::{ExponentialArguments, LinearArguments, RestartArguments, StrategyArguments};
use crate::grammar::words::{Growth, LogLevel, Part, Scope};
use crate::grammar::{Arguments, Word};
use crate::settings::{self, Setting, word, written};
use crate::supervise::model::{self, Backoff, Log, Reset, Strategy};
use crate::syntax;
use crate::value::{Value, is_expression, length, value};

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
    let given = settings::parse(setting.arguments.clone().unwrap_or_default(), errors);
    if let Some(error) = wrong_limit(&given, scope.word()) {
        return Err(error);
    }
    for argument in &given {
        if arguments.set(argument, errors) {
            continue;
        }
        match stray(scope, argument) {
            Some(error) => errors.add(error),
            None => arguments.refuse(argument, errors),
        }
    }
    Ok(Strategy { scope, arguments, text: written(setting.tokens()) })
}

/// The error for a setting that belongs elsewhere.
fn stray(scope: Scope, argument: &Setting) -> Option<syn::Error> {
    let name = argument.name.to_string();
    if Part::named(&name).is_some() {
        return Some(argument.error(format!(
            "this belongs beside the strategy, not in its parentheses: write `{}, {}`",
            scope.word(),
            written(argument.tokens())
        )));
    }
    if ExponentialArguments::WORDS.contains(&name.as_str()) {
        let message =
            format!("`{name}` is a setting of a backoff: write `backoff(min = \"100ms\", max = \"10s\")`");
        return Some(syn::Error::new(argument.span(), message));
    }
    None
}

/// Whether `name` is the name of a backoff.
pub(super) fn is_backoff(name: &str) -> bool {
    RestartArguments::WORDS.contains(&name)
}

const EXPECTED: &str = "expected a number of restarts: write `10`, a constant, or a setting such as `self.settings.retries`; for no limit, ";

/// The error for `name(limit)`, if the limit is not a number.
pub(super) fn wrong_limit(settings: &[Setting], name: &str) -> Option<syn::Error> {
    let [only] = settings else { return None };
    if only.name != "max_retries" {
        return None;
    }
    let error = max_retries(only, "max_retries = 10", &mut Errors::new()).err()?;
    error
        .to_string()
        .starts_with(EXPECTED)
        .then(|| syn::Error::new(error.span(), format!("{EXPECTED}write only `{name}`")))
}

/// Reads `max_retries = 10`, or an expression.
pub(crate) fn max_retries(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<Value<u32>> {
    let number = |input: ParseStream<'_>| {
        let expected =
            |span| syn::Error::new(span, format!("{EXPECTED}remove `max_retries` (and `within`, if you have it)"));
        let span = input.span();
        let number = input.parse::<LitInt>().map_err(|_| expected(span))?;
        if number.base10_digits().starts_with('-') {
            return Err(expected(number.span()));
        }
        number
            .base10_parse()
            .map_err(|_| syn::Error::new(number.span(), format!("at most {} restarts can be granted", u32::MAX)))
    };
    value(setting, example, number)
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
    let (first, longest) = (Duration::from_millis(100), Duration::from_secs(30));
    let shortest = arguments.max.value.as_ref().and_then(Value::literal).map_or(first, |max| first.min(*max));
    let longest = match arguments.min.value.as_ref().and_then(Value::literal) {
        Some(min) if *min > longest => min.saturating_mul(2),
        _ => longest,
    };
    let longest = ("`max` (its longest delay)", format!("max = \"{}\"", spoken(longest)));
    let shortest = ("`min` (its first delay)", format!("min = \"{}\"", spoken(shortest)));
    let (min, max) = required(setting, (arguments.min.value, shortest), (arguments.max.value, longest), failed)?;
    if let (Some(min), Some(max), false) = (min.literal(), max.literal(), failed)
        && min > max
    {
        let message = format!("`min` ({}) is longer than `max` ({}): swap them", spoken(*min), spoken(*max));
        return Err(setting.error(message));
    }
    let given = arguments.give_up_after.given().cloned();
    let (jitter, reset, give_up_after) =
        (arguments.jitter.value, arguments.reset_after.value, arguments.give_up_after.value);
    if let Some(limit) = give_up_after.as_ref().and_then(Value::literal).filter(|_| !failed) {
        let quiet = match &reset {
            Some(Reset::After(quiet)) => quiet.literal().map(|quiet| ("reset_after", quiet)),
            Some(Reset::Manual) | None => None,
        };
        let shorter = |(_, other): &(&str, &Duration)| limit <= *other;
        if let Some((name, other)) = max.literal().map(|max| ("max", max)).into_iter().chain(quiet).find(shorter) {
            let reason = match name {
                "max" => "a single delay could use up all of this time".to_owned(),
                _ => format!(
                    "two failures less than {} apart belong to one series, so two failures could use up all of this time",
                    spoken(*other)
                ),
            };
            let message = format!(
                "`give_up_after` ({}) must be longer than `{name}` ({}), because {reason}: write a longer time, such as `give_up_after = \"{}\"`",
                spoken(*limit),
                spoken(*other),
                spoken(other.saturating_mul(2))
            );
            return Err(match &given {
                Some(given) => given.error(message),
                None => setting.error(message),
            });
        }
    }
    let (reset, give_up_after) = (reset.map(Box::new), give_up_after.map(Box::new));
    let growth = model::Growth::Exponential { min, max, jitter, reset, give_up_after };
    Ok(Backoff { growth, text: written(setting.tokens()) })
}

fn linear(setting: &Setting, errors: &mut Errors) -> syn::Result<Backoff> {
    let before = errors.count();
    let arguments = setting.call("window = \"10s\", initial = \"100ms\"")?;
    let (known, stray): (Vec<Setting>, Vec<Setting>) =
        settings::parse(arguments.clone(), errors).into_iter().partition(|argument| {
            let name = argument.name.to_string();
            LinearArguments::WORDS.contains(&name.as_str())
                || !ExponentialArguments::WORDS.contains(&name.as_str())
        });
    for argument in &stray {
        let message = format!(
            "`{0}` has no `{1}`: remove it, or write `backoff(min = \"1s\", max = \"1m\", {2})`, whose delays double",
            setting.name,
            argument.name,
            written(argument.tokens())
        );
        errors.add(argument.error(message));
    }
    let mut arguments = LinearArguments::default();
    for argument in &known {
        if !arguments.set(argument, errors) {
            arguments.refuse(argument, errors);
        }
    }
    let failed = errors.count() > before;
    let window = (
        "`window` (after this long without a failure, the delay starts again at `initial`)",
        "window = \"10s\"".to_owned(),
    );
    let first = ("`initial` (its first delay)", "initial = \"100ms\"".to_owned());
    let (window, initial) =
        required(setting, (arguments.window.value, window), (arguments.initial.value, first), failed)?;
    let renamed = (setting.name == RENAMED).then(|| setting.name.clone());
    Ok(Backoff { growth: model::Growth::Linear { window, initial, renamed }, text: written(setting.tokens()) })
}

/// An argument of a backoff. The two texts are for the error if it is missing: what it is, and how it could be written.
type Required = (Option<Value<Duration>>, (&'static str, String));

/// The values of the two required arguments of a backoff. If another argument has an error (`failed`), it may be the missing one with a
/// misspelled name. Then a stand-in replaces the missing one, and no second error is reported.
fn required(
    setting: &Setting,
    (first, (first_is, first_text)): Required,
    (second, (second_is, second_text)): Required,
    failed: bool,
) -> syn::Result<(Value<Duration>, Value<Duration>)> {
    let (what, before, after) = match (first, second) {
        (Some(first), Some(second)) => return Ok((first, second)),
        (first, second) if failed => {
            let stand_in = || Value::Literal(Duration::from_secs(1));
            return Ok((first.unwrap_or_else(stand_in), second.unwrap_or_else(stand_in)));
        }
        (None, None) => {
            (format!("needs {first_is} and {second_is}"), Some(format!("{first_text}, {second_text}")), None)
        }
        (None, Some(_)) => (format!("also needs {first_is}"), Some(first_text), None),
        (Some(_), None) => (format!("also needs {second_is}"), None, Some(second_text)),
    };
    let given = setting.arguments.as_ref().map_or_else(String::new, |given| written(given));
    let given = Some(given.trim_end_matches([',', ' ']).to_owned()).filter(|given| !given.is_empty());
    let arguments: Vec<String> = [before, given, after].into_iter().flatten().collect();
    let name = &setting.name;
    let message = format!("`{name}` {what}: write `{name}({})`", arguments.join(", "));
    Err(syn::Error::new(setting.span(), message))
}

/// Reads `jitter = 0.2`.
pub(crate) fn jitter(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<Value<f64>> {
    let share = |input: ParseStream<'_>| {
        let (value, span) = number(input)?;
        if (0.0..=1.0).contains(&value) {
            Ok(value)
        } else {
            Err(syn::Error::new(
                span,
                "the jitter is a share of the delay, between 0.0 and 1.0: write a share such as `jitter = 0.2`",
            ))
        }
    };
    value(setting, example, share)
}

fn number(input: ParseStream<'_>) -> syn::Result<(f64, Span)> {
    let span = input.span();
    if input.peek(LitInt) {
        let number: LitInt = input.parse()?;
        return Ok((number.base10_parse()?, span));
    }
    let number: LitFloat = input
        .parse()
        .map_err(|_| syn::Error::new(span, "expected a number between 0.0 and 1.0: write `jitter = 0.2`"))?;
    Ok((number.base10_parse()?, span))
}

/// Reads `reset_after = "1m"` or `reset_after = manual`.
pub(crate) fn reset_after(setting: &Setting, example: &'static str, errors: &mut Errors) -> syn::Result<Reset> {
    match &setting.value {
        Some(tokens) if !is_expression(tokens) => {
            if let Ok(word) = syntax::read(tokens.clone(), Ident::parse) {
                return manual(&word, example);
            }
        }
        _ => {}
    }
    length(setting, example, errors).map(Reset::After)
}

/// The word `manual`.
fn manual(word: &Ident, example: &str) -> syn::Result<Reset> {
    if word == "manual" {
        return Ok(Reset::Manual);
    }
    let message = format!("write `reset_after = manual`, or a duration such as `{example}`");
    Err(syn::Error::new(word.span(), message))
}
