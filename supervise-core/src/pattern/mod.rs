//! Actors that stand in for others: a supervisor that replaces its child after a delay, a circuit breaker, and a pool of
//! workers. This module also has [topics](Topic), to which actors subscribe, and [the first of several answers](first_answer).
//!
//! | pattern | its children | when one fails |
//! |---|---|---|
//! | [`BackoffSupervisor`] | one child | the child ends, and the supervisor starts a new one, each time after a longer delay |
//! | [`CircuitBreaker`] | one child | the table decides; while the child waits for its restart, messages are refused at once |
//! | [`Pool`] | workers of one kind | the pool's strategy and decider decide |
//!
//! A pattern takes the messages of its children and passes them on, with their reply slots. So its ref is used like the
//! child's: [`StandInRef`] dereferences to the child's own ref, and a method that makes a request to a `Feed` makes one
//! to the backoff supervisor of a `Feed`, to a pool of them, or to a pool of backoff supervisors. The pattern's own
//! methods are behind `actor_ref()`, so that they cannot clash with the name of a handler.
//!
//! A pattern does not relay messages from its children to its parent. The actor that handles a message
//! replies to its asker directly.
//!
//! ```
//! # extern crate supervise_core as supervise;
//! use std::time::Duration;
//! use supervise::pattern::{BackoffSupervisor, Pool};
//! use supervise::{Actor, ActorRef, ActorSystem, Backoff, Context, Failure, ReplyTo, Request, Supervisor};
//! # use supervise::{EscalationsDecidedBy, HandlersOfOneImplBlockDecidedBy};
//!
//! // What `#[actor]` writes for an actor with the one handler `fn double(&self, n: u32) -> u32`, in short.
//! struct Doubler;
//! struct Double(u32, ReplyTo<u32>);
//!
//! impl Supervisor for Doubler {
//!     type Ref = ActorRef<Self>;
//! }
//! impl Actor for Doubler {
//!     type Message = Double;
//!
//!     async fn handle(&mut self, Double(n, reply): Double, _: &mut Context<Self>) -> Result<(), Failure> {
//!         reply.answer(2 * n);
//!         Ok(())
//!     }
//! }
//! # impl<P> HandlersOfOneImplBlockDecidedBy<P> for Doubler {}
//! # impl<P> EscalationsDecidedBy<P> for Doubler {}
//! fn double(to: &ActorRef<Doubler>, n: u32) -> Request<'_, Doubler, u32> {
//!     Request::new(to, Double(n, ReplyTo::nowhere()), |message, reply| message.1 = reply)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let system = ActorSystem::new("patterns");
//!
//! let delays = Backoff::exponential(Duration::from_millis(100), Duration::from_secs(10)).jitter(0.2);
//! let doubler = BackoffSupervisor::on_failure("doubler", || Doubler, delays).max_retries(5).props();
//! let doubler = system.spawn_with("guarded", doubler)?;
//! assert_eq!(double(&doubler, 4).await?, 8);
//! assert_eq!(doubler.actor_ref().restart_count().await?, 0);
//!
//! let pool = system.spawn_with("pool", Pool::round_robin(3, || Doubler).props())?;
//! assert_eq!(double(&pool, 5).await?, 10);
//! pool.actor_ref().broadcast(|worker| double(worker, 6));
//! pool.actor_ref().resize(2);
//! assert_eq!(pool.actor_ref().workers().await?.len(), 2);
//! # system.terminate().await;
//! # Ok(())
//! # }
//! ```

mod backoff_supervisor;
mod circuit_breaker;
mod first_answer;
mod pass_on;
mod pool;
mod routing;
mod stand_in;
mod template;
mod topic;

pub use backoff_supervisor::{BackoffSupervisor, BackoffSupervisorProps};
pub use circuit_breaker::{CircuitBreaker, CircuitBreakerProps};
pub use first_answer::{FirstAnswer, first_answer};
#[cfg(feature = "remote")]
pub(crate) use pass_on::pass_on;
pub use pool::{Pool, PoolProps, TooManyReplacements};
pub use routing::{CopyOf, ForEachWorker};
#[cfg(feature = "remote")]
pub(crate) use stand_in::sealed::Sealed;
pub use stand_in::{BackoffSupervisorRef, CircuitBreakerRef, PoolRef, StandIn, StandInRef};
pub use template::{Blueprint, BlueprintUnder, SharedFactory};
pub use topic::Topic;

use crate::actor::{Actor, Context, Ruled, TypedRef};
use crate::base::UserValue;
use crate::failure::Failure;
use crate::supervision::{ChildInfo, Directive, Time, default_decider};

/// Decides the failures of a pattern's children.
type Decider = UserValue<Box<dyn Fn(&Failure, &ChildInfo) -> Result<Ruled, Failure> + Send + Sync>>;

fn decider(decide: impl Fn(&Failure, &ChildInfo) -> Result<Ruled, Failure> + Send + Sync + 'static) -> Decider {
    UserValue::new(Box::new(decide))
}

/// A decider that leaves a failure to the default decider if `decide` returns `None`.
fn partial_decider(decide: impl Fn(&Failure) -> Option<Directive> + Send + Sync + 'static) -> Decider {
    decider(move |failure, _| Ok((decide(failure).unwrap_or_else(|| default_decider(failure)), None)))
}

/// Tells the subscribers that this pattern stops because a failure ended its last child.
fn gave_up<A: Actor>(ctx: &Context<A>, failure: &Failure) {
    let me = ctx.me();
    let core = me.actor_ref().core();
    let Some(supervisor) = ctx.parent() else { return };
    let uids = [core.uid, supervisor.uid()];
    core.system.observer().gave_up(ctx.path(), core.description().type_name(), uids, failure);
}

/// The time that limits and delays use.
fn system_time<A: Actor>(ctx: &Context<A>) -> Time {
    ctx.me().actor_ref().core().system.now()
}
