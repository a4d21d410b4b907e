//! What user code does, and how it uses its context.

use std::rc::Rc;

use supervise_core::supervision::{Call, ChildId, Effect, SystemMessage, WatchKind};

use super::{Cell, Effects, Id, World, disagreement};
use crate::fault::Fault;
use crate::invariants::Watchdog;
use crate::model::agree;
use crate::profile::{Choices, Conduct, Deed, pick};

/// How user code uses its context.
#[derive(Debug, Clone, Copy)]
pub(super) enum Command {
    StopChild(ChildId),
    StopChildren,
    Watch(Id, WatchKind),
    Unwatch(Id),
}

impl World {
    pub(super) fn may_misbehave(&self) -> bool {
        !self.calm && self.budget.stimuli > 0
    }

    pub(super) fn spend(&mut self) {
        self.budget.stimuli -= 1;
    }

    pub(super) fn conduct(&mut self, choices: &mut impl Choices) -> Conduct {
        self.conduct_of(choices, |_| true)
    }

    pub(super) fn conduct_of(
        &mut self,
        choices: &mut impl Choices,
        possible: impl Fn(Conduct) -> bool,
    ) -> Conduct {
        if !self.may_misbehave() {
            return Conduct::Succeed;
        }
        let menu = &self.profile.conduct;
        let mut weights = menu.iter().map(|(conduct, weight)| if possible(*conduct) { *weight } else { 0 });
        let conduct = menu[choices.pick(&mut weights)].0;
        if conduct != Conduct::Succeed {
            self.spend();
        }
        conduct
    }

    pub(super) fn hook_deeds(&mut self, id: Id, call: &Call<Fault>, choices: &mut impl Choices) {
        match call {
            Call::Create | Call::StartNewInstance(_) => self.restore_children(id),
            Call::PreRestart { .. } => {
                let profile = Rc::clone(&self.profile);
                let deed =
                    if self.calm { Deed::StopAllChildren } else { pick(choices, &profile.pre_restart_deeds) };
                self.deed(id, deed, choices);
            }
            Call::PostStop { .. } | Call::Build | Call::Declare(_) => {}
        }
    }

    pub(super) fn handler_deed(&mut self, id: Id, by_message: bool, choices: &mut impl Choices) {
        if !self.calm && by_message {
            let profile = Rc::clone(&self.profile);
            let deed = pick(choices, &profile.handler_deeds);
            self.deed(id, deed, choices);
        }
    }

    fn deed(&mut self, id: Id, deed: Deed, choices: &mut impl Choices) {
        match deed {
            Deed::Nothing => {}
            Deed::SpawnAnother => {
                let role = self.profile.roles.len() - 1;
                let name = self.profile.names.len() - 1;
                self.spawn(id, name, role);
            }
            Deed::StopOneChild => {
                let child = self.cell(id).protocol.children().next().map(|(_, child)| *child);
                if let Some(child) = child {
                    self.stop(child);
                }
            }
            Deed::StopAllChildren => {
                let children: Vec<Id> = self.cell(id).protocol.children().map(|(_, child)| *child).collect();
                let watchdog = &mut self.cell_mut(id).watchdog;
                for child in children {
                    watchdog.watches.remove(&child);
                }
                self.command(id, Command::StopChildren);
            }
            Deed::StopItself => self.send(id, SystemMessage::Terminate),
            Deed::WatchAnother => {
                let subject = self.another(id, choices);
                if subject != id && !self.cell(id).protocol.is_stopping() {
                    let kind = if self.profile.death_pacts && self.next_message.is_multiple_of(4) {
                        WatchKind::DeathPact
                    } else {
                        WatchKind::Notify
                    };
                    self.command(id, Command::Watch(subject, kind));
                    self.cell_mut(id).watchdog.watches.insert(subject);
                }
            }
            Deed::UnwatchAnother => {
                let subject = self.cell(id).protocol.watched().min().copied();
                if let Some(subject) = subject {
                    self.command(id, Command::Unwatch(subject));
                    self.cell_mut(id).watchdog.watches.remove(&subject);
                }
            }
        }
    }

    /// Any cell that ever existed, preferably a recent one.
    fn another(&self, id: Id, choices: &mut impl Choices) -> Id {
        let count = self.cells.len();
        let near = count.saturating_sub(64)..count;
        let offset = choices.pick(&mut near.clone().map(|other| u32::from(other != id as usize || count == 1)));
        Id::try_from(near.start + offset).expect("worlds are small")
    }

    /// Starts the children of its role that do not exist.
    fn restore_children(&mut self, id: Id) {
        let profile = Rc::clone(&self.profile);
        for (name, role) in &profile.roles[self.cell(id).role].children {
            self.spawn(id, *name, *role);
        }
    }

    fn spawn(&mut self, parent: Id, name: usize, role: usize) {
        let profile = Rc::clone(&self.profile);
        let child = Id::try_from(self.cells.len()).expect("worlds are small");
        let mut made = None;
        let spawned = self.cell_mut(parent).protocol.spawn(&profile.names[name], |id, inherited| {
            made = Some((id, inherited));
            child
        });
        Watchdog::spawned(self, parent, name, child, spawned.is_ok());
        let granted = self.cell_mut(parent).model.spawn(name, made.map(|(id, _)| (id, child)));
        if granted != spawned.is_ok() {
            let what = format!("{parent} spawns {name}: {spawned:?}, the model: {granted}");
            self.disagreement = self.disagreement.take().or(disagreement(what).err());
        }
        if let Some((id, inherited)) = made {
            self.add(Some(parent), id, role, inherited, false);
        }
    }

    pub(super) fn command(&mut self, id: Id, command: Command) {
        let mut effects = Effects::new();
        let Cell { protocol, model, watchdog, .. } = self.cell_mut(id);
        match command {
            Command::StopChild(child) => watchdog.fields.let_go(Some(child)),
            Command::StopChildren => watchdog.fields.let_go(None),
            Command::Watch(..) | Command::Unwatch(_) => {}
        }
        let expected = match command {
            Command::StopChild(child) => {
                protocol.stop_child(child, &mut effects);
                model.stop_child(child)
            }
            Command::StopChildren => {
                protocol.stop_children(&mut effects);
                model.stop_children()
            }
            Command::Watch(subject, kind) => {
                protocol.watch(&subject, kind, &mut effects);
                model.watch(subject, kind)
            }
            Command::Unwatch(subject) => {
                protocol.unwatch(&subject, &mut effects);
                model.unwatch(subject)
            }
        };
        let agreed = if agree(&expected, &effects, false) {
            Self::agree_about_state(self.cell(id))
        } else {
            disagreement(format!("at {command:?} the protocol does {effects:?}, the model {expected:?}"))
        };
        self.disagreement = self.disagreement.take().or(agreed.err());
        for effect in effects {
            match effect {
                Effect::Send(to, message) => {
                    if message == SystemMessage::Terminate {
                        self.cell_mut(id).watchdog.stopping.insert(to);
                    }
                    self.send(to, message);
                }
                Effect::Watch(subject) => self.send(subject, SystemMessage::Watch(id)),
                Effect::Unwatch(subject) => self.send(subject, SystemMessage::Unwatch(id)),
                other => unreachable!("a command has no such effect: {other:?}"),
            }
        }
        self.refresh(id);
    }
}
