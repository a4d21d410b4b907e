//! What a cell knows of the key it was made for. Its occupants come and go; the key stays.
//!
//! Rules 18.3 and 18.4.

use std::sync::Arc;

use crate::actor::actor_ref::AnyActorRef;
use crate::base::Uid;

/// The place of one key among keyed children, whatever the types of the key and the child.
///
/// Whoever calls these says which occupant it is about; one that has left the seat changes nothing.
pub(crate) trait Seat: Send + Sync {
    /// The occupant was told to stop.
    fn leaving(&self, occupant: Uid);

    /// The occupant begins to stop because it is not needed now: what is sent to it waits for its successor.
    fn passivating(&self, occupant: Uid);

    /// The occupant handles nothing more. Calls `empty` where what waits is lost, under the seat's lock.
    fn closes(&self, occupant: Uid, empty: &mut dyn FnMut()) -> AtClose;

    /// The occupant has ended, and its name is free.
    fn ended(self: Arc<Self>, occupant: Uid);

    /// The occupant, which is made if there is none; none if there can be none any more.
    fn occupant(self: Arc<Self>) -> Option<AnyActorRef>;
}

/// What becomes of a user lane when its cell handles nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtClose {
    /// It is closed, as that of a cell without a seat.
    Close,
    /// It was emptied and stays open: who takes the seat next may have been asked for already.
    Emptied,
    /// It stays as it is, for the successor.
    Keep,
}
