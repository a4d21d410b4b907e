//! The attributes of `supervise`. Use them through that crate.
//!
//! | module | content |
//! |---|---|
//! | `grammar` | every word and argument of the attributes, as tables |
//! | `declaration` | `#[actor]` on a struct or enum |
//! | `block` | `#[actor]` on an impl block |
//! | `supervise` | `#[supervise]` |
//! | `protocol` | `#[protocol]`, and `implements(..)` of a block |
//! | `value` | what may be a literal, a constant or a setting of the supervisor |
//! | the others | what several attributes need |
//!
//! `declaration`, `block` and `supervise` have three stages each: `parse` reads tokens into a model, `model` holds plain
//! values and refuses contradictions between them, `expand` writes code and cannot fail. Generated code calls
//! `supervise::__private` for everything generic, and nothing here exists at run time.
//!
//! This crate is a part of every user's build, early on its critical path. In some places it uses a `dyn Trait`, or builds a
//! `TokenStream` in a loop, although a generic or an iterator would do. The reason is that rustc would compile a generic
//! once for each type.

#[macro_use]
mod grammar;

mod attributes;
mod block;
mod declaration;
mod duration;
mod errors;
mod generics;
mod markdown;
#[cfg(all(test, feature = "protocol"))]
mod one_error;
#[cfg(feature = "protocol")]
mod protocol;
#[cfg(test)]
mod robustness;
mod settings;
#[cfg(test)]
mod snapshots;
mod spans;
mod spelling;
mod supervise;
mod syntax;
mod test;
mod value;
#[cfg(test)]
mod while_typing;

use proc_macro2::{TokenStream, TokenTree};
use syn::DeriveInput;
use syn::parse::{Parse, ParseStream};

/// # Reference
///
/// ## `#[actor(..)]` on a struct or enum
///
#[doc = actor_arguments!()]
///
/// The arguments after the capacity in `bounded(1000, ..)`:
///
#[doc = bounded_arguments!()]
///
/// The arguments in `durable(..)`:
///
#[doc = durable_arguments!()]
///
/// ## `#[actor(..)]` on an impl block
///
#[doc = block_arguments!()]
///
/// The arguments in `message(..)`:
///
#[doc = message_arguments!()]
///
/// ## `#[child(closure, ..)]` on a field
///
#[doc = child_arguments!()]
///
/// For a field of type `Child<Pool<..>>`, `Child<BackoffSupervisor<..>>` or `Child<CircuitBreaker<..>>`, the closure returns
/// props. For a field of type `Children<K, A>`, it returns a template of the key. Keyed children take `name`, `idle` and
/// `limit` only.
///
/// `#[child(given)]` on a field of type `Child<..>` says that the constructor gets the value from another actor's field.
///
/// ## Attributes of methods
///
#[doc = roles_list!()]
///
/// ## `#[handler(..)]`
///
#[doc = handler_arguments!()]
///
#[doc = concat!("A handler cannot be called ", reserved_list!(), ": every ref has these methods.")]
#[proc_macro_attribute]
pub fn actor(arguments: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand_actor(arguments.into(), &item.into()).into()
}

/// # Reference
///
/// ## Strategies
///
/// At most one; the default is `one_for_one`:
///
#[doc = scopes_list!()]
///
/// ## Rules, or a decider
///
#[doc = parts_list!()]
///
/// ## Arguments of a strategy
///
/// A number or a duration may be an expression, over constants or over the supervisor's settings: `within = self.settings.window`.
///
#[doc = strategy_arguments!()]
///
/// ## Patterns and directives
///
/// A pattern is an error type, a pattern of an error enum, `_` for every failure, several of these with `|` in between, or a kind of failure:
///
#[doc = failure_kinds_list!()]
///
/// A directive:
///
#[doc = directives_list!()]
///
/// ## Backoffs
///
/// The arguments of `Restart(..)`:
///
#[doc = restart_arguments!()]
///
/// The arguments of `backoff(..)`:
///
#[doc = exponential_arguments!()]
///
/// The arguments of `linear_backoff(..)`:
///
#[doc = linear_arguments!()]
#[proc_macro_attribute]
pub fn supervise(arguments: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    supervise::attribute(&arguments.into(), &item.into()).into()
}

