//! Limits, restart loops, escalations and lost messages.

use super::super::super::cards::name;
use super::*;

/// CON-12.
#[test]
fn con_12_near_its_limit_says_what_comes_then() {
    let budget = |used, of, escalates: bool| Budget {
        used,
        of,
        within: Some(secs(60)),
        counts: Counts::Own,
        takes: if escalates { Takes::Supervisor } else { Takes::Nobody },
        rule: None,
        anew_at: None,
        slides: false,
    };
    let near = |budget| Sight { budget: Some(budget), ..at(2, "smtp", 7) };
    let says = |budget| {
        let view = look(&mut Collector::default(), 0, &[near(budget)]);
        view.cards.first().map(|card| (card.kind, card.tell(view.now)))
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
        said(
            "4 of 5 restarts in 1 min used. One restart is left. The failure after it makes /user fail, and / decides. \
             No other actor is below /user."
        )
    );
    let anew = Budget { anew_at: Some(secs(9)), ..budget(5, 5, false) };
    let full = "5 of 5 restarts in 1 min used. The next failure stops it.";
    assert_eq!(says(anew), said(&format!("{full} The count starts anew in 9 s.")));
    let unknown = Budget { within: None, slides: true, ..anew };
    assert_eq!(
        says(unknown),
        said("5 of 5 restarts used. The next failure stops it. The oldest restart stops counting in 9 s.")
    );
    let life = Budget { within: None, ..budget(5, 5, false) };
    assert_eq!(says(life), said("5 of 5 restarts in its life used. The next failure stops it."));
    let slides = Budget { slides: true, ..anew };
    assert_eq!(says(slides), said(&format!("{full} The oldest restart stops counting in 9 s.")));
}

