//! Lifecycle hooks, watch methods and the stash condition: methods that the runtime calls by itself.

use proc_macro2::{Ident, Span, TokenStream};
use syn::{Attribute, FnArg, ReturnType, Signature, Type};

use super::handler::Fallible;
use super::model::check_signature;
use super::types::{Borrowed, borrowed, check_context, is_called, is_context, is_unit, last_segment};
use crate::attributes;
use crate::errors::Errors;
use crate::settings::written;

/// When a hook runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookKind {
    PreStart,
    PostStop,
    PreRestart,
    PostRestart,
}

/// A lifecycle hook.
pub(crate) struct Hook {
    pub(crate) kind: HookKind,
    pub(crate) ident: Ident,
    pub(crate) cfgs: TokenStream,
    pub(crate) is_async: bool,
    /// What it is called with, as generated code names it.
    pub(crate) call: Vec<Ident>,
    pub(crate) outcome: Outcome,
}

/// What a hook can be told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookArgument {
    Context,
    Cause,
    Message,
}

impl HookArgument {
    /// What it is called in generated code.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Context => "ctx",
            Self::Cause => "cause",
            Self::Message => "message",
        }
    }
}

/// What a hook or a watch method returns.
pub(crate) enum Outcome {
    Nothing,
    Fallible(Box<Fallible>),
}

/// A method that handles the end of watched actors.
pub(crate) struct Watch {
    pub(crate) ident: Ident,
    pub(crate) cfgs: TokenStream,
    pub(crate) is_async: bool,
    /// The watched actor's type; none for all.
    pub(crate) subject: Option<Type>,
    /// What it is called with, as generated code names it.
    pub(crate) call: Vec<Ident>,
    pub(crate) outcome: Outcome,
}

/// The method that says which messages to set aside.
pub(crate) struct Stash {
    pub(crate) ident: Ident,
    pub(crate) cfgs: TokenStream,
}

impl HookKind {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "pre_start" => Some(Self::PreStart),
            "post_stop" => Some(Self::PostStop),
            "pre_restart" => Some(Self::PreRestart),
            "post_restart" => Some(Self::PostRestart),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::PreStart => "pre_start",
            Self::PostStop => "post_stop",
            Self::PreRestart => "pre_restart",
            Self::PostRestart => "post_restart",
        }
    }

    /// Whether the runtime tells it so.
    pub(crate) fn takes(self, argument: HookArgument) -> bool {
        match argument {
            HookArgument::Context => true,
            HookArgument::Cause => matches!(self, Self::PreRestart | Self::PostRestart),
            HookArgument::Message => self == Self::PreRestart,
        }
    }

    /// The parameters it may have.
    fn parameters(self, message: &Ident) -> String {
        match self {
            Self::PreStart | Self::PostStop => "`ctx: &mut Context<Self>`".to_owned(),
            Self::PreRestart => {
                format!("`ctx: &mut Context<Self>`, `cause: &Failure` and `message: Option<{message}>`")
            }
            Self::PostRestart => "`ctx: &mut Context<Self>` and `cause: &Failure`".to_owned(),
        }
    }
}

impl Hook {
    pub(crate) fn read(
        kind: HookKind,
        cfgs: TokenStream,
        signature: &Signature,
        message: &Ident,
        errors: &mut Errors,
    ) -> Self {
        let role = format!("`#[{}]` hook", kind.name());
        check_signature(&role, signature, errors);
        check_receiver(&role, signature, errors);
        let mut call = Vec::new();
        for input in &signature.inputs {
            let FnArg::Typed(input) = input else { continue };
            match argument(&input.ty, message, errors) {
                Some(argument) if kind.takes(argument) => {
                    let argument = Ident::new(argument.name(), Span::mixed_site());
                    if call.contains(&argument) {
                        errors.at(input, "this parameter is given twice");
                    } else {
                        call.push(argument);
                    }
                }
                other => {
                    let elsewhere = match other {
                        Some(HookArgument::Cause) if !kind.takes(HookArgument::Cause) => {
                            "; only `#[pre_restart]` and `#[post_restart]` know a cause"
                        }
                        Some(HookArgument::Message) => "; only `#[pre_restart]` is given the message that failed",
                        _ => "",
                    };
                    let message =
                        format!("a {role} may take {}, and nothing else{elsewhere}", kind.parameters(message));
                    errors.at(input, message);
                }
            }
        }
        Self {
            kind,
            ident: signature.ident.clone(),
            cfgs,
            is_async: signature.asyncness.is_some(),
            call,
            outcome: Outcome::read(&role, signature, errors),
        }
    }
}

