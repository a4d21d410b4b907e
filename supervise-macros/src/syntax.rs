//! Reading tokens as syntax.
//!
//! All parsers run through one function, because `syn::parse2` is compiled anew for each of them.

use proc_macro2::{Span, TokenStream};
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

/// A parser, and what it has read.
struct Reading<T> {
    parser: fn(ParseStream<'_>) -> syn::Result<T>,
    result: syn::Result<T>,
}

/// What can be run whatever it reads. A closure would be compiled three times.
trait Run {
    /// Whether it can be read.
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
    // The parser's own error comes before one about tokens that are left.
    if let Err(left) = parser.parse2(tokens)
        && read
    {
        reading.fail(left);
    }
}
