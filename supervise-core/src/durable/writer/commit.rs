//! The changes that are stored together, and what follows when they are durable.

use std::sync::Arc;

use tokio::time::Instant;

use super::super::inbox::{HandedOver, Reply};
use super::super::outlet::{Copied, Late};
use super::super::store::{Append, Appended, CommitError, Stored};
use super::super::ticket::Ticket;
use super::{
    ACK_WAIT, AcceptError, Change, Failure, Fate, GROUP, GROUP_BYTES, Group, MessageId, News, QueueId, Seq,
    StoreError, StoreErrorKind, Writer,
};

/// What follows when a change is durable.
pub(super) enum Then {
    Nothing,
    Appended(HandedOver),
    Charged {
        outlet: u64,
        /// Whether the owner waits for this charge. It does not if the charge is for the death of an earlier
        /// process.
        is_owed: bool,
    },
    Quarantined {
        outlet: u64,
        seq: Seq,
        kind: Arc<str>,
        fate: Fate,
        failures: Vec<Failure>,
        /// The owner waits for it.
        is_owed: bool,
    },
    Control {
        outlet: u64,
        control: Late,
    },
    Released {
        outlet: u64,
    },
    Answer(Reply<()>),
}

/// The group that gathers.
#[derive(Default)]
pub(super) struct Gathered {
    /// Most of them have a change.
    items: Vec<(Option<Change>, Then)>,
    bytes: usize,
    /// When it must be stored, if there are only acknowledgements.
    until: Option<Instant>,
    is_due: bool,
}

impl Gathered {
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.items.len() >= GROUP || self.bytes >= GROUP_BYTES
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.is_due || self.is_full() || self.until.is_some_and(|until| until <= now)
    }

    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }

    pub(super) fn add(&mut self, change: Change, then: Then) {
        self.items.push((Some(change), then));
        self.is_due = true;
    }

    /// Does something behind the changes so far.
    pub(super) fn then(&mut self, then: Then) {
        self.items.push((None, then));
        self.is_due = true;
    }

    pub(super) fn acknowledge(&mut self, id: MessageId) {
        self.items.push((Some(Change::Handled(id)), Then::Nothing));
        self.expect_acknowledgements();
    }

    /// A message has reached its actor, so its acknowledgement may come at any time.
    pub(super) fn expect_acknowledgements(&mut self) {
        self.until.get_or_insert_with(|| Instant::now() + ACK_WAIT);
    }

    /// A queue that was not durable may have another number since the store was opened again. Only its release is
    /// left to be stored.
    pub(super) fn renumber(&mut self, number: impl Fn(u64) -> Option<QueueId>) {
        for (change, then) in &mut self.items {
            if let (Some(Change::Release(queue)), Then::Released { outlet }) = (change, then)
                && let Some(number) = number(*outlet)
            {
                *queue = number;
            }
        }
    }

    /// A queue was lost. Removes everything that concerns it, and returns the messages that are not stored and the controls.
    pub(super) fn forget(&mut self, term: u64, queue: QueueId) -> (Vec<HandedOver>, Vec<Late>) {
        let (mut messages, mut controls) = (Vec::new(), Vec::new());
        for (change, then) in std::mem::take(&mut self.items) {
            match then {
                Then::Nothing if matches!(&change, Some(Change::Handled(id)) if id.queue == queue) => {}
                Then::Charged { outlet, .. } | Then::Quarantined { outlet, .. } | Then::Released { outlet }
                    if outlet == term => {}
                Then::Control { outlet, control } if outlet == term => controls.push(control),
                Then::Appended(message) if message.outlet.term() == term => {
                    self.bytes -= message.bytes();
                    messages.push(message);
                }
                then => self.items.push((change, then)),
            }
        }
        if self.items.is_empty() {
            // Then nothing is left to store.
            *self = Self::default();
        }
        (messages, controls)
    }

    /// How many messages for this queue it has.
    pub(super) fn messages_for(&self, queue: QueueId) -> u64 {
        let is_for =
            |change: &Option<Change>| matches!(change, Some(Change::Append(append)) if append.queue == queue);
        self.items.iter().filter(|(change, _)| is_for(change)).count() as u64
    }

    pub(super) fn append(&mut self, queue: QueueId, mut message: HandedOver) {
        self.bytes += message.bytes();
        let append = Append {
            queue,
            kind: message.kind.into(),
            body: Arc::clone(&message.body),
            accepted_at: message.accepted_at,
            key: message.key.take().map(Into::into),
        };
        self.add(Change::Append(append), Then::Appended(message));
    }
}

