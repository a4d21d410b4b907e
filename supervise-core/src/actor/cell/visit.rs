//! Code of this crate that runs on an actor's turn, at its place among the messages.
//!
//! The patterns' own methods (how many restarts, which workers) use it, because the messages of a pattern are those of
//! the actor that it stands in for. User actors do not need it: they have messages.

use std::any::Any;
use std::fmt;

use crate::actor::actor_ref::ActorRef;
use crate::actor::context::Context;
use crate::actor::control::Control;
use crate::actor::definition::Actor;
use crate::actor::reply::{ReplyTo, drop_because};
use crate::actor::request::AskError;
use crate::failure::Failure;

type Erased = dyn FnOnce(&mut dyn Any, &mut dyn Any) -> Result<(), Failure> + Send;

/// A visit that has been sent, without the actor's type.
pub struct Visit {
    run: Box<Erased>,
}

impl Visit {
    /// The end of a drain: `drain` drains the actor's children.
    pub(crate) fn to_drain<A: Actor>(drain: fn(&mut A, &mut Context<A>)) -> Self {
        Self::new(move |instance, ctx| {
            drain(instance, ctx);
            Ok(())
        })
    }

    fn new<A: Actor>(visit: impl FnOnce(&mut A, &mut Context<A>) -> Result<(), Failure> + Send + 'static) -> Self {
        Self {
            run: Box::new(move |instance, ctx| match (instance.downcast_mut(), ctx.downcast_mut()) {
                (Some(instance), Some(ctx)) => visit(instance, ctx),
                _ => unreachable!("only patterns are visited, through a ref of their own type"),
            }),
        }
    }

    pub(super) fn run<A: Actor>(self, instance: &mut A, ctx: &mut Context<A>) -> Result<(), Failure> {
        (self.run)(instance, ctx)
    }
}

impl fmt::Debug for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visit").finish_non_exhaustive()
    }
}

impl<A: Actor> ActorRef<A> {
    /// Makes the actor fail after all earlier messages. Does nothing if it has ended.
    pub(crate) fn fail(&self, failure: Failure) {
        let visit = Visit { run: Box::new(move |_, _| Err(failure)) };
        if let Err(visit) = self.to_any().0.push_control(Control::Visit(visit)) {
            drop_because(AskError::Stopped, visit);
        }
    }

    /// Drains the actor once more, if it is being drained. A new instance calls this when it starts, because its predecessor may have
    /// taken up the end of the drain.
    pub(crate) fn go_on_draining(&self) {
        if self.mailbox().refuses_messages() {
            self.stop_when_drained();
        }
    }

    /// Runs `visit` on the actor's turn, after all earlier messages. Drops it if the actor has ended.
    pub(crate) fn visit(
        &self,
        visit: impl FnOnce(&mut A, &mut Context<A>) -> Result<(), Failure> + Send + 'static,
    ) {
        // If the actor has ended, dropping the visit tells the caller.
        if let Err(visit) = self.to_any().0.push_control(Control::Visit(Visit::new(visit))) {
            drop_because(AskError::Stopped, visit);
        }
    }

    /// Asks for a part of the actor's own state. Sends the visit when it is first polled.
    pub(crate) async fn ask_visit<T: Send + 'static>(
        &self,
        visit: impl FnOnce(&mut A, &mut Context<A>) -> T + Send + 'static,
    ) -> Result<T, AskError> {
        let (reply, answer) = ReplyTo::asked();
        self.visit(move |instance, ctx| {
            reply.answer(visit(instance, ctx));
            Ok(())
        });
        answer.await
    }
}
