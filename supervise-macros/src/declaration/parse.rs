//! Reads `#[actor(..)]` on a type into a [`Declaration`].

mod child;

use std::fmt::Display;
use std::str::FromStr;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Data, DeriveInput, LitInt, Meta, Path};

pub(crate) use child::{child_name, limit};

use super::is;
use super::model::{Declaration, Mailbox};
use crate::attributes;
use crate::block::parse::handler::owned_form;
use crate::block::parse::stored;
use crate::errors::Errors;
use crate::grammar::arguments::{ActorArguments, BlockArguments, BoundedArguments, DurableArguments};
use crate::grammar::words::{MailboxKind, Overflow};
use crate::grammar::{Arguments, Word};
use crate::settings::{self, Setting, integer, written};
use crate::supervise::HANDED_DOWN;
use crate::supervise::model::Table;
use crate::supervise::parse::table;
use crate::syntax;

/// Reads the attribute and the item below it.
pub(crate) fn declaration(arguments: TokenStream, mut item: DeriveInput, errors: &mut Errors) -> Declaration {
    check_type(&item, errors);
    let tables =
        attributes::take(&mut item.attrs, &|attribute| is(attribute, "supervise") || is(attribute, HANDED_DOWN));
    if let Some(second) = attributes::take(&mut item.attrs, &|attribute| is(attribute, "actor")).first() {
        errors.at(second, "this type has an `#[actor]` already: remove the second one");
    }
    refuse_ref_objects(&item.data, errors);
    let table = table_of(&tables, &item, errors);
    let children = child::children(&mut item.data, errors);
    let arguments = actor_arguments(arguments, errors);
    let mut below = Vec::new();
    for table in &tables {
        if !is(table, HANDED_DOWN) {
            below.push(table.path().clone());
        }
    }
    let declaration = Declaration {
        reference: format_ident!("{}Ref", item.ident),
        cfgs: attributes::cfgs(&item.attrs),
        krate: arguments.krate.value.clone().unwrap_or_else(facade),
        arguments,
        table,
        below,
        children,
        item,
    };
    declaration.check_children(errors);
    declaration
}

fn check_type(item: &DeriveInput, errors: &mut Errors) {
    if let Data::Union(data) = &item.data {
        let message = "a union cannot be an actor: write `#[actor]` on a struct or an enum";
        errors.at_span(data.union_token.span, message);
    }
    for parameter in item.generics.lifetimes() {
        let (owned, shared) = owned(&item.data, &parameter.lifetime);
        let message = format!(
            "an actor outlives the code that spawns it and cannot borrow: remove `{}`, and own the data{owned}, or share it in an \
             `Arc`{shared}",
            parameter.lifetime
        );
        errors.at(parameter, message);
    }
}

/// A field that borrows for `lifetime`, with a type that owns the data, and with one that shares it.
fn owned(data: &Data, lifetime: &syn::Lifetime) -> (String, String) {
    if let Data::Struct(data) = data {
        for field in &data.fields {
            if let (Some(name), syn::Type::Reference(borrowed)) = (&field.ident, &field.ty)
                && borrowed.lifetime.as_ref() == Some(lifetime)
            {
                let (owned, shared) = (owned_form(&borrowed.elem), written(&borrowed.elem));
                return (format!(", `{name}: {owned}`"), format!(", `{name}: Arc<{shared}>`"));
            }
        }
    }
    (String::new(), String::new())
}

/// Refuses `dyn TypedRef` in a field, which rustc can only call not dyn compatible.
fn refuse_ref_objects(data: &Data, errors: &mut Errors) {
    let Data::Struct(data) = data else { return };
    for field in &data.fields {
        if is_ref_object(field.ty.to_token_stream()) {
            let message = "refs of several actor types have no trait object: keep `supervise::AnyActorRef`s, which `r.actor_ref().to_any()` \
                           gives, or the refs of a `#[protocol]` that the actors implement";
            errors.at(&field.ty, message);
        }
    }
}

