//! What an actor's impl block says: which methods are handlers, hooks and watchers.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Attribute, Generics, Meta, Path, Signature, Type, TypePath, WherePredicate};

use super::handler::Handler;
use super::hook::{Hook, HookKind, Stash, Watch};
use super::parse::{Block as Syntax, Member, Method};
use crate::attributes::{self, Given};
use crate::errors::{Errors, closest};
use crate::generics::require;
use crate::settings::written;

/// Our attributes on the methods of the block.
const HELPERS: &[&str] =
    &["handler", "pre_start", "post_stop", "pre_restart", "post_restart", "watch", "stash_while"];

/// An actor's impl block.
pub(crate) struct Block {
    /// The user's block without our attributes.
    pub(crate) item: Syntax,
    pub(crate) krate: Path,
    /// The actor as the block names it.
    pub(crate) actor: Type,
    pub(crate) name: Ident,
    pub(crate) reference: Type,
    pub(crate) message: Ident,
    pub(crate) generics: Generics,
    pub(crate) cfgs: TokenStream,
    pub(crate) handlers: Vec<Handler>,
    pub(crate) hooks: Vec<Hook>,
    pub(crate) watches: Vec<Watch>,
    pub(crate) stash: Option<Stash>,
}

impl Block {
    /// Reads a block. Nothing, where it is not even clear whose block it is.
    pub(crate) fn read(arguments: TokenStream, mut item: Syntax, errors: &mut Errors) -> Option<Self> {
        let krate = crate::declaration::crate_path(arguments, errors);
        if let Some((of_trait, _)) = &item.of_trait {
            let message = "`#[actor]` belongs on the actor's own impl block, `#[actor] impl Feed { .. }`, \
                           not on the impl of a trait";
            errors.at(of_trait, message);
            return None;
        }
        let Type::Path(TypePath { qself: None, path, .. }) = &item.self_ty else {
            errors.at(&item.self_ty, "an actor is a struct or an enum: `#[actor] impl Feed { .. }`");
            return None;
        };
        let name = path.segments.last()?.ident.clone();
        let mut reference = path.clone();
        reference.segments.last_mut()?.ident = format_ident!("{}Ref", name);
        let actor = item.self_ty.clone();
        bound_parameters(&mut item.generics, errors);
        let mut members = std::mem::take(&mut item.members);
        let mut block = Self {
            krate,
            reference: Type::Path(TypePath { attrs: Vec::new(), qself: None, path: reference }),
            message: format_ident!("{}Message", name),
            generics: item.generics.clone(),
            cfgs: attributes::cfgs(&item.attrs),
            handlers: Vec::new(),
            hooks: Vec::new(),
            watches: Vec::new(),
            stash: None,
            name,
            actor,
            item,
        };
        for member in &mut members {
            match member {
                Member::Method(method) => block.method(method, errors),
                Member::Other(attrs, _) => {
                    for attribute in &attributes::take(attrs, &|attribute| helper(attribute).is_some()) {
                        errors.at(attribute, format!("`#[{}]` belongs on a method", role(attribute)));
                    }
                }
            }
        }
        block.check_names(errors);
        block.item.members = members;
        Some(block)
    }

