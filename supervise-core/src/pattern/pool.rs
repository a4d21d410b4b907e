//! A pool of workers of one template, behind one ref: a router that supervises its workers.
//!
//! | worker | permanent | transient | temporary |
//! |---|---|---|---|
//! | fails, decided `Restart` | restarted | restarted | stops |
//! | fails, decided `Stop` | restarted | stops | stops |
//! | a restart is refused by the limit | the pool fails | as the strategy says | – |
//! | ends by itself, or by a requested stop | replaced | leaves | leaves |
//!
//! The table is rule 13.8.
//!
//! 1. A replaced worker's successor has the same name, and so the same path: the name is free when the pool processes
//!    the worker's end.
//! 2. When its last worker has left, a pool stops.
//! 3. A decider does not see the instance. The instance therefore keeps the names of unwanted workers in
//!    `Shared::unwanted`.
//!
//! It deliberately does not watch its load and resize itself, and it does not keep messages while it has no worker.

mod props;

use std::any::TypeId;
use std::collections::HashSet;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use self::props::PoolProps;
use super::pass_on::{lost_without_room, pass_on, to_dead_letters};
use super::routing::{CopyOf, ForEachWorker, Routing, weight};
use super::stand_in::StandInRef;
use super::template::{Blueprint, SharedFactory, Template};
use super::{Decider, gave_up, system_time};
use crate::actor::{
    Actor, ActorRef, AllHandlersStandInOneImplBlock, AskError, Context, DecidedBy, DeciderTable, DecidesAll,
    DecidesPool, EscalationsDecidedBy, Failures, RefOf, Request, Ruled, SpawnError, Supervisor, Terminated, Visit,
};
use crate::base::ActorPath;
use crate::failure::Failure;
use crate::mailbox::MailboxKind;
use crate::observe::{self, DeadLetterReason};
use crate::supervision::{
    BackoffCount, CREATION_BACKOFF, ChildInfo, Count, Directive, OnLimit, Permit, RestartStatistics, RestartType,
    Scope, Strategy,
};

/// Stands in for several workers of one kind, and supervises them.
///
/// Its ref dereferences to a worker's own; see the [module](crate::pattern) for an example. It does not use the table of its
/// parent. The [default table](crate::DefaultTable), or [another one](PoolProps::supervised_by) that the compiler checks,
/// decides the failures of its workers
/// (rule [13.8](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-13.8)).
///
/// A restart limit in that table is meant for broken workers, not for bad messages: a worker that reaches it stops for good and is not
/// replaced, the pool stops with its last worker, and later askers get [`Stopped`](crate::AskError::Stopped). Where a message can make a
/// worker fail, leave the limit out, or write `on_limit = Escalate`.
///
/// Its ref is [`supervise::pattern::PoolRef<C>`](crate::pattern::PoolRef), for example as a field of a struct:
/// `struct Service { readers: PoolRef<Reader> }`.
///
/// A pool of one worker is useful if a parent restarts all its children together, but one child may fail without
/// affecting the others.
pub struct Pool<C: Actor> {
    shared: Arc<Shared<C>>,
    workers: Vec<Worker<C>>,
    /// The number for the next worker's name.
    names: u64,
    /// The worker whose turn it is.
    turn: usize,
    /// The workers handle the messages that they were sent, and the pool stops with the last worker.
    is_draining: bool,
    /// Counts the replacements of workers that ended.
    replacements: RestartStatistics,
}

struct Worker<C: Actor> {
    name: String,
    actor: ActorRef<C>,
    /// How often this worker ended and was replaced.
    ends: BackoffCount,
}

/// What the pool shares with its decider.
struct Shared<C: Actor> {
    size: usize,
    template: Template<C>,
    routing: Routing<C::Message>,
    restart: RestartType,
    strategy: Strategy,
    table: DeciderTable,
    decide: Decider,
    /// The names of the workers that a resize has asked to stop and that have not ended yet. Invariant 3.
    unwanted: Mutex<HashSet<String>>,
}

impl<C: Actor> Pool<C> {
    /// Makes a pool whose workers take turns.
    ///
    /// `template` makes every instance of every worker.
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    pub fn round_robin<B>(
        size: usize,
        template: impl SharedFactory<Product = B> + Send + Sync + 'static,
    ) -> PoolProps<B>
    where
        B: Blueprint<Actor = C>,
    {
        PoolProps::new(size, Template::new(template), Routing::RoundRobin)
    }

