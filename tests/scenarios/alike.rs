//! Rule 10.9: failures that are alike do not flood the log.

use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{Event, Strategy};
use tracing::Level;

use crate::log::Log;

#[derive(Debug, thiserror::Error)]
#[error("the database is down")]
struct Down;

#[actor]
struct Session;

#[actor]
impl Session {
    #[handler]
    fn load(&mut self) -> Result<(), Down> {
        Err(Down)
    }

    #[handler]
    fn crash(&mut self) {
        panic!("as told");
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 10, within = "1m"), on(_) = Restart)]
struct Sessions {
    all: Vec<SessionRef>,
}

#[actor]
impl Sessions {
    fn new() -> Self {
        Self { all: Vec::new() }
    }

    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        for number in 0..50 {
            self.all.push(ctx.spawn(format!("session-{number}"), || Session)?);
        }
        Ok(())
    }

    #[handler]
    fn all(&self) -> Vec<SessionRef> {
        self.all.clone()
    }
}

fn lines(log: &Log, level: Level, text: &str) -> Vec<String> {
    log.at(level).into_iter().filter(|line| line.contains(text)).collect()
}

/// Rule 10.9.
#[supervise::test]
async fn of_siblings_that_fail_at_once_ten_have_a_line(system: &TestSystem) {
    system.allow_failures();
    let sessions = system.spawn("sessions", Sessions::new).unwrap().all().await.unwrap();
    let log = Log::open();
    for session in &sessions {
        session.load().tell().unwrap();
    }
    system.settle().await;
    assert_eq!(lines(&log, Level::ERROR, "the database is down").len(), 10);
    assert_eq!(lines(&log, Level::DEBUG, "the database is down").len(), 40);
    let pause = lines(&log, Level::INFO, "failures of one kind");
    assert!(
        pause.len() == 1 && pause[0].contains("10 failures of one kind below sessions within 1 s"),
        "{pause:?}"
    );
    // Each is an event.
    let decided = system.take_all(|event| matches!(event, Event::Decided { .. })).await;
    assert_eq!(decided.len(), 50);
    // Another failure has its own lines at once. The count comes with the first decision after the second.
    sessions[0].crash().tell().unwrap();
    system.settle().await;
    assert_eq!(lines(&log, Level::ERROR, "as told").len(), 1);
    assert_eq!(lines(&log, Level::ERROR, "more failures"), [""; 0]);
    system.advance(Duration::from_secs(1)).await;
    sessions[1].crash().tell().unwrap();
    system.settle().await;
    let missed = lines(&log, Level::ERROR, "more failures");
    assert!(missed.len() == 1 && missed[0].contains("40 more failures of one kind below sessions"), "{missed:?}");
}

/// Rule 10.9: what follows is part of the kind, so that the end of a child is not hidden behind its restarts.
#[supervise::test]
async fn a_limit_has_its_own_line(system: &TestSystem) {
    system.allow_failures();
    let sessions = system.spawn("sessions", Sessions::new).unwrap().all().await.unwrap();
    let log = Log::open();
    for _failure in 0..11 {
        sessions[0].load().tell().unwrap();
    }
    for session in &sessions[1..] {
        session.load().tell().unwrap();
    }
    system.settle().await;
    assert_eq!(lines(&log, Level::ERROR, "its restart limit is reached").len(), 1);
    assert_eq!(lines(&log, Level::ERROR, "at once").len(), 10);
}

/// Rule 10.9: the count of the lines that were left out is logged when the system ends.
#[supervise::test]
async fn the_end_of_the_system_tells_the_rest(system: &TestSystem) {
    system.allow_failures();
    let sessions = system.spawn("sessions", Sessions::new).unwrap().all().await.unwrap();
    let log = Log::open();
    for session in &sessions {
        session.load().tell().unwrap();
    }
    system.settle().await;
    system.terminate().await;
    assert_eq!(lines(&log, Level::ERROR, "40 more failures").len(), 1);
}

/// Rule 10.9: the level is that of the lines which are left out.
#[supervise::test]
async fn warnings_that_are_left_out_are_a_warning(system: &TestSystem) {
    system.allow_failures();
    let strategy = Strategy::one_for_one().log(supervise::Log::ByAttempt(3));
    let props = supervise::Props::new(Sessions::new)
        .supervision_unchecked(strategy, |_, _| Ok(supervise::Directive::Restart));
    let sessions = system.spawn_with("sessions", props).unwrap().all().await.unwrap();
    let log = Log::open();
    for session in &sessions {
        session.load().tell().unwrap();
    }
    system.settle().await;
    system.terminate().await;
    assert_eq!(lines(&log, Level::WARN, "the database is down").len(), 10);
    assert_eq!(lines(&log, Level::WARN, "40 more failures").len(), 1);
    assert_eq!(lines(&log, Level::ERROR, ""), [""; 0]);
}
