//! The registry.
//!
//! Rule 26.9.

use std::time::Duration;

use supervise::AskError;
use supervise::remote::memory::{Faults, Network};
use tokio::task::{JoinHandle, JoinSet};

use crate::fixture::{Echo, EchoRef, Heard, Listener, Place, drain, listener, settle, soon, two};

#[tokio::test(start_paused = true)]
async fn rem_39_names_appear_at_peers_and_go_with_the_actor_and_the_node() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let echoes = here.node.listing::<Echo>("echoes");
    assert!(echoes.now().is_empty());
    let one = there.system.spawn("one", Echo::default).unwrap();
    let two = there.system.spawn("two", Echo::default).unwrap();
    there.node.register("echoes", &one).unwrap();
    there.node.register("echoes", &one).unwrap();
    there.node.register("echoes", &two).unwrap();
    settle().await;
    let now = echoes.now();
    assert_eq!(now.len(), 2, "to register twice has no effect");
    assert_eq!(soon(now[0].echo("named".to_owned())).await.unwrap(), "named");
    assert!(here.node.listing::<Listener>("echoes").now().is_empty(), "they are echoes");
    assert!(here.node.register("mine", &now[0]).is_err(), "it lives elsewhere");
    // A node that joins later hears of them too.
    let third = Place::new(&network, "third").await;
    settle().await;
    assert_eq!(third.node.listing::<Echo>("echoes").now().len(), 2);
    let mut changes = here.node.listing::<Echo>("echoes");
    there.system.graceful_stop(&one, Duration::from_secs(1)).await.unwrap();
    soon(changes.changed()).await;
    settle().await;
    assert_eq!(echoes.now().len(), 1);
    assert!(there.node.register("echoes", &one).is_err(), "it has ended");
    there.node.unregister("echoes", &two);
    settle().await;
    assert!(echoes.now().is_empty());
    there.node.register("echoes", &two).unwrap();
    settle().await;
    assert_eq!(echoes.now().len(), 1);
    network.kill("there:1");
    settle().await;
    assert!(echoes.now().is_empty());
}

#[tokio::test(start_paused = true)]
async fn rem_40_one_name_on_two_nodes_is_two_entries() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    for place in [&here, &there] {
        let echo = place.system.spawn("echo", Echo::default).unwrap();
        place.node.register("echo", &echo).unwrap();
    }
    settle().await;
    for place in [&here, &there] {
        let now = place.node.listing::<Echo>("echo").now();
        assert_eq!(now.len(), 2);
        assert!(now[0].actor_ref().is_local() && !now[1].actor_ref().is_local());
    }
}

