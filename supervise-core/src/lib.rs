//! The runtime of `supervise`: supervised actors on tokio.
//!
//! Users depend on the facade `supervise`, which re-exports this crate and adds the attributes. Start reading at
//! `cell.rs`.
//!
//! | module | owns |
//! |---|---|
//! | `actor` | [`Actor`], [`Supervisor`], and the checks across the edge from parent to child |
//! | `actor_ref` | [`ActorRef`], [`AnyActorRef`]: how actors are reached |
//! | `request` | [`Request`]: one message told or asked, and its reply |
//! | `context` | [`Context`]: what an actor can do from within |
//! | `child` | [`Child`]: a declared child, as its parent's field |
//! | `props` | [`Props`]: factory and settings |
//! | `path`, `name` | [`ActorPath`], [`Uid`], [`ActorName`] |
//! | `selection` | finding actors by path: [`ActorSystem::find`], [`Selection`]; `selection/pattern` what the texts mean |
//! | `failure` | [`Failure`]: what a decider sees |
//! | `death_watch` | [`Terminated`]: the news of an end |
//! | `mailbox` | two lanes, parking, closing; `mailbox/lane` messages and what the runtime puts among them |
//! | `supervision` | the protocol, pure: strategies, limits, backoff, children, restarts as a state machine |
//! | `cell` | the running actor: performs what the protocol decides; `cell/run` its loop, `cell/shell` its effects, `cell/user_code` containment |
//! | `pattern` | [`pattern`]: the backoff supervisor, the pool |
//! | `graceful_stop` | waiting for an actor's end from outside the tree |
//! | `timers`, `actor_timers` | a table of timers with one sleep; what an actor sets for itself |
//! | `work` | futures, streams and blocking closures that an instance has running; `work/body` how they are cancelled, `work/task` [`Task`]: a future as a child |
//! | `dispatch` | who polls a cell |
//! | `system`, `guardian` | [`ActorSystem`] and the guardians `/`, `/user`, `/system` |
//! | `tree` | [`Tree`]: a map of the running tree or of the declared one; `tree/description` what a type says, `tree/render` how it is drawn |
//! | `coordinated_shutdown` | [`CoordinatedShutdown`]: tasks in phases; `phases` their order, `progress` how far a run has come, `run` what performs it |
//! | `termination` | callbacks and hooks of a system's end |
//! | `signal` | shutting down when the process is told to (feature `signal`) |
//! | `event`, `dead_letter`, `observe` | what happened, for whoever listens |
//! | `unwind` | containing panics |
//! | `sync` | locks and atomics, or loom's |
//! | `testkit` | a private system per test on a paused clock (feature `testkit`) |
//! | `generated` | what generated code calls |
//!
//! Architecture invariants:
//!
//! 1. `supervision` knows no runtime, clock, lock or user code. One place decides, one place performs.
//! 2. A restart replaces only the user's instance; ref, path, uid, mailbox, watchers and statistics stay.
//! 3. No user code runs while a lock is held; no lock is held across an await.
//! 4. Nothing is global: every [`ActorSystem`] stands alone.
//! 5. There is no `unsafe` code.

mod actor;
mod actor_ref;
mod actor_timers;
mod cell;
mod child;
mod context;
mod coordinated_shutdown;
mod dead_letter;
mod death_watch;
mod dispatch;
mod event;
mod failure;
#[doc(hidden)]
pub mod generated;
mod graceful_stop;
mod guardian;
#[doc(hidden)]
pub mod habits;
mod mailbox;
mod name;
mod observe;
mod path;
pub mod pattern;
mod props;
mod request;
mod selection;
#[cfg(feature = "signal")]
mod signal;
pub mod supervision;
mod sync;
mod system;
mod termination;
#[cfg(feature = "testkit")]
pub mod testkit;
mod timers;
mod tree;
mod unwind;
mod work;

pub use actor::{
    Actor, Built, DEFAULT_STOP_TIMEOUT, DecidedBy, Decides, DecidesAll, EscalationsDecidedBy, FailsWith,
    FailuresDecidedBy, NeverFails, NeverRestarts, RefOf, SupervisedBy, Supervisor, WatchableBy, Watches,
};
pub use actor_ref::{ActorRef, AnyActorRef, TypedRef};
pub use actor_timers::TimerKey;
pub use cell::{SpawnError, StashOverflow};
pub use child::{Child, Declare, PermanentEnded, UndeclaredChild};
pub use context::{AlreadyWatched, Context};
pub use coordinated_shutdown::{
    AddTaskError, CoordinatedShutdown, InvalidPhases, InvalidShutdown, Phase, ShutdownError, ShutdownReason,
    ShutdownSettings, ShutdownTask, TaskOutcome, UnknownPhase,
};
pub use dead_letter::{DeadLetter, DeadLetterReason};
pub use death_watch::{AnyActor, Terminated};
pub use event::{Event, EventStream, Events};
pub use failure::{Failure, FailureKind, Stage};
pub use graceful_stop::NotStopped;
pub use mailbox::{MailboxKind, Overflow};
pub use name::ActorName;
pub use path::{ActorPath, InvalidName, InvalidPath, Uid};
pub use props::{Props, SpentInstance};
pub use request::{Answer, Ask, AskError, AskWithin, Reply, ReplyTo, Request, SendError, SendErrorReason};
pub use selection::{InvalidSelection, Selection, SelectionOf};
pub use supervision::{
    AutoShutdown, Backoff, ChildInfo, ChildSpec, Count, Directive, Growth, Hook, HowEnded, Limit, Log, LogLevel,
    OnLimit, Outcome, Reset, RestartType, Scope, Strategy, Window, default_decider, stopping_decider,
};
pub use system::{ActorSystem, ActorSystemBuilder, RuntimeGone, StartError};
pub use termination::{SystemTerminated, TerminationHook};
pub use tree::{ActorType, DeciderTable, NodeState, Rule, Tree, TreeNode};
pub use work::{Task, TaskOutput, WorkId};
