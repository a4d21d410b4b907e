//! Handling one message after the other: what may interrupt this, and what follows the return of a handler.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::{Next, Runner, UserCode, UserCodeResult};
use crate::actor::actor_ref::AnyActorRef;
use crate::actor::actor_timers::{Fired, Generation};
use crate::actor::cell::Visit;
use crate::actor::cell::effect_runner::EffectRunner;
use crate::actor::cell::run::THROUGHPUT;
use crate::actor::cell::user_code::Broken;
use crate::actor::context::Context;
use crate::actor::control::Control;
use crate::actor::death_watch::Terminated;
use crate::actor::definition::Actor;
use crate::actor::envelope::ReplySlot;
use crate::actor::reply::{self, ErasedSlot, drop_because};
use crate::actor::request::AskError;
use crate::actor::work::WorkId;
use crate::base::{Payload, contained};
use crate::failure::{During, Failure};
use crate::observe::DeadLetterReason;
use crate::supervision::{Input, Returned, WatchKind};

/// The actor tried to stash a message, but the stash was full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stash is full: it holds {capacity} messages")]
pub struct StashOverflow {
    /// How many messages the stash holds.
    pub capacity: usize,
}

/// Why the cell stops draining its messages.
pub(in crate::actor::cell) enum Interrupt<M> {
    /// No message is left.
    Nothing,
    Control(Control),
    /// The handler of the message at the front may wait.
    MayWait,
    /// The actor stashes this message.
    Unwanted(M),
    /// The messages that are gathered are to be handled.
    Batch,
    /// A handler returned, and its result needs more work.
    Back(UserCodeResult),
    Else,
}

impl<A: Actor> Runner<A> {
    /// Rule 6.5.
    #[cold]
    fn control(&mut self, control: Control) -> Next {
        match control {
            Control::Terminated(subject) => self.ended(subject),
            Control::Tick(generation) => self.tick(generation),
            Control::Outcome(work) => self.outcome(work),
            // A requested stop, at its place among the messages.
            Control::PoisonPill => {
                self.ctx.me_any().stop();
                Next::Again
            }
            Control::StopSelf => {
                self.ctx.stop_self();
                Next::Again
            }
            Control::Passivate => {
                let core = &self.effects.cell.core;
                if let Some(seat) = core.seat() {
                    seat.passivating(core.uid);
                }
                core.stops_itself();
                self.ctx.me_any().stop();
                Next::Again
            }
            Control::Kill => self.failed(Failure::killed()),
            // Taken out before.
            #[cfg(feature = "spans")]
            Control::Origin(_) => Next::Again,
            Control::Visit(visit) => self.visited(visit),
        }
    }

    /// Rules 17.2 and 17.3.
    fn outcome(&mut self, work: WorkId) -> Next {
        match self.ctx.take_outcome(work) {
            None => Next::Again,
            Some(Ok(message)) => self.admit(message),
            Some(Err(failure)) => self.failed(failure.left(Some(During::Work))),
        }
    }

    /// Handles one message after the other, until something interrupts this.
    ///
    /// The state that [`next_action`](Self::next_action) has checked changes only through the system lane and through
    /// handlers, which this function checks. So the other checks are not repeated for each message. All messages come
    /// from one place, because with two places the compiler would copy each message piece by piece.
    #[inline]
    pub(super) fn drain_messages(&mut self) -> Next {
        let (instance, ctx, effects) = self.parts();
        effects.cell.mailbox.set_handling(true);
        let interrupt = contained(|| {
            while effects.handled < THROUGHPUT && !effects.cell.mailbox.system_waits() {
                if let Some(control) = effects.take_control() {
                    if A::BATCHES && effects.gathers() > 0 {
                        effects.put_control_after_batch(control);
                        return Interrupt::Batch;
                    }
                    return Interrupt::Control(control);
                }
                if !effects.has_message() {
                    if A::BATCHES && effects.batch_is_due(true) {
                        return Interrupt::Batch;
                    }
                    return Interrupt::Nothing;
                }
                let message = effects.take_message();
                if let ControlFlow::Break(interrupt) = admit(instance, ctx, effects, message) {
                    return interrupt;
                }
            }
            Interrupt::Else
        });
        self.interrupted(interrupt)
    }

