//! Making the cell of a child, and starting it.

use std::sync::Arc;
use std::task::Waker;

use super::{AnySeat, Cell, CellProtocol, Core, Runner};
use crate::actor::actor_ref::{ActorRef, AnyActorRef};
use crate::actor::definition::Actor;
use crate::actor::dispatch::Task;
use crate::actor::props::Props;
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
        Self::spawn_prepared(parent, NewName::Given(name), props, |cell| {
            cell.core.take_seat(seat);
            let _open = cell.mailbox.put_back(waiting.drain(..).collect());
        })
    }

    /// `prepare` runs before anybody can reach the cell.
    #[expect(clippy::inline_always, reason = "nearly all cells need no preparation, and should not pay for it")]
    #[inline(always)]
    fn spawn_prepared<A: Actor<Message = M>>(
        parent: &AnyActorRef,
        name: NewName<'_>,
        props: Props<A>,
        prepare: impl FnOnce(&Self),
    ) -> Result<ActorRef<A>, SpawnError> {
        let above = parent.core();
        let mut new = None;
        let make = |name: &ActorName, id, inherited| {
            let cell = new.insert(Self::below(parent, name, id, props.protocol(inherited), &props));
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
                Self::begin(&cell, props);
                Ok(ActorRef::new(cell))
            }
            (None, Err(SpawnRefusal::NameTaken), NewName::Given(name)) => {
                Err(SpawnError::NameTaken { parent: above.path(), name: name.to_owned() })
            }
            (None, ..) => Err(SpawnError::Stopping { parent: above.path() }),
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
        above.protocol().spawn_field(at, |name, id, inherited| {
            let protocol = props.protocol(inherited).as_field();
            AnyActorRef(made.insert(Self::below(parent, name, id, protocol, &props)).clone())
        });
        let cell = made?;
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
        let core = Core::new(name.clone(), id, Some(parent.clone()), system, props.description(), protocol);
        let cell = Arc::new(Self { core, mailbox: Mailbox::new(props.mailbox) });
        let own = props.asks_wait();
        if own.is_some() || cell.core.system.ask_timeout().is_some() {
            cell.limit_asks(own);
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
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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
    #[error("cannot spawn `{name}` under {parent}: the name is taken")]
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
}
