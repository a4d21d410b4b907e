//! Failures: one's own, and those of children that one has to decide about.

use std::hash::Hash;
use std::time::Duration;

use super::{Instance, Perpetrator, Phase, Protocol};
use crate::supervision::Time;
use crate::supervision::backoff::Backoff;
use crate::supervision::children::{Affected, Answer, ChildRecord, Children, Delayed, Report, ScheduledRestart};
use crate::supervision::directive::Directive;
use crate::supervision::strategy::{Count, OnLimit, Scope, Strategy};
use crate::supervision::vocabulary::{
    Cause, ChildId, Effect, Note, Outcome, Returned, Ruling, SystemMessage, Timer,
};

/// The delay of a creation that is retried with neither limit nor backoff, so that it cannot spin (rule 5.3). A permanent
/// child that ended by itself skips the first delay, and starts anew soon: it may end often because its work is short.
pub(crate) const CREATION_BACKOFF: Backoff =
    Backoff::exponential(SHORTEST, Duration::from_secs(10)).reset_after(SHORTEST);

const SHORTEST: Duration = Duration::from_millis(100);

/// Whom a restart reaches.
struct Reach {
    affected: Affected,
    /// Whether declared children restart one after another.
    grouped: bool,
}

impl<R: Hash + Eq + Clone, C: Cause> Protocol<R, C> {
    /// This actor failed: it suspends itself and its subtree, and reports.
    ///
    /// The perpetrator is suspended already by its own failure; children with an id below `excluded_below` are
    /// suspended still from before the restart that failed now.
    ///
    /// Rules 2.2 and 2.4.
    pub(super) fn fail(
        &mut self,
        cause: C,
        perpetrator: Perpetrator,
        excluded_below: ChildId,
        effects: &mut Vec<Effect<R, C>>,
    ) {
        self.suspended += 1;
        self.failed.get_or_insert(perpetrator);
        for (id, target) in self.children() {
            if id >= excluded_below && perpetrator != Perpetrator::Child(id) {
                effects.push(Effect::Send(target.clone(), SystemMessage::Suspend));
            }
        }
        effects.push(Effect::Report { cause, restarts: self.restarts });
    }

    pub(super) fn suspend(&mut self, effects: &mut Vec<Effect<R, C>>) {
        self.suspended += 1;
        for (_, target) in self.children() {
            effects.push(Effect::Send(target.clone(), SystemMessage::Suspend));
        }
    }

    /// Rules 3.4 and 4.6.
    pub(super) fn resume(&mut self, cause: Option<C>, effects: &mut Vec<Effect<R, C>>) {
        if let Some(cause) = &cause
            && matches!(self.phase, Phase::Running)
            && self.out.is_none()
        {
            match self.instance {
                Instance::Live => {}
                Instance::None => {
                    Self::note(effects, Note::TurnedIntoCreate);
                    return self.create_again(effects);
                }
                Instance::HalfBuilt => {
                    Self::note(effects, Note::TurnedIntoRestart);
                    return self.begin_restart(cause.clone(), effects);
                }
            }
        }
        self.suspended = self.suspended.saturating_sub(1);
        let perpetrator = if cause.is_some() {
            if self.failed == Some(Perpetrator::Myself) {
                Self::note(effects, Note::Resumed);
            }
            self.failed.take()
        } else {
            None
        };
        if let Some(Perpetrator::Child(child)) = perpetrator {
            self.field_resumed(child);
        }
        self.resume_children(cause.as_ref(), perpetrator, effects);
    }

    /// The perpetrator is resumed with the cause, which answers its own failure; the others merely count down.
    pub(super) fn resume_children(
        &self,
        cause: Option<&C>,
        perpetrator: Option<Perpetrator>,
        effects: &mut Vec<Effect<R, C>>,
    ) {
        for (id, target) in self.children() {
            let cause = if perpetrator == Some(Perpetrator::Child(id)) { cause.cloned() } else { None };
            effects.push(Effect::Send(target.clone(), SystemMessage::Resume(cause)));
        }
    }

