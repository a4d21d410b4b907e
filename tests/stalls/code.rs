//! Code that waits for an actor which waits for it: in hooks, in chains of handlers, and in a loop.
//!
//! Rule 14.8.

mod more;

use std::fmt;
use std::pin::Pin;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use supervise::AskError;
use supervise::prelude::*;
use supervise::testkit;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// Longer than anything here takes, and shorter than a stop timeout.
const AT_ONCE: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
#[error("bad")]
struct Bad;

/// What a test lets an actor do.
#[derive(Clone)]
struct Code(Arc<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>);

impl Code {
    fn new<F: Future<Output = ()> + Send + 'static>(code: impl Fn() -> F + Send + Sync + 'static) -> Self {
        Self(Arc::new(move || Box::pin(code())))
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code")
    }
}

/// What an actor does when it ends. It may be set later.
#[derive(Clone)]
struct Hooks(Arc<Mutex<Code>>);

impl Default for Hooks {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Code::new(async || ()))))
    }
}

impl Hooks {
    fn at_end(&self, code: Code) {
        *self.0.lock().unwrap() = code;
    }
}

#[actor(mailbox = bounded(2))]
#[supervise(one_for_one, on(_) = Restart)]
struct Part {
    hooks: Hooks,
}

#[actor]
impl Part {
    #[post_stop]
    async fn end(&mut self) {
        let code = self.hooks.0.lock().unwrap().clone();
        (code.0)().await;
    }

    #[handler]
    fn count(&mut self) -> u32 {
        7
    }

    #[handler(inline)]
    fn peek(&mut self) -> u32 {
        7
    }

    #[handler]
    async fn run(&mut self, code: Code) {
        (code.0)().await;
    }

    #[handler]
    async fn fail_when(&mut self, gate: Arc<Notify>) -> Result<(), Bad> {
        gate.notified().await;
        Err(Bad)
    }

    #[handler]
    fn below(&mut self, hooks: Hooks, ctx: &mut Context<Self>) -> Result<PartRef, SpawnError> {
        ctx.spawn_anonymous(move || Part { hooks: hooks.clone() })
    }

    #[handler]
    async fn leave(&mut self, code: Code, ctx: &mut Context<Self>) {
        ctx.stop_self();
        (code.0)().await;
    }

    /// Has no child yet when it stops itself.
    #[handler]
    async fn leave_with_a_child(
        &mut self,
        shown: Arc<Mutex<Option<PartRef>>>,
        code: Code,
        ctx: &mut Context<Self>,
    ) -> Result<(), SpawnError> {
        ctx.stop_self();
        let child = ctx.spawn_anonymous(|| Part { hooks: Hooks::default() })?;
        *shown.lock().unwrap() = Some(child);
        (code.0)().await;
        Ok(())
    }

    /// Nobody can say from whom the answer comes, so this closes no circle of asks.
    #[handler]
    async fn answer_after(&mut self, code: Code, reply: ReplyTo<u32>) {
        (code.0)().await;
        reply.answer(7);
    }
}

#[actor]
#[supervise(rest_for_one, on(_) = Restart)]
struct Row {
    hooks: [Hooks; 3],
    #[child(|this| { let hooks = this.hooks[0].clone(); move || Part { hooks: hooks.clone() } })]
    first: Child<Part>,
    #[child(|this| { let hooks = this.hooks[1].clone(); move || Part { hooks: hooks.clone() } })]
    second: Child<Part>,
    #[child(|this| { let hooks = this.hooks[2].clone(); move || Part { hooks: hooks.clone() } })]
    third: Child<Part>,
}

#[actor]
impl Row {
    #[handler]
    fn parts(&self) -> [Child<Part>; 3] {
        [self.first.clone(), self.second.clone(), self.third.clone()]
    }

    #[handler]
    fn break_down(&self) -> Result<(), Bad> {
        Err(Bad)
    }
}

