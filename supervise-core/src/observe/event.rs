//! The events of a system, for its subscribers. Without a subscriber, an event costs one load.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, watch};

use super::dead_letter::DeadLetter;
use super::interest::{Heard, Interest, Listening};
use super::intervention::Intervention;
use crate::base::{ActorPath, Hold, Uid};
use crate::failure::Failure;
use crate::supervision::{Count, Directive, Hook, HowEnded, Limit, Outcome, Standing};

/// Something that happened in a system.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// An actor is ready for its first message.
    #[non_exhaustive]
    Started {
        /// The actor.
        actor: ActorPath,
    },
    /// A supervisor decided about a failed child. This event occurs once for each failure
    /// (rule [10.2](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-10.2)).
    #[non_exhaustive]
    Decided {
        /// The supervisor that decided.
        supervisor: ActorPath,
        /// The name of its type, as [`std::any::type_name`] returns it.
        supervisor_type: &'static str,
        /// The child that failed.
        child: ActorPath,
        /// The name of its type.
        child_type: &'static str,
        /// The child's incarnation.
        uid: Uid,
        /// The failure. [`Failure::during`] names the code that failed.
        failure: Failure,
        /// The text of the failure and of its causes, each once, at most 512 bytes. Keeping this text does not keep the error
        /// alive.
        text: Arc<str>,
        /// The decider's answer.
        directive: Directive,
        /// The rule that matched, as the table of the supervisor writes it: `io::Error`, `_`. `default` for the default decider, the
        /// function's name for `decider = ..`. `None` if no rule matched, or if the decider was passed at run
        /// time.
        rule: Option<&'static str>,
        /// The result of the decision. A limit may refuse a restart.
        outcome: Outcome,
        /// The number of this failure in its streak, counted from 1
        /// (rule [10.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-10.6)).
        attempt: u32,
        /// How much of the restart limit is used after the decision. `None`: there is no limit.
        standing: Option<Standing>,
    },
    /// A restart was refused because the limit is reached. This event comes right before the decision, which says what follows
    /// (rule [10.2](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-10.2)).
    #[non_exhaustive]
    LimitReached {
        /// Whose limit.
        supervisor: ActorPath,
        /// The actor that failed once too often.
        child: ActorPath,
        /// Its failure. The [`origin`](Failure::origin) is the actor that failed first, if that was another one.
        failure: Failure,
        /// How many restarts were granted.
        limit: Limit,
        /// Whose restarts were counted.
        count: Count,
        /// Set if the child was given up because it had been failing for this long
        /// ([`Backoff::give_up_after`](crate::Backoff::give_up_after)). The limit of the number of restarts was not asked then.
        gave_up_after: Option<Duration>,
    },
    /// A decider failed, so its supervisor fails.
    #[non_exhaustive]
    DeciderFailed {
        /// The supervisor whose decider failed.
        supervisor: ActorPath,
        /// The child that failed.
        child: ActorPath,
        /// The decider's failure.
        failure: Failure,
        /// The child's failure, which the decider had to decide.
        about: Failure,
    },
    /// A supervisor has failed or is restarting itself, so it decides about a child later.
    #[non_exhaustive]
    ReportDeferred {
        /// The supervisor that decides later.
        supervisor: ActorPath,
        /// The child that failed.
        child: ActorPath,
    },
    /// No supervisor decides a failure, because the failed actor has ended or its supervisor is stopping.
    #[non_exhaustive]
    ReportDropped {
        /// The supervisor that received the report.
        supervisor: ActorPath,
        /// The failure.
        failure: Failure,
    },
    /// An actor has a new instance.
    #[non_exhaustive]
    Restarted {
        /// The actor.
        actor: ActorPath,
        /// The failure.
        failure: Failure,
    },
    /// A failed actor continues with its instance.
    #[non_exhaustive]
    Resumed {
        /// The actor.
        actor: ActorPath,
    },
    /// A hook failed, and its failure was ignored.
    #[non_exhaustive]
    HookFailed {
        /// The actor.
        actor: ActorPath,
        /// The hook.
        hook: Hook,
        /// The failure.
        failure: Failure,
    },
    /// A handler or hook outlived the stop timeout and was dropped at its await point.
    #[non_exhaustive]
    Aborted {
        /// The actor.
        actor: ActorPath,
    },
    /// An actor ended.
    #[non_exhaustive]
    Stopped {
        /// The actor.
        actor: ActorPath,
        /// How it ended.
        how: HowEnded,
    },
    /// An operator did something to an actor
    /// (rule [22.7](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-22.7)).
    #[non_exhaustive]
    Intervened {
        /// The actor.
        actor: ActorPath,
        /// Its incarnation.
        uid: Uid,
        /// What the operator asked for.
        what: Intervention,
        /// Who it was: the label of the operator's token.
        by: Arc<str>,
    },
    /// There is an association with another node (feature `remote`).
    #[non_exhaustive]
    NodeUp {
        /// The node: `system@host:port`.
        node: Arc<str>,
    },
    /// Another node was given up, and all refs to its actors ended (feature `remote`,
    /// rule [26.3](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-26.3)).
    #[non_exhaustive]
    NodeDown {
        /// The node: `system@host:port`.
        node: Arc<str>,
        /// Why, in a word: `vanished`, `silent`, `lost`.
        why: &'static str,
    },
    /// This node and another one cannot talk to each other (feature `remote`).
    #[non_exhaustive]
    NodeRefused {
        /// The node: `system@host:port`.
        node: Arc<str>,
        /// Why, in a word: `version`, `mesh`.
        why: &'static str,
    },
    /// A message became a dead letter.
    DeadLetter(DeadLetter),
    /// An actor with a durable mailbox ended, and messages stay in its queue
    /// (rule [27.10](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.10)).
    #[cfg(feature = "durable")]
    #[non_exhaustive]
    Kept {
        /// The actor.
        actor: ActorPath,
        /// The queue.
        queue: Arc<str>,
        /// How many messages.
        messages: u64,
    },
    /// A message of a durable mailbox is in quarantine. A dead letter says so too
    /// (rule [27.15](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.15)).
    #[cfg(feature = "durable")]
    #[non_exhaustive]
    Quarantined {
        /// The actor.
        actor: ActorPath,
        /// The queue.
        queue: Arc<str>,
        /// The message.
        id: crate::durable::MessageId,
        /// The stored name of its handler.
        kind: Arc<str>,
        /// Why.
        fate: crate::durable::Fate,
        /// The failures of its attempts, or the reason in words.
        failures: Vec<Failure>,
    },
    /// The message store has failed, or cannot be opened. It is tried again
    /// (rule [27.13](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.13)).
    #[cfg(feature = "durable")]
    #[non_exhaustive]
    StoreFailed {
        /// What happened.
        error: Arc<str>,
    },
    /// The message store is open again.
    #[cfg(feature = "durable")]
    StoreOpened,
    /// Accepted messages are missing from the message store
    /// (rule [27.14](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.14)).
    #[cfg(feature = "durable")]
    #[non_exhaustive]
    MessagesMissing {
        /// Which.
        messages: Vec<crate::durable::MessageId>,
    },
    /// The subscriber was too slow and missed this many events.
    Missed(u64),
}

