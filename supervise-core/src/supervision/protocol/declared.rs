//! Declared children: those that an actor's type names as fields. They start, restart and stop one after another,
//! each step awaited, where other children are merely told.
//!
//! ```text
//!                 the instance declares it                Started
//!     Down ─────────────► Due ─────────────► Starting ─────────────────────► Up ───► Ending ───► Down
//!                          ▲                  ▲     │ Failed                 │
//!     EndedUnexpectedly ───┘                  │     ▼            its group   │
//!      ▲   granted, or resumed                └── Prepared ◄── Preparing ◄── ToRestart
//!      └───── a permanent child ended by itself
//! ```
//!
//! One rule moves the fields, [`drive`](Protocol::drive): while one is on its way, wait; else prepare the last that is
//! to restart; else start the first that is down and may start; else let the instance go on. A first start, a group
//! restart, and the retry of a start that failed in one are all this rule.
//!
//! 1. At most one field is `Preparing` or `Starting` by the rule.
//! 2. `pending_resumes` is how many suspensions the restart of a child that is `ToRestart` or `Prepared` has to undo. Zero: no
//!    restart was granted.
//! 3. A child in `line` is dying, and its stop request is sent when all that were asked before it are gone.
//! 4. The name of a field is taken whether or not its child is there.
//!
//! Rules 14.2, 14.3, 14.4 and 14.5.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::hash::Hash;

use super::{Goal, Instance, Out, Pending, Phase, Protocol};
use crate::base::ActorName;
use crate::supervision::child_spec::{ChildSpec, RestartType};
use crate::supervision::children::{Affected, ChildRecord, Report};
use crate::supervision::directive::Directive;
use crate::supervision::strategy::{AutoShutdown, Scope, Strategy};
use crate::supervision::vocabulary::{Cause, ChildId, Effect, Returned, SystemMessage};

/// The fields of one actor.
#[derive(Debug, Clone, Hash)]
pub(super) struct Declared<C> {
    fields: Vec<Field>,
    auto_shutdown: AutoShutdown,
    /// The field that the instance under construction declares next.
    cursor: Option<usize>,
    /// Why those that are `ToRestart`, `Preparing` or `Prepared` restart.
    cause: Option<C>,
    /// Invariant 3.
    line: VecDeque<ChildId>,
}

#[derive(Debug, Clone, Hash)]
struct Field {
    name: ActorName,
    spec: ChildSpec,
    /// The child in the table; where the field is `EndedUnexpectedly` or `Due` for a new incarnation, the one that ended.
    child: Option<ChildId>,
    state: State,
    /// Invariant 2.
    pending_resumes: u32,
    /// Preparations that the child has not reported. One from before a restart of the parent may be on its way still.
    preparations: u32,
    /// A temporary child failed, and ends for that reason rather than its supervisor's.
    gives_up: bool,
}

/// What follows from the end of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum AfterEnd {
    /// It stays in the table until it is decided what comes of it.
    Decide,
    /// Its parent goes on without it.
    GoOn,
    /// Its parent ends too.
    ShutDown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum State {
    /// No child: not started yet, or ended for good.
    Down,
    /// No child, until its turn comes.
    Due,
    /// Ended by itself, and nobody has decided yet.
    EndedUnexpectedly,
    Starting,
    Up,
    /// Its stop was requested.
    Ending,
    /// Up or starting, and to be prepared for its restart when its turn comes.
    ToRestart,
    Preparing,
    /// Without an instance, suspended.
    Prepared,
}

impl<R: Hash + Eq + Clone, C: Cause> Protocol<R, C> {
    /// Gives a new actor its declared children.
    #[must_use]
    pub fn with_fields(mut self, specs: &[ChildSpec], auto_shutdown: AutoShutdown) -> Self {
        if !specs.is_empty() {
            let fields = specs.iter().map(Field::new).collect();
            self.declared = Some(Box::new(Declared {
                fields,
                auto_shutdown,
                cursor: None,
                cause: None,
                line: VecDeque::new(),
            }));
        }
        self
    }

