//! A second opinion on the protocol: one actor's part in supervision, written from the rules alone (`docs::semantics`
//! of `supervise`) as plainly as they can be. It shares only the vocabulary with the state machine, and no decisions. Both get
//! the same inputs in lock-step, and what they would do must agree.
//!
//! Deferred inputs wait in the order in which they came; reports wait separately from the others. After each event the
//! model handles deferred inputs until none can be handled. It does not cache values that it can compute again.

mod agreement;
mod by_hand;
mod children;
mod fields;
mod instances;
mod rulings;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};

use supervise_core::supervision::{
    AutoShutdown, Call, ChildId, ChildSpec, Effect, HowEnded, Input, SystemMessage, Time, Timer, WatchKind,
};

use crate::fault::Fault;
use crate::world::{Effects, Id, Message};
pub(crate) use agreement::agree;
use children::Child;
use fields::Fields;

/// The actor that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Culprit {
    Itself,
    Child(Id),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instance {
    /// There is no instance, and none has ever started.
    Never,
    Ready,
    /// There is no instance, because the last restart failed.
    Broken,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Stage {
    Living,
    /// Dying children have to end, then the factory runs again.
    Creating,
    Restarting(Fault),
    /// The first half of a restart.
    Preparing,
    /// All children have to end.
    Ending,
    Ended,
}

/// User code that has begun and has not returned.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Code {
    Handler,
    Hook(Call<Fault>),
}

/// How long parked code may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    Endless,
    /// Its stop timeout runs.
    Bounded,
    /// It is about to be dropped.
    Over,
}

#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Model {
    suspended: u32,
    /// The actor whose failure is not answered yet: this actor or a child.
    failed_by: Option<Culprit>,
    /// How many restarts of its parent it has begun.
    restarts_begun: u32,
    /// How many times it became ready for messages: after it was not ready, or after its own failure or that of a
    /// child.
    runs: u8,
    /// Its parent waits to hear that the instance is replaced.
    says_when_replaced: bool,
    instance: Instance,
    stage: Stage,
    /// Terminate has come, and may have to wait.
    told_to_stop: bool,
    code: Option<Code>,
    parked: bool,
    limit: Patience,
    was_aborted: bool,
    ends_aborted: bool,
    /// In start order.
    children: BTreeMap<ChildId, Child>,
    /// The children that have not been told yet that this actor was resumed.
    unresumed: BTreeSet<ChildId>,
    /// The children that existed before the factory ran.
    survivors: BTreeSet<ChildId>,
    /// When restarts of any child were asked for.
    restarts: Vec<Time>,
    /// The same, by the number of the rule.
    by_rule: BTreeMap<u16, Vec<Time>>,
    last_round: u64,
    deciding: Option<(ChildId, Fault, u32)>,
    queue: Vec<Message>,
    /// Each report has the number of restarts that its child had begun, and of its runs.
    reports: VecDeque<(ChildId, Fault, u32, u8)>,
    watching: BTreeMap<Id, (WatchKind, Option<HowEnded>)>,
    watchers: Vec<Id>,
    fields: Fields,
    /// Fields that must end, each when the ones before it have ended.
    line: VecDeque<ChildId>,
    /// It is the child of a field, whose parent waits for it.
    is_field: bool,
    /// Whether the hooks at the end of an instance are called without children, too.
    has_last_hook: bool,
    does: Effects,
}

/// The explorer visits a state of the protocol once, whichever model led there. The protocol must agree with each
/// such model.
impl Hash for Model {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Model {
    pub(crate) fn new(inherited: u32) -> Self {
        Self {
            suspended: inherited,
            failed_by: None,
            restarts_begun: 0,
            runs: 0,
            says_when_replaced: false,
            instance: Instance::Never,
            stage: Stage::Living,
            told_to_stop: false,
            code: None,
            parked: false,
            limit: Patience::Endless,
            was_aborted: false,
            ends_aborted: false,
            children: BTreeMap::new(),
            unresumed: BTreeSet::new(),
            survivors: BTreeSet::new(),
            restarts: Vec::new(),
            by_rule: BTreeMap::new(),
            last_round: 0,
            deciding: None,
            queue: Vec::new(),
            reports: VecDeque::new(),
            watching: BTreeMap::new(),
            watchers: Vec::new(),
            fields: Fields::new(&[], AutoShutdown::Never),
            line: VecDeque::new(),
            is_field: false,
            has_last_hook: true,
            does: Vec::new(),
        }
    }

    pub(crate) fn with_fields(mut self, specs: &[ChildSpec], auto_shutdown: AutoShutdown) -> Self {
        self.fields = Fields::new(specs, auto_shutdown);
        self
    }

    pub(crate) fn without_last_hook(mut self) -> Self {
        self.has_last_hook = false;
        self
    }

