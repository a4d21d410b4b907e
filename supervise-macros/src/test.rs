//! `#[supervise::test]`: an async test function becomes one that the test harness can run.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::Parse;
use syn::spanned::Spanned;

use crate::errors::beside;
use crate::syntax;

pub(crate) fn attribute(arguments: &TokenStream, item: TokenStream) -> TokenStream {
    match syntax::read(item.clone(), syn::ItemFn::parse) {
        Ok(function) => expand(arguments, &function),
        Err(error) => beside(&item, error),
    }
}

fn expand(arguments: &TokenStream, function: &syn::ItemFn) -> TokenStream {
    let syn::ItemFn { attrs, vis, sig, block, .. } = function;
    let syn::Signature { ident, inputs, output, .. } = sig;
    let mistake = if !arguments.is_empty() {
        Some((arguments.span(), "`#[supervise::test]` takes no arguments"))
    } else if sig.asyncness.is_none() {
        Some((sig.fn_token.span(), "write `async fn`: the test runs on a runtime of its own"))
    } else if inputs.len() > 1 {
        Some((inputs.span(), "a test takes at most one parameter: `system: &TestSystem`"))
    } else if let Some(syn::FnArg::Typed(input)) = inputs.first()
        && matches!(*input.ty, syn::Type::Path(_))
    {
        Some((input.ty.span(), "a test borrows its system: write `system: &TestSystem`"))
    } else {
        None
    };
    if let Some((span, message)) = mistake {
        return beside(&quote!(#[allow(dead_code)] #function), syn::Error::new(span, message));
    }
    let system =
        inputs.first().map_or_else(|| quote!(_: &::supervise::testkit::TestSystem), |input| quote!(#input));
    quote! {
        #[::core::prelude::v1::test]
        #(#attrs)*
        #vis fn #ident() #output {
            ::supervise::testkit::run(async move |#system| #output #block)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_async_function_becomes_a_test() {
        let expanded = attribute(
            &TokenStream::new(),
            quote!(
                async fn restarts(system: &TestSystem) {
                    body()
                }
            ),
        );
        let file: syn::File = syn::parse2(expanded).unwrap();
        let [syn::Item::Fn(test)] = &file.items[..] else { panic!("one function") };
        assert!(test.sig.asyncness.is_none() && test.sig.inputs.is_empty());
        assert_eq!(test.attrs.len(), 1);
    }

    #[test]
    fn a_wrong_test_keeps_its_function() {
        for wrong in [
            quote!(
                fn f() {}
            ),
            quote!(
                async fn f(a: &A, b: &B) {}
            ),
            quote!(
                async fn f(system: TestSystem) {}
            ),
        ] {
            let expanded = attribute(&TokenStream::new(), wrong).to_string();
            assert!(expanded.contains("compile_error") && expanded.contains("fn f"), "{expanded}");
        }
    }
}
