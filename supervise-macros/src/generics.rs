//! Generics of generated impls.

use syn::{GenericParam, Generics, TypeParam};

/// The generics with one more type parameter, before the constants.
pub(crate) fn with_parameter(generics: &Generics, parameter: TypeParam) -> Generics {
    let mut with = generics.clone();
    let at = with.params.iter().position(|own| matches!(own, GenericParam::Const(_))).unwrap_or(with.params.len());
    with.params.insert(at, GenericParam::Type(parameter));
    with
}
