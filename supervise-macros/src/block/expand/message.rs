//! Writes the enum of an actor's messages, and what `Actor` says about each by its name.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{Generics, Path, Visibility};

use super::behaviour::{is_plain, probes};
use super::with_default_doc;
use crate::attributes;
use crate::block::model::{Block, Handler};
use crate::block::parse::stored;
use crate::generics::derivation;
use crate::grammar::Argument;
use crate::settings::written;
use crate::spans::{self, located};

/// `FeedMessage`
pub(super) fn message(block: &Block) -> TokenStream {
    let Block { message, name, generics, arguments, .. } = block;
    let mut variants = TokenStream::new();
    for handler in &block.handlers {
        let Handler { variant, docs, .. } = handler;
        // Callers should not use a deprecated handler, but generated code still uses its message.
        let mut docs = docs.clone();
        docs.retain(|attribute| !attributes::innermost(attribute).path().is_ident("deprecated"));
        let docs = with_default_doc(&docs, &format!("The message for `{}`.", handler.ident));
        if handler.fields.is_empty() {
            variants.extend(quote!(#docs #variant,));
            continue;
        }
        let (mut names, mut types) = (Vec::new(), Vec::new());
        for field in &handler.fields {
            names.push(located(&field.ident));
            types.push(&field.ty);
        }
        variants.extend(quote!(#docs #variant { #(#names: #types,)* },));
    }
    if needs_never(block) {
        let never = never_variant(generics);
        variants.extend(quote!(#[doc(hidden)] #never));
    }
    let where_clause = &generics.where_clause;
    let text = format!("The messages of [`{name}`].");
    let (derive, vis) = (derives(&arguments.derive), visibility(&arguments.vis));
    quote_spanned! {Span::mixed_site()=>
        #[doc = #text]
        #derive
        #[allow(dead_code, missing_docs, private_bounds, private_interfaces, unreachable_pub)]
        #[allow(clippy::enum_variant_names, clippy::large_enum_variant, clippy::type_complexity)]
        #vis enum #message #generics #where_clause {
            #variants
        }
    }
}

/// Refuses messages that are less visible than their actor. rustc's own error does not say what to write.
pub(super) fn visible(block: &Block) -> Option<TokenStream> {
    let Block { krate, reference, generics, arguments, name, .. } = block;
    let vis = arguments.vis.value.as_ref()?;
    if matches!(vis, Visibility::Public(_)) || !generics.params.is_empty() {
        return None;
    }
    let vis_text = written(vis);
    let removed = if arguments.derive.value.is_none() && arguments.name.value.is_none() {
        format!("message(vis = {vis_text})")
    } else {
        format!("vis = {vis_text}")
    };
    let text = format!(
        "`{name}` is `pub`, and its messages must not be less visible: remove `{removed}`, or write `{vis_text} struct {name}`"
    );
    let here = Span::mixed_site().located_at(spans::of(vis));
    let krate = spans::path_at(krate, here);
    Some(quote_spanned! {here=>
        const _: () = ::core::assert!(!<#reference as #krate::__private::MigrationHints>::__PUBLIC, #text);
    })
}

fn derives(argument: &Argument<Vec<Path>>) -> TokenStream {
    let Some(paths) = &argument.value else { return TokenStream::new() };
    let mut list = TokenStream::new();
    for path in paths {
        list.extend(quote!(#path,));
    }
    quote!(#[derive(#list)])
}

fn visibility(argument: &Argument<Visibility>) -> TokenStream {
    argument.value.as_ref().map_or_else(|| quote!(pub), ToTokens::to_token_stream)
}

/// Whether some type parameter may not occur in the messages. An enum must use all of them.
fn needs_never(block: &Block) -> bool {
    block.generics.type_params().any(|parameter| {
        let mentioned = |handler: &Handler| {
            handler.cfgs.is_empty()
                && handler.fields.iter().any(|field| mentions(field.ty.to_token_stream(), &parameter.ident))
        };
        !block.handlers.iter().any(mentioned)
    })
}

fn mentions(tokens: TokenStream, word: &Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(own) => own == *word,
        TokenTree::Group(group) => mentions(group.stream(), word),
        _ => false,
    })
}

/// A variant that mentions all type parameters. It has no values.
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
    if !needs_never(block) {
        return TokenStream::new();
    }
    let message = &block.message;
    quote_spanned!(Span::mixed_site()=> #message::__Never(ref never, _) => match *never {},)
}

/// What is sent to the actor: the message in an envelope.
pub(super) fn envelope(block: &Block) -> TokenStream {
    let Block { krate, message, generics, name, .. } = block;
    let (_, ty_generics, _) = generics.split_for_impl();
    let at_name = spans::path_at(krate, name.span());
    quote_spanned!(name.span()=> #at_name::Envelope<#message #ty_generics>)
}

/// The message's `Debug`, which shows the name and the arguments, unless the user derives another.
pub(super) fn debug(block: &Block) -> Option<TokenStream> {
    let Block { krate, message, generics, .. } = block;
    if block.arguments.derives_debug().is_some() {
        return None;
    }
    let (_, ty_generics, _) = generics.split_for_impl();
    let mixed = Span::mixed_site();
    let mut arms = TokenStream::new();
    let mut imports = false;
    for handler in &block.handlers {
        let name = handler.variant.to_string();
        if handler.arguments.sensitive.value.is_some() {
            let hidden = quote_spanned!(mixed=> __f.debug_struct(#name).finish_non_exhaustive());
            arms.extend(named_arm(block, handler, &hidden));
            continue;
        }
        if handler.fields.is_empty() {
            let only = quote_spanned!(mixed=> __f.write_str(#name));
            arms.extend(named_arm(block, handler, &only));
            continue;
        }
        let (mut fields, mut names, mut shown) = (Vec::new(), String::new(), TokenStream::new());
        for field in &handler.fields {
            let ident = located(&field.ident);
            shown.extend(if is_plain(&field.ty) {
                quote_spanned!(mixed=> #ident,)
            } else {
                imports = true;
                quote_spanned!(mixed=> #krate::__private::Shown(#ident).__shown(),)
            });
            if !names.is_empty() {
                names.push(' ');
            }
            names.push_str(&field.ident.unraw().to_string());
            fields.push(ident);
        }
        let (cfgs, variant) = (&handler.cfgs, located(&handler.variant));
        arms.extend(quote_spanned! {mixed=>
            #cfgs
            #message::#variant { #(ref #fields,)* } => #krate::__private::show(__f, #name, #names, &[#shown]),
        });
    }
    let import = imports.then(|| probes(krate));
    let never = never_arm(block);
    let members = quote_spanned! {mixed=>
        fn fmt(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
            #import
            match *self {
                #arms
                #never
            }
        }
    };
    let of = quote_spanned!(mixed=> ::core::fmt::Debug);
    Some(derivation(generics, of, &quote!(#message #ty_generics), members))
}

/// The names of messages, for dead letters and events.
pub(super) fn name(block: &Block) -> TokenStream {
    let envelope = envelope(block);
    let mut arms = TokenStream::new();
    for handler in &block.handlers {
        let text = handler.variant.to_string();
        arms.extend(named_arm(block, handler, &text));
    }
    let never = never_arm(block);
    quote_spanned! {Span::mixed_site()=>
        fn message_name(message: &#envelope) -> &'static ::core::primitive::str {
            match *message.message() {
                #arms
                #never
            }
        }
    }
}

/// The arm that gives a handler's message a value.
pub(super) fn named_arm(block: &Block, handler: &Handler, value: &dyn ToTokens) -> TokenStream {
    let (message, cfgs, variant) = (&block.message, &handler.cfgs, located(&handler.variant));
    quote_spanned!(Span::mixed_site()=> #cfgs #message::#variant { .. } => #value,)
}

/// Which messages reset the receive timeout.
pub(super) fn is_activity(block: &Block) -> TokenStream {
    let envelope = envelope(block);
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
        fn is_activity(message: &#envelope) -> ::core::primitive::bool {
            match message.message() {
                #passive
                _ => true,
            }
        }
    }
}

/// Which messages are dropped if their asker has given up.
pub(super) fn is_skipped(block: &Block) -> TokenStream {
    let (krate, envelope) = (&block.krate, envelope(block));
    let mut skipped = TokenStream::new();
    for handler in &block.handlers {
        if handler.arguments.skip_abandoned.value.is_some() {
            let given_up = quote_spanned!(Span::mixed_site()=> #krate::Envelope::is_abandoned(message));
            skipped.extend(named_arm(block, handler, &given_up));
        }
    }
    if skipped.is_empty() {
        return skipped;
    }
    quote_spanned! {Span::mixed_site()=>
        #[allow(unreachable_patterns)]
        fn is_skipped(message: &#envelope) -> ::core::primitive::bool {
            match message.message() {
                #skipped
                _ => false,
            }
        }
    }
}

/// How often messages are redelivered, and how they are copied for that.
pub(super) fn redelivery(block: &Block) -> TokenStream {
    let Block { krate, message, .. } = block;
    let envelope = envelope(block);
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
            if stored::is_on() && handler.arguments.transient.given().is_none() {
                // A durable mailbox decodes the message once more.
                let copy = Ident::new("copy", mixed.located_at(spans::of(ty)));
                clones.extend(quote_spanned!(mixed=> #ident: __kind.#copy::<#ty>(#ident)?,));
            } else {
                clones.extend(quote_spanned!(mixed=> #ident: #copy(#ident),));
            }
        }
        copies.extend(quote_spanned! {mixed=>
            #cfgs
            #message::#variant { #names } => ::core::option::Option::Some(
                ::core::convert::From::from(#message::#variant { #clones }),
            ),
        });
    }
    if times.is_empty() {
        return times;
    }
    let kind = if stored::is_on() { super::stored::kind(block) } else { TokenStream::new() };
    quote_spanned! {mixed=>
        const REDELIVERS: ::core::primitive::bool = true;

        #[allow(unreachable_patterns)]
        fn redelivery(message: &#envelope) -> ::core::primitive::u32 {
            match message.message() {
                #times
                _ => 0,
            }
        }

        #[allow(unreachable_patterns)]
        fn duplicate(message: &#envelope) -> ::core::option::Option<#envelope> {
            #kind
            match message.message() {
                #copies
                _ => ::core::option::Option::None,
            }
        }

        fn reattach(message: &mut #envelope, reply: #krate::ReplySlot) {
            #krate::__private::reattach(message, reply);
        }
    }
}
