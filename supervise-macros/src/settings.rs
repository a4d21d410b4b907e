//! The parts of an attribute between its commas: `name`, `name = value`, `name(..)`, `name(..) = value`.
//!
//! This module does not know the names. It splits at the commas first, so that a mistake in one setting does not affect
//! the others.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::{Lit, LitInt};

use crate::duration::positive;
use crate::errors::Errors;
use crate::grammar::Word;
use crate::spelling::joined;
use crate::syntax;

/// One setting, not yet interpreted.
#[derive(Clone)]
pub(crate) struct Setting {
    pub(crate) name: Ident,
    /// The content of the parentheses after the name.
    pub(crate) arguments: Option<TokenStream>,
    /// The tokens after `=`.
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

/// Splits `tokens` at each `separator` outside brackets. Leaves out empty parts.
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
                    let message = match &arguments {
                        None => format!("the value is missing: write it after `{}`", written(whole)),
                        Some(_) if name == "on" => format!(
                            "the directive is missing: write `{} Restart` (or `Resume`, `Stop`, `Escalate`)",
                            written(whole)
                        ),
                        Some(_) => format!("`{name}(..)` has no value after it: remove the `=`"),
                    };
                    return Err(syn::Error::new(punct.span(), message));
                }
                Some(value)
            }
            Some(other) => {
                return Err(syn::Error::new(other.span(), format!("expected `,` or `=` after `{name}`")));
            }
        };
        Ok(Self { name, arguments, value, whole: whole.clone() })
    }

    /// All of the setting.
    pub(crate) fn tokens(&self) -> &TokenStream {
        &self.whole
    }

    /// An error at the whole setting.
    pub(crate) fn error(&self, message: impl std::fmt::Display) -> syn::Error {
        syn::Error::new_spanned(&self.whole, message)
    }

    pub(crate) fn span(&self) -> Span {
        self.name.span()
    }

    /// Reads the value of `name = value` with `parser`. `example` is a whole setting.
    pub(crate) fn value<T>(&self, parser: fn(ParseStream<'_>) -> syn::Result<T>, example: &str) -> syn::Result<T> {
        match syntax::read(self.value_tokens(example)?, parser) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.incomplete(error, example)),
        }
    }

    fn value_tokens(&self, example: &str) -> syn::Result<TokenStream> {
        let wrong = match (&self.value, &self.arguments) {
            (Some(value), None) => return Ok(value.clone()),
            (_, Some(_)) => "takes no parentheses",
            (None, None) => "needs a value",
        };
        Err(self.error(format!("`{}` {wrong}: write `{example}`", self.name)))
    }

    /// Replaces the errors of syn at the end of the input, and after generic arguments, which syn reports at the whole attribute.
    fn incomplete(&self, error: syn::Error, example: &str) -> syn::Error {
        let said = error.to_string();
        if said.starts_with("unexpected end of input") || said == "expected `,`" {
            return self.error(format!("this setting is incomplete: write `{example}`"));
        }
        let expected = match said.as_str() {
            // Only a duration may be any literal.
            "expected literal" => "a duration with a unit",
            "expected integer literal" => "a number without quotes",
            "expected string literal" => "a text in quotes",
            "expected square brackets" => "a list in square brackets",
            "unexpected token" => "only one value",
            _ if said.starts_with("expected identifier") => "a name without quotes",
            _ => return error,
        };
        syn::Error::new(error.span(), format!("expected {expected}: write it as in `{example}`"))
    }

    /// The error for a setting after an earlier one of the same meaning.
    pub(crate) fn after(&self, first: &Self) -> syn::Error {
        if self.name == first.name {
            self.error(format!("`{}` is given twice: keep the one that you mean, and remove the other", self.name))
        } else {
            self.error(format!(
                "`{}` and `{}` exclude each other: keep the one that you mean, and remove the other",
                first.name, self.name
            ))
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

/// Code in a message, or what stands for it if it is long.
pub(crate) fn shortened(code: &str, instead: &str) -> String {
    if code.len() > 60 { instead.to_owned() } else { code.replace(" : ", ": ") }
}

/// Reads `name = number`, and the place of the number.
pub(crate) fn integer<N: FromStr<Err: Display>>(setting: &Setting, example: &str) -> syn::Result<(N, Span)> {
    let literal = setting.value(LitInt::parse, example)?;
    match literal.base10_parse() {
        Ok(number) => Ok((number, literal.span())),
        Err(_) => Err(impossible(setting, &literal, example)),
    }
}

/// The error for a number that is negative or too large. Apart from [`integer`], so that rustc compiles it once.
fn impossible(setting: &Setting, literal: &LitInt, example: &str) -> syn::Error {
    let message = format!("`{}` cannot be {literal}: write a number as in `{example}`", setting.name);
    syn::Error::new(literal.span(), message)
}

/// Reads `name = duration`.
pub(crate) fn duration(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<Duration> {
    positive(&setting.value(Lit::parse, example)?, example)
}

/// Reads a name without a value.
pub(crate) fn flag(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<()> {
    match (&setting.value, &setting.arguments) {
        (None, None) => Ok(()),
        _ => Err(setting.error(format!("`{example}` takes no value: write only `{example}`"))),
    }
}

/// Reads `name = word`.
pub(crate) fn word<W: Word>(setting: &Setting, _: &'static str, errors: &mut Errors) -> syn::Result<W> {
    W::read(&ident(setting, W::WORDS)?, errors)
}

/// The word in `name = word`. Apart from [`word`], so that rustc compiles it once.
fn ident(setting: &Setting, words: &[&str]) -> syn::Result<Ident> {
    if let Some(value) = &setting.value
        && let Ok(text) = syntax::read(value.clone(), <syn::LitStr as Parse>::parse)
        && words.contains(&text.value().as_str())
    {
        let message = format!("a word has no quotes: write `{} = {}`", setting.name, text.value());
        return Err(syn::Error::new(text.span(), message));
    }
    setting.value(Ident::parse, &format!("{} = {}", setting.name, joined(words, " | ")))
}

/// The tokens as a user would write them. (The blanks that a token stream prints depend on where it comes from.)
pub(crate) fn written(tokens: &dyn ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string();
    // Most types are one word, and macros are built without optimization.
    if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return text;
    }
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
    // rustc breaks long lines.
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    joined(&lines, " ")
}
