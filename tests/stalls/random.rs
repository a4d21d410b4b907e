//! Random trees in which every actor asks only actors above it and those declared before itself or before an actor above. Whatever fails,
//! restarts or stops, no ask takes long, and none resolves with `HeldUp` while nothing restarts or stops.
//!
//! The members of a group that stops are told one after another, and one that has not been told may wait for the
//! group: the rule does not cover this. So either no group stops, or nobody asks an actor above. In every third
//! tree, some actors ask nobody. Such an actor is asked by the later siblings of the actors above it, and by the
//! actors below these siblings.
//!
//! `STALLS_SEED` selects the first tree, and `STALLS_RUNS` says how many there are.
//!
//! Rule 14.8.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use supervise::prelude::*;
use supervise::testkit::{self, TestSystem};
use supervise::{AskError, SendErrorReason};
use tokio::time::{Instant, sleep};

/// How many orders the actors of one tree get.
const ORDERS: u32 = 400;
/// Much longer than an ask takes, with all that goes before it in the queue, and shorter than a stop timeout, which is 30 s here.
const AT_MOST: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
#[error("bad")]
struct Failed;

/// The number of a group under its parent.
const GROUP: u8 = 9;

/// Where an actor is: the numbers of the actors above it and its own, each under its parent.
type Path = Vec<u8>;

/// The actors below one.
#[derive(Debug, Clone)]
enum Plan {
    Nobody,
    Group(Scope, Box<[Plan; 3]>),
    Children(Vec<Plan>),
}

#[derive(Debug, Clone, Copy)]
enum Scope {
    One,
    Rest,
    All,
    Late,
}

impl Plan {
    /// `groups` of ten actors that have children have a group below them.
    fn random(rng: &mut Rng, depth: u32, groups: u8) -> Self {
        let mut below = || Self::random(rng, depth.saturating_sub(1), groups);
        if depth == 0 {
            return Self::Nobody;
        }
        let plans = [below(), below(), below()];
        if rng.u8(0..10) == 0 {
            Self::Nobody
        } else if rng.u8(0..10) < groups {
            let scope = rng.choice([Scope::One, Scope::Rest, Scope::All, Scope::Late]).unwrap();
            Self::Group(scope, Box::new(plans))
        } else {
            Self::Children(plans[..rng.usize(1..3)].to_vec())
        }
    }

    /// The paths of the actors of this plan, whose own is `path`.
    fn paths(&self, path: &Path, all: &mut Vec<Path>) {
        all.push(path.clone());
        let below: &[Self] = match self {
            Self::Nobody => &[],
            Self::Group(_, plans) => &plans[..],
            Self::Children(plans) => plans,
        };
        for (number, plan) in (0..).zip(below) {
            // A group stands between the actor and its members.
            let own = if matches!(self, Self::Group(..)) { vec![GROUP, number] } else { vec![number] };
            plan.paths(&[path.clone(), own].concat(), all);
        }
        if matches!(self, Self::Group(..)) {
            all.push([path.clone(), vec![GROUP]].concat());
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum How {
    Ask,
    Room,
    Within,
    Send,
}

#[derive(Debug, Clone)]
enum Step {
    Sleep(u64),
    Ask(Path, How),
    /// The same, and the handler fails if there is no answer.
    AskOrFail(Path, How),
    Fail,
}

/// What a handler does before its steps.
#[derive(Debug, Clone, Copy)]
enum First {
    Nothing,
    StopSelf,
    StopChildren,
    StopChild(usize),
}

#[derive(Clone)]
struct Asked {
    from: Path,
    to: Path,
    how: How,
    at: Instant,
    took: Duration,
    got: Result<(), AskError>,
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, how, at: _, took, got } = self;
        write!(f, "{from:?} asked {to:?} ({how:?}), which took {took:?}: {got:?}")
    }
}

#[derive(Default)]
struct World {
    refs: Mutex<HashMap<Path, AnyRef>>,
    asked: Mutex<Vec<Asked>>,
    /// Starts and ends.
    lives: Mutex<Vec<(Path, Instant)>>,
    /// What the last hooks of the actors do.
    last: Mutex<HashMap<Path, Vec<Step>>>,
}

#[derive(Clone)]
struct Place {
    world: Arc<World>,
    path: Path,
    plan: Plan,
}

impl Place {
    fn below(&self, own: &[u8], plan: &Plan) -> Self {
        Self { world: Arc::clone(&self.world), path: [&self.path, own].concat(), plan: plan.clone() }
    }

