//! A turn on the stack of an asker, for its own message alone.

use std::ops::ControlFlow;
use std::task::Poll;

use super::messages::{Interrupt, admit};
use super::{Runner, UserCode};
use crate::actor::definition::Actor;
use crate::actor::reply;
use crate::actor::request::AskError;
use crate::base::contained;
use crate::failure::Failure;

impl<A: Actor> Runner<A> {
    /// A turn on an asker's stack. It handles the first message, which is the asker's own, because the actor was idle.
    /// It leaves everything else to a carrier: messages that others have sent since, a handler that may wait, a failure.
    ///
    /// Rule 1.8.
    #[inline]
    pub(super) fn take_inline_turn(&mut self) -> Poll<Option<UserCode>> {
        if A::KEEPS_REPLIES { reply::beside(|| self.inline_turn()) } else { self.inline_turn() }
    }

    fn inline_turn(&mut self) -> Poll<Option<UserCode>> {
        let mut interrupt = None;
        if self.effects.is_ready_for_a_message() && self.instance.is_some() {
            let (instance, ctx, effects) = self.parts();
            effects.cell.mailbox.set_handling(true);
            let handled = contained(|| {
                if let Some(control) = effects.take_control() {
                    return Interrupt::Control(control);
                }
                if !effects.has_message() {
                    return Interrupt::Nothing;
                }
                let message = effects.take_message();
                match admit(instance, ctx, effects, message) {
                    ControlFlow::Break(interrupt) => interrupt,
                    ControlFlow::Continue(()) => Interrupt::Else,
                }
            });
            interrupt = match handled {
                Ok(Interrupt::Nothing | Interrupt::Else) => None,
                Ok(Interrupt::Back(Ok(Ok(())))) => {
                    self.handled(Ok(Ok(())));
                    None
                }
                Ok(Interrupt::Back(Ok(Err(failure)))) => Some(self.tell_asker(failure)),
                Ok(interrupt) => Some(interrupt),
                Err(payload) => Some(self.tell_asker(Failure::panic(payload))),
            };
        }
        match interrupt {
            Some(interrupt) => self.effects.defer(interrupt),
            None if self.ctx.timers_mut().is_none() && self.effects.has_nothing_to_do() => {
                self.effects.wait();
                return Poll::Pending;
            }
            None => {}
        }
        self.effects.give_way();
        Poll::Pending
    }

    /// Tells the asker of an inline turn about a failure at once. A carrier handles the consequences.
    #[cold]
    fn tell_asker(&mut self, failure: Failure) -> Interrupt<A::Message> {
        let failure = self.left_handler(failure);
        let outcome = Ok(Err(failure.clone()));
        // The carrier may take a while, and the handler is over.
        #[cfg(feature = "spans")]
        self.effects.end_span(&outcome);
        self.effects.ends_timing();
        if let Some(asker) = self.ctx.take_held() {
            asker.fail(AskError::Failed(failure.clone()));
        }
        self.settle_replies(|_| AskError::Failed(failure.clone()));
        Interrupt::Back(outcome)
    }
}
