//! The language of the feeds and the server: a question is one line, and the answer is one line of JSON.

use std::fmt;

use crate::tournament::MatchId;

/// A question to the feed server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Question {
    /// Which matches are there? The answer is a list of numbers.
    Index,
    /// What is this match?
    Get(MatchId),
}

impl Question {
    /// The question in a line, or `None` if the line is not a question.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        match line.trim_end() {
            "INDEX" => Some(Self::Index),
            other => other.strip_prefix("GET ")?.parse().ok().map(|id| Self::Get(MatchId(id))),
        }
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index => f.write_str("INDEX"),
            Self::Get(id) => write!(f, "GET {id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_understood() {
        for question in [Question::Index, Question::Get(MatchId(17))] {
            assert_eq!(Question::parse(&format!("{question}\n")), Some(question));
        }
    }

    #[test]
    fn nonsense_is_no_question() {
        for line in ["", "GET", "GET x", "PUT 3"] {
            assert_eq!(Question::parse(line), None, "{line}");
        }
    }
}
