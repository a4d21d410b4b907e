//! Code that waits for an actor which, in turn, goes on only after that code has returned. There is a file for
//! each direction of waiting. A *fellow* of an actor is a sibling, or a sibling of an actor above.
//!
//! A test gives its actors the code to run, opens a gate when all of that code waits, and expects that no actor needs its stop timeout.
//!
//! Rule 14.8.

mod below_fellows;
mod endless;
mod fellows;
mod last_hooks;
mod upwards;

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use supervise::bounds::TotalTable;
use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{AskError, Props, testkit};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep};

/// Longer than anything here takes, and shorter than a stop timeout.
const AT_ONCE: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
#[error("bad")]
struct Bad;

/// What a test lets an actor do.
struct Code(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Code {
    fn new(code: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(Box::pin(code))
    }

    fn then(self, next: Self) -> Self {
        Self::new(async {
            self.0.await;
            next.0.await;
        })
    }
}

/// With zero milliseconds, the code returns in the first poll.
fn sleeps(millis: u64) -> Code {
    Code::new(async move {
        if millis > 0 {
            sleep(Duration::from_millis(millis)).await;
        }
    })
}

/// Waits until another actor has run the code.
fn waits_for(other: &PartRef, code: Code) -> Code {
    let other = other.clone();
    Code::new(async move { other.run(code).await.unwrap() })
}

/// Lets code go on.
#[derive(Default)]
struct Gate(Arc<Notify>);

impl Gate {
    fn waits(&self) -> Code {
        let gate = Arc::clone(&self.0);
        Code::new(async move { gate.notified().await })
    }

    /// Opens when all actors are in the middle of what they were told.
    async fn opens(&self, system: &TestSystem) {
        system.settle().await;
        self.0.notify_one();
    }
}

/// How long an ask took, and what came of it.
type Answer = (Duration, Result<u32, AskError>);

#[derive(Default)]
struct Answers(Arc<Mutex<Vec<Answer>>>);

impl Answers {
    fn asks(&self, whom: &PartRef) -> Code {
        let whom = whom.clone();
        self.notes(async move { whom.count().await })
    }

    fn notes(&self, ask: impl Future<Output = Result<u32, AskError>> + Send + 'static) -> Code {
        let answers = Arc::clone(&self.0);
        Code::new(async move {
            let began = Instant::now();
            let answer = ask.await;
            answers.lock().unwrap().push((began.elapsed(), answer));
        })
    }

    /// Each ask ended at once, because the asked actor waits for the code that asks.
    #[track_caller]
    fn are_held_up(&self) {
        let answers = self.0.lock().unwrap();
        let is_held_up = |(took, answer): &Answer| *took < AT_ONCE && matches!(answer, Err(AskError::HeldUp(_)));
        assert!(!answers.is_empty() && answers.iter().all(is_held_up), "{answers:?}");
    }
}

#[actor(mailbox = bounded(2))]
#[supervise(one_for_one, on(_) = Restart)]
#[derive(Default)]
struct Part {
    last: Option<Code>,
}

#[actor]
impl Part {
    #[post_stop]
    async fn end(&mut self) {
        if let Some(code) = self.last.take() {
            code.0.await;
        }
    }

    /// Sets what this instance does last.
    #[handler]
    fn ends_with(&mut self, code: Code) {
        self.last = Some(code);
    }

    #[handler]
    fn below(&mut self, ctx: &mut Context<Self>) -> Result<PartRef, SpawnError> {
        ctx.spawn_anonymous(Part::default)
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
        code.0.await;
    }

    #[handler]
    async fn fail_after(&mut self, code: Code) -> Result<(), Bad> {
        code.0.await;
        Err(Bad)
    }

    #[handler]
    async fn leave(&mut self, code: Code, ctx: &mut Context<Self>) {
        ctx.stop_self();
        code.0.await;
    }

    /// Has no child yet when it stops itself.
    #[handler]
    async fn leave_with_a_child(
        &mut self,
        code: Code,
        child: ReplyTo<PartRef>,
        ctx: &mut Context<Self>,
    ) -> Result<(), SpawnError> {
        ctx.stop_self();
        child.answer(ctx.spawn_anonymous(Part::default)?);
        code.0.await;
        Ok(())
    }

    /// The runtime cannot know who answers, so this closes no circle of asks.
    #[handler]
    async fn answer_after(&mut self, code: Code, reply: ReplyTo<u32>) {
        code.0.await;
        reply.answer(7);
    }
}

fn part(system: &TestSystem, name: &str) -> PartRef {
    system.spawn(name, Part::default).unwrap()
}

/// Each part is the parent of the next one.
async fn tower<const HEIGHT: usize>(system: &TestSystem) -> [PartRef; HEIGHT] {
    let mut parts = vec![part(system, "top")];
    while parts.len() < HEIGHT {
        let below = parts[parts.len() - 1].below().await.unwrap();
        parts.push(below);
    }
    parts.try_into().unwrap()
}

/// Sibling parts. When one fails, it restarts together with those after it.
#[actor]
#[supervise(rest_for_one, on(_) = Restart)]
#[derive(Default)]
struct Row {
    /// How long a restart of the row waits before it stops the parts.
    pause: Duration,
    #[child(|_| Part::default)]
    first: Child<Part>,
    #[child(|_| Part::default)]
    second: Child<Part>,
    #[child(|_| Part::default)]
    third: Child<Part>,
}

#[actor]
impl Row {
    #[pre_restart]
    async fn end(&mut self, ctx: &mut Context<Self>) {
        if !self.pause.is_zero() {
            sleep(self.pause).await;
        }
        ctx.stop_children();
    }

    #[handler]
    fn parts(&self) -> [PartRef; 3] {
        [self.first.actor(), self.second.actor(), self.third.actor()]
    }

    #[handler]
    fn break_down(&mut self, pause: Duration) -> Result<(), Bad> {
        self.pause = pause;
        Err(Bad)
    }
}

async fn row(system: &TestSystem) -> (RowRef, [PartRef; 3]) {
    let row = system.spawn("row", Row::default).unwrap();
    let parts = row.parts().await.unwrap();
    (row, parts)
}

/// Like `row`, with another table.
async fn row_under<T: TotalTable>(system: &TestSystem) -> (RowRef, [PartRef; 3]) {
    let row = system.spawn_with("row", Props::new(Row::default).supervised_by::<T>()).unwrap();
    let parts = row.parts().await.unwrap();
    (row, parts)
}

async fn restarts_after(millis: u64, actor: &PartRef) {
    let began = Instant::now();
    actor.count().await.unwrap();
    assert_eq!(began.elapsed(), Duration::from_millis(millis));
}

async fn ends_after(millis: u64, actor: &PartRef, system: &TestSystem) {
    let began = Instant::now();
    system.expect_terminated(actor).await;
    assert_eq!(began.elapsed(), Duration::from_millis(millis));
}
