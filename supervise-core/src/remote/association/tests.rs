use std::collections::VecDeque;

use super::*;

fn side(uid: Id) -> Association {
    let me = Greeting { versions: VERSIONS, mesh: "m".to_owned(), uid };
    Association::new(Settings::DEFAULT, me, uid)
}

fn step(side: &mut Association, input: Input) -> Vec<Effect> {
    let mut effects = Vec::new();
    side.step(Time::ZERO, input, &mut effects);
    effects
}

fn numbered(to: Number, from: Number) -> Input {
    Input::Received(Packet::Frames { to, from, sequence: 0, acknowledged: 0, frames: Vec::new() })
}

#[test]
fn a_packet_of_another_association_is_answered_with_a_goodbye() {
    let goodbye = [Effect::Transmit(Packet::Goodbye { to: 8, from: 7 })];
    assert_eq!(step(&mut side(1), numbered(7, 8)), goodbye);
}

#[test]
fn a_packet_for_this_number_proves_that_the_peer_is_up() {
    let mut side = side(1);
    let greeting = step(&mut side, Input::Appeared(2));
    let [Effect::Transmit(Packet::Hello { mine, .. })] = greeting[..] else { panic!("{greeting:?}") };
    assert_eq!(step(&mut side, numbered(mine, 8)), [Effect::Up { mine, yours: 8 }]);
}

#[test]
fn a_peer_that_asks_and_takes_no_answers_is_given_up() {
    let mut side = side(1);
    side.settings = Settings { window: 1000, backlog: 5000, asks: 0, ..Settings::DEFAULT };
    let greeting = step(&mut side, Input::Appeared(2));
    let [Effect::Transmit(Packet::Hello { mine: to, .. })] = greeting[..] else { panic!("{greeting:?}") };
    for sequence in 0..100 {
        let frames = vec![Frame::Ask { to: 0, ask: sequence, body: Vec::new().into() }];
        step(&mut side, Input::Received(Packet::Frames { to, from: 8, sequence, acknowledged: 0, frames }));
        step(&mut side, Input::Processed { mine: to, bytes: Frame::HEAD });
        assert_eq!(side.takes_answer(168), sequence < 30, "5 answers are under way, and 25 wait");
        if side.send(Frame::Answer { ask: sequence, body: vec![0; 168].into() }).is_err() {
            break;
        }
        let mut effects = Vec::new();
        side.flush(Time::ZERO, &mut effects);
        if effects.contains(&Effect::Verdict { mine: to, why: Why::Broke }) {
            assert_eq!(sequence, 36, "5 answers are under way, and 32 wait");
            return;
        }
    }
    panic!("{} frames are kept", side.kept());
}

#[test]
fn other_meshes_and_versions_are_refused() {
    for (mesh, versions, refusal) in [
        ("n", VERSIONS, Refusal::Mesh),
        ("m", (VERSIONS.1 + 1, VERSIONS.1 + 2), Refusal::Version),
        ("m", (VERSIONS.0 - 2, VERSIONS.0 - 1), Refusal::Version),
    ] {
        let from = Greeting { versions, mesh: mesh.to_owned(), uid: 2 };
        let mut side = side(1);
        assert_eq!(step(&mut side, Input::Received(Packet::Hello { from, mine: 8 })), [Effect::Refused(refusal)]);
        assert!(!side.is_known());
    }
}

#[test]
fn a_peer_that_pauses_too_many_refs_is_given_up() {
    let mut side = side(1);
    side.settings = Settings { paused: 3, ..Settings::DEFAULT };
    let greeting = step(&mut side, Input::Appeared(2));
    let [Effect::Transmit(Packet::Hello { mine: to, .. })] = greeting[..] else { panic!("{greeting:?}") };
    let pause = |sequence| {
        Input::Received(Packet::Frames {
            to,
            from: 8,
            sequence,
            acknowledged: 0,
            frames: vec![Frame::Pause { to: sequence }],
        })
    };
    for sequence in 0..3 {
        step(&mut side, pause(sequence));
        assert_eq!(side.paused(), 1 + usize::try_from(sequence).unwrap());
    }
    assert!(step(&mut side, pause(3)).contains(&Effect::Verdict { mine: to, why: Why::Broke }));
}

/// A side that is up with a peer, and its number. The peer's number is 8.
fn up(settings: Settings) -> (Association, Number) {
    let mut side = side(1);
    side.settings = settings;
    let greeting = step(&mut side, Input::Appeared(2));
    let [Effect::Transmit(Packet::Hello { mine, .. })] = greeting[..] else { panic!("{greeting:?}") };
    let from = Greeting { versions: VERSIONS, mesh: "m".to_owned(), uid: 2 };
    step(&mut side, Input::Received(Packet::Welcome { from, yours: mine, mine: 8 }));
    (side, mine)
}

/// The frames that these effects transmit.
fn transmitted(effects: Vec<Effect>) -> Vec<Frame> {
    let packets = effects.into_iter().filter_map(|effect| match effect {
        Effect::Transmit(Packet::Frames { frames, .. }) => Some(frames),
        _ => None,
    });
    packets.flatten().collect()
}

/// Sends tells of 100 bytes until one is not transmitted. Returns how many were.
fn fill(side: &mut Association) -> u64 {
    for count in 0..1000 {
        side.send(Frame::Tell { to: 3, count: 1, body: vec![0; 68].into() }).expect("it is up");
        let mut effects = Vec::new();
        side.flush(Time::ZERO, &mut effects);
        if transmitted(effects).is_empty() {
            return count;
        }
    }
    panic!("the window does not close");
}

