//! Makes rustc explain that a method which is called through the ref is not a handler.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::parse::Parse;
use syn::{GenericParam, Signature};

use crate::attributes;
use crate::block::model::Block;
use crate::block::parse::syntax::{Member, Method};
use crate::generics::require;
use crate::spans::{located, path_at};
use crate::syntax;

/// For each ordinary method of the block, a method of the ref that cannot be called: its impl block has a bound that nothing
/// satisfies. rustc reports the bound where the method is called, and prefers methods whose bounds hold. The lifetime keeps
/// rustc from reporting the condition here.
pub(super) fn ordinary(block: &Block) -> Vec<TokenStream> {
    let mut all = Vec::new();
    for member in &block.item.members {
        if let Member::Method(method) = member
            && !method.has_role
            && method.signature.receiver().is_some()
        {
            all.push(unreachable(block, method));
        }
    }
    all
}

fn unreachable(block: &Block, Method { attrs, signature, .. }: &Method) -> TokenStream {
    let Block { krate, reference, .. } = block;
    let Signature { ident, .. } = signature;
    let here = Span::mixed_site().located_at(ident.span());
    let mut generics = block.generics.clone();
    let lifetime = quote_spanned!(Span::mixed_site()=> '__call);
    let parameter = syntax::read(lifetime.clone(), GenericParam::parse).expect("a lifetime of ours");
    generics.params.insert(0, parameter);
    let condition = path_at(&quote!(#krate::__private::HasHandlerAttribute), here);
    require(&mut generics, quote_spanned!(here=> #reference: #condition<#lifetime>));
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let (name, cfgs) = (located(ident), attributes::cfgs(attrs));
    quote_spanned! {Span::mixed_site()=>
        #[doc(hidden)]
        #cfgs
        #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
        impl #impl_generics #reference #where_clause {
            pub fn #name(&self) {}
        }
    }
}
