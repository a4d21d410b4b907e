//! Declared children: those that an actor's type names as fields. They start, restart and stop one after another, and
//! the actor waits for each step. Other children are only told.
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
//! One rule moves the fields, [`next_step`](Fields::next_step). While one field takes a step, wait. Otherwise,
//! prepare the last field that is to restart. If there is none, start the first field that is down and may start. If
//! there is none, let the instance continue. A first start, a group restart, and the retry of a start that failed in
//! a group restart all follow this rule.
//!
//! 1. At most one field is `Preparing` or `Starting` by the rule.
//! 2. `pending_resumes` is the number of suspensions that the restart of a child that is `ToRestart` or `Prepared` must
//!    undo. Zero: no restart has been granted.
//! 3. A child in `line` is dying. Its stop request is sent when all children that were asked before it have ended.
//! 4. The name of a field is taken even while its child is down.
//!
//! The fields only decide what to do; `protocol/declared` does it.
//!
//! Rules 14.2, 14.3, 14.4 and 14.5.

mod answers;

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::mem::take;

pub(super) use self::answers::{Ended, Granted, NextStep, Preparation, Start, Stop, Temporary};
use super::child_spec::{ChildSpec, RestartType};
use super::settings::AutoShutdown;
use super::vocabulary::ChildId;
use crate::base::ActorName;

/// The fields of one actor.
#[derive(Debug, Clone, Hash)]
pub(super) struct Fields<C> {
    all: Vec<Field>,
    auto_shutdown: AutoShutdown,
    /// The field that the instance under construction declares next.
    cursor: Option<usize>,
    /// Why the fields that are `ToRestart`, `Preparing` or `Prepared` restart.
    cause: Option<C>,
    /// Invariant 3.
    line: VecDeque<ChildId>,
}

#[derive(Debug, Clone, Hash)]
pub(super) struct Field {
    name: ActorName,
    spec: ChildSpec,
    /// The child in the table. If the field is `EndedUnexpectedly`, or `Due` for a new incarnation, it is the child
    /// that ended.
    child: Option<ChildId>,
    state: State,
    /// Invariant 2.
    pending_resumes: u32,
    /// How many preparations the child has not reported. A report from before a restart of the parent may still be on
    /// its way.
    preparations: u32,
    /// A temporary child failed. The reason of its end is this failure, not a decision of its supervisor.
    gives_up: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum State {
    /// There is no child: it has not started yet, or ended for good.
    Down,
    /// There is no child yet: it starts when its turn comes.
    Due,
    /// The child ended by itself, and the restart has not been decided yet.
    EndedUnexpectedly,
    Starting,
    Up,
    /// The child's stop was requested.
    Ending,
    /// The child is up or starting, and is prepared for its restart when its turn comes.
    ToRestart,
    Preparing,
    /// The child has no instance, and is suspended.
    Prepared,
}

impl<C: Clone> Fields<C> {
    pub(super) fn new(specs: &[ChildSpec], auto_shutdown: AutoShutdown) -> Self {
        let all = specs.iter().map(Field::new).collect();
        Self { all, auto_shutdown, cursor: None, cause: None, line: VecDeque::new() }
    }

    // ---- queries -------------------------------------------------------------------------------------------------

    pub(super) fn field_of(&self, child: ChildId) -> Option<usize> {
        self.all.iter().position(|field| field.child == Some(child))
    }

    fn field(&self, child: ChildId) -> Option<&Field> {
        self.all.iter().find(|field| field.child == Some(child))
    }

    /// Invariant 4.
    pub(super) fn has_name(&self, name: &str) -> bool {
        self.all.iter().any(|field| *field.name == *name)
    }

    /// The child of a field that an earlier instance declared.
    pub(super) fn child_at(&self, at: usize) -> Option<ChildId> {
        self.all.get(at)?.child
    }

    /// The children of the fields from `first` on, except those that were told to stop.
    pub(super) fn children_from(&self, first: usize) -> impl Iterator<Item = ChildId> {
        let fields = self.all[first..].iter().filter(|field| field.state != State::Ending);
        fields.filter_map(|field| field.child)
    }

    /// The field that the instance under construction declares next.
    pub(super) fn cursor(&self) -> Option<usize> {
        self.cursor
    }

