//! Reads lifecycle hooks, watch methods and the stash condition. A method with a mistake is left out.

use proc_macro2::{Ident, Span};
use quote::ToTokens;
use syn::{Attribute, FnArg, ReturnType, Signature, Type};

use super::check_signature;
use super::handler::fallible;
use super::types::{Borrowed, borrowed, check_context, is_called, is_context, is_unit, last_segment};
use crate::attributes;
use crate::block::model::{Hook, HookArgument, HookKind, Outcome, Stash, Watch};
use crate::errors::Errors;
use crate::grammar::Word;

/// Reads a lifecycle hook.
pub(super) fn hook(
    kind: HookKind,
    attrs: &[Attribute],
    signature: &Signature,
    message: &Ident,
    errors: &mut Errors,
) -> Option<Hook> {
    let before = errors.count();
    let role = format!("`#[{}]` hook", kind.role().word());
    check_signature(&role, signature, errors);
    check_receiver(&role, signature, errors);
    let mut call = Vec::new();
    for input in &signature.inputs {
        let FnArg::Typed(input) = input else { continue };
        match argument(&input.ty, message, errors) {
            Some(argument) if kind.takes(argument) => {
                let argument = Ident::new(argument.name(), Span::mixed_site());
                if call.contains(&argument) {
                    errors.at(input, "this parameter is given twice: remove one");
                } else {
                    call.push(argument);
                }
            }
            other => {
                let elsewhere = match other {
                    None if kind == HookKind::PreStart => {
                        "; let the factory put such a value into a field: `move || Feed { topic: topic.clone() }`"
                    }
                    Some(HookArgument::Cause) if kind == HookKind::PreStart => {
                        "; only `#[pre_restart]` and `#[post_restart]` have a cause: remove this parameter, or write `#[post_restart]`"
                    }
                    Some(HookArgument::Cause) => {
                        "; only `#[pre_restart]` and `#[post_restart]` have a cause: remove this parameter, or write `#[pre_restart]`"
                    }
                    Some(HookArgument::Message) => {
                        "; only `#[pre_restart]` gets the message that failed: remove this parameter, or write `#[pre_restart]`"
                    }
                    _ => "",
                };
                let parameters = parameters(kind, message);
                errors.at(input, format!("a {role} takes only {parameters}{elsewhere}"));
            }
        }
    }
    let outcome = outcome(&role, signature, errors);
    (errors.count() == before).then(|| Hook {
        kind,
        ident: signature.ident.clone(),
        cfgs: attributes::cfgs(attrs),
        is_async: signature.asyncness.is_some(),
        call,
        outcome,
    })
}

/// The parameters that a hook may have.
fn parameters(kind: HookKind, message: &Ident) -> String {
    match kind {
        HookKind::PreStart | HookKind::PostStop => "`ctx: &mut Context<Self>`".to_owned(),
        HookKind::PreRestart => {
            format!("`ctx: &mut Context<Self>`, `cause: &Failure` and `message: Option<{message}>`")
        }
        HookKind::PostRestart => "`ctx: &mut Context<Self>` and `cause: &Failure`".to_owned(),
    }
}

/// Recognizes a hook's parameter by its type.
fn argument(ty: &Type, message: &Ident, errors: &mut Errors) -> Option<HookArgument> {
    if is_context(ty) {
        check_context(ty, errors);
        return Some(HookArgument::Context);
    }
    if let Type::Reference(reference) = ty {
        let failure = is_called("Failure", &reference.elem) && reference.mutability.is_none();
        return failure.then_some(HookArgument::Cause);
    }
    match last_segment(ty)? {
        (name, types) if name == "Option" && is_called(&message.to_string(), types.first()?) => {
            Some(HookArgument::Message)
        }
        _ => None,
    }
}

fn outcome(role: &str, signature: &Signature, errors: &mut Errors) -> Outcome {
    let ReturnType::Type(_, ty) = &signature.output else {
        return Outcome::Nothing;
    };
    if is_unit(ty) {
        return Outcome::Nothing;
    }
    if let (Some(fallible), Some((_, types))) = (fallible(ty), last_segment(ty))
        && (types.is_empty() || is_unit(types[0]))
    {
        return Outcome::Fallible(Box::new(fallible));
    }
    let state = if role.contains("pre_start") { "change the fields of `self`, and " } else { "" };
    let message = format!("a {role} cannot return a value: {state}return nothing, or `Result<(), E>` to fail");
    errors.at(ty, message);
    Outcome::Nothing
}

