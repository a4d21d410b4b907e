//! The seats by key.
//!
//! 1. A key is hashed before the lock is taken and compared after it is released: a look-up copies
//!    the seats that have the hash. An insertion checks that these seats have not changed.
//! 2. A seat is removed by its identity and by the hash with which it was inserted, so a key whose hash changes does not leave
//!    its seat behind.

use std::collections::{HashMap, VecDeque, hash_map, vec_deque};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::slice;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::seat::Seat;
use super::{ChildKey, ChildrenProps};
use crate::actor::{Actor, AnyActorRef};
use crate::base::{Hold, UserValue, shrink_map, shrink_queue};
use crate::failure::Failure;
use crate::mailbox::MailboxKind;

/// Makes the instance of a child, the first one and after each restart. Rule 18.2.
pub(super) type Template<K, C> = Box<dyn Fn(&K) -> Result<C, Failure> + Send + Sync>;

/// What all seats share.
pub(super) struct SeatMap<K: 'static, C: Actor> {
    registry: OnceLock<AnyActorRef>,
    template: UserValue<Template<K, C>>,
    pub(super) idle: Option<Duration>,
    pub(super) mailbox: MailboxKind,
    limit: Option<usize>,
    hasher: RandomState,
    seats: Mutex<Seats<K, C>>,
}

struct Seats<K: 'static, C: Actor> {
    by_hash: HashMap<u64, Bucket<K, C>, BuildHasherDefault<Hashed>>,
    /// In the order in which the sweeps visit them. A vacated seat is removed when its turn comes.
    sweeps: VecDeque<Arc<Seat<K, C>>>,
    count: usize,
    closed: bool,
    /// The map takes no new children, except successors for which messages wait.
    draining: bool,
}

/// The seats whose keys have the same hash, which is one in nearly all cases.
pub(super) enum Bucket<K: 'static, C: Actor> {
    One(Arc<Seat<K, C>>),
    Many(Vec<Arc<Seat<K, C>>>),
}

/// The result of adding a seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Added {
    Yes,
    /// The seats of this hash have changed in the meantime.
    LookAgain,
    Closed,
    /// There are as many children as the limit allows.
    Full {
        limit: usize,
    },
}

impl<K: ChildKey, C: Actor> SeatMap<K, C> {
    pub(super) fn new<E>(props: ChildrenProps<K, C, E>) -> Self {
        let ChildrenProps { template, idle, mailbox, limit, cause: _ } = props;
        let seats = Seats {
            by_hash: HashMap::default(),
            sweeps: VecDeque::new(),
            count: 0,
            closed: false,
            draining: false,
        };
        Self {
            registry: OnceLock::new(),
            template: UserValue::new(template),
            idle,
            mailbox,
            limit,
            hasher: RandomState::new(),
            seats: Mutex::new(seats),
        }
    }

    /// Sets the supervisor of the children. No handle exists before.
    pub(super) fn belongs_to(&self, registry: AnyActorRef) {
        let _first = self.registry.set(registry);
    }

    pub(super) fn registry(&self) -> &AnyActorRef {
        match self.registry.get() {
            Some(registry) => registry,
            None => unreachable!("set before anybody has a handle"),
        }
    }

    pub(super) fn make(&self, key: &K) -> Result<C, Failure> {
        (self.template)(key)
    }

    pub(super) fn hash(&self, key: &K) -> u64 {
        self.hasher.hash_one(key)
    }

    /// The seat of a key.
    pub(super) fn find(&self, hash: u64, key: &K) -> Option<Arc<Seat<K, C>>> {
        self.with_hash(hash)?.find(key)
    }

    /// The seats of a hash.
    pub(super) fn with_hash(&self, hash: u64) -> Option<Bucket<K, C>> {
        self.seats().by_hash.get(&hash).cloned()
    }

    /// Adds a seat whose key is not that of `others`, all that have its hash.
    pub(super) fn add(&self, seat: &Arc<Seat<K, C>>, others: Option<&Bucket<K, C>>, to_sweeps: bool) -> Added {
        let mut seats = self.seats();
        if seats.closed || seats.draining {
            return Added::Closed;
        }
        let now = seats.by_hash.get(&seat.hash());
        if others.map(Bucket::seats).unwrap_or_default().iter().map(Arc::as_ptr).ne(now
            .map(Bucket::seats)
            .unwrap_or_default()
            .iter()
            .map(Arc::as_ptr))
        {
            return Added::LookAgain;
        }
        if let Some(limit) = self.limit.filter(|limit| seats.count >= *limit) {
            return Added::Full { limit };
        }
        match seats.by_hash.get_mut(&seat.hash()) {
            Some(bucket) => bucket.push(Arc::clone(seat)),
            None => drop(seats.by_hash.insert(seat.hash(), Bucket::One(Arc::clone(seat)))),
        }
        seats.count += 1;
        if to_sweeps {
            seats.sweeps.push_back(Arc::clone(seat));
        }
        Added::Yes
    }

