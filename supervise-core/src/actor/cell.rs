//! The running actor: performs what the [protocol](crate::supervision::Protocol) decides.
//!
//! ```text
//!            system lane                    ┌────────────► effects: messages to other cells, timers, notes
//!   others ───────────────►  Protocol::step ┤
//!            user code comes back ────────► └─ the last ─► one call into user code: factory, hook, decider
//!            user lane ──(only if the protocol accepts messages)──► handler
//! ```
//!
//! A cell has two parts, so that a handler may borrow one while the other continues to work:
//!
//! - [`Cell`]: the part that refs reach: identity, mailbox, protocol. It is shared, and one allocation.
//! - `Runner`: the part that only the cell's own future touches: the instance, its context, the messages taken from the
//!   mailbox.
//!
//! 1. A handler or hook that waits at an await point delays only what needs the instance. The cell continues to take
//!    system messages (rule 1.4).
//! 2. The protocol's lock is held for one step, never around user code, never across an await. Values that a step
//!    releases are dropped after the lock.
//! 3. Every drop of a user's value is contained (rule 11.2), each on its own: see [`UserValue`](crate::base::UserValue).

mod any_seat;
#[cfg(feature = "durable")]
mod deliveries;
mod effect_runner;
mod on_demand;
mod redelivery;
mod run;
mod spawn;
mod undo;
mod user_code;
mod visit;

use std::any::{Any, TypeId};
use std::cell::Cell as Local;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Wake, Waker};
use std::time::Duration;

use crate::actor::actor_ref::{ActorRef, AnyActorRef};
use crate::actor::control::{ActorMailbox, Control};
use crate::actor::definition::Actor;
use crate::actor::description::ActorDescription;
use crate::actor::dispatch::{self, Task};
use crate::actor::end_reason::EndReason;
use crate::actor::reply::drop_because;
use crate::actor::request::{AskError, SendErrorReason};
use crate::actor::system::SystemCore;
use crate::base::{ActorName, ActorPath, Hold, Uid, drop_contained};
use crate::failure::Failure;
use crate::mailbox::{Lane, Mailbox, MailboxKind, Vitals};
use crate::observe::{DeadLetterReason, KeptMessage, Lost, Split, Whose};
use crate::supervision::{ChildId, ChildInfo, Effect, HowEnded, Input, Protocol, SystemMessage};

use self::on_demand::OnDemand;
pub(crate) use any_seat::{AnySeat, AtClose, NoOccupant};
pub(crate) use run::Runner;
pub use run::StashOverflow;
pub(crate) use spawn::NewName;
pub use spawn::SpawnError;
pub(crate) use visit::Visit;

use self::effect_runner::Basis;

pub(crate) type System = SystemMessage<AnyActorRef, Failure>;
pub(crate) type CellProtocol = Protocol<AnyActorRef, Failure>;
pub(crate) type Effects = Vec<Effect<AnyActorRef, Failure>>;

thread_local! {
    /// Effects live for one step, and their room is reused. If steps nest, because dropping a value stops another
    /// actor, the inner step makes its own room. In a box, because each step takes it and puts it back.
    static ROOM: Local<Option<Box<Room>>> = const { Local::new(None) };
}

/// What one step of the protocol leads to.
#[derive(Default)]
pub(crate) struct Room {
    pub(crate) effects: Effects,
    /// What the last decision was based on, if somebody is told of it.
    basis: Option<Basis>,
}

/// The largest buffer that is kept, in effects.
const KEPT_ROOM: usize = 64;

/// An empty room for the effects of one step, to be [put back](put_back) when they have been carried out.
///
/// One function that takes a closure would be safer, but each step would copy its input into the closure.
#[inline]
pub(crate) fn room() -> Box<Room> {
    // The thread-local is missing only while the thread ends.
    ROOM.try_with(Local::take).ok().flatten().unwrap_or_default()
}

/// Keeps a room, which must be empty, for the next step.
#[inline]
pub(crate) fn put_back(room: Box<Room>) {
    debug_assert!(room.effects.is_empty(), "all effects are carried out");
    if room.effects.capacity() <= KEPT_ROOM {
        let _late = ROOM.try_with(|kept| kept.set(Some(room)));
    }
}

