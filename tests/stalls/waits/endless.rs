//! Code that would wait for ever, or ask again and again: the stop timeout ends it, and it keeps no processor busy.
//!
//! Rule 14.8.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;

use super::*;

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
    async fn fail_after(&mut self, code: Code) -> Result<(), Bad> {
        code.0.await;
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
        let (system, gate) = (ActorSystem::new("endless"), Gate::default());
        let top = system.spawn("top", || Endless).unwrap();
        let low = top.below().await.unwrap();
        top.fail_after(gate.waits()).tell().unwrap();
        let asks = Arc::new(Notify::new());
        let asked = low.ask(top.clone(), Arc::clone(&asks)).ask().unwrap();
        asks.notified().await;
        let began = Instant::now();
        gate.0.notify_one();
        assert_eq!(top.count().await.unwrap(), 7);
        assert!(asked.await.is_err());
        assert!(began.elapsed() < LONG);
        system.terminate().await;
    });
}

/// Counts how often the code is polled, which must not be often.
fn counted(Code(mut code): Code, polls: &Arc<AtomicU32>) -> Code {
    let polls = Arc::clone(polls);
    Code::new(poll_fn(move |cx| {
        // Otherwise it never ends.
        if polls.fetch_add(1, Ordering::Relaxed) >= 100 { Poll::Ready(()) } else { code.as_mut().poll(cx) }
    }))
}

/// The first fails, so that the second and the third restart too, in this order, while each of them waits for the other one. The stop
/// timeouts end that.
#[supervise::test]
async fn z_14_8_two_that_wait_for_each_other_do_not_keep_a_processor_busy(system: &TestSystem) {
    system.allow_failures();
    let (gate, polls) = (Gate::default(), Arc::default());
    let (_, [first, second, third]) = row(system).await;
    first.fail_after(gate.waits()).tell().unwrap();
    let back = counted(Answers::default().asks(&second), &polls);
    let there = Code::new(async move { drop(third.answer_after(back).await) });
    second.run(counted(there, &polls)).tell().unwrap();
    gate.opens(system).await;
    assert_eq!(first.count().await.unwrap(), 7);
    let polls = polls.load(Ordering::Relaxed);
    assert!(polls < 20, "{polls} polls");
}
