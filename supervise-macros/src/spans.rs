//! The spans of generated code.

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;

/// The whole of `tokens` where the compiler can join spans, else their first token.
pub(crate) fn of(tokens: &dyn ToTokens) -> Span {
    let (first, last) = ends(tokens);
    first.join(last).unwrap_or(first)
}

/// The first and the last of `tokens`.
pub(crate) fn ends(tokens: &dyn ToTokens) -> (Span, Span) {
    let mut tokens = tokens.to_token_stream().into_iter();
    let first = tokens.next().map_or_else(Span::call_site, |token| token.span());
    (first, tokens.last().map_or(first, |token| token.span()))
}

/// A path or type whose tokens all have `span`, so that an expression that begins with it has that span too.
pub(crate) fn path_at(path: &dyn ToTokens, span: Span) -> TokenStream {
    let mut at = TokenStream::new();
    for mut token in path.to_token_stream() {
        token.set_span(span);
        token.to_tokens(&mut at);
    }
    at
}

/// The user's name with its span, for generated code. Editors do not treat it as the user's own token.
pub(crate) fn located(ident: &Ident) -> Ident {
    let mut ident = ident.clone();
    ident.set_span(Span::mixed_site().located_at(ident.span()));
    ident
}
