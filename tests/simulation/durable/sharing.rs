//! Two nodes that share a queue, or own it alone in turn: who has which message, and what is charged when a node dies.
//!
//! The nodes decide with [`Shares`] and [`Queue`], as `JetStreamStore` and the writer do. A node that has died stays in the record until the other
//! one notices it.
//!
//! Rule 27.19.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use supervise_core::durable::Seq;
use supervise_core::durable::queue::{Fed, Queue, Seen};
use supervise_core::durable::shares::{Shares, Wish};

use super::explore::{Checked, SmallWorld};

const WINDOW: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Limits {
    pub(super) messages: u64,
    pub(super) deaths: u8,
    /// How often nodes may become owners, together or alone.
    pub(super) owners: u8,
}

/// A mistake that the invariants must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Fault {
    None,
    /// Who shares a queue charges nothing for the death of an owner alone.
    ForgetsOwner,
    /// An owner alone does not see what died with those that shared the queue.
    ForgetsSharers,
    /// Who shares a queue again begins where the queue was shared last.
    KeepsItsPlace,
    /// Those who leave take their messages with them.
    LeavesNothing,
}

/// What can happen. The numbers are those of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// The node owns the queue together with others.
    Share(usize),
    /// The node owns the queue alone.
    Claim(usize),
    Take(usize),
    Begin(usize),
    Return(usize),
    /// What the node has handled leaves the queue.
    Acknowledge(usize),
    /// The node leaves, with nothing under way.
    Leave(usize),
    Die(usize),
    /// A node notices that another one has died.
    Bury(u8),
}

/// An owner. Each life of a node has a name of its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Owner {
    name: u8,
    /// If it shares the queue.
    queue: Option<Queue>,
    lane: VecDeque<Seq>,
    under_way: Option<Seq>,
    /// The messages that were handled, and that the server still has.
    acks: Vec<Seq>,
    /// The suspect that it tries.
    tries: Option<Seq>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct World {
    limits: Limits,
    fault: Fault,
    waiting: BTreeSet<Seq>,
    shares: Shares<u8>,
    /// The process that owns the queue alone, or that has died with it.
    alone: Option<u8>,
    /// The crashes that owners alone have charged.
    charges: BTreeMap<Seq, u32>,
    nodes: [Option<Owner>; 2],
    dead: BTreeSet<u8>,
    names: u8,
    /// The messages that were begun by a process that has died.
    died_with: BTreeSet<Seq>,
    handled: BTreeSet<Seq>,
}

impl World {
    pub(super) fn new(limits: Limits, fault: Fault) -> Self {
        Self {
            limits,
            fault,
            waiting: (1..=limits.messages).map(Seq).collect(),
            shares: Shares::default(),
            alone: None,
            charges: BTreeMap::new(),
            nodes: [None, None],
            dead: BTreeSet::new(),
            names: 0,
            died_with: BTreeSet::new(),
            handled: BTreeSet::new(),
        }
    }

    /// The first message that the queue has, or the next one that it gets.
    fn first(&self) -> Seq {
        self.waiting.first().copied().unwrap_or(Seq(self.limits.messages + 1))
    }

    fn owner_lives(&self) -> bool {
        self.alone.is_some_and(|alone| !self.dead.contains(&alone))
    }

    fn enter(&mut self, at: usize, queue: Option<Queue>) {
        let (lane, acks) = (VecDeque::new(), Vec::new());
        self.nodes[at] = Some(Owner { name: self.names, queue, lane, under_way: None, acks, tries: None });
        self.names += 1;
    }

    fn share(&mut self, at: usize) {
        self.limits.owners -= 1;
        let begun = self.alone.take().and_then(|_| self.waiting.first().copied());
        let begun = begun.filter(|_| self.fault != Fault::ForgetsOwner);
        let first = if self.fault == Fault::KeepsItsPlace { Seq(0) } else { self.first() };
        let charges = if self.fault == Fault::ForgetsOwner { BTreeMap::new() } else { self.charges.clone() };
        self.shares.begin(first, charges, begun);
        self.shares.join(&self.names);
        self.enter(at, Some(Queue::shared(WINDOW, u32::MAX, Seq(self.limits.messages))));
    }

