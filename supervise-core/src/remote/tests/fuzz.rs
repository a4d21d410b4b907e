//! A million packets that are noise, or mutants of good ones: nothing panics, and nothing grows beyond its limit.

use std::time::Duration;

use allocation_counter::measure;
use fastrand::Rng;

use super::super::association::{
    Association, Body, Effect, Frame, Greeting, Input, Packet, Settings, VERSIONS, Why,
};
use super::super::wire::{Find, Note, Signal, WireRef, bytes, decode, encode, number};
use super::puppet::Puppet;
use super::{Plain, settle};
use crate::base::is_shallow;

/// Numbers at which something may go wrong.
const EDGES: [u64; 8] = [0, 1, 7, 127, 128, 1 << 32, u64::MAX - 1, u64::MAX];

fn edge(random: &mut Rng) -> u64 {
    EDGES[random.usize(..EDGES.len())]
}

fn reference(random: &mut Rng) -> WireRef {
    let nodes = ["puppet@puppet:1", "stage@stage:1", "", "@", "nobody@nobody:1"];
    WireRef {
        node: nodes[random.usize(..nodes.len())].to_owned(),
        incarnation: edge(random),
        uid: edge(random),
        path: ["/user/plain", "", "no path", "/user/../x"][random.usize(..4)].to_owned(),
        actor: ["Plain", "", "Other"][random.usize(..3)].to_owned(),
    }
}

/// The body of a frame: good, or a mutant.
fn body(random: &mut Rng) -> Vec<u8> {
    let mut body = match random.u8(..9) {
        0 => bytes(&reference(random)),
        1 => bytes(&Find { path: "/user/plain".to_owned(), actor: "Plain".to_owned() }),
        2 => bytes(&Note::Contract {
            number: random.u64(..4),
            actor: "Plain".to_owned(),
            handler: "handle".to_owned(),
            arguments: vec!["other".to_owned(); random.usize(..3)],
        }),
        3 => bytes(&Note::Gone { uid: edge(random) }),
        7 => bytes(&Note::GivenUp { asks: vec![edge(random), edge(random)] }),
        4 => bytes(&Note::Signal { uid: edge(random), signal: Signal::Poison }),
        5 => {
            let name = random.u8(..20).to_string();
            bytes(&Note::Named { name, actor: reference(random), is_taken: random.bool() })
        }
        6 => vec![[0x91, 0x81, 0xdd, 0xdf, 0xff][random.usize(..5)]; random.usize(..300)],
        _ => Vec::new(),
    };
    if random.bool() {
        mutate(random, &mut body);
    }
    body
}

/// Messages that are told. Each is a body.
fn told(random: &mut Rng, to: u64) -> Frame {
    let (count, mut all) = (random.u32(1..4), Vec::new());
    for _ in 0..count {
        let body = body(random);
        number(&mut all, body.len() as u64);
        all.extend(body);
    }
    Frame::Tell { to, count, body: all.into() }
}

fn frame(random: &mut Rng) -> Frame {
    let (one, other, body) = (edge(random), edge(random), Body::from(body(random)));
    match random.u8(..12) {
        0 => told(random, one),
        1 => Frame::Ask { to: random.u64(..2), ask: random.u64(..), body },
        2 => Frame::Answer { ask: one, body },
        3 => Frame::Watch { subject: one, watcher: other, body },
        4 => Frame::Unwatch { subject: one, watcher: other },
        5 => Frame::Ended { subject: one, watcher: other, body },
        6 => Frame::Pause { to: one },
        7 => Frame::Resume { to: one },
        8 => Frame::NotWatched { subject: one, watcher: other },
        _ => Frame::Note(body),
    }
}

fn packet(random: &mut Rng) -> Packet {
    let from = Greeting { versions: VERSIONS, mesh: String::new(), uid: edge(random) };
    match random.u8(..8) {
        0 => Packet::Hello { from, mine: edge(random) },
        1 => Packet::Welcome { from, yours: edge(random), mine: edge(random) },
        2 => Packet::Goodbye { to: edge(random), from: edge(random) },
        _ => Packet::Frames {
            to: edge(random),
            from: edge(random),
            sequence: edge(random),
            acknowledged: edge(random),
            frames: (0..random.usize(..4)).map(|_| frame(random)).collect(),
        },
    }
}

fn mutate(random: &mut Rng, bytes: &mut Vec<u8>) {
    for _ in 0..random.usize(1..4) {
        let at = random.usize(..=bytes.len());
        match random.u8(..5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, random.u8(..)),
            2 => bytes.extend_from_within(at..),
            3 => bytes.splice(at..at, [0xff; 9]).for_each(drop),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.u8(..8);
                }
            }
        }
    }
}

#[test]
fn a_million_mutants_are_read_within_bounded_memory() {
    let mut random = Rng::with_seed(18);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..50_000 {
        let good = encode(&packet(&mut random));
        for _ in 0..20 {
            let mut mutant = good.clone();
            mutate(&mut random, &mut mutant);
            let mut is_read = false;
            let memory = measure(|| is_read = decode(&mutant, 1 << 20).is_some());
            // A frame takes two bytes at least, and a place in a list that doubles.
            assert!(memory.bytes_max <= 4096 + 128 * mutant.len() as u64, "{memory:?} for {mutant:?}");
            *if is_read { &mut read } else { &mut refused } += 1;
        }
    }
    assert!(read > 100_000 && refused > 100_000, "{read} were read, {refused} refused");
}

