//! Which messages are timed, and since when they wait. Feature `timing`.
//!
//! 1. A message is chosen before anything is known about it: the first one after a [look](Sampler::arm) always, and one at random
//!    of each `n` after it, so that each of these is chosen with the probability `1 / n`, whatever the pattern of messages. The weight of a
//!    chosen message is the inverse of its probability. So the sum of the weights of some kind of messages is, on average, how many of
//!    that kind there are.
//! 2. A message that is not chosen costs a subtraction and a comparison on each side. The clock is read for chosen ones only.
//! 3. A mark stands beside its message, not in it, so messages keep their size.

#[cfg(feature = "timing")]
pub(crate) use self::kept::Mark;
pub(crate) use self::kept::{Marks, Sampler};

#[cfg(feature = "timing")]
mod kept {
    use std::collections::VecDeque;

    use tokio::time::Instant;

    /// A message that is timed.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Mark {
        /// How many messages are before it.
        at: usize,
        pub(crate) since: Instant,
        pub(crate) weight: u32,
    }

    /// The largest `one_in`: twice as many messages can be counted.
    const FEWEST: u32 = 1 << 31;

    /// For so many marks room is kept.
    const KEPT_ROOM: usize = 64;

    /// Chooses the messages of one mailbox: at random, one of each `one_in`.
    #[derive(Debug)]
    pub(crate) struct Sampler {
        /// The message is chosen that makes this 0.
        pub(super) left: u32,
        /// How many messages come after it before the next ones to choose from.
        rest: u32,
        /// The weight of that message. 0: nothing is timed.
        weight: u32,
        one_in: u32,
    }

    impl Sampler {
        pub(crate) const OFF: Self = Self { left: 0, rest: 0, weight: 0, one_in: 0 };

        /// Chooses one of each `one_in` messages from now on, and none if it is 0. `first`: and the first one. A larger number than 2^31
        /// counts as 2^31.
        pub(crate) fn arm(&mut self, one_in: u32, first: bool) {
            let one_in = one_in.min(FEWEST);
            *self = Self::OFF;
            if one_in > 0 {
                *self = Self { one_in, ..Self::OFF };
                if first {
                    (self.left, self.weight) = (1, 1);
                } else {
                    self.draw();
                }
            }
        }

        fn draw(&mut self) {
            let before = fastrand::u32(..self.one_in);
            self.left = self.rest + before + 1;
            self.rest = self.one_in - before - 1;
            self.weight = self.one_in;
        }

        /// Counts a message. Returns whether it may be chosen.
        #[inline]
        pub(crate) fn chooses(&mut self) -> bool {
            self.left = self.left.wrapping_sub(1);
            self.left == 0
        }

        /// The weight of the message that may be chosen.
        pub(crate) fn weight(&mut self) -> Option<u32> {
            let weight = self.weight;
            if weight > 0 {
                self.draw();
            }
            (weight > 0).then_some(weight)
        }
    }

    /// The marks of a lane.
    #[derive(Debug)]
    pub(crate) struct Marks {
        /// The message is marked before which this many messages are left, itself included. 0: none is.
        next: usize,
        /// Allocated with the first mark.
        #[expect(clippy::box_collection, reason = "every lane has this, and few have a mark")]
        waiting: Option<Box<VecDeque<Mark>>>,
    }

    impl Marks {
        pub(crate) const NONE: Self = Self { next: 0, waiting: None };

        /// Marks the message that comes after `before` others.
        pub(crate) fn push(&mut self, before: usize, weight: u32) {
            let mark = Mark { at: before, since: Instant::now(), weight };
            self.waiting.get_or_insert_default().push_back(mark);
        }

        /// Gives the marks to the lane that gets all messages: this many.
        #[inline]
        pub(crate) fn pass_to(&mut self, other: &mut Self, messages: usize) {
            if self.waiting.is_some() {
                self.pass(other, messages);
            }
        }

        #[cold]
        fn pass(&mut self, other: &mut Self, messages: usize) {
            std::mem::swap(self, other);
            // What is left of earlier marks belongs to messages that are gone.
            if let Some(marks) = &mut self.waiting {
                marks.clear();
            }
            self.next = 0;
            for mark in other.waiting.iter_mut().flat_map(|marks| marks.iter_mut()) {
                mark.at = messages - mark.at;
            }
            other.find_next();
        }

        fn find_next(&mut self) {
            self.next = self.waiting.as_ref().and_then(|marks| marks.front()).map_or(0, |mark| mark.at);
        }

        /// Whether the first of this many messages is marked. Only in the lane that has been [passed](Self::pass_to) the marks.
        #[inline]
        pub(crate) fn is_next(&self, messages: usize) -> bool {
            self.next == messages
        }

        /// For how many marks there is room.
        #[cfg(all(test, not(supervise_loom)))]
        pub(crate) fn room(&self) -> usize {
            self.waiting.as_ref().map_or(0, |marks| marks.capacity())
        }

        /// Takes the mark that is next. Gives the memory of many marks back with the last of them.
        pub(crate) fn take(&mut self) -> Option<Mark> {
            let marks = self.waiting.as_mut()?;
            let mark = marks.pop_front();
            if marks.is_empty() && marks.capacity() > KEPT_ROOM {
                self.waiting = None;
            }
            self.find_next();
            mark
        }
    }
}

#[cfg(not(feature = "timing"))]
#[expect(clippy::unused_self, reason = "a lane calls these as if the feature were on")]
mod kept {
    #[derive(Debug)]
    pub(crate) struct Sampler;

    impl Sampler {
        pub(crate) const OFF: Self = Self;

