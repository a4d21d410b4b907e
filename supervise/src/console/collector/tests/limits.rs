//! Actors near a limit of restarts.

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

/// CON-12: a count that started anew minutes ago has not just done so.
#[test]
fn con_12_a_loop_whose_restarts_count_no_longer_says_so() {
    let mut collector = Collector::default();
    let slow = Outcome::Restarting { children: 1, delay: Some(secs(300)) };
    failed(&mut collector, 400, Decision { attempt: 7, ..decision("/user/smtp", 7, slow) });
    let budget = Budget {
        used: 0,
        of: 5,
        within: Some(secs(60)),
        counts: Counts::Own,
        takes: Takes::Nobody,
        rule: None,
        anew_at: None,
        slides: false,
    };
    let (attempt, due) = (7, Some(secs(700)));
    let waits = Sight { state: NodeState::Failed, attempt, due, budget: Some(budget), ..at(2, "smtp", 7) };
    let view = look(&mut collector, 600, &[waits]);
    let said = view.cards[0].tell(view.now);
    assert!(
        said.ends_with("in a row. 0 of 5 restarts in 1 min used now. The next try comes in 1 min 40 s."),
        "{said}"
    );
}
