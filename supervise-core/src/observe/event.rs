//! What happens in a system, for whoever listens. Costs one load when nobody does.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::OnceLock;
use std::task::Poll;

use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, watch};

use super::dead_letter::DeadLetter;
use crate::base::{ActorPath, Hold};
use crate::failure::Failure;
use crate::supervision::{Count, Directive, Hook, HowEnded, Limit, Outcome};

/// Something that happened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// An actor is ready for its first message.
    Started {
        /// Which.
        actor: ActorPath,
    },
    /// A supervisor decided about a failed child: once for each failure (rule 10.2).
    Decided {
        /// Who decided.
        supervisor: ActorPath,
        /// Who failed.
        child: ActorPath,
        /// Why.
        failure: Failure,
        /// What the table said.
        directive: Directive,
        /// What came of it: a restart may be refused by the limit.
        outcome: Outcome,
    },
    /// A restart was refused because the limit is reached. Comes right before the decision, which says what follows (rule 10.2).
    LimitReached {
        /// Whose limit.
        supervisor: ActorPath,
        /// Who failed once too often.
        child: ActorPath,
        /// Why. Its [`origin`](Failure::origin) is who failed first, where an actor above failed because of it.
        failure: Failure,
        /// How many restarts were granted.
        limit: Limit,
        /// Whose restarts were counted.
        count: Count,
    },
    /// A decider failed, so its supervisor fails.
    DeciderFailed {
        /// Who tried to decide.
        supervisor: ActorPath,
        /// About whom.
        child: ActorPath,
        /// The decider's failure.
        failure: Failure,
        /// The child's failure, which it was to decide about.
        about: Failure,
    },
    /// A supervisor is not well itself and decides about a child later.
    ReportDeferred {
        /// Who decides later.
        supervisor: ActorPath,
        /// About whom.
        child: ActorPath,
    },
    /// A failure nobody decides: its actor is gone, or its supervisor is ending.
    ReportDropped {
        /// Who received the report.
        supervisor: ActorPath,
        /// The failure.
        failure: Failure,
    },
    /// An actor has a new instance.
    Restarted {
        /// Which.
        actor: ActorPath,
        /// Why.
        failure: Failure,
    },
    /// A failed actor goes on with its instance.
    Resumed {
        /// Which.
        actor: ActorPath,
    },
    /// A hook failed, and things went on.
    HookFailed {
        /// Whose.
        actor: ActorPath,
        /// Which hook.
        hook: Hook,
        /// Why.
        failure: Failure,
    },
    /// A handler or hook outlived the stop timeout and was dropped at its await point.
    Aborted {
        /// Whose.
        actor: ActorPath,
    },
    /// An actor ended.
    Stopped {
        /// Which.
        actor: ActorPath,
        /// How.
        how: HowEnded,
    },
    /// A message reached nobody.
    DeadLetter(DeadLetter),
    /// The subscriber was too slow and missed this many events.
    Missed(u64),
}

/// How a system ended; `None` while it runs.
pub(crate) type End = Option<Result<(), Failure>>;

/// The events of one system.
#[derive(Debug)]
pub struct EventStream {
    capacity: usize,
    /// Appears with the first subscriber, because it has room for all events that one may be behind. Until then no actor takes
    /// the lock under which subscribers are counted.
    sender: OnceLock<broadcast::Sender<Event>>,
    end: watch::Sender<End>,
}

impl EventStream {
    /// The stream of a system that tells `end` how it ended.
    pub(crate) fn new(capacity: usize, end: watch::Sender<End>) -> Self {
        Self { capacity: capacity.max(1), sender: OnceLock::new(), end }
    }

    /// Listens from now on.
    pub fn subscribe(&self) -> Events {
        let sender = self.sender.get_or_init(|| broadcast::Sender::new(self.capacity));
        Events { receiver: Receiver(Some(sender.subscribe())), end: self.end.subscribe() }
    }

    /// Whether anybody listens.
    pub(crate) fn is_heard(&self) -> bool {
        self.sender.get().is_some_and(|sender| sender.receiver_count() > 0)
    }

    pub(crate) fn publish(&self, event: Event) {
        if let Some(sender) = self.sender.get() {
            // What it displaces is displaced under a lock.
            let _hold = Hold::new();
            // An error says that nobody listens any more.
            let _unheard = sender.send(event);
        }
    }
}

/// A subscription to the events of a system. Dropping it ends it.
#[derive(Debug)]
pub struct Events {
    receiver: Receiver,
    /// So that nobody waits for more.
    end: watch::Receiver<End>,
}

/// What is left when it goes is dropped under a lock.
#[derive(Debug)]
struct Receiver(Option<broadcast::Receiver<Event>>);

impl Receiver {
    fn get(&mut self) -> &mut broadcast::Receiver<Event> {
        match &mut self.0 {
            Some(receiver) => receiver,
            None => unreachable!("only its drop takes it"),
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _hold = Hold::new();
        self.0 = None;
    }
}

impl Events {
    /// The next event, in the order of publication; `None` when the system has ended and there is no further event.
    ///
    /// # Cancel safety
    ///
    /// No event is lost when the future is dropped.
    pub async fn recv(&mut self) -> Option<Event> {
        let next = {
            let mut next = pin!(self.receiver.get().recv());
            let mut end = pin!(self.end.wait_for(Option::is_some));
            poll_fn(|cx| match next.as_mut().poll(cx) {
                Poll::Ready(next) => Poll::Ready(Some(next)),
                // An error says that the system is gone.
                Poll::Pending => end.as_mut().poll(cx).map(|_end| None),
            })
            .await
        };
        match next {
            Some(Ok(event)) => Some(event),
            Some(Err(RecvError::Lagged(missed))) => Some(Event::Missed(missed)),
            Some(Err(RecvError::Closed)) => None,
            // What was published between the two looks.
            None => self.try_recv(),
        }
    }

    /// The next event that is there already.
    pub fn try_recv(&mut self) -> Option<Event> {
        match self.receiver.get().try_recv() {
            Ok(event) => Some(event),
            Err(TryRecvError::Lagged(missed)) => Some(Event::Missed(missed)),
            Err(TryRecvError::Empty | TryRecvError::Closed) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use allocation_counter::measure;

    use super::*;

    #[test]
    fn events_are_heard_as_long_as_somebody_listens() {
        let stream = EventStream::new(1, watch::Sender::new(None));
        assert!(!stream.is_heard());
        let events = stream.subscribe();
        assert!(stream.is_heard());
        drop(events);
        assert!(!stream.is_heard());
    }

    /// One who never reads is left behind, and holds no more.
    #[tokio::test]
    async fn a_subscriber_that_never_reads_holds_a_bounded_number_of_events() {
        let stream = EventStream::new(16, watch::Sender::new(None));
        let mut events = stream.subscribe();
        let publish = || {
            for _ in 0..32 {
                stream.publish(Event::ReportDropped {
                    supervisor: ActorPath::from_elements("quiet", ["one"].into_iter()),
                    failure: Failure::other("unread"),
                });
            }
        };
        publish();
        let more = measure(|| (0..1_000).for_each(|_| publish()));
        assert_eq!((more.count_current, more.bytes_current), (0, 0));
        assert!(matches!(events.try_recv(), Some(Event::Missed(missed)) if missed == 32 * 1_001 - 16));
    }
}
