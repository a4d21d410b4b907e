//! A second opinion on the protocol: one actor's part in supervision, written from the rules alone (`docs::semantics`
//! of `supervise`) as plainly as they can be. It shares no decision with the state machine, only the words of the vocabulary, and
//! is asked the same in lock-step; what the two would do must agree.
//!
//! What has to wait does so in the order in which it came, reports apart from the rest. After each event the model looks
//! for something that may be handled now, until there is nothing. It forgets nothing it could work out again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};

use supervise_core::supervision::{
    AutoShutdown, Backoff, Call, Cause, ChildId, ChildSpec, Count, Directive, Effect, Growth, HowEnded, Input,
    Limit, OnLimit, Reset, RestartType, Returned, Ruling, Scope, Strategy, SystemMessage, Time, Timer, WatchKind,
};

use crate::world::{Effects, Fault, Id, Message};

/// A creation that is tried again under no limit must not spin.
const OF_CREATION: Backoff = Backoff::exponential(Time::from_millis(100), Time::from_secs(10));

#[derive(Debug, Clone)]
struct Child {
    actor: Id,
    /// `None` for the child of a field, whose name nobody else can have.
    name: Option<usize>,
    asked_to_stop: bool,
    /// When restarts were asked for.
    restarts: Vec<Time>,
    /// When its restarts under a backoff were due, since it was quiet for long.
    delays: Vec<Time>,
    waits: Option<Wait>,
}

/// Who failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Culprit {
    Itself,
    Child(Id),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instance {
    /// None has ever started.
    Never,
    Ready,
    /// The last restart failed, so there is none.
    Broken,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Stage {
    Living,
    /// Dying children have to end, then the factory runs again.
    Creating,
    Restarting(Fault),
    /// The first half of a restart.
    Halting,
    /// All children have to end.
    Ending,
    Ended,
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
    /// How many Halts its child has not answered.
    halts: u32,
    /// It is temporary, and failed.
    gives_up: bool,
    ended_by_itself: bool,
}

/// Where a field's child is on its way.
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
    /// To be halted in its turn.
    ToHalt,
    Halting,
    Halted,
}

/// User code that has begun and has not come back.
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

/// A child that is suspended until a delay is over.
#[derive(Debug, Clone)]
struct Wait {
    round: u64,
    /// What it gets when the delay is over.
    answer: Message,
    /// How often it has been suspended for it: by its own failures and by its siblings'.
    owed: u32,
    /// Fields restart one after another.
    grouped: bool,
}

#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Model {
    suspended: u32,
    /// Whose failure this actor has not been answered for: its own, or that of a child.
    failed_by: Option<Culprit>,
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
    /// Who was there before the factory ran.
    survivors: BTreeSet<ChildId>,
    /// When restarts of any child were asked for.
    restarts: Vec<Time>,
    last_round: u64,
    deciding: Option<(ChildId, Fault)>,
    queue: Vec<Message>,
    reports: VecDeque<(ChildId, Fault)>,
    watching: BTreeMap<Id, (WatchKind, Option<HowEnded>)>,
    watchers: Vec<Id>,
    fields: Vec<Field>,
    auto_shutdown: AutoShutdown,
    /// The next field that the new instance declares, and the hook that follows the last.
    declaring: Option<(usize, Call<Fault>)>,
    /// Why the fields of a group restart.
    reason: Option<Fault>,
    /// Fields that are to end, each when those before it have.
    line: VecDeque<ChildId>,
    /// It is the child of a field, whose parent waits for it.
    is_field: bool,
    does: Effects,
}

/// A state of the protocol is explored once, with whatever model led there: it has to agree with every one of them.
impl Hash for Model {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Model {
    pub(crate) fn new(inherited: u32) -> Self {
        Self {
            suspended: inherited,
            failed_by: None,
            instance: Instance::Never,
            stage: Stage::Living,
            told_to_stop: false,
            code: None,
            parked: false,
            limit: Patience::Endless,
            was_aborted: false,
            ends_aborted: false,
            children: BTreeMap::new(),
            survivors: BTreeSet::new(),
            restarts: Vec::new(),
            last_round: 0,
            deciding: None,
            queue: Vec::new(),
            reports: VecDeque::new(),
            watching: BTreeMap::new(),
            watchers: Vec::new(),
            fields: Vec::new(),
            auto_shutdown: AutoShutdown::Never,
            declaring: None,
            reason: None,
            line: VecDeque::new(),
            is_field: false,
            does: Vec::new(),
        }
    }

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

