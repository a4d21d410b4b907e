//! The part of a cell that goes on working while a handler borrows the instance: steps the protocol and carries out
//! its effects.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use tokio::time::Instant;

use super::redelivery::{Retries, Retry};
use super::user_code::WhileParked;
use super::{Cell, Effects, System};
use crate::actor::Actor;
use crate::actor_ref::AnyActorRef;
use crate::child::{ChildSlot, Declare, UndeclaredChild};
use crate::context::Context;
use crate::dead_letter::DeadLetterReason;
use crate::failure::Failure;
use crate::mailbox::{Control, Entry, Leftovers};
use crate::observe;
use crate::path::ActorPath;
use crate::props::Policy;
use crate::supervision::{
    Call, ChildId, ChildInfo, Directive, Effect, HowEnded, Input, Note, Ruling, Strategy, Timer,
};
use crate::timers::Timers;
use crate::unwind::{contained, drop_quietly};

/// The part that goes on working while a handler borrows the rest.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, set and read in one place")]
pub(super) struct Shell<A: Actor> {
    pub(super) cell: Arc<Cell<A::Message>>,
    me: AnyActorRef,
    system: VecDeque<System>,
    user: VecDeque<Entry<A::Message>>,
    stash: VecDeque<A::Message>,
    pub(super) retries: Retries<A::Message>,
    timers: Option<Box<Timers<Timer>>>,
    policy: Option<Box<Policy>>,
    stop_timeout: Duration,
    /// What the fields have declared, by field.
    slots: Vec<Option<Arc<dyn ChildSlot>>>,
    /// The call the protocol wants.
    pub(super) call: Option<Call<Failure>>,
    /// Whether the next user message may be handled; as of the last step.
    accepts: bool,
    /// The protocol wants the parked code to be dropped.
    abort: bool,
    /// The protocol knows that code is parked and waits for its return.
    pub(super) parked: bool,
    pub(super) ended: bool,
}

impl<A: Actor> WhileParked for Shell<A> {
    fn parked(&mut self) {
        self.parked = true;
        self.step_while_parked(Input::Parked);
    }

    fn go_on(&mut self, cx: &mut TaskContext<'_>) -> bool {
        loop {
            while let Some(message) = self.next_system() {
                self.step_while_parked(Input::Message(message));
            }
            if let Some(timers) = &mut self.timers
                && let Poll::Ready(timer) = timers.poll_due(cx)
            {
                self.step_while_parked(Input::Due(timer));
                continue;
            }
            self.cell.mailbox.set_accepts(false);
            return std::mem::take(&mut self.abort);
        }
    }
}

impl<A: Actor> Shell<A> {
    pub(super) fn new(cell: Arc<Cell<A::Message>>, stop_timeout: Duration, policy: Option<Box<Policy>>) -> Self {
        Self {
            me: AnyActorRef(Arc::clone(&cell) as _),
            cell,
            system: VecDeque::new(),
            user: VecDeque::new(),
            stash: VecDeque::new(),
            retries: Retries::new(),
            timers: None,
            policy,
            stop_timeout,
            slots: A::CHILDREN.iter().map(|_| None).collect(),
            call: None,
            accepts: false,
            abort: false,
            parked: false,
            ended: false,
        }
    }

    pub(super) fn next_system(&mut self) -> Option<System> {
        if self.system.is_empty() {
            if !self.cell.mailbox.system_waits() {
                return None;
            }
            self.cell.mailbox.take_system(&mut self.system);
        }
        self.system.pop_front()
    }

    pub(super) fn next_user(&mut self) -> Option<Entry<A::Message>> {
        if !self.accepts {
            return None;
        }
        if self.user.is_empty() {
            self.cell.mailbox.take_user(&mut self.user);
        }
        let next = self.user.pop_front();
        self.cell.mailbox.set_in_hand(self.user.len() + usize::from(next.is_some()));
        next
    }

    /// The next timer of the protocol that is due already. A busy cell never parks, and its timers are due all the same.
    pub(super) fn next_due(&mut self) -> Option<Timer> {
        self.timers.as_mut()?.next_due()
    }

    /// Ends the turn, until something comes; a timer of the protocol that is due is given back.
    pub(super) async fn wait(&mut self, ctx: &mut Context<A>) -> Option<Timer> {
        let mut waited = false;
        poll_fn(|cx| {
            while let Some(timers) = ctx.timers_mut()
                && let Poll::Ready(generation) = timers.poll_due(cx)
            {
                self.enqueue(Control::Tick(generation));
            }
            if let Some(timers) = &mut self.timers
                && let Poll::Ready(timer) = timers.poll_due(cx)
            {
                return Poll::Ready(Some(timer));
            }
            if std::mem::replace(&mut waited, true) {
                return Poll::Ready(None);
            }
            self.cell.mailbox.set_accepts(self.accepts);
            Poll::Pending
        })
        .await
    }

