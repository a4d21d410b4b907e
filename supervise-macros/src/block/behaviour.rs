//! The `Actor` impl: dispatch to handlers, hooks and watch methods, and what becomes of what they return.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{Path, Type};

use super::expand::located;
use super::handler::{Fallible, Handler, Reply};
use super::hook::{Hook, HookArgument, Outcome};
use super::model::Block;
use crate::generics::derivation;
use crate::spans;

/// `impl Actor`, with everything the runtime calls.
pub(crate) fn actor(block: &Block) -> TokenStream {
    let Block { krate, actor, message, generics, .. } = block;
    let mixed = Span::mixed_site();
    let (_, ty_generics, _) = generics.split_for_impl();
    let mut members = quote_spanned!(mixed=> type Message = #message #ty_generics;);
    members.extend(handlers(block));
    for hook in &block.hooks {
        members.extend(hook_method(block, hook));
    }
    members.extend(terminated(block));
    if let Some(stash) = &block.stash {
        let (ident, cfgs) = (&stash.ident, &stash.cfgs);
        members.extend(quote_spanned! {mixed=>
            #cfgs
            fn stash_while(&self, message: &#message #ty_generics) -> ::core::primitive::bool {
                Self::#ident(self, message)
            }
        });
    }
    members.extend(quote_spanned! {mixed=>
        fn message_name(message: &#message #ty_generics) -> &'static ::core::primitive::str {
            message_name(message)
        }
    });
    members.extend(is_activity(block));
    members.extend(redelivery(block));
    // What is wrong with the actor as a whole is said at its name, and once: rustc drops an error that it has given for
    // the same place. `Self::Message` in a signature would be another place.
    let at_name = spans::path_at(krate, block.name.span());
    let as_actor = quote_spanned!(block.name.span()=> #at_name::Actor);
    derivation(generics, as_actor, actor, members)
}

/// The handlers that may wait, and those that never do.
fn handlers(block: &Block) -> TokenStream {
    let Block { krate, message, generics, .. } = block;
    let mixed = Span::mixed_site();
    let (_, ty_generics, _) = generics.split_for_impl();
    let (mut waiting, mut prompt) = (TokenStream::new(), TokenStream::new());
    for handler in &block.handlers {
        let arms = if handler.is_async { &mut waiting } else { &mut prompt };
        arms.extend(arm(block, handler));
    }
    let tiers = tiers(krate);
    let parameters = quote_spanned! {mixed=>
        &mut self,
        message: #message #ty_generics,
        __ctx: &mut #krate::Context<Self>,
    };
    let mut methods = TokenStream::new();
    if !waiting.is_empty() {
        let rest = if prompt.is_empty() {
            never_arm(block)
        } else {
            quote_spanned!(mixed=> _ => ::core::unreachable!("`handle_now` has handled it"),)
        };
        let at_name = spans::path_at(krate, block.name.span());
        let returns = quote_spanned! {block.name.span()=>
            -> ::core::result::Result<(), #at_name::Failure>
        };
        methods.extend(quote_spanned! {mixed=>
            async fn handle(#parameters) #returns {
                #tiers
                match message {
                    #waiting
                    #rest
                }
            }
        });
    }
    if !prompt.is_empty() {
        methods.extend(quote_spanned! {mixed=>
            fn handle_now(
                #parameters
            ) -> ::core::ops::ControlFlow<::core::result::Result<(), #krate::Failure>, #message #ty_generics> {
                #tiers
                let _ = &__ctx;
                #[allow(unreachable_patterns)]
                ::core::ops::ControlFlow::Break(match message {
                    #prompt
                    message => return ::core::ops::ControlFlow::Continue(message),
                })
            }
        });
    }
    methods
}

fn never_arm(block: &Block) -> TokenStream {
    if block.generics.type_params().next().is_none() {
        return TokenStream::new();
    }
    let message = &block.message;
    quote_spanned!(Span::mixed_site()=> #message::__Never(never, _) => match never {},)
}

/// Makes the tiers of error conversion visible.
fn tiers(krate: &Path) -> TokenStream {
    quote_spanned! {Span::mixed_site()=>
        #[allow(unused_imports)]
        use #krate::__private::{AnError as _, ErrorLike as _, IntoError as _, PlainReply as _, ReportedError as _};
    }
}

/// One handler. The names of its arguments are the user's choice, so ours begin with `__` beside them.
fn arm(block: &Block, handler: &Handler) -> TokenStream {
    let Block { krate, message, .. } = block;
    let Handler { cfgs, .. } = handler;
    let mixed = Span::mixed_site();
    let variant = located(&handler.variant);
    let (mut fields, mut checked) = (TokenStream::new(), TokenStream::new());
    for argument in &handler.arguments {
        let (ident, ty) = (located(&argument.ident), &argument.ty);
        fields.extend(quote_spanned!(mixed=> #ident,));
        if may_be_unsendable(ty) {
            let span = spans::of(ty);
            let krate = spans::path_at(krate, span);
            checked.extend(quote_spanned!(span=> let #ident = #krate::__private::sendable::<#ty>(#ident);));
        }
    }
    let call = call(&handler.ident, &handler.call, handler.is_async, krate);
    let nothing = matches!(handler.reply, Reply::Unit);
    let reply = if nothing { quote_spanned!(mixed=> ()) } else { quote_spanned!(mixed=> reply) };
    let answered = quote_spanned! {mixed=>
        __held.answer(__ctx, #reply);
        ::core::result::Result::Ok(())
    };
    let outcome = match &handler.reply {
        // It may be `#[must_use]`.
        Reply::Unit => quote_spanned!(mixed=> let () = #call; #answered),
        Reply::Plain(ty) => {
            let mut probe = TokenStream::new();
            if matches!(ty, Type::Path(_)) {
                let span = spans::of(ty);
                let at = spans::path_at(krate, span);
                probe = quote_spanned!(span=> #at::__private::plain_reply(#at::__private::Probe::<#ty>::reply()););
            }
            quote_spanned!(mixed=> #probe let reply = #call; #answered)
        }
        Reply::Wrapped(_) => quote_spanned!(mixed=> let #krate::Reply(reply) = #call; #answered),
        Reply::Fallible(fallible) => {
            matched(fallible, &call, &reply, &quote_spanned!(mixed=> { #answered }), krate)
        }
        Reply::Unsound => TokenStream::new(),
    };
    let at = handler.reply.span();
    let hold = spans::path_at(krate, at);
    let reply = handler.reply.ty(krate);
    let hold = quote_spanned!(at=> #hold::__private::hold::<_, #reply>);
    quote_spanned! {mixed=>
        #cfgs
        #message::#variant { #fields __reply } => {
            #checked
            let __held = #hold(__ctx, __reply);
            #outcome
        }
    }
}

/// The call of a method, waited for. It points at the method's name, but with names that users cannot see. That its
/// future is `Send` is asked there too.
fn call(method: &Ident, arguments: &[Ident], is_async: bool, krate: &Path) -> TokenStream {
    let here = Span::mixed_site().located_at(method.span());
    let name = located(method);
    let mut others = TokenStream::new();
    for argument in arguments {
        others.extend(quote_spanned!(here=> , #argument));
    }
    let call = quote_spanned!(here=> Self::#name(self #others));
    if !is_async {
        return call;
    }
    let krate = spans::path_at(krate, method.span());
    let sendable = quote_spanned!(method.span()=> #krate::__private::handler_future);
    quote_spanned!(Span::mixed_site()=> #sendable(#call).await)
}

/// Goes on with the value of what `call` returned, or turns the error into a failure.
fn matched(
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
                (&&&&#krate::__private::Tier::of(&error)).failure(error)
            }),
        }
    }
}

fn hook_method(block: &Block, hook: &Hook) -> TokenStream {
    let Block { krate, message, generics, .. } = block;
    let (_, ty_generics, _) = generics.split_for_impl();
    let mixed = Span::mixed_site();
    let Hook { cfgs, .. } = hook;
    let name = Ident::new(hook.kind.name(), mixed);
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
                quote_spanned!(mixed=> #name: ::core::option::Option<#message #ty_generics>,)
            }
        });
    }
    let call = call(&hook.ident, &hook.call, hook.is_async, krate);
    let body = outcome(&call, &hook.outcome, krate);
    quote_spanned! {mixed=>
        #cfgs
        async fn #name(&mut self, #parameters) -> ::core::result::Result<(), #krate::Failure> {
            #body
        }
    }
}

/// What a hook or watch method makes of its call: a `Result<(), Failure>`.
fn outcome(call: &TokenStream, outcome: &Outcome, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    let done = quote_spanned!(mixed=> ::core::result::Result::Ok(()));
    match outcome {
        Outcome::Nothing => quote_spanned!(mixed=> let () = #call; #done),
        Outcome::Fallible(fallible) => {
            let tiers = tiers(krate);
            let matched =
                matched(fallible, call, &quote_spanned!(mixed=> ()), &quote_spanned!(mixed=> #done,), krate);
            quote_spanned!(mixed=> #tiers #matched)
        }
    }
}

fn terminated(block: &Block) -> TokenStream {
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

/// The names of messages, for `Debug`, dead letters and events.
pub(crate) fn message_name(block: &Block) -> TokenStream {
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

/// What is known of a handler's message by its name alone.
fn named_arm(block: &Block, handler: &Handler, value: &dyn ToTokens) -> TokenStream {
    let (message, cfgs, variant) = (&block.message, &handler.cfgs, located(&handler.variant));
    quote_spanned!(Span::mixed_site()=> #cfgs #message::#variant { .. } => #value,)
}

/// Which messages leave the receive timeout alone.
fn is_activity(block: &Block) -> TokenStream {
    let message = &block.message;
    let (_, ty_generics, _) = block.generics.split_for_impl();
    let mut passive = TokenStream::new();
    for handler in &block.handlers {
        if !handler.influencing {
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

fn redelivery(block: &Block) -> TokenStream {
    let Block { krate, message, generics, .. } = block;
    let (_, ty_generics, _) = generics.split_for_impl();
    let mixed = Span::mixed_site();
    let (mut times, mut copies) = (TokenStream::new(), TokenStream::new());
    for handler in &block.handlers {
        let Some(redeliver) = handler.redeliver else { continue };
        times.extend(named_arm(block, handler, &redeliver));
        let (cfgs, variant) = (&handler.cfgs, located(&handler.variant));
        let (mut names, mut clones) = (TokenStream::new(), TokenStream::new());
        for argument in &handler.arguments {
            let (ident, ty) = (located(&argument.ident), &argument.ty);
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

/// Whether it is worth asking the compiler if `ty` is `Send`.
fn may_be_unsendable(ty: &Type) -> bool {
    const PLAIN: &[&str] = &[
        "bool", "char", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize",
        "f32", "f64", "String", "Duration",
    ];
    let Type::Path(path) = ty else { return true };
    path.path.get_ident().is_none_or(|name| !PLAIN.contains(&name.to_string().as_str()))
}
