//! How to make an actor: its factory, and settings that differ from what its type declares.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use crate::actor::cell::CellProtocol;
use crate::actor::definition::{Actor, Built, Infallibly};
use crate::actor::description::{ActorDescription, DeciderTable};
use crate::base::UserValue;
use crate::failure::Failure;
use crate::mailbox::MailboxKind;
use crate::supervision::{ChildInfo, Directive, Strategy};

pub(crate) type Factory<A> = Box<dyn FnMut() -> Result<A, Failure> + Send>;
/// What to do about a child's failure, and under which strategy.
type Decider = Box<dyn Fn(&Failure, &ChildInfo) -> Result<(Directive, Strategy), Failure> + Send>;

/// A factory and settings, for [`Context::spawn_with`](crate::Context::spawn_with). `C` stands for what the factory
/// can fail with.
///
/// What is not set here is as the actor's type declares it.
pub struct Props<A: Actor, C = Infallibly> {
    pub(crate) factory: UserValue<Factory<A>>,
    pub(crate) mailbox: MailboxKind,
    pub(crate) settings: Option<Box<Settings>>,
    cause: PhantomData<fn() -> C>,
}

/// What few actors have: settings in place of what their type declares.
#[derive(Default)]
pub(crate) struct Settings {
    pub(crate) stop_timeout: Option<Duration>,
    pub(crate) policy: Option<Policy>,
}

/// A strategy and decider chosen at run time, in place of the compiled table.
pub(crate) struct Policy {
    pub(crate) strategy: Strategy,
    pub(crate) decide: UserValue<Decider>,
}

impl<A: Actor, C> Props<A, C> {
    /// The factory runs once for the first instance and once for each restart, on the actor's own turn.
    pub fn new<B>(mut factory: impl FnMut() -> B + Send + 'static) -> Self
    where
        B: Built<Actor = A, Cause = C>,
    {
        Self::from_factory(Box::new(move || factory().built()))
    }

    pub(crate) fn from_factory(factory: Factory<A>) -> Self {
        Self { factory: UserValue::new(factory), mailbox: A::MAILBOX, settings: None, cause: PhantomData }
    }

    /// Sets where messages wait.
    #[must_use]
    pub fn mailbox(mut self, mailbox: MailboxKind) -> Self {
        self.mailbox = mailbox;
        self
    }

    /// Sets how long a running handler or hook may go on after a stop request.
    #[must_use]
    pub fn stop_timeout(mut self, stop_timeout: Duration) -> Self {
        self.settings.get_or_insert_default().stop_timeout = Some(stop_timeout);
        self
    }

    /// Replaces the compiled table, for policies that come from configuration. The children were checked against
    /// the compiled one all the same.
    #[must_use]
    pub fn supervision(
        self,
        strategy: Strategy,
        decide: impl Fn(&Failure, &ChildInfo) -> Result<Directive, Failure> + Send + 'static,
    ) -> Self {
        self.supervision_for_each(strategy, move |failure, child| Ok((decide(failure, child)?, strategy)))
    }

    /// Like [`supervision`](Self::supervision), where the decider chooses a strategy for this child alone.
    #[must_use]
    pub(crate) fn supervision_for_each(
        mut self,
        strategy: Strategy,
        decide: impl Fn(&Failure, &ChildInfo) -> Result<(Directive, Strategy), Failure> + Send + 'static,
    ) -> Self {
        let policy = Policy { strategy, decide: UserValue::new(Box::new(decide)) };
        self.settings.get_or_insert_default().policy = Some(policy);
        self
    }
}

impl<A: Actor, C> Props<A, C> {
    /// The same, once it is known that the factory's failures are decided.
    pub(crate) fn checked(self) -> Props<A> {
        let Self { factory, mailbox, settings, cause: _ } = self;
        Props { factory, mailbox, settings, cause: PhantomData }
    }

    fn policy(&self) -> Option<&Policy> {
        self.settings.as_ref()?.policy.as_ref()
    }

    /// The type of an actor made of this, and how it supervises.
    pub(crate) fn description(&self) -> ActorDescription {
        let policy = self.policy().map(|policy| (policy.strategy, DeciderTable::AtRunTime));
        ActorDescription::of::<A>().supervising(policy)
    }

    /// The protocol of an actor made of this, whose parent is suspended `inherited` times.
    pub(crate) fn protocol(&self, inherited: u32) -> CellProtocol {
        let strategy = self.policy().map_or(A::STRATEGY, |policy| policy.strategy);
        CellProtocol::new(inherited).with_fields(A::CHILDREN, strategy.auto_shutdown)
    }
}

impl<A: Actor> Props<A> {
    /// For an instance that cannot be built twice. A restart finds nothing and fails.
    pub(crate) fn once(instance: A) -> Self {
        let mut instance = Some(instance);
        Self::from_factory(Box::new(move || instance.take().ok_or_else(|| Failure::new(SpentInstance))))
    }
}

/// An actor spawned with `spawn_once` was to be built a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this actor was spawned with `spawn_once` and cannot be built a second time")]
pub struct SpentInstance;

impl<A: Actor, C> fmt::Debug for Props<A, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Props")
            .field("actor", &std::any::type_name::<A>())
            .field("mailbox", &self.mailbox)
            .field("stop_timeout", &self.settings.as_ref().and_then(|settings| settings.stop_timeout))
            .finish_non_exhaustive()
    }
}
