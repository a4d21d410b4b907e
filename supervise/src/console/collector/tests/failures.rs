//! Restart loops, what has ended, lost messages, and how much of them is remembered.

use super::super::super::cards::name;
use super::*;

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
        view.cards[0].tell(view.now),
        "Failed 3 times within 40 s. /user decides, rule `io::Error`: restart at once. The last one was 1 s ago."
    );
    assert_eq!(view.cards[0].cause.as_deref(), Some("refused"));
    let endless = |delays| Sight { endless: Some(Endless { delays }), ..at(2, "gateway", 7) };
    for delays in [false, true] {
        let view = look(&mut collector, 51, &[endless(delays)]);
        let end = "No limit: this rule restarts it each time. The last one was 1 s ago.";
        assert!(view.cards[0].tell(view.now).ends_with(end), "{:?}", view.cards);
    }
    let is_over =
        |collector: &mut Collector, second| look(collector, second, &[at(2, "gateway", 7)]).cards.is_empty();
    assert_eq!(
        [110, 111].map(|second| is_over(&mut collector, second)),
        [false, true],
        "the last was over a minute ago"
    );

    let slow = Outcome::Restarting { children: 1, delay: Some(secs(300)) };
    failed(&mut collector, 400, Decision { attempt: 3, ..decision("/user/gateway", 7, slow) });
    let waits = |delays| Sight { state: NodeState::Failed, due: Some(secs(700)), ..endless(delays) };
    let says = |collector: &mut Collector, delays| {
        let view = look(collector, 410, &[waits(delays)]);
        view.cards[0]
            .tell(view.now)
            .split_once("That was its 3rd failure in a row. ")
            .map(|(_, end)| end.to_owned())
    };
    let next = "The next try comes in 4 min 50 s.";
    assert_eq!(says(&mut collector, false).as_deref(), Some(next), "the delay depends on the instance");
    let endless = format!("No limit: this rule restarts it each time. {next}");
    assert_eq!(says(&mut collector, true), Some(endless));
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
        view.cards[0].tell(view.now),
        "10 dead letters, 90 % `Track`: the recipient has ended. Sent by /user/till. The last one was 1 s ago."
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
    let down: Vec<_> = view.cards.iter().map(|card| (card.kind, card.actors)).collect();
    assert_eq!(down, [(Kind::BranchDown, 32), (Kind::BranchDown, 32), (Kind::MessagesLost, 256)]);
    assert_eq!((view.down, view.more_cards), (64, 0));
    assert!(super::super::super::json::json("shop", &view, &Listing::default()).len() < 64 * 1_024);
}

/// CON-18: the bytes that the collector and its view take, at their most, with long paths and with texts as long as they get.
#[test]
fn con_18_a_hundred_thousand_failures_take_less_than_16_mib() {
    const LONGEST_TEXT: usize = 512;
    let above = "/user/a-branch-with-a-long-name".repeat(6);
    let most = allocation_counter::measure(|| {
        let mut collector = Collector::default();
        for key in 0..100_000 {
            let child = format!("{above}/a{}", key % 20_000);
            let outcome = [restarting(), Outcome::Escalated, Outcome::LimitReached { children: 1 }][key % 3];
            let text = "x".repeat(LONGEST_TEXT);
            failed(
                &mut collector,
                1,
                Decision { text, ..decision(&child, u64::try_from(key % 20_000).expect("few"), outcome) },
            );
            lose(&mut collector, secs(1), &child, "Ping");
        }
        let view = look(&mut collector, 2, &[]);
        assert_eq!((view.failures.len(), view.down), (60, 64));
        drop(super::super::super::json::json("shop", &view, &Listing::default()));
    });
    assert!((1_000_000..16 * 1_024 * 1_024).contains(&most.bytes_max), "{} bytes", most.bytes_max);
    assert_eq!(most.bytes_current, 0, "something outlives the collector");
}

