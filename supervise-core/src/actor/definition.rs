//! What a user's type must be to run as an actor.
//!
//! There are two traits, because two attributes write them: [`Supervisor`] is what `#[actor]` and
//! `#[supervise]` on the *type* declare, [`Actor`] is what `#[actor]` on the *impl block* declares. Both can
//! be written by hand. [`cell`](super::cell) runs actors.

use std::any::TypeId;
use std::future::Future;
use std::ops::ControlFlow;
use std::time::Duration;

use crate::actor::actor_ref::TypedRef;
use crate::actor::batching::Batching;
use crate::actor::cell::Visit;
use crate::actor::child::Declare;
use crate::actor::configuration::{Configuration, InvalidSettings};
use crate::actor::context::Context;
use crate::actor::death_watch::Terminated;
use crate::actor::description::{ActorType, DeciderTable};
use crate::actor::envelope::ReplySlot;
#[cfg(feature = "durable")]
use crate::durable::fields::{CodecError, Decoder, Encoded};
use crate::failure::{During, Failure};
use crate::mailbox::MailboxKind;
use crate::supervision::{ChildInfo, ChildSpec, Directive, Strategy, default_decider};

/// How long a running handler or hook may continue after a stop request, unless the actor's type sets another time: 5
/// seconds.
pub const DEFAULT_STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// What a table says about a failure: the directive, and the place of the rule that matched.
pub type Ruled = (Directive, Option<u16>);

