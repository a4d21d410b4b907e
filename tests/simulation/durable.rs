//! Durable mailboxes without a runtime: every interleaving of a small world with two queues, three messages, failures, a full store and
//! two crashes of either kind.
//!
//! The world performs what [`Queue`] and [`Suspects`] decide, as the writer and the cells do, one action at a time. After each action
//! the invariants are checked, and from each state the world must be able to end: everything that was accepted is
//! handled or in quarantine.
//!
//! Rules 27.1, 27.4, 27.6, 27.7 and 27.9.

mod nodes;
mod sharing;
mod world;

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use self::world::{Action, Limits, World};

/// A number for a state, because millions of states are too much to keep.
fn fingerprint(world: &World) -> u64 {
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    hasher.finish()
}

/// Visits every state of a world, and returns how many there are.
fn explore(limits: Limits) -> usize {
    let first = World::new(limits);
    let mut known = HashSet::from([fingerprint(&first)]);
    let mut waiting = VecDeque::from([(first, Vec::new())]);
    while let Some((world, path)) = waiting.pop_front() {
        for action in world.actions() {
            let mut next = world.clone();
            let mut path: Vec<Action> = path.clone();
            path.push(action);
            let wrong = next.act(action).and_then(|()| next.check());
            assert_eq!(wrong, Ok(()), "after {path:?}\n{next:#?}");
            if known.insert(fingerprint(&next)) {
                let mut end = next.clone();
                assert_eq!(end.run_to_its_end(), Ok(()), "after {path:?}\n{end:#?}");
                waiting.push_back((next, path));
            }
        }
    }
    known.len()
}

#[test]
fn what_was_accepted_is_handled_or_in_quarantine_after_one_queue_and_two_crashes() {
    let limits = Limits { queues: 1, messages: 3, window: 2, failures: 1, crashes: 2, stops: 0, fulls: 1 };
    let states = explore(limits);
    assert!(states > 1_000, "{states} states are not every interleaving");
}

#[test]
fn what_was_accepted_is_handled_or_in_quarantine_after_failures_and_stops() {
    let limits = Limits { queues: 1, messages: 3, window: 1, failures: 3, crashes: 1, stops: 1, fulls: 0 };
    let states = explore(limits);
    assert!(states > 1_000, "{states} states are not every interleaving");
}

#[test]
fn suspects_of_two_queues_are_tried_one_after_the_other() {
    let limits = Limits { queues: 2, messages: 3, window: 1, failures: 0, crashes: 2, stops: 0, fulls: 0 };
    let states = explore(limits);
    assert!(states > 1_000, "{states} states are not every interleaving");
}

/// Visits every state of two nodes. Returns how many there are, or the first mistake.
fn explore_nodes(limits: nodes::Limits, fault: nodes::Fault) -> Result<usize, String> {
    let number = |world: &nodes::World| {
        let mut hasher = DefaultHasher::new();
        world.hash(&mut hasher);
        hasher.finish()
    };
    let first = nodes::World::new(limits, fault);
    let mut known = HashSet::from([number(&first)]);
    let mut waiting = VecDeque::from([(first, Vec::new())]);
    while let Some((world, path)) = waiting.pop_front() {
        for action in world.actions() {
            let mut next = world.clone();
            let mut path: Vec<nodes::Action> = path.clone();
            path.push(action);
            next.act(action).and_then(|()| next.check()).map_err(|wrong| format!("{wrong} after {path:?}"))?;
            if known.insert(number(&next)) {
                for survivor in 0..2 {
                    let mut end = next.clone();
                    end.run_to_its_end(survivor).map_err(|wrong| format!("{wrong} after {path:?}\n{end:#?}"))?;
                }
                waiting.push_back((next, path));
            }
        }
    }
    Ok(known.len())
}

const NODES: nodes::Limits = nodes::Limits { ticks: 4, messages: 1, restarts: 1, lost: 1 };
const QUIET: nodes::Limits = nodes::Limits { ticks: 4, messages: 2, restarts: 0, lost: 0 };

#[test]
fn two_nodes_never_own_a_queue_at_once_and_an_owner_whose_lease_has_ended_begins_nothing() {
    for limits in [NODES, QUIET] {
        match explore_nodes(limits, nodes::Fault::None) {
            Ok(states) => assert!(states > 1_000, "{states} states are not every interleaving"),
            Err(wrong) => panic!("{wrong}"),
        }
    }
}

#[test]
fn the_invariants_of_leases_find_every_fault() {
    for (fault, finds) in [
        (nodes::Fault::BeginsWithoutLease, "without a lease"),
        (nodes::Fault::TrustsTheServer, "both nodes may begin"),
        (nodes::Fault::KeepsItsFence, "with the fence 0, and 0 has it"),
    ] {
        let found = explore_nodes(NODES, fault);
        assert!(found.as_ref().is_err_and(|wrong| wrong.contains(finds)), "{fault:?}: {found:?}");
    }
}

/// Visits every state of two nodes that share a queue. Returns how many there are, or the first mistake.
fn explore_sharing(limits: sharing::Limits, fault: sharing::Fault) -> Result<usize, String> {
    let number = |world: &sharing::World| {
        let mut hasher = DefaultHasher::new();
        world.hash(&mut hasher);
        hasher.finish()
    };
    let first = sharing::World::new(limits, fault);
    let mut known = HashSet::from([number(&first)]);
    let mut waiting = VecDeque::from([(first, Vec::new())]);
    while let Some((world, path)) = waiting.pop_front() {
        for action in world.actions() {
            let mut next = world.clone();
            let mut path: Vec<sharing::Action> = path.clone();
            path.push(action);
            next.act(action).and_then(|()| next.check()).map_err(|wrong| format!("{wrong} after {path:?}"))?;
            if known.insert(number(&next)) {
                for survivor in 0..2 {
                    let mut end = next.clone();
                    end.run_to_its_end(survivor).map_err(|wrong| format!("{wrong} after {path:?}\n{end:#?}"))?;
                }
                waiting.push_back((next, path));
            }
        }
    }
    Ok(known.len())
}

const SHARING: sharing::Limits = sharing::Limits { messages: 2, deaths: 2, owners: 4 };
const CALM: sharing::Limits = sharing::Limits { messages: 3, deaths: 1, owners: 2 };

#[test]
fn each_message_of_a_shared_queue_is_with_one_node_and_no_death_is_forgotten() {
    for limits in [SHARING, CALM] {
        match explore_sharing(limits, sharing::Fault::None) {
            Ok(states) => assert!(states > 1_000, "{states} states are not every interleaving"),
            Err(wrong) => panic!("{wrong}"),
        }
    }
}

#[test]
fn the_invariants_of_shared_queues_find_every_fault() {
    for (fault, finds) in [
        (sharing::Fault::ForgetsOwner, "without a charge"),
        (sharing::Fault::ForgetsSharers, "without a charge"),
        (sharing::Fault::KeepsItsPlace, "count as deleted"),
        (sharing::Fault::LeavesNothing, "still holds messages"),
    ] {
        let found = explore_sharing(SHARING, fault);
        assert!(found.as_ref().is_err_and(|wrong| wrong.contains(finds)), "{fault:?}: {found:?}");
    }
}
