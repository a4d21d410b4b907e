//! Mailboxes that outlive the process: a message that was accepted is handled or put into quarantine, and never lost.
//!
//! The clauses are section 27 of the [semantics](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html).
//! This room knows bytes and numbers, but no actors; the room `actor` encodes messages and delivers them.
//!
//! | file | what |
//! |---|---|
//! | `store` | what an engine must do |
//! | `queue`, `shares`, `suspects`, `lease` | what follows from what happens: pure |
//! | `writer` | the one task that calls the store |
//! | `inbox` | where everything for the writer arrives |
//! | `outlet`, `ticket` | a claimed queue, and a stored message in memory, as actors see them |
//! | `fields`, `arguments` | arguments as bytes, and as text |
//! | `memory` | a store in memory, for tests |

mod arguments;
#[cfg(feature = "testkit")]
mod check;
pub(crate) mod fields;
mod handle;
pub(crate) mod inbox;
#[doc(hidden)]
pub mod lease;
mod memory;
pub(crate) mod outlet;
#[doc(hidden)]
pub mod queue;
#[doc(hidden)]
pub mod shares;
mod store;
#[doc(hidden)]
pub mod suspects;
pub(crate) mod ticket;
mod writer;

pub use self::arguments::Arguments;
#[cfg(feature = "testkit")]
pub use self::check::check;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

pub use self::handle::Store;
pub(crate) use self::inbox::{HandedOver, Held, Inbox, Receipt, Unavailable};
pub use self::memory::MemoryStore;
pub use self::outlet::DurableMailbox;
pub(crate) use self::outlet::{Asker, Copied, Outlet, Recipient, Undelivered};
pub use self::store::{
    Append, Appended, Arrived, Change, Claim, CommitError, Ended, Fate, Group, Kept, Marks, MessageId,
    MessageStore, Opened, Owner, Quarantined, QueueId, QueueRow, Room, Seq, SharedQueues, StoreError,
    StoreErrorKind, StoreFuture, Stored, Taken,
};
pub use self::ticket::Delivery;
pub(crate) use self::ticket::Ticket;

use crate::base::ActorPath;
use crate::failure::{Failure, debug_in_one_line};

/// How long a store remembers a [key](crate::Request::key), from the acceptance of its message.
/// Rule [27.2](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.2).
pub const KEYS_ARE_KEPT: Duration = Duration::from_secs(600);

/// A durable mailbox has not accepted a message. Rule [27.2](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.2).
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AcceptError {
    /// The store takes no more messages: its disk or the mailbox is full, or its file was deleted. Nothing was stored.
    #[error("the message was not accepted, because the store takes no more messages: {0}")]
    Full(Arc<str>),
    /// The actor has stopped, or its system is ending. Nothing was stored.
    #[error("the message was not accepted, because the actor has stopped")]
    Stopped,
    /// The store is not open, or the actor has no queue. Nothing was stored.
    #[error("the message was not accepted, because the store is down: {0}")]
    StoreDown(Arc<str>),
    /// The message could not be encoded. Nothing was stored.
    #[error("the message was not accepted, because it cannot be encoded: {0}")]
    NotEncodable(Arc<str>),
    /// The store failed while it stored the message, and nobody knows whether it did. Send it again with the same
    /// [key](crate::Request::key).
    #[error("nobody knows whether the message was accepted, because the store failed: {0}")]
    Unknown(Arc<str>),
}

debug_in_one_line!(AcceptError);

/// What a store has to tell the program.
pub(crate) enum News {
    /// An owner has left messages in its queue.
    Kept { owner: ActorPath, queue: Arc<str>, messages: u64 },
    /// A message is in quarantine.
    Quarantined {
        owner: ActorPath,
        queue: Arc<str>,
        id: MessageId,
        fate: Fate,
        kind: Arc<str>,
        name: Option<&'static str>,
        failures: Vec<Failure>,
    },
    /// Messages wait in a queue that no actor owns.
    Unowned { queue: Arc<str>, messages: u64 },
    /// Accepted messages are missing.
    Missing(Vec<(QueueId, Seq)>),
    /// The store has failed, or could not be opened.
    Failed(String),
    /// The store is open again.
    Opened,
}

/// Receives the news of a store.
pub(crate) trait Listener: Send + Sync {
    fn hear(&self, news: News);
}

/// The inbox of a store, and the task that must run for it.
pub(crate) fn writer(
    mut store: Box<dyn MessageStore>,
    system: &str,
    listener: Arc<dyn Listener>,
) -> (Arc<Inbox>, impl Future<Output = ()> + Send + 'static) {
    let inbox = Arc::new(Inbox::new(store.shared().is_some()));
    let writer = writer::Writer::new(store, Owner::new(system), Arc::clone(&inbox), listener);
    (inbox, writer.run())
}

/// Stores what was handed over, and closes the store.
pub(crate) async fn close(inbox: &Inbox) {
    let (closed, is_closed) = oneshot::channel();
    inbox.put_close(closed);
    // An error means that the writer has ended.
    let _closed = is_closed.await;
}