    pub(crate) fn of_field(mut self) -> Self {
        self.is_field = true;
        self
    }

    // ---- what can be asked ---------------------------------------------------------------------------------------

    pub(crate) fn restarts_begun(&self) -> u32 {
        self.restarts_begun
    }

    pub(crate) fn suspensions(&self) -> u32 {
        self.suspended
    }

    /// Whether the parked code is about to be dropped, so that its timeout no longer runs.
    pub(crate) fn aborts(&self) -> bool {
        self.limit == Patience::Over
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.ends() || self.told_to_stop
    }

    fn ends(&self) -> bool {
        matches!(self.stage, Stage::Ending | Stage::Ended)
    }

    pub(crate) fn accepts_messages(&self) -> bool {
        self.stage == Stage::Living
            && self.instance == Instance::Ready
            && self.suspended == 0
            && self.code.is_none()
            && self.deciding.is_none()
    }

    pub(crate) fn children(&self) -> impl Iterator<Item = &Id> {
        self.children.values().map(|child| &child.actor)
    }

    pub(crate) fn watched(&self) -> impl Iterator<Item = &Id> {
        self.watching.keys()
    }

    // ---- commands ------------------------------------------------------------------------------------------------

    /// Whether the name is free. If so, its holder is a child from now on, suspended as often as its parent.
    pub(crate) fn spawn(&mut self, name: usize, made: Option<(ChildId, Id)>) -> bool {
        let granted = !self.ends() && self.children.values().all(|child| child.name != Some(name));
        if let (true, Some((id, actor))) = (granted, made) {
            self.children.insert(id, Child::new(actor, Some(name)));
        }
        granted
    }

    pub(crate) fn stop_child(&mut self, id: ChildId) -> Effects {
        self.stop_now(id);
        std::mem::take(&mut self.does)
    }

    pub(crate) fn stop_children(&mut self) -> Effects {
        self.stop_unwatched(|_| true);
        std::mem::take(&mut self.does)
    }

    pub(crate) fn watch(&mut self, subject: Id, kind: WatchKind) -> Effects {
        if !self.ends() && !self.watching.contains_key(&subject) {
            self.watching.insert(subject, (kind, None));
            self.does.push(Effect::Watch(subject));
        }
        std::mem::take(&mut self.does)
    }

    pub(crate) fn unwatch(&mut self, subject: Id) -> Effects {
        self.stop_watching(subject);
        std::mem::take(&mut self.does)
    }

    pub(crate) fn dequeued(&mut self, subject: Id) -> Option<(WatchKind, HowEnded)> {
        let (kind, how) = *self.watching.get(&subject)?;
        let how = how?;
        self.watching.remove(&subject);
        Some((kind, how))
    }

    // ---- events --------------------------------------------------------------------------------------------------

    /// What is to be done first.
    pub(crate) fn begin(&mut self) -> Effects {
        self.instance(Call::Create);
        std::mem::take(&mut self.does)
    }

    /// What is to be done after `input`.
    pub(crate) fn step(&mut self, input: &Input<'_, Id, Fault>) -> Effects {
        match input {
            Input::Message(SystemMessage::Failed { child, cause, restarts, runs }) => {
                if !self.is_stopping() {
                    self.concerns_a_start(*child);
                }
                self.reports.push_back((*child, *cause, *restarts, *runs));
            }
            Input::Message(SystemMessage::Terminate) => self.stop_self(),
            Input::Message(SystemMessage::RestartTogether(cause)) => {
                self.says_when_replaced = true;
                self.restart_came(*cause);
            }
            Input::Message(SystemMessage::Restart(cause)) => self.restart_came(*cause),
            Input::Message(message) => {
                if ends_an_instance(message) {
                    self.bound_code();
                }
                self.queue.push(message.clone());
            }
            Input::Parked => {
                let code = self.code.get_or_insert(Code::Handler);
                let in_hook = matches!(code, Code::Hook(Call::PreRestart { .. } | Call::PostStop { .. }));
                self.parked = true;
                if in_hook || self.queue.iter().any(ends_an_instance) {
                    self.bound_code();
                }
            }
            Input::Returned(returned) => self.returned(returned),
            Input::Decided(_, ruling) => self.decided(ruling),
            Input::Due(Timer::Abort) => {
                self.limit = Patience::Over;
                self.does.push(Effect::Abort);
            }
            Input::Due(Timer::Restart(round)) => self.round_is_due(*round),
        }
        self.settle();
        std::mem::take(&mut self.does)
    }

