//! Writes a [`Protocol`]: the trait, its ref, what its methods return, and the macro that lists them. Cannot fail.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::Parse;
use syn::spanned::Spanned;
use syn::{FnArg, GenericParam, Generics, ReturnType, Visibility};

use super::model::{Method, Protocol};
use super::parse::{cfgs, unique};
use crate::attributes;
use crate::generics::{derivation, implementation, require, with_parameter};
use crate::spans;
use crate::syntax;

pub(super) fn expand(protocol: &Protocol) -> TokenStream {
    let item = &protocol.item;
    let mut generated = Vec::new();
    if protocol.has_object {
        generated = reference(protocol);
        let krate = &protocol.krate;
        let of = quote_spanned!(Span::mixed_site()=> #krate::__private::IsProtocol);
        generated.push(derivation(&item.generics, of, &object(protocol), TokenStream::new()));
        for (at, method) in protocol.methods.iter().enumerate() {
            generated.push(returned(protocol, at, method));
        }
    }
    generated.extend(list(protocol));
    let generated = attributes::under(&cfgs(item), true, generated);
    quote!(#item #generated)
}

/// `dyn Storage<..>`
fn object(protocol: &Protocol) -> TokenStream {
    let (_, ty_generics, _) = protocol.item.generics.split_for_impl();
    let ident = &protocol.item.ident;
    quote_spanned!(Span::mixed_site()=> dyn #ident #ty_generics)
}

/// `StorageRef`
fn reference(protocol: &Protocol) -> Vec<TokenStream> {
    let Protocol { item, reference, krate, .. } = protocol;
    let (ident, vis, generics) = (&item.ident, &item.vis, &item.generics);
    let mixed = Span::mixed_site();
    let object = object(protocol);
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let own = quote!(#reference #ty_generics);
    let inner = quote_spanned!(mixed=> #krate::ProtocolRef<#object>);
    let text = format!(
        "Refers to an implementation of [`{ident}`]: an actor, or any other value. Make it with `new`. It has the \
         methods of [`{ident}`]. It is cheap to clone, and `Display` shows the path and `Uid` of the actor behind it."
    );
    let declared = Generics { where_clause: None, ..generics.clone() };
    let mut items = vec![quote_spanned! {mixed=>
        #[doc = #text]
        #[allow(dead_code)]
        #vis struct #reference #declared (#inner) #where_clause;
    }];
    let mut implement = |of: TokenStream, members: TokenStream| {
        items.push(derivation(generics, of, &own, members));
    };
    implement(
        quote_spanned!(mixed=> ::core::clone::Clone),
        quote_spanned! {mixed=>
            fn clone(&self) -> Self {
                Self(::core::clone::Clone::clone(&self.0))
            }
        },
    );
    for name in ["Debug", "Display"] {
        let of = Ident::new(name, mixed);
        implement(
            quote_spanned!(mixed=> ::core::fmt::#of),
            quote_spanned! {mixed=>
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    ::core::fmt::#of::fmt(&self.0, f)
                }
            },
        );
    }
    implement(
        quote_spanned!(mixed=> ::core::cmp::PartialEq),
        quote_spanned! {mixed=>
            fn eq(&self, other: &Self) -> ::core::primitive::bool {
                ::core::cmp::PartialEq::eq(&self.0, &other.0)
            }
        },
    );
    implement(quote_spanned!(mixed=> ::core::cmp::Eq), TokenStream::new());
    implement(
        quote_spanned!(mixed=> ::core::hash::Hash),
        quote_spanned! {mixed=>
            fn hash<__H: ::core::hash::Hasher>(&self, state: &mut __H) {
                ::core::hash::Hash::hash(&self.0, state);
            }
        },
    );
    implement(
        quote_spanned!(mixed=> ::core::ops::Deref),
        quote_spanned! {mixed=>
            type Target = #object;

            fn deref(&self) -> &Self::Target {
                ::core::ops::Deref::deref(&self.0)
            }
        },
    );
    items.push(quote_spanned! {mixed=>
        impl #impl_generics #own #where_clause {
            /// A ref to whatever implements the protocol: an actor by its ref, or any other value.
            #[allow(dead_code)]
            #vis fn new(value: impl #ident #ty_generics) -> Self {
                let actor = #ident::actor(&value);
                let behind: ::std::sync::Arc<#krate::__private::Behind<#object>> =
                    ::std::sync::Arc::new(#krate::__private::Behind::new(value, actor));
                Self(::core::convert::From::from(behind))
            }

            /// The actor behind the ref, so that it can be watched and stopped. `None` if there is none, as in a test, or if
            /// an adapter does not name it.
            #[allow(dead_code)]
            #vis fn actor(&self) -> ::core::option::Option<&#krate::AnyActorRef> {
                self.0.actor()
            }
        }
    });
    // With type parameters, another crate might implement the trait for the ref, and every type is `From` itself.
    if generics.type_params().next().is_none() {
        items.extend(conversions(protocol, &own));
    }
    items
}

/// `From` for everything that implements the protocol.
fn conversions(protocol: &Protocol, own: &TokenStream) -> Vec<TokenStream> {
    let Protocol { item, krate, .. } = protocol;
    let mixed = Span::mixed_site();
    let (ident, (_, ty_generics, _)) = (&item.ident, item.generics.split_for_impl());
    let mut generics = with(&item.generics, quote_spanned!(mixed=> __T: #ident #ty_generics));
    let of = quote_spanned!(mixed=> ::core::convert::From<__T>);
    let from = quote_spanned! {mixed=>
        fn from(value: __T) -> Self {
            Self::new(value)
        }
    };
    let value = derivation(&generics, of, own, from);
    generics = with(&item.generics, quote_spanned!(mixed=> __S: #krate::pattern::StandIn));
    require(&mut generics, quote_spanned!(mixed=> #krate::RefOf<__S::For>: #ident #ty_generics));
    let of = quote_spanned!(mixed=> ::core::convert::From<#krate::pattern::StandInRef<__S>>);
    let from = quote_spanned! {mixed=>
        fn from(pattern: #krate::pattern::StandInRef<__S>) -> Self {
            Self::new(::core::clone::Clone::clone(&*pattern))
        }
    };
    vec![value, derivation(&generics, of, own, from)]
}

fn with(generics: &Generics, parameter: TokenStream) -> Generics {
    match syntax::read(parameter, syn::TypeParam::parse) {
        Ok(parameter) => with_parameter(generics, parameter),
        Err(_) => generics.clone(),
    }
}

/// What the method returns. rustc reports an error here if the type cannot say that no answer came.
fn returned(protocol: &Protocol, at: usize, method: &Method) -> TokenStream {
    let (krate, object) = (&protocol.krate, object(protocol));
    let mixed = Span::mixed_site();
    // For every lifetime, because rustc forgets it in the future that calls this.
    let object = quote_spanned!(mixed=> #object + '__a);
    let generics = &with_lifetime(&protocol.item.generics);
    let (ty, span) = match &method.signature.output {
        ReturnType::Type(_, ty) => (ty.to_token_stream(), ty.span()),
        ReturnType::Default => {
            let span = method.signature.ident.span();
            (quote_spanned!(span=> ()), span)
        }
    };
    // Where rustc reports a type that has no place for an error.
    let here = mixed.located_at(span);
    if !method.asks() {
        let of = quote_spanned!(mixed=> #krate::__private::TellsAt<#at>);
        return implementation(generics, of, &object, quote_spanned!(here=> type Returned = #ty;));
    }
    let of = quote_spanned!(mixed=> #krate::__private::AsksAt<#at>);
    let krate = spans::path_at(krate, span);
    let members = quote_spanned! {here=>
        type Returned = #ty;

        fn unanswered(error: #krate::AskError) -> #ty {
            #[allow(unused_imports)]
            use #krate::__private::{ConvertedError as _, OwnError as _, ReportedConversion as _};
            <#ty as #krate::__private::Asked>::failed(
                (&&&#krate::__private::Unanswered::<<#ty as #krate::__private::Asked>::Error>::new()).error(error),
            )
        }
    };
    implementation(generics, of, &object, members)
}

fn with_lifetime(generics: &Generics) -> Generics {
    let mut with = generics.clone();
    if let Ok(lifetime) = syntax::read(quote_spanned!(Span::mixed_site()=> '__a), GenericParam::parse) {
        with.params.insert(0, lifetime);
    }
    with
}

/// The macro that passes the methods of the protocol on.
fn list(protocol: &Protocol) -> Vec<TokenStream> {
    let Protocol { item, provided, .. } = protocol;
    let (name, vis, unique) = (&item.ident, &item.vis, unique(item));
    let mut methods = TokenStream::new();
    for (at, method) in protocol.methods.iter().enumerate() {
        let signature = &method.signature;
        let kind = if method.asks() { quote!(ask) } else { quote!(tell) };
        let ident = &signature.ident;
        let arguments = signature.inputs.iter().filter(|input| matches!(input, FnArg::Typed(_)));
        let output = &signature.output;
        methods.extend(quote!((#at #kind #ident (#(, #arguments)*) (#output))));
    }
    // Only an exported macro can be as public as a trait.
    let export = match vis {
        Visibility::Public(_) => quote!(#[macro_export]),
        _ => TokenStream::new(),
    };
    vec![
        quote! {
            #[doc(hidden)]
            #[allow(non_local_definitions)]
            #export
            macro_rules! #unique {
                ([$($implement:tt)*] $($rest:tt)*) => {
                    $($implement)* ! { [#methods] [#(#provided)*] $($rest)* }
                };
            }
        },
        quote! {
            #[doc(hidden)]
            #[allow(unused_imports)]
            #vis use #unique as #name;
        },
    ]
}
