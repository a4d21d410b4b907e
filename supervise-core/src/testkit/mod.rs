//! Testing actors: a private system per test on a paused clock. Needs the feature `testkit`.
//!
//! The clock moves only when nothing else can happen, or by [`TestSystem::advance`], so a test never sleeps. The clock
//! also moves while an actor waits for a socket, a pipe or another thread, because it does not know of these. Let a
//! test's actors talk to a stand-in instead, or run the test on a real clock.
//!
//! A test that cannot end fails instead of hanging:
//!
//! | the test | ends |
//! |---|---|
//! | waits for something that does not happen | after a virtual hour. Time that [`TestSystem::advance`] adds does not count, but a test may call it at most a million times |
//! | has actors that are always busy: one that tells itself something again and again, or yields in a loop | after two million turns without a moment of rest while the test itself waits. The message names these actors |
//! | has another task that yields in a loop, or does so itself | after a minute of real time without a moment of rest |
//! | waits for a task of `spawn_blocking` that does not return | after five minutes of real time in which nothing happens |
//! | blocks its thread: a handler waits for a lock, a channel of `std` or another thread, sleeps with `std`, or computes | after five minutes of real time in one piece; the actor is named on standard error and *the process is aborted*, because nothing else can end it |
//!
//! Shorter blocking only makes the test take longer.
//!
//! ```
//! # use supervise_core::testkit;
//! # use std::time::Duration;
//! testkit::run(async |system| {
//!     let probe = system.probe::<u32>();
//!     let handle = probe.handle();
//!     tokio::spawn(async move {
//!         tokio::time::sleep(Duration::from_secs(10)).await;
//!         handle.note(7);
//!     });
//!     system.advance(Duration::from_secs(9)).await;
//!     probe.expect_none().await;
//!     system.advance(Duration::from_secs(1)).await;
//!     probe.expect(7).await;
//! });
//! ```
//!
//! The testkit deliberately does not run tests on several threads. The simulator and the stress tests look
//! for races.

mod patience;
mod probe;
mod seen;
mod settle;
#[cfg(feature = "durable")]
mod stored;
#[cfg(test)]
mod tests;
mod watch;

