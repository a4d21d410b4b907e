//! Reads `#[actor]` on an impl block into a [`Block`].

pub(crate) mod batch;
mod body;
mod concrete;
mod forgotten;
pub(crate) mod handler;
mod hook;
pub(crate) mod implements;
pub(crate) mod message;
mod of_trait;
mod own_type;
pub(crate) mod remote;
mod reply;
mod slot;
pub(crate) mod stored;
pub(crate) mod syntax;
pub(crate) mod types;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{
    Attribute, FnArg, GenericArgument, Generics, Meta, Path, ReturnType, Signature, Type, TypePath, WherePredicate,
};

use self::syntax::{Block as Syntax, Member, Method};
use super::model::Block;
use crate::attributes::{self, Given};
use crate::declaration::parse::{block_arguments, facade};
use crate::errors::Errors;
use crate::generics::require;
use crate::grammar::Word;
use crate::grammar::words::Role;
use crate::settings::{Setting, written};
use crate::spelling::{closest, listed};

/// Reads a block. Returns `None` if it does not say which actor it belongs to.
pub(crate) fn block(arguments: TokenStream, mut item: Syntax, errors: &mut Errors) -> Option<Block> {
    let before = errors.count();
    let arguments = block_arguments(arguments, errors);
    let has_mistakes = errors.count() > before;
    let krate = arguments.krate.value.unwrap_or_else(facade);
    let implements = arguments.implements.value.unwrap_or_default();
    let remote = arguments.remote;
    let given_remote = remote.given().cloned();
    let arguments = arguments.message.value.unwrap_or_default();
    if let Some((of_trait, _)) = &item.of_trait {
        of_trait::refuse(&item, of_trait, errors);
        return None;
    }
    let Type::Path(TypePath { qself: None, path, .. }) = &item.self_ty else {
        errors.at(&item.self_ty, "an actor is a struct or an enum: write `#[actor] impl Feed { .. }`");
        return None;
    };
    let name = path.segments.last()?.ident.clone();
    if refuse_lifetimes(path, errors) {
        return None;
    }
    let mut reference = path.clone();
    reference.segments.last_mut()?.ident = format_ident!("{}Ref", name);
    let actor = item.self_ty.clone();
    refuse_async_trait(&mut item, errors);
    let unsure = bound_parameters(&mut item.generics, errors);
    let mut members = std::mem::take(&mut item.members);
    let mut block = Block {
        krate,
        reference: Type::Path(TypePath { attrs: Vec::new(), qself: None, path: reference }),
        message_unknown: has_mistakes && arguments.name.value.is_none(),
        message: arguments.name.value.clone().unwrap_or_else(|| format_ident!("{}Message", name)),
        arguments,
        mistakes: format_ident!("mistakes_in_{}", name, span = Span::mixed_site()),
        generics: item.generics.clone(),
        unsure,
        cfgs: attributes::cfgs(&item.attrs),
        implements,
        remote: remote.value,
        handlers: Vec::new(),
        hooks: Vec::new(),
        watches: Vec::new(),
        watches_unknown: false,
        keeps_replies: false,
        stash: None,
        name,
        actor,
        item,
    };
    let mut words = Words::default();
    for member in &mut members {
        match member {
            Member::Method(method) => {
                let (handlers, mistakes) = (block.handlers.len(), errors.count());
                read_method(&mut block, method, errors);
                let mut body = Vec::new();
                collect(method.body.to_token_stream(), &mut body);
                body::check(&block.krate, &block.message, method, &body, errors);
                if block.handlers.len() > handlers && errors.count() == mistakes {
                    slot::check(method, errors);
                }
                words.in_bodies.append(&mut body);
                collect_signature(&method.signature, &mut words.elsewhere);
            }
            Member::Other(attrs, tokens) => {
                for attribute in &attributes::take(attrs, &|attribute| role(attribute).is_some()) {
                    let name = written(attribute.path());
                    errors.at(
                        attribute,
                        format!(
                            "`#[{name}]` belongs on a method: remove it here, or write a method in place of this"
                        ),
                    );
                }
                collect(tokens.clone(), &mut words.elsewhere);
            }
        }
    }
    for member in &members {
        if let Member::Method(method) = member
            && !method.has_role
        {
            forgotten::check(&block, &method.signature, errors);
        }
    }
    let takes_context = |member: &Member| match member {
        Member::Method(method) => mentions(method.signature.inputs.to_token_stream(), "Context"),
        Member::Other(..) => false,
    };
    if !block.unsure.is_empty() && members.iter().any(takes_context) {
        block.item.generics = block.sendable();
    }
    refuse_generic_remote(&mut block, given_remote.as_ref(), errors);
    block.keeps_replies = words.contains(handler::SLOT);
    refuse_watched_refs(&mut block, &words, errors);
    own_type::check(&mut block, &members, &words, errors);
    block.check(errors);
    name_contexts(&block.krate, &words, &mut members);
    allow_what_roles_require(&mut block.item.attrs, &mut members);
    block.item.members = members;
    Some(block)
}

