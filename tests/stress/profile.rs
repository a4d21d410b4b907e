//! What a run does: the size of the tree, the mix of jobs, how nodes behave.

use supervise::{Directive, Strategy};

/// One run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Profile {
    pub(crate) seed: u64,
    /// How many nodes.
    pub(crate) size: usize,
    /// How many children a node has at most.
    pub(crate) breadth: usize,
    /// How many jobs.
    pub(crate) items: usize,
    /// No job is given before this many nodes are idle. The fewer, the more failures are under way at once.
    pub(crate) keeps_idle: usize,
    /// Nodes above this level stop nobody, so that the tree does not shrink to its head.
    pub(crate) stops_below: usize,
    pub(crate) directives: Directives,
    pub(crate) stop: Draw,
    pub(crate) depth: Draw,
    pub(crate) fail_pre: Draw,
    pub(crate) fail_post: Draw,
    pub(crate) fail_constr: Draw,
    /// 0 stops none, 1 some, 2 all.
    pub(crate) stop_kids: Draw,
    /// The mailbox of all nodes.
    pub(crate) strategy: Strategy,
    /// Whether `pre_restart` stops all children, as it does by default.
    pub(crate) clears: bool,
    /// Whether handlers and hooks wait at await points.
    pub(crate) waits: bool,
    /// Whether a thread looks at all actors without pause.
    pub(crate) looked_at: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Directives {
    Both,
    OnlyResume,
    OnlyRestart,
}

impl Directives {
    pub(crate) fn draw(self, rng: &mut fastrand::Rng) -> Directive {
        match self {
            Self::Both if rng.bool() => Directive::Restart,
            Self::Both | Self::OnlyResume => Directive::Resume,
            Self::OnlyRestart => Directive::Restart,
        }
    }
}

/// How often something happens, or how much of it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Draw {
    /// Mostly 0, seldom 1, sometimes 2.
    Mixed,
    Always(u32),
}

impl Draw {
    pub(crate) fn draw(self, rng: &mut fastrand::Rng) -> u32 {
        match self {
            Self::Always(much) => much,
            Self::Mixed => match rng.f64() {
                ..0.9 => 0,
                ..0.97 => 1,
                _ => 2,
            },
        }
    }
}

impl Profile {
    /// The mix of the reference. Size, items and seed may come from the environment.
    pub(crate) fn reference() -> Self {
        let size = from_env("STRESS_SIZE").map_or(100, |size| usize::try_from(size).expect("a size"));
        let items = from_env("STRESS_ITEMS").map_or(ITEMS, |items| usize::try_from(items).expect("a count"));
        Self {
            seed: from_env("STRESS_SEED").unwrap_or_else(|| fastrand::u64(..)),
            size,
            breadth: 6,
            items,
            keeps_idle: 1,
            stops_below: if size < 500 { 1 } else { 3 },
            directives: Directives::Both,
            stop: Draw::Mixed,
            depth: Draw::Mixed,
            fail_pre: Draw::Mixed,
            fail_post: Draw::Mixed,
            fail_constr: Draw::Mixed,
            stop_kids: Draw::Mixed,
            strategy: Strategy::one_for_one(),
            clears: false,
            waits: false,
            looked_at: false,
        }
    }
}

/// Jobs in a run, unless the environment says otherwise.
const ITEMS: usize = 5_000;

pub(crate) fn from_env(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name} must be a number, not `{value}`")))
}