/// Question 9: which actors ended within the hour, in which handler and by which rule. The list of the last failures soon shows other actors.
#[test]
fn con_27_the_text_names_the_handler_and_the_rule_of_what_ended() {
    let mut collector = Collector::default();
    let ended = Decision {
        during: Some(During::Handler("track")),
        used: Some((5, 5)),
        ..decision("/user/office/reports", 5, Outcome::LimitReached { children: 1 })
    };
    failed(&mut collector, 10, ended);
    for second in 11..=40 {
        failed(&mut collector, second, decision("/user/gateway", 7, restarting()));
    }
    let view = look(&mut collector, 3_000, &[at(2, "gateway", 7)]);
    assert_eq!(kinds(&view), [(Kind::BranchDown, "/user/office/reports")]);
    let text = text("shop", &view, Duration::ZERO);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains(
            "Ended by a failure in the last hour: 49 min 50 s ago /user/office/reports failed in `track`: refused; stopped \
             at its limit, rule `io::Error` of /user/office, 5 of 5 used"
        ),
        "{text}"
    );
    let view = look(&mut collector, 3_700, &[at(2, "gateway", 7)]);
    assert!(!super::text("shop", &view, Duration::ZERO).contains("Ended"));
}

/// Question 10: which actors are not well, including those that are not the worst of their kind.
#[test]
fn con_27_the_text_names_who_is_not_well() {
    let stuck = |key| Sight { handling: true, parked: true, pushed: 3, waiting: 2, ..at(2, "pool", key) };
    let actors: Vec<Sight<'_>> = (10..40).map(stuck).collect();
    let mut collector = Collector::default();
    look(&mut collector, 0, &actors);
    let view = look(&mut collector, 6, &actors[..2]);
    let words = |view| text("shop", view, Duration::ZERO).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&view).contains("Not well: /user/pool, /user/pool."), "{}", words(&view));
    let view = look(&mut collector, 7, &actors);
    look(&mut collector, 8, &actors);
    let all = look(&mut collector, 13, &actors);
    assert_eq!((view.ill, all.ill, all.unwell.len()), (2, 30, 20));
    assert!(words(&all).contains("/user/pool and 10 more."), "{}", words(&all));
}

/// A failure between the reading of the events and the look at its actor belongs to the next look.
#[test]
fn con_11_a_card_does_not_mix_two_failures() {
    let mut collector = Collector::default();
    let slow = Outcome::Restarting { children: 1, delay: Some(secs(30)) };
    for attempt in 5..=7_u32 {
        let decision = Decision { attempt, ..decision("/user/gateway", 7, slow) };
        failed(&mut collector, u64::from(attempt) * 30, decision);
    }
    let says = |collector: &mut Collector, seconds, attempt, due| {
        let waits = Sight { state: NodeState::Failed, attempt, due: Some(secs(due)), ..at(2, "gateway", 7) };
        look(collector, seconds, &[waits]).cards[0].tell(secs(seconds))
    };
    let text = says(&mut collector, 220, 7, 240);
    assert!(text.contains("That was its 7th failure in a row. The next try comes in 20 s."), "{text}");
    // The eighth failure has happened, and its event was not read yet.
    let text = says(&mut collector, 239, 8, 269);
    assert!(text.contains("That was its 7th failure in a row. The next try comes in 1 s."), "{text}");
}

