// Where the links of the README lead in this documentation. The README defines the same names for the forge, at its end. Of two definitions
// of a name, Markdown takes the first one. `tests/links.rs` finds a name that is missing here.
//! [actor ref]: ActorRef
//! [akka]: docs::guides::akka
//! [architecture]: docs::architecture
//! [ask error]: AskError
//! [another host]: docs::architecture#the-parts
//! [benchmark]: docs::architecture#the-parts
//! [checks]: docs::checks
//! [comparison]: docs::architecture#the-parts
//! [configuration]: docs::cookbook::configuration
//! [conformance]: docs::reliability
//! [connections]: docs::cookbook::connections
//! [console]: docs::console
//! [cookbook]: docs::cookbook
//! [dark picture of the console]: docs::console
//! [deploying]: docs::cookbook::deploying
//! [durable]: docs::durable
//! [erlang]: docs::guides::erlang
//! [flow]: docs::cookbook::flow
//! [http]: docs::cookbook::http
//! [metrics]: docs::metrics
//! [picture of the console]: data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20width='600'%20height='30'%3E%3Ctext%20y='20'%20fill='%23888'%3EThe%20picture%20is%20in%20the%20repository:%20supervise/docs/console.png%3C/text%3E%3C/svg%3E
//! [proto actor]: docs::guides::proto_actor
//! [protocols]: docs::cookbook::protocols
//! [registry]: docs::cookbook::registry
//! [reliability]: docs::reliability
//! [remote]: docs::remote
//! [replies]: docs::cookbook::replies
//! [reply]: Reply
//! [request]: Request
//! [results of the benchmark]: docs::architecture#the-parts
//! [routing]: docs::cookbook::routing
//! [rule 1.10]: docs::semantics#rule-1.10
//! [rule 2.2]: docs::semantics#rule-2.2
//! [rule 3.2]: docs::semantics#rule-3.2
//! [rule 3.3]: docs::semantics#rule-3.3
//! [rule 4.8]: docs::semantics#rule-4.8
//! [rule 7.6]: docs::semantics#rule-7.6
//! [rule 14.8]: docs::semantics#rule-14.8
//! [keep]: docs::cookbook::flow#keep-what-nobody-handled
//! [rule 10.4]: docs::semantics#rule-10.4
//! [rules 10]: docs::semantics#rule-10.1
//! [rust actors]: docs::guides::rust_actors
//! [semantics]: docs::semantics
//! [service]: docs::cookbook::service
//! [shutdown]: docs::cookbook::shutdown
//! [spans]: docs::spans
//! [tasks]: docs::cookbook::tasks
//! [tcp]: docs::cookbook::tcp
//! [testing]: docs::cookbook::testing
//! [tests]: docs::architecture#the-parts
//! [tokio tasks]: docs::guides::tokio_tasks
//!
#![doc = include_str!("../README.md")]
//!
//! # Where to go from here
//!
//! - [`macro@actor`] and [`macro@supervise`] document the attributes.
//! - A handler works with [`Context`]; code outside actors works with [`ActorSystem`].
//! - [`docs::checks`] says what the compiler checks, and what it does not.
//! - [`docs::semantics`] lists the rules by number. [`docs::reliability`] says how they were checked, and what the checks leave out.
//! - [`docs::console`] (feature `console`): a page that shows what is wrong in a running system.
//! - [`docs::metrics`] (feature `metrics`): numbers for Prometheus and others.
//! - [`docs::spans`] (feature `spans`): a span of `tracing` for each message.
//! - [`docs::durable`] (feature `durable`): messages that survive crashes.
//! - [`docs::remote`] (features `remote` and `zenoh`): refs that work between machines.
//! - [`docs::cookbook::testing`] (feature `testkit`): a private system on a paused clock for each test.
//! - [`Actor`] and [`Supervisor`] are the traits that the attributes implement. You can implement them by hand.
//! - [`docs::cookbook`] covers what services need, with programs that run.
//! - [`docs::guides`] is for people who come from Akka, Erlang, Proto.Actor, ractor, kameo, actix or plain tokio.
//! - [`docs::architecture`] explains the code base to contributors.
//!
//! This documentation shows only items of the features that it was built with: [Try it](#try-it) has the command for all of them.

