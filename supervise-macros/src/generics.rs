//! Generics of generated impls.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::parse::Parse;
use syn::{GenericParam, Generics, TypeParam, WherePredicate};

use crate::syntax;

/// The generics with one more type parameter.
pub(crate) fn with_parameter(generics: &Generics, parameter: TypeParam) -> Generics {
    let mut with = generics.clone();
    let mut at = 0;
    while let Some(GenericParam::Lifetime(_) | GenericParam::Type(_)) = generics.params.get(at) {
        at += 1;
    }
    with.params.insert(at, GenericParam::Type(parameter));
    with
}

/// Whether `word` is one of the type parameters.
pub(crate) fn is_type_parameter(generics: &Generics, word: &Ident) -> bool {
    generics.type_params().any(|parameter| parameter.ident == *word)
}

/// Whether one of the type parameters occurs in `tokens`.
pub(crate) fn mentions_parameter(tokens: TokenStream, generics: &Generics) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => is_type_parameter(generics, &word),
        TokenTree::Group(group) => mentions_parameter(group.stream(), generics),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// Adds a predicate to the `where` clause.
pub(crate) fn require(generics: &mut Generics, predicate: TokenStream) {
    let predicate = syntax::read(predicate, WherePredicate::parse).expect("a predicate of ours");
    generics.make_where_clause().predicates.push(predicate);
}

/// `impl<..> of for ty where .. { members }`
pub(crate) fn implementation(
    generics: &Generics,
    of: TokenStream,
    ty: &dyn ToTokens,
    members: TokenStream,
) -> TokenStream {
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    quote_spanned! {Span::mixed_site()=>
        impl #impl_generics #of for #ty #where_clause {
            #members
        }
    }
}

/// An implementation. If it has members, it is marked as derived, so that lints leave them alone.
pub(crate) fn derivation(
    generics: &Generics,
    of: TokenStream,
    ty: &dyn ToTokens,
    members: TokenStream,
) -> TokenStream {
    if members.is_empty() {
        return implementation(generics, of, ty, members);
    }
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl #impl_generics #of for #ty #where_clause {
            #members
        }
    }
}
