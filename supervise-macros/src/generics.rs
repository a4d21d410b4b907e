//! Generics of generated impls.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::parse::Parse;
use syn::punctuated::Punctuated;
use syn::{GenericParam, Generics, TypeParam, WherePredicate};

use crate::syntax;

/// The generics with one more type parameter, before the constants.
pub(crate) fn with_parameter(generics: &Generics, parameter: TypeParam) -> Generics {
    let mut with = Generics { params: Punctuated::new(), ..generics.clone() };
    let mut parameter = Some(GenericParam::Type(parameter));
    for own in &generics.params {
        if matches!(own, GenericParam::Const(_)) {
            with.params.extend(parameter.take());
        }
        with.params.push(own.clone());
    }
    with.params.extend(parameter);
    with
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

/// The same as if rustc had derived it.
pub(crate) fn derivation(
    generics: &Generics,
    of: TokenStream,
    ty: &dyn ToTokens,
    members: TokenStream,
) -> TokenStream {
    let implementation = implementation(generics, of, ty, members);
    quote_spanned!(Span::mixed_site()=> #[automatically_derived] #implementation)
}
