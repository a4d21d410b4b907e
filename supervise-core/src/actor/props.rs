//! How to make an actor: its factory, and settings in place of those that its type declares.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use crate::actor::cell::CellProtocol;
use crate::actor::definition::{Actor, Built, NeverFails, Ruled};
use crate::actor::description::{ActorDescription, DeciderTable};
use crate::actor::factory::Factory;
use crate::actor::table::{TotalTable, Unchecked};
use crate::base::UserValue;
use crate::failure::Failure;
use crate::mailbox::MailboxKind;
use crate::supervision::{ChildInfo, Directive, Strategy};

pub(crate) type AnyFactory<A> = Box<dyn FnMut() -> Result<A, Failure> + Send>;
/// Decides a child's failure: the directive, the rule that matched, and the strategy under which the directive is carried out.
pub(crate) type Decider = Box<dyn Fn(&Failure, &ChildInfo) -> Result<(Ruled, Strategy), Failure> + Send>;

/// A factory and settings, for [`Context::spawn_with`](crate::Context::spawn_with). `C` stands for the errors of the
/// factory, and `T` for the table by which the actor supervises its children: that of its type, unless another one is
/// set here.
///
/// All other settings are those that the actor's type declares.
pub struct Props<A: Actor, C = NeverFails, T = A> {
    pub(crate) factory: UserValue<AnyFactory<A>>,
    pub(crate) mailbox: MailboxKind,
    pub(crate) settings: Option<Box<Settings>>,
    types: PhantomData<fn() -> (C, T)>,
}

/// Settings in place of those that the type declares. Few actors have any.
#[derive(Default)]
pub(crate) struct Settings {
    pub(crate) stop_timeout: Option<Duration>,
    pub(crate) ask_timeout: Option<Duration>,
    pub(crate) policy: Option<Policy>,
    #[cfg(feature = "durable")]
    pub(crate) queue: Option<std::sync::Arc<str>>,
}

/// A strategy and decider in place of those of the actor's type.
pub(crate) struct Policy {
    pub(crate) strategy: Strategy,
    /// The rules of `decide` as data, for people and tools.
    pub(crate) table: DeciderTable,
    pub(crate) decide: UserValue<Decider>,
}

/// What `spawn_with` takes: [`Props`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the props of an actor",
    label = "this is not `Props`",
    note = "a pool, a backoff supervisor or a circuit breaker gives its props: write `.props()` after it, `spawn_with(name, Pool::round_robin(4, || Worker).props())`",
    note = "a factory is spawned with `spawn(name, || Worker)`"
)]
pub trait GivesProps {
    /// The actor.
    type Actor: Actor;
    /// Stands for the errors of the factory.
    type Cause;
    /// The table by which the actor supervises its own children.
    type Table;
    /// The props.
    fn props(self) -> Props<Self::Actor, Self::Cause, Self::Table>;
}

#[diagnostic::do_not_recommend]
impl<A: Actor, C, T> GivesProps for Props<A, C, T> {
    type Actor = A;
    type Cause = C;
    type Table = T;

    fn props(self) -> Self {
        self
    }
}

impl<A: Actor, C> Props<A, C> {
    /// Makes props from a factory. It runs once for the first instance and once for each restart, on the actor's own
    /// turn.
    pub fn new<B>(mut factory: impl Factory<Product = B> + Send + 'static) -> Self
    where
        B: Built<Actor = A, Cause = C>,
    {
        Self::from_factory(Box::new(move || factory.make().built()))
    }

    pub(crate) fn from_factory(factory: AnyFactory<A>) -> Self {
        Self {
            factory: UserValue::new(factory),
            mailbox: const { A::MAILBOX.with_room() },
            settings: None,
            types: PhantomData,
        }
    }
}

impl<A: Actor, C, T> Props<A, C, T> {
    /// Sets the kind of the actor's mailbox.
    ///
    /// # Panics
    ///
    /// If the mailbox is bounded and its capacity is 0.
    #[must_use]
    #[track_caller]
    pub fn mailbox(mut self, mailbox: MailboxKind) -> Self {
        self.mailbox = mailbox.with_room();
        self
    }

    /// Sets how long a running handler or hook may continue after a stop request.
    #[must_use]
    pub fn stop_timeout(mut self, stop_timeout: Duration) -> Self {
        self.settings.get_or_insert_default().stop_timeout = Some(stop_timeout);
        self
    }

    /// Sets how long asks of this actor wait for the reply, unless the asker sets a limit.
    /// Rule [19.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-19.6).
    #[must_use]
    pub fn ask_timeout(mut self, ask_timeout: Duration) -> Self {
        self.settings.get_or_insert_default().ask_timeout = Some(ask_timeout);
        self
    }

    /// Names the queue of a durable mailbox, so that the queue stays when the actor moves. By default, it is the actor's path. Has no
    /// effect on other mailboxes.
    /// Rule [27.11](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.11).
    #[cfg(feature = "durable")]
    #[must_use]
    pub fn queue(mut self, name: impl AsRef<str>) -> Self {
        self.settings.get_or_insert_default().queue = Some(name.as_ref().into());
        self
    }

    #[cfg(feature = "durable")]
    pub(crate) fn queue_name(&self) -> Option<&str> {
        self.settings.as_ref()?.queue.as_deref()
    }

