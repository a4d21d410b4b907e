//! What a cell knows about the key that it was made for. A key has one occupant (child) after another.
//!
//! Rules 18.3 and 18.4.

use std::sync::Arc;

use crate::actor::actor_ref::AnyActorRef;
use crate::base::Uid;

/// The place of one key among keyed children, whatever the types of the key and the child.
///
/// Each call names the occupant that it is about. A call about an occupant that has left the seat has no effect.
pub(crate) trait AnySeat: Send + Sync {
    /// The occupant was told to stop.
    fn leaving(&self, occupant: Uid);

    /// The occupant begins to stop because it is not needed now. Messages that are sent to it from now on
    /// wait for its successor.
    fn passivating(&self, occupant: Uid);

    /// The occupant handles no further message. Calls `empty`, under the seat's lock, if the waiting messages are lost.
    fn closes(&self, occupant: Uid, empty: &mut dyn FnMut()) -> AtClose;

    /// The occupant has ended, and its name is free.
    fn ended(self: Arc<Self>, occupant: Uid);

    /// The current child of the key, if there is one. Makes none.
    fn present(&self) -> Option<AnyActorRef>;

    /// The occupant. Makes one if the seat is empty.
    fn occupant(self: Arc<Self>) -> Result<AnyActorRef, NoOccupant>;
}

/// Why a seat has no occupant for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoOccupant {
    /// It can have none any more.
    Gone,
    /// There are as many occupants of other seats as their limit allows (rule 18.10).
    Full,
}

/// What happens to a user lane when its cell handles no further message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtClose {
    /// It is closed, like the lane of a cell without a seat.
    Close,
    /// It was emptied and stays open, because the next occupant may have been asked for already.
    Emptied,
    /// It stays as it is, for the successor.
    Keep,
}
