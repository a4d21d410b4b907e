//! Reads `implements(..)`, which names the protocols of the handlers.

use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::{Path, Token};

use crate::errors::{Errors, needs_feature};
use crate::settings::{Setting, written};
use crate::syntax;

/// Reads `implements(Storage, Archive)`.
pub(crate) fn implements(setting: &Setting, example: &'static str, _: &mut Errors) -> syn::Result<Vec<Path>> {
    if !cfg!(feature = "protocol") {
        return Err(setting.error(format!("`implements` {}", needs_feature("protocol"))));
    }
    let protocols = |input: ParseStream<'_>| Punctuated::<Path, Token![,]>::parse_terminated(input);
    if let (Some(arguments), None) = (&setting.arguments, &setting.value)
        && let Ok(paths) = syntax::read(arguments.clone(), protocols)
        && !paths.is_empty()
        && paths.iter().all(is_item)
    {
        return Ok(paths.into_iter().collect());
    }
    if let Some(value) = &setting.value {
        let protocol = written(value);
        return Err(
            setting.error(format!("`implements` takes protocols in parentheses: write `implements({protocol})`"))
        );
    }
    Err(setting.error(format!("`implements` takes one or more protocols in parentheses, as in `{example}`: write them, or remove `implements`")))
}

/// Whether the path can be that of a trait, and of the macro that has its name.
fn is_item(path: &Path) -> bool {
    let mut words = path.segments.iter().map(|segment| &segment.ident);
    let is_type = path.segments.iter().any(|segment| segment.ident == "Self");
    let is_module =
        words.next_back().is_some_and(|last| ["crate", "self", "super"].iter().any(|word| last == word));
    !is_type && !is_module
}
