//! Publish and subscribe.
//!
//! 1. A topic holds its subscribers weakly, so it keeps neither an actor nor its system alive.
//! 2. No user code runs, and no user's value is dropped, while the lock is held.
//! 3. A topic holds at most twice as many subscribers as are alive, or 16. It looks for subscribers that have ended whenever
//!    the number has doubled, and whenever it publishes.
//!
//! Rules 21.1, 21.2, 21.3 and 21.4.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::vec;

use super::pass_on::lost_without_room;
use crate::actor::{Actor, ActorSystem, Request, TypedRef, WeakActorRef};
use crate::base::{Uid, UserValue, contained};
use crate::failure::{During, Failure};

impl ActorSystem {
    /// The topic of this system for events of the type `T`. It is the same topic for every caller.
    ///
    /// For several topics with the same type of event, wrap the event in a type of its own for each, or make
    /// [topics by hand](Topic::new).
    pub fn topic<T: Clone + Send + 'static>(&self) -> Topic<T> {
        Topic { shared: self.core().extensions().get() }
    }
}

/// A topic: actors subscribe to it, and each event that is published reaches every subscriber as a message.
///
/// This is a handle. It is cheap to clone, and all clones are the same topic. A subscription ends with its actor, and survives
/// the actor's restarts.
///
/// ```
/// # extern crate supervise_core as supervise;
/// use supervise::pattern::Topic;
/// # use supervise::{Actor, ActorRef, ActorSystem, Context, Failure, ReplyTo, Request, Supervisor};
/// # use supervise::{EscalationsDecidedBy, HandlersOfOneImplBlockDecidedBy};
///
/// #[derive(Clone)]
/// struct PriceChanged { cents: u32 }
///
/// # struct Display { cents: u32 }
/// # enum Show { Price(u32), Shown(ReplyTo<u32>) }
/// # impl Supervisor for Display { type Ref = ActorRef<Self>; }
/// # impl Actor for Display {
/// #     type Message = Show;
/// #     async fn handle(&mut self, message: Show, _: &mut Context<Self>) -> Result<(), Failure> {
/// #         match message { Show::Price(cents) => self.cents = cents, Show::Shown(reply) => reply.answer(self.cents) }
/// #         Ok(())
/// #     }
/// # }
/// # impl<P> HandlersOfOneImplBlockDecidedBy<P> for Display {}
/// # impl<P> EscalationsDecidedBy<P> for Display {}
/// # fn shown(to: &ActorRef<Display>) -> Request<'_, Display, u32> {
/// #     Request::new(to, Show::Shown(ReplyTo::nowhere()), |message, reply| *message = Show::Shown(reply))
/// # }
/// # fn price(to: &ActorRef<Display>, cents: u32) -> Request<'_, Display, ()> {
/// #     Request::new(to, Show::Price(cents), |_, _| {})
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let system = ActorSystem::new("shop");
/// let display = system.spawn("display", || Display { cents: 0 })?;
///
/// let prices: Topic<PriceChanged> = system.topic();
/// prices.subscribe(&display, |display, event| price(display, event.cents));
/// prices.publish(PriceChanged { cents: 250 });
/// assert_eq!(shown(&display).await?, 250);
/// # system.terminate().await;
/// # Ok(())
/// # }
/// ```
pub struct Topic<T: 'static> {
    shared: Arc<Shared<T>>,
}

struct Shared<T: 'static> {
    subscribers: Mutex<Subscribers<T>>,
}

struct Subscribers<T: 'static> {
    all: HashMap<Uid, Arc<Subscriber<T>>>,
    /// At this number of subscribers, the topic looks for those that have ended. Invariant 3.
    look_at: usize,
}

/// After how many subscribers a publisher that yields gives other tasks their turns.
const SLICE: usize = 1024;

/// The smallest number of subscribers at which a topic looks for those that have ended.
const FIRST_LOOK: usize = 16;

