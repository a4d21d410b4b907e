//! How far the coordinated shutdown of a system is, and what it waits for.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::phases::Phases;
use super::{AddTaskError, InvalidShutdown, Name, ShutdownError, ShutdownReason, ShutdownSettings, UnknownPhase};
use crate::failure::Failure;
use crate::unwind::drop_quietly;

/// The coordinated shutdown of one system.
pub(crate) struct ShutdownState {
    pub(super) phases: Phases,
    pub(super) terminates_system: bool,
    run_by_terminate: bool,
    progress: Mutex<Progress>,
    /// `None` until all phases have run, or none will.
    finished: watch::Sender<Option<Result<(), ShutdownError>>>,
}

pub(super) struct Progress {
    pub(super) run: Run,
    /// By phase, in order; those of phases that have begun are gone.
    tasks: Vec<BTreeMap<u64, Task>>,
    /// How many phases have begun, or are left out.
    begun: usize,
    next_task: u64,
}

pub(super) enum Run {
    NotYet,
    For(ShutdownReason),
    /// The system ended without it.
    Never,
}

pub(super) struct Task {
    pub(super) name: Name,
    pub(super) run: Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>,
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

    pub(super) fn position(&self, phase: &str) -> Result<usize, UnknownPhase> {
        self.phases.position(phase).ok_or_else(|| UnknownPhase {
            phase: phase.to_owned(),
            known: self.phases.iter().map(|phase| phase.name.to_string()).collect(),
        })
    }

    pub(super) fn add(&self, phase: &str, task: Task) -> Result<(usize, u64), AddTaskError> {
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

    pub(super) fn cancel(&self, phase: usize, id: u64) -> bool {
        let task = self.lock().tasks[phase].remove(&id);
        let in_time = task.is_some();
        drop_quietly(task);
        in_time
    }

    /// Answers whether the caller is the one who runs it, from the phase `first` on. Invariant 1.
    #[must_use]
    pub(super) fn claim(&self, first: usize, reason: &ShutdownReason) -> bool {
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
    pub(super) fn begin_phase(&self, position: usize) -> BTreeMap<u64, Task> {
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
    pub(super) fn finish(&self, outcome: Result<(), ShutdownError>) {
        let never_run = self.lock().begin_until(self.phases.iter().len());
        drop_quietly(never_run);
        self.finished.send_replace(Some(outcome));
    }

    pub(super) async fn finished(&self) -> Result<(), ShutdownError> {
        match self.finished.subscribe().wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or(Ok(())),
            Err(_) => unreachable!("the sender lives as long as this state"),
        }
    }

    /// Held for a line or two, never around a task.
    pub(super) fn lock(&self) -> MutexGuard<'_, Progress> {
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
