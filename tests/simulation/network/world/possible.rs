//! What may happen next in a world.

use super::{Action, Deed, Flying, World, home, is_idler};
use crate::network::history::Place;

impl World {
    fn pairs(&self) -> impl Iterator<Item = (Place, Place)> + '_ {
        self.between.iter().filter(|(_, flying)| !flying.is_empty()).map(|(pair, _)| *pair)
    }

    /// What happens without faults, deeds or time.
    fn quiet_actions(&self) -> impl Iterator<Item = Action> + '_ {
        let deliver = self.pairs().map(|(from, to)| Action::Deliver(from, to, 0));
        let work = self.nodes.iter().enumerate().filter(|(_, node)| !node.inbox.is_empty());
        let reads = self.nodes.iter().enumerate().flat_map(|(at, node)| {
            let ready = node.small.iter().filter(|(id, small)| small.mailbox.is_some() && !is_idler(**id));
            ready.map(move |(id, _)| Action::Read(at, *id))
        });
        deliver.chain(work.map(|(at, _)| Action::Work(at))).chain(reads)
    }

    /// Whether nothing is under way.
    pub(in super::super) fn is_quiet(&self) -> bool {
        self.next_quiet().is_none()
    }

    pub(super) fn next_quiet(&self) -> Option<Action> {
        self.quiet_actions().next()
    }

    /// Everything that may happen next.
    pub(in super::super) fn actions(&self) -> Vec<Action> {
        let mut all: Vec<Action> = self.quiet_actions().collect();
        for (from, to) in self.pairs() {
            let flying = &self.between[&(from, to)];
            let is_packet = |at: usize| matches!(flying[at], Flying::Packet(_));
            if self.faults.drops > 0 && is_packet(0) {
                all.push(Action::Drop(from, to));
            }
            if self.faults.repeats > 0 && is_packet(0) {
                all.push(Action::Repeat(from, to));
            }
            if self.faults.reorders > 0 {
                // The engine's own news stays in order, and may overtake packets.
                let is_first = |at: usize| is_packet(at) || (0..at).all(is_packet);
                all.extend((1..flying.len()).filter(|at| is_first(*at)).map(|at| Action::Deliver(from, to, at)));
            }
        }
        for (at, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.lives) {
            if node.deeds.front().is_some_and(|deed| self.can(at, *deed)) {
                all.push(Action::Act(at));
            }
            if self.faults.ticks > 0 && node.deadline().is_some() {
                all.push(Action::Tick(at));
            }
            if self.faults.freezes > 0 {
                all.push(Action::Freeze(at));
            }
            if self.faults.restarts > 0 {
                all.push(Action::Restart(at));
            }
            if self.faults.kills > 0 {
                all.push(Action::Kill(at));
            }
        }
        all
    }

    /// A ref to a peer's actor exists only while there is an association.
    fn can(&self, at: Place, deed: Deed) -> bool {
        let is_up = |peer: Place| self.nodes[at].peers[&peer].numbers().is_some();
        match deed {
            Deed::Tell(_, peer) | Deed::Ask(peer) => is_up(peer),
            Deed::Watch(subject, _) | Deed::Unwatch(subject, _) => is_up(home(subject)),
            Deed::Put(_, to) => is_up(home(to)),
            Deed::End(_) | Deed::Leave => true,
        }
    }
}
