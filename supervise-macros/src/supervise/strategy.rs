//! The strategy of a table and the backoffs in it: `one_for_one(max_retries = 10, within = "60s")`.

use std::time::Duration;

use heck::ToUpperCamelCase;
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::parse::ParseStream;
use syn::{LitFloat, LitInt, Path};

use crate::duration::{self, positive, spoken};
use crate::errors::{Errors, unknown};
use crate::settings::{self, Setting, named, written};

pub(crate) const SCOPES: &[&str] = &["one_for_one", "all_for_one", "rest_for_one"];
pub(crate) const BACKOFFS: &[&str] = &["backoff", "linear_backoff"];
/// The old name of `linear_backoff`, still accepted with a warning.
const OLD_LINEAR: &str = "exponential_backoff";
pub(crate) const ARGUMENTS: &[&str] =
    &["max_retries", "within", "window", "on_limit", "count", "auto_shutdown", "backoff", "linear_backoff", "log"];

/// A strategy in the words of core, ready to be printed.
#[derive(Default)]
pub(crate) struct Strategy {
    scope: Option<Ident>,
    max_retries: Option<u32>,
    within: Option<Duration>,
    window: Option<Word>,
    on_limit: Option<Word>,
    count: Option<Word>,
    auto_shutdown: Option<Word>,
    pub(crate) backoff: Option<BackoffModel>,
    log: Option<Word>,
    pub(crate) backoff_span: Option<Span>,
}

/// One of a few allowed words. The variant of this name in core is what it means.
type Word = &'static str;

const WINDOWS: &[Word] = &["tumbling", "sliding"];
const ON_LIMIT: &[Word] = &["Stop", "Escalate"];
const COUNTS: &[Word] = &["child", "supervisor"];
const SHUTDOWNS: &[Word] = &["any_significant", "all_significant"];
const LEVELS: &[Word] = &["off", "error", "warn", "info", "debug", "trace"];

/// How a delay grows.
#[derive(Clone)]
pub(crate) enum BackoffModel {
    Exponential {
        min: Duration,
        max: Duration,
        jitter: Option<f64>,
        reset: Option<Reset>,
    },
    Linear {
        window: Duration,
        initial: Duration,
        /// The word `exponential_backoff`, where the user wrote it.
        old_name: Option<Ident>,
    },
}

#[derive(Clone, Copy)]
pub(crate) enum Reset {
    After(Duration),
    Manual,
}

/// Reads `one_for_one` or `one_for_one(..)`.
pub(crate) fn read(setting: &Setting, errors: &mut Errors) -> syn::Result<Strategy> {
    let mut strategy = Strategy { scope: Some(setting.name.clone()), ..Strategy::default() };
    if setting.value.is_some() {
        let message =
            format!("a strategy takes its arguments in parentheses: `{}(max_retries = 10)`", setting.name);
        return Err(setting.error(message));
    }
    let Some(arguments) = setting.arguments.clone() else {
        return Ok(strategy);
    };
    let given = settings::parse_once(arguments, errors);
    for argument in &given {
        strategy.argument(argument, errors);
    }
    Strategy::check(&given, errors);
    Ok(strategy)
}