    fn settle(&mut self) {
        loop {
            if let Some(at) = self.queue.iter().position(|message| self.may_take(message)) {
                let message = self.queue.remove(at);
                self.take(message);
            } else if self.is_stopping() {
                self.reports.clear();
                break;
            } else if self.may_decide()
                && let Some((child, cause, restarts, runs)) = self.reports.pop_front()
            {
                self.concerns_a_start(child);
                if self.children.contains_key(&child) {
                    self.deciding = Some((child, cause, restarts));
                    self.child(child).runs = runs;
                    let renewed = self.fields.is_missing(child);
                    self.does.push(if renewed {
                        Effect::RestartEnded(child, cause)
                    } else {
                        Effect::Decide(child, cause)
                    });
                }
            } else {
                break;
            }
        }
        if self.deciding.is_none() {
            self.resume_all();
        }
        self.move_fields();
    }

    /// Another restart has come. The earlier restart answers it, as long as it has not replaced the instance; so does the
    /// end.
    fn restart_came(&mut self, cause: Fault) {
        let waits =
            |message: &&Message| matches!(message, SystemMessage::Restart(_) | SystemMessage::PrepareRestart(_));
        let joins = match self.queue.iter().rfind(waits) {
            _ if self.is_stopping() => true,
            Some(last) => matches!(last, SystemMessage::Restart(_)),
            None => matches!(self.stage, Stage::Creating | Stage::Restarting(_)),
        };
        if joins {
            self.restarts_begun += 1;
            self.queue.push(SystemMessage::Resume(None));
        } else {
            self.bound_code();
            self.queue.push(SystemMessage::Restart(cause));
        }
    }

    fn stop_self(&mut self) {
        if !self.is_stopping() {
            self.told_to_stop = true;
            self.does.push(Effect::AnnounceStop);
        }
        self.bound_code();
        self.queue.push(SystemMessage::Terminate);
    }

    fn may_decide(&self) -> bool {
        let runs = self.code.is_some() && !self.parked;
        self.suspended == 0 && self.stage == Stage::Living && !runs && self.deciding.is_none()
    }

    /// When somebody begins to wait for parked code, the code may continue for its stop timeout.
    fn bound_code(&mut self) {
        if self.parked && self.limit == Patience::Endless {
            self.limit = Patience::Bounded;
            self.does.push(Effect::Arm(Timer::Abort, None));
        }
    }

    fn may_take(&self, message: &Message) -> bool {
        let waits_for_children = self.stage != Stage::Living && self.code.is_none();
        let ends = self.ends();
        match message {
            _ if self.deciding.is_some() => false,
            SystemMessage::Restart(_) | SystemMessage::PrepareRestart(_) => {
                ends || (self.code.is_none() && !waits_for_children && !self.is_stopping())
            }
            SystemMessage::Terminate => ends || self.code.is_none(),
            _ => true,
        }
    }

    fn take(&mut self, message: Message) {
        let ends = self.ends();
        match message {
            SystemMessage::Suspend => {
                self.suspended += 1;
                self.send_all(&SystemMessage::Suspend);
            }
            SystemMessage::Resume(None) => {
                self.suspended = self.suspended.saturating_sub(1);
                self.will_resume_all();
            }
            SystemMessage::Resume(Some(cause)) => self.resume(cause),
            SystemMessage::Restart(cause) => {
                self.restarts_begun += 1;
                self.begin_restart(cause);
            }
            SystemMessage::PrepareRestart(_) if ends => {}
            SystemMessage::PrepareRestart(cause) => self.prepare_restart(cause),
            SystemMessage::Replaced(child) => {
                if let Some(child) = self.children.get_mut(&child) {
                    child.to_be_replaced = false;
                }
            }
            SystemMessage::Started(child) => self.fields.started(child),
            SystemMessage::RestartPrepared(child) => self.fields.restart_prepared(child),
            SystemMessage::Terminate => self.terminate(),
            SystemMessage::Ended { subject, child, how } => self.ended(subject, child, how),
            SystemMessage::Watch(watcher) => {
                if !self.watchers.contains(&watcher) {
                    self.watchers.push(watcher);
                }
            }
            SystemMessage::Unwatch(watcher) => self.watchers.retain(|other| *other != watcher),
            SystemMessage::RetryNow(child) => {
                let wait = self.children.get(&child).and_then(|child| child.waits.as_ref());
                if let Some(round) = wait.map(|wait| wait.round).filter(|round| *round > 0) {
                    self.round_is_due(round);
                }
            }
            SystemMessage::RestartByHand { child, cause, restarts } => {
                self.restart_by_hand(child, cause, restarts);
            }
            SystemMessage::ResetBackoff(child) => {
                if let Some(child) = self.children.get_mut(&child) {
                    child.delays.clear();
                }
            }
            SystemMessage::Failed { .. } | SystemMessage::RestartTogether(_) => unreachable!("taken in `step`"),
        }
    }
}

/// Whether the instance that gets it is at its end.
fn ends_an_instance(message: &Message) -> bool {
    matches!(message, SystemMessage::Restart(_) | SystemMessage::PrepareRestart(_) | SystemMessage::Terminate)
}
