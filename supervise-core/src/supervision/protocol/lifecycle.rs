//! The life of the instance: creation, restart, stop.

use std::hash::Hash;

use super::{Aborted, Goal, Instance, Out, Pending, Perpetrator, Phase, Protocol, Traits};
use crate::supervision::children::Report;
use crate::supervision::fields;
use crate::supervision::vocabulary::{
    Cause, ChildId, Effect, Hook, HowEnded, Note, Returned, SystemMessage, Timer,
};

impl<R: Hash + Eq + Clone, C: Cause> Protocol<R, C> {
    fn create_now(&mut self) {
        self.phase = Phase::Creating;
        self.aborted = Aborted::Never;
        self.wanted = Some(self.first_call(Out::Create));
    }

    /// Creation failed and is tried again after the children of the failed attempt have ended.
    ///
    /// Rule 5.2.
    pub(super) fn create_again(&mut self, effects: &mut Vec<Effect<R, C>>) {
        self.stop_children(effects);
        self.phase = Phase::Waiting(Goal::Create);
        self.continue_after_children_ended(effects);
    }

    /// Rules 4.1, 4.2 and 4.6.
    pub(super) fn restart(&mut self, cause: C, effects: &mut Vec<Effect<R, C>>) {
        if self.out.is_some() || self.wanted.is_some() {
            self.pending.get_or_insert_with(|| Box::new(Pending::Restart(cause)));
            return self.arm_abort(effects);
        }
        debug_assert!(self.suspended > 0, "a restart answers a suspension");
        self.restarts = self.restarts.wrapping_add(1);
        self.begin_restart(cause, effects);
    }

    /// The current restart or stop answers another restart.
    ///
    /// Rule 7.10.
    pub(super) fn join_restart(&mut self, effects: &mut Vec<Effect<R, C>>) {
        self.restarts = self.restarts.wrapping_add(1);
        self.resume(None, effects);
    }

    /// Begins a restart: later failures do not belong to the instance that is replaced.
    pub(super) fn begin_restart(&mut self, cause: C, effects: &mut Vec<Effect<R, C>>) {
        self.abandon_start(effects);
        match self.instance {
            Instance::None => {
                Self::note(effects, Note::TurnedIntoCreate);
                self.create_again(effects);
            }
            Instance::Live => {
                self.phase = Phase::Restarting(Goal::StartNewInstance(cause));
                if self.skips_last_hook() {
                    self.pre_restarted(Returned::Ok, effects);
                } else {
                    self.wanted = Some(Out::PreRestart);
                }
            }
            Instance::HalfBuilt => {
                self.stop_children_from(self.survivors_below(), effects);
                self.phase = Phase::Waiting(Goal::StartNewInstance(cause));
                self.continue_after_children_ended(effects);
            }
        }
    }

    pub(super) fn stop_children_from(&mut self, first: ChildId, effects: &mut Vec<Effect<R, C>>) {
        let young: Vec<ChildId> = self.children().map(|(id, _)| id).filter(|id| *id >= first).collect();
        if let (Some(watch), Some(children)) = (&mut self.watch, &self.children) {
            for child in young.iter().rev().filter_map(|id| children.find(*id)) {
                effects.extend(watch.unwatch(&child.target).map(Effect::Unwatch));
            }
        }
        self.stop_in_line(&young, effects);
    }

    /// In Waiting: continues when every child whose stop was requested has ended.
    pub(super) fn continue_after_children_ended(&mut self, effects: &mut Vec<Effect<R, C>>) {
        if self.children.as_ref().is_some_and(|children| !children.none_dying()) {
            return;
        }
        let Phase::Waiting(goal) = std::mem::replace(&mut self.phase, Phase::Running) else {
            return;
        };
        match goal {
            Goal::PrepareRestart(_) => self.restart_prepared(effects),
            Goal::Create => {
                self.answer_suspension(effects);
                self.create_now();
            }
            Goal::StartNewInstance(cause) => {
                self.answer_suspension(effects);
                self.mark_survivors();
                self.phase = Phase::StartingNewInstance(cause);
                self.aborted = Aborted::Never;
                self.wanted = Some(self.first_call(Out::StartNewInstance));
            }
        }
    }

    /// Undoes the suspension that the new instance answers. This happens before user code runs again, so that a failure
    /// of that code is a new one.
    fn answer_suspension(&mut self, effects: &mut Vec<Effect<R, C>>) {
        self.suspended = self.suspended.saturating_sub(1);
        self.failed = None;
        if std::mem::take(&mut self.tells_replaced) {
            effects.push(Effect::TellReplaced);
        }
    }

