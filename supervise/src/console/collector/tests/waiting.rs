//! Actors that are stuck, start for long, wait for each other, or fall behind.

use super::*;

/// CON-06, CON-07: an actor at an await point is stuck only if a message waits behind it. An actor that is not at an await
/// point blocks a thread.
#[test]
fn con_06_con_07_waiting_is_no_harm_unless_somebody_waits_behind() {
    let poll = |waiting: u32| Sight {
        handling: true,
        parked: true,
        pushed: 1 + waiting,
        waiting: waiting as usize,
        ..at(2, "poll", 7)
    };
    let mut collector = Collector::default();
    for second in 0..600 {
        assert!(look(&mut collector, second, &[poll(0)]).cards.is_empty(), "a long poll at second {second}");
    }
    assert!(look(&mut collector, 600, &[poll(3)]).cards.iter().all(|card| card.kind == Kind::Stuck));
    let mut collector = Collector::default();
    let cards: Vec<_> = (0..7).map(|second| look(&mut collector, second, &[poll(2)]).cards.len()).collect();
    assert_eq!(cards, [0, 0, 0, 0, 0, 1, 1]);

    let mut collector = Collector::default();
    let blocks = Sight { parked: false, ..poll(0) };
    assert!(look(&mut collector, 0, std::slice::from_ref(&blocks)).cards.is_empty());
    let view = look(&mut collector, 1, &[blocks]);
    assert_eq!(kinds(&view), [(Kind::BlocksThread, "/user/poll")]);
    assert!(view.cards[0].says.contains("`serve`"), "{:?}", view.cards);
}

/// CON-06.
#[test]
fn con_06_of_those_that_start_for_long_only_the_lowest_has_a_card() {
    let parent = Sight { state: NodeState::Starting, actor_type: "Parent", ..at(2, "parent", 7) };
    let child = Sight { state: NodeState::Starting, ..at(3, "child", 8) };
    let mut collector = Collector::default();
    look(&mut collector, 0, &[parent.clone(), child.clone()]);
    assert!(look(&mut collector, 4, &[parent.clone(), child.clone()]).cards.is_empty());
    assert_eq!(kinds(&look(&mut collector, 5, &[parent, child])), [(Kind::SlowStart, "/user/parent/child")]);
    let ends = Sight { state: NodeState::Stopping, ..at(2, "ends", 9) };
    look(&mut collector, 10, std::slice::from_ref(&ends));
    assert!(look(&mut collector, 19, std::slice::from_ref(&ends)).cards.is_empty());
    assert_eq!(kinds(&look(&mut collector, 20, &[ends])), [(Kind::SlowEnd, "/user/ends")]);
}

