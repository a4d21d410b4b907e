//! What one claimed queue remembers, and what follows from what happens to it. Pure: no clock, no runtime, no lock.
//!
//! ```text
//!            committed ─► there is room and no backlog ─► open (in the lane, or with the handler)
//!                    └──► backlog ── page ──────────────► open ── handled, quarantined ─► ended
//!                              ▲                            │ given back
//!                              └────────────────────────────┘
//! ```
//!
//! The cursor is the last message that was pushed. The messages after it are the backlog, which is one number, however many
//! messages it has. Of those before it, only the open ones are remembered: all others have ended.
//!
//! If a queue is shared with other processes, the store says which messages belong to this one, and the cursor is the highest message that was
//! pushed here.
//!
//! Rules 27.4, 27.6, 27.9, 27.10 and 27.19.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use super::store::Seq;

/// The state of one claimed queue.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Queue {
    /// How many messages may be open.
    window: usize,
    /// After how many deaths of the process a message is quarantined.
    crashes: u32,
    /// Everything up to here was pushed or does not exist any more. In a shared queue, it is the highest message that was pushed here.
    cursor: Seq,
    /// The highest number that a message has had so far.
    last: Seq,
    /// Messages up to this one may have been begun by a process that died, or by this one before it lost the queue.
    may_have_begun: Seq,
    /// All messages up to this one were handled by an earlier process, although the store may still have them.
    handled_before: Seq,
    /// The first and the last message that were under way when an earlier process died, as far as the crash has not been charged to
    /// them. Only a batch has several.
    begun: Option<(Seq, Seq)>,
    /// The messages that were pushed and have not ended.
    open: BTreeSet<Seq>,
    /// The messages that were given back. A subset of `open`.
    back: BTreeSet<Seq>,
    /// The message that may be pushed only while no other suspect is being tried.
    held: Option<Seq>,
    /// A control follows this message. Nothing later is pushed before the control.
    barrier: Option<Seq>,
    /// The owner has nothing to do: it has set the open messages aside, or gathers them for a batch.
    is_dry: bool,
    /// No message is pushed any more.
    released: bool,
    /// If the queue is shared: whether the store may have messages for this owner.
    shared: Option<bool>,
    /// This owner of a shared queue has room for a suspect but may not try one yet.
    waits: bool,
    /// The messages of a shared queue that have ended, and that the store still has.
    ended: BTreeSet<Seq>,
}

/// What a page shows about one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Its number.
    pub seq: Seq,
    /// How often the process has died with it under way.
    pub crashes: u32,
    /// Its checksum does not match.
    pub is_damaged: bool,
}

/// What happens to a message of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fed {
    /// It goes into the lane.
    Push(Seq),
    /// It goes into the lane, and is tried alone: the process has died with it under way.
    Try(Seq),
    /// It was handled by an earlier process, and the store may forget it.
    Forget(Seq),
    /// The process died with it under way: one more crash is stored before it may be pushed.
    Charge(Seq),
    /// It goes into quarantine, because the process has died with it under way too often.
    Crashed(Seq),
    /// It goes into quarantine, because it is damaged.
    Damaged(Seq),
}

/// A request for a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The page begins after this message.
    pub after: Seq,
    /// How many messages it may have.
    pub messages: usize,
}

impl Queue {
    /// A queue that was just claimed. `begun` is the message whose handler was running when the last owner died.
    pub fn claimed(
        window: usize,
        crashes: u32,
        last: Seq,
        handled: Seq,
        begun: Option<Seq>,
        has_messages: bool,
    ) -> Self {
        let cursor = if has_messages { Seq(0) } else { last };
        let begun = begun.filter(|begun| *begun > handled);
        Self {
            window: window.max(1),
            crashes: crashes.max(1),
            cursor,
            last,
            may_have_begun: begun.unwrap_or_default(),
            handled_before: handled,
            begun: begun.map(|begun| (begun, begun)),
            open: BTreeSet::new(),
            back: BTreeSet::new(),
            held: None,
            barrier: None,
            is_dry: false,
            released: false,
            shared: None,
            waits: false,
            ended: BTreeSet::new(),
        }
    }

    /// The owner handles messages in batches: all up to the one that was begun last were under way.
    #[must_use]
    pub fn of_batches(self) -> Self {
        let begun = self.begun.map(|(_, last)| (self.handled_before.next(), last));
        Self { begun, ..self }
    }

    /// Messages up to `seq` may have been begun by a process that died, or by this one before it lost the queue.
    #[must_use]
    pub fn with_doubts(self, seq: Seq) -> Self {
        Self { may_have_begun: self.may_have_begun.max(seq), ..self }
    }

    /// One owner's part of a queue that is shared.
    pub fn shared(window: usize, crashes: u32, last: Seq) -> Self {
        let alone = Self::claimed(window, crashes, last, Seq(0), None, true);
        Self { shared: Some(true), ..alone }
    }

