//! Reads `implements(..)`, which names the protocols of the handlers.

use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::{Path, Token};

use crate::errors::Errors;
use crate::settings::Setting;
use crate::syntax;

/// Reads `implements(Storage, Archive)`.
pub(crate) fn implements(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<Vec<Path>> {
    let (Some(arguments), None) = (&setting.arguments, &setting.value) else {
        return Err(setting.error(format!("`implements` takes protocols in parentheses: write `{example}`")));
    };
    let paths = syntax::read(arguments.clone(), |input: ParseStream<'_>| {
        Punctuated::<Path, Token![,]>::parse_terminated(input)
    })?;
    if paths.is_empty() {
        return Err(setting.error(format!("a protocol is missing: write `{example}`")));
    }
    for path in &paths {
        if let Some(last) = path.segments.last()
            && ["Self", "crate", "self", "super"].iter().any(|word| last.ident == word)
        {
            return Err(syn::Error::new_spanned(path, format!("a protocol is a trait: write `{example}`")));
        }
    }
    Ok(paths.into_iter().collect())
}
