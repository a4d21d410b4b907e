//! How much of everything a workload does.

use std::time::Duration;

/// How much of everything a workload does.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// How long an operation is repeated, after a first time that does not count.
    pub budget: Duration,
    /// Messages told at a time, by all producers together.
    pub messages: u64,
    /// Messages that a producer tells without yielding.
    pub flood: u64,
    /// Round trips at a time, of all askers together.
    pub asks: u64,
    /// Children that are asked at once.
    pub fan: usize,
    /// How often they are asked, at a time.
    pub gathers: u64,
    /// Hops at a time.
    pub hops: u64,
    /// Failures at a time.
    pub failures: u64,
    /// Room in a bounded mailbox.
    pub capacity: usize,
    /// Actors in the ring.
    pub ring: usize,
    /// Children under the one parent.
    pub children: usize,
    /// Children of which one or all are restarted.
    pub siblings: usize,
    /// Generations below the root of a tree with ten children each.
    pub depth: u32,
}

impl Scale {
    /// What the published table is measured with.
    pub const FULL: Self = Self {
        budget: Duration::from_millis(200),
        messages: 100_000,
        flood: 2_500_000,
        asks: 1_024,
        fan: 100,
        gathers: 10,
        hops: 5_000,
        failures: 100,
        capacity: 1_024,
        ring: 1_000,
        children: 100_000,
        siblings: 10_000,
        depth: 5,
    };

    /// To see that everything works.
    pub const QUICK: Self = Self {
        budget: Duration::from_millis(20),
        messages: 20_000,
        flood: 100_000,
        children: 10_000,
        siblings: 1_000,
        depth: 4,
        ..Self::FULL
    };
}