    /// A member of this group.
    fn member(&self, number: u8) -> Self {
        let Plan::Group(_, plans) = &self.plan else { unreachable!("it is a group") };
        self.below(&[number], &plans[usize::from(number)])
    }

    fn lives(&self) {
        self.world.lives.lock().unwrap().push((self.path.clone(), Instant::now()));
    }

    fn begins(&self, me: AnyRef) {
        self.lives();
        self.world.refs.lock().unwrap().insert(self.path.clone(), me);
    }

    async fn ends(&self) {
        self.lives();
        let last = self.world.last.lock().unwrap().remove(&self.path);
        if let Some(steps) = last {
            let _failed = self.perform(steps).await;
        }
        self.lives();
    }

    async fn perform(&self, steps: Vec<Step>) -> Result<(), Failed> {
        for step in steps {
            match step {
                Step::Sleep(millis) => sleep(Duration::from_millis(millis)).await,
                Step::Ask(to, how) => drop(self.ask(to, how).await),
                Step::AskOrFail(to, how) => self.ask(to, how).await.map_err(|_| Failed)?,
                Step::Fail => return Err(Failed),
            }
        }
        Ok(())
    }

    async fn ask(&self, to: Path, how: How) -> Result<(), AskError> {
        let Some(actor) = self.world.refs.lock().unwrap().get(&to).cloned() else { return Ok(()) };
        let at = Instant::now();
        let asking = Asking { place: self.clone(), to, how, at, is_over: false };
        let got = actor.ask(how).await;
        asking.over(got.clone());
        got
    }
}

/// Notes an ask that is dropped, too.
struct Asking {
    place: Place,
    to: Path,
    how: How,
    at: Instant,
    is_over: bool,
}

impl Asking {
    fn note(&self, got: Result<(), AskError>) {
        let Self { place, to, how, at, .. } = self;
        let asked =
            Asked { from: place.path.clone(), to: to.clone(), how: *how, at: *at, took: at.elapsed(), got };
        place.world.asked.lock().unwrap().push(asked);
    }

    fn over(mut self, got: Result<(), AskError>) {
        self.is_over = true;
        self.note(got);
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        if !self.is_over {
            self.note(Err(AskError::Unanswered));
        }
    }
}

/// The handlers and hooks of all actors here.
macro_rules! actor_of_the_tree {
    ($name:ident, |$this:ident, $ctx:ident| $start:block) => {
        #[actor]
        impl $name {
            #[pre_start]
            fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
                self.place.begins(AnyRef::$name(ctx.me()));
                let ($this, $ctx) = (self, ctx);
                $start
            }

            /// Its children are suspended for a while before they are told to stop.
            #[pre_restart]
            async fn restarts(&mut self, ctx: &mut Context<Self>) {
                sleep(Duration::from_millis(self.place.path.len() as u64 % 3)).await;
                ctx.stop_children();
                self.place.ends().await;
            }

            #[post_stop]
            async fn end(&mut self) {
                self.place.ends().await;
            }

            #[handler]
            fn ping(&mut self) {}

            #[handler]
            async fn work(
                &mut self,
                first: First,
                steps: Vec<Step>,
                ctx: &mut Context<Self>,
            ) -> Result<(), Failed> {
                match first {
                    First::Nothing => {}
                    First::StopSelf => ctx.stop_self(),
                    First::StopChildren => ctx.stop_children(),
                    First::StopChild(number) => {
                        if let Some(child) = ctx.children().get(number) {
                            child.stop();
                        }
                    }
                }
                self.place.perform(steps).await
            }
        }
    };
}

