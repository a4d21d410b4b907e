//! `#[supervise(..)]`: a supervisor's strategy and decider table.

pub(crate) mod expand;
pub(crate) mod model;
mod parse;
pub(crate) mod strategy;

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

/// Hands the table to the `#[actor]` below it; the two are expanded together, there.
pub(crate) fn attribute(arguments: &TokenStream, item: TokenStream) -> TokenStream {
    let mend = "`#[supervise(..)]` says what an actor does about its failed children: \
                write it beside `#[actor]` on a struct or enum, `#[actor] #[supervise(on(_) = Restart)] struct Parent { .. }`";
    let Ok(mut declared) = syn::parse2::<DeriveInput>(item.clone()) else {
        let error = syn::Error::new_spanned(first_line(&item), mend).into_compile_error();
        return quote!(#error #item);
    };
    if !declared.attrs.iter().any(|attribute| crate::declaration::is(attribute, "actor")) {
        let error = syn::Error::new_spanned(&declared.ident, mend).into_compile_error();
        return quote!(#error #item);
    }
    declared.attrs.push(syn::parse_quote!(#[supervise(#arguments)]));
    quote!(#declared)
}

/// What stands before an item's body, to point at.
fn first_line(item: &TokenStream) -> TokenStream {
    item.clone()
        .into_iter()
        .take_while(|token| !matches!(token, proc_macro2::TokenTree::Group(group) if group.delimiter() == proc_macro2::Delimiter::Brace))
        .collect()
}
