//! How a later release reads messages that an earlier one has stored.
//!
//! Rule 27.12.

use serde::{Deserialize, Serialize};
use supervise::durable::Fate;
use supervise::prelude::*;
use supervise::testkit::{Crash, TestSystem};
use supervise::{Actor, DeadLetterReason, Event, Props, RefOf};

use crate::orders::World;

/// Actors of different releases, whose queue is the same.
mod first {
    use super::*;

    #[derive(Serialize, Deserialize)]
    pub(super) struct Item {
        pub(super) number: u32,
    }

    #[actor(mailbox = durable)]
    pub(super) struct Shop {
        pub(super) world: World,
    }

    #[actor]
    impl Shop {
        #[handler]
        fn buy(&mut self, item: Item) {
            self.world.note(item.number);
        }

        #[handler]
        fn pay_back(&mut self, number: u32) {
            self.world.note(number);
        }

        #[handler]
        fn sell(&mut self, number: u32) {
            self.world.note(number);
        }

        #[handler]
        async fn wait(&mut self) {
            std::future::pending::<()>().await;
        }
    }
}

mod second {
    use super::*;

    #[derive(Serialize, Deserialize)]
    pub(super) struct Item {
        number: u32,
        #[serde(default)]
        price: u32,
    }

    #[actor(mailbox = durable)]
    pub(super) struct Shop {
        pub(super) world: World,
    }

    #[actor]
    impl Shop {
        #[handler]
        fn buy(&mut self, item: Item, note: Option<String>) {
            assert!(note.is_none());
            self.world.note(item.number + item.price);
        }

        #[handler(stored_as = "refund", also = ["pay_back"])]
        fn refund(&mut self, number: u32) {
            self.world.note(1000 + number);
        }

        #[handler]
        fn wait(&mut self) {}
    }
}

mod third {
    use super::*;

    #[derive(Serialize, Deserialize)]
    pub(super) struct Item {
        number: u32,
        price: u32,
    }

    #[actor(mailbox = durable)]
    pub(super) struct Shop {
        pub(super) world: World,
    }

    #[actor]
    impl Shop {
        #[handler]
        fn buy(&mut self, item: Item) {
            self.world.note(item.number + item.price);
        }

        #[handler]
        fn wait(&mut self) {}
    }
}

/// Spawns the shop of one release.
fn open<S>(system: &TestSystem, world: &World, shop: impl Fn(World) -> S + Send + 'static) -> RefOf<S>
where
    S: Actor,
{
    let world = world.clone();
    let shop = Props::new(move || shop(world.clone())).queue("shop");
    system.spawn_with("shop", shop).expect("the name and the queue are free")
}

async fn with_messages(system: &TestSystem, world: &World) {
    let shop = open(system, world, |world| first::Shop { world });
    shop.wait().accepted().await.expect("the store works");
    shop.buy(first::Item { number: 1 }).accepted().await.expect("the store works");
    shop.pay_back(2).accepted().await.expect("the store works");
    shop.sell(3).accepted().await.expect("the store works");
    shop.buy(first::Item { number: 4 }).accepted().await.expect("the store works");
}

#[supervise::test]
async fn dur_20_an_unknown_message_is_quarantined_and_the_actor_goes_on(system: &TestSystem) {
    let world = World::default();
    with_messages(system, &world).await;
    let next = system.crash(Crash::Process).await;
    let shop = open(&next, &world, |world| second::Shop { world });
    next.settle().await;
    // 21: an argument with a new field, and a new argument. 22: a handler with a new name.
    assert_eq!(world.begun(), [1, 1002, 4]);
    let failures = next
        .expect("the unknown message", |event| match event {
            Event::Quarantined { kind, fate: Fate::Undecodable, failures, .. } if &**kind == "sell" => {
                Some(failures.clone())
            }
            _ => None,
        })
        .await;
    assert_eq!(failures[0].to_string(), "there is no handler `sell`");
    let letter = next.expect_dead_letter(&shop).await;
    assert_eq!(letter.reason, DeadLetterReason::Undecodable);
    assert_eq!(shop.refund(5).await.expect("it goes on"), ());
}

#[supervise::test]
async fn dur_21_what_cannot_be_decoded_is_handled_after_a_fix(system: &TestSystem) {
    let world = World::default();
    with_messages(system, &world).await;
    let next = system.crash(Crash::Process).await;
    let shop = open(&next, &world, |world| third::Shop { world });
    next.settle().await;
    assert_eq!(world.begun(), [] as [u32; 0], "nothing has a price");
    next.allow_dead_letters();
    let quarantined = next.store().quarantined("shop").await.expect("the store works");
    assert_eq!(quarantined.len(), 4);
    assert!(quarantined[0].message.failures[0].contains("price"), "{:?}", quarantined[0].message.failures);
    shop.actor_ref().stop();
    next.expect_terminated(&shop).await;
    open(&next, &world, |world| second::Shop { world });
    assert_eq!(next.store().retry_all("shop").await.expect("the store works"), 4);
    next.settle().await;
    assert_eq!(world.begun(), [1, 1002, 4]);
}

/// DUR-22, the other half of DUR-20: messages are stored under the new name.
#[supervise::test]
async fn dur_22_a_renamed_handler_is_stored_under_its_new_name(system: &TestSystem) {
    let world = World::default();
    let shop = open(system, &world, |world| second::Shop { world });
    shop.refund(5).accepted().await.expect("the store works");
    shop.actor_ref().poison();
    system.expect_terminated(&shop).await;
    let shop = open(system, &world, |world| second::Shop { world });
    shop.wait().await.expect("it is handled");
    assert_eq!(world.begun(), [1005]);
}
