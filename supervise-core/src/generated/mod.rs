//! What generated code calls. It is not part of the public interface: users reach it only through the macros.
//!
//! Generic code is here, so that the macros emit little code.
//!
//! Methods that generated code calls with a dot begin with `__`: a trait of the user that every type implements may have methods of
//! any other name.

mod batch;
mod compiler_hints;
pub mod migration_hints;
pub mod missing_rule;
mod named_error;
mod plain_reply;
pub mod probes;
mod protocol;
mod reference;
mod settings;
#[cfg(feature = "durable")]
mod stored;
#[rustfmt::skip] // rustc quotes whole lines of it
pub mod typed;

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;

use crate::actor::{
    Actor, ActorRef, ActorType, Built, Child, Context, DecidedBy, Decides, Declare, Envelope,
    EscalationsDecidedBy, Factory, GivesProps, Guardian, HandlersOfOneImplBlockDecidedBy, Props, RefOf, ReplySlot,
    ReplyTo, Request, SupervisedBy, Supervisor, TypedRef, answer, typed,
};
use crate::base::drop_contained;
use crate::failure::Failure;
use crate::keyed::{ChildKey, Children, ChildrenProps};

pub use batch::*;
pub use compiler_hints::*;
pub use named_error::*;
pub use plain_reply::*;
pub use protocol::*;
pub use reference::*;
pub use settings::*;
#[cfg(feature = "durable")]
pub use stored::*;

#[cfg(feature = "remote")]
pub use serde;

/// Opens an envelope for its handler. Keeps the reply slot where it survives the handler's panic or abort.
#[inline]
pub fn open<A: Actor<Message = Envelope<M>>, M>(ctx: &mut Context<A>, envelope: Envelope<M>) -> M {
    let (message, reply) = envelope.into_parts();
    ctx.hold(reply.into_erased());
    message
}

/// Called for a message that another method of the actor handles, which never happens: `handle` gets those of async handlers,
/// `handle_batch` those of handlers with `batch`, and `handle_now` the others.
///
/// # Panics
///
/// Always.
#[cold]
pub fn handled_elsewhere() -> ! {
    unreachable!("another method handles this message")
}

/// Records which handler runs from now on: the `number`th of [`Actor::HANDLERS`], counted from 1.
#[inline]
pub fn enter<A: Actor>(ctx: &mut Context<A>, number: u16) {
    ctx.enter(number);
}

/// Sends the handler's reply to the asker, if there is one. Returns what [`Actor::handle`] then returns.
///
/// # Errors
///
/// None: a handler that has a reply has not failed.
#[inline]
pub fn reply<A: Actor, T: Sendable>(ctx: &mut Context<A>, value: T) -> Result<(), Failure> {
    match ctx.take_held() {
        Some(slot) => answer(slot, value),
        None => drop_contained(value),
    }
    Ok(())
}

/// Attaches the asker who waits for a redelivery to the copy of a message.
pub fn reattach<M>(message: &mut Envelope<M>, reply: ReplySlot) {
    message.reattach(reply);
}

/// Gives a handler its reply slot, for an answer that comes later.
#[inline]
pub fn reply_to<A: Actor, T: Sendable>(ctx: &mut Context<A>) -> ReplyTo<T> {
    typed(ctx.lend_held())
}

/// What a handler that takes its reply slot may return.
#[diagnostic::on_unimplemented(
    message = "a handler that takes its reply slot cannot return a value",
    label = "the slot brings the reply",
    note = "remove the return type, and answer with `reply.answer(value);` (or return a `Result<(), ..>`, with `Ok(())` at the end, if an `Err` should fail the actor)"
)]
pub trait NothingBesideTheSlot {}

#[diagnostic::do_not_recommend]
impl NothingBesideTheSlot for () {}

/// Requires that a `Result` under another name has no value. rustc reports the error at the return type.
pub fn beside_the_slot<T: NothingBesideTheSlot>(_: T) {}

/// Keeps the slot of a message that was written by hand with a [`ReplyTo`] in it, as [`open`] does.
pub fn hold<A: Actor, T: Sendable>(ctx: &mut Context<A>, reply: ReplyTo<T>) {
    ctx.hold(reply.erase());
}

/// A request with a generated message.
#[inline]
pub fn request<A, M, T>(to: &ActorRef<A>, message: M) -> Request<'_, A, T>
where
    A: Actor<Message = Envelope<M>>,
    T: Sendable,
{
    Request::new(to, Envelope::from(message), Envelope::attach)
}

/// Shows an argument, if it implements `Debug`. Used as `Shown(argument).__shown()`.
#[expect(missing_debug_implementations, reason = "it is not shown itself")]
pub struct Shown<'a, T>(pub &'a T);

