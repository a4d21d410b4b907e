//! Limits, restart loops, escalations and lost messages.

use super::*;

/// CON-12.
#[test]
fn con_12_near_its_limit_says_what_comes_then() {
    let budget = |used, of, escalates| Budget {
        used,
        of,
        within: Some(secs(60)),
        escalates,
        rule: None,
        anew_at: None,
        slides: false,
    };
    let near = |budget| Sight { budget: Some(budget), ..at(2, "smtp", 7) };
    let says = |budget| {
        let view = look(&mut Collector::default(), 0, &[near(budget)]);
        view.cards.first().map(|card| (card.kind, card.says.clone()))
    };
    assert_eq!(says(budget(3, 5, false)), None);
    assert_eq!(
        says(budget(1, 1, false)),
        None,
        "a limit of one has no warning, because a single failure uses it up"
    );
    let said = |text: &str| Some((Kind::NearLimit, text.to_owned()));
    assert_eq!(
        says(budget(4, 5, true)),
        said("4 of 5 restarts in 1 min used. One restart is left; the failure after it fails /user.")
    );
    let anew = Budget { anew_at: Some(secs(9)), ..budget(5, 5, false) };
    let full = "5 of 5 restarts in 1 min used. The next failure stops it.";
    assert_eq!(says(anew), said(&format!("{full} The count starts anew in 9 s.")));
    let unknown = Budget { within: None, slides: true, ..anew };
    assert_eq!(
        says(unknown),
        said("5 of 5 restarts used. The next failure stops it. The oldest of them stops counting in 9 s.")
    );
    let life = Budget { within: None, ..budget(5, 5, false) };
    assert_eq!(says(life), said("5 of 5 restarts of its life used. The next failure stops it."));
    let slides = Budget { slides: true, ..anew };
    assert_eq!(says(slides), said(&format!("{full} The oldest of them stops counting in 9 s.")));
}

/// CON-13, CON-11.
#[test]
fn con_11_con_13_a_restart_loop_shows_the_rule_and_the_countdown() {
    let mut collector = Collector::default();
    for second in [10, 30] {
        failed(&mut collector, second, decision("/user/gateway", 7, restarting()));
    }
    assert!(look(&mut collector, 40, &[at(2, "gateway", 7)]).cards.is_empty(), "two failures are not a loop");
    failed(&mut collector, 50, decision("/user/gateway", 7, restarting()));
    let view = look(&mut collector, 51, &[at(2, "gateway", 7)]);
    assert_eq!(kinds(&view), [(Kind::RestartLoop, "/user/gateway")]);
    assert_eq!(
        view.cards[0].says,
        "Failed 3 times in 40 s. /user decides, rule `io::Error`: restart at once. The last one was 1 s ago."
    );
    assert_eq!(view.cards[0].cause.as_deref(), Some("refused"));
    let endless = |delays| Sight { endless: Some(Endless { delays }), ..at(2, "gateway", 7) };
    for delays in [false, true] {
        let view = look(&mut collector, 51, &[endless(delays)]);
        assert!(view.cards[0].says.ends_with("1 s ago. No limit: it is tried again after each such failure."));
    }
    assert!(look(&mut collector, 71, &[at(2, "gateway", 7)]).cards.is_empty(), "the first was over a minute ago");

    let slow = Outcome::Restarting { children: 1, delay: Some(secs(300)) };
    failed(&mut collector, 400, Decision { attempt: 3, ..decision("/user/gateway", 7, slow) });
    let waits = |delays| Sight { state: NodeState::Failed, due: Some(secs(700)), ..endless(delays) };
    let next = "It is failure 3 in a row; next try in 4 min 50 s.";
    let view = look(&mut collector, 410, &[waits(false)]);
    assert!(view.cards[0].says.ends_with(next), "the delay depends on the instance: {:?}", view.cards);
    let view = look(&mut collector, 410, &[waits(true)]);
    assert!(view.cards[0].says.contains(&format!("{next} No limit:")), "{:?}", view.cards);
}