    /// Rules 2.5 and 2.6.
    pub(super) fn child_failed(&mut self, report: Report<C>, effects: &mut Vec<Effect<R, C>>) {
        let child = report.child;
        if !self.is_stopping() {
            self.field_failed(child);
        }
        let (stopping, now) = (self.is_stopping(), self.decides_now());
        let Some(children) = self.children.as_mut().filter(|it| !stopping && it.find(child).is_some()) else {
            return Self::note(effects, Note::ReportDropped(child, report.cause));
        };
        if now && children.deciding.is_none() {
            let cause = report.cause.clone();
            children.deciding = Some(report);
            effects.push(if self.ended_unexpectedly(child) {
                Effect::RestartEnded(child)
            } else {
                Effect::Decide(child, cause)
            });
        } else {
            Self::note(effects, Note::ReportDeferred(child));
            self.deferred.get_or_insert_default().failures.push_back(report);
        }
    }

    /// Rules 3.5, 3.6 and 3.7.
    pub(super) fn decided(&mut self, ruling: Ruling<'_, C>, effects: &mut Vec<Effect<R, C>>) {
        debug_assert!(self.is_deciding(), "an answer to a question nobody asked");
        let Some(report) = self.children.as_mut().and_then(|children| children.deciding.take()) else {
            return;
        };
        let child = report.child;
        if self.is_terminating() {
            return Self::note(effects, Note::ReportDropped(child, report.cause));
        }
        let directive = match &ruling.verdict {
            Ok(directive) => directive,
            Err(failure) => {
                Self::note(effects, Note::DeciderFailed { child, cause: failure.clone(), about: report.cause });
                return self.fail_with_child(child, failure.clone(), effects);
            }
        };
        // Said before it is done, so that a reader of the log sees the cause before its consequences.
        let said = effects.len();
        let outcome = self.answer(&report, directive, &ruling, effects);
        // What was escalated is remembered in the failure, which others will hear of.
        if ruling.heard || matches!(outcome, Outcome::Escalated | Outcome::LimitEscalated) {
            let (cause, directive) = (report.cause, Box::new(*directive));
            effects.insert(said, Effect::Note(Note::Decided { child, cause, directive, outcome }));
        }
    }

    /// What comes of a directive.
    fn answer(
        &mut self,
        report: &Report<C>,
        directive: &Directive,
        ruling: &Ruling<'_, C>,
        effects: &mut Vec<Effect<R, C>>,
    ) -> Outcome {
        let &Report { child, ref cause, .. } = report;
        match directive {
            _ if self.keeps_from_starting(child) && !self.is_tried_again(child, directive, ruling.strategy) => {
                self.fail_with_child(child, cause.clone(), effects);
                Outcome::Escalated
            }
            Directive::Escalate => {
                self.fail_with_child(child, cause.clone(), effects);
                Outcome::Escalated
            }
            Directive::Resume | Directive::Restart | Directive::RestartAfter(_)
                if self.joins_restart(report, effects) =>
            {
                Outcome::AlreadyAnswered
            }
            _ if self.lets_go(child, directive, cause) => {
                self.stop_child(child, effects);
                Outcome::Stopped { children: 1 }
            }
            _ if self.is_dying(child) => Outcome::AlreadyAnswered,
            Directive::Resume if !cause.is_initialization() => {
                self.send_to(child, SystemMessage::Resume(Some(cause.clone())), effects);
                Outcome::Resumed
            }
            Directive::Resume => self.resume_later(child, cause, ruling, effects),
            Directive::Restart => self.restart_children(child, cause, None, ruling, effects),
            Directive::RestartAfter(backoff) => {
                self.restart_children(child, cause, Some(*backoff), ruling, effects)
            }
            Directive::Stop => Outcome::Stopped { children: self.stop_affected(child, ruling.strategy, effects) },
        }
    }

    /// This actor fails with a child, or with its decider. While it waits for that child it fails to start.
    fn fail_with_child(&mut self, child: ChildId, cause: C, effects: &mut Vec<Effect<R, C>>) {
        if self.keeps_from_starting(child) {
            self.start_failed(Returned::Err(cause), effects);
        } else {
            self.fail(cause, Perpetrator::Child(child), ChildId(0), effects);
        }
    }

    fn is_dying(&self, child: ChildId) -> bool {
        self.children.as_ref().and_then(|children| children.find(child)).is_some_and(ChildRecord::is_dying)
    }