    /// The one rule: what to do next.
    pub(super) fn next_step(&self) -> NextStep {
        let on_its_way = |field: &Field| matches!(field.state, State::Preparing | State::Starting);
        let down = |field: &Field| matches!(field.state, State::Due | State::EndedUnexpectedly | State::Prepared);
        if self.all.iter().any(on_its_way) {
            return NextStep::Wait;
        }
        if let Some(at) = self.all.iter().rposition(|field| field.state == State::ToRestart) {
            return NextStep::Prepare(at);
        }
        if let Some(at) = self.all.iter().position(down) {
            return NextStep::Start(at);
        }
        match self.cursor {
            Some(next) if next < self.all.len() => NextStep::Declare,
            Some(_) => NextStep::FinishInstance,
            None => NextStep::Wait,
        }
    }

    /// Whether this is a permanent child that ended by itself and whose restart has not been decided yet.
    pub(super) fn ended_unexpectedly(&self, child: ChildId) -> bool {
        self.field(child).is_some_and(|field| field.state == State::EndedUnexpectedly)
    }

    /// Whether this child could not start, and the instance under construction waits for it.
    pub(super) fn holds_up_construction(&self, child: ChildId) -> bool {
        let awaited = self.cursor.and_then(|cursor| self.all.get(cursor.checked_sub(1)?));
        awaited.is_some_and(|field| field.child == Some(child) && field.state == State::Prepared)
    }

    pub(super) fn is_temporary(&self, child: ChildId) -> bool {
        self.field(child).is_some_and(|field| field.spec.restart == RestartType::Temporary)
    }

    /// Whether this child may be restarted by itself: it is up, and may restart at all. Other fields are on their way to a start
    /// or to their end.
    pub(super) fn may_restart_alone(&self, child: ChildId) -> bool {
        self.field(child)
            .is_none_or(|field| field.state == State::Up && field.spec.restart != RestartType::Temporary)
    }

    /// Whether a restart of its group has not reached the failed child yet, so that it answers this failure too.
    pub(super) fn awaits_group_restart(&self, child: ChildId) -> bool {
        self.field(child).is_some_and(|field| {
            let awaits = matches!(field.state, State::ToRestart | State::Preparing | State::Prepared);
            awaits && field.pending_resumes > 0
        })
    }

    /// Whether these two restart with one group, and neither has been started again.
    pub(super) fn restart_in_turn(&self, one: ChildId, other: ChildId) -> bool {
        self.restarts_in_turn(one) && self.restarts_in_turn(other)
    }

    fn restarts_in_turn(&self, child: ChildId) -> bool {
        self.field(child).is_some_and(|field| match field.state {
            State::ToRestart | State::Prepared => field.pending_resumes > 0,
            State::Preparing => true,
            _ => false,
        })
    }

    /// Whether the actor stops because a significant child ended by itself. As in `do_auto_shutdown` of OTP's
    /// `supervisor.erl`, if all of them have to end, it does not matter how the others ended. `makes_anew` says
    /// whether the next instance declares all fields again.
    pub(super) fn shuts_down(&self, makes_anew: bool) -> bool {
        match self.auto_shutdown {
            AutoShutdown::Never => false,
            AutoShutdown::AnySignificant => true,
            AutoShutdown::AllSignificant => {
                let starts_later = |at| makes_anew || self.cursor.is_some_and(|next| next <= at);
                let mut fields = self.all.iter().enumerate();
                !fields.any(|(at, it)| it.spec.significant && (it.state != State::Down || starts_later(at)))
            }
        }
    }

    // ---- a new instance ------------------------------------------------------------------------------------------

    /// A new instance is about to be made. Returns the children that have ended and must be removed from the table.
    #[must_use]
    pub(super) fn begin_instance(&mut self) -> Vec<ChildId> {
        self.cursor = Some(0);
        let mut forgotten = Vec::new();
        for field in &mut self.all {
            match field.state {
                // The restart of this actor replaces every step that a survivor was taking.
                State::Starting | State::ToRestart | State::Preparing | State::Prepared => field.state = State::Up,
                State::Due | State::EndedUnexpectedly => {
                    forgotten.extend(field.child);
                    field.down();
                }
                State::Down | State::Up | State::Ending => {}
            }
        }
        forgotten
    }

    /// The instance under construction has declared this field.
    pub(super) fn declared(&mut self, at: usize) {
        let Some(field) = self.all.get_mut(at) else { return };
        self.cursor = Some(at + 1);
        // Otherwise it survived the restart.
        if field.state == State::Down {
            field.state = State::Due;
        }
    }

