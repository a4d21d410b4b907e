//! Reads `#[child(..)]` on fields.

mod borrowed;
mod pattern;

use heck::ToSnakeCase;
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{
    Attribute, Data, Expr, ExprClosure, Field, Fields, GenericArgument, LitInt, LitStr, Meta, PathArguments, Stmt,
    Type, Variant,
};

use crate::attributes::{self, Given};
use crate::declaration::is;
use crate::declaration::model::{Child, ChildKind};
use crate::errors::Errors;
use crate::grammar::Arguments;
use crate::grammar::arguments::ChildArguments;
use crate::settings::{Setting, shortened, written};
use crate::spans;
use crate::syntax::{self, bare};
use crate::value::{Value, value};

/// Takes the attributes off the fields and reads them.
pub(super) fn children(data: &mut Data, errors: &mut Errors) -> Vec<Child> {
    let fields = match data {
        Data::Struct(data) => match &mut data.fields {
            fields @ Fields::Named(_) => fields,
            fields => {
                check_given(fields, &|_, field| declare(field), errors);
                refuse(fields, &|_, field| named(field), errors);
                return Vec::new();
            }
        },
        Data::Enum(data) => {
            for variant in &mut data.variants {
                let Variant { ident, fields, .. } = variant;
                let others = fields.len() > 1;
                let mend = |at: usize, field: &Field| spawn(ident, at, others, field);
                check_given(fields, &mend, errors);
                refuse(fields, &mend, errors);
            }
            return Vec::new();
        }
        Data::Union(_) => return Vec::new(),
    };
    for field in fields.iter_mut() {
        attributes::correct(&mut field.attrs, "child", errors);
    }
    check_given(fields, &|_, field| declare(field), errors);
    let mut children = Vec::new();
    for field in fields.iter_mut() {
        let attributes = take(field, errors);
        let [attribute, rest @ ..] = attributes.as_slice() else { continue };
        if let Some(second) = rest.first() {
            errors.at(second, "a field declares one child: merge the settings that you need into the first `#[child(..)]`, and remove this one");
        }
        if let Some(child) = child(field, attribute, errors) {
            children.push(child);
        }
    }
    children
}

/// Takes each `#[child(given)]` off its field. Refuses a `Child<..>` without any `#[child]`, because nothing would fill it
/// in. `mend` gets the number of such a field and the field, and says what to do with it.
fn check_given(fields: &mut Fields, mend: &dyn Fn(usize, &Field) -> String, errors: &mut Errors) {
    for (at, field) in fields.iter_mut().enumerate() {
        attributes::unfold(&mut field.attrs);
        let given = attributes::take(&mut field.attrs, &is_given);
        let declared = field.attrs.iter().any(|attribute| is(&attributes::innermost(attribute), "child"));
        if let Some(given) = given.first() {
            if declared {
                errors.at(
                    given,
                    "a child is either declared here or given from outside: remove one of the two attributes",
                );
            }
            continue;
        }
        if !declared && actor_of(&field.ty).is_some() {
            let message = format!(
                "nothing fills in this child: {}\n\
                 or, if the constructor gets it from another actor's field, write `#[child(given)]` above the field",
                mend(at, field)
            );
            errors.at(&field.ty, message);
        }
    }
}

/// How to name a child's field.
fn named(field: &Field) -> String {
    let name = meant_actor(&field.ty).to_snake_case();
    let ty = written(&field.ty);
    format!(
        "a child takes its name from its field: write a struct with named fields, `{{ #[child(..)] {name}: {ty} }}` in place of \
         `(#[child(..)] {ty});`, and `self.{name}` to use it"
    )
}

/// How to declare the child in a struct's field.
fn declare(field: &Field) -> String {
    let actor = actor_of(&field.ty).unwrap_or_else(|| field.ty.clone());
    format!("write `#[child(|_| {})]` above the field to declare it{}", made(&actor), stands_for(&actor))
}

/// Explains the placeholder constructor of [`made`].
fn stands_for(actor: &Type) -> String {
    let inner = if pattern_of(actor).is_some() { first_argument(actor) } else { Some(actor) };
    let made = inner.map_or_else(|| "Worker::new()".to_owned(), constructed);
    let name = made.strip_suffix("::new()").unwrap_or(&made);
    format!(" (`{made}` stands for any expression that makes a `{name}`)")
}