    /// Answers whether the failed instance is about to be replaced by a restart for an earlier failure. That answers this one
    /// too, as far as the suspension is undone with it.
    ///
    /// Rule 7.10.
    fn joins_restart(&mut self, report: &Report<C>, effects: &mut Vec<Effect<R, C>>) -> bool {
        let id = report.child;
        if self.field_joins_restart(id) {
            return true;
        }
        let Some(children) = &mut self.children else { return false };
        let Some(child) = children.find_mut(id).filter(|child| !child.is_dying()) else { return false };
        if let Some(delayed) = child.delayed() {
            let waits_for = |restart: &ScheduledRestart<C>| {
                restart.id == delayed.schedule && restart.answer == Answer::Restart
            };
            let joins = children.scheduled().any(waits_for);
            if let (true, Some(child)) = (joins, children.find_mut(id)) {
                child.history_mut().delayed =
                    Some(Delayed { pending_resumes: delayed.pending_resumes + 1, ..delayed });
            }
            return joins;
        }
        let joins = child.restarts_sent() != report.restarts;
        if joins {
            self.send_to(id, SystemMessage::Resume(None), effects);
        }
        joins
    }

    /// Tells a child to restart, which undoes one of its suspensions, and to undo the others. Where an earlier
    /// restart together with siblings has not replaced its instance yet, another one has nothing to add.
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

    /// A resume after a failed creation creates anew where there is no instance, so it must not spin. An actor that
    /// only passed such a failure on has its instance and keeps it.
    fn resume_later(
        &mut self,
        culprit: ChildId,
        cause: &C,
        ruling: &Ruling<'_, C>,
        effects: &mut Vec<Effect<R, C>>,
    ) -> Outcome {
        let Some(children) = &mut self.children else {
            return Outcome::Resumed;
        };
        let delay = children
            .find_mut(culprit)
            .map(|child| child.history_mut().backoff.failed_to_start(&CREATION_BACKOFF, ruling.now, ruling.draw));
        let reach = Reach { affected: Affected::One(culprit), grouped: false };
        self.schedule_restart(Answer::Resume, culprit, cause, reach, delay, effects);
        Outcome::Resumed
    }

    fn restart_children(
        &mut self,
        culprit: ChildId,
        cause: &C,
        backoff: Option<Backoff>,
        ruling: &Ruling<'_, C>,
        effects: &mut Vec<Effect<R, C>>,
    ) -> Outcome {
        let strategy = ruling.strategy;
        let renewed = self.ended_unexpectedly(culprit);
        let declared = backoff.or(strategy.backoff);
        let creation = || {
            ((cause.is_initialization() || renewed) && strategy.limit.is_unlimited()).then_some(CREATION_BACKOFF)
        };
        let backoff = declared.or_else(creation);
        // Rule 14.1: nobody depends yet on a child that has never started.
        let first_start = self.keeps_from_starting(culprit);
        let scope = if first_start { Scope::OneForOne } else { strategy.scope };
        // Rule 7.10: whom an earlier restart is about to replace has nothing to gain from this one.
        let affected = self.affected(scope, culprit, backoff.is_some());
        let Some(children) = &mut self.children else {
            return Outcome::Resumed;
        };
        if !permitted(children, &affected, strategy, ruling.now) {
            if strategy.on_limit == OnLimit::Stop && !first_start {
                return Outcome::LimitReached { children: self.stop_affected(culprit, strategy, effects) };
            }
            self.fail_with_child(culprit, cause.clone(), effects);
            return Outcome::LimitEscalated;
        }
        let delay = backoff.and_then(|backoff| {
            let count = &mut children.find_mut(culprit)?.history_mut().backoff;
            let delay = if cause.is_initialization() {
                count.failed_to_start(&backoff, ruling.now, ruling.draw)
            } else {
                count.failed(&backoff, ruling.now, ruling.draw)
            };
            let at_once = renewed && declared.is_none() && count.count() == 1;
            (!at_once).then_some(delay)
        });
        let reach = Reach { affected, grouped: scope != Scope::OneForOne };
        let children = reach.affected.len();
        self.schedule_restart(Answer::Restart, culprit, cause, reach, delay, effects);
        if first_start && strategy.scope == Scope::OneForOne {
            self.go_on_without(culprit);
        }
        let first = self.first_reached(scope, culprit);
        if let (None, Some(first), Some(children)) = (delay, first, &mut self.children) {
            children.are_to_be_replaced(first);
        }
        Outcome::Restarting { children, delay }
    }

