//! A world of cells: their queues, timers and user code in plain single-threaded code. The protocol decides, as in the
//! real cell; what a runtime and users would do is an [`Action`] or a pick of [`Choices`].
//!
//! A cell takes its turn as `supervise-core/src/cell/run.rs` does: a call that is due, then the system lane, then the
//! user lane; while its code is parked, the system lane only.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use supervise_core::supervision::{
    Backoff, Call, Cause, ChildId, ChildSpec, Directive, Effect, HowEnded, Input, OnLimit, Protocol, Returned,
    Ruling, Scope, Strategy, SystemMessage, Time, Timer, WatchKind,
};

use crate::invariants::{Invariant, Ledger, Violation, Watchdog};
use crate::model::{Model, agree};

pub(crate) type Id = u32;
pub(crate) type Message = SystemMessage<Id, Fault>;
pub(crate) type Effects = Vec<Effect<Id, Fault>>;

pub(crate) const ROOT: Id = 0;
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a cell failed: where it began, and how it was wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Fault {
    pub(crate) origin: Id,
    pub(crate) wrapping: Wrapping,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Wrapping {
    Bare,
    Initialization,
    Restart,
    /// A permanent child ended by itself.
    Ended,
}

impl Cause for Fault {
    fn at_initialization(self) -> Self {
        Self { wrapping: Wrapping::Initialization, ..self }
    }

    fn at_restart(self, _: Self) -> Self {
        Self { wrapping: Wrapping::Restart, ..self }
    }

    fn is_initialization(&self) -> bool {
        matches!(self.wrapping, Wrapping::Initialization | Wrapping::Restart)
    }

    fn end_of_permanent() -> Self {
        Self { origin: Id::MAX, wrapping: Wrapping::Ended }
    }
}

/// What a decider may answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Verdict {
    Resume,
    Restart,
    RestartLater,
    Stop,
    Escalate,
    Fail,
}

/// What a piece of user code does in the end. The harmless outcome comes first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Conduct {
    Succeed,
    /// Fails before it did anything else; where there is a factory, in the factory.
    FailEarly,
    FailLate,
    /// Waits, then comes back.
    Park,
    /// Waits until it is aborted.
    Hang,
}

/// What user code does on its way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Deed {
    Nothing,
    SpawnAnother,
    StopOneChild,
    StopAllChildren,
    StopItself,
    WatchAnother,
    UnwatchAnother,
}

/// Options and how likely each is. One of weight zero is never picked.
pub(crate) type Menu<T> = Vec<(T, u32)>;

/// One kind of cell: its children and how it supervises them.
#[derive(Debug, Clone)]
pub(crate) struct Role {
    /// Names (as indices) and roles of the children it starts with, and restores when it is restarted.
    pub(crate) children: Vec<(usize, usize)>,
    /// Its declared children, and their roles.
    pub(crate) fields: Vec<(ChildSpec, usize)>,
    pub(crate) strategy: Strategy,
    pub(crate) verdicts: Menu<Verdict>,
}

/// What may happen in a world.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The first is the root's.
    pub(crate) roles: Vec<Role>,
    /// One for each name that a role or a handler uses.
    pub(crate) names: Vec<Arc<str>>,
    pub(crate) conduct: Menu<Conduct>,
    pub(crate) handler_deeds: Menu<Deed>,
    pub(crate) pre_restart_deeds: Menu<Deed>,
    pub(crate) death_pacts: bool,
    pub(crate) backoff: Backoff,
    /// Whether a failing child may decide in place of its idle parent.
    pub(crate) in_place: Menu<bool>,
}

/// How much may still be done to a world from outside. A parked, hanging or failing piece of user code counts too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    pub(crate) messages: u32,
    pub(crate) stimuli: u32,
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Action {
    /// A cell takes its turn.
    Turn(Id),
    /// Parked code comes back.
    Return(Id),
    /// The earliest timer is due.
    Fire,
    /// Time passes.
    Wait,
    Tell(Id),
    Stop(Id),
    Kill(Id),
    Poison(Id),
}

