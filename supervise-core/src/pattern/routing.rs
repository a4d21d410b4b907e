//! Decides which of its workers a pool gives a message to.
//!
//! Rules 13.8 and 21.5.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::base::UserValue;

/// How a [broadcasting](super::Pool::broadcasting) pool copies a message of type `M`: as its `Clone` does.
// A property of the copy and not of the message: rustc would propose to borrow the message, and references are `Clone`.
#[diagnostic::on_unimplemented(
    message = "a broadcasting pool clones its messages, and these are not `Clone`",
    label = "`{M}` is not `Clone`",
    note = "let the impl block of the workers say `#[actor(message(derive(Clone)))]`, or take another pool and call its `actor_ref().broadcast(..)`"
)]
pub trait CopyOf<M> {
    /// A clone.
    #[doc(hidden)]
    fn of(message: &M) -> M;
}

/// See [`CopyOf`].
#[derive(Debug)]
pub enum ForEachWorker {}

#[diagnostic::do_not_recommend]
impl<M: Clone> CopyOf<M> for ForEachWorker {
    fn of(message: &M) -> M {
        message.clone()
    }
}

/// Which workers get a message.
pub(super) enum Routing<M: 'static> {
    RoundRobin,
    SmallestMailbox,
    /// The hash of a message's key.
    ByKey(KeyOf<M>),
    Broadcast(fn(&M) -> M),
}

type KeyOf<M> = UserValue<Box<dyn Fn(&M) -> u64 + Send + Sync>>;

impl<M: 'static> Routing<M> {
    pub(super) fn by_key<K: Hash>(key: impl Fn(&M) -> K + Send + Sync + 'static) -> Self {
        Self::ByKey(UserValue::new(Box::new(move |message| hash(&key(message)))))
    }
}

impl<M> fmt::Debug for Routing<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RoundRobin => "round robin",
            Self::SmallestMailbox => "smallest mailbox",
            Self::ByKey(_) => "by key",
            Self::Broadcast(_) => "broadcast",
        })
    }
}

/// The weight of a worker of this name for a key. The worker with the largest weight gets the key, so that a change of the
/// workers moves as few keys as possible (rendezvous hashing).
pub(super) fn weight(key: u64, worker: &str) -> u64 {
    hash(&(key, worker))
}

/// A hash that is the same for the same value in every process.
fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(key: u64, workers: &[&'static str]) -> &'static str {
        workers.iter().copied().max_by_key(|worker| weight(key, worker)).expect("there are workers")
    }

    #[test]
    fn keys_are_spread_over_the_workers() {
        let workers = ["worker-1", "worker-2", "worker-3", "worker-4"];
        for worker in workers {
            let keys = (0..10_000).filter(|key| owner(hash(key), &workers) == worker).count();
            assert!((2_300..2_700).contains(&keys), "{worker} has {keys} of 10000 keys");
        }
    }

    #[test]
    fn a_new_worker_takes_keys_and_no_other_key_moves() {
        let before = ["worker-1", "worker-2", "worker-3"];
        let after = ["worker-1", "worker-2", "worker-3", "worker-4"];
        let keys = (0..10_000).map(|key| hash(&key));
        let moved: Vec<_> = keys.filter(|&key| owner(key, &before) != owner(key, &after)).collect();
        assert!(moved.iter().all(|&key| owner(key, &after) == "worker-4"));
        assert!((2_300..2_700).contains(&moved.len()), "{} of 10000 keys moved", moved.len());
    }
}
