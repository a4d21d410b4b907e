//! Refuses replies in which the error of a `Result` would be hidden from the parent's table.
//!
//! Only rustc sees what is behind an alias: see `Probe` of `supervise::__private`.

use quote::ToTokens;
use syn::{Generics, Type};

use super::types::{each_held, is_called, last_segment};
use crate::block::model::{Handler, Mistake, Reply};
use crate::errors::Errors;
use crate::generics::{is_type_parameter, mentions_parameter};
use crate::settings::written;

/// Checks the reply of a handler in a block with these generics.
pub(super) fn check(handler: &mut Handler, generics: &Generics, errors: &mut Errors) {
    let Reply::Plain(ty) = &handler.reply else { return };
    if !handler.is_sound() {
        return;
    }
    let reply = written(ty);
    let message = if depends_on_parameter(ty, generics) {
        format!(
            "`{reply}` may be a `Result`, and its error would not fail the actor: if the caller should get it as it is, write \
             `-> Reply<{reply}>` and return `Reply(value)`; if the actor's parent should decide about its error, write `-> Result<.., ..>`"
        )
    } else if !is_called("JoinHandle", ty) && holds_result(ty) {
        // For a future, rustc says that the handler should await it.
        let around = match turned_inside_out(ty) {
            Some(around) => format!("write `-> {around}`, without the inner `Result`"),
            None => "put a `Result` around the whole".to_owned(),
        };
        format!(
            "an error inside `{reply}` does not fail the actor: to fail it, {around}; to answer with the error, write \
             `-> Reply<{reply}>` and return `Reply(value)`"
        )
    } else {
        return;
    };
    errors.at(ty, message);
    handler.mistake = Some(Mistake::Signature);
}

/// Whether `ty` is a type parameter, or an associated type of one.
fn depends_on_parameter(ty: &Type, generics: &Generics) -> bool {
    let Type::Path(path) = ty else { return false };
    if let Some(qself) = &path.qself {
        return mentions_parameter(qself.ty.to_token_stream(), generics);
    }
    let has_arguments = path.path.segments.iter().any(|segment| !segment.arguments.is_none());
    let first = path.path.segments.first();
    !has_arguments && first.is_some_and(|first| is_type_parameter(generics, &first.ident))
}

/// Types whose values contain other values that exist already. The result of a task, for example, does not exist
/// yet.
const HOLDERS: &[&str] = &["Arc", "BTreeMap", "Box", "HashMap", "Option", "Vec", "VecDeque"];

/// `Result<Option<T>, E>` for the `ty` `Option<Result<T, E>>`. `None` if `ty` has several `Result`s, or has one
/// inside an unknown type.
fn turned_inside_out(ty: &Type) -> Option<String> {
    let mut results = Vec::new();
    if !each_result(ty, &mut results) {
        return None;
    }
    let [result] = results.as_slice() else { return None };
    let (_, arguments) = last_segment(result)?;
    let (value, errors) = arguments.split_first()?;
    let inner = written(result);
    let (head, _) = inner.split_once('<')?;
    let mut around = format!("{head}<{}", written(ty).replace(&inner, &written(value)));
    for error in errors {
        around.push_str(", ");
        around.push_str(&written(error));
    }
    around.push('>');
    Some(around)
}

/// Collects the `Result`s in `ty`. Returns whether all of them are inside known types.
fn each_result(ty: &Type, results: &mut Vec<Type>) -> bool {
    let known = match ty {
        Type::Path(_) => HOLDERS.iter().any(|holder| is_called(holder, ty)),
        Type::Array(_) | Type::Group(_) | Type::Paren(_) | Type::Tuple(_) => true,
        _ => false,
    };
    let mut all = true;
    each_held(ty, &mut |inner| {
        if is_called("Result", inner) {
            results.push(inner.clone());
            all &= known && !holds_result(inner);
        } else if holds_result(inner) {
            all &= known && each_result(inner, results);
        }
    });
    all
}

/// Whether a value of `ty` consists of a `Result` among others.
fn holds_result(ty: &Type) -> bool {
    let mut holds = false;
    each_held(ty, &mut |inner| holds |= is_called("Result", inner) || holds_result(inner));
    holds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax;

    #[test]
    fn the_result_moves_to_the_outside() {
        for (inside, around) in [
            ("Option<Result<String, Locked>>", Some("Result<Option<String>, Locked>")),
            ("(Result<usize, Locked>, bool)", Some("Result<(usize, bool), Locked>")),
            ("Vec<std::io::Result<Vec<u8>>>", Some("std::io::Result<Vec<Vec<u8>>>")),
            ("(io::Result<u8>, Result<u8, Locked>)", None),
            ("Option<Result<Result<u8, Refused>, Locked>>", None),
            ("Option<Result>", None),
            ("Vec<JoinHandle<Result<u8, Locked>>>", None),
        ] {
            let ty = syntax::read(inside.parse().expect("it lexes"), syn::parse::Parse::parse).expect("a type");
            assert_eq!(turned_inside_out(&ty).as_deref(), around, "{inside}");
        }
    }
}
