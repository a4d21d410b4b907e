//! What an actor's impl block says: which methods are handlers, hooks and watch methods.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Attribute, Generics, LitStr, Path, Type};

use super::parse::syntax::Block as Syntax;
use crate::errors::Errors;
use crate::generics::require;
use crate::grammar::Word;
use crate::grammar::arguments::{HandlerArguments, MessageArguments};
use crate::grammar::words::Role;
use crate::settings::written;
use crate::spans;

/// An actor's impl block.
pub(crate) struct Block {
    /// The user's block without our attributes.
    pub(crate) item: Syntax,
    pub(crate) krate: Path,
    /// The actor as the block names it.
    pub(crate) actor: Type,
    /// The actor's name without its path.
    pub(crate) name: Ident,
    pub(crate) reference: Type,
    pub(crate) message: Ident,
    /// Whether a mistake in the attribute may hide the name of that enum.
    pub(crate) message_unknown: bool,
    /// What the user says about the messages.
    pub(crate) arguments: MessageArguments,
    /// The module for the errors of a block with mistakes.
    pub(crate) mistakes: Ident,
    pub(crate) generics: Generics,
    /// The type parameters that have bounds, but none that show `Send + 'static`.
    pub(crate) unsure: Vec<Ident>,
    pub(crate) cfgs: TokenStream,
    /// The protocols that the handlers implement.
    pub(crate) implements: Vec<Path>,
    /// Set if the messages can travel to other nodes.
    pub(crate) remote: Option<Remote>,
    pub(crate) handlers: Vec<Handler>,
    pub(crate) hooks: Vec<Hook>,
    pub(crate) watches: Vec<Watch>,
    /// Whether a `#[watch]` method has a mistake, so that any actor may be the one it watches.
    pub(crate) watches_unknown: bool,
    /// Whether the block mentions reply slots.
    pub(crate) keeps_replies: bool,
    pub(crate) stash: Option<Stash>,
}

/// The messages travel to other machines.
pub(crate) struct Remote {
    /// The name on the wire, if it is not that of the type.
    pub(crate) name: Option<LitStr>,
}

/// A method that handles one kind of message.
pub(crate) struct Handler {
    pub(crate) ident: Ident,
    /// The name of its message.
    pub(crate) variant: Ident,
    /// The attributes that the message and the ref's method have in common with the handler.
    pub(crate) docs: Vec<Attribute>,
    pub(crate) cfgs: TokenStream,
    pub(crate) is_async: bool,
    pub(crate) fields: Vec<Field>,
    /// What generated code calls the method with: the context and the fields.
    pub(crate) call: Vec<Ident>,
    pub(crate) reply: Reply,
    /// Set if messages are gathered and handled in one call. The handler then takes and returns a `Vec`; the field is that of
    /// one message.
    pub(crate) batch: Option<Batch>,
    pub(crate) arguments: HandlerArguments,
    /// What is wrong with the method, so that generated code cannot call it. Its message and its request still exist,
    /// because the code that sends the message is correct.
    pub(crate) mistake: Option<Mistake>,
}

/// How many messages are handled in one call.
pub(crate) struct Batch {
    pub(crate) size: usize,
}

/// What is wrong with a handler.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// The signature.
    Signature,
    /// The name, which a method of the ref has already.
    Name,
}

/// A parameter of a handler, which is a field of its message.
pub(crate) struct Field {
    pub(crate) ident: Ident,
    /// The type, or [`reported`] if it cannot be part of a message.
    pub(crate) ty: Type,
}

/// What a handler replies with.
pub(crate) enum Reply {
    /// Nothing.
    Unit,
    /// A value that is the reply. Its type is [`reported`] if it cannot be one.
    Plain(Type),
    /// `Reply<T>`
    Wrapped(Type),
    /// A `Result`: the reply or a failure.
    Fallible(Box<Fallible>),
    /// The handler takes its reply slot and may answer later.
    Later(Box<Later>),
}

