//! `#[protocol]` on a trait, and `implements(..)`, which joins a protocol with the handlers of an actor.
//!
//! The macro that expands the actor's block does not see the trait, and the macro that expands the trait does not see the
//! handlers. So the trait gets a `macro_rules!` of its own name. `implements(..)` calls it with the handlers, and it passes
//! them, together with the list of the trait's methods, to `implement!`.

mod expand;
pub(crate) mod implement;
mod model;
pub(crate) mod parse;

use proc_macro2::{TokenStream, TokenTree};
use syn::ItemTrait;
use syn::parse::Parse;

use crate::errors::{Errors, beside};
use crate::syntax;

/// The error for an item of another kind.
fn not_a_trait(item: &TokenStream) -> Option<syn::Error> {
    if item.clone().into_iter().any(|token| matches!(&token, TokenTree::Ident(word) if word == "trait")) {
        return None;
    }
    let message = "a protocol is a trait, which lists messages that several actors take: for such a list, write `#[protocol] #[async_trait] trait \
                   Storage { async fn get(&self, key: String) -> Result<u8, AskError>; }`\n\
                   or, if this is an actor, or a type of another use, remove `#[protocol]` (an actor takes the messages of a protocol by `#[actor(implements(Storage))]` on its impl block)";
    Some(syn::Error::new_spanned(item, message))
}

/// Expands the attribute on the trait `item`.
pub(crate) fn attribute(arguments: TokenStream, item: &TokenStream) -> TokenStream {
    let declared = match syntax::read(item.clone(), ItemTrait::parse) {
        Ok(declared) => declared,
        Err(error) => return beside(item, not_a_trait(item).unwrap_or(error)),
    };
    let mut errors = Errors::new();
    let protocol = parse::protocol(arguments, declared, &mut errors);
    let expanded = expand::expand(&protocol);
    match errors.finish() {
        None => expanded,
        Some(error) => beside(&expanded, error),
    }
}
