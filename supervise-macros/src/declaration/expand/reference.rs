//! Writes the actor's ref.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::{DeriveInput, Generics, Visibility};

use super::alive;
use crate::declaration::model::Declaration;
use crate::spans;

/// The newtype over `ActorRef`.
pub(super) fn reference(declaration: &Declaration) -> TokenStream {
    let Declaration { item, reference, krate, .. } = declaration;
    let DeriveInput { vis, ident, generics, .. } = item;
    let (_, ty_generics, where_clause) = generics.split_for_impl();
    let text = format!(
        "Refers to a [`{ident}`]. Its methods make requests: `.await` asks, `.tell()` sends. `Display` shows the actor's path and `Uid`."
    );
    let declared = Generics { where_clause: None, ..generics.clone() };
    quote_spanned! {Span::mixed_site()=>
        #[doc = #text]
        #[allow(dead_code)]
        #vis struct #reference #declared (#krate::ActorRef<#ident #ty_generics>) #where_clause;
    }
}

/// What every ref implements: a call of the macro that knows the rest. `under` are the attributes of each implementation.
pub(super) fn implementations(declaration: &Declaration, under: &TokenStream) -> TokenStream {
    let Declaration { item, reference, krate, cfgs, .. } = declaration;
    let DeriveInput { vis, ident, generics, .. } = item;
    let mixed = Span::mixed_site();
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let alive = alive(declaration);
    let alive = &alive.where_clause;
    // With type parameters, this may depend on the bounds of the impl block, which are unknown here.
    let complete = if generics.type_params().next().is_none() {
        let krate = spans::path_at(krate, ident.span());
        quote_spanned!(ident.span()=> let _ = #krate::__private::has_messages::<#ident #ty_generics>;)
    } else {
        TokenStream::new()
    };
    let public = matches!(vis, Visibility::Public(_))
        .then(|| quote_spanned!(mixed=> const __PUBLIC: ::core::primitive::bool = true;));
    quote_spanned! {mixed=>
        #cfgs
        #krate::__private::impls_of_ref! {
            [#under] [#vis] [#reference #ty_generics] [#ident #ty_generics] [#impl_generics] [#where_clause] [#alive]
            [#complete] [#public]
        }
    }
}
