//! Reads `remote`, which lets an actor's messages travel.

use syn::LitStr;
use syn::parse::Parse;

use crate::block::model::Remote;
use crate::errors::{Errors, needs_feature};
use crate::settings::Setting;

/// Reads `remote` or `remote = "shop.Feed"`.
pub(crate) fn remote(setting: &Setting, _: &'static str, _: &mut Errors) -> syn::Result<Remote> {
    if !cfg!(feature = "remote") {
        return Err(setting.error(format!("`remote` {}", needs_feature("remote"))));
    }
    if setting.value.is_none() && setting.arguments.is_none() {
        return Ok(Remote { name: None });
    }
    let name = setting.value(<LitStr as Parse>::parse, "remote = \"shop.Feed\"")?;
    if name.value().is_empty() {
        return Err(syn::Error::new(
            name.span(),
            "the name on the wire must not be empty: write one such as `remote = \"shop.Feed\"`, or only `remote` for the name of the type",
        ));
    }
    Ok(Remote { name: Some(name) })
}
