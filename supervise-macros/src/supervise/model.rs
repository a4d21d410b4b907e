//! A supervisor's table: a strategy, and rules that say what to do about which failure.

mod reachability;

use std::time::Duration;

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use syn::{ExprClosure, Generics, Path, Type};

use crate::errors::Errors;
use crate::grammar::Argument;
use crate::grammar::arguments::StrategyArguments;
use crate::grammar::words::{Directive, FailureKind, LogLevel, OnLimit, Scope, Window};
use crate::settings::{Setting, written};
use crate::spans;
use crate::value::Value;

/// A strategy and its rules. Without rules and without a decider, the default decider decides.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) strategy: Strategy,
    pub(crate) rules: Vec<Rule>,
    /// A function that decides in place of rules.
    pub(crate) decider: Argument<Path>,
    /// The type whose table this is, in place of a strategy and rules.
    pub(crate) shared: Argument<Path>,
    /// The path of our crate, for a table of its own.
    pub(crate) krate: Argument<Path>,
    /// Whether a part could not be read, so that it only seems to be missing.
    pub(crate) has_mistakes: bool,
}

/// A strategy with its arguments.
pub(crate) struct Strategy {
    pub(crate) scope: Scope,
    pub(crate) arguments: StrategyArguments,
    /// The strategy as the user wrote it.
    pub(crate) text: String,
}

/// One pattern and the answer to it. A rule with alternatives becomes several of these.
pub(crate) struct Rule {
    pub(crate) pattern: Pattern,
    /// The pattern as the user wrote it.
    pub(crate) tokens: TokenStream,
    pub(crate) guard: Option<ExprClosure>,
    /// Where the rule begins.
    pub(crate) place: Span,
    pub(crate) answer: Answer,
}

/// Which failures a rule matches.
pub(crate) enum Pattern {
    Kind(FailureKind),
    Type(Box<Type>),
    /// A pattern of the enum `of`.
    Variant {
        of: Path,
        pattern: TokenStream,
    },
    Any,
}

/// What a rule says to do.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) directive: Directive,
    /// How long a `Restart` waits.
    pub(crate) backoff: Option<Backoff>,
    /// How many restarts the rule grants.
    pub(crate) limit: Option<RuleLimit>,
    /// The number of the rule in its table. Its alternatives share one count.
    pub(crate) rule: u16,
    /// The number of the answer among those that depend on the supervisor's settings.
    pub(crate) configured: Option<usize>,
    pub(crate) span: Span,
    /// The directive as the user wrote it.
    pub(crate) text: String,
}

/// A limit in addition to the strategy's.
#[derive(Clone)]
pub(crate) struct RuleLimit {
    pub(crate) max_retries: Option<Value<u32>>,
    pub(crate) within: Option<Value<Duration>>,
    pub(crate) window: Option<Window>,
}

/// How a delay grows.
#[derive(Clone)]
pub(crate) struct Backoff {
    pub(crate) growth: Growth,
    /// The backoff as the user wrote it.
    pub(crate) text: String,
}

#[derive(Clone)]
pub(crate) enum Growth {
    Exponential {
        min: Value<Duration>,
        max: Value<Duration>,
        jitter: Option<Value<f64>>,
        reset: Option<Box<Reset>>,
        give_up_after: Option<Box<Value<Duration>>>,
    },
    Linear {
        window: Value<Duration>,
        initial: Value<Duration>,
        /// The name, if it is the old one.
        renamed: Option<Ident>,
    },
}

/// When a delay starts again.
#[derive(Clone)]
pub(crate) enum Reset {
    After(Value<Duration>),
    Manual,
}

/// How decisions are logged.
pub(crate) enum Log {
    Off,
    At(LogLevel),
    /// Up to this many failures in a row as warnings, then as errors.
    ByAttempt(u32),
}

/// The first and the last token of what the user wrote.
pub(crate) type Place = (Span, Span);

/// What reaches the supervisor's own supervisor, and the rule or the argument that says so.
#[derive(Default)]
pub(crate) struct Escalations {
    pub(crate) anything: Option<Place>,
    /// Failed starts, with errors of any type.
    pub(crate) failed_starts: Option<Place>,
    /// Each type once.
    pub(crate) types: Vec<(TokenStream, Place)>,
}

