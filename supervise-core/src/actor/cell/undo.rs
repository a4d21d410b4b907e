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
//! Messages of several senders that take turns stay too, because only the last two are compared.

use super::System;
use crate::mailbox::Needless;
use crate::supervision::SystemMessage::{Restart, RestartTogether, Resume, RetryNow, Suspend, Unwatch, Watch};

/// Whether `message`, and the message that waits last, `last`, are needless. `before` waits before `last`.
pub(super) fn needless(last: &System, before: Option<&System>, message: &System) -> Option<Needless> {
    match (before, last, message) {
        (_, Suspend, Resume(None))
        | (_, Resume(None), Suspend)
        | (Some(Restart(_) | RestartTogether(_)), Suspend, Restart(_)) => Some(Needless::Both),
        (_, Watch(watcher), Unwatch(same)) if watcher == same => Some(Needless::Both),
        (_, RetryNow(child), RetryNow(same)) if child == same => Some(Needless::New),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actor::actor_ref::AnyActorRef;
    use crate::actor::system::ActorSystem;
    use crate::failure::Failure;
    use crate::mailbox::{Mailbox, MailboxKind, SystemPushed};
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
                assert!(!matches!(lanes.push_system_unless(message, needless), SystemPushed::Closed(_)));
            }
        }
        let left = std::iter::from_fn(|| lanes.take_system()).map(|message| match message {
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
            for times in [2, 10, 10_000] {
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
        assert_eq!(needless(&watch(&user), None, &unwatch(&user)), Some(Needless::Both));
        assert_eq!(needless(&watch(&user), None, &unwatch(&root)), None);
        assert_eq!(needless(&unwatch(&user), None, &watch(&user)), None);
        assert_eq!(needless(&watch(&user), None, &watch(&user)), None);
        system.terminate().await;
    }
}
