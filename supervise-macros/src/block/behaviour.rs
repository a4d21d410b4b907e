//! The `Actor` impl: dispatch to handlers, hooks and watch methods, and what becomes of what they return.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::{Path, Type};

use super::expand::located;
use super::handler::{CallArgument, Fallible, Handler, Reply};
use super::hook::{Hook, HookArgument, HookKind, Outcome, Watch};
use super::model::Block;
use crate::spans;

/// `impl Actor`, with everything the runtime calls.
pub(crate) fn actor(block: &Block) -> TokenStream {
    let Block { krate, actor, message, generics, .. } = block;
    let mixed = Span::mixed_site();
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let hooks = block.hooks.iter().map(|hook| hook_method(block, hook));
    let (waiting, prompt): (Vec<_>, Vec<_>) = block.handlers.iter().partition(|handler| handler.is_async);
    let handle_now = handle_now(block, &prompt);
    let handle = handle(block, &waiting, prompt.is_empty());
    let terminated = terminated(block);
    let stash = block.stash.as_ref().map(|stash| {
        let (ident, cfgs) = (&stash.ident, &stash.cfgs);
        quote_spanned! {Span::mixed_site()=>
            #(#cfgs)*
            fn stash_while(&self, message: &#message #ty_generics) -> ::core::primitive::bool {
                Self::#ident(self, message)
            }
        }
    });
    let name = quote_spanned! {mixed=>
        fn message_name(message: &#message #ty_generics) -> &'static ::core::primitive::str {
            message.message_name()
        }
    };
    let is_activity = is_activity(block);
    let redelivery = redelivery(block);
    // What is wrong with the actor as a whole is said at its name, and once: rustc drops an error that it has given for
    // the same place. `Self::Message` in a signature would be another place.
    let at_name = spans::path_at(krate, block.name.span());
    let as_actor = quote_spanned!(block.name.span()=> #at_name::Actor);
    quote_spanned! {mixed=>
        #[automatically_derived]
        impl #impl_generics #as_actor for #actor #where_clause {
            type Message = #message #ty_generics;

            #handle
            #handle_now
            #(#hooks)*
            #terminated
            #stash
            #name
            #is_activity
            #redelivery
        }
    }
}

/// The handlers that may wait.
fn handle(block: &Block, handlers: &[&Handler], are_all: bool) -> Option<TokenStream> {
    let Block { krate, message, generics, .. } = block;
    let mixed = Span::mixed_site();
    let (_, ty_generics, _) = generics.split_for_impl();
    let arms = handlers.iter().map(|handler| arm(block, handler));
    let rest = if are_all {
        never_arm(block)
    } else {
        Some(quote_spanned!(mixed=> _ => ::core::unreachable!("`handle_now` has handled it"),))
    };
    let tiers = tiers(krate);
    let at_name = spans::path_at(krate, block.name.span());
    let returns = quote_spanned! {block.name.span()=>
        -> ::core::result::Result<(), #at_name::Failure>
    };
    let method = quote_spanned! {mixed=>
        async fn handle(
            &mut self,
            message: #message #ty_generics,
            __ctx: &mut #krate::Context<Self>,
        ) #returns {
            #tiers
            match message {
                #(#arms)*
                #rest
            }
        }
    };
    (!handlers.is_empty()).then_some(method)
}

/// The handlers that never wait.
fn handle_now(block: &Block, handlers: &[&Handler]) -> Option<TokenStream> {
    let Block { krate, message, generics, .. } = block;
    let (_, ty_generics, _) = generics.split_for_impl();
    let arms = handlers.iter().map(|handler| arm(block, handler));
    let tiers = tiers(krate);
    let method = quote_spanned! {Span::mixed_site()=>
        fn handle_now(
            &mut self,
            message: #message #ty_generics,
            __ctx: &mut #krate::Context<Self>,
        ) -> ::core::ops::ControlFlow<::core::result::Result<(), #krate::Failure>, #message #ty_generics> {
            #tiers
            let _ = &__ctx;
            #[allow(unreachable_patterns)]
            ::core::ops::ControlFlow::Break(match message {
                #(#arms)*
                message => return ::core::ops::ControlFlow::Continue(message),
            })
        }
    };
    (!handlers.is_empty()).then_some(method)
}

