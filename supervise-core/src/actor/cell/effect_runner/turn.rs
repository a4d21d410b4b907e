//! What a cell handles in its turn, and the end of the turn.

use std::task::{Context as TaskContext, Poll};

use super::{EffectRunner, Rare};
use crate::actor::cell::run::Interrupt;
use crate::actor::context::Context;
use crate::actor::control::Control;
use crate::actor::death_watch::Terminated;
use crate::actor::definition::Actor;
#[cfg(feature = "durable")]
use crate::actor::envelope::ReplySlot;
use crate::actor::request::AskError;
use crate::base::contained;
use crate::failure::Failure;
use crate::observe::DeadLetterReason;
use crate::supervision::{Call, Timer};

impl<A: Actor> EffectRunner<A> {
    /// Takes the first waiting entry, if it is a control. Entries are taken from the lane once per turn; later ones
    /// wait for the next turn.
    // Not in debug builds, where each copy costs time to compile.
    #[cfg_attr(
        not(debug_assertions),
        expect(clippy::inline_always, reason = "every message goes this way; a call costs a tenth of it"),
        inline(always)
    )]
    pub(in crate::actor::cell) fn take_control(&mut self) -> Option<Control> {
        if self.user.is_empty() && !self.looked {
            self.looked = self.cell.mailbox.take_user_beside(self.gathers(), &mut self.user);
        }
        let control = self.user.pop_control();
        #[cfg(feature = "spans")]
        if let Some(Control::Origin(origin)) = control {
            self.comes_from(origin);
            // Its message is next.
            return None;
        }
        control
    }

    /// Whether a message waits, once it is known that [no control](Self::take_control) does.
    #[inline]
    pub(in crate::actor::cell) fn has_message(&self) -> bool {
        self.user.messages() > 0
    }

    /// Takes the [message](Self::has_message) that waits first.
    #[inline]
    pub(in crate::actor::cell) fn take_message(&mut self) -> A::Message {
        self.times_next();
        if A::BATCHES {
            // The message may join a batch. Until that is known, it takes up room in the mailbox: see `begun`.
            return self.user.take_first();
        }
        self.cell.mailbox.begin_next(&mut self.user)
    }

    /// Takes the first message from the stash that must be checked again.
    pub(in crate::actor::cell) fn take_unstashed(&mut self) -> Option<A::Message> {
        self.aside.as_mut()?.unstashed.pop_front()
    }

    /// Takes the message that was put at the front.
    pub(in crate::actor::cell) fn take_front(&mut self) -> A::Message {
        self.user.take_first()
    }

    /// Takes the cause for the hook of the current call.
    pub(in crate::actor::cell) fn take_cause(&mut self) -> Failure {
        match self.call.take() {
            Some(Call::StartNewInstance(cause) | Call::PreRestart { cause, .. }) => cause,
            _ => unreachable!("put there before"),
        }
    }

    pub(super) fn rare(&mut self) -> &mut Rare<A::Message> {
        self.rare.get_or_insert_with(|| Box::new(Rare::new(None)))
    }

    /// Stores the notification that the actor gets next.
    pub(in crate::actor::cell) fn put_gone(&mut self, gone: Terminated) {
        self.rare().gone = Some(gone);
    }

    /// Takes the notification that the actor gets next.
    pub(in crate::actor::cell) fn take_gone(&mut self) -> Terminated {
        match self.rare().gone.take() {
            Some(gone) => gone,
            None => unreachable!("put there before"),
        }
    }

    /// Leaves the rest of an inline turn to a carrier.
    pub(in crate::actor::cell) fn defer(&mut self, interrupt: Interrupt<A::Message>) {
        self.rare().deferred = Some(interrupt);
    }

    /// Whether [`has_rest`](Self::has_rest) and [`take_deferred`](Self::take_deferred) may find something.
    #[inline]
    pub(in crate::actor::cell) fn has_rare(&self) -> bool {
        self.rare.is_some()
    }

    /// Takes the rest of an inline turn.
    #[inline]
    pub(in crate::actor::cell) fn take_deferred(&mut self) -> Option<Interrupt<A::Message>> {
        self.rare.as_mut()?.deferred.take()
    }

    pub(in crate::actor::cell) fn put_front(&mut self, message: A::Message) {
        self.user.push_front(message);
    }

    /// The next timer of the protocol that is due now. It is checked in each turn, because a busy cell never parks.
    pub(in crate::actor::cell) fn next_due(&mut self) -> Option<Timer> {
        let timer = self.timers.as_mut()?.next_due()?;
        self.supervised += 1;
        Some(timer.into())
    }

    /// The next timer of the protocol that is due. If none is, the task is woken when one is.
    pub(super) fn poll_due(&mut self, cx: &mut TaskContext<'_>) -> Poll<Timer> {
        match self.timers.as_mut().map(|timers| timers.poll_due(cx)) {
            Some(Poll::Ready(timer)) => {
                self.supervised += 1;
                Poll::Ready(timer.into())
            }
            Some(Poll::Pending) | None => Poll::Pending,
        }
    }

    /// Ends the turn until something arrives, unless a timer of the protocol is due.
    pub(in crate::actor::cell) fn poll_wait(
        &mut self,
        ctx: &mut Context<A>,
        cx: &mut TaskContext<'_>,
    ) -> Poll<Timer> {
        while let Some(timers) = ctx.timers_mut()
            && let Poll::Ready(generation) = timers.poll_due(cx)
        {
            self.enqueue(Control::Tick(generation));
        }
        if let Poll::Ready(timer) = self.poll_due(cx) {
            return Poll::Ready(timer);
        }
        self.wait();
        Poll::Pending
    }

    /// Ends the turn until something arrives.
    pub(in crate::actor::cell) fn wait(&mut self) {
        self.end_turn();
        #[cfg(feature = "durable")]
        if const { A::DURABLE.is_some() }
            && let Some(outlet) = self.cell.core.outlet()
        {
            outlet.idle();
        }
        self.cell.mailbox.set_handling(false);
        self.cell.mailbox.set_accepts(self.accepts);
        if !self.accepts {
            self.cell.core.wake_waiting();
        }
    }

    /// Ends the turn until the store has done what the actor waits for, unless a timer of the protocol is due.
    #[cfg(feature = "durable")]
    pub(in crate::actor::cell) fn poll_store(&mut self, cx: &mut TaskContext<'_>) -> Poll<Timer> {
        if let Poll::Ready(timer) = self.poll_due(cx) {
            return Poll::Ready(timer);
        }
        self.wait();
        self.cell.mailbox.set_accepts(false);
        Poll::Pending
    }

    /// Whether the next thing to do is to handle a message, if there is one.
    pub(in crate::actor::cell) fn is_ready_for_a_message(&self) -> bool {
        self.accepts && self.call.is_none() && self.aside.is_none() && self.has_nothing_to_do()
    }

    /// Whether everything that was taken is done, and no system message and no timer of the protocol waits.
    pub(in crate::actor::cell) fn has_nothing_to_do(&self) -> bool {
        self.user.is_empty() && self.timers.is_none() && !self.cell.mailbox.system_waits() && self.gathers() == 0
    }

    /// Ends the turn. This actor's next turn comes after those of the actors that are in the queue now.
    pub(in crate::actor::cell) fn give_way(&mut self) {
        self.end_turn();
        let parked = self.cell.mailbox.wake();
        debug_assert!(parked.is_none(), "the runner runs");
    }

    /// Drops a message whose asker has given up. It does not count as activity.
    ///
    /// Rule 19.9.
    #[cold]
    pub(in crate::actor::cell) fn skip(&mut self, message: A::Message) {
        self.handled += 1;
        self.unnoticed += 1;
        if A::BATCHES {
            self.begun();
        }
        let name = contained(|| A::message_name(&message)).unwrap_or("");
        #[cfg(feature = "durable")]
        let message = if const { A::DURABLE.is_some() } { Self::acknowledged(message) } else { message };
        self.cell.core.lose(name, DeadLetterReason::Abandoned, AskError::Unanswered, message);
    }

    /// Acknowledges a stored message that is skipped, so that it does not come again.
    #[cfg(feature = "durable")]
    fn acknowledged(mut message: A::Message) -> A::Message {
        if let Some(ticket) = A::slot(&mut message).and_then(ReplySlot::take_ticket) {
            ticket.handled();
        }
        message
    }

    fn end_turn(&mut self) {
        self.looked = false;
        if self.handled != u32::from(std::mem::take(&mut self.unnoticed)) {
            self.cell.mailbox.touch();
        }
        let handled = std::mem::take(&mut self.handled);
        self.charge(handled);
    }
}
