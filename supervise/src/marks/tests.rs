use std::collections::VecDeque;
use std::time::Duration;

use super::*;

fn sight(pushed: u32, waiting: usize, handling: bool) -> Sight<'static> {
    Sight {
        key: 1,
        depth: 2,
        name: "one",
        actor_type: "One",
        state: NodeState::Running,
        handling,
        parked: handling,
        handler: None,
        pushed,
        waiting,
        capacity: None,
        stashed: 0,
        waits_for: Vec::new(),
        restarts: 0,
        attempt: 0,
        budget: None,
        endless: None,
        due: None,
        may_repeat: false,
    }
}

/// A mailbox that knows when each of its messages arrived.
struct Truth {
    now: Time,
    pushed: u32,
    /// When each waiting message came.
    waiting: VecDeque<Time>,
    /// Since when the current message is being handled.
    handling: Option<Time>,
}

/// The test looks at the first step after a second, and a step takes less than 400 ms.
const LONGEST_LOOK: Duration = Duration::from_millis(1_400);

/// CON-09: a message is not older than the bound, and its age is exact to within one look while at most 64 arrivals are
/// remembered. "Since" is late by less than one look. The numbers wrap during the test.
#[test]
fn con_09_ages_lie_within_one_look_of_the_truth() {
    for seed in 0..400_u64 {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut draw = |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % below
        };
        let mut truth =
            Truth { now: Duration::ZERO, pushed: u32::MAX - 40, waiting: VecDeque::new(), handling: None };
        let mut marks = Marks::default();
        let mut looked = Duration::ZERO;
        let (mut compared, stalls) = (0, draw(4) == 0);
        for step in 0..3_000_u64 {
            truth.now += Duration::from_millis(draw(400));
            let stalled = stalls && (step / 300) % 2 == 1;
            if draw(3) == 0 {
                truth.pushed = truth.pushed.wrapping_add(1);
                truth.waiting.push_back(truth.now);
            }
            if !stalled && draw(2) == 0 {
                truth.handling = truth.waiting.pop_front().map(|_| truth.now);
            }
            if truth.now < looked + Duration::from_secs(1) {
                continue;
            }
            marks.begin();
            let seen = sight(truth.pushed, truth.waiting.len(), truth.handling.is_some());
            let mark = marks.see(&seen, truth.now);
            assert_eq!(mark.is_some(), truth.handling.is_some() || !truth.waiting.is_empty());
            if let Some(mark) = mark {
                let age = mark.oldest(truth.now);
                assert_eq!(age.is_some(), !truth.waiting.is_empty(), "seed {seed}, step {step}");
                if let (Some(age), Some(came)) = (age, truth.waiting.front()) {
                    let true_age = truth.now.saturating_sub(*came);
                    assert!(
                        true_age <= age.at_most && age.about <= age.at_most,
                        "seed {seed}, step {step}: {age:?}"
                    );
                    let exact = mark.arrivals.0.len() < ARRIVALS / 2;
                    assert!(
                        !exact
                            || true_age.abs_diff(age.about) <= LONGEST_LOOK
                                && age.at_most <= true_age + LONGEST_LOOK,
                        "seed {seed}: {age:?}"
                    );
                    compared += 1;
                }
                if let (Some(since), Some(began)) = (mark.message_since, truth.handling) {
                    assert!(since >= began && since <= began + LONGEST_LOOK, "seed {seed}, step {step}");
                }
            }
            marks.end(truth.now);
            looked = truth.now;
        }
        assert!(compared > 0, "seed {seed} compared nothing");
    }
}

/// An age that falls by more than the messages that were taken were apart looks as if the mailbox had been emptied.
#[test]
fn con_09_the_age_of_the_oldest_message_falls_no_faster_than_messages_are_taken() {
    // One message comes each second, and one in 30 is taken. The looks are one and five seconds apart.
    for interval in [1, 5_u32] {
        let mut marks = Marks::default();
        let mut last = Duration::ZERO;
        for second in (0..1_800).step_by(interval as usize) {
            marks.begin();
            let (pushed, taken) = (second + 1, second / 30);
            let now = Duration::from_secs(second.into());
            let seen = sight(pushed, (pushed - taken) as usize, false);
            let age = marks.see(&seen, now).and_then(|mark| mark.oldest(now)).expect("messages wait").about;
            let lower = last.saturating_sub(Duration::from_secs(1));
            assert!(age >= lower, "after {second} s, {interval} s apart: {last:?}, then {age:?}");
            let true_age = now.saturating_sub(Duration::from_secs(taken.into()));
            assert!(
                age.abs_diff(true_age) <= Duration::from_secs(5),
                "after {second} s: {age:?} for {true_age:?}"
            );
            marks.end(now);
            last = age;
        }
    }
}

