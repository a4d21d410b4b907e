//! The one task that calls a store. It gathers what has arrived, stores it as a group, and feeds the lanes.
//!
//! ```text
//!   inbox ─ take ─► group ─ commit ─► accepted, charged, quarantined ─► lanes
//!                                                   pages of the rest ──┘
//! ```
//!
//! One group is under way while the next one gathers in the inbox, so a group is as large as the store is slow. There is no
//! timer, except that acknowledgements alone wait [50 ms](ACK_WAIT) for company.
//!
//! Rules 27.1, 27.3, 27.14, 27.15 and 27.16.
//!
//! What to do is decided by [`Queue`](super::queue::Queue) and [`Suspects`]; this performs it.

mod commit;
mod feed;
mod keep;
mod orders;
mod outage;
mod senders;
mod share;
mod standby;
mod unowned;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use self::commit::Gathered;
use self::standby::Standby;
use super::inbox::{HandedOver, Inbox, Input};
use super::outlet::{Asker, Claimed, Late, Outlet, Recipient};
use super::queue::Queue;
use super::store::{
    Change, Claim, Fate, Group, Marks, MessageId, MessageStore, Owner, QueueId, QueueRow, Room, Seq, StoreError,
    StoreErrorKind,
};
use super::suspects::Suspects;
use super::ticket::texts;
use super::{AcceptError, Listener, News};
use crate::failure::Failure;

/// How many inputs make a group at most.
pub(super) const GROUP: usize = 4096;

/// How many bytes of messages make a group.
const GROUP_BYTES: usize = 1 << 20;

/// How long acknowledgements wait for company.
const ACK_WAIT: Duration = Duration::from_millis(50);

/// How often the last group is tried, when the system ends.
const LAST_ATTEMPTS: usize = 2;

/// How many bytes of bodies a page has.
const PAGE_BYTES: usize = 1 << 20;

/// The writer of one store.
pub(super) struct Writer {
    store: Box<dyn MessageStore>,
    owner: Owner,
    inbox: Arc<Inbox>,
    listener: Arc<dyn Listener>,
    began: Instant,
    marks: Option<Arc<dyn Marks>>,
    queues: HashMap<u64, Entry>,
    suspects: Suspects<u64>,
    group: Gathered,
    /// The queues that may want a page.
    hungry: BTreeSet<u64>,
    /// The last group had messages of several senders.
    has_company: bool,
    /// What arrived while the store was down.
    late: VecDeque<Input>,
    is_open: bool,
    /// When the writer next looks through the quarantines that have a limit of time.
    sweeps: Option<Instant>,
    /// When the writer looks for queues without an owner, once.
    looks: Option<Instant>,
    /// The numbers of queues to which this process sends without owning them, and how many messages each takes before the writer looks up
    /// again how full it is.
    numbers: HashMap<Arc<str>, (QueueId, u64)>,
    /// Owners whose queues belong to other processes.
    standby: Standby,
    /// For each queue that this process has lost: it may have begun messages up to this one. If no other process has claimed the queue since, nobody
    /// else knows that.
    begun: HashMap<QueueId, Seq>,
    /// Told when the store is closed.
    closing: Option<oneshot::Sender<()>>,
}

/// A queue that is claimed, or whose owner has just left.
struct Entry {
    outlet: Arc<Outlet>,
    recipient: Arc<dyn Recipient>,
    id: QueueId,
    /// The askers of messages that are read again in their turn.
    askers: HashMap<Seq, Asker>,
    /// Controls, each behind the message of this number.
    controls: VecDeque<(Seq, Late)>,
    /// The owner of a shared queue has nothing under way any more.
    is_leaving: bool,
    /// The store has no room to note what the owner of a shared queue takes.
    is_starved: bool,
}

impl Entry {
    /// Stops the pushing of messages where the first waiting control belongs.
    fn stop_at_control(&self) {
        let after = self.controls.front().map(|(after, _)| *after);
        self.outlet.queue().stop_at(after);
    }
}

impl Writer {
    pub(super) fn new(
        store: Box<dyn MessageStore>,
        owner: Owner,
        inbox: Arc<Inbox>,
        listener: Arc<dyn Listener>,
    ) -> Self {
        Self {
            store,
            owner,
            inbox,
            listener,
            began: Instant::now(),
            marks: None,
            queues: HashMap::new(),
            suspects: Suspects::new(),
            group: Gathered::default(),
            hungry: BTreeSet::new(),
            has_company: false,
            late: VecDeque::new(),
            is_open: false,
            sweeps: None,
            looks: None,
            numbers: HashMap::new(),
            standby: Standby::default(),
            begun: HashMap::new(),
            closing: None,
        }
    }

