//! The message enum, the ref's methods and the `Actor` impl. Cannot fail.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Attribute, GenericParam, Generics, Type, parse_quote};

use super::handler::{CallArgument, Fallible, Handler, Reply};
use super::hook::{Hook, HookArgument, HookKind, Outcome, Watch};
use super::model::Block;
use crate::cfgs;
use crate::spans;
use crate::supervise::model::distinct;

pub(crate) fn expand(block: &Block) -> TokenStream {
    let Block { item, cfgs, .. } = block;
    let mut generated = vec![message(block), message_debug(block), reference(block), actor(block)];
    generated.extend(failures(block));
    generated.extend(watches(block));
    let generated = cfgs::apply(cfgs, generated);
    quote!(#item #generated)
}

/// `FeedMessage`
fn message(block: &Block) -> TokenStream {
    let Block { message, name, krate, generics, .. } = block;
    let variants = block.handlers.iter().map(|handler| {
        let Handler { variant, docs, .. } = handler;
        let docs = with_default_doc(docs, &format!("The message for `{}`.", handler.ident));
        let fields = handler.arguments.iter().map(|argument| {
            let (ident, ty) = (located(&argument.ident), &argument.ty);
            quote!(#ident: #ty)
        });
        let reply = handler.reply.ty(krate);
        quote! {
            #(#docs)*
            #variant {
                #(#fields,)*
                #[doc(hidden)]
                __reply: #krate::ReplyTo<#reply>,
            }
        }
    });
    let unused = unused_variant(generics);
    let where_clause = &generics.where_clause;
    let text = format!("What a [`{name}`] can be told.");
    quote_spanned! {Span::mixed_site()=>
        #[doc = #text]
        #[allow(dead_code, missing_docs, private_bounds, private_interfaces, unreachable_pub)]
        #[allow(clippy::enum_variant_names, clippy::large_enum_variant, clippy::type_complexity)]
        pub enum #message #generics #where_clause {
            #(#variants,)*
            #unused
        }
    }
}

/// Type parameters that no message mentions must still be mentioned. Nobody can make this variant.
fn unused_variant(generics: &Generics) -> Option<TokenStream> {
    let types: Vec<_> = generics.type_params().map(|parameter| &parameter.ident).collect();
    (!types.is_empty()).then(|| {
        quote! {
            #[doc(hidden)]
            __Never(::core::convert::Infallible, ::core::marker::PhantomData<fn() -> (#(*const #types,)*)>),
        }
    })
}

fn never_arm(block: &Block) -> Option<TokenStream> {
    let message = &block.message;
    let generic = block.generics.type_params().next().is_some();
    generic.then(|| quote_spanned!(Span::mixed_site()=> #message::__Never(never, _) => match never {},))
}

fn message_debug(block: &Block) -> TokenStream {
    let Block { message, actor, krate, generics, .. } = block;
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl #impl_generics ::core::fmt::Debug for #message #ty_generics #where_clause {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(<#actor as #krate::Actor>::message_name(self))
            }
        }
    }
}

/// The methods of `FeedRef`.
fn reference(block: &Block) -> TokenStream {
    let Block { reference, generics, .. } = block;
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let methods = block.handlers.iter().map(|handler| request(block, handler));
    quote_spanned! {Span::mixed_site()=>
        #[allow(dead_code, irrefutable_let_patterns, unreachable_pub)]
        #[allow(clippy::too_many_arguments, clippy::type_complexity)]
        impl #impl_generics #reference #where_clause {
            #(#methods)*
        }
    }
}

fn request(block: &Block, handler: &Handler) -> TokenStream {
    let Block { krate, actor, message, .. } = block;
    let Handler { ident, variant, docs, .. } = handler;
    let variant = located(variant);
    let docs = with_default_doc(docs, &format!("A request for `{ident}`."));
    let names: Vec<_> = handler.arguments.iter().map(|argument| located(&argument.ident)).collect();
    let types = handler.arguments.iter().map(|argument| &argument.ty);
    let reply = handler.reply.ty(krate);
    quote_spanned! {Span::mixed_site()=>
        #(#docs)*
        pub fn #ident(&self #(, #names: #types)*) -> #krate::Request<'_, #actor, #reply> {
            #krate::Request::new(
                self.actor_ref(),
                #message::#variant { #(#names,)* __reply: #krate::ReplyTo::nowhere() },
                |message, reply| {
                    if let #message::#variant { __reply, .. } = message {
                        *__reply = reply;
                    }
                },
            )
        }
    }
}

