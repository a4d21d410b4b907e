//! Performing a coordinated shutdown: the tasks of one phase side by side, one phase after another.

use std::borrow::Cow;

use tokio::task::JoinSet;

use crate::actor::ActorSystem;
use crate::base::{UserValue, contained_async};
use crate::failure::Failure;
use crate::inspect::StillStopping;
use crate::observe;
use crate::shutdown_plan::{Name, OnFailure, Phase, Planned, ShutdownError, Task};

pub(super) async fn run_phases(system: &ActorSystem, first: usize) -> Result<(), ShutdownError> {
    let state = system.core().shutdown();
    for (position, phase) in state.phases.iter().enumerate().skip(first) {
        let mut tasks = state.begin(position);
        if !phase.enabled {
            let names: Vec<&str> = tasks.iter().map(|task| &*task.name).collect();
            observe::shutdown_phase_skipped(&phase.name, &names);
            continue;
        }
        if phase.name == Phase::ACTOR_SYSTEM_TERMINATE && state.terminates_system {
            tasks.push(terminate(system.clone()));
        }
        if !tasks.is_empty() {
            run_phase(system, phase, tasks).await?;
        }
    }
    Ok(())
}

/// The built-in task of the last phase.
fn terminate(system: ActorSystem) -> Task {
    let run = UserValue::new(Box::pin(async move {
        system.stop_all();
        // If a failure ends the system meanwhile, `when_terminated` reports it. All actors are stopped in any case.
        let _how = system.when_terminated().await;
        Ok(())
    }) as _);
    Task { name: Cow::Borrowed("stop all actors"), run }
}

/// Runs the tasks of one phase concurrently. If one fails, the others still run to their end.
async fn run_phase(system: &ActorSystem, phase: &Planned, tasks: Vec<Task>) -> Result<(), ShutdownError> {
    // `None` for a task that has ended.
    let mut names: Vec<Option<Name>> = Vec::with_capacity(tasks.len());
    let mut running = JoinSet::new();
    for (at, Task { name, run }) in tasks.into_iter().enumerate() {
        names.push(Some(name));
        running.spawn(async move { (at, contained_async(run.into_inner()).await) });
    }
    let mut aborted = None;
    let all_done = async {
        while let Some(joined) = running.join_next().await {
            let Ok((at, outcome)) = joined else {
                // Panics are contained, so the runtime is being shut down.
                continue;
            };
            let task = names[at].take().unwrap_or_default();
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
        // Tasks that still run are dropped with `running`.
        let tasks: Vec<String> = names.into_iter().flatten().map(Cow::into_owned).collect();
        observe::shutdown_phase_timed_out(&phase.name, phase.timeout, &tasks);
        let running = StillStopping::of(system);
        if !running.is_empty() {
            observe::still_stopping(phase.timeout, &running);
        }
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
