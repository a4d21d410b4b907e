//! What a table means, and everything that can be wrong with it as far as words go. Types are left to rustc.

use heck::ToUpperCamelCase;
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{ExprClosure, Generics, Ident, Path, Type};

use super::parse::{DirectiveSyntax, PatternSyntax, RuleSyntax, rule};
use super::strategy::{self, BackoffModel, Strategy};
use crate::errors::{Errors, closest, listed, unknown};
use crate::settings::{self, Setting, split, written};

const DIRECTIVES: &[&str] = &["Resume", "Restart", "Stop", "Escalate", "Default"];
const SETTINGS: &[&str] =
    &["on", "one_for_one", "all_for_one", "rest_for_one", "decider", "backoff", "linear_backoff", "log"];

/// A supervisor's strategy and its rules.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) strategy: Strategy,
    pub(crate) rules: Vec<Rule>,
    /// A function that decides in place of rules.
    pub(crate) decider: Option<Path>,
}

/// One pattern and what is done about it. A rule with alternatives is several of these.
pub(crate) struct Rule {
    pub(crate) pattern: Pattern,
    pub(crate) guard: Option<ExprClosure>,
    pub(crate) directive: Directive,
    /// The pattern and its guard as the user wrote them.
    pub(crate) text: String,
}

pub(crate) enum Pattern {
    Initialization,
    Kind(Kind),
    Type(Box<Type>),
    /// A pattern of the enum `of`.
    Variant {
        of: Path,
        pattern: TokenStream,
    },
    Any,
}

pub(crate) enum Kind {
    Panic,
    Killed,
    DeathPact,
}

#[derive(Clone)]
pub(crate) enum Directive {
    Resume,
    Restart,
    RestartAfter(BackoffModel),
    Stop,
    Escalate,
    /// Whatever the default decider says.
    Default,
}

impl Directive {
    /// Whether this may replace a child's instance.
    pub(crate) fn restarts(&self) -> bool {
        match self {
            Self::Restart | Self::RestartAfter(_) | Self::Default => true,
            Self::Resume | Self::Stop | Self::Escalate => false,
        }
    }
}

impl Pattern {
    /// The error type whose failures this matches.
    pub(crate) fn key(&self) -> Option<TokenStream> {
        match self {
            Self::Type(ty) => Some(ty.to_token_stream()),
            Self::Variant { of, .. } => Some(of.to_token_stream()),
            Self::Initialization | Self::Kind(_) | Self::Any => None,
        }
    }
}

impl Table {
    /// The tokens of one or no `#[supervise(..)]`, beside an item with these generics.
    pub(crate) fn read(attribute: Option<TokenStream>, generics: &Generics, errors: &mut Errors) -> Self {
        let Some(tokens) = attribute else {
            return Self::default();
        };
        let mut table = Self::default();
        let mut scope = None;
        let mut decider = None;
        let mut rules = Rules::new(generics);
        for setting in settings::parse(tokens, errors) {
            match setting.name.to_string().as_str() {
                "on" => {
                    if let Some(rule) = errors.keep(rule(&setting)) {
                        rules.add(&rule, errors);
                    }
                }
                name if strategy::SCOPES.contains(&name) => {
                    let strategy = strategy::read(&setting, errors);
                    match &scope {
                        None => scope = errors.keep(strategy),
                        Some(first) => {
                            let message = format!(
                                "a table has one strategy, and it is `{}` already: remove one",
                                first.scope_name()
                            );
                            errors.at(setting.tokens(), message);
                        }
                    }
                }
                "decider" if rules.decider.is_some() => errors.add(setting.given_twice()),
                "decider" => {
                    decider = errors.keep(setting.value::<Path>("path::to::function"));
                    rules.decider = Some(setting);
                }
                _ => errors.add(stray(&setting)),
            }
        }
        table.strategy = scope.unwrap_or_default();
        table.decider = decider;
        table.rules = rules.finish(errors);
        table.check_backoff(errors);
        table
    }

    /// Whether every error a child can fail with is decided here.
    pub(crate) fn decides_all(&self) -> bool {
        for rule in &self.rules {
            if matches!(rule.pattern, Pattern::Any) {
                return true;
            }
        }
        self.decider.is_some() || self.rules.is_empty()
    }

    /// Whether some failure may be answered with a restart.
    pub(crate) fn may_restart(&self) -> bool {
        for rule in &self.rules {
            if rule.directive.restarts() {
                return true;
            }
        }
        self.decider.is_some() || self.rules.is_empty()
    }

    /// The error types with a rule, each once, in the order of their first rules.
    pub(crate) fn keys(&self) -> Vec<TokenStream> {
        keys(&self.rules)
    }

