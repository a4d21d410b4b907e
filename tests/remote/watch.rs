//! Death watch between nodes.
//!
//! Rules 26.3, 26.4 and 26.5.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use supervise::remote::memory::{Faults, Network};
use supervise::{ActorSystem, Context, EndReason, HowEnded, NotStopped, Phase, Reply, actor, supervise};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;

use crate::fixture::{
    Bound, BoundRef, Echo, EchoRef, Heard, Listener, ListenerRef, Place, drain, guard, listener, settle, soon, two,
};

fn gone(name: &str, how: HowEnded) -> Heard {
    Heard::Gone(name.to_owned(), how)
}

#[tokio::test(start_paused = true)]
async fn rem_20_the_end_of_a_remote_actor_is_told_once() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let echo = there.echo("echo", &here).await;
    let (watcher, mut heard) = listener(&here, "watcher");
    let (untyped, mut also) = guard(&here, "untyped");
    watcher.watch(echo.clone()).await.unwrap();
    untyped.watch(echo.clone()).await.unwrap();
    echo.actor_ref().poison();
    settle().await;
    assert_eq!(drain(&mut heard), [gone("echo", HowEnded::Graceful)]);
    assert_eq!(drain(&mut also), [gone("echo", HowEnded::Graceful)]);
    assert!(matches!(echo.actor_ref().end_reason(), Some(EndReason::Stopped)));
}

#[tokio::test(start_paused = true)]
async fn rem_21_an_actor_that_has_ended_is_already_gone_after_what_it_sent() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let echo = there.echo("echo", &here).await;
    let (watcher, mut heard) = listener(&here, "watcher");
    echo.count_and_end(watcher.clone(), 3).tell().unwrap();
    settle().await;
    watcher.watch(echo.clone()).await.unwrap();
    settle().await;
    let expected: Vec<Heard> = (0..3).map(Heard::Number).chain([gone("echo", HowEnded::AlreadyGone)]).collect();
    assert_eq!(drain(&mut heard), expected);
}

#[tokio::test(start_paused = true)]
async fn rem_22_each_watch_has_one_piece_of_news() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let echo = there.echo("echo", &here).await;
    let (watcher, mut heard) = listener(&here, "watcher");
    watcher.watch(echo.clone()).await.unwrap();
    watcher.watch(echo.clone()).await.unwrap();
    watcher.unwatch(echo.clone()).await.unwrap();
    watcher.watch(echo.clone()).await.unwrap();
    echo.actor_ref().stop();
    settle().await;
    assert_eq!(drain(&mut heard), [gone("echo", HowEnded::Graceful)]);
    watcher.watch(echo.clone()).await.unwrap();
    settle().await;
    assert_eq!(drain(&mut heard), [gone("echo", HowEnded::AlreadyGone)]);
}

#[tokio::test(start_paused = true)]
async fn rem_23_an_unwatch_that_crosses_the_end_is_told_nothing() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let echo = there.echo("echo", &here).await;
    let own = soon(there.node.find::<Echo>(there.path("echo"))).await.unwrap();
    let (watcher, mut heard) = listener(&here, "watcher");
    watcher.watch(echo.clone()).await.unwrap();
    settle().await;
    own.actor_ref().stop();
    watcher.unwatch(echo.clone()).await.unwrap();
    settle().await;
    assert_eq!(drain(&mut heard), []);
}

#[tokio::test(start_paused = true)]
async fn rem_24_what_was_sent_before_the_end_comes_before_its_news() {
    let network = Network::new(3);
    let millis = Duration::from_millis;
    network.set_faults(Faults { delay: (millis(1), millis(30)), ..Faults::default() });
    let (here, there) = two(&network).await;
    for round in 0..50 {
        let echo = there.echo(&format!("echo-{round}"), &here).await;
        let (one, mut first) = listener(&here, &format!("one-{round}"));
        let (two, mut second) = listener(&here, &format!("two-{round}"));
        let (untyped, mut third) = guard(&here, &format!("untyped-{round}"));
        one.watch(echo.clone()).await.unwrap();
        two.watch(echo.clone()).await.unwrap();
        untyped.watch(echo.clone()).await.unwrap();
        let messages = 1 + round % 7 * 40;
        echo.count_and_end(one, messages).tell().unwrap();
        tokio::time::sleep(Duration::from_secs(3)).await;
        let news = gone(&format!("echo-{round}"), HowEnded::Graceful);
        let expected: Vec<Heard> = (0..messages).map(Heard::Number).chain([news.clone()]).collect();
        assert_eq!(drain(&mut first), expected, "round {round}");
        assert_eq!(drain(&mut second), std::slice::from_ref(&news));
        assert_eq!(drain(&mut third), [news]);
    }
}