/// What the closure of a child's declaration returns.
fn made(actor: &Type) -> String {
    let Some(pattern) = pattern_of(actor) else { return format!("|| {}", constructed(actor)) };
    let inner = first_argument(actor);
    let make = inner.map_or_else(|| "Worker::new()".to_owned(), constructed);
    match pattern.to_string().as_str() {
        "Pool" => format!("Pool::round_robin(4, || {make}).props()"),
        "BackoffSupervisor" => {
            format!(
                "BackoffSupervisor::on_failure(\"child\", || {make}, supervise::Backoff::exponential(std::time::Duration::from_secs(1), std::time::Duration::from_secs(60))).props()"
            )
        }
        _ => format!(
            "{pattern}::around(\"child\", || {make}, supervise::Backoff::exponential(std::time::Duration::from_secs(1), std::time::Duration::from_secs(60))).props()"
        ),
    }
}

/// The call of a constructor: a path in an expression has no type arguments.
fn constructed(actor: &Type) -> String {
    let mut actor = actor.clone();
    if let Type::Path(path) = &mut actor
        && let Some(last) = path.path.segments.last_mut()
    {
        last.arguments = PathArguments::None;
    }
    format!("{}::new()", written(&actor))
}

/// Refuses a factory that does not take what the runtime gives it: the key of a keyed child, and nothing otherwise.
fn check_factory(make: &ExprClosure, kind: &ChildKind, errors: &mut Errors) -> Option<()> {
    let Expr::Closure(factory) = last(&make.body) else {
        let is_read = make.inputs.len() == 1 && !matches!(kind, ChildKind::Pattern);
        return if is_read { check_instance(make, kind, errors) } else { Some(()) };
    };
    let body = shortened(&written(&factory.body), "..");
    let message = match (kind, factory.inputs.len()) {
        (ChildKind::Keyed(_), 1) | (ChildKind::Actor | ChildKind::Pattern, 0) => {
            return match borrowed::of_parent(make, factory) {
                None => Some(()),
                Some((span, message)) => {
                    errors.at_span(span, message);
                    None
                }
            };
        }
        (ChildKind::Keyed(key), _) => {
            let key = written(key);
            format!(
                "the factory of keyed children gets the child's key: write `|_| |_| {body}`, or `|_| |key: &{key}| {body}` if it uses the key"
            )
        }
        (ChildKind::Actor | ChildKind::Pattern, _) => format!(
            "the factory of a single child takes no parameters: write `|_| || {body}`, or `|this| || ..` if it uses the parent"
        ),
    };
    errors.at_span(spans::of(factory), message);
    None
}

/// Refuses the name or the fields of a struct in place of a factory.
fn check_instance(make: &ExprClosure, kind: &ChildKind, errors: &mut Errors) -> Option<()> {
    let instance = last(&make.body);
    let is_struct = match instance {
        Expr::Struct(_) => true,
        Expr::Path(path) => {
            path.path.segments.last().is_some_and(|last| last.ident.to_string().starts_with(char::is_uppercase))
        }
        _ => false,
    };
    if !is_struct {
        return Some(());
    }
    let factory = match kind {
        ChildKind::Keyed(key) => format!("|_: &{}|", written(key)),
        ChildKind::Actor | ChildKind::Pattern => "||".to_owned(),
    };
    let message = format!(
        "the closure of `#[child(..)]` returns a factory, another closure, which runs at each restart of the child: write `{factory} {}` \
         here",
        shortened(&written(instance), "..")
    );
    errors.at_span(spans::of(instance), message);
    None
}

/// The last expression of a block, or the expression itself.
fn last(expression: &Expr) -> &Expr {
    match expression {
        Expr::Block(block) => match block.block.stmts.last() {
            Some(Stmt::Expr(inner, None)) => last(inner),
            _ => expression,
        },
        Expr::Paren(inner) => last(&inner.expr),
        Expr::Group(inner) => last(&inner.expr),
        other => other,
    }
}

