//! The type to write in place of an `impl Trait`, and of a closure that cannot be sent.

use syn::{GenericArgument, PathArguments, ReturnType, Type, TypeImplTrait, TypeParamBound, TypeTraitObject};

use super::types::{each_held, last_segment};
use crate::errors::Errors;
use crate::settings::written;
use crate::syntax::bare;

/// What to do about `impl Trait` as an argument.
pub(super) fn argument(opaque: &TypeImplTrait) -> String {
    let Some((name, arguments)) = bound(opaque) else { return ANY_ARGUMENT.to_owned() };
    match name.as_str() {
        "Into" => match first_type(arguments) {
            Some(ty) => format!("write `{ty}`, remove `.into()` from the body, and let the callers convert"),
            None => ANY_ARGUMENT.to_owned(),
        },
        "TryInto" => match first_type(arguments) {
            Some(ty) => format!("write `{ty}`, remove `.try_into()` from the body, and let the callers convert"),
            None => ANY_ARGUMENT.to_owned(),
        },
        "AsRef" | "Borrow" | "ToOwned" => match first_type(arguments) {
            Some(ty) if ty == "str" => "write `String`".to_owned(),
            Some(ty) if ty == "Path" => "write `PathBuf`".to_owned(),
            _ => ANY_ARGUMENT.to_owned(),
        },
        "ToString" | "Display" => "write `String`, and let the callers convert".to_owned(),
        "Iterator" | "IntoIterator" => match item(arguments) {
            Some(item) => format!("write `Vec<{item}>`, and let the callers collect"),
            None => ANY_ARGUMENT.to_owned(),
        },
        "Fn" | "FnMut" | "FnOnce" => format!("write `Box<dyn {} + Send>`", function(opaque, &name, arguments)),
        _ => ANY_ARGUMENT.to_owned(),
    }
}

/// What to do about `impl Trait` as a reply.
pub(super) fn reply(opaque: &TypeImplTrait) -> String {
    match bound(opaque) {
        Some((name, arguments)) if name == "Iterator" || name == "IntoIterator" => match item(arguments) {
            Some(item) => format!("write `Vec<{item}>`, and collect the items with `.collect()`"),
            None => ANY_REPLY.to_owned(),
        },
        Some((name, _)) if name == "Display" || name == "ToString" => {
            "write `String`, and return `.to_string()`".to_owned()
        }
        Some((name, arguments)) if name == "Fn" || name == "FnMut" || name == "FnOnce" => {
            format!("write `Box<dyn {} + Send>`", function(opaque, &name, arguments))
        }
        _ => ANY_REPLY.to_owned(),
    }
}

const ANY_ARGUMENT: &str = "write the type that the callers have, or convert before the call";
const ANY_REPLY: &str = "write the type that the body returns";

/// The name and the arguments of the first trait that is not a marker.
fn bound(opaque: &TypeImplTrait) -> Option<(String, &PathArguments)> {
    for bound in &opaque.bounds {
        if let TypeParamBound::Trait(bound) = bound
            && let Some(last) = bound.path.segments.last()
            && !["Send", "Sync", "Unpin", "Clone", "Debug"].iter().any(|marker| last.ident == marker)
        {
            return Some((last.ident.to_string(), &last.arguments));
        }
    }
    None
}

/// `u64` in `Into<u64>`.
fn first_type(arguments: &PathArguments) -> Option<String> {
    let PathArguments::AngleBracketed(arguments) = arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(ty)) => Some(written(ty)),
        _ => None,
    }
}

/// `u64` in `Iterator<Item = u64>`.
fn item(arguments: &PathArguments) -> Option<String> {
    let PathArguments::AngleBracketed(arguments) = arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::AssocType(associated) if associated.ident == "Item" => Some(written(&associated.ty)),
        _ => None,
    })
}

/// `Fn(u8) -> bool`.
fn function(opaque: &TypeImplTrait, name: &str, arguments: &PathArguments) -> String {
    let PathArguments::Parenthesized(arguments) = arguments else { return written(&opaque.bounds) };
    let output = match &arguments.output {
        ReturnType::Default => String::new(),
        ReturnType::Type(_, ty) => format!(" -> {}", written(ty)),
    };
    format!("{name}({}){output}", written(&arguments.inputs))
}

/// Refuses a closure such as `Box<dyn FnOnce()>`, which is never `Send`, where only types of the standard library hold it: another type
/// may make it `Send`.
pub(super) fn check_closures(ty: &Type, errors: &mut Errors) {
    let Some((name, arguments)) = last_segment(ty) else {
        if let Type::Tuple(_) = bare(ty) {
            each_held(ty, &mut |inner| check_closures(inner, errors));
        }
        return;
    };
    let auto = match name.as_str() {
        "Box" => "Send",
        "Arc" => "Send + Sync",
        "Option" | "Vec" | "VecDeque" | "HashMap" | "BTreeMap" | "Result" | "Mutex" | "RwLock" => {
            each_held(ty, &mut |inner| check_closures(inner, errors));
            return;
        }
        _ => return,
    };
    let [inner] = arguments.as_slice() else { return };
    match bare(inner) {
        Type::TraitObject(object) if is_closure(object) => {
            let message = format!(
                "`{object}` is not `Send`, and messages and replies go to other threads: write `{name}<{object} + {auto}>`",
                object = written(object)
            );
            errors.at(ty, message);
        }
        inner => check_closures(inner, errors),
    }
}

/// Whether this is `dyn FnOnce(..)` or the like, with no other bound.
fn is_closure(object: &TypeTraitObject) -> bool {
    let mut bounds = object.bounds.iter();
    let (Some(TypeParamBound::Trait(bound)), None) = (bounds.next(), bounds.next()) else { return false };
    let Some(last) = bound.path.segments.last() else { return false };
    matches!(last.arguments, PathArguments::Parenthesized(_))
}
