//! Quarantine, damage, and the stash.
//!
//! Rules 27.7, 27.8, 27.14 and 27.15.

use std::time::Duration;

use supervise::durable::Fate;
use supervise::prelude::*;
use supervise::testkit::{Crash, TestSystem};
use supervise::{Backoff, DeadLetterReason, Event, Props, Strategy};

use crate::orders::{Does, World, order, that};

#[supervise::test]
async fn dur_41_a_retry_goes_last_and_a_discarded_message_is_gone_also_after_a_crash(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    for number in 1..=2 {
        orders.place(that(number, Does::Fail(4))).tell().expect("there is room");
    }
    system.settle().await;
    system.allow_failures();
    system.allow_dead_letters();
    let quarantined = system.store().quarantined("/user/orders").await.expect("the store works");
    let [first, second] = &quarantined[..] else { panic!("{quarantined:?}") };
    orders.place(that(8, Does::Wait)).accepted().await.expect("the store works");
    orders.place(order(9)).accepted().await.expect("the store works");
    system.store().retry(first.id).await.expect("the store works");
    system.store().discard(second.id).await.expect("the store works");
    let before = world.seen().len();
    let next = system.crash(Crash::Process).await;
    next.allow_failures();
    world.gate.notify_one();
    world.spawn(&next);
    next.settle().await;
    let seen = &world.seen()[before..];
    let begun: Vec<u32> = seen.iter().map(|seen| seen.number).collect();
    assert!(begun.starts_with(&[8, 9, 1]) || begun.starts_with(&[8, 8, 9, 1]), "{begun:?}");
    let again = seen.iter().find(|seen| seen.number == 1).expect("it is retried");
    assert_eq!(again.attempt, 1);
    assert_ne!(again.id, first.id);
    next.allow_dead_letters();
}

#[supervise::test]
async fn dur_29_a_damaged_message_is_quarantined_and_its_neighbours_are_handled(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    orders.place(that(1, Does::Hang)).accepted().await.expect("the store works");
    orders.place(order(2)).accepted().await.expect("the store works");
    orders.place(order(3)).accepted().await.expect("the store works");
    system.settle().await;
    assert_eq!(world.begun(), [1]);
    let next = system.crash(Crash::Process).await;
    next.store().damage("/user/orders");
    world.spawn(&next);
    next.settle().await;
    assert_eq!(next.expect_quarantined("/user/orders").await.1, Fate::Damaged);
    assert_eq!(world.begun(), [1, 2, 3]);
}

/// Sets messages aside until it is ready.
#[actor(mailbox = durable)]
struct Picky {
    is_ready: bool,
    world: World,
}

#[actor]
impl Picky {
    #[handler]
    fn place(&mut self, number: u32) {
        self.world.note(number);
    }

    #[handler]
    fn get_ready(&mut self) {
        self.is_ready = true;
        self.world.note(0);
    }

    #[handler]
    async fn wait(&mut self) {
        self.world.gate.notified().await;
    }

    #[stash_while]
    fn unwanted(&self, message: &PickyMessage) -> bool {
        !self.is_ready && matches!(message, PickyMessage::Place { .. })
    }
}

#[supervise::test]
async fn dur_38_a_stashed_message_comes_again_in_its_place(system: &TestSystem) {
    let world = World::default();
    let spawn = |system: &TestSystem| {
        let world = world.clone();
        system.spawn("picky", move || Picky { is_ready: false, world: world.clone() }).expect("the name is free")
    };
    let picky = spawn(system);
    for number in 1..=3 {
        picky.place(number).accepted().await.expect("the store works");
    }
    picky.wait().accepted().await.expect("the store works");
    system.settle().await;
    assert_eq!(world.begun(), [] as [u32; 0]);
    let next = system.crash(Crash::Process).await;
    world.gate.notify_one();
    let picky = spawn(&next);
    next.settle().await;
    picky.get_ready().await.expect("it is handled");
    next.settle().await;
    assert_eq!(world.begun(), [0, 1, 2, 3]);
}

/// Fails each message once.
#[actor(mailbox = durable(redeliver = 1))]
struct Brittle {
    world: World,
}

#[derive(Debug, thiserror::Error)]
#[error("brittle")]
struct Broken;

#[actor]
impl Brittle {
    #[handler(batch = 8)]
    fn place(&mut self, numbers: Vec<u32>, ctx: &mut Context<Self>) -> Result<(), Broken> {
        let attempt = ctx.delivery().map(|delivery| delivery.attempt());
        if attempt == Some(1) {
            return Err(Broken);
        }
        for number in numbers {
            self.world.note(number);
        }
        Ok(())
    }

    #[handler(redeliver = 2)]
    fn stubborn(&mut self, number: u32, ctx: &mut Context<Self>) -> Result<(), Broken> {
        self.world.note(number + ctx.delivery().map_or(0, |delivery| delivery.attempt()));
        Err(Broken)
    }
}

