//! Mistakes in the bodies of methods that rustc reports without saying what to write: a context that is not a parameter, methods of
//! the context by another one's name, and `self` in what outlives the method.
//!
//! Bodies are looked at as tokens. What is refused here never compiles.

use heck::ToSnakeCase;
use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{FnArg, Pat, Path, ReturnType, Signature};

use super::syntax::Method;
use super::types::is_context;
use super::{has, mentions};
use crate::attributes;
use crate::errors::Errors;
use crate::settings::{shortened, split, written};
use crate::spelling::joined;
use crate::value::this;

/// Refuses mistakes in the method's body, and mends them where it can, so that rustc does not report them as well.
/// `words` are those of the body.
pub(super) fn check(krate: &Path, message: &Ident, method: &mut Method, words: &[String], errors: &mut Errors) {
    let TokenTree::Group(body) = &method.body else { return };
    let parameter = context(&method.signature);
    let is_named = parameter.is_some();
    let context = parameter.unwrap_or_else(|| "ctx".to_owned());
    if !has(words, &context) && !has(words, "spawn") {
        return;
    }
    let is_parameter = is_named || mentions(method.signature.inputs.to_token_stream(), &context);
    let mut uses = Uses { context: &context, first: None, may_bind: false };
    uses.look(&body.stream(), false);
    if !uses.may_bind
        && !is_parameter
        && method.signature.receiver().is_some()
        && let Some(place) = uses.first
    {
        errors.at_span(place, no_context(&method.signature));
        let context = Ident::new(&context, place);
        let mut mended = quote_spanned! {Span::mixed_site()=>
            let #context: &mut #krate::Context<Self> = ::core::unreachable!();
        };
        mended.extend(body.stream());
        method.body = with_content(body, mended);
        method.attrs.extend(attributes::ours(quote!(#[allow(unreachable_code, unused_variables)])));
        return;
    }
    let message = &message.to_string();
    let context = if uses.may_bind { None } else { Some(context.as_str()) };
    let parameter = if is_parameter {
        String::new()
    } else {
        format!(", with the context among the parameters, {}", with_context(&method.signature))
    };
    let mut calls = Calls {
        krate,
        context,
        message,
        parameter: &parameter,
        arguments: None,
        is_dead: false,
        lost: false,
        errors,
    };
    let corrected = calls.correct(body.stream());
    if calls.is_dead {
        let mut dead = quote_spanned!(Span::mixed_site()=> ::core::unreachable!(););
        dead.extend(corrected.unwrap_or_else(|| body.stream()));
        method.body = with_content(body, dead);
        method.attrs.extend(attributes::ours(quote!(#[allow(unreachable_code, unused_variables)])));
    } else if let Some(corrected) = corrected {
        method.body = with_content(body, corrected);
        if calls.lost {
            method.attrs.extend(attributes::ours(quote!(#[allow(unused_variables)])));
        }
    }
}

/// The name of the context, if it is a parameter of the method.
fn context(signature: &Signature) -> Option<String> {
    for input in &signature.inputs {
        if let FnArg::Typed(input) = input
            && let (true, Pat::Ident(name)) = (is_context(&input.ty), &*input.pat)
            && !name.ident.to_string().starts_with('_')
        {
            return Some(name.ident.to_string());
        }
    }
    None
}

fn no_context(signature: &Signature) -> String {
    let name = &signature.ident;
    for input in &signature.inputs {
        if let FnArg::Typed(typed) = input
            && is_context(&typed.ty)
        {
            return format!(
                "the context is called `{0}` in `{name}`: write `ctx: {1}` in place of `{0}: {1}`",
                written(&typed.pat),
                written(&typed.ty)
            );
        }
    }
    format!("`{name}` does not take the context: write {}", with_context(signature))
}

/// The method's signature with the context.
fn with_context(signature: &Signature) -> String {
    let is_other = |input: &&FnArg| !matches!(input, FnArg::Typed(typed) if is_context(&typed.ty));
    let mut inputs: Vec<String> =
        signature.inputs.iter().filter(is_other).map(|input| written(input).replace(" : ", ": ")).collect();
    inputs.push("ctx: &mut Context<Self>".to_owned());
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let asyncness = if signature.asyncness.is_some() { "async " } else { "" };
    let returns = match &signature.output {
        ReturnType::Default => String::new(),
        ReturnType::Type(_, ty) => format!(" -> {}", shortened(&written(ty), "..")),
    };
    format!("`{asyncness}fn {}({}){returns}`", signature.ident, joined(&inputs, ", "))
}

fn with_content(group: &Group, content: TokenStream) -> TokenTree {
    let mut new = Group::new(group.delimiter(), content);
    new.set_span(group.span());
    new.into()
}

fn is(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

fn is_word(token: Option<&TokenTree>, word: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == word)
}

/// How a body uses the name of the context.
struct Uses<'a> {
    context: &'a str,
    /// The first place where the name is a value.
    first: Option<Span>,
    /// Whether the body may declare a variable of this name.
    may_bind: bool,
}

impl Uses<'_> {
    /// Looks at `stream`. `arguments`: they are those of a call.
    fn look(&mut self, stream: &TokenStream, arguments: bool) {
        let tokens: Vec<TokenTree> = stream.clone().into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| &tokens[before]);
            match token {
                TokenTree::Group(group) => self.look(&group.stream(), is_called(before)),
                TokenTree::Ident(word) if word == self.context && !is(before, '.') => {
                    let after = tokens.get(at + 1);
                    let is_argument =
                        arguments && (before.is_none() || is(before, ',')) && (after.is_none() || is(after, ','));
                    if is(after, '.') || is_argument {
                        self.first.get_or_insert(word.span());
                    } else {
                        self.may_bind = true;
                    }
                }
                _ => {}
            }
        }
    }
}

/// Whether parentheses after `token` are those of a call of a function or a method.
fn is_called(token: Option<&TokenTree>) -> bool {
    const KEYWORDS: &[&str] = &["for", "if", "in", "let", "match", "move", "mut", "ref", "return", "while"];
    match token {
        Some(TokenTree::Ident(word)) => {
            let word = word.to_string();
            word.starts_with(char::is_lowercase) && !KEYWORDS.contains(&word.as_str())
        }
        _ => false,
    }
}

/// The calls in a body.
struct Calls<'a> {
    krate: &'a Path,
    /// The name of the context, if it is certainly the context.
    context: Option<&'a str>,
    /// The name of the message enum.
    message: &'a str,
    /// What to add to the parameters for the context, if it is missing.
    parameter: &'a str,
    /// What to pass to the last call in place of its arguments.
    arguments: Option<TokenStream>,
    /// Whether an argument was left out. It may have been the only use of a variable.
    lost: bool,
    /// Whether rustc would report the borrow of `self` once more.
    is_dead: bool,
    errors: &'a mut Errors,
}

impl Calls<'_> {
    /// Refuses calls in `stream`, and returns the tokens with other calls in their place, if it knows any.
    fn correct(&mut self, stream: TokenStream) -> Option<TokenStream> {
        let mut tokens: Vec<TokenTree> = stream.into_iter().collect();
        let mut changed = false;
        for at in 0..tokens.len() {
            let TokenTree::Group(group) = &tokens[at] else { continue };
            let group = group.clone();
            if let Some(word) = at.checked_sub(1).and_then(|before| self.call(&tokens[..=before], &group)) {
                tokens[at - 1] = word.into();
                changed = true;
            }
            let instead = self.arguments.take();
            let is_replaced = instead.is_some();
            let arguments = instead.unwrap_or_else(|| group.stream());
            let corrected = self.correct(arguments.clone());
            if is_replaced || corrected.is_some() {
                tokens[at] = with_content(&group, corrected.unwrap_or(arguments));
                self.lost |= is_replaced;
                changed = true;
            }
        }
        changed.then(|| tokens.into_iter().collect())
    }

    /// Looks at a call: the tokens before the parentheses, and the parentheses. Returns the name to call instead.
    fn call(&mut self, before: &[TokenTree], arguments: &Group) -> Option<Ident> {
        let [.., TokenTree::Ident(name)] = before else { return None };
        let called = name.to_string();
        let from = |back: usize| before.len().checked_sub(back).map(|at| &before[at]);
        let of_tokio = is_word(from(4), "tokio") || is_word(from(4), "task") && is_word(from(7), "tokio");
        if called == "spawn" && is(from(2), ':') && of_tokio {
            self.refuse_task(arguments);
        }
        let context = self.context?;
        if !is(from(2), '.') || !is_word(from(3), context) || is(from(4), '.') {
            return None;
        }
        match called.as_str() {
            "stop" if arguments.stream().is_empty() => {
                let message = format!(
                    "`stop` stops a child: write `{context}.stop_self()` to stop this actor, or `{context}.stop(&child)`"
                );
                self.errors.at(name, message);
                return Some(Ident::new("stop_self", name.span()));
            }
            "spawn" if closure(&arguments.stream()).is_some() => {
                let message = format!(
                    "the name of the child comes first: write `{context}.spawn(\"name\", || ..)`, or `{context}.spawn_anonymous(|| ..)` for \
                     a name that the system makes up"
                );
                self.errors.at(name, message);
                return Some(Ident::new("spawn_anonymous", name.span()));
            }
            "spawn" | "spawn_anonymous" => self.refuse_factory(arguments),
            "attach" | "try_attach" | "blocking" | "try_blocking" | "at_end" => self.refuse_message(arguments),
            "pipe" | "try_pipe" => self.refuse_work(context, name, arguments),
            "start_timer" => self.refuse_closure(context, &called, 2, arguments),
            "watch_with" => self.refuse_closure(context, &called, 1, arguments),
            _ => {}
        }
        None
    }

    /// A task of tokio's.
    fn refuse_task(&mut self, arguments: &Group) {
        if let Some(this) = self_in_async(&arguments.stream()) {
            let message = format!(
                "a task outlives the handler and cannot use `self`: clone what it reads into variables before, and write \
                 `{}.pipe(async move {{ .. }}, |me, value| me.store(value))` in place of `tokio::spawn(..)`{}\n\
                 the output of the future goes to `#[handler] fn store(&mut self, value: T)`, which changes `self`",
                self.context.unwrap_or("ctx"),
                self.parameter
            );
            self.errors.at_span(this, message);
            self.is_dead = true;
        }
    }

    /// A future that becomes a message.
    fn refuse_work(&mut self, context: &str, name: &Ident, arguments: &Group) {
        self.refuse_message(arguments);
        if split(arguments.stream(), ',').len() == 1 {
            let message = format!(
                "`{name}` needs the message that the output becomes: write `{context}.{name}(.., |me, value| me.loaded(value))`, where \
                 `#[handler] fn loaded(&mut self, value: T)` gets the output"
            );
            self.errors.at(name, message);
        }
        if let Some(this) = self_in_async(&arguments.stream()) {
            let message = "a piped future outlives the handler and cannot use `self`: clone what it uses into variables before, such as a \
                           ref with `let feed = self.feed.clone();` (`self.feed.actor()` if it is a declared child), and write \
                           `async move { feed.fetch().await }`";
            self.errors.at_span(this, message);
            self.is_dead = true;
        }
    }

    /// A closure that makes a message in place of a request.
    fn refuse_message(&mut self, arguments: &Group) {
        let tokens: Vec<TokenTree> = arguments.stream().into_iter().collect();
        for at in 1..tokens.len() {
            let made = is_word(tokens.get(at), self.message) && is(tokens.get(at - 1), '|');
            if made
                && is(tokens.get(at + 1), ':')
                && let Some(TokenTree::Ident(variant)) = tokens.get(at + 3)
            {
                let handler = variant.to_string().to_snake_case();
                let said = format!(
                    "this closure makes a request, and not a message as a value: call the handler on its first parameter, \
                     `|me, value| me.{handler}(value)`"
                );
                self.errors.at(&tokens[at], said);
            }
        }
    }

    /// Reports a closure if the argument at `place` must be a message.
    fn refuse_closure(&mut self, context: &str, name: &str, place: usize, arguments: &Group) {
        let mut all = split(arguments.stream(), ',');
        let Some(given) = all.get(place).filter(|given| is_closure(given)) else { return };
        let Some(first) = given.clone().into_iter().next() else { return };
        let message = if name == "start_timer" {
            format!(
                "expected a message, found a closure: write `let me = {context}.me(); {context}.start_timer(key, delay, me.tick());`, and \
                 move the code into `#[handler] fn tick(&mut self)`; to repeat it, write \
                 `{context}.start_periodic_timer(key, interval, move || me.tick().into_message())`"
            )
        } else {
            format!(
                "expected a message, found a closure: write `let me = {context}.me(); {context}.watch_with(&child, me.gone())?;`, and move \
                 the code into `#[handler] fn gone(&mut self)`"
            )
        };
        self.errors.at_span(first.span(), message);
        let krate = self.krate;
        all[place] = quote_spanned!(Span::mixed_site()=> #krate::__private::no_request::<Self>());
        self.arguments = Some(quote!(#(#all),*));
    }

    /// A factory.
    fn refuse_factory(&mut self, arguments: &Group) {
        for argument in &split(arguments.stream(), ',') {
            if let Some(parameter) = parameter(argument) {
                let message = "a factory takes no parameters: write `|| ..`. If the child needs its context, it gets it in \
                               `#[pre_start] fn begin(&mut self, ctx: &mut Context<Self>)`";
                self.errors.at_span(parameter, message);
                return;
            }
            if let Some(body) = closure(argument)
                && let Some(this) = this(&body)
            {
                let mend = match field(&body) {
                    Some(field) => format!(
                        "write `let {field} = self.{field}.clone();` before, and `move || ..` with `{field}.clone()` in it"
                    ),
                    None => {
                        "copy what it needs into a variable before, and clone that in a `move || ..`".to_owned()
                    }
                };
                let message = format!(
                    "a factory outlives this method, because it runs at each restart, and cannot use `self`: {mend}"
                );
                self.errors.at_span(this, message);
                self.is_dead = true;
            }
        }
    }
}

/// The first parameter of the closure that `tokens` begin with.
fn parameter(tokens: &TokenStream) -> Option<Span> {
    let mut tokens = tokens.clone().into_iter().peekable();
    if is_word(tokens.peek(), "move") {
        tokens.next();
    }
    if !is(tokens.next().as_ref(), '|') || is(tokens.peek(), '|') {
        return None;
    }
    tokens.next().map(|parameter| parameter.span())
}

/// Whether `tokens` begin as a closure does.
fn is_closure(tokens: &TokenStream) -> bool {
    let mut tokens = tokens.clone().into_iter().peekable();
    if is_word(tokens.peek(), "move") {
        tokens.next();
    }
    is(tokens.next().as_ref(), '|')
}

/// The body of the closure without parameters that `tokens` begin with.
fn closure(tokens: &TokenStream) -> Option<TokenStream> {
    let mut tokens = tokens.clone().into_iter().peekable();
    if is_word(tokens.peek(), "move") {
        tokens.next();
    }
    (is(tokens.next().as_ref(), '|') && is(tokens.next().as_ref(), '|')).then(|| tokens.collect())
}

/// The first `self` in the `async` block that `tokens` begin with. A function in the block may have a `self` of its own.
fn self_in_async(tokens: &TokenStream) -> Option<Span> {
    let begins = is_word(tokens.clone().into_iter().next().as_ref(), "async");
    if begins && !mentions(tokens.clone(), "fn") { this(tokens) } else { None }
}

/// The `servers` in the first `self.servers` that is not a call.
fn field(tokens: &TokenStream) -> Option<Ident> {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    for at in 0..tokens.len() {
        if let TokenTree::Group(group) = &tokens[at]
            && let Some(field) = field(&group.stream())
        {
            return Some(field);
        }
        if is_word(tokens.get(at), "self")
            && is(tokens.get(at + 1), '.')
            && let Some(TokenTree::Ident(field)) = tokens.get(at + 2)
            && !matches!(tokens.get(at + 3), Some(TokenTree::Group(_)))
        {
            return Some(field.clone());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;
    use crate::block::parse::collect;
    use crate::block::parse::syntax::Member;
    use crate::syntax;

    const TAKES: &str = "fn open(&mut self, ctx: &mut Context<Self>)";
    const TAKES_NOT: &str = "fn open(&mut self)";

    /// What is said about a method, and its body afterwards.
    fn checked(signature: &str, body: &str) -> (String, String) {
        let method = format!("{signature} {{ {body} }}").parse().expect("it lexes");
        let Ok(Member::Method(mut method)) = syntax::read(method, syn::parse::Parse::parse) else {
            panic!("{signature} is a method");
        };
        let krate = syntax::read(quote!(::supervise), syn::parse::Parse::parse).expect("a path");
        let mut errors = Errors::new();
        let message = Ident::new("FeedMessage", Span::call_site());
        let mut words = Vec::new();
        collect(method.body.to_token_stream(), &mut words);
        check(&krate, &message, &mut method, &words, &mut errors);
        (errors.finish().map_or_else(String::new, |error| error.to_string()), method.body.to_string())
    }

    #[test]
    fn what_does_not_compile_is_refused() {
        for (signature, body, said) in [
            (TAKES_NOT, "ctx.stop_self();", "write `fn open(&mut self, ctx: &mut Context<Self>)`"),
            (TAKES_NOT, "if self.late { end(1, ctx) }", "`open` does not take the context"),
            ("fn open(&mut self, _ctx: &mut Context<Self>)", "ctx.stop_self();", "is called `_ctx` in `open`"),
            (TAKES, "ctx.stop();", "write `ctx.stop_self()`"),
            ("fn open(&mut self, context: &mut Context<Self>)", "context.stop();", "write `context.stop_self()`"),
            (TAKES, "ctx.spawn(|| Feed)?;", "the name of the child comes first"),
            (TAKES, "ctx.spawn(move || Feed { a })?;", "the name of the child comes first"),
            (TAKES, "ctx.spawn(\"a\", || Feed { b: self.b.clone() })?;", "write `let b = self.b.clone();` before"),
            (TAKES, "ctx.spawn_anonymous(|| self.feed());", "copy what it needs into a variable before"),
            (TAKES, "ctx.spawn(\"a\", |_| Feed)?;", "a factory takes no parameters: write `|| ..`"),
            (TAKES, "ctx.pipe(load(), |_, a| FeedMessage::Set { a });", "`|me, value| me.set(value)`"),
            (
                TAKES,
                "ctx.blocking(move || hash(b), move |_, a| FeedMessage::Set { a });",
                "`|me, value| me.set(value)`",
            ),
            (TAKES, "ctx.start_timer(\"a\", late, || me.tick());", "expected a message, found a closure"),
            (TAKES, "ctx.start_timer(\"a\", late, move |me| me.tick());", "expected a message, found a closure"),
            (TAKES, "ctx.watch_with(&a, || me.gone())?;", "expected a message, found a closure"),
            (TAKES, "ctx.pipe(self.load());", "`pipe` needs the message that the output becomes"),
            (TAKES_NOT, "tokio::spawn(async move { self.a = 1; });", "a task outlives the handler"),
            (TAKES_NOT, "tokio::task::spawn(async { f(self) });", "a task outlives the handler"),
            (
                TAKES,
                "ctx.pipe(async { self.feed.fetch().await }, |me, a| me.set(a));",
                "a piped future outlives the handler",
            ),
        ] {
            let (errors, _) = checked(signature, body);
            assert!(errors.contains(said), "{body}: {errors}");
        }
    }

    #[test]
    fn what_may_compile_is_left_alone() {
        for (signature, body) in [
            (TAKES, "ctx.stop(&feed); ctx.spawn(self.name(), || Feed)?; ctx.spawn(\"a\", move || Feed { b })?;"),
            (TAKES, "end(ctx); self.a.ctx.stop(); other.stop(); stop();"),
            (TAKES, "ctx.pipe(load(), |me, a| me.set(FeedMessage::Set { a })); ctx.pipe(load(), FeedRef::set);"),
            (TAKES, "let stop = |ctx: &mut Watcher| ctx.stop();"),
            (
                TAKES,
                "ctx.start_timer(\"a\", late, a | b); ctx.start_periodic_timer(\"a\", late, || FeedMessage::Tick);",
            ),
            (TAKES, "ctx.pipe(self.client.clone().fetch(), |me, a| me.set(a));"),
            (TAKES_NOT, "let ctx = 1; ctx.max(2);"),
            (TAKES_NOT, "if let Some(ctx) = self.a { ctx.max(2); }"),
            (TAKES_NOT, "for (a, ctx) in b { ctx.max(a); }"),
            (TAKES_NOT, "match a { Shape(ctx) => ctx.max(2), _ => 1 };"),
            (TAKES_NOT, "let Holder { ctx } = a; ctx.max(2);"),
            (TAKES_NOT, "fn inner(ctx: &mut u8) { ctx.max(2); }"),
            (TAKES_NOT, "self.ctx.max(2);"),
            ("fn open(&mut self, ctx: u32)", "ctx.max(2);"),
            ("fn open()", "ctx.max(2);"),
            (TAKES_NOT, "tokio::spawn(self.run()); tokio::spawn(async move { a.await }); thread::spawn(|| self);"),
            (TAKES_NOT, "tokio::spawn(async { impl A for B { fn f(self) {} } });"),
        ] {
            let (errors, after) = checked(signature, body);
            assert_eq!(errors, "", "{body}");
            let before: TokenStream = format!("{{ {body} }}").parse().expect("it lexes");
            assert_eq!(after, before.to_string());
        }
    }

    #[test]
    fn a_mistake_is_mended_for_rustc() {
        for (signature, body, mended) in [
            (TAKES, "if a { ctx.stop() }", "{ if a { ctx . stop_self () } }"),
            (TAKES, "ctx.spawn(|| Feed)", "{ ctx . spawn_anonymous (|| Feed) }"),
            (
                TAKES,
                "ctx.start_timer(a, b, || c)",
                "{ ctx . start_timer (a , b , :: supervise :: __private :: no_request :: < Self > ()) }",
            ),
            (
                TAKES_NOT,
                "ctx.me()",
                "{ let ctx : & mut :: supervise :: Context < Self > = :: core :: unreachable ! () ; ctx . me () }",
            ),
        ] {
            assert_eq!(checked(signature, body).1, mended, "{body}");
        }
    }
}
