//! Attributes of the user's items: those that are ours, and the `#[cfg]`s that everything generated must share.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Attribute;

use crate::syntax;

/// The `#[cfg]`s among `attrs`.
pub(crate) fn cfgs(attrs: &[Attribute]) -> Vec<Attribute> {
    attrs.iter().filter(|attribute| attribute.path().is_ident("cfg")).cloned().collect()
}

/// Puts `cfgs` before each of `items`.
pub(crate) fn under(cfgs: &[Attribute], items: impl IntoIterator<Item = TokenStream>) -> TokenStream {
    items.into_iter().map(|item| quote!(#(#cfgs)* #item)).collect()
}

/// Takes the attributes that are `ours` out of `attrs`.
pub(crate) fn take(attrs: &mut Vec<Attribute>, ours: impl Fn(&Attribute) -> bool) -> Vec<Attribute> {
    let (taken, kept) = std::mem::take(attrs).into_iter().partition(ours);
    *attrs = kept;
    taken
}

/// Attributes of our own.
pub(crate) fn ours(tokens: TokenStream) -> Vec<Attribute> {
    syntax::read(tokens, Attribute::parse_outer).expect("attributes of ours")
}
