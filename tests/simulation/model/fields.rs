//! The part of a model for declared children.

use std::collections::BTreeSet;

use supervise_core::supervision::{
    AutoShutdown, Call, ChildId, ChildSpec, Effect, RestartType, Scope, SystemMessage,
};

use super::children::Child;
use super::{Model, Stage, ends_an_instance};
use crate::fault::Fault;
use crate::world::Id;

/// The fields of one actor, in their order.
#[derive(Debug, Clone)]
pub(super) struct Fields {
    all: Vec<Field>,
    auto_shutdown: AutoShutdown,
    /// The next field that the new instance declares, and the hook that follows the last.
    declaring: Option<(usize, Call<Fault>)>,
    /// Why the fields of a group restart.
    reason: Option<Fault>,
}

/// A field and its child.
#[derive(Debug, Clone)]
struct Field {
    spec: ChildSpec,
    /// While the field waits for a new incarnation: the one that ended.
    child: Option<ChildId>,
    way: Way,
    /// How often its child has been suspended for the group restart that it takes part in. Zero: it takes part in none.
    owed: u32,
    /// How many `PrepareRestart`s its child has not answered.
    unprepared: u32,
    /// It is temporary, and failed.
    gives_up: bool,
}

/// What the end of a child causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Consequence {
    /// It must come back, so its restart must be decided.
    MustComeBack,
    /// It was significant, and ended by itself.
    Counts,
    Nothing,
}

/// The state of a field's child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Down,
    /// Down, and to be started in its turn.
    ToStart,
    /// Permanent, ended by itself, and nobody has decided yet.
    Missing,
    Starting,
    Up,
    Ending,
    /// Its restart is to be prepared in its turn.
    ToPrepare,
    Preparing,
    Prepared,
}

impl Field {
    fn new(spec: ChildSpec) -> Self {
        Self { spec, child: None, way: Way::Down, owed: 0, unprepared: 0, gives_up: false }
    }

    fn is_down(&mut self) {
        self.child = None;
        self.way = Way::Down;
        self.owed = 0;
    }
}

impl Fields {
    pub(super) fn new(specs: &[ChildSpec], auto_shutdown: AutoShutdown) -> Self {
        let all = specs.iter().map(|spec| Field::new(*spec)).collect();
        Self { all, auto_shutdown, declaring: None, reason: None }
    }

    fn of(&mut self, child: ChildId) -> Option<&mut Field> {
        self.all.iter_mut().find(|field| field.child == Some(child))
    }

    fn place_of(&self, child: ChildId) -> Option<usize> {
        self.all.iter().position(|field| field.child == Some(child))
    }

    pub(super) fn has(&self, child: ChildId) -> bool {
        self.place_of(child).is_some()
    }

    pub(super) fn children(&self) -> impl DoubleEndedIterator<Item = ChildId> {
        self.all.iter().filter_map(|field| field.child)
    }

    /// Whether this child is permanent, ended by itself, and nobody has decided yet.
    pub(super) fn is_missing(&self, child: ChildId) -> bool {
        self.place_of(child).is_some_and(|at| self.all[at].way == Way::Missing)
    }

    pub(super) fn is_temporary(&self, child: ChildId) -> bool {
        self.place_of(child).is_some_and(|at| self.all[at].spec.restart == RestartType::Temporary)
    }

    /// Whether this child may restart by itself: it is not a field, or it is a field that is up and may restart.
    pub(super) fn may_restart_alone(&self, child: ChildId) -> bool {
        let field = self.place_of(child).map(|at| &self.all[at]);
        field.is_none_or(|field| field.way == Way::Up && field.spec.restart != RestartType::Temporary)
    }

    /// Whether a new instance waits for its fields.
    pub(super) fn are_declared(&self) -> bool {
        self.declaring.is_some()
    }

    /// Whether it waits for this child, which has failed on its way.
    pub(super) fn wait_for(&self, child: ChildId) -> bool {
        let Some(at) = self.place_of(child) else { return false };
        self.all[at].way == Way::Prepared && self.declaring.as_ref().is_some_and(|(next, _)| *next == at + 1)
    }

