//! The cell of an actor of another node, and the future that runs it: it writes messages into frames.
//!
//! While the window of the association is closed or the actor's own mailbox is full, it does not take its user lane. So a full proxy
//! refuses messages or lets senders wait as any bounded mailbox does (rule 1.6).
//!
//! Rules 26.2, 26.4, 26.5 and 26.11.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use super::association::{Frame, Number};
use super::codec::{Pending, scope};
use super::link::{Gate, Link, Written};
use super::remote_actor::RemoteActor;
use super::wire::{Note, Signal, Telling, Told, WireEnd, bytes, take_number};
use crate::actor::{
    ActorDescription, ActorRef, ActorSystem, AnyActorRef, AskError, Cell, CellProtocol, Control, Core, EndReason,
    System, dispatch::Task,
};
use crate::base::{Uid, contained, drop_contained};
use crate::mailbox::{Chunk, Entry, Mailbox, MailboxKind, Overflow};
use crate::observe::DeadLetterReason;
use crate::supervision::{ChildId, HowEnded};

/// How many messages a proxy writes in one turn.
const THROUGHPUT: u32 = 128;

/// What an actor's mailbox is here, if it is unbounded there.
const CAPACITY: usize = 65_536;

/// How many counted references to a parked proxy the runtime itself holds: those of the table, of the task twice, and of its future.
pub(super) const AT_REST: usize = 4;

/// A cell that stands for an actor of another node.
fn cell<A: RemoteActor>(system: &ActorSystem, name: &str, uid: Uid) -> Arc<Cell<A::Message>> {
    let (system, protocol) = (Arc::clone(system.core()), CellProtocol::new(0));
    let mut core = Core::new(name.into(), ChildId::ROOT, None, system, ActorDescription::of::<A>(), protocol);
    core.uid = uid;
    let kind = match A::MAILBOX {
        MailboxKind::Unbounded => MailboxKind::Bounded { capacity: CAPACITY, overflow: Overflow::Fail },
        bounded @ MailboxKind::Bounded { .. } => bounded,
    };
    Arc::new(Cell { core, mailbox: Mailbox::new(kind) })
}

/// A ref to an actor of another node that cannot be reached.
pub(super) fn dead<A: RemoteActor>(system: &ActorSystem, name: &str, uid: Uid, why: EndReason) -> ActorRef<A> {
    let cell = cell::<A>(system, name, uid);
    cell.core.ends_because(why);
    cell.mailbox.close_user_lane();
    cell.mailbox.close_system_lane();
    ActorRef::new(cell)
}

/// Makes a proxy, and the task that has to run once.
pub(super) fn make<A: RemoteActor>(
    link: &Arc<Link>,
    mine: Number,
    actor: u64,
    (name, uid): (&str, Uid),
) -> (ActorRef<A>, Task) {
    let cell = cell::<A>(link.system(), name, uid);
    let proxy = Proxy::<A> {
        cell: Arc::clone(&cell),
        link: Arc::clone(link),
        mine,
        actor,
        contracts: Vec::new(),
        last: None,
        telling: Telling::default(),
        batch: Chunk::new(),
        ends: HashMap::new(),
    };
    let task = Task::new(Arc::clone(&cell) as _, Waker::from(Arc::clone(&cell)), proxy);
    (ActorRef::new(cell), task)
}

struct Proxy<A: RemoteActor> {
    cell: Arc<Cell<A::Message>>,
    link: Arc<Link>,
    /// This side's number of the association to which it belongs.
    mine: Number,
    /// The actor's uid on its node.
    actor: u64,
    /// The numbers of the handlers that were used.
    contracts: Vec<Option<u64>>,
    /// The handler of the last message and its number, because the next one often has the same.
    last: Option<(&'static str, u64)>,
    /// The messages that are being written.
    telling: Telling,
    /// What was taken from the user lane and not written yet.
    batch: Chunk<A::Message, Control>,
    /// How the subjects ended whose end stands behind messages for this watcher.
    ends: HashMap<Uid, HowEnded>,
}

// Nothing in it is pinned.
impl<A: RemoteActor> Unpin for Proxy<A> {}

impl<A: RemoteActor> Future for Proxy<A> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<()> {
        let this = &mut *self;
        let mut gate = this.link.gate(this.mine, this.actor, cx.waker());
        if gate != Gate::Over {
            let node = this.link.node();
            gate = scope(&node, || this.serve(gate, cx));
        }
        if gate == Gate::Over {
            this.end();
            return Poll::Ready(());
        }
        this.link.flush();
        this.cell.mailbox.set_accepts(gate != Gate::Closed);
        Poll::Pending
    }
}

