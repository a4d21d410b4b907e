//! Probes, through which a test sees what its actors do.

use std::cell::RefCell;
use std::fmt;

use tokio::sync::mpsc;

use super::PATIENCE;
use super::patience::Patience;
use super::settle::settle;
use crate::actor::ActorSystem;

/// The test's end of a probe.
pub struct TestProbe<T> {
    system: ActorSystem,
    patience: Patience,
    sender: mpsc::UnboundedSender<T>,
    receiver: RefCell<mpsc::UnboundedReceiver<T>>,
}

/// The actors' end of a probe. Cheap to clone.
pub struct ProbeHandle<T>(mpsc::UnboundedSender<T>);

impl<T> ProbeHandle<T> {
    /// Sends a value to the test.
    pub fn note(&self, value: T) {
        // The test may be over.
        let _over = self.0.send(value);
    }
}

impl<T> Clone for ProbeHandle<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> fmt::Debug for ProbeHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProbeHandle").finish_non_exhaustive()
    }
}

impl<T: Send + 'static> TestProbe<T> {
    pub(super) fn new(system: ActorSystem, patience: Patience) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self { system, patience, sender, receiver: RefCell::new(receiver) }
    }

    /// A handle for an actor.
    pub fn handle(&self) -> ProbeHandle<T> {
        ProbeHandle(self.sender.clone())
    }

    /// Waits for the next value.
    ///
    /// # Panics
    ///
    /// If no value comes.
    pub async fn next(&self) -> T {
        let next = std::future::poll_fn(|cx| self.receiver.borrow_mut().poll_recv(cx));
        match self.patience.within(PATIENCE / 2, next).await {
            Some(Some(value)) => value,
            Some(None) => unreachable!("the probe holds a sender itself"),
            None => panic!("the probe expected a value, but none came"),
        }
    }

    /// The next value, if it is there already or comes without moving the clock.
    pub async fn now(&self) -> Option<T> {
        settle(&self.system).await;
        self.receiver.borrow_mut().try_recv().ok()
    }

    /// All values that are there already or come without moving the clock.
    pub async fn all(&self) -> Vec<T> {
        settle(&self.system).await;
        let mut receiver = self.receiver.borrow_mut();
        std::iter::from_fn(|| receiver.try_recv().ok()).collect()
    }

    /// Skips values until `pick` returns `Some`.
    ///
    /// # Panics
    ///
    /// If no value comes for which `pick` returns `Some`.
    pub async fn fish_for<U>(&self, mut pick: impl FnMut(T) -> Option<U>) -> U {
        loop {
            if let Some(picked) = pick(self.next().await) {
                return picked;
            }
        }
    }
}

impl<T: Send + PartialEq + fmt::Debug + 'static> TestProbe<T> {
    /// Waits for the next value, which must equal `value`.
    ///
    /// # Panics
    ///
    /// If no value comes, or a different one.
    pub async fn expect(&self, value: T) {
        assert_eq!(self.next().await, value);
    }

    /// Expects that no value comes without moving the clock.
    ///
    /// # Panics
    ///
    /// If a value comes.
    pub async fn expect_none(&self) {
        let value = self.now().await;
        assert!(value.is_none(), "the probe expected nothing, but got {value:?}");
    }
}

impl<T> fmt::Debug for TestProbe<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestProbe").finish_non_exhaustive()
    }
}