    /// The construction of the instance is over. Returns the field that it had reached.
    pub(super) fn end_construction(&mut self) -> Option<usize> {
        self.cursor.take()
    }

    pub(super) fn at_mut(&mut self, at: usize) -> Option<&mut Field> {
        self.all.get_mut(at)
    }

    // ---- restarts ------------------------------------------------------------------------------------------------

    fn field_mut(&mut self, child: ChildId) -> Option<&mut Field> {
        self.all.iter_mut().find(|field| field.child == Some(child))
    }

    /// Prepares the restart of a field's child. `None`: there is nothing to restart.
    pub(super) fn prepare(&mut self, at: usize) -> Option<Preparation<C>> {
        let field = self.all.get_mut(at)?;
        let (child, cause) = (field.child?, self.cause.clone()?);
        field.state = State::Preparing;
        Some(if field.spec.restart == RestartType::Temporary {
            field.pending_resumes = 0;
            Preparation::Stop(child)
        } else {
            field.preparations += 1;
            Preparation::Restart(child, cause)
        })
    }

    /// Starts the child of a field.
    pub(super) fn start(&mut self, at: usize) -> Start<C> {
        let Some(field) = self.all.get_mut(at) else { return Start::NotYet };
        match (field.state, field.pending_resumes, field.child, &self.cause) {
            (State::Due, ..) => {
                field.state = State::Starting;
                field.gives_up = false;
                Start::New
            }
            (State::Prepared, 1.., Some(child), Some(cause)) => {
                field.state = State::Starting;
                Start::Restart { child, cause: cause.clone(), pending_resumes: take(&mut field.pending_resumes) }
            }
            _ => Start::NotYet,
        }
    }

    /// A restart of this child was granted: alone, or with its group.
    pub(super) fn grant_restart(
        &mut self,
        at: usize,
        cause: &C,
        pending_resumes: u32,
        with_group: bool,
    ) -> Granted {
        let field = &mut self.all[at];
        match field.state {
            State::EndedUnexpectedly => {
                field.state = State::Due;
                if with_group { Granted::Later } else { Granted::StartNow }
            }
            State::Ending | State::Down | State::Due => Granted::Later,
            _ if with_group => {
                field.pending_resumes = pending_resumes;
                if matches!(field.state, State::Up | State::Starting) {
                    field.state = State::ToRestart;
                }
                self.cause = Some(cause.clone());
                Granted::Later
            }
            _ => {
                field.state = match field.state {
                    State::Prepared => State::Starting,
                    // This restart, which does not wait for its turn, replaces that of the group.
                    State::ToRestart | State::Preparing => State::Up,
                    state => state,
                };
                Granted::RestartNow
            }
        }
    }

    /// The restart of its group answers another failure of this child.
    pub(super) fn add_pending_resume(&mut self, child: ChildId) {
        if let Some(field) = self.field_mut(child) {
            field.pending_resumes += 1;
        }
    }

    /// Takes the resumes that a restart of its group must still send to this child.
    pub(super) fn take_pending_resumes(&mut self, child: ChildId) -> u32 {
        self.field_mut(child).map_or(0, |field| take(&mut field.pending_resumes))
    }

    // ---- what children report ------------------------------------------------------------------------------------

    pub(super) fn started(&mut self, child: ChildId) {
        let Some(field) = self.field_mut(child) else { return };
        field.state = match field.state {
            State::Starting => State::Up,
            State::Prepared if field.pending_resumes == 0 => State::Up,
            // A resume by an ancestor has given it an instance, and its group still restarts.
            State::Prepared => State::ToRestart,
            state => state,
        };
    }

    pub(super) fn prepared(&mut self, child: ChildId) {
        let Some(field) = self.field_mut(child) else { return };
        field.preparations = field.preparations.saturating_sub(1);
        if field.state == State::Preparing && field.preparations == 0 {
            field.state = State::Prepared;
        }
    }

    /// A child failed. If it was starting, the fields after it wait for what is decided.
    pub(super) fn failed(&mut self, child: ChildId) {
        if let Some(field) = self.field_mut(child)
            && field.state == State::Starting
        {
            field.state = State::Prepared;
        }
    }

