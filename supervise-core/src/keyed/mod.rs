//! Keyed children: one child for each key, created when it is first needed and passivated when it is idle.
//!
//! ```text
//!            get_or_spawn                 told to stop                    its end is known
//!   vacant ──────────────► occupied ────────────────────► being left ───┬──────────────────► vacant
//!                             ▲                                         │ and messages wait for a successor
//!                             └─────────────────────────────────────────┘
//! ```
//!
//! - [`Children`]: the handle. A look-up reads the map directly, from any thread, without asking an actor.
//! - `seat`: the place of one key. Its lock orders the end of one occupant and the start of the next.
//! - `seat_map`: the seats by key. No user code runs under its lock.
//! - `declared`: keyed children as a field with `#[child(..)]`.
//! - `registry`: the actor that supervises the children with the table of its parent, and finds the idle ones.
//!
//! 1. Locks are taken in this order: seat, map, the protocol of the registry. Keys are compared, hashed, shown and
//!    dropped outside all of them.
//! 2. A seat is in the map exactly while it has an occupant; both change under the seat's lock.
//! 3. Messages for a child that will have a successor stay in the child's own mailbox, within its bound, until the
//!    successor has started. They are kept nowhere else.
//!
//! Rules 18.1 to 18.10.

mod declared;
mod registry;
mod seat;
mod seat_map;

use std::fmt::{self, Display};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use self::registry::{CloseAtEnd, Registry};
use self::seat::Seat;
use self::seat_map::SeatMap;
#[cfg(feature = "remote")]
use crate::actor::ActorRef;
use crate::actor::{
    Actor, ActorType, Built, Cell, Configuration, Context, DecidedBy, NewName, Props, RefOf, SpawnError,
    SupervisedBy, Supervisor, TypedRef,
};
use crate::base::ActorPath;
use crate::failure::Failure;
use crate::mailbox::MailboxKind;
#[cfg(feature = "remote")]
use crate::shutdown::stopped;
use crate::shutdown::{NotStopped, drained_within};
use crate::supervision::{ChildInfo, HowEnded};

/// A key by which a child is known.
///
/// The key's `Display` text is the child's name in the tree; a character that a name cannot contain becomes `%hh`. Keys that are not
/// equal must therefore have different texts. `Hash` and `Eq` must agree and stay the same, as for a `HashMap`.
pub trait ChildKey: Hash + Eq + Display + Send + Sync + 'static {}

impl<K: Hash + Eq + Display + Send + Sync + 'static> ChildKey for K {}

