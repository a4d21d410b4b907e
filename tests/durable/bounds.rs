//! The window and the capacity.
//!
//! Rules 27.10 and 27.17.

use std::time::Duration;

use supervise::SendErrorReason;
use supervise::prelude::*;
use supervise::testkit::TestSystem;

use crate::orders::{Does, World, order, that};

/// Keeps what it is told to.
#[actor(mailbox = durable(capacity = 10, window = 4))]
struct Small {
    world: World,
}

#[actor]
impl Small {
    #[handler]
    async fn place(&mut self, number: u32) {
        self.world.gate.notified().await;
        self.world.note(number);
    }
}

#[supervise::test]
async fn dur_33_the_eleventh_message_comes_back_or_waits(system: &TestSystem) {
    let world = World::default();
    let inner = world.clone();
    let small = system.spawn("small", move || Small { world: inner.clone() }).expect("the name is free");
    for number in 0..10 {
        small.place(number).tell().expect("there is room");
    }
    let back = small.place(10).tell().expect_err("there is no room");
    assert_eq!(back.reason(), SendErrorReason::MailboxFull);
    let sender = small.clone();
    let accepted = tokio::spawn(async move { sender.place(11).accepted().await });
    system.advance(Duration::from_secs(1)).await;
    assert!(!accepted.is_finished());
    world.gate.notify_one();
    system.settle().await;
    assert!(accepted.await.expect("no panic").is_ok(), "one was handled");
    for _ in 0..20 {
        world.gate.notify_one();
        system.settle().await;
    }
    assert_eq!(world.begun(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11]);
}

#[supervise::test]
async fn dur_32_a_window_holds_a_few_of_many_and_keeps_their_order(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    orders.place(that(0, Does::Wait)).accepted().await.expect("the store works");
    for number in 1..900 {
        orders.place(order(number)).tell().expect("there is room");
    }
    system.settle().await;
    let glimpse = supervise::testkit::waiting(&orders);
    assert!(glimpse <= 8, "{glimpse} messages in memory");
    world.gate.notify_one();
    system.settle().await;
    assert!(world.begun().into_iter().eq(0..900));
}

#[supervise::test]
async fn dur_34_an_ask_beyond_the_window_is_answered_in_its_turn(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    orders.place(that(0, Does::Wait)).accepted().await.expect("the store works");
    for number in 1..50 {
        orders.place(order(number)).tell().expect("there is room");
    }
    let asker = orders.clone();
    let asked = tokio::spawn(async move { asker.place(order(50)).await });
    let giving_up = orders.clone();
    let gone = tokio::spawn(async move { giving_up.place(order(51)).timeout(Duration::from_secs(1)).await });
    system.advance(Duration::from_secs(2)).await;
    assert!(!asked.is_finished() && gone.await.expect("no panic").is_err());
    world.gate.notify_one();
    system.settle().await;
    assert_eq!(asked.await.expect("no panic").expect("it is handled"), 50);
    assert!(world.begun().into_iter().eq(0..=51), "it is handled although its asker has gone");
}

/// Has messages whose bodies are one byte long.
#[actor(mailbox = durable)]
struct Bell;

#[actor]
impl Bell {
    #[handler]
    fn ring(&mut self) {}
}

/// Rule 27.17.
#[supervise::test]
async fn messages_without_arguments_on_their_way_to_the_store_take_8_mb_at_most(system: &TestSystem) {
    let bell = system.spawn("bell", || Bell).expect("the name is free");
    system.settle().await;
    system.store().hold();
    let accepted = (0..1_000_000).take_while(|_| bell.ring().tell().is_ok()).count();
    assert!((10_000..60_000).contains(&accepted), "{accepted} messages");
    system.store().release();
    system.settle().await;
    bell.ring().await.expect("there is room again");
}

/// Rule 19.10.
#[supervise::test]
async fn an_ask_when_there_is_room_is_stored_unless_its_handler_is_transient(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    // Its handler panics if it is not stored.
    assert_eq!(orders.place(order(1)).when_room().await.expect("it is handled"), 1);
    assert_eq!(orders.count().when_room().await.expect("it is handled"), (1, false));
}

/// Sets numbers aside until it is ready.
#[actor(mailbox = durable(window = 8))]
struct Patient {
    is_ready: bool,
    world: World,
}

#[actor]
impl Patient {
    #[handler]
    fn place(&mut self, number: u32) {
        self.world.note(number);
    }

    #[handler]
    fn get_ready(&mut self) {
        self.is_ready = true;
    }

    #[stash_while]
    fn waits(&self, message: &PatientMessage) -> bool {
        !self.is_ready && matches!(message, PatientMessage::Place { number } if *number > 0)
    }
}

/// The message for which the actor waits is not in memory, and there is room for one.
#[supervise::test]
async fn an_actor_may_set_aside_more_than_half_of_its_window(system: &TestSystem) {
    let world = World::default();
    let sender = system.store().sender::<Patient>("/user/patient");
    for number in [1, 2, 3, 4, 5, 6, 7, 0, 0] {
        sender.accepted(PatientMessage::Place { number }).await.expect("the store works");
    }
    sender.accepted(PatientMessage::GetReady {}).await.expect("the store works");
    let inner = world.clone();
    system.spawn("patient", move || Patient { is_ready: false, world: inner.clone() }).expect("the name is free");
    system.settle().await;
    assert_eq!(world.begun(), [0, 0, 1, 2, 3, 4, 5, 6, 7]);
}

/// Gathers more than fits into its window, and sets 9 aside.
#[actor(mailbox = durable(window = 3))]
struct Greedy {
    world: World,
}

#[actor]
impl Greedy {
    #[handler(batch = 64, linger = "1h")]
    fn place(&mut self, numbers: Vec<u32>) {
        for number in numbers {
            self.world.note(number);
        }
    }

    #[stash_while]
    fn waits(&self, message: &GreedyMessage) -> bool {
        matches!(message, GreedyMessage::Place { numbers: 9 })
    }
}

/// Rule 23.1: the mailbox has no room for more.
#[supervise::test]
async fn a_batch_that_fills_the_window_does_not_linger(system: &TestSystem) {
    let world = World::default();
    let inner = world.clone();
    let greedy = system.spawn("greedy", move || Greedy { world: inner.clone() }).expect("the name is free");
    for number in [1, 2, 3, 9, 4, 5, 6] {
        greedy.place(number).tell().expect("there is room");
    }
    system.settle().await;
    assert_eq!(world.begun(), [1, 2, 3, 4, 5], "6 and 9 fill less than the window");
}
