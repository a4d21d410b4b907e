//! A world of cells: their queues, timers and user code in plain single-threaded code. The protocol decides, as in the
//! real cell. An [`Action`] or a pick of [`Choices`] stands for what a runtime and users would do.
//!
//! A cell takes its turn as in `supervise-core/src/actor/cell/run.rs`: first a call that is due, then the system lane, then
//! the user lane. While its code is parked, it handles only the system lane.

mod cell;
mod effects;
mod fingerprint;
mod index;
mod rulings;
mod user_code;

use std::collections::{BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::time::Duration;

use supervise_core::supervision::{
    Call, ChildId, ChildSpec, Directive, Effect, Input, Protocol, Returned, SystemMessage, Time, Timer, WatchKind,
};

use crate::fault::{Fault, Wrapping};
use crate::invariants::{Invariant, Ledger, Violation, Watchdog};
use crate::model::{Model, agree};
use crate::profile::{Budget, Choices, Conduct, Profile, Role, pick};
pub(crate) use cell::{Cell, Code, Entry, Parked};
use fingerprint::Fingerprint;
use index::Index;
use user_code::Command;

pub(crate) type Id = u32;
pub(crate) type Message = SystemMessage<Id, Fault>;
pub(crate) type Effects = Vec<Effect<Id, Fault>>;

pub(crate) const ROOT: Id = 0;
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Action {
    /// A cell takes its turn.
    Turn(Id),
    /// Parked code returns.
    Return(Id),
    /// The earliest timer is due.
    Fire,
    /// Time passes.
    Wait,
    Tell(Id),
    Stop(Id),
    Kill(Id),
    Poison(Id),
    /// Lets a cell stop itself, in its turn.
    Leave(Id),
    /// Ends the delay before its restart.
    Retry(Id),
    /// Asks for its restart by hand, as its parent's count of restarts is now.
    Restart(Id),
}

#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) profile: Rc<Profile>,
    pub(crate) cells: Vec<Rc<Cell>>,
    pub(crate) now: Time,
    pub(crate) budget: Budget,
    /// Nothing fails, parks or happens from outside any more. Parked code returns.
    pub(crate) calm: bool,
    pub(crate) timers: BTreeSet<(Time, Id, Timer)>,
    pub(crate) ledger: Ledger,
    /// The cells that may take a turn, and those whose parked code may return. Kept for schedulers that cannot look
    /// at all cells.
    pub(crate) ready: Index,
    pub(crate) waiting: Index,
    pub(crate) living: Index,
    next_message: u32,
    scratch: Effects,
    /// A command about which the model disagrees.
    disagreement: Option<Violation>,
    /// Prints each turn on standard error.
    pub(crate) loud: bool,
}

type Step = Result<(), Violation>;

