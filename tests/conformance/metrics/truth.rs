//! The metrics agree with what the actors did.

use std::collections::BTreeMap;

use supervise::metrics::{Metrics, SERIES, Timing};
use supervise::prelude::*;
use supervise::testkit::TestSystem;
use tokio::sync::oneshot;

use super::exporter::{Exporter, Scrape};
use crate::fixture::{Boom, ms, secs};

#[actor]
#[supervise(
    one_for_one(max_retries = 4, within = "60s"),
    on(Boom) = Restart,
    on(std::io::Error) = Restart(backoff(min = "4s", max = "8s", jitter = 0.0)),
    on(Panic) = Stop,
    on(_) = Stop,
)]
struct Desk;

#[actor]
impl Desk {
    #[handler]
    fn clerk(&mut self, name: &'static str, ctx: &mut Context<Self>) -> Result<ClerkRef, SpawnError> {
        ctx.spawn(name, || Clerk)
    }

    #[handler]
    fn visitor(&mut self, ctx: &mut Context<Self>) -> Result<ClerkRef, SpawnError> {
        ctx.spawn_anonymous(|| Clerk)
    }
}

#[actor]
struct Clerk;

#[actor]
impl Clerk {
    #[handler]
    fn stamp(&mut self) {}

    #[handler]
    async fn work(&mut self) {
        tokio::time::sleep(ms(100)).await;
    }

    #[handler]
    fn spill(&mut self) -> Result<(), Boom> {
        Err(Boom("no ink"))
    }

    #[handler]
    fn phone(&mut self) -> std::io::Result<()> {
        Err(std::io::Error::other("no line"))
    }

    #[handler]
    fn burn(&mut self) {
        panic!("as told");
    }

    #[handler(sensitive)]
    async fn think(&mut self, until: oneshot::Receiver<()>) {
        let _over = until.await;
    }
}

const STATES: [&str; 6] = ["starting", "running", "failed", "backoff", "suspended", "stopping"];

fn states(scrape: &Scrape) -> Vec<(&'static str, f64)> {
    let of = |state| scrape.get(&format!("supervise_actors{{actor=\"Clerk\",state=\"{state}\"}}")).unwrap();
    STATES.into_iter().map(|state| (state, of(state))).filter(|(_, actors)| *actors > 0.0).collect()
}

/// The mean times in the mailbox and in a handler follow from what looks find and what is counted. Rule 24.1.
#[supervise::test]
async fn con_29_mean_times_follow_from_the_looks(system: &TestSystem) {
    let (exporter, mut meter) = (Exporter::new(), Metrics::of(system).by_hand());
    let clerk = system.spawn("clerk", || Clerk).unwrap();
    let (mut waiting, mut busy, mut looks) = (0.0, 0.0, 0.0);
    // Three messages at once each 600 ms, of 100 ms each: they wait for 0, 100 and 200 ms. A look each 70 ms.
    for now in 0..42_000_u64 / 10 {
        if now % 60 == 0 {
            for _ in 0..3 {
                clerk.work().tell().unwrap();
            }
        }
        system.advance(ms(10)).await;
        if now % 7 == 3 {
            let scrape = exporter.look(&mut meter);
            waiting += scrape.get("supervise_mailbox_messages{actor=\"Clerk\"}").unwrap();
            busy += scrape.get("supervise_handling_actors{actor=\"Clerk\"}").unwrap();
            looks += 1.0;
        }
    }
    let handled = exporter.look(&mut meter).get("supervise_messages_total{actor=\"Clerk\"}").unwrap();
    assert!((handled - 210.0).abs() < 1e-6, "{handled}");
    let rate = handled / 42.0;
    let (in_mailbox, in_handler) = (waiting / looks / rate, busy / looks / rate);
    // The clock of this test moves by 10 ms, so that one step of 600 ms is one sixtieth.
    assert!((in_mailbox - 0.1).abs() < 0.01 && (in_handler - 0.1).abs() < 0.01, "{in_mailbox} {in_handler}");
}

