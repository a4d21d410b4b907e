//! The messages of one actor, and the controls that the runtime puts between them.
//!
//! ```text
//!   messages      m7   m8   m9   m10              the number of a message counts those before it
//!   between          ▲         ▲▲
//!                    8         10 10             a control has the number of the message after it
//! ```
//!
//! Messages and controls are stored separately, so that a message is moved as a whole: an enum of both would have to be
//! taken apart and rebuilt on the way in and on the way out. Most actors only have messages.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;

#[cfg(feature = "timing")]
use super::sample::Mark;
use super::sample::Marks;

/// A message or a control.
#[derive(Debug)]
pub(crate) enum Entry<M, C> {
    Message(M),
    Control(C),
}

/// Room for so many messages is kept.
const KEPT_ROOM: usize = 1024;

/// A queue of messages and controls.
pub(crate) struct Lane<M, C> {
    /// Each in a `Cell`, which has no niche. The code that moves an `Option` of a type with a niche inspects the value
    /// at each move.
    messages: VecDeque<Cell<M>>,
    /// Allocated with the first control.
    between: Option<Box<Between<C>>>,
    marks: Marks,
}

#[derive(Debug)]
struct Between<C> {
    controls: VecDeque<(u64, C)>,
    /// The number of the first message.
    first: u64,
}

impl<M, C> Lane<M, C> {
    pub(crate) fn new() -> Self {
        Self { messages: VecDeque::new(), between: None, marks: Marks::NONE }
    }

    /// How many messages there are.
    pub(crate) fn messages(&self) -> usize {
        self.messages.len()
    }

    /// How many controls there are.
    #[cfg(all(test, not(supervise_loom)))]
    pub(super) fn controls(&self) -> usize {
        self.between.as_ref().map_or(0, |between| between.controls.len())
    }

    /// Whether the lane has more room for messages than it keeps while it is empty.
    #[inline]
    pub(super) fn has_much_room(&self) -> bool {
        self.messages.capacity() > KEPT_ROOM
    }

    /// Gives the memory of a storm of messages back if it is over: this lane is empty, and `newest` messages have come since it was
    /// drained. Drops no message.
    #[cold]
    #[inline(never)]
    pub(super) fn give_room_back(&mut self, newest: usize) {
        if newest <= KEPT_ROOM && self.messages.is_empty() {
            self.messages = VecDeque::new();
        }
    }

    /// Swaps the contents with those of `other`, which gets the marks too.
    #[inline]
    pub(crate) fn swap(&mut self, other: &mut Self) {
        std::mem::swap(&mut self.messages, &mut other.messages);
        if self.between.is_some() || other.between.is_some() {
            std::mem::swap(&mut self.between, &mut other.between);
        }
        self.marks.pass_to(&mut other.marks, other.messages.len());
    }

    /// Marks the message that was pushed last.
    pub(super) fn mark_last(&mut self, weight: u32) {
        self.marks.push(self.messages.len() - 1, weight);
    }

    /// For how many marks there is room.
    #[cfg(all(test, feature = "timing", not(supervise_loom)))]
    pub(super) fn room_of_marks(&self) -> usize {
        self.marks.room()
    }

    /// Whether the first message is timed.
    #[cfg(feature = "timing")]
    #[inline]
    pub(crate) fn is_marked(&self) -> bool {
        self.marks.is_next(self.messages.len())
    }

    /// The mark of the first message, which [is timed](Self::is_marked).
    #[cfg(feature = "timing")]
    pub(crate) fn take_mark(&mut self) -> Option<Mark> {
        self.marks.take()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.between.as_ref().is_none_or(|between| between.controls.is_empty())
    }

    #[inline]
    pub(crate) fn push(&mut self, message: M) {
        if self.messages.len() == self.messages.capacity() {
            grow(&mut self.messages);
        }
        self.messages.push_back(Cell::new(message));
    }

    pub(crate) fn push_control(&mut self, control: C) {
        let between =
            self.between.get_or_insert_with(|| Box::new(Between { controls: VecDeque::new(), first: 0 }));
        between.controls.push_back((between.first + self.messages.len() as u64, control));
    }

    /// Puts a message back that was taken from the lane.
    pub(crate) fn push_front(&mut self, message: M) {
        self.messages.push_front(Cell::new(message));
        if let Some(between) = &mut self.between {
            match between.first.checked_sub(1) {
                Some(first) => between.first = first,
                // It was taken before the first control arrived.
                None => between.controls.iter_mut().for_each(|(number, _)| *number += 1),
            }
        }
    }

    /// Puts a control back that was taken from the lane.
    pub(crate) fn push_control_front(&mut self, control: C) {
        let between =
            self.between.get_or_insert_with(|| Box::new(Between { controls: VecDeque::new(), first: 0 }));
        between.controls.push_front((between.first, control));
    }

    /// Drops the controls for which `gone` says so.
    pub(super) fn forget_controls(&mut self, gone: impl Fn(&C) -> bool) {
        if let Some(between) = &mut self.between {
            between.controls.retain(|(_, control)| !gone(control));
        }
    }

    /// Takes the first entry, if it is a control.
    #[inline]
    pub(crate) fn pop_control(&mut self) -> Option<C> {
        self.between.as_mut()?.pop()
    }

    /// Takes the first message, even if controls are before it.
    pub(crate) fn pop_message(&mut self) -> Option<M> {
        if self.messages.is_empty() { None } else { Some(self.take_first()) }
    }

