//! How effects are performed.

use supervise_core::supervision::{ChildId, Effect, HowEnded, SystemMessage, Timer};

use super::{Cell, Entry, Id, Message, STOP_TIMEOUT, World};
use crate::fault::Fault;

impl World {
    pub(super) fn perform(&mut self, id: Id, effect: Effect<Id, Fault>) {
        match effect {
            Effect::Send(to, message) => self.send(to, message),
            Effect::Watch(subject) => self.send(subject, SystemMessage::Watch(id)),
            Effect::Unwatch(subject) => self.send(subject, SystemMessage::Unwatch(id)),
            Effect::Enqueue(subject) => self.push(id, Entry::Terminated(subject)),
            Effect::Arm(timer, delay) => {
                let due = self.now + delay.unwrap_or(STOP_TIMEOUT);
                self.disarm(id, timer);
                self.cell_mut(id).timers.push((due, timer));
                self.timers.insert((due, id, timer));
            }
            Effect::Disarm(timer) => self.disarm(id, timer),
            Effect::Abort => self.cell_mut(id).abort = true,
            Effect::DropInstance => self.cell_mut(id).watchdog.instance_dropped(),
            Effect::CloseUserLane => self.close_user_lane(id),
            Effect::CloseSystemLane => self.close_system_lane(id),
            Effect::TellParent(how) => {
                if let Some(parent) = self.cell(id).parent {
                    let child = Some(self.cell(id).child);
                    self.send(parent, SystemMessage::Ended { subject: id, child, how });
                }
            }
            Effect::TellWatcher(watcher, how) => {
                if self.cell(id).parent != Some(watcher) {
                    self.send(watcher, SystemMessage::Ended { subject: id, child: None, how });
                }
            }
            Effect::AnnounceStop | Effect::EndsByItself | Effect::Note(_) | Effect::Charge(_) => {}
            Effect::Call(call) => self.cell_mut(id).call = Some(call),
            Effect::StartChild(at) => self.start_field(id, at),
            Effect::TellReplaced => self.tell_of_progress(id, SystemMessage::Replaced),
            Effect::TellStarted => self.tell_of_progress(id, SystemMessage::Started),
            Effect::TellRestartPrepared => self.tell_of_progress(id, SystemMessage::RestartPrepared),
            Effect::Decide(..) | Effect::RestartEnded(..) | Effect::Report { .. } => {
                unreachable!("answered in `step`")
            }
        }
    }

    fn start_field(&mut self, parent: Id, at: usize) {
        let role = self.profile.roles[self.cell(parent).role].fields[at].1;
        let child = Id::try_from(self.cells.len()).expect("worlds are small");
        let mut made = None;
        self.cell_mut(parent).protocol.spawn_field(at, |_, id, inherited| {
            made = Some((id, inherited));
            child
        });
        if let Some((id, inherited)) = made {
            let Cell { model, watchdog, .. } = self.cell_mut(parent);
            model.spawn_field(at, id, child);
            watchdog.field_spawned(at, child, id);
            self.add(Some(parent), id, role, inherited, true);
        }
    }

    fn tell_of_progress(&mut self, id: Id, message: fn(ChildId) -> Message) {
        let Cell { parent, child, .. } = *self.cell(id);
        if let Some(parent) = parent {
            self.send(parent, message(child));
        }
    }

    fn disarm(&mut self, id: Id, timer: Timer) {
        let cell = self.cell_mut(id);
        if let Some(at) = cell.timers.iter().position(|(_, other)| *other == timer) {
            let (due, _) = cell.timers.swap_remove(at);
            self.timers.remove(&(due, id, timer));
        }
    }

    pub(crate) fn send(&mut self, to: Id, message: Message) {
        if self.cell(to).closed {
            self.answer_for_the_dead(to, &message);
        } else {
            self.cell_mut(to).system.push_back(message);
            self.refresh(to);
        }
    }

    fn answer_for_the_dead(&mut self, dead: Id, message: &Message) {
        match *message {
            SystemMessage::Watch(watcher) => {
                let how = HowEnded::AlreadyGone;
                self.send(watcher, SystemMessage::Ended { subject: dead, child: None, how });
            }
            SystemMessage::Failed { child, .. } => {
                self.ledger.settled += u32::from(!self.cell(dead).watchdog.was_field(child));
            }
            _ => {}
        }
    }

    pub(super) fn push(&mut self, to: Id, entry: Entry) {
        if self.cell(to).closed {
            self.ledger.dead += u32::from(matches!(entry, Entry::Message(_)));
        } else {
            self.cell_mut(to).user.push_back(entry);
            self.refresh(to);
        }
    }

    fn close_user_lane(&mut self, id: Id) {
        let cell = self.cell_mut(id);
        cell.closed = true;
        let user = std::mem::take(&mut cell.user);
        for (due, timer) in std::mem::take(&mut cell.timers) {
            self.timers.remove(&(due, id, timer));
        }
        for entry in user {
            self.ledger.dead += u32::from(matches!(entry, Entry::Message(_)));
        }
        if let Some(parent) = self.cell(id).parent {
            self.cell_mut(parent).watchdog.living_children -= 1;
        }
        self.living.remove(id);
    }

    /// Nothing happens between the effects of one step, so a message to a closed cell may be answered at once.
    fn close_system_lane(&mut self, id: Id) {
        for message in std::mem::take(&mut self.cell_mut(id).system) {
            self.answer_for_the_dead(id, &message);
        }
    }
}
