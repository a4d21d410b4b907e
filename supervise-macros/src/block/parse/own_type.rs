//! Finds a type of the user that has the name of the message enum. rustc only says that the name is defined
//! twice.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident};
use syn::Type;

use super::syntax::Member;
use super::{Words, has, mentions};
use crate::block::model::Block;
use crate::errors::Errors;
use crate::spelling::closest;

/// Refuses a type of the user that has the name of the messages, as far as the block shows it. The messages get another name, so that
/// this is the only error.
pub(super) fn check(block: &mut Block, members: &[Member], words: &Words, errors: &mut Errors) {
    if check_fields(block, errors) || check_variants(block, members, words, errors) {
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

/// Refuses a handler that seems to take its own messages by value. A message cannot contain itself, so this must be another type of
/// that name.
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
fn check_variants(block: &Block, members: &[Member], words: &Words, errors: &mut Errors) -> bool {
    let name = block.message.to_string();
    if !has(&words.in_bodies, &name) || has(&words.elsewhere, &name) {
        return false;
    }
    let variants: Vec<String> = block.handlers.iter().map(|handler| handler.variant.to_string()).collect();
    let known: Vec<&str> = variants.iter().map(String::as_str).collect();
    let mut foreign = None;
    for member in members {
        let Member::Method(method) = member else { continue };
        let body = method.body.to_token_stream();
        // A body may import the name for itself.
        if !mentions(body.clone(), "use") {
            foreign = foreign.or_else(|| foreign_variant(body, &name, &known));
        }
    }
    let Some(variant) = foreign else { return false };
    let message = format!(
        "`#[actor]` generates an enum `{name}` for the messages, and no handler makes a variant `{variant}` of it: {}",
        mend(block)
    );
    errors.at(&variant, message);
    true
}

/// The `Jammed` in the first `PrinterMessage::Jammed` that is neither a known variant nor a misspelled one. A longer path names a type
/// of another module.
fn foreign_variant(tokens: TokenStream, name: &str, known: &[&str]) -> Option<Ident> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut after_colon = false;
    for at in 0..tokens.len() {
        let begins = !std::mem::replace(&mut after_colon, is_colon(&tokens[at]));
        let found = match &tokens[at..] {
            [TokenTree::Group(group), ..] => foreign_variant(group.stream(), name, known),
            [TokenTree::Ident(ty), colon, TokenTree::Punct(_), TokenTree::Ident(variant), ..]
                if begins && ty == name && is_colon(colon) && is_variant(variant) =>
            {
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

fn is_colon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':')
}

/// Whether `word` is spelled like a variant, and not like a function or a constant.
fn is_variant(word: &Ident) -> bool {
    let word = word.to_string();
    word.starts_with(char::is_uppercase) && word.contains(char::is_lowercase)
}

fn is_named(ty: &Type, name: &Ident) -> bool {
    matches!(ty, Type::Path(path) if path.qself.is_none() && path.path.is_ident(name))
}
