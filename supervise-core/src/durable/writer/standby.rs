//! Owners whose queues belong to other processes, or cannot be used. They wait, and claim their queues again.
//!
//! Rules 27.6 and 27.11.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::super::outlet::{Outlet, Recipient};
use super::{AcceptError, News, StoreError, StoreErrorKind, Writer};

/// How long an owner waits before it claims its queue again.
const PAUSE: Duration = Duration::from_secs(1);

/// Added to the pause for each waiting owner, so that many owners do not keep the store busy.
const MORE: Duration = Duration::from_millis(10);

/// The owners that wait, by their terms.
#[derive(Default)]
pub(super) struct Standby {
    owners: BTreeMap<u64, Waiting>,
    /// When they claim again.
    until: Option<Instant>,
}

struct Waiting {
    outlet: Arc<Outlet>,
    recipient: Arc<dyn Recipient>,
    /// The reason, in the store's words.
    why: Arc<str>,
}

impl Standby {
    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Why a queue does not accept messages.
    pub(super) fn why(&self, outlet: &Outlet) -> Arc<str> {
        let waiting = self.owners.get(&outlet.term());
        waiting.map_or_else(|| "its queue could not be claimed".into(), |waiting| Arc::clone(&waiting.why))
    }

    fn pause(&self) -> Duration {
        PAUSE + MORE * u32::try_from(self.owners.len()).unwrap_or(u32::MAX)
    }
}

impl Writer {
    /// The queue of this owner cannot be claimed now.
    pub(super) fn stand_by(&mut self, outlet: Arc<Outlet>, recipient: Arc<dyn Recipient>, error: &StoreError) {
        self.listener.hear(News::Failed(error.to_string()));
        self.wait_to_claim(Waiting { outlet, recipient, why: error.to_string().into() });
    }

    fn wait_to_claim(&mut self, waiting: Waiting) {
        self.standby.owners.insert(waiting.outlet.term(), waiting);
        let until = Instant::now() + self.standby.pause();
        self.standby.until.get_or_insert(until);
    }

    /// If it is time, claims the queues of the owners that wait.
    pub(super) async fn claim_again(&mut self) {
        if self.standby.until.is_none_or(|until| until > Instant::now()) {
            return;
        }
        self.standby.until = None;
        let mut waiting = std::mem::take(&mut self.standby.owners).into_values();
        let mut broken = None;
        for mut owner in waiting.by_ref() {
            if owner.outlet.queue().is_released() {
                continue;
            }
            match self.claim_for(&owner.outlet).await {
                Ok(claim) => self.install(owner.outlet, owner.recipient, claim),
                Err(error) => {
                    let is_broken = error.kind == StoreErrorKind::Broken;
                    let why = error.to_string();
                    if !is_broken && *owner.why != *why {
                        owner.why = why.as_str().into();
                        self.listener.hear(News::Failed(why.clone()));
                    }
                    self.wait_to_claim(owner);
                    if is_broken {
                        broken = Some(why);
                        break;
                    }
                }
            }
        }
        waiting.for_each(|owner| self.wait_to_claim(owner));
        match broken {
            Some(text) => self.outage(text).await,
            None => self.feed().await,
        }
    }

    /// Another process owns a queue of this one.
    pub(super) fn lose(&mut self, term: u64, error: &StoreError) {
        if let Some((outlet, recipient)) = self.forget(term) {
            self.stand_by(outlet, recipient, error);
        }
    }

    /// What this process remembers about a queue is not true any more.
    pub(super) fn forget(&mut self, term: u64) -> Option<(Arc<Outlet>, Arc<dyn Recipient>)> {
        let entry = self.queues.remove(&term)?;
        self.hungry.remove(&term);
        let (messages, controls) = self.group.forget(term, entry.id);
        let pushed = entry.outlet.queue().pushed();
        let begun = self.begun.entry(entry.id).or_default();
        *begun = pushed.max(*begun);
        entry.outlet.lose(self.inbox.next_number());
        if let Some(next) = self.suspects.forget(term) {
            self.let_in(next);
        }
        for message in messages {
            self.inbox.give_room(message.bytes());
            message.refuse(&AcceptError::StoreDown("its queue belongs to another process".into()));
        }
        // Their askers get no answer from this process.
        drop(entry.askers);
        let controls = controls.into_iter().chain(entry.controls.into_iter().map(|(_, control)| control));
        controls.for_each(|control| control());
        entry.recipient.wake();
        Some((entry.outlet, entry.recipient))
    }
}