/// Spawns the next echo of a place under the same path and name. It keeps `number`.
async fn next_echo(place: &Place, number: u64) -> EchoRef {
    // The path of the one before may still be taken.
    let echo = loop {
        match place.system.spawn("feed", Echo::default) {
            Ok(echo) => break echo,
            Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    };
    echo.note(number).tell().unwrap();
    place.node.register("feed", &echo).unwrap();
    echo
}

/// The refs come from the name and from the path. Both name one incarnation.
#[tokio::test(start_paused = true)]
async fn rem_59_while_a_name_gets_another_actor_each_ask_is_answered_by_the_actor_of_its_ref_or_fails() {
    const LIVES: u64 = 40;
    for seed in 0..6 {
        let network = Network::new(seed);
        let mut random = fastrand::Rng::with_seed(seed);
        let (here, there) = two(&network).await;
        let millis = Duration::from_millis;
        network.set_faults(Faults { delay: (millis(1), millis(40)), ..Faults::default() });
        let mut own = next_echo(&there, 0).await;
        let (mut asks, mut known) = (JoinSet::new(), Vec::<(EchoRef, Option<u64>)>::new());
        let (mut answered, mut stopped) = (0, 0);
        let listing = here.node.listing::<Echo>("feed");
        for life in 1..LIVES {
            for _ in 0..random.usize(1..6) {
                let found =
                    if random.bool() { here.node.find::<Echo>(there.path("feed")).await.ok() } else { None };
                for echo in listing.now().into_iter().chain(found) {
                    if !known.iter().any(|(one, _)| *one == echo) {
                        known.push((echo, None));
                    }
                }
                for (at, (echo, _)) in known.iter().enumerate() {
                    let echo = echo.clone();
                    asks.spawn(async move { (at, echo.noted().await) });
                }
                tokio::time::sleep(millis(random.u64(..30))).await;
            }
            match random.u8(..3) {
                0 => own.actor_ref().stop(),
                1 => own.actor_ref().poison(),
                _ => own.actor_ref().kill(),
            }
            if random.bool() {
                there.system.ended(&own).await;
            }
            own = next_echo(&there, life).await;
        }
        settle().await;
        while let Some(asked) = asks.try_join_next() {
            match asked.unwrap() {
                (at, Ok(noted)) => {
                    let of = known[at].1.get_or_insert(noted[0]);
                    assert_eq!(noted, [*of], "seed {seed}: one ref, two actors");
                    answered += 1;
                }
                (_, Err(AskError::Stopped | AskError::StoppedByFailure(_))) => stopped += 1,
                (_, Err(other)) => panic!("seed {seed}: {other:?}"),
            }
        }
        assert!(asks.is_empty(), "seed {seed}: {} asks hang", asks.len());
        assert!(answered > 50 && stopped > 50, "seed {seed}: {answered} and {stopped}");
        let mut lives: Vec<u64> = known.iter().filter_map(|(_, life)| *life).collect();
        let all = lives.len();
        lives.sort_unstable();
        lives.dedup();
        assert_eq!(lives.len(), all, "seed {seed}: two refs, one actor");
        let now = listing.now();
        assert_eq!(now.len(), 1, "seed {seed}");
        assert_eq!(soon(now[0].noted()).await.unwrap(), [LIVES - 1], "seed {seed}");
        assert_eq!(here.node.asks_under_way(), 0);
    }
}

/// How many actors of each node a place knows by the name `feed`.
fn known_at(place: &Place, nodes: &[&Place]) -> Vec<usize> {
    let now = place.node.listing::<Echo>("feed").now();
    let at = |echo: &EchoRef| echo.actor_ref().node().unwrap_or_else(|| place.node.id().address().to_owned());
    nodes.iter().map(|node| now.iter().filter(|echo| at(echo) == node.node.id().address()).count()).collect()
}

#[tokio::test(start_paused = true)]
async fn rem_60_a_name_that_two_nodes_give_on_both_sides_of_a_partition_is_complete_after_it() {
    for seed in 0..4 {
        let network = Network::new(seed);
        let mut random = fastrand::Rng::with_seed(seed);
        let (here, there) = two(&network).await;
        let third = Place::new(&network, "third").await;
        let mut own = [Vec::new(), Vec::new()];
        for round in 0..12 {
            network.partition("here:1", "there:1");
            // Some partitions are shorter than the nodes' patience.
            tokio::time::sleep(Duration::from_secs(random.u64(..25))).await;
            for (place, own) in [&here, &there].into_iter().zip(&mut own) {
                let echo = place.system.spawn(format!("echo-{round}"), Echo::default).unwrap();
                place.node.register("feed", &echo).unwrap();
                own.push(echo);
                match random.u8(..4) {
                    0 => own.swap_remove(random.usize(..own.len())).actor_ref().stop(),
                    1 => place.node.unregister("feed", &own.swap_remove(0)),
                    _ => {}
                }
            }
            if random.bool() {
                tokio::time::sleep(Duration::from_secs(random.u64(..25))).await;
            }
            if random.bool() {
                network.lose_held();
            }
            network.heal();
            // A packet that was lost may be missed only after a while.
            tokio::time::sleep(Duration::from_secs(30)).await;
            let all = [own[0].len(), own[1].len()];
            for place in [&here, &there, &third] {
                assert_eq!(
                    known_at(place, &[&here, &there]),
                    all,
                    "seed {seed}, round {round}: {}",
                    place.node.id()
                );
            }
            for echo in here.node.listing::<Echo>("feed").now() {
                assert_eq!(soon(echo.echo("named".to_owned())).await.unwrap(), "named");
            }
        }
    }
}

/// Asks what is never answered.
fn hold(echo: &EchoRef) -> JoinHandle<Result<u64, AskError>> {
    let echo = echo.clone();
    tokio::spawn(async move { echo.hold().await })
}

#[tokio::test(start_paused = true)]
async fn rem_61_refs_to_a_node_that_is_started_anew_under_its_name_never_reach_its_new_actors() {
    let network = Network::new(61);
    let (here, mut there) = two(&network).await;
    let third = Place::new(&network, "third").await;
    settle().await;
    let mut earlier: Vec<EchoRef> = Vec::new();
    for life in 0..20 {
        next_echo(&there, life).await;
        settle().await;
        let echo = here.node.listing::<Echo>("feed").now().remove(0);
        assert!(!earlier.contains(&echo), "life {life}");
        let (watcher, mut heard) = listener(&here, &format!("watcher-{life}"));
        watcher.watch(echo.clone()).await.unwrap();
        let asks: Vec<_> = (0..3).map(|_| hold(&echo)).collect();
        settle().await;
        network.kill("there:1");
        there.system.terminate().await;
        there = Place::new(&network, "there").await;
        echo.note(1000).tell().ok();
        next_echo(&there, 100 + life).await;
        settle().await;
        for ask in asks {
            assert!(matches!(soon(ask).await.unwrap(), Err(AskError::ConnectionLost)));
        }
        assert_eq!(drain(&mut heard), [Heard::Gone("feed".to_owned(), supervise::HowEnded::Unreachable)]);
        assert!(echo.note(1000).tell().is_err() && echo.actor_ref().has_ended());
        earlier.push(echo.clone());
        // It does not come to life again in messages either.
        third.system.spawn(format!("relay-{life}"), Echo::default).unwrap();
        let relay = soon(here.node.find::<Echo>(third.path(&format!("relay-{life}")))).await.unwrap();
        let now = soon(here.node.find::<Echo>(there.path("feed"))).await.unwrap();
        relay.take(watcher.clone()).await.unwrap();
        assert!(soon(relay.pass_on(echo)).await.is_err(), "life {life}: it passes on to a dead ref");
        assert_eq!(soon(now.noted()).await.unwrap(), [100 + life]);
        assert_eq!(here.node.listing::<Echo>("feed").now(), std::slice::from_ref(&now));
        now.actor_ref().stop();
        settle().await;
    }
}
