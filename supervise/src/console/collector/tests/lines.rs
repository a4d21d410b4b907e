//! The lines: which actors have one, how many there are, and their rates.

use super::*;

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
        seen = look.close();
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
        view = look.close();
    }
    assert_eq!((listing.lines.len(), listing.cut), (300, 202));
    assert_eq!(listing.lines.iter().filter(|row| row.kind.is_some()).count(), 9);
    assert_eq!((view.cards.len(), view.ill), (9, 9));
}

/// A look for new readers does not change what the next look shows.
#[test]
fn a_glance_counts_nothing() {
    let mut collector = Collector::default();
    let more = |pushed| [Sight { pushed, waiting: 2_000 + pushed as usize, ..at(2, "one", 7) }];
    look(&mut collector, 0, &more(0));
    for second in 1..9 {
        let mut listing = Listing::default();
        let mut glance = collector.glance(secs(second), std::slice::from_mut(&mut listing));
        glance.see(&more(u32::try_from(second).expect("it is small"))[0]);
        assert!(glance.close().cards.is_empty());
        assert_eq!((listing.lines.len(), listing.lines[0].per_second), (1, None));
    }
    let view = look(&mut collector, 9, &more(10));
    assert!(view.cards.is_empty(), "it grew at one look: {:?}", view.cards);
}

/// What a glance finds is compared with the last look: an actor that has gone on to another message is not stuck in the former one.
#[test]
fn con_09_a_glance_shows_the_present_message() {
    let mut collector = Collector::default();
    let busy = |handled: u32| {
        let (handling, parked, pushed, waiting) = (true, true, handled + 3, 3);
        [Sight { handling, parked, pushed, waiting, ..at(2, "one", 7) }]
    };
    let mut glance = |seconds, handled, is_look| {
        let mut listing = Listing::default();
        if is_look {
            return look_for(&mut collector, &mut listing, seconds, &busy(handled)).cards.len();
        }
        let mut glance = collector.glance(secs(seconds), std::slice::from_mut(&mut listing));
        glance.see(&busy(handled)[0]);
        let cards = glance.close().cards.len();
        assert_eq!(cards, usize::from(listing.lines[0].kind == Some(Kind::Stuck)), "card and line agree");
        cards
    };
    assert_eq!(glance(0, 10, true), 0);
    assert_eq!(glance(9, 11, false), 0, "it is in its next message");
    assert_eq!(glance(9, 10, false), 1, "it is in the same message");
    assert_eq!(glance(9, 11, true), 0);
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

/// A glance also sees the messages of an actor that the last look found idle.
#[test]
fn con_09_a_glance_sees_what_became_busy_since_the_last_look() {
    let mut collector = Collector::default();
    look(&mut collector, 0, &[at(2, "one", 7)]);
    let mut glance = collector.glance(secs(4), &mut []);
    glance.see(&Sight { handling: true, parked: true, pushed: 4, waiting: 3, ..at(2, "one", 7) });
    assert_eq!(glance.close().longest, Some(secs(4)));
}

/// CON-27: a failure of the recipient does not end the loss of messages to it. Rule 22.10.
#[cfg(feature = "tracing")]
#[test]
fn con_27_messages_to_an_actor_that_a_failure_has_ended_are_lost_until_no_more_come() {
    use super::super::super::lines::{Line, Lines};
    let (mut collector, mut lines) = (Collector::default(), Lines::default());
    (0..10).for_each(|_| lose(&mut collector, secs(1), "/user/reports", "Track"));
    assert!(matches!(&lines.after(&look(&mut collector, 1, &[]))[..], [Line::Is { .. }]));
    failed(&mut collector, 2, decision("/user/reports", 7, Outcome::Stopped { children: 1 }));
    (0..10).for_each(|_| lose(&mut collector, secs(40), "/user/reports", "Track"));
    assert_eq!(lines.after(&look(&mut collector, 40, &[])), []);
    let view = look(&mut collector, 110, &[]);
    let said = lines.after(&view);
    assert!(matches!(&said[..], [Line::Over { kind: Kind::MessagesLost, has_ended: false, .. }]), "{said:?}");
}

/// A reader who comes between two looks is not told of a next try if nobody is left who tries. Rules 22.3 and 22.8.
#[test]
fn con_13_a_glance_sees_that_a_backoff_supervisor_has_ended() {
    let mut collector = Collector::default();
    failed(&mut collector, 1, decision("/user/office/clerk", 7, Outcome::Stopped { children: 1 }));
    let child = "/user/office/clerk".to_owned();
    let delayed = Replacement { child, delay: secs(600), attempt: 3, failures: 3 };
    collector.happened(Happening::Delayed(delayed), secs(1));
    (0..10).for_each(|_| lose(&mut collector, secs(2), "/user/office", "Stamp"));
    let tries = |view: &View| {
        let waits = |card: &&Card| card.moments.iter().any(|moment| moment.at > secs(100));
        view.cards.iter().filter(waits).count()
    };
    assert_eq!(tries(&look(&mut collector, 3, &[at(2, "office", 5)])), 2);
    let mut glance = collector.glance(secs(4), &mut []);
    glance.see(&at(0, "", 1));
    glance.see(&at(1, "user", 2));
    let view = glance.close();
    assert_eq!((tries(&view), kinds(&view)), (0, vec![(Kind::MessagesLost, "/user/office")]));
}
