//! What the compiler checks between a parent and its child: the parent's table decides every failure that the child can report, and the
//! parent handles the end of what it watches.

use std::marker::PhantomData;

use super::actor_ref::TypedRef;
use super::death_watch::AnyActor;
use super::definition::{FailsWith, NeverFails};
use crate::failure::PermanentEnded;

/// The table of `Self` has a rule for the failure `E`.
///
/// `#[supervise]` writes one impl: for each `E` that [a rule](crate::HasOneRuleAndNoSecondFor) names, or for every `E` where the table has
/// `on(_)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no supervision rule for the failure `{E}`",
    label = "this child can fail with `{E}`, or escalate it, and `{Self}` does not say what happens then",
    note = "add a rule: `#[supervise(.., on({E}) = Restart)]` on `{Self}` (or `Resume`, `Stop`, `Escalate`)",
    note = "if a handler only answers with this error, return it as `Reply<Result<_, {E}>>`: then it is not a failure and needs no rule"
)]
pub trait Decides<E: ?Sized> {}

/// [`Decides`], for an error that no handler answers with: that of a hook, or of the runtime. A trait of its own, so that its message
/// does not speak of answers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no supervision rule for the failure `{E}`",
    label = "this child can fail with `{E}`, and `{Self}` does not say what happens then",
    note = "add a rule: `#[supervise(.., on({E}) = Restart)]` on `{Self}` (or `Resume`, `Stop`, `Escalate`)"
)]
pub trait DecidesUnasked<E: ?Sized> {}

#[diagnostic::do_not_recommend]
impl<P: Decides<E>, E: ?Sized> DecidesUnasked<E> for P {}

/// [`Decides`], for the failed start of `A`, which has declared children. It is a trait of its own, so that rustc's message says why `A`
/// can fail to start.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no supervision rule for the failure `InitializationFailed` of `{A}`",
    label = "`{A}` fails to start when one of its `#[child(..)]` fields cannot start, and `{Self}` does not say what happens then",
    note = "add a rule: `#[supervise(.., on(InitializationFailed) = Restart)]` on `{Self}` (or `Resume`, `Stop`, `Escalate`)"
)]
pub trait DecidesFailedStartOf<A> {}

#[diagnostic::do_not_recommend]
impl<A, P: Decides<InitializationFailed>> DecidesFailedStartOf<A> for P {}

/// [`Decides`], for the failure `E` of a pool. It is a trait of its own, so that rustc's message says where the
/// failure comes from.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no supervision rule for the failure `{E}` of a pool",
    label = "a pool fails with `{E}` when its permanent workers end by themselves too often, and `{Self}` does not say what happens then",
    note = "add a rule: `#[supervise(.., on({E}) = Restart)]` on `{Self}` (or `Resume`, `Stop`, `Escalate`)",
    note = "the pool itself decides the errors of its workers, so `{Self}` needs no rule for them. By default the pool restarts a failed worker; to decide otherwise, write `#[supervise(..)] struct Workers;` and `Pool::round_robin(..).supervised_by::<Workers>()`"
)]
pub trait DecidesPool<E> {}

#[diagnostic::do_not_recommend]
impl<P: Decides<E>, E> DecidesPool<E> for P {}

/// The type of failed starts, for the rule `on(InitializationFailed) = ..` and for the bound `P: Decides<InitializationFailed>`. A child may escalate the
/// failed start of one of its own children. Such a failure can hold an error of any type, so a rule for one error type does not decide it. Rule [3.9](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-3.9).
#[derive(Debug, Clone, Copy)]
pub enum InitializationFailed {}

/// The table of `Self` has a rule for everything: `on(_)`, or it is the default table.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no `on(_)` rule, but a child may escalate any failure to it",
    label = "this child escalates whatever its own table does not name",
    note = "add `on(_) = Stop` (or `Restart`, `Resume`, `Escalate`) to `#[supervise(..)]` on `{Self}`, or replace the child's rule that escalates everything by rules for its failures"
)]
pub trait DecidesAll {}

/// [`DecidesAll`], for whatever the table of `A` escalates. It is a trait of its own, so that rustc's message names `A`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no `on(_)` rule, but `{A}` may escalate any failure to it",
    label = "`{A}` escalates whatever its own table does not name, and `{Self}` does not say what happens then",
    note = "add `on(_) = Stop` (or `Restart`, `Resume`, `Escalate`) to `#[supervise(..)]` on `{Self}`, or replace the rule `on(_) = Escalate` of `{A}` (or its `decider`) by rules for its failures"
)]
pub trait DecidesAllFrom<A> {}

