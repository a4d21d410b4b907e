//! Publishing to very many subscribers.
//!
//! Rule 21.3.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use supervise::prelude::*;
use supervise::testkit;

#[derive(Clone)]
struct Price(u32);

#[actor]
struct Display {
    seen: Vec<u32>,
}

#[actor]
impl Display {
    #[handler]
    fn show(&mut self, price: u32) {
        self.seen.push(price);
    }

    #[handler]
    fn seen(&self) -> Vec<u32> {
        self.seen.clone()
    }
}

/// Another task has a turn after each 1024 subscribers, and each subscriber gets all events in order.
#[test]
fn z_21_3_publishing_fairly_gives_others_their_turns() {
    const SUBSCRIBERS: usize = 10_000;
    testkit::run(async |system| {
        let topic = system.topic::<Price>();
        let displays: Vec<_> = (0..SUBSCRIBERS)
            .map(|_| {
                let display = system.spawn_anonymous(|| Display { seen: Vec::new() }).unwrap();
                topic.subscribe(&display, |display: &DisplayRef, price| display.show(price.0));
                display
            })
            .collect();
        system.settle().await;
        let (turns, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let other = tokio::spawn({
            let (turns, over) = (Arc::clone(&turns), Arc::clone(&over));
            async move {
                while !over.load(Ordering::Relaxed) {
                    turns.fetch_add(1, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                }
            }
        });
        for price in 1..=3 {
            let before = turns.load(Ordering::Relaxed);
            assert_eq!(topic.publish_fairly(Price(price)).await, SUBSCRIBERS);
            let turns = turns.load(Ordering::Relaxed) - before;
            assert!(turns >= SUBSCRIBERS / 1024, "{turns} turns");
        }
        over.store(true, Ordering::Relaxed);
        other.await.unwrap();
        for display in displays.iter().step_by(1_000) {
            assert_eq!(display.seen().await.unwrap(), [1, 2, 3]);
        }
    });
}

/// The function of a subscriber uses the topic while the event is on its way, and a subscriber that has ended does not count.
#[test]
fn z_21_3_a_subscriber_may_use_the_topic_while_it_is_told() {
    testkit::run(async |system| {
        let topic = system.topic::<Price>();
        let spawn = || system.spawn_anonymous(|| Display { seen: Vec::new() }).unwrap();
        let (one, other, gone) = (spawn(), spawn(), spawn());
        for display in [&one, &gone] {
            let (topic_too, other) = (topic.clone(), other.clone());
            topic.subscribe(display, move |display: &DisplayRef, price| {
                topic_too.subscribe(&other, |other: &DisplayRef, price| other.show(price.0));
                topic_too.unsubscribe(display);
                display.show(price.0)
            });
        }
        gone.actor_ref().stop();
        system.expect_terminated(&gone).await;
        assert_eq!(topic.publish_fairly(Price(1)).await, 1);
        assert_eq!(topic.publish_fairly(Price(2)).await, 1);
        assert_eq!((one.seen().await.unwrap(), other.seen().await.unwrap()), (vec![1], vec![2]));
    });
}