/// How to keep a child in the field with the number `at` of an enum's variant. `others`: the variant has further fields.
fn spawn(variant: &Ident, at: usize, others: bool, field: &Field) -> String {
    let mut actor = actor_of(&field.ty).unwrap_or_else(|| field.ty.clone());
    let (spawn, makes) = if pattern_of(&actor).is_some() { ("spawn_with", "..") } else { ("spawn", "|| ..") };
    if let Type::Path(path) = &mut actor
        && let Some(last) = path.path.segments.last_mut()
    {
        last.ident = format_ident!("{}Ref", last.ident);
    }
    let rest = if others { ", .." } else { "" };
    let (name, pattern) = match &field.ident {
        Some(name) => (name.to_string(), format!("{variant} {{ {name}{rest} }}")),
        None => ("child".to_owned(), format!("{variant}({}child{rest})", "_, ".repeat(at))),
    };
    format!(
        "only the fields of a struct can be children\n\
         make this field `Option<{}>`, which begins as `None`\n\
         fill it in `#[pre_start] fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError>`, by `if let Self::{pattern} = self {{ \
         *{name} = Some(ctx.{spawn}(\"{name}\", {makes})?); }}`",
        written(&actor)
    )
}

/// Whether `attribute` is `#[child(given)]`.
fn is_given(attribute: &Attribute) -> bool {
    is(attribute, "child") && matches!(&attribute.meta, Meta::List(list) if list.tokens.to_string() == "given")
}

fn refuse(fields: &mut Fields, mend: &dyn Fn(usize, &Field) -> String, errors: &mut Errors) {
    for (at, field) in fields.iter_mut().enumerate() {
        for attribute in &take(field, errors) {
            errors.at(attribute, mend(at, field));
        }
    }
}

/// Takes the `#[child]`s off a field.
fn take(field: &mut Field, errors: &mut Errors) -> Vec<Attribute> {
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

fn child(field: &Field, attribute: &Attribute, errors: &mut Errors) -> Option<Child> {
    let ident = field.ident.clone()?;
    let held = held(&field.ty);
    if held.is_none() {
        refuse_type(&ident, &field.ty, attribute, errors);
    }
    let tokens = match &attribute.meta {
        Meta::List(list) if !list.tokens.is_empty() => list.tokens.clone(),
        _ => {
            let (example, explained) = example(&field.ty, "");
            let message = format!("`#[child]` needs a closure that makes the child: write `{example}`{explained}");
            errors.at(attribute, message);
            return None;
        }
    };
    let (make, rest) = errors.keep(syntax::read(tokens, parts))?;
    let Some(make) = make else {
        let settings = written(&rest);
        let is_setting =
            settings.split_once('=').is_some_and(|(name, _)| syn::parse_str::<Ident>(name.trim()).is_ok());
        let (example, explained) = example(&field.ty, if is_setting { &settings } else { "" });
        let after = if is_setting { ", and settings after it" } else { "" };
        let message = format!("the closure that makes the child comes first{after}: write `{example}`{explained}");
        errors.at_span(spans::of(&rest), message);
        return None;
    };
    if let Some(waits) = awaited(make.body.to_token_stream()) {
        let message = "`.await` is not allowed in a factory: make the field an `Option`, start it as `None`, and fill it in the child's \
                       `#[pre_start] async fn begin(&mut self) -> Result<(), E>`";
        errors.at_span(waits, message);
        return None;
    }
    if make.inputs.len() != 1 {
        let factory = if let Expr::Closure(_) = &*make.body {
            written(&make.body)
        } else {
            format!("|| {}", written(&make.body))
        };
        let factory = shortened(&factory, "|| ..");
        let message = format!(
            "the first closure takes the parent, runs once for each of its instances, and returns the child's factory: write `|_| {factory}`, \
             or `|this| {factory}` if it uses the parent"
        );
        errors.at_span(spans::of(&make), message);
    }
    let (kind, actor) = held?;
    if let ChildKind::Actor = kind
        && let Some(message) = pattern::of_another_type(&make, &actor)
    {
        errors.at(&field.ty, message);
        return None;
    }
    check_factory(&make, &kind, errors)?;
    let (cfgs, arguments) = (attributes::cfgs(&field.attrs), ChildArguments::read(rest, errors));
    let child = Child { cfgs, kind, actor, make, arguments, field: ident };
    child.check_kind(errors);
    let name = child.field.unraw().to_string();
    if child.arguments.name.given().is_none() && !is_name(&name) {
        let message = format!("`{name}` cannot be the name of an actor: add `name = \"..\"`");
        errors.at_span(child.field.span(), message);
    }
    Some(child)
}

/// Refuses a field that is neither a `Child<..>` nor a `Children<.., ..>`.
fn refuse_type(field: &Ident, ty: &Type, attribute: &Attribute, errors: &mut Errors) {
    let meant = meant_actor(ty);
    let many =
        if is_collection(ty) { Some(("number", "usize".to_owned())) } else { key_of(ty).map(|key| ("key", key)) };
    let message = if let Some((by, key)) = many {
        let make = factory_of(attribute).unwrap_or_else(|| format!("{meant}::new()"));
        format!(
            "a field that holds many children has the type `Children<..>`: for children by {by}, write `#[child(|_| |_: &{key}| {make})] {field}: Children<{key}, {meant}>`, \
             which begins as `Children::default()`\n\
             `self.{field}.get_or_spawn({by})?` gives the `{meant}Ref` of one child and makes the child if \
             there is none, and `self.{field}.len()` counts them"
        )
    } else {
        format!(
            "the type of a child's field is `Child<..>`: write `{field}: Child<{meant}>`, which begins as `Child::default()`; \
             `self.{field}.actor()` gives its `{meant}Ref`"
        )
    };
    errors.at(ty, message);
}

/// What the factory in the attribute makes.
fn factory_of(attribute: &Attribute) -> Option<String> {
    let Meta::List(list) = &attribute.meta else { return None };
    let parts = |input: ParseStream<'_>| {
        let make: ExprClosure = input.parse()?;
        input.parse::<TokenStream>()?;
        Ok(make)
    };
    let make = syntax::read(list.tokens.clone(), parts).ok()?;
    let Expr::Closure(factory) = last(&make.body) else { return None };
    Some(shortened(&written(&factory.body), ".."))
}

