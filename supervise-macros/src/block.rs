//! `#[actor]` on an impl block: the messages, the ref's methods and the actor's behaviour.

mod expand;
pub(crate) mod model;
pub(crate) mod parse;

use proc_macro2::TokenStream;
use syn::parse::Parse;

use crate::errors::{Errors, beside};
use crate::syntax;

/// Expands the attribute on the impl block `item`.
pub(crate) fn attribute(arguments: TokenStream, item: &TokenStream) -> TokenStream {
    let syntax = match syntax::read(item.clone(), parse::syntax::Block::parse) {
        Ok(syntax) => syntax,
        Err(error) => return beside(item, error),
    };
    let mut errors = Errors::new();
    let block = parse::block(arguments, syntax, &mut errors);
    match (block, errors.finish()) {
        (Some(block), None) => expand::expand(&block),
        (Some(block), Some(error)) => expand::with_mistakes(&block, &error),
        (None, Some(error)) => beside(item, error),
        (None, None) => item.clone(),
    }
}
