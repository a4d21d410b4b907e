//! The instances of a model: how one fails, is replaced, ends.

use std::collections::BTreeSet;

use supervise_core::supervision::{Call, Cause, ChildId, Effect, HowEnded, Returned, SystemMessage, Timer};

use super::{Code, Culprit, Instance, Model, Patience, Stage};
use crate::fault::Fault;

impl Model {
    pub(super) fn fail(&mut self, cause: Fault, culprit: Culprit, spared: &BTreeSet<ChildId>) {
        self.suspended += 1;
        self.failed_by.get_or_insert(culprit);
        // Children that have not been resumed since the last failure stay suspended for this one.
        let unresumed =
            if culprit == Culprit::Itself { BTreeSet::new() } else { std::mem::take(&mut self.unresumed) };
        let children: Vec<_> = self.children.iter().map(|(id, child)| (*id, child.actor)).collect();
        for (id, child) in children {
            match (Culprit::Child(child) == culprit, unresumed.contains(&id)) {
                (true, true) => self.send(child, SystemMessage::Resume(None)),
                (false, false) if !spared.contains(&id) => self.send(child, SystemMessage::Suspend),
                _ => {}
            }
        }
        self.does.push(Effect::Report { cause, restarts: self.restarts_begun, runs: self.runs });
    }

    pub(super) fn resume(&mut self, cause: Fault) {
        match self.instance {
            // There is no instance to resume, so a new one is made, unless that is already under way.
            Instance::Never | Instance::Broken
                if self.code.is_none() && !self.fields.are_declared() && self.stage == Stage::Living =>
            {
                self.begin_restart(cause);
            }
            _ => {
                self.suspended = self.suspended.saturating_sub(1);
                self.runs = self.runs.wrapping_add(u8::from(self.instance == Instance::Ready));
                let culprit = self.failed_by.take();
                self.will_resume_all();
                let children: Vec<_> = self.children.iter().map(|(id, child)| (*id, child.actor)).collect();
                for (id, child) in children {
                    if culprit == Some(Culprit::Child(child)) {
                        self.unresumed.remove(&id);
                        self.fields.renew(id);
                        self.send(child, SystemMessage::Resume(Some(cause)));
                    }
                }
            }
        }
    }

    /// The children are resumed after the failures that have been waiting are decided.
    pub(super) fn will_resume_all(&mut self) {
        debug_assert!(self.unresumed.is_empty(), "one resume at a time");
        self.unresumed = self.children.keys().copied().collect();
    }

    pub(super) fn resume_all(&mut self) {
        for id in std::mem::take(&mut self.unresumed) {
            if let Some(actor) = self.children.get(&id).map(|child| child.actor) {
                self.send(actor, SystemMessage::Resume(None));
            }
        }
    }

    pub(super) fn begin_restart(&mut self, cause: Fault) {
        let stage = if self.instance == Instance::Never { Stage::Creating } else { Stage::Restarting(cause) };
        self.leave_instance(cause, stage);
    }

    /// The first half of a restart.
    pub(super) fn prepare_restart(&mut self, cause: Fault) {
        self.leave_instance(cause, Stage::Preparing);
    }

    fn leave_instance(&mut self, cause: Fault, next: Stage) {
        self.forget_declarations();
        self.stage = next;
        match self.instance {
            Instance::Ready if self.skips_last_hook() && self.stage != Stage::Preparing => self.leave(),
            Instance::Ready => {
                let own = self.failed_by == Some(Culprit::Itself);
                self.call(Call::PreRestart { cause, own, aborted: self.was_aborted });
            }
            Instance::Never => {
                self.stop_unwatched(|_| true);
                self.go_on();
            }
            Instance::Broken => {
                let survivors = self.survivors.clone();
                self.stop_unwatched(|child| !survivors.contains(&child));
                self.go_on();
            }
        }
    }

    fn skips_last_hook(&self) -> bool {
        !self.has_last_hook && self.children.is_empty()
    }

    /// The instance that is replaced goes.
    fn leave(&mut self) {
        self.does.push(Effect::DropInstance);
        self.instance = Instance::Broken;
        self.go_on();
    }

    pub(super) fn terminate(&mut self) {
        if !self.ends() {
            self.stage = Stage::Ending;
            // Inputs that waited for the end of a restart are handled now.
            self.queue.clear();
            for subject in self.watched().copied().collect::<Vec<_>>() {
                self.stop_watching(subject);
            }
            self.stop_group(&self.children.keys().copied().collect::<Vec<_>>());
            self.go_on();
        }
    }

