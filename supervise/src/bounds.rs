//! The traits and types that bounds of public methods name. The attributes implement them, and a program seldom names them.
//!
//! You meet them in two places: in the signature of a method such as `Context::spawn`, and in a compiler error, which
//! says what to write. Each of them is also at the root of the crate.

pub use supervise_core::{
    AwaitedInAnAsyncBlock, Built, ByHand, ByRequest, DecidedBy, Decides, DecidesAll, DecidesAllFrom,
    DecidesFailedStartFrom, DecidesPermanentEndFrom, DecidesUnchecked, EscalationsDecidedBy, FailsWith,
    GivesProps, HandlersOfOneImplBlockDecidedBy, MessageFor, NeverFails, NeverRestarts, Ordinary, SupervisedBy,
    TaskFactory, TaskOutput, TotalTable, Transient, UndeclaredChild, WatchableBy,
};