/// An actor with children that it spawns.
#[actor(mailbox = bounded(2), stop_timeout = "30s")]
#[supervise(one_for_one, on(_) = Restart)]
struct Node {
    place: Place,
}

impl Node {
    fn new(place: Place) -> impl FnMut() -> Self + Send + 'static {
        move || Self { place: place.clone() }
    }
}

actor_of_the_tree!(Node, |this, ctx| {
    match &this.place.plan {
        Plan::Nobody => {}
        Plan::Children(plans) => {
            for (number, plan) in (0..).zip(plans) {
                ctx.spawn(format!("n{number}"), Node::new(this.place.below(&[number], plan)))?;
            }
        }
        Plan::Group(scope, _) => {
            let place = this.place.below(&[GROUP], &this.place.plan);
            match scope {
                Scope::One => drop(ctx.spawn("one", One::with(place))?),
                Scope::Rest => drop(ctx.spawn("rest", Rest::with(place))?),
                Scope::All => drop(ctx.spawn("all", All::with(place))?),
                Scope::Late => drop(ctx.spawn("late", Late::with(place))?),
            }
        }
    }
    Ok(())
});

/// An actor with three declared children.
macro_rules! group {
    ($name:ident, $($table:tt)*) => {
        #[actor(mailbox = bounded(2), stop_timeout = "30s")]
        #[supervise($($table)*, on(_) = Restart)]
        struct $name {
            place: Place,
            #[child(|this| Node::new(this.place.member(0)))]
            first: Child<Node>,
            #[child(|this| Node::new(this.place.member(1)))]
            second: Child<Node>,
            #[child(|this| Node::new(this.place.member(2)))]
            third: Child<Node>,
        }

        impl $name {
            fn with(place: Place) -> impl FnMut() -> Self + Send + 'static {
                move || Self {
                    place: place.clone(),
                    first: Child::default(),
                    second: Child::default(),
                    third: Child::default(),
                }
            }
        }

        actor_of_the_tree!($name, |_this, _ctx| { Ok(()) });
    };
}

group!(One, one_for_one);
group!(Rest, rest_for_one);
group!(All, all_for_one);
group!(Late, rest_for_one(backoff(min = "10ms", max = "20ms")));

macro_rules! any_ref {
    ($($name:ident($reference:ident)),*) => {
        #[derive(Clone)]
        enum AnyRef {
            $($name($reference)),*
        }

        impl AnyRef {
            async fn ask(&self, how: How) -> Result<(), AskError> {
                match self {
                    $(Self::$name(actor) => match how {
                        How::Ask => actor.ping().await,
                        How::Room => actor.ping().when_room().await,
                        How::Within => actor.ping().timeout(Duration::from_secs(3600)).await,
                        How::Send => actor.ping().send().await.map_err(|back| match back.reason() {
                            SendErrorReason::MailboxFull => AskError::MailboxFull,
                            _ => AskError::Stopped,
                        }),
                    },)*
                }
            }

            fn work(&self, first: First, steps: Vec<Step>) -> bool {
                match self {
                    $(Self::$name(actor) => actor.work(first, steps).tell().is_ok(),)*
                }
            }

            fn stop(&self) {
                match self {
                    $(Self::$name(actor) => actor.actor_ref().stop(),)*
                }
            }
        }
    };
}

any_ref!(Node(NodeRef), One(OneRef), Rest(RestRef), All(AllRef), Late(LateRef));

struct Driver {
    rng: Rng,
    world: Arc<World>,
    paths: Vec<Path>,
    /// Whether groups may stop, and nobody asks an actor above.
    groups_stop: bool,
    some_are_passive: bool,
    /// Actors that are stopped soon, above one that was stopped.
    doomed: Vec<Path>,
}

