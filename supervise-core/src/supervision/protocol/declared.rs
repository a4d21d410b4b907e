//! How a protocol carries out the decisions of its [`Fields`] about declared children.
//!
//! Rules 14.2, 14.3, 14.4 and 14.5.

use std::hash::Hash;

use super::{Goal, Instance, Out, Pending, Phase, Protocol, Traits};
use crate::base::ActorName;
use crate::supervision::child_spec::ChildSpec;
use crate::supervision::children::{ChildRecord, Marked, Report};
use crate::supervision::directive::Directive;
use crate::supervision::fields::{Ended, Fields, NextStep, Preparation, Start, Stop};
use crate::supervision::settings::{AutoShutdown, Strategy};
use crate::supervision::vocabulary::{Cause, ChildId, Effect, Returned, SystemMessage};

impl<R: Hash + Eq + Clone, C: Cause> Protocol<R, C> {
    /// Sets the declared children of a new actor.
    #[must_use]
    pub fn with_fields(mut self, specs: &[ChildSpec], auto_shutdown: AutoShutdown) -> Self {
        if !specs.is_empty() {
            self.fields = Some(Box::new(Fields::new(specs, auto_shutdown)));
        }
        self
    }

    /// Makes a new actor a declared child. Its parent waits for its starts.
    #[must_use]
    pub fn as_field(mut self) -> Self {
        self.traits.0 |= Traits::REPORTS;
        self
    }

    /// Adds the child of a field, as [`Effect::StartChild`] asks. `make` gets its name, its id and the number of
    /// suspensions it inherits.
    pub fn spawn_field(&mut self, at: usize, make: impl FnOnce(&ActorName, ChildId, u32) -> R) -> Option<R> {
        let inherited = self.suspended;
        let field = self.fields.as_mut()?.at_mut(at)?;
        let children = self.children.get_or_insert_default();
        // A new incarnation continues the counts of the one that ended.
        let history = field.take_child().and_then(|ended| children.remove(ended)?.into_history());
        let (id, target) = children.add(field.name(), |id| make(field.name(), id, inherited))?;
        if let Some(child) = children.find_mut(id) {
            child.inherit(history);
        }
        field.put_child(id);
        Some(target)
    }

    /// The child of a field that an earlier instance declared.
    pub fn child_of_field(&self, at: usize) -> Option<&R> {
        let id = self.fields.as_ref()?.child_at(at)?;
        Some(&self.children.as_ref()?.find(id)?.target)
    }

    pub(super) fn field_of(&self, child: ChildId) -> Option<usize> {
        self.fields.as_ref()?.field_of(child)
    }

    pub(super) fn is_temporary(&self, child: ChildId) -> bool {
        self.fields.as_ref().is_some_and(|fields| fields.is_temporary(child))
    }

    // ---- a new instance ------------------------------------------------------------------------------------------

    /// The call that begins a new instance: `whole`, unless fields must start in between.
    pub(super) fn first_call(&mut self, whole: Out) -> Out {
        let Some(fields) = &mut self.fields else { return whole };
        for ended in fields.begin_instance() {
            if let Some(children) = &mut self.children {
                children.remove(ended);
            }
        }
        Out::Build
    }

    /// The field that the instance under construction declares next.
    pub(super) fn cursor(&self) -> Option<usize> {
        self.fields.as_ref()?.cursor()
    }

    /// The factory or the declaration of a field returned.
    pub(super) fn built(
        &mut self,
        declared_field: Option<usize>,
        returned: Returned<C>,
        effects: &mut Vec<Effect<R, C>>,
    ) {
        if !matches!(returned, Returned::Ok) {
            return self.start_failed(returned, effects);
        }
        if let (Some(at), Some(fields)) = (declared_field, &mut self.fields) {
            fields.declared(at);
        }
    }

    /// A step before `pre_start` failed. Stops the fields that have started.
    pub(super) fn start_failed(&mut self, returned: Returned<C>, effects: &mut Vec<Effect<R, C>>) {
        if let Some(fields) = &mut self.fields {
            fields.end_construction();
        }
        if matches!(self.phase, Phase::StartingNewInstance(_)) {
            self.restarted(returned, effects);
            self.stop_children_from(self.survivors_below(), effects);
        } else {
            self.created(returned, effects);
            self.stop_children(effects);
        }
    }

