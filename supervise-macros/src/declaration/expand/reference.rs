//! Writes the actor's ref.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{DeriveInput, Generics, Visibility};

use super::alive;
use crate::declaration::model::Declaration;
use crate::generics::derivation;
use crate::spans;

/// The newtype over `ActorRef` and its impls.
pub(super) fn reference(declaration: &Declaration) -> Vec<TokenStream> {
    let Declaration { item, reference, krate, .. } = declaration;
    let DeriveInput { vis, ident, generics, .. } = item;
    let mixed = Span::mixed_site();
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let actor = quote!(#ident #ty_generics);
    let own = quote!(#reference #ty_generics);
    let inner = quote!(#krate::ActorRef<#actor>);
    let alive = alive(declaration);
    // With type parameters, this may depend on the bounds of the impl block, which are unknown here.
    let complete = if generics.type_params().next().is_none() {
        let krate = spans::path_at(krate, ident.span());
        quote_spanned!(ident.span()=> let _ = #krate::__private::has_messages::<#actor>;)
    } else {
        TokenStream::new()
    };
    let text = format!(
        "Refers to a [`{ident}`]. Its methods make requests: `.await` asks, `.tell()` sends. `Display` shows the actor's path and `Uid`."
    );
    let declared = Generics { where_clause: None, ..generics.clone() };
    let mut items = vec![quote_spanned! {mixed=>
        #[doc = #text]
        #[allow(dead_code)]
        #vis struct #reference #declared (#inner) #where_clause;
    }];
    let mut implement = |generics: &Generics, of: TokenStream, members: TokenStream| {
        items.push(derivation(generics, of, &own, members));
    };
    implement(
        generics,
        quote_spanned!(mixed=> ::core::clone::Clone),
        quote_spanned! {mixed=>
            fn clone(&self) -> Self {
                Self(::core::clone::Clone::clone(&self.0))
            }
        },
    );
    for (name, check) in [("Debug", complete), ("Display", TokenStream::new())] {
        let of = Ident::new(name, mixed);
        implement(
            generics,
            quote_spanned!(mixed=> ::core::fmt::#of),
            quote_spanned! {mixed=>
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    #check
                    ::core::fmt::#of::fmt(&self.0, f)
                }
            },
        );
    }
    implement(
        generics,
        quote_spanned!(mixed=> ::core::cmp::PartialEq),
        quote_spanned! {mixed=>
            fn eq(&self, other: &Self) -> ::core::primitive::bool {
                ::core::cmp::PartialEq::eq(&self.0, &other.0)
            }
        },
    );
    implement(generics, quote_spanned!(mixed=> ::core::cmp::Eq), TokenStream::new());
    implement(
        generics,
        quote_spanned!(mixed=> ::core::hash::Hash),
        quote_spanned! {mixed=>
            fn hash<__H: ::core::hash::Hasher>(&self, state: &mut __H) {
                ::core::hash::Hash::hash(&self.0, state);
            }
        },
    );
    implement(
        generics,
        quote_spanned!(mixed=> ::core::convert::From<#inner>),
        quote_spanned! {mixed=>
            fn from(actor: #inner) -> Self {
                Self(actor)
            }
        },
    );
    implement(
        &alive,
        quote_spanned!(mixed=> #krate::TypedRef),
        quote_spanned! {mixed=>
            type Actor = #actor;

            fn actor_ref(&self) -> &#inner {
                &self.0
            }
        },
    );
    let public = matches!(vis, Visibility::Public(_))
        .then(|| quote_spanned!(mixed=> const __PUBLIC: ::core::primitive::bool = true;));
    implement(&alive, quote_spanned!(mixed=> #krate::__private::MigrationHints), public.unwrap_or_default());
    items.push(quote_spanned! {mixed=>
        impl #impl_generics #own #where_clause {
            /// The ref with the methods that do not depend on the actor's messages.
            #[allow(dead_code)]
            #vis fn actor_ref(&self) -> &#inner {
                &self.0
            }
        }
    });
    items
}