    /// Ends the turn. The next one comes when the others in the queue have had theirs.
    pub(super) async fn give_way(&mut self) {
        let mut given = false;
        poll_fn(|_| {
            if std::mem::replace(&mut given, true) {
                return Poll::Ready(());
            }
            let parked = self.cell.mailbox.wake();
            debug_assert!(parked.is_none(), "the runner runs");
            Poll::Pending
        })
        .await;
    }

    fn step_while_parked(&mut self, input: Input<'_, AnyActorRef, Failure>) {
        self.step(input, &mut || unreachable!("the instance is not dropped while its code is parked"));
    }

    /// One step of the protocol, and of those that answering its decider takes.
    pub(super) fn step(&mut self, input: Input<'_, AnyActorRef, Failure>, drop_instance: &mut dyn FnMut()) {
        if let Input::Returned(_) = &input {
            self.parked = false;
            self.abort = false;
        }
        let cell = Arc::clone(&self.cell);
        let mut effects = Effects::new();
        let mut next = Some(input);
        // What the decider answers with borrows from here.
        let strategy = self.strategy();
        while let Some(input) = next.take() {
            {
                let mut protocol = cell.core.protocol();
                protocol.step(input, &mut effects);
                self.accepts = protocol.accepts_messages();
            }
            for effect in effects.drain(..) {
                let verdict = match effect {
                    Effect::Decide(child, cause) => self.decide(child, &cause),
                    Effect::Renew(_) => Ok(Directive::Restart),
                    effect => {
                        self.perform(effect, drop_instance);
                        continue;
                    }
                };
                next = Some(Input::Decided(Ruling {
                    verdict,
                    strategy: &strategy,
                    now: cell.core.system.now(),
                    draw: fastrand::f64(),
                }));
            }
        }
    }

    fn perform(&mut self, effect: Effect<AnyActorRef, Failure>, drop_instance: &mut dyn FnMut()) {
        match effect {
            Effect::Send(to, message) => to.send_system(message),
            Effect::Watch(subject) => subject.send_system(System::Watch(self.me.clone())),
            Effect::Unwatch(subject) => subject.send_system(System::Unwatch(self.me.clone())),
            Effect::Report(cause) => self.report(cause),
            Effect::Enqueue(subject) => {
                self.enqueue(Control::Terminated(subject));
            }
            Effect::Arm(timer, delay) => {
                let at = Instant::now() + delay.unwrap_or(self.stop_timeout);
                self.timers.get_or_insert_with(|| Box::new(Timers::new())).set(timer, at);
            }
            Effect::Disarm(timer) => {
                if let Some(timers) = &mut self.timers {
                    timers.cancel(&timer);
                }
            }
            Effect::AnnounceStop => self.cell.core.announce_stop(),
            Effect::Abort => self.abort = true,
            Effect::DropInstance => drop_instance(),
            Effect::Close => self.close(),
            Effect::TellStarted => self.tell_of_field(System::Started),
            Effect::TellHalted => self.tell_of_field(System::Halted),
            Effect::StartChild(at) => self.start_child(at),
            Effect::TellParent(how) => self.tell_parent(how),
            Effect::TellWatcher(watcher, how) => {
                if self.cell.core.parent.as_ref() != Some(&watcher) {
                    watcher.send_system(System::Ended { subject: self.me.clone(), child: None, how });
                }
            }
            Effect::Note(note) => self.note(note),
            Effect::Call(call) => self.call = Some(call),
            Effect::Decide(..) | Effect::Renew(_) => unreachable!("answered in `step`"),
        }
    }

    /// Puts something at the tail of the own user lane.
    pub(super) fn enqueue(&self, control: Control) {
        // Only this cell closes its mailbox, so it is open.
        let _open = self.cell.mailbox.push_control(control);
    }

    fn report(&self, cause: Failure) {
        let core = &self.cell.core;
        match &core.parent {
            Some(parent) => parent.send_system(System::Failed { child: core.id, cause }),
            None => core.system.root_failed(&self.me, cause),
        }
    }

    fn tell_parent(&self, how: HowEnded) {
        let core = &self.cell.core;
        match &core.parent {
            Some(parent) => {
                parent.send_system(System::Ended { subject: self.me.clone(), child: Some(core.id), how });
            }
            None => core.system.root_ended(),
        }
    }

