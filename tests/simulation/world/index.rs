//! A set of cells.

use super::Id;

/// A set of cells from which one can be picked at once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    pub(crate) members: Vec<Id>,
    /// Where each is, plus one.
    places: Vec<u32>,
}

impl Index {
    pub(super) fn set(&mut self, id: Id, is_in: bool) {
        if is_in { self.insert(id) } else { self.remove(id) }
    }

    pub(super) fn insert(&mut self, id: Id) {
        if self.places.len() <= id as usize {
            self.places.resize(id as usize + 1, 0);
        }
        if self.places[id as usize] == 0 {
            self.members.push(id);
            self.places[id as usize] = u32::try_from(self.members.len()).expect("worlds are small");
        }
    }

    pub(super) fn remove(&mut self, id: Id) {
        let Some(place) = self.places.get_mut(id as usize) else { return };
        let at = std::mem::take(place) as usize;
        if at > 0 {
            self.members.swap_remove(at - 1);
            if let Some(moved) = self.members.get(at - 1) {
                self.places[*moved as usize] = u32::try_from(at).expect("worlds are small");
            }
        }
    }
}
