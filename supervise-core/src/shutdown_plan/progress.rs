//! The progress of a coordinated shutdown, and the tasks that wait for it. Pure: no lock, no clock, and no task is
//! polled here.

use super::ShutdownReason;

/// The progress of one shutdown, whose phases are counted from zero.
#[derive(Debug)]
pub(super) struct Progress<T> {
    run: Option<Run>,
    /// How many phases have begun or are skipped.
    begun: usize,
    /// Tasks of later phases, by id: in the order in which they were added.
    waiting: Vec<Waiting<T>>,
    next_id: u64,
}

/// The fate of a shutdown.
#[derive(Debug)]
pub(super) enum Run {
    For(ShutdownReason),
    /// The system ended without it.
    Never,
}

#[derive(Debug)]
struct Waiting<T> {
    id: u64,
    phase: usize,
    task: T,
}

impl<T> Progress<T> {
    pub(super) fn new() -> Self {
        Self { run: None, begun: 0, waiting: Vec::new(), next_id: 0 }
    }

    pub(super) fn reason(&self) -> Option<&ShutdownReason> {
        match &self.run {
            Some(Run::For(reason)) => Some(reason),
            Some(Run::Never) | None => None,
        }
    }

    /// Sets the fate of the shutdown, once. Returns whether this was the first call. Invariant 1.
    #[must_use]
    pub(super) fn claim(&mut self, run: Run) -> bool {
        let first = self.run.is_none();
        self.run.get_or_insert(run);
        first
    }

    /// Like [`claim`](Self::claim), unless there are tasks to run.
    #[must_use]
    pub(super) fn claim_idle(&mut self, run: Run) -> bool {
        self.waiting.is_empty() && self.claim(run)
    }

    /// Adds a task to a phase and returns its id, or returns the task if the phase has begun.
    pub(super) fn add(&mut self, phase: usize, task: T) -> Result<u64, T> {
        if phase < self.begun {
            return Err(task);
        }
        let id = self.next_id;
        self.next_id += 1;
        self.waiting.push(Waiting { id, phase, task });
        Ok(id)
    }

    /// Removes a task whose phase has not begun.
    pub(super) fn cancel(&mut self, id: u64) -> Option<T> {
        let at = self.waiting.binary_search_by_key(&id, |waiting| waiting.id).ok()?;
        Some(self.waiting.remove(at).task)
    }

    /// Sets how many phases have begun, and returns their tasks. Invariant 2.
    #[must_use]
    pub(super) fn begin(&mut self, phases: usize) -> Vec<T> {
        self.begun = phases;
        self.waiting.extract_if(.., |waiting| waiting.phase < phases).map(|waiting| waiting.task).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_that_begins_gives_its_tasks_in_order_and_takes_no_more() {
        let mut progress = Progress::new();
        for (phase, task) in [(1, "b1"), (0, "a1"), (2, "c1"), (1, "b2"), (0, "a2")] {
            progress.add(phase, task).unwrap();
        }
        assert_eq!(progress.begin(1), ["a1", "a2"]);
        assert_eq!(progress.add(0, "late"), Err("late"));
        progress.add(1, "b3").unwrap();
        assert_eq!(progress.begin(2), ["b1", "b2", "b3"]);
        assert_eq!(progress.begin(3), ["c1"]);
    }

    #[test]
    fn a_task_is_taken_back_until_its_phase_begins() {
        let mut progress = Progress::new();
        let ids = [(1, 'x'), (0, 'y'), (1, 'z')].map(|(phase, task)| progress.add(phase, task).unwrap());
        assert_eq!(progress.begin(1), ['y']);
        assert_eq!(progress.cancel(ids[1]), None);
        assert_eq!(progress.cancel(ids[2]), Some('z'));
        assert_eq!(progress.cancel(ids[2]), None);
        assert_eq!(progress.begin(2), ['x']);
    }

    #[test]
    fn the_first_claim_stays() {
        let mut progress = Progress::new();
        progress.add(0, ()).unwrap();
        assert!(!progress.claim_idle(Run::Never));
        assert_eq!(progress.reason(), None);
        assert!(progress.claim(Run::For("first".into())));
        assert!(!progress.claim(Run::Never));
        assert_eq!(progress.reason(), Some(&"first".into()));
    }

    #[test]
    fn without_tasks_an_idle_claim_is_a_claim() {
        let mut progress = Progress::<()>::new();
        assert!(progress.claim_idle(Run::Never));
        assert!(!progress.claim_idle(Run::For("late".into())));
        assert_eq!(progress.reason(), None);
    }
}