// docs.rs shows which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

// By name, because rustc names the missing feature only for an explicit export, and not for a glob.
#[cfg(feature = "testkit")]
pub use supervise_core::testkit;
pub use supervise_core::*;
#[cfg(feature = "remote")]
pub use supervise_core::{remote, sharded};
// They carry messages of the compiler, and nobody writes or calls them. They are hidden here and not where they are declared, because
// rustc leaves hidden traits out of its messages.
#[doc(hidden)]
pub use supervise_core::{
    AllHandlersStandInOneImplBlock, DecidesFailedStartOf, DecidesPool, DecidesUnasked, DeclarationDecidedBy,
    EachDecidedBy, EscalatedErrorDecidedBy, FactoryErrorDecidedBy, FailsByItself, Failures, HasARuleFor,
    HasOneRuleAndNoSecondFor, HasOneSpellingForTheTypeInAllRules,
    HasOneSpellingForTheTypeInAllRulesAndItsVariantsFirst, NoHandlerFails, ReportAt, ReportedAt, Ruled,
    migration_hints, missing_rule,
};

/// A declared child, as a field of its parent.
///
/// ```
/// use supervise::prelude::*;
///
/// #[actor]
/// struct Reader;
///
/// #[actor]
/// impl Reader {
///     #[handler]
///     fn next_line(&self) -> String {
///         "to be or not to be".to_owned()
///     }
/// }
///
/// #[actor]
/// struct Library {
///     #[child(|_| || Reader)]
///     reader: Child<Reader>,
/// }
///
/// #[actor]
/// impl Library {
///     #[handler]
///     async fn words(&self) -> Reply<Result<usize, AskError>> {
///         Reply(self.reader.actor().next_line().await.map(|line| line.split(' ').count()))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let system = ActorSystem::new("town");
/// let library = system.spawn("library", || Library { reader: Child::default() })?;
/// assert_eq!(library.words().await??, 6);
/// # system.terminate().await;
/// # Ok(())
/// # }
/// ```
#[doc(inline)]
pub use supervise_core::Child;
// Listed in `bounds` only.
#[doc(hidden)]
pub use supervise_core::{
    AwaitedInAnAsyncBlock, Built, ByHand, ByRequest, DecidedBy, Decides, DecidesAll, DecidesAllFrom,
    DecidesFailedStartFrom, DecidesPermanentEndFrom, DecidesUnchecked, EscalationsDecidedBy, FailsWith,
    GivesProps, HandlersOfOneImplBlockDecidedBy, MessageFor, NeverFails, NeverRestarts, Ordinary, SupervisedBy,
    TaskFactory, TaskOutput, TotalTable, Transient, UndeclaredChild, WatchableBy,
};

pub mod bounds;
#[cfg(feature = "console")]
pub mod console;
pub mod docs;
#[cfg(feature = "durable")]
pub mod durable;
#[cfg(any(feature = "console", feature = "metrics"))]
#[cfg_attr(not(feature = "console"), allow(dead_code, reason = "the metrics need a part of it"))]
mod marks;
#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg(any(feature = "console", feature = "durable-jetstream", feature = "zenoh"))]
mod percent;
#[cfg(any(feature = "console", feature = "metrics"))]
#[cfg_attr(not(feature = "console"), allow(dead_code, reason = "the metrics need a part of it"))]
mod sight;
#[cfg(feature = "spans")]
pub mod spans;
#[cfg(feature = "zenoh")]
pub mod zenoh;

