//! One actor's part in supervision, as a state machine: inputs in, effects out. No clock, no user code, no runtime.
//!
//! ```text
//!            Begin                     Returned(Ok)
//!   New ───────────► Creating ───────────────────────► Running ◄────────────────┐
//!                       ▲                               │   │                   │ Returned(Ok)
//!                       │ no instance                   │   │ Restart           │
//!                       └──────── Waiting(Create) ◄─────┘   ▼                   │
//!                                                        Restarting             │
//!                                                           │ pre_restart done  │
//!                                 children ended            ▼                   │
//!          StartingNewInstance ◄──────────────── Waiting(StartNewInstance)        │
//!                           └───────────────────────────────────────────────────┘
//!   from any phase, Terminate:  Terminating ──children ended──► Stopping ──post_stop done──► Ended
//! ```
//!
//! While it has no children, an actor [without a last hook](Protocol::without_last_hook) leaves Restarting in the step in which
//! it enters it, and skips Stopping.
//!
//! How each phase handles each message. A parked handler or hook delays only what needs the instance (rule 1.4):
//!
//! | message | Running, not suspended | suspended | Restarting | Waiting | Terminating, Stopping |
//! |---|---|---|---|---|---|
//! | Failed | decide | defer | defer | defer | drop |
//! | Suspend | count | count | count | count | count |
//! | Resume | – | count | count | count | count |
//! | Restart | – | restart | count | count | count |
//! | `PrepareRestart` | – | half a restart | defer | defer | – |
//! | Terminate | stop | stop | stop after the hook | stop | – |
//! | Started, `RestartPrepared` | continue with the declared children | the same | later | later | – |
//! | Ended | update the children and watches | the same | the same | the same; continue when the last dying child has ended | the same |
//!
//! If a `Restart` arrives before an earlier one has replaced the instance, the earlier one answers it, so it counts as
//! a bare `Resume`. After a `PrepareRestart` it is deferred.
//!
//! Invariants:
//!
//! 1. `suspended` is the number of own failures and received Suspends that have not been undone by a Resume or Restart.
//! 2. At most one call into user code is *out*, that is, has not returned yet. No other call is made until it
//!    returns. Deciding is separate from these calls.
//! 3. Every failure is reported exactly once, with exactly one suspension.
//! 4. No user message is handled unless the phase is Running, with an instance, not suspended, and no call out.
//! 5. `pre_restart` and `post_stop` run at most once on an instance, and only on one that had started.
//! 6. After Ended, steps have no effects.

mod by_hand;
mod declared;
mod fault;
mod interface;
mod lifecycle;
mod restarts;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::hash::Hash;

pub(crate) use self::restarts::CREATION_BACKOFF;
use super::children::{ChildRecord, Children, Report};
use super::fields::Fields;
use super::vocabulary::{Call, Cause, ChildId, Effect, Input, Note, SystemMessage, Timer};
use super::watch::Watches;

/// The supervision state of one actor. `R` identifies actors, `C` is the cause of a failure.
#[derive(Debug, Clone, Hash)]
pub struct Protocol<R, C> {
    phase: Phase<C>,
    instance: Instance,
    /// How many restarts that the parent sent have begun.
    restarts: u32,
    /// How many times this actor has begun to run, by a start that succeeded or by a resume. Wraps around.
    runs: u8,
    /// Invariant 1.
    suspended: u32,
    /// The actor whose failure made this actor fail, until this actor is resumed with a cause or restarted.
    failed: Option<Perpetrator>,
    /// Invariant 2.
    out: Option<Out>,
    /// The call to make as soon as no decision is outstanding.
    wanted: Option<Out>,
    /// The step that waits until the user code that is out returns.
    pending: Option<Box<Pending<C>>>,
    /// Whether the abort timer runs.
    armed: bool,
    aborted: Aborted,
    children: Option<Box<Children<R, C>>>,
    watch: Option<Box<Watches<R>>>,
    deferred: Option<Box<Deferred<R, C>>>,
    /// Whether the parent waits to be told that the old instance is gone.
    tells_replaced: bool,
    traits: Traits,
    fields: Option<Box<Fields<C>>>,
}

/// What never changes, in one byte, because every actor keeps it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Traits(u8);

impl Traits {
    /// The parent waits for this actor's starts, because it declared it.
    const REPORTS: u8 = 1;
    /// While this actor has no children, `pre_restart` and `post_stop` may be skipped.
    const NO_LAST_HOOK: u8 = 2;

