//! The children of a model, dynamic and declared, and the actors that it watches.

use std::collections::{BTreeMap, VecDeque};

use supervise_core::supervision::{Cause, ChildId, Effect, HowEnded, SystemMessage, Time};

use super::fields::Consequence;
use super::rulings::Wait;
use super::{Code, Instance, Model, Stage, ends_an_instance};
use crate::fault::Fault;
use crate::world::{Id, Message};

#[derive(Debug, Clone)]
pub(super) struct Child {
    pub(super) actor: Id,
    /// `None` for the child of a field, whose name nobody else can have.
    pub(super) name: Option<usize>,
    pub(super) asked_to_stop: bool,
    /// When restarts were asked for.
    pub(super) restarts: Vec<Time>,
    /// The same, by the number of the rule.
    pub(super) by_rule: BTreeMap<u16, Vec<Time>>,
    /// When its restarts under a backoff were due, since its last quiet time.
    pub(super) delays: Vec<Time>,
    /// The time of the failure that got the first of them.
    pub(super) failing_since: Time,
    /// How many times it had run, by its last report.
    pub(super) runs: u8,
    /// How many times it had run when it last got a delay.
    pub(super) runs_counted: u8,
    pub(super) waits: Option<Wait>,
    /// How many restarts it was sent.
    pub(super) restarts_sent: u32,
    /// It was told to restart together with siblings, and has not said that its instance is replaced.
    pub(super) to_be_replaced: bool,
}

impl Child {
    /// A child that has not failed yet.
    pub(super) fn new(actor: Id, name: Option<usize>) -> Self {
        Self {
            actor,
            name,
            asked_to_stop: false,
            restarts: Vec::new(),
            by_rule: BTreeMap::new(),
            delays: Vec::new(),
            failing_since: Time::ZERO,
            runs: 0,
            runs_counted: 0,
            waits: None,
            restarts_sent: 0,
            to_be_replaced: false,
        }
    }
}

impl Model {
    pub(super) fn child(&mut self, id: ChildId) -> &mut Child {
        self.children.get_mut(&id).expect("a child that is there")
    }

    pub(super) fn ended(&mut self, subject: Id, child: Option<ChildId>, how: HowEnded) {
        if let Some((_, news @ None)) = self.watching.get_mut(&subject) {
            *news = Some(how);
            self.does.push(Effect::Enqueue(subject));
        }
        let Some(id) = child else { return };
        let asked = self.children.get(&id).is_some_and(|child| child.asked_to_stop);
        self.line.retain(|other| *other != id);
        let consequence = self.fields.ended(id, asked, self.is_stopping());
        if consequence == Consequence::MustComeBack {
            let sent = self.child(id).restarts_sent;
            self.reports.push_back((id, Fault::end_of_permanent(), sent, 0));
            return;
        }
        let ends_too = consequence == Consequence::Counts && self.fields.end_their_parent(self.is_replaced());
        self.children.remove(&id);
        self.stop_next_in_line();
        if ends_too && !self.is_stopping() {
            self.does.push(Effect::EndsByItself);
            self.stop_self();
        }
        self.go_on();
    }

    /// Whether the instance is gone, or will be replaced.
    fn is_replaced(&self) -> bool {
        let builds = self.fields.are_declared() || matches!(self.code, Some(Code::Hook(_)));
        self.stage != Stage::Living
            || self.queue.iter().any(ends_an_instance)
            || (self.instance != Instance::Ready && !builds)
    }

    pub(super) fn stop_watching(&mut self, subject: Id) {
        if self.watching.remove(&subject).is_some() {
            self.does.push(Effect::Unwatch(subject));
        }
    }

    pub(super) fn stop_unwatched(&mut self, which: impl Fn(ChildId) -> bool) {
        let children: Vec<_> = self.children.keys().copied().filter(|id| which(*id)).collect();
        for id in &children {
            let actor = self.child(*id).actor;
            self.stop_watching(actor);
        }
        self.stop_group(&children);
    }

    /// The last one first. Fields come after all others, and one after another.
    pub(super) fn stop_group(&mut self, group: &[ChildId]) {
        for id in group.iter().rev().filter(|id| !self.fields.has(**id)).copied().collect::<Vec<_>>() {
            self.stop_now(id);
        }
        let mut line = VecDeque::new();
        for id in self.fields.children().rev().collect::<Vec<_>>() {
            if self.line.contains(&id) || (group.contains(&id) && self.is_to_end(id)) {
                line.push_back(id);
            }
        }
        self.line = line;
        self.stop_next_in_line();
    }

    pub(super) fn stop_now(&mut self, id: ChildId) {
        if self.is_to_end(id) {
            let actor = self.child(id).actor;
            self.send(actor, SystemMessage::Terminate);
        }
    }

    /// Notes that a child must end. Returns whether it exists and its stop was not requested before.
    fn is_to_end(&mut self, id: ChildId) -> bool {
        if self.fields.let_go(id) {
            self.children.remove(&id);
            return false;
        }
        let Some(child) = self.children.get_mut(&id) else { return false };
        child.waits = None;
        !std::mem::replace(&mut child.asked_to_stop, true)
    }

    /// The next child in line is asked when all that were asked before have ended.
    fn stop_next_in_line(&mut self) {
        let to_end = self.children.values().filter(|child| child.asked_to_stop).count();
        if to_end == self.line.len()
            && let Some(next) = self.line.pop_front()
        {
            let actor = self.child(next).actor;
            self.send(actor, SystemMessage::Terminate);
        }
    }

    pub(super) fn send_all(&mut self, message: &Message) {
        for child in self.children().copied().collect::<Vec<_>>() {
            self.send(child, message.clone());
        }
    }

    pub(super) fn send(&mut self, to: Id, message: Message) {
        self.does.push(Effect::Send(to, message));
    }
}
