//! Finds a factory that borrows the parent: `#[child(|this| || Worker { size: this.size })]`.
//!
//! The factory runs again at each restart of the child, so it outlives the reference to the parent. rustc would propose `move`, which
//! does not help.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Expr, ExprClosure, Pat};

use crate::settings::{shortened, written};

/// Where `factory`, if it is all that `make` has in its body, uses the parameter of `make`, and what is wrong with that.
pub(super) fn of_parent(make: &ExprClosure, factory: &ExprClosure) -> Option<(Span, String)> {
    let parent = bound(make.inputs.first()?)?;
    let mut uses = Uses { parent, first: None, fields: Vec::new(), has_others: false, is_hidden: false };
    uses.is_hidden = factory.inputs.iter().any(|input| bound(input) == Some(parent));
    let body = uses.replaced(factory.body.to_token_stream());
    let span = uses.first.filter(|_| !uses.is_hidden && matches!(*make.body, Expr::Closure(_)))?;
    let inputs = written(&factory.inputs).replace(" : ", ": ");
    let instead = if uses.has_others {
        format!("|{parent}| {{ let value = {parent}.field.clone(); move |{inputs}| .. }}")
    } else {
        let clone = |field: &Ident| format!("let {field} = {parent}.{field}.clone(); ");
        let clones: String = uses.fields.iter().map(clone).collect();
        format!("|{parent}| {{ {clones}move |{inputs}| {} }}", shortened(&written(&body), ".."))
    };
    let needed = if uses.has_others { "the fields that it uses" } else { "what it needs" };
    let then = if uses.has_others {
        "; if it calls a method of the parent, call a function that takes these values in its place"
    } else {
        ""
    };
    let message = format!(
        "the factory runs at each restart of the child and cannot borrow the parent: clone {needed} first, `{instead}`{then}"
    );
    Some((span, message))
}

/// The name that a pattern gives to the parent.
fn bound(pattern: &Pat) -> Option<&Ident> {
    match pattern {
        Pat::Ident(name) => Some(&name.ident),
        Pat::Type(typed) => bound(&typed.pat),
        _ => None,
    }
}

/// The uses of the parent in a factory.
struct Uses<'a> {
    parent: &'a Ident,
    first: Option<Span>,
    /// The fields that are read, each once.
    fields: Vec<Ident>,
    /// Whether there are uses other than `parent.field`.
    has_others: bool,
    /// Whether something else has the same name.
    is_hidden: bool,
}

impl Uses<'_> {
    /// Notes the uses in `tokens`, and writes `field.clone()` in place of `parent.field`.
    fn replaced(&mut self, tokens: TokenStream) -> TokenStream {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut replaced = TokenStream::new();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                TokenTree::Group(group) => {
                    let mut inner = Group::new(group.delimiter(), self.replaced(group.stream()));
                    inner.set_span(group.span());
                    replaced.extend([TokenTree::Group(inner)]);
                }
                TokenTree::Ident(ident) if ident == self.parent => match self.field(&tokens, at - 1) {
                    Some(field) => {
                        at += 2;
                        // The factory runs more than once, so it keeps its own.
                        let is_enough = is_punct(tokens.get(at), '.');
                        replaced.extend(if is_enough { quote!(#field) } else { quote!(#field.clone()) });
                    }
                    None => replaced.extend([token.clone()]),
                },
                _ => replaced.extend([token.clone()]),
            }
        }
        replaced
    }

    /// Notes the use of the parent's name at `at`. Returns the field if it is `parent.field`.
    fn field(&mut self, tokens: &[TokenTree], at: usize) -> Option<Ident> {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let after = tokens.get(at + 1);
        let binds = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "let" || word == "mut");
        let is_parameter = is_punct(before, '|') && (is_punct(after, '|') || is_punct(after, ':'));
        self.is_hidden |= is_parameter || before.is_some_and(binds);
        if is_punct(before, '.') || (is_punct(after, ':') && !is_punct(tokens.get(at + 2), ':')) {
            // A field of the same name.
            return None;
        }
        self.first.get_or_insert(tokens[at].span());
        let field = match (tokens.get(at + 2), tokens.get(at + 3)) {
            (Some(TokenTree::Ident(_)), Some(TokenTree::Group(call)))
                if call.delimiter() == Delimiter::Parenthesis =>
            {
                None
            }
            (Some(TokenTree::Ident(field)), _) if is_punct(after, '.') => Some(field),
            _ => None,
        };
        match field {
            Some(field) if !self.fields.contains(field) => self.fields.push(field.clone()),
            Some(_) => {}
            None => self.has_others = true,
        }
        field.cloned()
    }
}

fn is_punct(token: Option<&TokenTree>, expected: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == expected)
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    fn is_refused(make: &ExprClosure) -> bool {
        let Expr::Closure(factory) = &*make.body else { return false };
        of_parent(make, factory).is_some()
    }

    #[test]
    fn a_factory_that_reads_the_parent_is_refused() {
        for make in [
            parse_quote!(|this| || Worker { size: this.size }),
            parse_quote!(|this: &Boss| move || Worker::new(this)),
            parse_quote!(|boss| |_: &u32| Worker::new(|| boss.label())),
            parse_quote!(|this| || Worker { this: this.size }),
        ] {
            assert!(is_refused(&make), "{}", make.to_token_stream());
        }
    }

    #[test]
    fn a_factory_that_means_something_else_by_the_name_is_not_refused() {
        for make in [
            parse_quote!(|_| || Worker { size: 1 }),
            parse_quote!(|this| |this: &u32| Worker { size: *this }),
            parse_quote!(|this| || Worker { this: 1, that: other.this }),
            parse_quote!(|this| || {
                let this = 1;
                Worker { size: this }
            }),
            parse_quote!(|this| || Worker { made: [1].map(|this| this) }),
            parse_quote!(|this| || Worker { made: [1].map(|this: u32| this) }),
            parse_quote!(|this| {
                let size = this.size;
                move || Worker { size }
            }),
        ] {
            assert!(!is_refused(&make), "{}", make.to_token_stream());
        }
    }
}