/// Recognises a hook's parameter by its type.
fn argument(ty: &Type, message: &Ident, errors: &mut Errors) -> Option<HookArgument> {
    if is_context(ty) {
        check_context(ty, errors);
        return Some(HookArgument::Context);
    }
    if let Type::Reference(reference) = ty {
        let failure = is_called("Failure", &reference.elem) && reference.mutability.is_none();
        return if failure { Some(HookArgument::Cause) } else { None };
    }
    match last_segment(ty)? {
        (name, types) if name == "Option" && is_called(&message.to_string(), types.first()?) => {
            Some(HookArgument::Message)
        }
        _ => None,
    }
}

impl Outcome {
    fn read(role: &str, signature: &Signature, errors: &mut Errors) -> Self {
        let ReturnType::Type(_, ty) = &signature.output else {
            return Self::Nothing;
        };
        if is_unit(ty) {
            return Self::Nothing;
        }
        if let (Some(fallible), Some((_, types))) = (Fallible::of(ty), last_segment(ty))
            && (types.is_empty() || is_unit(types[0]))
        {
            return Self::Fallible(Box::new(fallible));
        }
        errors
            .at(ty, format!("nobody waits for what a {role} returns: return nothing, or `Result<(), E>` to fail"));
        Self::Nothing
    }
}

fn check_receiver(role: &str, signature: &Signature, errors: &mut Errors) {
    let mend = "is called on the actor: make `&mut self` or `&self` its first parameter";
    match signature.receiver() {
        Some(receiver) if borrowed(receiver).is_some() => {}
        Some(receiver) => errors.at(receiver, format!("a {role} {mend}")),
        None => errors.at(&signature.ident, format!("a {role} {mend}")),
    }
}

impl Watch {
    pub(crate) fn read(attrs: &[Attribute], signature: &Signature, errors: &mut Errors) -> Option<Self> {
        let role = "`#[watch]` method";
        check_signature(role, signature, errors);
        check_receiver(role, signature, errors);
        let mut news: Option<Option<Type>> = None;
        let mut context = false;
        let mut call = Vec::new();
        for input in &signature.inputs {
            let FnArg::Typed(input) = input else { continue };
            let segment = last_segment(&input.ty);
            if is_context(&input.ty) && !context {
                check_context(&input.ty, errors);
                context = true;
                call.push(Ident::new("ctx", Span::mixed_site()));
                continue;
            }
            match segment {
                Some((name, types)) if name == "Terminated" && news.is_none() && types.len() < 2 => {
                    call.push(Ident::new("gone", Span::mixed_site()));
                    news = Some(types.first().map(|ty| (*ty).clone()));
                }
                _ => errors.at(
                    input,
                    "a `#[watch]` method may take `gone: Terminated<A>` (or `Terminated` for any type) \
                     and `ctx: &mut Context<Self>`, and nothing else",
                ),
            }
        }
        let outcome = Outcome::read(role, signature, errors);
        let Some(subject) = news else {
            let message = "a `#[watch]` method says whose end it handles: add `gone: Terminated<A>`, \
                           or `gone: Terminated` for any type";
            errors.at(&signature.ident, message);
            return None;
        };
        Some(Self {
            ident: signature.ident.clone(),
            cfgs: attributes::cfgs(attrs),
            is_async: signature.asyncness.is_some(),
            subject,
            call,
            outcome,
        })
    }

    /// What tells two watch methods apart.
    pub(crate) fn key(&self) -> String {
        match &self.subject {
            Some(ty) => written(ty),
            None => String::new(),
        }
    }
}

impl Stash {
    pub(crate) fn read(
        attrs: &[Attribute],
        signature: &Signature,
        message: &Ident,
        errors: &mut Errors,
    ) -> Option<Self> {
        let form = format!("write `#[stash_while] fn {}(&self, message: &{message}) -> bool`", signature.ident);
        check_signature("`#[stash_while]` method", signature, errors);
        if let Some(asyncness) = &signature.asyncness {
            errors.at(asyncness, format!("the runtime cannot wait for a `#[stash_while]` method: {form}"));
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
            errors.at(
                &signature.inputs,
                format!("a `#[stash_while]` method looks at the actor and one message: {form}"),
            );
            return None;
        }
        let boolean = matches!(&signature.output, ReturnType::Type(_, ty) if is_called("bool", ty));
        if !boolean {
            errors.at(&signature.ident, format!("a `#[stash_while]` method answers yes or no: {form}"));
            return None;
        }
        Some(Self { ident: signature.ident.clone(), cfgs: attributes::cfgs(attrs) })
    }
}