    pub(super) fn parked(&mut self, effects: &mut Vec<Effect<R, C>>) {
        let out = *self.out.get_or_insert(Out::Handler);
        if matches!(out, Out::PreRestart | Out::PostStop) || self.pending.is_some() {
            self.arm_abort(effects);
        }
    }

    /// Rule 6.1.
    pub(super) fn arm_abort(&mut self, effects: &mut Vec<Effect<R, C>>) {
        if !self.armed && self.out.is_some() {
            self.armed = true;
            effects.push(Effect::Arm(Timer::Abort, None));
        }
    }

    pub(super) fn abort_due(&mut self, effects: &mut Vec<Effect<R, C>>) {
        if self.armed && self.out.is_some() {
            self.armed = false;
            Self::note(effects, Note::Aborted);
            effects.push(Effect::Abort);
        }
    }

    pub(super) fn returned(&mut self, returned: Returned<C>, effects: &mut Vec<Effect<R, C>>) {
        if self.armed {
            self.armed = false;
            effects.push(Effect::Disarm(Timer::Abort));
        }
        if matches!(returned, Returned::Aborted) {
            self.aborted = if self.is_stopping() { Aborted::ByStop } else { Aborted::Before };
        }
        match self.out.take() {
            None | Some(Out::Handler) => {
                if let Returned::Err(cause) = returned {
                    self.fail(cause, Perpetrator::Myself, ChildId(0), effects);
                }
            }
            Some(Out::Build) => self.built(None, returned, effects),
            Some(Out::Declare) => self.built(self.cursor(), returned, effects),
            Some(Out::Create) => self.created(returned, effects),
            Some(Out::PreRestart) => self.pre_restarted(returned, effects),
            Some(Out::StartNewInstance) => self.restarted(returned, effects),
            Some(Out::PostStop) => {
                if let Returned::Err(cause) = returned {
                    Self::note(effects, Note::HookFailed(Hook::PostStop, cause));
                }
                self.end(effects);
            }
        }
    }

    pub(super) fn created(&mut self, returned: Returned<C>, effects: &mut Vec<Effect<R, C>>) {
        self.phase = Phase::Running;
        match returned {
            Returned::Ok => {
                self.instance = Instance::Live;
                self.runs = self.runs.wrapping_add(1);
                Self::note(effects, Note::Started { again: self.restarts > 0 });
                self.tell_started(effects);
            }
            Returned::Err(cause) => {
                effects.push(Effect::DropInstance);
                self.fail(cause.at_initialization(), Perpetrator::Myself, ChildId(0), effects);
            }
            Returned::Aborted => effects.push(Effect::DropInstance),
        }
    }

    /// Rule 4.5.
    fn pre_restarted(&mut self, returned: Returned<C>, effects: &mut Vec<Effect<R, C>>) {
        if let Returned::Err(cause) = returned {
            Self::note(effects, Note::HookFailed(Hook::PreRestart, cause));
        }
        // The old instance is dropped before the actor waits for the children, so that its ports and files become free.
        effects.push(Effect::DropInstance);
        self.instance = Instance::HalfBuilt;
        if let Phase::Restarting(goal) = std::mem::replace(&mut self.phase, Phase::Running) {
            self.phase = Phase::Waiting(goal);
            if !self.stop_is_pending() {
                self.continue_after_children_ended(effects);
            }
        }
    }

    pub(super) fn restarted(&mut self, returned: Returned<C>, effects: &mut Vec<Effect<R, C>>) {
        let Phase::StartingNewInstance(cause) = std::mem::replace(&mut self.phase, Phase::Running) else {
            return;
        };
        match returned {
            Returned::Ok => {
                self.instance = Instance::Live;
                self.runs = self.runs.wrapping_add(1);
                let said = effects.len();
                self.tell_started(effects);
                self.restart_survivors(&cause, effects);
                effects.insert(said, Effect::Note(Note::Restarted(cause)));
            }
            Returned::Err(failure) => {
                effects.push(Effect::DropInstance);
                self.fail(failure.at_restart(cause), Perpetrator::Myself, self.survivors_below(), effects);
            }
            Returned::Aborted => {
                effects.push(Effect::DropInstance);
                if self.restart_is_pending() {
                    self.release_survivors(effects);
                }
            }
        }
    }

