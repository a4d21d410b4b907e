//! The account that a [`Watchdog`](crate::invariants::Watchdog) keeps of declared children. It uses only what their parent
//! is told and does. I21, I22 and I23.

use std::collections::BTreeSet;

use supervise_core::supervision::{
    Call, ChildId, ChildSpec, Directive, Outcome, RestartType, Scope, SystemMessage,
};

use super::{Check, Invariant, broken};
use crate::fault::Fault;
use crate::world::{Id, Message};

/// The fields of one cell, in their order.
#[derive(Debug, Clone, Hash)]
pub(crate) struct Fields {
    all: Vec<Field>,
    group: Group,
    /// A restart was delayed, or a supervisor above made a field start before its turn. So a field of a group may be
    /// prepared after the others, and start with its parent rather than with the group.
    mixed: bool,
    /// Between the factory and the hook of an instance.
    starting: bool,
    /// The field that this instance has declared last.
    awaited: Option<usize>,
    parent_stops: bool,
    /// The ids of all children that were ever declared children.
    pub(crate) ever: BTreeSet<ChildId>,
}

/// Which fields restart, and stop, together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Group {
    None,
    All,
    Rest,
}

#[derive(Debug, Clone, Hash)]
struct Field {
    spec: ChildSpec,
    /// The last one there was.
    child: Option<(Id, ChildId)>,
    state: State,
    /// Somebody stopped it, or its supervisor stopped it because of a failure.
    let_go: bool,
    /// It is permanent and ended by itself.
    missing: bool,
    unprepared: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum State {
    Down,
    Starting,
    Up,
    Preparing,
    Prepared,
    Stopping,
}

impl Field {
    /// Whether others wait for it.
    fn is_on_its_way(&self) -> bool {
        matches!(self.state, State::Starting | State::Preparing) && !self.let_go
    }
}

impl Fields {
    pub(crate) fn new(specs: Vec<ChildSpec>, scope: Scope) -> Self {
        let field =
            |spec| Field { spec, child: None, state: State::Down, let_go: false, missing: false, unprepared: 0 };
        Self {
            all: specs.into_iter().map(field).collect(),
            group: match scope {
                Scope::OneForOne => Group::None,
                Scope::AllForOne => Group::All,
                Scope::RestForOne => Group::Rest,
            },
            mixed: false,
            starting: false,
            awaited: None,
            parent_stops: false,
            ever: BTreeSet::new(),
        }
    }

