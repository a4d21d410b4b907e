//! Reads the JSON format of any year: finds the records of a document and turns them into matches.
//!
//! There are two ways. A document that is JSON is parsed as JSON, and only the records of the wrong shape are set aside. In
//! a document that is *not* valid JSON, this module looks for the records one by one, so damage (a lost comma, a truncated
//! file) costs only the records that it touches.
//!
//! These shapes are known: `matches` at the top or inside `rounds`; teams by name or as `{"name": ..}`; scores as
//! `{"ft": .., "et": .., "p": ..}` or as `score1`, `score2`, `score1et`, `score2et`, `score1p`, `score2p`. Unknown
//! fields are ignored.

use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::tournament::{Match, MatchId, Score};

/// What a document holds.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) name: Option<String>,
    pub(crate) matches: Vec<Match>,
    pub(crate) unreadable: Vec<UnreadableRecord>,
}

/// A line and a column, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// A record that was set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnreadableRecord {
    pub(crate) number: u32,
    pub(crate) place: Place,
    pub(crate) reason: String,
}

/// The document's matches, and the records that could not be read.
///
/// # Errors
///
/// The place and the reason, if the document contains no list of matches.
pub(crate) fn parse(text: &str) -> Result<Document, (Place, String)> {
    match serde_json::from_str::<Whole<'_>>(text) {
        Ok(whole) => {
            let name = whole.name.clone();
            let found = whole.records().ok_or_else(|| {
                (
                    Place::of(text, 0),
                    "it has no `matches` (a list of teams or groups alone is not enough)".to_owned(),
                )
            })?;
            Ok(read_all(text, name, &found))
        }
        Err(error) => match salvage(text, &error) {
            Some(found) => Ok(read_all(text, None, &found)),
            None => Err((Place { line: error.line().max(1), column: error.column().max(1) }, reason_of(&error))),
        },
    }
}

/// A document that is JSON, with its records not yet parsed.
#[derive(Deserialize)]
struct Whole<'a> {
    name: Option<String>,
    #[serde(borrow)]
    matches: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    rounds: Option<Vec<Round<'a>>>,
}

#[derive(Deserialize)]
struct Round<'a> {
    name: String,
    #[serde(borrow)]
    matches: Vec<&'a RawValue>,
}

/// The text of a record, or what is wrong with the text in which it should be.
enum Found<'a> {
    Record { round: Option<String>, text: &'a str },
    Damage { at: usize, reason: String },
}

impl<'a> Whole<'a> {
    fn records(self) -> Option<Vec<Found<'a>>> {
        let at_the_top = self.matches.map(|matches| Round { name: String::new(), matches });
        let rounds = at_the_top.map(|round| vec![round]).or(self.rounds)?;
        let records = rounds.into_iter().flat_map(|round| {
            let name = (!round.name.is_empty()).then_some(round.name);
            round.matches.into_iter().map(move |raw| Found::Record { round: name.clone(), text: raw.get() })
        });
        Some(records.collect())
    }
}

/// Looks for records in text that is not valid JSON. Returns `None` if that makes no sense.
///
/// Each `{` may begin a record. After damage, everything up to the next brace that begins a good record counts as
/// damaged. `{"ft": ..}` inside a damaged record is not a good record, because it does not name teams.
fn salvage<'a>(text: &'a str, error: &serde_json::Error) -> Option<Vec<Found<'a>>> {
    // The document is not damaged; it has another shape.
    if error.is_data() || text.contains("\"rounds\"") {
        return None;
    }
    let mut at = text.find("\"matches\"")?;
    let mut found = Vec::new();
    let mut damage: Option<Found<'a>> = None;
    while let Some(distance) = text[at..].find('{') {
        let brace = at + distance;
        let next = serde_json::Deserializer::from_str(&text[brace..]).into_iter::<&RawValue>().next();
        at = brace + 1;
        match next {
            Some(Ok(raw)) if damage.is_none() || serde_json::from_str::<Record>(raw.get()).is_ok() => {
                found.extend(damage.take());
                found.push(Found::Record { round: None, text: raw.get() });
                at = brace + raw.get().len();
            }
            Some(Err(error)) if damage.is_none() => {
                damage = Some(Found::Damage { at: offset_of(&error, text, brace), reason: reason_of(&error) });
            }
            _ => {}
        }
    }
    found.extend(damage);
    found.iter().any(|found| matches!(found, Found::Record { .. })).then_some(found)
}

