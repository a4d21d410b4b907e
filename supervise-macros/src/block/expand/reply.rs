//! The types of replies and errors in generated code.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::Path;

use crate::block::model::{Fallible, Reply};
use crate::spans;

impl Reply {
    /// The place where rustc reports that the reply is not `Send`.
    pub(super) fn span(&self) -> Span {
        match self {
            Self::Unit => Span::mixed_site(),
            Self::Plain(ty) | Self::Wrapped(ty) => spans::of(ty),
            Self::Fallible(fallible) => spans::of(&fallible.returned),
            Self::Later(later) => spans::of(&later.ty),
        }
    }

    /// The type of the reply.
    pub(super) fn ty(&self, krate: &Path) -> TokenStream {
        match self {
            Self::Unit => quote!(()),
            Self::Plain(ty) | Self::Wrapped(ty) => quote!(#ty),
            Self::Fallible(fallible) => fallible.ok(krate),
            Self::Later(later) => later.ty.to_token_stream(),
        }
    }
}

impl Fallible {
    /// The type of success.
    fn ok(&self, krate: &Path) -> TokenStream {
        match &self.sides {
            Some((ok, _)) => ok.to_token_stream(),
            None => self.as_result("Ok", krate),
        }
    }

    /// The type of the error.
    pub(super) fn err(&self, krate: &Path) -> TokenStream {
        match &self.sides {
            Some((_, err)) => err.to_token_stream(),
            None => self.as_result("Err", krate),
        }
    }

    /// The returned value as a `Result`. If only its name says that it is a `Result`, a `match` on it would cause one more
    /// error.
    pub(super) fn result(&self, returned: &TokenStream, krate: &Path) -> TokenStream {
        if self.sides.is_some() {
            return returned.clone();
        }
        let into_result = self.as_result("into_result", krate);
        quote_spanned!(spans::of(&self.returned)=> #into_result(#returned))
    }

    /// A member of the alias. Each mention has the type's span, so that rustc reports a wrong alias once.
    fn as_result(&self, name: &str, krate: &Path) -> TokenStream {
        let (returned, here) = (&self.returned, spans::of(&self.returned));
        let (krate, name) = (spans::path_at(krate, here), Ident::new(name, Span::mixed_site().located_at(here)));
        quote_spanned!(here=> <#returned as #krate::__private::ResultLike>::#name)
    }
}