    /// The instance under construction does not wait any more for a child that could not start.
    pub(super) fn continue_without(&mut self, child: ChildId) {
        if let Some(field) = self.field_mut(child) {
            field.state = State::Up;
        }
    }

    /// A temporary child failed, and is stopped because of that.
    pub(super) fn mark_given_up(&mut self, child: ChildId) {
        if let Some(field) = self.field_mut(child) {
            field.gives_up = true;
        }
    }

    /// The delay of a restart is over, but this actor's own restart will restart the child anyway. A child that ended
    /// by itself is replaced for the `instance_under_construction`.
    pub(super) fn leave_to_parent(&mut self, child: ChildId, instance_under_construction: bool) {
        match self.field_mut(child) {
            Some(field) if field.state == State::Prepared => field.state = State::Up,
            Some(field) if field.state == State::EndedUnexpectedly && instance_under_construction => {
                field.state = State::Due;
            }
            Some(_) | None => {}
        }
    }

    /// The failure of a child was escalated, and an ancestor decided to resume. A permanent child that ended by itself
    /// has no instance to resume, so it is replaced.
    pub(super) fn resumed(&mut self, child: ChildId) {
        if let Some(field) = self.field_mut(child)
            && field.state == State::EndedUnexpectedly
        {
            field.state = State::Due;
        }
    }

    /// A child ended. `asked`: its stop was requested. `stopping`: its parent is stopping.
    pub(super) fn ended(&mut self, child: ChildId, asked: bool, stopping: bool) -> Ended {
        self.line.retain(|waiting| *waiting != child);
        let Some(field) = self.field_mut(child) else { return Ended::Finally };
        if field.spec.restart == RestartType::Permanent && !asked && !stopping {
            field.state = State::EndedUnexpectedly;
            field.pending_resumes = 0;
            return Ended::Unexpectedly;
        }
        let by_itself = !asked || field.gives_up;
        let significant = field.spec.significant && by_itself;
        field.down();
        if significant { Ended::Significant } else { Ended::Finally }
    }

    // ---- stops ---------------------------------------------------------------------------------------------------

    /// Marks the child of a field as stopping.
    pub(super) fn mark_stopping(&mut self, at: usize) -> Stop {
        let field = &mut self.all[at];
        if matches!(field.state, State::EndedUnexpectedly | State::Due) {
            field.down();
            return Stop::Forget;
        }
        field.pending_resumes = 0;
        field.state = State::Ending;
        Stop::Request
    }

    /// Adds a child that must stop to the line. [Sort](Self::sort_line) the line after adding the last one.
    pub(super) fn wait_in_line(&mut self, child: ChildId) {
        self.line.push_back(child);
    }

    /// Sorts the line so that the last field stops first, including fields that a group stop has put there before.
    pub(super) fn sort_line(&mut self) {
        let Self { all, line, .. } = self;
        let place = |id: &ChildId| all.iter().position(|field| field.child == Some(*id));
        line.make_contiguous().sort_unstable_by_key(|id| Reverse(place(id)));
    }

    /// Whether a child must stop, and its turn has not come.
    pub(super) fn is_in_line(&self, child: ChildId) -> bool {
        self.line.contains(&child)
    }

    /// Whether a child must stop, and its turn comes after that of `first`, which is dying.
    pub(super) fn stops_after(&self, later: ChildId, first: ChildId) -> bool {
        let place = |child| self.line.iter().position(|waiting| *waiting == child);
        place(later).is_some_and(|later| place(first).is_none_or(|first| first < later))
    }

    /// The child whose stop must be requested next, if all children that were asked before have ended. `dying` is the
    /// number of dying children. Invariant 3.
    #[must_use]
    pub(super) fn next_in_line(&mut self, dying: usize) -> Option<ChildId> {
        if dying == self.line.len() { self.line.pop_front() } else { None }
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

    pub(super) fn name(&self) -> &ActorName {
        &self.name
    }

    /// Takes the child that a new incarnation replaces.
    #[must_use]
    pub(super) fn take_child(&mut self) -> Option<ChildId> {
        self.child.take()
    }

    /// The table holds a new incarnation.
    pub(super) fn put_child(&mut self, child: ChildId) {
        self.child = Some(child);
        self.preparations = 0;
    }

    fn down(&mut self) {
        self.child = None;
        self.state = State::Down;
        self.pending_resumes = 0;
    }
}
