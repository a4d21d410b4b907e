//! The values of a table as expressions.

use std::time::Duration;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::Path;

use crate::duration;
use crate::grammar::Word;
use crate::grammar::words::Directive;
use crate::supervise::model::{Answer, Backoff, Log, Reset, Strategy};

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

impl Expression for Backoff {
    fn expression(&self, krate: &Path) -> TokenStream {
        match self {
            Self::Exponential { min, max, jitter, reset } => {
                let (min, max) = (duration::expression(*min), duration::expression(*max));
                let mut backoff = quote!(#krate::Backoff::exponential(#min, #max));
                if let Some(jitter) = jitter {
                    backoff.extend(quote!(.jitter(#jitter)));
                }
                match reset {
                    Some(Reset::After(quiet)) => {
                        let quiet = duration::expression(*quiet);
                        backoff.extend(quote!(.reset_after(#quiet)));
                    }
                    Some(Reset::Manual) => backoff.extend(quote!(.manual_reset())),
                    None => {}
                }
                backoff
            }
            Self::Linear { window, initial, .. } => {
                let (window, initial) = (duration::expression(*window), duration::expression(*initial));
                quote!(#krate::Backoff::linear(#window, #initial))
            }
        }
    }
}

impl Expression for Strategy {
    fn expression(&self, krate: &Path) -> TokenStream {
        let scope = Ident::new(self.scope.word(), Span::mixed_site());
        let mut strategy = quote!(#krate::Strategy::#scope());
        self.arguments.each(&mut |name, value| {
            let (name, value) = (Ident::new(name, Span::mixed_site()), value.expression(krate));
            strategy.extend(quote!(.#name(#value)));
        });
        strategy
    }
}

impl Expression for Answer {
    fn expression(&self, krate: &Path) -> TokenStream {
        match (self.directive, &self.backoff) {
            // `failure` is a parameter of the generated `decide`.
            (Directive::Default, _) => quote_spanned!(Span::mixed_site()=> #krate::default_decider(failure)),
            (Directive::Restart, Some(backoff)) => {
                let backoff = backoff.expression(krate);
                quote!(#krate::Directive::RestartAfter(#backoff))
            }
            (directive, _) => directive.expression(krate),
        }
    }
}
