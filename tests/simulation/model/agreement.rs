//! Whether two steps do the same.

use supervise_core::supervision::{Effect, Timer};

use crate::fault::Fault;
use crate::world::Id;

/// Whether two steps do the same: to each actor, and to themselves, the same in the same order. Between different actors
/// no order is promised. No time runs for code that is about to be dropped. When a round is forgotten that nobody waits for is not
/// told apart; one that somebody waits for is missed when it is due.
pub(crate) fn agree(some: &[Effect<Id, Fault>], others: &[Effect<Id, Fault>], aborts: bool) -> bool {
    let counts = |effect: &&Effect<Id, Fault>| match effect {
        Effect::Note(_) | Effect::Disarm(Timer::Restart(_)) => false,
        Effect::Arm(Timer::Abort, _) | Effect::Disarm(Timer::Abort) => !aborts,
        _ => true,
    };
    let by_concern = |effects: &[Effect<Id, Fault>]| {
        let mut sorted: Vec<_> = effects.iter().filter(counts).cloned().collect();
        sorted.sort_by_key(concern);
        sorted
    };
    some.iter().filter(counts).eq(others.iter().filter(counts)) || by_concern(some) == by_concern(others)
}

fn concern(effect: &Effect<Id, Fault>) -> (u8, Id) {
    match effect {
        Effect::Send(to, _) => (0, *to),
        Effect::TellWatcher(to, _) => (1, *to),
        Effect::Watch(subject) | Effect::Unwatch(subject) => (2, *subject),
        Effect::Arm(..) | Effect::Disarm(_) => (3, 0),
        Effect::AnnounceStop => (4, 0),
        _ => (5, 0),
    }
}