    /// It does not wait for this child any more.
    pub(super) fn wait_no_more_for(&mut self, child: ChildId) {
        if let Some(field) = self.of(child) {
            field.way = Way::Up;
        }
    }

    /// Whether it waits for them before it goes on with a restart.
    pub(super) fn are_declared_again(&self) -> bool {
        matches!(self.declaring, Some((_, Call::StartNewInstance(_))))
    }

    /// Whether the parent ends because a significant child has ended by itself. `anew` says that all fields are about
    /// to be made again.
    pub(super) fn end_their_parent(&self, anew: bool) -> bool {
        let declared = self.declaring.as_ref().map_or(self.all.len(), |(next, _)| *next);
        let is_down = |field: &Field| field.way == Way::Down;
        let another = self.all.iter().any(|field| field.spec.significant && !is_down(field));
        let another_later = self.all[declared..].iter().any(|field| field.spec.significant);
        match self.auto_shutdown {
            AutoShutdown::Never => false,
            AutoShutdown::AnySignificant => true,
            AutoShutdown::AllSignificant => !another && !another_later && !anew,
        }
    }

    /// The children that a directive about `culprit` reaches.
    ///
    pub(super) fn affected(&self, culprit: ChildId, scope: Scope) -> impl Iterator<Item = ChildId> {
        let first = match scope {
            Scope::OneForOne => None,
            Scope::AllForOne => Some(0),
            Scope::RestForOne => self.place_of(culprit),
        };
        let reached = first.map_or(&[][..], |first| &self.all[first..]);
        reached.iter().filter(|field| field.way != Way::Ending).filter_map(|field| field.child)
    }

    pub(super) fn started(&mut self, child: ChildId) {
        let Some(field) = self.of(child) else { return };
        match field.way {
            // It came back before its turn.
            Way::Prepared if field.owed > 0 => field.way = Way::ToPrepare,
            Way::Starting | Way::Prepared => field.way = Way::Up,
            _ => {}
        }
    }

    pub(super) fn restart_prepared(&mut self, child: ChildId) {
        let Some(field) = self.of(child) else { return };
        field.unprepared -= 1;
        // Only the answer to the last one counts.
        if field.unprepared == 0 && field.way == Way::Preparing {
            field.way = Way::Prepared;
        }
    }

    /// A child has ended, by itself unless it was `asked` to.
    pub(super) fn ended(&mut self, child: ChildId, asked: bool, parent_stops: bool) -> Consequence {
        let Some(field) = self.of(child) else { return Consequence::Nothing };
        if field.spec.restart == RestartType::Permanent && !asked && !parent_stops {
            field.way = Way::Missing;
            field.owed = 0;
            return Consequence::MustComeBack;
        }
        let counts = field.spec.significant && (!asked || field.gives_up);
        field.is_down();
        if counts { Consequence::Counts } else { Consequence::Nothing }
    }

    /// A child must end. Returns whether it has already ended.
    #[must_use]
    pub(super) fn let_go(&mut self, child: ChildId) -> bool {
        let Some(field) = self.of(child) else { return false };
        let gone = matches!(field.way, Way::Missing | Way::ToStart);
        if gone {
            field.is_down();
        } else {
            field.way = Way::Ending;
            field.owed = 0;
        }
        gone
    }

    /// A temporary child has failed.
    pub(super) fn give_up(&mut self, child: ChildId) {
        if let Some(field) = self.of(child) {
            field.gives_up = true;
        }
    }

    /// A child that ended by itself is created again.
    pub(super) fn renew(&mut self, child: ChildId) {
        if let Some(field) = self.of(child)
            && field.way == Way::Missing
        {
            field.way = Way::ToStart;
        }
    }

    /// A child will be restarted together with its parent, so its group does not wait for it.
    pub(super) fn leave_to_parent(&mut self, child: ChildId) {
        if let Some(field) = self.of(child)
            && field.way == Way::Prepared
        {
            field.way = Way::Up;
        }
    }