    /// Suspends the affected, and restarts them at once or when the delay is over.
    ///
    /// A child that waits for an earlier restart is suspended already: this one takes over its pending resumes, so that it is
    /// restarted once and each of its suspensions is undone once.
    fn schedule_restart(
        &mut self,
        answer: Answer,
        culprit: ChildId,
        cause: &C,
        reach: Reach,
        delay: Option<Duration>,
        effects: &mut Vec<Effect<R, C>>,
    ) {
        let schedule =
            self.children.as_mut().filter(|_| delay.is_some()).map_or(0, |children| children.next_schedule());
        for &id in reach.affected.iter() {
            let earlier = self.take_pending_resumes(id);
            let Some(child) = self.child_mut(id) else {
                continue;
            };
            let pending_resumes = if id == culprit { earlier + 1 } else { earlier.max(1) };
            if delay.is_some() && !child.is_dying() {
                child.history_mut().delayed = Some(Delayed { schedule, pending_resumes });
            }
            if id != culprit && earlier == 0 {
                effects.push(Effect::Send(child.target.clone(), SystemMessage::Suspend));
            }
            if delay.is_none() {
                self.answer_scheduled(answer, id, cause, pending_resumes, reach.grouped, effects);
            }
        }
        if delay.is_some()
            && let Some(children) = &mut self.children
        {
            let Reach { affected, grouped } = reach;
            let idle = children.schedule(ScheduledRestart {
                id: schedule,
                answer,
                cause: cause.clone(),
                affected,
                grouped,
            });
            effects.extend(idle.into_iter().map(|idle| Effect::Disarm(Timer::Restart(idle))));
            effects.push(Effect::Arm(Timer::Restart(schedule), delay));
        }
    }

    pub(super) fn restart_due(&mut self, schedule: u64, effects: &mut Vec<Effect<R, C>>) {
        let Some(children) = &mut self.children else {
            return;
        };
        // Those that were there before a restart of this actor are restarted with it, once.
        let first = match self.phase {
            Phase::Restarting(_) | Phase::Waiting(_) => children.next_id(),
            _ if self.instance == Instance::HalfBuilt => children.survivors_below,
            _ => ChildId(0),
        };
        let Some((restart, due)) = children.take_due(schedule, first) else {
            return;
        };
        for &id in restart.affected.iter().filter(|id| **id < first) {
            self.field_waits_for_parent(id, restart.id);
        }
        for (id, pending_resumes) in due {
            self.answer_scheduled(restart.answer, id, &restart.cause, pending_resumes, restart.grouped, effects);
        }
    }

    fn answer_scheduled(
        &mut self,
        answer: Answer,
        id: ChildId,
        cause: &C,
        pending_resumes: u32,
        grouped: bool,
        effects: &mut Vec<Effect<R, C>>,
    ) {
        match answer {
            Answer::Restart => self.answer_child(id, cause, pending_resumes, grouped, effects),
            Answer::Resume => {
                self.send_to(id, SystemMessage::Resume(Some(cause.clone())), effects);
                for _ in 1..pending_resumes {
                    self.send_to(id, SystemMessage::Resume(None), effects);
                }
            }
        }
    }

    fn stop_affected(&mut self, culprit: ChildId, strategy: &Strategy, effects: &mut Vec<Effect<R, C>>) -> usize {
        let affected = self.affected(strategy.scope, culprit, true);
        self.stop_in_line(&affected, effects);
        affected.len()
    }

    pub(super) fn send_to(&self, id: ChildId, message: SystemMessage<R, C>, effects: &mut Vec<Effect<R, C>>) {
        if let Some(child) = self.children.as_ref().and_then(|children| children.find(id)) {
            effects.push(Effect::Send(child.target.clone(), message));
        }
    }
}

/// Asks each affected child's statistics, or the supervisor's own, stopping at the first refusal.
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
    match strategy.count {
        Count::Supervisor => children.restarts.permit(&strategy.limit, now),
        Count::Child => affected.iter().all(|id| {
            children.find_mut(*id).is_none_or(|child| child.history_mut().restarts.permit(&strategy.limit, now))
        }),
    }
}