/// Where the picks come from: chance, an enumeration or a recording.
pub(crate) trait Choices {
    /// Picks an index whose weight is not zero. There is at least one.
    fn pick(&mut self, weights: &mut dyn Iterator<Item = u32>) -> usize;
}

fn pick<T: Copy>(choices: &mut impl Choices, menu: &[(T, u32)]) -> T {
    menu[choices.pick(&mut menu.iter().map(|(_, weight)| *weight))].0
}

/// What user code asks of its context.
#[derive(Debug, Clone, Copy)]
enum Command {
    StopChild(ChildId),
    StopChildren,
    Watch(Id, WatchKind),
    Unwatch(Id),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Entry {
    Message(u32),
    Terminated(Id),
    Kill,
    Poison,
}

/// User code that waits at an await point.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Parked {
    pub(crate) code: Code,
    pub(crate) hangs: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Code {
    /// With the number of its message, if it was one.
    Handler(Option<u32>),
    Hook(Call<Fault>),
}

#[derive(Debug, Clone, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Cell {
    pub(crate) protocol: Protocol<Id, Fault>,
    pub(crate) parent: Option<Id>,
    pub(crate) child: ChildId,
    pub(crate) is_field: bool,
    pub(crate) role: usize,
    pub(crate) begun: bool,
    pub(crate) system: VecDeque<Message>,
    pub(crate) user: VecDeque<Entry>,
    pub(crate) call: Option<Call<Fault>>,
    pub(crate) parked: Option<Parked>,
    pub(crate) abort: bool,
    pub(crate) timers: Vec<(Time, Timer)>,
    pub(crate) closed: bool,
    pub(crate) watchdog: Watchdog,
    pub(crate) model: Model,
}

#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) plan: Rc<Plan>,
    pub(crate) cells: Vec<Rc<Cell>>,
    pub(crate) now: Time,
    pub(crate) budget: Budget,
    /// Nothing fails, parks or is done from outside any more; what is parked comes back.
    pub(crate) calm: bool,
    pub(crate) timers: BTreeSet<(Time, Id, Timer)>,
    pub(crate) ledger: Ledger,
    /// Who may take a turn, and whose parked code may come back. Kept for schedulers that cannot look at all cells.
    pub(crate) ready: Index,
    pub(crate) waiting: Index,
    pub(crate) living: Index,
    next_message: u32,
    scratch: Effects,
    /// A command that the model took otherwise.
    disagreement: Option<Violation>,
    /// Tells each turn on standard error.
    pub(crate) loud: bool,
}

type Step = Result<(), Violation>;

impl World {
    pub(crate) fn new(plan: Rc<Plan>, budget: Budget) -> Self {
        let mut world = Self {
            plan,
            cells: Vec::new(),
            now: Time::ZERO,
            budget,
            calm: false,
            timers: BTreeSet::new(),
            ledger: Ledger::default(),
            ready: Index::default(),
            waiting: Index::default(),
            living: Index::default(),
            next_message: 0,
            scratch: Vec::new(),
            disagreement: None,
            loud: false,
        };
        world.add(None, ChildId::ROOT, 0, 0, false);
        world
    }

    fn add(&mut self, parent: Option<Id>, child: ChildId, role: usize, inherited: u32, is_field: bool) -> Id {
        let id = Id::try_from(self.cells.len()).expect("worlds are small");
        let Role { fields, strategy, .. } = &self.plan.roles[role];
        let specs: Vec<ChildSpec> = fields.iter().map(|(spec, _)| *spec).collect();
        let mut protocol = Protocol::new(inherited).with_fields(&specs, strategy.auto_shutdown);
        let mut model = Model::new(inherited).with_fields(&specs, strategy.auto_shutdown);
        if is_field {
            (protocol, model) = (protocol.as_field(), model.of_field());
        }
        self.cells.push(Rc::new(Cell {
            protocol,
            parent,
            child,
            is_field,
            role,
            begun: false,
            system: VecDeque::new(),
            user: VecDeque::new(),
            call: None,
            parked: None,
            abort: false,
            timers: Vec::new(),
            closed: false,
            watchdog: Watchdog::new(inherited, specs, strategy.scope),
            model,
        }));
        self.living.insert(id);
        self.ready.insert(id);
        id
    }

