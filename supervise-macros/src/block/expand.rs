//! The message enum and the ref's methods; the rest of the expansion is in `behaviour` and `coverage`. Cannot fail.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Attribute, Expr, ExprLit, Generics, Lit, Meta, MetaNameValue};

use super::behaviour::{actor, message_name};
use super::coverage::{failures, watches};
use super::handler::{Handler, Reply};
use super::model::Block;
use crate::attributes;
use crate::settings::written;
use crate::spans;

pub(crate) fn expand(block: &Block) -> TokenStream {
    let Block { item, cfgs, .. } = block;
    let mut generated =
        vec![message(block), message_name(block), message_debug(block), reference(block), actor(block)];
    generated.extend(failures(block));
    generated.extend(watches(block));
    let generated = attributes::under(cfgs, generated);
    let overview = overview(block).map(|text| quote!(#[doc = ""] #[doc = #text]));
    quote!(#overview #item #generated)
}

/// The messages as a table, for the actor's own page.
fn overview(block: &Block) -> Option<String> {
    if block.handlers.is_empty() {
        return None;
    }
    let code = |text: String| format!("`{}`", text.replace('|', "\\|"));
    let rows = block.handlers.iter().map(|handler| {
        let arguments: Vec<String> = handler
            .arguments
            .iter()
            .map(|argument| format!("{}: {}", argument.ident, written(argument.ty.to_token_stream())))
            .collect();
        let request = code(format!("{}({})", handler.ident, arguments.join(", ")));
        let (reply, failure) = handler.reply.spoken();
        let [reply, failure] = [reply, failure].map(|ty| ty.map_or_else(String::new, code));
        format!("| {request} | {} | {reply} | {failure} |", first_line(&handler.docs))
    });
    let mut lines =
        vec!["# Messages\n\n| request | what it does | reply | fails with |\n|---|---|---|---|".to_owned()];
    lines.extend(rows);
    Some(lines.join("\n"))
}

/// The first line of documentation, if it may stand in a table.
fn first_line(docs: &[Attribute]) -> String {
    let line = docs.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(MetaNameValue { value: Expr::Lit(ExprLit { lit: Lit::Str(text), .. }), path, .. })
            if path.is_ident("doc") =>
        {
            text.value().lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
        }
        _ => None,
    });
    line.unwrap_or_default().replace('|', "\\|")
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

fn message_debug(block: &Block) -> TokenStream {
    let Block { message, generics, .. } = block;
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl #impl_generics ::core::fmt::Debug for #message #ty_generics #where_clause {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(self.message_name())
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
    let inline = handler.inline.then(|| quote_spanned!(Span::mixed_site()=> .inline()));
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
pub(crate) fn with_default_doc(docs: &[Attribute], text: &str) -> Vec<TokenStream> {
    let mut all: Vec<TokenStream> = docs.iter().map(ToTokens::to_token_stream).collect();
    if !docs.iter().any(|attribute| attribute.path().is_ident("doc")) {
        all.push(quote!(#[doc = #text]));
    }
    all
}