fn check_receiver(role: &str, signature: &Signature, errors: &mut Errors) {
    let mend = "is a method of the actor: make `&mut self` or `&self` its first parameter";
    match signature.receiver() {
        Some(receiver) if borrowed(receiver).is_some() => {}
        Some(receiver) => errors.at(receiver, format!("a {role} {mend}")),
        None => errors.at(&signature.ident, format!("a {role} {mend}")),
    }
}

/// Reads a watch method.
pub(super) fn watch(attrs: &[Attribute], signature: &Signature, errors: &mut Errors) -> Option<Watch> {
    let before = errors.count();
    let role = "`#[watch]` method";
    check_signature(role, signature, errors);
    check_receiver(role, signature, errors);
    let mut terminated: Option<Option<Type>> = None;
    let mut context = false;
    let mut call = Vec::new();
    for input in &signature.inputs {
        let FnArg::Typed(input) = input else { continue };
        if is_context(&input.ty) && !context {
            check_context(&input.ty, errors);
            context = true;
            call.push(Ident::new("ctx", Span::mixed_site()));
            continue;
        }
        match last_segment(&input.ty) {
            Some((name, types)) if name == "Terminated" && terminated.is_none() && types.len() < 2 => {
                call.push(Ident::new("gone", Span::mixed_site()));
                terminated = Some(types.first().map(|ty| (*ty).clone()));
            }
            _ => errors.at(
                input,
                "a `#[watch]` method takes only `gone: Terminated<A>` (or `Terminated` for any type) \
                 and `ctx: &mut Context<Self>`; `gone.actor()` and `gone.path()` say who ended, and `gone.reason()` why",
            ),
        }
    }
    let outcome = outcome(role, signature, errors);
    if errors.count() > before {
        return None;
    }
    let Some(subject) = terminated else {
        let message = "a `#[watch]` method needs a parameter that says which actors it watches: add \
                       `gone: Terminated<A>`, or `gone: Terminated` for any type";
        errors.at(&signature.ident, message);
        return None;
    };
    Some(Watch {
        ident: signature.ident.clone(),
        cfgs: attributes::cfgs(attrs),
        is_async: signature.asyncness.is_some(),
        subject,
        call,
        outcome,
    })
}

/// Reads the stash condition.
pub(super) fn stash(
    attrs: &[Attribute],
    signature: &Signature,
    message: &Ident,
    errors: &mut Errors,
) -> Option<Stash> {
    let form = format!("write `#[stash_while] fn {}(&self, message: &{message}) -> bool`", signature.ident);
    check_signature("`#[stash_while]` method", signature, errors);
    if let Some(asyncness) = &signature.asyncness {
        errors.at(asyncness, format!("a `#[stash_while]` method cannot be async: {form}"));
        return None;
    }
    let mut inputs = signature.inputs.iter();
    let shared = match (inputs.next(), inputs.next(), inputs.next()) {
        (Some(FnArg::Receiver(receiver)), Some(FnArg::Typed(input)), None) => {
            borrowed(receiver) == Some(Borrowed::Shared)
                && matches!(&*input.ty, Type::Reference(reference) if reference.mutability.is_none())
        }
        _ => false,
    };
    if !shared {
        let message = format!("a `#[stash_while]` method takes the actor and one message: {form}");
        // Without parameters there is no place in them.
        let place: &dyn ToTokens = if signature.inputs.is_empty() { &signature.ident } else { &signature.inputs };
        errors.at(place, message);
        return None;
    }
    if !matches!(&signature.output, ReturnType::Type(_, ty) if is_called("bool", ty)) {
        errors.at(&signature.ident, format!("a `#[stash_while]` method returns `bool`: {form}"));
        return None;
    }
    Some(Stash { ident: signature.ident.clone(), cfgs: attributes::cfgs(attrs) })
}
