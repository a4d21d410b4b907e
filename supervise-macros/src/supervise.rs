//! `#[supervise(..)]`: a supervisor's strategy and decider table.

pub(crate) mod expand;
pub(crate) mod model;
pub(crate) mod parse;

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::DeriveInput;
use syn::parse::Parse;

use crate::errors::beside;
use crate::{attributes, syntax};

/// The attribute that carries a table from a `#[supervise]` above an `#[actor]` to that `#[actor]`.
pub(crate) const HANDED_DOWN: &str = "__supervise_table";

const ALREADY_READ: &str = "__already_read";

/// `#[actor]` removes a `#[supervise]` below it before rustc resolves that name. This mentions the name once more, so that its
/// import counts as used and editors know it.
pub(crate) fn already_read(path: &syn::Path) -> TokenStream {
    let marker = Ident::new(ALREADY_READ, Span::mixed_site());
    quote!(#[#path(#marker)] const _: () = ();)
}

/// Passes the table to the `#[actor]` below, which expands both.
pub(crate) fn attribute(arguments: &TokenStream, item: &TokenStream) -> TokenStream {
    if arguments.to_string() == ALREADY_READ {
        return TokenStream::new();
    }
    let mend = "`#[supervise(..)]` says what an actor does about its failed children: \
                write it beside `#[actor]` on a struct or enum, `#[actor] #[supervise(on(_) = Restart)] struct Parent { .. }`";
    let Ok(mut declared) = syntax::read(item.clone(), DeriveInput::parse) else {
        return beside(item, syn::Error::new_spanned(first_line(item), mend));
    };
    if !declared.attrs.iter().any(|attribute| crate::declaration::is(attribute, "actor")) {
        return beside(item, syn::Error::new_spanned(&declared.ident, mend));
    }
    let handed_down = Ident::new(HANDED_DOWN, Span::mixed_site());
    declared.attrs.extend(attributes::ours(quote!(#[#handed_down(#arguments)])));
    quote!(#declared)
}

/// The tokens before an item's body, as a place for errors.
fn first_line(item: &TokenStream) -> TokenStream {
    let mut line = TokenStream::new();
    for token in item.clone() {
        if matches!(&token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace) {
            break;
        }
        token.to_tokens(&mut line);
    }
    line
}
