//! A table as code: the strategy, `decide`, the trait impls that let a parent's compiler see what is decided, and
//! the same table for the documentation. Cannot fail.
//!
//! Rules 3.1 and 3.2.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Path;

use super::model::{Directive, Kind, Pattern, Rule, Table};
use crate::markdown::cell;
use crate::settings::written;
use crate::spans;

/// The members of `impl Supervisor` that come from the table. Nothing, where the defaults serve.
pub(crate) fn members(table: &Table, krate: &Path) -> TokenStream {
    let strategy = table.strategy.expression(krate);
    let to_read = to_read(table, krate);
    let decide = decide(table, krate);
    quote! {
        const STRATEGY: #krate::Strategy = #strategy;
        #to_read
        #decide
    }
}

/// The table as data, for maps of the tree. The default table needs none.
fn to_read(table: &Table, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    let table = if let Some(decider) = &table.decider {
        let path = written(decider);
        quote_spanned!(mixed=> Function(#path))
    } else if table.rules.is_empty() {
        return TokenStream::new();
    } else {
        let mut rules = TokenStream::new();
        for rule in &table.rules {
            let text = &rule.text;
            rules.extend(if matches!(rule.directive, Directive::Default) {
                quote_spanned!(mixed=> #krate::Rule::by_default(#text),)
            } else {
                let directive = directive(&rule.directive, krate);
                quote_spanned!(mixed=> #krate::Rule::new(#text, #directive),)
            });
        }
        quote_spanned!(mixed=> Rules(&[#rules]))
    };
    quote_spanned!(mixed=> const TABLE: #krate::DeciderTable = #krate::DeciderTable::#table;)
}

fn decide(table: &Table, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    let body = if let Some(decider) = &table.decider {
        quote_spanned! {mixed=>
            let decider: fn(
                &#krate::Failure,
                &#krate::ChildInfo,
            ) -> ::core::result::Result<#krate::Directive, #krate::Failure> = #decider;
            decider(failure, child)
        }
    } else if table.rules.is_empty() {
        return TokenStream::new();
    } else {
        let mut cases = initialization(table, krate);
        for key in &table.keys() {
            cases.extend(errors_of(table, key, krate));
        }
        let kinds = kinds(table, krate);
        quote_spanned! {mixed=>
            let _ = child;
            #cases
            ::core::result::Result::Ok(#kinds)
        }
    };
    quote_spanned! {mixed=>
        fn decide(
            failure: &#krate::Failure,
            child: &#krate::ChildInfo,
        ) -> ::core::result::Result<#krate::Directive, #krate::Failure> {
            #body
        }
    }
}

fn initialization(table: &Table, krate: &Path) -> TokenStream {
    for rule in &table.rules {
        if matches!(rule.pattern, Pattern::Initialization) {
            let decided = decided(&rule.directive, krate);
            return quote_spanned!(Span::mixed_site()=> if failure.is_initialization() { #decided; });
        }
    }
    TokenStream::new()
}

/// What is done about the errors of one type.
fn errors_of(table: &Table, key: &TokenStream, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    let text = key.to_string();
    let mut rules: Vec<&Rule> = Vec::new();
    for rule in &table.rules {
        if rule.pattern.key().is_some_and(|own| own.to_string() == text) {
            rules.push(rule);
        }
    }
    // `#key` is where an error that is no error type is reported.
    let first = first_span(key);
    let at = spans::path_at(krate, first);
    let view = quote_spanned!(first=> #at::__private::error_as::<#key>);
    if let [Rule { pattern: Pattern::Type(_), guard: None, directive: only, .. }] = rules.as_slice() {
        let only = decided(only, krate);
        return quote_spanned! {mixed=>
            if #view(failure).is_some() {
                #only;
            }
        };
    }
    let mut arms = TokenStream::new();
    let mut whole = false;
    for rule in &rules {
        arms.extend(arm(rule, key, krate));
        whole |= matches!(rule.pattern, Pattern::Type(_)) && rule.guard.is_none();
    }
    let rest = if whole {
        TokenStream::new()
    } else if table.decides_all() {
        quote_spanned!(mixed=> _ => {})
    } else {
        // Lets rustc find the variants without a rule, and keeps it from proposing an arm with `todo!()`.
        quote_spanned!(mixed=> _ if false => {})
    };
    // Variants without a rule are reported here.
    let error = Ident::new("error", mixed.located_at(first));
    quote_spanned! {mixed=>
        if let ::core::option::Option::Some(error) = #view(failure) {
            #[deny(unreachable_patterns)]
            match #error {
                #arms
                #rest
            }
        }
    }
}

fn arm(rule: &Rule, key: &TokenStream, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    let guard = if let Some(guard) = &rule.guard {
        quote_spanned!(mixed=> if #krate::__private::guard::<#key>(error, #guard))
    } else {
        TokenStream::new()
    };
    let pattern = if let Pattern::Variant { pattern, .. } = &rule.pattern {
        pattern.clone()
    } else {
        quote_spanned!(first_span(key)=> _)
    };
    let body = decided(&rule.directive, krate);
    // The braces are the user's: rustc proposes further arms only where all arms come from one place.
    quote_spanned!(spans::of(&pattern)=> #pattern #guard => { #body })
}

fn first_span(key: &TokenStream) -> Span {
    match key.clone().into_iter().next() {
        Some(token) => token.span(),
        None => Span::mixed_site(),
    }
}

fn decided(what: &Directive, krate: &Path) -> TokenStream {
    let directive = directive(what, krate);
    quote_spanned!(Span::mixed_site()=> return ::core::result::Result::Ok(#directive))
}

/// What is done about panics, kills, death pacts, and everything that no rule before took.
fn kinds(table: &Table, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    let mut arms = TokenStream::new();
    let mut rest = quote_spanned!(mixed=> #krate::Directive::Escalate);
    for rule in &table.rules {
        let directive = directive(&rule.directive, krate);
        let kind = match &rule.pattern {
            Pattern::Kind(Kind::Panic) => "Panic",
            Pattern::Kind(Kind::Killed) => "Killed",
            Pattern::Kind(Kind::DeathPact) => "DeathPact",
            Pattern::Any => {
                rest = directive;
                continue;
            }
            Pattern::Initialization | Pattern::Type(_) | Pattern::Variant { .. } => continue,
        };
        let kind = Ident::new(kind, mixed);
        arms.extend(quote_spanned!(mixed=> #krate::FailureKind::#kind => #directive,));
    }
    if arms.is_empty() {
        return rest;
    }
    quote_spanned! {mixed=>
        match failure.kind() {
            #arms
            _ => #rest,
        }
    }
}

fn directive(directive: &Directive, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    let variant = match directive {
        Directive::Resume => "Resume",
        Directive::Restart => "Restart",
        Directive::RestartAfter(backoff) => {
            let backoff = backoff.expression(krate);
            return quote_spanned!(mixed=> #krate::Directive::RestartAfter(#backoff));
        }
        Directive::Stop => "Stop",
        Directive::Escalate => "Escalate",
        Directive::Default => return quote_spanned!(mixed=> #krate::default_decider(failure)),
    };
    let variant = Ident::new(variant, mixed);
    quote_spanned!(mixed=> #krate::Directive::#variant)
}

/// A call of a deprecated function for each old name in the table, so that rustc warns where the user wrote it.
pub(crate) fn warnings(table: &Table, krate: &Path) -> Vec<TokenStream> {
    let delays = table.rules.iter().filter_map(|rule| match &rule.directive {
        Directive::RestartAfter(backoff) => Some(backoff),
        _ => None,
    });
    let names = table.strategy.backoff.iter().chain(delays).filter_map(|backoff| backoff.old_name());
    names.map(|name| quote!(const _: () = #krate::__private::#name();)).collect()
}

/// The table as Markdown.
pub(crate) fn documentation(table: &Table) -> String {
    let strategy = table.strategy.sentence();
    if let Some(decider) = &table.decider {
        let path = written(decider);
        return format!("# Supervision\n\n{strategy}\n\nFailures are decided by `{path}`.\n");
    }
    let mut text = format!("# Supervision\n\n{strategy}\n\n| failure | directive |\n|---|---|");
    if table.rules.is_empty() {
        text += "\n| initialization failed, killed, death pact | Stop |\n| anything else | Restart |";
    }
    for rule in &table.rules {
        let pattern = match rule.pattern {
            Pattern::Any => "anything else".to_owned(),
            _ => cell(&rule.text),
        };
        let row = format!("\n| {pattern} | {} |", spoken(&rule.directive));
        text.push_str(&row);
    }
    if !table.decides_all() {
        text += "\n| anything else | Escalate |";
    }
    text
}

fn spoken(directive: &Directive) -> String {
    match directive {
        Directive::Resume => "Resume".to_owned(),
        Directive::Restart => "Restart".to_owned(),
        Directive::RestartAfter(backoff) => format!("Restart after {}", backoff.spoken()),
        Directive::Stop => "Stop".to_owned(),
        Directive::Escalate => "Escalate".to_owned(),
        Directive::Default => {
            "as by default: Stop what could not start, was killed or broke a death pact, else Restart".to_owned()
        }
    }
}