/// The attribute for a field of this type with these settings, and an explanation of its placeholder.
fn example(ty: &Type, settings: &str) -> (String, String) {
    let settings = if settings.is_empty() { String::new() } else { format!(", {settings}") };
    if let Some((ChildKind::Keyed(key), actor)) = held(ty) {
        let factory = format!("|_| |_: &{}| {}", written(&*key), constructed(&actor));
        return (format!("#[child({factory}{settings})]"), stands_for(&actor));
    }
    let actor = actor_of(ty)
        .or_else(|| syntax::read(meant_actor(ty).parse().ok()?, Type::parse).ok())
        .unwrap_or_else(|| ty.clone());
    (format!("#[child(|_| {}{settings})]", made(&actor)), stands_for(&actor))
}

/// The place of the first `.await` outside `async` blocks and closures.
fn awaited(tokens: TokenStream) -> Option<Span> {
    let mut is_async = false;
    for token in tokens {
        match token {
            TokenTree::Ident(word) if word == "async" => is_async = true,
            TokenTree::Ident(word) if word == "await" && !is_async => return Some(word.span()),
            TokenTree::Group(group) if !is_async => {
                if let Some(found) = awaited(group.stream()) {
                    return Some(found);
                }
            }
            _ => {}
        }
    }
    None
}

/// What a field of this type holds, and the actor.
fn held(ty: &Type) -> Option<(ChildKind, Type)> {
    if let Some(actor) = actor_of(ty) {
        let kind = if pattern_of(&actor).is_some() { ChildKind::Pattern } else { ChildKind::Actor };
        return Some((kind, actor));
    }
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    let mut types = arguments.args.iter();
    match (types.next(), types.next(), types.next()) {
        (Some(GenericArgument::Type(key)), Some(GenericArgument::Type(actor)), None)
            if last.ident == "Children" =>
        {
            Some((ChildKind::Keyed(Box::new(key.clone())), actor.clone()))
        }
        _ => None,
    }
}

/// The `A` of `Child<A>`.
fn actor_of(ty: &Type) -> Option<Type> {
    let Type::Path(path) = bare(ty) else { return None };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(actor)) if last.ident == "Child" && arguments.args.len() == 1 => {
            Some(actor.clone())
        }
        _ => None,
    }
}