fn never_arm(block: &Block) -> Option<TokenStream> {
    let message = &block.message;
    let generic = block.generics.type_params().next().is_some();
    generic.then(|| quote_spanned!(Span::mixed_site()=> #message::__Never(never, _) => match never {},))
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
    let Handler { ident, cfgs, is_async, .. } = handler;
    let mixed = Span::mixed_site();
    let variant = located(&handler.variant);
    let fields = handler.arguments.iter().map(|argument| located(&argument.ident));
    let checked = handler.arguments.iter().filter(|argument| may_be_unsendable(&argument.ty)).map(|argument| {
        let (ident, ty, span) = (located(&argument.ident), &argument.ty, spans::of(&argument.ty));
        let krate = spans::path_at(krate, span);
        quote_spanned!(span=> let #ident = #krate::__private::sendable::<#ty>(#ident);)
    });
    let call = handler.call.iter().map(|argument| match argument {
        CallArgument::Context => quote_spanned!(mixed=> __ctx),
        CallArgument::Field(ident) => located(ident).into_token_stream(),
    });
    let (here, method) = (at(ident), located(ident));
    let call = quote_spanned!(here=> Self::#method(self #(, #call)*));
    let call = awaited(*is_async, ident, &call, krate);
    let outcome = match &handler.reply {
        Reply::Unit => quote_spanned! {mixed=>
            #call;
            __held.answer(__ctx, ());
            ::core::result::Result::Ok(())
        },
        Reply::Plain(ty) => {
            let span = spans::of(ty);
            let at = spans::path_at(krate, span);
            let probe = quote_spanned!(span=> #at::__private::plain_reply(#at::__private::Probe::<#ty>::reply()););
            let probe = matches!(ty, Type::Path(_)).then_some(probe);
            quote_spanned! {mixed=>
                #probe
                let reply = #call;
                __held.answer(__ctx, reply);
                ::core::result::Result::Ok(())
            }
        }
        Reply::Wrapped(_) => quote_spanned! {mixed=>
            let #krate::Reply(reply) = #call;
            __held.answer(__ctx, reply);
            ::core::result::Result::Ok(())
        },
        Reply::Fallible(fallible) => {
            let (result, failure) = (fallible.result(&call, krate), failure(fallible, krate));
            quote_spanned! {mixed=>
                match #result {
                    ::core::result::Result::Ok(reply) => {
                        __held.answer(__ctx, reply);
                        ::core::result::Result::Ok(())
                    }
                    ::core::result::Result::Err(error) => ::core::result::Result::Err(#failure),
                }
            }
        }
        Reply::Unsound => TokenStream::new(),
    };
    let at = handler.reply.span();
    let hold = spans::path_at(krate, at);
    let reply = handler.reply.ty(krate);
    let hold = quote_spanned!(at=> #hold::__private::hold::<_, #reply>);
    quote_spanned! {mixed=>
        #(#cfgs)*
        #message::#variant { #(#fields,)* __reply } => {
            #(#checked)*
            let __held = #hold(__ctx, __reply);
            #outcome
        }
    }
}

/// Where calls of a method point: at its name, but with names that users cannot see.
fn at(method: &Ident) -> Span {
    Span::mixed_site().located_at(method.span())
}

/// The call, waited for. That its future is `Send` is asked here, at the method's name.
fn awaited(is_async: bool, name: &Ident, call: &TokenStream, krate: &Path) -> TokenStream {
    if is_async {
        let krate = spans::path_at(krate, name.span());
        let sendable = quote_spanned!(name.span()=> #krate::__private::handler_future);
        quote_spanned!(Span::mixed_site()=> #sendable(#call).await)
    } else {
        call.clone()
    }
}

/// Turns `error` into a failure.
fn failure(fallible: &Fallible, krate: &Path) -> TokenStream {
    let err = fallible.err(krate);
    let at = spans::path_at(krate, fallible.err_span());
    let value = quote_spanned!(fallible.err_span()=> #at::__private::error_value::<#err>);
    quote_spanned! {Span::mixed_site()=> {
        let error = #value(error);
        (&&&&#krate::__private::Tier::of(&error)).failure(error)
    }}
}

fn hook_method(block: &Block, hook: &Hook) -> TokenStream {
    let Block { krate, message: message_type, generics, .. } = block;
    let (_, ty_generics, _) = generics.split_for_impl();
    let mixed = Span::mixed_site();
    let Hook { cfgs, .. } = hook;
    let name = Ident::new(hook.kind.name(), mixed);
    let takes = |argument| hook.call.contains(&argument);
    let given = |argument: HookArgument, name: &str| {
        if takes(argument) {
            format_ident!("{name}", span = mixed)
        } else {
            format_ident!("_{name}", span = mixed)
        }
    };
    let ctx = given(HookArgument::Context, "ctx");
    let cause = given(HookArgument::Cause, "cause");
    let message = given(HookArgument::Message, "message");
    let more = match hook.kind {
        HookKind::PreStart | HookKind::PostStop => TokenStream::new(),
        HookKind::PostRestart => quote_spanned!(mixed=> #cause: &#krate::Failure,),
        HookKind::PreRestart => quote_spanned! {mixed=>
            #cause: &#krate::Failure,
            #message: ::core::option::Option<#message_type #ty_generics>,
        },
    };
    let call = hook.call.iter().map(|argument| match argument {
        HookArgument::Context => &ctx,
        HookArgument::Cause => &cause,
        HookArgument::Message => &message,
    });
    let (here, method) = (at(&hook.ident), located(&hook.ident));
    let call = quote_spanned!(here=> Self::#method(self #(, #call)*));
    let body = outcome(hook.is_async, &hook.ident, &call, &hook.outcome, krate);
    quote_spanned! {mixed=>
        #(#cfgs)*
        async fn #name(
            &mut self,
            #ctx: &mut #krate::Context<Self>,
            #more
        ) -> ::core::result::Result<(), #krate::Failure> {
            #body
        }
    }
}

/// Calls a hook or watch method; its value is a `Result<(), Failure>`.
fn outcome(is_async: bool, name: &Ident, call: &TokenStream, outcome: &Outcome, krate: &Path) -> TokenStream {
    let call = awaited(is_async, name, call, krate);
    match outcome {
        Outcome::Nothing => quote_spanned! {Span::mixed_site()=>
            #call;
            ::core::result::Result::Ok(())
        },
        Outcome::Fallible(fallible) => {
            let tiers = tiers(krate);
            let (result, failure) = (fallible.result(&call, krate), failure(fallible, krate));
            quote_spanned! {Span::mixed_site()=>
                #tiers
                match #result {
                    ::core::result::Result::Ok(()) => ::core::result::Result::Ok(()),
                    ::core::result::Result::Err(error) => ::core::result::Result::Err(#failure),
                }
            }
        }
    }
}

fn terminated(block: &Block) -> Option<TokenStream> {
    let Block { krate, watches, .. } = block;
    if watches.is_empty() {
        return None;
    }
    let mixed = Span::mixed_site();
    let call = |watch: &Watch| {
        let (here, method) = (at(&watch.ident), located(&watch.ident));
        let arguments = match watch.news_first {
            None => quote_spanned!(mixed=> gone),
            Some(true) => quote_spanned!(mixed=> gone, ctx),
            Some(false) => quote_spanned!(mixed=> ctx, gone),
        };
        let call = quote_spanned!(here=> Self::#method(self, #arguments));
        outcome(watch.is_async, &watch.ident, &call, &watch.outcome, krate)
    };
    let typed = watches.iter().filter_map(|watch| {
        let (subject, cfgs, body) = (watch.subject.as_ref()?, &watch.cfgs, call(watch));
        Some(quote_spanned! {mixed=>
            #(#cfgs)*
            let gone = match gone.downcast::<#subject>() {
                ::core::result::Result::Ok(gone) => return { #body },
                ::core::result::Result::Err(gone) => gone,
            };
        })
    });
    let untyped = watches.iter().filter(|watch| watch.subject.is_none()).map(|watch| {
        let (cfgs, body) = (&watch.cfgs, call(watch));
        quote_spanned!(mixed=> #(#cfgs)* { return { #body }; })
    });
    let pact = watches
        .iter()
        .all(|watch| watch.subject.is_some() || !watch.cfgs.is_empty())
        .then(|| quote_spanned!(mixed=> ::core::result::Result::Err(#krate::Failure::death_pact(gone.path()))));
    Some(quote_spanned! {mixed=>
        #[allow(clippy::needless_return, unreachable_code)]
        async fn terminated(
            &mut self,
            gone: #krate::Terminated,
            ctx: &mut #krate::Context<Self>,
        ) -> ::core::result::Result<(), #krate::Failure> {
            let _ = &ctx;
            #(#typed)*
            #(#untyped)*
            #pact
        }
    })
}

/// The names of messages, for `Debug`, dead letters and events.
pub(crate) fn message_name(block: &Block) -> TokenStream {
    let Block { message, generics, .. } = block;
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let arms = block.handlers.iter().map(|handler| {
        let (cfgs, variant, text) = (&handler.cfgs, located(&handler.variant), handler.variant.to_string());
        quote_spanned!(Span::mixed_site()=> #(#cfgs)* #message::#variant { .. } => #text,)
    });
    let never = never_arm(block);
    quote_spanned! {Span::mixed_site()=>
        impl #impl_generics #message #ty_generics #where_clause {
            fn message_name(&self) -> &'static ::core::primitive::str {
                match *self {
                    #(#arms)*
                    #never
                }
            }
        }
    }
}

/// Which messages leave the receive timeout alone.
fn is_activity(block: &Block) -> Option<TokenStream> {
    let message = &block.message;
    let (_, ty_generics, _) = block.generics.split_for_impl();
    let passive = block.handlers.iter().filter(|handler| !handler.influencing).map(|handler| {
        let (cfgs, variant) = (&handler.cfgs, located(&handler.variant));
        quote_spanned!(Span::mixed_site()=> #(#cfgs)* #message::#variant { .. } => false,)
    });
    let passive: Vec<_> = passive.collect();
    (!passive.is_empty()).then(|| {
        quote_spanned! {Span::mixed_site()=>
            #[allow(unreachable_patterns)]
            fn is_activity(message: &#message #ty_generics) -> ::core::primitive::bool {
                match message {
                    #(#passive)*
                    _ => true,
                }
            }
        }
    })
}

fn redelivery(block: &Block) -> Option<TokenStream> {
    let Block { krate, message, generics, .. } = block;
    let (_, ty_generics, _) = generics.split_for_impl();
    let mixed = Span::mixed_site();
    let kept: Vec<(&Handler, u32)> =
        block.handlers.iter().filter_map(|handler| Some((handler, handler.redeliver?))).collect();
    if kept.is_empty() {
        return None;
    }
    let times = kept.iter().map(|(handler, times)| {
        let (cfgs, variant) = (&handler.cfgs, located(&handler.variant));
        quote_spanned!(mixed=> #(#cfgs)* #message::#variant { .. } => #times,)
    });
    let copies = kept.iter().map(|(handler, _)| {
        let (cfgs, variant) = (&handler.cfgs, located(&handler.variant));
        let names: Vec<_> = handler.arguments.iter().map(|argument| located(&argument.ident)).collect();
        let clones = handler.arguments.iter().map(|argument| {
            let (ident, ty) = (located(&argument.ident), &argument.ty);
            let at = spans::path_at(krate, spans::of(ty));
            let copy = quote_spanned!(spans::of(ty)=> #at::__private::redeliverable::<#ty>);
            quote_spanned!(mixed=> #ident: #copy(#ident),)
        });
        quote_spanned! {mixed=>
            #(#cfgs)*
            #message::#variant { #(#names,)* .. } => ::core::option::Option::Some(
                #message::#variant { #(#clones)* __reply: #krate::ReplyTo::nowhere() },
            ),
        }
    });
    Some(quote_spanned! {mixed=>
        #[allow(unreachable_patterns)]
        fn redelivery(message: &#message #ty_generics) -> ::core::primitive::u32 {
            match message {
                #(#times)*
                _ => 0,
            }
        }

        #[allow(unreachable_patterns)]
        fn duplicate(message: &#message #ty_generics) -> ::core::option::Option<#message #ty_generics> {
            match message {
                #(#copies)*
                _ => ::core::option::Option::None,
            }
        }
    })
}

/// Whether it is worth asking the compiler if `ty` is `Send`.
fn may_be_unsendable(ty: &Type) -> bool {
    const PLAIN: &[&str] = &[
        "bool", "char", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize",
        "f32", "f64", "String", "Duration",
    ];
    !matches!(ty, Type::Path(path) if path.path.get_ident().is_some_and(|name| PLAIN.iter().any(|plain| name == plain)))
}
