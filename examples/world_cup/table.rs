//! The plain fold: it turns matches into group tables and the bracket, without actors and without I/O.
//!
//! Today's rules apply to every year: three points for a win, one for a draw. Extra time counts if a group game had
//! any (1954). Teams are ranked by
//!
//! 1. points, goal difference, goals scored in all games of the group; then
//! 2. points, goal difference, goals scored in the games among the teams still level; then
//! 3. the name, which stands in for fair play and the drawing of lots.
//!
//! A table accepts matches in any order and counts each one as often as it gets it. The caller has to make sure that it
//! passes no match twice; [`Table::differences`] shows whether it did.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::tournament::{Match, MatchId};

/// The state of a tournament.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Table {
    groups: BTreeMap<String, Group>,
    /// In the order of their numbers.
    knock_out: Vec<Match>,
}

/// One group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Group {
    rows: BTreeMap<String, Row>,
    /// In the order of their numbers.
    games: Vec<Match>,
}

/// What one team has achieved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) won: u32,
    pub(crate) drawn: u32,
    pub(crate) lost: u32,
    pub(crate) scored: u32,
    pub(crate) conceded: u32,
}

/// How a table differs from the fold over the same matches.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Differences {
    pub(crate) lost: Vec<MatchId>,
    pub(crate) counted_twice: Vec<MatchId>,
    /// The matches are right, but the table differs.
    pub(crate) otherwise: bool,
}

impl Table {
    /// The table of these matches.
    pub(crate) fn of(matches: &[Match]) -> Self {
        let mut table = Self::default();
        for game in matches {
            table.record(game.clone());
        }
        table
    }

    /// Counts a match. A match that has not been played only adds its teams.
    pub(crate) fn record(&mut self, game: Match) {
        match &game.group {
            Some(group) => self.groups.entry(group.clone()).or_default().record(game),
            None => insert_in_order(&mut self.knock_out, game),
        }
    }

    /// The groups by name.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (&str, &Group)> {
        self.groups.iter().map(|(name, group)| (name.as_str(), group))
    }

    /// The knock-out games by rounds; rounds and games in the order of the file.
    pub(crate) fn rounds(&self) -> Vec<(&str, Vec<&Match>)> {
        let mut rounds: Vec<(&str, Vec<&Match>)> = Vec::new();
        for game in &self.knock_out {
            match rounds.iter_mut().find(|(name, _)| *name == game.round) {
                Some((_, games)) => games.push(game),
                None => rounds.push((&game.round, vec![game])),
            }
        }
        rounds
    }

    /// Compares this table with the fold over `matches`, which it should equal.
    pub(crate) fn differences(&self, matches: &[Match]) -> Differences {
        let mut counted: BTreeMap<MatchId, u32> = BTreeMap::new();
        for game in self.groups.values().flat_map(|group| &group.games).chain(&self.knock_out) {
            *counted.entry(game.id).or_default() += 1;
        }
        let lost: Vec<_> = matches.iter().map(|game| game.id).filter(|id| !counted.contains_key(id)).collect();
        let counted_twice: Vec<_> =
            counted.into_iter().filter(|(_, times)| *times > 1).map(|(id, _)| id).collect();
        let otherwise = lost.is_empty() && counted_twice.is_empty() && *self != Self::of(matches);
        Differences { lost, counted_twice, otherwise }
    }
}

impl Differences {
    pub(crate) fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Group {
    /// The teams, best first.
    pub(crate) fn ranking(&self) -> Vec<(&str, Row)> {
        let mut ranking: Vec<_> = self.rows.iter().map(|(team, row)| (team.as_str(), *row)).collect();
        ranking.sort_by_cached_key(|(team, row)| {
            (Reverse(row.standing()), Reverse(self.among_the_level(team, *row).standing()), *team)
        });
        ranking
    }

    /// What `team` achieved against the teams that are level with it.
    fn among_the_level(&self, team: &str, row: Row) -> Row {
        let level = |other: &String| self.rows.get(other).is_some_and(|other| other.standing() == row.standing());
        let mut among = Row::default();
        for game in self.games.iter().filter(|game| game.teams.iter().all(level)) {
            for (name, [scored, conceded]) in results(game) {
                if name == team {
                    among.add(scored, conceded);
                }
            }
        }
        among
    }

    fn record(&mut self, game: Match) {
        for team in &game.teams {
            self.rows.entry(team.clone()).or_default();
        }
        for (team, [scored, conceded]) in results(&game) {
            self.rows.entry(team.to_owned()).or_default().add(scored, conceded);
        }
        insert_in_order(&mut self.games, game);
    }
}

impl Row {
    pub(crate) fn played(&self) -> u32 {
        self.won + self.drawn + self.lost
    }