#[diagnostic::do_not_recommend]
impl<A, P: DecidesAll> DecidesAllFrom<A> for P {}

/// `P` decides every error for which `Self` stands: those of a factory, or those of handlers and hooks.
pub trait DecidedBy<P> {}

impl<P> DecidedBy<P> for NeverFails {}
impl<P, E: FactoryErrorDecidedBy<P>> DecidedBy<P> for FailsWith<E> {}

/// `P` decides the error `Self` of a factory. A trait of its own, so that its message names the origin of the error.
#[diagnostic::on_unimplemented(
    message = "`{P}` has no supervision rule for the failure `{Self}` of a factory or a task",
    label = "the factory (or the task) returns `Result<_, {Self}>`, and `{P}` does not say what happens after an `Err`",
    note = "add a rule: `#[supervise(.., on({Self}) = Restart)]` on `{P}` (or `Resume`, `Stop`, `Escalate`)",
    note = "a factory (or a task) that cannot fail returns no `Result`"
)]
pub trait FactoryErrorDecidedBy<P> {}

#[diagnostic::do_not_recommend]
impl<P: Decides<E>, E: ?Sized> FactoryErrorDecidedBy<P> for E {}

/// `P` decides the error `Self`, which a child escalates. A trait of its own, so that its message names the origin of the error.
#[diagnostic::on_unimplemented(
    message = "`{P}` has no supervision rule for the failure `{Self}` that a child escalates",
    label = "this child escalates `{Self}` of its own children, and `{P}` does not say what happens then",
    note = "add a rule: `#[supervise(.., on({Self}) = Restart)]` on `{P}` (or `Resume`, `Stop`, `Escalate`)",
    note = "the child's table escalates it by the directive `Escalate` of a rule, or by `on_limit = Escalate` after too many restarts"
)]
pub trait EscalatedErrorDecidedBy<P> {}

#[diagnostic::do_not_recommend]
impl<P: Decides<E>, E: ?Sized> EscalatedErrorDecidedBy<P> for E {}

/// [`Decides`], for [`PermanentEnded`](crate::PermanentEnded), which the table of `A` escalates. A trait of its own, so that its message
/// says where the failure comes from.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no supervision rule for the failure `PermanentEnded`, which `{A}` escalates",
    label = "`{A}` escalates that a permanent child has ended too often, and `{Self}` does not say what happens then",
    note = "add a rule: `#[supervise(.., on(PermanentEnded) = Restart)]` on `{Self}` (or `Resume`, `Stop`, `Escalate`)",
    note = "the end of a child with `restart = permanent` counts as a restart, and the table of `{A}` says `on_limit = Escalate`; to keep it from escalating, write `on_limit = Stop` there, or `restart = transient` for a child that may end by itself"
)]
pub trait DecidesPermanentEndFrom<A> {}

#[diagnostic::do_not_recommend]
impl<A, P: Decides<PermanentEnded>> DecidesPermanentEndFrom<A> for P {}

/// [`Decides`], for failed starts that the table of `A` escalates. As [`DecidesPermanentEndFrom`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no supervision rule for the failure `InitializationFailed`, which `{A}` escalates",
    label = "`{A}` escalates the failed start of a child, and `{Self}` does not say what happens then",
    note = "add a rule: `#[supervise(.., on(InitializationFailed) = Restart)]` on `{Self}` (or `Resume`, `Stop`, `Escalate`)",
    note = "the table of `{A}` escalates it by `on(InitializationFailed) = Escalate`, or by `on_limit = Escalate` after too many restarts"
)]
pub trait DecidesFailedStartFrom<A> {}

#[diagnostic::do_not_recommend]
impl<A, P: Decides<InitializationFailed>> DecidesFailedStartFrom<A> for P {}

/// `P` decides every failure of the handlers and hooks of `Self`. For an actor with `#[actor]`, its
/// [failures](AllHandlersStandInOneImplBlock::Failures) provide this impl. The author of a hand-written actor
/// writes it by hand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what it can fail with, because it has no `#[actor] impl` block",
    label = "the parent `{P}` must decide the failures of `{Self}`",
    note = "write `#[actor] impl {Self} {{ #[handler] fn .. }}` (the block may be empty)"
)]
pub trait HandlersOfOneImplBlockDecidedBy<P> {}

// The failures are an associated type that the block sets, so that rustc reports a second block once, with the
// name of the other trait.
impl<P, A: AllHandlersStandInOneImplBlock<Failures: EachDecidedBy<P>>> HandlersOfOneImplBlockDecidedBy<P> for A {}

