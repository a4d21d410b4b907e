//! What is beyond a bound is counted.

use super::*;

fn words(view: &View) -> String {
    text("shop", view, Duration::ZERO).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// CON-27: thousands of keyed children that fail are counted, although not all of them are kept.
#[test]
fn con_27_all_failures_and_ends_are_counted() {
    let mut collector = Collector::default();
    for key in 0..1_000 {
        failed(
            &mut collector,
            key / 10,
            decision(&format!("/user/keys/{key}"), key, Outcome::Stopped { children: 1 }),
        );
    }
    let view = look(&mut collector, 100, &[]);
    assert_eq!(
        (view.failures.len() as u64 + view.more_failures, view.ends.len() as u64 + view.more_ends),
        (1_000, 1_000)
    );
    let said = words(&view);
    assert!(said.contains("And 990 more in the last 15 minutes.") && said.ends_with("And 990 more."), "{said}");
    // The failures are forgotten after 15 minutes, the ends after an hour.
    let view = look(&mut collector, 1_100, &[]);
    assert_eq!(
        (view.failures.len() as u64 + view.more_failures, view.ends.len() as u64 + view.more_ends),
        (0, 1_000)
    );
    let view = look(&mut collector, 3_800, &[]);
    assert_eq!(view.ends.len() as u64 + view.more_ends, 0, "{:?}", view.ends);
}

/// CON-15. Rule 22.4.
#[test]
fn con_15_more_branches_may_be_down_than_are_kept() {
    let mut collector = Collector::default();
    let limit = Outcome::LimitReached { children: 1 };
    for key in 0..64 {
        failed(&mut collector, key, decision(&format!("/user/keys/{key}"), key, limit));
    }
    let view = look(&mut collector, 70, &[]);
    assert!(words(&view).contains(", but 64 branches are down. Branch down: 64 × Actor,"), "{}", words(&view));
    for key in 64..100 {
        failed(&mut collector, key, decision(&format!("/user/keys/{key}"), key, limit));
    }
    let view = look(&mut collector, 101, &[]);
    let said = words(&view);
    assert!(said.contains(", but at least 64 branches are down. Branch down: at least 64 × Actor,"), "{said}");
    // An hour after the last one that is not kept, all that are down are known again.
    let view = look(&mut collector, 3_640, &[]);
    assert!(words(&view).contains(", but 60 branches are down."), "{}", words(&view));
}

/// CON-06. Rule 22.4.
#[test]
fn con_06_the_messages_of_recipients_that_are_not_kept_are_counted() {
    let mut collector = Collector::default();
    for n in 0..20_000 {
        lose(&mut collector, Duration::from_millis(n), &format!("/user/keys/{}", n / 20), "Track");
    }
    let said = words(&look(&mut collector, 20, &[]));
    let others = "5 120 dead letters to 256 recipients, mostly `Track`: the recipient has ended. Sent by /user/till. Before \
                  that, other recipients lost 14 880.";
    assert!(said.contains(others), "{said}");
    // After 15 minutes they are forgotten.
    (0..256).for_each(|n| lose(&mut collector, secs(1_000), &format!("/user/keys/{n}"), "Track"));
    let said = words(&look(&mut collector, 1_001, &[]));
    assert!(said.contains("256 dead letters to 256 recipients.") && !said.contains("Before that"), "{said}");
}

/// CON-06: the card names what is lost most and who sends most, also if many others came before.
#[test]
fn con_06_the_kind_and_the_sender_of_most_messages_are_named() {
    const FEW: [&str; 12] = ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L"];
    let mut collector = Collector::default();
    let mut lost = |sender: String, message| {
        let loss = Loss {
            recipient: "/user/ledger".to_owned(),
            sender: Some(sender),
            message,
            reason: DeadLetterReason::Stopped,
        };
        collector.happened(Happening::Lost(loss), secs(1));
    };
    for message in FEW {
        lost(format!("/user/keys/{message}"), message);
    }
    (0..988).for_each(|_| lost("/user/till".to_owned(), "Track"));
    let view = look(&mut collector, 2, &[]);
    let says = &view.cards[0].says;
    assert!(says.starts_with("1 000 dead letters, 98 % `Track`"), "{says}");
    assert!(says.contains("Sent by /user/till, ") && says.ends_with(" and at least 6 more."), "{says}");
}

/// CON-15: branches that are down are not forgotten because many others of one type are. Rule 22.4.
#[test]
fn con_15_many_branches_of_one_type_do_not_push_out_another() {
    let mut collector = Collector::default();
    let limit = Outcome::LimitReached { children: 1 };
    failed(&mut collector, 1, Decision { child_type: "shop::Ledger", ..decision("/user/ledger", 7, limit) });
    for key in 0..100 {
        failed(&mut collector, 2, decision(&format!("/user/keys/{key}"), 100 + key, limit));
    }
    let view = look(&mut collector, 3, &[]);
    assert_eq!(kinds(&view), [(Kind::BranchDown, "/user/keys/99"), (Kind::BranchDown, "/user/ledger")]);
    assert_eq!(
        view.cards.iter().map(|card| (card.actors, card.at_least)).collect::<Vec<_>>(),
        [(63, true), (1, false)]
    );
}

/// CON-15: all is not known to be well if branches went down that are not kept. Rule 22.4.
#[test]
fn con_15_all_is_not_well_if_branches_that_are_not_kept_may_be_down() {
    let mut collector = Collector::default();
    let limit = Outcome::LimitReached { children: 1 };
    for key in 0..100 {
        failed(&mut collector, 1, decision(&format!("/user/keys/{key}"), key, limit));
    }
    // The 64 that are kept are repaired.
    collector.forget_repaired(|_| Some(1_000));
    let view = look(&mut collector, 2, &[]);
    let said = words(&view);
    assert!(view.cards.is_empty() && !said.contains("All is well"), "{said}");
    let doubt = "Nothing known needs attention; all 2 running actors are well, but branches that are not remembered may be down.";
    assert!(said.contains(doubt), "{said}");
    // Nothing is known of any other branch either, if there is another card.
    (0..10).for_each(|_| lose(&mut collector, secs(3), "/user/till", "Track"));
    let said = words(&look(&mut collector, 4, &[]));
    let doubt = "One thing needs attention; all 2 running actors are well, but branches that are not remembered may be down.";
    assert!(said.contains(doubt), "{said}");
    let said = words(&look(&mut collector, 3_700, &[]));
    assert!(said.contains("All is well."), "{said}");
}

/// CON-18: all is not known to be well if events were missed. Rule 22.4.
#[test]
fn con_18_all_is_not_well_if_events_were_missed() {
    let mut collector = Collector::default();
    collector.happened(Happening::Missed(7), secs(1));
    let said = words(&look(&mut collector, 2, &[]));
    assert!(
        said.contains("Nothing known needs attention; all 2 actors are well, but events were missed."),
        "{said}"
    );
    let said = words(&look(&mut collector, 3_700, &[]));
    assert!(said.contains("All is well."), "{said}");
}

/// CON-12: more actors may have been near their limits than are remembered. Rule 22.4.
#[test]
fn con_12_more_actors_may_be_near_their_limits_than_are_remembered() {
    let mut collector = Collector::default();
    let actors = clerks_near_their_limits(&mut collector, 60);
    let view = look(&mut collector, 2, &actors);
    let [card] = &view.cards[..] else { panic!("{:?}", view.cards) };
    assert_eq!((card.kind, card.actors, card.at_least), (Kind::NearLimit, 4_096, true));
}

/// CON-12: actors that are forgotten stay near a limit for as long as its window. Rule 22.4.
#[test]
fn con_12_more_actors_are_near_a_limit_with_a_long_window_than_are_remembered() {
    let mut collector = Collector::default();
    let actors = clerks_near_their_limits(&mut collector, 600);
    for second in [2, 62, 600] {
        let view = look(&mut collector, second, &actors);
        let [card] = &view.cards[..] else { panic!("{second}: {:?}", view.cards) };
        assert_eq!((card.kind, card.actors, card.at_least), (Kind::NearLimit, 4_096, true), "{second}");
        let said = words(&view);
        assert!(
            said.contains("One thing needs attention; at least 4 096 of 6 002 actors are not well."),
            "{said}"
        );
        assert!(said.contains(" and at least 4 076 more."), "{said}");
    }
    let view = look(&mut collector, 602, &actors);
    assert!(words(&view).contains("All is well."), "{}", words(&view));
}

/// However many cards had lines while there were more than are shown, the next one has a line too. Rules 22.4 and 22.10.
#[cfg(feature = "tracing")]
#[test]
fn con_27_a_problem_has_a_line_after_any_number_of_others() {
    use super::super::super::lines::{Line, Lines};
    let (mut collector, mut lines) = (Collector::default(), Lines::default());
    let clerk = [at(2, "clerk", 7)];
    // Every minute, twenty recipients lose ten messages each, and each recipient another kind.
    let kinds: Vec<&'static str> = (0..20).map(|n| &*Box::leak(format!("M{n}").into_boxed_str())).collect();
    let mut told = 0;
    for minute in 0..40 {
        for (n, kind) in kinds.iter().enumerate() {
            (0..10).for_each(|_| lose(&mut collector, secs(60 * minute), &format!("/user/{minute}/{n}"), kind));
        }
        let view = look(&mut collector, 60 * minute + 1, &clerk);
        assert!(view.more_cards > 0);
        told += lines.after(&view).len();
    }
    assert!(told > 256, "{told}");
    (0..3).for_each(|_| failed(&mut collector, 2_341, decision("/user/clerk", 7, restarting())));
    let said = look(&mut collector, 2_342, &clerk);
    let said = lines.after(&said);
    assert!(matches!(&said[..], [Line::Is { kind: Kind::RestartLoop, .. }]), "{said:?}");
}
