//! Hooks and callbacks for the end of a system.
//!
//! ```text
//!   /user ends ──► hooks are called, and waited for ──► /system ends ──► / ends ──► callbacks, last first ──► the end
//! ```
//!
//! 1. A hook is done when it is dropped, even if the task that holds it panics or is aborted.
//! 2. A callback is refused or runs exactly once, because the end of the root takes the list with all of them. If the
//!    runtime is shut down first, the callbacks are dropped instead.
//!
//! Rule 9.4.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use crate::base::{UserValue, contained_async};
use crate::failure::{Failure, debug_in_one_line};
use crate::observe;

/// A hook or callback was registered too late: the hooks have been called, or the last actor has ended.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the actor system `{system}` has terminated")]
pub struct SystemTerminated {
    /// The system's name.
    pub system: String,
}

debug_in_one_line!(SystemTerminated);

/// Keeps `/system` from ending until it is dropped. See
/// [`ActorSystem::termination_hook`](crate::ActorSystem::termination_hook).
#[derive(Debug)]
pub struct TerminationHook(watch::Receiver<bool>);

impl TerminationHook {
    /// Waits until all actors under `/user` have ended.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    pub async fn called(&mut self) {
        // An error means that the system is gone, with all its actors.
        let _gone = self.0.wait_for(|called| *called).await.is_err();
    }

    /// Releases `/system`, so that this hook no longer keeps it from ending. Dropping the hook has the same
    /// effect.
    pub fn done(self) {}
}

/// A termination callback, which runs after the last actor has ended.
pub(crate) type Callback = UserValue<Pin<Box<dyn Future<Output = ()> + Send>>>;

/// The hooks and callbacks of one system.
pub(crate) struct Termination {
    /// Whether the hooks have been called. Each hook is a receiver of this channel.
    hooks: watch::Sender<bool>,
    /// `None` once the callbacks run. Invariant 2.
    callbacks: Mutex<Option<Vec<Callback>>>,
}

impl Termination {
    pub(crate) fn new() -> Self {
        Self { hooks: watch::Sender::new(false), callbacks: Mutex::new(Some(Vec::new())) }
    }

    /// Registers a hook, unless the hooks have been called.
    pub(crate) fn hook(&self) -> Option<TerminationHook> {
        let mut hook = self.hooks.subscribe();
        // Checked after subscribing, so that `/system` waits for every hook that this returns.
        let late = *hook.borrow_and_update();
        (!late).then_some(TerminationHook(hook))
    }

    /// Calls all hooks and waits until the last one is done.
    pub(crate) async fn call_hooks(&self) {
        self.hooks.send_replace(true);
        self.hooks.closed().await;
    }

    /// Returns whether the callback will run.
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

    /// The root has ended. Returns the callbacks, which must run now; later callbacks are refused.
    #[must_use]
    pub(crate) fn root_ended(&self) -> Callbacks {
        // If `/system` did not end after `/user`, the hooks have not been called yet.
        self.hooks.send_replace(true);
        let callbacks = self.callbacks.lock().unwrap_or_else(PoisonError::into_inner).take();
        Callbacks(callbacks.unwrap_or_default())
    }
}

/// The callbacks, taken out of the list for the one run.
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
