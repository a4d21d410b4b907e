//! Carries out what a peer sent, in its order: one task for each peer. User code that reads messages runs here, contained.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedReceiver;

use super::association::{Effect, Frame, Input, Number};
use super::codec::{Arguments, Asked, ok, read, scope};
use super::holding::{Held, Holding};
use super::link::{Link, Over, Work};
use super::remote_actor::{Delivered, Inlet, RemoteType, lose};
use super::wire::{Find, Note, Signal, Told, WireEnd, WireRef, take_number};
use crate::actor::{AnyActorRef, AskError, EndReason, System};
use crate::base::is_shallow;
use crate::observe::{DeadLetterReason, Lost};
use crate::supervision::{ChildId, HowEnded};

/// How many contracts a peer may make.
const CONTRACTS: usize = 65_536;

/// How many bytes the contracts of a peer may have together, as they travel.
const CONTRACT_BYTES: u64 = 16 << 20;

/// What the numbers of messages mean.
#[derive(Default)]
struct Contracts {
    by_number: BTreeMap<u64, Arc<Contract>>,
    bytes: u64,
}

impl Contracts {
    fn get(&self, number: u64) -> Option<&Arc<Contract>> {
        self.by_number.get(&number)
    }

    /// Adds a contract of so many bytes. Returns whether the peer is within the limits.
    fn add(&mut self, number: u64, contract: Contract, bytes: u64) -> bool {
        self.by_number.insert(number, Arc::new(contract));
        self.bytes = self.bytes.saturating_add(bytes);
        self.by_number.len() <= CONTRACTS && self.bytes <= CONTRACT_BYTES
    }
}

struct Contract {
    actor: String,
    handler: String,
    arguments: Vec<String>,
}

pub(super) async fn work(link: Arc<Link>, mut work: UnboundedReceiver<Work>) {
    let (mut contracts, mut holding) = (Contracts::default(), Holding::default());
    while let Some(next) = work.recv().await {
        let mut is_over = false;
        match next {
            Work::Up(mine) => {
                contracts = Contracts::default();
                link.node().greet_with_names(&link, mine);
            }
            Work::Deliver(mine, frames, bytes) => {
                let mut peer = Peer { link: &link, mine, holding: &mut holding, reached: None };
                scope(&link.node(), || {
                    for frame in &frames {
                        peer.carry_out(frame, &mut contracts);
                    }
                });
                link.step(Input::Processed { mine, bytes });
            }
            Work::Released { mine, to, bytes } => holding.released(&link, mine, to, bytes),
            Work::Over(over) => {
                contracts = Contracts::default();
                // What came before the verdict comes before its news.
                holding.over().await;
                verdict(&link, *over);
                is_over = true;
            }
            Work::Close => return,
        }
        link.done();
        if is_over {
            link.node().look_for_gone();
        }
    }
}

struct Peer<'a> {
    link: &'a Arc<Link>,
    mine: Number,
    holding: &'a mut Holding,
    /// The actor of the last message, because the next one often has the same.
    reached: Option<Reached>,
}

/// An actor of a message.
struct Reached {
    uid: u64,
    actor: AnyActorRef,
    /// `None`: the actor was named only as a watcher.
    inlet: Option<(&'static str, Box<dyn Inlet>)>,
    /// The contract of the last message, and its number.
    contract: Option<(u64, Arc<Contract>)>,
}

impl Reached {
    fn new(uid: u64, actor: AnyActorRef, kind: Option<RemoteType>) -> Self {
        let inlet = kind.and_then(|kind| Some((kind.name, (kind.inlet)(&actor)?)));
        Self { uid, actor, inlet, contract: None }
    }