impl Reply {
    /// What the handler returns, if that can be a failure.
    pub(crate) fn fallible(&self) -> Option<&Fallible> {
        match self {
            Self::Fallible(fallible) => Some(fallible),
            Self::Later(later) => match &later.outcome {
                Outcome::Fallible(fallible) => Some(fallible),
                Outcome::Nothing => None,
            },
            Self::Unit | Self::Plain(_) | Self::Wrapped(_) => None,
        }
    }
}

/// The reply of a handler with a parameter `ReplyTo<T>`.
pub(crate) struct Later {
    /// The `T`.
    pub(crate) ty: Type,
    /// What the handler returns: nothing, or a failure.
    pub(crate) outcome: Outcome,
}

/// A type whose last segment is `Result`.
pub(crate) struct Fallible {
    pub(crate) returned: Type,
    /// The `T` and the `E` of `Result<T, E>`. Behind an alias they are unknown.
    pub(crate) sides: Option<(Type, Type)>,
}

/// A lifecycle hook.
pub(crate) struct Hook {
    pub(crate) kind: HookKind,
    pub(crate) ident: Ident,
    pub(crate) cfgs: TokenStream,
    pub(crate) is_async: bool,
    /// What generated code calls the method with.
    pub(crate) call: Vec<Ident>,
    pub(crate) outcome: Outcome,
}

/// When a hook runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookKind {
    PreStart,
    PostStop,
    PreRestart,
    PostRestart,
}

/// A value that the runtime passes to a hook.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookArgument {
    Context,
    Cause,
    Message,
}

/// What a hook or a watch method returns.
pub(crate) enum Outcome {
    Nothing,
    Fallible(Box<Fallible>),
}

/// A method that handles the end of watched actors.
pub(crate) struct Watch {
    pub(crate) ident: Ident,
    pub(crate) cfgs: TokenStream,
    pub(crate) is_async: bool,
    /// The type of the watched actors. `None` means all.
    pub(crate) subject: Option<Type>,
    /// What generated code calls the method with.
    pub(crate) call: Vec<Ident>,
    pub(crate) outcome: Outcome,
}

/// The method that says which messages to set aside.
pub(crate) struct Stash {
    pub(crate) ident: Ident,
    pub(crate) cfgs: TokenStream,
}