    /// Stashes a message that did not come through the lane, or handles it.
    pub(super) fn admit(&mut self, message: A::Message) -> Next {
        self.effects.times_another();
        let (instance, ctx, effects) = self.parts();
        effects.cell.mailbox.set_handling(true);
        let interrupt = contained(|| match admit(instance, ctx, effects, message) {
            ControlFlow::Break(interrupt) => interrupt,
            ControlFlow::Continue(()) => Interrupt::Else,
        });
        self.interrupted(interrupt)
    }

    /// Handles a message without checking the stash condition again, unless its handler may wait.
    pub(super) fn handle(&mut self, message: A::Message) -> Next {
        let (instance, ctx, effects) = self.parts();
        let interrupt = contained(|| match handle(instance, ctx, effects, message) {
            ControlFlow::Break(interrupt) => interrupt,
            ControlFlow::Continue(()) => Interrupt::Else,
        });
        self.interrupted(interrupt)
    }

    #[inline]
    pub(super) fn interrupted(&mut self, what: Result<Interrupt<A::Message>, Payload>) -> Next {
        match what {
            Ok(Interrupt::Else) => Next::Again,
            Ok(Interrupt::Nothing) => Next::Wait,
            Ok(Interrupt::MayWait) => Next::Call(UserCode::Message),
            Ok(Interrupt::Batch) if A::BATCHES => Next::Call(self.begin_batch()),
            Ok(Interrupt::Batch) => unreachable!("this actor gathers no messages"),
            Ok(Interrupt::Control(control)) => self.control(control),
            Ok(Interrupt::Unwanted(message)) => self.set_aside(message),
            Ok(Interrupt::Back(outcome)) => {
                self.handled(outcome);
                Next::Again
            }
            Err(payload) => {
                self.handled(Err(Broken::Panicked(payload)));
                Next::Again
            }
        }
    }

    /// The messages that are gathered are handled now.
    pub(super) fn begin_batch(&mut self) -> UserCode {
        self.effects.cell.mailbox.set_handling(true);
        #[cfg(feature = "spans")]
        self.effects.begin_span_of_batch();
        self.effects.times_another();
        UserCode::Batch
    }

    #[cold]
    fn set_aside(&mut self, message: A::Message) -> Next {
        let next = match self.effects.stash(message) {
            Ok(()) => Next::Again,
            Err(message) => {
                let failure = Failure::new(StashOverflow { capacity: A::STASH_CAPACITY });
                #[cfg(feature = "durable")]
                let message = self.confine(message, &failure);
                #[cfg(not(feature = "durable"))]
                let message = Some(message);
                if let Some(message) = message {
                    let why = AskError::Failed(failure.clone());
                    let name = A::message_name(&message);
                    self.effects.cell.core.lose(name, DeadLetterReason::StashFull, why, message);
                }
                self.failed(failure)
            }
        };
        self.rearm_idle();
        next
    }

    /// Restarts the receive timeout, if the handled message counts as activity.
    fn rearm_idle(&mut self) {
        if let Some(timers) = self.ctx.timers_mut() {
            timers.rearm_idle_if_over();
        }
    }

    fn visited(&mut self, visit: Visit) -> Next {
        let (instance, ctx, _) = self.parts();
        let outcome = contained(|| visit.run(instance, ctx));
        self.handled(outcome.map_err(Broken::Panicked));
        Next::Again
    }

    fn ended(&mut self, subject: AnyActorRef) -> Next {
        let news = self.effects.cell.core.protocol().dequeued(&subject);
        match news {
            None => Next::Again,
            Some((WatchKind::DeathPact, _)) => self.failed(Failure::death_pact(subject.path())),
            Some((WatchKind::Notify, how)) => {
                self.effects.put_gone(Terminated::new(subject, how));
                Next::Call(UserCode::Terminated)
            }
            Some((WatchKind::Message, _)) => match self.ctx.take_watch_message(&subject) {
                None => Next::Again,
                Some(message) => self.admit(message),
            },
        }
    }