/// A cell's protocol, locked. Causes that it releases are dropped after the lock.
pub(crate) struct LockedProtocol<'a> {
    protocol: MutexGuard<'a, CellProtocol>,
    _hold: Hold,
}

impl Deref for LockedProtocol<'_> {
    type Target = CellProtocol;

    fn deref(&self) -> &CellProtocol {
        &self.protocol
    }
}

impl DerefMut for LockedProtocol<'_> {
    fn deref_mut(&mut self) -> &mut CellProtocol {
        &mut self.protocol
    }
}

/// The part of an actor that its refs reach. Its type depends only on the messages, so that an actor that takes the
/// messages of another type can be reached through that type's ref, at no cost.
pub(crate) struct Cell<M> {
    pub(crate) core: Core,
    pub(crate) mailbox: ActorMailbox<M>,
}

/// The part of a cell that does not depend on the actor's type.
pub(crate) struct Core {
    pub(crate) name: ActorName,
    pub(crate) uid: Uid,
    /// Its id under its parent.
    pub(crate) id: ChildId,
    pub(crate) parent: Option<AnyActorRef>,
    pub(crate) system: Arc<SystemCore>,
    description: ActorDescription,
    protocol: Mutex<CellProtocol>,
    /// Allocated when the actor needs one of these things for the first time.
    on_demand: OnceLock<OnDemand>,
}

/// A cell of any type.
pub(crate) trait AnyCell: Any + Send + Sync {
    fn core(&self) -> &Core;
    fn core_mut(&mut self) -> &mut Core;
    /// Pushes a system message. Returns `false` if it and the message that waited last have undone each other. The
    /// error is the message, if the lane is closed.
    fn push_system(&self, message: System) -> Result<bool, System>;
    fn push_control(&self, control: Control) -> Result<(), Control>;
    /// Refuses messages from now on, and puts `last` behind those that wait.
    fn drain(&self, last: Control);
    fn has_ended(&self) -> bool;
    /// How many messages wait. Also a hint.
    fn waiting(&self) -> usize;
    /// How many messages wait or are being handled. Also a hint.
    fn pending(&self) -> usize;
    /// What the mailbox is like now.
    fn vitals(&self) -> Vitals;
    /// Times the next message, if messages are timed.
    #[cfg(feature = "timing")]
    fn time_next(&self);
    /// Parks the task after a turn, or returns it if there is more to do.
    fn park(&self, task: Task) -> Result<(), Task>;
    fn unpark(&self) -> Option<Task>;
    /// Wakes the cell's user code.
    fn wake(&self);
    /// Takes the task out, as [`unpark`](Self::unpark) does, if the actor is idle: it waits for messages, and no code of it waits.
    fn take_idle(&self) -> Option<Task>;
}

impl<M: Send + 'static> AnyCell for Cell<M> {
    fn core(&self) -> &Core {
        &self.core
    }

    fn core_mut(&mut self) -> &mut Core {
        &mut self.core
    }

    fn push_system(&self, message: System) -> Result<bool, System> {
        if undo::may_undo(&message)
            && let Some(last) = self.mailbox.take_back(|last, before| undo::undoes(last, before, &message))
        {
            // The last ref to a failure may be in there.
            drop_contained(last);
            if !undo::replaces(&message) {
                drop_contained(message);
                return Ok(false);
            }
        }
        if undo::may_pile_up(&message) {
            drop_contained(self.mailbox.tidy_system(undo::take_superseded));
        }
        self.mailbox.push_system(message).map(|task| {
            self.core.run(task);
            true
        })
    }

    fn push_control(&self, control: Control) -> Result<(), Control> {
        self.mailbox.push_control(control).map(|task| self.core.run(task))
    }

    fn drain(&self, last: Control) {
        let last = self.core.description().at_drain().map_or(last, Control::Visit);
        // If the actor has ended, there is nothing to drain.
        if let Ok((task, refused)) = self.mailbox.drain(last) {
            self.core.run(task);
            refused.into_iter().for_each(Waker::wake);
        }
    }

    fn has_ended(&self) -> bool {
        self.mailbox.is_closed()
    }

    fn waiting(&self) -> usize {
        self.mailbox.waiting()
    }

    fn pending(&self) -> usize {
        self.mailbox.pending()
    }

    fn vitals(&self) -> Vitals {
        self.mailbox.vitals()
    }

    #[cfg(feature = "timing")]
    fn time_next(&self) {
        self.mailbox.time(self.core.system.observer().times_one_in(), true);
    }

    fn park(&self, task: Task) -> Result<(), Task> {
        self.mailbox.park(task)
    }

    fn unpark(&self) -> Option<Task> {
        self.mailbox.unpark()
    }

    fn wake(&self) {
        dispatch::woke_a_cell();
        self.core.run(self.mailbox.wake());
    }

    fn take_idle(&self) -> Option<Task> {
        self.mailbox.take_idle()
    }
}