/// Declares an actor: write it on the actor's type and on the impl block that holds its handlers.
///
/// # On a struct or enum
///
/// ```
/// use supervise::prelude::*;
///
/// #[actor(mailbox = bounded(100, overflow = fail), stop_timeout = "2s")]
/// struct Door { open: bool }
///
/// #[actor]
/// impl Door {
///     /// Opens the door and returns whether it was closed.
///     #[handler]
///     fn open(&mut self) -> bool { !std::mem::replace(&mut self.open, true) }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let system = ActorSystem::new("house");
/// let door = system.spawn("door", || Door { open: false })?;
/// assert!(door.open().await?);
/// assert!(!door.open().await?);
/// # system.terminate().await;
/// # Ok(())
/// # }
/// ```
///
/// # Children on fields
///
/// A struct declares the children that it always has as fields. The compiler then knows the tree: if the table does not decide a
/// failure of such a child, the compiler reports an error at the field's type.
///
/// ```
/// use supervise::prelude::*;
/// # use std::{io, path::PathBuf};
///
/// #[actor]
/// struct Reader { path: PathBuf }
///
/// #[actor]
/// impl Reader {
///     #[handler]
///     fn read(&mut self) -> io::Result<String> { std::fs::read_to_string(&self.path) }
/// }
///
/// #[actor]
/// #[supervise(rest_for_one, on(io::Error) = Restart)]
/// struct Office {
///     path: PathBuf,
///     #[child(
///         |this| { let path = this.path.clone(); move || Reader { path: path.clone() } },
///         restart = permanent,
///         stop_timeout = "2s",
///     )]
///     reader: Child<Reader>,
/// }
///
/// #[actor]
/// impl Office {
///     #[handler]
///     async fn length(&self) -> Reply<Result<usize, AskError>> {
///         Reply(self.reader.actor().read().await.map(|text| text.len()))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let system = ActorSystem::new("town");
/// let path = PathBuf::from("Cargo.toml");
/// let office = system.spawn("office", move || Office { path: path.clone(), reader: Child::default() })?;
/// assert!(office.length().await?? > 0);
/// # system.terminate().await;
/// # Ok(())
/// # }
/// ```
///
/// `self.reader` is a [`Child`], and `self.reader.actor()` is the ref to send to. If the reader fails, `read().await` is an `Err`. The
/// handler passes that error on in a [`Reply`], so that it reaches the asker and does not make the office fail too.
///
/// The first closure runs once for each instance of the parent, on the parent's turn, and returns the child's factory. When it
/// runs, the children of the fields above are already running. To give a sibling access to another child, clone the field
/// (`this.reader.clone()`): a [`Child`] reaches the child's current incarnation. The fields below are still
/// empty, and a clone of an empty field panics when it is used. Mark the sibling's
/// field `#[child(given)]`, because a field of type `Child<..>` that nothing fills in does not compile.
///
/// A field may also hold a pattern, `Child<Pool<Reader>>` or `Child<BackoffSupervisor<Reader>>`. Its closure returns the props:
/// `#[child(|this| Pool::round_robin(this.workers, || Reader).props())]` ([rule 14.7](docs::semantics#rule-14.7)). A field may
/// also hold keyed children: `#[child(|_| |customer: &u64| Session::new(*customer), idle = "5m")] sessions: Children<u64,
/// Session>` ([rule 18.9](docs::semantics#rule-18.9)).
///
/// - Children start in field order, each after `pre_start` of the one before has succeeded, and all before the parent's own
///   `pre_start`. If one cannot start and the table restarts it with a backoff, it starts again after the delay. Under
///   `one_for_one` the parent continues in the meantime; otherwise it waits. Without a backoff, the parent itself fails to
///   start, and the children before the failed one are stopped ([rule 14.1](docs::semantics#rule-14.1)).
/// - When the parent stops, its other children end first, then the declared children in reverse order, one after another
///   ([rule 14.4](docs::semantics#rule-14.4)).
/// - Under `all_for_one` and `rest_for_one` the affected declared children run `pre_restart` in reverse order and start in
///   order, one after another. If one of these starts fails, the table decides about it as a new failure. The children after it
///   stay down, with their messages waiting, until the failure is resolved. The parent handles messages in the meantime
///   ([rule 14.3](docs::semantics#rule-14.3)).
/// - A child that somebody stopped through its ref stays down, whatever its restart type ([rule 14.2](docs::semantics#rule-14.2)).
///
/// # On an impl block
///
/// The attributes of methods are in the [reference](#reference).
///
/// An actor has exactly one such block, because the block generates the message enum, and an enum cannot be declared in parts.
/// Ordinary methods may also be in `impl` blocks without the attribute, in any file. A handler can call one of them to keep its
/// own body short.
///
/// Hooks and watch methods return nothing or a `Result<(), E>` and may be `async`. They may omit the parameters that they do not
/// need.
///
/// The generated ref has one method for each handler. The ref and these methods have the visibility of the actor's type. The
/// visibility of a handler, such as `pub`, applies only to the method of the actor itself.
///
/// # Generic actors
///
/// An actor may have type parameters and const parameters, with the bounds on the type, on the impl block, or on both. Its ref and its
/// messages have the same parameters, as in `ReaderRef<S>`. A table may name an error by a parameter: `on(S::Error) = Restart`.
///
/// ```
/// use supervise::prelude::*;
///
/// trait Source: Clone + Send + 'static {
///     type Error: std::error::Error + Send + Sync + 'static;
///     fn next(&mut self) -> Result<u32, Self::Error>;
/// }
///
/// #[actor]
/// struct Reader<S> { source: S }
///
/// #[actor]
/// impl<S: Source> Reader<S> {
///     #[handler]
///     fn next(&mut self) -> Result<u32, S::Error> { self.source.next() }
/// }
///
/// #[actor]
/// #[supervise(on(S::Error) = Restart, on(_) = Escalate)]
/// struct Library<S: Source> {
///     source: S,
///     #[child(|this| { let source = this.source.clone(); move || Reader { source: source.clone() } })]
///     reader: Child<Reader<S>>,
/// }
///
/// #[actor]
/// impl<S: Source> Library<S> {
///     #[handler]
///     fn reader(&self) -> ReaderRef<S> { self.reader.actor() }
/// }
///
/// /// Fails at every third call.
/// #[derive(Clone)]
/// struct Countdown(u32);
///
/// impl Source for Countdown {
///     type Error = std::fmt::Error;
///     fn next(&mut self) -> Result<u32, Self::Error> {
///         self.0 = self.0.checked_sub(1).ok_or(std::fmt::Error)?;
///         Ok(self.0)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let system = ActorSystem::new("town");
/// let library = system.spawn("library", || Library { source: Countdown(2), reader: Child::default() })?;
/// let reader = library.reader().await?;
/// assert_eq!((reader.next().await?, reader.next().await?), (1, 0));
/// assert!(reader.next().await.is_err());
/// assert_eq!(reader.next().await?, 1);
/// # system.terminate().await;
/// # Ok(())
/// # }
/// ```
///
/// # Messages
///
/// `#[actor]` generates an enum with a variant for each handler. The fields of the variant are the handler's arguments. It is
/// an ordinary enum without hidden fields: you can build it, match it, and let it derive what you need. Its `Debug` shows the
/// arguments that implement `Debug`, unless the handler is `sensitive`.
///
/// The enum of `Order` is called `OrderMessage`. If you already have a type of that name, rustc says that "the name
/// `OrderMessage` is defined multiple times" (E0428). In this case, give the enum another name:
///
/// ```
/// use std::time::Duration;
/// use supervise::prelude::*;
///
/// #[actor(stash = 100)]
/// struct Order { paid: bool }
///
/// #[actor(message(name = OrderCommand, derive(Clone, PartialEq)))]
/// impl Order {
///     #[pre_start]
///     fn begin(&mut self, ctx: &mut Context<Self>) {
///         ctx.start_timer("remind", Duration::from_secs(60), OrderCommand::Remind);
///     }
///
///     #[handler]
///     fn remind(&mut self) {}
///
///     #[handler(sensitive)]
///     fn pay(&mut self, card: String) { self.paid = !card.is_empty(); }
///
///     #[handler]
///     fn ship(&mut self, address: String) -> usize { address.len() }
///
///     #[stash_while]
///     fn unpaid(&self, message: &OrderCommand) -> bool {
///         !self.paid && matches!(message, OrderCommand::Ship { .. })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let system = ActorSystem::new("shop");
/// let order = system.spawn("order", || Order { paid: false })?;
/// let pay = OrderCommand::Pay { card: "4711".to_owned() };
/// assert_eq!(format!("{pay:?}"), "Pay { .. }");
/// order.tell(pay)?;
/// assert_eq!(order.ship("Rome".to_owned()).await?, 4);
/// # system.terminate().await;
/// # Ok(())
/// # }
/// ```
///
/// A message that you build by hand has no asker. To get a reply, call the ref's method. If an actor has a handler named
/// `tell`, the ref's `tell` is the method of that handler; the `tell` that takes any message is also at [`ActorRef::tell`].
/// While a message is on its way, an [`Envelope`] holds it together with the slot for its reply.
#[cfg(feature = "macros")]
pub use supervise_macros::actor;

