//! Carrying out a restart, now or after a delay, of all children that the strategy reaches.

use std::hash::Hash;
use std::time::Duration;

use super::{Instance, Phase, Protocol};
use crate::supervision::Time;
use crate::supervision::backoff::{Attempt, Backoff};
use crate::supervision::children::{ChildRecord, Children, Deciding, Delayed};
use crate::supervision::directive::Directive;
use crate::supervision::fields::Granted;
use crate::supervision::restart_window::{Permit, RestartStatistics};
use crate::supervision::schedule::{Answer, ScheduledRestart};
use crate::supervision::settings::{Count, OnLimit, Scope, Strategy};
use crate::supervision::strategy::{self, Family, Reach};
use crate::supervision::vocabulary::{Cause, ChildId, Effect, Outcome, Ruling, SystemMessage, Timer};

/// The delay of a creation that is retried with neither limit nor backoff, so that it cannot spin (rule 5.3). A permanent
/// child that ended by itself skips the first delay. Its count is reset after a short quiet time, because its work may be
/// short.
pub(crate) const CREATION_BACKOFF: Backoff =
    Backoff::exponential(SHORTEST, Duration::from_secs(10)).reset_after(SHORTEST);

const SHORTEST: Duration = Duration::from_millis(100);

impl<R: Hash + Eq + Clone, C: Cause> Protocol<R, C> {
    /// A resume after a failed creation makes a new instance if there is none, so it must not spin. An actor that only
    /// escalated such a failure has an instance and keeps it.
    pub(super) fn resume_later(
        &mut self,
        report: &Deciding,
        cause: C,
        ruling: &Ruling<'_, C>,
        effects: &mut Vec<Effect<R, C>>,
    ) {
        let &Deciding { child: culprit, runs, .. } = report;
        if let Some(child) = self.child_mut(culprit) {
            let count = &mut child.history_mut().backoff;
            let delay = count.failed_to_start(runs, &CREATION_BACKOFF, ruling.now, ruling.draw);
            let wait = (ruling.now, delay);
            self.schedule_restart(Answer::Resume, culprit, cause, Reach::only(culprit), wait, effects);
        }
    }

    /// Returns the outcome, and the cause if the limit refuses the restart.
    pub(super) fn restart_children(
        &mut self,
        report: &Deciding,
        cause: C,
        directive: &Directive,
        ruling: &Ruling<'_, C>,
        effects: &mut Vec<Effect<R, C>>,
    ) -> (Outcome, Option<C>) {
        let &Deciding { child: culprit, initialization, runs, .. } = report;
        let strategy = ruling.strategy;
        let ended = self.ended_unexpectedly(culprit);
        let declared = if directive.has_backoff() { directive.backoff() } else { strategy.backoff };
        let unlimited = strategy.limit.is_unlimited() && !directive.is_limited();
        let may_spin = || (initialization || ended) && unlimited;
        let backoff = declared.or_else(|| may_spin().then_some(CREATION_BACKOFF));
        let first_start = self.holds_up_construction(culprit);
        let reach = if first_start {
            // Rule 14.1: nobody depends yet on a child that has never started.
            Reach::only(culprit)
        } else {
            // Rule 7.10: a child that an earlier restart is about to replace does not need this one.
            self.reach(strategy.scope, culprit, backoff.is_some())
        };
        // The table exists, because the culprit is in it.
        let children = self.children.get_or_insert_default();
        let start = initialization.then_some(runs);
        if gives_up(children, culprit, start, backoff.as_ref(), ruling.now)
            || (directive.is_limited() && !permitted_by_rule(children, culprit, directive, ruling))
            || !permitted(children, &reach.children, strategy, ruling.now)
        {
            if strategy.on_limit == OnLimit::Stop && !first_start {
                let children = self.stop_affected(culprit, strategy, effects);
                return (Outcome::LimitReached { children }, Some(cause));
            }
            self.fail_with_child(culprit, cause.clone(), effects);
            return (Outcome::LimitEscalated, Some(cause));
        }
        let delay = backoff.and_then(|backoff| {
            let count = &mut children.find_mut(culprit)?.history_mut().backoff;
            let delay = if initialization {
                count.failed_to_start(runs, &backoff, ruling.now, ruling.draw)
            } else {
                count.failed_in_run(runs, &backoff, ruling.now, ruling.draw)
            };
            let at_once = ended && declared.is_none() && count.count() == 1;
            (!at_once).then_some(delay)
        });
        let children = reach.children.len();
        match delay {
            Some(delay) => {
                self.schedule_restart(Answer::Restart, culprit, cause, reach, (ruling.now, delay), effects);
            }
            None => self.restart_now(culprit, cause, &reach, effects),
        }
        if first_start
            && strategy.scope == Scope::OneForOne
            && let Some(fields) = &mut self.fields
        {
            fields.continue_without(culprit);
        }
        (Outcome::Restarting { children, delay }, None)
    }