impl<A: RemoteActor> Proxy<A> {
    /// Writes what waits, as long as the gate is open. Returns what the gate is then.
    fn serve(&mut self, mut gate: Gate, cx: &TaskContext<'_>) -> Gate {
        while let Some(message) = self.cell.mailbox.take_system(&mut false) {
            self.system(message);
        }
        let (mut written, mut bytes) = (Vec::new(), 0);
        for turn in 0.. {
            if turn == THROUGHPUT {
                // Other cells have their turns first.
                cx.waker().wake_by_ref();
                break;
            }
            if let Gate::Open(room) = gate
                && bytes >= room
            {
                (gate, bytes) = (self.hand_over(gate, &mut written, cx), 0);
            }
            let Gate::Open(_) = gate else { return gate };
            if self.batch.is_empty() {
                self.cell.mailbox.take_user_beside(0, &mut self.batch);
            }
            if let Some(control) = self.batch.pop_control() {
                // It stands behind these messages.
                self.hand_over(gate, &mut written, cx);
                self.control(control);
                (gate, bytes) = (self.link.gate(self.mine, self.actor, cx.waker()), 0);
            } else if self.batch.is_empty() {
                break;
            } else {
                let message = self.cell.mailbox.begin_next(&mut self.batch);
                bytes += self.message(message, &mut written);
            }
        }
        self.hand_over(gate, &mut written, cx)
    }

    /// Queues what is written. Returns what the gate is then.
    fn hand_over(&mut self, gate: Gate, written: &mut Vec<Written>, cx: &TaskContext<'_>) -> Gate {
        self.told(written);
        if written.is_empty() {
            return gate;
        }
        let gate = self.link.write(self.mine, self.actor, written, cx.waker());
        let reason =
            if gate == Gate::Over { DeadLetterReason::Unreachable } else { DeadLetterReason::MailboxFull };
        for message in written.drain(..) {
            match message {
                Written::Asked { name, asker, .. } => self.lost(name, reason, Some(asker)),
                Written::Told { body, .. } => {
                    for (message, _) in Told::new(&body) {
                        self.lost(self.name_of(message), reason, None);
                    }
                }
            }
        }
        gate
    }

    /// Puts the messages that were told so far into one frame.
    fn told(&mut self, written: &mut Vec<Written>) {
        if !self.telling.is_empty() {
            let (count, body) = self.telling.take();
            written.push(Written::Told { count, body });
        }
    }

    /// Writes a message. Returns how many bytes of the window it takes.
    fn message(&mut self, message: A::Message, written: &mut Vec<Written>) -> u64 {
        let name = A::message_name(&message);
        let out = self.telling.begin();
        let encoded = contained(|| <A as RemoteActor>::encode(message, out));
        let (handler, asker) = self.telling.begun();
        let contracted = match encoded {
            Ok(Ok(())) if self.telling.length() > self.link.max_message() => Err(DeadLetterReason::TooLarge),
            Ok(Ok(())) => self.contract(handler).ok_or(DeadLetterReason::Unreachable),
            Ok(Err(_)) => Err(DeadLetterReason::Unsendable),
            Err(payload) => {
                drop_contained(payload);
                Err(DeadLetterReason::Unsendable)
            }
        };
        match (contracted, asker) {
            (Ok(contract), None) => self.telling.tell(contract),
            (Ok(contract), Some(asker)) => {
                let body = self.telling.ask(contract);
                let bytes = Frame::HEAD + body.len() as u64;
                // The messages that were told before this ask travel before it.
                self.told(written);
                written.push(Written::Asked { name, body, asker });
                bytes
            }
            (Err(reason), asker) => {
                self.telling.abandon();
                self.lost(name, reason, asker);
                0
            }
        }
    }

