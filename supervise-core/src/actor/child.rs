//! Declared children, as their parent and its instance see them: [`Child`] is the field, [`Declare`] fills it.
//!
//! [`supervision`](crate::supervision) decides when such a child starts, restarts and stops. The data here outlives the
//! parent's instance: the factory, so that a new incarnation does not need a turn of the parent, and the ref.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::actor::actor_ref::{ActorRef, AnyActorRef};
use crate::actor::cell::Cell;
use crate::actor::configuration::Configuration;
use crate::actor::definition::{Actor, Built, NeverFails, RefOf, Supervisor};
use crate::actor::description::DeciderTable;
use crate::actor::factory::Factory;
use crate::actor::parent_check::{DecidedBy, EscalationsDecidedBy, HandlersOfOneImplBlockDecidedBy, SupervisedBy};
use crate::actor::props::{AnyFactory, Decider, Props, Settings};
use crate::base::drop_contained;
use crate::failure::Failure;
use crate::mailbox::MailboxKind;
use crate::supervision::{ChildInfo, ChildSpec, RestartType, Strategy};

/// A child that its parent's type declares, as a field with `#[child(..)]`.
///
/// The field is not itself the ref: [`actor`](Self::actor) returns it. So the parent asks a child in the field `reader` with
/// `self.reader.actor().next_line().await`. `self.reader.next_line()` does not compile (E0599), because the handlers are methods of the ref.
///
/// Constructors write `Child::default()`. The runtime fills the field in on the parent's turn, in field order and
/// before `pre_start` (rule [14.1](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-14.1)).
/// From then on the field and all its clones reach the child's current incarnation, even after a permanent child was
/// replaced. A clone may be passed to siblings.
///
/// This is the code, written by hand, for `#[child(|_| || Reader)] reader: Child<Reader>`:
///
/// ```
/// # extern crate supervise_core as supervise;
/// use supervise::{Actor, ActorRef, ActorSystem, Child, ChildSpec, Context, Declare, Failure, Supervisor};
/// # use supervise::{EscalationsDecidedBy, HandlersOfOneImplBlockDecidedBy};
///
/// struct Reader;
/// # impl Supervisor for Reader {
/// #     type Ref = ActorRef<Self>;
/// # }
/// # impl Actor for Reader {
/// #     type Message = ();
/// #     async fn handle(&mut self, (): (), _: &mut Context<Self>) -> Result<(), Failure> {
/// #         Ok(())
/// #     }
/// # }
/// # impl<P> HandlersOfOneImplBlockDecidedBy<P> for Reader {}
/// # impl<P> EscalationsDecidedBy<P> for Reader {}
///
/// struct Library {
///     reader: Child<Reader>,
/// }
///
/// impl Supervisor for Library {
///     type Ref = ActorRef<Self>;
///     const CHILDREN: &'static [ChildSpec] = &[ChildSpec::new("reader")];
///
///     fn declare_child(&mut self, name: &'static str, declare: Declare<'_, Self>) {
///         if name == "reader" {
///             declare.child(self, |library| &mut library.reader, |_| || Reader);
///         }
///     }
/// }
///
/// impl Actor for Library {
///     type Message = ();
///
///     async fn handle(&mut self, (): (), ctx: &mut Context<Self>) -> Result<(), Failure> {
///         assert_eq!(ctx.child("reader"), Some(self.reader.actor().to_any()));
///         ctx.stop_self();
///         Ok(())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let system = ActorSystem::new("town");
/// let library = system.spawn("library", || Library { reader: Child::default() })?;
/// library.tell(())?;
/// system.ended(&library).await;
/// # system.terminate().await;
/// # Ok(())
/// # }
/// ```
pub struct Child<A> {
    slot: Option<Arc<Declaration<A>>>,
}

// The bounds stand at the methods, so that rustc shows the notes of `Actor` for a type that is not an actor yet.
impl<A> Child<A> {
    /// The child's ref. An ask to a child that has ended for good resolves with
    /// [`AskError::Stopped`](crate::AskError::Stopped), or with
    /// [`AskError::StoppedByFailure`](crate::AskError::StoppedByFailure) if it ended because of a failure.
    ///
    /// # Panics
    ///
    /// If the field has not been filled in yet, for example in the parent's factory and in the declarations of
    /// earlier fields. From the parent's `pre_start` on, it is filled in. [`get`](Self::get) does not panic but
    /// returns `None`.
    pub fn actor(&self) -> RefOf<A>
    where
        A: Supervisor,
    {
        match self.get() {
            Some(actor) => actor,
            None => panic!(
                "this `Child<{}>` has no child: a field with `#[child(..)]` gets one when its parent starts, in field \
                 order and before `pre_start`; any other `Child::default()` never gets one",
                std::any::type_name::<A>()
            ),
        }
    }

    /// The child's ref, or `None` before the field has been filled in.
    pub fn get(&self) -> Option<RefOf<A>>
    where
        A: Supervisor,
    {
        self.slot.as_ref()?.current().clone().map(Into::into)
    }
}

