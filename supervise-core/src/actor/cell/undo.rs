//! Keeps the system lane of an actor that blocks its thread short, however often others tell it the same.
//!
//! ```text
//!   Suspend, Resume(None)                    ──► nothing, and in the other order too
//!   Restart(first), Suspend, Restart(second) ──► Restart(first)
//!   Watch(actor), Unwatch(actor)             ──► nothing
//!   RetryNow(child), RetryNow(child)         ──► RetryNow(child)
//! ```
//!
//! The actor has taken none of them, so its instance is the same before and after. It counts one suspension more and one less; and one
//! restart answers both failures (rule 7.10). `Unwatch(actor), Watch(actor)` stay: if this actor is about to end, it answers the `Watch`.
//!
//! Only the last messages are compared, so messages of several senders that take turns stay at first. When many wait, the whole lane is
//! looked through before it grows. Of each watcher only the messages that are in effect stay, two at most, and messages that are neighbours
//! after that undo each other. So the lane holds a few messages for each actor that watches or is watching at the end.

use std::collections::{HashMap, HashSet, VecDeque};
use std::mem::{Discriminant, discriminant, replace};

use super::System;
use crate::base::Uid;
use crate::supervision::ChildId;
use crate::supervision::SystemMessage::{
    Failed, ResetBackoff, Restart, RestartByHand, RestartTogether, Resume, RetryNow, Suspend, Unwatch, Watch,
};

/// Whether there is a message that `message` could undo.
pub(super) fn may_undo(message: &System) -> bool {
    matches!(message, Suspend | Resume(None) | Restart(_) | Unwatch(_) | RetryNow(_))
}

/// Whether `message` takes the place of the one that it undoes.
pub(super) fn replaces(message: &System) -> bool {
    matches!(message, RetryNow(_))
}

/// Whether `message` and the message that waits last, `last`, undo each other. `before` waits before `last`.
pub(super) fn undoes(last: &System, before: Option<&System>, message: &System) -> bool {
    match (before, last, message) {
        (_, Suspend, Resume(None))
        | (_, Resume(None), Suspend)
        | (Some(Restart(_) | RestartTogether(_)), Suspend, Restart(_)) => true,
        (_, Watch(watcher), Unwatch(same)) => watcher == same,
        (_, RetryNow(child), RetryNow(same)) => child == same,
        _ => false,
    }
}

/// Whether other actors may send this message again and again.
pub(super) fn may_pile_up(message: &System) -> bool {
    matches!(message, Watch(_) | Unwatch(_) | Suspend | Resume(None)) || about_child(message).is_some()
}

/// What the message asks about a child, if asking it once more has no effect before the child fails again.
fn about_child(message: &System) -> Option<(ChildId, Option<u32>, Discriminant<System>)> {
    match message {
        ResetBackoff(child) | RetryNow(child) => Some((*child, None, discriminant(message))),
        RestartByHand { child, restarts, .. } => Some((*child, Some(*restarts), discriminant(message))),
        _ => None,
    }
}

/// The messages of one watcher that are in effect, and their places in the lane.
#[derive(Clone, Copy)]
enum Words {
    /// It was not known before.
    Watches(usize),
    /// It was known before. Without the first word, the next one could not tell this from [`Watches`](Self::Watches).
    UnwatchesAndWatches(usize, usize),
    Unwatches(usize),
}

impl Words {
    /// Its words after one more at this place. `None`: none of them is in effect.
    fn after(earlier: Option<Self>, watches: bool, at: usize) -> Option<Self> {
        match (earlier, watches) {
            (None | Some(Self::Watches(_)), true) => Some(Self::Watches(at)),
            (Some(Self::Unwatches(first) | Self::UnwatchesAndWatches(first, _)), true) => {
                Some(Self::UnwatchesAndWatches(first, at))
            }
            (Some(Self::Watches(_)), false) => None,
            (Some(Self::Unwatches(first) | Self::UnwatchesAndWatches(first, _)), false) => {
                Some(Self::Unwatches(first))
            }
            (None, false) => Some(Self::Unwatches(at)),
        }
    }

    fn is_at(self, place: usize) -> bool {
        match self {
            Self::Watches(at) | Self::Unwatches(at) => at == place,
            Self::UnwatchesAndWatches(first, last) => first == place || last == place,
        }
    }
}