    /// A restart, or the first half of one, arrived while fields were starting: drops the instance for which they
    /// started.
    pub(super) fn abandon_start(&mut self, effects: &mut Vec<Effect<R, C>>) {
        if let Some(fields) = &mut self.fields
            && fields.end_construction().is_some()
        {
            effects.push(Effect::DropInstance);
            if matches!(self.phase, Phase::StartingNewInstance(_)) {
                self.release_survivors(effects);
            }
        }
    }

    /// Does the next step of the fields, if they may take one.
    pub(super) fn drive(&mut self, effects: &mut Vec<Effect<R, C>>) {
        let Some(fields) = &mut self.fields else { return };
        if self.pending.is_some()
            || !matches!(self.phase, Phase::Creating | Phase::Running | Phase::StartingNewInstance(_))
        {
            return;
        }
        let idle = self.out.is_none() && self.wanted.is_none();
        match fields.next_step() {
            NextStep::Prepare(at) => self.prepare_field(at, effects),
            NextStep::Start(at) => self.start_field(at, effects),
            NextStep::Declare if idle => self.wanted = Some(Out::Declare),
            NextStep::FinishInstance if idle => {
                fields.end_construction();
                let restarts = matches!(self.phase, Phase::StartingNewInstance(_));
                self.wanted = Some(if restarts { Out::StartNewInstance } else { Out::Create });
            }
            NextStep::Wait | NextStep::Declare | NextStep::FinishInstance => {}
        }
    }

    fn prepare_field(&mut self, at: usize, effects: &mut Vec<Effect<R, C>>) {
        match self.fields.as_mut().and_then(|fields| fields.prepare(at)) {
            Some(Preparation::Restart(child, cause)) => {
                self.send_to(child, SystemMessage::PrepareRestart(cause), effects);
            }
            Some(Preparation::Stop(child)) => {
                let children = self.children.as_mut();
                if children.is_some_and(|children| children.mark_dying(child) == Marked::Now) {
                    self.send_to(child, SystemMessage::Terminate, effects);
                }
            }
            None => {}
        }
    }

    pub(super) fn start_field(&mut self, at: usize, effects: &mut Vec<Effect<R, C>>) {
        match self.fields.as_mut().map(|fields| fields.start(at)) {
            Some(Start::New) => effects.push(Effect::StartChild(at)),
            Some(Start::Restart { child, cause, pending_resumes }) => {
                self.send_restart(child, cause, pending_resumes, false, effects);
            }
            Some(Start::NotYet) | None => {}
        }
    }

    // ---- what fields report --------------------------------------------------------------------------------------

    /// Whether this child could not start, and the instance under construction waits for it.
    pub(super) fn holds_up_construction(&self, child: ChildId) -> bool {
        self.fields.as_ref().is_some_and(|fields| fields.holds_up_construction(child))
    }

    /// Whether a declared child that could not start is tried again before this actor has started: if a delay is declared.
    ///
    /// Rule 14.1.
    pub(super) fn retries_start(&self, child: ChildId, directive: &Directive, strategy: &Strategy) -> bool {
        let delays = directive.has_backoff() || strategy.backoff.is_some();
        directive.restarts() && delays && !self.is_temporary(child)
    }

    /// Whether the report is that a permanent child ended by itself.
    pub(super) fn ended_unexpectedly(&self, child: ChildId) -> bool {
        self.fields.as_ref().is_some_and(|fields| fields.ended_unexpectedly(child))
    }

    /// The delay of a restart is over, but this actor's own restart will restart the child anyway.
    pub(super) fn leave_to_parent(&mut self, child: ChildId, schedule: u64) {
        let delayed = self.child_mut(child).and_then(|child| child.delayed());
        if let Some(fields) = &mut self.fields
            && delayed.is_some_and(|delayed| delayed.schedule == schedule)
        {
            fields.leave_to_parent(child, matches!(self.phase, Phase::StartingNewInstance(_)));
        }
    }