/// How a system ended; `None` while it runs.
pub(crate) type End = Option<Result<(), Failure>>;

/// The events of one system.
#[derive(Debug)]
pub struct EventStream {
    capacity: usize,
    /// Made for the first subscriber, because it has room for all events that a subscriber may be behind. Before that,
    /// no actor takes the lock under which tokio counts subscribers.
    sender: OnceLock<broadcast::Sender<Event>>,
    end: watch::Sender<End>,
    heard: Arc<Heard>,
}

impl EventStream {
    /// Makes the stream of a system. `end` says how the system ended.
    pub(crate) fn new(capacity: usize, end: watch::Sender<End>) -> Self {
        Self { capacity: capacity.max(1), sender: OnceLock::new(), end, heard: Arc::default() }
    }

    /// Subscribes to all events from now on.
    pub fn subscribe(&self) -> Events {
        self.subscribe_to(Interest::ALL)
    }

    /// Subscribes to some events from now on. An event without a subscriber costs nothing, so a subscriber to failures does not
    /// make spawns more expensive
    /// (rule [10.7](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-10.7)).
    ///
    /// All subscribers share one buffer, so [`Event::Missed`] may count events that this one does not get.
    pub fn subscribe_to(&self, interest: Interest) -> Events {
        let sender = self.sender.get_or_init(|| broadcast::Sender::new(self.capacity));
        let receiver = Receiver(Some(sender.subscribe()));
        Events { receiver, end: self.end.subscribe(), listening: Heard::listen(&self.heard, interest) }
    }