struct Subscriber<T: 'static> {
    uid: Uid,
    tell: UserValue<Box<dyn Fn(Option<T>) -> Told + Send + Sync>>,
}

/// The outcome of telling an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Delivered,
    /// The subscriber's function panicked, and the subscriber fails.
    Failed,
    /// The subscriber has ended.
    Gone,
}

impl<T: Clone + Send + 'static> Topic<T> {
    /// Makes a topic that belongs to no system. Actors of several systems may subscribe to it.
    pub fn new() -> Self {
        Self { shared: Arc::default() }
    }

    /// From now on each event reaches `subscriber` as the message that `into_message` makes of it, for example
    /// `topic.subscribe(&ctx.me(), DisplayRef::price_changed)`.
    ///
    /// An actor has one subscription to a topic. If it subscribes again, for example in the `#[pre_start]` of each instance, the new
    /// subscription replaces the old one. If the actor has ended, this has no effect.
    ///
    /// `into_message` runs in the code that publishes. It must not block.
    pub fn subscribe<R, F, O>(&self, subscriber: &R, into_message: F)
    where
        R: TypedRef,
        R::Actor: Actor,
        F: for<'r> Fn(&'r R, T) -> Request<'r, R::Actor, O> + Send + Sync + 'static,
        O: Send + 'static,
    {
        let (uid, actor) = (subscriber.actor_ref().uid(), subscriber.actor_ref().downgrade());
        let tell = move |event| tell(&actor, &into_message, event);
        let tell = UserValue::new(Box::new(tell) as Box<dyn Fn(Option<T>) -> Told + Send + Sync>);
        if (tell)(None) == Told::Gone {
            return;
        }
        let new = Arc::new(Subscriber { uid, tell });
        let (replaced, crowded) = {
            let mut subscribers = self.shared.lock();
            let replaced = subscribers.all.insert(uid, new);
            (replaced, subscribers.all.len() >= subscribers.look_at)
        };
        drop(replaced);
        if crowded {
            self.shared.forget_ended();
        }
    }

    /// From now on no event reaches `subscriber`. An event that it has already been told stays in its mailbox.
    pub fn unsubscribe<R: TypedRef>(&self, subscriber: &R) {
        let removed = self.shared.lock().all.remove(&subscriber.actor_ref().uid());
        drop(removed);
    }

    /// Tells `event` to every subscriber, in no particular order, and returns how many there were. It does not wait. The events
    /// that one task publishes reach each subscriber in the order of publication.
    ///
    /// The caller tells the subscribers one after another, before this returns. So it takes time in proportion to their number: about
    /// half a microsecond for each, and whatever the clone of the event and the subscriber's function take. If there are very many
    /// subscribers, [`publish_fairly`](Self::publish_fairly) gives other tasks their turns in between. No lock is held while subscribers
    /// are told. Others that publish or subscribe at that moment wait while the list of the subscribers is copied: about 10 ns for each.
    ///
    /// If a bounded mailbox has no room, the message becomes a dead letter, and counts as told. If the function that a subscriber gave
    /// panics, that subscriber fails with the panic, after the messages that it was told before.
    ///
    /// # Panics
    ///
    /// If `T::clone` panics. Some subscribers may have been told.
    pub fn publish(&self, event: T) -> usize {
        let mut publication = Publication::new(self.shared.snapshot());
        publication.tell_some(&event, usize::MAX);
        publication.end(&self.shared)
    }

    /// Like [`publish`](Self::publish), but yields to other tasks after each 1024 subscribers. The subscribers are those of the first
    /// poll. If one task publishes everything in this way and awaits it, its events reach each subscriber in the order of publication.
    ///
    /// # Panics
    ///
    /// As [`publish`](Self::publish).
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it completes, the event has reached some subscribers only.
    pub async fn publish_fairly(&self, event: T) -> usize {
        let mut publication = Publication::new(self.shared.snapshot());
        while publication.tell_some(&event, SLICE) {
            tokio::task::yield_now().await;
        }
        publication.end(&self.shared)
    }

    /// How many actors subscribe to it. Some of them may have ended already.
    pub fn subscribers(&self) -> usize {
        self.shared.lock().all.len()
    }
}

