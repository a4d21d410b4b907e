//! The settings of a pool.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

use super::{Pool, Shared, assert_size};
use crate::actor::{Actor, DeciderTable, DefaultTable, NeverFails, Props, SupervisionTable, Unchecked};
use crate::failure::Failure;
use crate::pattern::routing::Routing;
use crate::pattern::template::{Blueprint, Template};
use crate::pattern::{BlueprintUnder, decider, partial_decider};
use crate::supervision::{AutoShutdown, Directive, OnLimit, RestartType, Strategy};

/// The settings of a [`Pool`]. `B` is what its template returns, `T` the table that says what the pool escalates.
#[must_use = "settings do nothing until `props()` is spawned"]
pub struct PoolProps<B: Blueprint, T = DefaultTable> {
    shared: Shared<B::Actor>,
    types: PhantomData<fn() -> (B, T)>,
}

impl<B: Blueprint> PoolProps<B> {
    pub(super) fn new(size: usize, template: Template<B::Actor>, routing: Routing<MessageOf<B>>) -> Self {
        assert_size(size);
        let shared = Shared {
            size,
            template,
            routing,
            restart: RestartType::Transient,
            strategy: DefaultTable::STRATEGY,
            table: DefaultTable::TABLE,
            decide: decider(DefaultTable::rule),
            unwanted: Mutex::default(),
        };
        Self { shared, types: PhantomData }
    }
}

type MessageOf<B> = <<B as Blueprint>::Actor as Actor>::Message;

impl<B: Blueprint, T> PoolProps<B, T> {
    fn marked<S>(self) -> PoolProps<B, S> {
        PoolProps { shared: self.shared, types: PhantomData }
    }

    /// Sets the table, its strategy and its rules, by which the pool supervises its workers. The compiler checks that
    /// the table decides every failure of a worker, and that the table of the pool's parent decides what it escalates.
    ///
    /// # Panics
    ///
    /// If its strategy has an `auto_shutdown`: that setting is for declared children.
    pub fn supervised_by<S: SupervisionTable>(mut self) -> PoolProps<B, S>
    where
        B: BlueprintUnder<S>,
    {
        assert_no_shutdown(&S::STRATEGY);
        self.shared.strategy = S::STRATEGY;
        self.shared.table = S::TABLE;
        self.shared.decide = decider(S::rule);
        self.marked()
    }

    /// Sets what happens to workers that end. The default is [`Transient`](RestartType::Transient).
    ///
    /// | | permanent | transient | temporary |
    /// |---|---|---|---|
    /// | fails, decided `Restart` | restarted | restarted | stops |
    /// | fails, decided `Stop` | restarted | stops | stops |
    /// | ends by itself, or by a requested stop | replaced | leaves | leaves |
    ///
    /// At the limit, a pool of permanent workers fails itself, whatever the strategy says, as OTP's supervisors do,
    /// because it cannot do without a permanent worker. So the table of its parent needs `on(_)`.
    pub fn restart(mut self, restart: RestartType) -> PoolProps<B, Unchecked> {
        self.shared.restart = restart;
        self.marked()
    }

    /// Sets which workers a failure affects, and how many restarts are granted. The default is one-for-one without a
    /// limit. The limit also bounds how often the pool replaces permanent workers that end by themselves, counted over
    /// all workers.
    ///
    /// A strategy may escalate at its limit. The compiler cannot see that in a value, so the table of the pool's parent
    /// needs `on(_)`. It does check the strategy of a [table](Self::supervised_by).
    ///
    /// # Panics
    ///
    /// If the strategy has an `auto_shutdown`: that setting is for declared children.
    pub fn strategy(mut self, strategy: Strategy) -> PoolProps<B, Unchecked> {
        assert_no_shutdown(&strategy);
        self.shared.strategy = strategy;
        self.marked()
    }

    /// Sets a function, chosen at run time, that decides the workers' failures. If it returns `None`, the [default
    /// decider](crate::default_decider) decides. The compiler cannot see what the function escalates, so the table of
    /// the pool's parent needs `on(_)`.
    ///
    /// If the choice is known at compile time, use [`supervised_by`](Self::supervised_by), which the compiler checks.
    pub fn decider_unchecked(
        mut self,
        decide: impl Fn(&Failure) -> Option<Directive> + Send + Sync + 'static,
    ) -> PoolProps<B, Unchecked> {
        self.shared.table = DeciderTable::AtRunTime;
        self.shared.decide = partial_decider(decide);
        self.marked()
    }

    /// The props for `spawn_with`. The pool has the same kind of mailbox as its workers.
    pub fn props(self) -> Props<Pool<B::Actor>, NeverFails, T> {
        let mut shared = self.shared;
        if shared.restart == RestartType::Permanent {
            shared.strategy.on_limit = OnLimit::Escalate;
        }
        let (strategy, table, mailbox) = (shared.strategy, shared.table, shared.template.mailbox());
        let shared = Arc::new(shared);
        let decider = Arc::clone(&shared);
        Props::new(move || Pool::of(&shared)).mailbox(mailbox).with_policy(
            strategy,
            table,
            move |failure, worker| decider.decide(failure, worker),
        )
    }
}

fn assert_no_shutdown(strategy: &Strategy) {
    assert!(
        strategy.auto_shutdown == AutoShutdown::Never,
        "a pool has no significant children: it stops when its last worker has left, so `auto_shutdown` has no effect here"
    );
}

impl<B: Blueprint, T> fmt::Debug for PoolProps<B, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolProps")
            .field("size", &self.shared.size)
            .field("template", &self.shared.template)
            .field("routing", &self.shared.routing)
            .field("restart", &self.shared.restart)
            .field("strategy", &self.shared.strategy)
            .finish_non_exhaustive()
    }
}
