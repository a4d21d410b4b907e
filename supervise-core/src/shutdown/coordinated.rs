//! Coordinated shutdown: tasks in named phases, one phase after another, before and while the system ends.
//! Rule 16.2.
//!
//! ```text
//!   run(reason) ──► phase ──► phase ──► … ──► actor-system-terminate
//!                   tasks side by side,       stops the actors too,
//!                   at most the phase's       unless the settings
//!                   timeout                   leave the system running
//! ```
//!
//! 1. It runs at most once, and keeps the first reason.
//! 2. A task runs at most once. Until its phase begins, a task can be cancelled and further tasks can be added.
//! 3. Tasks are user code, so they are polled and dropped outside the lock.
//!
//! `phases` decides the phases and their order, `progress` keeps the progress of the run, and `run` performs it.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;

use super::run::run_phases;
use crate::actor::{Actor, ActorSystem, Request, TypedRef, dispatch};
use crate::base::UserValue;
use crate::failure::Failure;
use crate::observe;
use crate::shutdown_plan::{AddTaskError, ShutdownError, ShutdownReason, ShutdownState, Task};

impl ActorSystem {
    /// Runs the [coordinated shutdown](Self::coordinated_shutdown), ends all actors, children before their parents, and
    /// waits until the last one has ended. If it is called twice, both calls wait for the same end.
    ///
    /// Even if the coordinated shutdown is aborted, the system ends. Afterwards, [`when_terminated`](Self::when_terminated)
    /// says whether the system ended with a failure.
    ///
    /// If a handler or hook of one of the system's own actors awaits this, it does not wait, because the system ends only
    /// after that handler has returned (rule [9.2](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-9.2)).
    ///
    /// # Cancel safety
    ///
    /// Once the future has been polled, the system ends even if the future is dropped.
    pub async fn terminate(&self) {
        self.begin_to_terminate();
        // The system cannot end before the code that runs on this actor's turn returns.
        if !self.core().dispatcher().is_here() {
            // The failure of a guardian has been logged.
            let _how = self.when_terminated().await;
        }
    }

    fn begin_to_terminate(&self) {
        if !self.core().shutdown().concerns_terminate() {
            return self.stop_all();
        }
        let system = self.clone();
        dispatch::start(self.core(), async move {
            // The reason for an abort has been logged.
            let _how = system.coordinated_shutdown().run(ShutdownReason::Terminate).await;
            system.stop_all();
        });
    }

    /// The coordinated shutdown of this system: tasks in phases, which run once. By default
    /// [`terminate`](Self::terminate) runs it.
    ///
    /// ```
    /// # use supervise_core::{ActorSystem, Phase};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let system = ActorSystem::new("shop");
    /// let shutdown = system.coordinated_shutdown();
    /// shutdown.add_task(Phase::SERVICE_UNBIND, "close the listener", async { /* .. */ })?;
    /// shutdown.add_task(Phase::SERVICE_STOP, "save the basket", async {
    ///     tokio::task::yield_now().await;
    ///     Ok::<_, std::io::Error>(())
    /// })?;
    /// shutdown.run("the shop closes").await?;
    /// assert!(system.has_terminated());
    /// # Ok(()) }
    /// ```
    pub fn coordinated_shutdown(&self) -> CoordinatedShutdown {
        CoordinatedShutdown { system: self.clone() }
    }
}

/// A handle to the coordinated shutdown of a system. Cheap to clone.
#[derive(Debug, Clone)]
pub struct CoordinatedShutdown {
    system: ActorSystem,
}

impl CoordinatedShutdown {
    /// Adds a task to a phase. The same task added twice runs twice.
    ///
    /// The task is a future that has not been polled yet. It returns `()` or a `Result`. If the shutdown never runs,
    /// the task is dropped with the system.
    ///
    /// # Errors
    ///
    /// If there is no phase of this name, or it has begun.
    pub fn add_task(
        &self,
        phase: &str,
        name: impl Into<Cow<'static, str>>,
        task: impl Future<Output = impl TaskOutcome> + Send + 'static,
    ) -> Result<ShutdownTask, AddTaskError> {
        let run = UserValue::new(Box::pin(async move { task.await.into_result() }) as _);
        let id = self.state().add(phase, Task { name: name.into(), run })?;
        Ok(ShutdownTask { system: self.system.clone(), id })
    }