    pub(crate) fn cell(&self, id: Id) -> &Cell {
        &self.cells[id as usize]
    }

    pub(crate) fn cell_mut(&mut self, id: Id) -> &mut Cell {
        Rc::make_mut(&mut self.cells[id as usize])
    }

    /// All that can ever make a difference to what happens next.
    pub(crate) fn fingerprint(&self) -> u128 {
        let mut hasher = Fingerprint::default();
        for cell in &self.cells {
            if cell.closed {
                hasher.write_u8(0xff);
            } else {
                cell.hash(&mut hasher);
            }
        }
        (self.now, self.budget, self.ledger.outstanding()).hash(&mut hasher);
        hasher.value()
    }

    // ---- what may happen -----------------------------------------------------------------------------------------

    pub(crate) fn can(&self, action: Action) -> bool {
        match action {
            Action::Turn(id) => self.cells.get(id as usize).is_some_and(|cell| cell.has_turn()),
            Action::Return(id) => self.cells.get(id as usize).is_some_and(|cell| cell.may_return(self.calm)),
            Action::Fire => {
                self.timers.first().is_some_and(|(_, id, _)| self.cell(*id).call.is_none() && self.cell(*id).begun)
            }
            Action::Wait => !self.calm,
            Action::Tell(id) => !self.calm && self.budget.messages > 0 && (id as usize) < self.cells.len(),
            Action::Stop(id) | Action::Kill(id) | Action::Poison(id) => {
                !self.calm
                    && self.budget.stimuli > 0
                    && self.cells.get(id as usize).is_some_and(|cell| !cell.closed)
            }
        }
    }

    pub(crate) fn act(&mut self, action: Action, choices: &mut impl Choices) -> Step {
        if self.loud {
            eprintln!("{:>9.3?}  {}", self.now, self.describe(action));
        }
        let taken = self.take_action(action, choices);
        self.disagreement.take().map_or(taken, Err)
    }

    fn take_action(&mut self, action: Action, choices: &mut impl Choices) -> Step {
        match action {
            Action::Turn(id) => self.turn(id, choices),
            Action::Return(id) => self.come_back(id, choices),
            Action::Fire => self.fire(choices),
            Action::Wait => {
                self.now += Duration::from_secs(7);
                Ok(())
            }
            Action::Tell(id) => {
                self.budget.messages -= 1;
                self.next_message += 1;
                self.ledger.told += 1;
                let message = Entry::Message(self.next_message);
                self.push(id, message);
                Ok(())
            }
            Action::Stop(id) => {
                self.budget.stimuli -= 1;
                self.stop(id);
                Ok(())
            }
            Action::Kill(id) => {
                self.budget.stimuli -= 1;
                self.push(id, Entry::Kill);
                Ok(())
            }
            Action::Poison(id) => {
                self.budget.stimuli -= 1;
                self.push(id, Entry::Poison);
                Ok(())
            }
        }
    }

    /// As `AnyActorRef::stop`: through the parent, so that it knows whom it waits for.
    pub(crate) fn stop(&mut self, id: Id) {
        match self.cell(id).parent {
            Some(parent) => {
                let child = self.cell(id).child;
                self.command(parent, Command::StopChild(child));
            }
            None => self.send(id, SystemMessage::Terminate),
        }
    }

    fn describe(&self, action: Action) -> String {
        let next = |id: Id| {
            let cell = self.cell(id);
            if !cell.begun {
                "begins".to_owned()
            } else if let Some(call) = &cell.call {
                format!("runs {call:?}")
            } else if let Some(message) = cell.system.front() {
                format!("gets {message:?}")
            } else if cell.abort {
                format!("drops {:?}", cell.parked)
            } else {
                format!("handles {:?}", cell.user.front())
            }
        };
        match action {
            Action::Turn(id) => format!("{id} {}", next(id)),
            Action::Return(id) => format!("{id} has {:?} come back", self.cell(id).parked),
            Action::Fire => format!("{:?} is due", self.timers.first()),
            other => format!("{other:?}"),
        }
    }

    // ---- a cell's turn -------------------------------------------------------------------------------------------

