//! Partitions, faults, verdicts, and the end of a system.
//!
//! Rules 26.1, 26.3, 26.6 and 26.10.

use std::time::Duration;

use supervise::remote::FindError;
use supervise::remote::memory::{Faults, Network};
use supervise::{AskError, DeadLetterReason, Event, HowEnded, Interest};

use crate::fixture::{Echo, Heard, Place, drain, listener, settle, soon, two};

#[tokio::test(start_paused = true)]
async fn rem_34_a_partition_shorter_than_patience_without_loss_is_not_noticed() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let echo = there.echo("echo", &here).await;
    let (watcher, mut heard) = listener(&here, "watcher");
    watcher.watch(echo.clone()).await.unwrap();
    settle().await;
    network.partition("here:1", "there:1");
    echo.note(1).tell().unwrap();
    tokio::time::sleep(Duration::from_secs(8)).await;
    network.heal();
    assert_eq!(soon(echo.noted()).await.unwrap(), [1]);
    assert_eq!(drain(&mut heard), []);
}

/// Both directions, or one.
async fn cut(network: &Network, cut: impl FnOnce()) {
    let (here, there) = two(network).await;
    let (echo, other) = (there.echo("echo", &here).await, here.echo("echo", &there).await);
    let (watcher, mut heard) = listener(&here, "watcher");
    let (across, mut also) = listener(&there, "across");
    watcher.watch(echo.clone()).await.unwrap();
    across.watch(other.clone()).await.unwrap();
    settle().await;
    cut();
    tokio::time::sleep(Duration::from_secs(12)).await;
    let gone = [Heard::Gone("echo".to_owned(), HowEnded::Unreachable)];
    assert_eq!(drain(&mut heard), gone);
    tokio::time::sleep(Duration::from_secs(12)).await;
    assert_eq!(drain(&mut also), gone);
    network.heal();
    let again = soon(here.node.find::<Echo>(there.path("echo"))).await.unwrap();
    assert_ne!(again, echo);
    assert_eq!(soon(again.echo("again".to_owned())).await.unwrap(), "again");
    assert!(matches!(soon(echo.noted()).await, Err(AskError::Undeliverable)), "the old ref stays dead");
    settle().await;
    assert_eq!(drain(&mut heard), []);
    assert_eq!(drain(&mut also), []);
}

#[tokio::test(start_paused = true)]
async fn rem_35_a_longer_partition_is_a_verdict_on_both_sides_and_heals_without_a_restart() {
    let network = Network::new(1);
    cut(&network, || network.partition("here:1", "there:1")).await;
}

