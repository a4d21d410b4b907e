//! Finds a type of the user that has the name of the message enum. rustc only says that the name is defined
//! twice.

use proc_macro2::{Ident, Span};
use quote::format_ident;
use syn::Type;

use crate::block::model::Block;
use crate::errors::Errors;

/// Refuses a handler that seems to take its own messages by value. A message cannot contain itself, so this must be another
/// type of that name. The messages get another name, so that this is the only error.
pub(super) fn check(block: &mut Block, errors: &mut Errors) {
    let mut fields = block.handlers.iter().flat_map(|handler| &handler.fields);
    let Some(field) = fields.find(|field| is_named(&field.ty, &block.message)) else { return };
    let name = &block.message;
    let other = if *name == format!("{}Command", block.name) { "Request" } else { "Command" };
    let message = format!(
        "`#[actor]` generates an enum `{name}` for the messages, and a message cannot contain itself: if this `{name}` is a type of your own, \
         write `#[actor(message(name = {}{other}))]` above this block",
        block.name
    );
    errors.at(&field.ty, message);
    block.message = format_ident!("{}Messages", block.mistakes, span = Span::mixed_site());
}

fn is_named(ty: &Type, name: &Ident) -> bool {
    matches!(ty, Type::Path(path) if path.qself.is_none() && path.path.is_ident(name))
}
