//! Escalations, and branches that are down.

use super::*;

/// CON-15.
#[test]
fn con_15_an_escalation_shows_origin_supervisors_and_end() {
    let mut collector = Collector::default();
    failed(&mut collector, 1, decision("/user/pay/gateway/line", 7, Outcome::Escalated));
    let view = look(&mut collector, 2, &[]);
    assert!(view.cards[0].says.contains("/user/pay/gateway failed too"), "{:?}", view.cards);
    failed(&mut collector, 3, decision("/user/other", 9, restarting()));
    failed(&mut collector, 3, decision("/user/pay/gateway", 8, Outcome::LimitEscalated));
    failed(&mut collector, 3, decision("/user/pay", 6, Outcome::LimitReached { children: 1 }));
    let view = look(&mut collector, 4, &[]);
    assert_eq!(kinds(&view), [(Kind::BranchDown, "/user/pay")]);
    assert_eq!(
        view.cards[0].says,
        "The failure was escalated: /user/pay/gateway/line → /user/pay/gateway → /user/pay. /user stopped /user/pay at \
         the limit: 1 of 5 restarts used, rule `io::Error`."
    );
    assert_eq!(
        kinds(&look(&mut collector, 3_600, &[])),
        [(Kind::BranchDown, "/user/pay")],
        "nobody has repaired it"
    );
    assert!(look(&mut collector, 3_700, &[]).cards.is_empty(), "it was more than an hour ago");
    let full = Decision {
        during: Some(During::Handler("track")),
        used: Some((5, 5)),
        supervisor_key: 4,
        ..decision("/user/office/reports", 5, Outcome::LimitReached { children: 1 })
    };
    failed(&mut collector, 1_000, full.clone());
    failed(&mut collector, 1_000, Decision { outcome: Outcome::LimitEscalated, ..full });
    failed(&mut collector, 1_000, decision("/user/office", 4, Outcome::Stopped { children: 2 }));
    let view = look(&mut collector, 1_000, &[]);
    let says: Vec<_> = view.cards.iter().map(|card| (&*card.path, &*card.says)).collect();
    assert_eq!(
        says,
        [
            (
                "/user/office",
                "reports failed in `track`. The failure was escalated at the limit (5 of 5 restarts used): \
                 /user/office/reports → /user/office. /user stopped /user/office, with 1 sibling, rule `io::Error`."
            ),
            (
                "/user/office/reports",
                "It failed in `track`. /user/office stopped it at the limit: 5 of 5 restarts used, rule `io::Error`."
            ),
        ]
    );
    assert!(look(&mut collector, 8_000, &[]).cards.is_empty());
    failed(&mut collector, 8_001, decision("/user/pay/line", 7, Outcome::Escalated));
    failed(&mut collector, 8_001, decision("/user/pay", 6, restarting()));
    assert!(look(&mut collector, 8_002, &[]).cards.is_empty(), "a branch that restarted is not down");
}

/// CON-15. An actor to which somebody still sends has not been given up.
#[test]
fn con_15_a_branch_is_down_as_long_as_messages_to_it_are_lost() {
    let mut collector = Collector::default();
    failed(&mut collector, 10, decision("/user/reports", 5, Outcome::LimitReached { children: 1 }));
    failed(&mut collector, 10, decision("/user/mail", 6, Outcome::LimitReached { children: 1 }));
    for minute in 0..120 {
        lose(&mut collector, Duration::from_secs(60 * minute), "/user/reports", "Track");
        look(&mut collector, 60 * minute, &[]);
    }
    let view = look(&mut collector, 7_200, &[]);
    assert_eq!((kinds(&view), view.down), (vec![(Kind::BranchDown, "/user/reports")], 1));
    assert!(look(&mut collector, 8_200, &[]).cards.is_empty(), "nobody has sent to it for 15 minutes");
}

/// Rule 22.3: alike branches share a card, so that they do not push out what else is wrong.
#[test]
fn con_15_alike_branches_share_one_card() {
    let mut collector = Collector::default();
    let names: Vec<String> = (0..40).map(|n| format!("/user/office/s{n}")).collect();
    let limit = Outcome::LimitReached { children: 1 };
    for (second, name) in (10..).zip(&names) {
        failed(&mut collector, second, Decision { child_type: "shop::Session", ..decision(name, second, limit) });
    }
    failed(
        &mut collector,
        60,
        Decision { child_type: "shop::Ledger", ..decision("/user/office/ledger", 9, limit) },
    );
    let view = look(&mut collector, 70, &[]);
    assert_eq!(kinds(&view), [(Kind::BranchDown, "/user/office/ledger"), (Kind::BranchDown, "/user/office/s39")]);
    let [_, sessions] = &view.cards[..] else { unreachable!("counted") };
    assert_eq!((sessions.actors, sessions.since, view.down), (40, Some(secs(10)), 41));
    assert!(sessions.tell(view.now).ends_with("The last one was 21 s ago."), "{sessions:?}");
    let all = text("shop", &view, Duration::ZERO);
    assert!(all.contains("Branch down: 40 × Session, the last is /user/office/s39\n"), "{all}");
    // The text of one actor tells of its own end, and that of its supervisor of each child.
    let of = |path| super::super::super::text::actor("shop", &view, Duration::ZERO, path, None);
    assert!(
        of("/user/office/s3").contains("Branch down: /user/office stopped it at the limit"),
        "{}",
        of("/user/office/s3")
    );
    assert!(of("/user/office").contains("Branch down, /user/office/ledger: "), "{}", of("/user/office"));
}

