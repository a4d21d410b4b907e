//! What may happen in a world: its kinds of cells, and how likely each thing is.

use supervise_core::ActorName;
use supervise_core::supervision::{Backoff, ChildSpec, Strategy, Terms};

/// What a decider may answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Verdict {
    Resume,
    Restart,
    RestartLater,
    /// By a rule with a limit of its own.
    RestartOn(Terms),
    Stop,
    Escalate,
    Fail,
}

/// How a piece of user code ends. The harmless outcome comes first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Conduct {
    Succeed,
    /// Fails before it did anything else; where there is a factory, in the factory.
    FailEarly,
    FailLate,
    /// Waits, then returns.
    Park,
    /// Waits until it is aborted.
    Hang,
}

/// What user code does before it ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Deed {
    Nothing,
    SpawnAnother,
    StopOneChild,
    StopAllChildren,
    StopItself,
    WatchAnother,
    UnwatchAnother,
}

/// Options and how likely each is. One of weight zero is never picked.
pub(crate) type Menu<T> = Vec<(T, u32)>;

/// One kind of cell: its children and how it supervises them.
#[derive(Debug, Clone)]
pub(crate) struct Role {
    /// Names (as indices) and roles of the children it starts with, and restores when it is restarted.
    pub(crate) children: Vec<(usize, usize)>,
    /// Its declared children, and their roles.
    pub(crate) fields: Vec<(ChildSpec, usize)>,
    pub(crate) strategy: Strategy,
    pub(crate) verdicts: Menu<Verdict>,
    /// Whether it has a hook of its own at the end of an instance.
    pub(crate) has_last_hook: bool,
}

/// What may happen in a world.
#[derive(Debug, Clone)]
pub(crate) struct Profile {
    /// The first is the root's.
    pub(crate) roles: Vec<Role>,
    /// One for each name that a role or a handler uses.
    pub(crate) names: Vec<ActorName>,
    pub(crate) conduct: Menu<Conduct>,
    pub(crate) handler_deeds: Menu<Deed>,
    pub(crate) pre_restart_deeds: Menu<Deed>,
    pub(crate) death_pacts: bool,
    pub(crate) backoff: Backoff,
}

/// How many more disturbances from outside are allowed. A parked, hanging or failing piece of user code counts
/// too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    pub(crate) messages: u32,
    pub(crate) stimuli: u32,
}

/// Where the picks come from: chance, an enumeration or a recording.
pub(crate) trait Choices {
    /// Picks an index whose weight is not zero. There is at least one.
    fn pick(&mut self, weights: &mut dyn Iterator<Item = u32>) -> usize;
}

pub(crate) fn pick<T: Copy>(choices: &mut impl Choices, menu: &[(T, u32)]) -> T {
    menu[choices.pick(&mut menu.iter().map(|(_, weight)| *weight))].0
}
