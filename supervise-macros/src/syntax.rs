//! Reading tokens as syntax.
//!
//! All of syn's parsers run through one function: `syn::parse2` is compiled anew for each of them.

use proc_macro2::TokenStream;
use syn::parse::{ParseStream, Parser};

/// Reads all of `tokens` with `parser`.
pub(crate) fn read<T>(tokens: TokenStream, parser: fn(ParseStream<'_>) -> syn::Result<T>) -> syn::Result<T> {
    let mut value = None;
    run(tokens, &mut |input| {
        value = Some(parser(input)?);
        Ok(())
    })?;
    Ok(value.expect("the parser has succeeded"))
}

fn run(tokens: TokenStream, parser: &mut dyn FnMut(ParseStream<'_>) -> syn::Result<()>) -> syn::Result<()> {
    (|input: ParseStream<'_>| parser(input)).parse2(tokens)
}
