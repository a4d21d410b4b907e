//! What an actor can fail with and whose end it handles, as trait impls for its parent's compiler to check.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::Attribute;

use super::handler::Reply;
use super::hook::Outcome;
use super::model::Block;
use crate::generics::{require, with_parameter};
use crate::supervise::model::distinct;

/// `FailuresDecidedBy`, one bound for each type the actor can fail with.
pub(crate) fn failures(block: &Block) -> Vec<TokenStream> {
    let Block { krate, actor, .. } = block;
    let parent = format_ident!("__P", span = Span::mixed_site());
    let mut always = Vec::new();
    let mut conditional: Vec<(&[Attribute], TokenStream)> = Vec::new();
    for handler in &block.handlers {
        match &handler.reply {
            Reply::Fallible(fallible) if handler.cfgs.is_empty() => always.push(fallible.err(krate)),
            Reply::Fallible(fallible) => conditional.push((&handler.cfgs, fallible.err(krate))),
            _ => {}
        }
    }
    let hooks = block.hooks.iter().map(|hook| (&hook.cfgs, &hook.outcome));
    let watches = block.watches.iter().map(|watch| (&watch.cfgs, &watch.outcome));
    for (cfgs, outcome) in hooks.chain(watches) {
        match outcome {
            Outcome::Fallible(fallible) if cfgs.is_empty() => always.push(fallible.err(krate)),
            Outcome::Fallible(fallible) => conditional.push((cfgs, fallible.err(krate))),
            Outcome::Nothing => {}
        }
    }
    let mut generics = with_parameter(&block.generics, parent.clone().into());
    let mut helpers = Vec::new();
    for (at, (cfgs, ty)) in conditional.into_iter().enumerate() {
        let (helper, impls) = conditional_failure(block, at, cfgs, &ty);
        helpers.push(impls);
        require(&mut generics, quote!(#actor: #helper<#parent>));
    }
    for ty in distinct(always.into_iter()) {
        require(&mut generics, quote!(#parent: #krate::Decides<#ty>));
    }
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    helpers.push(quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl #impl_generics #krate::FailuresDecidedBy<#parent> for #actor #where_clause {}
    });
    if helpers.len() == 1 {
        return helpers;
    }
    vec![quote!(const _: () = { #(#helpers)* };)]
}

/// A bound that only some builds have. Rust knows no `#[cfg]` on bounds, so it becomes a trait with two impls.
fn conditional_failure(block: &Block, at: usize, cfgs: &[Attribute], ty: &TokenStream) -> (Ident, TokenStream) {
    let Block { krate, actor, .. } = block;
    let mixed = Span::mixed_site();
    let helper = format_ident!("Failure{at}", span = mixed);
    let parent = format_ident!("__P", span = mixed);
    let without = with_parameter(&block.generics, parent.clone().into());
    let mut with = without.clone();
    require(&mut with, quote!(#parent: #krate::Decides<#ty>));
    let (with_generics, _, with_where) = with.split_for_impl();
    let (without_generics, _, without_where) = without.split_for_impl();
    let conditions = cfgs.iter().filter_map(|cfg| cfg.meta.require_list().ok().map(|list| &list.tokens));
    let impls = quote_spanned! {mixed=>
        trait #helper<P> {}
        #(#cfgs)*
        impl #with_generics #helper<#parent> for #actor #with_where {}
        #[cfg(not(all(#(#conditions),*)))]
        impl #without_generics #helper<#parent> for #actor #without_where {}
    };
    (helper, impls)
}

pub(crate) fn watches(block: &Block) -> Vec<TokenStream> {
    let Block { krate, actor, watches, generics, .. } = block;
    let mixed = Span::mixed_site();
    if watches.iter().any(|watch| watch.subject.is_none()) {
        return vec![watches_all(block)];
    }
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    watches
        .iter()
        .filter_map(|watch| {
            let (cfgs, subject) = (&watch.cfgs, watch.subject.as_ref()?);
            Some(quote_spanned! {mixed=>
                #(#cfgs)*
                #[automatically_derived]
                impl #impl_generics #krate::Watches<#subject> for #actor #where_clause {}
            })
        })
        .collect()
}

/// Whatever ends, it is handled.
pub(crate) fn watches_all(block: &Block) -> TokenStream {
    let Block { krate, actor, generics, .. } = block;
    let subject = format_ident!("__A", span = Span::mixed_site());
    let any = with_parameter(generics, subject.clone().into());
    let (impl_generics, _, where_clause) = any.split_for_impl();
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl #impl_generics #krate::Watches<#subject> for #actor #where_clause {}
    }
}
