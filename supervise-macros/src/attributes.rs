//! The attributes of the user's items: our own, and `#[cfg]`s, which generated code repeats.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Meta, Path, Token};

use crate::errors::Errors;
use crate::spelling::closest;
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

/// The conditions in `cfgs`, separated by commas.
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

/// Puts `cfgs` before each of `items`. Generated code that may mention something `deprecated` does not warn about it, because the
/// user's own code does.
pub(crate) fn under(cfgs: &TokenStream, deprecated: bool, items: Vec<TokenStream>) -> TokenStream {
    let before = if deprecated { quote!(#cfgs #[allow(deprecated)]) } else { cfgs.clone() };
    let mut under = TokenStream::new();
    for item in items {
        under.extend([before.clone(), item]);
    }
    under
}

/// Whether one of `attrs` makes its item deprecated in some build.
pub(crate) fn deprecates(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attribute| attribute.path().is_ident("deprecated") || attribute.path().is_ident("cfg_attr"))
}

/// Rewrites each `#[cfg_attr(condition, a, b)]` as one attribute for `a` and one for `b`, and a `#[cfg]` in it as a plain
/// `#[cfg]`. rustc expands the attributes of methods and fields after this macro, so their meaning stays the same.
pub(crate) fn unfold(attrs: &mut Vec<Attribute>) {
    let mut at = 0;
    while at < attrs.len() {
        let unfolded = match conditional(&attrs[at]) {
            None => None,
            Some((_, inner)) if inner.len() == 1 && !is_cfg(&inner[0]) => None,
            Some((condition, inner)) => {
                Some(inner.iter().map(|inner| under_condition(&condition, inner)).collect::<Vec<_>>())
            }
        };
        match unfolded {
            // Look at the same place again, because a nested attribute has lost one level.
            Some(unfolded) => drop(attrs.splice(at..=at, unfolded)),
            None => at += 1,
        }
    }
}

fn is_cfg(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr")
}

fn under_condition(condition: &TokenStream, inner: &Attribute) -> Attribute {
    let meta = match &inner.meta {
        Meta::List(cfg) if cfg.path.is_ident("cfg") => {
            let wanted = &cfg.tokens;
            quote!(cfg(any(not(#condition), all(#wanted))))
        }
        meta => {
            if let Some((nested, rest)) = conditional(inner) {
                let rest = rest.iter().map(|attribute| &attribute.meta);
                quote!(cfg_attr(all(#condition, #nested), #(#rest),*))
            } else {
                quote!(cfg_attr(#condition, #meta))
            }
        }
    };
    Attribute { meta: syntax::read(meta, Meta::parse).expect("an attribute of ours"), ..inner.clone() }
}

/// The condition and the attributes of a `#[cfg_attr]`.
pub(crate) fn conditional(attribute: &Attribute) -> Option<(TokenStream, Vec<Attribute>)> {
    let Meta::List(list) = &attribute.meta else { return None };
    if !list.path.is_ident("cfg_attr") {
        return None;
    }
    let (condition, metas) = syntax::read(list.tokens.clone(), condition_and_attributes).ok()?;
    let inner = metas.into_iter().map(|meta| Attribute { meta, ..attribute.clone() }).collect();
    Some((condition, inner))
}

fn condition_and_attributes(input: ParseStream<'_>) -> syn::Result<(TokenStream, Punctuated<Meta, Token![,]>)> {
    let mut condition = TokenStream::new();
    while !input.peek(Token![,]) {
        condition.extend([input.parse::<TokenTree>()?]);
    }
    input.parse::<Token![,]>()?;
    Ok((condition, Punctuated::parse_terminated(input)?))
}

/// The attribute itself, or the only one in a `#[cfg_attr]`.
pub(crate) fn innermost(attribute: &Attribute) -> Attribute {
    match conditional(attribute) {
        Some((_, inner)) if inner.len() == 1 => inner[0].clone(),
        _ => attribute.clone(),
    }
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

/// Reports attributes that are probably a misspelled `name`, and makes them one. rustc would report them too.
pub(crate) fn correct(attrs: &mut [Attribute], name: &str, errors: &mut Errors) {
    for attribute in attrs {
        let Some(given) = attribute.path().get_ident().cloned() else { continue };
        if given == name || closest(&given.to_string(), &[name]).is_none() {
            continue;
        }
        errors.at(&given, format!("unknown attribute: did you mean `#[{name}(..)]`?"));
        let meant = Path::from(Ident::new(name, given.span()));
        match &mut attribute.meta {
            Meta::Path(path) => *path = meant,
            Meta::List(list) => list.path = meant,
            Meta::NameValue(pair) => pair.path = meant,
        }
    }
}

/// One of our attributes on a user's item.
pub(crate) struct Given {
    pub(crate) attribute: Attribute,
    /// The condition of the `#[cfg_attr]` around it, as a `#[cfg]`.
    pub(crate) cfg: Option<Attribute>,
}

/// Takes the attributes that are `ours` out of `attrs`, which are [unfolded](unfold), in `#[cfg_attr]`s too.
pub(crate) fn take_given(attrs: &mut Vec<Attribute>, ours: &dyn Fn(&Attribute) -> bool) -> Vec<Given> {
    let mut given = Vec::new();
    for attribute in take(attrs, &|attribute| ours(&innermost(attribute))) {
        let cfg = conditional(&attribute).map(|(condition, _)| {
            let meta = syntax::read(quote!(cfg(#condition)), Meta::parse).expect("a `#[cfg]` of ours");
            Attribute { meta, ..attribute.clone() }
        });
        given.push(Given { attribute: innermost(&attribute), cfg });
    }
    given
}

/// Attributes of our own.
pub(crate) fn ours(tokens: TokenStream) -> Vec<Attribute> {
    syntax::read(tokens, Attribute::parse_outer).expect("attributes of ours")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditional_attributes_are_split() {
        for (folded, unfolded) in [
            (quote!(#[inline] #[cfg_attr(unix, cold)]), quote!(#[inline] #[cfg_attr(unix, cold)])),
            (quote!(#[cfg_attr(unix)]), quote!(#[cfg_attr(unix)])),
            (quote!(#[cfg_attr(unix,)] #[cold]), quote!(#[cold])),
            (
                quote!(#[cfg_attr(all(a, b), doc = "text", handler(inline),)]),
                quote!(#[cfg_attr(all(a, b), doc = "text")] #[cfg_attr(all(a, b), handler(inline))]),
            ),
            (
                quote!(#[cfg_attr(a, cfg_attr(b, watch, cfg(c)))]),
                quote!(#[cfg_attr(all(a, b), watch)] #[cfg(any(not(all(a, b)), all(c)))]),
            ),
        ] {
            let mut attrs = ours(folded);
            unfold(&mut attrs);
            assert_eq!(quote!(#(#attrs)*).to_string(), unfolded.to_string());
        }
    }

    #[test]
    fn conditions_are_the_content_of_the_brackets() {
        for (cfgs, conditions) in [
            (quote!(), quote!()),
            (quote!(#[cfg(unix,)]), quote!(unix,)),
            (quote!(#[cfg(unix)] #[cfg(any(a, b = "c"))]), quote!(unix, any(a, b = "c"))),
        ] {
            assert_eq!(super::conditions(&cfgs).to_string(), conditions.to_string());
        }
    }
}
