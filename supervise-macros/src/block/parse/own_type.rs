//! A type of the user's under the name of the messages. rustc only says that the name is defined twice.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident};
use syn::Type;

use super::mentions;
use super::syntax::Member;
use crate::block::model::Block;
use crate::errors::Errors;
use crate::spelling::closest;

/// Refuses a type of the user's under the name of the messages, as far as the block shows it. The messages get another name, so that
/// this is the only error.
pub(super) fn check(block: &mut Block, members: &[Member], errors: &mut Errors) {
    if check_fields(block, errors) || check_variants(block, members, errors) {
        block.message = format_ident!("{}Messages", block.mistakes, span = Span::mixed_site());
    }
}

/// What to write if the user has a type of this name.
fn mend(block: &Block) -> String {
    let name = &block.message;
    let other = if *name == format!("{}Command", block.name) { "Request" } else { "Command" };
    format!(
        "if this `{name}` is a type of your own, write `#[actor(message(name = {}{other}))]` above this block",
        block.name
    )
}

/// Refuses a handler that takes its own messages by value: the type must be another one of that name, because a message cannot
/// contain itself.
fn check_fields(block: &Block, errors: &mut Errors) -> bool {
    let mut fields = block.handlers.iter().flat_map(|handler| &handler.fields);
    let Some(field) = fields.find(|field| is_named(&field.ty, &block.message)) else { return false };
    let name = &block.message;
    let message = format!(
        "`#[actor]` generates an enum `{name}` for the messages, and a message cannot contain itself: {}",
        mend(block)
    );
    errors.at(&field.ty, message);
    true
}

/// Refuses a variant that no handler makes, in a block that does not use the messages itself: it is one of another enum of that name.
fn check_variants(block: &Block, members: &[Member], errors: &mut Errors) -> bool {
    let name = block.message.to_string();
    let variants: Vec<String> = block.handlers.iter().map(|handler| handler.variant.to_string()).collect();
    let known: Vec<&str> = variants.iter().map(String::as_str).collect();
    let mut foreign = None;
    for member in members {
        let Member::Method(method) = member else { continue };
        if mentions(method.signature.to_token_stream(), &name) {
            return false;
        }
        foreign = foreign.or_else(|| foreign_variant(method.body.to_token_stream(), &name, &known));
    }
    let Some(variant) = foreign else { return false };
    let message = format!(
        "`#[actor]` generates an enum `{name}` for the messages, and no handler makes a variant `{variant}` of it: {}",
        mend(block)
    );
    errors.at(&variant, message);
    true
}

/// The `Jammed` in the first `PrinterMessage::Jammed` that is neither a known variant nor a misspelled one.
fn foreign_variant(tokens: TokenStream, name: &str, known: &[&str]) -> Option<Ident> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for at in 0..tokens.len() {
        let found = match &tokens[at..] {
            [TokenTree::Group(group), ..] => foreign_variant(group.stream(), name, known),
            [
                TokenTree::Ident(ty),
                TokenTree::Punct(colon),
                TokenTree::Punct(_),
                TokenTree::Ident(variant),
                ..,
            ] if ty == name && colon.as_char() == ':' && is_variant(variant) => {
                closest(&variant.to_string(), known).is_none().then(|| variant.clone())
            }
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Whether `word` is spelled like a variant, and not like a function or a constant.
fn is_variant(word: &Ident) -> bool {
    let word = word.to_string();
    word.starts_with(char::is_uppercase) && word.contains(char::is_lowercase)
}

fn is_named(ty: &Type, name: &Ident) -> bool {
    matches!(ty, Type::Path(path) if path.qself.is_none() && path.path.is_ident(name))
}