/// Declares how an actor supervises its children: which children a failure affects, how many restarts are granted, and a table
/// that says what to do about each failure.
///
/// ```
/// use supervise::prelude::*;
/// use std::io;
///
/// #[actor]
/// #[supervise(
///     one_for_one(max_retries = 10, within = "60s"),
///     on(io::Error if |e| e.kind() == io::ErrorKind::TimedOut) = Restart(backoff(min = "100ms", max = "10s")),
///     on(io::Error) = Restart,
///     on(Panic) = Stop,
/// )]
/// struct Ingest;
/// # #[actor] impl Ingest {}
/// ```
///
/// A child does not compile if it can fail with an error that no rule decides. Three points are special:
///
/// - `Panic`, `Killed` and `DeathPact` need no rule: without one, and without `on(_)`, they escalate
///   ([rule 3.2](docs::semantics#rule-3.2)).
/// - Errors that the runtime itself raises need a rule like any other error. The parent of an actor with declared children also
///   needs a rule for `InitializationFailed` ([rule 3.9](docs::semantics#rule-3.9)).
/// - `decider = path` counts as `on(_)`, because the compiler does not see what the function decides.
///
/// [`docs::checks`] says what is checked and what is not.
///
/// # Values from constants and settings
///
/// A limit, a window or a backoff may be an expression over constants (`max_retries = MAX`) or over the supervisor's own
/// settings (`max_retries = self.settings.retries`). Such settings are read when an instance starts. If a value is not allowed,
/// the start fails with [`InvalidSettings`] ([rule 7.12](docs::semantics#rule-7.12)). `Restart(max_retries = 5, within = "1m")`
/// gives one rule a limit of its own, in addition to that of the strategy ([rule 7.11](docs::semantics#rule-7.11)).
/// [`docs::cookbook::configuration`] is a program with both.
///
/// # A table for several supervisors
///
/// On a unit struct that is not an actor, the attribute makes a [`SupervisionTable`]. Actors, pools, backoff supervisors and the
/// guardian can share it, and the compiler checks it in each place ([rule 3.8](docs::semantics#rule-3.8)).
///
/// ```
/// use supervise::pattern::Pool;
/// use supervise::prelude::*;
/// use std::io;
///
/// #[supervise(one_for_one(max_retries = 10, within = "60s"), on(io::Error) = Restart)]
/// struct Storage;
///
/// #[actor]
/// #[supervise(table = Storage)]
/// struct Archive;
/// # #[actor] impl Archive {}
///
/// #[supervise(on(_) = Restart)]
/// struct Top;
/// # #[actor] struct Reader;
/// # #[actor] impl Reader { #[handler] fn read(&self) -> io::Result<()> { Ok(()) } }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let system = ActorSystem::builder("shop").supervised_by::<Top>().start()?;
/// let archive = system.spawn("archive", || Archive)?;
/// let readers = system.spawn_with("readers", Pool::round_robin(4, || Reader).supervised_by::<Storage>().props())?;
/// # system.terminate().await;
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "macros")]
pub use supervise_macros::supervise;