async fn row(system: &testkit::TestSystem, hooks: [Hooks; 3]) -> (RowRef, [Child<Part>; 3]) {
    let new = move || Row {
        hooks: hooks.clone(),
        first: Child::default(),
        second: Child::default(),
        third: Child::default(),
    };
    let row = system.spawn("row", new).unwrap();
    let parts = row.parts().await.unwrap();
    (row, parts)
}

type Answers = Arc<Mutex<Vec<(Duration, Result<u32, AskError>)>>>;

/// Asks, and notes the answer and how long it took.
fn asks(of: impl Fn() -> PartRef + Send + Sync + 'static, answers: &Answers) -> Code {
    let (of, answers) = (Arc::new(of), Arc::clone(answers));
    Code::new(move || {
        let (of, answers) = (Arc::clone(&of), Arc::clone(&answers));
        async move {
            let began = Instant::now();
            let answer = of().count().await;
            answers.lock().unwrap().push((began.elapsed(), answer));
        }
    })
}

/// Whether each ask ended at once, because the asked actor waits for the code that asks.
fn are_held_up(answers: &Answers) -> bool {
    let answers = answers.lock().unwrap();
    let is_held_up =
        |(took, answer): &(Duration, _)| *took < AT_ONCE && matches!(answer, Err(AskError::HeldUp(_)));
    !answers.is_empty() && answers.iter().all(is_held_up)
}

fn part(system: &testkit::TestSystem, name: &str, hooks: &Hooks) -> PartRef {
    let hooks = hooks.clone();
    system.spawn(name, move || Part { hooks: hooks.clone() }).unwrap()
}

/// While the last hook of the top waits, its children are already told to stop.
#[test]
fn z_14_8_an_actor_above_whose_last_hook_waits_is_not_held_up() {
    testkit::run(async |system| {
        system.allow_failures();
        let (hooks, answers, gate) = (Hooks::default(), Answers::default(), Arc::new(Notify::new()));
        let top = part(system, "top", &hooks);
        let (low, other) =
            (top.below(Hooks::default()).await.unwrap(), top.below(Hooks::default()).await.unwrap());
        hooks.at_end(Code::new(async || sleep(Duration::from_millis(10)).await));
        top.fail_when(Arc::clone(&gate)).tell().unwrap();
        let (asked, sent) = (top.clone(), top.clone());
        low.run(asks(move || asked.clone(), &answers)).tell().unwrap();
        let took = Arc::new(Mutex::new(None));
        let noted = Arc::clone(&took);
        let sends = Code::new(move || {
            let (to, noted) = (sent.clone(), Arc::clone(&noted));
            async move {
                let began = Instant::now();
                for _ in 0..3 {
                    to.count().send().await.unwrap();
                }
                *noted.lock().unwrap() = Some(began.elapsed());
            }
        });
        other.run(sends).tell().unwrap();
        system.settle().await;
        let began = Instant::now();
        gate.notify_one();
        top.count().when_room().await.unwrap();
        assert_eq!(began.elapsed(), Duration::from_millis(10));
        assert!(are_held_up(&answers), "{answers:?}");
        assert_eq!(*took.lock().unwrap(), Some(Duration::ZERO), "there is no room to wait for");
        hooks.at_end(Code::new(async || ()));
    });
}

/// With that of the test, four of the asks get a place, two of them beyond the bound.
#[test]
fn z_14_8_asks_that_wait_for_room_in_an_actor_above_end() {
    testkit::run(async |system| {
        system.allow_failures();
        let (answers, gate) = (Answers::default(), Arc::new(Notify::new()));
        let top = part(system, "top", &Hooks::default());
        let low = top.below(Hooks::default()).await.unwrap();
        top.fail_when(Arc::clone(&gate)).tell().unwrap();
        let (own, noted) = (top.clone(), Arc::clone(&answers));
        let asks = Code::new(move || {
            let (top, answers) = (own.clone(), Arc::clone(&noted));
            async move {
                for _ in 0..5 {
                    let answer = top.count().when_room().await;
                    answers.lock().unwrap().push((Duration::ZERO, answer));
                }
            }
        });
        low.run(asks).tell().unwrap();
        system.settle().await;
        let began = Instant::now();
        gate.notify_one();
        top.count().when_room().await.unwrap();
        assert_eq!(began.elapsed(), Duration::ZERO);
        let answers = answers.lock().unwrap();
        assert!(answers[..3].iter().all(|(_, answer)| matches!(answer, Err(AskError::HeldUp(_)))), "{answers:?}");
        assert!(
            answers[3..].iter().all(|(_, answer)| matches!(answer, Err(AskError::MailboxFull))),
            "{answers:?}"
        );
    });
}

