//! BKS, BKF: how many starts a backoff supervisor grants, and when it gives up.
//!
//! Rules 13.4 to 13.6.

use std::time::Duration;

use supervise::Backoff;
use supervise::pattern::BackoffSupervisor;
use supervise::testkit::{TestProbe, TestSystem};
use tokio::time::Instant;

use super::{MIN, Options, Seen, boom, count, making, on_failure, on_stop, poison_child, start};

/// Rule 13.5.
#[supervise::test]
async fn bks_07_on_stop_gives_up_after_max_retries(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = start(system, on_stop(&probe).max_retries(2), &probe).await;
    for retry in 1..=2 {
        poison_child(system, &supervisor).await;
        assert_eq!(count(&supervisor).await, retry);
        probe.expect(Seen::Made).await;
    }
    poison_child(system, &supervisor).await;
    system.expect_terminated(&supervisor).await;
}

/// Rule 13.5.
#[supervise::test]
async fn bkf_07_on_failure_gives_up_after_max_retries(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = start(system, on_failure(&probe).max_retries(2), &probe).await;
    for retry in 1..=2 {
        boom(system, &supervisor).await;
        assert_eq!(count(&supervisor).await, retry);
        probe.expect(Seen::Made).await;
    }
    boom(system, &supervisor).await;
    system.expect_terminated(&supervisor).await;
}

/// The fixture of Akka's second suite: no jitter, 200 ms to 10 s, at most five within 30 s.
fn five_in_a_row(probe: &TestProbe<Seen>) -> Options {
    let delays = Backoff::exponential(Duration::from_millis(200), Duration::from_secs(10));
    BackoffSupervisor::on_failure("c1", making(probe), delays).max_retries(5).within(Duration::from_secs(30))
}

/// Rule 13.5.
#[supervise::test]
async fn bkf_13_lim_16_the_sixth_failure_in_a_row_is_the_last(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = start(system, five_in_a_row(&probe), &probe).await;
    for _ in 0..5 {
        boom(system, &supervisor).await;
        probe.expect(Seen::Made).await;
    }
    boom(system, &supervisor).await;
    system.expect_terminated(&supervisor).await;
    probe.expect_none().await;
}

/// Rule 13.5.
#[supervise::test]
async fn bkf_14_bkf_16_lim_17_the_retries_count_within_their_window(system: &TestSystem) {
    let probe = system.probe();
    let shortest = Duration::from_millis(300);
    // As in Akka by default.
    let delays = Backoff::exponential(shortest, Duration::from_secs(10)).reset_after(shortest);
    let options =
        BackoffSupervisor::on_failure("c1", making(&probe), delays).max_retries(3).within(Duration::from_secs(1));
    let supervisor = start(system, options, &probe).await;
    for _ in 0..3 {
        boom(system, &supervisor).await;
        probe.expect(Seen::Made).await;
    }
    system.advance(Duration::from_secs(1)).await;
    for _ in 0..3 {
        boom(system, &supervisor).await;
        probe.expect(Seen::Made).await;
    }
    boom(system, &supervisor).await;
    system.expect_terminated(&supervisor).await;
}

/// Rules 7.3, 13.5.
#[supervise::test]
async fn bkf_14_a_window_shorter_than_the_delay_is_never_exceeded(system: &TestSystem) {
    let probe = system.probe();
    let options = on_failure(&probe).max_retries(3).within(Duration::from_millis(10));
    let supervisor = start(system, options, &probe).await;
    for _ in 0..8 {
        boom(system, &supervisor).await;
        assert_eq!(count(&supervisor).await, 1);
        let begun = Instant::now();
        probe.expect(Seen::Made).await;
        assert_eq!(begun.elapsed(), MIN, "a new streak begins, and with it the delay");
        assert_eq!(count(&supervisor).await, 0);
    }
}

/// Rule 13.5.
#[supervise::test]
async fn the_window_counts_across_quiet_times(system: &TestSystem) {
    let probe = system.probe();
    let options = on_failure(&probe).max_retries(2).within(Duration::from_secs(90));
    let supervisor = start(system, options, &probe).await;
    for _ in 0..2 {
        boom(system, &supervisor).await;
        probe.expect(Seen::Made).await;
        system.advance(Duration::from_secs(10)).await;
        assert_eq!(count(&supervisor).await, 0);
    }
    boom(system, &supervisor).await;
    system.expect_terminated(&supervisor).await;
}
