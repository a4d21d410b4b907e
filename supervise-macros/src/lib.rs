//! The attributes of `supervise`. Use them through that crate, where they are documented.
//!
//! Each attribute runs in three stages, one file each: `parse` knows the grammar, `model` knows the meaning and
//! collects every mistake, `expand` writes code and cannot fail. What is not here: anything at run time. Generated
//! code calls `supervise::__private` for all that is generic.

mod attributes;
mod block;
mod declaration;
mod duration;
mod errors;
mod fallback;
mod generics;
mod markdown;
#[cfg(test)]
mod robustness;
mod settings;
#[cfg(test)]
mod snapshots;
mod spans;
mod supervise;
mod syntax;
mod test;
#[cfg(test)]
mod unfinished;

use proc_macro2::TokenStream;
use syn::DeriveInput;
use syn::parse::{Parse, ParseStream};

/// Declares an actor: its settings on a struct or enum, its handlers and hooks on an impl block.
#[proc_macro_attribute]
pub fn actor(arguments: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand_actor(arguments.into(), &item.into()).into()
}

/// Declares what an actor does about its failed children. Stands beside `#[actor]`.
#[proc_macro_attribute]
pub fn supervise(arguments: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    supervise::attribute(&arguments.into(), &item.into()).into()
}

fn expand_actor(arguments: TokenStream, item: &TokenStream) -> TokenStream {
    let kind = |input: ParseStream<'_>| {
        input.call(syn::Attribute::parse_outer)?;
        input.parse::<syn::Visibility>()?;
        let on_impl =
            input.peek(syn::Token![impl]) || input.peek(syn::Token![unsafe]) && input.peek2(syn::Token![impl]);
        let rest: TokenStream = input.parse()?;
        Ok((on_impl, rest))
    };
    match syntax::read(item.clone(), kind) {
        Ok((true, _)) => block::attribute(arguments, item),
        Ok((false, rest)) => match syntax::read(item.clone(), DeriveInput::parse) {
            Ok(declared) => declaration::attribute(arguments, declared),
            Err(error) => {
                let error = if starts_type(&rest) { error } else { no_actor(&rest) };
                errors::beside(item, error)
            }
        },
        Err(error) => errors::beside(item, error),
    }
}

fn starts_type(rest: &TokenStream) -> bool {
    matches!(first_word(rest).as_str(), "struct" | "enum" | "union")
}

fn first_word(rest: &TokenStream) -> String {
    match rest.clone().into_iter().next() {
        Some(token) => token.to_string(),
        None => String::new(),
    }
}

fn no_actor(rest: &TokenStream) -> syn::Error {
    let what = match first_word(rest).as_str() {
        "fn" | "async" => "a function is no actor",
        "trait" => "a trait is no actor",
        "mod" => "a module is no actor",
        _ => "this is no actor",
    };
    let mend = "write `#[actor]` on a struct or enum, `#[actor] struct Feed;`, and on its impl block, \
                `#[actor] impl Feed { #[handler] fn fetch(&mut self) {} }`";
    syn::Error::new_spanned(rest.clone().into_iter().next(), format!("{what}: {mend}"))
}

/// Runs a test on a paused clock with a private system: see `supervise::testkit`.
#[proc_macro_attribute]
pub fn test(arguments: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    test::attribute(&arguments.into(), item.into()).into()
}