    /// The store may have messages for the owner of a shared queue.
    pub fn look(&mut self) {
        if let Some(may_have) = &mut self.shared {
            *may_have = true;
        }
    }

    /// The store has assigned the number `last` in this queue. Returns how many stored messages this process did not know of: the store failed
    /// before it reported them, or another process has put them there.
    pub fn note_assigned(&mut self, last: Seq) -> u64 {
        self.look();
        let unknown = last.0.saturating_sub(self.last.0);
        self.last = self.last.max(last);
        unknown
    }

    /// A message was stored. Returns whether it goes into the lane as it is. If not, it is read again in its turn.
    #[must_use]
    pub fn committed(&mut self, seq: Seq) -> bool {
        if self.shared.is_some() {
            // The store decides to whom it belongs.
            self.note_assigned(seq);
            return false;
        }
        // This does not hold if another process has put messages before it.
        let is_next = self.cursor == self.last
            && seq <= self.last.next()
            && self.back.is_empty()
            && self.held.is_none()
            && self.barrier.is_none();
        self.last = self.last.max(seq);
        if !is_next || self.released || self.open.len() >= self.window {
            // It is read in its turn, even if its number was taken for a gap.
            self.cursor = self.cursor.min(Seq(seq.0 - 1));
            return false;
        }
        self.cursor = seq;
        self.open.insert(seq);
        true
    }

    /// The store has a message of this number that was not committed here: a retry.
    pub fn note_retried(&mut self, seq: Seq) {
        self.last = self.last.max(seq);
    }

    /// The page to be read now, if there is a backlog and enough room.
    pub fn wants(&self) -> Option<Wanted> {
        if self.released || self.held.is_some() {
            return None;
        }
        let after = match self.back.first() {
            _ if self.shared == Some(false) => return None,
            _ if self.shared.is_some() => Seq(0),
            Some(first) => Seq(first.0 - 1),
            None if self.cursor < self.barrier.unwrap_or(self.last) => self.cursor,
            None => return None,
        };
        self.room().map(|messages| Wanted { after, messages })
    }

    /// The room for messages. `None` if it is less than half a window, because so small a page is not worth a
    /// call. If the owner has nothing to do, any room counts.
    fn room(&self) -> Option<usize> {
        let room = self.window.saturating_sub(self.in_hand());
        let least = if self.is_dry { 1 } else { (self.window / 2).max(1) };
        (room >= least).then_some(room)
    }

    /// The owner has nothing to do until it gets another message. Returns whether a page is wanted for that reason alone.
    #[must_use]
    pub fn runs_dry(&mut self) -> bool {
        if self.is_dry || self.wants().is_some() {
            return false;
        }
        self.is_dry = true;
        self.is_dry = self.wants().is_some();
        self.is_dry
    }

    /// The owner has begun a message, so it has something to do again.
    pub fn begins(&mut self) {
        self.is_dry = false;
    }

    /// The page that was [wanted](Self::wants) is here. `is_free` says whether a suspect may be tried now.
    pub fn page(&mut self, wanted: Wanted, page: &[Seen], mut is_free: bool) -> Vec<Fed> {
        let mut fed = Vec::new();
        let mut is_charging = false;
        let last = self.last;
        if self.back.first().is_some_and(|first| *first <= wanted.after) {
            // A message was given back while the page was read. It comes before the page.
            return fed;
        }
        if page.is_empty() {
            // There are only gaps.
            for seq in std::mem::take(&mut self.back) {
                self.end(seq);
            }
            self.cursor = self.cursor.max(self.barrier.unwrap_or(last));
        }
        for seen in page {
            let seq = seen.seq;
            // What was given back and is not in the store any more has ended.
            while let Some(first) = self.back.first().copied().filter(|first| *first < seq) {
                self.end(first);
            }
            let comes_again = self.back.contains(&seq);
            if seq <= self.cursor && !comes_again {
                continue;
            }
            if self.barrier.is_some_and(|barrier| seq > barrier) && !comes_again {
                self.cursor = self.cursor.max(self.barrier.unwrap_or(seq));
                break;
            }
            if seq <= self.handled_before {
                self.cursor = self.cursor.max(seq);
                fed.push(Fed::Forget(seq));
                continue;
            }
            let was_under_way = self.begun.is_some_and(|(first, last)| (first..=last).contains(&seq));
            let charged = seen.crashes + u32::from(was_under_way);
            let is_bad = seen.is_damaged || charged >= self.crashes;
            if was_under_way && !is_bad {
                self.has_charged(seq);
                is_charging = true;
                fed.push(Fed::Charge(seq));
                continue;
            }
            if is_charging {
                // What is charged is read again when that is durable, and so is everything after it.
                break;
            }
            if is_bad {
                self.cursor = self.cursor.max(seq);
                self.open.insert(seq);
                self.back.remove(&seq);
                self.has_charged(seq);
                fed.push(if seen.is_damaged { Fed::Damaged(seq) } else { Fed::Crashed(seq) });
                continue;
            }
            if charged > 0 && !is_free {
                self.held = Some(seq);
                break;
            }
            self.cursor = self.cursor.max(seq);
            self.back.remove(&seq);
            self.open.insert(seq);
            if charged > 0 {
                is_free = false;
                fed.push(Fed::Try(seq));
            } else {
                fed.push(Fed::Push(seq));
            }
        }
        fed
    }