/// The handler of the middle one waits for the low one, which waits for the top.
#[test]
fn z_14_8_an_actor_above_restarts_at_once_although_a_handler_between_waits() {
    testkit::run(async |system| {
        system.allow_failures();
        let (answers, gate) = (Answers::default(), Arc::new(Notify::new()));
        let top = part(system, "top", &Hooks::default());
        let middle = top.below(Hooks::default()).await.unwrap();
        let low = middle.below(Hooks::default()).await.unwrap();
        top.fail_when(Arc::clone(&gate)).tell().unwrap();
        let own = top.clone();
        let ask = asks(move || own.clone(), &answers);
        let run = Code::new(move || {
            let (low, ask) = (low.clone(), ask.clone());
            async move { low.run(ask).await.unwrap() }
        });
        middle.run(run).tell().unwrap();
        system.settle().await;
        let began = Instant::now();
        gate.notify_one();
        top.count().await.unwrap();
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(are_held_up(&answers), "{answers:?}");
    });
}

/// The last hook of an actor, which waits a little or not at all and then asks.
fn last_words(of: impl Fn() -> PartRef + Send + Sync + 'static, answers: &Answers, millis: u64) -> Code {
    let ask = asks(of, answers);
    Code::new(move || {
        let ask = ask.clone();
        async move {
            if millis > 0 {
                sleep(Duration::from_millis(millis)).await;
            }
            (ask.0)().await;
        }
    })
}

#[test]
fn z_14_8_a_last_hook_that_asks_an_actor_above_that_restarts_goes_on() {
    for millis in [0, 1] {
        testkit::run(async |system| {
            system.allow_failures();
            let (hooks, answers, gate) = (Hooks::default(), Answers::default(), Arc::new(Notify::new()));
            let top = part(system, "top", &Hooks::default());
            let _low = top.below(hooks.clone()).await.unwrap();
            let own = top.clone();
            hooks.at_end(last_words(move || own.clone(), &answers, millis));
            top.fail_when(Arc::clone(&gate)).tell().unwrap();
            system.settle().await;
            let began = Instant::now();
            gate.notify_one();
            top.count().when_room().await.unwrap();
            assert_eq!(began.elapsed(), Duration::from_millis(millis));
            assert!(are_held_up(&answers), "{answers:?}");
        });
    }
}

#[test]
fn z_14_8_a_last_hook_that_asks_an_actor_above_that_stops_goes_on() {
    for millis in [0, 1] {
        testkit::run(async |system| {
            system.allow_dead_letters();
            let (hooks, answers) = (Hooks::default(), Answers::default());
            let top = part(system, "top", &Hooks::default());
            let _low = top.below(hooks.clone()).await.unwrap();
            let own = top.clone();
            hooks.at_end(last_words(move || own.clone(), &answers, millis));
            system.settle().await;
            let began = Instant::now();
            top.actor_ref().stop();
            system.expect_terminated(&top).await;
            assert_eq!(began.elapsed(), Duration::from_millis(millis));
            assert!(are_held_up(&answers), "{answers:?}");
        });
    }
}