    /// Runs until the store is closed.
    pub(super) async fn run(mut self) {
        // If the runtime is dropped first, dropping this answers everybody who waits.
        let _close = CloseOnDrop(Arc::clone(&self.inbox));
        let inbox = Arc::clone(&self.inbox);
        self.store.listen(Arc::new(move |queue, last| inbox.put(Input::Arrived { queue, last })));
        self.open().await;
        self.looks = Some(Instant::now() + unowned::PATIENCE);
        while self.closing.is_none() {
            let mut inputs = std::mem::take(&mut self.late);
            inputs.append(&mut self.inbox.take(GROUP));
            if self.has_company {
                self.inbox.take_more(&mut inputs, GROUP).await;
            }
            self.claim_again().await;
            self.sweep().await;
            self.look_for_owners().await;
            if inputs.is_empty() && !self.group.is_due(Instant::now()) {
                self.wait().await;
                continue;
            }
            for input in inputs {
                self.gather(input).await;
            }
            if self.group.is_due(Instant::now()) {
                self.commit().await;
            }
            self.feed().await;
        }
        self.end().await;
    }

    /// Waits for the next input, or until it is time for something.
    async fn wait(&mut self) {
        let suspects = self.suspects.until().map(|until| self.began + until);
        let times = [self.group.until(), suspects, self.standby.until(), self.sweeps, self.looks];
        match times.into_iter().flatten().min() {
            None => self.inbox.arrived(false).await,
            Some(until) => {
                let _in_time =
                    tokio::time::timeout_at(until, self.inbox.arrived(self.group.until().is_some())).await;
            }
        }
        if let Some(next) = self.suspects.due(self.began.elapsed()) {
            self.let_in(next);
        }
        self.feed().await;
    }

    /// Stores what has arrived until now.
    async fn flush(&mut self) {
        self.commit().await;
        self.feed().await;
    }

    async fn end(mut self) {
        while self.is_open
            && let Some(late) = self.late.pop_front()
        {
            self.gather(late).await;
        }
        for _ in 0..LAST_ATTEMPTS {
            if self.is_open {
                self.commit().await;
            }
        }
        self.inbox.close();
        if let Err(error) = self.store.close().await {
            self.listener.hear(News::Failed(error.to_string()));
        }
        if let Some(closed) = self.closing.take() {
            let _gone = closed.send(());
        }
    }

    async fn gather(&mut self, input: Input) {
        match input {
            Input::HandOver(message) => {
                if self.group.is_full() {
                    self.commit().await;
                }
                self.hand_over(message).await;
            }
            Input::Claim(outlet, recipient) => {
                self.flush().await;
                self.claim(outlet, recipient).await;
            }
            Input::Handled { outlet, seq } => {
                if let Some(entry) = self.queues.get(&outlet) {
                    self.group.acknowledge(MessageId { queue: entry.id, seq });
                }
                self.over(outlet, seq);
            }
            Input::Charged { outlet, seq, attempts, crashes, failures } => {
                if let Some(entry) = self.queues.get(&outlet) {
                    let id = MessageId { queue: entry.id, seq };
                    let change = Change::Charged { id, attempts, crashes, failures: texts(&failures) };
                    self.group.add(change, commit::Then::Charged { outlet, is_owed: true });
                }
            }
            Input::Quarantine { outlet, seq, kind, fate, failures } => {
                self.quarantine(outlet, seq, kind, fate, failures, true);
                self.over(outlet, seq);
            }
            Input::GivenBack { outlet, seq } => {
                self.over(outlet, seq);
            }
            Input::Hungry { outlet } => {
                self.hungry.insert(outlet);
            }
            Input::Control { outlet, control } => {
                if self.queues.contains_key(&outlet) {
                    self.group.then(commit::Then::Control { outlet, control });
                } else {
                    control();
                }
            }
            Input::Release { outlet } if self.leaves_others(outlet) => {
                self.group.then(commit::Then::Released { outlet });
            }
            Input::Release { outlet } => {
                if let Some(entry) = self.queues.get(&outlet) {
                    self.group.add(Change::Release(entry.id), commit::Then::Released { outlet });
                }
            }
            Input::Arrived { queue, last } => self.arrived(queue, last).await,
            Input::Order(order) => self.order(order).await,
            Input::Close(closed) => {
                self.flush().await;
                self.closing = Some(closed);
            }
        }
    }

    async fn hand_over(&mut self, message: HandedOver) {
        if message.outlet.is_sender() {
            return self.send_to(message).await;
        }
        if let Some(entry) = self.queues.get(&message.outlet.term()) {
            return self.group.append(entry.id, message);
        }
        self.inbox.give_room(message.bytes());
        let why = if message.outlet.refuses() {
            AcceptError::Stopped
        } else {
            AcceptError::StoreDown(self.standby.why(&message.outlet))
        };
        message.refuse(&why);
    }

