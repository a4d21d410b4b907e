//! `#[actor]` on a struct or enum: the actor's ref, its settings and its table.

mod expand;
pub(crate) mod model;
pub(crate) mod parse;

use proc_macro2::TokenStream;
use syn::{Attribute, DeriveInput};

use crate::errors::{Errors, beside};

/// Expands the attribute on `item`.
pub(crate) fn attribute(arguments: TokenStream, item: DeriveInput) -> TokenStream {
    let mut errors = Errors::new();
    let declaration = parse::declaration(arguments, item, &mut errors);
    match errors.finish() {
        None => expand::expand(&declaration),
        // A type that borrows cannot be an actor even without its table.
        Some(error) if declaration.borrows() => beside(&declaration.item, error),
        Some(error) => {
            // The item, its ref and a table that decides everything remain, so that code that uses the actor has no errors.
            beside(&expand::expand(&declaration.without_table()), error)
        }
    }
}

/// Expands `#[derive(Actor)]`, which is a mistake: everything but the item, and the error.
pub(crate) fn derived(item: &TokenStream) -> TokenStream {
    let message = "an actor is not derived: write `#[actor]` above the type in place of `#[derive(Actor)]`";
    let error = syn::Error::new(proc_macro2::Span::call_site(), message);
    let Ok(item) = crate::syntax::read(item.clone(), <DeriveInput as syn::parse::Parse>::parse) else {
        return error.into_compile_error();
    };
    let mut errors = Errors::new();
    let declaration = parse::declaration(TokenStream::new(), item, &mut errors);
    let generated = if errors.finish().is_some() { TokenStream::new() } else { expand::generated(&declaration) };
    beside(&generated, error)
}

/// Whether the last segment of the attribute's path is `name`.
pub(crate) fn is(attribute: &Attribute, name: &str) -> bool {
    attribute.path().segments.last().is_some_and(|segment| segment.ident == name)
}