#[test]
fn z_14_8_a_last_hook_that_asks_a_fellow_that_restarts_later_goes_on() {
    for millis in [0, 1] {
        testkit::run(async |system| {
            system.allow_failures();
            let (answers, gate) = (Answers::default(), Arc::new(Notify::new()));
            let hooks: [Hooks; 3] = Default::default();
            let (_row, [first, ..]) = row(system, hooks.clone()).await;
            let own = first.clone();
            hooks[1].at_end(last_words(move || own.actor(), &answers, millis));
            first.actor().fail_when(Arc::clone(&gate)).tell().unwrap();
            system.settle().await;
            let began = Instant::now();
            gate.notify_one();
            first.actor().count().when_room().await.unwrap();
            assert_eq!(began.elapsed(), Duration::from_millis(millis));
            assert!(are_held_up(&answers), "{answers:?}");
            hooks[1].at_end(Code::new(async || ()));
        });
    }
}

/// The order to stop reaches the low one while its handler is polled for the first time, so nothing wakes the handler later.
#[test]
fn z_14_8_a_handler_that_is_told_to_stop_in_its_first_poll_goes_on() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let (system, answers) = (ActorSystem::new("first"), Answers::default());
        let top = system.spawn("top", || Part { hooks: Hooks::default() }).unwrap();
        let other = top.below(Hooks::default()).await.unwrap();
        let low = top.below(Hooks::default()).await.unwrap();
        let (entered, has_entered) = mpsc::channel();
        let (goes_on, until) = mpsc::channel::<()>();
        let until = Arc::new(Mutex::new(until));
        let own = top.clone();
        let ask = asks(move || own.clone(), &answers);
        let blocks = Code::new(move || {
            let (ask, entered, until) = (ask.clone(), entered.clone(), Arc::clone(&until));
            async move {
                entered.send(()).unwrap();
                until.lock().unwrap().recv().unwrap();
                (ask.0)().await;
            }
        });
        low.run(blocks).tell().unwrap();
        has_entered.recv().unwrap();
        top.actor_ref().stop();
        // It was asked to stop after the low one.
        system.ended(&other).await;
        goes_on.send(()).unwrap();
        system.ended(&low).await;
        assert!(are_held_up(&answers), "{answers:?}");
        system.terminate().await;
    });
}

/// Longer than a handler may go on after it was told to stop, on any machine.
const LONG: Duration = Duration::from_secs(20);

/// Its handlers have little time to return.
#[actor(stop_timeout = "50ms")]
struct Stubborn;

#[actor]
impl Stubborn {
    /// Asks until there is an answer.
    #[handler]
    async fn ask(&mut self, of: EndlessRef, asks: Arc<Notify>) {
        asks.notify_one();
        let began = std::time::Instant::now();
        while of.count().await.is_err() {
            assert!(began.elapsed() < LONG, "no other code runs");
        }
    }
}

#[actor]
#[supervise(one_for_one, on(_) = Restart)]
struct Endless;

#[actor]
impl Endless {
    #[handler]
    fn count(&mut self) -> u32 {
        7
    }

    #[handler]
    async fn fail_when(&mut self, gate: Arc<Notify>) -> Result<(), Bad> {
        gate.notified().await;
        Err(Bad)
    }

    #[handler]
    fn below(&mut self, ctx: &mut Context<Self>) -> Result<StubbornRef, SpawnError> {
        ctx.spawn_anonymous(|| Stubborn)
    }
}

/// On the real clock, because such a handler is never idle.
#[test]
fn z_14_8_the_stop_timeout_ends_a_handler_that_asks_again_and_again() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (system, gate) = (ActorSystem::new("endless"), Arc::new(Notify::new()));
        let top = system.spawn("top", || Endless).unwrap();
        let low = top.below().await.unwrap();
        top.fail_when(Arc::clone(&gate)).tell().unwrap();
        let asks = Arc::new(Notify::new());
        let asked = low.ask(top.clone(), Arc::clone(&asks)).ask().unwrap();
        asks.notified().await;
        let began = Instant::now();
        gate.notify_one();
        assert_eq!(top.count().await.unwrap(), 7);
        assert!(asked.await.is_err());
        assert!(began.elapsed() < LONG);
        system.terminate().await;
    });
}