impl<'a, T: fmt::Debug> Shown<'a, T> {
    /// The argument. rustc prefers this method to that of [`NotDebug`] where the argument implements `Debug`.
    pub fn __shown(self) -> &'a dyn fmt::Debug {
        self.0
    }
}

/// Shows a message: its name, and the names, with a blank between them, and the values of its arguments. (rustc checks one string
/// faster than an array.)
///
/// # Errors
///
/// Those of the formatter.
pub fn show(f: &mut fmt::Formatter<'_>, name: &str, names: &str, values: &[&dyn fmt::Debug]) -> fmt::Result {
    let mut message = f.debug_struct(name);
    for (name, value) in names.split(' ').zip(values) {
        message.field(name, value);
    }
    message.finish()
}

/// Stands for an argument that does not implement `Debug`.
struct Elided;

impl fmt::Debug for Elided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

/// The argument may not implement `Debug`.
pub trait NotDebug {
    /// `..`
    fn __shown(self) -> &'static dyn fmt::Debug;
}

impl<T> NotDebug for Shown<'_, T> {
    fn __shown(self) -> &'static dyn fmt::Debug {
        &Elided
    }
}

/// The two sides of a handler's `Result`, whatever alias it was written under.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is named `Result` but is not an alias of it",
    label = "the name `Result` separates a reply from a failure",
    note = "to reply with `{Self}`, give it another name"
)]
pub trait ResultLike {
    /// What the handler replies.
    type Ok;
    /// What the handler fails with.
    type Err;
    /// The value as a plain `Result`.
    ///
    /// # Errors
    ///
    /// The handler's.
    fn into_result(self) -> Result<Self::Ok, Self::Err>;
}

#[diagnostic::do_not_recommend]
impl<T, E> ResultLike for Result<T, E> {
    type Ok = T;
    type Err = E;

    fn into_result(self) -> Self {
        self
    }
}

/// Requires that a handler's future is `Send`. The macro wraps the call in it, so that rustc reports the error at the
/// handler's name.
pub fn handler_future<F>(future: F) -> F
where
    F: Future + Send, // use a type that is `Send` (`Arc` for `Rc`), or end the value's life before the `.await`
{
    future
}

/// A type that may be part of a message.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot travel in a message: it is not `Send + 'static`",
    label = "messages and replies go to another thread",
    note = "use a type that is `Send`: `Arc` for `Rc`, `Mutex` for `RefCell`, `Box<dyn Trait + Send>` for `Box<dyn Trait>`, `Arc<dyn Trait + Send + Sync>` for `Arc<dyn Trait>`"
)]
pub trait Sendable: Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Send + 'static> Sendable for T {}

/// Stands for a message about which an error is already reported.
pub fn no_request<A: Actor>() -> Request<'static, A, ()> {
    unreachable!("the block has a mistake")
}

/// Requires that a value is sendable. rustc reports the error at the argument's type.
pub fn sendable<T: Sendable>(value: T) -> T {
    value
}

/// Requires an `#[actor] impl` block. rustc reports the error at the actor's name.
pub fn has_messages<A: Actor>() {}

/// What `redeliver` requires of an argument.
///
/// This is a trait of the copy, not of the argument. Otherwise rustc would propose to borrow the argument, because
/// references are `Clone`.
#[diagnostic::on_unimplemented(
    message = "`{T}` cannot be delivered again: it is not `Clone`",
    label = "`redeliver` keeps a clone of every argument",
    note = "derive `Clone` for `{T}`, share it in an `Arc`, or remove `redeliver`"
)]
pub trait CopyOf<T> {
    /// Clones it.
    fn of(value: &T) -> T;
}

/// A copy of an argument, for the next delivery.
#[derive(Debug)]
pub struct Copy;

#[diagnostic::do_not_recommend]
impl<T: Clone> CopyOf<T> for Copy {
    fn of(value: &T) -> T {
        value.clone()
    }
}

/// Clones an argument. rustc reports an argument that is not `Clone` at its type.
pub fn redeliverable<T>(value: &T) -> T
where
    Copy: CopyOf<T>,
{
    Copy::of(value)
}

/// An error that an actor may fail with and that a rule may name.
#[diagnostic::on_unimplemented(
    message = "an actor cannot fail with `{Self}`",
    label = "this is not an error that can be sent to the parent",
    note = "a boxed error can be sent if its type has the bounds: write `Box<dyn Error + Send + Sync>` for `Box<dyn Error>`",
    note = "any other type must implement `std::error::Error + Send + Sync + 'static`: use one such as `std::io::Error`, or write a type of your own, `#[derive(Debug, thiserror::Error)] #[error(\"..\")] struct MyError;`",
    note = "if a handler only answers with it and has not failed, let the handler return `Reply<Result<_, {Self}>>`, in which any type will do"
)]
pub trait ErrorValue: fmt::Display + Into<Box<dyn Error + Send + Sync>> + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<E> ErrorValue for E where E: fmt::Display + Into<Box<dyn Error + Send + Sync>> + Send + Sync + 'static {}