/// Two cards of one kind do not change places at each look, while one overtakes the other.
#[test]
fn con_25_cards_keep_their_places_while_their_numbers_grow() {
    let mut collector = Collector::default();
    let stuck = |key, name, actor_type, waiting: u32| {
        // It has taken up one message, and is in it.
        let (handling, parked, pushed, waiting) = (true, true, waiting + 1, waiting as usize);
        Sight { actor_type, handling, parked, pushed, waiting, ..at(2, name, key) }
    };
    let mut order = |seconds, older, later| {
        let actors = [stuck(7, "older", "A", older), stuck(8, "later", "B", later)];
        let view = look(&mut collector, seconds, &actors[..if seconds == 0 { 1 } else { 2 }]);
        view.cards.iter().map(|card| name(&card.path).to_owned()).collect::<Vec<_>>()
    };
    order(0, 10, 0);
    order(1, 10, 10);
    assert_eq!(order(7, 20, 30), ["older", "later"]);
    assert_eq!(order(8, 50, 40), ["older", "later"]);
    assert_eq!(order(9, 60, 80), ["older", "later"]);
    assert_eq!(order(10, 70, 700), ["later", "older"], "ten times as many");
}

/// Rule 22.4: what failed last is remembered, not what failed first.
#[test]
fn con_18_a_long_restart_loop_outlives_the_failures_of_thousands() {
    let mut collector = Collector::default();
    for key in 0..10_000 {
        if key % 100 == 0 {
            failed(&mut collector, 10, decision("/user/gateway", 7, restarting()));
        }
        failed(&mut collector, 10, decision("/user/session", 100 + key, Outcome::Resumed));
    }
    let view = look(&mut collector, 11, &[at(2, "gateway", 7)]);
    assert_eq!((kinds(&view), collector.failures.len()), (vec![(Kind::RestartLoop, "/user/gateway")], 4_096));
    assert!(view.cards[0].says.starts_with("Failed 100 times within"), "{:?}", view.cards);
}

/// Rule 22.3: recipients that lose the same messages for the same reason share a card. None of their losses is over by that. Rule 22.10.
#[test]
fn con_27_recipients_that_lose_alike_share_one_card() {
    let mut collector = Collector::default();
    let lose_ten = |collector: &mut Collector, second, recipient, message| {
        (0..10).for_each(|_| lose(collector, secs(second), recipient, message));
    };
    lose_ten(&mut collector, 1, "/user/a", "Track");
    let view = look(&mut collector, 2, &[]);
    assert_eq!(kinds(&view), [(Kind::MessagesLost, "/user/a")]);
    lose_ten(&mut collector, 3, "/user/b", "Track");
    lose_ten(&mut collector, 4, "/user/c", "Close");
    let after = look(&mut collector, 5, &[]);
    assert_eq!(kinds(&after), [(Kind::MessagesLost, "/user/b"), (Kind::MessagesLost, "/user/c")]);
    assert_eq!(
        (after.cards[0].actors, after.cards[0].tell(after.now)),
        (
            2,
            "20 dead letters to 2 recipients, mostly `Track`: the recipient has ended. Sent by /user/till. The last one was 2 s ago."
                .to_owned()
        )
    );
    assert!(after.hidden.contains(&(Kind::MessagesLost, view.cards[0].subject.clone())), "{:?}", after.hidden);
}

/// Without texts of errors, a card has no empty line for one. Rule 22.6.
#[test]
fn con_24_a_card_without_a_text_has_no_line_for_it() {
    let mut collector = Collector::default();
    let quiet = |child, key, outcome| Decision { text: String::new(), ..decision(child, key, outcome) };
    (1..=3).for_each(|second| failed(&mut collector, second, quiet("/user/gateway", 7, restarting())));
    failed(&mut collector, 3, quiet("/user/reports", 8, Outcome::LimitReached { children: 1 }));
    let view = look(&mut collector, 4, &[at(2, "gateway", 7)]);
    assert_eq!(view.cards.len(), 2);
    assert!(!text("shop", &view, Duration::ZERO).contains("Why"), "{}", text("shop", &view, Duration::ZERO));
}

