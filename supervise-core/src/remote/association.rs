//! The association of two nodes: greeting, order, window, liveness and verdict, as a pure state machine.
//!
//! ```text
//!   Unknown ──appeared, hello──► Greeting ──welcome for mine, packet for mine──► Up
//!      ▲                           │  ▲                                          │
//!      └──── silent and not there ─┘  └────────────────── verdict ◄──────────────┘
//! ```
//!
//! Nothing in here uses a runtime, a clock, a lock, a transport or user code: time is an argument, and effects come out. The
//! performer is `link`, the simulation in the tests performs the same effects in plain code.
//!
//! What arrives of one association is a prefix of what was sent through it: nothing is sent twice, a packet that is missing ends the
//! association. It ends once on each side, by a verdict, which resolves all that waits for the peer.
//!
//! Rules 26.1 and 26.3.

mod body;
#[cfg(test)]
mod tests;
mod up;
mod vocabulary;

use std::mem::take;

pub use self::body::Body;
use self::up::Up;
pub use self::vocabulary::{Effect, Frame, Greeting, Id, Input, Number, Packet, Refusal, Settings, VERSIONS, Why};
use crate::supervision::Time;

/// One side of the association with one peer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Association {
    settings: Settings,
    me: Greeting,
    /// The next number comes from here.
    seed: u64,
    /// The incarnation of the peer that the engine says is there.
    there: Option<Id>,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum State {
    Unknown,
    Greeting(Greets),
    Up(Box<Up>),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Greets {
    mine: Number,
    next: Time,
    pause: Time,
    /// When the peer was heard last, or the greeting began.
    heard: Time,
    /// The incarnation that was heard last.
    peer: Option<Id>,
}

impl Association {
    /// An association that knows nothing of its peer. Its numbers follow from `seed`, which must be random.
    pub fn new(settings: Settings, me: Greeting, seed: u64) -> Self {
        Self { settings, me, seed, there: None, state: State::Unknown }
    }

    /// This side's number and the peer's, if there is an association.
    pub fn numbers(&self) -> Option<(Number, Number)> {
        self.up().map(|up| (up.mine, up.yours))
    }

    /// The incarnation of the peer with which there is an association.
    pub fn peer(&self) -> Option<Id> {
        self.up().and_then(|up| up.peer)
    }

    /// Whether it greets or is up.
    pub fn is_known(&self) -> bool {
        !matches!(self.state, State::Unknown)
    }

    /// Whether a sender that can wait should send now: what is queued and what is under way fit into the window.
    pub fn is_open(&self) -> bool {
        self.room() > 0
    }

    /// How many bytes a sender that can wait should send now.
    pub fn room(&self) -> u64 {
        self.up().map_or(0, |up| self.settings.window.saturating_sub(up.queued + up.under_way()))
    }

    /// Whether the mailbox of this actor of the peer's is full, so that a sender that can wait should.
    pub fn is_paused(&self, to: Id) -> bool {
        self.up().is_some_and(|up| up.paused.contains(&to))
    }

    /// How many actors of the peer's are paused.
    pub fn paused(&self) -> usize {
        self.up().map_or(0, |up| up.paused.len())
    }

    /// Whether one more ask is within the limit of a peer with the same settings.
    pub fn takes_ask(&self) -> bool {
        self.up().is_none_or(|up| up.asks.len() < self.settings.asks)
    }

    /// Whether one more watch, or a repeated one, is within the limit of a peer with the same settings.
    pub fn takes_watch(&self, subject: Id, watcher: Id) -> bool {
        self.up().is_none_or(|up| {
            up.watching.len() < self.settings.watches || up.watching.contains(&(subject, watcher))
        })
    }

    /// Whether an answer of so many bytes may be queued.
    pub fn takes_answer(&self, body: usize) -> bool {
        let size = Frame::HEAD.saturating_add(body as u64);
        self.up().is_none_or(|up| up.queued.saturating_add(size) <= self.settings.backlog)
    }

    /// How many bytes were sent and not acknowledged.
    pub fn under_way(&self) -> u64 {
        self.up().map_or(0, Up::under_way)
    }

    /// Whether nothing waits, and everything that was sent has been processed.
    pub fn is_idle(&self) -> bool {
        self.up().is_none_or(|up| {
            up.queue.is_empty() && up.untold.is_empty() && up.under_way() == 0 && up.paused.is_empty()
        })
    }

    /// How many frames, asks, watches and full actors are kept for the peer.
    pub fn kept(&self) -> usize {
        self.up().map_or(0, |up| {
            let asks = up.asks.len() + up.answering.len();
            let full = up.holding.len() + up.untold.len() + up.paused.len();
            up.queue.len() + asks + up.watching.len() + up.watched.len() + up.refused.len() + full
        })
    }

    /// When it wants the next [`Input::Tick`].
    pub fn deadline(&self) -> Option<Time> {
        match &self.state {
            State::Unknown => None,
            State::Greeting(greets) => {
                let over = greets.heard + self.settings.patience;
                Some(if self.there.is_some() { greets.next } else { greets.next.min(over) })
            }
            State::Up(up) => {
                let alive = (up.heard + self.settings.patience).min(up.spoke + self.settings.heartbeat);
                Some(up.owes.map_or(alive, |since| alive.min(since + self.settings.acknowledge_within)))
            }
        }
    }

    /// Queues a frame. [`flush`](Self::flush) sends what the window allows.
    ///
    /// # Errors
    ///
    /// The frame, if there is no association, or it answers or tells of what the peer does not wait for any more.
    pub fn send(&mut self, frame: Frame) -> Result<(), Frame> {
        let State::Up(up) = &mut self.state else { return Err(frame) };
        let waits = match &frame {
            Frame::Ask { ask, .. } => up.asks.insert(*ask),
            Frame::Answer { ask, .. } => up.answering.remove(ask),
            Frame::Watch { subject, watcher, .. } => {
                up.watching.insert((*subject, *watcher));
                true
            }
            Frame::Unwatch { subject, watcher } => up.watching.remove(&(*subject, *watcher)),
            Frame::Ended { subject, watcher, .. } => up.watched.remove(&(*subject, *watcher)),
            Frame::Tell { .. }
            | Frame::Note(_)
            | Frame::NotWatched { .. }
            | Frame::Pause { .. }
            | Frame::Resume { .. } => true,
        };
        if !waits {
            return Err(frame);
        }
        up.put(frame);
        Ok(())
    }

    /// Forgets the asks whose askers wait no more. Their answers are dropped.
    pub fn forget_asks(&mut self, asks: impl IntoIterator<Item = u64>) {
        if let State::Up(up) = &mut self.state {
            for ask in asks {
                up.asks.remove(&ask);
            }
        }
    }

    /// Forgets an ask from the peer whose asker no longer waits. The answer is not sent.
    pub fn forget_answer(&mut self, ask: u64) {
        if let State::Up(up) = &mut self.state {
            up.answering.remove(&ask);
        }
    }

    /// Sends what is queued, as far as the window allows. If too much is queued, the association ends.
    pub fn flush(&mut self, now: Time, effects: &mut Vec<Effect>) {
        if let State::Up(up) = &mut self.state {
            up.flush(&self.settings, now, effects);
            if up.queued > self.settings.most_queued() {
                self.end(now, Why::Broke, effects);
            }
        }
    }

    /// One step.
    pub fn step(&mut self, now: Time, input: Input, effects: &mut Vec<Effect>) {
        match input {
            Input::Appeared(uid) => self.appeared(now, uid, effects),
            Input::Vanished(uid) => {
                if self.there == Some(uid) {
                    self.there = None;
                }
                if self.up().is_some_and(|up| up.peer == Some(uid)) {
                    self.end(now, Why::Vanished, effects);
                }
            }
            Input::Received(packet) => self.received(now, packet, effects),
            Input::Held { mine, to, bytes } => {
                if let State::Up(up) = &mut self.state
                    && up.mine == mine
                {
                    up.holds(to, bytes);
                    self.flush(now, effects);
                }
            }
            Input::Released { mine, to, bytes } => {
                if let State::Up(up) = &mut self.state
                    && up.mine == mine
                {
                    up.releases(&self.settings, now, (to, bytes), effects);
                    self.flush(now, effects);
                }
            }
            Input::Processed { mine, bytes } => {
                if let State::Up(up) = &mut self.state
                    && up.mine == mine
                {
                    up.has_processed(&self.settings, now, bytes, effects);
                }
            }
            Input::Tick => self.tick(now, effects),
            Input::Leave => {
                self.there = None;
                self.end(now, Why::Left, effects);
                self.state = State::Unknown;
            }
            Input::Broke => self.end(now, Why::Broke, effects),
        }
    }

    fn up(&self) -> Option<&Up> {
        match &self.state {
            State::Up(up) => Some(up),
            State::Unknown | State::Greeting(_) => None,
        }
    }

    fn appeared(&mut self, now: Time, uid: Id, effects: &mut Vec<Effect>) {
        let is_new = self.there.replace(uid) != Some(uid);
        match &mut self.state {
            State::Unknown => self.greet(now, effects),
            State::Greeting(greets) if is_new => {
                // It was not there for the earlier greetings.
                greets.pause = self.settings.greet_every;
                greets.next = now + greets.pause;
                effects.push(Effect::Transmit(Packet::Hello { from: self.me.clone(), mine: greets.mine }));
            }
            State::Greeting(_) => {}
            State::Up(up) => {
                if up.peer.is_some_and(|peer| peer != uid) {
                    self.end(now, Why::Restarted, effects);
                }
            }
        }
    }

    /// Begins to greet, under a new number.
    fn greet(&mut self, now: Time, effects: &mut Vec<Effect>) {
        let mine = self.next_number();
        let pause = self.settings.greet_every;
        let greets = Greets { mine, next: now + pause, pause, heard: now, peer: self.there };
        self.state = State::Greeting(greets);
        effects.push(Effect::Transmit(Packet::Hello { from: self.me.clone(), mine }));
    }

    /// Numbers of one side never repeat, and nobody can guess the next one without the seed (`SplitMix64`).
    fn next_number(&mut self) -> Number {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.seed ^ (self.seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn received(&mut self, now: Time, packet: Packet, effects: &mut Vec<Effect>) {
        match packet {
            Packet::Hello { from, mine } => self.greeted(now, from, mine, effects),
            Packet::Welcome { from, yours, mine } => {
                if let Some(refusal) = self.refuses(&from) {
                    effects.push(Effect::Refused(refusal));
                } else if let State::Greeting(greets) = &self.state
                    && greets.mine == yours
                {
                    self.is_up(now, mine, Some(from.uid), effects);
                }
            }
            Packet::Frames { to, from, sequence, acknowledged, frames } => {
                if let State::Greeting(greets) = &self.state
                    && greets.mine == to
                {
                    // The peer is up with this number, which the sender can know only from a welcome.
                    let peer = greets.peer;
                    self.is_up(now, from, peer, effects);
                }
                match &mut self.state {
                    State::Up(up) if up.mine == to && up.yours == from => {
                        match up.arrives(&self.settings, now, sequence, acknowledged, frames, effects) {
                            Ok(()) => self.flush(now, effects),
                            Err(why) => self.end(now, why, effects),
                        }
                    }
                    _ => effects.push(Effect::Transmit(Packet::Goodbye { to: from, from: to })),
                }
            }
            Packet::Goodbye { to, from } => {
                if self.numbers() == Some((to, from)) {
                    self.end(now, Why::Goodbye, effects);
                }
            }
        }
    }

    fn refuses(&self, peer: &Greeting) -> Option<Refusal> {
        let (mine, theirs) = (self.me.versions, peer.versions);
        if peer.mesh != self.me.mesh {
            Some(Refusal::Mesh)
        } else if theirs.1 < mine.0 || mine.1 < theirs.0 {
            Some(Refusal::Version)
        } else {
            None
        }
    }

    fn greeted(&mut self, now: Time, peer: Greeting, yours: Number, effects: &mut Vec<Effect>) {
        if let Some(refusal) = self.refuses(&peer) {
            return effects.push(Effect::Refused(refusal));
        }
        if let State::Up(up) = &mut self.state {
            if up.yours == yours {
                up.heard = now;
            } else {
                let why = if up.peer == Some(peer.uid) { Why::GaveUp } else { Why::Restarted };
                self.end(now, why, effects);
            }
        }
        if let State::Unknown = self.state {
            self.greet(now, effects);
        }
        let mine = match &mut self.state {
            State::Greeting(greets) => {
                greets.heard = now;
                greets.peer = Some(peer.uid);
                greets.mine
            }
            State::Up(up) => up.mine,
            State::Unknown => return,
        };
        effects.push(Effect::Transmit(Packet::Welcome { from: self.me.clone(), yours, mine }));
    }

    fn is_up(&mut self, now: Time, yours: Number, peer: Option<Id>, effects: &mut Vec<Effect>) {
        if let State::Greeting(Greets { mine, .. }) = self.state {
            self.state = State::Up(Box::new(Up::new((mine, yours), peer, now)));
            effects.push(Effect::Up { mine, yours });
        }
    }

    fn tick(&mut self, now: Time, effects: &mut Vec<Effect>) {
        match &mut self.state {
            State::Unknown => {}
            State::Greeting(greets) => {
                if self.there.is_none() && now >= greets.heard + self.settings.patience {
                    self.state = State::Unknown;
                } else if now >= greets.next {
                    greets.pause = (greets.pause * 2).min(self.settings.heartbeat);
                    greets.next = now + greets.pause;
                    let mine = greets.mine;
                    effects.push(Effect::Transmit(Packet::Hello { from: self.me.clone(), mine }));
                }
            }
            State::Up(up) => {
                if now >= up.heard + self.settings.patience {
                    return self.end(now, Why::Silent, effects);
                }
                let owes = up.owes.is_some_and(|since| now >= since + self.settings.acknowledge_within);
                if owes || now >= up.spoke + self.settings.heartbeat {
                    up.transmit(&self.settings, now, Vec::new(), effects);
                }
            }
        }
    }

    /// The verdict, if there is an association. Then greets again, if somebody may hear it.
    fn end(&mut self, now: Time, why: Why, effects: &mut Vec<Effect>) {
        let State::Up(up) = &mut self.state else { return };
        let up = take(&mut **up);
        let (to, from) = (up.yours, up.mine);
        if !matches!(why, Why::Goodbye | Why::Vanished | Why::Restarted | Why::GaveUp) {
            effects.push(Effect::Transmit(Packet::Goodbye { to, from }));
        }
        up.end(why, effects);
        self.state = State::Unknown;
        // The engine may be wrong about a peer that is gone, or its next incarnation may be there already.
        if self.there.is_some() || why == Why::Vanished {
            self.greet(now, effects);
        }
    }
}
