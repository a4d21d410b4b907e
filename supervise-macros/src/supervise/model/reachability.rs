//! Refuses rules that never match, and guards after which a failure may be left undecided.

use proc_macro2::{Ident, TokenStream};
use syn::spanned::Spanned;
use syn::{Generics, Pat, Type};

use super::{Pattern, Rule, Table, keys};
use crate::errors::Errors;
use crate::generics::mentions_parameter;
use crate::grammar::Word;
use crate::grammar::words::{Directive, FailureKind};
use crate::settings::written;
use crate::spelling::{closest, joined};
use crate::syntax;

const NEVER: &str = "this rule never matches";

/// Checks the rules in their order.
pub(super) fn check(table: &Table, generics: &Generics, errors: &mut Errors) {
    let rules = table.rules.as_slice();
    let (mut earlier, before) = (Earlier { rules, ..Earlier::default() }, errors.count());
    let mut refused = None;
    for rule in rules {
        // What is wrong with one alternative is often wrong with all.
        if refused != Some(rule.answer.rule) {
            let count = errors.count();
            earlier.check(rule, errors);
            refused = (errors.count() > count).then_some(rule.answer.rule);
        }
    }
    // A rule with a mistake may be the one that seems to be missing.
    if table.has_mistakes || errors.count() > before {
        return;
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
    /// All rules of the table.
    rules: &'a [Rule],
    /// The patterns of rules without a guard.
    patterns: Vec<(String, &'a Rule)>,
    /// The types that a rule without a guard matches whole.
    whole: Vec<(String, &'a Rule)>,
    /// The variants that a rule without a guard matches whole.
    variants: Vec<(String, &'a Rule)>,
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
                    "`{text}` takes no guard, because a guard needs an error of one type: remove the guard if the rule is for every failure\n\
                     or, for one type, write `on(MyError if |error| ..) = Restart, on(_) = Stop`\n\
                     or, to look at every failure, write `decider = decide` in place of the rules, and `fn decide(failure: &Failure, child: &ChildInfo) -> \
                     Result<Directive, Failure>`"
                );
                errors.at_span(guard.span(), message);
                return;
            }
            self.add(rule, text, errors);
            return;
        };
        let key = written(&key);
        if let Some(earlier) = found(&self.whole, &key) {
            let twice = text == key && guard.is_none();
            errors.at(tokens, self.unreachable(rule, earlier, &format!("every `{key}`"), twice));
            return;
        }
        if let Some((variant, whole)) = variant(pattern) {
            if let (Some(earlier), None) = (found(&self.variants, &variant), found(&self.patterns, &text)) {
                let twice = whole && guard.is_none();
                errors.at(tokens, self.unreachable(rule, earlier, &format!("every `{variant}`"), twice));
                return;
            }
            if whole && guard.is_none() {
                self.variants.push((variant, rule));
            }
        }
        if matches!(pattern, Pattern::Type(_)) {
            match guard {
                Some(_) => self.guarded.push(tokens),
                None => self.whole.push((key, rule)),
            }
        }
        if guard.is_none() {
            self.add(rule, text, errors);
        }
    }

    /// Remembers a rule without a guard.
    fn add(&mut self, rule: &'a Rule, text: String, errors: &mut Errors) {
        if let Some(earlier) = found(&self.patterns, &text) {
            errors.at(&rule.tokens, self.unreachable(rule, earlier, &format!("`{text}`"), true));
        }
        self.any = matches!(rule.pattern, Pattern::Any);
        self.patterns.push((text, rule));
    }

    /// The message for a pattern of `rule` that never matches, because the earlier rule matches `matched`. `twice`: both match the same,
    /// so that another order does not help.
    fn unreachable(&self, rule: &Rule, earlier: &Rule, matched: &str, twice: bool) -> String {
        let text = written(&rule.tokens);
        if rule.answer.rule == earlier.answer.rule {
            return format!("`{text}` has no effect here, because this rule already matches {matched}: remove it");
        }
        let first = self.as_written(earlier);
        if rule.guard.is_none() && earlier.guard.is_none() && self.alternatives(rule) == self.alternatives(earlier)
        {
            let mend = mend("this rule", &format!("the earlier rule `{first}`"), rule, earlier);
            return format!("{NEVER}, because the earlier rule `{first}` matches the same failures: {mend}");
        }
        let because = format!("the earlier rule `{first}` matches {matched}");
        match (self.without(rule), self.without(earlier)) {
            (None, _) if !twice => {
                format!("{NEVER}, because {because}: move `{}` before that rule", self.as_written(rule))
            }
            (Some(_), _) if !twice => {
                format!("`{text}` never matches in this rule, because {because}: move this rule before that rule")
            }
            (part, other) => {
                let (what, part) = match part {
                    Some(part) => {
                        (format!("`{text}` never matches in this rule"), format!("`{part}` from this rule"))
                    }
                    None => (NEVER.to_owned(), "this rule".to_owned()),
                };
                let other = match other {
                    Some(other) => format!("`{other}` from `{first}`"),
                    None => format!("the earlier rule `{first}`"),
                };
                format!("{what}, because {because}: {}", mend(&part, &other, rule, earlier))
            }
        }
    }

    /// The alternatives of the rule that `rule` is a part of.
    fn alternatives(&self, rule: &Rule) -> Vec<String> {
        let same = |other: &&Rule| other.answer.rule == rule.answer.rule;
        self.rules.iter().filter(same).map(|rule| written(&rule.tokens)).collect()
    }

    /// The rule that `rule` is a part of, as the user wrote it. Leaves out the body of a guard.
    fn as_written(&self, rule: &Rule) -> String {
        let alternatives = self.alternatives(rule);
        let alternatives: Vec<&str> = alternatives.iter().map(String::as_str).collect();
        let guard = if rule.guard.is_some() { " if .." } else { "" };
        format!("on({}{guard}) = {}", joined(&alternatives, " | "), rule.answer.text)
    }

    /// What to remove so that the rule keeps its other alternatives, if it has others.
    fn without(&self, rule: &Rule) -> Option<String> {
        let (alternatives, text) = (self.alternatives(rule), written(&rule.tokens));
        match alternatives.as_slice() {
            [_] => None,
            [.., last] if *last == text => Some(format!("| {text}")),
            _ => Some(format!("{text} |")),
        }
    }

    /// A type that a rule matches whole and that has the same last name as `key`, so that it may be the same type.
    fn same_name(&self, key: &str) -> Option<&String> {
        self.whole.iter().map(|(whole, _)| whole).find(|whole| last_name(whole) == last_name(key))
    }

    fn check_guards(&self, errors: &mut Errors) {
        for tokens in &self.guarded {
            let key = written(tokens);
            if found(&self.whole, &key).is_none() {
                let mend = match self.same_name(&key) {
                    Some(other) => {
                        format!(
                            "if `{other}` is the same type, write `on({key})` in place of `on({other})`; otherwise add"
                        )
                    }
                    None => format!("add `on({key}) = Restart` after this rule (or another directive), or"),
                };
                let message = format!(
                    "no rule decides `{key}` if the guard returns `false`: {mend} `on(_) = Stop` at the end"
                );
                errors.at(tokens, message);
            }
        }
    }
}

/// What to remove if `rule` and the earlier rule match the same failures: `part` of `rule`, or `other` of the earlier rule.
fn mend(part: &str, other: &str, rule: &Rule, earlier: &Rule) -> String {
    let (mut kept, mut wanted) = (earlier.answer.directive.word(), rule.answer.directive.word());
    if kept == wanted {
        (kept, wanted) = (&earlier.answer.text, &rule.answer.text);
    }
    if kept == wanted {
        return format!("remove {part}");
    }
    format!("remove {part} to keep `{kept}`, or remove {other} to have `{wanted}`")
}

/// The rule for `text`.
fn found<'a>(rules: &[(String, &'a Rule)], text: &str) -> Option<&'a Rule> {
    rules.iter().find(|(pattern, _)| pattern == text).map(|(_, rule)| *rule)
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