    /// What this table hands upwards, as far as it says so.
    pub(crate) fn escalations(&self) -> Escalations {
        let at_limit = self.strategy.escalates_at_limit();
        let mut anything = self.decider.is_some() || (self.rules.is_empty() && at_limit);
        let mut types = Vec::new();
        for rule in &self.rules {
            if matches!(rule.directive, Directive::Escalate) || (at_limit && rule.directive.restarts()) {
                anything |= matches!(rule.pattern, Pattern::Any);
                if let Some(key) = rule.pattern.key() {
                    types.push(key);
                }
            }
        }
        Escalations { anything, types: distinct(types) }
    }

    fn check_backoff(&self, errors: &mut Errors) {
        if let (false, Some(span)) = (self.may_restart(), self.strategy.backoff_span) {
            errors.at_span(span, "this backoff delays nothing: no rule of this table restarts a child");
        }
    }
}

fn keys(rules: &[Rule]) -> Vec<TokenStream> {
    let mut keys = Vec::new();
    for rule in rules {
        if let Some(key) = rule.pattern.key() {
            keys.push(key);
        }
    }
    distinct(keys)
}

/// What reaches the supervisor's own parent.
pub(crate) struct Escalations {
    pub(crate) anything: bool,
    pub(crate) types: Vec<TokenStream>,
}

/// Each of `types` once, compared as text.
pub(crate) fn distinct(types: Vec<TokenStream>) -> Vec<TokenStream> {
    let (mut distinct, mut seen) = (Vec::new(), Vec::new());
    for ty in &types {
        let text = ty.to_string();
        if !seen.contains(&text) {
            seen.push(text);
            distinct.push(ty.clone());
        }
    }
    distinct
}

/// A guard behind its pattern.
fn guard_text(guard: &ExprClosure) -> String {
    format!(" if |{}| {}", written(&guard.inputs), written(&guard.body))
}

/// Patterns that are no types.
const KINDS: &[&str] = &["Panic", "Killed", "DeathPact", "InitializationFailed"];

/// Words for whatever no other rule takes, which is `_` here.
const CATCH_ALL: &[&str] = &["default", "else", "other", "otherwise", "any", "all", "rest"];

/// A setting at the top level that is neither strategy nor rule.
fn stray(setting: &Setting) -> syn::Error {
    let name = setting.name.to_string();
    if strategy::is_argument(&setting.name) {
        let message =
            format!("`{name}` is an argument of the strategy: write `one_for_one({})`", written(setting.tokens()));
        return syn::Error::new(setting.span(), message);
    }
    if let ("strategy", Some(value)) = (name.as_str(), &setting.value)
        && let Some(scope) = closest(written(value).trim_matches('"'), strategy::SCOPES)
    {
        return setting.error(format!("a strategy stands alone: write `{scope}`"));
    }
    if DIRECTIVES.contains(&name.as_str()) && setting.value.is_none() {
        return syn::Error::new(setting.span(), format!("a rule names what fails first: `on(MyError) = {name}`"));
    }
    if let (Some(value), None) = (&setting.value, &setting.arguments)
        && let Some(directive) = value.clone().into_iter().next()
        && DIRECTIVES.contains(&directive.to_string().as_str())
    {
        let value = written(value);
        let pattern = if CATCH_ALL.contains(&name.to_lowercase().as_str()) { "_" } else { &name };
        let message = format!("a rule names what fails in `on(..)`: write `on({pattern}) = {value}`");
        return setting.error(message);
    }
    let known = [SETTINGS, strategy::ARGUMENTS].concat();
    match closest(&name, &known) {
        Some(_) => unknown("strategy or setting", &setting.name, &known),
        None => syn::Error::new(
            setting.span(),
            format!(
                "unknown strategy or setting `{name}`: expected {}, a rule `on(..) = ..` or `decider = ..`",
                listed(strategy::SCOPES)
            ),
        ),
    }
}

/// Rules on their way into a table, with what is known about reachability so far.
struct Rules<'a> {
    generics: &'a Generics,
    done: Vec<Rule>,
    seen: Vec<String>,
    /// Types that a rule without a guard has taken whole.
    taken: Vec<String>,
    any: bool,
    decider: Option<Setting>,
    resumes_any: Option<Span>,
    /// Types that rules with guards have taken in part.
    guarded: Vec<TokenStream>,
}

const NEVER: &str = "this rule can never match";

impl<'a> Rules<'a> {
    fn new(generics: &'a Generics) -> Self {
        Self {
            generics,
            done: Vec::new(),
            seen: Vec::new(),
            taken: Vec::new(),
            any: false,
            decider: None,
            resumes_any: None,
            guarded: Vec::new(),
        }
    }

