//! What `#[actor]` and `#[supervise]` on a type say.

use std::time::Duration;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Data, DeriveInput, Generics, LitInt, Meta, Path, Visibility};

use super::children::{self, Child};
use crate::attributes;
use crate::duration::positive;
use crate::errors::{Errors, unknown};
use crate::settings::{self, Setting};
use crate::supervise::HANDED_DOWN;
use crate::supervise::model::Table;
use crate::syntax;

const SETTINGS: &[&str] = &["mailbox", "stash", "stop_timeout", "crate"];

/// An actor's type and everything declared on it.
pub(crate) struct Declaration {
    /// The user's item without our attributes.
    pub(crate) item: DeriveInput,
    pub(crate) vis: Visibility,
    pub(crate) ident: Ident,
    pub(crate) reference: Ident,
    pub(crate) generics: Generics,
    pub(crate) cfgs: TokenStream,
    pub(crate) krate: Path,
    /// Whether the type has lifetime parameters, which is a mistake.
    pub(crate) borrows: bool,
    pub(crate) mailbox: Option<Mailbox>,
    /// How many messages may be set aside.
    pub(crate) stash: Option<usize>,
    pub(crate) stop_timeout: Option<Duration>,
    pub(crate) table: Table,
    /// How each `#[supervise]` below `#[actor]` was written.
    pub(crate) below: Vec<Path>,
    /// Whether there is a `#[supervise]`.
    pub(crate) supervises: bool,
    /// The `#[child]` fields, in their order.
    pub(crate) children: Vec<Child>,
}

pub(crate) enum Mailbox {
    Unbounded,
    Bounded { capacity: usize, overflow: &'static str },
}

impl Declaration {
    pub(crate) fn read(arguments: TokenStream, mut item: DeriveInput, errors: &mut Errors) -> Self {
        if let Data::Union(data) = &item.data {
            let message = "a union cannot be an actor: write `#[actor]` on a struct or an enum";
            errors.at_span(data.union_token.span, message);
        }
        for parameter in item.generics.lifetimes() {
            let message = format!(
                "an actor outlives the code that spawns it and cannot borrow: own the data, or share it in an `Arc`, \
                 instead of `{}`",
                parameter.lifetime
            );
            errors.at(parameter, message);
        }
        let tables = attributes::take(&mut item.attrs, &|attribute| {
            super::is(attribute, "supervise") || super::is(attribute, HANDED_DOWN)
        });
        if let Some(second) = tables.get(1) {
            errors.at(second, "an actor has one table: merge this `#[supervise(..)]` into the first");
        }
        if let Some(second) = attributes::take(&mut item.attrs, &|attribute| super::is(attribute, "actor")).first()
        {
            errors.at(second, "this type is an actor already: remove the second `#[actor]`");
        }
        let mut table = None;
        if let Some(attribute) = tables.first() {
            match &attribute.meta {
                Meta::List(list) => table = Some(list.tokens.clone()),
                Meta::Path(_) => table = Some(TokenStream::new()),
                Meta::NameValue(_) => errors.at(attribute, "write `#[supervise(one_for_one, on(_) = Restart)]`"),
            }
        }
        let mut below = Vec::new();
        for table in &tables {
            if !super::is(table, HANDED_DOWN) {
                below.push(table.path().clone());
            }
        }
        let table = Table::read(table, &item.generics, errors);
        let children = children::read(&mut item.data, &table.strategy, errors);
        let mut declaration = Self {
            vis: item.vis.clone(),
            ident: item.ident.clone(),
            reference: format_ident!("{}Ref", item.ident),
            generics: item.generics.clone(),
            cfgs: attributes::cfgs(&item.attrs),
            krate: facade(),
            borrows: item.generics.lifetimes().next().is_some(),
            mailbox: None,
            stash: None,
            stop_timeout: None,
            table,
            children,
            supervises: !tables.is_empty(),
            below,
            item,
        };
        declaration.settings(arguments, errors);
        declaration
    }

    /// The same without its table and its children, which may be what is wrong.
    pub(crate) fn without_table(mut self) -> Self {
        self.table = Table::default();
        self.children = Vec::new();
        self.supervises = false;
        self
    }