/// CON-15.
#[test]
fn con_15_an_escalation_shows_origin_supervisors_and_end() {
    let mut collector = Collector::default();
    failed(&mut collector, 1, decision("/user/pay/gateway/line", 7, Outcome::Escalated));
    let view = look(&mut collector, 2, &[]);
    assert!(view.cards[0].says.contains("/user/pay/gateway failed with it"), "{:?}", view.cards);
    failed(&mut collector, 3, decision("/user/other", 9, restarting()));
    failed(&mut collector, 3, decision("/user/pay/gateway", 8, Outcome::LimitEscalated));
    failed(&mut collector, 3, decision("/user/pay", 6, Outcome::LimitReached { children: 1 }));
    let view = look(&mut collector, 4, &[]);
    assert_eq!(kinds(&view), [(Kind::BranchDown, "/user/pay")]);
    assert_eq!(
        view.cards[0].says,
        "The failure was escalated: /user/pay/gateway/line → /user/pay/gateway → /user/pay. /user stopped /user/pay at \
         the limit: 1 of 5 restarts used, 1 s ago."
    );
    assert!(look(&mut collector, 1_000, &[]).cards.is_empty(), "it was more than 15 minutes ago");
    let full = Decision {
        used: Some((5, 5)),
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
                "The failure was escalated at the limit (5 of 5 restarts used): /user/office/reports → /user/office. \
                 /user stopped /user/office, with 1 sibling, 0 ms ago."
            ),
            ("/user/office/reports", "/user/office stopped it at the limit: 5 of 5 restarts used, 0 ms ago."),
        ]
    );
    assert!(look(&mut collector, 2_000, &[]).cards.is_empty());
    failed(&mut collector, 2_001, decision("/user/pay/line", 7, Outcome::Escalated));
    failed(&mut collector, 2_001, decision("/user/pay", 6, restarting()));
    assert!(look(&mut collector, 2_002, &[]).cards.is_empty(), "a branch that restarted is not down");
}

#[test]
fn ten_lost_messages_within_a_minute_are_a_card() {
    let mut collector = Collector::default();
    for n in 0..9 {
        lose(&mut collector, secs(n), "/user/reports", "Track");
    }
    assert!(look(&mut collector, 10, &[]).cards.is_empty());
    lose(&mut collector, secs(11), "/user/reports", "Close");
    let view = look(&mut collector, 12, &[]);
    assert_eq!(kinds(&view), [(Kind::MessagesLost, "/user/reports")]);
    assert_eq!(
        view.cards[0].says,
        "10 dead letters in the last 12 s, 90 % `Track`: the recipient has ended. The last one was 1 s ago."
    );
    assert!(look(&mut collector, 61, &[]).cards.is_empty());
    let names: Vec<String> = (0..1_000).map(|n| format!("/user/s{n}")).collect();
    for name in &names {
        lose(&mut collector, secs(100), name, "Ping");
    }
    let view = look(&mut collector, 101, &[]);
    assert_eq!(view.cards.len(), 1, "one card for many recipients");
    assert!(view.cards[0].says.starts_with("256 dead letters to 256 recipients"), "{:?}", view.cards);
}

/// CON-18: whatever happens, the memory is bounded, and what was missed is counted.
#[test]
fn con_18_a_hundred_thousand_failures_leave_a_bounded_memory() {
    let mut collector = Collector::default();
    for key in 0..100_000 {
        let child = format!("/user/a{}", key % 20_000);
        let outcome = match key % 3 {
            0 => restarting(),
            1 => Outcome::Escalated,
            _ => Outcome::LimitReached { children: 1 },
        };
        failed(&mut collector, 1, decision(&child, key % 20_000, outcome));
        lose(&mut collector, secs(1), &child, "Ping");
    }
    collector.happened(Happening::Missed(7), secs(1));
    let view = look(&mut collector, 2, &[]);
    let kept = (collector.failures.len(), collector.history.failures.len(), collector.history.falls.len());
    assert_eq!(kept, (4_096, 512, 64));
    assert_eq!((collector.history.losing.len(), view.missed, view.failures.len()), (256, 7, 60));
    assert!(view.cards.len() <= MOST_CARDS && view.cards.len() + view.more_cards == 65);
    assert!(super::super::super::json::json("shop", &view, &Listing::default()).len() < 64 * 1_024);
}
