//! What a user's type must be to run as an actor.
//!
//! Two traits, because two attributes write them: [`Supervisor`] is what `#[actor]` and `#[supervise]` on the
//! *type* declare, [`Actor`] is what `#[actor]` on the *impl block* declares. Both can be written by hand.
//! How an actor runs is not decided here but in [`cell`](super::cell).

use std::any::TypeId;
use std::future::Future;
use std::ops::ControlFlow;
use std::time::Duration;

use crate::actor::actor_ref::TypedRef;
use crate::actor::child::Declare;
use crate::actor::context::Context;
use crate::actor::death_watch::Terminated;
use crate::actor::description::{ActorType, DeciderTable};
use crate::failure::Failure;
use crate::mailbox::MailboxKind;
use crate::supervision::{ChildInfo, ChildSpec, Directive, Strategy, default_decider};

/// How long a running handler or hook may go on after its actor was told to stop, unless the actor says otherwise.
pub const DEFAULT_STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// What an actor's type declares: its ref, its mailbox, and how it supervises its children.
///
/// `#[actor]` on a struct or enum writes this impl, `#[supervise]` beside it fills in the strategy and the table.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not declared as an actor",
    label = "this type has no `#[actor]`",
    note = "write `#[actor]` above the type: `#[actor] struct {Self} {{ .. }}`"
)]
pub trait Supervisor: Sized + 'static {
    /// The typed ref that spawning returns. Hand-written actors may use [`ActorRef<Self>`](crate::ActorRef).
    type Ref: TypedRef<Actor = Self>;

    /// Where messages wait.
    const MAILBOX: MailboxKind = MailboxKind::Unbounded;

    /// How long a running handler or hook may go on after a stop request, before its future is dropped at its
    /// await point.
    const STOP_TIMEOUT: Duration = DEFAULT_STOP_TIMEOUT;

    /// How many messages [`Actor::stash_while`] may set aside. One more is a failure of the actor.
    const STASH_CAPACITY: usize = usize::MAX;

    /// Who is affected by a failed child, and how often restarts are granted.
    const STRATEGY: Strategy = Strategy::one_for_one();

    /// The declared children, in start order. `#[child]` fields of a struct fill it in.
    const CHILDREN: &'static [ChildSpec] = &[];

    /// The types of [`CHILDREN`](Self::CHILDREN), in the same order, for [`Tree::declared`](crate::Tree::declared). What
    /// is missing here is missing there.
    const CHILD_TYPES: &'static [ActorType] = &[];

    /// What [`decide`](Self::decide) decides, to be read.
    const TABLE: DeciderTable = DeciderTable::Default;

    /// Says how the declared child of this name is made. Called once for each instance and each of
    /// [`CHILDREN`](Self::CHILDREN), on the actor's turn: in their order, when those before have started.
    fn declare_child(&mut self, name: &'static str, declare: Declare<'_, Self>) {
        let _ = (name, declare);
    }

    /// What to do about a child's failure.
    ///
    /// Runs on the supervisor's turn, outside every lock. Must not block.
    ///
    /// # Errors
    ///
    /// An error fails the supervisor itself, with that error in place of the child's.
    fn decide(failure: &Failure, child: &ChildInfo) -> Result<Directive, Failure> {
        let _ = child;
        Ok(default_decider(failure))
    }

    /// Whether refs of this actor type reach such an actor: its own, and for a [pattern](crate::pattern) those of the
    /// actor it stands in for.
    #[doc(hidden)]
    fn answers_to(actor: TypeId) -> bool {
        actor == TypeId::of::<Self>()
    }
}

/// An actor: state that handles one message at a time and is restarted, resumed or stopped by its parent when it fails.
///
/// `#[actor]` on an impl block writes this impl from its handlers, hooks and watch methods.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an actor yet: it has no `#[actor] impl` block",
    label = "no messages are declared for `{Self}`",
    note = "write `#[actor] impl {Self} {{ #[handler] fn .. }}` (the block may be empty)"
)]
pub trait Actor: Supervisor + Send {
    /// Everything this actor can be told.
    type Message: Send + 'static;