    fn has(self, one: u8) -> bool {
        self.0 & one != 0
    }
}

#[derive(Debug, Clone, PartialEq, Hash)]
enum Phase<C> {
    New,
    Creating,
    Running,
    Restarting(Goal<C>),
    Waiting(Goal<C>),
    StartingNewInstance(C),
    Terminating,
    Stopping,
    Ended,
}

/// What happens when the last dying child has ended.
#[derive(Debug, Clone, PartialEq, Hash)]
enum Goal<C> {
    Create,
    StartNewInstance(C),
    /// Tell the parent, which restarts it when its turn comes.
    PrepareRestart(C),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Instance {
    /// There is no instance, and no instance has completed its start yet.
    None,
    Live,
    /// There is no instance, because the last restart failed.
    HalfBuilt,
}

/// Whether a handler or hook of the current instance was aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Aborted {
    Never,
    /// For a restart.
    Before,
    /// For the stop.
    ByStop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Perpetrator {
    Myself,
    Child(ChildId),
}

/// The user code that is out, or must be called. Its arguments follow from the rest of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Out {
    Handler,
    Build,
    Declare,
    Create,
    PreRestart,
    StartNewInstance,
    PostStop,
}

#[derive(Debug, Clone, PartialEq, Hash)]
enum Pending<C> {
    Restart(C),
    PrepareRestart(C),
    Terminate,
}

/// Whether a deferred or pending step was continued.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Continued {
    Yes,
    /// There is none, or it cannot be continued yet.
    No,
}

#[derive(Debug, Clone, Hash)]
struct Deferred<R, C> {
    /// Reports, until the actor's own failure or restart is over.
    failures: VecDeque<Report<C>>,
    /// A `PrepareRestart`, until a restart is over, and the messages that came after it: further ones, and one restart
    /// between two of them.
    control: VecDeque<SystemMessage<R, C>>,
    /// A resume, until the reports have been decided. It is `None` unless this actor decides.
    resume: Option<DeferredResume>,
}

impl<R, C> Default for Deferred<R, C> {
    fn default() -> Self {
        Self { failures: VecDeque::new(), control: VecDeque::new(), resume: None }
    }
}

/// A resume that the children have not got yet. If this actor escalates a deferred report, it fails again, and they stay suspended
/// without being told. So n escalations cost n messages, not n².
#[derive(Debug, Clone, Copy, Hash)]
struct DeferredResume {
    /// The child whose failure the resume answers has got it already.
    passed_to: Option<ChildId>,
    /// Children from this id on were added later.
    below: ChildId,
}

/// Why a child could not be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpawnRefusal {
    /// Another child has the name. The name is free after that child's end has been processed.
    NameTaken,
    /// The actor is stopping.
    Stopping,
}

impl<R: Hash + Eq + Clone, C: Cause> Protocol<R, C> {
    /// The state of a new actor whose parent is suspended `inherited` times.
    pub fn new(inherited: u32) -> Self {
        Self {
            phase: Phase::New,
            instance: Instance::None,
            restarts: 0,
            runs: 0,
            suspended: inherited,
            failed: None,
            out: None,
            wanted: None,
            pending: None,
            armed: false,
            aborted: Aborted::Never,
            children: None,
            watch: None,
            deferred: None,
            tells_replaced: false,
            traits: Traits::default(),
            fields: None,
        }
    }

    /// The same actor with default hooks at the end of an instance, which only stop its children. They are not called while it
    /// has none.
    #[must_use]
    pub fn without_last_hook(mut self) -> Self {
        self.traits.0 |= Traits::NO_LAST_HOOK;
        self
    }

    /// The performer goes away before the actor's end. From now on, steps have no effect, and no other actors are
    /// known. Returns the state so far.
    #[must_use]
    pub fn abandon(&mut self) -> Self {
        std::mem::replace(self, Self { phase: Phase::Ended, ..Self::new(0) })
    }

    /// Begins the actor. Returns its first call, which comes before any input.
    pub fn begin(&mut self) -> Call<C> {
        debug_assert!(matches!(self.phase, Phase::New), "a cell begins once");
        self.phase = Phase::Creating;
        let first = self.first_call(Out::Create);
        self.out = Some(first);
        self.call(first)
    }

