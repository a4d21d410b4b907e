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
//! Which phases there are, and their order, is decided in `phases`.

mod phases;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::actor::Actor;
use crate::actor_ref::TypedRef;
use crate::failure::Failure;
use crate::request::Request;
use crate::system::ActorSystem;
use crate::unwind::{contained_async, drop_quietly};
use crate::{dispatch, observe};

pub use phases::{InvalidPhases, Phase};
use phases::{OnFailure, Phases, Planned};

type Name = Cow<'static, str>;

/// How a system shuts down in phases. For [`ActorSystemBuilder::coordinated_shutdown`](crate::ActorSystemBuilder::coordinated_shutdown).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShutdownSettings {
    phases: Vec<Phase>,
    timeout: Duration,
    terminates_system: bool,
    run_by_terminate: bool,
}

impl ShutdownSettings {
    /// The predefined phases, of 5 s each unless they say otherwise. The last one ends the system, and
    /// [`ActorSystem::terminate`] runs them all.
    pub fn new() -> Self {
        Self {
            phases: Vec::new(),
            timeout: phases::DEFAULT_TIMEOUT,
            terminates_system: true,
            run_by_terminate: true,
        }
    }

    /// Adds a phase, or changes the one of this name: what `phase` says is added to what is known of it.
    #[must_use]
    pub fn phase(mut self, phase: Phase) -> Self {
        self.phases.push(phase);
        self
    }

    /// Sets how long the tasks of a phase may take that has no timeout of its own.
    #[must_use]
    pub fn phase_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Lets the last phase not end the system. Then [`terminate`](ActorSystem::terminate) must not run the phases
    /// either, see [`terminate_directly`](Self::terminate_directly).
    #[must_use]
    pub fn leave_system_running(mut self) -> Self {
        self.terminates_system = false;
        self
    }

    /// Lets [`ActorSystem::terminate`] end the system without running the phases.
    #[must_use]
    pub fn terminate_directly(mut self) -> Self {
        self.run_by_terminate = false;
        self
    }
}

impl Default for ShutdownSettings {
    fn default() -> Self {
        Self::new()
    }
}

/// Why settings of a coordinated shutdown make no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidShutdown {
    /// The phases have no order.
    #[error(transparent)]
    Phases(#[from] InvalidPhases),
    /// `terminate` would run phases that do not terminate.
    #[error(
        "`terminate` would run a coordinated shutdown that leaves the system running: add `terminate_directly()` to \
         the settings, or leave out `leave_system_running()`"
    )]
    TerminatesNothing,
}

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
        let run = Box::pin(async move { task.await.into_result() });
        let (phase, id) = self.state().add(phase, Task { name: name.into(), run })?;
        Ok(ShutdownTask { system: self.system.clone(), phase, id })
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
        if self.state().claim(first, &reason) {
            observe::shutdown_begins(&reason);
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
        match &self.state().lock().run {
            Run::For(reason) => Some(reason.clone()),
            Run::NotYet | Run::Never => None,
        }
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
    phase: usize,
    id: u64,
}