    fn claim(&mut self, at: usize) {
        self.limits.owners -= 1;
        if self.fault != Fault::ForgetsSharers {
            for (seq, crashes) in self.shares.charged() {
                let known = self.charges.entry(*seq).or_default();
                *known = (*known).max(*crashes);
            }
        }
        if self.alone.is_some()
            && let Some(first) = self.waiting.first()
        {
            *self.charges.entry(*first).or_default() += 1;
        }
        self.alone = Some(self.names);
        self.enter(at, None);
        let waiting = self.waiting.iter().copied().collect();
        if let Some(owner) = &mut self.nodes[at] {
            owner.lane = waiting;
        }
    }

    fn take(&mut self, at: usize) -> Checked {
        let (first, last) = (self.first(), Seq(self.limits.messages));
        let Some(owner) = &mut self.nodes[at] else { return Ok(()) };
        let Some(queue) = &mut owner.queue else { return Ok(()) };
        let Some(wanted) = queue.wants() else { return Ok(()) };
        if first > self.shares.next() {
            return Err(format!("{:?} to {first:?} count as deleted", self.shares.next()));
        }
        let in_hand: BTreeSet<Seq> = queue.hand().collect();
        let wish = Wish { in_hand: &in_hand, room: wanted.messages, may_try: owner.tries.is_none(), first, last };
        let given = self.shares.take(&owner.name, wish);
        let (given, gone): (BTreeSet<Seq>, BTreeSet<Seq>) =
            given.into_iter().partition(|seq| self.waiting.contains(seq));
        self.shares.ended(&owner.name, &gone);
        let seen =
            given.iter().map(|seq| Seen { seq: *seq, crashes: self.shares.crashes(*seq), is_damaged: false });
        let has_more = !gone.is_empty() || given.len() >= wanted.messages;
        let has_suspects = self.shares.has_suspects(&owner.name, &(&in_hand | &given));
        for fed in queue.taken(&seen.collect::<Vec<_>>(), has_more, has_suspects) {
            match fed {
                Fed::Push(seq) => owner.lane.push_back(seq),
                Fed::Try(seq) if owner.tries.is_none() => {
                    owner.tries = Some(seq);
                    owner.lane.push_back(seq);
                }
                other => return Err(format!("node {at} gets {other:?} and tries {:?}", owner.tries)),
            }
        }
        Ok(())
    }

    fn begin(&mut self, at: usize) -> Checked {
        let Some(owner) = &mut self.nodes[at] else { return Ok(()) };
        let Some(seq) = owner.lane.pop_front() else { return Ok(()) };
        owner.under_way = Some(seq);
        let is_shared = owner.queue.is_some();
        let crashes =
            if is_shared { self.shares.crashes(seq) } else { self.charges.get(&seq).copied().unwrap_or(0) };
        if crashes == 0 && self.died_with.contains(&seq) {
            return Err(format!("node {at} begins {seq:?}, which was begun before, without a charge"));
        }
        if self.handled.contains(&seq) {
            return Err(format!("node {at} begins {seq:?}, which was handled"));
        }
        let others = self.nodes.iter().flatten();
        if others.filter(|other| other.under_way == Some(seq) || other.acks.contains(&seq)).count() > 1 {
            return Err(format!("both nodes have {seq:?}"));
        }
        Ok(())
    }

    /// What the writer does when a message has ended, and from time to time.
    fn look(&mut self, at: usize) {
        let queue = self.nodes[at].as_mut().and_then(|owner| owner.queue.as_mut());
        queue.into_iter().for_each(Queue::let_in);
    }
}

impl SmallWorld for World {
    type Action = Action;

    const ENDS: usize = 2;