    pub(super) fn remove(&self, seat: &Arc<Seat<K, C>>) {
        let _hold = Hold::new();
        let mut seats = self.seats();
        let Some(bucket) = seats.by_hash.get_mut(&seat.hash()) else { return };
        let Some(is_empty) = bucket.remove(seat) else { return };
        if is_empty {
            seats.by_hash.remove(&seat.hash());
            shrink_map(&mut seats.by_hash);
        }
        seats.count -= 1;
    }

    pub(super) fn len(&self) -> usize {
        self.seats().count
    }

    pub(super) fn all(&self) -> Vec<Arc<Seat<K, C>>> {
        self.seats().by_hash.values().flat_map(Bucket::seats).cloned().collect()
    }

    /// How many seats a sweep goes through.
    pub(super) fn sweep(&self) -> usize {
        self.seats().sweeps.len()
    }

    /// Takes the next seats of the sweep.
    pub(super) fn next_of_sweep(&self, number: usize) -> Vec<Arc<Seat<K, C>>> {
        let mut seats = self.seats();
        let number = number.min(seats.sweeps.len());
        seats.sweeps.drain(..number).collect()
    }

    /// Puts seats back for the next sweep.
    pub(super) fn to_next_sweep(&self, looked_at: Vec<Arc<Seat<K, C>>>) {
        let mut seats = self.seats();
        if !seats.closed {
            seats.sweeps.extend(looked_at);
            shrink_queue(&mut seats.sweeps);
        }
    }

    /// Stops the adding of seats. Returns the existing ones.
    pub(super) fn drain(&self) -> Vec<Arc<Seat<K, C>>> {
        self.seats().draining = true;
        self.all()
    }

    pub(super) fn is_draining(&self) -> bool {
        self.seats().draining
    }

    /// Whether the map is being drained and has no child any more.
    pub(super) fn is_drained(&self) -> bool {
        let seats = self.seats();
        seats.draining && seats.count == 0
    }

    /// Closes the map, because children have no supervisor any more. The returned value closes the seats.
    pub(super) fn close(&self) -> Closing<K, C> {
        let (by_hash, sweeps) = {
            let mut seats = self.seats();
            seats.closed = true;
            seats.count = 0;
            (std::mem::take(&mut seats.by_hash), std::mem::take(&mut seats.sweeps))
        };
        Closing { seats: by_hash.into_values(), sweeps: sweeps.into_iter() }
    }

    fn seats(&self) -> MutexGuard<'_, Seats<K, C>> {
        // No user code runs under this lock, so it cannot be poisoned half-way.
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes the seats of a map that is closed, a few at a time. Dropping it closes the others at once.
pub(super) struct Closing<K: ChildKey, C: Actor> {
    seats: hash_map::IntoValues<u64, Bucket<K, C>>,
    sweeps: vec_deque::IntoIter<Arc<Seat<K, C>>>,
}

impl<K: ChildKey, C: Actor> Closing<K, C> {
    /// Closes about this many seats. Returns whether some are left.
    pub(super) fn close_some(&mut self, number: usize) -> bool {
        for bucket in self.seats.by_ref().take(number) {
            bucket.seats().iter().for_each(|seat| seat.close());
        }
        self.sweeps.by_ref().take(number).for_each(drop);
        self.seats.len() > 0 || self.sweeps.len() > 0
    }
}

impl<K: ChildKey, C: Actor> Drop for Closing<K, C> {
    fn drop(&mut self) {
        self.close_some(usize::MAX);
    }
}

impl<K: ChildKey, C: Actor> Bucket<K, C> {
    pub(super) fn seats(&self) -> &[Arc<Seat<K, C>>] {
        match self {
            Self::One(seat) => slice::from_ref(seat),
            Self::Many(seats) => seats,
        }
    }

    /// The seat of this key. Compares keys.
    pub(super) fn find(&self, key: &K) -> Option<Arc<Seat<K, C>>> {
        self.seats().iter().find(|seat| seat.key() == key).cloned()
    }

    fn push(&mut self, seat: Arc<Seat<K, C>>) {
        match self {
            Self::One(first) => *self = Self::Many(vec![Arc::clone(first), seat]),
            Self::Many(seats) => seats.push(seat),
        }
    }

    /// Returns whether no seat of this hash is left, if the seat was here.
    fn remove(&mut self, seat: &Arc<Seat<K, C>>) -> Option<bool> {
        let at = self.seats().iter().position(|other| Arc::ptr_eq(other, seat))?;
        match self {
            Self::One(_) => Some(true),
            Self::Many(seats) => {
                seats.remove(at);
                Some(seats.is_empty())
            }
        }
    }
}

impl<K, C: Actor> Clone for Bucket<K, C> {
    fn clone(&self) -> Self {
        match self {
            Self::One(seat) => Self::One(Arc::clone(seat)),
            Self::Many(seats) => Self::Many(seats.clone()),
        }
    }
}

/// For keys that are hashes themselves.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only hashes are hashed");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
