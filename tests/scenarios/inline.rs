//! Handlers that an asker may run itself. Rule 1.8.

use std::future::IntoFuture;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll, Waker};

use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{AskError, FailureKind, Request};
use tracing::subscriber::set_default;
use tracing::{Event, Level, Span, Subscriber, info_span};
use tracing_subscriber::layer::{Context as LayerContext, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

#[derive(Debug, thiserror::Error)]
#[error("no such thing")]
struct NoSuchThing;

#[actor]
#[derive(Default)]
struct Register {
    sum: u64,
}

#[actor]
impl Register {
    #[handler]
    fn add(&mut self, number: u64) {
        self.sum += number;
    }

    #[handler(inline)]
    fn sum(&self) -> u64 {
        self.sum
    }

    #[handler]
    fn sum_in_turn(&self) -> u64 {
        self.sum
    }

    #[handler(inline)]
    fn fail(&mut self) -> Result<(), NoSuchThing> {
        Err(NoSuchThing)
    }

    #[handler(inline)]
    fn panic(&mut self) {
        panic!("as told");
    }

    /// Where the runtime of the actor is needed.
    #[handler(inline)]
    fn spawn_task(&mut self) -> tokio::runtime::Id {
        tokio::spawn(async {});
        tokio::runtime::Handle::current().id()
    }
}

/// The result of an ask in its first poll.
fn at_once<A: Actor, T: Send + 'static>(request: Request<'_, A, T>) -> Option<Result<T, AskError>> {
    match pin!(request.into_future()).poll(&mut TaskContext::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

#[supervise::test]
async fn an_idle_actor_answers_in_the_poll_that_asks(system: &TestSystem) {
    let register = system.spawn("register", Register::default).unwrap();
    system.settle().await;
    assert_eq!(at_once(register.sum()).unwrap().unwrap(), 0);
    assert!(at_once(register.sum_in_turn()).is_none(), "who does not say so takes a turn of its own");
}

#[supervise::test]
async fn an_inline_ask_comes_after_what_was_sent_before(system: &TestSystem) {
    let register = system.spawn("register", Register::default).unwrap();
    system.settle().await;
    register.add(1).tell().unwrap();
    register.add(2).tell().unwrap();
    assert!(at_once(register.sum()).is_none(), "the actor is not idle");
    assert_eq!(register.sum().await.unwrap(), 3);
}

#[supervise::test]
async fn an_inline_failure_is_told_to_the_asker_and_restarts_the_actor(system: &TestSystem) {
    system.allow_failures();
    let register = system.spawn("register", Register::default).unwrap();
    register.add(1).await.unwrap();
    let Some(Err(AskError::Failed(failure))) = at_once(register.fail()) else { panic!("the handler failed") };
    assert_eq!(failure.kind(), FailureKind::Error);
    system.settle().await;
    let Some(Err(AskError::Failed(failure))) = at_once(register.panic()) else { panic!("the handler panicked") };
    assert_eq!(failure.kind(), FailureKind::Panic);
    system.expect_restarts(&register, 2).await;
    assert_eq!(register.sum().await.unwrap(), 0);
}

#[supervise::test]
async fn an_actor_that_asks_inline_again_and_again_lets_others_have_their_turn(system: &TestSystem) {
    let register = system.spawn("register", Register::default).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&over);
    let task = tokio::spawn(async move { other.store(true, Ordering::SeqCst) });
    while !over.load(Ordering::SeqCst) {
        register.sum().await.unwrap();
    }
    task.await.unwrap();
}

/// Asks the next one of a long line, inline, from within an inline handler.
#[actor]
struct Link {
    next: Option<LinkRef>,
    end: RegisterRef,
}

#[actor]
impl Link {
    #[handler(inline)]
    fn pass(&mut self) {
        match &self.next {
            Some(next) => drop(next.pass().ask().unwrap()),
            None => self.end.add(1).tell().unwrap(),
        }
    }
}

#[supervise::test]
async fn inline_asks_within_each_other_do_not_pile_up(system: &TestSystem) {
    let end = system.spawn("end", Register::default).unwrap();
    let mut next = None;
    for _ in 0..20_000 {
        let (after, end) = (next.take(), end.clone());
        next = Some(system.spawn_anonymous(move || Link { next: after.clone(), end: end.clone() }).unwrap());
    }
    system.settle().await;
    next.unwrap().pass().await.unwrap();
    system.settle().await;
    assert_eq!(end.sum().await.unwrap(), 1);
}

#[test]
fn an_inline_handler_runs_in_its_own_runtime_wherever_it_is_asked_from() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let system = runtime.block_on(async { ActorSystem::new("outside") });
    let register = system.spawn("register", Register::default).unwrap();
    // It has answered, so it has started.
    let _zero = runtime.block_on(async { register.sum_in_turn().await }).unwrap();
    let id = loop {
        // Asked on a thread that belongs to no runtime. The actor is idle as soon as its last turn is over.
        if let Some(answer) = at_once(register.spawn_task()) {
            break answer.unwrap();
        }
        std::thread::yield_now();
    };
    assert_eq!(id, runtime.handle().id());
    runtime.block_on(system.terminate());
}

