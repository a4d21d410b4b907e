//! `#[child(..)]` fields: what they say, what can be wrong with that as far as words go, and the two members of
//! `impl Supervisor` they become.

use std::time::Duration;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Data, ExprClosure, Field, Fields, GenericArgument, LitStr, Meta, Path, PathArguments, Type};

use super::is;
use crate::attributes::{self, Given};
use crate::duration::{self, positive, spoken};
use crate::errors::{Errors, unknown};
use crate::settings::{self, Setting, written};
use crate::spans;
use crate::supervise::strategy::Strategy;
use crate::syntax;

const OPTIONS: &[&str] = &["restart", "stop_timeout", "significant", "name"];
const EXAMPLE: &str = "`#[child(|this| || Reader::new())] reader: Child<Reader>`";

/// One declared child.
pub(crate) struct Child {
    field: Ident,
    cfgs: TokenStream,
    /// What `Child<..>` is given.
    actor: Type,
    name: String,
    make: ExprClosure,
    restart: Restart,
    stop_timeout: Option<Duration>,
    significant: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Restart {
    Transient,
    Permanent,
    Temporary,
}

impl Restart {
    fn name(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Permanent => "permanent",
            Self::Temporary => "temporary",
        }
    }
}

/// Takes the attributes off the fields and reads them.
pub(crate) fn read(data: &mut Data, strategy: &Strategy, errors: &mut Errors) -> Vec<Child> {
    let fields = match data {
        Data::Struct(data) => match &mut data.fields {
            fields @ Fields::Named(_) => fields,
            fields => {
                refuse(fields, "a child is named after its field: give the struct named fields", errors);
                return Vec::new();
            }
        },
        Data::Enum(data) => {
            let mend = "only a struct declares children on its fields: an enum spawns them in `#[pre_start]`";
            for variant in &mut data.variants {
                refuse(&mut variant.fields, mend, errors);
            }
            return Vec::new();
        }
        Data::Union(_) => return Vec::new(),
    };
    let mut names = Vec::new();
    let mut children = Vec::new();
    for field in fields.iter_mut() {
        let attributes = taken(field, errors);
        let [attribute, rest @ ..] = attributes.as_slice() else { continue };
        if let Some(second) = rest.first() {
            errors.at(second, "a field has one child: merge this `#[child(..)]` into the first");
        }
        if let Some(child) = child(field, attribute, strategy, &mut names, errors) {
            children.push(child);
        }
    }
    children
}

fn refuse(fields: &mut Fields, mend: &str, errors: &mut Errors) {
    for field in fields.iter_mut() {
        for attribute in &taken(field, errors) {
            errors.at(attribute, mend);
        }
    }
}

/// Takes the `#[child]`s of a field.
fn taken(field: &mut Field, errors: &mut Errors) -> Vec<Attribute> {
    attributes::unfold(&mut field.attrs);
    let mut taken = Vec::new();
    for Given { attribute, cfg } in attributes::take_given(&mut field.attrs, &|attribute| is(attribute, "child")) {
        if cfg.is_some() {
            let message = "a field that is a child in some builds cannot be used in the others: \
                           put `#[cfg]` on the field, and write `#[child(..)]` without a condition";
            errors.at(&attribute, message);
        }
        taken.push(attribute);
    }
    taken
}

