//! Keyed children that an actor's type declares as a field: their parent is a declared child.
//!
//! Each instance of the owner declares its own map of seats. The parent of the children gets this map with its own next
//! instance. If the parent outlives its owner's restart, it leaves the earlier map, which then has no children and creates
//! none.
//!
//! Rule 18.9.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::registry::{CloseAtEnd, Registry};
use super::seat_map::SeatMap;
use super::{ChildKey, Children, ChildrenProps};
use crate::actor::{
    Actor, AnyActorRef, AnyDeclaration, Cell, Configuration, DecidedBy, Declare, Props, SupervisedBy, Supervisor,
};
use crate::failure::Failure;
use crate::supervision::{ChildInfo, ChildSpec};

/// The declaration of one field.
struct DeclaredChildren<K: ChildKey, C: Actor> {
    now: Mutex<Now<K, C>>,
}

/// What the owner's current instance has declared.
struct Now<K: ChildKey, C: Actor> {
    map: Arc<SeatMap<K, C>>,
    configuration: Option<Arc<Configuration>>,
}

impl<K: ChildKey, C: Actor> DeclaredChildren<K, C> {
    fn now(&self) -> MutexGuard<'_, Now<K, C>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn map(&self) -> Arc<SeatMap<K, C>> {
        Arc::clone(&self.now().map)
    }
}

/// A declaration together with the type of the owner, whose table supervises the children.
struct Of<K: ChildKey, C: Actor, P>(DeclaredChildren<K, C>, std::marker::PhantomData<fn() -> P>);

impl<K: ChildKey, C: Actor, P: Supervisor> AnyDeclaration for Of<K, C, P> {
    fn start(self: Arc<Self>, parent: &AnyActorRef, at: usize, _: &ChildSpec) {
        let (slot, mut served) = (Arc::clone(&self), CloseAtEnd(self.0.map()));
        let mut props = Props::<Registry<K, C, P>>::new(move || {
            let map = slot.0.map();
            if !Arc::ptr_eq(&map, &served.0) {
                served = CloseAtEnd(Arc::clone(&map));
            }
            Registry::new(map)
        });
        let strategy = self.0.now().configuration.as_ref().map(|values| *values.strategy());
        if let Some(strategy) = strategy {
            let slot = Arc::clone(&self);
            let decide = move |failure: &Failure, child: &ChildInfo| {
                let values = slot.0.now().configuration.clone();
                match values {
                    Some(values) => Ok((P::rule_by(&values, failure, child)?, *values.strategy())),
                    None => Ok((P::rule(failure, child)?, P::STRATEGY)),
                }
            };
            props = props.with_policy::<P>(strategy, P::TABLE, decide).marked();
        }
        let map = self.0.map();
        if let Some(registry) = Cell::spawn_field(parent, at, props) {
            map.belongs_to(registry.to_any());
        } else {
            // The owner is ending.
            map.belongs_to(parent.clone());
            map.close();
        }
    }
}

impl<P: Supervisor> Declare<'_, P> {
    /// Declares the keyed children of `field`, as `make` describes them. `make` runs now.
    pub fn children<K, C, E>(
        self,
        parent: &mut P,
        field: impl FnOnce(&mut P) -> &mut Children<K, C>,
        make: impl FnOnce(&mut P) -> ChildrenProps<K, C, E>,
    ) where
        K: ChildKey,
        C: Actor + SupervisedBy<P>,
        E: DecidedBy<P>,
    {
        let props = make(parent);
        self.fill_children(parent, field, props);
    }

    /// The second half of [`children`](Self::children), without its bounds.
    pub(crate) fn fill_children<K: ChildKey, C: Actor, E>(
        self,
        parent: &mut P,
        field: impl FnOnce(&mut P) -> &mut Children<K, C>,
        props: ChildrenProps<K, C, E>,
    ) {
        let Some(place) = self.slot else { return };
        let map = Arc::new(SeatMap::new(props));
        let now = Now { map: Arc::clone(&map), configuration: self.configuration };
        let slot = place.take().map(|slot| (slot as Arc<dyn Any + Send + Sync>).downcast::<Of<K, C, P>>());
        let slot = match slot {
            Some(Ok(slot)) => {
                let earlier = std::mem::replace(&mut *slot.0.now(), now);
                drop(earlier);
                slot
            }
            _ => Arc::new(Of(DeclaredChildren { now: Mutex::new(now) }, std::marker::PhantomData)),
        };
        if let Some(survivor) = self.survivor {
            map.belongs_to(survivor);
        }
        *field(parent) = Children { map: Some(map) };
        *place = Some(slot);
    }
}
