//! Reads `#[protocol]` and its trait into a [`Protocol`].

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::Parse;
use syn::{
    Attribute, FnArg, GenericParam, Generics, ItemTrait, Lifetime, Meta, Pat, Path, Safety, Signature, Token,
    TraitItem, TraitItemFn, TypeParamBound,
};

use super::model::{Method, Protocol};
use crate::attributes;
use crate::block::parse::handler::{Place, check_owned};
use crate::block::parse::types::{Borrowed, borrowed};
use crate::declaration::parse::facade;
use crate::errors::Errors;
use crate::grammar::Arguments;
use crate::grammar::arguments::ProtocolArguments;
use crate::settings::written;
use crate::syntax;

/// The methods that a protocol's ref, or every value, has already.
const RESERVED: &[&str] = &[
    "actor",
    "clone",
    "clone_from",
    "deref",
    "eq",
    "from",
    "hash",
    "into",
    "ne",
    "to_owned",
    "to_string",
    "try_into",
];

/// Traits that a trait object cannot have, but its ref has.
const NOT_FOR_OBJECTS: &[&str] =
    &["Clone", "Copy", "Default", "Eq", "Hash", "Ord", "PartialEq", "PartialOrd", "Sized"];

/// Reads the attribute and the trait.
pub(crate) fn protocol(arguments: TokenStream, mut item: ItemTrait, errors: &mut Errors) -> Protocol {
    let arguments = ProtocolArguments::read(arguments, errors);
    let before = errors.count();
    check_trait(&item, errors);
    check_generics(&item.generics, errors);
    let mut has_object = errors.count() == before;
    let mut protocol = Protocol {
        reference: format_ident!("{}Ref", item.ident),
        krate: arguments.krate.value.unwrap_or_else(facade),
        methods: Vec::new(),
        provided: Vec::new(),
        has_object,
        item: item.clone(),
    };
    let trait_name = item.ident.clone();
    item.items.retain_mut(|member| {
        match member {
            TraitItem::Fn(method) => return read_method(&mut protocol, method, errors),
            TraitItem::Const(constant) => {
                let (name, ty) = (constant.ident.to_string().to_lowercase(), written(&constant.ty));
                let message = format!(
                    "a ref hides the type, and its constants with it: write `async fn {name}(&self) -> Result<{ty}, AskError>;`, which \
                     each actor answers with its own value; if the value is the same for all, a method with a body will do, `fn \
                     {name}(&self) -> {ty} {{ .. }}`"
                );
                errors.at(constant, message);
                has_object = false;
            }
            TraitItem::Type(ty) => {
                let name = &ty.ident;
                let message = format!(
                    "a ref hides the type, and its associated types with it: make it a parameter, `trait {trait_name}<{name}: Send + \
                     'static>`, and write `{name}` for `Self::{name}`"
                );
                errors.at(ty, message);
                has_object = false;
            }
            _ => {}
        }
        true
    });
    let is_async = check_async_trait(&item.attrs, errors);
    if protocol.methods.iter().any(Method::asks) && errors.count() == before && !is_async {
        let message = "the `async` methods of a protocol are called through a trait object, which needs `#[async_trait]`: write \
                       it below `#[protocol]`";
        errors.at(&item.ident, message);
        has_object = false;
    }
    complete(&mut item, &protocol.krate);
    protocol.item = item;
    protocol.has_object = has_object;
    protocol
}

fn check_trait(item: &ItemTrait, errors: &mut Errors) {
    if let Some(unsafety) = &item.unsafety {
        errors.at(unsafety, "a protocol cannot be unsafe, because refs of actors implement it: remove `unsafe`");
    }
    for bound in &item.supertraits {
        let TypeParamBound::Trait(bound) = bound else { continue };
        let Some(last) = bound.path.segments.last() else { continue };
        if NOT_FOR_OBJECTS.iter().any(|name| last.ident == name) {
            let message = format!(
                "a trait object cannot be `{0}`: remove `{0}`; the protocol's ref implements `Clone`, `Debug`, \
                 `Display`, `Eq` and `Hash`",
                last.ident
            );
            errors.at(bound, message);
        }
    }
}