    /// Makes a pool in which each message goes to the worker with the fewest messages. The message that a worker
    /// is handling counts too. A worker that waits for its restart gets a message only if all workers wait for
    /// theirs.
    ///
    /// `template` makes every instance of every worker.
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    pub fn smallest_mailbox<B>(
        size: usize,
        template: impl SharedFactory<Product = B> + Send + Sync + 'static,
    ) -> PoolProps<B>
    where
        B: Blueprint<Actor = C>,
    {
        PoolProps::new(size, Template::new(template), Routing::SmallestMailbox)
    }

    /// Makes a pool in which messages with equal keys go to the same worker, in their order. `key` returns the key of a
    /// message, for example the customer that it is about. A message of an `#[actor]` comes in its
    /// [`Envelope`](crate::Envelope).
    ///
    /// A worker keeps its keys when it restarts or is replaced; while it waits for its restart, so do its messages. After a permanent
    /// worker has ended by itself, messages with its keys become dead letters until it is replaced. If the number of workers
    /// changes, only two kinds of keys move: those of workers that left, and those that a new worker takes over (rendezvous
    /// hashing). A key that moves is handled by its new worker at once, while the old one may still handle earlier messages.
    ///
    /// `key` runs on the pool's turn and must not block. If it panics, the pool fails. `template` makes every instance of every
    /// worker.
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    pub fn by_key<B, K>(
        size: usize,
        key: impl Fn(&C::Message) -> K + Send + Sync + 'static,
        template: impl SharedFactory<Product = B> + Send + Sync + 'static,
    ) -> PoolProps<B>
    where
        B: Blueprint<Actor = C>,
        K: Hash,
    {
        PoolProps::new(size, Template::new(template), Routing::by_key(key))
    }

    /// Makes a pool in which each message goes to every worker, as a clone. An asker gets the reply of the youngest worker; the other
    /// replies are dropped. The messages of an `#[actor]` are `Clone` if its impl block says so:
    /// `#[actor(message(derive(Clone)))]`. To clone no messages, or to tell only some of them to every
    /// worker, see [`broadcast`](ActorRef::broadcast).
    ///
    /// `template` makes every instance of every worker.
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    pub fn broadcasting<B>(
        size: usize,
        template: impl SharedFactory<Product = B> + Send + Sync + 'static,
    ) -> PoolProps<B>
    where
        B: Blueprint<Actor = C>,
        ForEachWorker: CopyOf<C::Message>,
    {
        PoolProps::new(
            size,
            Template::new(template),
            Routing::Broadcast(<ForEachWorker as CopyOf<C::Message>>::of),
        )
    }
}

fn assert_size(size: usize) {
    assert!(size > 0, "a pool has at least one worker: to end them all, stop the pool");
}

/// The strategy for a worker whose failures must not affect other workers (rule 13.9).
fn alone(strategy: Strategy) -> Strategy {
    Strategy { scope: Scope::OneForOne, count: Count::Child, on_limit: OnLimit::Stop, ..strategy }
}

impl<C: Actor> Shared<C> {
    fn decide(&self, failure: &Failure, worker: &ChildInfo) -> Result<(Ruled, Strategy), Failure> {
        let decided = (self.decide)(failure, worker);
        let wanted = !self.unwanted().contains(&*worker.name);
        let (directive, rule) = decided?;
        let directive = match (self.restart, directive) {
            (_, Directive::Escalate) if !wanted => Directive::Stop,
            (RestartType::Permanent, Directive::Stop) if wanted => Directive::Restart,
            (RestartType::Temporary, directive) if directive.restarts() => Directive::Stop,
            (_, directive) => directive,
        };
        Ok(((directive, rule), if wanted { self.strategy } else { alone(self.strategy) }))
    }

    fn unwanted(&self) -> MutexGuard<'_, HashSet<String>> {
        self.unwanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The pool's own methods, behind `actor_ref()`.
impl<C: Actor> ActorRef<Pool<C>> {
    /// The workers, oldest first.
    ///
    /// # Errors
    ///
    /// If the pool has stopped.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    pub async fn workers(&self) -> Result<Vec<RefOf<C>>, AskError> {
        self.ask_visit(|pool, _| pool.workers.iter().map(|worker| worker.actor.clone().into()).collect()).await
    }

    /// Sets the number of workers, after the pool has routed all earlier messages. If there are too many, the youngest ones
    /// stop after they have handled their messages. If one of those fails before that, other workers are not affected,
    /// whatever the strategy says
    /// (rule [13.9](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-13.9)). A restart of the pool
    /// restores the original size.
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    pub fn resize(&self, size: usize) {
        assert_size(size);
        self.visit(move |pool, ctx| pool.resize(size, ctx));
    }

