//! The syntax of an impl block. Bodies remain tokens: parsing them takes build time, and a body that the user is still typing is not
//! an error.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::discouraged::Speculative;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Generics, Signature, Token, Type, Visibility, braced, token};

/// An impl block.
pub(crate) struct Block {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) unsafety: Option<Token![unsafe]>,
    pub(crate) impl_token: Token![impl],
    pub(crate) generics: Generics,
    /// The trait of `impl Trait for Type`.
    pub(crate) of_trait: Option<(Type, Token![for])>,
    pub(crate) self_ty: Type,
    pub(crate) brace: token::Brace,
    pub(crate) members: Vec<Member>,
}

/// One item of the block.
pub(crate) enum Member {
    Method(Box<Method>),
    /// Anything else, with its attributes.
    Other(Vec<Attribute>, TokenStream),
}

/// A function of the block.
pub(crate) struct Method {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) signature: Signature,
    pub(crate) body: TokenTree,
    /// Whether an attribute of ours says what the method is for.
    pub(crate) has_role: bool,
}

impl Parse for Block {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let unsafety = input.parse()?;
        let impl_token = input.parse()?;
        let mut generics: Generics = input.parse()?;
        let mut self_ty: Type = input.parse()?;
        let mut of_trait = None;
        if let Some(for_token) = input.parse::<Option<Token![for]>>()? {
            of_trait = Some((std::mem::replace(&mut self_ty, input.parse()?), for_token));
        }
        generics.where_clause = input.parse()?;
        let content;
        let brace = braced!(content in input);
        let mut members = Vec::new();
        while !content.is_empty() {
            members.push(content.parse()?);
        }
        Ok(Self { attrs, unsafety, impl_token, generics, of_trait, self_ty, brace, members })
    }
}

impl Parse for Member {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let ahead = input.fork();
        if let (Ok(vis), Ok(signature)) = (ahead.parse(), ahead.parse())
            && (ahead.peek(token::Brace) || ahead.peek(Token![;]))
        {
            input.advance_to(&ahead);
            return Ok(Self::Method(Box::new(Method {
                attrs,
                vis,
                signature,
                body: input.parse()?,
                has_role: false,
            })));
        }
        Ok(Self::Other(attrs, up_to_end_of_item(input)?))
    }
}

/// Takes tokens up to a `;` or a braced group. rustc reports mistakes in them.
fn up_to_end_of_item(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut tokens = TokenStream::new();
    while !input.is_empty() {
        let token: TokenTree = input.parse()?;
        let last = match &token {
            TokenTree::Punct(punct) => punct.as_char() == ';',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            TokenTree::Ident(_) | TokenTree::Literal(_) => false,
        };
        token.to_tokens(&mut tokens);
        if last {
            break;
        }
    }
    Ok(tokens)
}

impl ToTokens for Block {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        for attribute in &self.attrs {
            attribute.to_tokens(tokens);
        }
        self.unsafety.to_tokens(tokens);
        self.impl_token.to_tokens(tokens);
        self.generics.to_tokens(tokens);
        if let Some((of_trait, for_token)) = &self.of_trait {
            of_trait.to_tokens(tokens);
            for_token.to_tokens(tokens);
        }
        self.self_ty.to_tokens(tokens);
        self.generics.where_clause.to_tokens(tokens);
        self.brace.surround(tokens, |tokens| {
            for member in &self.members {
                member.to_tokens(tokens);
            }
        });
    }
}

impl ToTokens for Member {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Method(method) => {
                for attribute in &method.attrs {
                    attribute.to_tokens(tokens);
                }
                method.vis.to_tokens(tokens);
                method.signature.to_tokens(tokens);
                method.body.to_tokens(tokens);
            }
            Self::Other(attrs, rest) => {
                for attribute in attrs {
                    attribute.to_tokens(tokens);
                }
                rest.to_tokens(tokens);
            }
        }
    }
}
