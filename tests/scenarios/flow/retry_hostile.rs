//! Storms of `retry_now`: while a child waits, while it runs, while its parent restarts, for a group, and from many threads.
//!
//! Rules 7.8, 7.10 and 23.5.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{self, TestSystem};

const SECOND: Duration = Duration::from_secs(1);
const STORM: usize = 10_000;

#[derive(Debug, thiserror::Error)]
#[error("no connection")]
struct Down;

#[actor]
struct Line {
    opened: Arc<AtomicU32>,
}

#[actor]
impl Line {
    #[pre_start]
    async fn open(&mut self) {
        tokio::time::sleep(SECOND).await;
        self.opened.fetch_add(1, Ordering::Relaxed);
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Down> {
        Err(Down)
    }

    #[handler]
    fn greet(&mut self) {}
}

/// Its children survive its restarts.
#[actor]
#[supervise(all_for_one(max_retries = 3, backoff(min = "10s", max = "10s")), on(Down) = Restart, on(_) = Stop)]
struct Keeper {
    opened: Arc<AtomicU32>,
    lines: Vec<LineRef>,
}

#[actor]
impl Keeper {
    #[handler]
    fn lines(&mut self, ctx: &mut Context<Self>) -> Result<Vec<LineRef>, SpawnError> {
        for name in ["one", "two"] {
            let opened = Arc::clone(&self.opened);
            self.lines.push(ctx.spawn(name, move || Line { opened: Arc::clone(&opened) })?);
        }
        Ok(self.lines.clone())
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Down> {
        Err(Down)
    }

    #[pre_restart]
    fn keep(&mut self) {}

    /// Each restart takes two seconds.
    #[post_restart]
    async fn restarted(&mut self) {
        tokio::time::sleep(SECOND * 2).await;
    }
}

async fn keeper(system: &TestSystem) -> (KeeperRef, Vec<LineRef>, Arc<AtomicU32>) {
    system.allow_failures();
    let opened = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&opened);
    let keeper =
        system.spawn("keeper", move || Keeper { opened: Arc::clone(&counter), lines: Vec::new() }).unwrap();
    let lines = keeper.lines().await.unwrap();
    for line in &lines {
        line.greet().await.unwrap();
    }
    assert_eq!(opened.swap(0, Ordering::Relaxed), 2);
    (keeper, lines, opened)
}

fn storm(lines: &[LineRef]) {
    for line in lines.iter().cycle().take(STORM) {
        line.actor_ref().retry_now();
    }
}

#[supervise::test]
async fn a_storm_restarts_each_child_once_and_is_charged_once(system: &TestSystem) {
    let (_keeper, lines, opened) = keeper(system).await;
    for failures in 1..=3 {
        lines[0].fail().await.unwrap_err();
        system.settle().await;
        // While it waits, while it starts, and while it runs.
        storm(&lines);
        system.settle().await;
        storm(&lines);
        for line in &lines {
            line.greet().await.unwrap();
        }
        storm(&lines);
        system.settle().await;
        assert_eq!(opened.load(Ordering::Relaxed), 2 * failures);
        assert!(lines.iter().all(|line| testkit::suspensions(line) == 0));
    }
    system.advance(SECOND * 20).await;
    assert_eq!(opened.load(Ordering::Relaxed), 6, "the timers of the delays are gone");
    lines[1].fail().await.unwrap_err();
    for line in &lines {
        system.expect_terminated(line).await;
    }
}

#[supervise::test]
async fn a_storm_while_the_parent_restarts_restarts_the_children_with_it(system: &TestSystem) {
    let (keeper, lines, opened) = keeper(system).await;
    lines[0].fail().await.unwrap_err();
    system.settle().await;
    keeper.fail().await.unwrap_err();
    for _ in 0..4 {
        storm(&lines);
        system.settle().await;
        system.advance(SECOND / 2).await;
    }
    for line in &lines {
        line.greet().await.unwrap();
    }
    assert_eq!(opened.load(Ordering::Relaxed), 2);
    system.advance(SECOND * 20).await;
    assert_eq!(opened.load(Ordering::Relaxed), 2);
    assert!(lines.iter().all(|line| testkit::suspensions(line) == 0));
}