#[test]
fn a_packet_of_empty_frames_takes_no_more_memory_than_the_limit_allows() {
    let (limit, mut packet) =
        (1 << 20, encode(&Packet::Frames { to: 1, from: 1, sequence: 0, acknowledged: 0, frames: Vec::new() }));
    packet.extend([7, 0].repeat(1 << 20));
    let memory = measure(|| assert!(decode(&packet, limit).is_none()));
    assert!(memory.bytes_max < 8 << 20, "{memory:?}");
}

#[test]
fn noise_that_is_deep_or_long_is_looked_through_without_memory() {
    let mut random = Rng::with_seed(19);
    for _ in 0..100_000 {
        let mut noise = vec![random.u8(..); random.usize(..500)];
        mutate(&mut random, &mut noise);
        let memory = measure(|| {
            is_shallow(&noise);
        });
        assert_eq!(memory.count_total, 0);
    }
}

#[test]
fn an_association_survives_noise_and_keeps_to_its_limits() {
    let settings = Settings { asks: 50, watches: 50, window: 4096, backlog: 1 << 16, ..Settings::DEFAULT };
    let mut ups = 0;
    for seed in 0..2_000 {
        let mut random = Rng::with_seed(seed);
        let me = Greeting { versions: VERSIONS, mesh: String::new(), uid: 3 };
        let mut side = Association::new(settings.clone(), me, seed);
        let (mut now, mut is_up) = (Duration::ZERO, false);
        let (mut effects, mut sequence) = (Vec::new(), 0);
        for _ in 0..100 {
            now += Duration::from_millis(random.u64(..400));
            let input = match random.u8(..20) {
                0 => Input::Appeared(edge(&mut random)),
                1 => Input::Vanished(edge(&mut random)),
                2 => Input::Tick,
                3 => Input::Broke,
                4..8 => Input::Received(packet(&mut random)),
                // What a peer could send that keeps to the numbers.
                _ => match side.numbers() {
                    None => {
                        let from = Greeting { versions: VERSIONS, mesh: String::new(), uid: 9 };
                        let greets = effects.iter().find_map(|effect| match effect {
                            Effect::Transmit(Packet::Hello { mine, .. }) => Some(*mine),
                            _ => None,
                        });
                        sequence = 0;
                        match greets {
                            Some(yours) => Input::Received(Packet::Welcome { from, yours, mine: random.u64(..) }),
                            None => Input::Received(Packet::Hello { from, mine: random.u64(..) }),
                        }
                    }
                    Some((to, from)) => {
                        let frames = (0..random.usize(..20)).map(|_| frame(&mut random)).collect();
                        let next = Packet::Frames { to, from, sequence, acknowledged: 0, frames };
                        sequence += 1;
                        Input::Received(next)
                    }
                },
            };
            effects.clear();
            side.step(now, input, &mut effects);
            for effect in &effects {
                match effect {
                    Effect::Up { .. } => {
                        assert!(!std::mem::replace(&mut is_up, true), "seed {seed}: up twice");
                        sequence = 0;
                        ups += 1;
                    }
                    Effect::Verdict { why, .. } => {
                        assert!(std::mem::replace(&mut is_up, false), "seed {seed}: a second verdict");
                        assert!(!matches!(why, Why::Left));
                    }
                    _ => {}
                }
            }
            assert_eq!(is_up, side.numbers().is_some(), "seed {seed}");
            assert!(side.kept() <= 102, "seed {seed}: {} are kept", side.kept());
        }
    }
    assert!(ups > 2_000, "{ups}");
}

#[tokio::test(start_paused = true)]
async fn a_node_survives_a_peer_that_sends_frames_at_random() {
    let mut random = Rng::with_seed(20);
    let (system, node, mut puppet) = Puppet::new(|builder| builder.limit(200)).await;
    let plain = system.spawn("plain", || Plain).unwrap();
    let mut associations = 0;
    for round in 0..20_000 {
        if node.peers().is_empty() {
            puppet.again().await;
            associations += 1;
        }
        let mut frames = vec![frame(&mut random)];
        if random.u8(..4) == 0 {
            // To an actor that the peer knows.
            let (to, ask, body) = (plain.uid().into(), random.u64(..), Body::from(body(&mut random)));
            frames.push(if random.bool() { told(&mut random, to) } else { Frame::Ask { to, ask, body } });
        }
        puppet.frames(frames);
        if round % 100 == 0 {
            settle().await;
        } else {
            tokio::task::yield_now().await;
        }
        assert!(node.known_refs() <= 200 && node.0.peer_names() <= 20);
    }
    settle().await;
    assert!(associations > 20, "{associations} associations");
    assert!(!plain.has_ended());
    assert!(node.0.all_links().len() <= 1);
    puppet.me = super::super::NodeId::new("other", "other:1");
    puppet.again().await;
    settle().await;
    assert!(node.peers().contains(&puppet.me), "a new peer is welcome");
}