    /// Makes a new actor a declared child, whose parent waits for its starts.
    #[must_use]
    pub fn as_field(mut self) -> Self {
        self.reports = true;
        self
    }

    /// Adds the child of a field, as [`Effect::StartChild`] asks. `make` gets its name, its id and the number of
    /// suspensions it inherits.
    pub fn spawn_field(&mut self, at: usize, make: impl FnOnce(&ActorName, ChildId, u32) -> R) -> Option<R> {
        let inherited = self.suspended;
        let field = self.declared.as_mut()?.fields.get_mut(at)?;
        let children = self.children.get_or_insert_default();
        // A new incarnation goes on with the count of the one that ended.
        let history = field.child.take().and_then(|ended| children.remove(ended)?.into_history());
        let (id, target) = children.add(&field.name, |id| make(&field.name, id, inherited))?;
        if let Some(child) = children.find_mut(id) {
            child.inherit(history);
        }
        field.child = Some(id);
        field.preparations = 0;
        Some(target)
    }

    /// The child of a field that a former instance declared.
    pub fn child_of_field(&self, at: usize) -> Option<&R> {
        let id = self.declared.as_ref()?.fields.get(at)?.child?;
        Some(&self.children.as_ref()?.find(id)?.target)
    }

    fn field_of(&self, child: ChildId) -> Option<usize> {
        self.declared.as_ref()?.fields.iter().position(|field| field.child == Some(child))
    }

    fn field_mut(&mut self, child: ChildId) -> Option<&mut Field> {
        self.declared.as_mut()?.fields.iter_mut().find(|field| field.child == Some(child))
    }

    /// Invariant 4.
    pub(super) fn belongs_to_a_field(&self, name: &str) -> bool {
        self.declared.iter().any(|declared| declared.fields.iter().any(|field| *field.name == *name))
    }

    // ---- a new instance ------------------------------------------------------------------------------------------

    /// The call that begins a new instance: `whole`, unless fields have to start in between.
    pub(super) fn first_call(&mut self, whole: Out) -> Out {
        let Some(declared) = &mut self.declared else { return whole };
        declared.cursor = Some(0);
        for field in &mut declared.fields {
            match field.state {
                // Whatever was going on with survivors, the restart of this actor answers it.
                State::Starting | State::ToRestart | State::Preparing | State::Prepared => field.state = State::Up,
                State::Due | State::EndedUnexpectedly => {
                    if let (Some(ended), Some(children)) = (field.child, &mut self.children) {
                        children.remove(ended);
                    }
                    field.down();
                }
                State::Down | State::Up | State::Ending => {}
            }
        }
        Out::Build
    }

    /// The field that the instance under construction declares next.
    pub(super) fn cursor(&self) -> Option<usize> {
        self.declared.as_ref()?.cursor
    }

    /// The factory, or the declaration of a field, came back.
    pub(super) fn built(
        &mut self,
        declared_field: Option<usize>,
        returned: Returned<C>,
        effects: &mut Vec<Effect<R, C>>,
    ) {
        if !matches!(returned, Returned::Ok) {
            return self.start_failed(returned, effects);
        }
        if let (Some(at), Some(declared)) = (declared_field, &mut self.declared)
            && let Some(field) = declared.fields.get_mut(at)
        {
            declared.cursor = Some(at + 1);
            // Otherwise it survived the restart.
            if field.state == State::Down {
                field.state = State::Due;
            }
        }
    }

    /// Something on the way to `pre_start` failed. The fields that have started are stopped.
    pub(super) fn start_failed(&mut self, returned: Returned<C>, effects: &mut Vec<Effect<R, C>>) {
        if let Some(declared) = &mut self.declared {
            declared.cursor = None;
        }
        if matches!(self.phase, Phase::StartingNewInstance(_)) {
            self.restarted(returned, effects);
            self.stop_children_from(self.survivors_below(), effects);
        } else {
            self.created(returned, effects);
            self.stop_children(effects);
        }
    }

