//! Which member of a shared queue holds which messages. Pure: a store keeps it, and changes it in one step.
//!
//! ```text
//!   next.. ── take ─► held by a member ── ended ─► gone
//!               ▲        │ leave: free      died: free and charged
//!               └────────┘
//! ```
//!
//! Rule 27.19.

use std::collections::{BTreeMap, BTreeSet};

use super::store::Seq;

/// The state of a shared queue. `M` names a member: a process whose actors handle messages of the queue.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Shares<M> {
    /// No message from this one on was ever held.
    next: Seq,
    /// The messages before `next` that nobody holds.
    free: BTreeSet<Seq>,
    /// What each member holds.
    held: BTreeMap<M, BTreeSet<Seq>>,
    /// How often a member has died while it held a message, or an owner alone with the message under way.
    crashes: BTreeMap<Seq, u32>,
}

impl<M> Default for Shares<M> {
    fn default() -> Self {
        Self { next: Seq(1), free: BTreeSet::new(), held: BTreeMap::new(), crashes: BTreeMap::new() }
    }
}

/// What a member asks for.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// The messages that its actors have.
    pub in_hand: &'a BTreeSet<Seq>,
    /// How many more it can take.
    pub room: usize,
    /// Whether one of them may be a suspect: a message with which a member has died.
    pub may_try: bool,
    /// The first message that the queue may still have.
    pub first: Seq,
    /// The last number that was assigned in the queue.
    pub last: Seq,
}

impl<M: Ord + Clone> Shares<M> {
    /// The state, from its parts.
    pub fn from_parts(
        next: Seq,
        free: BTreeSet<Seq>,
        held: BTreeMap<M, BTreeSet<Seq>>,
        crashes: BTreeMap<Seq, u32>,
    ) -> Self {
        Self { next, free, held, crashes }
    }

    /// No message from this one on was ever held.
    pub fn next(&self) -> Seq {
        self.next
    }

    /// The messages that nobody holds any more.
    pub fn free(&self) -> &BTreeSet<Seq> {
        &self.free
    }

    /// The members, and what they hold.
    pub fn members(&self) -> &BTreeMap<M, BTreeSet<Seq>> {
        &self.held
    }

    /// The messages with which a member has died, and how often.
    pub fn charged(&self) -> &BTreeMap<Seq, u32> {
        &self.crashes
    }

    /// How often a member has died while it held this message.
    pub fn crashes(&self, seq: Seq) -> u32 {
        self.crashes.get(&seq).copied().unwrap_or_default()
    }

    /// Whether this member holds the message.
    pub fn holds(&self, member: &M, seq: Seq) -> bool {
        self.held.get(member).is_some_and(|held| held.contains(&seq))
    }

    /// If nobody shares the queue, a process may have owned it alone since the last member left. `first` is the first message that it left behind,
    /// `charged` says how often processes have died with a message under way, and `begun` is the message with which the last one has died.
    pub fn begin(&mut self, first: Seq, charged: impl IntoIterator<Item = (Seq, u32)>, begun: Option<Seq>) {
        if !self.held.is_empty() {
            return;
        }
        self.next = self.next.max(first);
        self.free = self.free.split_off(&first);
        self.crashes = self.crashes.split_off(&first);
        for (seq, crashes) in charged.into_iter().filter(|(seq, crashes)| *seq >= first && *crashes > 0) {
            let known = self.crashes.entry(seq).or_default();
            *known = (*known).max(crashes);
        }
        if let Some(begun) = begun.filter(|begun| *begun >= first) {
            *self.crashes.entry(begun).or_default() += 1;
        }
    }

    /// A process becomes a member. Returns whether it was one already, and still holds what it held.
    pub fn join(&mut self, member: &M) -> bool {
        let is_member = self.held.contains_key(member);
        self.held.entry(member.clone()).or_default();
        is_member
    }

    /// A member leaves. None of its messages is under way.
    pub fn leave(&mut self, member: &M) {
        self.free.extend(self.held.remove(member).unwrap_or_default());
    }

