//! The path of a look through the tree, and the actors below those actors whose cards name them.

use std::collections::{HashMap, HashSet};

use supervise_core::NodeState;

use super::sight::{Sight, Takes};
use super::words::{count, some_of};

/// How many children of an actor are remembered by name.
const NAMED: usize = 6;
/// How many of these names are shown.
const TOLD: usize = 5;
/// For how many actors the collector remembers who is below them.
const ASKED: usize = 512;

/// The actors from the root down to the one that was seen last.
#[derive(Debug, Default)]
pub(super) struct Way {
    /// The path of the actor that was seen last.
    path: String,
    /// The entries beyond `depth` are left from earlier actors, so that their memory is used again.
    levels: Vec<Level>,
    depth: usize,
    /// How many actors were seen.
    pub(super) actors: usize,
    asked: HashSet<u64>,
    found: HashMap<u64, Below>,
}

#[derive(Debug, Default)]
struct Level {
    key: u64,
    /// Where its path ends in that of the last one.
    end: usize,
    /// Whether it runs or starts, and all actors above it.
    runs: bool,
    /// How many actors were seen up to and including this one.
    before: usize,
    /// The names of its first children, each after a `/`.
    names: String,
    named: usize,
}

/// The actors below another one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Below {
    actors: usize,
    /// The names of the first children, each after a `/`.
    names: String,
}

/// The actors whose end or failure takes others along.
#[derive(Debug, Clone)]
pub(super) struct Goes {
    /// The actor that is near its limit, and its supervisor.
    pub(super) key: u64,
    pub(super) supervisor: u64,
    pub(super) path: String,
    pub(super) takes: Takes,
}

impl Way {
    /// Goes on to the next actor. Each actor comes before its children.
    pub(super) fn go_to(&mut self, sight: &Sight<'_>) {
        self.leave(sight.depth);
        self.path.truncate(self.depth.checked_sub(1).map_or(0, |above| self.levels[above].end));
        if let Some(above) = self.depth.checked_sub(1) {
            self.path.push('/');
            self.path.push_str(sight.name);
            let above = &mut self.levels[above];
            if above.named < NAMED {
                above.named += 1;
                above.names.push('/');
                above.names.push_str(sight.name);
            }
        }
        self.actors += 1;
        let runs = self.runs() && matches!(sight.state, NodeState::Running | NodeState::Starting);
        if self.levels.len() == self.depth {
            self.levels.push(Level::default());
        }
        let level = &mut self.levels[self.depth];
        (level.key, level.end, level.before, level.named) = (sight.key, self.path.len(), self.actors, 0);
        level.runs = runs;
        level.names.clear();
        self.depth += 1;
    }

    /// Notes that all actors below those at this depth, and farther down, were seen.
    fn leave(&mut self, depth: usize) {
        while self.depth > depth {
            self.depth -= 1;
            let level = &self.levels[self.depth];
            if !self.asked.is_empty() && self.asked.contains(&level.key) {
                let below = Below { actors: self.actors - level.before, names: level.names.clone() };
                self.found.insert(level.key, below);
            }
        }
    }

    /// The path of the actor that was seen last.
    pub(super) fn path(&self) -> &str {
        if self.path.is_empty() { "/" } else { &self.path }
    }

    /// Whether the actor at this depth runs, and all above it.
    fn runs_at(&self, depth: usize) -> bool {
        depth.checked_sub(1).is_none_or(|at| self.levels[at].runs)
    }

    /// Whether the actor that was seen last runs, and all above it.
    pub(super) fn runs(&self) -> bool {
        self.runs_at(self.depth)
    }

    /// Whether all actors above the one that was seen last run.
    pub(super) fn is_upheld(&self) -> bool {
        self.runs_at(self.depth.saturating_sub(1))
    }

    /// The path and the key of the one above it.
    pub(super) fn above(&self) -> (&str, u64) {
        let Some(above) = self.depth.checked_sub(2) else { return ("/", 0) };
        let Level { end, key, .. } = self.levels[above];
        (if end == 0 { "/" } else { &self.path[..end] }, key)
    }

    /// Remembers who is below these two.
    pub(super) fn ask(&mut self, keys: [u64; 2]) {
        if self.asked.len() < ASKED {
            self.asked.extend(keys);
        }
    }

    /// Notes that all actors were seen.
    pub(super) fn end(&mut self) {
        self.leave(0);
    }

    /// Who else goes, in a sentence that begins with a space.
    pub(super) fn tell(&self, goes: &Goes) -> String {
        let Goes { key, supervisor, path, takes } = goes;
        let (Some(own), Some(all)) = (self.found.get(key), self.found.get(supervisor)) else {
            return String::new();
        };
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let above = if above.is_empty() { "/" } else { above };
        // The actor near its limit is named already, and its own children are not its siblings.
        let below = all.actors.saturating_sub(1);
        let beside = below.saturating_sub(own.actors);
        let others = |actors| match actors {
            1 => "1 other actor".to_owned(),
            more => format!("{} other actors", count(more)),
        };
        match takes {
            Takes::Nobody if own.actors == 0 => String::new(),
            Takes::Nobody => format!(" With it go the actors below it: {}.", own.list("", own.actors)),
            Takes::Supervisor if below == 0 => format!(" No other actor is below {above}."),
            Takes::Supervisor => {
                let go = if below == 1 { "goes" } else { "go" };
                let list = all.list(name, below);
                format!(" If {above} is not resumed, the {} below it {go} too: {list}.", others(below))
            }
            Takes::Siblings { .. } if beside == 0 => String::new(),
            Takes::Siblings { later: true } => {
                format!(" With it go those of the {} below {above} that were started after it.", others(beside))
            }
            Takes::Siblings { later: false } => {
                format!(" With it go {}: {}.", others(beside), all.list(name, beside))
            }
        }
    }
}

impl Below {
    /// The names of the first children other than `but`, as the first of `actors`: `audit, ledger and 3 more`.
    fn list(&self, but: &str, actors: usize) -> String {
        some_of(self.names.split('/').skip(1).filter(|name| *name != but), TOLD.min(actors), actors)
    }
}
