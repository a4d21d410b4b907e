//! `#[protocol]` on a trait, and `implements(..)`, which joins a protocol with the handlers of an actor.
//!
//! A macro that expands the actor's block sees no trait, and one that expands the trait sees no handlers. So the trait gets a
//! `macro_rules!` of its own name, which passes the list of its methods on to `implement!`, together with the handlers that
//! `implements(..)` has written behind it.

mod expand;
pub(crate) mod implement;
mod model;
pub(crate) mod parse;

use proc_macro2::TokenStream;
use syn::ItemTrait;
use syn::parse::Parse;

use crate::errors::{Errors, beside};
use crate::syntax;

/// Expands the attribute on the trait `item`.
pub(crate) fn attribute(arguments: TokenStream, item: &TokenStream) -> TokenStream {
    let declared = match syntax::read(item.clone(), ItemTrait::parse) {
        Ok(declared) => declared,
        Err(error) => return beside(item, error),
    };
    let mut errors = Errors::new();
    let protocol = parse::protocol(arguments, declared, &mut errors);
    let expanded = expand::expand(&protocol);
    match errors.finish() {
        None => expanded,
        Some(error) => beside(&expanded, error),
    }
}