fn read_all(text: &str, name: Option<String>, found: &[Found<'_>]) -> Document {
    let mut document = Document { name, matches: Vec::new(), unreadable: Vec::new() };
    for (number, found) in (1..).zip(found) {
        let read = match found {
            Found::Record { round, text: record } => read(number, round.as_deref(), record)
                .map_err(|error| (offset_of_error(&error, text, record), error.to_string())),
            Found::Damage { at, reason } => Err((*at, reason.clone())),
        };
        match read {
            Ok(game) => document.matches.push(game),
            Err((at, reason)) => {
                document.unreadable.push(UnreadableRecord { number, place: Place::of(text, at), reason });
            }
        }
    }
    document
}

fn read(number: u32, round: Option<&str>, text: &str) -> Result<Match, RecordError> {
    let record: Record = serde_json::from_str(text).map_err(RecordError::Shape)?;
    let round = record.round.as_deref().or(round).unwrap_or("Round unknown").to_owned();
    let score = record.score()?;
    let group = record.group.map(Named::name).filter(|name| !name.is_empty());
    let teams = [record.team1.name(), record.team2.name()];
    if teams.iter().any(|team| team.trim().is_empty()) {
        return Err(RecordError::Meaning("a team has no name"));
    }
    if teams[0] == teams[1] {
        return Err(RecordError::Meaning("a team plays against itself"));
    }
    Ok(Match { id: MatchId(number), round, date: record.date.unwrap_or_default(), group, teams, score })
}

#[derive(Debug)]
enum RecordError {
    Shape(serde_json::Error),
    Meaning(&'static str),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape(error) => f.write_str(&reason_of(error)),
            Self::Meaning(reason) => f.write_str(reason),
        }
    }
}

/// A record as written, in any of the known shapes.
#[derive(Deserialize)]
struct Record {
    round: Option<String>,
    date: Option<String>,
    group: Option<Named>,
    team1: Named,
    team2: Named,
    score: Option<Parts>,
    score1: Option<u32>,
    score2: Option<u32>,
    score1et: Option<u32>,
    score2et: Option<u32>,
    score1p: Option<u32>,
    score2p: Option<u32>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a name")]
enum Named {
    Name(String),
    Object { name: String },
}

#[derive(Clone, Copy, Deserialize)]
struct Parts {
    ft: Option<[u32; 2]>,
    et: Option<[u32; 2]>,
    p: Option<[u32; 2]>,
}

impl Record {
    fn score(&self) -> Result<Option<Score>, RecordError> {
        let parts = match self.score {
            Some(parts) => parts,
            None => Parts {
                ft: pair(self.score1, self.score2)?,
                et: pair(self.score1et, self.score2et)?,
                p: pair(self.score1p, self.score2p)?,
            },
        };
        match parts {
            Parts { ft: Some(full_time), et: extra_time, p: penalties } => {
                Ok(Some(Score { full_time, extra_time, penalties }))
            }
            Parts { ft: None, et: None, p: None } => Ok(None),
            Parts { ft: None, .. } => {
                Err(RecordError::Meaning("a score after extra time, but none after full time"))
            }
        }
    }
}

fn pair(first: Option<u32>, second: Option<u32>) -> Result<Option<[u32; 2]>, RecordError> {
    match (first, second) {
        (Some(first), Some(second)) => Ok(Some([first, second])),
        (None, None) => Ok(None),
        _ => Err(RecordError::Meaning("a score for one team only")),
    }
}

impl Named {
    fn name(self) -> String {
        match self {
            Self::Name(name) | Self::Object { name } => name,
        }
    }
}

/// The parser's message without its place, which is a place in the record and not in the file.
fn reason_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// The place in `text` of an error that was found in `record`, a part of that text.
fn offset_of_error(error: &RecordError, text: &str, record: &str) -> usize {
    // A record is borrowed from the text, so the difference of their addresses is its offset.
    let start = record.as_ptr() as usize - text.as_ptr() as usize;
    match error {
        RecordError::Shape(error) => offset_of(error, text, start),
        RecordError::Meaning(_) => start,
    }
}

/// The place in `text` of an error that was found by parsing from `start`.
fn offset_of(error: &serde_json::Error, text: &str, start: usize) -> usize {
    let before: usize =
        text[start..].split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    (start + before + error.column().saturating_sub(1)).min(text.len())
}

impl Place {
    fn of(text: &str, offset: usize) -> Self {
        let mut place = Self { line: 1, column: 1 };
        for byte in &text.as_bytes()[..offset] {
            match byte {
                b'\n' => place = Self { line: place.line + 1, column: 1 },
                _ => place.column += 1,
            }
        }
        place
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl fmt::Display for UnreadableRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: record {}: {}", self.place, self.number, self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"round": "Final", "team1": "A", "team2": "B", "score": {"ft": [1, 0]}}"#;

    fn document(records: &[&str]) -> Document {
        let text = format!("{{\"name\": \"Cup\", \"matches\": [\n{}\n]}}", records.join(",\n"));
        parse(&text).expect("the list is there")
    }

    fn only(record: &str) -> Match {
        document(&[record]).matches.pop().expect("the record is readable")
    }

    /// The numbers and lines of the records that were set aside.
    fn set_aside(document: &Document) -> Vec<(u32, usize)> {
        document.unreadable.iter().map(|record| (record.number, record.place.line)).collect()
    }

    fn numbers(document: &Document) -> Vec<u32> {
        document.matches.iter().map(|game| game.id.0).collect()
    }

    #[test]
    fn scores_come_in_two_shapes() {
        let expected = Some(Score { full_time: [2, 2], extra_time: Some([3, 3]), penalties: Some([4, 2]) });
        let parts =
            r#"{"team1": "A", "team2": "B", "score": {"p": [4, 2], "et": [3, 3], "ft": [2, 2], "ht": [2, 0]}}"#;
        let fields = r#"{"team1": {"name": "A", "code": "AAA"}, "team2": {"name": "B"}, "score1": 2, "score2": 2,
            "score1et": 3, "score2et": 3, "score1p": 4, "score2p": 2, "score1i": null}"#;
        assert_eq!(only(parts).score, expected);
        assert_eq!(only(fields).score, expected);
        assert_eq!(only(fields).teams, ["A", "B"]);
    }

