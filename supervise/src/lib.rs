#![doc = include_str!("../../README.md")]
//!
//! # Where to go from here
//!
//! - [`macro@actor`] and [`macro@supervise`] document the attributes.
//! - [`Context`] is what an actor works with inside its handlers, [`ActorSystem`] what everything outside an actor works with.
//! - [`docs::semantics`] lists the rules by number. [`docs::reliability`] says how they were checked, and what the checks leave out.
//! - `testkit` (feature `testkit`) gives each test a private system on a paused clock.
//! - [`Actor`] and [`Supervisor`] are the traits that the attributes implement. You can implement them by hand.
//! - [`docs::architecture`] explains the code base to contributors.

pub use supervise_core::*;

/// Pages about `supervise` as a whole: its rules, how they were checked, and how the code is built.
pub mod docs {
    #[doc = include_str!("../docs/semantics.md")]
    pub mod semantics {}
    #[doc = include_str!("../docs/reliability.md")]
    pub mod reliability {}
    #[doc = include_str!("../docs/architecture.md")]
    pub mod architecture {}
}

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
/// | setting | values | default |
/// |---|---|---|
/// | `mailbox` | `unbounded`, `bounded(N, overflow = fail \| drop_newest \| drop_oldest)`; see [rule 1.6](docs::semantics#rule-1.6) | `unbounded`; `overflow = fail` |
/// | `stash` | how many messages `#[stash_while]` may set aside; one more makes the actor fail ([rule 15.3](docs::semantics#rule-15.3)) | no limit |
/// | `stop_timeout` | a duration: how long a running handler may continue after a stop request ([rule 6.1](docs::semantics#rule-6.1)) | `"5s"` |
/// | `crate` | the path of this crate, if you renamed it | `::supervise` |
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
/// The first closure runs once for each instance of the parent, on the parent's turn, and returns the child's factory. The children
/// of the fields above it are already running. To give a sibling access to another child, clone the field
/// (`this.reader.clone()`): a [`Child`] always reaches the child's current incarnation.
///
/// | option | values | default |
/// |---|---|---|
/// | `restart` | `transient`: restarted as the table says, a normal end is final; `permanent`: also created again after it ended by itself, which counts against the limit; `temporary`: never restarted ([rule 14.2](docs::semantics#rule-14.2)) | `transient` |
/// | `stop_timeout` | a duration | that of the child's type |
/// | `significant` | if the child ends by itself, the parent ends as `auto_shutdown` of its strategy says ([rule 14.5](docs::semantics#rule-14.5)) | not significant |
/// | `name` | the child's name | the field's name |
///
/// - Children start in field order, each after `pre_start` of the one before has succeeded, and all before the parent's own
///   `pre_start`. If one cannot start, that is an initialization failure of the parent, and the children before it are stopped
///   ([rule 14.1](docs::semantics#rule-14.1)).
/// - When the parent stops, its other children end first, then the declared children in reverse order, one after another
///   ([rule 14.4](docs::semantics#rule-14.4)).
/// - Under `all_for_one` and `rest_for_one` the affected declared children run `pre_restart` in reverse order and start in
///   order, one after another. If a start fails on the way, the table decides about that as about a new failure; the children after
///   it stay down, with their messages waiting, until the failure is resolved. The parent handles messages in the meantime
///   ([rule 14.3](docs::semantics#rule-14.3)).
/// - A child that somebody stopped through its ref stays down, whatever its restart type ([rule 14.2](docs::semantics#rule-14.2)).
///
/// # On an impl block
///
/// | attribute | signature | when it runs |
/// |---|---|---|
/// | `#[handler]` | `fn` or `async fn`, `&self` or `&mut self`, any arguments, `ctx: &mut Context<Self>` if you need it | for each message; the return value is the reply, an `Err` makes the actor fail |
/// | `#[pre_start]` | `(&mut self, ctx)` | before the first message |
/// | `#[post_stop]` | `(&mut self, ctx)` | after the last message |
/// | `#[pre_restart]` | `(&mut self, ctx, cause: &Failure, message: Option<..Message>)` | on the old instance before a restart replaces it; the default stops the children and runs `post_stop` ([rule 4.3](docs::semantics#rule-4.3)) |
/// | `#[post_restart]` | `(&mut self, ctx, cause: &Failure)` | on the new instance after a restart; the default runs `pre_start` |
/// | `#[watch]` | `(&mut self, gone: Terminated<A>, ctx)`, or `Terminated` for any type | when a watched actor has ended |
/// | `#[stash_while]` | `(&self, message: &..Message) -> bool` | before each message; `true` sets the message aside, and asks again after the next message ([rule 15.3](docs::semantics#rule-15.3)) |
///
/// Hooks and watch methods return nothing or a `Result<(), E>` and may be `async`. They may omit the parameters that they do not
/// need.
///
/// The generated ref is as visible as the actor's type, and has one method for each handler. `pub` on a handler applies to the
/// method of the actor itself, not to the method of the ref.
///
/// | setting of `#[handler(..)]` | what it does |
/// |---|---|
/// | `redeliver = N` | keeps a clone of the message and delivers it again after a restart, at most `N` times; after that the message becomes a [`DeadLetter`] that holds its failures. An asker is told of the first failure only, not of the outcome of later deliveries ([rule 4.8](docs::semantics#rule-4.8)) |
/// | `not_influencing` | the message does not restart the receive timeout, see [`Context::set_receive_timeout`] |
/// | `inline` | an ask that finds the actor idle runs the handler itself, in the ask's first poll, instead of waking a worker. Use it for handlers that return quickly; they cannot be `async fn`. Everything else that the asker's task does waits while the handler runs, including the task's timeouts and asks joined with this one ([rule 1.8](docs::semantics#rule-1.8)) |
#[cfg(feature = "macros")]
pub use supervise_macros::actor;

