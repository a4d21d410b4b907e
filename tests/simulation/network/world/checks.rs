//! What must hold in a world: in every state, and in the end.

use std::collections::BTreeSet;

use supervise_core::remote::association::{Frame, Id};

use super::{Faults, SMALL, World, home, is_idler};
use crate::network::history::{Broken, Place};

impl World {
    /// What holds in every state.
    pub(super) fn check(&self) -> Result<(), Broken> {
        for (at, node) in self.nodes.iter().enumerate() {
            for (peer, association) in &node.peers {
                let largest = self.settings.window.max(Frame::HEAD + 2) + self.settings.reserve();
                if association.under_way() > largest {
                    return Err(format!("N5: {at} has {} bytes under way to {peer}", association.under_way()));
                }
                if association.numbers().is_none() && association.kept() > 0 {
                    return Err(format!("N9: {at} keeps {} things for {peer}", association.kept()));
                }
            }
            // By association, the bytes that wait here are under way for the sender.
            for (peer, mine, _, _) in &node.inbox {
                let waits: u64 =
                    node.inbox.iter().filter(|one| (one.0, one.1) == (*peer, *mine)).map(|one| one.3).sum();
                if waits > self.settings.window.max(Frame::HEAD + 2) + self.settings.reserve() {
                    return Err(format!("N5: {waits} bytes wait at {at}"));
                }
            }
            for (peer, association) in &node.peers {
                let mine = association.numbers().map(|numbers| numbers.0);
                let held = node.held(*peer).filter(|(_, parcel)| Some(parcel.mine) == mine);
                let held: u64 = held.map(|(_, parcel)| parcel.bytes).sum();
                if held > self.settings.held + self.settings.window.max(Frame::HEAD + 2) {
                    return Err(format!("N10: {held} bytes are held at {at}"));
                }
            }
        }
        Ok(())
    }

    /// No fault happens any more, and time passes. Checks what must hold in the end.
    pub(in super::super) fn finish(mut self) -> Result<(), Broken> {
        self.faults = Faults::default();
        self.quiet_until(self.settings.patience)?;
        let mut twins = Vec::new();
        for (at, node) in self.nodes.iter().enumerate() {
            for (peer, association) in &node.peers {
                twins.push((at, *peer, association.numbers()));
            }
        }
        for (at, peer, numbers) in &twins {
            let other = twins.iter().find(|twin| (twin.0, twin.1) == (*peer, *at)).and_then(|twin| twin.2);
            if let Some((mine, yours)) = numbers
                && other != Some((*yours, *mine))
            {
                return Err(format!("N3: {at} has ({mine}, {yours}), but {peer} has {other:?} after patience"));
            }
        }
        self.quiet_until(self.settings.patience * 2)?;
        self.pauses()?;
        self.windows()?;
        self.watches()?;
        for at in 0..self.nodes.len() {
            for peer in 0..self.nodes.len() {
                if at == peer || !self.nodes[at].lives {
                    continue;
                }
                let association = &self.nodes[at].peers[&peer];
                if self.nodes[peer].lives != association.numbers().is_some() {
                    return Err(format!("{at} and {peer} do not find each other, or not the end of each other"));
                }
                if !self.nodes[peer].lives && self.nodes[at].watchers.iter().any(|one| home(one.1) == peer) {
                    return Err(format!("N9: {at} keeps watchers of {peer}, which is gone"));
                }
            }
        }
        let lives = |at: Place| self.nodes[at].lives;
        // The verdict stands for messages that died with their node.
        let ended = |actor: Id| lives(home(actor)) && self.nodes[home(actor)].ended.contains(&actor);
        let is_closed = |from: Place, to: Place| self.nodes[from].peers.get(&to).is_some_and(|one| !one.is_open());
        self.history.at_rest(ended, is_idler, is_closed, SMALL)
    }

    /// At rest, an actor has the watchers that wait for its end, and both sides count the same watches.
    fn watches(&self) -> Result<(), Broken> {
        for (at, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.lives) {
            for (peer, association) in &node.peers {
                let Some((mine, _)) = association.numbers() else { continue };
                let known: BTreeSet<(Id, Id)> =
                    node.watchers.iter().filter(|one| one.2 == mine).map(|one| (one.0, one.1)).collect();
                let waits: BTreeSet<(Id, Id)> = self.history.open(*peer, mine).collect();
                if known != waits {
                    return Err(format!("N11: {at} has the watchers {known:?} of {peer}, but {waits:?} wait"));
                }
                // Beside watches, a side that is idle keeps nothing.
                if let Some(twin) = self.nodes[*peer].peers.get(&at)
                    && (association.is_idle() && twin.is_idle())
                    && association.kept() != twin.kept()
                {
                    return Err(format!(
                        "N11: {at} keeps {} watches, but {peer} {}",
                        association.kept(),
                        twin.kept()
                    ));
                }
            }
        }
        Ok(())
    }

    /// At rest, nothing is under way but what closes the window.
    fn windows(&self) -> Result<(), Broken> {
        for (at, node) in self.nodes.iter().enumerate() {
            for (peer, association) in &node.peers {
                let held: u64 = self.nodes[*peer].held(at).map(|(_, parcel)| parcel.bytes).sum();
                let (under_way, beyond) = (association.under_way(), held.saturating_sub(self.settings.held));
                if under_way > beyond {
                    return Err(format!("N5: {under_way} bytes are under way from {at} to {peer}, not {beyond}"));
                }
            }
        }
        Ok(())
    }

    /// At rest, a ref is paused if and only if something waits for its actor.
    fn pauses(&self) -> Result<(), Broken> {
        for (at, node) in self.nodes.iter().enumerate() {
            for (peer, association) in &node.peers {
                let full: BTreeSet<Id> = self.nodes[*peer].held(at).map(|(to, _)| to).collect();
                if association.paused() != full.len() || !full.iter().all(|to| association.is_paused(*to)) {
                    return Err(format!(
                        "N10: {at} has paused {} refs, but {full:?} are full",
                        association.paused()
                    ));
                }
            }
        }
        Ok(())
    }
}
