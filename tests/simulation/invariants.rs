//! The invariants, numbered and named. They are checked from outside: a [`Watchdog`] per cell keeps its own account of
//! what the cell was told and what it did. It never asks the protocol about state that the protocol keeps itself.

mod fields;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use supervise_core::supervision::{
    Call, ChildId, ChildSpec, Directive, Effect, Note, Outcome, Scope, SystemMessage, Timer,
};

use crate::fault::{Fault, Wrapping};
use crate::world::{Cell, Id, Message, World};
use fields::Fields;

/// The invariants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Invariant {
    /// I1. A decision about a report is carried out by exactly one answer: Resume, Restart now or later, Terminate, or
    /// the supervisor's own report. If an earlier answer also answers this report, at most one suspension is
    /// undone, apart from those that the supervisor's own resume undoes.
    OneAnswerPerReport = 1,
    /// I2. Every report is decided once, or dropped because its child is gone or its supervisor ends.
    EveryReportSettled,
    /// I3. No cell is resumed or restarted more often than it was suspended.
    NoAnswerTooMany,
    /// I4. At rest, no cell is suspended, defers anything, or holds back messages.
    AllWellAtRest,
    /// I5. No message is handled while suspended, while a hook is out, or without a started instance.
    NoHandlerWhileSuspended,
    /// I6. Each instance is made once. It gets `pre_restart` or `post_stop` at most once, not both, and only after it
    /// had started.
    HooksOncePerInstance,
    /// I7. The old instance is gone before the factory runs, and with it the children that had to stop.
    OldGoneBeforeNew,
    /// I8. A parent's `post_stop` runs after the end of its last child.
    ChildrenEndFirst,
    /// I9. The end of a watched actor is reported exactly once per watch.
    TerminatedOncePerWatch,
    /// I10. A name is free exactly from when the parent has processed the end of its last holder.
    NameFreeAfterEnd,
    /// I11. A restart restarts exactly the children that outlived the old instance, in start order.
    SurvivorsRestarted,
    /// I12. Every message is handled, failed or aborted with its handler, queued, or a dead letter.
    EveryMessageAccounted,
    /// I13. Messages are handled in the order in which they were sent.
    MessagesInOrder,
    /// I14. When the root has ended, every cell has ended.
    NobodyForgotten,
    /// I15. At most one effect of a step is a call or a question, and it is the last.
    CallComesLast,
    /// I16. A supervisor decides only while it is running and not suspended.
    DecidesOnlyWhenWell,
    /// I17. An actor ends in this order: instance, messages, parent, watchers, late watchers; once.
    EndInOrder,
    /// I18. A cell that must restart or stop does not wait for parked code without a limit.
    StopIsBounded,
    /// I19. The protocol does what the naive model does, and is in the state the model is in.
    AgreesWithModel,
    /// I20. A failure that an earlier decision answers does not restart, stop or suspend any cell.
    AnsweredOnce,
    /// I21. Fields start in their order, each when the one before has started, and before the hook of the
    /// instance.
    FieldsStartInOrder,
    /// I22. If fields restart together, the last one drops its instance first. If fields stop together, the last one ends
    /// first, but after all other children.
    FieldsGoInReverse,
    /// I23. A temporary child never restarts. A permanent child that has ended by itself comes back, and no table
    /// decides about it.
    RestartTypeKept,
    /// I24. A child that was told to restart with siblings reports that its instance is replaced. Until then, it is not told to
    /// do so again.
    OneRestartAtATime,
    /// I25. Each request to restart a cell by hand restarts it at most once, and never if its parent is stopping it.
    ByHandOnce,
}

/// An invariant that is broken.
#[derive(Debug, Clone)]
pub(crate) struct Violation {
    pub(crate) invariant: Invariant,
    pub(crate) what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "I{} {:?}: {}", self.invariant as u8, self.invariant, self.what)
    }
}

pub(crate) type Check = Result<(), Violation>;

