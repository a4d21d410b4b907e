//! An association while it lasts: its order, its window, and what waits for the peer.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem::take;

use super::{Effect, Frame, Id, Number, Packet, Settings, Why};
use crate::supervision::Time;

/// What both sides of an association count.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Up {
    pub(super) mine: Number,
    pub(super) yours: Number,
    pub(super) peer: Option<Id>,
    /// How many packets were sent.
    pub(super) sequence: u64,
    /// How many packets arrived.
    pub(super) expected: u64,
    /// How many bytes were sent, and how many of them the peer has acknowledged.
    pub(super) sent: u64,
    pub(super) acknowledged: u64,
    /// How many bytes arrived, how many of them were processed, and how many of those were acknowledged.
    pub(super) arrived: u64,
    pub(super) processed: u64,
    pub(super) reported: u64,
    pub(super) heard: Time,
    pub(super) spoke: Time,
    /// The time since which processed bytes have waited for their acknowledgement.
    pub(super) owes: Option<Time>,
    pub(super) queue: VecDeque<Frame>,
    /// The bytes of what is in the queue.
    pub(super) queued: u64,
    /// Asks of this node's actors.
    pub(super) asks: BTreeSet<u64>,
    /// Asks of the peer's actors.
    pub(super) answering: BTreeSet<u64>,
    /// Watched actors of the peer, and their watchers here.
    pub(super) watching: BTreeSet<(Id, Id)>,
    /// Watched actors here, and their watchers at the peer.
    pub(super) watched: BTreeSet<(Id, Id)>,
    /// Watches of the peer that were beyond the limit, until the peer takes them back. It does so when it reads the refusal.
    pub(super) refused: BTreeSet<(Id, Id)>,
    /// Actors here with full mailboxes, and the bytes of the frames that wait for each of them.
    pub(super) holding: BTreeMap<Id, u64>,
    /// The bytes of all those frames.
    pub(super) held: u64,
    /// Actors here that have become full, or have become so no longer, since the peer was told of them.
    pub(super) untold: BTreeSet<Id>,
    /// Actors of the peer with full mailboxes.
    pub(super) paused: BTreeSet<Id>,
}

/// The state that a verdict leaves behind for a moment.
impl Default for Up {
    fn default() -> Self {
        Self::new((0, 0), None, Time::ZERO)
    }
}

