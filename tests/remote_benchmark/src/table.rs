//! The rows, their goals, and the table.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use crate::side::Side;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Row {
    Ask,
    Asks,
    Tell,
    Kill,
    Stop,
    Instructions,
}

const ROWS: [Row; 6] = [Row::Ask, Row::Asks, Row::Tell, Row::Kill, Row::Stop, Row::Instructions];

impl Row {
    /// Its command, and its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Asks => "asks",
            Self::Tell => "tell",
            Self::Kill => "kill",
            Self::Stop => "stop",
            Self::Instructions => "instructions",
        }
    }

    /// How often it happens in one cell.
    pub(crate) fn count(self) -> u64 {
        match self {
            Self::Ask => 4_000,
            Self::Asks => 400,
            Self::Tell => 200_000,
            Self::Kill | Self::Stop | Self::Instructions => 1,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Ask => "ask, one asker, median",
            Self::Asks => "ask, 64 askers, each",
            Self::Tell => "tell a number, until the last is handled, each",
            Self::Kill => "SIGKILL until the watcher is told",
            Self::Stop => "SIGSTOP until the watcher is told",
            Self::Instructions => "a told number, both processes, instructions",
        }
    }

    fn shown(self, value: f64) -> String {
        match self {
            Self::Instructions => format!("{value:.0}"),
            _ if value >= 1e9 => format!("{:.2} s", value / 1e9),
            _ if value >= 1e6 => format!("{:.1} ms", value / 1e6),
            _ => format!("{:.2} µs", value / 1e3),
        }
    }
}

/// What a number of `supervise` should be at most.
struct Goal {
    row: Row,
    /// The side whose number is the measure, or nothing: then the limit is a number.
    of: Option<&'static str>,
    limit: f64,
}

/// The goal for the instructions of a told number, both nodes, without engine and codec.
const TOLD: f64 = 1000.0;

const GOALS: [Goal; 5] = [
    Goal { row: Row::Ask, of: Some("zenoh"), limit: 1.3 },
    Goal { row: Row::Asks, of: Some("erlang"), limit: 0.7 },
    Goal { row: Row::Tell, of: Some("zenoh"), limit: 0.5 },
    Goal { row: Row::Tell, of: Some("erlang"), limit: 0.15 },
    Goal { row: Row::Kill, of: None, limit: 10e6 },
];

/// What was measured: nanoseconds, or instructions.
#[derive(Default)]
pub(crate) struct Samples {
    cells: HashMap<(Row, &'static str), Vec<f64>>,
    /// The instructions of a told number with `supervise` and without an engine.
    pub(crate) alone: Option<f64>,
    /// The instructions of writing and reading a number.
    pub(crate) codec: Option<f64>,
}

impl Samples {
    pub(crate) fn add(&mut self, row: Row, side: &Side, value: f64) {
        self.cells.entry((row, side.name)).or_default().push(value);
    }

    /// Adds a time, or that it did not happen.
    pub(crate) fn add_time(&mut self, row: Row, side: &Side, time: Option<Duration>) {
        self.add(row, side, time.map_or(f64::INFINITY, |time| time.as_nanos() as f64));
    }

    fn median(&self, row: Row, side: &'static str) -> Option<f64> {
        let mut values = self.cells.get(&(row, side))?.clone();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    }

    fn cell(&self, row: Row, side: &'static str) -> String {
        let Some(values) = self.cells.get(&(row, side)) else { return "–".to_owned() };
        let shown = |value: f64| if value.is_finite() { row.shown(value) } else { "never".to_owned() };
        let median = self.median(row, side).map_or_else(String::new, shown);
        if values.len() == 1 {
            return median;
        }
        let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = values.iter().copied().fold(0.0, f64::max);
        format!("{median} ({} to {})", shown(lowest), shown(highest))
    }

    /// The ratio of each round, for the goals: two sides of one round met the same disturbances.
    fn ratio(&self, row: Row, of: &'static str) -> Option<f64> {
        let (ours, theirs) = (self.cells.get(&(row, "supervise"))?, self.cells.get(&(row, of))?);
        let mut ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
        ratios.sort_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied()
    }

    /// The table as Markdown.
    pub(crate) fn table(&self, sides: &[&'static Side]) -> String {
        let mut text = String::from("| |");
        let line = |text: &mut String, cells: &mut dyn Iterator<Item = String>| {
            for cell in cells {
                // Writing to a string does not fail.
                let _written = write!(text, " {cell} |");
            }
            text.push('\n');
        };
        line(&mut text, &mut sides.iter().map(|side| side.title.to_owned()));
        text.push('|');
        line(&mut text, &mut (0..=sides.len()).map(|_| "---".to_owned()));
        for row in ROWS {
            if sides.iter().any(|side| self.cells.contains_key(&(row, side.name))) {
                let _written = write!(text, "| {} |", row.title());
                line(&mut text, &mut sides.iter().map(|side| self.cell(row, side.name)));
            }
        }
        text.push('\n');
        for Goal { row, of, limit } in GOALS {
            let (is, measure) = match of {
                Some(of) => (self.ratio(row, of), format!("{limit} × {of}")),
                None => (self.median(row, "supervise").map(|value| value / 1e6), format!("{} ms", limit / 1e6)),
            };
            let limit = if of.is_some() { limit } else { limit / 1e6 };
            if let Some(is) = is {
                let met = if is <= limit { "met" } else { "missed" };
                let _written = writeln!(text, "- {}: at most {measure}: {met}, {is:.2}", row.title());
            }
        }
        if let (Some(alone), Some(codec)) = (self.alone, self.codec) {
            let is = alone - codec;
            let met = if is <= TOLD { "met" } else { "missed" };
            let _written = writeln!(
                text,
                "- a told number without an engine, both nodes, without the codec's {codec:.0} instructions: at most {TOLD}: {met}, {is:.0}"
            );
        }
        text
    }
}
