//! The types in a method's signature.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::parse::Parse;
use syn::{
    AngleBracketedGenericArguments, FnArg, GenericArgument, Path, PathArguments, Receiver, ReceiverKind,
    Signature, Type,
};

use super::handler::SLOT;
use super::mentions;
use crate::block::model::reported;
use crate::errors::Errors;
use crate::settings::written;
use crate::spans;
use crate::syntax::{self, bare};

/// The last segment of a type that is a path, with its type arguments.
pub(crate) fn last_segment(ty: &Type) -> Option<(String, Vec<&Type>)> {
    let Type::Path(path) = bare(ty) else { return None };
    let segment = path.path.segments.last()?;
    let mut types = Vec::new();
    if let PathArguments::AngleBracketed(arguments) = &segment.arguments {
        for argument in &arguments.args {
            if let GenericArgument::Type(ty) = argument {
                types.push(ty);
            }
        }
    }
    Some((segment.ident.to_string(), types))
}

/// Whether `ty` is a `Context` by name, or a reference to one.
pub(crate) fn is_context(ty: &Type) -> bool {
    match ty {
        Type::Reference(reference) => is_context(&reference.elem),
        ty => is_called("Context", ty),
    }
}

/// Whether the last segment of `ty` is `name`.
pub(crate) fn is_called(name: &str, ty: &Type) -> bool {
    match last_segment(ty) {
        Some((own, _)) => own == name,
        None => false,
    }
}

/// How a method takes the actor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Borrowed {
    Shared,
    Mutably,
}

/// How `receiver` borrows the actor for a call, in either spelling: `&mut self` or `self: &mut Self`.
pub(crate) fn borrowed(receiver: &Receiver) -> Option<Borrowed> {
    let mutable = match &receiver.kind {
        ReceiverKind::Reference(_, None, mutability) => mutability.is_some(),
        ReceiverKind::Typed(_, ty) => match &**ty {
            Type::Reference(reference) if reference.lifetime.is_none() && written(&reference.elem) == "Self" => {
                reference.mutability.is_some()
            }
            _ => return None,
        },
        _ => return None,
    };
    Some(if mutable { Borrowed::Mutably } else { Borrowed::Shared })
}

/// Whether `ty` is `()`.
pub(crate) fn is_unit(ty: &Type) -> bool {
    matches!(ty, Type::Tuple(tuple) if tuple.elems.is_empty())
}

/// Refuses any spelling of the context but `&mut Context<Self>`.
pub(crate) fn check_context(ty: &Type, errors: &mut Errors) {
    if !matches!(ty, Type::Reference(reference) if reference.mutability.is_some()) {
        errors.at(ty, "the context is a mutable reference: write `&mut Context<Self>`");
    }
}

/// Refuses `Context` without its actor and `ReplyTo` without its answer, and adds them, so that rustc does not report them once more.
pub(crate) fn complete(signature: &mut Signature, mistakes: &Ident, errors: &mut Errors) {
    for input in &mut signature.inputs {
        let FnArg::Typed(input) = input else { continue };
        let mut ty = &mut *input.ty;
        while let Type::Reference(reference) = ty {
            ty = &mut reference.elem;
        }
        let Type::Path(path) = ty else { continue };
        let Some(last) = path.path.segments.last_mut().filter(|last| last.arguments.is_none()) else { continue };
        let argument = if last.ident == "Context" {
            errors.at(&last.ident, "the context names its actor: write `&mut Context<Self>`");
            quote_spanned!(last.ident.span()=> <Self>)
        } else if last.ident == SLOT {
            let message = "the reply slot needs the type of the answer: write it as in `ReplyTo<u32>`";
            errors.at(&last.ident, message);
            let answer = reported(mistakes, &last.ident);
            quote_spanned!(last.ident.span()=> <#answer>)
        } else {
            continue;
        };
        if let Ok(arguments) = syntax::read(argument, AngleBracketedGenericArguments::parse) {
            last.arguments = PathArguments::AngleBracketed(arguments);
        }
    }
}

/// Writes the context's type by a macro, whose name is the mend that rustc shows if `Context` is the trait of `anyhow`. `krate` is the path
/// of our crate.
pub(super) fn name_context(signature: &mut Signature, krate: &Path) {
    for input in &mut signature.inputs {
        let FnArg::Typed(input) = input else { continue };
        let Type::Reference(reference) = &mut *input.ty else { continue };
        let Type::Path(path) = &*reference.elem else { continue };
        if path.path.leading_colon.is_some() || path.path.segments.len() != 1 || !is_context(&reference.elem) {
            continue;
        }
        let here = Span::mixed_site().located_at(path.path.segments[0].ident.span());
        let (arguments, at) = (&path.path.segments[0].arguments, spans::path_at(krate, here));
        *reference.elem = Type::Verbatim(quote_spanned!(here=>
            #at::__private::Context_is_anyhow_Context_here__write_use_anyhow_Context_as_underscore!(#arguments)
        ));
    }
}

/// The type with the actor's type instead of `Self`, for use outside the impl block.
pub(crate) fn without_self(ty: &Type, actor: &Type) -> Type {
    if matches!(ty, Type::Path(path) if path.path.get_ident().is_some_and(|name| name != "Self")) {
        return ty.clone();
    }
    let tokens = ty.to_token_stream();
    if !mentions(tokens.clone(), "Self") {
        return ty.clone();
    }
    let tokens = replace_self(tokens, &actor.to_token_stream());
    syntax::read(tokens, Type::parse).unwrap_or_else(|_| ty.clone())
}

/// Keeps `Self::Item`, because `Self` before `::` is not a type of its own.
fn replace_self(tokens: TokenStream, actor: &TokenStream) -> TokenStream {
    let mut replaced = TokenStream::new();
    let mut tokens = tokens.into_iter();
    let mut next = tokens.next();
    while let Some(token) = next {
        next = tokens.next();
        match token {
            TokenTree::Ident(word) if word == "Self" && !begins_path(next.as_ref()) => {
                actor.to_tokens(&mut replaced);
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), replace_self(group.stream(), actor));
                inner.set_span(group.span());
                inner.to_tokens(&mut replaced);
            }
            token => token.to_tokens(&mut replaced),
        }
    }
    replaced
}

