//! Opening the store, at first and after it has failed.
//!
//! Rule 27.13.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::super::inbox::{HandedOver, Input, Order};
use super::super::outlet::Claimed;
use super::{AcceptError, GROUP, News, StoreError, StoreErrorKind, Writer, orders};

/// How long the writer waits before it opens a failed store again, at first and at most.
const AGAIN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// How often the writer opens a failed store again because claims fail.
const ATTEMPTS: u32 = 5;

impl Writer {
    /// Opens the store for the first time.
    pub(super) async fn open(&mut self) {
        self.open_until_it_works(None).await;
    }

    /// The store has failed. Opens it again, and claims the queues again. If a claim also fails because of the
    /// store, this repeats both steps: the process still owns the queue, and would otherwise lose it and read it
    /// from the start. After some attempts, a queue whose claim keeps failing does not hold up the others.
    pub(super) async fn outage(&mut self, text: String) {
        let mut failed = Some(text);
        let mut attempts = 0;
        while let Some(text) = failed.take() {
            self.is_open = false;
            self.numbers.clear();
            self.listener.hear(News::Failed(text.clone()));
            self.open_until_it_works(Some(text)).await;
            attempts += 1;
            let is_last = attempts == ATTEMPTS || self.closing.is_some();
            failed = self.claim_all_again(is_last).await;
        }
        let queues = &self.queues;
        self.group.renumber(|outlet| queues.get(&outlet).map(|entry| entry.id));
    }

    /// Claims the queues of a store that was opened again. Returns why a claim failed, unless this attempt `is_last`.
    async fn claim_all_again(&mut self, is_last: bool) -> Option<String> {
        let marks = self.marks.clone().filter(|_| self.is_open)?;
        let mut numbers: Vec<u64> = self.queues.keys().copied().collect();
        // Queues that were not durable are created again, in their order.
        numbers.sort_unstable();
        for number in numbers {
            let Some(outlet) = self.queues.get(&number).map(|entry| Arc::clone(&entry.outlet)) else { continue };
            match self.claim_for(&outlet).await {
                Ok(claim) if !claim.was_ours => {
                    if let Some((outlet, recipient)) = self.forget(number) {
                        self.install(outlet, recipient, claim);
                    }
                    continue;
                }
                Ok(claim) => {
                    let unknown = outlet.queue().note_assigned(claim.last);
                    outlet.set_waiting(unknown);
                    if let Some(entry) = self.queues.get_mut(&number) {
                        entry.id = claim.queue;
                    }
                    let marks = Arc::clone(&marks);
                    outlet.set_claimed(Claimed { queue: claim.queue, fence: claim.fence, marks });
                }
                Err(error) if error.kind == StoreErrorKind::Broken && !is_last => return Some(error.to_string()),
                Err(error) if error.kind == StoreErrorKind::Broken => {
                    self.listener.hear(News::Failed(error.to_string()));
                }
                Err(error) => {
                    self.lose(number, &error);
                    continue;
                }
            }
            self.hungry.insert(number);
        }
        None
    }

    async fn open_until_it_works(&mut self, mut failed: Option<String>) {
        let mut pause = AGAIN.0;
        loop {
            if let Some(text) = failed.clone() {
                self.pause(pause, &text).await;
                pause = (pause * 2).min(AGAIN.1);
            }
            match self.store.open(&self.owner).await {
                Ok(opened) => {
                    self.marks = Some(opened.marks);
                    self.is_open = true;
                    if !opened.missing.is_empty() {
                        self.listener.hear(News::Missing(opened.missing));
                    }
                    if failed.is_some() {
                        self.listener.hear(News::Opened);
                    }
                    return;
                }
                Err(error) => {
                    self.listener.hear(News::Failed(error.to_string()));
                    if self.closing.is_some() {
                        return;
                    }
                    failed = Some(error.to_string());
                }
            }
        }
    }

    /// Waits before the next attempt to open the store, and answers callers in the meantime. If the system ends,
    /// the wait is over at once, for a last attempt.
    async fn pause(&mut self, pause: Duration, text: &str) {
        let until = Instant::now() + pause;
        loop {
            for input in self.inbox.take(GROUP) {
                self.take_while_down(input, text);
            }
            if self.closing.is_some() || tokio::time::timeout_at(until, self.inbox.arrived(false)).await.is_err() {
                return;
            }
        }
    }

    fn take_while_down(&mut self, input: Input, text: &str) {
        match input {
            Input::HandOver(message) if !message.is_told => self.refuse(message, text),
            Input::Order(order) => refuse(order, text),
            Input::Close(closed) => self.closing = Some(closed),
            later => self.late.push_back(later),
        }
    }

    fn refuse(&self, message: HandedOver, text: &str) {
        self.inbox.give_room(message.bytes());
        message.refuse(&AcceptError::StoreDown(text.into()));
    }
}

fn refuse(order: Order, text: &str) {
    let error = || StoreError::new(StoreErrorKind::Broken, text);
    match order {
        Order::Queues(reply) => orders::answer(reply, Err(error())),
        Order::Quarantined(_, _, reply) => orders::answer(reply, Err(error())),
        Order::Retry(_, reply)
        | Order::Discard(_, reply)
        | Order::Rename(_, _, reply)
        | Order::DiscardQueue(_, reply)
        | Order::Ready(reply) => orders::answer(reply, Err(error())),
    }
}