/// The low actor is the last whose code was held. Others get its address when it is gone, while the middle one still waits for another one.
#[test]
fn z_14_8_an_actor_at_the_address_of_one_that_was_held_is_not_held() {
    testkit::run(async |system| {
        system.allow_failures();
        let (answers, gate) = (Answers::default(), Arc::new(Notify::new()));
        let top = part(system, "top", &Hooks::default());
        let middle = top.below(Hooks::default()).await.unwrap();
        let low = middle.below(Hooks::default()).await.unwrap();
        let slow = middle.below(Hooks::default()).await.unwrap();
        top.fail_when(Arc::clone(&gate)).tell().unwrap();
        low.run(Code::new(|| sleep(Duration::from_secs(1)))).tell().unwrap();
        slow.run(Code::new(std::future::pending)).tell().unwrap();
        drop(low);
        system.settle().await;
        gate.notify_one();
        sleep(Duration::from_secs(2)).await;
        for number in 0..64 {
            let own = top.clone();
            let other = part(system, &format!("other-{number}"), &Hooks::default());
            other.run(asks(move || own.clone(), &answers)).tell().unwrap();
        }
        system.settle().await;
        top.count().when_room().await.unwrap();
        let answers = answers.lock().unwrap();
        assert!(!answers.iter().any(|(_, answer)| matches!(answer, Err(AskError::HeldUp(_)))), "{answers:?}");
    });
}

/// The third stops, then the second, then the first. So the second does not wait for the first.
#[test]
fn z_14_8_an_ask_of_a_fellow_that_stops_before_is_told_of_its_end() {
    testkit::run(async |system| {
        system.allow_failures();
        system.allow_dead_letters();
        let (answers, hooks) = (Answers::default(), <[Hooks; 3]>::default());
        hooks[2].at_end(Code::new(async || sleep(Duration::from_secs(2)).await));
        let (row, [first, second, _]) = row(system, hooks).await;
        let ask = last_words(move || second.actor(), &answers, 1000);
        first.actor().run(ask).tell().unwrap();
        system.settle().await;
        row.break_down().tell().unwrap();
        sleep(Duration::from_secs(3)).await;
        let answers = answers.lock().unwrap();
        assert!(matches!(answers[..], [(_, Err(AskError::Stopped))]), "{answers:?}");
    });
}

fn waits(gate: &Arc<Notify>) -> Code {
    let gate = Arc::clone(gate);
    Code::new(move || {
        let gate = Arc::clone(&gate);
        async move { gate.notified().await }
    })
}

#[test]
fn z_14_8_code_that_was_told_to_stop_before_the_actor_above_goes_on() {
    testkit::run(async |system| {
        system.allow_dead_letters();
        let (answers, gate) = (Answers::default(), Arc::new(Notify::new()));
        let top = part(system, "top", &Hooks::default());
        let middle = top.below(Hooks::default()).await.unwrap();
        let low = middle.below(Hooks::default()).await.unwrap();
        top.run(waits(&gate)).tell().unwrap();
        let own = top.clone();
        low.run(asks(move || own.clone(), &answers)).tell().unwrap();
        system.settle().await;
        middle.actor_ref().stop();
        system.settle().await;
        top.actor_ref().stop();
        system.settle().await;
        let began = Instant::now();
        gate.notify_one();
        system.expect_terminated(&top).await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(are_held_up(&answers), "{answers:?}");
    });
}