    /// Adds a task that waits until an actor has ended. The task does not stop the actor itself.
    ///
    /// # Errors
    ///
    /// As [`add_task`](Self::add_task).
    pub fn add_actor_termination<R: TypedRef>(
        &self,
        phase: &str,
        name: impl Into<Cow<'static, str>>,
        actor: &R,
    ) -> Result<ShutdownTask, AddTaskError> {
        let (system, actor) = (self.system.clone(), actor.clone());
        let ended = async move {
            system.ended(&actor).await;
        };
        self.add_task(phase, name, ended)
    }

    /// Adds a task that tells an actor a request that makes it stop, such as `feed.close()`, and waits until the actor
    /// has ended.
    ///
    /// # Errors
    ///
    /// As [`add_task`](Self::add_task).
    pub fn add_actor_termination_with<A: Actor, T: Send + 'static>(
        &self,
        phase: &str,
        name: impl Into<Cow<'static, str>>,
        request: Request<'_, A, T>,
    ) -> Result<ShutdownTask, AddTaskError> {
        let system = self.system.clone();
        let (actor, message) = request.into_parts();
        let ended = async move {
            // If the actor has ended already, there is nothing to wait for.
            let _taken = actor.push_when_room(message).await;
            system.ended(&actor).await;
        };
        self.add_task(phase, name, ended)
    }

    /// Runs all phases, and waits until the last one is over. A further call, from any handle, waits for the same run.
    /// If the system has ended, there is nothing to run.
    ///
    /// # Errors
    ///
    /// If a task fails or times out in a phase that aborts on failure. The system then continues to run.
    ///
    /// # Cancel safety
    ///
    /// Once the future has been polled, the shutdown runs to its end even if the future is dropped.
    pub async fn run(&self, reason: impl Into<ShutdownReason>) -> Result<(), ShutdownError> {
        self.run_phases_from(0, reason.into()).await
    }

    /// Like [`run`](Self::run), but skips the phases before this one and their tasks.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), or if there is no phase of this name.
    ///
    /// # Cancel safety
    ///
    /// As [`run`](Self::run).
    pub async fn run_from(&self, phase: &str, reason: impl Into<ShutdownReason>) -> Result<(), ShutdownError> {
        let first = self.state().position(phase)?;
        self.run_phases_from(first, reason.into()).await
    }

    async fn run_phases_from(&self, first: usize, reason: ShutdownReason) -> Result<(), ShutdownError> {
        self.begin(first, &reason);
        self.state().finished().await
    }

    /// Does nothing if the shutdown has begun already.
    fn begin(&self, first: usize, reason: &ShutdownReason) {
        if !self.state().claim(reason) {
            return;
        }
        observe::shutdown_begins(reason);
        self.state().leave_out_until(first);
        let system = self.system.clone();
        dispatch::start(self.system.core(), async move {
            let outcome = run_phases(&system, first).await;
            system.core().shutdown().finish(outcome);
        });
    }

    /// Why the shutdown runs. `None` before it runs.
    pub fn reason(&self) -> Option<ShutdownReason> {
        self.state().reason()
    }

    /// The phases in the order in which they run.
    pub fn phases(&self) -> impl Iterator<Item = &str> {
        self.state().phases.iter().map(|phase| &*phase.name)
    }

    fn state(&self) -> &ShutdownState {
        self.system.core().shutdown()
    }
}

/// A task of a coordinated shutdown. Dropping this handle changes nothing.
#[derive(Debug)]
pub struct ShutdownTask {
    system: ActorSystem,
    id: u64,
}

impl ShutdownTask {
    /// Cancels the task. Returns `false` if it is too late, because its phase has begun.
    pub fn cancel(&self) -> bool {
        self.system.core().shutdown().cancel(self.id)
    }
}

/// What a shutdown task may return: `()` or a `Result`.
#[diagnostic::on_unimplemented(
    message = "a shutdown task returns `()` or a `Result<(), E>`, not `{Self}`",
    label = "this task returns `{Self}`",
    note = "to drop the value of an `Ok`, end the task with `.map(drop)`: `async move {{ workers.graceful_drain(within).await.map(drop) }}`"
)]
pub trait TaskOutcome {
    /// Converts it into a `Result`.
    ///
    /// # Errors
    ///
    /// The task's error.
    fn into_result(self) -> Result<(), Failure>;
}

impl TaskOutcome for () {
    fn into_result(self) -> Result<(), Failure> {
        Ok(())
    }
}

impl<E> TaskOutcome for Result<(), E>
where
    E: fmt::Display + Into<Box<dyn std::error::Error + Send + Sync>> + Send + Sync + 'static,
{
    fn into_result(self) -> Result<(), Failure> {
        self.map_err(Failure::other)
    }
}
