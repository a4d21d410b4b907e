//! What a cell decides about a failed child.

use std::rc::Rc;

use supervise_core::supervision::{
    Cause, ChildId, Directive, Effect, Input, Note, OnLimit, Ruling, Scope, Strategy, SystemMessage,
};

use super::fingerprint::Fingerprint;
use super::{Cell, Effects, Id, Step, World, differs, disagreement};
use crate::fault::{Fault, Wrapping};
use crate::invariants::{Violation, Watchdog};
use crate::model::agree;
use crate::plan::{Choices, Role, Verdict, pick};

impl World {
    pub(super) fn ruling<'a>(&self, verdict: Result<Directive, Fault>, role: &'a Role) -> Ruling<'a, Fault> {
        Ruling { verdict, strategy: &role.strategy, now: self.now, draw: 0.0 }
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
            Verdict::RestartLater => Ok(Directive::RestartAfter(self.plan.backoff)),
            Verdict::Stop => Ok(Directive::Stop),
            Verdict::Escalate => Ok(Directive::Escalate),
            Verdict::Fail => Err(Fault { origin: id, wrapping: Wrapping::Bare }),
        }
    }

    /// A failure on its way up. As in `supervise-core/src/cell/shell.rs`, an idle parent need not be asked.
    pub(super) fn report(&mut self, id: Id, cause: Fault, choices: &mut impl Choices) -> Step {
        let Cell { parent, child, .. } = *self.cell(id);
        let Some(parent) = parent else {
            self.ledger.settled += 1;
            self.send(id, SystemMessage::Terminate);
            return Ok(());
        };
        let plan = Rc::clone(&self.plan);
        let above = self.cell(parent);
        let role = &plan.roles[above.role];
        let Strategy { scope, backoff, limit, on_limit, .. } = role.strategy;
        let takes_one_message =
            scope == Scope::OneForOne && backoff.is_none() && (limit.is_unlimited() || on_limit == OnLimit::Stop);
        let idle = above.system.is_empty() && above.protocol.restarts_if_idle(child).is_some();
        if takes_one_message && idle && !self.calm && pick(choices, &plan.in_place) {
            let verdict = self.verdict(parent, cause, role, choices);
            if let Ok(directive) = verdict
                && self.decide_in_place(parent, child, cause, directive, role)?
            {
                return Ok(());
            }
        }
        self.send(parent, SystemMessage::Failed { child, cause });
        Ok(())
    }

    /// I20. What comes of it is what the parent itself would have done.
    fn decide_in_place(
        &mut self,
        parent: Id,
        child: ChildId,
        cause: Fault,
        directive: Directive,
        role: &Role,
    ) -> Result<bool, Violation> {
        let ruling = self.ruling(Ok(directive), role);
        let mut asked = self.cell(parent).protocol.clone();
        let cell = self.cell_mut(parent);
        let decided = cell.protocol.decide_if_idle(child, &cause, &directive, ruling.strategy, ruling.now);
        let Some((message, outcome)) = decided else {
            let untouched = Fingerprint::of(&cell.protocol) == Fingerprint::of(&asked);
            let refused = if untouched { Ok(false) } else { differs(format!("{parent} changed, and refused")) };
            return refused;
        };
        let note = Effect::Note(Note::Decided { child, cause, directive: Box::new(directive), outcome });
        let told = cell.protocol.children().find(|(id, _)| *id == child).map(|(_, target)| *target);
        let effects: Effects = [note].into_iter().chain(told.map(|to| Effect::Send(to, message))).collect();
        let mut expected = Effects::new();
        asked.step(Input::Message(SystemMessage::Failed { child, cause }), &mut expected);
        let question = std::mem::take(&mut expected);
        asked.step(Input::Decided(ruling.clone()), &mut expected);
        if question != [Effect::Decide(child, cause)]
            || expected != effects
            || Fingerprint::of(&cell.protocol) != Fingerprint::of(&asked)
        {
            return differs(format!("{parent} would {question:?} and {expected:?}, and has {effects:?}"));
        }
        cell.model.step(&Input::Message(SystemMessage::Failed { child, cause }));
        let modelled = cell.model.step(&Input::Decided(ruling));
        if !agree(&modelled, &effects, false) {
            disagreement(format!("in place of {parent}: {effects:?}, the model {modelled:?}"))?;
        }
        Self::agree_about_state(cell)?;
        Watchdog::may_decide(self, parent, child, cause)?;
        Watchdog::inspect(self, parent, &effects)?;
        for effect in effects {
            if self.loud {
                eprintln!("{:>12}in place of {parent}: {effect:?}", "");
            }
            self.perform(parent, effect);
        }
        Ok(true)
    }
}
