//! How a pattern makes its children: one template for all of them.

use std::fmt;
use std::sync::Arc;

use crate::actor::{
    Actor, ActorRef, Built, Cell, Context, DecidedBy, EscalationsDecidedBy, HandlersOfOneImplBlockDecidedBy,
    NewName, Props, SpawnError, TypedRef,
};
use crate::base::UserValue;
use crate::mailbox::MailboxKind;

/// What the template of a pattern may return: the actor, a `Result` of it, or [`Props`] if it needs its own settings or
/// is a pattern itself.
///
/// The template runs for every instance of every child, so it is an `Fn`. State that changes from call to call must be
/// atomic or behind a lock.
#[diagnostic::on_unimplemented(
    message = "a template must return an actor, a `Result` of one, or `Props`, not `{Self}`",
    label = "no child can be made of this"
)]
pub trait Blueprint: Sized {
    /// The actor that the template makes.
    type Actor: Actor;
    /// Stands for the errors of the template, see [`DecidedBy`](crate::DecidedBy).
    type Cause;
    /// The table by which the actor supervises its own children.
    type Table;

    /// The props of one child.
    #[doc(hidden)]
    fn props(template: &Arc<impl Fn() -> Self + Send + Sync + 'static>) -> Props<Self::Actor>;
}

impl<B: Built> Blueprint for B {
    type Actor = B::Actor;
    type Cause = B::Cause;
    type Table = B::Actor;

    #[doc(hidden)]
    fn props(template: &Arc<impl Fn() -> Self + Send + Sync + 'static>) -> Props<B::Actor> {
        let template = Arc::clone(template);
        Props::from_factory(Box::new(move || template().built()))
    }
}

impl<A: Actor, C, T> Blueprint for Props<A, C, T> {
    type Actor = A;
    type Cause = C;
    type Table = T;

    #[doc(hidden)]
    fn props(template: &Arc<impl Fn() -> Self + Send + Sync + 'static>) -> Props<A> {
        template().marked()
    }
}

/// A closure that makes every instance of every child of a pattern: every closure without parameters that only borrows what it has
/// captured.
#[diagnostic::on_unimplemented(
    message = "a template must be a closure that can run any number of times, because it makes every instance of every child",
    label = "this moves a captured value out (or changes it), or it is not a closure",
    note = "a closure that moves a captured value into the actor can run only once: clone inside it, `move || Writer {{ config: config.clone() }}`",
    note = "state that changes from call to call must be atomic or behind a lock"
)]
pub trait SharedFactory {
    /// What the template returns.
    type Product;

    /// Makes an instance.
    fn make(&self) -> Self::Product;
}

// Without this, rustc reports that the closure is not an `Fn`, in place of the message above.
#[diagnostic::do_not_recommend]
impl<B, F: Fn() -> B> SharedFactory for F {
    type Product = B;

    fn make(&self) -> B {
        self()
    }
}

/// `T` decides every failure that an actor made by this template can report.
pub trait BlueprintUnder<T>: Blueprint {}

impl<B, T> BlueprintUnder<T> for B
where
    B: Blueprint,
    B::Actor: HandlersOfOneImplBlockDecidedBy<T>,
    B::Cause: DecidedBy<T>,
    B::Table: EscalationsDecidedBy<T>,
{
}

pub(super) struct Template<C: Actor> {
    props: UserValue<Box<dyn Fn() -> Props<C> + Send + Sync>>,
}

impl<C: Actor> Template<C> {
    pub(super) fn new<B: Blueprint<Actor = C>>(
        template: impl SharedFactory<Product = B> + Send + Sync + 'static,
    ) -> Self {
        let template = Arc::new(move || template.make());
        Self { props: UserValue::new(Box::new(move || B::props(&template))) }
    }

    /// The kind of the children's mailboxes.
    pub(super) fn mailbox(&self) -> MailboxKind {
        (self.props)().mailbox
    }

    /// Spawns a child and watches it. The compiler checked that its failures are decided when the pattern was set up.
    pub(super) fn spawn<S: Actor>(&self, name: &str, ctx: &mut Context<S>) -> Result<ActorRef<C>, SpawnError> {
        let parent = ctx.me().actor_ref().to_any();
        let child = Cell::spawn_under(&parent, NewName::Given(name), (self.props)())?;
        ctx.watch_unchecked(&child.to_any());
        Ok(child)
    }
}

impl<C: Actor> fmt::Debug for Template<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template").field("actor", &std::any::type_name::<C>()).finish_non_exhaustive()
    }
}