/// A cell that takes the messages of the actor type `A`.
///
/// The bound is on the method, so that a ref needs no bound.
pub(crate) trait TypedCell<A>: AnyCell {
    fn mailbox(&self) -> &ActorMailbox<A::Message>
    where
        A: Actor;
}

impl<A: Actor> TypedCell<A> for Cell<A::Message> {
    fn mailbox(&self) -> &ActorMailbox<A::Message> {
        &self.mailbox
    }
}

/// The waker of the cell's user code.
impl<M: Send + 'static> Wake for Cell<M> {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        AnyCell::wake(&**self);
    }
}

impl<M: Send + 'static> Cell<M> {
    /// A ref to an actor that has already stopped, below the root. For code that needs a ref although there is no
    /// actor.
    pub(crate) fn nobody<A: Actor<Message = M>>(system: &Arc<SystemCore>, name: &str) -> ActorRef<A> {
        let dead = |name: &str, parent| {
            let core = Core::new(
                ActorName::from(name),
                ChildId::ROOT,
                parent,
                Arc::clone(system),
                ActorDescription::of::<A>(),
                Protocol::new(0),
            );
            let _nothing = core.protocol().abandon();
            core.ends_because(EndReason::Unknown);
            let mailbox = Mailbox::new(MailboxKind::Unbounded);
            mailbox.close_user_lane();
            mailbox.close_system_lane();
            ActorRef::new(Arc::new(Self { core, mailbox }))
        };
        if name.is_empty() { dead("", None) } else { dead(name, Some(dead("", None).to_any())) }
    }

    /// Asks of this cell have a limit in time: their own, or that of the system. Called before anything can reach this cell.
    #[cold]
    fn limit_asks(&self, own: Option<Duration>) {
        if let Some(limit) = own {
            self.core.set_ask_timeout(limit);
        }
        self.mailbox.guard();
    }

    /// Called when this cell handles no further message. Returns the waiting messages, unless they stay for
    /// the successor.
    #[cold]
    fn leave(&self, seat: &Arc<dyn AnySeat>) -> Option<Lane<M, Control>> {
        let mut user = Lane::new();
        match seat.closes(self.core.uid, &mut || user = self.mailbox.drain_user_lane()) {
            AtClose::Close => Some(self.mailbox.close_user_lane()),
            AtClose::Emptied => Some(user),
            AtClose::Keep => None,
        }
    }
}

/// The cell's own code panicked, which is a bug in this crate. Its instance was dropped without hooks. Its parent and
/// its watchers are told that it ended, so that they can continue, and its children are stopped.
fn broke<'a>(me: &AnyActorRef, known: &CellProtocol, watchers: impl Iterator<Item = &'a AnyActorRef>) {
    let core = me.core();
    for (_, child) in known.children() {
        child.send_system(System::Terminate);
    }
    let how = HowEnded::Aborted;
    match &core.parent {
        Some(parent) => parent.send_system(System::Ended { subject: me.clone(), child: Some(core.id), how }),
        None => core.system.root_ended(),
    }
    for watcher in watchers.filter(|watcher| core.parent.as_ref() != Some(*watcher)) {
        watcher.send_system(System::Ended { subject: me.clone(), child: None, how });
    }
}

/// The runtime goes away, so the actors of this system need not be told anything. The actors of other systems continue
/// to run, and are told.
fn gone_with_its_runtime<'a>(me: &AnyActorRef, watchers: impl Iterator<Item = &'a AnyActorRef>) {
    let system = &me.core().system;
    for watcher in watchers.filter(|watcher| !Arc::ptr_eq(&watcher.core().system, system)) {
        watcher.send_system(System::Ended { subject: me.clone(), child: None, how: HowEnded::Aborted });
    }
}

