//! How a model carries out a request to restart one of its children by hand.

use supervise_core::supervision::{Call, ChildId, SystemMessage};

use super::{Code, Instance, Model, Stage};
use crate::fault::Fault;

impl Model {
    /// Restarts one child, without its siblings. If the child is about to restart, start or end anyway, that
    /// answers the request. So does a restart that was sent after the operator had looked.
    pub(super) fn restart_by_hand(&mut self, id: ChildId, cause: Fault, restarts: u32) {
        if self.is_stopping() || self.restarts_with_me(id) {
            return;
        }
        let alone = self.fields.may_restart_alone(id);
        let Some(child) = self.children.get(&id) else { return };
        if child.asked_to_stop || child.restarts_sent != restarts {
            return;
        }
        if let Some(wait) = &child.waits {
            self.round_is_due(wait.round);
        } else if alone {
            let actor = child.actor;
            self.send(actor, SystemMessage::Suspend);
            self.send_restart(id, cause, 1, false);
        }
    }

    /// Whether this actor restarts, and the child, if it outlives the old instance, restarts with it.
    fn restarts_with_me(&self, id: ChildId) -> bool {
        let goes = matches!(self.stage, Stage::Creating | Stage::Restarting(_) | Stage::Preparing);
        let rebuilds = matches!(self.code, Some(Code::Hook(Call::StartNewInstance(_))))
            || self.fields.are_declared_again()
            || self.instance == Instance::Broken;
        goes || (rebuilds && self.survivors.contains(&id))
    }
}