    /// A restart, or the first half of one, came while fields were starting: the instance they started for goes.
    pub(super) fn abandon_start(&mut self, effects: &mut Vec<Effect<R, C>>) {
        if let Some(declared) = &mut self.declared
            && declared.cursor.take().is_some()
        {
            effects.push(Effect::DropInstance);
            if matches!(self.phase, Phase::StartingNewInstance(_)) {
                self.release_survivors(effects);
            }
        }
    }

    /// The one rule.
    pub(super) fn drive(&mut self, effects: &mut Vec<Effect<R, C>>) {
        let Some(declared) = &mut self.declared else { return };
        if self.pending.is_some()
            || !matches!(self.phase, Phase::Creating | Phase::Running | Phase::StartingNewInstance(_))
        {
            return;
        }
        let fields = &declared.fields;
        if fields.iter().any(|field| matches!(field.state, State::Preparing | State::Starting)) {
            return;
        }
        let down = |field: &Field| matches!(field.state, State::Due | State::EndedUnexpectedly | State::Prepared);
        if let Some(at) = fields.iter().rposition(|field| field.state == State::ToRestart) {
            self.prepare_field(at, effects);
        } else if let Some(at) = fields.iter().position(down) {
            self.start_field(at, effects);
        } else if let Some(cursor) = declared.cursor
            && self.out.is_none()
            && self.wanted.is_none()
        {
            if cursor < fields.len() {
                self.wanted = Some(Out::Declare);
                return;
            }
            declared.cursor = None;
            self.wanted = Some(if matches!(self.phase, Phase::StartingNewInstance(_)) {
                Out::StartNewInstance
            } else {
                Out::Create
            });
        }
    }

    fn prepare_field(&mut self, at: usize, effects: &mut Vec<Effect<R, C>>) {
        let Some(declared) = &mut self.declared else { return };
        let (cause, field) = (declared.cause.clone(), &mut declared.fields[at]);
        let (Some(id), Some(cause)) = (field.child, cause) else { return };
        if field.spec.restart == RestartType::Temporary {
            field.pending_resumes = 0;
            self.stop_child(id, effects);
        } else {
            field.preparations += 1;
            self.send_to(id, SystemMessage::PrepareRestart(cause), effects);
        }
        if let Some(field) = self.field_mut(id) {
            field.state = State::Preparing;
        }
    }

    fn start_field(&mut self, at: usize, effects: &mut Vec<Effect<R, C>>) {
        let Some(declared) = &mut self.declared else { return };
        let field = &mut declared.fields[at];
        if field.state == State::Due {
            field.state = State::Starting;
            field.gives_up = false;
            effects.push(Effect::StartChild(at));
        } else if let (State::Prepared, 1.., Some(id), Some(cause)) =
            (field.state, field.pending_resumes, field.child, &declared.cause)
        {
            field.state = State::Starting;
            let (pending_resumes, cause) = (std::mem::take(&mut field.pending_resumes), cause.clone());
            self.send_restart(id, cause, pending_resumes, false, effects);
        }
    }

    // ---- what fields say -----------------------------------------------------------------------------------------

    pub(super) fn field_started(&mut self, child: ChildId) {
        let Some(field) = self.field_mut(child) else { return };
        field.state = match field.state {
            State::Starting => State::Up,
            State::Prepared if field.pending_resumes == 0 => State::Up,
            // A resume from above has given it an instance, and its group still restarts.
            State::Prepared => State::ToRestart,
            state => state,
        };
    }

    pub(super) fn field_prepared(&mut self, child: ChildId) {
        let Some(field) = self.field_mut(child) else { return };
        field.preparations = field.preparations.saturating_sub(1);
        if field.state == State::Preparing && field.preparations == 0 {
            field.state = State::Prepared;
        }
    }

    /// A child failed. If it was starting, those after it wait for what is decided.
    pub(super) fn field_failed(&mut self, child: ChildId) {
        if let Some(field) = self.field_mut(child)
            && field.state == State::Starting
        {
            field.state = State::Prepared;
        }
    }

    /// Whether this is the child that the instance under construction waits for, and it could not start.
    pub(super) fn keeps_from_starting(&self, child: ChildId) -> bool {
        let Some(declared) = &self.declared else { return false };
        let last = declared.cursor.and_then(|cursor| declared.fields.get(cursor.checked_sub(1)?));
        last.is_some_and(|field| field.child == Some(child) && field.state == State::Prepared)
    }