/// Refuses `remote` on a block with parameters.
fn refuse_generic_remote(block: &mut Block, given: Option<&Setting>, errors: &mut Errors) {
    if block.remote.is_none() || block.generics.params.is_empty() {
        return;
    }
    let message = "a generic actor cannot be `remote`, because its name on the wire would stand for many types: remove `remote` if no other machine sends to \
                   this actor, or else remove the parameters, and write a type in their place";
    match given {
        Some(given) => errors.add(given.error(message)),
        None => errors.at(&block.generics.params, message),
    }
    block.remote = None;
}

/// Refuses `Feed<'a>`, because rustc reports such a lifetime in everything that is generated.
fn refuse_lifetimes(actor: &Path, errors: &mut Errors) -> bool {
    let before = errors.count();
    types::each_argument(actor, &mut |argument| {
        if let GenericArgument::Lifetime(lifetime) = argument
            && lifetime.ident != "static"
        {
            let message = "an actor outlives the code that spawns it and cannot borrow: remove this lifetime, here and from the type";
            errors.at(lifetime, message);
        }
    });
    errors.count() > before
}

/// Refuses `#[async_trait]` below `#[actor]`, and leaves it out.
fn refuse_async_trait(item: &mut Syntax, errors: &mut Errors) {
    let is_async_trait = |attribute: &Attribute| {
        attribute.path().segments.last().is_some_and(|segment| segment.ident == "async_trait")
    };
    for attribute in &attributes::take(&mut item.attrs, &is_async_trait) {
        errors.at(attribute, "the methods of an actor may be `async` without `#[async_trait]`: remove it");
    }
}

/// Refuses `Terminated<PlayerRef>` if the block mentions a `Player`, which is then probably the actor that
/// the user means.
fn refuse_watched_refs(block: &mut Block, words: &Words, errors: &mut Errors) {
    let mut refused = false;
    for watch in &block.watches {
        let Some(subject) = &watch.subject else { continue };
        let name = types::last_segment(subject).map_or_else(String::new, |(name, _)| name);
        let Some(actor) = name.strip_suffix("Ref") else { continue };
        if words.contains(actor) {
            let message =
                format!("a `#[watch]` method names the actor and not its ref: write `gone: Terminated<{actor}>`");
            errors.at(subject, message);
            refused = true;
        }
    }
    if refused {
        // The user may mean any actor.
        block.watches_unknown = true;
        block.watches.clear();
    }
}

/// In a block whose bodies call a method of `anyhow::Context`, that trait may hide our context.
fn name_contexts(krate: &Path, words: &Words, members: &mut [Member]) {
    if !words.in_bodies.iter().any(|word| word == "context" || word == "with_context") {
        return;
    }
    for member in members {
        if let Member::Method(method) = member {
            types::name_context(&mut method.signature, krate);
        }
    }
}

/// The words in a block, read once, because macros are built without optimization. For the same reason they are not in a set.
#[derive(Default)]
struct Words {
    in_bodies: Vec<String>,
    /// Those of signatures and of other members, without names of parameters.
    elsewhere: Vec<String>,
}

impl Words {
    fn contains(&self, word: &str) -> bool {
        has(&self.in_bodies, word) || has(&self.elsewhere, word)
    }
}

fn has(words: &[String], word: &str) -> bool {
    words.iter().any(|own| own == word)
}

