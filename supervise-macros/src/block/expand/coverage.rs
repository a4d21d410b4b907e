//! Writes the errors that an actor can fail with and the actors whose end it handles, as trait impls that rustc checks against the parent.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Path;

use crate::block::model::{Block, Fallible, Outcome};
use crate::generics::{derivation, require, with_parameter};
use crate::supervise::model::distinct;
use crate::{attributes, spans};

/// `HandlersOfOneImplBlockDecidedBy`, one bound for each type the actor can fail with.
pub(super) fn failures(block: &Block) -> TokenStream {
    let Block { krate, actor, .. } = block;
    let mixed = Span::mixed_site();
    let parent = Ident::new("__P", mixed);
    let mut generics = with_parameter(&block.generics, parent.clone().into());
    let mut always = Vec::new();
    let mut helpers = TokenStream::new();
    let mut count = 0;
    for (cfgs, fallible, answers) in &fallible(block) {
        let mut decides = decides(fallible, krate);
        let is_answered = || always.iter().any(|always: &TokenStream| always.to_string() == decides.to_string());
        if !answers && !fallible.may_wrap() && !is_answered() {
            decides = bound(fallible, "DecidesUnasked", krate);
        }
        if cfgs.is_empty() {
            always.push(decides);
            continue;
        }
        let helper = Ident::new(&format!("__Failure{count}"), mixed);
        helpers.extend(conditional_failure(block, &helper, cfgs, &decides));
        require(&mut generics, quote!(#actor: #helper<#parent>));
        count += 1;
    }
    require(&mut generics, quote!(#actor: #krate::DeclarationDecidedBy<#parent>));
    for decides in &distinct(always) {
        require(&mut generics, quote!(#parent: #decides));
    }
    let of = quote_spanned!(mixed=> #krate::HandlersOfOneImplBlockDecidedBy<#parent>);
    let decided = derivation(&generics, of, actor, TokenStream::new());
    if count == 0 { decided } else { quote!(const _: () = { #helpers #decided };) }
}

/// What the parent must be because of an error. rustc shows the place of this bound, which is the error type of a handler.
fn decides(fallible: &Fallible, krate: &Path) -> TokenStream {
    bound(fallible, if fallible.may_wrap() { "HasARuleFor" } else { "Decides" }, krate)
}

fn bound(fallible: &Fallible, name: &str, krate: &Path) -> TokenStream {
    let (start, end) = fallible.err_ends();
    let here = |span| Span::mixed_site().located_at(span);
    let (err, at, name) = (fallible.err(krate), spans::path_at(krate, here(start)), Ident::new(name, here(start)));
    let close = quote_spanned!(here(end)=> >);
    quote_spanned!(here(start)=> #at::#name<#err #close)
}

/// All return types of the actor that can be an error, with their `#[cfg]`s, and whether they are a handler's, which may answer with the
/// error instead. Those of handlers come first.
fn fallible(block: &Block) -> Vec<(&TokenStream, &Fallible, bool)> {
    let mut all = Vec::new();
    for handler in &block.handlers {
        if let (Some(fallible), true) = (handler.reply.fallible(), handler.is_sound()) {
            all.push((&handler.cfgs, fallible, true));
        }
    }
    for hook in &block.hooks {
        if let Outcome::Fallible(fallible) = &hook.outcome {
            all.push((&hook.cfgs, fallible, false));
        }
    }
    for watch in &block.watches {
        if let Outcome::Fallible(fallible) = &watch.outcome {
            all.push((&watch.cfgs, fallible, false));
        }
    }
    all
}

/// A bound that only some builds have. Rust has no `#[cfg]` on bounds, so the bound becomes a trait with two impls.
fn conditional_failure(block: &Block, helper: &Ident, cfgs: &TokenStream, decides: &TokenStream) -> TokenStream {
    let Block { actor, .. } = block;
    let mixed = Span::mixed_site();
    let parent = Ident::new("__P", mixed);
    let without = with_parameter(&block.generics, parent.clone().into());
    let mut with = without.clone();
    require(&mut with, quote!(#parent: #decides));
    let (with_generics, _, with_where) = with.split_for_impl();
    let (without_generics, _, without_where) = without.split_for_impl();
    let conditions = attributes::conditions(cfgs);
    quote_spanned! {mixed=>
        trait #helper<P> {}
        #cfgs
        impl #with_generics #helper<#parent> for #actor #with_where {}
        #[cfg(not(all(#conditions)))]
        impl #without_generics #helper<#parent> for #actor #without_where {}
    }
}

/// `Watches`, for each type of actor whose end the actor handles.
pub(super) fn watches(block: &Block) -> Vec<TokenStream> {
    let Block { krate, actor, generics, .. } = block;
    if block.watches_unknown {
        return vec![watches_all(block)];
    }
    let mut watches = Vec::new();
    for watch in &block.watches {
        let (cfgs, Some(subject)) = (&watch.cfgs, &watch.subject) else {
            return vec![watches_all(block)];
        };
        let of = quote_spanned!(Span::mixed_site()=> #krate::Watches<#subject>);
        let item = derivation(generics, of, actor, TokenStream::new());
        watches.push(quote!(#cfgs #item));
    }
    watches
}

/// `Watches` for every type.
fn watches_all(block: &Block) -> TokenStream {
    let Block { krate, actor, generics, .. } = block;
    let subject = Ident::new("__A", Span::mixed_site());
    let of = quote_spanned!(Span::mixed_site()=> #krate::Watches<#subject>);
    derivation(&with_parameter(generics, subject.into()), of, actor, TokenStream::new())
}
