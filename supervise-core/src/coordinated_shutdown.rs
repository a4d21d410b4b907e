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

mod phases;
mod progress;
mod run;
mod settings;
mod state;

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::time::Duration;

use crate::actor::Actor;
use crate::actor_ref::TypedRef;
use crate::failure::Failure;
use crate::request::Request;
use crate::system::ActorSystem;
use crate::unwind::UserValue;
use crate::{dispatch, observe};

pub use phases::{InvalidPhases, Phase};
use run::run_phases;
pub use settings::{InvalidShutdown, ShutdownSettings};
pub(crate) use state::ShutdownState;
use state::Task;

type Name = Cow<'static, str>;

/// Why a system shuts down.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShutdownReason {
    /// [`ActorSystem::terminate`] was called.
    Terminate,
    /// The process got this signal.
    Signal(&'static str),
    /// Something else.
    Other(Cow<'static, str>),
}

impl From<&'static str> for ShutdownReason {
    fn from(reason: &'static str) -> Self {
        Self::Other(Cow::Borrowed(reason))
    }
}

impl From<String> for ShutdownReason {
    fn from(reason: String) -> Self {
        Self::Other(Cow::Owned(reason))
    }
}

impl fmt::Display for ShutdownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Terminate => f.write_str("the actor system terminates"),
            Self::Signal(signal) => write!(f, "the process got {signal}"),
            Self::Other(reason) => f.write_str(reason),
        }
    }
}

impl ActorSystem {
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

/// There is no shutdown phase of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no shutdown phase `{phase}`; there are: {}", known.join(", "))]
pub struct UnknownPhase {
    /// The name.
    pub phase: String,
    /// The phases there are.
    pub known: Vec<String>,
}

/// Why a task could not be added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddTaskError {
    /// There is no such phase.
    #[error(transparent)]
    UnknownPhase(#[from] UnknownPhase),
    /// The phase has begun, is over, or never runs because the system ended without it.
    #[error("the shutdown phase `{phase}` has begun and takes no more tasks")]
    TooLate {
        /// The phase.
        phase: String,
    },
}

/// Why a coordinated shutdown did not come to its end.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ShutdownError {
    /// There is no phase to begin with.
    #[error(transparent)]
    UnknownPhase(#[from] UnknownPhase),
    /// A task failed in a phase that aborts on failure.
    #[error("the coordinated shutdown was aborted in `{phase}`: the task `{task}` failed: {failure}")]
    TaskFailed {
        /// The phase.
        phase: String,
        /// The task.
        task: String,
        /// Why it failed.
        #[source]
        failure: Failure,
    },
    /// The tasks of a phase that aborts on failure took too long.
    #[error("the coordinated shutdown was aborted in `{phase}`: not done after {timeout:?}: {}", tasks.join(", "))]
    TimedOut {
        /// The phase.
        phase: String,
        /// How long it had.
        timeout: Duration,
        /// The tasks that were not done.
        tasks: Vec<String>,
    },
}