#[test]
fn a_pause_passes_a_closed_window() {
    let (mut side, mine) = up(Settings { window: 1000, ..Settings::DEFAULT });
    assert_eq!(fill(&mut side), 10);
    for to in 0..10 {
        let told = transmitted(step(&mut side, Input::Held { mine, to, bytes: 40 }));
        // Beyond the window, there is room for three of them.
        assert_eq!(told, if to < 3 { vec![Frame::Pause { to }] } else { Vec::new() });
    }
    assert_eq!(side.under_way(), 1000 + 3 * Frame::HEAD);
    // The peer has processed these, and holds the rest.
    let frames = Packet::Frames { to: mine, from: 8, sequence: 0, acknowledged: 96, frames: Vec::new() };
    let told: Vec<Frame> = (3..6).map(|to| Frame::Pause { to }).collect();
    assert_eq!(transmitted(step(&mut side, Input::Received(frames))), told);
}

#[test]
fn an_actor_that_was_full_for_a_moment_costs_nothing_while_the_window_is_closed() {
    let (mut side, mine) = up(Settings { window: 1000, ..Settings::DEFAULT });
    fill(&mut side);
    for to in 0..3 {
        step(&mut side, Input::Held { mine, to, bytes: 40 });
    }
    let before = side.kept();
    for _ in 0..10_000 {
        assert_eq!(step(&mut side, Input::Held { mine, to: 5, bytes: 40 }), []);
        assert_eq!(step(&mut side, Input::Released { mine, to: 5, bytes: 40 }), []);
    }
    assert_eq!(side.kept(), before);
    assert!(side.numbers().is_some());
}

/// What one side withholds for full actors never takes the room that is kept for `Pause` and `Resume`.
#[test]
fn a_large_message_for_a_full_actor_closes_the_window_and_no_more() {
    let (mut side, mine) = up(Settings { window: 1000, held: 0, ..Settings::DEFAULT });
    let mut arrives = |sequence, frame: Frame| {
        let bytes = frame.size();
        let packet = Packet::Frames { to: mine, from: 8, sequence, acknowledged: 0, frames: vec![frame] };
        step(&mut side, Input::Received(packet));
        if sequence == 0 {
            step(&mut side, Input::Held { mine, to: 5, bytes });
        }
        let effects = step(&mut side, Input::Processed { mine, bytes });
        effects.into_iter().find_map(|effect| match effect {
            Effect::Transmit(Packet::Frames { acknowledged, .. }) => Some(acknowledged),
            _ => None,
        })
    };
    let large = Frame::Tell { to: 5, count: 1, body: vec![0; 10_000].into() };
    assert_eq!(arrives(0, large.clone()), Some(large.size() - 1000));
    for sequence in 1..100 {
        arrives(sequence, Frame::Pause { to: sequence });
    }
    assert!(side.numbers().is_some(), "it takes all the news of full actors");
}

/// Lets these two, who have met, hear that the other one is gone. Returns whether they meet again within this time, without another word of
/// the engine.
fn meet_again(limit: Time) -> bool {
    let mut sides = [side(1), side(2)];
    let mut flying = VecDeque::new();
    let send = |at: usize, effects: Vec<Effect>, flying: &mut VecDeque<(usize, Packet)>| {
        for effect in effects {
            if let Effect::Transmit(packet) = effect {
                flying.push_back((1 - at, packet));
            }
        }
    };
    for at in [0, 1] {
        let effects = step(&mut sides[at], Input::Appeared(2 - Id::try_from(at).unwrap()));
        send(at, effects, &mut flying);
    }
    let mut now = Time::ZERO;
    let mut have_met = false;
    while now <= limit {
        while let Some((at, packet)) = flying.pop_front() {
            let mut effects = Vec::new();
            sides[at].step(now, Input::Received(packet), &mut effects);
            send(at, effects, &mut flying);
        }
        let are_up = sides.iter().all(|side| side.numbers().is_some());
        if are_up && have_met {
            return true;
        }
        for at in [0, 1] {
            let mut effects = Vec::new();
            if are_up {
                sides[at].step(now, Input::Vanished(2 - Id::try_from(at).unwrap()), &mut effects);
                have_met = true;
            } else {
                sides[at].step(now, Input::Tick, &mut effects);
            }
            send(at, effects, &mut flying);
        }
        now += Time::from_millis(100);
    }
    false
}

/// The engine may be wrong, or tell of the end of one connection after it has told of the next one. Rule 26.3.
#[test]
fn peers_that_only_seem_to_be_gone_meet_again() {
    assert!(meet_again(Settings::DEFAULT.patience));
}

#[test]
fn a_peer_that_is_gone_is_forgotten() {
    let mut side = side(1);
    let greeting = step(&mut side, Input::Appeared(2));
    let [Effect::Transmit(Packet::Hello { mine, .. })] = greeting[..] else { panic!("{greeting:?}") };
    step(&mut side, Input::Received(Packet::Hello { from: self::side(2).me, mine: 8 }));
    step(&mut side, numbered(mine, 8));
    step(&mut side, Input::Vanished(2));
    let mut effects = Vec::new();
    side.step(Settings::DEFAULT.patience, Input::Tick, &mut effects);
    assert!(!side.is_known() && side.deadline().is_none());
}

#[test]
fn a_peer_that_comes_back_while_it_is_greeted_is_greeted_at_once() {
    let (mut side, _) = up(Settings::DEFAULT);
    let hellos = |effects: &[Effect]| {
        effects.iter().filter(|effect| matches!(effect, Effect::Transmit(Packet::Hello { .. }))).count()
    };
    assert_eq!(hellos(&step(&mut side, Input::Vanished(2))), 1);
    assert_eq!(hellos(&step(&mut side, Input::Appeared(3))), 1);
    assert_eq!(hellos(&step(&mut side, Input::Appeared(3))), 0, "it has been greeted");
}