impl Strategy {
    fn argument(&mut self, argument: &Setting, errors: &mut Errors) {
        match argument.name.to_string().as_str() {
            "max_retries" => self.max_retries = errors.keep(retries(argument)),
            "within" => self.within = errors.keep(argument.value_by(positive, "\"60s\"")),
            "window" => self.window = errors.keep(one_of(argument, "window", WINDOWS)),
            "on_limit" => self.on_limit = errors.keep(one_of(argument, "answer", ON_LIMIT)),
            "count" => self.count = errors.keep(one_of(argument, "count", COUNTS)),
            "auto_shutdown" => {
                self.auto_shutdown = errors.keep(one_of(argument, "shutdown", SHUTDOWNS));
            }
            "log" => self.log = errors.keep(one_of(argument, "log level", LEVELS)),
            "backoff" | "linear_backoff" | OLD_LINEAR => {
                if self.backoff.is_some() {
                    errors
                        .at(argument.tokens(), "a strategy has one backoff, and it is given already: remove one");
                }
                let model = backoff(argument, errors);
                self.backoff = errors.keep(model);
                self.backoff_span = Some(argument.span());
            }
            "min" | "max" | "jitter" | "reset_after" => errors.at(
                &argument.name,
                format!("`{}` belongs to a backoff: `backoff(min = \"100ms\", max = \"10s\")`", argument.name),
            ),
            "on" => {
                let message = format!(
                    "a rule stands beside the strategy, not in its parentheses: `{}, {}`",
                    self.scope_name(),
                    written(argument.tokens())
                );
                errors.at(argument.tokens(), message);
            }
            _ => errors.add(unknown("argument of a strategy", &argument.name, ARGUMENTS)),
        }
    }

    fn check(given: &[Setting], errors: &mut Errors) {
        if let (Some(within), None) = (named(given, "within"), named(given, "max_retries")) {
            let message = "`within` limits nothing by itself: say how many restarts it allows, `max_retries = 10`";
            errors.at(within.tokens(), message);
        }
        if let (Some(window), None) = (named(given, "window"), named(given, "within")) {
            errors.at(window.tokens(), "there is no window to move: add `within = \"60s\"`");
        }
        for name in &["on_limit", "count"] {
            if let (Some(setting), None) = (named(given, name), named(given, "max_retries")) {
                let message = format!("there is no limit that `{name}` could speak of: add `max_retries = 10`");
                errors.at(setting.tokens(), message);
            }
        }
    }

    /// Whether a refused restart goes to the parent.
    pub(crate) fn escalates_at_limit(&self) -> bool {
        self.on_limit == Some("Escalate")
    }

    /// The scope as the user may have written it.
    pub(crate) fn scope(&self) -> String {
        self.scope_name().to_string()
    }

    /// Whether significant children end their parent.
    pub(crate) fn shuts_down(&self) -> bool {
        self.auto_shutdown.is_some()
    }

