//! Rules: `on(PATTERN | .. if GUARD) = DIRECTIVE`.

use heck::ToUpperCamelCase;
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::{ExprClosure, Generics, Pat, Path, Token, Type};

use super::strategy;
use crate::errors::Errors;
use crate::generics::is_type_parameter;
use crate::grammar::arguments::RestartArguments;
use crate::grammar::words::{Directive, FailureKind};
use crate::grammar::{Arguments, Word};
use crate::settings::{self, Setting, split, written};
use crate::spelling::{joined, listed};
use crate::supervise::model::{Answer, Backoff, Pattern, Rule, RuleLimit, check_limit};
use crate::syntax;
use crate::value::this;

/// Reads a setting called `on`: a rule for each alternative.
pub(super) fn rules(setting: &Setting, generics: &Generics, errors: &mut Errors) -> syn::Result<Vec<Rule>> {
    let (Some(arguments), Some(value)) = (&setting.arguments, &setting.value) else {
        let pattern = setting.arguments.as_ref().map_or_else(|| "MyError".to_owned(), |pattern| written(pattern));
        return Err(setting.error(format!(
            "a rule needs a pattern and a directive: write `on({pattern}) = Restart` (or `Resume`, `Stop`, `Escalate`)"
        )));
    };
    let (alternatives, guard) = split_guard(arguments.clone());
    if alternatives.is_empty() {
        let message = "a rule needs a pattern: write `on(MyError)`, `on(Panic)` or `on(_)`";
        return Err(setting.error(message));
    }
    let mut patterns = Vec::new();
    for alternative in split(alternatives, '|') {
        patterns.push((pattern(alternative.clone(), generics)?, alternative));
    }
    let guard = match guard {
        Some((keyword, tokens)) => Some(closure(keyword, tokens, &patterns)?),
        None => None,
    };
    check_arrow(setting, value)?;
    let (name, arguments) = syntax::read(value.clone(), directive)?;
    // A table with an error is not expanded, so any directive may stand in for an unreadable one.
    let (directive, backoff, limit) =
        read_directive(&name, arguments, errors).unwrap_or((Directive::Default, None, None));
    let (span, text) = (name.span(), written(value));
    let answer = Answer { directive, backoff, limit, rule: 0, configured: None, span, text };
    let mut rules = Vec::new();
    for (pattern, tokens) in patterns {
        let place = setting.name.span();
        rules.push(Rule { pattern, tokens, guard: guard.clone(), place, answer: answer.clone() });
    }
    Ok(rules)
}

/// Separates `PATTERN | ..` from the tokens after `if`.
fn split_guard(tokens: TokenStream) -> (TokenStream, Option<(Span, TokenStream)>) {
    let mut tokens = tokens.into_iter();
    let mut patterns = TokenStream::new();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(word) if word == "if" => {
                let mut guard = TokenStream::new();
                guard.extend(tokens);
                return (patterns, Some((word.span(), guard)));
            }
            token => token.to_tokens(&mut patterns),
        }
    }
    (patterns, None)
}

fn closure(keyword: Span, tokens: TokenStream, patterns: &[(Pattern, TokenStream)]) -> syn::Result<ExprClosure> {
    if tokens.is_empty() {
        let mend = "a guard is a closure that takes the error: write `if |error| error.is_transient()`";
        return Err(syn::Error::new(keyword, mend));
    }
    if let Some(word) = this(&tokens) {
        let message = "a guard sees only the error, because the table belongs to the type and not to one supervisor: \
                       compare with a constant or with something in the error";
        return Err(syn::Error::new(word, message));
    }
    match syntax::read(tokens.clone(), ExprClosure::parse) {
        Ok(closure) if closure.inputs.len() == 1 => Ok(closure),
        _ => Err(syn::Error::new_spanned(&tokens, not_a_closure(&tokens, patterns))),
    }
}

/// What to write in place of a guard that is written as in a match arm.
fn not_a_closure(guard: &TokenStream, patterns: &[(Pattern, TokenStream)]) -> String {
    // `written` is for types, in which `<` has no blanks.
    let mut condition = guard.to_string();
    for (printed, spelled) in [(" . ", "."), (" :: ", "::"), (" (", "("), ("* ", "*")] {
        condition = condition.replace(printed, spelled);
    }
    let mend = match patterns {
        [(Pattern::Variant { .. }, pattern)] => {
            let mut any = pattern.clone();
            any = any
                .into_iter()
                .map(|token| match token {
                    TokenTree::Group(group) => {
                        let rest = quote!(..);
                        TokenTree::Group(proc_macro2::Group::new(group.delimiter(), rest))
                    }
                    other => other,
                })
                .collect();
            let (any, pattern) = (written(&any), written(pattern));
            format!("`on({any} if |error| matches!(error, {pattern} if {condition}))`")
        }
        _ => format!("`if |error| {condition}`"),
    };
    format!("a guard is a closure that takes the error: write {mend}")
}

