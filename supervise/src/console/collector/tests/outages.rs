//! A loop whose actor waits longer and longer between its tries.

use super::*;

/// An outage: the actor waits 30 s, tries for 10 s, and fails. Returns how it is at this time, after it has failed if it fails now.
fn in_outage(collector: &mut Collector, second: u64, last: u64, tries: NodeState) -> Sight<'static> {
    let failed_at = (second / 40 * 40).min(last);
    let attempt = u32::try_from(failed_at / 40 + 1).expect("few");
    if second == failed_at {
        let outcome = Outcome::Restarting { children: 1, delay: Some(secs(30)) };
        failed(collector, second, Decision { attempt, ..decision("/user/gateway", 7, outcome) });
    }
    let due = failed_at + 30;
    let waits = second < due;
    let state = match second {
        _ if waits => NodeState::Failed,
        _ if second < last => tries,
        _ => NodeState::Running,
    };
    Sight { state, attempt, due: waits.then(|| secs(due)), ..at(2, "gateway", 7) }
}

/// CON-13: a loop goes on during each try, and is over when a try lasts. Rules 22.3 and 22.10.
#[cfg(feature = "tracing")]
#[test]
fn con_13_an_outage_with_a_backoff_is_one_loop() {
    use super::super::super::lines::{Line, Lines};
    for tries in [NodeState::Starting, NodeState::Running] {
        let (mut collector, mut lines) = (Collector::default(), Lines::default());
        let (mut begun, mut over) = (0, Vec::new());
        for second in (0..1_300).step_by(5) {
            let gateway = in_outage(&mut collector, second, 600, tries);
            let view = look(&mut collector, second, &[gateway]);
            let is_loop = kinds(&view) == [(Kind::RestartLoop, "/user/gateway")];
            assert_eq!(is_loop, (80..=690).contains(&second), "{second} {tries}: {:?}", view.cards);
            for line in lines.after(&view) {
                match line {
                    Line::Is { kind: Kind::RestartLoop, again, .. } => begun += usize::from(!again),
                    Line::Over { kind: Kind::RestartLoop, after, .. } => over.push((second, after)),
                    _ => {}
                }
            }
        }
        assert_eq!((begun, over), (1, vec![(695, secs(695))]), "{tries}");
    }
}

/// CON-13: a start that hangs is slow, however often the actor has failed before. Rule 22.3.
#[test]
fn con_13_a_start_that_hangs_after_a_loop_is_slow() {
    for began in [630, 5_000] {
        let mut collector = Collector::default();
        for second in (0..=635).step_by(5) {
            let gateway = in_outage(&mut collector, second, 600, NodeState::Starting);
            look(&mut collector, second, &[gateway]);
        }
        let starts = [Sight { state: NodeState::Starting, attempt: 16, ..at(2, "gateway", 7) }];
        look(&mut collector, began + 5, &starts);
        let view = look(&mut collector, began + 70, &starts);
        assert_eq!(kinds(&view), [(Kind::SlowStart, "/user/gateway")], "{began}");
    }
}

/// CON-13: an actor that fails every 25 s is in one loop, until it is calm. Rules 22.3 and 22.10.
#[cfg(feature = "tracing")]
#[test]
fn con_13_a_loop_does_not_come_and_go_between_two_failures() {
    use super::super::super::lines::{Line, Lines};
    let (mut collector, mut lines) = (Collector::default(), Lines::default());
    let (mut begun, mut over) = (0, Vec::new());
    for second in 0..900 {
        if second % 25 == 0 && second <= 300 {
            failed(&mut collector, second, decision("/user/gateway", 7, restarting()));
        }
        let view = look(&mut collector, second, &[at(2, "gateway", 7)]);
        assert_eq!(view.cards.len(), usize::from((50..=375).contains(&second)), "{second}");
        for line in lines.after(&view) {
            match line {
                Line::Is { again, .. } => begun += usize::from(!again),
                Line::Over { after, .. } => over.push((second, after)),
            }
        }
    }
    assert_eq!((begun, over), (1, vec![(376, secs(376))]));
}

