//! The messages of dead letters, for programs that ask for them.
//!
//! Rule 10.10.

use std::io;

use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{AskError, DeadLetterReason};

#[actor(mailbox = bounded(2, overflow = drop_oldest))]
#[supervise(on(_) = Stop)]
struct Clerk;

#[actor(message(derive(Debug, PartialEq, Clone)))]
impl Clerk {
    #[handler(redeliver = 1)]
    fn book(&mut self, order: u32) -> io::Result<u32> {
        if order == 13 { Err(io::Error::other("unlucky")) } else { Ok(order) }
    }

    #[handler]
    async fn hang(&self) {
        std::future::pending::<()>().await;
    }
}

fn orders(lost: &mut supervise::LostMessages<ClerkMessage>) -> Vec<(ClerkMessage, DeadLetterReason)> {
    std::iter::from_fn(|| lost.try_recv()).map(|lost| (lost.message, lost.letter.reason)).collect()
}

/// Rule 10.10.
#[supervise::test]
async fn lost_messages_come_back_with_their_dead_letters(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let clerk = system.spawn("clerk", || Clerk).unwrap();
    let mut lost = system.lost_messages::<Clerk>(16);

    // A message that failed as often as it may.
    clerk.book(13).await.unwrap_err();
    let letter = lost.recv().await.unwrap();
    assert_eq!(letter.message, ClerkMessage::Book { order: 13 });
    assert_eq!((letter.letter.reason, letter.letter.failures.len()), (DeadLetterReason::Quarantined, 2));
    assert_eq!(letter.letter.recipient, clerk.actor_ref().path());

    // A message that was displaced, and those that wait at the end. Their askers get the usual errors.
    clerk.hang().tell().unwrap();
    system.settle().await;
    let [displaced, second, third] = [1, 2, 3].map(|order| clerk.book(order).ask().unwrap());
    assert!(matches!(displaced.await, Err(AskError::MailboxFull)));
    clerk.actor_ref().stop();
    assert!(matches!(second.await, Err(AskError::Stopped)));
    assert!(matches!(third.await, Err(AskError::Stopped)));
    let book = |order| ClerkMessage::Book { order };
    let (full, stopped) = (DeadLetterReason::MailboxFull, DeadLetterReason::Stopped);
    assert_eq!(orders(&mut lost), [(book(1), full), (book(2), stopped), (book(3), stopped)]);

    // The sender gets this message back.
    let back = clerk.book(4).tell().unwrap_err().into_message().into_message();
    assert_eq!((back, orders(&mut lost).len(), lost.missed()), (book(4), 0, 0));
}

/// Rule 10.10.
#[supervise::test]
async fn there_are_no_more_than_asked_for_and_the_last_one_gets_them(system: &TestSystem) {
    system.allow_dead_letters();
    let clerk = |name: &str| system.spawn(name, || Clerk).unwrap();
    let mut first = system.lost_messages::<Clerk>(16);
    let mut second = system.lost_messages::<Clerk>(1);
    assert!(first.recv().await.is_none());
    let one = clerk("one");
    one.hang().tell().unwrap();
    system.settle().await;
    one.book(1).tell().unwrap();
    one.book(2).tell().unwrap();
    one.actor_ref().stop();
    system.expect_terminated(&one).await;
    assert_eq!(second.missed(), 1);
    assert_eq!(second.try_recv().unwrap().message, ClerkMessage::Book { order: 1 });

    // Nobody receives the lost messages any more.
    drop(second);
    let two = clerk("two");
    two.hang().tell().unwrap();
    system.settle().await;
    let asked = two.book(1).ask().unwrap();
    two.actor_ref().stop();
    assert!(matches!(asked.await, Err(AskError::Stopped)));
}

/// Rule 10.10.
#[tokio::test]
async fn the_end_of_the_system_ends_them() {
    let system = ActorSystem::new("short");
    let mut lost = system.lost_messages::<Clerk>(1);
    system.terminate().await;
    assert!(lost.recv().await.is_none());
    let mut late = system.lost_messages::<Clerk>(1);
    assert!(late.recv().await.is_none(), "it was asked for after the end");
}

#[supervise::test]
#[should_panic(expected = "without room, no lost message could be kept")]
async fn a_capacity_of_zero_is_refused(system: &TestSystem) {
    let _none = system.lost_messages::<Clerk>(0);
}