impl Driver {
    /// An actor above `path`, or an earlier sibling of `path` or of an actor above it, or a passive actor below
    /// such a sibling.
    fn target(&mut self, path: &Path) -> Option<Path> {
        if self.is_passive(path) {
            return None;
        }
        let level = self.rng.usize(0..=path.len());
        let (above, below) = path.split_at(level);
        match below.first() {
            Some(&number) if number != GROUP && number > 0 && (self.groups_stop || self.rng.bool()) => {
                let fellow = [above, &[self.rng.u8(0..number)]].concat();
                let below = |other: &&Path| other.starts_with(&fellow) && self.is_passive(other);
                let below: Vec<_> = self.paths.iter().filter(below).cloned().collect();
                if self.rng.bool() { self.rng.choice(below).or(Some(fellow)) } else { Some(fellow) }
            }
            Some(_) if !self.groups_stop => Some(above.to_vec()),
            _ => None,
        }
    }

    /// Whether this actor asks nobody. Of the actors below an earlier sibling, only such ones are asked: one that
    /// waits for a suspended actor near it would hold the asker up, which the rule does not cover.
    fn is_passive(&self, path: &Path) -> bool {
        self.some_are_passive && path.len() > 1 && path.iter().sum::<u8>() % 2 == 0
    }

    /// Whether a group is below `path`.
    fn has_group_below(&self, path: &Path) -> bool {
        self.paths.iter().any(|other| other.strip_prefix(&path[..]).is_some_and(|below| below.contains(&GROUP)))
    }

    /// What a handler of this actor may stop before its steps.
    fn first(&mut self, path: &Path) -> First {
        let may_stop_below = self.groups_stop || !self.has_group_below(path);
        match self.rng.u8(0..3) {
            0 if may_stop_below => First::StopChildren,
            1 if may_stop_below => First::StopChild(self.rng.usize(0..3)),
            2 if self.may_stop(path) => First::StopSelf,
            _ => First::Nothing,
        }
    }

    /// The root does not stop. When it restarts, the actors that were stopped are there again.
    fn may_stop(&self, path: &Path) -> bool {
        let is_group = path.last() == Some(&GROUP);
        !path.is_empty() && (self.groups_stop || !(is_group || self.has_group_below(path)))
    }

    fn step(&mut self, path: &Path, may_fail: bool) -> Step {
        let how = self.rng.choice([How::Ask, How::Room, How::Within, How::Send]).unwrap();
        let target = self.target(path);
        match (self.rng.u8(0..20), target) {
            (0..3, _) | (_, None) => Step::Sleep(self.rng.u64(0..6)),
            (3, _) if may_fail => Step::Fail,
            (5, Some(target)) if may_fail => Step::AskOrFail(target, how),
            (_, Some(target)) => Step::Ask(target, how),
        }
    }

    fn steps(&mut self, path: &Path, may_fail: bool) -> Vec<Step> {
        (0..self.rng.usize(1..4)).map(|_| self.step(path, may_fail)).collect()
    }

    /// Gives an order to a random actor.
    fn order(&mut self, may_fail: bool) {
        let path = self.rng.choice(&self.paths).unwrap().clone();
        let Some(actor) = self.world.refs.lock().unwrap().get(&path).cloned() else { return };
        match self.rng.u8(0..100) {
            0..20 if may_fail => {
                let steps = self.steps(&path, false);
                self.world.last.lock().unwrap().insert(path, steps);
            }
            20..28 if may_fail => {
                if self.may_stop(&path) {
                    actor.stop();
                }
                let above = path[..self.rng.usize(0..=path.len())].to_vec();
                if self.may_stop(&above) {
                    self.doomed.push(above);
                }
            }
            28..32 if may_fail => {
                let doomed =
                    self.doomed.pop().and_then(|path| self.world.refs.lock().unwrap().get(&path).cloned());
                doomed.inspect(AnyRef::stop);
            }
            32..34 if may_fail => {
                // Then all that were stopped are there again.
                self.world.refs.lock().unwrap()[&Path::new()].work(First::Nothing, vec![Step::Fail]);
            }
            34..42 if may_fail => {
                let first = self.first(&path);
                let steps = self.steps(&path, true);
                actor.work(first, steps);
            }
            _ => {
                let steps = self.steps(&path, may_fail);
                actor.work(First::Nothing, steps);
            }
        }
    }
}

