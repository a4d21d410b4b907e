//! The notification that a watched actor has ended. [`supervision`](crate::supervision) decides when to send it.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;

use crate::actor::actor_ref::{ActorRef, AnyActorRef};
use crate::actor::definition::Actor;
use crate::actor::end_reason::EndReason;
use crate::base::ActorPath;
use crate::supervision::HowEnded;

/// Stands for an actor of any type in [`Terminated`].
#[derive(Debug, Clone, Copy)]
pub enum AnyActor {}

/// A watched actor has ended. `A` is its type; `Terminated` without a type stands for any type.
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

    /// How it ended: whether its code finished in time.
    pub fn how(&self) -> HowEnded {
        self.how
    }

    /// Why it ended, even if it had ended before it was watched.
    /// Rule [8.8](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-8.8).
    pub fn reason(&self) -> EndReason {
        self.subject.core().end_reason()
    }
}

impl Terminated {
    pub(crate) fn new(subject: AnyActorRef, how: HowEnded) -> Self {
        Self { subject, how, actor: PhantomData }
    }

    /// The same notification, if the actor that ended was an `A`, or a [pattern](crate::pattern) that stood in for one.
    ///
    /// # Errors
    ///
    /// If it was not. The error is the unchanged notification.
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
    /// Never: the type was checked when the notification was made.
    pub fn actor(&self) -> A::Ref {
        self.subject.downcast::<A>().map_or_else(|| unreachable!("checked in Terminated::downcast"), A::Ref::from)
    }

    /// Whether this incarnation ended, and not another one of the same name.
    pub fn is(&self, actor: &ActorRef<A>) -> bool {
        self.subject == actor.to_any()
    }
}

impl<A> fmt::Debug for Terminated<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Terminated");
        text.field("subject", &self.subject).field("how", &self.how).field("reason", &self.reason()).finish()
    }
}
