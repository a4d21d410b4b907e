//! Writes the errors that an actor can fail with and the actors whose end it handles, as trait impls that rustc checks against the parent.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::Path;

use crate::block::model::{Block, Fallible, Outcome};
use crate::generics::{derivation, require, with_parameter};
use crate::supervise::model::distinct;
use crate::{attributes, spans};

/// Defines the type that stands for the errors with which the actor can fail, as `Failures` of the trait
/// `AllHandlersStandInOneImplBlock`. rustc's error about a second block in another module names that trait, so the
/// trait's name explains the error.
pub(super) fn failures(block: &Block) -> TokenStream {
    let Block { krate, name, actor, generics, .. } = block;
    let mixed = Span::mixed_site();
    let of = quote_spanned!(mixed=> #krate::AllHandlersStandInOneImplBlock);
    let fallible = fallible(block);
    if fallible.is_empty() {
        let none = quote_spanned!(mixed=> type Failures = #krate::Failures<#krate::NoHandlerFails<#actor>>;);
        return derivation(generics, of, actor, none);
    }
    let failures = format_ident!("FailuresOf{}", name, span = mixed.located_at(name.span()));
    let (declared, ty) = if generics.params.is_empty() {
        (quote_spanned!(mixed=> ;), failures.to_token_stream())
    } else {
        (quote_spanned!(mixed=> <A>(::core::marker::PhantomData<A>);), quote_spanned!(mixed=> #failures<#actor>))
    };
    let named = derivation(generics, of, actor, quote_spanned!(mixed=> type Failures = #krate::Failures<#ty>;));
    let decided = decided(block, &fallible, &ty);
    quote_spanned! {mixed=>
        const _: () = {
            #[doc(hidden)]
            #[allow(dead_code, missing_debug_implementations, unnameable_types, unreachable_pub)]
            pub struct #failures #declared
            #named
            #decided
        };
    }
}

/// `DecidedBy` for the type `failures`, with one bound for each type the actor can fail with.
fn decided(block: &Block, fallible: &[(&TokenStream, &Fallible, bool)], failures: &TokenStream) -> TokenStream {
    let Block { krate, actor, .. } = block;
    let mixed = Span::mixed_site();
    let parent = Ident::new("__P", mixed);
    let mut generics = with_parameter(&block.generics, parent.clone().into());
    let mut always = Vec::new();
    let mut helpers = TokenStream::new();
    let mut count = 0;
    for (cfgs, fallible, answers) in fallible {
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
    let of = quote_spanned!(mixed=> #krate::DecidedBy<#parent>);
    helpers.extend(derivation(&generics, of, failures, TokenStream::new()));
    helpers
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
