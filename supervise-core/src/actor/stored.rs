//! The actor's side of durable mailboxes: messages are encoded and handed over on their senders' stacks, and decoded into the lanes.
//!
//! A stored message has its [ticket](Ticket) where others have the slot of their asker; the slot is in the ticket's hand. So
//! no message, lane, cell or ref grows.
//!
//! Rules 27.1, 27.3, 27.5 and 27.11.

mod recipient;
mod request;
mod sender;
mod spawn;
mod system;
mod ticketed;

pub(in crate::actor) use self::recipient::{attach, decoded, retries};
pub use self::request::Asking;
pub use self::request::Keyed;
#[cfg(feature = "remote")]
pub(in crate::actor) use self::request::tell_when_room;
pub(in crate::actor) use self::request::{asked, asking, poll_send};
pub use self::sender::Sender;
pub(in crate::actor) use self::spawn::{claim, give_up, reserve};
pub(in crate::actor) use self::system::start;
pub(crate) use self::ticketed::Ticketed;