    fn reach(&self, scope: Scope, culprit: ChildId, to_be_replaced_too: bool) -> Reach {
        let (fields, others) = (self.fields.as_deref(), self.children.as_deref());
        strategy::reach(scope, culprit, Family { fields, others, to_be_replaced_too })
    }

    /// Suspends the affected siblings and restarts all.
    fn restart_now(&mut self, culprit: ChildId, cause: C, reach: &Reach, effects: &mut Vec<Effect<R, C>>) {
        let mut restart = |id, cause| {
            if let Some(pending_resumes) = self.take_over(id, culprit, effects) {
                self.restart_child(id, cause, pending_resumes, reach.is_group(), effects);
            }
        };
        if let Some((last, others)) = reach.children.split_last() {
            for id in others {
                restart(*id, cause.clone());
            }
            restart(*last, cause);
        }
        if let (Some(first), Some(children)) = (reach.group_from, &mut self.children) {
            children.are_to_be_replaced(first);
        }
    }

    /// Suspends the affected siblings. All affected children are answered when the delay is over.
    fn schedule_restart(
        &mut self,
        answer: Answer,
        culprit: ChildId,
        cause: C,
        reach: Reach,
        (now, delay): (Time, Duration),
        effects: &mut Vec<Effect<R, C>>,
    ) {
        let due = now.saturating_add(delay);
        let said = effects.len();
        let schedule = self.children.get_or_insert_default().new_schedule();
        for &id in reach.children.iter() {
            if let Some(pending_resumes) = self.take_over(id, culprit, effects)
                && let Some(child) = self.child_mut(id)
                && !child.is_dying()
            {
                child.history_mut().delayed = Some(Delayed { schedule, answer, pending_resumes, due });
            }
        }
        charge(&reach, effects.len() - said, effects);
        let with_group = reach.is_group();
        let affected = reach.children;
        let restart = ScheduledRestart { id: schedule, answer, cause, affected, with_group };
        let idle = self.children.get_or_insert_default().schedule(restart);
        effects.extend(idle.into_iter().map(|idle| Effect::Disarm(Timer::Restart(idle))));
        effects.push(Effect::Arm(Timer::Restart(schedule), Some(delay)));
    }

    /// Suspends a sibling that the strategy includes, and returns how many suspensions of the child this restart must
    /// undo.
    ///
    /// A child that waits for an earlier restart is suspended already: this one takes over its pending resumes, so that it is
    /// restarted once and each of its suspensions is undone once.
    fn take_over(&mut self, id: ChildId, culprit: ChildId, effects: &mut Vec<Effect<R, C>>) -> Option<u32> {
        let earlier = self.take_pending_resumes(id);
        let child = self.child_mut(id)?;
        if id == culprit {
            return Some(earlier + 1);
        }
        if earlier == 0 {
            effects.push(Effect::Send(child.target.clone(), SystemMessage::Suspend));
        }
        Some(earlier.max(1))
    }

    /// Ends the delay that a child waits for, and that of the siblings that wait for the same restart. The restart was decided
    /// and charged when it was scheduled.
    ///
    /// Rule 23.5.
    pub(super) fn retry_now(&mut self, child: ChildId, effects: &mut Vec<Effect<R, C>>) {
        let Some(delayed) = self.children.as_ref().and_then(|all| all.find(child)?.delayed()) else { return };
        effects.push(Effect::Disarm(Timer::Restart(delayed.schedule)));
        self.restart_due(delayed.schedule, effects);
    }

    /// Children that survived a restart of this actor are restarted once, with it. Returns the first child that is not one of
    /// them.
    pub(super) fn restarted_by_myself(&self) -> ChildId {
        let Some(children) = &self.children else { return ChildId(0) };
        match self.phase {
            Phase::Restarting(_) | Phase::Waiting(_) => children.next_id(),
            _ if self.instance == Instance::HalfBuilt => children.survivors_below,
            _ => ChildId(0),
        }
    }

    pub(super) fn restart_due(&mut self, schedule: u64, effects: &mut Vec<Effect<R, C>>) {
        let first = self.restarted_by_myself();
        let Some(children) = &mut self.children else {
            return;
        };
        let Some((restart, due)) = children.take_due(schedule, first) else {
            return;
        };
        for &id in restart.affected.iter().filter(|id| **id < first) {
            self.leave_to_parent(id, restart.id);
        }
        for (id, pending_resumes) in due {
            match restart.answer {
                Answer::Restart => {
                    let cause = restart.cause.clone();
                    self.restart_child(id, cause, pending_resumes, restart.with_group, effects);
                }
                Answer::Resume => {
                    self.send_to(id, SystemMessage::Resume(Some(restart.cause.clone())), effects);
                    for _ in 1..pending_resumes {
                        self.send_to(id, SystemMessage::Resume(None), effects);
                    }
                }
            }
        }
    }