/// The last line of a card names the actor that had the problem last, and since when. Rule 22.10.
#[cfg(feature = "tracing")]
#[test]
fn con_13_the_last_line_names_the_one_that_was_in_the_loop_last() {
    use super::super::super::lines::{Line, Lines};
    let (mut collector, mut lines) = (Collector::default(), Lines::default());
    let mut over = Vec::new();
    for second in 1..400 {
        for (path, fails) in [("/user/keys/1", 1..4), ("/user/keys/2", 50..200)] {
            if fails.contains(&second) {
                failed(&mut collector, second, decision(path, 1_000 + second, STOPPED));
            }
        }
        let view = look(&mut collector, second, &[at(2, "keys", 5)]);
        for line in lines.after(&view) {
            if let Line::Over { path, after, others, .. } = line {
                over.push((second, path, after, others));
            }
        }
    }
    assert_eq!(over, [(260, "/user/keys/2".to_owned(), secs(210), true)]);
}

/// One actor that fails with these outcomes, at these times and as the so-many-eth in a row. Returns when it had a card, looked at each second until
/// `end`, and since when.
fn loops(fails: &[(u64, u32, Outcome)], end: u64) -> Vec<(u64, u64, Option<Time>)> {
    let mut collector = Collector::default();
    let mut due = 0;
    let mut shown: Vec<(u64, u64, Option<Time>)> = Vec::new();
    for second in 0..=end {
        for &(_, attempt, outcome) in fails.iter().filter(|(at, ..)| *at == second) {
            failed(&mut collector, second, Decision { attempt, ..decision("/user/gateway", 7, outcome) });
            if let Outcome::Restarting { delay: Some(delay), .. } = outcome {
                due = second + delay.as_secs();
            }
        }
        let waits = second < due;
        let state = if waits { NodeState::Failed } else { NodeState::Running };
        let view =
            look(&mut collector, second, &[Sight { state, due: waits.then(|| secs(due)), ..at(2, "gateway", 7) }]);
        let Some(card) = view.cards.first() else { continue };
        match shown.last_mut() {
            Some((_, last, since)) if *last + 1 == second && *since == card.since => *last = second,
            _ => shown.push((second, second, card.since)),
        }
    }
    shown
}

/// CON-13: a long delay does not make a loop last longer. Rule 22.3.
#[test]
fn con_13_a_loop_with_long_delays_is_over_a_minute_after_a_try_that_lasts() {
    let (mut second, mut fails) = (0, Vec::new());
    for attempt in 1..=10 {
        let delay = (1 << (attempt - 1)).min(300);
        fails.push((second, attempt, delayed(delay)));
        second += delay;
    }
    // The last restart comes at 811 s.
    assert_eq!(loops(&fails, 2_000), [(3, 871, Some(secs(0)))]);
}

/// CON-13: it does not matter whether an actor is resumed in between. Rule 22.3.
#[test]
fn con_13_a_loop_goes_on_when_the_actor_is_resumed_during_a_try() {
    let tries = (1..=6).map(|attempt| (40 * u64::from(attempt), attempt, delayed(30)));
    let resumes = (1..=6).map(|attempt| (40 * u64::from(attempt) + 35, attempt, Outcome::Resumed));
    let fails: Vec<_> = tries.chain(resumes).collect();
    assert_eq!(loops(&fails, 1_000), [(120, 330, Some(secs(40)))]);
}

/// CON-13: a loop is not over because the backoff begins anew. Rule 22.3.
#[test]
fn con_13_a_loop_goes_on_when_the_failures_in_a_row_are_counted_anew() {
    let fails: Vec<_> = [(0, 1), (35, 2), (70, 3), (105, 4), (180, 1), (215, 2)]
        .into_iter()
        .map(|(second, attempt)| (second, attempt, delayed(30)))
        .collect();
    // It ran for 45 s before it failed at 180 s, and for 5 s before it failed at 215 s.
    assert_eq!(loops(&fails, 1_000), [(70, 305, Some(secs(0)))]);
}