/// What an actor's type declares: its ref, its mailbox, and how it supervises its children.
///
/// `#[actor]` on a struct or enum writes this impl. `#[supervise]` beside it fills in the strategy and the table. To decide by
/// a function, write `#[supervise(one_for_one, decider = Self::judge)]`. Do not write an impl of your own, which would be a
/// second one (E0119).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not declared as an actor",
    label = "this type has no `#[actor]`",
    note = "write `#[actor]` above the type: `#[actor] struct {Self} {{ .. }}`",
    note = "its handlers and hooks are methods of an `#[actor] impl {Self} {{ #[handler] fn .. }}`, in place of an `impl Actor for {Self}`; its state is its fields"
)]
pub trait Supervisor: Sized + 'static {
    /// The typed ref that spawning returns. Hand-written actors may use [`ActorRef<Self>`](crate::ActorRef).
    type Ref: TypedRef<Actor = Self>;

    /// The kind of the actor's mailbox.
    const MAILBOX: MailboxKind = MailboxKind::Unbounded;

    /// How long a running handler or hook may continue after a stop request, before its future is dropped at its
    /// await point.
    const STOP_TIMEOUT: Duration = DEFAULT_STOP_TIMEOUT;

    /// How long asks of this actor wait for the reply, unless the asker sets a limit. `None` means the limit of the system.
    /// Rule [19.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-19.6).
    const ASK_TIMEOUT: Option<Duration> = None;

    /// The settings of the actor's durable mailbox, if it has one.
    /// Rule [27.1](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.1).
    #[cfg(feature = "durable")]
    const DURABLE: Option<crate::durable::DurableMailbox> = None;

    /// How many messages [`Actor::stash_while`] may set aside. If one more arrives, the actor fails.
    const STASH_CAPACITY: usize = usize::MAX;

    /// Which children a failure affects, and how many restarts are granted.
    const STRATEGY: Strategy = Strategy::one_for_one();

    /// The strategy as the attribute writes it, if the strategy or a rule depends on the instance through `self`.
    /// [`configure`](Self::configure) resolves such values. [`STRATEGY`](Self::STRATEGY) and [`TABLE`](Self::TABLE) hold the
    /// values that do not depend on the instance.
    const CONFIGURED: Option<&'static str> = None;

    /// The declared children, in start order. `#[child]` fields of a struct fill it in.
    const CHILDREN: &'static [ChildSpec] = &[];

    /// The types of [`CHILDREN`](Self::CHILDREN), in the same order, for [`Tree::declared`](crate::Tree::declared). A
    /// type that is missing here is also missing in that tree.
    const CHILD_TYPES: &'static [ActorType] = &[];

    /// The rules of [`decide`](Self::decide) as data, for people and tools. The runtime does not use them.
    const TABLE: DeciderTable = DeciderTable::Default;

    /// Declares how the child of this name is made. Runs once for each instance and each of
    /// [`CHILDREN`](Self::CHILDREN), in their order, on the actor's turn, after the earlier children have started.
    fn declare_child(&mut self, name: &'static str, declare: Declare<'_, Self>) {
        let _ = (name, declare);
    }

    /// Decides what happens to a child that failed.
    ///
    /// Runs on the supervisor's turn, possibly on the child's stack ([rule
    /// 1.9](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-1.9)), outside every lock. Must not
    /// block.
    ///
    /// # Errors
    ///
    /// An error fails the supervisor itself, with that error in place of the child's.
    fn decide(failure: &Failure, child: &ChildInfo) -> Result<Directive, Failure> {
        let _ = child;
        Ok(default_decider(failure))
    }

    /// Decides like [`decide`](Self::decide), and also returns the place of the rule of [`TABLE`](Self::TABLE) that matched.
    /// The first rule has the place 0; `None` means that no rule matched, or that the table has no rules. The runtime calls
    /// only this method.
    ///
    /// `#[supervise]` writes it from the rules, and `decide` follows from it, so each guard runs once.
    ///
    /// # Errors
    ///
    /// As [`decide`](Self::decide).
    fn rule(failure: &Failure, child: &ChildInfo) -> Result<Ruled, Failure> {
        Ok((Self::decide(failure, child)?, None))
    }

    /// Resolves the values of the table that depend on the instance. Runs on the actor's turn, at the first start and at each
    /// restart, after the factory and before anything else of the instance starts. Runs only if
    /// [`CONFIGURED`](Self::CONFIGURED) is set.
    ///
    /// Rule [7.12](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-7.12).
    ///
    /// # Errors
    ///
    /// If a value is not allowed. The actor cannot start then.
    fn configure(&self) -> Result<Configuration, InvalidSettings> {
        Ok(Configuration::new(Self::STRATEGY, []))
    }

    /// Like [`rule`](Self::rule), with the values that [`configure`](Self::configure) has resolved.
    ///
    /// # Errors
    ///
    /// As [`decide`](Self::decide).
    fn rule_by(configuration: &Configuration, failure: &Failure, child: &ChildInfo) -> Result<Ruled, Failure> {
        let _ = configuration;
        Self::rule(failure, child)
    }

    /// Whether refs of the type `actor` reach actors of this type: its own refs do, and for a [pattern](crate::pattern)
    /// also the refs of the actor type that it stands in for.
    #[doc(hidden)]
    fn answers_to(actor: TypeId) -> bool {
        actor == TypeId::of::<Self>()
    }
}