fn is_ref_object(tokens: TokenStream) -> bool {
    let mut is_object = false;
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => {
            is_object |= word == "dyn";
            is_object && word == "TypedRef"
        }
        TokenTree::Group(group) => is_ref_object(group.stream()),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

fn table_of(tables: &[Attribute], item: &DeriveInput, errors: &mut Errors) -> Option<Table> {
    if let Some(second) = tables.get(1) {
        errors.at(second, "an actor has one table: write these rules and settings into the first `#[supervise(..)]`, and remove this one");
    }
    let attribute = tables.first()?;
    let tokens = match &attribute.meta {
        Meta::List(list) => list.tokens.clone(),
        Meta::Path(_) => TokenStream::new(),
        Meta::NameValue(_) => {
            errors.at(attribute, "write `#[supervise(one_for_one, on(_) = Restart)]`");
            return Some(Table { has_mistakes: true, ..Table::default() });
        }
    };
    let table = table(tokens, item, errors);
    if let Some(krate) = table.krate.given() {
        errors.add(krate.error("an actor says this in its `#[actor(crate = ..)]`"));
    }
    table.check(&item.generics, errors);
    Some(table)
}

/// Reads the arguments of `#[actor]` on an impl block.
pub(crate) fn block_arguments(arguments: TokenStream, errors: &mut Errors) -> BlockArguments {
    let mut read = BlockArguments::default();
    for setting in &settings::parse(arguments, errors) {
        if read.set(setting, errors) {
            continue;
        }
        if ActorArguments::WORDS.contains(&setting.name.to_string().as_str()) {
            let message = format!(
                "`{}` is a setting of the type: write it in `#[actor(..)]` on the struct or enum",
                setting.name
            );
            errors.add(setting.error(message));
        } else {
            read.refuse(setting, errors);
        }
    }
    read
}

/// Reads the arguments of `#[actor]` on a type.
fn actor_arguments(arguments: TokenStream, errors: &mut Errors) -> ActorArguments {
    let mut read = ActorArguments::default();
    for setting in &settings::parse(arguments, errors) {
        if read.set(setting, errors) {
            continue;
        }
        if BlockArguments::WORDS.contains(&setting.name.to_string().as_str()) {
            let message = format!(
                "the messages are generated from the impl block: write `{}` in `#[actor(..)]` there",
                written(setting.tokens())
            );
            errors.add(setting.error(message));
        } else {
            read.refuse(setting, errors);
        }
    }
    read
}

/// Where generated code finds what it calls.
pub(crate) fn facade() -> Path {
    let mut path = Path::from(Ident::new("supervise", Span::call_site()));
    path.leading_colon = Some(syn::Token![::](Span::call_site()));
    path
}

/// Reads `crate = path`.
pub(crate) fn module(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<Path> {
    let path = setting.value(Path::parse_mod_style, example)?;
    for segment in &path.segments {
        if segment.ident == "Self" {
            let message = format!("a type does not contain a crate: write `{example}`");
            return Err(syn::Error::new(segment.ident.span(), message));
        }
    }
    Ok(path)
}

/// Reads `stash = 100`.
pub(crate) fn stash(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<usize> {
    match integer(setting, example)? {
        (0, span) => {
            let message = "a stash needs room for at least 1 message: write `stash = 100`, or remove `stash` (and `#[stash_while]`, if you have it)";
            Err(syn::Error::new(span, message))
        }
        (capacity, _) => Ok(capacity),
    }
}

/// Reads `mailbox = unbounded` or `mailbox = bounded(1000, overflow = fail)`.
pub(crate) fn mailbox(setting: &Setting, example: &'static str, errors: &mut Errors) -> syn::Result<Mailbox> {
    let kind = |input: ParseStream<'_>| {
        if let Ok(capacity) = input.fork().parse::<LitInt>() {
            let message = format!("write the capacity in `bounded(..)`: `mailbox = bounded({capacity})`");
            return Err(syn::Error::new(capacity.span(), message));
        }
        let kind: Ident = match input.fork().parse::<syn::LitStr>() {
            Ok(text) if MailboxKind::named(&text.value()).is_some() => {
                let message = format!("a word has no quotes: write `mailbox = {}`", text.value());
                return Err(syn::Error::new(text.span(), message));
            }
            _ => input.parse().map_err(|error| {
                syn::Error::new(error.span(), "expected a mailbox: write `unbounded` or `bounded(1000)`")
            })?,
        };
        let mut inside = None;
        if kind != MailboxKind::Unbounded.word() && input.peek(syn::token::Paren) {
            let inner;
            syn::parenthesized!(inner in input);
            inside = Some(inner.parse::<TokenStream>()?);
        }
        Ok((kind, inside))
    };
    let (kind, inside) = setting.value(kind, example)?;
    match (MailboxKind::read(&kind, errors)?, inside) {
        (MailboxKind::Unbounded, _) => Ok(Mailbox::Unbounded),
        (MailboxKind::Durable, settings) => durable(&kind, settings.unwrap_or_default(), errors),
        (MailboxKind::Bounded, Some(inside)) if !inside.is_empty() => {
            let (capacity, rest) = syntax::read(inside, capacity)?;
            Ok(Mailbox::Bounded { capacity, overflow: overflow(rest, errors)? })
        }
        (MailboxKind::Bounded, _) => {
            Err(syn::Error::new(kind.span(), "a bounded mailbox needs a capacity: write `bounded(1000)`"))
        }
    }
}

/// Reads the settings of a durable mailbox.
fn durable(kind: &Ident, settings: TokenStream, errors: &mut Errors) -> syn::Result<Mailbox> {
    if !stored::is_on() {
        return Err(stored::feature_is_off(kind));
    }
    let mut read = DurableArguments::default();
    for setting in &settings::parse(settings, errors) {
        if BoundedArguments::WORDS.contains(&setting.name.to_string().as_str()) {
            let message = "a durable mailbox loses no message, so it has no `overflow`: when it is full, `tell` gives the message back, \
                           and `accepted` waits; remove it";
            errors.at(&setting.name, message);
        } else if !read.set(setting, errors) {
            read.refuse(setting, errors);
        }
    }
    Ok(Mailbox::Durable(Box::new(read)))
}

/// Reads `redeliver = 3`.
pub(crate) fn number<N: FromStr<Err: Display>>(
    setting: &Setting,
    example: &'static str,
    _: &mut Errors,
) -> syn::Result<N> {
    integer(setting, example).map(|(number, _)| number)
}

/// Reads `window = 1024`.
pub(crate) fn positive<N: FromStr<Err: Display> + From<bool> + PartialEq>(
    setting: &Setting,
    example: &'static str,
    _: &mut Errors,
) -> syn::Result<N> {
    let (value, span): (N, _) = integer(setting, example)?;
    if value == N::from(false) {
        let message = format!("`{}` is at least 1: write `{example}`", setting.name);
        return Err(syn::Error::new(span, message));
    }
    Ok(value)
}

/// Reads the capacity, and leaves the rest of the arguments.
fn capacity(input: ParseStream<'_>) -> syn::Result<(usize, TokenStream)> {
    let capacity: LitInt = input.parse().map_err(|error| {
        syn::Error::new(error.span(), "a bounded mailbox needs a capacity first: write `bounded(1000)`")
    })?;
    let size = capacity.base10_parse()?;
    if size == 0 {
        let message = "a mailbox needs room for at least 1 message: write `bounded(1)` or more";
        return Err(syn::Error::new(capacity.span(), message));
    }
    if !input.is_empty() {
        <syn::Token![,]>::parse(input)?;
    }
    Ok((size, input.parse()?))
}

fn overflow(arguments: TokenStream, errors: &mut Errors) -> syn::Result<Overflow> {
    let mut read = BoundedArguments::default();
    for setting in &settings::parse(arguments, errors) {
        let word = setting.name.to_string();
        if Overflow::named(&word).is_some() {
            return Err(setting.error(format!("write `overflow = {word}`")));
        }
        if !read.set(setting, errors) {
            read.refuse(setting, errors);
        }
    }
    Ok(read.overflow.value.unwrap_or(Overflow::Fail))
}