/// One child for each key. The first [`get_or_spawn`](Self::get_or_spawn) creates it, and it is passivated when it is idle.
///
/// This is a handle: clone it, and pass it to siblings or to code outside the system. It returns the child's own ref,
/// so a message costs the same as any other message. You can keep the ref: if you send a message after the child was
/// passivated, a successor is created and gets it. No message is lost or overtaken in between (rules
/// [18.3](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-18.3),
/// [18.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-18.4)).
///
/// ```
/// # extern crate supervise_core as supervise;
/// use std::time::Duration;
/// use supervise::{Actor, ActorRef, ActorSystem, Children, Context, Failure, Supervisor};
/// # use supervise::{EscalationsDecidedBy, HandlersOfOneImplBlockDecidedBy, ReplyTo, Request};
///
/// struct Session { customer: u64, orders: u32 }
/// # struct Order(ReplyTo<u32>);
/// # impl Supervisor for Session { type Ref = ActorRef<Self>; }
/// # impl Actor for Session {
/// #     type Message = Order;
/// #     async fn handle(&mut self, Order(reply): Order, _: &mut Context<Self>) -> Result<(), Failure> {
/// #         self.orders += 1;
/// #         reply.answer(self.orders);
/// #         Ok(())
/// #     }
/// # }
/// # impl<P> HandlersOfOneImplBlockDecidedBy<P> for Session {}
/// # impl<P> EscalationsDecidedBy<P> for Session {}
/// # fn order(to: &ActorRef<Session>) -> Request<'_, Session, u32> {
/// #     Request::new(to, Order(ReplyTo::nowhere()), |message, reply| message.0 = reply)
/// # }
///
/// struct Shop { sessions: Children<u64, Session> }
/// # struct Find(u64, ReplyTo<ActorRef<Session>>);
/// # impl Supervisor for Shop { type Ref = ActorRef<Self>; }
/// impl Actor for Shop {
/// #   type Message = Find;
///     async fn pre_start(&mut self, ctx: &mut Context<Self>) -> Result<(), Failure> {
///         let sessions = Children::of(|customer: &u64| Session { customer: *customer, orders: 0 });
///         self.sessions = sessions.idle(Duration::from_secs(300)).spawn(ctx, "sessions").map_err(Failure::new)?;
///         Ok(())
///     }
/// #   async fn handle(&mut self, Find(customer, reply): Find, _: &mut Context<Self>) -> Result<(), Failure> {
/// #       reply.answer(self.sessions.get_or_spawn(customer).map_err(Failure::new)?);
/// #       Ok(())
/// #   }
/// }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let system = ActorSystem::new("town");
/// # let shop = system.spawn("shop", || Shop { sessions: Children::default() })?;
/// # let find = Request::new(&shop, Find(42, ReplyTo::nowhere()), |message, reply| message.1 = reply);
/// # let session = find.await?;
/// assert_eq!(session.path().name(), "42");
/// assert_eq!(order(&session).await?, 1);
/// # system.terminate().await;
/// # Ok(())
/// # }
/// ```
pub struct Children<K: 'static, C: Actor> {
    map: Option<Arc<SeatMap<K, C>>>,
}

