//! Refs to patterns. Each dereferences to the ref of the actor that the pattern stands in for.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use crate::actor::{Actor, ActorRef, RefOf, TypedRef};
use crate::pattern::{BackoffSupervisor, CircuitBreaker, Pool};

/// A pattern that takes the messages of another actor type and passes them on.
///
/// Only the patterns of this module implement it, so no other actor is reached through another actor's ref.
pub trait StandIn: Actor + sealed::Sealed {
    /// The actor whose messages it takes.
    type For: Actor<Message = Self::Message>;
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

impl<C: Actor> sealed::Sealed for BackoffSupervisor<C> {}
impl<C: Actor> sealed::Sealed for CircuitBreaker<C> {}
impl<C: Actor> sealed::Sealed for Pool<C> {}

impl<C: Actor> StandIn for BackoffSupervisor<C> {
    type For = C;
}

impl<C: Actor> StandIn for CircuitBreaker<C> {
    type For = C;
}

impl<C: Actor> StandIn for Pool<C> {
    type For = C;
}

/// The ref of a backoff supervisor. Used like its child's ref.
pub type BackoffSupervisorRef<C> = StandInRef<BackoffSupervisor<C>>;

/// The ref of a circuit breaker. Used like its child's ref.
pub type CircuitBreakerRef<C> = StandInRef<CircuitBreaker<C>>;

/// The ref of a pool. Used like a worker's ref.
///
/// Where rustc expects the ref of a worker and says that it found a `StandInRef<Pool<Worker>>` (E0308), write `PoolRef<Worker>` as the type
/// of the field or the parameter, in place of `WorkerRef`.
pub type PoolRef<C> = StandInRef<Pool<C>>;

/// The ref of a pattern. Used like a ref of the actor that it stands in for.
///
/// For watching, stopping and comparing, both refs stand for the pattern: they show the pattern's path, and their
/// watchers are told of the pattern's end.
pub struct StandInRef<S: StandIn> {
    own: ActorRef<S>,
    face: RefOf<S::For>,
}

impl<S: StandIn> StandInRef<S> {
    /// The plain ref, with the pattern's own methods and those that all refs share.
    pub fn actor_ref(&self) -> &ActorRef<S> {
        &self.own
    }
}

impl<S: StandIn> Deref for StandInRef<S> {
    type Target = RefOf<S::For>;

    fn deref(&self) -> &RefOf<S::For> {
        &self.face
    }
}

impl<S: StandIn> From<ActorRef<S>> for StandInRef<S> {
    fn from(own: ActorRef<S>) -> Self {
        Self { face: own.as_ref_of().into(), own }
    }
}

impl<S: StandIn> TypedRef for StandInRef<S> {
    type Actor = S;

    fn actor_ref(&self) -> &ActorRef<S> {
        &self.own
    }
}

impl<S: StandIn> Clone for StandInRef<S> {
    fn clone(&self) -> Self {
        Self { own: self.own.clone(), face: self.face.clone() }
    }
}

impl<S: StandIn> PartialEq for StandInRef<S> {
    fn eq(&self, other: &Self) -> bool {
        self.own == other.own
    }
}

impl<S: StandIn> Eq for StandInRef<S> {}

impl<S: StandIn> Hash for StandInRef<S> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.own.hash(state);
    }
}

impl<S: StandIn> fmt::Debug for StandInRef<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.own, f)
    }
}

impl<S: StandIn> fmt::Display for StandInRef<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.own, f)
    }
}
