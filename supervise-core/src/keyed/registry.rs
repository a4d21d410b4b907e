//! The parent of keyed children: it supervises them as its own parent's type declares, and finds the idle ones.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use super::ChildKey;
use super::seat_map::SeatMap;
use crate::actor::{Actor, ActorRef, Context, DeciderTable, Ruled, Supervisor, Terminated, TypedRef, Visit};
use crate::failure::{Failure, Stage};
use crate::supervision::{ChildInfo, Directive, Strategy};

/// How many seats one message looks at.
const AT_ONCE: usize = 256;

/// The shortest time between two looks. Normally there are four within the idle time.
const SHORTEST_BETWEEN_LOOKS: Duration = Duration::from_millis(1);

/// Supervises the children `C` of the keys `K` by the table of the actor `T`.
pub(super) struct Registry<K: ChildKey, C: Actor, T> {
    map: Arc<SeatMap<K, C>>,
    restarting: bool,
    rules: PhantomData<fn() -> T>,
}

/// How many seats of this sweep are left to look at. `None` when a sweep begins.
pub(super) struct Look(Option<usize>);

impl<K: ChildKey, C: Actor, T> Registry<K, C, T> {
    pub(super) fn new(map: Arc<SeatMap<K, C>>) -> Self {
        Self { map, restarting: false, rules: PhantomData }
    }
}

impl<K: ChildKey, C: Actor, T: Supervisor> Registry<K, C, T> {
    /// Lets the children handle the messages that they were sent, and creates no further children (rule 18.11).
    fn drain(&mut self, ctx: &mut Context<Self>) {
        ctx.cancel_timer("look");
        for seat in self.map.drain() {
            seat.drain();
        }
        self.stop_if_drained(ctx);
    }

    fn stop_if_drained(&self, ctx: &Context<Self>) {
        if self.map.is_drained() {
            ctx.me().actor_ref().stop();
        }
    }
}

impl<K: ChildKey, C: Actor, T: Supervisor> Supervisor for Registry<K, C, T> {
    type Ref = ActorRef<Self>;
    const STRATEGY: Strategy = T::STRATEGY;
    const TABLE: DeciderTable = T::TABLE;
    /// Only `post_stop` waits here, and it always ends.
    const STOP_TIMEOUT: Duration = Duration::from_secs(3600);

    fn decide(failure: &Failure, child: &ChildInfo) -> Result<Directive, Failure> {
        T::decide(failure, child)
    }

    fn rule(failure: &Failure, child: &ChildInfo) -> Result<Ruled, Failure> {
        // Rule 18.7. The next `get_or_spawn` tries again, so nothing ends for good.
        if T::TABLE == DeciderTable::Default && failure.stage() == Stage::Initialization {
            return Ok((Directive::Stop, None));
        }
        T::rule(failure, child)
    }
}

impl<K: ChildKey, C: Actor, T: Supervisor> Actor for Registry<K, C, T> {
    type Message = Look;
    const AT_DRAIN: Option<fn() -> Visit> = Some(|| Visit::to_drain(Self::drain));

    async fn handle(&mut self, Look(left): Look, ctx: &mut Context<Self>) -> Result<(), Failure> {
        let left = left.unwrap_or_else(|| self.map.sweep());
        let mut looked_at = self.map.next_of_sweep(left.min(AT_ONCE));
        looked_at.retain(|seat| seat.look());
        self.map.to_next_sweep(looked_at);
        if left > AT_ONCE {
            // Queued after the ends that are still to be reported. This actor is alive, and its mailbox is unbounded.
            let _taken = ctx.me().actor_ref().tell(Look(Some(left - AT_ONCE)));
        }
        Ok(())
    }

    async fn pre_start(&mut self, ctx: &mut Context<Self>) -> Result<(), Failure> {
        if let Some(idle) = self.map.idle {
            let every = (idle / 4).max(SHORTEST_BETWEEN_LOOKS);
            ctx.start_periodic_timer("look", every, || Look(None));
        }
        ctx.me().actor_ref().go_on_draining();
        Ok(())
    }

    /// Continues to watch the children, so that their seats become free when the next instance is told of
    /// their ends.
    async fn pre_restart(&mut self, ctx: &mut Context<Self>, _: &Failure, _: Option<Look>) -> Result<(), Failure> {
        self.restarting = true;
        for child in ctx.children() {
            child.stop();
        }
        Ok(())
    }

    /// Closes the seats, because all children have ended. Does so in slices, because there may be very many (rule 1.9).
    async fn post_stop(&mut self, _: &mut Context<Self>) -> Result<(), Failure> {
        let mut closing = self.map.close();
        while closing.close_some(AT_ONCE) {
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    async fn terminated(&mut self, gone: Terminated, ctx: &mut Context<Self>) -> Result<(), Failure> {
        let child = gone.subject();
        if let Some(seat) = child.core().seat() {
            Arc::clone(seat).ended(child.uid());
        }
        self.stop_if_drained(ctx);
        Ok(())
    }
}

/// Closes the map when the registry has ended, even if it had no instance at that time. It may have been stopped while
/// it waited, during a restart, for its children to end. The factory owns this.
pub(super) struct CloseAtEnd<K: ChildKey, C: Actor>(pub(super) Arc<SeatMap<K, C>>);

impl<K: ChildKey, C: Actor> Drop for CloseAtEnd<K, C> {
    fn drop(&mut self) {
        drop(self.0.close());
    }
}

/// All children have ended, or the runtime has gone away. Nobody has been told of the end yet.
impl<K: ChildKey, C: Actor, T> Drop for Registry<K, C, T> {
    fn drop(&mut self) {
        if !self.restarting {
            drop(self.map.close());
        }
    }
}

impl<K: ChildKey, C: Actor, T> fmt::Debug for Registry<K, C, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("children", &self.map.len()).finish_non_exhaustive()
    }
}