pub(crate) fn broken(invariant: Invariant, what: impl Into<String>) -> Check {
    Err(Violation { invariant, what: what.into() })
}

/// Accounts of the whole world.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ledger {
    pub(crate) told: u32,
    pub(crate) handled: u32,
    pub(crate) failed: u32,
    pub(crate) aborted: u32,
    pub(crate) dead: u32,
    pub(crate) reported: u32,
    pub(crate) settled: u32,
}

impl Ledger {
    /// Messages and reports without an outcome so far.
    pub(crate) fn outstanding(&self) -> (u32, u32) {
        let Self { told, handled, failed, aborted, dead, reported, settled } = self;
        (told.wrapping_sub(handled + failed + aborted + dead), reported.wrapping_sub(*settled))
    }
}

/// How far an instance has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Life {
    None,
    Starting,
    Started,
    /// `pre_restart` or `post_stop` was called.
    Leaving,
}

/// The account of one cell.
#[derive(Debug, Clone, Hash)]
pub(crate) struct Watchdog {
    /// Own reports and received Suspends, minus the received Resumes and Restarts.
    balance: i64,
    life: Life,
    last_message: u32,
    pub(crate) living_children: u32,
    pub(crate) watches: BTreeSet<Id>,
    names: BTreeMap<usize, Id>,
    /// Children that were there when the new instance was made.
    survivors: Vec<Id>,
    /// Children whose stop this actor requested.
    pub(crate) stopping: BTreeSet<Id>,
    /// Children that were told to restart with siblings and have not said that they are replaced.
    replacing: BTreeSet<Id>,
    /// How many requests to restart it by hand have not been carried out.
    by_hand: u32,
    about: Option<Id>,
    /// It was resumed, and has since done nothing but decide: its children may still have to be resumed.
    resumed: bool,
    misnamed: Option<usize>,
    pub(crate) fields: Fields,
}

impl Watchdog {
    pub(crate) fn new(inherited: u32, specs: Vec<ChildSpec>, scope: Scope) -> Self {
        Self {
            balance: i64::from(inherited),
            life: Life::None,
            last_message: 0,
            living_children: 0,
            watches: BTreeSet::new(),
            names: BTreeMap::new(),
            survivors: Vec::new(),
            stopping: BTreeSet::new(),
            replacing: BTreeSet::new(),
            by_hand: 0,
            about: None,
            resumed: false,
            misnamed: None,
            fields: Fields::new(specs, scope),
        }
    }

    pub(crate) fn field_spawned(&mut self, at: usize, child: Id, id: ChildId) {
        self.living_children += 1;
        self.fields.spawned(at, child, id);
    }

    pub(crate) fn asked_by_hand(&mut self) {
        self.by_hand += 1;
    }

    /// Whether this was a declared child at any time. Some failures of declared children are answered without a
    /// decision; only I3 and I4 check those answers.
    pub(crate) fn was_field(&self, child: ChildId) -> bool {
        self.fields.ever.contains(&child)
    }

