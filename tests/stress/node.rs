//! A node of the tree. It supervises its children, fails as it is told, and detects violations of the rules.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use supervise::prelude::*;
use supervise::{AnyActorRef, FailsWith, NeverFails, Props, Unchecked, testkit};

use crate::injected::Injected;
use crate::world::{Counts, Phase, Place, Report, World};

/// One incarnation, across its restarts. Shared by its instances and its table.
struct Seat {
    place: Place,
    level: usize,
    size: usize,
    parent: Option<NodeRef>,
    world: Arc<World>,
    /// A restart is due before this node is used again.
    failed: AtomicBool,
    /// A resume, or a restart, is due before this node is used again.
    suspended: AtomicBool,
    /// On the way to the orderly end.
    dying: AtomicBool,
    /// Instances that exist now.
    instances: AtomicUsize,
    /// User code runs.
    busy: AtomicBool,
    /// Messages of the driver that came.
    received: AtomicU64,
}

impl Seat {
    fn log(&self, what: impl Into<String>) {
        self.world.log(&self.place, what);
    }

    fn violation(&self, what: impl Into<String>) {
        self.world.violation(&self.place, what);
    }

    fn expect(&self, directive: Directive) {
        match directive {
            Directive::Resume => self.suspended.store(true, Ordering::SeqCst),
            _ => self.failed.store(true, Ordering::SeqCst),
        }
    }

    /// What this node decides about a child.
    fn decide(&self, failure: &Failure, child: &ChildInfo) -> Result<Directive, Failure> {
        let verdict = match failure.downcast_ref::<Injected>() {
            None => {
                self.violation(format!("{} fails with {failure:?}", child.name));
                Ok(Directive::Resume)
            }
            Some(_) if self.dying.load(Ordering::SeqCst) => Ok(Directive::Resume),
            Some(injected) if injected.depth > 0 => {
                Counts::one(&self.world.count.escalations);
                self.expect(*injected.directive);
                Err(Failure::new(injected.escalated()))
            }
            Some(injected)
                if self.level > self.world.profile.stops_below && injected.fails_post() == 0 && injected.stop =>
            {
                Ok(Directive::Stop)
            }
            Some(injected) => Ok(*injected.directive),
        };
        self.log(format!("decides {verdict:?} about {}: {failure:?}", child.name));
        verdict
    }
}

/// User code that runs. No other user code of this node may run meanwhile.
struct Turn(Arc<Seat>);

impl Turn {
    fn begin(seat: &Arc<Seat>) -> Self {
        if seat.busy.swap(true, Ordering::SeqCst) {
            seat.violation("two handlers or hooks at once");
        }
        if !seat.world.is_home() {
            seat.violation("runs on a foreign runtime (I2)");
        }
        Self(Arc::clone(seat))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.busy.store(false, Ordering::SeqCst);
    }
}

/// Makes a node at this place.
pub(crate) fn node(
    world: &Arc<World>,
    place: Place,
    level: usize,
    size: usize,
    parent: Option<NodeRef>,
) -> Props<Node, FailsWith<Injected>, Unchecked> {
    let seat = Arc::new(Seat {
        place,
        level,
        size,
        parent,
        world: Arc::clone(world),
        failed: AtomicBool::new(false),
        suspended: AtomicBool::new(false),
        dying: AtomicBool::new(false),
        instances: AtomicUsize::new(0),
        busy: AtomicBool::new(false),
        received: AtomicU64::new(0),
    });
    let table = Arc::clone(&seat);
    Props::new(move || Node::new(&seat))
        .supervision_unchecked(world.profile.strategy, move |failure, child| table.decide(failure, child))
}

#[actor]
pub(crate) struct Node {
    seat: Arc<Seat>,
    rng: fastrand::Rng,
    started: bool,
    /// Its `pre_restart` ran.
    replaced: bool,
    /// Its `post_stop` ran.
    stopped: bool,
    /// How many children have not reported their end yet.
    farewells: usize,
}

