//! Senders on other nodes wait for room in the mailbox of a durable actor.
//!
//! Rules 26.11 and 27.1.

use std::time::Duration;

use supervise::prelude::*;
use supervise::remote::Node;
use supervise::remote::memory::Network;
use supervise::{DeadLetterReason, Event, Interest};
use tokio::time::sleep;

use crate::orders::World;
use crate::stumbling::Stumbling;

/// Has room for two messages, and notes one at a time when the gate opens.
#[actor(mailbox = durable(capacity = 2, window = 1))]
struct Till {
    world: World,
}

#[actor(remote)]
impl Till {
    #[handler]
    async fn ring(&mut self, number: u32) {
        self.world.gate.notified().await;
        self.world.note(number);
    }
}

/// Lets another node send six numbers to a till, of which two have room, and then does `deed`. Returns which ones the till has rung up, and
/// why the others are dead letters.
fn six(deed: impl AsyncFnOnce(&World, &Network, &TillRef)) -> (Vec<u32>, Vec<DeadLetterReason>) {
    let (store, world) = (Stumbling::default(), World::default());
    let letters = store.process(async |shop| {
        let network = Network::new(1);
        let mut events = shop.events().subscribe_to(Interest::DEAD_LETTERS);
        let joined = Node::builder(&shop).serve::<Till>().join(network.transport("shop:1")).await;
        let _shop = joined.expect("the address is free");
        let home = ActorSystem::new("home");
        let joined = Node::builder(&home).serve::<Till>().join(network.transport("home:1")).await;
        let home_node = joined.expect("the address is free");
        let inner = world.clone();
        let till = shop.spawn("till", move || Till { world: inner.clone() }).expect("the name is free");
        let far = home_node.find::<Till>("supervise://shop@shop:1/user/till").await.expect("it is there");
        for number in 0..6 {
            far.ring(number).send().await.expect("the node is there");
        }
        sleep(Duration::from_secs(1)).await;
        deed(&world, &network, &till).await;
        for _ in 0..10 {
            sleep(Duration::from_secs(1)).await;
            world.gate.notify_one();
        }
        sleep(Duration::from_secs(20)).await;
        let letters = std::iter::from_fn(|| events.try_recv()).filter_map(|event| match event {
            Event::DeadLetter(letter) => Some(letter.reason),
            _ => None,
        });
        letters.collect()
    });
    (world.begun(), letters)
}

#[test]
fn rem_57_a_message_that_is_handed_over_to_the_store_at_a_verdict_is_no_dead_letter() {
    for yields in 0..100 {
        let (rung, letters) = six(async |world, network, _| {
            world.gate.notify_one();
            // The store takes a millisecond for the message that has found room.
            for _ in 0..yields {
                tokio::task::yield_now().await;
            }
            network.kill("home:1");
        });
        assert!(rung.iter().copied().zip(0..).all(|(rung, number)| rung == number), "in order: {rung:?}");
        assert_eq!(rung.len() + letters.len(), 6, "after {yields} yields: {rung:?}, {letters:?}");
    }
}

#[test]
fn rem_57_a_durable_actor_that_ends_makes_dead_letters_of_what_waits_for_room() {
    let (rung, letters) = six(async |_, _, till| till.actor_ref().stop());
    // It ends its handler's turn first. The second one is stored.
    assert_eq!((rung, letters), (vec![0], vec![DeadLetterReason::Stopped; 4]));
}

#[test]
fn rem_57_what_waits_for_room_in_a_durable_mailbox_is_handled_in_its_order() {
    let (rung, letters) = six(async |_, _, _| {});
    assert_eq!((rung, letters), ((0..6).collect(), Vec::new()));
}
