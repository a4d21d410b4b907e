//! Refuses rules that never match, and guards after which a failure may be left undecided.

use proc_macro2::{Ident, TokenStream};
use syn::spanned::Spanned;
use syn::{Generics, Pat, Type};

use super::{Pattern, Rule, keys};
use crate::errors::Errors;
use crate::generics::mentions_parameter;
use crate::grammar::Word;
use crate::grammar::words::{Directive, FailureKind};
use crate::settings::written;
use crate::spelling::closest;
use crate::syntax;

const NEVER: &str = "this rule never matches";

/// Checks the rules in their order.
pub(super) fn check(rules: &[Rule], generics: &Generics, errors: &mut Errors) {
    let mut earlier = Earlier::default();
    for rule in rules {
        earlier.check(rule, errors);
    }
    if !earlier.any {
        earlier.check_guards(errors);
        check_overlap(rules, generics, errors);
    }
    check_resumed_panics(rules, errors);
}

/// What the rules so far match.
#[derive(Default)]
struct Earlier<'a> {
    /// The patterns of rules without a guard.
    patterns: Vec<String>,
    /// The types that a rule without a guard matches whole.
    whole: Vec<String>,
    /// The variants that a rule without a guard matches whole.
    variants: Vec<String>,
    /// The types that rules with a guard match.
    guarded: Vec<&'a TokenStream>,
    /// Whether there was a `_`.
    any: bool,
}

impl<'a> Earlier<'a> {
    fn check(&mut self, rule: &'a Rule, errors: &mut Errors) {
        let Rule { pattern, tokens, guard, .. } = rule;
        if self.any {
            let message = format!("{NEVER}: `on(_)` before it matches every failure; move `on(_)` to the end");
            errors.at(tokens, message);
            return;
        }
        if let Some((word, kind)) = misspelled_kind(pattern) {
            let message = format!(
                "unknown kind of failure `{word}`: did you mean `{kind}`? (If `{word}` is an error type, write `self::{word}`.)"
            );
            errors.at(word, message);
            return;
        }
        let text = written(tokens);
        let Some(key) = pattern.key() else {
            if let Some(guard) = guard {
                let message = format!(
                    "`{text}` takes no guard, because a guard needs an error of one type: remove the guard if the rule is for every failure; for one \
                     type, write `on(MyError if |error| ..) = Restart, on(_) = Stop`; to look at every failure, write \
                     `decider = decide` in place of the rules, and `fn decide(failure: &Failure, child: &ChildInfo) -> \
                     Result<Directive, Failure>`"
                );
                errors.at_span(guard.span(), message);
                return;
            }
            self.add(rule, text, errors);
            return;
        };
        let key = written(&key);
        if self.whole.contains(&key) {
            let mend = if text == key {
                "remove one of the two, and keep the one whose directive you mean".to_owned()
            } else {
                format!("move `on({text})` before that rule")
            };
            errors.at(tokens, format!("{NEVER}: an earlier rule matches every `{key}`; {mend}"));
            return;
        }
        if let Some((variant, whole)) = variant(pattern) {
            if self.variants.contains(&variant) && !self.patterns.contains(&text) {
                let mend = if whole {
                    "remove one of the two, and keep the one whose directive you mean".to_owned()
                } else {
                    format!("move `on({text})` before that rule")
                };
                errors.at(tokens, format!("{NEVER}: an earlier rule matches every `{variant}`; {mend}"));
                return;
            }
            if whole && guard.is_none() {
                self.variants.push(variant);
            }
        }
        if matches!(pattern, Pattern::Type(_)) {
            match guard {
                Some(_) => self.guarded.push(tokens),
                None => self.whole.push(key),
            }
        }
        if guard.is_none() {
            self.add(rule, text, errors);
        }
    }

    /// Remembers a rule without a guard.
    fn add(&mut self, rule: &Rule, text: String, errors: &mut Errors) {
        if self.patterns.contains(&text) {
            let message = format!(
                "{NEVER}: an earlier rule matches `{text}`; remove one of the two, and keep the one whose directive you mean"
            );
            errors.at(&rule.tokens, message);
        }
        self.patterns.push(text);
        self.any = matches!(rule.pattern, Pattern::Any);
    }

    /// A type that a rule matches whole and that has the same last name as `key`, so that it may be the same type.
    fn same_name(&self, key: &str) -> Option<&String> {
        self.whole.iter().find(|whole| last_name(whole) == last_name(key))
    }

    fn check_guards(&self, errors: &mut Errors) {
        for tokens in &self.guarded {
            let key = written(tokens);
            if !self.whole.contains(&key) {
                let mend = match self.same_name(&key) {
                    Some(other) => format!(
                        "name the type in one way in all rules, `on({key})` in place of `on({other})` if they are the \
                         same, or add"
                    ),
                    None => format!("add `on({key}) = Restart` after this rule (or another directive), or"),
                };
                let message = format!(
                    "if the guard returns `false`, no rule decides `{key}`: {mend} `on(_) = Stop` at the end"
                );
                errors.at(tokens, message);
            }
        }
    }
}

/// The variant that a pattern names, and whether the pattern matches all its values.
fn variant(pattern: &Pattern) -> Option<(String, bool)> {
    let Pattern::Variant { pattern, .. } = pattern else { return None };
    let rest = |pattern: &Pat| matches!(pattern, Pat::Wild(_) | Pat::Rest(_));
    match syntax::read(pattern.clone(), Pat::parse_single).ok()? {
        Pat::Path(path) => Some((written(&path), true)),
        Pat::Struct(shape) => {
            let whole = shape.fields.iter().all(|field| rest(&field.pat));
            Some((written(&shape.path), whole))
        }
        Pat::TupleStruct(shape) => {
            let whole = shape.elems.iter().all(rest);
            Some((written(&shape.path), whole))
        }
        _ => None,
    }
}

fn last_name(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// Refuses to resume after a panic unless a rule says so for panics.
fn check_resumed_panics(rules: &[Rule], errors: &mut Errors) {
    for rule in rules {
        match (&rule.pattern, rule.answer.directive) {
            (Pattern::Kind(FailureKind::Panic), _) => return,
            (Pattern::Any, Directive::Resume) => {
                let message = "this would resume a child after a panic, with state that may be inconsistent: write \
                               `on(Panic) = Restart` before `on(_)`";
                errors.at_span(rule.answer.span, message);
                return;
            }
            _ => {}
        }
    }
}

/// Refuses tables for which rustc would report overlapping impls: `T::Error` may be any other type of the table.
fn check_overlap(rules: &[Rule], generics: &Generics, errors: &mut Errors) {
    let keys = keys(rules);
    if keys.len() < 2 {
        return;
    }
    if let Some(key) = keys.iter().find(|key| mentions_parameter((*key).clone(), generics)) {
        let message = format!(
            "`{}` depends on a type parameter and may be the same as another type of this table: add `on(_) = Stop` (or another \
             directive) at the end",
            written(key)
        );
        errors.at(key, message);
    }
}

/// A type that is probably a misspelled kind of failure, and the kind.
fn misspelled_kind(pattern: &Pattern) -> Option<(&Ident, &'static str)> {
    let Pattern::Type(ty) = pattern else { return None };
    let Type::Path(path) = &**ty else { return None };
    let word = path.path.get_ident()?;
    closest(&word.to_string(), FailureKind::WORDS).map(|kind| (word, kind))
}