/// The one `#[actor] impl` block of an actor generates this impl. rustc's error about a second block names this
/// trait. To mend it, move the handlers of the second block to the first one, and its other methods to an `impl`
/// block without the attribute.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what it can fail with, because it has no `#[actor] impl` block",
    label = "the parent must decide the failures of `{Self}`",
    note = "write `#[actor] impl {Self} {{ #[handler] fn .. }}` (the block may be empty)"
)]
pub trait AllHandlersStandInOneImplBlock {
    /// [`Failures`] of a type that stands for the errors of the handlers, hooks and watch methods of the block,
    /// see [`DecidedBy`].
    type Failures;
}

/// The failures for which the type `F` stands.
#[derive(Debug)]
pub struct Failures<F>(PhantomData<F>);

/// `P` decides each of the [`Failures`].
///
/// This trait has a single impl on purpose. If an actor has two blocks, rustc has already rejected the second one,
/// and does not know the actor's failures. It would report that too if this trait had several impls that it could
/// list.
pub trait EachDecidedBy<P> {}

impl<P, F: DecidedBy<P>> EachDecidedBy<P> for Failures<F> {}

/// Stands for the failures of an actor `A` whose handlers and hooks cannot fail. Its declaration may still fail.
#[derive(Debug)]
pub struct NoHandlerFails<A>(PhantomData<A>);

impl<P, A: DeclarationDecidedBy<P>> DecidedBy<P> for NoHandlerFails<A> {}

/// Stands for an error with which an actor of this crate fails on its own, not because of a message.
#[derive(Debug)]
pub struct FailsByItself<E>(PhantomData<E>);

impl<P: DecidesUnasked<E>, E> DecidedBy<P> for FailsByItself<E> {}

/// `P` decides what `Self` can fail with because of its declaration: the overflow of a bounded stash, and the failed starts of its
/// declared children. `#[actor]` on the type writes it. Rule [3.9](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-3.9).
pub trait DeclarationDecidedBy<P> {}

/// `P` decides every failure that `Self` escalates. `#[actor]` on the type writes it.
pub trait EscalationsDecidedBy<P> {}

/// `P` may be the parent of `Self`: it decides every failure that `Self` can report.
#[diagnostic::on_unimplemented(
    message = "`{P}` cannot supervise `{Self}`",
    label = "the parent `{P}` must decide the failures of `{Self}`",
    note = "an actor has `#[actor]` above its type and above its impl block"
)]
pub trait SupervisedBy<P> {}

impl<P, A: HandlersOfOneImplBlockDecidedBy<P> + EscalationsDecidedBy<P>> SupervisedBy<P> for A {}

/// The table of `Self` never answers `Restart`, so a child that cannot be built twice may live under it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` may restart its children, but this child cannot be built a second time",
    label = "`spawn_once` gives up the instance after its first life",
    note = "use `ctx.spawn(name, move || ..)` with a factory",
    note = "or never restart: in `#[supervise(..)]` of `{Self}`, replace `Restart` and `Default` by `Stop`, `Resume` or `Escalate`; if it has none, write `#[supervise(on(_) = Stop)]` below its `#[actor]`"
)]
pub trait NeverRestarts {}

/// `Self` handles the end of actors of type `A`. `#[actor]` writes it for each `#[watch]` method.
#[diagnostic::on_unimplemented(
    message = "`{Self}` watches `{A}` but has no `#[watch]` handler for it",
    label = "the end of a `{A}` would go unhandled",
    note = "add `#[watch] fn gone(&mut self, gone: Terminated<{A}>) {{ .. }}` to `#[actor] impl {Self}`",
    note = "or replace `ctx.watch(..)` by `ctx.death_pact(..)`, so that `{Self}` fails when the `{A}` ends"
)]
pub trait Watches<A> {}

/// `Self` handles the end of actors of any type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` watches actors of any type but has no `#[watch]` handler for that",
    label = "the end of the actor would go unhandled",
    note = "add `#[watch] fn gone(&mut self, gone: Terminated) {{ .. }}`, with `Terminated` for any type, to `#[actor] impl {Self}`"
)]
pub trait WatchesAny {}

#[diagnostic::do_not_recommend]
impl<T: Watches<AnyActor>> WatchesAny for T {}

/// A ref whose end `P` can watch.
pub trait WatchableBy<P>: TypedRef {}

impl<P: Watches<R::Actor>, R: TypedRef> WatchableBy<P> for R {}
