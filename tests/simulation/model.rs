//! A second opinion on the protocol: one actor's part in supervision, written from the rules alone (`docs::semantics`
//! of `supervise`) as plainly as they can be. It shares no decision with the state machine, only the words of the vocabulary, and
//! is asked the same in lock-step; what the two would do must agree.
//!
//! What has to wait does so in the order in which it came, reports apart from the rest. After each event the model looks
//! for something that may be handled now, until there is nothing. It forgets nothing it could work out again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};

use supervise_core::supervision::{
    Backoff, Call, Cause, ChildId, Count, Directive, Effect, Growth, HowEnded, Input, Limit, OnLimit, Reset,
    Returned, Ruling, Scope, Strategy, SystemMessage, Time, Timer, WatchKind,
};

use crate::world::{Effects, Fault, Id, Message};

/// A creation that is tried again under no limit must not spin.
const OF_CREATION: Backoff = Backoff::exponential(Time::from_millis(100), Time::from_secs(10));

#[derive(Debug, Clone)]
struct Child {
    actor: Id,
    name: usize,
    asked_to_stop: bool,
    /// When restarts were asked for.
    restarts: Vec<Time>,
    /// When its restarts under a backoff were due, since it was quiet for long.
    delays: Vec<Time>,
    waits: Option<Wait>,
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
    /// All children have to end.
    Ending,
    Ended,
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
}

