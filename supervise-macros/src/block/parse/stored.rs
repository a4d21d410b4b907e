//! Reads what a handler says about the durable mailbox of its actor.

use proc_macro2::Ident;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{LitStr, Token};

use crate::errors::{Errors, needs_feature};
use crate::settings::{Setting, flag};

/// Whether messages are encoded. The snapshots show both.
#[cfg(not(test))]
pub(crate) fn is_on() -> bool {
    cfg!(feature = "durable")
}

#[cfg(test)]
pub(crate) use self::switch::is_on;

/// The error for a word that needs the feature.
pub(crate) fn feature_is_off(word: &Ident) -> syn::Error {
    syn::Error::new(word.span(), format!("`{word}` {}", needs_feature("durable")))
}

fn check(setting: &Setting) -> syn::Result<()> {
    if is_on() { Ok(()) } else { Err(feature_is_off(&setting.name)) }
}

/// Reads `transient`.
pub(crate) fn stored_flag(setting: &Setting, example: &'static str, errors: &mut Errors) -> syn::Result<()> {
    check(setting)?;
    flag(setting, example, errors)
}

/// Reads `stored_as = "refund"`.
pub(crate) fn stored_name(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<LitStr> {
    check(setting)?;
    named(setting.value(<LitStr as Parse>::parse, example)?)
}

/// Reads `also = ["pay_back"]`.
pub(crate) fn stored_names(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<Vec<LitStr>> {
    check(setting)?;
    let names = |input: ParseStream<'_>| {
        let inner;
        syn::bracketed!(inner in input);
        Punctuated::<LitStr, Token![,]>::parse_terminated(&inner)
    };
    setting.value(names, example)?.into_iter().map(named).collect()
}

fn named(name: LitStr) -> syn::Result<LitStr> {
    if name.value().is_empty() {
        return Err(syn::Error::new(
            name.span(),
            "a stored message needs a name: write one that no other handler has, or remove this setting",
        ));
    }
    Ok(name)
}

#[cfg(test)]
pub(crate) mod switch {
    use std::cell::Cell;

    thread_local! {
        static ON: Cell<bool> = const { Cell::new(false) };
    }

    pub(crate) fn is_on() -> bool {
        ON.get()
    }

    /// Runs `code` as if the feature were on.
    pub(crate) fn on<T>(act: impl FnOnce() -> T) -> T {
        ON.set(true);
        let outcome = act();
        ON.set(false);
        outcome
    }
}
