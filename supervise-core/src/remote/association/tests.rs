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
    side.settings = Settings { window: 1000, backlog: 5000, ..Settings::DEFAULT };
    let greeting = step(&mut side, Input::Appeared(2));
    let [Effect::Transmit(Packet::Hello { mine: to, .. })] = greeting[..] else { panic!("{greeting:?}") };
    for sequence in 0..100 {
        let frames = vec![Frame::Ask { to: 0, ask: sequence, body: Vec::new() }];
        step(&mut side, Input::Received(Packet::Frames { to, from: 8, sequence, acknowledged: 0, frames }));
        step(&mut side, Input::Processed { mine: to, bytes: Frame::HEAD });
        if side.send(Frame::Answer { ask: sequence, body: vec![0; 168] }).is_err() {
            break;
        }
        let mut effects = Vec::new();
        side.flush(Time::ZERO, &mut effects);
        if effects.contains(&Effect::Verdict { mine: to, why: Why::Broke }) {
            assert_eq!(sequence, 30, "5 answers are under way, and 25 wait");
            return;
        }
    }
    panic!("{} frames are kept", side.kept());
}

#[test]
fn other_meshes_and_versions_are_refused() {
    for (mesh, versions, refusal) in
        [("n", VERSIONS, Refusal::Mesh), ("m", (VERSIONS.1 + 1, VERSIONS.1 + 2), Refusal::Version)]
    {
        let from = Greeting { versions, mesh: mesh.to_owned(), uid: 2 };
        let mut side = side(1);
        assert_eq!(step(&mut side, Input::Received(Packet::Hello { from, mine: 8 })), [Effect::Refused(refusal)]);
        assert!(!side.is_known());
    }
}

/// The frames that a side sends when a message waits for room, to a peer that speaks these versions.
fn pauses(versions: (u16, u16), is_welcome: bool) -> Vec<Frame> {
    let mut side = side(1);
    let greeting = step(&mut side, Input::Appeared(2));
    let [Effect::Transmit(Packet::Hello { mine, .. })] = greeting[..] else { panic!("{greeting:?}") };
    let from = Greeting { versions, mesh: "m".to_owned(), uid: 2 };
    if is_welcome {
        step(&mut side, Input::Received(Packet::Welcome { from, yours: mine, mine: 8 }));
    } else {
        step(&mut side, Input::Received(Packet::Hello { from, mine: 8 }));
        step(&mut side, numbered(mine, 8));
    }
    let frames = [Input::Held { mine, to: 5, bytes: 40 }, Input::Released { mine, to: 5, bytes: 40 }];
    let effects = frames.into_iter().flat_map(|input| step(&mut side, input));
    let sent = effects.filter_map(|effect| match effect {
        Effect::Transmit(Packet::Frames { frames, .. }) => Some(frames),
        _ => None,
    });
    sent.flatten().collect()
}

/// Such a peer would skip the frames and never acknowledge them.
#[test]
fn a_peer_that_speaks_version_1_is_not_paused() {
    for is_welcome in [true, false] {
        assert_eq!(pauses((1, 1), is_welcome), []);
        assert_eq!(pauses((1, 2), is_welcome), [Frame::Pause { to: 5 }, Frame::Resume { to: 5 }]);
        assert_eq!(pauses((2, 9), is_welcome), [Frame::Pause { to: 5 }, Frame::Resume { to: 5 }]);
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