    /// Handles one message that [`handle_now`](Self::handle_now) has given back. An error is a failure of this actor and
    /// goes to its parent. Implement `handle`, `handle_now`, or both.
    fn handle(
        &mut self,
        message: Self::Message,
        ctx: &mut Context<Self>,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        let _ = (message, ctx);
        async { unreachable!("an actor whose `handle_now` gives messages back has a `handle` for them") }
    }

    /// Handles one message whose handler never waits, at the cost of a function call; gives any other back, and it goes to
    /// [`handle`](Self::handle). `#[actor]` writes it for the handlers that are no `async fn`.
    fn handle_now(
        &mut self,
        message: Self::Message,
        ctx: &mut Context<Self>,
    ) -> ControlFlow<Result<(), Failure>, Self::Message> {
        let _ = ctx;
        ControlFlow::Continue(message)
    }

    /// Runs before the first message of a new actor and, by default, of every restarted one.
    fn pre_start(&mut self, ctx: &mut Context<Self>) -> impl Future<Output = Result<(), Failure>> + Send {
        let _ = ctx;
        async { Ok(()) }
    }

    /// Runs once on an instance that will handle no further message because its actor stops; by default also
    /// on an instance that is replaced. A failure is logged and changes nothing.
    fn post_stop(&mut self, ctx: &mut Context<Self>) -> impl Future<Output = Result<(), Failure>> + Send {
        let _ = ctx;
        async { Ok(()) }
    }

    /// Runs on the old instance before a restart replaces it. `message` is the one that failed, where it was kept.
    ///
    /// By default: unwatches and stops all children, then runs [`post_stop`](Self::post_stop). A failure is
    /// logged, the restart goes on.
    ///
    /// Rules 4.3 and 4.4.
    fn pre_restart(
        &mut self,
        ctx: &mut Context<Self>,
        cause: &Failure,
        message: Option<Self::Message>,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        let _ = (cause, message);
        async move {
            ctx.stop_children();
            self.post_stop(ctx).await
        }
    }

    /// Runs on the new instance after a restart. By default: [`pre_start`](Self::pre_start).
    fn post_restart(
        &mut self,
        ctx: &mut Context<Self>,
        cause: &Failure,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        let _ = cause;
        self.pre_start(ctx)
    }

    /// Handles the news that a watched actor ended. Without an override it is a death pact: the watcher fails.
    fn terminated(
        &mut self,
        gone: Terminated,
        ctx: &mut Context<Self>,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        let _ = ctx;
        async move { Err(Failure::death_pact(gone.path())) }
    }

    /// Asked before a message is handled: `true` sets it aside, with its reply, until this answers `false` for it.
    ///
    /// What is set aside is asked about again after each message. So the answer should follow from the actor and the message
    /// alone: where a clock or a shared value changes it, that is noticed after the next message only (rule 15.3).
    fn stash_while(&self, message: &Self::Message) -> bool {
        let _ = message;
        false
    }

    /// Whether `message` counts as activity, which starts the receive timeout anew.
    fn is_activity(message: &Self::Message) -> bool {
        let _ = message;
        true
    }

    /// How often a restart may deliver `message` again after it failed: 0 unless its handler says
    /// `#[handler(redeliver = N)]`.
    fn redelivery(message: &Self::Message) -> u32 {
        let _ = message;
        0
    }

    /// A copy of `message` whose reply goes nowhere, if it may be delivered again.
    fn duplicate(message: &Self::Message) -> Option<Self::Message> {
        let _ = message;
        None
    }

    /// A short name of the message's kind, for dead letters and events.
    fn message_name(message: &Self::Message) -> &'static str {
        let _ = message;
        std::any::type_name::<Self::Message>()
    }
}

/// What a child's factory may return: the actor, or a `Result` of it.
#[diagnostic::on_unimplemented(
    message = "a factory must return an actor or a `Result` of one, not `{Self}`",
    label = "this factory does not return an actor",
    note = "an actor has `#[actor]` above its type and above its impl block: `#[actor] struct Feed;` `#[actor] impl Feed {{ .. }}`",
    note = "a factory does not wait: what is `async` belongs in the actor's `#[pre_start]`",
    note = "a pool or a backoff supervisor gives `Props`: spawn them with `spawn_with(\"name\", props)`, under an actor in its `#[pre_start]`"
)]
pub trait Built: Send {
    /// The actor that is built.
    type Actor: Actor;
    /// Stands for what building can fail with, see [`DecidedBy`].
    type Cause;
    /// The actor, or why there is none.
    ///
    /// # Errors
    ///
    /// The factory's own error.
    fn built(self) -> Result<Self::Actor, Failure>;
}

