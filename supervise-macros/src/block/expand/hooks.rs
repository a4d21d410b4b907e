//! Writes hooks and the reaction to the end of watched actors.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::Path;

use super::behaviour::{matched, probes};
use super::call;
use super::message::envelope;
use crate::block::model::{Block, Hook, HookArgument, Outcome};
use crate::grammar::Word;

/// The hook as a method of `Actor`.
pub(super) fn hook_method(block: &Block, hook: &Hook) -> TokenStream {
    let krate = &block.krate;
    let envelope = envelope(block);
    let mixed = Span::mixed_site();
    let Hook { cfgs, .. } = hook;
    let name = Ident::new(hook.kind.role().word(), mixed);
    let mut parameters = TokenStream::new();
    for argument in &[HookArgument::Context, HookArgument::Cause, HookArgument::Message] {
        if !hook.kind.takes(*argument) {
            continue;
        }
        let mut name = Ident::new(argument.name(), mixed);
        if !hook.call.contains(&name) {
            name = Ident::new(&format!("_{name}"), mixed);
        }
        parameters.extend(match argument {
            HookArgument::Context => quote_spanned!(mixed=> #name: &mut #krate::Context<Self>,),
            HookArgument::Cause => quote_spanned!(mixed=> #name: &#krate::Failure,),
            HookArgument::Message => {
                quote_spanned!(mixed=> #name: ::core::option::Option<#envelope>,)
            }
        });
    }
    let mut opened = TokenStream::new();
    let message = Ident::new(HookArgument::Message.name(), mixed);
    if hook.call.contains(&message) {
        opened = quote_spanned!(mixed=> let #message = #message.map(#krate::Envelope::into_message););
    }
    let call = call(&hook.ident, &hook.call, hook.is_async, krate);
    let body = outcome(&call, &hook.outcome, krate);
    quote_spanned! {mixed=>
        #cfgs
        async fn #name(&mut self, #parameters) -> ::core::result::Result<(), #krate::Failure> {
            #opened
            #body
        }
    }
}

/// The result of a hook or watch method as a `Result<(), Failure>`.
fn outcome(call: &TokenStream, outcome: &Outcome, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    let done = quote_spanned!(mixed=> ::core::result::Result::Ok(()));
    match outcome {
        Outcome::Nothing => quote_spanned!(mixed=> let () = #call; #done),
        Outcome::Fallible(fallible) => {
            let probes = probes(krate);
            let matched =
                matched(fallible, call, &quote_spanned!(mixed=> ()), &quote_spanned!(mixed=> #done,), krate);
            quote_spanned!(mixed=> #probes #matched)
        }
    }
}

/// `Actor::terminated`, if there are watch methods.
pub(super) fn terminated(block: &Block) -> TokenStream {
    let Block { krate, watches, .. } = block;
    if watches.is_empty() {
        return TokenStream::new();
    }
    let mixed = Span::mixed_site();
    let (mut typed, mut untyped) = (TokenStream::new(), TokenStream::new());
    let mut pact = quote_spanned!(mixed=> ::core::result::Result::Err(#krate::Failure::death_pact(gone.path())));
    for watch in watches {
        let cfgs = &watch.cfgs;
        let call = call(&watch.ident, &watch.call, watch.is_async, krate);
        let body = outcome(&call, &watch.outcome, krate);
        if let Some(subject) = &watch.subject {
            typed.extend(quote_spanned! {mixed=>
                #cfgs
                let gone = match gone.downcast::<#subject>() {
                    ::core::result::Result::Ok(gone) => return { #body },
                    ::core::result::Result::Err(gone) => gone,
                };
            });
        } else {
            untyped.extend(quote_spanned!(mixed=> #cfgs { return { #body }; }));
            if cfgs.is_empty() {
                pact = TokenStream::new();
            }
        }
    }
    quote_spanned! {mixed=>
        #[allow(clippy::needless_return, unreachable_code)]
        async fn terminated(
            &mut self,
            gone: #krate::Terminated,
            ctx: &mut #krate::Context<Self>,
        ) -> ::core::result::Result<(), #krate::Failure> {
            let _ = &ctx;
            #typed
            #untyped
            #pact
        }
    }
}
