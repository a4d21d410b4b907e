//! Probes, through which a test sees what its actors do.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::panic::Location;

use tokio::sync::mpsc;

use super::PATIENCE;
use super::patience::Patience;
use super::seen::complain;
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
    /// If no value comes. The message names the place of the call, as that of every expectation does.
    #[track_caller]
    pub fn next(&self) -> impl Future<Output = T> {
        let place = Location::caller();
        async move {
            match self.wait().await {
                Some(value) => value,
                None => complain(place, &"the probe expected a value, but none came"),
            }
        }
    }

    /// The next value, unless none comes.
    async fn wait(&self) -> Option<T> {
        let next = std::future::poll_fn(|cx| self.receiver.borrow_mut().poll_recv(cx));
        self.patience.within(PATIENCE / 2, next).await.flatten()
    }

    /// The values that are there already.
    fn waiting(&self) -> Vec<T> {
        let mut receiver = self.receiver.borrow_mut();
        std::iter::from_fn(|| receiver.try_recv().ok()).collect()
    }

    /// The next value, if it is there already or comes without moving the clock.
    pub async fn now(&self) -> Option<T> {
        settle(&self.system).await;
        self.receiver.borrow_mut().try_recv().ok()
    }

    /// All values that are there already or come without moving the clock.
    pub async fn all(&self) -> Vec<T> {
        settle(&self.system).await;
        self.waiting()
    }

    /// Skips values until `pick` returns `Some`.
    ///
    /// # Panics
    ///
    /// If no value comes for which `pick` returns `Some`.
    #[track_caller]
    pub fn fish_for<U>(&self, mut pick: impl FnMut(T) -> Option<U>) -> impl Future<Output = U> {
        let place = Location::caller();
        async move {
            let mut skipped = 0_usize;
            while let Some(value) = self.wait().await {
                if let Some(picked) = pick(value) {
                    return picked;
                }
                skipped += 1;
            }
            complain(place, &format_args!("the probe expected another value, but none came; it skipped {skipped}"))
        }
    }
}

impl<T: Send + PartialEq + fmt::Debug + 'static> TestProbe<T> {
    /// Waits for the next value, which must equal `value`.
    ///
    /// # Panics
    ///
    /// If no value comes, or a different one.
    #[track_caller]
    pub fn expect(&self, value: T) -> impl Future<Output = ()> {
        let place = Location::caller();
        async move {
            match self.wait().await {
                Some(seen) if seen == value => {}
                Some(seen) => {
                    let after = self.waiting();
                    complain(
                        place,
                        &format_args!("the probe expected {value:?}, but got {seen:?}, and after it {after:?}"),
                    )
                }
                None => complain(place, &format_args!("the probe expected {value:?}, but nothing came")),
            }
        }
    }

    /// Expects that no value comes without moving the clock.
    ///
    /// # Panics
    ///
    /// If a value comes.
    #[track_caller]
    pub fn expect_none(&self) -> impl Future<Output = ()> {
        let place = Location::caller();
        async move {
            let values = self.all().await;
            if !values.is_empty() {
                complain(place, &format_args!("the probe expected nothing, but got {values:?}"))
            }
        }
    }
}

impl<T> fmt::Debug for TestProbe<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestProbe").finish_non_exhaustive()
    }
}
