//! Registering for the end of a system.
//!
//! Rule 9.4.

use std::future::Future;

use crate::actor::ActorSystem;
use crate::base::UserValue;
use crate::shutdown_plan::{SystemTerminated, TerminationHook};

impl ActorSystem {
    /// Runs `callback` after the last actor has ended, before [`when_terminated`](Self::when_terminated) completes.
    /// Callbacks run one after another, the last one registered first. A panic is logged and the next one runs.
    ///
    /// # Errors
    ///
    /// If the last actor has ended already; the callback is dropped then. While the system is ending, it is either run
    /// or refused.
    pub fn on_termination(
        &self,
        callback: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), SystemTerminated> {
        if self.core().termination().add(UserValue::new(Box::pin(callback))) {
            Ok(())
        } else {
            Err(SystemTerminated { system: self.name().to_owned() })
        }
    }

    /// Lets `/system` wait: when all actors under `/user` have ended the hook is called, and the rest of the system
    /// stays until every hook was dropped. There is no limit to this wait.
    ///
    /// ```
    /// # use supervise_core::ActorSystem;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let system = ActorSystem::new("shop");
    /// let mut hook = system.termination_hook()?;
    /// let flushed = tokio::spawn(async move {
    ///     hook.called().await;
    ///     // No top-level actor is left: write out what they produced.
    ///     hook.done();
    /// });
    /// system.terminate().await;
    /// assert!(flushed.is_finished());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// If the actors under `/user` have ended already.
    pub fn termination_hook(&self) -> Result<TerminationHook, SystemTerminated> {
        let refused = SystemTerminated { system: self.name().to_owned() };
        self.core().termination().hook().ok_or(refused)
    }
}