// ---- patterns ------------------------------------------------------------------------------------------------------

fn pattern(tokens: TokenStream, generics: &Generics) -> syn::Result<Pattern> {
    let tokens = with_turbofish(tokens);
    // A path with parentheses after it is a pattern. syn would read it as a type like `Fn(..)`.
    if let Ok(pattern) = syntax::read(tokens.clone(), Pat::parse_single) {
        let path = match &pattern {
            Pat::Wild(_) => return Ok(Pattern::Any),
            Pat::Struct(shape) if shape.qself.is_none() => Some(&shape.path),
            Pat::TupleStruct(shape) if shape.qself.is_none() => Some(&shape.path),
            _ => None,
        };
        if let Some(path) = path {
            if let Some(name) = path.get_ident() {
                let pattern = written(&tokens);
                let message = format!(
                    "`{name}` may be a struct or a variant of an enum: if it is a struct, write `on(self::{pattern})`; if it is a \
                     variant, write the name of its enum before it, `on(MyError::{pattern})`, and so in each rule for that enum"
                );
                return Err(syn::Error::new(name.span(), message));
            }
            let of = enum_of(path, generics).unwrap_or_else(|| path.clone());
            return Ok(Pattern::Variant { of, pattern: tokens });
        }
    }
    let Ok(ty) = syntax::read(tokens.clone(), Type::parse) else {
        return Err(unreadable(&tokens));
    };
    if let Type::Path(path) = &ty {
        if let Some(kind) = kind(&path.path) {
            return Ok(Pattern::Kind(kind));
        }
        if let (None, Some(of)) = (&path.qself, enum_of(&path.path, generics)) {
            return Ok(Pattern::Variant { of, pattern: tokens });
        }
    }
    check_sized(&ty)?;
    Ok(Pattern::Type(Box::new(ty)))
}

/// Refuses types that stand for errors of many types.
fn check_sized(ty: &Type) -> syn::Result<()> {
    let text = written(ty);
    let message = if text.contains("dyn") && text.contains("Any") {
        "a caught panic is not an error: write `on(Panic)`".to_owned()
    } else if matches!(ty, Type::TraitObject(_))
        || ["std::error::Error", "core::error::Error"].contains(&text.as_str())
    {
        format!(
            "a rule names one error type, and `{text}` is a trait: write `on(_)` for every failure that no earlier rule names"
        )
    } else {
        return Ok(());
    };
    Err(syn::Error::new_spanned(ty, message))
}

/// Turns `StoreError<E>::Busy` into `StoreError::<E>::Busy`, because patterns need the `::` that types do
/// not.
fn with_turbofish(tokens: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is =
        |at: usize, sign: char| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == sign);
    let mut turbofish = None;
    for at in 1..tokens.len() {
        if !is(at, '<') || !matches!(&tokens[at - 1], TokenTree::Ident(_)) {
            continue;
        }
        let mut depth = 0_usize;
        for end in at..tokens.len() {
            if is(end, '<') {
                depth += 1;
            } else if is(end, '>') && !is(end - 1, '-') {
                depth -= 1;
                if depth == 0 {
                    if is(end + 1, ':') && is(end + 2, ':') {
                        turbofish = Some(at);
                    }
                    break;
                }
            }
        }
        break;
    }
    let mut with = TokenStream::new();
    for (at, token) in tokens.into_iter().enumerate() {
        if turbofish == Some(at) {
            let span = token.span();
            with.extend(quote::quote_spanned!(span=> ::));
        }
        token.to_tokens(&mut with);
    }
    with
}

/// The kind of failure that `path` names: `Panic`, or `supervise::Panic` as rustc's messages may write it.
fn kind(path: &Path) -> Option<FailureKind> {
    let (last, before) = (path.segments.last()?, path.segments.len() - 1);
    let is_kind = before == 0 || (before == 1 && path.segments.first()?.ident == "supervise");
    if is_kind && last.arguments.is_none() { FailureKind::named(&last.ident.to_string()) } else { None }
}

