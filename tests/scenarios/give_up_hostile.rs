//! The time to give up beside group restarts, restarts of the parent, `retry_now`, and the end of the system.
//!
//! Rules 7.13, 9.1, 9.2 and 23.5.

use std::time::Duration;

use supervise::EndReason;
use supervise::prelude::*;
use supervise::testkit::TestSystem;
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

#[derive(Debug, thiserror::Error)]
#[error("the database is down")]
struct Down;

/// Starts only if told so.
#[actor]
struct Line {
    starts: bool,
}

#[actor]
impl Line {
    #[pre_start]
    fn open(&mut self) -> Result<(), Down> {
        if self.starts { Ok(()) } else { Err(Down) }
    }

    #[handler]
    fn greet(&mut self) {}
}

/// Keeps its children.
#[actor]
#[supervise(all_for_one(backoff(min = "1s", max = "8s", give_up_after = "1m")), on(_) = Restart)]
struct Group;

#[actor]
impl Group {
    #[handler]
    fn add(&mut self, name: &'static str, starts: bool, ctx: &mut Context<Self>) -> Result<LineRef, SpawnError> {
        ctx.spawn(name, move || Line { starts })
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Down> {
        Err(Down)
    }

    #[pre_restart]
    fn keep(&mut self) {}
}

/// The time counts for the child that failed. Its group ends with it, as at every limit.
#[supervise::test]
async fn a_group_ends_when_one_of_it_is_given_up(system: &TestSystem) {
    system.allow_failures();
    let group = system.spawn("group", || Group).unwrap();
    let well = group.add("well", true).await.unwrap();
    let begun = Instant::now();
    let ill = group.add("ill", false).await.unwrap();
    tokio::time::timeout(5 * MINUTE, system.ended(&ill)).await.expect("it is given up");
    assert_eq!(begun.elapsed(), SECOND * (1 + 2 + 4 + 7 * 8));
    system.ended(&well).await;
    assert!(matches!(ill.actor_ref().end_reason(), Some(EndReason::LimitReached(_))));
    assert!(matches!(well.actor_ref().end_reason(), Some(EndReason::Stopped)));
}

/// Rule 7.7: its history survives the parent's restarts. Time in which it waits for its parent counts.
#[supervise::test]
async fn restarts_of_the_parent_do_not_begin_the_time_again(system: &TestSystem) {
    system.allow_failures();
    let group = system.spawn("group", || Group).unwrap();
    let begun = Instant::now();
    let ill = group.add("ill", false).await.unwrap();
    while !ill.actor_ref().has_ended() {
        group.fail().await.unwrap_err();
        system.advance(SECOND * 3).await;
        assert!(begun.elapsed() < MINUTE * 3, "it is never given up");
    }
    assert!(begun.elapsed() >= MINUTE);
    assert!(matches!(ill.actor_ref().end_reason(), Some(EndReason::LimitReached(_))));
}

/// Rule 23.5: nobody gains or loses time by asking for a restart now.
#[supervise::test]
async fn retrying_all_the_time_does_not_postpone_it(system: &TestSystem) {
    system.allow_failures();
    let group = system.spawn("group", || Group).unwrap();
    let begun = Instant::now();
    let ill = group.add("ill", false).await.unwrap();
    while !ill.actor_ref().has_ended() {
        ill.actor_ref().retry_now();
        system.advance(SECOND / 2).await;
        assert!(begun.elapsed() < MINUTE * 3, "it is never given up");
    }
    assert_eq!(begun.elapsed(), MINUTE + SECOND / 2);
}

/// Rules 9.1 and 9.2.
#[supervise::test]
async fn a_system_whose_only_actor_never_starts_ends_at_once(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let line = system.spawn("line", || Line { starts: false }).unwrap();
    system.advance(SECOND * 25).await;
    assert!(!line.actor_ref().has_ended());
    let asked = line.greet().ask().unwrap();
    let begun = Instant::now();
    system.terminate().await;
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert!(asked.await.unwrap_err().has_stopped());
    assert!(matches!(line.actor_ref().end_reason(), Some(EndReason::Stopped)));
}