    /// The message answers for the death of an earlier process, and so do those before it.
    fn has_charged(&mut self, seq: Seq) {
        if let Some((first, last)) = self.begun
            && seq >= first
        {
            self.begun = (seq < last).then_some((seq.next(), last));
        }
    }

    /// The store has given these messages of a shared queue to this owner. `has_more`: the store has more. `has_suspects`: it has suspects
    /// that nobody is trying.
    pub fn taken(&mut self, taken: &[Seen], has_more: bool, has_suspects: bool) -> Vec<Fed> {
        let fed = |seen: &Seen| {
            let seq = seen.seq;
            let is_new = self.back.remove(&seq) || !self.open.contains(&seq);
            self.open.insert(seq);
            self.cursor = self.cursor.max(seq);
            is_new.then_some(match seen {
                Seen { is_damaged: true, .. } => Fed::Damaged(seq),
                Seen { crashes, .. } if *crashes >= self.crashes => Fed::Crashed(seq),
                Seen { crashes: 0, .. } => Fed::Push(seq),
                _ => Fed::Try(seq),
            })
        };
        let fed: Vec<Fed> = taken.iter().filter_map(fed).collect();
        // An owner without room must not keep others from trying a suspect. It asks again when it has room.
        let has_room = self.room().is_some();
        self.waits = has_suspects && has_room;
        self.shared = Some(has_more || has_suspects && !has_room);
        // It took the place of a suspect that could be tried, so ask again.
        if fed.iter().any(|fed| matches!(fed, Fed::Crashed(_))) {
            self.look();
        }
        fed
    }

    /// The messages of a shared queue that the store must not give to this process again.
    pub fn hand(&self) -> impl Iterator<Item = Seq> {
        self.open.difference(&self.back).chain(&self.ended).copied()
    }

    /// How many messages of a shared queue have ended that the store still has.
    pub fn ended(&self) -> usize {
        self.ended.len()
    }

    /// The store does not have this message any more.
    pub fn forget_ended(&mut self, seq: Seq) {
        self.ended.remove(&seq);
    }

    /// The suspect that this queue holds back may be tried.
    pub fn let_in(&mut self) {
        self.held = None;
        self.waits = false;
        self.look();
    }

    /// Whether it holds back a suspect.
    pub fn is_held(&self) -> bool {
        self.held.is_some() || self.waits
    }

    /// A message was handled, or its quarantine is durable.
    pub fn end(&mut self, seq: Seq) {
        if self.open.remove(&seq) && self.shared.is_some() {
            self.ended.insert(seq);
        }
        self.back.remove(&seq);
    }

    /// A message was dropped before it was handled or quarantined.
    pub fn give_back(&mut self, seq: Seq) {
        if self.open.contains(&seq) {
            self.back.insert(seq);
            self.look();
        }
    }

    /// Stops pushing messages.
    pub fn release(&mut self) {
        self.released = true;
    }

    /// Whether the owner has left.
    pub fn is_released(&self) -> bool {
        self.released
    }

    /// All messages up to this one have been handled, or do not exist. Nobody can say that of a shared queue.
    pub fn handled(&self) -> Seq {
        if self.shared.is_some() {
            return Seq(0);
        }
        match self.open.first() {
            Some(first) => Seq(first.0 - 1),
            None => self.cursor.max(self.handled_before),
        }
    }

    /// From now on, nothing after `barrier` is pushed. A shared queue has no order, and so no barrier.
    pub fn stop_at(&mut self, barrier: Option<Seq>) {
        self.barrier = barrier.filter(|_| self.shared.is_none());
    }

    /// Whether everything up to `seq` was pushed.
    pub fn has_pushed(&self, seq: Seq) -> bool {
        self.shared.is_some() || self.cursor >= seq && self.back.is_empty() && self.held.is_none()
    }

    /// The highest number that a message has had so far.
    pub fn last(&self) -> Seq {
        self.last
    }

    /// No message after this one was given to the owner.
    pub fn pushed(&self) -> Seq {
        self.open.last().copied().map_or(self.cursor, |last| self.cursor.max(last))
    }

    /// Whether the message may have been begun by a process that died, or by this one before it lost the queue.
    pub fn may_have_begun(&self, seq: Seq) -> bool {
        seq <= self.may_have_begun
    }

    /// How many messages are in the lane or with the handler.
    pub fn in_hand(&self) -> usize {
        self.open.len() - self.back.len()
    }
}