impl<K: ChildKey, C: Actor> Children<K, C> {
    /// Describes children that `template` makes from their keys. It runs on the child's own turn, for the first instance and
    /// for each restart.
    pub fn of<B>(template: impl Fn(&K) -> B + Send + Sync + 'static) -> ChildrenProps<K, C, B::Cause>
    where
        B: Built<Actor = C>,
    {
        ChildrenProps {
            template: Box::new(move |key| template(key).built()),
            idle: None,
            mailbox: C::MAILBOX,
            limit: None,
            cause: std::marker::PhantomData,
        }
    }

    /// Returns the child of this key, and creates it if there is no such child. Returns at once and can be called from any
    /// thread. The ref is in a `Result`: write `self.sessions.get_or_spawn(customer)?.order(item).await?`.
    ///
    /// If the child is ending because it was stopped, through a ref or by its parent, messages that are sent from now on wait
    /// for its successor (rule [18.5](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-18.5)).
    ///
    /// # Errors
    ///
    /// If the children's parent is stopping or has stopped, if another key has the same text, if the text of this key
    /// is empty, or if there are as many children as their [limit](ChildrenProps::limit) allows.
    ///
    /// # Panics
    ///
    /// If the key's `Hash`, `Eq` or `Display` panics; the children are then unchanged. Also if this handle is a
    /// `Children::default()`.
    pub fn get_or_spawn(&self, key: K) -> Result<RefOf<C>, SpawnError> {
        let map = self.map();
        let hash = map.hash(&key);
        let found = map.find(hash, &key).and_then(|seat| seat.call());
        let child = match found {
            Some(child) => child,
            None => Arc::new(Seat::new(key, hash, Arc::clone(map))).occupy()?,
        };
        Ok(child.into())
    }

    /// The child of this key, if there is one that is not ending.
    ///
    /// # Panics
    ///
    /// As [`get_or_spawn`](Self::get_or_spawn).
    pub fn get(&self, key: &K) -> Option<RefOf<C>> {
        let map = self.map();
        map.find(map.hash(key), key)?.staying().map(Into::into)
    }

    /// Passivates the child of this key, if there is one: the child handles the messages that were sent before and ends. Later messages
    /// wait for its successor (rule [18.3](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-18.3)).
    ///
    /// # Panics
    ///
    /// As [`get_or_spawn`](Self::get_or_spawn).
    pub fn passivate(&self, key: &K) {
        let map = self.map();
        if let Some(seat) = map.find(map.hash(key), key) {
            seat.passivate();
        }
    }

    /// How many children there are, including those that are ending.
    pub fn len(&self) -> usize {
        self.map().len()
    }

    /// Whether there are no children.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `visit` for each child that is not ending, in no order. It may or may not see children that start or end during the call.
    pub fn for_each(&self, mut visit: impl FnMut(&K, &RefOf<C>)) {
        for seat in self.map().all() {
            if let Some(child) = seat.staying() {
                visit(seat.key(), &child.into());
            }
        }
    }

    /// The child of this key, even if it is ending.
    #[cfg(feature = "remote")]
    pub(crate) fn occupant(&self, key: &K) -> Option<ActorRef<C>> {
        let map = self.map();
        map.find(map.hash(key), key)?.occupant()
    }

    /// Calls `visit` for each child, even if it is ending.
    #[cfg(feature = "remote")]
    pub(crate) fn for_each_occupant(&self, mut visit: impl FnMut(&K, ActorRef<C>)) {
        for seat in self.map().all() {
            if let Some(child) = seat.occupant() {
                visit(seat.key(), child);
            }
        }
    }

    /// Lets the child of this key, if there is one, handle what it was sent, and stops it. Messages in its stash become dead letters.
    #[cfg(feature = "remote")]
    pub(crate) fn drain(&self, key: &K) {
        let map = self.map();
        if let Some(seat) = map.find(map.hash(key), key) {
            seat.drain();
        }
    }

    /// [`stop`](Self::stop), and waits until all children and their parent have ended.
    #[cfg(feature = "remote")]
    pub(crate) async fn stopped(&self) {
        stopped(self.map().registry()).await;
    }

    /// The path of the children's parent, which is itself a child of the actor that spawned it.
    pub fn path(&self) -> ActorPath {
        self.map().registry().path()
    }

    /// Stops all children and their parent. After that, this handle has no children and creates none.
    pub fn stop(&self) {
        self.map().registry().stop();
    }

    /// Lets all children handle the messages that wait, and then stops them and their parent. From then on, each child refuses
    /// messages, and none is created, except the successor of a child with messages that wait for one
    /// (rule [18.11](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-18.11)).
    pub fn stop_when_drained(&self) {
        self.map().registry().stop_when_drained();
    }

    /// Like [`stop_when_drained`](Self::stop_when_drained), and waits until all children and their parent have ended.
    ///
    /// # Errors
    ///
    /// If they have not ended within that time. They still handle the messages that wait, and then stop.
    ///
    /// # Cancel safety
    ///
    /// The first poll requests the end. If the future is dropped after that, the children still end.
    pub async fn graceful_drain(&self, within: Duration) -> Result<HowEnded, NotStopped> {
        drained_within(self.map().registry(), within).await
    }

    fn map(&self) -> &Arc<SeatMap<K, C>> {
        match &self.map {
            Some(map) => map,
            None => panic!(
                "these `Children` of `{}` were not spawned: `Children::default()` holds the place until `pre_start`",
                std::any::type_name::<C>()
            ),
        }
    }
}

/// Holds the place until the children are spawned.
impl<K: 'static, C: Actor> Default for Children<K, C> {
    fn default() -> Self {
        Self { map: None }
    }
}

impl<K: 'static, C: Actor> Clone for Children<K, C> {
    fn clone(&self) -> Self {
        Self { map: self.map.clone() }
    }
}

impl<K: ChildKey, C: Actor> fmt::Debug for Children<K, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.map {
            Some(map) => write!(f, "Children({}, {} now)", map.registry(), map.len()),
            None => f.write_str("Children(not spawned)"),
        }
    }
}