    /// Tells every worker, after the pool has routed all earlier messages, whatever its routing. `request` makes one
    /// request for each worker, as in `broadcast(move |worker| worker.reload(config.clone()))`.
    ///
    /// `request` runs on the pool's turn and must not block. If it panics, the pool fails. If a bounded mailbox has no
    /// room, the message becomes a dead letter.
    pub fn broadcast<T: Send + 'static>(
        &self,
        request: impl for<'a> Fn(&'a RefOf<C>) -> Request<'a, C, T> + Send + 'static,
    ) {
        self.visit(move |pool, _| {
            for worker in &pool.workers {
                let told = request(&worker.actor.clone().into()).tell();
                lost_without_room(told, &worker.actor);
            }
            Ok(())
        });
    }
}

impl<C: Actor> Pool<C> {
    fn of(shared: &Arc<Shared<C>>) -> Self {
        // The workers of an earlier instance are gone.
        shared.unwanted().clear();
        Self {
            shared: Arc::clone(shared),
            workers: Vec::with_capacity(shared.size),
            names: 0,
            turn: 0,
            is_draining: false,
            replacements: RestartStatistics::default(),
        }
    }

    /// Surplus workers finish their work (rule 13.9).
    fn resize(&mut self, size: usize, ctx: &mut Context<Self>) -> Result<(), Failure> {
        if self.is_draining {
            return Ok(());
        }
        for surplus in self.workers.drain(size.min(self.workers.len())..) {
            if !surplus.actor.has_ended() {
                surplus.actor.poison();
                self.shared.unwanted().insert(surplus.name);
            }
        }
        while self.workers.len() < size {
            self.names += 1;
            let name = format!("worker-{}", self.names);
            let Some(actor) = self.start(&name, ctx)? else { break };
            self.workers.push(Worker { name, actor, ends: BackoffCount::default() });
        }
        Ok(())
    }

    /// Starts a worker, unless the pool is stopping.
    fn start(&self, name: &str, ctx: &mut Context<Self>) -> Result<Option<ActorRef<C>>, Failure> {
        match self.shared.template.spawn(name, ctx) {
            Ok(actor) => Ok(Some(actor)),
            Err(SpawnError::Stopping { .. }) => Ok(None),
            Err(error) => Err(Failure::new(error)),
        }
    }

    /// The pool has routed the messages that it was sent, and now lets its workers handle them (rule 13.10).
    fn drain(&mut self, ctx: &mut Context<Self>) {
        self.is_draining = true;
        // A worker that is to be replaced later has no messages.
        self.workers.retain(|worker| !worker.actor.has_ended());
        for worker in &self.workers {
            worker.actor.stop_when_drained();
        }
        self.stop_if_drained(ctx);
    }

    fn stop_if_drained(&self, ctx: &Context<Self>) {
        if self.is_draining && self.workers.is_empty() && self.shared.unwanted().is_empty() {
            ctx.me().actor_ref().stop();
        }
    }

    fn alive(&self) -> impl Iterator<Item = &ActorRef<C>> {
        self.workers.iter().map(|worker| &worker.actor).filter(|actor| !actor.has_ended())
    }

    fn next_in_turn(&mut self) -> Option<ActorRef<C>> {
        let turn = if self.turn < self.workers.len() { self.turn } else { 0 };
        self.turn = turn + 1;
        let (earlier, later) = self.workers.split_at(turn);
        let next = later.iter().chain(earlier).find(|worker| !worker.actor.has_ended());
        next.map(|worker| worker.actor.clone())
    }

    fn least_loaded(&self) -> Option<ActorRef<C>> {
        let load = |worker: &&ActorRef<C>| {
            let suspended = worker.core().protocol().suspensions() > 0;
            (suspended, worker.pending())
        };
        self.alive().min_by_key(load).cloned()
    }

    /// A permanent worker keeps its keys while it has ended and is not replaced yet.
    fn of_key(&self, key: u64) -> Option<ActorRef<C>> {
        let keeps_keys = self.shared.restart == RestartType::Permanent;
        let workers = self.workers.iter().filter(|worker| keeps_keys || !worker.actor.has_ended());
        workers.max_by_key(|worker| weight(key, &worker.name)).map(|worker| worker.actor.clone())
    }

