//! Reads `message(..)`, which says what the enum of the messages looks like.

use proc_macro2::Ident;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::{LitStr, Path, Token, Visibility};

use crate::errors::Errors;
use crate::grammar::Arguments;
use crate::grammar::arguments::MessageArguments;
use crate::settings::Setting;
use crate::syntax;

/// Reads `message(..)`.
pub(crate) fn message(setting: &Setting, _: &'static str, errors: &mut Errors) -> syn::Result<MessageArguments> {
    if setting.arguments.is_none() && setting.value.is_none() {
        let message =
            "`message` needs settings in parentheses: write `message(derive(Clone))`, or remove `message`";
        return Err(syn::Error::new(setting.span(), message));
    }
    let arguments = setting.call("derive(Clone)")?;
    Ok(MessageArguments::read(arguments, errors))
}

/// Reads `name = OrderCommand`.
pub(crate) fn name(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<Ident> {
    let name = |input: ParseStream<'_>| {
        unquoted(input)?;
        input.parse()
    };
    setting.value(name, example)
}

/// Reads `vis = pub(crate)`.
pub(crate) fn visibility(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<Visibility> {
    let visibility = |input: ParseStream<'_>| {
        unquoted(input)?;
        match input.parse()? {
            Visibility::Inherited => {
                Err(input.error("expected a visibility: write `pub`, `pub(crate)` or `pub(super)`"))
            }
            visibility => Ok(visibility),
        }
    };
    setting.value(visibility, example)
}

/// Reads `derive(Clone, PartialEq)`.
pub(crate) fn derives(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<Vec<Path>> {
    let (Some(arguments), None) = (&setting.arguments, &setting.value) else {
        return Err(setting.error(format!("`derive` takes traits in parentheses: write `{example}`")));
    };
    let paths = syntax::read(arguments.clone(), |input: ParseStream<'_>| {
        Punctuated::<Path, Token![,]>::parse_terminated_with(input, Path::parse_mod_style)
    })?;
    Ok(paths.into_iter().collect())
}

fn unquoted(input: ParseStream<'_>) -> syn::Result<()> {
    if let Ok(text) = input.fork().parse::<LitStr>() {
        let message = format!("write it without quotes: `{}`", text.value());
        return Err(syn::Error::new(text.span(), message));
    }
    Ok(())
}
