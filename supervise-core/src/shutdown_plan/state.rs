//! The state of one system's coordinated shutdown, which its handles and its run share.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::phases::Phases;
use super::progress::{Progress, Run};
use super::{AddTaskError, InvalidShutdown, Name, ShutdownError, ShutdownReason, ShutdownSettings, UnknownPhase};
use crate::base::UserValue;
use crate::failure::Failure;

/// The coordinated shutdown of one system.
pub(crate) struct ShutdownState {
    pub(crate) phases: Phases,
    pub(crate) terminates_system: bool,
    run_by_terminate: bool,
    progress: Mutex<Progress<Task>>,
    /// All actors were told to stop, with or without phases before.
    stops_all: AtomicBool,
    /// `None` until all phases have run, or it is certain that no phase will run.
    finished: watch::Sender<Option<Result<(), ShutdownError>>>,
}

/// What a task does.
type Work = dyn Future<Output = Result<(), Failure>> + Send;

pub(crate) struct Task {
    pub(crate) name: Name,
    pub(crate) run: UserValue<Pin<Box<Work>>>,
}

impl ShutdownState {
    pub(crate) fn new(settings: ShutdownSettings) -> Result<Self, InvalidShutdown> {
        let ShutdownSettings { phases, timeout, terminates_system, run_by_terminate } = settings;
        if run_by_terminate && !terminates_system {
            return Err(InvalidShutdown::TerminatesNothing);
        }
        Ok(Self {
            phases: Phases::plan(phases, timeout)?,
            terminates_system,
            run_by_terminate,
            progress: Mutex::new(Progress::new()),
            stops_all: AtomicBool::new(false),
            finished: watch::Sender::new(None),
        })
    }

    pub(crate) fn position(&self, phase: &str) -> Result<usize, UnknownPhase> {
        self.phases.position(phase).ok_or_else(|| UnknownPhase {
            phase: phase.to_owned(),
            known: self.phases.iter().map(|phase| phase.name.to_string()).collect(),
        })
    }

    pub(crate) fn add(&self, phase: &str, task: Task) -> Result<u64, AddTaskError> {
        let position = self.position(phase)?;
        let added = self.lock().add(position, task);
        added.map_err(|_late| AddTaskError::TooLate { phase: phase.to_owned() })
    }

    pub(crate) fn cancel(&self, id: u64) -> bool {
        let task = self.lock().cancel(id);
        task.is_some()
    }

    pub(crate) fn reason(&self) -> Option<ShutdownReason> {
        self.lock().reason().cloned()
    }

    /// Returns whether the caller must run the shutdown.
    #[must_use]
    pub(crate) fn claim(&self, reason: &ShutdownReason) -> bool {
        self.lock().claim(Run::For(reason.clone()))
    }

    /// Whether [`ActorSystem::terminate`](crate::ActorSystem::terminate) has phases to run, or to wait for. If no task
    /// was ever added, there is nothing to run, and the phases are over at once.
    #[must_use]
    pub(crate) fn concerns_terminate(&self) -> bool {
        if !self.run_by_terminate {
            return false;
        }
        if self.lock().claim_idle(Run::For(ShutdownReason::Terminate)) {
            self.finish(Ok(()));
        }
        self.finished.borrow().is_none()
    }

    /// Whether this is the first call.
    pub(crate) fn begins_to_stop_all(&self) -> bool {
        !self.stops_all.swap(true, Ordering::Relaxed)
    }

    /// The tasks of a phase that begins now.
    #[must_use]
    pub(crate) fn begin(&self, position: usize) -> Vec<Task> {
        self.lock().begin(position + 1)
    }

    /// Marks the phases before this one as skipped.
    pub(crate) fn leave_out_until(&self, position: usize) {
        let never_run = self.lock().begin(position);
        drop(never_run);
    }

    /// The system has ended. If it ended without a shutdown, there will be no shutdown.
    pub(crate) fn system_ended(&self) {
        if self.lock().claim(Run::Never) {
            self.finish(Ok(()));
        }
    }

    /// No further phase will begin.
    pub(crate) fn finish(&self, outcome: Result<(), ShutdownError>) {
        self.leave_out_until(self.phases.iter().len());
        self.finished.send_replace(Some(outcome));
    }

    pub(crate) async fn finished(&self) -> Result<(), ShutdownError> {
        match self.finished.subscribe().wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or(Ok(())),
            Err(_) => unreachable!("the sender lives as long as this state"),
        }
    }

    /// The lock is held for a single operation, never while a task runs.
    fn lock(&self) -> MutexGuard<'_, Progress<Task>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