    /// Children have ended, or none had to.
    pub(super) fn go_on(&mut self) {
        if self.code.is_some() || (self.told_to_stop && !self.ends()) {
            return;
        }
        match self.stage.clone() {
            Stage::Creating if self.children.is_empty() => self.make(Call::Create),
            Stage::Restarting(cause) if self.children.values().all(|child| !child.asked_to_stop) => {
                self.make(Call::StartNewInstance(cause));
            }
            Stage::Preparing if self.children.values().all(|child| !child.asked_to_stop) => {
                self.stage = Stage::Living;
                self.survivors = self.children.keys().copied().collect();
                self.does.push(Effect::TellRestartPrepared);
            }
            Stage::Ending if self.children.is_empty() => {
                if self.instance == Instance::Ready && !self.skips_last_hook() {
                    self.call(Call::PostStop { aborted: self.was_aborted });
                } else {
                    self.end();
                }
            }
            _ => {}
        }
    }

    fn make(&mut self, call: Call<Fault>) {
        self.suspended -= 1;
        self.failed_by = None;
        if std::mem::take(&mut self.says_when_replaced) {
            self.does.push(Effect::TellReplaced);
        }
        self.stage = Stage::Living;
        self.survivors = self.children.keys().copied().collect();
        self.instance(call);
    }

    fn end(&mut self) {
        self.stage = Stage::Ended;
        let how = if self.ends_aborted { HowEnded::Aborted } else { HowEnded::Graceful };
        self.does.extend([Effect::DropInstance, Effect::CloseUserLane, Effect::TellParent(how)]);
        for watcher in std::mem::take(&mut self.watchers) {
            self.does.push(Effect::TellWatcher(watcher, how));
        }
        self.does.push(Effect::CloseSystemLane);
    }

    pub(super) fn call(&mut self, call: Call<Fault>) {
        self.code = Some(Code::Hook(call.clone()));
        self.does.push(Effect::Call(call));
    }

    pub(super) fn returned(&mut self, returned: &Returned<Fault>) {
        let code = self.code.take().unwrap_or(Code::Handler);
        self.parked = false;
        if std::mem::replace(&mut self.limit, Patience::Endless) == Patience::Bounded {
            self.does.push(Effect::Disarm(Timer::Abort));
        }
        if *returned == Returned::Aborted {
            self.was_aborted = true;
            self.ends_aborted |= self.is_stopping();
        }
        match (code, returned) {
            (Code::Handler, Returned::Err(cause)) => self.fail(*cause, Culprit::Itself, &BTreeSet::new()),
            (Code::Handler, _) | (Code::Hook(Call::Build), Returned::Ok) => {}
            (Code::Hook(Call::Create), Returned::Ok) => self.is_ready(),
            (Code::Hook(hook @ (Call::Create | Call::StartNewInstance(_))), Returned::Err(cause)) => {
                self.did_not_start(&hook, *cause);
            }
            (Code::Hook(Call::Create), Returned::Aborted) => self.does.push(Effect::DropInstance),
            (Code::Hook(Call::PreRestart { .. }), _) => self.leave(),
            (Code::Hook(Call::StartNewInstance(cause)), Returned::Ok) => {
                self.is_ready();
                for id in self.survivors.clone() {
                    self.restart_survivor(id, cause);
                }
            }
            (Code::Hook(Call::StartNewInstance(_)), Returned::Aborted) => {
                self.does.push(Effect::DropInstance);
                self.instance = Instance::Broken;
                // The next restart brings a suspension of its own and answers that one. So the suspension of this
                // restart is answered now.
                if !self.is_stopping() {
                    self.release_survivors();
                }
            }
            (Code::Hook(Call::PostStop { .. }), _) => self.end(),
            (Code::Hook(Call::Declare(at)), Returned::Ok) => self.fields.declared(at),
            (Code::Hook(Call::Build | Call::Declare(_)), Returned::Err(cause)) => self.field_did_not_start(*cause),
            (Code::Hook(Call::Build | Call::Declare(_)), Returned::Aborted) => unreachable!("neither can wait"),
        }
    }

    fn is_ready(&mut self) {
        self.instance = Instance::Ready;
        self.runs = self.runs.wrapping_add(1);
        self.was_aborted = false;
        if self.is_field {
            self.does.push(Effect::TellStarted);
        }
    }

    pub(super) fn did_not_start(&mut self, hook: &Call<Fault>, cause: Fault) {
        self.does.push(Effect::DropInstance);
        if let Call::StartNewInstance(original) = hook {
            self.instance = Instance::Broken;
            let survivors = self.survivors.clone();
            self.fail(cause.at_restart(*original), Culprit::Itself, &survivors);
        } else {
            self.fail(cause.at_initialization(), Culprit::Itself, &BTreeSet::new());
        }
    }

    pub(super) fn release_survivors(&mut self) {
        let survivors = self.children.iter().filter(|(id, _)| self.survivors.contains(id));
        for survivor in survivors.map(|(_, child)| child.actor).collect::<Vec<_>>() {
            self.send(survivor, SystemMessage::Resume(None));
        }
    }
}
