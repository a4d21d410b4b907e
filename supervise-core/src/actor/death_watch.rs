//! The news that a watched actor ended. When it is sent is decided in [`supervision`](crate::supervision).

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;

use crate::actor::actor_ref::{ActorRef, AnyActorRef};
use crate::actor::definition::Actor;
use crate::base::ActorPath;
use crate::supervision::HowEnded;

/// Stands for an actor of any type in [`Terminated`].
#[derive(Debug, Clone, Copy)]
pub enum AnyActor {}

/// A watched actor ended. `A` is its type; `Terminated` alone stands for any type.
pub struct Terminated<A = AnyActor> {
    subject: AnyActorRef,
    how: HowEnded,
    actor: PhantomData<fn() -> A>,
}

impl<A> Terminated<A> {
    /// The path of the actor that ended.
    pub fn path(&self) -> ActorPath {
        self.subject.path()
    }

    /// The ref of the actor that ended.
    pub fn subject(&self) -> &AnyActorRef {
        &self.subject
    }

    /// How it ended.
    pub fn how(&self) -> HowEnded {
        self.how
    }
}

impl Terminated {
    pub(crate) fn new(subject: AnyActorRef, how: HowEnded) -> Self {
        Self { subject, how, actor: PhantomData }
    }

    /// The same news, if the actor that ended was an `A`, or a [pattern](crate::pattern) that stood in for one.
    ///
    /// # Errors
    ///
    /// Gives itself back if it was not.
    pub fn downcast<A: Actor>(self) -> Result<Terminated<A>, Self> {
        if self.subject.core().answers_to(TypeId::of::<A>()) {
            Ok(Terminated { subject: self.subject, how: self.how, actor: PhantomData })
        } else {
            Err(self)
        }
    }
}

impl<A: Actor> Terminated<A> {
    /// The typed ref of the actor that ended.
    ///
    /// # Panics
    ///
    /// Never: the type was checked when the news was made.
    pub fn actor(&self) -> A::Ref {
        self.subject.downcast::<A>().map_or_else(|| unreachable!("checked in Terminated::downcast"), A::Ref::from)
    }

    /// Whether it was this very actor, not a later one of the same name.
    pub fn is(&self, actor: &ActorRef<A>) -> bool {
        self.subject == actor.to_any()
    }
}

impl<A> fmt::Debug for Terminated<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminated").field("subject", &self.subject).field("how", &self.how).finish()
    }
}
