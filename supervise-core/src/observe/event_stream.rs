//! The stream of a system's events. Without a subscriber, an event costs one load.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, watch};

use super::event::Event;
use super::interest::{Heard, Interest, Listening};
use crate::base::{ActorName, ActorPath, Hold};
use crate::failure::Failure;
use crate::supervision::Note;

/// How a system ended; `None` while it runs.
pub(crate) type End = Option<Result<(), Failure>>;

/// The events of one system.
#[derive(Debug)]
pub struct EventStream {
    capacity: usize,
    /// Made for the first subscriber, because it has room for all events that a subscriber may be behind. Before that,
    /// no actor takes the lock under which tokio counts subscribers.
    sender: OnceLock<broadcast::Sender<Told>>,
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

    #[inline]
    pub(crate) fn publish(&self, event: Event) {
        self.tell(Told::Whole(event));
    }

    /// Publishes what an actor noted about itself, if that becomes an event.
    #[inline]
    pub(super) fn publish_own(&self, actor: Whose, note: Note<Failure>) {
        self.tell(Told::Own(actor, note));
    }

    #[inline]
    fn tell(&self, event: Told) {
        if let Some(sender) = self.sender.get() {
            // The channel drops displaced events under its lock.
            let _hold = Hold::new();
            // An error means that the last subscriber has gone.
            let _unheard = sender.send(event);
        }
    }
}

/// An event in the buffer.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "a box would be an allocation for each event")]
enum Told {
    /// Most of these are never read, because most subscribers want other ones. So the text of the path is not made before.
    Own(Whose, Note<Failure>),
    Whole(Event),
}

/// The path of an actor.
#[derive(Debug, Clone)]
pub(crate) enum Whose {
    Path(ActorPath),
    /// By the path of its parent and its name.
    Child(ActorPath, ActorName),
}

impl Whose {
    fn path(self) -> ActorPath {
        match self {
            Self::Path(path) => path,
            Self::Child(parent, name) => parent.below(&name),
        }
    }
}

impl Told {
    fn kind(&self) -> Option<Interest> {
        match self {
            Self::Own(_, note) => Interest::in_note(note),
            Self::Whole(event) => Interest::of(event),
        }
    }

    fn event(self) -> Option<Event> {
        match self {
            Self::Own(actor, note) => Event::of_itself(actor.path(), note),
            Self::Whole(event) => Some(event),
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
struct Receiver(Option<broadcast::Receiver<Told>>);

impl Receiver {
    fn get(&mut self) -> &mut broadcast::Receiver<Told> {
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
            let told = self.recv_any().await?;
            if let Some(event) = self.wanted(told) {
                return Some(event);
            }
        }
    }

    async fn recv_any(&mut self) -> Option<Told> {
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
            Some(Ok(told)) => Some(told),
            Some(Err(RecvError::Lagged(missed))) => Some(Told::Whole(Event::Missed(missed))),
            Some(Err(RecvError::Closed)) => None,
            // Events that were published between the two checks.
            None => self.try_recv_any(),
        }
    }

    /// The next event, if there is one already.
    pub fn try_recv(&mut self) -> Option<Event> {
        loop {
            let told = self.try_recv_any()?;
            if let Some(event) = self.wanted(told) {
                return Some(event);
            }
        }
    }

    fn wanted(&self, told: Told) -> Option<Event> {
        if self.listening.hears(told.kind()) { told.event() } else { None }
    }

    fn try_recv_any(&mut self) -> Option<Told> {
        match self.receiver.get().try_recv() {
            Ok(told) => Some(told),
            Err(TryRecvError::Lagged(missed)) => Some(Told::Whole(Event::Missed(missed))),
            Err(TryRecvError::Empty | TryRecvError::Closed) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use allocation_counter::measure;

    use super::*;
    use crate::supervision::HowEnded;

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

    /// The text of the path is made when the event is read, and not at all for a subscriber that wants other events.
    #[test]
    fn what_an_actor_notes_about_itself_allocates_nothing_until_it_is_read() {
        let stream = EventStream::new(4, watch::Sender::new(None));
        let (mut all, mut failures) = (stream.subscribe(), stream.subscribe_to(Interest::FAILURES));
        let user = ActorPath::from_elements("quiet", ["user"].into_iter());
        let one = || Whose::Child(user.clone(), ActorName::made_up(1));
        let started = Note::Started { again: false };
        let published = measure(|| stream.publish_own(one(), started.clone()));
        assert_eq!(
            (published.count_total, measure(|| assert!(failures.try_recv().is_none())).count_total),
            (0, 0)
        );
        let read = measure(|| {
            let Some(Event::Started { actor }) = all.try_recv() else { panic!("no event of the start") };
            assert_eq!(actor.local(), "/user/$b");
        });
        assert!(read.count_total > 0);
        stream.publish_own(Whose::Path(user), Note::Stopped(HowEnded::Graceful));
        let Some(Event::Stopped { actor, how: HowEnded::Graceful }) = all.try_recv() else {
            panic!("no event of the end")
        };
        assert_eq!(actor.local(), "/user");
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