/// The timeline shows when failures began, however many there were since. Rule 22.4.
#[test]
fn con_17_the_timeline_counts_all_failures_of_fifteen_minutes() {
    let mut collector = Collector::default();
    failed(&mut collector, 100, decision("/user/mail/smtp", 5, restarting()));
    for tenth in 0..6_000 {
        let (at, attempt) = (Duration::from_millis(100_000 + tenth * 100), 1 + u32::from(tenth >= 3_000));
        let decision = Decision { attempt: attempt * 2, ..decision("/user/pay/gateway", 7, restarting()) };
        collector.happened(Happening::Failed(decision), at);
    }
    let view = look(&mut collector, 700, &[at(2, "pay", 6)]);
    let lanes: Vec<_> = view.lanes.iter().map(|lane| (&*lane.path, lane.failures())).collect();
    assert_eq!(lanes, [("/user/mail", 1), ("/user/pay", 6_000)]);
    let marks = &view.lanes[1].marks;
    assert_eq!((marks[0].slot, marks[0].is_bad, marks[marks.len() - 1].slot), (6, false, 46));
    assert_eq!((marks[10].failures, marks[30].is_bad), (150, true));
    // A lane that is held up has its place, and so has one in which something was done by hand.
    let busy: Vec<String> = (0..40).map(|n| format!("/user/a{n:02}")).collect();
    for (path, times) in busy.iter().zip(2..) {
        (0..times).for_each(|_| failed(&mut collector, 710, decision(path, times, Outcome::Resumed)));
    }
    let what = supervise_core::Intervention::Stop;
    let by_hand = Intervened { actor: "/user/zoo/lion".to_owned(), what, by: "night".to_owned() };
    collector.happened(Happening::Intervened(by_hand), secs(711));
    let stuck = Sight { handling: true, parked: true, pushed: 3, waiting: 2, ..at(2, "stock", 9) };
    look(&mut collector, 712, std::slice::from_ref(&stuck));
    let view = look(&mut collector, 720, &[stuck]);
    let lanes: Vec<_> = view.lanes.iter().map(|lane| &*lane.path).collect();
    assert_eq!((lanes.len(), view.more_lanes), (8, 26));
    assert!(
        lanes.contains(&"/user/stock") && lanes.contains(&"/user/zoo") && lanes.contains(&"/user/a39"),
        "{lanes:?}"
    );
}

/// CON-13: a place is in a loop however its actors are replaced, and a failure that ends one of them does not end the loop. Rule 22.10.
#[cfg(feature = "tracing")]
#[test]
fn con_13_a_loop_in_a_place_is_over_when_it_is_calm() {
    use super::super::super::lines::{Line, Lines};
    let (mut collector, mut lines) = (Collector::default(), Lines::default());
    let stopped = Outcome::Stopped { children: 1 };
    let keys = [at(2, "keys", 5)];
    for second in 0..40 {
        failed(&mut collector, second, decision("/user/keys/7", second, stopped));
        // Others fail once each, and there are more of them than places are remembered.
        for other in 0..20 {
            let path = format!("/user/keys/{}", 1_000 + 20 * second + other);
            failed(&mut collector, second, decision(&path, 1_000 + 20 * second + other, stopped));
        }
    }
    let view = look(&mut collector, 40, &keys);
    assert_eq!(kinds(&view), [(Kind::RestartLoop, "/user/keys/7")]);
    assert_eq!((view.cards[0].weight, view.cards[0].actors), (40, 1));
    assert!(matches!(&lines.after(&view)[..], [Line::Is { kind: Kind::RestartLoop, .. }]));
    assert_eq!(kinds(&look(&mut collector, 99, &keys)), [(Kind::RestartLoop, "/user/keys/7")]);
    let view = look(&mut collector, 100, &keys);
    assert_eq!((kinds(&view), lines.after(&view)), (vec![], vec![]), "others that are forgotten may be in a loop");
    let view = look(&mut collector, 640, &keys);
    let lines = lines.after(&view);
    let after = secs(100);
    assert!(
        matches!(&lines[..], [Line::Over { has_ended: false, after: said, .. }] if *said == after),
        "{lines:?}"
    );
}
