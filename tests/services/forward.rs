//! Messages that are handed on with their reply slots.
//!
//! Rule 19.2.

use std::io;

use supervise::AskError;
use supervise::prelude::*;
use supervise::testkit::TestSystem;

#[actor(mailbox = bounded(1))]
struct Back;

#[actor]
impl Back {
    #[handler]
    fn double(&mut self, number: u32) -> io::Result<u32> {
        if number == 13 { Err(io::Error::other("unlucky")) } else { Ok(number * 2) }
    }

    #[handler]
    async fn rest(&self) {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }

    #[handler]
    async fn hang(&self) {
        std::future::pending().await
    }
}

#[actor]
#[supervise(on(io::Error) = Stop, on(_) = Escalate)]
struct Front {
    #[child(|_| || Back)]
    back: Child<Back>,
}

#[actor]
impl Front {
    #[handler]
    fn back(&self) -> BackRef {
        self.back.actor()
    }

    #[handler]
    fn at_once(&self, number: u32, reply: ReplyTo<u32>) {
        self.back.actor().double(number).reply_to(reply);
    }

    #[handler]
    async fn with_room(&self, number: u32, reply: ReplyTo<u32>) {
        self.back.actor().double(number).send_reply_to(reply).await;
    }
}

/// Rule 19.2.
#[supervise::test]
async fn a_message_that_is_handed_on_can_wait_for_room(system: &TestSystem) {
    system.allow_dead_letters();
    let front = system.spawn("front", || Front { back: Child::default() }).unwrap();
    let back = front.back().await.unwrap();
    back.rest().tell().unwrap();
    system.settle().await;
    let first = front.with_room(1).ask().unwrap();
    let second = front.with_room(2).ask().unwrap();
    system.settle().await;
    assert_eq!((first.await.unwrap(), second.await.unwrap()), (2, 4));
    back.rest().tell().unwrap();
    system.settle().await;
    let first = front.at_once(1).ask().unwrap();
    assert!(matches!(front.at_once(2).await, Err(AskError::MailboxFull)));
    assert_eq!(first.await.unwrap(), 2);
}

/// Rule 19.2.
#[supervise::test]
async fn a_message_that_waits_for_room_is_told_of_the_end(system: &TestSystem) {
    system.allow_dead_letters();
    let front = system.spawn("front", || Front { back: Child::default() }).unwrap();
    let back = front.back().await.unwrap();
    back.hang().tell().unwrap();
    system.settle().await;
    let inside = front.with_room(1).ask().unwrap();
    let outside = front.with_room(2).ask().unwrap();
    system.settle().await;
    back.actor_ref().stop();
    assert!(matches!(outside.await, Err(AskError::Stopped)));
    assert!(matches!(inside.await, Err(AskError::Stopped)));
}

/// Rules 1.5, 19.2.
#[supervise::test]
async fn an_asker_whose_message_is_handed_on_to_an_actor_that_failed_gets_the_failure(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let front = system.spawn("front", || Front { back: Child::default() }).unwrap();
    let back = front.back().await.unwrap();
    back.double(13).await.unwrap_err();
    system.expect_terminated(&back).await;
    for answer in [front.at_once(1).await, front.with_room(1).await, back.double(1).await] {
        let error = answer.unwrap_err();
        assert!(matches!(error, AskError::StoppedByFailure(_)), "{error}");
    }
}
