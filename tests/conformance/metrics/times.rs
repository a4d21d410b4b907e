//! The times of messages, estimated from a sample, agree with the times that the messages took.

use std::collections::BTreeMap;
use std::future::IntoFuture;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Waker};
use std::time::Duration;

use supervise::metrics::{Meter, Metrics, Timing};
use supervise::prelude::*;
use supervise::testkit::TestSystem;
use tokio::time::{Instant, sleep};

use super::exporter::{Exporter, Scrape};
use crate::fixture::{Boom, ms};

/// How long messages waited, and by the handler, how long they were handled.
#[derive(Debug, Default, Clone)]
struct Truth(Arc<Mutex<BTreeMap<&'static str, Vec<Duration>>>>);

impl Truth {
    fn took(&self, what: &'static str, time: Duration) {
        self.0.lock().unwrap().entry(what).or_default().push(time);
    }

    /// How many took at most this long, and how many there are.
    fn within(&self, what: &str, bound: f64) -> (f64, f64) {
        let all = self.0.lock().unwrap().get(what).cloned().unwrap_or_default();
        let within = all.iter().filter(|time| time.as_secs_f64() <= bound + 1e-9).count();
        (count(within), count(all.len()))
    }
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap())
}

#[actor(stop_timeout = "1ms", stash = 10)]
struct Till {
    truth: Truth,
    closed: bool,
}

#[actor]
impl Till {
    #[stash_while]
    fn is_closed(&self, message: &TillMessage) -> bool {
        self.closed && matches!(message, TillMessage::Scan { .. })
    }

    #[handler]
    async fn scan(&mut self, sent: Instant, takes: Duration) {
        self.truth.took("mailbox", sent.elapsed());
        sleep(takes).await;
        self.truth.took("scan", takes);
    }

    #[handler]
    fn look(&mut self, sent: Instant) {
        self.truth.took("mailbox", sent.elapsed());
        self.truth.took("look", Duration::ZERO);
    }

    #[handler]
    async fn jam(&mut self, takes: Duration) -> Result<(), Boom> {
        sleep(takes).await;
        Err(Boom("jammed"))
    }

    #[handler(inline)]
    fn jam_at_once(&mut self) -> Result<(), Boom> {
        Err(Boom("jammed"))
    }

    #[handler]
    fn set_closed(&mut self, closed: bool) {
        self.closed = closed;
    }

    #[handler]
    fn remind(&mut self, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.start_periodic_timer("tick", ms(700), move || me.tick().into_message());
    }

    #[handler]
    async fn tick(&mut self) {
        sleep(ms(30)).await;
    }
}

const BOUNDS: [f64; 5] = [0.001, 0.005, 0.02, 0.1, 0.5];

fn found(scrape: &Scrape, what: &str, bound: Option<f64>) -> f64 {
    let le = bound.map_or("+Inf".to_owned(), |bound| bound.to_string());
    let series = match what {
        "mailbox" => format!("supervise_mailbox_seconds_bucket{{actor=\"Till\",le=\"{le}\"}}"),
        handler => {
            format!("supervise_handling_seconds_bucket{{actor=\"Till\",handler=\"{handler}\",le=\"{le}\"}}")
        }
    };
    scrape.get(&series).unwrap_or(0.0)
}

fn all(scrape: &Scrape, handler: &str) -> f64 {
    scrape.get(&format!("supervise_handling_seconds_count{{actor=\"Till\",handler=\"{handler}\"}}")).unwrap_or(0.0)
}

struct Shop {
    exporter: Exporter,
    meter: Meter,
    truth: Truth,
}

impl Shop {
    fn open(system: &TestSystem, timing: Timing) -> Self {
        fastrand::seed(24);
        let meter = Metrics::of(system).timing(timing).by_hand();
        Self { exporter: Exporter::new(), meter, truth: Truth::default() }
    }

    fn till(&self, system: &TestSystem, name: &str) -> TillRef {
        let truth = self.truth.clone();
        system.spawn(name, move || Till { truth: truth.clone(), closed: false }).unwrap()
    }

    fn look(&mut self) -> Scrape {
        self.exporter.look(&mut self.meter)
    }
}