impl Node {
    fn new(seat: &Arc<Seat>) -> Result<Self, Injected> {
        let _turn = Turn::begin(seat);
        let world = &seat.world;
        let spared = world.phase() > Phase::Stressing;
        let injected = world.of(&seat.place, |kept| {
            let injected = kept.pending.take().filter(|injected| injected.fail_constr > 0 && !spared)?;
            kept.pending = Some(injected.constr_failed());
            Some(injected)
        });
        if let Some(injected) = injected {
            Counts::one(&world.count.failed_factories);
            seat.log("the factory fails");
            return Err(injected);
        }
        if seat.instances.fetch_add(1, Ordering::SeqCst) > 0 {
            seat.violation("two instances at once");
        }
        world.instances.fetch_add(1, Ordering::SeqCst);
        seat.failed.store(false, Ordering::SeqCst);
        seat.suspended.store(false, Ordering::SeqCst);
        seat.log("made");
        let rng = fastrand::Rng::with_seed(
            world.profile.seed
                ^ seat
                    .place
                    .bytes()
                    .fold(0, |hash: u64, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte))),
        );
        Ok(Self { seat: Arc::clone(seat), rng, started: false, replaced: false, stopped: false, farewells: 0 })
    }

    /// Checks before each message that everything that was due has happened (I1, I5).
    fn check(&self, ctx: &Context<Self>) -> Turn {
        let seat = &self.seat;
        seat.suspended.store(false, Ordering::SeqCst);
        if seat.failed.load(Ordering::SeqCst) {
            seat.violation("handles a message, and the restart that is due has not come (I1)");
        }
        let suspensions = testkit::suspensions(&ctx.me());
        if suspensions > 0 {
            seat.violation(format!("handles a message while suspended {suspensions} times (I1)"));
        }
        if !self.started || self.replaced || self.stopped {
            seat.violation("handles a message on an instance that has ended or has not started");
        }
        Turn::begin(seat)
    }

    /// The driver numbers its messages. All of them arrive, in order, across restarts.
    fn check_number(&self, number: u64) {
        let expected = self.seat.received.fetch_add(1, Ordering::SeqCst) + 1;
        if number != expected {
            self.seat.violation(format!("gets message {number} of the driver instead of {expected}"));
        }
    }

    /// Waits from time to time, if the profile says so.
    async fn pause(&mut self) {
        if self.seat.world.profile.waits {
            match self.rng.f64() {
                ..0.02 => nap().await,
                ..0.5 => tokio::task::yield_now().await,
                _ => {}
            }
        }
    }

    fn place_of(&self, name: &str) -> Place {
        format!("{}/{name}", self.seat.place).into()
    }

    fn kids(&self) -> Vec<(String, usize)> {
        self.seat.world.of(&self.seat.place, |kept| kept.kids.clone())
    }

    fn died(&self, name: &str) {
        self.seat.world.report(Report::Died(self.place_of(name)));
    }

    fn hire(&self, name: &str, size: usize, ctx: &mut Context<Self>) {
        let Seat { world, level, .. } = &*self.seat;
        let props = node(world, self.place_of(name), level + 1, size, Some(ctx.me()));
        match ctx.spawn_with(name, props) {
            Ok(kid) => ctx.watch(&kid),
            Err(error) => self.seat.violation(error.to_string()),
        }
    }
}

#[actor]
impl Node {
    #[pre_start]
    async fn start(&mut self, ctx: &mut Context<Self>) {
        let _turn = Turn::begin(&self.seat);
        let world = Arc::clone(&self.seat.world);
        // The children of an attempt to start that failed.
        for (name, _) in self.kids() {
            self.died(&name);
        }
        world.report(Report::Ready(Arc::clone(&self.seat.place), ctx.me()));
        self.pause().await;
        let rest = self.seat.size - 1;
        let mut kids = Vec::new();
        if rest > 0 {
            let count = self.rng.usize(1..=world.profile.breadth.min(rest));
            for kid in 0..count {
                let size = rest / count + usize::from(kid < rest % count);
                kids.push(((kid + 1).to_string(), size));
            }
        }
        world.of(&self.seat.place, |kept| kept.kids.clone_from(&kids));
        for (name, size) in kids {
            self.hire(&name, size, ctx);
        }
        self.pause().await;
        self.started = true;
        self.seat.log("started");
    }

    #[pre_restart]
    async fn replace(&mut self, cause: &Failure, ctx: &mut Context<Self>) -> Result<(), Injected> {
        let _turn = Turn::begin(&self.seat);
        self.seat.log(format!("pre_restart for {cause:?}"));
        if std::mem::replace(&mut self.replaced, true) || !self.started || self.stopped {
            self.seat.violation("pre_restart once too often (I3)");
        }
        if self.seat.world.profile.clears {
            ctx.stop_children();
        }
        let Some(injected) = cause.downcast_ref::<Injected>() else { return Ok(()) };
        for kid in ctx.children().iter().filter_map(AnyActorRef::downcast::<Self>).take(injected.stop_kids) {
            ctx.unwatch(&kid);
            ctx.stop(&kid);
        }
        self.pause().await;
        if injected.take_pre() {
            Counts::one(&self.seat.world.count.failed_hooks);
            return Err(injected.clone());
        }
        Ok(())
    }

    #[post_restart]
    async fn replaced(&mut self, cause: &Failure, ctx: &mut Context<Self>) -> Result<(), Injected> {
        let _turn = Turn::begin(&self.seat);
        self.seat.log(format!("post_restart for {cause:?}"));
        self.pause().await;
        let kids = self.kids();
        for (name, size) in &kids {
            if ctx.child(name).is_none() {
                self.died(name);
                Counts::one(&self.seat.world.count.replacements);
                self.hire(name, *size, ctx);
            }
        }
        let mut have: Vec<_> = ctx.children().iter().map(|kid| kid.name().to_owned()).collect();
        have.sort_by_key(|name| name.parse::<usize>().ok());
        if !have.iter().eq(kids.iter().map(|(name, _)| name)) {
            self.seat.violation(format!("has the children {have:?} after a restart, not {kids:?} (I4)"));
        }
        self.pause().await;
        if let Some(injected) = cause.downcast_ref::<Injected>()
            && injected.take_post()
        {
            Counts::one(&self.seat.world.count.failed_hooks);
            return Err(injected.clone());
        }
        self.started = true;
        Counts::one(&self.seat.world.count.restarts);
        Ok(())
    }