fn asks(name: &'static str, key: u64, whom: &[u64], waiting: usize) -> Sight<'static> {
    let waits_for = whom.to_vec();
    Sight { handling: true, parked: true, pushed: 9, waiting, waits_for, ..at(2, name, key) }
}

/// CON-08, with rare looks: one look finds the actors in a message for a short time, and the next one for a
/// long time.
#[test]
fn con_08_nobody_is_called_the_root_before_it_is_known_for_whom_it_waits() {
    let mut collector = Collector::default();
    let actors = [asks("ledger", 7, &[8], 2), asks("conn", 8, &[], 0)];
    for second in [0, 5] {
        assert!(look(&mut collector, second, &actors).cards.is_empty(), "second {second}");
    }
    assert_eq!(kinds(&look(&mut collector, 10, &actors)), [(Kind::Stuck, "/user/conn")]);
    // An actor that waits for a healthy actor is stuck itself.
    let mut collector = Collector::default();
    for second in [0, 5] {
        assert!(look(&mut collector, second, &[asks("ledger", 7, &[8], 2), at(2, "conn", 8)]).cards.is_empty());
    }
    let view = look(&mut collector, 10, &[asks("ledger", 7, &[8], 2), at(2, "conn", 8)]);
    assert_eq!(kinds(&view), [(Kind::Stuck, "/user/ledger")]);
}

/// CON-08: of a chain, the root alone has a card, which says who is behind it.
#[test]
fn con_08_a_chain_of_three_names_its_root() {
    let mut collector = Collector::default();
    let actors = [asks("order", 6, &[7], 3), asks("ledger", 7, &[8], 2), asks("conn", 8, &[], 0)];
    for second in 0..5 {
        assert!(look(&mut collector, second, &actors).cards.is_empty(), "second {second}");
    }
    let view = look(&mut collector, 5, &actors);
    assert_eq!((kinds(&view), view.ill), (vec![(Kind::Stuck, "/user/conn")], 3));
    assert_eq!(
        view.cards[0].says,
        "In `serve`: it waits at an `.await` and holds no thread. Its mailbox is empty. 2 actors wait for its answer: \
         order → ledger → conn. 5 messages wait in their mailboxes, the oldest for about 5 s."
    );
    let mut listing = Listing::default();
    look_for(&mut collector, &mut listing, 6, &actors);
    let waits: Vec<_> = listing.lines.iter().filter_map(|row| row.waits_for.as_deref()).collect();
    assert_eq!(waits, ["/user/ledger", "/user/conn"]);
    let answered = [asks("order", 6, &[], 3), at(2, "ledger", 7), at(2, "conn", 8)];
    look(&mut collector, 7, &answered);
    assert!(
        collector.waits.circles.is_empty() && !collector.waits.is_awaited(8),
        "an answered ask leaves no edge"
    );
}

/// CON-08, CON-25: many that wait for one actor share a line, which counts them, and they are not ill.
#[test]
fn con_08_con_25_many_that_wait_for_one_are_one_line() {
    let mut collector = Collector::default();
    let orders = (0..41).map(|n| Sight { actor_type: "Order", ..asks("order", 100 + n, &[7], 0) });
    let actors: Vec<_> =
        [asks("ledger", 7, &[8], 40), asks("conn", 8, &[], 0)].into_iter().chain(orders).collect();
    let mut listing = Listing::of(Wish::of("focus=/user/conn"));
    for second in 0..5 {
        look(&mut collector, second, &actors);
    }
    let view = look_for(&mut collector, &mut listing, 5, &actors);
    assert_eq!((kinds(&view), view.ill), (vec![(Kind::Stuck, "/user/conn")], 2));
    let chain =
        "42 actors wait for its answer, such as order → ledger → conn. 40 messages wait in their mailboxes";
    assert!(view.cards[0].says.contains(chain), "{:?}", view.cards);
    let group = listing.lines.iter().find(|row| row.is_group).expect("a folded line");
    assert_eq!((group.actors, group.ill, group.held, listing.lines.len()), (41, 0, 41, 5));
}

/// CON-08.
#[test]
fn con_08_a_circle_is_a_deadlock() {
    let mut collector = Collector::default();
    let actors = [asks("a", 6, &[7], 3), asks("b", 7, &[6], 0), asks("outside", 8, &[6], 0)];
    look(&mut collector, 0, &actors);
    let view = look(&mut collector, 1, &actors);
    assert_eq!(kinds(&view), [(Kind::Deadlock, "/user/a")]);
    assert_eq!(
        view.cards[0].says,
        "a → b → a: each waits for the answer of the next one, in `serve`, `serve`. 3 messages wait in \
         their mailboxes. 1 other actor waits for them."
    );
    let view = look(&mut collector, 6, &actors);
    assert_eq!((kinds(&view), view.ill), (vec![(Kind::Deadlock, "/user/a")], 2), "its actors have no other card");
}

/// CON-08: however many circles there are, each of their actors is marked, and the card that some of them share counts them.
#[test]
fn con_08_more_than_nine_deadlocks_share_a_card() {
    let mut collector = Collector::default();
    let circles = |circles: u64| -> Vec<_> {
        (0..circles)
            .flat_map(|n| {
                let (a, b) = (10 + 2 * n, 11 + 2 * n);
                // The first ones hold up most.
                let name =
                    ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"][usize::try_from(n).expect("few")];
                let waiting = if n < 3 { 100 } else { 0 };
                [asks(name, a, &[b], waiting), asks("other", b, &[a], 0)]
            })
            .collect()
    };
    let mut shown = |second, many| {
        let actors = circles(many);
        let mut listing = Listing::default();
        for second in [second, second + 1] {
            look(&mut collector, second, &actors);
        }
        let view = look_for(&mut collector, &mut listing, second + 2, &actors);
        let marked = listing.lines.iter().filter(|row| row.kind == Some(Kind::Deadlock)).count() as u64;
        assert_eq!((marked, view.ill as u64, view.more_cards), (2 * many, 2 * many, 0));
        assert!(view.cards.iter().all(|card| card.kind == Kind::Deadlock), "{:?}", view.cards);
        view
    };
    assert_eq!(shown(0, 9).cards.len(), 9);
    let view = shown(5, 12);
    assert_eq!(view.cards.len(), 9);
    let last = view.cards.last().expect("it is there");
    assert_eq!(
        (&*last.path, last.actors, &*last.says),
        (
            "/user/i",
            8,
            "4 more deadlocks, of 8 actors. They are those of /user/i, /user/j, /user/k and 1 more. In the list of \
             actors, the word Deadlock stands beside each of these actors."
        )
    );
    // None of them is over while circles change their places among the cards.
    let before: Vec<_> = view.cards.iter().map(|card| card.subject.clone()).collect();
    let hidden = shown(10, 9).hidden;
    assert!(before.iter().all(|subject| hidden.contains(&(Kind::Deadlock, subject.clone()))), "{hidden:?}");
}

/// CON-08, for asks that the console does not see.
#[test]
fn con_08_beside_a_stuck_actor_stand_those_that_are_long_in_a_message() {
    let waits =
        |name, key, waiting| Sight { handling: true, parked: true, pushed: 5, waiting, ..at(2, name, key) };
    let mut collector = Collector::default();
    look(&mut collector, 0, &[waits("root", 6, 0)]);
    let actors = [waits("root", 6, 0), waits("ledger", 7, 0), waits("order", 8, 3)];
    look(&mut collector, 1, &actors);
    assert!(look(&mut collector, 5, &actors).mentioned.is_empty(), "nobody is stuck");
    let view = look(&mut collector, 6, &actors);
    assert_eq!(kinds(&view), [(Kind::Stuck, "/user/order")]);
    let mentioned: Vec<_> = view.mentioned.iter().map(|mention| (&*mention.path, mention.since)).collect();
    assert_eq!(mentioned, [("/user/root", secs(0)), ("/user/ledger", secs(1))]);
    assert!(text("shop", &view, Duration::ZERO).contains("/user/root in `serve` for 6 s"));
    let many: Vec<_> = (10..40).map(|key| waits("one", key, 0)).collect();
    look(&mut collector, 10, &many);
    assert_eq!(look(&mut collector, 20, &many).mentioned.len(), 0);
}

#[test]
fn alike_actors_have_one_card_that_names_the_worst() {
    let stuck = |name, key, waiting: usize| Sight {
        handling: true,
        parked: true,
        pushed: 1 + u32::try_from(waiting).expect("few"),
        waiting,
        ..at(2, name, key)
    };
    // The worst is the one with most messages, also among those of one power of ten.
    let actors = [stuck("a", 7, 1), stuck("b", 8, 20), stuck("c", 9, 40), stuck("d", 10, 30)];
    let mut collector = Collector::default();
    look(&mut collector, 0, &actors);
    let view = look(&mut collector, 5, &actors);
    assert_eq!(kinds(&view), [(Kind::Stuck, "/user/c")]);
    assert_eq!((view.cards[0].actors, view.ill), (4, 4));
}

/// A bounded mailbox and an unbounded one, which grow at three looks, or in which a message waits ten
/// seconds.
#[test]
fn falling_behind_is_growing_for_three_looks_or_waiting_for_ten_seconds() {
    let mut collector = Collector::default();
    let mut handled = 0;
    let mut busy = |collector: &mut Collector, second: u64, waiting: usize, capacity| {
        handled += 100;
        let pushed = handled + u32::try_from(waiting).expect("few");
        let actor = Sight { handling: true, parked: true, pushed, waiting, capacity, ..at(2, "audit", 7) };
        kinds(&look(collector, second, &[actor])).iter().map(|card| card.0).collect::<Vec<_>>()
    };
    let cards: Vec<_> = [900, 1_000, 1_100, 1_200, 1_150]
        .iter()
        .zip(1..)
        .map(|(&n, s)| busy(&mut collector, s, n, None))
        .collect();
    assert_eq!(cards, [vec![], vec![], vec![], vec![Kind::FallingBehind], vec![]]);
    let mut collector = Collector::default();
    let cards: Vec<_> =
        [60, 79, 80, 81].iter().zip(1..).map(|(&n, s)| busy(&mut collector, s, n, Some(100))).collect();
    assert_eq!(cards, [vec![], vec![], vec![], vec![Kind::FallingBehind]]);
    let mut collector = Collector::default();
    let idle = |pushed| Sight { handling: true, parked: true, pushed, waiting: 500, ..at(2, "slow", 7) };
    for second in 0..=10 {
        // It handles one message a second, so each message waits for a long time.
        let view = look(&mut collector, second, &[idle(500 + u32::try_from(second).expect("few"))]);
        assert_eq!(view.cards.len(), usize::from(second == 10), "second {second}");
    }
}

/// Rule 22.10: a problem that a worse one hides, or that belongs to another actor's card, is not over.
#[test]
fn con_06_what_has_no_card_because_of_something_worse_is_still_known() {
    let mut collector = Collector::default();
    let ledger = Sight { handling: true, parked: true, pushed: 41, waiting: 40, ..at(2, "ledger", 7) };
    for second in [0, 6] {
        look(&mut collector, second, std::slice::from_ref(&ledger));
    }
    let waits = Sight { waits_for: vec![9], ..ledger };
    let conn = Sight { handling: true, parked: true, pushed: 1, waiting: 0, ..at(2, "conn-2", 9) };
    let view = (7..=20).map(|second| look(&mut collector, second, &[waits.clone(), conn.clone()])).last().unwrap();
    assert_eq!(kinds(&view), [(Kind::Stuck, "/user/conn-2")]);
    assert_eq!(view.unwell, ["/user/ledger", "/user/conn-2"]);
    let mut hidden = view.hidden.clone();
    hidden.sort();
    let subject = "shop::Actor".to_owned();
    assert_eq!(hidden, [(Kind::Stuck, format!("{subject} serve")), (Kind::FallingBehind, format!("{subject} "))]);
    // An actor that starts again has lost no message.
    let starts =
        Sight { state: NodeState::Starting, handling: false, parked: false, waits_for: Vec::new(), ..waits };
    let view = look(&mut collector, 21, &[starts]);
    assert_eq!((view.cards.len(), view.unwell.len()), (0, 0), "{:?}", view.cards);
    assert_eq!(view.hidden, [(Kind::FallingBehind, format!("{subject} "))]);
}

/// Rule 22.3: a mailbox that falls behind is named, whatever is worse about its actor.
#[test]
fn con_06_the_mailbox_with_the_oldest_message_is_named_beside_worse_problems() {
    let mut collector = Collector::default();
    for second in 1..=3 {
        failed(&mut collector, second, Decision { attempt: 3, ..decision("/user/gateway", 7, restarting()) });
    }
    let slow = Outcome::Restarting { children: 1, delay: Some(secs(3_000)) };
    failed(&mut collector, 4, Decision { attempt: 4, ..decision("/user/gateway", 7, slow) });
    let mut view = View::default();
    for second in 5..=433 {
        let waiting = usize::try_from(second).expect("few") - 1;
        let pushed = 4 + u32::try_from(waiting).expect("few");
        let state = NodeState::Failed;
        let gateway = Sight {
            state,
            pushed,
            waiting,
            due: Some(secs(3_004)),
            attempt: 4,
            endless: Some(Endless { delays: true }),
            ..at(2, "gateway", 7)
        };
        // It handles one of twenty messages that come each second.
        let second = u32::try_from(second).expect("few");
        let audit = Sight {
            handling: true,
            parked: true,
            pushed: second * 20,
            waiting: second as usize * 19,
            ..at(2, "audit", 8)
        };
        let ledger = Sight {
            handling: true,
            parked: true,
            pushed: 41,
            waiting: 40,
            waits_for: vec![10],
            ..at(2, "ledger", 9)
        };
        let conn = Sight { handling: true, parked: true, pushed: 1, ..at(2, "conn", 10) };
        view = look(&mut collector, u64::from(second), &[gateway, audit, ledger, conn]);
    }
    let text = text("shop", &view, Duration::ZERO).split_whitespace().collect::<Vec<_>>().join(" ");
    for fact in [
        "this rule restarts it each time. 432 messages wait, the oldest for about 7 min 8 s.",
        "40 messages wait in that actor's mailbox, the oldest for about 7 min 8 s.",
        "Falling behind: /user/audit Actor 8 227 messages wait, the oldest for about 6 min 51 s. More at each look.",
        "Other mailboxes that fall behind: gateway (432 messages, the oldest for about 7 min 8 s), ledger (40 messages, the oldest \
         for about 7 min 8 s; it waits for conn).",
        "Mailboxes that fall behind, the one with the oldest message first: /user/gateway: 432 messages, the oldest for about \
         7 min 8 s /user/ledger: 40 messages",
    ] {
        assert!(text.contains(fact), "{fact}\n{text}");
    }
}

/// A problem begins once, although the oldest message is always another one.
#[test]
fn con_06_since_when_an_actor_falls_behind_does_not_move() {
    let mut collector = Collector::default();
    let mut since = Vec::new();
    for second in 0..=100_u32 {
        let handled = if second < 20 { 0 } else { (second - 19) * 10 };
        let pushed = 10 * (second + 1);
        let waiting = (pushed - handled) as usize;
        let slow =
            Sight { handling: true, parked: true, pushed, waiting, handler: Some("note"), ..at(2, "slow", 7) };
        let view = look(&mut collector, u64::from(second), &[slow]);
        since.extend(view.cards.iter().filter(|card| card.kind == Kind::FallingBehind).map(|card| card.since));
    }
    assert!(since.len() > 70 && since.iter().all(|at| *at == Some(Duration::ZERO)), "{since:?}");
}

/// Rule 22.3: the tasks of three looks in a row were late.
#[test]
fn con_06_a_runtime_without_a_free_thread_has_a_card() {
    let mut collector = Collector::default();
    let mut cards = |seconds, waited| {
        collector.beat(Some(Duration::from_millis(waited)), secs(seconds));
        let runs = Sight { handling: true, pushed: u32::try_from(seconds).unwrap(), ..at(2, "worker", 7) };
        let waits = Sight { parked: true, ..Sight { key: 8, ..runs.clone() } };
        let view = look(&mut collector, seconds, &[runs, waits]);
        view.cards.iter().map(|card| (card.kind, card.since, card.tell(view.now))).collect::<Vec<_>>()
    };
    assert!([(10, 400), (11, 249), (12, 300), (13, 500)].iter().all(|&(at, waited)| cards(at, waited).is_empty()));
    let says = "A new task waited 480 ms for a thread of the runtime. In a handler and not at an `.await`: worker in `serve`.";
    let since = Some(Duration::from_millis(11_700));
    assert_eq!(cards(14, 480), [(Kind::ShortOfThreads, since, says.to_owned())]);
    assert_eq!(cards(15, 0), []);
}