/// Two busy tills and a rare one: customers come in bursts of three scans and a look, each fourth scan is slow. A look of the
/// meter each 10 s.
async fn open_for_a_day(system: &TestSystem, shop: &mut Shop) -> Scrape {
    let busy = [shop.till(system, "one"), shop.till(system, "two")];
    let mut customers = 0;
    for _ in 0..40 {
        for _ in 0..100 {
            for till in &busy {
                for _ in 0..3 {
                    customers += 1;
                    let takes = if customers % 4 == 0 { ms(80) } else { ms(4) };
                    till.scan(Instant::now(), takes).tell().unwrap();
                }
                till.look(Instant::now()).tell().unwrap();
            }
            system.advance(ms(250)).await;
        }
        shop.look();
    }
    shop.look()
}

/// Rule 24.6.
#[supervise::test]
async fn con_29_a_sample_shows_the_quantiles_and_the_number_of_all_messages(system: &TestSystem) {
    let mut shop = Shop::open(system, Timing::default());
    let scrape = open_for_a_day(system, &mut shop).await;
    for what in ["mailbox", "scan", "look"] {
        let number = found(&scrape, what, None);
        let (_, truth) = shop.truth.within(what, f64::MAX);
        // 24 000 scans are sampled 375 times: one standard deviation is a twentieth.
        assert!((number / truth - 1.0).abs() < 0.2, "{what}: {number} of {truth}");
        for bound in BOUNDS {
            let share = found(&scrape, what, Some(bound)) / number;
            let (within, _) = shop.truth.within(what, bound);
            let truth = within / truth;
            assert!((share - truth).abs() < 0.08, "{what}, {bound} s: {share} and not {truth}");
        }
    }
}

/// Rule 24.6.
#[supervise::test]
async fn con_29_all_messages_are_timed_exactly(system: &TestSystem) {
    let mut shop = Shop::open(system, Timing::All);
    let scrape = open_for_a_day(system, &mut shop).await;
    for what in ["mailbox", "scan", "look"] {
        for bound in BOUNDS {
            let (within, number) = shop.truth.within(what, bound);
            assert_eq!(
                (found(&scrape, what, Some(bound)), found(&scrape, what, None)),
                (within, number),
                "{what}, {bound} s"
            );
        }
    }
}

/// An actor that gets at most one message between two looks is timed as if all its messages were. Rule 24.6.
#[supervise::test]
async fn con_29_rare_messages_are_all_timed(system: &TestSystem) {
    let mut shop = Shop::open(system, Timing::Sampled(1_000_000));
    let till = shop.till(system, "rare");
    for customer in 0..50 {
        shop.look();
        let sent = Instant::now();
        till.scan(sent, ms([3, 7, 60][customer % 3])).tell().unwrap();
        system.advance(ms(100)).await;
    }
    let scrape = shop.look();
    for bound in BOUNDS {
        let (within, number) = shop.truth.within("scan", bound);
        assert_eq!(
            (found(&scrape, "scan", Some(bound)), found(&scrape, "scan", None)),
            (within, number),
            "{bound} s"
        );
    }
    let at_once = found(&scrape, "mailbox", Some(0.00001));
    assert!((at_once - 50.0).abs() < f64::EPSILON, "none had to wait, but {at_once} of 50 came at once");
}

/// Rule 24.6.
#[supervise::test]
async fn met_13_failures_and_timers_are_timed_and_stashed_messages_wait_only(system: &TestSystem) {
    let mut shop = Shop::open(system, Timing::All);
    let till = shop.till(system, "till");
    system.allow_failures();
    till.jam(ms(30)).tell().unwrap();
    system.advance(ms(50)).await;
    system.settle().await;
    till.set_closed(true).tell().unwrap();
    till.scan(Instant::now(), ms(30)).tell().unwrap();
    system.advance(ms(200)).await;
    till.set_closed(false).tell().unwrap();
    system.advance(ms(200)).await;
    till.remind().tell().unwrap();
    system.advance(ms(1_500)).await;
    let scrape = shop.look();
    let expected = [("jam", 1.0), ("set_closed", 2.0), ("scan", 1.0), ("remind", 1.0), ("tick", 2.0)];
    for (handler, number) in expected {
        assert_eq!((handler, all(&scrape, handler)), (handler, number), "{scrape:#?}");
    }
    assert_eq!((found(&scrape, "jam", Some(0.02)), found(&scrape, "jam", Some(0.05))), (0.0, 1.0));
    assert_eq!((found(&scrape, "tick", Some(0.02)), found(&scrape, "tick", Some(0.05))), (0.0, 2.0));
    // Timers do not wait in the mailbox.
    scrape.expect("supervise_mailbox_seconds_count{actor=\"Till\"}", 5.0);
}