    /// The next restart replaces this one, and undoes only its own suspension of each survivor. So the suspension by
    /// this restart is undone now.
    pub(super) fn release_survivors(&self, effects: &mut Vec<Effect<R, C>>) {
        for (_, target) in self.children().filter(|(id, _)| *id < self.survivors_below()) {
            effects.push(Effect::Send(target.clone(), SystemMessage::Resume(None)));
        }
    }

    /// Restarts the children that survived the restart, which have been suspended since, without waiting for them.
    fn restart_survivors(&mut self, cause: &C, effects: &mut Vec<Effect<R, C>>) {
        let Some(children) = &self.children else {
            return;
        };
        for id in children.survivors() {
            self.restart_survivor(id, cause, effects);
        }
    }

    fn tell_started(&self, effects: &mut Vec<Effect<R, C>>) {
        if self.traits.has(Traits::REPORTS) {
            effects.push(Effect::TellStarted);
        }
    }

    pub(super) fn terminate(&mut self, effects: &mut Vec<Effect<R, C>>) {
        if self.is_stopping() {
            return;
        }
        effects.push(Effect::AnnounceStop);
        if self.out.is_some() {
            self.pending = Some(Box::new(Pending::Terminate));
            self.arm_abort(effects);
        } else {
            self.begin_terminate(effects);
        }
    }

    /// Rules 6.2 and 8.5.
    pub(super) fn begin_terminate(&mut self, effects: &mut Vec<Effect<R, C>>) {
        self.wanted = None;
        self.pending = None;
        if let Some(deferred) = self.deferred.take() {
            for Report { child, cause, .. } in deferred.failures {
                Self::note(effects, Note::ReportDropped(child, cause));
            }
        }
        if let Some(watch) = &mut self.watch {
            effects.extend(watch.unwatch_all().map(Effect::Unwatch));
        }
        self.phase = Phase::Terminating;
        let ids: Vec<ChildId> = self.children().map(|(id, _)| id).collect();
        self.stop_in_line(&ids, effects);
        self.finish_without_children(effects);
    }

    /// In Terminating: continues when all children have ended.
    fn finish_without_children(&mut self, effects: &mut Vec<Effect<R, C>>) {
        if self.children.as_ref().is_some_and(|children| !children.is_empty()) {
            return;
        }
        if self.instance == Instance::Live && !self.skips_last_hook() {
            self.phase = Phase::Stopping;
            self.wanted = Some(Out::PostStop);
        } else {
            self.end(effects);
        }
    }

    /// Rules 6.3 and 6.4.
    fn end(&mut self, effects: &mut Vec<Effect<R, C>>) {
        self.phase = Phase::Ended;
        self.instance = Instance::None;
        let how = if self.aborted == Aborted::ByStop { HowEnded::Aborted } else { HowEnded::Graceful };
        effects.push(Effect::DropInstance);
        effects.push(Effect::CloseUserLane);
        Self::note(effects, Note::Stopped(how));
        effects.push(Effect::TellParent(how));
        if let Some(watch) = &mut self.watch {
            effects.extend(watch.take_watchers().map(|watcher| Effect::TellWatcher(watcher, how)));
        }
        effects.push(Effect::CloseSystemLane);
    }

    /// Rule 8.2.
    pub(super) fn ended(
        &mut self,
        subject: &R,
        child: Option<ChildId>,
        how: HowEnded,
        effects: &mut Vec<Effect<R, C>>,
    ) {
        if let Some(watch) = &mut self.watch
            && let Some(watched) = watch.ended(subject, how)
        {
            effects.push(Effect::Enqueue(watched.clone()));
            if how == HowEnded::TooManyWatches {
                // The refusal may be about an earlier watch, and the subject may know of a later one.
                effects.push(Effect::Unwatch(watched));
            }
        }
        let Some(id) = child else { return };
        let ended = self.field_ended(id, effects);
        if ended == fields::Ended::Unexpectedly {
            return;
        }
        let shuts_down = ended == fields::Ended::Significant && self.shuts_down();
        if let Some(children) = &mut self.children {
            children.remove(id);
        }
        self.advance_line(effects);
        if shuts_down && !self.is_stopping() {
            effects.push(Effect::EndsByItself);
            return self.terminate(effects);
        }
        match self.phase {
            Phase::Waiting(_) if !self.stop_is_pending() => {
                self.continue_after_children_ended(effects);
            }
            Phase::Terminating => self.finish_without_children(effects),
            _ => {}
        }
    }
}
