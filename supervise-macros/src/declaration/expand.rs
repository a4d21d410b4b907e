//! Writes a [`Declaration`]: the user's item, the actor's ref, `Supervisor`, and what the table decides. Cannot fail.

mod children;
mod reference;

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{DeriveInput, Generics, Path};

use super::model::{Declaration, Mailbox};
use crate::generics::{derivation, require};
use crate::grammar::arguments::DurableArguments;
use crate::grammar::words::RestartType;
use crate::supervise::expand::{self as table, Expression};
use crate::supervise::model::Table;
use crate::{attributes, duration};

pub(crate) fn expand(declaration: &Declaration) -> TokenStream {
    let (item, generated) = (documented(declaration), generated(declaration));
    quote!(#item #generated)
}

/// Everything beside the item.
pub(crate) fn generated(declaration: &Declaration) -> TokenStream {
    let Declaration { item, cfgs, table, children, .. } = declaration;
    // Otherwise the code mentions nothing of the user's but the type.
    let deprecated = attributes::deprecates(&item.attrs)
        || !item.generics.params.is_empty()
        || table.is_some()
        || !children.is_empty();
    let mut generated = attributes::under(cfgs, deprecated, vec![reference::reference(declaration)]);
    let under = if deprecated { quote!(#[allow(deprecated)]) } else { TokenStream::new() };
    generated.extend(reference::implementations(declaration, &under));
    let mut items = vec![supervisor(declaration)];
    items.extend(durable(declaration));
    items.extend(coverage(declaration));
    generated.extend(attributes::under(cfgs, deprecated, items));
    for path in &declaration.below {
        generated.extend(crate::supervise::already_read(path));
    }
    if let Some(table) = &declaration.table {
        generated.extend(table::warnings(table));
    }
    generated
}

/// The user's item. Its documentation continues with the ref, the table and the children.
fn documented(declaration: &Declaration) -> DeriveInput {
    let mut item = declaration.item.clone();
    let mut text =
        format!("\n[`{}`] refers to this actor and has a method for each message.\n", declaration.reference);
    if let Some(table) = &declaration.table {
        text.push('\n');
        text.push_str(&table::documentation(table));
    }
    if let Some(children) = children::documentation(&declaration.children) {
        text.push('\n');
        text.push_str(&children);
    }
    item.attrs.extend(attributes::ours(quote!(#[doc = #text])));
    item
}

fn supervisor(declaration: &Declaration) -> TokenStream {
    let Declaration { item, reference, krate, arguments, .. } = declaration;
    let ident = &item.ident;
    let (_, ty_generics, _) = item.generics.split_for_impl();
    let mixed = Span::mixed_site();
    let mut members = quote_spanned!(mixed=> type Ref = #reference #ty_generics;);
    if let Some(Mailbox::Durable(settings)) = &arguments.mailbox.value {
        members.extend(durable_settings(settings, krate));
    } else if let Some(mailbox) = &arguments.mailbox.value {
        let mailbox = mailbox.expression(krate);
        members.extend(quote_spanned!(mixed=> const MAILBOX: #krate::MailboxKind = #mailbox;));
    }
    if let Some(capacity) = arguments.stash.value {
        members.extend(quote_spanned!(mixed=> const STASH_CAPACITY: ::core::primitive::usize = #capacity;));
    }
    if let Some(timeout) = arguments.stop_timeout.value {
        let timeout = duration::expression(timeout);
        members.extend(quote_spanned!(mixed=> const STOP_TIMEOUT: ::core::time::Duration = #timeout;));
    }
    if let Some(timeout) = arguments.ask_timeout.value {
        let timeout = duration::expression(timeout);
        members.extend(quote_spanned! {mixed=>
            const ASK_TIMEOUT: ::core::option::Option<::core::time::Duration> = ::core::option::Option::Some(#timeout);
        });
    }
    if let Some(table) = &declaration.table {
        members.extend(table::members(table, &quote_spanned!(mixed=> #krate::Supervisor), krate));
    }
    members.extend(children::members(&declaration.children, krate));
    let actor = quote!(#ident #ty_generics);
    derivation(&alive(declaration), quote_spanned!(mixed=> #krate::Supervisor), &actor, members)
}

/// `DURABLE`
fn durable_settings(settings: &DurableArguments, krate: &Path) -> TokenStream {
    let mixed = Span::mixed_site();
    let mut value = quote_spanned!(mixed=> #krate::durable::DurableMailbox::DEFAULT);
    let DurableArguments { capacity, window, redeliver, crashes, keep, shared } = settings;
    // It sets the window, which the next settings may change.
    if shared.value.is_some() {
        value.extend(quote_spanned!(mixed=> .shared()));
    }
    if let Some(capacity) = capacity.value {
        value.extend(quote_spanned!(mixed=> .capacity(#capacity)));
    }
    if let Some(window) = window.value {
        value.extend(quote_spanned!(mixed=> .window(#window)));
    }
    if let Some(redeliver) = redeliver.value {
        value.extend(quote_spanned!(mixed=> .redeliver(#redeliver)));
    }
    if let Some(crashes) = crashes.value {
        value.extend(quote_spanned!(mixed=> .crashes(#crashes)));
    }
    if let Some(keep) = keep.value {
        let (seconds, nanos) = (keep.as_secs(), keep.subsec_nanos());
        value.extend(quote_spanned!(mixed=> .keep(::core::time::Duration::new(#seconds, #nanos))));
    }
    quote_spanned! {mixed=>
        const DURABLE: ::core::option::Option<#krate::durable::DurableMailbox> = ::core::option::Option::Some(#value);
    }
}

/// `Durable`
fn durable(declaration: &Declaration) -> Option<TokenStream> {
    let Some(Mailbox::Durable(_)) = &declaration.arguments.mailbox.value else { return None };
    let Declaration { item, krate, .. } = declaration;
    let ident = &item.ident;
    let (_, ty_generics, _) = item.generics.split_for_impl();
    let of = quote_spanned!(Span::mixed_site()=> #krate::Durable);
    Some(derivation(&alive(declaration), of, &quote!(#ident #ty_generics), TokenStream::new()))
}

impl Expression for Mailbox {
    fn expression(&self, krate: &Path) -> TokenStream {
        match self {
            // Transient messages are in memory.
            Self::Unbounded | Self::Durable(_) => quote!(#krate::MailboxKind::Unbounded),
            Self::Bounded { capacity, overflow } => {
                let overflow = overflow.expression(krate);
                quote!(#krate::MailboxKind::Bounded { capacity: #capacity, overflow: #overflow })
            }
        }
    }
}

/// The failures that the table decides, and those that it escalates, as trait impls.
fn coverage(declaration: &Declaration) -> Vec<TokenStream> {
    let DeriveInput { ident, generics, .. } = &declaration.item;
    let default = Table::default();
    let table = declaration.table.as_ref().unwrap_or(&default);
    let (_, ty_generics, _) = generics.split_for_impl();
    let (actor, krate) = (quote!(#ident #ty_generics), &declaration.krate);
    let permanent = declaration.children.iter().any(|child| child.restart() == RestartType::Permanent);
    let mut items = table::coverage(table, generics, &actor, krate, permanent);
    items.extend(table::checked(table, generics, &actor, &quote!(Supervisor), krate));
    let (bounded, has_children) =
        (declaration.arguments.stash.given().is_some(), !declaration.children.is_empty());
    items.push(table::declaration(bounded, has_children, generics, &actor, krate));
    items
}

/// The generics of impls for actors that can be spawned.
fn alive(declaration: &Declaration) -> Generics {
    let generics = &declaration.item.generics;
    let mut alive = generics.clone();
    for parameter in generics.type_params() {
        let ty = &parameter.ident;
        require(&mut alive, quote!(#ty: 'static));
    }
    alive
}