fn actor(block: &Block) -> TokenStream {
    let Block { krate, actor, message, generics, .. } = block;
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let hooks = block.hooks.iter().map(|hook| hook_method(block, hook));
    let arms = block.handlers.iter().map(|handler| arm(block, handler));
    let never = never_arm(block);
    let tiers = (!block.handlers.is_empty()).then(|| tiers(krate));
    let terminated = terminated(block);
    let stash = block.stash.as_ref().map(|stash| {
        let (ident, cfgs) = (&stash.ident, &stash.cfgs);
        quote_spanned! {Span::mixed_site()=>
            #(#cfgs)*
            fn stash_while(&self, message: &Self::Message) -> bool {
                Self::#ident(self, message)
            }
        }
    });
    let name = message_name(block);
    let redelivery = redelivery(block);
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl #impl_generics #krate::Actor for #actor #where_clause {
            type Message = #message #ty_generics;

            async fn handle(
                &mut self,
                message: Self::Message,
                ctx: &mut #krate::Context<Self>,
            ) -> ::core::result::Result<(), #krate::Failure> {
                #tiers
                let _ = &ctx;
                match message {
                    #(#arms)*
                    #never
                }
            }

            #(#hooks)*
            #terminated
            #stash
            #name
            #redelivery
        }
    }
}

