//! A hostile peer reaches no actor that it was not given, and makes no ref that passes for that of another actor.

use std::time::Duration;

use super::super::NodeBuilder;
use super::super::association::{Frame, Greeting, Packet};
use super::super::wire::{Find, FindAnswer, Note, Signal, WireRef, bytes, decode};
use super::puppet::Puppet;
use super::{Plain, settle};

/// The peer knows the number of the association, and the uids of the actors whose refs it was given.
#[tokio::test(start_paused = true)]
async fn a_peer_cannot_make_a_ref_that_equals_that_of_an_actor_here() {
    let (system, node, mut puppet) = Puppet::new(|builder| builder).await;
    let plain = system.spawn("plain", || Plain).unwrap();
    puppet.up().await;
    settle().await;
    let link = node.0.link_of("puppet@puppet:1").unwrap();
    let (mine, theirs) = link.numbers().unwrap();
    for known in [0, mine, theirs, mine ^ theirs, mine ^ node.0.incarnation()] {
        let forged = link.proxy::<Plain>(mine, u64::from(plain.uid()) ^ known, "/user/plain").unwrap();
        assert_ne!(forged.to_any(), plain.to_any());
        assert_eq!(link.actor_of(forged.uid()), Some(u64::from(plain.uid()) ^ known));
    }
}

/// It would believe that the actor has ended, because it watches the ref.
#[tokio::test(start_paused = true)]
async fn a_dead_ref_does_not_equal_that_of_an_actor_here() {
    let (system, node, mut puppet) = Puppet::new(|builder| builder).await;
    let plain = system.spawn("plain", || Plain).unwrap();
    puppet.up().await;
    settle().await;
    let real = node.0.write_ref(&plain);
    assert_eq!(node.0.read_ref::<Plain>(&real), plain);
    let (stranger, peer) = ("stranger@stranger:1".to_owned(), puppet.me.to_string());
    let other = system.spawn("other", || Plain).unwrap();
    for forged in [
        WireRef { node: stranger, ..real.clone() },
        WireRef { node: peer, incarnation: 1, ..real.clone() },
        WireRef { incarnation: 1, ..real.clone() },
        WireRef { uid: other.uid().into(), ..real.clone() },
    ] {
        let dead = node.0.read_ref::<Plain>(&forged);
        assert!(dead.has_ended());
        assert_ne!(dead.to_any(), plain.to_any(), "{forged:?}");
        assert_ne!(dead.to_any(), other.to_any(), "{forged:?}");
        assert_eq!(dead, node.0.read_ref::<Plain>(&forged), "the same text means the same actor");
    }
}

/// With the secret, a peer could name an actor of its own so that its proxy equals an actor here.
#[tokio::test(start_paused = true)]
async fn the_ref_of_an_association_that_is_over_does_not_tell_the_secret() {
    let (_system, node, mut puppet) = Puppet::new(|builder| builder).await;
    let (link, mine) = puppet.linked(&node).await;
    let actor = 1_000;
    let proxy = link.proxy::<Plain>(mine, actor, "/user/a").unwrap();
    assert_eq!(node.0.write_ref(&proxy).uid, actor);
    puppet.say(&Packet::Hello { from: Greeting { uid: 10, ..Puppet::greeting() }, mine: 8 });
    settle().await;
    assert!(proxy.has_ended());
    let told = node.0.write_ref(&proxy);
    assert_ne!(told.uid ^ mine ^ actor, node.0.secret());
}

/// The peer was told the watcher's uid, but nobody gave it a ref.
#[tokio::test(start_paused = true)]
async fn a_peer_cannot_end_an_actor_that_only_watches() {
    let (system, node, mut puppet) = Puppet::new(|builder| builder).await;
    let (watcher, given) = (system.spawn("watcher", || Plain).unwrap(), system.spawn("given", || Plain).unwrap());
    let (link, mine) = puppet.linked(&node).await;
    watcher.tell(link.proxy::<Plain>(mine, 1_000, "/user/a").unwrap()).unwrap();
    let wire = node.0.write_ref(&given);
    settle().await;
    assert!(node.0.exported(watcher.uid().into()).is_some());
    for uid in [watcher.uid().into(), wire.uid] {
        for signal in [Signal::Stop, Signal::Poison, Signal::Kill] {
            puppet.note(&Note::Signal { uid, signal });
        }
    }
    settle().await;
    assert!(!watcher.has_ended());
    assert!(given.has_ended());
}

/// Looking does not hand out the actor.
#[tokio::test(start_paused = true)]
async fn an_untrusted_peer_that_looks_for_an_actor_without_a_name_does_not_reach_it() {
    let (system, node, _puppet) = Puppet::new(NodeBuilder::untrusted).await;
    let plain = system.spawn("plain", || Plain).unwrap();
    let find = Find { path: "/user/plain".to_owned(), actor: "Plain".to_owned() };
    assert_eq!(node.0.found(&find), FindAnswer::Nobody);
    assert!(node.0.exported(plain.uid().into()).is_none());
    node.register("plain", &plain).unwrap();
    assert!(matches!(node.0.found(&find), FindAnswer::Actor(_)));
}

/// Also if no further ref makes the node look.
#[tokio::test(start_paused = true)]
async fn refs_that_nobody_holds_any_more_are_forgotten_within_minutes() {
    let (_system, node, mut puppet) = Puppet::new(|builder| builder).await;
    let (link, mine) = puppet.linked(&node).await;
    let mut held: Vec<_> = (0..5_000).map(|uid| link.proxy::<Plain>(mine, uid, "/user/a").unwrap()).collect();
    held.truncate(10);
    for _ in 0..150 {
        puppet.frames(Vec::new());
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(node.known_refs(), 10);
    assert!(held.iter().all(|far| !far.has_ended()));
    assert_eq!(link.proxy::<Plain>(mine, 9, "/user/a").unwrap(), held[9]);
}

/// A peer that tells many messages to an actor that is gone must not make the node answer each of them.
#[tokio::test(start_paused = true)]
async fn messages_of_one_frame_to_an_actor_that_is_gone_have_one_answer() {
    let (_system, node, mut puppet) = Puppet::new(|builder| builder).await;
    puppet.linked(&node).await;
    while puppet.sent.try_recv().is_ok() {}
    puppet.frames(vec![Frame::Tell { to: 77, count: 1000, body: [1, 0].repeat(1000).into() }]);
    settle().await;
    let packets = std::iter::from_fn(|| puppet.sent.try_recv().ok());
    let frames = packets.filter_map(|(_, packet)| match decode(&packet, u64::MAX) {
        Some(Packet::Frames { frames, .. }) => Some(frames),
        _ => None,
    });
    let gone = Frame::Note(bytes(&Note::Gone { uid: 77 }).into());
    assert_eq!(frames.flatten().collect::<Vec<_>>(), [gone]);
}
