//! What stands between an attribute's commas: `name`, `name = value`, `name(..)`, `name(..) = value`.
//!
//! Knows no names. Splitting at the commas first keeps a mistake in one setting from taking its neighbours along.

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{Parse, Parser};

use crate::errors::Errors;

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
    split(tokens, ',').into_iter().filter_map(|tokens| errors.keep(Setting::new(tokens))).collect()
}

/// Cuts `tokens` at each `separator` that stands outside all brackets. Empty parts are dropped.
pub(crate) fn split(tokens: TokenStream, separator: char) -> Vec<TokenStream> {
    let mut parts = vec![TokenStream::new()];
    for token in tokens {
        match (&token, parts.last_mut()) {
            (TokenTree::Punct(punct), _) if punct.as_char() == separator => parts.push(TokenStream::new()),
            (_, Some(part)) => part.extend([token]),
            (_, None) => {}
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

impl Setting {
    fn new(whole: TokenStream) -> syn::Result<Self> {
        let mut tokens = whole.clone().into_iter().peekable();
        let Some(TokenTree::Ident(name)) = tokens.next() else {
            return Err(syn::Error::new_spanned(whole, "expected a setting, such as `name = value`"));
        };
        let arguments = match tokens.peek() {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => {
                let inner = group.stream();
                tokens.next();
                Some(inner)
            }
            _ => None,
        };
        let value = match tokens.next() {
            None => None,
            Some(TokenTree::Punct(punct)) if punct.as_char() == '=' => {
                let value: TokenStream = tokens.collect();
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
        Ok(Self { name, arguments, value, whole })
    }

    /// All of the setting, for errors that concern the whole of it.
    pub(crate) fn tokens(&self) -> &TokenStream {
        &self.whole
    }

    pub(crate) fn span(&self) -> Span {
        self.name.span()
    }

    /// Reads the value of `name = value`.
    pub(crate) fn value<T: Parse>(&self, example: &str) -> syn::Result<T> {
        self.value_by(T::parse, example)
    }

    /// Reads the value of `name = value` by a function.
    pub(crate) fn value_by<P: Parser>(&self, parser: P, example: &str) -> syn::Result<P::Output> {
        match (&self.value, &self.arguments) {
            (Some(value), None) => parser.parse2(value.clone()).map_err(|error| {
                // syn points what it says at the end, the latter behind generic arguments, at the whole attribute.
                let said = error.to_string();
                if said.starts_with("unexpected end of input") || said == "expected `,`" {
                    let message = format!("this is unfinished: write `{} = {example}`", self.name);
                    syn::Error::new_spanned(&self.whole, message)
                } else {
                    error
                }
            }),
            (_, given) => {
                let wrong = if given.is_some() { "takes no parentheses" } else { "needs a value" };
                let message = format!("`{0}` {wrong}: write `{0} = {example}`", self.name);
                Err(syn::Error::new_spanned(&self.whole, message))
            }
        }
    }

    /// That the name stands alone.
    pub(crate) fn flag(&self) -> syn::Result<()> {
        match (&self.value, &self.arguments) {
            (None, None) => Ok(()),
            _ => Err(syn::Error::new_spanned(
                &self.whole,
                format!("`{0}` takes no value: write `{0}` alone", self.name),
            )),
        }
    }

    /// The arguments of `name(..)`.
    pub(crate) fn call(&self, example: &str) -> syn::Result<TokenStream> {
        if let (Some(arguments), None) = (&self.arguments, &self.value) {
            let named = |part: TokenStream| matches!(part.into_iter().next(), Some(TokenTree::Ident(_)));
            if split(arguments.clone(), ',').into_iter().all(named) {
                return Ok(arguments.clone());
            }
            let message = format!("`{0}` takes its arguments by name: write `{0}({example})`", self.name);
            return Err(syn::Error::new_spanned(arguments, message));
        }
        let message = format!("`{0}` takes its arguments in parentheses: write `{0}({example})`", self.name);
        Err(syn::Error::new_spanned(&self.whole, message))
    }
}

/// Sets `slot` from a setting that may be given once.
pub(crate) fn set_once<T>(slot: &mut Option<T>, value: syn::Result<T>, setting: &Setting, errors: &mut Errors) {
    if let Some(value) = errors.keep(value)
        && slot.replace(value).is_some()
    {
        errors.at(setting.tokens(), format!("`{}` is given twice", setting.name));
    }
}

/// The tokens as a user would have written them. (How many blanks a token stream prints depends on who made it.)
pub(crate) fn written(tokens: impl ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string();
    for (printed, written) in [
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
        text = text.replace(printed, written);
    }
    text
}
