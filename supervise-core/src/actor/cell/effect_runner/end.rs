//! The end of an actor: closing its lanes, and what becomes of the messages that wait there.

use std::collections::VecDeque;

use super::EffectRunner;
use crate::actor::actor_ref::AnyActorRef;
use crate::actor::cell::run::Interrupt;
use crate::actor::cell::{CellProtocol, Core, broke, gone_with_its_runtime};
use crate::actor::control::Control;
use crate::actor::definition::Actor;
use crate::actor::end_reason::EndReason;
use crate::actor::reply;
use crate::actor::request::AskError;
use crate::base::drop_contained;
use crate::mailbox::{Entry, Lane};
use crate::observe::{DeadLetterReason, GivenUp};

impl<A: Actor> EffectRunner<A> {
    /// Closes the user lane. The remaining messages become dead letters, in order. If this child has a key, they may be
    /// left to its successor, unless this is `for_good`. Returns `false` if some of them are left to the next turn.
    ///
    /// Rules 6.3, 18.3.
    pub(super) fn close_user_lane(&mut self, for_good: bool) -> bool {
        let Some(mut user) = self.take_closed_user_lane().or_else(|| self.shut_user_lane(for_good)) else {
            self.leave_to_successor();
            return true;
        };
        while let Some(entry) = self.user.pop().or_else(|| user.pop()) {
            self.reaches_nobody(entry);
            if !for_good && self.count_one() {
                self.leave_closed_user_lane(user);
                return false;
            }
        }
        #[cfg(feature = "durable")]
        if const { A::DURABLE.is_some() }
            && !for_good
            && let Some(outlet) = self.cell.core.outlet()
        {
            outlet.release();
        }
        self.timers = None;
        true
    }

    /// Closes the user lane and returns what waits there. Puts what comes before it into `self.user`. Returns `None` if
    /// the lane stays open for a successor.
    fn shut_user_lane(&mut self, for_good: bool) -> Option<Lane<A::Message, Control>> {
        if A::BATCHES {
            self.ungather();
        }
        self.unstash_all();
        // Present only if the runtime goes away between an inline turn and the turn on a carrier.
        if let Some(Interrupt::Unwanted(message)) = self.take_deferred() {
            self.user.push_front(message);
        }
        let user = match self.cell.core.seat() {
            Some(seat) if !for_good => self.cell.leave(seat)?,
            _ => self.cell.mailbox.close_user_lane(),
        };
        if let Some(mut aside) = self.aside.take() {
            if A::REDELIVERS {
                for retry in aside.retries.close() {
                    self.quarantine(retry, GivenUp::Stopped);
                }
            }
            #[cfg(feature = "durable")]
            aside.deliveries.iter_mut().for_each(|deliveries| deliveries.close());
            for message in aside.unstashed.into_iter().rev() {
                self.user.push_front(message);
            }
        }
        Some(user)
    }

    /// Puts the messages that were taken from the lane back, in order. A message that waited for redelivery
    /// is not delivered again.
    #[cold]
    fn leave_to_successor(&mut self) {
        let mut messages = VecDeque::new();
        if let Some(mut aside) = self.aside.take() {
            if A::REDELIVERS {
                for retry in aside.retries.close() {
                    self.quarantine(retry, GivenUp::Stopped);
                }
            }
            messages = aside.unstashed;
        }
        while let Some(entry) = self.user.pop() {
            match entry {
                Entry::Message(message) => messages.push_back(message),
                control @ Entry::Control(_) => self.reaches_nobody(control),
            }
        }
        // The lane was closed in the meantime, because the runtime is going away.
        for message in self.cell.mailbox.put_back(messages).err().into_iter().flatten() {
            self.reaches_nobody(Entry::Message(message));
        }
        self.timers = None;
    }

    /// Closes the system lane, after the parent and all watchers have been told of the end. Actors whose request to
    /// watch came too late are told now. Returns `false` if some of them are left to the next turn.
    pub(super) fn close_system_lane(&mut self, at_once: bool) -> bool {
        let mut system = match self.take_closed_system_lane() {
            Some(system) => system,
            None => self.cell.mailbox.close_system_lane(),
        };
        while let Some(message) = system.pop() {
            self.me().answer_for_the_dead(message);
            if !at_once && self.count_one() {
                self.leave_closed_system_lane(system);
                return false;
            }
        }
        self.ended = true;
        true
    }

    #[cold]
    fn reaches_nobody(&self, entry: Entry<A::Message, Control>) {
        match entry {
            #[cfg(feature = "durable")]
            Entry::Message(message) if const { A::DURABLE.is_some() } && A::is_stored(&message) => {
                // Its ticket takes it back to its queue.
                reply::drop_because(self.cell.core.end_reason().into_ask_error(), message);
            }
            Entry::Message(message) => {
                let name = A::message_name(&message);
                let why = self.cell.core.end_reason().into_ask_error();
                self.cell.core.lose(name, DeadLetterReason::Stopped, why, message);
            }
            Entry::Control(control) => self.cell.core.control_reaches_nobody(control),
        }
    }
}

// What follows depends on no actor type, so that it is compiled once.

impl Core {
    #[cold]
    fn control_reaches_nobody(&self, control: Control) {
        match control {
            Control::Kill => self.dead_letter("Kill", DeadLetterReason::Stopped),
            #[cfg(feature = "spans")]
            Control::Origin(_) => {}
            // The visit's caller gets this error.
            Control::Visit(visit) => {
                reply::drop_because(AskError::Stopped, visit);
            }
            Control::Terminated(_)
            | Control::PoisonPill
            | Control::StopSelf
            | Control::Passivate
            | Control::Tick(_)
            | Control::Outcome(_) => {}
        }
    }

    /// The runtime goes away under a cell that has not ended, or the cell's own code panicked. Returns whether the
    /// runtime goes away.
    fn dropped(&self) -> bool {
        let runtime_gone = self.system.dispatcher().has_gone();
        if !self.protocol().has_ended() {
            self.ends_because(if runtime_gone { EndReason::RuntimeGone } else { EndReason::Unknown });
        }
        runtime_gone
    }
}

/// Parents and children hold each other until the children have ended. Tells the watchers, and returns what the protocol knew.
fn abandon(me: &AnyActorRef, untold: &[AnyActorRef], runtime_gone: bool) -> CellProtocol {
    let forgotten = me.core().protocol().abandon();
    let watchers = forgotten.watchers().chain(untold);
    // Not `thread::panicking()`: a panic that has nothing to do with this cell may drop the runtime.
    if runtime_gone {
        gone_with_its_runtime(me, watchers);
    } else {
        broke(me, &forgotten, watchers);
    }
    forgotten
}

/// The runtime goes away under a cell that has not ended, or the cell's own code panicked. Hooks do not run, but no
/// asker or watcher waits for ever (rule 6.6).
impl<A: Actor> Drop for EffectRunner<A> {
    fn drop(&mut self) {
        if !self.ended {
            let runtime_gone = self.cell.core.dropped();
            self.close_user_lane(true);
            let untold = self.untold_watchers();
            let forgotten = abandon(&self.me(), &untold, runtime_gone);
            self.close_system_lane(true);
            drop_contained(forgotten);
        }
    }
}
