//! Which actors wait for which, as a look found it: roots, chains and circles.
//!
//! Only actors that have been in one message for long, or are not running, are links. So the memory depends on the
//! number of problems and not on the size of the system.
//!
//! Rule 22.9.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::sight::{Sight, Time};

/// How long an actor is in one message before it becomes a link.
pub(super) const LINK: Duration = Duration::from_secs(1);
/// How many links there are.
const MOST: usize = 4_096;
/// How many actors of a chain, or before one, are named.
pub(super) const NAMED: usize = 20;

/// An actor that waits, or for which others wait.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) path: Arc<str>,
    pub(super) handler: Option<&'static str>,
    pub(super) since: Time,
    /// How many messages wait in its mailbox.
    pub(super) messages: usize,
    /// When the oldest of them arrived.
    pub(super) oldest: Option<Time>,
    /// The actors that it waits for.
    to: Vec<u64>,
    /// The actors that wait for it.
    askers: Vec<u64>,
    in_circle: bool,
}

impl Link {
    pub(super) fn of(sight: &Sight<'_>, path: &str, since: Time, oldest: Option<Time>) -> Self {
        Self {
            path: path.into(),
            handler: sight.handler.filter(|_| sight.handling),
            since,
            messages: sight.waiting,
            oldest,
            to: sight.waits_for.clone(),
            askers: Vec::new(),
            in_circle: false,
        }
    }
}

/// All links of one look.
#[derive(Debug, Default)]
pub(super) struct Waits {
    of: HashMap<u64, Link>,
    /// Each circle begins with one of its actors; each actor waits for the next one.
    pub(super) circles: Vec<Vec<u64>>,
}

/// The actors that wait for one actor, directly and through others.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Behind {
    pub(super) actors: usize,
    pub(super) messages: usize,
    /// When the oldest message arrived that waits at one of these actors.
    pub(super) oldest: Option<Time>,
    /// The longest chain, the actor itself last.
    pub(super) chain: Vec<Arc<str>>,
}

impl Waits {
    pub(super) fn note(&mut self, key: u64, link: impl FnOnce() -> Link) {
        if self.of.len() < MOST {
            self.of.insert(key, link());
        }
    }

    pub(super) fn get(&self, key: u64) -> Option<&Link> {
        self.of.get(&key)
    }

    pub(super) fn is_awaited(&self, key: u64) -> bool {
        self.get(key).is_some_and(|link| !link.askers.is_empty())
    }

    pub(super) fn is_in_circle(&self, key: u64) -> bool {
        self.get(key).is_some_and(|link| link.in_circle)
    }

    /// The links for which it waits.
    pub(super) fn targets(&self, key: u64) -> impl Iterator<Item = (u64, &Link)> {
        let to = self.get(key).map_or(&[][..], |link| &link.to);
        to.iter().filter_map(|to| Some((*to, self.get(*to)?)))
    }

    /// Called when all links have been noted.
    pub(super) fn close(&mut self) {
        let mut edges: Vec<(u64, u64)> = Vec::new();
        for (&from, link) in &self.of {
            edges.extend(link.to.iter().filter(|to| self.of.contains_key(to)).map(|&to| (from, to)));
        }
        edges.sort_unstable();
        edges.dedup();
        for (from, to) in edges {
            if let Some(link) = self.of.get_mut(&to) {
                link.askers.push(from);
            }
        }
        self.find_circles();
    }

    /// Removes the links that wait for no link, then those that waited for these, and so on. The remaining links
    /// lead into a circle.
    fn find_circles(&mut self) {
        let mut waits: HashMap<u64, usize> = self.of.keys().map(|&key| (key, self.targets(key).count())).collect();
        let mut free: Vec<u64> = waits.iter().filter(|(_, targets)| **targets == 0).map(|(&key, _)| key).collect();
        while let Some(key) = free.pop() {
            waits.remove(&key);
            for asker in self.get(key).map_or(&[][..], |link| &link.askers) {
                if let Some(targets) = waits.get_mut(asker) {
                    *targets = targets.saturating_sub(1);
                    if *targets == 0 {
                        free.push(*asker);
                    }
                }
            }
        }
        let mut starts: Vec<u64> = waits.keys().copied().collect();
        starts.sort_unstable();
        let mut walked = HashSet::new();
        for start in starts {
            let mut way: Vec<u64> = Vec::new();
            let mut next = Some(start);
            while let Some(at) = next {
                if let Some(first) = way.iter().position(|&before| before == at) {
                    self.circles.push(way.split_off(first));
                    break;
                }
                if !walked.insert(at) {
                    break;
                }
                way.push(at);
                next = self.targets(at).map(|(to, _)| to).find(|to| waits.contains_key(to));
            }
        }
        for key in self.circles.iter().flatten() {
            if let Some(link) = self.of.get_mut(key) {
                link.in_circle = true;
            }
        }
    }