/// Takes out of a lane what later messages of the same senders supersede.
pub(super) fn take_superseded(lane: &mut VecDeque<System>) -> Vec<System> {
    let mut words: HashMap<Uid, Words> = HashMap::new();
    for (at, message) in lane.iter().enumerate() {
        let (uid, watches) = match message {
            Watch(watcher) => (watcher.uid(), true),
            Unwatch(watcher) => (watcher.uid(), false),
            _ => continue,
        };
        match Words::after(words.get(&uid).copied(), watches, at) {
            Some(effective) => words.insert(uid, effective),
            None => words.remove(&uid),
        };
    }
    let mut asked = HashMap::new();
    let mut superseded = Vec::new();
    let room = lane.capacity();
    for (at, message) in replace(lane, VecDeque::with_capacity(room)).into_iter().enumerate() {
        if let Watch(watcher) | Unwatch(watcher) = &message {
            if words.get(&watcher.uid()).is_some_and(|words| words.is_at(at)) {
                lane.push_back(message);
            } else {
                superseded.push(message);
            }
            continue;
        }
        if let Failed { child, .. } = &message {
            asked.remove(child);
        } else if let Some((child, restarts, kind)) = about_child(&message) {
            let of_child: &mut HashSet<_> = asked.entry(child).or_default();
            if !of_child.insert((restarts, kind)) {
                superseded.push(message);
                continue;
            }
        }
        // A restart that is undone changes what the parent counts, so restarts stay.
        let is_undone = !matches!(message, Restart(_))
            && may_undo(&message)
            && lane.back().is_some_and(|last| undoes(last, None, &message));
        if is_undone {
            superseded.extend(lane.pop_back());
        }
        if !is_undone || replaces(&message) {
            lane.push_back(message);
        } else {
            superseded.push(message);
        }
    }
    superseded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actor::actor_ref::{ActorRef, AnyActorRef};
    use crate::actor::context::Context;
    use crate::actor::definition::{Actor, Supervisor};
    use crate::actor::system::ActorSystem;
    use crate::failure::Failure;
    use crate::mailbox::{Mailbox, MailboxKind};
    use crate::supervision::SystemMessage::Terminate;

    type Lanes = Mailbox<(), (), System, ()>;

    /// What waits, as one letter each, after these messages were pushed `times` times.
    fn left_of(messages: &str, times: usize) -> String {
        let lanes = Lanes::new(MailboxKind::Unbounded);
        for _ in 0..times {
            for letter in messages.chars() {
                let message = match letter {
                    's' => Suspend,
                    'r' => Resume(None),
                    'o' => Resume(Some(Failure::killed())),
                    'R' => Restart(Failure::killed()),
                    'T' => RestartTogether(Failure::killed()),
                    '1' => RetryNow(ChildId(1)),
                    '2' => RetryNow(ChildId(2)),
                    _ => System::Terminate,
                };
                let taken_back =
                    may_undo(&message) && lanes.take_back(|last, before| undoes(last, before, &message)).is_some();
                if !taken_back || replaces(&message) {
                    assert!(lanes.push_system(message).is_ok(), "an open lane");
                }
            }
        }
        let left = std::iter::from_fn(|| lanes.take_system(&mut false)).map(|message| match message {
            Suspend => 's',
            Resume(None) => 'r',
            Resume(Some(_)) => 'o',
            Restart(_) => 'R',
            RestartTogether(_) => 'T',
            RetryNow(ChildId(1)) => '1',
            RetryNow(_) => '2',
            _ => 'x',
        });
        let left = left.collect();
        assert!(!lanes.system_waits());
        left
    }

    #[test]
    fn what_a_parent_sends_again_and_again_stays_short() {
        for (messages, left) in [("sr", ""), ("sR", "sR"), ("ssRr", "ssRr"), ("1", "1")] {
            for times in [2, 10, if cfg!(miri) { 100 } else { 10_000 }] {
                assert_eq!(left_of(messages, times).len(), left.len(), "{messages}");
            }
        }
    }

    #[test]
    fn what_answers_the_actor_itself_and_a_stop_stay() {
        assert_eq!(left_of("so", 1), "so");
        assert_eq!(left_of("sRxsR", 1), "sRxsR");
        assert_eq!(left_of("sRsTsR", 1), "sRsT");
        assert_eq!(left_of("1121x1", 1), "121x1");
    }

    struct Blocked;

    impl Supervisor for Blocked {
        type Ref = ActorRef<Self>;
    }

    impl Actor for Blocked {
        type Message = ();

        async fn handle(&mut self, (): (), _: &mut Context<Self>) -> Result<(), Failure> {
            Ok(())
        }
    }

    /// What waits in the system lane of an actor that has no turn: each watcher as its number, with a minus sign if it unwatches, and 0
    /// for anything else.
    async fn left_after(sent: impl FnOnce(&AnyActorRef, &[AnyActorRef])) -> Vec<i32> {
        let system = ActorSystem::new("storm");
        let spawn = || system.spawn_anonymous(|| Blocked).expect("a running system");
        let watchers: Vec<_> = std::iter::repeat_with(spawn).take(100).map(|watcher| watcher.to_any()).collect();
        let subject = spawn();
        // This thread gives no actor a turn before the next `.await`.
        sent(&subject.to_any(), &watchers);
        let number = |watcher: &AnyActorRef| {
            let at = watchers.iter().position(|known| known == watcher).expect("a watcher");
            i32::try_from(at + 1).expect("few watchers")
        };
        let left = std::iter::from_fn(|| subject.mailbox().take_system(&mut false)).map(|message| match message {
            Watch(watcher) => number(&watcher),
            Unwatch(watcher) => -number(&watcher),
            _ => 0,
        });
        let left = left.collect();
        system.terminate().await;
        left
    }

    /// Many watchers take turns, so the messages of one watcher are never neighbours.
    #[tokio::test]
    async fn watchers_that_take_turns_do_not_pile_up() {
        let left = left_after(|subject, watchers| {
            for _ in 0..if cfg!(miri) { 12 } else { 1_000 } {
                for watcher in watchers {
                    subject.send_system(Watch(watcher.clone()));
                }
                subject.send_system(Suspend);
                for watcher in watchers {
                    subject.send_system(Unwatch(watcher.clone()));
                }
                subject.send_system(Resume(None));
            }
        });
        let left = left.await;
        assert!(left.len() <= 1_024, "{} wait", left.len());
    }

    /// A supervisor that blocks its thread gets the same requests again and again, for several children in turn. A request before a
    /// failure and one after it are different requests.
    #[tokio::test]
    async fn what_is_asked_about_children_does_not_pile_up() {
        let left = left_after(|supervisor, _| {
            for times in 0..if cfg!(miri) { 60 } else { 20_000 } {
                for child in [ChildId(1), ChildId(2)] {
                    supervisor.send_system(ResetBackoff(child));
                    supervisor.send_system(RetryNow(child));
                    supervisor.send_system(RestartByHand { child, cause: Failure::killed(), restarts: 0 });
                }
                if times == 10 {
                    supervisor.send_system(Failed {
                        child: ChildId(1),
                        cause: Failure::killed(),
                        restarts: 0,
                        runs: 0,
                    });
                }
            }
        });
        let left = left.await.len();
        assert!((10..=256).contains(&left), "{left} wait");
    }

    /// The last message of each watcher counts, whatever it sent before.
    #[tokio::test]
    async fn the_last_word_of_each_watcher_stays() {
        let left = left_after(|subject, watchers| {
            let (known, new) = watchers.split_at(50);
            for watcher in known {
                subject.send_system(Unwatch(watcher.clone()));
            }
            for _ in 0..if cfg!(miri) { 12 } else { 500 } {
                new.iter().chain(known).for_each(|watcher| subject.send_system(Watch(watcher.clone())));
                new.iter().chain(known).for_each(|watcher| subject.send_system(Unwatch(watcher.clone())));
            }
            for watcher in new[..25].iter().chain(&known[..25]) {
                subject.send_system(Watch(watcher.clone()));
            }
            subject.send_system(Terminate);
        });
        let left = left.await;
        assert!(left.len() <= 1_024, "{} wait", left.len());
        let last = |watcher: i32| left.iter().rev().copied().find(|word| word.abs() == watcher);
        for watcher in 1..=25 {
            assert_eq!(last(watcher), Some(watcher), "it watches again");
        }
        for watcher in 26..=50 {
            assert_eq!(last(watcher), Some(-watcher), "it was known before");
        }
        for watcher in 51..=75 {
            assert_eq!(last(watcher), Some(watcher));
        }
        for watcher in 76..=100 {
            assert!(last(watcher).is_none_or(|word| word < 0), "it does not watch any more");
        }
        assert_eq!(left.iter().filter(|word| **word == 0).count(), 1);
    }

    /// An actor that is about to end answers a watch, so one that comes after an `Unwatch` stays.
    #[tokio::test]
    async fn a_watch_is_undone_by_the_same_watcher_only() {
        let system = ActorSystem::new("watch");
        let user = system.user_guardian();
        let root = user.core().parent.clone().expect("a parent");
        let (watch, unwatch) =
            (|watcher: &AnyActorRef| Watch(watcher.clone()), |watcher: &AnyActorRef| Unwatch(watcher.clone()));
        assert!(undoes(&watch(&user), None, &unwatch(&user)) && may_undo(&unwatch(&user)));
        assert!(!undoes(&watch(&user), None, &unwatch(&root)));
        assert!(!undoes(&unwatch(&user), None, &watch(&user)));
        assert!(!undoes(&watch(&user), None, &watch(&user)));
        system.terminate().await;
    }
}