impl<A> Default for Child<A> {
    fn default() -> Self {
        Self { slot: None }
    }
}

impl<A> Clone for Child<A> {
    fn clone(&self) -> Self {
        Self { slot: self.slot.clone() }
    }
}

impl<A> fmt::Debug for Child<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.slot.as_ref().and_then(|slot| slot.current().clone()) {
            Some(actor) => write!(f, "Child({actor})"),
            None => f.write_str("Child(not there yet)"),
        }
    }
}

/// How a field's child is made, and its current ref.
struct Declaration<A> {
    current: Mutex<Option<ActorRef<A>>>,
    factory: LentCode<AnyFactory<A>>,
    /// The settings of [`Props`], if the field was declared with some.
    given: Mutex<Option<PropsSettings>>,
    /// The queue of its durable mailbox, from its [`Props`].
    #[cfg(feature = "durable")]
    queue: Mutex<Option<Arc<str>>>,
    decider: LentCode<Decider>,
}

/// Settings that the child has from its [`Props`].
#[derive(Clone, Copy)]
struct PropsSettings {
    mailbox: MailboxKind,
    stop_timeout: Option<Duration>,
    ask_timeout: Option<Duration>,
    policy: Option<(Strategy, DeciderTable)>,
}

/// A [`Declaration`] whose actor type is not known.
pub(crate) trait AnyDeclaration: Any + Send + Sync {
    /// Makes a new incarnation.
    fn start(self: Arc<Self>, parent: &AnyActorRef, at: usize, spec: &ChildSpec);
}

impl<A: Actor> AnyDeclaration for Declaration<A> {
    fn start(self: Arc<Self>, parent: &AnyActorRef, at: usize, spec: &ChildSpec) {
        let mut props = Props::<A>::from_factory(match (spec.restart, Arc::clone(&self)) {
            // A temporary child is never replaced, so its factory is dropped with it.
            (RestartType::Temporary, slot) => slot.factory.take(),
            (RestartType::Transient | RestartType::Permanent, slot) => {
                Box::new(move || slot.factory.lend(|factory| factory()))
            }
        });
        let given = *locked(&self.given);
        if let Some(PropsSettings { mailbox, policy, .. }) = given {
            props = props.mailbox(mailbox);
            if let Some((strategy, table)) = policy {
                let slot = Arc::clone(&self);
                let decide =
                    move |failure: &Failure, child: &ChildInfo| slot.decider.lend(|own| own(failure, child));
                props = props.with_policy::<A>(strategy, table, decide).marked();
            }
        }
        #[cfg(feature = "durable")]
        if let Some(queue) = locked(&self.queue).clone() {
            props = props.queue(queue);
        }
        if let Some(ask_timeout) = given.and_then(|given| given.ask_timeout) {
            props = props.ask_timeout(ask_timeout);
        }
        if let Some(stop_timeout) = spec.stop_timeout.or(given.and_then(|given| given.stop_timeout)) {
            props = props.stop_timeout(stop_timeout);
        }
        if let Some(actor) = Cell::spawn_field(parent, at, props) {
            // Dropped outside the lock: the last ref to an actor drops the failure because of which it ended.
            let earlier = self.current().replace(actor);
            drop(earlier);
        }
    }
}

impl<A> Declaration<A> {
    fn new() -> Self {
        let (factory, decider) = (LentCode::default(), LentCode::default());
        Self {
            current: Mutex::new(None),
            factory,
            given: Mutex::new(None),
            #[cfg(feature = "durable")]
            queue: Mutex::new(None),
            decider,
        }
    }

    fn current(&self) -> MutexGuard<'_, Option<ActorRef<A>>> {
        locked(&self.current)
    }
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// User code that successive incarnations run, outside the lock. `None` while it runs.
struct LentCode<F>(Mutex<Option<F>>);

impl<F> Default for LentCode<F> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<F> LentCode<F> {
    /// Keeps this from now on.
    fn replace(&self, code: Option<F>) {
        let earlier = std::mem::replace(&mut *locked(&self.0), code);
        drop_contained(earlier);
    }

    fn take(&self) -> F {
        match locked(&self.0).take() {
            Some(code) => code,
            None => unreachable!("it is there from the field's declaration on, and only its child runs it"),
        }
    }

    /// Runs it.
    fn lend<T>(&self, run: impl FnOnce(&mut F) -> T) -> T {
        let mut running = Running { kept: self, code: Some(self.take()) };
        match &mut running.code {
            Some(code) => run(code),
            None => unreachable!("given a line above"),
        }
    }
}

/// Puts user code back, whether it returned or panicked, unless the parent's new instance has declared other code.
struct Running<'a, F> {
    kept: &'a LentCode<F>,
    code: Option<F>,
}

impl<F> Drop for Running<'_, F> {
    fn drop(&mut self) {
        let mut kept = locked(&self.kept.0);
        if kept.is_none() {
            *kept = self.code.take();
        }
        drop(kept);
        drop_contained(self.code.take());
    }
}