use std::any::type_name;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::ops::Deref;
use std::panic::{Location, resume_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use self::patience::Patience;
pub use self::probe::{ProbeHandle, TestProbe};
use self::seen::{Busy, Happened, NotFound, complain};
#[cfg(feature = "durable")]
pub use self::stored::{Crash, Fault, TestStore};
use self::watch::{Limits, Signs, Watch};

use crate::actor::{Actor, ActorSystem, ActorSystemBuilder, RefOf, TypedRef};
use crate::base::{ActorPath, contained};
use crate::failure::Failure;
use crate::observe::{DeadLetter, Event, Events};
use crate::supervision::{Directive, HowEnded, Outcome};

/// How long a test may wait, in virtual time, before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(3600);

/// After how many passes without activity all actors count as idle. More than one, because an actor may wait for a task
/// that is not an actor.
const QUIET_ROUNDS: u32 = 8;

/// Runs a test on its own runtime, with a paused clock and a private system. `#[supervise::test]` expands to this.
///
/// # Panics
///
/// If the test panics, if it leaves a failure or a dead letter that it neither expected nor allowed, or if it [cannot
/// end](self).
pub fn run<T>(test: impl AsyncFnOnce(&TestSystem) -> T) -> T {
    run_with(ActorSystem::builder("test"), test)
}

/// Like [`run`], with settings for the system. `#[supervise::test]` has no such parameter, so a test with settings is an ordinary
/// `#[test]`:
///
/// ```
/// # extern crate supervise_core as supervise;
/// use supervise::{ActorSystem, testkit};
/// use std::time::Duration;
///
/// # /*
/// #[test]
/// # */
/// fn every_ask_has_a_limit() {
///     let settings = ActorSystem::builder("test").ask_timeout(Duration::from_secs(5));
///     testkit::run_with(settings, async |system| {
///         assert_eq!(system.name(), "test");
///     });
/// }
/// # every_ask_has_a_limit();
/// ```
///
/// # Panics
///
/// As [`run`].
pub fn run_with<T>(settings: ActorSystemBuilder, test: impl AsyncFnOnce(&TestSystem) -> T) -> T {
    run_within(Limits::GENEROUS, watch::abort, settings, test)
}

/// Like [`run_with`]. `blocked` is called while user code blocks the thread, so that nothing can end the test.
fn run_within<T>(
    limits: Limits,
    blocked: impl FnMut(&str) + Send + 'static,
    settings: ActorSystemBuilder,
    test: impl AsyncFnOnce(&TestSystem) -> T,
) -> T {
    let signs = Arc::new(Signs::default());
    let resting = Arc::clone(&signs);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .on_thread_park(move || resting.rest())
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => panic!("no runtime for the test: {error}"),
    };
    let mut watch = None;
    let outcome = contained(|| {
        runtime.block_on(async {
            let system = TestSystem::start(settings);
            let (watching, mut hangs) = Watch::begin(limits, &signs, system.activity(), blocked);
            watch = Some(watching);
            let patience = system.patience.clone();
            let test = patience.within(PATIENCE, async {
                let outcome = test(&system).await;
                system.finish().await;
                outcome
            });
            let mut test = pin!(test);
            let in_time = poll_fn(|cx| {
                let unsettled = system.activity().unsettled();
                if let Poll::Ready(in_time) = test.as_mut().poll(cx) {
                    return Poll::Ready(in_time);
                }
                if system.activity().unsettled() == unsettled {
                    signs.progress();
                }
                match Pin::new(&mut hangs).poll(cx) {
                    Poll::Ready(Ok(why)) => panic!("{why}"),
                    _ => Poll::Pending,
                }
            });
            in_time.await.unwrap_or_else(|| {
                panic!(
                    "the test waited a virtual hour: what it waits for does not happen, or not on the paused clock \
                     (sockets and other threads do not hold it), or later (`advance` waits as long as it is told to){}",
                    Busy::of(&system)
                )
            })
        })
    });
    signs.test_is_over();
    match outcome {
        Ok(outcome) => {
            drop(runtime);
            outcome
        }
        Err(payload) => {
            // Does not wait for blocking tasks: one of them may be the reason for the failure.
            runtime.shutdown_background();
            resume_unwind(payload.into_inner())
        }
    }
}

/// How many suspensions of an actor have not been undone. At zero, it handles messages.
pub fn suspensions<R: TypedRef>(actor: &R) -> u32 {
    actor.actor_ref().core().protocol().suspensions()
}

/// How many decisions and orders an actor has deferred until its own failure or restart is over.
pub fn deferrals<R: TypedRef>(actor: &R) -> usize {
    actor.actor_ref().core().protocol().deferrals()
}

/// How many messages of an actor are in memory and wait.
pub fn waiting<R: TypedRef>(actor: &R) -> usize {
    actor.actor_ref().to_any().0.waiting()
}

/// A system under test. It dereferences to [`ActorSystem`], moves the paused clock, and expects what the actors do.
pub struct TestSystem {
    system: ActorSystem,
    log: Rc<RefCell<Log>>,
    patience: Patience,
    #[cfg(feature = "durable")]
    control: stored::Control,
    /// The systems that were started after simulated crashes.
    #[cfg(feature = "durable")]
    next: Rc<RefCell<Vec<TestSystem>>>,
}

/// The events that no expectation has taken yet.
struct Log {
    events: Events,
    unseen: Vec<Event>,
    /// How the last actor at each path ended.
    ends: HashMap<ActorPath, HowEnded>,
    failures_allowed: bool,
    dead_letters_allowed: bool,
    /// Whether the test simulated a crash, so that the system never ends.
    has_crashed: bool,
}

