//! Code of the runtime's own that runs on an actor's turn, in its place among the messages.
//!
//! What the patterns are asked besides their messages (how many restarts, which workers) comes to them this way: their
//! messages are those of the actor they stand in for, and have no room for more. Users have messages.

use std::any::Any;
use std::fmt;

use crate::actor::actor_ref::ActorRef;
use crate::actor::context::Context;
use crate::actor::control::Control;
use crate::actor::definition::Actor;
use crate::actor::reply::ReplyTo;
use crate::actor::request::AskError;
use crate::failure::Failure;

type Erased = dyn FnOnce(&mut dyn Any, &mut dyn Any) -> Result<(), Failure> + Send;

/// A visit on its way, without the actor's type.
pub(crate) struct Visit {
    run: Box<Erased>,
}

impl Visit {
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
    /// Runs `visit` on the actor's turn, after what was sent before. Dropped if the actor has ended.
    pub(crate) fn visit(
        &self,
        visit: impl FnOnce(&mut A, &mut Context<A>) -> Result<(), Failure> + Send + 'static,
    ) {
        // What waits for its answer learns of the drop.
        let _ended = self.to_any().0.push_control(Control::Visit(Visit::new(visit)));
    }

    /// Asks the actor's own state. Asked when first polled.
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