    fn actions(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        for (at, node) in self.nodes.iter().enumerate() {
            let Some(owner) = node else {
                if self.limits.owners > 0 && !self.owner_lives() {
                    actions.push(Action::Share(at));
                    if self.shares.members().is_empty() {
                        actions.push(Action::Claim(at));
                    }
                }
                continue;
            };
            if owner.queue.as_ref().is_some_and(|queue| queue.wants().is_some()) {
                actions.push(Action::Take(at));
            }
            if owner.under_way.is_some() {
                actions.push(Action::Return(at));
            } else {
                // The marks of an owner alone are not part of this world, so it acknowledges each message before the next one.
                if !owner.lane.is_empty() && (owner.queue.is_some() || owner.acks.is_empty()) {
                    actions.push(Action::Begin(at));
                }
                if owner.acks.is_empty() {
                    actions.push(Action::Leave(at));
                }
            }
            if !owner.acks.is_empty() {
                actions.push(Action::Acknowledge(at));
            }
            if self.limits.deaths > 0 {
                actions.push(Action::Die(at));
            }
        }
        actions.extend(
            self.dead
                .iter()
                .filter(|name| self.shares.members().contains_key(name))
                .map(|name| Action::Bury(*name)),
        );
        actions
    }

    fn act(&mut self, action: Action) -> Checked {
        match action {
            Action::Share(at) => self.share(at),
            Action::Claim(at) => self.claim(at),
            Action::Take(at) => return self.take(at),
            Action::Begin(at) => return self.begin(at),
            Action::Return(at) => {
                if let Some(owner) = &mut self.nodes[at]
                    && let Some(seq) = owner.under_way.take()
                {
                    owner.tries.take_if(|tried| *tried == seq);
                    owner.queue.iter_mut().for_each(|queue| queue.end(seq));
                    owner.acks.push(seq);
                }
            }
            Action::Acknowledge(at) => {
                if let Some(owner) = &mut self.nodes[at] {
                    let acks: BTreeSet<Seq> = owner.acks.drain(..).collect();
                    self.waiting.retain(|seq| !acks.contains(seq));
                    self.shares.ended(&owner.name, &acks);
                    for seq in acks {
                        owner.queue.iter_mut().for_each(|queue| queue.forget_ended(seq));
                        self.handled.insert(seq);
                    }
                }
            }
            Action::Leave(at) => {
                if let Some(owner) = self.nodes[at].take() {
                    self.alone.take_if(|alone| *alone == owner.name);
                    if self.fault != Fault::LeavesNothing {
                        self.shares.leave(&owner.name);
                    }
                }
            }
            Action::Die(at) => {
                self.limits.deaths -= 1;
                if let Some(owner) = self.nodes[at].take() {
                    self.dead.insert(owner.name);
                    self.died_with.extend(owner.under_way.into_iter().chain(owner.acks));
                }
            }
            Action::Bury(name) => self.shares.died(&name),
        }
        Ok(())
    }

    fn check(&self) -> Checked {
        for seq in (1..=self.limits.messages).map(Seq) {
            if self.handled.contains(&seq) == self.waiting.contains(&seq) {
                return Err(format!("{seq:?} is lost, or handled and still there"));
            }
        }
        let lives = |name: &u8| self.nodes.iter().flatten().any(|owner| owner.name == *name);
        let dead = self.shares.members().keys().find(|name| !lives(name) && !self.dead.contains(name));
        dead.map_or(Ok(()), |name| Err(format!("{name} has left, and still holds messages")))
    }

    /// If one node lives on and shares the queue, it handles everything in the end.
    fn run_to_its_end(&mut self, survivor: usize) -> Checked {
        (self.limits.deaths, self.limits.owners) = (2, 2);
        if self.nodes[1 - survivor].is_some() {
            self.act(Action::Die(1 - survivor))?;
        }
        for _ in 0..10 * self.limits.messages {
            let wanted = [
                Action::Share(survivor),
                Action::Take(survivor),
                Action::Begin(survivor),
                Action::Return(survivor),
                Action::Acknowledge(survivor),
            ];
            let bury = self.actions().into_iter().find(|action| matches!(action, Action::Bury(_)));
            for action in bury.into_iter().chain(wanted) {
                if self.actions().contains(&action) {
                    self.act(action)?;
                }
            }
            self.look(survivor);
            self.check()?;
        }
        self.waiting.first().map_or(Ok(()), |seq| Err(format!("{seq:?} waits for ever")))
    }
}