#[cfg(feature = "protocol")]
pub use async_trait::async_trait;

/// Makes a trait a protocol: callers use an actor through the trait and do not know the actor's type. Feature `protocol`.
///
/// Write the attribute above `#[async_trait]`, which the prelude exports. It generates a ref for the protocol: the trait `Clock`
/// gets `ClockRef`. The ref has the trait's methods, is cheap to clone, and is `Send + Sync + 'static`. Its `new` takes
/// anything that implements the trait: an ordinary struct, or the ref of an actor whose impl block says `implements(..)`. If
/// the trait has no type parameters, `From` does the same.
///
/// ```
/// use supervise::prelude::*;
///
/// #[protocol]
/// #[async_trait]
/// trait Clock {
///     async fn hour(&self) -> Result<u8, AskError>;
///     fn set(&self, hour: u8) -> Result<(), AskError>;
/// }
///
/// #[actor]
/// struct Tower { hour: u8 }
///
/// #[actor(implements(Clock))]
/// impl Tower {
///     #[handler]
///     fn hour(&self) -> u8 { self.hour }
///
///     #[handler]
///     fn set(&mut self, hour: u8) { self.hour = hour; }
/// }
///
/// struct AlwaysNoon;
///
/// #[async_trait]
/// impl Clock for AlwaysNoon {
///     async fn hour(&self) -> Result<u8, AskError> { Ok(12) }
///     fn set(&self, _hour: u8) -> Result<(), AskError> { Ok(()) }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let system = ActorSystem::new("town");
/// let clock = ClockRef::from(system.spawn("tower", || Tower { hour: 1 })?);
/// clock.set(2)?;
/// assert_eq!(clock.hour().await?, 2);
/// assert_eq!(clock.actor().map(|actor| actor.name()), Some("tower"));
/// assert_eq!(ClockRef::from(AlwaysNoon).hour().await?, 12);
/// # system.terminate().await;
/// # Ok(())
/// # }
/// ```
///
/// - An `async` method asks; any other method tells ([rule 20.2](docs::semantics#rule-20.2)). A method with a body is not a
///   message.
/// - Every method returns a `Result`, because every actor may stop or fail, and the caller must learn of it. The error of an
///   `async` method implements `From<AskError>`. Any other method returns `Result<(), E>`, where `E` implements
///   `From<SendErrorReason>` ([rule 20.3](docs::semantics#rule-20.3)).
/// - The methods take `&self` and owned values, and have no generic parameters. The trait may have type parameters, but no associated types or
///   constants.
/// - The attribute adds the bounds `Send + Sync + 'static` to the trait, and a method `actor`, which an adapter may
///   implement ([rule 20.5](docs::semantics#rule-20.5)). It also defines a macro with the trait's name, which
///   `implements(..)` uses.
///
/// [`docs::cookbook::protocols`] shows more.
#[cfg(feature = "protocol")]
pub use supervise_macros::protocol;

