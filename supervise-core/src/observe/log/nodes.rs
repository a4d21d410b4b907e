//! The lines about other nodes.
//!
//! Rule 26.13.

use std::fmt::{self, Display, Formatter};

use tracing::{debug, info, warn};

use super::InWords;
use crate::base::TARGET;
use crate::observe::Event;
use crate::observe::thinned::{Line, MOST_LINES, OF_NODES};

pub(in crate::observe) fn node(event: &Event, line: Line) {
    let after = After(line);
    let is_quiet = matches!(line, Line::Missed);
    match event {
        Event::NodeUp { node } if is_quiet => debug!(target: TARGET, %node, "the node {node} is connected"),
        Event::NodeUp { node } => info!(target: TARGET, %node, "the node {node} is connected{after}"),
        Event::NodeDown { node, why } => {
            let text = format_args!("the connection to the node {node} has ended: {}", ended(why));
            match *why {
                _ if is_quiet => debug!(target: TARGET, %node, why, "{text}"),
                "goodbye" | "left" => info!(target: TARGET, %node, why, "{text}{after}"),
                _ => warn!(target: TARGET, %node, why, "{text}. All refs to its actors have ended{after}"),
            }
        }
        Event::NodeRefused { node, why } => {
            let text = format_args!("the node {node} cannot connect: {}", refused(why));
            if is_quiet {
                debug!(target: TARGET, %node, why, "{text}");
            } else {
                warn!(target: TARGET, %node, why, "{text}{after}");
            }
        }
        _ => {}
    }
}

/// The words for the reasons of [`Event::NodeDown`].
fn ended(why: &str) -> &str {
    match why {
        "vanished" => "the network says that it is gone",
        "goodbye" => "it said goodbye",
        "silent" => "it was silent for longer than `patience`",
        "lost" => "one of its packets is missing",
        "restarted" => "it was started again",
        "gave_up" => "it ended the connection and connected again",
        "broke" => "it broke a limit or the protocol",
        "left" => "this node has left",
        other => other,
    }
}

/// The words for the reasons of [`Event::NodeRefused`].
fn refused(why: &str) -> &str {
    match why {
        "version" => {
            "it speaks no version of the protocol that this node speaks; use adjacent releases of `supervise`"
        }
        "mesh" => "it belongs to another `mesh`",
        other => other,
    }
}

/// What a line says about others like it.
struct After(Line);

impl Display for After {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Line::Own { missed: 0 } | Line::Missed => Ok(()),
            Line::Own { missed } => {
                write!(f, " ({missed} earlier lines like this were logged at debug level only)")
            }
            Line::Last => write!(
                f,
                " ({MOST_LINES} such lines within {}: further ones in this time are logged at debug level only)",
                InWords(OF_NODES)
            ),
        }
    }
}
