//! The children of one actor, in start order.
//!
//! ```text
//!   started first ────────────────────────────► started last
//!   ChildId(0)   ChildId(1)   ChildId(4)   ChildId(5)            ids grow, and are never used twice
//!      alive       dying        alive       alive
//! ```
//!
//! 1. A name is taken from the moment it is reserved until the child's end has been processed, even while the child is
//!    dying.
//! 2. `dying` counts exactly the children whose stop was requested and that have not ended yet.
//! 3. The table keeps the order. Nothing sorts the children later.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};

use super::Time;
use super::backoff::BackoffCount;
use super::restart_window::{RestartStatistics, RuleStatistics};
use super::schedule::{Answer, Schedule, ScheduledRestart};
use super::streak::Streak;
use super::vocabulary::ChildId;
use crate::base::{ActorName, StartOrder, shrink_map, taken};

/// One child.
#[derive(Debug, Clone, Hash)]
pub(crate) struct ChildRecord<R> {
    pub(crate) name: ActorName,
    pub(crate) target: R,
    dying: bool,
    /// How many restarts its supervisor has sent.
    restarts_sent: u32,
    /// It restarts together with siblings, and has not reported yet that its old instance is gone.
    pub(crate) to_be_replaced: bool,
    /// Allocated with the child's first restart.
    history: Option<Box<History>>,
}

/// What a supervisor remembers of a child's failures.
///
/// Rule 7.7.
#[derive(Debug, Clone, Default, Hash)]
pub(crate) struct History {
    pub(crate) restarts: RestartStatistics,
    pub(crate) of_rules: RuleStatistics,
    pub(crate) backoff: BackoffCount,
    pub(crate) delayed: Option<Delayed>,
    pub(crate) streak: Streak,
}

/// A child that waits, suspended, for a delayed restart. If the delay ends while the supervisor itself restarts, the child
/// waits for the supervisor's new instance instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Delayed {
    /// The scheduled restart that will restart it.
    pub(crate) schedule: u64,
    pub(crate) answer: Answer,
    /// How many suspensions that restart must undo.
    pub(crate) pending_resumes: u32,
    /// When it is due.
    pub(crate) due: Time,
}

impl<R> ChildRecord<R> {
    pub(crate) fn history_mut(&mut self) -> &mut History {
        self.history.get_or_insert_default()
    }

    pub(crate) fn restarts(&self) -> u32 {
        self.history.as_ref().map_or(0, |history| history.restarts.count())
    }

    pub(crate) fn history(&self) -> Option<&History> {
        self.history.as_deref()
    }

    /// Ends the wait for a delayed restart, and returns how many suspensions must still be undone.
    pub(crate) fn take_delayed(&mut self) -> Option<Delayed> {
        self.history.as_mut()?.delayed.take()
    }

    pub(crate) fn delayed(&self) -> Option<Delayed> {
        self.history.as_ref()?.delayed
    }

    /// The history of this child, for the child that replaces it.
    pub(crate) fn into_history(self) -> Option<Box<History>> {
        let mut history = self.history?;
        history.delayed = None;
        Some(history)
    }

    pub(crate) fn inherit(&mut self, history: Option<Box<History>>) {
        self.history = history;
    }

    pub(crate) fn is_dying(&self) -> bool {
        self.dying
    }

    /// Counts a restart that is sent to the child.
    pub(crate) fn count_restart(&mut self) {
        self.restarts_sent = self.restarts_sent.wrapping_add(1);
    }

    /// Takes the count of a restart back that was not sent.
    pub(crate) fn uncount_restart(&mut self) {
        self.restarts_sent = self.restarts_sent.wrapping_sub(1);
    }

    /// Whether it has not failed and was not restarted.
    pub(super) fn is_new(&self) -> bool {
        self.history.is_none() && self.restarts_sent == 0
    }

    /// How many restarts were sent to the child.
    pub(crate) fn restarts_sent(&self) -> u32 {
        self.restarts_sent
    }
}

/// A child's failure, as it was reported.
#[derive(Debug, Clone, PartialEq, Hash)]
pub(crate) struct Report<C> {
    pub(crate) child: ChildId,
    pub(crate) cause: C,
    /// How many restarts the child had begun.
    pub(crate) restarts: u32,
    /// How many times the child had begun to run.
    pub(crate) runs: u8,
}