impl Writer {
    /// Stores the group, and does what follows. What a failure leaves of it is stored before anything else happens, because pages,
    /// claims and deliveries depend on it. Only the end of the system does not wait for that.
    pub(super) async fn commit(&mut self) {
        if self.group.is_empty() {
            // The acknowledgements that were expected have not come in time. The next one wakes the writer.
            self.group.until = None;
        }
        while !self.group.is_empty() {
            self.try_commit().await;
            if self.closing.is_some() {
                break;
            }
        }
    }

    async fn try_commit(&mut self) {
        let Gathered { items, bytes, .. } = std::mem::take(&mut self.group);
        let mut group = Group::default();
        let mut thens = Vec::with_capacity(items.len());
        for (change, then) in items {
            thens.push((change.is_some(), then));
            group.changes.extend(change);
        }
        let committed = if group.changes.is_empty() { Ok(Vec::new()) } else { self.store.commit(&group).await };
        match committed {
            Ok(appended) => {
                self.has_company = appended.len() > 1;
                self.inbox.give_room(bytes);
                let mut appended = appended.into_iter();
                for (_, then) in thens {
                    self.follow(then, &mut appended);
                }
                self.forget_ended(&group);
            }
            Err(error) => {
                // The group was not stored, or its fate is unknown. Everything but its new messages is tried again.
                let why = match &error {
                    CommitError::Full(text) => AcceptError::Full(text.as_str().into()),
                    CommitError::Unknown(text) => AcceptError::Unknown(text.as_str().into()),
                };
                self.inbox.give_room(bytes);
                let had_appends = group.changes.iter().any(|change| matches!(change, Change::Append(_)));
                let mut changes = group.changes.into_iter();
                for (has_change, then) in thens {
                    let change = if has_change { changes.next() } else { None };
                    match then {
                        Then::Appended(message) => message.refuse(&why),
                        Then::Answer(reply) if matches!(error, CommitError::Unknown(_)) || !had_appends => {
                            let _gone =
                                reply.send(Err(StoreError::new(StoreErrorKind::Broken, error.to_string())));
                        }
                        then => self.group.items.push((change, then)),
                    }
                }
                self.group.is_due = !self.group.is_empty();
                // A store that has no room for acknowledgements has lost its reserve.
                let (CommitError::Unknown(text) | CommitError::Full(text)) = &error;
                if matches!(error, CommitError::Unknown(_)) || !had_appends {
                    self.outage(text.clone()).await;
                }
            }
        }
    }

