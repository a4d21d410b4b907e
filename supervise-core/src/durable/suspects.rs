//! Which suspect is tried: a message with which the process has died. One at a time in the whole store, so that its neighbours
//! are not blamed again for what it does. Pure.
//!
//! Rule 27.9.

use std::collections::VecDeque;
use std::time::Duration;

use super::store::Seq;

/// For how long one suspect keeps the others waiting.
pub const ALONE: Duration = Duration::from_secs(30);

/// The suspects of a store. `Q` names a queue, and times are those of one clock.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Suspects<Q> {
    /// What is tried, and until when the others wait for it.
    tried: Option<(Q, Seq, Duration)>,
    /// The queues that wait with a suspect, in their order.
    waiting: VecDeque<Q>,
}

impl<Q> Default for Suspects<Q> {
    fn default() -> Self {
        Self { tried: None, waiting: VecDeque::new() }
    }
}

impl<Q: Copy + PartialEq> Suspects<Q> {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether this queue may try a suspect now.
    pub fn is_free(&self, queue: Q) -> bool {
        self.tried.is_none() && self.waiting.front().is_none_or(|first| *first == queue)
    }

    /// A suspect was pushed.
    pub fn tries(&mut self, queue: Q, seq: Seq, now: Duration) {
        self.waiting.retain(|waiting| *waiting != queue);
        self.tried = Some((queue, seq, now + ALONE));
    }

    /// A queue waits with a suspect.
    pub fn waits(&mut self, queue: Q) {
        if !self.waiting.contains(&queue) {
            self.waiting.push_back(queue);
        }
    }

    /// A message has ended, has failed, or was given back. Returns the queue that may go on.
    pub fn over(&mut self, queue: Q, seq: Seq) -> Option<Q> {
        self.tried.take_if(|(tried, its, _)| *tried == queue && *its == seq)?;
        self.waiting.front().copied()
    }

    /// A queue that waited has no suspect any more. Returns the queue that may go on.
    pub fn waits_no_more(&mut self, queue: Q) -> Option<Q> {
        let was_first = self.waiting.front() == Some(&queue);
        self.waiting.retain(|waiting| *waiting != queue);
        if was_first && self.tried.is_none() { self.waiting.front().copied() } else { None }
    }

    /// The owner of a queue has left. Returns the queue that may go on.
    pub fn forget(&mut self, queue: Q) -> Option<Q> {
        self.waiting.retain(|waiting| *waiting != queue);
        self.tried.take_if(|(tried, ..)| *tried == queue);
        if self.tried.is_none() { self.waiting.front().copied() } else { None }
    }

    /// When the next suspect may be tried at the latest, if one waits.
    pub fn until(&self) -> Option<Duration> {
        let (_, _, until) = self.tried.as_ref()?;
        (!self.waiting.is_empty()).then_some(*until)
    }

    /// Time has passed. Returns the queue that may go on.
    pub fn due(&mut self, now: Duration) -> Option<Q> {
        self.tried.take_if(|(_, _, until)| *until <= now)?;
        self.waiting.front().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suspects_are_tried_one_after_the_other() {
        let mut suspects = Suspects::new();
        assert!(suspects.is_free('a'));
        suspects.tries('a', Seq(1), Duration::ZERO);
        suspects.waits('b');
        suspects.waits('c');
        assert!(!suspects.is_free('b'));
        assert_eq!(suspects.over('a', Seq(2)), None, "another message of the same queue");
        assert_eq!(suspects.over('a', Seq(1)), Some('b'));
        assert!(suspects.is_free('b') && !suspects.is_free('c'));
        suspects.tries('b', Seq(7), Duration::from_secs(5));
        assert_eq!(suspects.due(Duration::from_secs(34)), None);
        assert_eq!(
            suspects.due(Duration::from_secs(35)),
            Some('c'),
            "after 30 s it has no more right to be alone"
        );
        assert_eq!(suspects.forget('c'), None);
        assert!(suspects.is_free('d'));
    }
}
