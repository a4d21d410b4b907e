//! Measures time and memory, and combines the results of several runs.

use std::time::{Duration, Instant};

/// Times operations that can be repeated: the first round warms up and does not count, the others go on until the
/// budget is used up.
#[derive(Debug)]
pub struct Stopwatch {
    budget: Duration,
    /// `None` before the warm-up.
    began: Option<Instant>,
    paused: Option<Instant>,
    operations_before: u64,
    operations: u64,
    elapsed: Duration,
}

impl Stopwatch {
    pub fn new(budget: Duration) -> Self {
        Self { budget, began: None, paused: None, operations_before: 0, operations: 0, elapsed: Duration::ZERO }
    }

    /// Whether another round is due. Asked before each.
    pub fn goes_on(&mut self) -> bool {
        match self.began {
            None => {
                self.began = Some(Instant::now());
                true
            }
            Some(_) if self.operations_before == 0 => {
                self.operations_before = self.operations;
                self.began = Some(Instant::now());
                true
            }
            Some(_) => self.elapsed < self.budget,
        }
    }

    /// Says at the end of a round how many operations there were, the earlier rounds' included.
    pub fn count_to(&mut self, operations: u64) {
        self.operations = operations;
        self.elapsed = self.began.map_or(Duration::ZERO, |began| began.elapsed());
    }

    /// What happens until [`resume`](Self::resume) does not count.
    pub fn pause(&mut self) {
        self.paused = Some(Instant::now());
    }

    pub fn resume(&mut self) {
        if let (Some(began), Some(paused)) = (&mut self.began, self.paused.take()) {
            *began += paused.elapsed();
        }
    }

    pub fn nanoseconds_per_operation(&self) -> f64 {
        nanoseconds_per(self.elapsed, self.operations - self.operations_before)
    }
}

pub fn nanoseconds_per(elapsed: Duration, operations: u64) -> f64 {
    elapsed.as_nanos() as f64 / operations as f64
}

/// How much memory of this process is resident. Linux only.
pub fn resident_bytes() -> u64 {
    const PAGE: u64 = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("its second number is the resident pages") * PAGE
}

/// Several runs of the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

impl Summary {
    /// `None` of no runs.
    pub fn of(mut runs: Vec<f64>) -> Option<Self> {
        runs.sort_by(f64::total_cmp);
        let (&min, &max) = (runs.first()?, runs.last()?);
        let middle = runs.len() / 2;
        let median =
            if runs.len() % 2 == 1 { runs[middle] } else { f64::midpoint(runs[middle - 1], runs[middle]) };
        Some(Self { median, min, max })
    }
}

/// The value that `share` of the sorted samples do not exceed.
pub fn percentile(sorted: &[Duration], share: f64) -> Duration {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length is an index")]
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted[rank.saturating_sub(1)]
}