/// An actor: state that handles one message at a time. When it fails, its parent restarts, resumes or stops it, or
/// escalates the failure.
///
/// `#[actor]` on an impl block writes this impl from its handlers, hooks and watch methods.
///
/// If you come from ractor: its trait of this name has the types `Msg`, `State` and `Arguments`, which are an error here
/// (E0325). In this crate the type itself is the state, the factory has the arguments, and each message is a method with
/// `#[handler]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an actor yet: it has no `#[actor] impl` block",
    label = "no messages are declared for `{Self}`",
    note = "write `#[actor] impl {Self} {{}}`, and in it a method with `#[handler]` for each message",
    note = "if you have such a block: the impl of a trait does not count, and `#[async_trait]` above `#[actor]` hides the block (remove it: handlers do not need it)"
)]
pub trait Actor: Supervisor
    // the fields of an actor must be `Send`: use `Arc` for `Rc`, `Arc<dyn T + Send + Sync>` for `Arc<dyn T>`
    + Send
{
    /// The type of the actor's messages.
    type Message: Send + 'static; // the arguments of a handler must be `Send`: use `Arc` for `Rc`

    /// For an impl that is written as with another crate: rustc quotes this line.
    #[doc(hidden)]
    #[expect(
        non_upper_case_globals,
        reason = "it has the name of another crate's type, so that rustc quotes this line and its comment"
    )]
    const Msg: () = (); // in place of this impl: `#[actor]` above the type, and `#[actor] impl` with a `#[handler] fn` per message

    /// For an impl that is written as with another crate: rustc quotes this line.
    #[doc(hidden)]
    #[expect(
        non_upper_case_globals,
        reason = "it has the name of another crate's type, so that rustc quotes this line and its comment"
    )]
    const State: () = (); // the fields of the actor are its state: `#[actor] struct Counter { number: i64 }`

    /// For an impl that is written as with another crate: rustc quotes this line.
    #[doc(hidden)]
    #[expect(
        non_upper_case_globals,
        reason = "it has the name of another crate's type, so that rustc quotes this line and its comment"
    )]
    const Arguments: () = (); // the closure that makes it has the arguments: `ctx.spawn(name, move || Counter { number: start })`

    /// For an impl that is written as with another crate: rustc quotes this line.
    #[doc(hidden)]
    #[expect(
        non_upper_case_globals,
        reason = "it has the name of another crate's type, so that rustc quotes this line and its comment"
    )]
    const Args: () = (); // the closure that makes the actor has the arguments: `ctx.spawn(name, move || Counter { number: start })`

    /// For an impl that is written as with another crate: rustc quotes this line.
    #[doc(hidden)]
    #[expect(
        non_upper_case_globals,
        reason = "it has the name of another crate's type, so that rustc quotes this line and its comment"
    )]
    const Context: () = (); // write `#[actor]` above the type, and in place of this impl `#[actor] impl` with a `#[handler] fn` for each message

    /// The names of the handlers, as the block writes them. The log and the console show them. An actor that is written by hand
    /// may leave this empty.
    const HANDLERS: &'static [&'static str] = &[];

    /// Whether code of this actor may hold reply slots ([`ReplyTo`](crate::ReplyTo)), of its own askers or of others. If the
    /// actor fails or ends and drops such slots, their askers get the reason. `#[actor]` sets this if the impl block mentions
    /// `ReplyTo`. Rules [19.3](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-19.3) and
    /// [19.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-19.4).
    const KEEPS_REPLIES: bool = false;

    /// Whether [`pre_restart`](Self::pre_restart) or [`post_stop`](Self::post_stop) does something of its own. If not, they need not be
    /// called on an instance without children. `#[actor]` writes `false` for an impl block without these hooks.
    const HAS_LAST_HOOK: bool = true;

    /// Whether a handler gathers messages: [`batching`](Self::batching) says which.
    const BATCHES: bool = false;

    /// What an actor does when it is drained and has handled its messages. A parent of this crate drains its
    /// children and then stops; other actors stop at once. Rules
    /// [13.10](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-13.10) and
    /// [18.11](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-18.11).
    #[doc(hidden)]
    const AT_DRAIN: Option<fn() -> Visit> = None;

    /// Whether a message may be delivered again: [`redelivery`](Self::redelivery) says which. Other actors do not even
    /// compile the code for it.
    const REDELIVERS: bool = false;

    /// Handles one message that [`handle_now`](Self::handle_now) has given back. An error is a failure of this actor,
    /// and its parent decides about it. Implement `handle`, `handle_now`, or both.
    fn handle(
        &mut self,
        message: Self::Message,
        ctx: &mut Context<Self>,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        let _ = (message, ctx);
        async { unreachable!("an actor whose `handle_now` gives messages back has a `handle` for them") }
    }

    /// Handles one message whose handler never waits, at the cost of a function call. Returns any other message,
    /// which then goes to [`handle`](Self::handle). `#[actor]` writes it for the handlers that are not an `async fn`.
    fn handle_now(
        &mut self,
        message: Self::Message,
        ctx: &mut Context<Self>,
    ) -> ControlFlow<Result<(), Failure>, Self::Message> {
        let _ = ctx;
        ControlFlow::Continue(message)
    }

    /// How messages like this one are gathered, or `None` if they are not. Called only if [`BATCHES`](Self::BATCHES)
    /// is `true`.
    fn batching(message: &Self::Message) -> Option<Batching> {
        let _ = message;
        None
    }

    /// Handles the messages that were gathered for the handler with this number ([`Batching::new`]), in their order. An error is
    /// one failure of this actor.
    fn handle_batch(
        &mut self,
        handler: u16,
        batch: Vec<Self::Message>,
        ctx: &mut Context<Self>,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        let _ = (handler, batch, ctx);
        async { unreachable!("an actor whose `batching` gathers messages has a `handle_batch` for them") }
    }

    /// Runs before the first message of a new actor and, by default, of every restarted one.
    fn pre_start(&mut self, ctx: &mut Context<Self>) -> impl Future<Output = Result<(), Failure>> + Send {
        let _ = ctx;
        async { Ok(()) }
    }

    /// Runs once on the last instance of an actor that stops, after its last message. By default it also runs on an
    /// instance that a restart replaces, **also after a panic**: the instance may then be half-way through a change. A failure is
    /// logged and changes nothing.
    fn post_stop(&mut self, ctx: &mut Context<Self>) -> impl Future<Output = Result<(), Failure>> + Send {
        let _ = ctx;
        async { Ok(()) }
    }

    /// Runs on the old instance before a restart replaces it. `message` is a copy of the failing message, if `redeliver` kept it
    /// and the failure was the actor's own. The runtime delivers that message again by itself: a hook that sends it, too, has it
    /// handled twice.
    ///
    /// By default: unwatches and stops all children, then runs [`post_stop`](Self::post_stop). A failure is logged, and
    /// the restart continues.
    ///
    /// Rule [4.3](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-4.3) and
    /// rule [4.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-4.4).
    fn pre_restart(
        &mut self,
        ctx: &mut Context<Self>,
        cause: &Failure,
        message: Option<Self::Message>,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        let _ = (cause, message);
        async move {
            ctx.stop_children();
            ctx.enter(During::PostStop.number());
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
        ctx.enter(During::PreStart.number());
        self.pre_start(ctx)
    }

    /// Handles the end of a watched actor. The default is a death pact: the watcher fails.
    fn terminated(
        &mut self,
        gone: Terminated,
        ctx: &mut Context<Self>,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        let _ = ctx;
        async move { Err(Failure::death_pact(gone.path())) }
    }

    /// Whether the actor has a [`stash_while`](Self::stash_while). An actor that gathers messages for
    /// [`handle_batch`](Self::handle_batch) and stashes none is charged for a crash with its whole batch.
    const STASHES: bool = false;

    /// Runs before each message is handled. `true` stashes the message, with its reply slot, until this returns `false`
    /// for it.
    ///
    /// It runs again for the stashed messages after each message. So the answer should depend on the actor and the
    /// message alone: if a clock or a shared value changes it, the actor notices that only after its next message
    /// (rule [15.3](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-15.3)).
    fn stash_while(&self, message: &Self::Message) -> bool {
        let _ = message;
        false
    }

    /// Whether `message` counts as activity, which restarts the receive timeout.
    fn is_activity(message: &Self::Message) -> bool {
        let _ = message;
        true
    }

    /// Whether to drop `message` unhandled: its handler says `#[handler(skip_abandoned)]`, and its asker
    /// [has given up](crate::ReplyTo::is_abandoned). Rule
    /// [19.9](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-19.9).
    fn is_skipped(message: &Self::Message) -> bool {
        let _ = message;
        false
    }

    /// How often a restart may deliver `message` again after it failed: 0 unless its handler says
    /// `#[handler(redeliver = N)]`. Called only if [`REDELIVERS`](Self::REDELIVERS) is `true`.
    fn redelivery(message: &Self::Message) -> u32 {
        let _ = message;
        0
    }

    /// A copy of `message` whose reply goes nowhere, if it may be delivered again.
    fn duplicate(message: &Self::Message) -> Option<Self::Message> {
        let _ = message;
        None
    }

    /// Puts an asker who waits for a redelivery ([`Request::retried`](crate::Request::retried)) into the
    /// [copy](Self::duplicate) that is about to be delivered. If `reply` is dropped, the asker gets
    /// [`AskError::Unanswered`](crate::AskError::Unanswered).
    fn reattach(message: &mut Self::Message, reply: ReplySlot) {
        let _ = message;
        drop(reply);
    }

    /// The place for the ticket of a stored message. `#[actor]` writes it.
    #[cfg(feature = "durable")]
    #[doc(hidden)]
    fn slot(message: &mut Self::Message) -> Option<&mut ReplySlot> {
        let _ = message;
        None
    }

    /// Whether the message is stored and has its ticket. `#[actor]` writes it.
    #[cfg(feature = "durable")]
    #[doc(hidden)]
    fn is_stored(message: &Self::Message) -> bool {
        let _ = message;
        false
    }

    /// The message as a durable mailbox stores it, or `None` if it is not stored. `#[actor]` writes it.
    #[cfg(feature = "durable")]
    #[doc(hidden)]
    fn encode(message: &Self::Message) -> Result<Option<Encoded>, CodecError> {
        let _ = message;
        Ok(None)
    }

    /// Decodes a message that was stored as `kind`. `None`: no handler has this stored name. `#[actor]` writes it.
    #[cfg(feature = "durable")]
    #[doc(hidden)]
    fn decode(kind: &str, arguments: &Decoder<'_>) -> Result<Option<Self::Message>, CodecError> {
        let _ = (kind, arguments);
        Ok(None)
    }

    /// The name of the message that was stored as `kind`, for dead letters and events. `#[actor]` writes it.
    #[cfg(feature = "durable")]
    #[doc(hidden)]
    fn stored_message(kind: &str) -> Option<&'static str> {
        let _ = kind;
        None
    }

    /// A short name of the message's kind, for dead letters and events.
    fn message_name(message: &Self::Message) -> &'static str {
        let _ = message;
        std::any::type_name::<Self::Message>()
    }
}

