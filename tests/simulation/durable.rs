//! Durable mailboxes without a runtime: every interleaving of a small world with two queues, three messages, failures, a full store and
//! two crashes of either kind.
//!
//! The world performs what [`Queue`] and [`Suspects`] decide, as the writer and the cells do, one action at a time. After each action
//! the invariants are checked, and from each state the world must be able to end: everything that was accepted is
//! handled or in quarantine.
//!
//! Rules 27.1, 27.4, 27.6, 27.7 and 27.9.

mod explore;
mod nodes;
mod sharing;
mod world;

use self::explore::{SmallWorld, explore};
use self::world::{Limits, World};

/// Panics if the world makes a mistake, or has too few states for every interleaving.
fn holds(world: impl SmallWorld) {
    match explore(world) {
        Ok(states) => assert!(states > 1_000, "{states} states are not every interleaving"),
        Err(wrong) => panic!("{wrong}"),
    }
}

#[test]
fn what_was_accepted_is_handled_or_in_quarantine_after_one_queue_and_two_crashes() {
    let limits = Limits { queues: 1, messages: 3, window: 2, failures: 1, crashes: 2, stops: 0, fulls: 1 };
    holds(World::new(limits));
}

#[test]
fn what_was_accepted_is_handled_or_in_quarantine_after_failures_and_stops() {
    let limits = Limits { queues: 1, messages: 3, window: 1, failures: 3, crashes: 1, stops: 1, fulls: 0 };
    holds(World::new(limits));
}

#[test]
fn suspects_of_two_queues_are_tried_one_after_the_other() {
    let limits = Limits { queues: 2, messages: 3, window: 1, failures: 0, crashes: 2, stops: 0, fulls: 0 };
    holds(World::new(limits));
}

const NODES: nodes::Limits = nodes::Limits { ticks: 4, messages: 1, restarts: 1, lost: 1 };
const QUIET: nodes::Limits = nodes::Limits { ticks: 4, messages: 2, restarts: 0, lost: 0 };

#[test]
fn two_nodes_never_own_a_queue_at_once_and_an_owner_whose_lease_has_ended_begins_nothing() {
    for limits in [NODES, QUIET] {
        holds(nodes::World::new(limits, nodes::Fault::None));
    }
}

#[test]
fn the_invariants_of_leases_find_every_fault() {
    for (fault, finds) in [
        (nodes::Fault::BeginsWithoutLease, "without a lease"),
        (nodes::Fault::TrustsTheServer, "both nodes may begin"),
        (nodes::Fault::KeepsItsFence, "with the fence 0, and 0 has it"),
    ] {
        let found = explore(nodes::World::new(NODES, fault));
        assert!(found.as_ref().is_err_and(|wrong| wrong.contains(finds)), "{fault:?}: {found:?}");
    }
}

const SHARING: sharing::Limits = sharing::Limits { messages: 2, deaths: 2, owners: 4 };
const CALM: sharing::Limits = sharing::Limits { messages: 3, deaths: 1, owners: 2 };

#[test]
fn each_message_of_a_shared_queue_is_with_one_node_and_no_death_is_forgotten() {
    for limits in [SHARING, CALM] {
        holds(sharing::World::new(limits, sharing::Fault::None));
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
        let found = explore(sharing::World::new(SHARING, fault));
        assert!(found.as_ref().is_err_and(|wrong| wrong.contains(finds)), "{fault:?}: {found:?}");
    }
}
