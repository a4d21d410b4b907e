//! The tree as lines. Their number is bounded, however many actors there are.
//!
//! 1. More than [`ALIKE`] siblings of one type share one line with their sums.
//! 2. An actor with a problem has a line of its own, even within a folded group, up to [`ILL`] lines.
//! 3. There are at most [`MOST`] lines.

use std::collections::HashMap;

use supervise_core::NodeState;

use super::cards::Kind;
use super::sight::{Budget, Sight, Time};
use super::words::short_type;

pub(super) const MOST: usize = 300;
const ALIKE: usize = 20;
const ILL: usize = 100;
/// How many lines are considered before groups are folded.
const CANDIDATES: usize = 2_048;

/// A line: an actor, or several similar ones.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) depth: usize,
    pub(super) path: String,
    pub(super) actor_type: String,
    /// More than one for a group.
    pub(super) actors: usize,
    /// How many of them have a problem.
    pub(super) ill: usize,
    pub(super) kind: Option<Kind>,
    pub(super) state: NodeState,
    /// The handler that it is in.
    pub(super) handler: Option<&'static str>,
    /// Since when it is in this message, or in this state.
    pub(super) since: Option<Time>,
    pub(super) waiting: u64,
    pub(super) oldest: Option<Time>,
    pub(super) per_second: f64,
    pub(super) restarts: u64,
    pub(super) attempt: u32,
    pub(super) budget: Option<Budget>,
    pub(super) due: Option<Time>,
    /// How many actors of the runtime this line hides.
    pub(super) hidden: usize,
}

/// What else the line of an actor shows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shown {
    pub(super) kind: Option<Kind>,
    pub(super) since: Option<Time>,
    pub(super) oldest: Option<Time>,
}

#[derive(Debug)]
struct Candidate {
    row: Row,
    key: u64,
    handled: u32,
    group: usize,
    parent: Option<usize>,
}

/// Siblings of one type.
#[derive(Debug)]
struct Group {
    parent: u64,
    actor_type: &'static str,
    actors: usize,
    ill: usize,
    waiting: u64,
    handled: u64,
    restarts: u64,
    oldest: Option<Time>,
}

/// An actor whose children come next.
#[derive(Debug)]
struct Open {
    key: u64,
    /// Its line, if it has one.
    at: Option<usize>,
    groups: HashMap<&'static str, usize>,
    /// The group of the last child, because most siblings are of one type.
    last: Option<(&'static str, usize)>,
    /// Whether those below it are the runtime's own.
    own: bool,
}

/// The lines of one look, while it is taken.
#[derive(Debug, Default)]
pub(super) struct Rows {
    open: Vec<Open>,
    candidates: Vec<Candidate>,
    groups: Vec<Group>,
    ill: usize,
}

/// How many messages the actors with a line had handled at the last look.
#[derive(Debug, Default)]
pub(super) struct Handled {
    actors: HashMap<u64, u32>,
    groups: HashMap<(u64, &'static str), u64>,
}

impl Rows {
    pub(super) fn see(&mut self, sight: &Sight<'_>, path: &str, shown: Shown) {
        self.open.truncate(sight.depth);
        let own = self.open.last().is_some_and(|parent| parent.own);
        let line = if own && shown.kind.is_none() {
            self.count_own();
            None
        } else {
            self.line(sight, path, shown)
        };
        let own = own || (sight.depth == 1 && sight.name == "system");
        self.open.push(Open { key: sight.key, at: line, groups: HashMap::new(), last: None, own });
    }

    fn count_own(&mut self) {
        let system = self.open.get(1).and_then(|system| system.at);
        if let Some(system) = system.and_then(|at| self.candidates.get_mut(at)) {
            system.row.hidden += 1;
        }
    }

    fn line(&mut self, sight: &Sight<'_>, path: &str, shown: Shown) -> Option<usize> {
        let ill = shown.kind.is_some() && self.ill < ILL;
        let parent = self.open.last().map(|open| open.at);
        let is_hidden = parent == Some(None);
        if is_hidden && !ill {
            return None;
        }
        let group = self.group(sight, shown);
        let many = self.groups[group].actors > ALIKE;
        if !ill && (many || self.candidates.len() >= CANDIDATES) {
            return None;
        }
        self.ill += usize::from(ill);
        let row = Row {
            depth: sight.depth,
            path: path.to_owned(),
            actor_type: short_type(sight.actor_type),
            actors: 1,
            ill: usize::from(shown.kind.is_some()),
            kind: shown.kind,
            state: sight.state,
            handler: sight.handler.filter(|_| sight.handling),
            since: shown.since,
            waiting: sight.waiting as u64,
            oldest: shown.oldest,
            per_second: 0.0,
            restarts: u64::from(sight.restarts),
            attempt: sight.attempt,
            budget: sight.budget,
            due: sight.due,
            hidden: 0,
        };
        let parent = parent.flatten();
        self.candidates.push(Candidate { row, key: sight.key, handled: sight.handled(), group, parent });
        Some(self.candidates.len() - 1)
    }

