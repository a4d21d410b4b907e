//! The actor's ref, its `Supervisor` impl and what its table covers. Cannot fail.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{DeriveInput, Generics, TypeParam, TypeParamBound};

use super::children;
use super::model::{Declaration, Mailbox};
use crate::generics::{derivation, require, with_parameter};
use crate::supervise::expand as table;
use crate::{attributes, duration, spans};

pub(crate) fn expand(declaration: &Declaration) -> TokenStream {
    let item = documented(declaration);
    let mut generated = reference(declaration);
    generated.push(supervisor(declaration));
    generated.extend(coverage(declaration));
    let generated = attributes::under(&declaration.cfgs, generated);
    let mut read = TokenStream::new();
    for path in &declaration.below {
        read.extend(crate::supervise::already_read(path));
    }
    let cfgs = &declaration.cfgs;
    // Not among the others, whose warnings of deprecated items are off.
    let warnings = table::warnings(&declaration.table, &declaration.krate);
    quote!(#item #generated #(#cfgs #warnings)* #read)
}

/// The user's item; behind its own documentation, how it is reached and what it does about its children's failures.
fn documented(declaration: &Declaration) -> DeriveInput {
    let mut item = declaration.item.clone();
    let mut text =
        format!("\nReached through [`{}`], which has a method for each message.\n", declaration.reference);
    if declaration.supervises {
        text.push('\n');
        text.push_str(&table::documentation(&declaration.table));
    }
    if let Some(children) = children::documentation(&declaration.children) {
        text.push('\n');
        text.push_str(&children);
    }
    item.attrs.extend(attributes::ours(quote!(#[doc = #text])));
    item
}

/// The newtype over `ActorRef` and its impls.
fn reference(declaration: &Declaration) -> Vec<TokenStream> {
    let Declaration { vis, ident, reference, generics, krate, .. } = declaration;
    let mixed = Span::mixed_site();
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let actor = quote!(#ident #ty_generics);
    let own = quote!(#reference #ty_generics);
    let inner = quote!(#krate::ActorRef<#actor>);
    let alive = alive(declaration);
    // Where there are type parameters, what is complete may depend on the bounds of the impl block, not known here.
    let complete = if generics.type_params().next().is_none() {
        let krate = spans::path_at(krate, ident.span());
        quote_spanned!(ident.span()=> let _ = #krate::__private::has_messages::<#actor>;)
    } else {
        TokenStream::new()
    };
    let text = format!(
        "Refers to a [`{ident}`]. Its methods make requests: `.await` one to ask, `.tell()` it to send. Displayed, it is the actor's path and `Uid`."
    );
    let declared = Generics { where_clause: None, ..generics.clone() };
    let mut items = vec![quote_spanned! {mixed=>
        #[doc = #text]
        #[allow(dead_code)]
        #vis struct #reference #declared (#inner) #where_clause;
    }];
    let mut implement = |generics: &Generics, of: TokenStream, members: TokenStream| {
        items.push(derivation(generics, of, &own, members));
    };
    implement(
        generics,
        quote_spanned!(mixed=> ::core::clone::Clone),
        quote_spanned! {mixed=>
            fn clone(&self) -> Self {
                Self(::core::clone::Clone::clone(&self.0))
            }
        },
    );
    for (name, check) in [("Debug", complete), ("Display", TokenStream::new())] {
        let of = Ident::new(name, mixed);
        implement(
            generics,
            quote_spanned!(mixed=> ::core::fmt::#of),
            quote_spanned! {mixed=>
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    #check
                    ::core::fmt::#of::fmt(&self.0, f)
                }
            },
        );
    }
    implement(
        generics,
        quote_spanned!(mixed=> ::core::cmp::PartialEq),
        quote_spanned! {mixed=>
            fn eq(&self, other: &Self) -> ::core::primitive::bool {
                ::core::cmp::PartialEq::eq(&self.0, &other.0)
            }
        },
    );
    implement(generics, quote_spanned!(mixed=> ::core::cmp::Eq), TokenStream::new());
    implement(
        generics,
        quote_spanned!(mixed=> ::core::hash::Hash),
        quote_spanned! {mixed=>
            fn hash<__H: ::core::hash::Hasher>(&self, state: &mut __H) {
                ::core::hash::Hash::hash(&self.0, state);
            }
        },
    );
    implement(
        generics,
        quote_spanned!(mixed=> ::core::convert::From<#inner>),
        quote_spanned! {mixed=>
            fn from(actor: #inner) -> Self {
                Self(actor)
            }
        },
    );
    implement(
        &alive,
        quote_spanned!(mixed=> #krate::TypedRef),
        quote_spanned! {mixed=>
            type Actor = #actor;

            fn actor_ref(&self) -> &#inner {
                &self.0
            }
        },
    );
    implement(&alive, quote_spanned!(mixed=> #krate::__private::Habits), TokenStream::new());
    items.push(quote_spanned! {mixed=>
        impl #impl_generics #own #where_clause {
            /// What every ref can do, whatever its actor handles.
            #[allow(dead_code)]
            #vis fn actor_ref(&self) -> &#inner {
                &self.0
            }
        }
    });
    items
}

fn supervisor(declaration: &Declaration) -> TokenStream {
    let Declaration { ident, reference, krate, .. } = declaration;
    let (_, ty_generics, _) = declaration.generics.split_for_impl();
    let mixed = Span::mixed_site();
    let mut members = quote_spanned!(mixed=> type Ref = #reference #ty_generics;);
    if let Some(mailbox) = &declaration.mailbox {
        let kind = match mailbox {
            Mailbox::Unbounded => quote_spanned!(mixed=> Unbounded),
            Mailbox::Bounded { capacity, overflow } => {
                let overflow = Ident::new(overflow, mixed);
                quote_spanned!(mixed=> Bounded { capacity: #capacity, overflow: #krate::Overflow::#overflow })
            }
        };
        members.extend(quote_spanned! {mixed=>
            const MAILBOX: #krate::MailboxKind = #krate::MailboxKind::#kind;
        });
    }
    if let Some(capacity) = declaration.stash {
        members.extend(quote_spanned!(mixed=> const STASH_CAPACITY: ::core::primitive::usize = #capacity;));
    }
    if let Some(timeout) = declaration.stop_timeout {
        let timeout = duration::expression(timeout);
        members.extend(quote_spanned!(mixed=> const STOP_TIMEOUT: ::core::time::Duration = #timeout;));
    }
    if declaration.supervises {
        members.extend(table::members(&declaration.table, krate));
    }
    members.extend(children::members(&declaration.children, krate));
    let actor = quote!(#ident #ty_generics);
    derivation(&alive(declaration), quote_spanned!(mixed=> #krate::Supervisor), &actor, members)
}

/// What the table decides and what it hands upwards, as trait impls.
fn coverage(declaration: &Declaration) -> Vec<TokenStream> {
    let Declaration { ident, generics, krate, table, .. } = declaration;
    let (_, ty_generics, _) = generics.split_for_impl();
    let actor = quote!(#ident #ty_generics);
    let mixed = Span::mixed_site();
    let mut items = Vec::new();
    let mut mark = |generics: &Generics, marker: TokenStream| {
        items.push(derivation(generics, marker, &actor, TokenStream::new()));
    };
    if table.decides_all() {
        let any = Ident::new("__E", mixed);
        let mut error = TypeParam::from(any.clone());
        error.bounds.push(TypeParamBound::Verbatim(quote!(?::core::marker::Sized)));
        mark(&with_parameter(generics, error), quote_spanned!(mixed=> #krate::Decides<#any>));
        mark(generics, quote_spanned!(mixed=> #krate::DecidesAll));
    } else {
        for key in &table.keys() {
            mark(generics, quote_spanned!(mixed=> #krate::Decides<#key>));
        }
    }
    if !table.may_restart() {
        mark(generics, quote_spanned!(mixed=> #krate::NeverRestarts));
    }
    let parent = Ident::new("__P", mixed);
    let mut upwards = with_parameter(generics, parent.clone().into());
    let escalations = table.escalations();
    for ty in &escalations.types {
        require(&mut upwards, quote!(#parent: #krate::Decides<#ty>));
    }
    if escalations.anything {
        require(&mut upwards, quote!(#parent: #krate::DecidesAll));
    }
    mark(&upwards, quote_spanned!(mixed=> #krate::EscalationsDecidedBy<#parent>));
    items
}

/// The generics of impls that only an actor that may live can have.
fn alive(declaration: &Declaration) -> Generics {
    let mut alive = declaration.generics.clone();
    for parameter in declaration.generics.type_params() {
        let ty = &parameter.ident;
        require(&mut alive, quote!(#ty: 'static));
    }
    alive
}