/// The top has stopped itself when it is asked.
#[test]
fn z_14_8_code_that_was_told_to_stop_before_the_actor_above_stopped_itself_goes_on() {
    testkit::run(async |system| {
        system.allow_dead_letters();
        let (answers, gate, start) = (Answers::default(), Arc::new(Notify::new()), Arc::new(Notify::new()));
        let top = part(system, "top", &Hooks::default());
        let middle = top.below(Hooks::default()).await.unwrap();
        let low = middle.below(Hooks::default()).await.unwrap();
        let own = top.clone();
        let (waits_first, ask) = (waits(&start), asks(move || own.clone(), &answers));
        let low_asks = Code::new(move || {
            let (waits_first, ask) = (waits_first.clone(), ask.clone());
            async move {
                (waits_first.0)().await;
                (ask.0)().await;
            }
        });
        low.run(low_asks).tell().unwrap();
        system.settle().await;
        middle.actor_ref().stop();
        system.settle().await;
        top.leave(waits(&gate)).tell().unwrap();
        system.settle().await;
        start.notify_one();
        system.settle().await;
        let began = Instant::now();
        gate.notify_one();
        system.expect_terminated(&top).await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(are_held_up(&answers), "{answers:?}");
    });
}

/// A row that stops from the one that fails on.
#[actor]
#[supervise(rest_for_one, on(_) = Stop)]
struct Strict {
    last: Hooks,
    #[child(|_| || Part { hooks: Hooks::default() })]
    first: Child<Part>,
    #[child(|_| || Part { hooks: Hooks::default() })]
    second: Child<Part>,
    #[child(|this| { let hooks = this.last.clone(); move || Part { hooks: hooks.clone() } })]
    third: Child<Part>,
}

#[actor]
impl Strict {
    #[handler]
    fn parts(&self) -> [Child<Part>; 3] {
        [self.first.clone(), self.second.clone(), self.third.clone()]
    }
}

async fn strict(system: &testkit::TestSystem, last: Hooks) -> [PartRef; 3] {
    let new = move || Strict {
        last: last.clone(),
        first: Child::default(),
        second: Child::default(),
        third: Child::default(),
    };
    let parts = system.spawn("strict", new).unwrap().parts().await.unwrap();
    parts.map(|part| part.actor())
}

/// The second is told to stop alone, before the failure of the first stops both.
#[test]
fn z_14_8_code_that_was_told_to_stop_before_the_fellow_that_fails_goes_on() {
    testkit::run(async |system| {
        system.allow_failures();
        system.allow_dead_letters();
        let (answers, gate) = (Answers::default(), Arc::new(Notify::new()));
        let [first, second, _] = strict(system, Hooks::default()).await;
        first.fail_when(Arc::clone(&gate)).tell().unwrap();
        let own = first.clone();
        second.run(asks(move || own.clone(), &answers)).tell().unwrap();
        system.settle().await;
        second.actor_ref().stop();
        system.settle().await;
        let began = Instant::now();
        gate.notify_one();
        system.expect_terminated(&first).await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(are_held_up(&answers), "{answers:?}");
    });
}

/// The second has failed and waits for the third, which takes a while to stop. Then the first is told to stop alone, so that the second
/// waits for it, too. Its handler waits for an actor below, which was told to stop before and waits for the second.
#[test]
fn z_14_8_code_below_a_fellow_that_is_told_to_stop_alone_goes_on() {
    testkit::run(async |system| {
        system.allow_failures();
        system.allow_dead_letters();
        let (last, answers, gate) = (Hooks::default(), Answers::default(), Arc::new(Notify::new()));
        last.at_end(Code::new(|| sleep(Duration::from_secs(2))));
        let [first, second, _] = strict(system, last).await;
        let deep = first.below(Hooks::default()).await.unwrap();
        let own = second.clone();
        let (waits_first, ask) = (waits(&gate), asks(move || own.clone(), &answers));
        let asks_later = Code::new(move || {
            let (waits_first, ask) = (waits_first.clone(), ask.clone());
            async move {
                (waits_first.0)().await;
                (ask.0)().await;
            }
        });
        let asked = deep.clone();
        let asks_deep = Code::new(move || {
            let (deep, code) = (asked.clone(), asks_later.clone());
            async move { deep.run(code).await.unwrap() }
        });
        first.run(asks_deep).tell().unwrap();
        sleep(Duration::from_millis(1)).await;
        deep.actor_ref().stop();
        second.actor_ref().kill();
        sleep(Duration::from_millis(1)).await;
        gate.notify_one();
        sleep(Duration::from_millis(1)).await;
        let began = Instant::now();
        first.actor_ref().stop();
        system.expect_terminated(&first).await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(are_held_up(&answers), "{answers:?}");
    });
}