/// A [report](Report) that the decider is deciding. The decider has the cause.
#[derive(Debug, Clone, PartialEq, Hash)]
pub(crate) struct Deciding {
    pub(crate) child: ChildId,
    /// Whether a start or a restart failed.
    pub(crate) initialization: bool,
    pub(crate) restarts: u32,
    pub(crate) runs: u8,
}

/// Whether the caller must request a child's stop, after the child was marked as stopping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Marked {
    /// Yes: the stop had not been requested before.
    Now,
    /// No: the stop was requested before, or there is no such child.
    NotNow,
}

/// A child, and how many of its suspensions must be undone.
pub(crate) type PendingResumes = (ChildId, u32);

/// All children of one actor.
#[derive(Debug, Clone)]
pub(crate) struct Children<R, C> {
    in_start_order: StartOrder<ChildId, ChildRecord<R>>,
    /// The children whose names were given. A made-up name contains the id.
    by_name: HashMap<ActorName, ChildId>,
    dying: usize,
    next: u64,
    /// Children with a smaller id were there before the supervisor's last restart began.
    pub(crate) survivors_below: ChildId,
    /// The failure that the decider is deciding.
    pub(crate) deciding: Option<Deciding>,
    /// Restarts of any child, for limits that count per supervisor.
    pub(crate) restarts: RestartStatistics,
    /// Restarts that rules with a limit granted to any child, for limits that count per supervisor.
    pub(crate) of_rules: RuleStatistics,
    /// Delayed restarts.
    schedule: Schedule<C>,
    /// All children from this id on, except declared ones, are to be replaced. With this, a storm of failures that
    /// begins with the last child does not visit all children at each failure.
    replaced_from: ChildId,
}

impl<R, C> Default for Children<R, C> {
    fn default() -> Self {
        Self {
            in_start_order: StartOrder::default(),
            by_name: HashMap::new(),
            dying: 0,
            next: 0,
            survivors_below: ChildId(0),
            deciding: None,
            restarts: RestartStatistics::default(),
            of_rules: RuleStatistics::default(),
            schedule: Schedule::default(),
            replaced_from: ChildId(0),
        }
    }
}

/// `by_name` and `replaced_from` follow from the other fields.
impl<R: Hash, C: Hash> Hash for Children<R, C> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self {
            in_start_order,
            by_name: _,
            dying,
            next,
            survivors_below,
            deciding,
            restarts,
            of_rules,
            schedule,
            replaced_from: _,
        } = self;
        (in_start_order, dying, next, survivors_below, deciding).hash(state);
        (restarts, of_rules, schedule).hash(state);
    }
}

impl<R: Clone, C> Children<R, C> {
    pub(crate) fn is_empty(&self) -> bool {
        self.in_start_order.is_empty()
    }

    /// How many children are dying.
    pub(crate) fn dying(&self) -> usize {
        self.dying
    }

    /// Whether every child whose stop was requested has ended.
    pub(crate) fn none_dying(&self) -> bool {
        self.dying == 0
    }

    /// The id the next child will have. Every present child's is smaller.
    pub(crate) fn next_id(&self) -> ChildId {
        ChildId(self.next)
    }

    /// Adds the child that `make` makes, if the name is free.
    ///
    /// Rule 5.4.
    pub(crate) fn add(&mut self, name: &ActorName, make: impl FnOnce(ChildId) -> R) -> Option<(ChildId, R)> {
        let id = self.next_id();
        let Entry::Vacant(free) = self.by_name.entry(name.clone()) else { return None };
        let target = make(id);
        free.insert(id);
        self.push(name.clone(), target.clone());
        Some((id, target))
    }

    /// Adds the child that `make` makes, under a name that no other child has.
    pub(crate) fn add_anonymous(&mut self, make: impl FnOnce(&ActorName, ChildId) -> R) -> R {
        let name = ActorName::made_up(self.next);
        let target = make(&name, self.next_id());
        self.push(name, target.clone());
        target
    }

    fn push(&mut self, name: ActorName, target: R) {
        let id = self.next_id();
        self.next += 1;
        self.replaced_from = self.next_id();
        let child =
            ChildRecord { name, target, dying: false, restarts_sent: 0, to_be_replaced: false, history: None };
        self.in_start_order.push(id, child);
    }

    pub(crate) fn remove(&mut self, id: ChildId) -> Option<ChildRecord<R>> {
        let child = self.in_start_order.remove(id)?;
        if !child.name.is_made_up() {
            self.by_name.remove(&child.name);
            shrink_map(&mut self.by_name);
        }
        if child.dying {
            self.dying -= 1;
        }
        Some(child)
    }