    fn tell_of_field(&self, message: fn(ChildId) -> System) {
        if let Some(parent) = &self.cell.core.parent {
            parent.send_system(message(self.cell.core.id));
        }
    }

    // ---- declared children ---------------------------------------------------------------------------------------

    /// What a new instance needs to declare a field.
    pub(super) fn declaration(&mut self, at: usize) -> Declare<'_, A> {
        let survivor = self.cell.core.protocol().child_of_field(at).cloned();
        Declare::new(self.slots.get_mut(at), survivor)
    }

    /// Whether a new instance has declared a field.
    pub(super) fn declared(&self, at: usize) -> Result<(), UndeclaredChild> {
        match self.slots.get(at) {
            Some(Some(_)) => Ok(()),
            _ => Err(UndeclaredChild { name: A::CHILDREN.get(at).map_or("", |spec| spec.name) }),
        }
    }

    fn start_child(&self, at: usize) {
        if let (Some(Some(slot)), Some(spec)) = (self.slots.get(at), A::CHILDREN.get(at)) {
            Arc::clone(slot).start(&self.me, at, spec);
        }
    }

    fn decide(&self, child: ChildId, cause: &Failure) -> Result<Directive, Failure> {
        let info = self.cell.core.protocol().child_info(child);
        let (name, restarts) = info.unwrap_or_else(|| (Arc::from(""), 0));
        let info = ChildInfo { name, restarts };
        let decided = contained(|| match &self.policy {
            Some(policy) => (policy.decide)(cause, &info),
            None => A::decide(cause, &info),
        });
        decided.unwrap_or_else(|payload| Err(Failure::panic(payload)))
    }

    fn strategy(&self) -> Strategy {
        self.policy.as_ref().map_or(A::STRATEGY, |policy| policy.strategy)
    }

    fn note(&self, note: Note<Failure>) {
        let core = &self.cell.core;
        observe::note(core, note, |id| self.path_of(id), &self.strategy());
    }

    fn path_of(&self, child: ChildId) -> Option<ActorPath> {
        let (name, _) = self.cell.core.protocol().child_info(child)?;
        self.cell.core.path().child(&name).ok()
    }

    // ---- the stash -----------------------------------------------------------------------------------------------

    /// Sets a message aside. Gives it back if the stash is full.
    pub(super) fn stash(&mut self, message: A::Message) -> Result<(), A::Message> {
        if self.stash.len() >= A::STASH_CAPACITY {
            return Err(message);
        }
        self.stash.push_back(message);
        Ok(())
    }

    /// Puts what was set aside before what waits, in its order.
    pub(super) fn unstash_all(&mut self) {
        while let Some(message) = self.stash.pop_back() {
            self.user.push_front(Entry::Message(message));
        }
    }

    // ---- redelivery ----------------------------------------------------------------------------------------------

    /// The failed message that is due again. If the actor was resumed and not restarted, its message is lost as every
    /// failing message is.
    pub(super) fn due_retry(&mut self) -> Option<&A::Message> {
        if !self.accepts {
            return None;
        }
        self.retries.forget();
        self.retries.due()
    }

    pub(super) fn quarantine(&self, retry: Retry<A::Message>) {
        self.cell.core.quarantine(A::message_name(&retry.message), retry.history);
        drop_quietly(retry.message);
    }

    /// Closes both lanes. What is left goes to dead letters, in order.
    fn close(&mut self) {
        for retry in self.retries.close() {
            self.quarantine(retry);
        }
        self.unstash_all();
        let Leftovers { system, user } = self.cell.mailbox.close();
        for message in self.system.drain(..).chain(system) {
            self.me.answer_for_the_dead(message);
        }
        for entry in self.user.drain(..).chain(user) {
            match entry {
                Entry::Message(message) => {
                    self.cell.core.dead_letter(A::message_name(&message), DeadLetterReason::Stopped);
                    drop_quietly(message);
                }
                Entry::Control(Control::Kill) => self.cell.core.dead_letter("Kill", DeadLetterReason::Stopped),
                // Whoever waits for its answer learns that there is none.
                Entry::Control(Control::Visit(visit)) => drop_quietly(visit),
                Entry::Control(Control::Terminated(_) | Control::PoisonPill | Control::Tick(_)) => {}
            }
        }
        self.timers = None;
        self.ended = true;
    }
}

/// The runtime goes away under a cell that has not ended: no hooks, but nobody waits for ever (rule 6.6).
impl<A: Actor> Drop for Shell<A> {
    fn drop(&mut self) {
        if !self.ended {
            self.close();
            // Parents and children hold each other until the children have ended.
            let forgotten = self.cell.core.protocol().abandon();
            drop_quietly(forgotten);
        }
    }
}