/// CON-12: an actor that fails in each window is not well, although the count starts anew again and again.
#[test]
fn con_12_who_keeps_failing_stays_near_its_limit() {
    let mut collector = Collector::default();
    // Two of three restarts are used 20 s after each window of 120 s began.
    let windows = [0, 125, 250];
    let budget = |second: u64| {
        let opened =
            windows.into_iter().rev().find(|opened| *opened <= second).filter(|opened| second <= opened + 120);
        Budget {
            used: opened.map_or(0, |opened| if second < opened + 20 { 1 } else { 2 }),
            of: 3,
            within: Some(secs(120)),
            counts: Counts::Own,
            takes: Takes::Supervisor,
            rule: None,
            anew_at: opened.map(|opened| secs(opened + 120)),
            slides: false,
        }
    };
    let mut cards = Vec::new();
    let mut said = Vec::new();
    for second in 0..=400 {
        for used in windows.into_iter().flat_map(|opened| [(opened, 1), (opened + 20, 2)]) {
            if used.0 == second {
                let restarts = Decision { used: Some((used.1, 3)), ..decision("/user/smtp", 7, restarting()) };
                failed(&mut collector, second, restarts);
            }
        }
        let view = look(&mut collector, second, &[Sight { budget: Some(budget(second)), ..at(2, "smtp", 7) }]);
        if let Some(card) = view.cards.first() {
            cards.push((second, card.since));
            said.push(card.tell(view.now));
        }
    }
    let (first, last) = (cards[0], cards[cards.len() - 1]);
    assert_eq!((first, last), ((20, Some(secs(20))), (390, Some(secs(20)))), "until 120 s after its last failure");
    assert_eq!(cards.len(), 371, "without a gap");
    assert_eq!(
        said[105],
        "1 of 3 restarts in 2 min used now. It was near this limit before, and counts as near it until it has not failed for \
         2 min. The count starts anew in 2 min."
    );
    assert!(said[102].starts_with("0 of 3 restarts in 2 min used now. It was near"), "{}", said[102]);
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
    assert!(look(&mut collector, 71, &[at(2, "gateway", 7)]).cards.is_empty(), "the first was over a minute ago");

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

/// CON-12: an actor that is near its limit and in a restart loop has one card, which says both.
#[test]
fn con_12_the_card_of_a_restart_loop_says_that_the_limit_is_near() {
    let budget = |used| Budget {
        used,
        of: 5,
        within: None,
        counts: Counts::Own,
        takes: Takes::Nobody,
        rule: None,
        anew_at: None,
        slides: false,
    };
    let title = |used| {
        let mut collector = Collector::default();
        for second in 1..=3 {
            failed(&mut collector, second, decision("/user/smtp", 7, restarting()));
        }
        let view = look(&mut collector, 4, &[Sight { budget: Some(budget(used)), ..at(2, "smtp", 7) }]);
        view.cards.iter().map(Card::title).collect::<Vec<_>>()
    };
    assert_eq!(title(3), ["Restart loop"]);
    assert_eq!(title(4), ["Restart loop, near its limit"]);
}

/// CON-12: a card that tells of a limit says who else goes when it is reached.
#[test]
fn con_12_a_limit_says_who_goes_along() {
    let budget = |takes| Budget {
        used: 4,
        of: 5,
        within: None,
        counts: Counts::Own,
        takes,
        rule: None,
        anew_at: None,
        slides: false,
    };
    let says = |takes, siblings: usize| {
        let near = Sight { budget: Some(budget(takes)), ..at(3, "smtp", 7) };
        let names = ["imap", "pop", "spool", "queue", "relay", "filter", "seal"];
        let siblings = names.iter().take(siblings).zip(20..).map(|(name, key)| at(3, name, key));
        let mut actors = vec![at(2, "mail", 5), near, at(4, "line", 8), at(4, "log", 9)];
        actors.extend(siblings);
        actors.extend([at(4, "deep", 30), at(2, "other", 40), at(3, "below", 41)]);
        let view = look(&mut Collector::default(), 0, &actors);
        let [card] = &view.cards[..] else { panic!("{:?}", view.cards) };
        card.says.split_once("The failure after it ").expect("what follows").1.to_owned()
    };
    let fails = "makes /user/mail fail, and /user decides.";
    assert_eq!(
        says(Takes::Supervisor, 1),
        format!("{fails} If /user/mail is not resumed, the 4 other actors below it go too: imap and 3 more.")
    );
    assert_eq!(
        says(Takes::Supervisor, 7),
        format!(
            "{fails} If /user/mail is not resumed, the 10 other actors below it go too: imap, pop, spool, queue, relay and 5 \
             more."
        )
    );
    assert_eq!(says(Takes::Nobody, 7), "stops it. With it go the actors below it: line, log.");
    assert_eq!(
        says(Takes::Siblings { later: false }, 2),
        "stops it. With it go 3 other actors: imap, pop and 1 more."
    );
    assert_eq!(
        says(Takes::Siblings { later: true }, 1),
        "stops it. With it go those of the 2 other actors below /user/mail that were started after it."
    );
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

/// CON-12: no alarm about a limit that the actor cannot reach, because it fails too rarely.
#[test]
fn con_12_an_actor_that_fails_too_rarely_to_reach_its_limit_is_not_near_it() {
    // It failed last at 100 s, after `pace`, and one restart is left: the second failure from now on would be too many.
    let cards = |pace: u64, slides, anew_at: u64| {
        let mut collector = Collector::default();
        for seconds in [100 - 3 * pace, 100 - pace, 100] {
            failed(&mut collector, seconds, decision("/user/smtp", 7, Outcome::Resumed));
        }
        let (within, anew_at) = (Some(secs(60)), Some(secs(anew_at)));
        let (counts, takes) = (Counts::Own, Takes::Supervisor);
        let budget = Budget { used: 4, of: 5, within, counts, takes, rule: None, anew_at, slides };
        let view = look(&mut collector, 101, &[Sight { budget: Some(budget), ..at(2, "smtp", 7) }]);
        view.cards.iter().map(|card| (card.kind, card.tell(view.now))).collect::<Vec<_>>()
    };
    let near = "4 of 5 restarts in 1 min used. One restart is left. The failure after it makes /user fail, and / decides. \
                No other actor is below /user. The count starts anew in ";
    assert_eq!(cards(10, false, 120), [(Kind::NearLimit, format!("{near}19 s."))]);
    assert_eq!(cards(10, false, 119), []);
    assert_eq!(
        cards(12, true, 110).len(),
        1,
        "of a sliding window, five restarts in 60 s are counted all the time"
    );
    assert_eq!(cards(13, true, 110), []);
    // A restart loop has its card in either case.
    let mut collector = Collector::default();
    (80..=100).step_by(10).for_each(|at| failed(&mut collector, at, decision("/user/smtp", 7, restarting())));
    let (within, anew_at) = (Some(secs(60)), Some(secs(110)));
    let (counts, takes) = (Counts::Own, Takes::Nobody);
    let budget = Budget { used: 4, of: 5, within, counts, takes, rule: None, anew_at, slides: false };
    let view = look(&mut collector, 101, &[Sight { budget: Some(budget), ..at(2, "smtp", 7) }]);
    let [card] = &view.cards[..] else { panic!("{:?}", view.cards) };
    assert_eq!((card.title().as_str(), card.near_limit), ("Restart loop", false));
    let said = card.tell(view.now);
    let end = "4 of 5 restarts in 1 min used. At this pace it will not reach the limit, where it would be stopped. The last one \
               was 1 s ago. The count starts anew in 9 s.";
    assert!(said.ends_with(end), "{said}");
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

/// CON-12: all children share one count, so the siblings of the one that fails are as well as before. Rule 22.3.
#[test]
fn con_12_a_limit_that_all_children_share_is_near_for_those_that_failed() {
    let (counts, within) = (Counts::All, Some(secs(60)));
    let budget = Budget {
        used: 4,
        of: 5,
        within,
        counts,
        takes: Takes::Nobody,
        rule: None,
        anew_at: Some(secs(160)),
        slides: false,
    };
    let clerk = |key| Sight { budget: Some(budget), ..at(2, "clerk", key) };
    let actors: Vec<Sight<'_>> = (10..110).map(clerk).collect();
    let mut collector = Collector::default();
    // Each failure of the one that fails now came too late after the one before to reach the limit alone.
    for seconds in [40, 100] {
        failed(&mut collector, seconds, decision("/user/clerk", 10, Outcome::Resumed));
    }
    failed(&mut collector, 20, decision("/user/clerk", 11, Outcome::Resumed));
    let view = look(&mut collector, 101, &actors);
    assert_eq!((view.ill, view.cards.len()), (1, 1), "{:?}", view.cards);
    let said = "4 of 5 restarts in 1 min used, by all children of /user together. One restart is left. The failure after it \
                stops it. The count starts anew in 59 s.";
    assert_eq!((view.cards[0].kind, view.cards[0].tell(view.now)), (Kind::NearLimit, said.to_owned()));
    assert_eq!(look(&mut collector, 161, &actors).ill, 0);
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

/// CON-12: whoever fails rarely is not near a limit while no restart counts either.
#[test]
fn con_12_who_has_slowed_down_does_not_come_near_its_limit_when_the_count_is_empty() {
    let mut collector = Collector::default();
    // It was near its limit 20 s after it began, and has failed once in 110 s since then.
    let (failures, within) = ([(0, 1), (20, 2), (125, 1), (235, 2), (345, 1)], 120);
    let windows = [0, 125, 345];
    let mut near = Vec::new();
    for second in 0..=500 {
        for (_, used) in failures.into_iter().filter(|failure| failure.0 == second) {
            let restarts = Decision { used: Some((used, 3)), ..decision("/user/smtp", 7, restarting()) };
            failed(&mut collector, second, restarts);
        }
        let opened = windows.into_iter().rev().find(|at| *at <= second).filter(|at| second <= at + within);
        let in_window = |at: u64| opened.is_some_and(|opened| opened <= at && at <= second);
        let budget = Budget {
            used: failures.iter().filter(|failure| in_window(failure.0)).map(|_| 1).sum(),
            of: 3,
            within: Some(secs(within)),
            counts: Counts::Own,
            takes: Takes::Nobody,
            rule: None,
            anew_at: opened.map(|opened| secs(opened + within)),
            slides: false,
        };
        let view = look(&mut collector, second, &[Sight { budget: Some(budget), ..at(2, "smtp", 7) }]);
        if !view.cards.is_empty() {
            near.push(second);
        }
    }
    let last = near.last().copied();
    assert!(last < Some(246), "it fails every 110 s, three in 120 s are too many: {near:?}");
}

/// CON-12: a calm window between two looks counts too.
#[test]
fn con_12_a_window_without_a_failure_ends_it_although_no_look_fell_in_it() {
    let mut collector = Collector::default();
    let restarts = |used| Decision { used: Some((used, 5)), ..decision("/user/smtp", 7, restarting()) };
    let budget = |used, anew_at| Budget {
        used,
        of: 5,
        within: Some(secs(1)),
        counts: Counts::All,
        takes: Takes::Nobody,
        rule: None,
        anew_at: Some(secs(anew_at)),
        slides: false,
    };
    let seen = |used, anew_at| [Sight { budget: Some(budget(used, anew_at)), ..at(2, "smtp", 7) }];
    failed(&mut collector, 10, restarts(4));
    assert_eq!(kinds(&look(&mut collector, 10, &seen(4, 11))), [(Kind::NearLimit, "/user/smtp")]);
    failed(&mut collector, 14, restarts(1));
    assert_eq!(kinds(&look(&mut collector, 15, &seen(1, 15))), []);
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

/// CON-12: an actor that was near the limit of a rule was not near another limit.
#[test]
fn con_12_near_the_limit_of_a_rule_is_not_near_that_of_the_strategy() {
    let mut collector = Collector::default();
    let budget = |used, of, within, anew_at, rule| Budget {
        used,
        of,
        within: Some(secs(within)),
        counts: Counts::Own,
        takes: Takes::Nobody,
        rule,
        anew_at: Some(secs(anew_at)),
        slides: false,
    };
    let seen = |collector: &mut Collector, second, budget| {
        let view = look(collector, second, &[Sight { budget: Some(budget), ..at(2, "smtp", 7) }]);
        view.cards.iter().map(|card| card.kind).collect::<Vec<_>>()
    };
    let restarts = |used| Decision { used: Some(used), ..decision("/user/smtp", 7, restarting()) };
    // One restart of three in an hour, and then three of four in 10 s that a rule allows.
    failed(&mut collector, 1, restarts((1, 3)));
    (1..=3).for_each(|used| failed(&mut collector, 20, restarts((used, 4))));
    let of_rule = budget(3, 4, 10, 30, Some("Boom"));
    assert_eq!(seen(&mut collector, 21, of_rule).len(), 1);
    // The count of the rule has started anew, so the strategy is nearer. It leaves two restarts.
    let of_strategy = budget(1, 3, 3_600, 3_601, None);
    for second in [90, 120, 1_800] {
        assert_eq!(seen(&mut collector, second, of_strategy), []);
    }
    // Between two looks, it comes near the strategy's limit.
    failed(&mut collector, 1_900, restarts((2, 3)));
    assert_eq!(seen(&mut collector, 1_901, budget(2, 3, 3_600, 3_601, None)), [Kind::NearLimit]);
}
