//! Values by growing ids, in the order in which they were added.
//!
//! ```text
//!   id      3     4     5     6     9
//!         ┌─────┬─────┬─────┬─────┬─────┐
//!   value │  a  │     │     │  b  │  c  │      distance from the first place ≤ distance of the ids
//!         └─────┴─────┴─────┴─────┴─────┘
//!                gaps, until they are more than half
//! ```
//!
//! 1. Ids grow from place to place. The last place is never a gap.
//! 2. At most half of the places are gaps, and at most three quarters of the capacity is unused, apart from a small
//!    constant.

use std::hash::{Hash, Hasher};

/// Capacity that is not worth releasing.
const LITTLE: usize = 8;

/// A table with cheap appending, lookup, and removal in any order.
#[derive(Debug, Clone)]
pub(crate) struct StartOrder<I, T> {
    places: Vec<(I, Option<T>)>,
    gaps: usize,
}

impl<I, T> Default for StartOrder<I, T> {
    fn default() -> Self {
        Self { places: Vec::new(), gaps: 0 }
    }
}

/// The places of gaps do not matter.
impl<I: Hash, T: Hash> Hash for StartOrder<I, T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.places.len() - self.gaps).hash(state);
        for (id, value) in &self.places {
            if let Some(value) = value {
                (id, value).hash(state);
            }
        }
    }
}

impl<I: Copy + Ord + Into<u64>, T> StartOrder<I, T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.gaps
    }

    /// Adds a value under an id that is larger than all before.
    pub(crate) fn push(&mut self, id: I, value: T) {
        debug_assert!(self.places.last().is_none_or(|(last, _)| *last < id), "ids grow");
        self.places.push((id, Some(value)));
    }

    pub(crate) fn get(&self, id: I) -> Option<&T> {
        self.places[self.place(id)?].1.as_ref()
    }

    pub(crate) fn get_mut(&mut self, id: I) -> Option<&mut T> {
        let place = self.place(id)?;
        self.places[place].1.as_mut()
    }

    pub(crate) fn remove(&mut self, id: I) -> Option<T> {
        let place = self.place(id)?;
        let removed = self.places[place].1.take()?;
        self.gaps += 1;
        self.tidy();
        Some(removed)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> {
        taken(&self.places)
    }

    /// All places, for [`taken`].
    pub(crate) fn places(&self) -> &[(I, Option<T>)] {
        &self.places
    }

    fn place(&self, id: I) -> Option<usize> {
        let (first, _) = self.places.first()?;
        let apart = id.into().checked_sub((*first).into())?;
        // Ids grow, so the value is not behind this place. It is exactly there unless places before it were removed.
        let place = usize::try_from(apart).unwrap_or(usize::MAX).min(self.places.len() - 1);
        if self.places[place].0 == id {
            return Some(place);
        }
        self.places[..place].binary_search_by(|(other, _)| other.cmp(&id)).ok()
    }

    fn tidy(&mut self) {
        while let Some((_, None)) = self.places.last() {
            self.places.pop();
            self.gaps -= 1;
        }
        if self.gaps > self.places.len() / 2 {
            self.places.retain(|(_, value)| value.is_some());
            self.gaps = 0;
        }
        let used = self.places.len().max(LITTLE);
        if self.places.capacity() / 4 > used {
            self.places.shrink_to(2 * used);
        }
    }
}

/// The values in the places that are not gaps.
pub(crate) fn taken<I: Copy, T>(places: &[(I, Option<T>)]) -> impl DoubleEndedIterator<Item = (I, &T)> {
    places.iter().filter_map(|(id, value)| Some((*id, value.as_ref()?)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Adds and removes by chance: it grows, then it shrinks, and then again.
    #[test]
    fn it_does_what_a_sorted_map_does_in_bounded_room() {
        let mut random = fastrand::Rng::with_seed(20_261_121);
        let (mut table, mut map) = (StartOrder::default(), BTreeMap::new());
        let mut id = 0_u64;
        for step in 0..40_000 {
            let growing = step / 4_000 % 2 == 0;
            if random.u8(..) < if growing { 200 } else { 60 } {
                id += 1 + u64::from(random.bool());
                table.push(id, step);
                map.insert(id, step);
            } else {
                let victim = match random.u8(..4) {
                    0 => map.keys().next().copied(),
                    1 => map.keys().next_back().copied(),
                    _ => map.range(random.u64(..=id)..).next().map(|(id, _)| *id),
                };
                let victim = victim.unwrap_or(id);
                assert_eq!(table.remove(victim), map.remove(&victim));
            }
            let sought = random.u64(..=id);
            assert_eq!(table.get(sought), map.get(&sought));
            assert_eq!(table.get_mut(sought), map.get_mut(&sought));
            assert_eq!(table.is_empty(), map.is_empty());
            assert!(table.places.last().is_none_or(|(_, value)| value.is_some()), "invariant 1");
            assert_eq!(table.gaps, table.places.len() - map.len());
            assert!(table.places.len() <= 2 * map.len() + 1, "invariant 2");
            assert!(table.places.capacity() <= 4 * table.places.len().max(LITTLE) + 3, "invariant 2");
            if step % 100 == 0 {
                assert!(
                    table.iter().map(|(id, value)| (id, *value)).eq(map.iter().map(|(id, value)| (*id, *value)))
                );
            }
        }
        assert!(id > 10_000);
    }
}
