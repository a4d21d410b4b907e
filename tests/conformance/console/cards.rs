//! The cards of a running system, on a paused clock. Rules 22.1, 22.2, 22.3 and 22.4.

use std::fmt;

use supervise::console::{Console, Watch};
use supervise::prelude::*;
use supervise::testkit::TestSystem;
use tokio::sync::oneshot;

use crate::fixture::{Boom, secs};

#[actor]
#[supervise(
    one_for_one(max_retries = 3, within = "60s", on_limit = Escalate),
    on(Slow) = Restart(backoff(min = "10s", max = "40s")),
    on(Rude) = Restart,
    on(_) = Restart
)]
struct Desk;

#[actor]
impl Desk {
    #[handler]
    fn seat(&mut self, name: &'static str, ctx: &mut Context<Self>) -> Result<ClerkRef, SpawnError> {
        ctx.spawn(name, || Clerk)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("too slow")]
struct Slow(#[source] Boom);

#[derive(Debug)]
struct Rude;

impl fmt::Display for Rude {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("as told")
    }
}

impl std::error::Error for Rude {}

#[actor]
struct Clerk;

#[actor]
impl Clerk {
    #[handler]
    fn stamp(&mut self) -> Result<(), Boom> {
        Err(Boom("no ink"))
    }

    #[handler]
    fn stall(&mut self) -> Result<(), Slow> {
        Err(Slow(Boom("ink dried")))
    }

    #[handler]
    fn insult(&mut self) -> Result<(), Rude> {
        Err(Rude)
    }