    /// Makes the actor supervise its children by another table than its type's. The compiler checked the children
    /// against the type's table, so the other table must decide every failure (it has an `on(_)`). The compiler checks
    /// what it escalates where the actor is spawned.
    #[must_use]
    pub fn supervised_by<S: TotalTable>(self) -> Props<A, C, S> {
        self.with_policy(S::STRATEGY, S::TABLE, |failure, child| Ok((S::rule(failure, child)?, S::STRATEGY)))
    }

    /// Replaces the compiled table by a strategy and a decider that are chosen at run time, from configuration for example. The compiler
    /// cannot see what they escalate, so the table of the actor's parent needs `on(_)`.
    ///
    /// If the choice is known at compile time, use [`supervised_by`](Self::supervised_by), which the compiler checks.
    #[must_use]
    pub fn supervision_unchecked(
        self,
        strategy: Strategy,
        decide: impl Fn(&Failure, &ChildInfo) -> Result<Directive, Failure> + Send + 'static,
    ) -> Props<A, C, Unchecked> {
        let decide = move |failure: &Failure, child: &ChildInfo| Ok(((decide(failure, child)?, None), strategy));
        self.with_policy(strategy, DeciderTable::AtRunTime, decide)
    }

    /// Sets a decider that chooses a strategy for each failure. `S` says what it escalates.
    pub(crate) fn with_policy<S>(
        self,
        strategy: Strategy,
        table: DeciderTable,
        decide: impl Fn(&Failure, &ChildInfo) -> Result<(Ruled, Strategy), Failure> + Send + 'static,
    ) -> Props<A, C, S> {
        let mut props = self.marked();
        let policy = Policy { strategy, table, decide: UserValue::new(Box::new(decide)) };
        props.settings.get_or_insert_default().policy = Some(policy);
        props
    }

    /// The same props with other markers, for callers that have checked or replaced what can fail and what is
    /// escalated.
    pub(crate) fn marked<D, S>(self) -> Props<A, D, S> {
        let Self { factory, mailbox, settings, types: _ } = self;
        Props { factory, mailbox, settings, types: PhantomData }
    }

    /// How long asks wait, if the actor sets a limit.
    pub(crate) fn asks_wait(&self) -> Option<Duration> {
        self.settings.as_ref().and_then(|settings| settings.ask_timeout).or(A::ASK_TIMEOUT)
    }

    fn policy(&self) -> Option<&Policy> {
        self.settings.as_ref()?.policy.as_ref()
    }

    /// Describes an actor with these props: its type, and how it supervises.
    pub(crate) fn description(&self) -> ActorDescription {
        let policy = self.policy().map(|policy| (policy.strategy, policy.table));
        ActorDescription::running::<A>().supervising(policy)
    }

    /// The protocol of an actor with these props, whose parent is suspended `inherited` times.
    pub(crate) fn protocol(&self, inherited: u32) -> CellProtocol {
        let strategy = self.policy().map_or(A::STRATEGY, |policy| policy.strategy);
        let protocol = CellProtocol::new(inherited).with_fields(A::CHILDREN, strategy.auto_shutdown);
        // Before its last hook, an actor that keeps reply slots notes why it drops them.
        if A::HAS_LAST_HOOK || A::KEEPS_REPLIES { protocol } else { protocol.without_last_hook() }
    }
}

impl<A: Actor> Props<A> {
    /// The same props with a factory that only fails.
    #[cfg(feature = "durable")]
    pub(crate) fn failing(mut self, error: impl std::error::Error + Clone + Send + Sync + 'static) -> Self {
        self.factory = UserValue::new(Box::new(move || Err(Failure::new(error.clone()))));
        self
    }

    /// Props for an instance that cannot be built twice. A restart finds no instance and fails.
    pub(crate) fn once(instance: A) -> Self {
        let mut instance = Some(instance);
        Self::from_factory(Box::new(move || instance.take().ok_or_else(|| Failure::new(SpentInstance))))
    }
}

/// A restart needed a second instance of an actor that was spawned with `spawn_once`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this actor was spawned with `spawn_once` and cannot be built a second time")]
pub struct SpentInstance;

impl<A: Actor, C, T> fmt::Debug for Props<A, C, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Props")
            .field("actor", &std::any::type_name::<A>())
            .field("mailbox", &self.mailbox)
            .field("stop_timeout", &self.settings.as_ref().and_then(|settings| settings.stop_timeout))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actor::actor_ref::ActorRef;
    use crate::actor::context::Context;
    use crate::actor::definition::Supervisor;
    use crate::mailbox::Overflow;

    struct Feed;

    impl Supervisor for Feed {
        type Ref = ActorRef<Self>;
    }

    impl Actor for Feed {
        type Message = ();

        async fn handle(&mut self, (): (), _: &mut Context<Self>) -> Result<(), Failure> {
            Ok(())
        }
    }

    #[test]
    #[should_panic(expected = "a mailbox needs room for at least 1 message")]
    fn a_mailbox_without_room_is_refused() {
        let _ = Props::new(|| Feed).mailbox(MailboxKind::Bounded { capacity: 0, overflow: Overflow::Fail });
    }
}
