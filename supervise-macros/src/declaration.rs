//! `#[actor]` on a struct or enum: the actor's ref, its settings and its table.

mod children;
mod expand;
mod model;

use proc_macro2::TokenStream;
use syn::{Attribute, DeriveInput};

pub(crate) use model::{Declaration, crate_path};

use crate::errors::{Errors, beside};

/// Expands the attribute on `item`.
pub(crate) fn attribute(arguments: TokenStream, item: DeriveInput) -> TokenStream {
    let mut errors = Errors::new();
    let declaration = Declaration::read(arguments, item, &mut errors);
    match errors.finish() {
        None => expand::expand(&declaration),
        Some(error) if declaration.borrows => {
            // Nothing that borrows can be an actor, not even a stand-in.
            beside(&declaration.item, error)
        }
        Some(error) => {
            // The item, its ref and permissive coverage stay, so that nobody else's code is in error.
            beside(&expand::expand(&declaration.without_table()), error)
        }
    }
}

/// Whether `attribute` is called `name`, under whatever path.
pub(crate) fn is(attribute: &Attribute, name: &str) -> bool {
    attribute.path().segments.last().is_some_and(|segment| segment.ident == name)
}
