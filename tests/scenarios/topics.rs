//! Topics, pools that route by key, and the first of several answers.
//!
//! Rules 21.1, 21.2, 21.3, 21.4, 21.5 and 21.6.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use supervise::pattern::{Pool, Topic, first_answer};
use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{DeadLetterReason, Envelope, MailboxKind, Overflow, Props, RestartType};

#[derive(Debug, thiserror::Error)]
#[error("the lamp is broken")]
struct Broken;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Price(u32);

/// Notes what it is told.
#[actor]
struct Display {
    id: u32,
    seen: ProbeHandle<(u32, u32)>,
    /// Where each instance subscribes.
    prices: Option<Topic<Price>>,
}

#[actor]
impl Display {
    #[pre_start]
    fn subscribe(&mut self, ctx: &mut Context<Self>) {
        if let Some(prices) = &self.prices {
            prices.subscribe(&ctx.me(), DisplayRef::price);
        }
    }

    #[handler]
    fn price(&mut self, price: Price) {
        self.seen.note((self.id, price.0));
    }

    #[handler]
    fn doubled(&mut self, cents: u32) {
        self.seen.note((self.id, 2 * cents));
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Broken> {
        Err(Broken)
    }

    #[handler]
    async fn sleep(&mut self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

#[supervise::test]
async fn an_event_reaches_every_subscriber_in_the_order_of_its_publisher(system: &TestSystem) {
    let probe = system.probe();
    let mut displays = Vec::new();
    for id in 0..3 {
        let seen = probe.handle();
        let display = system.spawn_anonymous(move || Display { id, seen: seen.clone(), prices: None }).unwrap();
        system.topic::<Price>().subscribe(&display, DisplayRef::price);
        displays.push(display);
    }
    for cents in 0..10 {
        assert_eq!(system.topic().publish(Price(cents)), 3);
    }
    let mut seen: HashMap<u32, Vec<u32>> = HashMap::new();
    for _ in 0..30 {
        let (id, cents) = probe.next().await;
        seen.entry(id).or_default().push(cents);
    }
    assert_eq!(seen.len(), 3);
    assert!(seen.values().all(|prices| prices.iter().copied().eq(0..10)), "{seen:?}");
}

#[supervise::test]
async fn topics_are_told_apart_by_the_type_of_their_events_and_by_their_system(system: &TestSystem) {
    #[derive(Clone)]
    struct Other;
    let probe = system.probe();
    let seen = probe.handle();
    let display = system.spawn("display", move || Display { id: 0, seen: seen.clone(), prices: None }).unwrap();
    system.topic::<Price>().subscribe(&display, DisplayRef::price);
    assert_eq!(system.topic().publish(Other), 0);
    let elsewhere = ActorSystem::new("elsewhere");
    assert_eq!(elsewhere.topic().publish(Price(1)), 0);
    assert_eq!(Topic::new().publish(Price(1)), 0);
    assert_eq!(system.topic().publish(Price(1)), 1);
    elsewhere.terminate().await;
}

#[supervise::test]
async fn a_restart_keeps_the_subscription_and_does_not_repeat_it(system: &TestSystem) {
    let probe = system.probe();
    let (seen, prices) = (probe.handle(), Topic::new());
    let make = {
        let prices = prices.clone();
        move || Display { id: 0, seen: seen.clone(), prices: Some(prices.clone()) }
    };
    let display = system.spawn("display", make).unwrap();
    system.settle().await;
    prices.publish(Price(1));
    assert!(display.fail().await.is_err());
    system.expect_restarts(&display, 1).await;
    assert_eq!(prices.subscribers(), 1);
    prices.publish(Price(2));
    assert_eq!(probe.next().await, (0, 1));
    assert_eq!(probe.next().await, (0, 2));
    assert_eq!(probe.now().await, None);
}

#[supervise::test]
async fn a_second_subscription_replaces_the_first_and_unsubscribe_ends_it(system: &TestSystem) {
    let probe = system.probe();
    let seen = probe.handle();
    let display = system.spawn("display", move || Display { id: 0, seen: seen.clone(), prices: None }).unwrap();
    let prices = system.topic::<Price>();
    prices.subscribe(&display, DisplayRef::price);
    prices.subscribe(&display, |display, Price(cents)| display.doubled(cents));
    assert_eq!(prices.publish(Price(3)), 1);
    assert_eq!(probe.next().await, (0, 6));
    prices.unsubscribe(&display);
    assert_eq!(prices.publish(Price(4)), 0);
}

#[supervise::test]
async fn a_topic_forgets_subscribers_that_have_ended_even_if_nothing_is_published(system: &TestSystem) {
    let probe = system.probe();
    let prices = system.topic::<Price>();
    for id in 0..1_000 {
        let seen = probe.handle();
        let display = system.spawn_anonymous(move || Display { id, seen: seen.clone(), prices: None }).unwrap();
        prices.subscribe(&display, DisplayRef::price);
        display.actor_ref().stop();
        system.expect_terminated(&display).await;
        assert!(prices.subscribers() <= 16, "{} subscribers", prices.subscribers());
        prices.subscribe(&display, DisplayRef::price);
    }
    // An event does not become a dead letter either; a dead letter would fail this test.
    assert_eq!(prices.publish(Price(1)), 0);
    assert_eq!(prices.subscribers(), 0);
}

#[tokio::test]
async fn a_topic_keeps_neither_an_ended_actor_nor_its_system() {
    let alive = Arc::new(());
    let prices = Topic::<Price>::new();
    {
        let system = ActorSystem::new("short");
        let held = Arc::clone(&alive);
        let mirror = system.spawn("mirror", || Mirror { number: 1, delay: Duration::ZERO }).unwrap();
        prices.subscribe(&mirror, move |mirror, Price(cents)| {
            mirror.fetch(cents * u32::from(Arc::strong_count(&held) > 0))
        });
        let (held, itself) = (Arc::clone(&alive), mirror.clone());
        system.topic::<Price>().subscribe(&mirror, move |mirror, Price(cents)| {
            mirror.fetch(cents * u32::from(Arc::strong_count(&held) > 0 && !itself.actor_ref().has_ended()))
        });
        assert_eq!(Arc::strong_count(&alive), 3);
        system.terminate().await;
    }
    assert_eq!(
        Arc::strong_count(&alive),
        2,
        "the system's own topic went with it, though it held a ref to its actor"
    );
    assert_eq!(prices.publish(Price(1)), 0);
    assert_eq!(Arc::strong_count(&alive), 1);
}

#[supervise::test]
async fn an_event_without_room_is_a_dead_letter(system: &TestSystem) {
    let probe = system.probe();
    let seen = probe.handle();
    let props = Props::new(move || Display { id: 0, seen: seen.clone(), prices: None })
        .mailbox(MailboxKind::Bounded { capacity: 1, overflow: Overflow::Fail });
    let display = system.spawn_with("display", props).unwrap();
    display.sleep(Duration::from_secs(1)).tell().unwrap();
    system.settle().await;
    system.topic::<Price>().subscribe(&display, DisplayRef::price);
    assert_eq!(system.topic().publish(Price(1)), 1);
    assert_eq!(system.topic().publish(Price(2)), 1);
    assert_eq!(system.expect_dead_letter(&display).await.reason, DeadLetterReason::MailboxFull);
    assert_eq!(probe.next().await, (0, 1));
}

/// Answers with its number, after a time.
#[actor]
struct Mirror {
    number: u32,
    delay: Duration,
}

#[actor]
impl Mirror {
    #[handler]
    async fn fetch(&mut self, page: u32) -> Result<u32, Broken> {
        tokio::time::sleep(self.delay).await;
        if self.number == 0 { Err(Broken) } else { Ok(page * 10 + self.number) }
    }

    #[handler]
    fn end(&self, customer: u64, ctx: &mut Context<Self>) -> u64 {
        ctx.stop_self();
        customer
    }

    #[handler]
    fn where_is(&self, customer: u64, ctx: &mut Context<Self>) -> (u64, String) {
        (customer, ctx.path().name().to_owned())
    }
}

fn mirror(system: &TestSystem, number: u32, delay: u64) -> MirrorRef {
    system.spawn_anonymous(move || Mirror { number, delay: Duration::from_millis(delay) }).unwrap()
}

#[supervise::test]
async fn the_first_answer_counts_and_failures_do_not(system: &TestSystem) {
    system.allow_failures();
    let mirrors = [mirror(system, 0, 1), mirror(system, 1, 300), mirror(system, 2, 20)];
    assert_eq!(first_answer(mirrors.iter().map(|mirror| mirror.fetch(5))).await.unwrap(), 52);
}

#[supervise::test]
async fn without_any_answer_the_last_error_is_the_result(system: &TestSystem) {
    system.allow_failures();
    let (broken, gone) = (mirror(system, 0, 5), mirror(system, 1, 0));
    gone.actor_ref().stop();
    system.expect_terminated(&gone).await;
    system.allow_dead_letters();
    let error = first_answer([broken.fetch(1), gone.fetch(1)]).await.unwrap_err();
    assert_eq!(error.to_string(), "the actor failed: the lamp is broken");
    let none: [supervise::Request<'_, Mirror, u32>; 0] = [];
    assert!(matches!(first_answer(none).await, Err(AskError::Stopped)));
}

#[supervise::test]
async fn a_pool_by_key_gives_equal_keys_to_one_worker_and_spreads_others(system: &TestSystem) {
    let pool = Pool::by_key(
        4,
        |message: &Envelope<MirrorMessage>| match message.message() {
            MirrorMessage::WhereIs { customer } | MirrorMessage::End { customer } => *customer,
            MirrorMessage::Fetch { .. } => 0,
        },
        || Mirror { number: 1, delay: Duration::ZERO },
    );
    let pool = system.spawn_with("pool", pool.restart(RestartType::Permanent).props()).unwrap();
    let mut homes = HashMap::new();
    for customer in (0..200).chain(0..200) {
        let (customer, home) = pool.where_is(customer).await.unwrap();
        assert_eq!(*homes.entry(customer).or_insert_with(|| home.clone()), home);
    }
    for worker in pool.actor_ref().workers().await.unwrap() {
        let name = worker.actor_ref().path().name().to_owned();
        let customers = homes.values().filter(|home| **home == name).count();
        assert!(customers > 20, "{name} has {customers} of 200 customers");
        // A restart does not move its customers.
        worker.actor_ref().kill();
        system.expect_restarts(&worker, 1).await;
    }
    pool.actor_ref().resize(5);
    for (customer, home) in &homes {
        let (_, now) = pool.where_is(*customer).await.unwrap();
        assert!(now == *home || now == "worker-5", "customer {customer} moved from {home} to {now}");
    }
}

/// Rule 21.5.
#[supervise::test]
async fn a_permanent_worker_keeps_its_keys_until_it_is_replaced(system: &TestSystem) {
    let pool = Pool::by_key(
        4,
        |message: &Envelope<MirrorMessage>| match message.message() {
            MirrorMessage::WhereIs { customer } | MirrorMessage::End { customer } => *customer,
            MirrorMessage::Fetch { .. } => 0,
        },
        || Mirror { number: 1, delay: Duration::ZERO },
    );
    let pool = system.spawn_with("pool", pool.restart(RestartType::Permanent).props()).unwrap();
    let (_, home) = pool.where_is(7).await.unwrap();
    // The second replacement is delayed.
    for _ in 0..2 {
        pool.end(7).tell().unwrap();
        system.settle().await;
    }
    let asked = pool.where_is(7).await;
    assert!(matches!(asked, Err(AskError::Stopped)), "{asked:?}");
    system.advance(Duration::from_secs(60)).await;
    assert_eq!(pool.where_is(7).await.unwrap(), (7, home));
    system.allow_dead_letters();
}

/// The function of a subscriber is the subscriber's, although it runs in the code that publishes.
#[supervise::test]
async fn a_function_that_panics_fails_its_subscriber_and_nobody_else(system: &TestSystem) {
    system.allow_failures();
    let seen = system.probe();
    let prices = system.topic::<Price>();
    let displays: Vec<_> = (0..8)
        .map(|id| {
            let seen = seen.handle();
            let display = move || Display { id, seen: seen.clone(), prices: None };
            system.spawn(format!("display-{id}"), display).unwrap()
        })
        .collect();
    for (id, display) in (0..).zip(&displays) {
        prices.subscribe(display, move |display: &DisplayRef, price| {
            assert!(id != 3 || price != Price(2), "not this price");
            display.price(price)
        });
    }
    assert_eq!(prices.publish(Price(1)), 8);
    assert_eq!(prices.publish(Price(2)), 7);
    system.expect_restarts(&displays[3], 1).await;
    // It is still subscribed.
    assert_eq!(prices.publish(Price(3)), 8);
    let mut all = seen.all().await;
    all.sort_unstable();
    let each = |id| (1..=3).filter(move |price| (id, *price) != (3, 2)).map(move |price| (id, price));
    assert_eq!(all, (0..8).flat_map(each).collect::<Vec<_>>());
}
