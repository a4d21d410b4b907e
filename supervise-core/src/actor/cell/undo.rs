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
//! Messages of several senders that take turns stay too, because only the last ones are compared.

use super::System;
use crate::supervision::SystemMessage::{Restart, RestartTogether, Resume, RetryNow, Suspend, Unwatch, Watch};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actor::actor_ref::AnyActorRef;
    use crate::actor::system::ActorSystem;
    use crate::failure::Failure;
    use crate::mailbox::{Mailbox, MailboxKind};
    use crate::supervision::ChildId;

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
