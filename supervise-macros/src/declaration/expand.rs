//! The actor's ref, its `Supervisor` impl and what its table covers. Cannot fail.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{DeriveInput, Generics, TypeParam, TypeParamBound};

use super::children;
use super::model::{Declaration, Mailbox};
use crate::generics::{require, with_parameter};
use crate::supervise::expand as table;
use crate::{attributes, duration, spans};

pub(crate) fn expand(declaration: &Declaration) -> TokenStream {
    let cfgs = &declaration.cfgs;
    let item = documented(declaration);
    let generated = [reference(declaration), vec![supervisor(declaration)], coverage(declaration)].concat();
    let generated = attributes::under(cfgs, generated);
    let read = declaration.below.iter().map(crate::supervise::already_read);
    quote!(#item #generated #(#read)*)
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
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let actor = quote!(#ident #ty_generics);
    let own = quote!(#reference #ty_generics);
    let inner = quote!(#krate::ActorRef<#actor>);
    let alive = alive(declaration);
    let (alive_generics, _, alive_where) = alive.split_for_impl();
    // Where there are type parameters, what is complete may depend on the bounds of the impl block, not known here.
    let complete = generics.type_params().next().is_none().then(|| {
        let krate = spans::path_at(krate, ident.span());
        quote_spanned!(ident.span()=> let _ = #krate::__private::has_messages::<#actor>;)
    });
    let text =
        format!("Refers to a [`{ident}`]. Its methods make requests: `.await` one to ask, `.tell()` it to send.");
    let mixed = Span::mixed_site();
    let declared = Generics { where_clause: None, ..generics.clone() };
    vec![
        quote_spanned! {mixed=>
            #[doc = #text]
            #[allow(dead_code)]
            #vis struct #reference #declared (#inner) #where_clause;
        },
        quote_spanned! {mixed=>
            #[automatically_derived]
            impl #impl_generics ::core::clone::Clone for #own #where_clause {
                fn clone(&self) -> Self {
                    Self(::core::clone::Clone::clone(&self.0))
                }
            }
        },
        quote_spanned! {mixed=>
            #[automatically_derived]
            impl #impl_generics ::core::fmt::Debug for #own #where_clause {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    #complete
                    ::core::fmt::Debug::fmt(&self.0, f)
                }
            }
        },
        quote_spanned! {mixed=>
            #[automatically_derived]
            impl #impl_generics ::core::cmp::PartialEq for #own #where_clause {
                fn eq(&self, other: &Self) -> ::core::primitive::bool {
                    ::core::cmp::PartialEq::eq(&self.0, &other.0)
                }
            }
        },
        quote_spanned! {mixed=>
            #[automatically_derived]
            impl #impl_generics ::core::cmp::Eq for #own #where_clause {}
        },
        quote_spanned! {mixed=>
            #[automatically_derived]
            impl #impl_generics ::core::hash::Hash for #own #where_clause {
                fn hash<__H: ::core::hash::Hasher>(&self, state: &mut __H) {
                    ::core::hash::Hash::hash(&self.0, state);
                }
            }
        },
        quote_spanned! {mixed=>
            #[automatically_derived]
            impl #impl_generics ::core::convert::From<#inner> for #own #where_clause {
                fn from(actor: #inner) -> Self {
                    Self(actor)
                }
            }
        },
        quote_spanned! {mixed=>
            #[automatically_derived]
            impl #alive_generics #krate::TypedRef for #own #alive_where {
                type Actor = #actor;

                fn actor_ref(&self) -> &#inner {
                    &self.0
                }
            }
        },
        quote_spanned! {mixed=>
            #[automatically_derived]
            impl #alive_generics #krate::__private::Habits for #own #alive_where {}
        },
        quote_spanned! {mixed=>
            impl #impl_generics #own #where_clause {
                /// What every ref can do, whatever its actor handles.
                #[allow(dead_code)]
                #vis fn actor_ref(&self) -> &#inner {
                    &self.0
                }
            }
        },
    ]
}