    fn turn(&mut self, id: Id, choices: &mut impl Choices) -> Step {
        let cell = self.cell_mut(id);
        if !cell.begun {
            cell.begun = true;
            self.step(id, Input::Begin, choices)
        } else if let Some(call) = cell.call.take() {
            self.call(id, call, choices)
        } else if let Some(message) = cell.system.pop_front() {
            Watchdog::delivered(self, id, &message)?;
            self.step(id, Input::Message(message), choices)
        } else if cell.abort {
            self.aborted(id, choices)
        } else if let Some(entry) = cell.user.pop_front() {
            self.handle(id, &entry, choices)
        } else {
            unreachable!("no turn without something to do")
        }
    }

    fn handle(&mut self, id: Id, entry: &Entry, choices: &mut impl Choices) -> Step {
        Watchdog::may_handle(self, id)?;
        let fault = Fault { origin: id, wrapping: Wrapping::Bare };
        match *entry {
            Entry::Message(number) => {
                self.cell_mut(id).watchdog.in_order(id, number)?;
                self.handler(id, Some(number), choices)
            }
            Entry::Terminated(subject) => match self.dequeued(id, subject)? {
                None => {
                    self.refresh(id);
                    Ok(())
                }
                Some(kind) => {
                    Watchdog::told_of_end(self, id, subject)?;
                    match kind {
                        WatchKind::DeathPact => self.step(id, Input::Returned(Returned::Err(fault)), choices),
                        WatchKind::Notify | WatchKind::Message => self.handler(id, None, choices),
                    }
                }
            },
            Entry::Kill => self.step(id, Input::Returned(Returned::Err(fault)), choices),
            Entry::Poison => self.step(id, Input::Message(SystemMessage::Terminate), choices),
        }
    }

    fn dequeued(&mut self, id: Id, subject: Id) -> Result<Option<WatchKind>, Violation> {
        let cell = self.cell_mut(id);
        let (news, modelled) = (cell.protocol.dequeued(&subject), cell.model.dequeued(subject));
        if news != modelled {
            disagreement(format!("{id} is told of {subject}: {news:?}, the model: {modelled:?}"))?;
        }
        Ok(news.map(|(kind, _)| kind))
    }

    fn handler(&mut self, id: Id, message: Option<u32>, choices: &mut impl Choices) -> Step {
        let conduct = self.conduct(choices);
        if conduct != Conduct::FailEarly {
            self.handler_deed(id, message.is_some(), choices);
        }
        match conduct {
            Conduct::Park | Conduct::Hang => self.park(id, Code::Handler(message), conduct, choices),
            Conduct::Succeed => {
                self.ledger.handled += u32::from(message.is_some());
                self.refresh(id);
                Ok(())
            }
            Conduct::FailEarly | Conduct::FailLate => self.handler_failed(id, message, choices),
        }
    }

    fn handler_failed(&mut self, id: Id, message: Option<u32>, choices: &mut impl Choices) -> Step {
        self.ledger.failed += u32::from(message.is_some());
        let fault = Fault { origin: id, wrapping: Wrapping::Bare };
        self.step(id, Input::Returned(Returned::Err(fault)), choices)
    }

    fn call(&mut self, id: Id, call: Call<Fault>, choices: &mut impl Choices) -> Step {
        Watchdog::called(self, id, &call)?;
        let conduct = match call {
            // Neither can wait.
            Call::Build | Call::Declare(_) => {
                self.conduct_of(choices, |conduct| matches!(conduct, Conduct::Succeed | Conduct::FailEarly))
            }
            _ => self.conduct(choices),
        };
        if conduct != Conduct::FailEarly {
            self.hook_deeds(id, &call, choices);
        }
        match conduct {
            Conduct::Park | Conduct::Hang => self.park(id, Code::Hook(call), conduct, choices),
            Conduct::Succeed => self.hook_returned(id, &call, true, choices),
            Conduct::FailEarly | Conduct::FailLate => self.hook_returned(id, &call, false, choices),
        }
    }

    fn hook_returned(&mut self, id: Id, call: &Call<Fault>, well: bool, choices: &mut impl Choices) -> Step {
        let fault = Fault { origin: id, wrapping: Wrapping::Bare };
        self.cell_mut(id).watchdog.returned(call, well);
        let returned = if well { Returned::Ok } else { Returned::Err(fault) };
        self.step(id, Input::Returned(returned), choices)
    }

