//! Another process takes the queue of this one, or puts messages into it.
//!
//! Rules 27.4, 27.6 and 27.11.

use std::time::Duration;

use supervise::durable::{Append, Change, MessageId, QueueId, Seq};
use supervise::prelude::*;
use tokio::time::{sleep, timeout};

use crate::orders::{Does, Orders, OrdersRef, World, order, that};
use crate::stumbling::Stumbling;

/// Long enough for a queue to be claimed again.
const LONG: Duration = Duration::from_secs(20);

const QUEUE: QueueId = QueueId(0);

fn spawn(system: &ActorSystem, world: &World) -> OrdersRef {
    let world = world.clone();
    system.spawn("orders", move || Orders::new(&world)).expect("the name and the queue are free")
}

fn handled(seq: u64) -> Change {
    Change::Handled(MessageId { queue: QUEUE, seq: Seq(seq) })
}

#[test]
fn an_owner_that_has_lost_its_queue_begins_nothing_and_gets_what_is_left() {
    let (store, world) = (Stumbling::default(), World::default());
    store.process(async |system| {
        let orders = spawn(&system, &world);
        orders.place(that(1, Does::Wait)).accepted().await.expect("the store works");
        for number in 2..=5 {
            orders.place(order(number)).accepted().await.expect("the store works");
        }
        let asked = orders.place(order(6));
        let (answer, ()) = tokio::join!(timeout(LONG, asked), async {
            sleep(Duration::from_millis(10)).await;
            store.is_taken();
            world.gate.notify_one();
        });
        assert!(answer.expect("its asker does not wait for ever").is_err());
        sleep(LONG).await;
        assert_eq!(world.begun(), [1]);
        let refused = orders.place(order(7)).accepted().await.expect_err("it has no queue");
        assert!(refused.to_string().contains("another process"), "{refused}");
        store.elsewhere(vec![handled(1), handled(2)]).await;
        store.script().is_taken = false;
        sleep(LONG).await;
        assert_eq!(world.begun(), [1, 3, 4, 5, 6], "what was not handled elsewhere");
        assert_eq!(orders.place(order(8)).await.ok(), Some(8));
        system.terminate().await;
    });
}

#[test]
fn a_message_that_fails_while_its_queue_is_lost_is_tried_elsewhere() {
    for ends in [false, true] {
        let (store, world) = (Stumbling::default(), World::default());
        store.process(async |system| {
            let orders = spawn(&system, &world);
            orders.place(that(1, Does::Fail(1))).accepted().await.expect("the store works");
            orders.place(order(2)).tell().expect("there is room");
            while world.begun().is_empty() {
                tokio::task::yield_now().await;
            }
            // Its failure is not stored yet.
            store.is_taken();
            sleep(LONG).await;
            assert_eq!(world.begun(), [1], "it is not tried again here");
            if ends {
                orders.actor_ref().stop();
                sleep(LONG).await;
            }
            store.script().is_taken = false;
            let orders = if ends { spawn(&system, &world) } else { orders };
            sleep(LONG).await;
            let begun = world.begun();
            assert_eq!(begun, [1, 1, 1, 2], "the failure was not stored, so it fails once more; ends: {ends}");
            assert_eq!(orders.place(order(3)).await.ok(), Some(3));
        });
    }
}

/// The lease has ended, and nobody else wants it: nothing was lost, and nothing is handled twice.
#[test]
fn an_owner_that_is_not_sure_of_its_queue_looks_and_goes_on() {
    let (store, world) = (Stumbling::default(), World::default());
    store.process(async |system| {
        let orders = spawn(&system, &world);
        orders.place(that(1, Does::Wait)).accepted().await.expect("the store works");
        for number in 2..=20 {
            orders.place(order(number)).accepted().await.expect("the store works");
        }
        store.script().has_lapsed = true;
        world.gate.notify_one();
        sleep(LONG).await;
        assert_eq!(world.begun(), (1..=20).collect::<Vec<_>>());
        store.script().has_lapsed = true;
        assert_eq!(timeout(LONG, orders.place(order(21)).accepted()).await, Ok(Ok(())));
        sleep(LONG).await;
        assert_eq!(world.begun().len(), 21);
    });
}