    #[post_stop]
    fn stop(&mut self) {
        let seat = &self.seat;
        let _turn = Turn::begin(seat);
        seat.log("post_stop");
        if std::mem::replace(&mut self.stopped, true) || !self.started || self.replaced {
            seat.violation("post_stop once too often");
        }
        let due = seat.failed.load(Ordering::SeqCst) || seat.suspended.load(Ordering::SeqCst);
        // A node that is stopped in the middle of a failure may still wait for an answer.
        if due && seat.world.phase() == Phase::Dying {
            seat.violation("stops, and the resume or restart that is due has not come (I5)");
        }
        seat.world.of(&seat.place, |kept| {
            kept.kids.clear();
            kept.pending = None;
        });
    }

    #[handler]
    async fn ping(&mut self, number: u64, ctx: &mut Context<Self>) {
        let _turn = self.check(ctx);
        self.check_number(number);
        if self.rng.f64() * 1.03 >= 1.0 {
            nap().await;
        }
    }

    #[handler]
    async fn suffer(&mut self, number: u64, injected: Injected, ctx: &mut Context<Self>) -> Result<(), Injected> {
        let _turn = self.check(ctx);
        self.check_number(number);
        Counts::one(&self.seat.world.count.suffered);
        self.seat.log(format!("gets the failure: {injected}"));
        self.seat.world.of(&self.seat.place, |kept| kept.pending = Some(injected.copy()));
        self.pause().await;
        self.seat.expect(*injected.directive);
        Err(injected)
    }

    #[watch]
    fn gone(&mut self, gone: Terminated<Node>, ctx: &mut Context<Self>) {
        let _turn = self.check(ctx);
        let path = gone.path();
        let name = path.name();
        // The successor may have been made by a restart meanwhile.
        if self.seat.dying.load(Ordering::SeqCst) || ctx.child(name).is_some() {
            return;
        }
        self.died(name);
        match self.kids().into_iter().find(|(kid, _)| kid == name) {
            Some((_, size)) => {
                Counts::one(&self.seat.world.count.replacements);
                self.hire(name, size, ctx);
            }
            None => self.seat.violation(format!("is told of the end of {path}, and has no such child")),
        }
    }

    #[handler]
    fn ping_of_death(&mut self, ctx: &mut Context<Self>) {
        let _turn = self.check(ctx);
        self.seat.dying.store(true, Ordering::SeqCst);
        let kids = ctx.children();
        self.farewells = kids.len();
        for kid in kids {
            let Some(node) = kid.downcast::<Self>() else {
                self.seat.violation(format!("{kid} is not a node"));
                continue;
            };
            if let Err(refused) = NodeRef::from(node).ping_of_death().tell() {
                self.seat.violation(format!("cannot tell {kid} to end: {refused:?}"));
            }
        }
        self.end_if_last(ctx);
    }

    #[handler]
    fn pong_of_death(&mut self, ctx: &mut Context<Self>) {
        let _turn = self.check(ctx);
        self.farewells -= 1;
        self.end_if_last(ctx);
    }

    fn end_if_last(&mut self, ctx: &mut Context<Self>) {
        if self.farewells > 0 {
            return;
        }
        ctx.stop_self();
        if let Some(parent) = &self.seat.parent
            && parent.pong_of_death().tell().is_err()
        {
            self.seat.violation("its parent ended first (I8)");
        }
    }
}

/// Code that waits for a timer, like users' code. The clock is real here, because the threads are.
async fn nap() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

impl Drop for Node {
    fn drop(&mut self) {
        self.seat.instances.fetch_sub(1, Ordering::SeqCst);
        self.seat.world.instances.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Above the head. It must never be restarted itself (I9).
#[actor]
pub(crate) struct Top {
    world: Arc<World>,
    head: Place,
}

impl Top {
    pub(crate) fn props(world: Arc<World>, head: Place) -> Props<Self, NeverFails, Unchecked> {
        let strategy = world.profile.strategy;
        Props::new(move || Self { world: Arc::clone(&world), head: Arc::clone(&head) }).supervision_unchecked(
            strategy,
            |failure, _| {
                Ok(failure.downcast_ref::<Injected>().map_or(Directive::Stop, |injected| *injected.directive))
            },
        )
    }
}

#[actor]
impl Top {
    #[handler]
    fn plant(&mut self, ctx: &mut Context<Self>) -> Result<NodeRef, SpawnError> {
        let props = node(&self.world, Arc::clone(&self.head), 0, self.world.profile.size, None);
        let head = ctx.spawn_with(&*self.head, props)?;
        ctx.watch(&head);
        Ok(head)
    }

    #[watch]
    fn head_gone(&mut self, _gone: Terminated<Node>) {
        self.world.report(Report::HeadGone);
    }

    #[pre_restart]
    fn restarted(&mut self, cause: &Failure) {
        self.world.violation(&self.head, format!("the driver is restarted for {cause:?} (I9)"));
    }
}