fn unreadable(tokens: &TokenStream) -> syn::Error {
    let message = if let Some(ty) = with_binding(tokens) {
        format!("a rule names the type only, `on({ty})`; a guard can look at the error, `on({ty} if |error| ..)`")
    } else if split(tokens.clone(), ',').len() > 1 {
        let alternatives: Vec<String> = split(tokens.clone(), ',').iter().map(|one| written(one)).collect();
        let alternatives: Vec<&str> = alternatives.iter().map(String::as_str).collect();
        format!("separate alternatives with `|`: write `on({})`", joined(&alternatives, " | "))
    } else {
        format!("expected an error type, a pattern of an error enum, {} or `_`", listed(FailureKind::WORDS))
    };
    syn::Error::new_spanned(tokens, message)
}

/// The enum of which `path` names a variant: the path without its last segment, if that is spelled like a type.
fn enum_of(path: &Path, generics: &Generics) -> Option<Path> {
    let mut of = path.clone();
    of.segments.pop()?;
    // Popping leaves the `::` after the segment before.
    let last = of.segments.pop()?;
    let name = last.ident.to_string();
    let bare = name.strip_prefix("r#").unwrap_or(&name);
    let is_type = bare == bare.to_upper_camel_case() || bare.starts_with(char::is_uppercase);
    let is_parameter = of.segments.is_empty() && is_type_parameter(generics, &last.ident);
    of.segments.push_value(last);
    (is_type && !is_parameter && bare != "Self").then_some(of)
}

/// The type in `error: Type`, which is how a function would declare a parameter.
fn with_binding(tokens: &TokenStream) -> Option<String> {
    let parameter = |input: ParseStream<'_>| {
        Pat::parse_single(input)?;
        input.parse::<Token![:]>()?;
        input.parse::<Type>()
    };
    syntax::read(tokens.clone(), parameter).ok().map(|ty| written(&ty))
}

// ---- directives ----------------------------------------------------------------------------------------------------

/// Refuses `on(..) => Restart`, as in a match arm.
fn check_arrow(rule: &Setting, value: &TokenStream) -> syn::Result<()> {
    let mut tokens = value.clone().into_iter();
    match tokens.next() {
        Some(TokenTree::Punct(sign)) if sign.as_char() == '>' => {
            let mut directive = TokenStream::new();
            directive.extend(tokens);
            let (pattern, directive) = (written(&rule.arguments), written(&directive));
            let message = format!("a rule has `=` before its directive: write `on({pattern}) = {directive}`");
            Err(syn::Error::new(sign.span(), message))
        }
        _ => Ok(()),
    }
}

