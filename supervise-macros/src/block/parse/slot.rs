//! Reports a handler that forgets its reply slot. rustc's own advice (`_reply`, `drop(reply)`, `let _ = reply`) leaves the asker without an
//! answer.
//!
//! Bodies are looked at as tokens. A name that begins with `_` says that the asker should get an error.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::{FnArg, Pat};

use super::handler::SLOT;
use super::mentions;
use super::syntax::Method;
use super::types::{is_called, last_segment};
use crate::attributes;
use crate::errors::Errors;
use crate::settings::written;

/// Refuses a handler whose body does not mention its reply slot, apart from statements such as `reply;`.
pub(super) fn check(method: &mut Method, errors: &mut Errors) {
    let TokenTree::Group(body) = &method.body else { return };
    let unfinished = ["todo", "unimplemented", "unreachable", "panic"];
    for input in &method.signature.inputs {
        let FnArg::Typed(input) = input else { continue };
        let Pat::Ident(slot) = &*input.pat else { continue };
        let name = slot.ident.to_string();
        if !is_called(SLOT, &input.ty) || name.starts_with('_') {
            continue;
        }
        let Some((_, types)) = last_segment(&input.ty) else { continue };
        let [answer] = types.as_slice() else { continue };
        let body = body.stream();
        if uses(body.clone(), &name) || unfinished.iter().any(|word| mentions(body.clone(), word)) {
            continue;
        }
        let handler = &method.signature.ident;
        let message = format!(
            "`{handler}` does not answer its asker: write `{name}.answer(value);` with a `{}` for `value` (the handler itself returns nothing), or keep the slot \
             in a field of the actor and answer later; if the asker should get an error, write `_{name}` here",
            written(answer)
        );
        errors.at(&slot.ident, message);
        method
            .attrs
            .extend(attributes::ours(quote!(#[allow(path_statements, unused_must_use, unused_variables)])));
        return;
    }
}

/// Whether the body uses the slot: by its name, or in a text to format.
fn uses(body: TokenStream, name: &str) -> bool {
    let tokens: Vec<TokenTree> = body.into_iter().collect();
    tokens.iter().enumerate().any(|(at, token)| match token {
        TokenTree::Ident(word) if word == name => {
            let begins = at == 0 || matches!(&tokens[at - 1], TokenTree::Punct(sign) if sign.as_char() == ';');
            let ends = matches!(tokens.get(at + 1), Some(TokenTree::Punct(sign)) if sign.as_char() == ';');
            !(begins && ends)
        }
        TokenTree::Group(group) => uses(group.stream(), name),
        TokenTree::Literal(text) => text.to_string().contains(name),
        TokenTree::Ident(_) | TokenTree::Punct(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_used_by_its_name() {
        for (body, used) in [
            ("", false),
            ("self.total += 1;", false),
            ("reply;", false),
            ("self.a(); reply; self.b();", false),
            ("if a { reply; }", false),
            ("reply.answer(1);", true),
            ("drop(reply);", true),
            ("let _ = reply;", true),
            ("self.waiting.push(Waiting { reply });", true),
            ("reply", true),
            ("println!(\"{reply:?}\");", true),
        ] {
            assert_eq!(uses(body.parse().expect("it lexes"), "reply"), used, "{body}");
        }
    }
}
