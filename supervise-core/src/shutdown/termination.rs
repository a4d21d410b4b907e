//! Registering for the end of a system.
//!
//! Rule 9.4.

use std::future::Future;

use crate::actor::ActorSystem;
use crate::base::UserValue;
use crate::shutdown_plan::{SystemTerminated, TerminationHook};

impl ActorSystem {
    /// Runs `callback` after the last actor has ended, before [`when_terminated`](Self::when_terminated) completes.
    /// Callbacks run one after another, the last registered one first. If one panics, this is logged and the next one
    /// runs.
    ///
    /// # Errors
    ///
    /// If the last actor has already ended; the callback is then dropped. While the system is ending, a callback either
    /// runs or is refused.
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

    /// Registers a hook for which `/system` waits. When all actors under `/user` have ended, all hooks are called, and
    /// the rest of the system stays until every hook has been dropped. This wait has no time limit.
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
    /// If the actors under `/user` have already ended.
    pub fn termination_hook(&self) -> Result<TerminationHook, SystemTerminated> {
        let refused = SystemTerminated { system: self.name().to_owned() };
        self.core().termination().hook().ok_or(refused)
    }
}
