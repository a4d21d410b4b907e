//! What a cell decides about a failed child.

use supervise_core::supervision::{Cause, Directive, Ruling, SystemMessage};

use super::{Cell, Id, World};
use crate::fault::{Fault, Wrapping};
use crate::profile::{Choices, Role, Verdict, pick};

impl World {
    pub(super) fn ruling<'a>(&self, verdict: Result<Directive, Fault>, role: &'a Role) -> Ruling<'a, Fault> {
        Ruling { verdict, strategy: &role.strategy, now: self.now, draw: 0.0, heard: true }
    }

    pub(super) fn verdict(
        &self,
        id: Id,
        cause: Fault,
        role: &Role,
        choices: &mut impl Choices,
    ) -> Result<Directive, Fault> {
        let verdict = if self.calm {
            // A world at rest must get to rest.
            if cause.is_initialization() { Verdict::Stop } else { Verdict::Restart }
        } else {
            pick(choices, &role.verdicts)
        };
        match verdict {
            Verdict::Resume => Ok(Directive::Resume),
            Verdict::Restart => Ok(Directive::Restart),
            Verdict::RestartLater => Ok(Directive::RestartAfter(self.profile.backoff)),
            Verdict::RestartOn(terms) => Ok(Directive::RestartOn(terms)),
            Verdict::Stop => Ok(Directive::Stop),
            Verdict::Escalate => Ok(Directive::Escalate),
            Verdict::Fail => Err(Fault { origin: id, wrapping: Wrapping::Bare }),
        }
    }

    /// A failure on its way up.
    pub(super) fn report(&mut self, id: Id, cause: Fault, restarts: u32, runs: u8) {
        let Cell { parent, child, .. } = *self.cell(id);
        if let Some(parent) = parent {
            self.send(parent, SystemMessage::Failed { child, cause, restarts, runs });
        } else {
            self.ledger.settled += 1;
            self.send(id, SystemMessage::Terminate);
        }
    }
}