    /// A member has died. Everything that it held is charged, because nobody knows which message has killed it.
    pub fn died(&mut self, member: &M) {
        let held = self.held.remove(member).unwrap_or_default();
        for seq in &held {
            *self.crashes.entry(*seq).or_default() += 1;
        }
        self.free.extend(held);
    }

    /// These messages have left the queue.
    pub fn ended(&mut self, member: &M, gone: &BTreeSet<Seq>) {
        let Some(held) = self.held.get_mut(member) else { return };
        for seq in gone.iter().filter(|seq| held.remove(seq)) {
            self.crashes.remove(seq);
        }
    }

    /// Gives messages to a member: one suspect, if it may be tried, then what the member holds and does not have in hand, then what others have
    /// left, and then new ones. What does not fit stays where it is.
    ///
    /// The suspect comes first, because in a queue that is never empty it would wait for ever behind the others.
    pub fn take(&mut self, member: &M, wish: Wish<'_>) -> BTreeSet<Seq> {
        let Some(held) = self.held.get_mut(member) else { return BTreeSet::new() };
        let next = self.next.max(wish.first);
        // Nobody has held these, and they are gone.
        self.crashes.retain(|seq, _| *seq < self.next || *seq >= next);
        let is_suspect = |seq: &Seq| self.crashes.contains_key(seq);
        let again = held.difference(wish.in_hand).copied();
        let (suspects, again): (Vec<_>, Vec<_>) = again.partition(is_suspect);
        let free = self.free.iter().copied();
        let (free_suspects, free): (Vec<_>, Vec<_>) = free.partition(is_suspect);
        let new = (next.0..=wish.last.0).map(Seq);
        let new_suspects = self.crashes.keys().copied().filter(|seq| (next..=wish.last).contains(seq));
        let suspect =
            suspects.into_iter().chain(free_suspects).chain(new_suspects).take(usize::from(wish.may_try));
        let innocent = again.into_iter().chain(free).chain(new.filter(|seq| !is_suspect(seq)));
        let taken: BTreeSet<Seq> = suspect.chain(innocent).take(wish.room).collect();
        if let Some(highest) = taken.last().filter(|highest| **highest >= next) {
            self.free.extend(self.crashes.range(next..*highest).map(|(seq, _)| *seq));
            self.next = highest.next();
        }
        self.free.retain(|seq| !taken.contains(seq));
        held.extend(&taken);
        taken
    }

    /// Each message up to this one has left the queue, or some member holds it.
    pub fn passed(&self) -> Seq {
        let first = self.free.first().map_or(self.next, |first| self.next.min(*first));
        Seq(first.0 - 1)
    }