    pub(super) fn stop_affected(
        &mut self,
        culprit: ChildId,
        strategy: &Strategy,
        effects: &mut Vec<Effect<R, C>>,
    ) -> usize {
        let reach = self.reach(strategy.scope, culprit, true);
        let said = effects.len();
        self.stop_in_line(&reach.children, effects);
        charge(&reach, effects.len() - said, effects);
        reach.children.len()
    }

    /// Takes the resumes that earlier restarts, delayed ones or those of a group, must still send to a child.
    pub(super) fn take_pending_resumes(&mut self, child: ChildId) -> u32 {
        let delayed = self.child_mut(child).and_then(ChildRecord::take_delayed);
        let of_group = self.fields.as_mut().map_or(0, |fields| fields.take_pending_resumes(child));
        delayed.map_or(0, |delayed| delayed.pending_resumes) + of_group
    }

    /// Restarts a child: at once, or together with the other fields of its group when its turn comes.
    pub(super) fn restart_child(
        &mut self,
        child: ChildId,
        cause: C,
        pending_resumes: u32,
        with_group: bool,
        effects: &mut Vec<Effect<R, C>>,
    ) {
        let (Some(at), Some(fields)) = (self.field_of(child), &mut self.fields) else {
            return self.send_restart(child, cause, pending_resumes, with_group, effects);
        };
        match fields.grant_restart(at, &cause, pending_resumes, with_group) {
            Granted::Later => {}
            Granted::StartNow => self.start_field(at, effects),
            Granted::RestartNow => self.send_restart(child, cause, pending_resumes, false, effects),
        }
    }

    /// Tells a child to restart, which undoes one of its suspensions, and to undo the others. If an earlier restart
    /// together with siblings has not replaced its instance yet, this one is not sent.
    pub(super) fn send_restart(
        &mut self,
        id: ChildId,
        cause: C,
        mut pending_resumes: u32,
        together: bool,
        effects: &mut Vec<Effect<R, C>>,
    ) {
        let Some(child) = self.child_mut(id) else { return };
        if !(together && child.to_be_replaced) {
            child.count_restart();
            child.to_be_replaced |= together;
            let restart = if together { SystemMessage::RestartTogether } else { SystemMessage::Restart };
            effects.push(Effect::Send(child.target.clone(), restart(cause)));
            pending_resumes -= 1;
        }
        for _ in 0..pending_resumes {
            effects.push(Effect::Send(child.target.clone(), SystemMessage::Resume(None)));
        }
    }
}

/// Looking at fewer children than this takes no longer than the rest of a decision.
const MANY: usize = 32;

/// Charges the turn for the children that a decision reaches and does not tell anything. In a storm under rest-for-one that begins
/// with the last child, these are all that have failed before.
fn charge<R, C>(reach: &Reach, told: usize, effects: &mut Vec<Effect<R, C>>) {
    let untold = reach.children.len().saturating_sub(told);
    if untold >= MANY {
        effects.push(Effect::Charge(untold));
    }
}

/// Whether a child has been failing for longer than its backoff says. `start` is set if it could not start.
///
/// Rule 7.13.
fn gives_up<R: Clone, C>(
    children: &mut Children<R, C>,
    culprit: ChildId,
    start: Option<u8>,
    backoff: Option<&Backoff>,
    now: Time,
) -> bool {
    let Some(backoff) = backoff.filter(|backoff| backoff.give_up_after.is_some()) else { return false };
    children
        .find_mut(culprit)
        .is_some_and(|child| child.history_mut().backoff.attempt(start, backoff, now) == Attempt::GiveUp)
}

/// Whether the limit of the rule that decided grants the restart. Like the strategy's count, that of the rule is kept
/// for the failed child or for all children.
///
/// Rule 7.11.
#[cold]
fn permitted_by_rule<R: Clone, C>(
    children: &mut Children<R, C>,
    culprit: ChildId,
    directive: &Directive,
    ruling: &Ruling<'_, C>,
) -> bool {
    let Directive::RestartOn(terms) = directive else { return true };
    let counts = match (ruling.strategy.count, children.find_mut(culprit)) {
        (Count::Child, Some(child)) => &mut child.history_mut().of_rules,
        (Count::Supervisor, _) | (_, None) => &mut children.of_rules,
    };
    counts.of(terms.rule).permit(&terms.limit, ruling.now) == Permit::Granted
}

/// Whether the strategy's limit grants the restart. Checks each affected child's statistics, or the
/// supervisor's own, and stops at the first refusal.
///
/// Rules 7.2 and 7.6.
fn permitted<R: Clone, C>(
    children: &mut Children<R, C>,
    affected: &[ChildId],
    strategy: &Strategy,
    now: Time,
) -> bool {
    if strategy.limit.is_unlimited() {
        return true;
    }
    let granted = |count: &mut RestartStatistics| count.permit(&strategy.limit, now) == Permit::Granted;
    match strategy.count {
        Count::Supervisor => granted(&mut children.restarts),
        Count::Child => affected
            .iter()
            .all(|id| children.find_mut(*id).is_none_or(|child| granted(&mut child.history_mut().restarts))),
    }
}
