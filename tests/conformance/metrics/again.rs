//! Systems that are measured a second time, late, or for the last time.

use std::time::Duration;

use supervise::metrics::Metrics;
use supervise::prelude::*;
use supervise::testkit::TestSystem;

use super::exporter::Exporter;
use crate::fixture::Boom;

#[actor]
#[supervise(on(Boom) = Restart)]
struct Desk;

#[actor]
impl Desk {
    #[handler]
    fn clerk(&mut self, ctx: &mut Context<Self>) -> Result<AgainRef, SpawnError> {
        ctx.spawn("clerk", || Again)
    }
}

#[actor]
struct Again;

#[actor]
impl Again {
    #[handler]
    fn stamp(&mut self) {}

    #[handler]
    fn spill(&mut self) -> Result<(), Boom> {
        Err(Boom("no ink"))
    }
}

/// Rule 24.5.
#[supervise::test]
async fn met_09_who_stops_measuring_and_begins_again_counts_nothing_twice(system: &TestSystem) {
    let exporter = Exporter::new();
    let mut meter = Metrics::of(system).by_hand();
    let clerk = system.spawn("desk", || Desk).unwrap().clerk().await.unwrap();
    clerk.stamp().await.unwrap();
    clerk.spill().tell().unwrap();
    system.expect_decision(&clerk).await;
    system.settle().await;
    let totals = ["actors_started_total", "messages_total", "restarts_total"];
    let expect = |scrape: &super::exporter::Scrape, values: [f64; 3]| {
        for (total, value) in totals.iter().zip(values) {
            scrape.expect(&format!("supervise_{total}{{actor=\"Again\"}}"), value);
        }
    };
    expect(&exporter.look(&mut meter), [1.0, 2.0, 1.0]);
    drop(meter);
    let mut meter = Metrics::of(system).by_hand();
    expect(&exporter.look(&mut meter), [1.0, 2.0, 1.0]);
    clerk.stamp().await.unwrap();
    expect(&exporter.look(&mut meter), [1.0, 3.0, 1.0]);
}

/// Rule 24.3.
#[supervise::test]
async fn met_10_a_path_has_the_failures_before_a_look_found_it(system: &TestSystem) {
    let exporter = Exporter::new();
    let mut meter = Metrics::of(system).by_path("/user/desk/*").unwrap().by_hand();
    let clerk = system.spawn("desk", || Desk).unwrap().clerk().await.unwrap();
    clerk.spill().tell().unwrap();
    system.expect_decision(&clerk).await;
    system.settle().await;
    let scrape = exporter.look(&mut meter);
    scrape.expect("supervise_path_restarts_total{path=\"/user/desk/clerk\"}", 1.0);
    scrape.expect("supervise_path_failures_total{path=\"/user/desk/clerk\"}", 1.0);
}

/// Rule 24.1. Someone who wants only the first and the last values may ask for no looks between them.
#[tokio::test]
async fn met_11_an_interval_without_end_is_not_too_long() {
    let system = ActorSystem::new("patient");
    let metrics = Metrics::of(&system).every(Duration::MAX).start().unwrap();
    system.terminate().await;
    metrics.ended().await;
    // A thread that has panicked has ended too, but has told nothing.
    let said = format!("{metrics:?}");
    assert!(said.contains("ended: true"), "{said}");
}
