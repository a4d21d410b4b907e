//! The error for `#[actor]` on the impl of a trait.

use heck::ToSnakeCase;
use quote::ToTokens;
use syn::{FnArg, Pat, ReturnType, Signature, Type};

use super::mentions;
use super::syntax::{Block as Syntax, Member};
use super::types::last_segment;
use crate::errors::Errors;
use crate::grammar::reserved::RESERVED;
use crate::settings::{shortened, split, written};

/// Refuses the impl of `of_trait`. For the traits of actix and kameo with an impl for each message, the error shows the handler.
pub(super) fn refuse(item: &Syntax, of_trait: &Type, errors: &mut Errors) {
    let actor = written(&item.self_ty);
    let own = "`#[actor]` belongs on the actor's own impl block, not on the impl of a trait";
    let mend = match last_segment(of_trait) {
        Some((name, arguments)) if name == "Handler" || name == "Message" => match arguments.as_slice() {
            [message] => in_place_of(item, &name, message),
            _ => None,
        },
        _ => None,
    };
    let mend = mend.unwrap_or_else(|| {
        format!(": remove `#[actor]` here, and write handlers in `#[actor] impl {actor} {{ #[handler] fn .. }}`")
    });
    errors.at(of_trait, format!("{own}{mend}"));
}

/// The handler in place of an impl of the trait for `message`.
fn in_place_of(item: &Syntax, of_trait: &str, message: &Type) -> Option<String> {
    let actor = written(&item.self_ty);
    let (actor_name, message_name) = (last_segment(&item.self_ty)?.0, last_segment(message)?.0);
    let mut handler = message_name.to_snake_case();
    if syn::parse_str::<syn::Ident>(&handler).is_err() || RESERVED.contains(&handler.as_str()) {
        handler.insert_str(0, "handle_");
    }
    let mut reply = None;
    let mut asyncness = "";
    let (mut parameter, mut renamed) = ("message", "");
    for member in &item.members {
        match member {
            Member::Method(method) => {
                if method.signature.asyncness.is_some() {
                    asyncness = "async ";
                }
                if is_unnamed(&method.signature) {
                    parameter = "_message";
                    renamed = " (a handler's parameter needs a name: `_message` in place of `_`)";
                }
                if let (None, ReturnType::Type(_, ty)) = (&reply, &method.signature.output) {
                    reply = Some(ty.to_token_stream()).filter(|ty| !mentions(ty.clone(), "Self"));
                }
            }
            Member::Other(_, tokens) => reply = associated_type(tokens).or(reply),
        }
    }
    let returns = match reply.map(|reply| shortened(&written(&reply), "..")) {
        Some(reply) if reply != "()" => format!(" -> {reply}"),
        _ => String::new(),
    };
    let message = shortened(&written(message), "..");
    let of = actor_name.to_snake_case();
    Some(format!(
        "\n\
         write one `#[actor] impl {actor} {{ .. }}` for all messages, with a method for each, here `#[handler] {asyncness}fn \
         {handler}(&mut self, {parameter}: {message}){returns}`{renamed}\n\
         call it through the actor's ref, `{of}.{handler}(message).await`, and remove the trait `{of_trait}`, which is not needed"
    ))
}

/// Whether the first parameter beside `self` is `_`.
fn is_unnamed(signature: &Signature) -> bool {
    let first = signature.inputs.iter().find_map(|input| match input {
        FnArg::Typed(typed) => Some(&typed.pat),
        FnArg::Receiver(_) => None,
    });
    first.is_some_and(|pattern| matches!(**pattern, Pat::Wild(_)))
}

/// The type in `type Result = ..;` or `type Reply = ..;`.
fn associated_type(tokens: &proc_macro2::TokenStream) -> Option<proc_macro2::TokenStream> {
    let [name, ty] = split(tokens.clone(), '=').try_into().ok()?;
    let is_reply = ["type Result", "type Reply"].contains(&name.to_string().as_str());
    is_reply.then(|| split(ty, ';').swap_remove(0))
}
