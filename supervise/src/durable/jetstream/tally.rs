//! What has left a queue since its stream was counted, so that its owner notices what somebody else has deleted.

use std::collections::{BTreeMap, BTreeSet};

use super::handled::Waiting;

/// How many messages may have left before their turn, until the stream is counted again.
const LONG: usize = 1024;

/// Numbers of messages. Those that follow each other take as much memory as one, so a message that waits for long does not make this grow with
/// those that leave behind it.
#[derive(Debug, Clone, Default)]
pub(super) struct Numbers {
    /// The first number of each range, and the one after its last number. There are gaps between all ranges.
    ranges: BTreeMap<u64, u64>,
    /// How many numbers there are.
    count: usize,
}

impl Numbers {
    /// Returns whether the number was not there.
    fn insert(&mut self, number: u64) -> bool {
        if self.contains(number) {
            return false;
        }
        let end = self.ranges.remove(&(number + 1)).unwrap_or(number + 1);
        match self.ranges.range_mut(..number).next_back() {
            Some((_, before)) if *before == number => *before = end,
            _ => drop(self.ranges.insert(number, end)),
        }
        self.count += 1;
        true
    }

    /// Removes the numbers up to `first` and those that follow it without a gap, and returns the number after them.
    fn pass(&mut self, mut first: u64) -> u64 {
        while let Some(range) = self.ranges.first_entry().filter(|range| *range.key() <= first) {
            let (start, end) = range.remove_entry();
            self.count = self.count.saturating_sub(usize::try_from(end - start).unwrap_or(usize::MAX));
            first = first.max(end);
        }
        first
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        self.ranges.range(..=number).next_back().is_some_and(|(_, end)| number < *end)
    }

    /// The number after the last one. 0 if there are none.
    pub(super) fn end(&self) -> u64 {
        self.ranges.last_key_value().map_or(0, |(_, end)| *end)
    }
}

pub(super) struct Tally {
    /// All messages before this one have left the queue.
    first: u64,
    /// The messages that have left the queue before their turn.
    gone: Numbers,
    /// The last number when the stream was counted.
    last: u64,
    /// How many messages waited then.
    waited: u64,
    /// How many have left since then.
    left: u64,
    /// When the stream is counted again.
    long: usize,
}

impl Tally {
    /// Counts a stream. `kept` was handled and stays there.
    pub(super) fn of(now: Waiting, kept: Option<u64>) -> Self {
        let mut gone = Numbers::default();
        kept.map(|kept| gone.insert(kept));
        let mut tally = Self { first: 0, gone, last: 0, waited: 0, left: 0, long: LONG };
        tally.count(now);
        tally
    }

    /// Counts the stream again. There may be gaps between its messages, which would keep the tally from ever passing them.
    pub(super) fn count(&mut self, now: Waiting) {
        self.first = self.gone.pass(self.first.max(now.first.0));
        self.last = now.last.0;
        self.waited = now.messages;
        self.left = 0;
        self.long = LONG.max(2 * self.gone.count);
    }

    /// These messages leave.
    pub(super) fn leave(&mut self, numbers: &BTreeSet<u64>) {
        for number in numbers.range(self.first..) {
            self.left += u64::from(self.gone.insert(*number));
        }
        self.first = self.gone.pass(self.first);
    }

    /// Everything that has left the queue: all before a number, and some after it.
    pub(super) fn left(&self) -> (u64, Numbers) {
        (self.first, self.gone.clone())
    }

    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Whether the stream should be counted again.
    pub(super) fn is_long(&self) -> bool {
        self.gone.count >= self.long
    }

    /// How many messages somebody else has deleted. Only the owner takes messages out of a queue.
    pub(super) fn lost(&self, now: Waiting) -> u64 {
        let added = now.last.0.saturating_sub(self.last);
        (self.waited + added).saturating_sub(self.left).saturating_sub(now.messages)
    }