    fn park(&mut self, id: Id, code: Code, conduct: Conduct, choices: &mut impl Choices) -> Step {
        self.cell_mut(id).parked = Some(Parked { code, hangs: conduct == Conduct::Hang });
        self.step(id, Input::Parked, choices)
    }

    fn come_back(&mut self, id: Id, choices: &mut impl Choices) -> Step {
        let Some(parked) = self.cell_mut(id).parked.take() else {
            unreachable!("only parked code comes back");
        };
        let menu = [(true, 3), (false, u32::from(self.may_misbehave()))];
        let well = pick(choices, &menu);
        if !well {
            self.spend();
        }
        match parked.code {
            Code::Handler(message) => {
                self.handler_deed(id, message.is_some(), choices);
                if well {
                    self.ledger.handled += u32::from(message.is_some());
                    self.step(id, Input::Returned(Returned::Ok), choices)
                } else {
                    self.handler_failed(id, message, choices)
                }
            }
            Code::Hook(call) => self.hook_returned(id, &call, well, choices),
        }
    }

    fn aborted(&mut self, id: Id, choices: &mut impl Choices) -> Step {
        let cell = self.cell_mut(id);
        cell.abort = false;
        let Some(parked) = cell.parked.take() else {
            unreachable!("only parked code is aborted");
        };
        if let Code::Handler(Some(_)) = parked.code {
            self.ledger.aborted += 1;
        }
        self.step(id, Input::Returned(Returned::Aborted), choices)
    }

    fn fire(&mut self, choices: &mut impl Choices) -> Step {
        let Some((due, id, timer)) = self.timers.pop_first() else {
            unreachable!("no timer is due");
        };
        self.now = self.now.max(due);
        self.cell_mut(id).timers.retain(|(_, other)| *other != timer);
        self.step(id, Input::Due(timer), choices)
    }

    // ---- user code -----------------------------------------------------------------------------------------------

    fn may_misbehave(&self) -> bool {
        !self.calm && self.budget.stimuli > 0
    }

    fn spend(&mut self) {
        self.budget.stimuli -= 1;
    }

    fn conduct(&mut self, choices: &mut impl Choices) -> Conduct {
        self.conduct_of(choices, |_| true)
    }

    fn conduct_of(&mut self, choices: &mut impl Choices, possible: impl Fn(Conduct) -> bool) -> Conduct {
        if !self.may_misbehave() {
            return Conduct::Succeed;
        }
        let menu = &self.plan.conduct;
        let mut weights = menu.iter().map(|(conduct, weight)| if possible(*conduct) { *weight } else { 0 });
        let conduct = menu[choices.pick(&mut weights)].0;
        if conduct != Conduct::Succeed {
            self.spend();
        }
        conduct
    }

    fn hook_deeds(&mut self, id: Id, call: &Call<Fault>, choices: &mut impl Choices) {
        match call {
            Call::Create | Call::Rebuild(_) => self.restore_children(id),
            Call::PreRestart { .. } => {
                let plan = Rc::clone(&self.plan);
                let deed = if self.calm { Deed::StopAllChildren } else { pick(choices, &plan.pre_restart_deeds) };
                self.deed(id, deed, choices);
            }
            Call::PostStop { .. } | Call::Build | Call::Declare(_) => {}
        }
    }

    fn handler_deed(&mut self, id: Id, by_message: bool, choices: &mut impl Choices) {
        if !self.calm && by_message {
            let plan = Rc::clone(&self.plan);
            let deed = pick(choices, &plan.handler_deeds);
            self.deed(id, deed, choices);
        }
    }

