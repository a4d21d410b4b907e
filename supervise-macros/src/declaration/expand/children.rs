//! Writes the `#[child]` fields.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::Path;

use crate::declaration::model::{Child, ChildKind};
use crate::duration::{self, spoken};
use crate::grammar::Word;
use crate::grammar::words::RestartType;
use crate::markdown::{cell, row};
use crate::settings::written;
use crate::spans;
use crate::supervise::expand::Expression;
use crate::value::of_our_self;

/// The members of `impl Supervisor` that the fields determine.
pub(crate) fn members(children: &[Child], krate: &Path) -> TokenStream {
    if children.is_empty() {
        return TokenStream::new();
    }
    let (mut specs, mut types, mut arms) = (TokenStream::new(), TokenStream::new(), TokenStream::new());
    for child in children {
        specs.extend(spec(child, krate));
        types.extend(actor_type(child, krate));
        arms.extend(arm(child, krate));
    }
    quote_spanned! {Span::mixed_site()=>
        const CHILDREN: &'static [#krate::ChildSpec] = &[#specs];

        const CHILD_TYPES: &'static [#krate::ActorType] = {
            use #krate::__private::NoActor as _;

            &[#types]
        };

        fn declare_child(&mut self, name: &'static ::core::primitive::str, declare: #krate::Declare<'_, Self>) {
            match name {
                #arms
                _ => {}
            }
        }
    }
}

fn spec(child: &Child, krate: &Path) -> TokenStream {
    let (name, cfgs, arguments) = (child.name(), &child.cfgs, &child.arguments);
    let mixed = Span::mixed_site();
    let mut calls = TokenStream::new();
    if child.restart() != RestartType::Transient {
        let restart = child.restart().expression(krate);
        calls.extend(quote_spanned!(mixed=> .restart(#restart)));
    }
    if let Some(timeout) = arguments.stop_timeout.value {
        let timeout = duration::expression(timeout);
        calls.extend(quote_spanned!(mixed=> .stop_timeout(#timeout)));
    }
    if arguments.significant.value.is_some() {
        calls.extend(quote_spanned!(mixed=> .significant()));
    }
    quote_spanned!(mixed=> #cfgs #krate::ChildSpec::new(#name)#calls,)
}

fn actor_type(child: &Child, krate: &Path) -> TokenStream {
    let Child { actor, kind, cfgs, .. } = child;
    if let ChildKind::Keyed(key) = kind {
        return quote_spanned!(Span::mixed_site()=> #cfgs #krate::__private::type_of_children::<#key, #actor, Self>(),);
    }
    let at_type = Span::mixed_site().located_at(spans::of(actor));
    let types = spans::path_at(krate, at_type);
    quote_spanned!(at_type=> #cfgs #types::__private::TypeOf::<#actor>::ACTOR,)
}

fn arm(child: &Child, krate: &Path) -> TokenStream {
    let Child { field, actor, kind, make, cfgs, arguments } = child;
    let name = child.name();
    let mixed = Span::mixed_site();
    // rustc reports at the closure that it does not return a factory, and at the type that it is not an actor or that a failure is
    // undecided.
    let (at_closure, at_type) = (mixed.located_at(spans::of(make)), mixed.located_at(spans::of(actor)));
    let (closures, types) = (spans::path_at(krate, at_closure), spans::path_at(krate, at_type));
    let mut field = field.clone();
    field.set_span(mixed.located_at(field.span()));
    let (made, declare) = match kind {
        ChildKind::Actor => (quote_spanned!(at_closure=> factory), quote_spanned!(at_type=> declare)),
        ChildKind::Pattern => (quote_spanned!(at_closure=> props), quote_spanned!(at_type=> declare_with)),
        ChildKind::Keyed(key) => {
            (quote_spanned!(at_closure=> template::<_, #key, _, _>), quote_spanned!(at_type=> declare_children))
        }
    };
    let idle = arguments.idle.value.as_ref().map(|idle| {
        let idle = of_our_self(idle.unchecked(krate));
        quote_spanned!(mixed=> .idle(#idle))
    });
    let limit = arguments.limit.value.as_ref().map(|limit| {
        let limit = of_our_self(limit.unchecked(krate));
        quote_spanned!(mixed=> .limit(#limit))
    });
    // rustc reports undecided failures of an actor at the value.
    let at_value = if let ChildKind::Actor = kind { at_closure } else { at_type };
    let value = Ident::new("factory", at_value);
    let factory = quote_spanned!(at_closure=> let #value = #closures::__private::#made(self, #make)#idle #limit;);
    // Says what the field holds before rustc looks at what the factory makes.
    let held = if let ChildKind::Actor = kind {
        quote_spanned!(at_type=> ::core::marker::PhantomData::<#actor>,)
    } else {
        TokenStream::new()
    };
    let declared = quote_spanned! {at_type=>
        #types::__private::#declare(declare, self, |this| &mut this.#field, #held #value);
    };
    quote_spanned! {mixed=>
        #cfgs
        #name => {
            #factory
            #declared
        }
    }
}

/// The children as Markdown.
pub(crate) fn documentation(children: &[Child]) -> Option<String> {
    if children.is_empty() {
        return None;
    }
    let mut table = "# Children\n\n| name | actor | |\n|---|---|---|".to_owned();
    for child in children {
        let restart = child.restart().word();
        let significant = if child.arguments.significant.value.is_some() { ", significant" } else { "" };
        let stop = match child.arguments.stop_timeout.value {
            Some(timeout) => format!(", stops within {}", spoken(timeout)),
            None => String::new(),
        };
        let options = format!("{restart}{significant}{stop}");
        row(&mut table, &[&cell(&child.name()), &cell(&written(&child.actor)), &options]);
    }
    Some(table)
}