    fn add(&mut self, rule: &RuleSyntax, errors: &mut Errors) {
        let directive = directive(&rule.directive, errors);
        for syntax in &rule.patterns {
            let pattern = self.pattern(syntax);
            self.check(&pattern, syntax, rule, errors);
            if let (Pattern::Any, Some(Directive::Resume)) = (&pattern, &directive) {
                self.resumes_any = Some(rule.directive_span());
            }
            let mut text = written(syntax);
            if let Some(guard) = &rule.guard {
                text.push_str(&guard_text(guard));
            }
            if let Some(directive) = directive.clone() {
                self.done.push(Rule { pattern, guard: rule.guard.clone(), directive, text });
            }
        }
    }

    fn pattern(&self, syntax: &PatternSyntax) -> Pattern {
        match syntax {
            PatternSyntax::Any(_) => Pattern::Any,
            PatternSyntax::Shape(path, pattern) => {
                let of = self.enum_of(path).unwrap_or_else(|| path.clone());
                Pattern::Variant { of, pattern: pattern.to_token_stream() }
            }
            PatternSyntax::Type(ty) => {
                let Type::Path(path) = ty else {
                    return Pattern::Type(Box::new(ty.clone()));
                };
                if let Some(word) = path.path.get_ident() {
                    match word.to_string().as_str() {
                        "Panic" => return Pattern::Kind(Kind::Panic),
                        "Killed" => return Pattern::Kind(Kind::Killed),
                        "DeathPact" => return Pattern::Kind(Kind::DeathPact),
                        "InitializationFailed" => return Pattern::Initialization,
                        _ => {}
                    }
                }
                match (&path.qself, self.enum_of(&path.path)) {
                    (None, Some(of)) => Pattern::Variant { of, pattern: quote!(#path) },
                    _ => Pattern::Type(Box::new(ty.clone())),
                }
            }
        }
    }

    /// The enum that `path` names a variant of: what stands before the last segment, if that is spelled like a type.
    fn enum_of(&self, path: &Path) -> Option<Path> {
        let mut of = path.clone();
        of.segments.pop()?;
        // Popping leaves the `::` behind.
        let last = of.segments.pop()?;
        let name = last.ident.to_string();
        let bare = name.strip_prefix("r#").unwrap_or(&name);
        let is_type = bare == bare.to_upper_camel_case() || bare.starts_with(char::is_uppercase);
        let is_parameter = of.segments.is_empty() && self.is_type_parameter(&last.ident);
        of.segments.push_value(last);
        (is_type && !is_parameter && bare != "Self").then_some(of)
    }

    fn is_type_parameter(&self, word: &Ident) -> bool {
        for parameter in self.generics.type_params() {
            if parameter.ident == *word {
                return true;
            }
        }
        false
    }

    fn check(&mut self, pattern: &Pattern, syntax: &PatternSyntax, rule: &RuleSyntax, errors: &mut Errors) {
        if self.any {
            errors.at(syntax, format!("{NEVER}: `on(_)` before it takes every failure; move `on(_)` to the end"));
            return;
        }
        if let Some((word, kind)) = near_kind(pattern) {
            let message = format!(
                "unknown kind of failure `{word}`: did you mean `{kind}`? (An error type of this name goes by its path here, `self::{word}`.)"
            );
            errors.at(word, message);
            return;
        }
        let text = written(syntax);
        let guarded = rule.guard_span();
        if let (Some(span), None) = (guarded, pattern.key()) {
            errors.at_span(
                span,
                format!("`{text}` takes no guard: a guard looks inside an error, so name its type, or write the table by hand with `decider = path`"),
            );
            return;
        }
        if let Some(key) = pattern.key().map(|key| written(&key)) {
            if self.taken.contains(&key) {
                let what = if text == key {
                    String::new()
                } else {
                    format!(", whatever its variant; move `on({text})` before it")
                };
                errors.at(syntax, format!("{NEVER}: an earlier rule takes every `{key}`{what}"));
                return;
            }
            if let (Pattern::Type(_), None) = (pattern, guarded) {
                self.taken.push(key.clone());
            }
            if let (Pattern::Type(_), Some(_)) = (pattern, guarded) {
                self.guarded.push(syntax.to_token_stream());
            }
        }
        if guarded.is_none() {
            if self.seen.contains(&text) {
                errors.at(syntax, format!("{NEVER}: an earlier rule decides `{text}`; leave it in one of them"));
            }
            self.seen.push(text);
        }
        self.any = matches!(pattern, Pattern::Any);
    }

    fn finish(self, errors: &mut Errors) -> Vec<Rule> {
        if let (Some(decider), false) = (&self.decider, self.done.is_empty()) {
            errors.at(
                decider.tokens(),
                "a table is written as rules or as a function: remove `decider` or the `on(..)` rules",
            );
        }
        if let (Some(span), false) = (self.resumes_any, self.seen.contains(&"Panic".to_owned())) {
            errors.at_span(
                span,
                "resuming after a panic keeps state that may be broken: decide `on(Panic)` explicitly, \
                 before `on(_)`",
            );
        }
        if !self.any {
            for pattern in &self.guarded {
                let key = written(pattern);
                if !self.taken.contains(&key) {
                    errors.at(
                        pattern,
                        format!("the guard may say no, and then nothing decides `{key}`: add `on({key}) = ..` behind this rule, or `on(_) = ..` at the end"),
                    );
                }
            }
            self.check_overlap(errors);
        }
        self.done
    }

    /// Rust cannot tell `T::Error` from another type, so rules for both would overlap.
    fn check_overlap(&self, errors: &mut Errors) {
        let keys = keys(&self.done);
        if keys.len() < 2 {
            return;
        }
        for key in &keys {
            if self.mentions_parameter(key) {
                let text = written(key);
                errors.at(
                    key,
                    format!("`{text}` depends on a type parameter and could turn out to be another type of this table: add `on(_) = ..` at the end"),
                );
                return;
            }
        }
    }

    fn mentions_parameter(&self, tokens: &TokenStream) -> bool {
        for token in tokens.clone() {
            let mentions = match token {
                TokenTree::Ident(word) => self.is_type_parameter(&word),
                TokenTree::Group(group) => self.mentions_parameter(&group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => false,
            };
            if mentions {
                return true;
            }
        }
        false
    }
}

/// A type that is probably a misspelled kind, and the kind.
fn near_kind(pattern: &Pattern) -> Option<(&Ident, &'static str)> {
    let Pattern::Type(ty) = pattern else { return None };
    let Type::Path(path) = &**ty else { return None };
    let word = path.path.get_ident()?;
    closest(&word.to_string(), KINDS).map(|kind| (word, kind))
}

fn directive(syntax: &DirectiveSyntax, errors: &mut Errors) -> Option<Directive> {
    let name = syntax.name.to_string();
    let plain = match name.as_str() {
        "Resume" => Directive::Resume,
        "Restart" => Directive::Restart,
        "Stop" => Directive::Stop,
        "Escalate" => Directive::Escalate,
        "Default" => Directive::Default,
        _ if strategy::is_backoff(&syntax.name) => {
            errors.at(&syntax.name, format!("a delay belongs to `Restart`: write `Restart({name}(..))`"));
            return None;
        }
        _ => {
            errors.add(unknown("directive", &syntax.name, DIRECTIVES));
            return None;
        }
    };
    let Some(arguments) = &syntax.arguments else {
        return Some(plain);
    };
    if name != "Restart" {
        errors.at(&syntax.name, format!("`{name}` takes no arguments"));
        return None;
    }
    let settings = settings::parse(arguments.clone(), errors);
    for setting in &settings {
        if is_of_strategy(&setting.name) {
            let message = format!(
                "restarts are limited by the strategy: move this there, `one_for_one({})`",
                written(arguments)
            );
            errors.at(setting.tokens(), message);
            return None;
        }
    }
    if split(arguments.clone(), ',').len() != 1 {
        errors.at(&syntax.name, format!("`Restart(..)` takes one backoff: {RESTART_AFTER}"));
        return None;
    }
    let setting = settings.first()?;
    if DELAYS.contains(&setting.name.to_string().as_str()) {
        errors.at(setting.tokens(), format!("a delay before a restart is a backoff: {RESTART_AFTER}"));
        return None;
    }
    if strategy::is_backoff(&setting.name) {
        let backoff = strategy::backoff(setting, errors);
        errors.keep(backoff).map(Directive::RestartAfter)
    } else {
        errors.add(unknown("argument of `Restart`", &setting.name, strategy::BACKOFFS));
        None
    }
}

const RESTART_AFTER: &str = "write `Restart(backoff(min = \"100ms\", max = \"10s\"))`";

/// What may stand directly in `Restart(..)` by mistake.
const DELAYS: &[&str] = &["delay", "after", "wait", "min", "max", "initial", "jitter"];

/// Whether it says something about a table as a whole.
fn is_of_strategy(name: &Ident) -> bool {
    strategy::is_argument(name) && !strategy::is_backoff(name)
}
