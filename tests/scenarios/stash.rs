//! `#[stash_while]`: messages set aside keep their order and their askers.
//!
//! Rules 4.7, 15.3.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{DeadLetterReason, StashOverflow};

#[derive(Debug, thiserror::Error)]
#[error("broken")]
struct Broken;

/// Stashes all visitors until it is open.
#[actor(stash = 3)]
struct Gate {
    open: bool,
    passed: ProbeHandle<u32>,
}

#[actor]
impl Gate {
    #[handler]
    fn open(&mut self) {
        self.open = true;
    }

    #[handler]
    fn close(&mut self) {
        self.open = false;
    }

    #[handler]
    fn pass(&mut self, who: u32) -> u32 {
        self.passed.note(who);
        who
    }

    #[handler]
    fn pass_and_close(&mut self, who: u32) {
        self.passed.note(who);
        self.open = false;
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Broken> {
        Err(Broken)
    }

    #[handler]
    fn follow(&mut self, other: GateRef, ctx: &mut Context<Self>) {
        ctx.watch(&other);
    }

    #[watch]
    fn opened_by_death(&mut self, _gone: Terminated<Gate>) {
        self.open = true;
    }

    #[stash_while]
    fn closed(&self, message: &GateMessage) -> bool {
        !self.open && matches!(message, GateMessage::Pass { .. } | GateMessage::PassAndClose { .. })
    }
}

fn gate(open: bool, passed: ProbeHandle<u32>) -> impl FnMut() -> Gate + Send + 'static {
    move || Gate { open, passed: passed.clone() }
}

#[supervise::test]
async fn the_stash_keeps_its_order_and_comes_before_the_rest(system: &TestSystem) {
    let passed = system.probe();
    let gate = system.spawn("gate", gate(false, passed.handle())).unwrap();
    for who in 1..=3 {
        gate.pass(who).tell().unwrap();
    }
    assert!(passed.all().await.is_empty());
    gate.open().tell().unwrap();
    gate.pass(4).tell().unwrap();
    assert_eq!(passed.all().await, [1, 2, 3, 4]);
}

#[supervise::test]
async fn a_message_set_aside_again_keeps_its_place(system: &TestSystem) {
    let passed = system.probe();
    let gate = system.spawn("gate", gate(false, passed.handle())).unwrap();
    gate.pass_and_close(1).tell().unwrap();
    gate.pass(2).tell().unwrap();
    gate.pass(3).tell().unwrap();
    gate.open().tell().unwrap();
    assert_eq!(passed.all().await, [1]);
    gate.open().tell().unwrap();
    assert_eq!(passed.all().await, [2, 3]);
}

#[supervise::test]
async fn an_asker_waits_for_as_long_as_its_message_is_set_aside(system: &TestSystem) {
    let passed = system.probe();
    let gate = system.spawn("gate", gate(false, passed.handle())).unwrap();
    let asked = gate.pass(7).ask().unwrap();
    system.advance(Duration::from_mins(1)).await;
    gate.open().tell().unwrap();
    assert_eq!(asked.await.unwrap(), 7);
}

#[supervise::test]
async fn one_more_than_fit_is_a_failure_and_a_dead_letter(system: &TestSystem) {
    let passed = system.probe();
    let gate = system.spawn("gate", gate(false, passed.handle())).unwrap();
    for who in 1..=3 {
        gate.pass(who).tell().unwrap();
    }
    let refused = gate.pass(4).await;
    assert!(refused.is_err(), "{refused:?}");
    let decision = system.expect_decision(&gate).await;
    assert_eq!(decision.failure.downcast_ref(), Some(&StashOverflow { capacity: 3 }));
    let letter = system.expect_dead_letter(&gate).await;
    assert_eq!((letter.message, letter.reason), ("Pass", DeadLetterReason::StashFull));
    gate.open().await.unwrap();
    assert_eq!(passed.all().await, [1, 2, 3], "the failure took nobody else along");
}

#[supervise::test]
async fn the_stash_survives_a_restart_and_comes_before_the_rest(system: &TestSystem) {
    let passed = system.probe();
    let handle = passed.handle();
    let mut lives = 0;
    // Closed in its first life only.
    let gate = system
        .spawn("gate", move || {
            lives += 1;
            Gate { open: lives > 1, passed: handle.clone() }
        })
        .unwrap();
    let asked = gate.pass(1).ask().unwrap();
    gate.pass(2).tell().unwrap();
    gate.fail().tell().unwrap();
    gate.pass(3).tell().unwrap();
    assert_eq!(asked.await.unwrap(), 1);
    assert_eq!(passed.all().await, [1, 2, 3]);
    system.expect_restarts(&gate, 1).await;
}

#[supervise::test]
async fn the_end_of_a_watched_actor_may_open_the_stash(system: &TestSystem) {
    let passed = system.probe();
    let (first, second) = (gate(false, passed.handle()), gate(false, passed.handle()));
    let gate = system.spawn("gate", first).unwrap();
    let other = system.spawn("other", second).unwrap();
    gate.follow(other.clone()).await.unwrap();
    gate.pass(1).tell().unwrap();
    system.stop(&other);
    assert_eq!(passed.all().await, [1]);
}

#[supervise::test]
async fn what_is_set_aside_at_the_end_becomes_dead_letters_in_order(system: &TestSystem) {
    let passed = system.probe();
    let gate = system.spawn("gate", gate(false, passed.handle())).unwrap();
    gate.pass(1).tell().unwrap();
    gate.pass_and_close(2).tell().unwrap();
    system.settle().await;
    system.stop(&gate);
    system.expect_terminated(&gate).await;
    for expected in ["Pass", "PassAndClose"] {
        let letter = system.expect_dead_letter(&gate).await;
        assert_eq!((letter.message, letter.reason), (expected, DeadLetterReason::Stopped));
    }
}

/// A shared flag, which others set, decides who may pass.
#[actor]
struct Turnstile {
    open: Arc<AtomicBool>,
    passed: ProbeHandle<u32>,
}

#[actor]
impl Turnstile {
    #[handler]
    fn pass(&mut self, who: u32) {
        self.passed.note(who);
    }

    #[stash_while]
    fn closed(&self, _: &TurnstileMessage) -> bool {
        !self.open.load(Ordering::SeqCst)
    }
}

#[supervise::test]
async fn a_condition_that_others_change_is_looked_at_with_the_next_message(system: &TestSystem) {
    let probe = system.probe();
    let open = Arc::new(AtomicBool::new(false));
    let (gate, handle) = (Arc::clone(&open), probe.handle());
    let turnstile =
        system.spawn("turnstile", move || Turnstile { open: Arc::clone(&gate), passed: handle.clone() }).unwrap();
    turnstile.pass(1).tell().unwrap();
    system.settle().await;
    open.store(true, Ordering::SeqCst);
    system.advance(Duration::from_secs(60)).await;
    probe.expect_none().await;
    turnstile.pass(2).tell().unwrap();
    assert_eq!(probe.all().await, [2, 1], "the message that came is handled first");
}