    /// A child ended. Returns what that means to the actor, after asking for the restart of a permanent child.
    pub(super) fn field_ended(&mut self, child: ChildId, effects: &mut Vec<Effect<R, C>>) -> Ended {
        let stopping = self.is_stopping();
        let Some(fields) = &mut self.fields else { return Ended::Finally };
        let asked = self.children.as_ref().and_then(|it| it.find(child)).is_some_and(ChildRecord::is_dying);
        let ended = fields.ended(child, asked, stopping);
        if ended == Ended::Unexpectedly {
            let restarts = self.child_mut(child).map_or(0, |child| child.restarts_sent());
            self.child_failed(Report { child, cause: C::end_of_permanent(), restarts, runs: 0 }, effects);
        }
        ended
    }

    /// Whether this actor stops because a significant child ended by itself.
    pub(super) fn shuts_down(&self) -> bool {
        let without_instance = matches!(self.phase, Phase::Running) && self.instance != Instance::Live;
        let makes_anew = without_instance || self.is_waiting() || self.restart_is_under_way();
        self.fields.as_ref().is_some_and(|fields| fields.shuts_down(makes_anew))
    }

    // ---- restarts ------------------------------------------------------------------------------------------------

    /// Restarts a child that survived this actor's restart, unless it never restarts.
    pub(super) fn restart_survivor(&mut self, child: ChildId, cause: &C, effects: &mut Vec<Effect<R, C>>) {
        let pending_resumes = self.take_pending_resumes(child);
        if self.is_temporary(child) {
            self.stop_child(child, effects);
        } else {
            self.restart_child(child, cause.clone(), pending_resumes + 1, false, effects);
        }
    }

    /// The first half of this actor's own restart.
    pub(super) fn prepare_restart(&mut self, cause: C, effects: &mut Vec<Effect<R, C>>) {
        if self.is_terminating() {
            return;
        }
        if self.out.is_some() || self.wanted.is_some() {
            self.pending.get_or_insert_with(|| Box::new(Pending::PrepareRestart(cause)));
            return self.arm_abort(effects);
        }
        self.abandon_start(effects);
        if self.instance == Instance::Live {
            self.phase = Phase::Restarting(Goal::PrepareRestart(cause));
            self.wanted = Some(Out::PreRestart);
        } else {
            let kept = if self.instance == Instance::None { ChildId(0) } else { self.survivors_below() };
            self.stop_children_from(kept, effects);
            self.phase = Phase::Waiting(Goal::PrepareRestart(cause));
            self.continue_after_children_ended(effects);
        }
    }

    /// The first half of the restart is done. The second half is a restart of an actor without an instance.
    pub(super) fn restart_prepared(&mut self, effects: &mut Vec<Effect<R, C>>) {
        self.mark_survivors();
        effects.push(Effect::TellRestartPrepared);
    }

    // ---- stops ---------------------------------------------------------------------------------------------------

    /// Requests the stop of these children. Fields stop one after another in reverse order, after all other children
    /// have ended.
    pub(super) fn stop_in_line(&mut self, children: &[ChildId], effects: &mut Vec<Effect<R, C>>) {
        let dying = self.children.as_ref().map_or(0, |all| all.dying());
        effects.reserve(children.len().saturating_sub(dying));
        for id in children.iter().rev() {
            if self.field_of(*id).is_none() {
                self.stop_child(*id, effects);
            } else if self.mark_stopping(*id) == Marked::Now
                && let Some(fields) = &mut self.fields
            {
                fields.wait_in_line(*id);
            }
        }
        if let Some(fields) = &mut self.fields {
            fields.sort_line();
        }
        self.advance_line(effects);
    }

    /// Marks a child as stopping. Returns whether its stop must be requested now.
    pub(crate) fn mark_stopping(&mut self, child: ChildId) -> Marked {
        let Some(children) = &mut self.children else { return Marked::NotNow };
        if let Some(fields) = &mut self.fields
            && let Some(at) = fields.field_of(child)
            && fields.mark_stopping(at) == Stop::Forget
        {
            children.remove(child);
            return Marked::NotNow;
        }
        children.mark_dying(child)
    }

    /// Requests the stop of the next field in line, if its turn has come.
    pub(super) fn advance_line(&mut self, effects: &mut Vec<Effect<R, C>>) {
        let (Some(fields), Some(children)) = (&mut self.fields, &self.children) else { return };
        if let Some(next) = fields.next_in_line(children.dying()) {
            self.send_to(next, SystemMessage::Terminate, effects);
        }
    }
}
