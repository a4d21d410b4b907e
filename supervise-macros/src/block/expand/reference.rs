//! Writes the methods of the actor's ref.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;

use super::{batch, with_default_doc};
use crate::block::model::{Block, Handler, Mistake};
use crate::spans::{self, located};

/// The methods of `FeedRef`.
pub(super) fn reference(block: &Block) -> TokenStream {
    let (reference, generics) = (&block.reference, block.sendable());
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let mut methods = TokenStream::new();
    for handler in &block.handlers {
        // The ref's own method of this name remains.
        if handler.mistake != Some(Mistake::Name) {
            methods.extend(request(block, handler));
        }
    }
    quote_spanned! {Span::mixed_site()=>
        #[allow(dead_code, unreachable_pub)]
        #[allow(clippy::too_many_arguments, clippy::type_complexity)]
        impl #impl_generics #reference #where_clause {
            #methods
        }
    }
}

fn request(block: &Block, handler: &Handler) -> TokenStream {
    let Block { krate, actor, message, .. } = block;
    let Handler { ident, variant, docs, .. } = handler;
    let mixed = Span::mixed_site();
    let variant = located(variant);
    let docs = with_default_doc(docs, &format!("A request for `{ident}`."));
    let (mut names, mut types) = (Vec::new(), Vec::new());
    for field in &handler.fields {
        names.push(located(&field.ident));
        types.push(&field.ty);
    }
    let reply =
        if handler.batch.is_some() { batch::reply(&handler.reply, krate) } else { handler.reply.ty(krate) };
    // rustc reports a reply that is not `Send` here and at its handler, which is the same place.
    let at = handler.reply.span();
    let sent = spans::path_at(krate, at);
    let request = quote_spanned!(at=> #sent::__private::request::<_, _, #reply>);
    // Not empty streams, because `quote` copies what is before a stream.
    let inline = handler.arguments.inline.value.map(|()| quote_spanned!(mixed=> .inline()));
    let (mut kind, mut transient) = (None, None);
    if handler.arguments.transient.given().is_some() {
        kind = Some(quote_spanned!(mixed=> , #krate::Transient));
        transient = Some(quote_spanned!(mixed=> .transient()));
    }
    quote_spanned! {mixed=>
        #docs
        pub fn #ident(&self #(, #names: #types)*) -> #krate::Request<'_, #actor, #reply #kind> {
            #request(self.actor_ref(), #message::#variant { #(#names,)* }) #transient #inline
        }
    }
}
