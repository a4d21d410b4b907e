//! An actor and what belongs to it: its definition, its ref, its context, its cell, its children, its system, and the carriers
//! that give it its turns. They use each other, so this is the only room whose imports form a circle.

#[cfg(feature = "testkit")]
mod activity;
mod actor_ref;
mod actor_timers;
mod batching;
mod cell;
mod child;
pub(crate) mod configuration;
mod context;
mod control;
mod death_watch;
mod definition;
mod description;
pub(crate) mod dispatch;
mod end_reason;
mod envelope;
mod extensions;
mod factory;
mod guardian;
mod held_up;
mod parent_check;
mod props;
mod protocol_ref;
mod reply;
mod reported_at;
mod request;
mod rules;
#[cfg(feature = "durable")]
mod stored;
mod system;
mod table;
mod waits_for;
mod work;

#[cfg(feature = "testkit")]
pub(crate) use self::activity::Activity;
pub use self::actor_ref::{ActorRef, AnyActorRef, TypedRef};
pub(crate) use self::actor_ref::{LastActive, WeakActorRef};
pub use self::actor_timers::TimerKey;
pub use self::batching::Batching;
#[cfg(feature = "remote")]
pub(crate) use self::cell::{AnyCell, Core, System};
pub(crate) use self::cell::{AnySeat, AtClose, Cell, CellProtocol, NewName, NoOccupant, Visit};
pub use self::cell::{SpawnError, StashOverflow};
pub(crate) use self::child::AnyDeclaration;
pub use self::child::{Child, Declare, UndeclaredChild};
pub use self::configuration::{Configuration, InvalidSettings};
pub use self::context::{AlreadyWatched, Context};
pub(crate) use self::control::Control;
pub use self::death_watch::{AnyActor, Terminated};
#[cfg(feature = "durable")]
pub use self::definition::Durable;
pub use self::definition::{Actor, Built, DEFAULT_STOP_TIMEOUT, FailsWith, NeverFails, RefOf, Ruled, Supervisor};
pub(crate) use self::description::ActorDescription;
pub use self::description::{ActorType, DeciderTable, Rule};
pub use self::end_reason::EndReason;
pub use self::envelope::{ByHand, ByRequest, Envelope, Enveloped, MessageFor, MessageOf, ReplySlot};
pub use self::factory::Factory;
pub(crate) use self::guardian::Guardian;
pub use self::parent_check::{
    AllHandlersStandInOneImplBlock, DecidedBy, Decides, DecidesAll, DecidesAllFrom, DecidesFailedStartFrom,
    DecidesFailedStartOf, DecidesPermanentEndFrom, DecidesPool, DecidesUnasked, DeclarationDecidedBy,
    EachDecidedBy, EscalatedErrorDecidedBy, EscalationsDecidedBy, FactoryErrorDecidedBy, FailsByItself, Failures,
    HandlersOfOneImplBlockDecidedBy, InitializationFailed, NeverRestarts, NoHandlerFails, SupervisedBy,
    WatchableBy, Watches, WatchesAny,
};
pub use self::props::{GivesProps, Props, SpentInstance};
pub use self::protocol_ref::{Behind, ProtocolRef};
pub use self::reply::{Answer, Reply, ReplyTo};
pub(crate) use self::reply::{BatchSlot, answer, drop_because, typed};
#[cfg(feature = "remote")]
pub(crate) use self::reply::{ErasedSlot, is_abandoned};
pub use self::reported_at::{ReportAt, ReportedAt};
pub use self::request::{
    Ask, AskError, AskTimeout, AskWithin, AwaitedInAnAsyncBlock, CircuitOpen, Ordinary, Request, SendError,
    SendErrorReason, Transient, WhenRoom,
};
pub use self::rules::{
    HasOneRuleAndNoSecondFor, HasOneSpellingForTheTypeInAllRules,
    HasOneSpellingForTheTypeInAllRulesAndItsVariantsFirst,
};
#[cfg(feature = "durable")]
pub use self::stored::{Asking, Keyed, Sender};
pub use self::system::{ActorSystem, ActorSystemBuilder, RuntimeGone, StartError};
pub use self::table::{
    DecidesUnchecked, DefaultTable, HasARuleFor, StoppingTable, SupervisionTable, TotalTable, Unchecked,
};
pub use self::work::{Task, TaskFactory, TaskOutput, Work, WorkId};