    /// Takes the first message, even if controls are before it.
    ///
    /// # Panics
    ///
    /// If there is no message.
    #[inline]
    pub(crate) fn take_first(&mut self) -> M {
        if let Some(between) = &mut self.between {
            between.first += 1;
        }
        match self.messages.pop_front() {
            Some(message) => message.into_inner(),
            None => panic!("the caller has checked that a message waits"),
        }
    }

    /// Takes the first entry.
    pub(crate) fn pop(&mut self) -> Option<Entry<M, C>> {
        match self.pop_control() {
            Some(control) => Some(Entry::Control(control)),
            None => self.pop_message().map(Entry::Message),
        }
    }
}

impl<M, C: fmt::Debug> fmt::Debug for Lane<M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane")
            .field("messages", &self.messages())
            .field("between", &self.between)
            .finish_non_exhaustive()
    }
}

impl<C> Between<C> {
    fn pop(&mut self) -> Option<C> {
        let (number, _) = self.controls.front()?;
        if *number > self.first {
            return None;
        }
        self.controls.pop_front().map(|(_, control)| control)
    }
}

#[cold]
fn grow<M>(messages: &mut VecDeque<M>) {
    if messages.capacity() == 0 {
        // For most actors, never more than one message waits.
        messages.reserve_exact(1);
    } else {
        messages.reserve(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    enum Control {
        PoisonPill,
        Kill,
    }

    /// Uses letters for controls, which must come out in the place where they went in.
    fn drained(lane: &mut Lane<u32, Control>) -> String {
        let entries = std::iter::from_fn(|| lane.pop()).map(|entry| match entry {
            Entry::Message(message) => message.to_string(),
            Entry::Control(Control::PoisonPill) => "p".to_owned(),
            Entry::Control(Control::Kill) => "k".to_owned(),
        });
        entries.collect()
    }

    fn lane() -> Lane<u32, Control> {
        let mut lane = Lane::new();
        for message in 1..=3 {
            lane.push(message);
        }
        lane.push_control(Control::PoisonPill);
        lane.push_control(Control::Kill);
        lane.push(4);
        lane.push_control(Control::PoisonPill);
        lane
    }

    #[test]
    fn controls_keep_their_place() {
        let mut lane = lane();
        assert_eq!(lane.messages(), 4);
        assert_eq!(drained(&mut lane), "123pk4p");
        assert!(lane.is_empty());
        lane.push_control(Control::Kill);
        assert!(!lane.is_empty());
        lane.push(5);
        assert_eq!(drained(&mut lane), "k5");
    }

    #[test]
    fn a_control_that_comes_later_keeps_its_place_too() {
        let mut lane = lane();
        assert_eq!(lane.pop_message(), Some(1));
        lane.push(5);
        lane.push_control(Control::Kill);
        assert_eq!(drained(&mut lane), "23pk4p5k");
    }

    #[test]
    fn what_is_exchanged_keeps_its_places() {
        let (mut lane, mut other) = (lane(), Lane::new());
        lane.swap(&mut other);
        assert!(lane.is_empty());
        assert_eq!(drained(&mut other), "123pk4p");
    }

    #[test]
    fn a_message_that_is_put_back_is_first() {
        let mut lane = lane();
        for again in 1..=3 {
            assert!(lane.pop_control().is_none());
            assert_eq!(lane.pop_message(), Some(again));
            lane.push_front(again);
            assert!(lane.pop_control().is_none());
            assert_eq!(lane.pop_message(), Some(again));
        }
        assert_eq!(drained(&mut lane), "pk4p");
    }

    #[test]
    fn a_control_that_is_put_back_is_first() {
        let mut lane = lane();
        for _ in 1..=3 {
            lane.pop_message();
        }
        let control = lane.pop_control().expect("it is first");
        lane.push_control_front(control);
        lane.push_control(Control::Kill);
        assert_eq!(drained(&mut lane), "pk4pk");
        lane.push_control_front(Control::Kill);
        lane.push(5);
        assert_eq!(drained(&mut lane), "k5");
    }

    #[test]
    fn a_message_that_was_taken_before_the_first_control_came_is_put_back_before_it() {
        let mut lane = Lane::new();
        lane.push(1);
        lane.push(2);
        assert_eq!(lane.pop_message(), Some(1));
        lane.push_control(Control::Kill);
        lane.push_front(1);
        assert_eq!(drained(&mut lane), "12k");
    }

    #[test]
    fn only_an_empty_lane_gives_its_room_away_and_only_much() {
        let mut lane: Lane<u32, Control> = Lane::new();
        (0..1024).for_each(|message| lane.push(message));
        while lane.pop_message().is_some() {}
        assert!(!lane.has_much_room());
        (0..5000).for_each(|message| lane.push(message));
        lane.give_room_back(1);
        assert_eq!(std::iter::from_fn(|| lane.pop_message()).count(), 5000);
        lane.give_room_back(5000);
        assert!(lane.has_much_room(), "the storm goes on");
        lane.give_room_back(1);
        assert!(!lane.has_much_room());
        lane.push(1);
        assert_eq!(lane.pop_message(), Some(1));
    }

    #[test]
    fn a_message_may_be_taken_from_behind_a_control() {
        let mut lane = lane();
        for displaced in 1..=4 {
            assert_eq!(lane.pop_message(), Some(displaced));
        }
        assert_eq!(lane.pop_message(), None);
        lane.push(5);
        assert_eq!(drained(&mut lane), "pkp5");
    }
}
