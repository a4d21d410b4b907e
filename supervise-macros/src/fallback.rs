//! What remains of an impl block with mistakes in it: the same names and types as far as they can be known, no
//! behaviour, every check passed. So callers elsewhere are not in error too, and editors go on knowing them.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};

use crate::attributes;
use crate::block::{Block, Handler, located, never_variant, one_block, watches_all, with_default_doc};
use crate::generics::{implementation, with_parameter};

pub(crate) fn expand(block: &Block) -> TokenStream {
    let Block { item, cfgs, .. } = block;
    let generated = vec![
        one_block(block),
        message(block),
        message_debug(block),
        reference(block),
        actor(block),
        decided(block),
        watches_all(block),
    ];
    let generated = attributes::under(cfgs, generated);
    quote!(#item #generated)
}

fn message(block: &Block) -> TokenStream {
    let Block { message, generics, .. } = block;
    let where_clause = &generics.where_clause;
    let mut seen = Vec::new();
    let mut variants = TokenStream::new();
    for handler in &block.handlers {
        let (variant, cfgs) = (&handler.variant, &handler.cfgs);
        if seen.contains(&variant) {
            continue;
        }
        seen.push(variant);
        let mut fields = TokenStream::new();
        for argument in &handler.arguments {
            if argument.sound {
                let (ident, ty) = (located(&argument.ident), &argument.ty);
                fields.extend(quote!(#ident: #ty,));
            }
        }
        variants.extend(quote!(#cfgs #variant { #fields },));
    }
    let never = never_variant(generics);
    quote_spanned! {Span::mixed_site()=>
        #[allow(dead_code, missing_docs, private_interfaces, private_bounds, unreachable_pub)]
        pub enum #message #generics #where_clause {
            #variants
            #never
        }
    }
}

fn message_debug(block: &Block) -> TokenStream {
    let Block { message, generics, .. } = block;
    let mixed = Span::mixed_site();
    let (_, ty_generics, _) = generics.split_for_impl();
    let of = quote_spanned!(mixed=> ::core::fmt::Debug);
    let members = quote_spanned! {mixed=>
        fn fmt(&self, _: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
            ::core::unreachable!()
        }
    };
    implementation(generics, of, &quote!(#message #ty_generics), members)
}

fn reference(block: &Block) -> TokenStream {
    let Block { reference, generics, .. } = block;
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let mut methods = TokenStream::new();
    for handler in &block.handlers {
        methods.extend(method(block, handler));
    }
    quote_spanned! {Span::mixed_site()=>
        #[allow(dead_code, missing_docs, unreachable_pub, unused_variables)]
        impl #impl_generics #reference #where_clause {
            #methods
        }
    }
}

fn method(block: &Block, handler: &Handler) -> TokenStream {
    let Block { krate, actor, .. } = block;
    let Handler { ident, docs, .. } = handler;
    let docs = with_default_doc(docs, "");
    let reply = handler.reply.ty(krate);
    let (mut generics, mut parameters) = (TokenStream::new(), TokenStream::new());
    for (at, argument) in handler.arguments.iter().enumerate() {
        let (name, ty) = (located(&argument.ident), &argument.ty);
        if argument.sound {
            parameters.extend(quote!(, #name: #ty));
        } else {
            // Whatever callers pass, it is not they who are wrong.
            let any = Ident::new(&format!("__T{at}"), Span::mixed_site());
            parameters.extend(quote!(, #name: #any));
            generics.extend(quote!(#any,));
        }
    }
    quote_spanned! {Span::mixed_site()=>
        #docs
        pub fn #ident<#generics>(&self #parameters) -> #krate::Request<'_, #actor, #reply> {
            ::core::unreachable!()
        }
    }
}

fn actor(block: &Block) -> TokenStream {
    let Block { krate, actor, message, generics, .. } = block;
    let mixed = Span::mixed_site();
    let (_, ty_generics, _) = generics.split_for_impl();
    let members = quote_spanned! {mixed=>
        type Message = #message #ty_generics;

        async fn handle(
            &mut self,
            _: Self::Message,
            _: &mut #krate::Context<Self>,
        ) -> ::core::result::Result<(), #krate::Failure> {
            ::core::unreachable!()
        }
    };
    implementation(generics, quote_spanned!(mixed=> #krate::Actor), actor, members)
}

fn decided(block: &Block) -> TokenStream {
    let Block { krate, actor, generics, .. } = block;
    let parent = Ident::new("__P", Span::mixed_site());
    let of = quote_spanned!(Span::mixed_site()=> #krate::FailuresDecidedBy<#parent>);
    implementation(&with_parameter(generics, parent.into()), of, actor, TokenStream::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_for_a_block_is_in_the_same_builds() {
        let block = quote!(
            #[cfg(unix)]
            impl Feed {
                #[handler]
                fn fetch(&mut self, name: &str) {}
            }
        );
        let file: syn::File =
            syn::parse2(crate::expand_actor(TokenStream::new(), &block)).expect("the output is Rust");
        let mut count = 0;
        for item in &file.items {
            let attrs = match item {
                syn::Item::Enum(item) => &item.attrs,
                syn::Item::Impl(item) => &item.attrs,
                syn::Item::Type(item) => &item.attrs,
                _ => continue,
            };
            assert!(attrs.iter().any(|attribute| attribute.path().is_ident("cfg")), "{}", quote!(#item));
            count += 1;
        }
        // The block, its only name, the message and its `Debug`, the ref, `Actor`, `FailuresDecidedBy`, `Watches`.
        assert_eq!(count, 8);
    }
}