    /// Whether its group restarts, and it has not been reached.
    pub(super) fn is_to_restart(&mut self, child: ChildId) -> bool {
        self.of(child).is_some_and(|field| {
            field.owed > 0 && matches!(field.way, Way::ToPrepare | Way::Preparing | Way::Prepared)
        })
    }

    pub(super) fn owe_one_more(&mut self, child: ChildId) {
        if let Some(field) = self.of(child) {
            field.owed += 1;
        }
    }

    fn take_owed(&mut self, child: ChildId) -> u32 {
        self.of(child).map_or(0, |field| std::mem::take(&mut field.owed))
    }

    /// The new instance has declared a field.
    pub(super) fn declared(&mut self, at: usize) {
        if let Some((next, _)) = &mut self.declaring {
            *next = at + 1;
        }
        // One that survived is up.
        if self.all[at].way == Way::Down {
            self.all[at].way = Way::ToStart;
        }
    }
}

impl Model {
    /// A new incarnation goes on with the counts of the one before.
    pub(crate) fn spawn_field(&mut self, at: usize, id: ChildId, actor: Id) {
        let field = &mut self.fields.all[at];
        field.unprepared = 0;
        let former = field.child.replace(id).and_then(|former| self.children.remove(&former));
        let mut child = Child::new(actor, None);
        if let Some(former) = former {
            (child.restarts, child.by_rule, child.delays) = (former.restarts, former.by_rule, former.delays);
        }
        self.children.insert(id, child);
    }

    /// Makes a new instance. Fields are declared, and start, between the factory and the hook.
    pub(super) fn instance(&mut self, hook: Call<Fault>) {
        for field in &mut self.fields.all {
            match field.way {
                Way::ToStart | Way::Missing => {
                    if let Some(former) = field.child {
                        self.children.remove(&former);
                    }
                    field.is_down();
                }
                Way::Down | Way::Ending => {}
                // It is restarted together with this actor.
                _ => field.way = Way::Up,
            }
        }
        if self.fields.all.is_empty() {
            self.call(hook);
        } else {
            self.fields.declaring = Some((0, hook));
            self.call(Call::Build);
        }
    }

    /// Does one step at a time: first it prepares the restarts, beginning with the last field; then it starts the
    /// fields, in order; then it does the rest of the new instance's start.
    pub(super) fn move_fields(&mut self) {
        let waits = self.told_to_stop || self.queue.iter().any(ends_an_instance) || self.deciding.is_some();
        let on_its_way = |field: &Field| matches!(field.way, Way::Preparing | Way::Starting);
        if waits || self.stage != Stage::Living || self.fields.all.iter().any(on_its_way) {
            return;
        }
        if let Some(at) = self.fields.all.iter().rposition(|field| field.way == Way::ToPrepare) {
            self.prepare_field(at);
            return;
        }
        let is_away = |field: &Field| matches!(field.way, Way::ToStart | Way::Missing | Way::Prepared);
        if let Some(at) = self.fields.all.iter().position(is_away) {
            let Field { way, owed, child, .. } = self.fields.all[at];
            match way {
                Way::ToStart => self.start_field(at),
                Way::Prepared if owed > 0 => {
                    self.fields.all[at].way = Way::Starting;
                    self.fields.all[at].owed = 0;
                    let cause = self.fields.reason.expect("a group restarts for a reason");
                    self.send_restart(
                        child.expect("a child whose restart is prepared is there"),
                        cause,
                        owed,
                        false,
                    );
                }
                // Somebody has to decide about it first.
                _ => {}
            }
        } else if self.code.is_none()
            && let Some((at, hook)) = self.fields.declaring.take()
        {
            if at < self.fields.all.len() {
                self.fields.declaring = Some((at, hook));
                self.call(Call::Declare(at));
            } else {
                self.call(hook);
            }
        }
    }