    /// Whether this member could get a suspect if it may be tried.
    pub fn has_suspects(&self, member: &M, in_hand: &BTreeSet<Seq>) -> bool {
        let waits = |seq: &Seq| {
            *seq >= self.next || self.free.contains(seq) || (self.holds(member, *seq) && !in_hand.contains(seq))
        };
        self.crashes.keys().any(waits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(seqs: impl IntoIterator<Item = u64>) -> BTreeSet<Seq> {
        seqs.into_iter().map(Seq).collect()
    }

    fn take(shares: &mut Shares<char>, member: char, in_hand: &[u64], room: usize, may_try: bool) -> Vec<u64> {
        let in_hand = numbers(in_hand.iter().copied());
        let wish = Wish { in_hand: &in_hand, room, may_try, first: Seq(1), last: Seq(6) };
        shares.take(&member, wish).into_iter().map(|seq| seq.0).collect()
    }

    #[test]
    fn each_message_is_with_one_member() {
        let mut shares = Shares::default();
        assert!(!shares.join(&'a') && !shares.join(&'b'));
        assert_eq!(take(&mut shares, 'a', &[], 2, true), [1, 2]);
        assert_eq!(take(&mut shares, 'b', &[], 2, true), [3, 4]);
        assert_eq!(take(&mut shares, 'a', &[1, 2], 9, true), [5, 6]);
        assert_eq!(take(&mut shares, 'b', &[3, 4], 9, true), []);
        assert_eq!(take(&mut shares, 'b', &[4], 9, true), [3], "it was given back, and is still held");
        assert_eq!(take(&mut shares, 'c', &[], 9, true), [], "no member");
        shares.ended(&'a', &numbers([1, 2, 3]));
        assert!(!shares.holds(&'a', Seq(1)) && shares.holds(&'b', Seq(3)));
        shares.leave(&'b');
        assert_eq!(take(&mut shares, 'a', &[5, 6], 9, true), [3, 4]);
        assert_eq!(shares.charged().len(), 0, "nobody has died");
    }

    #[test]
    fn what_a_dead_member_held_is_charged_and_tried_one_by_one() {
        let mut shares = Shares::default();
        shares.join(&'a');
        shares.join(&'b');
        assert_eq!(take(&mut shares, 'a', &[], 3, true), [1, 2, 3]);
        shares.died(&'a');
        assert_eq!([1, 2, 3, 4].map(|seq| shares.crashes(Seq(seq))), [1, 1, 1, 0]);
        assert_eq!(take(&mut shares, 'b', &[], 1, false), [4], "another suspect is tried");
        assert_eq!(take(&mut shares, 'b', &[4], 2, true), [1, 5], "one suspect comes with the others");
        assert_eq!(take(&mut shares, 'b', &[1, 4, 5], 9, false), [6], "no second one beside it");
        assert!(shares.has_suspects(&'b', &numbers([1, 4, 5, 6])));
        shares.ended(&'b', &numbers([1]));
        assert_eq!(take(&mut shares, 'b', &[4, 5, 6], 9, true), [2]);
        shares.died(&'b');
        assert_eq!([1, 2, 3, 4].map(|seq| shares.crashes(Seq(seq))), [0, 2, 1, 1]);
    }

    #[test]
    fn a_suspect_does_not_wait_behind_a_backlog_that_never_ends() {
        let mut shares = Shares::default();
        shares.join(&'a');
        shares.join(&'b');
        assert_eq!(take(&mut shares, 'a', &[], 2, true), [1, 2]);
        shares.died(&'a');
        // Whenever `b` has room for one message, others wait.
        assert_eq!(take(&mut shares, 'b', &[], 1, true), [1]);
        shares.ended(&'b', &numbers([1]));
        assert_eq!(take(&mut shares, 'b', &[], 1, true), [2]);
        shares.ended(&'b', &numbers([2]));
        assert_eq!(take(&mut shares, 'b', &[], 1, true), [3]);
    }

    #[test]
    fn what_an_owner_alone_has_handled_is_passed_and_what_it_died_with_is_a_suspect() {
        let mut shares = Shares::default();
        shares.join(&'a');
        assert_eq!(take(&mut shares, 'a', &[], 2, true), [1, 2]);
        shares.died(&'a');
        // Owners alone have handled 1, and have died twice with 2, with which `a` died too, and once with 4.
        shares.begin(Seq(2), [(Seq(1), 7), (Seq(2), 2), (Seq(3), 0), (Seq(4), 1)], Some(Seq(2)));
        shares.join(&'b');
        assert_eq!([1, 2, 3, 4, 5].map(|seq| shares.crashes(Seq(seq))), [0, 3, 0, 1, 0]);
        assert!(shares.has_suspects(&'b', &numbers([])));
        assert_eq!(shares.passed(), Seq(1), "2 is with nobody");
        assert_eq!(take(&mut shares, 'b', &[], 9, true), [2, 3, 5, 6]);
        assert_eq!(shares.passed(), Seq(3), "4 is with nobody");
        shares.begin(Seq(6), [], Some(Seq(6)));
        assert_eq!(shares.passed(), Seq(3), "somebody shares it");
        shares.ended(&'b', &numbers([2]));
        assert_eq!(take(&mut shares, 'b', &[3, 5, 6], 9, true), [4]);
        assert!(!shares.has_suspects(&'b', &numbers([3, 4, 5, 6])));
        assert_eq!(shares.passed(), Seq(6));
    }
}