    /// Counts it in its group.
    fn group(&mut self, sight: &Sight<'_>, shown: Shown) -> usize {
        let groups = &mut self.groups;
        let mut make = |parent| {
            groups.push(Group {
                parent,
                actor_type: sight.actor_type,
                actors: 0,
                ill: 0,
                waiting: 0,
                handled: 0,
                restarts: 0,
                oldest: None,
            });
            groups.len() - 1
        };
        let at = match self.open.last_mut() {
            Some(parent) => match parent.last {
                Some((actor_type, group)) if std::ptr::eq(actor_type, sight.actor_type) => group,
                _ => {
                    let group = *parent.groups.entry(sight.actor_type).or_insert_with(|| make(parent.key));
                    parent.last = Some((sight.actor_type, group));
                    group
                }
            },
            None => make(0),
        };
        let group = &mut self.groups[at];
        group.actors += 1;
        group.ill += usize::from(shown.kind.is_some());
        group.waiting += sight.waiting as u64;
        group.handled += u64::from(sight.handled());
        group.restarts += u64::from(sight.restarts);
        group.oldest = group.oldest.max(shown.oldest);
        at
    }

    /// The lines, and how many messages their actors have handled. `seconds` is the time since the last look, 0 if there was
    /// none.
    pub(super) fn close(self, before: &Handled, seconds: f64) -> (Vec<Row>, Handled) {
        let Self { candidates, groups, .. } = self;
        let mut handled = Handled::default();
        let mut folded = vec![false; candidates.len()];
        let mut has_line = vec![false; groups.len()];
        let spare =
            MOST.saturating_sub(candidates.iter().filter(|candidate| candidate.row.kind.is_some()).count());
        let (mut rows, mut well) = (Vec::new(), 0);
        for (at, Candidate { mut row, key, handled: now, group: in_group, parent }) in
            candidates.into_iter().enumerate()
        {
            let group = &groups[in_group];
            let below_folded = parent.is_some_and(|parent| folded[parent]);
            let many = group.actors > ALIKE;
            folded[at] = row.kind.is_none() && (below_folded || many);
            if many && !below_folded && !has_line[in_group] {
                has_line[in_group] = true;
                let known = before.groups.get(&(group.parent, group.actor_type));
                handled.groups.insert((group.parent, group.actor_type), group.handled);
                if well < spare {
                    well += 1;
                    let more = known.map_or(0, |&known| group.handled.saturating_sub(known));
                    rows.push(line_of(group, &row, rate(more, seconds)));
                }
            }
            if folded[at] {
                continue;
            }
            let more = before.actors.get(&key).map_or(0, |&known| now.wrapping_sub(known));
            handled.actors.insert(key, now);
            row.per_second = rate(u64::from(more), seconds);
            if row.kind.is_none() {
                if well == spare {
                    continue;
                }
                well += 1;
            }
            rows.push(row);
        }
        rows.truncate(MOST);
        (rows, handled)
    }
}

/// The line of a group that contains `first`.
fn line_of(group: &Group, first: &Row, per_second: f64) -> Row {
    Row {
        actors: group.actors,
        ill: group.ill,
        kind: None,
        state: NodeState::Running,
        handler: None,
        since: None,
        waiting: group.waiting,
        oldest: group.oldest,
        per_second,
        restarts: group.restarts,
        attempt: 0,
        budget: None,
        due: None,
        ..first.clone()
    }
}

/// A rate in messages per second. It is 0 if the number fell, because an actor ended or gave a message back.
#[expect(clippy::cast_precision_loss, reason = "it is shown with few digits")]
pub(super) fn rate(more: u64, seconds: f64) -> f64 {
    let plausible = more < u64::from(u32::MAX / 2);
    if seconds > 0.0 && plausible { more as f64 / seconds } else { 0.0 }
}