/// Rule 24.2.
#[supervise::test]
async fn con_29_ten_thousand_anonymous_actors_make_no_series_and_none_is_missed(system: &TestSystem) {
    let (exporter, mut meter) = (Exporter::new(), Metrics::of(system).timing(Timing::All).by_hand());
    let desk = system.spawn("desk", || Desk).unwrap();
    let first = desk.visitor().await.unwrap();
    first.stamp().await.unwrap();
    exporter.look(&mut meter);
    first.actor_ref().stop();
    system.settle().await;
    let one = exporter.look(&mut meter);
    let mut visitors = Vec::new();
    for _ in 0..10_000 {
        visitors.push(desk.visitor().await.unwrap());
    }
    for visitor in &visitors {
        visitor.stamp().tell().unwrap();
        visitor.stamp().tell().unwrap();
    }
    system.settle().await;
    let many = exporter.look(&mut meter);
    many.expect("supervise_actors{actor=\"Clerk\",state=\"running\"}", 10_000.0);
    many.expect("supervise_messages_total{actor=\"Clerk\"}", 20_001.0);
    for visitor in &visitors {
        visitor.actor_ref().stop();
    }
    // These actors start and end between two looks.
    for _ in 0..10 {
        let visitor = desk.visitor().await.unwrap();
        visitor.stamp().await.unwrap();
        visitor.actor_ref().stop();
    }
    system.settle().await;
    let none = exporter.look(&mut meter);
    let names = |scrape: &Scrape| scrape.series.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&one), names(&many));
    assert_eq!(names(&one), names(&none));
    none.expect("supervise_actors{actor=\"Clerk\",state=\"running\"}", 0.0);
    none.expect("supervise_messages_total{actor=\"Clerk\"}", 20_011.0);
    none.expect("supervise_handling_seconds_count{actor=\"Clerk\",handler=\"stamp\"}", 20_011.0);
    none.expect("supervise_actors_started_total{actor=\"Clerk\"}", 10_011.0);
    none.expect("supervise_actors_ended_total{actor=\"Clerk\",reason=\"stopped\"}", 10_011.0);
}

fn is_counter(series: &str) -> bool {
    ["_total", "_seconds_bucket", "_seconds_count"].iter().any(|counter| series.contains(counter))
}

/// Rule 24.2.
#[supervise::test]
async fn con_29_no_counter_falls_while_actors_come_fail_and_go(system: &TestSystem) {
    let (exporter, mut meter) = (Exporter::new(), Metrics::of(system).by_hand());
    let desk = system.spawn("desk", || Desk).unwrap();
    let mut clerks: Vec<ClerkRef> = Vec::new();
    let mut before: BTreeMap<String, f64> = BTreeMap::new();
    let mut random = fastrand::Rng::with_seed(29);
    let mut told = 0;
    system.allow_failures();
    system.allow_dead_letters();
    for _ in 0..300 {
        match random.u32(0..6) {
            0 | 1 => clerks.push(desk.visitor().await.unwrap()),
            2 if !clerks.is_empty() => clerks.swap_remove(random.usize(..clerks.len())).actor_ref().stop(),
            3 if !clerks.is_empty() => {
                told += u32::from(clerks[random.usize(..clerks.len())].spill().tell().is_ok());
            }
            _ => {
                for clerk in &clerks {
                    told += u32::from(clerk.stamp().tell().is_ok());
                }
            }
        }
        if random.bool() {
            system.settle().await;
        }
        let scrape = exporter.look(&mut meter);
        for (series, value) in scrape.series.into_iter().filter(|(series, _)| is_counter(series)) {
            let last = before.insert(series.clone(), value).unwrap_or(0.0);
            assert!(last <= value, "{series} fell from {last} to {value}");
        }
    }
    system.settle().await;
    let last = exporter.look(&mut meter);
    let lost = last.get("supervise_dead_letters_total{actor=\"Clerk\",reason=\"stopped\"}").unwrap_or(0.0);
    last.expect("supervise_messages_total{actor=\"Clerk\"}", f64::from(told) - lost);
    let (started, ended): (f64, f64) = (
        last.get("supervise_actors_started_total{actor=\"Clerk\"}").unwrap(),
        last.of("supervise_actors_ended_total").filter(|(name, _)| name.contains("Clerk")).map(|it| it.1).sum(),
    );
    last.expect("supervise_actors{actor=\"Clerk\",state=\"running\"}", started - ended);
}

/// Sets tickets aside until it opens.
#[actor(stash = 10)]
struct Booth {
    open: bool,
}

#[actor]
impl Booth {
    #[handler]
    fn open(&mut self) {
        self.open = true;
    }

