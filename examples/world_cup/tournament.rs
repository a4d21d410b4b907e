//! The facts of a tournament, and where they come from: the shipped file or one named on the command line.
//!
//! [`table`](crate::table) decides what a match *means* for a table. Only [`record`](crate::record) knows the formats that records
//! had over the years.

use std::fmt;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::record::{self, Place, UnreadableRecord};

/// The tournament that comes with the program.
const SHIPPED: &str = include_str!("../data/world_cup_2022.json");
const SHIPPED_NAME: &str = "examples/data/world_cup_2022.json";

/// A match's number: its place in the file, from 1. Records that cannot be read keep their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct MatchId(pub(crate) u32);

/// One match. A match without a group is a knock-out game; one without a score has not been played.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Match {
    pub(crate) id: MatchId,
    pub(crate) round: String,
    pub(crate) date: String,
    pub(crate) group: Option<String>,
    pub(crate) teams: [String; 2],
    pub(crate) score: Option<Score>,
}

/// The goals of the first and the second team at the end of each part that was played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Score {
    pub(crate) full_time: [u32; 2],
    /// All goals up to the end of extra time, not those of extra time alone.
    pub(crate) extra_time: Option<[u32; 2]>,
    pub(crate) penalties: Option<[u32; 2]>,
}

impl Score {
    /// The goals that count: a shoot-out decides which team advances, but does not add goals.
    pub(crate) fn goals(&self) -> [u32; 2] {
        self.extra_time.unwrap_or(self.full_time)
    }
}

/// All matches of a file in its order, and the records that could not be read.
#[derive(Debug)]
pub(crate) struct Tournament {
    /// The file it was read from.
    pub(crate) source: String,
    pub(crate) name: String,
    pub(crate) matches: Vec<Match>,
    pub(crate) unreadable: Vec<UnreadableRecord>,
}

/// What a file looks like, for whoever has another one.
const EXPECTED: &str = r#"{"matches": [{"round": .., "team1": .., "team2": .., "score": {"ft": [1, 0]}}, ..]}"#;

/// Why no tournament can be computed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("cannot read {path}: {source}")]
    File { path: String, source: std::io::Error },
    #[error("{path}: byte {at} is not UTF-8; the file must be JSON text in UTF-8")]
    NotText { path: String, at: usize },
    #[error("{path}:{place}: wrong format: {reason}; expected {EXPECTED}")]
    WrongFormat { path: String, place: Place, reason: String },
    #[error("{path}:{first} (0 of {count} records can be read)")]
    NothingReadable { path: String, first: UnreadableRecord, count: usize },
    #[error("{path}: the list of matches is empty")]
    Empty { path: String },
}

impl Tournament {
    /// The tournament that comes with the program.
    ///
    /// # Errors
    ///
    /// Never, as long as the tests of this module pass.
    pub(crate) fn shipped() -> Result<Self, ReadError> {
        Self::parse(SHIPPED_NAME, SHIPPED)
    }

    /// Reads a file. A record that cannot be read is set aside and does not affect the others.
    ///
    /// # Errors
    ///
    /// If no match can be read from the file. The error says where and why.
    pub(crate) fn from_file(path: &Path) -> Result<Self, ReadError> {
        let shown = path.display().to_string();
        let bytes = fs::read(path).map_err(|source| ReadError::File { path: shown.clone(), source })?;
        let text = std::str::from_utf8(&bytes)
            .map_err(|error| ReadError::NotText { path: shown.clone(), at: error.valid_up_to() })?;
        Self::parse(&shown, text)
    }

    fn parse(path: &str, text: &str) -> Result<Self, ReadError> {
        let document = record::parse(text).map_err(|(place, reason)| ReadError::WrongFormat {
            path: path.to_owned(),
            place,
            reason,
        })?;
        let path = path.to_owned();
        let name = document.name.unwrap_or_else(|| path.clone());
        if document.matches.is_empty() {
            let count = document.unreadable.len();
            return Err(match document.unreadable.into_iter().next() {
                Some(first) => ReadError::NothingReadable { path, first, count },
                None => ReadError::Empty { path },
            });
        }
        Ok(Self { source: path, name, matches: document.matches, unreadable: document.unreadable })
    }
}

impl fmt::Display for MatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_file_holds_all_64_matches() {
        let tournament = Tournament::shipped().expect("the shipped file is readable");
        assert_eq!(tournament.name, "World Cup 2022");
        assert_eq!(tournament.matches.len(), 64);
        assert!(tournament.unreadable.is_empty());
        assert_eq!(tournament.matches.iter().filter(|game| game.group.is_none()).count(), 16);
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = Tournament::from_file(Path::new("no/such/file.json")).expect_err("there is no such file");
        assert!(error.to_string().starts_with("cannot read no/such/file.json: "), "{error}");
    }

    #[test]
    fn a_file_of_another_kind_is_refused_with_its_place() {
        let error =
            Tournament::parse("teams.json", r#"{"name": "World Cup", "groups": []}"#).expect_err("no matches");
        assert!(error.to_string().starts_with("teams.json:1:1: wrong format: it has no `matches`"), "{error}");
        assert!(error.to_string().ends_with(EXPECTED), "{error}");
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
        let error = Tournament::parse("notes.txt", "{\n  hello").expect_err("no JSON");
        assert!(error.to_string().starts_with("notes.txt:2:3: wrong format: "), "{error}");
    }

    #[test]
    fn a_file_without_one_readable_match_is_refused() {
        let error = Tournament::parse("x.json", r#"{"matches": []}"#).expect_err("empty");
        assert_eq!(error.to_string(), "x.json: the list of matches is empty");
        let error = Tournament::parse("x.json", r#"{"matches": [7, 8]}"#).expect_err("no record").to_string();
        assert!(error.starts_with("x.json:1:14: record 1: "), "{error}");
        assert!(error.ends_with(" (0 of 2 records can be read)"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}
