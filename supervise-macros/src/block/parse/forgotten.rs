//! Finds methods that are named like hooks but have no attribute. They would never run, and the compiler would not
//! warn.

use syn::{FnArg, ReturnType, Signature, Type};

use super::handler::fallible;
use super::types::{is_called, is_context, is_unit, last_segment};
use crate::block::model::Block;
use crate::errors::Errors;
use crate::grammar::Word;
use crate::grammar::words::Role;
use crate::spelling::bare;

/// The hooks, by their names here and in other frameworks, and whether such a name is common for ordinary methods too. With a
/// common name, only a method that takes the context counts as a hook. Akka's names differ from ours in their spelling alone.
const HOOKS: &[(&str, Role, bool)] = &[
    ("pre_start", Role::PreStart, false),
    ("post_stop", Role::PostStop, false),
    ("pre_restart", Role::PreRestart, false),
    ("post_restart", Role::PostRestart, false),
    // actix
    ("started", Role::PreStart, false),
    ("stopping", Role::PostStop, false),
    ("stopped", Role::PostStop, false),
    // kameo
    ("on_start", Role::PreStart, false),
    ("on_stop", Role::PostStop, false),
    // ractor
    ("post_start", Role::PreStart, false),
    // Erlang and Elixir
    ("handle_continue", Role::PreStart, true),
    ("init", Role::PreStart, true),
    ("terminate", Role::PostStop, true),
];

/// Refuses a method without a role that looks like a hook. Runs when the block's hooks are known.
pub(super) fn check(block: &Block, signature: &Signature, errors: &mut Errors) {
    let name = signature.ident.to_string();
    let bare = bare(&name);
    let Some((theirs, role, common)) = HOOKS.iter().find(|(hook, ..)| self::bare(hook) == bare) else { return };
    let attribute = role.word();
    let is_ours = *theirs == attribute;
    // If there is already a hook for the same moment, a method with another framework's name for it is a
    // helper.
    let has_hook = block.hooks.iter().any(|hook| role.hook() == Some(hook.kind));
    if (!is_ours && has_hook) || !fits(signature, *common) {
        return;
    }
    let when = match role {
        Role::PreStart => "at the start",
        Role::PostStop => "at the end",
        Role::PreRestart => "before each restart",
        _ => "after each restart",
    };
    let message = format!(
        "the runtime does not call `{name}`: to run it {when}, write `#[{attribute}]` above it; if your own code calls it, move it to a plain `impl {}` block",
        block.name
    );
    errors.at(&signature.ident, message);
}

/// Whether a hook may have this signature: `self`, parameters of a hook, and nothing or a `Result<(), E>` in return.
fn fits(signature: &Signature, needs_context: bool) -> bool {
    let mut context = false;
    for input in &signature.inputs {
        match input {
            FnArg::Receiver(_) => {}
            FnArg::Typed(input) if is_context(&input.ty) => context = true,
            FnArg::Typed(input) => {
                if !may_be_cause_or_message(&input.ty) {
                    return false;
                }
            }
        }
    }
    let returns = match &signature.output {
        ReturnType::Default => true,
        ReturnType::Type(_, ty) => {
            is_unit(ty)
                || fallible(ty).is_some_and(|fallible| fallible.sides.as_ref().is_none_or(|(ok, _)| is_unit(ok)))
        }
    };
    signature.receiver().is_some() && returns && (context || !needs_context)
}

fn may_be_cause_or_message(ty: &Type) -> bool {
    match ty {
        Type::Reference(reference) => is_called("Failure", &reference.elem),
        ty => last_segment(ty).is_some_and(|(name, _)| name == "Option"),
    }
}
