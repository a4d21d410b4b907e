//! Values in a table: written down, or an expression over constants or over the supervisor's own settings.
//!
//! What is written down is checked here, constants by rustc when it evaluates them, and settings when a supervisor starts.

use std::time::Duration;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::quote_spanned;
use syn::parse::{Parse, ParseStream};
use syn::{Expr, Lit, Path};

use crate::errors::Errors;
use crate::settings::{Setting, written};
use crate::supervise::expand::Expression;
use crate::{duration, spans, syntax};

/// A value of a table.
#[derive(Clone)]
pub(crate) enum Value<T> {
    Literal(T),
    /// An expression that rustc can evaluate.
    Constant(TokenStream),
    /// An expression that mentions `self`.
    Setting(FromSelf),
}

/// An expression over the supervisor's own settings.
#[derive(Clone)]
pub(crate) struct FromSelf {
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
            Self::Constant(expression) => Some(spans::of(expression)),
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
            Self::Setting(setting) => setting.expression.clone(),
            other => other.expression(krate),
        }
    }
}

/// Reads `name = value`: with `literal` where a literal stands there, otherwise an expression.
pub(crate) fn value<T>(
    setting: &Setting,
    example: &'static str,
    literal: fn(ParseStream<'_>) -> syn::Result<T>,
) -> syn::Result<Value<T>> {
    let Some(tokens) = setting.value.clone().filter(|tokens| is_expression(tokens)) else {
        return setting.value(literal, example).map(Value::Literal);
    };
    let expression = setting.value(Expr::parse, example)?;
    let expression = quote::ToTokens::into_token_stream(expression);
    Ok(match this(&tokens) {
        Some(this) => Value::Setting(FromSelf { expression, text: written(setting.tokens()), this }),
        None => Value::Constant(expression),
    })
}

/// Reads a duration that must not be zero.
pub(crate) fn length(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<Value<Duration>> {
    value(setting, example, duration::positive)
}

/// Whether `tokens` are more than a literal, and look like an expression: a word alone that is written like a variable is a mistake.
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

/// What expresses a value, where `check` names the function that checks a setting when a supervisor starts.
fn expressed(
    expression: &TokenStream,
    setting: Option<&FromSelf>,
    check: Option<&str>,
    krate: &Path,
) -> TokenStream {
    let (Some(setting), Some(check)) = (setting, check) else { return expression.clone() };
    let check = Ident::new(check, Span::mixed_site());
    let text = &setting.text;
    quote_spanned!(Span::mixed_site()=> #krate::__private::#check(#text, #expression)?)
}

macro_rules! values {
    ($($ty:ty: $check:expr,)*) => {$(
        impl Expression for Value<$ty> {
            fn expression(&self, krate: &Path) -> TokenStream {
                match self {
                    Self::Literal(value) => value.expression(krate),
                    Self::Constant(expression) => expressed(expression, None, $check, krate),
                    Self::Setting(setting) => expressed(&setting.expression, Some(setting), $check, krate),
                }
            }
        }
    )*};
}

values! {
    u32: None,
    Duration: Some("positive"),
    f64: Some("share"),
}
