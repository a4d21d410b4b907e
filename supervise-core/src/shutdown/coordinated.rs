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
//! 1. It runs at most once; the first reason stays.
//! 2. A task runs at most once. Until its phase begins it can be cancelled, and its phase takes further tasks.
//! 3. Tasks are a user's code: they are polled, and dropped, outside the lock.
//!
//! Which phases there are, and their order, is decided in `phases`; how far it is, in `progress`. `run` performs it.

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
    /// waits until the last one has ended. Called twice, both calls wait for the one end.
    ///
    /// A coordinated shutdown that is aborted ends the system all the same. Whether the system ended with a failure is what
    /// [`when_terminated`](Self::when_terminated) says afterwards.
    ///
    /// Awaited in a handler or hook of one of the system's own actors, it does not wait: the end comes when that handler has
    /// returned (rule 9.2).
    ///
    /// # Cancel safety
    ///
    /// The system ends whether or not the future is awaited to its end, once it was polled.
    pub async fn terminate(&self) {
        if self.core().shutdown().concerns_terminate() {
            let system = self.clone();
            dispatch::start(self.core(), async move {
                // Why it was aborted was said when it was.
                let _how = system.coordinated_shutdown().run(ShutdownReason::Terminate).await;
                system.user_guardian().stop();
            });
        } else {
            self.user_guardian().stop();
        }
        // The end waits for the code that runs on this actor's turn.
        if !self.core().dispatcher().is_here() {
            // Why a guardian failed was said when it did.
            let _how = self.when_terminated().await;
        }
    }

    /// The coordinated shutdown of this system: tasks in phases, run once, by default by [`terminate`](Self::terminate).
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
    /// The task is a future that nobody has polled yet; it gives nothing, or a `Result`. If the shutdown never runs it
    /// is dropped with the system.
    ///
    /// # Errors
    ///
    /// If there is no such phase, or it has begun.
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

    /// Adds a task that waits until an actor has ended. Somebody else stops it.
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

    /// Adds a task that tells an actor a request at which it stops, such as `feed.close()`, and waits until it has
    /// ended.
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
            // It may have ended already, then there is nothing to wait for.
            let _taken = actor.push_when_room(message).await;
            system.ended(&actor).await;
        };
        self.add_task(phase, name, ended)
    }

    /// Runs all phases, and waits until the last one is over. Called again, from wherever, it waits for the same run.
    /// In a system that has ended there is nothing to run.
    ///
    /// # Errors
    ///
    /// If a phase that aborts on failure had one. The system is still there then.
    ///
    /// # Cancel safety
    ///
    /// The shutdown runs to its end whether or not the future is awaited to its end, once it was polled.
    pub async fn run(&self, reason: impl Into<ShutdownReason>) -> Result<(), ShutdownError> {
        self.run_phases_from(0, reason.into()).await
    }

    /// Like [`run`](Self::run), but leaves out the phases before this one, with their tasks.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), or if there is no such phase.
    ///
    /// # Cancel safety
    ///
    /// As [`run`](Self::run).
    pub async fn run_from(&self, phase: &str, reason: impl Into<ShutdownReason>) -> Result<(), ShutdownError> {
        let first = self.state().position(phase)?;
        self.run_phases_from(first, reason.into()).await
    }

    async fn run_phases_from(&self, first: usize, reason: ShutdownReason) -> Result<(), ShutdownError> {
        if self.state().claim(&reason) {
            observe::shutdown_begins(&reason);
            self.state().leave_out_until(first);
            let system = self.system.clone();
            dispatch::start(self.system.core(), async move {
                let outcome = run_phases(&system, first).await;
                system.core().shutdown().finish(outcome);
            });
        }
        self.state().finished().await
    }

    /// Why the shutdown was run; `None` before it is.
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
    /// Takes the task back. Answers whether that was in time: `false` once its phase has begun.
    pub fn cancel(&self) -> bool {
        self.system.core().shutdown().cancel(self.id)
    }
}

/// What a shutdown task may give: nothing, or a `Result`.
pub trait TaskOutcome {
    /// The failure, if it is one.
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
