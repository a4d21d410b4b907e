//! Mailboxes that outlive the process: a message that was accepted is handled or put into quarantine, and never lost.
//!
//! The clauses are rules 27 of the [semantics](crate::docs::semantics). `SqliteStore` (feature `durable-sqlite`) keeps the
//! messages of one process in a file. A store of your own implements [`MessageStore`], and the function `check` of this module
//! (with the feature `testkit`) says whether it does so correctly.

pub use supervise_core::durable::*;

#[cfg(feature = "durable-jetstream")]
mod jetstream;
#[cfg(feature = "durable-sqlite")]
mod sqlite;

#[cfg(feature = "durable-jetstream")]
pub use self::jetstream::JetStreamStore;

#[cfg(feature = "durable-sqlite")]
pub use self::sqlite::SqliteStore;