fn collect(tokens: TokenStream, words: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(word) => words.push(word.to_string()),
            TokenTree::Group(group) => collect(group.stream(), words),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

fn collect_signature(signature: &Signature, words: &mut Vec<String>) {
    for input in &signature.inputs {
        if let FnArg::Typed(input) = input {
            collect_type(&input.ty, words);
        }
    }
    if let ReturnType::Type(_, ty) = &signature.output {
        collect_type(ty, words);
    }
    collect(signature.generics.to_token_stream(), words);
    collect(signature.generics.where_clause.to_token_stream(), words);
}

fn collect_type(ty: &Type, words: &mut Vec<String>) {
    match ty {
        Type::Path(TypePath { qself: None, path, .. }) if path.get_ident().is_some() => {
            words.extend(path.get_ident().map(Ident::to_string));
        }
        ty => collect(ty.to_token_stream(), words),
    }
}

fn mentions(tokens: TokenStream, word: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == word,
        TokenTree::Group(group) => mentions(group.stream(), word),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// If exactly one of two attributes has a condition: the attribute without one, and the condition of the other.
fn always_and_under<'g>(first: &'g Given, second: &'g Given) -> Option<(&'g Given, String)> {
    let (always, cfg) = match (&first.cfg, &second.cfg) {
        (None, Some(cfg)) => (first, cfg),
        (Some(cfg), None) => (second, cfg),
        _ => return None,
    };
    Some((always, cfg.meta.require_list().ok()?.tokens.to_string()))
}

fn read_method(block: &mut Block, method: &mut Method, errors: &mut Errors) {
    attributes::unfold(&mut method.attrs);
    correct_attributes(method, errors);
    let mut roles = attributes::take_given(&mut method.attrs, &|attribute| role(attribute).is_some());
    // The conditions of two conditional roles may exclude each other. If they do not, rustc reports duplicate definitions.
    if let [first, second, ..] = roles.as_slice()
        && roles.iter().any(|role| role.cfg.is_none())
    {
        let (name, second_name) = (written(first.attribute.path()), written(second.attribute.path()));
        let (at, message) = if name != second_name {
            let message = format!(
                "a method cannot be both `#[{name}]` and `#[{second_name}]`: write two methods, of which one may call the other"
            );
            (second, message)
        } else if let Some((always, condition)) = always_and_under(first, second) {
            let arguments = if always.attribute.meta.require_path_only().is_ok() { "" } else { "(..)" };
            let message = format!(
                "`#[{name}]` is given twice where `{condition}` holds: write `#[cfg_attr(not({condition}), {name}{arguments})]`"
            );
            (always, message)
        } else {
            let message = format!(
                "`#[{name}]` is given twice: remove this one, or the one above if it has the wrong settings"
            );
            (second, message)
        };
        errors.at(&at.attribute, message);
        roles.truncate(1);
    }
    if roles.is_empty() {
        return;
    }
    method.has_role = true;
    types::complete(&mut method.signature, &block.mistakes, errors);
    for Given { attribute, cfg } in roles {
        let mut attrs = method.attrs.clone();
        attrs.extend(cfg);
        read_role(block, &attribute, &attrs, &method.signature, errors);
    }
}

/// Allows what some lints of clippy complain about although the roles of methods require it. The user's own attributes come later and
/// take precedence. Otherwise the user's `#[expect]` of one of these lints would remain unfulfilled.
fn allow_what_roles_require(block: &mut Vec<Attribute>, members: &mut [Member]) {
    const LEVELS: &[&str] = &["allow", "cfg_attr", "deny", "expect", "forbid", "warn"];
    let allow = attributes::ours(quote!(
        #[allow(
            clippy::needless_pass_by_ref_mut,
            clippy::needless_pass_by_value,
            clippy::trivially_copy_pass_by_ref,
            clippy::unused_self
        )]
    ));
    // Once for all, if nothing else is in the block: rustc takes long to look a lint of clippy up.
    let all_have_roles = members.iter().all(|member| matches!(member, Member::Method(method) if method.has_role));
    let has_level = |attribute: &Attribute| LEVELS.iter().any(|level| attribute.path().is_ident(level));
    if all_have_roles && !block.iter().any(has_level) {
        if !members.is_empty() {
            block.splice(0..0, allow);
        }
        return;
    }
    for member in members {
        if let Member::Method(method) = member
            && method.has_role
        {
            method.attrs.splice(0..0, allow.iter().cloned());
        }
    }
}

/// Reads a method in the role that `attribute` gives it. `attrs` are its other attributes.
fn read_role(
    block: &mut Block,
    attribute: &Attribute,
    attrs: &[Attribute],
    signature: &Signature,
    errors: &mut Errors,
) {
    let Some(role) = role(attribute) else { return };
    if role != Role::Handler && !matches!(attribute.meta, Meta::Path(_)) {
        errors.at(attribute, format!("`#[{}]` takes no arguments", role.word()));
    }
    if let Some(kind) = role.hook() {
        if let Some(hook) = hook::hook(kind, attrs, signature, block, errors) {
            block.add_hook(hook, attribute, errors);
        }
        return;
    }
    match role {
        Role::Watch => match hook::watch(attrs, signature, errors) {
            Some(watch) => block.watches.push(watch),
            None => block.watches_unknown = true,
        },
        Role::StashWhile => {
            if let Some(earlier) = &block.stash {
                let message = format!(
                    "`{}` is already the `#[stash_while]` method: add this condition to it with `||`, and remove `{}`",
                    earlier.ident, signature.ident
                );
                errors.at(attribute, message);
            }
            block.stash = hook::stash(attrs, signature, &block.message, errors);
        }
        _ => {
            let mut handler =
                handler::handler(attribute, attrs, signature, (&block.actor, &block.mistakes), errors);
            reply::check(&mut handler, &block.generics, errors);
            block.handlers.push(handler);
        }
    }
}

