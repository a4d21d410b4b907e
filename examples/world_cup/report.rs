//! What the program prints at the end: group tables, the bracket, what supervision did, and whether every match was counted.
//!
//! This module only produces text.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::supervision_log::{Decision, SupervisionLog};
use crate::table::{Differences, Group, Table};
use crate::tournament::{Match, MatchId, Tournament};

/// The group tables and the results of the bracket.
pub(crate) struct Tables<'a>(pub(crate) &'a Table);

/// What supervision did.
pub(crate) struct Supervision<'a>(pub(crate) &'a SupervisionLog);

/// Whether every match was counted, and only once.
pub(crate) struct Verdict<'a> {
    pub(crate) tournament: &'a Tournament,
    pub(crate) differences: &'a Differences,
    /// The number of feeds that were left at the end.
    pub(crate) feeds_left: usize,
    pub(crate) took: Duration,
}

impl fmt::Display for Tables<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, group) in self.0.groups() {
            write_group(f, name, group)?;
        }
        for (name, games) in self.0.rounds() {
            writeln!(f, "\n{name}")?;
            for game in games {
                writeln!(f, "  {}", Result(game))?;
            }
        }
        Ok(())
    }
}

fn write_group(f: &mut fmt::Formatter<'_>, name: &str, group: &Group) -> fmt::Result {
    writeln!(f, "\n{name:<28}  P  W  D  L   goals  diff  points")?;
    for (place, (team, row)) in (1..).zip(group.ranking()) {
        let goals = format!("{}-{}", row.scored, row.conceded);
        let difference = match row.goal_difference() {
            0 => "0".to_owned(),
            difference => format!("{difference:+}"),
        };
        writeln!(
            f,
            "  {place}. {team:<23} {:>2} {:>2} {:>2} {:>2} {goals:>7} {difference:>5} {:>7}",
            row.played(),
            row.won,
            row.drawn,
            row.lost,
            row.points(),
        )?;
    }
    Ok(())
}

/// One knock-out game with everything that decided it, such as penalties.
struct Result<'a>(&'a Match);

impl fmt::Display for Result<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Match { date, teams: [first, second], score, .. } = self.0;
        let Some(score) = score else {
            return write!(f, "{date}  {first:>20}  -:-  {second:<20} not played yet");
        };
        let [a, b] = score.goals();
        let result = format!("{date}  {first:>20}  {a}:{b}  {second:<20}");
        let extra_time = score.extra_time.map(|_| {
            let [a, b] = score.full_time;
            format!(" after extra time ({a}:{b} after 90 minutes)")
        });
        let penalties = score.penalties.map(|[a, b]| {
            let winner = if a > b { first } else { second };
            format!(", {winner} {}:{} on penalties", a.max(b), a.min(b))
        });
        let line = result + &extra_time.unwrap_or_default() + &penalties.unwrap_or_default();
        f.write_str(line.trim_end())
    }
}

impl fmt::Display for Supervision<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let log = self.0;
        writeln!(f, "\nWhat supervision did")?;
        if log.decisions.is_empty() {
            return writeln!(f, "  nothing: no feed failed");
        }
        writeln!(
            f,
            "  {:<26} {:<17} {:>5}   {:>10} {:>12}",
            "failure", "directive", "times", "mean delay", "longest"
        )?;
        for ((cause, directive), decision) in &log.decisions {
            let (mean, longest) = delays(decision);
            writeln!(f, "  {cause:<26} {directive:<17} {:>5}   {mean:>10} {longest:>12}", decision.times)?;
        }
        let times: BTreeMap<_, u32> =
            log.decisions.iter().fold(BTreeMap::new(), |mut times, ((_, directive), decision)| {
                *times.entry(*directive).or_default() += decision.times;
                times
            });
        let times: Vec<_> = times.into_iter().map(|(directive, times)| format!("{times} x {directive}")).collect();
        writeln!(f, "  in total: {}; {} restarts completed", times.join(", "), log.restarts)?;
        match log.missed {
            0 => Ok(()),
            missed => writeln!(f, "  ({missed} events came too fast to be counted)"),
        }
    }
}