    fn quarantine(
        &mut self,
        outlet: u64,
        seq: Seq,
        kind: Arc<str>,
        fate: Fate,
        failures: Vec<Failure>,
        is_owed: bool,
    ) {
        if let Some(entry) = self.queues.get_mut(&outlet) {
            // An asker of a message that was never in memory gets no answer.
            drop(entry.askers.remove(&seq));
            let id = MessageId { queue: entry.id, seq };
            let change = Change::Quarantine { id, fate, failures: texts(&failures) };
            self.group.add(change, commit::Then::Quarantined { outlet, seq, kind, fate, failures, is_owed });
        }
    }

    /// A message has left its handler.
    fn over(&mut self, outlet: u64, seq: Seq) {
        if let Some(next) = self.suspects.over(outlet, seq) {
            self.let_in(next);
        }
        self.hungry.insert(outlet);
    }

    /// Lets the owner of this queue try its suspect. If the owner has no room now, the next queue has its turn,
    /// and this queue waits for another turn when its owner has room.
    fn let_in(&mut self, outlet: u64) {
        let mut next = Some(outlet);
        while let Some(outlet) = next.take() {
            let reads = self.queues.get(&outlet).is_some_and(|entry| {
                let mut queue = entry.outlet.queue();
                queue.let_in();
                queue.wants().is_some()
            });
            self.hungry.insert(outlet);
            if !reads {
                next = self.suspects.waits_no_more(outlet);
            }
        }
    }

    async fn claim(&mut self, outlet: Arc<Outlet>, recipient: Arc<dyn Recipient>) {
        let claim = loop {
            match self.claim_for(&outlet).await {
                Ok(claim) => break claim,
                Err(error) if error.kind == StoreErrorKind::Broken && self.closing.is_none() => {
                    self.outage(error.to_string()).await;
                }
                Err(error) => return self.stand_by(outlet, recipient, &error),
            }
        };
        self.install(outlet, recipient, claim);
    }

    /// The queue of this owner was claimed.
    fn install(&mut self, outlet: Arc<Outlet>, recipient: Arc<dyn Recipient>, claim: Claim) {
        let Some(marks) = self.marks.clone() else { return };
        let settings = outlet.settings;
        if settings.shared && !claim.was_ours {
            // What this process held belongs to others now.
            let text = format!("the messages of the queue {} belong to other processes", outlet.name);
            let error = StoreError::new(StoreErrorKind::Claimed, text);
            self.owners_of(claim.queue).into_iter().for_each(|term| self.lose(term, &error));
        }
        let queue = if settings.shared {
            Queue::shared(settings.window, settings.crashes, claim.last)
        } else {
            Queue::claimed(
                settings.window,
                settings.crashes,
                claim.last,
                claim.handled,
                claim.begun,
                claim.waiting > 0,
            )
        };
        let queue = if outlet.has_batches { queue.of_batches() } else { queue };
        let begun_here = self.begun.get(&claim.queue).copied().unwrap_or_default();
        let mut queue = queue.with_doubts(claim.may_have_begun.max(begun_here));
        {
            let mut before = outlet.queue();
            if before.is_released() {
                // The actor has ended in the meantime. Messages that were pushed would come back again and again.
                queue.release();
            }
            *before = queue;
        }
        outlet.set_claimed(Claimed { queue: claim.queue, fence: claim.fence, marks });
        if settings.shared {
            outlet.recount(claim.waiting);
        } else {
            outlet.set_waiting(claim.waiting);
        }
        let number = outlet.term();
        let (askers, controls) = (HashMap::new(), VecDeque::new());
        let id = claim.queue;
        let entry = Entry { outlet, recipient, id, askers, controls, is_leaving: false, is_starved: false };
        self.queues.insert(number, entry);
        self.hungry.insert(number);
        if settings.keep.is_some() {
            self.sweeps = Some(Instant::now());
        }
    }

    /// Another process may have put messages into a queue, or may own the queue.
    async fn arrived(&mut self, queue: QueueId, last: Seq) {
        let Some(entry) = self.queues.values().find(|entry| entry.id == queue) else { return };
        let term = entry.outlet.term();
        if entry.outlet.settings.shared {
            return self.arrived_in_shared(queue, term).await;
        }
        if !entry.outlet.owns(term) {
            let room = Room { messages: 1, bytes: 1 };
            let after = entry.outlet.queue().last();
            match self.store.page(queue, after, room).await {
                Ok(_) => {}
                Err(error) if error.kind == StoreErrorKind::Claimed => return self.lose(term, &error),
                Err(error) => return self.outage(error.to_string()).await,
            }
        }
        let Some(entry) = self.queues.get(&term) else { return };
        let unknown = entry.outlet.queue().note_assigned(last);
        if unknown > 0 {
            entry.outlet.set_waiting(unknown);
            self.hungry.insert(entry.outlet.term());
        }
    }
}

/// Refuses everything that still arrives.
struct CloseOnDrop(Arc<Inbox>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close();
    }
}