#[derive(Debug, Clone)]
pub(crate) struct Model {
    suspended: u32,
    /// Whose failure this actor has not been answered for: its own, or that of a child.
    failed_by: Option<Option<Id>>,
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
            does: Vec::new(),
        }
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
        let granted = !self.ends() && self.children.values().all(|child| child.name != name);
        if let (true, Some((id, actor))) = (granted, made) {
            let (restarts, delays) = (Vec::new(), Vec::new());
            self.children.insert(id, Child { actor, name, asked_to_stop: false, restarts, delays, waits: None });
        }
        granted
    }

    pub(crate) fn stop_child(&mut self, id: ChildId) -> Effects {
        self.stop_all(|child| child == id);
        std::mem::take(&mut self.does)
    }

    pub(crate) fn stop_children(&mut self) -> Effects {
        for child in self.children().copied().collect::<Vec<_>>() {
            self.stop_watching(child);
        }
        self.stop_all(|_| true);
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
            Input::Begin => self.call(Call::Create),
            Input::Message(SystemMessage::Failed { child, cause }) => self.reports.push_back((*child, *cause)),
            Input::Message(message) => {
                if *message == SystemMessage::Terminate && !self.is_stopping() {
                    self.told_to_stop = true;
                    self.does.push(Effect::AnnounceStop);
                }
                if matches!(message, SystemMessage::Recreate(_) | SystemMessage::Terminate) {
                    self.bound_code();
                }
                self.queue.push(message.clone());
            }
            Input::Parked => {
                let code = self.code.get_or_insert(Code::Handler);
                let ends_an_instance = matches!(code, Code::Hook(Call::PreRestart { .. } | Call::PostStop { .. }));
                self.parked = true;
                if ends_an_instance
                    || self
                        .queue
                        .iter()
                        .any(|m| matches!(m, SystemMessage::Recreate(_) | SystemMessage::Terminate))
                {
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
                if self.children.contains_key(&child) {
                    self.deciding = Some((child, cause));
                    self.does.push(Effect::Decide(child, cause));
                }
            } else {
                break;
            }
        }
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
            matches!(self.stage, Stage::Creating | Stage::Restarting(_)) && self.code.is_none();
        let ends = self.ends();
        match message {
            _ if self.deciding.is_some() => false,
            SystemMessage::Suspend | SystemMessage::Resume(_) => !waits_for_children,
            SystemMessage::Recreate(_) => {
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
            SystemMessage::Halt(_) | SystemMessage::Started(_) | SystemMessage::Halted(_) => {
                unreachable!("these worlds have no declared children")
            }
        }
    }

    // ---- failing and being answered ------------------------------------------------------------------------------

    fn fail(&mut self, cause: Fault, culprit: Option<Id>, spared: &BTreeSet<ChildId>) {
        self.suspended += 1;
        self.failed_by.get_or_insert(culprit);
        let unspared = self.children.iter().filter(|(id, _)| !spared.contains(id));
        let others: Vec<Id> =
            unspared.map(|(_, child)| child.actor).filter(|actor| Some(*actor) != culprit).collect();
        for child in others {
            self.send(child, SystemMessage::Suspend);
        }
        self.does.push(Effect::Report(cause));
    }

    fn resume(&mut self, cause: Fault) {
        match self.instance {
            // There is nothing to resume: it is made anew, unless that is going on already.
            Instance::Never | Instance::Broken if self.code.is_none() && self.stage == Stage::Living => {
                self.recreate(cause)
            }
            _ => {
                self.suspended = self.suspended.saturating_sub(1);
                let culprit = self.failed_by.take().flatten();
                for child in self.children().copied().collect::<Vec<_>>() {
                    let answer = if Some(child) == culprit { Some(cause) } else { None };
                    self.send(child, SystemMessage::Resume(answer));
                }
            }
        }
    }

    fn recreate(&mut self, cause: Fault) {
        match self.instance {
            Instance::Never => {
                self.stop_all(|_| true);
                self.stage = Stage::Creating;
                self.go_on();
            }
            Instance::Ready => {
                self.stage = Stage::Restarting(cause);
                let own = self.failed_by == Some(None);
                self.call(Call::PreRestart { cause, own });
            }
            Instance::Broken => {
                let survivors = self.survivors.clone();
                self.stop_all(|child| !survivors.contains(&child));
                self.stage = Stage::Restarting(cause);
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
            self.stop_all(|_| true);
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
        self.call(call);
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
            (Code::Handler, Returned::Err(cause)) => self.fail(*cause, None, &BTreeSet::new()),
            (Code::Handler, _) => {}
            (Code::Hook(Call::Create), Returned::Ok) => self.is_ready(),
            (Code::Hook(Call::Create), Returned::Err(cause)) => {
                self.does.push(Effect::DropInstance);
                self.fail(cause.at_initialization(), None, &BTreeSet::new());
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
                    if let Some(child) = self.children.get_mut(&id) {
                        let (actor, owed) = (child.actor, child.waits.take().map_or(0, |wait| wait.owed));
                        self.send(actor, SystemMessage::Recreate(cause));
                        for _ in 0..owed {
                            self.send(actor, SystemMessage::Resume(None));
                        }
                    }
                }
            }
            (Code::Hook(Call::Rebuild(original)), Returned::Err(cause)) => {
                self.does.push(Effect::DropInstance);
                self.instance = Instance::Broken;
                let survivors = self.survivors.clone();
                self.fail(cause.at_restart(original), None, &survivors);
            }
            (Code::Hook(Call::Rebuild(_)), Returned::Aborted) => {
                self.does.push(Effect::DropInstance);
                self.instance = Instance::Broken;
                // The next restart comes with a suspension of its own, and answers that one: this one's is answered now.
                if !self.is_stopping() {
                    let survivors = self.children.iter().filter(|(id, _)| self.survivors.contains(id));
                    for survivor in survivors.map(|(_, child)| child.actor).collect::<Vec<_>>() {
                        self.send(survivor, SystemMessage::Resume(None));
                    }
                }
            }
            (Code::Hook(Call::PostStop { .. }), _) => self.end(),
            (Code::Hook(Call::Build | Call::Declare(_)), _) => unreachable!("there are no fields"),
        }
    }

    fn is_ready(&mut self) {
        self.instance = Instance::Ready;
        self.was_aborted = false;
    }

    // ---- deciding ------------------------------------------------------------------------------------------------

    fn decided(&mut self, ruling: &Ruling<'_, Fault>) {
        let (id, cause) = self.deciding.take().expect("somebody is decided about");
        let strategy = ruling.strategy;
        let culprit = self.child(id).actor;
        match ruling.verdict {
            Err(own) => self.fail(own, Some(culprit), &BTreeSet::new()),
            Ok(Directive::Escalate) => self.fail(cause, Some(culprit), &BTreeSet::new()),
            Ok(Directive::Resume) if cause.is_initialization() => {
                let delay = self.delay(id, &OF_CREATION, ruling.now);
                self.answer(&SystemMessage::Resume(Some(cause)), id, &BTreeSet::from([id]), Some(delay));
            }
            Ok(Directive::Resume) => self.send(culprit, SystemMessage::Resume(Some(cause))),
            Ok(Directive::Stop) => {
                let affected = self.affected(id, strategy.scope);
                self.stop_all(|child| affected.contains(&child));
            }
            Ok(directive @ (Directive::Restart | Directive::RestartAfter(_))) => {
                let affected = self.affected(id, strategy.scope);
                if self.may_restart(&affected, strategy, ruling.now) {
                    let backoff = match directive {
                        Directive::RestartAfter(backoff) => Some(backoff),
                        _ => strategy.backoff.or(if cause.is_initialization() && strategy.limit.is_unlimited() {
                            Some(OF_CREATION)
                        } else {
                            None
                        }),
                    };
                    let delay = backoff.map(|backoff| self.delay(id, &backoff, ruling.now));
                    self.answer(&SystemMessage::Recreate(cause), id, &affected, delay);
                } else if strategy.on_limit == OnLimit::Escalate {
                    self.fail(cause, Some(culprit), &BTreeSet::new());
                } else {
                    self.stop_all(|child| affected.contains(&child));
                }
            }
            Ok(_) => unreachable!("there is no other directive"),
        }
    }

    fn affected(&self, culprit: ChildId, scope: Scope) -> BTreeSet<ChildId> {
        let reached = self.children.keys().copied().filter(|id| match scope {
            Scope::OneForOne => *id == culprit,
            Scope::AllForOne => true,
            Scope::RestForOne => *id >= culprit,
        });
        reached.collect()
    }

    fn may_restart(&mut self, affected: &BTreeSet<ChildId>, strategy: &Strategy, now: Time) -> bool {
        match strategy.count {
            Count::Supervisor => permits(&strategy.limit, &mut self.restarts, now),
            Count::Child => affected.iter().all(|id| permits(&strategy.limit, &mut self.child(*id).restarts, now)),
        }
    }

    /// Suspends those who are not waiting already, and gives all the same answer, at once or after a delay.
    fn answer(&mut self, answer: &Message, culprit: ChildId, affected: &BTreeSet<ChildId>, delay: Option<Time>) {
        self.last_round += 1;
        let round = self.last_round;
        for id in affected {
            let child = self.child(*id);
            let actor = child.actor;
            let owed = child.waits.take().map_or(0, |wait| wait.owed);
            let suspend = *id != culprit && owed == 0;
            let owed = if *id == culprit { owed + 1 } else { owed.max(1) };
            // A dying child has nothing to wait for.
            if delay.is_none() || !child.asked_to_stop {
                child.waits = Some(Wait { round, answer: answer.clone(), owed });
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
        let restarts = matches!(self.stage, Stage::Restarting(_));
        let rebuilds =
            matches!(self.code, Some(Code::Hook(Call::Rebuild(_)))) || self.instance == Instance::Broken;
        for (id, child) in &mut self.children {
            if let Some(wait) = &mut child.waits
                && wait.round == round
                && (restarts || (rebuilds && self.survivors.contains(id)))
            {
                wait.round = 0;
            }
        }
        self.round_is_over(round);
    }

    /// The first suspension is answered by the answer, each further one by a bare Resume.
    fn round_is_over(&mut self, round: u64) {
        for child in self.children.values_mut() {
            if let Some(wait) = child.waits.take_if(|wait| wait.round == round) {
                self.does.push(Effect::Send(child.actor, wait.answer));
                for _ in 1..wait.owed {
                    self.does.push(Effect::Send(child.actor, SystemMessage::Resume(None)));
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
        if let Some(id) = child {
            self.children.remove(&id);
            self.go_on();
        }
    }

    fn stop_watching(&mut self, subject: Id) {
        if self.watching.remove(&subject).is_some() {
            self.does.push(Effect::Unwatch(subject));
        }
    }

    /// The last one first, each once.
    fn stop_all(&mut self, which: impl Fn(ChildId) -> bool) {
        let mut asked = Vec::new();
        let which = self.children.iter_mut().rev().filter(|(id, child)| !child.asked_to_stop && which(**id));
        for (_, child) in which {
            child.asked_to_stop = true;
            child.waits = None;
            asked.push(child.actor);
        }
        for actor in asked {
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
        if *request - opened > within {
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
