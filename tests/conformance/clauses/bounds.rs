//! Bounds: of a mailbox, of a stash, of repeated starts, of hooks that hang. Rules 1.5, 5.3, 6.1, 15.3.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use supervise::pattern::Pool;
use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{MailboxKind, Overflow, Props, RestartType, StashOverflow};

use super::{Worker, well};
use crate::fixture::secs;

/// The actor lives, so the asker must get the error that its mailbox was full (rules 1.5, 1.6).
#[supervise::test]
async fn a7_an_asker_whose_message_is_dropped_for_want_of_room_is_told_so(system: &TestSystem) {
    system.allow_dead_letters();
    for (name, overflow) in [("newest", Overflow::DropNewest), ("oldest", Overflow::DropOldest)] {
        let probe = system.probe();
        let props = Props::new(Worker::factory("worker", &probe.handle()))
            .mailbox(MailboxKind::Bounded { capacity: 1, overflow });
        let worker = system.spawn_with(name, props).unwrap();
        worker.work(secs(10), well()).tell().unwrap();
        system.settle().await;
        let [first, second] = [worker.ping().ask().unwrap(), worker.ping().ask().unwrap()];
        let dropped = if overflow == Overflow::DropNewest { second } else { first };
        let answer = dropped.await;
        assert!(matches!(answer, Err(AskError::MailboxFull)), "{name}: {answer:?}");
    }
}

/// Sets everything aside.
#[actor(stash = 1)]
struct Closed;

#[actor]
impl Closed {
    #[handler]
    fn pass(&self, who: u32) -> u32 {
        who
    }

    #[stash_while]
    fn closed(&self, _: &ClosedMessage) -> bool {
        true
    }
}

/// It is this message that failed the actor (rules 1.5, 15.3).
#[supervise::test]
async fn s21_6_the_asker_of_a_message_that_no_stash_holds_learns_of_the_failure(system: &TestSystem) {
    system.allow_dead_letters();
    system.allow_failures();
    let closed = system.spawn("closed", || Closed).unwrap();
    closed.pass(1).tell().unwrap();
    let answer = closed.pass(2).await;
    let Err(AskError::Failed(failure)) = &answer else { panic!("{answer:?}") };
    assert_eq!(failure.downcast_ref(), Some(&StashOverflow { capacity: 1 }));
}

/// Stops itself as soon as it starts.
#[actor]
struct Brief {
    lives: Arc<AtomicU32>,
}

#[actor]
impl Brief {
    #[pre_start]
    fn end(&mut self, ctx: &mut Context<Self>) {
        self.lives.fetch_add(1, Ordering::SeqCst);
        ctx.stop_self();
    }
}

#[actor]
struct Insisting {
    lives: Arc<AtomicU32>,
    #[child(|this| { let lives = Arc::clone(&this.lives); move || Brief { lives: Arc::clone(&lives) } }, restart = permanent)]
    _brief: Child<Brief>,
}

#[actor]
impl Insisting {}

async fn some_turns() {
    for _ in 0..300 {
        tokio::task::yield_now().await;
    }
}

/// Lives at once, then just before and after the delay of 200 ms, and after the next delay of 400 ms.
async fn lives_over_time(system: &TestSystem, lives: &AtomicU32) -> [u32; 4] {
    some_turns().await;
    let at_once = lives.load(Ordering::SeqCst);
    system.advance(Duration::from_millis(199)).await;
    let early = lives.load(Ordering::SeqCst);
    system.advance(Duration::from_millis(1)).await;
    let due = lives.load(Ordering::SeqCst);
    system.advance(Duration::from_millis(400)).await;
    [at_once, early, due, lives.load(Ordering::SeqCst)]
}

/// Like an actor whose creation fails (rule 5.3), an actor that ends at its start must wait before it starts
/// again.
#[supervise::test]
async fn a8_a_permanent_child_that_ends_at_its_start_does_not_spin(system: &TestSystem) {
    system.allow_failures();
    let lives = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&lives);
    let insisting = system
        .spawn("insisting", move || Insisting { lives: Arc::clone(&counted), _brief: Child::default() })
        .unwrap();
    assert_eq!(lives_over_time(system, &lives).await, [2, 2, 3, 4]);
    insisting.actor_ref().stop();
}

#[supervise::test]
async fn a8_a_permanent_worker_that_ends_at_its_start_does_not_spin(system: &TestSystem) {
    let lives = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&lives);
    let pool = Pool::round_robin(1, move || Brief { lives: Arc::clone(&counted) }).restart(RestartType::Permanent);
    let pool = system.spawn_with("pool", pool.props()).unwrap();
    assert_eq!(lives_over_time(system, &lives).await, [2, 2, 3, 4]);
    pool.actor_ref().stop();
}

/// Hangs when it is replaced.
#[actor]
struct Clinging {
    seen: ProbeHandle<&'static str>,
}

#[actor]
impl Clinging {
    #[handler]
    fn ping(&self) -> &'static str {
        self.seen.note("ping");
        "pong"
    }

    #[post_stop]
    async fn cling(&mut self) {
        self.seen.note("clings");
        std::future::pending::<()>().await;
    }
}

/// A stop bounds `post_stop`; a restart that runs it by default hangs on it for ever (rule 6.1).
#[supervise::test]
async fn a2_a_restart_is_not_held_up_for_ever_by_the_hook_of_the_old_instance(system: &TestSystem) {
    let seen = system.probe();
    let handle = seen.handle();
    let boss = crate::fixture::keeper_deciding(
        system,
        supervise::Strategy::one_for_one(),
        crate::fixture::always_restart,
    );
    let clinging = crate::fixture::child(&boss, "clinging", move || Clinging { seen: handle.clone() }).await;
    clinging.actor_ref().kill();
    let answer = clinging.ping().timeout(secs(60)).await;
    system.allow_failures();
    assert!(matches!(answer, Ok("pong")), "{answer:?}");
}
