//! Z: what a stop does in each state.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{Backoff, DeadLetterReason, Directive, Event, FailureKind, Outcome, Strategy};

use crate::fixture::{Boom, PingPong, PingPongRef, Witness, always_restart, child, keeper, keeping, ms, secs};

/// Rule 6.2.
#[supervise::test]
async fn z_14_the_order_of_a_stop(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let parent = system.spawn("parent", move || Witness::new("parent", &handle)).unwrap();
    for (name, slow) in [("a", 2), ("b", 1)] {
        let handle = probe.handle();
        child(&parent, name, move || Witness::slow(name, secs(slow), &handle)).await;
    }
    probe.all().await;
    system.stop(&parent);
    system.advance(secs(2)).await;
    assert_eq!(probe.all().await, ["b stops", "a stops", "parent stops"], "siblings stop at the same time");
}

/// Rule 6.5.
#[supervise::test]
async fn z_22_a_poison_pill_behind_a_failure(system: &TestSystem) {
    let probe = system.probe();
    for (name, directive) in [("restarts", Directive::Restart), ("stops", Directive::Stop)] {
        let keeper = system.spawn_with(name, keeping(Strategy::one_for_one(), move |_| directive)).unwrap();
        let actor = child(&keeper, "actor", PingPong::factory(&probe.handle())).await;
        actor.die("boom").tell().unwrap();
        actor.ping().tell().unwrap();
        actor.count().tell().unwrap();
        actor.actor_ref().poison();
        actor.ping().tell().unwrap();
        system.expect_terminated(&actor).await;
        let path = actor.actor_ref().path();
        let letters: Vec<_> = system
            .take_all(|event| matches!(event, Event::DeadLetter(letter) if letter.recipient == path))
            .await
            .iter()
            .filter_map(|event| match event {
                Event::DeadLetter(letter) => Some(letter.message),
                _ => None,
            })
            .collect();
        if directive == Directive::Restart {
            assert_eq!(probe.all().await, ["restarted for boom", "ping", "stopped"]);
            assert_eq!(letters, ["Ping"]);
        } else {
            assert_eq!(probe.all().await, ["stopped"]);
            assert_eq!(letters, ["Ping", "Count", "Ping"]);
        }
        system.expect_decision(&actor).await;
    }
}

/// An actor that waits ten seconds, suspended, for its restart.
async fn suspended(system: &TestSystem, name: &'static str, probe: &ProbeHandle<String>) -> PingPongRef {
    let strategy = Strategy::one_for_one().backoff(Backoff::exponential(secs(10), secs(10)));
    let keeper = system.spawn_with(name, keeping(strategy, always_restart)).unwrap();
    let actor = child(&keeper, "actor", PingPong::factory(probe)).await;
    actor.die("boom").tell().unwrap();
    let decided = system.expect_decision(&actor).await;
    assert_eq!(decided.outcome, Outcome::Restarting { children: 1, delay: Some(secs(10)) });
    actor
}

/// Rule 6.5.
#[supervise::test]
async fn z_23_a_suspended_actor_takes_a_stop_but_neither_poison_nor_kill(system: &TestSystem) {
    let probe = system.probe();
    let poisoned = suspended(system, "poisoned", &probe.handle()).await;
    poisoned.actor_ref().poison();
    let killed = suspended(system, "killed", &probe.handle()).await;
    killed.actor_ref().kill();
    let stopped = suspended(system, "stopped", &probe.handle()).await;
    stopped.actor_ref().stop();
    assert_eq!(probe.all().await, ["stopped"], "at once");
    assert!(stopped.actor_ref().has_ended());
    system.advance(ms(9_999)).await;
    probe.expect_none().await;
    system.advance(ms(1)).await;
    assert_eq!(probe.all().await, ["restarted for boom", "stopped", "restarted for boom"]);
    assert!(poisoned.actor_ref().has_ended());
    assert_eq!(system.expect_decision(&killed).await.failure.kind(), FailureKind::Killed);
}