impl Block {
    /// The generics with the bounds that an actor must satisfy. Impls that need these bounds state them, so that
    /// rustc reports insufficient bounds of type parameters only at the code that `bounds` generates.
    pub(crate) fn sendable(&self) -> Generics {
        let mut generics = self.generics.clone();
        let actor = &self.actor;
        if !self.unsure.is_empty() {
            require(&mut generics, quote!(#actor: ::core::marker::Send + 'static));
        }
        generics
    }

    /// Refuses two methods for the same purpose, and leaves out or renames the second.
    pub(crate) fn check(&mut self, errors: &mut Errors) {
        self.check_debug(errors);
        for at in 0..self.handlers.len() {
            let (earlier, rest) = self.handlers.split_at_mut(at);
            rest[0].check_variant(earlier, errors);
            rest[0].check_stored_names(earlier, errors);
        }
        for watch in std::mem::take(&mut self.watches) {
            match watch.same_as_in(&self.watches) {
                Some(earlier) => {
                    let of = watch
                        .subject
                        .as_ref()
                        .map_or_else(|| "any actor".to_owned(), |of| format!("`{}`", written(of)));
                    let message = format!(
                        "`{}` already watches for the end of {of}: move this body into it and remove `{}`",
                        earlier.ident, watch.ident
                    );
                    errors.at(&watch.ident, message);
                }
                None => self.watches.push(watch),
            }
        }
    }

    /// A derived `Debug` does not respect `sensitive`.
    fn check_debug(&self, errors: &mut Errors) {
        let sensitive = |handler: &&Handler| handler.arguments.sensitive.value.is_some();
        if let (Some(derive), Some(handler)) =
            (self.arguments.derives_debug(), self.handlers.iter().find(sensitive))
        {
            let message = format!(
                "a derived `Debug` shows the arguments of `{}`, which is `sensitive`: remove `Debug` here, \
                 because messages have a `Debug` without it, and that hides these arguments",
                handler.ident
            );
            errors.at(derive, message);
        }
    }

    /// Adds a hook, unless there is one for the same moment.
    pub(crate) fn add_hook(&mut self, hook: Hook, attribute: &Attribute, errors: &mut Errors) {
        let same = |earlier: &&Hook| earlier.kind == hook.kind && exist_together(&earlier.cfgs, &hook.cfgs);
        if let Some(earlier) = self.hooks.iter().find(same) {
            let message = format!(
                "`{}` is already the `#[{}]` hook: move this body into it and remove `{}`",
                earlier.ident,
                hook.kind.role().word(),
                hook.ident
            );
            errors.at(attribute, message);
        } else {
            self.hooks.push(hook);
        }
    }
}

/// Whether some build has both of two items. Conditions are not compared: rustc finds a contradiction between them.
fn exist_together(a: &TokenStream, b: &TokenStream) -> bool {
    a.is_empty() || b.is_empty()
}

impl MessageArguments {
    /// The `Debug` that the user derives.
    pub(crate) fn derives_debug(&self) -> Option<&Path> {
        let paths = self.derive.value.as_ref()?;
        paths.iter().find(|path| path.segments.last().is_some_and(|last| last.ident == "Debug"))
    }
}

impl Handler {
    /// Whether generated code can call the method.
    pub(crate) fn is_sound(&self) -> bool {
        self.mistake.is_none()
    }

    /// What a durable mailbox calls the message.
    pub(crate) fn stored_name(&self) -> String {
        match &self.arguments.stored_as.value {
            Some(name) => name.value(),
            None => syn::ext::IdentExt::unraw(&self.ident).to_string(),
        }
    }

    /// Refuses a stored name that an earlier handler has.
    fn check_stored_names(&self, earlier: &[Self], errors: &mut Errors) {
        let HandlerArguments { transient, stored_as, also, .. } = &self.arguments;
        if transient.given().is_some() {
            for given in [stored_as.given(), also.given()].into_iter().flatten() {
                let message =
                    format!("a transient message is not stored: remove `{}`, or `transient`", given.name);
                errors.add(given.error(message));
            }
            return;
        }
        let mut names =
            vec![(self.stored_name(), stored_as.value.as_ref().map_or(self.ident.span(), LitStr::span))];
        names.extend(also.value.iter().flatten().map(|name| (name.value(), name.span())));
        for (name, span) in names {
            let same = |earlier: &&Self| earlier.is_stored_as(&name) && exist_together(&earlier.cfgs, &self.cfgs);
            // rustc reports two methods of the same name.
            if let Some(first) = earlier.iter().find(same).filter(|earlier| earlier.ident != self.ident) {
                let message = format!(
                    "the messages of `{}` are stored under the name `{name}` already: write a name that no other handler has, or remove this one",
                    first.ident
                );
                errors.at_span(span, message);
            }
        }
    }

    fn is_stored_as(&self, name: &str) -> bool {
        let HandlerArguments { transient, also, .. } = &self.arguments;
        let mut also = also.value.iter().flatten();
        transient.given().is_none() && (self.stored_name() == name || also.any(|also| also.value() == name))
    }

    /// Refuses a message of the same name as that of an earlier handler, and renames this one.
    fn check_variant(&mut self, earlier: &[Self], errors: &mut Errors) {
        let same = |earlier: &&Self| earlier.variant == self.variant && exist_together(&earlier.cfgs, &self.cfgs);
        // rustc reports two methods of the same name.
        let Some(first) = earlier.iter().find(same).filter(|earlier| earlier.ident != self.ident) else { return };
        let message = format!(
            "`{}` and `{}` would have the same message, `{}`: rename one",
            first.ident, self.ident, self.variant
        );
        errors.at(&self.ident, message);
        self.variant = format_ident!("{}{}", self.variant, earlier.len());
    }
}

/// A stand-in for `ty`, about which an error is already reported. This type does not exist. rustc reports neither the type nor
/// values of it, because the module in which it should be contains a `compile_error!`. (Before about 1.89, rustc reports it
/// here, too.)
pub(crate) fn reported(mistakes: &Ident, ty: &dyn ToTokens) -> Type {
    let span = Span::mixed_site().located_at(spans::of(ty));
    let mut module = mistakes.clone();
    module.set_span(span);
    Type::Verbatim(quote_spanned!(span=> #module::Reported))
}

impl Fallible {
    /// The two sides for a reader, as far as they are known.
    pub(crate) fn spoken(&self) -> (Option<String>, Option<String>) {
        match &self.sides {
            Some((ok, err)) => {
                let ok = written(ok);
                (if ok == "()" { None } else { Some(ok) }, Some(written(err)))
            }
            None => (Some(written(&self.returned)), None),
        }
    }

    /// Whether another error may be inside the error, as far as its spelling shows.
    pub(crate) fn may_wrap(&self) -> bool {
        let named = match &self.sides {
            Some((_, err)) => written(err),
            None => written(&self.returned),
        };
        ["anyhow::", "eyre::", "Box<dyn", "Result<"].iter().any(|wrapper| named.starts_with(wrapper))
            || ["Failure", "supervise::Failure"].contains(&named.as_str())
    }

    /// The place of the error type.
    pub(crate) fn err_span(&self) -> Span {
        match &self.sides {
            Some((_, err)) => spans::of(err),
            None => spans::of(&self.returned),
        }
    }

    /// The places of the first and the last token of the error type.
    pub(crate) fn err_ends(&self) -> (Span, Span) {
        spans::ends(self.sides.as_ref().map_or(&self.returned, |(_, err)| err))
    }
}

impl Role {
    /// The hook that this role is, if it is one.
    pub(crate) fn hook(self) -> Option<HookKind> {
        match self {
            Self::PreStart => Some(HookKind::PreStart),
            Self::PostStop => Some(HookKind::PostStop),
            Self::PreRestart => Some(HookKind::PreRestart),
            Self::PostRestart => Some(HookKind::PostRestart),
            Self::Handler | Self::Watch | Self::StashWhile => None,
        }
    }
}

impl HookKind {
    /// The role of the hook's method.
    pub(crate) fn role(self) -> Role {
        match self {
            Self::PreStart => Role::PreStart,
            Self::PostStop => Role::PostStop,
            Self::PreRestart => Role::PreRestart,
            Self::PostRestart => Role::PostRestart,
        }
    }

    /// Whether the runtime passes the hook this value.
    pub(crate) fn takes(self, argument: HookArgument) -> bool {
        match argument {
            HookArgument::Context => true,
            HookArgument::Cause => matches!(self, Self::PreRestart | Self::PostRestart),
            HookArgument::Message => self == Self::PreRestart,
        }
    }
}

impl HookArgument {
    /// The name of the value in generated code.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Context => "ctx",
            Self::Cause => "cause",
            Self::Message => "message",
        }
    }
}

impl Watch {
    /// The watch method of `earlier` that handles the same end.
    fn same_as_in<'a>(&self, earlier: &'a [Self]) -> Option<&'a Self> {
        let same = |other: &&Self| {
            exist_together(&other.cfgs, &self.cfgs)
                && match (&other.subject, &self.subject) {
                    (Some(other), Some(own)) => written(other) == written(own),
                    (None, None) => true,
                    _ => false,
                }
        };
        earlier.iter().find(same)
    }
}