/// Requires an error type. rustc reports the error at the type.
pub fn error_value<E: ErrorValue>(error: E) -> E {
    error
}

/// An error that a rule may name.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an error, so no child can fail with it",
    label = "a rule for this type would never match",
    note = "name the error with which a child fails: the `E` of a handler that returns `Result<_, E>`",
    note = "the type must implement `std::error::Error + Send + Sync + 'static`: use one such as `std::io::Error`, or write your own, `#[derive(Debug, thiserror::Error)] #[error(\"..\")] struct MyError;`",
    note = "a boxed error works too if it has the bounds: write `Box<dyn Error + Send + Sync>` for `Box<dyn Error>`"
)]
pub trait ErrorOfARule: ErrorValue {}

#[diagnostic::do_not_recommend]
impl<E: ErrorValue> ErrorOfARule for E {}

/// The error of a failure, if it is an `E`. rustc reports an `E` that is not an error type at the rule's type.
pub fn error_as<E: ErrorOfARule>(failure: &Failure) -> Option<&E> {
    failure.downcast_ref()
}

/// [`error_as`], for one of several enums in the table of `P`. If two of them are the same enum in two spellings,
/// rustc has already reported that. It then does not know which impl of [`Decides`] applies here, and does not
/// report the variants without a rule.
pub fn error_of<P: Decides<E>, E: ErrorValue>(failure: &Failure) -> Option<&E> {
    error_as(failure)
}

/// Evaluates a rule's guard. Fixes the type of the closure's parameter.
pub fn guard<E>(error: &E, guard: impl FnOnce(&E) -> bool) -> bool {
    guard(error)
}

/// What the closure of a declared child returns.
#[diagnostic::on_unimplemented(
    message = "the closure of `#[child(..)]` must return a factory: another closure, which runs at each restart of the child",
    label = "this does not return a closure, or one that can run only once",
    note = "a closure that moves a captured value into the actor can run only once: clone inside it, `|this| {{ let config = this.config.clone(); move || Reader {{ config: config.clone() }} }}`",
    note = "an expression that makes the actor itself needs a `||` before it: write `#[child(|_| || Reader::new())]` for `#[child(|_| Reader::new())]`",
    note = "if the field should hold a pool or another pattern: its type names the pattern, `Child<Pool<Worker>>` for `Child<Worker>`, with `#[child(|_| Pool::round_robin(4, || Worker).props())]`"
)]
pub trait ChildFactory: Factory {}

#[diagnostic::do_not_recommend]
impl<F: Factory> ChildFactory for F {}

/// A factory that may move to the thread that runs the child.
#[diagnostic::on_unimplemented(
    message = "the factory of this child captures a value that is not `Send`, so it cannot move between threads",
    label = "a captured value is not `Send`",
    note = "check the values that the inner closure captures, and make each `Send`: write `Arc` for `Rc`, `Arc<dyn Trait + Send + Sync>` for `Arc<dyn Trait>`"
)]
pub trait Captures: Send {}

#[diagnostic::do_not_recommend]
impl<T: Send> Captures for T {}

/// Runs the expression of a `#[child(..)]` attribute. rustc reports an expression that does not return a factory there.
pub fn factory<P, F: ChildFactory + Captures + 'static>(parent: &mut P, make: impl FnOnce(&mut P) -> F) -> F {
    make(parent)
}

/// The type of a declared child, as a value. The child's declaration checks that the type is an actor.
#[derive(Debug)]
pub struct TypeOf<A>(PhantomData<fn() -> A>);

impl<A: Supervisor> TypeOf<A> {
    /// The type is an actor. rustc prefers this inherent constant to the trait's constant of this name.
    pub const ACTOR: ActorType = ActorType::of::<A>();
}

/// The answer for a type that is not an actor.
pub trait NoActor {
    /// A placeholder: code with a child that is not an actor does not compile.
    const ACTOR: ActorType = ActorType::of::<Guardian>();
}

impl<A> NoActor for TypeOf<A> {}

/// The type of the parent of keyed children, as a value.
pub const fn type_of_children<K: ChildKey, C: Actor, P: Supervisor>() -> ActorType {
    crate::keyed::type_of_parent::<K, C, P>()
}

/// A ref whose actor `P` may supervise. The bound is on the ref, which only an actor has, so that rustc reports a type
/// that is not an actor only once.
pub trait SupervisedRef<P> {}

impl<P, R: TypedRef> SupervisedRef<P> for R where R::Actor: SupervisedBy<P> {}