impl Deref for TestSystem {
    type Target = ActorSystem;

    fn deref(&self) -> &ActorSystem {
        &self.system
    }
}

impl TestSystem {
    #[cfg(feature = "durable")]
    fn start(settings: ActorSystemBuilder) -> Self {
        Self::with_store(settings, stored::Control::new(crate::durable::MemoryStore::new()))
    }

    /// Starts a system whose store obeys the test, unless its settings have another one.
    #[cfg(feature = "durable")]
    fn with_store(settings: ActorSystemBuilder, control: stored::Control) -> Self {
        let settings = settings.store_by_default(control.engine());
        let Self { system, log, patience, next, .. } = Self::started(settings, control.clone());
        Self { system, log, patience, control, next }
    }

    /// Another handle to the same system.
    #[cfg(feature = "durable")]
    fn handle(&self) -> Self {
        Self {
            system: self.system.clone(),
            log: Rc::clone(&self.log),
            patience: self.patience.clone(),
            control: self.control.clone(),
            next: Rc::default(),
        }
    }

    #[cfg(not(feature = "durable"))]
    fn start(settings: ActorSystemBuilder) -> Self {
        Self::started(settings)
    }

    fn started(settings: ActorSystemBuilder, #[cfg(feature = "durable")] control: stored::Control) -> Self {
        let system = match settings.at_least_event_capacity(1 << 16).start() {
            Ok(system) => system,
            Err(error) => panic!("{error}"),
        };
        let events = system.events().subscribe();
        let log = Log {
            events,
            unseen: Vec::new(),
            ends: HashMap::new(),
            failures_allowed: false,
            dead_letters_allowed: false,
            has_crashed: false,
        };
        Self {
            system,
            log: Rc::new(RefCell::new(log)),
            patience: Patience::default(),
            #[cfg(feature = "durable")]
            control,
            #[cfg(feature = "durable")]
            next: Rc::default(),
        }
    }

    /// Runs until every actor is idle, without moving time. If messages are on their way to a durable mailbox, time moves by the
    /// millisecond that each group takes.
    pub async fn settle(&self) {
        settle::settle(&self.system).await;
        #[cfg(feature = "durable")]
        while !self.control.is_held() && self.system.core().store().is_some_and(|store| store.is_busy()) {
            tokio::time::sleep(Duration::from_millis(1)).await;
            settle::settle(&self.system).await;
        }
    }

    /// Moves the clock, timer by timer, and lets the actors settle. Time moved like this does not count towards the
    /// virtual hour after which a waiting test fails.
    ///
    /// # Panics
    ///
    /// At the millionth call in one test.
    pub async fn advance(&self, duration: Duration) {
        self.patience.moves(duration);
        self.settle().await;
        tokio::time::sleep(duration).await;
        self.settle().await;
    }