    fn deed(&mut self, id: Id, deed: Deed, choices: &mut impl Choices) {
        match deed {
            Deed::Nothing => {}
            Deed::SpawnAnother => {
                let role = self.plan.roles.len() - 1;
                let name = self.plan.names.len() - 1;
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
                    let kind = if self.plan.death_pacts && self.next_message.is_multiple_of(4) {
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

    /// Any cell that ever was, but rather a late one.
    fn another(&self, id: Id, choices: &mut impl Choices) -> Id {
        let count = self.cells.len();
        let near = count.saturating_sub(64)..count;
        let offset = choices.pick(&mut near.clone().map(|other| u32::from(other != id as usize || count == 1)));
        Id::try_from(near.start + offset).expect("worlds are small")
    }

    /// Starts the children of its role that are not there.
    fn restore_children(&mut self, id: Id) {
        let plan = Rc::clone(&self.plan);
        for (name, role) in &plan.roles[self.cell(id).role].children {
            self.spawn(id, *name, *role);
        }
    }

    fn spawn(&mut self, parent: Id, name: usize, role: usize) {
        let plan = Rc::clone(&self.plan);
        let child = Id::try_from(self.cells.len()).expect("worlds are small");
        let mut made = None;
        let spawned = self.cell_mut(parent).protocol.spawn(&plan.names[name], |id, inherited| {
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

    fn start_field(&mut self, parent: Id, at: usize) {
        let role = self.plan.roles[self.cell(parent).role].fields[at].1;
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

    fn command(&mut self, id: Id, command: Command) {
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

    // ---- performing ----------------------------------------------------------------------------------------------

    fn step(&mut self, id: Id, input: Input<'_, Id, Fault>, choices: &mut impl Choices) -> Step {
        let plan = Rc::clone(&self.plan);
        let role = &plan.roles[self.cell(id).role];
        let mut effects = std::mem::take(&mut self.scratch);
        let mut next = Some(input);
        while let Some(input) = next.take() {
            Self::ask_both(self.cell_mut(id), input, &mut effects)?;
            Watchdog::inspect(self, id, &effects)?;
            for effect in effects.drain(..) {
                if self.loud {
                    eprintln!("{:>12}{effect:?}", "");
                }
                match effect {
                    Effect::Decide(child, cause) => {
                        Watchdog::may_decide(self, id, child, cause)?;
                        let verdict = self.verdict(id, cause, role, choices);
                        next = Some(Input::Decided(self.ruling(verdict, role)));
                    }
                    Effect::Renew(child) => {
                        Watchdog::may_renew(self, id, child)?;
                        next = Some(Input::Decided(self.ruling(Ok(Directive::Restart), role)));
                    }
                    Effect::Report(cause) => self.report(id, cause, choices)?,
                    other => self.perform(id, other),
                }
            }
        }
        self.scratch = effects;
        self.refresh(id);
        Ok(())
    }

    /// Asks the protocol and the model, which have to agree about what to do and how they are.
    fn ask_both(cell: &mut Cell, input: Input<'_, Id, Fault>, effects: &mut Effects) -> Step {
        let aborts = cell.model.aborts();
        let expected = cell.model.step(&input);
        cell.protocol.step(input, effects);
        if !agree(&expected, effects, aborts) {
            return disagreement(format!("the protocol does {effects:?}, the model {expected:?}"));
        }
        Self::agree_about_state(cell)
    }

    fn agree_about_state(Cell { model, protocol, .. }: &Cell) -> Step {
        let state = (protocol.suspensions(), protocol.is_stopping(), protocol.accepts_messages());
        let modelled = (model.suspensions(), model.is_stopping(), model.accepts_messages());
        let agreed = state == modelled
            && protocol.children().map(|(_, child)| child).eq(model.children())
            && protocol.watched().collect::<BTreeSet<_>>() == model.watched().collect();
        if protocol.has_ended() || agreed {
            Ok(())
        } else {
            disagreement(format!("the protocol is {protocol:?}, the model {model:?}"))
        }
    }

    fn ruling<'a>(&self, verdict: Result<Directive, Fault>, role: &'a Role) -> Ruling<'a, Fault> {
        Ruling { verdict, strategy: &role.strategy, now: self.now, draw: 0.0 }
    }

    fn verdict(&self, id: Id, cause: Fault, role: &Role, choices: &mut impl Choices) -> Result<Directive, Fault> {
        let verdict = if self.calm {
            // A world at rest must get to rest.
            if cause.is_initialization() { Verdict::Stop } else { Verdict::Restart }
        } else {
            pick(choices, &role.verdicts)
        };
        match verdict {
            Verdict::Resume => Ok(Directive::Resume),
            Verdict::Restart => Ok(Directive::Restart),
            Verdict::RestartLater => Ok(Directive::RestartAfter(self.plan.backoff)),
            Verdict::Stop => Ok(Directive::Stop),
            Verdict::Escalate => Ok(Directive::Escalate),
            Verdict::Fail => Err(Fault { origin: id, wrapping: Wrapping::Bare }),
        }
    }

    /// A failure on its way up. As in `supervise-core/src/cell/shell.rs`, an idle parent need not be asked.
    fn report(&mut self, id: Id, cause: Fault, choices: &mut impl Choices) -> Step {
        let Cell { parent, child, .. } = *self.cell(id);
        let Some(parent) = parent else {
            self.ledger.settled += 1;
            self.send(id, SystemMessage::Terminate);
            return Ok(());
        };
        let plan = Rc::clone(&self.plan);
        let above = self.cell(parent);
        let role = &plan.roles[above.role];
        let Strategy { scope, backoff, limit, on_limit, .. } = role.strategy;
        let takes_one_message =
            scope == Scope::OneForOne && backoff.is_none() && (limit.is_unlimited() || on_limit == OnLimit::Stop);
        let idle = above.system.is_empty() && above.protocol.restarts_if_idle(child).is_some();
        if takes_one_message && idle && !self.calm && pick(choices, &plan.in_place) {
            let verdict = self.verdict(parent, cause, role, choices);
            if verdict.is_ok() && self.decide_in_place(parent, child, cause, self.ruling(verdict, role))? {
                return Ok(());
            }
        }
        self.send(parent, SystemMessage::Failed { child, cause });
        Ok(())
    }

    /// I20. What comes of it is what the parent itself would have done.
    fn decide_in_place(
        &mut self,
        parent: Id,
        child: ChildId,
        cause: Fault,
        ruling: Ruling<'_, Fault>,
    ) -> Result<bool, Violation> {
        let mut effects = Effects::new();
        let mut asked = self.cell(parent).protocol.clone();
        let cell = self.cell_mut(parent);
        if cell.protocol.decide_if_idle(child, cause, ruling.clone(), &mut effects).is_err() {
            let untouched = Fingerprint::of(&cell.protocol) == Fingerprint::of(&asked);
            let refused = if untouched { Ok(false) } else { differs(format!("{parent} changed, and refused")) };
            return refused;
        }
        let mut expected = Effects::new();
        asked.step(Input::Message(SystemMessage::Failed { child, cause }), &mut expected);
        let question = std::mem::take(&mut expected);
        asked.step(Input::Decided(ruling.clone()), &mut expected);
        if question != [Effect::Decide(child, cause)]
            || expected != effects
            || Fingerprint::of(&cell.protocol) != Fingerprint::of(&asked)
        {
            return differs(format!("{parent} would {question:?} and {expected:?}, and has {effects:?}"));
        }
        cell.model.step(&Input::Message(SystemMessage::Failed { child, cause }));
        let modelled = cell.model.step(&Input::Decided(ruling));
        if !agree(&modelled, &effects, false) {
            disagreement(format!("in place of {parent}: {effects:?}, the model {modelled:?}"))?;
        }
        Self::agree_about_state(cell)?;
        Watchdog::may_decide(self, parent, child, cause)?;
        Watchdog::inspect(self, parent, &effects)?;
        for effect in effects {
            if self.loud {
                eprintln!("{:>12}in place of {parent}: {effect:?}", "");
            }
            self.perform(parent, effect);
        }
        Ok(true)
    }

    fn perform(&mut self, id: Id, effect: Effect<Id, Fault>) {
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
            Effect::Close => self.close(id),
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
            Effect::AnnounceStop | Effect::Note(_) => {}
            Effect::Call(call) => self.cell_mut(id).call = Some(call),
            Effect::StartChild(at) => self.start_field(id, at),
            Effect::TellStarted => self.tell_of_field(id, SystemMessage::Started),
            Effect::TellHalted => self.tell_of_field(id, SystemMessage::Halted),
            Effect::Decide(..) | Effect::Renew(_) | Effect::Report(_) => unreachable!("answered in `step`"),
        }
    }

    fn tell_of_field(&mut self, id: Id, message: fn(ChildId) -> Message) {
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

    fn push(&mut self, to: Id, entry: Entry) {
        if self.cell(to).closed {
            self.ledger.dead += u32::from(matches!(entry, Entry::Message(_)));
        } else {
            self.cell_mut(to).user.push_back(entry);
            self.refresh(to);
        }
    }

    fn close(&mut self, id: Id) {
        let cell = self.cell_mut(id);
        cell.closed = true;
        let system = std::mem::take(&mut cell.system);
        let user = std::mem::take(&mut cell.user);
        for (due, timer) in std::mem::take(&mut cell.timers) {
            self.timers.remove(&(due, id, timer));
        }
        for message in system {
            self.answer_for_the_dead(id, &message);
        }
        for entry in user {
            self.ledger.dead += u32::from(matches!(entry, Entry::Message(_)));
        }
        if let Some(parent) = self.cell(id).parent {
            self.cell_mut(parent).watchdog.living_children -= 1;
        }
        self.living.remove(id);
    }

    fn refresh(&mut self, id: Id) {
        let cell = &self.cells[id as usize];
        let (turn, back) = (cell.has_turn(), cell.may_return(self.calm));
        self.ready.set(id, turn);
        self.waiting.set(id, back);
    }

    /// Nothing is done to the world any more.
    pub(crate) fn calm_down(&mut self) {
        self.calm = true;
        for id in self.living.members.clone() {
            self.refresh(id);
        }
    }
}

fn disagreement(what: String) -> Step {
    Err(Violation { invariant: Invariant::AgreesWithModel, what })
}

fn differs(what: String) -> Result<bool, Violation> {
    Err(Violation { invariant: Invariant::InPlaceAsAbove, what })
}

impl Cell {
    fn has_turn(&self) -> bool {
        if self.closed {
            return false;
        }
        !self.begun
            || self.call.is_some()
            || !self.system.is_empty()
            || self.abort
            || (self.parked.is_none() && !self.user.is_empty() && self.protocol.accepts_messages())
    }

    fn may_return(&self, calm: bool) -> bool {
        !self.abort && self.parked.as_ref().is_some_and(|parked| !parked.hangs || calm)
    }
}

/// A set of cells from which one can be picked at once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    pub(crate) members: Vec<Id>,
    /// Where each is, plus one.
    places: Vec<u32>,
}

impl Index {
    fn set(&mut self, id: Id, is_in: bool) {
        if is_in { self.insert(id) } else { self.remove(id) }
    }

    fn insert(&mut self, id: Id) {
        if self.places.len() <= id as usize {
            self.places.resize(id as usize + 1, 0);
        }
        if self.places[id as usize] == 0 {
            self.members.push(id);
            self.places[id as usize] = u32::try_from(self.members.len()).expect("worlds are small");
        }
    }

    fn remove(&mut self, id: Id) {
        let Some(place) = self.places.get_mut(id as usize) else { return };
        let at = std::mem::take(place) as usize;
        if at > 0 {
            self.members.swap_remove(at - 1);
            if let Some(moved) = self.members.get(at - 1) {
                self.places[*moved as usize] = u32::try_from(at).expect("worlds are small");
            }
        }
    }
}

/// Two independent multiplicative hashes, wide enough that different states do not meet.
#[derive(Debug, Clone, Copy)]
struct Fingerprint(u64, u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f)
    }
}

impl Fingerprint {
    fn of(state: &impl Hash) -> u128 {
        let mut hasher = Self::default();
        state.hash(&mut hasher);
        hasher.value()
    }

    fn value(self) -> u128 {
        u128::from(self.0) << 64 | u128::from(self.1)
    }
}

impl Hasher for Fingerprint {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        self.1 = (self.1.rotate_left(23) ^ word).wrapping_mul(0x2545_f491_4f6c_dd1d) ^ (self.1 >> 31);
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(u64::from(word));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

/// What the names of a cell's children stand for, as seen from outside.
pub(crate) type Names = BTreeMap<usize, Id>;
