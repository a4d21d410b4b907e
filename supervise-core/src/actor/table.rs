//! Supervision tables that do not belong to one actor type: an actor, a pattern and the guardian can share one.
//!
//! What a table decides and what it escalates is known at compile time, through [`Decides`], [`DecidesAll`] and
//! [`EscalationsDecidedBy`]. Rule 3.8.

use crate::actor::definition::Ruled;
use crate::actor::description::{DeciderTable, Rule};
use crate::actor::parent_check::{Decides, DecidesAll, EscalationsDecidedBy, NeverRestarts};
use crate::failure::Failure;
use crate::supervision::{ChildInfo, Directive, Strategy, default_decider, stopping_decider};

/// A strategy and the rules that decide about failures.
///
/// `#[supervise(..)]` on a unit struct that is not an actor writes this impl. An actor's own table cannot be shared, because
/// what it can escalate depends on the actor's children. One table can be used in several places: by an actor
/// (`#[supervise(table = Storage)]`), by a pattern ([`PoolProps::supervised_by`](crate::pattern::PoolProps::supervised_by),
/// [`BackoffSupervisorProps::supervised_by`](crate::pattern::BackoffSupervisorProps::supervised_by)), by one actor among others
/// of its type ([`Props::supervised_by`](crate::Props::supervised_by)), and by the guardian
/// ([`ActorSystemBuilder::supervised_by`](crate::ActorSystemBuilder::supervised_by)).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a supervision table",
    label = "a table is a unit struct with `#[supervise(..)]` and without `#[actor]`",
    note = "if `{Self}` is a unit struct without `#[actor]`: write its table above it, `#[supervise(one_for_one(max_retries = 3), on(_) = Restart)] struct {Self};`",
    note = "if `{Self}` is an actor, and its `#[supervise(..)]` does not use `self.`: move the table to `#[supervise(..)] struct {Self}Table;`, and write `#[supervise(table = {Self}Table)]` below the `#[actor]` of `{Self}`, and here",
    note = "if `{Self}` is an actor, and its `#[supervise(..)]` uses `self.`: such a table cannot be shared, so write a copy of it here, in place of `table = {Self}`, and give this actor the fields that it reads"
)]
pub trait SupervisionTable: 'static {
    /// Which children a failure affects, and how many restarts are granted.
    const STRATEGY: Strategy;

    /// The rules of [`decide`](Self::decide) as data, for people and tools.
    const TABLE: DeciderTable;

    /// Decides what happens to a child that failed: see [`Supervisor::decide`](crate::Supervisor::decide).
    ///
    /// # Errors
    ///
    /// An error fails the supervisor itself, with that error in place of the child's.
    fn decide(failure: &Failure, child: &ChildInfo) -> Result<Directive, Failure>;

    /// Decides, and names the rule that matched: see [`Supervisor::rule`](crate::Supervisor::rule).
    ///
    /// # Errors
    ///
    /// As [`decide`](Self::decide).
    fn rule(failure: &Failure, child: &ChildInfo) -> Result<Ruled, Failure> {
        Ok((Self::decide(failure, child)?, None))
    }
}

/// [`Decides`], for an error that may have another inside it. A trait of its own, so that its message can say so.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no supervision rule for the failure `{E}`",
    label = "this child can fail with `{E}`, and `{Self}` does not say what happens then",
    note = "a rule such as `on(MyError)` does not match `{E}`, even if it contains a `MyError`: for that rule, return `Result<_, MyError>` from the handler",
    note = "or add `on({E}) = Restart` (or `Resume`, `Stop`, `Escalate`) to `#[supervise(..)]` on `{Self}`; a rule before that one, such as `on({E} if |error| error.is::<MyError>()) = Resume`, decides by the error inside"
)]
pub trait HasARuleFor<E> {}

#[diagnostic::do_not_recommend]
impl<P: Decides<E>, E> HasARuleFor<E> for P {}

/// A table that decides every failure, because it has an `on(_)` or no rules at all.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not decide every failure",
    label = "a table that is chosen here has to decide whatever a child fails with",
    note = "add `on(_) = Restart` (or `Resume`, `Stop`, `Escalate`) to the `#[supervise(..)]` of `{Self}`"
)]
pub trait TotalTable: SupervisionTable {}

#[diagnostic::do_not_recommend]
impl<T: SupervisionTable + DecidesAll> TotalTable for T {}

/// The default table: one-for-one without a limit. It stops an actor that was killed or failed by a death pact, and restarts an
/// actor after any other failure, also one that could not start. It decides every failure and never escalates.
///
/// Rule [3.3](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-3.3).
#[derive(Debug, Clone, Copy)]
pub enum DefaultTable {}

#[diagnostic::do_not_recommend]
impl SupervisionTable for DefaultTable {
    const STRATEGY: Strategy = Strategy::one_for_one();
    const TABLE: DeciderTable = DeciderTable::Default;

    fn decide(failure: &Failure, _: &ChildInfo) -> Result<Directive, Failure> {
        Ok(default_decider(failure))
    }
}

impl<E: ?Sized> Decides<E> for DefaultTable {}
#[diagnostic::do_not_recommend]
impl DecidesAll for DefaultTable {}
impl<P> EscalationsDecidedBy<P> for DefaultTable {}

/// The table that stops every child that fails. It decides every failure, and never escalates or restarts.
#[derive(Debug, Clone, Copy)]
pub enum StoppingTable {}

#[diagnostic::do_not_recommend]
impl SupervisionTable for StoppingTable {
    const STRATEGY: Strategy = Strategy::one_for_one();
    const TABLE: DeciderTable = DeciderTable::Rules(&[Rule::new("_", Directive::Stop)]);

    fn decide(failure: &Failure, _: &ChildInfo) -> Result<Directive, Failure> {
        Ok(stopping_decider(failure))
    }

    fn rule(failure: &Failure, _: &ChildInfo) -> Result<Ruled, Failure> {
        Ok((stopping_decider(failure), Some(0)))
    }
}

impl<E: ?Sized> Decides<E> for StoppingTable {}
#[diagnostic::do_not_recommend]
impl DecidesAll for StoppingTable {}
#[diagnostic::do_not_recommend]
impl NeverRestarts for StoppingTable {}
impl<P> EscalationsDecidedBy<P> for StoppingTable {}

/// Stands for what the compiler cannot see: a strategy or a decider that is chosen at run time. It may escalate any failure, so
/// the parent's table needs `on(_)`.
#[derive(Debug, Clone, Copy)]
pub enum Unchecked {}

/// [`DecidesAll`], for whatever [`Unchecked`] escalates. It is a trait of its own, so that rustc's message can say why.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no `on(_)` rule, but this child may escalate any failure to it",
    label = "the strategy or the decider of this child is chosen at run time, so the compiler does not know what it escalates",
    note = "add `on(_) = Stop` (or `Restart`, `Resume`, `Escalate`) to `#[supervise(..)]` on `{Self}`",
    note = "or write the rules at compile time: `#[supervise(..)] struct Workers;`, and replace `.supervision_unchecked(..)` (of a pool: `.strategy(..)`, `.decider_unchecked(..)`) by `.supervised_by::<Workers>()`"
)]
pub trait DecidesUnchecked {}

#[diagnostic::do_not_recommend]
impl<P: DecidesAll> DecidesUnchecked for P {}

impl<P: DecidesUnchecked> EscalationsDecidedBy<P> for Unchecked {}