tokio::task_local! {
    /// The name of the task that asks.
    static ASKER: &'static str;
}

/// Notes whether its code runs in the context of the task that asks: with its task-local values, or in its span.
#[actor]
struct Witness {
    seen: Arc<Mutex<Vec<(&'static str, bool)>>>,
}

impl Witness {
    fn note(&self, what: &'static str) {
        let in_askers_context = ASKER.try_get().is_ok() || !Span::current().is_none();
        self.seen.lock().unwrap().push((what, in_askers_context));
    }
}

#[actor]
impl Witness {
    #[pre_start]
    fn start(&mut self) {
        self.note("pre_start");
    }

    #[handler]
    fn told(&mut self) {
        self.note("told");
    }

    #[handler]
    fn sync(&mut self) {}

    #[handler(inline)]
    fn ask_inline(&mut self) {}

    /// While it runs, another message comes.
    #[handler(inline)]
    fn interrupted(&mut self, ctx: &mut Context<Self>) {
        self.note("asked");
        ctx.me().told().tell().unwrap();
    }

    #[handler(inline)]
    fn fail(&mut self, ctx: &mut Context<Self>) -> Result<(), NoSuchThing> {
        self.note("asked");
        ctx.me().told().tell().unwrap();
        Err(NoSuchThing)
    }

    #[handler]
    async fn wait(&mut self) -> u32 {
        self.note("asked");
        tokio::task::yield_now().await;
        self.note("waited");
        7
    }
}

async fn witness(system: &TestSystem) -> (WitnessRef, impl Fn() -> Vec<(&'static str, bool)>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let witness = system.spawn("witness", {
        let seen = Arc::clone(&seen);
        move || Witness { seen: Arc::clone(&seen) }
    });
    system.settle().await;
    (witness.unwrap(), move || std::mem::take(&mut *seen.lock().unwrap()))
}

/// Rule 1.8.
#[supervise::test]
async fn an_inline_ask_leaves_what_others_send_meanwhile_to_a_worker(system: &TestSystem) {
    let (witness, seen) = witness(system).await;
    ASKER.sync_scope("alice", || at_once(witness.interrupted())).unwrap().unwrap();
    assert_eq!(seen(), [("pre_start", false), ("asked", true)], "the other message has not been handled here");
    system.settle().await;
    assert_eq!(seen(), [("told", false)]);
}

/// Rule 1.8. Bob's messages come at any time, also between Alice's message and the turn that she gives the actor.
#[test]
fn no_message_of_others_sees_the_askers_context() {
    const MESSAGES: usize = 40_000;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let system = runtime.block_on(async { ActorSystem::new("two-senders") });
    let seen = Arc::new(Mutex::new(Vec::new()));
    let witness = system.spawn("witness", {
        let seen = Arc::clone(&seen);
        move || Witness { seen: Arc::clone(&seen) }
    });
    let witness = witness.unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let alice = runtime.spawn(ASKER.scope("alice", {
        let (witness, over) = (witness.clone(), Arc::clone(&over));
        async move {
            let mut inline = 0;
            while !over.load(Ordering::SeqCst) {
                inline += usize::from(at_once(witness.ask_inline()).is_some());
                witness.sync().await.unwrap();
            }
            inline
        }
    }));
    for message in 1..=MESSAGES {
        witness.told().tell().unwrap();
        if message % 8 == 0 {
            // Lets the actor become idle.
            runtime.block_on(async { witness.sync().await }).unwrap();
        }
    }
    over.store(true, Ordering::SeqCst);
    let inline = runtime.block_on(alice).unwrap();
    assert!(inline > 0, "the actor was never idle");
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    let told: Vec<_> = seen.iter().filter(|(what, _)| *what == "told").collect();
    assert_eq!(told.len(), MESSAGES);
    assert!(told.iter().all(|(_, in_askers_context)| !in_askers_context), "of {inline} inline asks");
    runtime.block_on(system.terminate());
}

