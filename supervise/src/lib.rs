#![doc = include_str!("../../README.md")]
//!
//! # Where to go on
//!
//! - [`macro@actor`] and [`macro@supervise`]: the attributes.
//! - [`Context`]: what an actor can do from within. [`ActorSystem`]: what can be done from outside.
//! - [`docs::semantics`]: the rules, numbered. [`docs::reliability`]: what they rest on, and what is outside.
//! - [`docs::cookbook`]: what services need, as programs that run.
//! - `testkit` (feature `testkit`): a private system per test on a paused clock.
//! - [`Actor`], [`Supervisor`]: what the attributes write, for those who want to write it by hand.

pub use supervise_core::*;

/// What users can rely on, in words.
pub mod docs {
    #[doc = include_str!("../docs/semantics.md")]
    pub mod semantics {}
    #[doc = include_str!("../docs/reliability.md")]
    pub mod reliability {}
    /// What services need, as programs that run.
    pub mod cookbook {
        #[doc = include_str!("../docs/cookbook/tasks.md")]
        pub mod tasks {}
    }
}

/// Declares an actor: on its type, and on the impl block that holds its handlers.
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
///     /// Opens the door, and says whether it was closed.
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
/// | setting | values | default |
/// |---|---|---|
/// | `mailbox` | `unbounded`, `bounded(N, overflow = fail \| drop_newest \| drop_oldest)` | `unbounded`; `overflow = fail` |
/// | `stash` | how many messages `#[stash_while]` may set aside; one more fails the actor | no limit |
/// | `stop_timeout` | a duration: how long a running handler may go on after a stop request | `"5s"` |
/// | `crate` | the path of this crate, where it was renamed | `::supervise` |
///
/// # Children on fields
///
/// A struct declares the children it always has. The compiler then knows the tree: a failure of such a child that the
/// table does not decide is an error at the field's type.
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
///     async fn length(&self) -> Result<usize, AskError> { Ok(self.reader.actor().read().await?.len()) }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let system = ActorSystem::new("town");
/// let path = PathBuf::from("Cargo.toml");
/// let office = system.spawn("office", move || Office { path: path.clone(), reader: Child::default() })?;
/// assert!(office.length().await? > 0);
/// # system.terminate().await;
/// # Ok(())
/// # }
/// ```
///
/// The first closure runs once for each instance of the parent, on its turn, and returns the child's factory. It sees the
/// fields before it, whose children run already; `this.reader.clone()` gives a sibling the [`Child`] itself, which
/// always reaches the current incarnation.
///
/// | option | values | default |
/// |---|---|---|
/// | `restart` | `transient`: restarted as the table says, a normal end is final; `permanent`: also made anew after it ended by itself, which counts against the limit; `temporary`: never restarted | `transient` |
/// | `stop_timeout` | a duration | what the child's type says |
/// | `significant` | its end by itself ends the parent, as `auto_shutdown` of the parent's strategy says | |
/// | `name` | the child's name | the field's |
///
/// - Children start in field order, each after `pre_start` of the one before has succeeded, and all before the parent's own
///   `pre_start`. If one cannot start, that is the parent's initialization failure, and those before it are stopped.
/// - When the parent stops, its other children end first, then the fields in reverse order, one after another.
/// - Under `all_for_one` and `rest_for_one` the affected fields run `pre_restart` in reverse order and start in order, each
///   awaited. If a start fails on the way, that is a failure of its own for the table, and those after it stay down, with
///   their messages waiting, until it is mended. The parent goes on handling messages.
/// - A child that somebody stopped through its ref stays down, whatever its restart type.
///
/// # On an impl block
///
/// | attribute | signature | when it runs |
/// |---|---|---|
/// | `#[handler]` | `fn` or `async fn`, `&self` or `&mut self`, any arguments, `ctx: &mut Context<Self>` where wanted | for each message; what it returns is the reply, `Err` fails the actor |
/// | `#[pre_start]` | `(&mut self, ctx)` | before the first message |
/// | `#[post_stop]` | `(&mut self, ctx)` | after the last message |
/// | `#[pre_restart]` | `(&mut self, ctx, cause: &Failure, message: Option<..Message>)` | on the old instance of a restart; by default stops the children and runs `post_stop` |
/// | `#[post_restart]` | `(&mut self, ctx, cause: &Failure)` | on the new instance; by default runs `pre_start` |
/// | `#[watch]` | `(&mut self, gone: Terminated<A>, ctx)` or `Terminated` for any type | when a watched actor ended |
/// | `#[stash_while]` | `(&self, message: &..Message) -> bool` | before each message; `true` keeps it for later, to be asked about again after the next one |
///
/// Hooks and watch methods return nothing or a `Result<(), E>`, may be `async`, and leave out the parameters they do not
/// need.
///
/// Whoever sees the actor's type sees its ref with a method for each handler. `pub` on a handler, or its absence, is about the
/// method on the actor itself.
///
/// | setting of `#[handler(..)]` | what it does |
/// |---|---|
/// | `redeliver = N` | keeps a clone of the message: a restart delivers it again, `N` times at most, then it is quarantined as a [`DeadLetter`] with its failures. An asker is told of the first failure, and not of what comes of the later deliveries |
/// | `not_influencing` | the message does not start the receive timeout anew, see [`Context::set_receive_timeout`] |
/// | `inline` | an ask that finds the actor idle runs the handler itself, within its first poll, rather than wake a worker: for handlers that come back at once. No `async fn`. While it runs, whatever else the asker's task would do waits: its timeouts too, and asks joined with this one |
#[cfg(feature = "macros")]
pub use supervise_macros::actor;

/// Declares how an actor supervises its children: who is affected by a failure, how often restarts are granted, and the
/// table that says what to do about which failure.
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
/// | part | values |
/// |---|---|
/// | strategy | `one_for_one`, `all_for_one`, `rest_for_one`, each with `(arguments)` where wanted |
/// | arguments | `max_retries = N`, `within = DURATION`, `window = tumbling \| sliding`, `on_limit = Stop \| Escalate`, `count = child \| supervisor`, `auto_shutdown = any_significant \| all_significant`, `backoff(..)`, `log = off \| LEVEL` |
/// | rule | `on(PATTERN \| PATTERN if \|e\| EXPR) = DIRECTIVE`, the first match wins |
/// | pattern | an error type, a pattern of an error enum, `Panic`, `Killed`, `DeathPact`, `InitializationFailed`, `_` |
/// | directive | `Resume`, `Restart`, `Restart(backoff(..))`, `Stop`, `Escalate`, `Default` |
/// | backoff | `min`, `max`, `jitter = 0.0..=1.0`, `reset_after = DURATION \| manual` |
///
/// A child whose failure no rule decides does not compile. `Panic`, `Killed`, `DeathPact` and `InitializationFailed` need no
/// rule: without one, and without `on(_)`, they escalate.
#[cfg(feature = "macros")]
pub use supervise_macros::supervise;

#[cfg(all(feature = "macros", feature = "testkit"))]
pub use supervise_macros::test;

/// What an actor's source file needs.
pub mod prelude {
    pub use supervise_core::{
        Actor, ActorPath, ActorRef, ActorSystem, AskError, Child, ChildInfo, Context, Directive, Failure, Reply,
        SpawnError, Supervisor, Terminated, TypedRef,
    };

    #[doc(hidden)]
    pub use supervise_core::habits::Habits as _;

    #[cfg(feature = "macros")]
    pub use crate::{actor, supervise};
}

/// For generated code.
#[doc(hidden)]
pub mod __private {
    pub use supervise_core::generated::*;
    pub use supervise_core::habits::Habits;
}
