//! Counts the lines about other nodes: a node that comes and goes, or is refused, could cause very many of them.
//!
//! Rule 26.13.

use super::Event;
use super::thinned::{Line, LineCount, OF_NODES};
use crate::supervision::Time;

/// Counts the lines of each kind.
#[derive(Debug)]
pub(crate) struct NodeLines {
    up: LineCount,
    down: LineCount,
    refused: LineCount,
}

impl Default for NodeLines {
    fn default() -> Self {
        let [up, down, refused] = [(); 3].map(|()| LineCount::new(OF_NODES));
        Self { up, down, refused }
    }
}

impl NodeLines {
    /// Counts the event's line at `now`. `None` if the event is not about another node.
    pub(crate) fn count(&mut self, event: &Event, now: Time) -> Option<Line> {
        let lines = match event {
            Event::NodeUp { .. } => &mut self.up,
            Event::NodeDown { .. } => &mut self.down,
            Event::NodeRefused { .. } => &mut self.refused,
            _ => return None,
        };
        Some(lines.count(now))
    }
}