/// Only rustc knows the bounds that another trait implies, and those of a `where` clause.
fn check_generics(generics: &Generics, errors: &mut Errors) {
    for parameter in &generics.params {
        match parameter {
            GenericParam::Lifetime(lifetime) => {
                let message = "messages move to another task and cannot borrow: remove the lifetime, and take owned \
                               values";
                errors.at(lifetime, message);
            }
            GenericParam::Type(ty) if ty.bounds.is_empty() && generics.where_clause.is_none() => {
                let message = format!("messages move between threads: write `{}: Send + 'static`", ty.ident);
                errors.at(ty, message);
            }
            GenericParam::Type(_) | GenericParam::Const(_) => {}
        }
    }
}

/// Whether `#[async_trait]` follows. Its futures must be `Send`.
fn check_async_trait(attrs: &[Attribute], errors: &mut Errors) -> bool {
    let of_async_trait =
        |attribute: &&Attribute| attribute.path().segments.last().is_some_and(|last| last.ident == "async_trait");
    let Some(attribute) = attrs.iter().find(of_async_trait) else { return false };
    if !matches!(attribute.meta, Meta::Path(_)) {
        errors.at(
            attribute,
            "the futures of a protocol move between threads: write `#[async_trait]` without arguments",
        );
    }
    true
}

/// Reads a method. Returns whether the trait keeps it. A method whose mistake would cause further errors is
/// removed.
fn read_method(protocol: &mut Protocol, method: &mut TraitItemFn, errors: &mut Errors) -> bool {
    let name = method.sig.ident.unraw().to_string();
    if RESERVED.contains(&name.as_str()) {
        let message = format!("the protocol's ref has a method `{name}` already: give this one another name");
        errors.at(&method.sig.ident, message);
        return false;
    }
    if method.default.is_some() {
        protocol.provided.push(method.sig.ident.clone());
        return true;
    }
    // rustc ignores an empty clause, which has no tokens that an error could point at.
    method.sig.generics.where_clause.take_if(|clause| clause.predicates.is_empty());
    let before = errors.count();
    check_method(method, errors);
    if errors.count() == before {
        protocol.methods.push(Method { signature: method.sig.clone() });
        return true;
    }
    excuse(method);
    method.sig.generics.params.is_empty() && !written(&method.sig.inputs).contains("impl ")
}

/// Refuses a method that cannot be a message.
fn check_method(method: &TraitItemFn, errors: &mut Errors) {
    let signature = &method.sig;
    if let Some(attribute) = method.attrs.iter().find(|attribute| {
        attribute.path().is_ident("cfg")
            || attribute.path().is_ident("cfg_attr") && written(attribute).contains("cfg(")
    }) {
        errors.at(attribute, "a protocol has the same methods in every build: put `#[cfg]` on the trait");
    }
    if let Safety::Unsafe(unsafety) = &signature.safety {
        errors
            .at(unsafety, "a method of a protocol cannot be unsafe, because it sends a message: remove `unsafe`");
    }
    // `#[async_trait]` has already expanded this method, and its output cannot be read.
    if let Some(lifetime) = by_async_trait(signature) {
        errors.at(lifetime, "`#[async_trait]` has changed the trait before `#[protocol]` reads it: move `#[protocol]` above `#[async_trait]`");
        return;
    }
    if let Some(clause) = &signature.generics.where_clause {
        let message = if written(&clause.predicates).contains("Self : Sized") {
            "a ref hides the type, so that it cannot call this method: give it a body, or remove `Self: Sized`"
        } else {
            "a method of a protocol cannot have a `where` clause: put it on the trait"
        };
        errors.at(clause, message);
    }
    if !signature.generics.params.is_empty() {
        let message = "a method of a protocol cannot have generic parameters: put them on the trait, or write the types \
                       out";
        errors.at(&signature.generics, message);
    }
    match signature.receiver() {
        None => {
            let message = "a method of a protocol sends a message to the actor: make `&self` its first parameter, or \
                           write a body and `where Self: Sized`";
            errors.at(&signature.ident, message);
        }
        Some(receiver) if borrowed(receiver) != Some(Borrowed::Shared) => {
            errors.at(receiver, "callers share a protocol's ref: write `&self`; the handler may take `&mut self`");
        }
        Some(_) => {}
    }
    for input in &signature.inputs {
        let FnArg::Typed(input) = input else { continue };
        if !matches!(&*input.pat, Pat::Ident(_) | Pat::Wild(_)) {
            errors.at(&input.pat, "a parameter of a protocol's method needs a name: write a name here");
        }
        check_owned(&input.ty, Place::Argument, errors);
    }
    if let syn::ReturnType::Type(_, ty) = &signature.output {
        check_owned(ty, Place::Reply, errors);
    }
}

