//! Some nodes, each with an association with each other node, and the packets between them.

mod checks;
mod possible;

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::time::Duration;

use supervise_core::remote::association::{
    Association, Body, Effect, Frame, Greeting, Id, Input, Number, Packet, Settings, VERSIONS,
};

use super::history::{Broken, History, Place};

/// What an actor of a node does. Actors have the number of their node in the tens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Deed {
    /// This actor tells a message to the peer.
    Tell(Id, Place),
    /// This actor tells a message to a small actor of the peer's, unless the window is closed or the small actor is known to be full.
    Put(Id, Id),
    /// Asks an actor of the peer's.
    Ask(Place),
    /// The second watches the first, an actor of the peer's.
    Watch(Id, Id),
    Unwatch(Id, Id),
    /// The actor ends.
    End(Id),
    /// The node leaves.
    Leave,
}

/// Which node an actor lives on.
pub(super) fn home(actor: Id) -> Place {
    usize::try_from(actor % SMALL / 10).unwrap_or(usize::MAX)
}

/// Actors from here on are small: their mailboxes have room for one message.
const SMALL: Id = 1 << 40;

/// A small actor that handles its messages.
pub(super) const fn reader(actor: Id) -> Id {
    SMALL + actor
}

/// A small actor that handles nothing.
pub(super) const fn idler(actor: Id) -> Id {
    2 * SMALL + actor
}

fn is_idler(actor: Id) -> bool {
    actor >= 2 * SMALL
}

/// What may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// The packet at this place between two nodes arrives. A packet other than the first costs a reordering.
    Deliver(Place, Place, usize),
    /// The first packet between two nodes is lost.
    Drop(Place, Place),
    /// The first packet between two nodes arrives, and will arrive again.
    Repeat(Place, Place),
    /// A node carries out what was delivered first.
    Work(Place),
    /// A small actor of a node handles a message.
    Read(Place, Id),
    /// A node does its next deed.
    Act(Place),
    /// A node's next deadline has come.
    Tick(Place),
    /// A node is stopped for as long as its peers are patient, and goes on.
    Freeze(Place),
    /// A node's process is killed, and started anew.
    Restart(Place),
    /// A node's process is killed.
    Kill(Place),
}

/// How often each fault may happen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Faults {
    pub(super) drops: u32,
    pub(super) repeats: u32,
    pub(super) reorders: u32,
    pub(super) ticks: u32,
    pub(super) freezes: u32,
    pub(super) restarts: u32,
    pub(super) kills: u32,
}

/// Something between two nodes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Flying {
    Packet(Packet),
    Appeared(Id),
    Vanished(Id),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Node {
    lives: bool,
    uid: Id,
    now: Duration,
    /// By the peer.
    peers: BTreeMap<Place, Association>,
    /// What waits to be carried out: peer, number, frames, bytes. The verdict has no frames: what waits for room is lost then, in its
    /// turn.
    inbox: VecDeque<(Place, Number, Option<Vec<Frame>>, u64)>,
    deeds: VecDeque<Deed>,
    ended: BTreeSet<Id>,
    /// The watchers of this node's actors: subject, watcher, and the association.
    watchers: BTreeSet<(Id, Id, Number)>,
    /// Each message and ask has its own number.
    count: u64,
    /// The small actors to which messages were sent.
    small: BTreeMap<Id, Small>,
    /// How many watches of one side may be under way, if not as many as the settings of the world say.
    watches: Option<usize>,
}

/// A small actor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Small {
    mailbox: Option<Parcel>,
    /// What waits for room.
    held: VecDeque<Parcel>,
}

/// A message that has arrived, and its association.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Parcel {
    peer: Place,
    mine: Number,
    body: Body,
    bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) settings: Settings,
    nodes: Vec<Node>,
    between: BTreeMap<(Place, Place), VecDeque<Flying>>,
    pub(super) faults: Faults,
    pub(super) history: History,
    /// Whether processing takes time, so that windows close.
    pub(super) works_later: bool,
}

impl World {
    /// Nodes that do these deeds, each in its order.
    pub(super) fn new(deeds: &[&[Deed]]) -> Self {
        let nodes = (0..deeds.len()).map(|at| Node {
            lives: true,
            uid: 1000 + at as Id,
            now: Duration::ZERO,
            peers: BTreeMap::new(),
            inbox: VecDeque::new(),
            deeds: deeds[at].iter().copied().collect(),
            ended: BTreeSet::new(),
            watchers: BTreeSet::new(),
            count: 0,
            small: BTreeMap::new(),
            watches: None,
        });
        let mut world = Self {
            settings: Settings::DEFAULT,
            nodes: nodes.collect(),
            between: BTreeMap::new(),
            faults: Faults::default(),
            history: History::default(),
            works_later: false,
        };
        for at in 0..deeds.len() {
            world.boot(at);
            for peer in 0..deeds.len() {
                if peer != at {
                    let uid = world.nodes[peer].uid;
                    world.between.entry((peer, at)).or_default().push_back(Flying::Appeared(uid));
                }
            }
        }
        world
    }

