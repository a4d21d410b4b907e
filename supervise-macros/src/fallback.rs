//! What remains of an impl block with mistakes in it: the same names and types as far as they can be known, no
//! behaviour, every check passed. So callers elsewhere are not in error too, and editors go on knowing them.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

use crate::attributes;
use crate::block::{Block, Handler, located, watches_all, with_default_doc};
use crate::generics::with_parameter;

pub(crate) fn expand(block: &Block) -> TokenStream {
    let Block { item, cfgs, .. } = block;
    let generated = [message(block), reference(block), actor(block), decided(block), watches_all(block)];
    let generated = attributes::under(cfgs, generated);
    quote!(#item #generated)
}

fn message(block: &Block) -> TokenStream {
    let Block { message, generics, .. } = block;
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let types = generics.type_params().map(|parameter| &parameter.ident);
    let mut seen = std::collections::HashSet::new();
    let distinct = block.handlers.iter().filter(|handler| seen.insert(&handler.variant));
    let variants = distinct.map(|handler| {
        let (variant, cfgs) = (&handler.variant, &handler.cfgs);
        let fields = handler.arguments.iter().filter(|argument| argument.sound).map(|argument| {
            let (ident, ty) = (located(&argument.ident), &argument.ty);
            quote!(#ident: #ty)
        });
        quote!(#(#cfgs)* #variant { #(#fields),* })
    });
    quote_spanned! {Span::mixed_site()=>
        #[allow(dead_code, missing_docs, private_interfaces, private_bounds, unreachable_pub)]
        pub enum #message #generics #where_clause {
            #(#variants,)*
            __Never(::core::convert::Infallible, ::core::marker::PhantomData<fn() -> (#(*const #types,)*)>),
        }

        impl #impl_generics ::core::fmt::Debug for #message #ty_generics #where_clause {
            fn fmt(&self, _: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::unreachable!()
            }
        }
    }
}

fn reference(block: &Block) -> TokenStream {
    let Block { reference, generics, .. } = block;
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let methods = block.handlers.iter().map(|handler| method(block, handler));
    quote_spanned! {Span::mixed_site()=>
        #[allow(dead_code, missing_docs, unreachable_pub, unused_variables)]
        impl #impl_generics #reference #where_clause {
            #(#methods)*
        }
    }
}

fn method(block: &Block, handler: &Handler) -> TokenStream {
    let Block { krate, actor, .. } = block;
    let Handler { ident, docs, .. } = handler;
    let docs = with_default_doc(docs, "");
    let reply = handler.reply.ty(krate);
    let (mut parameters, mut arguments) = (Vec::new(), Vec::new());
    for (at, argument) in handler.arguments.iter().enumerate() {
        let (name, ty) = (located(&argument.ident), &argument.ty);
        if argument.sound {
            arguments.push(quote!(#name: #ty));
        } else {
            // Whatever callers pass, it is not they who are wrong.
            let any = format_ident!("__T{at}");
            arguments.push(quote!(#name: #any));
            parameters.push(any);
        }
    }
    quote_spanned! {Span::mixed_site()=>
        #(#docs)*
        pub fn #ident<#(#parameters),*>(&self #(, #arguments)*) -> #krate::Request<'_, #actor, #reply> {
            ::core::unreachable!()
        }
    }
}

fn actor(block: &Block) -> TokenStream {
    let Block { krate, actor, message, generics, .. } = block;
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    quote_spanned! {Span::mixed_site()=>
        impl #impl_generics #krate::Actor for #actor #where_clause {
            type Message = #message #ty_generics;

            async fn handle(
                &mut self,
                _: Self::Message,
                _: &mut #krate::Context<Self>,
            ) -> ::core::result::Result<(), #krate::Failure> {
                ::core::unreachable!()
            }
        }
    }
}

fn decided(block: &Block) -> TokenStream {
    let Block { krate, actor, generics, .. } = block;
    let parent = format_ident!("__P", span = Span::mixed_site());
    let any = with_parameter(generics, parent.clone().into());
    let (impl_generics, _, where_clause) = any.split_for_impl();
    quote_spanned! {Span::mixed_site()=>
        impl #impl_generics #krate::FailuresDecidedBy<#parent> for #actor #where_clause {}
    }
}
