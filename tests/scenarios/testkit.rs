//! The testkit itself: a test that cannot end fails and says why.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

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
}
