//! Restart loops of actors, and of places whose actors are replaced.

use super::*;

fn words(view: &View) -> String {
    text("shop", view, Duration::ZERO).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// CON-13: places that fail in turn are found, however many more they are than are remembered. Rules 22.3 and 22.4.
#[test]
fn con_13_more_places_than_are_remembered_fail_in_turn() {
    let mut collector = Collector::default();
    let keys = [at(2, "keys", 5)];
    let mut key = 100;
    for second in 0..60_u64 {
        // Each of 3000 places fails once in 20 s.
        for place in 150 * (second % 20)..150 * (second % 20 + 1) {
            key += 1;
            failed(&mut collector, second, decision(&format!("/user/keys/{place}"), key, STOPPED));
        }
        let view = look(&mut collector, second, &keys);
        assert!(second > 39 || view.cards.is_empty(), "{second}: {:?}", view.cards);
    }
    let view = look(&mut collector, 60, &keys);
    let [card] = &view.cards[..] else { panic!("{:?}", view.cards) };
    assert_eq!((card.kind, card.actors, card.at_least), (Kind::RestartLoop, 128, true));
    assert!(
        words(&view).contains("Restart loop: at least 128 × Actor, the worst is /user/keys/"),
        "{}",
        words(&view)
    );
}

/// CON-13: the failures of others that fail once each do not hide a loop that begins later. Rule 22.4.
#[test]
fn con_13_a_loop_that_begins_amid_the_failures_of_others_is_found() {
    let mut collector = Collector::default();
    for second in 0..23_u64 {
        for other in 0..20 {
            let key = 1_000 + 20 * second + other;
            failed(&mut collector, second, decision(&format!("/user/keys/{key}"), key, STOPPED));
        }
        if second >= 20 {
            failed(&mut collector, second, decision("/user/keys/late", second, STOPPED));
        }
    }
    let view = look(&mut collector, 23, &[at(2, "keys", 5)]);
    assert_eq!(kinds(&view), [(Kind::RestartLoop, "/user/keys/late")]);
}

/// CON-13: actors that restart in turn are found, however many more they are than are remembered. Rules 22.3 and 22.4.
#[test]
fn con_13_more_actors_than_are_remembered_restart_in_turn() {
    let mut collector = Collector::default();
    for round in 0..3 {
        for key in 0..6_000 {
            failed(&mut collector, 10 * round, decision("/user/session", 100 + key, restarting()));
        }
    }
    let actors: Vec<Sight<'_>> = (0..6_000).map(|key| at(2, "session", 100 + key)).collect();
    let view = look(&mut collector, 21, &actors);
    let [card] = &view.cards[..] else { panic!("{:?}", view.cards) };
    assert_eq!(
        (card.kind, card.actors, card.at_least, collector.failures.len()),
        (Kind::RestartLoop, 2_048, true, 4_096)
    );
    let said = words(&view);
    assert!(said.contains("One thing needs attention; at least 2 048 of 6 002 actors are not well"), "{said}");
}

/// CON-13: an actor that waits for its next try is in a loop, although its failures were not heard or are forgotten. Rule 22.3.
#[test]
fn con_13_a_wait_after_the_third_failure_is_a_loop_although_its_failures_are_not_known() {
    let waits =
        |attempt| [Sight { state: NodeState::Failed, attempt, due: Some(secs(90)), ..at(2, "gateway", 7) }];
    let says = |collector: &mut Collector, attempt| {
        let view = look(collector, 60, &waits(attempt));
        view.cards.first().map(|card| (card.kind, card.tell(view.now)))
    };
    let mut collector = Collector::default();
    assert_eq!(says(&mut collector, 2), None);
    let said = "Failed 7 times in a row. /user decides. The next try comes in 30 s.";
    assert_eq!(says(&mut collector, 7), Some((Kind::RestartLoop, said.to_owned())));
    // Only its first failure was heard.
    let delayed = Outcome::Restarting { children: 1, delay: Some(secs(1)) };
    failed(&mut collector, 10, decision("/user/gateway", 7, delayed));
    let said = "Failed. /user decides, rule `io::Error`: restart after 1 s. That was its 7th failure in a row. The next try \
                comes in 30 s.";
    assert_eq!(says(&mut collector, 7), Some((Kind::RestartLoop, said.to_owned())));
}

/// CON-13: a loop is the actor's, and not its handler's. Rules 22.3 and 22.10.
#[cfg(feature = "tracing")]
#[test]
fn con_13_a_loop_goes_on_when_the_last_failure_came_from_another_handler() {
    use super::super::super::lines::{Line, Lines};
    let (mut collector, mut lines) = (Collector::default(), Lines::default());
    let actors = [at(2, "clerk", 7), at(2, "keys", 5)];
    let fails = |collector: &mut Collector, second, handler, resumes| {
        let during = Some(During::Handler(handler));
        let outcome = if resumes { Outcome::Resumed } else { restarting() };
        failed(collector, second, Decision { during, ..decision("/user/clerk", 7, outcome) });
        failed(collector, second, Decision { during, ..decision("/user/keys/1", 100 + second, STOPPED) });
    };
    (1..=3).for_each(|second| fails(&mut collector, second, "stamp", false));
    let begun = look(&mut collector, 4, &actors);
    assert!(matches!(&lines.after(&begun)[..], [Line::Is { .. }, Line::Is { .. }]), "{:?}", begun.cards);
    let others = [(5, "seal", false), (6, "sign", true), (7, "seal", false)];
    for (second, handler, resumes) in others {
        fails(&mut collector, second, handler, resumes);
        let view = look(&mut collector, second, &actors);
        assert_eq!((lines.after(&view), view.cards.len()), (Vec::new(), 2), "{second}: {:?}", view.cards);
    }
}

/// CON-13: what goes on with its state does not restart. Rule 22.3.
#[test]
fn con_13_failures_after_which_an_actor_goes_on_are_no_restarts() {
    let mut collector = Collector::default();
    for (second, outcome) in [(1, Outcome::Resumed), (2, Outcome::Resumed), (3, restarting())] {
        failed(&mut collector, second, decision("/user/clerk", 7, outcome));
    }
    assert_eq!(kinds(&look(&mut collector, 4, &[at(2, "clerk", 7)])), []);
}

/// CON-13: while an actor above does not run, nothing restarts below it. Rule 22.3.
#[cfg(feature = "tracing")]
#[test]
fn con_13_a_loop_is_not_shown_while_its_supervisor_is_down() {
    use super::super::super::lines::{Line, Lines};
    let (mut collector, mut lines) = (Collector::default(), Lines::default());
    for second in 1..=3 {
        failed(&mut collector, second, decision("/user/shop/desk/clerk", 7, restarting()));
        let by_desk = Decision { supervisor_key: 6, ..decision("/user/shop/desk/1", 100 + second, STOPPED) };
        failed(&mut collector, second, by_desk);
    }
    let actors = |shop, desk, clerk| {
        let clerk = Sight { state: clerk, ..at(4, "clerk", 7) };
        [Sight { state: shop, ..at(2, "shop", 5) }, Sight { state: desk, ..at(3, "desk", 6) }, clerk]
    };
    let loops = [(Kind::RestartLoop, "/user/shop/desk/1"), (Kind::RestartLoop, "/user/shop/desk/clerk")];
    let (runs, starts) = (NodeState::Running, NodeState::Starting);
    let (failed, suspended, stopping) = (NodeState::Failed, NodeState::Suspended, NodeState::Stopping);
    let mut second = 4;
    let mut seen = |actors: &[Sight<'_>]| {
        second += 1;
        let view = look(&mut collector, second, actors);
        let mut found: Vec<_> = view.cards.iter().map(|card| (card.kind, card.path.clone())).collect();
        found.sort();
        let begun = lines.after(&view).iter().filter(|line| matches!(line, Line::Is { .. })).count();
        let over = lines.after(&view).len();
        (found, view.ill, begun, over)
    };
    let shown: Vec<_> = loops.into_iter().map(|(kind, path)| (kind, path.to_owned())).collect();
    assert_eq!(seen(&actors(runs, runs, runs)), (shown.clone(), 1, 2, 0));
    let above = [(runs, failed), (runs, suspended), (runs, stopping), (failed, suspended), (stopping, runs)];
    for (shop, desk) in above {
        assert_eq!(seen(&actors(shop, desk, suspended)), (Vec::new(), 0, 0, 0), "{shop} {desk}");
    }
    assert_eq!(seen(&actors(runs, starts, runs)), (shown, 1, 0, 0));
    // The supervisor has ended, and its children with it.
    assert_eq!(seen(&actors(runs, runs, runs)[..1]).0, []);
}

/// CON-13: a loop began with the first of the failures that made it one. Rule 22.3.
#[test]
fn con_13_a_loop_did_not_begin_when_the_actor_failed_rarely() {
    let mut collector = Collector::default();
    let seconds = [0, 300, 600, 610, 620];
    for second in seconds {
        failed(&mut collector, second, decision("/user/clerk", 7, restarting()));
    }
    for second in [0, 50, 100, 150, 155, 160].map(|second| 460 + second) {
        failed(&mut collector, second, decision("/user/keys/1", second, STOPPED));
    }
    for second in [621, 640] {
        let view = look(&mut collector, second, &[at(2, "clerk", 7), at(2, "keys", 5)]);
        let mut since: Vec<_> = view.cards.iter().map(|card| (&*card.path, card.since)).collect();
        since.sort();
        assert_eq!(since, [("/user/clerk", Some(secs(600))), ("/user/keys/1", Some(secs(560)))]);
        // It is the same loop after another failure.
        failed(&mut collector, second, decision("/user/clerk", 7, restarting()));
        failed(&mut collector, second, decision("/user/keys/1", 1_000 + second, STOPPED));
    }
}

/// CON-13: an actor whose child's failures are escalated has not failed in a handler of its own. Rule 22.3.
#[test]
fn con_13_a_loop_of_escalated_failures_names_the_actor_that_failed() {
    let mut collector = Collector::default();
    let clerk = "/user/desk/clerk";
    let during = Some(During::Handler("stamp"));
    for second in 1..=3 {
        failed(&mut collector, second, Decision { during, ..decision(clerk, 10 + second, Outcome::Escalated) });
        let origin = Some(clerk.to_owned());
        for (path, key, outcome) in [("/user/desk", 7, restarting()), ("/user/keys/1", 20 + second, STOPPED)] {
            failed(
                &mut collector,
                second,
                Decision { during, origin: origin.clone(), ..decision(path, key, outcome) },
            );
        }
    }
    // It reaches its limit, and the console has missed how the clerk failed.
    let limit = Outcome::LimitReached { children: 1 };
    let origin = Some("/user/booth/clerk".to_owned());
    failed(&mut collector, 4, Decision { origin, during, ..decision("/user/booth", 30, limit) });
    let view = look(&mut collector, 4, &[at(2, "desk", 7), at(2, "keys", 5)]);
    let mut said: Vec<_> = view.cards.iter().map(|card| (&*card.path, card.tell(view.now))).collect();
    said.sort();
    let loops = "Failed 3 times within 2 s, the last time in `stamp` of /user/desk/clerk. ";
    let [(booth, down), (desk, of_desk), (key, of_key)] = &said[..] else { panic!("{said:?}") };
    assert_eq!((*booth, *desk, *key), ("/user/booth", "/user/desk", "/user/keys/1"));
    assert!(down.starts_with("/user stopped it at the limit"), "{down}");
    assert!(of_desk.starts_with(&format!("{loops}/user decides, rule")), "{of_desk}");
    assert!(of_key.starts_with(&format!("{loops}Each failure ended the actor, and another one took its place before the next. /user/keys decides")), "{of_key}");
    let all = words(&view);
    assert!(all.contains("/user/desk failed in `stamp` of /user/desk/clerk: refused; restart at once"), "{all}");
    let json = super::super::super::json::json("shop", &view, &Listing::default());
    assert!(json.contains(r#""during":"stamp of /user/desk/clerk""#), "{json}");
}

/// CON-13: a place that nobody has taken after a limit is down, and in no loop. Rules 22.3 and 22.10.
#[cfg(feature = "tracing")]
#[test]
fn con_13_a_place_that_is_down_is_in_no_loop() {
    use super::super::super::lines::Lines;
    let (mut collector, mut lines) = (Collector::default(), Lines::default());
    let keys = [at(2, "keys", 5)];
    let limit = Outcome::LimitReached { children: 1 };
    for second in 1..=3 {
        failed(&mut collector, second, decision("/user/keys/1", second, limit));
        let repaired = (second < 3).then_some(second + 1);
        collector.forget_repaired(|_| repaired);
    }
    let view = look(&mut collector, 4, &keys);
    assert_eq!(kinds(&view), [(Kind::BranchDown, "/user/keys/1")]);
    assert_eq!(lines.after(&view), []);
    // Another actor takes the place.
    collector.forget_repaired(|_| Some(4));
    let view = look(&mut collector, 5, &keys);
    assert_eq!(kinds(&view), [(Kind::RestartLoop, "/user/keys/1")]);
    assert_eq!(lines.after(&view).len(), 1);
    failed(&mut collector, 6, decision("/user/keys/1", 4, limit));
    let view = look(&mut collector, 7, &keys);
    assert_eq!(kinds(&view), [(Kind::BranchDown, "/user/keys/1")]);
    assert_eq!(lines.after(&view), [], "the loop is not over");
}

/// CON-13: the failures of others, however many, do not end a loop. Rules 22.4 and 22.10.
#[cfg(feature = "tracing")]
#[test]
fn con_13_a_loop_is_not_forgotten_for_those_that_fail_once() {
    use super::super::super::lines::Lines;
    let (mut collector, mut lines) = (Collector::default(), Lines::default());
    let mut key = 1_000;
    let mut others = |collector: &mut Collector, second, many| {
        for _ in 0..many {
            key += 1;
            failed(collector, second, decision("/user/session", key, restarting()));
        }
    };
    others(&mut collector, 0, 3_000);
    (1..=3).for_each(|second| failed(&mut collector, second, decision("/user/clerk", 7, restarting())));
    let clerk = [at(2, "clerk", 7)];
    assert_eq!(lines.after(&look(&mut collector, 4, &clerk)).len(), 1);
    others(&mut collector, 5, 10_000);
    let view = look(&mut collector, 6, &clerk);
    assert_eq!(kinds(&view), [(Kind::RestartLoop, "/user/clerk")]);
    assert_eq!(lines.after(&view), []);
    // A loop that is over makes room.
    others(&mut collector, 70, 10_000);
    assert!(collector.failures.of(7).is_none());
}

/// CON-13: the log does not say that a loop is over which the console has forgotten. Rules 22.4 and 22.10.
#[cfg(feature = "tracing")]
#[test]
fn con_13_a_loop_that_is_forgotten_is_not_said_to_be_over() {
    use super::super::super::lines::{Line, Lines};
    let (mut collector, mut lines) = (Collector::default(), Lines::default());
    let keys = [at(2, "keys", 5)];
    for other in 0..128 {
        failed(&mut collector, 0, decision(&format!("/user/keys/once-{other}"), 1_000 + other, STOPPED));
    }
    for second in 1..=3 {
        let child_type = "shop::Ledger";
        failed(&mut collector, second, Decision { child_type, ..decision("/user/keys/ledger", second, STOPPED) });
    }
    assert_eq!(lines.after(&look(&mut collector, 4, &keys)).len(), 1);
    for other in 0..300 {
        for second in 5..8 {
            failed(&mut collector, 7, decision(&format!("/user/keys/{other}"), 1_000 * second + other, STOPPED));
        }
    }
    let view = look(&mut collector, 8, &keys);
    assert_eq!(view.cards.len(), 1, "{:?}", view.cards);
    let said = lines.after(&view);
    assert!(matches!(&said[..], [Line::Is { at_least: true, .. }]), "{said:?}");
    // As long as the card would say "at least", the log does not say that a loop is over.
    for second in [68, 300, 607] {
        let view = look(&mut collector, second, &keys);
        assert_eq!((lines.after(&view), view.cards.len()), (Vec::new(), 0), "{second}");
    }
    let view = look(&mut collector, 608, &keys);
    let ledger = |line: &Line<'_>| matches!(line, Line::Over { path, after, .. } if path == "/user/keys/ledger" && *after == secs(7));
    let said = lines.after(&view);
    assert_eq!((said.len(), said.iter().filter(|line| ledger(line)).count()), (2, 1), "{said:?}");
}

/// CON-13: of places that fail rarely, more may be in a loop than are remembered. Rule 22.4.
#[test]
fn con_13_more_places_than_are_remembered_fail_at_long_intervals() {
    let mut collector = Collector::default();
    let keys = [at(2, "keys", 5)];
    for (round, second) in [0, 10, 20, 70, 200].into_iter().enumerate() {
        for place in 0..300 {
            let key = 1_000 * (round as u64 + 1) + place;
            failed(&mut collector, second, decision(&format!("/user/keys/{place}"), key, STOPPED));
        }
    }
    for second in [201, 300, 580] {
        let view = look(&mut collector, second, &keys);
        let [card] = &view.cards[..] else { panic!("{second}: {:?}", view.cards) };
        assert_eq!((card.kind, card.at_least), (Kind::RestartLoop, true), "{second}");
    }
}

/// CON-13: places that fail rarely do not take the room of loops. Rule 22.4.
#[test]
fn con_13_places_that_fail_every_few_minutes_do_not_hide_a_loop() {
    let mut collector = Collector::default();
    let mut key = 100;
    let mut fails = |collector: &mut Collector, second, name, places: std::ops::Range<u64>| {
        for place in places {
            key += 1;
            failed(collector, second, decision(&format!("/user/keys/{name}-{place}"), key, STOPPED));
        }
    };
    // Each gap is at most three times as long as the one before.
    for second in [0, 50, 200, 600, 1_000] {
        fails(&mut collector, second, "rare", 0..128);
    }
    // Each of 3000 places fails once in 20 s.
    for second in 1_100..1_160 {
        let part = second % 20;
        fails(&mut collector, second, "often", 150 * part..150 * (part + 1));
    }
    let view = look(&mut collector, 1_160, &[at(2, "keys", 5)]);
    let found: Vec<_> = view.cards.iter().map(|card| (card.kind, card.actors, card.at_least)).collect();
    assert_eq!(found, [(Kind::RestartLoop, 128, true)]);
}

/// CON-13: an actor that waits long for its restart keeps no room for those that are calm, so that other loops are found. Rule 22.4.
#[test]
fn con_13_a_long_delay_does_not_keep_the_room_of_actors_that_are_calm() {
    let mut collector = Collector::default();
    for second in 0..3 {
        let attempt = u32::try_from(second).expect("it is small") + 1;
        failed(&mut collector, second, Decision { attempt, ..decision("/user/gateway", 7, delayed(86_400)) });
    }
    for other in 0..2_047 {
        failed(&mut collector, 10, decision("/user/session", 10_000 + other, restarting()));
    }
    for round in 0..3 {
        for key in 0..6_000 {
            failed(&mut collector, 1_000 + 10 * round, decision("/user/session", 100_000 + key, restarting()));
        }
    }
    let mut actors: Vec<Sight<'_>> = (0..6_000).map(|key| at(2, "session", 100_000 + key)).collect();
    let due = Some(secs(86_402));
    actors.push(Sight {
        state: NodeState::Failed,
        attempt: 3,
        due,
        actor_type: "shop::Gateway",
        ..at(2, "gateway", 7)
    });
    let view = look(&mut collector, 1_021, &actors);
    let found: Vec<_> = view.cards.iter().map(|card| (card.kind, &*card.actor_type, card.actors)).collect();
    assert_eq!(found, [(Kind::RestartLoop, "Gateway", 1), (Kind::RestartLoop, "Actor", 2_047)]);
}

/// CON-13: a loop that comes back while the log may not say that it was over is a new one. Rules 22.4 and 22.10.
#[cfg(feature = "tracing")]
#[test]
fn con_13_a_second_loop_has_a_line_of_its_own_although_others_are_forgotten() {
    use super::super::super::lines::{Line, Lines};
    let (mut collector, mut lines) = (Collector::default(), Lines::default());
    let clerk = [at(2, "clerk", 7)];
    let mut said = Vec::new();
    for second in 0..2_400_u64 {
        // More actors fail than are remembered, all the time.
        for other in 0..100 {
            let key = 1_000 + 100 * second + other;
            failed(&mut collector, second, decision(&format!("/user/keys/{key}"), key, Outcome::Resumed));
        }
        if [100, 101, 102, 1_000, 1_001, 1_002].contains(&second) {
            failed(&mut collector, second, decision("/user/clerk", 7, restarting()));
        }
        let view = look(&mut collector, second, &clerk);
        for line in lines.after(&view) {
            match line {
                Line::Is { again, lasts, .. } => said.push((second, again, lasts)),
                Line::Over { .. } => panic!("{second}: {line:?}"),
            }
        }
    }
    assert_eq!(said, [(102, false, secs(2)), (1_002, false, secs(2))]);
}

/// CON-13: as long as only actors near a limit with a long window are forgotten, the log says that a loop is over. Rules 22.4 and 22.10.
#[cfg(feature = "tracing")]
#[test]
fn con_13_a_loop_is_said_to_be_over_although_actors_near_a_limit_are_forgotten() {
    use super::super::super::lines::{Line, Lines};
    let (mut collector, mut lines) = (Collector::default(), Lines::default());
    let mut actors = clerks_near_their_limits(&mut collector, 3_600);
    actors.push(Sight { actor_type: "shop::Gateway", ..at(2, "gateway", 7) });
    for second in 700..703 {
        let child_type = "shop::Gateway";
        failed(&mut collector, second, Decision { child_type, ..decision("/user/gateway", 7, restarting()) });
    }
    for (second, cards, over) in [(703, 2, 0), (762, 2, 0), (763, 1, 1)] {
        let view = look(&mut collector, second, &actors);
        let said = lines.after(&view);
        let is_over = |line: &&Line<'_>| matches!(line, Line::Over { path, .. } if path == "/user/gateway");
        assert_eq!((view.cards.len(), said.iter().filter(is_over).count()), (cards, over), "{second}: {said:?}");
        assert!(view.cards.iter().any(|card| card.kind == Kind::NearLimit && card.at_least), "{second}");
    }
}