    #[handler]
    async fn think(&mut self, until: oneshot::Receiver<()>) {
        let _told = until.await;
    }
}

#[actor]
struct Late;

#[actor]
impl Late {
    #[pre_start]
    async fn begin(&mut self) {
        tokio::time::sleep(secs(8)).await;
    }
}

/// Looks once a second for this many seconds, and returns what the last look shows.
async fn watched(system: &TestSystem, watch: &mut Watch, seconds: u64) -> String {
    for _ in 0..seconds {
        system.advance(secs(1)).await;
        watch.look();
    }
    let text = watch.text();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    text
}

fn has(text: &str, facts: &[&str]) {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for fact in facts {
        assert!(words.contains(fact), "`{fact}` is missing:\n{text}");
    }
}

#[supervise::test]
async fn con_06_con_07_who_waits_is_stuck_only_when_a_message_waits_behind(system: &TestSystem) {
    let clerk = system.spawn("clerk", || Clerk).unwrap();
    let mut watch = Console::of(system).by_hand();
    let (done, until) = oneshot::channel();
    clerk.think(until).tell().unwrap();
    has(&watched(system, &mut watch, 60).await, &["All is well"]);
    let (second_done, second) = oneshot::channel();
    let (third_done, third) = oneshot::channel();
    clerk.think(second).tell().unwrap();
    clerk.think(third).tell().unwrap();
    let stuck = watched(system, &mut watch, 1).await;
    has(
        &stuck,
        &[
            "Stuck: /user/clerk Clerk",
            "In `think`: it waits at an `.await` and holds no thread. 2 messages wait behind it",
            "UTC, for 1 min.",
        ],
    );
    done.send(()).unwrap();
    has(&watched(system, &mut watch, 1).await, &["All is well"]);
    system.allow_dead_letters();
    system.stop(&clerk);
    drop((second_done, third_done));
}

#[supervise::test]
async fn con_06_a_long_start_is_slow_and_not_stuck(system: &TestSystem) {
    let mut watch = Console::of(system).by_hand();
    system.spawn("late", || Late).unwrap();
    has(&watched(system, &mut watch, 5).await, &["All is well"]);
    let slow = watched(system, &mut watch, 2).await;
    has(&slow, &["Slow to start: /user/late Late It is starting.", "UTC, for 6 s."]);
    has(&watched(system, &mut watch, 3).await, &["All is well"]);
}

#[supervise::test]
async fn con_11_con_12_con_13_con_16_a_loop_shows_rule_budget_and_countdown(system: &TestSystem) {
    let desk = system.spawn("desk", || Desk).unwrap();
    let clerk = desk.seat("clerk").await.unwrap();
    let mut watch = Console::of(system).by_hand();
    for _ in 0..3 {
        clerk.stall().tell().unwrap();
    }
    // It fails at once, restarts after 10 s and fails, restarts after 20 s and fails; then it waits for 40 s.
    has(&watched(system, &mut watch, 9).await, &["All is well"]);
    let text = watched(system, &mut watch, 24).await;
    has(
        &text,
        &[
            "One thing needs attention",
            "Restart loop: /user/desk/clerk Clerk",
            "Failed 3 times within",
            "the last time in `stall`. The message that failed is not delivered again. /user/desk decides, rule `Slow`: restart after 40 s.",
            "That was its 3rd failure in a row. 3 of 3 restarts in 1 min used.",
            // When the next try comes, the first failure no longer counts.
            "At this pace it will not reach the limit, where /user/desk would fail and /user would decide.",
            "The next try comes in",
            "The count starts anew in",
            "Why: too slow: ink dried",
        ],
    );
    let count = |text: &str| {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (_, rest) = words.split_once("The next try comes in ").expect("a countdown");
        rest.split(' ').next().unwrap().parse::<f64>().unwrap()
    };
    let later = watched(system, &mut watch, 5).await;
    assert!((count(&text) - count(&later) - 5.0).abs() < 1.1, "{text}\n{later}");
    // The actor restarts at 70 s. The loop is over only when the actor has then run for a minute.
    has(&watched(system, &mut watch, 88).await, &["Restart loop: /user/desk/clerk Clerk"]);
    has(&watched(system, &mut watch, 8).await, &["All is well"]);
    system.allow_failures();
}

#[supervise::test]
async fn con_15_a_branch_that_went_down_shows_its_way_and_its_end(system: &TestSystem) {
    let desk = system.spawn("desk", || Desk).unwrap();
    let clerk = desk.seat("clerk").await.unwrap();
    let mut watch = Console::of(system).by_hand();
    for _ in 0..4 {
        clerk.stamp().tell().unwrap();
    }
    let text = watched(system, &mut watch, 1).await;
    has(&text, &["/user/desk/clerk failed in `stamp`: no ink; escalated at its limit, rule `_` of /user/desk"]);
    // `/user` restarts the desk: the branch is not down.
    has(&text, &["/user/desk failed in `stamp` of /user/desk/clerk: no ink; restart at once"]);
    assert!(!text.contains("Branch down"), "{text}");
    system.allow_failures();
    system.allow_dead_letters();
}

/// CON-17, CON-18: the console remembers a bounded number of things and counts the others, and it does so before
/// anybody reads.
#[supervise::test]
async fn con_16_con_17_con_24_texts_are_shown_once_or_not_at_all(system: &TestSystem) {
    let desk = system.spawn("desk", || Desk).unwrap();
    let clerk = desk.seat("clerk").await.unwrap();
    let mut open = Console::of(system).by_hand();
    let mut quiet = Console::of(system).without_texts().by_hand();
    clerk.stall().tell().unwrap();
    system.advance(secs(100)).await;
    clerk.insult().tell().unwrap();
    system.settle().await;
    open.look();
    quiet.look();
    let (open, quiet) = (open.text(), quiet.text());
    has(
        &open,
        &["failed in `stall`: too slow: ink dried; restart after 10 s, rule `Slow` of /user/desk, 1 of 3 used"],
    );
    has(&open, &["failed in `insult`: conformance::console::cards::Rude; restart at once"]);
    assert_eq!(open.matches("ink dried").count(), 1, "{open}");
    has(&quiet, &["failed in `stall`; restart after 10 s, rule `Slow` of /user/desk"]);
    assert!(!quiet.contains("ink") && !quiet.contains("slow:"), "{quiet}");
    system.allow_failures();
}

#[supervise::test]
async fn con_12_near_its_limit_decays_without_a_failure(system: &TestSystem) {
    let desk = system.spawn("desk", || Desk).unwrap();
    let clerk = desk.seat("clerk").await.unwrap();
    let mut watch = Console::of(system).by_hand();
    clerk.stamp().tell().unwrap();
    clerk.stamp().tell().unwrap();
    has(
        &watched(system, &mut watch, 1).await,
        &["Near its limit: /user/desk/clerk", "2 of 3 restarts in 1 min used. One restart is left"],
    );
    has(&watched(system, &mut watch, 61).await, &["All is well"]);
    system.allow_failures();
}

/// Rule 22.1: a look sends no message and wakes no actor.
#[supervise::test]
async fn con_02_con_30_looking_sends_nothing(system: &TestSystem) {
    let clerk = system.spawn("clerk", || Clerk).unwrap();
    system.settle().await;
    let mut watch = Console::of(system).by_hand();
    let pushed = || {
        let mut pushed = Vec::new();
        system
            .look(|glimpse| pushed.push((glimpse.uid(), glimpse.pushed(), glimpse.waiting(), glimpse.handler())));
        pushed
    };
    let before = pushed();
    for _ in 0..100 {
        watch.look();
    }
    assert_eq!(pushed(), before);
    assert!(!clerk.actor_ref().has_ended());
}

#[actor]
#[supervise(one_for_one(max_retries = 5, within = "60s", count = supervisor, on_limit = Escalate), on(_) = Restart)]
struct Office;

#[actor]
impl Office {
    #[handler]
    fn seat(&mut self, name: &'static str, ctx: &mut Context<Self>) -> Result<ClerkRef, SpawnError> {
        ctx.spawn(name, || Clerk)
    }
}

/// CON-12: children that share a limit reach it together, however rarely each of them fails, and those that do not fail are well.
#[supervise::test]
async fn con_12_a_shared_limit_is_near_for_those_that_failed(system: &TestSystem) {
    system.allow_failures();
    let office = system.spawn("office", || Office).unwrap();
    let mut clerks = Vec::new();
    for name in ["a", "b", "c", "d"] {
        clerks.push(office.seat(name).await.unwrap());
    }
    for name in ["e", "f", "g", "h"] {
        office.seat(name).await.unwrap();
    }
    let mut watch = Console::of(system).by_hand();
    let all_fail = || clerks.iter().for_each(|clerk| clerk.stamp().tell().unwrap());
    all_fail();
    has(&watched(system, &mut watch, 120).await, &["All is well"]);
    all_fail();
    let near = watched(system, &mut watch, 1).await;
    has(
        &near,
        &[
            "One thing needs attention; 4 of ",
            "Near its limit: 4 × Clerk, the worst is /user/office/",
            "4 of 5 restarts in 1 min used, by all children of /user/office together. One restart is left. The failure after it \
             makes /user/office fail, and /user decides.",
        ],
    );
    has(&watched(system, &mut watch, 61).await, &["All is well"]);
}

#[supervise::test]
async fn lost_messages_name_recipient_kind_and_reason(system: &TestSystem) {
    let clerk = system.spawn("clerk", || Clerk).unwrap();
    let mut watch = Console::of(system).by_hand();
    system.stop(&clerk);
    system.settle().await;
    for _ in 0..12 {
        assert!(clerk.stamp().tell().is_err());
    }
    has(
        &watched(system, &mut watch, 2).await,
        &["Messages lost: /user/clerk", "12 dead letters, 100 %", "100 % `Stamp`: the recipient has ended"],
    );
    has(&watched(system, &mut watch, 61).await, &["All is well"]);
    system.allow_dead_letters();
}
