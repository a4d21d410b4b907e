//! Whether two steps do the same.

use supervise_core::supervision::{Effect, Timer};

use crate::fault::Fault;
use crate::world::Id;

/// Whether two steps do the same to each actor, and to themselves, in the same order. The order between different actors is not
/// defined. No timeout runs for code that is about to be dropped. It does not matter when a delayed restart for which nobody
/// waits is forgotten. If somebody waits for it, the check fails when it is due.
pub(crate) fn agree(some: &[Effect<Id, Fault>], others: &[Effect<Id, Fault>], aborts: bool) -> bool {
    let counts = |effect: &&Effect<Id, Fault>| match effect {
        Effect::Note(_) | Effect::Charge(_) | Effect::Disarm(Timer::Restart(_)) => false,
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
