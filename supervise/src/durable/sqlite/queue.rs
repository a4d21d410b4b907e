//! Which messages of a queue are in the store.

use std::collections::BTreeSet;

use supervise_core::durable::QueueId;

use super::rows::{HIGHEST_SEQ, Sum, encode_numbers};

/// The numbers of a queue: all from `first` up to `next` are in the table `message`, except those in `gone`. So a message that
/// is missing is noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Queue {
    pub(super) id: QueueId,
    pub(super) name: String,
    pub(super) first: u64,
    pub(super) next: u64,
    /// What has left the queue before its turn: as many as an actor handles out of order, or puts into quarantine.
    pub(super) gone: BTreeSet<u64>,
    /// The message under way when the last process died, until somebody has been charged.
    pub(super) begun: Option<u64>,
    /// Messages up to this one may have been begun by a process that died.
    pub(super) may_have_begun: u64,
    /// Whether an actor of this process owns it. Not stored.
    pub(super) is_claimed: bool,
}

impl Queue {
    pub(super) fn new(id: QueueId, name: String) -> Self {
        Self {
            id,
            name,
            first: 1,
            next: 1,
            gone: BTreeSet::new(),
            begun: None,
            may_have_begun: 0,
            is_claimed: false,
        }
    }

    pub(super) fn holds(&self, seq: u64) -> bool {
        (self.first..self.next).contains(&seq) && !self.gone.contains(&seq)
    }

    pub(super) fn waiting(&self) -> u64 {
        self.next - self.first - self.gone.len() as u64
    }

    /// Whether the queue has given out its last number.
    pub(super) fn is_used_up(&self) -> bool {
        self.next > HIGHEST_SEQ
    }

    /// Takes the next number.
    pub(super) fn append(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Forgets a message. Returns whether it was there.
    pub(super) fn remove(&mut self, seq: u64) -> bool {
        if !self.holds(seq) {
            return false;
        }
        self.gone.insert(seq);
        self.skip_gone();
        self.charged(seq);
        true
    }

    /// Forgets all messages up to `seq`.
    pub(super) fn remove_to(&mut self, seq: u64) {
        self.first = self.first.max((seq + 1).min(self.next));
        self.gone = self.gone.split_off(&self.first);
        self.skip_gone();
        self.begun = self.begun.filter(|&begun| self.holds(begun));
    }

    fn skip_gone(&mut self) {
        while self.gone.first() == Some(&self.first) {
            self.gone.pop_first();
            self.first += 1;
        }
    }

    /// The message has an answer for the death of the process.
    pub(super) fn charged(&mut self, seq: u64) {
        self.begun = self.begun.filter(|&begun| begun != seq);
    }

    /// Leaves out all numbers before `next`, whose messages are missing.
    pub(super) fn skip_to(&mut self, next: u64) {
        self.gone.extend(self.next..next);
        self.next = self.next.max(next);
        self.skip_gone();
    }

    pub(super) fn sum(&self) -> i64 {
        self.sum_with(&encode_numbers(&self.gone))
    }

    /// The checksum with `gone` as it is stored.
    pub(super) fn sum_with(&self, gone: &[u8]) -> i64 {
        Sum::default()
            .number(self.id.0.into())
            .bytes(self.name.as_bytes())
            .number(self.first.cast_signed())
            .number(self.next.cast_signed())
            .bytes(gone)
            .number(self.begun.map_or(-1, u64::cast_signed))
            .number(self.may_have_begun.cast_signed())
            .end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(next: u64) -> Queue {
        Queue { next, ..Queue::new(QueueId(1), "a".to_owned()) }
    }

    #[test]
    fn numbers_that_leave_before_their_turn_are_kept_until_it_comes() {
        let mut queue = queue(6);
        assert!(queue.remove(3) && queue.remove(2) && !queue.remove(3) && !queue.remove(6) && !queue.remove(0));
        assert_eq!((queue.first, queue.gone.len(), queue.waiting()), (1, 2, 3));
        assert!(queue.remove(1));
        assert_eq!((queue.first, queue.gone.len(), queue.waiting()), (4, 0, 2));
    }

    #[test]
    fn a_prefix_is_removed_with_what_had_left_it() {
        let mut queue = Queue { begun: Some(2), ..queue(8) };
        assert!(queue.remove(3) && queue.remove(5));
        queue.remove_to(4);
        assert_eq!((queue.first, queue.gone.len(), queue.waiting(), queue.begun), (6, 0, 2, None));
        queue.remove_to(2);
        assert_eq!(queue.first, 6, "it does not go back");
        queue.remove_to(100);
        assert_eq!((queue.first, queue.waiting()), (8, 0));
    }
}
