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
use super::read::subjects;

/// Where it stands.
const SUBJECT: &str = "state.reserve";

/// How large it is, unless the server takes smaller messages only.
const BYTES: usize = 8 << 20;

/// When there was no room for the reserve, it is filled again after this time.
const PAUSE: Duration = Duration::from_secs(1);

/// When the reserve is filled again, if it was spent.
#[derive(Default)]
pub(super) struct Reserve(Mutex<Option<Instant>>);

impl Reserve {
    fn again(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_again(&self, again: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = again;
    }
}

impl Open {
    /// Fills the reserve if nobody has filled it.
    pub(super) async fn look_for_reserve(&self) -> Result<()> {
        if subjects(&self.state, self.subject(SUBJECT)).await?.is_empty() {
            self.reserve.set_again(Some(Instant::now()));
        }
        self.fill_reserve().await
    }

    /// Makes room on a full server. Returns whether there was a reserve.
    pub(super) async fn spend_reserve(&self) -> Result<bool> {
        let Some((_, number)) = self.last(&self.state, SUBJECT).await? else { return Ok(false) };
        self.reserve.set_again(Some(Instant::now()));
        delete(&self.state, number).await.map(|()| true)
    }

    /// Takes the room again if there is enough.
    pub(super) async fn fill_reserve(&self) -> Result<()> {
        if self.reserve.again().is_none_or(|again| again > Instant::now()) {
            return Ok(());
        }
        self.reserve.set_again(Some(Instant::now() + PAUSE));
        let payload = Bytes::from(vec![0; self.largest.min(BYTES)]);
        match self.put_after(SUBJECT, payload, 0).await {
            Ok(_) => self.reserve.set_again(None),
            Err(error) if error.kind == StoreErrorKind::Refused => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
