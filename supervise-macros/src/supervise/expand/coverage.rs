//! Writes what a table decides and what it escalates as trait impls, which the compiler checks along the tree. Cannot fail.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Generics, Path, TypeParam, TypeParamBound};

use super::error_type;
use crate::generics::{derivation, mentions_parameter, require, with_parameter};
use crate::spans::{self, path_at};
use crate::supervise::model::{Place, Table};

/// The impls for `ty`, which has this table, and perhaps permanent children.
pub(crate) fn coverage(
    table: &Table,
    generics: &Generics,
    ty: &dyn ToTokens,
    krate: &Path,
    permanent: bool,
) -> Vec<TokenStream> {
    match &table.shared.value {
        Some(shared) => shared_coverage(shared, generics, ty, krate),
        None => own_coverage(table, generics, ty, krate, permanent),
    }
}

fn own_coverage(
    table: &Table,
    generics: &Generics,
    ty: &dyn ToTokens,
    krate: &Path,
    permanent: bool,
) -> Vec<TokenStream> {
    let mixed = Span::mixed_site();
    let covers = Ident::new(table.covers(), mixed);
    let mut items = Vec::new();
    let mut mark = |generics: &Generics, marker: TokenStream| {
        items.push(derivation(generics, marker, ty, TokenStream::new()));
    };
    let (any, mut with_any) = with_any_error(generics);
    if table.decides_all() {
        mark(generics, quote_spanned!(mixed=> #krate::DecidesAll));
    } else {
        require(&mut with_any, quote!(#ty: #krate::#covers<#any>));
    }
    mark(&with_any, quote_spanned!(mixed=> #krate::Decides<#any>));
    if !table.may_restart() {
        mark(generics, quote_spanned!(mixed=> #krate::NeverRestarts));
    }
    let (parent, mut upwards) = with_parent(generics);
    let escalations = table.escalations();
    // rustc shows the place of a bound.
    let mut bound = |on: &dyn ToTokens, (start, end): Place, name: &str, argument: &dyn ToTokens| {
        let here = |span| mixed.located_at(span);
        let (at, name, close) =
            (path_at(krate, here(start)), Ident::new(name, here(start)), quote_spanned!(here(end)=> >));
        require(&mut upwards, quote_spanned!(here(start)=> #on: #at::#name<#argument #close));
    };
    for (error, place) in &escalations.types {
        bound(&error_type(error, krate), *place, "EscalatedErrorDecidedBy", &parent);
    }
    if let (true, Some(place)) = (permanent, table.strategy.escalates_at_limit()) {
        bound(&parent, place, "DecidesPermanentEndFrom", ty);
    }
    if let Some(place) = escalations.failed_starts {
        bound(&parent, place, "DecidesFailedStartFrom", ty);
    }
    if let Some(place) = escalations.anything {
        bound(&parent, place, "DecidesAllFrom", ty);
    }
    mark(&upwards, quote_spanned!(mixed=> #krate::EscalationsDecidedBy<#parent>));
    for key in &table.keys() {
        // Types that depend on parameters may be the same. Without `on(_)` they are refused.
        if !(table.decides_all() && mentions_parameter(key.clone(), generics)) {
            items.push(rule_for(key, &covers, generics, ty, krate));
        }
    }
    if table.decides_failed_starts() && !table.decides_all() {
        let failed = quote_spanned!(mixed=> #krate::#covers<#krate::InitializationFailed>);
        items.push(derivation(generics, failed, ty, TokenStream::new()));
    }
    items
}

/// The marker impl for the rules of one error type. rustc reports a second spelling of the type here.
fn rule_for(
    key: &TokenStream,
    covers: &Ident,
    generics: &Generics,
    ty: &dyn ToTokens,
    krate: &Path,
) -> TokenStream {
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let here = Span::mixed_site().located_at(spans::of(key));
    let key = error_type(key, krate);
    let (krate, ty) = (spans::path_at(krate, here), spans::path_at(ty, here));
    quote_spanned! {here=>
        #[automatically_derived]
        impl #impl_generics #krate::#covers<#key> for #ty #where_clause {}
    }
}

/// A type with the table of another type decides and escalates what that one does.
fn shared_coverage(shared: &Path, generics: &Generics, ty: &dyn ToTokens, krate: &Path) -> Vec<TokenStream> {
    let mixed = Span::mixed_site();
    let mut items = Vec::new();
    let mut mark = |mut generics: Generics, marker: TokenStream, bound: TokenStream| {
        // The lifetime has no meaning. It keeps rustc from checking the bound here, where it may be false.
        require(&mut generics, quote_spanned!(mixed=> for<'__table> #shared: #bound));
        items.push(derivation(&generics, marker, ty, TokenStream::new()));
    };
    let (any, with_any) = with_any_error(generics);
    let (parent, with_parent) = with_parent(generics);
    for (generics, of) in [
        (with_any, quote_spanned!(mixed=> #krate::Decides<#any>)),
        (generics.clone(), quote_spanned!(mixed=> #krate::DecidesAll)),
        (generics.clone(), quote_spanned!(mixed=> #krate::NeverRestarts)),
        (with_parent, quote_spanned!(mixed=> #krate::EscalationsDecidedBy<#parent>)),
    ] {
        mark(generics, of.clone(), of);
    }
    items
}

/// The generics with a parameter for an error of any type.
fn with_any_error(generics: &Generics) -> (Ident, Generics) {
    let any = Ident::new("__E", Span::mixed_site());
    let mut error = TypeParam::from(any.clone());
    error.bounds.push(TypeParamBound::Verbatim(quote!(?::core::marker::Sized)));
    (any, with_parameter(generics, error))
}

/// The generics with a parameter for the parent.
fn with_parent(generics: &Generics) -> (Ident, Generics) {
    let parent = Ident::new("__P", Span::mixed_site());
    (parent.clone(), with_parameter(generics, parent.into()))
}

/// What the parent of an actor must decide because of the actor's declaration: the overflow of its stash, and the failed starts of
/// its declared children.
pub(crate) fn declaration(
    bounded_stash: bool,
    has_children: bool,
    generics: &Generics,
    actor: &dyn ToTokens,
    krate: &Path,
) -> TokenStream {
    let (parent, mut upwards) = with_parent(generics);
    if bounded_stash {
        require(&mut upwards, quote!(#parent: #krate::DecidesUnasked<#krate::StashOverflow>));
    }
    if has_children {
        require(&mut upwards, quote!(#parent: #krate::DecidesFailedStartOf<#actor>));
    }
    let of = quote_spanned!(Span::mixed_site()=> #krate::DeclarationDecidedBy<#parent>);
    derivation(&upwards, of, actor, TokenStream::new())
}
