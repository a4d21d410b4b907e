//! The queue of a new durable actor.
//!
//! Rules 27.10 and 27.11.

use std::sync::Arc;

use super::recipient::Way;
use crate::actor::actor_ref::ActorRef;
use crate::actor::cell::{Core, NewName, SpawnError};
use crate::actor::definition::Actor;
use crate::actor::props::Props;
use crate::durable::{DurableMailbox, Outlet, Unavailable};

/// A queue that is reserved for an actor that is about to be made.
pub(in crate::actor) type Reserved = Option<Arc<Outlet>>;

/// Reserves the queue of a new child of `above`, if the child's mailbox is durable.
#[inline]
pub(in crate::actor) fn reserve<A: Actor>(
    above: &Core,
    name: NewName<'_>,
    props: &Props<A>,
) -> Result<Reserved, SpawnError> {
    match const { A::DURABLE } {
        None => Ok(None),
        Some(settings) => {
            reserve_queue(above, name, props.queue_name(), settings, const { A::BATCHES && !A::STASHES })
        }
    }
}

#[cold]
fn reserve_queue(
    above: &Core,
    name: NewName<'_>,
    queue: Option<&str>,
    settings: DurableMailbox,
    has_batches: bool,
) -> Result<Reserved, SpawnError> {
    let parent = above.path();
    let Some(inbox) = above.system.store() else { return Err(SpawnError::NoStore { parent }) };
    let (owner, queue): (_, Arc<str>) = match (name, queue) {
        (NewName::Given(name), queue) => {
            // If the name is invalid, the spawn reports it.
            let Ok(owner) = parent.child(name) else { return Ok(None) };
            let queue = queue.map_or_else(|| owner.local().into(), Into::into);
            (owner, queue)
        }
        (NewName::MadeUp, Some(queue)) => (parent.clone(), queue.into()),
        (NewName::MadeUp, None) => return Err(SpawnError::QueueNeedsName { parent }),
    };
    let refused = |error| match error {
        Unavailable::Taken { owner } => SpawnError::QueueTaken { parent, queue: queue.to_string(), owner },
        Unavailable::NotShared => SpawnError::CannotShare { parent, queue: queue.to_string() },
    };
    inbox.reserve(Arc::clone(&queue), owner, settings, has_batches).map(Some).map_err(refused)
}

/// The actor was not made.
pub(in crate::actor) fn give_up(reserved: Reserved) {
    if let Some(outlet) = reserved {
        outlet.inbox.release_name(&outlet);
    }
}

/// The actor was made, and can be reached.
pub(in crate::actor) fn claim<A: Actor>(actor: &ActorRef<A>, reserved: Reserved) {
    if let Some(outlet) = reserved {
        let inbox = Arc::clone(&outlet.inbox);
        inbox.claim(outlet, Arc::new(Way(actor.downgrade())));
    }
}
