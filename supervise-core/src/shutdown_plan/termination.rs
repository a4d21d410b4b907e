//! What is done around the end of a system, besides ending its actors.
//!
//! ```text
//!   /user ends ──► hooks are called, and waited for ──► /system ends ──► / ends ──► callbacks, last first ──► the end
//! ```
//!
//! 1. A hook is done when it is dropped, so whoever dies with it counts as done.
//! 2. A callback is run exactly once, or was refused: the root's end takes all of them and the list with them.
//!
//! Rule 9.4.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use crate::base::{UserValue, contained_async};
use crate::failure::Failure;
use crate::observe;

/// It is too late: what was asked for happens before the end of the system, which has come.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the actor system `{system}` has terminated")]
pub struct SystemTerminated {
    /// The system's name.
    pub system: String,
}

/// Keeps `/system` from ending until it is dropped, see [`ActorSystem::termination_hook`](crate::ActorSystem::termination_hook).
#[derive(Debug)]
pub struct TerminationHook(watch::Receiver<bool>);

impl TerminationHook {
    /// Waits until all actors under `/user` have ended.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future forgets nothing.
    pub async fn called(&mut self) {
        // An error says that the system is gone, with all its actors.
        let _gone = self.0.wait_for(|called| *called).await.is_err();
    }

    /// Lets `/system` end, as far as this hook is concerned. Dropping the hook says the same.
    pub fn done(self) {}
}

/// What runs when the last actor has ended.
pub(crate) type Callback = UserValue<Pin<Box<dyn Future<Output = ()> + Send>>>;

/// The hooks and callbacks of one system.
pub(crate) struct Termination {
    /// Whether the hooks were called. Each hook is a receiver.
    hooks: watch::Sender<bool>,
    /// `None` once they run. Invariant 2.
    callbacks: Mutex<Option<Vec<Callback>>>,
}

impl Termination {
    pub(crate) fn new() -> Self {
        Self { hooks: watch::Sender::new(false), callbacks: Mutex::new(Some(Vec::new())) }
    }

    /// A hook that will be called, unless it is too late.
    pub(crate) fn hook(&self) -> Option<TerminationHook> {
        let mut hook = self.hooks.subscribe();
        // Looked at after subscribing: a hook that is given out is one that is waited for.
        let late = *hook.borrow_and_update();
        (!late).then_some(TerminationHook(hook))
    }

    /// Calls all hooks and waits until the last one is done.
    pub(crate) async fn call_hooks(&self) {
        self.hooks.send_replace(true);
        self.hooks.closed().await;
    }

    /// Answers whether it will be run.
    pub(crate) fn add(&self, callback: Callback) -> bool {
        match &mut *self.callbacks.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(callbacks) => {
                callbacks.push(callback);
                true
            }
            None => false,
        }
    }

    /// Whether the root has ended: the callbacks run, or have run.
    pub(crate) fn has_root_ended(&self) -> bool {
        self.callbacks.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// The root has ended. Gives the callbacks, to be run now; no further one is taken.
    #[must_use]
    pub(crate) fn root_ended(&self) -> Callbacks {
        // Where `/system` did not end after `/user`, nobody called the hooks.
        self.hooks.send_replace(true);
        let callbacks = self.callbacks.lock().unwrap_or_else(PoisonError::into_inner).take();
        Callbacks(callbacks.unwrap_or_default())
    }
}

/// Callbacks that nobody else will run.
pub(crate) struct Callbacks(Vec<Callback>);

impl Callbacks {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Runs them, the last one registered first.
    pub(crate) async fn run(self) {
        for callback in self.0.into_iter().rev() {
            if let Err(payload) = contained_async(callback.into_inner()).await {
                observe::termination_callback_failed(&Failure::panic(payload));
            }
        }
    }
}
