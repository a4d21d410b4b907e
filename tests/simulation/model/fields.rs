//! What declared children need of a model.

use std::collections::BTreeSet;

use supervise_core::supervision::{AutoShutdown, Call, ChildId, ChildSpec, Effect, RestartType, SystemMessage};

use super::children::Child;
use super::{Model, Stage, ends_an_instance};
use crate::fault::Fault;
use crate::world::Id;

/// A field and its child.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) spec: ChildSpec,
    /// While the field waits for a new incarnation: the one that ended.
    pub(super) child: Option<ChildId>,
    pub(super) way: Way,
    /// How often its child has been suspended for the group restart that it takes part in. Zero: it takes part in none.
    pub(super) owed: u32,
    /// How many Halts its child has not answered.
    pub(super) halts: u32,
    /// It is temporary, and failed.
    pub(super) gives_up: bool,
    pub(super) ended_by_itself: bool,
}

/// Where a field's child is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Down,
    /// Down, and to be started in its turn.
    ToStart,
    /// Permanent, ended by itself, and nobody has decided yet.
    Missing,
    Starting,
    Up,
    Ending,
    /// To be halted in its turn.
    ToHalt,
    Halting,
    Halted,
}

impl Model {
    pub(crate) fn with_fields(mut self, specs: &[ChildSpec], auto_shutdown: AutoShutdown) -> Self {
        let field = |spec: &ChildSpec| Field {
            spec: *spec,
            child: None,
            way: Way::Down,
            owed: 0,
            halts: 0,
            gives_up: false,
            ended_by_itself: false,
        };
        self.fields = specs.iter().map(field).collect();
        self.auto_shutdown = auto_shutdown;
        self
    }

    /// A new incarnation goes on with the counts of the one before.
    pub(crate) fn spawn_field(&mut self, at: usize, id: ChildId, actor: Id) {
        self.fields[at].halts = 0;
        let former = self.fields[at].child.replace(id).and_then(|former| self.children.remove(&former));
        let (restarts, delays) = former.map_or_else(Default::default, |child| (child.restarts, child.delays));
        self.children.insert(id, Child { actor, name: None, asked_to_stop: false, restarts, delays, waits: None });
    }

    pub(super) fn field(&mut self, child: ChildId) -> Option<&mut Field> {
        self.fields.iter_mut().find(|field| field.child == Some(child))
    }

    pub(super) fn place_of(&self, child: ChildId) -> Option<usize> {
        self.fields.iter().position(|field| field.child == Some(child))
    }

    pub(super) fn way_of(&self, child: ChildId) -> Option<Way> {
        Some(self.fields[self.place_of(child)?].way)
    }

    pub(super) fn is_temporary(&self, child: ChildId) -> bool {
        self.place_of(child).is_some_and(|at| self.fields[at].spec.restart == RestartType::Temporary)
    }

    /// One thing at a time: first the halts, the last field first, then the starts in order, then what the new instance
    /// has to do.
    pub(super) fn move_fields(&mut self) {
        let waits = self.told_to_stop || self.queue.iter().any(ends_an_instance) || self.deciding.is_some();
        let on_its_way = |field: &Field| matches!(field.way, Way::Halting | Way::Starting);
        if waits || self.stage != Stage::Living || self.fields.iter().any(on_its_way) {
            return;
        }
        if let Some(at) = self.fields.iter().rposition(|field| field.way == Way::ToHalt) {
            self.halt_field(at);
            return;
        }
        let is_away = |field: &Field| matches!(field.way, Way::ToStart | Way::Missing | Way::Halted);
        if let Some(at) = self.fields.iter().position(is_away) {
            let Field { way, owed, child, .. } = self.fields[at];
            match way {
                Way::ToStart => self.start_field(at),
                Way::Halted if owed > 0 => {
                    self.fields[at].way = Way::Starting;
                    self.fields[at].owed = 0;
                    let cause = self.reason.expect("a group restarts for a reason");
                    self.recreate_child(child.expect("what is halted is there"), cause, owed);
                }
                // Somebody has to decide about it first.
                _ => {}
            }
        } else if self.code.is_none()
            && let Some((at, hook)) = self.declaring.take()
        {
            if at < self.fields.len() {
                self.declaring = Some((at, hook));
                self.call(Call::Declare(at));
            } else {
                self.call(hook);
            }
        }
    }

