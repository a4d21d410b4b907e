//! What was sent, delivered and told, as an observer outside sees it, and the invariants N1 to N11.

use std::collections::{BTreeMap, BTreeSet};

use supervise_core::remote::association::{Body, Effect, Frame, Id, Number};

/// A node's index.
pub(super) type Place = usize;

/// Which invariant broke, and how.
pub(super) type Broken = String;

/// One side of an association, for ever: numbers never repeat.
type Side = (Place, Number);

/// The records of one side.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Record {
    yours: Option<Number>,
    sent: Vec<Frame>,
    delivered: Vec<Frame>,
    has_verdict: bool,
    /// Its process was killed, so it can no longer be told anything.
    is_over: bool,
    watches: BTreeMap<(Id, Id), Watch>,
    asks: BTreeMap<u64, u32>,
    ended: BTreeSet<Id>,
    /// What small actors have handled.
    handled: BTreeMap<Id, Vec<Body>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Watch {
    open: bool,
    watched: u32,
    told: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct History {
    sides: BTreeMap<Side, Record>,
    verdicts: usize,
}

macro_rules! ensure {
    ($holds:expr, $($text:tt)*) => {
        if !$holds {
            return Err(format!($($text)*));
        }
    };
}

impl History {
    /// How many verdicts there were.
    pub(super) fn verdicts(&self) -> usize {
        self.verdicts
    }

    /// The node's process is gone.
    pub(super) fn died(&mut self, at: Place) {
        let sides = self.sides.iter_mut().filter(|((place, _), _)| *place == at);
        sides.for_each(|(_, record)| record.is_over = true);
    }

    /// `mine` sent a frame.
    pub(super) fn sent(&mut self, at: Place, mine: Number, frame: &Frame) {
        let record = self.sides.entry((at, mine)).or_default();
        record.sent.push(frame.clone());
        match frame {
            Frame::Watch { subject, watcher, .. } => {
                let watch = record.watches.entry((*subject, *watcher)).or_default();
                watch.watched += u32::from(!watch.open);
                watch.open = true;
            }
            Frame::Unwatch { subject, watcher } => {
                let watch = record.watches.entry((*subject, *watcher)).or_default();
                // It is not told of this watch any more.
                watch.watched -= u32::from(watch.open);
                watch.open = false;
            }
            Frame::Ask { ask, .. } => {
                record.asks.insert(*ask, 0);
            }
            _ => {}
        }
    }

    /// The association at `at`, whose peer is `peer`, has this effect.
    pub(super) fn effect(&mut self, at: Place, peer: Place, effect: &Effect, last: Number) -> Result<(), Broken> {
        match effect {
            Effect::Up { mine, yours } => {
                let record = self.sides.entry((at, *mine)).or_default();
                ensure!(record.yours.is_none(), "N3: {at} is up twice with {mine}");
                record.yours = Some(*yours);
                Ok(())
            }
            Effect::Deliver { mine, frames, .. } => {
                frames.iter().try_for_each(|frame| self.delivered(at, peer, *mine, frame))
            }
            Effect::Verdict { mine, .. } => {
                self.verdicts += 1;
                let record = self.sides.entry((at, *mine)).or_default();
                ensure!(!record.has_verdict, "N3: {at} has two verdicts for {mine}");
                record.has_verdict = true;
                Ok(())
            }
            Effect::Unreachable { subject, watcher } => {
                let record = self.sides.entry((at, last)).or_default();
                ensure!(record.has_verdict, "N4: told of a verdict before it");
                record.told(*subject, *watcher)
            }
            Effect::Resolve { ask, .. } => self.sides.entry((at, last)).or_default().resolved(*ask),
            Effect::Transmit(_)
            | Effect::Forget { .. }
            | Effect::Unsent(_)
            | Effect::Refused(_)
            | Effect::Resumed { .. } => Ok(()),
        }
    }

    fn delivered(&mut self, at: Place, peer: Place, mine: Number, frame: &Frame) -> Result<(), Broken> {
        let record = self.sides.entry((at, mine)).or_default();
        ensure!(!record.has_verdict, "N4: {at} delivers {frame:?} after its verdict");
        let Some(yours) = record.yours else { return Err(format!("N2: {at} delivers {frame:?} before it is up")) };
        match frame {
            Frame::Tell { body, .. } => {
                let sender = Id::from(body[0]);
                ensure!(!record.ended.contains(&sender), "N7: {at} gets {frame:?} after its sender's end");
            }
            Frame::Ended { subject, watcher, .. } => {
                record.ended.insert(*subject);
                record.told(*subject, *watcher)?;
            }
            // The association itself makes these, or may make them, so they need not be among what was sent.
            Frame::NotWatched { subject, watcher } => return record.told(*subject, *watcher),
            Frame::Unwatch { .. } => return Ok(()),
            Frame::Answer { ask, .. } => record.resolved(*ask)?,
            _ => {}
        }
        record.delivered.push(frame.clone());
        let delivered = record.delivered.clone();
        let Some(sender) = self.sides.get(&(peer, yours)) else {
            return Err(format!("N2: {at} delivers {frame:?} of an association that {peer} has not"));
        };
        ensure!(
            sender.yours.is_none() || sender.yours == Some(mine),
            "N2: {at} delivers {frame:?}, which {peer} sent to another association"
        );
        // A frame may be missing if its receiver no longer waits for it, because it may drop such a frame.
        let mut sent = sender.sent.iter();
        for frame in &delivered {
            loop {
                let Some(next) = sent.next() else {
                    return Err(format!("N1: {at} delivers {frame:?}, not in its order"));
                };
                if next == frame {
                    break;
                }
                let may_be_dropped = matches!(
                    next,
                    Frame::Answer { .. } | Frame::Watch { .. } | Frame::Unwatch { .. } | Frame::Ended { .. }
                );
                ensure!(may_be_dropped, "N1: {at} delivers {frame:?} before {next:?}");
            }
        }
        Ok(())
    }

    /// A small actor at `at` has handled a message.
    pub(super) fn handled(&mut self, at: Place, mine: Number, actor: Id, body: Body) -> Result<(), Broken> {
        let record = self.sides.entry((at, mine)).or_default();
        let count = record.handled.get(&actor).map_or(0, Vec::len);
        ensure!(
            record.put_to(actor).nth(count) == Some(&body),
            "N10: {actor} handles {body:?} as its message {count} of {mine}"
        );
        record.handled.entry(actor).or_default().push(body);
        Ok(())
    }

    /// The open watches of `at`, in its association that has the number `yours` on the other side.
    pub(super) fn open(&self, at: Place, yours: Number) -> impl Iterator<Item = (Id, Id)> + '_ {
        let sides = self.sides.iter().filter(move |((place, _), record)| {
            *place == at && record.yours == Some(yours) && !record.has_verdict && !record.is_over
        });
        sides.flat_map(|(_, record)| record.watches.iter().filter(|(_, watch)| watch.open).map(|(pair, _)| *pair))
    }

    /// Nothing happens any more.
    pub(super) fn at_rest(
        &self,
        has_ended: impl Fn(Id) -> bool,
        is_idler: impl Fn(Id) -> bool,
        is_closed: impl Fn(Place, Place) -> bool,
        small: Id,
    ) -> Result<(), Broken> {
        for ((at, mine), record) in &self.sides {
            if record.is_over {
                continue;
            }
            let peers = self.sides.iter().filter(|((_, yours), other)| {
                record.yours == Some(*yours) && other.yours == Some(*mine) && !other.has_verdict && !other.is_over
            });
            // Through a window that is closed for good, some messages do not arrive.
            for (_, sender) in peers.filter(|((from, _), _)| !record.has_verdict && !is_closed(*from, *at)) {
                let to = sender.sent.iter().filter_map(|frame| match frame {
                    Frame::Tell { to, .. } if *to >= small && !is_idler(*to) => Some(*to),
                    _ => None,
                });
                for to in to.collect::<BTreeSet<Id>>() {
                    let (sent, handled) =
                        (sender.sent_to(to).count(), record.handled.get(&to).map_or(0, Vec::len));
                    ensure!(sent == handled, "N10: {to} handled {handled} of {sent} messages ({mine})");
                }
            }
            for ((subject, watcher), watch) in &record.watches {
                let owed = if record.has_verdict || has_ended(*subject) { watch.watched } else { 0 };
                ensure!(
                    watch.told >= owed,
                    "N6: at {at}, {watcher} was told {} times of {subject} for {owed} watches ({mine})",
                    watch.told
                );
            }
            for (ask, resolved) in &record.asks {
                ensure!(*resolved == 1, "N8: ask {ask} of {at} has {resolved} answers ({mine})");
            }
        }
        Ok(())
    }
}

fn of(frames: &[Frame], actor: Id) -> impl Iterator<Item = &Body> {
    frames.iter().filter_map(move |frame| match frame {
        Frame::Tell { to, body, .. } if *to == actor => Some(body),
        _ => None,
    })
}

impl Record {
    /// What was sent to an actor.
    fn sent_to(&self, actor: Id) -> impl Iterator<Item = &Body> {
        of(&self.sent, actor)
    }

    /// What was delivered to an actor.
    fn put_to(&self, actor: Id) -> impl Iterator<Item = &Body> {
        of(&self.delivered, actor)
    }

    fn told(&mut self, subject: Id, watcher: Id) -> Result<(), Broken> {
        let watch = self.watches.entry((subject, watcher)).or_default();
        ensure!(watch.open, "N6: {watcher} is told of {subject}, which it does not watch");
        watch.open = false;
        watch.told += 1;
        ensure!(watch.told <= watch.watched, "N6: {watcher} is told of {subject} twice");
        Ok(())
    }

    fn resolved(&mut self, ask: u64) -> Result<(), Broken> {
        let answers = self.asks.entry(ask).or_default();
        *answers += 1;
        ensure!(*answers == 1, "N8: ask {ask} is resolved twice");
        Ok(())
    }
}
