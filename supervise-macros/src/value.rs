//! Values in a table: a literal, or an expression over constants or over the supervisor's own settings.
//!
//! Literals are checked here. Rustc checks constants when it evaluates them. Settings are checked when a supervisor
//! starts.

use std::time::Duration;

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::quote_spanned;
use syn::parse::{Parse, ParseStream};
use syn::{Expr, Lit, Path};

use crate::duration::positive;
use crate::errors::Errors;
use crate::settings::{Setting, written};
use crate::supervise::expand::Expression;
use crate::{spans, syntax};

/// A value of a table.
#[derive(Clone)]
pub(crate) enum Value<T> {
    Literal(T),
    /// An expression that rustc can evaluate.
    Constant(Constant),
    /// An expression that mentions `self`.
    Setting(FromSelf),
}

/// An expression over constants.
#[derive(Clone)]
pub(crate) struct Constant {
    pub(crate) expression: TokenStream,
    /// The name of the setting.
    name: Ident,
}

/// An expression over the supervisor's own settings.
#[derive(Clone)]
pub(crate) struct FromSelf {
    /// The name of the setting.
    name: Ident,
    pub(crate) expression: TokenStream,
    /// The whole setting as the user wrote it.
    pub(crate) text: String,
    /// The place of the `self`.
    pub(crate) this: Span,
}

impl<T> Value<T> {
    pub(crate) fn literal(&self) -> Option<&T> {
        match self {
            Self::Literal(value) => Some(value),
            Self::Constant(_) | Self::Setting(_) => None,
        }
    }

    /// The place of the `self`, if it mentions one.
    pub(crate) fn this(&self) -> Option<Span> {
        match self {
            Self::Setting(setting) => Some(setting.this),
            Self::Literal(_) | Self::Constant(_) => None,
        }
    }

    /// The place of a constant's expression.
    pub(crate) fn constant(&self) -> Option<Span> {
        match self {
            Self::Constant(constant) => Some(spans::of(&constant.expression)),
            Self::Literal(_) | Self::Setting(_) => None,
        }
    }
}

impl<T> Value<T>
where
    Self: Expression,
{
    /// The value, unchecked even if it depends on the supervisor's settings.
    pub(crate) fn unchecked(&self, krate: &Path) -> TokenStream {
        match self {
            Self::Setting(setting) => typed(&setting.name, &setting.expression, krate),
            other => other.expression(krate),
        }
    }
}

/// Reads `name = value`. `literal` reads the value if it is a literal; otherwise it is an expression.
pub(crate) fn value<T>(
    setting: &Setting,
    example: &'static str,
    literal: fn(ParseStream<'_>) -> syn::Result<T>,
) -> syn::Result<Value<T>> {
    let Some(tokens) = setting.value.clone().filter(is_expression) else {
        return setting.value(literal, example).map(Value::Literal);
    };
    let expression = setting.value(Expr::parse, example)?;
    let expression = quote::ToTokens::into_token_stream(expression);
    let name = setting.name.clone();
    Ok(match this(&tokens) {
        Some(this) => Value::Setting(FromSelf { name, expression, text: written(setting.tokens()), this }),
        None => Value::Constant(Constant { expression, name }),
    })
}

/// Reads a duration that must not be zero.
pub(crate) fn length(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<Value<Duration>> {
    if let Some(tokens) = &setting.value
        && !is_expression(tokens)
        && let Ok(word) = syntax::read(tokens.clone(), Ident::parse)
    {
        let message = format!(
            "a table sees no variables: write a duration such as `{example}`, a constant, or a setting of the supervisor such as \
             `self.settings.{word}`"
        );
        return Err(syn::Error::new(word.span(), message));
    }
    Ok(match value(setting, example, Lit::parse)? {
        Value::Literal(literal) => Value::Literal(positive(&literal, example)?),
        Value::Constant(constant) => Value::Constant(constant),
        Value::Setting(setting) => Value::Setting(setting),
    })
}

/// Whether `tokens` look like an expression rather than a literal. A single word that is written like a variable is a mistake.
pub(crate) fn is_expression(tokens: &TokenStream) -> bool {
    if syntax::read(tokens.clone(), Lit::parse).is_ok() {
        return false;
    }
    match syntax::read(tokens.clone(), Ident::parse) {
        Ok(word) => word.to_string().starts_with(char::is_uppercase),
        Err(_) => syntax::read(tokens.clone(), Expr::parse).is_ok(),
    }
}

/// The place of a `self` in `tokens` that does not begin a path.
pub(crate) fn this(tokens: &TokenStream) -> Option<Span> {
    let mut tokens = tokens.clone().into_iter().peekable();
    while let Some(token) = tokens.next() {
        let is_path = matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
        match token {
            TokenTree::Ident(word) if word == "self" && !is_path => return Some(word.span()),
            TokenTree::Group(group) => {
                if let Some(found) = this(&group.stream()) {
                    return Some(found);
                }
            }
            _ => {}
        }
    }
    None
}

/// The tokens, with each `self` replaced by that of a generated method.
pub(crate) fn of_our_self(tokens: TokenStream) -> TokenStream {
    let mut ours = TokenStream::new();
    for token in tokens {
        ours.extend([match token {
            TokenTree::Ident(word) if word == "self" => TokenTree::Ident(spans::located(&word)),
            TokenTree::Group(group) => {
                let mut inside = Group::new(group.delimiter(), of_our_self(group.stream()));
                inside.set_span(group.span());
                TokenTree::Group(inside)
            }
            other => other,
        }]);
    }
    ours
}

/// The expression, in a call of the function of this setting, which rustc quotes if the type is another. rustc reports it at the setting's name.
fn typed(name: &Ident, expression: &TokenStream, krate: &Path) -> TokenStream {
    let here = Span::mixed_site().located_at(name.span());
    let (name, krate) = (Ident::new(&name.to_string(), here), spans::path_at(krate, here));
    quote_spanned!(here=> #krate::__private::typed::#name(#expression))
}

/// A constant, wrapped in the function that checks it when rustc evaluates it. rustc reports an error at the
/// constant.
fn constant(constant: &Constant, check: Option<(&str, &str)>, krate: &Path) -> TokenStream {
    let expression = typed(&constant.name, &constant.expression, krate);
    let Some((check, _)) = check else { return expression };
    let here = Span::mixed_site().located_at(spans::of(&constant.expression));
    let (check, krate) = (Ident::new(check, here), spans::path_at(krate, here));
    quote_spanned!(here=> #krate::__private::#check(#expression))
}

/// A setting, with the function that checks it when a supervisor starts.
fn from_self(setting: &FromSelf, check: Option<(&str, &str)>, krate: &Path) -> TokenStream {
    let FromSelf { name, expression, text, .. } = setting;
    let expression = typed(name, expression, krate);
    let Some((_, check)) = check else { return expression };
    let check = Ident::new(check, Span::mixed_site());
    quote_spanned!(Span::mixed_site()=> #krate::__private::#check(#text, #expression)?)
}

macro_rules! values {
    ($($ty:ty: $check:expr,)*) => {$(
        impl Expression for Value<$ty> {
            fn expression(&self, krate: &Path) -> TokenStream {
                match self {
                    Self::Literal(value) => value.expression(krate),
                    Self::Constant(of) => constant(of, $check, krate),
                    Self::Setting(setting) => from_self(setting, $check, krate),
                }
            }
        }
    )*};
}

values! {
    u32: None,
    usize: None,
    Duration: Some(("constant_length", "positive")),
    f64: Some(("constant_share", "share")),
}
