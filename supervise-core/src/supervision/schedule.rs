//! Delayed restarts, until their delay is over.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use super::strategy::Affected;
use super::vocabulary::ChildId;

/// One delayed restart of a child and of the siblings that its strategy includes.
#[derive(Debug, Clone, Hash)]
pub(crate) struct ScheduledRestart<C> {
    pub(crate) id: u64,
    pub(crate) answer: Answer,
    pub(crate) cause: C,
    pub(crate) affected: Affected,
    /// Whether declared children restart one after another.
    pub(crate) with_group: bool,
}

/// What a scheduled restart tells its children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Answer {
    Restart,
    Resume,
}

/// The delayed restarts of one supervisor.
#[derive(Debug, Clone)]
pub(super) struct Schedule<C> {
    /// By id.
    restarts: BTreeMap<u64, ScheduledRestart<C>>,
    /// How many children the restarts name, including those that no longer wait.
    named: usize,
    last_id: u64,
}

/// Up to this many names, no cleanup is done.
const LITTLE: usize = 16;

impl<C> Default for Schedule<C> {
    fn default() -> Self {
        Self { restarts: BTreeMap::new(), named: 0, last_id: 0 }
    }
}

/// `named` follows from the other fields.
impl<C: Hash> Hash for Schedule<C> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { restarts, named: _, last_id } = self;
        (restarts, last_id).hash(state);
    }
}

impl<C> Schedule<C> {
    /// A new id for a scheduled restart.
    pub(super) fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Schedules a restart. Returns the scheduled restarts for which no child waits any more. `waits_for` returns the
    /// restart that a child waits for, and `children` is the number of children.
    ///
    /// A child waits for at most one restart. Children that a later restart has taken over, or that ended, are removed
    /// from the list when they outnumber the others. So the list stays in proportion to the number of children, however
    /// many restarts there are.
    #[must_use]
    pub(super) fn add(
        &mut self,
        restart: ScheduledRestart<C>,
        children: usize,
        waits_for: impl Fn(ChildId) -> Option<u64>,
    ) -> Vec<u64> {
        self.named += restart.affected.len();
        self.restarts.insert(restart.id, restart);
        let mut idle = Vec::new();
        if self.named <= LITTLE.max(2 * children) {
            return idle;
        }
        self.restarts.retain(|_, restart| {
            let waits = |id: &ChildId| waits_for(*id) == Some(restart.id);
            match &mut restart.affected {
                Affected::One(id) if waits(id) => return true,
                Affected::Many(ids) => ids.retain(waits),
                Affected::One(_) => restart.affected = Affected::Many(Vec::new()),
            }
            if restart.affected.is_empty() {
                idle.push(restart.id);
            }
            !restart.affected.is_empty()
        });
        self.named = self.restarts.values().map(|restart| restart.affected.len()).sum();
        idle
    }

    /// The delay of a restart is over.
    pub(super) fn take(&mut self, id: u64) -> Option<ScheduledRestart<C>> {
        let due = self.restarts.remove(&id)?;
        self.named -= due.affected.len();
        Some(due)
    }
}
