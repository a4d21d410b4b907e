//! Writes what handlers with `batch` add to `impl Actor`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Ident, Path};

use super::behaviour::{matched, probes};
use super::{call, message};
use crate::block::model::{Batch, Block, Handler, Reply};
use crate::block::parse::batch;
use crate::duration;
use crate::spans::{self, located};

/// The handlers with `batch` that can be called, with the number of each.
fn handlers(block: &Block) -> impl Iterator<Item = (u16, &Handler, &Batch)> {
    (0..).zip(&block.handlers).filter_map(|(at, handler)| {
        let batch = handler.batch.as_ref().filter(|_| handler.is_sound())?;
        Some((at, handler, batch))
    })
}

/// Whether there is such a handler.
pub(super) fn is_used(block: &Block) -> bool {
    handlers(block).next().is_some()
}

/// `BATCHES`, `batching` and `handle_batch`.
pub(super) fn members(block: &Block) -> TokenStream {
    let krate = &block.krate;
    let mixed = Span::mixed_site();
    let (mut how, mut arms) = (TokenStream::new(), TokenStream::new());
    for (at, handler, batch) in handlers(block) {
        let size = batch.size;
        let linger = handler.arguments.linger.value.map(duration::expression);
        let linger = linger.map(|linger| quote_spanned!(mixed=> .linger(#linger)));
        let batching =
            quote_spanned!(mixed=> ::core::option::Option::Some(#krate::Batching::new(#at, #size) #linger));
        how.extend(message::named_arm(block, handler, &batching));
        arms.extend(arm(block, at, handler));
    }
    if how.is_empty() {
        return how;
    }
    let (envelope, probes) = (message::envelope(block), probes(krate));
    quote_spanned! {mixed=>
        const BATCHES: ::core::primitive::bool = true;

        #[allow(unreachable_patterns)]
        fn batching(message: &#envelope) -> ::core::option::Option<#krate::Batching> {
            match *message.message() {
                #how
                _ => ::core::option::Option::None,
            }
        }

        #[allow(unused_variables)]
        async fn handle_batch(
            &mut self,
            handler: ::core::primitive::u16,
            batch: ::std::vec::Vec<#envelope>,
            __ctx: &mut #krate::Context<Self>,
        ) -> ::core::result::Result<(), #krate::Failure> {
            #probes
            let __count = batch.len();
            match handler {
                #arms
                _ => ::core::unreachable!("`batching` names the handlers"),
            }
        }
    }
}

fn arm(block: &Block, at: u16, handler: &Handler) -> TokenStream {
    let number = at + 1;
    let Block { krate, message, .. } = block;
    let mixed = Span::mixed_site();
    let (cfgs, variant) = (&handler.cfgs, located(&handler.variant));
    let [field] = handler.fields.as_slice() else { return TokenStream::new() };
    let (ident, ty) = (located(&field.ident), &field.ty);
    let span = spans::of(ty);
    let at_type = spans::path_at(krate, span);
    let sendable = quote_spanned!(span=> #at_type::__private::sendable::<#ty>);
    let answer = answer(handler, krate);
    quote_spanned! {mixed=>
        #cfgs
        #at => {
            #krate::__private::enter(__ctx, #number);
            #[allow(unreachable_patterns)]
            let #ident = #krate::__private::open_batch(__ctx, batch, |message| match message {
                #message::#variant { #ident } => ::core::option::Option::Some(#sendable(#ident)),
                _ => ::core::option::Option::None,
            });
            #answer
        }
    }
}

/// Calls the handler's method and answers with what it returns.
fn answer(handler: &Handler, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    let call = call(&handler.ident, &handler.call, handler.is_async, krate);
    let name = handler.ident.to_string();
    let at = handler.reply.span();
    let give = spans::path_at(krate, at);
    let ty = handler.reply.ty(krate);
    let give = quote_spanned!(at=> #give::__private::reply_batch::<_, #ty>);
    let answered = quote_spanned! {mixed=>
        #give(__ctx, #name, __count, reply);
        ::core::result::Result::Ok(())
    };
    match &handler.reply {
        Reply::Unit | Reply::Plain(_) => quote_spanned!(mixed=> let reply = #call; #answered),
        Reply::Wrapped(_) => quote_spanned!(mixed=> let #krate::Reply(reply) = #call; #answered),
        Reply::Fallible(fallible) => {
            let reply = Ident::new("reply", mixed);
            matched(fallible, &call, &quote!(#reply), &quote_spanned!(mixed=> { #answered }), krate)
        }
        Reply::Later(_) => unreachable!("the handler has a mistake"),
    }
}

/// The reply to one message of a batch.
pub(super) fn reply(reply: &Reply, krate: &Path) -> TokenStream {
    if matches!(reply, Reply::Unit | Reply::Later(_)) {
        return reply.ty(krate);
    }
    if let Some(replies) = batch::replies(reply) {
        // Another type is a mistake, and was reported.
        let each = batch::each(replies).unwrap_or(replies);
        return quote!(#each);
    }
    let (at, ty) = (reply.span(), reply.ty(krate));
    let krate = spans::path_at(krate, at);
    quote_spanned!(at=> <#ty as #krate::__private::BatchReply>::Each)
}
