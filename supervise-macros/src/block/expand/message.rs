//! Writes the enum of an actor's messages, and what `Actor` says about each by its name.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::Generics;

use super::with_default_doc;
use crate::attributes;
use crate::block::model::{Block, Handler};
use crate::generics::derivation;
use crate::spans::{self, located};

/// `FeedMessage`
pub(super) fn message(block: &Block) -> TokenStream {
    let Block { message, name, krate, generics, .. } = block;
    let mut variants = TokenStream::new();
    for handler in &block.handlers {
        let Handler { variant, docs, .. } = handler;
        // Callers should not use a deprecated handler. Generated code uses its message all the same.
        let mut docs = docs.clone();
        docs.retain(|attribute| !attributes::innermost(attribute).path().is_ident("deprecated"));
        let docs = with_default_doc(&docs, &format!("The message for `{}`.", handler.ident));
        let mut fields = TokenStream::new();
        for field in &handler.fields {
            let (ident, ty) = (located(&field.ident), &field.ty);
            fields.extend(quote!(#ident: #ty,));
        }
        let reply = handler.reply.ty(krate);
        variants.extend(quote! {
            #docs
            #variant {
                #fields
                #[doc(hidden)]
                __reply: #krate::ReplyTo<#reply>,
            },
        });
    }
    if generics.type_params().next().is_some() {
        let never = never_variant(generics);
        variants.extend(quote!(#[doc(hidden)] #never));
    }
    let where_clause = &generics.where_clause;
    let text = format!("The messages of [`{name}`].");
    quote_spanned! {Span::mixed_site()=>
        #[doc = #text]
        #[allow(dead_code, missing_docs, private_bounds, private_interfaces, unreachable_pub)]
        #[allow(clippy::enum_variant_names, clippy::large_enum_variant, clippy::type_complexity)]
        pub enum #message #generics #where_clause {
            #variants
        }
    }
}

/// A variant that mentions all type parameters, as an enum must. It has no values.
fn never_variant(generics: &Generics) -> TokenStream {
    let mut types = TokenStream::new();
    for parameter in generics.type_params() {
        let ty = &parameter.ident;
        types.extend(quote!(*const #ty,));
    }
    quote!(__Never(::core::convert::Infallible, ::core::marker::PhantomData<fn() -> (#types)>),)
}

/// The match arm for [`never_variant`].
pub(super) fn never_arm(block: &Block) -> TokenStream {
    if block.generics.type_params().next().is_none() {
        return TokenStream::new();
    }
    let message = &block.message;
    quote_spanned!(Span::mixed_site()=> #message::__Never(never, _) => match never {},)
}

/// The message's `Debug`, which shows its name.
pub(super) fn debug(block: &Block) -> TokenStream {
    let Block { message, generics, .. } = block;
    let (_, ty_generics, _) = generics.split_for_impl();
    let mixed = Span::mixed_site();
    let members = quote_spanned! {mixed=>
        fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
            f.write_str(message_name(self))
        }
    };
    let of = quote_spanned!(mixed=> ::core::fmt::Debug);
    derivation(generics, of, &quote!(#message #ty_generics), members)
}

/// The names of messages, for `Debug`, dead letters and events.
pub(super) fn name(block: &Block) -> TokenStream {
    let Block { message, generics, .. } = block;
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let mut arms = TokenStream::new();
    for handler in &block.handlers {
        let text = handler.variant.to_string();
        arms.extend(named_arm(block, handler, &text));
    }
    let never = never_arm(block);
    quote_spanned! {Span::mixed_site()=>
        fn message_name #impl_generics (
            message: &#message #ty_generics,
        ) -> &'static ::core::primitive::str #where_clause {
            match *message {
                #arms
                #never
            }
        }
    }
}

/// The arm that gives a handler's message a value.
fn named_arm(block: &Block, handler: &Handler, value: &dyn ToTokens) -> TokenStream {
    let (message, cfgs, variant) = (&block.message, &handler.cfgs, located(&handler.variant));
    quote_spanned!(Span::mixed_site()=> #cfgs #message::#variant { .. } => #value,)
}

/// Which messages reset the receive timeout.
pub(super) fn is_activity(block: &Block) -> TokenStream {
    let message = &block.message;
    let (_, ty_generics, _) = block.generics.split_for_impl();
    let mut passive = TokenStream::new();
    for handler in &block.handlers {
        if handler.arguments.not_influencing.value.is_some() {
            passive.extend(named_arm(block, handler, &false));
        }
    }
    if passive.is_empty() {
        return passive;
    }
    quote_spanned! {Span::mixed_site()=>
        #[allow(unreachable_patterns)]
        fn is_activity(message: &#message #ty_generics) -> ::core::primitive::bool {
            match message {
                #passive
                _ => true,
            }
        }
    }
}

/// How often messages are redelivered, and how they are copied for that.
pub(super) fn redelivery(block: &Block) -> TokenStream {
    let Block { krate, message, generics, .. } = block;
    let (_, ty_generics, _) = generics.split_for_impl();
    let mixed = Span::mixed_site();
    let (mut times, mut copies) = (TokenStream::new(), TokenStream::new());
    for handler in &block.handlers {
        let (Some(redeliver), true) = (handler.arguments.redeliver.value, handler.is_sound()) else { continue };
        times.extend(named_arm(block, handler, &redeliver));
        let (cfgs, variant) = (&handler.cfgs, located(&handler.variant));
        let (mut names, mut clones) = (TokenStream::new(), TokenStream::new());
        for field in &handler.fields {
            let (ident, ty) = (located(&field.ident), &field.ty);
            let at = spans::path_at(krate, spans::of(ty));
            let copy = quote_spanned!(spans::of(ty)=> #at::__private::redeliverable::<#ty>);
            names.extend(quote_spanned!(mixed=> #ident,));
            clones.extend(quote_spanned!(mixed=> #ident: #copy(#ident),));
        }
        copies.extend(quote_spanned! {mixed=>
            #cfgs
            #message::#variant { #names .. } => ::core::option::Option::Some(
                #message::#variant { #clones __reply: #krate::ReplyTo::nowhere() },
            ),
        });
    }
    if times.is_empty() {
        return times;
    }
    quote_spanned! {mixed=>
        #[allow(unreachable_patterns)]
        fn redelivery(message: &#message #ty_generics) -> ::core::primitive::u32 {
            match message {
                #times
                _ => 0,
            }
        }

        #[allow(unreachable_patterns)]
        fn duplicate(message: &#message #ty_generics) -> ::core::option::Option<#message #ty_generics> {
            match message {
                #copies
                _ => ::core::option::Option::None,
            }
        }
    }
}