    /// Whether there is a subscriber to any of these: one load.
    pub(crate) fn hears(&self, interest: Interest) -> bool {
        self.heard.any(interest)
    }

    /// Who listens to this stream.
    pub(super) fn heard(&self) -> &Arc<Heard> {
        &self.heard
    }

    pub(crate) fn publish(&self, event: Event) {
        if let Some(sender) = self.sender.get() {
            // The channel drops displaced events under its lock.
            let _hold = Hold::new();
            // An error means that the last subscriber has gone.
            let _unheard = sender.send(event);
        }
    }
}

/// A subscription to the events of a system. Drop it to unsubscribe.
#[derive(Debug)]
pub struct Events {
    receiver: Receiver,
    /// Completes when the system has ended, so that `recv` does not wait for further events.
    end: watch::Receiver<End>,
    listening: Listening,
}

/// Holds the receiver, whose `Drop` drops the remaining events under a lock.
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
    /// Waits for the next event, in the order of publication. `None` means that the system has ended and there is no
    /// further event.
    ///
    /// # Cancel safety
    ///
    /// No event is lost when the future is dropped.
    pub async fn recv(&mut self) -> Option<Event> {
        loop {
            let event = self.recv_any().await?;
            if self.listening.hears(&event) {
                return Some(event);
            }
        }
    }

    async fn recv_any(&mut self) -> Option<Event> {
        let next = {
            let mut next = pin!(self.receiver.get().recv());
            let mut end = pin!(self.end.wait_for(Option::is_some));
            poll_fn(|cx| match next.as_mut().poll(cx) {
                Poll::Ready(next) => Poll::Ready(Some(next)),
                // An error means that the system is gone.
                Poll::Pending => end.as_mut().poll(cx).map(|_end| None),
            })
            .await
        };
        match next {
            Some(Ok(event)) => Some(event),
            Some(Err(RecvError::Lagged(missed))) => Some(Event::Missed(missed)),
            Some(Err(RecvError::Closed)) => None,
            // Events that were published between the two checks.
            None => self.try_recv_any(),
        }
    }

    /// The next event, if there is one already.
    pub fn try_recv(&mut self) -> Option<Event> {
        loop {
            let event = self.try_recv_any()?;
            if self.listening.hears(&event) {
                return Some(event);
            }
        }
    }

    fn try_recv_any(&mut self) -> Option<Event> {
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
        assert!(!stream.hears(Interest::ALL));
        let events = stream.subscribe();
        assert!(stream.hears(Interest::DEAD_LETTERS));
        drop(events);
        assert!(!stream.hears(Interest::ALL));
    }

    /// Rule 10.7.
    #[test]
    fn what_nobody_wants_is_not_heard() {
        let stream = EventStream::new(4, watch::Sender::new(None));
        let mut failures = stream.subscribe_to(Interest::FAILURES);
        assert!(stream.hears(Interest::FAILURES) && !stream.hears(Interest::LIVES | Interest::RESTARTS));
        let both = stream.subscribe_to(Interest::FAILURES | Interest::LIVES);
        drop(stream.subscribe_to(Interest::FAILURES));
        assert!(stream.hears(Interest::LIVES));
        let actor = ActorPath::from_elements("quiet", ["one"].into_iter());
        stream.publish(Event::Started { actor: actor.clone() });
        stream.publish(Event::Aborted { actor });
        assert!(matches!(failures.try_recv(), Some(Event::Aborted { .. })));
        assert!(failures.try_recv().is_none());
        drop(both);
        assert!(stream.hears(Interest::FAILURES) && !stream.hears(Interest::LIVES));
    }

    /// A subscriber that never reads falls behind, and holds no more events.
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
