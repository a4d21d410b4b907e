//! The values of a table as expressions.

use std::time::Duration;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::Path;

use crate::duration;
use crate::grammar::Word;
use crate::grammar::words::Directive;
use crate::spans;
use crate::supervise::model::{Answer, Backoff, Growth, Log, Reset, RuleLimit, Strategy};
use crate::value::Value;

/// A value that generated code can write down.
pub(crate) trait Expression {
    fn expression(&self, krate: &Path) -> TokenStream;
}

impl<W: Word> Expression for W {
    fn expression(&self, krate: &Path) -> TokenStream {
        variant(self.path(), krate)
    }
}

/// A variant of an enum of `supervise`. Apart from its only use, so that rustc compiles it once.
fn variant((ty, variant): (&str, &str), krate: &Path) -> TokenStream {
    let (ty, variant) = (Ident::new(ty, Span::mixed_site()), Ident::new(variant, Span::mixed_site()));
    quote!(#krate::#ty::#variant)
}

impl Expression for u32 {
    fn expression(&self, _: &Path) -> TokenStream {
        self.to_token_stream()
    }
}

impl Expression for usize {
    fn expression(&self, _: &Path) -> TokenStream {
        self.to_token_stream()
    }
}

impl Expression for Duration {
    fn expression(&self, _: &Path) -> TokenStream {
        duration::expression(*self)
    }
}

impl Expression for Log {
    fn expression(&self, krate: &Path) -> TokenStream {
        match self {
            Self::Off => quote!(#krate::Log::Off),
            Self::ByAttempt(warnings) => quote!(#krate::Log::ByAttempt(#warnings)),
            Self::At(level) => {
                let level = level.expression(krate);
                quote!(#krate::Log::At(#level))
            }
        }
    }
}

impl Expression for f64 {
    fn expression(&self, _: &Path) -> TokenStream {
        self.to_token_stream()
    }
}

impl Expression for Backoff {
    /// With a `?` in it, if a value depends on the supervisor's settings.
    fn expression(&self, krate: &Path) -> TokenStream {
        // Where rustc reports that constants contradict each other.
        let constant = self.constant().map(|place| Span::mixed_site().located_at(place));
        let (at, text) = (constant.unwrap_or_else(Span::mixed_site), &self.text);
        let made = |checked: bool, name: &str, first: &Value<Duration>, second: &Value<Duration>| {
            let (first, second) = (first.unchecked(krate), second.unchecked(krate));
            let (name, krate) = (Ident::new(name, at), spans::path_at(krate, at));
            if checked {
                quote_spanned!(at=> #krate::__private::#name(#text, #first, #second)?)
            } else {
                quote_spanned!(at=> #krate::Backoff::#name(#first, #second))
            }
        };
        match &self.growth {
            Growth::Exponential { min, max, jitter, reset, give_up_after } => {
                let checked = min.this().or(max.this()).is_some();
                let mut backoff = made(checked, "exponential", min, max);
                if let Some(jitter) = jitter {
                    let jitter = jitter.expression(krate);
                    backoff.extend(quote!(.jitter(#jitter)));
                }
                match reset.as_deref() {
                    Some(Reset::After(quiet)) => {
                        let quiet = quiet.expression(krate);
                        backoff.extend(quote!(.reset_after(#quiet)));
                    }
                    Some(Reset::Manual) => backoff.extend(quote!(.manual_reset())),
                    None => {}
                }
                let Some(limit) = give_up_after else { return backoff };
                if self.this().is_some() {
                    let limit = limit.unchecked(krate);
                    return quote_spanned!(at=> #krate::__private::give_up_after(#text, #backoff, #limit)?);
                }
                let limit = limit.expression(krate);
                backoff.extend(quote_spanned!(at=> .give_up_after(#limit)));
                backoff
            }
            Growth::Linear { window, initial, .. } => {
                made(window.this().or(initial.this()).is_some(), "linear", window, initial)
            }
        }
    }
}

impl Strategy {
    /// The strategy, without the arguments that `skipped` names.
    fn without(&self, skipped: &[&str], krate: &Path) -> TokenStream {
        let scope = Ident::new(self.scope.word(), Span::mixed_site());
        let mut strategy = quote!(#krate::Strategy::#scope());
        self.arguments.each(&mut |name, value| {
            if !skipped.contains(&name) {
                let (name, value) = (Ident::new(name, Span::mixed_site()), value.expression(krate));
                strategy.extend(quote!(.#name(#value)));
            }
        });
        strategy
    }

    /// What does not depend on the supervisor's settings.
    pub(crate) fn of_the_type(&self, krate: &Path) -> TokenStream {
        let mut skipped = Vec::new();
        if self.limit_from().is_some() {
            skipped.extend(["max_retries", "within", "window"]);
        }
        if self.backoff_from().is_some() {
            skipped.push("backoff");
        }
        self.without(&skipped, krate)
    }
}

impl Expression for Strategy {
    /// With a `?` in it, if a value depends on the supervisor's settings.
    fn expression(&self, krate: &Path) -> TokenStream {
        self.without(&[], krate)
    }
}

impl Answer {
    /// What [`expression`](Expression::expression) stands for, with a `?` in it if a value depends on the supervisor's settings.
    pub(crate) fn resolved(&self, krate: &Path) -> TokenStream {
        let backoff = self.backoff.as_ref().map(|backoff| backoff.expression(krate));
        match (self.directive, &self.limit, backoff) {
            // `failure` is a parameter of the generated `decide`.
            (Directive::Default, ..) => quote_spanned!(Span::mixed_site()=> #krate::default_decider(failure)),
            (Directive::Restart, Some(limit), backoff) => {
                let terms = limit.terms(self.rule, backoff, krate);
                quote!(#krate::Directive::RestartOn(#terms))
            }
            (Directive::Restart, None, Some(backoff)) => quote!(#krate::Directive::RestartAfter(#backoff)),
            (directive, ..) => directive.expression(krate),
        }
    }
}

impl RuleLimit {
    fn terms(&self, rule: u16, backoff: Option<TokenStream>, krate: &Path) -> TokenStream {
        let mut terms = quote!(#krate::Terms::of_rule(#rule));
        if let Some(retries) = &self.max_retries {
            let retries = retries.expression(krate);
            terms.extend(quote!(.max_retries(#retries)));
        }
        if let Some(within) = &self.within {
            let within = within.expression(krate);
            terms.extend(quote!(.within(#within)));
        }
        if let Some(window) = &self.window {
            let window = window.expression(krate);
            terms.extend(quote!(.window(#window)));
        }
        if let Some(backoff) = backoff {
            terms.extend(quote!(.backoff(#backoff)));
        }
        terms
    }
}

impl Expression for Answer {
    fn expression(&self, krate: &Path) -> TokenStream {
        match self.configured {
            // `configuration` is a parameter of the generated `rule_by`.
            Some(number) => quote_spanned!(Span::mixed_site()=> configuration.answer(#number)),
            None => self.resolved(krate),
        }
    }
}