    /// Whether this was a declared child and has ended.
    pub(crate) fn has_ended(&self, child: ChildId) -> bool {
        let is = |field: &&Field| field.child.is_some_and(|(_, id)| id == child);
        let present = self.all.iter().find(is).is_some_and(|field| field.state != State::Down);
        self.ever.contains(&child) && !present
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn of(&mut self, child: ChildId) -> Option<&mut Field> {
        self.all.iter_mut().find(|field| field.child.is_some_and(|(_, id)| id == child))
    }

    fn place_of(&self, child: Id) -> Option<usize> {
        self.all.iter().position(|field| field.child.is_some_and(|(actor, _)| actor == child))
    }

    // ---- what the parent is told ---------------------------------------------------------------------------------

    pub(crate) fn spawned(&mut self, at: usize, child: Id, id: ChildId) {
        self.all[at].child = Some((child, id));
        self.all[at].unprepared = 0;
        self.ever.insert(id);
    }

    pub(crate) fn started(&mut self, child: ChildId) {
        let Some(field) = self.of(child) else { return };
        let before_its_turn = field.state == State::Prepared;
        if before_its_turn || field.state == State::Starting {
            field.state = State::Up;
        }
        self.mixed |= before_its_turn;
    }

    pub(crate) fn restart_prepared(&mut self, child: ChildId) {
        let Some(field) = self.of(child) else { return };
        field.unprepared -= 1;
        if field.unprepared == 0 && field.state == State::Preparing {
            field.state = State::Prepared;
        }
    }

    pub(crate) fn failed(&mut self, child: ChildId) {
        if let Some(field) = self.of(child)
            && field.state == State::Starting
        {
            field.state = State::Prepared;
        }
    }

    pub(crate) fn ended(&mut self, child: Id) {
        if let Some(at) = self.place_of(child) {
            let field = &mut self.all[at];
            field.missing = field.spec.restart == RestartType::Permanent && !field.let_go;
            field.state = State::Down;
        }
    }

    // ---- what the parent does ------------------------------------------------------------------------------------

    pub(crate) fn stops(&mut self) {
        self.parent_stops = true;
    }

    /// Somebody asked for the stop of one child, or of all.
    pub(crate) fn let_go(&mut self, child: Option<ChildId>) {
        for field in &mut self.all {
            if child.is_none_or(|child| field.child.is_some_and(|(_, id)| id == child)) {
                field.let_go = true;
                if field.state != State::Down {
                    field.state = State::Stopping;
                }
            }
        }
    }

    pub(crate) fn decided(&mut self, culprit: ChildId, directive: Option<Directive>, outcome: Outcome) {
        let place = self.all.iter().position(|field| field.child.is_some_and(|(_, id)| id == culprit));
        if let (Some(at), Group::None, Outcome::Restarting { delay: Some(_), .. }) = (place, self.group, outcome)
            && self.awaited == place
            && self.all[at].state == State::Prepared
        {
            // It could not start, and starts again while the others continue.
            self.all[at].state = State::Up;
        }
        let first = match (outcome, self.group) {
            (Outcome::LimitReached { .. }, Group::All) => 0,
            (Outcome::Stopped { .. }, Group::All) if directive == Some(Directive::Stop) => 0,
            (Outcome::Stopped { .. } | Outcome::LimitReached { .. }, _) => place.unwrap_or(self.all.len()),
            _ => return,
        };
        let alone = self.group == Group::None
            || (directive != Some(Directive::Stop) && !matches!(outcome, Outcome::LimitReached { .. }));
        let last = if alone { first + 1 } else { self.all.len() };
        for field in self.all.iter_mut().take(last).skip(first) {
            field.let_go = true;
        }
    }

    /// A restart is delayed.
    pub(crate) fn delays(&mut self) {
        self.mixed = true;
    }

    /// Children that outlived the earlier instance are restarted now, without waiting for them.
    pub(crate) fn parent_restarted(&mut self) {
        for field in &mut self.all {
            if matches!(field.state, State::Preparing | State::Prepared) {
                field.state = State::Up;
            }
        }
    }

    pub(crate) fn called(&mut self, call: &Call<Fault>) -> Check {
        match call {
            Call::Build => {
                self.starting = true;
                self.awaited = None;
                for field in self.all.iter_mut().filter(|field| field.state != State::Down) {
                    if field.state != State::Stopping {
                        field.state = State::Up;
                    }
                }
            }
            Call::Declare(_) | Call::Create | Call::StartNewInstance(_) => {
                if let Some(field) = self.all.iter().find(|field| field.is_on_its_way()) {
                    return broken(Invariant::FieldsStartInOrder, format!("{call:?} does not wait for {field:?}"));
                }
                self.awaited = if let Call::Declare(at) = call { Some(*at) } else { None };
                self.starting = self.awaited.is_some();
            }
            Call::PreRestart { .. } | Call::PostStop { .. } => {}
        }
        Ok(())
    }

    /// A new incarnation is to be made.
    pub(crate) fn starts(&mut self, at: usize) -> Check {
        let field = &self.all[at];
        if !self.starting && (field.spec.restart != RestartType::Permanent || field.let_go) {
            return broken(Invariant::RestartTypeKept, format!("{field:?} comes back"));
        }
        self.in_order(at)?;
        let field = &mut self.all[at];
        (field.state, field.let_go, field.missing) = (State::Starting, false, false);
        Ok(())
    }

    fn in_order(&self, at: usize) -> Check {
        let before = &self.all[..at];
        let waits = before.iter().any(|field| field.state == State::Prepared && !field.let_go && !self.mixed)
            || self.all.iter().any(Field::is_on_its_way);
        // Under one-for-one a permanent child comes back whatever the others do.
        let in_turn = self.group != Group::None || (self.starting && !self.all[at].missing);
        if in_turn && waits {
            return broken(Invariant::FieldsStartInOrder, format!("{at} starts: {:?}", self.all));
        }
        Ok(())
    }

    /// The parent tells a child something. `alone`: no stop that it asked for is outstanding. `last`: there are no children
    /// but fields.
    pub(crate) fn told(&mut self, child: Id, message: &Message, alone: bool, last: bool) -> Check {
        let Some(at) = self.place_of(child) else { return Ok(()) };
        let Field { spec, state, .. } = &self.all[at];
        let temporary = spec.restart == RestartType::Temporary;
        match message {
            SystemMessage::Restart(_) | SystemMessage::PrepareRestart(_) if temporary => {
                return broken(Invariant::RestartTypeKept, format!("{child} is temporary and gets {message:?}"));
            }
            SystemMessage::Restart(_) if *state == State::Prepared => {
                if self.group != Group::None {
                    self.in_order(at)?;
                }
                self.all[at].state = State::Starting;
            }
            SystemMessage::PrepareRestart(_) => {
                let early = |field: &Field| matches!(field.state, State::Preparing | State::Prepared);
                let out_of_turn = !self.mixed && self.all[..at].iter().any(early);
                // The parent does not wait for a child that it stops in the middle of its restart.
                let another = self.all.iter().any(|it| it.state == State::Preparing && !it.let_go);
                if out_of_turn || another {
                    return broken(Invariant::FieldsGoInReverse, format!("{at} is prepared: {:?}", self.all));
                }
                self.all[at].state = State::Preparing;
                self.all[at].unprepared += 1;
            }
            SystemMessage::Terminate => {
                let later = self.all[at + 1..].iter().any(|field| field.state != State::Down);
                if !temporary && (!alone || (self.parent_stops && (later || !last))) {
                    return broken(Invariant::FieldsGoInReverse, format!("{at} is stopped: {:?}", self.all));
                }
                self.all[at].state = State::Stopping;
                self.all[at].let_go = true;
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether a new instance of the parent restarts this child of the former one.
    pub(crate) fn restarts_with_parent(&self, child: Id) -> bool {
        let Some(at) = self.place_of(child) else { return true };
        let Field { spec, state, let_go, .. } = &self.all[at];
        let stays = matches!(state, State::Stopping | State::Down) || *let_go;
        spec.restart != RestartType::Temporary && !stays
    }

    pub(crate) fn at_rest(&self, id: Id) -> Check {
        for Field { spec, state, let_go, .. } in &self.all {
            if matches!(state, State::Starting | State::Preparing | State::Prepared) {
                return broken(
                    Invariant::FieldsStartInOrder,
                    format!("{} of {id} is {state:?} for ever", spec.name),
                );
            }
            if spec.restart == RestartType::Permanent && *state == State::Down && !let_go {
                return broken(Invariant::RestartTypeKept, format!("{} of {id} does not come back", spec.name));
            }
        }
        Ok(())
    }
}