/// Marks a factory that cannot fail.
#[derive(Debug, Clone, Copy)]
pub enum NeverFails {}

/// Marks a factory that can fail with `E`.
#[derive(Debug)]
pub struct FailsWith<E>(std::marker::PhantomData<E>);

#[diagnostic::do_not_recommend]
impl<A: Actor> Built for A {
    // `A`, by a way that nothing but an actor can go: what a factory's value lacks is then reported once.
    type Actor = <A::Ref as TypedRef>::Actor;
    type Cause = NeverFails;

    fn built(self) -> Result<A, Failure> {
        Ok(self)
    }
}

#[diagnostic::do_not_recommend]
impl<A, E> Built for Result<A, E>
where
    A: Actor,
    E: std::fmt::Display + Into<Box<dyn std::error::Error + Send + Sync>> + Send + Sync + 'static,
{
    type Actor = A;
    type Cause = FailsWith<E>;

    fn built(self) -> Result<A, Failure> {
        self.map_err(Failure::other)
    }
}

// ---- checks across the edge from parent to child ----------------------------------------------------------------

/// The table of `Self` has a rule for the failure `E`.
///
/// `#[supervise]` writes one impl per rule, and one for every `E` where the table has `on(_)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no supervision rule for the failure `{E}`",
    label = "this child can fail with `{E}`, and its parent `{Self}` does not say what happens then",
    note = "add a rule to the parent: `#[supervise(.., on({E}) = Restart)]` on `{Self}` (or `Resume`, `Stop`, `Escalate`)"
)]
pub trait Decides<E: ?Sized> {}

/// The table of `Self` has a rule for everything: `on(_)`, or it is the default table.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no `on(_)` rule, but a child may escalate any failure to it",
    label = "this child escalates whatever its own table does not name",
    note = "add `on(_) = Stop` (or `Restart`, `Resume`, `Escalate`) to `#[supervise(..)]` on `{Self}`, or name the failures in the child's table"
)]
pub trait DecidesAll {}

/// What a factory can fail with is decided by `P`.
pub trait DecidedBy<P> {}

impl<P> DecidedBy<P> for NeverFails {}
impl<P: Decides<E>, E> DecidedBy<P> for FailsWith<E> {}

/// Whatever the handlers and hooks of `Self` fail with is decided by `P`. Written by `#[actor]` on the impl block.
pub trait FailuresDecidedBy<P> {}

/// Whatever `Self` escalates is decided by `P`. Written by `#[actor]` on the type.
pub trait EscalationsDecidedBy<P> {}

/// `P` may be the parent of `Self`: it decides every failure that `Self` can report.
pub trait SupervisedBy<P> {}

impl<P, A: FailuresDecidedBy<P> + EscalationsDecidedBy<P>> SupervisedBy<P> for A {}

/// The table of `Self` never answers `Restart`, so a child that cannot be built twice may live under it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` may restart its children, but this child cannot be built a second time",
    label = "`spawn_once` gives up the instance after its first life",
    note = "use `ctx.spawn(name, move || ..)` with a factory, or let the table of `{Self}` answer only `Resume`, `Stop` or `Escalate`"
)]
pub trait NeverRestarts {}

/// `Self` handles the end of actors of type `A`. Written by `#[actor]` for each `#[watch]` method.
#[diagnostic::on_unimplemented(
    message = "`{Self}` watches `{A}` but has no `#[watch]` handler for it",
    label = "the end of a `{A}` would go unhandled",
    note = "add `#[watch] fn gone(&mut self, gone: Terminated<{A}>) {{ .. }}` to `#[actor] impl {Self}`, or call `ctx.death_pact(&r)` to stop together with it"
)]
pub trait Watches<A> {}

/// A ref whose end `P` can watch.
pub trait WatchableBy<P>: TypedRef {}

impl<P: Watches<R::Actor>, R: TypedRef> WatchableBy<P> for R {}

/// The plain ref of `A`, for signatures.
pub type RefOf<A> = <A as Supervisor>::Ref;
