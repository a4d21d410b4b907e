//! One `#[handler]` method: its message, its arguments and what becomes of what it returns.

use heck::ToUpperCamelCase;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::ext::IdentExt;
use syn::{Attribute, FnArg, GenericArgument, LitInt, Meta, Pat, ReturnType, Signature, Type};

use super::expand::located;
use super::model::check_signature;
use super::types::{
    borrowed, check_context, each_argument, each_held, is_context, is_unit, last_segment, without_self,
};
use crate::attributes;
use crate::errors::{Errors, unknown};
use crate::settings::{self, Setting, written};

/// What Rust's own traits call methods of the ref.
const RESERVED: &[&str] = &["clone", "eq", "hash", "deref", "into", "actor_ref"];

/// A method that handles one kind of message.
pub(crate) struct Handler {
    pub(crate) ident: Ident,
    pub(crate) variant: Ident,
    /// What the variant and the ref's method share with the handler.
    pub(crate) docs: Vec<Attribute>,
    pub(crate) cfgs: TokenStream,
    pub(crate) is_async: bool,
    pub(crate) arguments: Vec<Argument>,
    /// What the method is called with: the context and arguments, as generated code names them.
    pub(crate) call: Vec<Ident>,
    pub(crate) reply: Reply,
    pub(crate) redeliver: Option<u32>,
    /// Whether its message starts the receive timeout anew.
    pub(crate) influencing: bool,
    /// Whether an asker may run it itself.
    pub(crate) inline: bool,
}

/// An argument that travels in the message.
pub(crate) struct Argument {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    /// Whether `ty` may stand in a message at all.
    pub(crate) sound: bool,
}

/// What a handler returns.
pub(crate) enum Reply {
    /// Nothing.
    Unit,
    /// A value that is the reply.
    Plain(Type),
    /// `Reply<T>`
    Wrapped(Type),
    /// A `Result`: the reply or a failure.
    Fallible(Box<Fallible>),
    /// A type that cannot be replied; was reported.
    Unsound,
}

/// A type whose last segment is `Result`.
pub(crate) struct Fallible {
    pub(crate) returned: Type,
    /// The type of success, where it is written out.
    ok: Option<Type>,
    /// The type of failure, where it is written out.
    err: Option<Type>,
}

impl Fallible {
    /// Reads a return type, if it is some `Result`.
    pub(crate) fn of(ty: &Type) -> Option<Self> {
        let (name, types) = last_segment(ty)?;
        if name != "Result" {
            return None;
        }
        let (ok, err) = match types.as_slice() {
            [ok, err] => (Some((*ok).clone()), Some((*err).clone())),
            _ => (None, None),
        };
        Some(Self { returned: ty.clone(), ok, err })
    }

    pub(crate) fn ok(&self, krate: &syn::Path) -> TokenStream {
        self.side(self.ok.as_ref(), "Ok", krate)
    }

    pub(crate) fn err(&self, krate: &syn::Path) -> TokenStream {
        self.side(self.err.as_ref(), "Err", krate)
    }

    /// Both sides for a reader; behind an alias, the alias.
    pub(crate) fn spoken(&self) -> (Option<String>, Option<String>) {
        match (&self.ok, &self.err) {
            (Some(ok), Some(err)) => {
                let ok = written(ok);
                (if ok == "()" { None } else { Some(ok) }, Some(written(err)))
            }
            _ => (Some(written(&self.returned)), None),
        }
    }

    /// Where to say that the error is none.
    pub(crate) fn err_span(&self) -> Span {
        match &self.err {
            Some(err) => crate::spans::of(err),
            None => crate::spans::of(&self.returned),
        }
    }

    fn side(&self, written: Option<&Type>, name: &str, krate: &syn::Path) -> TokenStream {
        if let Some(ty) = written {
            return ty.to_token_stream();
        }
        self.as_result(name, krate)
    }