    fn tick(&mut self, generation: Generation) -> Next {
        let Some(timers) = self.ctx.timers_mut() else { return Next::Again };
        match contained(|| timers.take(generation)) {
            Ok(None) => Next::Again,
            Ok(Some(Fired { message, by_idleness })) => {
                if by_idleness {
                    timers.idle_is_over();
                }
                self.admit(message)
            }
            Err(payload) => {
                // The receive timeout continues in case the actor is resumed.
                timers.rearm_idle();
                self.failed(Failure::panic(payload))
            }
        }
    }

    /// A failed message comes before those that wait. If the actor would stash it now, the others go first, and the
    /// condition is checked again before each of them.
    pub(super) fn retry(&mut self) -> Option<Next> {
        if !A::REDELIVERS {
            return None;
        }
        let aside = self.effects.aside.as_mut()?;
        // If the actor was resumed instead of restarted, its message is lost, as every failing message is.
        aside.retries.forget();
        let message = aside.retries.due()?;
        let instance = self.instance.as_ref()?;
        // A condition that panics will panic again in `admit`, where the panic is a failure.
        if matches!(contained(|| instance.stash_while(message)), Ok(true)) {
            return None;
        }
        Some(match aside.retries.begin_next(A::duplicate)? {
            Ok((message, None)) => self.handle(message),
            Ok((mut message, Some(asker))) => {
                match contained(|| A::reattach(&mut message, ReplySlot::of(asker))) {
                    Ok(()) if A::is_skipped(&message) => {
                        aside.retries.forget();
                        self.effects.skip(message);
                        Next::Again
                    }
                    Ok(()) => self.handle(message),
                    Err(payload) => self.failed(Failure::panic(payload)),
                }
            }
            Err(payload) => self.failed(Failure::panic(payload)),
        })
    }

    /// A handler returned.
    // Not in debug builds, where each copy costs time to compile.
    #[cfg_attr(
        not(debug_assertions),
        expect(
            clippy::inline_always,
            reason = "every handler that may wait goes this way; a call costs a tenth of it"
        ),
        inline(always)
    )]
    pub(super) fn handled(&mut self, outcome: UserCodeResult) {
        #[cfg(feature = "spans")]
        self.effects.end_span(&outcome);
        self.effects.ends_timing();
        if matches!(outcome, Ok(Ok(())))
            && !self.effects.parked
            && self.effects.aside.is_none()
            && !self.ctx.has_news()
            && !A::KEEPS_REPLIES
        {
            return;
        }
        self.finish_message(outcome);
    }

    /// Called when a handler has returned. The asker is told of a failure before the parent is. The stashed
    /// messages are checked again.
    fn finish_message(&mut self, outcome: UserCodeResult) {
        self.rearm_idle();
        self.effects.unstash_all();
        let asker = self.ctx.take_held();
        match outcome {
            Ok(Ok(())) => {
                if let Some(asker) = asker {
                    asker.fail(AskError::Unanswered);
                }
                if A::KEEPS_REPLIES {
                    drop(self.ctx.take_lent());
                }
                self.settle_replies(|_| AskError::Unanswered);
                if A::REDELIVERS
                    && let Some(aside) = &mut self.effects.aside
                {
                    aside.retries.forget();
                }
                #[cfg(feature = "durable")]
                if let Some(deliveries) = self.effects.deliveries_so_far() {
                    deliveries.handled();
                }
                if self.effects.parked {
                    self.step(Input::Returned(Returned::Ok));
                }
            }
            Err(Broken::Aborted) => {
                let why = self.effects.cell.core.why_aborted();
                if let Some(asker) = self.impatient(asker) {
                    asker.fail(why.clone());
                }
                self.settle_replies(|_| why);
                self.message_failed(None);
                self.step(Input::Returned(Returned::Aborted));
            }
            Ok(Err(failure)) => self.failed_for(asker, failure),
            Err(Broken::Panicked(payload)) => self.failed_for(asker, Failure::panic(payload)),
        }
    }

    #[cold]
    fn failed_for(&mut self, asker: Option<Arc<dyn ErasedSlot>>, failure: Failure) {
        let failure = self.left_handler(failure);
        if let Some(asker) = self.impatient(asker) {
            asker.fail(AskError::Failed(failure.clone()));
        }
        self.settle_replies(|_| AskError::Failed(failure.clone()));
        self.message_failed(Some(&failure));
        self.step(Input::Returned(Returned::Err(failure)));
    }

    /// The message in progress has failed. Keeps an asker who waits for the next delivery, and returns any other asker, who
    /// must be told of the failure.
    ///
    /// Rule 19.5.
    #[inline]
    fn impatient(&mut self, asker: Option<Arc<dyn ErasedSlot>>) -> Option<Arc<dyn ErasedSlot>> {
        if !A::KEEPS_REPLIES && self.effects.aside.is_none() {
            return asker;
        }
        self.keep_patient(asker)
    }

    #[cold]
    fn keep_patient(&mut self, asker: Option<Arc<dyn ErasedSlot>>) -> Option<Arc<dyn ErasedSlot>> {
        let lent = if A::KEEPS_REPLIES { self.ctx.take_lent() } else { None };
        #[cfg(feature = "durable")]
        if let Some(deliveries) = self.effects.deliveries_so_far()
            && deliveries.may_retry()
        {
            match (asker, lent) {
                (Some(asker), _) if asker.waits_for_retry(false) => deliveries.keep(asker),
                (None, Some(lent)) if lent.waits_for_retry(true) => deliveries.keep(lent),
                (asker, _) => return asker,
            }
            return None;
        }
        if !A::REDELIVERS {
            return asker;
        }
        let Some(aside) = self.effects.aside.as_mut().filter(|aside| aside.retries.may_retry()) else {
            return asker;
        };
        match (asker, lent) {
            (Some(asker), _) if asker.waits_for_retry(false) => aside.retries.keep(asker),
            (None, Some(lent)) if lent.waits_for_retry(true) => aside.retries.keep(lent),
            (asker, _) => return asker,
        }
        None
    }

    /// Tells the askers of the slots that the code has dropped why it did.
    pub(super) fn settle_replies(&self, why: impl FnOnce(&EffectRunner<A>) -> AskError) {
        if A::KEEPS_REPLIES {
            reply::settle(|| why(&self.effects));
        }
    }

    fn message_failed(&mut self, failure: Option<&Failure>) {
        if A::REDELIVERS
            && let Some(aside) = &mut self.effects.aside
        {
            aside.retries.failed(failure);
        }
        #[cfg(feature = "durable")]
        if let Some(deliveries) = self.effects.deliveries_so_far() {
            deliveries.failed(failure);
        }
    }

    fn failed(&mut self, failure: Failure) -> Next {
        self.step(Input::Returned(Returned::Err(failure)));
        Next::Again
    }
}