    fn halt_field(&mut self, at: usize) {
        let child = self.fields[at].child.expect("what is up is there");
        if self.is_temporary(child) {
            self.stop_now(child);
        } else {
            let cause = self.reason.expect("a group restarts for a reason");
            let actor = self.child(child).actor;
            self.send(actor, SystemMessage::Halt(cause));
            self.fields[at].halts += 1;
        }
        self.fields[at].way = Way::Halting;
    }

    fn start_field(&mut self, at: usize) {
        self.fields[at].way = Way::Starting;
        self.fields[at].gives_up = false;
        self.does.push(Effect::StartChild(at));
    }

    /// A failure of a field on its way. Answers whether nobody has to decide about it.
    pub(super) fn concerns_a_start(&mut self, child: ChildId, cause: Fault) -> bool {
        let Some(at) = self.place_of(child) else { return false };
        let declared_last = matches!(self.declaring, Some((next, _)) if next == at + 1);
        let field = &mut self.fields[at];
        match field.way {
            Way::Starting if declared_last => {
                self.field_did_not_start(cause);
                true
            }
            Way::Starting => {
                field.way = Way::Halted;
                false
            }
            // It will be restarted with its group, which answers this too.
            Way::ToHalt | Way::Halting | Way::Halted if field.owed > 0 => {
                field.owed += 1;
                true
            }
            _ => false,
        }
    }

    /// The new instance is not to be, since one of its fields is not.
    pub(super) fn field_did_not_start(&mut self, cause: Fault) {
        let Some((_, hook)) = self.declaring.take() else { return };
        self.did_not_start(&hook, cause);
        let survivors = if let Call::Rebuild(_) = hook { self.survivors.clone() } else { BTreeSet::new() };
        self.stop_unwatched(|child| !survivors.contains(&child));
    }

    /// Another restart, or half of one, comes while fields are starting.
    pub(super) fn forget_declarations(&mut self) {
        if let Some((_, hook)) = self.declaring.take() {
            self.does.push(Effect::DropInstance);
            if let Call::Rebuild(_) = hook {
                self.release_survivors();
            }
        }
    }

    pub(super) fn has_lost_what_is_significant(&self) -> bool {
        let mut significant = self.fields.iter().filter(|field| field.spec.significant);
        match self.auto_shutdown {
            AutoShutdown::Never => false,
            AutoShutdown::AnySignificant => significant.any(|field| field.ended_by_itself),
            AutoShutdown::AllSignificant => {
                significant.clone().count() > 0 && significant.all(|field| field.ended_by_itself)
            }
        }
    }

    /// What a child is owed by restarts that have not reached it.
    pub(super) fn take_owed(&mut self, id: ChildId) -> u32 {
        let by_round = self.child(id).waits.take().map_or(0, |wait| wait.owed);
        by_round + self.field(id).map_or(0, |field| std::mem::take(&mut field.owed))
    }

    pub(super) fn restart_survivor(&mut self, id: ChildId, cause: Fault) {
        if self.children.contains_key(&id) {
            let owed = self.take_owed(id) + 1;
            if self.is_temporary(id) {
                self.stop_now(id);
            } else {
                self.restart_child(id, cause, owed, false);
            }
        }
    }

    /// Restarts a child now; a field of a group, in its turn.
    pub(super) fn restart_child(&mut self, id: ChildId, cause: Fault, owed: u32, grouped: bool) {
        let Some(at) = self.place_of(id) else { return self.recreate_child(id, cause, owed) };
        match self.fields[at].way {
            Way::Ending | Way::Down | Way::ToStart => {}
            Way::Missing => {
                self.fields[at].way = Way::ToStart;
                if !grouped {
                    self.start_field(at);
                }
            }
            way if grouped => {
                self.reason = Some(cause);
                self.fields[at].owed = owed;
                if matches!(way, Way::Up | Way::Starting) {
                    self.fields[at].way = Way::ToHalt;
                }
            }
            way => {
                // What its group wanted of it is done with this.
                match way {
                    Way::Halted => self.fields[at].way = Way::Starting,
                    Way::ToHalt | Way::Halting => self.fields[at].way = Way::Up,
                    _ => {}
                }
                self.recreate_child(id, cause, owed);
            }
        }
    }

    /// The first suspension is answered by the restart, each further one by a bare Resume.
    fn recreate_child(&mut self, id: ChildId, cause: Fault, owed: u32) {
        let actor = self.child(id).actor;
        self.send(actor, SystemMessage::Recreate(cause));
        for _ in 1..owed {
            self.send(actor, SystemMessage::Resume(None));
        }
    }
}

impl Field {
    pub(super) fn is_down(&mut self) {
        self.child = None;
        self.way = Way::Down;
        self.owed = 0;
    }
}