/// The watcher becomes known by its watch, without a type, and then by its ref. The messages need several turns.
#[tokio::test(start_paused = true)]
async fn rem_24_also_if_the_watchers_type_is_not_served() {
    let network = Network::new(3);
    let here = Place::bare(&network, "here", |builder| builder).await;
    let there = Place::bare(&network, "there", |builder| builder).await;
    let echo = there.echo("echo", &here).await;
    let (watcher, mut heard) = listener(&here, "watcher");
    watcher.watch(echo.clone()).await.unwrap();
    settle().await;
    echo.count_and_end(watcher, 20_000).tell().unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    let news = gone("echo", HowEnded::Graceful);
    assert_eq!(drain(&mut heard), (0..20_000).map(Heard::Number).chain([news]).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn rem_25_a_killed_node_is_told_once_to_every_watcher_of_every_actor() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let (one, two) = (there.echo("one", &here).await, there.echo("two", &here).await);
    let (watcher, mut heard) = listener(&here, "watcher");
    let (untyped, mut also) = guard(&here, "untyped");
    for echo in [&one, &two] {
        watcher.watch(echo.clone()).await.unwrap();
    }
    untyped.watch(one.clone()).await.unwrap();
    settle().await;
    let began = tokio::time::Instant::now();
    network.kill("there:1");
    soon(here.system.ended(&one)).await;
    assert_eq!(began.elapsed(), Duration::ZERO, "the engine's word is enough");
    settle().await;
    let mut told = drain(&mut heard);
    told.sort_by_key(|heard| format!("{heard:?}"));
    assert_eq!(told, [gone("one", HowEnded::Unreachable), gone("two", HowEnded::Unreachable)]);
    assert_eq!(drain(&mut also), [gone("one", HowEnded::Unreachable)]);
    assert!(one.actor_ref().has_ended());
    assert!(matches!(one.actor_ref().end_reason(), Some(EndReason::Unreachable)));
    assert_eq!(here.node.known_refs(), 0);
    drop(there);
}

#[tokio::test(start_paused = true)]
async fn rem_27_an_old_watch_is_not_met_by_the_next_incarnation_of_the_node() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let old = there.echo("echo", &here).await;
    let (watcher, mut heard) = listener(&here, "watcher");
    watcher.watch(old.clone()).await.unwrap();
    settle().await;
    network.kill("there:1");
    let again = Place::new(&network, "there").await;
    let new = again.echo("echo", &here).await;
    assert_ne!(old, new);
    assert_eq!(old.actor_ref().path(), new.actor_ref().path());
    settle().await;
    assert_eq!(drain(&mut heard), [gone("echo", HowEnded::Unreachable)]);
    assert!(old.note(1).tell().is_err());
    watcher.watch(new.clone()).await.unwrap();
    new.actor_ref().stop();
    settle().await;
    assert_eq!(drain(&mut heard), [gone("echo", HowEnded::Graceful)]);
    drop(there);
}

