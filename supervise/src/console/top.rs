//! The worst of many, by pages.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::rows::Row;
use super::sight::Time;

/// How many lines a page has.
pub(super) const PAGE: usize = 100;

/// The order of the lines. First comes an actor that has exactly the name that is searched for, then an actor with
/// a problem, then the actor with more waiting messages, with older ones, or with more restarts. Of equal actors,
/// the one that was seen first comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Badness {
    pub(super) is_named: bool,
    pub(super) ill: bool,
    pub(super) waiting: usize,
    pub(super) oldest: Option<Time>,
    pub(super) restarts: u32,
}

/// A line, and how many messages its actor has handled.
#[derive(Debug)]
pub(super) struct Ranked {
    rank: (Badness, Reverse<usize>),
    pub(super) row: Row,
    pub(super) key: u64,
    pub(super) handled: u32,
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.cmp(&other.rank)
    }
}

/// Keeps the lines up to the end of one page.
#[derive(Debug)]
pub(super) struct Top {
    pub(super) page: usize,
    worst: BinaryHeap<Reverse<Ranked>>,
    /// How many actors were seen.
    pub(super) seen: usize,
}

impl Top {
    pub(super) fn new(page: usize) -> Self {
        Self { page, worst: BinaryHeap::new(), seen: 0 }
    }

    /// `row` is called only if the line may be on the page.
    pub(super) fn see(&mut self, badness: Badness, key: u64, handled: u32, row: impl FnOnce() -> Row) {
        let rank = (badness, Reverse(self.seen));
        self.seen += 1;
        let full = self.worst.len() == (self.page + 1) * PAGE;
        if full && self.worst.peek().is_none_or(|least| least.0.rank >= rank) {
            return;
        }
        if full {
            self.worst.pop();
        }
        self.worst.push(Reverse(Ranked { rank, row: row(), key, handled }));
    }

    /// The lines of the page, the worst one first.
    pub(super) fn into_page(self) -> impl Iterator<Item = Ranked> {
        let skipped = self.page * PAGE;
        self.worst.into_sorted_vec().into_iter().skip(skipped).map(|Reverse(ranked)| ranked)
    }
}