impl Default for Strategy {
    fn default() -> Self {
        Self { scope: Scope::OneForOne, arguments: StrategyArguments::default(), text: "one_for_one".to_owned() }
    }
}

impl Strategy {
    /// The place of the first `self` in its limit.
    pub(crate) fn limit_from(&self) -> Option<Span> {
        let StrategyArguments { max_retries, within, .. } = &self.arguments;
        first([max_retries.value.as_ref().and_then(Value::this), within.value.as_ref().and_then(Value::this)])
    }

    /// The place of the first `self` in its backoff.
    pub(crate) fn backoff_from(&self) -> Option<Span> {
        self.arguments.backoff.value.as_ref().and_then(Backoff::this)
    }

    /// Whether a value is a constant, which rustc must evaluate to check it.
    fn has_constants(&self) -> bool {
        let StrategyArguments { max_retries, within, backoff, .. } = &self.arguments;
        max_retries.value.as_ref().and_then(Value::constant).is_some()
            || within.value.as_ref().and_then(Value::constant).is_some()
            || backoff.value.as_ref().and_then(Backoff::constant).is_some()
    }

    /// The argument by which the failure escalates when the strategy refuses a restart.
    pub(crate) fn escalates_at_limit(&self) -> Option<Place> {
        let on_limit = &self.arguments.on_limit;
        let given = on_limit.given().filter(|_| on_limit.value == Some(OnLimit::Escalate))?;
        Some(spans::ends(given.tokens()))
    }

    /// Whether the end of significant children can end their parent.
    pub(crate) fn shuts_down(&self) -> bool {
        self.arguments.auto_shutdown.given().is_some()
    }

    /// Refuses arguments that have no effect without others. `limited`: a rule has a limit of its own. `gives_up`: a backoff does.
    fn check(&self, limited: bool, gives_up: bool, errors: &mut Errors) {
        let StrategyArguments { max_retries, within, window, on_limit, count, .. } = &self.arguments;
        let before = errors.count();
        check_limit(max_retries.given(), within.given(), window.given(), errors);
        if limited || max_retries.given().is_some() || errors.count() > before {
            return;
        }
        let on_limit = on_limit.given().filter(|_| !gives_up);
        if let Some(given) = on_limit.or(count.given()) {
            let message = format!("`{}` has no effect without a limit: add `max_retries = 10`", given.name);
            errors.add(given.error(message));
        }
    }
}

/// Refuses arguments of a limit that have no effect without others.
pub(crate) fn check_limit(
    max_retries: Option<&Setting>,
    within: Option<&Setting>,
    window: Option<&Setting>,
    errors: &mut Errors,
) {
    if let (Some(within), None) = (within, max_retries) {
        let message = "`within` has no effect without a limit: add `max_retries = 10`";
        errors.add(within.error(message));
    }
    if let (Some(window), None) = (window, within) {
        errors.add(window.error("`window` has no effect without a period: add `within = \"60s\"`"));
    }
}

fn first<const N: usize>(places: [Option<Span>; N]) -> Option<Span> {
    places.into_iter().flatten().next()
}

impl Backoff {
    /// The place of the first `self` in it.
    pub(crate) fn this(&self) -> Option<Span> {
        self.growth.place(Value::this, Value::this)
    }

    /// The place of the first constant in it.
    pub(crate) fn constant(&self) -> Option<Span> {
        self.growth.place(Value::constant, Value::constant)
    }

    /// Whether it gives a child up at some time, which is a limit.
    pub(crate) fn gives_up(&self) -> bool {
        matches!(self.growth, Growth::Exponential { give_up_after: Some(_), .. })
    }
}

