//! The details of the one actor that a reader has chosen.

use std::sync::Arc;

use supervise_core::{DeciderTable, Glimpse, LastFailure, NodeState, Outcome};

use super::rows::{Row, Shown, row_of};
use super::sight::{Sight, Time};
use super::waits::Waits;

/// How many of the supervisors above it are shown.
const MOST_ABOVE: usize = 12;

/// An actor above the chosen one.
#[derive(Debug, Clone)]
pub(super) struct Above {
    pub(super) path: String,
    pub(super) decides: Policy,
}

/// How an actor supervises.
#[derive(Debug, Clone)]
pub(super) struct Policy {
    pub(super) strategy: String,
    pub(super) rules: Vec<String>,
}

/// How many rules of a supervisor farther above are shown: the first ones and the last one.
const BRIEF: usize = 4;

impl Policy {
    /// The rules, without some of those between the first ones and the last one if there are many.
    pub(super) fn brief(&self) -> Vec<&str> {
        let rules = self.rules.iter().map(String::as_str);
        let all = self.rules.len();
        if all <= BRIEF {
            return rules.collect();
        }
        let (first, last) = (rules.clone().take(BRIEF - 1), rules.skip(all - 1));
        first.chain(std::iter::once("…")).chain(last).collect()
    }

    fn of(glimpse: &Glimpse) -> Self {
        let (strategy, rules) = glimpse.policy();
        Self { strategy, rules }
    }
}

/// The chosen actor.
#[derive(Debug, Clone)]
pub(super) struct Detail {
    pub(super) key: u64,
    pub(super) row: Row,
    pub(super) capacity: Option<usize>,
    /// The handler that it entered last.
    pub(super) last_handler: Option<&'static str>,
    /// Its supervisors, the nearest first.
    pub(super) above: Vec<Above>,
    /// How it decides about its own children.
    pub(super) decides: Policy,
    /// The number of the nearest supervisor's rule that decided the last failure.
    pub(super) matched: Option<usize>,
    pub(super) waits_for: Vec<Waiting>,
    /// How many actors are below it, and how many messages wait there.
    pub(super) below: (usize, usize),
    /// The nearest actors that wait for it, each with its distance.
    pub(super) askers: Vec<(usize, Waiting)>,
    /// How many actors wait for it.
    pub(super) all_askers: usize,
}

/// An actor that waits, or that others wait for.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub(super) path: Arc<str>,
    pub(super) handler: Option<&'static str>,
    pub(super) since: Time,
}

/// Follows the path to the chosen actor while a look goes on.
#[derive(Debug, Default)]
pub(super) struct Chooser {
    /// The elements of its path.
    names: Vec<String>,
    /// How many of these elements the look has reached.
    met: usize,
    /// Whether all actors below the chosen one were seen.
    is_past: bool,
    above: Vec<Above>,
    /// The table of the actor above that was visited last.
    table: Option<DeciderTable>,
}

impl Chooser {
    pub(super) fn of(path: Option<&str>) -> Option<Self> {
        let names = path?.strip_prefix('/')?.split('/').filter(|name| !name.is_empty()).map(str::to_owned);
        Some(Self {
            names: std::iter::once(String::new()).chain(names).collect(),
            met: 0,
            is_past: false,
            above: Vec::new(),
            table: None,
        })
    }

    /// Returns whether it is the chosen actor. Each actor comes before its children.
    pub(super) fn see(&mut self, glimpse: &Glimpse, path: &str) -> bool {
        let depth = glimpse.depth();
        if depth != self.met || self.met >= self.names.len() {
            return false;
        }
        if depth > 0 && self.names[depth] != glimpse.actor().name() {
            return false;
        }
        self.met += 1;
        let is_it = self.met == self.names.len();
        if !is_it {
            self.above.push(Above { path: path.to_owned(), decides: Policy::of(glimpse) });
            self.table = Some(glimpse.table());
        }
        is_it
    }

    /// Goes on to this actor, which is not the chosen one. Returns whether it is below the chosen one.
    #[must_use]
    pub(super) fn pass(&mut self, glimpse: &Glimpse) -> bool {
        let is_met = self.met == self.names.len();
        self.is_past |= is_met && glimpse.depth() < self.names.len();
        is_met && !self.is_past
    }

    pub(super) fn detail(&mut self, glimpse: &Glimpse, sight: &Sight<'_>, path: &str, shown: &Shown) -> Detail {
        let mut above = std::mem::take(&mut self.above);
        above.reverse();
        above.truncate(MOST_ABOVE);
        let matched = self.table.zip(glimpse.last_failure()).and_then(|(table, last)| decided(table, &last));
        Detail {
            key: sight.key,
            row: row_of(sight.depth, sight, path, shown),
            capacity: sight.capacity,
            last_handler: sight.handler.filter(|_| sight.state != NodeState::Starting),
            above,
            decides: Policy::of(glimpse),
            matched,
            below: (0, 0),
            waits_for: Vec::new(),
            askers: Vec::new(),
            all_askers: 0,
        }
    }
}

/// The line of a table that decided a failure, as [`Policy`] has them.
fn decided(table: DeciderTable, last: &LastFailure) -> Option<usize> {
    match (table, last.outcome) {
        // An earlier decision did.
        (_, Outcome::AlreadyAnswered) => None,
        // A line for what stops, and one for what restarts.
        (DeciderTable::Default, outcome) => Some(usize::from(!matches!(outcome, Outcome::Stopped { .. }))),
        // What matches no rule is in a line behind them.
        (DeciderTable::Rules(rules), _) => match last.rule {
            Some(rule) => rules.iter().position(|known| known.pattern == rule),
            None => Some(rules.len()),
        },
        // One line names the function.
        (_, _) => Some(0),
    }
}

impl Detail {
    /// The look knows who waits for whom only when it has seen all actors.
    pub(super) fn complete(&mut self, waits: &Waits) {
        let waiting = |link: &super::waits::Link| Waiting {
            path: Arc::clone(&link.path),
            handler: link.handler,
            since: link.since,
        };
        self.waits_for = waits.targets(self.key).map(|(_, link)| waiting(link)).collect();
        self.askers = waits.askers(self.key).into_iter().map(|(away, link)| (away, waiting(link))).collect();
        self.all_askers = waits.behind(self.key).actors;
    }
}
