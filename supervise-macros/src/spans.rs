//! Where generated code points.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// The whole of `tokens` where the compiler can join spans, else their first token.
pub(crate) fn of(tokens: &dyn ToTokens) -> Span {
    let tokens: TokenStream = tokens.to_token_stream();
    let mut spans = tokens.into_iter().map(|token| token.span());
    let Some(first) = spans.next() else {
        return Span::call_site();
    };
    spans.last().and_then(|last| first.join(last)).unwrap_or(first)
}

/// A path whose every token points to `span`, so that an expression that begins with it does too.
pub(crate) fn path_at(path: &syn::Path, span: Span) -> TokenStream {
    let mut at = TokenStream::new();
    for mut token in path.to_token_stream() {
        token.set_span(span);
        at.extend([token]);
    }
    at
}
