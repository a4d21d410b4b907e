//! Attributes of the user's items: those that are ours, and the `#[cfg]`s that everything generated must share.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::Attribute;

use crate::syntax;

/// The `#[cfg]`s among `attrs`.
pub(crate) fn cfgs(attrs: &[Attribute]) -> TokenStream {
    let mut cfgs = TokenStream::new();
    for attribute in attrs {
        if attribute.path().is_ident("cfg") {
            attribute.to_tokens(&mut cfgs);
        }
    }
    cfgs
}

/// What `cfgs` ask for, separated by commas.
pub(crate) fn conditions(cfgs: &TokenStream) -> TokenStream {
    let mut conditions = TokenStream::new();
    // `#` `[cfg (..)]`
    for token in cfgs.clone() {
        let TokenTree::Group(attribute) = token else { continue };
        let mut attribute = attribute.stream().into_iter();
        attribute.next();
        if let Some(TokenTree::Group(condition)) = attribute.next() {
            if !conditions.is_empty() {
                conditions.extend(quote!(,));
            }
            conditions.extend(condition.stream());
        }
    }
    conditions
}

/// Puts `cfgs` before each of `items`.
pub(crate) fn under(cfgs: &TokenStream, items: Vec<TokenStream>) -> TokenStream {
    let mut under = TokenStream::new();
    for item in items {
        under.extend(quote!(#cfgs #item));
    }
    under
}

/// Takes the attributes that are `ours` out of `attrs`.
pub(crate) fn take(attrs: &mut Vec<Attribute>, ours: &dyn Fn(&Attribute) -> bool) -> Vec<Attribute> {
    let mut taken = Vec::new();
    let mut at = 0;
    while at < attrs.len() {
        if ours(&attrs[at]) {
            taken.push(attrs.remove(at));
        } else {
            at += 1;
        }
    }
    taken
}

/// Attributes of our own.
pub(crate) fn ours(tokens: TokenStream) -> Vec<Attribute> {
    syntax::read(tokens, Attribute::parse_outer).expect("attributes of ours")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_what_stands_in_the_brackets() {
        for (cfgs, conditions) in [
            (quote!(), quote!()),
            (quote!(#[cfg(unix,)]), quote!(unix,)),
            (quote!(#[cfg(unix)] #[cfg(any(a, b = "c"))]), quote!(unix, any(a, b = "c"))),
        ] {
            assert_eq!(super::conditions(&cfgs).to_string(), conditions.to_string());
        }
    }
}