impl World {
    pub(crate) fn new(profile: Rc<Profile>, budget: Budget) -> Self {
        let mut world = Self {
            profile,
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
        let Role { fields, strategy, has_last_hook, .. } = &self.profile.roles[role];
        let specs: Vec<ChildSpec> = fields.iter().map(|(spec, _)| *spec).collect();
        let mut protocol = Protocol::new(inherited).with_fields(&specs, strategy.auto_shutdown);
        let mut model = Model::new(inherited).with_fields(&specs, strategy.auto_shutdown);
        if is_field {
            (protocol, model) = (protocol.as_field(), model.of_field());
        }
        if !has_last_hook {
            (protocol, model) = (protocol.without_last_hook(), model.without_last_hook());
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

    /// All state that can affect what happens next.
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
            Action::Stop(id)
            | Action::Kill(id)
            | Action::Poison(id)
            | Action::Leave(id)
            | Action::Retry(id)
            | Action::Restart(id) => {
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
            Action::Retry(id) => {
                self.budget.stimuli -= 1;
                let (parent, child) = (self.cell(id).parent, self.cell(id).child);
                if let Some(parent) = parent {
                    self.send(parent, SystemMessage::RetryNow(child));
                }
                Ok(())
            }
            Action::Restart(id) => {
                self.budget.stimuli -= 1;
                self.restart_by_hand(id);
                Ok(())
            }
            Action::Leave(id) => {
                self.budget.stimuli -= 1;
                self.push(id, Entry::Leave);
                Ok(())
            }
        }
    }

    /// Like `AnyActorRef::stop`: through the parent, so that it knows for which child it waits.
    pub(crate) fn stop(&mut self, id: Id) {
        match self.cell(id).parent {
            Some(parent) => {
                let child = self.cell(id).child;
                self.command(parent, Command::StopChild(child));
            }
            None => self.send(id, SystemMessage::Terminate),
        }
    }

    fn restart_by_hand(&mut self, id: Id) {
        let (parent, child) = (self.cell(id).parent, self.cell(id).child);
        if let Some(parent) = parent {
            let cause = Fault { origin: id, wrapping: Wrapping::ByHand };
            let restarts = self.cell(parent).protocol.restarts_in_all(child);
            self.cell_mut(id).watchdog.asked_by_hand();
            self.send(parent, SystemMessage::RestartByHand { child, cause, restarts });
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
            self.begin(id)
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

    fn begin(&mut self, id: Id) -> Step {
        let cell = self.cell_mut(id);
        let aborts = cell.model.aborts();
        let expected = cell.model.begin();
        let first = Effect::Call(cell.protocol.begin());
        Self::agree_about_step(cell, &expected, std::slice::from_ref(&first), aborts)?;
        self.perform(id, first);
        self.refresh(id);
        Ok(())
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
            Entry::Poison => {
                self.stop(id);
                self.refresh(id);
                Ok(())
            }
            Entry::Leave => {
                self.send(id, SystemMessage::Terminate);
                Ok(())
            }
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

    // ---- performing ----------------------------------------------------------------------------------------------

    fn step(&mut self, id: Id, input: Input<'_, Id, Fault>, choices: &mut impl Choices) -> Step {
        let profile = Rc::clone(&self.profile);
        let role = &profile.roles[self.cell(id).role];
        let mut effects = std::mem::take(&mut self.scratch);
        let (mut verdict, mut ruled) = (None, None);
        Self::ask_both(self.cell_mut(id), input, &mut effects)?;
        loop {
            Watchdog::inspect(self, id, &effects, ruled)?;
            for effect in effects.drain(..) {
                if self.loud {
                    eprintln!("{:>12}{effect:?}", "");
                }
                match effect {
                    Effect::Decide(child, cause) => {
                        Watchdog::may_decide(self, id, child, cause)?;
                        verdict = Some((cause, self.verdict(id, cause, role, choices)));
                    }
                    Effect::RestartEnded(child, cause) => {
                        Watchdog::may_renew(self, id, child)?;
                        verdict = Some((cause, Ok(Directive::Restart)));
                    }
                    Effect::Report { cause, restarts, runs } => self.report(id, cause, restarts, runs),
                    other => self.perform(id, other),
                }
            }
            let Some((cause, verdict)) = verdict.take() else { break };
            ruled = verdict.as_ref().ok().copied();
            let ruling = self.ruling(verdict, role);
            Self::ask_both(self.cell_mut(id), Input::Decided(cause, &ruling), &mut effects)?;
        }
        self.scratch = effects;
        self.refresh(id);
        Ok(())
    }

    /// Gives the input to the protocol and to the model. Both must agree about the effects and about their
    /// state.
    fn ask_both(cell: &mut Cell, input: Input<'_, Id, Fault>, effects: &mut Effects) -> Step {
        let aborts = cell.model.aborts();
        let expected = cell.model.step(&input);
        cell.protocol.step(input, effects);
        Self::agree_about_step(cell, &expected, effects, aborts)
    }

    fn agree_about_step(
        cell: &Cell,
        expected: &[Effect<Id, Fault>],
        effects: &[Effect<Id, Fault>],
        aborts: bool,
    ) -> Step {
        if !agree(expected, effects, aborts) {
            return disagreement(format!("the protocol does {effects:?}, the model {expected:?}"));
        }
        Self::agree_about_state(cell)
    }

    fn agree_about_state(Cell { model, protocol, .. }: &Cell) -> Step {
        let state =
            (protocol.suspensions(), protocol.restarts(), protocol.is_stopping(), protocol.accepts_messages());
        let modelled =
            (model.suspensions(), model.restarts_begun(), model.is_stopping(), model.accepts_messages());
        let agreed = state == modelled
            && protocol.children().map(|(_, child)| child).eq(model.children())
            && protocol.watched().collect::<BTreeSet<_>>() == model.watched().collect();
        if protocol.has_ended() || agreed {
            Ok(())
        } else {
            disagreement(format!("the protocol is {protocol:?}, the model {model:?}"))
        }
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