/// Declares how an actor supervises its children: which children a failure affects, how many restarts are granted, and the table
/// that says what to do about which failure.
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
/// | strategy | `one_for_one`, `all_for_one` or `rest_for_one`, optionally with `(arguments)`; the default is `one_for_one` without a limit ([rule 7.1](docs::semantics#rule-7.1)) |
/// | arguments | `max_retries = N`, `within = DURATION`, `window = tumbling \| sliding`, `on_limit = Stop \| Escalate`, `count = child \| supervisor`, `auto_shutdown = any_significant \| all_significant`, a backoff, `log = off \| LEVEL` |
/// | rule | `on(PATTERN \| PATTERN if \|e\| EXPR) = DIRECTIVE`; the first match applies ([rule 3.1](docs::semantics#rule-3.1)) |
/// | pattern | an error type, a pattern of an error enum, `Panic`, `Killed`, `DeathPact`, `InitializationFailed`, `_` |
/// | directive | `Resume`, `Restart`, `Restart(BACKOFF)`, `Stop`, `Escalate`, `Default` |
/// | backoff | `backoff(min = DURATION, max = DURATION, jitter = 0.0..=1.0, reset_after = DURATION \| manual)` ([rule 7.8](docs::semantics#rule-7.8)), or `linear_backoff(window = DURATION, initial = DURATION)` ([rule 7.9](docs::semantics#rule-7.9)) |
///
/// The program does not compile if no rule decides about a failure of a child. `Panic`, `Killed`, `DeathPact` and
/// `InitializationFailed` need no rule: without one, and without `on(_)`, they escalate ([rule 3.2](docs::semantics#rule-3.2)).
#[cfg(feature = "macros")]
pub use supervise_macros::supervise;

#[cfg(all(feature = "macros", feature = "testkit"))]
pub use supervise_macros::test;

/// The names that an actor's source file needs. Import them all: `use supervise::prelude::*;`.
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
