//! Failures: the actor's own, and those of its children, which it decides.

use std::hash::Hash;

use super::{DeferredResume, Instance, Perpetrator, Phase, Protocol};
use crate::supervision::children::{ChildRecord, Deciding, Delayed, Report};
use crate::supervision::directive::{ChildInfo, Directive};
use crate::supervision::fields::Temporary;
use crate::supervision::schedule::Answer;
use crate::supervision::streak::Settings;
use crate::supervision::vocabulary::{Cause, ChildId, Effect, Note, Outcome, Returned, Ruling, SystemMessage};

/// A restart for an earlier failure that also answers another failure of the same child.
enum EarlierRestart {
    /// A restart of its group that has not reached it yet.
    OfGroup,
    /// A restart that waits for its delay, or for the supervisor's new instance.
    Scheduled(Delayed),
    /// A restart that was sent and has not replaced the failed instance.
    Sent,
}

impl<R: Hash + Eq + Clone, C: Cause> Protocol<R, C> {
    /// This actor failed: it suspends itself and its subtree, and reports.
    ///
    /// The perpetrator is already suspended by its own failure. Children with an id below `excluded_below` are still
    /// suspended from before the restart that failed now.
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
        let mut first = excluded_below;
        if let Perpetrator::Child(child) = perpetrator
            && let Some(resume) = self.take_deferred_resume()
        {
            first = resume.below;
            self.swap_perpetrators(resume, child, effects);
        }
        for (id, child) in self.children.iter().flat_map(|children| children.starting_at(first)) {
            if perpetrator != Perpetrator::Child(id) {
                effects.push(Effect::Send(child.target.clone(), SystemMessage::Suspend));
            }
        }
        effects.push(Effect::Report { cause, restarts: self.restarts, runs: self.runs });
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
        if cause.is_some() && self.instance == Instance::Live {
            self.runs = self.runs.wrapping_add(1);
        }
        let perpetrator = if cause.is_some() {
            if self.failed == Some(Perpetrator::Myself) {
                Self::note(effects, Note::Resumed);
            }
            self.failed.take()
        } else {
            None
        };
        let Some(children) = &self.children else { return };
        let mut resume = DeferredResume { passed_to: None, below: children.next_id() };
        if let Some(Perpetrator::Child(child)) = perpetrator {
            if let Some(fields) = &mut self.fields {
                fields.resumed(child);
            }
            // This answers the child's own failure. The others only count down.
            self.send_to(child, SystemMessage::Resume(cause), effects);
            resume.passed_to = Some(child);
        }
        // What can be decided now is decided first.
        match self.deferred.as_mut().filter(|deferred| !deferred.failures.is_empty()) {
            Some(deferred) => deferred.resume = Some(resume),
            None => self.resume_children(resume, effects),
        }
    }

    pub(super) fn resume_children(&self, resume: DeferredResume, effects: &mut Vec<Effect<R, C>>) {
        for (id, target) in self.children().take_while(|(id, _)| *id < resume.below) {
            if resume.passed_to != Some(id) {
                effects.push(Effect::Send(target.clone(), SystemMessage::Resume(None)));
            }
        }
    }

    /// This actor has been resumed and fails again, because of `child`, before it has resumed its children. Only the two children that
    /// made it fail notice that.
    fn swap_perpetrators(&self, resume: DeferredResume, child: ChildId, effects: &mut Vec<Effect<R, C>>) {
        if resume.passed_to == Some(child) {
            return;
        }
        if let Some(resumed) = resume.passed_to {
            self.send_to(resumed, SystemMessage::Suspend, effects);
        }
        self.send_to(child, SystemMessage::Resume(None), effects);
    }

    /// Rules 2.5 and 2.6.
    pub(super) fn child_failed(&mut self, report: Report<C>, effects: &mut Vec<Effect<R, C>>) {
        let child = report.child;
        if !self.is_stopping()
            && let Some(fields) = &mut self.fields
        {
            fields.failed(child);
        }
        let (stopping, now) = (self.is_stopping(), self.decides_now());
        let Some(children) = self.children.as_mut().filter(|it| !stopping && it.find(child).is_some()) else {
            return Self::note(effects, Note::ReportDropped(child, report.cause));
        };
        if now && children.deciding.is_none() {
            let Report { cause, restarts, runs, .. } = report;
            let initialization = cause.is_initialization();
            children.deciding = Some(Deciding { child, initialization, restarts, runs });
            effects.push(if self.ended_unexpectedly(child) {
                Effect::RestartEnded(child, cause)
            } else {
                Effect::Decide(child, cause)
            });
        } else {
            Self::note(effects, Note::ReportDeferred(child));
            self.deferred.get_or_insert_default().failures.push_back(report);
        }
    }

    /// Rules 3.5, 3.6 and 3.7.
    pub(super) fn decided(&mut self, cause: C, ruling: &Ruling<'_, C>, effects: &mut Vec<Effect<R, C>>) {
        debug_assert!(self.is_deciding(), "an answer without a question");
        let Some(report) = self.children.as_mut().and_then(|children| children.deciding.take()) else {
            return;
        };
        let child = report.child;
        if self.is_terminating() {
            return Self::note(effects, Note::ReportDropped(child, cause));
        }
        let directive = match &ruling.verdict {
            Ok(directive) => directive,
            Err(failure) => {
                Self::note(effects, Note::DeciderFailed { child, cause: failure.clone(), about: cause });
                return self.fail_with_child(child, failure.clone(), effects);
            }
        };
        // The note of the decision goes before its effects, so that a reader of the log sees the cause first.
        let said = effects.len();
        let heard = ruling.heard.then(|| cause.clone());
        let (outcome, unanswered) = self.answer(&report, cause, directive, ruling, effects);
        if ruling.heard {
            self.count_in_row(child, outcome, directive, ruling);
        }
        // Neither a resume nor a restart answers the failure: the performer records that, so it is noted even without a subscriber.
        if let Some(cause) = heard.or(unanswered) {
            effects.insert(said, Effect::Note(Note::Decided { child, cause, outcome }));
        }
    }

    /// Counts a failure for those who are told of it.
    ///
    /// Rule 10.6.
    fn count_in_row(&mut self, child: ChildId, outcome: Outcome, directive: &Directive, ruling: &Ruling<'_, C>) {
        if outcome == Outcome::AlreadyAnswered {
            return;
        }
        let Some(child) = self.child_mut(child) else { return };
        let history = child.history_mut();
        let delayed = match outcome {
            Outcome::Restarting { delay: Some(delay), .. } => Some((delay, history.backoff.count())),
            _ => None,
        };
        let strategy = ruling.strategy;
        let settings = Settings { strategy, backoff: directive.backoff().or(strategy.backoff) };
        history.streak.failed(settings, ruling.now, delayed);
    }

    /// Carries a directive out, and returns the outcome. Also returns the cause if no resume and no restart answers it.
    fn answer(
        &mut self,
        report: &Deciding,
        cause: C,
        directive: &Directive,
        ruling: &Ruling<'_, C>,
        effects: &mut Vec<Effect<R, C>>,
    ) -> (Outcome, Option<C>) {
        let child = report.child;
        if self.holds_up_construction(child) && !self.retries_start(child, directive, ruling.strategy) {
            self.fail_with_child(child, cause.clone(), effects);
            return (Outcome::Escalated, Some(cause));
        }
        if *directive != Directive::Escalate
            && let Some(outcome) = self.answer_otherwise(report, directive, effects)
        {
            return (outcome, (outcome != Outcome::AlreadyAnswered).then_some(cause));
        }
        match directive {
            Directive::Escalate => {
                self.fail_with_child(child, cause.clone(), effects);
                (Outcome::Escalated, Some(cause))
            }
            Directive::Resume => {
                if report.initialization {
                    self.resume_later(report, cause, ruling, effects);
                } else {
                    self.send_to(child, SystemMessage::Resume(Some(cause)), effects);
                }
                (Outcome::Resumed, None)
            }
            Directive::Restart | Directive::RestartAfter(_) | Directive::RestartOn(_) => {
                self.restart_children(report, cause, directive, ruling, effects)
            }
            Directive::Stop => {
                let children = self.stop_affected(child, ruling.strategy, effects);
                (Outcome::Stopped { children }, Some(cause))
            }
        }
    }

    /// Handles a directive that is not carried out, because an earlier restart or stop answers the failure, or because
    /// the child is temporary and never restarts.
    fn answer_otherwise(
        &mut self,
        report: &Deciding,
        directive: &Directive,
        effects: &mut Vec<Effect<R, C>>,
    ) -> Option<Outcome> {
        let child = report.child;
        if *directive != Directive::Stop
            && let Some(earlier) = self.earlier_restart(report)
        {
            self.join_earlier(child, earlier, effects);
            return Some(Outcome::AlreadyAnswered);
        }
        if let Some(fields) = self.fields.as_mut().filter(|fields| fields.is_temporary(child)) {
            let answer = Temporary::answer(directive, report.initialization);
            if answer != Temporary::Keep {
                fields.mark_given_up(child);
            }
            if answer == Temporary::Stop {
                self.stop_child(child, effects);
                return Some(Outcome::Stopped { children: 1 });
            }
        }
        self.is_dying(child).then_some(Outcome::AlreadyAnswered)
    }

    /// This actor fails because of a child. If it waits for the first start of that child, it fails to start.
    pub(super) fn fail_with_child(&mut self, child: ChildId, cause: C, effects: &mut Vec<Effect<R, C>>) {
        if self.holds_up_construction(child) {
            self.start_failed(Returned::Err(cause), effects);
        } else {
            self.fail(cause, Perpetrator::Child(child), ChildId(0), effects);
        }
    }

    pub(super) fn is_dying(&self, child: ChildId) -> bool {
        self.children.as_ref().and_then(|children| children.find(child)).is_some_and(ChildRecord::is_dying)
    }

    /// About the failure that is being decided: whether a restart for an earlier failure answers it, unless the child is stopped
    /// for it or this actor escalates it, and how many times its child has begun to run.
    ///
    /// Rule [7.10](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-7.10).
    pub fn deciding(&self) -> (bool, u8) {
        let report = self.children.as_ref().and_then(|children| children.deciding.as_ref());
        report.map_or((false, 0), |report| (self.earlier_restart(report).is_some(), report.runs))
    }

    /// What the decider is told about the child whose failure is being decided.
    pub(crate) fn about(&self, child: ChildId) -> Option<ChildInfo> {
        let (name, restarts) = self.child_info(child)?;
        let (is_answered, runs) = self.deciding();
        Some(ChildInfo { name, restarts, is_answered, runs })
    }

    /// The restart for an earlier failure that is about to replace the failed instance, if there is one.
    ///
    /// Rule 7.10.
    fn earlier_restart(&self, report: &Deciding) -> Option<EarlierRestart> {
        let id = report.child;
        if self.fields.as_ref().is_some_and(|fields| fields.awaits_group_restart(id)) {
            return Some(EarlierRestart::OfGroup);
        }
        let child = self.children.as_ref()?.find(id).filter(|child| !child.is_dying())?;
        match child.delayed() {
            Some(delayed) if delayed.answer == Answer::Restart => Some(EarlierRestart::Scheduled(delayed)),
            None if child.restarts_sent() != report.restarts => Some(EarlierRestart::Sent),
            Some(_) | None => None,
        }
    }

    /// Makes an earlier restart also undo the suspension of another failure.
    fn join_earlier(&mut self, id: ChildId, earlier: EarlierRestart, effects: &mut Vec<Effect<R, C>>) {
        match earlier {
            EarlierRestart::OfGroup => {
                if let Some(fields) = &mut self.fields {
                    fields.add_pending_resume(id);
                }
            }
            EarlierRestart::Scheduled(delayed) => {
                if let Some(child) = self.child_mut(id) {
                    let pending_resumes = delayed.pending_resumes + 1;
                    child.history_mut().delayed = Some(Delayed { pending_resumes, ..delayed });
                }
            }
            EarlierRestart::Sent => self.send_to(id, SystemMessage::Resume(None), effects),
        }
    }

    pub(super) fn send_to(&self, id: ChildId, message: SystemMessage<R, C>, effects: &mut Vec<Effect<R, C>>) {
        if let Some(child) = self.children.as_ref().and_then(|children| children.find(id)) {
            effects.push(Effect::Send(child.target.clone(), message));
        }
    }
}
