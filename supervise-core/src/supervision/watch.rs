//! Both sides of death watch: the actors that an actor watches, and the actors that watch it.
//!
//! 1. There is one notification per watch: a subject's end is queued once, and delivered only if the subject is still
//!    watched when the notification is dequeued.
//! 2. Ending a watch also cancels a notification that is already queued.
//! 3. An actor of another node may have several refs, which are equal, and a task for each of them. What concerns a watch goes through
//!    the ref with which it began, so that it stays in order.
//!
//! Rules 8.1 and 8.3.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash, Hasher};

use super::vocabulary::HowEnded;

/// What the end of a watched actor means to its watcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WatchKind {
    /// The watcher is told.
    Notify,
    /// The watcher fails.
    DeathPact,
    /// The watcher gets a message of its own choice.
    Message,
}

/// The actors that one actor watches, and those that watch it.
#[derive(Debug, Clone)]
pub(crate) struct Watches<R> {
    watching: HashMap<R, Watching, Same>,
    watchers: HashSet<R, Same>,
}

/// A hasher with the same order in every run, so that a simulation can be repeated. It need not resist attacks, because
/// users cannot choose the hash of a ref.
type Same = BuildHasherDefault<DefaultHasher>;

/// The order of the entries does not matter.
impl<R: Hash> Hash for Watches<R> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        fn sum(entries: impl Iterator<Item: Hash>) -> u64 {
            entries.map(|entry| Same::default().hash_one(entry)).fold(0, u64::wrapping_add)
        }
        sum(self.watching.iter()).hash(state);
        sum(self.watchers.iter()).hash(state);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Watching {
    kind: WatchKind,
    queued: Option<HowEnded>,
}

impl<R> Default for Watches<R> {
    fn default() -> Self {
        Self { watching: HashMap::default(), watchers: HashSet::default() }
    }
}

impl<R: Hash + Eq + Clone> Watches<R> {
    /// Starts to watch. Returns the kind of an earlier watch, which stays as it is.
    pub(crate) fn watch(&mut self, subject: &R, kind: WatchKind) -> Option<WatchKind> {
        if let Some(earlier) = self.watching.get(subject) {
            return Some(earlier.kind);
        }
        self.watching.insert(subject.clone(), Watching { kind, queued: None });
        None
    }

    /// Ends a watch, and cancels a queued notification. Returns the ref with which the watch began, if there was one.
    #[must_use]
    pub(crate) fn unwatch(&mut self, subject: &R) -> Option<R> {
        self.watching.remove_entry(subject).map(|(watched, _)| watched)
    }

    /// The subject ended. Returns the ref with which the watch began, if the notification must be queued. `None`: the subject is not
    /// watched, or its notification is already queued.
    #[must_use]
    #[inline]
    pub(crate) fn ended(&mut self, subject: &R, how: HowEnded) -> Option<R> {
        // The parents of most actors watch nobody.
        if self.watching.is_empty() { None } else { self.queued(subject, how) }
    }

    #[cold]
    #[inline(never)]
    fn queued(&mut self, subject: &R, how: HowEnded) -> Option<R> {
        let watching = self.watching.get_mut(subject).filter(|watching| watching.queued.is_none())?;
        watching.queued = Some(how);
        self.watching.get_key_value(subject).map(|(watched, _)| watched.clone())
    }

    /// The queued notification of the subject's end reached the front of the queue. `None`: the subject is no longer
    /// watched.
    #[must_use]
    pub(crate) fn dequeued(&mut self, subject: &R) -> Option<(WatchKind, HowEnded)> {
        let Watching { kind, queued } = *self.watching.get(subject)?;
        let how = queued?;
        self.watching.remove(subject);
        Some((kind, how))
    }

    /// Ends all watches.
    pub(crate) fn unwatch_all(&mut self) -> impl Iterator<Item = R> + use<R> {
        std::mem::take(&mut self.watching).into_keys()
    }

    pub(crate) fn add_watcher(&mut self, watcher: R) {
        self.watchers.insert(watcher);
    }

    pub(crate) fn remove_watcher(&mut self, watcher: &R) {
        self.watchers.remove(watcher);
    }

    pub(crate) fn take_watchers(&mut self) -> impl Iterator<Item = R> + use<R> {
        std::mem::take(&mut self.watchers).into_iter()
    }

    pub(crate) fn watchers(&self) -> impl Iterator<Item = &R> {
        self.watchers.iter()
    }

    pub(crate) fn watched(&self) -> impl Iterator<Item = &R> {
        self.watching.keys()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watching(subject: u32) -> Watches<u32> {
        let mut watches = Watches::default();
        assert_eq!(watches.watch(&subject, WatchKind::Notify), None);
        watches
    }

    #[test]
    fn an_end_is_queued_once_and_delivered_once() {
        let mut watches = watching(7);
        assert_eq!(watches.ended(&7, HowEnded::Graceful), Some(7));
        assert_eq!(watches.ended(&7, HowEnded::AlreadyGone), None);
        assert_eq!(watches.dequeued(&7), Some((WatchKind::Notify, HowEnded::Graceful)));
        assert_eq!(watches.dequeued(&7), None);
    }

    #[test]
    fn unwatch_takes_back_queued_news() {
        let mut watches = watching(7);
        assert_eq!(watches.ended(&7, HowEnded::Graceful), Some(7));
        assert_eq!(watches.unwatch(&7), Some(7));
        assert_eq!(watches.dequeued(&7), None);
    }

    #[test]
    fn stale_news_does_not_satisfy_a_later_watch() {
        let mut watches = watching(7);
        assert_eq!(watches.ended(&7, HowEnded::Graceful), Some(7));
        assert_eq!(watches.unwatch(&7), Some(7));
        assert_eq!(watches.watch(&7, WatchKind::DeathPact), None);
        assert_eq!(watches.dequeued(&7), None);
        assert_eq!(watches.ended(&7, HowEnded::AlreadyGone), Some(7));
        assert_eq!(watches.dequeued(&7), Some((WatchKind::DeathPact, HowEnded::AlreadyGone)));
    }

    #[test]
    fn the_end_of_an_actor_that_is_not_watched_is_no_news() {
        let mut watches = watching(7);
        assert_eq!(watches.ended(&8, HowEnded::Graceful), None);
    }
}