    /// The actors that wait for an actor.
    pub(super) fn behind(&self, key: u64) -> Behind {
        let mut behind = Behind::default();
        let Some(own) = self.get(key) else { return behind };
        // Holds each actor with the one that it waits for. The one that is found last is farthest away.
        let mut via: HashMap<u64, u64> = HashMap::new();
        let mut ahead = VecDeque::from([key]);
        let mut farthest = key;
        while let Some(at) = ahead.pop_front() {
            farthest = at;
            let Some(link) = self.get(at) else { continue };
            behind.messages += link.messages;
            if at != key {
                behind.oldest = behind.oldest.into_iter().chain(link.oldest).min();
            }
            for &asker in &link.askers {
                if asker != key && !via.contains_key(&asker) {
                    via.insert(asker, at);
                    ahead.push_back(asker);
                }
            }
        }
        behind.actors = via.len();
        while let Some(link) = self.get(farthest).filter(|_| farthest != key && behind.chain.len() < NAMED) {
            behind.chain.push(Arc::clone(&link.path));
            farthest = via.get(&farthest).copied().unwrap_or(key);
        }
        behind.chain.push(Arc::clone(&own.path));
        behind
    }

    /// The actors that wait for it, directly or through others, each with its distance. The nearest comes first.
    pub(super) fn askers(&self, key: u64) -> Vec<(usize, &Link)> {
        let mut found = Vec::new();
        let mut known = HashSet::from([key]);
        let mut ahead = VecDeque::from([(key, 0)]);
        while let Some((at, away)) = ahead.pop_front() {
            for &asker in self.get(at).map_or(&[][..], |link| &link.askers) {
                if found.len() < NAMED
                    && known.insert(asker)
                    && let Some(link) = self.get(asker)
                {
                    found.push((away + 1, link));
                    ahead.push_back((asker, away + 1));
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(edges: &[(u64, &[u64])]) -> Waits {
        let mut waits = Waits::default();
        for (key, to) in edges {
            waits.note(*key, || Link {
                path: format!("/user/{key}").into(),
                handler: Some("serve"),
                since: Duration::ZERO,
                messages: 1,
                oldest: Some(Duration::from_secs(100 - key.min(&99))),
                to: to.to_vec(),
                askers: Vec::new(),
                in_circle: false,
            });
        }
        waits.close();
        waits
    }

    /// CON-08.
    #[test]
    fn con_08_a_chain_has_a_root_and_counts_who_is_behind() {
        let waits = waits(&[(1, &[2]), (2, &[3]), (3, &[]), (4, &[3]), (5, &[9])]);
        assert!(waits.circles.is_empty());
        assert_eq!([1, 3, 5].map(|key| waits.targets(key).count()), [1, 0, 0]);
        assert!(waits.is_awaited(3) && !waits.is_awaited(1));
        let Behind { actors, messages, oldest, chain } = waits.behind(3);
        assert_eq!((actors, messages, oldest), (3, 4, Some(Duration::from_secs(96))));
        assert_eq!(chain.iter().map(|path| &**path).collect::<Vec<_>>(), ["/user/1", "/user/2", "/user/3"]);
        assert_eq!(waits.askers(3).iter().map(|(away, _)| *away).collect::<Vec<_>>(), [1, 1, 2]);
    }

    /// CON-08.
    #[test]
    fn con_08_a_circle_is_found_and_who_leads_into_it_is_none_of_it() {
        let waits = waits(&[(1, &[2]), (2, &[3]), (3, &[4]), (4, &[2]), (5, &[6]), (6, &[]), (7, &[7])]);
        assert_eq!(waits.circles, [vec![2, 3, 4], vec![7]]);
        assert!(waits.is_in_circle(4) && !waits.is_in_circle(1) && !waits.is_in_circle(5));
        assert_eq!(waits.behind(2).actors, 3);
    }

    #[test]
    fn however_many_wait_the_links_are_bounded_and_nothing_recurses() {
        let edges: Vec<(u64, [u64; 1])> = (0..10_000).map(|key| (key, [key + 1])).collect();
        let edges: Vec<(u64, &[u64])> = edges.iter().map(|(key, to)| (*key, &to[..])).collect();
        let waits = waits(&edges);
        assert_eq!((waits.of.len(), waits.behind(MOST as u64 - 1).actors), (MOST, MOST - 1));
        assert_eq!(waits.behind(MOST as u64 - 1).chain.len(), NAMED + 1);
    }
}