    /// What a handler returned, as a `Result` by name: what is none is not to be reported by a `match` as well.
    pub(crate) fn result(&self, returned: &TokenStream, krate: &syn::Path) -> TokenStream {
        if self.ok.is_some() {
            return returned.clone();
        }
        let into_result = self.as_result("into_result", krate);
        quote_spanned!(crate::spans::of(&self.returned)=> #into_result(#returned))
    }

    /// Every mention points to the type, so that rustc complains about it in one place.
    fn as_result(&self, name: &str, krate: &syn::Path) -> TokenStream {
        let (returned, here) = (&self.returned, crate::spans::of(&self.returned));
        let (krate, name) =
            (crate::spans::path_at(krate, here), Ident::new(name, Span::mixed_site().located_at(here)));
        quote_spanned!(here=> <#returned as #krate::__private::ResultLike>::#name)
    }
}

impl Handler {
    /// Reads a handler. What is wrong with it goes to `errors`; the rest of it is kept for those who call it.
    pub(crate) fn read(
        attribute: &Attribute,
        attrs: &[Attribute],
        signature: &Signature,
        actor: &Type,
        errors: &mut Errors,
    ) -> Self {
        let ident = signature.ident.clone();
        check_signature("handler", signature, errors);
        let name = ident.unraw().to_string();
        if RESERVED.contains(&name.as_str()) {
            let message = format!(
                "a handler becomes a method of the actor's ref, and `{name}` is one already: give the handler another name"
            );
            errors.at(&ident, message);
        }
        let Settings { redeliver, not_influencing, inline } = Settings::read(attribute, errors);
        if let (Some(()), Some(keyword)) = (inline, &signature.asyncness) {
            let message = "an inline handler has its asker's task wait for it, so it must not wait itself: remove this `async`, or remove `inline`";
            errors.at(keyword, message);
        }
        let mut handler = Self {
            variant: variant(&ident),
            docs: travelling(attrs),
            cfgs: attributes::cfgs(attrs),
            is_async: signature.asyncness.is_some(),
            arguments: Vec::new(),
            call: Vec::new(),
            reply: Reply::Unit,
            redeliver,
            influencing: not_influencing.is_none(),
            inline: inline.is_some(),
            ident,
        };
        Self::check_receiver(signature, errors);
        handler.inputs(signature, actor, errors);
        handler.output(signature, actor, errors);
        handler
    }

    fn check_receiver(signature: &Signature, errors: &mut Errors) {
        match signature.receiver() {
            None => {
                let message = "a handler is called on the actor: make `&self` or `&mut self` its first parameter";
                errors.at(&signature.ident, message);
            }
            Some(receiver) if borrowed(receiver).is_none() => {
                let message =
                    "the actor outlives its messages, a handler only borrows it: write `&self` or `&mut self`";
                errors.at(receiver, message);
            }
            Some(_) => {}
        }
    }

    fn inputs(&mut self, signature: &Signature, actor: &Type, errors: &mut Errors) {
        let mut context = false;
        for input in &signature.inputs {
            let FnArg::Typed(input) = input else { continue };
            for attribute in &input.attrs {
                if attribute.path().is_ident("cfg") {
                    let message = "a message has the same arguments in every build: put `#[cfg]` on the handler";
                    errors.at(attribute, message);
                    break;
                }
            }
            if is_context(&input.ty) {
                check_context(&input.ty, errors);
                if std::mem::replace(&mut context, true) {
                    errors.at(input, "a handler takes the context once");
                }
                self.call.push(Ident::new("__ctx", Span::mixed_site()));
                continue;
            }
            let ident = match &*input.pat {
                Pat::Ident(ident) if ident.by_ref.is_none() && ident.subpat.is_none() => ident.ident.clone(),
                Pat::Wild(wild) => {
                    errors.at(wild, "an argument becomes a field of the message and needs a name: `_name` is one");
                    continue;
                }
                pattern => {
                    let message = "an argument becomes a field of the message and needs a name: \
                                   take it apart in the handler's body";
                    errors.at(pattern, message);
                    continue;
                }
            };
            let ty = without_self(&input.ty, actor);
            let sound = check_owned(&ty, Place::Argument, errors);
            self.call.push(located(&ident));
            self.arguments.push(Argument { ident, ty, sound });
        }
    }

    fn output(&mut self, signature: &Signature, actor: &Type, errors: &mut Errors) {
        let ReturnType::Type(_, ty) = &signature.output else {
            return;
        };
        let ty = without_self(ty, actor);
        if !check_owned(&ty, Place::Reply, errors) {
            self.reply = Reply::Unsound;
            return;
        }
        self.reply = if let Some(fallible) = Fallible::of(&ty) {
            Reply::Fallible(Box::new(fallible))
        } else {
            match last_segment(&ty) {
                Some((name, types)) if name == "Reply" => {
                    if let [inner] = types.as_slice() {
                        Reply::Wrapped((*inner).clone())
                    } else {
                        errors.at(&ty, "write what is replied, `Reply<T>`");
                        Reply::Unsound
                    }
                }
                _ if is_unit(&ty) => Reply::Unit,
                _ => Reply::Plain(ty),
            }
        };
    }
}

/// The name of the message for a handler.
fn variant(handler: &Ident) -> Ident {
    let camel = handler.unraw().to_string().to_upper_camel_case();
    let name = match camel.chars().next() {
        Some(first) if first.is_alphabetic() && camel != "Self" => camel,
        _ => format!("Message{camel}"),
    };
    Ident::new(&name, handler.span())
}

/// The attributes of a handler that say something about its message too.
fn travelling(attrs: &[Attribute]) -> Vec<Attribute> {
    let mut travelling = Vec::new();
    for attribute in attrs {
        let innermost = attributes::innermost(attribute);
        let path = innermost.path();
        if path.is_ident("doc") || path.is_ident("cfg") || path.is_ident("deprecated") {
            travelling.push(attribute.clone());
        }
    }
    travelling
}

/// What stands in `#[handler(..)]`.
#[derive(Default)]
struct Settings {
    redeliver: Option<u32>,
    not_influencing: Option<()>,
    inline: Option<()>,
}

impl Settings {
    fn read(attribute: &Attribute, errors: &mut Errors) -> Self {
        let mut settings = Self::default();
        let list = match &attribute.meta {
            Meta::Path(_) => return settings,
            Meta::List(list) => list,
            Meta::NameValue(_) => {
                errors.at(attribute, "write `#[handler]` or `#[handler(redeliver = 3)]`");
                return settings;
            }
        };
        for setting in &settings::parse_once(list.tokens.clone(), errors) {
            match setting.name.to_string().as_str() {
                "redeliver" => settings.redeliver = errors.keep(redeliver(setting)),
                "not_influencing" => {
                    settings.not_influencing = errors.keep(setting.flag());
                }
                "inline" => settings.inline = errors.keep(setting.flag()),
                _ => {
                    let known = ["redeliver", "not_influencing", "inline"];
                    errors.add(unknown("setting of `#[handler]`", &setting.name, &known));
                }
            }
        }
        settings
    }
}

fn redeliver(setting: &Setting) -> syn::Result<u32> {
    let number: LitInt = setting.value("3")?;
    match number.base10_parse()? {
        0 => {
            let message = "a message that is delivered again zero times needs no `redeliver`: remove it";
            Err(syn::Error::new(number.span(), message))
        }
        times => Ok(times),
    }
}

#[derive(Clone, Copy)]
enum Place {
    Argument,
    Reply,
}

/// A message travels to another task: refuses what is borrowed or has no name.
fn check_owned(ty: &Type, place: Place, errors: &mut Errors) -> bool {
    let before = errors.count();
    refuse_borrowed(ty, place, errors);
    errors.count() == before
}

fn refuse_borrowed(ty: &Type, place: Place, errors: &mut Errors) {
    match ty {
        Type::Reference(reference)
            if reference.lifetime.as_ref().is_none_or(|lifetime| lifetime.ident != "static") =>
        {
            let message = match place {
                Place::Argument => {
                    "a message travels to another task and cannot borrow: take an owned value (`String` for `&str`, `Vec<T>` for `&[T]`, `Arc<T>` to share)"
                }
                Place::Reply => {
                    "a reply travels to another task and cannot borrow from the actor: return an owned value (`String` for `&str`, `Vec<T>` for `&[T]`, or a clone)"
                }
            };
            errors.at(reference, message);
            return;
        }
        Type::ImplTrait(opaque) => {
            let message = match place {
                Place::Argument => {
                    "a message has one type: write it out, or take a `Box<dyn Trait + Send>`, instead of `impl Trait`"
                }
                Place::Reply => {
                    "a reply has one type: write it out, or return a `Box<dyn Trait + Send>`, instead of `impl Trait`"
                }
            };
            errors.at(opaque, message);
        }
        Type::Path(path) => {
            each_argument(&path.path, &mut |argument| {
                if let GenericArgument::Lifetime(lifetime) = argument
                    && lifetime.ident == "_"
                {
                    errors.at(lifetime, "a message travels to another task and cannot borrow: write `'static` here or take an owned value");
                }
            });
        }
        _ => {}
    }
    each_held(ty, &mut |inner| refuse_borrowed(inner, place, errors));
}
