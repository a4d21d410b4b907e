//! `implement!`, to which the macro of a protocol passes its methods, and `implements(..)` the handlers of an actor.

use proc_macro2::{Group, Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::parse::{Parse, ParseStream};
use syn::{LitInt, Path, ReturnType};

use crate::block::parse::types::{is_called, is_unit, last_segment};
use crate::errors::Errors;
use crate::settings::{split, written};
use crate::spans;
use crate::syntax;

/// Expands `implement!`.
pub(crate) fn implement(input: TokenStream) -> TokenStream {
    match syntax::read(input, Implementation::parse) {
        Ok(implementation) => implementation.expand(),
        Err(error) => error.into_compile_error(),
    }
}

/// A protocol and an actor that implements it.
struct Implementation {
    methods: Vec<Method>,
    provided: Vec<Ident>,
    krate: Path,
    protocol: Path,
    actor: Ident,
    reference: TokenStream,
    impl_generics: TokenStream,
    where_clause: TokenStream,
    handlers: Vec<Sent>,
}

/// A method of the protocol.
struct Method {
    at: usize,
    asks: bool,
    ident: Ident,
    arguments: TokenStream,
    output: TokenStream,
}

/// What the handler for a method with this output returns: the reply, without the error that no answer came.
fn replied(output: &TokenStream) -> String {
    if let Ok(ReturnType::Type(_, ty)) = syntax::read(output.clone(), ReturnType::parse)
        && let Some((name, types)) = last_segment(&ty)
        && let ("Result", [reply, error]) = (name.as_str(), types.as_slice())
        && is_called("AskError", error)
    {
        return if is_unit(reply) { String::new() } else { format!(" -> {}", written(*reply)) };
    }
    if output.is_empty() { String::new() } else { format!(" {}", written(output)) }
}

/// A handler of the actor.
struct Sent {
    cfgs: TokenStream,
    ident: Ident,
    parameters: TokenStream,
    names: TokenStream,
    is_usable: bool,
}

impl Parse for Implementation {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self {
            methods: syntax::read(group(input)?, several)?,
            provided: syntax::read(group(input)?, several)?,
            krate: syntax::read(group(input)?, Path::parse_mod_style)?,
            protocol: syntax::read(group(input)?, Path::parse)?,
            actor: syntax::read(group(input)?, Ident::parse)?,
            reference: group(input)?,
            impl_generics: group(input)?,
            where_clause: group(input)?,
            handlers: syntax::read(group(input)?, several)?,
        })
    }
}

fn group(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    input.parse::<Group>().map(|group| group.stream())
}

fn several<T: Parse>(input: ParseStream<'_>) -> syn::Result<Vec<T>> {
    let mut all = Vec::new();
    while !input.is_empty() {
        all.push(input.parse()?);
    }
    Ok(all)
}

impl Parse for Method {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let content;
        syn::parenthesized!(content in input);
        Ok(Self {
            at: content.parse::<LitInt>()?.base10_parse()?,
            asks: content.parse::<Ident>()? == "ask",
            ident: content.parse()?,
            arguments: group(&content)?,
            output: group(&content)?,
        })
    }
}

impl Method {
    /// `, key: String` as a user would write it.
    fn parameters(&self) -> String {
        written(&self.arguments).replace(" : ", ": ")
    }
}

impl Parse for Sent {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let content;
        syn::parenthesized!(content in input);
        Ok(Self {
            cfgs: group(&content)?,
            ident: content.parse()?,
            parameters: group(&content)?,
            names: group(&content)?,
            is_usable: content.parse::<Ident>()? == "usable",
        })
    }
}

impl Implementation {
    /// `impl Storage for DatabaseRef`
    fn expand(&self) -> TokenStream {
        let Self { krate, protocol, reference, impl_generics, where_clause, .. } = self;
        let mut errors = Errors::new();
        self.check_provided(&mut errors);
        let mut members = TokenStream::new();
        for method in &self.methods {
            let mut found = false;
            for handler in self.handlers.iter().filter(|handler| handler.ident == method.ident) {
                found = true;
                self.check_number(method, handler, &mut errors);
                members.extend(self.member(method, handler));
            }
            if !found {
                self.missing(method, &mut errors);
            }
        }
        if let Some(error) = errors.finish() {
            return error.into_compile_error();
        }
        quote_spanned! {Span::mixed_site()=>
            #[automatically_derived]
            #[allow(deprecated)]
            #[#krate::__private::async_trait]
            impl #impl_generics #protocol for #reference #where_clause {
                #members

                fn actor(&self) -> ::core::option::Option<#krate::AnyActorRef> {
                    ::core::option::Option::Some(#krate::TypedRef::actor_ref(self).to_any())
                }
            }
        }
    }

    fn check_provided(&self, errors: &mut Errors) {
        for handler in &self.handlers {
            if self.provided.contains(&handler.ident) {
                let message = format!(
                    "`{}` has a body for `{}`, which would be called in place of this handler: remove the body in the trait if \
                     this handler should answer, remove this handler if the body should, or give the handler another name if the two do different things",
                    written(&self.protocol),
                    handler.ident
                );
                errors.at(&handler.ident, message);
            }
        }
    }

    fn missing(&self, method: &Method, errors: &mut Errors) {
        let Method { ident, output, asks, .. } = method;
        let (keyword, output) = if *asks { ("async fn", replied(output)) } else { ("fn", String::new()) };
        let message = format!(
            "`{}` has no handler for `{ident}` of the protocol `{}`: write `#[handler] {keyword} {ident}(&mut self{}){output}`",
            self.actor,
            written(&self.protocol),
            method.parameters(),
        );
        errors.at(&self.protocol, message);
    }

    /// rustc compares the parameters one by one, but reports a wrong number of them at the whole block.
    fn check_number(&self, method: &Method, handler: &Sent, errors: &mut Errors) {
        if split(method.arguments.clone(), ',').len() != split(handler.parameters.clone(), ',').len() {
            let message = format!(
                "`{}` of the protocol `{}` has other parameters: write `fn {}(&mut self{})`",
                method.ident,
                written(&self.protocol),
                method.ident,
                method.parameters(),
            );
            errors.at(&handler.ident, message);
        }
    }

    /// The trait's method, with the parameters that the handler has: rustc compares them with those of the trait.
    fn member(&self, method: &Method, handler: &Sent) -> TokenStream {
        let Self { krate, protocol, reference, .. } = self;
        let Sent { cfgs, ident, parameters, names, .. } = handler;
        if !handler.is_usable {
            return TokenStream::new();
        }
        // Where rustc reports a reply that does not fit.
        let (here, at) = (Span::mixed_site().located_at(ident.span()), method.at);
        let krate = spans::path_at(krate, ident.span());
        let object = quote_spanned!(here=> dyn #protocol);
        let request = quote_spanned!(here=> <#reference>::#ident(self #names));
        if method.asks {
            quote_spanned! {here=>
                #cfgs
                async fn #ident(&self #parameters) -> <#object as #krate::__private::AsksAt<#at>>::Returned {
                    #krate::__private::ask_as::<#object, #at, _, _>(#request).await
                }
            }
        } else {
            quote_spanned! {here=>
                #cfgs
                fn #ident(&self #parameters) -> <#object as #krate::__private::TellsAt<#at>>::Returned {
                    #krate::__private::tell_as::<#object, #at, _, _>(#request)
                }
            }
        }
    }
}