impl<F> Drop for LentCode<F> {
    fn drop(&mut self) {
        self.replace(None);
    }
}

/// Lets the instance of a parent declare how the child of one field is made.
pub struct Declare<'a, P> {
    pub(crate) slot: Option<&'a mut Option<Arc<dyn AnyDeclaration>>>,
    /// The field's child, if it survived the parent's restart (rule 14.6).
    pub(crate) survivor: Option<AnyActorRef>,
    /// The values that the parent's table takes from its settings.
    pub(crate) configuration: Option<Arc<Configuration>>,
    parent: PhantomData<fn() -> P>,
}

impl<'a, P> Declare<'a, P> {
    pub(crate) fn new(
        slot: Option<&'a mut Option<Arc<dyn AnyDeclaration>>>,
        survivor: Option<AnyActorRef>,
        configuration: Option<Arc<Configuration>>,
    ) -> Self {
        Self { slot, survivor, configuration, parent: PhantomData }
    }

    /// Declares the child of `field`. `make` runs now and returns the child's factory, which runs on the child's own
    /// turn.
    pub fn child<B, F>(
        self,
        parent: &mut P,
        field: impl FnOnce(&mut P) -> &mut Child<B::Actor>,
        make: impl FnOnce(&mut P) -> F,
    ) where
        F: Factory<Product = B> + Send + 'static,
        B: Built,
        B::Actor: SupervisedBy<P>,
        B::Cause: DecidedBy<P>,
    {
        let factory = make(parent);
        self.fill(parent, field, factory);
    }

    /// The second half of [`child`](Self::child), without its bounds.
    pub(crate) fn fill<B, F>(
        self,
        parent: &mut P,
        field: impl FnOnce(&mut P) -> &mut Child<B::Actor>,
        mut factory: F,
    ) where
        F: Factory<Product = B> + Send + 'static,
        B: Built,
    {
        self.place(parent, field, |slot| {
            slot.factory.replace(Some(Box::new(move || factory.make().built())));
        });
    }

    /// Declares the child of `field` with the [`Props`] that `make` returns (rule
    /// [14.7](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-14.7)): a pool, a
    /// backoff supervisor, or an actor with settings of its own. `make` runs now; the factory in the props runs on the
    /// child's own turn, again for each of its instances.
    pub fn child_with<A, C, T>(
        self,
        parent: &mut P,
        field: impl FnOnce(&mut P) -> &mut Child<A>,
        make: impl FnOnce(&mut P) -> Props<A, C, T>,
    ) where
        A: Actor + HandlersOfOneImplBlockDecidedBy<P>,
        C: DecidedBy<P>,
        T: EscalationsDecidedBy<P>,
    {
        let props = make(parent);
        self.fill_with(parent, field, props);
    }

    /// The second half of [`child_with`](Self::child_with), without its bounds.
    pub(crate) fn fill_with<A: Actor, C, T>(
        self,
        parent: &mut P,
        field: impl FnOnce(&mut P) -> &mut Child<A>,
        props: Props<A, C, T>,
    ) {
        let Props { factory, mailbox, settings, .. } = props.marked::<NeverFails, A>();
        let Settings {
            stop_timeout,
            ask_timeout,
            policy,
            #[cfg(feature = "durable")]
            queue,
        } = settings.map_or_else(Settings::default, |settings| *settings);
        let shape = policy.as_ref().map(|policy| (policy.strategy, policy.table));
        self.place(parent, field, |slot| {
            slot.factory.replace(Some(factory.into_inner()));
            slot.decider.replace(policy.map(|policy| policy.decide.into_inner()));
            #[cfg(feature = "durable")]
            {
                *locked(&slot.queue) = queue;
            }
            *locked(&slot.given) = Some(PropsSettings { mailbox, stop_timeout, ask_timeout, policy: shape });
        });
    }

    /// Fills the field in, with the declaration of an earlier instance if there is one.
    fn place<A: Actor>(
        self,
        parent: &mut P,
        field: impl FnOnce(&mut P) -> &mut Child<A>,
        declare: impl FnOnce(&Declaration<A>),
    ) {
        let Some(place) = self.slot else { return };
        let slot = match place.take().map(|slot| (slot as Arc<dyn Any + Send + Sync>).downcast()) {
            Some(Ok(slot)) => slot,
            _ => Arc::new(Declaration::new()),
        };
        declare(&slot);
        if let Some(survivor) = self.survivor {
            let earlier = std::mem::replace(&mut *slot.current(), survivor.downcast());
            drop(earlier);
        }
        *field(parent) = Child { slot: Some(Arc::clone(&slot)) };
        *place = Some(slot);
    }
}

impl<P> fmt::Debug for Declare<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Declare").field("survivor", &self.survivor).finish_non_exhaustive()
    }
}

/// A hand-written actor lists a child in `CHILDREN` that its `declare_child` does not declare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`declare_child` did not declare the child `{name}`")]
pub struct UndeclaredChild {
    /// The child's name.
    pub name: &'static str,
}
