//! Mailboxes that outlive the process: a message that was accepted is handled or put into quarantine, and never lost.
//!
//! The clauses are rules 27 of the [semantics](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html).
//! This room knows bytes and numbers, but no actors; the room `actor` encodes messages and delivers them.

#[cfg(feature = "testkit")]
mod check;
mod store;

#[cfg(feature = "testkit")]
pub use self::check::check;
pub use self::store::{
    Append, Appended, Change, Claim, CommitError, Ended, Fate, Group, Kept, Marks, MessageId, MessageStore,
    Opened, Owner, Quarantined, QueueId, QueueRow, Room, Seq, StoreError, StoreErrorKind, StoreFuture, Stored,
};
