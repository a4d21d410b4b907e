//! Making the cell of a child, and starting it.

use std::sync::Arc;
use std::task::Waker;

use super::{AnySeat, Cell, CellProtocol, Core, Runner};
use crate::actor::actor_ref::{ActorRef, AnyActorRef};
use crate::actor::definition::Actor;
use crate::actor::dispatch::Task;
use crate::actor::props::Props;
#[cfg(feature = "durable")]
use crate::actor::stored;
use crate::base::{ActorName, ActorPath, InvalidName, check_name};
use crate::mailbox::Mailbox;
use crate::supervision::{ChildId, SpawnRefusal};

impl<M: Send + 'static> Cell<M> {
    /// Makes a child of `parent`, and starts it after the parent knows it.
    pub(crate) fn spawn_under<A: Actor<Message = M>>(
        parent: &AnyActorRef,
        name: NewName<'_>,
        props: Props<A>,
    ) -> Result<ActorRef<A>, SpawnError> {
        Self::spawn_prepared(parent, name, props, |_| {})
    }

    /// Makes a child of `parent` that has a seat, and `waiting` messages before any other.
    pub(crate) fn spawn_seated<A: Actor<Message = M>>(
        parent: &AnyActorRef,
        name: &str,
        props: Props<A>,
        seat: Arc<dyn AnySeat>,
        waiting: &mut Vec<M>,
    ) -> Result<ActorRef<A>, SpawnError> {
        #[cfg(feature = "durable")]
        if const { A::DURABLE.is_some() } {
            return Err(SpawnError::DurableKey { parent: parent.path() });
        }
        Self::spawn_prepared(parent, NewName::Given(name), props, |cell| {
            cell.core.take_seat(seat);
            for message in waiting.drain(..) {
                // Nobody can have closed it yet.
                let _open = cell.mailbox.push_accepted(message);
            }
        })
    }

    /// `prepare` runs before anybody can reach the cell.
    // Not in debug builds, where each copy costs time to compile.
    #[cfg_attr(
        not(debug_assertions),
        expect(clippy::inline_always, reason = "nearly all cells need no preparation, and should not pay for it"),
        inline(always)
    )]
    fn spawn_prepared<A: Actor<Message = M>>(
        parent: &AnyActorRef,
        name: NewName<'_>,
        props: Props<A>,
        prepare: impl FnOnce(&Self),
    ) -> Result<ActorRef<A>, SpawnError> {
        let above = parent.core();
        #[cfg(feature = "durable")]
        let reserved = stored::reserve(above, name, &props)?;
        let mut new = None;
        let make = |name: &ActorName, id, inherited| {
            let cell = new.insert(Self::below(parent, name, id, props.protocol(inherited), &props));
            #[cfg(feature = "durable")]
            if const { A::DURABLE.is_some() }
                && let Some(outlet) = &reserved
            {
                cell.core.take_outlet(Arc::clone(outlet));
            }
            prepare(cell);
            AnyActorRef(cell.clone())
        };
        let spawned = match name {
            NewName::Given(name) => {
                check_name(name).map_err(|reason| SpawnError::InvalidName { parent: above.path(), reason })?;
                let name = ActorName::from(name);
                above.protocol().spawn(&name, |id, inherited| make(&name, id, inherited))
            }
            NewName::MadeUp => above.protocol().spawn_anonymous(make),
        };
        match (new, spawned, name) {
            (Some(cell), ..) => {
                #[cfg(feature = "durable")]
                if const { A::DURABLE.is_some() } {
                    stored::claim::<A>(&ActorRef::new(Arc::clone(&cell)), reserved);
                }
                Self::begin(&cell, props);
                Ok(ActorRef::new(cell))
            }
            (None, Err(SpawnRefusal::NameTaken), NewName::Given(name)) => {
                #[cfg(feature = "durable")]
                stored::give_up(reserved);
                Err(SpawnError::NameTaken { parent: above.path(), name: name.to_owned() })
            }
            (None, ..) => {
                #[cfg(feature = "durable")]
                stored::give_up(reserved);
                Err(SpawnError::Stopping { parent: above.path() })
            }
        }
    }

    /// Makes the child of a field, and starts it.
    pub(crate) fn spawn_field<A: Actor<Message = M>>(
        parent: &AnyActorRef,
        at: usize,
        props: Props<A>,
    ) -> Option<ActorRef<A>> {
        let above = parent.core();
        let mut made = None;
        #[cfg(feature = "durable")]
        let mut reserved = Ok(None);
        above.protocol().spawn_field(at, |name, id, inherited| {
            let protocol = props.protocol(inherited).as_field();
            let cell = made.insert(Self::below(parent, name, id, protocol, &props));
            #[cfg(feature = "durable")]
            {
                reserved = stored::reserve(above, NewName::Given(name), &props);
                if let Ok(Some(outlet)) = &reserved {
                    cell.core.take_outlet(Arc::clone(outlet));
                }
            }
            AnyActorRef(cell.clone())
        });
        let cell = made?;
        #[cfg(feature = "durable")]
        let props = match reserved {
            Ok(reserved) => {
                if const { A::DURABLE.is_some() } {
                    stored::claim::<A>(&ActorRef::new(Arc::clone(&cell)), reserved);
                }
                props
            }
            // A declared child without a queue cannot start.
            Err(error) => props.failing(error),
        };
        Self::begin(&cell, props);
        Some(ActorRef::new(cell))
    }

    /// Starts a new cell.
    pub(crate) fn begin<A: Actor<Message = M>>(cell: &Arc<Self>, props: Props<A>) {
        let runner = Runner::new(Arc::clone(cell), props);
        let task = Task::new(Arc::clone(cell) as _, Waker::from(Arc::clone(cell)), runner.run());
        cell.core.system.dispatcher().ready(task);
    }

    fn below<A: Actor<Message = M>>(
        parent: &AnyActorRef,
        name: &ActorName,
        id: ChildId,
        protocol: CellProtocol,
        props: &Props<A>,
    ) -> Arc<Self> {
        let system = Arc::clone(&parent.core().system);
        let cell = Arc::new(Self {
            mailbox: Mailbox::new(props.mailbox),
            core: Core::new(name.clone(), id, Some(parent.clone()), system, props.description(), protocol),
        });
        let own = props.asks_wait();
        if own.is_some() || cell.core.system.ask_timeout().is_some() {
            cell.limit_asks(own);
        }
        #[cfg(feature = "timing")]
        match cell.core.system.observer().times_one_in() {
            0 => {}
            one_in => cell.mailbox.time(one_in, false),
        }
        cell
    }
}

