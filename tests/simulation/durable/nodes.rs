//! Two nodes, a server that keeps leases, and a queue: who may begin messages, and until when.
//!
//! The nodes decide with [`Sighting`] and [`Queue`], as `JetStreamStore` and the writer do. Renewals take time to arrive, acknowledgements get
//! lost, and the server may be started again and forget all leases.

use std::collections::VecDeque;
use std::time::Duration;

use supervise_core::durable::Seq;
use supervise_core::durable::lease::{Said, Sighting};
use supervise_core::durable::queue::{Fed, Queue, Seen};

use super::explore::{Checked, SmallWorld};

/// The length of a lease, in ticks.
const LENGTH: u32 = 2;
const WINDOW: usize = 2;

const fn ticks(ticks: u32) -> Duration {
    Duration::from_secs(ticks as u64)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Limits {
    pub(super) ticks: u32,
    pub(super) messages: u64,
    pub(super) restarts: u8,
    pub(super) lost: u8,
}

/// A mistake that the invariants must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Fault {
    None,
    /// An owner begins messages without looking at its lease.
    BeginsWithoutLease,
    /// A lease that is gone from the server counts as ended.
    TrustsTheServer,
    /// A new owner has the fence of the one before it.
    KeepsItsFence,
}

/// What can happen. The numbers are those of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Tick,
    /// The server is started again: it has no leases, and counts from 1.
    Restart,
    /// A node looks at the lease, and takes the queue if nobody has it.
    Look(usize),
    /// An owner sends a renewal.
    Renew(usize),
    /// The renewal reaches the server, and its acknowledgement the owner.
    Arrive(usize),
    /// The renewal reaches the server, and its acknowledgement gets lost.
    LoseAck(usize),
    Page(usize),
    Begin(usize),
    Return(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Lease {
    node: usize,
    number: u64,
    ends: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Server {
    lease: Option<Lease>,
    newest: u64,
    restarts: u8,
    /// The node that owned the queue last, and the number of this entry. It is on disk.
    record: Option<usize>,
    fence: u64,
    waiting: Vec<Seq>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Owner {
    /// When its lease ends by its own clock.
    until: u32,
    number: u64,
    fence: u64,
    queue: Queue,
    lane: VecDeque<Seq>,
    under_way: Option<Seq>,
    /// The messages that were handled, and that the server still has.
    acks: Vec<Seq>,
    /// When the renewal was sent that is on its way.
    renewal: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Node {
    sees: Option<Sighting<Duration>>,
    owner: Option<Owner>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct World {
    limits: Limits,
    fault: Fault,
    now: u32,
    server: Server,
    nodes: [Node; 2],
    /// The largest fence with which each message was begun.
    begun: Vec<u64>,
    handled: Vec<bool>,
}

impl World {
    pub(super) fn new(limits: Limits, fault: Fault) -> Self {
        let all = usize::try_from(limits.messages).unwrap_or_default();
        Self {
            limits,
            fault,
            now: 0,
            server: Server {
                lease: None,
                newest: 0,
                restarts: 0,
                record: None,
                fence: 0,
                waiting: (1..=limits.messages).map(Seq).collect(),
            },
            nodes: [Node::default(), Node::default()],
            begun: vec![0; all],
            handled: vec![false; all],
        }
    }

    /// Whether a node may begin messages.
    fn holds(&self, at: usize) -> bool {
        self.nodes[at].owner.as_ref().is_some_and(|owner| self.now < owner.until)
    }

    /// The server stores a lease, and returns its number.
    fn put_lease(&mut self, node: usize) -> u64 {
        self.server.newest += 1;
        let number = self.server.newest;
        self.server.lease = Some(Lease { node, number, ends: self.now + LENGTH });
        number
    }

    fn arrive(&mut self, at: usize, is_acknowledged: bool) {
        let Some(owner) = &mut self.nodes[at].owner else { return };
        let Some(sent) = owner.renewal.take() else { return };
        let known = owner.number;
        match self.server.lease {
            Some(lease) if lease.node == at && lease.number == known => {
                let number = self.put_lease(at);
                if is_acknowledged && let Some(owner) = &mut self.nodes[at].owner {
                    (owner.number, owner.until) = (number, sent + LENGTH);
                }
            }
            // Its own renewal, whose acknowledgement was lost. The next one shows until when the lease holds.
            Some(lease) if lease.node == at => owner.number = lease.number,
            // The server has forgotten the lease, or another node has it.
            _ => owner.until = 0,
        }
    }

    fn look(&mut self, at: usize) {
        let (now, lease, record) = (ticks(self.now), self.server.lease, self.server.record);
        let other = lease.map_or(record, |lease| Some(lease.node)).filter(|node| *node != at);
        let said = Said {
            present: lease.filter(|_| other.is_some()).map(|lease| lease.number),
            newest: self.server.newest,
            server: self.server.restarts.to_string(),
        };
        if other.is_some() {
            let seen = self.nodes[at].sees.get_or_insert_with(|| Sighting::new(&said, now));
            let is_over = seen.is_over(&said, now, ticks(LENGTH));
            let trusts = self.fault == Fault::TrustsTheServer && said.present.is_none();
            if !is_over && !trusts {
                // If the queue was this node's, another one has had it in the meantime.
                self.nodes[at].owner = None;
                return;
            }
        }
        self.nodes[at].sees = None;
        let was_ours = record == Some(at);
        let number = self.put_lease(at);
        let until = self.now + LENGTH;
        if was_ours && let Some(owner) = &mut self.nodes[at].owner {
            (owner.number, owner.until) = (number, until);
            self.acknowledge(at);
            return;
        }
        self.server.record = Some(at);
        if self.fault != Fault::KeepsItsFence {
            self.server.fence += 1;
        }
        let waiting = &self.server.waiting;
        let last = Seq(self.limits.messages);
        let handled = waiting.first().map_or(last, |first| Seq(first.0 - 1));
        // More crashes are allowed than there are owners: these tests are not about quarantine.
        let queue = Queue::claimed(WINDOW, u32::MAX, last, handled, None, !waiting.is_empty());
        let fence = self.server.fence;
        let (lane, under_way, acks, renewal) = (VecDeque::new(), None, Vec::new(), None);
        self.nodes[at].owner = Some(Owner { until, number, fence, queue, lane, under_way, acks, renewal });
    }

    fn page(&mut self, at: usize) {
        let Some(owner) = &mut self.nodes[at].owner else { return };
        let Some(wanted) = owner.queue.wants() else { return };
        let page = self.server.waiting.iter().filter(|seq| **seq > wanted.after).take(wanted.messages);
        let page: Vec<Seen> = page.map(|seq| Seen { seq: *seq, crashes: 0, is_damaged: false }).collect();
        for fed in owner.queue.page(wanted, &page, true) {
            if let Fed::Push(seq) = fed {
                owner.lane.push_back(seq);
            }
        }
    }

    fn begin(&mut self, at: usize) -> Checked {
        let holds = self.holds(at);
        let Some(owner) = &mut self.nodes[at].owner else { return Ok(()) };
        let Some(seq) = owner.lane.pop_front() else { return Ok(()) };
        owner.under_way = Some(seq);
        let fence = owner.fence;
        if !holds {
            return Err(format!("node {at} begins {seq:?} without a lease"));
        }
        let other = self.nodes[1 - at].owner.as_ref();
        if let Some(newer) = other.filter(|other| other.fence >= fence && other.under_way == Some(seq)) {
            return Err(format!("node {at} begins {seq:?} with the fence {fence}, and {} has it", newer.fence));
        }
        let Some(begun) = usize::try_from(seq.0 - 1).ok().and_then(|place| self.begun.get_mut(place)) else {
            return Err(format!("there is no {seq:?}"));
        };
        if *begun > fence {
            return Err(format!("{seq:?} was begun with the fence {begun}, and now with {fence}"));
        }
        *begun = fence;
        Ok(())
    }

    fn returns(&mut self, at: usize) {
        let Some(owner) = &mut self.nodes[at].owner else { return };
        let Some(seq) = owner.under_way.take() else { return };
        owner.queue.end(seq);
        owner.acks.push(seq);
        self.acknowledge(at);
    }

    /// Acknowledgements have an effect while the node owns the queue. They wait until it has its lease again, or are lost with the queue.
    fn acknowledge(&mut self, at: usize) {
        if !(self.holds(at) && self.server.record == Some(at)) {
            return;
        }
        let Some(owner) = &mut self.nodes[at].owner else { return };
        for seq in std::mem::take(&mut owner.acks) {
            self.server.waiting.retain(|waiting| *waiting != seq);
            if let Some(handled) = usize::try_from(seq.0 - 1).ok().and_then(|place| self.handled.get_mut(place)) {
                *handled = true;
            }
        }
    }
}

impl SmallWorld for World {
    type Action = Action;

    const ENDS: usize = 2;

    fn actions(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        for (at, node) in self.nodes.iter().enumerate() {
            let Some(owner) = &node.owner else {
                actions.push(Action::Look(at));
                continue;
            };
            match owner.renewal {
                Some(_) => {
                    actions.push(Action::Arrive(at));
                    if self.limits.lost > 0 {
                        actions.push(Action::LoseAck(at));
                    }
                }
                // One renewal in each tick is enough.
                None if self.holds(at) && owner.until == self.now + LENGTH => {}
                None if self.holds(at) => actions.push(Action::Renew(at)),
                // It takes the lease again, or loses the queue.
                None => actions.push(Action::Look(at)),
            }
            if owner.under_way.is_some() {
                actions.push(Action::Return(at));
            } else if !owner.lane.is_empty() && (self.holds(at) || self.fault == Fault::BeginsWithoutLease) {
                actions.push(Action::Begin(at));
            }
            if self.holds(at) && owner.queue.wants().is_some() {
                actions.push(Action::Page(at));
            }
        }
        if self.limits.ticks > 0 {
            actions.push(Action::Tick);
        }
        if self.limits.restarts > 0 {
            actions.push(Action::Restart);
        }
        actions
    }

    fn act(&mut self, action: Action) -> Checked {
        match action {
            Action::Tick => {
                self.limits.ticks -= 1;
                self.now += 1;
                // The server forgets a lease by itself.
                self.server.lease.take_if(|lease| lease.ends <= self.now);
            }
            Action::Restart => {
                self.limits.restarts -= 1;
                self.server.restarts += 1;
                self.server.lease = None;
                self.server.newest = 0;
            }
            Action::Look(at) => self.look(at),
            Action::Renew(at) => {
                let now = self.now;
                if let Some(owner) = &mut self.nodes[at].owner {
                    owner.renewal = Some(now);
                }
            }
            Action::Arrive(at) => {
                self.arrive(at, true);
                self.acknowledge(at);
            }
            Action::LoseAck(at) => {
                self.limits.lost -= 1;
                self.arrive(at, false);
            }
            Action::Page(at) => self.page(at),
            Action::Begin(at) => return self.begin(at),
            Action::Return(at) => self.returns(at),
        }
        Ok(())
    }

    fn check(&self) -> Checked {
        if self.holds(0) && self.holds(1) {
            return Err("both nodes may begin messages".to_owned());
        }
        for (handled, seq) in self.handled.iter().zip((1..).map(Seq)) {
            if *handled == self.server.waiting.contains(&seq) {
                return Err(format!("{seq:?} is lost, or handled and still there"));
            }
        }
        Ok(())
    }

    /// If one node lives on, it handles everything in the end.
    fn run_to_its_end(&mut self, survivor: usize) -> Checked {
        self.nodes[1 - survivor] = Node::default();
        for _ in 0..6 * (LENGTH + 1) {
            let renews = [
                Action::Arrive(survivor),
                Action::Look(survivor),
                Action::Renew(survivor),
                Action::Arrive(survivor),
            ];
            let handles = [Action::Page(survivor), Action::Begin(survivor), Action::Return(survivor)];
            for action in renews.into_iter().chain(handles) {
                if self.actions().contains(&action) {
                    self.act(action)?;
                }
            }
            self.now += 1;
            self.server.lease.take_if(|lease| lease.ends <= self.now);
            self.check()?;
        }
        match self.server.waiting.first() {
            Some(seq) => Err(format!("{seq:?} waits for ever")),
            None => Ok(()),
        }
    }
}