    /// Makes a probe: actors send values through its handles, and the test expects them from the probe.
    pub fn probe<T: Send + 'static>(&self) -> TestProbe<T> {
        TestProbe::new(self.system.clone(), self.patience.clone())
    }

    /// Allows failures that the test does not expect.
    pub fn allow_failures(&self) {
        self.log.borrow_mut().failures_allowed = true;
    }

    /// Allows dead letters that the test does not expect.
    pub fn allow_dead_letters(&self) {
        self.log.borrow_mut().dead_letters_allowed = true;
    }

    /// Lets the actors settle, and returns the actor at this path: a declared child whose field is private, for example.
    ///
    /// `system.actor::<Fetcher>("/user/gateway/fetcher").await` is the child of the field `fetcher` of the actor `gateway`.
    ///
    /// # Panics
    ///
    /// If there is no actor at this path, or one of another type. The message names the place of the call and what there is instead.
    #[track_caller]
    pub fn actor<A: Actor>(&self, path: impl AsRef<str>) -> impl Future<Output = RefOf<A>> {
        let place = Location::caller();
        async move {
            self.settle().await;
            let path = path.as_ref();
            match self.system.find(path).and_then(|actor| actor.downcast::<A>()) {
                Some(actor) => actor.into(),
                None => complain(place, &NotFound { tree: &self.system.tree(), path, meant: type_name::<A>() }),
            }
        }
    }

    /// Waits until an actor has ended, and returns how it ended. The actor may have ended before the call. If
    /// several actors ended at one path, it returns how the last one ended.
    ///
    /// # Panics
    ///
    /// If the actor does not end. The message names the place of the call and what happened, as that of every expectation
    /// does.
    #[track_caller]
    pub fn expect_terminated<R: TypedRef>(&self, actor: &R) -> impl Future<Output = HowEnded> {
        let place = Location::caller();
        async move {
            let ended = self.patience.within(PATIENCE / 2, self.system.ended(actor)).await;
            self.settle().await;
            let path = actor.actor_ref().path();
            let mut log = self.log.borrow_mut();
            log.read();
            match (ended, log.ends.get(&path)) {
                (Some(HowEnded::AlreadyGone), Some(seen)) => *seen,
                (Some(how), _) => how,
                (None, _) => {
                    let tree = self.system.tree();
                    let state = tree.find(&path).map(|node| format!("it is {:?}; ", node.state()));
                    let (state, happened) = (state.unwrap_or_default(), Happened(&log.unseen));
                    complain(place, &format_args!("expected {path} to end, but it did not; {state}{happened}"))
                }
            }
        }
    }

    /// Lets the actors settle, and takes the decision about a failure of this actor.
    ///
    /// # Panics
    ///
    /// If no such decision was made.
    #[track_caller]
    pub fn expect_decision<R: TypedRef>(&self, actor: &R) -> impl Future<Output = Decision> {
        let path = actor.actor_ref().path();
        self.expect(format!("a decision about {path}"), move |event| match event {
            Event::Decided { supervisor, child, failure, directive, outcome, .. } if *child == path => {
                Some(Decision {
                    supervisor: supervisor.clone(),
                    failure: failure.clone(),
                    directive: *directive,
                    outcome: *outcome,
                })
            }
            _ => None,
        })
    }

    /// Lets the actors settle, and takes `times` restarts of this actor, with the decisions that led to them.
    ///
    /// A restart counts when the new instance has started. If that instance cannot start, the supervisor decides again, and only the
    /// decision is counted: three decisions to restart, of which the first two end with a failed start, are one restart.
    /// [`expect_decision`](Self::expect_decision) takes the decisions themselves.
    ///
    /// # Panics
    ///
    /// If it was restarted more or fewer times.
    #[track_caller]
    pub fn expect_restarts<R: TypedRef>(&self, actor: &R, times: usize) -> impl Future<Output = ()> {
        let (place, path) = (Location::caller(), actor.actor_ref().path());
        async move {
            self.settle().await;
            let mut log = self.log.borrow_mut();
            log.read();
            let is_restart = |event: &Event| matches!(event, Event::Restarted { actor, .. } if *actor == path);
            let restarts = log.unseen.iter().filter(|event| is_restart(event)).count();
            if restarts != times {
                let (were, happened) = (if restarts == 1 { "was" } else { "were" }, Happened(&log.unseen));
                complain(
                    place,
                    &format_args!("expected {times} restarts of {path}, but there {were} {restarts}; {happened}"),
                )
            }
            let is_decision = |event: &Event| matches!(event, Event::Decided { child, .. } if *child == path);
            log.unseen.retain(|event| !is_restart(event) && !is_decision(event));
        }
    }

    /// Lets the actors settle, and takes a failure of this actor that its supervisor escalated.
    ///
    /// # Panics
    ///
    /// If no such failure was escalated.
    #[track_caller]
    pub fn expect_escalated<R: TypedRef>(&self, actor: &R) -> impl Future<Output = Failure> {
        let path = actor.actor_ref().path();
        self.expect(format!("an escalated failure of {path}"), move |event| match event {
            Event::Decided { child, failure, outcome: Outcome::Escalated | Outcome::LimitEscalated, .. }
                if *child == path =>
            {
                Some(failure.clone())
            }
            _ => None,
        })
    }

    /// Lets the actors settle, and takes a dead letter for this actor.
    ///
    /// # Panics
    ///
    /// If there is no such dead letter.
    #[track_caller]
    pub fn expect_dead_letter<R: TypedRef>(&self, actor: &R) -> impl Future<Output = DeadLetter> {
        let path = actor.actor_ref().path();
        self.expect(format!("a dead letter for {path}"), move |event| match event {
            Event::DeadLetter(letter) if letter.recipient == path => Some(letter.clone()),
            _ => None,
        })
    }

    /// Lets the actors settle, and takes the first event for which `pick` returns `Some`.
    ///
    /// # Panics
    ///
    /// If there is no such event.
    #[track_caller]
    pub fn expect<T>(
        &self,
        what: impl fmt::Display,
        mut pick: impl FnMut(&Event) -> Option<T>,
    ) -> impl Future<Output = T> {
        let place = Location::caller();
        async move {
            self.settle().await;
            let mut log = self.log.borrow_mut();
            log.read();
            let found = log.unseen.iter().enumerate().find_map(|(at, event)| Some((at, pick(event)?)));
            match found {
                Some((at, picked)) => {
                    log.unseen.remove(at);
                    picked
                }
                None => complain(place, &format_args!("expected {what}; {}", Happened(&log.unseen))),
            }
        }
    }

    /// Lets the actors settle, and takes all events for which `pick` returns `Some`.
    pub async fn take_all(&self, mut pick: impl FnMut(&Event) -> bool) -> Vec<Event> {
        self.settle().await;
        let mut log = self.log.borrow_mut();
        log.read();
        let (picked, rest) = std::mem::take(&mut log.unseen).into_iter().partition(|event| pick(event));
        log.unseen = rest;
        picked
    }

    /// Ends the system and looks for failures and dead letters that the test should have expected.
    async fn finish(&self) {
        self.finish_one().await;
        #[cfg(feature = "durable")]
        for next in self.next.take() {
            next.finish_one().await;
        }
    }

    async fn finish_one(&self) {
        if self.log.borrow().has_crashed {
            return;
        }
        self.settle().await;
        self.log.borrow_mut().read();
        self.system.terminate().await;
        let log = self.log.borrow();
        for event in &log.unseen {
            match event {
                Event::Decided { child, failure, .. } if !log.failures_allowed => panic!(
                    "{child} failed and the test did not expect it: {failure}\n\
                     (`expect_decision`, `expect_restarts`, or `allow_failures` say that it should)"
                ),
                Event::DeadLetter(letter) if !log.dead_letters_allowed => panic!(
                    "`{}` to {} became a dead letter and the test did not expect it\n\
                     (`expect_dead_letter` or `allow_dead_letters` say that it should)",
                    letter.message, letter.recipient
                ),
                _ => {}
            }
        }
    }
}

impl Log {
    fn read(&mut self) {
        while let Some(event) = self.events.try_recv() {
            if let Event::Missed(missed) = event {
                panic!(
                    "{missed} more events than the test keeps: take some in between, with an expectation or `take_all`, or use \
                     `run_with` and a greater `event_capacity`"
                );
            }
            if let Event::Stopped { actor, how } = &event {
                self.ends.insert(actor.clone(), *how);
            }
            self.unseen.push(event);
        }
    }
}

impl fmt::Debug for TestSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestSystem").field("system", &self.system).finish_non_exhaustive()
    }
}

/// A supervisor's decision, and its result.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Decision {
    /// The supervisor.
    pub supervisor: ActorPath,
    /// The failure.
    pub failure: Failure,
    /// The decider's answer.
    pub directive: Directive,
    /// The result of the decision.
    pub outcome: Outcome,
}