    /// Lets the nodes greet each other without faults.
    pub(super) fn greeted(mut self) -> Self {
        while let Some(action) = self.next_quiet() {
            self.act(action).expect("a greeting breaks nothing");
        }
        self
    }

    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    fn boot(&mut self, at: Place) {
        let uid = self.nodes[at].uid;
        let me = Greeting { versions: VERSIONS, mesh: String::new(), uid };
        let peers = (0..self.nodes.len()).filter(|peer| *peer != at);
        let watches = self.nodes[at].watches.unwrap_or(self.settings.watches);
        let settings = Settings { watches, ..self.settings.clone() };
        let association = |peer: Place| Association::new(settings.clone(), me.clone(), uid * 10 + peer as Id);
        self.nodes[at].peers = peers.map(|peer| (peer, association(peer))).collect();
    }

    /// Sets the settings of all nodes, before anything happened.
    pub(super) fn with_settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        (0..self.nodes.len()).for_each(|at| self.boot(at));
        self
    }

    /// Sets how many watches may be under way, for each node, before anything happened.
    pub(super) fn with_watches(mut self, limits: &[usize]) -> Self {
        for (at, limit) in limits.iter().enumerate() {
            self.nodes[at].watches = Some(*limit);
            self.boot(at);
        }
        self
    }

    /// Sets which faults may happen from now on.
    pub(super) fn with_faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        self
    }

    pub(super) fn act(&mut self, action: Action) -> Result<(), Broken> {
        match action {
            Action::Deliver(from, to, at) => {
                self.faults.reorders -= u32::from(at > 0);
                let flying = self.between.get_mut(&(from, to)).and_then(|between| between.remove(at));
                flying.map_or(Ok(()), |flying| self.arrives(from, to, flying))?;
            }
            Action::Drop(from, to) => {
                self.faults.drops -= 1;
                self.between.get_mut(&(from, to)).and_then(VecDeque::pop_front);
            }
            Action::Repeat(from, to) => {
                self.faults.repeats -= 1;
                let Some(flying) = self.between.get_mut(&(from, to)).and_then(VecDeque::pop_front) else {
                    return Ok(());
                };
                self.between.entry((from, to)).or_default().push_back(flying.clone());
                self.arrives(from, to, flying)?;
            }
            Action::Work(at) => self.work(at)?,
            Action::Read(at, actor) => self.read(at, actor)?,
            Action::Act(at) => {
                if let Some(deed) = self.nodes[at].deeds.pop_front() {
                    self.perform(at, deed)?;
                }
            }
            Action::Tick(at) => {
                self.faults.ticks -= 1;
                let deadline = self.nodes[at].deadline();
                let now = &mut self.nodes[at].now;
                *now = deadline.map_or(*now, |deadline| deadline.max(*now));
                self.tick(at)?;
            }
            Action::Freeze(at) => {
                self.faults.freezes -= 1;
                self.nodes[at].now += self.settings.patience;
            }
            Action::Restart(at) => {
                self.faults.restarts -= 1;
                self.dies(at);
                let node = &mut self.nodes[at];
                node.lives = true;
                node.uid += 100;
                let uid = node.uid;
                self.boot(at);
                for peer in (0..self.nodes.len()).filter(|peer| *peer != at) {
                    self.between.entry((at, peer)).or_default().push_back(Flying::Appeared(uid));
                    let theirs = self.nodes[peer].uid;
                    if self.nodes[peer].lives {
                        self.between.entry((peer, at)).or_default().push_back(Flying::Appeared(theirs));
                    }
                }
            }
            Action::Kill(at) => {
                self.faults.kills -= 1;
                self.dies(at);
            }
        }
        self.check()
    }

    /// The process is gone, with all that it knew. What it sent may still arrive.
    fn dies(&mut self, at: Place) {
        let node = &mut self.nodes[at];
        let uid = node.uid;
        node.lives = false;
        node.peers.clear();
        node.inbox.clear();
        node.watchers.clear();
        node.small.clear();
        self.history.died(at);
        for peer in (0..self.nodes.len()).filter(|peer| *peer != at) {
            self.between.entry((at, peer)).or_default().push_back(Flying::Vanished(uid));
        }
    }

    fn arrives(&mut self, from: Place, to: Place, flying: Flying) -> Result<(), Broken> {
        if !self.nodes[to].lives {
            return Ok(());
        }
        let input = match flying {
            Flying::Packet(packet) => Input::Received(packet),
            Flying::Appeared(uid) => Input::Appeared(uid),
            Flying::Vanished(uid) => Input::Vanished(uid),
        };
        self.step(to, from, input)
    }

    fn step(&mut self, at: Place, peer: Place, input: Input) -> Result<(), Broken> {
        let mut effects = Vec::new();
        let node = &mut self.nodes[at];
        let now = node.now;
        if let Some(association) = node.peers.get_mut(&peer) {
            association.step(now, input, &mut effects);
        }
        self.carry_out(at, peer, effects)
    }

    fn carry_out(&mut self, at: Place, peer: Place, effects: Vec<Effect>) -> Result<(), Broken> {
        let mut last = 0;
        for effect in effects {
            if let Effect::Verdict { mine, .. } = &effect {
                last = *mine;
            }
            self.history.effect(at, peer, &effect, last)?;
            match effect {
                Effect::Transmit(packet) => {
                    self.between.entry((at, peer)).or_default().push_back(Flying::Packet(packet));
                }
                Effect::Deliver { mine, frames, bytes } => {
                    self.nodes[at].inbox.push_back((peer, mine, Some(frames), bytes));
                    if !self.works_later {
                        self.work(at)?;
                    }
                }
                Effect::Forget { subject, watcher } => {
                    self.nodes[at].watchers.remove(&(subject, watcher, last));
                }
                Effect::Verdict { mine, .. } => {
                    self.nodes[at].inbox.push_back((peer, mine, None, 0));
                    if !self.works_later {
                        self.work(at)?;
                    }
                }
                Effect::Resumed { .. }
                | Effect::Up { .. }
                | Effect::Unreachable { .. }
                | Effect::Resolve { .. }
                | Effect::Unsent(_)
                | Effect::Refused(_) => {}
            }
        }
        Ok(())
    }

    fn work(&mut self, at: Place) -> Result<(), Broken> {
        let Some((peer, mine, frames, bytes)) = self.nodes[at].inbox.pop_front() else { return Ok(()) };
        let Some(frames) = frames else {
            // What waits for room becomes a dead letter.
            let small = self.nodes[at].small.values_mut();
            small.for_each(|small| small.held.retain(|parcel| (parcel.peer, parcel.mine) != (peer, mine)));
            return Ok(());
        };
        for frame in frames {
            match frame {
                Frame::Ask { ask, .. } => self.send(at, peer, Frame::Answer { ask, body: Body::default() })?,
                Frame::Watch { subject, watcher, .. } => {
                    let node = &mut self.nodes[at];
                    if node.ended.contains(&subject) {
                        self.send(at, peer, Frame::Ended { subject, watcher, body: Body::default() })?;
                    } else if node.peers.get(&peer).and_then(Association::numbers).is_some_and(|of| of.0 == mine) {
                        node.watchers.insert((subject, watcher, mine));
                    }
                }
                Frame::Unwatch { subject, watcher } => {
                    self.nodes[at].watchers.remove(&(subject, watcher, mine));
                }
                Frame::Tell { to, body, .. } if to >= SMALL => {
                    let bytes = Frame::HEAD + body.len() as u64;
                    self.take_in(at, to, Parcel { peer, mine, body, bytes })?;
                }
                Frame::Tell { .. }
                | Frame::Answer { .. }
                | Frame::Ended { .. }
                | Frame::NotWatched { .. }
                | Frame::Note(_) => {}
                Frame::Pause { .. } | Frame::Resume { .. } => {
                    return Err(format!("N2: {at} delivers {frame:?}, which is the association's own"));
                }
            }
        }
        self.step(at, peer, Input::Processed { mine, bytes })
    }

    /// A message for a small actor.
    fn take_in(&mut self, at: Place, to: Id, parcel: Parcel) -> Result<(), Broken> {
        let small = self.nodes[at].small.entry(to).or_default();
        let Parcel { peer, mine, bytes, .. } = parcel;
        if small.mailbox.is_none() && small.held.is_empty() {
            small.mailbox = Some(parcel);
            return Ok(());
        }
        self.nodes[at].small.entry(to).or_default().held.push_back(parcel);
        self.step(at, peer, Input::Held { mine, to, bytes })
    }

    fn read(&mut self, at: Place, actor: Id) -> Result<(), Broken> {
        let Some(small) = self.nodes[at].small.get_mut(&actor) else { return Ok(()) };
        let (read, next) = (small.mailbox.take(), small.held.pop_front());
        small.mailbox.clone_from(&next);
        if let Some(Parcel { mine, body, .. }) = read {
            self.history.handled(at, mine, actor, body)?;
        }
        let Some(Parcel { peer, mine, bytes, .. }) = next else { return Ok(()) };
        self.step(at, peer, Input::Released { mine, to: actor, bytes })
    }

    fn send(&mut self, at: Place, peer: Place, frame: Frame) -> Result<(), Broken> {
        let mut effects = Vec::new();
        let node = &mut self.nodes[at];
        let Some(association) = node.peers.get_mut(&peer) else { return Ok(()) };
        let mine = association.numbers().map(|numbers| numbers.0);
        if association.send(frame.clone()).is_ok()
            && let Some(mine) = mine
        {
            self.history.sent(at, mine, &frame);
        }
        association.flush(node.now, &mut effects);
        self.carry_out(at, peer, effects)
    }

    fn perform(&mut self, at: Place, deed: Deed) -> Result<(), Broken> {
        self.nodes[at].count += 1;
        let count = self.nodes[at].count;
        match deed {
            Deed::Tell(sender, peer) => {
                if self.nodes[at].ended.contains(&sender) {
                    return Ok(());
                }
                let body = vec![u8::try_from(sender).unwrap_or(0), u8::try_from(count % 251).unwrap_or(0)].into();
                self.send(at, peer, Frame::Tell { to: count, count: 1, body })
            }
            Deed::Put(sender, to) => {
                let association = &self.nodes[at].peers[&home(to)];
                if self.nodes[at].ended.contains(&sender) || association.is_paused(to) || !association.is_open() {
                    return Ok(());
                }
                let body = vec![u8::try_from(sender).unwrap_or(0), u8::try_from(count % 251).unwrap_or(0)].into();
                self.send(at, home(to), Frame::Tell { to, count: 1, body })
            }
            Deed::Ask(peer) => self.send(at, peer, Frame::Ask { to: 0, ask: count, body: Body::default() }),
            Deed::Watch(subject, watcher) => {
                if !self.nodes[at].peers[&home(subject)].takes_watch(subject, watcher) {
                    // The watcher is told at once.
                    return Ok(());
                }
                self.send(at, home(subject), Frame::Watch { subject, watcher, body: Body::default() })
            }
            Deed::Unwatch(subject, watcher) => self.send(at, home(subject), Frame::Unwatch { subject, watcher }),
            Deed::End(actor) => {
                let node = &mut self.nodes[at];
                node.ended.insert(actor);
                let watchers: Vec<Id> =
                    node.watchers.iter().filter(|(of, ..)| *of == actor).map(|(_, watcher, _)| *watcher).collect();
                node.watchers.retain(|(of, ..)| *of != actor);
                watchers.into_iter().try_for_each(|watcher| {
                    self.send(at, home(watcher), Frame::Ended { subject: actor, watcher, body: Body::default() })
                })
            }
            Deed::Leave => {
                let peers: Vec<Place> = self.nodes[at].peers.keys().copied().collect();
                peers.into_iter().try_for_each(|peer| self.step(at, peer, Input::Leave))?;
                self.dies(at);
                Ok(())
            }
        }
    }

    fn tick(&mut self, at: Place) -> Result<(), Broken> {
        let now = self.nodes[at].now;
        let due: Vec<Place> = self.nodes[at]
            .peers
            .iter()
            .filter(|(_, one)| one.deadline().is_some_and(|deadline| deadline <= now))
            .map(|(peer, _)| *peer)
            .collect();
        due.into_iter().try_for_each(|peer| self.step(at, peer, Input::Tick))
    }

    fn earliest(&self) -> Option<(Duration, Place)> {
        let wait = |node: &Node| node.deadline().map(|deadline| deadline.saturating_sub(node.now));
        let living = self.nodes.iter().enumerate().filter(|(_, node)| node.lives);
        living.filter_map(|(at, node)| Some((wait(node)?, at))).min()
    }

    fn quiet_until(&mut self, span: Duration) -> Result<(), Broken> {
        let mut left = span;
        // The shortest pause is that of an acknowledgement.
        for _ in 0..10_000 {
            while let Some(action) = self.next_quiet() {
                self.act(action)?;
            }
            let Some((wait, at)) = self.earliest() else { return Ok(()) };
            if wait > left {
                self.nodes.iter_mut().for_each(|node| node.now += left);
                return Ok(());
            }
            left -= wait;
            self.nodes.iter_mut().for_each(|node| node.now += wait);
            self.tick(at)?;
            if wait.is_zero() {
                // The rest of this moment.
                for other in 0..self.nodes.len() {
                    self.tick(other)?;
                }
            }
        }
        Err("N3: a deadline that has come is not met".to_owned())
    }
}

impl Node {
    /// What waits here for room, of what a peer sent.
    fn held(&self, peer: Place) -> impl Iterator<Item = (Id, &Parcel)> + '_ {
        let all = self.small.iter().flat_map(|(to, small)| small.held.iter().map(|parcel| (*to, parcel)));
        all.filter(move |(_, parcel)| parcel.peer == peer)
    }

    fn deadline(&self) -> Option<Duration> {
        self.peers.values().filter_map(Association::deadline).min()
    }
}
