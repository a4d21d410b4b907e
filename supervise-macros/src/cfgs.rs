//! The `#[cfg]`s of an item, which everything generated from it must share.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Attribute;

/// The `#[cfg]`s among `attrs`.
pub(crate) fn of(attrs: &[Attribute]) -> Vec<Attribute> {
    attrs.iter().filter(|attribute| attribute.path().is_ident("cfg")).cloned().collect()
}

/// Puts `cfgs` before each of `items`.
pub(crate) fn apply(cfgs: &[Attribute], items: impl IntoIterator<Item = TokenStream>) -> TokenStream {
    items.into_iter().map(|item| quote!(#(#cfgs)* #item)).collect()
}
