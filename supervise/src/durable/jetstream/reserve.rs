//! A message that takes room on the server, to be deleted when the server is full.
//!
//! Without it, a full server could not note that a message has failed, or that a queue has a new owner. Then nobody would handle the messages
//! that fill it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use supervise_core::durable::StoreErrorKind;

use super::Result;
use super::handled::delete;
use super::open::Open;
use super::read::{numbers, subjects};

/// Where it stands.
const SUBJECT: &str = "state.reserve";

/// How large it is, unless the server takes smaller messages only.
const BYTES: usize = 8 << 20;

/// After how long the store tries to fill the reserve again, if the server had no room for it.
const PAUSE: Duration = Duration::from_secs(1);

/// When this process looks next whether there is a reserve, and fills it.
pub(super) struct Reserve(Mutex<Option<Instant>>);

impl Default for Reserve {
    fn default() -> Self {
        Self(Mutex::new(Some(Instant::now())))
    }
}

impl Reserve {
    fn next(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_next(&self, next: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = next;
    }

    /// This process or another one may have spent the reserve.
    pub(super) fn may_be_spent(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
    }
}

impl Open {
    /// Makes room on a full server. Returns whether there was a reserve.
    pub(super) async fn spend_reserve(&self) -> Result<bool> {
        self.reserve.may_be_spent();
        let numbers = numbers(&self.state, self.subject(SUBJECT)).await?;
        for number in &numbers {
            delete(&self.state, *number).await?;
        }
        Ok(!numbers.is_empty())
    }

    /// Takes the room again if the reserve may be spent and there is enough.
    pub(super) async fn fill_reserve(&self) -> Result<()> {
        if self.reserve.next().is_none_or(|next| next > Instant::now()) {
            return Ok(());
        }
        self.reserve.set_next(Some(Instant::now() + PAUSE));
        // All processes of the system have one together.
        if subjects(&self.state, self.subject(SUBJECT)).await?.is_empty() {
            let payload = Bytes::from(vec![0; self.largest.min(BYTES)]);
            match self.put_after(SUBJECT, payload, 0).await {
                Ok(_) => {}
                Err(error) if error.kind == StoreErrorKind::Refused => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.reserve.set_next(None);
        Ok(())
    }
}