    /// Whether a child that could not start is tried again before its parent has started: where a delay is declared.
    ///
    /// Rule 14.1.
    pub(super) fn is_tried_again(&self, child: ChildId, directive: &Directive, strategy: &Strategy) -> bool {
        let delays = match directive {
            Directive::RestartAfter(_) => true,
            Directive::Restart => strategy.backoff.is_some(),
            Directive::Resume | Directive::Stop | Directive::Escalate => false,
        };
        let field = self.field_of(child).and_then(|at| self.declared.as_ref()?.fields.get(at));
        delays && field.is_some_and(|field| field.spec.restart != RestartType::Temporary)
    }

    /// The instance under construction goes on without waiting for this child, which will be restarted.
    pub(super) fn go_on_without(&mut self, child: ChildId) {
        if let Some(field) = self.field_mut(child) {
            field.state = State::Up;
        }
    }

    /// Answers whether a restart of its group has not reached the failed child yet, and answers this failure too.
    pub(super) fn field_joins_restart(&mut self, child: ChildId) -> bool {
        match self.field_mut(child) {
            Some(Field {
                state: State::ToRestart | State::Preparing | State::Prepared,
                pending_resumes: pending_resumes @ 1..,
                ..
            }) => {
                *pending_resumes += 1;
                true
            }
            Some(_) | None => false,
        }
    }

    /// Answers whether the failed child is a temporary one and goes, where others would be restarted.
    pub(super) fn lets_go(&mut self, child: ChildId, directive: &Directive, cause: &C) -> bool {
        let Some(field) = self.field_mut(child) else { return false };
        if field.spec.restart != RestartType::Temporary {
            return false;
        }
        match directive {
            Directive::Resume if !cause.is_initialization() => false,
            Directive::Escalate => false,
            Directive::Stop => {
                field.gives_up = true;
                false
            }
            Directive::Resume | Directive::Restart | Directive::RestartAfter(_) => {
                field.gives_up = true;
                true
            }
        }
    }

    /// Answers whether the report is that a permanent child ended by itself.
    pub(super) fn ended_unexpectedly(&self, child: ChildId) -> bool {
        let declared = self.declared.as_ref();
        let field = declared.and_then(|declared| declared.fields.iter().find(|it| it.child == Some(child)));
        field.is_some_and(|field| field.state == State::EndedUnexpectedly)
    }

    /// The delay of a restart is over, and this actor is about to restart the child anyway: nobody waits for it before.
    /// One that ended by itself is made anew for the instance that is being made.
    pub(super) fn field_waits_for_parent(&mut self, child: ChildId, schedule: u64) {
        let waits =
            self.child_mut(child).and_then(|child| child.delayed()).is_some_and(|it| it.schedule == schedule);
        let rebuilding = matches!(self.phase, Phase::StartingNewInstance(_));
        match self.field_mut(child) {
            Some(field) if waits && field.state == State::Prepared => field.state = State::Up,
            Some(field) if waits && rebuilding && field.state == State::EndedUnexpectedly => {
                field.state = State::Due;
            }
            Some(_) | None => {}
        }
    }

    /// The failure of a child was escalated, and resumed. A permanent child that ended by itself has nothing to resume: it
    /// is made anew.
    pub(super) fn field_resumed(&mut self, child: ChildId) {
        if let Some(field) = self.field_mut(child)
            && field.state == State::EndedUnexpectedly
        {
            field.state = State::Due;
        }
    }

