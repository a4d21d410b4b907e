//! Rule 19.9 in bounded mailboxes, through pools and other actors, and with askers that end in odd places.

use std::time::Duration;

use supervise::pattern::Pool;
use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestProbe, TestSystem};
use supervise::{DeadLetterReason, Event, MailboxKind, Overflow, Props};

const SECOND: Duration = Duration::from_secs(1);

#[actor]
struct Shop {
    seen: ProbeHandle<u32>,
}

#[actor]
impl Shop {
    #[handler]
    async fn sleep(&mut self) {
        tokio::time::sleep(SECOND).await;
    }

    #[handler(skip_abandoned)]
    fn price(&mut self, order: u32) -> u32 {
        self.seen.note(order);
        order * 10
    }

    /// Gathered for a second.
    #[handler(skip_abandoned, batch = 10, linger = "1s")]
    fn check(&mut self, orders: Vec<u32>) {
        for order in orders {
            self.seen.note(order);
        }
    }
}

/// Hands each order on.
#[actor]
struct Door {
    shop: ShopRef,
}

#[actor]
impl Door {
    #[handler(skip_abandoned)]
    fn price(&mut self, order: u32, reply: ReplyTo<u32>) {
        self.shop.price(order).reply_to(reply);
    }
}

fn props(seen: &TestProbe<u32>) -> Props<Shop> {
    let handle = seen.handle();
    Props::new(move || Shop { seen: handle.clone() })
}

async fn lost(system: &TestSystem) -> Vec<DeadLetterReason> {
    let letters = system.take_all(|event| matches!(event, Event::DeadLetter(_))).await;
    let reason = |event| if let Event::DeadLetter(letter) = event { letter.reason } else { unreachable!() };
    letters.into_iter().map(reason).collect()
}

/// Abandoned asks take up room in the mailbox until the actor reaches them.
#[supervise::test]
async fn a_bounded_mailbox_has_room_again(system: &TestSystem) {
    for overflow in [Overflow::Fail, Overflow::DropNewest, Overflow::DropOldest] {
        let seen = system.probe();
        let shop = props(&seen).mailbox(MailboxKind::Bounded { capacity: 4, overflow });
        let shop = system.spawn_with(format!("{overflow:?}"), shop).unwrap();
        shop.sleep().tell().unwrap();
        system.settle().await;
        for order in 1..=4 {
            drop(shop.price(order).ask().unwrap());
        }
        let waits = {
            let shop = shop.clone();
            tokio::spawn(async move { shop.price(9).send().await.is_ok() })
        };
        system.advance(SECOND).await;
        assert!(waits.await.unwrap());
        assert_eq!(shop.price(5).await.unwrap(), 50);
        assert_eq!(seen.all().await, [9, 5]);
        assert_eq!(lost(system).await, [DeadLetterReason::Abandoned; 4]);
    }
}

/// The asker of the actor that got the message first.
#[supervise::test]
async fn an_ask_that_was_handed_on_is_skipped_too(system: &TestSystem) {
    let seen = system.probe();
    let shop = system.spawn_with("shop", props(&seen)).unwrap();
    let target = shop.clone();
    let door = system.spawn("door", move || Door { shop: target.clone() }).unwrap();
    shop.sleep().tell().unwrap();
    let (gives_up, waits) = (door.price(1).ask().unwrap(), door.price(2).ask().unwrap());
    system.settle().await;
    drop(gives_up);
    system.advance(SECOND).await;
    assert_eq!(waits.await.unwrap(), 20);
    assert_eq!(seen.all().await, [2]);
    assert_eq!(lost(system).await, [DeadLetterReason::Abandoned]);
}

#[supervise::test]
async fn a_worker_skips_what_came_through_its_pool(system: &TestSystem) {
    let seen = system.probe();
    let handle = seen.handle();
    let pool = Pool::round_robin(1, move || Shop { seen: handle.clone() }).props();
    let pool = system.spawn_with("pool", pool).unwrap();
    pool.sleep().tell().unwrap();
    let (gives_up, waits) = (pool.price(1).ask().unwrap(), pool.price(2).ask().unwrap());
    system.settle().await;
    drop(gives_up);
    system.advance(SECOND).await;
    assert_eq!(waits.await.unwrap(), 20);
    assert_eq!(seen.all().await, [2]);
    assert_eq!(lost(system).await, [DeadLetterReason::Abandoned]);
}

/// Gives up an ask when it is dropped.
struct Holder<T>(Option<T>);

impl<T> Drop for Holder<T> {
    fn drop(&mut self) {
        drop(self.0.take());
    }
}

#[supervise::test]
async fn an_asker_may_give_up_in_a_destructor_and_during_a_panic(system: &TestSystem) {
    let seen = system.probe();
    let shop = system.spawn_with("shop", props(&seen)).unwrap();
    shop.sleep().tell().unwrap();
    let (one, two) = (Holder(Some(shop.price(1).ask().unwrap())), Holder(Some(shop.price(2).ask().unwrap())));
    drop(one);
    let panics = tokio::spawn(async move {
        let _held = two;
        panic!("as told");
    });
    assert!(panics.await.unwrap_err().is_panic());
    system.advance(SECOND).await;
    assert_eq!(seen.all().await, [0_u32; 0]);
    assert_eq!(lost(system).await, [DeadLetterReason::Abandoned; 2]);
}

/// Rule 19.9: checked when it is gathered. A batch that is complete is handled, even if its askers give up.
#[supervise::test]
async fn what_is_gathered_is_handled(system: &TestSystem) {
    let seen = system.probe();
    let shop = system.spawn_with("shop", props(&seen)).unwrap();
    let gives_up = shop.check(1).ask().unwrap();
    system.settle().await;
    drop(gives_up);
    drop(shop.check(2).ask().unwrap());
    shop.check(3).tell().unwrap();
    system.advance(SECOND).await;
    assert_eq!(seen.all().await, [1, 3]);
    assert_eq!(lost(system).await, [DeadLetterReason::Abandoned]);
}