    /// The name that dead letters give to a message that is written already.
    fn name_of(&self, message: &[u8]) -> &'static str {
        let number = take_number(message).map(|(number, _)| number);
        let handler = self.contracts.iter().position(|known| known.is_some() && *known == number);
        handler.map_or("unknown", |handler| A::CONTRACT[handler].message)
    }

    fn lost(&self, name: &'static str, reason: DeadLetterReason, reply: Option<Pending>) {
        let is_asked = reply.is_some();
        if let Some(reply) = reply {
            let is_full = reason == DeadLetterReason::MailboxFull;
            reply.fail(if is_full { AskError::MailboxFull } else { AskError::Undeliverable });
        }
        self.cell.core.lost(crate::observe::Lost::new(name, reason, is_asked));
    }

    /// The number of a handler on the wire.
    fn contract(&mut self, handler: &'static str) -> Option<u64> {
        if let Some((last, number)) = self.last
            && std::ptr::eq(last, handler)
        {
            return Some(number);
        }
        let number = self.look_up(handler)?;
        self.last = Some((handler, number));
        Some(number)
    }

    fn look_up(&mut self, handler: &str) -> Option<u64> {
        let handler = A::CONTRACT.iter().position(|known| known.name == handler)?;
        if self.contracts.len() <= handler {
            self.contracts.resize(handler + 1, None);
        }
        if self.contracts[handler].is_none() {
            self.contracts[handler] = self.link.contract(self.mine, A::NAME, A::CONTRACT, handler);
        }
        self.contracts[handler]
    }

    fn frame(&self, frame: Frame) {
        // An error means that the association is over, so the next look at the gate ends this.
        let _over = self.link.send(self.mine, frame);
    }

    fn note(&self, note: &Note) {
        self.frame(Frame::Note(bytes(note).into()));
    }

    fn system(&mut self, message: System) {
        let subject = self.actor;
        match message {
            System::Watch(watcher) => {
                let body = bytes(&self.link.node().watcher(&watcher));
                if let Err(how) = self.link.watch(self.mine, subject, watcher.uid().into(), body.into()) {
                    let me = AnyActorRef(Arc::clone(&self.cell) as _);
                    watcher.send_system(System::Ended { subject: me, child: None, how });
                }
            }
            System::Unwatch(watcher) => self.frame(Frame::Unwatch { subject, watcher: watcher.uid().into() }),
            System::Ended { subject, how, .. } => self.watched_ended(subject, how),
            System::Terminate => self.note(&Note::Signal { uid: subject, signal: Signal::Stop }),
            other => drop_contained(other),
        }
    }

    /// The remote actor watches a subject here, which has ended. The news goes behind the messages that the subject sent.
    fn watched_ended(&mut self, subject: AnyActorRef, how: HowEnded) {
        // A proxy without a type may have a twin through which the messages go.
        if A::NAME.is_empty()
            && let Some(typed) = self.link.typed(self.mine, self.actor)
        {
            return typed.send_system(System::Ended { subject, child: None, how });
        }
        self.ends.insert(subject.uid(), how);
        match self.cell.mailbox.push_control(Control::Terminated(subject)) {
            Ok(task) => self.cell.core.run(task),
            Err(control) => self.control(control),
        }
    }

    fn control(&mut self, control: Control) {
        let uid = self.actor;
        match control {
            Control::Terminated(subject) => {
                let how = self.ends.remove(&subject.uid()).unwrap_or(HowEnded::AlreadyGone);
                let body = bytes(&WireEnd::new(how, &subject.core().end_reason()));
                self.frame(Frame::Ended { subject: subject.uid().into(), watcher: uid, body: body.into() });
            }
            Control::PoisonPill => self.note(&Note::Signal { uid, signal: Signal::Poison }),
            Control::Kill => self.note(&Note::Signal { uid, signal: Signal::Kill }),
            other => drop_contained(other),
        }
    }

    /// The association is over.
    fn end(&mut self) {
        let (me, core) = (AnyActorRef(Arc::clone(&self.cell) as _), &self.cell.core);
        core.ends_because(EndReason::Unreachable);
        let mut left = std::mem::replace(&mut self.batch, Chunk::new());
        let mut waits = self.cell.mailbox.close_user_lane();
        while let Some(entry) = left.pop().or_else(|| waits.pop()) {
            match entry {
                Entry::Message(message) => {
                    let name = A::message_name(&message);
                    core.lose(name, DeadLetterReason::Unreachable, AskError::Undeliverable, message);
                }
                Entry::Control(control) => drop_contained(control),
            }
        }
        let mut system = self.cell.mailbox.close_system_lane();
        while let Some(message) = system.pop() {
            if let System::Watch(watcher) = message {
                let how = HowEnded::Unreachable;
                watcher.send_system(System::Ended { subject: me.clone(), child: None, how });
            } else {
                drop_contained(message);
            }
        }
    }
}

/// Refuses further messages, because the actor has ended or cannot be reached. Its reason is known. Its watchers are told one by one.
pub(super) fn close<A: RemoteActor>(proxy: &AnyActorRef) {
    let Some(proxy) = proxy.downcast::<A>() else { return };
    let (mut left, senders) = proxy.shut_user_lane();
    senders.wake();
    let (reason, why) = (proxy.core().why_closed().0, proxy.core().end_reason().into_ask_error());
    while let Some(entry) = left.pop() {
        match entry {
            Entry::Message(message) => {
                let name = A::message_name(&message);
                proxy.core().lose(name, reason, why.clone(), message);
            }
            Entry::Control(control) => drop_contained(control),
        }
    }
}