fn by_async_trait(signature: &Signature) -> Option<&Lifetime> {
    let mut lifetimes = signature.generics.lifetimes().map(|parameter| &parameter.lifetime);
    lifetimes.find(|lifetime| lifetime.ident == "async_trait")
}

/// Gives a method with a mistake a body and takes it out of trait objects, so that it has no further errors.
fn excuse(method: &mut TraitItemFn) {
    method.attrs.extend(attributes::ours(quote!(#[allow(unused_variables)])));
    if method.sig.generics.where_clause.is_none() {
        let excused = quote_spanned!(method.sig.ident.span()=> where Self: ::core::marker::Sized);
        if let Ok(clause) = syntax::read(excused, syn::WhereClause::parse) {
            method.sig.generics.where_clause = Some(clause);
        }
    }
    let body = quote!({ ::core::unreachable!("it does not compile") });
    method.default = syntax::read(body, syn::Block::parse).ok();
    method.semi_token = None;
}

/// Adds the items that every protocol has. Rule 20.5: `actor` returns the actor behind a value that is not an
/// actor itself.
fn complete(item: &mut ItemTrait, krate: &Path) {
    let span = item.ident.span();
    for bound in
        [quote_spanned!(span=> ::core::marker::Send), quote_spanned!(span=> ::core::marker::Sync), quote!('static)]
    {
        if let Ok(bound) = syntax::read(bound, TypeParamBound::parse)
            && !item.supertraits.iter().any(|given| written(given) == written(&bound))
        {
            item.supertraits.push(bound);
        }
    }
    item.colon_token.get_or_insert_with(|| Token![:](span));
    let name = &item.ident;
    let said = format!("`{{Self}}` does not implement the protocol `{name}`");
    let by_handlers = format!(
        "for an actor, write `#[actor(implements({name}))]` in place of `#[actor]` above its `impl` block: its ref then implements \
         `{name}` by the handlers of the same names, and an `impl {name}` for the actor itself is not needed"
    );
    let by_hand = format!(
        "if `{{Self}}` is the actor and not its ref, pass the ref, which `spawn` returns; if it is neither of them, write \
         `#[async_trait] impl {name} for {{Self}} {{{{ .. }}}}`"
    );
    let explanation =
        quote!(#[diagnostic::on_unimplemented(message = #said, note = #by_handlers, note = #by_hand)]);
    item.attrs.splice(0..0, attributes::ours(explanation));
    let actor = quote! {
        /// The actor behind this value. An adapter may pass on what the ref says that it holds.
        fn actor(&self) -> ::core::option::Option<#krate::AnyActorRef> {
            ::core::option::Option::None
        }
    };
    if let Ok(actor) = syntax::read(actor, TraitItem::parse) {
        item.items.push(actor);
    }
}

/// The protocol's attributes that the generated items repeat.
pub(super) fn cfgs(item: &ItemTrait) -> TokenStream {
    attributes::cfgs(&item.attrs)
}

/// A name that two protocols have only if they are the same.
pub(super) fn unique(item: &ItemTrait) -> Ident {
    // FNV-1a
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in item.to_token_stream().to_string().bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format_ident!("__protocol_{}_{hash:016x}", item.ident, span = item.ident.span())
}