#[tokio::test(start_paused = true)]
async fn rem_36_a_partition_in_one_direction_is_a_verdict_on_both_sides() {
    for (from, to) in [("here:1", "there:1"), ("there:1", "here:1")] {
        let network = Network::new(1);
        cut(&network, || network.partition_one_way(from, to)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn rem_37_with_loss_repetition_and_reordering_a_prefix_arrives_or_there_is_a_verdict() {
    let mut verdicts = 0;
    for seed in 0..60 {
        let network = Network::new(seed);
        let (here, there) = two(&network).await;
        let (own, mut heard) = listener(&there, "own");
        let far = soon(here.node.find::<crate::fixture::Listener>(there.path("own"))).await.unwrap();
        let share = |of: u64| if seed % 3 == of { 0.02 } else { 0.0 };
        network.set_faults(Faults {
            delay: (Duration::from_millis(1), Duration::from_millis(20)),
            loss: share(0),
            repetition: share(1) * 10.0,
            reordering: share(2),
        });
        for number in 0..100 {
            if far.hear(number).tell().is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_secs(30)).await;
        let arrived = drain(&mut heard);
        let prefix: Vec<Heard> = (0..arrived.len() as u64).map(Heard::Number).collect();
        assert_eq!(arrived, prefix, "seed {seed}");
        let is_over = far.actor_ref().has_ended();
        assert!(arrived.len() == 100 || is_over, "seed {seed}: {} arrived", arrived.len());
        assert!(seed % 3 != 1 || !is_over, "a repeated packet is dropped");
        verdicts += usize::from(is_over);
        drop(own);
    }
    assert!(verdicts > 10, "{verdicts} verdicts");
}

#[tokio::test(start_paused = true)]
async fn rem_38_at_the_verdict_a_sent_ask_lost_its_connection_and_one_not_sent_was_not_delivered() {
    let network = Network::new(1);
    let small = |builder: supervise::remote::NodeBuilder| builder.window(1000);
    let here = Place::with(&network, "here", small).await;
    let there = Place::with(&network, "there", small).await;
    let echo = there.echo("echo", &here).await;
    let far = there.echo("far", &here).await;
    settle().await;
    network.partition("here:1", "there:1");
    let ask = |padding: usize| {
        let far = far.clone();
        tokio::spawn(async move { far.echo("x".repeat(padding)).await })
    };
    let asks: Vec<_> = (0..12).map(|_| ask(200)).collect();
    let mut outcomes = Vec::new();
    for asked in asks {
        outcomes.push(soon(asked).await.unwrap().unwrap_err());
    }
    let lost = outcomes.iter().filter(|error| matches!(error, AskError::ConnectionLost)).count();
    let unsent = outcomes.iter().filter(|error| matches!(error, AskError::Undeliverable)).count();
    assert_eq!(lost + unsent, 12, "{outcomes:?}");
    assert!((3..=5).contains(&lost), "the window holds {lost} of them");
    assert_eq!(here.node.asks_under_way(), 0);
    drop(echo);
}

#[tokio::test(start_paused = true)]
async fn rem_65_at_the_verdict_each_message_that_did_not_leave_is_a_dead_letter_of_its_own() {
    let network = Network::new(1);
    let mut here = Place::with(&network, "here", |builder| builder.window(2000)).await;
    let there = Place::new(&network, "there").await;
    let echo = there.echo("echo", &here).await;
    settle().await;
    network.partition("here:1", "there:1");
    let told: Vec<&str> = (0..200).map(|number| if number % 7 == 0 { "Fail" } else { "Note" }).collect();
    for (number, name) in told.iter().enumerate() {
        if number == 10 {
            // These leave. The window no longer has enough room for the frames of the others.
            settle().await;
        }
        let is_told =
            if *name == "Note" { echo.note(1).tell().is_ok() } else { echo.fail("no".to_owned()).tell().is_ok() };
        assert!(is_told);
    }
    tokio::time::sleep(Duration::from_secs(20)).await;
    let letters = here.dead_letters();
    assert!(letters.iter().all(|letter| letter.reason == DeadLetterReason::Unreachable), "{letters:?}");
    let left = told.len() - letters.len();
    assert_eq!(left, 10);
    let count = |names: &[&str], of: &str| names.iter().filter(|name| **name == of).count();
    let names: Vec<&str> = letters.iter().map(|letter| letter.message).collect();
    for name in ["Note", "Fail"] {
        assert_eq!(count(&names, name), count(&told[left..], name), "{name}: {names:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn rem_41_an_orderly_end_of_the_system_is_told_as_such() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let echo = there.echo("echo", &here).await;
    let (watcher, mut heard) = listener(&here, "watcher");
    watcher.watch(echo.clone()).await.unwrap();
    settle().await;
    there.system.terminate().await;
    settle().await;
    assert_eq!(drain(&mut heard), [Heard::Gone("echo".to_owned(), HowEnded::Graceful)]);
    assert!(here.node.peers().is_empty());
    assert_eq!(here.node.known_refs(), 0);
}

#[tokio::test(start_paused = true)]
async fn rem_42_an_untrusting_node_is_not_stopped_or_searched() {
    let network = Network::new(1);
    let here = Place::new(&network, "here").await;
    let mut there = Place::with(&network, "there", supervise::remote::NodeBuilder::untrusted).await;
    let own = there.system.spawn("echo", Echo::default).unwrap();
    let hidden = soon(here.node.find::<Echo>(there.path("echo"))).await;
    assert!(matches!(hidden, Err(FindError::NotFound(_))), "{hidden:?}");
    there.node.register("echo", &own).unwrap();
    let echo = soon(here.node.find::<Echo>(there.path("echo"))).await.unwrap();
    echo.actor_ref().stop();
    echo.actor_ref().poison();
    echo.actor_ref().kill();
    assert_eq!(soon(echo.echo("alive".to_owned())).await.unwrap(), "alive");
    let letters: Vec<_> = there.dead_letters().iter().map(|letter| (letter.message, letter.reason)).collect();
    assert_eq!(letters, ["Stop", "PoisonPill", "Kill"].map(|signal| (signal, DeadLetterReason::Untrusted)));
}

#[tokio::test(start_paused = true)]
async fn rem_43_another_mesh_is_refused_with_the_reason() {
    let network = Network::new(1);
    let here = Place::new(&network, "here").await;
    let mut events = here.system.events().subscribe_to(Interest::FAILURES);
    let there = Place::with(&network, "there", |builder| builder.mesh("other")).await;
    for second in 0..30 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(here.node.peers().is_empty() && there.node.peers().is_empty());
        let refused: Vec<_> = std::iter::from_fn(|| events.try_recv())
            .map(|event| match event {
                Event::NodeRefused { node, why, .. } => (node.to_string(), why),
                other => panic!("{other:?}"),
            })
            .collect();
        // The first second has the greeting at the start too, and that of the peer, which is answered.
        let most = if second == 0 { 3 } else { 1 };
        assert!(refused.len() <= most, "{} times in the second {second}", refused.len());
        assert!(second > 0 || !refused.is_empty());
        assert!(refused.iter().all(|refused| *refused == ("there@there:1".to_owned(), "mesh")), "{refused:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn rem_44_the_end_of_the_own_system_resolves_asks_and_tells_peers() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let echo = there.echo("echo", &here).await;
    let own = here.echo("own", &there).await;
    let (watcher, mut heard) = listener(&there, "watcher");
    watcher.watch(own.clone()).await.unwrap();
    let asked = tokio::spawn({
        let echo = echo.clone();
        async move { echo.hold().await }
    });
    settle().await;
    soon(here.system.terminate()).await;
    let asked = soon(asked).await.unwrap();
    assert!(matches!(asked, Err(AskError::ConnectionLost)), "{asked:?}");
    settle().await;
    assert_eq!(drain(&mut heard), [Heard::Gone("own".to_owned(), HowEnded::Graceful)]);
    assert_eq!(there.node.known_refs(), 0);
    assert!(echo.note(1).tell().is_err());
    let far = soon(there.node.find::<Echo>(there.path("echo"))).await.unwrap();
    assert_eq!(soon(far.waiting()).await.unwrap(), 0, "the asker is gone");
}

/// The shortest patience that a node takes.
#[tokio::test(start_paused = true)]
async fn rem_62_the_shortest_patience_does_not_end_an_association_without_a_fault() {
    let network = Network::new(62);
    let hasty = |builder: supervise::remote::NodeBuilder| builder.patience(Duration::ZERO);
    let (here, there) = (Place::with(&network, "here", hasty).await, Place::with(&network, "there", hasty).await);
    let mut events = here.system.events().subscribe();
    let echo = there.echo("echo", &here).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(soon(echo.echo("same".to_owned())).await.unwrap(), "same");
    let all: Vec<_> = std::iter::from_fn(|| events.try_recv()).collect();
    assert!(!all.iter().any(|event| matches!(event, Event::NodeDown { .. })), "{all:?}");
}

/// A ref to an actor of a third node reaches a node that can no longer reach the third one, and does not know it yet, or knows it.
#[tokio::test(start_paused = true)]
async fn rem_63_a_ref_to_a_third_node_behind_a_partition_leaves_no_ask_without_an_answer() {
    for seconds in [0, 1, 5, 9, 11, 30] {
        let network = Network::new(63);
        let (one, two) = two(&network).await;
        let third = Place::new(&network, "third").await;
        settle().await;
        let (relay, far) = (two.echo("relay", &one).await, third.echo("far", &one).await);
        let (told, _heard) = listener(&one, "told");
        soon(relay.take(told.clone())).await.unwrap();
        network.partition("there:1", "third:1");
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let asked = soon(relay.pass_on(far.clone())).await;
        assert!(asked.is_err(), "after {seconds} s: {asked:?}");
        assert_eq!(soon(far.echo("here".to_owned())).await.unwrap(), "here", "the first node still reaches it");
        assert_eq!(two.node.asks_under_way(), 0, "after {seconds} s");
        network.heal();
        tokio::time::sleep(Duration::from_secs(30)).await;
        let relay = one.system.spawn("new-relay", Echo::default).unwrap();
        soon(relay.take(told)).await.unwrap();
        let relay = soon(two.node.find::<Echo>(one.path("new-relay"))).await.unwrap();
        let far = soon(two.node.find::<Echo>(third.path("far"))).await.unwrap();
        assert!(
            !soon(relay.pass_on(far)).await.unwrap(),
            "the third node takes a ref to the first one's listener"
        );
    }
}