async fn run(system: &TestSystem, seed: u64) -> (usize, usize) {
    system.allow_failures();
    system.allow_dead_letters();
    let mut rng = Rng::with_seed(seed);
    let groups_stop = seed.is_multiple_of(2);
    let plan = Plan::random(&mut rng, 3, if groups_stop { 8 } else { 5 });
    let mut paths = Vec::new();
    plan.paths(&Path::new(), &mut paths);
    let world = Arc::<World>::default();
    let root = Place { world: Arc::clone(&world), path: Path::new(), plan };
    system.spawn("root", Node::new(root.clone())).unwrap();
    system.settle().await;
    let mut driver = Driver {
        rng,
        world: Arc::clone(&world),
        paths,
        groups_stop,
        some_are_passive: seed.is_multiple_of(3),
        doomed: Vec::new(),
    };
    let mut quiet = Vec::new();
    for _ in 0..4 {
        for _ in 0..ORDERS / 4 {
            driver.order(true);
            if driver.rng.u8(0..3) > 0 {
                let millis = driver.rng.u64(0..4);
                sleep(Duration::from_millis(millis)).await;
            }
        }
        sleep(AT_MOST).await;
        let root = driver.world.refs.lock().unwrap()[&Path::new()].clone();
        root.work(First::Nothing, vec![Step::Fail]);
        sleep(AT_MOST).await;
        driver.world.last.lock().unwrap().clear();
        let begins = Instant::now();
        for _ in 0..ORDERS / 8 {
            driver.order(false);
            let millis = driver.rng.u64(0..4);
            sleep(Duration::from_millis(millis)).await;
        }
        sleep(AT_MOST).await;
        quiet.push((begins, Instant::now()));
    }
    let asked = std::mem::take(&mut *world.asked.lock().unwrap());
    let lives = std::mem::take(&mut *world.lives.lock().unwrap());
    for one in &asked {
        let is_told = matches!(one.got, Err(AskError::HeldUp(_)));
        let ended_at = one.at + one.took;
        let is_quiet = quiet.iter().any(|(begin, end)| *begin <= ended_at && ended_at < *end);
        let goes_on =
            |(path, at): &(Path, Instant)| *path == one.to && *at >= ended_at && *at < ended_at + AT_MOST;
        assert!(one.took < AT_MOST, "seed {seed}: {one:?}; {:?}", root.plan);
        assert!(!is_told || !is_quiet, "seed {seed}: nothing fails, but {one:?}");
        assert!(!is_told || lives.iter().any(goes_on), "seed {seed}: it does not restart, but {one:?}");
    }
    let refs: Vec<_> =
        world.refs.lock().unwrap().iter().map(|(path, actor)| (path.clone(), actor.clone())).collect();
    for (path, actor) in refs {
        let began = Instant::now();
        let answer = tokio::time::timeout(AT_MOST, actor.ask(How::Room)).await;
        match answer {
            Ok(Ok(()) | Err(AskError::Stopped | AskError::StoppedByFailure(_))) => {}
            other => panic!("seed {seed}: {path:?} does not answer: {other:?} after {:?}", began.elapsed()),
        }
    }
    let told = asked.iter().filter(|one| matches!(one.got, Err(AskError::HeldUp(_)))).count();
    (asked.len(), told)
}

#[test]
fn z_14_8_nobody_waits_long_for_an_actor_above_or_before() {
    let number = |name: &str, otherwise| std::env::var(name).map_or(otherwise, |value| value.parse().unwrap());
    let (first, runs) = (number("STALLS_SEED", 1), number("STALLS_RUNS", 30));
    let (mut asked, mut told) = (0, 0);
    for seed in first..first + runs {
        let (all, held) = testkit::run(async |system| run(system, seed).await);
        asked += all;
        told += held;
    }
    println!("{asked} asks, {told} of them held up");
    assert!(told > 0, "nothing was tested");
}
