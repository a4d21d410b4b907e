//! The actor that fails in every way there is.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use supervise::prelude::*;
use supervise::{Backoff, ChildInfo, Directive, FailsWith, MailboxKind, Overflow, Props, Strategy, Unchecked};
use tokio::sync::Notify;

use crate::parcel::{Parcel, Told, assert_or_unwind};

/// The text of planned panics.
pub(crate) const CHAOS: &str = "chaos";

/// Actors without a parent of their kind.
pub(crate) const TOPS: usize = 6;
/// Children of each actor, by depth.
const CHILDREN: [usize; 3] = [3, 2, 0];
/// A seat for each place in the tree.
const SEATS: usize = TOPS * (1 + 3 + 3 * 2);

#[derive(Debug, thiserror::Error)]
#[error("chaos")]
pub(crate) struct Chaos;

/// What all victims share.
pub(crate) struct World {
    seats: Vec<Mutex<Option<VictimRef>>>,
    /// Somebody took a seat.
    pub(crate) arrival: Notify,
    pub(crate) told: Arc<Told>,
    pub(crate) made: AtomicU64,
    pub(crate) alive: AtomicI64,
    draws: AtomicU64,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seats: (0..SEATS).map(|_| Mutex::new(None)).collect(),
            arrival: Notify::new(),
            told: Arc::default(),
            made: AtomicU64::new(0),
            alive: AtomicI64::new(0),
            draws: AtomicU64::new(seed),
        }
    }

    pub(crate) fn any(&self, rng: &mut fastrand::Rng) -> Option<VictimRef> {
        let seat = rng.usize(..SEATS);
        let victim = self.seats[seat].lock().unwrap().clone();
        // Actors that have ended get messages too, but most messages go to living ones.
        victim.filter(|victim| !victim.actor_ref().has_ended() || rng.u32(..20) == 0)
    }

    pub(crate) fn forget_refs(&self) {
        for seat in &self.seats {
            *seat.lock().unwrap() = None;
        }
    }

    /// A source of chance for one piece of user code.
    fn rng(&self) -> fastrand::Rng {
        fastrand::Rng::with_seed(self.draws.fetch_add(0x9e37_79b9_7f4a_7c15, SeqCst))
    }

    /// Fails in a random way, with a probability of one in this many.
    async fn blow(&self, once_in: u32) -> Result<(), Chaos> {
        let mut rng = self.rng();
        if rng.u32(..once_in) > 0 {
            return Ok(());
        }
        if rng.bool() {
            tokio::task::yield_now().await;
        }
        match rng.u32(..20) {
            0..9 => Err(Chaos),
            9..18 => std::panic::panic_any(CHAOS),
            // Until it is aborted.
            _ => std::future::pending().await,
        }
    }

    fn decide(&self) -> Result<Directive, Failure> {
        let mut rng = self.rng();
        match rng.u32(..100) {
            0..4 => std::panic::panic_any(CHAOS),
            4..8 => Err(Failure::new(Chaos)),
            8..25 => Ok(Directive::Resume),
            25..70 => Ok(Directive::Restart),
            70..80 => Ok(Directive::RestartAfter(Backoff::exponential(
                Duration::from_millis(1),
                Duration::from_millis(8),
            ))),
            80..90 => Ok(Directive::Stop),
            _ => Ok(Directive::Escalate),
        }
    }
}

fn strategy(seat: usize) -> Strategy {
    let strategies = [Strategy::one_for_one(), Strategy::all_for_one(), Strategy::rest_for_one()];
    // A limit, so that creations are tried again at once.
    strategies[seat % strategies.len()].max_retries(u32::MAX)
}

fn mailbox(seat: usize) -> MailboxKind {
    let bounded = |overflow| MailboxKind::Bounded { capacity: 8, overflow };
    match seat % 5 {
        0 => bounded(Overflow::Fail),
        1 => bounded(Overflow::DropNewest),
        2 => bounded(Overflow::DropOldest),
        _ => MailboxKind::Unbounded,
    }
}

pub(crate) fn props(world: &Arc<World>, seat: usize, depth: usize) -> Props<Victim, FailsWith<Chaos>, Unchecked> {
    let (maker, judge) = (Arc::clone(world), Arc::clone(world));
    Props::new(move || Victim::new(&maker, seat, depth))
        .supervision_unchecked(strategy(seat), move |_: &Failure, _: &ChildInfo| judge.decide())
        .mailbox(mailbox(seat))
        .stop_timeout(Duration::from_millis(5))
}

#[actor]
pub(crate) struct Victim {
    world: Arc<World>,
    seat: usize,
    depth: usize,
    explosive: bool,
}

impl Victim {
    fn new(world: &Arc<World>, seat: usize, depth: usize) -> Result<Self, Chaos> {
        let mut rng = world.rng();
        match rng.u32(..100) {
            0..3 => return Err(Chaos),
            3..6 => std::panic::panic_any(CHAOS),
            // It blocks its thread for a while, as user code should not: a thread has no virtual time.
            6..9 => std::thread::sleep(Duration::from_millis(1)),
            _ => {}
        }
        world.made.fetch_add(1, SeqCst);
        world.alive.fetch_add(1, SeqCst);
        Ok(Self { world: Arc::clone(world), seat, depth, explosive: rng.u32(..8) == 0 })
    }

    fn hire(&self, ctx: &mut Context<Self>) {
        let first = match self.depth {
            0 => TOPS + self.seat * 3,
            _ => TOPS * 4 + (self.seat - TOPS) * 2,
        };
        for child in 0..CHILDREN[self.depth] {
            // One that survived keeps its name.
            let _ = ctx.spawn_with(format!("kid-{child}"), props(&self.world, first + child, self.depth + 1));
        }
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.world.alive.fetch_sub(1, SeqCst);
        assert_or_unwind(self.explosive);
    }
}

#[actor]
impl Victim {
    #[pre_start]
    async fn start(&mut self, ctx: &mut Context<Self>) -> Result<(), Chaos> {
        *self.world.seats[self.seat].lock().unwrap() = Some(ctx.me());
        self.world.arrival.notify_waiters();
        self.world.blow(40).await?;
        self.hire(ctx);
        self.world.blow(40).await
    }

    #[pre_restart]
    async fn replace(&mut self, ctx: &mut Context<Self>) -> Result<(), Chaos> {
        let world = Arc::clone(&self.world);
        match world.rng().u32(..3) {
            0 => ctx.stop_children(),
            1 => {
                if let Some(child) = ctx.children().first() {
                    child.stop();
                }
            }
            _ => {}
        }
        world.blow(20).await
    }

    #[post_restart]
    async fn replaced(&mut self, ctx: &mut Context<Self>) -> Result<(), Chaos> {
        self.world.blow(20).await?;
        self.hire(ctx);
        Ok(())
    }

    #[post_stop]
    async fn stop(&mut self) -> Result<(), Chaos> {
        self.world.blow(20).await
    }

    #[handler]
    async fn work(&mut self, mut parcel: Parcel, ctx: &mut Context<Self>) -> Result<(), Chaos> {
        parcel.open();
        let world = Arc::clone(&self.world);
        match world.rng().u32(..40) {
            0 => ctx.stop_self(),
            1 => {
                let child = ctx.spawn_anonymous(|| Bystander);
                if let Ok(child) = child {
                    ctx.death_pact(&child);
                    ctx.stop(&child);
                }
            }
            _ => {}
        }
        world.blow(12).await?;
        parcel.close();
        Ok(())
    }
}

/// Does nothing, but its loss would be noticed.
#[actor]
struct Bystander;

#[actor]
impl Bystander {}