    pub(crate) fn find(&self, id: ChildId) -> Option<&ChildRecord<R>> {
        self.in_start_order.get(id)
    }

    pub(crate) fn find_mut(&mut self, id: ChildId) -> Option<&mut ChildRecord<R>> {
        self.in_start_order.get_mut(id)
    }

    pub(crate) fn named(&self, name: &str) -> Option<&ChildRecord<R>> {
        let id = match ActorName::number_of(name) {
            Some(number) => ChildId(number),
            None => *self.by_name.get(name)?,
        };
        self.find(id).filter(|child| child.name == *name)
    }

    /// The children of a supervisor in start order, or none if it has no table.
    pub(crate) fn of(children: Option<&Self>) -> impl DoubleEndedIterator<Item = (ChildId, &ChildRecord<R>)> {
        taken(children.map_or(&[], |children| children.in_start_order.places()))
    }

    /// In start order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (ChildId, &ChildRecord<R>)> {
        self.in_start_order.iter()
    }

    /// All children from `first` on, in start order.
    pub(crate) fn starting_at(&self, first: ChildId) -> impl Iterator<Item = (ChildId, &ChildRecord<R>)> {
        let places = self.in_start_order.places();
        taken(&places[places.partition_point(|(id, _)| *id < first)..])
    }

    /// Children from `first` on, in start order: all, or only those that no restart together with siblings is about to
    /// replace.
    pub(crate) fn from(&self, first: ChildId, to_be_replaced_too: bool) -> impl Iterator<Item = ChildId> {
        let end = if to_be_replaced_too { self.next_id() } else { self.replaced_from };
        let places = self.in_start_order.places();
        let place = |id| places.partition_point(|(other, _)| *other < id);
        let reached = taken(&places[place(first)..place(end.max(first))]);
        reached.filter(move |(_, child)| to_be_replaced_too || !child.to_be_replaced).map(|(id, _)| id)
    }

    /// All children from `first` on, except declared ones, have been told to restart together.
    pub(crate) fn are_to_be_replaced(&mut self, first: ChildId) {
        self.replaced_from = self.replaced_from.min(first);
    }

    /// The old instance of a child that restarts together with siblings is gone.
    pub(crate) fn mark_replaced(&mut self, id: ChildId) {
        if let Some(child) = self.in_start_order.get_mut(id) {
            child.to_be_replaced = false;
            self.replaced_from = self.replaced_from.max(ChildId(id.0 + 1));
        }
    }

    /// Marks a child as dying.
    pub(crate) fn mark_dying(&mut self, id: ChildId) -> Marked {
        let Some(child) = self.in_start_order.get_mut(id).filter(|child| !child.dying) else {
            return Marked::NotNow;
        };
        child.dying = true;
        child.take_delayed();
        self.dying += 1;
        Marked::Now
    }

    /// An id for a restart to be [scheduled](Self::schedule).
    pub(crate) fn new_schedule(&mut self) -> u64 {
        self.schedule.new_id()
    }

    /// Schedules a restart. Returns the scheduled restarts for which no child waits any more.
    #[must_use]
    pub(crate) fn schedule(&mut self, restart: ScheduledRestart<C>) -> Vec<u64> {
        let children = &self.in_start_order;
        self.schedule.add(restart, children.places().len(), |id| Some(children.get(id)?.delayed()?.schedule))
    }

    /// The delay is over: returns the restart, with the children from `first` on that still wait for it, and how many
    /// suspensions of each must be undone.
    pub(crate) fn take_due(
        &mut self,
        schedule: u64,
        first: ChildId,
    ) -> Option<(ScheduledRestart<C>, Vec<PendingResumes>)> {
        let due = self.schedule.take(schedule)?;
        let waiting = due.affected.iter().filter(|id| **id >= first).filter_map(|&id| {
            let child = self.in_start_order.get_mut(id)?;
            child.delayed().filter(|delayed| delayed.schedule == schedule)?;
            Some((id, child.take_delayed()?.pending_resumes))
        });
        let waiting = waiting.collect();
        Some((due, waiting))
    }

    /// The children that were there before a restart.
    pub(crate) fn survivors(&self) -> Vec<ChildId> {
        self.iter().map(|(id, _)| id).take_while(|id| *id < self.survivors_below).collect()
    }
}
