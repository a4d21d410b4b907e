//! Series of single actors, for the few that are asked for.

use std::collections::{HashMap, HashSet};

use metrics::SharedString;
use supervise_core::{Glimpse, Selection};

use super::books::Books;
use super::series::{PATH_FAILURES, PATH_MAILBOX, PATH_MESSAGES, PATH_RESTARTS};

/// How many paths have series of their own.
pub(super) const MOST: usize = 64;
const OTHER: &str = "other";
/// How many actors that no look has found yet may have failures that are kept until the next look.
const MOST_UNSEEN: usize = 4_096;

/// What a look found out about an actor at a path.
#[derive(Debug, Clone, Copy)]
struct Last {
    messages: u32,
    restarts: u32,
    look: u64,
}

#[derive(Debug, Default)]
pub(super) struct Paths {
    selections: Vec<Selection>,
    /// The actors that match, during a look.
    matching: HashSet<u64>,
    own: HashSet<SharedString>,
    /// By the incarnation.
    last: HashMap<u64, Last>,
    /// Failures of actors that no look has found yet, by the incarnation.
    unseen: HashMap<u64, u64>,
    other_waiting: usize,
    look: u64,
}

impl Paths {
    pub(super) fn new(selections: Vec<Selection>) -> Self {
        Self { selections, ..Self::default() }
    }

    pub(super) fn begin(&mut self) {
        self.look += 1;
        self.other_waiting = 0;
        let found = self.selections.iter().flat_map(Selection::identify);
        self.matching =
            found.filter(|actor| !actor.name().starts_with('$')).map(|actor| actor.uid().into()).collect();
    }

    pub(super) fn see(&mut self, key: u64, messages: u32, glimpse: &Glimpse, books: &mut Books) {
        if !self.matching.contains(&key) {
            return;
        }
        let path = self.label(glimpse.actor().path().local());
        let now = Last { messages, restarts: glimpse.restarts(), look: self.look };
        let before = self.last.insert(key, now).unwrap_or(Last { messages: 0, restarts: 0, ..now });
        let more = now.messages.wrapping_sub(before.messages);
        // A number that has fallen means that a message was given back. It was already counted.
        let more = if more < u32::MAX / 2 { more } else { 0 };
        books.add(PATH_MESSAGES, vec![path.clone()], more.into());
        books.add(PATH_RESTARTS, vec![path.clone()], now.restarts.saturating_sub(before.restarts).into());
        let failures = self.unseen.remove(&key).unwrap_or(0);
        books.add(PATH_FAILURES, vec![path.clone()], failures);
        let waiting = if &*path == OTHER {
            self.other_waiting += glimpse.waiting();
            self.other_waiting
        } else {
            glimpse.waiting()
        };
        books.gauge(PATH_MAILBOX, vec![path], super::meter::float(waiting));
    }

    pub(super) fn end(&mut self) {
        let look = self.look;
        self.last.retain(|_, last| last.look == look);
        self.unseen.clear();
    }

    /// Counts the failure of an actor. Only a look knows whether the actor matches a selection, so the failure of
    /// an unknown actor is kept until then.
    pub(super) fn failed(&mut self, key: u64, path: &str, books: &mut Books) {
        if self.last.contains_key(&key) {
            let path = self.label(path);
            books.add(PATH_FAILURES, vec![path], 1);
        } else if !self.selections.is_empty()
            && (self.unseen.len() < MOST_UNSEEN || self.unseen.contains_key(&key))
        {
            *self.unseen.entry(key).or_default() += 1;
        }
    }

    fn label(&mut self, path: &str) -> SharedString {
        if let Some(path) = self.own.get(path) {
            return path.clone();
        }
        if self.own.len() == MOST {
            return OTHER.into();
        }
        let path = SharedString::from(path.to_owned());
        self.own.insert(path.clone());
        path
    }
}