/// Makes an `async fn` a test with a system of its own, on a paused clock. Feature `testkit`.
///
/// The function takes nothing, or `system: &TestSystem`, a [`TestSystem`](testkit::TestSystem), which is also an [`ActorSystem`]. It returns
/// nothing or a `Result`, as a `#[test]` does, and other attributes such as `#[ignore]` and `#[should_panic]` keep their meaning. The attribute
/// takes no arguments: `#[supervise::test] async fn f(system: &TestSystem) { .. }` is `#[test] fn f() { testkit::run(async |system| { .. }) }`, and
/// a test that needs settings for its system calls [`testkit::run_with`] instead of [`testkit::run`].
///
/// ```
/// use supervise::prelude::*;
/// use supervise::testkit::TestSystem;
/// use std::io;
///
/// #[actor]
/// struct Reader;
///
/// #[actor]
/// impl Reader {
///     #[handler]
///     fn read(&mut self, page: u32) -> io::Result<u32> {
///         if page == 13 { Err(io::Error::other("torn out")) } else { Ok(page) }
///     }
/// }
///
/// # /*
/// #[supervise::test]
/// # */
/// async fn a_torn_page_restarts_the_reader(system: &TestSystem) -> Result<(), Box<dyn std::error::Error>> {
///     let reader = system.spawn("reader", || Reader)?;
///     assert!(reader.read(13).await.is_err());
///     assert_eq!(reader.read(14).await?, 14);
///     system.expect_restarts(&reader, 1).await;
///     Ok(())
/// }
/// # supervise::testkit::run(a_torn_page_restarts_the_reader).unwrap();
/// #
/// # /*
/// #[test]
/// # */
/// fn no_ask_waits_longer_than_a_second() {
///     let settings = ActorSystem::builder("test").ask_timeout(std::time::Duration::from_secs(1));
///     supervise::testkit::run_with(settings, async |system| {
///         let reader = system.spawn("reader", || Reader).unwrap();
///         assert_eq!(reader.read(1).await.unwrap(), 1);
///     });
/// }
/// # no_ask_waits_longer_than_a_second();
/// ```
///
/// A test fails on each failure and dead letter that it did not expect. [`docs::cookbook::testing`] shows more.
#[cfg(all(feature = "macros", feature = "testkit"))]
pub use supervise_macros::test;