    pub(crate) fn of_field(mut self) -> Self {
        self.is_field = true;
        self
    }

    // ---- what can be asked ---------------------------------------------------------------------------------------

    pub(crate) fn suspensions(&self) -> u32 {
        self.suspended
    }

    /// Whether the parked code is about to be dropped, so that no time runs for it any more.
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

    /// Whether the name may be had. If so, its holder is a child from now on, suspended as often as its parent.
    pub(crate) fn spawn(&mut self, name: usize, made: Option<(ChildId, Id)>) -> bool {
        let granted = !self.ends() && self.children.values().all(|child| child.name != Some(name));
        if let (true, Some((id, actor))) = (granted, made) {
            let (restarts, delays) = (Vec::new(), Vec::new());
            let name = Some(name);
            self.children.insert(id, Child { actor, name, asked_to_stop: false, restarts, delays, waits: None });
        }
        granted
    }

    /// A new incarnation goes on with the counts of the one before.
    pub(crate) fn spawn_field(&mut self, at: usize, id: ChildId, actor: Id) {
        self.fields[at].halts = 0;
        let former = self.fields[at].child.replace(id).and_then(|former| self.children.remove(&former));
        let (restarts, delays) = former.map_or_else(Default::default, |child| (child.restarts, child.delays));
        self.children.insert(id, Child { actor, name: None, asked_to_stop: false, restarts, delays, waits: None });
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

    /// What is to be done after `input`.
    pub(crate) fn step(&mut self, input: &Input<'_, Id, Fault>) -> Effects {
        match input {
            Input::Begin => self.instance(Call::Create),
            Input::Message(SystemMessage::Failed { child, cause }) => {
                if self.is_stopping() || !self.concerns_a_start(*child, *cause) {
                    self.reports.push_back((*child, *cause));
                }
            }
            Input::Message(SystemMessage::Terminate) => self.stop_self(),
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
            Input::Decided(ruling) => self.decided(ruling),
            Input::Due(Timer::Abort) => {
                self.limit = Patience::Over;
                self.does.push(Effect::Abort);
            }
            Input::Due(Timer::Round(round)) => self.round_is_due(*round),
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
                && let Some((child, cause)) = self.reports.pop_front()
            {
                if !self.concerns_a_start(child, cause) && self.children.contains_key(&child) {
                    self.deciding = Some((child, cause));
                    let renewed = self.way_of(child) == Some(Way::Missing);
                    self.does.push(if renewed { Effect::Renew(child) } else { Effect::Decide(child, cause) });
                }
            } else {
                break;
            }
        }
        self.move_fields();
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

    /// Parked code may go on for its stop timeout once somebody waits for it.
    fn bound_code(&mut self) {
        if self.parked && self.limit == Patience::Endless {
            self.limit = Patience::Bounded;
            self.does.push(Effect::Arm(Timer::Abort, None));
        }
    }

    fn may_take(&self, message: &Message) -> bool {
        let waits_for_children =
            matches!(self.stage, Stage::Creating | Stage::Restarting(_) | Stage::Halting) && self.code.is_none();
        let ends = self.ends();
        match message {
            _ if self.deciding.is_some() => false,
            SystemMessage::Suspend | SystemMessage::Resume(_) => !waits_for_children,
            SystemMessage::Recreate(_) | SystemMessage::Halt(_) => {
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
            SystemMessage::Recreate(_) if ends => {
                self.suspended = self.suspended.saturating_sub(1);
                self.send_all(&SystemMessage::Resume(None));
            }
            SystemMessage::Resume(None) => {
                self.suspended = self.suspended.saturating_sub(1);
                self.send_all(&SystemMessage::Resume(None));
            }
            SystemMessage::Resume(Some(cause)) => self.resume(cause),
            SystemMessage::Recreate(cause) => self.recreate(cause),
            SystemMessage::Halt(_) if ends => {}
            SystemMessage::Halt(cause) => self.halt(cause),
            SystemMessage::Started(child) => {
                if let Some(field) = self.field(child) {
                    match field.way {
                        // It came back before its turn.
                        Way::Halted if field.owed > 0 => field.way = Way::ToHalt,
                        Way::Starting | Way::Halted => field.way = Way::Up,
                        _ => {}
                    }
                }
            }
            SystemMessage::Halted(child) => {
                if let Some(field) = self.field(child) {
                    field.halts -= 1;
                    // Only the answer to the last one counts.
                    if field.halts == 0 && field.way == Way::Halting {
                        field.way = Way::Halted;
                    }
                }
            }
            SystemMessage::Terminate => self.terminate(),
            SystemMessage::Ended { subject, child, how } => self.ended(subject, child, how),
            SystemMessage::Watch(watcher) => {
                if !self.watchers.contains(&watcher) {
                    self.watchers.push(watcher);
                }
            }
            SystemMessage::Unwatch(watcher) => self.watchers.retain(|other| *other != watcher),
            SystemMessage::ResetBackoff(child) => {
                if let Some(child) = self.children.get_mut(&child) {
                    child.delays.clear();
                }
            }
            SystemMessage::Failed { .. } => unreachable!("reports wait elsewhere"),
        }
    }

    // ---- failing and being answered ------------------------------------------------------------------------------

    fn fail(&mut self, cause: Fault, culprit: Culprit, spared: &BTreeSet<ChildId>) {
        self.suspended += 1;
        self.failed_by.get_or_insert(culprit);
        let unspared = self.children.iter().filter(|(id, _)| !spared.contains(id));
        let others: Vec<Id> =
            unspared.map(|(_, child)| child.actor).filter(|actor| Culprit::Child(*actor) != culprit).collect();
        for child in others {
            self.send(child, SystemMessage::Suspend);
        }
        self.does.push(Effect::Report(cause));
    }

    fn resume(&mut self, cause: Fault) {
        match self.instance {
            // There is nothing to resume: it is made anew, unless that is going on already.
            Instance::Never | Instance::Broken
                if self.code.is_none() && self.declaring.is_none() && self.stage == Stage::Living =>
            {
                self.recreate(cause);
            }
            _ => {
                self.suspended = self.suspended.saturating_sub(1);
                let culprit = self.failed_by.take();
                // What is permanent and ended by itself is made anew.
                for field in self.fields.iter_mut().filter(|field| field.way == Way::Missing) {
                    if field.child.and_then(|id| self.children.get(&id)).map(|child| Culprit::Child(child.actor))
                        == culprit
                    {
                        field.way = Way::ToStart;
                    }
                }
                for child in self.children().copied().collect::<Vec<_>>() {
                    let answer = if Some(Culprit::Child(child)) == culprit { Some(cause) } else { None };
                    self.send(child, SystemMessage::Resume(answer));
                }
            }
        }
    }

    fn recreate(&mut self, cause: Fault) {
        let stage = if self.instance == Instance::Never { Stage::Creating } else { Stage::Restarting(cause) };
        self.leave_instance(cause, stage);
    }

    /// The first half of a restart.
    fn halt(&mut self, cause: Fault) {
        self.leave_instance(cause, Stage::Halting);
    }

    fn leave_instance(&mut self, cause: Fault, next: Stage) {
        self.forget_declarations();
        self.stage = next;
        match self.instance {
            Instance::Ready => {
                let own = self.failed_by == Some(Culprit::Itself);
                self.call(Call::PreRestart { cause, own });
            }
            Instance::Never => {
                self.stop_unwatched(|_| true);
                self.go_on();
            }
            Instance::Broken => {
                let survivors = self.survivors.clone();
                self.stop_unwatched(|child| !survivors.contains(&child));
                self.go_on();
            }
        }
    }

    fn terminate(&mut self) {
        if !self.ends() {
            self.stage = Stage::Ending;
            // What waited for the end of a restart waits no more.
            self.queue.clear();
            for subject in self.watched().copied().collect::<Vec<_>>() {
                self.stop_watching(subject);
            }
            self.stop_group(&self.children.keys().copied().collect::<Vec<_>>());
            self.go_on();
        }
    }

    /// Children have ended, or none had to.
    fn go_on(&mut self) {
        if self.code.is_some() || (self.told_to_stop && !self.ends()) {
            return;
        }
        match self.stage.clone() {
            Stage::Creating if self.children.is_empty() => self.make(Call::Create),
            Stage::Restarting(cause) if self.children.values().all(|child| !child.asked_to_stop) => {
                self.make(Call::Rebuild(cause));
            }
            Stage::Halting if self.children.values().all(|child| !child.asked_to_stop) => {
                self.stage = Stage::Living;
                self.survivors = self.children.keys().copied().collect();
                self.does.push(Effect::TellHalted);
            }
            Stage::Ending if self.children.is_empty() => {
                if self.instance == Instance::Ready {
                    self.call(Call::PostStop { aborted: self.was_aborted });
                } else {
                    self.end();
                }
            }
            _ => {}
        }
    }

    fn make(&mut self, call: Call<Fault>) {
        self.suspended -= 1;
        self.failed_by = None;
        self.stage = Stage::Living;
        self.survivors = self.children.keys().copied().collect();
        self.instance(call);
    }

    fn end(&mut self) {
        self.stage = Stage::Ended;
        let how = if self.ends_aborted { HowEnded::Aborted } else { HowEnded::Graceful };
        self.does.extend([Effect::DropInstance, Effect::Close, Effect::TellParent(how)]);
        for watcher in std::mem::take(&mut self.watchers) {
            self.does.push(Effect::TellWatcher(watcher, how));
        }
    }

    // ---- user code -----------------------------------------------------------------------------------------------

    /// Makes a new instance. Fields are declared, and start, between the factory and the hook.
    fn instance(&mut self, hook: Call<Fault>) {
        for field in &mut self.fields {
            field.ended_by_itself = false;
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
        if self.fields.is_empty() {
            self.call(hook);
        } else {
            self.declaring = Some((0, hook));
            self.call(Call::Build);
        }
    }

    fn call(&mut self, call: Call<Fault>) {
        self.code = Some(Code::Hook(call.clone()));
        self.does.push(Effect::Call(call));
    }

    fn returned(&mut self, returned: &Returned<Fault>) {
        let code = self.code.take().unwrap_or(Code::Handler);
        self.parked = false;
        if std::mem::replace(&mut self.limit, Patience::Endless) == Patience::Bounded {
            self.does.push(Effect::Disarm(Timer::Abort));
        }
        if *returned == Returned::Aborted {
            self.was_aborted = true;
            self.ends_aborted |= self.is_stopping();
        }
        match (code, returned) {
            (Code::Handler, Returned::Err(cause)) => self.fail(*cause, Culprit::Itself, &BTreeSet::new()),
            (Code::Handler, _) | (Code::Hook(Call::Build), Returned::Ok) => {}
            (Code::Hook(Call::Create), Returned::Ok) => self.is_ready(),
            (Code::Hook(hook @ (Call::Create | Call::Rebuild(_))), Returned::Err(cause)) => {
                self.did_not_start(&hook, *cause);
            }
            (Code::Hook(Call::Create), Returned::Aborted) => self.does.push(Effect::DropInstance),
            (Code::Hook(Call::PreRestart { .. }), _) => {
                self.does.push(Effect::DropInstance);
                self.instance = Instance::Broken;
                self.go_on();
            }
            (Code::Hook(Call::Rebuild(cause)), Returned::Ok) => {
                self.is_ready();
                for id in self.survivors.clone() {
                    self.restart_survivor(id, cause);
                }
            }
            (Code::Hook(Call::Rebuild(_)), Returned::Aborted) => {
                self.does.push(Effect::DropInstance);
                self.instance = Instance::Broken;
                // The next restart comes with a suspension of its own, and answers that one: this one's is answered now.
                if !self.is_stopping() {
                    self.release_survivors();
                }
            }
            (Code::Hook(Call::PostStop { .. }), _) => self.end(),
            (Code::Hook(Call::Declare(at)), Returned::Ok) => {
                let hook = self.declaring.take().map(|(_, hook)| hook);
                self.declaring = hook.map(|hook| (at + 1, hook));
                // One that survived is up.
                if self.fields[at].way == Way::Down {
                    self.fields[at].way = Way::ToStart;
                }
            }
            (Code::Hook(Call::Build | Call::Declare(_)), Returned::Err(cause)) => self.field_did_not_start(*cause),
            (Code::Hook(Call::Build | Call::Declare(_)), Returned::Aborted) => unreachable!("neither can wait"),
        }
    }

    fn is_ready(&mut self) {
        self.instance = Instance::Ready;
        self.was_aborted = false;
        if self.is_field {
            self.does.push(Effect::TellStarted);
        }
    }

    fn did_not_start(&mut self, hook: &Call<Fault>, cause: Fault) {
        self.does.push(Effect::DropInstance);
        if let Call::Rebuild(original) = hook {
            self.instance = Instance::Broken;
            let survivors = self.survivors.clone();
            self.fail(cause.at_restart(*original), Culprit::Itself, &survivors);
        } else {
            self.fail(cause.at_initialization(), Culprit::Itself, &BTreeSet::new());
        }
    }

    fn release_survivors(&mut self) {
        let survivors = self.children.iter().filter(|(id, _)| self.survivors.contains(id));
        for survivor in survivors.map(|(_, child)| child.actor).collect::<Vec<_>>() {
            self.send(survivor, SystemMessage::Resume(None));
        }
    }

    // ---- fields --------------------------------------------------------------------------------------------------

    fn field(&mut self, child: ChildId) -> Option<&mut Field> {
        self.fields.iter_mut().find(|field| field.child == Some(child))
    }

    fn place_of(&self, child: ChildId) -> Option<usize> {
        self.fields.iter().position(|field| field.child == Some(child))
    }

    fn way_of(&self, child: ChildId) -> Option<Way> {
        Some(self.fields[self.place_of(child)?].way)
    }

    fn is_temporary(&self, child: ChildId) -> bool {
        self.place_of(child).is_some_and(|at| self.fields[at].spec.restart == RestartType::Temporary)
    }

    /// One thing at a time: first the halts, the last field first, then the starts in order, then what the new instance
    /// has to do.
    fn move_fields(&mut self) {
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
    fn concerns_a_start(&mut self, child: ChildId, cause: Fault) -> bool {
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
    fn field_did_not_start(&mut self, cause: Fault) {
        let Some((_, hook)) = self.declaring.take() else { return };
        self.did_not_start(&hook, cause);
        let survivors = if let Call::Rebuild(_) = hook { self.survivors.clone() } else { BTreeSet::new() };
        self.stop_unwatched(|child| !survivors.contains(&child));
    }

    /// Another restart, or half of one, comes while fields are starting.
    fn forget_declarations(&mut self) {
        if let Some((_, hook)) = self.declaring.take() {
            self.does.push(Effect::DropInstance);
            if let Call::Rebuild(_) = hook {
                self.release_survivors();
            }
        }
    }

    fn has_lost_what_is_significant(&self) -> bool {
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
    fn take_owed(&mut self, id: ChildId) -> u32 {
        let by_round = self.child(id).waits.take().map_or(0, |wait| wait.owed);
        by_round + self.field(id).map_or(0, |field| std::mem::take(&mut field.owed))
    }

    fn restart_survivor(&mut self, id: ChildId, cause: Fault) {
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
    fn restart_child(&mut self, id: ChildId, cause: Fault, owed: u32, grouped: bool) {
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

    // ---- deciding ------------------------------------------------------------------------------------------------

    fn decided(&mut self, ruling: &Ruling<'_, Fault>) {
        let (id, cause) = self.deciding.take().expect("somebody is decided about");
        let strategy = ruling.strategy;
        let culprit = self.child(id).actor;
        let cannot_resume = cause.is_initialization();
        match ruling.verdict {
            Err(own) => self.fail(own, Culprit::Child(culprit), &BTreeSet::new()),
            Ok(Directive::Escalate) => self.fail(cause, Culprit::Child(culprit), &BTreeSet::new()),
            Ok(Directive::Resume) if !cannot_resume => self.send(culprit, SystemMessage::Resume(Some(cause))),
            Ok(directive) if self.is_temporary(id) => {
                if let Some(field) = self.field(id) {
                    field.gives_up = true;
                }
                if directive == Directive::Stop {
                    self.stop_group(&self.affected(id, strategy.scope));
                } else {
                    self.stop_now(id);
                }
            }
            Ok(Directive::Resume) => {
                let delay = self.delay(id, &OF_CREATION, ruling.now);
                self.answer(SystemMessage::Resume(Some(cause)), id, &[id], false, Some(delay));
            }
            Ok(Directive::Stop) => self.stop_group(&self.affected(id, strategy.scope)),
            Ok(directive @ (Directive::Restart | Directive::RestartAfter(_))) => {
                let affected = self.affected(id, strategy.scope);
                if self.may_restart(&affected, strategy, ruling.now) {
                    let delay = self.restart_delay(id, cause, &directive, ruling);
                    let grouped = strategy.scope != Scope::OneForOne;
                    self.answer(SystemMessage::Recreate(cause), id, &affected, grouped, delay);
                } else if strategy.on_limit == OnLimit::Escalate {
                    self.fail(cause, Culprit::Child(culprit), &BTreeSet::new());
                } else {
                    self.stop_group(&affected);
                }
            }
            Ok(_) => unreachable!("there is no other directive"),
        }
    }

    /// A creation that is tried again under neither a limit nor a backoff must not spin. What is permanent and ended by
    /// itself skips the first of these delays.
    fn restart_delay(
        &mut self,
        id: ChildId,
        cause: Fault,
        directive: &Directive,
        ruling: &Ruling<'_, Fault>,
    ) -> Option<Time> {
        let declared = match directive {
            Directive::RestartAfter(backoff) => Some(*backoff),
            _ => ruling.strategy.backoff,
        };
        if let Some(backoff) = declared {
            return Some(self.delay(id, &backoff, ruling.now));
        }
        let missing = self.way_of(id) == Some(Way::Missing);
        if !ruling.strategy.limit.is_unlimited() || !(missing || cause.is_initialization()) {
            return None;
        }
        let delay = self.delay(id, &OF_CREATION, ruling.now);
        if missing && self.child(id).delays.len() == 1 { None } else { Some(delay) }
    }

    /// Whom a directive reaches, fields first. Under rest-for-one all others count as started after the fields.
    fn affected(&self, culprit: ChildId, scope: Scope) -> Vec<ChildId> {
        let place = self.place_of(culprit);
        let mut affected = Vec::new();
        for (at, field) in self.fields.iter().enumerate() {
            let reached = match scope {
                Scope::OneForOne => false,
                Scope::AllForOne => true,
                Scope::RestForOne => place.is_some_and(|first| at >= first),
            };
            if reached && field.way != Way::Ending {
                affected.extend(field.child);
            }
        }
        for id in self.children.keys().copied().filter(|id| self.place_of(*id).is_none()) {
            let reached = match scope {
                Scope::OneForOne => false,
                Scope::AllForOne => true,
                Scope::RestForOne => place.is_some() || id >= culprit,
            };
            if reached {
                affected.push(id);
            }
        }
        if scope == Scope::OneForOne { vec![culprit] } else { affected }
    }

    fn may_restart(&mut self, affected: &[ChildId], strategy: &Strategy, now: Time) -> bool {
        match strategy.count {
            Count::Supervisor => permits(&strategy.limit, &mut self.restarts, now),
            Count::Child => affected.iter().all(|id| permits(&strategy.limit, &mut self.child(*id).restarts, now)),
        }
    }

    /// Suspends those who are not waiting already, and gives all the same answer, at once or after a delay.
    fn answer(
        &mut self,
        answer: Message,
        culprit: ChildId,
        affected: &[ChildId],
        grouped: bool,
        delay: Option<Time>,
    ) {
        self.last_round += 1;
        let round = self.last_round;
        for id in affected {
            let owed = self.take_owed(*id);
            let child = self.child(*id);
            let actor = child.actor;
            let suspend = *id != culprit && owed == 0;
            let owed = if *id == culprit { owed + 1 } else { owed.max(1) };
            // A dying child has nothing to wait for.
            if delay.is_none() || !child.asked_to_stop {
                child.waits = Some(Wait { round, answer: answer.clone(), owed, grouped });
            }
            if suspend {
                self.send(actor, SystemMessage::Suspend);
            }
        }
        match delay {
            None => self.round_is_over(round),
            Some(delay) => self.does.push(Effect::Arm(Timer::Round(round), Some(delay))),
        }
    }

    /// Who will be restarted together with this actor gets no answer of its own.
    fn round_is_due(&mut self, round: u64) {
        let restarts = matches!(self.stage, Stage::Restarting(_) | Stage::Halting);
        let makes = matches!(self.code, Some(Code::Hook(Call::Rebuild(_))))
            || matches!(self.declaring, Some((_, Call::Rebuild(_))));
        let rebuilds = makes || self.instance == Instance::Broken;
        for (id, child) in &mut self.children {
            if let Some(wait) = &mut child.waits
                && wait.round == round
                && (restarts || (rebuilds && self.survivors.contains(id)))
            {
                wait.round = 0;
                // Nobody waits for it before.
                for field in self.fields.iter_mut().filter(|field| field.child == Some(*id)) {
                    match field.way {
                        Way::Halted => field.way = Way::Up,
                        Way::Missing if makes => field.way = Way::ToStart,
                        _ => {}
                    }
                }
            }
        }
        self.round_is_over(round);
    }

    fn round_is_over(&mut self, round: u64) {
        for id in self.children.keys().copied().collect::<Vec<_>>() {
            let Some(Wait { answer, owed, grouped, .. }) =
                self.child(id).waits.take_if(|wait| wait.round == round)
            else {
                continue;
            };
            match answer {
                SystemMessage::Recreate(cause) => self.restart_child(id, cause, owed, grouped),
                resume => {
                    let actor = self.child(id).actor;
                    self.send(actor, resume);
                    for _ in 1..owed {
                        self.send(actor, SystemMessage::Resume(None));
                    }
                }
            }
        }
    }

    /// How long the answer to the failure of `child` at `now` has to wait.
    fn delay(&mut self, child: ChildId, backoff: &Backoff, now: Time) -> Time {
        let (Growth::Exponential { min, max, .. }, Reset::After(quiet)) = (backoff.growth, backoff.reset) else {
            unreachable!("these worlds have no other");
        };
        let dues = &mut self.child(child).delays;
        if dues.last().is_some_and(|due| now.saturating_sub(*due) >= quiet) {
            dues.clear();
        }
        let delay = dues.iter().fold(min, |delay, _| (delay * 2).min(max));
        dues.push(now + delay);
        delay
    }

    // ---- children and watches ------------------------------------------------------------------------------------

    fn child(&mut self, id: ChildId) -> &mut Child {
        self.children.get_mut(&id).expect("a child that is there")
    }

    fn ended(&mut self, subject: Id, child: Option<ChildId>, how: HowEnded) {
        if let Some((_, news @ None)) = self.watching.get_mut(&subject) {
            *news = Some(how);
            self.does.push(Effect::Enqueue(subject));
        }
        let Some(id) = child else { return };
        let asked = self.children.get(&id).is_some_and(|child| child.asked_to_stop);
        self.line.retain(|other| *other != id);
        if let Some(at) = self.place_of(id) {
            let stopping = self.is_stopping();
            let field = &mut self.fields[at];
            if field.spec.restart == RestartType::Permanent && !asked && !stopping {
                field.way = Way::Missing;
                field.owed = 0;
                self.reports.push_back((id, Fault::end_of_permanent()));
                return;
            }
            field.ended_by_itself = !asked || field.gives_up;
            field.is_down();
        }
        self.children.remove(&id);
        self.stop_next_in_line();
        self.go_on();
        if self.has_lost_what_is_significant() && !self.is_stopping() {
            self.stop_self();
        }
    }

    fn stop_watching(&mut self, subject: Id) {
        if self.watching.remove(&subject).is_some() {
            self.does.push(Effect::Unwatch(subject));
        }
    }

    fn stop_unwatched(&mut self, which: impl Fn(ChildId) -> bool) {
        let children: Vec<_> = self.children.keys().copied().filter(|id| which(*id)).collect();
        for id in &children {
            let actor = self.child(*id).actor;
            self.stop_watching(actor);
        }
        self.stop_group(&children);
    }

    /// The last one first. Fields come after all others, and one after another.
    fn stop_group(&mut self, group: &[ChildId]) {
        for id in group.iter().rev().filter(|id| self.place_of(**id).is_none()).copied().collect::<Vec<_>>() {
            self.stop_now(id);
        }
        let fields: Vec<_> = self.fields.iter().rev().filter_map(|field| field.child).collect();
        let mut line = VecDeque::new();
        for id in fields {
            if self.line.contains(&id) || (group.contains(&id) && self.is_to_end(id)) {
                line.push_back(id);
            }
        }
        self.line = line;
        self.stop_next_in_line();
    }

    fn stop_now(&mut self, id: ChildId) {
        if self.is_to_end(id) {
            let actor = self.child(id).actor;
            self.send(actor, SystemMessage::Terminate);
        }
    }

    /// Notes that a child has to end. Answers whether it is there and nobody has asked it yet.
    fn is_to_end(&mut self, id: ChildId) -> bool {
        if let Some(field) = self.field(id) {
            if matches!(field.way, Way::Missing | Way::ToStart) {
                field.is_down();
                self.children.remove(&id);
                return false;
            }
            field.way = Way::Ending;
            field.owed = 0;
        }
        let Some(child) = self.children.get_mut(&id) else { return false };
        child.waits = None;
        !std::mem::replace(&mut child.asked_to_stop, true)
    }

    /// The next in line is asked when all who were asked before have ended.
    fn stop_next_in_line(&mut self) {
        let to_end = self.children.values().filter(|child| child.asked_to_stop).count();
        if to_end == self.line.len()
            && let Some(next) = self.line.pop_front()
        {
            let actor = self.child(next).actor;
            self.send(actor, SystemMessage::Terminate);
        }
    }

    fn send_all(&mut self, message: &Message) {
        for child in self.children().copied().collect::<Vec<_>>() {
            self.send(child, message.clone());
        }
    }

    fn send(&mut self, to: Id, message: Message) {
        self.does.push(Effect::Send(to, message));
    }
}

impl Field {
    fn is_down(&mut self) {
        self.child = None;
        self.way = Way::Down;
        self.owed = 0;
    }
}

/// Whether the instance that gets it is at its end.
fn ends_an_instance(message: &Message) -> bool {
    matches!(message, SystemMessage::Recreate(_) | SystemMessage::Halt(_) | SystemMessage::Terminate)
}

/// Whether one more restart at `now` is granted, all former requests given.
fn permits(limit: &Limit, requests: &mut Vec<Time>, now: Time) -> bool {
    if limit.max_retries == Some(0) || limit.is_unlimited() {
        return limit.max_retries.is_none();
    }
    requests.push(now);
    let granted = limit.max_retries.unwrap_or(1) as usize;
    let Some(within) = limit.within else {
        return requests.len() <= granted;
    };
    // The window opens at the first request, and again at the first one after it has passed.
    let mut opened = requests[0];
    let mut inside = 0;
    for request in requests.iter() {
        if request.saturating_sub(opened) > within {
            opened = *request;
            inside = 0;
        }
        inside += 1;
    }
    inside <= granted
}

/// Whether two steps do the same: to each actor, and to themselves, the same in the same order. Between different actors
/// no order is promised. No time runs for code that is about to be dropped.
pub(crate) fn agree(some: &[Effect<Id, Fault>], others: &[Effect<Id, Fault>], aborts: bool) -> bool {
    let counts = |effect: &&Effect<Id, Fault>| match effect {
        Effect::Note(_) => false,
        Effect::Arm(Timer::Abort, _) | Effect::Disarm(Timer::Abort) => !aborts,
        _ => true,
    };
    let by_concern = |effects: &[Effect<Id, Fault>]| {
        let mut sorted: Vec<_> = effects.iter().filter(counts).cloned().collect();
        sorted.sort_by_key(concern);
        sorted
    };
    some.iter().filter(counts).eq(others.iter().filter(counts)) || by_concern(some) == by_concern(others)
}

fn concern(effect: &Effect<Id, Fault>) -> (u8, Id) {
    match effect {
        Effect::Send(to, _) => (0, *to),
        Effect::TellWatcher(to, _) => (1, *to),
        Effect::Watch(subject) | Effect::Unwatch(subject) => (2, *subject),
        Effect::Arm(..) | Effect::Disarm(_) => (3, 0),
        Effect::AnnounceStop => (4, 0),
        _ => (5, 0),
    }
}