/// CON-15: a place is down once, however often an actor in it reached its limit. Rule 22.3.
#[test]
fn con_15_a_place_that_fell_twice_is_one_branch() {
    let mut collector = Collector::default();
    let limit = Outcome::LimitReached { children: 1 };
    failed(&mut collector, 10, decision("/user/desk/clerk", 7, limit));
    // Another actor takes its place, and reaches its limit too, before a look finds it.
    let during = Some(During::Handler("stamp"));
    failed(&mut collector, 20, Decision { during, ..decision("/user/desk/clerk", 8, limit) });
    let view = look(&mut collector, 21, &[]);
    let [card] = &view.cards[..] else { panic!("{:?}", view.cards) };
    assert_eq!((view.down, card.actors, card.since), (1, 1, Some(secs(20))));
    // So it is if a failure from below stops it.
    failed(&mut collector, 30, decision("/user/desk/clerk/pen", 9, Outcome::Escalated));
    failed(&mut collector, 30, decision("/user/desk/clerk", 10, Outcome::Stopped { children: 1 }));
    let view = look(&mut collector, 31, &[]);
    assert_eq!((view.down, view.cards[0].since), (1, Some(secs(30))), "{:?}", view.cards);
}

/// CON-15: escalations that end in a restart do not push out a branch that is down. Rule 22.4.
#[test]
fn con_15_escalations_that_end_well_leave_the_branches_that_are_down() {
    let mut collector = Collector::default();
    failed(&mut collector, 1, decision("/user/ledger", 7, Outcome::LimitReached { children: 1 }));
    for second in 2..102 {
        failed(&mut collector, second, decision("/user/pay/line", 8, Outcome::Escalated));
        failed(&mut collector, second, decision("/user/pay", 6, restarting()));
    }
    assert_eq!(kinds(&look(&mut collector, 103, &[])), [(Kind::BranchDown, "/user/ledger")]);
}

/// CON-15: a supervisor that runs is not down, although the console has missed what was decided about its failure.
#[test]
fn con_15_a_supervisor_that_runs_is_not_down_if_its_decision_was_missed() {
    let mut collector = Collector::default();
    let pay = |state| [Sight { state, ..at(2, "pay", 6) }];
    look(&mut collector, 0, &[]);
    failed(&mut collector, 1, decision("/user/pay/line", 7, Outcome::Escalated));
    collector.happened(Happening::Missed(5), secs(1));
    let view = look(&mut collector, 2, &pay(NodeState::Failed));
    assert_eq!(kinds(&view), [(Kind::BranchDown, "/user/pay")]);
    look(&mut collector, 7, &pay(NodeState::Running));
    let view = look(&mut collector, 12, &pay(NodeState::Running));
    assert_eq!(kinds(&view), []);
    // A later failure of its own is not that old one.
    failed(&mut collector, 60, decision("/user/pay", 6, Outcome::LimitReached { children: 1 }));
    let view = look(&mut collector, 61, &[]);
    assert_eq!(view.cards[0].says, "/user stopped it at the limit: 1 of 5 restarts used, rule `io::Error`.");
}

/// A reminder counts from the last time that a branch went down. Rule 22.10.
#[cfg(feature = "tracing")]
#[test]
fn con_15_a_line_about_a_branch_counts_from_its_last_fall() {
    use super::super::super::lines::{Line, Lines};
    let (mut collector, mut lines) = (Collector::default(), Lines::default());
    let limit = Outcome::LimitReached { children: 1 };
    failed(&mut collector, 10, decision("/user/desk/clerk", 7, limit));
    assert_eq!(lines.after(&look(&mut collector, 11, &[])), []);
    // Another actor takes its place and reaches its limit too, before the next look.
    failed(&mut collector, 130, decision("/user/desk/clerk", 8, limit));
    let view = look(&mut collector, 131, &[]);
    let lines = lines.after(&view);
    let [Line::Is { lasts, .. }] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(*lasts, secs(1));
}

/// CON-15: a pattern that gives its last child up is one branch, whatever its children's places were.
#[test]
fn con_15_a_pattern_that_gave_up_is_down_until_another_one_takes_its_place() {
    let mut collector = Collector::default();
    let limit = Outcome::LimitReached { children: 1 };
    let during = Some(During::Handler("stamp"));
    failed(&mut collector, 10, decision("/user/pool/worker-1", 7, limit));
    failed(&mut collector, 11, Decision { during, ..decision("/user/pool/worker-2", 8, limit) });
    failed(&mut collector, 12, decision("/user/pools", 9, limit));
    let given_up = GivenUp {
        key: 6,
        actor: "/user/pool".to_owned(),
        actor_type: "pattern::Pool<shop::Worker>",
        supervisor_key: 2,
    };
    collector.happened(Happening::GaveUp(given_up), secs(13));
    let view = look(&mut collector, 14, &[]);
    assert_eq!(kinds(&view), [(Kind::BranchDown, "/user/pool"), (Kind::BranchDown, "/user/pools")]);
    let card = &view.cards[0];
    let says = "worker-2 failed in `stamp`. No other actor took the place of its last child, so it stopped.";
    assert_eq!((&*card.says, &*card.actor_type, card.cause.as_deref()), (says, "Pool<Worker>", Some("refused")));
    collector.forget_repaired(|path| (path == "/user/pool").then_some(60));
    assert_eq!(kinds(&look(&mut collector, 15, &[])), [(Kind::BranchDown, "/user/pools")]);
}