#[tokio::test(start_paused = true)]
async fn rem_28_an_actor_that_ends_with_its_node_is_told_once() {
    for pause in [0, 1, 2, 5] {
        let network = Network::new(pause);
        let (here, there) = two(&network).await;
        let echo = there.echo("echo", &here).await;
        let (watcher, mut heard) = listener(&here, "watcher");
        watcher.watch(echo.clone()).await.unwrap();
        settle().await;
        echo.actor_ref().stop();
        tokio::time::sleep(Duration::from_millis(pause)).await;
        network.kill("there:1");
        settle().await;
        let told = drain(&mut heard);
        assert!(
            told == [gone("echo", HowEnded::Graceful)] || told == [gone("echo", HowEnded::Unreachable)],
            "{told:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn rem_29_the_subject_forgets_a_watcher_whose_node_dies() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let echo = there.echo("echo", &here).await;
    let (watcher, _heard) = listener(&here, "watcher");
    watcher.watch(echo.clone()).await.unwrap();
    settle().await;
    assert_eq!(there.node.known_refs(), 1);
    let cell = std::sync::Arc::new(());
    network.kill("here:1");
    settle().await;
    assert_eq!(there.node.known_refs(), 0);
    let own = soon(there.node.find::<Echo>(there.path("echo"))).await.unwrap();
    assert_eq!(there.system.graceful_stop(&own, Duration::from_secs(1)).await.unwrap(), HowEnded::Graceful);
    drop((here, cell));
}

/// Two listeners on two nodes that watch each other, and beside each a witness that watches the other listener.
/// All watch over the network.
struct Mutual {
    _places: (Place, Place),
    one: ListenerRef,
    other: ListenerRef,
    /// What the listeners hear.
    heard: [UnboundedReceiver<Heard>; 2],
    /// What witnesses on the other node hear of each.
    witnessed: [UnboundedReceiver<Heard>; 2],
}

impl Mutual {
    async fn new(network: &Network) -> Self {
        let (here, there) = two(network).await;
        let (one, first) = listener(&here, "one");
        let (other, second) = listener(&there, "other");
        let far = soon(here.node.find::<Listener>(there.path("other"))).await.unwrap();
        let near = soon(there.node.find::<Listener>(here.path("one"))).await.unwrap();
        let (of_one, of_one_heard) = listener(&there, "of-one");
        let (of_other, of_other_heard) = listener(&here, "of-other");
        of_one.watch_listener(near.clone()).await.unwrap();
        of_other.watch_listener(far.clone()).await.unwrap();
        one.watch_listener(far).await.unwrap();
        other.watch_listener(near).await.unwrap();
        settle().await;
        let (heard, witnessed) = ([first, second], [of_one_heard, of_other_heard]);
        Self { _places: (here, there), one, other, heard, witnessed }
    }

    /// What each listener has heard of the other one. First checks that the witnesses have heard of each end once.
    async fn told(&mut self) -> [Vec<Heard>; 2] {
        settle().await;
        let [of_one, of_other] = &mut self.witnessed;
        assert_eq!(drain(of_one), [gone("one", HowEnded::Graceful)]);
        assert_eq!(drain(of_other), [gone("other", HowEnded::Graceful)]);
        // Only the refs of the two witnesses are left.
        self.heard.each_mut().map(drain)
    }
}

#[tokio::test(start_paused = true)]
async fn rem_30_of_two_that_watch_each_other_the_one_that_ends_last_is_told_once() {
    let network = Network::new(1);
    let mut mutual = Mutual::new(&network).await;
    mutual.one.actor_ref().stop();
    settle().await;
    mutual.other.actor_ref().stop();
    let [first, second] = mutual.told().await;
    assert_eq!(second, [gone("one", HowEnded::Graceful)]);
    assert_eq!(first, [], "it has ended itself");
}

/// One may have ended when the news of the other arrives, or both may cross.
#[tokio::test(start_paused = true)]
async fn rem_30_two_that_watch_each_other_and_end_at_once_are_told_at_most_once_each() {
    let millis = Duration::from_millis;
    for seed in 0..40 {
        let network = Network::new(seed);
        let mut mutual = Mutual::new(&network).await;
        network.set_faults(Faults { delay: (millis(1), millis(30)), ..Faults::default() });
        mutual.one.actor_ref().stop();
        tokio::time::sleep(millis(seed)).await;
        mutual.other.actor_ref().stop();
        let [first, second] = mutual.told().await;
        assert_eq!(first, [], "seed {seed}: it ended before the other");
        assert!(second.len() <= 1 && second.iter().all(|heard| *heard == gone("one", HowEnded::Graceful)));
    }
}

/// Restarts a child that broke a death pact.
#[actor]
#[supervise(on(DeathPact) = Restart)]
struct Lenient;

#[actor]
impl Lenient {
    #[handler]
    fn bound(&mut self, lives: Arc<AtomicU32>, ctx: &mut Context<Self>) -> Reply<BoundRef> {
        let make = move || {
            lives.fetch_add(1, Ordering::SeqCst);
            Bound
        };
        Reply(ctx.spawn("bound", make).expect("it is asked for once"))
    }
}

/// Two parents whose tables decide differently about the same failure of their children.
#[tokio::test(start_paused = true)]
async fn rem_31_a_death_pact_across_nodes_is_decided_by_the_parents_table() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let echo = there.echo("echo", &here).await;
    let own = here.system.spawn("bound", || Bound).unwrap();
    let lives = Arc::new(AtomicU32::new(0));
    let lenient = here.system.spawn("lenient", || Lenient).unwrap();
    let restarted = lenient.bound(Arc::clone(&lives)).await.unwrap();
    for bound in [&own, &restarted] {
        bound.to(echo.clone()).await.unwrap();
    }
    settle().await;
    network.kill("there:1");
    // The default table stops an actor that broke a death pact.
    soon(here.system.ended(&own)).await;
    let Some(EndReason::Failed(failure)) = own.actor_ref().end_reason() else { panic!("it failed") };
    assert_eq!(failure.kind(), supervise::FailureKind::DeathPact);
    settle().await;
    assert!(!restarted.actor_ref().has_ended());
    assert_eq!(lives.load(Ordering::SeqCst), 2, "its parent's table restarts it, once");
    drop(there);
}

#[tokio::test(start_paused = true)]
async fn rem_32_ten_thousand_watches_one_kill_ten_thousand_pieces_of_news() {
    const WATCHES: usize = 10_000;
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let echo = there.echo("echo", &here).await;
    let mut all = Vec::new();
    for number in 0..WATCHES {
        let (guard, heard) = guard(&here, &format!("guard-{number}"));
        guard.watch(echo.clone()).tell().unwrap();
        all.push(heard);
    }
    settle().await;
    network.kill("there:1");
    settle().await;
    for heard in &mut all {
        assert_eq!(drain(heard), [gone("echo", HowEnded::Unreachable)]);
    }
    drop(there);
}

#[tokio::test(start_paused = true)]
async fn rem_33_a_watch_right_after_the_greeting_is_not_lost() {
    for seed in 0..10 {
        let network = Network::new(seed);
        let delay = (Duration::from_millis(1), Duration::from_millis(200));
        network.set_faults(Faults { delay, ..Faults::default() });
        let (here, there) = (Place::new(&network, "here").await, Place::new(&network, "there").await);
        let echo = there.echo("echo", &here).await;
        let (watcher, mut heard) = listener(&here, "watcher");
        watcher.watch(echo.clone()).await.unwrap();
        echo.actor_ref().stop();
        settle().await;
        let told = drain(&mut heard);
        let [Heard::Gone(_, how)] = &told[..] else { panic!("{told:?}") };
        assert!(matches!(how, HowEnded::Graceful | HowEnded::AlreadyGone), "{how:?}");
    }
}

/// A node that has as many watches under way as one of two limits allows, all of them of one actor.
struct Full {
    here: Place,
    there: Place,
    waiters: JoinSet<HowEnded>,
    stopped: EchoRef,
}

/// How many watches the nodes of `Full` allow.
const FULL: usize = 4;

impl Full {
    async fn new(network: &Network, [mine, theirs]: [usize; 2]) -> Self {
        let here = Place::with(network, "here", |builder| builder.limit(mine)).await;
        let there = Place::with(network, "there", |builder| builder.limit(theirs)).await;
        let (watched, stopped) = (there.echo("watched", &here).await, there.echo("stopped", &here).await);
        let mut waiters = JoinSet::new();
        for _ in 0..FULL {
            let (system, watched) = (here.system.clone(), watched.clone());
            waiters.spawn(async move { system.ended(&watched).await });
        }
        settle().await;
        Self { here, there, waiters, stopped }
    }
}

#[tokio::test(start_paused = true)]
async fn rem_58_who_waits_for_an_end_that_cannot_be_watched_is_not_told_that_it_has_happened() {
    for limits in [[FULL, 100], [100, FULL]] {
        let mut full = Full::new(&Network::new(58), limits).await;
        let (system, stopped) = (full.here.system.clone(), full.stopped.clone());
        let mut ended = std::pin::pin!(async { system.ended(&stopped).await });
        let waits = tokio::time::timeout(Duration::from_secs(600), ended.as_mut()).await;
        assert!(waits.is_err(), "limits {limits:?}: it lives, and is said to have ended: {waits:?}");
        full.waiters.abort_all();
        settle().await;
        full.stopped.actor_ref().stop();
        assert_eq!(soon(ended).await, HowEnded::Graceful, "limits {limits:?}: now it is watched");
        drop(full.there);
    }
}

#[tokio::test(start_paused = true)]
async fn rem_58_a_graceful_stop_without_a_watch_is_ok_only_when_the_actor_has_ended() {
    for limits in [[FULL, 100], [100, FULL]] {
        let mut full = Full::new(&Network::new(58), limits).await;
        let own = soon(full.there.node.find::<Echo>(full.there.path("stopped"))).await.unwrap();
        full.stopped.sleep(30).tell().unwrap();
        settle().await;
        let within = Duration::from_secs(1);
        let stopped = full.here.system.graceful_stop(&full.stopped, within).await;
        assert_eq!(stopped, Err(NotStopped { actor: full.stopped.actor_ref().path(), within }));
        assert!(!own.actor_ref().has_ended(), "limits {limits:?}: it still sleeps");
        let drained = full.here.system.graceful_drain(&full.stopped, within).await;
        assert_eq!(drained, Err(NotStopped { actor: full.stopped.actor_ref().path(), within }));
        full.waiters.abort_all();
        let stopped = full.here.system.graceful_stop(&full.stopped, Duration::from_secs(60)).await;
        assert!(matches!(stopped, Ok(HowEnded::Graceful | HowEnded::Aborted)), "limits {limits:?}: {stopped:?}");
        assert!(own.actor_ref().has_ended());
    }
}

/// Code waits for the end of an actor. If the actor's node is given up before or during the wait, nobody knows whether the actor lives.
#[tokio::test(start_paused = true)]
async fn rem_66_an_actor_whose_node_was_given_up_earlier_is_unreachable_and_not_gone() {
    let network = Network::new(66);
    let (here, there) = two(&network).await;
    let echo = there.echo("echo", &here).await;
    let (watcher, mut heard) = listener(&here, "watcher");
    network.kill("there:1");
    settle().await;
    watcher.watch(echo.clone()).await.unwrap();
    settle().await;
    assert_eq!(drain(&mut heard), [gone("echo", HowEnded::Unreachable)]);
    assert_eq!(soon(here.system.ended(&echo)).await, HowEnded::Unreachable);
    let within = Duration::from_secs(1);
    assert_eq!(here.system.graceful_stop(&echo, within).await, Ok(HowEnded::Unreachable));
    assert_eq!(here.system.graceful_drain(&echo, within).await, Ok(HowEnded::Unreachable));
    drop(there);
    for limits in [[FULL, 100], [100, FULL]] {
        let network = Network::new(66);
        let full = Full::new(&network, limits).await;
        let (system, stopped) = (full.here.system.clone(), full.stopped.clone());
        let waits = tokio::spawn(async move { system.ended(&stopped).await });
        settle().await;
        network.kill("there:1");
        assert_eq!(soon(waits).await.unwrap(), HowEnded::Unreachable, "limits {limits:?}");
        drop(full);
    }
}

/// Each refusal is answered, so a node with many watches to refuse can go on for as long as it lives.
#[tokio::test(start_paused = true)]
async fn rem_58_refused_watches_that_are_tried_again_and_again_do_not_end_the_association() {
    let full = Full::new(&Network::new(58), [1000, FULL]).await;
    let mut waiters = JoinSet::new();
    for _ in 0..100 {
        let (system, stopped) = (full.here.system.clone(), full.stopped.clone());
        waiters.spawn(async move { system.ended(&stopped).await });
    }
    tokio::time::sleep(Duration::from_secs(900)).await;
    assert_eq!(soon(full.stopped.echo("yes".to_owned())).await.unwrap(), "yes", "the refs are those of before");
    assert!(waiters.try_join_next().is_none(), "they wait");
    drop(full);
}

/// A task of the coordinated shutdown waits in the same way.
#[tokio::test(start_paused = true)]
async fn rem_58_a_shutdown_task_for_an_actor_that_cannot_be_watched_is_not_over_while_the_actor_lives() {
    let mut full = Full::new(&Network::new(58), [FULL, 100]).await;
    let shutdown = full.here.system.coordinated_shutdown();
    let _task = shutdown.add_actor_termination(Phase::SERVICE_STOP, "stopped", &full.stopped).unwrap();
    let run = tokio::spawn(async move { shutdown.run("test").await });
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(!full.stopped.actor_ref().has_ended() && !run.is_finished(), "the phase waits");
    full.waiters.abort_all();
    full.stopped.actor_ref().stop();
    soon(run).await.unwrap().unwrap();
}

/// The code that waits may outlive its own system, and the actor lives on.
#[tokio::test(start_paused = true)]
async fn rem_64_when_the_waiting_system_ends_an_actor_of_another_node_is_not_said_to_be_gone() {
    let (here, there) = two(&Network::new(64)).await;
    let echo = there.echo("echo", &here).await;
    let own = soon(there.node.find::<Echo>(there.path("echo"))).await.unwrap();
    let waits = {
        let (system, echo) = (here.system.clone(), echo.clone());
        tokio::spawn(async move { system.ended(&echo).await })
    };
    settle().await;
    soon(here.system.terminate()).await;
    assert_eq!(soon(waits).await.unwrap(), HowEnded::Unreachable);
    assert_eq!(soon(here.system.ended(&echo)).await, HowEnded::Unreachable);
    let stopped = here.system.graceful_stop(&echo, Duration::from_secs(1)).await;
    assert_eq!(stopped, Ok(HowEnded::Unreachable));
    assert!(!own.actor_ref().has_ended());
}

/// The same for an actor of another system of this process.
#[tokio::test(start_paused = true)]
async fn rem_64_when_the_waiting_system_ends_the_end_of_another_systems_actor_is_still_awaited() {
    let (one, other) = (ActorSystem::new("one"), ActorSystem::new("other"));
    let echo = other.spawn("echo", Echo::default).unwrap();
    let waits = {
        let (one, echo) = (one.clone(), echo.clone());
        tokio::spawn(async move { one.ended(&echo).await })
    };
    settle().await;
    soon(one.terminate()).await;
    settle().await;
    assert!(!waits.is_finished(), "it lives");
    let within = Duration::from_secs(1);
    assert!(tokio::time::timeout(within, one.ended(&echo)).await.is_err(), "it lives");
    echo.actor_ref().stop();
    assert_eq!(soon(waits).await.unwrap(), HowEnded::Graceful);
    assert_eq!(one.graceful_stop(&echo, within).await, Ok(HowEnded::AlreadyGone));
}

/// Callbacks run after the last actor has ended, and the system ends only after them.
#[tokio::test(start_paused = true)]
async fn rem_64_a_callback_at_the_end_of_its_system_does_not_wait_for_ever_for_the_end_of_an_actor() {
    let (here, there) = two(&Network::new(64)).await;
    let far = there.echo("far", &here).await;
    let own = here.system.spawn("own", Echo::default).unwrap();
    let (tell, mut told) = unbounded_channel();
    let system = here.system.clone();
    let callback = async move {
        tell.send(system.ended(&own).await).unwrap();
        tell.send(system.graceful_stop(&own, Duration::from_secs(1)).await.unwrap()).unwrap();
        tell.send(system.ended(&far).await).unwrap();
    };
    here.system.on_termination(callback).unwrap();
    soon(here.system.terminate()).await;
    assert_eq!(drain(&mut told), [HowEnded::AlreadyGone, HowEnded::AlreadyGone, HowEnded::Unreachable]);
    drop(there);
}