/// Handles a message, unless the actor stashes it.
// Not in debug builds, where each copy costs time to compile.
#[cfg_attr(
    not(debug_assertions),
    expect(clippy::inline_always, reason = "every message goes this way; a call costs a tenth of it"),
    inline(always)
)]
pub(super) fn admit<A: Actor>(
    instance: &mut A,
    ctx: &mut Context<A>,
    effects: &mut EffectRunner<A>,
    #[cfg(not(feature = "durable"))] message: A::Message,
    #[cfg(feature = "durable")] mut message: A::Message,
) -> ControlFlow<Interrupt<A::Message>> {
    if A::is_skipped(&message) {
        #[cfg(feature = "spans")]
        effects.forget_origin();
        effects.times_no_more();
        effects.skip(message);
        return ControlFlow::Continue(());
    }
    #[cfg(feature = "durable")]
    if const { A::DURABLE.is_some() } && !super::may_begin::<A>(&mut message) {
        #[cfg(feature = "spans")]
        effects.forget_origin();
        effects.times_no_more();
        crate::base::drop_contained(message);
        return ControlFlow::Continue(());
    }
    let batching = if A::BATCHES { A::batching(&message) } else { None };
    #[cfg(feature = "durable")]
    let is_alone = const { A::BATCHES && A::DURABLE.is_some() } && super::is_tried_alone::<A>(&mut message);
    #[cfg(not(feature = "durable"))]
    let is_alone = false;
    if A::BATCHES && (effects.comes_after_batch(batching) || is_alone && effects.gathers() > 0) {
        #[cfg(feature = "spans")]
        effects.origin_comes_after_batch();
        effects.times_no_more();
        effects.put_after_batch(message);
        return ControlFlow::Break(Interrupt::Batch);
    }
    if !A::is_activity(&message) {
        effects.unnoticed += 1;
    } else if let Some(timers) = ctx.timers_mut() {
        timers.idle_is_over();
    }
    match contained(|| instance.stash_while(&message)) {
        Ok(false) => {}
        Ok(true) => {
            if A::BATCHES {
                effects.begun();
            }
            #[cfg(feature = "spans")]
            effects.forget_origin();
            effects.times_no_more();
            return ControlFlow::Break(Interrupt::Unwanted(message));
        }
        Err(payload) => {
            // The gathered messages came before this one, so this one fails after them.
            #[cfg(feature = "durable")]
            if const { A::BATCHES && A::DURABLE.is_some() } && effects.gathers() > 0 && A::is_stored(&message) {
                #[cfg(feature = "spans")]
                effects.origin_comes_after_batch();
                effects.times_no_more();
                effects.put_after_batch(message);
                return ControlFlow::Break(Interrupt::Batch);
            }
            #[cfg(feature = "spans")]
            effects.forget_origin();
            effects.times_no_more();
            // The failure is charged to the message, as a failure of its handler would be.
            #[cfg(feature = "durable")]
            if const { A::DURABLE.is_some() } {
                super::begin(ctx, effects, &mut message);
            }
            let failure = Failure::panic(payload).left(Some(During::StashWhile));
            drop_because(AskError::Failed(failure.clone()), message);
            return ControlFlow::Break(Interrupt::Back(Ok(Err(failure))));
        }
    }
    if A::BATCHES
        && let Some(how) = batching
    {
        #[cfg(feature = "spans")]
        effects.gather_origin();
        return if effects.gather(message, how) || is_alone {
            ControlFlow::Break(Interrupt::Batch)
        } else {
            ControlFlow::Continue(())
        };
    }
    if A::BATCHES {
        effects.begun();
    }
    let may_retry = if A::REDELIVERS { A::redelivery(&message) } else { 0 };
    // If the copy cannot be made, the message is not delivered again.
    #[cfg(feature = "durable")]
    let may_retry = if const { A::DURABLE.is_some() } && A::is_stored(&message) { 0 } else { may_retry };
    if A::REDELIVERS
        && may_retry > 0
        && let Ok(Some(copy)) = contained(|| A::duplicate(&message))
    {
        effects.aside().retries.begin(copy, may_retry);
    }
    handle(instance, ctx, effects, message)
}