    /// Takes one input and appends its effects.
    ///
    /// # Panics
    ///
    /// In debug builds, if the performer breaks the protocol: by a return without a call, or an answer without a
    /// question.
    pub fn step(&mut self, input: Input<'_, R, C>, effects: &mut Vec<Effect<R, C>>) {
        if matches!(self.phase, Phase::Ended) {
            return;
        }
        match input {
            Input::Message(message) => self.receive(message, effects),
            Input::Parked => self.parked(effects),
            Input::Returned(returned) => self.returned(returned, effects),
            Input::Decided(cause, ruling) => self.decided(cause, ruling, effects),
            Input::Due(Timer::Abort) => self.abort_due(effects),
            Input::Due(Timer::Restart(schedule)) => self.restart_due(schedule, effects),
        }
        self.continue_deferred(effects);
    }

    fn receive(&mut self, message: SystemMessage<R, C>, effects: &mut Vec<Effect<R, C>>) {
        match message {
            SystemMessage::RestartTogether(cause) => {
                self.tells_replaced = true;
                self.receive(SystemMessage::Restart(cause), effects);
            }
            SystemMessage::Restart(_) if self.is_to_be_replaced() => self.join_restart(effects),
            SystemMessage::Restart(_) | SystemMessage::PrepareRestart(_)
                if self.is_waiting() || self.restart_is_under_way() =>
            {
                self.deferred.get_or_insert_default().control.push_back(message);
            }
            SystemMessage::Suspend => self.suspend(effects),
            SystemMessage::Resume(cause) => self.resume(cause, effects),
            SystemMessage::Restart(cause) => self.restart(cause, effects),
            SystemMessage::Terminate => self.terminate(effects),
            SystemMessage::PrepareRestart(cause) => self.prepare_restart(cause, effects),
            SystemMessage::Replaced(child) => {
                if let Some(children) = &mut self.children {
                    children.mark_replaced(child);
                }
            }
            SystemMessage::Started(child) => {
                if let Some(fields) = &mut self.fields {
                    fields.started(child);
                }
            }
            SystemMessage::RestartPrepared(child) => {
                if let Some(fields) = &mut self.fields {
                    fields.prepared(child);
                }
            }
            SystemMessage::Failed { child, cause, restarts, runs } => {
                self.child_failed(Report { child, cause, restarts, runs }, effects);
            }
            SystemMessage::Ended { subject, child, how } => self.ended(&subject, child, how, effects),
            SystemMessage::Watch(watcher) => self.watches().add_watcher(watcher),
            SystemMessage::Unwatch(watcher) => {
                if let Some(watch) = &mut self.watch {
                    watch.remove_watcher(&watcher);
                }
            }
            SystemMessage::RetryNow(child) => self.retry_now(child, effects),
            SystemMessage::RestartByHand { child, cause, restarts } => {
                self.restart_by_hand(child, cause, restarts, effects);
            }
            SystemMessage::ResetBackoff(child) => {
                if let Some(child) = self.child_mut(child) {
                    child.history_mut().backoff.reset();
                }
            }
        }
    }

    /// Continues deferred steps, as far as possible now. The call, if one is due, comes last.
    fn continue_deferred(&mut self, effects: &mut Vec<Effect<R, C>>) {
        while !self.is_deciding() {
            if self.deferred.is_some() && self.take_up_deferred(effects) == Continued::Yes {
                continue;
            }
            if self.pending.is_some() && self.take_up_pending(effects) == Continued::Yes {
                continue;
            }
            self.drive(effects);
            if let Some(wanted) = self.wanted.take() {
                self.out = Some(wanted);
                effects.push(Effect::Call(self.call(wanted)));
            }
            break;
        }
    }

    /// Takes up one deferred message, failure or resume, if there is one.
    #[cold]
    fn take_up_deferred(&mut self, effects: &mut Vec<Effect<R, C>>) -> Continued {
        if let Some(message) = self.next_deferred_control() {
            self.receive(message, effects);
        } else if self.wanted.is_none()
            && let Some(report) = self.next_deferred_failure()
        {
            self.child_failed(report, effects);
        } else if let Some(resume) = self.take_deferred_resume() {
            self.resume_children(resume, effects);
        } else {
            return Continued::No;
        }
        Continued::Yes
    }

    /// Takes up the step that waits for user code, unless that is still out.
    #[cold]
    fn take_up_pending(&mut self, effects: &mut Vec<Effect<R, C>>) -> Continued {
        if self.out.is_some() || self.wanted.is_some() {
            return Continued::No;
        }
        match self.pending.take().map(|pending| *pending) {
            Some(Pending::Restart(cause)) => self.restart(cause, effects),
            Some(Pending::PrepareRestart(cause)) => self.prepare_restart(cause, effects),
            Some(Pending::Terminate) => self.begin_terminate(effects),
            None => return Continued::No,
        }
        Continued::Yes
    }