/// Makes the tiers of error conversion visible.
fn tiers(krate: &syn::Path) -> TokenStream {
    quote_spanned! {Span::mixed_site()=>
        #[allow(unused_imports)]
        use #krate::__private::{AnError as _, ErrorLike as _, IntoError as _, PlainReply as _, ReportedError as _};
    }
}

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
        CallArgument::Context => quote_spanned!(mixed=> ctx),
        CallArgument::Field(ident) => located(ident).into_token_stream(),
    });
    let method = located(ident);
    let call = quote_spanned!(mixed=> Self::#method(self #(, #call)*));
    let call = awaited(*is_async, ident, &call, krate);
    let outcome = match &handler.reply {
        Reply::Unit => quote_spanned! {mixed=>
            #call;
            held.answer(ctx, ());
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
                held.answer(ctx, reply);
                ::core::result::Result::Ok(())
            }
        }
        Reply::Wrapped(_) => quote_spanned! {mixed=>
            let #krate::Reply(reply) = #call;
            held.answer(ctx, reply);
            ::core::result::Result::Ok(())
        },
        Reply::Fallible(fallible) => {
            let failure = failure(fallible, krate);
            quote_spanned! {mixed=>
                match #call {
                    ::core::result::Result::Ok(reply) => {
                        held.answer(ctx, reply);
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
    let hold = quote_spanned!(at=> #hold::__private::hold);
    quote_spanned! {mixed=>
        #(#cfgs)*
        #message::#variant { #(#fields,)* __reply } => {
            #(#checked)*
            let held = #hold(ctx, __reply);
            #outcome
        }
    }
}

/// The call, waited for. That its future is `Send` is asked here, at the method's name.
fn awaited(is_async: bool, name: &proc_macro2::Ident, call: &TokenStream, krate: &syn::Path) -> TokenStream {
    if is_async {
        let krate = spans::path_at(krate, name.span());
        let sendable = quote_spanned!(name.span()=> #krate::__private::handler_future);
        quote_spanned!(Span::mixed_site()=> #sendable(#call).await)
    } else {
        call.clone()
    }
}

/// Turns `error` into a failure.
fn failure(fallible: &Fallible, krate: &syn::Path) -> TokenStream {
    let err = fallible.err(krate);
    let at = spans::path_at(krate, fallible.err_span());
    let value = quote_spanned!(fallible.err_span()=> #at::__private::error_value::<#err>);
    quote_spanned! {Span::mixed_site()=> {
        let error = #value(error);
        (&&&&#krate::__private::Tier::of(&error)).failure(error)
    }}
}

fn hook_method(block: &Block, hook: &Hook) -> TokenStream {
    let Block { krate, .. } = block;
    let mixed = Span::mixed_site();
    let Hook { cfgs, .. } = hook;
    let name = proc_macro2::Ident::new(hook.kind.name(), mixed);
    let takes = |argument| hook.call.contains(&argument);
    let given = |argument: HookArgument, name: &str| {
        if takes(argument) { format_ident!("{name}", span = mixed) } else { format_ident!("_{name}", span = mixed) }
    };
    let ctx = given(HookArgument::Context, "ctx");
    let cause = given(HookArgument::Cause, "cause");
    let message = given(HookArgument::Message, "message");
    let more = match hook.kind {
        HookKind::PreStart | HookKind::PostStop => TokenStream::new(),
        HookKind::PostRestart => quote_spanned!(mixed=> #cause: &#krate::Failure,),
        HookKind::PreRestart => quote_spanned! {mixed=>
            #cause: &#krate::Failure,
            #message: ::core::option::Option<Self::Message>,
        },
    };
    let call = hook.call.iter().map(|argument| match argument {
        HookArgument::Context => &ctx,
        HookArgument::Cause => &cause,
        HookArgument::Message => &message,
    });
    let method = located(&hook.ident);
    let call = quote_spanned!(mixed=> Self::#method(self #(, #call)*));
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
fn outcome(
    is_async: bool,
    name: &proc_macro2::Ident,
    call: &TokenStream,
    outcome: &Outcome,
    krate: &syn::Path,
) -> TokenStream {
    let call = awaited(is_async, name, call, krate);
    match outcome {
        Outcome::Nothing => quote_spanned! {Span::mixed_site()=>
            #call;
            ::core::result::Result::Ok(())
        },
        Outcome::Fallible(fallible) => {
            let tiers = tiers(krate);
            let failure = failure(fallible, krate);
            quote_spanned! {Span::mixed_site()=>
                #tiers
                match #call {
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
        let method = located(&watch.ident);
        let arguments = match watch.news_first {
            None => quote_spanned!(mixed=> gone),
            Some(true) => quote_spanned!(mixed=> gone, ctx),
            Some(false) => quote_spanned!(mixed=> ctx, gone),
        };
        let call = quote_spanned!(mixed=> Self::#method(self, #arguments));
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

fn message_name(block: &Block) -> TokenStream {
    let message = &block.message;
    let arms = block.handlers.iter().map(|handler| {
        let (cfgs, variant, text) = (&handler.cfgs, located(&handler.variant), handler.variant.to_string());
        quote_spanned!(Span::mixed_site()=> #(#cfgs)* #message::#variant { .. } => #text,)
    });
    let never = never_arm(block);
    quote_spanned! {Span::mixed_site()=>
        fn message_name(message: &Self::Message) -> &'static str {
            match *message {
                #(#arms)*
                #never
            }
        }
    }
}

fn redelivery(block: &Block) -> Option<TokenStream> {
    let Block { krate, message, .. } = block;
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
        fn redelivery(message: &Self::Message) -> u32 {
            match message {
                #(#times)*
                _ => 0,
            }
        }

        #[allow(unreachable_patterns)]
        fn duplicate(message: &Self::Message) -> ::core::option::Option<Self::Message> {
            match message {
                #(#copies)*
                _ => ::core::option::Option::None,
            }
        }
    })
}

/// `FailuresDecidedBy`, one bound for each type the actor can fail with.
fn failures(block: &Block) -> Vec<TokenStream> {
    let Block { krate, actor, .. } = block;
    let parent = format_ident!("__P", span = Span::mixed_site());
    let mut always = Vec::new();
    let mut conditional: Vec<(&[Attribute], TokenStream)> = Vec::new();
    for handler in &block.handlers {
        match &handler.reply {
            Reply::Fallible(fallible) if handler.cfgs.is_empty() => always.push(fallible.err(krate)),
            Reply::Fallible(fallible) => conditional.push((&handler.cfgs, fallible.err(krate))),
            _ => {}
        }
    }
    let hooks = block.hooks.iter().map(|hook| (&hook.cfgs, &hook.outcome));
    let watches = block.watches.iter().map(|watch| (&watch.cfgs, &watch.outcome));
    for (cfgs, outcome) in hooks.chain(watches) {
        match outcome {
            Outcome::Fallible(fallible) if cfgs.is_empty() => always.push(fallible.err(krate)),
            Outcome::Fallible(fallible) => conditional.push((cfgs, fallible.err(krate))),
            Outcome::Nothing => {}
        }
    }
    let mut generics = with_parameter(&block.generics, &parent);
    let mut helpers = Vec::new();
    for (at, (cfgs, ty)) in conditional.into_iter().enumerate() {
        let (helper, impls) = conditional_failure(block, at, cfgs, &ty);
        helpers.push(impls);
        generics.make_where_clause().predicates.push(parse_quote!(#actor: #helper<#parent>));
    }
    for ty in distinct(always.into_iter()) {
        generics.make_where_clause().predicates.push(parse_quote!(#parent: #krate::Decides<#ty>));
    }
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    helpers.push(quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl #impl_generics #krate::FailuresDecidedBy<#parent> for #actor #where_clause {}
    });
    if helpers.len() == 1 {
        return helpers;
    }
    vec![quote!(const _: () = { #(#helpers)* };)]
}

/// A bound that only some builds have. Rust knows no `#[cfg]` on bounds, so it becomes a trait with two impls.
fn conditional_failure(
    block: &Block,
    at: usize,
    cfgs: &[Attribute],
    ty: &TokenStream,
) -> (proc_macro2::Ident, TokenStream) {
    let Block { krate, actor, .. } = block;
    let mixed = Span::mixed_site();
    let helper = format_ident!("Failure{at}", span = mixed);
    let parent = format_ident!("__P", span = mixed);
    let without = with_parameter(&block.generics, &parent);
    let mut with = without.clone();
    with.make_where_clause().predicates.push(parse_quote!(#parent: #krate::Decides<#ty>));
    let (with_generics, _, with_where) = with.split_for_impl();
    let (without_generics, _, without_where) = without.split_for_impl();
    let conditions = cfgs.iter().filter_map(|cfg| cfg.meta.require_list().ok().map(|list| &list.tokens));
    let impls = quote_spanned! {mixed=>
        trait #helper<P> {}
        #(#cfgs)*
        impl #with_generics #helper<#parent> for #actor #with_where {}
        #[cfg(not(all(#(#conditions),*)))]
        impl #without_generics #helper<#parent> for #actor #without_where {}
    };
    (helper, impls)
}

fn watches(block: &Block) -> Vec<TokenStream> {
    let Block { krate, actor, watches, generics, .. } = block;
    let mixed = Span::mixed_site();
    if watches.iter().any(|watch| watch.subject.is_none()) {
        return vec![watches_all(block)];
    }
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    watches
        .iter()
        .filter_map(|watch| {
            let (cfgs, subject) = (&watch.cfgs, watch.subject.as_ref()?);
            Some(quote_spanned! {mixed=>
                #(#cfgs)*
                #[automatically_derived]
                impl #impl_generics #krate::Watches<#subject> for #actor #where_clause {}
            })
        })
        .collect()
}

/// Whatever ends, it is handled.
pub(crate) fn watches_all(block: &Block) -> TokenStream {
    let Block { krate, actor, generics, .. } = block;
    let subject = format_ident!("__A", span = Span::mixed_site());
    let any = with_parameter(generics, &subject);
    let (impl_generics, _, where_clause) = any.split_for_impl();
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl #impl_generics #krate::Watches<#subject> for #actor #where_clause {}
    }
}

/// The generics with one more type parameter, before the constants.
pub(crate) fn with_parameter(generics: &Generics, name: &proc_macro2::Ident) -> Generics {
    let mut with = generics.clone();
    let at = with.params.iter().position(|own| matches!(own, GenericParam::Const(_))).unwrap_or(with.params.len());
    with.params.insert(at, parse_quote!(#name));
    with
}

impl Reply {
    /// Where to say that the reply cannot be sent.
    fn span(&self) -> Span {
        match self {
            Self::Unit | Self::Unsound => Span::mixed_site(),
            Self::Plain(ty) | Self::Wrapped(ty) => spans::of(ty),
            Self::Fallible(fallible) => spans::of(&fallible.returned),
        }
    }

    /// The type of the reply.
    pub(crate) fn ty(&self, krate: &syn::Path) -> TokenStream {
        match self {
            Self::Unit | Self::Unsound => quote!(()),
            Self::Plain(ty) | Self::Wrapped(ty) => quote!(#ty),
            Self::Fallible(fallible) => fallible.ok(krate),
        }
    }
}

/// The user's name where it is not the definition: at its place, but not the same token to an editor.
pub(crate) fn located(ident: &proc_macro2::Ident) -> proc_macro2::Ident {
    let mut ident = ident.clone();
    ident.set_span(Span::mixed_site().located_at(ident.span()));
    ident
}

/// The docs of a handler, or a line that stands for them.
pub(crate) fn with_default_doc(docs: &[Attribute], text: &str) -> Vec<TokenStream> {
    let mut all: Vec<TokenStream> = docs.iter().map(ToTokens::to_token_stream).collect();
    if !docs.iter().any(|attribute| attribute.path().is_ident("doc")) {
        all.push(quote!(#[doc = #text]));
    }
    all
}

/// Whether it is worth asking the compiler if `ty` is `Send`.
fn may_be_unsendable(ty: &Type) -> bool {
    const PLAIN: &[&str] = &[
        "bool", "char", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32",
        "f64", "String", "Duration",
    ];
    !matches!(ty, Type::Path(path) if path.path.get_ident().is_some_and(|name| PLAIN.iter().any(|plain| name == plain)))
}