/// Rule 24.6.
#[supervise::test]
async fn met_14_nothing_is_timed_unless_a_meter_asks_for_it(system: &TestSystem) {
    let mut shop = Shop::open(system, Timing::Off);
    let till = shop.till(system, "till");
    till.look(Instant::now()).await.unwrap();
    let scrape = shop.look();
    assert_eq!(scrape.series.keys().filter(|name| name.contains("_seconds_bucket")).count(), 0);
    shop.meter = Metrics::of(system).timing(Timing::All).by_hand();
    till.look(Instant::now()).await.unwrap();
    let looks = all(&shop.look(), "look");
    assert!((looks - 1.0).abs() < f64::EPSILON, "{looks}");
    // The meter ends, and so does the timing.
    shop.meter = Metrics::of(system).timing(Timing::Off).by_hand();
    for _ in 0..3 {
        till.look(Instant::now()).await.unwrap();
    }
    shop.meter = Metrics::of(system).timing(Timing::All).by_hand();
    till.look(Instant::now()).await.unwrap();
    let scrape = shop.look();
    assert_eq!(
        (all(&scrape, "look"), found(&scrape, "look", None)),
        (2.0, 2.0),
        "those in between are not counted"
    );
}

/// A handler that runs on the asker's stack has returned when the asker goes on. Rule 24.6.
#[supervise::test]
async fn met_15_an_inline_failure_takes_as_long_as_its_handler(system: &TestSystem) {
    let mut shop = Shop::open(system, Timing::All);
    let till = shop.till(system, "till");
    system.allow_failures();
    system.settle().await;
    let asked = pin!(till.jam_at_once().into_future());
    assert!(asked.poll(&mut TaskContext::from_waker(Waker::noop())).is_ready(), "inline");
    // Before the actor gets a turn of its own.
    tokio::time::advance(ms(300)).await;
    system.settle().await;
    let scrape = shop.look();
    assert_eq!(
        (found(&scrape, "jam_at_once", Some(0.001)), found(&scrape, "jam_at_once", None)),
        (1.0, 1.0),
        "{scrape:#?}"
    );
}

/// Rules 24.5 and 24.6.
#[supervise::test]
async fn met_16_a_meter_that_ends_leaves_the_times_of_another_alone(system: &TestSystem) {
    let mut shop = Shop::open(system, Timing::All);
    let till = shop.till(system, "till");
    drop(Metrics::of(system).timing(Timing::All).by_hand());
    drop(Metrics::of(system).timing(Timing::Off).by_hand());
    for _ in 0..3 {
        till.look(Instant::now()).await.unwrap();
    }
    let looks = all(&shop.look(), "look");
    assert!((looks - 3.0).abs() < f64::EPSILON, "{looks}");
}

/// Its messages wait for its successor while it ends.
#[actor]
struct Cart;

#[actor]
impl Cart {
    #[handler]
    fn put(&mut self) {}

    #[post_stop]
    async fn put_away(&mut self) {
        sleep(ms(100)).await;
    }
}

#[actor]
struct Carts {
    carts: Children<u32, Cart>,
}

#[actor]
impl Carts {
    #[pre_start]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        self.carts = Children::of(|_: &u32| Cart).spawn(ctx, "carts")?;
        Ok(())
    }

    #[handler]
    fn carts(&self) -> Children<u32, Cart> {
        self.carts.clone()
    }
}

/// Rule 24.6.
#[supervise::test]
async fn met_17_what_waits_for_the_successor_of_a_keyed_child_is_timed(system: &TestSystem) {
    let mut shop = Shop::open(system, Timing::All);
    let carts = system.spawn("carts", || Carts { carts: Children::default() }).unwrap().carts().await.unwrap();
    let cart = carts.get_or_spawn(1).unwrap();
    cart.put().await.unwrap();
    carts.passivate(&1);
    for _ in 0..4 {
        cart.put().tell().unwrap();
    }
    system.advance(ms(200)).await;
    let scrape = shop.look();
    scrape.expect("supervise_messages_total{actor=\"Cart\"}", 5.0);
    scrape.expect("supervise_handling_seconds_count{actor=\"Cart\",handler=\"put\"}", 5.0);
}