/// Reports that an actor is not derived, and expands as `#[actor]` does, so that this is the only error.
#[proc_macro_derive(Actor)]
pub fn derive_actor(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    declaration::derived(&item.into()).into()
}

/// # Reference
///
/// ## `#[protocol(..)]` on a trait
///
#[doc = protocol_arguments!()]
#[cfg(feature = "protocol")]
#[proc_macro_attribute]
pub fn protocol(arguments: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    protocol::attribute(arguments.into(), &item.into()).into()
}

/// Reports that `#[protocol]` needs its feature. Otherwise rustc would report only an unknown attribute.
#[cfg(not(feature = "protocol"))]
#[doc(hidden)]
#[proc_macro_attribute]
pub fn protocol(_: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let message = format!("`#[protocol]` {}", errors::needs_feature("protocol"));
    errors::beside(&TokenStream::from(item), syn::Error::new(proc_macro2::Span::call_site(), message)).into()
}

/// Joins a protocol with an actor's handlers. The macro of the protocol calls it.
#[cfg(feature = "protocol")]
#[doc(hidden)]
#[proc_macro]
pub fn implement(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    protocol::implement::implement(input.into()).into()
}

/// Makes attributes of methods and fields known outside `#[actor]`, where they are mistakes.
macro_rules! stray_attributes {
    ($($name:ident: $mend:literal,)*) => {$(
        #[doc = $mend]
        #[proc_macro_attribute]
        pub fn $name(_: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
            let message = concat!("`#[", stringify!($name), "]` works only below `#[actor]`: ", $mend);
            let error = syn::Error::new(proc_macro2::Span::call_site(), message);
            errors::beside(&TokenStream::from(item), error).into()
        }
    )*};
}

stray_attributes! {
    handler: "write `#[actor]` above the `impl` block",
    pre_start: "write `#[actor]` above the `impl` block",
    post_stop: "write `#[actor]` above the `impl` block",
    pre_restart: "write `#[actor]` above the `impl` block",
    post_restart: "write `#[actor]` above the `impl` block",
    watch: "write `#[actor]` above the `impl` block",
    stash_while: "write `#[actor]` above the `impl` block",
}

fn expand_actor(arguments: TokenStream, item: &TokenStream) -> TokenStream {
    if is_impl(item) {
        return block::attribute(arguments, item);
    }
    match syntax::read(item.clone(), DeriveInput::parse) {
        Ok(declared) => declaration::attribute(arguments, declared),
        Err(error) => {
            let rest = |input: ParseStream<'_>| {
                input.call(syn::Attribute::parse_outer)?;
                input.parse::<syn::Visibility>()?;
                input.parse::<TokenStream>()
            };
            let error = match syntax::read(item.clone(), rest) {
                Ok(rest) if starts_type(&rest) => error,
                Ok(rest) => not_an_actor(&rest),
                Err(error) => error,
            };
            errors::beside(item, error)
        }
    }
}

/// Whether `item` is an impl block. Looks at the first words only, because a parser reads all of the item.
fn is_impl(item: &TokenStream) -> bool {
    for token in item.clone() {
        if let TokenTree::Ident(word) = token
            && word != "pub"
            && word != "unsafe"
        {
            return word == "impl";
        }
    }
    false
}

fn starts_type(rest: &TokenStream) -> bool {
    matches!(first_word(rest).as_str(), "struct" | "enum" | "union")
}

fn first_word(rest: &TokenStream) -> String {
    match rest.clone().into_iter().next() {
        Some(token) => token.to_string(),
        None => String::new(),
    }
}

fn not_an_actor(rest: &TokenStream) -> syn::Error {
    let what = match first_word(rest).as_str() {
        "fn" | "async" => "a function",
        "trait" => "a trait",
        "mod" => "a module",
        _ => "this item",
    };
    let mend = "write `#[actor]` on a struct or enum, `#[actor] struct Feed;`, and on its impl block, \
                `#[actor] impl Feed { #[handler] fn fetch(&mut self) {} }`";
    syn::Error::new_spanned(
        rest.clone().into_iter().next(),
        format!("`#[actor]` cannot be applied to {what}: {mend}"),
    )
}

/// Runs a test on a paused clock with a private system: see `supervise::testkit`. Needs the feature `testkit`.
#[proc_macro_attribute]
pub fn test(arguments: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    test::attribute(&arguments.into(), item.into()).into()
}