    #[handler]
    fn ticket(&mut self) {}

    #[stash_while]
    fn closed(&self, message: &BoothMessage) -> bool {
        !self.open && matches!(message, BoothMessage::Ticket)
    }
}

/// Messages that actors have set aside wait in no mailbox, so they have a gauge of their own. Rules 15.3 and 24.4.
#[supervise::test]
async fn con_29_messages_in_stashes_are_counted_by_type(system: &TestSystem) {
    let (exporter, mut meter) = (Exporter::new(), Metrics::of(system).by_hand());
    let stashed = |scrape: &Scrape, messages| {
        scrape.expect("supervise_stash_messages{actor=\"Booth\"}", messages);
        scrape.expect("supervise_mailbox_messages{actor=\"Booth\"}", 0.0);
    };
    let booths: Vec<_> = (0..3).map(|_| system.spawn_anonymous(|| Booth { open: false }).unwrap()).collect();
    system.settle().await;
    stashed(&exporter.look(&mut meter), 0.0);
    for (booth, tickets) in booths.iter().zip(1..) {
        for _ in 0..tickets {
            booth.ticket().tell().unwrap();
        }
    }
    system.settle().await;
    let scrape = exporter.look(&mut meter);
    stashed(&scrape, 6.0);
    assert_eq!(scrape.of("supervise_stash_messages").filter(|(name, _)| name.contains("Booth")).count(), 1);
    booths[2].open().await.unwrap();
    system.settle().await;
    stashed(&exporter.look(&mut meter), 3.0);
    system.allow_dead_letters();
    for booth in &booths {
        booth.actor_ref().stop();
    }
    system.settle().await;
    stashed(&exporter.look(&mut meter), 0.0);
}

/// Rules 24.1 and 24.3.
#[supervise::test]
async fn met_01_gauges_are_what_is_so(system: &TestSystem) {
    let (exporter, mut meter) = (Exporter::new(), Metrics::of(system).by_hand());
    let desk = system.spawn("desk", || Desk).unwrap();
    let (busy, idle) = (desk.clerk("busy").await.unwrap(), desk.clerk("idle").await.unwrap());
    let (done, until) = oneshot::channel();
    busy.think(until).tell().unwrap();
    idle.stamp().await.unwrap();
    for _ in 0..3 {
        busy.stamp().tell().unwrap();
    }
    system.settle().await;
    let scrape = exporter.look(&mut meter);
    assert_eq!(states(&scrape), [("running", 2.0)]);
    scrape.expect("supervise_mailbox_messages{actor=\"Clerk\"}", 3.0);
    scrape.expect("supervise_mailbox_messages_max{actor=\"Clerk\"}", 3.0);
    scrape.expect("supervise_stuck_actors{actor=\"Clerk\"}", 0.0);
    system.advance(secs(7)).await;
    let scrape = exporter.look(&mut meter);
    scrape.expect("supervise_mailbox_oldest_seconds{actor=\"Clerk\"}", 7.0);
    scrape.expect("supervise_handling_oldest_seconds{actor=\"Clerk\"}", 7.0);
    scrape.expect("supervise_stuck_actors{actor=\"Clerk\"}", 1.0);
    scrape.expect("supervise_blocking_actors{actor=\"Clerk\"}", 0.0);
    done.send(()).unwrap();
    system.settle().await;
    let scrape = exporter.look(&mut meter);
    for gauge in ["mailbox_messages", "mailbox_messages_max", "mailbox_oldest_seconds", "handling_oldest_seconds"]
    {
        scrape.expect(&format!("supervise_{gauge}{{actor=\"Clerk\"}}"), 0.0);
    }
    scrape.expect("supervise_stuck_actors{actor=\"Clerk\"}", 0.0);
    scrape.expect("supervise_messages_total{actor=\"Clerk\"}", 5.0);
    scrape.expect("supervise_restart_budget_used_ratio{actor=\"Clerk\"}", 0.0);

    idle.phone().tell().unwrap();
    system.expect_decision(&idle).await;
    system.settle().await;
    let scrape = exporter.look(&mut meter);
    assert_eq!(states(&scrape), [("running", 1.0), ("backoff", 1.0)]);
    scrape.expect("supervise_restart_budget_used_ratio{actor=\"Clerk\"}", 0.25);
    system.advance(secs(4)).await;
    let scrape = exporter.look(&mut meter);
    assert_eq!(states(&scrape), [("running", 2.0)]);
    scrape.expect("supervise_restarts_total{actor=\"Clerk\"}", 1.0);
    scrape.expect("supervise_backoff_seconds_count{actor=\"Clerk\"}", 1.0);
    scrape.expect("supervise_backoff_seconds_sum{actor=\"Clerk\"}", 4.0);
    scrape.expect("supervise_restart_budget_used_ratio{actor=\"Clerk\"}", 0.25);
    system.advance(secs(61)).await;
    let scrape = exporter.look(&mut meter);
    scrape.expect("supervise_restart_budget_used_ratio{actor=\"Clerk\"}", 0.0);
}

