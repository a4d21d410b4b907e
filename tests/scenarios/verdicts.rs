//! A supervisor that decides within the turn of its failed child shares nothing else with that turn. Rule 1.9.

use std::sync::Mutex;

use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{ChildInfo, Directive};
use tokio::sync::oneshot;

#[derive(Debug, thiserror::Error)]
#[error("fell")]
struct Fell;

/// What the decider drops, and what it wakes.
static HELD: Mutex<Option<(ReplyTo<u32>, oneshot::Sender<()>)>> = Mutex::new(None);

/// Drops a reply slot.
fn let_go(_: &Failure, _: &ChildInfo) -> Result<Directive, Failure> {
    if let Some((slot, wakes)) = HELD.lock().unwrap().take() {
        drop(slot);
        wakes.send(()).map_err(|()| Failure::other("nobody waits"))?;
    }
    Ok(Directive::Resume)
}

/// Decides for the middle, and holds the slot of its asker until then.
#[actor]
#[supervise(decider = let_go)]
struct Top;

#[actor]
impl Top {
    #[handler]
    fn middle(&mut self, ctx: &mut Context<Self>) -> Result<MiddleRef, SpawnError> {
        ctx.spawn("middle", || Middle)
    }

    #[handler]
    fn hold(&mut self, wakes: oneshot::Sender<()>, reply: ReplyTo<u32>) {
        *HELD.lock().unwrap() = Some((reply, wakes));
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the middle failed")]
struct MiddleFailed;

/// Waits in a handler while its child fails. Its own slots get a verdict when its code waits or returns.
#[actor]
#[supervise(on(Fell) = Escalate)]
struct Middle;

#[actor]
impl Middle {
    #[handler]
    fn bottom(&mut self, ctx: &mut Context<Self>) -> Result<BottomRef, SpawnError> {
        ctx.spawn("bottom", || Bottom)
    }

    #[handler]
    async fn wait_and_fail(&mut self, until: oneshot::Receiver<()>) -> Result<(), MiddleFailed> {
        until.await.unwrap();
        Err(MiddleFailed)
    }

    /// Makes this an actor that keeps reply slots.
    #[handler]
    fn keep(&mut self, reply: ReplyTo<u32>) {
        reply.answer(1);
    }
}

#[actor]
struct Bottom;

#[actor]
impl Bottom {
    #[handler]
    fn fall(&mut self) -> Result<(), Fell> {
        Err(Fell)
    }
}

/// Rule 19.3. The decider runs on the stack of the middle's turn, whose code fails in the same poll.
#[supervise::test]
async fn a_slot_that_a_decider_drops_has_nothing_to_do_with_the_failure_of_its_child(system: &TestSystem) {
    system.allow_failures();
    let top = system.spawn("top", || Top).unwrap();
    let middle = top.middle().await.unwrap();
    let bottom = middle.bottom().await.unwrap();
    let (wakes, until) = oneshot::channel();
    let asked = top.hold(wakes).ask().unwrap();
    middle.wait_and_fail(until).tell().unwrap();
    system.settle().await;
    bottom.fall().tell().unwrap();
    let told = asked.await;
    assert!(matches!(told, Err(AskError::Unanswered)), "{told:?}");
    system.settle().await;
}