    fn prepare_field(&mut self, at: usize) {
        let child = self.fields.all[at].child.expect("what is up is there");
        if self.fields.is_temporary(child) {
            self.stop_now(child);
        } else {
            let cause = self.fields.reason.expect("a group restarts for a reason");
            let actor = self.child(child).actor;
            self.send(actor, SystemMessage::PrepareRestart(cause));
            self.fields.all[at].unprepared += 1;
        }
        self.fields.all[at].way = Way::Preparing;
    }

    fn start_field(&mut self, at: usize) {
        self.fields.all[at].way = Way::Starting;
        self.fields.all[at].gives_up = false;
        self.does.push(Effect::StartChild(at));
    }

    /// A field on its way has failed: those behind it wait.
    pub(super) fn concerns_a_start(&mut self, child: ChildId) {
        if let Some(field) = self.fields.of(child)
            && field.way == Way::Starting
        {
            field.way = Way::Prepared;
        }
    }

    /// The new instance is given up, because one of its fields could not start.
    pub(super) fn field_did_not_start(&mut self, cause: Fault) {
        let Some((_, hook)) = self.fields.declaring.take() else { return };
        self.did_not_start(&hook, cause);
        let survivors =
            if let Call::StartNewInstance(_) = hook { self.survivors.clone() } else { BTreeSet::new() };
        self.stop_unwatched(|child| !survivors.contains(&child));
    }

    /// Another restart, or half of one, comes while fields are starting.
    pub(super) fn forget_declarations(&mut self) {
        if let Some((_, hook)) = self.fields.declaring.take() {
            self.does.push(Effect::DropInstance);
            if let Call::StartNewInstance(_) = hook {
                self.release_survivors();
            }
        }
    }

    /// The resumes that a child must still get from restarts that have not reached it.
    pub(super) fn take_owed(&mut self, id: ChildId) -> u32 {
        let by_round = self.child(id).waits.take().map_or(0, |wait| wait.owed);
        by_round + self.fields.take_owed(id)
    }

    pub(super) fn restart_survivor(&mut self, id: ChildId, cause: Fault) {
        if self.children.contains_key(&id) {
            let owed = self.take_owed(id) + 1;
            if self.fields.is_temporary(id) {
                self.stop_now(id);
            } else {
                self.restart_child(id, cause, owed, false);
            }
        }
    }

    /// Restarts a child now; a field of a group, in its turn.
    pub(super) fn restart_child(&mut self, id: ChildId, cause: Fault, owed: u32, grouped: bool) {
        let Some(at) = self.fields.place_of(id) else { return self.send_restart(id, cause, owed, grouped) };
        match self.fields.all[at].way {
            Way::Ending | Way::Down | Way::ToStart => {}
            Way::Missing => {
                self.fields.all[at].way = Way::ToStart;
                if !grouped {
                    self.start_field(at);
                }
            }
            way if grouped => {
                self.fields.reason = Some(cause);
                self.fields.all[at].owed = owed;
                if matches!(way, Way::Up | Way::Starting) {
                    self.fields.all[at].way = Way::ToPrepare;
                }
            }
            way => {
                // This also completes what its group wanted of it.
                match way {
                    Way::Prepared => self.fields.all[at].way = Way::Starting,
                    Way::ToPrepare | Way::Preparing => self.fields.all[at].way = Way::Up,
                    _ => {}
                }
                self.send_restart(id, cause, owed, false);
            }
        }
    }

    /// The restart answers the first suspension, and a bare Resume answers each further one. If an earlier restart with
    /// siblings has not replaced the child's instance yet, bare Resumes answer all of them.
    pub(super) fn send_restart(&mut self, id: ChildId, cause: Fault, owed: u32, with_siblings: bool) {
        let child = self.child(id);
        let actor = child.actor;
        let mut answers = vec![SystemMessage::Resume(None); owed as usize];
        if !with_siblings {
            child.restarts_sent += 1;
            answers[0] = SystemMessage::Restart(cause);
        } else if !std::mem::replace(&mut child.to_be_replaced, true) {
            child.restarts_sent += 1;
            answers[0] = SystemMessage::RestartTogether(cause);
        }
        for answer in answers {
            self.send(actor, answer);
        }
    }
}
