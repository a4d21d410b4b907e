//! Keeps the system lane of an actor that blocks its thread short, however often its parent suspends it and restarts it or lets it go on.
//!
//! ```text
//!   Suspend, Resume(None)                    ──► nothing, and in the other order too
//!   Restart(first), Suspend, Restart(second) ──► Restart(first)
//! ```
//!
//! The actor has taken none of them, so its instance is the same before and after. It counts one suspension more and one less; and one
//! restart answers both failures (rule 7.10).

use super::System;
use crate::supervision::SystemMessage::{Restart, RestartTogether, Resume, Suspend};

/// Whether there is a message that `message` could undo.
pub(super) fn may_undo(message: &System) -> bool {
    matches!(message, Suspend | Resume(None) | Restart(_))
}

/// Whether `message` and the message that waits last, `last`, undo each other. `before` waits before `last`.
pub(super) fn undoes(last: &System, before: Option<&System>, message: &System) -> bool {
    matches!(
        (before, last, message),
        (_, Suspend, Resume(None))
            | (_, Resume(None), Suspend)
            | (Some(Restart(_) | RestartTogether(_)), Suspend, Restart(_))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;
    use crate::mailbox::{Mailbox, MailboxKind};

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
                    _ => System::Terminate,
                };
                if lanes.take_back(|last, before| undoes(last, before, &message)).is_none() {
                    assert!(lanes.push_system(message).is_ok(), "an open lane");
                }
            }
        }
        let left = std::iter::from_fn(|| lanes.take_system()).map(|message| match message {
            Suspend => 's',
            Resume(None) => 'r',
            Resume(Some(_)) => 'o',
            Restart(_) => 'R',
            RestartTogether(_) => 'T',
            _ => 'x',
        });
        let left = left.collect();
        assert!(!lanes.system_waits());
        left
    }

    #[test]
    fn what_a_parent_sends_again_and_again_stays_short() {
        for (messages, left) in [("sr", ""), ("sR", "sR"), ("ssRr", "ssRr")] {
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
    }
}
