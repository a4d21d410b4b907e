//! Every interleaving of a small world, each state once.

use std::collections::{HashSet, VecDeque};
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The first mistake, if there is one.
pub(super) type Checked = Result<(), String>;

/// A world with few states.
pub(super) trait SmallWorld: Clone + Debug + Hash {
    /// What can happen.
    type Action: Copy + Debug;

    /// In how many ways the world can run to its end, for example with one survivor or another.
    const ENDS: usize;

    /// What can happen now.
    fn actions(&self) -> Vec<Self::Action>;

    fn act(&mut self, action: Self::Action) -> Checked;

    /// Checks the invariants.
    fn check(&self) -> Checked;

    /// Nothing bad happens any more, and the world ends. `end` is less than `ENDS`.
    fn run_to_its_end(&mut self, end: usize) -> Checked;
}

/// Visits every state of a world, and lets each run to its end. Returns how many states there are, or the first mistake.
pub(super) fn explore<W: SmallWorld>(first: W) -> Result<usize, String> {
    let mut known = HashSet::from([fingerprint(&first)]);
    let mut waiting = VecDeque::from([(first, Vec::new())]);
    while let Some((world, path)) = waiting.pop_front() {
        for action in world.actions() {
            let mut next = world.clone();
            let mut path: Vec<W::Action> = path.clone();
            path.push(action);
            let checked = next.act(action).and_then(|()| next.check());
            checked.map_err(|wrong| format!("{wrong} after {path:?}\n{next:#?}"))?;
            if known.insert(fingerprint(&next)) {
                for end in 0..W::ENDS {
                    let mut last = next.clone();
                    let checked = last.run_to_its_end(end);
                    checked.map_err(|wrong| format!("{wrong} after {path:?}\n{last:#?}"))?;
                }
                waiting.push_back((next, path));
            }
        }
    }
    Ok(known.len())
}

/// A number for a state, because millions of states are too much to keep.
fn fingerprint<W: SmallWorld>(world: &W) -> u64 {
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    hasher.finish()
}