/// Tells an actor an event, or, without one, only says whether the actor could be told.
fn tell<R, F, T, O>(actor: &WeakActorRef<R::Actor>, into_message: &F, event: Option<T>) -> Told
where
    R: TypedRef,
    R::Actor: Actor,
    F: for<'r> Fn(&'r R, T) -> Request<'r, R::Actor, O>,
    O: Send + 'static,
{
    let Some(actor) = actor.upgrade().filter(|actor| !actor.has_ended()) else { return Told::Gone };
    let Some(event) = event else { return Told::Delivered };
    match contained(|| into_message(&R::from(actor.clone()), event).tell()) {
        Ok(told) => {
            lost_without_room(told, &actor);
            Told::Delivered
        }
        Err(payload) => {
            actor.fail(Failure::panic(payload).left(Some(During::Work)));
            Told::Failed
        }
    }
}

/// An event on its way to its subscribers.
struct Publication<T: 'static> {
    subscribers: vec::IntoIter<Arc<Subscriber<T>>>,
    gone: Vec<Arc<Subscriber<T>>>,
    told: usize,
}

impl<T: Clone + 'static> Publication<T> {
    fn new(subscribers: Vec<Arc<Subscriber<T>>>) -> Self {
        Self { subscribers: subscribers.into_iter(), gone: Vec::new(), told: 0 }
    }

    /// Tells the next subscribers, at most this many. Returns whether some are left.
    fn tell_some(&mut self, event: &T, most: usize) -> bool {
        for subscriber in self.subscribers.by_ref().take(most) {
            match (subscriber.tell)(Some(event.clone())) {
                Told::Delivered => self.told += 1,
                Told::Failed => {}
                Told::Gone => self.gone.push(subscriber),
            }
        }
        self.subscribers.len() > 0
    }

    /// Returns how many were told.
    fn end(self, topic: &Shared<T>) -> usize {
        topic.forget(&self.gone);
        self.told
    }
}

impl<T: 'static> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, Subscribers<T>> {
        self.subscribers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn snapshot(&self) -> Vec<Arc<Subscriber<T>>> {
        self.lock().all.values().cloned().collect()
    }

    fn forget_ended(&self) {
        let mut ended = self.snapshot();
        ended.retain(|subscriber| (subscriber.tell)(None) == Told::Gone);
        self.forget(&ended);
        let mut subscribers = self.lock();
        subscribers.look_at = FIRST_LOOK.max(2 * subscribers.all.len());
    }

    /// Removes subscribers, unless they have been replaced since.
    fn forget(&self, gone: &[Arc<Subscriber<T>>]) {
        if gone.is_empty() {
            return;
        }
        let mut removed = Vec::with_capacity(gone.len());
        let mut subscribers = self.lock();
        for subscriber in gone {
            if subscribers.all.get(&subscriber.uid).is_some_and(|now| Arc::ptr_eq(now, subscriber)) {
                removed.extend(subscribers.all.remove(&subscriber.uid));
            }
        }
        drop(subscribers);
        drop(removed);
    }
}

impl<T: 'static> Default for Shared<T> {
    fn default() -> Self {
        Self { subscribers: Mutex::new(Subscribers { all: HashMap::new(), look_at: FIRST_LOOK }) }
    }
}

impl<T: Clone + Send + 'static> Default for Topic<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: 'static> Clone for Topic<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T: 'static> fmt::Debug for Topic<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Topic")
            .field("event", &std::any::type_name::<T>())
            .field("subscribers", &self.shared.lock().all.len())
            .finish()
    }
}