impl Core {
    #[inline]
    pub(crate) fn new(
        name: ActorName,
        id: ChildId,
        parent: Option<AnyActorRef>,
        system: Arc<SystemCore>,
        description: ActorDescription,
        protocol: CellProtocol,
    ) -> Self {
        Self {
            name,
            uid: Uid::random(),
            id,
            parent,
            system,
            description,
            protocol: Mutex::new(protocol),
            on_demand: OnceLock::new(),
        }
    }

    /// Whether refs of the type `actor` reach it.
    pub(crate) fn answers_to(&self, actor: TypeId) -> bool {
        self.description.answers_to(actor)
    }

    pub(crate) fn description(&self) -> &ActorDescription {
        &self.description
    }

    /// Queues the cell's task, if it was parked.
    pub(crate) fn run(&self, task: Option<Task>) {
        if let Some(task) = task {
            self.system.dispatcher().ready(task);
        }
    }

    pub(crate) fn path(&self) -> ActorPath {
        if let Some(path) = self.kept_path() {
            return path.clone();
        }
        let mut names = Vec::new();
        let mut core = self;
        while let Some(parent) = &core.parent {
            names.push(&*core.name);
            core = parent.core();
        }
        if !core.name.is_empty() {
            return ActorPath::elsewhere(&core.name);
        }
        ActorPath::from_elements(self.system.name(), names.into_iter().rev())
    }

    /// The path, in parts unless it is kept. The parent keeps its own from now on, because it is likely to have more children to
    /// tell of.
    fn path_in_parts(&self) -> Whose {
        match (self.kept_path(), &self.parent) {
            (None, Some(parent)) => Whose::Child(parent.core().keep_path(), self.name.clone()),
            _ => Whose::Path(self.path()),
        }
    }

    /// Whether the actor lives in this process. Only the root has no parent here; an actor of another node has none and is named by
    /// its whole path.
    pub(crate) fn is_local(&self) -> bool {
        self.parent.is_some() || self.name.is_empty()
    }

    /// Why the handler of a message was dropped at the stop timeout, for its asker.
    #[cold]
    pub(crate) fn why_aborted(&self) -> AskError {
        if self.protocol().is_stopping() { self.end_reason().into_ask_error() } else { AskError::Interrupted }
    }

    /// Why a message found nobody, for the message and for its sender.
    pub(crate) fn why_refused(&self, nobody: NoOccupant) -> (DeadLetterReason, SendErrorReason) {
        match nobody {
            NoOccupant::Gone => self.why_closed(),
            NoOccupant::Full => (DeadLetterReason::TooManyChildren, SendErrorReason::TooManyChildren),
        }
    }

    /// Why the mailbox is closed, for a message and for its sender.
    #[cold]
    pub(crate) fn why_closed(&self) -> (DeadLetterReason, SendErrorReason) {
        if matches!(self.end_reason(), EndReason::Unreachable) {
            (DeadLetterReason::Unreachable, SendErrorReason::Unreachable)
        } else {
            (DeadLetterReason::Stopped, SendErrorReason::Stopped)
        }
    }