    pub(crate) fn points(&self) -> u32 {
        3 * self.won + self.drawn
    }

    pub(crate) fn goal_difference(&self) -> i64 {
        i64::from(self.scored) - i64::from(self.conceded)
    }

    /// The criteria of the comparison, the most important first.
    fn standing(&self) -> (u32, i64, u32) {
        (self.points(), self.goal_difference(), self.scored)
    }

    fn add(&mut self, scored: u32, conceded: u32) {
        match scored.cmp(&conceded) {
            std::cmp::Ordering::Greater => self.won += 1,
            std::cmp::Ordering::Equal => self.drawn += 1,
            std::cmp::Ordering::Less => self.lost += 1,
        }
        self.scored = self.scored.saturating_add(scored);
        self.conceded = self.conceded.saturating_add(conceded);
    }
}

/// Each team with the goals it scored and conceded; nothing for a match that has not been played.
fn results(game: &Match) -> impl Iterator<Item = (&str, [u32; 2])> {
    game.score.iter().flat_map(|score| {
        let [first, second] = score.goals();
        game.teams.iter().map(String::as_str).zip([[first, second], [second, first]])
    })
}

fn insert_in_order(games: &mut Vec<Match>, game: Match) {
    let place = games.partition_point(|other| other.id <= game.id);
    games.insert(place, game);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tournament::{Score, Tournament};

    fn game(id: u32, first: &str, [a, b]: [u32; 2], second: &str) -> Match {
        Match {
            id: MatchId(id),
            round: "Matchday".to_owned(),
            date: String::new(),
            group: Some("Group A".to_owned()),
            teams: [first.to_owned(), second.to_owned()],
            score: Some(Score { full_time: [a, b], extra_time: None, penalties: None }),
        }
    }

    fn ranking(games: &[Match]) -> Vec<String> {
        let table = Table::of(games);
        let group = table.groups.values().next().expect("there is one group");
        group.ranking().into_iter().map(|(team, _)| team.to_owned()).collect()
    }

    /// Team, points, goals scored and conceded.
    type Known = (&'static str, u32, u32, u32);

    /// The results of 2022.
    #[rustfmt::skip]
    const GROUPS_OF_2022: [(&str, [Known; 4]); 8] = [
        ("Group A", [("Netherlands", 7, 5, 1), ("Senegal", 6, 5, 4), ("Ecuador", 4, 4, 3), ("Qatar", 0, 1, 7)]),
        ("Group B", [("England", 7, 9, 2), ("USA", 5, 2, 1), ("Iran", 3, 4, 7), ("Wales", 1, 1, 6)]),
        ("Group C", [("Argentina", 6, 5, 2), ("Poland", 4, 2, 2), ("Mexico", 4, 2, 3), ("Saudi Arabia", 3, 3, 5)]),
        ("Group D", [("France", 6, 6, 3), ("Australia", 6, 3, 4), ("Tunisia", 4, 1, 1), ("Denmark", 1, 1, 3)]),
        ("Group E", [("Japan", 6, 4, 3), ("Spain", 4, 9, 3), ("Germany", 4, 6, 5), ("Costa Rica", 3, 3, 11)]),
        ("Group F", [("Morocco", 7, 4, 1), ("Croatia", 5, 4, 1), ("Belgium", 4, 1, 2), ("Canada", 0, 2, 7)]),
        ("Group G", [("Brazil", 6, 3, 1), ("Switzerland", 6, 4, 3), ("Cameroon", 4, 4, 4), ("Serbia", 1, 5, 8)]),
        ("Group H", [("Portugal", 6, 6, 4), ("South Korea", 4, 4, 4), ("Uruguay", 4, 2, 2), ("Ghana", 3, 5, 7)]),
    ];

    #[test]
    fn the_shipped_tournament_gives_the_known_group_tables() {
        let tournament = Tournament::shipped().expect("the shipped file is readable");
        let table = Table::of(&tournament.matches);
        let computed: Vec<_> = table
            .groups()
            .map(|(name, group)| {
                let rows =
                    group.ranking().into_iter().map(|(team, row)| (team, row.points(), row.scored, row.conceded));
                (name, rows.collect::<Vec<_>>())
            })
            .collect();
        let known: Vec<_> = GROUPS_OF_2022.iter().map(|(name, rows)| (*name, rows.to_vec())).collect();
        assert_eq!(computed, known);
    }

    #[test]
    fn the_shipped_bracket_ends_in_the_final() {
        let tournament = Tournament::shipped().expect("the shipped file is readable");
        let table = Table::of(&tournament.matches);
        let rounds: Vec<_> = table.rounds().into_iter().map(|(name, games)| (name, games.len())).collect();
        assert_eq!(
            rounds,
            [("Round of 16", 8), ("Quarter-finals", 4), ("Semi-finals", 2), ("Third place", 1), ("Final", 1)]
        );
    }

    #[test]
    fn the_order_of_arrival_does_not_matter() {
        let tournament = Tournament::shipped().expect("the shipped file is readable");
        let backwards: Vec<_> = tournament.matches.iter().rev().cloned().collect();
        assert_eq!(Table::of(&backwards), Table::of(&tournament.matches));
    }

    #[test]
    fn points_come_before_goal_difference() {
        assert_eq!(
            ranking(&[
                game(1, "A", [1, 0], "B"),
                game(2, "C", [9, 0], "D"),
                game(3, "D", [3, 0], "C"),
                game(4, "A", [1, 0], "C")
            ])[0],
            "A"
        );
    }

    #[test]
    fn goal_difference_comes_before_goals_scored() {
        assert_eq!(ranking(&[game(1, "A", [2, 0], "B"), game(2, "C", [5, 4], "D")])[..2], ["A", "C"]);
    }

    #[test]
    fn goals_scored_come_before_the_direct_encounter() {
        // A and B have three points and a difference of zero; A won their game, B scored more.
        let games = [
            game(1, "A", [1, 0], "B"),
            game(2, "C", [1, 0], "A"),
            game(3, "B", [5, 4], "C"),
            game(4, "D", [0, 0], "C"),
        ];
        assert_eq!(ranking(&games), ["C", "B", "A", "D"]);
    }

    #[test]
    fn the_direct_encounter_comes_before_the_name() {
        // A and B are level in everything; B won their game.
        let games = [
            game(1, "B", [1, 0], "A"),
            game(2, "A", [1, 0], "C"),
            game(3, "C", [1, 0], "B"),
            game(4, "D", [3, 0], "C"),
        ];
        assert_eq!(ranking(&games), ["D", "B", "A", "C"]);
    }

    #[test]
    fn the_name_decides_in_the_end() {
        assert_eq!(ranking(&[game(1, "B", [1, 1], "A")]), ["A", "B"]);
    }

    #[test]
    fn a_match_to_come_only_enters_its_teams() {
        let table = Table::of(&[Match { score: None, ..game(1, "A", [0, 0], "B") }]);
        assert_eq!(table.groups["Group A"].ranking(), [("A", Row::default()), ("B", Row::default())]);
    }

    #[test]
    fn a_lost_match_is_noticed() {
        let games = [game(1, "A", [1, 0], "B"), game(2, "A", [1, 0], "C")];
        let differences = Table::of(&games[..1]).differences(&games);
        assert_eq!(differences, Differences { lost: vec![MatchId(2)], ..Differences::default() });
    }

    #[test]
    fn a_match_counted_twice_is_noticed() {
        let games = [game(1, "A", [1, 0], "B")];
        let knock_out = [Match { group: None, ..games[0].clone() }];
        for games in [games, knock_out] {
            let mut table = Table::of(&games);
            table.record(games[0].clone());
            let differences = table.differences(&games);
            assert_eq!(differences, Differences { counted_twice: vec![MatchId(1)], ..Differences::default() });
        }
    }

    #[test]
    fn a_match_with_another_score_is_noticed() {
        let differences = Table::of(&[game(1, "A", [2, 0], "B")]).differences(&[game(1, "A", [1, 0], "B")]);
        assert_eq!(differences, Differences { otherwise: true, ..Differences::default() });
    }
}