#[actor]
#[supervise(one_for_one(max_retries = 10, within = "60s"), on(Boom) = Restart(max_retries = 2, within = "60s"), on(_) = Stop)]
struct Kiosk;

#[actor]
impl Kiosk {
    #[handler]
    fn clerk(&mut self, ctx: &mut Context<Self>) -> Result<ClerkRef, SpawnError> {
        ctx.spawn("clerk", || Clerk)
    }
}

/// The budget is that of the strategy or of a rule, whichever is used up more. Rule 7.11.
#[supervise::test]
async fn con_29_a_limit_of_a_rule_is_in_the_budget(system: &TestSystem) {
    let (exporter, mut meter) = (Exporter::new(), Metrics::of(system).by_hand());
    let clerk = system.spawn("kiosk", || Kiosk).unwrap().clerk().await.unwrap();
    system.allow_failures();
    clerk.spill().tell().unwrap();
    system.settle().await;
    exporter.look(&mut meter).expect("supervise_restart_budget_used_ratio{actor=\"Clerk\"}", 0.5);
}

/// Rule 24.3.
#[supervise::test]
async fn met_02_failures_have_their_rule_and_outcome_and_dead_letters_their_reason(system: &TestSystem) {
    let (exporter, mut meter) = (Exporter::new(), Metrics::of(system).by_hand());
    let desk = system.spawn("desk", || Desk).unwrap();
    let clerk = desk.clerk("clerk").await.unwrap();
    system.allow_failures();
    system.allow_dead_letters();
    for _ in 0..5 {
        clerk.spill().tell().unwrap();
    }
    system.settle().await;
    assert!(clerk.stamp().tell().is_err());
    let other = desk.clerk("other").await.unwrap();
    other.burn().tell().unwrap();
    other.stamp().tell().unwrap();
    system.settle().await;
    let scrape = exporter.look(&mut meter);
    let of = |during, failure, outcome| {
        format!(
            "supervise_failures_total{{actor=\"Clerk\",during=\"{during}\",failure=\"{failure}\",outcome=\"{outcome}\"}}"
        )
    };
    scrape.expect(&of("spill", "Boom", "restarted"), 4.0);
    scrape.expect(&of("spill", "Boom", "limit"), 1.0);
    scrape.expect(&of("burn", "Panic", "stopped"), 1.0);
    scrape.expect("supervise_rule_matches_total{actor=\"Desk\",rule=\"Boom\"}", 5.0);
    scrape.expect("supervise_rule_matches_total{actor=\"Desk\",rule=\"Panic\"}", 1.0);
    scrape.expect("supervise_actors_ended_total{actor=\"Clerk\",reason=\"limit\"}", 1.0);
    scrape.expect("supervise_actors_ended_total{actor=\"Clerk\",reason=\"failed\"}", 1.0);
    scrape.expect("supervise_dead_letters_total{actor=\"Clerk\",reason=\"stopped\"}", 2.0);
    scrape.expect("supervise_messages_total{actor=\"Clerk\"}", 6.0);
    scrape.expect("supervise_events_missed_total", 0.0);
}

/// Rule 24.3.
#[tokio::test]
async fn met_03_events_that_come_too_fast_are_counted_as_missed() {
    let system = ActorSystem::builder("small").event_capacity(16).start().unwrap();
    let (exporter, mut meter) = (Exporter::new(), Metrics::of(&system).by_hand());
    let desk = system.spawn("desk", || Desk).unwrap();
    let clerk = desk.clerk("clerk").await.unwrap();
    clerk.actor_ref().stop();
    while clerk.stamp().tell().is_ok() {
        tokio::task::yield_now().await;
    }
    exporter.look(&mut meter).expect("supervise_events_missed_total", 0.0);
    for _ in 0..100 {
        assert!(clerk.stamp().tell().is_err());
    }
    exporter.look(&mut meter).expect("supervise_events_missed_total", 84.0);
    system.terminate().await;
}