fn supervisor(declaration: &Declaration) -> TokenStream {
    let Declaration { ident, reference, krate, .. } = declaration;
    let alive = alive(declaration);
    let (impl_generics, _, where_clause) = alive.split_for_impl();
    let (_, ty_generics, _) = declaration.generics.split_for_impl();
    let mixed = Span::mixed_site();
    let mailbox = declaration.mailbox.as_ref().map(|mailbox| {
        let kind = match mailbox {
            Mailbox::Unbounded => quote_spanned!(mixed=> #krate::MailboxKind::Unbounded),
            Mailbox::Bounded { capacity, overflow } => {
                let overflow = Ident::new(overflow, mixed);
                quote_spanned! {mixed=>
                    #krate::MailboxKind::Bounded { capacity: #capacity, overflow: #krate::Overflow::#overflow }
                }
            }
        };
        quote_spanned!(mixed=> const MAILBOX: #krate::MailboxKind = #kind;)
    });
    let stop_timeout = declaration.stop_timeout.map(|timeout| {
        let timeout = duration::expression(timeout);
        quote_spanned!(mixed=> const STOP_TIMEOUT: ::core::time::Duration = #timeout;)
    });
    let stash = declaration
        .stash
        .map(|capacity| quote_spanned!(mixed=> const STASH_CAPACITY: ::core::primitive::usize = #capacity;));
    let table = declaration.supervises.then(|| table::members(&declaration.table, krate));
    let children = children::members(&declaration.children, krate);
    quote_spanned! {mixed=>
        #[automatically_derived]
        impl #impl_generics #krate::Supervisor for #ident #ty_generics #where_clause {
            type Ref = #reference #ty_generics;
            #mailbox
            #stash
            #stop_timeout
            #table
            #children
        }
    }
}

/// What the table decides and what it hands upwards, as trait impls.
fn coverage(declaration: &Declaration) -> Vec<TokenStream> {
    let Declaration { ident, generics, krate, table, .. } = declaration;
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let actor = quote!(#ident #ty_generics);
    let mixed = Span::mixed_site();
    let mut impls = Vec::new();
    if table.decides_all() {
        let any = format_ident!("__E", span = mixed);
        let mut error = TypeParam::from(any.clone());
        error.bounds.push(TypeParamBound::Verbatim(quote!(?::core::marker::Sized)));
        let with_error = with_parameter(generics, error);
        let (impl_with_error, _, _) = with_error.split_for_impl();
        impls.push(quote_spanned! {mixed=>
            #[automatically_derived]
            impl #impl_with_error #krate::Decides<#any> for #actor #where_clause {}
        });
        impls.push(quote_spanned! {mixed=>
            #[automatically_derived]
            impl #impl_generics #krate::DecidesAll for #actor #where_clause {}
        });
    } else {
        for key in table.keys() {
            impls.push(quote_spanned! {mixed=>
                #[automatically_derived]
                impl #impl_generics #krate::Decides<#key> for #actor #where_clause {}
            });
        }
    }
    if !table.may_restart() {
        impls.push(quote_spanned! {mixed=>
            #[automatically_derived]
            impl #impl_generics #krate::NeverRestarts for #actor #where_clause {}
        });
    }
    let parent = format_ident!("__P", span = mixed);
    let mut upwards = with_parameter(generics, parent.clone().into());
    let escalations = table.escalations();
    for ty in &escalations.types {
        require(&mut upwards, quote!(#parent: #krate::Decides<#ty>));
    }
    if escalations.anything {
        require(&mut upwards, quote!(#parent: #krate::DecidesAll));
    }
    let (impl_upwards, _, where_upwards) = upwards.split_for_impl();
    impls.push(quote_spanned! {mixed=>
        #[automatically_derived]
        impl #impl_upwards #krate::EscalationsDecidedBy<#parent> for #actor #where_upwards {}
    });
    impls
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
