//! The testkit itself: a test that cannot end fails and says why.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{self, TestSystem};

const HOUR: Duration = Duration::from_secs(3600);

/// The message of a test that must fail.
fn complaint(test: impl AsyncFnOnce(&TestSystem)) -> String {
    let payload = catch_unwind(AssertUnwindSafe(|| testkit::run(test))).expect_err("the test fails");
    match payload.downcast::<String>() {
        Ok(said) => *said,
        Err(payload) => (*payload.downcast::<&str>().expect("a message")).to_owned(),
    }
}

#[supervise::test]
async fn the_clock_can_be_moved_by_any_time(system: &TestSystem) {
    let began = tokio::time::Instant::now();
    let probe = system.probe();
    let handle = probe.handle();
    tokio::spawn(async move {
        tokio::time::sleep(2 * HOUR).await;
        handle.note("late");
    });
    // Waits that are in progress do not time out, because the test itself moves the clock.
    tokio::join!(system.advance(2 * HOUR), probe.expect("late"));
    system.advance(24 * HOUR).await;
    for _ in 0..100 {
        system.advance(HOUR / 10).await;
    }
    assert_eq!(began.elapsed(), 36 * HOUR);
}

#[test]
fn a_test_that_moves_the_clock_waits_no_longer_than_another() {
    let said = complaint(async |system: &TestSystem| {
        system.advance(2 * HOUR).await;
        std::future::pending::<()>().await;
    });
    assert!(said.contains("waited a virtual hour"), "{said}");
    assert!(said.ends_with("; no actor is in a handler, and no message waits for one"), "{said}");
}

/// Waits for the next one, and the last one for nothing.
#[actor]
struct Chain {
    next: Option<ChainRef>,
}

#[actor]
impl Chain {
    #[handler]
    async fn pull(&mut self) -> bool {
        match &self.next {
            Some(next) => next.pull().await.is_ok(),
            None => std::future::pending().await,
        }
    }
}

#[test]
fn a_test_that_waits_for_ever_names_the_actors_that_are_not_done() {
    let said = complaint(async |system: &TestSystem| {
        let last = system.spawn("last", || Chain { next: None }).unwrap();
        let next = last.clone();
        let first = system.spawn("first", move || Chain { next: Some(next.clone()) }).unwrap();
        system.spawn("idle", || Chain { next: None }).unwrap();
        let pulled = first.pull().ask().unwrap();
        last.pull().tell().unwrap();
        let _never = pulled.await;
    });
    let list: Vec<_> = said.lines().skip(1).collect();
    assert_eq!(
        list,
        [
            "  supervise://test/user/last is in `pull`, is waited for, 1 message waits",
            "  supervise://test/user/first is in `pull`, waits for supervise://test/user/last",
        ],
        "{said}"
    );
}

#[test]
fn a_test_that_waits_for_ever_names_at_most_ten_actors() {
    let said = complaint(async |system: &TestSystem| {
        for _ in 0..12 {
            system.spawn_anonymous(|| Chain { next: None }).unwrap().pull().tell().unwrap();
        }
        std::future::pending::<()>().await;
    });
    assert_eq!(said.lines().count(), 12, "{said}");
    assert!(said.ends_with("\n  and 2 more"), "{said}");
}
