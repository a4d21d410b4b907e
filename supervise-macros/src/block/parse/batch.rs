//! Reads `#[handler(batch = ..)]`. Such a handler takes a `Vec` with an element for each message.

use syn::{Signature, Type};

use super::types::{is_unit, last_segment};
use crate::block::model::{Batch, Field, Reply, reported};
use crate::errors::Errors;
use crate::grammar::arguments::HandlerArguments;
use crate::settings::{Setting, integer, written};
use crate::spelling::joined;

/// The type of all replies to a batch, as far as it is written: of an alias with one argument, that is the argument.
pub(crate) fn replies(reply: &Reply) -> Option<&Type> {
    match reply {
        Reply::Unit | Reply::Later(_) => None,
        Reply::Plain(ty) | Reply::Wrapped(ty) => Some(ty),
        Reply::Fallible(fallible) => match &fallible.sides {
            Some((ok, _)) => Some(ok),
            None => match last_segment(&fallible.returned)?.1.as_slice() {
                [ok] => Some(ok),
                _ => None,
            },
        },
    }
}

/// The type of the reply to one message, if the type of all replies shows it.
pub(crate) fn each(replies: &Type) -> Option<&Type> {
    if is_unit(replies) {
        return Some(replies);
    }
    match last_segment(replies) {
        Some((name, types)) if name == "Vec" && types.len() == 1 => Some(types[0]),
        _ => None,
    }
}

/// The `T` of a `Vec<T>`, and any other type itself.
fn element(ty: &Type) -> &Type {
    match last_segment(ty) {
        Some((name, types)) if name == "Vec" && types.len() == 1 => types[0],
        _ => ty,
    }
}

/// Reads `batch = 100`.
pub(crate) fn size(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<usize> {
    match integer(setting, example)? {
        (0, span) => {
            Err(syn::Error::new(span, "a batch has at least one message: write a size, such as `batch = 100`"))
        }
        (size, _) => Ok(size),
    }
}

/// Reads the batch of a handler, and makes the handler's argument that of one message.
pub(super) fn batch(
    arguments: &HandlerArguments,
    signature: &Signature,
    fields: &mut [Field],
    reply: &Reply,
    mistakes: &syn::Ident,
    errors: &mut Errors,
) -> Option<Batch> {
    arguments.batch.given()?;
    if let Some(inline) = arguments.inline.given() {
        errors.add(inline.error(
            "an inline handler handles each message immediately, but `batch` waits for others: remove `inline` or `batch`",
        ));
    }
    if let Some(redeliver) = arguments.redeliver.given() {
        errors.add(redeliver.error(
            "remove `redeliver`: a batch is not delivered again, because one message that fails would fail the others each time",
        ));
    }
    if let Reply::Later(later) = reply {
        let message = format!(
            "a batch answers each of its messages with what `{}` returns: remove this parameter and return a `Vec<{}>` with one \
             reply for each, or remove `batch` and handle one message at a time",
            signature.ident,
            written(&later.ty)
        );
        errors.at(&later.ty, message);
    }
    if let Some(replies) = replies(reply)
        && each(replies).is_none()
    {
        let ty = written(replies);
        let all = match reply {
            Reply::Fallible(fallible) => {
                written(&fallible.returned).replacen(&format!("<{ty}"), &format!("<Vec<{ty}>"), 1)
            }
            _ => format!("Vec<{ty}>"),
        };
        let message = format!(
            "each message of the batch has its own asker: return `{all}`, with one reply for each message in their order, or nothing if \
             the askers need no answer"
        );
        errors.at(replies, message);
    }
    let [field] = fields else {
        let mend = match &*fields {
            [] => "take one argument, such as `values: Vec<u32>`, with an element for each message, or remove `batch`".to_owned(),
            [first, ..] => {
                let types: Vec<String> = fields.iter().map(|field| written(element(&field.ty))).collect();
                let types: Vec<&str> = types.iter().map(String::as_str).collect();
                format!(
                    "take one argument, `{}: Vec<({})>`, with an element for each message",
                    first.ident,
                    joined(&types, ", ")
                )
            }
        };
        let message = format!("`{}` handles several messages in one call: {mend}", signature.ident);
        errors.at(&signature.ident, message);
        return Some(Batch { size: arguments.batch.value.unwrap_or(1) });
    };
    match last_segment(&field.ty) {
        Some((name, types)) if name == "Vec" && types.len() == 1 => field.ty = types[0].clone(),
        // The type has a mistake of its own.
        _ if written(&field.ty) == written(&reported(mistakes, &field.ty)) => {}
        _ => {
            let ty = written(&field.ty);
            let message = format!(
                "`{}` handles several messages in one call: take a `Vec<{ty}>` with an element for each message",
                signature.ident
            );
            errors.at(&field.ty, message);
            field.ty = reported(mistakes, &field.ty);
        }
    }
    Some(Batch { size: arguments.batch.value.unwrap_or(1) })
}
