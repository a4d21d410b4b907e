//! Numbers that wrap, made whole: an actor counts its messages in 32 bits.

use std::collections::HashMap;

/// Half of the range. A number that falls by more than this has wrapped; one that falls by less was corrected.
const HALF: u32 = 1 << 31;

#[derive(Debug)]
struct Large {
    last: u32,
    /// The sum of the wraps so far: a multiple of 2³².
    base: u64,
    actor_type: &'static str,
    look: u64,
}

/// Follows only the actors whose number is large, so the memory is that of the few that handle billions of messages.
#[derive(Debug, Default)]
pub(super) struct Wraps {
    of: HashMap<u64, Large>,
    /// The sums of the wraps of ended actors, by type.
    ended: HashMap<&'static str, u64>,
    look: u64,
}

impl Wraps {
    pub(super) fn begin(&mut self) {
        self.look += 1;
    }

    /// The number of an actor with its wraps added.
    pub(super) fn whole(&mut self, key: u64, actor_type: &'static str, number: u32) -> u64 {
        if number < HALF && !self.of.contains_key(&key) {
            return u64::from(number);
        }
        let large = self.of.entry(key).or_insert(Large { last: number, base: 0, actor_type, look: 0 });
        if large.last.saturating_sub(number) > HALF {
            large.base += 1 << 32;
        }
        (large.last, large.look) = (number, self.look);
        large.base + u64::from(number)
    }

    /// Ends a look. Actors that it did not find have ended.
    pub(super) fn end(&mut self) {
        let Self { of, ended, look } = self;
        of.retain(|_, large| {
            let is_there = large.look == *look;
            if !is_there {
                *ended.entry(large.actor_type).or_default() += large.base;
            }
            is_there
        });
    }

    /// The sum of the wraps of the ended actors of a type.
    pub(super) fn of_ended(&self, actor_type: &str) -> u64 {
        self.ended.get(actor_type).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_wraps_goes_on() {
        let mut wraps = Wraps::default();
        let mut whole = |number| {
            wraps.begin();
            let whole = wraps.whole(1, "One", number);
            wraps.end();
            whole
        };
        assert_eq!(whole(7), 7);
        assert_eq!(whole(u32::MAX - 1), u64::from(u32::MAX) - 1);
        assert_eq!(whole(5), (1 << 32) + 5);
        assert_eq!(whole(3), (1 << 32) + 3, "corrected");
        assert_eq!(whole(u32::MAX), (2 << 32) - 1);
        assert_eq!(whole(0), 2 << 32);
        wraps.begin();
        wraps.end();
        assert_eq!((wraps.of_ended("One"), wraps.of.len()), (2 << 32, 0));
    }
}