/// Restarts from the one that fails on, after a long time. When it restarts itself, it stops its children after a short time.
#[actor]
#[supervise(rest_for_one(backoff(min = "1h", max = "1h")), on(_) = Restart)]
struct Slow {
    #[child(|_| || Part { hooks: Hooks::default() })]
    first: Child<Part>,
    #[child(|_| || Part { hooks: Hooks::default() })]
    second: Child<Part>,
    #[child(|_| || Part { hooks: Hooks::default() })]
    third: Child<Part>,
}

#[actor]
impl Slow {
    #[pre_restart]
    async fn end(&mut self, ctx: &mut Context<Self>) {
        sleep(Duration::from_millis(10)).await;
        ctx.stop_children();
    }

    #[handler]
    fn parts(&self) -> [Child<Part>; 3] {
        [self.first.clone(), self.second.clone(), self.third.clone()]
    }

    #[handler]
    fn break_down(&self) -> Result<(), Bad> {
        Err(Bad)
    }
}

async fn slow(system: &testkit::TestSystem) -> (SlowRef, [Child<Part>; 3]) {
    let new = || Slow { first: Child::default(), second: Child::default(), third: Child::default() };
    let slow = system.spawn("slow", new).unwrap();
    let parts = slow.parts().await.unwrap();
    (slow, parts)
}

/// The second is told to stop alone. Then the actor above fails, and a little later it stops all of them.
#[test]
fn z_14_8_code_that_was_told_to_stop_before_its_fellows_goes_on() {
    testkit::run(async |system| {
        system.allow_failures();
        system.allow_dead_letters();
        let (answers, gate) = (Answers::default(), Arc::new(Notify::new()));
        let (slow, [first, second, _]) = slow(system).await;
        first.actor().run(waits(&gate)).tell().unwrap();
        let own = first.actor();
        second.actor().run(asks(move || own.clone(), &answers)).tell().unwrap();
        system.settle().await;
        let second = second.actor();
        second.actor_ref().stop();
        system.settle().await;
        slow.break_down().tell().unwrap();
        system.settle().await;
        let began = Instant::now();
        gate.notify_one();
        system.expect_terminated(&second).await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(are_held_up(&answers), "{answers:?}");
    });
}

/// The third waits for a restart already when it asks, and the first is not affected yet.
#[test]
fn z_14_8_code_of_a_group_that_grows_during_the_delay_goes_on() {
    testkit::run(async |system| {
        system.allow_failures();
        let (answers, gates) = (Answers::default(), [(); 3].map(|()| Arc::new(Notify::new())));
        let (_slow, [first, second, third]) = slow(system).await;
        first.actor().fail_when(Arc::clone(&gates[0])).tell().unwrap();
        second.actor().fail_when(Arc::clone(&gates[1])).tell().unwrap();
        let own = first.clone();
        let (waits_first, ask) = (waits(&gates[2]), asks(move || own.actor(), &answers));
        let third_asks = Code::new(move || {
            let (waits_first, ask) = (waits_first.clone(), ask.clone());
            async move {
                (waits_first.0)().await;
                (ask.0)().await;
            }
        });
        third.actor().run(third_asks).tell().unwrap();
        for gate in [1, 2, 0] {
            system.settle().await;
            gates[gate].notify_one();
        }
        system.settle().await;
        assert!(are_held_up(&answers), "{answers:?}");
    });
}

/// Stops only one of its children when it restarts.
#[actor]
#[supervise(one_for_one, on(_) = Restart)]
struct Keeper {
    parts: Arc<Mutex<Vec<PartRef>>>,
}

