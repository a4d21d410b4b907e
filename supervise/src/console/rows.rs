//! The tree as lines. Their number is bounded, however many actors there are.
//!
//! 1. More than [`ALIKE`] siblings of one type are one line with their sums. Opened, they come by pages, the worst ones first.
//! 2. An actor with a problem has a line of its own, also within a folded group, up to [`ILL`] lines. 3. There are
//!    at most [`MOST`] lines. Lines that were cut off are counted.
//!
//! Instead of the tree, a reader may [wish](super::wish) for lines by type, or for those that a search finds.

use std::collections::HashMap;
use std::sync::Arc;

use supervise_core::NodeState;

use super::cards::Kind;
use super::sight::{Budget, Sight, Time};
use super::top::{Badness, Ranked, Top};
use super::wish::Wish;
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
    /// The path of the actor, or of the first of a group.
    pub(super) path: String,
    pub(super) actor_type: String,
    /// Whether the line stands for several similar actors. [`actors`](Self::actors) says how many.
    pub(super) is_group: bool,
    pub(super) actors: usize,
    /// How many of them have a problem.
    pub(super) ill: usize,
    pub(super) kind: Option<Kind>,
    pub(super) state: NodeState,
    /// The handler that the actor runs.
    pub(super) handler: Option<&'static str>,
    /// Since when the actor has been in this message, or in this state.
    pub(super) since: Option<Time>,
    /// The path of the actor for which it waits.
    pub(super) waits_for: Option<Arc<str>>,
    /// How many actors of a group wait for another one.
    pub(super) held: usize,
    pub(super) waiting: u64,
    pub(super) stashed: usize,
    pub(super) oldest: Option<Time>,
    /// `None`: no earlier look saw the actor.
    pub(super) per_second: Option<f64>,
    pub(super) restarts: u64,
    pub(super) attempt: u32,
    pub(super) budget: Option<Budget>,
    pub(super) due: Option<Time>,
    /// How many actors are folded into this line.
    pub(super) hidden: usize,
    /// The next page of an opened group, and the number of its pages.
    pub(super) page: Option<(usize, usize)>,
}

/// What else the line of an actor shows.
#[derive(Debug, Clone, Default)]
pub(super) struct Shown {
    pub(super) kind: Option<Kind>,
    pub(super) since: Option<Time>,
    pub(super) oldest: Option<Time>,
    pub(super) waits_for: Option<Arc<str>>,
}

#[derive(Debug)]
struct Candidate {
    row: Row,
    key: u64,
    handled: u32,
    group: usize,
    parent: Option<usize>,
    /// Whether the line stays although similar actors are folded.
    stays: bool,
}

/// Siblings of one type, or all actors of a type.
#[derive(Debug)]
struct Group {
    parent: u64,
    actor_type: &'static str,
    actors: usize,
    ill: usize,
    held: usize,
    waiting: u64,
    handled: u64,
    restarts: u64,
    oldest: Option<Time>,
    /// A line of its first actor.
    first: Option<Row>,
    /// The page that is shown of them.
    top: Option<Top>,
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
    /// The line after which the lines of its children come.
    behind: Option<usize>,
}

/// The lines of one look, while it is taken.
#[derive(Debug, Default)]
struct Rows {
    open: Vec<Open>,
    candidates: Vec<Candidate>,
    groups: Vec<Group>,
    ill: usize,
    /// The actors that the search found.
    found: Option<Top>,
}

/// How many messages the actors with a line had handled at the last look.
#[derive(Debug, Default)]
struct Handled {
    actors: HashMap<u64, u32>,
    groups: HashMap<(u64, &'static str), u64>,
    at: Option<Time>,
}

/// What the readers with the same wish see.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) wish: Wish,
    pub(super) lines: Vec<Row>,
    /// How many lines were cut off.
    pub(super) cut: usize,
    /// How many actors the search found.
    pub(super) found: Option<usize>,
    pub(super) detail: Option<super::detail::Detail>,
    rows: Rows,
    handled: Handled,
}

impl Listing {
    pub(super) fn of(wish: Wish) -> Self {
        Self { wish, ..Self::default() }
    }

    /// A look begins.
    pub(super) fn begin(&mut self) {
        self.rows = Rows { found: (!self.wish.search.is_empty()).then(|| Top::new(0)), ..Rows::default() };
        self.detail = None;
    }

    /// Records an actor. An actor is recorded before its children.
    pub(super) fn see(&mut self, sight: &Sight<'_>, path: &str, shown: &Shown) {
        // A text has no lines.
        if !self.wish.as_text {
            self.rows.see(&self.wish, sight, path, shown);
        }
    }

