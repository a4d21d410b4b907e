//! The phases of a coordinated shutdown, and the order in which they run. Pure: no tasks, no clock.
//!
//! ```text
//!   before-service-unbind ► service-unbind ► service-requests-done ► service-stop
//!     ► before-cluster-shutdown ► cluster-sharding-shutdown-region ► cluster-leave
//!     ► cluster-exiting ► cluster-exiting-done ► cluster-shutdown
//!     ► before-actor-system-terminate ► actor-system-terminate
//! ```
//!
//! A user's own phase runs as soon as the phases that it comes after are over. If it and a predefined phase could both
//! run next, the user's phase runs first.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::time::Duration;

type Name = Cow<'static, str>;

/// How long the tasks of a phase may take, unless the phase has its own timeout.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// One step of a coordinated shutdown. Its tasks run concurrently, and end before the next phase begins.
///
/// The predefined phases form one chain, in the order of the constants here. A phase given to
/// [`ShutdownSettings::phase`](super::ShutdownSettings::phase) under one of their names changes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    name: Name,
    after: Vec<Name>,
    before: Vec<Name>,
    timeout: Option<Duration>,
    on_failure: OnFailure,
    enabled: bool,
}

/// What a failed task or a timeout does to the shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnFailure {
    GoOn,
    Abort,
}

impl Phase {
    /// Before services stop taking new connections.
    pub const BEFORE_SERVICE_UNBIND: &'static str = "before-service-unbind";
    /// Services stop taking new connections.
    pub const SERVICE_UNBIND: &'static str = "service-unbind";
    /// Requests in progress are completed.
    pub const SERVICE_REQUESTS_DONE: &'static str = "service-requests-done";
    /// Connections that are still open are closed.
    pub const SERVICE_STOP: &'static str = "service-stop";
    /// Before this node leaves the cluster.
    pub const BEFORE_CLUSTER_SHUTDOWN: &'static str = "before-cluster-shutdown";
    /// This node hands over the shards that it owns.
    pub const CLUSTER_SHARDING_SHUTDOWN_REGION: &'static str = "cluster-sharding-shutdown-region";
    /// This node announces that it leaves.
    pub const CLUSTER_LEAVE: &'static str = "cluster-leave";
    /// The other nodes know that it leaves.
    pub const CLUSTER_EXITING: &'static str = "cluster-exiting";
    /// The other nodes have removed it.
    pub const CLUSTER_EXITING_DONE: &'static str = "cluster-exiting-done";
    /// This node closes its connections to the cluster.
    pub const CLUSTER_SHUTDOWN: &'static str = "cluster-shutdown";
    /// The last phase in which all actors run.
    pub const BEFORE_ACTOR_SYSTEM_TERMINATE: &'static str = "before-actor-system-terminate";
    /// The actor system ends.
    pub const ACTOR_SYSTEM_TERMINATE: &'static str = "actor-system-terminate";

    /// Makes a phase that runs as early as its dependencies allow. If a task fails or the phase times out, this is
    /// logged and the shutdown continues.
    pub fn new(name: impl Into<Name>) -> Self {
        Self {
            name: name.into(),
            after: Vec::new(),
            before: Vec::new(),
            timeout: None,
            on_failure: OnFailure::GoOn,
            enabled: true,
        }
    }

    /// Makes this phase begin after `phase` is over.
    #[must_use]
    pub fn after(mut self, phase: impl Into<Name>) -> Self {
        self.after.push(phase.into());
        self
    }

    /// Makes `phase` begin after this phase is over.
    #[must_use]
    pub fn before(mut self, phase: impl Into<Name>) -> Self {
        self.before.push(phase.into());
        self
    }

    /// Sets how long its tasks may take. Tasks that have not finished by then are dropped at their await points.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Makes a failed task or a timeout abort the shutdown: no later phase runs.
    #[must_use]
    pub fn abort_on_failure(mut self) -> Self {
        self.on_failure = OnFailure::Abort;
        self
    }

    /// Skips the phase: its tasks do not run. This is logged.
    #[must_use]
    pub fn skip(mut self) -> Self {
        self.enabled = false;
        self
    }

