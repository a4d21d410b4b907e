//! `#[actor]` on an impl block: the messages, the ref's methods and the actor's behaviour.

mod behaviour;
mod coverage;
mod expand;
mod handler;
mod hook;
mod model;
mod parse;
mod types;

use proc_macro2::TokenStream;
use syn::parse::Parse;

use crate::errors::{Errors, beside};
use crate::{fallback, syntax};

/// Expands the attribute on the impl block `item`.
pub(crate) fn attribute(arguments: TokenStream, item: &TokenStream) -> TokenStream {
    let syntax = match syntax::read(item.clone(), parse::Block::parse) {
        Ok(syntax) => syntax,
        Err(error) => return beside(item, error),
    };
    let mut errors = Errors::new();
    let block = model::Block::read(arguments, syntax, &mut errors);
    match (block, errors.finish()) {
        (Some(block), None) => expand::expand(&block),
        (Some(block), Some(error)) => beside(&fallback::expand(&block), error),
        (None, Some(error)) => beside(item, error),
        (None, None) => item.clone(),
    }
}

pub(crate) use coverage::watches_all;
pub(crate) use expand::{located, never_variant, one_block, with_default_doc};
pub(crate) use handler::Handler;
pub(crate) use model::Block;
