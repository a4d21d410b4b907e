//! Writes how an actor's messages travel.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::ext::IdentExt;

use super::{batch, message};
use crate::block::model::{Block, Handler};
use crate::generics::derivation;
use crate::spans::{self, located};

/// `RemoteActor` for the actor and `serde`'s traits for its ref, if the block is `remote`.
pub(super) fn remote(block: &Block) -> Vec<TokenStream> {
    let Some(remote) = &block.remote else { return Vec::new() };
    let Block { krate, actor, reference, generics, .. } = block;
    let mixed = Span::mixed_site();
    let name = remote.name.as_ref().map_or_else(|| block.name.unraw().to_string(), syn::LitStr::value);
    let envelope = message::envelope(block);
    let (mut contract, mut written, mut read) = (TokenStream::new(), TokenStream::new(), TokenStream::new());
    for handler in &block.handlers {
        if handler.arguments.local.value.is_some() || !handler.is_sound() {
            let refused = quote_spanned!(mixed=> __out.refuse(__reply));
            written.extend(message::named_arm(block, handler, &refused));
            continue;
        }
        contract.extend(entry(block, handler));
        written.extend(write(block, handler));
        read.extend(self::read(block, handler));
    }
    let never = message::never_arm(block);
    let members = quote_spanned! {mixed=>
        const NAME: &'static ::core::primitive::str = #name;
        const CONTRACT: &'static [#krate::remote::RemoteHandler] = &[#contract];

        #[allow(unused_variables)]
        fn encode(
            __message: #envelope,
            __out: &mut #krate::remote::Outgoing,
        ) -> ::core::result::Result<(), #krate::remote::Unsendable> {
            let (__message, __reply) = __message.into_parts();
            match __message {
                #written
                #never
            }
        }

        #[allow(unused_variables)]
        fn decode(
            __handler: &::core::primitive::str,
            __arguments: &mut #krate::remote::Arguments<'_>,
        ) -> ::core::result::Result<#envelope, #krate::remote::Undecodable> {
            match __handler {
                #read
                _ => ::core::result::Result::Err(#krate::remote::Undecodable::UnknownMessage),
            }
        }
    };
    let serde = quote_spanned!(mixed=> #krate::__private::serde);
    let of = quote_spanned!(mixed=> #krate::remote::RemoteActor);
    let serialize = quote_spanned! {mixed=>
        fn serialize<__S: #serde::Serializer>(
            &self,
            serializer: __S,
        ) -> ::core::result::Result<__S::Ok, __S::Error> {
            #serde::Serialize::serialize(#krate::TypedRef::actor_ref(self), serializer)
        }
    };
    let deserialize = quote_spanned! {mixed=>
        #[automatically_derived]
        impl<'de> #serde::Deserialize<'de> for #reference {
            fn deserialize<__D: #serde::Deserializer<'de>>(
                deserializer: __D,
            ) -> ::core::result::Result<Self, __D::Error> {
                ::core::result::Result::map(
                    <#krate::ActorRef<#actor> as #serde::Deserialize<'de>>::deserialize(deserializer),
                    <Self as ::core::convert::From<#krate::ActorRef<#actor>>>::from,
                )
            }
        }
    };
    vec![
        derivation(generics, of, actor, members),
        derivation(generics, quote_spanned!(mixed=> #serde::Serialize), reference, serialize),
        deserialize,
    ]
}

/// The handler in the contract: its name, and those of its arguments.
fn entry(block: &Block, handler: &Handler) -> TokenStream {
    let (krate, cfgs) = (&block.krate, &handler.cfgs);
    let (name, message) = (handler.ident.unraw().to_string(), handler.variant.to_string());
    let mut arguments = TokenStream::new();
    for field in &handler.fields {
        let name = field.ident.unraw().to_string();
        arguments.extend(quote_spanned!(Span::mixed_site()=> #name,));
    }
    quote_spanned! {Span::mixed_site()=>
        #cfgs
        #krate::remote::RemoteHandler { name: #name, message: #message, arguments: &[#arguments] },
    }
}

/// How a value of this type travels. rustc reports at the type that it cannot, and only once, because all calls are alike.
fn codec(block: &Block, ty: &TokenStream, at: Span) -> TokenStream {
    let krate = spans::path_at(&block.krate, at);
    quote_spanned!(at=> #krate::remote::codec::<#ty>())
}

fn reply(block: &Block, handler: &Handler) -> TokenStream {
    let krate = &block.krate;
    let ty = if handler.batch.is_some() { batch::reply(&handler.reply, krate) } else { handler.reply.ty(krate) };
    codec(block, &ty, handler.reply.span())
}

fn write(block: &Block, handler: &Handler) -> TokenStream {
    let (message, cfgs, variant) = (&block.message, &handler.cfgs, located(&handler.variant));
    let (name, reply) = (handler.ident.unraw().to_string(), reply(block, handler));
    let (mut names, mut written) = (TokenStream::new(), TokenStream::new());
    for field in &handler.fields {
        let (ident, ty) = (located(&field.ident), &field.ty);
        let codec = codec(block, &quote_spanned!(spans::of(ty)=> #ty), spans::of(ty));
        names.extend(quote_spanned!(Span::mixed_site()=> #ident,));
        written.extend(quote_spanned!(Span::mixed_site()=> __out.argument(&#ident, #codec)?;));
    }
    quote_spanned! {Span::mixed_site()=>
        #cfgs
        #message::#variant { #names } => {
            __out.begin(#name, __reply, #reply);
            #written
            ::core::result::Result::Ok(())
        }
    }
}

fn read(block: &Block, handler: &Handler) -> TokenStream {
    let (krate, message, cfgs) = (&block.krate, &block.message, &handler.cfgs);
    let (variant, name, reply) =
        (located(&handler.variant), handler.ident.unraw().to_string(), reply(block, handler));
    let mixed = Span::mixed_site();
    let (mut begin, mut arms, mut given) = (TokenStream::new(), TokenStream::new(), TokenStream::new());
    for field in &handler.fields {
        let (ident, ty, text) = (located(&field.ident), &field.ty, field.ident.unraw().to_string());
        let codec = codec(block, &quote_spanned!(spans::of(ty)=> #ty), spans::of(ty));
        begin.extend(quote_spanned!(mixed=> let mut #ident = ::core::option::Option::None;));
        arms.extend(quote_spanned! {mixed=>
            #text => #ident = ::core::option::Option::Some(__arguments.read(#codec)?),
        });
        given.extend(quote_spanned!(mixed=> #ident: #krate::remote::Arguments::given(#ident, #codec)?,));
    }
    quote_spanned! {mixed=>
        #cfgs
        #name => {
            #begin
            while let ::core::option::Option::Some(__name) = __arguments.next_name() {
                match __name {
                    #arms
                    _ => __arguments.skip()?,
                }
            }
            let __message = #message::#variant { #given };
            ::core::result::Result::Ok(__arguments.envelope(__message, #reply))
        }
    }
}