    /// Adds the settings of `other`, a phase of the same name.
    fn merge(&mut self, other: Self) {
        self.after.extend(other.after);
        self.before.extend(other.before);
        self.timeout = other.timeout.or(self.timeout);
        self.enabled &= other.enabled;
        if other.on_failure == OnFailure::Abort {
            self.on_failure = OnFailure::Abort;
        }
    }
}

/// Why the phases cannot be ordered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidPhases {
    /// Phases wait for each other.
    Cycle(
        /// The cycle: each phase comes after the next one, and the first phase is repeated at the end.
        Vec<String>,
    ),
    /// A phase comes before or after one that does not exist.
    Unknown {
        /// The phase.
        phase: String,
        /// The name that is not a phase.
        unknown: String,
        /// The phases there are.
        known: Vec<String>,
    },
}

impl fmt::Display for InvalidPhases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cycle(phases) => {
                write!(f, "the shutdown phases wait for each other: {}", phases.join(" after "))
            }
            Self::Unknown { phase, unknown, known } => write!(
                f,
                "the shutdown phase `{phase}` names `{unknown}`, which is not a phase; the phases are: {}",
                known.join(", ")
            ),
        }
    }
}

impl Error for InvalidPhases {}

/// The phases in the order in which they run.
#[derive(Debug, Clone)]
pub(crate) struct Phases(Vec<Planned>);

/// A phase at its place in the order.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    pub(crate) name: Name,
    pub(crate) timeout: Duration,
    pub(crate) on_failure: OnFailure,
    pub(crate) enabled: bool,
}

impl Phases {
    /// The predefined phases with what `own` adds and changes.
    pub(super) fn plan(own: Vec<Phase>, timeout: Duration) -> Result<Self, InvalidPhases> {
        let mut predefined = predefined();
        let mut phases: Vec<Phase> = Vec::new();
        for phase in own {
            match phases.iter_mut().chain(&mut predefined).find(|known| known.name == phase.name) {
                Some(known) => known.merge(phase),
                None => phases.push(phase),
            }
        }
        phases.extend(predefined);
        let order = order(&phases)?;
        let planned = order.into_iter().map(|at| {
            let Phase { name, timeout: own, on_failure, enabled, .. } = &phases[at];
            Planned {
                name: name.clone(),
                timeout: own.unwrap_or(timeout),
                on_failure: *on_failure,
                enabled: *enabled,
            }
        });
        Ok(Self(planned.collect()))
    }

    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|phase| phase.name == name)
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Planned> {
        self.0.iter()
    }
}

fn predefined() -> Vec<Phase> {
    let longer = Duration::from_secs(10);
    let chain = [
        Phase::new(Phase::BEFORE_SERVICE_UNBIND),
        Phase::new(Phase::SERVICE_UNBIND),
        Phase::new(Phase::SERVICE_REQUESTS_DONE),
        Phase::new(Phase::SERVICE_STOP),
        Phase::new(Phase::BEFORE_CLUSTER_SHUTDOWN),
        Phase::new(Phase::CLUSTER_SHARDING_SHUTDOWN_REGION).timeout(longer),
        Phase::new(Phase::CLUSTER_LEAVE),
        Phase::new(Phase::CLUSTER_EXITING).timeout(longer),
        Phase::new(Phase::CLUSTER_EXITING_DONE),
        Phase::new(Phase::CLUSTER_SHUTDOWN),
        Phase::new(Phase::BEFORE_ACTOR_SYSTEM_TERMINATE),
        Phase::new(Phase::ACTOR_SYSTEM_TERMINATE).timeout(longer),
    ];
    let mut phases: Vec<Phase> = Vec::with_capacity(chain.len());
    for mut phase in chain {
        phase.after.extend(phases.last().map(|earlier| earlier.name.clone()));
        phases.push(phase);
    }
    phases
}

/// The positions of the phases in an order in which each comes after those it waits for. If several phases could
/// come next, the one that was declared first does.
fn order(phases: &[Phase]) -> Result<Vec<usize>, InvalidPhases> {
    let waits_for = dependencies(phases)?;
    let mut order = Vec::with_capacity(phases.len());
    let mut placed = vec![false; phases.len()];
    while order.len() < phases.len() {
        let ready = |at: &usize| !placed[*at] && waits_for[*at].iter().all(|earlier| placed[*earlier]);
        match (0..phases.len()).find(ready) {
            Some(next) => {
                placed[next] = true;
                order.push(next);
            }
            None => return Err(cycle(phases, &waits_for, &placed)),
        }
    }
    Ok(order)
}

