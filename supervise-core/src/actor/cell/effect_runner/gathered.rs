//! The messages of a handler with `batch`, which are handled together.
//!
//! ```text
//!   messages ──admit──► gathered ──► the size is reached, the time is over, nothing waits, something else comes ──► handled
//!                          └────── restart, end ──► back among those that wait
//! ```
//!
//! Only actors with [`Actor::BATCHES`] come here.
//!
//! Rules 23.1 and 23.3.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use tokio::time::{Instant, Sleep};

use super::EffectRunner;
use crate::actor::batching::Batching;
#[cfg(feature = "durable")]
use crate::actor::cell::run::may_begin;
use crate::actor::control::Control;
use crate::actor::definition::Actor;
#[cfg(feature = "durable")]
use crate::base::drop_contained;
use crate::base::later;

/// The messages that wait to be handled as one batch. Allocated with the first of them, and kept until the actor ends.
pub(in crate::actor::cell) struct Gathered<M> {
    messages: Vec<M>,
    /// How many messages the stash held when each of them was gathered, so that they go back in the order of arrival. Only if the
    /// actor has a stash.
    stashed: Vec<usize>,
    /// The settings of the handler whose messages are gathered. Unused while no message is gathered.
    how: Batching,
    /// When the batch must be handled, if the handler has a `linger` and there are messages.
    until: Option<Instant>,
    sleep: Option<Pin<Box<Sleep>>>,
    /// How many messages the mailbox can hold.
    room: usize,
}

impl<A: Actor> EffectRunner<A> {
    fn gathered(&self) -> Option<&Gathered<A::Message>> {
        let gathered = self.aside.as_ref()?.gathered.as_deref()?;
        (!gathered.messages.is_empty()).then_some(gathered)
    }

    /// The message that was gathered first.
    #[cfg(feature = "spans")]
    pub(super) fn first_gathered(&self) -> Option<&A::Message> {
        self.gathered()?.messages.first()
    }

    /// How many messages are gathered.
    #[inline]
    pub(in crate::actor::cell) fn gathers(&self) -> usize {
        if A::BATCHES { self.gathered().map_or(0, |gathered| gathered.messages.len()) } else { 0 }
    }

    /// Whether what is gathered must be handled before a message with this `Batching`.
    pub(in crate::actor::cell) fn comes_after_batch(&self, how: Option<Batching>) -> bool {
        self.gathered().is_some_and(|gathered| how != Some(gathered.how))
    }

    /// Puts back a message that comes after the batch. It will be taken again.
    pub(in crate::actor::cell) fn put_after_batch(&mut self, message: A::Message) {
        self.aside().unstashed.push_front(message);
    }

    /// Puts back a control that comes after the batch. It will be taken again.
    pub(in crate::actor::cell) fn put_control_after_batch(&mut self, control: Control) {
        self.user.push_control_front(control);
    }

    /// Gathers a message. Returns whether the batch is full. It also counts as full if the mailbox has no
    /// room for more.
    pub(in crate::actor::cell) fn gather(&mut self, message: A::Message, how: Batching) -> bool {
        self.times_no_more();
        let stashed = self.aside().stash.len();
        let room = match self.aside().gathered {
            Some(_) => None,
            None => Some(self.cell.mailbox.capacity()),
        };
        let gathered = self.aside().gathered.get_or_insert_with(|| {
            Box::new(Gathered {
                messages: Vec::new(),
                stashed: Vec::new(),
                how,
                until: None,
                sleep: None,
                room: room.flatten().unwrap_or(usize::MAX),
            })
        });
        if gathered.messages.is_empty() {
            gathered.how = how;
            gathered.until = how.linger.map(|linger| later(Instant::now(), linger));
        }
        gathered.messages.push(message);
        if A::STASH_CAPACITY > 0 {
            gathered.stashed.push(stashed);
        }
        let count = gathered.messages.len();
        let is_full = count >= how.size.get().min(gathered.room);
        // Stored messages arrive only while the window has room, and messages that are set aside take up room in
        // it too.
        #[cfg(feature = "durable")]
        let is_full = is_full || A::DURABLE.is_some_and(|mailbox| count + stashed >= mailbox.window);
        self.handled += 1;
        self.begun();
        is_full
    }

    /// Notes that the message that was taken last no longer waits, unless it was gathered.
    pub(in crate::actor::cell) fn begun(&self) {
        self.cell.mailbox.set_in_hand(self.user.messages() + self.gathers());
    }

    /// Whether a batch must be handled although it is not full: because its `linger` is over or, without `linger`, because
    /// `nothing_waits`.
    pub(in crate::actor::cell) fn batch_is_due(&self, nothing_waits: bool) -> bool {
        self.gathered().is_some_and(|gathered| match gathered.until {
            Some(until) => until <= Instant::now(),
            None => nothing_waits,
        })
    }

    /// Waits until the batch must be handled.
    pub(in crate::actor::cell) fn poll_batch(&mut self, cx: &mut TaskContext<'_>) -> Poll<()> {
        if !self.accepts || self.gathers() == 0 {
            return Poll::Pending;
        }
        let Some(gathered) = self.aside().gathered.as_deref_mut() else { return Poll::Pending };
        let Some(until) = gathered.until else { return Poll::Pending };
        let sleep = gathered.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        if sleep.deadline() != until {
            sleep.as_mut().reset(until);
        }
        sleep.as_mut().poll(cx)
    }

    /// Drops the gathered messages whose queue may belong to another process now. Returns whether any are left.
    #[cfg(feature = "durable")]
    pub(in crate::actor::cell) fn may_begin_batch(&mut self) -> bool {
        let Some(gathered) = self.aside.as_mut().and_then(|aside| aside.gathered.as_deref_mut()) else {
            return false;
        };
        gathered.messages.extract_if(.., |message| !may_begin::<A>(message)).for_each(drop_contained);
        let is_left = !gathered.messages.is_empty();
        if !is_left {
            gathered.until = None;
            gathered.stashed.clear();
            self.begun();
        }
        is_left
    }

    /// Takes the gathered messages, to handle them now.
    pub(in crate::actor::cell) fn take_batch(&mut self) -> (u16, Vec<A::Message>) {
        let Some(gathered) = self.aside.as_mut().and_then(|aside| aside.gathered.as_deref_mut()) else {
            unreachable!("the batch has messages")
        };
        gathered.until = None;
        gathered.stashed.clear();
        let (handler, batch) = (gathered.how.handler, std::mem::take(&mut gathered.messages));
        self.begun();
        (handler, batch)
    }

    /// Puts the gathered messages back before all others, for the next instance. A message that was stashed after one of them waits
    /// behind it.
    pub(in crate::actor::cell) fn ungather(&mut self) {
        let Some(aside) = &mut self.aside else { return };
        let Some(gathered) = &mut aside.gathered else { return };
        gathered.until = None;
        while let Some(message) = gathered.messages.pop() {
            let earlier = gathered.stashed.pop().unwrap_or(0);
            while aside.stash.len() > earlier
                && let Some(later) = aside.stash.pop_back()
            {
                aside.unstashed.push_front(later);
            }
            aside.unstashed.push_front(message);
        }
    }
}