        #[inline]
        pub(crate) fn chooses(&mut self) -> bool {
            false
        }

        pub(crate) fn weight(&mut self) -> Option<u32> {
            None
        }
    }

    #[derive(Debug)]
    pub(crate) struct Marks;

    impl Marks {
        pub(crate) const NONE: Self = Self;

        pub(crate) fn push(&mut self, _: usize, _: u32) {}

        #[inline]
        pub(crate) fn pass_to(&mut self, _: &mut Self, _: usize) {}
    }
}

#[cfg(all(test, feature = "timing", not(supervise_loom)))]
mod tests {
    use super::super::{Chunk, Mailbox, MailboxKind, Overflow};
    use super::*;

    type Plain = Mailbox<u32, (), (), ()>;

    /// Each message has the weight 1 on average, wherever it stands and whenever a look comes.
    #[test]
    fn the_weights_of_the_chosen_messages_are_on_average_the_number_of_all() {
        const ONE_IN: u32 = 8;
        const ROUNDS: u32 = 40_000;
        let mut weights = [0_u32; 30];
        for _ in 0..ROUNDS {
            let mut sampler = Sampler::OFF;
            sampler.arm(ONE_IN, false);
            for (at, sum) in weights.iter_mut().enumerate() {
                // A look before the sixth message, in the midst of the messages to choose from, and before the eighteenth.
                if at == 5 || at == 17 {
                    sampler.arm(ONE_IN, true);
                }
                if sampler.chooses() {
                    *sum += sampler.weight().expect("it is armed");
                }
            }
        }
        assert_eq!((weights[5], weights[17]), (ROUNDS, ROUNDS), "the first after a look is always chosen");
        for (at, sum) in weights.iter().enumerate() {
            // The standard deviation of the mean is the root of 7 / 40 000: 0.013.
            let mean = f64::from(*sum) / f64::from(ROUNDS);
            assert!((mean - 1.0).abs() < 0.07, "message {at}: {mean}");
        }
    }

    #[test]
    fn one_of_each_64_is_chosen_and_of_each_1_all() {
        for one_in in [1, 64] {
            let mut sampler = Sampler::OFF;
            sampler.arm(one_in, false);
            let chosen = (0..640).filter(|_| sampler.chooses() && sampler.weight() == Some(one_in)).count();
            assert_eq!(u32::try_from(chosen), Ok(640 / one_in));
        }
    }

    #[test]
    fn nothing_is_chosen_while_it_is_off_not_even_when_the_count_wraps() {
        let mut sampler = Sampler::OFF;
        sampler.left = 1;
        assert!(sampler.chooses());
        assert_eq!(sampler.weight(), None);
        assert!(!sampler.chooses());
    }

    /// A wish for fewer than can be counted is a wish for few.
    #[test]
    fn no_count_overflows_however_few_messages_are_chosen() {
        let mut sampler = Sampler::OFF;
        sampler.arm(u32::MAX, false);
        for _ in 0..64 {
            // All messages before the one that is chosen have come.
            sampler.left = 1;
            assert!(sampler.chooses());
            assert_eq!(sampler.weight(), Some(1 << 31));
        }
    }

    #[test]
    fn the_room_of_a_storm_of_marks_is_given_back() {
        let (mailbox, mut batch) = (Plain::new(MailboxKind::Unbounded), Chunk::new());
        mailbox.time(1, false);
        for storm in [5000, 5000, 1] {
            push(&mailbox, 0..storm);
            assert_eq!(marked(&mailbox, &mut batch).len(), storm as usize);
            assert!(batch.room_of_marks() <= 64, "{} after {storm}", batch.room_of_marks());
        }
    }

    fn push(mailbox: &Plain, messages: std::ops::Range<u32>) {
        for message in messages {
            let _runner = mailbox.enter().push(message);
        }
    }

    /// Takes all messages. Returns those that are marked.
    fn marked(mailbox: &Plain, batch: &mut Chunk<u32, ()>) -> Vec<u32> {
        let mut marked = Vec::new();
        loop {
            let was_last = mailbox.take_user(batch);
            while batch.messages() > 0 {
                let mark = if batch.is_marked() { batch.take_mark() } else { None };
                let message = mailbox.begin_next(batch);
                marked.extend(mark.map(|_| message));
            }
            if was_last {
                return marked;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_mark_stays_with_its_message() {
        let (mailbox, mut batch) = (Plain::new(MailboxKind::Unbounded), Chunk::new());
        mailbox.time(1, false);
        push(&mailbox, 0..5);
        mailbox.time(0, false);
        push(&mailbox, 5..9);
        mailbox.time(4, true);
        push(&mailbox, 9..10);
        mailbox.time(0, false);
        assert_eq!(marked(&mailbox, &mut batch), [0, 1, 2, 3, 4, 9]);
        // What is left of a batch that is gone marks nothing.
        mailbox.time(1, false);
        push(&mailbox, 30..33);
        mailbox.take_user(&mut batch);
        while batch.pop_message().is_some() {}
        mailbox.time(0, false);
        push(&mailbox, 33..36);
        assert_eq!(marked(&mailbox, &mut batch), Vec::<u32>::new());
    }

    #[test]
    fn a_mailbox_that_displaces_messages_is_not_timed() {
        let mailbox = Plain::new(MailboxKind::Bounded { capacity: 2, overflow: Overflow::DropOldest });
        mailbox.time(1, true);
        push(&mailbox, 0..9);
        assert_eq!(marked(&mailbox, &mut Chunk::new()), Vec::<u32>::new());
        assert_eq!(mailbox.times_another(), None);
    }
}