/// The settings of [`Children`] that have not been spawned yet. `E` stands for what their template can fail with.
#[must_use = "settings do nothing until they are spawned"]
pub struct ChildrenProps<K, C: Actor, E> {
    template: seat_map::Template<K, C>,
    idle: Option<Duration>,
    mailbox: MailboxKind,
    limit: Option<usize>,
    cause: std::marker::PhantomData<fn() -> E>,
}

impl<K: ChildKey, C: Actor, E> ChildrenProps<K, C, E> {
    /// Passivates a child that has handled no message for `after`, at most a quarter of that time later. Messages of handlers
    /// with `#[handler(not_influencing)]` do not count. `after` is at least four milliseconds; a shorter time counts as four.
    /// Without this setting, a child is passivated only on request.
    ///
    /// Rule [18.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-18.6).
    pub fn idle(mut self, after: Duration) -> Self {
        self.idle = Some(after);
        self
    }

    /// Allows at most this many children at a time, including those that are ending. Without this setting, there may be any number,
    /// so set it if the keys come from outside the program. A [`get_or_spawn`](Children::get_or_spawn) that would create one more
    /// returns [`SpawnError::TooManyChildren`].
    ///
    /// Rule [18.10](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-18.10).
    pub fn limit(mut self, children: usize) -> Self {
        self.limit = Some(children);
        self
    }

    /// Sets the kind of the children's mailboxes.
    ///
    /// # Panics
    ///
    /// If the mailbox is bounded and its capacity is 0.
    #[track_caller]
    pub fn mailbox(mut self, mailbox: MailboxKind) -> Self {
        self.mailbox = mailbox.with_room();
        self
    }

    /// Spawns the parent of the future children, as a child of this actor. It supervises them with the strategy and the
    /// table that this actor's type declares. If that table escalates a failure, the parent fails with it (rule
    /// [18.7](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-18.7)).
    ///
    /// # Errors
    ///
    /// If the name is invalid or taken, or this actor is stopping.
    pub fn spawn<P>(self, ctx: &mut Context<P>, name: impl AsRef<str>) -> Result<Children<K, C>, SpawnError>
    where
        P: Actor,
        C: SupervisedBy<P>,
        E: DecidedBy<P>,
    {
        let map = Arc::new(SeatMap::new(self));
        let parent = ctx.me().actor_ref().to_any();
        let props = Props::<Registry<K, C, P>>::new({
            let at_its_end = CloseAtEnd(Arc::clone(&map));
            move || Registry::new(Arc::clone(&at_its_end.0))
        });
        let props = supervising_by(props, ctx.configuration());
        let registry = Cell::spawn_under(&parent, NewName::Given(name.as_ref()), props)?;
        map.belongs_to(registry.to_any());
        Ok(Children { map: Some(map) })
    }
}

/// The type of the parent of keyed children.
pub(crate) const fn type_of_parent<K: ChildKey, C: Actor, P: Supervisor>() -> ActorType {
    ActorType::of::<Registry<K, C, P>>()
}

/// The children are supervised by the table of their owner, with the values that its instance has resolved.
fn supervising_by<K: ChildKey, C: Actor, P: Supervisor>(
    props: Props<Registry<K, C, P>>,
    configuration: Option<&Arc<Configuration>>,
) -> Props<Registry<K, C, P>> {
    let Some(values) = configuration.cloned() else { return props };
    let strategy = *values.strategy();
    let decide = move |failure: &Failure, child: &ChildInfo| Ok((P::rule_by(&values, failure, child)?, strategy));
    props.with_policy::<P>(strategy, P::TABLE, decide).marked()
}

impl<K, C: Actor, E> fmt::Debug for ChildrenProps<K, C, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildrenProps")
            .field("actor", &std::any::type_name::<C>())
            .field("idle", &self.idle)
            .field("mailbox", &self.mailbox)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