/// The name of a directive, and the content of the parentheses after it.
fn directive(input: ParseStream<'_>) -> syn::Result<(Ident, Option<TokenStream>)> {
    let name = input.parse::<Ident>().map_err(|error| {
        let message = format!("expected a directive: one of {}", listed(Directive::WORDS));
        syn::Error::new(error.span(), message)
    })?;
    if input.peek(Token![::]) {
        let path: TokenStream = input.parse()?;
        let mut last = name.clone();
        for token in path.clone() {
            if let TokenTree::Ident(word) = token {
                last = word;
            }
        }
        let message = format!("a directive has no path: write `{last}`");
        return Err(syn::Error::new_spanned(&quote!(#name #path), message));
    }
    let arguments = if input.peek(syn::token::Paren) {
        let inner;
        syn::parenthesized!(inner in input);
        Some(inner.parse()?)
    } else {
        None
    };
    if input.is_empty() { Ok((name, arguments)) } else { Err(input.error("expected `,` after a directive")) }
}

const RESTART_AFTER: &str = "write `Restart(backoff(min = \"100ms\", max = \"10s\"))`";

/// Words that users may write in `Restart(..)` when they mean a delay.
const DELAYS: &[&str] = &["delay", "after", "wait", "min", "max", "initial", "jitter"];

fn read_directive(
    name: &Ident,
    arguments: Option<TokenStream>,
    errors: &mut Errors,
) -> Option<(Directive, Option<Backoff>, Option<RuleLimit>)> {
    if strategy::is_backoff(&name.to_string()) {
        errors.at(name, format!("a backoff belongs to `Restart`: write `Restart({name}(..))`"));
        return None;
    }
    let directive = Directive::read(name, errors);
    let directive = errors.keep(directive)?;
    let Some(arguments) = arguments else {
        return Some((directive, None, None));
    };
    if !matches!(directive, Directive::Restart) {
        errors.at(name, format!("`{name}` takes no arguments"));
        return None;
    }
    let before = errors.count();
    let settings = settings::parse(arguments, errors);
    if let Some(error) = strategy::wrong_limit(&settings, "Restart") {
        errors.add(error);
        return None;
    }
    for setting in &settings {
        let word = setting.name.to_string();
        if strategy::WORDS.contains(&word.as_str()) && !RestartArguments::WORDS.contains(&word.as_str()) {
            let message = format!(
                "`{word}` is a setting of the strategy: write `one_for_one({})`",
                written(setting.tokens())
            );
            errors.add(setting.error(message));
            return None;
        }
        if DELAYS.contains(&word.as_str()) {
            let mend = match &setting.value {
                Some(delay) if !["max", "jitter"].contains(&word.as_str()) => {
                    format!("write `Restart(backoff(min = {0}, max = {0}))`", written(delay))
                }
                _ => RESTART_AFTER.to_owned(),
            };
            errors.add(setting.error(format!("a delay before a restart is a backoff: {mend}")));
            return None;
        }
    }
    if settings.is_empty() && errors.count() == before {
        errors.at(
            name,
            format!("`Restart(..)` takes a backoff or a limit: {RESTART_AFTER} or `Restart(max_retries = 5)`"),
        );
        return None;
    }
    let RestartArguments { backoff, max_retries, within, window } = RestartArguments::of(&settings, errors);
    if errors.count() == before {
        check_limit(max_retries.given(), within.given(), window.given(), errors);
    }
    let limit = RuleLimit { max_retries: max_retries.value, within: within.value, window: window.value };
    Some((directive, backoff.value, limit.max_retries.is_some().then_some(limit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rules of a table as text: pattern, whether there is a guard, directive.
    fn read(table: &str) -> Result<Vec<(String, bool, String)>, String> {
        let tokens = table.parse().expect("the input lexes");
        let mut errors = Errors::new();
        let mut read = Vec::new();
        for setting in settings::parse(tokens, &mut errors).iter().filter(|setting| setting.name == "on") {
            let rules = rules(setting, &Generics::default(), &mut errors);
            for rule in errors.keep(rules).unwrap_or_default() {
                read.push((written(&rule.tokens), rule.guard.is_some(), rule.answer.text));
            }
        }
        errors.finish().map_or(Ok(read), |error| Err(error.to_string()))
    }

    #[test]
    fn a_rule_has_alternatives_and_a_guard() {
        let rules = read(
            "one_for_one, on(Panic | a::Error | B::C { d: 1 | 2 } if |e| e.f() | true) = Restart(backoff(min = 1s, max = 2s)),",
        );
        let patterns = ["Panic", "a::Error", "B::C { d : 1 | 2 }"];
        let directive = "Restart(backoff(min = 1s, max = 2s))";
        assert_eq!(rules, Ok(patterns.map(|pattern| (pattern.to_owned(), true, directive.to_owned())).to_vec()));
    }

    #[test]
    fn types_with_generics_are_patterns() {
        let rules = read("on(Box<dyn Error + Send>) = Stop, on(Query<A, B>) = Stop, on(_) = Stop")
            .map(|rules| rules.len());
        assert_eq!(rules, Ok(3));
    }

    #[test]
    fn incomplete_rules_are_errors_with_a_correction() {
        for (table, text) in [
            ("on", "needs a pattern and a directive"),
            ("on(X)", "needs a pattern and a directive"),
            ("on() = Stop", "a rule needs a pattern"),
            ("on(X) =", "the directive is missing"),
            ("on(X if) = Stop", "a guard is a closure"),
            ("on(1) = Stop", "expected an error type"),
            ("on(A::B, A::C) = Stop", "separate alternatives with `|`"),
            ("on(error: a::Error) = Stop", "names the type only, `on(a::Error)`"),
            ("on(X) = Directive::Stop", "has no path: write `Stop`"),
            ("on(X) = 1", "expected a directive"),
            ("on(X) = Stop now", "after a directive"),
            ("= 1", "expected a setting"),
        ] {
            let error = read(table).unwrap_err();
            assert!(error.contains(text), "{table}: {error}");
        }
    }
}
