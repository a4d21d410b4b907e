//! Restarts that somebody asks for, although nothing failed.

use std::hash::Hash;

use super::Protocol;
use crate::supervision::vocabulary::{Cause, ChildId, Effect, SystemMessage};

impl<R: Hash + Eq + Clone, C: Cause> Protocol<R, C> {
    /// Restarts one child, without its siblings and without a charge. If the child waits for a delayed restart, that restart happens
    /// now. If another restart or a stop is already under way, or was sent since `restarts` was read, nothing happens.
    ///
    /// Rule 23.8.
    pub(super) fn restart_by_hand(
        &mut self,
        id: ChildId,
        cause: C,
        restarts: u32,
        effects: &mut Vec<Effect<R, C>>,
    ) {
        if self.is_stopping() || id < self.restarted_by_myself() {
            return;
        }
        let Some(child) = self.children.as_ref().and_then(|children| children.find(id)) else { return };
        if child.is_dying() || child.restarts_sent() != restarts {
            return;
        }
        if child.delayed().is_some() {
            return self.retry_now(id, effects);
        }
        if self.fields.as_ref().is_none_or(|fields| fields.may_restart_alone(id)) {
            // A restart undoes one suspension, and the child may not be suspended.
            effects.push(Effect::Send(child.target.clone(), SystemMessage::Suspend));
            self.send_restart(id, cause, 1, false, effects);
        }
    }
}
