//! Reading tokens as syntax.
//!
//! All parsers run through one function, because `syn::parse2` is compiled anew for each of them.

use proc_macro2::TokenStream;
use syn::parse::{ParseStream, Parser};

/// Reads all of `tokens` with `parser`.
pub(crate) fn read<T>(tokens: TokenStream, parser: fn(ParseStream<'_>) -> syn::Result<T>) -> syn::Result<T> {
    let mut reading = Reading { parser, value: None };
    match run(tokens, &mut reading) {
        Ok(()) => Ok(reading.value.expect("the parser has succeeded")),
        Err(error) => Err(error),
    }
}

/// A parser, and what it has read.
struct Reading<T> {
    parser: fn(ParseStream<'_>) -> syn::Result<T>,
    value: Option<T>,
}

/// What can be run whatever it reads. A closure would be compiled three times.
trait Run {
    fn run(&mut self, input: ParseStream<'_>) -> syn::Result<()>;
}

impl<T> Run for Reading<T> {
    fn run(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        match (self.parser)(input) {
            Ok(value) => {
                self.value = Some(value);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

fn run(tokens: TokenStream, reading: &mut dyn Run) -> syn::Result<()> {
    (|input: ParseStream<'_>| reading.run(input)).parse2(tokens)
}
