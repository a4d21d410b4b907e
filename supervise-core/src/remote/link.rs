//! Performs the association with one peer, and keeps what belongs to it: proxies, asks under way, contracts.
//!
//! 1. One lock. No user code, transport or drop of a user's value runs under it.
//! 2. Packets go to the transport in the order in which the association made them: one thread at a time empties the outbox.
//! 3. What the peer sent, and the verdict, go to one task in their order: `inbound`.

mod gate;
mod proxies;

use std::collections::{HashMap, VecDeque};
use std::mem::take;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

pub(super) use self::gate::{Gate, Written};
use self::proxies::let_go;
use super::association::{Association, Body, Effect, Frame, Input, Number, Packet, Refusal, Why};
use super::codec::{Abandon, Pending, RemoteHandler, error};
use super::node::NodeCore;
use super::transport::NodeId;
use super::waiting::Waiting;
use super::wire::{Note, bytes, encode};
use crate::actor::dispatch::Task;
use crate::actor::{ActorSystem, AnyActorRef, AskError, EndReason};
use crate::observe::Event;
use crate::supervision::HowEnded;

/// The association with one peer, performed.
pub(crate) struct Link {
    node: Arc<NodeCore>,
    pub(super) peer: NodeId,
    state: Mutex<State>,
    asks: AtomicU64,
    work: UnboundedSender<Work>,
    /// How much of the work is not done yet.
    undone: AtomicUsize,
}

/// What the task of `inbound` does next.
pub(super) enum Work {
    /// A new association.
    Up(Number),
    /// Frames of the peer's, and their bytes.
    Deliver(Number, Vec<Frame>, u64),
    /// A frame that waited for room in an actor's mailbox waits no more.
    Released { mine: Number, to: u64, bytes: u64 },
    /// The verdict.
    Over(Box<Over>),
    /// The node has left.
    Close,
}

/// What follows from the end of an association.
pub(super) struct Over {
    pub(super) mine: Number,
    pub(super) effects: Vec<Effect>,
}

/// What belongs to one association.
#[derive(Default)]
pub(super) struct AssociationTables {
    /// By the actor's uid on its node.
    pub(super) proxies: HashMap<u64, Vec<Interned>>,
    /// When the proxies that nobody holds are looked for.
    sweep_at: usize,
    /// The askers here.
    pub(super) asks: HashMap<u64, Pending>,
    /// The askers there.
    pub(super) answering: HashMap<u64, Arc<dyn Abandon>>,
    contracts: HashMap<(&'static str, usize), u64>,
    /// The handler of each contract, for dead letters.
    pub(super) handlers: Vec<&'static str>,
}

/// A proxy in the table.
pub(super) struct Interned {
    pub(super) any: AnyActorRef,
    /// The name of its type on the wire.
    name: &'static str,
    /// Closes its user lane.
    pub(super) close: fn(&AnyActorRef),
}

struct State {
    association: Association,
    kept: AssociationTables,
    /// What belongs to associations that are over, until their verdicts are carried out: frames that arrived before need it.
    over: Vec<(Number, AssociationTables)>,
    /// Proxies that wait for the window.
    waiting: Waiting,
    /// Proxies of actors with full mailboxes, by the actor's uid on its node.
    paused: HashMap<u64, Vec<Waker>>,
    outbox: VecDeque<Vec<u8>>,
    is_sending: bool,
    /// When the link last looked for asks whose askers have given up.
    looked_at_asks: Duration,
    /// When the link last looked for proxies that nobody holds, without regard to their number.
    swept: Duration,
}

/// How many packets may wait for room in the engine. Only packets with frames, which the window bounds, may exceed this.
const OUTBOX: usize = 4096;

/// How many bytes may be under way to a peer to which packets are [sent at once](super::Transport::send_at_once).
const CALM: u64 = 16 << 10;

/// The maximum number of asks that one note names.
const GIVEN_UP: usize = 4096;

/// The shortest time between two looks for asks whose askers have given up.
const LOOK_AT_ASKS: Duration = Duration::from_millis(500);

/// The shortest time between two looks for proxies that nobody holds, as long as few are made.
const SWEEP: Duration = Duration::from_secs(60);

/// What follows from a step, outside the lock.
#[derive(Default)]
struct After {
    wake: Vec<Waker>,
    events: Vec<Event>,
    is_news: bool,
}

impl Link {
    pub(super) fn new(
        node: Arc<NodeCore>,
        peer: NodeId,
        association: Association,
        work: UnboundedSender<Work>,
    ) -> Arc<Self> {
        let state = State {
            association,
            kept: AssociationTables::default(),
            over: Vec::new(),
            waiting: Waiting::default(),
            paused: HashMap::new(),
            outbox: VecDeque::new(),
            is_sending: false,
            looked_at_asks: Duration::ZERO,
            swept: Duration::ZERO,
        };
        Arc::new(Self {
            node,
            peer,
            state: Mutex::new(state),
            asks: AtomicU64::new(1),
            work,
            undone: AtomicUsize::new(0),
        })
    }