    /// The numbers of messages that are not in the stream and have not left the queue.
    pub(super) fn missing(&self, now: Waiting) -> impl Iterator<Item = u64> {
        (self.first..now.first.0).filter(|number| !self.gone.contains(*number))
    }
}

#[cfg(test)]
mod tests {
    use supervise_core::durable::Seq;

    use super::*;

    fn waiting(first: u64, last: u64, messages: u64) -> Waiting {
        Waiting { first: Seq(first), last: Seq(last), messages }
    }

    fn leave(tally: &mut Tally, numbers: impl IntoIterator<Item = u64>) {
        tally.leave(&numbers.into_iter().collect());
    }

    #[test]
    fn what_somebody_else_has_deleted_is_counted_once() {
        let mut tally = Tally::of(waiting(5, 9, 5), None);
        leave(&mut tally, [5, 7]);
        leave(&mut tally, [5, 7]);
        assert_eq!((tally.first(), tally.lost(waiting(6, 9, 3))), (6, 0));
        assert_eq!(tally.lost(waiting(8, 10, 2)), 2, "6, and one of the others");
        assert_eq!(tally.missing(waiting(8, 10, 2)).collect::<Vec<_>>(), [6]);
    }

    #[test]
    fn a_message_that_stays_after_it_was_handled_is_not_lost() {
        let mut tally = Tally::of(waiting(5, 6, 1), Some(6));
        assert_eq!(tally.lost(waiting(5, 6, 1)), 0);
        leave(&mut tally, [5]);
        assert_eq!((tally.first(), tally.lost(waiting(7, 6, 0))), (7, 0));
        assert_eq!(tally.lost(waiting(7, 7, 1)), 0, "another one has come");
    }

    #[test]
    fn a_message_that_waits_does_not_make_the_tally_grow_with_those_behind_it() {
        let mut tally = Tally::of(waiting(1, 50_000, 50_000), None);
        // Most of them leave in their order, and some earlier.
        for number in (2..=50_000).step_by(2) {
            leave(&mut tally, [number + 1, number]);
        }
        assert_eq!((tally.first(), tally.gone.count, tally.gone.ranges.len()), (1, 50_000, 1));
        assert_eq!(tally.lost(waiting(1, 50_001, 1)), 0);
        leave(&mut tally, [1]);
        assert_eq!((tally.first(), tally.gone.count, tally.gone.ranges.len()), (50_002, 0, 0));
    }

    #[test]
    fn ranges_have_the_numbers_that_were_put_in() {
        let mut numbers = Numbers::default();
        let mut expected = BTreeSet::new();
        let mut next = 1_u64;
        for _ in 0..2000 {
            next = next.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = (next >> 33) % 300;
            assert_eq!(numbers.insert(number), expected.insert(number));
            assert_eq!((numbers.count, numbers.end().checked_sub(1)), (expected.len(), expected.last().copied()));
            assert!((0..300).all(|number| numbers.contains(number) == expected.contains(&number)));
            if expected.len() > 100 {
                let mut first = number;
                expected = expected.split_off(&first);
                while expected.remove(&first) {
                    first += 1;
                }
                assert_eq!((numbers.pass(number), numbers.count), (first, expected.len()));
            }
        }
    }

    #[test]
    fn a_gap_does_not_make_the_tally_grow_for_ever() {
        // An earlier owner has handled 6 and died.
        let mut tally = Tally::of(waiting(5, 7, 2), None);
        let (mut longest, mut counted) = (0, 0);
        for number in (5..10_000).filter(|number| *number != 6) {
            leave(&mut tally, [number]);
            longest = longest.max(tally.gone.count);
            if tally.is_long() {
                let now = waiting(number + 1, number + 3, 3);
                assert_eq!(tally.lost(now), 0);
                tally.count(now);
                counted += 1;
            }
        }
        assert_eq!((longest, counted, tally.first()), (LONG, 1, 10_000));
    }
}
