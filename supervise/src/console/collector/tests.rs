use supervise_core::{DeadLetterReason, NodeState, Outcome};

use super::super::cards::Kind;
use super::super::sight::{Budget, Endless, Loss};
use super::super::text::text;
use super::super::wish::Wish;
use super::*;

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// An actor at rest.
fn at(depth: usize, name: &'static str, key: u64) -> Sight<'static> {
    Sight {
        key,
        depth,
        name,
        actor_type: "shop::Actor",
        state: NodeState::Running,
        handling: false,
        parked: false,
        handler: Some("serve"),
        pushed: 0,
        waiting: 0,
        capacity: None,
        stashed: 0,
        waits_for: Vec::new(),
        restarts: 0,
        attempt: 0,
        budget: None,
        endless: None,
        due: None,
    }
}

fn look(collector: &mut Collector, seconds: u64, actors: &[Sight<'_>]) -> View {
    look_for(collector, &mut Listing::default(), seconds, actors)
}

fn look_for(collector: &mut Collector, listing: &mut Listing, seconds: u64, actors: &[Sight<'_>]) -> View {
    let mut look = collector.look(secs(seconds), std::slice::from_mut(listing));
    look.see(&at(0, "", 1));
    look.see(&at(1, "user", 2));
    for actor in actors {
        look.see(actor);
    }
    look.close().expect("it is no glance")
}

fn kinds(view: &View) -> Vec<(Kind, &str)> {
    view.cards.iter().map(|card| (card.kind, &*card.path)).collect()
}

fn decision(child: &str, key: u64, outcome: Outcome) -> Decision {
    Decision {
        key,
        child: child.to_owned(),
        supervisor: child.rsplit_once('/').map_or("/", |(above, _)| above).to_owned(),
        text: "refused".to_owned(),
        during: None,
        rule: Some("io::Error"),
        outcome,
        attempt: 1,
        used: Some((1, 5)),
    }
}

fn restarting() -> Outcome {
    Outcome::Restarting { children: 1, delay: None }
}

fn failed(collector: &mut Collector, seconds: u64, decision: Decision) {
    collector.happened(Happening::Failed(decision), secs(seconds));
}

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

/// CON-08: also while looks are so rare that the first one that finds them long in a message follows one that found them short.
#[test]
fn con_08_nobody_is_called_the_root_before_it_is_known_for_whom_it_waits() {
    let mut collector = Collector::default();
    let actors = [asks("ledger", 7, &[8], 2), asks("conn", 8, &[], 0)];
    for second in [0, 5] {
        assert!(look(&mut collector, second, &actors).cards.is_empty(), "second {second}");
    }
    assert_eq!(kinds(&look(&mut collector, 10, &actors)), [(Kind::Stuck, "/user/conn")]);
    // One that waits for an actor that is well is stuck itself.
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
        "In `serve` for 5 s: it waits at an `.await` and holds no thread. Its mailbox is empty. 2 actors wait for its answer: \
         order → ledger → conn."
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
        "a → b → a: each waits for the answer of the next one, in `serve`, `serve`, for 1 s. 3 messages wait behind \
         it. 1 other actor waits for them."
    );
    let view = look(&mut collector, 6, &actors);
    assert_eq!((kinds(&view), view.ill), (vec![(Kind::Deadlock, "/user/a")], 2), "its actors have no other card");
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
    assert!(text("shop", &view).contains("/user/root in `serve` for 6 s"));
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
    let actors = [stuck("a", 7, 1), stuck("b", 8, 40), stuck("c", 9, 2)];
    let mut collector = Collector::default();
    look(&mut collector, 0, &actors);
    let view = look(&mut collector, 5, &actors);
    assert_eq!(kinds(&view), [(Kind::Stuck, "/user/b")]);
    assert_eq!((view.cards[0].actors, view.ill), (3, 3));
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
        // It takes up one message a second: each message waits for long.
        let view = look(&mut collector, second, &[idle(500 + u32::try_from(second).expect("few"))]);
        assert_eq!(view.cards.len(), usize::from(second == 10), "second {second}");
    }
}

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
    assert_eq!(says(budget(1, 1, false)), None, "one of one is no warning: it is what one failure does");
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
    assert!(look(&mut collector, 40, &[at(2, "gateway", 7)]).cards.is_empty(), "two are no loop");
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

/// CON-10.
#[test]
fn con_10_rates_are_0_two_looks_after_the_last_message() {
    let mut collector = Collector::default();
    let mut listing = Listing::default();
    let mut rates = Vec::new();
    for (second, pushed) in [(0, 0), (2, 100), (4, 300), (6, 300), (8, 300)] {
        let view = look_for(&mut collector, &mut listing, second, &[Sight { pushed, ..at(2, "one", 7) }]);
        rates.push((view.per_second, listing.lines.last().and_then(|row| row.per_second)));
    }
    assert_eq!(rates, [(0.0, None), (50.0, Some(50.0)), (100.0, Some(100.0)), (0.0, Some(0.0)), (0.0, Some(0.0))]);
}

/// CON-14, CON-25: 100 000 siblings share one line, and those with a problem have lines of their own.
#[test]
fn con_14_con_25_many_siblings_are_one_line_and_the_ill_ones_are_not_folded_away() {
    let mut collector = Collector::default();
    let mut listing = Listing::default();
    let mut seen = View::default();
    for second in [0, 5] {
        let mut look = collector.look(secs(second), std::slice::from_mut(&mut listing));
        look.see(&at(0, "", 1));
        look.see(&at(1, "user", 2));
        for key in 0..100_000 {
            let ill = [50_000, 70_000, 99_999].contains(&key);
            let waiting = usize::from(ill);
            let actor_type = if ill { "shop::Session" } else { "shop::db::Session" };
            look.see(&Sight {
                handling: ill,
                parked: ill,
                pushed: 2,
                waiting,
                actor_type,
                restarts: 1,
                ..at(2, "s", 10 + key)
            });
            look.see(&at(3, "below", 1_000_000 + key));
        }
        seen = look.close().expect("it is no glance");
    }
    assert_eq!((seen.actors, seen.ill, seen.cards.len(), seen.cards[0].actors), (200_002, 3, 1, 3));
    let group = listing.lines.iter().find(|row| row.is_group).expect("a folded line");
    assert_eq!((group.actors, group.restarts, group.depth), (99_997, 99_997, 2));
    assert_eq!(listing.lines.iter().filter(|row| row.kind == Some(Kind::Stuck)).count(), 3);
    assert!(listing.lines.len() <= 300 && collector.marks.len() == 3, "{}", listing.lines.len());
}

#[test]
fn there_are_300_lines_at_most_and_the_ill_ones_come_first() {
    let mut collector = Collector::default();
    let mut listing = Listing::default();
    let mut view = View::default();
    let types: Vec<&'static str> = (0..500).map(|n| &*Box::leak(format!("T{n}").into_boxed_str())).collect();
    for second in [0, 5] {
        let mut look = collector.look(secs(second), std::slice::from_mut(&mut listing));
        look.see(&at(0, "", 1));
        look.see(&at(1, "user", 2));
        for (key, actor_type) in (10..).zip(&types) {
            let ill = key > 500;
            let waiting = usize::from(ill);
            look.see(&Sight { actor_type, handling: ill, parked: ill, pushed: 2, waiting, ..at(2, "one", key) });
        }
        view = look.close().expect("it is no glance");
    }
    assert_eq!((listing.lines.len(), listing.cut), (300, 202));
    assert_eq!(listing.lines.iter().filter(|row| row.kind.is_some()).count(), 9);
    assert_eq!((view.cards.len(), view.ill), (9, 9));
}

/// A look for new readers changes nothing that the next look tells.
#[test]
fn a_glance_counts_nothing() {
    let mut collector = Collector::default();
    let more = |pushed| [Sight { pushed, waiting: 2_000 + pushed as usize, ..at(2, "one", 7) }];
    look(&mut collector, 0, &more(0));
    for second in 1..9 {
        let mut listing = Listing::default();
        let mut glance = collector.glance(secs(second), std::slice::from_mut(&mut listing));
        glance.see(&more(u32::try_from(second).expect("it is small"))[0]);
        assert!(glance.close().is_none());
        assert_eq!((listing.lines.len(), listing.lines[0].per_second), (1, None));
    }
    let view = look(&mut collector, 9, &more(10));
    assert!(view.cards.is_empty(), "it grew at one look: {:?}", view.cards);
}

#[test]
fn the_runtimes_own_actors_are_one_line() {
    let mut collector = Collector::default();
    let actors = [at(1, "system", 3), at(2, "$a", 4), at(3, "b", 5), at(2, "$c", 6)];
    let mut listing = Listing::default();
    look_for(&mut collector, &mut listing, 0, &actors);
    let last = listing.lines.last().expect("a line");
    assert_eq!((&*last.path, last.hidden, listing.lines.len()), ("/system", 3, 3));
    let mut opened = Listing::of(Wish::of("open=/system"));
    look_for(&mut collector, &mut opened, 1, &actors);
    assert_eq!(opened.lines.len(), 6);
}

fn lose(collector: &mut Collector, at: Duration, recipient: &str, message: &'static str) {
    let loss = Loss { recipient: recipient.to_owned(), message, reason: DeadLetterReason::Stopped };
    collector.happened(Happening::Lost(loss), at);
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
    assert!(super::super::json::json("shop", &view, &Listing::default()).len() < 64 * 1_024);
}

/// CON-27: each card's facts are in the text, and no line is longer than 80 columns.
#[test]
fn con_27_the_text_has_what_the_cards_have() {
    let mut collector = Collector::default();
    for second in 1..=3 {
        failed(
            &mut collector,
            second,
            decision("/user/gateway-with-a-long-name-that-somebody-chose", 7, restarting()),
        );
    }
    failed(&mut collector, 3, decision("/user/reports", 8, Outcome::LimitReached { children: 2 }));
    (0..20).for_each(|n| lose(&mut collector, secs(n), "/user/reports", "Track"));
    let gateway = at(2, "gateway-with-a-long-name-that-somebody-chose", 7);
    let stuck = Sight { handling: true, parked: true, pushed: 42, waiting: 41, ..at(2, "conn-2", 9) };
    look(&mut collector, 4, &[gateway.clone(), stuck.clone()]);
    let view = look(&mut collector, 20, &[gateway, stuck]);
    let text = text("shop", &view);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(view.cards.len(), 4, "{text}");
    for card in &view.cards {
        for fact in [card.kind.title(), &card.path, &card.says, card.cause.as_deref().unwrap_or("")] {
            assert!(words(&text).contains(&words(fact)), "{fact}\n{text}");
        }
    }
    let order: Vec<_> = view.cards.iter().map(|card| card.kind).collect();
    assert_eq!(order, [Kind::Stuck, Kind::BranchDown, Kind::RestartLoop, Kind::MessagesLost]);
}
