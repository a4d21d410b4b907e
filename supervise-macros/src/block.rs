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
use quote::quote;
use syn::parse::Parse;

use crate::errors::Errors;
use crate::{fallback, syntax};

/// Expands the attribute on the impl block `item`.
pub(crate) fn attribute(arguments: TokenStream, item: &TokenStream) -> TokenStream {
    let syntax = match syntax::read(item.clone(), parse::Block::parse) {
        Ok(syntax) => syntax,
        Err(error) => {
            let error = error.into_compile_error();
            return quote!(#error #item);
        }
    };
    let mut errors = Errors::new();
    let block = model::Block::read(arguments, syntax, &mut errors);
    let error = errors.finish();
    let Some(block) = block else {
        let error = error.map(syn::Error::into_compile_error);
        return quote!(#error #item);
    };
    match error {
        None => expand::expand(&block),
        Some(error) => {
            let errors = error.into_compile_error();
            let stand_in = fallback::expand(&block);
            quote!(#errors #stand_in)
        }
    }
}

pub(crate) use coverage::watches_all;
pub(crate) use expand::{located, never_variant, with_default_doc};
pub(crate) use handler::Handler;
pub(crate) use model::Block;
