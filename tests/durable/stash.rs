//! Messages that make their actor fail before their handler runs: their condition panics, or the stash is full.
//!
//! Rule 27.7.

use std::time::Duration;

use supervise::Props;
use supervise::durable::Fate;
use supervise::prelude::*;
use supervise::testkit::TestSystem;

use crate::orders::World;

/// Its condition panics for 3.
#[actor(mailbox = durable(redeliver = 2))]
struct Squeamish {
    world: World,
}

#[actor]
impl Squeamish {
    #[handler]
    fn place(&mut self, number: u32) {
        self.world.note(number);
    }

    #[handler(batch = 8, linger = "50ms")]
    fn gather(&mut self, numbers: Vec<u32>) {
        for number in numbers {
            self.world.note(number);
        }
    }

    #[stash_while]
    fn waits(&self, message: &SqueamishMessage) -> bool {
        let (SqueamishMessage::Place { number } | SqueamishMessage::Gather { numbers: number }) = message;
        assert!(*number != 3, "not this one");
        false
    }
}

#[supervise::test]
async fn a_message_whose_condition_panics_is_charged_and_then_quarantined(system: &TestSystem) {
    for name in ["alone", "gathered"] {
        let world = World::default();
        let inner = world.clone();
        let props = Props::new(move || Squeamish { world: inner.clone() }).queue(name);
        let actor = system.spawn_with(name, props).expect("the name is free");
        for number in 1..=5 {
            let told = if name == "alone" { actor.place(number).tell() } else { actor.gather(number).tell() };
            told.expect("there is room");
        }
        system.advance(Duration::from_millis(200)).await;
        assert_eq!(world.begun(), [1, 2, 4, 5], "{name}");
        let (_, fate) = system.expect_quarantined(&format!("/user/{name}")).await;
        let quarantined = system.store().quarantined(name).await.expect("the store works");
        assert_eq!(quarantined[0].message.failures, ["panicked: not this one"; 3], "{name}");
        assert_eq!(fate, Fate::Failed);
        system.allow_failures();
    }
}

/// Sets two numbers aside until it is ready.
#[actor(mailbox = durable, stash = 2)]
struct Cramped {
    is_ready: bool,
    world: World,
}

#[actor]
impl Cramped {
    #[handler]
    fn place(&mut self, number: u32) {
        self.world.note(number);
    }

    #[handler]
    fn get_ready(&mut self) {
        self.is_ready = true;
    }

    #[stash_while]
    fn waits(&self, message: &CrampedMessage) -> bool {
        !self.is_ready && matches!(message, CrampedMessage::Place { .. })
    }
}

#[supervise::test]
async fn a_message_that_does_not_fit_into_the_stash_is_quarantined(system: &TestSystem) {
    let world = World::default();
    let inner = world.clone();
    let cramped = move || Cramped { is_ready: false, world: inner.clone() };
    let cramped = system.spawn("cramped", cramped).expect("the name is free");
    for number in 1..=3 {
        cramped.place(number).tell().expect("there is room");
    }
    system.settle().await;
    system.expect_restarts(&cramped, 1).await;
    let (_, fate) = system.expect_quarantined("/user/cramped").await;
    assert_eq!(fate, Fate::Failed);
    cramped.get_ready().tell().expect("there is room");
    system.settle().await;
    assert_eq!(world.begun(), [1, 2]);
    let quarantined = system.store().quarantined("/user/cramped").await.expect("the store works");
    assert_eq!(quarantined[0].message.failures, ["the stash is full: it holds 2 messages"]);
}