/// Rule 1.8.
#[supervise::test]
async fn what_follows_from_an_inline_failure_does_not_run_in_the_askers_context(system: &TestSystem) {
    system.allow_failures();
    let (witness, seen) = witness(system).await;
    let answer = ASKER.sync_scope("alice", || at_once(witness.fail()));
    assert!(matches!(answer, Some(Err(AskError::Failed(_)))), "the asker is told at once");
    assert_eq!(seen(), [("pre_start", false), ("asked", true)]);
    system.expect_restarts(&witness, 1).await;
    system.settle().await;
    assert_eq!(seen(), [("pre_start", false), ("told", false)]);
}

/// The levels of the lines of the log, and whether each is in a span.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<(Level, bool)>>>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, ctx: LayerContext<'_, S>) {
        self.0.lock().unwrap().push((*event.metadata().level(), ctx.event_span(event).is_some()));
    }
}

/// Rule 1.8.
#[supervise::test]
async fn what_follows_from_an_inline_failure_is_not_in_the_askers_span(system: &TestSystem) {
    system.allow_failures();
    let (witness, seen) = witness(system).await;
    let lines = Lines::default();
    let _subscriber = set_default(Registry::default().with(lines.clone()));
    let answer = info_span!("alice").in_scope(|| at_once(witness.fail()));
    assert!(matches!(answer, Some(Err(AskError::Failed(_)))), "the asker is told at once");
    assert_eq!(seen(), [("pre_start", false), ("asked", true)]);
    system.expect_restarts(&witness, 1).await;
    system.settle().await;
    assert_eq!(seen(), [("pre_start", false), ("told", false)]);
    let lines = std::mem::take(&mut *lines.0.lock().unwrap());
    assert!(lines.contains(&(Level::ERROR, false)), "the decision has a line: {lines:?}");
    assert!(lines.iter().all(|(_, in_span)| !in_span), "{lines:?}");
}

/// Rule 1.8.
#[supervise::test]
async fn a_handler_that_may_wait_runs_on_a_worker_also_where_it_is_asked_inline(system: &TestSystem) {
    let (witness, seen) = witness(system).await;
    let answer = ASKER.scope("alice", witness.wait().inline().into_future()).await;
    assert_eq!(answer.unwrap(), 7);
    assert_eq!(seen(), [("pre_start", false), ("asked", false), ("waited", false)]);
}

#[actor(mailbox = bounded(1, overflow = drop_oldest))]
struct Latest;

#[actor]
impl Latest {
    #[handler(inline)]
    fn ask(&mut self) {}
}

/// Rule 1.8. Another message may take the place of the asker's before its turn begins.
#[supervise::test]
async fn an_actor_whose_messages_are_displaced_is_asked_in_the_ordinary_way(system: &TestSystem) {
    let latest = system.spawn("latest", || Latest).unwrap();
    system.settle().await;
    assert!(at_once(latest.ask()).is_none());
    system.settle().await;
    latest.ask().await.unwrap();
}

/// Notes its name.
#[actor]
struct Noting {
    name: &'static str,
    seen: Arc<Mutex<Vec<&'static str>>>,
}

#[actor]
impl Noting {
    #[handler]
    fn note(&mut self) {
        self.seen.lock().unwrap().push(self.name);
    }
}

/// Tells one actor, and then asks another.
#[actor]
struct Caller {
    told: NotingRef,
    asked: NotingRef,
}

#[actor]
impl Caller {
    #[handler]
    async fn call(&mut self, inline: bool) -> Result<(), AskError> {
        self.told.note().tell().unwrap();
        let ask = self.asked.note();
        if inline { ask.inline().await } else { ask.await }
    }
}

/// Rule 1.8. A handler that takes long would hold up an actor with which it has nothing to do. That is why no handler runs inline
/// unless its author says so.
#[supervise::test]
async fn an_inline_handler_comes_before_what_its_asker_has_made_ready(system: &TestSystem) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let [told, asked] = ["told", "asked"].map(|name| {
        let seen = Arc::clone(&seen);
        system.spawn(name, move || Noting { name, seen: Arc::clone(&seen) }).unwrap()
    });
    let caller = system.spawn("caller", move || Caller { told: told.clone(), asked: asked.clone() }).unwrap();
    system.settle().await;
    for (inline, order) in [(false, ["told", "asked"]), (true, ["asked", "told"])] {
        caller.call(inline).await.unwrap();
        system.settle().await;
        assert_eq!(std::mem::take(&mut *seen.lock().unwrap()), order, "inline: {inline}");
    }
}
