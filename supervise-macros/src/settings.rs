//! What stands between an attribute's commas: `name`, `name = value`, `name(..)`, `name(..) = value`.
//!
//! Knows no names. Splitting at the commas first keeps a mistake in one setting from taking its neighbours along.

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};

use crate::errors::Errors;
use crate::syntax;

/// One setting, not interpreted yet.
pub(crate) struct Setting {
    pub(crate) name: Ident,
    /// What stands in parentheses behind the name.
    pub(crate) arguments: Option<TokenStream>,
    /// What stands behind `=`.
    pub(crate) value: Option<TokenStream>,
    whole: TokenStream,
}

/// Reads the settings of an attribute.
pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Vec<Setting> {
    let mut settings = Vec::new();
    for part in &split(tokens, ',') {
        match Setting::new(part) {
            Ok(setting) => settings.push(setting),
            Err(error) => errors.add(error),
        }
    }
    settings
}

/// Reads settings each of which may be given once.
pub(crate) fn parse_once(tokens: TokenStream, errors: &mut Errors) -> Vec<Setting> {
    let mut settings: Vec<Setting> = Vec::new();
    for setting in parse(tokens, errors) {
        if named(&settings, &setting.name.to_string()).is_some() {
            errors.add(setting.given_twice());
        } else {
            settings.push(setting);
        }
    }
    settings
}

/// The first of `settings` that is called `name`.
pub(crate) fn named<'a>(settings: &'a [Setting], name: &str) -> Option<&'a Setting> {
    settings.iter().find(|setting| setting.name == name)
}

/// Cuts `tokens` at each `separator` that stands outside all brackets. Empty parts are dropped.
pub(crate) fn split(tokens: TokenStream, separator: char) -> Vec<TokenStream> {
    let mut parts = Vec::new();
    let mut part = TokenStream::new();
    for token in tokens {
        if !matches!(&token, TokenTree::Punct(punct) if punct.as_char() == separator) {
            token.to_tokens(&mut part);
        } else if !part.is_empty() {
            parts.push(std::mem::take(&mut part));
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

impl Setting {
    fn new(whole: &TokenStream) -> syn::Result<Self> {
        let mut tokens = whole.clone().into_iter();
        let Some(TokenTree::Ident(name)) = tokens.next() else {
            return Err(syn::Error::new_spanned(whole, "expected a setting, such as `name = value`"));
        };
        let mut next = tokens.next();
        let mut arguments = None;
        if let Some(TokenTree::Group(group)) = &next
            && group.delimiter() == Delimiter::Parenthesis
        {
            arguments = Some(group.stream());
            next = tokens.next();
        }
        let value = match next {
            None => None,
            Some(TokenTree::Punct(punct)) if punct.as_char() == '=' => {
                let mut value = TokenStream::new();
                value.extend(tokens);
                if value.is_empty() {
                    let message = format!("a value is missing: write it behind `{}`", written(whole));
                    return Err(syn::Error::new(punct.span(), message));
                }
                Some(value)
            }
            Some(other) => {
                return Err(syn::Error::new(other.span(), format!("expected `,` or `=` behind `{name}`")));
            }
        };
        Ok(Self { name, arguments, value, whole: whole.clone() })
    }

    /// All of the setting.
    pub(crate) fn tokens(&self) -> &TokenStream {
        &self.whole
    }

    /// An error that concerns the whole of it.
    pub(crate) fn error(&self, message: impl std::fmt::Display) -> syn::Error {
        syn::Error::new_spanned(&self.whole, message)
    }

    pub(crate) fn span(&self) -> Span {
        self.name.span()
    }

    /// Reads the value of `name = value`.
    pub(crate) fn value<T: Parse>(&self, example: &str) -> syn::Result<T> {
        self.value_by(T::parse, example)
    }

    /// Reads the value of `name = value` by a function.
    pub(crate) fn value_by<T>(
        &self,
        parser: fn(ParseStream<'_>) -> syn::Result<T>,
        example: &str,
    ) -> syn::Result<T> {
        match syntax::read(self.given(example)?, parser) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.unreadable(error, example)),
        }
    }

    fn given(&self, example: &str) -> syn::Result<TokenStream> {
        let wrong = match (&self.value, &self.arguments) {
            (Some(value), None) => return Ok(value.clone()),
            (_, Some(_)) => "takes no parentheses",
            (None, None) => "needs a value",
        };
        Err(self.error(format!("`{0}` {wrong}: write `{0} = {example}`", self.name)))
    }

    /// syn points what it says at the end, the latter behind generic arguments, at the whole attribute.
    fn unreadable(&self, error: syn::Error, example: &str) -> syn::Error {
        let said = error.to_string();
        if said.starts_with("unexpected end of input") || said == "expected `,`" {
            self.error(format!("this is unfinished: write `{} = {example}`", self.name))
        } else {
            error
        }
    }

    pub(crate) fn given_twice(&self) -> syn::Error {
        self.error(format!("`{}` is given twice", self.name))
    }

    /// That the name stands alone.
    pub(crate) fn flag(&self) -> syn::Result<()> {
        match (&self.value, &self.arguments) {
            (None, None) => Ok(()),
            _ => Err(self.error(format!("`{0}` takes no value: write `{0}` alone", self.name))),
        }
    }

    /// The arguments of `name(..)`.
    pub(crate) fn call(&self, example: &str) -> syn::Result<TokenStream> {
        if let (Some(arguments), None) = (&self.arguments, &self.value) {
            for part in &split(arguments.clone(), ',') {
                if !matches!(part.clone().into_iter().next(), Some(TokenTree::Ident(_))) {
                    let message = format!("`{0}` takes its arguments by name: write `{0}({example})`", self.name);
                    return Err(syn::Error::new_spanned(arguments, message));
                }
            }
            return Ok(arguments.clone());
        }
        let message = format!("`{0}` takes its arguments in parentheses: write `{0}({example})`", self.name);
        Err(self.error(message))
    }
}

/// The tokens as a user would have written them. (How many blanks a token stream prints depends on who made it.)
pub(crate) fn written(tokens: &dyn ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string();
    for (printed, written) in &[
        (" :: ", "::"),
        (":: ", "::"),
        (" < ", "<"),
        ("< ", "<"),
        (" >", ">"),
        (" (", "("),
        ("& ", "&"),
        (" ,", ","),
        (" . ", "."),
        ("{..}", "{ .. }"),
    ] {
        text = text.replace(*printed, written);
    }
    text
}
