//! The system messages of one actor, in their order.
//!
//! For most actors, never more than one system message waits, and for many the first one is the stop request. So one
//! message needs no allocation.

use std::collections::VecDeque;
use std::mem::replace;

/// How many messages are worth a look at all of them.
const CROWDED: usize = 64;

/// A queue that holds one message without an allocation.
#[derive(Debug)]
pub(crate) enum SystemLane<S> {
    Empty,
    One(S),
    /// Used once two messages have waited at the same time.
    Many(VecDeque<S>),
}

impl<S> SystemLane<S> {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::One(_) => false,
            Self::Many(queue) => queue.is_empty(),
        }
    }

    #[inline]
    pub(super) fn push(&mut self, message: S) {
        if let Self::Many(queue) = self {
            return queue.push_back(message);
        }
        *self = match replace(self, Self::Empty) {
            Self::One(first) => Self::Many(VecDeque::from([first, message])),
            Self::Empty | Self::Many(_) => Self::One(message),
        };
    }

    /// The last message, and the one before it.
    pub(super) fn last_two(&self) -> Option<(&S, Option<&S>)> {
        match self {
            Self::Empty => None,
            Self::One(last) => Some((last, None)),
            Self::Many(queue) => Some((queue.back()?, queue.iter().nth_back(1))),
        }
    }

    /// The queue, if it is about to grow and has more than a few messages.
    pub(super) fn crowded(&mut self) -> Option<&mut VecDeque<S>> {
        match self {
            Self::Many(queue) if queue.len() >= CROWDED && queue.len() + queue.len() / 8 >= queue.capacity() => {
                Some(queue)
            }
            Self::Empty | Self::One(_) | Self::Many(_) => None,
        }
    }

    /// Takes the last message.
    pub(super) fn pop_last(&mut self) -> Option<S> {
        match self {
            Self::Many(queue) => queue.pop_back(),
            Self::Empty | Self::One(_) => self.pop(),
        }
    }

    /// Takes the first message.
    pub(crate) fn pop(&mut self) -> Option<S> {
        if let Self::Many(queue) = self {
            return queue.pop_front();
        }
        match replace(self, Self::Empty) {
            Self::One(message) => Some(message),
            Self::Empty | Self::Many(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_first_is_taken_first_however_many_wait() {
        let mut lane = SystemLane::Empty;
        let (mut pushed, mut popped) = (0, 0);
        // Up to four wait, and at times no message waits.
        for (coming, going) in [(1, 1), (2, 1), (3, 4), (1, 1), (4, 2), (0, 3)] {
            for _ in 0..coming {
                lane.push(pushed);
                pushed += 1;
                assert!(!lane.is_empty());
            }
            for _ in 0..going {
                let expected = (popped < pushed).then_some(popped);
                assert_eq!(lane.pop(), expected);
                popped += usize::from(expected.is_some());
            }
            assert_eq!(lane.is_empty(), popped == pushed);
        }
    }
}
