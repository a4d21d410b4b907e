//! Collected errors: one run of a macro reports every mistake that it finds.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};

/// The mistakes in one attribute's input.
#[must_use = "collected errors are reported only by `finish`"]
#[derive(Default)]
pub(crate) struct Errors {
    all: Option<syn::Error>,
    count: usize,
}

impl Errors {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds an error at all of `tokens`.
    pub(crate) fn at(&mut self, tokens: &dyn ToTokens, message: impl std::fmt::Display) {
        self.add(syn::Error::new_spanned(tokens, message));
    }

    /// Adds an error at `span`.
    pub(crate) fn at_span(&mut self, span: Span, message: impl std::fmt::Display) {
        self.add(syn::Error::new(span, message));
    }

    pub(crate) fn add(&mut self, error: syn::Error) {
        self.count += 1;
        match &mut self.all {
            Some(all) => all.combine(error),
            None => self.all = Some(error),
        }
    }

    /// The number of errors so far.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the value, or adds the error.
    pub(crate) fn keep<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.add(error);
                None
            }
        }
    }

    /// All errors as one.
    pub(crate) fn finish(self) -> Option<syn::Error> {
        self.all
    }
}

/// What to do about a feature that is off, after the name of what needs it.
pub(crate) fn needs_feature(feature: &str) -> String {
    format!(
        "needs the feature `{feature}`: write `supervise-actors = {{ .., features = [\"{feature}\"] }}` in Cargo.toml"
    )
}

/// The error and the unchanged item, for an item that cannot be expanded.
pub(crate) fn beside(item: &dyn ToTokens, error: syn::Error) -> TokenStream {
    let error = error.into_compile_error();
    quote!(#error #item)
}
