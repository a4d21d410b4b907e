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

mod vocabulary;

use std::collections::{BTreeSet, VecDeque};
use std::mem::take;

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

/// What both sides of an association count.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Up {
    mine: Number,
    yours: Number,
    peer: Option<Id>,
    /// How many packets were sent.
    sequence: u64,
    /// How many packets arrived.
    expected: u64,
    /// How many bytes were sent, and of those acknowledged.
    sent: u64,
    acknowledged: u64,
    /// How many bytes arrived, of those were processed, and of those were acknowledged.
    arrived: u64,
    processed: u64,
    reported: u64,
    heard: Time,
    spoke: Time,
    /// Since when processed bytes wait for their acknowledgement.
    owes: Option<Time>,
    queue: VecDeque<Frame>,
    /// The bytes of what is in the queue.
    queued: u64,
    /// Asks of this node's actors.
    asks: BTreeSet<u64>,
    /// Asks of the peer's actors.
    answering: BTreeSet<u64>,
    /// Subjects of the peer's and their watchers here.
    watching: BTreeSet<(Id, Id)>,
    /// Subjects here and their watchers at the peer.
    watched: BTreeSet<(Id, Id)>,
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
        self.up().is_some_and(|up| up.queued + up.under_way() < self.settings.window)
    }

    /// How many bytes were sent and not acknowledged.
    pub fn under_way(&self) -> u64 {
        self.up().map_or(0, Up::under_way)
    }

    /// Whether nothing waits, and everything that was sent has been processed.
    pub fn is_idle(&self) -> bool {
        self.up().is_none_or(|up| up.queue.is_empty() && up.under_way() == 0)
    }

    /// How many frames, asks and watches are kept for the peer.
    pub fn kept(&self) -> usize {
        self.up().map_or(0, |up| {
            up.queue.len() + up.asks.len() + up.answering.len() + up.watching.len() + up.watched.len()
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
            Frame::Tell { .. } | Frame::Note(_) => true,
        };
        if !waits {
            return Err(frame);
        }
        up.queued += frame.size();
        up.queue.push_back(frame);
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

    /// Sends what waits, as far as the window allows. If too much waits, the association ends.
    pub fn flush(&mut self, now: Time, effects: &mut Vec<Effect>) {
        if let State::Up(up) = &mut self.state {
            up.flush(&self.settings, now, effects);
            if up.queued > self.settings.backlog {
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
        self.there = Some(uid);
        match &self.state {
            State::Unknown => self.greet(now, effects),
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
        self.state = State::Greeting(Greets { mine, next: now + pause, pause, heard: now, peer: self.there });
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
                        if let Err(why) = up.arrives(&self.settings, now, sequence, acknowledged, frames, effects)
                        {
                            self.end(now, why, effects);
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
            self.state = State::Up(Box::new(Up::new(mine, yours, peer, now)));
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
                    up.transmit(now, Vec::new(), effects);
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
        if self.there.is_some() {
            self.greet(now, effects);
        }
    }
}

/// The state that a verdict leaves behind for a moment.
impl Default for Up {
    fn default() -> Self {
        Self::new(0, 0, None, Time::ZERO)
    }
}

impl Up {
    fn new(mine: Number, yours: Number, peer: Option<Id>, now: Time) -> Self {
        Self {
            mine,
            yours,
            peer,
            sequence: 0,
            expected: 0,
            sent: 0,
            acknowledged: 0,
            arrived: 0,
            processed: 0,
            reported: 0,
            heard: now,
            spoke: now,
            owes: None,
            queue: VecDeque::new(),
            queued: 0,
            asks: BTreeSet::new(),
            answering: BTreeSet::new(),
            watching: BTreeSet::new(),
            watched: BTreeSet::new(),
        }
    }

    fn under_way(&self) -> u64 {
        self.sent - self.acknowledged
    }

    fn flush(&mut self, settings: &Settings, now: Time, effects: &mut Vec<Effect>) {
        loop {
            let (mut frames, mut bytes) = (Vec::new(), 0);
            while let Some(next) = self.queue.front() {
                let with = bytes + next.size();
                // A frame that is larger than the window travels alone.
                let fits = self.under_way() + with <= settings.window || self.under_way() + bytes == 0;
                if !fits || (bytes > 0 && with > settings.packet) {
                    break;
                }
                bytes = with;
                frames.extend(self.queue.pop_front());
            }
            if frames.is_empty() {
                return;
            }
            self.queued -= bytes;
            self.sent += bytes;
            self.transmit(now, frames, effects);
        }
    }

    fn transmit(&mut self, now: Time, frames: Vec<Frame>, effects: &mut Vec<Effect>) {
        let (sequence, acknowledged) = (self.sequence, self.processed);
        self.sequence += 1;
        self.reported = acknowledged;
        self.owes = None;
        self.spoke = now;
        effects.push(Effect::Transmit(Packet::Frames {
            to: self.yours,
            from: self.mine,
            sequence,
            acknowledged,
            frames,
        }));
    }

    fn has_processed(&mut self, settings: &Settings, now: Time, bytes: u64, effects: &mut Vec<Effect>) {
        self.processed = (self.processed + bytes).min(self.arrived);
        let owed = self.processed - self.reported;
        if owed > settings.window / 4 {
            self.transmit(now, Vec::new(), effects);
        } else if owed > 0 && self.owes.is_none() {
            self.owes = Some(now);
        }
    }

    /// A packet of this association.
    fn arrives(
        &mut self,
        settings: &Settings,
        now: Time,
        sequence: u64,
        acknowledged: u64,
        frames: Vec<Frame>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Why> {
        if sequence < self.expected {
            return Ok(());
        }
        if sequence > self.expected {
            return Err(Why::Lost);
        }
        if acknowledged < self.acknowledged || acknowledged > self.sent {
            return Err(Why::Broke);
        }
        self.expected += 1;
        self.heard = now;
        self.acknowledged = acknowledged;
        let bytes = frames.iter().map(Frame::size).fold(0, u64::saturating_add);
        // What waits to be processed here is under way for the peer.
        let waits = self.arrived - self.processed;
        if bytes > 0 && waits > 0 && waits.saturating_add(bytes) > settings.window {
            return Err(Why::Broke);
        }
        let mut delivered = Vec::with_capacity(frames.len());
        for frame in frames {
            if self.admits(settings, &frame)? {
                delivered.push(frame);
            }
        }
        self.arrived += bytes;
        if bytes > 0 {
            effects.push(Effect::Deliver { mine: self.mine, frames: delivered, bytes });
        }
        self.flush(settings, now, effects);
        Ok(())
    }

    /// Whether a frame that arrived is to be carried out.
    fn admits(&mut self, settings: &Settings, frame: &Frame) -> Result<bool, Why> {
        match frame {
            Frame::Tell { .. } | Frame::Note(_) => Ok(true),
            Frame::Ask { ask, .. } => {
                let is_new = self.answering.insert(*ask);
                if is_new && self.answering.len() <= settings.asks { Ok(true) } else { Err(Why::Broke) }
            }
            Frame::Answer { ask, .. } => Ok(self.asks.remove(ask)),
            Frame::Watch { subject, watcher, .. } => {
                let is_new = self.watched.insert((*subject, *watcher));
                if self.watched.len() <= settings.watches { Ok(is_new) } else { Err(Why::Broke) }
            }
            Frame::Unwatch { subject, watcher } => Ok(self.watched.remove(&(*subject, *watcher))),
            Frame::Ended { subject, watcher, .. } => Ok(self.watching.remove(&(*subject, *watcher))),
        }
    }

    /// Everything that waits for the peer gets its answer.
    fn end(mut self, why: Why, effects: &mut Vec<Effect>) {
        effects.push(Effect::Verdict { mine: self.mine, why });
        for frame in take(&mut self.queue) {
            match frame {
                Frame::Ask { ask, .. } if self.asks.remove(&ask) => {
                    effects.push(Effect::Resolve { ask, sent: false });
                }
                // Its news comes below.
                Frame::Watch { .. } | Frame::Unwatch { .. } | Frame::Ask { .. } => {}
                other => effects.push(Effect::Unsent(other)),
            }
        }
        effects.extend(self.asks.into_iter().map(|ask| Effect::Resolve { ask, sent: true }));
        effects
            .extend(self.watching.into_iter().map(|(subject, watcher)| Effect::Unreachable { subject, watcher }));
        effects.extend(self.watched.into_iter().map(|(subject, watcher)| Effect::Forget { subject, watcher }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(uid: Id) -> Association {
        let me = Greeting { versions: VERSIONS, mesh: "m".to_owned(), uid };
        Association::new(Settings::DEFAULT, me, uid)
    }

    fn step(side: &mut Association, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        side.step(Time::ZERO, input, &mut effects);
        effects
    }

    fn numbered(to: Number, from: Number) -> Input {
        Input::Received(Packet::Frames { to, from, sequence: 0, acknowledged: 0, frames: Vec::new() })
    }

    #[test]
    fn a_packet_of_another_association_is_answered_with_a_goodbye() {
        let goodbye = [Effect::Transmit(Packet::Goodbye { to: 8, from: 7 })];
        assert_eq!(step(&mut side(1), numbered(7, 8)), goodbye);
    }

    #[test]
    fn a_packet_for_this_number_proves_that_the_peer_is_up() {
        let mut side = side(1);
        let greeting = step(&mut side, Input::Appeared(2));
        let [Effect::Transmit(Packet::Hello { mine, .. })] = greeting[..] else { panic!("{greeting:?}") };
        assert_eq!(step(&mut side, numbered(mine, 8)), [Effect::Up { mine, yours: 8 }]);
    }

    #[test]
    fn a_peer_that_asks_and_takes_no_answers_is_given_up() {
        let mut side = side(1);
        side.settings = Settings { window: 1000, backlog: 5000, ..Settings::DEFAULT };
        let greeting = step(&mut side, Input::Appeared(2));
        let [Effect::Transmit(Packet::Hello { mine: to, .. })] = greeting[..] else { panic!("{greeting:?}") };
        for sequence in 0..100 {
            let frames = vec![Frame::Ask { to: 0, ask: sequence, body: Vec::new() }];
            step(&mut side, Input::Received(Packet::Frames { to, from: 8, sequence, acknowledged: 0, frames }));
            step(&mut side, Input::Processed { mine: to, bytes: Frame::HEAD });
            if side.send(Frame::Answer { ask: sequence, body: vec![0; 168] }).is_err() {
                break;
            }
            let mut effects = Vec::new();
            side.flush(Time::ZERO, &mut effects);
            if effects.contains(&Effect::Verdict { mine: to, why: Why::Broke }) {
                assert_eq!(sequence, 30, "5 answers are under way, and 25 wait");
                return;
            }
        }
        panic!("{} frames are kept", side.kept());
    }

    #[test]
    fn other_meshes_and_versions_are_refused() {
        for (mesh, versions, refusal) in
            [("n", VERSIONS, Refusal::Mesh), ("m", (VERSIONS.1 + 1, VERSIONS.1 + 2), Refusal::Version)]
        {
            let from = Greeting { versions, mesh: mesh.to_owned(), uid: 2 };
            let mut side = side(1);
            assert_eq!(
                step(&mut side, Input::Received(Packet::Hello { from, mine: 8 })),
                [Effect::Refused(refusal)]
            );
            assert!(!side.is_known());
        }
    }
}
