//! A table as code: the strategy, `decide`, the trait impls that let a parent's compiler see what is decided, and
//! the same table for the documentation. Cannot fail.
//!
//! Rules 3.1 and 3.2.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{ExprClosure, Path};

use super::model::{Directive, Kind, Pattern, Rule, Table};
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
        let path = crate::settings::written(decider.to_token_stream());
        quote_spanned!(mixed=> Function(#path))
    } else if table.rules.is_empty() {
        return TokenStream::new();
    } else {
        let rules = table.rules.iter().map(|rule| {
            let text = &rule.text;
            if matches!(rule.directive, Directive::Default) {
                return quote_spanned!(mixed=> #krate::Rule::by_default(#text));
            }
            let directive = directive(&rule.directive, krate);
            quote_spanned!(mixed=> #krate::Rule::new(#text, #directive))
        });
        quote_spanned!(mixed=> Rules(&[#(#rules),*]))
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
        let initialization = initialization(table, krate);
        let errors = table.keys().into_iter().map(|key| errors_of(table, &key, krate));
        let kinds = kinds(table, krate);
        quote_spanned! {mixed=>
            let _ = child;
            #initialization
            #(#errors)*
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

fn initialization(table: &Table, krate: &Path) -> Option<TokenStream> {
    let rule = table.rules.iter().find(|rule| matches!(rule.pattern, Pattern::Initialization))?;
    let directive = directive(&rule.directive, krate);
    Some(quote_spanned! {Span::mixed_site()=>
        if failure.is_initialization() {
            return ::core::result::Result::Ok(#directive);
        }
    })
}

/// What is done about the errors of one type.
fn errors_of(table: &Table, key: &TokenStream, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    let text = key.to_string();
    let rules: Vec<&Rule> =
        table.rules.iter().filter(|rule| rule.pattern.key().is_some_and(|own| own.to_string() == text)).collect();
    // `#key` is where an error that is no error type is reported.
    let first = key.clone().into_iter().next().map_or(mixed, |token| token.span());
    let at = spans::path_at(krate, first);
    let view = quote_spanned!(first=> #at::__private::error_as::<#key>);
    if let [Rule { pattern: Pattern::Type(_), guard: None, directive: only, .. }] = rules.as_slice() {
        let only = directive(only, krate);
        return quote_spanned! {mixed=>
            if #view(failure).is_some() {
                return ::core::result::Result::Ok(#only);
            }
        };
    }
    let arms = rules.iter().map(|rule| arm(rule, key, krate));
    let whole = rules.iter().any(|rule| matches!(rule.pattern, Pattern::Type(_)) && rule.guard.is_none());
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
                #(#arms)*
                #rest
            }
        }
    }
}

fn arm(rule: &Rule, key: &TokenStream, krate: &Path) -> TokenStream {
    let directive = directive(&rule.directive, krate);
    let guard = rule.guard.as_ref().map(|guard| guard_of(guard, key, krate));
    let pattern = if let Pattern::Variant { pattern, .. } = &rule.pattern {
        pattern.clone()
    } else {
        let span = key.clone().into_iter().next().map_or_else(Span::mixed_site, |token| token.span());
        quote_spanned!(span=> _)
    };
    let body = quote_spanned!(Span::mixed_site()=> return ::core::result::Result::Ok(#directive));
    // The braces are the user's: rustc proposes further arms only where all arms come from one place.
    quote_spanned!(spans::of(&pattern)=> #pattern #guard => { #body })
}

fn guard_of(guard: &ExprClosure, key: &TokenStream, krate: &Path) -> TokenStream {
    quote_spanned!(Span::mixed_site()=> if #krate::__private::guard::<#key>(error, #guard))
}

/// What is done about panics, kills, death pacts, and everything that no rule before took.
fn kinds(table: &Table, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    let arms: Vec<TokenStream> = table
        .rules
        .iter()
        .filter_map(|rule| {
            let Pattern::Kind(kind) = rule.pattern else {
                return None;
            };
            let kind = match kind {
                Kind::Panic => quote_spanned!(mixed=> Panic),
                Kind::Killed => quote_spanned!(mixed=> Killed),
                Kind::DeathPact => quote_spanned!(mixed=> DeathPact),
            };
            let directive = directive(&rule.directive, krate);
            Some(quote_spanned!(mixed=> #krate::FailureKind::#kind => #directive,))
        })
        .collect();
    let rest = table.rules.iter().find(|rule| matches!(rule.pattern, Pattern::Any)).map_or_else(
        || quote_spanned!(mixed=> #krate::Directive::Escalate),
        |rule| directive(&rule.directive, krate),
    );
    if arms.is_empty() {
        return rest;
    }
    quote_spanned! {mixed=>
        match failure.kind() {
            #(#arms)*
            _ => #rest,
        }
    }
}

fn directive(directive: &Directive, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    match directive {
        Directive::Resume => quote_spanned!(mixed=> #krate::Directive::Resume),
        Directive::Restart => quote_spanned!(mixed=> #krate::Directive::Restart),
        Directive::RestartAfter(backoff) => {
            let backoff = backoff.expression(krate);
            quote_spanned!(mixed=> #krate::Directive::RestartAfter(#backoff))
        }
        Directive::Stop => quote_spanned!(mixed=> #krate::Directive::Stop),
        Directive::Escalate => quote_spanned!(mixed=> #krate::Directive::Escalate),
        Directive::Default => quote_spanned!(mixed=> #krate::default_decider(failure)),
    }
}

/// The table as Markdown.
pub(crate) fn documentation(table: &Table) -> String {
    let strategy = table.strategy.sentence();
    if let Some(decider) = &table.decider {
        let path = crate::settings::written(decider.to_token_stream());
        return format!("# Supervision\n\n{strategy}\n\nFailures are decided by `{path}`.\n");
    }
    let mut rows = vec![format!("# Supervision\n\n{strategy}\n\n| failure | directive |\n|---|---|")];
    if table.rules.is_empty() {
        rows.push("| initialization failed, killed, death pact | Stop |\n| anything else | Restart |".to_owned());
    }
    rows.extend(table.rules.iter().map(|rule| {
        let pattern = match rule.pattern {
            Pattern::Any => "anything else".to_owned(),
            // A bar would end the cell, in code too.
            _ => format!("`{}`", rule.text.replace('|', "\\|")),
        };
        format!("| {pattern} | {} |", spoken(&rule.directive))
    }));
    if !table.decides_all() {
        rows.push("| anything else | Escalate |".to_owned());
    }
    rows.join("\n")
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
