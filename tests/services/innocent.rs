//! Askers whose message did not make the actor fail.
//!
//! Rules 1.5, 6.1 and 19.4.

use std::io;

use supervise::AskError;
use supervise::prelude::*;
use supervise::testkit::TestSystem;

#[actor]
#[derive(Default)]
struct Desk {
    kept: Vec<ReplyTo<u32>>,
}

#[actor]
impl Desk {
    #[handler]
    fn keep(&mut self, reply: ReplyTo<u32>) {
        self.kept.push(reply);
    }

    #[handler]
    fn fail(&mut self) -> io::Result<()> {
        Err(io::Error::other("the disk is full"))
    }

    #[handler]
    fn look(&self) -> usize {
        self.kept.len()
    }
}

#[actor]
#[supervise(one_for_one, on(io::Error) = Stop, on(_) = Escalate)]
struct Office;

#[actor]
impl Office {
    #[handler]
    fn desk(&mut self, ctx: &mut Context<Self>) -> Result<DeskRef, SpawnError> {
        ctx.spawn("desk", Desk::default)
    }
}

/// Rule 1.5.
#[supervise::test]
async fn an_asker_whose_message_waited_is_told_that_it_was_another_message(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let office = system.spawn("office", || Office).unwrap();
    let desk = office.desk().await.unwrap();
    let guilty = desk.fail().ask().unwrap();
    let innocent = desk.look().ask().unwrap();
    assert_eq!(guilty.await.unwrap_err().to_string(), "the actor failed: the disk is full");
    let error = innocent.await.unwrap_err();
    assert!(matches!(error, AskError::StoppedByFailure(_)), "{error}");
    let said = "the actor stopped before it answered, because of a failure in `fail`: the disk is full";
    assert_eq!(error.to_string(), said);
    assert_eq!(desk.look().await.unwrap_err().to_string(), said);
}

/// Rule 19.4.
#[supervise::test]
async fn an_asker_whose_slot_was_kept_is_told_which_handler_failed(system: &TestSystem) {
    system.allow_failures();
    let desk = system.spawn("desk", Desk::default).unwrap();
    let kept = desk.keep().ask().unwrap();
    desk.fail().tell().unwrap();
    let error = kept.await.unwrap_err();
    assert!(matches!(error, AskError::Failed(_)), "{error}");
    assert_eq!(error.failure().and_then(supervise::Failure::during), Some(supervise::During::Handler("fail")));
}

#[actor]
#[supervise(all_for_one, on(io::Error) = Restart, on(_) = Escalate)]
struct Group {
    #[child(|_| Desk::default)]
    desk: Child<Desk>,
    #[child(|_| || Slow)]
    slow: Child<Slow>,
}

#[actor]
impl Group {
    #[handler]
    fn members(&self) -> (DeskRef, SlowRef) {
        (self.desk.actor(), self.slow.actor())
    }
}

#[actor]
struct Slow;

#[actor]
impl Slow {
    #[handler]
    async fn hang(&self) {
        std::future::pending().await
    }

    #[handler]
    async fn hang_with(&self, reply: ReplyTo<u32>) {
        let _kept = reply;
        std::future::pending().await
    }

    #[handler]
    fn look(&self) -> u32 {
        1
    }
}

/// Rule 6.1.
#[supervise::test]
async fn an_asker_whose_handler_a_sibling_interrupted_is_not_told_that_the_actor_has_stopped(system: &TestSystem) {
    system.allow_failures();
    let group = system.spawn("group", || Group { desk: Child::default(), slow: Child::default() }).unwrap();
    let (desk, slow) = group.members().await.unwrap();
    for with_slot in [false, true] {
        let error = if with_slot {
            let hanging = slow.hang_with().ask().unwrap();
            system.settle().await;
            desk.fail().tell().unwrap();
            hanging.await.unwrap_err()
        } else {
            let hanging = slow.hang().ask().unwrap();
            system.settle().await;
            desk.fail().tell().unwrap();
            hanging.await.unwrap_err()
        };
        assert!(matches!(error, AskError::Interrupted), "{error}");
        assert!(!error.has_stopped(), "a retry can help");
        assert_eq!(slow.look().await.unwrap(), 1);
    }
    // A stop is an end.
    let hanging = slow.hang().ask().unwrap();
    system.settle().await;
    slow.actor_ref().stop();
    assert!(matches!(hanging.await, Err(AskError::Stopped)));
}
