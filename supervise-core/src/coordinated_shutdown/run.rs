//! Performing a coordinated shutdown: the tasks of one phase side by side, one phase after another.

use std::borrow::Cow;
use std::collections::BTreeMap;

use tokio::task::JoinSet;

use super::phases::{OnFailure, Planned};
use super::state::Task;
use super::{Name, Phase, ShutdownError};
use crate::failure::Failure;
use crate::observe;
use crate::system::ActorSystem;
use crate::unwind::{contained_async, drop_quietly};

pub(super) async fn run_phases(system: &ActorSystem, first: usize) -> Result<(), ShutdownError> {
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
