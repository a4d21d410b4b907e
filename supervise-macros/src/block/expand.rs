//! The message enum and the ref's methods; the rest of the expansion is in `behaviour` and `coverage`. Cannot fail.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Attribute, Expr, ExprLit, Generics, Lit, Meta, MetaNameValue};

use super::behaviour::{actor, message_name};
use super::coverage::{failures, watches};
use super::handler::{Handler, Reply};
use super::model::Block;
use crate::attributes;
use crate::generics::derivation;
use crate::markdown::{cell, without_bars};
use crate::settings::written;
use crate::spans;

pub(crate) fn expand(block: &Block) -> TokenStream {
    let Block { item, cfgs, .. } = block;
    let mut generated =
        vec![one_block(block), message(block), behaviour(block), reference(block), failures(block)];
    generated.extend(watches(block));
    let generated = attributes::under(cfgs, generated);
    let mut overview = TokenStream::new();
    if !block.handlers.is_empty() {
        let text = table_of_messages(block);
        overview = quote!(#[doc = ""] #[doc = #text]);
    }
    quote!(#overview #item #generated)
}

/// The messages as a table, for the actor's own page.
fn table_of_messages(block: &Block) -> String {
    let mut table = "# Messages\n\n| request | what it does | reply | fails with |\n|---|---|---|---|".to_owned();
    for handler in &block.handlers {
        let mut request = format!("{}(", handler.ident);
        let mut comma = "";
        for argument in &handler.arguments {
            let argument = format!("{comma}{}: {}", argument.ident, written(&argument.ty));
            request.push_str(&argument);
            comma = ", ";
        }
        let request = cell(&(request + ")"));
        let (reply, failure) = handler.reply.spoken();
        let (reply, failure) = (code_cell(reply), code_cell(failure));
        let row = format!("\n| {request} | {} | {reply} | {failure} |", first_line(&handler.docs));
        table.push_str(&row);
    }
    table
}

fn code_cell(ty: Option<String>) -> String {
    match ty {
        Some(ty) => cell(&ty),
        None => String::new(),
    }
}

/// The first line of documentation, if it may stand in a table.
fn first_line(docs: &[Attribute]) -> String {
    for attribute in docs {
        if let Meta::NameValue(MetaNameValue {
            value: Expr::Lit(ExprLit { lit: Lit::Str(text), .. }), path, ..
        }) = &attribute.meta
            && path.is_ident("doc")
        {
            let text = text.value();
            let line = text.trim_start().lines().next().unwrap_or_default();
            if !line.is_empty() {
                return without_bars(line.trim_end());
            }
        }
    }
    String::new()
}

/// A name that says, when rustc finds it defined twice, what is wrong with a second block. No macro sees both.
pub(crate) fn one_block(block: &Block) -> TokenStream {
    let sentence = format_ident!("all_handlers_of_{}_stand_in_one_impl_block", block.name);
    quote_spanned! {Span::mixed_site()=>
        #[doc(hidden)]
        #[allow(dead_code, non_camel_case_types)]
        type #sentence = ();
    }
}

/// `FeedMessage`
fn message(block: &Block) -> TokenStream {
    let Block { message, name, krate, generics, .. } = block;
    let mut variants = TokenStream::new();
    for handler in &block.handlers {
        let Handler { variant, docs, .. } = handler;
        // A deprecated handler is one that is not to be called. Its actor goes on telling its message apart from others.
        let mut docs = docs.clone();
        docs.retain(|attribute| !attributes::innermost(attribute).path().is_ident("deprecated"));
        let docs = with_default_doc(&docs, &format!("The message for `{}`.", handler.ident));
        let mut fields = TokenStream::new();
        for argument in &handler.arguments {
            let (ident, ty) = (located(&argument.ident), &argument.ty);
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
    let text = format!("What a [`{name}`] can be told.");
    quote_spanned! {Span::mixed_site()=>
        #[doc = #text]
        #[allow(dead_code, missing_docs, private_bounds, private_interfaces, unreachable_pub)]
        #[allow(clippy::enum_variant_names, clippy::large_enum_variant, clippy::type_complexity)]
        pub enum #message #generics #where_clause {
            #variants
        }
    }
}

/// Type parameters that no message mentions must still be mentioned. Nobody can make this variant.
pub(crate) fn never_variant(generics: &Generics) -> TokenStream {
    let mut types = TokenStream::new();
    for parameter in generics.type_params() {
        let ty = &parameter.ident;
        types.extend(quote!(*const #ty,));
    }
    quote!(__Never(::core::convert::Infallible, ::core::marker::PhantomData<fn() -> (#types)>),)
}

/// `impl Actor`, and the function that it shares with the message's `Debug`. That function is no method of the message: two
/// blocks would be two, and rustc would say so at each place.
fn behaviour(block: &Block) -> TokenStream {
    let (message_name, debug, actor) = (message_name(block), message_debug(block), actor(block));
    quote_spanned! {Span::mixed_site()=>
        const _: () = {
            #message_name
            #debug
            #actor
        };
    }
}

fn message_debug(block: &Block) -> TokenStream {
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

/// The methods of `FeedRef`.
fn reference(block: &Block) -> TokenStream {
    let Block { reference, generics, .. } = block;
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let mut methods = TokenStream::new();
    for handler in &block.handlers {
        methods.extend(request(block, handler));
    }
    quote_spanned! {Span::mixed_site()=>
        #[allow(dead_code, irrefutable_let_patterns, unreachable_pub)]
        #[allow(clippy::too_many_arguments, clippy::type_complexity)]
        impl #impl_generics #reference #where_clause {
            #methods
        }
    }
}

fn request(block: &Block, handler: &Handler) -> TokenStream {
    let Block { krate, actor, message, .. } = block;
    let Handler { ident, variant, docs, .. } = handler;
    let mixed = Span::mixed_site();
    let variant = located(variant);
    let docs = with_default_doc(docs, &format!("A request for `{ident}`."));
    let (mut names, mut parameters) = (TokenStream::new(), TokenStream::new());
    for argument in &handler.arguments {
        let (name, ty) = (located(&argument.ident), &argument.ty);
        names.extend(quote_spanned!(mixed=> #name,));
        parameters.extend(quote_spanned!(mixed=> , #name: #ty));
    }
    let reply = handler.reply.ty(krate);
    let inline = if handler.inline { quote_spanned!(mixed=> .inline()) } else { TokenStream::new() };
    quote_spanned! {mixed=>
        #docs
        pub fn #ident(&self #parameters) -> #krate::Request<'_, #actor, #reply> {
            #krate::Request::new(
                self.actor_ref(),
                #message::#variant { #names __reply: #krate::ReplyTo::nowhere() },
                |message, reply| {
                    if let #message::#variant { __reply, .. } = message {
                        *__reply = reply;
                    }
                },
            )
            #inline
        }
    }
}

impl Reply {
    /// Where to say that the reply cannot be sent.
    pub(crate) fn span(&self) -> Span {
        match self {
            Self::Unit | Self::Unsound => Span::mixed_site(),
            Self::Plain(ty) | Self::Wrapped(ty) => spans::of(ty),
            Self::Fallible(fallible) => spans::of(&fallible.returned),
        }
    }

    /// The types of the reply and of the failure for a reader, as far as they are written out.
    fn spoken(&self) -> (Option<String>, Option<String>) {
        match self {
            Self::Unit | Self::Unsound => (None, None),
            Self::Plain(ty) | Self::Wrapped(ty) => (Some(written(ty)), None),
            Self::Fallible(fallible) => fallible.spoken(),
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
pub(crate) fn located(ident: &Ident) -> Ident {
    let mut ident = ident.clone();
    ident.set_span(Span::mixed_site().located_at(ident.span()));
    ident
}

/// The docs of a handler, or a line that stands for them.
pub(crate) fn with_default_doc(docs: &[Attribute], text: &str) -> TokenStream {
    let mut all = TokenStream::new();
    let mut documented = false;
    for attribute in docs {
        attribute.to_tokens(&mut all);
        documented |= attribute.path().is_ident("doc");
    }
    if !documented {
        all.extend(quote!(#[doc = #text]));
    }
    all
}