    fn replace(&mut self, at: usize, ctx: &mut Context<Self>) -> Result<(), Failure> {
        let limit = &self.shared.strategy.limit;
        if !limit.is_unlimited() && self.replacements.permit(limit, system_time(ctx)) == Permit::Refused {
            return Err(Failure::new(TooManyReplacements { worker: self.workers[at].actor.path() }));
        }
        let (now, unlimited) = (system_time(ctx), limit.is_unlimited());
        let worker = &mut self.workers[at];
        let at_once = worker.ends.count_at(&CREATION_BACKOFF, now) == 0;
        let delay = worker.ends.failed(&CREATION_BACKOFF, now, 0.0);
        if at_once || !unlimited {
            return self.renew(&self.workers[at].actor.clone(), ctx);
        }
        // Rule 5.3.
        let (pool, ended) = (ctx.me().actor_ref().clone(), worker.actor.clone());
        let runtime = pool.core().system.runtime().clone();
        drop(runtime.spawn(async move {
            tokio::time::sleep(delay).await;
            pool.visit(move |pool, ctx| pool.renew(&ended, ctx));
        }));
        Ok(())
    }

    /// Replaces a worker that has ended, unless the pool no longer needs it or it belongs to an earlier instance of the
    /// pool.
    fn renew(&mut self, ended: &ActorRef<C>, ctx: &mut Context<Self>) -> Result<(), Failure> {
        let Some(at) = self.workers.iter().position(|worker| worker.actor == *ended) else { return Ok(()) };
        let name = self.workers[at].name.clone();
        if let Some(actor) = self.start(&name, ctx)? {
            self.workers[at].actor = actor;
        }
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
impl<C: Actor> Supervisor for Pool<C> {
    type Ref = StandInRef<Self>;
    const MAILBOX: MailboxKind = C::MAILBOX;

    fn answers_to(actor: TypeId) -> bool {
        actor == TypeId::of::<Self>() || C::answers_to(actor)
    }
}

#[diagnostic::do_not_recommend]
impl<C: Actor> Actor for Pool<C> {
    type Message = C::Message;
    const AT_DRAIN: Option<fn() -> Visit> = Some(|| Visit::to_drain(Self::drain));

    async fn handle(&mut self, message: C::Message, ctx: &mut Context<Self>) -> Result<(), Failure> {
        let worker = match &self.shared.routing {
            Routing::RoundRobin => self.next_in_turn(),
            Routing::SmallestMailbox => self.least_loaded(),
            Routing::ByKey(key) => self.of_key((key)(&message)),
            Routing::Broadcast(copy) => {
                let mut workers: Vec<_> = self.alive().cloned().collect();
                let last = workers.pop();
                for worker in workers {
                    let message = copy(&message);
                    pass_on(message, &worker, ctx).await;
                }
                last
            }
        };
        match worker {
            Some(worker) => pass_on(message, &worker, ctx).await,
            None => to_dead_letters(message, DeadLetterReason::Stopped, ctx),
        }
        Ok(())
    }

    async fn pre_start(&mut self, ctx: &mut Context<Self>) -> Result<(), Failure> {
        self.resize(self.shared.size, ctx)?;
        ctx.me().actor_ref().go_on_draining();
        Ok(())
    }

    async fn terminated(&mut self, gone: Terminated, ctx: &mut Context<Self>) -> Result<(), Failure> {
        let at = self.workers.iter().position(|worker| worker.actor.to_any() == *gone.subject());
        let Some(at) = at else {
            self.shared.unwanted().remove(gone.subject().name());
            self.stop_if_drained(ctx);
            return Ok(());
        };
        if self.is_draining {
            self.workers.remove(at);
            self.stop_if_drained(ctx);
            return Ok(());
        }
        if self.shared.restart == RestartType::Permanent {
            return self.replace(at, ctx);
        }
        self.workers.remove(at);
        if self.workers.is_empty() {
            let reason = gone.reason();
            observe::pool_is_empty(&ctx.path(), reason.failure());
            if let Some(failure) = reason.failure() {
                gave_up(ctx, failure);
            }
            ctx.stop_self();
        }
        Ok(())
    }

    fn message_name(message: &C::Message) -> &'static str {
        C::message_name(message)
    }
}

impl<C: Actor> AllHandlersStandInOneImplBlock for Pool<C> {
    type Failures = Failures<PoolFails>;
}

/// Stands for what a pool fails with.
#[derive(Debug)]
pub enum PoolFails {}

impl<P: DecidesPool<TooManyReplacements>> DecidedBy<P> for PoolFails {}

impl<C: Actor, P: DecidesAll> EscalationsDecidedBy<P> for Pool<C> {}

/// The permanent workers of a pool ended by themselves more often than its limit grants. The pool fails with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{worker} ended, and the limit permits no further replacement")]
pub struct TooManyReplacements {
    /// The worker that ended last.
    pub worker: ActorPath,
}

impl<C: Actor> fmt::Debug for Pool<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("routing", &self.shared.routing)
            .field("workers", &self.workers.iter().map(|worker| &worker.actor).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
