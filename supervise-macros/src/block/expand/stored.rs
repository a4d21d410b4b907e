//! Writes how messages are encoded and decoded, for a durable mailbox.
//!
//! The block does not know whether the mailbox is durable: the type says so. So the code asks rustc for the kind of the
//! actor's mailbox, and the kind decides what an argument must be. For an actor in memory, all of it does nothing.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;

use super::message::{envelope, named_arm, never_arm};
use crate::block::model::{Block, Handler};
use crate::block::parse::stored;
use crate::spans::{self, located};

/// What `Actor` has for a durable mailbox.
pub(super) fn members(block: &Block) -> TokenStream {
    if !stored::is_on() {
        return TokenStream::new();
    }
    let (krate, envelope, mixed) = (&block.krate, envelope(block), Span::mixed_site());
    let (encode, decode, names) = (encode(block), decode(block), names(block));
    quote_spanned! {mixed=>
        fn slot(message: &mut #envelope) -> ::core::option::Option<&mut #krate::ReplySlot> {
            ::core::option::Option::Some(#krate::__private::slot(message))
        }

        fn is_stored(message: &#envelope) -> ::core::primitive::bool {
            #krate::__private::is_stored(message)
        }

        #encode
        #decode
        #names
    }
}

/// The kind of the actor's mailbox, in the variable `__kind`.
pub(super) fn kind(block: &Block) -> TokenStream {
    let Block { krate, actor, .. } = block;
    quote_spanned! {Span::mixed_site()=>
        #[allow(unused_imports)]
        use #krate::__private::{MemoryKind as _, StoredKind as _};
        #[allow(unused_variables)]
        let __kind = (&&#krate::__private::Kind::<#actor>::NEW).__kind();
    }
}

/// Whether a durable mailbox stores the messages of this handler.
fn is_stored(handler: &Handler) -> bool {
    handler.is_sound() && handler.arguments.transient.given().is_none()
}

fn encode(block: &Block) -> TokenStream {
    let Block { krate, message, .. } = block;
    let (envelope, kind, mixed) = (envelope(block), kind(block), Span::mixed_site());
    let (mut arms, mut checks) = (TokenStream::new(), TokenStream::new());
    for handler in &block.handlers {
        if !is_stored(handler) {
            let nothing = quote_spanned!(mixed=> ::core::result::Result::Ok(::core::option::Option::None));
            arms.extend(named_arm(block, handler, &nothing));
            continue;
        }
        if let Some(inline) = handler.arguments.inline.given() {
            let (cfgs, at) = (&handler.cfgs, mixed.located_at(inline.span()));
            let krate = spans::path_at(krate, at);
            checks.extend(quote_spanned!(at=> #cfgs { #krate::__private::may_be_inline(__kind); }));
        }
        let (cfgs, variant, name) = (&handler.cfgs, located(&handler.variant), name(handler));
        let count = handler.fields.len();
        let (mut names, mut encoded) = (TokenStream::new(), TokenStream::new());
        for field in &handler.fields {
            let (ident, ty, text) = (located(&field.ident), &field.ty, field.ident.unraw().to_string());
            let argument = at(ty);
            names.extend(quote_spanned!(mixed=> ref #ident,));
            encoded.extend(quote_spanned!(mixed=> __kind.#argument::<#ty>().encode(&mut __out, #text, #ident)?;));
        }
        arms.extend(quote_spanned! {mixed=>
            #cfgs
            #message::#variant { #names } => {
                #[allow(unused_mut)]
                let mut __out = #krate::__private::Encoder::new(#count);
                #encoded
                ::core::result::Result::Ok(::core::option::Option::Some(#krate::__private::Encoded::new(#name, __out)))
            }
        });
    }
    let never = never_arm(block);
    quote_spanned! {mixed=>
        fn encode(
            message: &#envelope,
        ) -> ::core::result::Result<::core::option::Option<#krate::__private::Encoded>, #krate::__private::CodecError> {
            #kind
            if !__kind.is_stored() {
                return ::core::result::Result::Ok(::core::option::Option::None);
            }
            #checks
            match *message.message() {
                #arms
                #never
            }
        }
    }
}

fn decode(block: &Block) -> TokenStream {
    let Block { krate, message, .. } = block;
    let (envelope, kind, mixed) = (envelope(block), kind(block), Span::mixed_site());
    let mut arms = TokenStream::new();
    for handler in &block.handlers {
        if !is_stored(handler) {
            continue;
        }
        let (cfgs, variant) = (&handler.cfgs, located(&handler.variant));
        let known = known(handler);
        let mut fields = TokenStream::new();
        for field in &handler.fields {
            let (ident, ty, text) = (located(&field.ident), &field.ty, field.ident.unraw().to_string());
            let argument = at(ty);
            fields.extend(quote_spanned!(mixed=> #ident: __kind.#argument::<#ty>().decode(__from, #text)?,));
        }
        arms.extend(quote_spanned! {mixed=>
            #cfgs
            #known => ::core::option::Option::Some(::core::convert::From::from(#message::#variant { #fields })),
        });
    }
    quote_spanned! {mixed=>
        #[allow(unreachable_patterns, unused_variables)]
        fn decode(
            kind: &::core::primitive::str,
            __from: &#krate::__private::Decoder<'_>,
        ) -> ::core::result::Result<::core::option::Option<#envelope>, #krate::__private::CodecError> {
            #kind
            ::core::result::Result::Ok(match kind {
                #arms
                _ => ::core::option::Option::None,
            })
        }
    }
}

/// The names of the messages that were stored under other names.
fn names(block: &Block) -> TokenStream {
    let mixed = Span::mixed_site();
    let mut arms = TokenStream::new();
    for handler in &block.handlers {
        if is_stored(handler) {
            let (cfgs, known, variant) = (&handler.cfgs, known(handler), handler.variant.to_string());
            arms.extend(quote_spanned!(mixed=> #cfgs #known => ::core::option::Option::Some(#variant),));
        }
    }
    quote_spanned! {mixed=>
        #[allow(unreachable_patterns)]
        fn stored_message(
            kind: &::core::primitive::str,
        ) -> ::core::option::Option<&'static ::core::primitive::str> {
            match kind {
                #arms
                _ => ::core::option::Option::None,
            }
        }
    }
}

/// What the store calls the message.
fn name(handler: &Handler) -> String {
    handler.stored_name()
}

/// The pattern of all names of the message in the store.
fn known(handler: &Handler) -> TokenStream {
    let name = name(handler);
    let mut known = quote_spanned!(Span::mixed_site()=> #name);
    for also in handler.arguments.also.value.iter().flatten() {
        known.extend(quote!(| #also));
    }
    known
}

/// `argument`, at the type of the argument. rustc reports there that the type cannot be stored, once, because it drops a second error
/// for the same place.
fn at(ty: &syn::Type) -> Ident {
    Ident::new("argument", Span::mixed_site().located_at(spans::of(ty)))
}
