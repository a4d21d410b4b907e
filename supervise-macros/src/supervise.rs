//! `#[supervise(..)]`: a supervisor's strategy and decider table.

pub(crate) mod expand;
pub(crate) mod model;
pub(crate) mod parse;

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::Parse;
use syn::{Data, DeriveInput, Fields};

use crate::block::parse::syntax::Block;
use crate::declaration::parse::facade;
use crate::errors::{Errors, beside};
use crate::settings::{split, written};
use crate::value::this;
use crate::{attributes, syntax};

/// The attribute that carries a table from a `#[supervise]` above an `#[actor]` to that `#[actor]`.
pub(crate) const HANDED_DOWN: &str = "__supervise_table";

const ALREADY_READ: &str = "__already_read";

/// `#[actor]` removes a `#[supervise]` below it before rustc resolves that name. This mentions the name once more, so that its
/// import counts as used and editors know it.
pub(crate) fn already_read(path: &syn::Path) -> TokenStream {
    let marker = Ident::new(ALREADY_READ, Span::mixed_site());
    quote!(#[#path(#marker)] const _: () = ();)
}

/// Passes the table to the `#[actor]` below, which expands both.
pub(crate) fn attribute(arguments: &TokenStream, item: &TokenStream) -> TokenStream {
    if arguments.to_string() == ALREADY_READ {
        return TokenStream::new();
    }
    let Ok(mut declared) = syntax::read(item.clone(), DeriveInput::parse) else {
        return beside(item, syn::Error::new_spanned(first_line(item), misplaced(item)));
    };
    if is_table(&declared) {
        return own_table(arguments.clone(), &declared);
    }
    if !declared.attrs.iter().any(|attribute| crate::declaration::is(attribute, "actor")) {
        let message = format!(
            "`{0}` is not an actor: write `#[actor]` above `#[supervise(..)]`, and `#[actor] impl {0} {{}}` below the type\n\
             or, for a table that several actors share, make it a unit struct: `struct {0};`",
            declared.ident
        );
        return beside(item, syn::Error::new_spanned(&declared.ident, message));
    }
    let handed_down = Ident::new(HANDED_DOWN, Span::mixed_site());
    declared.attrs.extend(attributes::ours(quote!(#[#handed_down(#arguments)])));
    quote!(#declared)
}

/// The message for an attribute on an item other than a type.
fn misplaced(item: &TokenStream) -> String {
    match syntax::read(item.clone(), Block::parse) {
        Ok(block) => format!(
            "`#[supervise(..)]` stands on a struct or enum, not on an impl block: move it to the definition of `{}`, below its `#[actor]`",
            written(&block.self_ty)
        ),
        Err(_) => "`#[supervise(..)]` says what an actor does about its failed children: move it to the actor's struct or enum, below its \
                   `#[actor]`"
            .to_owned(),
    }
}

/// Whether this is a table of its own: a unit struct without parameters that is not an actor.
fn is_table(item: &DeriveInput) -> bool {
    let is_unit = matches!(&item.data, Data::Struct(data) if matches!(data.fields, Fields::Unit));
    is_unit && item.generics.params.is_empty() && !item.attrs.iter().any(|it| crate::declaration::is(it, "actor"))
}

/// Expands the attribute on a unit struct: the struct has this table.
fn own_table(arguments: TokenStream, item: &DeriveInput) -> TokenStream {
    let mut errors = Errors::new();
    let table = parse::table(arguments.clone(), item, &mut errors);
    table.check(&item.generics, &mut errors);
    if let Some(this) = table.this() {
        let setting = reads_self(&arguments).map_or_else(|| "max_retries".to_owned(), |name| name.to_string());
        let value = match setting.as_str() {
            "max_retries" => "3",
            "jitter" => "0.2",
            _ => "\"10s\"",
        };
        let message = format!(
            "a table that actors share has no `self`: write one value for all of them, such as `{setting} = {value}`, or write \
             `#[supervise(..)]` under the `#[actor]` of each of them\n\
             or, if `{}` is an actor itself, write `#[actor]` above this attribute",
            item.ident
        );
        errors.at_span(this, message);
    }
    let krate = table.krate.value.clone().unwrap_or_else(facade);
    match errors.finish() {
        None => expand::own_table(&table, item, &krate),
        // A table that decides everything remains, so that code that uses it has no errors.
        Some(error) => beside(&expand::own_table(&model::Table::default(), item, &krate), error),
    }
}

/// The name of the first setting whose value mentions `self`.
fn reads_self(settings: &TokenStream) -> Option<Ident> {
    for setting in &split(settings.clone(), ',') {
        let mut tokens = setting.clone().into_iter();
        match (tokens.next(), tokens.next()) {
            (Some(TokenTree::Ident(name)), Some(TokenTree::Punct(_))) if this(setting).is_some() => {
                return Some(name);
            }
            _ => {}
        }
        for token in setting.clone() {
            if let TokenTree::Group(group) = token
                && let Some(name) = reads_self(&group.stream())
            {
                return Some(name);
            }
        }
    }
    None
}

/// The tokens before an item's body, as a place for errors.
fn first_line(item: &TokenStream) -> TokenStream {
    let mut line = TokenStream::new();
    for token in item.clone() {
        if matches!(&token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace) {
            break;
        }
        token.to_tokens(&mut line);
    }
    line
}
