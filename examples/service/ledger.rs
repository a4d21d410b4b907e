//! What a run has proven, line by line.

use std::fmt;

/// Lines with one figure each. Some figures must have a certain value, and the ledger is right if all of these do.
#[derive(Debug, Default)]
pub struct Ledger {
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    what: String,
    figure: String,
    demand: Option<Demand>,
}

#[derive(Debug)]
struct Demand {
    text: &'static str,
    met: bool,
}

impl Ledger {
    /// Adds a figure that may have any value.
    pub fn note(&mut self, what: impl Into<String>, figure: impl fmt::Display) {
        self.lines.push(Line { what: what.into(), figure: figure.to_string(), demand: None });
    }

    /// Adds a figure that must be as `text` says. `met` says whether it is.
    pub fn demand(&mut self, what: impl Into<String>, figure: impl fmt::Display, text: &'static str, met: bool) {
        self.lines.push(Line {
            what: what.into(),
            figure: figure.to_string(),
            demand: Some(Demand { text, met }),
        });
    }

    /// Adds a count that must be 0.
    pub fn none(&mut self, what: impl Into<String>, count: usize) {
        self.demand(what, count, "0", count == 0);
    }

    /// Adds a count that must not be 0.
    pub fn some(&mut self, what: impl Into<String>, count: usize) {
        self.demand(what, count, "not 0", count > 0);
    }

    /// Whether every required figure is right, and there is at least one.
    pub fn is_right(&self) -> bool {
        let mut demands = self.lines.iter().filter_map(|line| line.demand.as_ref()).peekable();
        demands.peek().is_some() && demands.all(|demand| demand.met)
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widest =
            |text: fn(&Line) -> &str| self.lines.iter().map(|line| text(line).chars().count()).max().unwrap_or(0);
        let (what, figure) = (widest(|line| &line.what), widest(|line| &line.figure));
        for line in &self.lines {
            write!(f, "  {:what$}  {:>figure$}", line.what, line.figure)?;
            match &line.demand {
                Some(Demand { met: true, .. }) => writeln!(f, "  ok")?,
                Some(Demand { text, .. }) => writeln!(f, "  WRONG: must be {text}")?,
                None => writeln!(f)?,
            }
        }
        f.write_str(if self.is_right() { "The ledger is right." } else { "The ledger is WRONG." })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_figure_that_is_not_as_it_must_be_makes_the_ledger_wrong() {
        let mut ledger = Ledger::default();
        ledger.note("sent", 12);
        assert!(!ledger.is_right(), "nothing was proven");
        ledger.none("lost", 0);
        assert!(ledger.is_right());
        assert_eq!(ledger.to_string(), "  sent  12\n  lost   0  ok\nThe ledger is right.");
        ledger.some("restarts", 0);
        assert!(!ledger.is_right());
        assert!(ledger.to_string().contains("  restarts   0  WRONG: must be not 0\nThe ledger is WRONG."));
    }
}