/// Declares the child of a field. If the actor or the parent's table does not fit, rustc reports the error at the
/// field's type.
pub fn declare<P, B, F, C>(
    declare: Declare<'_, P>,
    parent: &mut P,
    field: impl FnOnce(&mut P) -> &mut Child<C>,
    _held: PhantomData<C>,
    factory: F,
) where
    F: Factory<Product = B> + Send + 'static,
    B: Built,
    C: 'static,
    B::Actor: Fills<C>,
    RefOf<B::Actor>: SupervisedRef<P>,
    B::Cause: DecidedBy<P>,
{
    declare.fill(parent, |parent| Fills::field(field(parent)), factory);
}

/// Runs the expression of a `#[child(..)]` attribute on a pattern. rustc reports an expression that does not return props there.
pub fn props<P, M: ChildProps>(
    parent: &mut P,
    make: impl FnOnce(&mut P) -> M,
) -> Props<M::Actor, M::Cause, M::Table> {
    make(parent).props()
}

/// What the closure of a pattern's field returns.
#[diagnostic::on_unimplemented(
    message = "the closure of a pattern (a pool, a backoff supervisor, a circuit breaker) must return its props",
    label = "this closure does not return `Props`",
    note = "write one closure, without a `||` after it: `#[child(|_| Pool::round_robin(4, || Worker).props())]`; it runs for each instance of the parent"
)]
pub trait ChildProps: GivesProps {}

#[diagnostic::do_not_recommend]
impl<T: GivesProps> ChildProps for T {}

/// Declares a pattern as the child of a field, as [`declare`] declares an actor.
pub fn declare_with<P, A, C, T>(
    declare: Declare<'_, P>,
    parent: &mut P,
    field: impl FnOnce(&mut P) -> &mut Child<A>,
    props: Props<A, C, T>,
) where
    A: Actor + HandlersOfOneImplBlockDecidedBy<P>,
    C: DecidedBy<P>,
    T: EscalationsDecidedBy<P>,
{
    declare.fill_with(parent, field, props);
}

/// Runs the expression of a `#[child(..)]` attribute on keyed children. rustc reports an expression that does not return a template
/// there.
pub fn template<P, K, B, F>(parent: &mut P, make: impl FnOnce(&mut P) -> F) -> ChildrenProps<K, B::Actor, B::Cause>
where
    K: ChildKey,
    B: Built,
    F: Fn(&K) -> B + Send + Sync + 'static,
{
    Children::of(make(parent))
}

/// Declares the keyed children of a field, as [`declare`] declares a child.
pub fn declare_children<P, K, C, E>(
    declare: Declare<'_, P>,
    parent: &mut P,
    field: impl FnOnce(&mut P) -> &mut Children<K, C>,
    props: ChildrenProps<K, C, E>,
) where
    P: Supervisor,
    K: ChildKey,
    C: Actor,
    RefOf<C>: SupervisedRef<P>,
    E: DecidedBy<P>,
{
    declare.fill_children(parent, field, props);
}

/// Picks the best way to turn an error into a [`Failure`], the most informative first: errors, types that can be seen
/// as errors, types that convert into one. Used as `(&&&&Tier::of(&error)).__failure(error)`.
#[derive(Debug)]
pub struct Tier<E>(PhantomData<fn() -> E>);

impl<E> Tier<E> {
    /// The tiers of `E`.
    pub fn of(_: &E) -> Self {
        Self(PhantomData)
    }
}

/// Tier one: errors.
pub trait AnError<E> {
    /// The failure.
    fn __failure(&self, error: E) -> Failure;
}

impl<E: Error + Send + Sync + 'static> AnError<E> for &&&Tier<E> {
    fn __failure(&self, error: E) -> Failure {
        Failure::new(error)
    }
}

/// Tier two: boxed errors, `anyhow::Error`.
pub trait ErrorLike<E> {
    /// The failure.
    fn __failure(&self, error: E) -> Failure;
}

impl<E> ErrorLike<E> for &&Tier<E>
where
    E: fmt::Display + AsRef<dyn Error + Send + Sync> + Send + Sync + 'static,
{
    fn __failure(&self, error: E) -> Failure {
        Failure::error_like(error)
    }
}

/// Tier three: types that convert into a boxed error.
pub trait IntoError<E> {
    /// The failure.
    fn __failure(&self, error: E) -> Failure;
}

impl<E> IntoError<E> for &Tier<E>
where
    E: fmt::Display + Into<Box<dyn Error + Send + Sync>> + Send + Sync + 'static,
{
    fn __failure(&self, error: E) -> Failure {
        Failure::other(error)
    }
}

/// The last tier: types that are not errors. [`error_value`] has made rustc report them, so this tier must not report
/// them again.
pub trait ReportedError<E> {
    /// Never called.
    fn __failure(&self, error: E) -> Failure;
}

impl<E> ReportedError<E> for Tier<E> {
    fn __failure(&self, _: E) -> Failure {
        unreachable!("code whose error is not an error type does not compile")
    }
}
