//! Some of an actor's messages in their order, and the controls that the runtime puts between them.
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

/// How many messages a lane puts into one chunk. An emptied chunk keeps room for this many.
pub(super) const CHUNK: usize = 1024;

/// A queue of messages and controls in one piece of memory.
pub(crate) struct Chunk<M, C> {
    /// Each message is in a `Cell`, because a `Cell` has no niche: code that moves an `Option` of a type with a niche inspects
    /// the value at each move.
    messages: VecDeque<Cell<M>>,
    /// Allocated with the first control.
    between: Option<Box<Between<C>>>,
    marks: Marks,
}

struct Between<C> {
    controls: VecDeque<(u64, C)>,
    /// The number of the first message.
    first: u64,
}

impl<M, C> Chunk<M, C> {
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

    /// With room for all messages that a lane puts into one chunk.
    pub(super) fn with_room() -> Self {
        Self { messages: VecDeque::with_capacity(CHUNK), ..Self::new() }
    }

    /// Whether there is room for another message.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.messages.len() < self.messages.capacity()
    }

    /// Whether there is more room for messages than a lane needs.
    #[inline]
    pub(super) fn has_much_room(&self) -> bool {
        self.messages.capacity() > CHUNK
    }

    #[cold]
    fn between(&mut self) -> &mut Between<C> {
        self.between.get_or_insert_with(|| Box::new(Between { controls: VecDeque::new(), first: 0 }))
    }

    /// Makes room for another message.
    #[cold]
    pub(super) fn grow(&mut self) {
        if self.messages.capacity() == 0 {
            // For most actors, never more than one message waits.
            self.messages.reserve_exact(1);
        } else {
            self.messages.reserve(1);
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

    /// How many marks fit.
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
        if !self.has_room() {
            self.grow();
        }
        self.push_within(message);
    }

    /// Pushes a message. The caller has checked that there [is room](Self::has_room).
    #[inline]
    pub(super) fn push_within(&mut self, message: M) {
        self.messages.push_back(Cell::new(message));
    }

    pub(crate) fn push_control(&mut self, control: C) {
        let number = self.messages.len() as u64;
        let between = self.between();
        between.controls.push_back((between.first + number, control));
    }

    /// Puts a message back that was taken from the lane.
    pub(crate) fn push_front(&mut self, message: M) {
        self.messages.push_front(Cell::new(message));
        if let Some(between) = &mut self.between {
            between.is_behind_another();
        }
    }

    /// Puts a control back that was taken from the lane.
    pub(crate) fn push_control_front(&mut self, control: C) {
        let between = self.between();
        between.controls.push_front((between.first, control));
    }

    /// Puts the controls of a chunk without messages before everything. Only the controls that are here are moved one by one, so
    /// each is moved once at most, however many chunks lose their messages.
    pub(super) fn put_controls_back(&mut self, earlier: Self) {
        let Some(mut between) = earlier.between else { return };
        if let Some(later) = self.between.take() {
            let place = |number: u64| between.first + number.saturating_sub(later.first);
            between.controls.extend(later.controls.into_iter().map(|(number, control)| (place(number), control)));
        }
        self.between = Some(between);
    }

    /// Drops the controls for which `gone` returns `true`.
    pub(super) fn forget_controls(&mut self, gone: impl Fn(&C) -> bool) {
        if let Some(between) = &mut self.between {
            between.controls.retain(|(_, control)| !gone(control));
            between.give_room_back();
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

impl<M, C> fmt::Debug for Chunk<M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunk").field("messages", &self.messages()).finish_non_exhaustive()
    }
}

// Separate functions, so that actors that only have messages do not pay for them.
impl<C> Between<C> {
    #[cold]
    #[inline(never)]
    fn pop(&mut self) -> Option<C> {
        let (number, _) = self.controls.front()?;
        if *number > self.first {
            return None;
        }
        let control = self.controls.pop_front().map(|(_, control)| control);
        self.give_room_back();
        control
    }

    /// A message was put before everything.
    #[cold]
    #[inline(never)]
    fn is_behind_another(&mut self) {
        let Some(first) = self.first.checked_sub(1) else {
            // It was taken before the first control arrived.
            return self.controls.iter_mut().for_each(|(number, _)| *number += 1);
        };
        // Of some controls, the messages before them were displaced.
        let passed = self.controls.iter_mut().take_while(|(number, _)| *number <= first);
        passed.for_each(|(number, _)| *number = first + 1);
        self.first = first;
    }

    /// Gives the memory of a storm of controls back with the last of them.
    fn give_room_back(&mut self) {
        if self.controls.is_empty() && self.controls.capacity() > CHUNK {
            self.controls = VecDeque::new();
        }
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
    fn drained(chunk: &mut Chunk<u32, Control>) -> String {
        let entries = std::iter::from_fn(|| chunk.pop()).map(|entry| match entry {
            Entry::Message(message) => message.to_string(),
            Entry::Control(Control::PoisonPill) => "p".to_owned(),
            Entry::Control(Control::Kill) => "k".to_owned(),
        });
        entries.collect()
    }

    fn chunk() -> Chunk<u32, Control> {
        let mut chunk = Chunk::new();
        for message in 1..=3 {
            chunk.push(message);
        }
        chunk.push_control(Control::PoisonPill);
        chunk.push_control(Control::Kill);
        chunk.push(4);
        chunk.push_control(Control::PoisonPill);
        chunk
    }

    #[test]
    fn controls_keep_their_place() {
        let mut chunk = chunk();
        assert_eq!(chunk.messages(), 4);
        assert_eq!(drained(&mut chunk), "123pk4p");
        assert!(chunk.is_empty());
        chunk.push_control(Control::Kill);
        assert!(!chunk.is_empty());
        chunk.push(5);
        assert_eq!(drained(&mut chunk), "k5");
    }

    #[test]
    fn a_control_that_comes_later_keeps_its_place_too() {
        let mut chunk = chunk();
        assert_eq!(chunk.pop_message(), Some(1));
        chunk.push(5);
        chunk.push_control(Control::Kill);
        assert_eq!(drained(&mut chunk), "23pk4p5k");
    }

    #[test]
    fn what_is_exchanged_keeps_its_places() {
        let (mut chunk, mut other) = (chunk(), Chunk::new());
        chunk.swap(&mut other);
        assert!(chunk.is_empty());
        assert_eq!(drained(&mut other), "123pk4p");
    }

    #[test]
    fn a_message_that_is_put_back_is_first() {
        let mut chunk = chunk();
        for again in 1..=3 {
            assert!(chunk.pop_control().is_none());
            assert_eq!(chunk.pop_message(), Some(again));
            chunk.push_front(again);
            assert!(chunk.pop_control().is_none());
            assert_eq!(chunk.pop_message(), Some(again));
        }
        assert_eq!(drained(&mut chunk), "pk4p");
    }

    #[test]
    fn a_control_that_is_put_back_is_first() {
        let mut chunk = chunk();
        for _ in 1..=3 {
            chunk.pop_message();
        }
        let control = chunk.pop_control().expect("it is first");
        chunk.push_control_front(control);
        chunk.push_control(Control::Kill);
        assert_eq!(drained(&mut chunk), "pk4pk");
        chunk.push_control_front(Control::Kill);
        chunk.push(5);
        assert_eq!(drained(&mut chunk), "k5");
    }

    #[test]
    fn a_message_that_was_taken_before_the_first_control_came_is_put_back_before_it() {
        let mut chunk = Chunk::new();
        chunk.push(1);
        chunk.push(2);
        assert_eq!(chunk.pop_message(), Some(1));
        chunk.push_control(Control::Kill);
        chunk.push_front(1);
        assert_eq!(drained(&mut chunk), "12k");
    }

    /// A control behind displaced messages stands before those that wait, and behind those that were taken earlier.
    #[test]
    fn a_message_that_is_put_back_is_before_controls_whose_messages_were_displaced() {
        let mut chunk = chunk();
        assert_eq!(chunk.pop_message(), Some(1));
        // Displaced.
        for displaced in 2..=4 {
            assert_eq!(chunk.pop_message(), Some(displaced));
        }
        chunk.push(5);
        chunk.push_front(1);
        chunk.push_front(0);
        assert_eq!(drained(&mut chunk), "01pkp5");
    }

    #[test]
    fn the_room_of_a_storm_of_controls_is_given_back() {
        for taken in [true, false] {
            let mut chunk = chunk();
            for _ in 0..50_000 {
                chunk.push_control(Control::PoisonPill);
            }
            if taken {
                while chunk.pop().is_some() {}
            } else {
                chunk.forget_controls(|_| true);
            }
            let room = chunk.between.map_or(0, |between| between.controls.capacity());
            assert!(room <= CHUNK, "{room}");
        }
    }

    #[test]
    fn a_message_may_be_taken_from_behind_a_control() {
        let mut chunk = chunk();
        for displaced in 1..=4 {
            assert_eq!(chunk.pop_message(), Some(displaced));
        }
        assert_eq!(chunk.pop_message(), None);
        chunk.push(5);
        assert_eq!(drained(&mut chunk), "pkp5");
    }
}
