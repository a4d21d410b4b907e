//! Declared children, as their parent and its instance see them: [`Child`] is the field, [`Declare`] fills it.
//!
//! [`supervision`](crate::supervision) decides when such a child starts, restarts and stops. The data here outlives the
//! parent's instance: the factory, so that a new incarnation does not need a turn of the parent, and the ref.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::actor::actor_ref::{ActorRef, AnyActorRef};
use crate::actor::cell::Cell;
use crate::actor::definition::{Actor, Built, DecidedBy, RefOf, SupervisedBy};
use crate::actor::factory::Factory;
use crate::actor::props::{AnyFactory, Props};
use crate::base::drop_contained;
use crate::failure::Failure;
use crate::supervision::{ChildSpec, RestartType};

/// A child that its parent's type declares, as a field with `#[child(..)]`.
///
/// Constructors write `Child::default()`. The runtime fills the field in on the parent's turn, in field order and
/// before `pre_start` (rule [14.1](https://docs.rs/supervise/latest/supervise/docs/semantics/index.html#rule-14.1)).
/// From then on the field reaches the child's current incarnation, also after a permanent child was replaced. So does
/// every clone of it, which may be passed to siblings.
///
/// This is the code, written by hand, for `#[child(|_| || Reader)] reader: Child<Reader>`:
///
/// ```
/// use supervise_core::{Actor, ActorRef, ActorSystem, Child, ChildSpec, Context, Declare, Failure, Supervisor};
/// # use supervise_core::{EscalationsDecidedBy, FailuresDecidedBy};
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
/// # impl<P> FailuresDecidedBy<P> for Reader {}
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

impl<A: Actor> Child<A> {
    /// The child's ref. An ask to a child that has ended for good resolves with
    /// [`AskError::Stopped`](crate::AskError::Stopped).
    ///
    /// # Panics
    ///
    /// If the field has not been filled in yet, as in the parent's factory and in the declarations of earlier fields.
    /// From the parent's `pre_start` on, it is filled in. [`get`](Self::get) returns `None` instead.
    pub fn actor(&self) -> RefOf<A> {
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
    pub fn get(&self) -> Option<RefOf<A>> {
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
    /// `None` while the factory runs.
    factory: Mutex<Option<AnyFactory<A>>>,
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
            (RestartType::Temporary, slot) => slot.take_factory(),
            (RestartType::Transient | RestartType::Permanent, slot) => Box::new(move || slot.build()),
        });
        if let Some(stop_timeout) = spec.stop_timeout {
            props = props.stop_timeout(stop_timeout);
        }
        if let Some(actor) = Cell::spawn_field(parent, at, props) {
            *self.current() = Some(actor);
        }
    }
}

impl<A> Declaration<A> {
    fn current(&self) -> MutexGuard<'_, Option<ActorRef<A>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn factory(&self) -> MutexGuard<'_, Option<AnyFactory<A>>> {
        self.factory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_factory(&self) -> AnyFactory<A> {
        match self.factory().take() {
            Some(factory) => factory,
            None => unreachable!("a factory is there from the field's declaration on, and only its child runs it"),
        }
    }

    /// Runs the factory, outside the lock.
    fn build(&self) -> Result<A, Failure> {
        let mut running = Running { slot: self, factory: Some(self.take_factory()) };
        match &mut running.factory {
            Some(factory) => factory(),
            None => unreachable!("given a line above"),
        }
    }
}

/// Puts a factory back, whether it returned or panicked, unless the parent's new instance has declared another one.
struct Running<'a, A> {
    slot: &'a Declaration<A>,
    factory: Option<AnyFactory<A>>,
}

impl<A> Drop for Running<'_, A> {
    fn drop(&mut self) {
        let mut kept = self.slot.factory();
        if kept.is_none() {
            *kept = self.factory.take();
        }
        drop(kept);
        drop_contained(self.factory.take());
    }
}

impl<A> Drop for Declaration<A> {
    fn drop(&mut self) {
        let factory = self.factory().take();
        drop_contained(factory);
    }
}

/// Lets the instance of a parent declare how the child of one field is made.
pub struct Declare<'a, P> {
    slot: Option<&'a mut Option<Arc<dyn AnyDeclaration>>>,
    /// The field's child, if it survived the parent's restart (rule 14.6).
    survivor: Option<AnyActorRef>,
    parent: PhantomData<fn() -> P>,
}

impl<'a, P> Declare<'a, P> {
    pub(crate) fn new(
        slot: Option<&'a mut Option<Arc<dyn AnyDeclaration>>>,
        survivor: Option<AnyActorRef>,
    ) -> Self {
        Self { slot, survivor, parent: PhantomData }
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
        let Some(place) = self.slot else { return };
        let slot = match place.take().map(|slot| (slot as Arc<dyn Any + Send + Sync>).downcast()) {
            Some(Ok(slot)) => slot,
            _ => Arc::new(Declaration { current: Mutex::new(None), factory: Mutex::new(None) }),
        };
        let earlier = slot.factory().replace(Box::new(move || factory.make().built()));
        drop_contained(earlier);
        if let Some(survivor) = self.survivor {
            *slot.current() = survivor.downcast();
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