#[supervise::test]
async fn a_batch_is_acknowledged_and_charged_as_a_whole(system: &TestSystem) {
    let world = World::default();
    let inner = world.clone();
    let brittle = system.spawn("brittle", move || Brittle { world: inner.clone() }).expect("the name is free");
    for number in 1..=5 {
        brittle.place(number).tell().expect("there is room");
    }
    system.settle().await;
    let mut begun = world.begun();
    begun.sort_unstable();
    assert_eq!(begun, [1, 2, 3, 4, 5]);
    system.allow_failures();
    brittle.stubborn(10).accepted().await.expect("the store works");
    system.settle().await;
    assert_eq!(world.begun()[5..], [11, 12, 13], "the handler's own `redeliver`");
    let letter = system.expect_dead_letter(&brittle).await;
    assert_eq!((letter.reason, letter.message, letter.deliveries), (DeadLetterReason::Quarantined, "Stubborn", 3));
    assert!(letter.failures[0].downcast_ref::<Broken>().is_some());
}

/// Handles several messages at once, fails if 3 is among them, and waits if 7 is alone.
#[actor(mailbox = durable(redeliver = 0))]
struct Finicky {
    world: World,
}

#[actor]
impl Finicky {
    #[handler(batch = 8)]
    async fn pick(&mut self, numbers: Vec<u32>) -> Result<(), Broken> {
        if numbers.contains(&3) {
            return Err(Broken);
        }
        if numbers == [7] {
            self.world.gate.notified().await;
        }
        for number in numbers {
            self.world.note(number);
        }
        Ok(())
    }
}

/// Its parent decides its failures.
#[actor]
#[supervise(one_for_one, on(_) = Restart)]
struct Chooser {
    world: World,
    queue: &'static str,
}

#[actor]
impl Chooser {
    #[handler]
    fn finicky(&mut self, ctx: &mut Context<Self>) -> FinickyRef {
        let world = self.world.clone();
        let props = Props::new(move || Finicky { world: world.clone() }).queue(self.queue);
        ctx.spawn_with("finicky", props).expect("the name is free")
    }
}

/// Spawns an actor with the given queue, under a parent with the given name, strategy and directive.
async fn finicky(
    system: &TestSystem,
    world: &World,
    (name, queue): (&str, &'static str),
    (strategy, directive): (Strategy, Directive),
) -> FinickyRef {
    let world = world.clone();
    let props = Props::new(move || Chooser { world: world.clone(), queue })
        .supervision_unchecked(strategy, move |_, _| Ok(directive));
    let chooser = system.spawn_with(name, props).expect("the name is free");
    chooser.finicky().await.expect("it answers")
}

#[supervise::test]
async fn one_bad_message_of_a_batch_goes_into_quarantine_alone(system: &TestSystem) {
    for (name, directive) in [("restarted", Directive::Restart), ("resumed", Directive::Resume)] {
        let world = World::default();
        let finicky = finicky(system, &world, (name, name), (Strategy::one_for_one(), directive)).await;
        for number in 1..=5 {
            finicky.pick(number).tell().expect("there is room");
        }
        system.settle().await;
        assert_eq!(world.begun(), [1, 2, 4, 5], "one after the other, in their order ({name})");
        let quarantined = system.store().quarantined(name).await.expect("the store works");
        assert_eq!(quarantined.len(), 1, "{name}: {quarantined:?}");
        finicky.pick(6).tell().expect("there is room");
        system.settle().await;
        assert_eq!(world.begun(), [1, 2, 4, 5, 6], "{name}");
        assert!(system.store().queues().await.expect("the store works").iter().all(|row| row.waiting == 0));
        system.allow_failures();
        system.take_all(|event| matches!(event, Event::Quarantined { .. } | Event::DeadLetter(_))).await;
    }
}

/// Rule 27.7.
#[supervise::test]
async fn the_messages_of_a_failed_batch_are_tried_alone_by_the_next_actor_too(system: &TestSystem) {
    let at_once = Strategy::one_for_one();
    let ten = Duration::from_secs(10);
    let later = at_once.backoff(Backoff::exponential(ten, ten));
    for (queue, strategy, directive) in [
        ("failed", at_once, Directive::Stop),
        ("waiting", later, Directive::Restart),
        ("trying", at_once, Directive::Restart),
        ("dead", later, Directive::Restart),
    ] {
        let world = World::default();
        let actor = finicky(system, &world, (queue, queue), (strategy, directive)).await;
        for number in [7, 3, 8] {
            actor.pick(number).tell().expect("there is room");
        }
        system.settle().await;
        system.allow_failures();
        let next;
        let now = if queue == "dead" {
            next = system.crash(Crash::Process).await;
            &next
        } else {
            actor.actor_ref().stop();
            world.gate.notify_one();
            system.expect_terminated(&actor).await;
            system
        };
        world.gate.notify_one();
        finicky(now, &world, (&format!("{queue}-again"), queue), (at_once, Directive::Restart)).await;
        now.settle().await;
        assert_eq!(world.begun(), [7, 8], "{queue}");
        let quarantined = now.store().quarantined(queue).await.expect("the store works");
        let bad: Vec<_> = quarantined.iter().map(|one| one.message.arguments().to_string()).collect();
        assert_eq!(bad, [r#"{"numbers": 3}"#], "{queue}");
        now.allow_failures();
        now.allow_dead_letters();
    }
}