    /// The child of a field ended.
    pub(super) fn field_ended(&mut self, child: ChildId, effects: &mut Vec<Effect<R, C>>) -> AfterEnd {
        let stopping = self.is_stopping();
        let asked = self.children.as_ref().and_then(|it| it.find(child)).is_some_and(ChildRecord::is_dying);
        if let Some(declared) = &mut self.declared {
            declared.line.retain(|waiting| *waiting != child);
        }
        let Some(field) = self.field_mut(child) else { return AfterEnd::GoOn };
        if field.spec.restart == RestartType::Permanent && !asked && !stopping {
            field.state = State::EndedUnexpectedly;
            field.pending_resumes = 0;
            let restarts = self.child_mut(child).map_or(0, |child| child.restarts_sent());
            self.child_failed(Report { child, cause: C::end_of_permanent(), restarts }, effects);
            return AfterEnd::Decide;
        }
        let by_itself = !asked || field.gives_up;
        let counts = field.spec.significant && by_itself;
        field.down();
        if counts && self.shuts_down() { AfterEnd::ShutDown } else { AfterEnd::GoOn }
    }

    /// Whether this actor ends with a significant child that ended by itself. As in `do_auto_shutdown` of OTP's
    /// `supervisor.erl`: where all of them have to end, it does not matter how the others did.
    fn shuts_down(&self) -> bool {
        let Some(declared) = &self.declared else { return false };
        match declared.auto_shutdown {
            AutoShutdown::Never => false,
            AutoShutdown::AnySignificant => true,
            AutoShutdown::AllSignificant => {
                let starts_later = |at| declared.cursor.is_some_and(|next| next <= at) || self.makes_fields_anew();
                let mut fields = declared.fields.iter().enumerate();
                !fields.any(|(at, it)| it.spec.significant && (it.state != State::Down || starts_later(at)))
            }
        }
    }

    /// Whether the next thing that happens to the instance is that another one takes its place.
    fn makes_fields_anew(&self) -> bool {
        let without_instance = matches!(self.phase, Phase::Running) && self.instance != Instance::Live;
        without_instance || self.is_waiting() || self.restart_is_under_way()
    }

    // ---- restarts ------------------------------------------------------------------------------------------------

    /// Whom a directive about `culprit` reaches: fields in their order, then the others in start order. Those that an earlier
    /// restart is about to replace only if they are asked for.
    pub(super) fn affected(&self, scope: Scope, culprit: ChildId, to_be_replaced_too: bool) -> Affected {
        let Some(first_other) = self.first_reached(scope, culprit) else { return Affected::One(culprit) };
        let first_field = if scope == Scope::AllForOne { Some(0) } else { self.field_of(culprit) };
        let fields = match (&self.declared, first_field) {
            (Some(declared), Some(first)) => &declared.fields[first..],
            _ => &[],
        };
        let fields = fields.iter().filter(|field| field.state != State::Ending).filter_map(|field| field.child);
        let others = self.children.iter().flat_map(|children| children.from(first_other, to_be_replaced_too));
        let others = others.filter(|id| self.field_of(*id).is_none());
        Affected::Many(fields.chain(others).collect())
    }

    /// The first child, fields aside, that a group directive about `culprit` reaches. None: it reaches the culprit alone.
    pub(super) fn first_reached(&self, scope: Scope, culprit: ChildId) -> Option<ChildId> {
        match scope {
            Scope::OneForOne => None,
            Scope::RestForOne if self.field_of(culprit).is_none() => Some(culprit),
            Scope::AllForOne | Scope::RestForOne => Some(ChildId(0)),
        }
    }

    /// Takes the resumes that an earlier scheduled restart has still to send to a child.
    pub(super) fn take_pending_resumes(&mut self, child: ChildId) -> u32 {
        let delayed =
            self.child_mut(child).and_then(ChildRecord::take_delayed).map_or(0, |delayed| delayed.pending_resumes);
        delayed + self.field_mut(child).map_or(0, |field| std::mem::take(&mut field.pending_resumes))
    }