/// Handles a message, unless its handler may wait.
// Not in debug builds, where each copy costs time to compile.
#[cfg_attr(
    not(debug_assertions),
    expect(clippy::inline_always, reason = "every message goes this way; a call costs a tenth of it"),
    inline(always)
)]
fn handle<A: Actor>(
    instance: &mut A,
    ctx: &mut Context<A>,
    effects: &mut EffectRunner<A>,
    #[cfg(not(feature = "durable"))] message: A::Message,
    #[cfg(feature = "durable")] mut message: A::Message,
) -> ControlFlow<Interrupt<A::Message>> {
    effects.handled += 1;
    #[cfg(feature = "durable")]
    if const { A::DURABLE.is_some() } {
        super::begin(ctx, effects, &mut message);
    }
    if A::KEEPS_REPLIES {
        reply::begin();
    }
    #[cfg(feature = "spans")]
    effects.begin_span(&message);
    #[cfg(feature = "spans")]
    let inside = effects.enter_span();
    let handled = instance.handle_now(message, ctx);
    #[cfg(feature = "spans")]
    drop(inside);
    match handled {
        ControlFlow::Break(Ok(())) if !ctx.has_news() && effects.aside.is_none() && !A::KEEPS_REPLIES => {
            #[cfg(feature = "spans")]
            effects.end_span(&Ok(Ok(())));
            effects.ends_timing();
            ControlFlow::Continue(())
        }
        ControlFlow::Break(outcome) => ControlFlow::Break(Interrupt::Back(Ok(outcome))),
        ControlFlow::Continue(message) => {
            effects.put_front(message);
            ControlFlow::Break(Interrupt::MayWait)
        }
    }
}
