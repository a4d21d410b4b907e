//! `stop_when_drained`: messages that wait are handled, later ones are refused.
//!
//! Rule 23.4.

use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{AskError, DeadLetterReason, HowEnded, SendErrorReason};

const MILLI: Duration = Duration::from_millis(1);

#[derive(Debug, thiserror::Error)]
#[error("broken")]
struct Broken;

#[actor(mailbox = bounded(4))]
struct Clerk {
    seen: ProbeHandle<u32>,
}

#[actor]
impl Clerk {
    /// Takes a millisecond.
    #[handler]
    async fn work(&mut self, number: u32) -> u32 {
        tokio::time::sleep(MILLI).await;
        self.seen.note(number);
        number
    }

    /// Would never end: tells itself the next number.
    #[handler]
    fn again(&mut self, number: u32, ctx: &mut Context<Self>) {
        self.seen.note(number);
        if number == 3 {
            ctx.stop_when_drained();
        }
        let told = ctx.me().again(number + 1).tell();
        assert_eq!(told.is_ok(), number < 3);
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Broken> {
        Err(Broken)
    }
}

fn spawn(system: &TestSystem) -> (ClerkRef, supervise::testkit::TestProbe<u32>) {
    let seen = system.probe();
    let handle = seen.handle();
    (system.spawn("clerk", move || Clerk { seen: handle.clone() }).unwrap(), seen)
}

#[supervise::test]
async fn what_waits_is_handled_and_what_comes_later_is_refused(system: &TestSystem) {
    let (clerk, seen) = spawn(system);
    let asked = [1, 2, 3].map(|number| clerk.work(number).ask().unwrap());
    system.settle().await;
    clerk.actor_ref().stop_when_drained();
    let refused = clerk.work(4).tell().unwrap_err();
    assert_eq!(refused.reason(), SendErrorReason::Stopped);
    assert!(matches!(clerk.work(5).await, Err(AskError::Stopped)));
    for _refused in 4..=5 {
        assert_eq!(system.expect_dead_letter(&clerk).await.reason, DeadLetterReason::Stopped);
    }
    assert!(!clerk.actor_ref().has_ended());
    system.advance(MILLI * 3).await;
    for (number, answer) in (1..).zip(asked) {
        assert_eq!(answer.await.unwrap(), number);
    }
    system.expect_terminated(&clerk).await;
    assert_eq!(seen.all().await, [1, 2, 3]);
}

#[supervise::test]
async fn senders_that_wait_for_room_are_told(system: &TestSystem) {
    let (clerk, seen) = spawn(system);
    for number in 1..=4 {
        clerk.work(number).tell().unwrap();
    }
    system.settle().await;
    clerk.work(5).tell().unwrap();
    let sends = [6, 7].map(|number| {
        let clerk = clerk.clone();
        tokio::spawn(async move { clerk.work(number).send().await.map_err(|error| error.reason()) })
    });
    system.settle().await;
    clerk.actor_ref().stop_when_drained();
    for send in sends {
        assert_eq!(send.await.unwrap(), Err(SendErrorReason::Stopped));
        system.expect_dead_letter(&clerk).await;
    }
    assert_eq!(system.graceful_drain(&clerk, MILLI * 10).await.unwrap(), HowEnded::Graceful);
    assert_eq!(seen.all().await, [1, 2, 3, 4, 5]);
    // A second call has no effect.
    clerk.actor_ref().stop_when_drained();
}

#[supervise::test]
async fn an_actor_that_tells_itself_ends(system: &TestSystem) {
    let (clerk, seen) = spawn(system);
    clerk.again(1).tell().unwrap();
    assert_eq!(system.expect_dead_letter(&clerk).await.message, "Again");
    system.expect_terminated(&clerk).await;
    assert_eq!(seen.all().await, [1, 2, 3]);
}

#[supervise::test]
async fn a_restart_goes_on_draining(system: &TestSystem) {
    let (clerk, seen) = spawn(system);
    clerk.fail().tell().unwrap();
    clerk.work(1).tell().unwrap();
    clerk.actor_ref().stop_when_drained();
    system.expect_restarts(&clerk, 1).await;
    clerk.work(2).tell().unwrap_err();
    system.expect_dead_letter(&clerk).await;
    system.advance(MILLI).await;
    system.expect_terminated(&clerk).await;
    assert_eq!(seen.all().await, [1]);
}

/// It ends by itself, which ends its parent.
#[actor]
#[supervise(one_for_one(auto_shutdown = any_significant), on(_) = Stop)]
struct Office {
    seen: ProbeHandle<u32>,
    #[child(|this| { let seen = this.seen.clone(); move || Clerk { seen: seen.clone() } }, significant)]
    clerk: Child<Clerk>,
}

#[actor]
impl Office {
    #[handler]
    fn clerk(&self) -> ClerkRef {
        self.clerk.actor()
    }
}

#[supervise::test]
async fn draining_oneself_is_an_end_by_oneself(system: &TestSystem) {
    let seen = system.probe();
    let handle = seen.handle();
    let office = |name| {
        let handle = handle.clone();
        system.spawn(name, move || Office { seen: handle.clone(), clerk: Child::default() }).unwrap()
    };
    let (by_itself, by_request) = (office("by-itself"), office("by-request"));
    let (one, other) = (by_itself.clerk().await.unwrap(), by_request.clerk().await.unwrap());
    one.again(3).tell().unwrap();
    system.expect_dead_letter(&one).await;
    other.actor_ref().stop_when_drained();
    system.expect_terminated(&one).await;
    system.expect_terminated(&other).await;
    system.expect_terminated(&by_itself).await;
    assert!(!by_request.actor_ref().has_ended());
}