/// Rule 7.8.
#[supervise::test]
async fn z_41_messages_wait_out_a_backoff_and_a_stop_ends_it(system: &TestSystem) {
    let probe = system.probe();
    let waiting = suspended(system, "waiting", &probe.handle()).await;
    let stopped = suspended(system, "stopped", &probe.handle()).await;
    waiting.ping().tell().unwrap();
    let count = waiting.count().ask().unwrap();
    system.advance(secs(5)).await;
    probe.expect_none().await;
    stopped.actor_ref().stop();
    probe.expect("stopped".to_owned()).await;
    system.advance(secs(5)).await;
    assert_eq!(probe.all().await, ["restarted for boom", "ping"]);
    assert_eq!(count.await.unwrap(), 1, "of the new instance");
    assert!(system.take_all(|event| matches!(event, Event::DeadLetter(_))).await.is_empty());
    let restarts = system.take_all(|event| matches!(event, Event::Restarted { .. })).await;
    assert_eq!(restarts.len(), 1);
}

/// Fails all the time.
#[actor]
struct Storm {
    stops: Arc<AtomicU32>,
}

#[actor]
impl Storm {
    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }

    #[pre_restart]
    fn replaced(&mut self) {}

    #[post_stop]
    fn stopped(&mut self) {
        self.stops.fetch_add(1, Ordering::SeqCst);
    }
}

#[actor]
struct Mourner {
    news: tokio::sync::mpsc::UnboundedSender<()>,
}

#[actor]
impl Mourner {
    #[handler]
    fn watch(&mut self, storm: StormRef, ctx: &mut Context<Self>) {
        ctx.watch(&storm);
    }

    #[watch]
    fn gone(&mut self, _: Terminated<Storm>) {
        self.news.send(()).expect("the test listens");
    }
}

/// Rules 6.4, 8.1.
#[test]
fn z_48_a_storm_of_stops_is_one_stop() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for _ in 0..50 {
        let system = runtime.block_on(async { ActorSystem::new("storm") });
        let stops = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&stops);
        let storm = system.spawn("storm", move || Storm { stops: Arc::clone(&counted) }).unwrap();
        let (news, mut told) = tokio::sync::mpsc::unbounded_channel();
        let mourners: Vec<_> = (0..3)
            .map(|_| {
                let news = news.clone();
                system.spawn_anonymous(move || Mourner { news: news.clone() }).unwrap()
            })
            .collect();
        runtime.block_on(async {
            for mourner in &mourners {
                mourner.watch(storm.clone()).await.unwrap();
            }
        });
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..5 {
                        // From some moment on it has stopped.
                        let _stopped = storm.fail().tell();
                    }
                    system.stop(&storm);
                });
            }
        });
        runtime.block_on(async {
            for _ in &mourners {
                told.recv().await.unwrap();
            }
            system.terminate().await;
        });
        assert_eq!(stops.load(Ordering::SeqCst), 1);
        assert!(told.try_recv().is_err(), "each watcher was told once");
    }
}

/// A dead letter says why. Messages in a mailbox that closes become dead letters, in order. Rule 6.5.
#[supervise::test]
async fn z_22_what_waits_behind_a_stop_is_dead_letters_in_order(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper(system, Strategy::one_for_one());
    let actor = child(&keeper, "actor", PingPong::factory(&probe.handle())).await;
    actor.actor_ref().stop();
    let asked = actor.count().ask().unwrap();
    actor.ping().tell().unwrap();
    system.expect_terminated(&actor).await;
    assert!(matches!(asked.await, Err(AskError::Stopped)));
    for message in ["Count", "Ping"] {
        let letter = system.expect_dead_letter(&actor).await;
        assert_eq!((letter.message, letter.reason), (message, DeadLetterReason::Stopped));
    }
}