    /// Where messages of this contract go, if the actor's type has it.
    fn inlet(&mut self, number: u64, contracts: &Contracts) -> Option<(&dyn Inlet, &Contract)> {
        let (name, inlet) = self.inlet.as_ref()?;
        if self.contract.as_ref().is_none_or(|(last, _)| *last != number) {
            let contract = contracts.get(number).filter(|contract| contract.actor == *name)?;
            self.contract = Some((number, Arc::clone(contract)));
        }
        let (_, contract) = self.contract.as_ref()?;
        Some((&**inlet, contract))
    }
}

impl Peer<'_> {
    fn carry_out(&mut self, frame: &Frame, contracts: &mut Contracts) {
        let (link, mine, bytes) = (self.link, self.mine, frame.size());
        match frame {
            &Frame::Tell { to, ref body, .. } => {
                let mut has_ended = false;
                for (message, bytes) in Told::new(body) {
                    has_ended |= self.message((to, bytes), message, None, contracts);
                }
                if has_ended {
                    link.says_gone(mine, to);
                }
            }
            &Frame::Ask { to, ask, ref body } => {
                let asked = Asked { link: Arc::clone(link), mine, ask };
                if to == 0 {
                    self.find(body, &asked);
                } else {
                    let has_ended = self.message((to, bytes), body, Some(asked), contracts);
                    if has_ended {
                        link.says_gone(mine, to);
                    }
                }
            }
            &Frame::Answer { ask, ref body } => {
                let Some(asker) = link.asker(mine, ask) else { return };
                if body.len() > link.max_message() {
                    asker.fail(AskError::Unanswered);
                } else {
                    asker.answer(body);
                }
            }
            &Frame::Watch { subject, watcher, ref body } => self.watch(subject, watcher, body),
            &Frame::Unwatch { subject, watcher } => {
                if let (Some(subject), Some(watcher)) = (link.node().exported(subject), link.known(mine, watcher))
                {
                    subject.send_system(System::Unwatch(watcher));
                }
            }
            &Frame::Ended { subject, watcher, ref body } => self.ended(subject, (watcher, bytes), body),
            &Frame::NotWatched { subject, watcher } => {
                // The subject lives, and its refs with it.
                let proxy = proxy_of(link, mine, subject);
                self.news(proxy, (watcher, bytes), HowEnded::TooManyWatches);
            }
            Frame::Note(body) => {
                if let Ok(note) = read::<Note>(body) {
                    self.note(note, bytes, contracts);
                }
            }
            // The association itself carries them out.
            Frame::Pause { .. } | Frame::Resume { .. } => {}
        }
    }

    /// Delivers a message. Returns whether its actor has ended.
    fn message(
        &mut self,
        (to, bytes): (u64, u64),
        body: &[u8],
        asked: Option<Asked>,
        contracts: &Contracts,
    ) -> bool {
        if self.reached.as_ref().is_none_or(|known| known.uid != to) {
            self.reached = self.link.node().reached(to).map(|(actor, kind)| Reached::new(to, actor, kind));
        }
        let Some(reached) = &mut self.reached else {
            self.too_late(to, body, asked, contracts);
            return true;
        };
        let Some((number, rest)) = take_number(body) else {
            unknown(&reached.actor, asked);
            return false;
        };
        let Some((inlet, contract)) = reached.inlet(number, contracts) else {
            unknown(&reached.actor, asked);
            return false;
        };
        if rest.len() > self.link.max_message() {
            inlet.lose(&contract.handler, DeadLetterReason::TooLarge, asked);
            return false;
        }
        if !is_shallow(rest) {
            inlet.lose(&contract.handler, DeadLetterReason::Undecodable, asked);
            return false;
        }
        let arguments = Arguments::new(&contract.arguments, rest, asked);
        let must_wait = self.holding.waits(to);
        match inlet.deliver(&contract.handler, arguments, must_wait) {
            Delivered::Taken => false,
            Delivered::Gone => true,
            Delivered::Full(held) => {
                self.holding.hold(self.link, self.mine, to, (Held::Message(held), bytes));
                false
            }
        }
    }

    /// A message reaches an actor of whom nothing is left.
    fn too_late(&self, to: u64, body: &[u8], asked: Option<Asked>, contracts: &Contracts) {
        let is_asked = asked.is_some();
        if let Some(asked) = asked {
            asked.fail(&AskError::Stopped);
        }
        let (path, kind) = self.link.node().last_known(to);
        let handler = take_number(body).and_then(|(number, _)| Some(&contracts.get(number)?.handler));
        let name = kind.zip(handler).and_then(|(kind, handler)| kind.message_name(handler)).unwrap_or("unknown");
        let lost = Lost::new(name, DeadLetterReason::Stopped, is_asked);
        self.link.system().core().dead_letter(|| (path.clone(), kind.map(|kind| kind.type_name)), lost);
    }

    /// Does what comes behind the messages that the actor was sent.
    fn in_turn(&mut self, (to, bytes): (u64, u64), act: impl FnOnce() + Send + 'static) {
        if self.holding.waits(to) {
            self.holding.hold(self.link, self.mine, to, (Held::Control(Box::new(act)), bytes));
        } else {
            act();
        }
    }

    fn find(&self, body: &[u8], asked: &Asked) {
        let found = read::<Find>(body).map(|find| self.link.node().found(&find));
        match found.map(|found| ok(&found)) {
            Ok(Ok(body)) => self.link.answer(self.mine, asked.ask, body),
            _ => self.link.answer(self.mine, asked.ask, super::codec::error(&AskError::Undeliverable)),
        }
    }

    fn watch(&self, subject: u64, watcher: u64, body: &[u8]) {
        let (link, node) = (self.link, self.link.node());
        let Ok(wire) = read::<WireRef>(body) else { return link.step(Input::Broke) };
        let Some(proxy) = node.watcher_proxy(link, self.mine, watcher, &wire) else { return };
        if let Some(subject) = node.handed_out(subject) {
            return subject.send_system(System::Watch(proxy));
        }
        let subject = link.unknown(crate::base::Uid::of(subject));
        subject.core().ends_because(EndReason::Unknown);
        proxy.send_system(System::Ended { subject, child: None, how: HowEnded::AlreadyGone });
    }

