//! Reads a `#[handler]` method.

use heck::ToUpperCamelCase;
use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;
use syn::{Attribute, FnArg, GenericArgument, Meta, Pat, PatType, ReturnType, Signature, Type};

use super::types::{
    borrowed, check_context, each_argument, each_held, is_called, is_context, is_unit, last_segment, without_self,
};
use super::{batch, check_signature, concrete};
use crate::attributes;
use crate::block::model::{Fallible, Field, Handler, Later, Mistake, Outcome, Reply, reported};
use crate::errors::Errors;
use crate::grammar::Arguments;
use crate::grammar::arguments::HandlerArguments;
use crate::grammar::reserved::RESERVED;
use crate::settings::{Setting, integer, written};
use crate::spans::located;
use crate::syntax::bare;

/// The name of a reply slot's type.
pub(super) const SLOT: &str = "ReplyTo";

/// Reads a handler. A handler with mistakes still has a message and a request.
pub(super) fn handler(
    attribute: &Attribute,
    attrs: &[Attribute],
    signature: &Signature,
    (actor, mistakes): (&Type, &Ident),
    errors: &mut Errors,
) -> Handler {
    let arguments = arguments(attribute, errors);
    if let (Some(()), Some(keyword)) = (arguments.inline.value, &signature.asyncness) {
        let message = "an inline handler cannot be async, because it runs within the ask: remove `async`, or remove `inline` if it has to `.await`";
        errors.at(keyword, message);
    }
    let before = errors.count();
    check_signature("handler", signature, errors);
    check_receiver(signature, errors);
    let place = if arguments.batch.given().is_some() { Place::Element } else { Place::Argument };
    let Inputs { mut fields, call, slot } = inputs(signature, place, (actor, mistakes), errors);
    let mut reply = output(signature, actor, mistakes, errors);
    if let Some(slot) = slot {
        reply = Reply::Later(Box::new(later(slot, reply, &signature.ident, errors)));
    }
    let batch = batch::batch(&arguments, signature, &mut fields, &reply, mistakes, errors);
    let mut mistake = (errors.count() > before).then_some(Mistake::Signature);
    if !signature.generics.params.is_empty() {
        for field in &mut fields {
            field.ty = reported(mistakes, &field.ty);
        }
        reply = Reply::Plain(reported(mistakes, &signature.output));
    }
    let ident = signature.ident.clone();
    let name = ident.unraw().to_string();
    if RESERVED.contains(&name.as_str()) {
        let message = format!("the actor's ref has a method `{name}` already: give the handler another name");
        errors.at(&ident, message);
        mistake = Some(Mistake::Name);
    }
    Handler {
        variant: variant(&ident),
        docs: shared_attributes(attrs),
        cfgs: attributes::cfgs(attrs),
        is_async: signature.asyncness.is_some(),
        fields,
        call,
        reply,
        batch,
        arguments,
        mistake,
        ident,
    }
}

fn arguments(attribute: &Attribute, errors: &mut Errors) -> HandlerArguments {
    let before = errors.count();
    let arguments = match &attribute.meta {
        Meta::Path(_) => HandlerArguments::default(),
        Meta::List(list) => HandlerArguments::read(list.tokens.clone(), errors),
        Meta::NameValue(_) => {
            errors.at(attribute, "write `#[handler]` or `#[handler(redeliver = 3)]`");
            HandlerArguments::default()
        }
    };
    // A setting with a mistake may be the `batch`.
    if let (None, Some(linger), true) =
        (arguments.batch.given(), arguments.linger.given(), errors.count() == before)
    {
        let message = "`linger` says how long a batch waits for more messages: add `batch = 100`, or remove it";
        errors.add(linger.error(message));
    }
    arguments
}