/// CON-13: a loop that is over does not go on when the same actor fails much later, even if its failures in a row are counted on. Rule 22.3.
#[test]
fn con_13_a_second_outage_is_a_loop_of_its_own() {
    let fails: Vec<_> = [(0, 1), (35, 2), (70, 3), (3_000, 4), (3_035, 5)]
        .into_iter()
        .map(|(second, attempt)| (second, attempt, delayed(30)))
        .collect();
    assert_eq!(loops(&fails, 4_000), [(70, 160, Some(secs(0))), (3_000, 3_125, Some(secs(3_000)))]);
}

/// CON-13: a console that was started amid an outage shows one loop, although it knows only the number of failures in a row. Rule 22.3.
#[test]
fn con_13_a_try_of_an_actor_whose_failures_are_not_known_belongs_to_its_loop() {
    let mut collector = Collector::default();
    let gateway =
        |state, due: Option<u64>| [Sight { state, attempt: 7, due: due.map(secs), ..at(2, "gateway", 7) }];
    for second in 100..130 {
        let view = look(&mut collector, second, &gateway(NodeState::Failed, Some(130)));
        assert_eq!(kinds(&view), [(Kind::RestartLoop, "/user/gateway")], "{second}");
    }
    for second in 130..=200 {
        let view = look(&mut collector, second, &gateway(NodeState::Starting, None));
        let kind = if second <= 190 { Kind::RestartLoop } else { Kind::SlowStart };
        assert_eq!(kinds(&view), [(kind, "/user/gateway")], "{second}");
    }
    assert_eq!(kinds(&look(&mut collector, 201, &gateway(NodeState::Running, None))), []);
}

/// CON-13: a restart may come before the end of its delay, because somebody asked for it or because that of a sibling was decided later. The loop
/// is then over a minute after that restart. Rule 22.3.
#[test]
fn con_13_a_loop_is_over_a_minute_after_a_restart_that_came_early() {
    let mut collector = Collector::default();
    for (second, attempt) in [(0, 1), (1, 2), (2, 3)] {
        failed(&mut collector, second, Decision { attempt, ..decision("/user/gateway", 7, delayed(600)) });
    }
    let gateway = |state, due| [Sight { state, attempt: 3, due, ..at(2, "gateway", 7) }];
    let view = look(&mut collector, 10, &gateway(NodeState::Failed, Some(secs(602))));
    assert_eq!(kinds(&view), [(Kind::RestartLoop, "/user/gateway")]);
    for second in 20..=85 {
        let view = look(&mut collector, second, &gateway(NodeState::Running, None));
        assert_eq!(view.cards.len(), usize::from(second <= 80), "{second}: {:?}", view.cards);
    }
    // What a look found before the failure says nothing about its delay.
    failed(&mut collector, 100, Decision { attempt: 4, ..decision("/user/gateway", 7, delayed(600)) });
    look(&mut collector, 100, &gateway(NodeState::Running, None));
    look(&mut collector, 105, &[Sight { attempt: 4, ..gateway(NodeState::Failed, Some(secs(700)))[0].clone() }]);
    // It had run for 80 s, so the loop is over after 240 s.
    for second in [700, 940, 941] {
        let view =
            look(&mut collector, second, &[Sight { attempt: 4, ..gateway(NodeState::Running, None)[0].clone() }]);
        assert_eq!(view.cards.len(), usize::from(second <= 940), "{second}: {:?}", view.cards);
    }
}

/// CON-13: the card counts all failures of its loop, also those that long delays keep apart. Rule 22.3.
#[test]
fn con_13_the_failures_of_an_outage_with_long_delays_are_counted() {
    let mut collector = Collector::default();
    for (attempt, second) in (1..=10).zip((0..).step_by(1_000)) {
        failed(&mut collector, second, Decision { attempt, ..decision("/user/gateway", 7, delayed(1_000)) });
    }
    let gateway =
        [Sight { state: NodeState::Failed, attempt: 10, due: Some(secs(10_000)), ..at(2, "gateway", 7) }];
    let view = look(&mut collector, 9_500, &gateway);
    let [card] = &view.cards[..] else { panic!("{:?}", view.cards) };
    assert_eq!((card.since, card.weight), (Some(secs(0)), 10));
    assert!(card.says.starts_with("Failed 10 times within 2 h 30 min"), "{}", card.says);
}
