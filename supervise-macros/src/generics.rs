//! Generics of generated impls.

use proc_macro2::TokenStream;
use syn::parse::Parse;
use syn::{GenericParam, Generics, TypeParam, WherePredicate};

use crate::syntax;

/// The generics with one more type parameter, before the constants.
pub(crate) fn with_parameter(generics: &Generics, parameter: TypeParam) -> Generics {
    let mut with = generics.clone();
    let at = with.params.iter().position(|own| matches!(own, GenericParam::Const(_))).unwrap_or(with.params.len());
    with.params.insert(at, GenericParam::Type(parameter));
    with
}

/// Adds a predicate to the `where` clause.
pub(crate) fn require(generics: &mut Generics, predicate: TokenStream) {
    let predicate = syntax::read(predicate, WherePredicate::parse).expect("a predicate of ours");
    generics.make_where_clause().predicates.push(predicate);
}
