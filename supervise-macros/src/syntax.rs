//! Reading tokens as syntax.
//!
//! All parsers run through one function, because rustc would compile `syn::parse2` for each.

use proc_macro2::{Span, TokenStream};
use syn::Type;
use syn::parse::{ParseStream, Parser};

/// Reads all of `tokens` with `parser`.
pub(crate) fn read<T>(tokens: TokenStream, parser: fn(ParseStream<'_>) -> syn::Result<T>) -> syn::Result<T> {
    let mut reading = Reading { parser, result: Err(nothing_read()) };
    run(tokens, &mut reading);
    reading.result
}

fn nothing_read() -> syn::Error {
    syn::Error::new(Span::call_site(), "nothing was read")
}

/// A parser and its result.
struct Reading<T> {
    parser: fn(ParseStream<'_>) -> syn::Result<T>,
    result: syn::Result<T>,
}

/// A parser without the type of its result, so that [`run`] is compiled once. (A closure would be compiled three times.)
trait Run {
    /// Reads `input`. Returns whether that succeeded.
    fn run(&mut self, input: ParseStream<'_>) -> bool;

    fn fail(&mut self, error: syn::Error);
}

impl<T> Run for Reading<T> {
    fn run(&mut self, input: ParseStream<'_>) -> bool {
        self.result = (self.parser)(input);
        self.result.is_ok()
    }

    fn fail(&mut self, error: syn::Error) {
        self.result = Err(error);
    }
}

fn run(tokens: TokenStream, reading: &mut dyn Run) {
    let mut read = false;
    let parser = |input: ParseStream<'_>| {
        read = reading.run(input);
        Ok(())
    };
    // The parser's own error is more useful than one about the tokens that it did not read.
    if let Err(left) = parser.parse2(tokens)
        && read
    {
        reading.fail(left);
    }
}

/// `ty` without parentheses around it, including those that a `macro_rules!` puts around a type argument.
pub(crate) fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => bare(&group.elem),
        Type::Paren(paren) => bare(&paren.elem),
        ty => ty,
    }
}
