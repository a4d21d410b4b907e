//! Reads what does not fit into memory, page by page, as the owners handle it.

use std::sync::Arc;

use super::super::outlet::Undelivered;
use super::super::queue::{Fed, Seen, Wanted};
use super::super::store::{Room, Stored};
use super::super::ticket::Ticket;
use super::share::Fetched;
use super::{Failure, Fate, MessageId, PAGE_BYTES, StoreError, StoreErrorKind, Writer, commit};
use crate::durable::store::Change;

impl Writer {
    /// Reads the pages that are wanted, one of each queue at a time, and lets controls take their places. If
    /// something arrives meanwhile, the writer handles that first: an actor that is as fast as the store wants
    /// pages for as long as it has messages.
    pub(super) async fn feed(&mut self) {
        while !self.hungry.is_empty() {
            for outlet in std::mem::take(&mut self.hungry) {
                let wanted = self.queues.get(&outlet).and_then(|entry| entry.outlet.queue().wants());
                if let Some(wanted) = wanted
                    && self.read(outlet, wanted).await
                {
                    self.hungry.insert(outlet);
                }
                self.let_controls_in(outlet);
            }
            if self.inbox.has_news() {
                return;
            }
        }
    }

    /// Reads one page. Returns whether the next one may be wanted at once.
    async fn read(&mut self, outlet: u64, wanted: Wanted) -> bool {
        let Fetched { mut page, fed } = match self.fetch(outlet, wanted).await {
            Ok(fetched) => fetched,
            Err(error) if error.kind == StoreErrorKind::Claimed => {
                self.lose(outlet, &error);
                return false;
            }
            Err(error) if error.kind == StoreErrorKind::Refused && self.starves(outlet, &error) => return false,
            Err(error) => {
                self.hungry.insert(outlet);
                self.outage(error.to_string()).await;
                return false;
            }
        };
        let (mut was_tried, mut charges, mut confines) = (false, false, false);
        for fed in fed {
            // No message begins before the outcome of the earlier ones is durable. Otherwise a crash would repeat both.
            if std::mem::take(&mut confines) {
                self.commit().await;
            }
            let (Fed::Push(seq)
            | Fed::Try(seq)
            | Fed::Forget(seq)
            | Fed::Charge(seq)
            | Fed::Crashed(seq)
            | Fed::Damaged(seq)) = fed;
            let Some(at) = page.iter().position(|stored| stored.seq == seq) else { continue };
            let stored = page.swap_remove(at);
            match fed {
                Fed::Forget(seq) => {
                    if let Some(entry) = self.queues.get(&outlet) {
                        entry.outlet.give_room();
                        self.group.acknowledge(MessageId { queue: entry.id, seq });
                    }
                }
                Fed::Charge(_) => {
                    self.charge(outlet, stored);
                    charges = true;
                }
                Fed::Crashed(seq) => {
                    confines = true;
                    let failures = earlier(&stored);
                    self.quarantine(outlet, seq, stored.kind.into(), Fate::CrashedTheProcess, failures, false);
                }
                Fed::Damaged(seq) => {
                    confines = true;
                    let failures = earlier(&stored);
                    self.quarantine(outlet, seq, stored.kind.into(), Fate::Damaged, failures, false);
                }
                Fed::Push(_) => confines = !self.deliver(outlet, stored),
                Fed::Try(seq) => {
                    was_tried = true;
                    self.suspects.tries(outlet, seq, self.began.elapsed());
                    confines = !self.deliver(outlet, stored);
                }
            }
        }
        let is_held = self.queues.get(&outlet).is_some_and(|entry| entry.outlet.queue().is_held());
        if is_held {
            self.suspects.waits(outlet);
        } else if !was_tried
            && !charges
            && let Some(next) = self.suspects.waits_no_more(outlet)
        {
            self.let_in(next);
        }
        // A charge must be durable before its message is read again.
        !charges
    }

    /// Reads a page, and decides what happens to its messages.
    async fn fetch(&mut self, outlet: u64, wanted: Wanted) -> Result<Fetched, StoreError> {
        let nothing = Fetched { page: Vec::new(), fed: Vec::new() };
        let Some(entry) = self.queues.get(&outlet) else { return Ok(nothing) };
        let id = entry.id;
        if entry.outlet.settings.shared {
            return self.take(outlet, id, wanted).await;
        }
        let room = Room { messages: wanted.messages, bytes: PAGE_BYTES };
        let page = self.store.page(id, wanted.after, room).await?;
        let seen: Vec<Seen> = page.iter().map(Stored::seen).collect();
        let is_free = self.suspects.is_free(outlet);
        let Some(entry) = self.queues.get(&outlet) else { return Ok(nothing) };
        let fed = entry.outlet.queue().page(wanted, &seen, is_free);
        Ok(Fetched { page, fed })
    }

    /// The process died with this message under way.
    fn charge(&mut self, outlet: u64, stored: Stored) {
        let Some(entry) = self.queues.get(&outlet) else { return };
        let change = Change::Charged {
            id: MessageId { queue: entry.id, seq: stored.seq },
            attempts: stored.attempts,
            crashes: stored.crashes.saturating_add(1),
            failures: stored.failures,
        };
        self.group.add(change, commit::Then::Charged { outlet, is_owed: false });
    }

    /// Gives a message to its owner. Returns false if it goes into quarantine.
    fn deliver(&mut self, outlet: u64, mut stored: Stored) -> bool {
        let Some(entry) = self.queues.get_mut(&outlet) else { return true };
        let seq = stored.seq;
        let after_crash = stored.crashes > 0 || entry.outlet.queue().may_have_begun(seq);
        let id = entry.id;
        let mut asker = entry.askers.remove(&seq);
        if asker.is_none() && entry.outlet.settings.shared {
            // Perhaps another owner was asked.
            asker = self
                .queues
                .values_mut()
                .filter(|entry| entry.id == id)
                .find_map(|entry| entry.askers.remove(&seq));
        }
        let Some(entry) = self.queues.get(&outlet) else { return true };
        let (kind, mut failures) = (std::mem::take(&mut stored.kind), earlier(&stored));
        let ticket = Arc::new(Ticket::new(&entry.outlet, kind.into(), stored, after_crash));
        let fate = match entry.recipient.deliver(Arc::clone(&ticket), None, asker) {
            // If the actor has ended, dropping the ticket gives the message back.
            Ok(()) | Err(Undelivered::Gone) => {
                self.group.expect_acknowledgements();
                return true;
            }
            Err(Undelivered::Spent) => Fate::Failed,
            Err(Undelivered::Undecodable(text)) => {
                failures.push(Failure::other(text));
                Fate::Undecodable
            }
        };
        ticket.leaves();
        self.quarantine(outlet, seq, (*ticket.kind).into(), fate, failures, false);
        self.over(outlet, seq);
        false
    }

    /// Controls whose predecessors are in the lane take their places.
    fn let_controls_in(&mut self, outlet: u64) {
        let Some(entry) = self.queues.get_mut(&outlet) else { return };
        while let Some((after, _)) = entry.controls.front()
            && entry.outlet.queue().has_pushed(*after)
            && let Some((_, control)) = entry.controls.pop_front()
        {
            control();
            entry.stop_at_control();
            self.hungry.insert(outlet);
        }
    }
}

impl Stored {
    pub(super) fn seen(&self) -> Seen {
        Seen { seq: self.seq, crashes: self.crashes, is_damaged: self.is_damaged }
    }
}

/// The failures that the store knows.
fn earlier(stored: &Stored) -> Vec<Failure> {
    stored.failures.iter().cloned().map(Failure::other).collect()
}