    fn method(&mut self, method: &mut Method, errors: &mut Errors) {
        attributes::unfold(&mut method.attrs);
        Self::near_misses(method, errors);
        let mut roles = attributes::take_given(&mut method.attrs, &|attribute| helper(attribute).is_some());
        // Two under conditions may exclude each other. If they do not, rustc finds what they become twice.
        if let [first, second, ..] = roles.as_slice()
            && roles.iter().any(|role| role.cfg.is_none())
        {
            let second = &second.attribute;
            let (first, name) = (role(&first.attribute), role(second));
            let message = if first == name {
                format!("`#[{name}]` is given twice")
            } else {
                format!(
                    "a method has one role: this one is `#[{first}]` already, write another method for `#[{name}]`"
                )
            };
            errors.at(second, message);
            roles.truncate(1);
        }
        if roles.is_empty() {
            return;
        }
        // What a role asks of its methods is not the user's choice. The user's own attributes come after and prevail, or
        // an `#[expect]` of one of these would find nothing.
        let mut attrs = attributes::ours(quote!(
            #[allow(
                clippy::needless_pass_by_ref_mut,
                clippy::needless_pass_by_value,
                clippy::trivially_copy_pass_by_ref,
                clippy::unused_self
            )]
        ));
        attrs.append(&mut method.attrs);
        method.attrs = attrs;
        for Given { attribute, cfg } in roles {
            let mut attrs = method.attrs.clone();
            attrs.extend(cfg);
            self.role(&attribute, &attrs, &method.signature, errors);
        }
    }

    /// Reads a method as what `attribute` says it is. `attrs` are its other attributes.
    fn role(&mut self, attribute: &Attribute, attrs: &[Attribute], signature: &Signature, errors: &mut Errors) {
        let role = role(attribute);
        if role != "handler" && !matches!(attribute.meta, Meta::Path(_)) {
            errors.at(attribute, format!("`#[{role}]` takes no arguments"));
        }
        match (role.as_str(), HookKind::named(&role)) {
            ("handler", _) => {
                let handler = Handler::read(attribute, attrs, signature, &self.actor, errors);
                self.handlers.push(handler);
            }
            ("watch", _) => {
                if let Some(watch) = Watch::read(attrs, signature, errors) {
                    self.watches.push(watch);
                }
            }
            ("stash_while", _) => {
                if self.stash.is_some() {
                    errors.at(attribute, "an actor has one `#[stash_while]`: merge the two conditions");
                }
                self.stash = Stash::read(attrs, signature, &self.message, errors);
            }
            (_, Some(kind)) => {
                let cfgs = attributes::cfgs(attrs);
                for earlier in &self.hooks {
                    if earlier.kind == kind && (earlier.cfgs.is_empty() || cfgs.is_empty()) {
                        let message = format!(
                            "an actor has one `#[{role}]`, and `{}` is it already: merge the two",
                            earlier.ident
                        );
                        errors.at(attribute, message);
                        return;
                    }
                }
                let hook = Hook::read(kind, cfgs, signature, &self.message, errors);
                self.hooks.push(hook);
            }
            (_, None) => {}
        }
    }

    /// Attributes that are probably misspelled ones of ours. They are removed, or rustc would complain as well; a handler
    /// stays one, so that who calls it finds it.
    fn near_misses(method: &mut Method, errors: &mut Errors) {
        for attribute in &attributes::take(&mut method.attrs, &|attribute| near_miss(attribute).is_some()) {
            let Some(meant) = near_miss(attribute) else { continue };
            errors.at(attribute.path(), format!("unknown attribute: did you mean `#[{meant}]`?"));
            if meant == "handler" {
                method.attrs.extend(attributes::ours(quote!(#[handler])));
            }
        }
    }

    /// Two handlers must not become one message.
    fn check_names(&self, errors: &mut Errors) {
        for (at, handler) in self.handlers.iter().enumerate() {
            for earlier in &self.handlers[..at] {
                let together = earlier.cfgs.is_empty() || handler.cfgs.is_empty();
                if earlier.variant != handler.variant || !together {
                    continue;
                }
                // What is called the same, rustc reports.
                if earlier.ident != handler.ident {
                    let message = format!(
                        "`{}` and `{}` would both be the message `{}`: rename one",
                        earlier.ident, handler.ident, handler.variant
                    );
                    errors.at(&handler.ident, message);
                }
                break;
            }
        }
        for (at, watch) in self.watches.iter().enumerate() {
            for earlier in &self.watches[..at] {
                let together = earlier.cfgs.is_empty() || watch.cfgs.is_empty();
                if earlier.key() == watch.key() && together {
                    let message = format!("`{}` handles the same news already: merge the two", earlier.ident);
                    errors.at(&watch.ident, message);
                    break;
                }
            }
        }
    }
}

/// Refuses type parameters without any bound, and gives them theirs so that the rest compiles. Whether the bounds of others
/// are enough, only rustc knows.
fn bound_parameters(generics: &mut Generics, errors: &mut Errors) {
    let mut bound = Vec::new();
    if let Some(clause) = &generics.where_clause {
        for predicate in &clause.predicates {
            if let WherePredicate::Type(predicate) = predicate {
                bound.push(written(&predicate.bounded_ty));
            }
        }
    }
    let mut unbound = Vec::new();
    for parameter in generics.type_params() {
        if parameter.bounds.is_empty() && !bound.contains(&parameter.ident.to_string()) {
            unbound.push(parameter.ident.clone());
        }
    }
    for ty in unbound {
        let message =
            format!("an actor and its messages go to other threads and stay there: write `{ty}: Send + 'static`");
        errors.at(&ty, message);
        require(generics, quote!(#ty: ::core::marker::Send + 'static));
    }
}

fn role(attribute: &Attribute) -> String {
    match attribute.path().get_ident() {
        Some(name) => name.to_string(),
        None => String::new(),
    }
}

fn helper(attribute: &Attribute) -> Option<&'static str> {
    HELPERS.iter().find(|helper| attribute.path().is_ident(helper)).copied()
}

fn near_miss(attribute: &Attribute) -> Option<&'static str> {
    /// Close to ours by accident.
    const RUSTC: &[&str] =
        &["cold", "inline", "must_use", "test", "expect", "allow", "warn", "deny", "doc", "cfg"];
    let name = attribute.path().get_ident()?.to_string();
    if HELPERS.contains(&name.as_str()) || RUSTC.contains(&name.as_str()) {
        return None;
    }
    closest(&name, HELPERS)
}

/// What every method that we call must be.
pub(crate) fn check_signature(role: &str, signature: &Signature, errors: &mut Errors) {
    if !signature.generics.params.is_empty() {
        let message = format!(
            "a {role} has no generic parameters of its own: put them on the impl block, or write the types out"
        );
        errors.at(&signature.generics, message);
    }
    if let Some(clause) = &signature.generics.where_clause {
        errors.at(
            &clause.where_token,
            format!("a {role} has no `where` clause of its own: put it on the impl block"),
        );
    }
    if let syn::Safety::Unsafe(unsafety) = &signature.safety {
        errors.at(unsafety, format!("a {role} is called by the runtime and cannot be unsafe"));
    }
}