/// An actor whose mailbox is durable: `#[actor(mailbox = durable)]` on the type writes it.
#[cfg(feature = "durable")]
#[diagnostic::on_unimplemented(
    message = "the mailbox of `{Self}` is not durable",
    label = "its messages live in memory",
    note = "write `#[actor(mailbox = durable)]` above the type"
)]
pub trait Durable: Supervisor {}

/// What a child's factory may return: the actor, or a `Result` of it.
#[diagnostic::on_unimplemented(
    message = "a factory must return an actor or a `Result` of one, not `{Self}`",
    label = "this factory's value is not an actor",
    note = "if it is `async`: a factory does not wait, so remove `async`; give the actor a field such as `connection: Option<Connection>`, begin with `None`, and fill it in its `#[pre_start] async fn begin(&mut self) -> Result<(), E>`; the parent's table decides the error `E`",
    note = "if it is a struct or an enum: write `#[actor]` above the type, and above its `impl` block (an empty block will do)",
    note = "if it is the `..Props` of a pattern, such as a pool: remove the `||`, and write `spawn_with(name, Pool::round_robin(4, || Worker).props())` for `spawn(name, || Pool::round_robin(4, || Worker))`; a field names the pattern in its type, `#[child(|_| Pool::round_robin(4, || Worker).props())] workers: Child<Pool<Worker>>`",
    note = "if it is another value: return an actor, such as `|| Worker::new()`"
)]
pub trait Built: Send {
    /// The actor that the factory builds.
    type Actor: Actor;
    /// Stands for the errors of the factory, see [`DecidedBy`](crate::DecidedBy).
    type Cause;
    /// The actor, or the factory's error.
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
    // This is `A`, by a path that only an actor has, so that rustc reports a value that is not an actor once.
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

/// The plain ref of `A`, for signatures.
pub type RefOf<A> = <A as Supervisor>::Ref;
