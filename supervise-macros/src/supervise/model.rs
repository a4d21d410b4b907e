//! A supervisor's table: a strategy, and rules that say what to do about which failure.

mod reachability;

use std::time::Duration;

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use syn::{ExprClosure, Generics, Path, Type};

use crate::errors::Errors;
use crate::grammar::Argument;
use crate::grammar::arguments::StrategyArguments;
use crate::grammar::words::{Directive, FailureKind, LogLevel, OnLimit, Scope};
use crate::settings::written;

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
    pub(crate) span: Span,
    /// The directive as the user wrote it.
    pub(crate) text: String,
}

/// How a delay grows.
#[derive(Clone)]
pub(crate) enum Backoff {
    Exponential {
        min: Duration,
        max: Duration,
        jitter: Option<f64>,
        reset: Option<Reset>,
    },
    Linear {
        window: Duration,
        initial: Duration,
        /// The name, if it is the old one.
        renamed: Option<Ident>,
    },
}

/// When a delay starts again.
#[derive(Clone, Copy)]
pub(crate) enum Reset {
    After(Duration),
    Manual,
}

/// How decisions are logged.
pub(crate) enum Log {
    Off,
    At(LogLevel),
}

/// What reaches the supervisor's own supervisor.
pub(crate) struct Escalations {
    pub(crate) anything: bool,
    /// Failed starts, with errors of any type.
    pub(crate) failed_starts: bool,
    pub(crate) types: Vec<TokenStream>,
}

impl Default for Strategy {
    fn default() -> Self {
        Self { scope: Scope::OneForOne, arguments: StrategyArguments::default(), text: "one_for_one".to_owned() }
    }
}

impl Strategy {
    /// Whether the failure escalates when the strategy refuses a restart.
    pub(crate) fn escalates_at_limit(&self) -> bool {
        self.arguments.on_limit.value == Some(OnLimit::Escalate)
    }

    /// Whether the end of significant children can end their parent.
    pub(crate) fn shuts_down(&self) -> bool {
        self.arguments.auto_shutdown.given().is_some()
    }

    /// Refuses arguments that have no effect without others.
    fn check(&self, errors: &mut Errors) {
        let StrategyArguments { max_retries, within, window, on_limit, count, .. } = &self.arguments;
        if let (Some(within), None) = (within.given(), max_retries.given()) {
            let message = "`within` has no effect without a limit: add `max_retries = 10`";
            errors.add(within.error(message));
        }
        if let (Some(window), None) = (window.given(), within.given()) {
            errors.add(window.error("`window` has no effect without a period: add `within = \"60s\"`"));
        }
        for given in [on_limit.given(), count.given()] {
            if let (Some(given), None) = (given, max_retries.given()) {
                let message = format!("`{}` has no effect without a limit: add `max_retries = 10`", given.name);
                errors.add(given.error(message));
            }
        }
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
        self.strategy.check(errors);
        reachability::check(&self.rules, generics, errors);
        if let (Some(decider), false) = (self.decider.given(), self.rules.is_empty()) {
            let message = "a table has rules or a decider: remove `decider` or the `on(..)` rules";
            errors.add(decider.error(message));
        }
        if let (false, Some(backoff)) = (self.may_restart(), self.strategy.arguments.backoff.given()) {
            let message = "this backoff has no effect: no rule of this table restarts a child";
            errors.at_span(backoff.span(), message);
        }
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

    /// The error types that have a rule, each once, in the order of their first rules.
    pub(crate) fn keys(&self) -> Vec<TokenStream> {
        keys(&self.rules)
    }

    /// What the supervisor's own supervisor must decide.
    pub(crate) fn escalations(&self) -> Escalations {
        let at_limit = self.strategy.escalates_at_limit();
        let mut anything = self.decider.given().is_some() || (self.rules.is_empty() && at_limit);
        let (mut failed_starts, mut types) = (false, Vec::new());
        for rule in &self.rules {
            if rule.answer.directive == Directive::Escalate || (at_limit && rule.restarts()) {
                failed_starts |= matches!(rule.pattern, Pattern::Kind(FailureKind::InitializationFailed));
                anything |= matches!(rule.pattern, Pattern::Any);
                types.extend(rule.pattern.key());
            }
        }
        Escalations { anything, failed_starts, types: distinct(types) }
    }

    /// The backoffs that the user wrote under their old name.
    pub(crate) fn renamed<'a>(&'a self) -> Vec<&'a Ident> {
        let mut renamed = Vec::new();
        let mut look = |backoff: Option<&'a Backoff>| {
            if let Some(Backoff::Linear { renamed: Some(name), .. }) = backoff {
                renamed.push(name);
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