impl Growth {
    fn place(
        &self,
        of: fn(&Value<Duration>) -> Option<Span>,
        of_share: fn(&Value<f64>) -> Option<Span>,
    ) -> Option<Span> {
        match self {
            Self::Exponential { min, max, jitter, reset, give_up_after } => {
                let reset = match reset.as_deref() {
                    Some(Reset::After(quiet)) => of(quiet),
                    Some(Reset::Manual) | None => None,
                };
                let given_up = give_up_after.as_deref().and_then(of);
                first([of(min), of(max), jitter.as_ref().and_then(of_share), reset, given_up])
            }
            Self::Linear { window, initial, .. } => first([of(window), of(initial)]),
        }
    }
}

impl Answer {
    /// The place of the first `self` in it.
    pub(crate) fn this(&self) -> Option<Span> {
        let limit = self.limit.as_ref();
        first([
            self.backoff.as_ref().and_then(Backoff::this),
            limit.and_then(|limit| limit.max_retries.as_ref()).and_then(Value::this),
            limit.and_then(|limit| limit.within.as_ref()).and_then(Value::this),
        ])
    }

    fn has_constants(&self) -> bool {
        let limit = self.limit.as_ref();
        self.backoff.as_ref().and_then(Backoff::constant).is_some()
            || limit.and_then(|limit| limit.max_retries.as_ref()).and_then(Value::constant).is_some()
            || limit.and_then(|limit| limit.within.as_ref()).and_then(Value::constant).is_some()
    }
}

impl Rule {
    /// Whether this rule may replace a child's instance.
    fn restarts(&self) -> bool {
        matches!(self.answer.directive, Directive::Restart | Directive::Default)
    }

    /// The pattern and its guard as the user wrote them.
    pub(crate) fn text(&self) -> String {
        match &self.guard {
            Some(guard) => {
                format!("{} if |{}| {}", written(&self.tokens), written(&guard.inputs), written(&guard.body))
            }
            None => written(&self.tokens),
        }
    }
}

impl Pattern {
    /// The error type whose failures this matches.
    pub(crate) fn key(&self) -> Option<TokenStream> {
        match self {
            Self::Type(ty) => Some(ty.to_token_stream()),
            Self::Variant { of, .. } => Some(of.to_token_stream()),
            Self::Kind(_) | Self::Any => None,
        }
    }
}

impl Table {
    /// Refuses rules and arguments that have no effect, and tables that leave a failure undecided.
    pub(crate) fn check(&self, generics: &Generics, errors: &mut Errors) {
        let limited = self.rules.iter().any(|rule| rule.answer.limit.is_some());
        let backoffs = self.rules.iter().map(|rule| &rule.answer.backoff);
        let gives_up = backoffs.chain([&self.strategy.arguments.backoff.value]).flatten().any(Backoff::gives_up);
        if !self.has_mistakes {
            self.strategy.check(limited, gives_up, errors);
        }
        reachability::check(self, generics, errors);
        if let (Some(decider), false) = (self.decider.given(), self.rules.is_empty()) {
            let message = "this table has a decider and rules, and each of them would decide every failure: remove the `on(..)` rules, or remove \
                           `decider`";
            errors.add(decider.error(message));
        }
        if let (false, Some(backoff)) = (self.may_restart(), self.strategy.arguments.backoff.given()) {
            let message = "this backoff has no effect, because no rule of this table restarts a child: remove it, or write `Restart` in a rule";
            errors.at_span(backoff.span(), message);
        }
    }

    /// The place of the first `self` in its values.
    pub(crate) fn this(&self) -> Option<Span> {
        let rules = self.rules.iter().find_map(|rule| rule.answer.this());
        self.strategy.limit_from().or(self.strategy.backoff_from()).or(rules)
    }

    /// Whether a value is a constant, which rustc must evaluate to check it.
    pub(crate) fn has_constants(&self) -> bool {
        self.strategy.has_constants() || self.rules.iter().any(|rule| rule.answer.has_constants())
    }

    /// The answers that depend on the supervisor's settings, in the order of their numbers.
    pub(crate) fn configured(&self) -> Vec<&Answer> {
        let mut answers: Vec<&Answer> = Vec::new();
        for rule in &self.rules {
            if rule.answer.configured == Some(answers.len()) {
                answers.push(&rule.answer);
            }
        }
        answers
    }

