//! Joins the handlers with the protocols that they implement.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Path, PathArguments};

use crate::block::model::{Block, Handler, Mistake};
use crate::spans::{self, located};

/// For each protocol that the block implements, the call of the protocol's macro. It has the actor's name, its ref, its
/// generics and its handlers.
pub(super) fn calls(block: &Block) -> TokenStream {
    let Block { krate, name, reference, cfgs, .. } = block;
    if block.implements.is_empty() {
        return TokenStream::new();
    }
    let generics = block.sendable();
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let mut handlers = TokenStream::new();
    for handler in &block.handlers {
        handlers.extend(signature(handler));
    }
    let mut calls = TokenStream::new();
    for protocol in &block.implements {
        let mut list = protocol.clone();
        for segment in &mut list.segments {
            segment.arguments = PathArguments::None;
        }
        calls.extend(quote_spanned! {Span::mixed_site()=>
            #cfgs
            #list ! {
                [#krate::__private::implement]
                [#krate] [#protocol] [#name] [#reference] [#impl_generics] [#where_clause] [#handlers]
            }
        });
        if generics.params.is_empty() {
            calls.extend(required(block, protocol));
        }
    }
    calls
}

/// Says what to write if the trait is not a protocol. rustc also reports that there is no macro of its name.
fn required(block: &Block, protocol: &Path) -> TokenStream {
    let Block { krate, cfgs, .. } = block;
    let here = Span::mixed_site().located_at(spans::of(protocol));
    let required = spans::path_at(&quote!(#krate::__private::protocol), here);
    let required = quote_spanned!(here=> #required::<dyn #protocol>());
    quote_spanned! {Span::mixed_site()=>
        #cfgs
        const _: () = #required;
    }
}

/// `([#[cfg(..)]] name (, argument: Type) (, argument) usable)`
fn signature(handler: &Handler) -> TokenStream {
    let Handler { ident, cfgs, .. } = handler;
    let mut parameters = TokenStream::new();
    for field in &handler.fields {
        let (name, ty) = (located(&field.ident), &field.ty);
        parameters.extend(quote_spanned!(Span::mixed_site()=> , #name: #ty));
    }
    let mut names = TokenStream::new();
    for field in &handler.fields {
        let name = located(&field.ident);
        names.extend(quote_spanned!(Span::mixed_site()=> , #name));
    }
    let usable = if handler.mistake == Some(Mistake::Name) { quote!(mistaken) } else { quote!(usable) };
    quote!(([#cfgs] #ident (#parameters) (#names) #usable))
}
