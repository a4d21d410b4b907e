//! Writes a [`Block`]: the user's block, the messages, the ref's methods, `Actor`, and the failures to decide. Cannot fail.
//!
//! A block with mistakes is expanded in the same way. A part with a mistake is left out, except for its name. So code
//! that uses the actor has no further errors, and editors still know the actor.

mod batch;
mod behaviour;
mod coverage;
mod documentation;
mod hooks;
mod implements;
mod message;
mod ordinary;
mod reference;
mod remote;
mod reply;
mod stored;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::Attribute;

use super::model::Block;
use crate::attributes;
use crate::generics::{derivation, require};
use crate::spans::{self, located};

pub(crate) fn expand(block: &Block) -> TokenStream {
    let Block { item, cfgs, .. } = block;
    let mut generated = vec![one_block(block), coverage::failures(block), message::message(block)];
    generated.extend(bounds(block));
    generated.extend(message::debug(block));
    generated.extend([behaviour::actor(block), reference::reference(block)]);
    generated.extend(message::visible(block));
    generated.extend(coverage::watches(block));
    generated.extend(ordinary::ordinary(block));
    generated.extend(remote::remote(block));
    let generated = attributes::under(cfgs, true, generated);
    let mut overview = TokenStream::new();
    if !block.handlers.is_empty() {
        let text = documentation::documentation(block);
        overview = quote!(#[doc = ""] #[doc = #text]);
    }
    let implemented = implements::calls(block);
    quote!(#overview #item #generated #implemented)
}

/// The block without the parts that have a mistake. The errors are in a module: see
/// [`reported`](super::model::reported).
pub(crate) fn with_mistakes(block: &Block, error: &syn::Error) -> TokenStream {
    let (mistakes, error, expanded) = (&block.mistakes, error.to_compile_error(), expand(block));
    quote_spanned!(Span::mixed_site()=> mod #mistakes { #error } #expanded)
}

/// A type whose name explains rustc's error about a second block in the same module, because no macro sees both blocks.
fn one_block(block: &Block) -> TokenStream {
    let sentence = format_ident!("all_handlers_of_{}_stand_in_one_impl_block", block.name);
    quote_spanned! {Span::mixed_site()=>
        #[doc(hidden)]
        #[allow(dead_code, non_camel_case_types)]
        type #sentence = ();
    }
}

/// Makes rustc require `Send` bounds for type parameters that may lack them.
fn bounds(block: &Block) -> Option<TokenStream> {
    let Block { krate, actor, unsure, .. } = block;
    let here = Span::mixed_site().located_at(unsure.first()?.span());
    let movable = quote!(#krate::__private::MovesBetweenThreads<#actor>: ::core::marker::Sized);
    let mut generics = block.generics.clone();
    require(&mut generics, spans::path_at(&movable, here));
    let of = quote_spanned!(Span::mixed_site()=> #krate::__private::RunsOnAnyThread);
    Some(derivation(&generics, of, actor, TokenStream::new()))
}

/// The call of a method, awaited if it is async. The call has the span of the method's name, because rustc reports there that
/// the future is not `Send`. Its other names are hidden from users.
fn call(method: &Ident, arguments: &[Ident], is_async: bool, krate: &syn::Path) -> TokenStream {
    let here = Span::mixed_site().located_at(method.span());
    let name = located(method);
    let call = quote_spanned!(here=> Self::#name(self #(, #arguments)*));
    if !is_async {
        return call;
    }
    let krate = spans::path_at(krate, method.span());
    let sendable = quote_spanned!(method.span()=> #krate::__private::handler_future);
    quote_spanned!(Span::mixed_site()=> #sendable(#call).await)
}

/// The docs of a handler, or `text` if it has none.
fn with_default_doc(docs: &[Attribute], text: &str) -> TokenStream {
    let mut all = TokenStream::new();
    let mut documented = false;
    for attribute in docs {
        attribute.to_tokens(&mut all);
        documented |= attribute.path().is_ident("doc");
    }
    if !documented {
        all.extend(quote!(#[doc = #text]));
    }
    all
}