    /// Whether the table decides every error of a child.
    pub(crate) fn decides_all(&self) -> bool {
        self.has_no_rules() || self.rules.iter().any(|rule| matches!(rule.pattern, Pattern::Any))
    }

    /// Whether a rule names failed starts.
    pub(crate) fn decides_failed_starts(&self) -> bool {
        let names = |rule: &Rule| matches!(rule.pattern, Pattern::Kind(FailureKind::InitializationFailed));
        self.rules.iter().any(names)
    }

    /// Whether the table may restart a child.
    pub(crate) fn may_restart(&self) -> bool {
        self.has_no_rules() || self.rules.iter().any(Rule::restarts)
    }

    fn has_no_rules(&self) -> bool {
        self.decider.given().is_some() || self.rules.is_empty()
    }

    /// The trait that says for which errors there are rules. If two rules spell one type in two ways, rustc shows only the name of this trait,
    /// so the name says what is wrong with rules such as those of this table.
    pub(crate) fn covers(&self) -> &'static str {
        let mut whole = false;
        let mut parts = false;
        for rule in &self.rules {
            match (&rule.pattern, &rule.guard) {
                (Pattern::Type(_), None) => whole = true,
                (Pattern::Type(_) | Pattern::Variant { .. }, _) if whole => {
                    return "HasOneSpellingForTheTypeInAllRulesAndItsVariantsFirst";
                }
                (Pattern::Type(_) | Pattern::Variant { .. }, _) => parts = true,
                (Pattern::Kind(_) | Pattern::Any, _) => {}
            }
        }
        if parts { "HasOneSpellingForTheTypeInAllRules" } else { "HasOneRuleAndNoSecondFor" }
    }

    /// The error types that have a rule, each once, in the order of their first rules.
    pub(crate) fn keys(&self) -> Vec<TokenStream> {
        keys(&self.rules)
    }

    /// What the supervisor's own supervisor must decide.
    pub(crate) fn escalations(&self) -> Escalations {
        let at_limit = self.strategy.escalates_at_limit();
        let decider = self.decider.given().map(|decider| spans::ends(decider.tokens()));
        let mut escalations = Escalations { anything: decider, ..Escalations::default() };
        let mut seen = Vec::new();
        for rule in &self.rules {
            let place = match rule.answer.directive {
                Directive::Escalate => (rule.place, rule.answer.span),
                _ => match at_limit {
                    Some(place) if rule.restarts() => place,
                    _ => continue,
                },
            };
            match &rule.pattern {
                Pattern::Kind(FailureKind::InitializationFailed) => escalations.failed_starts = Some(place),
                Pattern::Any => escalations.anything = Some(place),
                pattern => {
                    let Some(key) = pattern.key() else { continue };
                    let text = key.to_string();
                    if !seen.contains(&text) {
                        seen.push(text);
                        escalations.types.push((key, place));
                    }
                }
            }
        }
        escalations
    }

    /// The backoffs that the user wrote under their old name: this name, and all of the setting.
    pub(crate) fn renamed<'a>(&'a self) -> Vec<(&'a Ident, &'a str)> {
        let mut renamed = Vec::new();
        let mut look = |backoff: Option<&'a Backoff>| {
            if let Some(Backoff { growth: Growth::Linear { renamed: Some(name), .. }, text }) = backoff {
                renamed.push((name, text.as_str()));
            }
        };
        look(self.strategy.arguments.backoff.value.as_ref());
        for rule in &self.rules {
            look(rule.answer.backoff.as_ref());
        }
        renamed
    }
}

fn keys(rules: &[Rule]) -> Vec<TokenStream> {
    let mut keys = Vec::new();
    for rule in rules {
        keys.extend(rule.pattern.key());
    }
    distinct(keys)
}

/// Each of `types` once, compared as text.
pub(crate) fn distinct(types: Vec<TokenStream>) -> Vec<TokenStream> {
    let (mut distinct, mut seen) = (Vec::new(), Vec::new());
    for ty in types {
        let text = ty.to_string();
        if !seen.contains(&text) {
            seen.push(text);
            distinct.push(ty);
        }
    }
    distinct
}