impl Up {
    pub(super) fn new((mine, yours): (Number, Number), peer: Option<Id>, now: Time) -> Self {
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
            refused: BTreeSet::new(),
            holding: BTreeMap::new(),
            held: 0,
            untold: BTreeSet::new(),
            paused: BTreeSet::new(),
        }
    }

    pub(super) fn under_way(&self) -> u64 {
        self.sent - self.acknowledged
    }

    pub(super) fn flush(&mut self, settings: &Settings, now: Time, effects: &mut Vec<Effect>) {
        let reserve = settings.reserve();
        loop {
            let (mut frames, mut bytes) = (Vec::new(), 0);
            // They go first: a peer that waits for them may be what keeps the window closed.
            while let Some(to) = self.untold.first().copied() {
                let with = bytes + Frame::HEAD;
                let fits = self.under_way() + with <= settings.window.saturating_add(reserve);
                if !fits || (bytes > 0 && with > settings.packet) {
                    break;
                }
                self.untold.remove(&to);
                frames.push(if self.holding.contains_key(&to) {
                    Frame::Pause { to }
                } else {
                    Frame::Resume { to }
                });
                bytes = with;
            }
            let mut count = 0;
            for next in &self.queue {
                let (size, before) = (next.size(), self.under_way() + bytes);
                // A frame that is larger than the window travels alone.
                let fits = before + size <= settings.window || (size > settings.window && before <= reserve);
                if !fits || (bytes > 0 && bytes + size > settings.packet) {
                    break;
                }
                bytes += size;
                self.queued -= size;
                count += 1;
            }
            if bytes == 0 {
                return;
            }
            self.sent += bytes;
            if frames.is_empty() && count == self.queue.len() {
                // Moves nothing.
                frames = take(&mut self.queue).into();
            } else {
                frames.extend(self.queue.drain(..count));
            }
            self.transmit(settings, now, frames, effects);
        }
    }

    /// How many bytes the peer need not count as under way any more. What is held counts as processed up to a limit, so that full
    /// actors hold up no other; beyond it, the window closes.
    fn settled(&self, settings: &Settings) -> u64 {
        let beyond = self.held.saturating_sub(settings.held).min(settings.window);
        self.processed.saturating_sub(beyond).max(self.reported)
    }

    pub(super) fn transmit(
        &mut self,
        settings: &Settings,
        now: Time,
        frames: Vec<Frame>,
        effects: &mut Vec<Effect>,
    ) {
        let (sequence, acknowledged) = (self.sequence, self.settled(settings));
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

    pub(super) fn has_processed(&mut self, settings: &Settings, now: Time, bytes: u64, effects: &mut Vec<Effect>) {
        self.processed = (self.processed + bytes).min(self.arrived);
        self.report(settings, now, effects);
    }

    /// Acknowledges what has been processed, now or within a while.
    fn report(&mut self, settings: &Settings, now: Time, effects: &mut Vec<Effect>) {
        let owed = self.settled(settings) - self.reported;
        if owed > settings.window / 4 {
            self.transmit(settings, now, Vec::new(), effects);
        } else if owed > 0 && self.owes.is_none() {
            self.owes = Some(now);
        }
    }

    /// A frame waits for room in the mailbox of an actor here.
    pub(super) fn holds(&mut self, to: Id, bytes: u64) {
        self.held += bytes;
        let waits = self.holding.entry(to).or_default();
        *waits += bytes;
        if *waits == bytes {
            self.has_turned(to);
        }
    }

    /// A frame that was held waits no more.
    pub(super) fn releases(
        &mut self,
        settings: &Settings,
        now: Time,
        (to, bytes): (Id, u64),
        effects: &mut Vec<Effect>,
    ) {
        let Some(waits) = self.holding.get_mut(&to) else { return };
        let bytes = bytes.min(*waits);
        *waits -= bytes;
        self.held -= bytes;
        if *waits == 0 {
            self.holding.remove(&to);
            self.has_turned(to);
        }
        self.report(settings, now, effects);
    }

    #[inline]
    pub(super) fn put(&mut self, frame: Frame) {
        self.queued += frame.size();
        self.queue.push_back(frame);
    }

    /// An actor has become full, or is so no longer. If the peer has not been told of the last time, it need not know of either.
    fn has_turned(&mut self, to: Id) {
        if !self.untold.remove(&to) {
            self.untold.insert(to);
        }
    }

    /// A packet of this association has arrived. The caller flushes afterwards, because the window may allow more now.
    pub(super) fn arrives(
        &mut self,
        settings: &Settings,
        now: Time,
        sequence: u64,
        acknowledged: u64,
        mut frames: Vec<Frame>,
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
        // For the peer, the bytes that wait to be processed here are still under way.
        let (waits, reserve) = (self.arrived - self.settled(settings), settings.reserve());
        let most = settings.window.saturating_add(reserve);
        if bytes > 0 && waits > reserve && waits.saturating_add(bytes) > most {
            return Err(Why::Broke);
        }
        let mut broken = Ok(());
        frames.retain(|frame| {
            // Most frames are, so the others are looked at in a function of their own.
            if let Frame::Tell { .. } = frame {
                return true;
            }
            self.admits(settings, frame, effects).unwrap_or_else(|why| {
                broken = Err(why);
                false
            })
        });
        broken?;
        self.arrived += bytes;
        if bytes > 0 {
            effects.push(Effect::Deliver { mine: self.mine, frames, bytes });
        }
        Ok(())
    }

    /// Whether this node carries out a frame that arrived.
    fn admits(&mut self, settings: &Settings, frame: &Frame, effects: &mut Vec<Effect>) -> Result<bool, Why> {
        match frame {
            Frame::Pause { to } => {
                self.paused.insert(*to);
                if self.paused.len() <= settings.paused { Ok(false) } else { Err(Why::Broke) }
            }
            Frame::Resume { to } => {
                if self.paused.remove(to) {
                    effects.push(Effect::Resumed { to: *to });
                }
                Ok(false)
            }
            Frame::Tell { .. } | Frame::Note(_) => Ok(true),
            Frame::Ask { ask, .. } => {
                let is_new = self.answering.insert(*ask);
                if is_new && self.answering.len() <= settings.most_asks() { Ok(true) } else { Err(Why::Broke) }
            }
            Frame::Answer { ask, .. } => Ok(self.asks.remove(ask)),
            Frame::Watch { subject, watcher, .. } => {
                let (subject, watcher) = (*subject, *watcher);
                if self.watched.len() < settings.watches || self.watched.contains(&(subject, watcher)) {
                    return Ok(self.watched.insert((subject, watcher)));
                }
                self.refused.insert((subject, watcher));
                if self.refused.len() > settings.most_refused() {
                    return Err(Why::Broke);
                }
                self.put(Frame::NotWatched { subject, watcher });
                Ok(false)
            }
            Frame::Unwatch { subject, watcher } => {
                self.refused.remove(&(*subject, *watcher));
                Ok(self.watched.remove(&(*subject, *watcher)))
            }
            Frame::Ended { subject, watcher, .. } => Ok(self.watching.remove(&(*subject, *watcher))),
            Frame::NotWatched { subject, watcher } => {
                let (subject, watcher) = (*subject, *watcher);
                // The refusal may be that of an earlier watch, and the peer may have room for a later one. The peer also counts what it
                // has refused until this side takes it back.
                self.put(Frame::Unwatch { subject, watcher });
                Ok(self.watching.remove(&(subject, watcher)))
            }
        }
    }

    /// Answers everything that waits for the peer.
    pub(super) fn end(mut self, why: Why, effects: &mut Vec<Effect>) {
        effects.push(Effect::Verdict { mine: self.mine, why });
        for frame in take(&mut self.queue) {
            match frame {
                Frame::Ask { ask, .. } if self.asks.remove(&ask) => {
                    effects.push(Effect::Resolve { ask, sent: false });
                }
                // Its news comes below, or nobody here waits for it.
                Frame::Watch { .. } | Frame::Unwatch { .. } | Frame::NotWatched { .. } | Frame::Ask { .. } => {}
                other => effects.push(Effect::Unsent(other)),
            }
        }
        effects.extend(self.asks.into_iter().map(|ask| Effect::Resolve { ask, sent: true }));
        effects
            .extend(self.watching.into_iter().map(|(subject, watcher)| Effect::Unreachable { subject, watcher }));
        effects.extend(self.watched.into_iter().map(|(subject, watcher)| Effect::Forget { subject, watcher }));
    }
}