fn child(
    field: &Field,
    attribute: &Attribute,
    strategy: &Strategy,
    names: &mut Vec<String>,
    errors: &mut Errors,
) -> Option<Child> {
    let ident = field.ident.clone()?;
    let actor = actor_of(&field.ty);
    if actor.is_none() {
        let message = format!(
            "a declared child is reached through a `Child<..>`: write `{ident}: Child<{}>`",
            meant_actor(&field.ty)
        );
        errors.at(&field.ty, message);
    }
    let Meta::List(list) = &attribute.meta else {
        errors.at(attribute, format!("`#[child]` says how the child is made: {EXAMPLE}"));
        return None;
    };
    if list.tokens.is_empty() {
        errors.at(attribute, format!("`#[child]` says how the child is made: {EXAMPLE}"));
        return None;
    }
    let (make, rest) = errors.keep(syntax::read(list.tokens.clone(), parts))?;
    if make.inputs.len() != 1 {
        let message = "the first closure takes the parent, runs once for each of its instances, and returns the child's \
                       factory: write `|this| || Reader::new()`, or `|_| ..` where the parent is not needed";
        errors.at_span(spans::of(&make), message);
    }
    let options = Options::read(rest, errors);
    options.check(strategy, errors);
    let (name, at) = match &options.name {
        Some(name) => (name.value(), name.span()),
        None => (ident.unraw().to_string(), ident.span()),
    };
    if options.name.is_none() && !is_name(&name) {
        errors.at_span(at, format!("`{name}` cannot be the name of an actor: add `name = \"..\"`"));
    }
    if names.contains(&name) {
        let message =
            format!("another child is called `{name}`: give this one a name of its own, `name = \"..\"`");
        errors.at_span(at, message);
    }
    names.push(name.clone());
    Some(Child {
        field: ident,
        cfgs: attributes::cfgs(&field.attrs),
        actor: actor?,
        name,
        make,
        restart: options.restart.unwrap_or(Restart::Transient),
        stop_timeout: options.stop_timeout,
        significant: options.significant.is_some(),
    })
}

/// `A`, if the type is spelled `Child<A>`.
fn actor_of(ty: &Type) -> Option<Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(actor)) if last.ident == "Child" && arguments.args.len() == 1 => {
            Some(actor.clone())
        }
        _ => None,
    }
}

/// The actor that a field of another type probably stands for: that of `FeedRef`, `Option<FeedRef>`, `ActorRef<Feed>`.
fn meant_actor(ty: &Type) -> String {
    let segment = match ty {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    };
    let mut whole = written(ty);
    if let Some(segment) = segment {
        if let PathArguments::AngleBracketed(arguments) = &segment.arguments
            && arguments.args.len() == 1
        {
            return match arguments.args.first() {
                Some(GenericArgument::Type(inner)) => meant_actor(inner),
                _ => whole,
            };
        }
        let name = segment.ident.to_string();
        if name.len() > 3 && name.ends_with("Ref") && whole.ends_with("Ref") {
            whole.truncate(whole.len() - 3);
        }
    }
    whole
}

/// The closure, and the options behind it.
fn parts(input: ParseStream<'_>) -> syn::Result<(ExprClosure, TokenStream)> {
    let closure = input.peek(syn::Token![|]) || input.peek(syn::Token![||]) || input.peek(syn::Token![move]);
    if !closure {
        let message = format!("how the child is made comes first, a closure that returns its factory: {EXAMPLE}");
        return Err(input.error(message));
    }
    let make = input.parse()?;
    if !input.is_empty() {
        <syn::Token![,]>::parse(input)?;
    }
    Ok((make, input.parse()?))
}

#[derive(Default)]
struct Options {
    name: Option<LitStr>,
    restart: Option<Restart>,
    stop_timeout: Option<Duration>,
    significant: Option<Span>,
}

impl Options {
    fn read(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        for option in &settings::parse_once(tokens, errors) {
            match option.name.to_string().as_str() {
                "restart" => options.restart = errors.keep(restart(option)),
                "stop_timeout" => {
                    options.stop_timeout = errors.keep(option.value_by(positive, "\"2s\""));
                }
                "significant" => options.significant = errors.keep(flag(option)),
                "name" => options.name = errors.keep(name(option)),
                _ => errors.add(unknown("option of `#[child]`", &option.name, OPTIONS)),
            }
        }
        options
    }

    fn check(&self, strategy: &Strategy, errors: &mut Errors) {
        let Some(significant) = self.significant else { return };
        if self.restart == Some(Restart::Permanent) {
            let message = "a permanent child never ends for good, so its end cannot be significant: remove \
                           `significant`, or write `restart = transient`";
            errors.at_span(significant, message);
        } else if !strategy.shuts_down() {
            let message = format!(
                "the end of this child would mean nothing: add `#[supervise({}(auto_shutdown = any_significant))]` to \
                 the parent, or remove `significant`",
                strategy.scope()
            );
            errors.at_span(significant, message);
        }
    }
}