fn delays(decision: &Decision) -> (String, String) {
    let milliseconds = |delay: Duration| format!("{} ms", delay.as_millis());
    match decision.delayed {
        0 => ("-".to_owned(), "-".to_owned()),
        delayed => (milliseconds(decision.total_delay / delayed), milliseconds(decision.longest_delay)),
    }
}

impl fmt::Display for Verdict<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tournament, differences, .. } = self;
        let all = tournament.matches.len();
        let counted = all - differences.lost.len();
        writeln!(f, "\n{counted} of {all} matches counted in {:.1} s", self.took.as_secs_f64())?;
        if differences.is_none() {
            writeln!(f, "The table equals the plain fold over the input: nothing lost, nothing counted twice.")?;
        }
        if !differences.lost.is_empty() {
            let left = match self.feeds_left {
                0 => "no feed was left to ask for them".to_owned(),
                left => format!("although feeds were left ({left})"),
            };
            writeln!(f, "INCOMPLETE: {} matches are missing, {left}:", differences.lost.len())?;
            self.list(f, &differences.lost)?;
        }
        if !differences.counted_twice.is_empty() {
            writeln!(f, "WRONG: {} matches were counted twice:", differences.counted_twice.len())?;
            self.list(f, &differences.counted_twice)?;
        }
        if differences.otherwise {
            writeln!(f, "WRONG: the matches are complete, but the table is not the one of the plain fold.")?;
        }
        if !tournament.unreadable.is_empty() {
            writeln!(f, "{} records of the input were skipped, see above.", tournament.unreadable.len())?;
        }
        Ok(())
    }
}

impl Verdict<'_> {
    /// Lists matches, at most a dozen.
    fn list(&self, f: &mut fmt::Formatter<'_>, ids: &[MatchId]) -> fmt::Result {
        const SHOWN: usize = 12;
        let games = self.tournament.matches.iter().filter(|game| ids.contains(&game.id));
        for Match { id, round, date, teams: [first, second], .. } in games.take(SHOWN) {
            writeln!(f, "  match {id}: {date} {round}, {first} - {second}")?;
        }
        match ids.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => writeln!(f, "  and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shipped() -> Tournament {
        Tournament::shipped().expect("the shipped file is readable")
    }

    #[test]
    fn tables_show_points_goals_and_what_decided_a_game() {
        let text = Tables(&Table::of(&shipped().matches)).to_string();
        for line in [
            "Group C                       P  W  D  L   goals  diff  points",
            "  1. Argentina                3  2  0  1     5-2    +3       6",
            "  2. Poland                   3  1  1  1     2-2     0       4",
            "  2022-12-18             Argentina  3:3  France               after extra time (2:2 after 90 minutes), Argentina 4:2 on penalties",
            "  2022-12-14                France  2:0  Morocco",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line}\nis not in\n{text}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let tournament = shipped();
        let differences = Table::of(&tournament.matches[..50]).differences(&tournament.matches);
        let verdict = Verdict {
            tournament: &tournament,
            differences: &differences,
            feeds_left: 0,
            took: Duration::from_secs(1),
        };
        let text = verdict.to_string();
        assert!(text.contains("50 of 64 matches counted in 1.0 s"), "{text}");
        assert!(text.contains("INCOMPLETE: 14 matches are missing, no feed was left to ask for them:"), "{text}");
        assert!(text.contains("  and 2 more"), "{text}");
    }

    #[test]
    fn decisions_are_counted_by_cause_and_directive() {
        let mut log = SupervisionLog::default();
        assert!(Supervision(&log).to_string().contains("no feed failed"));
        log.decided("no answer in time", "Restart", Some(Duration::from_millis(20)));
        log.decided("no answer in time", "Restart", Some(Duration::from_millis(40)));
        log.decided("answer is garbage", "Resume", None);
        log.restarts = 2;
        let text = Supervision(&log).to_string();
        for line in [
            "  answer is garbage          Resume                1            -            -",
            "  no answer in time          Restart               2        30 ms        40 ms",
            "  in total: 2 x Restart, 1 x Resume; 2 restarts completed",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line}\nis not in\n{text}");
        }
    }
}