    /// Invariant 2.
    pub(crate) fn protocol(&self) -> LockedProtocol<'_> {
        let hold = Hold::new();
        LockedProtocol { protocol: self.protocol.lock().unwrap_or_else(PoisonError::into_inner), _hold: hold }
    }

    /// One step of the protocol. Returns whether the next user message may be handled. If the protocol asks the decider, `about` is
    /// set to the child in question. Here and not in the generic runner, so that it is compiled once and not for each actor type.
    fn step(
        &self,
        input: Input<'_, AnyActorRef, Failure>,
        about: &mut Option<ChildInfo>,
        effects: &mut Effects,
    ) -> bool {
        let mut protocol = self.protocol();
        protocol.step(input, effects);
        if let Some(Effect::Decide(child, _)) = effects.last() {
            *about = protocol.about(*child);
        }
        protocol.accepts_messages()
    }

    /// Reports a dead letter for which no asker waits.
    pub(crate) fn dead_letter(&self, message: &'static str, reason: DeadLetterReason) {
        self.lost(Lost::new(message, reason, false));
    }

    /// Drops a message that this actor will not handle: tells its asker why, and reports a dead letter.
    pub(crate) fn lose<M: Send + 'static>(
        &self,
        name: &'static str,
        reason: DeadLetterReason,
        why: AskError,
        message: M,
    ) {
        let (answered, kept) = self.keep_lost(why, message);
        self.lost(Lost { kept, ..Lost::new(name, reason, answered) });
    }

    /// Tells the asker of a message why it is lost, and drops the message or keeps it for somebody who asked for it. Also returns
    /// whether an asker waited.
    pub(crate) fn keep_lost<M: Send + 'static>(&self, why: AskError, message: M) -> (bool, Option<KeptMessage>) {
        let Some(keeper) = self.system.observer().keeper::<M>() else { return (drop_because(why, message), None) };
        let Split { message, rest } = keeper.split(message);
        (drop_because(why, rest), Some(KeptMessage { message, keeper }))
    }

    pub(crate) fn lost(&self, lost: Lost) {
        let lost = Lost { to: Some(self.uid), ..lost };
        self.system.dead_letter(|| (self.path(), Some(self.description().type_name())), lost);
    }
}

/// A ref keeps all ancestors of its actor alive. They are released in a loop, so that dropping the last ref to an actor
/// at any depth does not overflow the stack.
impl Drop for Core {
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(mut parent) = next {
            next = Arc::get_mut(&mut parent.0).and_then(|cell| cell.core_mut().parent.take());
        }
    }
}

impl fmt::Display for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.path(), self.uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actor::definition::Supervisor;
    use crate::actor::props::Props;
    use crate::actor::system::ActorSystem;

    struct Plain;

    impl Supervisor for Plain {
        type Ref = ActorRef<Self>;
        const STASH_CAPACITY: usize = 0;
    }

    impl Actor for Plain {
        /// Whether it stands for a bug.
        type Message = bool;

        fn stash_while(&self, bug: &bool) -> bool {
            *bug
        }

        /// Panics where no code contains a panic.
        fn message_name(bug: &bool) -> &'static str {
            assert!(!bug, "as told");
            "plain"
        }
    }

    /// Everything that an idle actor holds, apart from its state, its messages and its handler's future.
    #[cfg(target_pointer_width = "64")]
    #[test]
    fn an_idle_actor_is_small() {
        fn made<I, O>(_: impl FnOnce(I) -> O) -> usize {
            size_of::<O>()
        }
        let (shared, future) = (size_of::<Cell<()>>(), made(Runner::<Plain>::run));
        // The feature `timing` adds the sampler and the marks of the lane.
        let timing = if cfg!(feature = "timing") { 32 } else { 0 };
        assert!(shared <= 336 + timing, "the shared part takes {shared} bytes");
        // The feature `spans` adds a pointer, and `timing` the message that is timed. Debug builds add two pointers: they finish user
        // code through trait objects.
        let spans = if cfg!(feature = "spans") { 8 } else { 0 };
        let timing = if cfg!(feature = "timing") { 56 } else { 0 };
        let limit = if cfg!(debug_assertions) { 272 + spans + timing } else { 256 + spans + timing };
        assert!(future <= limit, "the future takes {future} bytes");
    }

    #[tokio::test]
    async fn a_cell_that_breaks_is_told_of_and_takes_its_children_along() {
        let system = ActorSystem::new("broken");
        let spawn = || system.spawn("plain", || Plain);
        let plain = spawn().unwrap();
        let child = Cell::spawn_under(&plain.to_any(), NewName::Given("child"), Props::new(|| Plain)).unwrap();
        let watching = tokio::spawn({
            let (system, plain) = (system.clone(), plain.clone());
            async move { system.ended(&plain).await }
        });
        while plain.core().protocol().watchers().count() == 0 || !child.core().protocol().accepts_messages() {
            tokio::task::yield_now().await;
        }
        plain.tell(true).unwrap();
        plain.tell(false).unwrap();
        assert_eq!(watching.await.unwrap(), HowEnded::Aborted);
        assert!(plain.tell(false).is_err());
        system.ended(&child).await;
        // The parent knows too, so that the name is free.
        while spawn().is_err() {
            tokio::task::yield_now().await;
        }
        system.terminate().await;
    }
}