/// The name of the pattern, if the actor is one of `supervise::pattern`.
fn pattern_of(actor: &Type) -> Option<&Ident> {
    let Type::Path(path) = bare(actor) else { return None };
    let name = &path.path.segments.last()?.ident;
    is_pattern(name).then_some(name)
}

fn is_pattern(name: &Ident) -> bool {
    ["Pool", "BackoffSupervisor", "CircuitBreaker"].iter().any(|pattern| name == pattern)
}

/// The first type argument.
fn first_argument(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = bare(ty) else { return None };
    let PathArguments::AngleBracketed(arguments) = &path.path.segments.last()?.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(first)) => Some(first),
        _ => None,
    }
}

fn is_collection(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return matches!(ty, Type::Array(_)) };
    let names = ["Vec", "VecDeque", "HashSet", "Box"];
    path.path.segments.last().is_some_and(|last| names.iter().any(|name| last.ident == name))
}

/// The key of a map.
fn key_of(ty: &Type) -> Option<String> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match (arguments.args.first(), arguments.args.len()) {
        (Some(GenericArgument::Type(key)), 2) if last.ident == "HashMap" || last.ident == "BTreeMap" => {
            Some(written(key))
        }
        _ => None,
    }
}

/// The actor that the user probably means by a field of another type: `Feed` in `FeedRef`, `Option<FeedRef>`, `ActorRef<Feed>`.
fn meant_actor(ty: &Type) -> String {
    let segment = match ty {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    };
    let mut whole = written(ty);
    let Some(segment) = segment else { return whole };
    if let PathArguments::AngleBracketed(arguments) = &segment.arguments
        && !arguments.args.is_empty()
    {
        return match arguments.args.last() {
            Some(GenericArgument::Type(inner)) => meant_actor(inner),
            _ => whole,
        };
    }
    let name = segment.ident.to_string();
    if name.len() > "Ref".len() && name.ends_with("Ref") && whole.ends_with("Ref") {
        whole.truncate(whole.len() - "Ref".len());
    }
    whole
}

/// Reads the closure, if there is one, and leaves the arguments after it.
fn parts(input: ParseStream<'_>) -> syn::Result<(Option<ExprClosure>, TokenStream)> {
    let closure = input.peek(syn::Token![|]) || input.peek(syn::Token![||]) || input.peek(syn::Token![move]);
    if !closure {
        return Ok((None, input.parse()?));
    }
    let make = input.parse()?;
    if !input.is_empty() {
        <syn::Token![,]>::parse(input)?;
    }
    Ok((Some(make), input.parse()?))
}

/// Reads `limit = 10_000`.
pub(crate) fn limit(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<Value<usize>> {
    const EXPECTED: &str = "expected the number of children: `10_000`, a constant, or a setting of the actor such as \
                            `self.settings.children`";
    let number = |input: ParseStream<'_>| {
        let span = input.span();
        let number = input.parse::<LitInt>().map_err(|_| syn::Error::new(span, EXPECTED))?;
        match number.base10_parse() {
            Ok(0) => Err(syn::Error::new(
                number.span(),
                "a limit of 0 allows no child: write a number such as `limit = 10_000`, or remove `limit`",
            )),
            Ok(limit) => Ok(limit),
            Err(_) => Err(syn::Error::new(number.span(), EXPECTED)),
        }
    };
    value(setting, example, number)
}

/// Reads `name = "reader-1"`.
pub(crate) fn child_name(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<LitStr> {
    let name = setting.value(<LitStr as Parse>::parse, example)?;
    if is_name(&name.value()) {
        Ok(name)
    } else {
        let allowed = |c| if is_name(&String::from(c)) { c } else { '-' };
        let mut near: String = name.value().chars().map(allowed).collect();
        if near.is_empty() {
            near.push_str("reader-1");
        }
        let message = format!("a name consists of letters, digits, `-` and `_`: write one such as `\"{near}\"`");
        Err(syn::Error::new(name.span(), message))
    }
}

/// Whether `text` can be the name of an actor.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.*+:@&=,!~';".contains(c))
}
