//! Writes a [`Table`] as the strategy, `decide`, and the table that `Tree` shows. Cannot fail.
//!
//! Rules 3.1 and 3.2.

mod coverage;
mod documentation;
mod expression;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{DeriveInput, Generics, Path};

pub(crate) use coverage::{coverage, declaration};
pub(crate) use documentation::documentation;
pub(crate) use expression::Expression;

use super::model::{Answer, Pattern, Rule, Table};
use crate::generics::derivation;
use crate::grammar::words::{Directive, FailureKind};
use crate::settings::written;
use crate::{attributes, spans};

/// The members that the table determines, for an impl of the trait `of`.
pub(crate) fn members(table: &Table, of: &TokenStream, krate: &Path) -> TokenStream {
    if let Some(shared) = &table.shared.value {
        return shared_members(shared, krate);
    }
    let strategy = table.strategy.of_the_type(krate);
    let mut members = quote_spanned!(Span::mixed_site()=> const STRATEGY: #krate::Strategy = #strategy;);
    if let Some(this) = table.this() {
        members.extend(configure(table, this, krate));
    }
    if let Some(decider) = &table.decider.value {
        members.extend(decided_by_function(decider, krate));
    } else if !table.rules.is_empty() {
        members.extend(decided_by_rules(table, of, krate));
    }
    members
}

fn shared_members(shared: &Path, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    let at = spans::path_at(krate, spans::of(&quote!(#shared)));
    let table = quote_spanned!(mixed=> <#shared as #at::SupervisionTable>);
    let decide = forwarded(&table, krate);
    quote_spanned! {mixed=>
        const STRATEGY: #krate::Strategy = #table::STRATEGY;
        const TABLE: #krate::DeciderTable = #table::TABLE;
        #decide
    }
}

/// A unit struct and its table.
pub(crate) fn own_table(table: &Table, item: &DeriveInput, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    let mut item = item.clone();
    let text = format!("\n{}", documentation(table));
    item.attrs.extend(attributes::ours(quote!(#[doc = #text])));
    let ident = &item.ident;
    let of = quote_spanned!(mixed=> #krate::SupervisionTable);
    let mut members = members(table, &of, krate);
    if table.rules.is_empty() && table.decider.value.is_none() && table.shared.value.is_none() {
        let default = quote_spanned!(mixed=> <#krate::DefaultTable as #krate::SupervisionTable>);
        let decide = forwarded(&default, krate);
        members.extend(quote_spanned! {mixed=>
            const TABLE: #krate::DeciderTable = #default::TABLE;
            #decide
        });
    }
    let mut generated = vec![derivation(&item.generics, of, ident, members)];
    // An actor that uses the table may have permanent children.
    generated.extend(coverage(table, &item.generics, ident, krate, true));
    generated.extend(checked(table, &item.generics, &quote!(#ident), &quote!(SupervisionTable), krate));
    let generated = attributes::under(&attributes::cfgs(&item.attrs), true, generated);
    let warnings = warnings(table);
    quote!(#item #generated #warnings)
}

/// Warns where the user wrote a backoff under its old name. The name is a macro's, because rustc shows a macro's name without a path.
pub(crate) fn warnings(table: &Table) -> TokenStream {
    let mut warnings = TokenStream::new();
    for (old, text) in table.renamed() {
        let name = Ident::new(&old.to_string(), Span::mixed_site().located_at(old.span()));
        let note = format!(
            "this backoff is now called `linear_backoff`, because its delay grows linearly: write `{}`",
            text.replacen(&old.to_string(), "linear_backoff", 1)
        );
        warnings.extend(quote_spanned! {Span::mixed_site()=>
            const _: () = {
                #[deprecated(note = #note)]
                macro_rules! #name { () => { () } }
                #name!()
            };
        });
    }
    warnings
}

fn decided_by_function(decider: &Path, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    let path = written(decider);
    let body = quote_spanned! {mixed=>
        let decider: fn(
            &#krate::Failure,
            &#krate::ChildInfo,
        ) -> ::core::result::Result<#krate::Directive, #krate::Failure> = #decider;
        decider(failure, child)
    };
    let decide = decide(&body, krate);
    quote_spanned! {mixed=>
        const TABLE: #krate::DeciderTable = #krate::DeciderTable::Function(#path);
        #decide
    }
}

fn decided_by_rules(table: &Table, of: &TokenStream, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    let mut rules = TokenStream::new();
    for rule in &table.rules {
        let text = rule.text();
        rules.extend(if rule.answer.configured.is_some() {
            let (directive, configured) = (rule.answer.directive.expression(krate), &rule.answer.text);
            quote_spanned!(mixed=> #krate::Rule::configured(#text, #directive, #configured),)
        } else if rule.answer.directive == Directive::Default {
            quote_spanned!(mixed=> #krate::Rule::by_default(#text),)
        } else {
            let directive = rule.answer.expression(krate);
            quote_spanned!(mixed=> #krate::Rule::new(#text, #directive),)
        });
    }
    let mut cases = initialization(table, krate);
    for key in &table.keys() {
        cases.extend(errors_of(table, key, krate));
    }
    let kinds = kinds(table, krate);
    let body = quote_spanned! {mixed=>
        let _ = child;
        #cases
        ::core::result::Result::Ok(#kinds)
    };
    if !table.configured().is_empty() {
        let rule_by = rule_by(&body, krate);
        return quote_spanned! {mixed=>
            const TABLE: #krate::DeciderTable = #krate::DeciderTable::Rules(&[#rules]);
            #rule_by
        };
    }
    let rule = rule(&body, krate);
    let decide = decide(
        &quote_spanned! {mixed=>
            let (directive, _) = <Self as #of>::rule(failure, child)?;
            ::core::result::Result::Ok(directive)
        },
        krate,
    );
    quote_spanned! {mixed=>
        const TABLE: #krate::DeciderTable = #krate::DeciderTable::Rules(&[#rules]);
        #rule
        #decide
    }
}

/// Resolves the values that depend on the supervisor's settings, which mention `this`.
fn configure(table: &Table, this: Span, krate: &Path) -> TokenStream {
    let (text, strategy) = (&table.strategy.text, table.strategy.expression(krate));
    let mut answers = TokenStream::new();
    for answer in table.configured() {
        let directive = answer.resolved(krate);
        answers.extend(quote!(#directive,));
    }
    // The user's `self` is this one.
    let this = Ident::new("self", this);
    quote_spanned! {Span::mixed_site()=>
        const CONFIGURED: ::core::option::Option<&'static ::core::primitive::str> = ::core::option::Option::Some(#text);

        fn configure(&#this) -> ::core::result::Result<#krate::Configuration, #krate::InvalidSettings> {
            ::core::result::Result::Ok(#krate::Configuration::new(#strategy, [#answers]))
        }
    }
}

/// `rule` with the values of an instance, and a `decide` that says that it needs them.
fn rule_by(body: &TokenStream, krate: &Path) -> TokenStream {
    quote_spanned! {Span::mixed_site()=>
        fn decide(
            _: &#krate::Failure,
            _: &#krate::ChildInfo,
        ) -> ::core::result::Result<#krate::Directive, #krate::Failure> {
            ::core::result::Result::Err(#krate::__private::needs_configuration())
        }

        fn rule_by(
            configuration: &#krate::Configuration,
            failure: &#krate::Failure,
            child: &#krate::ChildInfo,
        ) -> ::core::result::Result<#krate::Ruled, #krate::Failure> {
            #body
        }
    }
}

/// Makes rustc check the constants in the table of `ty` even if nothing uses it.
pub(crate) fn checked(
    table: &Table,
    generics: &Generics,
    ty: &TokenStream,
    of: &TokenStream,
    krate: &Path,
) -> Option<TokenStream> {
    if !table.has_constants() || !generics.params.is_empty() {
        return None;
    }
    Some(quote_spanned! {Span::mixed_site()=>
        const _: () = {
            let _ = <#ty as #krate::#of>::STRATEGY;
            let _ = <#ty as #krate::#of>::TABLE;
        };
    })
}

fn decide(body: &TokenStream, krate: &Path) -> TokenStream {
    quote_spanned! {Span::mixed_site()=>
        fn decide(
            failure: &#krate::Failure,
            child: &#krate::ChildInfo,
        ) -> ::core::result::Result<#krate::Directive, #krate::Failure> {
            #body
        }
    }
}

/// Also names the rule that matches.
fn rule(body: &TokenStream, krate: &Path) -> TokenStream {
    quote_spanned! {Span::mixed_site()=>
        fn rule(
            failure: &#krate::Failure,
            child: &#krate::ChildInfo,
        ) -> ::core::result::Result<#krate::Ruled, #krate::Failure> {
            #body
        }
    }
}

/// Leaves the decision to another table.
fn forwarded(table: &TokenStream, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    let mut methods = rule(&quote_spanned!(mixed=> #table::rule(failure, child)), krate);
    methods.extend(decide(&quote_spanned!(mixed=> #table::decide(failure, child)), krate));
    methods
}

/// Decides failed starts, which may carry an error of any type.
fn initialization(table: &Table, krate: &Path) -> TokenStream {
    for (place, rule) in (0_u16..).zip(&table.rules) {
        if matches!(rule.pattern, Pattern::Kind(FailureKind::InitializationFailed)) {
            let decided = decided(place, &rule.answer, krate);
            return quote_spanned!(Span::mixed_site()=> if failure.is_initialization() { #decided; });
        }
    }
    TokenStream::new()
}

/// Decides the errors of one type.
fn errors_of(table: &Table, key: &TokenStream, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    let text = key.to_string();
    let of_key = |(_, rule): &(u16, &Rule)| rule.pattern.key().is_some_and(|own| own.to_string() == text);
    let rules: Vec<(u16, &Rule)> = (0..).zip(&table.rules).filter(of_key).collect();
    // rustc reports here that `#key` is not an error type.
    let first = first_span(key);
    let at = spans::path_at(krate, first);
    let key = &error_type(key, krate);
    let mut view = quote_spanned!(first=> #at::__private::error_as::<#key>);
    if let [(place, Rule { pattern: Pattern::Type(_), guard: None, answer, .. })] = rules.as_slice() {
        let decided = decided(*place, answer, krate);
        return quote_spanned! {mixed=>
            if let ::core::option::Option::Some(_) = #view(failure) {
                #decided;
            }
        };
    }
    let mut arms = TokenStream::new();
    for (place, rule) in &rules {
        arms.extend(arm(*place, rule, key, krate));
    }
    let whole = |(_, rule): &(u16, &Rule)| matches!(rule.pattern, Pattern::Type(_)) && rule.guard.is_none();
    let mut rest = TokenStream::new();
    if rules.iter().any(whole) {
        // That rule covers all variants.
    } else if table.decides_all() {
        rest = quote_spanned!(mixed=> _ => {});
    } else {
        // rustc reports the variants without a rule. This arm keeps it from suggesting a placeholder arm for them.
        rest = quote_spanned!(mixed=> _ if false => {});
        // Another key may be the same type in another spelling, and its rules may cover these variants.
        if rules.len() < table.rules.iter().filter(|rule| rule.pattern.key().is_some()).count() {
            view = quote_spanned!(first=> #at::__private::error_of::<Self, #key>);
        }
    }
    // rustc reports variants without a rule here, at all rules of the type, and prints this expression as a pattern.
    let here = |span| mixed.located_at(span);
    let (start, end) = rules
        .first()
        .zip(rules.last())
        .map_or((first, first), |((_, first), (_, last))| (first.place, last.answer.span));
    let mut error = Group::new(Delimiter::Parenthesis, Ident::new("error", mixed).into_token_stream());
    error.set_span(here(end));
    let at = spans::path_at(krate, here(start));
    let error = quote_spanned!(here(start)=> #at::missing_rule::on #error);
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

fn arm(place: u16, rule: &Rule, key: &TokenStream, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    let guard = if let Some(guard) = &rule.guard {
        quote_spanned!(mixed=> if #krate::__private::guard::<#key>(error, #guard))
    } else {
        TokenStream::new()
    };
    let body = decided(place, &rule.answer, krate);
    let Pattern::Variant { pattern, .. } = &rule.pattern else {
        return quote_spanned!(first_span(key)=> _ #guard => { #body });
    };
    // The whole has the user's span, because rustc reports no unreachable pattern in the code of a macro. It suggests further arms
    // only where all arms have one origin.
    let here = spans::of(pattern);
    let at = spans::path_at(krate, first_span(pattern));
    let mut inner = Group::new(Delimiter::Parenthesis, pattern.clone());
    inner.set_span(last_span(pattern));
    quote_spanned!(here=> #at::missing_rule::on #inner #guard => { #body })
}

/// An error type in generated code. A type with the name `Error` may be the trait of all errors. rustc would tell the user to write
/// `dyn Error`, but does not for the code of a macro, whose name it prints.
fn error_type(key: &TokenStream, krate: &Path) -> TokenStream {
    let mut tokens = key.clone().into_iter();
    match (tokens.next(), tokens.next()) {
        (Some(TokenTree::Ident(word)), None) if word == "Error" => {
            let here = Span::mixed_site().located_at(word.span());
            let at = spans::path_at(krate, here);
            quote_spanned!(here=> #at::__private::a_rule_names_an_error_type_and_not_a_trait__write_on_underscore_for_all_others!())
        }
        _ => key.clone(),
    }
}

fn first_span(key: &TokenStream) -> Span {
    match key.clone().into_iter().next() {
        Some(token) => token.span(),
        None => Span::mixed_site(),
    }
}

fn last_span(pattern: &TokenStream) -> Span {
    pattern.clone().into_iter().last().map_or_else(Span::mixed_site, |token| token.span())
}

fn decided(place: u16, answer: &Answer, krate: &Path) -> TokenStream {
    let ruled = ruled(place, answer, krate);
    quote_spanned!(Span::mixed_site()=> return ::core::result::Result::Ok(#ruled))
}

/// The directive, and the place of the rule that gives it.
fn ruled(place: u16, answer: &Answer, krate: &Path) -> TokenStream {
    let directive = answer.expression(krate);
    quote_spanned!(Span::mixed_site()=> (#directive, ::core::option::Option::Some(#place)))
}

/// Decides panics, kills, death pacts, and every failure that no rule before has decided.
fn kinds(table: &Table, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    let mut arms = TokenStream::new();
    let mut rest = quote_spanned!(mixed=> (#krate::Directive::Escalate, ::core::option::Option::None));
    for (place, rule) in (0..).zip(&table.rules) {
        let directive = ruled(place, &rule.answer, krate);
        match &rule.pattern {
            Pattern::Any => rest = directive,
            Pattern::Kind(FailureKind::InitializationFailed) | Pattern::Type(_) | Pattern::Variant { .. } => {}
            Pattern::Kind(kind) => {
                let kind = kind.expression(krate);
                arms.extend(quote_spanned!(mixed=> #kind => #directive,));
            }
        }
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