/// Reads `redeliver = 3`.
pub(crate) fn redeliveries(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<u32> {
    match integer(setting, example)? {
        (0, span) => Err(syn::Error::new(span, "`redeliver = 0` has no effect: remove it")),
        (times, _) => Ok(times),
    }
}

fn check_receiver(signature: &Signature, errors: &mut Errors) {
    match signature.receiver() {
        None => {
            let message = "a handler is a method of the actor: make `&mut self` its first parameter, or `&self` if it only reads the actor's fields";
            errors.at(&signature.ident, message);
        }
        Some(receiver) if borrowed(receiver).is_none() => {
            let message = "a handler borrows the actor, which outlives the message: write `&self` or `&mut self`";
            errors.at(receiver, message);
        }
        Some(_) => {}
    }
}

/// What a handler takes.
struct Inputs {
    /// The fields of the message.
    fields: Vec<Field>,
    /// What generated code calls the method with.
    call: Vec<Ident>,
    /// The type of the reply, if the handler takes its reply slot.
    slot: Option<Type>,
}

fn inputs(signature: &Signature, place: Place, (actor, mistakes): (&Type, &Ident), errors: &mut Errors) -> Inputs {
    let (mut fields, mut call, mut slot) = (Vec::new(), Vec::new(), None);
    let mut context = false;
    for input in &signature.inputs {
        let FnArg::Typed(input) = input else { continue };
        if is_context(&input.ty) {
            check_context(&input.ty, errors);
            if std::mem::replace(&mut context, true) {
                errors.at(input, "a handler takes the context only once: remove this parameter");
            }
            call.push(Ident::new("__ctx", Span::mixed_site()));
            continue;
        }
        if is_slot(&input.ty) {
            call.push(Ident::new("__reply", Span::mixed_site()));
            if slot.is_some() {
                errors.at(
                    input,
                    "a handler has one asker and takes its reply slot only once: remove this parameter",
                );
            }
            slot = Some(slot_type(&input.ty, actor, mistakes, errors));
            continue;
        }
        let field = field(input, (fields.len(), place), (actor, mistakes), errors);
        call.push(located(&field.ident));
        fields.push(field);
    }
    Inputs { fields, call, slot }
}

/// Whether `ty` is a reply slot by name, or a reference to one.
fn is_slot(ty: &Type) -> bool {
    match ty {
        Type::Reference(reference) => is_slot(&reference.elem),
        ty => is_called(SLOT, ty),
    }
}

/// The type of the reply that a slot is for.
fn slot_type(ty: &Type, actor: &Type, mistakes: &Ident, errors: &mut Errors) -> Type {
    if let Type::Reference(reference) = ty {
        let slot = written(&reference.elem);
        errors.at(ty, format!("answering consumes the reply slot: take it by value, as `{slot}`"));
        return slot_type(&reference.elem, actor, mistakes, errors);
    }
    let ty = without_self(ty, actor);
    match last_segment(&ty) {
        Some((_, types)) if types.len() == 1 => owned(types[0].clone(), Place::Reply, mistakes, errors),
        _ => {
            errors.at(&ty, "the reply slot needs the type of the answer: write it as in `ReplyTo<u32>`");
            reported(mistakes, &ty)
        }
    }
}

/// The reply of a handler that takes its slot for a `ty`, and returns `returned`.
fn later(ty: Type, returned: Reply, handler: &Ident, errors: &mut Errors) -> Later {
    let refused = match returned {
        Reply::Unit => return Later { ty, outcome: Outcome::Nothing },
        Reply::Fallible(fallible) => match &fallible.sides {
            Some((ok, _)) if !is_unit(ok) => ok.clone(),
            _ => return Later { ty, outcome: Outcome::Fallible(fallible) },
        },
        Reply::Plain(ty) | Reply::Wrapped(ty) => ty,
        Reply::Later(_) => unreachable!("`output` reads the return type only"),
    };
    let message = format!(
        "`{handler}` takes its reply slot, so the slot brings the reply: remove the return type, and answer with `reply.answer(value);` (or \
         return a `Result<(), ..>`, with `Ok(())` at the end, if an `Err` should fail the actor)"
    );
    errors.at(&refused, message);
    Later { ty, outcome: Outcome::Nothing }
}

fn field(
    input: &PatType,
    (at, place): (usize, Place),
    (actor, mistakes): (&Type, &Ident),
    errors: &mut Errors,
) -> Field {
    if let Some(attribute) = input.attrs.iter().find(|attribute| attribute.path().is_ident("cfg")) {
        let message = "a message has the same fields in every build: put `#[cfg]` on the handler";
        errors.at(attribute, message);
    }
    let unnamed = || Ident::new(&format!("argument{at}"), Span::mixed_site());
    let ident = match &*input.pat {
        Pat::Ident(ident) if ident.by_ref.is_none() && ident.subpat.is_none() => ident.ident.clone(),
        Pat::Wild(wild) => {
            errors.at(wild, "this parameter becomes a field of the message and needs a name, such as `_name`");
            unnamed()
        }
        pattern => {
            let message = format!(
                "this parameter becomes a field of the message and needs a name: write `value: {}` here, and `let {} = value;` in \
                 the handler's body",
                written(&input.ty),
                written(pattern)
            );
            errors.at(pattern, message);
            unnamed()
        }
    };
    Field { ident, ty: owned(without_self(&input.ty, actor), place, mistakes, errors) }
}

fn output(signature: &Signature, actor: &Type, mistakes: &Ident, errors: &mut Errors) -> Reply {
    let ReturnType::Type(_, ty) = &signature.output else { return Reply::Unit };
    let ty = owned(without_self(bare(ty), actor), Place::Reply, mistakes, errors);
    if let Some(fallible) = fallible(&ty) {
        return Reply::Fallible(Box::new(fallible));
    }
    match last_segment(&ty) {
        Some((name, types)) if name == "Reply" => {
            if let [inner] = types.as_slice() {
                return Reply::Wrapped((*inner).clone());
            }
            errors.at(&ty, "`Reply` needs the type of the answer: write it as in `Reply<u32>`");
            Reply::Plain(reported(mistakes, &ty))
        }
        _ if is_unit(&ty) => Reply::Unit,
        _ => Reply::Plain(ty),
    }
}

/// Reads a return type, if it is a `Result` by name.
pub(super) fn fallible(ty: &Type) -> Option<Fallible> {
    let (name, types) = last_segment(ty)?;
    if name != "Result" {
        return None;
    }
    let sides = match types.as_slice() {
        [ok, err] => Some(((*ok).clone(), (*err).clone())),
        _ => None,
    };
    Some(Fallible { returned: ty.clone(), sides })
}

/// The name of the message for a handler.
fn variant(handler: &Ident) -> Ident {
    let camel = handler.unraw().to_string().to_upper_camel_case();
    let name = match camel.chars().next() {
        Some(first) if first.is_alphabetic() && camel != "Self" => camel,
        _ => format!("Message{camel}"),
    };
    Ident::new(&name, handler.span())
}

/// The attributes of a handler that also concern its message.
fn shared_attributes(attrs: &[Attribute]) -> Vec<Attribute> {
    let mut shared = Vec::new();
    for attribute in attrs {
        let innermost = attributes::innermost(attribute);
        let path = innermost.path();
        if path.is_ident("doc") || path.is_ident("cfg") || path.is_ident("deprecated") {
            shared.push(attribute.clone());
        }
    }
    shared
}

// ---- types that a message can hold ---------------------------------------------------------------------------------

#[derive(Clone, Copy)]
pub(crate) enum Place {
    Argument,
    /// The argument of a handler that takes several messages in one call.
    Element,
    Reply,
}

/// Refuses a type that borrows, has no name or cannot be sent, because messages and replies move to other tasks.
fn owned(ty: Type, place: Place, mistakes: &Ident, errors: &mut Errors) -> Type {
    let before = errors.count();
    check_owned(&ty, place, errors);
    if errors.count() == before { ty } else { reported(mistakes, &ty) }
}

/// The type of the value that a reference to `ty` borrows.
pub(crate) fn owned_form(ty: &Type) -> String {
    match ty {
        Type::Slice(slice) => format!("Vec<{}>", written(&slice.elem)),
        Type::TraitObject(_) => format!("Box<{}>", written(ty)),
        ty => match written(ty).as_str() {
            "str" => "String".to_owned(),
            "Path" => "PathBuf".to_owned(),
            written => written.to_owned(),
        },
    }
}

/// Reports what borrows, has no name or cannot be sent in `ty`.
pub(crate) fn check_owned(ty: &Type, place: Place, errors: &mut Errors) {
    check_named(ty, place, errors);
    concrete::check_closures(ty, errors);
}

/// Reports what borrows or has no name in `ty`.
fn check_named(ty: &Type, place: Place, errors: &mut Errors) {
    match ty {
        Type::Reference(reference)
            if reference.lifetime.as_ref().is_none_or(|lifetime| lifetime.ident != "static") =>
        {
            let owned = owned_form(&reference.elem);
            let message = match place {
                Place::Argument | Place::Element => format!(
                    "a message moves to another task and cannot borrow: take the value, `{owned}`{}, or share it, \
                     `Arc<{}>`",
                    if let Place::Argument = place { ", here and in the calls" } else { "" },
                    written(&reference.elem)
                ),
                Place::Reply => format!(
                    "a reply moves to another task and cannot borrow from the actor: return the value, `{owned}`, such as a clone"
                ),
            };
            errors.at(reference, message);
            return;
        }
        Type::ImplTrait(opaque) => {
            let message = match place {
                Place::Argument | Place::Element => format!(
                    "a message needs a concrete type instead of `impl Trait`: {}",
                    concrete::argument(opaque)
                ),
                Place::Reply => {
                    format!("a reply needs a concrete type instead of `impl Trait`: {}", concrete::reply(opaque))
                }
            };
            errors.at(opaque, message);
        }
        Type::Path(path) => {
            each_argument(&path.path, &mut |argument| {
                if let GenericArgument::Lifetime(lifetime) = argument
                    && lifetime.ident == "_"
                {
                    errors.at(lifetime, "a message moves to another task and cannot borrow: write `'static` or take an owned value");
                }
            });
        }
        _ => {}
    }
    each_held(ty, &mut |inner| check_named(inner, place, errors));
}
