//! Reads `#[handler(batch = ..)]`. Such a handler takes a `Vec` with an element for each message.

use syn::parse::Parse;
use syn::{LitInt, Signature, Type};

use super::types::{is_unit, last_segment};
use crate::block::model::{Batch, Field, Reply, reported};
use crate::errors::Errors;
use crate::grammar::arguments::HandlerArguments;
use crate::settings::{Setting, written};

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

/// Reads `batch = 100`.
pub(crate) fn size(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<usize> {
    let number = setting.value(LitInt::parse, example)?;
    match number.base10_parse()? {
        0 => Err(syn::Error::new(
            number.span(),
            "a batch has at least one message: write a size, such as `batch = 100`",
        )),
        size => Ok(size),
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
    if arguments.batch.given().is_none() {
        if let Some(linger) = arguments.linger.given() {
            errors.add(
                linger.error(
                    "`linger` says how long a batch waits for more messages: add `batch = 100`, or remove it",
                ),
            );
        }
        return None;
    }
    if let Some(inline) = arguments.inline.given() {
        errors.add(inline.error(
            "an inline handler handles each message immediately, but `batch` waits for others: remove one of them",
        ));
    }
    if let Some(redeliver) = arguments.redeliver.given() {
        errors.add(redeliver.error(
            "a batch is not delivered again, because one message that fails would fail the others each time: remove \
             `redeliver`, and answer each message by itself, or let another actor handle the whole batch as one message",
        ));
    }
    if let Reply::Later(later) = reply {
        let message = format!(
            "a batch answers each of its messages with what `{}` returns: return a `Vec` with one reply for each, or take the reply \
             slot and remove `batch`",
            signature.ident
        );
        errors.at(&later.ty, message);
    }
    if let Some(replies) = replies(reply)
        && each(replies).is_none()
    {
        let ty = written(replies);
        let message = format!(
            "each message of the batch needs a reply: return nothing, or a `Vec<{ty}>` with one for each, in their order (or a \
             `Result` of these)"
        );
        errors.at(replies, message);
    }
    let [field] = fields else {
        let message = format!(
            "`{}` handles several messages in one call: take one argument, a `Vec` with an element for each message (several values are a tuple \
             or a struct)",
            signature.ident
        );
        errors.at(&signature.ident, message);
        return Some(Batch { size: arguments.batch.value.unwrap_or(1) });
    };
    match last_segment(&field.ty) {
        Some((name, types)) if name == "Vec" && types.len() == 1 => field.ty = types[0].clone(),
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