    /// The look has ended. `is_look`: rates are counted from it.
    pub(super) fn end(&mut self, now: Time, is_look: bool) {
        let rows = std::mem::take(&mut self.rows);
        self.found = rows.found.as_ref().map(|top| top.seen);
        let seconds = self.handled.at.map_or(0.0, |at| now.saturating_sub(at).as_secs_f64());
        let mut closing = Closing { before: Some(&self.handled), seconds, ..Closing::default() };
        if let Some(found) = rows.found {
            found.into_page().for_each(|ranked| closing.ranked(ranked));
        } else if self.wish.by_type {
            closing.types(rows.groups);
        } else {
            closing.tree(rows.candidates, rows.groups);
        }
        let Closing { handled, mut lines, .. } = closing;
        // If there is no room for all, actors with a problem come first.
        let mut spare = MOST.saturating_sub(lines.iter().filter(|line| line.kind.is_some()).count());
        let all = lines.len();
        lines.retain(|line| {
            let fits = line.kind.is_some() || spare > 0;
            spare -= usize::from(line.kind.is_none() && fits);
            fits
        });
        lines.truncate(MOST);
        self.cut = all - lines.len();
        self.lines = lines;
        if is_look {
            self.handled = Handled { at: Some(now), ..handled };
        }
    }
}

impl Rows {
    fn see(&mut self, wish: &Wish, sight: &Sight<'_>, path: &str, shown: &Shown) {
        if let Some(found) = &mut self.found {
            let is_found = contains(path, &wish.search) || contains(sight.actor_type, &wish.search);
            if is_found {
                let is_named = sight.name.to_lowercase() == wish.search;
                let badness = Badness { is_named, ..badness(sight, shown) };
                found.see(badness, sight.key, sight.handled(), || row_of(0, sight, path, shown));
            }
            return;
        }
        if wish.by_type {
            if self.open.is_empty() {
                self.open.push(Open { key: 0, at: None, groups: HashMap::new(), last: None, behind: None });
            }
            let group = self.group(wish, "", sight, path, shown);
            self.show_in(group, 1, sight, path, shown);
            return;
        }
        self.open.truncate(sight.depth);
        let behind = self.open.last().and_then(|parent| parent.behind);
        let at = match behind {
            Some(line) if shown.kind.is_none() => {
                if let Some(line) = self.candidates.get_mut(line) {
                    line.row.hidden += 1;
                }
                None
            }
            _ => self.line(wish, sight, path, shown),
        };
        let is_own = sight.depth == 1 && sight.name == "system" && !wish.opens(path);
        let is_shut = is_own || (at.is_some() && wish.shuts(path));
        let behind = behind.or(at.filter(|_| is_shut));
        self.open.push(Open { key: sight.key, at, groups: HashMap::new(), last: None, behind });
    }

    fn line(&mut self, wish: &Wish, sight: &Sight<'_>, path: &str, shown: &Shown) -> Option<usize> {
        let parent = self.open.last().map(|open| open.at);
        let opened = !wish.opens_nothing() && wish.opens(path);
        let ill = shown.kind.is_some() && self.ill < ILL;
        let stays = ill || opened;
        let is_hidden = parent == Some(None);
        if is_hidden && !stays {
            return None;
        }
        let above = &path[..path.rfind('/').unwrap_or(0)];
        let group = self.group(wish, above, sight, path, shown);
        let many = self.groups[group].actors > ALIKE;
        if !stays {
            self.show_in(group, sight.depth + 1, sight, path, shown);
        }
        if !stays && (many || self.candidates.len() >= CANDIDATES) {
            return None;
        }
        self.ill += usize::from(ill);
        let row = row_of(sight.depth, sight, path, shown);
        let parent = parent.flatten();
        self.candidates.push(Candidate { row, key: sight.key, handled: sight.handled(), group, parent, stays });
        Some(self.candidates.len() - 1)
    }

    /// Shows it on the page of its group, if that is opened.
    fn show_in(&mut self, group: usize, depth: usize, sight: &Sight<'_>, path: &str, shown: &Shown) {
        if let Some(top) = &mut self.groups[group].top {
            top.see(badness(sight, shown), sight.key, sight.handled(), || row_of(depth, sight, path, shown));
        }
    }

