//! Reads lifecycle hooks, watch methods and the stash condition. A method with a mistake is left out.

use proc_macro2::{Ident, Span};
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::{Attribute, FnArg, PatType, ReturnType, Signature, Token, Type};

use super::check_signature;
use super::handler::fallible;
use super::types::{Borrowed, borrowed, check_context, is_called, is_context, is_unit, last_segment};
use crate::attributes;
use crate::block::model::{Block, Hook, HookArgument, HookKind, Outcome, Stash, Watch};
use crate::errors::Errors;
use crate::grammar::Word;
use crate::settings::written;

/// Reads a lifecycle hook.
pub(super) fn hook(
    kind: HookKind,
    attrs: &[Attribute],
    signature: &Signature,
    Block { message, message_unknown, name: actor, .. }: &Block,
    errors: &mut Errors,
) -> Option<Hook> {
    let before = errors.count();
    let role = format!("`#[{}]` hook", kind.role().word());
    check_signature(&role, signature, errors);
    check_receiver(&role, signature, errors);
    let mut call = Vec::new();
    for input in &signature.inputs {
        let FnArg::Typed(input) = input else { continue };
        match argument(&input.ty, (!message_unknown).then_some(message), errors) {
            Some(argument) if kind.takes(argument) => {
                let argument = Ident::new(argument.name(), Span::mixed_site());
                if call.contains(&argument) {
                    errors.at(input, "this parameter is given twice: remove this one");
                } else {
                    call.push(argument);
                }
            }
            other => {
                let elsewhere = match other {
                    None if kind == HookKind::PreStart => from_the_factory(input, actor),
                    Some(HookArgument::Cause) if kind == HookKind::PreStart => {
                        "; only `#[pre_restart]` and `#[post_restart]` have a cause: remove this parameter, or write `#[post_restart]` \
                         if the method is to run only after a restart"
                            .to_owned()
                    }
                    Some(HookArgument::Cause) => {
                        "; only `#[pre_restart]` and `#[post_restart]` have a cause: remove this parameter, or write `#[pre_restart]` \
                         if the method is to run only before a restart"
                            .to_owned()
                    }
                    Some(HookArgument::Message) => {
                        "; only `#[pre_restart]` gets the message that failed: remove this parameter, or write `#[pre_restart]` if the \
                         method is to run only before a restart"
                            .to_owned()
                    }
                    _ => String::new(),
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

/// How a value that a hook takes gets into the actor.
fn from_the_factory(input: &PatType, actor: &Ident) -> String {
    let (value, ty) = (written(&input.pat), written(&input.ty));
    format!(
        ": give `{actor}` a field `{value}: {ty}`, fill it where `{actor}` is made, as in `move || {actor} {{ {value}: \
         {value}.clone(), .. }}`, and write `self.{value}` here"
    )
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

/// Recognizes a hook's parameter by its type. `message` is the name of the messages, if it is known.
fn argument(ty: &Type, message: Option<&Ident>, errors: &mut Errors) -> Option<HookArgument> {
    if is_context(ty) {
        check_context(ty, errors);
        return Some(HookArgument::Context);
    }
    if let Type::Reference(reference) = ty {
        let failure = is_called("Failure", &reference.elem) && reference.mutability.is_none();
        return failure.then_some(HookArgument::Cause);
    }
    match last_segment(ty)? {
        (name, types) if name == "Option" => {
            let inner = types.first()?;
            message.is_none_or(|message| is_called(&message.to_string(), inner)).then_some(HookArgument::Message)
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
    let error = match last_segment(ty) {
        Some((name, types)) if name == "Result" && types.len() == 2 => written(types[1]),
        _ => "E".to_owned(),
    };
    let state = if role.contains("pre_start") { "change the fields of `self`, and " } else { "" };
    let message =
        format!("a {role} cannot return a value: {state}return nothing, or `Result<(), {error}>` if it can fail");
    errors.at(ty, message);
    Outcome::Nothing
}

fn check_receiver(role: &str, signature: &Signature, errors: &mut Errors) {
    let mend = "is a method of the actor: make `&mut self` its first parameter, or `&self` if it only reads the actor's fields";
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
            _ if errors.count() > before => {}
            _ => errors.at(
                input,
                format!(
                    "a `#[watch]` method takes {} and, if needed, `ctx: &mut Context<Self>`: write these in place of its other parameters\n\
                     `gone.path()` says which actor ended, `gone.actor()` is the ref of that actor, and `gone.reason()` says why it ended (all \
                     implement `Display`)",
                    news(&signature.inputs)
                ),
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

/// The parameter that a watch method needs, with the actor that its other parameters show.
fn news(inputs: &Punctuated<FnArg, Token![,]>) -> String {
    let told = |actor: &str| format!("`gone: Terminated<{actor}>`");
    for input in inputs {
        let FnArg::Typed(input) = input else { continue };
        let mut ty = &*input.ty;
        while let Type::Reference(reference) = ty {
            ty = &reference.elem;
        }
        let Some((name, types)) = last_segment(ty) else { continue };
        match (name.as_str(), types.as_slice(), name.strip_suffix("Ref")) {
            ("Terminated" | "ActorRef", [actor], _) => return told(&written(*actor)),
            ("Context" | "AnyActorRef", ..) => {}
            (_, [], Some(actor)) => return told(actor),
            _ => {}
        }
    }
    "`gone: Terminated<A>` (or `Terminated` for any type)".to_owned()
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
        errors.at(
            &signature.ident,
            format!("a `#[stash_while]` method returns `bool`: {form}; `true` keeps the message for later"),
        );
        return None;
    }
    Some(Stash { ident: signature.ident.clone(), cfgs: attributes::cfgs(attrs) })
}
