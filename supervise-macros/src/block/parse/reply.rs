//! Refuses replies in which the error of a `Result` would be hidden from the parent's table.
//!
//! Only rustc sees what is behind an alias: see `plain_reply` of `supervise::__private`.

use quote::ToTokens;
use syn::{Generics, Type};

use super::types::{each_held, is_called};
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
        // rustc says about a future that the handler should await it.
        format!(
            "an error inside `{reply}` does not fail the actor: return `Reply<{reply}>` to answer with it, or a `Result` \
             around the whole to fail the actor"
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

/// Whether a value of `ty` consists of a `Result` among others.
fn holds_result(ty: &Type) -> bool {
    let mut holds = false;
    each_held(ty, &mut |inner| holds |= is_called("Result", inner) || holds_result(inner));
    holds
}
