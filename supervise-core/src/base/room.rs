//! Gives the memory of collections back that were large once.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hash};

/// Room for so few entries is kept.
const LITTLE: usize = 64;

/// Shrinks a map that uses less than an eighth of its room. To be called after a removal: so it costs as much for each removal as
/// the growth did for each insertion.
#[inline]
pub(crate) fn shrink_map<K: Eq + Hash, V, S: BuildHasher>(map: &mut HashMap<K, V, S>) {
    if is_sparse(map.len(), map.capacity()) {
        map.shrink_to(2 * map.len());
    }
}

/// [`shrink_map`] for a queue.
#[inline]
pub(crate) fn shrink_queue<T>(queue: &mut VecDeque<T>) {
    if is_sparse(queue.len(), queue.capacity()) {
        queue.shrink_to(2 * queue.len());
    }
}

fn is_sparse(used: usize, room: usize) -> bool {
    room / 8 > used.max(LITTLE / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_that_empties_gives_its_room_back_step_by_step() {
        const ENTRIES: u32 = if cfg!(miri) { 4_000 } else { 100_000 };
        let mut map: HashMap<u32, u32> = (0..ENTRIES).map(|key| (key, key)).collect();
        let mut shrunk = 0;
        for key in 0..ENTRIES {
            map.remove(&key);
            let before = map.capacity();
            shrink_map(&mut map);
            shrunk += usize::from(map.capacity() < before);
            assert!(map.capacity() <= 16 * map.len().max(LITTLE), "{} of {}", map.len(), map.capacity());
        }
        assert!((2..12).contains(&shrunk), "shrunk {shrunk} times");
    }

    #[test]
    fn a_queue_with_little_room_keeps_it() {
        let mut queue: VecDeque<u32> = (0..60).collect();
        let room = queue.capacity();
        queue.clear();
        shrink_queue(&mut queue);
        assert_eq!(queue.capacity(), room);
        queue.extend(0..10_000);
        queue.clear();
        shrink_queue(&mut queue);
        assert!(queue.capacity() <= LITTLE);
    }
}