/// For each phase the positions of those it comes after.
fn dependencies(phases: &[Phase]) -> Result<Vec<Vec<usize>>, InvalidPhases> {
    let position = |phase: &Phase, name: &Name| {
        phases.iter().position(|known| known.name == *name).ok_or_else(|| InvalidPhases::Unknown {
            phase: phase.name.to_string(),
            unknown: name.to_string(),
            known: phases.iter().map(|known| known.name.to_string()).collect(),
        })
    };
    let mut waits_for = vec![Vec::new(); phases.len()];
    for (at, phase) in phases.iter().enumerate() {
        for earlier in &phase.after {
            waits_for[at].push(position(phase, earlier)?);
        }
        for later in &phase.before {
            waits_for[position(phase, later)?].push(at);
        }
    }
    Ok(waits_for)
}

/// One of the cycles that keep the unplaced phases from being placed.
fn cycle(phases: &[Phase], waits_for: &[Vec<usize>], placed: &[bool]) -> InvalidPhases {
    let mut trail = Vec::new();
    let mut next = placed.iter().position(|placed| !placed);
    while let Some(at) = next {
        if let Some(begin) = trail.iter().position(|seen| *seen == at) {
            trail.drain(..begin);
            trail.push(at);
            break;
        }
        trail.push(at);
        // What is unplaced waits for something unplaced, so the trail ends in a cycle.
        next = waits_for[at].iter().copied().find(|earlier| !placed[*earlier]);
    }
    InvalidPhases::Cycle(trail.into_iter().map(|at| phases[at].name.to_string()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order_of(own: Vec<Phase>) -> Result<Vec<String>, InvalidPhases> {
        let phases = Phases::plan(own, DEFAULT_TIMEOUT)?;
        Ok(phases.iter().map(|phase| phase.name.to_string()).collect())
    }

    #[test]
    fn a_phase_runs_as_soon_as_it_may() {
        let order = order_of(vec![
            Phase::new("flush").after(Phase::SERVICE_STOP),
            Phase::new("drain").after(Phase::SERVICE_UNBIND).before(Phase::SERVICE_REQUESTS_DONE),
            Phase::new("last").after(Phase::ACTOR_SYSTEM_TERMINATE),
            Phase::new("first"),
        ])
        .unwrap();
        let at = |name: &str| order.iter().position(|phase| phase == name).unwrap();
        assert_eq!(at("first"), 0);
        assert_eq!(order[at(Phase::SERVICE_UNBIND) + 1], "drain");
        assert_eq!(order[at(Phase::SERVICE_STOP) + 1], "flush");
        assert_eq!(order.last().unwrap(), "last");
    }

    #[test]
    fn a_phase_of_a_known_name_changes_it() {
        let own = vec![
            Phase::new(Phase::SERVICE_STOP).timeout(Duration::from_secs(60)),
            Phase::new(Phase::SERVICE_STOP).abort_on_failure(),
            Phase::new(Phase::CLUSTER_LEAVE).skip(),
        ];
        let phases = Phases::plan(own, Duration::from_secs(1)).unwrap();
        assert_eq!(phases.iter().len(), 12);
        let phase = |name: &str| phases.iter().find(|phase| phase.name == name).unwrap();
        assert_eq!(phase(Phase::SERVICE_STOP).timeout, Duration::from_secs(60));
        assert_eq!(phase(Phase::SERVICE_STOP).on_failure, OnFailure::Abort);
        assert_eq!(phase(Phase::SERVICE_UNBIND).timeout, Duration::from_secs(1));
        assert!(!phase(Phase::CLUSTER_LEAVE).enabled);
    }

    #[test]
    fn a_mistake_is_named() {
        let cycle =
            order_of(vec![Phase::new("a").after("c"), Phase::new("b").after("a"), Phase::new("c").after("b")]);
        assert_eq!(
            cycle.unwrap_err().to_string(),
            "the shutdown phases wait for each other: a after c after b after a"
        );
        let unknown = order_of(vec![Phase::new("a").after("servce-stop")]).unwrap_err().to_string();
        assert!(unknown.contains("`a` names `servce-stop`") && unknown.contains("service-stop"), "{unknown}");
    }
}