    fn settings(&mut self, arguments: TokenStream, errors: &mut Errors) {
        let mut krate = None;
        for setting in &settings::parse_once(arguments, errors) {
            match setting.name.to_string().as_str() {
                "mailbox" => {
                    let mailbox = setting.value_by(mailbox, "unbounded | bounded(1000)");
                    self.mailbox = errors.keep(mailbox);
                }
                "stash" => self.stash = errors.keep(stash(setting)),
                "stop_timeout" => {
                    let timeout = setting.value_by(positive, "\"5s\"");
                    self.stop_timeout = errors.keep(timeout);
                }
                "crate" => {
                    krate = errors.keep(module(setting));
                }
                _ => errors.add(unknown("setting of `#[actor]`", &setting.name, SETTINGS)),
            }
        }
        if let Some(krate) = krate {
            self.krate = krate;
        }
    }
}

/// The settings of `#[actor]` on an impl block: `crate = path` alone.
pub(crate) fn crate_path(arguments: TokenStream, errors: &mut Errors) -> Path {
    let mut krate = None;
    for setting in &settings::parse_once(arguments, errors) {
        if setting.name == "crate" {
            krate = errors.keep(module(setting));
        } else if SETTINGS.contains(&setting.name.to_string().as_str()) {
            let message = format!(
                "`{}` is a setting of the type: write it in `#[actor(..)]` on the struct or enum",
                setting.name
            );
            errors.at(setting.tokens(), message);
        } else {
            errors.add(unknown("setting of `#[actor]` on an impl block", &setting.name, &["crate"]));
        }
    }
    krate.unwrap_or_else(facade)
}

/// Reads `crate = path`.
fn module(setting: &Setting) -> syn::Result<Path> {
    let path = setting.value_by(Path::parse_mod_style, "path::to::supervise")?;
    for segment in &path.segments {
        if segment.ident == "Self" {
            let message = "there is no crate in a type: write `crate = path::to::supervise`";
            return Err(syn::Error::new(segment.ident.span(), message));
        }
    }
    Ok(path)
}

/// Where generated code finds what it calls.
fn facade() -> Path {
    syntax::read(quote!(::supervise), Path::parse).expect("a path of ours")
}

fn stash(setting: &Setting) -> syn::Result<usize> {
    let capacity: LitInt = setting.value("100")?;
    match capacity.base10_parse()? {
        0 => {
            let message =
                "a stash without room sets nothing aside: give it at least 1, or remove `#[stash_while]`";
            Err(syn::Error::new(capacity.span(), message))
        }
        capacity => Ok(capacity),
    }
}

fn mailbox(input: ParseStream<'_>) -> syn::Result<Mailbox> {
    if let Ok(capacity) = input.fork().parse::<LitInt>() {
        let message = format!("a bounded mailbox is written `mailbox = bounded({capacity})`");
        return Err(syn::Error::new(capacity.span(), message));
    }
    let kind: Ident = input.parse().map_err(|error| {
        syn::Error::new(error.span(), "expected a mailbox: write `unbounded` or `bounded(1000)`")
    })?;
    if kind == "unbounded" {
        return Ok(Mailbox::Unbounded);
    }
    if kind != "bounded" {
        return Err(unknown("mailbox", &kind, &["unbounded", "bounded"]));
    }
    if input.is_empty() {
        return Err(syn::Error::new(kind.span(), "a bounded mailbox says how many messages fit: `bounded(1000)`"));
    }
    let inner;
    syn::parenthesized!(inner in input);
    let capacity: LitInt = inner.parse().map_err(|error| {
        syn::Error::new(error.span(), "a bounded mailbox says first how many messages fit: `bounded(1000)`")
    })?;
    let size: usize = capacity.base10_parse()?;
    if size == 0 {
        return Err(syn::Error::new(
            capacity.span(),
            "a mailbox without room takes no message: give it at least 1",
        ));
    }
    let overflow = if inner.is_empty() { "Fail" } else { overflow(&inner)? };
    Ok(Mailbox::Bounded { capacity: size, overflow })
}

fn overflow(input: ParseStream<'_>) -> syn::Result<&'static str> {
    const WORDS: &[&str] = &["fail", "drop_newest", "drop_oldest"];
    <syn::Token![,]>::parse(input)?;
    if input.is_empty() {
        return Ok("Fail");
    }
    let name: Ident = input.parse()?;
    if WORDS.contains(&name.to_string().as_str()) {
        return Err(syn::Error::new(name.span(), format!("write `overflow = {name}`")));
    }
    if name != "overflow" {
        return Err(unknown("setting of a bounded mailbox", &name, &["overflow"]));
    }
    <syn::Token![=]>::parse(input)?;
    let word: Ident = input.parse()?;
    let variant = match word.to_string().as_str() {
        "fail" => "Fail",
        "drop_newest" => "DropNewest",
        "drop_oldest" => "DropOldest",
        _ => return Err(unknown("overflow", &word, WORDS)),
    };
    Option::<syn::Token![,]>::parse(input)?;
    Ok(variant)
}