/// The names that an actor's source file needs. Import them all: `use supervise::prelude::*;`.
pub mod prelude {
    // The failures that the runtime itself raises, so that a rule can name them as the compiler does.
    pub use supervise_core::pattern::TooManyReplacements;
    // rustc names this type in errors about the ref of a pool or another pattern.
    pub use supervise_core::pattern::StandInRef;
    pub use supervise_core::{
        Actor, ActorPath, ActorRef, ActorSystem, AskError, Child, ChildInfo, Children, Context, Directive,
        Failure, PermanentEnded, Reply, ReplyTo, SpawnError, StashOverflow, Supervisor, Terminated, TypedRef,
    };

    #[doc(hidden)]
    pub use supervise_core::migration_hints::{
        BuilderHints as _, ContextHints as _, MigrationHints as _, RequestHints as _, SlotHints as _,
        SystemHints as _,
    };

    #[cfg(feature = "macros")]
    pub use crate::{actor, supervise};

    #[cfg(feature = "protocol")]
    pub use crate::{async_trait, protocol};
    #[cfg(all(feature = "macros", not(feature = "protocol")))]
    #[doc(hidden)]
    pub use supervise_macros::protocol;

    // Exported so that rustc can say where they belong, wherever somebody writes them.
    #[cfg(feature = "macros")]
    #[doc(hidden)]
    pub use supervise_macros::{
        Actor, handler, post_restart, post_stop, pre_restart, pre_start, stash_while, watch,
    };
}

/// For generated code.
#[doc(hidden)]
pub mod __private {
    pub use supervise_core::generated::*;
    pub use supervise_core::migration_hints::MigrationHints;

    #[cfg(feature = "protocol")]
    pub use async_trait::async_trait;
    #[cfg(feature = "protocol")]
    pub use supervise_macros::implement;
}