impl ShutdownTask {
    /// Takes the task back. Answers whether that was in time: `false` once its phase has begun.
    pub fn cancel(&self) -> bool {
        self.system.core().shutdown().cancel(self.phase, self.id)
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

// ---- running ----------------------------------------------------------------------------------------------------

async fn run_phases(system: &ActorSystem, first: usize) -> Result<(), ShutdownError> {
    let state = system.core().shutdown();
    for (position, phase) in state.phases.iter().enumerate().skip(first) {
        let tasks = state.begin_phase(position);
        if !phase.enabled {
            drop_quietly(tasks);
            continue;
        }
        let mut jobs: Vec<Task> = tasks.into_values().collect();
        if phase.name == Phase::ACTOR_SYSTEM_TERMINATE && state.terminates_system {
            jobs.push(terminate(system.clone()));
        }
        if !jobs.is_empty() {
            run_phase(phase, jobs).await?;
        }
    }
    Ok(())
}

/// What the last phase does of its own.
fn terminate(system: ActorSystem) -> Task {
    let run = Box::pin(async move {
        system.user_guardian().stop();
        system.when_terminated().await
    });
    Task { name: Cow::Borrowed("stop all actors"), run }
}

/// Runs the tasks of one phase side by side. A failure does not cut the others short.
async fn run_phase(phase: &Planned, tasks: Vec<Task>) -> Result<(), ShutdownError> {
    let mut waiting: BTreeMap<usize, Name> = BTreeMap::new();
    let mut running = JoinSet::new();
    for (at, Task { name, run }) in tasks.into_iter().enumerate() {
        waiting.insert(at, name);
        running.spawn(async move { (at, contained_async(run).await) });
    }
    let mut aborted = None;
    let all_done = async {
        while let Some(joined) = running.join_next().await {
            let Ok((at, outcome)) = joined else {
                // Panics are contained: the runtime goes away.
                continue;
            };
            let task = waiting.remove(&at).unwrap_or_default();
            if let Err(failure) = outcome.unwrap_or_else(|payload| Err(Failure::panic(payload))) {
                observe::shutdown_task_failed(&phase.name, &task, &failure);
                aborted.get_or_insert(ShutdownError::TaskFailed {
                    phase: phase.name.to_string(),
                    task: task.into_owned(),
                    failure,
                });
            }
        }
    };
    if tokio::time::timeout(phase.timeout, all_done).await.is_err() {
        // What still runs is dropped with `running`.
        let tasks: Vec<String> = waiting.into_values().map(Cow::into_owned).collect();
        observe::shutdown_phase_timed_out(&phase.name, phase.timeout, &tasks);
        aborted.get_or_insert(ShutdownError::TimedOut {
            phase: phase.name.to_string(),
            timeout: phase.timeout,
            tasks,
        });
    }
    match (aborted, phase.on_failure) {
        (Some(error), OnFailure::Abort) => Err(error),
        (_, OnFailure::Abort | OnFailure::GoOn) => Ok(()),
    }
}

// ---- the state ---------------------------------------------------------------------------------------------------

/// The coordinated shutdown of one system.
pub(crate) struct ShutdownState {
    phases: Phases,
    terminates_system: bool,
    run_by_terminate: bool,
    progress: Mutex<Progress>,
    /// `None` until all phases have run, or none will.
    finished: watch::Sender<Option<Result<(), ShutdownError>>>,
}

struct Progress {
    run: Run,
    /// By phase, in order; those of phases that have begun are gone.
    tasks: Vec<BTreeMap<u64, Task>>,
    /// How many phases have begun, or are left out.
    begun: usize,
    next_task: u64,
}

enum Run {
    NotYet,
    For(ShutdownReason),
    /// The system ended without it.
    Never,
}

struct Task {
    name: Name,
    run: Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>,
}

impl ShutdownState {
    pub(crate) fn new(settings: ShutdownSettings) -> Result<Self, InvalidShutdown> {
        let ShutdownSettings { phases, timeout, terminates_system, run_by_terminate } = settings;
        if run_by_terminate && !terminates_system {
            return Err(InvalidShutdown::TerminatesNothing);
        }
        let phases = Phases::plan(phases, timeout)?;
        let tasks = phases.iter().map(|_| BTreeMap::new()).collect();
        let progress = Progress { run: Run::NotYet, tasks, begun: 0, next_task: 0 };
        Ok(Self {
            phases,
            terminates_system,
            run_by_terminate,
            progress: Mutex::new(progress),
            finished: watch::Sender::new(None),
        })
    }

    fn position(&self, phase: &str) -> Result<usize, UnknownPhase> {
        self.phases.position(phase).ok_or_else(|| UnknownPhase {
            phase: phase.to_owned(),
            known: self.phases.iter().map(|phase| phase.name.to_string()).collect(),
        })
    }

    fn add(&self, phase: &str, task: Task) -> Result<(usize, u64), AddTaskError> {
        let position = self.position(phase)?;
        let mut progress = self.lock();
        if position < progress.begun {
            drop(progress);
            return Err(AddTaskError::TooLate { phase: phase.to_owned() });
        }
        let id = progress.next_task;
        progress.next_task += 1;
        progress.tasks[position].insert(id, task);
        Ok((position, id))
    }

    fn cancel(&self, phase: usize, id: u64) -> bool {
        let task = self.lock().tasks[phase].remove(&id);
        let in_time = task.is_some();
        drop_quietly(task);
        in_time
    }

    /// Answers whether the caller is the one who runs it, from the phase `first` on. Invariant 1.
    #[must_use]
    fn claim(&self, first: usize, reason: &ShutdownReason) -> bool {
        let mut progress = self.lock();
        if !matches!(progress.run, Run::NotYet) {
            return false;
        }
        progress.run = Run::For(reason.clone());
        let left_out = progress.begin_until(first);
        drop(progress);
        drop_quietly(left_out);
        true
    }

    /// Whether [`ActorSystem::terminate`] has phases to run, or to wait for. Where nobody ever added a task there are
    /// none: they are over at once.
    #[must_use]
    pub(crate) fn concerns_terminate(&self) -> bool {
        if !self.run_by_terminate {
            return false;
        }
        let mut progress = self.lock();
        match progress.run {
            Run::NotYet if progress.tasks.iter().all(BTreeMap::is_empty) => {
                progress.run = Run::For(ShutdownReason::Terminate);
                drop(progress);
                self.finish(Ok(()));
                false
            }
            Run::NotYet => true,
            Run::For(_) | Run::Never => {
                drop(progress);
                self.finished.borrow().is_none()
            }
        }
    }

    /// The tasks of a phase that begins now. No further one is taken.
    #[must_use]
    fn begin_phase(&self, position: usize) -> BTreeMap<u64, Task> {
        let mut progress = self.lock();
        progress.begun = position + 1;
        std::mem::take(&mut progress.tasks[position])
    }

    /// The system has ended. If it did so without a shutdown, there will be none.
    pub(crate) fn system_ended(&self) {
        let mut progress = self.lock();
        if matches!(progress.run, Run::NotYet) {
            progress.run = Run::Never;
            drop(progress);
            self.finish(Ok(()));
        }
    }

    /// No phase will begin any more.
    fn finish(&self, outcome: Result<(), ShutdownError>) {
        let never_run = self.lock().begin_until(self.phases.iter().len());
        drop_quietly(never_run);
        self.finished.send_replace(Some(outcome));
    }

    async fn finished(&self) -> Result<(), ShutdownError> {
        match self.finished.subscribe().wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or(Ok(())),
            Err(_) => unreachable!("the sender lives as long as this state"),
        }
    }

    /// Held for a line or two, never around a task.
    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress {
    /// Gives the tasks of the phases before this one, which will not run.
    #[must_use]
    fn begin_until(&mut self, position: usize) -> Vec<BTreeMap<u64, Task>> {
        self.begun = position;
        self.tasks[..position].iter_mut().map(std::mem::take).collect()
    }
}