    fn call(&self, wanted: Out) -> Call<C> {
        match (wanted, &self.phase) {
            (Out::Build, _) => Call::Build,
            (Out::Declare, _) => Call::Declare(self.cursor().unwrap_or_default()),
            (Out::Create, _) => Call::Create,
            (Out::PreRestart, Phase::Restarting(Goal::StartNewInstance(cause) | Goal::PrepareRestart(cause))) => {
                let own = self.failed == Some(Perpetrator::Myself);
                Call::PreRestart { cause: cause.clone(), own, aborted: self.aborted != Aborted::Never }
            }
            (Out::StartNewInstance, Phase::StartingNewInstance(cause)) => Call::StartNewInstance(cause.clone()),
            (Out::PostStop, _) => Call::PostStop { aborted: self.aborted != Aborted::Never },
            (Out::Handler | Out::PreRestart | Out::StartNewInstance, _) => {
                unreachable!("handlers are not called from here, and hooks of a restart only in its phases")
            }
        }
    }

    fn next_deferred_control(&mut self) -> Option<SystemMessage<R, C>> {
        if self.is_waiting() || self.restart_is_under_way() {
            return None;
        }
        self.deferred.as_mut()?.control.pop_front()
    }

    fn next_deferred_failure(&mut self) -> Option<Report<C>> {
        if self.decides_now() { self.deferred.as_mut()?.failures.pop_front() } else { None }
    }

    fn take_deferred_resume(&mut self) -> Option<DeferredResume> {
        self.deferred.as_mut()?.resume.take()
    }

    /// Whether a restart or another creation waits for children to end.
    fn is_waiting(&self) -> bool {
        matches!(self.phase, Phase::Waiting(_))
    }

    /// Whether a restart has begun, or waits for the code that is out, so that another one must wait.
    fn restart_is_under_way(&self) -> bool {
        matches!(self.phase, Phase::Restarting(_)) || self.restart_is_pending()
    }

    fn restart_is_pending(&self) -> bool {
        matches!(self.pending.as_deref(), Some(Pending::Restart(_) | Pending::PrepareRestart(_)))
    }

    /// Whether the instance ends anyway, or the last restart has not replaced it yet. Either answers the next restart
    /// too.
    fn is_to_be_replaced(&self) -> bool {
        if self.is_stopping() {
            return true;
        }
        match self.deferred.as_ref().and_then(|deferred| deferred.control.back()) {
            Some(last) => matches!(last, SystemMessage::Restart(_)),
            None => {
                matches!(self.pending.as_deref(), Some(Pending::Restart(_)))
                    || matches!(
                        self.phase,
                        Phase::Restarting(Goal::StartNewInstance(_))
                            | Phase::Waiting(Goal::Create | Goal::StartNewInstance(_))
                    )
            }
        }
    }

    fn stop_is_pending(&self) -> bool {
        matches!(self.pending.as_deref(), Some(Pending::Terminate))
    }

    fn is_deciding(&self) -> bool {
        self.children.as_ref().is_some_and(|children| children.deciding.is_some())
    }

    /// Children with a smaller id existed before the last restart began.
    fn survivors_below(&self) -> ChildId {
        self.children.as_ref().map_or(ChildId(0), |children| children.survivors_below)
    }

    /// A restart begins: the children that exist now are its survivors.
    fn mark_survivors(&mut self) {
        if let Some(children) = &mut self.children {
            children.survivors_below = children.next_id();
        }
    }

    fn is_terminating(&self) -> bool {
        matches!(self.phase, Phase::Terminating | Phase::Stopping | Phase::Ended)
    }

    /// Whether a child's failure is decided at once.
    fn decides_now(&self) -> bool {
        self.suspended == 0
            && matches!(self.phase, Phase::Creating | Phase::Running | Phase::StartingNewInstance(_))
            && !self.stop_is_pending()
    }

    fn skips_last_hook(&self) -> bool {
        self.traits.has(Traits::NO_LAST_HOOK) && self.children.as_ref().is_none_or(|children| children.is_empty())
    }

    fn watches(&mut self) -> &mut Watches<R> {
        self.watch.get_or_insert_default()
    }

    fn child_mut(&mut self, id: ChildId) -> Option<&mut ChildRecord<R>> {
        self.children.as_mut()?.find_mut(id)
    }

    fn note(effects: &mut Vec<Effect<R, C>>, note: Note<C>) {
        effects.push(Effect::Note(note));
    }
}