#[test]
fn an_idle_actor_leaves_no_mark_and_the_number_of_marks_is_bounded() {
    let mut marks = Marks::default();
    marks.begin();
    for key in 0..MOST as u64 + 10 {
        let _mark = marks.see(&Sight { key, ..sight(1, 1, false) }, Duration::ZERO);
        let _mark = marks.see(&Sight { key: key + (1 << 40), ..sight(5, 0, false) }, Duration::ZERO);
    }
    assert_eq!((marks.len(), marks.unfollowed), (MOST, 10));
    marks.end(Duration::ZERO);
    marks.begin();
    marks.end(Duration::from_secs(1));
    assert_eq!(marks.len(), 0);
}

#[test]
fn a_message_that_ends_between_two_looks_begins_anew() {
    let mut marks = Marks::default();
    let mut since = |seconds, pushed, waiting| {
        marks.begin();
        let now = Duration::from_secs(seconds);
        let since = marks.see(&sight(pushed, waiting, true), now).and_then(|mark| mark.message_since);
        marks.end(now);
        since.map(|since| since.as_secs())
    };
    assert_eq!([since(1, 3, 2), since(2, 4, 3), since(3, 4, 3)], [Some(1); 3]);
    assert_eq!([since(4, 4, 2), since(5, 5, 3)], [Some(4); 2]);
}

/// However many long polls there are, an actor whose messages wait is followed. Rule 22.4.
#[test]
fn con_18_actors_that_just_wait_leave_room_for_others() {
    let mut marks = Marks::default();
    marks.begin();
    let polls = (MOST - RESERVED) as u64 + 10;
    for key in 0..polls {
        let _mark = marks.see(&Sight { key, ..sight(1, 0, true) }, Duration::ZERO);
    }
    assert_eq!((marks.len(), marks.unfollowed), (MOST - RESERVED, 10));
    assert!(marks.see(&Sight { key: polls, ..sight(3, 2, true) }, Duration::ZERO).is_some());
}

/// The more mailboxes there are, the fewer arrivals are remembered for each. Rule 22.4.
#[test]
fn con_18_many_mailboxes_have_few_arrivals_each() {
    let mut marks = Marks::default();
    let look = |marks: &mut Marks, second: u32, actors: u64| {
        marks.begin();
        let waiting = second as usize + 1;
        for key in 0..actors {
            marks.see(&Sight { key, ..sight(second + 1, waiting, false) }, Duration::from_secs(second.into()));
        }
        marks.end(Duration::from_secs(second.into()));
    };
    (0..40).for_each(|second| look(&mut marks, second, 2));
    assert_eq!(marks.of[&0].arrivals.0.len(), 40);
    (40..60).for_each(|second| look(&mut marks, second, RESERVED as u64 + 1));
    assert!(marks.of.values().all(|mark| mark.arrivals.0.len() <= ARRIVALS_OF_MANY));
    let oldest = marks.of[&0].oldest(Duration::from_secs(60)).expect("it waits");
    assert_eq!(oldest.at_most, Duration::from_secs(60), "the oldest is remembered");
}

/// Messages that came after a long pause are not as old as the pause, however many arrivals there were before.
#[test]
fn con_09_the_first_messages_after_a_pause_are_not_as_old_as_the_pause() {
    let mut marks = Marks::default();
    let mut look = |now: u64, pushed: u32, waiting: usize| {
        let now = Duration::from_secs(now);
        marks.begin();
        let age = marks.see(&sight(pushed, waiting, false), now).and_then(|mark| mark.oldest(now));
        marks.end(now);
        age
    };
    let mut pushed = 0;
    for s in 0..60 {
        pushed += 1;
        look(s, pushed, pushed as usize);
    }
    for s in 60..3_660 {
        look(s, pushed, pushed as usize);
    }
    for s in 3_660..3_670 {
        pushed += 100;
        look(s, pushed, pushed as usize);
    }
    // It takes 62 messages: the oldest that waits came at 3660.
    let age = look(3_670, pushed, (pushed - 62) as usize).expect("messages wait").about;
    assert!(age <= Duration::from_secs(12), "{age:?}");
}