/// The name of a new actor.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NewName<'a> {
    Given(&'a str),
    MadeUp,
}

/// Why an actor could not be spawned. The failure of a factory is not such an error: it is a failure of the child.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The name is invalid.
    #[error("cannot spawn under {parent}: {reason}")]
    InvalidName {
        /// The intended parent.
        parent: ActorPath,
        /// What is wrong with the name.
        reason: InvalidName,
    },
    /// A child of this name exists or is still stopping. The name is free after the parent has processed the child's
    /// end.
    #[error(
        "cannot spawn `{name}` under {parent}: the name is taken. Spawn it once, in `#[pre_start]` or as a `#[child]`, and keep its ref; \
         `ctx.child(\"{name}\")` finds it, and `spawn_anonymous` needs no name"
    )]
    NameTaken {
        /// The intended parent.
        parent: ActorPath,
        /// The name.
        name: String,
    },
    /// The parent is stopping.
    #[error("cannot spawn under {parent}: it is stopping")]
    Stopping {
        /// The parent.
        parent: ActorPath,
    },
    /// The actor's mailbox is durable, and its system has no store.
    #[cfg(feature = "durable")]
    #[error(
        "cannot spawn under {parent}: the actor's mailbox is durable, and the system has no store; write \
         `ActorSystem::builder(..).store(..)`"
    )]
    NoStore {
        /// The intended parent.
        parent: ActorPath,
    },
    /// Another actor owns the queue of the actor's durable mailbox. The queue is free when that actor has ended.
    #[cfg(feature = "durable")]
    #[error("cannot spawn under {parent}: the queue `{queue}` belongs to {owner}")]
    QueueTaken {
        /// The intended parent.
        parent: ActorPath,
        /// The queue.
        queue: String,
        /// Its owner.
        owner: ActorPath,
    },
    /// The actor's mailbox is `durable(shared)`, and the system's store cannot share a queue among several actors.
    #[cfg(feature = "durable")]
    #[error(
        "cannot spawn under {parent}: the store of the system cannot share the queue `{queue}` among several actors; use \
         `JetStreamStore`, or remove `shared` from `mailbox = durable(shared)`"
    )]
    CannotShare {
        /// The intended parent.
        parent: ActorPath,
        /// The queue.
        queue: String,
    },
    /// A child that has a key cannot have a durable mailbox.
    #[cfg(feature = "durable")]
    #[error(
        "cannot spawn under {parent}: a child that has a key cannot have a durable mailbox; spawn it under a name"
    )]
    DurableKey {
        /// The intended parent.
        parent: ActorPath,
    },
    /// The actor's mailbox is durable, its name is made up, and its queue has no name.
    #[cfg(feature = "durable")]
    #[error(
        "cannot spawn under {parent}: the queue of a durable mailbox needs a name that the next process knows; give the \
         actor a name, or write `Props::new(..).queue(\"..\")`"
    )]
    QueueNeedsName {
        /// The intended parent.
        parent: ActorPath,
    },
    /// There are as many keyed children as their limit allows
    /// (rule [18.10](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-18.10)).
    #[error("cannot spawn under {parent}: it has {limit} children, as many as its `limit` allows")]
    TooManyChildren {
        /// The children's parent.
        parent: ActorPath,
        /// The limit.
        limit: usize,
    },
}

crate::failure::debug_in_one_line!(SpawnError);