fn begins_path(next: Option<&TokenTree>) -> bool {
    matches!(next, Some(TokenTree::Punct(punct)) if punct.as_char() == ':')
}

/// Shows `visit` each type of which a value of `ty` directly consists. Types in a function pointer or in a trait's bounds are not
/// among them.
pub(crate) fn each_held(ty: &Type, visit: &mut dyn FnMut(&Type)) {
    match ty {
        Type::Array(array) => visit(&array.elem),
        Type::Group(group) => visit(&group.elem),
        Type::Paren(paren) => visit(&paren.elem),
        Type::Ptr(pointer) => visit(&pointer.elem),
        Type::Reference(reference) => visit(&reference.elem),
        Type::Slice(slice) => visit(&slice.elem),
        Type::Tuple(tuple) => {
            for element in &tuple.elems {
                visit(element);
            }
        }
        Type::Path(path) => {
            if let Some(qself) = &path.qself {
                visit(&qself.ty);
            }
            each_argument(&path.path, &mut |argument| match argument {
                GenericArgument::Type(ty) => visit(ty),
                GenericArgument::AssocType(associated) => visit(&associated.ty),
                _ => {}
            });
        }
        _ => {}
    }
}

/// Shows `visit` each argument in angle brackets in `path`.
pub(crate) fn each_argument(path: &Path, visit: &mut dyn FnMut(&GenericArgument)) {
    for segment in &path.segments {
        if let PathArguments::AngleBracketed(arguments) = &segment.arguments {
            for argument in &arguments.args {
                visit(argument);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ty(text: &str) -> Type {
        syn::parse_str(text).expect("it is a type")
    }

    #[test]
    fn self_is_replaced_wherever_it_is_a_type() {
        for (written, replaced) in [
            ("Self", "Feed<T>"),
            ("(Self, Box<[Self; 2]>)", "(Feed<T>, Box<[Feed<T>; 2]>)"),
            ("fn(&Self) -> Self", "fn(&Feed<T>) -> Feed<T>"),
            ("Box<dyn Fn(Self) -> Option<Self>>", "Box<dyn Fn(Feed<T>) -> Option<Feed<T>>>"),
            ("<Self as Source>::Item", "<Feed<T> as Source>::Item"),
            ("Self::Item", "Self::Item"),
        ] {
            let ours = without_self(&ty(written), &ty("Feed<T>")).to_token_stream().to_string();
            assert_eq!(ours, ty(replaced).to_token_stream().to_string(), "{written}");
        }
    }

    #[test]
    fn a_type_holds_what_its_values_are_made_of() {
        for (outer, inner) in [
            ("[A; 2]", vec!["A"]),
            ("&'static [A]", vec!["[A]"]),
            ("(A, *const B)", vec!["A", "* const B"]),
            ("<A as B<C>>::D<'a, E>", vec!["A", "C", "E"]),
            ("Box<dyn Fn(&A)>", vec!["dyn Fn (& A)"]),
            ("dyn Fn(&A) -> B", vec![]),
            ("fn(&A) -> B", vec![]),
        ] {
            let ty = ty(outer);
            let mut held = Vec::new();
            each_held(&ty, &mut |inner| held.push(inner.to_token_stream().to_string()));
            assert_eq!(held, inner, "{outer}");
        }
    }
}