    /// The strategy as an expression.
    pub(crate) fn expression(&self, krate: &Path) -> TokenStream {
        let scope = self.scope_name();
        let variant = |ty: &str, word: Word| {
            let ty = Ident::new(ty, Span::mixed_site());
            let variant = Ident::new(&word.to_upper_camel_case(), Span::mixed_site());
            quote!(#krate::#ty::#variant)
        };
        let mut calls = TokenStream::new();
        if let Some(retries) = self.max_retries {
            calls.extend(quote!(.max_retries(#retries)));
        }
        if let Some(within) = self.within {
            let within = duration::expression(within);
            calls.extend(quote!(.within(#within)));
        }
        let words = [
            ("window", "Window", self.window),
            ("on_limit", "OnLimit", self.on_limit),
            ("count", "Count", self.count),
            ("auto_shutdown", "AutoShutdown", self.auto_shutdown),
        ];
        for (setter, ty, word) in &words {
            if let Some(word) = *word {
                let value = variant(ty, word);
                let setter = Ident::new(setter, Span::mixed_site());
                calls.extend(quote!(.#setter(#value)));
            }
        }
        if let Some(backoff) = &self.backoff {
            let backoff = backoff.expression(krate);
            calls.extend(quote!(.backoff(#backoff)));
        }
        if let Some(level) = self.log {
            let log = if level == "off" {
                quote!(#krate::Log::Off)
            } else {
                let level = variant("LogLevel", level);
                quote!(#krate::Log::At(#level))
            };
            calls.extend(quote!(.log(#log)));
        }
        quote!(#krate::Strategy::#scope()#calls)
    }

    pub(crate) fn scope_name(&self) -> Ident {
        match &self.scope {
            Some(scope) => Ident::new(&scope.to_string(), Span::mixed_site()),
            None => Ident::new("one_for_one", Span::mixed_site()),
        }
    }

    /// The strategy as a sentence of the documentation.
    pub(crate) fn sentence(&self) -> String {
        let scope = match self.scope_name().to_string().as_str() {
            "all_for_one" => "A failure concerns all children.",
            "rest_for_one" => "A failure concerns the failed child and those started after it.",
            _ => "A failure concerns the failed child alone.",
        };
        let mut text = scope.to_owned();
        if let Some(retries) = self.max_retries {
            let within = match self.within {
                Some(within) => format!(" within {}", spoken(within)),
                None => String::new(),
            };
            let whose = match self.count {
                Some("supervisor") => "of all children together",
                _ => "of each child",
            };
            let beyond = if self.escalates_at_limit() { "the failure escalates" } else { "the child stops" };
            let limit = format!(" At most {retries} restarts {whose}{within} are granted; then {beyond}.");
            text.push_str(&limit);
        }
        if let Some(backoff) = &self.backoff {
            let delay = format!(" Restarts wait {}.", backoff.spoken());
            text.push_str(&delay);
        }
        text
    }
}

fn retries(setting: &Setting) -> syn::Result<u32> {
    const EXPECTED: &str = "expected how many restarts are granted, such as `10`; leave it out for any number";
    let number = |input: ParseStream<'_>| {
        let span = input.span();
        input.parse::<LitInt>().map_err(|_| syn::Error::new(span, EXPECTED))
    };
    let number = setting.value_by(number, "10")?;
    if number.base10_digits().starts_with('-') {
        return Err(syn::Error::new(number.span(), EXPECTED));
    }
    number.base10_parse().map_err(|_| syn::Error::new(number.span(), "more restarts than can be counted"))
}

fn one_of(setting: &Setting, what: &str, words: &[Word]) -> syn::Result<Word> {
    let mut example = String::new();
    for word in words {
        example.push_str(if example.is_empty() { "" } else { " | " });
        example.push_str(word);
    }
    let given: Ident = setting.value(&example)?;
    for word in words {
        if given == word {
            return Ok(word);
        }
    }
    Err(unknown(what, &given, words))
}

/// Reads a number of either kind.
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

/// Whether this word names a backoff.
pub(crate) fn is_backoff(name: &Ident) -> bool {
    BACKOFFS.contains(&name.to_string().as_str()) || name == OLD_LINEAR
}

/// Whether this word names an argument of a strategy.
pub(crate) fn is_argument(name: &Ident) -> bool {
    ARGUMENTS.contains(&name.to_string().as_str()) || is_backoff(name)
}

/// Reads `backoff(..)` or `linear_backoff(..)`.
pub(crate) fn backoff(setting: &Setting, errors: &mut Errors) -> syn::Result<BackoffModel> {
    if setting.name == "backoff" { exponential(setting, errors) } else { linear(setting, errors) }
}

fn exponential(setting: &Setting, errors: &mut Errors) -> syn::Result<BackoffModel> {
    let arguments = setting.call("min = \"100ms\", max = \"10s\"")?;
    let (mut min, mut max, mut jitter, mut reset) = (None, None, None, None);
    let before = errors.count();
    for argument in &settings::parse_once(arguments, errors) {
        match argument.name.to_string().as_str() {
            "min" => min = errors.keep(argument.value_by(positive, "\"100ms\"")),
            "max" => max = errors.keep(argument.value_by(positive, "\"10s\"")),
            "jitter" => jitter = errors.keep(share(argument)),
            "reset_after" => reset = errors.keep(argument.value_by(reset_after, "\"1m\"")),
            _ => {
                let known = ["min", "max", "jitter", "reset_after"];
                errors.add(unknown("argument of a backoff", &argument.name, &known));
            }
        }
    }
    let (Some(min), Some(max)) = (min, max) else {
        let missing = if min.is_none() { "min = \"100ms\"" } else { "max = \"10s\"" };
        return missing_argument(setting, missing, errors.count() > before);
    };
    if min > max {
        let message = format!("the shortest delay ({}) is longer than the longest ({})", spoken(min), spoken(max));
        return Err(setting.error(message));
    }
    Ok(BackoffModel::Exponential { min, max, jitter, reset })
}

fn linear(setting: &Setting, errors: &mut Errors) -> syn::Result<BackoffModel> {
    let arguments = setting.call("window = \"10s\", initial = \"100ms\"")?;
    let (mut window, mut initial) = (None, None);
    let before = errors.count();
    for argument in &settings::parse_once(arguments, errors) {
        match argument.name.to_string().as_str() {
            "window" => window = errors.keep(argument.value_by(positive, "\"10s\"")),
            "initial" => initial = errors.keep(argument.value_by(positive, "\"100ms\"")),
            _ => {
                let known = ["window", "initial"];
                errors.add(unknown("argument of `linear_backoff`", &argument.name, &known));
            }
        }
    }
    let (Some(window), Some(initial)) = (window, initial) else {
        let missing = if window.is_none() { "window = \"10s\"" } else { "initial = \"100ms\"" };
        return missing_argument(setting, missing, errors.count() > before);
    };
    let old_name = (setting.name == OLD_LINEAR).then(|| setting.name.clone());
    Ok(BackoffModel::Linear { window, initial, old_name })
}

/// Says what is missing, unless something else is wrong: then it may be what was meant.
fn missing_argument(setting: &Setting, missing: &str, failed: bool) -> syn::Result<BackoffModel> {
    if failed {
        let stand_in = Duration::from_secs(1);
        return Ok(BackoffModel::Linear { window: stand_in, initial: stand_in, old_name: None });
    }
    Err(syn::Error::new(setting.span(), format!("`{}` needs `{missing}`", setting.name)))
}

fn share(argument: &Setting) -> syn::Result<f64> {
    let (value, span) = argument.value_by(number, "0.2")?;
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(syn::Error::new(span, "the jitter is a share of the delay, between 0.0 and 1.0"))
    }
}

fn reset_after(input: ParseStream<'_>) -> syn::Result<Reset> {
    if input.peek(syn::Ident) {
        let word: Ident = input.parse()?;
        return if word == "manual" {
            Ok(Reset::Manual)
        } else {
            Err(syn::Error::new(word.span(), "expected a duration, such as `\"1m\"`, or `manual`"))
        };
    }
    positive(input).map(Reset::After)
}

impl BackoffModel {
    /// The word that names it, where that is an old one.
    pub(crate) fn old_name(&self) -> Option<&Ident> {
        match self {
            Self::Exponential { .. } => None,
            Self::Linear { old_name, .. } => old_name.as_ref(),
        }
    }

    pub(crate) fn expression(&self, krate: &Path) -> TokenStream {
        match self {
            Self::Exponential { min, max, jitter, reset } => {
                let (min, max) = (duration::expression(*min), duration::expression(*max));
                let mut backoff = quote!(#krate::Backoff::exponential(#min, #max));
                if let Some(jitter) = jitter {
                    backoff.extend(quote!(.jitter(#jitter)));
                }
                match reset {
                    Some(Reset::After(quiet)) => {
                        let quiet = duration::expression(*quiet);
                        backoff.extend(quote!(.reset_after(#quiet)));
                    }
                    Some(Reset::Manual) => backoff.extend(quote!(.manual_reset())),
                    None => {}
                }
                backoff
            }
            Self::Linear { window, initial, .. } => {
                let (window, initial) = (duration::expression(*window), duration::expression(*initial));
                quote!(#krate::Backoff::linear(#window, #initial))
            }
        }
    }

    /// The delay for a reader.
    pub(crate) fn spoken(&self) -> String {
        match self {
            Self::Exponential { min, max, jitter, .. } => {
                let jitter = match jitter {
                    Some(jitter) => format!(", jitter {jitter}"),
                    None => String::new(),
                };
                format!("{} doubling to {}{jitter}", spoken(*min), spoken(*max))
            }
            Self::Linear { window, initial, .. } => {
                format!("{} more each time, counted over {}", spoken(*initial), spoken(*window))
            }
        }
    }
}
