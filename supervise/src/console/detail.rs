//! The details of the one actor that a reader has chosen.

use std::sync::Arc;

use supervise_core::{Glimpse, NodeState};

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

impl Policy {
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
}

impl Chooser {
    pub(super) fn of(path: Option<&str>) -> Option<Self> {
        let names = path?.strip_prefix('/')?.split('/').filter(|name| !name.is_empty()).map(str::to_owned);
        Some(Self {
            names: std::iter::once(String::new()).chain(names).collect(),
            met: 0,
            is_past: false,
            above: Vec::new(),
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
        let rule = glimpse.last_failure().and_then(|failure| failure.rule);
        let matched = rule.zip(above.first()).and_then(|(rule, nearest)| {
            let what = if rule == "_" { "anything else" } else { rule };
            nearest
                .decides
                .rules
                .iter()
                .position(|line| line.strip_prefix(what).is_some_and(|rest| rest.starts_with(" →")))
        });
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