    pub(super) fn node(&self) -> Arc<NodeCore> {
        Arc::clone(&self.node)
    }

    pub(super) fn system(&self) -> &ActorSystem {
        self.node.system()
    }

    pub(super) fn max_message(&self) -> usize {
        self.node.max_message()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This side's number and the peer's, if there is an association.
    pub(super) fn numbers(&self) -> Option<(Number, Number)> {
        self.state().association.numbers()
    }

    /// The incarnation of the peer with which there is an association.
    pub(super) fn incarnation(&self) -> Option<(Number, u64)> {
        let state = self.state();
        Some((state.association.numbers()?.0, state.association.peer()?))
    }

    /// Whether nothing waits, and everything that was sent has been processed.
    pub(super) fn is_idle(&self) -> bool {
        self.state().association.is_idle()
    }

    // ---- steps of the association ------------------------------------------------------------------------------------

    pub(super) fn step(&self, input: Input) {
        self.with(|association, now, effects| association.step(now, input, effects));
    }

    /// Sends what waits, as far as the window allows.
    pub(super) fn flush(&self) {
        self.with(Association::flush);
    }

    fn with(&self, act: impl FnOnce(&mut Association, Duration, &mut Vec<Effect>)) {
        let (now, mut effects) = (self.node.now(), Vec::new());
        let mut state = self.state();
        act(&mut state.association, now, &mut effects);
        let after = self.carry_out(&mut state, effects);
        let deadline = state.association.deadline();
        drop(state);
        if let Some(deadline) = deadline {
            self.node.wants_tick(deadline);
        }
        for waker in after.wake {
            waker.wake();
        }
        self.pump();
        if after.is_news {
            self.node.news();
        }
        for event in after.events {
            self.node.publish(event);
        }
    }

    fn carry_out(&self, state: &mut State, effects: Vec<Effect>) -> After {
        let mut after = After::default();
        let mut over: Option<Box<Over>> = None;
        let node = || Arc::clone(self.peer.text());
        for effect in effects {
            match effect {
                Effect::Transmit(packet) => {
                    // A peer that misses a greeting or a goodbye gets another one, or loses patience.
                    if state.outbox.len() < OUTBOX || matches!(packet, Packet::Frames { .. }) {
                        state.outbox.push_back(encode(&packet));
                    }
                }
                Effect::Up { mine, .. } => {
                    self.put(Work::Up(mine));
                    after.events.push(Event::NodeUp { node: node() });
                    after.is_news = true;
                }
                Effect::Deliver { mine, frames, bytes } => self.put(Work::Deliver(mine, frames, bytes)),
                Effect::Resumed { to } => after.wake.extend(state.paused.remove(&to).into_iter().flatten()),
                Effect::Verdict { mine, why } => {
                    let kept = take(&mut state.kept);
                    state.over.push((mine, kept));
                    over = Some(Box::new(Over { mine, effects: Vec::new() }));
                    after.wake.extend(state.waiting.all());
                    after.wake.extend(take(&mut state.paused).into_values().flatten());
                    after.events.push(Event::NodeDown { node: node(), why: word(why) });
                    after.is_news = true;
                }
                Effect::Refused(refusal) => {
                    let why = match refusal {
                        Refusal::Version => "version",
                        Refusal::Mesh => "mesh",
                    };
                    after.events.push(Event::NodeRefused { node: node(), why });
                }
                effect @ (Effect::Unreachable { .. }
                | Effect::Forget { .. }
                | Effect::Resolve { .. }
                | Effect::Unsent(_)) => {
                    if let Some(over) = &mut over {
                        over.effects.push(effect);
                    }
                }
            }
        }
        if let Some(over) = over {
            self.put(Work::Over(over));
        }
        if state.association.is_open() {
            after.wake.extend(state.waiting.first());
        }
        after
    }

    pub(super) fn put(&self, work: Work) {
        self.undone.fetch_add(1, Ordering::SeqCst);
        // An error means that the node has left.
        let _left = self.work.send(work);
    }

    /// One piece of work is done.
    pub(super) fn done(&self) {
        self.undone.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether nothing connects this node with the peer any more, and everything that came from the peer has been carried out.
    pub(super) fn is_gone(&self) -> bool {
        !self.state().association.is_known() && self.undone.load(Ordering::SeqCst) == 0
    }

    /// Hands packets to the transport, unless another thread does.
    pub(super) fn pump(&self) {
        loop {
            let mut state = self.state();
            if state.is_sending {
                return;
            }
            let Some(packet) = state.outbox.pop_front() else { return };
            state.is_sending = true;
            let is_calm = state.association.under_way() <= CALM;
            drop(state);
            let transport = self.node.transport();
            let sent = if is_calm {
                transport.send_at_once(&self.peer, packet)
            } else {
                transport.send(&self.peer, packet)
            };
            let refused = sent.err();
            let mut state = self.state();
            state.is_sending = false;
            if let Some(packet) = refused {
                // The next tick tries again.
                return state.outbox.push_front(packet);
            }
        }
    }

    /// Time has passed.
    pub(super) fn tick(&self) {
        let (now, mut state) = (self.node.now(), self.state());
        if now < state.looked_at_asks + LOOK_AT_ASKS {
            drop(state);
            return self.step(Input::Tick);
        }
        state.looked_at_asks = now;
        let abandoned: Vec<u64> =
            state.kept.asks.iter().filter(|(_, pending)| pending.is_abandoned()).map(|(ask, _)| *ask).collect();
        let given_up: Vec<Pending> = abandoned.iter().filter_map(|ask| state.kept.asks.remove(ask)).collect();
        for asks in abandoned.chunks(GIVEN_UP) {
            // An error means that the association is over.
            let _over = state.association.send(Frame::Note(bytes(&Note::GivenUp { asks: asks.to_vec() }).into()));
        }
        state.association.forget_asks(abandoned);
        let mut swept = Vec::new();
        if now >= state.swept + SWEEP {
            state.swept = now;
            swept = state.kept.forget_unheld(self.node.max_refs());
        }
        drop(state);
        let_go(swept);
        if !given_up.is_empty() {
            drop(given_up);
            self.flush();
        }
        self.step(Input::Tick);
    }

    /// An asker at the peer no longer waits.
    pub(super) fn given_up(&self, mine: Number, ask: u64) {
        let mut state = self.state();
        if state.association.numbers().is_none_or(|numbers| numbers.0 != mine) {
            return;
        }
        state.association.forget_answer(ask);
        let answering = state.kept.answering.remove(&ask);
        drop(state);
        if let Some(answering) = answering {
            answering.abandon();
        }
    }

    // ---- frames ------------------------------------------------------------------------------------------------------

    /// Tells the peer that an actor here has ended.
    pub(super) fn says_gone(&self, mine: Number, uid: u64) {
        if self.send(mine, Frame::Note(bytes(&Note::Gone { uid }).into())).is_ok() {
            self.flush();
        }
    }

    /// Queues a frame. `Err`: the association is over, or nobody waits for the frame.
    pub(super) fn send(&self, mine: Number, frame: Frame) -> Result<(), ()> {
        let mut state = self.state();
        if state.association.numbers().is_none_or(|numbers| numbers.0 != mine) {
            return Err(());
        }
        state.association.send(frame).map_err(|_| ())
    }

    /// Queues a watch, if one more is within the limit. `Err`: what the watcher is told instead.
    pub(super) fn watch(&self, mine: Number, subject: u64, watcher: u64, body: Body) -> Result<(), HowEnded> {
        let mut state = self.state();
        if state.association.numbers().is_none_or(|numbers| numbers.0 != mine) {
            return Err(HowEnded::Unreachable);
        }
        if !state.association.takes_watch(subject, watcher) {
            return Err(HowEnded::TooManyWatches);
        }
        state.association.send(Frame::Watch { subject, watcher, body }).map_err(|_| HowEnded::Unreachable)
    }

    /// Queues an ask, if one more is within the limit.
    pub(super) fn ask(&self, mine: Number, to: u64, body: Body, pending: Pending) -> Result<(), Pending> {
        let ask = self.asks.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state();
        if state.association.numbers().is_none_or(|numbers| numbers.0 != mine) || !state.association.takes_ask() {
            return Err(pending);
        }
        match state.association.send(Frame::Ask { to, ask, body }) {
            Ok(()) => {
                state.kept.asks.insert(ask, pending);
                Ok(())
            }
            Err(_) => Err(pending),
        }
    }

    /// The asker of an answer that has come.
    pub(super) fn asker(&self, mine: Number, ask: u64) -> Option<Pending> {
        self.state().tables(mine)?.asks.remove(&ask)
    }

    /// Takes what belongs to an association that is over.
    pub(super) fn take_over(&self, mine: Number) -> AssociationTables {
        let mut state = self.state();
        let at = state.over.iter().position(|(of, _)| *of == mine);
        at.map(|at| state.over.swap_remove(at).1).unwrap_or_default()
    }

    /// An asker of the peer's waits for this.
    pub(super) fn answering(&self, mine: Number, ask: u64, answering: Arc<dyn Abandon>) {
        let mut state = self.state();
        if state.association.numbers().is_some_and(|numbers| numbers.0 == mine) {
            state.kept.answering.insert(ask, answering);
        } else {
            drop(state);
            answering.abandon();
        }
    }

    /// Answers an ask of the peer's.
    pub(super) fn answer(&self, mine: Number, ask: u64, body: Vec<u8>) {
        let mut state = self.state();
        let done = state.tables(mine).and_then(|tables| tables.answering.remove(&ask));
        drop(state);
        drop(done);
        let fits = body.len() <= self.max_message() && self.state().association.takes_answer(body.len());
        let body = if fits { body } else { error(&AskError::Unanswered) };
        if self.send(mine, Frame::Answer { ask, body: body.into() }).is_ok() {
            self.flush();
        }
    }

    /// The number of a handler of the peer's. Tells the peer first, if it is new.
    pub(super) fn contract(
        &self,
        mine: Number,
        actor: &'static str,
        handlers: &'static [RemoteHandler],
        handler: usize,
    ) -> Option<u64> {
        let known = handlers.get(handler)?;
        let arguments = || known.arguments.iter().map(ToString::to_string).collect();
        let mut state = self.state();
        if state.association.numbers()?.0 != mine {
            return None;
        }
        if let Some(number) = state.kept.contracts.get(&(actor, handler)) {
            return Some(*number);
        }
        let number = state.kept.handlers.len() as u64;
        let (actor_name, handler_name) = (actor.to_owned(), known.name.to_owned());
        let note = Note::Contract { number, actor: actor_name, handler: handler_name, arguments: arguments() };
        state.association.send(Frame::Note(bytes(&note).into())).ok()?;
        state.kept.handlers.push(known.message);
        state.kept.contracts.insert((actor, handler), number);
        Some(number)
    }

    /// How many packets wait for room in the engine.
    #[cfg(all(test, feature = "testkit"))]
    pub(super) fn outbox(&self) -> usize {
        self.state().outbox.len()
    }

    /// How many frames, asks, watches and full actors are kept for the peer.
    #[cfg(all(test, feature = "testkit"))]
    pub(super) fn kept(&self) -> usize {
        self.state().association.kept()
    }

    /// How many asks wait for their answers.
    pub(super) fn waiting_asks(&self) -> usize {
        self.state().kept.asks.len()
    }

    /// Drops everything that is kept, because the node has left and no task of the system runs any more.
    pub(super) fn shut(&self) {
        let mut state = self.state();
        let over = take(&mut state.over).into_iter().map(|(_, kept)| kept);
        let all: Vec<AssociationTables> = over.chain([take(&mut state.kept)]).collect();
        let waiting = (take(&mut state.waiting), take(&mut state.paused));
        drop(state);
        drop(waiting);
        for answering in all.iter().flat_map(|kept| kept.answering.values()) {
            answering.abandon();
        }
        let proxies = || all.iter().flat_map(|kept| kept.proxies.values().flatten());
        let tasks: Vec<Task> = proxies().filter_map(|interned| interned.any.0.unpark()).collect();
        for interned in proxies() {
            interned.any.core().ends_because(EndReason::Unreachable);
            (interned.close)(&interned.any);
        }
        drop(tasks);
    }
}

impl State {
    /// What belongs to this association, unless its verdict has been carried out.
    fn tables(&mut self, mine: Number) -> Option<&mut AssociationTables> {
        if self.association.numbers().is_some_and(|numbers| numbers.0 == mine) {
            return Some(&mut self.kept);
        }
        self.over.iter_mut().find(|(of, _)| *of == mine).map(|(_, kept)| kept)
    }
}

/// Why an association ended, in a word.
fn word(why: Why) -> &'static str {
    match why {
        Why::Vanished => "vanished",
        Why::Goodbye => "goodbye",
        Why::Silent => "silent",
        Why::Lost => "lost",
        Why::Restarted => "restarted",
        Why::GaveUp => "gave_up",
        Why::Broke => "broke",
        Why::Left => "left",
    }
}