#[test]
fn a_stop_behind_messages_of_a_lost_queue_takes_effect() {
    let (store, world) = (Stumbling::default(), World::default());
    store.process(async |system| {
        let orders = spawn(&system, &world);
        orders.place(that(1, Does::Wait)).accepted().await.expect("the store works");
        for number in 2..=30 {
            orders.place(order(number)).accepted().await.expect("the store works");
        }
        orders.actor_ref().poison();
        sleep(Duration::from_millis(10)).await;
        store.is_taken();
        world.gate.notify_one();
        sleep(LONG).await;
        assert!(orders.actor_ref().has_ended(), "it does not wait for its messages");
        assert_eq!(world.begun(), [1]);
        store.script().is_taken = false;
        let orders = spawn(&system, &world);
        world.gate.notify_one();
        assert_eq!(timeout(LONG, orders.place(order(31))).await.expect("it has its queue").ok(), Some(31));
    });
}

#[test]
fn messages_of_another_process_are_handled_in_their_turn() {
    let (store, world) = (Stumbling::default(), World::default());
    store.process(async |system| {
        let orders = spawn(&system, &world);
        for number in 1..=2 {
            orders.place(order(number)).accepted().await.expect("the store works");
        }
        sleep(LONG).await;
        let foreign = |number| {
            Change::Append(Append {
                queue: QUEUE,
                kind: "place".into(),
                body: encoded(number).into(),
                accepted_at: std::time::SystemTime::UNIX_EPOCH,
                key: None,
            })
        };
        // It is told.
        store.elsewhere(vec![foreign(3), foreign(4)]).await;
        store.arrives(QUEUE, Seq(4));
        sleep(LONG).await;
        assert_eq!(world.begun(), [1, 2, 3, 4]);
        // It is not told, and finds out.
        store.elsewhere(vec![foreign(5)]).await;
        orders.place(order(6)).accepted().await.expect("the store works");
        sleep(LONG).await;
        assert_eq!(world.begun(), [1, 2, 3, 4, 5, 6]);
        assert_eq!(system.store().queues().await.expect("the store works")[0].waiting, 0);
    });
}

/// An order in `MessagePack`, as another process has stored it.
fn encoded(number: u8) -> Vec<u8> {
    let mut body = b"\x81\xa5order\x82\xa6number".to_vec();
    body.push(number);
    body.extend_from_slice(b"\xa4does\xa6Return");
    body
}

/// Waits for more, and handles what has come.
#[actor(mailbox = durable)]
struct Lingering {
    world: World,
}

#[actor]
impl Lingering {
    #[handler(batch = 64, linger = "5s")]
    fn insert(&mut self, numbers: Vec<u32>) {
        for number in numbers {
            self.world.note(number);
        }
    }

    #[handler(transient)]
    fn count(&self) -> usize {
        self.world.begun().len()
    }
}

/// Rules 27.6 and 23.2.
#[test]
fn a_batch_that_waited_until_its_queue_was_lost_does_not_begin() {
    let (store, world) = (Stumbling::default(), World::default());
    store.process(async |system| {
        let inner = world.clone();
        let props = move || Lingering { world: inner.clone() };
        let lingering = system.spawn("lingering", props).expect("the name is free");
        for number in 1..=3 {
            lingering.insert(number).accepted().await.expect("the store works");
        }
        let asked = lingering.insert(4);
        let (answer, ()) = tokio::join!(timeout(LONG, asked), async {
            sleep(Duration::from_secs(1)).await;
            store.is_taken();
        });
        assert!(answer.expect("its asker does not wait for ever").is_err());
        sleep(LONG).await;
        assert_eq!(world.begun(), [] as [u32; 0], "another process may have begun them");
        assert_eq!(lingering.count().await.ok(), Some(0), "it goes on");
        store.elsewhere(vec![handled(1), handled(2)]).await;
        store.script().is_taken = false;
        sleep(LONG * 2).await;
        assert_eq!(world.begun(), [3, 4], "what was not handled elsewhere");
        system.terminate().await;
    });
}