    fn follow(&mut self, then: Then, appended: &mut impl Iterator<Item = Appended>) {
        match then {
            Then::Nothing => {}
            Then::Appended(message) => match appended.next() {
                Some(Appended::Stored(seq)) => self.stored(seq, message),
                Some(Appended::Known) => {
                    message.lands();
                    message.outlet.give_room();
                    message.owner.iter().for_each(|owner| owner.give_room());
                    // The asker gets no answer: the asker of the first message with this key gets it.
                    drop(message.held.stored().and_then(Copied::into_asker));
                }
                Some(Appended::Full) => {
                    message.refuse(&AcceptError::Full("it has no room for this one".into()));
                }
                Some(Appended::TooLarge) => {
                    let text = "it is larger than the store takes";
                    message.refuse(&AcceptError::NotEncodable(text.into()));
                }
                None => message.refuse(&AcceptError::Unknown("the store gave no number".into())),
            },
            Then::Charged { outlet, is_owed } => {
                if let Some(entry) = self.queues.get(&outlet) {
                    if is_owed {
                        entry.outlet.paid();
                        entry.recipient.wake();
                    } else {
                        entry.outlet.has_charged();
                    }
                }
                self.hungry.insert(outlet);
            }
            Then::Quarantined { outlet, seq, kind, fate, failures, is_owed } => {
                if let Some(entry) = self.queues.get(&outlet) {
                    entry.outlet.queue().end(seq);
                    entry.outlet.give_room();
                    // The owner continues, and marks the messages that have ended.
                    if is_owed {
                        entry.outlet.paid();
                        entry.recipient.wake();
                    }
                    if fate == Fate::CrashedTheProcess {
                        entry.outlet.has_charged();
                    }
                    self.listener.hear(News::Quarantined {
                        owner: entry.outlet.owner.clone(),
                        queue: Arc::clone(&entry.outlet.name),
                        id: MessageId { queue: entry.id, seq },
                        fate,
                        name: entry.recipient.message_name(&kind),
                        kind,
                        failures,
                    });
                }
                self.hungry.insert(outlet);
            }
            Then::Control { outlet, control } => match self.queues.get_mut(&outlet) {
                Some(entry) => {
                    let last = entry.outlet.queue().last();
                    entry.controls.push_back((last, control));
                    entry.stop_at_control();
                    self.hungry.insert(outlet);
                }
                None => control(),
            },
            Then::Released { outlet } => self.released(outlet),
            Then::Answer(reply) => {
                let _gone = reply.send(Ok(()));
            }
        }
    }

    /// A message is durable. It goes into the lane as it is, or it is read again in its turn.
    fn stored(&mut self, seq: Seq, message: HandedOver) {
        message.lands();
        if message.outlet.is_sender() {
            return self.sent(seq, message);
        }
        let HandedOver { outlet, kind, body, accepted_at, held, .. } = message;
        let Some(copy) = held.stored() else { return };
        let Some(entry) = self.queues.get_mut(&outlet.term()) else {
            drop(copy.into_asker());
            return;
        };
        if !outlet.settings.shared {
            let foreign = seq.0.saturating_sub(outlet.queue().last().0.saturating_add(1));
            outlet.set_waiting(foreign);
        }
        if !outlet.queue().committed(seq) {
            if let Some(asker) = copy.into_asker() {
                entry.askers.insert(seq, asker);
            }
            let id = entry.id;
            self.hungry.insert(outlet.term());
            if outlet.settings.shared {
                self.look_at(id);
            }
            return;
        }
        let stored = Stored {
            seq,
            kind: String::new(),
            body,
            accepted_at,
            attempts: 0,
            crashes: 0,
            failures: Vec::new(),
            is_damaged: false,
        };
        let ticket = Arc::new(Ticket::new(&outlet, kind.into(), stored, false));
        self.group.expect_acknowledgements();
        // If the actor has ended, dropping the ticket gives the message back.
        let _delivered = entry.recipient.deliver(ticket, Some(copy.into_any()), None);
    }

    /// The owner of a queue has left it.
    fn released(&mut self, outlet: u64) {
        let Some(entry) = self.queues.remove(&outlet) else { return };
        entry.askers.into_values().for_each(|asker| entry.recipient.refuse(asker));
        if let Some(next) = self.suspects.forget(outlet) {
            self.let_in(next);
        }
        self.hungry.remove(&outlet);
        if !self.owners_of(entry.id).is_empty() {
            // They go on with what this one has left.
            return self.look_at(entry.id);
        }
        let messages = entry.outlet.waiting();
        if messages > 0 {
            let (owner, queue) = (entry.outlet.owner.clone(), Arc::clone(&entry.outlet.name));
            self.listener.hear(News::Kept { owner, queue, messages });
        }
    }
}
