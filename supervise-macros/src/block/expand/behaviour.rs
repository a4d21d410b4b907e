//! Writes `impl Actor`: it dispatches messages to handlers, and turns what they return into replies and failures.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{Path, Type};

use super::message::never_arm;
use super::{batch, call, hooks, message, stored};
use crate::block::model::{Block, Fallible, Handler, HookKind, Later, Outcome, Reply};
use crate::generics::derivation;
use crate::spans::{self, located};

/// `impl Actor`, with everything the runtime calls.
pub(super) fn actor(block: &Block) -> TokenStream {
    let Block { krate, actor, .. } = block;
    let mixed = Span::mixed_site();
    let envelope = message::envelope(block);
    // rustc reports here that the messages are less visible than the actor.
    let seen = block.arguments.vis.value.as_ref().map_or(mixed, |vis| mixed.located_at(spans::of(vis)));
    let mut members = quote_spanned!(seen=> type Message = #envelope;);
    members.extend(names(block));
    if block.keeps_replies {
        members.extend(quote_spanned!(mixed=> const KEEPS_REPLIES: ::core::primitive::bool = true;));
    }
    if !block.hooks.iter().any(|hook| matches!(hook.kind, HookKind::PreRestart | HookKind::PostStop)) {
        members.extend(quote_spanned!(mixed=> const HAS_LAST_HOOK: ::core::primitive::bool = false;));
    }
    members.extend(handlers(block));
    members.extend(batch::members(block));
    for hook in &block.hooks {
        members.extend(hooks::hook_method(block, hook));
    }
    members.extend(hooks::terminated(block));
    if let Some(stash) = &block.stash {
        let (ident, cfgs) = (&stash.ident, &stash.cfgs);
        members.extend(quote_spanned! {mixed=>
            #cfgs
            const STASHES: ::core::primitive::bool = true;
            #cfgs
            fn stash_while(&self, message: &#envelope) -> ::core::primitive::bool {
                Self::#ident(self, message.message())
            }
        });
    }
    members.extend(message::name(block));
    members.extend(message::is_activity(block));
    members.extend(message::is_skipped(block));
    members.extend(message::redelivery(block));
    members.extend(stored::members(block));
    // rustc reports mistakes of the actor as a whole at its name, once, because it drops a second error for the same place.
    // `Self::Message` in a signature would be another place.
    let at_name = spans::path_at(krate, block.name.span());
    let as_actor = quote_spanned!(block.name.span()=> #at_name::Actor);
    derivation(&block.sendable(), as_actor, actor, members)
}

/// The handlers' names as written. Those that a `#[cfg]` leaves out have a name too, so that the others keep their numbers.
fn names(block: &Block) -> TokenStream {
    let mut names = TokenStream::new();
    for handler in &block.handlers {
        let name = handler.ident.unraw().to_string();
        names.extend(quote_spanned!(Span::mixed_site()=> #name,));
    }
    if names.is_empty() {
        return names;
    }
    quote_spanned! {Span::mixed_site()=>
        const HANDLERS: &'static [&'static ::core::primitive::str] = &[#names];
    }
}

/// `handle` for async handlers, `handle_now` for the others.
fn handlers(block: &Block) -> TokenStream {
    let (mut waiting, mut prompt, mut later) = (TokenStream::new(), TokenStream::new(), TokenStream::new());
    let (mut probed_waiting, mut probed_prompt) = (false, false);
    for (number, handler) in (1_u16..).zip(&block.handlers) {
        if handler.batch.is_some() && handler.is_sound() {
            continue;
        }
        if handler.is_async {
            waiting.extend(arm(block, handler, number));
            probed_waiting |= is_probed(&handler.reply);
            let give_back =
                quote_spanned!(Span::mixed_site()=> return ::core::ops::ControlFlow::Continue(message));
            later.extend(message::named_arm(block, handler, &give_back));
        } else {
            prompt.extend(arm(block, handler, number));
            probed_prompt |= is_probed(&handler.reply);
        }
    }
    let mut gathered = TokenStream::new();
    if batch::is_used(block) {
        let krate = &block.krate;
        gathered = quote_spanned!(Span::mixed_site()=> #[allow(unreachable_patterns)] _ => #krate::__private::handled_elsewhere(),);
    }
    let mut methods = TokenStream::new();
    if !waiting.is_empty() {
        let rest = if prompt.is_empty() {
            let mut rest = never_arm(block);
            rest.extend(gathered.clone());
            rest
        } else {
            let krate = &block.krate;
            quote_spanned!(Span::mixed_site()=> _ => #krate::__private::handled_elsewhere(),)
        };
        methods.extend(handle(block, &waiting, &rest, probed_waiting));
    }
    if !prompt.is_empty() {
        methods.extend(handle_now(block, &prompt, &later, gathered, probed_prompt));
    }
    methods
}

/// `finds_out` says whether the arms find out what a type implements.
fn handle(block: &Block, arms: &TokenStream, rest: &TokenStream, finds_out: bool) -> TokenStream {
    let krate = &block.krate;
    let (probes, parameters) = (finds_out.then(|| probes(krate)), parameters(block));
    let at_name = spans::path_at(&block.krate, block.name.span());
    let returns = quote_spanned! {block.name.span()=>
        -> ::core::result::Result<(), #at_name::Failure>
    };
    quote_spanned! {Span::mixed_site()=>
        async fn handle(#parameters) #returns {
            #probes
            match #krate::__private::open(__ctx, message) {
                #arms
                #rest
            }
        }
    }
}

/// `later` are the patterns of the messages whose handlers are async.
fn handle_now(
    block: &Block,
    arms: &TokenStream,
    later: &TokenStream,
    gathered: TokenStream,
    finds_out: bool,
) -> TokenStream {
    let (krate, mixed) = (&block.krate, Span::mixed_site());
    let (mut given_back, mut rest) = (TokenStream::new(), never_arm(block));
    rest.extend(gathered);
    if !later.is_empty() {
        given_back = quote_spanned! {mixed=>
            match *#krate::Envelope::message(&message) {
                #later
                _ => {}
            }
        };
        rest = quote_spanned!(mixed=> #[allow(unreachable_patterns)] _ => #krate::__private::handled_elsewhere(),);
    }
    let (probes, parameters) = (finds_out.then(|| probes(krate)), parameters(block));
    let envelope = message::envelope(block);
    quote_spanned! {Span::mixed_site()=>
        fn handle_now(
            #parameters
        ) -> ::core::ops::ControlFlow<::core::result::Result<(), #krate::Failure>, #envelope> {
            #probes
            #given_back
            ::core::ops::ControlFlow::Break(match #krate::__private::open(__ctx, message) {
                #arms
                #rest
            })
        }
    }
}

fn parameters(block: &Block) -> TokenStream {
    let (krate, envelope) = (&block.krate, message::envelope(block));
    quote_spanned! {Span::mixed_site()=>
        &mut self,
        message: #envelope,
        __ctx: &mut #krate::Context<Self>,
    }
}

/// Imports the methods that find out what a type implements.
pub(super) fn probes(krate: &Path) -> TokenStream {
    quote_spanned! {Span::mixed_site()=>
        #[allow(unused_imports)]
        use #krate::__private::probes::*;
    }
}

/// The arm for one handler, which says its number. Our own names begin with `__`, because the user chooses the names of the fields.
fn arm(block: &Block, handler: &Handler, number: u16) -> TokenStream {
    let Block { krate, message, .. } = block;
    let (cfgs, variant) = (&handler.cfgs, located(&handler.variant));
    let mixed = Span::mixed_site();
    if !handler.is_sound() {
        return quote_spanned!(mixed=> #cfgs #message::#variant { .. } => ::core::result::Result::Ok(()),);
    }
    let (mut fields, mut checked) = (Vec::new(), None::<TokenStream>);
    for field in &handler.fields {
        let (ident, ty) = (located(&field.ident), &field.ty);
        if !is_plain(ty) {
            let span = spans::of(ty);
            let krate = spans::path_at(krate, span);
            let check = quote_spanned!(span=> let #ident = #krate::__private::sendable::<#ty>(#ident););
            checked.get_or_insert_default().extend(check);
        }
        fields.push(ident);
    }
    let answer = answer(handler, krate);
    quote_spanned! {mixed=>
        #cfgs
        #message::#variant { #(#fields,)* } => {
            #krate::__private::enter(__ctx, #number);
            #checked
            #answer
        }
    }
}

/// Whether the answer finds out what a type implements.
fn is_probed(reply: &Reply) -> bool {
    match reply {
        Reply::Plain(ty) => may_be_alias(ty),
        reply => reply.fallible().is_some(),
    }
}

/// Whether `ty` may be a `Result` under another name.
fn may_be_alias(ty: &Type) -> bool {
    matches!(ty, Type::Path(_) | Type::Macro(_)) && !is_plain(ty)
}

/// Calls the handler's method and answers with what it returns.
fn answer(handler: &Handler, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    let call = call(&handler.ident, &handler.call, handler.is_async, krate);
    let nothing = matches!(handler.reply, Reply::Unit);
    let at = handler.reply.span();
    let give = spans::path_at(krate, at);
    let ty = handler.reply.ty(krate);
    let reply = if nothing { quote_spanned!(mixed=> ()) } else { quote_spanned!(mixed=> reply) };
    let given = quote_spanned!(mixed=> (__ctx, #reply));
    let answered = quote_spanned!(at=> #give::__private::reply::<_, #ty> #given);
    match &handler.reply {
        Reply::Later(later) => answered_later(later, &call, &ty, krate),
        // The returned value may be `#[must_use]`.
        Reply::Unit => quote_spanned!(mixed=> let () = #call; #answered),
        Reply::Plain(ty) => {
            let mut probe = None;
            if may_be_alias(ty) {
                let span = spans::of(ty);
                let at = spans::path_at(krate, span);
                probe = Some(quote_spanned!(span=> (&#at::__private::Probe::<#ty>::NEW).__plain();));
            }
            quote_spanned!(mixed=> #probe let reply = #call; #answered)
        }
        Reply::Wrapped(_) => quote_spanned!(mixed=> let #krate::Reply(reply) = #call; #answered),
        Reply::Fallible(fallible) => {
            matched(fallible, &call, &reply, &quote_spanned!(mixed=> { #answered }), krate)
        }
    }
}

/// Gives the method the reply slot. What it returns is not the reply.
fn answered_later(later: &Later, call: &TokenStream, ty: &TokenStream, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    let at = spans::of(&later.ty);
    let taken = spans::path_at(krate, at);
    let taken = quote_spanned!(at=> #taken::__private::reply_to::<_, #ty>);
    let slot = quote_spanned!(mixed=> let __reply = #taken(__ctx););
    let fine = quote_spanned!(mixed=> ::core::result::Result::Ok(()));
    match &later.outcome {
        Outcome::Nothing => quote_spanned!(mixed=> #slot let () = #call; #fine),
        Outcome::Fallible(fallible) => {
            let (nothing, fine) = if fallible.sides.is_some() {
                (quote_spanned!(mixed=> ()), quote_spanned!(mixed=> #fine,))
            } else {
                // rustc reports an alias of a `Result` with a value here.
                let here = mixed.located_at(spans::of(&fallible.returned));
                let value = Ident::new("value", here);
                let nothing = spans::path_at(&quote!(#krate::__private::beside_the_slot), here);
                (quote!(#value), quote_spanned!(mixed=> { #nothing(#value); #fine }))
            };
            let matched = matched(fallible, call, &nothing, &fine, krate);
            quote_spanned!(mixed=> #slot #matched)
        }
    }
}

/// Continues with the value that `call` returns, or turns the error into a failure.
pub(super) fn matched(
    fallible: &Fallible,
    call: &TokenStream,
    value: &TokenStream,
    then: &TokenStream,
    krate: &Path,
) -> TokenStream {
    let (result, err) = (fallible.result(call, krate), fallible.err(krate));
    let at = spans::path_at(krate, fallible.err_span());
    let error_value = quote_spanned!(fallible.err_span()=> #at::__private::error_value::<#err>);
    quote_spanned! {Span::mixed_site()=>
        match #result {
            ::core::result::Result::Ok(#value) => #then
            ::core::result::Result::Err(error) => ::core::result::Result::Err({
                let error = #error_value(error);
                (&&&&#krate::__private::Tier::of(&error)).__failure(error)
            }),
        }
    }
}

/// Whether `ty` is certainly `Send` and `Debug`, and not a `Result`. Checks of each common type would take build time.
pub(super) fn is_plain(ty: &Type) -> bool {
    const PLAIN: &[&str] = &[
        "bool", "char", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize",
        "f32", "f64", "String", "Duration",
    ];
    let Type::Path(path) = ty else { return false };
    path.path.get_ident().is_some_and(|name| PLAIN.contains(&name.to_string().as_str()))
}