    fn ended(&mut self, subject: u64, (watcher, bytes): (u64, u64), body: &[u8]) {
        let Ok(end) = read::<WireEnd>(body) else { return self.link.step(Input::Broke) };
        let (how, reason) = (end.how(), end.reason());
        let proxy = proxy_of(self.link, self.mine, subject);
        self.link.gone(self.mine, subject, &reason);
        self.news(proxy, (watcher, bytes), how);
    }

    /// Tells a watcher here what has become of its watch, behind the messages that it was sent.
    fn news(&mut self, subject: AnyActorRef, (watcher, bytes): (u64, u64), how: HowEnded) {
        if let Some(actor) = self.link.node().exported(watcher) {
            let news = move || actor.send_system(System::Ended { subject, child: None, how });
            self.in_turn((watcher, bytes), news);
        }
    }

    fn note(&mut self, note: Note, bytes: u64, contracts: &mut Contracts) {
        match note {
            Note::Contract { number, actor, handler, arguments } => {
                self.reached = None;
                if !contracts.add(number, Contract { actor, handler, arguments }, bytes) {
                    self.link.step(Input::Broke);
                }
            }
            Note::GivenUp { asks } => asks.into_iter().for_each(|ask| self.link.given_up(self.mine, ask)),
            Note::Gone { uid } => self.link.gone(self.mine, uid, &EndReason::Unknown),
            Note::Signal { uid, signal } => {
                let Some(actor) = self.link.node().handed_out(uid) else { return };
                if self.link.node().is_untrusted() {
                    let name = match signal {
                        Signal::Stop => "Stop",
                        Signal::Poison => "PoisonPill",
                        Signal::Kill => "Kill",
                    };
                    return actor.core().dead_letter(name, DeadLetterReason::Untrusted);
                }
                match signal {
                    Signal::Stop => actor.stop(),
                    Signal::Poison => self.in_turn((uid, bytes), move || actor.poison()),
                    Signal::Kill => self.in_turn((uid, bytes), move || actor.kill()),
                }
            }
            Note::Named { name, actor, is_taken } => {
                if !self.link.node().peer_named(self.link, name, actor, is_taken) {
                    self.link.step(Input::Broke);
                }
            }
        }
    }
}

/// Makes a dead letter of a message for a handler that the actor does not have.
fn unknown(actor: &AnyActorRef, asked: Option<Asked>) {
    lose(actor, "unknown", DeadLetterReason::UnknownMessage, asked);
}

fn proxy_of(link: &Link, mine: Number, actor: u64) -> AnyActorRef {
    link.known(mine, actor).unwrap_or_else(|| link.unknown(link.uid(mine, actor)))
}

/// The association has ended. Everybody who waits for the peer is told, once.
fn verdict(link: &Arc<Link>, over: Over) {
    let Over { mine, effects } = over;
    let mut kept = link.take_over(mine);
    let node = link.node();
    node.peer_left(&link.peer);
    for interned in kept.proxies.values().flatten() {
        interned.any.core().ends_because(EndReason::Unreachable);
    }
    let proxy = |actor: u64| {
        let known = kept.proxies.get(&actor).and_then(|interned| interned.first());
        known.map_or_else(|| link.unknown(link.uid(mine, actor)), |one| one.any.clone())
    };
    // By the time that code learns of the verdict, the refs take no more messages.
    for interned in kept.proxies.values().flatten() {
        (interned.close)(&interned.any);
    }
    for effect in effects {
        match effect {
            Effect::Unreachable { subject, watcher } => {
                if let Some(watcher) = node.exported(watcher) {
                    let (subject, how) = (proxy(subject), HowEnded::Unreachable);
                    watcher.send_system(System::Ended { subject, child: None, how });
                }
            }
            Effect::Forget { subject, watcher } => {
                if let Some(subject) = node.exported(subject) {
                    subject.send_system(System::Unwatch(proxy(watcher)));
                }
            }
            Effect::Resolve { ask, sent } => {
                let why = if sent { AskError::ConnectionLost } else { AskError::Undeliverable };
                if let Some(pending) = kept.asks.remove(&ask) {
                    pending.fail(why);
                }
            }
            Effect::Unsent(Frame::Tell { to, body, .. }) => {
                let proxy = proxy(to);
                for (message, _) in Told::new(&body) {
                    let handler = take_number(message)
                        .and_then(|(number, _)| kept.handlers.get(usize::try_from(number).ok()?));
                    let name = handler.copied().unwrap_or("unknown");
                    proxy.core().dead_letter(name, DeadLetterReason::Unreachable);
                }
            }
            _ => {}
        }
    }
    for answering in kept.answering.values() {
        answering.abandon();
    }
    // Each proxy finds that its association is over, and ends.
    for interned in kept.proxies.values().flatten() {
        interned.any.send_system(System::ResetBackoff(ChildId::ROOT));
    }
}