    /// A system message is about to be handled.
    pub(crate) fn delivered(world: &mut World, id: Id, message: &Message) -> Check {
        let ends = world.cell(id).protocol.is_stopping();
        let watchdog = &mut world.cell_mut(id).watchdog;
        match message {
            SystemMessage::Suspend => watchdog.balance += 1,
            SystemMessage::Resume(_) | SystemMessage::Restart(_) | SystemMessage::RestartTogether(_) => {
                watchdog.balance -= 1;
                watchdog.resumed = matches!(message, SystemMessage::Resume(_));
                if watchdog.balance < 0 && !ends {
                    return broken(Invariant::NoAnswerTooMany, format!("{id} gets {message:?} while well"));
                }
            }
            SystemMessage::Ended { subject, child: Some(_), .. } => {
                watchdog.names.retain(|_, holder| holder != subject);
                watchdog.stopping.remove(subject);
                watchdog.fields.ended(*subject);
            }
            SystemMessage::Replaced(child) => {
                let children = world.cell(id).protocol.children();
                let said = children.filter(|(other, _)| other == child).map(|(_, target)| *target).next();
                if let Some(said) = said {
                    world.cell_mut(id).watchdog.replacing.remove(&said);
                }
            }
            SystemMessage::Started(child) => watchdog.fields.started(*child),
            SystemMessage::RestartPrepared(child) => watchdog.fields.restart_prepared(*child),
            SystemMessage::Failed { child, .. } => watchdog.fields.failed(*child),
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn spawned(world: &mut World, parent: Id, name: usize, child: Id, granted: bool) {
        let ends = world.cell(parent).protocol.is_stopping();
        let watchdog = &mut world.cell_mut(parent).watchdog;
        // An ending actor refuses whatever the name.
        if (granted || !ends) && granted == watchdog.names.contains_key(&name) {
            watchdog.misnamed = Some(name);
        }
        if granted {
            watchdog.names.insert(name, child);
            watchdog.living_children += 1;
        }
    }

    pub(crate) fn may_handle(world: &World, id: Id) -> Check {
        let cell = world.cell(id);
        let Watchdog { balance, life, .. } = cell.watchdog;
        if balance != 0 || life != Life::Started || cell.parked.is_some() || cell.call.is_some() {
            return broken(
                Invariant::NoHandlerWhileSuspended,
                format!("{id} handles a message, suspended {balance} times, instance {life:?}"),
            );
        }
        Ok(())
    }

    pub(crate) fn in_order(&mut self, id: Id, number: u32) -> Check {
        if number <= self.last_message {
            return broken(Invariant::MessagesInOrder, format!("{id} handles {number} late"));
        }
        self.last_message = number;
        Ok(())
    }

    pub(crate) fn told_of_end(world: &mut World, id: Id, subject: Id) -> Check {
        let ended = world.cell(subject).closed;
        if !world.cell_mut(id).watchdog.watches.remove(&subject) || !ended {
            return broken(Invariant::TerminatedOncePerWatch, format!("{id} is told of the end of {subject}"));
        }
        Ok(())
    }

    pub(crate) fn called(world: &mut World, id: Id, call: &Call<Fault>) -> Check {
        let watchdog = &world.cell(id).watchdog;
        let made =
            if watchdog.fields.is_empty() || matches!(call, Call::Build) { Life::None } else { Life::Starting };
        match call {
            Call::Create | Call::StartNewInstance(_) | Call::Build | Call::Declare(_) if watchdog.life != made => {
                return broken(Invariant::OldGoneBeforeNew, format!("{id} has an instance already"));
            }
            Call::PreRestart { .. } | Call::PostStop { .. } if watchdog.life != Life::Started => {
                return broken(Invariant::HooksOncePerInstance, format!("{call:?} on {id}, {:?}", watchdog.life));
            }
            Call::PostStop { .. } if watchdog.living_children > 0 => {
                return broken(Invariant::ChildrenEndFirst, format!("{id} stops before its children"));
            }
            _ => {}
        }
        let watchdog = &mut world.cell_mut(id).watchdog;
        match call {
            Call::Create | Call::StartNewInstance(_) | Call::Build | Call::Declare(_) => {
                watchdog.life = Life::Starting;
            }
            Call::PreRestart { .. } | Call::PostStop { .. } => watchdog.life = Life::Leaving,
        }
        Ok(())
    }

    pub(crate) fn returned(&mut self, call: &Call<Fault>, well: bool) {
        if well && matches!(call, Call::Create | Call::StartNewInstance(_)) {
            self.life = Life::Started;
        }
    }

    pub(crate) fn instance_dropped(&mut self) {
        self.life = Life::None;
    }

    pub(crate) fn may_decide(world: &mut World, id: Id, child: ChildId, cause: Fault) -> Check {
        if world.cell(id).watchdog.fields.has_ended(child) {
            return broken(
                Invariant::RestartTypeKept,
                format!("{id} asks its table about {cause:?} of {child:?}"),
            );
        }
        world.ledger.settled += u32::from(!world.cell(id).watchdog.was_field(child));
        Self::may_renew(world, id, child)
    }

    /// A permanent child is created again, so it has no suspension that would need an answer.
    pub(crate) fn may_renew(world: &mut World, id: Id, child: ChildId) -> Check {
        let cell = world.cell(id);
        if cell.watchdog.balance != 0 || cell.protocol.is_stopping() {
            return broken(Invariant::DecidesOnlyWhenWell, format!("{id} decides about {child:?}"));
        }
        let about = cell.protocol.children().find(|(other, _)| *other == child).map(|(_, target)| *target);
        // A child that is created again, or that waits for its turn, gets no immediate answer.
        world.cell_mut(id).watchdog.about = about.filter(|_| !cell.watchdog.was_field(child));
        Ok(())
    }

    /// Looks at the effects of one step before they are performed. `ruled` is the answer of the decider, if that was the input.
    pub(crate) fn inspect(
        world: &mut World,
        id: Id,
        effects: &[Effect<Id, Fault>],
        ruled: Option<Directive>,
    ) -> Check {
        let about = world.cell_mut(id).watchdog.about.take();
        let resumed = world.cell_mut(id).watchdog.was_resumed(effects);
        let mut ending = 0;
        let restarts = effects.iter().any(|effect| matches!(effect, Effect::Note(Note::Restarted(_))));
        let owed_a_restart = if restarts { Self::survivors(world.cell(id)) } else { Vec::new() };
        let mut restarted = Vec::new();
        let mut answers = 0;
        for (at, effect) in effects.iter().enumerate() {
            let watchdog = &mut world.cell_mut(id).watchdog;
            match effect {
                Effect::Call(_) | Effect::Decide(..) | Effect::RestartEnded(..) if at + 1 < effects.len() => {
                    return broken(Invariant::CallComesLast, format!("{id}: {effects:?}"));
                }
                Effect::Report { .. } => {
                    watchdog.balance += 1;
                    answers += 1;
                    world.ledger.reported += u32::from(!world.cell(id).is_field);
                }
                Effect::Send(to, message) => {
                    Self::by_hand(world, id, *to, message)?;
                    let watchdog = &mut world.cell_mut(id).watchdog;
                    let (alone, last) = (watchdog.stopping.is_empty(), watchdog.names.is_empty());
                    watchdog.fields.told(*to, message, alone, last)?;
                    if Some(*to) == about && is_answer(message) {
                        answers += 1;
                    }
                    watchdog.told(*to, message)?;
                    if matches!(message, SystemMessage::Restart(_)) {
                        restarted.push(*to);
                    }
                }
                Effect::Unwatch(subject) => {
                    watchdog.watches.remove(subject);
                }
                Effect::Arm(Timer::Restart(_), _) => {
                    watchdog.fields.delays();
                    answers += 1;
                }
                Effect::Note(Note::Restarted(_)) => watchdog.fields.parent_restarted(),
                Effect::Note(Note::ReportDropped(child, _)) => {
                    let counts = !watchdog.was_field(*child);
                    world.ledger.settled += u32::from(counts);
                }
                Effect::Note(Note::Decided { child, outcome, .. }) => {
                    watchdog.fields.decided(*child, ruled, *outcome);
                }
                Effect::CloseUserLane if ending == 0 => ending = 1,
                Effect::TellParent(_) if ending == 1 => ending = 2,
                Effect::TellWatcher(..) if ending == 2 => {}
                Effect::CloseSystemLane if ending == 2 => ending = 3,
                Effect::CloseUserLane
                | Effect::TellParent(_)
                | Effect::TellWatcher(..)
                | Effect::CloseSystemLane => {
                    return broken(Invariant::EndInOrder, format!("{id}: {effects:?}"));
                }
                _ if ending > 0 && !matches!(effect, Effect::Note(_)) => {
                    return broken(Invariant::EndInOrder, format!("{id}: {effects:?}"));
                }
                Effect::AnnounceStop => watchdog.fields.stops(),
                Effect::StartChild(at) => watchdog.fields.starts(*at)?,
                Effect::Call(call) => watchdog.fields.called(call)?,
                _ => {}
            }
        }
        let cell = world.cell(id);
        if matches!(ending, 1 | 2) || (ending == 3 && (cell.watchdog.living_children > 0 || cell.closed)) {
            return broken(Invariant::EndInOrder, format!("{id}: {effects:?}"));
        }
        let already = |effect: &Effect<Id, Fault>| {
            matches!(effect, Effect::Note(Note::Decided { outcome: Outcome::AlreadyAnswered, .. }))
        };
        let is_answered = effects.iter().any(already);
        if let Some(culprit) = about {
            let dying = cell.watchdog.stopping.contains(&culprit) && answers == 0;
            let undone = undone(effects);
            let undone_at_most_once =
                undone.iter().all(|(to, times)| *times <= u32::from(resumed) + u32::from(*to == culprit));
            if is_answered && (answers > 0 || effects.iter().any(reaches_somebody)) {
                return broken(Invariant::AnsweredOnce, format!("{id}: {effects:?}"));
            }
            if answers != 1 && !dying && !(is_answered && undone_at_most_once) {
                return broken(
                    Invariant::OneAnswerPerReport,
                    format!("{id} answers {culprit} {answers} times: {effects:?}"),
                );
            }
        }
        if restarts && restarted != owed_a_restart {
            let what = format!("{id} restarts {restarted:?} and not {owed_a_restart:?}");
            return broken(Invariant::SurvivorsRestarted, what);
        }
        if let Some(Effect::Call(call)) = effects.last() {
            Self::new_instance(world, id, call)?;
        }
        let cell = world.cell(id);
        if let Some(name) = cell.watchdog.misnamed {
            return broken(Invariant::NameFreeAfterEnd, format!("{id} spawns {name}"));
        }
        Ok(())
    }

    /// Whether this step may resume the children.
    fn was_resumed(&mut self, effects: &[Effect<Id, Fault>]) -> bool {
        let decides_next = matches!(effects.last(), Some(Effect::Decide(..) | Effect::RestartEnded(..)));
        let goes_on = self.resumed && decides_next;
        std::mem::replace(&mut self.resumed, goes_on)
    }

    fn by_hand(world: &mut World, parent: Id, child: Id, message: &Message) -> Check {
        let SystemMessage::Restart(cause) = message else { return Ok(()) };
        if *cause != (Fault { origin: child, wrapping: Wrapping::ByHand }) {
            return Ok(());
        }
        let stops = world.cell(parent).watchdog.stopping.contains(&child);
        let asked = &mut world.cell_mut(child).watchdog.by_hand;
        if stops || *asked == 0 {
            return broken(Invariant::ByHandOnce, format!("{parent} restarts {child}"));
        }
        *asked -= 1;
        Ok(())
    }

    /// A child is told something.
    fn told(&mut self, child: Id, message: &Message) -> Check {
        match message {
            SystemMessage::RestartTogether(_) if !self.replacing.insert(child) => {
                return broken(Invariant::OneRestartAtATime, format!("{child} gets {message:?} again"));
            }
            SystemMessage::Terminate => {
                self.stopping.insert(child);
            }
            _ => {}
        }
        Ok(())
    }

    /// The children that a new instance restarts.
    fn survivors(cell: &Cell) -> Vec<Id> {
        let Self { survivors, fields, .. } = &cell.watchdog;
        let children: Vec<Id> = cell.protocol.children().map(|(_, child)| *child).collect();
        let restarts = |child: &Id| children.contains(child) && fields.restarts_with_parent(*child);
        survivors.iter().copied().filter(restarts).collect()
    }

    fn new_instance(world: &mut World, id: Id, call: &Call<Fault>) -> Check {
        let Cell { protocol, watchdog: Self { stopping, fields, .. }, .. } = world.cell(id);
        let begins = match call {
            Call::Build => true,
            Call::Create | Call::StartNewInstance(_) => fields.is_empty(),
            Call::Declare(_) | Call::PreRestart { .. } | Call::PostStop { .. } => false,
        };
        if !begins {
            return Ok(());
        }
        let children: Vec<Id> = protocol.children().map(|(_, child)| *child).collect();
        if let Some(dying) = children.iter().find(|child| stopping.contains(child)) {
            return broken(Invariant::OldGoneBeforeNew, format!("{id} does not wait for {dying}"));
        }
        if matches!(call, Call::Create) && !children.is_empty() {
            return broken(Invariant::OldGoneBeforeNew, format!("{id} starts with {children:?}"));
        }
        world.cell_mut(id).watchdog.survivors = children;
        Ok(())
    }

    /// Checks a world in which nothing more happens by itself.
    pub(crate) fn at_rest(world: &World) -> Check {
        let mut queued = 0;
        for id in &world.living.members {
            let cell = world.cell(*id);
            let watchdog = &cell.watchdog;
            let well = cell.protocol.accepts_messages()
                && cell.protocol.suspensions() == 0
                && cell.protocol.deferrals() == 0
                && watchdog.balance == 0
                && watchdog.life == Life::Started
                && cell.user.is_empty();
            if let Some(parked) = &cell.parked {
                let waited_for = cell.protocol.is_stopping() || world.calm;
                if waited_for {
                    return broken(Invariant::StopIsBounded, format!("{id} waits for {parked:?}"));
                }
                queued += 1;
            } else if !well {
                return broken(Invariant::AllWellAtRest, format!("{id}: {cell:?}"));
            }
            if let Some(subject) = watchdog.watches.iter().find(|subject| world.cell(**subject).closed) {
                return broken(
                    Invariant::TerminatedOncePerWatch,
                    format!("{id} is not told that {subject} ended"),
                );
            }
            if let Some(child) =
                watchdog.replacing.iter().find(|child| world.cell(**child).protocol.accepts_messages())
            {
                return broken(Invariant::OneRestartAtATime, format!("{id} waits for {child} to be replaced"));
            }
            if well {
                watchdog.fields.at_rest(*id)?;
            }
            if let Some((_, child)) = cell.protocol.children().find(|(_, child)| world.cell(**child).closed) {
                return broken(Invariant::NobodyForgotten, format!("{id} keeps {child}, which ended"));
            }
        }
        if queued == 0 { Self::accounts(world) } else { Ok(()) }
    }

    /// Checks a world whose root was stopped and in which nothing more can happen.
    pub(crate) fn at_the_end(world: &World) -> Check {
        if let Some(id) = world.living.members.first() {
            return broken(Invariant::NobodyForgotten, format!("{id} lives on: {:?}", world.cell(*id)));
        }
        Self::accounts(world)
    }

    fn accounts(world: &World) -> Check {
        match world.ledger.outstanding() {
            (0, 0) => Ok(()),
            (0, _) => broken(Invariant::EveryReportSettled, format!("{:?}", world.ledger)),
            _ => broken(Invariant::EveryMessageAccounted, format!("{:?}", world.ledger)),
        }
    }
}

fn reaches_somebody(effect: &Effect<Id, Fault>) -> bool {
    use SystemMessage::{Restart, RestartTogether, Suspend, Terminate};
    matches!(effect, Effect::Send(_, Suspend | Restart(_) | RestartTogether(_) | Terminate))
}

/// How many bare resumes each child gets.
fn undone(effects: &[Effect<Id, Fault>]) -> BTreeMap<Id, u32> {
    let mut undone = BTreeMap::new();
    for effect in effects {
        if let Effect::Send(to, SystemMessage::Resume(None)) = effect {
            *undone.entry(*to).or_default() += 1;
        }
    }
    undone
}

fn is_answer(message: &Message) -> bool {
    use SystemMessage::{Restart, RestartTogether, Resume, Terminate};
    matches!(message, Resume(Some(_)) | Restart(_) | RestartTogether(_) | Terminate)
}
