//! Which messages are handled again after a crash.
//!
//! Rules 27.4, 27.5, 27.6, 27.16 and 27.18.

use std::time::Duration;

use supervise::testkit::{Crash, TestSystem};

use crate::orders::{Does, World, order, that};

#[supervise::test]
async fn dur_02_what_was_under_way_comes_again_and_what_was_handled_does_not(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    orders.place(order(1)).accepted().await.expect("the store works");
    orders.place(that(2, Does::Wait)).accepted().await.expect("the store works");
    orders.place(order(3)).accepted().await.expect("the store works");
    system.settle().await;
    let next = system.crash(Crash::Process).await;
    world.gate.notify_one();
    world.spawn(&next);
    next.settle().await;
    let seen = world.seen();
    assert_eq!(world.begun(), [1, 2, 2, 3]);
    assert_eq!((seen[1].attempt, seen[1].after_crash), (1, false));
    assert_eq!((seen[2].attempt, seen[2].after_crash, seen[2].id), (1, true, seen[1].id));
    assert!(!seen[3].after_crash, "nobody had begun it");
}

#[supervise::test]
async fn dur_03_what_was_handled_before_the_next_mark_is_not_handled_again(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    system.settle().await;
    orders.place(order(1)).accepted().await.expect("the store works");
    orders.place(that(2, Does::Wait)).accepted().await.expect("the store works");
    system.settle().await;
    // The second one has begun, so the mark says that the first one was handled; the group has not been stored yet.
    assert_eq!(world.begun(), [1, 2]);
    system.store().hold();
    let next = system.crash(Crash::Process).await;
    world.gate.notify_one();
    world.spawn(&next);
    next.settle().await;
    assert_eq!(world.begun(), [1, 2, 2]);
}

#[supervise::test]
async fn dur_04_after_a_power_cut_it_is_handled_again_under_the_same_id(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    orders.place(order(1)).accepted().await.expect("the store works");
    system.settle().await;
    assert_eq!(world.begun(), [1]);
    // Its acknowledgement waits for others to be stored with.
    let next = system.crash(Crash::Power).await;
    world.spawn(&next);
    next.settle().await;
    let seen = world.seen();
    assert_eq!(world.begun(), [1, 1]);
    assert_eq!(seen[0].id, seen[1].id);
    assert!(seen[1].after_crash, "all that waited when the machine stopped may have been begun");
}

#[supervise::test]
async fn dur_05_a_power_cut_before_the_group_loses_what_was_not_accepted(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    system.settle().await;
    system.store().hold();
    let sender = orders.clone();
    let accepted = tokio::spawn(async move { sender.place(order(1)).accepted().await });
    system.advance(Duration::from_secs(1)).await;
    assert!(!accepted.is_finished(), "its group is not stored");
    let next = system.crash(Crash::Power).await;
    world.spawn(&next);
    next.settle().await;
    assert_eq!(world.begun(), [] as [u32; 0]);
    assert!(accepted.await.expect("no panic").is_err(), "the process is gone");
}

#[supervise::test]
async fn dur_06_a_thousand_messages_and_ten_crashes_are_handled_in_order(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    let mut systems = Vec::new();
    let mut lives = Vec::new();
    for hundred in 0..10_u32 {
        let current = systems.last().unwrap_or(system);
        let orders = if hundred == 0 { orders.clone() } else { world.spawn(current) };
        for number in 0..99 {
            orders.place(order(hundred * 100 + number)).tell().expect("there is room");
        }
        orders.place(that(hundred * 100 + 99, Does::Hang)).accepted().await.expect("the store works");
        current.settle().await;
        let kind = if hundred % 2 == 0 { Crash::Process } else { Crash::Power };
        lives.push((kind, world.begun().len()));
        let next = current.crash(kind).await;
        systems.push(next);
    }
    let last = systems.last().expect("ten");
    world.spawn(last);
    last.settle().await;
    let begun = world.begun();
    let mut firsts: Vec<u32> = Vec::new();
    for number in &begun {
        if !firsts.contains(number) {
            firsts.push(*number);
        }
    }
    assert!(firsts.iter().copied().eq(0..1000), "in order, and none is missing: {firsts:?}");
    let ends = lives[1..].iter().map(|(_, end)| *end).chain([begun.len()]);
    for ((hundred, (kind, began)), ended) in (0..).zip(&lives).zip(ends) {
        let again = begun[*began..ended].iter().filter(|number| begun[..*began].contains(number));
        let again: Vec<u32> = again.copied().collect();
        let hangs = hundred * 100 + 99;
        // After a power cut, what was handled since the last group comes again too.
        let is_bounded = *kind == Crash::Power || again == [hangs];
        assert!(is_bounded && again.contains(&hangs), "after the hundred {hundred}: {again:?}");
    }
    for (at, seen) in world.seen().iter().enumerate() {
        let is_repeated = begun[..at].contains(&seen.number);
        assert!(seen.after_crash || !is_repeated, "{seen:?} looks as if nobody had begun it");
    }
}

#[supervise::test]
async fn dur_35_the_asker_of_a_crash_is_gone_and_its_message_is_handled(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    let asker = orders.clone();
    let asked = tokio::spawn(async move { asker.place(that(1, Does::Wait)).await });
    system.settle().await;
    let next = system.crash(Crash::Process).await;
    assert!(asked.await.expect("no panic").is_err());
    world.gate.notify_one();
    world.spawn(&next);
    next.settle().await;
    assert_eq!(world.begun(), [1, 1]);
}

#[supervise::test]
async fn dur_40_a_clean_end_stores_what_was_handed_over_and_charges_nobody(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    orders.place(that(0, Does::Wait)).accepted().await.expect("the store works");
    system.settle().await;
    for number in 1..=100 {
        orders.place(order(number)).tell().expect("there is room");
    }
    world.gate.notify_one();
    system.terminate().await;
    let handled = world.begun().len();
    let next = system.crash(Crash::Process).await;
    world.spawn(&next);
    next.settle().await;
    let begun = world.begun();
    assert!(begun.iter().copied().eq(0..=100), "{handled} before the end, {begun:?} in all");
    assert!(world.seen().iter().all(|seen| !seen.after_crash));
}
