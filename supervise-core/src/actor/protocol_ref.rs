//! A ref that hides what handles its calls: an actor of some type, or any value that implements the trait.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use crate::actor::actor_ref::AnyActorRef;

/// A ref to whatever implements the protocol `P`, a trait object such as `dyn Storage`. `#[protocol]` wraps this type in the
/// protocol's own ref type, such as `StorageRef`, and makes the trait's methods callable on it.
///
/// It is cheap to clone, and dropping it does not stop an actor behind it. Two refs are equal if they were made of refs of one
/// type to the same incarnation of an actor, or if one is a clone of the other.
///
/// Rule [20.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-20.4).
pub struct ProtocolRef<P: ?Sized>(Arc<Behind<P>>);

/// What a [`ProtocolRef`] hides. It is one allocation, so that a clone of the ref increments only one count.
#[derive(Debug)]
pub struct Behind<P: ?Sized> {
    actor: Option<AnyActorRef>,
    /// The name of the type that implements the protocol.
    name: &'static str,
    value: P,
}

impl<P> Behind<P> {
    /// A value that implements a protocol, and the actor behind it, if there is one.
    pub fn new(value: P, actor: Option<AnyActorRef>) -> Self {
        Self { actor, name: std::any::type_name::<P>(), value }
    }
}

impl<P: ?Sized> ProtocolRef<P> {
    /// The actor behind the ref, so that it can be watched and stopped. `None` if there is none, or if the value that
    /// implements the protocol does not name it.
    pub fn actor(&self) -> Option<&AnyActorRef> {
        self.0.actor.as_ref()
    }
}

impl<P: ?Sized> From<Arc<Behind<P>>> for ProtocolRef<P> {
    fn from(behind: Arc<Behind<P>>) -> Self {
        Self(behind)
    }
}

impl<P: ?Sized> Deref for ProtocolRef<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.0.value
    }
}

impl<P: ?Sized> Clone for ProtocolRef<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: ?Sized> PartialEq for ProtocolRef<P> {
    fn eq(&self, other: &Self) -> bool {
        match (self.actor(), other.actor()) {
            // An adapter may name the actor that it passes its calls to.
            (Some(own), Some(others)) => own == others && self.0.name == other.0.name,
            (None, None) => std::ptr::addr_eq(Arc::as_ptr(&self.0), Arc::as_ptr(&other.0)),
            _ => false,
        }
    }
}

impl<P: ?Sized> Eq for ProtocolRef<P> {}

impl<P: ?Sized> Hash for ProtocolRef<P> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.actor() {
            Some(actor) => actor.hash(state),
            None => Arc::as_ptr(&self.0).cast::<()>().hash(state),
        }
    }
}

impl<P: ?Sized> fmt::Debug for ProtocolRef<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The actor's path and uid, or the name of the type behind the ref.
impl<P: ?Sized> fmt::Display for ProtocolRef<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.actor() {
            Some(actor) => fmt::Display::fmt(actor, f),
            None => f.write_str(self.0.name),
        }
    }
}