/// Rule 24.4.
#[supervise::test]
async fn met_04_series_by_path_are_of_named_actors_and_at_most_64(system: &TestSystem) {
    let exporter = Exporter::new();
    let mut meter = Metrics::of(system).by_path("/user/desk/*").unwrap().by_hand();
    assert!(Metrics::of(system).by_path("/user/a#b").is_err());
    let desk = system.spawn("desk", || Desk).unwrap();
    let names: Vec<&'static str> = (0..70).map(|number| &*format!("clerk-{number}").leak()).collect();
    let mut clerks = Vec::new();
    for name in &names {
        clerks.push(desk.clerk(name).await.unwrap());
    }
    desk.visitor().await.unwrap().stamp().await.unwrap();
    for clerk in &clerks {
        clerk.stamp().await.unwrap();
    }
    let scrape = exporter.look(&mut meter);
    assert_eq!(scrape.of("supervise_path_messages_total").count(), 65);
    scrape.expect("supervise_path_messages_total{path=\"/user/desk/clerk-0\"}", 1.0);
    scrape.expect("supervise_path_messages_total{path=\"other\"}", 6.0);
    // Its successor continues the count.
    clerks[0].actor_ref().stop();
    system.settle().await;
    let again = desk.clerk(names[0]).await.unwrap();
    again.stamp().await.unwrap();
    exporter.look(&mut meter);
    again.spill().tell().unwrap();
    system.expect_decision(&again).await;
    system.settle().await;
    let scrape = exporter.look(&mut meter);
    scrape.expect("supervise_path_messages_total{path=\"/user/desk/clerk-0\"}", 3.0);
    scrape.expect("supervise_path_failures_total{path=\"/user/desk/clerk-0\"}", 1.0);
    scrape.expect("supervise_path_restarts_total{path=\"/user/desk/clerk-0\"}", 1.0);
    assert_eq!(scrape.of("supervise_path_messages_total").count(), 65);
}

/// Rule 24.5.
#[supervise::test]
async fn met_05_without_a_recorder_nothing_breaks_and_a_later_one_is_told_what_is_new(system: &TestSystem) {
    let mut meter = Metrics::of(system).by_hand();
    let desk = system.spawn("desk", || Desk).unwrap();
    let clerk = desk.clerk("clerk").await.unwrap();
    clerk.stamp().await.unwrap();
    meter.look();
    let exporter = Exporter::new();
    clerk.stamp().await.unwrap();
    let scrape = exporter.look(&mut meter);
    scrape.expect("supervise_messages_total{actor=\"Clerk\"}", 1.0);
    scrape.expect("supervise_actors{actor=\"Clerk\",state=\"running\"}", 1.0);
}

/// Rule 24.5.
#[supervise::test]
async fn met_06_when_the_system_has_ended_gauges_are_0_and_counters_are_final(system: &TestSystem) {
    let (exporter, mut meter) = (Exporter::new(), Metrics::of(system).by_hand());
    let desk = system.spawn("desk", || Desk).unwrap();
    let clerk = desk.clerk("clerk").await.unwrap();
    let (_never, until) = oneshot::channel();
    clerk.think(until).tell().unwrap();
    clerk.stamp().tell().unwrap();
    system.settle().await;
    exporter.look(&mut meter).expect("supervise_actors{actor=\"Clerk\",state=\"running\"}", 1.0);
    system.allow_dead_letters();
    system.terminate().await;
    let scrape = exporter.look(&mut meter);
    for series in SERIES.iter().filter(|series| series.kind == supervise::metrics::Kind::Gauge) {
        for (name, value) in scrape.of(series.name) {
            assert!(value.abs() < f64::EPSILON, "{name} is {value}");
        }
    }
    scrape.expect("supervise_messages_total{actor=\"Clerk\"}", 1.0);
    scrape.expect("supervise_aborted_total{actor=\"Clerk\"}", 1.0);
    scrape.expect("supervise_actors_ended_total{actor=\"Clerk\",reason=\"stopped\"}", 1.0);
}
