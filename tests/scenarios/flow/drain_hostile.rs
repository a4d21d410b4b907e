//! Draining beside senders that never stop, and around a handler that never returns.
//!
//! Rules 6.1, 6.7, 9.2 and 23.4.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{EndReason, HowEnded, SendErrorReason};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

#[actor(mailbox = bounded(8))]
struct Clerk {
    worked: Arc<AtomicU32>,
}

#[actor]
impl Clerk {
    #[handler]
    fn work(&mut self) {
        self.worked.fetch_add(1, Ordering::Relaxed);
    }

    #[handler]
    fn drain_myself(&mut self, ctx: &mut Context<Self>) {
        ctx.stop_when_drained();
    }

    #[handler]
    async fn hang(&mut self) {
        std::future::pending::<()>().await;
    }
}

fn clerk() -> (Arc<AtomicU32>, impl Fn() -> Clerk + Send + Sync + Clone + 'static) {
    let worked = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&worked);
    (worked, move || Clerk { worked: Arc::clone(&counter) })
}

/// A handler that never returns is not aborted by a drain, and is by a stop.
#[supervise::test]
async fn a_drain_does_not_abort_and_a_stop_after_it_does(system: &TestSystem) {
    system.allow_dead_letters();
    let (worked, make) = clerk();
    let clerk = system.spawn("clerk", make).unwrap();
    clerk.hang().tell().unwrap();
    clerk.work().tell().unwrap();
    let begun = Instant::now();
    let late = system.graceful_drain(&clerk, SECOND * 60).await.unwrap_err();
    assert_eq!((late.within, begun.elapsed()), (SECOND * 60, SECOND * 60));
    assert!(!clerk.actor_ref().has_ended());
    let begun = Instant::now();
    assert_eq!(system.graceful_stop(&clerk, SECOND * 60).await.unwrap(), HowEnded::Aborted);
    assert_eq!(begun.elapsed(), SECOND * 5, "the stop timeout");
    assert!(matches!(clerk.actor_ref().end_reason(), Some(EndReason::Stopped)));
    assert_eq!(worked.load(Ordering::Relaxed), 0);
}

/// The handler never returns, so no room is made that would wake these senders.
#[supervise::test]
async fn senders_that_wait_for_room_are_told_at_once(system: &TestSystem) {
    system.allow_dead_letters();
    let (_, make) = clerk();
    let clerk = system.spawn("clerk", make).unwrap();
    clerk.hang().tell().unwrap();
    system.settle().await;
    for _ in 0..8 {
        clerk.work().tell().unwrap();
    }
    let sends = [(); 3].map(|()| {
        let clerk = clerk.clone();
        tokio::spawn(async move { clerk.work().send().await.map_err(|error| error.reason()) })
    });
    system.settle().await;
    assert!(sends.iter().all(|send| !send.is_finished()));
    clerk.actor_ref().stop_when_drained();
    system.settle().await;
    for send in sends {
        assert!(send.is_finished());
        assert_eq!(send.await.unwrap(), Err(SendErrorReason::Stopped));
    }
}

/// Rules 8.8 and 23.4.
#[supervise::test]
async fn the_reason_says_who_asked_for_it(system: &TestSystem) {
    let reason = async |drain: fn(&ClerkRef)| {
        let clerk = system.spawn_anonymous(clerk().1).unwrap();
        drain(&clerk);
        system.ended(&clerk).await;
        clerk.actor_ref().end_reason().map(|reason| reason.name())
    };
    assert_eq!(reason(|clerk| clerk.actor_ref().stop_when_drained()).await, Some("stopped"));
    assert_eq!(reason(|clerk| clerk.drain_myself().tell().unwrap()).await, Some("stopped_itself"));
}

/// Rule 9.2.
#[supervise::test]
async fn the_system_ends_although_a_drain_would_not(system: &TestSystem) {
    system.allow_dead_letters();
    let (_, make) = clerk();
    let clerk = system.spawn("clerk", make).unwrap();
    clerk.hang().tell().unwrap();
    system.settle().await;
    clerk.actor_ref().stop_when_drained();
    let begun = Instant::now();
    system.terminate().await;
    assert_eq!(begun.elapsed(), SECOND * 5, "the stop timeout");
}

/// What was accepted is handled, and nothing that was refused is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_senders_does_not_keep_an_actor_from_draining() {
    let system = ActorSystem::new("flood");
    for _ in 0..50 {
        let (worked, make) = clerk();
        let clerk = system.spawn_anonymous(make).unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let senders = (0..8).map(|sender| {
            let (clerk, over) = (clerk.clone(), Arc::clone(&over));
            tokio::spawn(async move {
                let mut accepted = 0;
                while !over.load(Ordering::Relaxed) {
                    let sent = if sender % 2 == 0 {
                        clerk.work().send().await.is_ok()
                    } else {
                        clerk.work().tell().is_ok()
                    };
                    accepted += u32::from(sent);
                    tokio::task::yield_now().await;
                }
                accepted
            })
        });
        let senders: Vec<_> = senders.collect();
        while worked.load(Ordering::Relaxed) < 100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(system.graceful_drain(&clerk, SECOND * 60).await.unwrap(), HowEnded::Graceful);
        over.store(true, Ordering::Relaxed);
        let mut accepted = 0;
        for sender in senders {
            accepted += sender.await.unwrap();
        }
        assert_eq!(worked.load(Ordering::Relaxed), accepted);
    }
    system.terminate().await;
}