/// Replaces misspelled attributes of ours by what the user probably means. rustc would report the misspelled ones too.
fn correct_attributes(method: &mut Method, errors: &mut Errors) {
    for attribute in &attributes::take(&mut method.attrs, &|attribute| near_miss(attribute).is_some()) {
        let Some(meant) = near_miss(attribute) else { continue };
        errors.at(attribute.path(), format!("unknown attribute: did you mean `#[{meant}]`?"));
        let span = attribute.path().span();
        let meant = Ident::new(meant, span);
        let arguments = match &attribute.meta {
            Meta::List(list) => {
                let arguments = &list.tokens;
                quote!((#arguments))
            }
            Meta::Path(_) | Meta::NameValue(_) => TokenStream::new(),
        };
        method.attrs.extend(attributes::ours(quote_spanned!(span=> #[#meant #arguments])));
    }
}

/// Refuses type parameters without any bound, and adds the bounds so that the rest compiles. Returns those of which only rustc knows
/// whether their bounds suffice.
fn bound_parameters(generics: &mut Generics, errors: &mut Errors) -> Vec<Ident> {
    let (mut unbound, mut unsure) = (Vec::new(), Vec::new());
    for parameter in generics.type_params() {
        let mut bounds: Vec<String> = parameter.bounds.iter().map(|bound| written(bound)).collect();
        if let Some(clause) = &generics.where_clause {
            for predicate in &clause.predicates {
                if let WherePredicate::Type(predicate) = predicate
                    && parameter.ident == written(&predicate.bounded_ty)
                {
                    bounds.extend(predicate.bounds.iter().map(|bound| written(bound)));
                }
            }
        }
        let is_send = bounds.iter().any(|bound| bound == "Send" || bound.ends_with("::Send"));
        if bounds.is_empty() {
            unbound.push(parameter.ident.clone());
        } else if !is_send || !bounds.iter().any(|bound| bound == "'static") {
            unsure.push(parameter.ident.clone());
        }
    }
    for ty in unbound {
        let message = format!("an actor and its messages move between threads: write `{ty}: Send + 'static`");
        errors.at(&ty, message);
        require(generics, quote!(#ty: ::core::marker::Send + 'static));
    }
    unsure
}

fn role(attribute: &Attribute) -> Option<Role> {
    Role::named(&attribute.path().get_ident()?.to_string())
}

fn near_miss(attribute: &Attribute) -> Option<&'static str> {
    /// Attributes of rustc that are close to ours by accident.
    const RUSTC: &[&str] =
        &["cold", "inline", "must_use", "test", "expect", "allow", "warn", "deny", "doc", "cfg"];
    let name = attribute.path().get_ident()?.to_string();
    if Role::named(&name).is_some() || RUSTC.contains(&name.as_str()) {
        return None;
    }
    closest(&name, Role::WORDS)
}

/// Refuses methods that the runtime cannot call.
fn check_signature(role: &str, signature: &Signature, errors: &mut Errors) {
    if let Some(clause) = &signature.generics.where_clause {
        let message = format!("a {role} cannot have a `where` clause: put it on the impl block");
        errors.at(&clause.where_token, message);
    }
    if let syn::Safety::Unsafe(unsafety) = &signature.safety {
        errors.at(unsafety, format!("a {role} cannot be unsafe, because the runtime calls it: remove `unsafe`"));
    }
    let generics = &signature.generics;
    if generics.params.is_empty() {
        return;
    }
    let message = if generics.lifetimes().count() == generics.params.len() {
        format!(
            "a {role} cannot borrow for a lifetime of its own: remove `{}`, and take owned values",
            written(generics)
        )
    } else {
        let mut names = Vec::new();
        for parameter in generics.type_params() {
            names.push(parameter.ident.to_string());
        }
        let inputs = signature.inputs.to_token_stream();
        let used: Vec<&str> =
            names.iter().map(String::as_str).filter(|name| mentions(inputs.clone(), name)).collect();
        let mend = match used.as_slice() {
            [] => ", which the parameters do not use".to_owned(),
            used => format!(", and write a type that the callers have in place of {}", listed(used)),
        };
        format!(
            "a {role} cannot have generic parameters, because it has one kind of message: remove `{}`{mend}",
            written(generics).replace(" : ", ": ")
        )
    };
    errors.at(generics, message);
}
