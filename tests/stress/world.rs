//! State that outlives the nodes: what they keep outside themselves, their logs, and the channel to the
//! driver.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use supervise::AskError;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::injected::Injected;
use crate::node::NodeRef;
use crate::profile::Profile;

/// A node's place in the tree: the names from the head down.
pub(crate) type Place = Arc<str>;

/// What the driver is told.
#[derive(Debug)]
pub(crate) enum Report {
    /// A node has started.
    Ready(Place, NodeRef),
    /// A node has ended, and all below it.
    Died(Place),
    /// An ask came to an end.
    Pong(Place, NodeRef, Result<(), AskError>),
    HeadGone,
    Violation(Place, String),
}

/// The phase of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Stressing,
    /// Factories no longer fail.
    Finishing,
    /// Nodes are on their way to an orderly end.
    Dying,
}

/// Shared by all nodes of a run.
pub(crate) struct World {
    pub(crate) profile: Profile,
    pub(crate) count: Counts,
    /// Node instances that exist now.
    pub(crate) instances: AtomicUsize,
    phase: Mutex<Phase>,
    runtime: tokio::runtime::Id,
    reports: mpsc::UnboundedSender<Report>,
    kept: Mutex<HashMap<Place, Kept>>,
    began: Instant,
}

/// Counts of what happened.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) suffered: AtomicU64,
    pub(crate) restarts: AtomicU64,
    pub(crate) escalations: AtomicU64,
    pub(crate) replacements: AtomicU64,
    pub(crate) failed_hooks: AtomicU64,
    pub(crate) failed_factories: AtomicU64,
}

impl Counts {
    pub(crate) fn one(count: &AtomicU64) {
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// What is stored about a node.
#[derive(Default)]
pub(crate) struct Kept {
    /// Its children's names and sizes.
    pub(crate) kids: Vec<(String, usize)>,
    /// What its next factory call may fail with.
    pub(crate) pending: Option<Injected>,
    log: VecDeque<(Duration, String)>,
}

/// How much of a node's log is kept.
const LOG: usize = 40;

impl World {
    pub(crate) fn new(profile: Profile, reports: mpsc::UnboundedSender<Report>) -> Self {
        Self {
            profile,
            count: Counts::default(),
            instances: AtomicUsize::new(0),
            phase: Mutex::new(Phase::Stressing),
            runtime: Handle::current().id(),
            reports,
            kept: Mutex::default(),
            began: Instant::now(),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        *self.phase.lock().expect("no panic under this lock")
    }

    pub(crate) fn enter(&self, phase: Phase) {
        *self.phase.lock().expect("no panic under this lock") = phase;
    }

    pub(crate) fn report(&self, report: Report) {
        // A driver that found a violation no longer listens.
        let _heard = self.reports.send(report);
    }

    pub(crate) fn violation(&self, place: &Place, what: impl Into<String>) {
        self.report(Report::Violation(Arc::clone(place), what.into()));
    }

    /// Where actors run (I2).
    pub(crate) fn is_home(&self) -> bool {
        Handle::try_current().is_ok_and(|here| here.id() == self.runtime)
    }

    pub(crate) fn log(&self, place: &Place, what: impl Into<String>) {
        let at = self.began.elapsed();
        let mut kept = self.kept();
        let log = &mut kept.entry(Arc::clone(place)).or_default().log;
        if log.len() == LOG {
            log.pop_front();
        }
        log.push_back((at, what.into()));
    }

    /// Reads or changes what is stored about a node.
    pub(crate) fn of<T>(&self, place: &Place, look: impl FnOnce(&mut Kept) -> T) -> T {
        look(self.kept().entry(Arc::clone(place)).or_default())
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<Place, Kept>> {
        self.kept.lock().expect("no panic under this lock")
    }

    /// The logs of a node and of all above and below it, in order of time.
    pub(crate) fn story(&self, place: &str) -> String {
        let kept = self.kept();
        let related = |other: &str| is_within(other, place) || is_within(place, other);
        let mut lines: Vec<_> = kept
            .iter()
            .filter(|(other, _)| related(other))
            .flat_map(|(other, kept)| kept.log.iter().map(move |(at, what)| (*at, other, what)))
            .collect();
        lines.sort_by_key(|(at, ..)| *at);
        lines.iter().fold(String::new(), |mut story, (at, other, what)| {
            // Writing into a string cannot fail.
            let _ = writeln!(story, "{:>12.6} {other}: {what}", at.as_secs_f64());
            story
        })
    }
}

/// Whether `place` is `above` or below it.
pub(crate) fn is_within(place: &str, above: &str) -> bool {
    place.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