    #[test]
    fn a_match_without_a_score_has_not_been_played() {
        for score in ["", r#", "score": null"#, r#", "score": {}"#, r#", "score1": null, "score2": null"#] {
            let record = format!(r#"{{"round": "Final", "team1": "A", "team2": "B"{score}}}"#);
            assert_eq!(only(&record).score, None, "{record}");
        }
    }

    #[test]
    fn matches_may_be_listed_by_rounds() {
        let text = format!(
            r#"{{"rounds": [{{"name": "Matchday 1", "matches": [{{"team1": "A", "team2": "B"}}, {GOOD}]}}]}}"#
        );
        let document = parse(&text).expect("rounds are known");
        let rounds: Vec<_> = document.matches.iter().map(|game| game.round.as_str()).collect();
        assert_eq!(rounds, ["Matchday 1", "Final"]);
    }

    #[test]
    fn a_record_of_the_wrong_shape_costs_no_other() {
        let document = document(&[
            GOOD,
            r#"{"team1": "A"}"#,
            "17",
            GOOD,
            r#"{"team1": "A", "team2": "B", "score": {"ft": [1, -1]}}"#,
        ]);
        assert_eq!(numbers(&document), [1, 4]);
        assert_eq!(set_aside(&document), [(2, 3), (3, 4), (5, 6)]);
        assert_eq!(document.unreadable[0].reason, "missing field `team2`");
    }

    #[test]
    fn a_record_that_makes_no_sense_is_set_aside() {
        for (record, reason) in [
            (r#"{"team1": "A", "team2": "A"}"#, "a team plays against itself"),
            (r#"{"team1": "A", "team2": " "}"#, "a team has no name"),
            (r#"{"team1": "A", "team2": 3}"#, "expected a name"),
            (r#"{"team1": "A", "team2": "B", "score1": 3}"#, "a score for one team only"),
            (
                r#"{"team1": "A", "team2": "B", "score": {"p": [3, 1]}}"#,
                "a score after extra time, but none after full time",
            ),
        ] {
            assert_eq!(document(&[record]).unreadable[0].reason, reason);
        }
    }

    #[test]
    fn the_place_of_a_mistake_is_its_own_not_its_records() {
        let document = document(&[GOOD, "{\"team1\": \"A\",\n \"team2\": \"B\",\n \"date\": 1930}"]);
        assert_eq!(document.unreadable[0].place, Place { line: 5, column: 13 });
    }

    #[test]
    fn damage_costs_only_the_record_it_is_in() {
        let lost_comma = r#"{"round": "Final" "team1": "A", "team2": "B", "score": {"ft": [1, 0]}}"#;
        let lost_quote = r#"{"round": "Final, "team1": "A", "team2": "B", "score": {"ft": [1, 0]}}"#;
        let lost_brace = r#"{"round": "Final", "team1": "A", "team2": "B", "score": {"ft": [1, 0]}"#;
        for damaged in [lost_comma, lost_quote, lost_brace] {
            let document = document(&[GOOD, damaged, GOOD]);
            assert_eq!(numbers(&document), [1, 3], "{damaged}");
            assert_eq!(document.unreadable.len(), 1, "{damaged}");
        }
    }

    #[test]
    fn a_file_cut_short_gives_what_came_before() {
        let text = format!("{{\"matches\": [\n{GOOD},\n{GOOD},\n{{\"round\": \"Fin");
        let document = parse(&text).expect("two records are whole");
        assert_eq!(numbers(&document), [1, 2]);
        assert_eq!(set_aside(&document), [(3, 4)]);
    }

    #[test]
    fn what_has_no_matches_is_refused() {
        assert!(parse("[]").is_err());
        assert!(parse("").is_err());
        assert!(parse(r#"{"matches": 3}"#).is_err());
    }
}
