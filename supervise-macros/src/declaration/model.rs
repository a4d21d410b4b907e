//! What `#[actor]`, `#[supervise]` and `#[child]` say about a type.

use proc_macro2::{Ident, TokenStream};
use syn::{DeriveInput, ExprClosure, Path, Type};

use crate::errors::Errors;
use crate::grammar::Word;
use crate::grammar::arguments::{ActorArguments, ChildArguments, DurableArguments};
use crate::grammar::words::{Overflow, RestartType};
use crate::supervise::model::{Strategy, Table};

/// An actor's type and all that is declared on it.
pub(crate) struct Declaration {
    /// The user's item without our attributes.
    pub(crate) item: DeriveInput,
    /// The name of the actor's ref.
    pub(crate) reference: Ident,
    pub(crate) cfgs: TokenStream,
    pub(crate) krate: Path,
    pub(crate) arguments: ActorArguments,
    /// The table of the `#[supervise]`, if there is one.
    pub(crate) table: Option<Table>,
    /// The path of each `#[supervise]` below `#[actor]`.
    pub(crate) below: Vec<Path>,
    /// The `#[child]` fields, in their order.
    pub(crate) children: Vec<Child>,
}

/// How many messages may wait.
pub(crate) enum Mailbox {
    Unbounded,
    Bounded { capacity: usize, overflow: Overflow },
    Durable(Box<DurableArguments>),
}

/// One declared child.
pub(crate) struct Child {
    pub(crate) field: Ident,
    pub(crate) cfgs: TokenStream,
    pub(crate) kind: ChildKind,
    /// The `A` of `Child<A>` or of `Children<K, A>`.
    pub(crate) actor: Type,
    /// The closure that makes the child's factory.
    pub(crate) make: ExprClosure,
    pub(crate) arguments: ChildArguments,
}

/// What a field with `#[child(..)]` holds.
pub(crate) enum ChildKind {
    /// `Child<A>`.
    Actor,
    /// `Child<Pool<A>>` or a child of another pattern: made of props.
    Pattern,
    /// `Children<K, A>`, with this `K`.
    Keyed(Box<Type>),
}

impl Declaration {
    /// Whether the type has lifetime parameters. Such a type cannot be an actor.
    pub(crate) fn borrows(&self) -> bool {
        self.item.generics.lifetimes().next().is_some()
    }

    /// The declaration without its table and its children, which may be what is wrong with it.
    pub(crate) fn without_table(mut self) -> Self {
        self.table = None;
        self.children = Vec::new();
        self
    }

    /// Refuses children that contradict each other or the strategy.
    pub(crate) fn check_children(&self, errors: &mut Errors) {
        let no_table = Strategy::default();
        let strategy = self.table.as_ref().map_or(&no_table, |table| &table.strategy);
        // The settings of a shared table are not visible here, and a mistake may hide those of any other.
        let is_hidden =
            self.table.as_ref().is_some_and(|table| table.shared.given().is_some() || table.has_mistakes);
        // A child with a mistake is not in the list.
        let significant =
            errors.count() > 0 || self.children.iter().any(|child| child.arguments.significant.given().is_some());
        if let (Some(given), false) = (strategy.arguments.auto_shutdown.given(), significant) {
            let sample = self.children.first().map_or_else(String::new, |child| {
                format!(", such as `#[child(.., significant)]` above `{}`", child.field)
            });
            let message = format!(
                "`auto_shutdown` has no effect, because no child is significant: add the word `significant` to the `#[child(..)]` of each child \
                 whose end counts{sample}, or remove `auto_shutdown` if the actor should outlive its children"
            );
            errors.add(given.error(message));
        }
        let (mut names, before) = (Vec::new(), errors.count());
        for child in &self.children {
            if !is_hidden && errors.count() == before {
                child.check_significant(strategy, errors);
            }
            let name = child.name();
            if names.contains(&name) {
                let field = syn::ext::IdentExt::unraw(&child.field).to_string();
                let mend = if child.arguments.name.value.is_some() && field != name {
                    format!(
                        "remove `name` here, so that this one is called `{field}` like its field, or write another name"
                    )
                } else {
                    format!("give this one another, such as `name = \"{name}-2\"`")
                };
                let message = format!("another child has the name `{name}`: {mend}");
                errors.at_span(child.name_span(), message);
            }
            names.push(name);
        }
    }
}

impl Child {
    /// The child's name: as given, or the field's.
    pub(crate) fn name(&self) -> String {
        match &self.arguments.name.value {
            Some(name) => name.value(),
            None => syn::ext::IdentExt::unraw(&self.field).to_string(),
        }
    }

    pub(crate) fn name_span(&self) -> proc_macro2::Span {
        match &self.arguments.name.value {
            Some(name) => name.span(),
            None => self.field.span(),
        }
    }

    /// What restarts the child.
    pub(crate) fn restart(&self) -> RestartType {
        self.arguments.restart.value.unwrap_or(RestartType::Transient)
    }

    /// Refuses arguments that have no effect on a child of this kind.
    pub(crate) fn check_kind(&self, errors: &mut Errors) {
        let ChildArguments { restart, stop_timeout, significant, idle, limit, .. } = &self.arguments;
        if let ChildKind::Keyed(_) = self.kind {
            for given in [restart.given(), stop_timeout.given(), significant.given()].into_iter().flatten() {
                let message = format!(
                    "`{}` has no effect on keyed children: they are created when they are needed, and end when they are idle: remove it",
                    given.name
                );
                errors.add(given.error(message));
            }
            return;
        }
        for given in [idle.given(), limit.given()].into_iter().flatten() {
            let message = format!(
                "`{}` has no effect on a single child: remove it (it belongs to keyed children, `sessions: Children<u64, Session>`)",
                given.name
            );
            errors.add(given.error(message));
        }
    }

    fn check_significant(&self, strategy: &Strategy, errors: &mut Errors) {
        let Some(significant) = self.arguments.significant.given() else { return };
        if self.restart() == RestartType::Permanent {
            let message = "a permanent child starts again when it ends, so its end cannot be significant: remove \
                           `significant`, or write `restart = transient`";
            errors.at_span(significant.span(), message);
        } else if !strategy.shuts_down() {
            let message = format!(
                "the end of this child has no effect without `auto_shutdown`: add \
                 `#[supervise({}(auto_shutdown = any_significant), on(_) = Default)]` to the parent, or remove `significant`",
                strategy.scope.word()
            );
            errors.at_span(significant.span(), message);
        }
    }
}