fn restart(option: &Setting) -> syn::Result<Restart> {
    let word: Ident = option.value("transient | permanent | temporary")?;
    match word.to_string().as_str() {
        "transient" => Ok(Restart::Transient),
        "permanent" => Ok(Restart::Permanent),
        "temporary" => Ok(Restart::Temporary),
        _ => Err(unknown("restart type", &word, &["transient", "permanent", "temporary"])),
    }
}

fn flag(option: &Setting) -> syn::Result<Span> {
    option.flag()?;
    Ok(option.span())
}

fn name(option: &Setting) -> syn::Result<LitStr> {
    let name: LitStr = option.value("\"reader-1\"")?;
    if !is_name(&name.value()) {
        let message = "a name is made of letters, digits, `-` and `_`, such as `\"reader-1\"`";
        return Err(syn::Error::new(name.span(), message));
    }
    Ok(name)
}

/// Whether an actor may be called so.
fn is_name(text: &str) -> bool {
    for c in text.chars() {
        if !c.is_ascii_alphanumeric() && !"-_.*+:@&=,!~';".contains(c) {
            return false;
        }
    }
    !text.is_empty()
}

// ---- expansion ------------------------------------------------------------------------------------------------------

/// The members of `impl Supervisor` that come from the fields. Nothing, where there are none.
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

        fn declare_child(&mut self, name: &'static str, declare: #krate::Declare<'_, Self>) {
            match name {
                #arms
                _ => {}
            }
        }
    }
}

fn spec(child: &Child, krate: &Path) -> TokenStream {
    let Child { name, cfgs, .. } = child;
    let mixed = Span::mixed_site();
    let mut calls = match child.restart {
        Restart::Transient => TokenStream::new(),
        Restart::Permanent => quote_spanned!(mixed=> .restart(#krate::RestartType::Permanent)),
        Restart::Temporary => quote_spanned!(mixed=> .restart(#krate::RestartType::Temporary)),
    };
    if let Some(timeout) = child.stop_timeout {
        let timeout = duration::expression(timeout);
        calls.extend(quote_spanned!(mixed=> .stop_timeout(#timeout)));
    }
    if child.significant {
        calls.extend(quote_spanned!(mixed=> .significant()));
    }
    quote_spanned!(mixed=> #cfgs #krate::ChildSpec::new(#name)#calls,)
}

fn actor_type(child: &Child, krate: &Path) -> TokenStream {
    let Child { actor, cfgs, .. } = child;
    let at_type = Span::mixed_site().located_at(spans::of(actor));
    let types = spans::path_at(krate, at_type);
    quote_spanned!(at_type=> #cfgs #types::__private::TypeOf::<#actor>::ACTOR,)
}

fn arm(child: &Child, krate: &Path) -> TokenStream {
    let Child { name, field, actor, make, cfgs, .. } = child;
    let mixed = Span::mixed_site();
    // What is no factory is reported at the closure; an undecided failure, or what is no actor, at the type.
    let (at_closure, at_type) = (mixed.located_at(spans::of(make)), mixed.located_at(spans::of(actor)));
    let (closures, types) = (spans::path_at(krate, at_closure), spans::path_at(krate, at_type));
    let mut field = field.clone();
    field.set_span(mixed.located_at(field.span()));
    let factory = quote_spanned!(at_closure=> let factory = #closures::__private::factory(self, #make););
    let declared = quote_spanned! {at_type=>
        #types::__private::declare(declare, self, |this| &mut this.#field, factory);
    };
    quote_spanned! {mixed=>
        #cfgs
        #name => {
            #factory
            #declared
        }
    }
}

/// The children as a part of the documentation.
pub(crate) fn documentation(children: &[Child]) -> Option<String> {
    if children.is_empty() {
        return None;
    }
    let mut table = "# Children\n\n| name | actor | |\n|---|---|---|".to_owned();
    for child in children {
        let restart = child.restart.name();
        let significant = if child.significant { ", significant" } else { "" };
        let stop = match child.stop_timeout {
            Some(timeout) => format!(", stops within {}", spoken(timeout)),
            None => String::new(),
        };
        let Child { name, actor, .. } = child;
        let row = format!("\n| `{name}` | `{}` | {restart}{significant}{stop} |", written(actor));
        table.push_str(&row);
    }
    Some(table)
}
