//! The runtime of `supervise`: supervised actors on tokio.
//!
//! Users depend on the facade `supervise`, which re-exports this crate and adds the attributes.
//!
//! Each folder is a room. A room uses only the rooms below it in this table, and only what their `mod.rs` exports.
//! `tests/rooms.rs` checks every `use` line against the table. Start reading at `actor/cell.rs`, or at `supervision/`
//! for the decisions.
//!
//! | room, the top one first | owns |
//! |---|---|
//! | `generated` | what generated code calls |
//! | `testkit` | a private system per test on a paused clock (feature `testkit`) |
//! | `sharded` | one actor for each key on many nodes (feature `remote`) |
//! | `pattern` | [`pattern`]: the backoff supervisor, the pool |
//! | `remote` | refs to actors of other nodes, and the association of two nodes (feature `remote`) |
//! | `keyed` | [`Children`]: one child for each key, passivated when it is idle |
//! | `shutdown` | [`CoordinatedShutdown`], signals, and waiting for the end of an actor or a system |
//! | `inspect` | [`Tree`]: a map of the running tree or of the declared one; [`Selection`]: finding actors by path |
//! | `actor` | [`Actor`], [`ActorRef`], [`Context`], [`Child`], [`Props`], [`Request`], [`ActorSystem`]; `cell` performs what the protocol decides, `dispatch` gives a cell its turns, `work` is the work of an actor beside its handlers |
//! | `shutdown_plan` | phases and tasks of a coordinated shutdown, callbacks and hooks of a system's end |
//! | `observe` | [`Event`], [`DeadLetter`] and the log: reports of what happened |
//! | `durable` | what a message store must do, and the queues of durable mailboxes (feature `durable`) |
//! | `mailbox` | two lanes, parking, closing; generic over its messages |
//! | `failure` | [`Failure`]: what a decider sees |
//! | `supervision` | the protocol, pure: strategies, limits, backoff, children, restarts as a state machine |
//! | `base` | [`ActorPath`], [`ActorName`], timers, locks, and the containment of user code |
//!
//! Only within `actor` do imports form a circle: an actor, its ref, its context, its cell and its system use each
//! other.
//!
//! Architecture invariants:
//!
//! 1. `supervision` uses no runtime, clock, lock or user code. One place decides, and one place performs.
//! 2. A restart replaces only the user's instance; ref, path, uid, mailbox, watchers and statistics stay.
//! 3. No user code runs while a lock is held; no lock is held across an await.
//! 4. Nothing is global: every [`ActorSystem`] is independent.
//! 5. There is no `unsafe` code.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod actor;
mod base;
#[cfg(feature = "durable")]
pub mod durable;
mod failure;
#[doc(hidden)]
pub mod generated;
#[doc(hidden)]
pub use generated::{migration_hints, missing_rule};
mod inspect;
mod keyed;
mod mailbox;
mod observe;
pub mod pattern;
#[cfg(feature = "remote")]
pub mod remote;
#[cfg(feature = "remote")]
pub mod sharded;
mod shutdown;
mod shutdown_plan;
pub mod supervision;
#[cfg(feature = "testkit")]
pub mod testkit;

pub use actor::{
    Actor, ActorRef, ActorSystem, ActorSystemBuilder, ActorType, AllHandlersStandInOneImplBlock, AlreadyWatched,
    Answer, AnyActor, AnyActorRef, Ask, AskError, AskTimeout, AskWithin, AwaitedInAnAsyncBlock, Batching, Built,
    ByHand, ByRequest, Child, CircuitOpen, Configuration, Context, DEFAULT_STOP_TIMEOUT, DecidedBy, DeciderTable,
    Decides, DecidesAll, DecidesAllFrom, DecidesFailedStartFrom, DecidesFailedStartOf, DecidesPermanentEndFrom,
    DecidesPool, DecidesUnasked, DecidesUnchecked, DeclarationDecidedBy, Declare, DefaultTable, EachDecidedBy,
    EndReason, Envelope, Enveloped, EscalatedErrorDecidedBy, EscalationsDecidedBy, Factory, FactoryErrorDecidedBy,
    FailsByItself, FailsWith, Failures, GivesProps, HandlersOfOneImplBlockDecidedBy, HasARuleFor,
    HasOneRuleAndNoSecondFor, HasOneSpellingForTheTypeInAllRules,
    HasOneSpellingForTheTypeInAllRulesAndItsVariantsFirst, InitializationFailed, InvalidSettings, MessageFor,
    MessageOf, NeverFails, NeverRestarts, NoHandlerFails, Ordinary, Props, ProtocolRef, RefOf, Reply, ReplySlot,
    ReplyTo, ReportAt, ReportedAt, Request, Rule, Ruled, RuntimeGone, SendError, SendErrorReason, SpawnError,
    SpentInstance, StartError, StashOverflow, StoppingTable, SupervisedBy, SupervisionTable, Supervisor, Task,
    TaskFactory, TaskOutput, Terminated, TimerKey, TotalTable, Transient, TypedRef, Unchecked, UndeclaredChild,
    WatchableBy, Watches, WatchesAny, WhenRoom, Work, WorkId,
};
#[cfg(feature = "durable")]
pub use actor::{Asking, Durable, Keyed, Sender};
pub use base::{ActorName, ActorPath, InvalidName, InvalidPath, Uid};
pub use failure::{During, Failure, FailureKind, PermanentEnded, Stage};
pub use inspect::{
    Glimpse, InterventionRefused, InvalidSelection, NodeState, Selection, SelectionOf, Tree, TreeNode,
};
pub use keyed::{ChildKey, Children, ChildrenProps};
pub use mailbox::{MailboxKind, Overflow};
pub use observe::{
    DeadLetter, DeadLetterReason, Event, EventStream, Events, Interest, Intervention, LastFailure, Lives,
    LostMessage, LostMessages, Tally,
};
#[cfg(feature = "timing")]
#[doc(hidden)]
pub use observe::{TIME_BOUNDS, TimeBuckets, Times};
pub use shutdown::{CoordinatedShutdown, NotStopped, ShutdownTask, TaskOutcome};
pub use shutdown_plan::{
    AddTaskError, InvalidPhases, InvalidShutdown, Phase, ShutdownError, ShutdownReason, ShutdownSettings,
    SystemTerminated, TerminationHook, UnknownPhase,
};
pub use supervision::{
    AutoShutdown, Backoff, ChildInfo, ChildSpec, Count, Directive, Growth, Hook, HowEnded, Limit, Log, LogLevel,
    OnLimit, Outcome, Reset, RestartType, Scope, Standing, Strategy, Terms, Window, default_decider,
    stopping_decider,
};