    /// Restarts a child: at once, or together with the other fields of its group when its turn comes.
    pub(super) fn answer_child(
        &mut self,
        child: ChildId,
        cause: &C,
        pending_resumes: u32,
        grouped: bool,
        effects: &mut Vec<Effect<R, C>>,
    ) {
        let Some(at) = self.field_of(child) else {
            return self.send_restart(child, cause.clone(), pending_resumes, grouped, effects);
        };
        let Some(declared) = &mut self.declared else { return };
        let field = &mut declared.fields[at];
        match field.state {
            State::EndedUnexpectedly if grouped => field.state = State::Due,
            State::EndedUnexpectedly => {
                field.state = State::Due;
                self.start_field(at, effects);
            }
            State::Ending | State::Down | State::Due => {}
            _ if grouped => {
                field.pending_resumes = pending_resumes;
                declared.cause = Some(cause.clone());
                if matches!(field.state, State::Up | State::Starting) {
                    field.state = State::ToRestart;
                }
            }
            _ => {
                field.state = match field.state {
                    State::Prepared => State::Starting,
                    // This restart, which does not wait for its turn, comes in the place of the group's.
                    State::ToRestart | State::Preparing => State::Up,
                    state => state,
                };
                self.send_restart(child, cause.clone(), pending_resumes, false, effects);
            }
        }
    }

    /// A child that was there before this actor's restart restarts too, unless it is one that never does.
    pub(super) fn restart_survivor(&mut self, child: ChildId, cause: &C, effects: &mut Vec<Effect<R, C>>) {
        let pending_resumes = self.take_pending_resumes(child);
        match self.field_mut(child) {
            Some(field) if field.spec.restart == RestartType::Temporary => self.stop_child(child, effects),
            _ => self.answer_child(child, cause, pending_resumes + 1, false, effects),
        }
    }

    /// The first half of a restart.
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

    /// The first half of the restart is done: the second is a restart of an actor without an instance.
    pub(super) fn restart_prepared(&mut self, effects: &mut Vec<Effect<R, C>>) {
        self.mark_survivors();
        effects.push(Effect::TellRestartPrepared);
    }

    // ---- stops ---------------------------------------------------------------------------------------------------

    /// Requests the stop of these children: of fields one after another in reverse, after all others have ended.
    pub(super) fn stop_in_line(&mut self, children: &[ChildId], effects: &mut Vec<Effect<R, C>>) {
        let dying = self.children.as_ref().map_or(0, |all| all.dying());
        effects.reserve(children.len().saturating_sub(dying));
        for id in children.iter().rev() {
            if self.field_of(*id).is_none() {
                self.stop_child(*id, effects);
            } else if self.condemns_to_end(*id)
                && let Some(declared) = &mut self.declared
            {
                declared.line.push_back(*id);
            }
        }
        if let Some(declared) = &mut self.declared {
            // With those that are in line already, where a group of them was to stop before.
            let Declared { fields, line, .. } = &mut **declared;
            let place = |id: &ChildId| fields.iter().position(|field| field.child == Some(*id));
            line.make_contiguous().sort_unstable_by_key(|id| Reverse(place(id)));
        }
        self.advance_line(effects);
    }

    /// Notes that a child is to end. Answers whether it is there and was not told before.
    pub(crate) fn condemns_to_end(&mut self, child: ChildId) -> bool {
        let Some(children) = &mut self.children else { return false };
        let declared = self.declared.as_mut();
        let field = declared.and_then(|declared| declared.fields.iter_mut().find(|it| it.child == Some(child)));
        let Some(field) = field else { return children.mark_dying(child) };
        if matches!(field.state, State::EndedUnexpectedly | State::Due) {
            children.remove(child);
            field.down();
            return false;
        }
        field.pending_resumes = 0;
        field.state = State::Ending;
        children.mark_dying(child)
    }

    /// Invariant 3.
    pub(super) fn advance_line(&mut self, effects: &mut Vec<Effect<R, C>>) {
        let (Some(declared), Some(children)) = (&mut self.declared, &self.children) else { return };
        if children.dying() == declared.line.len()
            && let Some(next) = declared.line.pop_front()
        {
            self.send_to(next, SystemMessage::Terminate, effects);
        }
    }
}

impl Field {
    fn new(spec: &ChildSpec) -> Self {
        Self {
            name: ActorName::from(spec.name),
            spec: *spec,
            child: None,
            state: State::Down,
            pending_resumes: 0,
            preparations: 0,
            gives_up: false,
        }
    }

    fn down(&mut self) {
        self.child = None;
        self.state = State::Down;
        self.pending_resumes = 0;
    }
}