    /// Counts it in its group.
    fn group(&mut self, wish: &Wish, above: &str, sight: &Sight<'_>, path: &str, shown: &Shown) -> usize {
        let groups = &mut self.groups;
        let mut make = |parent| {
            let page = if wish.opens_nothing() { None } else { wish.page(above, &short_type(sight.actor_type)) };
            groups.push(Group {
                parent,
                actor_type: sight.actor_type,
                actors: 0,
                ill: 0,
                held: 0,
                waiting: 0,
                handled: 0,
                restarts: 0,
                oldest: None,
                first: wish.by_type.then(|| row_of(0, sight, path, shown)),
                top: page.map(Top::new),
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
        group.held += usize::from(shown.waits_for.is_some());
        group.waiting += sight.waiting as u64;
        group.handled += u64::from(sight.handled());
        group.restarts += u64::from(sight.restarts);
        group.oldest = group.oldest.max(shown.oldest);
        at
    }
}

/// Lines that are put in their order, with their rates.
#[derive(Default)]
struct Closing<'a> {
    before: Option<&'a Handled>,
    seconds: f64,
    handled: Handled,
    lines: Vec<Row>,
}

impl Closing<'_> {
    fn ranked(&mut self, Ranked { row, key, handled, .. }: Ranked) {
        self.actor(row, key, handled);
    }

    fn actor(&mut self, mut row: Row, key: u64, handled: u32) {
        let known = self.before.and_then(|before| before.actors.get(&key));
        row.per_second = known.map(|&known| rate(u64::from(handled.wrapping_sub(known)), self.seconds));
        self.handled.actors.insert(key, handled);
        self.lines.push(row);
    }

    /// Adds the line of a group, whose first actor has the line `first`, and the page of the group.
    fn group(&mut self, group: &mut Group, first: Row) {
        let id = (group.parent, group.actor_type);
        let known = self.before.and_then(|before| before.groups.get(&id));
        let per_second = known.map(|&known| rate(group.handled.saturating_sub(known), self.seconds));
        self.handled.groups.insert(id, group.handled);
        let top = group.top.take();
        self.lines.push(Row {
            is_group: true,
            actors: group.actors,
            ill: group.ill,
            kind: None,
            state: NodeState::Running,
            handler: None,
            since: None,
            waits_for: None,
            held: group.held,
            waiting: group.waiting,
            stashed: 0,
            oldest: group.oldest,
            per_second,
            restarts: group.restarts,
            attempt: 0,
            budget: None,
            due: None,
            hidden: 0,
            page: top.as_ref().map(|top| (top.page, top.seen.div_ceil(super::top::PAGE))),
            ..first
        });
        top.into_iter().flat_map(Top::into_page).for_each(|ranked| self.ranked(ranked));
    }

    fn types(&mut self, mut groups: Vec<Group>) {
        groups.sort_by_key(|group| std::cmp::Reverse((group.ill, group.waiting, group.actors)));
        for mut group in groups {
            if let Some(first) = group.first.take() {
                self.group(&mut group, first);
            }
        }
    }

    fn tree(&mut self, candidates: Vec<Candidate>, mut groups: Vec<Group>) {
        let mut folded = vec![false; candidates.len()];
        let mut has_line = vec![false; groups.len()];
        for (at, Candidate { row, key, handled, group: in_group, parent, stays }) in
            candidates.into_iter().enumerate()
        {
            let below_folded = parent.is_some_and(|parent| folded[parent]);
            let many = groups[in_group].actors > ALIKE;
            folded[at] = !stays && (below_folded || many);
            if many && !below_folded && !has_line[in_group] {
                has_line[in_group] = true;
                self.group(&mut groups[in_group], row.clone());
            }
            if !folded[at] {
                self.actor(row, key, handled);
            }
        }
    }
}

pub(super) fn row_of(depth: usize, sight: &Sight<'_>, path: &str, shown: &Shown) -> Row {
    Row {
        depth,
        path: path.to_owned(),
        actor_type: short_type(sight.actor_type),
        is_group: false,
        actors: 1,
        ill: usize::from(shown.kind.is_some()),
        kind: shown.kind,
        state: sight.state,
        handler: sight.handler.filter(|_| sight.handling),
        since: shown.since,
        waits_for: shown.waits_for.clone(),
        held: 0,
        waiting: sight.waiting as u64,
        stashed: sight.stashed,
        oldest: shown.oldest,
        per_second: None,
        restarts: u64::from(sight.restarts),
        attempt: sight.attempt,
        budget: sight.budget,
        due: sight.due,
        hidden: 0,
        page: None,
    }
}

fn badness(sight: &Sight<'_>, shown: &Shown) -> Badness {
    Badness {
        is_named: false,
        ill: shown.kind.is_some(),
        waiting: sight.waiting,
        oldest: shown.oldest,
        restarts: sight.restarts,
    }
}

/// Whether a text contains another one, which is in lower case.
fn contains(text: &str, lower: &str) -> bool {
    if !text.is_ascii() {
        return text.to_lowercase().contains(lower);
    }
    text.as_bytes().windows(lower.len()).any(|part| part.eq_ignore_ascii_case(lower.as_bytes()))
}

/// A number that fell says nothing: an actor ended, or gave a message back.
#[expect(clippy::cast_precision_loss, reason = "it is shown with few digits")]
pub(super) fn rate(more: u64, seconds: f64) -> f64 {
    let plausible = more < u64::from(u32::MAX / 2);
    if seconds > 0.0 && plausible { more as f64 / seconds } else { 0.0 }
}

#[cfg(test)]
mod tests;
