//! How long messages wait and are handled: a sample, in buckets. Feature `timing`.
//!
//! Rule 24.6.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The upper bounds of the buckets of [`Times`] in nanoseconds: 10 µs, 20 µs, 50 µs, and so on up to 100 s. The last bucket has none.
pub static TIME_BOUNDS: [u64; BOUNDS] = {
    let mut bounds = [0; BOUNDS];
    let (mut at, mut unit) = (0, 10_000);
    while at < bounds.len() {
        bounds[at] = unit * [1, 2, 5][at % 3];
        at += 1;
        if at % 3 == 0 {
            unit *= 10;
        }
    }
    bounds
};
const BOUNDS: usize = 22;

/// How many messages took at most as long as each of [`TIME_BOUNDS`] and longer than the one before, and how many took longer than all.
pub type TimeBuckets = [u64; BOUNDS + 1];

/// How long the messages of one handler took, as estimated from a sample. The numbers only grow.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Times {
    /// The name of the type of their actors, as [`std::any::type_name`] returns it.
    pub actor_type: &'static str,
    /// Their handler. `None`: they were not handled when they were taken up, but stashed, gathered or dropped.
    pub handler: Option<&'static str>,
    /// How long they waited in the mailbox. Messages that come from elsewhere do not count.
    pub waited: TimeBuckets,
    /// How long they were handled.
    pub handled: TimeBuckets,
}

/// A message that was timed.
pub(crate) struct Took {
    pub(crate) actor_type: &'static str,
    pub(crate) handler: Option<&'static str>,
    pub(crate) waited: Option<Duration>,
    pub(crate) handled: Option<Duration>,
    /// How many messages it stands for.
    pub(crate) weight: u32,
}

/// What is timed, and what was found, by type and handler: as many as the program has.
#[derive(Debug, Default)]
pub(super) struct Timing {
    /// One in this many messages is timed. 0: none is.
    one_in: AtomicU32,
    /// How many have begun to time messages and have not ended that.
    begun: Mutex<usize>,
    found: Mutex<HashMap<Place, Times, BuildHasherDefault<Places>>>,
}

/// Where the names of a type and of a handler are. Two places may have the same names.
type Place = ((usize, usize), (usize, usize));

/// Places are far apart already, so this takes less time than the default hasher, which is meant for input from outside.
#[derive(Debug, Default)]
struct Places(u64);

impl Hasher for Places {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_usize(usize::from(*byte));
        }
    }

    fn write_usize(&mut self, number: usize) {
        self.0 = (self.0.rotate_left(5) ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }
}

fn place(name: &'static str) -> (usize, usize) {
    (name.as_ptr().addr(), name.len())
}

fn bucket(time: Duration) -> usize {
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    TIME_BOUNDS.partition_point(|bound| *bound < nanos)
}

impl Timing {
    pub(super) fn begin(&self, one_in: u32) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        *begun += 1;
        self.one_in.store(one_in, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        *begun = begun.saturating_sub(1);
        if *begun == 0 {
            self.one_in.store(0, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(super) fn one_in(&self) -> u32 {
        self.one_in.load(Ordering::Relaxed)
    }

    pub(super) fn took(&self, took: Took) {
        let Took { actor_type, handler, waited, handled, weight } = took;
        let mut found = self.found();
        let times = found.entry((place(actor_type), place(handler.unwrap_or("")))).or_insert_with(|| Times {
            actor_type,
            handler,
            waited: TimeBuckets::default(),
            handled: TimeBuckets::default(),
        });
        for (buckets, time) in [(&mut times.waited, waited), (&mut times.handled, handled)] {
            if let Some(time) = time {
                buckets[bucket(time)] += u64::from(weight);
            }
        }
    }

    pub(super) fn times(&self) -> Vec<Times> {
        self.found().values().cloned().collect()
    }

    fn found(&self) -> MutexGuard<'_, HashMap<Place, Times, BuildHasherDefault<Places>>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