#[actor]
impl Keeper {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        for name in ["kept", "stopped"] {
            if ctx.child(name).is_none() {
                let part = ctx.spawn(name, || Part { hooks: Hooks::default() })?;
                self.parts.lock().unwrap().push(part);
            }
        }
        Ok(())
    }

    #[pre_restart]
    fn keep_the_first(&mut self, ctx: &mut Context<Self>) {
        let stopped = self.parts.lock().unwrap()[1].clone();
        ctx.stop(&stopped);
    }

    #[handler]
    fn break_down(&self) -> Result<(), Bad> {
        Err(Bad)
    }
}

/// The other one survives, and is restarted only after that.
#[test]
fn z_14_8_code_that_asks_a_fellow_that_survives_a_restart_goes_on() {
    for sends in [false, true] {
        testkit::run(async |system| {
            system.allow_failures();
            system.allow_dead_letters();
            let (answers, gate) = (Answers::default(), Arc::new(Notify::new()));
            let parts = Arc::new(Mutex::new(Vec::new()));
            let own = Arc::clone(&parts);
            let keeper = system.spawn("keeper", move || Keeper { parts: Arc::clone(&own) }).unwrap();
            system.settle().await;
            let [kept, stopped] = parts.lock().unwrap().clone().try_into().unwrap();
            let own = kept.clone();
            let (waits_first, ask) = (waits(&gate), asks(move || own.clone(), &answers));
            let own = kept.clone();
            let all = Code::new(move || {
                let (waits_first, ask, kept) = (waits_first.clone(), ask.clone(), own.clone());
                async move {
                    (waits_first.0)().await;
                    if sends {
                        while kept.count().send().await.is_ok() {}
                    } else {
                        (ask.0)().await;
                    }
                }
            });
            stopped.run(all).tell().unwrap();
            system.settle().await;
            keeper.break_down().tell().unwrap();
            system.settle().await;
            let began = Instant::now();
            gate.notify_one();
            system.expect_terminated(&stopped).await;
            assert_eq!(began.elapsed(), Duration::ZERO);
            assert!(sends || are_held_up(&answers), "{answers:?}");
            assert_eq!(kept.count().when_room().await.unwrap(), 7);
        });
    }
}

/// Counts how often the code is polled, which must not be often.
fn counted(code: Code, polls: &Arc<Mutex<u32>>) -> Code {
    let polls = Arc::clone(polls);
    Code::new(move || {
        let (mut code, polls) = ((code.0)(), Arc::clone(&polls));
        std::future::poll_fn(move |cx| {
            let mut polls = polls.lock().unwrap();
            *polls += 1;
            // Otherwise it never ends.
            if *polls > 100 { Poll::Ready(()) } else { code.as_mut().poll(cx) }
        })
    })
}

/// The first fails, so that the second and the third restart too, in this order, while each of them waits for the other one. The stop
/// timeouts end that.
#[test]
fn z_14_8_two_that_wait_for_each_other_do_not_keep_a_processor_busy() {
    testkit::run(async |system| {
        system.allow_failures();
        let (gate, polls) = (Arc::new(Notify::new()), Arc::new(Mutex::new(0)));
        let (_row, [first, second, third]) = row(system, Default::default()).await;
        first.actor().fail_when(Arc::clone(&gate)).tell().unwrap();
        let own = second.clone();
        let back = counted(asks(move || own.actor(), &Answers::default()), &polls);
        let own = third.clone();
        let there = Code::new(move || {
            let (third, back) = (own.actor(), back.clone());
            async move { drop(third.answer_after(back).await) }
        });
        second.actor().run(counted(there, &polls)).tell().unwrap();
        system.settle().await;
        gate.notify_one();
        assert_eq!(first.actor().count().await.unwrap(), 7);
        let polls = *polls.lock().unwrap();
        assert!(polls < 20, "{polls} polls");
    });
}
