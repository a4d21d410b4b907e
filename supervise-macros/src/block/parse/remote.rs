//! Reads `remote`, which lets an actor's messages travel.

use syn::LitStr;
use syn::parse::Parse;

use crate::block::model::Remote;
use crate::errors::Errors;
use crate::settings::Setting;

/// Reads `remote` or `remote = "shop.Feed"`.
pub(crate) fn remote(setting: &Setting, _: &'static str, _: &mut Errors) -> syn::Result<Remote> {
    if !cfg!(feature = "remote") {
        return Err(
            setting.error("`remote` needs the feature `remote` of `supervise-actors`: add it in `Cargo.toml`")
        );
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
